//! The record of a deployment that the administrator of a namespace has made there without any right outside of it: one
//! ConfigMap for each Solution, beside the operator's objects and one of them.
//!
//! Whoever may write in the namespace can make it say anything, so it is believed of that namespace alone, and only for
//! Solutions of which the cluster's records say nothing there.

use change::vocabulary as v;
use deployer::{Cluster, Gvk, Object, ObjectRef, Selector};
use schemas::{Namespace, SolutionName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::config_map;
use crate::model::error::Error;
use crate::model::namespace_record::Deployed;

/// The key that a record had in its ConfigMap before it had a format.
const FORMER_KEY: &str = "deployed.json";
/// The value of a record's label.
const KIND: &str = "own";

/// A Solution that the administrator of a namespace has deployed there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnRecord {
    pub(crate) solution: SolutionName,
    pub(crate) deployed: Deployed,
}

impl OwnRecord {
    /// The records of a namespace.
    pub(crate) async fn list(cluster: &Cluster, namespace: &Namespace) -> Result<Vec<Self>, Error> {
        let (maps, own) = (
            Gvk::new("v1", "ConfigMap"),
            Selector::label(v::RECORD, KIND),
        );
        let maps = cluster
            .list(&maps, Some(namespace.as_str()), Some(&own))
            .await?;
        let known = maps.iter().map(|map| config_map::read(map, FORMER_KEY));
        let known: Vec<Self> = known.collect::<Result<_, _>>()?;
        // One under another name than its own is nobody's: the operator's objects would not have it among them.
        let named = |(record, map): &(Self, &Object)| map.name() == name(&record.solution);
        let known = known.into_iter().zip(&maps).filter(named);
        Ok(known.map(|(record, _)| record).collect())
    }

    /// The record as its ConfigMap.
    pub(crate) fn to_object(&self, namespace: &Namespace) -> Value {
        let labels = json!({ v::RECORD: KIND, v::SOLUTION: self.solution });
        let name = name(&self.solution);
        let mut map = match self.deployed.fleet {
            Some(_) => config_map::record_of_fleet(&name, labels, self),
            None => config_map::record(&name, labels, self),
        };
        map["metadata"]["namespace"] = json!(namespace);
        map
    }
}

/// The ConfigMap of a Solution's record in a namespace.
pub(crate) fn reference(namespace: &Namespace, solution: &SolutionName) -> ObjectRef {
    ObjectRef::namespaced("v1", "ConfigMap", namespace.as_str(), &name(solution))
}

fn name(solution: &SolutionName) -> String {
    format!("{solution}-operator-deployed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fleet::tests::choices;
    use crate::model::namespace_record::tests::deployed;

    #[test]
    fn choices_of_a_fleet_keep_out_who_does_not_know_them() {
        let mut own = OwnRecord {
            solution: "shop".parse().unwrap(),
            deployed: deployed("1.0.0"),
        };
        let format = |own: &OwnRecord| {
            let object = own.to_object(&"prod".parse().unwrap());
            object["data"]["format"].clone()
        };
        assert_eq!(format(&own), "4");
        own.deployed.fleet = Some(Box::new(choices("{pullSecret: a}")));
        assert_eq!(format(&own), "5");
    }
}
