//! What is asked for the values of charts.

use std::collections::BTreeMap;
use std::path::Path;

use charts::read_values;
use importer::AskedValues;
use schemas::{ReleaseName, ValuesByPath, by_path, choose};
use serde_json::{Map, Value};

use super::GivenParameters;
use super::typed::{ChartValue, Unset};
use crate::disk;
use crate::failure::Failure;

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
