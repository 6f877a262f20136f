//! The images that charts need, compared with those that are carried; and the remarks on charts that come of rendering them.

use std::collections::{BTreeMap, BTreeSet};

use manifests::reference;
use schemas::{ImagePlace, ImageReference, ReleaseName, SolutionId, SourceImage, SourceSpec};

use crate::evidence::ImageEvidence;
use crate::in_values::RepositoryInValues;
use crate::missing::MissingImage;
use crate::practices::ChartPractices;
use crate::problems::SourceProblems;
use crate::rendered::ReachesOut;
use crate::stand_ins;

/// A remark on a chart that its publisher should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChartRemark {
    /// An object that is another in each rendering, where it stands.
    Differs(String),
    /// A value that must be a text and that YAML reads as something else, where it stands.
    NoText(String),
    /// The chart is not of its namespace alone.
    ReachesOut(ReachesOut),
    /// A repository that stands in values, and that nothing rendered names.
    TurnedOff(RepositoryInValues),
    /// A repository that stands in values, and without a tag where this says.
    Untagged(RepositoryInValues, String),
    /// An annotation that lists the chart's images cannot be understood.
    Annotation(&'static str),
    /// Images that its annotation for scanners lists, and that are not carried.
    ForScanners(Vec<ImageReference>),
}

/// The images that a chart needs besides itself, and what is better avoided in its objects.
#[derive(Debug)]
pub(crate) struct RenderedImages {
    pub(crate) release: ReleaseName,
    /// What is better avoided in the objects that it renders to.
    pub(crate) practices: ChartPractices,
    /// The field of `solution.yaml` that it is.
    pub(crate) field: String,
    /// The images that it names, but for those that have a stand-in or are unused.
    pub(crate) named: Vec<MissingImage>,
    /// Repositories in its values that nothing rendered names with a tag; each with the place where one stands without.
    pub(crate) in_values: Vec<(RepositoryInValues, Option<String>)>,
    /// The images that it lists for scanners, but for those that are unused.
    pub(crate) for_scanners: Vec<ImageReference>,
    /// Every place that names an image, or may.
    pub(crate) evidence: BTreeSet<ImageEvidence>,
    /// The images of pods that may create pods, as they are rendered.
    pub(crate) starters: BTreeSet<String>,
    /// The images that nothing pulls.
    pub(crate) unused: Vec<ImageReference>,
}

impl RenderedImages {
    /// The images that it names and that are not among these.
    fn missing(&self, known: &BTreeSet<String>) -> impl Iterator<Item = &MissingImage> {
        let named = self.named.iter();
        named.filter(|it| !known.contains(it.reference.as_str()))
    }
}

/// Returns the images by the names that rendered objects have for them: the stand-ins for those of the source, and the
/// references of those that are collected.
pub(crate) fn names_of_images<'a>(
    id: &SolutionId,
    spec: &SourceSpec,
    references: impl Iterator<Item = (ImagePlace, &'a ImageReference)>,
) -> BTreeMap<String, ImagePlace> {
    let places: Vec<ImagePlace> = spec.images.iter().map(SourceImage::place).collect();
    let mut names = stand_ins::addresses(&stand_ins::expansion(id, &places, &spec.parameters));
    names.extend(references.filter_map(|(place, it)| Some((complete(it)?, place))));
    names
}

fn complete(reference: &ImageReference) -> Option<String> {
    Some(reference::normal(reference.as_str())?.to_string())
}

/// Finds the images that charts name and that are not among these.
pub(crate) fn check_images<'a>(
    rendered: &[RenderedImages],
    references: impl Iterator<Item = &'a ImageReference>,
    problems: &mut SourceProblems<'_>,
) {
    let known: BTreeSet<String> = references.filter_map(complete).collect();
    for chart in rendered {
        for missing in chart.missing(&known) {
            problems.image_of_chart(missing.clone(), &chart.field);
        }
    }
}

/// Returns what is to be told of charts once it is known which images are carried.
pub(crate) fn remarks<'a>(
    rendered: &[RenderedImages],
    references: impl Iterator<Item = &'a ImageReference>,
) -> Vec<(ReleaseName, ChartRemark)> {
    let known = references.filter_map(|it| reference::normal(it.as_str()));
    let known: Vec<ImageReference> = known.collect();
    let repositories: BTreeSet<String> = known.iter().map(reference::repository).collect();
    let known: BTreeSet<&str> = known.iter().map(ImageReference::as_str).collect();
    let mut remarks = Vec::new();
    for chart in rendered {
        let images = chart.for_scanners.iter();
        let images = images.map(|it| (it.as_str(), it));
        let images: BTreeMap<_, _> = images.filter(|(it, _)| !known.contains(it)).collect();
        if !images.is_empty() {
            let images = images.into_values().cloned().collect();
            remarks.push((chart.release.clone(), ChartRemark::ForScanners(images)));
        }
        let in_values = chart.in_values.iter();
        let in_values = in_values.filter(|(it, _)| !it.is_among(&repositories));
        remarks.extend(in_values.map(|(repository, place)| {
            let repository = repository.clone();
            let remark = match place {
                Some(place) => ChartRemark::Untagged(repository, place.clone()),
                None => ChartRemark::TurnedOff(repository),
            };
            (chart.release.clone(), remark)
        }));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered() -> RenderedImages {
        let image = |reference: &str| MissingImage {
            reference: reference.parse().unwrap(),
            place: String::new(),
            pointer: String::new(),
        };
        let off = |repository: &str| RepositoryInValues {
            path: "image".to_owned(),
            repository: repository.to_owned(),
            switch: None,
            is_bare: false,
            written: repository.to_owned(),
        };
        RenderedImages {
            release: "web".parse().unwrap(),
            practices: ChartPractices::default(),
            field: "spec.charts[0]".to_owned(),
            named: vec![image("docker.io/library/nginx:1"), image("r.test/a:1")],
            in_values: vec![
                (off("r.test/b"), None),
                (off("r.test/c"), None),
                (off("r.test/d"), Some("a ConfigMap".to_owned())),
            ],
            for_scanners: ["r.test/a:1", "r.test/c:7", "r.test/a:1"]
                .map(|it| it.parse().unwrap())
                .into(),
            evidence: BTreeSet::new(),
            starters: BTreeSet::new(),
            unused: Vec::new(),
        }
    }

    #[test]
    fn images_count_as_carried_in_every_spelling() {
        let references = ["nginx:1".parse().unwrap(), "r.test/c:7".parse().unwrap()];
        let rendered = [rendered()];
        let known = references.iter().filter_map(complete).collect();
        let missing = rendered[0].missing(&known);
        let missing: Vec<_> = missing.map(|it| it.reference.as_str()).collect();
        assert_eq!(missing, ["r.test/a:1"]);
        let told: Vec<_> = remarks(&rendered, references.iter())
            .into_iter()
            .map(|(_, remark)| match remark {
                ChartRemark::ForScanners(images) => format!("listed {images:?}"),
                ChartRemark::TurnedOff(off) => format!("off {}", off.repository),
                ChartRemark::Untagged(it, place) => format!("{} in {place}", it.repository),
                remark => panic!("{remark:?}"),
            })
            .collect();
        assert_eq!(
            told,
            [
                "listed [\"r.test/a:1\"]",
                "off r.test/b",
                "r.test/d in a ConfigMap"
            ]
        );
    }
}
