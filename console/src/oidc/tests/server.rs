//! An identity provider on a loopback address, whose answers a test can bend ([`TestProvider`]).

use std::collections::HashMap;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, LOCATION};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::START;
use crate::connection::{Certificate, accept};
use crate::secret;

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Keys that are created once for all tests.
pub(crate) struct TestKeys {
    /// The certificate of the server and its key.
    pub(crate) server: Vec<u8>,
    pub(crate) rsa: Vec<u8>,
    rsa_small: Vec<u8>,
    curve: Vec<u8>,
}

pub(crate) static KEYS: LazyLock<TestKeys> = LazyLock::new(|| {
    let rsa = |bits: u32| {
        openssl(&format!(
            "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:{bits}"
        ))
    };
    let random = SystemRandom::new();
    let curve = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
    TestKeys {
        server: openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout - -subj /CN=test -days 2 -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE",
        ),
        rsa: rsa(2048),
        rsa_small: rsa(1024),
        curve: curve.unwrap().as_ref().to_vec(),
    }
});

fn openssl(arguments: &str) -> Vec<u8> {
    let arguments = arguments.split(' ');
    let run = Command::new("openssl").args(arguments).output().unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    run.stdout
}

/// Runs openssl with a private key in a file.
fn openssl_with_key(arguments: &str, key: &[u8], input: &str) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("key"), key).unwrap();
    std::fs::write(path("input"), input).unwrap();
    let arguments = arguments.replace("KEY", &path("key"));
    openssl(&arguments.replace("INPUT", &path("input")))
}

/// The key that signs ID tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Signer {
    Rsa,
    SmallRsa,
    Curve,
    /// HMAC with the public RSA key as the secret.
    Hmac,
    Nothing,
}

impl Signer {
    pub(crate) fn algorithm(self) -> &'static str {
        match self {
            Self::Rsa | Self::SmallRsa => "RS256",
            Self::Curve => "ES256",
            Self::Hmac => "HS256",
            Self::Nothing => "none",
        }
    }

    /// Returns the public key in the form of JSON.
    pub(crate) fn jwk(self) -> Value {
        if self == Self::Curve {
            let random = SystemRandom::new();
            let key =
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &KEYS.curve, &random);
            let point = key.unwrap().public_key().as_ref().to_vec();
            let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
            return json!({ "kty": "EC", "crv": "P-256", "kid": "1", "x": x, "y": y });
        }
        let modulus = match self {
            Self::SmallRsa => small_modulus(),
            _ => RsaPublicKeyComponents::from(rsa_key().public()).n,
        };
        json!({ "kty": "RSA", "kid": "1", "use": "sig", "n": encode(modulus), "e": "AQAB" })
    }

    fn sign(self, text: &str) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa => {
                let key = rsa_key();
                let mut signature = vec![0; key.public().modulus_len()];
                let signed = key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature);
                signed.unwrap();
                signature
            }
            Self::SmallRsa => {
                openssl_with_key("dgst -sha256 -sign KEY INPUT", &KEYS.rsa_small, text)
            }
            Self::Curve => {
                let scheme = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let key = EcdsaKeyPair::from_pkcs8(scheme, &KEYS.curve, &random).unwrap();
                key.sign(&random, text.as_bytes())
                    .unwrap()
                    .as_ref()
                    .to_vec()
            }
            Self::Hmac => {
                let public = Self::Rsa.jwk().to_string();
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public.as_bytes());
                ring::hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
            }
            Self::Nothing => Vec::new(),
        }
    }
}

fn rsa_key() -> RsaKeyPair {
    let der = PrivateKeyDer::from_pem_slice(&KEYS.rsa).unwrap();
    RsaKeyPair::from_pkcs8(der.secret_der()).unwrap()
}

/// Returns the modulus of the RSA key that ring does not use because it is too small.
fn small_modulus() -> Vec<u8> {
    let shown = openssl_with_key("rsa -noout -modulus -in KEY", &KEYS.rsa_small, "");
    let shown = String::from_utf8(shown).unwrap();
    let hex = shown.trim().strip_prefix("Modulus=").unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Returns an answer.
pub(crate) type RawAnswer = fn() -> Response;

/// The answers of the provider. A test changes some of them.
pub(crate) struct Answers {
    pub(crate) discovery: Value,
    pub(crate) keys: Value,
    pub(crate) header: Value,
    pub(crate) claims: Value,
    /// The answer with the tokens, without the ID token.
    pub(crate) tokens: Value,
    pub(crate) signer: Signer,
    pub(crate) has_id_token: bool,
    /// The raw answer at a path, instead of the usual one.
    pub(crate) raw: Option<(&'static str, RawAnswer)>,
    /// The challenge of the login.
    pub(crate) challenge: String,
    /// The requests so far: method, path, login and body.
    pub(crate) requests: Vec<String>,
}

/// An identity provider on a loopback address.
#[derive(Clone)]
pub(crate) struct TestProvider {
    pub(crate) issuer: String,
    answers: Arc<Mutex<Answers>>,
}

impl TestProvider {
    /// Starts a provider that answers correctly.
    pub(crate) async fn start(signer: Signer) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("https://{}", tcp.local_addr().unwrap());
        let answers = Answers {
            discovery: json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "jwks_uri": format!("{issuer}/keys"),
                "end_session_endpoint": format!("{issuer}/end"),
            }),
            keys: json!({ "keys": [signer.jwk()] }),
            header: json!({ "alg": signer.algorithm(), "kid": "1" }),
            claims: json!({
                "iss": issuer, "sub": "id-1", "aud": "console", "iat": START, "exp": START + 300,
                "email": "ana@example.com", "groups": ["admins", "operators"],
            }),
            tokens: json!({ "token_type": "Bearer", "access_token": "a", "refresh_token": "refresh-1" }),
            signer,
            has_id_token: true,
            raw: None,
            challenge: String::new(),
            requests: Vec::new(),
        };
        let answers = Arc::new(Mutex::new(answers));
        let provider = Self { issuer, answers };
        let router = Router::new().fallback(answer).with_state(provider.clone());
        let certificate = Certificate::new(Arc::new(server_config()), || None);
        tokio::spawn(accept(tcp, Some(certificate), router));
        provider
    }

    /// Gives tokens for the login that begins at this URL, which it returns as its query.
    pub(crate) fn expect(&self, url: &str) -> HashMap<String, String> {
        let url = reqwest::Url::parse(url).unwrap();
        let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
        let mut answers = self.answers();
        answers.claims["nonce"] = query["nonce"].clone().into();
        answers.challenge.clone_from(&query["code_challenge"]);
        query
    }

    pub(crate) fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap()
    }

    /// Returns the number of requests whose text begins so.
    pub(crate) fn count(&self, start: &str) -> usize {
        let answers = self.answers();
        let requests = answers.requests.iter();
        requests
            .filter(|request| request.starts_with(start))
            .count()
    }
}

impl Answers {
    fn id_token(&self) -> String {
        let [header, claims] = [&self.header, &self.claims].map(|part| encode(part.to_string()));
        let text = format!("{header}.{claims}");
        let signature = encode(self.signer.sign(&text));
        format!("{text}.{signature}")
    }

    fn token_answer(&self, body: &str) -> Response {
        let fields: HashMap<_, _> = form_urlencoded::parse(body.as_bytes())
            .into_owned()
            .collect();
        let challenge = |verifier: &String| encode(secret::digest(verifier));
        let is_valid = match fields["grant_type"].as_str() {
            "authorization_code" => {
                fields["code"] == "code-1"
                    && fields["redirect_uri"] == super::REDIRECT
                    && fields.get("code_verifier").map(challenge).as_ref() == Some(&self.challenge)
            }
            _ => fields["refresh_token"] == "refresh-1",
        };
        if !is_valid {
            let error =
                json!({ "error": "invalid_grant", "error_description": "expired\n\u{1b}[2J" });
            return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
        }
        let mut tokens = self.tokens.clone();
        if self.has_id_token {
            tokens["id_token"] = self.id_token().into();
        }
        tokens.to_string().into_response()
    }
}

async fn answer(State(provider): State<TestProvider>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1024 * 1024).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    let path = parts.uri.path();
    let login = parts.headers.get(AUTHORIZATION);
    let login = login.map_or("", |value| value.to_str().unwrap());
    let mut answers = provider.answers();
    let request = format!("{} {path} {login} {body}", parts.method);
    answers.requests.push(request);
    if let Some((_, raw)) = answers.raw.filter(|(bent, _)| *bent == path) {
        return raw();
    }
    match (parts.method, path) {
        (Method::GET, "/.well-known/openid-configuration") => {
            answers.discovery.to_string().into_response()
        }
        (Method::GET, "/keys") => answers.keys.to_string().into_response(),
        (Method::POST, "/token") => answers.token_answer(&body),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Redirects to a path that would answer correctly.
pub(crate) fn redirection() -> Response {
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "/keys")]).into_response()
}

/// Sends spaces without end.
pub(crate) fn endless() -> Response {
    let chunks = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 64 * 1024]));
    Body::from_stream(chunks).into_response()
}

/// Sends a byte from time to time for three seconds.
pub(crate) fn slow() -> Response {
    let chunks = futures::stream::unfold(0, async |sent| {
        tokio::time::sleep(Duration::from_millis(50)).await;
        (sent < 60).then(|| (Ok::<_, std::io::Error>(" "), sent + 1))
    });
    Body::from_stream(chunks).into_response()
}

/// Returns the TLS configuration of a server on a loopback address.
pub(crate) fn server_config() -> ServerConfig {
    let certificate = CertificateDer::from_pem_slice(&KEYS.server).unwrap();
    let key = PrivateKeyDer::from_pem_slice(&KEYS.server).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    config.with_single_cert(vec![certificate], key).unwrap()
}
