//! One run of the program: its environment, its time, its memory and what it writes.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use watch::Cancel;

use crate::error::HelmError;
use crate::home::Home;
use crate::limits;

/// The interval at which it is looked whether the work is to end.
const TICK: Duration = Duration::from_millis(50);

/// The exit code of Go's runtime where it cannot go on. Helm itself has no other than 1.
const BROKEN: i32 = 2;

/// The program that most runs are of.
const HELM: &str = "helm";

/// The command that Helm is to run.
#[derive(Debug)]
pub struct HelmRun<'a> {
    /// The directory in which its files lie.
    pub home: &'a Home,
    /// The time that it may take.
    pub time: Duration,
    /// The time that it has to end by itself once it is asked to, before it is killed. None for what leaves nothing
    /// half done: it is killed at once, and was cancelled.
    pub farewell: Duration,
    /// The variables that its environment has besides: nothing of this program's own comes by itself. What stands here
    /// goes before where its files lie, and a later entry before an earlier one.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether what it writes is wanted; its standard error always is.
    pub heard: bool,
    /// The program: Helm; or Helmfile, whose files lie where the user's do.
    program: &'static str,
    verb: &'static str,
    arguments: Vec<OsString>,
}

impl<'a> HelmRun<'a> {
    /// A verb that changes nothing, has an hour, nothing in its environment, and is heard.
    #[must_use]
    pub fn new(home: &'a Home, verb: &'static str) -> Self {
        Self::of(HELM, home, verb)
    }

    /// Returns a run of Helmfile.
    pub(crate) fn of_helmfile(home: &'a Home, verb: &'static str) -> Self {
        Self::of("helmfile", home, verb)
    }

    /// Returns a run of `solution`.
    pub(crate) fn of_solution(home: &'a Home, verb: &'static str) -> Self {
        Self::of("solution", home, verb)
    }

    fn of(program: &'static str, home: &'a Home, verb: &'static str) -> Self {
        Self {
            home,
            time: Duration::from_hours(1),
            farewell: Duration::ZERO,
            environment: Vec::new(),
            heard: true,
            program,
            verb,
            arguments: vec![verb.into()],
        }
    }

    /// Adds arguments, which must not begin with `-`.
    pub fn arguments(&mut self, arguments: impl IntoIterator<Item = OsString>) {
        self.arguments.extend(arguments);
    }

    /// Adds a flag with its value, whatever that begins with.
    pub fn flag(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value);
        self.arguments.push(flag);
    }
}

/// A child that is ended if it is still there when nobody waits for it any more.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first bytes of a stream, and whether there were more.
struct Heard {
    bytes: Vec<u8>,
    more: bool,
}

/// Runs a program, and returns what it wrote; nothing if that is not wanted.
///
/// # Panics
///
/// Never: its standard error is piped.
pub(crate) fn run(
    program: &Path,
    run: &HelmRun<'_>,
    cancel: Cancel<'_>,
) -> Result<Vec<u8>, HelmError> {
    cancel.go_on()?;
    let mut command = Command::new(program);
    command.args(&run.arguments).env_clear();
    if run.program == HELM {
        command.envs(run.home.variables());
    }
    command.envs(run.environment.iter().map(|(name, value)| (name, value)));
    // Its own group: an interruption at the terminal is told by us, once.
    command.process_group(0).stdin(Stdio::null());
    command.stdout(if run.heard {
        Stdio::piped()
    } else {
        Stdio::null()
    });
    command.stderr(Stdio::piped());
    let child = start(&mut command).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => HelmError::Missing(program.to_owned()),
        _ => failed(program, source),
    })?;
    let mut child = Guard(child);
    let memory = Some(limits::MEMORY);
    let memory = Rlimit {
        current: memory,
        maximum: memory,
    };
    // One that has ended already needs no limit.
    let _ = prlimit(pid(&child.0), Resource::Data, memory);
    let stdout = child.0.stdout.take().map(|stdout| hear(stdout, first));
    let stderr = hear(child.0.stderr.take().expect("it is piped"), last);
    let said = attend(run, &mut child, stdout.as_ref(), cancel)?;
    let status = child.0.wait().map_err(|it| failed(program, it))?;
    match said {
        Some(said) if status.success() => Ok(said),
        _ => {
            let said = stderr.recv_timeout(TICK).unwrap_or_default();
            // Helmfile ends with this code too, where it finds nothing.
            let is_broken = status.code() == Some(BROKEN) && run.program == HELM;
            Err(HelmError::Failed {
                program: run.program,
                verb: run.verb,
                said: if is_broken { broken() } else { words(&said) },
            })
        }
    }
}

/// Starts it. A program that was written just now can be held open by a process that another thread is starting, until that
/// becomes another program.
fn start(command: &mut Command) -> io::Result<Child> {
    for _ in 1..limits::STARTS {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(TICK),
            done => return done,
        }
    }
    command.spawn()
}

/// Returns the error for what the operating system refused.
pub(crate) fn failed(program: &Path, source: io::Error) -> HelmError {
    HelmError::Run {
        program: program.to_owned(),
        source,
    }
}

/// Waits until it has said all that is wanted and ended: what it said; none if it could not be heard.
fn attend(
    run: &HelmRun<'_>,
    child: &mut Guard,
    stdout: Option<&Receiver<Heard>>,
    cancel: Cancel<'_>,
) -> Result<Option<Vec<u8>>, HelmError> {
    let started = Instant::now();
    let (program, verb) = (run.program, run.verb);
    let mut heard = None;
    loop {
        if let Err(cancelled) = cancel.go_on() {
            return Err(match take_leave(child, run.farewell, cancel) {
                Ended::Killed if !run.farewell.is_zero() => HelmError::Killed { program, verb },
                Ended::Itself | Ended::Killed => cancelled.into(),
            });
        }
        if started.elapsed() >= run.time {
            take_leave(child, run.farewell, cancel);
            let limit = run.time;
            return Err(HelmError::TooLong {
                program,
                verb,
                limit,
            });
        }
        let Some(stdout) = stdout.filter(|_| heard.is_none()) else {
            match child.0.try_wait() {
                Ok(None) => thread::sleep(TICK),
                _ => return Ok(Some(heard.unwrap_or_default())),
            }
            continue;
        };
        match stdout.recv_timeout(TICK) {
            Ok(Heard { more: true, .. }) => {
                let limit = limits::OUTPUT;
                return Err(HelmError::TooMuch {
                    program,
                    verb,
                    limit,
                });
            }
            Ok(Heard { bytes, .. }) => heard = Some(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// The way in which a run that was asked to end has ended.
enum Ended {
    Itself,
    Killed,
}

/// Asks it to end, and gives it time to, as long as there is any: half done, a release cannot be worked with. What has not
/// ended is killed.
fn take_leave(child: &mut Guard, farewell: Duration, cancel: Cancel<'_>) -> Ended {
    if let Some(pid) = pid(&child.0) {
        // It fails if it has ended.
        let _ = kill_process(pid, Signal::TERM);
    }
    let asked = Instant::now();
    while matches!(child.0.try_wait(), Ok(None)) {
        if asked.elapsed() >= farewell || cancel.is_urgent() {
            // It fails if it has ended.
            let _ = child.0.kill();
            return Ended::Killed;
        }
        thread::sleep(TICK);
    }
    Ended::Itself
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Reads a stream to its end in a thread of its own. A process that it left behind could keep the stream open for ever, so
/// nobody waits for that thread.
fn hear<R: Read + Send + 'static, T: Send + 'static>(
    stream: R,
    keep: impl FnOnce(R) -> io::Result<T> + Send + 'static,
) -> Receiver<T> {
    let (give, take) = mpsc::channel();
    thread::spawn(move || {
        if let Ok(heard) = keep(stream) {
            // Nobody listens any more.
            let _ = give.send(heard);
        }
    });
    take
}

/// Reads its first bytes, as many as it may write.
fn first(stream: impl Read) -> io::Result<Heard> {
    let mut bytes = Vec::new();
    let read = stream.take(limits::OUTPUT + 1).read_to_end(&mut bytes)?;
    let more = read as u64 > limits::OUTPUT;
    Ok(Heard { bytes, more })
}

/// Reads its last bytes.
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

/// Returns the words for a run that broke: what it wrote then is about its own insides.
fn broken() -> String {
    let most = limits::MEMORY >> 20;
    format!("it broke off, most likely out of memory: it may use {most} MiB")
}

/// Returns what it said went wrong, on one line, without the word that it begins with and its advice about a flag of
/// its own. What stands before are notes on the way, and what hooks wrote.
fn words(stderr: &[u8]) -> String {
    const ADVICE: &str = "Use --debug flag to render out invalid YAML";
    let text = String::from_utf8_lossy(stderr);
    let text = text.trim();
    let error = text.rsplit_once("\nError: ").map(|(_, error)| error);
    let text = error.or(text.strip_prefix("Error: ")).unwrap_or(text);
    let text = text.strip_suffix(ADVICE).unwrap_or(text);
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [] => "it failed without a word".to_owned(),
        _ => lines.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_told_without_what_was_said_before() {
        let said = |stderr: &str| words(stderr.as_bytes());
        let stderr = "level=WARN msg=\"upgrade failed\" name=shop\nError: of a hook\nError: UPGRADE FAILED: a\n\n  b\n";
        assert_eq!(said(stderr), "UPGRADE FAILED: a b");
        assert_eq!(said("Error: a Error: b\n"), "a Error: b");
        assert_eq!(said("killed\n"), "killed");
        assert_eq!(said(" \n"), "it failed without a word");
    }
}
