//! What the tests of the program share: running it, reading its answer, and source trees to pack.
//!
//! Each test crate uses a part of it.
#![allow(dead_code, reason = "each test crate uses a part")]

pub(crate) mod results;

use std::fmt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Once};

use fixtures::example::{Programs, Release};
use serde_json::Value;
use signal_hook::consts::SIGHUP;
use tempfile::TempDir;

/// What a program answered.
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
    /// The answer of a command that must be found.
    pub(crate) fn of(command: &mut Command) -> Self {
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

    /// Standard output of a command that must have succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout
    }

    /// Everything said by a command that must have ended with this code.
    #[track_caller]
    pub(crate) fn failure(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Standard output as JSON. What the program itself says must be inside the schema of its verb.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let read = serde_json::from_str(&self.stdout);
        let value = read.unwrap_or_else(|error| panic!("{error}: {self:?}"));
        // `kubectl solution` is the program too.
        let mut words = std::iter::once(&self.program).chain(self.arguments.first());
        if words.any(|word| word.ends_with("solution")) {
            let outside = results::outside(&self.arguments, &value);
            assert!(outside.is_empty(), "{outside:#?} in {value:#}\n{self:?}");
        }
        value
    }
}

/// A directory with keys, sources and archives, in which the program runs without anything of the user's.
pub(crate) struct Desk {
    directory: PathBuf,
    /// Takes the directory away in the end; none if it stays.
    _temporary: Option<TempDir>,
}

/// Has programs that are started from here end when their terminal is closed, also where the tests were started by `nohup`:
/// a signal that is ignored stays so in every program that a process starts, and one that is handled does not.
fn heed_hangups() {
    static HEEDED: Once = Once::new();
    HEEDED.call_once(|| {
        signal_hook::flag::register(SIGHUP, Arc::default()).unwrap();
    });
}

impl Desk {
    /// An empty desk.
    pub(crate) fn new() -> Self {
        Self::temporary(tempfile::tempdir().unwrap())
    }

    fn temporary(directory: TempDir) -> Self {
        Self {
            directory: directory.path().to_owned(),
            _temporary: Some(directory),
        }
    }

    /// The desk in a directory that stays. If it is not there yet, this fills a new one, which then takes its place whole.
    pub(crate) fn kept(directory: PathBuf, fill: impl FnOnce(&Self)) -> Self {
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

    /// A desk with a key pair, `publisher`.
    pub(crate) fn with_key() -> Self {
        let desk = Self::new();
        desk.solution(&["keygen", "publisher"]).success();
        desk
    }

    /// Another desk with all that is on this one.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        let mut command = Command::new("cp");
        command.args(["--archive", "--reflink=auto"]);
        command.args([self.path("."), copy.path(".")]);
        Answer::of(&mut command).success();
        copy
    }

    /// A desk with a key pair and the example Solution of placeholder programs, packed as `example.iso`.
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

    /// A desk whose folder `bin` has the program and what packages install beside it.
    pub(crate) fn installed() -> Self {
        let desk = Self::new();
        let bin = desk.path("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_solution"), bin.join("solution")).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/dist-files");
        Answer::of(Command::new(script).arg(bin)).success();
        desk
    }

    /// Writes the example's source tree.
    pub(crate) fn write_example(&self, programs: &Programs, release: Release, name: &str) {
        programs.write_tree(release, &self.path(name)).unwrap();
    }

    /// A path on the desk.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The bytes of a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// The names on the desk.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The program, in this directory and with no environment of the user's.
    pub(crate) fn command(&self) -> Command {
        heed_hangups();
        let mut command = Command::new(env!("CARGO_BIN_EXE_solution"));
        command
            .current_dir(&self.directory)
            .env_clear()
            .env("HOME", &self.directory);
        command
    }

    /// Runs the program.
    pub(crate) fn solution(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command().args(arguments))
    }

    /// What `validate --output json` says of `example.iso`.
    #[track_caller]
    pub(crate) fn report(&self, trust: &[&str], code: i32) -> Value {
        let arguments = [&["validate", "example.iso", "--output", "json"], trust].concat();
        let answer = self.solution(&arguments);
        assert_eq!(answer.code, code, "{answer:?}");
        answer.json()
    }

    /// `example.iso` must be refused for exactly these reasons, in words that hold these, each with what to do.
    #[track_caller]
    pub(crate) fn refused(&self, ids: &[&str], words: &[&str]) -> Value {
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
        Answer::of(
            Command::new(program)
                .args(arguments)
                .current_dir(&self.directory),
        )
    }
}

/// The folder with the built programs.
pub(crate) fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_solution"))
        .parent()
        .expect("the program lies in a folder")
}
