//! What the documents of an archive may do in a cluster: pure functions from documents to rights and problems. The
//! check of an archive and the plan of an import judge by the same tables.
//!
//! A role is taken apart into [`Right`]s by [`rights`], two lists of them are compared by [`compare`], and
//! [`Right::danger`] says what one of them makes possible. [`metadata`] sorts out which of a definition's metadata goes
//! to the cluster.

mod danger;
mod metadata;
mod part;
mod right;
mod rule;
mod set;
mod words;

pub use danger::{Danger, When};
pub use metadata::{Metadata, Withheld, metadata};
pub use right::{Reach, Right};
pub use rule::RuleProblem;
pub use set::{AGGREGATE_TO, Compared, aggregates_to, compare, merge, rights};

pub(crate) use metadata::is_of_kubernetes;
pub(crate) use part::is_in_namespace;
pub(crate) use rule::{Cost, Rule, rules};
