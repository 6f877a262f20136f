//! The decision, as digests: of the objects that would be written, and of the records that it depends on. A plan shows
//! names of objects and fields; this holds every byte of them. Secrets are in none of it.

use std::collections::BTreeMap;

use schemas::{Digest, SolutionName, StatementTime, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shelf::Record;

use super::PlanFile;
use crate::model::error::Error;
use crate::model::namespace_record::{NamespaceRecord, Origin};
use crate::model::request::Asked;
use crate::plan::decision::Decision;
use crate::plan::deployment::Deployment;
use crate::plan::diff;

/// Digests of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionDigests {
    /// The digest of the site's records of the Solution, as they are and as they would be.
    pub(super) records: Digest,
    /// The digest of every object that would be written.
    objects: Digest,
    /// The same without the namespace's record, and that; none in a file of an earlier version of the program, and where
    /// nothing is deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) apart: Option<DecisionApart>,
}

/// Digests of a decision, apart from the record of the namespace: earlier deployments of the same run change that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionApart {
    records: Digest,
    objects: Digest,
    space: FiledSpace,
}

/// The record of a namespace, as far as it decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FiledSpace {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    origin: Origin,
    description: String,
    coming: BTreeMap<SolutionName, Version>,
    solutions: BTreeMap<SolutionName, FiledDeployed>,
}

/// A Solution in the record of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FiledDeployed {
    version: Version,
    record: Digest,
}

impl DecisionDigests {
    pub(super) fn of(asked: &Asked<'_>, decision: &Decision) -> Result<Self, Error> {
        let deployment = decision.deployment.as_ref();
        let namespace = deployment.map(Deployment::namespace);
        let record = Record {
            imported: StatementTime::DEFAULT,
            ..asked.record.clone()
        };
        let digests = |namespace, place: Option<&NamespaceRecord>| {
            let before = decision.state.concerning(asked.id.name(), namespace);
            let crds = decision.crds.iter().map(|crd| crd.object.as_value());
            let crds: Vec<&Value> = crds.collect();
            let deployment = deployment.map(|it| written(it, place)).transpose()?;
            let records = diff::digest(&json!({ "record": record, "before": before }));
            let objects = diff::digest(&json!({ "crds": crds, "deployment": deployment }));
            Ok::<_, Error>((records, objects))
        };
        let apart = match deployment {
            None => None,
            Some(deployment) => {
                let (records, objects) = digests(None, None)?;
                Some(DecisionApart {
                    records,
                    objects,
                    space: FiledSpace::of(&deployment.place),
                })
            }
        };
        let (records, objects) = digests(namespace, deployment.map(|it| &it.place))?;
        Ok(Self {
            records,
            objects,
            apart,
        })
    }

    /// Whether a later decision about the same is this one, once `earlier` plans of the same run were carried out. They have
    /// created the namespace if there was none, and deployed what they show.
    pub(super) fn holds_after(
        &self,
        later: &Self,
        namespace: Option<&str>,
        earlier: &[&PlanFile],
    ) -> bool {
        let (Some(shown), Some(now)) = (&self.apart, &later.apart) else {
            return self == later;
        };
        let of = |plan: &PlanFile| plan.summary.target.as_ref().map(|it| it.namespace.clone());
        let here = earlier
            .iter()
            .filter(|plan| of(plan).as_deref() == namespace);
        let mut space = shown.space.clone();
        for plan in here {
            let (solution, version) = (plan.solution.name(), plan.solution.version());
            space.uid = space.uid.or_else(|| now.space.uid.clone());
            match now.space.solutions.get(solution) {
                Some(deployed) if deployed.version == *version => {
                    space.solutions.insert(solution.clone(), deployed.clone());
                }
                _ => return false,
            }
        }
        (&shown.records, &shown.objects) == (&now.records, &now.objects) && space == now.space
    }
}

impl FiledSpace {
    fn of(place: &NamespaceRecord) -> Self {
        let deployed = place.solutions.iter().map(|(name, deployed)| {
            let filed = FiledDeployed {
                version: deployed.version.clone(),
                record: diff::digest(&json!(deployed)),
            };
            (name.clone(), filed)
        });
        Self {
            uid: place.uid.clone(),
            origin: place.origin,
            description: place.description.clone(),
            coming: place.coming.clone(),
            solutions: deployed.collect(),
        }
    }
}

/// Returns the objects that a deployment writes beside the record of its place, and those that it keeps to be written when it is removed. The default
/// account's content is left out, as where two decisions are compared.
fn written(deployment: &Deployment, place: Option<&NamespaceRecord>) -> Result<Value, Error> {
    let hidden = &deployment.parameters.hidden;
    let changes = deployment.change.changes();
    let changes = changes.filter(|it| !it.desired.is_the_namespaces());
    let objects = changes.map(|it| diff::masked(it.object(), hidden));
    let objects: Vec<Value> = objects.collect();
    let cleanup = deployment.cleanup.objects()?;
    let cleanup: Vec<Value> = cleanup.iter().map(|it| diff::masked(it, hidden)).collect();
    Ok(json!({
        "place": place,
        "pullSecret": deployment.deployed.pull_secret,
        "objects": objects,
        "releases": deployment.change.inventory.releases,
        "cleanup": cleanup,
        "beyond": deployment.beyond.lines,
    }))
}
