//! Dex as the identity provider of the cluster: its configuration, a browser's login, and its tokens at the API server.
//!
//! Dex stores its keys and refresh tokens in the etcd of the cluster. If it had new keys after each start, the API server
//! would refuse its tokens for up to ten minutes, because it caches the old keys for that long.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::common::{Answer, Desk};
use crate::curl::{self, Reply};
use crate::site::{Site, assert_contains, eventually, variable};

/// The client of the console. The API server accepts only tokens for it.
pub(crate) const CLIENT: &str = "solution-console";

/// The secret of the client.
pub(crate) const SECRET: &str = "console-secret";

/// The port of the issuer that the API server knows.
pub(crate) const KNOWN_PORT: u16 = 5556;

/// A user in the group `site-admins`.
pub(crate) const ADMIN: &str = "admin@site.test";

/// A user in no group.
pub(crate) const VIEWER: &str = "viewer@site.test";

/// The password of both users, and its bcrypt hash with the lowest cost that Dex accepts.
const PASSWORD: &str = "password";
const PASSWORD_HASH: &str = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W";

/// The settings of Dex that a test chooses.
pub(crate) struct DexConfig<'a> {
    /// The port of the issuer, [`KNOWN_PORT`] or another one, whose tokens the API server refuses.
    pub(crate) port: u16,
    pub(crate) redirect_uri: &'a str,
    /// The lifetime of ID tokens, such as `20s`.
    pub(crate) id_tokens: &'a str,
}

/// A Dex in the network of the sandbox, until it is dropped.
pub(crate) struct Dex {
    /// The configuration, the log and the cookies of requests that no browser sends.
    desk: Desk,
    issuer: String,
    process: Child,
}

impl Drop for Dex {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Dex {
    /// Starts Dex, and waits until it answers.
    pub(crate) fn start(config: &DexConfig<'_>) -> Self {
        let desk = Desk::new();
        let known = format!(":{KNOWN_PORT}/");
        let port = format!(":{}/", config.port);
        let issuer = variable("SOLUTION_TEST_ISSUER").replace(&known, &port);
        desk.write("dex.json", configuration(&issuer, config).to_string());
        let process = spawn(&desk);
        let mut dex = Self {
            desk,
            issuer,
            process,
        };
        dex.wait_until_ready();
        dex
    }

    /// Ends Dex. Without it, nobody can log in or refresh a token.
    pub(crate) fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts Dex again, with the same configuration, keys and refresh tokens.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.process = spawn(&self.desk);
        self.wait_until_ready();
    }

    fn wait_until_ready(&mut self) {
        eventually("Dex answers", || {
            let ended = self.process.try_wait().unwrap();
            let log = || String::from_utf8(self.desk.read("dex.log")).unwrap();
            assert!(ended.is_none(), "{}", log());
            let discovery = format!("{}/.well-known/openid-configuration", self.issuer);
            self.fetch(&discovery, &[])
                .filter(|reply| reply.status == "200")
        });
    }

    /// Waits until the API server accepts tokens. It looks for its issuer every ten seconds, until it has found it once.
    pub(crate) fn wait_until_trusted(&self) {
        eventually("the API server accepts tokens", || {
            self.is_accepted(&self.issue_token()).then_some(())
        });
    }

    /// Waits until a token that is issued now has expired.
    pub(crate) fn wait_until_expired(&self) {
        let token = self.issue_token();
        assert!(self.is_accepted(&token));
        eventually("the token has expired", || {
            (!self.is_accepted(&token)).then_some(())
        });
    }

    /// Returns a new ID token of a user.
    fn issue_token(&self) -> String {
        let username = format!("username={VIEWER}");
        let password = format!("password={PASSWORD}");
        let grant = [
            "grant_type=password",
            "scope=openid email",
            &username,
            &password,
        ];
        let tokens = tokens(&self.request_tokens(&grant));
        tokens["id_token"].as_str().unwrap().to_owned()
    }

    /// Returns true if the API server accepts a token.
    fn is_accepted(&self, token: &str) -> bool {
        let ca = pki("cluster-ca.crt");
        let header = format!("Authorization: Bearer {token}");
        let arguments = ["--cacert", ca.to_str().unwrap(), "--header", &header];
        let version = "https://127.0.0.1/version";
        let reply = curl::fetch(version, &self.desk.path("cookies"), &arguments);
        reply.status == "200"
    }

    /// Returns the URL of the issuer.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Logs a user in as a browser does, with its cookies, beginning at the URL of an authorization request. Returns the
    /// redirection to the client, without following it.
    #[track_caller]
    pub(crate) fn log_in(&self, jar: &Path, authorization: &str, user: &str) -> String {
        let (place, form) = self.open(jar, authorization, &[]);
        let action = form.body.split_once("<form method=\"post\" action=\"");
        let action = action.and_then(|(_, rest)| rest.split_once('"'));
        let (action, _) = action.unwrap_or_else(|| panic!("no form: {form:?}"));
        let origin = &place[..place.find("/dex/").unwrap()];
        let action = format!("{origin}{}", action.replace("&amp;", "&"));
        let fields = [format!("login={user}"), format!("password={PASSWORD}")];
        let fields = fields.iter().flat_map(|field| ["--data-urlencode", field]);
        let (_, reply) = self.open(jar, &action, &fields.collect::<Vec<_>>());
        assert_ne!(reply.location, "", "the login failed: {reply:?}");
        reply.location
    }

    /// Sends a request of a browser, follows redirections inside Dex, and returns the last URL and its reply.
    #[track_caller]
    fn open(&self, jar: &Path, url: &str, form: &[&str]) -> (String, Reply) {
        let ca = ca_file();
        let trust = ["--cacert", ca.to_str().unwrap()];
        let mut place = url.to_owned();
        let mut reply = curl::fetch(url, jar, &[&trust, form].concat());
        while reply.location.starts_with(&self.issuer) {
            place = reply.location;
            reply = curl::fetch(&place, jar, &trust);
        }
        (place, reply)
    }

    /// Sends a request to the token endpoint, as the client.
    pub(crate) fn request_tokens(&self, grant: &[&str]) -> Reply {
        let client = format!("{CLIENT}:{SECRET}");
        let fields = grant.iter().flat_map(|field| ["--data-urlencode", field]);
        let arguments: Vec<&str> = ["--user", &client].into_iter().chain(fields).collect();
        let reply = self.fetch(&format!("{}/token", self.issuer), &arguments);
        reply.expect("Dex answers")
    }

    /// Sends a request that no browser sends. Returns `None` if Dex does not answer.
    fn fetch(&self, url: &str, arguments: &[&str]) -> Option<Reply> {
        let ca = ca_file();
        let trust = ["--cacert", ca.to_str().unwrap()];
        let arguments = [&trust, arguments].concat();
        curl::try_fetch(url, &self.desk.path("cookies"), &arguments).ok()
    }
}

/// Returns the tokens of a reply from the token endpoint.
#[track_caller]
pub(crate) fn tokens(reply: &Reply) -> Value {
    assert_eq!(reply.status, "200", "{reply:?}");
    serde_json::from_str(&reply.body).unwrap()
}

/// Returns the certificate of the authority that clients of Dex must trust.
pub(crate) fn ca_file() -> PathBuf {
    pki("dex-ca.crt")
}

/// Returns a file of the cluster's certificates and keys.
pub(crate) fn pki(name: &str) -> PathBuf {
    let cluster = PathBuf::from(variable("SOLUTION_TEST_CLUSTER_DIR"));
    cluster.join("pki").join(name)
}

fn spawn(desk: &Desk) -> Child {
    let program = variable("SOLUTION_TEST_DEX");
    let log = File::create(desk.path("dex.log")).unwrap();
    Command::new(&program)
        .arg("serve")
        .arg(desk.path("dex.json"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}: run tests/cluster/install"))
}

/// Returns the configuration of Dex. Each issuer has its own part of the cluster's etcd.
fn configuration(issuer: &str, config: &DexConfig<'_>) -> Value {
    let address = issuer.strip_prefix("https://").unwrap();
    let address = address.strip_suffix("/dex").unwrap();
    let user = |email: &str, groups: &[&str]| {
        let (name, _) = email.split_once('@').unwrap();
        json!({"email": email, "hash": PASSWORD_HASH, "username": name, "userID": name, "groups": groups})
    };
    let client = json!({"id": CLIENT, "secret": SECRET, "name": CLIENT, "redirectURIs": [config.redirect_uri]});
    let namespace = format!("dex/{}/", config.port);
    json!({
        "issuer": issuer,
        "storage": {"type": "etcd", "config": {"endpoints": ["http://127.0.0.1:2379"], "namespace": namespace}},
        "web": {"https": address, "tlsCert": pki("dex.crt"), "tlsKey": pki("dex.key")},
        "expiry": {"idTokens": config.id_tokens},
        "oauth2": {"skipApprovalScreen": true, "passwordConnector": "local"},
        "enablePasswordDB": true,
        "staticPasswords": [user(ADMIN, &["site-admins"]), user(VIEWER, &[])],
        "staticClients": [client],
    })
}

/// The redirect URI of the test. Nothing answers there.
const REDIRECT: &str = "http://127.0.0.1:1/auth/callback";

/// The secret of an authorization request, from which PKCE derives its challenge.
const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters";

/// Logs a user in as a browser does, and returns the tokens for the code.
fn authorize(dex: &Dex, jar: &Path, user: &str) -> Value {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let authorization = format!(
        "{}/auth?client_id={CLIENT}&redirect_uri={REDIRECT}&response_type=code&scope=openid+email+groups+offline_access\
         &state=a-state&code_challenge={challenge}&code_challenge_method=S256",
        dex.issuer()
    );
    let exchange = |verifier: &str| {
        let callback = dex.log_in(jar, &authorization, user);
        let query = callback.strip_prefix(REDIRECT).unwrap();
        assert_contains(query, &["state=a-state"]);
        let (_, code) = query.split_once("code=").unwrap();
        let (code, _) = code.split_once('&').unwrap_or((code, ""));
        let code = format!("code={code}");
        let redirect = format!("redirect_uri={REDIRECT}");
        let verifier = format!("code_verifier={verifier}");
        dex.request_tokens(&["grant_type=authorization_code", &code, &redirect, &verifier])
    };
    assert_eq!(exchange("another-verifier").status, "400");
    tokens(&exchange(VERIFIER))
}

/// Exchanges a refresh token.
fn refresh(dex: &Dex, tokens: &Value) -> Reply {
    let token = tokens["refresh_token"].as_str().unwrap();
    let token = format!("refresh_token={token}");
    dex.request_tokens(&["grant_type=refresh_token", &token])
}

/// Runs kubectl in the namespace `dex` with an ID token.
fn kubectl(site: &Site, tokens: &Value, arguments: &[&str]) -> Answer {
    let token = tokens["id_token"].as_str().unwrap();
    let config = site.kubeconfig_with_token("oidc", token);
    site.kubectl("dex", &[&["--kubeconfig", &config], arguments].concat())
}

#[test]
fn the_api_server_knows_the_users_of_dex_and_of_no_other_issuer() {
    let start = |port: u16| {
        Dex::start(&DexConfig {
            port,
            redirect_uri: REDIRECT,
            id_tokens: "10m",
        })
    };
    let mut dex = start(KNOWN_PORT);
    let site = Site::new("dex");
    let jar = site.desk.path("cookies");
    dex.wait_until_trusted();
    let admin = authorize(&dex, &jar, ADMIN);
    let whoami = ["auth", "whoami", "--output=json"];
    let user = kubectl(&site, &admin, &whoami).json()["status"]["userInfo"].clone();
    assert_eq!(user["username"], "oidc:admin@site.test");
    assert_eq!(
        user["groups"],
        json!(["oidc:site-admins", "system:authenticated"])
    );

    let get = ["get", "configmaps"];
    let create = ["create", "namespace", "dex"];
    site.kubectl("default", &create).success();
    assert_contains(&kubectl(&site, &admin, &get).failure(1), &["Forbidden"]);
    let bind = [
        "create",
        "rolebinding",
        "dex",
        "--clusterrole=view",
        "--group=oidc:site-admins",
    ];
    site.kubectl("dex", &bind).success();
    eventually("the group may read", || {
        (kubectl(&site, &admin, &get).code == 0).then_some(())
    });
    let viewer = authorize(&dex, &jar, VIEWER);
    assert_contains(
        &kubectl(&site, &viewer, &get).failure(1),
        &["Forbidden", VIEWER],
    );

    let other = start(KNOWN_PORT + 1);
    let stranger = authorize(&other, &jar, ADMIN);
    assert_contains(
        &kubectl(&site, &stranger, &get).failure(1),
        &["Unauthorized"],
    );

    dex.stop();
    assert!(curl::try_fetch(dex.issuer(), &jar, &["--insecure"]).is_err());
    kubectl(&site, &admin, &get).success();
    dex.restart();
    let refreshed = tokens(&refresh(&dex, &admin));
    assert_ne!(refreshed["id_token"], admin["id_token"]);
    assert_ne!(refreshed["refresh_token"], admin["refresh_token"]);
    kubectl(&site, &refreshed, &get).success();
}
