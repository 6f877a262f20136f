//! The objects that a Solution applies before it is removed ([`Cleanup`]): its sets with `phase: remove`, as rendered
//! at the deployment. A removal must work without the archive and the registry, so the cluster stores these objects.
//! They may contain secret values, and are applied with an administrator's rights. They are therefore in a Secret in
//! the namespace of the records.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubernetes::{Cluster, Object, ObjectRef};
use planner::{
    AdoptionPolicy, Claim, Entry, Inventory, InventoryRecord, OwnershipConflict, vocabulary as v,
};
use schemas::{Namespace, SolutionName, json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::records::inventory;
use crate::records::state::ClusterState;
use crate::records::storage::read_if_allowed;

/// The data key of the Secret.
const KEY: &str = "objects.json";

/// The choice to apply or to skip the sets that a Solution applies before it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveSets {
    /// The sets are applied and awaited.
    Apply,
    /// The sets are skipped.
    Skip,
}

/// The objects in the order in which they are applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cleanup {
    pub(crate) steps: Vec<CleanupStep>,
}

/// An object and its inventory entry.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CleanupStep {
    pub(crate) recorded: Entry,
    object: Value,
}

impl std::fmt::Debug for CleanupStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.recorded.fmt(f)
    }
}

impl CleanupStep {
    pub(crate) fn new(recorded: Entry, object: Object) -> Self {
        let object = object.into_value();
        Self { recorded, object }
    }

    pub(crate) fn object(&self) -> Result<Object, Error> {
        Ok(Object::new(self.object.clone())?)
    }

    /// Checks whether both objects are applied without waiting in between.
    pub(crate) fn is_in_one_wave(&self, other: &Self) -> bool {
        let wave = |step: &Self| (step.recorded.part.clone(), step.recorded.stage);
        wave(self) == wave(other)
    }
}

impl Cleanup {
    /// Reads the cleanup record of a Solution in a namespace; `None` if there is none or this user may not read it. The
    /// preflight check of rights reports that.
    pub(crate) async fn read(
        cluster: &Cluster,
        solution: &SolutionName,
        namespace: &Namespace,
    ) -> Result<Option<Self>, Error> {
        let secret = read_if_allowed(cluster, &reference(solution, namespace)).await?;
        secret.as_ref().map(Self::parse).transpose()
    }

    pub(crate) fn parse(secret: &Object) -> Result<Self, Error> {
        let coded = secret.as_value()["data"][KEY].as_str().unwrap_or_default();
        let text = STANDARD.decode(coded).unwrap_or_default();
        json::from_slice(&text)
            .map_err(|source| Error::Record(secret.reference().to_string(), source))
    }

    /// Returns the names of all objects.
    pub(crate) fn names(&self) -> Vec<String> {
        let references = self.steps.iter().map(|step| step.recorded.reference());
        references.map(|reference| reference.to_string()).collect()
    }

    /// Returns all objects.
    pub(crate) fn objects(&self) -> Result<Vec<Object>, Error> {
        self.steps.iter().map(CleanupStep::object).collect()
    }

    /// Returns the Secret with the record.
    pub(crate) fn to_object(&self, solution: &SolutionName, namespace: &Namespace) -> Value {
        let text = serde_json::to_string(self).expect("a record has a JSON form");
        let ObjectRef {
            namespace: records,
            name,
            ..
        } = reference(solution, namespace);
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name,
                "namespace": records,
                "labels": {
                    v::MANAGED_BY: v::MANAGER,
                    v::CARRIED: namespace,
                    v::SOLUTION: solution,
                },
            },
            "type": "Opaque",
            "data": { KEY: STANDARD.encode(text) },
        })
    }
}

/// Checks whether an object may be applied over the existing object with its name, if any. Only records decide whether
/// that object is from an earlier attempt. If the Solution is not deployed in the namespace, it owns no object,
/// regardless of the labels.
pub(crate) fn check_step(
    object: &Object,
    live: Option<&Object>,
    solution: &SolutionName,
    recorded: &Inventory,
    records: Option<&ClusterState>,
) -> Result<(), Blocker> {
    let nobodys = |object| {
        let owner = None;
        Err(OwnershipConflict::Owned { object, owner }.into())
    };
    let made = recorded
        .find(object.reference())
        .and_then(|entry| entry.uid.as_deref());
    let deployed = records.map(|records| records.namespaces_with(solution));
    let claim = Claim {
        solution,
        adopt: AdoptionPolicy::Refuse,
        deployed: deployed.as_ref(),
    };
    match live {
        Some(live) if made.is_some_and(|made| live.uid() != Some(made)) => {
            nobodys(live.reference().to_string())
        }
        _ => match claim.check(
            object,
            live,
            made.map_or(InventoryRecord::Some, InventoryRecord::This),
        ) {
            // A removal has no option to take over an object.
            Err(OwnershipConflict::LeftBehind { object, .. }) => nobodys(object),
            checked => Ok(checked?),
        },
    }
}

/// Returns the reference of the Secret with the objects that a Solution applies before it is removed.
pub(crate) fn reference(solution: &SolutionName, namespace: &Namespace) -> ObjectRef {
    let map = inventory::reference(solution, namespace);
    ObjectRef::namespaced("v1", "Secret", v::RECORDS_NAMESPACE, &map.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::namespace_record::tests::{deployed, namespace_record};
    use planner::Stage;

    #[test]
    fn records_say_whose_an_object_is_that_is_there_already() {
        let shop: SolutionName = "shop".parse().unwrap();
        let job = |uid: &str, place: &str| {
            let labels = json!({ v::SOLUTION: "shop", v::ENVIRONMENT: "e", v::NAMESPACE: place });
            let metadata =
                json!({ "name": "j", "namespace": "other", "uid": uid, "labels": labels });
            let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata });
            Object::new(job).unwrap()
        };
        let wanted = job("", "prod");
        let attempt = |uid: Option<&str>| Inventory {
            entries: vec![Entry {
                part: Some("last".parse().unwrap()),
                stage: Stage::Workload,
                api_version: "batch/v1".to_owned(),
                kind: "Job".to_owned(),
                resource: "jobs".to_owned(),
                namespace: Some("other".to_owned()),
                name: "j".to_owned(),
                inputs: None,
                uid: uid.map(str::to_owned),
            }],
            ..Inventory::default()
        };
        let mut records = ClusterState {
            namespaces: vec![namespace_record("e", "prod-2")],
            ..ClusterState::default()
        };
        let check = |live: &Object, uid, records: &ClusterState| {
            check_step(&wanted, Some(live), &shop, &attempt(uid), Some(records))
        };
        assert_eq!(check(&job("1", "prod"), None, &records), Ok(()));
        assert_eq!(check(&job("1", "prod"), Some("1"), &records), Ok(()));
        let nobodys = Err(OwnershipConflict::Owned {
            object: "Job other/j".to_owned(),
            owner: None,
        }
        .into());
        assert_eq!(check(&job("2", "prod"), Some("1"), &records), nobodys);
        // The labels name a Solution that is not deployed in the namespace.
        assert_eq!(check(&job("1", "prod-2"), None, &records), nobodys);
        let solutions = &mut records.namespaces[0].solutions;
        solutions.insert(shop.clone(), deployed("1.0.0"));
        let owned = check(&job("1", "prod-2"), None, &records).unwrap_err();
        assert!(
            matches!(owned, Blocker::NotOurs(OwnershipConflict::Elsewhere { .. })),
            "{owned:?}"
        );
    }

    #[test]
    fn what_is_kept_comes_back_and_is_shown_nowhere() {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "s", "namespace": "prod" },
            "data": { "password": "aHVudGVyMg==" },
        });
        let recorded = Entry {
            part: Some("last".parse().unwrap()),
            stage: Stage::Data,
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            resource: "secrets".to_owned(),
            namespace: Some("prod".to_owned()),
            name: "s".to_owned(),
            inputs: None,
            uid: None,
        };
        let cleanup = Cleanup {
            steps: vec![CleanupStep::new(recorded, Object::new(object).unwrap())],
        };
        let (solution, namespace) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let secret = Object::new(cleanup.to_object(&solution, &namespace)).unwrap();
        assert_eq!(secret.reference(), &reference(&solution, &namespace));
        assert!(secret.is_secret());
        assert_eq!(Cleanup::parse(&secret).unwrap(), cleanup);
        let shown = format!("{cleanup:?} {secret:?}");
        assert!(!shown.contains("aHVudGVyMg"), "{shown}");
    }
}
