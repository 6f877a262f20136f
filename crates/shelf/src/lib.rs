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
mod brought;
mod error;
mod export;
mod files;
mod free;
mod image_map;
mod job;
mod kept;
mod layout;
pub mod limits;
mod lists;
mod mirrors;
mod names;
mod neighbours;
mod nodes;
mod obstacle;
mod open;
mod place;
mod preflight;
mod prune;
mod push;
mod pushed;
mod readback;
mod record;
mod served;
mod sink;
mod survey;
mod uploads;

pub use artifact::HeadArtifact;
pub use error::{Error, Lacking, PushFailure, Unfetched, Unpushed};
pub use export::Export;
pub use files::FilesArtifact;
pub use free::Holdings;
pub use image_map::{ImageMap, MappedImage};
pub use kept::{Head, KeptArchive, only_archive};
pub use layout::{MirrorPolicy, PathLayout, Placement, PlacementChoice};
pub use mirrors::{MirroredImage, Mirrors};
pub use names::{ArchivePlacement, ImageName, recorded};
pub use neighbours::neighbours;
pub use nodes::{Format, NodeFile};
pub use obstacle::{Misplaced, RegistryObstacle};
pub use open::{check, check_archive, open_head, program};
pub use place::{endpoint, image_place, own_addresses};
pub use preflight::{ImagesToPush, Preflight};
pub use prune::{KeptVersion, Pruning, Stock, Unprunable, Unread, holdings};
pub use push::{PushPlan, PushReceipt, PushRequest, PushSummary, ReadyPush, delegated};
pub use pushed::{Count, Pushed};
pub use readback::{Readback, Repaired};
pub use record::{Record, RecordedImage};
pub use served::{ArchiveJudge, Archives, ServeError, Serving, Whole};
pub use survey::{Missing, Replace, Survey, TargetState, survey};
