//! The decision, as digests: of the objects that would be written, and of the records that it depends on. A plan shows
//! names of objects and fields; this holds every byte of them. Secrets are in none of it.

use schemas::{Digest, StatementTime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shelf::Record;

use crate::model::error::Error;
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
}

impl DecisionDigests {
    pub(super) fn of(asked: &Asked<'_>, decision: &Decision) -> Result<Self, Error> {
        let deployment = decision.deployment.as_ref();
        let namespace = deployment.map(Deployment::namespace);
        let record = Record {
            imported: StatementTime::DEFAULT,
            ..asked.record.clone()
        };
        let before = decision.state.concerning(asked.id.name(), namespace);
        let crds = decision.crds.iter().map(|crd| crd.object.as_value());
        let crds: Vec<&Value> = crds.collect();
        let deployment = deployment.map(written).transpose()?;
        Ok(Self {
            records: diff::digest(&json!({ "record": record, "before": before })),
            objects: diff::digest(&json!({ "crds": crds, "deployment": deployment })),
        })
    }
}

/// Returns the objects that a deployment writes, and those that it keeps to be written when it is removed. The default
/// account's content is left out, as where two decisions are compared.
fn written(deployment: &Deployment) -> Result<Value, Error> {
    let hidden = &deployment.parameters.hidden;
    let changes = deployment.change.changes();
    let changes = changes.filter(|it| !it.desired.is_the_namespaces());
    let objects = changes.map(|it| diff::masked(it.object(), hidden));
    let objects: Vec<Value> = objects.collect();
    let cleanup = deployment.cleanup.objects()?;
    let cleanup: Vec<Value> = cleanup.iter().map(|it| diff::masked(it, hidden)).collect();
    Ok(json!({
        "place": deployment.place,
        "pullSecret": deployment.deployed.pull_secret,
        "objects": objects,
        "releases": deployment.change.inventory.releases,
        "cleanup": cleanup,
        "beyond": deployment.beyond.lines,
    }))
}
