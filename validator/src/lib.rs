//! Validation of an archive, and the proof that it was accepted.
//!
//! [`check`] opens an archive, checks its signatures, compares it with its signed list of contents, and checks every
//! file in that list. Problems are [`Finding`]s in a [`Report`]. [`Report::accept`] returns an [`AcceptedArchive`], the only
//! input of an import, if the report has no errors and the archive is signed by trusted keys or allowed to be unsigned.
//!
//! This crate defines the rules for every file of an archive. It writes nothing, uses no network, and depends on
//! neither registries nor clusters.
//!
//! Start with `check.rs` for the stages, then read `content.rs` for the documents of an archive.

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

pub use accepted::{AcceptedArchive, IncludedHelm};
pub use charts::{PackagedChart, chart_finding};
pub use check::{check, check_accepted, check_draft, verify_signatures};
pub use definitions::{PackagedDefinition, PackagedDefinitions};
pub use finding::{ErrorChain, Finding, Findings, SourceMap, SourcePlace};
pub use images::{IMAGE_INDEX, image_references};
pub use options::{
    AllowUnsigned, CheckDepth, CheckOptions, PriorAcceptance, SignaturePolicy, TrustedKeys,
};
pub use policy::{
    EvaluatedFindings, FindingIdError, FindingRules, IgnoreUnused, IgnoredBy, IgnoredFinding,
    PolicyProblem, UnusablePolicy, UnusedIgnore,
};
pub use programs::PackagedProgram;
pub use refusal::is_finding;
pub use rendered::{ContainerOfImage, DraftOrigin, RenderedChart};
pub use report::{ArchiveVerdict, Report, SignatureRule, Summary};
pub use sets::{PackagedObject, PackagedSet};
