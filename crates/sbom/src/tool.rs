//! A run of `syft` or `grype`: [`Tool::run`]. It uses a private directory, is isolated from the user's configuration
//! and accesses no network service.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{ProgramRun, RunLimits, Scratch};
use progress::Cancel;
use schemas::printable_within;
use serde::Deserialize;

use crate::error::{SbomError, in_full};
use crate::limits;

/// The variables that name directories, and the subdirectory of the private directory for each.
const PLACES: [(&str, &str); 7] = [
    ("HOME", ""),
    ("TMPDIR", "tmp"),
    ("XDG_CACHE_HOME", "cache"),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_CONFIG_DIRS", "config"),
    ("XDG_DATA_HOME", "data"),
    ("XDG_STATE_HOME", "state"),
];

/// The variables by which the programs do not check for updates and use only the given database, regardless of its age.
/// File metadata is turned off: an SBOM lists packages, and the files of an image are in the image itself.
const SETTINGS: [(&str, &str); 6] = [
    ("SYFT_CHECK_FOR_APP_UPDATE", "false"),
    ("SYFT_FILE_METADATA_SELECTION", "none"),
    ("GRYPE_CHECK_FOR_APP_UPDATE", "false"),
    ("GRYPE_DB_AUTO_UPDATE", "false"),
    ("GRYPE_DB_VALIDATE_AGE", "false"),
    ("GRYPE_DB_REQUIRE_UPDATE_CHECK", "false"),
];

/// A program that has reported its name and version, with the directory for its files.
#[derive(Debug)]
pub(crate) struct Tool {
    name: &'static str,
    program: PathBuf,
    version: String,
    scratch: Scratch,
}

/// The variable with the directory of a database.
const DATABASE: &str = "GRYPE_DB_CACHE_DIR";

/// A command of a program.
#[derive(Debug)]
pub(crate) struct ToolRun<'a> {
    arguments: Vec<OsString>,
    /// The directory of the database, for commands that use one.
    pub(crate) database: Option<&'a Path>,
    /// The time limit.
    pub(crate) time: Duration,
    /// The output limit in bytes.
    pub(crate) output: u64,
}

impl ToolRun<'_> {
    /// Creates a command that reports something about the program or its database.
    pub(crate) fn new(arguments: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            arguments: arguments.into_iter().collect(),
            database: None,
            time: limits::VERSION,
            output: limits::SAID_SIZE,
        }
    }

    /// Adds a flag with its value in one argument, so that the value may begin with `-`.
    pub(crate) fn flag(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value);
        self.arguments.push(flag);
    }
}

/// The output of `version` of both programs.
#[derive(Deserialize)]
struct VersionOutput {
    application: String,
    version: String,
}

impl Tool {
    /// Checks the program at a path by asking for its version. Its files are stored in a new directory in `parent`.
    pub(crate) fn open(
        name: &'static str,
        program: &Path,
        parent: &Path,
    ) -> Result<Self, SbomError> {
        let scratch = Scratch::new(parent).and_then(|scratch| {
            let places = PLACES.iter().map(|(_, directory)| directory);
            for directory in places.filter(|directory| !directory.is_empty()) {
                fs::create_dir_all(scratch.path().join(directory))?;
            }
            Ok(scratch)
        });
        let scratch = scratch.map_err(|source| SbomError::Scratch(parent.to_owned(), source))?;
        let absolute = std::path::absolute(program)
            .map_err(|source| SbomError::Start(program.to_owned(), source))?;
        let mut tool = Self {
            name,
            program: absolute,
            version: String::new(),
            scratch,
        };
        let mut run = ToolRun::new(["version".into()]);
        run.flag("output", "json");
        let said = match tool.run(&run, Cancel::never()) {
            // A program that does not know the command is another program, which is reported below.
            Err(SbomError::Failed { .. }) => Vec::new(),
            said => said?,
        };
        match serde_json::from_slice::<VersionOutput>(&said) {
            Ok(said) if said.application == name => {
                tool.version = printable_within(&said.version, limits::TEXT);
                Ok(tool)
            }
            _ => Err(SbomError::OtherProgram {
                program: tool.program,
                name,
            }),
        }
    }

    /// The version that the program reports.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Returns the path of a file in the private directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Writes a file in the private directory.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, SbomError> {
        let path = self.path(name);
        fs::write(&path, bytes)
            .map_err(|source| SbomError::Scratch(self.scratch.path().to_owned(), source))?;
        Ok(path)
    }

    /// Runs a command and returns its standard output.
    pub(crate) fn run(&self, run: &ToolRun<'_>, cancel: Cancel<'_>) -> Result<Vec<u8>, SbomError> {
        let places = PLACES
            .iter()
            .map(|(name, directory)| (name.into(), self.path(directory).into()));
        let settings = SETTINGS
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let database = run
            .database
            .map(|directory| (DATABASE.into(), directory.into()));
        let limits = RunLimits {
            time: run.time,
            farewell: Duration::ZERO,
            memory: limits::MEMORY,
            file: limits::FILE,
            output: run.output,
        };
        let program = ProgramRun {
            program: &self.program,
            arguments: &run.arguments,
            environment: places.chain(settings).chain(database).collect(),
            // In the user's working directory, the programs would read a configuration file.
            directory: Some(self.scratch.path()),
            heard: true,
            limits,
        };
        let done = program.run(cancel);
        done.map_err(|error| in_full(self.name, self.program.clone(), limits, error))
    }

    /// Parses the output of a command.
    pub(crate) fn printed<T: for<'de> Deserialize<'de>>(
        &self,
        said: &[u8],
    ) -> Result<T, SbomError> {
        let name = self.name;
        serde_json::from_slice(said).map_err(|source| SbomError::Printed(name, source))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_a_program_that_says_its_name_is_taken_and_it_sees_nothing_of_the_users() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("syft");
        let script = |text: &str| {
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            Tool::open("syft", &path, directory.path())
        };
        let said = r#"echo "{\"application\":\"syft\",\"version\":\"$SYFT_CHECK_FOR_APP_UPDATE ${USER:-none} $(pwd)\"}""#;
        let tool = script(said).unwrap();
        let own = tool.scratch.path().display().to_string();
        assert_eq!(tool.version(), format!("false none {own}"));
        drop(tool);
        assert!(!Path::new(&own).exists());
        for text in [&said.replace("syft", "grype"), "echo 1.0.0", "exit 1"] {
            let error = script(text).unwrap_err();
            assert!(matches!(error, SbomError::OtherProgram { .. }), "{error}");
        }
        let error = Tool::open("syft", Path::new("/nowhere/syft"), directory.path()).unwrap_err();
        assert!(matches!(error, SbomError::Missing(_)), "{error}");
    }
}
