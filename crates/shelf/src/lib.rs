//! An archive at a registry: where its images lie, how they come there, how it is read and written again without its
//! medium, and what becomes of it.
//!
//! This crate knows archives that are accepted, and registries. It must not know clusters: what a cluster records of an
//! import comes in as a [`Record`], and where it lies there is the caller's to know. How a blob travels is
//! `registry`'s, how an image is laid out in an archive is `archive`'s.
//!
//! `place`, `named` and `mirrors` say where everything lies; `survey` asks what is there, `push` and `readback` make it
//! so; `artifact` is the head of an archive beside its images, and `open`, `export` and `kept` read the archive by it;
//! `files` are what is made of an archive for others who apply it; `free` and `prune` delete what nobody needs. Open `survey.rs` first: an import begins there.

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
