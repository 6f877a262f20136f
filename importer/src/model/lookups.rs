//! Lookups: objects that the templates of a chart read from the cluster while they are rendered.

use std::collections::BTreeMap;

use serde_json::Value;

/// The requests of templates to a cluster, by path and query, with the answers.
pub(crate) type Lookups = BTreeMap<String, Lookup>;

/// An answer of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) status: u16,
    pub(crate) body: Value,
}
