//! The common code of the program's tests: running it, parsing its output, and writing source trees.
//!
//! Each test crate uses a part of it.
#![allow(dead_code, reason = "each test crate uses a part")]

pub(crate) mod results;

use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Once};

use fixtures::example::{Programs, Release};
use serde_json::Value;
use signal_hook::consts::SIGHUP;
use tempfile::TempDir;

/// The output and the exit code of a program.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    program: String,
    arguments: Vec<String>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "$ {} {}\n--- exit {}\n--- stdout\n{}--- stderr\n{}",
            self.program,
            self.arguments.join(" "),
            self.code,
            self.stdout,
            self.stderr
        )
    }
}

impl Answer {
    /// Runs a command that must exist, and returns its answer.
    pub(crate) fn from_command(command: &mut Command) -> Self {
        let program = command.get_program().to_string_lossy().into_owned();
        let output = command.output().unwrap_or_else(|error| {
            panic!("`{program}` does not run: {error}; `scripts/install-tools` installs it")
        });
        let arguments = command
            .get_args()
            .map(|text| text.to_string_lossy().into_owned())
            .collect();
        Self {
            program,
            arguments,
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns standard output, and asserts exit code 0.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout
    }

    /// Asserts this exit code, and returns standard output and standard error.
    #[track_caller]
    pub(crate) fn failure(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Returns standard output as JSON. The program's own output must match the schema of its command.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let read = serde_json::from_str(&self.stdout);
        let value = read.unwrap_or_else(|error| panic!("{error}: {self:?}"));
        // `kubectl solution` runs the program too.
        let mut words = std::iter::once(&self.program).chain(self.arguments.first());
        if words.any(|word| word.ends_with("solution")) {
            let outside = results::schema_violations(&self.arguments, &value);
            assert!(outside.is_empty(), "{outside:#?} in {value:#}\n{self:?}");
        }
        value
    }
}

/// A directory with keys, sources and archives, in which the program runs without access to the user's files.
pub(crate) struct Desk {
    directory: PathBuf,
    /// Removes the directory on drop, unless the desk is permanent.
    _temporary: Option<TempDir>,
}

/// Restores the default action of SIGHUP, so that programs end when their terminal is closed, even if the tests were
/// started by `nohup`: child processes inherit an ignored signal, but not a handler.
fn restore_sighup() {
    static HEEDED: Once = Once::new();
    HEEDED.call_once(|| {
        signal_hook::flag::register(SIGHUP, Arc::default()).unwrap();
    });
}

impl Desk {
    /// Creates an empty desk.
    pub(crate) fn new() -> Self {
        Self::temporary(tempfile::tempdir().unwrap())
    }

    fn temporary(directory: TempDir) -> Self {
        Self {
            directory: directory.path().to_owned(),
            _temporary: Some(directory),
        }
    }

    /// Returns a permanent desk in a directory. If the directory does not exist, `fill` fills a new one, which is then
    /// renamed to this path.
    pub(crate) fn persistent(directory: PathBuf, fill: impl FnOnce(&Self)) -> Self {
        if !directory.exists() {
            let parent = directory.parent().unwrap();
            let desk = Self::temporary(tempfile::tempdir_in(parent).unwrap());
            fill(&desk);
            std::fs::rename(&desk.directory, &directory).unwrap();
        }
        Self {
            directory,
            _temporary: None,
        }
    }

    /// Creates a desk with a key pair, `publisher`.
    pub(crate) fn with_key() -> Self {
        let desk = Self::new();
        desk.solution(&["keygen", "publisher"]).success();
        desk
    }

    /// Creates another desk with the same files.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        let mut command = Command::new("cp");
        command.args(["--archive", "--reflink=auto"]);
        command.args([self.path("."), copy.path(".")]);
        Answer::from_command(&mut command).success();
        copy
    }

    /// Creates a desk with a key pair and the example Solution of placeholder programs, packed as `example.iso`.
    pub(crate) fn with_archive() -> Self {
        let desk = Self::with_key();
        desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
        desk.solution(&[
            "pack",
            "source",
            "-o",
            "example.iso",
            "--key",
            "publisher.key",
        ])
        .success();
        desk
    }

    /// Creates a desk whose folder `bin` contains the program and the files that packages install with it.
    pub(crate) fn installed() -> Self {
        let desk = Self::new();
        let bin = desk.path("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_solution"), bin.join("solution")).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/dist-files");
        Answer::from_command(Command::new(script).arg(bin)).success();
        desk
    }

    /// Writes the example's source tree.
    pub(crate) fn write_example(&self, programs: &Programs, release: Release, name: &str) {
        programs.write_tree(release, &self.path(name)).unwrap();
    }

    /// Returns the path of a file on the desk.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Writes an executable script.
    pub(crate) fn write_script(&self, name: &str, text: &str) {
        let mut install = self.install("/dev/stdin", name);
        let mut install = install.stdin(Stdio::piped()).spawn().unwrap();
        let mut script = install.stdin.take().unwrap();
        script.write_all(text.as_bytes()).unwrap();
        drop(script);
        assert!(install.wait().unwrap().success());
    }

    /// Copies the program that is tested.
    pub(crate) fn copy_program(&self, name: &str) {
        let mut install = self.install(env!("CARGO_BIN_EXE_solution"), name);
        assert!(install.status().unwrap().success());
    }

    /// Another process writes executable files. If this one did, a process that another thread starts meanwhile would
    /// inherit the open file, and the kernel refuses to run a file that is open for writing.
    fn install(&self, from: &str, name: &str) -> Command {
        let mut install = Command::new("install");
        install
            .args(["-D", "--mode=755", from])
            .arg(self.path(name));
        install
    }

    /// Returns the names of the files on the desk.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Returns the program's command, in this directory and without the user's environment.
    pub(crate) fn command(&self) -> Command {
        restore_sighup();
        let mut command = Command::new(env!("CARGO_BIN_EXE_solution"));
        command
            .current_dir(&self.directory)
            .env_clear()
            .env("HOME", &self.directory);
        command
    }

    /// Runs the program.
    pub(crate) fn solution(&self, arguments: &[&str]) -> Answer {
        Answer::from_command(self.command().args(arguments))
    }

    /// Returns the result of `validate --output json` for `example.iso`.
    #[track_caller]
    pub(crate) fn report(&self, trust: &[&str], code: i32) -> Value {
        let arguments = [&["validate", "example.iso", "--output", "json"], trust].concat();
        let answer = self.solution(&arguments);
        assert_eq!(answer.code, code, "{answer:?}");
        answer.json()
    }

    /// Asserts that `example.iso` is refused for exactly these reasons with these words, and that each reason has a
    /// hint.
    #[track_caller]
    pub(crate) fn assert_refused(&self, ids: &[&str], words: &[&str]) -> Value {
        let report = self.report(&["--key", "publisher.pub"], 1);
        assert_eq!(report["verdict"], "refused", "{report:#}");
        let findings = report["findings"].as_array().unwrap();
        let mut found: Vec<&str> = findings
            .iter()
            .map(|finding| finding["id"].as_str().unwrap())
            .collect();
        found.dedup();
        assert_eq!(found, ids, "{report:#}");
        for finding in findings {
            assert!(!finding["fix"].as_str().unwrap().is_empty(), "{finding:#}");
        }
        let text = report.to_string();
        for word in words {
            assert!(text.contains(word), "`{word}` is not in: {report:#}");
        }
        report
    }

    /// Runs another program in this directory.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Answer {
        Answer::from_command(
            Command::new(program)
                .args(arguments)
                .current_dir(&self.directory),
        )
    }
}

/// Returns the folder of the built programs.
pub(crate) fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_solution"))
        .parent()
        .expect("the program lies in a folder")
}
