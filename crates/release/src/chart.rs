//! Source trees for `solution init --chart`. [`chart`] drafts a Solution with one release of a Helm chart.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemas::{
    ChartName, ChartSource, ChartVersion, ReleaseName, SiteValues, SourceChart, Strategy,
};

use crate::paths::{NOTES, SOURCE};
use crate::{InitOptions, ReleaseError, SourceTree, charts, empty_source, identity, write};

/// A Helm chart, and the files that the tree has for it.
#[derive(Clone, Debug)]
pub struct PublishedChart {
    /// The name of the chart.
    pub name: ChartName,
    /// The version of the chart.
    pub version: ChartVersion,
    /// The name of the chart as the user wrote it, for comments and notes.
    pub called: String,
    /// The source of the chart in `solution.yaml`.
    pub source: ChartSource,
    /// The paths of the values files in the tree. Later files override earlier ones.
    pub values: Vec<PathBuf>,
    /// The files of the chart and its values, by path in the tree.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Drafts a source tree with one release of a chart.
///
/// # Errors
///
/// Fails if the chart's name or version is not valid for a Solution and `options` have no other.
pub fn chart(chart: &PublishedChart, options: &InitOptions) -> Result<SourceTree, ReleaseError> {
    let id = identity::of_chart(&chart.name, &chart.version).choose(options)?;
    let release = SourceChart {
        name: release_name(&chart.name),
        source: chart.source.clone(),
        values: chart.values.clone(),
        render: Vec::new(),
        unused_images: Vec::new(),
        namespace: None,
        namespaces: Vec::new(),
        when: None,
        strategy: Strategy::Managed,
        needs: Vec::new(),
        timeout: None,
        site_values: SiteValues::default(),
    };
    let mut source = empty_source(&id);
    source.spec.charts.push(release);
    let text = charts::text(&source, write::CHART, &chart.called)?;
    let notes = charts::notes();
    let mut files = chart.files.clone();
    let undecided = write::undecided(&id, write::CHART, &chart.called, &notes);
    files.insert(NOTES.to_owned(), undecided);
    files.insert(SOURCE.to_owned(), text);
    Ok(SourceTree {
        id,
        source,
        files,
        notes,
        named_by: BTreeMap::new(),
    })
}

/// Returns the chart's name as a release name: separators become `-`, and the end is cut off at the maximum length.
fn release_name(chart: &ChartName) -> ReleaseName {
    let label = chart.as_str().replace(['.', '_'], "-");
    let end = label.len().min(schemas::limits::RELEASE_NAME);
    let name = label[..end].trim_end_matches('-').parse();
    name.expect("the name of a chart is a DNS label but for its separators and its length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(name: &str, version: &str) -> PublishedChart {
        PublishedChart {
            name: name.parse().unwrap(),
            version: version.parse().unwrap(),
            called: "oci://r.test/web:1.2.3\n# x".to_owned(),
            source: format!("oci://r.test/web:{version}").parse().unwrap(),
            values: vec!["values-1.yaml".into(), "values-2.yaml".into()],
            files: BTreeMap::from([("values-1.yaml".to_owned(), b"a: b".to_vec())]),
        }
    }

    #[test]
    fn a_tree_has_one_release_of_the_chart() {
        let tree = chart(
            &published("web.shop_a", "v1.2.3+b"),
            &InitOptions::default(),
        );
        let said = tree.unwrap_err().to_string();
        assert!(said.contains("no name that is valid"), "{said}");
        let options = InitOptions {
            name: Some("shop".parse().unwrap()),
            ..InitOptions::default()
        };
        let tree = chart(&published("web.shop_a", "v1.2.3+b"), &options).unwrap();
        assert_eq!(tree.id.to_string(), "shop-1.2.3");
        let [release] = &tree.source.spec.charts[..] else {
            panic!("one chart was given");
        };
        assert_eq!(release.name.as_str(), "web-shop-a");
        assert_eq!(release.source.to_string(), "oci://r.test/web:v1.2.3+b");
        assert_eq!(release.values.len(), 2);
        let names: Vec<&str> = tree.files.keys().map(String::as_str).collect();
        assert_eq!(names, ["NOTES.md", "solution.yaml", "values-1.yaml"]);
        assert!(tree.source.spec.images.is_empty());
        let notes = String::from_utf8(tree.files["NOTES.md"].clone()).unwrap();
        assert!(notes.contains("`solution init --chart`"), "{notes}");
    }

    #[test]
    fn releases_are_called_as_charts_are() {
        for (chart, release) in [
            ("web", "web".to_owned()),
            ("a.b_c-d", "a-b-c-d".to_owned()),
            (&format!("{}-b", "a".repeat(52)), "a".repeat(52)),
            (&"a".repeat(63), "a".repeat(53)),
        ] {
            assert_eq!(release_name(&chart.parse().unwrap()).as_str(), release);
        }
    }
}
