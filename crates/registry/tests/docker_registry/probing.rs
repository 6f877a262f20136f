//! Tests of a registry's abilities before a push, with real registries and with documented answers of others. Nothing
//! is left behind.

use registry::{
    Abilities, Ability, BodyLimit, Client, Credentials, Error, KnownContent, PushProbe, Refusal,
    RepositoryPath, Space, push,
};

use crate::images::{Job, noise, repository, silent};
use crate::nginx::Nginx;
use crate::server::{Protection, Server, client_for, password};
use fixtures::proxy::{Action, Proxy, Seen};

const GIB: u64 = 1024 * 1024 * 1024;
const MIB: u64 = 1024 * 1024;

async fn probe(client: &Client, known: &KnownContent, largest: Option<u64>) -> Abilities {
    let at = repository("apps/probe");
    let asked = PushProbe {
        repository: &at,
        mountable: known.find_duplicate(),
        largest,
    };
    client.probe(&asked).await.unwrap()
}

/// Pushes an image to two repositories, and returns the known content.
async fn push_twice(client: &Client) -> KnownContent {
    let mut job = Job::default();
    for at in ["apps/a", "apps/b"] {
        job.image(&repository(at), Some("1"), &[noise(1, 1000)]);
    }
    let report = push(client, job.job.clone(), silent()).await;
    assert!(report.is_complete(), "{report:?}");
    client.survey(&job.job).await.unwrap()
}

/// Checks that a registry with all abilities reports them, and that its content is unchanged.
async fn does_everything(server: &Server, client: &Client) {
    let before = server.content();
    let found = probe(client, &KnownContent::default(), None).await;
    assert!(matches!(found.mount, Ability::Unknown(_)), "{found:?}");
    assert_eq!(found.chunks.taken, Ability::Yes);
    assert_eq!(found.chunks.smallest, None);
    assert_eq!(found.chunks.resumed, Ability::Yes);
    assert_eq!(found.chunks.cancelled, Ability::Yes);
    assert_eq!(found.body, BodyLimit::NoneSeen { taken: 10 * GIB });
    assert_eq!(found.delete, Ability::Yes);
    assert_eq!(server.content(), before);

    let known = push_twice(client).await;
    let before = server.content();
    let found = probe(client, &known, Some(7)).await;
    assert_eq!(found.mount, Ability::Yes);
    assert_eq!(found.body, BodyLimit::NoneSeen { taken: 7 });
    assert_eq!(server.content(), before);
    let space = client.space(&repository("apps/probe")).await.unwrap();
    assert!(matches!(space, Space::Unknown { .. }), "{space:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn docker_registry_does_everything_and_keeps_nothing_of_it() {
    let server = Server::start(&Protection::TlsAndLogin);
    does_everything(&server, &server.client()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_its_third_version() {
    let server = Server::third(&Protection::TlsAndLogin);
    does_everything(&server, &server.client()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_deletes_nothing_says_so() {
    let mut server = Server::start_without_deleting();
    let client = client_for(&server.host(), Credentials::Anonymous);
    let found = probe(&client, &KnownContent::default(), None).await;
    assert!(matches!(found.delete, Ability::No(_)), "{found:?}");
    server.allow_deleting();
    let client = client_for(&server.host(), Credentials::Anonymous);
    let found = probe(&client, &KnownContent::default(), None).await;
    assert_eq!(found.delete, Ability::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_a_proxy_is_found_without_sending_anything() {
    let server = Server::start(&Protection::None);
    for (most, largest, expected) in [
        ("0", None, BodyLimit::NoneSeen { taken: 10 * GIB }),
        (
            "100m",
            None,
            BodyLimit::Limited {
                refused: 512 * MIB,
                taken: Some(100 * MIB),
            },
        ),
        (
            "100m",
            Some(50 * MIB),
            BodyLimit::NoneSeen { taken: 50 * MIB },
        ),
        (
            "1m",
            Some(50 * MIB),
            BodyLimit::Limited {
                refused: 16 * MIB,
                taken: Some(MIB),
            },
        ),
        (
            "1k",
            None,
            BodyLimit::Limited {
                refused: MIB,
                taken: None,
            },
        ),
    ] {
        let nginx = Nginx::before(server.port, most);
        let found = probe(&nginx.client(), &KnownContent::default(), largest).await;
        assert_eq!(found.body, expected, "{most}");
        assert!(server.content().is_empty());
    }
}

/// A registry that states the smallest chunk that it accepts, and accepts only whole uploads.
fn strange(seen: &Seen) -> Action {
    match seen.method.as_str() {
        "POST" => Action::Answer(
            "202 Accepted\r\nLocation: /v2/apps/probe/blobs/uploads/given\r\nOCI-Chunk-Min-Length: 5242880",
            String::new(),
        ),
        "PATCH" => Action::AnswerEarly("404 Not Found"),
        "DELETE" => Action::Answer("405 Method Not Allowed", String::new()),
        _ => Action::Answer("200 OK", "{}".to_owned()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_registry_states_is_not_tried() {
    let site = Proxy::start(0, strange);
    let client = client_for(&site.host(), Credentials::Anonymous);
    let found = probe(&client, &KnownContent::default(), None).await;
    assert_eq!(found.chunks.smallest, Some(5 * MIB));
    assert_eq!(found.chunks.taken, Ability::Yes);
    assert!(matches!(found.chunks.resumed, Ability::Unknown(_)));
    assert!(matches!(found.chunks.cancelled, Ability::No(_)));
    assert_eq!(site.count("PATCH", "/uploads/given"), 0);
    let mib = |seen: &Seen| seen.length() / MIB;
    let asked: Vec<u64> = site
        .seen()
        .iter()
        .filter(|seen| seen.method == "PATCH")
        .map(mib)
        .collect();
    assert_eq!(asked, [10 * 1024]);
}

/// Returns the refusals of one registry for pushes into repositories, by the path of the request.
async fn refusals(
    rule: fn(&Seen) -> Action,
    names: &[&str],
) -> Vec<(RepositoryPath, Refusal, String)> {
    let site = Proxy::start(0, rule);
    let client = client_for(&site.host(), Credentials::Anonymous);
    let (known, at) = (
        KnownContent::default(),
        names.iter().map(|name| repository(name)),
    );
    let at: Vec<RepositoryPath> = at.collect();
    let refused = client
        .open_uploads(&known, at.iter().collect())
        .await
        .unwrap();
    client.cancel_uploads(&known).await;
    let told = refused.iter().map(|error| {
        let (operation, why) = error.refusal().unwrap();
        (
            operation.repository().unwrap().clone(),
            why,
            error.to_string(),
        )
    });
    told.collect()
}

fn opened() -> Action {
    let head = "202 Accepted\r\nLocation: /v2/x/blobs/uploads/1";
    Action::Answer(head, String::new())
}

/// Amazon ECR requires that a repository is created first (ECR user guide, "Troubleshooting errors with Docker
/// commands").
fn ecr(seen: &Seen) -> Action {
    if seen.path.contains("/made/") {
        return opened();
    }
    Action::Answer(
        "404 Not Found",
        r#"{"errors":[{"code":"NAME_UNKNOWN","message":"The repository with name 'shop-1.0.0/web' does not exist in the registry with id '111122223333'"}]}"#.to_owned(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_that_must_be_made_first_are_all_named() {
    let found = refusals(ecr, &["shop-1.0.0/web", "made/web", "shop-1.0.0/db"]).await;
    let named: Vec<&str> = found.iter().map(|(at, _, _)| at.as_str()).collect();
    assert_eq!(named, ["shop-1.0.0/db", "shop-1.0.0/web"]);
    for (_, why, words) in found {
        assert_eq!(why, Refusal::NoRepository);
        assert!(words.contains("does not exist"), "{words}");
    }
}

/// Registries with a fixed number of levels answer `NAME_INVALID` (distribution specification, "Error Codes").
fn two_levels(seen: &Seen) -> Action {
    let name = seen.path.trim_start_matches("/v2/");
    let name = name.split("/blobs/").next().unwrap_or_default();
    if name.matches('/').count() < 2 {
        return opened();
    }
    Action::Answer(
        "400 Bad Request",
        r#"{"errors":[{"code":"NAME_INVALID","message":"invalid repository name"}]}"#.to_owned(),
    )
}

/// Harbor gives this answer for a project that does not exist, and for one without membership (goharbor/harbor#966), so
/// the two cases cannot be distinguished.
fn no_member(_: &Seen) -> Action {
    Action::Answer(
        "403 Forbidden",
        r#"{"errors":[{"code":"DENIED","message":"unauthorized to access repository: apps/web, action: push"}]}"#.to_owned(),
    )
}

/// Harbor's answer if the push exceeds the quota of the project.
fn full(_: &Seen) -> Action {
    Action::Answer(
        "403 Forbidden",
        r#"{"errors":[{"code":"DENIED","message":"adding 10.0 MiB of storage resource, which when updated to current usage of 95.0 MiB will exceed the configured upper limit of 100.0 MiB."}]}"#.to_owned(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_has_its_own_reason() {
    for (rule, name, expected) in [
        (
            two_levels as fn(&Seen) -> Action,
            "apps/shop-1.0.0/web",
            Refusal::Name,
        ),
        (no_member, "apps/web", Refusal::Denied),
        (full, "apps/web", Refusal::Quota),
    ] {
        let found = refusals(rule, &[name]).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].1, expected, "{found:?}");
    }
    assert_eq!(refusals(two_levels, &["apps/web"]).await, []);
}

/// Pushes an image to a registry that does not allow moving tags and answers in this way.
async fn move_a_tag(answer: &'static str, body: &'static str) -> Error {
    let server = Server::start(&Protection::None);
    let mut job = Job::default();
    job.image(&repository("app"), Some("1"), &[noise(1, 10)]);
    let direct = client_for(&server.host(), Credentials::Anonymous);
    assert!(push(&direct, job.job.clone(), silent()).await.is_complete());
    let proxy = Proxy::start(server.port, move |seen| {
        if seen.is("PUT", "/manifests/1") {
            Action::Answer(answer, body.to_owned())
        } else {
            Action::Forward
        }
    });
    let client = client_for(&proxy.host(), Credentials::Anonymous);
    // The same digest is not pushed and thus not refused.
    assert!(push(&client, job.job, silent()).await.is_complete());
    let mut other = Job::default();
    other.image(&repository("app"), Some("1"), &[noise(2, 10)]);
    let report = push(&client, other.job, silent()).await;
    let errors = report.errors();
    assert_eq!(errors.len(), 1, "{report:?}");
    drop(report);
    errors
        .into_iter()
        .next()
        .and_then(std::sync::Arc::into_inner)
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_must_not_be_moved_is_told_from_other_refusals() {
    for (status, body) in [
        // Amazon ECR (moby/buildkit#3776).
        (
            "400 Bad Request",
            r#"{"errors":[{"code":"TAG_INVALID","message":"The image tag '1' already exists in the 'app' repository and cannot be overwritten because the repository is immutable."}]}"#,
        ),
        // Harbor (goharbor/harbor#9427).
        (
            "412 Precondition Failed",
            r#"{"errors":[{"code":"PRECONDITION","message":"Failed to process request due to 'app:1' configured as immutable."}]}"#,
        ),
        // Registries that follow ECR (TAG_IMMUTABLE).
        (
            "409 Conflict",
            r#"{"errors":[{"code":"TAG_IMMUTABLE","message":"tag is immutable"}]}"#,
        ),
    ] {
        let error = move_a_tag(status, body).await;
        assert!(matches!(error, Error::TagKept(..)), "{status}: {error:?}");
        assert!(!error.is_retried());
    }
    let error = move_a_tag("409 Conflict", "{}").await;
    assert!(
        matches!(error, Error::Refused { status: 409, .. }),
        "{error:?}"
    );
}

/// Harbor's API 2.0 by its reference: `GET /systeminfo`, `GET /projects/NAME/summary`.
fn harbor(seen: &Seen) -> Action {
    let json = |text: &str| Action::Answer("200 OK", text.to_owned());
    let login = seen.headers.get("authorization").map(String::as_str);
    match (seen.path.as_str(), login) {
        ("/api/v2.0/systeminfo", None) => {
            json(r#"{"auth_mode":"db_auth","self_registration":false,"primary_auth_mode":false}"#)
        }
        (_, None) => Action::Answer("401 Unauthorized", "{}".to_owned()),
        ("/api/v2.0/projects/apps/summary", _) => json(
            r#"{"repo_count":1,"quota":{"hard":{"storage":1073741824},"used":{"storage":1048576}}}"#,
        ),
        ("/api/v2.0/projects/open/summary", _) => {
            json(r#"{"repo_count":1,"quota":{"hard":{"storage":-1},"used":{"storage":5}}}"#)
        }
        _ => Action::Answer(
            "404 Not Found",
            r#"{"errors":[{"code":"NOT_FOUND"}]}"#.to_owned(),
        ),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn harbor_tells_a_project_s_quota_to_its_members() {
    let site = Proxy::start(0, harbor);
    let client = client_for(&site.host(), password("correct horse"));
    let project = |project: &str, limit, used| Space::Known {
        project: project.to_owned(),
        limit,
        used,
    };
    for (at, expected) in [
        ("apps/web", project("apps", Some(GIB), MIB)),
        ("open/web", project("open", None, 5)),
        (
            "none/web",
            Space::NoProject {
                project: "none".to_owned(),
            },
        ),
    ] {
        assert_eq!(client.space(&repository(at)).await.unwrap(), expected);
    }
    let anonymous = client_for(&site.host(), Credentials::Anonymous);
    let space = anonymous.space(&repository("apps/web")).await.unwrap();
    assert!(matches!(space, Space::Unknown { .. }), "{space:?}");
}
