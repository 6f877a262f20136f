//! Kubernetes manifests as they are published: read from files, taken apart into objects, patched, compiled so that
//! they fit any site, and expanded for one.
//!
//! This crate knows the places in objects where images and namespaces stand, and the placeholders that take these
//! places. It must not know archives, clusters, the network, the terminal, the environment or the clock.
//!
//! Open `document.rs` first, which is what everything is read into; then `compile.rs`, and `expand.rs` for the way
//! back.

mod compile;
mod definition;
mod document;
mod error;
mod expand;
mod image;
mod kinds;
pub mod limits;
mod named;
mod namespace;
mod parts;
mod patch;
mod read;
pub mod reference;
mod rendered;
mod served;
mod strategic;
mod target;
mod template;

pub use compile::{CompileQuestion, Compiler, Remark};
pub use definition::{Definition, is_definition};
pub use document::{ManifestObject, ManifestObjects, Repeated, list, parse, parse_all, text};
pub use error::{DocumentPlace, ManifestsError, PatchError};
pub use expand::{Address, Expansion, ResolveError};
pub use image::{KnownImages, Mention};
pub use kinds::ObjectKinds;
pub use named::{default_images, default_texts, named_images, pod_images};
pub use namespace::Unclear;
pub use parts::{ImageParts, image_parts, reference_in_parts};
pub use patch::{CheckedPatch, patch};
pub use read::{ManifestFile, ManifestFiles, PassedOver, read};
pub use rendered::{
    RenderedError, RenderedLine, RenderedObject, differing, rendered, rendered_line,
};
pub use served::{DiscoveredKind, served_by_kubernetes};
pub use template::pod_specs;

/// A text of a manifest as it may be shown: one line, short, without what Markdown or a terminal would obey.
#[must_use]
pub fn shown(text: &str) -> String {
    schemas::printable_within(text, limits::SHOWN).replace('`', "'")
}
