//! The decisions about a source, as people read them.

use packager::Pinned;
use release::NoteWeight;

use super::decisions::{DecidedKind, Origin, SourceDecisions};
use crate::args::choose;
use crate::render;

/// Places of one image, and notes, that are shown.
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

    /// Shows an image, and what names it.
    pub(super) fn show_image(&self, pinned: &Pinned) {
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
