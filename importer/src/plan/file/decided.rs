//! What was decided, as digests: of what would be written, and of the records that it depends on. What a plan shows
//! names objects and fields; this holds every byte of them. Secrets are in none of it.

use deployer::Object;
use schemas::{Digest, StatementTime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::model::applied::without_server_fields;
use crate::model::record::Record;
use crate::model::request::Asked;
use crate::plan::decision::Decision;
use crate::plan::deployment::{Deployment, is_default_account};

/// Digests of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decided {
    /// Of what the site's records say of the Solution, and would say.
    pub(super) records: Digest,
    /// Of every object that would be written.
    objects: Digest,
}

impl Decided {
    pub(super) fn of(asked: &Asked<'_>, decision: &Decision) -> Self {
        let deployment = decision.deployment.as_ref();
        let namespace = deployment.map(|it| &it.namespace);
        let record = Record {
            imported: StatementTime::DEFAULT,
            ..asked.record.clone()
        };
        let before = decision.state.concerning(asked.id.name(), namespace);
        let crds = decision.crds.iter().map(|crd| crd.object.as_value());
        let crds: Vec<&Value> = crds.collect();
        Self {
            records: digest(&json!({ "record": record, "before": before })),
            objects: digest(&json!({ "crds": crds, "deployment": deployment.map(written) })),
        }
    }
}

/// What a deployment writes. The default account's content is left out, as where two decisions are compared.
fn written(deployment: &Deployment) -> Value {
    let objects = deployment.objects.iter();
    let objects = objects.filter(|object| !is_default_account(object.reference()));
    let objects: Vec<&Value> = objects.map(Object::as_value).collect();
    json!({
        "place": deployment.place,
        "pullSecret": deployment.deployed.pull_secret,
        "objects": objects,
        "beyond": deployment.beyond.lines,
    })
}

/// The digest of an object as it is, without what the server and its controllers keep in it.
pub(crate) fn live_digest(object: &Object) -> Digest {
    digest(&without_server_fields(object.as_value().clone()))
}

/// Of canonical JSON: in `serde_json`'s values, keys are sorted.
fn digest(value: &Value) -> Digest {
    Digest::new(Sha256::digest(value.to_string()).into())
}
