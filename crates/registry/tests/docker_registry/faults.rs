//! Faults on the way to the registry, each injected once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use registry::{Credentials, Error, ManifestOutcome, PushReport, Reference, push};
use schemas::Tag;

use crate::images::{Job, MIB, digest_of, noise, repository, silent};
use crate::server::{Protection, Server, client_for};
use fixtures::proxy::{Action, Proxy, Seen};

/// A valid digest without content.
const OTHER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Pushes an image of these layers through the proxy.
async fn push_layers(proxy: &Proxy, layers: &[bytes::Bytes]) -> (PushReport, Job) {
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), layers);
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let report = push(&client, job.job.clone(), silent()).await;
    (report, job)
}

/// Checks whether the registry behind the proxy has a blob with these bytes.
fn holds(server: &Server, content: &[u8]) -> bool {
    let file = server.blob(&digest_of(content).hex());
    file.is_some_and(|file| std::fs::read(file).unwrap() == content)
}

/// A condition of a rule that holds a limited number of times.
pub(crate) struct Times(AtomicU32);

impl Times {
    pub(crate) fn new(times: u32) -> Self {
        Self(AtomicU32::new(times))
    }

    pub(crate) fn left(&self) -> bool {
        let down = |left: u32| left.checked_sub(1);
        self.0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, down)
            .is_ok()
    }
}

fn large(seen: &Seen) -> bool {
    seen.length() > MIB as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_is_tried_again() {
    let server = Server::start(&Protection::None);
    let once = Times::new(1);
    let proxy = Proxy::start(server.port, move |seen| {
        if large(seen) && once.left() {
            Action::BreakAfter(3 * MIB as u64)
        } else {
            Action::Forward
        }
    });
    let layer = noise(1, 8 * MIB);
    let (report, _) = push_layers(&proxy, std::slice::from_ref(&layer)).await;
    assert!(report.is_complete(), "{report:?}");
    assert!(holds(&server, &layer));
    assert_eq!(proxy.seen().iter().filter(|seen| large(seen)).count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_goes_on_where_the_registry_says() {
    let server = Server::start(&Protection::None);
    let (once, kept) = (Times::new(1), 33 * MIB as u64 + 5);
    let status = Times::new(1);
    let proxy = Proxy::start(server.port, move |seen| {
        if large(seen) && once.left() {
            return Action::KeepAndBreak(kept);
        }
        if seen.is("GET", "/uploads/") && status.left() {
            let head = "204 No Content\r\nRange: 0-34603012";
            return Action::Answer(head, String::new());
        }
        Action::Forward
    });
    let layer = noise(1, 40 * MIB + 9);
    let (report, job) = push_layers(&proxy, std::slice::from_ref(&layer)).await;
    assert!(report.is_complete(), "{report:?}");
    assert!(holds(&server, &layer));
    let resumed: Vec<Seen> = proxy
        .seen()
        .into_iter()
        .filter(|seen| seen.method == "PATCH")
        .collect();
    assert_eq!(resumed.len(), 1);
    assert_eq!(
        resumed[0].headers["content-range"],
        format!("{kept}-{}", layer.len() - 1)
    );
    assert_eq!(resumed[0].length(), layer.len() as u64 - kept);
    // The second read begins at the checkpoint at 32 MiB, not at the beginning.
    let twice = job.bytes_read() - job.bytes();
    assert!(twice <= 8 * MIB as u64 + 9, "{twice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_hardly_gets_further_ends() {
    let server = Server::start(&Protection::None);
    let taken = AtomicU32::new(0);
    let proxy = Proxy::start(server.port, move |seen| {
        if large(seen) {
            return Action::KeepAndBreak(1000);
        }
        if seen.is("GET", "/uploads/") {
            let taken = taken.fetch_add(1000, Ordering::SeqCst) + 999;
            let head = format!("204 No Content\r\nRange: 0-{taken}");
            return Action::Answer(head.leak(), String::new());
        }
        Action::Forward
    });
    let layer = noise(1, 3 * MIB);
    let (report, _) = push_layers(&proxy, std::slice::from_ref(&layer)).await;
    let error = &report.failed_blobs[0].error;
    assert!(matches!(**error, Error::Interrupted(..)), "{error:?}");
    let tries = proxy.seen().iter().filter(|seen| large(seen)).count();
    assert_eq!(tries, 4, "a thousand bytes each time are no progress");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_claims_bytes_nobody_sent_is_not_believed() {
    let server = Server::start(&Protection::None);
    let (once, lie) = (Times::new(1), Times::new(1));
    let proxy = Proxy::start(server.port, move |seen| {
        if large(seen) && once.left() {
            return Action::BreakAfter(MIB as u64);
        }
        if seen.is("GET", "/uploads/") && lie.left() {
            return Action::Answer("204 No Content\r\nRange: 0-999999999", String::new());
        }
        Action::Forward
    });
    let layer = noise(1, 6 * MIB);
    let (report, _) = push_layers(&proxy, std::slice::from_ref(&layer)).await;
    assert!(report.is_complete(), "{report:?}");
    assert!(holds(&server, &layer));
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_registries_are_waited_for() {
    let server = Server::start(&Protection::None);
    let (limited, failing) = (Times::new(1), Times::new(2));
    let proxy = Proxy::start(server.port, move |seen| {
        if large(seen) && limited.left() {
            let head = "429 Too Many Requests\r\nRetry-After: 1";
            return Action::Answer(head, "slow down".to_owned());
        }
        if seen.is("PUT", "/manifests/") && failing.left() {
            return Action::Answer("503 Service Unavailable", String::new());
        }
        Action::Forward
    });
    let (layer, start) = (noise(1, 2 * MIB), Instant::now());
    let (report, _) = push_layers(&proxy, std::slice::from_ref(&layer)).await;
    assert!(report.is_complete(), "{report:?}");
    assert!(
        start.elapsed() >= Duration::from_secs(1),
        "Retry-After is kept"
    );
    assert!(holds(&server, &layer));
    assert_eq!(proxy.count("PUT", "/manifests/"), 2 + 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_asks_for_patience_gets_more_than_one_that_fails() {
    let server = Server::start(&Protection::None);
    let limited = Times::new(7);
    let proxy = Proxy::start(server.port, move |seen| {
        if large(seen) && limited.left() {
            Action::Answer("429 Too Many Requests", String::new())
        } else {
            Action::Forward
        }
    });
    let mut options = crate::server::options();
    options.retry.attempts.pause = 8;
    let client = registry::Client::new(&proxy.host().parse().unwrap(), options).unwrap();
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), &[noise(1, 2 * MIB)]);
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(proxy.seen().iter().filter(|seen| large(seen)).count(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_fails_stops_no_other() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |seen| {
        if seen.method != "GET" && seen.path.starts_with("/v2/bad/") {
            Action::Answer("500 Internal Server Error", String::new())
        } else {
            Action::Forward
        }
    });
    let mut job = Job::default();
    for (seed, at) in (1..).zip(["a", "bad", "c"]) {
        job.image(&repository(at), Some("1"), &[noise(seed, 2 * MIB)]);
    }
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let report = push(&client, job.job.clone(), silent()).await;
    for (manifest, outcome) in job.job.manifests.iter().zip(&report.manifests) {
        let pushed = matches!(outcome, ManifestOutcome::Pushed);
        assert_eq!(
            pushed,
            manifest.repository != repository("bad"),
            "{outcome:?}"
        );
    }
    assert_eq!(report.failed_blobs.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_end() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |seen| {
        if large(seen) {
            Action::Answer(
                "500 Internal Server Error",
                "disk full?_state=SECRET".to_owned(),
            )
        } else {
            Action::Forward
        }
    });
    let (report, _) = push_layers(&proxy, &[noise(1, 2 * MIB), noise(2, 10)]).await;
    assert_eq!(report.failed_blobs.len(), 1);
    let error = &report.failed_blobs[0].error;
    assert!(
        matches!(**error, Error::Busy { status: 500, .. }),
        "{error:?}"
    );
    assert!(error.is_retried() && error.is_storing(), "{error}");
    assert_eq!(proxy.seen().iter().filter(|seen| large(seen)).count(), 4);
    let shown = format!("{report:?} {error}");
    assert!(
        shown.contains("disk full") && !shown.contains("_state"),
        "{shown}"
    );
    assert_eq!(report.uploaded.count, 2);
    assert!(
        report
            .manifests
            .iter()
            .all(|outcome| matches!(outcome, ManifestOutcome::Blocked { .. }))
    );
    assert_eq!(
        proxy.count("DELETE", "/uploads/"),
        4,
        "each upload is given back"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_blobs_that_are_refused_go_in_chunks() {
    for (limit, sizes) in [(16, vec![16, 16, 8]), (1, vec![1; 40])] {
        let server = Server::start(&Protection::None);
        let largest = limit * MIB as u64;
        let proxy = Proxy::start(server.port, move |seen| {
            if seen.length() > largest {
                Action::AnswerEarly("413 Request Entity Too Large")
            } else {
                Action::Forward
            }
        });
        let layer = noise(1, 40 * MIB);
        let (report, _) = push_layers(&proxy, std::slice::from_ref(&layer)).await;
        assert!(report.is_complete(), "{report:?}");
        assert!(holds(&server, &layer));
        let taken =
            |seen: &&Seen| seen.method == "PATCH" && large_part(seen) && seen.length() <= largest;
        let chunks: Vec<u64> = proxy
            .seen()
            .iter()
            .filter(taken)
            .map(|seen| seen.length() / MIB as u64)
            .collect();
        assert_eq!(chunks, sizes);
    }
}

fn large_part(seen: &Seen) -> bool {
    seen.length() >= MIB as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_chunk_is_sent_again_and_no_other() {
    let server = Server::start(&Protection::None);
    let (whole, second) = (Times::new(1), Times::new(1));
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("PUT", "/uploads/") && large(seen) && whole.left() {
            return Action::Answer("405 Method Not Allowed", String::new());
        }
        let range = seen.headers.get("content-range").map_or("", String::as_str);
        if range.starts_with("16777216-") && second.left() {
            return Action::Answer("502 Bad Gateway", String::new());
        }
        Action::Forward
    });
    let layer = noise(1, 40 * MIB);
    let (report, _) = push_layers(&proxy, std::slice::from_ref(&layer)).await;
    assert!(report.is_complete(), "{report:?}");
    assert!(holds(&server, &layer));
    let ranges: Vec<String> = proxy
        .seen()
        .iter()
        .filter(|seen| large(seen) && seen.method == "PATCH")
        .map(|seen| seen.headers["content-range"].clone())
        .collect();
    let second = "16777216-33554431";
    assert_eq!(ranges, ["0-16777215", second, second, "33554432-41943039"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_found_in_chunks() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |seen| {
        if seen.is("PUT", "/uploads/") && large(seen) {
            Action::Answer("405 Method Not Allowed", String::new())
        } else {
            Action::Forward
        }
    });
    let right = noise(1, 20 * MIB);
    let mut damaged = right.to_vec();
    damaged[100] ^= 1;
    let mut job = Job::default();
    job.image_of(
        &repository("app"),
        Some("1"),
        &[(digest_of(&right), damaged.into())],
    );
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let report = push(&client, job.job, silent()).await;
    assert!(
        matches!(*report.failed_blobs[0].error, Error::Damaged { .. }),
        "{report:?}"
    );
    assert!(server.stored(&digest_of(&right).hex()).is_empty());
    let committed = proxy.seen().into_iter().any(|seen| {
        seen.is("PUT", "/uploads/") && seen.path.contains(&digest_of(&right).hex()) && !large(&seen)
    });
    assert!(!committed, "the upload is never finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_cut_off_or_lie_are_errors() {
    let server = Server::start(&Protection::None);
    let tag: Reference = "1".parse::<Tag>().unwrap().into();
    let app = repository("app");
    let straight = Proxy::start(server.port, |_| Action::Forward);
    let (report, _) = push_layers(&straight, &[noise(1, 10)]).await;
    assert!(report.is_complete());

    let cut = Proxy::start(server.port, |seen| match seen.method.as_str() {
        "GET" if seen.path.contains("/manifests/") => Action::Truncate(20),
        _ => Action::Forward,
    });
    let client = client_for(&cut.host(), Credentials::Anonymous);
    let error = client.manifest(&app, &tag).await.unwrap_err();
    assert!(matches!(error, Error::Interrupted(..)), "{error:?}");

    let liar = Proxy::start(server.port, |_| {
        Action::Replace("Docker-Content-Digest", OTHER)
    });
    let client = client_for(&liar.host(), Credentials::Anonymous);
    let error = client.manifest(&app, &tag).await.unwrap_err();
    assert!(matches!(error, Error::OtherDigest { .. }), "{error:?}");
    let mut job = Job::default();
    job.image(&repository("other"), Some("1"), &[noise(2, 10)]);
    let mut run = job.job.clone();
    run.blobs.clear();
    run.manifests
        .retain(|manifest| matches!(manifest.reference, Reference::Digest(_)));
    run.manifests[0].needs.clear();
    // The blobs are pushed directly, because this test is about the answer for the manifest.
    let mut blobs = job.job.clone();
    blobs.manifests.clear();
    let straight = client_for(&straight.host(), Credentials::Anonymous);
    assert!(push(&straight, blobs, silent()).await.is_complete());
    let report = push(&client, run, silent()).await;
    let lied = matches!(&report.manifests[0], ManifestOutcome::Failed(error) if matches!(**error, Error::OtherDigest { .. }));
    assert!(lied, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_that_is_not_stated_is_computed() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |_| {
        Action::Replace("Docker-Content-Digest", "none")
    });
    let (report, job) = push_layers(&proxy, &[noise(1, 10)]).await;
    assert!(report.is_complete(), "{report:?}");
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let tag = "1".parse::<Tag>().unwrap().into();
    let found = client.manifest(&repository("app"), &tag).await.unwrap();
    assert_eq!(found.unwrap().digest, job.job.manifests[0].digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_never_finished_ends() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |seen| {
        if !seen.is("PUT", "/uploads/") {
            return Action::Forward;
        }
        let status = if large(seen) {
            "405 Method Not Allowed"
        } else {
            "400 Bad Request"
        };
        Action::Answer(status, String::new())
    });
    let mut job = Job::default();
    job.blob(
        &repository("app"),
        digest_of(&noise(1, 2 * MIB)),
        &noise(1, 2 * MIB),
    );
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let report = push(&client, job.job, silent()).await;
    let error = &report.failed_blobs[0].error;
    assert!(
        matches!(**error, Error::Refused { status: 400, .. }),
        "{error:?}"
    );
    // Each attempt gets as far as the previous one, and no further.
    let finishing = |seen: &&Seen| seen.is("PUT", "/uploads/") && !large(seen);
    assert_eq!(proxy.seen().iter().filter(finishing).count(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_a_refused_mount_opens_is_used() {
    let server = Server::start(&Protection::None);
    let layer = noise(1, 2 * MIB);
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), std::slice::from_ref(&layer));
    let blobs = job.job.blobs.iter();
    let sizes: Vec<(String, u64)> = blobs.map(|b| (b.digest.to_string(), b.size)).collect();
    let proxy = Proxy::start(server.port, move |seen| {
        // The proxy claims that another repository has everything, and the registry does not find it there when it
        // mounts.
        let ghost = seen.path.strip_prefix("/v2/ghost/blobs/");
        match sizes.iter().find(|(digest, _)| ghost == Some(digest)) {
            Some((_, size)) => {
                Action::Answer("200 OK", "x".repeat(usize::try_from(*size).unwrap()))
            }
            None => Action::Forward,
        }
    });
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    job.mount_from(&client, &[repository("ghost")]).await;
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!((report.mounted.count, report.uploaded.count), (0, 2));
    assert!(holds(&server, &layer));
    assert_eq!(proxy.count("POST", "from=ghost"), 2);
    assert_eq!(
        proxy.count("POST", "/uploads/"),
        2,
        "no further upload is opened"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_of_another_size_is_sent_again() {
    let server = Server::start(&Protection::None);
    let before = Times::new(2);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("GET", "/blobs/") && before.left() {
            Action::Answer("200 OK", "cut".to_owned())
        } else {
            Action::Forward
        }
    });
    let layer = noise(1, 1000);
    let (report, _) = push_layers(&proxy, std::slice::from_ref(&layer)).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!((report.present.count, report.uploaded.count), (0, 2));
    assert!(holds(&server, &layer));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_goes_away_ends_the_push_soon() {
    let server = Server::start(&Protection::None);
    let port = server.port;
    drop(server);
    let mut job = Job::default();
    for seed in 0..50 {
        job.image(&repository("app"), None, &[noise(seed, 100)]);
    }
    let mut options = crate::server::options();
    options.plain_http = registry::PlainHttp::Always;
    let address = format!("127.0.0.1:{port}").parse().unwrap();
    let client = registry::Client::new(&address, options).unwrap();
    let report = push(&client, job.job.clone(), silent()).await;
    assert_eq!(report.failed_blobs.len(), job.job.blobs.len());
    // The requests under way fail individually, all others with the first error.
    let errors = report.errors().len();
    assert!(errors <= registry::limits::REQUESTS, "{errors}");
    assert!(
        report
            .errors()
            .iter()
            .all(|error| matches!(**error, Error::Unreachable(..)))
    );
}
