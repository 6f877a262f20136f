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
//! Each folder has one subject: `finding` (problems and the catalogue of all findings), `source` (`solution.yaml`),
//! `object` (objects of sets and charts), `definition` (CRDs), `pod` (pods and workloads), `rbac` (roles and rights) and
//! `hazard` (effects outside a namespace). No folder depends on another one in a cycle. Open `finding/problem.rs` first.

mod budget;
mod definition;
mod document;
mod finding;
mod hazard;
mod images;
pub mod limits;
mod object;
mod pod;
mod rbac;
mod source;

pub use budget::{check_cost, check_files, check_object_cost, check_object_files};
pub use definition::metadata::{SortedMetadata, WithheldMetadata, metadata};
pub use definition::{
    DefinitionNames, converts_by_webhook, definition, definition_name, definition_of_chart,
    is_definition, only_document, refusals,
};
pub use finding::catalogue;
pub use finding::pointer::{field_pointer, source_pointer};
pub use finding::problem::{Problem, RuleProblem};
pub use hazard::starters::starters;
pub use hazard::{Hazard, HazardWeight, accounts, acts, hazards};
pub use images::{ImagesByName, repeated};
pub use object::api_lifecycle::{PossibleMinors, api_lifecycle};
pub use object::compiled::compiled;
pub use object::monitoring::monitoring;
pub use object::names::ObjectNames;
pub use object::placeholders::PlaceholderNames;
pub use object::{forbidden, namespace_of_cluster, object, rendered_object, unreplaced};
pub use pod::workload::{NonRootContainer, WorkloadChecker};
pub use rbac::danger::{Danger, DangerScope};
pub use rbac::grant::{
    BorrowedRole, GrantedRights, RightsSubject, RoleName, UnreadableRole, covers, grants, subjects,
};
pub use rbac::reach::Reach;
pub use rbac::right::Right;
pub use rbac::rights::{AGGREGATE_TO, RightsDifference, aggregates_to, compare, merge, rights};
pub use rbac::role::roles;
pub use source::operator::{operator, related_images};
pub use source::parameters::{ValueProblem, check_value, parameters};
pub use source::prerequisites::prerequisites;
pub use source::sets::object_sets;
pub use source::template::{kept_names, template_needs, template_reach};
pub use source::{check_references, check_source};
