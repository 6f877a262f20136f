//! What is typed for the values of charts, and what is taken back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use importer::AskedValues;
use schemas::{ParameterName, ReleaseName, ValuePath, ValuesByPath, by_path, choose, yaml};
use serde_json::Value;

use super::{GivenParameters, read};
use crate::failure::Failure;

/// A value of a chart.
#[derive(Clone, Debug)]
pub(super) struct ChartValue {
    release: ReleaseName,
    path: ValuePath,
    value: Value,
}

/// A choice that is taken back.
#[derive(Clone, Debug)]
pub(super) enum Unset {
    Parameter(ParameterName),
    /// What was chosen for a release.
    Values(ReleaseName),
    /// What was chosen for a value of a release, and within it.
    Value(ReleaseName, ValuePath),
}

impl Unset {
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        let Some((release, path)) = word.split_once(':') else {
            return parsed(word).map(Self::Parameter);
        };
        let release = parsed(release)?;
        if path.is_empty() {
            return Ok(Self::Values(release));
        }
        parsed(path).map(|path| Self::Value(release, path))
    }

    pub(super) fn parameter(&self) -> Option<ParameterName> {
        match self {
            Self::Parameter(name) => Some(name.clone()),
            Self::Values(_) | Self::Value(..) => None,
        }
    }
}

impl GivenParameters {
    /// What is asked for the values of charts, with what the files hold.
    pub(super) fn charts(&self) -> Result<BTreeMap<ReleaseName, AskedValues>, Failure> {
        let mut charts: BTreeMap<ReleaseName, AskedValues> = BTreeMap::new();
        for unset in &self.unset {
            match unset {
                Unset::Parameter(_) => {}
                Unset::Values(release) => {
                    charts.entry(release.clone()).or_default().unset_all = true;
                }
                Unset::Value(release, path) => {
                    let asked = charts.entry(release.clone()).or_default();
                    asked.unset.insert(path.clone());
                }
            }
        }
        let mut give = |release: &ReleaseName, values: ValuesByPath| {
            let given = &mut charts.entry(release.clone()).or_default().given;
            for (path, value) in values {
                choose(given, path, value, |value| value);
            }
        };
        for (release, path) in &self.chart_values {
            give(release, by_path(&read(path)?));
        }
        for ChartValue {
            release,
            path,
            value,
        } in &self.chart_set
        {
            give(release, path.holding(value.clone()));
        }
        Ok(charts)
    }
}

pub(super) fn parsed<T: FromStr<Err: ToString>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|error: T::Err| error.to_string())
}

pub(super) fn chart_file(word: &str) -> Result<(ReleaseName, PathBuf), String> {
    let (release, path) = word
        .split_once('=')
        .ok_or("there is no `=` between a release and a file")?;
    Ok((parsed(release)?, PathBuf::from(path)))
}

pub(super) fn chart_value(word: &str) -> Result<ChartValue, String> {
    let (release, rest) = word
        .split_once(':')
        .ok_or("there is no `:` between a release and the path of a value")?;
    let (path, value) =
        at_value(rest).ok_or("there is no `=` between the path of a value and the value")?;
    let value = match value {
        "" => Value::from(""),
        text => yaml::from_slice(text.as_bytes()).map_err(|error| error.to_string())?,
    };
    Ok(ChartValue {
        release: parsed(release)?,
        path: parsed(path)?,
        value,
    })
}

/// Divides at the first `=` that no backslash makes part of a key.
fn at_value(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    let at = text.find(|letter| {
        let found = letter == '=' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        found
    })?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::asked;

    #[test]
    fn values_of_charts_are_typed_and_the_last_one_counts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "{size: 1, ingress: {hosts: [a], enabled: true}}",
        )
        .unwrap();
        let values = format!("db={}", file.path().display());
        let sets = [
            "db:size=2",
            "db:a\\=b.c=x=y",
            "db:ingress.hosts[0]=b, c",
            "db:ingress={enabled: false, class: nginx}",
            "db:text='2'",
            "db:empty=",
            "db:gone=null",
        ];
        let sets = sets.iter().flat_map(|set| ["--chart-set", set]);
        let words = [
            "--unset",
            "cache:",
            "--unset",
            "db:tls.key",
            "--unset",
            "size",
        ];
        let words: Vec<&str> = ["--chart-values", &values]
            .into_iter()
            .chain(sets)
            .chain(words)
            .collect();
        let expected = json!({
            "unset": ["size"],
            "charts": {
                "cache": { "unsetAll": true },
                "db": {
                    "given": {
                        "a\\=b.c": "x=y", "size": 2, "text": "2", "empty": "", "gone": null,
                        "ingress.hosts": ["a"], "ingress.hosts[0]": "b, c",
                        "ingress.enabled": false, "ingress.class": "nginx",
                    },
                    "unset": ["tls.key"],
                },
            },
        });
        assert_eq!(json!(asked(&words).unwrap()), expected);
    }

    #[test]
    fn what_names_no_value_of_a_chart_is_refused() {
        for (words, why) in [
            (["--chart-set", "size=1"], "no `:`"),
            (["--chart-set", "db:size"], "no `=`"),
            (["--chart-set", "db:=1"], "a key is empty"),
            (["--chart-set", "db:a=[1"], "invalid value"),
            (["--chart-values", "db"], "no `=`"),
            (["--unset", "db:a..b"], "a key is empty"),
        ] {
            let refused = asked(&words).unwrap_err();
            assert!(refused.contains(why), "{words:?}: {refused}");
        }
    }
}
