//! The values of parameters and charts on the command line. Contradictions, such as a parameter that is both set and
//! unset, are refused while the command line is parsed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use charts::read_values;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use importer::{AskedParameters, AskedValues, ChosenBefore, GivenValue, ParameterValues};
use schemas::{ParameterName, ReleaseName, ValuePath, ValuesByPath, by_path, choose, yaml};
use serde_json::{Map, Value};

use crate::disk;
use crate::failure::Failure;

/// The choices for a Solution's parameters. No parameter is both set and unset.
#[derive(Clone, Debug)]
pub(crate) struct ParameterArguments(TypedParameters);

#[derive(Args, Clone, Debug)]
struct TypedParameters {
    /// Set a parameter that is not sensitive; later deployments keep the value
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(ParameterName, String)>,

    /// Set parameters from a YAML file with a map by name; --set takes precedence
    #[arg(long, value_name = "FILE")]
    values: Vec<PathBuf>,

    /// Set values of a chart from a YAML file; they override the archive and the site configuration
    #[arg(long, value_name = "RELEASE=FILE", value_parser = chart_file)]
    chart_values: Vec<(ReleaseName, PathBuf)>,

    /// Set one value of a chart, with Helm's syntax for PATH and YAML for VALUE; overrides files
    #[arg(long, value_name = "RELEASE:PATH=VALUE", value_parser = chart_value)]
    chart_set: Vec<ChartValue>,

    /// Unset a parameter or chart value, so that the site configuration or the default applies
    #[arg(long, value_name = "NAME|RELEASE:[PATH]", value_parser = Unset::parse)]
    unset: Vec<Unset>,
}

impl Args for ParameterArguments {
    fn augment_args(command: Command) -> Command {
        TypedParameters::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        TypedParameters::augment_args_for_update(command)
    }
}

/// The implementation is manual, so that a contradictory command line is refused before any file is read.
impl FromArgMatches for ParameterArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = TypedParameters::from_arg_matches(matches)?;
        match typed.set.iter().find(|(name, _)| typed.takes_back(name)) {
            Some((name, _)) => Err(clap::Error::raw(
                ErrorKind::ArgumentConflict,
                twice(name, "--set"),
            )),
            None => Ok(Self(typed)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn twice(name: &ParameterName, flag: &str) -> String {
    format!("cannot use both `{flag}` and `--unset` for the parameter `{name}`")
}

impl TypedParameters {
    fn takes_back(&self, name: &ParameterName) -> bool {
        let mut unset = self.unset.iter();
        unset.any(|unset| matches!(unset, Unset::Parameter(unset) if unset == name))
    }
}

impl ParameterArguments {
    /// Returns true if a value is set or unset.
    pub(crate) fn are_given(&self) -> bool {
        let TypedParameters {
            set,
            values,
            chart_values,
            chart_set,
            unset,
        } = &self.0;
        let charts = !chart_values.is_empty() || !chart_set.is_empty();
        charts || !set.is_empty() || !values.is_empty() || !unset.is_empty()
    }

    /// Returns the requested parameters with the contents of the files. The last of multiple values for a parameter
    /// counts.
    pub(crate) fn asked(&self) -> Result<AskedParameters, Failure> {
        let mut given = BTreeMap::new();
        for path in &self.0.values {
            let values = read(path)?;
            if let Some(name) = values.keys().find(|name| self.0.takes_back(name)) {
                return Err(Failure::usage(twice(name, "--values")));
            }
            let values = values.into_iter();
            given.extend(values.map(|(name, value)| (name, GivenValue::Filed(value))));
        }
        let words = self.0.set.iter().cloned();
        given.extend(words.map(|(name, word)| (name, GivenValue::Word(word))));
        Ok(AskedParameters {
            before: ChosenBefore::Keep,
            given,
            unset: self.0.unset.iter().filter_map(Unset::parameter).collect(),
            charts: self.0.charts()?,
        })
    }
}

/// Reads the values of parameters from a YAML file, which is a map by name.
pub(super) fn read(path: &Path) -> Result<ParameterValues, Failure> {
    let context = || format!("cannot use the values in `{}`", path.display());
    let bytes = disk::read(path)?;
    yaml::from_slice(&bytes).map_err(|error| Failure::no(error).context(context()))
}

fn assignment(word: &str) -> Result<(ParameterName, String), String> {
    let (name, value) = word.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((parsed(name)?, value.to_owned()))
}

/// A value of a chart.
#[derive(Clone, Debug)]
struct ChartValue {
    release: ReleaseName,
    path: ValuePath,
    value: Value,
}

/// A value that is reset to its default.
#[derive(Clone, Debug)]
enum Unset {
    Parameter(ParameterName),
    /// All values of a release.
    Values(ReleaseName),
    /// One value of a release, with all nested values.
    Value(ReleaseName, ValuePath),
}

impl Unset {
    fn parse(word: &str) -> Result<Self, String> {
        let Some((release, path)) = word.split_once(':') else {
            return parsed(word).map(Self::Parameter);
        };
        let release = parsed(release)?;
        if path.is_empty() {
            return Ok(Self::Values(release));
        }
        parsed(path).map(|path| Self::Value(release, path))
    }

    fn parameter(&self) -> Option<ParameterName> {
        match self {
            Self::Parameter(name) => Some(name.clone()),
            Self::Values(_) | Self::Value(..) => None,
        }
    }
}

fn parsed<T: FromStr<Err: ToString>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|error: T::Err| error.to_string())
}

fn chart_file(word: &str) -> Result<(ReleaseName, PathBuf), String> {
    let (release, path) = word.split_once('=').ok_or("expected RELEASE=FILE")?;
    Ok((parsed(release)?, PathBuf::from(path)))
}

fn chart_value(word: &str) -> Result<ChartValue, String> {
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

/// Parses one value as Helm parses values files.
fn one(text: &str) -> Result<Value, String> {
    let wrong = || "the value is not valid YAML".to_owned();
    let mut values = read_values(format!("value: {text}").as_bytes()).map_err(|_| wrong())?;
    let value = values.remove("value").filter(|_| values.is_empty());
    value.ok_or_else(wrong)
}

/// Splits at the first `=` that is not escaped with a backslash.
fn at_value(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    let at = text.find(|letter| {
        let found = letter == '=' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        found
    })?;
    Some((&text[..at], &text[at + 1..]))
}

impl TypedParameters {
    /// Returns the requested values of charts with the contents of the files.
    fn charts(&self) -> Result<BTreeMap<ReleaseName, AskedValues>, Failure> {
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
            give(release, by_path(&file(path)?));
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

fn file(path: &Path) -> Result<Map<String, Value>, Failure> {
    let context = || format!("cannot use the values in `{}`", path.display());
    let bytes = disk::read(path)?;
    read_values(&bytes).map_err(|error| Failure::no(error).context(context()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;

    #[derive(clap::Parser)]
    struct Verb {
        #[command(flatten)]
        parameters: ParameterArguments,
    }

    pub(super) fn asked(words: &[&str]) -> Result<AskedParameters, String> {
        let typed = [&["solution"], words].concat();
        let verb = Verb::try_parse_from(typed).map_err(|error| error.to_string())?;
        let asked = verb.parameters.asked();
        asked.map_err(|failure| failure.lines().collect())
    }

    #[test]
    fn words_count_before_files_and_the_last_one_before_all() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let one = file("one.yaml", "{size: 1, host: one.test, debug: true}");
        let two = file("two.yaml", "{host: two.test}");
        let words = ["--set", "size=2", "--set", "size=a=b", "--unset", "token"];
        let files = ["--values", &one, "--values", &two];
        let asked = asked(&[&words[..], &files].concat()).unwrap();
        let expected = json!({
            "given": {
                "size": { "word": "a=b" },
                "host": { "filed": "two.test" },
                "debug": { "filed": true },
            },
            "unset": ["token"],
        });
        assert_eq!(json!(asked), expected);
    }

    #[test]
    fn what_is_no_assignment_and_no_map_is_refused() {
        let refused = asked(&["--set", "size"]).unwrap_err();
        assert!(refused.contains("expected NAME=VALUE"), "{refused}");
        let refused = asked(&["--set", "1=x"]).unwrap_err();
        assert!(refused.contains("parameter name"), "{refused}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[a]").unwrap();
        let refused = asked(&["--values", file.path().to_str().unwrap()]).unwrap_err();
        assert!(refused.contains("cannot use the values in"), "{refused}");
    }

    #[test]
    fn what_is_given_is_not_taken_back_as_well() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{host: one.test}").unwrap();
        let file = file.path().to_str().unwrap();
        // The contradiction is reported before any file is read, because this one does not exist.
        let words = [
            "--unset",
            "size",
            "--values",
            "none.yaml",
            "--set",
            "size=1",
        ];
        let refused = asked(&words).unwrap_err();
        let both = "cannot use both `--set` and `--unset` for the parameter `size`";
        assert!(refused.contains(both), "{refused}");
        let refused = asked(&["--unset", "host", "--values", file]).unwrap_err();
        let both = "cannot use both `--values` and `--unset` for the parameter `host`";
        assert!(refused.contains(both), "{refused}");
    }

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
            (["--chart-set", "size=1"], "RELEASE:PATH=VALUE"),
            (["--chart-set", "db:size"], "RELEASE:PATH=VALUE"),
            (["--chart-set", "db:=1"], "a key is empty"),
            (["--chart-set", "db:a=[1"], "not valid YAML"),
            (["--chart-set", "db:a=1\nb: 2"], "not valid YAML"),
            (["--chart-values", "db"], "RELEASE=FILE"),
            (["--unset", "db:a..b"], "a key is empty"),
        ] {
            let refused = asked(&words).unwrap_err();
            assert!(refused.contains(why), "{words:?}: {refused}");
        }
    }
}
