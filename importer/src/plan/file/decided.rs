//! The decision, as digests: of the objects that would be written, and of the records that it depends on. A plan shows
//! names of objects and fields; this holds every byte of them. Secrets are in none of it.

use change::vocabulary as v;
use deployer::Object;
use schemas::{Digest, StatementTime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shelf::Record;

use crate::model::error::Error;
use crate::model::request::Asked;
use crate::plan::decision::Decision;
use crate::plan::deployment::Deployment;
use crate::plan::diff;
use crate::plan::hidden::HiddenTexts;

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
    let objects = changes.map(|it| masked(it.object(), hidden));
    let objects: Vec<Value> = objects.collect();
    let cleanup = deployment.cleanup.objects()?;
    let cleanup: Vec<Value> = cleanup.iter().map(|it| masked(it, hidden)).collect();
    Ok(json!({
        "place": deployment.place,
        "pullSecret": deployment.deployed.pull_secret,
        "objects": objects,
        "releases": deployment.change.inventory.releases,
        "cleanup": cleanup,
        "beyond": deployment.beyond.lines,
    }))
}

/// Returns the object without secrets: who knows all else that a digest is of would find a short one out. A generated
/// value is another one whenever it is planned, and so is the digest of a Job that has it.
fn masked(object: &Object, hidden: &HiddenTexts) -> Value {
    let mut value = object.as_value().clone();
    if object.is_secret() {
        diff::mask(Some(&mut value), None);
    }
    hidden.mask(&mut value, None);
    let annotations = value.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(v::INPUTS);
        annotations.remove(v::CHOSEN);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_decides_no_digest() {
        let object = |kind: &str, text: &str| {
            let object = json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": { "name": "a", "annotations": { v::INPUTS: text } },
                "data": { "url": format!("db://{text}@host"), "size": "3" },
            });
            Object::new(object).unwrap()
        };
        let of = |kind, text: &str| masked(&object(kind, text), &HiddenTexts::of(&[json!(text)]));
        assert_eq!(of("ConfigMap", "chance"), of("ConfigMap", "another"));
        assert_eq!(of("ConfigMap", "chance")["data"]["size"], "3");
        let open = |kind, text| masked(&object(kind, text), &HiddenTexts::default());
        assert_ne!(open("ConfigMap", "chance"), open("ConfigMap", "another"));
        assert_eq!(open("Secret", "chance"), open("Secret", "another"));
    }
}
