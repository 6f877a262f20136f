//! Solution archives: ISO images that contain a Solution's files, a signed statement and the list of all files.
//!
//! Writing passes through the stages [`UnsignedArchive`] → [`SignedArchive`] → [`DraftArchive`] → [`WrittenArchive`], reading through [`OpenedArchive`] →
//! [`TrustedArchive`] → [`ListedArchive`]. Each stage offers only the operations that its proof allows: data cannot be read before
//! the list of files is verified, and the list cannot be read before the caller has decided about the signatures.
//! After [`TrustedArchive::list`], no name, size or offset is taken from the image itself.
//!
//! This crate knows archives as files, devices and heads, and which bytes are signed. It does not know the network, the
//! terminal or the clock, and it does not decide whether a Solution is valid: that is the validator's task. All its
//! functions are synchronous. The format is specified in docs/reference/format.md.
//!
//! Start with `layout.rs` for the contents of an archive. `unsigned.rs` begins the writing, `open.rs` the reading.

mod content_order;
mod copy;
mod documents;
mod error;
mod extract;
mod feature;
mod foreign;
mod layout;
pub mod limits;
mod list;
mod medium;
mod open;
mod piece_reader;
mod pipeline;
mod program;
mod readme;
mod sign;
mod signed_files;
mod temporary;
pub mod tree;
mod unsigned;
mod verify;
mod write;

pub use copy::{ArchiveCopy, Slot};
pub use documents::RootDocuments;
pub use error::{BlockedPath, Differences, ExtractError, OpenError, PathBlocker, WriteError};
pub use extract::ExtractReport;
pub use feature::{CHARTS, Feature, MANIFESTS};
pub use foreign::ForeignSignatures;
pub use iso9660::MetadataDifference;
pub use layout::{
    BLOBS, CONTENTS, CONTENTS_OFFSET, CRDS, IMAGES, INDEX, ImageRole, ListError, MANIFEST,
    OCI_LAYOUT, README, REGISTRY_CONFIG, REGISTRY_CONFIG_TEMPLATE, ROLE, SHA256SUMS, STATEMENT,
    STATEMENT_OFFSET, blob_path, chart_path, chart_values_path, crd_path, image_blob_path,
    image_child_path, image_directory, image_manifest_path, is_blob, is_crd, object_path,
};
pub use list::{Blob, ImageContent, ListedArchive};
pub use medium::{Blobs, Drive, Medium};
pub use open::{OpenedArchive, TrustedArchive};
pub use piece_reader::PieceReader;
pub use program::{
    Architecture, DOCUMENTATION_TYPE, ELF_HEADER, Program, ProgramError, documentation_image,
    helm_in_head, includes_helm, program_image, program_image_name, program_name, programs_of,
};
pub use readme::{IncludedDocumentation, IncludedProgram, readme};
pub use sign::{Destination, SignableArchive, SigningSubject, detached_path, read_detached};
pub use signed_files::{SignedDirectory, SignedFiles, SignedNode};
pub use unsigned::{ArchiveFile, FileSource, StatementInfo, UnsignedArchive};
pub use verify::DamagedContent;
pub use write::{DraftArchive, Overwrite, SignedArchive, WrittenArchive, check_target};
