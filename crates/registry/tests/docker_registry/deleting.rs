//! Deletion of manifests: the content that is deleted and kept, and a registry that does not allow deleting.

use registry::{Client, Credentials, Error, ManifestDeletion, Reference, RepositoryPath, push};
use schemas::{Digest, Tag};

use crate::images::{Job, MIB, digest_of, noise, repository, silent};
use crate::server::{Protection, Server, client_for};
use fixtures::proxy::{Action, Proxy};

async fn found(client: &Client, at: &RepositoryPath, reference: impl Into<Reference>) -> bool {
    let manifest = client.manifest(at, &reference.into()).await;
    manifest.unwrap().is_some()
}

fn tag(text: &str) -> Reference {
    text.parse::<Tag>().unwrap().into()
}

/// Pushes the same image into two repositories, into the second under an additional tag.
async fn pushed(client: &Client) -> (RepositoryPath, RepositoryPath, Digest) {
    let (old, new) = (repository("demo-1.0.0/app"), repository("demo-1.1.0/app"));
    let mut job = Job::default();
    let digest = job.image(&old, Some("1"), &[noise(1, MIB)]);
    job.image(&new, Some("1"), &[noise(1, MIB)]);
    job.image(&new, Some("2"), &[noise(1, MIB)]);
    assert!(push(client, job.job, silent()).await.is_complete());
    (old, new, digest)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_goes_with_its_tags_and_stays_in_other_repositories() {
    let server = Server::start(&Protection::TlsAndLogin);
    let client = server.client();
    let (old, new, digest) = pushed(&client).await;
    let deleted = client.delete_manifest(&new, digest).await.unwrap();
    assert_eq!(deleted, ManifestDeletion::Done);
    for reference in [tag("1"), tag("2"), digest.into()] {
        assert!(!found(&client, &new, reference).await);
    }
    assert!(found(&client, &old, tag("1")).await);
    // Blobs are removed only if no repository needs them.
    server.collect_garbage();
    assert!(!server.stored("blobs/sha256").is_empty());
    client.delete_manifest(&old, digest).await.unwrap();
    server.collect_garbage();
    assert!(server.stored("blobs/sha256").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_needs_no_deleting() {
    let server = Server::start(&Protection::None);
    let client = client_for(&server.host(), Credentials::Anonymous);
    let (_, new, digest) = pushed(&client).await;
    let absent = digest_of(b"absent");
    for (at, digest) in [(&new, absent), (&repository("never"), digest)] {
        let deleted = client.delete_manifest(at, digest).await.unwrap();
        assert_eq!(deleted, ManifestDeletion::WasAbsent, "{at}");
    }
    assert!(found(&client, &new, digest).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_deletes_nothing_says_so_once() {
    let mut server = Server::start_without_deleting();
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let (_, new, digest) = pushed(&client).await;
    let error = client.delete_manifest(&new, digest).await.unwrap_err();
    assert!(matches!(error, Error::KeepsAll(..)), "{error:?}");
    let host = proxy.host();
    let words = format!(
        "cannot delete manifest {digest} from {host}/demo-1.1.0/app: the registry does not allow deleting"
    );
    assert_eq!(error.to_string(), words);
    assert_eq!(proxy.count("DELETE", "/manifests/"), 1);
    assert!(found(&client, &new, tag("1")).await);
    server.allow_deleting();
    let deleted = client.delete_manifest(&new, digest).await.unwrap();
    assert_eq!(deleted, ManifestDeletion::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_may_not_delete_is_told_from_one_that_is_wrong() {
    let server = Server::start(&Protection::None);
    let proxy = Proxy::start(server.port, |seen| match seen.method.as_str() {
        "DELETE" => {
            let body = r#"{"errors":[{"code":"DENIED","message":"read only"}]}"#;
            Action::Answer("403 Forbidden", body.to_owned())
        }
        _ => Action::Forward,
    });
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    let (_, new, digest) = pushed(&client).await;
    let error = client.delete_manifest(&new, digest).await.unwrap_err();
    let Error::Denied(operation, message) = &error else {
        panic!("{error:?}");
    };
    assert!(operation.is_deletion());
    assert_eq!(message, "DENIED read only");
}
