//! What the answers of registries mean that cannot be had here: each is given by a fake registry, as others document or
//! report it.

use std::sync::atomic::{AtomicUsize, Ordering};

use registry::{Client, Credentials, Error, PushReport, limits, push};

use crate::images::{Job, digest_of, noise, repository, silent};
use crate::server::client_for;
use fixtures::proxy::{Action, Proxy, Seen};

fn answer(head: &'static str, body: &str) -> Action {
    Action::Answer(head, body.to_owned())
}

/// A registry that has nothing, takes uploads, and answers to their content in this way.
fn storing(content: impl Fn(&Seen) -> Action + Send + Sync + 'static) -> Proxy {
    Proxy::start(0, move |seen| match seen.method.as_str() {
        "POST" => answer("202 Accepted\r\nLocation: /v2/x/blobs/uploads/1", ""),
        "PUT" => content(seen),
        "DELETE" => answer("204 No Content", ""),
        _ => answer("404 Not Found", ""),
    })
}

fn client(site: &Proxy) -> Client {
    client_for(&site.host(), Credentials::Anonymous)
}

/// Pushes sixty images, each into a repository of its own.
async fn push_sixty(site: &Proxy) -> PushReport {
    let mut job = Job::default();
    for number in 0..60 {
        let at = repository(&format!("app-{number}"));
        job.image(&at, Some("1"), &[noise(number, 100)]);
    }
    push(&client(site), job.job, silent()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_without_room_ends_a_push_with_its_first_answer() {
    for (head, body) in [
        ("507 Insufficient Storage", ""),
        (
            "500 Internal Server Error",
            r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":"write /data: no space left on device"}]}"#,
        ),
        (
            "413 Request Entity Too Large",
            r#"{"errors":[{"status":413,"message":"Datastore disk usage is too high. Contact your Artifactory administrator to add additional storage space or change the disk quota limits."}]}"#,
        ),
        (
            "403 Forbidden",
            r#"{"errors":[{"code":"DENIED","message":"adding 10.0 MiB of storage resource, which when updated to current usage of 95.0 MiB will exceed the configured upper limit of 100.0 MiB."}]}"#,
        ),
    ] {
        let site = storing(move |_| answer(head, body));
        let report = push_sixty(&site).await;
        let errors = report.errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(
            matches!(*errors[0], Error::Full { .. } | Error::Quota { .. }),
            "{errors:?}"
        );
        assert_eq!(report.failed_blobs.len(), 120, "{head}");
        // No more than were under way at the time of the first answer.
        let sent = site.count("PUT", "");
        assert!(sent <= limits::REQUESTS, "{head}: {sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_stores_nothing_ends_a_push_soon_though_it_does_not_say_why() {
    let site = storing(|_| answer("500 Internal Server Error", ""));
    let report = push_sixty(&site).await;
    let errors = report.errors();
    assert!(errors.len() <= limits::NOT_STORED, "{errors:?}");
    assert!(errors.iter().all(|error| error.is_storing()), "{errors:?}");
    // Each of those under way at that time has had its four attempts.
    let sent = site.count("PUT", "");
    assert!(sent <= 4 * limits::REQUESTS, "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failure_to_store_is_tried_again_and_one_blob_that_is_never_stored_ends_nothing_else() {
    let failed = AtomicUsize::new(0);
    let bad = digest_of(&noise(7, 100)).to_string();
    let site = storing(move |seen| {
        let once = || failed.fetch_add(1, Ordering::Relaxed) == 0;
        if seen.path.contains(&bad) || once() {
            answer("500 Internal Server Error", "")
        } else {
            answer("201 Created", "")
        }
    });
    let report = push_sixty(&site).await;
    assert_eq!(report.uploaded.count, 119, "{report:?}");
    assert_eq!(report.failed_blobs.len(), 1, "{report:?}");
}
