//! Logins, as docker's `config.json` and podman's `auth.json` keep them.
//!
//! The caller says which file; nothing is looked for. Entries are matched by the longest key that is the registry's
//! address or a path prefix of it, as podman does (containers-auth.json(5)); a credential helper named for the host
//! wins over an entry, as docker does.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use crate::address::{DOCKER_HUB, RegistryAddress};
use crate::limits;

/// A password or token. It has no text form, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password or token.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, to be sent or stored where it belongs and to be shown nowhere.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// How to log in to one registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Without a login.
    Anonymous,
    /// With a user name and a password, directly or at a token server.
    Password {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// With an `OAuth2` refresh token at a token server (`identitytoken`).
    IdentityToken(Secret),
    /// With a token that the registry takes as it is (`registrytoken`).
    RegistryToken(Secret),
}

/// Why a login file or helper gives no credentials. No message repeats what a file or helper contains.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file is longer than any real one.
    #[error("login file is longer than {max} bytes", max = limits::CREDENTIALS_FILE)]
    TooLong,
    /// The file is not the JSON that docker and podman write.
    #[error("login file is not valid: line {line}, column {column}")]
    Malformed {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// An `auth` entry is not base64 of `user:password`.
    #[error("login file has an entry for `{key}` that is not base64 of `user:password`")]
    Entry {
        /// The entry's key.
        key: String,
    },
    /// The helper's name is not one word.
    #[error("login file names a credential helper with the invalid name `{0}`")]
    HelperName(String),
    /// The helper could not be run.
    #[error("could not run credential helper `{program}`")]
    Helper {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// The helper ran and failed, or its answer makes no sense.
    #[error("credential helper `{program}` gave no usable answer for `{key}`")]
    HelperAnswer {
        /// The program.
        program: String,
        /// What it was asked for.
        key: String,
    },
}

#[derive(Deserialize)]
struct LoginFile {
    #[serde(default)]
    auths: BTreeMap<String, Login>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Login {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// A docker `config.json` or podman `auth.json`.
pub struct Logins {
    file: LoginFile,
    /// What helpers have answered, by their name and the key: each is asked once, since it may take its time.
    answers: Mutex<HashMap<(String, String), Option<Credentials>>>,
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}

impl Logins {
    /// Reads the bytes of such a file.
    pub fn from_slice(config: &[u8]) -> Result<Self, CredentialsError> {
        if config.len() > limits::CREDENTIALS_FILE {
            return Err(CredentialsError::TooLong);
        }
        // The JSON library's own message can quote the file, so only the place is kept.
        let file = serde_json::from_slice(config).map_err(|error| CredentialsError::Malformed {
            line: error.line(),
            column: error.column(),
        })?;
        Ok(Self {
            file,
            answers: Mutex::default(),
        })
    }

    /// The credentials for a registry; `None` if the file holds none. May run a credential helper
    /// (`docker-credential-NAME`) and wait for it.
    pub fn find(&self, address: &RegistryAddress) -> Result<Option<Credentials>, CredentialsError> {
        let file = &self.file;
        if let Some((key, helper)) = longest_match(&file.helpers, address)
            && let Some(found) = self.ask(helper, key)?
        {
            return Ok(Some(found));
        }
        if let Some((key, entry)) = longest_match(&file.auths, address)
            && let Some(found) = entry.credentials(key)?
        {
            return Ok(Some(found));
        }
        match &file.store {
            Some(store) if !store.is_empty() => self.ask(store, helper_key(address)),
            _ => Ok(None),
        }
    }

    fn ask(&self, helper: &str, key: &str) -> Result<Option<Credentials>, CredentialsError> {
        let asked = (helper.to_owned(), key.to_owned());
        let mut answers = self.answers.lock().expect("no panic while held");
        if let Some(known) = answers.get(&asked) {
            return Ok(known.clone());
        }
        let answer = ask_helper(helper, key)?;
        answers.insert(asked, answer.clone());
        Ok(answer)
    }
}

impl Credentials {
    /// The credentials that the bytes of a docker `config.json` or podman `auth.json` hold for a registry; `None`
    /// if they hold none. May run a credential helper (`docker-credential-NAME`) and wait for it.
    pub fn from_config(
        config: &[u8],
        address: &RegistryAddress,
    ) -> Result<Option<Self>, CredentialsError> {
        Logins::from_slice(config)?.find(address)
    }
}

/// How docker names a registry to the helper that keeps all logins.
fn helper_key(address: &RegistryAddress) -> &str {
    match address.host() {
        DOCKER_HUB => "https://index.docker.io/v1/",
        host => host,
    }
}

impl Login {
    /// `None` for an empty entry: docker leaves one behind when a helper keeps the secret.
    fn credentials(&self, key: &str) -> Result<Option<Credentials>, CredentialsError> {
        let filled = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        if let Some(token) = filled(&self.registrytoken) {
            return Ok(Some(Credentials::RegistryToken(Secret(token))));
        }
        if let Some(token) = filled(&self.identitytoken) {
            return Ok(Some(Credentials::IdentityToken(Secret(token))));
        }
        if let Some(auth) = filled(&self.auth) {
            let refuse = || CredentialsError::Entry {
                key: key.to_owned(),
            };
            return decode_auth(&auth).ok_or_else(refuse).map(Some);
        }
        Ok(
            filled(&self.username).map(|username| Credentials::Password {
                username,
                password: Secret(self.password.clone().unwrap_or_default()),
            }),
        )
    }
}

fn decode_auth(text: &str) -> Option<Credentials> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let bytes = GeneralPurpose::new(&alphabet::STANDARD, config)
        .decode(text)
        .ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (username, password) = text.split_once(':')?;
    Some(Credentials::Password {
        username: username.to_owned(),
        // Old dockers padded the password with zero bytes.
        password: Secret(password.trim_end_matches('\0').to_owned()),
    })
}

/// The entry with the longest key that is the address or a path prefix of it.
fn longest_match<'a, T>(
    entries: &'a BTreeMap<String, T>,
    address: &RegistryAddress,
) -> Option<(&'a str, &'a T)> {
    let wanted = address.to_string();
    entries
        .iter()
        .filter(|(key, _)| {
            let key = normal_key(key);
            wanted
                .strip_prefix(key.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .max_by_key(|(key, _)| normal_key(key).len())
        .map(|(key, entry)| (key.as_str(), entry))
}

/// Docker also writes keys as URLs, with the API's version as path: `https://registry.example/v1/`; and Docker Hub by
/// the name of a host that it no longer is.
fn normal_key(key: &str) -> String {
    let bare = match key.split_once("://") {
        None => key.trim_end_matches('/'),
        Some((_, bare)) => {
            let bare = bare.trim_end_matches('/');
            bare.strip_suffix("/v1")
                .or_else(|| bare.strip_suffix("/v2"))
                .unwrap_or(bare)
        }
    };
    match bare.to_ascii_lowercase() {
        hub if hub == "index.docker.io" => DOCKER_HUB.to_owned(),
        bare => bare,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    username: String,
    secret: String,
}

/// Docker's protocol: the key on standard input, JSON on standard output; the user name `<token>` marks an identity
/// token. A helper that says it has nothing is not an error.
fn ask_helper(name: &str, key: &str) -> Result<Option<Credentials>, CredentialsError> {
    let one_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if name.is_empty() || !name.bytes().all(one_word) {
        return Err(CredentialsError::HelperName(
            name.chars().take(80).collect(),
        ));
    }
    ask_program(format!("docker-credential-{name}"), key)
}

fn ask_program(program: String, key: &str) -> Result<Option<Credentials>, CredentialsError> {
    let output = run_helper(&program, key).map_err(|source| CredentialsError::Helper {
        program: program.clone(),
        source,
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        if said.contains("credentials not found") {
            return Ok(None);
        }
        let key = key.to_owned();
        return Err(CredentialsError::HelperAnswer { program, key });
    }
    let answer: HelperAnswer =
        serde_json::from_slice(&output.stdout).map_err(|_| CredentialsError::HelperAnswer {
            program,
            key: key.to_owned(),
        })?;
    Ok(Some(match answer.username.as_str() {
        "<token>" => Credentials::IdentityToken(Secret(answer.secret)),
        _ => Credentials::Password {
            username: answer.username,
            password: Secret(answer.secret),
        },
    }))
}

fn run_helper(program: &str, key: &str) -> std::io::Result<std::process::Output> {
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A helper that does not read its input still answers, or fails by itself.
        let _ = input.write_all(key.as_bytes());
    }
    child.wait_with_output()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks a helper that is this shell script.
    fn ask_script(script: &str) -> Result<Option<Credentials>, CredentialsError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docker-credential-test");
        let path = path.to_str().unwrap();
        // Written by another process: a program that this one has open for writing, even in a thread's fork, cannot
        // be run.
        let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 755 "$1""#;
        let arguments = ["-c", write, "sh", path, script];
        assert!(
            Command::new("sh")
                .args(arguments)
                .status()
                .unwrap()
                .success()
        );
        ask_program(path.to_owned(), "r.example:5000")
    }

    #[test]
    fn helpers_are_asked_as_docker_does() {
        let script = r#"test "$1" = get && read -r key; echo "{\"ServerURL\":\"x\",\"Username\":\"$key\",\"Secret\":\"pass:word\"}""#;
        assert_eq!(ask_script(script).unwrap(), Some(user("r.example:5000")));
        let script = r#"echo '{"Username":"<token>","Secret":"T"}'"#;
        let token = Credentials::IdentityToken(Secret("T".to_owned()));
        assert_eq!(ask_script(script).unwrap(), Some(token));
        let none = "echo 'credentials not found in native keychain'; exit 1";
        assert_eq!(ask_script(none).unwrap(), None);
        for script in ["echo 'Secret: hunter2'", "echo hunter2; exit 1"] {
            let error = ask_script(script).unwrap_err();
            assert!(matches!(error, CredentialsError::HelperAnswer { .. }));
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }

    fn find(config: &str, address: &str) -> Option<Credentials> {
        Credentials::from_config(config.as_bytes(), &address.parse().unwrap()).unwrap()
    }

    fn user(name: &str) -> Credentials {
        Credentials::Password {
            username: name.to_owned(),
            password: Secret("pass:word".to_owned()),
        }
    }

    fn auth(name: &str) -> String {
        base64::engine::general_purpose::STANDARD.encode(format!("{name}:pass:word"))
    }

    #[test]
    fn the_longest_key_wins() {
        let config = format!(
            r#"{{"auths":{{"r.example":{{"auth":"{}"}},"r.example/team":{{"auth":"{}"}},"https://other.example:5000/v1/":{{"auth":"{}"}}}}}}"#,
            auth("host"),
            auth("team"),
            auth("url")
        );
        assert_eq!(find(&config, "r.example"), Some(user("host")));
        assert_eq!(find(&config, "r.example/team"), Some(user("team")));
        assert_eq!(find(&config, "r.example/team/app"), Some(user("team")));
        assert_eq!(find(&config, "r.example/teams"), Some(user("host")));
        assert_eq!(find(&config, "other.example:5000/x"), Some(user("url")));
        assert_eq!(find(&config, "other.example"), None);
        assert_eq!(find(&config, "sub.r.example"), None);
    }

    #[test]
    fn docker_hub_is_known_by_all_its_names() {
        for key in [
            "docker.io",
            "index.docker.io",
            "https://index.docker.io/v1/",
        ] {
            let config = format!(r#"{{"auths":{{"{key}":{{"auth":"{}"}}}}}}"#, auth("hub"));
            assert_eq!(find(&config, "docker.io/library/app"), Some(user("hub")));
            assert_eq!(find(&config, "quay.io/library/app"), None);
        }
        let hub = "docker.io/org/app".parse().unwrap();
        assert_eq!(helper_key(&hub), "https://index.docker.io/v1/");
    }

    #[test]
    fn tokens_and_empty_entries() {
        let config = r#"{"auths":{"i":{"identitytoken":"T"},"e":{},"u":{"username":"n","password":"pass:word"},"r":{"registrytoken":"R"}}}"#;
        let token = Some(Credentials::IdentityToken(Secret("T".to_owned())));
        assert_eq!(find(config, "i"), token);
        assert_eq!(find(config, "e"), None);
        assert_eq!(find(config, "u"), Some(user("n")));
        let token = Some(Credentials::RegistryToken(Secret("R".to_owned())));
        assert_eq!(find(config, "r"), token);
    }

    #[test]
    fn secrets_are_not_shown() {
        let config = format!(r#"{{"auths":{{"r":{{"auth":"{}"}}}}}}"#, auth("name"));
        let shown = format!("{:?}", find(&config, "r"));
        assert!(!shown.contains("pass:word"), "{shown}");
        let address = "r".parse().unwrap();
        let broken = br#"{"auths":{"r":{"auth":"c2VjcmV0IQ=="}}}"#;
        let error = Credentials::from_config(broken, &address).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("c2Vj") && !shown.contains("secret!"),
            "{shown}"
        );
        let error = Credentials::from_config(br#"{"auths":"password"}"#, &address).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("password"));
    }

    #[test]
    fn helpers_are_named_by_one_word() {
        let config = br#"{"credHelpers":{"r":"../../bin/sh"}}"#;
        let error = Credentials::from_config(config, &"r".parse().unwrap()).unwrap_err();
        assert!(matches!(error, CredentialsError::HelperName(_)));
        let config = br#"{"credsStore":"there-is-no-such-helper"}"#;
        let error = Credentials::from_config(config, &"r".parse().unwrap()).unwrap_err();
        assert!(matches!(error, CredentialsError::Helper { .. }));
    }
}
