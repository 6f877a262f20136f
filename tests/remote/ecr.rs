//! `--create-repositories` at a registry that creates no repositories automatically and has the API of Amazon ECR.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fixtures::proxy::{Action, Proxy};

use crate::common::{Answer, Desk};
use crate::server::{Protection, Server};
use crate::setup::{image, pack, write_layout, write_source};

const ABSENT: &str = r#"{"errors":[{"code":"NAME_UNKNOWN","message":"The repository with name 'apps' does not exist in the registry with id '111122223333'"}]}"#;
const EXISTS: &str = r#"{"__type":"RepositoryAlreadyExistsException","message":"it exists"}"#;
const DENIED: &str = r#"{"__type":"AccessDeniedException","message":"User: arn:aws:iam::111122223333:user/push is not authorized to perform: ecr:CreateRepository"}"#;

/// The number of the archive's repositories: an image, its mirror, and the head.
const REPOSITORIES: usize = 3;

/// Starts a proxy that behaves as ECR. One of the first creations finds that its repository was created meanwhile.
fn ecr(server: &Server) -> Proxy {
    let created = Arc::new(AtomicUsize::new(0));
    Proxy::start(server.port, move |seen| {
        let absent = created.load(Ordering::SeqCst) < REPOSITORIES;
        if seen.is("POST", "/blobs/uploads/") && absent {
            return Action::Answer("404 Not Found", ABSENT.to_owned());
        }
        if seen.method != "POST" || seen.path != "/" {
            return Action::Forward;
        }
        let headers = &seen.headers;
        let create = "AmazonEC2ContainerRegistry_V20150921.CreateRepository";
        assert_eq!(headers["x-amz-target"], create);
        assert_eq!(headers["content-type"], "application/x-amz-json-1.1");
        assert_eq!(headers["x-amz-security-token"], "temporary");
        let scope = "/eu-west-1/ecr/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature=";
        assert!(headers["authorization"].contains(scope), "{headers:?}");
        if created.fetch_add(1, Ordering::SeqCst) == 0 {
            return Action::Answer("400 Bad Request", EXISTS.to_owned());
        }
        Action::Answer("200 OK", "{}".to_owned())
    })
}

fn push(desk: &Desk, registry: &Proxy, more: &[&str], key: Option<&str>) -> Answer {
    let api = format!("http://{}", registry.host());
    push_with_api(desk, registry, &api, more, key)
}

fn push_with_api(
    desk: &Desk,
    registry: &Proxy,
    api: &str,
    more: &[&str],
    key: Option<&str>,
) -> Answer {
    let to = format!("{}/apps", registry.host());
    let push = ["push", "images.iso", "--key", "publisher.pub", "--registry"];
    let mut command = desk.command();
    command.args(push).arg(&to).args(more);
    command.env("AWS_ENDPOINT_URL_ECR", api);
    command.env("AWS_REGION", "eu-west-1");
    command.env("AWS_SESSION_TOKEN", "temporary");
    command.env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    if let Some(key) = key {
        command.env("AWS_SECRET_ACCESS_KEY", key);
    }
    Answer::from_command(&mut command)
}

#[test]
fn repositories_that_do_not_exist_are_created_where_that_is_said() {
    let desk = Desk::with_key();
    write_layout(&desk, "source", &image("amd64").into());
    let source = "source: 'oci:layout:1', ref: 'quay.example/org/app:1.2'";
    write_source(&desk, "source", &[source]);
    desk.solution(&pack("source", "images.iso")).success();
    let server = Server::start(&Protection::None);
    let registry = ecr(&server);
    let create = ["--create-repositories"];

    let refused = push(&desk, &registry, &[], Some("key")).failure(1);
    assert!(
        refused.contains("the repository does not exist"),
        "{refused}"
    );
    let keyless = push(&desk, &registry, &create, None).failure(2);
    assert!(keyless.contains("AWS_SECRET_ACCESS_KEY"), "{keyless}");
    let elsewhere = "http://ecr.example";
    let plain = push_with_api(&desk, &registry, elsewhere, &create, Some("key")).failure(2);
    let refusal = "cannot use `AWS_ENDPOINT_URL_ECR`: it is plain HTTP";
    assert!(plain.contains(refusal), "{plain}");
    let planned = push(
        &desk,
        &registry,
        &["--create-repositories", "--dry-run"],
        Some("key"),
    );
    let planned = planned.success();
    for name in ["apps/shop-1.0.0\n", "apps/mirror/quay.example/org/app"] {
        let mut lines = planned.split_inclusive('\n');
        let is_marked = lines.any(|line| line.starts_with("    + ") && line.contains(name));
        assert!(is_marked, "{name}: {planned}");
    }
    let is_creation = |seen: &fixtures::proxy::Seen| seen.method == "POST" && seen.path == "/";
    let created = || {
        registry
            .seen()
            .iter()
            .filter(|seen| is_creation(seen))
            .count()
    };
    assert_eq!(created(), 0, "a plan writes nothing");

    let denying = Proxy::start(server.port, move |seen| {
        if seen.is("POST", "/blobs/uploads/") {
            return Action::Answer("404 Not Found", ABSENT.to_owned());
        }
        match seen.method.as_str() {
            "POST" => Action::Answer("400 Bad Request", DENIED.to_owned()),
            _ => Action::Forward,
        }
    });
    let denied = push(&desk, &denying, &create, Some("key")).failure(1);
    for words in [
        "cannot create the repository ",
        "is not authorized to perform: ecr:CreateRepository",
        "hint: ",
    ] {
        assert!(denied.contains(words), "{words}: {denied}");
    }

    push(&desk, &registry, &create, Some("key")).success();
    assert_eq!(created(), REPOSITORIES);
    let again = push(&desk, &registry, &create, Some("key")).success();
    assert!(!again.contains("create"), "{again}");
    assert_eq!(created(), REPOSITORIES);
}
