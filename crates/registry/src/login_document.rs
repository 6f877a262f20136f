//! Changes to a login file, docker's `config.json` or podman's `auth.json`. The rest of the file keeps its content and
//! order. The entry point is [`LoginDocument`].
//!
//! If the file names a credential helper for the registry, the login is stored there, as docker and podman do, else in
//! the file. Each registry has one entry: entries with another spelling of its name are removed, because programs
//! differ in which one they use.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::address::RegistryAddress;
use crate::credentials::{CredentialsError, Secret, Username};
use crate::helper::Helper;
use crate::json::{Json, JsonObject};
use crate::logins::{self, Logins, file_key, is_for};

/// The field with the logins stored in the file.
const AUTHS: &str = "auths";

/// The place where a login is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginKeeper {
    /// The file itself.
    File,
    /// The credential helper with this name.
    Helper(String),
}

/// The content of a login file.
pub struct LoginDocument {
    fields: JsonObject,
    /// The logins of the file, which determine the credential helpers.
    read: Logins,
}

/// Omits the content, which includes secrets.
impl fmt::Debug for LoginDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginDocument").finish_non_exhaustive()
    }
}

impl Default for LoginDocument {
    fn default() -> Self {
        Self::from_slice(b"{}").expect("a file without logins")
    }
}

impl LoginDocument {
    /// Reads a file. A file that is not fully understood is refused, because writing it could lose data.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, CredentialsError> {
        let read = Logins::from_slice(bytes)?;
        let fields = serde_json::from_slice(bytes).map_err(logins::malformed)?;
        Ok(Self { fields, read })
    }

    /// Stores a login, replacing the one for this registry. May run a credential helper and wait for it.
    pub fn keep(
        &mut self,
        address: &RegistryAddress,
        username: &Username,
        password: &Secret,
    ) -> Result<LoginKeeper, CredentialsError> {
        if let Some((helper, key)) = self.read.helper(address)? {
            helper.store(key, username, password)?;
            let keeper = LoginKeeper::Helper(helper.program().to_owned());
            // An entry in the file would still contain a password and could take precedence over the helper.
            self.remove(address);
            return Ok(keeper);
        }
        self.put(address, username, password);
        Ok(LoginKeeper::File)
    }

    /// Removes the login for this registry. Returns where it was stored, or `None` if there was none. May run a
    /// credential helper and wait for it.
    pub fn forget(
        &mut self,
        address: &RegistryAddress,
    ) -> Result<Option<LoginKeeper>, CredentialsError> {
        let mut keeper = None;
        if let Some((helper, key)) = self.read.helper(address)?
            && helper.erase(key)?
        {
            keeper = Some(LoginKeeper::Helper(helper.program().to_owned()));
        }
        if self.remove(address) {
            keeper.get_or_insert(LoginKeeper::File);
        }
        Ok(keeper)
    }

    /// Removes all logins and returns their keys. May run credential helpers and wait for them.
    pub fn forget_all(&mut self) -> Result<Vec<String>, CredentialsError> {
        let mut gone = Vec::new();
        for (name, key) in self.read.helpers() {
            if Helper::from_name(name)?.erase(key)? {
                gone.push(key.to_owned());
            }
        }
        gone.extend(self.auths().0.drain(..).map(|(key, _)| key));
        gone.sort();
        gone.dedup();
        Ok(gone)
    }

    /// Checks whether the file itself has a login for this registry.
    #[must_use]
    pub fn contains_login(&self, address: &RegistryAddress) -> bool {
        self.keys().any(|key| is_for(key, address))
    }

    /// Checks whether the file itself has any login.
    #[must_use]
    pub fn holds_any(&self) -> bool {
        self.keys().next().is_some()
    }

    /// Returns the new content of the file, formatted as docker and podman do.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let layout = PrettyFormatter::with_indent(b"\t");
        let mut serializer = Serializer::with_formatter(&mut bytes, layout);
        let written = self.fields.serialize(&mut serializer);
        written.unwrap_or_else(|_| unreachable!("what was read can be written"));
        bytes
    }

    fn put(&mut self, address: &RegistryAddress, username: &Username, password: &Secret) {
        let pair = format!("{}:{}", username.as_str(), password.reveal());
        let auth = Json::Text(STANDARD.encode(pair));
        let entry = Json::Object(JsonObject(vec![("auth".to_owned(), auth)]));
        let auths = &mut self.auths().0;
        let before = auths.iter().position(|(key, _)| is_for(key, address));
        auths.retain(|(key, _)| !is_for(key, address));
        // The entry takes the position of the first one that it replaces.
        let at = before.unwrap_or(auths.len());
        auths.insert(at, (file_key(address), entry));
    }

    fn remove(&mut self, address: &RegistryAddress) -> bool {
        let auths = &mut self.auths().0;
        let before = auths.len();
        auths.retain(|(key, _)| !is_for(key, address));
        auths.len() < before
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        let auths = self.fields.0.iter().find(|(name, _)| name == AUTHS);
        let entries = auths.map(|(_, auths)| match auths {
            Json::Object(auths) => auths.0.iter(),
            _ => unreachable!("it was read as an object"),
        });
        entries.into_iter().flatten().map(|(key, _)| key.as_str())
    }

    fn auths(&mut self) -> &mut JsonObject {
        let auths = self.fields.object(AUTHS);
        auths.expect("it was read as an object")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Credentials;

    fn address(text: &str) -> RegistryAddress {
        text.parse().unwrap()
    }

    fn keep(document: &mut LoginDocument, host: &str, password: &str) {
        let password = Secret::new(password.to_owned());
        let kept = document.keep(&address(host), &"me".parse().unwrap(), &password);
        assert_eq!(kept.unwrap(), LoginKeeper::File);
    }

    fn text(document: &LoginDocument) -> String {
        String::from_utf8(document.to_bytes()).unwrap()
    }

    fn read(text: &str) -> LoginDocument {
        LoginDocument::from_slice(text.as_bytes()).unwrap()
    }

    /// A login file as docker formats it.
    const FILE: &str = "{\n\t\"psFormat\": \"x\",\n\t\"auths\": {\n\t\t\"z.example\": {\n\t\t\t\"auth\": \"bmFtZTpwYXNz\",\n\t\t\t\"email\": \"a\"\n\t\t},\n\t\t\"a.example\": {}\n\t},\n\t\"credHelpers\": {\n\t\t\"h.example\": \"h\"\n\t},\n\t\"aliases\": [\n\t\t1.5,\n\t\tnull\n\t]\n}";

    #[test]
    fn a_new_file_holds_what_docker_writes() {
        let mut document = LoginDocument::default();
        keep(&mut document, "r.example:5000", "pass:word");
        assert_eq!(
            text(&document),
            "{\n\t\"auths\": {\n\t\t\"r.example:5000\": {\n\t\t\t\"auth\": \"bWU6cGFzczp3b3Jk\"\n\t\t}\n\t}\n}"
        );
        let login = Credentials::from_config(&document.to_bytes(), &address("r.example:5000/x"));
        let expected = Credentials::Password {
            username: "me".to_owned(),
            password: Secret::new("pass:word".to_owned()),
        };
        assert_eq!(login.unwrap(), Some(expected));
    }

    #[test]
    fn everything_else_stays_as_and_where_it_is() {
        let mut document = read(FILE);
        assert_eq!(text(&document), FILE);
        keep(&mut document, "b.example", "x");
        let added = ",\n\t\t\"b.example\": {\n\t\t\t\"auth\": \"bWU6eA==\"\n\t\t}";
        let before = "\"a.example\": {}";
        let expected = FILE.replace(before, &format!("{before}{added}"));
        assert_eq!(text(&document), expected);
        let gone = document.forget(&address("b.example")).unwrap();
        assert_eq!(gone, Some(LoginKeeper::File));
        assert_eq!(text(&document), FILE);
        assert_eq!(document.forget(&address("b.example")).unwrap(), None);
        assert_eq!(text(&document), FILE);
    }

    #[test]
    fn an_entry_takes_the_place_of_all_spellings_of_its_registry() {
        let mut document = read(
            r#"{"auths":{"a":{},"https://r.example/v1/":{"auth":"eDp5"},"r.example/team":{"auth":"eDp6"},"R.example":{"auth":"eDp5"}}}"#,
        );
        keep(&mut document, "r.example", "x");
        let compact = text(&document).replace(['\n', '\t', ' '], "");
        assert_eq!(
            compact,
            r#"{"auths":{"a":{},"r.example":{"auth":"bWU6eA=="},"r.example/team":{"auth":"eDp6"}}}"#
        );
        assert!(document.contains_login(&address("r.example/team")));
        keep(&mut document, "r.example/team", "x");
        let gone = document.forget(&address("r.example")).unwrap();
        assert_eq!(gone, Some(LoginKeeper::File));
        let compact = text(&document).replace(['\n', '\t', ' '], "");
        let team = r#""r.example/team":{"auth":"bWU6eA=="}"#;
        assert_eq!(compact, format!(r#"{{"auths":{{"a":{{}},{team}}}}}"#));
    }

    #[test]
    fn docker_hub_is_written_as_docker_finds_it() {
        let mut document = read(r#"{"auths":{"docker.io":{"auth":"eDp5"}}}"#);
        keep(&mut document, "docker.io", "x");
        let compact = text(&document).replace(['\n', '\t', ' '], "");
        assert_eq!(
            compact,
            r#"{"auths":{"https://index.docker.io/v1/":{"auth":"bWU6eA=="}}}"#
        );
        let gone = document.forget(&address("docker.io")).unwrap();
        assert_eq!(gone, Some(LoginKeeper::File));
    }

    #[test]
    fn all_logins_go_at_once() {
        let mut document = read(&FILE.replace("credHelpers", "helpers"));
        assert_eq!(document.forget_all().unwrap(), ["a.example", "z.example"]);
        assert!(text(&document).contains("\"auths\": {},"));
        assert!(text(&document).contains("psFormat"));
        assert!(!document.holds_any());
        assert!(document.forget_all().unwrap().is_empty());
    }

    #[test]
    fn a_helper_keeps_whole_registries_only() {
        let document = read(r#"{"credsStore":"s","credHelpers":{"r.example":"h"}}"#);
        let program = |host: &str| {
            let address = address(host);
            let helper = document.read.helper(&address);
            helper.map(|helper| helper.map(|(helper, key)| format!("{} {key}", helper.program())))
        };
        let named = |text: &str| Some(text.to_owned());
        assert_eq!(
            program("r.example").unwrap(),
            named("docker-credential-h r.example")
        );
        assert_eq!(
            program("docker.io").unwrap(),
            named("docker-credential-s https://index.docker.io/v1/")
        );
        for part in ["r.example/team", "s.example/team"] {
            let error = program(part).unwrap_err();
            assert!(matches!(error, CredentialsError::HelperPath { .. }));
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "",
            "[]",
            r#"{"auths":[]}"#,
            r#"{"auths":{"r":"x"}}"#,
            r#"{"auths":{},"x":{"a":1,"a":1}}"#,
            r#"{"auths":{"r":{},"r":{}}}"#,
        ] {
            let error = LoginDocument::from_slice(text.as_bytes()).unwrap_err();
            assert!(
                matches!(error, CredentialsError::Malformed { .. }),
                "{text}"
            );
        }
    }

    #[test]
    fn user_names_can_be_told_from_passwords() {
        for name in ["", "a:b", "a\nb", &"x".repeat(257)] {
            assert!(name.parse::<Username>().is_err(), "{name}");
        }
        assert_eq!("robot$ci".parse::<Username>().unwrap().as_str(), "robot$ci");
    }
}
