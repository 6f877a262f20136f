//! Ctrl-C, SIGTERM and SIGHUP: every command ends within a second, with the signal's exit code and a message about the
//! completed steps.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::Desk;
use crate::common::results::schema_violations;

const ALL: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

/// The end of a program after a signal.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
}

impl Ended {
    /// Sends a signal and waits for the end.
    fn after_signal(child: Child, signal: Signal) -> Self {
        let began = Instant::now();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            took: began.elapsed(),
        }
    }

    /// Asserts the exit code and message of every attempt, and that an attempt ends within a second. On a busy machine,
    /// one of several attempts must be fast enough.
    #[track_caller]
    fn assert_fast(code: i32, stderr: &str, mut end: impl FnMut() -> Self) -> Self {
        for _ in 0..TRIES {
            let ended = end();
            assert_eq!(ended.code, Some(code), "{ended:?}");
            assert_eq!(ended.stderr, stderr, "{ended:?}");
            if ended.took < Duration::from_secs(1) {
                return ended;
            }
        }
        panic!("it took longer than a second, {TRIES} times in a row");
    }
}

const TRIES: usize = 5;
/// The limit for an immediate end, which is shorter than the grace period after one signal.
const AT_ONCE: Duration = Duration::from_millis(500);

/// The first message of an import.
const JUDGED: &str = "signatures checked by --key: 1 of 1 key signed, 1 needed\n";
const NOTHING: &str = "error: interrupted: nothing was changed\n";

/// An API server that accepts connections and never answers, and its kubeconfig.
struct Silent {
    desk: Desk,
    server: TcpListener,
}

impl Silent {
    fn new() -> Self {
        let desk = Desk::with_archive();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        desk.write(
            "config",
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
                 clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
                 contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
                 users: [{{name: u, user: {{}}}}]\n"
            ),
        );
        Self { desk, server }
    }

    /// Starts a command, and stops it once it waits for the server.
    fn interrupt(&self, verb: &[&str], signal: Signal) -> Ended {
        let child = start(&self.desk, &[verb, &["--kubeconfig", "config"]].concat());
        let _connection = self.server.accept().unwrap();
        Ended::after_signal(child, signal)
    }
}

fn start(desk: &Desk, arguments: &[&str]) -> Child {
    let mut command = desk.command();
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn every_verb_that_waits_for_a_cluster_ends_at_a_signal() {
    let silent = Silent::new();
    let import: &[&str] = &[
        "import",
        "example.iso",
        "--key",
        "publisher.pub",
        "--registry",
        "127.0.0.1:9",
        "--environment",
        "prod",
    ];
    let verbs: [&[&str]; 10] = [
        import,
        &["status"],
        &["undeploy", "--yes", "example", "-e", "prod"],
        &["deactivate", "--yes", "example"],
        &["unimport", "--yes", "example", "1.0.0"],
        &["delete", "example", "--yes"],
        &["environment", "create", "prod", "--wait"],
        &["environment", "delete", "--yes", "prod"],
        &["environment", "list"],
        &["environment", "describe", "prod"],
    ];
    for verb in verbs {
        for (signal, code) in ALL {
            let talk = if verb == import { JUDGED } else { "" };
            let said = format!("{talk}{NOTHING}");
            Ended::assert_fast(code, &said, || silent.interrupt(verb, signal));
        }
    }
}

#[test]
fn a_verb_that_reads_waits_no_longer_than_it_may() {
    let silent = Silent::new();
    let verbs: [&[&str]; 8] = [
        &["status"],
        &["history"],
        &["environment", "list"],
        &["environment", "describe", "prod"],
        &["site", "show"],
        &["site", "check"],
        &["diff", "-e", "prod"],
        &["mirrors"],
    ];
    for verb in verbs {
        let asked = [verb, &["--kubeconfig", "config", "--timeout", "1"]].concat();
        let text = silent.desk.solution(&asked).failure(3);
        for words in [
            "the cluster did not answer all requests within 1 s",
            "wait longer with `--timeout SECONDS`",
        ] {
            assert!(text.contains(words), "{verb:?}: {text}");
        }
    }
}

#[test]
fn the_sentence_has_a_form_for_programs() {
    let (silent, verb) = (Silent::new(), ["status", "--output", "json"]);
    let ended = Ended::assert_fast(143, "", || silent.interrupt(&verb, Signal::TERM));
    let said: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(said["error"], "interrupted: nothing was changed");
    assert_eq!(said["answer"], "unknown");
    let outside = schema_violations(&verb.map(str::to_owned), &said);
    assert!(outside.is_empty(), "{outside:#?}");
}

#[test]
fn a_pack_of_a_source_leaves_nothing_behind() {
    let desk = Desk::with_key();
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = registry.local_addr().unwrap();
    let pod = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: shop, labels: {{app.kubernetes.io/version: 1.0.0}}}}, spec: {{containers: [{{name: shop, image: '{host}/shop:1.0.0'}}]}}}}"
    );
    desk.write("release.yaml", pod);
    std::fs::create_dir(desk.path("tmp")).unwrap();
    let before = desk.names();
    for (signal, code) in ALL {
        let mut command = desk.command();
        command.env("TMPDIR", desk.path("tmp"));
        command.args(["pack", "release.yaml", "--key", "publisher.key"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let _connection = registry.accept().unwrap();
        // The tree is private while it exists.
        let tree = std::fs::read_dir(desk.path("tmp")).unwrap();
        let modes = tree.map(|entry| entry.unwrap().metadata().unwrap().mode() & 0o777);
        assert_eq!(modes.collect::<Vec<_>>(), [0o700]);
        let ended = Ended::after_signal(child, signal);
        let said = "error: interrupted: `shop-1.0.0.iso` was not written; run the same command again: cached content is not downloaded again\n";
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.ends_with(said), "{ended:?}");
        let left = std::fs::read_dir(desk.path("tmp")).unwrap();
        assert_eq!(left.count(), 0, "{ended:?}");
        assert_eq!(desk.names(), before);
    }
}

/// Starts a command that waits for a passphrase on standard input, where no signal wakes it.
fn start_with_open_stdin(desk: &Desk) -> (Child, ChildStdin) {
    waiting(start(
        desk,
        &["keygen", "other", "--encrypt", "--passphrase-file", "-"],
    ))
}

fn waiting(mut child: Child) -> (Child, ChildStdin) {
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"not a line yet").unwrap();
    // An empty pipe shows that the program reads.
    while rustix::io::ioctl_fionread(&stdin).is_ok_and(|left| left > 0) {
        std::thread::yield_now();
    }
    (child, stdin)
}

#[test]
fn a_verb_that_cannot_notice_is_ended_all_the_same() {
    let desk = Desk::new();
    for (signal, code) in ALL {
        Ended::assert_fast(code, NOTHING, || {
            let (child, _stdin) = start_with_open_stdin(&desk);
            Ended::after_signal(child, signal)
        });
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let desk = Desk::new();
    let at_once = (0..TRIES).any(|_| measure_second_signal(&desk) < AT_ONCE);
    assert!(at_once, "it took its time {TRIES} times in a row");
}

#[test]
fn a_program_that_nohup_has_started_outlives_its_terminal() {
    let desk = Desk::new();
    let program = desk.command();
    let mut nohup = Command::new("sh");
    let script = r#"trap '' HUP; exec "$0" keygen other --encrypt --passphrase-file -"#;
    nohup.args(["-c", script]).arg(program.get_program());
    nohup.current_dir(desk.path("."));
    let child = nohup.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let (child, _stdin) = waiting(child.unwrap());
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    // A second signal would end it without a message.
    let ended = Ended::after_signal(child, Signal::TERM);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(143), NOTHING));
}

/// Measures the time until a program ends after its second signal.
fn measure_second_signal(desk: &Desk) -> Duration {
    let (mut child, _stdin) = start_with_open_stdin(desk);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let began = Instant::now();
    // A second signal that arrives while another thread handles the first one may count as the first.
    while child.try_wait().unwrap().is_none() {
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let took = began.elapsed();
    let output = child.wait_with_output().unwrap();
    let code = output.status.code();
    assert!([Some(130), Some(143)].contains(&code), "{output:?}");
    if took < AT_ONCE {
        assert_eq!(output.stderr, b"", "it took its time for words");
    }
    took
}
