//! The ISO 9660 profile: plan, writer, comparison and bounded reader.
//!
//! Images follow ECMA-119 interchange level 3 with Rock Ridge (RRIP 1.12) and Joliet level 3. The heart is a pure
//! function, [`plan()`]: from a list of paths, sizes and content ids it derives every byte of the image that is not
//! file data, and the place of every content. Writing is then [`write_metadata`] plus the data at its places;
//! checking is [`compare()`], which reads the medium itself and finds any byte that the plan would not have written.
//! [`reader::read_tree`] is separate: it reads images by any tool, within fixed limits.
//!
//! This crate knows sectors, descriptors and records. It must not know what a Solution is, hash anything, or print.
//!
//! Open `plan.rs` first, with docs/reference/format-image.md beside it, the normative description of the bytes; `format.rs` has their
//! places.

mod compare;
mod entries;
mod error;
mod format;
mod geometry;
mod input;
mod io;
pub mod limits;
mod names;
mod plan;
pub mod reader;
mod records;
mod region;
mod time;
mod tree;
mod visit;
mod write;

pub use compare::{MetadataDifference, compare};
pub use error::PlanError;
pub use format::SECTOR_SIZE;
pub use geometry::{Extent, ImagePlan};
pub use input::{ContentId, Input, InputFile, Layout, UnknownLayout, Volume};
pub use io::{ReadAt, WriteAt};
pub use plan::plan;
pub use region::{ByteOrder, ImagePart, Region, RegionBytes, TreeKind};
pub use time::{Timestamp, TimestampOutOfRange};
pub use write::write_metadata;
