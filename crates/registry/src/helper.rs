//! Credential helpers: programs that store logins for docker and podman, in docker's protocol.
//!
//! `docker-credential-NAME` is run with the argument `get`, `store` or `erase`. It receives the key or the login on
//! standard input and answers on standard output. Messages never repeat its answer, which can be the secret.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::credentials::{Credentials, CredentialsError, Secret, Username};
use crate::limits;

/// The interval at which the exit of a helper is polled after it has closed its output.
const TICK: Duration = Duration::from_millis(5);

/// A credential helper.
pub(crate) struct Helper {
    program: String,
    limit: Duration,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperLogin {
    username: String,
    secret: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct KeptLogin<'a> {
    #[serde(rename = "ServerURL")]
    key: &'a str,
    username: &'a str,
    secret: &'a str,
}

impl Helper {
    /// Returns the helper with the name from a login file.
    pub(crate) fn from_name(name: &str) -> Result<Self, CredentialsError> {
        let one_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if name.is_empty() || !name.bytes().all(one_word) {
            return Err(CredentialsError::HelperName(
                name.chars().take(80).collect(),
            ));
        }
        Ok(Self {
            program: format!("docker-credential-{name}"),
            limit: limits::HELPER_TIMEOUT,
        })
    }

    /// Returns the name of the program.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Returns the login that the helper stores under a key. The user name `<token>` marks an identity token.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Credentials>, CredentialsError> {
        let unusable = || CredentialsError::HelperAnswer {
            program: self.program.clone(),
            key: key.to_owned(),
        };
        let output = self.run("get", key.as_bytes())?;
        if !output.status.success() {
            return if has_none(&output) {
                Ok(None)
            } else {
                Err(unusable())
            };
        }
        let found: HelperLogin = serde_json::from_slice(&output.stdout).map_err(|_| unusable())?;
        let secret = Secret::new(found.secret);
        Ok(Some(match found.username.as_str() {
            "<token>" => Credentials::IdentityToken(secret),
            _ => Credentials::Password {
                username: found.username,
                password: secret,
            },
        }))
    }

    /// Stores a login under a key, replacing an existing one.
    pub(crate) fn store(
        &self,
        key: &str,
        username: &Username,
        password: &Secret,
    ) -> Result<(), CredentialsError> {
        let login = KeptLogin {
            key,
            username: username.as_str(),
            secret: password.reveal(),
        };
        let login = serde_json::to_vec(&login).expect("text has a JSON form");
        let output = self.run("store", &login)?;
        if output.status.success() {
            Ok(())
        } else {
            Err(self.refused(key))
        }
    }

    /// Erases the login under a key. Returns `false` if the helper reports that it had none.
    pub(crate) fn erase(&self, key: &str) -> Result<bool, CredentialsError> {
        let output = self.run("erase", key.as_bytes())?;
        if output.status.success() {
            return Ok(true);
        }
        if has_none(&output) {
            Ok(false)
        } else {
            Err(self.refused(key))
        }
    }

    fn refused(&self, key: &str) -> CredentialsError {
        CredentialsError::HelperRefused {
            program: self.program.clone(),
            key: key.to_owned(),
        }
    }

    /// Runs the helper and returns its status and standard output. Fails if it does not end in time.
    fn run(&self, action: &str, input: &[u8]) -> Result<Output, CredentialsError> {
        let failed = |source| CredentialsError::Helper(self.program.clone(), source);
        let deadline = Instant::now() + self.limit;
        let mut child = Command::new(&self.program)
            .arg(action)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A helper that does not read its input can still answer or fail with its own error. Keys and logins fit
            // into the buffer of a pipe, so the write does not block.
            let _ = stdin.write_all(input);
        }
        let output = output(&mut child, deadline).map_err(failed)?;
        output.ok_or_else(|| {
            // The helper can have ended in the meantime, so errors are ignored.
            let _ = child.kill();
            let _ = child.wait();
            CredentialsError::HelperSlow(self.program.clone())
        })
    }
}

/// Checks whether the helper reports that it has no login for the key.
fn has_none(output: &Output) -> bool {
    // The protocol has no code for this case. The common library prints "credentials not found in native keychain".
    String::from_utf8_lossy(&output.stdout).contains("credentials not found")
}

/// Returns the output of a child process, or `None` if it has not ended by the deadline.
fn output(child: &mut Child, deadline: Instant) -> std::io::Result<Option<Output>> {
    let (give, take) = mpsc::channel();
    let stdout = child.stdout.take().expect("it is piped");
    // Processes started by the helper can keep its output open, so this thread is never joined.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(limits::HELPER_ANSWER).read_to_end(&mut bytes);
        let _ = give.send(read.map(|_| bytes));
    });
    let left = deadline.saturating_duration_since(Instant::now());
    let Ok(stdout) = take.recv_timeout(left) else {
        return Ok(None);
    };
    let stdout = stdout?;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            let stderr = Vec::new();
            return Ok(Some(Output {
                status,
                stdout,
                stderr,
            }));
        }
        thread::sleep(TICK);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A credential helper that runs this shell script, next to a file `kept`.
    struct Script {
        directory: tempfile::TempDir,
        helper: Helper,
    }

    impl Script {
        fn new(script: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("docker-credential-test");
            let program = path.to_str().unwrap().to_owned();
            // Another process writes the script. A program that this process has open for writing cannot be run, even
            // if only a fork of one of its threads has it open.
            let write = r#"printf '#!/bin/sh\ncd "${0%%/*}"\n%s\n' "$2" > "$1" && chmod 755 "$1""#;
            let arguments = ["-c", write, "sh", &program, script];
            let written = Command::new("sh").args(arguments).status().unwrap();
            assert!(written.success());
            let limit = limits::HELPER_TIMEOUT;
            let helper = Helper { program, limit };
            Self { directory, helper }
        }

        fn kept(&self) -> String {
            std::fs::read_to_string(self.directory.path().join("kept")).unwrap()
        }
    }

    fn ask(script: &str) -> Result<Option<Credentials>, CredentialsError> {
        Script::new(script).helper.get("r.example:5000")
    }

    #[test]
    fn helpers_are_asked_as_docker_does() {
        let script = r#"test "$1" = get && read -r key; echo "{\"ServerURL\":\"x\",\"Username\":\"$key\",\"Secret\":\"pass:word\"}""#;
        let user = Credentials::Password {
            username: "r.example:5000".to_owned(),
            password: Secret::new("pass:word".to_owned()),
        };
        assert_eq!(ask(script).unwrap(), Some(user));
        let script = r#"echo '{"Username":"<token>","Secret":"T"}'"#;
        let token = Credentials::IdentityToken(Secret::new("T".to_owned()));
        assert_eq!(ask(script).unwrap(), Some(token));
        let none = "echo 'credentials not found in native keychain'; exit 1";
        assert_eq!(ask(none).unwrap(), None);
        for script in ["echo 'Secret: hunter2'", "echo hunter2; exit 1"] {
            let error = ask(script).unwrap_err();
            assert!(matches!(error, CredentialsError::HelperAnswer { .. }));
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }

    #[test]
    fn helpers_keep_and_forget_as_docker_has_them() {
        let script = Script::new(r#"echo "$*" > kept; cat >> kept"#);
        let password = Secret::new("pass\"word".to_owned());
        let user = "me".parse().unwrap();
        script.helper.store("r.example", &user, &password).unwrap();
        assert_eq!(
            script.kept(),
            "store\n{\"ServerURL\":\"r.example\",\"Username\":\"me\",\"Secret\":\"pass\\\"word\"}"
        );
        assert!(script.helper.erase("r.example").unwrap());
        assert_eq!(script.kept(), "erase\nr.example");
        let none = Script::new("echo 'credentials not found in native keychain'; exit 1");
        assert!(!none.helper.erase("r.example").unwrap());
        let broken = Script::new("cat; exit 1");
        let error = broken.helper.store("r.example", &user, &password);
        let error = error.unwrap_err();
        assert!(matches!(error, CredentialsError::HelperRefused { .. }));
        assert!(!format!("{error} {error:?}").contains("word"));
    }

    #[test]
    fn a_helper_that_does_not_end_is_ended() {
        for script in [
            "exec sleep 60",
            "exec >&-; exec sleep 60",
            "sleep 60 & wait",
        ] {
            let mut script = Script::new(script);
            script.helper.limit = Duration::from_millis(200);
            let began = Instant::now();
            let error = script.helper.get("r.example").unwrap_err();
            assert!(matches!(error, CredentialsError::HelperSlow(..)));
            assert!(began.elapsed() < Duration::from_secs(30));
        }
    }
}
