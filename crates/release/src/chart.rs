//! `solution init --chart`: a source tree that carries one release of a Helm chart.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use schemas::{
    API_VERSION, ChartName, ChartSource, ChartVersion, ReleaseName, SolutionId, SolutionSource,
};

use crate::notes::{Note, Weight};
use crate::paths::{NOTES, SOURCE};
use crate::write::quoted;
use crate::{ReleaseError, SourceTree, Wishes, display_name, identity, write};

/// A chart that a tree is to carry.
#[derive(Clone, Debug)]
pub struct PublishedChart {
    /// Its name.
    pub name: ChartName,
    /// Its version.
    pub version: ChartVersion,
    /// What the user called it.
    pub called: String,
    /// How `solution.yaml` names it.
    pub source: ChartSource,
    /// The files with values, in the tree, an earlier one before those that go before it.
    pub values: Vec<PathBuf>,
    /// The files that the tree has of it, by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Makes a source tree that carries a chart.
pub fn chart(chart: &PublishedChart, wishes: &Wishes) -> Result<SourceTree, ReleaseError> {
    let id = identity::of_chart(&chart.name, &chart.version).choose(wishes)?;
    let release = release_name(&chart.name);
    let text = text(&id, chart, &release);
    let source = SolutionSource::from_slice(text.as_bytes()).map_err(|_| ReleaseError::Spelling)?;
    let text = write::checked(&source, text)?;
    let as_meant = match &source.spec.charts[..] {
        [read] => {
            (&read.name, &read.source, &read.values) == (&release, &chart.source, &chart.values)
        }
        _ => false,
    };
    if !as_meant || source.id().ok().as_ref() != Some(&id) {
        return Err(ReleaseError::Spelling);
    }
    let notes = notes();
    let mut files = chart.files.clone();
    let undecided = write::undecided(&id, write::CHART, &chart.called, &notes);
    files.insert(NOTES.to_owned(), undecided);
    files.insert(SOURCE.to_owned(), text);
    Ok(SourceTree {
        id,
        source,
        files,
        notes,
    })
}

/// The release, called as the chart is, as far as a release can be.
fn release_name(chart: &ChartName) -> ReleaseName {
    let label = chart.as_str().replace(['.', '_'], "-");
    let end = label.len().min(schemas::limits::RELEASE_NAME);
    let name = label[..end].trim_end_matches('-').parse();
    name.expect("the name of a chart is a DNS label but for its separators and its length")
}

fn notes() -> Vec<Note> {
    let note = |about, text| Note::new(Weight::Decide, about, text);
    vec![
        note(
            "images",
            "`spec.images` lists none yet. `solution pack --add-images` adds those that the chart names; add those that its programs start without naming them",
        ),
        note(
            "values",
            "the chart pulls from its own registries unless its values say otherwise. Where it asks for an image, write a placeholder, such as `repository: $(image.repository:NAME)` and `tag: $(image.tag:NAME)`",
        ),
    ]
}

fn text(id: &SolutionId, chart: &PublishedChart, release: &ReleaseName) -> String {
    let (key, shown) = display_name(id.name(), None);
    let (name, version) = (quoted(id.name().as_str()), id.version().to_string());
    let mut text = format!(
        "# Made by `solution init --chart` of `{}`.
apiVersion: {API_VERSION}
kind: SolutionSource
metadata:
  name: {name}
  annotations:
    {key}: {}
spec:
  version: {}
  # Optional. The versions that a site can upgrade from.
  # upgradeFrom: '>=0.0.1'

  # Every image that the chart runs. `solution pack --add-images` adds those that it names.
  images: []

  charts:
    - name: {}
      source: {}
",
        manifests::shown(&chart.called),
        quoted(&shown),
        quoted(&version),
        quoted(release.as_str()),
        quoted(&chart.source.to_string()),
    );
    let values = chart.values.iter().map(|it| quoted(&it.to_string_lossy()));
    let values: Vec<String> = values.collect();
    // Writing to a String cannot fail.
    let _ = match &values[..] {
        [] => writeln!(text, "      # values: [values.yaml]"),
        values => writeln!(text, "      values: [{}]", values.join(", ")),
    };
    text
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
        let tree = chart(&published("web.shop_a", "v1.2.3+b"), &Wishes::default());
        let said = tree.unwrap_err().to_string();
        assert!(said.contains("no name that is valid"), "{said}");
        let wishes = Wishes {
            name: Some("shop".parse().unwrap()),
            ..Wishes::default()
        };
        let tree = chart(&published("web.shop_a", "v1.2.3+b"), &wishes).unwrap();
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
