//! A terminal (`script`) with a simulated user.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::common::Desk;

/// The program in a pseudo-terminal, with a simulated user.
pub(crate) struct Terminal {
    child: Child,
    keyboard: ChildStdin,
    screen: ChildStdout,
    shown: Vec<u8>,
}

impl Terminal {
    /// Runs a line in which `solution` is the program, with these additional variables.
    pub(crate) fn run(desk: &Desk, line: &str, variables: &[(&str, String)]) -> Self {
        let program = env!("CARGO_BIN_EXE_solution");
        let line = line.replace("solution ", &format!("{program} "));
        // The timeout ends a test that waits for a question that never appears.
        let mut child = Command::new("timeout")
            .args(["--foreground", "60", "script", "--quiet"])
            .args(["--return", "--command", &line, "/dev/null"])
            .current_dir(desk.path(""))
            .env_clear()
            .envs([("HOME", desk.path("")), ("PATH", "/usr/bin:/bin".into())])
            .env("SHELL", "/bin/sh")
            .envs(variables.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("`script` (bsdutils) does not run: {error}"));
        Self {
            keyboard: child.stdin.take().unwrap(),
            screen: child.stdout.take().unwrap(),
            child,
            shown: Vec::new(),
        }
    }

    /// Types keys once these words appear on the screen after the previous ones.
    #[track_caller]
    pub(crate) fn answer(mut self, words: &str, keys: &str) -> Self {
        let start = self.shown.len();
        while !text(&self.shown[start..]).contains(words) {
            let mut bytes = [0; 256];
            let read = self.screen.read(&mut bytes).unwrap();
            assert!(read > 0, "`{words}` never came: {}", text(&self.shown));
            self.shown.extend_from_slice(&bytes[..read]);
        }
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Returns the content of the screen, once the program has ended with this exit code.
    #[track_caller]
    pub(crate) fn wait_for_exit(mut self, code: i32) -> String {
        self.screen.read_to_end(&mut self.shown).unwrap();
        drop(self.keyboard);
        let status = self.child.wait().unwrap();
        let shown = text(&self.shown);
        assert_eq!(status.code(), Some(code), "{shown}");
        shown
    }
}

/// Returns the visible text so far. An incomplete character at the end becomes complete with the next bytes.
fn text(shown: &[u8]) -> String {
    String::from_utf8_lossy(shown).into_owned()
}
