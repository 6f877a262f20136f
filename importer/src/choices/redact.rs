//! The redaction of sensitive values. [`HiddenTexts`] holds the values that must not be shown in objects and messages.
//! Only values that the site chose or that were generated are hidden, never a value in the archive. Otherwise a
//! publisher could hide arbitrary text from the administrator who reviews a plan.
//!
//! [`event`] and [`error`] redact the reports of a change, because an API server's error, an Event or a program's log
//! may quote a value. All events and errors pass through them, and thereby the receipt, the history and the Kubernetes
//! Events.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helm::HelmError;
use kubernetes::{Redact, Redactable};
use serde::de::Error as _;
use serde_json::Value;

use crate::model::error::Error;
use crate::model::event::Event;

/// The replacement of a hidden value in a message.
pub(crate) const SHOWN: &str = "***";
/// The minimum length of texts that are hidden within longer ones. Shorter ones occur in many words by chance, and are
/// hidden only if they are the whole value.
const WITHIN: usize = 4;

/// The texts to hide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HiddenTexts(BTreeSet<String>);

impl HiddenTexts {
    /// Hides these values and all texts and numbers within them. Base64 and JSON-quoted forms are hidden too, because
    /// charts write values in these forms.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut texts = BTreeSet::new();
        for value in values {
            each_text(value, &mut texts);
        }
        Self(texts)
    }

    /// Hides more values.
    pub(crate) fn extend(&mut self, values: impl Iterator<Item = Value>) {
        let texts = values.map(|value| text(&value));
        self.0.extend(texts.filter(|text| !text.is_empty()));
    }

    /// Masks every value that contains a hidden text. Values that differ from those of `other` get a different
    /// placeholder.
    pub(crate) fn mask(&self, value: &mut Value, other: Option<&Value>) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.mask(field, other.and_then(|other| other.get(key)));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.mask(item, other.and_then(|other| other.get(index)));
                }
            }
            Value::Null => {}
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                if self.is_in(&text(value)) {
                    let same = other.is_none_or(|other| other == value);
                    *value = Value::from(if same { "(secret)" } else { "(another secret)" });
                }
            }
        }
    }

    /// Returns the message with the hidden texts masked.
    pub(crate) fn say(&self, message: &str) -> String {
        let long = self.0.iter().filter(|text| text.len() >= WITHIN);
        let mut long: Vec<&String> = long.collect();
        // A text may be the beginning of a longer one, which must be replaced as a whole.
        long.sort_by_key(|text| Reverse(text.len()));
        long.into_iter().fold(message.to_owned(), |message, text| {
            message.replace(text.as_str(), SHOWN)
        })
    }

    fn is_in(&self, shown: &str) -> bool {
        let mut texts = self.0.iter();
        texts.any(|text| shown == text || text.len() >= WITHIN && shown.contains(text.as_str()))
    }
}

fn each_text(value: &Value, texts: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_text(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, texts)),
        value => {
            let plain = text(value);
            if plain.is_empty() {
                return;
            }
            let quoted = value.to_string();
            let quoted = quoted.trim_matches('"').to_owned();
            texts.extend([STANDARD.encode(&plain), quoted, plain]);
        }
    }
}

/// Returns a value as it appears within a text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the event with the hidden texts masked.
pub(crate) fn event(mut event: Event, hidden: &HiddenTexts) -> Event {
    let reword: Redact<'_> = &|words| hidden.say(words);
    match &mut event {
        Event::Pulling { awaited, .. } => awaited.reword(reword),
        Event::Unproved { detail, .. } => detail.reword(reword),
        Event::Rollout(status) | Event::ObjectStatus(status) => status.reword(reword),
        Event::Nodes(nodes) => nodes.reword(reword),
        // Registries do not receive chosen values.
        Event::Pushing { .. }
        | Event::Push(_)
        | Event::Pushed
        | Event::Waiting(_)
        | Event::Overtaken
        | Event::Object { .. }
        | Event::Removed { .. }
        | Event::Migrated { .. }
        | Event::Behind { .. }
        | Event::Release { .. }
        | Event::HelmRuns(_)
        | Event::HelmEnded(_)
        | Event::Refused { .. }
        | Event::Restart { .. }
        | Event::RollingBack { .. } => {}
    }
    event
}

/// Returns the error with the hidden texts masked.
pub(crate) fn error(mut error: Error, hidden: &HiddenTexts) -> Error {
    cover(&mut error, &|words| hidden.say(words));
    error
}

/// Masks the texts of an error that come from the cluster or from programs. The match has no catch-all arm, so the
/// compiler reports an error that is new.
fn cover(error: &mut Error, reword: Redact<'_>) {
    match error {
        Error::Cluster(error) => error.reword(reword),
        Error::Cleanup(_, source) => source.reword(reword),
        Error::Unready { source, said, .. } => {
            source.reword(reword);
            helm(said, reword);
        }
        Error::Helm(_, source) => helm(source, reword),
        Error::Unpulled(unpulled) => unpulled.source.reword(reword),
        Error::RolledBack { source, .. } | Error::Mixed { source, .. } => cover(source, reword),
        Error::NotRolledBack {
            restoring, source, ..
        } => {
            cover(restoring, reword);
            cover(source, reword);
        }
        Error::Unserved { lacking, .. } => lacking.reword(reword),
        // Blockers have our own texts, and messages in the plan are masked where they are created. The other errors are
        // about the registry, this machine and the records.
        Error::Refused(_)
        | Error::Blocked(_)
        | Error::Registry(_)
        | Error::Store(_)
        | Error::Object(_)
        | Error::Record(..)
        | Error::Format { .. }
        | Error::Name(..)
        | Error::Site(..)
        | Error::Rules(..)
        | Error::Repository(_)
        | Error::Expand(_)
        | Error::Placeholder(_)
        | Error::Release(..)
        | Error::Rendered(..)
        | Error::NoIdentity
        | Error::Password
        | Error::Sensitive(_)
        | Error::SecretValue(_)
        | Error::Random(_)
        | Error::Gate(_) => {}
    }
}

/// Masks Helm's messages, in which a template may quote its values.
fn helm(error: &mut HelmError, reword: Redact<'_>) {
    match error {
        HelmError::Failed { said, .. } => said.reword(reword),
        HelmError::Printed(_, source) => {
            *source = serde_json::Error::custom(reword(&source.to_string()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_charts_make_of_a_hidden_text_is_masked() {
        let hidden = HiddenTexts::new(&[json!({ "users": ["hunter\"2"], "port": 47110 })]);
        let mut object = json!({
            "data": STANDARD.encode("hunter\"2"), "json": "{\"p\": \"hunter\\\"2\"}",
            "port": "tcp:47110", "key": "users",
        });
        hidden.mask(&mut object, None);
        let secret = "(secret)";
        let expected = json!({ "data": secret, "json": secret, "port": secret, "key": "users" });
        assert_eq!(object, expected);
    }

    #[test]
    fn whatever_holds_a_hidden_text_is_masked() {
        let hidden = HiddenTexts::new(&[json!("hunter2"), json!(4711), json!("ab"), json!("")]);
        let mut object = json!({
            "url": "postgres://u:hunter2@db", "port": 4711, "short": "ab",
            "within": ["tab", 47, true, null, "postgres"],
        });
        let before = json!({ "url": "postgres://u:hunter1@db", "port": 4711 });
        hidden.mask(&mut object, Some(&before));
        let expected = json!({
            "url": "(another secret)", "port": "(secret)", "short": "(secret)",
            "within": ["tab", 47, true, null, "postgres"],
        });
        assert_eq!(object, expected);
        let message = "invalid value \"hunter2\": must be a cab";
        assert_eq!(hidden.say(message), "invalid value \"***\": must be a cab");
    }
}

#[cfg(test)]
mod veil_tests {
    use kubernetes::{AwaitedCondition, ObjectRef, ObjectStatus, PodProblem, Readiness};
    use serde_json::json;

    use super::*;

    const SECRET: &str = "hunter2";

    fn hidden() -> HiddenTexts {
        HiddenTexts::new(&[json!(SECRET)])
    }

    fn refused() -> Error {
        let doing = "apply ConfigMap n/c".to_owned();
        let message = format!("data: invalid value \"{SECRET}\"");
        Error::Cluster(kubernetes::Error::Invalid { doing, message })
    }

    #[test]
    fn no_error_of_a_change_says_what_is_hidden() {
        let [one, two] =
            ["1.0.0", "1.1.0"].map(|version| version.parse::<schemas::Version>().unwrap());
        let invalid = || match refused() {
            Error::Cluster(error) => error,
            _ => unreachable!(),
        };
        let errors = [
            refused(),
            Error::Helm(
                "release web".to_owned(),
                HelmError::Failed {
                    program: "helm",
                    verb: "upgrade",
                    said: format!("execution error: `{SECRET}` is too short"),
                },
            ),
            Error::RolledBack {
                version: two.clone(),
                previous: one.clone(),
                source: Box::new(refused()),
            },
            Error::NotRolledBack {
                version: two,
                previous: one,
                restoring: Box::new(refused()),
                source: Box::new(refused()),
            },
            Error::Cleanup("shop".parse().unwrap(), Box::new(invalid())),
        ];
        for error in errors {
            let error = super::error(error, &hidden());
            let left = format!("{error:?}");
            assert!(left.contains("***") && !left.contains(SECRET), "{left}");
        }
    }

    #[test]
    fn no_event_of_a_change_says_what_is_hidden() {
        let detail = format!("Back-off: --token={SECRET}");
        let awaited = || AwaitedCondition::Cause {
            stuck: PodProblem::NotReady,
            pod: None,
            detail: detail.clone(),
        };
        let status = ObjectStatus {
            object: ObjectRef::namespaced("apps/v1", "Deployment", "n", "d"),
            state: Readiness::Pending(detail.clone()),
            awaited: Some(awaited()),
        };
        let events = [
            Event::ObjectStatus(status),
            Event::Pulling {
                image: "i".to_owned(),
                architecture: None,
                awaited: awaited(),
            },
            Event::Unproved {
                architecture: "arm64".to_owned(),
                detail: detail.clone(),
            },
        ];
        for event in events {
            let left = format!("{:?}", super::event(event, &hidden()));
            assert!(left.contains("***") && !left.contains(SECRET), "{left}");
        }
    }
}
