mod provider;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE, COOKIE, HOST, LOCATION, SET_COOKIE};
use http_body_util::BodyExt as _;
use importer::{Blocker, Error};
use kubernetes::{Account, ConnectOptions, Identity};
use progress::Listener;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::assets;
use crate::program::{EventText, Explanations, Program, Results};
use crate::secret::AccessToken;

const OWN: &str = "127.0.0.1:8440";

/// A console without a cluster, and a browser that is logged in.
struct Browser {
    console: Arc<Console>,
    token: AccessToken,
    cookie: Option<String>,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: impl axum::http::header::AsHeaderName) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// Returns a program without a cluster and without registries.
pub(crate) fn program() -> Program {
    let none = || Problem::refused("there is no registry", Vec::new(), Vec::new());
    Program {
        connect: ConnectOptions {
            account: Account::Kubeconfig {
                paths: vec!["/nonexistent/kubeconfig".into()],
                context: None,
            },
            identity: Identity::Account,
            timeout: std::time::Duration::from_secs(1),
            listener: Listener::default(),
            clock: || std::time::SystemTime::UNIX_EPOCH,
        },
        client: Arc::new(move |_, _| Err(none())),
        pull_login: Arc::new(move |_, _| Err(none())),
        context: Arc::new(move || Err(none())),
        limits: importer::TimeLimits {
            wait: std::time::Duration::from_secs(1),
            total: None,
        },
        explain: Explanations {
            error: |error: Error| Problem::refused(error.to_string(), Vec::new(), Vec::new()),
            unreachable: |error| {
                let hints = vec!["check the <kubeconfig>".to_owned()];
                Problem::new("there is no cluster", vec![error.to_string()], hints)
            },
            report: |_| Problem::refused("not accepted", Vec::new(), Vec::new()),
            blocker: |_: &Blocker| String::new(),
            operator: |_| None,
            log_in: "open the printed address",
            import: "import an archive",
            event: |_| EventText::Lines(Vec::new()),
        },
        results: Results {
            status: |_| Value::Null,
            plan: |_, _| Value::Null,
        },
    }
}

async fn send(console: &Arc<Console>, request: axum::http::request::Builder, body: &str) -> Answer {
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let answer = router(Arc::clone(console)).oneshot(request).await.unwrap();
    let (head, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        status: head.status,
        headers: head.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

impl Browser {
    async fn new() -> Self {
        let token = AccessToken::random().unwrap();
        let console = Console::on_loopback(program(), OWN.parse().unwrap(), token.clone());
        let mut browser = Self {
            console: Arc::new(console),
            token,
            cookie: None,
        };
        let login = browser.token.login_path();
        let answer = browser.get(&login).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert_eq!(answer.header(LOCATION), "/environments");
        let cookie = answer.header(SET_COOKIE);
        let (pair, attributes) = cookie.split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
        browser.cookie = Some(pair.to_owned());
        browser
    }

    async fn send(&self, request: axum::http::request::Builder, body: &str) -> Answer {
        send(&self.console, request, body).await
    }

    fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, OWN);
        match &self.cookie {
            Some(cookie) => request.header(COOKIE, format!("other=1; {cookie}")),
            None => request,
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path), "").await
    }

    async fn post(&self, path: &str, body: &str) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header(ORIGIN, format!("http://{OWN}"));
        let form = "application/x-www-form-urlencoded";
        self.send(request.header(CONTENT_TYPE, form), body).await
    }
}

/// Every page that needs a session.
const PAGES: [&str; 17] = [
    "/",
    "/environments",
    "/new-environment",
    "/environments/prod",
    "/environments/prod/delete",
    "/environments/prod/deploy",
    "/environments/prod/solutions/shop/deploy",
    "/environments/prod/solutions/shop/rollback",
    "/environments/prod/solutions/shop/undeploy",
    "/solutions",
    "/solutions/shop/1.0.0",
    "/solutions/shop/1.0.0/rights",
    "/plans/1",
    "/proposals/1",
    "/runs",
    "/history",
    "/session",
];

#[tokio::test]
async fn no_page_is_shown_without_a_session() {
    let mut browser = Browser::new().await;
    browser.cookie = None;
    for path in PAGES {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(answer.body.contains("open the printed address"), "{path}");
    }
    browser.cookie = Some(format!(
        "{}={}",
        browser.console.session.name(),
        "0".repeat(64)
    ));
    assert_eq!(browser.get("/runs").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        browser.post("/environments", "").await.status,
        StatusCode::UNAUTHORIZED
    );
    for path in ["/healthz", &assets::STYLE_PATH, &assets::SCRIPT_PATH] {
        assert_eq!(browser.get(path).await.status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn only_the_token_of_this_console_logs_in() {
    let browser = Browser::new().await;
    let other = AccessToken::random().unwrap();
    for path in ["/login", "/login?token=", &other.login_path()] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(answer.header(SET_COOKIE), "");
    }
}

#[tokio::test]
async fn a_session_ends_with_the_logout() {
    let browser = Browser::new().await;
    assert_eq!(browser.get("/runs").await.status, StatusCode::OK);
    let answer = browser.post("/logout", "").await;
    assert!(answer.header(SET_COOKIE).ends_with("; Max-Age=0"));
    assert_eq!(browser.get("/runs").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_request_by_another_host_name_is_refused() {
    let browser = Browser::new().await;
    for (host, expected) in [
        (OWN, StatusCode::OK),
        ("localhost:8440", StatusCode::OK),
        ("127.0.0.1", StatusCode::MISDIRECTED_REQUEST),
        ("127.0.0.1:9", StatusCode::MISDIRECTED_REQUEST),
        ("evil.test:8440", StatusCode::MISDIRECTED_REQUEST),
    ] {
        let cookie = browser.cookie.clone().unwrap();
        let request = Request::builder()
            .uri("/runs")
            .header(HOST, host)
            .header(COOKIE, cookie);
        assert_eq!(browser.send(request, "").await.status, expected, "{host}");
    }
}

#[tokio::test]
async fn a_change_that_does_not_come_from_the_console_is_refused() {
    let browser = Browser::new().await;
    for headers in [
        &[][..],
        &[("origin", "http://evil.test")],
        &[("origin", "null")],
        &[("origin", "http://127.0.0.1:9")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
    ] {
        let request = browser.request(Method::POST, "/logout");
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let answer = browser.send(request, "").await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{headers:?}");
    }
    assert_eq!(
        browser.get("/runs").await.status,
        StatusCode::OK,
        "the session goes on"
    );
}

#[tokio::test]
async fn every_answer_has_the_headers_that_protect_it() {
    let browser = Browser::new().await;
    for path in [
        "/runs",
        "/unknown",
        "/environments",
        "/login?token=x",
        "/healthz",
    ] {
        let answer = browser.get(path).await;
        assert_eq!(answer.header(CONTENT_SECURITY_POLICY), POLICY, "{path}");
        assert_eq!(answer.header(X_FRAME_OPTIONS), "DENY", "{path}");
        assert_eq!(answer.header(X_CONTENT_TYPE_OPTIONS), "nosniff", "{path}");
        assert_eq!(answer.header(CACHE_CONTROL), "no-store", "{path}");
    }
    let style = browser.get(&assets::STYLE_PATH).await;
    assert!(style.header(CACHE_CONTROL).ends_with("immutable"));
    assert_eq!(style.header(CONTENT_TYPE), "text/css; charset=utf-8");
}

#[tokio::test]
async fn a_problem_is_a_page_or_json_and_its_text_is_escaped() {
    let browser = Browser::new().await;
    let page = browser.get("/environments").await;
    assert_eq!(page.status, StatusCode::BAD_GATEWAY);
    assert!(
        page.body.contains("check the &lt;kubeconfig&gt;"),
        "{}",
        page.body
    );
    let request = browser
        .request(Method::GET, "/environments")
        .header(ACCEPT, "application/json");
    let answer = browser.send(request, "").await;
    assert_eq!(answer.header(CONTENT_TYPE), "application/json");
    let found: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(found["error"], "there is no cluster");
    assert_eq!(found["hints"], json!(["check the <kubeconfig>"]));
    assert_eq!(found["schemaVersion"], "1");
}

#[tokio::test]
async fn what_does_not_exist_and_wrong_methods_have_their_own_answers() {
    let browser = Browser::new().await;
    for (path, expected) in [
        ("/unknown", StatusCode::NOT_FOUND),
        ("/assets/console-0.css", StatusCode::NOT_FOUND),
        ("/plans/1", StatusCode::NOT_FOUND),
        ("/proposals/1", StatusCode::NOT_FOUND),
        ("/runs/1", StatusCode::NOT_FOUND),
        ("/runs/1/events", StatusCode::NOT_FOUND),
        ("/environments/Not%20A%20Name", StatusCode::NOT_FOUND),
        ("/history/one", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(browser.get(path).await.status, expected, "{path}");
    }
    assert_eq!(
        browser.post("/runs", "").await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    assert_eq!(
        browser.post("/plans/1/apply", "").await.status,
        StatusCode::NOT_FOUND
    );
    let large = "x".repeat(FORM + 1);
    let answer = browser.post("/environments", &large).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(
        browser.post("/environments", "").await.status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn a_run_is_followed_until_its_end() {
    let browser = Browser::new().await;
    let answer = browser.post("/environments", "environment=prod").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let page = answer.header(LOCATION).to_owned();
    // The stream ends with the run, which fails because there is no cluster.
    let events = browser.get(&format!("{page}/events")).await;
    assert_eq!(events.header(CONTENT_TYPE), "text/event-stream");
    assert_eq!(events.header("x-accel-buffering"), "no");
    assert!(
        events.body.trim_end().ends_with(r#""ended":true}"#),
        "{}",
        events.body
    );
    let shown = browser.get(&page).await;
    assert!(shown.body.contains("there is no cluster"), "{}", shown.body);
    assert!(
        browser
            .get("/runs")
            .await
            .body
            .contains("Create environment prod")
    );
}
