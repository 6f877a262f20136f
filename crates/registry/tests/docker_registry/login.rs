//! Bearer tokens: the proxy plays the registry, and a separate token server issues the tokens.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use fixtures::far_line::FarLine;
use registry::{Client, ClientOptions, Credentials, Error, Secret, pull, push};

use crate::images::{Job, MIB, in_time, may_push, noise, repository, silent};
use crate::pulling::{Memory, blob};
use crate::server::{PASSWORD, Protection, Server, USER, client_for, options, password};
use fixtures::proxy::{Action, Proxy, Seen};

/// A token server that issues tokens with their scopes and a number, for `USER` and `PASSWORD` or the refresh token
/// `r3fresh`.
fn token_server() -> Proxy {
    Proxy::start(0, |seen| {
        let basic = base64::Engine::encode(
            &base64::engine::general_purpose::STANDARD,
            format!("{USER}:{PASSWORD}"),
        );
        let password = seen.headers.get("authorization") == Some(&format!("Basic {basic}"));
        if !password && seen.method != "POST" {
            return Action::Answer("401 Unauthorized", String::new());
        }
        let scopes: Vec<&str> = seen
            .path
            .split(['?', '&'])
            .filter_map(|part| part.strip_prefix("scope="))
            .collect();
        let token = format!("{}.{}", scopes.join("+"), seen.number);
        Action::Answer(
            "200 OK",
            format!(r#"{{"token":"{token}","expires_in":300}}"#),
        )
    })
}

/// A registry that accepts tokens of the right scope, each for `uses` requests only.
fn registry(server: &Server, tokens: &str, lifetime: usize) -> Proxy {
    let challenge: &'static str = format!(
        "401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"http://{tokens}/token\",service=\"test\",scope=\"x\""
    )
    .leak();
    let used = std::sync::Mutex::new(std::collections::HashMap::<String, usize>::new());
    Proxy::start(server.port, move |seen| {
        let refuse = || Action::Answer(challenge, String::new());
        let Some(token) = seen.headers.get("authorization") else {
            return refuse();
        };
        let Some(token) = token.strip_prefix("Bearer ") else {
            return refuse();
        };
        let mut used = used.lock().unwrap();
        let count = used.entry(token.to_owned()).or_default();
        *count += 1;
        if allowed(seen, token) && *count <= lifetime {
            Action::Forward
        } else {
            refuse()
        }
    })
}

fn allowed(seen: &Seen, token: &str) -> bool {
    let Some(rest) = seen
        .path
        .strip_prefix("/v2/")
        .filter(|rest| !rest.is_empty())
    else {
        return true;
    };
    let name = ["/blobs/", "/manifests/"]
        .iter()
        .find_map(|part| rest.split_once(part))
        .map(|(name, _)| name.replace('/', "%2F"));
    let right = if matches!(seen.method.as_str(), "GET" | "HEAD") {
        "pull"
    } else {
        "pull%2Cpush"
    };
    name.is_some_and(|name| token.contains(&format!("repository%3A{name}%3A{right}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_fetched_for_their_scope_and_again_when_they_end() {
    let server = Server::start(&Protection::None);
    let tokens = token_server();
    let registry = registry(&server, &tokens.host(), 5);
    let mut job = Job::default();
    let base = noise(1, 3 * MIB);
    job.image(
        &repository("demo/a"),
        Some("1"),
        &[base.clone(), noise(2, 100)],
    );
    job.image(
        &repository("demo/b"),
        Some("1"),
        std::slice::from_ref(&base),
    );
    let client = client_for(&registry.host(), password(PASSWORD));
    client.ping().await.unwrap();
    may_push(&client, "demo/a").await.unwrap();
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(
        report.mounted.count, 1,
        "a mount's token names both repositories"
    );
    let asked: Vec<String> = tokens.seen().into_iter().map(|seen| seen.path).collect();
    assert!(
        asked.iter().all(|path| path.contains("service=test")),
        "{asked:?}"
    );
    let both = |path: &&String| path.contains("demo%2Fa%3A") && path.contains("demo%2Fb%3A");
    assert!(asked.iter().any(|path| both(&path)), "{asked:?}");
    assert!(
        tokens.seen().len() > 3,
        "each token lasts for five requests"
    );
    assert!(
        registry.seen().iter().all(|seen| {
            let login = seen.headers.get("authorization");
            login.is_none_or(|login| login.starts_with("Bearer "))
        }),
        "the password goes to the token server only"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_upload_outlives_its_tokens() {
    let server = Server::start(&Protection::None);
    let tokens = token_server();
    let registry = registry(&server, &tokens.host(), 3);
    let behind = registry.host().rsplit(':').next().unwrap().parse().unwrap();
    let whole = |seen: &Seen| seen.method == "PUT" && seen.length() > 16 * MIB as u64;
    let proxy = Proxy::start(behind, move |seen| {
        if whole(seen) {
            Action::AnswerEarly("413 Request Entity Too Large")
        } else {
            Action::Forward
        }
    });
    let mut job = Job::default();
    let layer = noise(1, 100 * MIB);
    job.image(&repository("demo"), Some("1"), std::slice::from_ref(&layer));
    // One connection only: a second one could use up each new token before the upload that waits for it.
    let options = ClientOptions {
        credentials: password(PASSWORD),
        connections: NonZeroUsize::MIN,
        ..options()
    };
    let client = Client::new(&proxy.host().parse().unwrap(), options).unwrap();
    let report = push(&client, job.job, silent()).await;
    assert!(report.is_complete(), "{report:?}");
    let part = |seen: &&Seen| seen.method == "PATCH" && seen.length() >= MIB as u64;
    let seen = proxy.seen();
    let used: std::collections::HashSet<_> = seen
        .iter()
        .filter(part)
        .filter_map(|seen| seen.headers.get("authorization"))
        .collect();
    assert!(used.len() >= 2, "{used:?}");
    let offsets = |seen: &Seen| seen.headers["content-range"].clone();
    let parts: std::collections::BTreeSet<_> = seen.iter().filter(part).map(offsets).collect();
    assert_eq!(parts.len(), 7, "nothing begins anew: {parts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_repository_gets_one_token_and_waits_for_no_other() {
    let server = Server::start(&Protection::None);
    let tokens = token_server();
    let delay = Duration::from_millis(100);
    let anywhere = "127.0.0.1:0".parse().unwrap();
    let line = FarLine::start(anywhere, tokens.host().parse().unwrap(), delay).unwrap();
    let registry = registry(&server, &line.address().to_string(), usize::MAX);
    let mut job = Job::default();
    for number in 0..10 {
        let at = repository(&format!("demo/{number}"));
        job.image(&at, Some("1"), &[noise(1, 10), noise(2, 10)]);
    }
    // Each requires a connection and an answer, four times the delay.
    let one_by_one = 10 * 4 * delay;
    in_time(one_by_one / 2, async |_| {
        let client = client_for(&registry.host(), password(PASSWORD));
        client.ping().await.unwrap();
        let before = tokens.seen().len();
        let start = Instant::now();
        client.survey(&job.job).await.unwrap();
        let took = start.elapsed();
        assert_eq!(tokens.seen().len() - before, 10);
        took
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_missing_logins_and_missing_rights_differ() {
    let server = Server::start(&Protection::None);
    let tokens = token_server();
    let registry = registry(&server, &tokens.host(), 0);
    let error = client_for(&registry.host(), password("wrong"))
        .ping()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::LoginRefused(..)), "{error:?}");
    let error = client_for(&registry.host(), Credentials::Anonymous)
        .ping()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::LoginRequired(..)), "{error:?}");
    let client = client_for(&registry.host(), password(PASSWORD));
    let error = may_push(&client, "demo").await.unwrap_err();
    assert!(matches!(error, Error::Denied(..)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_token_is_exchanged() {
    let server = Server::start(&Protection::None);
    let tokens = token_server();
    let registry = registry(&server, &tokens.host(), 100);
    let credentials = Credentials::IdentityToken(Secret::new("r3fresh".to_owned()));
    client_for(&registry.host(), credentials)
        .ping()
        .await
        .unwrap();
    assert_eq!(tokens.count("POST", "/token"), 1);
    assert!(
        tokens
            .seen()
            .iter()
            .all(|seen| !seen.path.contains("r3fresh"))
    );
}

/// A registry that accepts no token and names this token server.
fn naming(realm: &str) -> Proxy {
    let head = challenge(realm);
    Proxy::start(0, move |_| Action::Answer(head, String::new()))
}

fn challenge(realm: &str) -> &'static str {
    format!("401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"{realm}\"").leak()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_never_goes_to_a_token_server_without_tls() {
    let tokens = token_server();
    let here = tokens.host();
    for realm in [
        &format!("ftp://{here}/token"),
        // The registry is on this machine; its token server is not.
        "http://tokens.test/token",
        &format!("http://{here}@tokens.test/token"),
        &format!("http://user:word@{here}/token"),
    ] {
        let registry = naming(realm);
        let client = client_for(&registry.host(), password(PASSWORD));
        let error = client.ping().await.unwrap_err();
        assert!(
            matches!(error, Error::LoginUnsupported(..)),
            "{realm}: {error:?}"
        );
        assert_eq!(client.token_server(), None, "{realm}");
    }
    assert!(tokens.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_goes_to_one_token_server_and_its_name_is_known() {
    let (first, second) = (token_server(), token_server());
    let challenges =
        [&first, &second].map(|tokens| challenge(&format!("http://{}/token", tokens.host())));
    let registry = Proxy::start(0, move |seen| match seen.headers.get("authorization") {
        Some(_) if seen.path == "/v2/" => Action::Answer("200 OK", "{}".to_owned()),
        Some(_) => Action::Answer(challenges[1], String::new()),
        None => Action::Answer(challenges[0], String::new()),
    });
    let client = client_for(&registry.host(), password(PASSWORD));
    assert_eq!(client.token_server(), None);
    client.ping().await.unwrap();
    assert_eq!(client.token_server(), Some(first.host()));
    let error = may_push(&client, "app").await.unwrap_err();
    assert!(matches!(error, Error::LoginUnsupported(..)), "{error:?}");
    assert!(second.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_login_that_goes_elsewhere_is_worth_a_name() {
    let tokens = Proxy::start(0, |_| {
        Action::Answer("200 OK", r#"{"token":"t"}"#.to_owned())
    });
    let elsewhere = challenge(&format!("http://{}/token", tokens.host()));
    let registry = Proxy::start(0, move |seen| match seen.headers.get("authorization") {
        Some(_) => Action::Answer("200 OK", "{}".to_owned()),
        None => Action::Answer(elsewhere, String::new()),
    });
    let nobody = client_for(&registry.host(), Credentials::Anonymous);
    nobody.ping().await.unwrap();
    assert_eq!(nobody.token_server(), None);

    let free = crate::server::FreePort::new();
    let port = free.number;
    let own = challenge(&format!("http://127.0.0.1:{port}/token"));
    let registry = Proxy::start_at(port, 0, move |seen| {
        match seen.headers.get("authorization") {
            _ if seen.path.starts_with("/token") => {
                Action::Answer("200 OK", r#"{"token":"t"}"#.to_owned())
            }
            Some(_) => Action::Answer("200 OK", "{}".to_owned()),
            None => Action::Answer(own, String::new()),
        }
    });
    let client = client_for(&registry.host(), password(PASSWORD));
    client.ping().await.unwrap();
    assert_eq!(registry.count("GET", "/token"), 1);
    assert_eq!(client.token_server(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_server_cannot_send_the_login_on() {
    let other = token_server();
    for credentials in [
        password(PASSWORD),
        Credentials::IdentityToken(Secret::new("r3fresh".to_owned())),
    ] {
        let head = format!(
            "307 Temporary Redirect\r\nLocation: http://{}/token",
            other.host()
        );
        let head: &'static str = head.leak();
        let tokens = Proxy::start(0, move |_| Action::Answer(head, String::new()));
        let registry = naming(&format!("http://{}/token", tokens.host()));
        let client = client_for(&registry.host(), credentials);
        let error = client.ping().await.unwrap_err();
        assert!(
            matches!(error, Error::Refused { status: 307, .. }),
            "{error:?}"
        );
        assert_eq!(tokens.seen().len(), 1);
    }
    assert!(other.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_asks_for_the_right_to_pull_and_for_a_new_token_when_one_ends() {
    let server = Server::start(&Protection::None);
    let app = repository("demo/a");
    let mut job = Job::default();
    let layers = [noise(1, 3 * MIB), noise(2, MIB), noise(3, 100)];
    job.image(&app, Some("1"), &layers);
    let client = client_for(&server.host(), Credentials::Anonymous);
    assert!(push(&client, job.job, silent()).await.is_complete());

    let tokens = token_server();
    let registry = registry(&server, &tokens.host(), 2);
    let client = client_for(&registry.host(), password(PASSWORD));
    let tag = "1".parse::<schemas::Tag>().unwrap().into();
    client.existing_manifest(&app, &tag, &|_| ()).await.unwrap();
    let sinks = layers.each_ref().map(|layer| Memory::of(layer));
    let blobs = layers.iter().zip(&sinks);
    let blobs = blobs.map(|(layer, sink)| blob(&app, layer, sink)).collect();
    pull(&client, blobs, &|_| ()).await.unwrap();
    assert!(
        layers
            .iter()
            .zip(&sinks)
            .all(|(layer, sink)| sink.holds(layer))
    );
    let asked: Vec<String> = tokens.seen().into_iter().map(|seen| seen.path).collect();
    assert!(
        asked.len() > 1,
        "each token is good for two requests: {asked:?}"
    );
    let scope = "scope=repository%3Ademo%2Fa%3Apull";
    assert!(asked.iter().all(|path| path.ends_with(scope)), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn public_images_need_a_token_and_no_login() {
    let server = Server::start(&Protection::None);
    let app = repository("demo/a");
    let layer = noise(1, MIB);
    let mut job = Job::default();
    job.image(&app, Some("1"), std::slice::from_ref(&layer));
    let client = client_for(&server.host(), Credentials::Anonymous);
    assert!(push(&client, job.job, silent()).await.is_complete());

    // Docker Hub and quay.io issue pull tokens to everyone.
    let tokens = Proxy::start(0, |seen| {
        assert!(!seen.headers.contains_key("authorization"));
        let mut parts = seen.path.split(['?', '&']);
        let scope = parts.find_map(|part| part.strip_prefix("scope="));
        let token = scope.unwrap_or_default();
        Action::Answer("200 OK", format!(r#"{{"access_token":"{token}"}}"#))
    });
    let registry = registry(&server, &tokens.host(), 100);
    let client = client_for(&registry.host(), Credentials::Anonymous);
    let sink = Memory::of(&layer);
    pull(&client, vec![blob(&app, &layer, &sink)], &|_| ())
        .await
        .unwrap();
    assert!(sink.holds(&layer));
    assert_eq!(tokens.seen().len(), 1);
}
