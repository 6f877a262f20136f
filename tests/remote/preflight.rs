//! `solution registry check` reports the capabilities of a registry before a push, and leaves nothing behind.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::common::{Answer, Desk};
use crate::server::{PASSWORD, Protection, Server, USER};
use crate::setup::{REF, desk_with_two_images, image, pack, write_layout, write_source};
use fixtures::proxy::{Action, Proxy, Seen};

fn preflight(desk: &Desk, registry: &str, more: &[&str]) -> Answer {
    let always = ["preflight", "--registry", registry, "--ca-file", "ca.pem"];
    desk.solution(&[&always[..], more].concat())
}

const ARCHIVE: [&str; 3] = ["images.iso", "--key", "publisher.pub"];
const JSON: [&str; 2] = ["--output", "json"];

/// Asserts the report for a registry with TLS and a login, before and after an import.
fn assert_reports(server: &Server) {
    let desk = desk_with_two_images(REF);
    desk.write("ca.pem", server.ca());
    let registry = format!("{}/apps", server.host());
    let text = preflight(&desk, &registry, &[]).failure(1);
    assert!(text.contains("requires a login"), "{text}");
    // The longest key counts: the login for the whole registry is wrong.
    let login = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let wrong = STANDARD.encode("nobody:nothing");
    let logins = json!({"auths": {
        server.host(): {"auth": wrong}, registry.as_str(): {"auth": login},
    }});
    desk.write(".docker/config.json", logins.to_string());

    assert_report_before_import(&desk, server, &registry, &login);
    assert_report_after_import(&desk, server, &registry, &login);
}

/// Asserts the report for an empty registry, which stays empty.
fn assert_report_before_import(desk: &Desk, server: &Server, registry: &str, login: &str) {
    let before = server.content();
    let text = preflight(desk, registry, &[]).success();
    for line in [
        format!("registry  {registry}: reached, HTTPS"),
        format!(
            "login     {USER}, of {}",
            desk.path(".docker/config.json").display()
        ),
        "push      1 of 1 repository".to_owned(),
        "parts     yes".to_owned(),
        "body      no limit up to 10.7 GB".to_owned(),
        "delete    yes".to_owned(),
        "space     unknown: only Harbor reports quotas, and this is a different registry"
            .to_owned(),
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "{line} is not in {text}"
        );
    }
    assert!(!text.contains(PASSWORD) && !text.contains(login), "{text}");
    let found = preflight(desk, registry, &[&ARCHIVE[..], &JSON].concat());
    assert_eq!(found.code, 0, "{found:?}");
    let found = found.json();
    assert_eq!(found["images"], 2);
    assert_eq!(found["imagesPresent"], 0);
    let at =
        |repository: &str| json!({"repository": format!("{registry}/{repository}"), "push": true});
    // Two images, the archive's head, and the mirror for the `ref`.
    let tried = [
        "mirror/quay.example/org/app",
        "shop-1.0.0",
        "shop-1.0.0/app-0",
        "shop-1.0.0/app-1",
    ];
    assert_eq!(found["repositories"], json!(tried.map(at)));
    assert_eq!(found["mount"]["answer"], "unknown");
    assert_eq!(found["login"]["username"], USER);
    assert_eq!(server.content(), before);
}

/// Asserts the report for a registry with the images, which is not changed, and for a tag of another image.
fn assert_report_after_import(desk: &Desk, server: &Server, registry: &str, login: &str) {
    let import = ["push", "images.iso", "--key", "publisher.pub"];
    let to = ["--registry", registry, "--ca-file", "ca.pem"];
    let answer = desk.solution(&[&import[..], &to, &["--verbose"]].concat());
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stderr.contains("/blobs/uploads/"), "{answer:?}");
    for secret in [PASSWORD, login, &login[..20], "_state"] {
        let told = format!("{}{}", answer.stdout, answer.stderr);
        assert!(!told.contains(secret), "{secret} is in {told}");
    }
    let before = server.content();
    let found = preflight(desk, registry, &[&ARCHIVE[..], &JSON].concat());
    assert_eq!(found.code, 0, "{found:?}");
    let found = found.json();
    assert_eq!(
        (&found["imagesPresent"], &found["bytesToPush"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(found["mount"], json!({"answer": "yes"}));
    assert_eq!(server.content(), before);

    // Another user pushed this tag, with another digest.
    write_layout(desk, "other", &image("arm64").into());
    write_source(desk, "other", &["source: 'oci:layout:1'"]);
    desk.solution(&pack("other", "other.iso")).success();
    let other = ["other.iso", "--key", "publisher.pub"];
    let text = preflight(desk, registry, &other).failure(1);
    assert!(
        text.contains("already exists with a different digest"),
        "{text}"
    );
    assert_eq!(server.content(), before);
}

#[test]
fn everything_is_told_of_docker_registry() {
    assert_reports(&Server::start(&Protection::TlsAndLogin));
}

#[test]
fn everything_is_told_of_distribution_3() {
    assert_reports(&Server::third(&Protection::TlsAndLogin));
}

/// Amazon ECR (see `probing.rs`) with one of the repositories.
fn ecr(seen: &Seen) -> Action {
    let unknown = r#"{"errors":[{"code":"NAME_UNKNOWN","message":"The repository with name 'x' does not exist in the registry with id '111122223333'"}]}"#;
    match seen.method.as_str() {
        "POST" if seen.path.contains("app-0") => Action::Answer(
            "202 Accepted\r\nLocation: /v2/shop-1.0.0/app-0/blobs/uploads/1",
            String::new(),
        ),
        "GET" if seen.path == "/v2/" => Action::Answer("200 OK", "{}".to_owned()),
        "POST" | "GET" | "DELETE" => Action::Answer("404 Not Found", unknown.to_owned()),
        _ => Action::Answer("202 Accepted", String::new()),
    }
}

#[test]
fn repositories_that_must_be_made_first_stand_in_the_plan_too() {
    let desk = desk_with_two_images(REF);
    desk.write("ca.pem", Server::start(&Protection::TlsAndLogin).ca());
    let site = Proxy::start(0, ecr);
    let found = preflight(&desk, &site.host(), &[&ARCHIVE[..], &JSON].concat());
    assert_eq!(found.code, 1, "{found:?}");
    let found = found.json();
    let push = found["repositories"].as_array().unwrap().iter();
    let push: Vec<&Value> = push.map(|repository| &repository["push"]).collect();
    assert_eq!(push, [false, false, true, false]);
    let blockers = found["obstacles"].as_array().unwrap();
    assert_eq!(blockers.len(), 3, "{blockers:?}");
    for blocker in blockers {
        let (message, fix) = (blocker["message"].as_str(), blocker["fix"].as_str());
        assert!(
            message.unwrap().contains("the repository does not exist"),
            "{blocker}"
        );
        assert!(fix.unwrap().contains("create the repository"), "{blocker}");
        let data = &blocker["obstacle"];
        assert_eq!(
            (&data["id"], &data["why"]),
            (&json!("push-refused"), &json!("noRepository"))
        );
    }
    let import = ["push", "images.iso", "--key", "publisher.pub"];
    let to = ["--registry", &site.host(), "--dry-run"];
    let text = desk.solution(&[&import[..], &to].concat()).failure(1);
    assert_eq!(
        text.matches("the repository does not exist").count(),
        3,
        "{text}"
    );
    assert_eq!(site.count("PUT", ""), 0);
}

/// Harbor without the project (see `probing.rs`).
fn harbor(seen: &Seen) -> Action {
    let json = |text: &str| Action::Answer("200 OK", text.to_owned());
    match (seen.method.as_str(), seen.path.as_str()) {
        (_, "/v2/") => json("{}"),
        (_, "/api/v2.0/systeminfo") => json(r#"{"auth_mode":"db_auth"}"#),
        ("POST", _) => Action::Answer(
            "403 Forbidden",
            r#"{"errors":[{"code":"DENIED","message":"unauthorized to access repository"}]}"#
                .to_owned(),
        ),
        _ => Action::Answer(
            "404 Not Found",
            r#"{"errors":[{"code":"NOT_FOUND"}]}"#.to_owned(),
        ),
    }
}

#[test]
fn a_project_that_must_be_made_first_is_named() {
    let desk = desk_with_two_images(REF);
    desk.write("ca.pem", Server::start(&Protection::TlsAndLogin).ca());
    let site = Proxy::start(0, harbor);
    let registry = format!("{}/apps", site.host());
    let text = preflight(&desk, &registry, &ARCHIVE).failure(1);
    assert!(text.contains("the project `apps` does not exist"), "{text}");
    assert!(
        text.contains(&format!("https://{}/harbor/projects", site.host())),
        "{text}"
    );
    assert!(text.ends_with("\n1 blocker found for a push\n"), "{text}");
}

/// Returns a registry that limits the levels of repository names, with this answer for longer ones.
fn limited(most: usize, refusal: &'static str) -> Proxy {
    Proxy::start(0, move |seen| {
        let name = seen.path.strip_prefix("/v2/").unwrap_or_default();
        let name = name.split("/blobs/").next().unwrap_or_default();
        let head = match seen.method.as_str() {
            "POST" if name.split('/').count() > most => refusal,
            "POST" => "202 Accepted\r\nLocation: /v2/x/blobs/uploads/1",
            "GET" if seen.path == "/v2/" => "200 OK",
            "DELETE" => "204 No Content",
            _ => "404 Not Found",
        };
        Action::Answer(head, String::new())
    })
}

#[test]
fn a_limit_on_the_levels_of_names_is_found_whatever_the_registry_answers() {
    let desk = desk_with_two_images(REF);
    desk.write("ca.pem", Server::start(&Protection::TlsAndLogin).ca());
    for refusal in [
        "401 Unauthorized",
        "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"",
        "403 Forbidden",
        "400 Bad Request",
    ] {
        // Without an archive: enough levels for a Solution's own names, and too few.
        let site = limited(3, refusal);
        let registry = format!("{}/apps", site.host());
        let text = preflight(&desk, &registry, &[]).success();
        let line = "names     at most 3 levels, including the prefix";
        assert!(text.lines().any(|shown| shown == line), "{refusal}: {text}");
        let few = limited(2, refusal);
        let found = preflight(&desk, &format!("{}/apps", few.host()), &JSON);
        assert_eq!(found.code, 1, "{refusal}: {found:?}");
        let found = found.json();
        assert_eq!(found["levelLimit"], 2, "{refusal}: {found:#}");
        let data = &found["obstacles"][0]["obstacle"];
        assert_eq!(data["id"], "too-deep", "{refusal}: {found:#}");

        // With an archive: repositories with too many levels are named, and nothing is pushed.
        let push = ["push", "images.iso", "--key", "publisher.pub"];
        let push = desk.solution(&[&push[..], &["--registry", &registry]].concat());
        let said = format!(
            "{} accepts repository names of at most 3 levels, but 1 name of the archive has more: apps/mirror/quay.example/org/app",
            site.host()
        );
        let tried = preflight(&desk, &registry, &ARCHIVE);
        for text in [push.failure(1), tried.failure(1)] {
            assert!(text.contains(&said), "{refusal}: {text}");
            assert!(text.contains("fewer levels"), "{refusal}: {text}");
            assert!(!text.contains("log in"), "{refusal}: {text}");
            assert!(
                !text.contains("solution registry check"),
                "{refusal}: {text}"
            );
        }
        let without = [&ARCHIVE[..], &["--no-mirrors"]].concat();
        preflight(&desk, &registry, &without).success();
        let flat = [&ARCHIVE[..], &["--repository-layout", "flat"]].concat();
        preflight(&desk, &format!("{}/apps", few.host()), &flat).success();
        assert_eq!(site.count("PUT", ""), 0);
    }
}
