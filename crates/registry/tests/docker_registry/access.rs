//! Access to a registry: every kind of failure has its own error.

use registry::{
    Attempts, Client, ClientOptions, Credentials, Error, PlainHttp, Proxies, RetryPolicy, push,
};

use crate::images::{Job, digest_of, has_blob, may_push, repository, silent};
use crate::server::{FreePort, Protection, Server, client_for, options, password};
use fixtures::proxy::{Action, Proxy, Seen};

async fn ping(host: &str, options: ClientOptions) -> Result<(), Error> {
    Client::new(&host.parse().unwrap(), options)
        .unwrap()
        .ping()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_to_fail_is_told_apart() {
    let server = Server::start(&Protection::TlsAndLogin);
    let host = server.host();
    ping(&host, server.options()).await.unwrap();

    let error = ping(
        &host,
        ClientOptions {
            ca: Vec::new(),
            ..server.options()
        },
    )
    .await
    .unwrap_err();
    assert!(matches!(error, Error::Untrusted(..)), "{error:?}");
    assert!(!error.is_retried());

    let anonymous = ClientOptions {
        credentials: Credentials::Anonymous,
        ..server.options()
    };
    let error = ping(&host, anonymous.clone()).await.unwrap_err();
    assert!(matches!(error, Error::LoginRequired(..)), "{error:?}");

    let wrong = ClientOptions {
        credentials: password("hunter2"),
        ..server.options()
    };
    let error = ping(&host, wrong).await.unwrap_err();
    assert!(matches!(error, Error::LoginRefused(..)), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));

    let token = Credentials::IdentityToken(registry::Secret::new("t0ken".to_owned()));
    let error = ping(
        &host,
        ClientOptions {
            credentials: token,
            ..server.options()
        },
    )
    .await
    .unwrap_err();
    assert!(matches!(error, Error::LoginUnsupported(..)), "{error:?}");

    // The certificate is valid for this address and `localhost`, not for other addresses of the machine.
    let free = FreePort::new();
    let other = format!("127.0.0.2:{}", free.number);
    let error = ping(&other, server.options()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable(..)), "{error:?}");
    assert!(error.is_retried());
    ping(&format!("localhost:{}", server.port), server.options())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_is_spoken_only_where_allowed() {
    let server = Server::start(&Protection::None);
    ping(&server.host(), options()).await.unwrap();
    let always = ClientOptions {
        plain_http: PlainHttp::Always,
        ..options()
    };
    ping(&server.host(), always.clone()).await.unwrap();
    let never = ClientOptions {
        plain_http: PlainHttp::Never,
        ..options()
    };
    let error = ping(&server.host(), never).await.unwrap_err();
    assert!(matches!(error, Error::PlainHttpAnswer(..)), "{error:?}");
    let secure = Server::start(&Protection::TlsAndLogin);
    let error = ping(&secure.host(), always).await.unwrap_err();
    assert!(matches!(error, Error::NotARegistry(_, 400)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_site_is_no_registry() {
    for (head, status) in [("200 OK", 200), ("404 Not Found", 404)] {
        let site = Proxy::start(0, move |_| {
            Action::Answer(head, "<html>welcome</html>".to_owned())
        });
        let error = ping(&site.host(), options()).await.unwrap_err();
        assert!(
            matches!(error, Error::NotARegistry(_, s) if s == status),
            "{error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_is_found_before_the_push() {
    let site = Proxy::start(0, |seen| match seen.method.as_str() {
        "POST" => Action::Answer(
            "403 Forbidden",
            r#"{"errors":[{"code":"DENIED","message":"project is read-only"}]}"#.to_owned(),
        ),
        _ => Action::Answer("200 OK", "{}".to_owned()),
    });
    let client = client_for(&site.host(), Credentials::Anonymous);
    client.ping().await.unwrap();
    let error = may_push(&client, "app").await.unwrap_err();
    assert!(matches!(error, Error::Denied(..)), "{error:?}");
    assert!(
        error.to_string().contains("project is read-only"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_limited_and_carry_no_login() {
    let server = Server::start(&Protection::None);
    let storage = Proxy::start(server.port, |_| Action::Answer("200 OK", "x".to_owned()));
    let target: &'static str = format!(
        "307 Temporary Redirect\r\nLocation: http://{}/x",
        storage.host()
    )
    .leak();
    let registry = Proxy::start(server.port, move |seen| {
        if seen.path.starts_with("/v2/loop/") {
            return Action::Answer(
                "307 Temporary Redirect\r\nLocation: /v2/loop/again",
                String::new(),
            );
        }
        match seen.headers.get("authorization") {
            None => Action::Answer(
                "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"test\"",
                String::new(),
            ),
            Some(_) => Action::Answer(target, String::new()),
        }
    });
    let client = client_for(&registry.host(), password("secret"));
    let digest = schemas::Digest::new([1; 32]);
    assert!(
        has_blob(&client, &repository("app"), &digest, 1)
            .await
            .unwrap()
    );
    let seen = storage.seen();
    let asked: Vec<&str> = seen.iter().map(|seen| seen.method.as_str()).collect();
    assert_eq!(asked, ["GET"]);
    let login = |seen: &Seen| seen.headers.contains_key("authorization");
    assert!(!seen.iter().any(login));
    let error = has_blob(&client, &repository("loop"), &digest, 1)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::BadAnswer(..)), "{error:?}");
    assert!(registry.count("GET", "/v2/loop/") < 10);
}

/// A registry that requires a login and names upload locations at another host.
fn uploads_at(upstream: u16, elsewhere: &str) -> Proxy {
    let elsewhere: &'static str = elsewhere.to_owned().leak();
    Proxy::start(upstream, move |seen| {
        let login = "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"test\"";
        match seen.headers.get("authorization") {
            None => Action::Answer(login, String::new()),
            // The registry takes its own name from the request.
            Some(_) if seen.method == "POST" => Action::With("host", elsewhere),
            Some(_) => Action::Forward,
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_elsewhere_gets_nothing() {
    let server = Server::start(&Protection::None);
    let storage = Proxy::start(server.port, |_| Action::Forward);
    let registry = uploads_at(server.port, &storage.host());
    let client = client_for(&registry.host(), password("secret"));
    let error = may_push(&client, "app").await.unwrap_err();
    assert!(matches!(error, Error::BadAnswer(..)), "{error:?}");
    let mut job = Job::default();
    job.blob(&repository("app"), digest_of(b"some"), &b"some"[..].into());
    assert!(!push(&client, job.job, silent()).await.is_complete());
    assert!(storage.seen().is_empty());
    // An upload does not continue there either.
    let storage = Proxy::start(server.port, |_| Action::Forward);
    let there: &'static str = storage.host().leak();
    let registry = Proxy::start(server.port, move |seen| match seen.method.as_str() {
        "PATCH" => Action::With("host", there),
        // Only chunks are accepted.
        "PUT" => Action::Answer("501 Not Implemented", String::new()),
        _ => Action::Forward,
    });
    let client = client_for(&registry.host(), Credentials::Anonymous);
    let mut job = Job::default();
    job.blob(&repository("app"), digest_of(b"some"), &b"some"[..].into());
    assert!(!push(&client, job.job, silent()).await.is_complete());
    assert_eq!(registry.count("PATCH", "/uploads/"), 1);
    assert!(storage.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_of_this_machine_sends_nobody_off_it_without_tls() {
    let server = Server::start(&Protection::None);
    let registry = uploads_at(server.port, "storage.test");
    let client = client_for(&registry.host(), password("secret"));
    let error = may_push(&client, "app").await.unwrap_err();
    assert!(matches!(error, Error::BadAnswer(..)), "{error:?}");
    let redirect = "307 Temporary Redirect\r\nLocation: http://storage.test/x";
    let registry = Proxy::start(0, move |_| Action::Answer(redirect, String::new()));
    let client = client_for(&registry.host(), Credentials::Anonymous);
    let error = client.ping().await.unwrap_err();
    assert!(matches!(error, Error::BadAnswer(..)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_answers_are_cut() {
    let site = Proxy::start(0, |seen| match seen.path.as_str() {
        "/v2/app/manifests/1" => Action::Answer("200 OK", "x".repeat(4 * 1024 * 1024 + 1)),
        _ => Action::Answer("200 OK", String::new()),
    });
    let client = client_for(&site.host(), Credentials::Anonymous);
    let tag = "1".parse::<schemas::Tag>().unwrap().into();
    let error = client.manifest(&repository("app"), &tag).await.unwrap_err();
    assert!(matches!(error, Error::AnswerTooLong(..)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_used_for_others_and_never_for_this_machine() {
    let proxy = Proxy::start(0, |_| Action::Answer("200 OK", "{}".to_owned()));
    let direct = Proxy::start(0, |_| Action::Answer("200 OK", "{}".to_owned()));
    let options = ClientOptions {
        plain_http: PlainHttp::Always,
        proxies: Proxies {
            http: Some(format!("http://user:word@{}", proxy.host())),
            https: None,
            except: "near.test".to_owned(),
        },
        retry: RetryPolicy {
            attempts: Attempts::of_each(1),
            ..options().retry
        },
        ..options()
    };
    assert!(!format!("{options:?}").contains("word"));
    ping("registry.test", options.clone()).await.unwrap();
    let seen = proxy.seen();
    assert_eq!(seen[0].path, "http://registry.test/v2/");
    assert!(seen[0].headers.contains_key("proxy-authorization"));
    ping(&direct.host(), options.clone()).await.unwrap();
    assert_eq!((proxy.seen().len(), direct.seen().len()), (1, 1));
    // The name does not resolve, and only the proxy is asked for it.
    let error = ping("sub.near.test", options).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable(..)), "{error:?}");
    assert_eq!(proxy.seen().len(), 1);
}
