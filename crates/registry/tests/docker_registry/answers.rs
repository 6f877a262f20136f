//! Answers of registries that are not available here. A fake registry gives each of them as documented or reported.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use registry::{Client, Credentials, Error, PushReport, Refusal, limits, push};
use schemas::Tag;

use crate::images::{Job, digest_of, may_push, noise, repository, silent};
use crate::server::{Protection, Server, client_for, password};
use fixtures::proxy::{Action, Proxy, Seen};

fn answer(head: &'static str, body: &str) -> Action {
    Action::Answer(head, body.to_owned())
}

/// A registry without content that accepts uploads and answers to their content in this way.
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

/// Pushes sixty images, each into a separate repository.
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
            matches!(*errors[0], Error::Full(..) | Error::Quota(..)),
            "{errors:?}"
        );
        assert_eq!(report.failed_blobs.len(), 120, "{head}");
        // At most the requests that were under way at the first answer.
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
    // Each request under way at that time made its four attempts. Every failure before the last one may have started
    // another request, if the others took longer than all attempts of one.
    let mut sent: BTreeMap<String, usize> = BTreeMap::new();
    for seen in site.seen().iter().filter(|seen| seen.is("PUT", "")) {
        *sent.entry(seen.path.clone()).or_default() += 1;
    }
    let most = limits::REQUESTS + limits::NOT_STORED - 1;
    assert!(sent.len() <= most, "{sent:?}");
    assert!(sent.values().all(|attempts| *attempts <= 4), "{sent:?}");
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

/// The request that a registry answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Read a manifest to see whether it has to be pushed.
    Manifest,
    /// Read a blob to see whether it has to be pushed.
    Blob,
    /// Open an upload.
    Upload,
    /// Store the content of a blob.
    Content,
    /// Push a manifest under its tag.
    Tag,
}

/// The meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Absent,
    Refused(Refusal),
    Full,
    TagKept,
    LoginRefused,
    TriedAgain,
}

/// An answer of a registry: the request and the meaning.
struct Row {
    registry: &'static str,
    asked: Asked,
    head: &'static str,
    body: &'static str,
    meaning: Meaning,
}

/// Answers of registries that deviate from the distribution specification or that it leaves open.
const ANSWERS: [Row; 25] = [
    Row {
        registry: "Artifactory, a virtual repository (cosign#2973, go-containerregistry#1691)",
        asked: Asked::Manifest,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"UNAUTHORIZED","message":"The client does not have permission for manifest: Download request for repo:path 'apps:app/1/list.manifest.json' is forbidden for user: 'pusher'."}]}"#,
        meaning: Meaning::Absent,
    },
    Row {
        registry: "Artifactory",
        asked: Asked::Blob,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"UNAUTHORIZED","message":"The client does not have permission for blob"}]}"#,
        meaning: Meaning::Absent,
    },
    Row {
        registry: "Artifactory, without the right to deploy",
        asked: Asked::Upload,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"DENIED","message":"The client does not have permission to push to the repository."}]}"#,
        meaning: Meaning::Refused(Refusal::Denied),
    },
    Row {
        registry: "Artifactory, a full filestore (scala/scala-dev#732)",
        asked: Asked::Content,
        head: "413 Request Entity Too Large",
        body: r#"{"errors":[{"status":413,"message":"Datastore disk usage is too high. Contact your Artifactory administrator to add additional storage space or change the disk quota limits."}]}"#,
        meaning: Meaning::Full,
    },
    Row {
        registry: "Harbor",
        asked: Asked::Manifest,
        head: "404 Not Found",
        body: r#"{"errors":[{"code":"NOT_FOUND","message":"artifact apps/app:1 not found"}]}"#,
        meaning: Meaning::Absent,
    },
    Row {
        registry: "Harbor, a project that does not exist",
        asked: Asked::Manifest,
        head: "401 Unauthorized",
        body: r#"{"errors":[{"code":"UNAUTHORIZED","message":"unauthorized to access repository: apps/app, action: pull: unauthorized to access repository: apps/app, action: pull"}]}"#,
        meaning: Meaning::Absent,
    },
    Row {
        registry: "Harbor, a project of others (goharbor/harbor#966)",
        asked: Asked::Upload,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"DENIED","message":"unauthorized to access repository: apps/app, action: push"}]}"#,
        meaning: Meaning::Refused(Refusal::Denied),
    },
    Row {
        registry: "Harbor, a project that does not exist",
        asked: Asked::Upload,
        head: "404 Not Found",
        body: r#"{"errors":[{"code":"NOT_FOUND","message":"project apps not found"}]}"#,
        meaning: Meaning::Refused(Refusal::NoRepository),
    },
    Row {
        registry: "Harbor, maintenance (goharbor/harbor#4650)",
        asked: Asked::Upload,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"DENIED","message":"The system is in read only mode. Any modification is prohibited."}]}"#,
        meaning: Meaning::Refused(Refusal::ReadOnly),
    },
    Row {
        registry: "Harbor, a quota (goharbor/harbor#17390)",
        asked: Asked::Content,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"DENIED","message":"adding 29.0 MiB of storage resource, which when updated to current usage of 152.4 MiB will exceed the configured upper limit of 100.0 MiB."}]}"#,
        meaning: Meaning::Refused(Refusal::Quota),
    },
    Row {
        registry: "Harbor, an immutable tag (goharbor/harbor#9427)",
        asked: Asked::Tag,
        head: "412 Precondition Failed",
        body: r#"{"errors":[{"code":"PRECONDITION","message":"Failed to process request due to 'app:1' configured as immutable."}]}"#,
        meaning: Meaning::TagKept,
    },
    Row {
        registry: "Quay, a repository that does not exist",
        asked: Asked::Manifest,
        head: "401 Unauthorized",
        body: r#"{"errors":[{"code":"UNAUTHORIZED","detail":{},"message":"access to the requested resource is not authorized"}]}"#,
        meaning: Meaning::Absent,
    },
    Row {
        registry: "Quay, an organization of others",
        asked: Asked::Upload,
        head: "401 Unauthorized",
        body: r#"{"errors":[{"code":"UNAUTHORIZED","detail":{},"message":"access to the requested resource is not authorized"}]}"#,
        meaning: Meaning::Refused(Refusal::Denied),
    },
    Row {
        registry: "Quay, a quota",
        asked: Asked::Content,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"DENIED","detail":{},"message":"Quota has been exceeded on namespace"}]}"#,
        meaning: Meaning::Refused(Refusal::Quota),
    },
    Row {
        registry: "Nexus",
        asked: Asked::Manifest,
        head: "404 Not Found",
        body: r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"Tag":"1"}}]}"#,
        meaning: Meaning::Absent,
    },
    Row {
        registry: "Nexus, deployment policy Disable redeploy (jib#3057)",
        asked: Asked::Tag,
        head: "400 Bad Request",
        body: r#"{"errors":[{"code":"BLOB_UPLOAD_INVALID","message":"blob upload invalid","detail":"Repository does not allow updating assets: docker-hosted"}]}"#,
        meaning: Meaning::TagKept,
    },
    Row {
        registry: "Nexus, the address of a group or proxy repository",
        asked: Asked::Upload,
        head: "405 Method Not Allowed",
        body: "",
        meaning: Meaning::Refused(Refusal::ReadOnly),
    },
    Row {
        registry: "Amazon ECR, a repository that does not exist",
        asked: Asked::Manifest,
        head: "404 Not Found",
        body: r#"{"errors":[{"code":"NAME_UNKNOWN","message":"The repository with name 'app' does not exist in the registry with id '111122223333'"}]}"#,
        meaning: Meaning::Absent,
    },
    Row {
        registry: "Amazon ECR, a repository that does not exist",
        asked: Asked::Upload,
        head: "404 Not Found",
        body: r#"{"errors":[{"code":"NAME_UNKNOWN","message":"The repository with name 'app' does not exist in the registry with id '111122223333'"}]}"#,
        meaning: Meaning::Refused(Refusal::NoRepository),
    },
    Row {
        registry: "Amazon ECR, a login of yesterday (aws-cli#6580)",
        asked: Asked::Upload,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"DENIED","message":"Your authorization token has expired. Reauthenticate and try again."}]}"#,
        meaning: Meaning::LoginRefused,
    },
    Row {
        registry: "Amazon ECR, an immutable tag (moby/buildkit#3776)",
        asked: Asked::Tag,
        head: "400 Bad Request",
        body: r#"{"errors":[{"code":"TAG_INVALID","message":"The image tag '1' already exists in the 'app' repository and cannot be overwritten because the repository is immutable."}]}"#,
        meaning: Meaning::TagKept,
    },
    Row {
        registry: "GitLab, maintenance of its registry (distribution#1718)",
        asked: Asked::Upload,
        head: "405 Method Not Allowed",
        body: r#"{"errors":[{"code":"UNSUPPORTED","message":"The operation is unsupported."}]}"#,
        meaning: Meaning::Refused(Refusal::ReadOnly),
    },
    Row {
        registry: "GitLab, an object storage that is full (minio#6376)",
        asked: Asked::Content,
        head: "500 Internal Server Error",
        body: r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":"s3aws: XMinioStorageFull: Storage backend has reached its minimum free disk threshold."}]}"#,
        meaning: Meaning::Full,
    },
    Row {
        registry: "Zot, without the right to create",
        asked: Asked::Upload,
        head: "403 Forbidden",
        body: r#"{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}"#,
        meaning: Meaning::Refused(Refusal::Denied),
    },
    Row {
        registry: "Zot, or a proxy before it, that starts",
        asked: Asked::Upload,
        head: "503 Service Unavailable",
        body: "",
        meaning: Meaning::TriedAgain,
    },
];

/// A registry that requires a password, accepts it, and gives the answer of this row.
fn giving(row: &'static Row) -> Proxy {
    Proxy::start(0, move |seen| {
        let is_upload = seen.path.contains("/uploads/");
        let asked = match (seen.method.as_str(), is_upload) {
            ("GET", _) if seen.path.contains("/manifests/") => Asked::Manifest,
            ("GET", false) if seen.path.contains("/blobs/") => Asked::Blob,
            ("POST", _) => Asked::Upload,
            ("PUT", true) => Asked::Content,
            ("PUT", false) => Asked::Tag,
            _ if !seen.headers.contains_key("authorization") => {
                let challenge = "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"test\"";
                return answer(challenge, "");
            }
            _ => return answer("200 OK", "{}"),
        };
        match asked {
            asked if asked == row.asked => answer(row.head, row.body),
            Asked::Manifest | Asked::Blob => answer("404 Not Found", ""),
            Asked::Upload => answer("202 Accepted\r\nLocation: /v2/x/blobs/uploads/1", ""),
            Asked::Content | Asked::Tag => answer("201 Created", ""),
        }
    })
}

fn meaning(error: &Error) -> Option<Meaning> {
    match error {
        Error::LoginRefused(..) => Some(Meaning::LoginRefused),
        Error::TagKept(..) => Some(Meaning::TagKept),
        Error::Full(..) => Some(Meaning::Full),
        Error::Busy { .. } => Some(Meaning::TriedAgain),
        error => error.refusal().map(|(_, why)| Meaning::Refused(why)),
    }
}

/// Returns the meaning that the client derives from an answer.
async fn found(row: &'static Row) -> Option<Meaning> {
    let site = giving(row);
    let client = client_for(&site.host(), password("correct horse"));
    client.ping().await.unwrap();
    let at = repository("apps/app");
    let mut job = Job::default();
    job.image(&at, Some("1"), &[noise(1, 100)]);
    // The image is pushed by its tag only: this registry delivers no stored content, and a tag waits for the content
    // that it refers to.
    job.job.manifests.truncate(1);
    let known = match client.survey(&job.job).await {
        Ok(known) => known,
        Err(error) => return meaning(&error),
    };
    let blobs = job.job.blobs.iter();
    let mut there = blobs.map(|blob| known.has_blob(&at, &blob.digest));
    let tag = job.job.manifests[0].reference.clone();
    let refused = client.open_uploads(&known, [&at].into()).await;
    let refused = match refused {
        Ok(refused) => refused.into_iter().next(),
        Err(error) => Some(error),
    };
    if let Some(error) = refused {
        return meaning(&error);
    }
    if matches!(row.asked, Asked::Manifest | Asked::Blob) {
        let is_absent = !there.any(|there| there) && known.manifest(&at, &tag).is_none();
        return is_absent.then_some(Meaning::Absent);
    }
    let report = push(&client, job.job, silent()).await;
    report.errors().iter().find_map(|error| meaning(error))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_of_each_registry_is_taken_for_what_it_means() {
    for row in &ANSWERS {
        let (registry, asked) = (row.registry, row.asked);
        assert_eq!(found(row).await, Some(row.meaning), "{registry}: {asked:?}");
    }
}

/// Content that never existed is pushed to a registry that answers 403 for it (Artifactory), and is read back.
#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_hides_what_it_does_not_have_gets_it() {
    let server = Server::start(&Protection::None);
    let hiding = Proxy::start(server.port, |seen| match seen.method.as_str() {
        "GET" => Action::Rewrite(|answer| {
            let text = String::from_utf8_lossy(&answer);
            match text.strip_prefix("HTTP/1.1 404 Not Found") {
                Some(rest) => format!("HTTP/1.1 403 Forbidden{rest}").into_bytes(),
                None => answer,
            }
        }),
        _ => Action::Forward,
    });
    let client = client_for(&hiding.host(), Credentials::Anonymous);
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), &[noise(1, 100)]);
    let mut surveyed = job.job.clone();
    surveyed.known = client.survey(&job.job).await.unwrap();
    let report = push(&client, surveyed, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    // Reading content is a different request: there, a missing permission is an error.
    let mut other = Job::default();
    other.image(&repository("app"), Some("2"), &[noise(2, 100)]);
    let error = registry::verify(&client, &other.job, &|_| ())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Denied(..)), "{error:?}");
}

/// A login that may push but not read gets the same answer for an existing tag as for a missing one.
#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_a_login_cannot_read_is_not_moved() {
    let server = Server::start(&Protection::None);
    let (app, tag) = (repository("app"), "1".parse::<Tag>().unwrap().into());
    let mut theirs = Job::default();
    let digest = theirs.image(&app, Some("1"), &[noise(1, 100)]);
    let open = client_for(&server.host(), Credentials::Anonymous);
    assert!(push(&open, theirs.job, silent()).await.is_complete());
    let is_content = |path: &str| path.contains("/manifests/") || path.contains("/blobs/sha256:");
    let writing = Proxy::start(server.port, move |seen| {
        if seen.method == "GET" && is_content(&seen.path) {
            return answer("403 Forbidden", "");
        }
        Action::Forward
    });
    let client = client_for(&writing.host(), Credentials::Anonymous);
    let mut ours = Job::default();
    ours.image(&app, Some("1"), &[noise(2, 100)]);
    // The image is pushed by its tag only, like an image without an index.
    ours.job.manifests.truncate(1);
    let mut surveyed = ours.job.clone();
    surveyed.known = client.survey(&ours.job).await.unwrap();
    for job in [surveyed, ours.job] {
        let report = push(&client, job, silent()).await;
        let errors = report.errors();
        assert!(
            matches!(&errors[..], [error] if matches!(**error, Error::TagHidden(..))),
            "{errors:?}"
        );
        let found = open.manifest(&app, &tag).await.unwrap().unwrap();
        assert_eq!(found.digest, digest);
    }
}

/// A 401 from one repository while others accept uploads is a refusal of that repository, not of the login.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_is_good_elsewhere_is_not_what_one_repository_refuses() {
    let deep = |seen: &Seen| seen.path.contains("/deep/");
    for (challenge, credentials) in [
        (None, Credentials::Anonymous),
        (Some("Basic realm=\"test\""), password("correct horse")),
    ] {
        let site = Proxy::start(0, move |seen| {
            let is_known = seen.headers.contains_key("authorization");
            match challenge {
                Some(_) if !is_known || deep(seen) => answer(
                    "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"test\"",
                    "",
                ),
                None if deep(seen) => answer("401 Unauthorized", ""),
                _ if seen.method == "POST" => {
                    answer("202 Accepted\r\nLocation: /v2/x/blobs/uploads/1", "")
                }
                _ => answer("200 OK", "{}"),
            }
        });
        let client = client_for(&site.host(), credentials);
        client.ping().await.unwrap();
        may_push(&client, "flat").await.unwrap();
        let error = may_push(&client, "deep/app").await.unwrap_err();
        assert!(matches!(error, Error::Denied(..)), "{error:?}");
    }
}
