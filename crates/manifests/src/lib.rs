//! Published Kubernetes manifests: reads them from files, splits them into objects, patches them, compiles them for any
//! site, and expands them for one environment.
//!
//! This crate knows the positions of images and namespaces in objects, and the placeholders that replace them. It must
//! not know archives, clusters, the network, the terminal, the environment or the clock.
//!
//! Open `document.rs` first, which defines the parsed objects, then `compile.rs`, and `expand.rs` for the reverse
//! direction. The format of compiled objects is in docs/reference/format-manifests.md.

mod builtin_kinds;
mod compile;
mod definition;
mod document;
mod error;
mod expand;
mod image;
mod image_references;
mod kinds;
pub mod limits;
mod namespace;
mod parts;
mod patch;
mod read;
pub mod reference;
mod rendered;
mod strategic;
mod target;
mod template;

pub use builtin_kinds::{DiscoveredKind, served_by_kubernetes};
pub use compile::{CompileQuestion, Compiler, Remark};
pub use definition::{Definition, is_definition};
pub use document::{ManifestObject, ManifestObjects, RepeatedObject, list, parse, parse_all, text};
pub use error::{DocumentPlace, ManifestsError, PatchError};
pub use expand::{Address, Expansion, ResolveError};
pub use image::{KnownImages, Mention};
pub use image_references::{default_images, default_texts, named_images, pod_images};
pub use kinds::ObjectKinds;
pub use namespace::AmbiguousText;
pub use parts::{ImageParts, image_parts, reference_in_parts};
pub use patch::{CheckedPatch, patch};
pub use read::{ManifestFile, ManifestFiles, SkippedFile, read};
pub use rendered::{
    RenderedError, RenderedLine, RenderedObject, differing, rendered, rendered_line,
};
pub use template::pod_specs;

/// Returns a text of a manifest in a form that is safe to show: shortened to one line, without control characters of a
/// terminal or backticks of Markdown.
#[must_use]
pub fn display_text(text: &str) -> String {
    schemas::printable_within(text, limits::SHOWN).replace('`', "'")
}
