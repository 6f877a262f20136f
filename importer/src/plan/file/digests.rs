//! Digests of a planning decision: [`DecisionDigests`]. A plan file shows names of objects and fields; the digests
//! cover the content of all objects that would be written, and of the records on which the decision depends. Secret
//! values are masked.

use std::collections::BTreeMap;

use schemas::{Digest, SolutionName, StatementTime, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Record;

use crate::decide::decision::Decision;
use crate::decide::deployment::Deployment;
use crate::model::error::Error;
use crate::model::request::PlanRequest;
use crate::objects::diff;
use crate::plan::file::PlanFile;
use crate::records::namespace_record::{NamespaceRecord, Origin};

/// Digests of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionDigests {
    /// The digest of the site's records of the Solution, before and after the change.
    pub(super) records: Digest,
    /// The digest of all objects that would be written.
    objects: Digest,
    /// The same digests without the namespace's record, together with that record. `None` in files of earlier program
    /// versions, and if nothing is deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) apart: Option<DecisionApart>,
}

/// Digests of a decision without the namespace's record, which earlier deployments of the same run change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionApart {
    records: Digest,
    objects: Digest,
    space: FiledSpace,
}

/// The fields of a namespace's record on which the decision depends.
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
    /// Returns the digests of a decision. The time of the import is left out, since it differs in each plan.
    pub(super) fn new(asked: &PlanRequest<'_>, decision: &Decision) -> Result<Self, Error> {
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
            let deployment = deployment
                .map(|deployment| written(deployment, place))
                .transpose()?;
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
                    space: FiledSpace::new(&deployment.place),
                })
            }
        };
        let (records, objects) =
            digests(namespace, deployment.map(|deployment| &deployment.place))?;
        Ok(Self {
            records,
            objects,
            apart,
        })
    }

    /// Checks whether a later decision is the same as this one after the `earlier` plans of the run were applied. Those
    /// plans may have created the namespace and must have deployed the versions that they show.
    pub(super) fn holds_after(
        &self,
        later: &Self,
        namespace: Option<&str>,
        earlier: &[&PlanFile],
    ) -> bool {
        let (Some(shown), Some(now)) = (&self.apart, &later.apart) else {
            return self == later;
        };
        let of = |plan: &PlanFile| {
            plan.summary
                .target
                .as_ref()
                .map(|target| target.namespace.clone())
        };
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
    fn new(place: &NamespaceRecord) -> Self {
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

/// Returns the objects that a deployment writes in addition to the record of its namespace, and those that it stores to
/// be applied at its removal. The content of the namespace's default `ServiceAccount` is left out, as in other
/// comparisons of decisions.
fn written(deployment: &Deployment, place: Option<&NamespaceRecord>) -> Result<Value, Error> {
    let hidden = &deployment.parameters.hidden;
    let changes = deployment
        .change
        .changes()
        .filter(|change| !change.desired.is_the_namespaces());
    let objects = changes.map(|change| diff::masked(change.object(), hidden));
    let objects: Vec<Value> = objects.collect();
    let cleanup = deployment.cleanup.objects()?;
    let cleanup: Vec<Value> = cleanup
        .iter()
        .map(|object| diff::masked(object, hidden))
        .collect();
    Ok(json!({
        "place": place,
        "pullSecret": deployment.deployed.pull_secret,
        "objects": objects,
        "releases": deployment.change.inventory.releases,
        "cleanup": cleanup,
        "beyond": deployment.external_effects.lines,
    }))
}
