//! The values that are chosen for charts: values of the current deployment, changed by this request. They are stored in
//! a Secret of the environment, since charts cannot declare which of their values are secret. [`looks_secret`]
//! recognizes secret values by their names.

use std::collections::BTreeSet;

use schemas::{ReleaseName, ValuePath, choose, nearest};
use serde_json::Value;

use crate::choices::parameters::{ChosenValue, NEAR, Parameters, PlanningFleet, Resolving};
use crate::choices::redact;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::parameters::{AskedValues, ChartValues, ChosenBefore, KeptValues, ValueSource};

/// The endings of names of secret values.
const SECRET_ENDINGS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
    "credentials",
];
/// The beginning of names of values that refer to an existing object.
const NAMES_AN_OBJECT: &str = "existing";

/// Checks whether a value is secret, by its name. Charts cannot declare values as secret.
pub(crate) fn looks_secret(path: &ValuePath) -> bool {
    let letters = path.key().chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    !name.starts_with(NAMES_AN_OBJECT) && SECRET_ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Checks whether the request discards an earlier choice at a path.
fn is_unset(asked: &AskedValues, path: &ValuePath) -> bool {
    let mut unset = asked.unset.iter();
    asked.unset_all || unset.any(|unset| path.is_within(unset))
}

impl KeptValues {
    /// Returns the secret values.
    pub(super) fn hidden(&self) -> impl Iterator<Item = &Value> {
        let of_charts = self
            .charts
            .values()
            .flatten()
            .filter(|(path, _)| looks_secret(path))
            .map(|(_, value)| value);
        self.parameters.values().chain(of_charts)
    }
}

impl Resolving<'_> {
    /// Adds the values that are chosen for charts, and the blockers to them.
    pub(super) fn choose_values(&self, parameters: &mut Parameters, blockers: &mut Vec<Blocker>) {
        self.check_releases(blockers);
        let before = self.values_before();
        let mut all = ChartValues::new();
        if self.fleet.is_none() {
            self.check_lost(&before, blockers);
            all = self.values_held();
        }
        for (release, asked) in &self.asked.charts {
            let values = all.entry(release.clone()).or_default();
            values.retain(|path, _| !is_unset(asked, path));
            for (path, value) in &asked.given {
                choose(values, path.clone(), value.clone(), |value| value);
            }
        }
        all.retain(|_, values| !values.is_empty());
        for (release, values) in &mut all {
            let lost =
                values.extract_if(.., |path, _| path.to_string().parse() != Ok(path.clone()));
            blockers.extend(lost.map(|(path, _)| {
                let (release, path) = (release.clone(), path.to_string());
                ContentBlocker::ValueUnnamed { release, path }.into()
            }));
        }
        let source = |release: &ReleaseName, path: &ValuePath| {
            let asked = self.asked.charts.get(release);
            if asked.is_some_and(|asked| asked.given.contains_key(path)) {
                ValueSource::Given
            } else if before.contains_key(release) {
                ValueSource::Before
            } else {
                ValueSource::Adopted
            }
        };
        for (release, values) in &all {
            let values = values.iter().map(|(path, value)| ChosenValue {
                path: path.clone(),
                value: value.clone(),
                source: source(release, path),
            });
            parameters.charts.insert(release.clone(), values.collect());
        }
        if !all.is_empty() {
            parameters.secret.key = Some(self.digest_key());
        }
        parameters.secret.charts = all;
        let held = before.keys().filter(|_| self.fleet.is_none());
        let unknown = held.filter(|release| !self.releases.contains(*release));
        let note = |release: &ReleaseName| {
            format!(
                "unused values of an earlier deployment: this version has no release `{release}`"
            )
        };
        parameters.notes.extend(unknown.map(note));
    }

    fn check_releases(&self, blockers: &mut Vec<Blocker>) {
        let asked = self.asked.charts.keys();
        let unknown = asked.filter(|release| !self.releases.contains(*release));
        blockers.extend(unknown.map(|release| {
            let releases = self.releases.iter().copied();
            ContentBlocker::NoRelease {
                release: release.clone(),
                near: nearest(release.as_str(), releases, NEAR).cloned(),
            }
            .into()
        }));
    }

    /// Returns a note for each earlier choice that the planning fleet does not use.
    pub(super) fn unused_values(&self, fleet: &PlanningFleet) -> impl Iterator<Item = String> {
        let held = self.values_held().into_iter();
        held.flat_map(|(release, values)| {
            let asked = self.asked.charts.get(&release);
            let is_asked = |path: &ValuePath| {
                asked.is_some_and(|asked| asked.given.contains_key(path) || is_unset(asked, path))
            };
            let unused = values.into_iter().filter(|(path, _)| !is_asked(path));
            let note = |(path, value): (ValuePath, Value)| {
                let secret = looks_secret(&path).then(|| Value::from(redact::SHOWN));
                fleet.unused(format!("{release}:{path}"), &secret.unwrap_or(value))
            };
            unused.map(note).collect::<Vec<_>>()
        })
    }

    /// Returns the earlier choices, and the values of releases that are adopted.
    fn values_held(&self) -> ChartValues {
        let mut all = self.values_before();
        for (release, values) in self.adopted {
            all.entry(release.clone()).or_insert_with(|| values.clone());
        }
        all
    }

    /// Returns the earlier choices.
    fn values_before(&self) -> ChartValues {
        let now = || self.now().unwrap_or_default().charts;
        match self.asked.before {
            ChosenBefore::As { secret: None, .. } => ChartValues::new(),
            ChosenBefore::As { .. } => self.then().map_or_else(now, |then| then.charts.clone()),
            ChosenBefore::Keep => now(),
        }
    }

    /// Adds a blocker for each release whose recorded values are lost, unless the request sets or discards them.
    fn check_lost(&self, before: &ChartValues, blockers: &mut Vec<Blocker>) {
        let is_kept = matches!(self.asked.before, ChosenBefore::Keep);
        let current = self.current.filter(|_| is_kept);
        let recorded = current.map(|deployed| &deployed.charts);
        let is_lost = |release: &&ReleaseName| {
            let asked = self.asked.charts.get(*release);
            !before.contains_key(*release) && asked.is_none_or(|asked| !asked.unset_all)
        };
        let lost: BTreeSet<&ReleaseName> = recorded.into_iter().flatten().filter(is_lost).collect();
        blockers.extend(lost.into_iter().map(|release| {
            let release = release.clone();
            ContentBlocker::ValuesLost { release }.into()
        }));
    }

    /// Returns the key of the digests. Once generated, a key is kept.
    fn digest_key(&self) -> String {
        let now = self.now().and_then(|now| now.key);
        let begun = || self.begun().and_then(|(_, begun)| begun.key.clone());
        let key = now.or_else(begun);
        key.unwrap_or_else(|| self.key.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_name() {
        for (path, expected) in [
            ("auth.password", true),
            ("adminPassword", true),
            ("users[0].passwd", true),
            ("smtp.api_key", true),
            ("oauth.clientSecret", true),
            ("auth.existingSecret", false),
            ("auth.passwordFile", false),
            ("replicas", false),
            ("secret.name", false),
        ] {
            assert_eq!(looks_secret(&path.parse().unwrap()), expected, "{path}");
        }
    }
}
