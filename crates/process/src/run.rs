//! One run of a program: [`ProgramRun`] describes it, [`ProgramRun::run`] executes it within its [`RunLimits`]. Output
//! is read in separate threads, so that a run can always be cancelled, also while the program writes nothing.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use progress::{Cancel, Cancelled};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::limits;

/// The interval for checking whether the run is cancelled or has ended.
const TICK: Duration = Duration::from_millis(50);

/// A command to execute. Its standard input is empty.
#[derive(Debug)]
pub struct ProgramRun<'a> {
    /// The program.
    pub program: &'a Path,
    /// The arguments, in order.
    pub arguments: &'a [OsString],
    /// All environment variables. Nothing is inherited from this process. A later entry overrides an earlier one.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory; that of this process if there is none.
    pub directory: Option<&'a Path>,
    /// Captures the standard output. The standard error is always captured.
    pub heard: bool,
    /// The resource limits.
    pub limits: RunLimits,
}

/// The resource limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// The maximum duration.
    pub time: Duration,
    /// The time between the request to end (SIGTERM) and SIGKILL. Zero for programs that leave no incomplete work: they
    /// are killed at once, which counts as cancelled.
    pub farewell: Duration,
    /// Bytes of writable memory.
    pub memory: u64,
    /// Bytes of each file that it writes.
    pub file: u64,
    /// Bytes of its standard output.
    pub output: u64,
}

/// The reason why a run did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program does not exist.
    #[error("there is no such program")]
    Missing,
    /// The program cannot be started.
    #[error("it cannot be run")]
    Start(#[source] io::Error),
    /// The program failed.
    #[error("it failed")]
    Failed {
        /// The exit code; none if a signal ended the program.
        code: Option<i32>,
        /// The last bytes of its standard error.
        said: Vec<u8>,
    },
    /// The program exceeded its time limit.
    #[error("it did not end in time")]
    TooLong,
    /// The program wrote more than its output limit.
    #[error("it wrote more than is read")]
    TooMuch,
    /// The program did not end in time after it was asked to, and was killed.
    #[error("it was killed: it had not ended by itself")]
    Killed,
    /// The caller cancelled the run.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// A child process that is killed on drop if it is still running.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both calls fail if the process has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first bytes of a stream, and whether more followed.
struct CapturedOutput {
    bytes: Vec<u8>,
    more: bool,
}

impl ProgramRun<'_> {
    /// Runs the program and returns its standard output; no bytes if it is not captured.
    ///
    /// # Panics
    ///
    /// Never: the standard error is always piped.
    pub fn run(&self, cancel: Cancel<'_>) -> Result<Vec<u8>, RunError> {
        cancel.go_on()?;
        let mut command = Command::new(self.program);
        command.args(self.arguments).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = self.directory {
            command.current_dir(directory);
        }
        // With its own process group, the program does not receive an interrupt from the terminal: only this process
        // stops it.
        command.process_group(0).stdin(Stdio::null());
        command.stdout(if self.heard {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        command.stderr(Stdio::piped());
        let child = start(&mut command).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => RunError::Missing,
            _ => RunError::Start(source),
        })?;
        let mut child = Guard(child);
        for (resource, most) in [
            (Resource::Data, self.limits.memory),
            (Resource::Fsize, self.limits.file),
        ] {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            // The call fails if the process has already ended.
            let _ = prlimit(pid(&child.0), resource, limit);
        }
        let output = self.limits.output;
        let stdout = child.0.stdout.take();
        let stdout = stdout.map(|stdout| capture(stdout, move |stdout| first(stdout, output)));
        let stderr = capture(child.0.stderr.take().expect("it is piped"), last);
        let said = attend(self.limits, &mut child, stdout.as_ref(), cancel)?;
        let status = child.0.wait().map_err(RunError::Start)?;
        match said {
            Some(said) if status.success() => Ok(said),
            _ => Err(RunError::Failed {
                code: status.code(),
                said: stderr.recv_timeout(limits::LAST_WORDS).unwrap_or_default(),
            }),
        }
    }
}

/// Starts the program. If its file was just written, a process that another thread is starting may still have it open
/// for writing, until that process calls exec. The start is then retried.
fn start(command: &mut Command) -> io::Result<Child> {
    for _ in 1..limits::STARTS {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(TICK),
            done => return done,
        }
    }
    command.spawn()
}

/// Waits until the program has ended and its output was read. Returns the output; none if it could not be read.
fn attend(
    limits: RunLimits,
    child: &mut Guard,
    stdout: Option<&Receiver<CapturedOutput>>,
    cancel: Cancel<'_>,
) -> Result<Option<Vec<u8>>, RunError> {
    let started = Instant::now();
    let farewell = limits.farewell;
    let mut heard = None;
    loop {
        if let Err(cancelled) = cancel.go_on() {
            return Err(match take_leave(child, farewell, cancel) {
                RunEnd::Killed if !farewell.is_zero() => RunError::Killed,
                RunEnd::Itself | RunEnd::Killed => cancelled.into(),
            });
        }
        if started.elapsed() >= limits.time {
            take_leave(child, farewell, cancel);
            return Err(RunError::TooLong);
        }
        let Some(stdout) = stdout.filter(|_| heard.is_none()) else {
            match child.0.try_wait() {
                Ok(None) => thread::sleep(TICK),
                _ => return Ok(Some(heard.unwrap_or_default())),
            }
            continue;
        };
        match stdout.recv_timeout(TICK) {
            Ok(CapturedOutput { more: true, .. }) => return Err(RunError::TooMuch),
            Ok(CapturedOutput { bytes, .. }) => heard = Some(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// The way in which a program ended after it was asked to.
enum RunEnd {
    Itself,
    Killed,
}

/// Asks the program to end, and kills it after `farewell` or if the cancellation becomes urgent. Helm needs this time:
/// an incomplete release cannot be processed further.
fn take_leave(child: &mut Guard, farewell: Duration, cancel: Cancel<'_>) -> RunEnd {
    if let Some(pid) = pid(&child.0) {
        // The call fails if the process has ended.
        let _ = kill_process(pid, Signal::TERM);
    }
    let asked = Instant::now();
    while matches!(child.0.try_wait(), Ok(None)) {
        if asked.elapsed() >= farewell || cancel.is_urgent() {
            // The call fails if the process has ended.
            let _ = child.0.kill();
            return RunEnd::Killed;
        }
        thread::sleep(TICK);
    }
    RunEnd::Itself
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Reads a stream to its end in a separate thread. A process that the program left behind could hold the stream open
/// indefinitely, so the thread is never joined.
fn capture<R: Read + Send + 'static, T: Send + 'static>(
    stream: R,
    keep: impl FnOnce(R) -> io::Result<T> + Send + 'static,
) -> Receiver<T> {
    let (give, take) = mpsc::channel();
    thread::spawn(move || {
        if let Ok(heard) = keep(stream) {
            // Sending fails if the receiver has stopped waiting.
            let _ = give.send(heard);
        }
    });
    take
}

/// Reads the first bytes of a stream, at most `limit`.
fn first(stream: impl Read, limit: u64) -> io::Result<CapturedOutput> {
    let mut bytes = Vec::new();
    let read = stream
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let more = read as u64 > limit;
    Ok(CapturedOutput { bytes, more })
}

/// Reads a stream to its end and returns its last bytes.
fn last(mut stream: impl Read) -> io::Result<Vec<u8>> {
    let mut kept = VecDeque::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(kept.into());
        }
        kept.extend(&buffer[..read]);
        let over = kept.len().saturating_sub(limits::SAID);
        kept.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, time: Duration, output: u64) -> Result<Vec<u8>, RunError> {
        let run = ProgramRun {
            program: Path::new("/bin/sh"),
            arguments: &["-c".into(), script.into()],
            environment: vec![("A".into(), "b".into())],
            directory: Some(Path::new("/")),
            heard: true,
            limits: RunLimits {
                time,
                farewell: Duration::ZERO,
                memory: 1 << 30,
                file: 4096,
                output,
            },
        };
        run.run(Cancel::never())
    }

    #[test]
    fn a_run_has_what_it_is_given_and_ends_at_its_limits() {
        let minute = Duration::from_mins(1);
        let said = sh("echo $A $HOME; pwd", minute, 100).unwrap();
        assert_eq!(said, b"b\n/\n");
        assert!(matches!(sh("echo four", minute, 4), Err(RunError::TooMuch)));
        let long = sh("sleep 60", Duration::from_millis(1), 4);
        assert!(matches!(long, Err(RunError::TooLong)));
        // The program may start before its limits are set, so the script waits for them.
        let limited = "until [ $(ulimit -f) != unlimited ]; do :; done";
        let large = "f=$(mktemp); head -c 4097 /dev/zero > $f; code=$?; rm $f; exit $code";
        let large = format!("{limited}; {large}");
        assert!(matches!(
            sh(&large, minute, 4),
            Err(RunError::Failed { .. })
        ));
        let failed = sh("echo why >&2; exit 3", minute, 4).unwrap_err();
        let RunError::Failed { code, said } = failed else {
            panic!("{failed}");
        };
        assert_eq!((code, &said[..]), (Some(3), &b"why\n"[..]));
    }
}
