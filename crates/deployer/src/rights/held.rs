//! The rules that we hold ourselves, asked for once and kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::json;

use super::rules::PolicyRule;
use crate::cluster::Cluster;
use crate::error::Error;

/// A namespace that cannot exist: what we hold "in" it is what we hold everywhere.
pub(super) const NOWHERE: &str = "-";

/// What we hold, by namespace.
#[derive(Debug, Default)]
pub(crate) struct HeldRules(Mutex<HashMap<String, Arc<[PolicyRule]>>>);

impl HeldRules {
    /// Forgets everything, so that what we were given since is seen.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<[PolicyRule]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    resource_rules: Vec<PolicyRule>,
    #[serde(default)]
    non_resource_rules: Vec<PolicyRule>,
}

impl Cluster {
    /// Every rule we hold in a namespace, those for the whole cluster included, as far as the server lists them.
    pub(super) async fn held_rules(&self, namespace: &str) -> Result<Arc<[PolicyRule]>, Error> {
        let known = self.held.lock().get(namespace).cloned();
        if let Some(rules) = known {
            return Ok(rules);
        }
        let doing = "list the rules we hold";
        let spec = json!({"namespace": namespace});
        let held: Answer = self.review("SelfSubjectRulesReview", spec, doing).await?;
        let mut rules = held.resource_rules;
        rules.extend(held.non_resource_rules);
        let rules: Arc<[PolicyRule]> = rules.into();
        self.held.lock().insert(namespace.to_owned(), rules.clone());
        Ok(rules)
    }
}
