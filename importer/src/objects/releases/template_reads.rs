//! Consent to reads of a chart's templates outside of their environment.
//!
//! An object there is only read after the read was accepted. Templates can transform a value in any way, so a search
//! for it in the rendered text cannot be complete. A value that was never read cannot appear in a plan, a message, a
//! receipt or an export.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use planner::ReleaseEntry;
use schemas::Digest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::helm_proxy::{Lookups, Readable};
use crate::model::blocker::ContentBlocker;
use crate::objects::releases::Releasing;

/// The prefix of an id that accepts reads. Such an id accepts nothing else.
const PREFIX: &str = "read-";
/// The number of hex digits of an id. 96 bits make it infeasible to find other reads with the same id.
const ID_LENGTH: usize = 24;
/// The minimum length of a Secret's value that is hidden in output. Shorter values occur in other texts by chance.
const SHORTEST: usize = 8;

/// Checks whether an id accepts reads of templates.
#[must_use]
pub fn accepts_reads(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// Returns the line of a consent to the read of an object by the templates of a release.
pub(super) fn line(release: &ReleaseEntry, what: &str) -> String {
    format!("the templates of the {release} read {what}")
}

/// The accepted reads of a release's templates.
pub(super) struct AcceptedReads {
    /// The namespaces that need no consent: those of the release and of the environment.
    own: BTreeSet<String>,
    /// The accepted objects in other namespaces.
    elsewhere: BTreeSet<String>,
    /// The lines that this request accepts.
    pub(super) now: BTreeSet<String>,
}

impl AcceptedReads {
    /// Returns the reads that were accepted for the deployed version.
    pub(super) fn before(releasing: &Releasing<'_>, release: &ReleaseEntry) -> Self {
        let own = [&releasing.place.namespace, &release.namespace];
        let prefix = line(release, "");
        // A consent without grants is in an old form that covered the text only. It must be given again.
        let consent = releasing.consent.filter(|consent| consent.grants.is_some());
        let lines = consent.into_iter().flat_map(|consent| &consent.lines);
        let elsewhere = lines.filter_map(|line| line.strip_prefix(&prefix));
        Self {
            own: own.map(ToString::to_string).into(),
            elsewhere: elsewhere.map(str::to_owned).collect(),
            now: BTreeSet::new(),
        }
    }

    /// Returns the objects that templates may read.
    pub(super) fn readable(&self, releasing: &Releasing<'_>) -> Readable {
        if releasing.asked.is_imagined {
            return Readable::Everything;
        }
        Readable::Accepted {
            namespaces: self.own.clone(),
            elsewhere: self.elsewhere.clone(),
        }
    }

    /// Adds the withheld reads if the request accepts them.
    pub(super) fn accept(
        &mut self,
        releasing: &Releasing<'_>,
        release: &ReleaseEntry,
        withheld: BTreeSet<String>,
    ) -> Result<(), ContentBlocker> {
        let hidden = &releasing.parameters.hidden;
        let reads: BTreeSet<String> = withheld.iter().map(|what| hidden.say(what)).collect();
        let environment = &releasing.place.environment;
        // The id covers everything that the user was shown, so that it accepts no other reads.
        let shown = json!([
            releasing.asked.id.name(),
            environment,
            release.to_string(),
            reads
        ]);
        let mut id = Digest::new(Sha256::digest(shown.to_string()).into()).hex();
        id.truncate(ID_LENGTH);
        let accept_id = format!("{PREFIX}{id}");
        if !releasing.asked.request.accepted.contains(&accept_id) {
            return Err(ContentBlocker::ReadsNotAccepted {
                release: release.to_string(),
                reads: reads.into_iter().collect(),
                accept_id,
            });
        }
        self.now
            .extend(reads.iter().map(|what| line(release, what)));
        self.elsewhere.extend(withheld);
        Ok(())
    }

    /// Returns the accepted objects in other namespaces. They are an input of the rendering.
    pub(super) fn elsewhere(&self) -> &BTreeSet<String> {
        &self.elsewhere
    }
}

/// Returns the values of the Secrets that templates have read, encoded and decoded. Short values, and values that the
/// chart's values contain anyway, are left out.
pub(super) fn secrets<'a>(lookups: &'a Lookups, values: &'a str) -> impl Iterator<Item = Value> {
    let bodies = lookups.values().map(|lookup| &lookup.body);
    let secrets = bodies.flat_map(|body| match body["kind"].as_str() {
        Some("Secret") => vec![body],
        Some("SecretList") => body["items"].as_array().into_iter().flatten().collect(),
        _ => Vec::new(),
    });
    let encoded = secrets
        .filter_map(|secret| secret["data"].as_object())
        .flat_map(|data| data.values().filter_map(Value::as_str));
    let texts = encoded.flat_map(|encoded| {
        let bytes = STANDARD.decode(encoded).ok();
        let decoded = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        [decoded, Some(encoded.to_owned())]
    });
    texts
        .flatten()
        .filter(move |text| text.len() >= SHORTEST && !values.contains(text.as_str()))
        .map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::redact::HiddenTexts;
    use crate::model::renderings::Lookup;

    #[test]
    fn values_of_secrets_that_templates_read_are_hidden_unless_the_archive_has_them() {
        let encode = |text: &str| STANDARD.encode(text);
        let data =
            json!({ "a": encode("correct-horse"), "b": encode("postgres"), "c": encode("1") });
        let list = json!({ "kind": "SecretList", "items": [{ "data": { "d": encode("battery-staple") } }] });
        let map = json!({ "kind": "ConfigMap", "data": { "e": "plain-text-value" } });
        let bodies = [json!({ "kind": "Secret", "data": data }), list, map];
        let lookups = bodies.into_iter().enumerate();
        let lookups = lookups.map(|(at, body)| (at.to_string(), Lookup { status: 200, body }));
        let found: Vec<Value> = secrets(&lookups.collect(), "user: postgres").collect();
        let hidden = HiddenTexts::new(&found);
        let text = format!(
            "correct-horse {} battery-staple postgres 1 plain-text-value",
            encode("correct-horse")
        );
        assert_eq!(hidden.say(&text), "*** *** *** postgres 1 plain-text-value");
    }
}
