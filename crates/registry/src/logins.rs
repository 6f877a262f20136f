//! Login files: docker's `config.json` and podman's `auth.json`. [`Logins::find`] returns the credentials for a
//! registry.
//!
//! The caller chooses the file; this module searches no default locations. As in podman, the entry with the longest key
//! applies that is the registry's address or a path prefix of it (containers-auth.json(5)). As in docker, a credential
//! helper for the host takes precedence over an entry.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Mutex;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use crate::address::{DOCKER_HUB, RegistryAddress};
use crate::credentials::{Credentials, CredentialsError, Secret};
use crate::helper::Helper;
use crate::limits;

/// The key of Docker Hub. It is the only key that docker uses for it, and podman accepts it too.
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";

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

/// The content of a docker `config.json` or podman `auth.json`.
pub struct Logins {
    file: LoginFile,
    /// The answers of helpers by name and key. Each is requested once, because a helper can be slow.
    answers: Mutex<HashMap<(String, String), Option<Credentials>>>,
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}

impl Logins {
    /// Reads the content of a file.
    pub fn from_slice(config: &[u8]) -> Result<Self, CredentialsError> {
        if config.len() > limits::CREDENTIALS_FILE {
            return Err(CredentialsError::TooLong);
        }
        let file = serde_json::from_slice(config).map_err(malformed)?;
        Ok(Self {
            file,
            answers: Mutex::default(),
        })
    }

    /// Returns the credentials for a registry, or `None` if the file has none. May run a credential helper
    /// (`docker-credential-NAME`) and wait for it.
    pub fn find(&self, address: &RegistryAddress) -> Result<Option<Credentials>, CredentialsError> {
        let file = &self.file;
        if let Some((key, helper)) = longest_match(&file.helpers, address)
            && let Some(found) = self.ask(helper, key)?
        {
            return Ok(Some(found));
        }
        // A helper without a login for the host does not hide an entry in the file.
        if let Some((key, entry)) = longest_match(&file.auths, address)
            && let Some(found) = entry.credentials(key)?
        {
            return Ok(Some(found));
        }
        match self.store() {
            Some(store) => self.ask(store, helper_key(address)),
            None => Ok(None),
        }
    }

    /// Returns the helper for all registries without their own helper.
    fn store(&self) -> Option<&str> {
        let store = self.file.store.as_deref();
        store.filter(|store| !store.is_empty())
    }

    /// Returns the helper that stores the login for a registry, and the key to use with it.
    pub(crate) fn helper<'a>(
        &'a self,
        address: &'a RegistryAddress,
    ) -> Result<Option<(Helper, &'a str)>, CredentialsError> {
        let named = longest_match(&self.file.helpers, address);
        let named = named.map(|(key, name)| (name.as_str(), key));
        let Some((name, key)) = named.or_else(|| Some((self.store()?, helper_key(address)))) else {
            return Ok(None);
        };
        let helper = Helper::from_name(name)?;
        if address.prefix().is_some() && !is_for(key, address) {
            return Err(CredentialsError::HelperPath {
                program: helper.program().to_owned(),
                address: address.to_string(),
            });
        }
        Ok(Some((helper, key)))
    }

    /// Returns the helpers with the keys that the file lists for them.
    pub(crate) fn helpers(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = self.file.helpers.iter();
        let named = named.map(|(key, name)| (name.as_str(), key.as_str()));
        let all = self.store().into_iter();
        named.chain(
            all.flat_map(|store| self.file.auths.keys().map(move |key| (store, key.as_str()))),
        )
    }

    fn ask(&self, helper: &str, key: &str) -> Result<Option<Credentials>, CredentialsError> {
        let asked = (helper.to_owned(), key.to_owned());
        let mut answers = self.answers.lock().expect("no panic while held");
        if let Some(known) = answers.get(&asked) {
            return Ok(known.clone());
        }
        let answer = Helper::from_name(helper)?.get(key)?;
        answers.insert(asked, answer.clone());
        Ok(answer)
    }
}

/// Converts an error of the JSON library. Its message can quote the file, so only the position is kept.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` gives it away")]
pub(crate) fn malformed(error: serde_json::Error) -> CredentialsError {
    CredentialsError::Malformed {
        line: error.line(),
        column: error.column(),
    }
}

impl Credentials {
    /// Returns the credentials for a registry from the content of a docker `config.json` or podman `auth.json`, or
    /// `None` if it has none. May run a credential helper (`docker-credential-NAME`) and wait for it.
    pub fn from_config(
        config: &[u8],
        address: &RegistryAddress,
    ) -> Result<Option<Self>, CredentialsError> {
        Logins::from_slice(config)?.find(address)
    }
}

/// Returns the key that docker uses for a registry with the helper for all registries.
fn helper_key(address: &RegistryAddress) -> &str {
    match address.host() {
        DOCKER_HUB => DOCKER_HUB_KEY,
        host => host,
    }
}

/// Returns the key under which the file stores the login for a registry.
pub(crate) fn file_key(address: &RegistryAddress) -> String {
    match normal_key(&address.to_string()) {
        hub if hub == DOCKER_HUB => DOCKER_HUB_KEY.to_owned(),
        key => key,
    }
}

/// Checks whether a key is for this registry, in any spelling, and not for a part of it.
pub(crate) fn is_for(key: &str, address: &RegistryAddress) -> bool {
    normal_key(key) == normal_key(&address.to_string())
}

impl Login {
    /// Returns the credentials, or `None` for an empty entry: docker leaves one behind when a helper stores the secret.
    fn credentials(&self, key: &str) -> Result<Option<Credentials>, CredentialsError> {
        let filled = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        if let Some(token) = filled(&self.registrytoken) {
            return Ok(Some(Credentials::RegistryToken(Secret::new(token))));
        }
        if let Some(token) = filled(&self.identitytoken) {
            return Ok(Some(Credentials::IdentityToken(Secret::new(token))));
        }
        if let Some(auth) = filled(&self.auth) {
            let refuse = || CredentialsError::Entry(key.to_owned());
            return decode_auth(&auth).ok_or_else(refuse).map(Some);
        }
        Ok(
            filled(&self.username).map(|username| Credentials::Password {
                username,
                password: Secret::new(self.password.clone().unwrap_or_default()),
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
        // Old versions of docker padded the password with zero bytes.
        password: Secret::new(password.trim_end_matches('\0').to_owned()),
    })
}

/// Returns the entry with the longest key that is the address or a path prefix of it.
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
                // A prefix ends at a path component: `r.example/a` is not a prefix of `r.example/ab`.
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .max_by_key(|(key, _)| normal_key(key).len())
        .map(|(key, entry)| (key.as_str(), entry))
}

/// Returns the canonical form of a key. Docker also writes URLs with the version of the API as path, such as
/// `https://registry.example/v1/`, and an outdated host name for Docker Hub.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn find(config: &str, address: &str) -> Option<Credentials> {
        Credentials::from_config(config.as_bytes(), &address.parse().unwrap()).unwrap()
    }

    fn user(name: &str) -> Credentials {
        Credentials::Password {
            username: name.to_owned(),
            password: Secret::new("pass:word".to_owned()),
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
        let token = Some(Credentials::IdentityToken(Secret::new("T".to_owned())));
        assert_eq!(find(config, "i"), token);
        assert_eq!(find(config, "e"), None);
        assert_eq!(find(config, "u"), Some(user("n")));
        let token = Some(Credentials::RegistryToken(Secret::new("R".to_owned())));
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
        assert!(matches!(error, CredentialsError::Helper(..)));
    }
}
