//! The rules that the user holds, read once per namespace.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::rules::PolicyRule;

/// A namespace that cannot exist. The rules held in it are those held cluster-wide.
pub(super) const NOWHERE: &str = "-";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RulesAnswer {
    #[serde(default)]
    resource_rules: Vec<PolicyRule>,
    #[serde(default)]
    non_resource_rules: Vec<PolicyRule>,
}

impl Cluster {
    /// Returns every rule that the user holds in a namespace, including cluster-wide ones, as far as the server lists
    /// them.
    pub(super) async fn held_rules(&self, namespace: &str) -> Result<Arc<[PolicyRule]>, Error> {
        if let Some(rules) = self.held.find(namespace) {
            return Ok(rules);
        }
        let doing = "list the rules of this user";
        let spec = json!({"namespace": namespace});
        let held: RulesAnswer = self.review("SelfSubjectRulesReview", spec, doing).await?;
        let mut rules = held.resource_rules;
        rules.extend(held.non_resource_rules);
        let rules: Arc<[PolicyRule]> = rules.into();
        self.held.keep(namespace, rules.clone());
        Ok(rules)
    }
}
