//! Archives in a registry: the placement of their images, pushes, and reading, exporting and deleting them without the
//! ISO.
//!
//! This crate knows accepted archives and registries. It must not depend on clusters: callers pass what a cluster
//! records of an import as a [`Record`]. The transfer of blobs is implemented in `registry`, the structure of archives
//! in `archive`.
//!
//! - `layout`, `place`, `names` and `mirrors` determine the place of each image.
//! - `survey` checks which content exists; `push` and `readback` store and verify it.
//! - `artifact` is the head of an archive in the registry; `open`, `export` and `kept` read the archive through it.
//! - `files` packs rendered files for controllers that apply them from a registry.
//! - `free` and `prune` delete content that is no longer needed.
//!
//! Start with `survey.rs`: an import begins there.

mod archive_blob;
mod artifact;
mod blocker;
mod deletion;
mod error;
mod export;
mod files;
mod image_map;
mod job;
mod layout;
pub mod limits;
mod mirrors;
mod names;
mod nodes;
mod open;
mod place;
mod preflight;
mod prune;
mod push;
mod push_counts;
mod readback;
mod record;
mod referrer_lists;
mod registry_archive;
mod served_archives;
mod served_content;
mod similar_images;
mod sink;
mod survey;
#[cfg(test)]
mod testing;
mod uploads;

pub use artifact::HeadArtifact;
pub use blocker::{MirrorBlocker, RegistryBlocker};
pub use deletion::StoredManifests;
pub use error::{Error, MissingContent, PushFailure, UnpushedContent, UnreadableContent};
pub use export::Export;
pub use files::FilesArtifact;
pub use image_map::{ImageMap, MappedImage};
pub use layout::{MirrorPolicy, PathLayout, Placement, PlacementChoice};
pub use mirrors::{MirroredImage, Mirrors};
pub use names::{ArchivePlacement, ImageName, recorded};
pub use nodes::{Format, NodeFile};
pub use open::{check, check_archive, open_head, program};
pub use place::{endpoint, image_place, own_addresses};
pub use preflight::{ImagesToPush, Preflight};
pub use prune::{PruneBlocker, PrunePlan, RetainedVersions, StoredVersion, UnusableHead, holdings};
pub use push::{PushPlan, PushReceipt, PushRequest, PushSummary, ReadyPush, delegated};
pub use push_counts::{PushedBlobs, PushedCount};
pub use readback::{Readback, RepairReport};
pub use record::{Record, RecordedImage};
pub use registry_archive::{ArchiveHead, RegistryArchive, only_archive};
pub use served_archives::{ArchiveValidator, Archives, ContentUpdate, ServeError, ValidationScope};
pub use similar_images::neighbours;
pub use survey::{MissingImagePolicy, ReplacePolicy, Survey, TargetState, survey};
