//! The images that charts need, compared with the packaged images, and the remarks that result from rendering charts.
//! The entry points are [`check_images`] for missing images and [`remarks`].

use std::collections::{BTreeMap, BTreeSet};

use manifests::reference;
use schemas::{ImagePlace, ImageReference, ReleaseName, SolutionId, SourceImage, SourceSpec};

use crate::evidence::ImageEvidence;
use crate::example_inputs;
use crate::missing_images::MissingImage;
use crate::practices::ChartPractices;
use crate::problems::SourceProblems;
use crate::rendered::ExternalParts;
use crate::value_images::RepositoryInValues;

/// A remark on a chart for its publisher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChartRemark {
    /// The place of an object that differs between two renderings.
    Differs(String),
    /// The place of a value that must be a string but that YAML parses as another type.
    NoText(String),
    /// The parts of the chart that are outside its namespace.
    ReachesOut(ExternalParts),
    /// A repository in the values that no rendered object names.
    TurnedOff(RepositoryInValues),
    /// A repository in the values that occurs without a tag, and the place of that occurrence.
    Untagged(RepositoryInValues, String),
    /// The annotation that lists the chart's images is invalid.
    Annotation(&'static str),
    /// The images that the annotation for scanners lists and that are not packaged.
    ForScanners(Vec<ImageReference>),
}

/// The images that a chart needs in addition to its own artifact, and the discouraged practices in its objects.
#[derive(Debug)]
pub(crate) struct RenderedImages {
    pub(crate) release: ReleaseName,
    /// The discouraged practices in the rendered objects.
    pub(crate) practices: ChartPractices,
    /// The chart's field in `solution.yaml`.
    pub(crate) field: String,
    /// The images that the chart names, without those that have a stand-in or are listed as unused.
    pub(crate) named: Vec<MissingImage>,
    /// The repositories in values that no rendered object names with a tag, each with a place that names it without
    /// one.
    pub(crate) in_values: Vec<(RepositoryInValues, Option<String>)>,
    /// The images that the chart lists for scanners, without unused ones.
    pub(crate) for_scanners: Vec<ImageReference>,
    /// Every place that names an image or may name one.
    pub(crate) evidence: BTreeSet<ImageEvidence>,
    /// The rendered image references of pods that may create pods.
    pub(crate) starters: BTreeSet<String>,
    /// The images that are listed as unused.
    pub(crate) unused: Vec<ImageReference>,
}

impl RenderedImages {
    /// Returns the named images that are not in `known`.
    fn missing(&self, known: &BTreeSet<String>) -> impl Iterator<Item = &MissingImage> {
        let named = self.named.iter();
        named.filter(|missing| !known.contains(missing.reference.as_str()))
    }
}

/// Returns the places of images by the names in rendered objects: stand-ins for the images of the source, and the
/// references of collected images.
pub(crate) fn names_of_images<'a>(
    id: &SolutionId,
    spec: &SourceSpec,
    references: impl Iterator<Item = (ImagePlace, &'a ImageReference)>,
) -> BTreeMap<String, ImagePlace> {
    let places: Vec<ImagePlace> = spec.images.iter().map(SourceImage::place).collect();
    let mut names =
        example_inputs::addresses(&example_inputs::expansion(id, &places, &spec.parameters));
    names.extend(references.filter_map(|(place, reference)| Some((complete(reference)?, place))));
    names
}

fn complete(reference: &ImageReference) -> Option<String> {
    Some(reference::normal(reference.as_str())?.to_string())
}

/// Adds findings for images that charts name and that are not among these references.
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

/// Returns the remarks on charts that depend on the packaged images.
pub(crate) fn remarks<'a>(
    rendered: &[RenderedImages],
    references: impl Iterator<Item = &'a ImageReference>,
) -> Vec<(ReleaseName, ChartRemark)> {
    let known = references.filter_map(|reference| reference::normal(reference.as_str()));
    let known: Vec<ImageReference> = known.collect();
    let repositories: BTreeSet<String> = known.iter().map(reference::repository).collect();
    let known: BTreeSet<&str> = known.iter().map(ImageReference::as_str).collect();
    let mut remarks = Vec::new();
    for chart in rendered {
        let images = chart.for_scanners.iter();
        let images = images.map(|image| (image.as_str(), image));
        let images: BTreeMap<_, _> = images.filter(|(image, _)| !known.contains(image)).collect();
        if !images.is_empty() {
            let images = images.into_values().cloned().collect();
            remarks.push((chart.release.clone(), ChartRemark::ForScanners(images)));
        }
        let in_values = chart.in_values.iter();
        let in_values = in_values.filter(|(repository, _)| !repository.is_among(&repositories));
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
                .map(|text| text.parse().unwrap())
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
        let missing: Vec<_> = missing.map(|missing| missing.reference.as_str()).collect();
        assert_eq!(missing, ["r.test/a:1"]);
        let told: Vec<_> = remarks(&rendered, references.iter())
            .into_iter()
            .map(|(_, remark)| match remark {
                ChartRemark::ForScanners(images) => format!("listed {images:?}"),
                ChartRemark::TurnedOff(off) => format!("off {}", off.repository),
                ChartRemark::Untagged(repository, place) => {
                    format!("{} in {place}", repository.repository)
                }
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
