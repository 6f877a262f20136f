//! Downloads through a proxy in front of a real registry that are interrupted, wrong, too short or endless.

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use registry::{
    BlobPull, BlobSink, Credentials, Error, Event, RepositoryPath, SinkRefusal, pull, push,
};
use schemas::Digest;

use crate::faults::Times;
use crate::images::{Job, MIB, digest_of, noise, repository, silent};
use crate::server::{PASSWORD, Protection, Server, client_for, eventually, options, password};
use fixtures::proxy::{Action, Proxy, Seen, find, replace};

/// The content of a sink, as the test sees it.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    complete: bool,
    restarts: usize,
}

/// A sink that stores a blob in memory.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    kept: Arc<Mutex<Kept>>,
    digest: Option<Digest>,
    /// The capacity in bytes.
    room: Option<usize>,
}

impl Memory {
    pub(crate) fn of(content: &[u8]) -> Self {
        Self {
            digest: Some(digest_of(content)),
            ..Self::default()
        }
    }

    fn holding(self, bytes: &[u8]) -> Self {
        self.kept.lock().unwrap().bytes = bytes.to_vec();
        self
    }

    pub(crate) fn holds(&self, content: &[u8]) -> bool {
        let kept = self.kept.lock().unwrap();
        kept.complete && kept.bytes == content
    }

    fn restarts(&self) -> usize {
        self.kept.lock().unwrap().restarts
    }

    fn len(&self) -> usize {
        self.kept.lock().unwrap().bytes.len()
    }
}

impl BlobSink for Memory {
    fn position(&self) -> u64 {
        self.len() as u64
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap();
        if self
            .room
            .is_some_and(|room| kept.bytes.len() + bytes.len() > room)
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        kept.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap();
        kept.bytes.clear();
        kept.restarts += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkRefusal> {
        let mut kept = self.kept.lock().unwrap();
        let found = digest_of(&kept.bytes);
        if Some(found) != self.digest {
            kept.bytes.clear();
            return Err(SinkRefusal::Digest(found));
        }
        kept.complete = true;
        Ok(())
    }
}

pub(crate) fn blob(from: &RepositoryPath, content: &[u8], sink: &Memory) -> BlobPull {
    BlobPull {
        repository: from.clone(),
        digest: digest_of(content),
        size: content.len() as u64,
        sink: {
            let sink: Box<dyn BlobSink> = Box::new(sink.clone());
            Box::new(|| Ok(Some(sink)))
        },
    }
}

/// A registry whose repository `app` has these layers.
async fn with_layers(layers: &[Bytes]) -> Server {
    let server = Server::start(&Protection::None);
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), layers);
    let client = client_for(&server.host(), Credentials::Anonymous);
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    server
}

/// Pulls one layer through the proxy into the sink.
async fn fetch(proxy: &Proxy, layer: &[u8], sink: &Memory) -> Result<(), Error> {
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    pull(
        &client,
        vec![blob(&repository("app"), layer, sink)],
        &|_| (),
    )
    .await
    .map_err(|failed| failed.error)
}

/// Returns the requested ranges in order; an empty text for a request without a range.
fn ranges(proxy: &Proxy) -> Vec<String> {
    let seen = proxy.seen();
    let blobs = seen.iter().filter(|seen| seen.is("GET", "/blobs/"));
    blobs
        .map(|seen| seen.headers.get("range").cloned().unwrap_or_default())
        .collect()
}

fn body(answer: &[u8]) -> usize {
    find(answer, b"\r\n\r\n") + 4
}

fn flip(mut answer: Vec<u8>) -> Vec<u8> {
    let middle = usize::midpoint(body(&answer), answer.len());
    answer[middle] ^= 1;
    answer
}

/// Removes the stated length from an answer, so that it ends with the connection.
fn without_length(answer: &[u8]) -> Vec<u8> {
    let text = replace(answer, "content-length", "0");
    let at = find(&text, b"content-length: 0\r\n");
    [&text[..at], &text[at + "content-length: 0\r\n".len()..]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_blobs_come_once_and_the_largest_first() {
    let layers: Vec<Bytes> = (1..=6_u8)
        .map(|seed| noise(seed.into(), usize::from(seed) * MIB / 2))
        .collect();
    let server = with_layers(&layers).await;
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    // One at a time, to observe the order.
    let one = registry::ClientOptions {
        connections: NonZeroUsize::MIN,
        ..options()
    };
    let client = registry::Client::new(&proxy.host().parse().unwrap(), one).unwrap();
    let sinks: Vec<Memory> = layers.iter().map(|layer| Memory::of(layer)).collect();
    let app = repository("app");
    let blobs = layers.iter().zip(&sinks);
    let blobs = blobs.map(|(layer, sink)| blob(&app, layer, sink)).collect();
    let complete = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&complete);
    let progress = move |event| {
        if let Event::BlobComplete { size, .. } = event {
            *counted.lock().unwrap() += size;
        }
    };
    pull(&client, blobs, &progress).await.unwrap();
    assert!(
        layers
            .iter()
            .zip(&sinks)
            .all(|(layer, sink)| sink.holds(layer))
    );
    assert_eq!(ranges(&proxy), [""; 6]);
    let all: usize = layers.iter().map(Bytes::len).sum();
    assert_eq!(*complete.lock().unwrap(), all as u64);
    let asked: Vec<String> = proxy.seen().into_iter().map(|seen| seen.path).collect();
    let wanted = layers.iter().rev();
    let wanted: Vec<String> = wanted
        .map(|layer| format!("/v2/app/blobs/{}", digest_of(layer)))
        .collect();
    assert!(asked.ends_with(&wanted), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_blobs_come_at_a_time_as_there_are_connections() {
    let layers: Vec<Bytes> = (1..=6).map(|seed| noise(seed, 100)).collect();
    let server = with_layers(&layers).await;
    let under_way = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&under_way);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("GET", "/blobs/") {
            counted.fetch_add(1, Ordering::SeqCst);
            // No request gets an answer before four have arrived.
            eventually("four at a time", || counted.load(Ordering::SeqCst) >= 4);
        }
        Action::Forward
    });
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let sinks: Vec<Memory> = layers.iter().map(|layer| Memory::of(layer)).collect();
    let app = repository("app");
    let blobs = layers.iter().zip(&sinks);
    let blobs = blobs.map(|(layer, sink)| blob(&app, layer, sink)).collect();
    pull(&client, blobs, &|_| ()).await.unwrap();
    assert_eq!(under_way.load(Ordering::SeqCst), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_goes_on_where_it_broke() {
    let layer = noise(1, 8 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    // Five interruptions exceed the number of attempts without progress.
    let breaks = Times::new(5);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("GET", "/blobs/") && breaks.left() {
            Action::Truncate(MIB + 7)
        } else {
            Action::Forward
        }
    });
    let sink = Memory::of(&layer);
    fetch(&proxy, &layer, &sink).await.unwrap();
    assert!(sink.holds(&layer));
    let expected: Vec<String> = (0..6)
        .map(|breaks| match breaks * (MIB + 7) {
            0 => String::new(),
            from => format!("bytes={from}-"),
        })
        .collect();
    assert_eq!(ranges(&proxy), expected);
    assert_eq!(sink.restarts(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_ranges_is_read_again_from_its_beginning() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let proxy = Proxy::start(server.port, |_| Action::Without("range"));
    let sink = Memory::of(&layer).holding(&layer[..MIB + 5]);
    fetch(&proxy, &layer, &sink).await.unwrap();
    assert!(sink.holds(&layer));
    assert_eq!(ranges(&proxy), [format!("bytes={}-", MIB + 5)]);
    assert_eq!(sink.restarts(), 0, "what was there is not written again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_here_whole_is_not_asked_for() {
    let layer = noise(1, MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let sink = Memory::of(&layer).holding(&layer);
    fetch(&proxy, &layer, &sink).await.unwrap();
    assert!(sink.holds(&layer));
    assert_eq!(ranges(&proxy), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_bytes_are_fetched_anew_once_and_then_refused() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let once = Times::new(1);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("GET", "/blobs/") && once.left() {
            Action::Rewrite(flip)
        } else {
            Action::Forward
        }
    });
    let sink = Memory::of(&layer);
    fetch(&proxy, &layer, &sink).await.unwrap();
    assert!(sink.holds(&layer));
    assert_eq!(ranges(&proxy), ["", ""]);

    let proxy = Proxy::start(server.port, |_| Action::Rewrite(flip));
    let sink = Memory::of(&layer);
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    // The rule would also damage the answer for `/v2/`.
    let error = pull(
        &client,
        vec![blob(&repository("app"), &layer, &sink)],
        &|_| (),
    )
    .await;
    let error = error.unwrap_err().error;
    let right = digest_of(&layer);
    assert!(
        matches!(&error, Error::OtherDigest { expected, actual, .. } if *expected == right && *actual != right),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .contains(&format!("download blob {right} from 127.0.0.1"))
    );
    assert_eq!(ranges(&proxy), ["", ""], "tried once more and no more");
    assert!(!sink.holds(&layer) && sink.len() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_beginning_of_an_earlier_program_is_healed() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    for beginning in [noise(9, MIB), noise(9, 3 * MIB), noise(9, 2 * MIB)] {
        let sink = Memory::of(&layer).holding(&beginning);
        fetch(&proxy, &layer, &sink).await.unwrap();
        assert!(sink.holds(&layer), "{}", beginning.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_another_length_are_refused_before_they_are_kept() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    for size in [layer.len() - 1, layer.len() + 1] {
        let sink = Memory::of(&layer);
        let mut wanted = blob(&repository("app"), &layer, &sink);
        wanted.size = size as u64;
        let error = pull(&client, vec![wanted], &|_| ())
            .await
            .unwrap_err()
            .error;
        let stated = layer.len() as u64;
        assert!(
            matches!(error, Error::OtherSize { expected, actual, .. } if (expected, actual) == (size as u64, stated)),
            "{error:?}"
        );
        assert_eq!(sink.len(), 0);
    }
    // Without a stated length, the error is noticed at the first surplus byte.
    let longer = |answer: Vec<u8>| [&without_length(&answer)[..], b"x"].concat();
    let proxy = Proxy::start(server.port, move |_| Action::Rewrite(longer));
    let sink = Memory::of(&layer);
    let error = fetch(&proxy, &layer, &sink).await.unwrap_err();
    assert!(matches!(error, Error::OtherSize { .. }), "{error:?}");
    assert!(sink.len() <= layer.len() && !sink.holds(&layer));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_ends_early_without_a_word_is_not_the_whole() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let shorter = |answer: Vec<u8>| {
        let answer = without_length(&answer);
        answer[..answer.len() - MIB / 2].to_vec()
    };
    let once = Times::new(1);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("GET", "/blobs/") && once.left() {
            Action::Rewrite(shorter)
        } else {
            Action::Forward
        }
    });
    let sink = Memory::of(&layer);
    fetch(&proxy, &layer, &sink).await.unwrap();
    assert!(sink.holds(&layer));
    let rest = 2 * MIB - MIB / 2;
    assert_eq!(ranges(&proxy), [String::new(), format!("bytes={rest}-")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_part_than_was_asked_for_is_not_taken_for_it() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    for lie in [
        "bytes 5-2097151/2097152",
        "bytes 1000-2097151/2097153",
        "nonsense",
    ] {
        let once = Times::new(1);
        let proxy = Proxy::start(server.port, move |seen| {
            if seen.headers.contains_key("range") && once.left() {
                Action::Replace("content-range", lie)
            } else {
                Action::Forward
            }
        });
        let sink = Memory::of(&layer).holding(&layer[..1000]);
        fetch(&proxy, &layer, &sink).await.unwrap();
        assert!(sink.holds(&layer), "{lie}");
        assert_eq!(ranges(&proxy), ["bytes=1000-", ""], "{lie}");
        assert_eq!(sink.restarts(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_gives_a_few_bytes_for_each_request_is_given_up() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let proxy = Proxy::start(server.port, |seen| {
        if seen.is("GET", "/blobs/") {
            Action::Truncate(10)
        } else {
            Action::Forward
        }
    });
    let sink = Memory::of(&layer);
    let error = fetch(&proxy, &layer, &sink).await.unwrap_err();
    assert!(error.is_retried(), "{error:?}");
    assert_eq!(
        ranges(&proxy).len(),
        4,
        "the policy of these tests has four attempts"
    );
    assert_eq!(sink.len(), 40, "what came is kept for the next run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_registry_is_asked_again_when_it_says() {
    let layer = noise(1, MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let busy = Times::new(2);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("GET", "/blobs/") && busy.left() {
            Action::Answer("429 Too Many Requests\r\nRetry-After: 1", String::new())
        } else {
            Action::Forward
        }
    });
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let waits = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&waits);
    let progress = move |event| {
        if let Event::Retrying { wait, .. } = event {
            told.lock().unwrap().push(wait);
        }
    };
    let sink = Memory::of(&layer);
    let wanted = vec![blob(&repository("app"), &layer, &sink)];
    pull(&client, wanted, &progress).await.unwrap();
    assert!(sink.holds(&layer));
    assert_eq!(*waits.lock().unwrap(), [Duration::from_secs(1); 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn storage_elsewhere_gets_the_range_and_not_the_login() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let once = Times::new(1);
    let storage = Proxy::start(server.port, move |_| {
        if once.left() {
            Action::Truncate(MIB)
        } else {
            Action::Forward
        }
    });
    let path = format!("/v2/app/blobs/{}", digest_of(&layer));
    let location = format!("http://{}{path}", storage.host());
    let redirect: &'static str = format!("307 Temporary Redirect\r\nLocation: {location}").leak();
    let proxy = Proxy::start(0, move |seen: &Seen| {
        if !seen.headers.contains_key("authorization") {
            return Action::Answer(
                "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"",
                String::new(),
            );
        }
        Action::Answer(redirect, String::new())
    });
    let client = client_for(&proxy.host(), password(PASSWORD));
    let sink = Memory::of(&layer);
    let wanted = vec![blob(&repository("app"), &layer, &sink)];
    pull(&client, wanted, &|_| ()).await.unwrap();
    assert!(sink.holds(&layer));
    let logins = |proxy: &Proxy| {
        let seen = proxy.seen();
        seen.iter()
            .filter(|seen| seen.headers.contains_key("authorization"))
            .count()
    };
    assert_eq!((logins(&proxy), logins(&storage)), (2, 0));
    assert_eq!(ranges(&storage), [String::new(), format!("bytes={MIB}-")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_says_what_it_is() {
    let layer = noise(1, 1000);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let sink = Memory::of(b"nothing has this");
    let error = fetch(&proxy, b"nothing has this", &sink).await.unwrap_err();
    assert!(matches!(error, Error::Missing(..)), "{error:?}");

    let proxy = Proxy::start(server.port, |seen| {
        if seen.is("GET", "/blobs/") {
            Action::Answer("403 Forbidden", String::new())
        } else {
            Action::Forward
        }
    });
    let error = fetch(&proxy, &layer, &Memory::of(&layer))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::Denied(operation, _) if operation.is_pull()),
        "{error:?}"
    );

    let server = Server::start(&Protection::TlsAndLogin);
    let app = repository("app");
    let mut job = Job::default();
    job.image(&app, Some("1"), std::slice::from_ref(&layer));
    assert!(
        push(&server.client(), job.job, silent())
            .await
            .is_complete()
    );
    let sink = Memory::of(&layer);
    let client = server.client();
    pull(&client, vec![blob(&app, &layer, &sink)], &|_| ())
        .await
        .unwrap();
    assert!(sink.holds(&layer));
    let options = registry::ClientOptions {
        credentials: Credentials::Anonymous,
        ..server.options()
    };
    let client = registry::Client::new(&server.host().parse().unwrap(), options).unwrap();
    let wanted = vec![blob(&app, &layer, &Memory::of(&layer))];
    let error = pull(&client, wanted, &|_| ()).await.unwrap_err().error;
    assert!(matches!(error, Error::LoginRequired(..)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_before_the_pull_was_given_up_stays() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let once = Times::new(1);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("GET", "/blobs/") && once.left() {
            Action::Hold(MIB)
        } else {
            Action::Forward
        }
    });
    let sink = Memory::of(&layer);
    let came = async {
        while sink.len() < MIB {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        result = fetch(&proxy, &layer, &sink) => panic!("{result:?}"),
        () = came => {}
    }
    assert_eq!(sink.len(), MIB);
    fetch(&proxy, &layer, &sink).await.unwrap();
    assert!(sink.holds(&layer));
    assert_eq!(ranges(&proxy), [String::new(), format!("bytes={MIB}-")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_ends_the_download() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let sink = Memory {
        room: Some(MIB),
        ..Memory::of(&layer)
    };
    let error = fetch(&proxy, &layer, &sink).await.unwrap_err();
    let full = |source: &io::Error| source.kind() == io::ErrorKind::StorageFull;
    assert!(
        matches!(&error, Error::Store { source, .. } if full(source)),
        "{error:?}"
    );
    assert_eq!(ranges(&proxy).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_what_was_asked_for_is_taken_and_the_rest_asked_for() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let once = Times::new(1);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.headers.contains_key("range") && once.left() {
            Action::With("range", "bytes=1000-1999")
        } else {
            Action::Forward
        }
    });
    let sink = Memory::of(&layer).holding(&layer[..1000]);
    fetch(&proxy, &layer, &sink).await.unwrap();
    assert!(sink.holds(&layer));
    assert_eq!(ranges(&proxy), ["bytes=1000-", "bytes=2000-"]);
    assert_eq!(sink.restarts(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_refuses_the_range_is_asked_for_the_whole() {
    let layer = noise(1, 2 * MIB);
    let server = with_layers(std::slice::from_ref(&layer)).await;
    let proxy = Proxy::start(server.port, |seen| {
        if seen.headers.contains_key("range") {
            Action::Answer("416 Range Not Satisfiable", String::new())
        } else {
            Action::Forward
        }
    });
    let sink = Memory::of(&layer).holding(&layer[..1000]);
    fetch(&proxy, &layer, &sink).await.unwrap();
    assert!(sink.holds(&layer));
    assert_eq!(ranges(&proxy), ["bytes=1000-", ""]);
    assert_eq!(sink.restarts(), 1);
}
