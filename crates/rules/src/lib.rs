//! Rules for the documents of a Solution and their effects in a cluster, as pure functions from documents to problems
//! and rights. Packing, validation and the plan of an import use the same rules.
//!
//! - [`Problem`]s: every violation of a rule. [`source_pointer`] and [`Problem::pointer`] return its position.
//! - [`Right`]s: [`rights`] expands a role, [`compare`] compares two lists, [`Right::danger`] returns the danger of a
//!   right, and [`grants`] returns the rights of each subject.
//! - Effects: [`hazards`] returns the hazards of an object, and [`acts`] the content that determines them.
//! - [`metadata()`] separates the metadata of a CustomResourceDefinition that is applied from the rest.
//!
//! This crate must not know archives, files or the network. The content of a cluster is passed as documents.
//!
//! Open `problem.rs` first for the problems, `danger.rs` and `hazard.rs` for the effects, and `catalogue.rs` for all
//! findings.

mod api_lifecycle;
mod budget;
pub mod catalogue;
mod compiled;
mod danger;
mod definition;
mod grant;
mod groups;
mod hazard;
mod images;
pub mod limits;
mod metadata;
mod monitoring;
mod object;
mod object_names;
mod object_sets;
mod operator;
mod parameters;
mod part;
mod placeholders;
mod pod;
mod pointer;
mod prerequisites;
mod problem;
mod reach;
mod right;
mod role;
mod rule;
mod set;
mod source;
mod starters;
mod template;
mod words;
mod workload;

use serde_json::Value;

pub use api_lifecycle::{PossibleMinors, api_lifecycle};
pub use budget::check_files;
pub use compiled::compiled;
pub use danger::{Danger, When};
pub use definition::{
    DefinitionNames, converts_by_webhook, is_definition, only_document, refusals,
};
pub use grant::{
    Borrowed, Granted, RightsSubject, RoleName, UnreadableRole, covers, grants, subjects,
};
pub use hazard::{Hazard, HazardWeight, accounts, acts, hazards};
pub use images::ImagesByName;
pub use metadata::{SortedMetadata, Withheld, metadata};
pub use monitoring::monitoring;
pub use object::{forbidden, object, rendered_object};
pub use object_names::ObjectNames;
pub use object_sets::object_sets;
pub use parameters::{ValueProblem, check_value, parameters};
pub use placeholders::PlaceholderNames;
pub use pointer::{field_pointer, source_pointer};
pub use prerequisites::prerequisites;
pub use problem::Problem;
pub use reach::Reach;
pub use right::Right;
pub use rule::RuleProblem;
pub use set::{AGGREGATE_TO, RightsDifference, aggregates_to, compare, merge, rights};
pub use source::{check_references, check_source};
pub use starters::starters;
pub use template::{OF_PODS, is_set_label};
pub use workload::{NonRootContainer, WorkloadJudge};

pub use budget::{check_cost, check_object_cost, check_object_files};
pub use definition::{definition, definition_name, definition_of_chart};
pub use images::repeated;
pub use object::{namespace_of_cluster, unreplaced};
pub use operator::{operator, related_images};
pub use role::roles;
pub use template::{kept_names, template_needs, template_reach};

/// Returns the text at a JSON pointer.
fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// Returns the API group of a document; empty for the core group.
fn group_of(document: &Value) -> &str {
    let api_version = text(document, "/apiVersion").unwrap_or_default();
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the `apiVersion` and `kind` of a document.
fn kind_of(document: &Value) -> (&str, &str) {
    let field = |pointer| text(document, pointer).unwrap_or_default();
    (field("/apiVersion"), field("/kind"))
}
