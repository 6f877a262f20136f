//! The program Helm, version 4: [`Helm`] identifies it by its reported version and runs it. A program can be used at
//! its path ([`Helm::from_path`]) or as a verified private copy ([`Helm::copy_from`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use progress::Cancel;

use crate::copy::{PrivateCopy, ProgramSource};
use crate::error::HelmError;
use crate::helm_home::HelmHome;
use crate::limits;
use crate::run::{self, HelmRun};

/// Helm, version 4. Version 3 has other flags and does not pass hooks to a post-renderer.
#[derive(Clone, Debug)]
pub struct Helm {
    program: PathBuf,
    version: String,
    /// The copy that contains the program. It is deleted with the last clone of this value.
    copy: Option<Arc<PrivateCopy>>,
}

impl Helm {
    /// Checks the program at a path by asking for its version.
    pub fn from_path(program: &Path) -> Result<Self, HelmError> {
        let mut helm = Self {
            program: program.to_owned(),
            version: String::new(),
            copy: None,
        };
        let home = helm.home()?;
        let mut run = HelmRun::new(&home, "version");
        run.time = limits::VERSION;
        run.flag("template", "{{.Version}}");
        let said = match helm.run(&run, Cancel::never()) {
            Ok(said) => String::from_utf8_lossy(&said).trim().to_owned(),
            // Another program may fail with these arguments. Its message then becomes part of the error.
            Err(HelmError::Failed { said, .. }) => said,
            Err(error) => return Err(error),
        };
        if !is_4(&said) {
            let said = said.chars().take(80).collect();
            let program = helm.program;
            return Err(HelmError::NotHelm4 { program, said });
        }
        helm.version = said;
        Ok(helm)
    }

    /// Copies a program into a new directory in `scratch` and asks for its version. The copy is deleted with this
    /// value. It is only run if it has the signed digest.
    pub fn copy_from(source: &ProgramSource<'_>, scratch: &Path) -> Result<Self, HelmError> {
        let copy = PrivateCopy::new(source, scratch)?;
        let mut helm = Self::from_path(copy.program())?;
        helm.copy = Some(Arc::new(copy));
        Ok(helm)
    }

    /// The version that the program reports, such as `v4.3.1`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns whether the program is a copy of an untrusted program.
    #[must_use]
    pub fn is_copied(&self) -> bool {
        self.copy.is_some()
    }

    /// The path of the program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Creates a private directory for a run.
    pub fn home(&self) -> Result<HelmHome, HelmError> {
        HelmHome::new().map_err(|source| self.failed(source))
    }

    pub(crate) fn failed(&self, source: std::io::Error) -> HelmError {
        run::failed(&self.program, source)
    }

    /// Runs a command and returns its standard output.
    pub fn run(&self, run: &HelmRun<'_>, cancel: Cancel<'_>) -> Result<Vec<u8>, HelmError> {
        run::run(&self.program, run, cancel)
    }
}

/// Copies a program into a new directory in `scratch` and asks which version of `solution` it is. The copy is only run
/// if it has the given digest.
pub fn version_of_solution(
    source: &ProgramSource<'_>,
    scratch: &Path,
) -> Result<String, HelmError> {
    let copy = PrivateCopy::new(source, scratch)?;
    let program = copy.program();
    let home = HelmHome::new().map_err(|source| run::failed(program, source))?;
    let mut run = HelmRun::of_solution(&home, "-V");
    run.time = limits::VERSION;
    let said = match run::run(program, &run, Cancel::never()) {
        Ok(said) => String::from_utf8_lossy(&said).trim().to_owned(),
        Err(HelmError::Failed { said, .. }) => said,
        Err(error) => return Err(error),
    };
    match said.strip_prefix("solution ") {
        Some(version) if is_version(version) => Ok(version.to_owned()),
        _ => Err(HelmError::NotSolution(said.chars().take(80).collect())),
    }
}

/// Checks whether the reported version is 4. Builds without the build flags of a release report `v4.3`.
fn is_4(said: &str) -> bool {
    said.starts_with("v4.") && is_version(said)
}

fn is_version(said: &str) -> bool {
    let of_version = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    said.starts_with(|c: char| c.is_ascii_alphanumeric())
        && said.len() < 80
        && said.chars().all(of_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_4_are_taken() {
        for said in ["v4.3.1", "v4.3", "v4.0.0-rc.1", "v4.1.0+g1234"] {
            assert!(is_4(said), "{said}");
        }
        for said in ["", "v3.22.0", "v40.1", "4.3.1", "v4.3.1 and more", "v4"] {
            assert!(!is_4(said), "{said}");
        }
    }

    #[test]
    fn what_is_no_program_is_said_with_its_path() {
        let error = Helm::from_path(Path::new("/nowhere/helm")).unwrap_err();
        assert!(matches!(error, HelmError::Missing(path) if path == Path::new("/nowhere/helm")));
        let error = Helm::from_path(Path::new("/dev/null")).unwrap_err();
        assert!(matches!(error, HelmError::Run(..)), "{error:?}");
        let error = Helm::from_path(Path::new("/bin/echo")).unwrap_err();
        let said = "`/bin/echo` is not Helm 4: it says `version --template={{.Version}}`";
        assert_eq!(error.to_string(), said);
    }
}
