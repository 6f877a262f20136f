//! The result of packing, as people read it, and the decisions about a source tree that `solution pack` created from a
//! chart or release. The author reviews the decisions and the warnings before the archive is published, because some
//! depend on the application.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use packager::{
    EvidenceReason, ImageCandidate, ImageEvidence, PackReport, PackedProgram, PackedSboms,
    PinnedImage,
};
use release::{Note, NoteWeight};
use schemars::JsonSchema;
use schemas::{
    ImagePlace, ImageSource, Namespace, ReleaseName, SolutionName, SourceNamespace, Version,
};
use serde::Serialize;

use super::arguments::CreationArguments;
use crate::args::choose;
use crate::commands::init::arguments::CreatedTree;
use crate::commands::init::source::Source;
use crate::render;

/// Describes the place that names an image, and the reason why it counts.
pub(super) fn describe_evidence(evidence: &ImageEvidence) -> String {
    format!("{}: {}", evidence.place, describe_reason(evidence.reason))
}

fn describe_reason(reason: EvidenceReason) -> &'static str {
    use packager::Mention;

    match reason {
        EvidenceReason::Text(Mention::Container) => {
            "it is the image of a container or an image volume"
        }
        EvidenceReason::Text(Mention::Name) => {
            "the name of the field, the variable or the flag indicates an image"
        }
        EvidenceReason::Text(Mention::Address) => "the text has a registry and a tag or a digest",
        EvidenceReason::Text(Mention::Known) => {
            "the text has a tag or a digest, and its repository is in the values, a list or another object"
        }
        EvidenceReason::Parts => "the fields are its parts",
        EvidenceReason::Default => "it is a default value of the definition",
        EvidenceReason::Annotation => "the annotation lists it",
        EvidenceReason::Value => "the value has the repository, but no rendered object has it",
    }
}

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
    pub(super) fn add_images(&mut self, pinned: &[PinnedImage], evidence: &[ImageEvidence]) {
        let own = pinned.iter().filter(|image| image.subject.is_none());
        let named = own.map(|image| {
            let mut named_by = self.named_by.get(&image.place).cloned().unwrap_or_default();
            if let ImageSource::Docker(reference) = &image.from {
                let of_image = evidence.iter().filter(|evidence| evidence.is_of(reference));
                named_by.extend(of_image.map(describe_evidence));
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

/// The number of places of one image, and of notes, that are shown.
const SHOWN_PLACES: usize = 1;
const SHOWN_NOTES: usize = 20;

impl SourceDecisions {
    /// Shows the decisions about the tree.
    pub(super) fn show(&self) {
        let (kind, origin) = match self.kind {
            DecidedKind::Chart => ("chart", "the chart"),
            DecidedKind::Helmfile => ("helmfile", "the helmfile"),
            DecidedKind::Archive => ("archive", "the archive"),
            DecidedKind::Manifests => ("manifests", "the release"),
        };
        render::line!("source      {kind} {}", self.from);
        let origins = match (self.name_from, self.version_from) {
            (Origin::Source, Origin::Source) => format!("name and version from {origin}"),
            (Origin::Flag, Origin::Source) => format!("name from --name, version from {origin}"),
            (Origin::Source, Origin::Flag) => format!("name from {origin}, version from --version"),
            (Origin::Flag, Origin::Flag) => "from --name and --version".to_owned(),
        };
        render::line!("solution    {} {} ({origins})", self.solution, self.version);
        for release in &self.releases {
            let namespace = match &release.namespace {
                Some(namespace) => format!("namespace {namespace}"),
                None => "the environment's namespace".to_owned(),
            };
            render::line!("release     {} in {namespace}", release.name);
        }
        for namespace in &self.namespaces {
            let replaced = choose(
                namespace.fixed == Some(false),
                ", which the environment's namespace replaces",
                "",
            );
            render::line!("namespace   {}{replaced}", namespace.name);
        }
        self.show_notes();
    }

    /// Shows the first sentence of each note.
    fn show_notes(&self) {
        for note in self.notes.iter().take(SHOWN_NOTES) {
            let head = match note.weight {
                NoteWeight::Chosen => "chosen",
                NoteWeight::Decide => "decide",
                NoteWeight::Lost => "left out",
            };
            render::note!("{head}: {}: {}", note.about, note.summary());
        }
        let more = self.notes.len().saturating_sub(SHOWN_NOTES);
        if more > 0 {
            render::note!(
                "{} more in NOTES.md of the source tree",
                render::count(more, "note")
            );
        }
    }

    /// Shows an image, and the places that name it.
    pub(super) fn show_image(&self, pinned: &PinnedImage) {
        let source = pinned.from.to_string();
        let source = source.split('@').next().unwrap_or_default();
        render::line!(
            "image       {} from {source}@{}",
            pinned.place,
            pinned.digest
        );
        let named = self.images.iter().find(|named| named.image == pinned.place);
        let Some(named) = named else {
            return;
        };
        for place in named.named_by.iter().take(SHOWN_PLACES) {
            let more = match named.named_by.len().saturating_sub(SHOWN_PLACES) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            render::line!("  named by  {place}{more}");
        }
    }
}

pub(super) fn show(packed: &PackReport, decisions: Option<&SourceDecisions>) {
    let (path, size) = (packed.path.display(), render::bytes(packed.size));
    let images = render::images(packed.images, packed.referrers);
    let blobs = render::count(packed.blobs, "blob");
    render::line!("packed      {path} ({size}, {images}, {blobs})");
    for pinned in &packed.pinned {
        match decisions {
            Some(decisions) if pinned.subject.is_none() => decisions.show_image(pinned),
            None if pinned.is_to_tell() => show_image(pinned),
            _ => {}
        }
    }
    packed.programs.iter().for_each(show_program);
    packed.sboms.iter().for_each(show_sboms);
    render::line!("archive id  {}", packed.archive_id);
    show_candidates(&packed.candidates);
}

/// Shows an image whose source may have changed since it was pinned, with the pinned digest.
fn show_image(pinned: &PinnedImage) {
    let source = pinned.from.to_string();
    let source = source.split('@').next().unwrap_or_default();
    let (place, digest) = (&pinned.place, &pinned.digest);
    render::line!("image       {place} from {source}@{digest}");
}

/// Shows the next steps for an archive that was created from a source.
pub(super) fn show_next(keys: &[PathBuf], out: &Path, decisions: &SourceDecisions) {
    let out = out.display();
    let check = match keys.first() {
        None => format!("sign the archive with `solution sign {out} --key KEY`"),
        Some(key) => {
            let public = Some(key.with_extension("pub")).filter(|path| path.is_file());
            let public = public.map(|path| path.display().to_string());
            let public = public.unwrap_or_else(|| "PUBLIC_KEY".to_owned());
            format!("run `solution validate {out} --key {public}`")
        }
    };
    let edit = match &decisions.tree {
        Some(saved) => {
            let saved = saved.display();
            format!("edit `{saved}/solution.yaml`, and run `solution pack {saved}`")
        }
        None => "run the same command with `--save-source DIR`".to_owned(),
    };
    render::note!("next: {check}; to change the source tree, {edit}");
}

/// Shows the image references that programs contain, by image and program.
fn show_candidates(candidates: &[ImageCandidate]) {
    let mut programs: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for it in candidates {
        let references = programs.entry((&it.image, &it.file)).or_default();
        references.push(&it.reference);
    }
    for ((image, file), references) in &programs {
        let references = schemas::list_quoted(references);
        render::note!(
            "warning: the program `{file}` of {image} contains the image references {references} and may start these images"
        );
    }
    if !programs.is_empty() {
        render::note!(
            "add the images that these programs start to spec.images, with the tag that the program uses; list the others in `unusedImages` of a chart"
        );
    }
}

/// Shows the number of created SBOMs, and of images that got none.
fn show_sboms(sboms: &PackedSboms) {
    let made = render::count(sboms.made, "document");
    let (format, syft) = (sboms.format, &sboms.syft);
    let others = [
        (sboms.kept, "kept unchanged"),
        (sboms.skipped, "skipped: not an image"),
    ];
    let others = others.iter().filter(|(count, _)| *count > 0);
    let others = others.map(|(count, why)| format!("; {count} {why}"));
    let others: String = others.collect();
    render::line!("sboms       {made} in {format}, by syft {syft}{others}");
}

/// Shows an included program.
pub(super) fn show_program(program: &PackedProgram) {
    let PackedProgram {
        name,
        version,
        architecture,
        digest,
    } = program;
    render::line!("program     {name} {version} for {architecture}, {digest}");
}
