//! Pushes by a separate process that is killed at random, over a line that breaks requests at random, to a registry
//! whose disk is sometimes full. A successful push must have stored every byte, a failed one must report the reason,
//! and the next push without faults must complete it.
//!
//! `scripts/faults` runs any number of seeds; this test runs the first twenty.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use fixtures::faults::{Numbers, seeded};
use fixtures::proxy::{Action, Proxy, find};
use registry::{Client, ClientOptions, Event, PartSizes, UploadJournal, push};
use tempfile::TempDir;

use crate::images::{self, Job, digest_of};
use crate::server::{Protection, Server, options, within};

/// The denominator of the rate of broken requests; two or four times as much for some seeds.
const ONE_IN: u64 = 8;
/// The denominator of the share of registries with a small disk.
const SMALL: u64 = 7;
/// The time for one push.
const LONGEST: Duration = Duration::from_mins(2);

/// The exit code of a failing test.
const FAILED: i32 = 101;

/// The results of the pushes.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// The first push was complete.
    complete: u32,
    /// The push was killed.
    killed: u32,
    /// The push reported the missing content.
    reported: u32,
    /// The number of blobs that the second push resumed in the middle.
    resumed: u32,
    /// The number of contents that were read back.
    read: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            complete,
            killed,
            reported,
            resumed,
            read,
        } = self;
        write!(
            f,
            "{complete} complete at once, {killed} killed and {reported} reported, all of them complete the second time ({resumed} blobs resumed); {read} contents read back"
        )
    }
}

#[test]
fn whatever_breaks_nothing_is_missing_from_a_push_that_ends_well() {
    if let Some(what) = variable(PUSH) {
        return push_as_asked(&what);
    }
    let mut counts = Counts::default();
    for seed in seeds() {
        run(seed, &mut counts);
    }
    println!("{counts}");
}

#[expect(clippy::disallowed_methods, reason = "a test is a program of its own")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the seeds that `scripts/faults` requests, else the default ones.
fn seeds() -> Range<u64> {
    let Some(text) = variable("SOLUTION_FAULT_SEEDS") else {
        return 0..20;
    };
    let (first, end) = text.split_once("..").unwrap();
    first.parse().unwrap()..end.parse().unwrap()
}

fn run(seed: u64, counts: &mut Counts) {
    let mut numbers = Numbers::new(seed ^ 0x5eed);
    let (job, contents) = images::seeded(seed);
    let size: u64 = job.job.blobs.iter().map(|blob| blob.size).sum();
    let small = seed % SMALL == SMALL - 1;
    let server = if small {
        Server::start_with_small_disk(numbers.below(size))
    } else {
        Server::start(&Protection::None)
    };
    let state = TempDir::new().unwrap();
    let proxy = Proxy::start(server.port, seeded(seed, ONE_IN << (seed % 3)));

    let child = start(&proxy, state.path(), seed);
    // Every second push is killed, at a random byte.
    let kill_at = (numbers.below(2) == 0).then(|| numbers.below(size));
    let (code, said) = wait(child, || kill_at.is_some_and(|at| proxy.taken() > at));
    match code {
        Some(0) => {
            counts.complete += 1;
            counts.read += read_back(&server, &job, &contents, seed);
            return;
        }
        Some(FAILED) => {
            assert!(said.contains("error cannot "), "{seed}: {said}");
            counts.reported += 1;
        }
        None => counts.killed += 1,
        Some(other) => panic!("{seed}: {other}: {said}"),
    }
    if small {
        server.free_disk();
    }
    proxy.change(|_| Action::Forward);
    let (code, said) = wait(start(&proxy, state.path(), seed), || false);
    assert_eq!(code, Some(0), "{seed}: {said}");
    let resumed = said.lines().filter(|line| line.starts_with("resumed "));
    counts.resumed += u32::try_from(resumed.count()).unwrap();
    assert!(!said.contains("ignored "), "{seed}: {said}");
    counts.read += read_back(&server, &job, &contents, seed);
}

/// The variable with which this test, run as a child process, learns what to push: a registry, a directory, and a seed.
const PUSH: &str = "SOLUTION_TEST_PUSH";

/// The test that runs itself.
const ITSELF: &str = "seeded::whatever_breaks_nothing_is_missing_from_a_push_that_ends_well";

/// Starts a push in a separate process.
fn start(proxy: &Proxy, state: &Path, seed: u64) -> Child {
    let uploads = state.join("uploads");
    let what = format!("{} {} {seed}", proxy.host(), uploads.display());
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", ITSELF, "--nocapture"])
        .env(PUSH, what)
        .stdout(Stdio::piped())
        // Failures are printed on standard output.
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns if everything is stored, else panics with the reasons.
#[tokio::main]
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it is the program of a test, which reads what it says"
)]
async fn push_as_asked(what: &str) {
    let [host, state, seed] = what.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{what}")
    };
    let user = rustix::process::geteuid().as_raw();
    let journal = UploadJournal::new(state.into(), user, std::time::SystemTime::now());
    let options = ClientOptions {
        parts: PartSizes {
            above: 2 * images::PART,
            bytes: NonZeroU64::new(images::PART).unwrap(),
        },
        journal: Some(Arc::new(journal)),
        ..options()
    };
    let client = Client::new(&host.parse().unwrap(), options).unwrap();
    let (job, _) = images::seeded(seed.parse().unwrap());
    let tell = |event| match event {
        Event::BlobResumed { from, size, .. } => println!("resumed {from} {size}"),
        Event::JournalIgnored { reason } => println!("ignored {reason}"),
        _ => {}
    };
    let report = push(&client, job.job, &tell).await;
    for error in report.errors() {
        println!("error {error}");
    }
    assert!(report.is_complete());
}

/// Returns the exit code, or `None` if the process was killed, and its output.
fn wait(mut child: Child, kill: impl Fn() -> bool) -> (Option<i32>, String) {
    let mut status = None;
    within(LONGEST, "the end of a push", || {
        status = child.try_wait().unwrap();
        if status.is_none() && kill() {
            child.kill().unwrap();
        }
        status.is_some()
    });
    let mut said = String::new();
    child.stdout.unwrap().read_to_string(&mut said).unwrap();
    (status.unwrap().code(), said)
}

/// Reads all content from the registry directly. Returns the number of contents.
fn read_back(server: &Server, job: &Job, contents: &[bytes::Bytes], seed: u64) -> u64 {
    let mut read = 0;
    for blob in &job.job.blobs {
        for repository in &blob.repositories {
            let path = format!("{repository}/blobs/{}", blob.digest);
            let body = get(server, &path);
            assert_eq!(digest_of(&body), blob.digest, "{seed}: {path}");
            read += 1;
        }
    }
    for manifest in &job.job.manifests {
        let path = format!("{}/manifests/{}", manifest.repository, manifest.reference);
        assert!(get(server, &path) == manifest.bytes, "{seed}: {path}");
        read += 1;
    }
    assert!(read > contents.len() as u64);
    read
}

/// Returns the body of an answer, which must be a success.
fn get(server: &Server, path: &str) -> Vec<u8> {
    let (host, kinds) = (server.host(), "application/vnd.oci.image.manifest.v1+json");
    let ask = format!(
        "GET /v2/{path} HTTP/1.1\r\nHost: {host}\r\nAccept: {kinds}\r\nConnection: close\r\n\r\n"
    );
    let mut connection = TcpStream::connect(&host).unwrap();
    connection.write_all(ask.as_bytes()).unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{path}");
    answer.split_off(find(&answer, b"\r\n\r\n") + 4)
}
