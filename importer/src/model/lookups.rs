//! The objects that the templates of a chart read from a cluster while they are rendered.

use std::collections::BTreeMap;

use serde_json::Value;

/// The requests that templates made to a cluster, by path and query, and the answers that they got.
pub(crate) type Lookups = BTreeMap<String, Lookup>;

/// An answer of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) status: u16,
    pub(crate) body: Value,
}
