//! ISO 9660 images: the planner and writer of this project's image layout, its byte-for-byte comparison, and a bounded
//! reader for images of any tool.
//!
//! Images follow ECMA-119 interchange level 3 with Rock Ridge (RRIP 1.12) and Joliet level 3. The central function is
//! [`plan()`]. It is pure: from a list of paths, sizes and content ids it derives every byte of the image that is not
//! file data, and the offset of every content. To write an image, call [`write_metadata`] and write the data at its
//! offsets. To check one, call [`compare()`]: it finds every byte that the plan would not have written.
//! [`reader::read_tree`] is independent of the plan and reads any image within fixed limits.
//!
//! This crate knows sectors, descriptors and records. It does not know Solutions, and it neither hashes nor prints.
//!
//! Start with `plan.rs`. The normative description of the bytes is docs/reference/format-image.md; `format.rs`
//! implements its structures.

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
