//! What the templates of a chart read of a cluster while they are rendered.

use std::collections::BTreeMap;

use serde_json::Value;

/// What templates asked of a cluster, path and query, and what they were told.
pub(crate) type Lookups = BTreeMap<String, Lookup>;

/// An answer of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) status: u16,
    pub(crate) body: Value,
}
