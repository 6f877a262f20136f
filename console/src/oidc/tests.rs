//! Logins at a provider that answers wrongly in every way that matters.

pub(crate) mod server;

use std::cell::Cell;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde_json::{Value, json};

use self::server::{Answers, KEYS, Signer, TestProvider, encode, endless, redirection, slow};
use super::error::{Check, Object};
use super::login::LoginRequest;
use super::*;

/// The time at which each test starts, in seconds since the epoch.
pub(crate) const START: u64 = 1_800_000_000;
pub(crate) const REDIRECT: &str = "https://console.example.com/auth/callback";

thread_local! {
    /// The time of the clock, in seconds since the epoch.
    pub(crate) static NOW: Cell<u64> = const { Cell::new(START) };
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

pub(crate) fn clock() -> SystemTime {
    at(NOW.get())
}

fn settings(provider: &TestProvider) -> Settings {
    Settings {
        issuer: provider.issuer.clone(),
        client_id: "console".to_owned(),
        client_secret: Some("s3:cret/".to_owned()),
        redirect_uri: REDIRECT.to_owned(),
        ca: Some(KEYS.server.clone()),
    }
}

fn client(provider: &TestProvider) -> Provider {
    Provider::new(settings(provider), clock).unwrap()
}

/// Begins a login. The provider then gives tokens for it. The answers are bent before and after that, so that a change
/// of the configuration and a change of the nonce both last.
async fn begin(
    provider: &TestProvider,
    client: &Provider,
    bend: impl Fn(&mut Answers),
) -> Result<LoginAttempt, Error> {
    bend(&mut provider.answers());
    let LoginRequest { url, attempt } = client.begin().await?;
    provider.expect(&url);
    bend(&mut provider.answers());
    Ok(attempt)
}

fn callback(attempt: &LoginAttempt) -> Callback {
    Callback {
        state: attempt.state.clone(),
        code: Some("code-1".to_owned()),
        ..Callback::default()
    }
}

async fn log_in(
    provider: &TestProvider,
    client: &Provider,
    bend: impl Fn(&mut Answers),
) -> Result<Tokens, Error> {
    let attempt = begin(provider, client, bend).await?;
    let callback = callback(&attempt);
    client.finish(attempt, &callback).await
}

/// Logs in at a new provider, whose answers are bent.
async fn log_in_with(signer: Signer, bend: impl Fn(&mut Answers)) -> Result<Tokens, Error> {
    let provider = TestProvider::start(signer).await;
    log_in(&provider, &client(&provider), bend).await
}

fn unacceptable(check: Check) -> Error {
    Error::Unacceptable(check)
}

#[tokio::test]
async fn a_user_logs_in_with_each_kind_of_key() {
    for signer in [Signer::Rsa, Signer::Curve] {
        let provider = TestProvider::start(signer).await;
        let client = client(&provider);
        assert_eq!(
            provider.count(""),
            0,
            "the console starts without the provider"
        );
        let tokens = log_in(&provider, &client, |_| {}).await.unwrap();
        assert_eq!(tokens.expires, at(START + 300));
        assert_eq!(tokens.refresh_token.as_deref(), Some("refresh-1"));
        assert_eq!(tokens.id_token.split('.').count(), 3);
        let user = &tokens.user;
        assert_eq!((&*user.subject, &*user.name), ("id-1", "ana@example.com"));
        assert_eq!(user.issuer, provider.issuer);
        assert_eq!(user.groups, ["admins", "operators"]);
        assert_eq!(provider.count("GET /keys"), 1);
    }
}

#[tokio::test]
async fn the_login_page_is_asked_for_a_code_and_the_supported_scopes() {
    let provider = TestProvider::start(Signer::Curve).await;
    let all = "openid profile email groups offline_access";
    for (supported, scopes) in [
        (Value::Null, all),
        (json!([]), all),
        (json!(["email", "openid", "phone"]), "openid email"),
        (json!(["groups"]), "openid groups"),
    ] {
        provider.answers().discovery["scopes_supported"] = supported;
        let request = client(&provider).begin().await.unwrap();
        let url = reqwest::Url::parse(&request.url).unwrap();
        assert_eq!(url.path(), "/authorize");
        let query: HashMap<_, _> = url.query_pairs().collect();
        let [state, nonce] = [&query["state"], &query["nonce"]];
        assert_eq!((state.len(), nonce.len()), (64, 64));
        assert!(state != nonce && **state == request.attempt.state);
        assert_eq!(query["code_challenge"].len(), 43);
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", "console"),
            ("redirect_uri", REDIRECT),
            ("scope", scopes),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(query[name], value);
        }
    }
}

type Bend = fn(&mut Answers);

const WRONG_CLAIMS: &[(&str, Bend, Check)] = &[
    (
        "aud",
        |answers| answers.claims["aud"] = "other".into(),
        Check::Audience,
    ),
    (
        "no aud",
        |answers| answers.claims["aud"] = json!([]),
        Check::Audience,
    ),
    (
        "aud without azp",
        |answers| answers.claims["aud"] = json!(["console", "other"]),
        Check::AuthorizedParty,
    ),
    (
        "azp",
        |answers| answers.claims["azp"] = "other".into(),
        Check::AuthorizedParty,
    ),
    (
        "nonce",
        |answers| answers.claims["nonce"] = "other".into(),
        Check::Nonce,
    ),
    (
        "no nonce",
        |answers| answers.claims["nonce"] = Value::Null,
        Check::Nonce,
    ),
    (
        "iss",
        |answers| answers.claims["iss"] = "https://other".into(),
        Check::Issuer,
    ),
    (
        "iss with a slash",
        |answers| {
            let issuer = answers.discovery["issuer"].as_str().unwrap();
            answers.claims["iss"] = format!("{issuer}/").into();
        },
        Check::Issuer,
    ),
    (
        "no exp",
        |answers| answers.claims["exp"] = Value::Null,
        Check::Format,
    ),
    (
        "exp without end",
        |answers| answers.claims["exp"] = 1e300.into(),
        Check::Format,
    ),
    (
        "no iat",
        |answers| answers.claims["iat"] = Value::Null,
        Check::Format,
    ),
    (
        "no sub",
        |answers| answers.claims["sub"] = Value::Null,
        Check::Format,
    ),
    (
        "empty sub",
        |answers| answers.claims["sub"] = "".into(),
        Check::Claim("sub"),
    ),
    (
        "long sub",
        |answers| answers.claims["sub"] = "a".repeat(1025).into(),
        Check::Claim("sub"),
    ),
    (
        "control",
        |answers| answers.claims["email"] = "a\n".into(),
        Check::Claim("name"),
    ),
    (
        "group",
        |answers| answers.claims["groups"] = json!(["a", "\0"]),
        Check::Claim("groups"),
    ),
    (
        "groups",
        |answers| answers.claims["groups"] = vec!["a"; 501].into(),
        Check::Groups,
    ),
    (
        "size",
        |answers| answers.claims["x"] = "a".repeat(64 * 1024).into(),
        Check::Size,
    ),
    (
        "no token",
        |answers| answers.has_id_token = false,
        Check::NoIdToken,
    ),
    (
        "refresh token",
        |answers| answers.tokens["refresh_token"] = "a".repeat(64 * 1024 + 1).into(),
        Check::Size,
    ),
];

#[tokio::test]
async fn an_id_token_with_wrong_claims_is_not_accepted() {
    for (name, bend, check) in WRONG_CLAIMS {
        let result = log_in_with(Signer::Curve, bend).await;
        assert_eq!(result.err(), Some(unacceptable(*check)), "{name}");
    }
    let accepted: Bend = |answers| {
        answers.claims["aud"] = json!(["other", "console"]);
        answers.claims["azp"] = "console".into();
        answers.claims["groups"] = vec!["a"; 500].into();
    };
    log_in_with(Signer::Curve, accepted).await.unwrap();
}

const WRONG_SIGNATURES: &[(&str, Signer, Bend, Check)] = &[
    (
        "none",
        Signer::Rsa,
        |answers| sign(answers, Signer::Nothing),
        Check::Algorithm,
    ),
    (
        "HS256",
        Signer::Rsa,
        |answers| sign(answers, Signer::Hmac),
        Check::Algorithm,
    ),
    (
        "HS256 with a published secret",
        Signer::Rsa,
        |answers| {
            sign(answers, Signer::Hmac);
            let key = encode(Signer::Rsa.jwk().to_string());
            answers.keys = json!({ "keys": [{ "kty": "oct", "kid": "1", "k": key }] });
        },
        Check::UnknownKey,
    ),
    (
        "HMAC called RS256",
        Signer::Rsa,
        |answers| answers.signer = Signer::Hmac,
        Check::Signature,
    ),
    (
        "empty signature",
        Signer::Curve,
        |answers| answers.signer = Signer::Nothing,
        Check::Signature,
    ),
    ("RSA 1024", Signer::SmallRsa, |_| {}, Check::KeySize),
    (
        "other kid",
        Signer::Curve,
        |answers| answers.header["kid"] = "2".into(),
        Check::UnknownKey,
    ),
    (
        "no kid",
        Signer::Curve,
        |answers| answers.header["kid"] = Value::Null,
        Check::Format,
    ),
    (
        "ES256 for an RSA key",
        Signer::Rsa,
        |answers| sign(answers, Signer::Curve),
        Check::Algorithm,
    ),
    (
        "RS256 for a curve",
        Signer::Curve,
        |answers| sign(answers, Signer::Rsa),
        Check::Algorithm,
    ),
    (
        "ES384 for P-256",
        Signer::Curve,
        |answers| answers.header["alg"] = "ES384".into(),
        Check::Algorithm,
    ),
    (
        "a key for another algorithm",
        Signer::Rsa,
        |answers| answers.keys["keys"][0]["alg"] = "RS512".into(),
        Check::Algorithm,
    ),
    (
        "a key for encryption",
        Signer::Rsa,
        |answers| answers.keys["keys"][0]["use"] = "enc".into(),
        Check::UnknownKey,
    ),
    (
        "crit",
        Signer::Rsa,
        |answers| answers.header["crit"] = json!(["b64"]),
        Check::Format,
    ),
];

#[tokio::test]
async fn an_id_token_without_a_valid_signature_is_not_accepted() {
    for (name, signer, bend, check) in WRONG_SIGNATURES {
        let result = log_in_with(*signer, bend).await;
        assert_eq!(result.err(), Some(unacceptable(*check)), "{name}");
    }
}

/// Signs with another key and its algorithm.
fn sign(answers: &mut Answers, signer: Signer) {
    answers.signer = signer;
    answers.header["alg"] = signer.algorithm().into();
}

#[tokio::test]
async fn the_clocks_may_differ_by_a_minute() {
    for (claim, time, expected) in [
        ("exp", START - 59, None),
        ("exp", START - 60, Some(unacceptable(Check::Expired))),
        ("exp", 0, Some(unacceptable(Check::Expired))),
        ("iat", START + 60, None),
        ("iat", START + 61, Some(unacceptable(Check::Early))),
        ("nbf", START + 60, None),
        ("nbf", START + 61, Some(unacceptable(Check::Early))),
    ] {
        let result = log_in_with(Signer::Curve, |answers| answers.claims[claim] = time.into());
        assert_eq!(result.await.err(), expected, "{claim} {time}");
    }
}

#[tokio::test]
async fn the_name_of_a_user_is_an_address_that_the_provider_does_not_doubt() {
    for (verified, name, email) in [
        (Value::Null, "ana@example.com", false),
        (json!(true), "ana@example.com", true),
        (json!("true"), "ana@example.com", true),
        (json!(false), "ana", false),
        (json!("false"), "ana", false),
    ] {
        let tokens = log_in_with(Signer::Curve, |answers| {
            answers.claims["email_verified"] = verified.clone();
            answers.claims["preferred_username"] = "ana".into();
            answers.claims["groups"] = "admins".into();
        });
        let user = tokens.await.unwrap().user;
        assert_eq!((&*user.name, user.verified_email.is_some()), (name, email));
        assert_eq!(user.groups, ["admins"]);
    }
    let tokens = log_in_with(Signer::Curve, |answers| {
        answers.claims["email"] = "".into();
        answers.claims["preferred_username"] = "".into();
        answers.claims["groups"] = Value::Null;
    });
    let user = tokens.await.unwrap().user;
    assert_eq!((&*user.name, user.groups), ("id-1", Vec::new()));
}

type CallbackChange = fn(&mut Callback);

const WRONG_CALLBACKS: &[(&str, CallbackChange, Check)] = &[
    (
        "state",
        |callback| callback.state = "other".to_owned(),
        Check::State,
    ),
    (
        "no state",
        |callback| callback.state = String::new(),
        Check::State,
    ),
    ("no code", |callback| callback.code = None, Check::Code),
    (
        "long code",
        |callback| callback.code = Some("a".repeat(64 * 1024 + 1)),
        Check::Size,
    ),
    (
        "iss",
        |callback| callback.iss = Some("https://other".to_owned()),
        Check::CallbackIssuer,
    ),
    (
        "error of another login",
        |callback| {
            callback.state = "other".to_owned();
            callback.error = Some("access_denied".to_owned());
        },
        Check::State,
    ),
];

#[tokio::test]
async fn a_callback_must_belong_to_the_login() {
    let provider = TestProvider::start(Signer::Curve).await;
    let client = client(&provider);
    for (name, change, check) in WRONG_CALLBACKS {
        let attempt = begin(&provider, &client, |_| {}).await.unwrap();
        let mut callback = callback(&attempt);
        change(&mut callback);
        let result = client.finish(attempt, &callback).await;
        assert_eq!(result.err(), Some(unacceptable(*check)), "{name}");
        assert_eq!(provider.count("POST /token"), 0, "{name}");
    }
}

#[tokio::test]
async fn a_provider_that_names_itself_does_so_in_each_callback() {
    let provider = TestProvider::start(Signer::Curve).await;
    provider.answers().discovery["authorization_response_iss_parameter_supported"] = true.into();
    let client = client(&provider);
    for (iss, expected) in [
        (None, Some(unacceptable(Check::CallbackIssuer))),
        (Some(provider.issuer.clone()), None),
    ] {
        let attempt = begin(&provider, &client, |_| {}).await.unwrap();
        let callback = Callback {
            iss,
            ..callback(&attempt)
        };
        assert_eq!(client.finish(attempt, &callback).await.err(), expected);
    }
}

#[tokio::test]
async fn a_login_takes_at_most_ten_minutes() {
    for (wait, expected) in [(600, None), (601, Some(unacceptable(Check::Late)))] {
        NOW.set(START);
        let provider = TestProvider::start(Signer::Curve).await;
        let client = client(&provider);
        let bend = |answers: &mut Answers| answers.claims["exp"] = (START + 1000).into();
        let attempt = begin(&provider, &client, bend).await.unwrap();
        let callback = callback(&attempt);
        NOW.set(START + wait);
        assert_eq!(
            client.finish(attempt, &callback).await.err(),
            expected,
            "{wait}"
        );
    }
}

#[tokio::test]
async fn an_error_in_a_callback_is_a_refusal_unless_it_asks_to_try_again() {
    let provider = TestProvider::start(Signer::Curve).await;
    let client = client(&provider);
    let reason = "access_denied".to_owned();
    let busy = "temporarily_unavailable";
    for (code, expected) in [
        (
            "access_denied",
            Error::Refused {
                object: Object::Login,
                reason,
            },
        ),
        (busy, Error::unavailable(Object::Login, busy)),
    ] {
        let attempt = begin(&provider, &client, |_| {}).await.unwrap();
        let callback = Callback {
            error: Some(code.to_owned()),
            ..callback(&attempt)
        };
        let result = client.finish(attempt, &callback).await;
        assert_eq!(result.err(), Some(expected));
        assert_eq!(provider.count("POST /token"), 0);
    }
}

#[tokio::test]
async fn a_configuration_with_unsafe_endpoints_is_not_accepted() {
    let cases: &[(&str, &str, Check)] = &[
        ("issuer", "https://other", Check::ConfiguredIssuer),
        (
            "token_endpoint",
            "http://127.0.0.1/token",
            Check::Endpoint("token_endpoint"),
        ),
        (
            "jwks_uri",
            "http://127.0.0.1/keys",
            Check::Endpoint("jwks_uri"),
        ),
        (
            "end_session_endpoint",
            "javascript:alert(1)",
            Check::Endpoint("end_session_endpoint"),
        ),
        (
            "authorization_endpoint",
            "https://user@127.0.0.1/",
            Check::Endpoint("authorization_endpoint"),
        ),
    ];
    for (field, url, check) in cases {
        let bend = |answers: &mut Answers| answers.discovery[*field] = (*url).into();
        let result = log_in_with(Signer::Curve, bend).await;
        assert_eq!(result.err(), Some(unacceptable(*check)), "{field}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_one_can_be_tried_again() {
    let configuration = "/.well-known/openid-configuration";
    let large: Bend = |answers| answers.keys = json!({ "keys": vec![json!({}); 101] });
    let expected = Error::unavailable(Object::Keys, "there are more than 100");
    assert_eq!(
        log_in_with(Signer::Curve, large).await.err(),
        Some(expected)
    );
    for (path, object) in [
        (configuration, Object::Configuration),
        ("/keys", Object::Keys),
        ("/token", Object::Tokens),
    ] {
        let provider = TestProvider::start(Signer::Curve).await;
        let client = client(&provider);
        let raws: [(fn() -> _, &str); 5] = [
            (redirection, "it answered with the HTTP status 307"),
            (endless, "the answer has more than 1 MiB"),
            (
                || "<html>".into_response(),
                "the answer is not as expected at line 1, column 1",
            ),
            (
                || (StatusCode::BAD_GATEWAY, "{}").into_response(),
                "it answered with the HTTP status 502",
            ),
            (
                || (StatusCode::FORBIDDEN, "{}").into_response(),
                "it answered with the HTTP status 403",
            ),
        ];
        for (raw, cause) in raws {
            let bend = |answers: &mut Answers| answers.raw = Some((path, raw));
            let error = log_in(&provider, &client, bend).await.unwrap_err();
            assert_eq!(error, Error::unavailable(object, cause), "{path}");
        }
        log_in(&provider, &client, |answers| answers.raw = None)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn an_answer_must_be_complete_in_time() {
    let provider = TestProvider::start(Signer::Curve).await;
    let limit = Duration::from_secs(1);
    let client = Provider::with_time_limit(settings(&provider), clock, limit).unwrap();
    let bend = |answers: &mut Answers| answers.raw = Some(("/token", slow));
    let error = log_in(&provider, &client, bend).await.unwrap_err();
    let expected = Error::unavailable(Object::Tokens, "it did not answer in time");
    assert_eq!(error, expected);
}

#[tokio::test]
async fn only_the_configured_authority_is_trusted() {
    let provider = TestProvider::start(Signer::Curve).await;
    let settings = Settings {
        ca: None,
        ..settings(&provider)
    };
    let client = Provider::new(settings, clock).unwrap();
    let error = client.begin().await.unwrap_err().to_string();
    let start = "cannot get the configuration from the identity provider: ";
    assert!(
        error.starts_with(start) && error.contains("UnknownIssuer"),
        "{error}"
    );
    assert_eq!(provider.count(""), 0);
}

#[tokio::test]
async fn a_refusal_shows_a_short_text_without_secrets() {
    let provider = TestProvider::start(Signer::Curve).await;
    let client = client(&provider);
    let attempt = begin(&provider, &client, |_| {}).await.unwrap();
    let mut used = callback(&attempt);
    used.code = Some("used".to_owned());
    let error = client.finish(attempt, &used).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot get tokens from the identity provider: it refused with invalid_grant: expired[2J"
    );
    let raws: [(fn() -> _, usize, &str); 3] = [
        (
            || refuse("invalid_client", "s3:cret/ is wrong"),
            0,
            "invalid_client",
        ),
        (|| refuse("code-1", "code-1"), 0, "an error"),
        (|| refuse("x", &"é".repeat(400)), 300, "x: éé"),
    ];
    for (raw, length, start) in raws {
        let bend = |answers: &mut Answers| answers.raw = Some(("/token", raw));
        let error = log_in(&provider, &client, bend).await.unwrap_err();
        let Error::Refused { reason, .. } = error else {
            panic!("{error}");
        };
        assert!(reason.starts_with(start), "{reason}");
        let expected = if length == 0 { start.len() } else { length };
        assert_eq!(reason.chars().count(), expected, "{reason}");
    }
}

fn refuse(error: &str, description: &str) -> axum::response::Response {
    let body = json!({ "error": error, "error_description": description });
    (StatusCode::UNAUTHORIZED, body.to_string()).into_response()
}

#[tokio::test]
async fn new_keys_are_fetched_when_they_are_used() {
    let provider = TestProvider::start(Signer::Curve).await;
    let client = client(&provider);
    log_in(&provider, &client, |_| {}).await.unwrap();
    let rotate: Bend = |answers| {
        sign(answers, Signer::Rsa);
        answers.header["kid"] = "2".into();
        answers.keys = json!({ "keys": [Signer::Curve.jwk(), Signer::Rsa.jwk()] });
        answers.keys["keys"][1]["kid"] = "2".into();
    };
    NOW.set(START + 9);
    let result = log_in(&provider, &client, rotate).await;
    assert_eq!(result.err(), Some(unacceptable(Check::UnknownKey)));
    assert_eq!(provider.count("GET /keys"), 1);
    NOW.set(START + 10);
    log_in(&provider, &client, rotate).await.unwrap();
    log_in(&provider, &client, rotate).await.unwrap();
    assert_eq!(provider.count("GET /keys"), 2);
}

#[tokio::test]
async fn the_configuration_and_the_keys_are_fetched_again_after_an_hour() {
    let provider = TestProvider::start(Signer::Curve).await;
    let client = client(&provider);
    for (wait, count) in [(0, 1), (3599, 1), (3600, 2), (0, 3)] {
        NOW.set(START + wait);
        let bend = |answers: &mut Answers| answers.claims["exp"] = (START + 9999).into();
        log_in(&provider, &client, bend).await.unwrap();
        assert_eq!(provider.count("GET /.well-known/"), count, "{wait}");
        assert_eq!(provider.count("GET /keys"), count, "{wait}");
    }
}

#[tokio::test]
async fn tokens_are_renewed_for_the_same_user_only() {
    let provider = TestProvider::start(Signer::Curve).await;
    let client = client(&provider);
    let tokens = log_in(&provider, &client, |_| {}).await.unwrap();
    let cases: &[(&str, Bend, Check)] = &[
        (
            "sub",
            |answers| answers.claims["sub"] = "id-2".into(),
            Check::Subject,
        ),
        (
            "iss",
            |answers| answers.claims["iss"] = "https://other".into(),
            Check::Issuer,
        ),
        (
            "nonce",
            |answers| answers.claims["nonce"] = "other".into(),
            Check::Nonce,
        ),
        (
            "aud",
            |answers| answers.claims["aud"] = "other".into(),
            Check::Audience,
        ),
        (
            "no ID token",
            |answers| answers.has_id_token = false,
            Check::NoIdToken,
        ),
    ];
    for (name, bend, check) in cases {
        let claims = provider.answers().claims.clone();
        bend(&mut provider.answers());
        let result = client.refresh(&tokens).await;
        assert_eq!(result.err(), Some(unacceptable(*check)), "{name}");
        let mut answers = provider.answers();
        answers.claims = claims;
        answers.has_id_token = true;
    }
    provider.answers().claims["nonce"] = Value::Null;
    provider.answers().claims["exp"] = (START + 900).into();
    provider.answers().tokens["refresh_token"] = Value::Null;
    let kept = client.refresh(&tokens).await.unwrap();
    assert_eq!(kept.refresh_token.as_deref(), Some("refresh-1"));
    assert_eq!(kept.expires, at(START + 900));
    provider.answers().tokens["refresh_token"] = "refresh-2".into();
    let rotated = client.refresh(&kept).await.unwrap();
    assert_eq!(rotated.refresh_token.as_deref(), Some("refresh-2"));
    let refused = client.refresh(&rotated).await.unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    let without = Tokens {
        refresh_token: None,
        ..tokens
    };
    let result = client.refresh(&without).await;
    assert_eq!(result.err(), Some(unacceptable(Check::NoRefreshToken)));
}

#[tokio::test]
async fn the_client_secret_is_sent_as_the_provider_accepts_it() {
    let methods = "token_endpoint_auth_methods_supported";
    let header = "POST /token Basic Y29uc29sZTpzMyUzQWNyZXQlMkY= grant_type=";
    for (supported, secret, start, end) in [
        (Value::Null, true, header, ""),
        (
            json!(["client_secret_post", "client_secret_basic"]),
            true,
            header,
            "",
        ),
        (
            json!(["client_secret_post"]),
            true,
            "POST /token  grant_type=",
            "&client_id=console&client_secret=s3%3Acret%2F",
        ),
        (
            json!(["none"]),
            false,
            "POST /token  grant_type=",
            "&client_id=console",
        ),
    ] {
        let provider = TestProvider::start(Signer::Curve).await;
        provider.answers().discovery[methods] = supported;
        let mut settings = settings(&provider);
        settings.client_secret = settings.client_secret.filter(|_| secret);
        let client = Provider::new(settings, clock).unwrap();
        log_in(&provider, &client, |_| {}).await.unwrap();
        let requests = provider.answers().requests.clone();
        let request = requests.iter().find(|request| request.starts_with("POST"));
        let request = request.unwrap();
        assert!(
            request.starts_with(start) && request.ends_with(end),
            "{request}"
        );
        assert_eq!(request.contains("client_"), !end.is_empty(), "{request}");
    }
    let neither = |answers: &mut Answers| answers.discovery[methods] = json!(["private_key_jwt"]);
    let result = log_in_with(Signer::Curve, neither).await;
    assert_eq!(
        result.err(),
        Some(unacceptable(Check::ClientAuthentication))
    );
}

#[tokio::test]
async fn a_logout_leads_to_the_provider_without_the_id_token() {
    let provider = TestProvider::start(Signer::Curve).await;
    let client = client(&provider);
    let back = "https://console.example.com/";
    assert_eq!(client.end_session_url(back), None);
    client.begin().await.unwrap();
    let end =
        "/end?client_id=console&post_logout_redirect_uri=https%3A%2F%2Fconsole.example.com%2F";
    let url = format!("{}{end}", provider.issuer);
    assert_eq!(client.end_session_url(back), Some(url));
}

#[tokio::test]
async fn debug_output_shows_no_secret() {
    let provider = TestProvider::start(Signer::Curve).await;
    let client = client(&provider);
    let request = client.begin().await.unwrap();
    let attempt = begin(&provider, &client, |_| {}).await.unwrap();
    let callback = callback(&attempt);
    let (state, verifier) = (attempt.state.clone(), attempt.verifier.clone());
    let shown = format!("{client:?} {attempt:?} {callback:?} {:?}", request.attempt);
    let tokens = client.finish(attempt, &callback).await.unwrap();
    let shown = format!("{shown} {tokens:?}");
    assert!(shown.contains("ana@example.com"), "{shown}");
    for secret in [
        "s3:cret",
        "code-1",
        "refresh-1",
        &state,
        &verifier,
        &tokens.id_token,
    ] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[test]
fn settings_that_cannot_be_used_are_refused_without_a_request() {
    let good = || Settings {
        issuer: "https://login.example.com/realm/".to_owned(),
        client_id: "console".to_owned(),
        client_secret: None,
        redirect_uri: "http://127.0.0.1:8440/auth/callback".to_owned(),
        ca: None,
    };
    let url = good().configuration_url().unwrap();
    let expected = "https://login.example.com/realm/.well-known/openid-configuration";
    assert_eq!(url.as_str(), expected);
    let refused = |settings| Provider::new(settings, clock).unwrap_err();
    for issuer in ["http://a", "a", "https://a?b", "https://a#b", "https://b@a"] {
        let settings = Settings {
            issuer: issuer.to_owned(),
            ..good()
        };
        assert_eq!(refused(settings), SettingsError::Issuer, "{issuer}");
    }
    for uri in ["http://a/", "/auth/callback", "https://a#b"] {
        let settings = Settings {
            redirect_uri: uri.to_owned(),
            ..good()
        };
        assert_eq!(refused(settings), SettingsError::RedirectUri, "{uri}");
    }
    let settings = Settings {
        client_id: String::new(),
        ..good()
    };
    assert_eq!(refused(settings), SettingsError::ClientId);
    let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for ca in ["", "not pem", empty] {
        let settings = Settings {
            ca: Some(ca.into()),
            ..good()
        };
        assert_eq!(refused(settings), SettingsError::Authority, "{ca}");
    }
}
