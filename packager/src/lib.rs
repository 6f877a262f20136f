//! Source directory to signed archive: *load* reads the texts, says all that is wrong with them, and has charts rendered, *collect* pins every image to a
//! digest, *assemble* makes the list of files, and `archive` plans, signs and writes. The validator checks the result
//! before it gets its name.
//!
//! This crate knows `solution.yaml` and what lies beside it. It must not know how a registry is asked (`sources` does
//! that), how archives are imported, nor the terminal, the environment or the clock.
//!
//! Open `pack.rs` first: the stages, one call after the other.

mod add;
mod assemble;
mod chart_images;
mod charts;
mod compiled_in;
mod documentation;
mod error;
mod evidence;
mod in_values;
mod init;
mod load;
mod missing;
mod operator;
mod pack;
mod practices;
mod preview;
mod problems;
mod programs;
mod provenance;
mod render;
mod rendered;
mod sboms;
mod sets;
mod source_files;
mod stand_ins;
#[cfg(test)]
mod testing;
mod tree_map;

use std::path::PathBuf;

use schemas::{ImagePlace, ReleaseName};
use sources::CacheError;
use watch::Progress;

pub use add::{Added, add_and_preview, add_images, image_lines};
pub use chart_images::ChartRemark;
pub use charts::{ReadChart, read_chart};
pub use compiled_in::ImageCandidate;
pub use error::{PackError, RefusedSource};
pub use evidence::{EvidenceReason, ImageEvidence};
pub use in_values::RepositoryInValues;
pub use init::init;
pub use manifests::Mention;
pub use missing::MissingImage;
pub use pack::{PackRequest, Packed, Pinned, Signing, pack};
pub use preview::{ImagePreview, Preview, preview};
pub use programs::{PackedProgram, ProgramFile, ProgramKind};
pub use render::ChartRenderer;
pub use rendered::ReachesOut;
pub use sboms::{PackedSboms, SbomRequest};

/// An event while an archive is made.
#[derive(Debug)]
pub enum Event {
    /// A CRD directory or file of roles lies in the source directory, but there is no operator that would use it.
    Unused(PathBuf),
    /// There are charts, and nothing renders them: their images are not looked for.
    NotRendered,
    /// A chart is what the key with this fingerprint signed.
    Verified(ReleaseName, Option<String>),
    /// A chart is rendered.
    Rendering(ReleaseName),
    /// A remark on a chart that its publisher should know.
    Chart(ReleaseName, ChartRemark),
    /// A chart names an image, or a value of it may.
    Named(ImageEvidence),
    /// An SBOM of an image is made.
    Describing {
        /// The image.
        place: ImagePlace,
        /// The number of the SBOM, from 1.
        number: usize,
        /// The number of all SBOMs.
        of: usize,
    },
    /// Images are collected or fetched. After a damaged content of the cache, the pack begins anew.
    Sources(sources::Event),
    /// The archive is there, but the cache could not be brought back to its size.
    Untidy(CacheError),
    /// Data is written.
    Writing(Progress),
}

impl Event {
    /// Whether it is a remark on the source, which each run over the same source tells again.
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
