//! Registries that claim content that they do not deliver: a real one after its garbage collection, and simulated ones
//! for other cases.

use registry::{Credentials, Error, ManifestOutcome, Reference, pull, push};
use schemas::Tag;

use crate::faults::Times;
use crate::images::{Job, MIB, digest_of, has_blob, noise, repository, silent};
use crate::pulling::{Memory, blob};
use crate::server::{Protection, Server, client_for};
use fixtures::proxy::{Action, Proxy};

fn is_not_kept(error: &Error) -> bool {
    matches!(error, Error::NotKept(..))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_collected_is_pushed_again_and_what_that_cannot_heal_needs_a_restart() {
    let mut server = Server::start(&Protection::None);
    let client = client_for(&server.host(), Credentials::Anonymous);
    let app = repository("app");
    let layer = noise(1, MIB);
    let mut job = Job::default();
    let digest = job.image(&app, Some("1"), &[layer.clone(), noise(0, 0)]);
    assert!(push(&client, job.job.clone(), silent()).await.is_complete());
    server.delete_manifest(&app, &digest);
    server.collect_garbage();
    assert!(server.stored("blobs/sha256").is_empty());

    // Its cache still answers for the blobs and treats the manifest as already stored.
    let (content, size) = (digest_of(&layer), layer.len() as u64);
    assert!(!has_blob(&client, &app, &content, size).await.unwrap());
    let report = push(&client, job.job.clone(), silent()).await;
    assert_eq!((report.uploaded.count, report.present.count), (3, 0));
    assert!(report.failed_blobs.is_empty());
    assert!(!report.is_complete());
    let errors = report.errors();
    assert!(errors.iter().all(|error| is_not_kept(error)), "{report:?}");
    assert!(!errors[0].is_retried());

    server.restart();
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    // The presence of the empty blob cannot be proven, so it is sent.
    assert_eq!((report.uploaded.count, report.present.count), (1, 2));
    let sink = Memory::of(&layer);
    let wanted = vec![blob(&app, &layer, &sink)];
    pull(&client, wanted, &|_| ()).await.unwrap();
    assert!(sink.holds(&layer));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_collected_is_mounted_from_nowhere() {
    let server = Server::start(&Protection::None);
    let client = client_for(&server.host(), Credentials::Anonymous);
    let (old, new) = (repository("demo-1.0.0/app"), repository("demo-1.1.0/app"));
    let layer = noise(1, MIB);
    let mut job = Job::default();
    let digest = job.image(&old, None, std::slice::from_ref(&layer));
    assert!(push(&client, job.job, silent()).await.is_complete());
    server.delete_manifest(&old, &digest);
    server.collect_garbage();
    let mut job = Job::default();
    job.blob(&new, digest_of(&layer), &layer);
    job.mount_from(&client, &[old]).await;
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!((report.uploaded.count, report.mounted.count), (1, 0));
    let sink = Memory::of(&layer);
    let wanted = vec![blob(&new, &layer, &sink)];
    pull(&client, wanted, &|_| ()).await.unwrap();
    assert!(sink.holds(&layer));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_is_claimed_and_sent_and_still_not_given_is_an_error() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |seen| match seen.method.as_str() {
        // As after a garbage collection: the head of an answer without content.
        "GET" if seen.path.contains("/blobs/") => Action::Answer(
            "206 Partial Content\r\nContent-Range: bytes 3-3/4",
            String::new(),
        ),
        _ => Action::Forward,
    });
    let mut job = Job::default();
    job.blob(&repository("app"), digest_of(b"some"), &b"some"[..].into());
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let report = push(&client, job.job, silent()).await;
    assert_eq!(report.failed_blobs.len(), 1);
    assert!(is_not_kept(&report.failed_blobs[0].error), "{report:?}");
    assert_eq!(proxy.count("PUT", "/uploads/"), 1);
    assert_eq!(
        proxy.count("GET", "/blobs/"),
        1 + 3,
        "some registries need a moment"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_without_ranges_is_believed_after_the_first_byte() {
    let layer = noise(1, 8 * MIB);
    let server = Server::start(&Protection::None);
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), std::slice::from_ref(&layer));
    let straight = client_for(&server.host(), Credentials::Anonymous);
    assert!(
        push(&straight, job.job.clone(), silent())
            .await
            .is_complete()
    );
    let ignoring = Proxy::start(server.port, |_| Action::Without("range"));
    let refusing = Proxy::start(server.port, |seen| {
        if seen.headers.contains_key("range") {
            Action::Answer("416 Range Not Satisfiable", String::new())
        } else if seen.is("GET", "/blobs/") {
            // A client that reads more than one byte would wait forever.
            Action::Hold(1)
        } else {
            Action::Forward
        }
    });
    for proxy in [ignoring, refusing] {
        let client = client_for(&proxy.host(), Credentials::Anonymous);
        let report = push(&client, job.job.clone(), silent()).await;
        assert!(report.is_complete(), "{report:?}");
        assert_eq!((report.present.count, report.uploaded.count), (2, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_is_known_and_not_given_is_pushed_again() {
    let server = Server::start(&Protection::None);
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), &[noise(1, 10)]);
    job.job
        .manifests
        .retain(|manifest| matches!(manifest.reference, Reference::Tag(_)));
    let straight = client_for(&server.host(), Credentials::Anonymous);
    assert!(
        push(&straight, job.job.clone(), silent())
            .await
            .is_complete()
    );
    let tag: Reference = "1".parse::<Tag>().unwrap().into();
    let once = Times::new(1);
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("GET", &format!("/manifests/{tag}")) && once.left() {
            Action::Answer("404 Not Found", String::new())
        } else {
            Action::Forward
        }
    });
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let report = push(&client, job.job, silent()).await;
    assert!(
        matches!(report.manifests[..], [ManifestOutcome::Pushed]),
        "{report:?}"
    );
}
