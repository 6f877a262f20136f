//! The redaction of known secret values of an environment, and of credentials that are recognized by their form.
//! [`Redactions`] removes both from every file of a support bundle. Secrets are read for this purpose only.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubernetes::Object;
use regex::Regex;
use serde_json::{Map, Value};

use crate::limits;
use crate::status::support::projection::MASK;

/// The minimum length of a text that is searched for. Shorter ones occur in many words by chance.
const SHORTEST: usize = 4;
/// The minimum length of a part of a value (a line of a file, a field of a document) that is searched for.
const SHORTEST_PART: usize = 6;
/// The type of Secrets that contain the objects that Helm installed, compressed.
const HELM: &str = "helm.sh/release.v1";
/// The type of a `ServiceAccount`'s Secrets, of which only the token is secret.
const ACCOUNT: &str = "kubernetes.io/service-account-token";

/// The patterns of credentials, with their replacements.
static CREDENTIALS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        // A private key, also within one line of a JSON log. If a key has no end, the rest of the text is removed.
        (
            r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
            MASK,
        ),
        // A JSON Web Token.
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)*", MASK),
        // The user and password of a URL.
        (r"://[^/\s@'`]+@", "://***@"),
        // The values of a URL's query.
        (r#"([?&][A-Za-z0-9_.~%\[\]-]+=)[^&\s"'`#]+"#, "${1}***"),
        (r"(?i)(\b(?:proxy-)?authorization\b\W{1,4})[^\r\n]+", "${1}***"),
        (r"(?i)(\bbearer\s+)\S+", "${1}***"),
        // `curl -u user:password`.
        (r"((?:^|\s)(?:-u|--user)[ =]?)\S+:\S+", "${1}***"),
        // `password=…`, `"token": "…"`, `--pass …`.
        (
            r#"(?i)((?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|(?:api|access|private|secret)[_-]?key)\\?["']?\s*[=:]\s*)(?:\\?"[^"\r\n]*"?|'[^'\r\n]*'?|[^\s"',;]+)"#,
            "${1}***",
        ),
        (r"(?i)(--[a-z-]*(?:pass(?:word|wd|phrase)?|pwd|secret|token|key)\s+)\S+", "${1}***"),
    ]
    .into_iter()
    .map(|(pattern, shown)| (Regex::new(pattern).expect("the pattern is valid"), shown))
    .collect()
});

/// The texts that must not appear in any file of a bundle.
#[derive(Debug, Default)]
pub(super) struct Redactions {
    texts: BTreeSet<String>,
    /// The total size of the texts in bytes.
    size: usize,
    search: Option<AhoCorasick>,
}

impl Redactions {
    /// Adds the values of a Secret. Returns whether all of them fit in the limit.
    pub(super) fn add(&mut self, secret: &Object) -> bool {
        let secret = secret.as_value();
        if secret["type"] == HELM {
            return true;
        }
        let data = secret["data"].as_object().into_iter().flatten();
        for (key, encoded) in data {
            if secret["type"] == ACCOUNT && key != "token" {
                continue;
            }
            let encoded = encoded.as_str().unwrap_or_default();
            self.text(encoded, SHORTEST);
            let Ok(bytes) = STANDARD.decode(encoded) else {
                continue;
            };
            if let Ok(text) = String::from_utf8(bytes) {
                self.value(&text);
            }
        }
        self.size <= limits::SUPPORT_SECRETS
    }

    /// Builds the search automaton.
    pub(super) fn ready(&mut self) -> Result<(), String> {
        let search = AhoCorasick::builder()
            // A value that contains another one is masked as a whole.
            .match_kind(MatchKind::LeftmostLongest)
            .build(&self.texts);
        self.search = Some(search.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Returns a text without known secret values and credentials.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = self.without_known(text);
        for (pattern, shown) in CREDENTIALS.iter() {
            text = pattern.replace_all(&text, *shown).into_owned();
        }
        text
    }

    fn without_known(&self, text: &str) -> String {
        let Some(search) = &self.search else {
            return text.to_owned();
        };
        let mut shown = String::with_capacity(text.len());
        search.replace_all_with(text, &mut shown, |_, _, shown| {
            shown.push_str(MASK);
            true
        });
        shown
    }

    /// Returns a document without known secret values and credentials, also in its keys.
    pub(super) fn redact_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.redact(text).into(),
            Value::Number(number) if self.texts.contains(&number.to_string()) => MASK.into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::Array(items) => items.iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                let entry =
                    |(key, field): (&String, &Value)| (self.redact(key), self.redact_value(field));
                Value::Object(fields.map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// Adds a value, and the parts that programs read from it.
    fn value(&mut self, text: &str) {
        self.forms(text, SHORTEST);
        // Values of parameters and registry logins are JSON.
        if let Ok(document) = serde_json::from_str(text) {
            return self.document(&document);
        }
        for line in text.lines().filter(|_| text.trim().contains('\n')) {
            let line = line.trim();
            self.forms(line, SHORTEST_PART);
            if let Some((_, part)) = line.split_once(['=', ':']) {
                let part = part.trim().trim_matches(['"', '\'']);
                self.forms(part, SHORTEST_PART);
            }
        }
    }

    fn document(&mut self, document: &Value) {
        match document {
            Value::Array(items) => items.iter().for_each(|item| self.document(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.document(field)),
            Value::String(text) => {
                self.forms(text, SHORTEST);
                // A registry login is a user and a password in base64.
                let pair = STANDARD
                    .decode(text)
                    .ok()
                    .and_then(|pair| String::from_utf8(pair).ok());
                if let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
                    self.forms(password, SHORTEST);
                }
            }
            Value::Number(number) => self.text(&number.to_string(), SHORTEST),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Adds a text in four encodings: plain, escaped for JSON, escaped for a URL, and in base64.
    fn forms(&mut self, text: &str, shortest: usize) {
        let text = text.trim();
        if text.len() < shortest {
            return;
        }
        let quoted = Value::from(text).to_string();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let escaped = |byte: u8| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        };
        let in_url: String = text.bytes().map(escaped).collect();
        let in_json = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        for form in [text, in_json, &in_url, &STANDARD.encode(text)] {
            self.text(form, shortest);
        }
    }

    fn text(&mut self, text: &str, shortest: usize) {
        // These words occur in most files, so masking them would hide harmless texts.
        let is_plain = matches!(text, "true" | "false" | "null" | "none");
        let has_room = self.size <= limits::SUPPORT_SECRETS;
        if text.len() >= shortest && !is_plain && has_room && self.texts.insert(text.to_owned()) {
            self.size += text.len();
        }
    }
}
