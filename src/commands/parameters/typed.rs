//! The words of flags for the values of charts.

use std::path::PathBuf;
use std::str::FromStr;

use charts::read_values;
use schemas::{ParameterName, ReleaseName, ValuePath};
use serde_json::Value;

/// A value of a chart.
#[derive(Clone, Debug)]
pub(super) struct ChartValue {
    pub(super) release: ReleaseName,
    pub(super) path: ValuePath,
    pub(super) value: Value,
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

pub(super) fn parsed<T: FromStr<Err: ToString>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|error: T::Err| error.to_string())
}

pub(super) fn chart_file(word: &str) -> Result<(ReleaseName, PathBuf), String> {
    let (release, path) = word.split_once('=').ok_or("expected RELEASE=FILE")?;
    Ok((parsed(release)?, PathBuf::from(path)))
}

pub(super) fn chart_value(word: &str) -> Result<ChartValue, String> {
    let (release, rest) = word.split_once(':').ok_or("expected RELEASE:PATH=VALUE")?;
    let (path, value) = at_value(rest).ok_or("expected RELEASE:PATH=VALUE")?;
    let value = match value {
        "" => Value::from(""),
        text => one(text)?,
    };
    Ok(ChartValue {
        release: parsed(release)?,
        path: parsed(path)?,
        value,
    })
}

/// Reads one value as Helm reads files of values.
fn one(text: &str) -> Result<Value, String> {
    let wrong = || "the value is not valid YAML".to_owned();
    let mut values = read_values(format!("value: {text}").as_bytes()).map_err(|_| wrong())?;
    let value = values.remove("value").filter(|_| values.is_empty());
    value.ok_or_else(wrong)
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
