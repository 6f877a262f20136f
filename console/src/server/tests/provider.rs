//! Users of an identity provider: their login, their sessions, and the separation of users.

use std::collections::BTreeMap;

use super::*;
use crate::oidc::tests::server::{KEYS, Signer, TestProvider, redirection};
use crate::oidc::tests::{NOW, START, clock};
use crate::state::{Access, Impersonation, ProviderSettings};

const HOST_NAME: &str = "console.example.com";

/// A console for the users of a test provider.
struct Site {
    provider: TestProvider,
    console: Arc<Console>,
}

/// The cookies of a browser, by name.
type Cookies = BTreeMap<String, String>;

impl Site {
    async fn new(impersonation: Option<Impersonation>) -> Self {
        NOW.set(START);
        let provider = TestProvider::start(Signer::Curve).await;
        let mut program = program();
        program.connect.clock = clock;
        let settings = ProviderSettings {
            public_url: format!("https://{HOST_NAME}").parse().unwrap(),
            issuer: provider.issuer.clone(),
            client_id: "console".to_owned(),
            client_secret: Some("secret".to_owned()),
            authorities: Some(KEYS.server.clone()),
            impersonation,
        };
        let console = Arc::new(Console::with_provider(program, settings).unwrap());
        Self { provider, console }
    }

    async fn send(&self, method: Method, path: &str, cookies: &mut Cookies) -> Answer {
        let pairs = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let pairs: Vec<_> = pairs.collect();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, HOST_NAME)
            .header(ORIGIN, format!("https://{HOST_NAME}"))
            .header(COOKIE, pairs.join("; "))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let body = if path == "/environments" {
            "environment=prod"
        } else {
            ""
        };
        let answer = send(&self.console, request, body).await;
        for cookie in answer.headers.get_all(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            let (pair, attributes) = cookie.split_once("; ").unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            assert!(name.starts_with("__Host-"), "{cookie}");
            let safe = "Path=/; Secure; HttpOnly; SameSite=Lax";
            assert!(attributes.starts_with(safe), "{cookie}");
            if attributes.ends_with("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    async fn get(&self, path: &str, cookies: &mut Cookies) -> Answer {
        self.send(Method::GET, path, cookies).await
    }

    /// Begins a login, and returns the path of the callback.
    async fn begin(&self, path: &str, cookies: &mut Cookies) -> String {
        let answer = self.get(path, cookies).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        let url = answer.header(LOCATION);
        assert!(url.starts_with(&format!("{}/authorize?", self.provider.issuer)));
        let query = self.provider.expect(url);
        assert_eq!(
            query["redirect_uri"],
            format!("https://{HOST_NAME}/auth/callback")
        );
        format!("/auth/callback?code=code-1&state={}", query["state"])
    }

    /// Logs a user in.
    async fn log_in(&self, subject: &str) -> Cookies {
        let mut cookies = Cookies::new();
        let callback = self.begin("/login", &mut cookies).await;
        self.provider.answers().claims["sub"] = subject.into();
        let answer = self.get(&callback, &mut cookies).await;
        assert_eq!(answer.header(LOCATION), "/environments", "{}", answer.body);
        cookies
    }
}

#[tokio::test]
async fn a_user_logs_in_at_the_provider_and_returns_to_the_page() {
    let (site, mut cookies) = (Site::new(None).await, Cookies::new());
    let answer = site.get("/runs?x=1", &mut cookies).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let link = r#"href="/login?next=%2Fruns%3Fx%3D1""#;
    assert!(answer.body.contains(link), "{}", answer.body);
    let callback = site
        .begin("/login?next=%2Fruns%3Fx%3D1", &mut cookies)
        .await;
    assert_eq!(
        cookies.keys().collect::<Vec<_>>(),
        ["__Host-solution-login"]
    );
    let answer = site.get(&callback, &mut cookies).await;
    assert_eq!(answer.header(LOCATION), "/runs?x=1", "{}", answer.body);
    assert_eq!(
        cookies.keys().collect::<Vec<_>>(),
        ["__Host-solution-console"]
    );
    assert_eq!(
        site.get("/runs?x=1", &mut cookies).await.status,
        StatusCode::OK
    );
    // The provider redirects a browser that is already logged in. It gets another session.
    let first = cookies.clone();
    let callback = site.begin("/login?next=//evil.test", &mut cookies).await;
    let answer = site.get(&callback, &mut cookies).await;
    assert_eq!(answer.header(LOCATION), "/environments");
    assert_ne!(cookies, first);
}

#[tokio::test]
async fn an_answer_of_the_provider_is_accepted_once_and_by_the_browser_that_asked() {
    let (site, mut cookies) = (Site::new(None).await, Cookies::new());
    let callback = site.begin("/login", &mut cookies).await;
    let (mut used, mut stranger) = (cookies.clone(), Cookies::new());
    let other = format!("{callback}0");
    let silent = "/auth/callback?error=access_denied&state=0".to_owned();
    for (path, cookies) in [
        (&callback, &mut stranger),
        (&other, &mut cookies.clone()),
        (&silent, &mut cookies.clone()),
    ] {
        let answer = site.get(path, cookies).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.body);
        assert!(answer.body.contains("/login?next="), "{}", answer.body);
        assert!(cookies.is_empty(), "{cookies:?}");
    }
    assert_eq!(
        site.get(&callback, &mut used).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(
        site.get(&callback, &mut used).await.status,
        StatusCode::UNAUTHORIZED
    );
    // The login took too long.
    NOW.set(START + 601);
    let answer = site.get(&callback, &mut cookies).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_number_of_logins_at_the_same_time_is_limited() {
    let (site, mut cookies) = (Site::new(None).await, Cookies::new());
    let callback = site.begin("/login", &mut cookies).await;
    let Access::Provider(access) = &site.console.access else {
        panic!("the console has a provider");
    };
    let all = access.exchanges.available_permits().try_into().unwrap();
    let others = access.exchanges.acquire_many(all).await.unwrap();
    let answer = site.get(&callback, &mut cookies.clone()).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    drop(others);
    let answer = site.get(&callback, &mut cookies).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_named() {
    let (site, mut cookies) = (Site::new(None).await, Cookies::new());
    site.provider.answers().raw = Some(("/.well-known/openid-configuration", redirection));
    let answer = site.get("/login", &mut cookies).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    let words = ["cannot reach the identity provider", "the configuration"];
    assert!(
        words.iter().all(|words| answer.body.contains(words)),
        "{}",
        answer.body
    );
    assert!(cookies.is_empty());
}

#[tokio::test]
async fn no_user_sees_runs_and_plans_of_another_one() {
    let site = Site::new(None).await;
    let (mut ana, mut ben) = (site.log_in("ana").await, site.log_in("ben").await);
    let run = site.send(Method::POST, "/environments", &mut ana).await;
    let run = run.header(LOCATION).to_owned();
    assert!(run.starts_with("/runs/"), "{run}");
    let mut again = site.log_in("ana").await;
    for cookies in [&mut ana, &mut again] {
        let shown = site.get("/runs", cookies).await;
        assert!(
            shown.body.contains("Create environment prod"),
            "{}",
            shown.body
        );
        assert_eq!(site.get(&run, cookies).await.status, StatusCode::OK);
    }
    let shown = site.get("/runs", &mut ben).await;
    assert!(!shown.body.contains("Create"), "{}", shown.body);
    for path in [run.clone(), format!("{run}/events")] {
        assert_eq!(
            site.get(&path, &mut ben).await.status,
            StatusCode::NOT_FOUND
        );
    }
    let cancelled = site
        .send(Method::POST, &format!("{run}/cancel"), &mut ben)
        .await;
    assert_eq!(cancelled.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_login_is_renewed_before_it_ends_and_the_session_ends_with_it() {
    let site = Site::new(None).await;
    let mut cookies = site.log_in("ana").await;
    let renewals = || site.provider.count("POST /token") - 1;
    assert_eq!(site.get("/runs", &mut cookies).await.status, StatusCode::OK);
    assert_eq!(renewals(), 0);
    NOW.set(START + 241);
    site.provider.answers().claims["exp"] = (START + 600).into();
    assert_eq!(site.get("/runs", &mut cookies).await.status, StatusCode::OK);
    assert_eq!(site.get("/runs", &mut cookies).await.status, StatusCode::OK);
    assert_eq!(renewals(), 1);
    // As long as the token is valid, the provider is not needed.
    site.provider.answers().raw = Some(("/token", redirection));
    NOW.set(START + 590);
    assert_eq!(site.get("/runs", &mut cookies).await.status, StatusCode::OK);
    assert_eq!(renewals(), 2);
    NOW.set(START + 600);
    assert_eq!(
        site.get("/runs", &mut cookies).await.status,
        StatusCode::BAD_GATEWAY
    );
    {
        let mut answers = site.provider.answers();
        answers.raw = None;
        answers.claims["sub"] = "ben".into();
        answers.claims["exp"] = (START + 900).into();
    }
    let answer = site.get("/runs", &mut cookies).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert!(
        answer.body.contains("your login has ended"),
        "{}",
        answer.body
    );
    site.provider.answers().claims["sub"] = "ana".into();
    let answer = site.get("/runs", &mut cookies).await;
    assert!(
        answer.body.contains("you are not logged in"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn two_sessions_of_a_user_have_the_newest_login() {
    let site = Site::new(None).await;
    let mut first = site.log_in("ana").await;
    NOW.set(START + 200);
    site.provider.answers().claims["exp"] = (START + 600).into();
    let mut second = site.log_in("ana").await;
    // The first login would have ended by now.
    site.provider.answers().raw = Some(("/token", redirection));
    NOW.set(START + 500);
    for cookies in [&mut first, &mut second] {
        assert_eq!(site.get("/runs", cookies).await.status, StatusCode::OK);
    }
    site.send(Method::POST, "/logout", &mut second).await;
    assert_eq!(site.get("/runs", &mut first).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_logout_ends_the_session_and_offers_to_log_out_of_the_provider() {
    let site = Site::new(None).await;
    let mut cookies = site.log_in("ana").await;
    let before = cookies.clone();
    let answer = site.send(Method::POST, "/logout", &mut cookies).await;
    assert!(
        answer
            .body
            .contains(&format!("{}/end?", site.provider.issuer)),
        "{}",
        answer.body
    );
    assert!(cookies.is_empty());
    let answer = site.get("/runs", &mut before.clone()).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn only_the_public_host_is_served_and_health_to_everyone() {
    let site = Site::new(None).await;
    for (host, path, expected) in [
        (HOST_NAME, "/login?token=x", StatusCode::SEE_OTHER),
        ("CONSOLE.example.com", "/runs", StatusCode::UNAUTHORIZED),
        (
            "console.example.com:8440",
            "/runs",
            StatusCode::MISDIRECTED_REQUEST,
        ),
        ("10.244.0.7:8440", "/runs", StatusCode::MISDIRECTED_REQUEST),
        ("10.244.0.7:8440", "/healthz", StatusCode::OK),
    ] {
        let request = Request::builder().uri(path).header(HOST, host);
        assert_eq!(
            send(&site.console, request, "").await.status,
            expected,
            "{host}{path}"
        );
    }
}

/// Logs in to a console that impersonates users, and returns the answer to the callback.
async fn impersonate(users: &[&str], verified: bool) -> Answer {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let site = Site::new(Some(Impersonation {
        users: names(users),
        groups: names(&["oidc:admins"]),
    }));
    let (site, mut cookies) = (site.await, Cookies::new());
    let callback = site.begin("/login", &mut cookies).await;
    {
        let claims = &mut site.provider.answers().claims;
        claims["email_verified"] = verified.into();
        // Users can choose this name at some providers.
        claims["preferred_username"] = "ana@example.com".into();
    }
    site.get(&callback, &mut cookies).await
}

#[tokio::test]
async fn only_listed_users_with_a_verified_address_are_impersonated() {
    let ana = "oidc:ana@example.com";
    assert_eq!(
        impersonate(&[ana], true).await.status,
        StatusCode::SEE_OTHER
    );
    for (users, verified) in [
        (&[ana][..], false),
        (&["ana@example.com"], true),
        (&["oidc:ben"], true),
    ] {
        let answer = impersonate(users, verified).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{users:?} {verified}");
        assert!(
            answer.body.contains("may not act for the user"),
            "{}",
            answer.body
        );
    }
}
