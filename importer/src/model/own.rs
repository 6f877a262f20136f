//! The record of a deployment by a namespace administrator: one ConfigMap for each Solution, in the namespace of the
//! operator.
//!
//! A tenant with write access to the namespace can forge such a record. It is therefore only trusted about its own
//! namespace, and only for Solutions that the cluster's records do not mention there.

use change::vocabulary as v;
use deployer::{Cluster, Gvk, Object, ObjectRef, Selector};
use schemas::{Namespace, SolutionName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::config_map;
use crate::model::error::Error;
use crate::model::namespace_record::Deployed;

/// The data key of records without a format (before format 2).
const FORMER_KEY: &str = "deployed.json";
/// The label value of these records.
const KIND: &str = "own";

/// A Solution that the namespace administrator has deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnRecord {
    pub(crate) solution: SolutionName,
    pub(crate) deployed: Deployed,
}

impl OwnRecord {
    /// Returns the records in a namespace.
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
        // A record with another name is not part of the operator's objects and is ignored.
        let named = |(record, map): &(Self, &Object)| map.name() == name(&record.solution);
        let known = known.into_iter().zip(&maps).filter(named);
        Ok(known.map(|(record, _)| record).collect())
    }

    /// Returns the ConfigMap of the record.
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

/// Returns the reference of the ConfigMap of a Solution's record in a namespace.
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
