//! The values of a Solution's parameters, as they are typed.

mod charts;
mod typed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use importer::{AskedParameters, ChosenBefore, Given, ParameterValues};
use schemas::{ParameterName, ReleaseName, yaml};

use self::typed::{ChartValue, Unset, chart_file, chart_value, parsed};
use crate::disk;
use crate::failure::Failure;

/// What is chosen for a Solution's parameters; of none both that it is chosen and that the choice is taken back.
#[derive(Clone, Debug)]
pub(crate) struct ParameterArguments(GivenParameters);

#[derive(Args, Clone, Debug)]
struct GivenParameters {
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
        GivenParameters::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        GivenParameters::augment_args_for_update(command)
    }
}

/// By hand, so that a command line that contradicts itself is refused before anything is read.
impl FromArgMatches for ParameterArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = GivenParameters::from_arg_matches(matches)?;
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

impl GivenParameters {
    fn takes_back(&self, name: &ParameterName) -> bool {
        let mut unset = self.unset.iter();
        unset.any(|unset| matches!(unset, Unset::Parameter(unset) if unset == name))
    }
}

impl ParameterArguments {
    /// Whether anything is chosen or taken back.
    pub(crate) fn are_given(&self) -> bool {
        let GivenParameters {
            set,
            values,
            chart_values,
            chart_set,
            unset,
        } = &self.0;
        let charts = !chart_values.is_empty() || !chart_set.is_empty();
        charts || !set.is_empty() || !values.is_empty() || !unset.is_empty()
    }

    /// What is asked for, with what the files hold. Of several values of a parameter the last one counts.
    pub(crate) fn asked(&self) -> Result<AskedParameters, Failure> {
        let mut given = BTreeMap::new();
        for path in &self.0.values {
            let values = read(path)?;
            if let Some(name) = values.keys().find(|name| self.0.takes_back(name)) {
                return Err(Failure::usage(twice(name, "--values")));
            }
            let values = values.into_iter();
            given.extend(values.map(|(name, value)| (name, Given::Filed(value))));
        }
        let words = self.0.set.iter().cloned();
        given.extend(words.map(|(name, word)| (name, Given::Word(word))));
        Ok(AskedParameters {
            before: ChosenBefore::Keep,
            given,
            unset: self.0.unset.iter().filter_map(Unset::parameter).collect(),
            charts: self.0.charts()?,
        })
    }
}

/// The values of parameters that a YAML file has, as a map by name.
pub(crate) fn read(path: &Path) -> Result<ParameterValues, Failure> {
    let context = || format!("cannot use the values in `{}`", path.display());
    let bytes = disk::read(path)?;
    yaml::from_slice(&bytes).map_err(|error| Failure::no(error).context(context()))
}

fn assignment(word: &str) -> Result<(ParameterName, String), String> {
    let (name, value) = word.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((parsed(name)?, value.to_owned()))
}

#[cfg(test)]
pub(crate) mod tests {
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
        // Before a file is read: there is none of this name.
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
}
