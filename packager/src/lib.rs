//! Packing of a source directory into a signed archive. The stages are: *load* reads and checks the texts and renders
//! charts, *collect* pins every image to a digest, *assemble* creates the list of files, and the `archive` crate plans,
//! signs and writes the archive. The validator checks the result before it is published under its name.
//!
//! The main entry points are [`pack()`], [`preview()`], [`add_images`] and [`init()`]. This crate defines
//! `solution.yaml` and the files next to it. It does not depend on registry protocols (the `sources` crate accesses
//! them), on imports, or on the terminal, environment and clock.
//!
//! Start with `pack.rs`, which calls the stages in order.

mod add;
mod assemble;
mod chart_images;
mod charts;
mod documentation;
mod error;
mod evidence;
mod example_inputs;
mod init;
mod load;
mod missing_images;
mod operator;
mod pack;
mod practices;
mod preview;
mod problems;
mod program_search;
mod programs;
mod provenance;
mod render;
mod rendered;
mod sboms;
mod sets;
mod source_files;
#[cfg(test)]
mod testing;
mod tree_map;
mod value_images;

use std::path::PathBuf;

use progress::Progress;
use schemas::{ImagePlace, ReleaseName};
use sources::CacheError;

pub use add::{AddedImages, add_and_preview, add_images, image_lines};
pub use chart_images::ChartRemark;
pub use charts::{ReadChart, read_chart};
pub use error::{PackError, RefusedSource};
pub use evidence::{EvidenceReason, ImageEvidence};
pub use init::init;
pub use manifests::Mention;
pub use missing_images::MissingImage;
pub use pack::{PackReport, PackRequest, PinnedImage, Signing, pack};
pub use preview::{ImagePreview, Preview, preview};
pub use program_search::ImageCandidate;
pub use programs::{PackedProgram, ProgramFile, ProgramKind};
pub use render::ChartRenderer;
pub use rendered::ExternalParts;
pub use sboms::{PackedSboms, SbomRequest};
pub use value_images::RepositoryInValues;

/// An event during packing.
#[derive(Debug)]
pub enum Event {
    /// The source directory contains CRDs or roles, but has no operator that would use them.
    Unused(PathBuf),
    /// The Solution has charts, but no renderer is configured, so their images are not checked.
    NotRendered,
    /// The signature of a chart was verified; the fingerprint of its key, if Helm reports it.
    Verified(ReleaseName, Option<String>),
    /// The rendering of a chart starts.
    Rendering(ReleaseName),
    /// A remark on a chart for its publisher.
    Chart(ReleaseName, ChartRemark),
    /// A chart or one of its values names an image, or may name one.
    Named(ImageEvidence),
    /// The creation of an SBOM for an image starts.
    Describing {
        /// The image.
        place: ImagePlace,
        /// The number of the SBOM, from 1.
        number: usize,
        /// The total number of SBOMs.
        of: usize,
    },
    /// Progress of collecting or fetching images. If cached content is damaged, packing starts again.
    Sources(sources::Event),
    /// The archive was written, but the cache could not be reduced to its size limit.
    Untidy(CacheError),
    /// Progress of writing data.
    Writing(Progress),
}

impl Event {
    /// Returns true if the event is a remark on the source, which every run with the same source repeats.
    #[must_use]
    pub fn is_remark(&self) -> bool {
        match self {
            Self::Unused(_) | Self::NotRendered | Self::Verified(..) | Self::Chart(..) => true,
            Self::Rendering(_)
            | Self::Named(_)
            | Self::Describing { .. }
            | Self::Sources(_)
            | Self::Untidy(_)
            | Self::Writing(_) => false,
        }
    }
}
