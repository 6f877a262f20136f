//! Archive to report, and the proof of acceptance.
//!
//! [`check`] opens an archive, decides about its signatures, compares it with its signed list, and checks everything
//! that the list names. What is wrong comes out as [`Finding`]s in a [`Report`]; only a report without errors, of an
//! archive for which somebody vouches, gives an [`Accepted`], the one thing the importer takes.
//!
//! This crate knows what every file of an archive must be. It must not write anything, use the network, or know registries
//! and clusters.
//!
//! Open `check.rs` first for the stages, then `content.rs` for what is read of an archive.

mod accepted;
mod capability;
mod charts;
mod check;
mod content;
mod definitions;
mod files;
mod finding;
mod images;
pub mod limits;
mod manifest;
mod operator;
mod options;
mod policy;
mod practice;
mod programs;
mod refusal;
mod rendered;
mod report;
mod sets;

pub use accepted::{Accepted, IncludedHelm};
pub use charts::{CarriedChart, chart_finding};
pub use check::{check, check_accepted, check_draft, vouch};
pub use definitions::{CarriedDefinition, CarriedDefinitions};
pub use finding::{ErrorChain, Finding, Findings, SourceMap, SourcePlace};
pub use images::{IMAGE_INDEX, image_references};
pub use options::{AcceptedBefore, AllowUnsigned, CheckOptions, Depth, Signatures, TrustedKeys};
pub use policy::{
    IgnoreUnused, IgnoredBy, IgnoredFinding, JudgedFindings, Judging, JudgingFault, PolicyProblem,
    UnusablePolicy, UnusedIgnore,
};
pub use programs::CarriedProgram;
pub use refusal::is_finding;
pub use rendered::{ContainerOfImage, DraftOrigin, RenderedChart};
pub use report::{ArchiveVerdict, Report, SignatureRule, Summary};
pub use sets::{CarriedObject, CarriedSet};
