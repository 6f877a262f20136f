//! The decisions about a source tree that `solution pack` created from a chart or release, for people and programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use packager::{ImageEvidence, Pinned};
use release::Note;
use schemars::JsonSchema;
use schemas::{
    ImagePlace, ImageSource, Namespace, ReleaseName, SolutionName, SourceNamespace, Version,
};
use serde::Serialize;

use super::creation::CreationArguments;
use super::why;
use crate::args::choose;
use crate::commands::init::choices::CreatedTree;
use crate::commands::init::source::Source;

/// The source that the archive was created from, and the decisions about it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceDecisions {
    /// The kind of the source.
    pub(super) kind: DecidedKind,
    /// The source as it was named.
    pub(super) from: String,
    /// The name of the Solution.
    pub(super) solution: SolutionName,
    /// The version of the Solution.
    pub(super) version: Version,
    /// The origin of the name.
    pub(super) name_from: Origin,
    /// The origin of the version.
    pub(super) version_from: Origin,
    /// The Helm releases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) releases: Vec<DecidedRelease>,
    /// The namespaces of the manifests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) namespaces: Vec<SourceNamespace>,
    /// The images with the objects and values that name them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<NamedImage>,
    /// Notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<Note>,
    /// The directory in which the source tree is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tree: Option<PathBuf>,
    #[serde(skip)]
    named_by: BTreeMap<ImagePlace, Vec<String>>,
}

/// The kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PackedSourceKind")]
pub(super) enum DecidedKind {
    /// A Helm chart.
    Chart,
    /// The releases of a helmfile.
    Helmfile,
    /// An upstream archive.
    Archive,
    /// A release of manifests.
    Manifests,
}

/// The origin of a name or version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PackedSourceOrigin")]
pub(super) enum Origin {
    /// A flag.
    Flag,
    /// The source itself.
    Source,
}

/// A Helm release.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PackedSourceRelease")]
pub(super) struct DecidedRelease {
    /// The name of the release.
    pub(super) name: ReleaseName,
    /// Its namespace; missing for that of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<Namespace>,
}

/// An image, and why it is included.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PackedSourceImage")]
pub(super) struct NamedImage {
    /// The place of the image, NAME:TAG.
    pub(super) image: ImagePlace,
    /// The objects and values that name it.
    pub(super) named_by: Vec<String>,
}

impl SourceDecisions {
    pub(super) fn new(
        source: &Source,
        from: String,
        created: &CreatedTree,
        arguments: &CreationArguments,
    ) -> Self {
        let (tree, spec) = (&created.tree, &created.tree.source.spec);
        let origin = |is_flag| choose(is_flag, Origin::Flag, Origin::Source);
        let releases = spec.charts.iter().map(|chart| DecidedRelease {
            name: chart.name.clone(),
            namespace: chart.namespace.clone(),
        });
        let sets = spec.manifests.iter();
        let notes = tree.notes.iter().filter(|note| !note.is_settled_by_packing);
        Self {
            kind: match source {
                Source::Chart(..) => DecidedKind::Chart,
                Source::Helmfile(_) => DecidedKind::Helmfile,
                Source::Upstream(..) => DecidedKind::Archive,
                Source::Release(_) => DecidedKind::Manifests,
            },
            from,
            solution: tree.id.name().clone(),
            version: tree.id.version().clone(),
            name_from: origin(arguments.name.is_some()),
            version_from: origin(arguments.version.is_some()),
            releases: releases.collect(),
            namespaces: sets.flat_map(|set| set.namespaces.clone()).collect(),
            images: Vec::new(),
            notes: notes.cloned().collect(),
            tree: arguments.save_source.clone(),
            named_by: tree.named_by.clone(),
        }
    }

    /// Adds why each of these images is included, if anything names it.
    pub(super) fn add_images(&mut self, pinned: &[Pinned], evidence: &[ImageEvidence]) {
        let own = pinned.iter().filter(|image| image.subject.is_none());
        let named = own.map(|image| {
            let mut named_by = self.named_by.get(&image.place).cloned().unwrap_or_default();
            if let ImageSource::Docker(reference) = &image.from {
                let of_image = evidence.iter().filter(|it| it.is_of(reference));
                named_by.extend(of_image.map(why::in_words));
            }
            NamedImage {
                image: image.place.clone(),
                named_by,
            }
        });
        let named: Vec<_> = named.filter(|image| !image.named_by.is_empty()).collect();
        self.images = named;
    }
}
