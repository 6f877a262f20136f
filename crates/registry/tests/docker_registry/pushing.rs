//! Complete pushes, verified by skopeo.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use registry::{BlobArrival, Event, ManifestOutcome, Reference, push};
use schemas::{Digest, Tag};

use crate::images::{Job, MIB, digest_of, has_blob, may_push, noise, repository, silent};
use crate::server::{PASSWORD, Protection, Server, USER, eventually, run};

fn tag(text: &str) -> Reference {
    text.parse::<Tag>().unwrap().into()
}

/// Pulls an image with skopeo, trusting only the private authority, and hashes every file.
fn pull(server: &Server, image: &str) -> Vec<Digest> {
    let certificates = server.directory().join("trusted");
    std::fs::create_dir_all(&certificates).unwrap();
    std::fs::write(certificates.join("ca.crt"), server.ca()).unwrap();
    let target = tempfile::tempdir().unwrap();
    run(Command::new("skopeo")
        .args(["--insecure-policy", "copy", "--all", "--src-cert-dir"])
        .arg(&certificates)
        .arg(format!("--src-creds={USER}:{PASSWORD}"))
        .arg(format!("docker://{}/{image}", server.host()))
        .arg(format!("dir:{}", target.path().display())));
    let files = std::fs::read_dir(target.path()).unwrap();
    let mut digests: Vec<Digest> = files
        .map(|file| digest_of(&std::fs::read(file.unwrap().path()).unwrap()))
        .collect();
    digests.sort();
    digests
}

#[tokio::test(flavor = "multi_thread")]
async fn images_come_back_as_they_were() {
    let server = Server::start(&Protection::TlsAndLogin);
    let (app, web) = (
        repository("sol/demo-1.0.0/app"),
        repository("sol/demo-1.0.0/web/ui"),
    );
    let base = noise(1, 5 * MIB + 3);
    let mut job = Job::default();
    let first = job.image(
        &app,
        Some("1.0"),
        &[base.clone(), noise(2, 70_000), noise(0, 0)],
    );
    let child = job.image(&web, None, &[base.clone(), noise(3, MIB)]);
    let other = job.image(&web, None, &[base.clone(), noise(4, 2 * MIB)]);
    let index = job.index(&web, "2.0", &[child, other]);
    let client = server.client();
    let events = Mutex::new(Vec::new());
    let record = |event| events.lock().unwrap().push(event);
    let report = push(&client, job.job.clone(), &record).await;

    assert!(report.is_complete(), "{report:?}");
    assert_eq!(report.present.count, 0);
    // The shared base is sent once; each image has a separate config.
    assert_eq!(report.mounted.count, 1);
    assert_eq!(report.mounted.bytes, base.len() as u64);
    assert_eq!(report.uploaded.count, 4 + 2 + 2);
    assert_eq!(report.uploaded.bytes, job.bytes());
    assert_eq!(job.bytes_read(), job.bytes(), "every byte is read once");
    let found = client.manifest(&app, &tag("1.0")).await.unwrap();
    assert_eq!(found.unwrap().digest, first);
    let pulled = pull(&server, "sol/demo-1.0.0/app:1.0");
    assert!(pulled.contains(&first) && pulled.contains(&digest_of(&base)));
    let pulled = pull(&server, "sol/demo-1.0.0/web/ui:2.0");
    for digest in [index, child, other, digest_of(&noise(3, MIB))] {
        assert!(pulled.contains(&digest), "{digest}");
    }
    let events = events.lock().unwrap();
    let tagged = |event: &Event| {
        matches!(
            event,
            Event::ManifestInPlace {
                reference: Reference::Tag(_),
                ..
            }
        )
    };
    let digested = |event: &Event| {
        matches!(
            event,
            Event::ManifestInPlace {
                reference: Reference::Digest(_),
                ..
            }
        )
    };
    let first_tag = events.iter().position(tagged).unwrap();
    let last_digest = events.iter().rposition(digested).unwrap();
    assert!(last_digest < first_tag, "tags come last");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_push_sends_nothing() {
    let server = Server::start(&Protection::TlsAndLogin);
    let app = repository("app");
    let mut job = Job::default();
    job.image(&app, Some("1"), &[noise(1, MIB), noise(2, 10)]);
    let client = server.client();
    assert!(push(&client, job.job.clone(), silent()).await.is_complete());
    let read = job.bytes_read();
    let report = push(&client, job.job.clone(), silent()).await;
    assert!(report.is_complete());
    assert_eq!((report.present.count, report.uploaded.count), (3, 0));
    assert_eq!(report.present.bytes, job.bytes());
    let present = |outcome: &ManifestOutcome| matches!(outcome, ManifestOutcome::Present);
    assert!(report.manifests.iter().all(present));
    assert_eq!(job.bytes_read(), read);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_version_brought_is_mounted() {
    let server = Server::start(&Protection::TlsAndLogin);
    let client = server.client();
    let (old, new) = (repository("demo-1.0.0/app"), repository("demo-1.1.0/app"));
    let base = noise(1, 3 * MIB);
    let mut job = Job::default();
    job.image(&old, Some("1"), std::slice::from_ref(&base));
    assert!(push(&client, job.job, silent()).await.is_complete());
    let mut job = Job::default();
    job.image(&new, Some("1"), &[base.clone(), noise(2, 100)]);
    let earlier = [repository("demo-0.9.0/app"), old];
    job.mount_from(&client, &earlier).await;
    let report = push(&client, job.job.clone(), silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(
        (report.mounted.count, report.mounted.bytes),
        (1, base.len() as u64)
    );
    assert_eq!(report.uploaded.count, 2);
    assert!(
        server.stored("_uploads").is_empty(),
        "no upload is left open"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_registry_costs_only_what_was_missing() {
    let mut server = Server::start(&Protection::TlsAndLogin);
    let app = repository("app");
    let layers: Vec<_> = (1..=4).map(|seed| noise(seed, 12 * MIB)).collect();
    let mut job = Job::default();
    job.image(&app, Some("1"), &layers);
    // One blob at a time, so that some are stored when the registry is killed.
    job.job.read_one_at_a_time = true;
    let (pid, killed) = (server.pid(), AtomicBool::new(false));
    let placed = std::sync::atomic::AtomicU32::new(0);
    let tell = |event: Event| match event {
        Event::BlobInPlace { .. } => {
            placed.fetch_add(1, Ordering::SeqCst);
        }
        Event::BlobSent { position, .. }
            if position > 3 * MIB as u64
                && placed.load(Ordering::SeqCst) >= 1
                && !killed.swap(true, Ordering::SeqCst) =>
        {
            run(Command::new("kill").args(["-9", &pid.to_string()]));
        }
        _ => {}
    };
    let report = push(&server.client(), job.job.clone(), &tell).await;
    assert!(!report.is_complete());
    assert!(
        report.errors().iter().all(|error| error.is_retried()),
        "{report:?}"
    );
    let done = report.uploaded.count;
    assert!((1..5).contains(&done), "{report:?}");
    let tagged = report
        .manifests
        .iter()
        .any(|outcome| matches!(outcome, ManifestOutcome::Pushed));
    assert!(!tagged, "{report:?}");

    server.restart();
    let events = Mutex::new(Vec::new());
    let record = |event| events.lock().unwrap().push(event);
    let report = push(&server.client(), job.job.clone(), &record).await;
    assert!(report.is_complete(), "{report:?}");
    assert!(report.present.count >= done, "{report:?}");
    assert_eq!(report.present.count + report.uploaded.count, 5);
    let again = events
        .lock()
        .unwrap()
        .iter()
        .filter(|event| {
            matches!(
                event,
                Event::BlobInPlace {
                    arrival: BlobArrival::Uploaded,
                    ..
                }
            )
        })
        .count();
    assert_eq!(again as u64, report.uploaded.count);
    assert!(pull(&server, "app:1").contains(&digest_of(&layers[3])));
}

#[tokio::test(flavor = "multi_thread")]
async fn checking_the_right_to_push_leaves_nothing() {
    let server = Server::start(&Protection::TlsAndLogin);
    may_push(&server.client(), "new/app").await.unwrap();
    // This registry leaves an empty hash state behind when it cancels an upload. A real upload has a start time.
    eventually("the upload's end", || server.stored("startedat").is_empty());
    assert!(server.stored("blobs").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_are_found_and_read() {
    let server = Server::start(&Protection::TlsAndLogin);
    let (client, app) = (server.client(), repository("app"));
    assert_eq!(client.manifest(&app, &tag("1")).await.unwrap(), None);
    let mut job = Job::default();
    let digest = job.image(&app, Some("1"), &[noise(1, 10)]);
    assert!(push(&client, job.job.clone(), silent()).await.is_complete());
    assert!(
        has_blob(&client, &app, &digest_of(&noise(1, 10)), 10)
            .await
            .unwrap()
    );
    assert!(
        !has_blob(&client, &app, &Digest::new([1; 32]), 10)
            .await
            .unwrap()
    );
    let manifest = client.manifest(&app, &tag("1")).await.unwrap().unwrap();
    assert_eq!(manifest.digest, digest);
    assert_eq!(manifest.bytes, job.job.manifests[0].bytes);
    assert_eq!(manifest.media_type, job.job.manifests[0].media_type);
}
