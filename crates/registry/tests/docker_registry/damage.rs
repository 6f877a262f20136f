//! Content that does not match its digest.

use std::sync::Arc;

use registry::{Credentials, Error, ManifestOutcome, push};
use schemas::Tag;

use crate::images::{Job, MIB, digest_of, has_blob, noise, repository, silent};
use crate::server::{Protection, Server, client_for};

#[tokio::test(flavor = "multi_thread")]
async fn damaged_content_never_becomes_visible() {
    let server = Server::start(&Protection::TlsAndLogin);
    let client = server.client();
    let (bad, good) = (repository("bad"), repository("good"));
    for size in [1, 100, MIB - 1, MIB, MIB + 1, 5 * MIB] {
        let right = noise(size as u64, size);
        let mut damaged = right.to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        let digest = digest_of(&right);
        let mut job = Job::default();
        job.image_of(&bad, Some("1"), &[(digest, damaged.into())]);
        job.image(&good, Some("1"), &[noise(7, 10)]);
        let report = push(&client, job.job.clone(), silent()).await;

        assert_eq!(report.failed_blobs.len(), 1, "{report:?}");
        let failed = &report.failed_blobs[0];
        assert_eq!((failed.digest, &failed.repository), (digest, &bad));
        assert!(matches!(*failed.error, Error::Damaged { digest: named, .. } if named == digest));
        for (outcome, manifest) in report.manifests.iter().zip(&job.job.manifests) {
            let fine = match outcome {
                ManifestOutcome::Blocked { .. } => manifest.repository == bad,
                ManifestOutcome::Pushed | ManifestOutcome::Present => manifest.repository == good,
                ManifestOutcome::Failed(_) => false,
            };
            assert!(fine, "{report:?}");
        }
        assert!(!has_blob(&client, &bad, &digest, size as u64).await.unwrap());
        assert!(server.stored(&digest.hex()).is_empty());
        let tag = "1".parse::<Tag>().unwrap().into();
        assert_eq!(client.manifest(&bad, &tag).await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_or_wrong_source_opens_no_upload() {
    let server = Server::start(&Protection::TlsAndLogin);
    let client = server.client();
    let app = repository("app");
    let mut job = Job::default();
    job.blob(&app, digest_of(b"something"), &noise(0, 0));
    job.blob(&app, digest_of(b"else"), &noise(1, 1));
    job.blob(&app, digest_of(b"short"), &noise(2, 10));
    job.job.blobs[2].size = 11;
    let report = push(&client, job.job, silent()).await;
    assert_eq!(report.failed_blobs.len(), 3);
    let read = |error: &Arc<Error>| matches!(**error, Error::Read { offset: 0, .. });
    assert_eq!(
        report.errors().iter().filter(|error| read(error)).count(),
        1
    );
    assert!(server.stored("_uploads").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_with_another_digest_is_not_pushed() {
    let server = Server::start(&Protection::TlsAndLogin);
    let client = server.client();
    let app = repository("app");
    let mut job = Job::default();
    job.image(&app, Some("1"), &[noise(1, 10)]);
    for manifest in &mut job.job.manifests {
        manifest.bytes = [&manifest.bytes[..], b"\n"].concat().into();
    }
    let report = push(&client, job.job, silent()).await;
    let damaged = |outcome: &&ManifestOutcome| matches!(outcome, ManifestOutcome::Failed(error) if matches!(**error, Error::ManifestDamaged { .. }));
    assert_eq!(
        report.manifests.iter().filter(damaged).count(),
        1,
        "{report:?}"
    );
    assert!(
        report
            .manifests
            .iter()
            .any(|o| matches!(o, ManifestOutcome::Blocked { on } if on.len() == 1))
    );
    assert!(server.stored("_manifests").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_full_disk_left_is_healed_by_sending_it_again() {
    let mut server = Server::start(&Protection::None);
    let layer = noise(1, 1000);
    let mut job = Job::default();
    job.image(&repository("app"), None, std::slice::from_ref(&layer));
    let client = client_for(&server.host(), Credentials::Anonymous);
    assert!(push(&client, job.job.clone(), silent()).await.is_complete());
    // These files tell the registry that the repository has the blob and the manifest.
    let manifest = job.job.manifests[0].digest;
    for link in [
        format!("_layers/sha256/{}/link", digest_of(&layer).hex()),
        format!("revisions/sha256/{}/link", manifest.hex()),
    ] {
        let [link] = &server.stored(&link)[..] else {
            panic!("one link")
        };
        std::fs::write(link, "").unwrap();
    }
    server.restart();
    client.survey(&job.job).await.unwrap();
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!((report.uploaded.count, report.present.count), (1, 1));
    let read = client.manifest(&repository("app"), &manifest.into()).await;
    assert_eq!(read.unwrap().unwrap().digest, manifest);
    let digest = digest_of(&layer);
    let has = has_blob(&client, &repository("app"), &digest, 1000).await;
    assert!(has.unwrap());
}
