//! The steps of a plan. The changes of one step are made together, and its objects must be ready before the next step
//! starts.

use kubernetes::Object;
use schemas::SetName;
use serde_json::{Value, json};

use crate::desired::DesiredObject;
use crate::stage::Stage;

/// The action on an object.
#[derive(Clone, Debug)]
pub enum Action {
    /// The object does not exist and is created.
    Create,
    /// The object is applied over this live object.
    Update(Object),
    /// This live object is deleted, and the object is created again.
    Replace(Object),
}

/// A desired object and the action on it.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// The desired object.
    pub desired: DesiredObject,
    /// The action.
    pub action: Action,
    /// The object with the number of replicas that another field manager has set. It is for display only, because the
    /// number can change before the object is written.
    pub scaled: Option<Object>,
}

impl ObjectChange {
    /// Returns the live object with the same name.
    #[must_use]
    pub fn live(&self) -> Option<&Object> {
        match &self.action {
            Action::Create => None,
            Action::Update(live) | Action::Replace(live) => Some(live),
        }
    }

    /// Returns the desired object.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.desired.object
    }

    /// Returns the object to apply, with the number of replicas that another field manager has set.
    #[must_use]
    pub fn applied(&self) -> &Object {
        self.scaled.as_ref().unwrap_or(&self.desired.object)
    }

    /// Returns the live object that is deleted first.
    #[must_use]
    pub fn replaced(&self) -> Option<&Object> {
        match &self.action {
            Action::Replace(live) => Some(live),
            Action::Create | Action::Update(_) => None,
        }
    }
}

/// A group of changes that are made together.
#[derive(Clone, Debug)]
pub enum Step {
    /// Workloads of the other form are scaled to zero, and their last pods terminate.
    Stop(Vec<Object>),
    /// Objects of one stage of one part are written and become ready.
    Bring(Stage, Vec<ObjectChange>),
    /// Helm installs or upgrades a release.
    Release(SetName),
}

impl Step {
    /// Returns the content by which steps of two plans are compared. `None` for a step that changes only shared objects
    /// of the namespace: a tenant can edit these, and could invalidate every approved plan.
    pub(crate) fn comparable_content(&self) -> Option<Value> {
        let references = |objects: &[Object]| -> Vec<String> {
            objects
                .iter()
                .map(|object| object.reference().to_string())
                .collect()
        };
        match self {
            Self::Stop(stopped) => Some(json!({ "stop": references(stopped) })),
            Self::Release(name) => Some(json!({ "release": name })),
            Self::Bring(stage, changes) => {
                let own = changes
                    .iter()
                    .filter(|change| !change.desired.is_the_namespaces());
                let changes: Vec<Value> = own
                    .map(|change| {
                        json!({
                            "part": change.desired.part,
                            "object": change.desired.object.as_value(),
                            "uid": change.live().map(Object::uid),
                            "replaced": change.replaced().is_some(),
                        })
                    })
                    .collect();
                (!changes.is_empty()).then(|| json!({ "stage": stage, "changes": changes }))
            }
        }
    }

    /// Returns true if the step starts pods.
    #[must_use]
    pub fn runs(&self) -> bool {
        matches!(self, Self::Bring(Stage::Workload, _) | Self::Release(_))
    }
}

/// Splits the changes of one stage into batches. The batches are applied in order, and the changes within a batch can
/// be applied concurrently.
///
/// Roles and ServiceAccounts precede the data that refers to them. The API server rejects a binding to a missing role
/// unless the user has the `bind` permission, and the token controller deletes the token of a missing account. Custom
/// resources keep the release's order of kinds, since a webhook may look up a resource of one kind when one of another
/// kind is written.
#[must_use]
pub fn batches(stage: Stage, changes: &[ObjectChange]) -> Vec<Vec<&ObjectChange>> {
    let batches: Vec<Vec<&ObjectChange>> = match stage {
        Stage::Space | Stage::Definition | Stage::Workload => vec![changes.iter().collect()],
        Stage::Data => {
            let (named, others) = changes.iter().partition(|change| is_named(change.object()));
            vec![named, others]
        }
        Stage::Resource => {
            let by_kind = changes.chunk_by(|a, b| a.object().gvk() == b.object().gvk());
            by_kind.map(|batch| batch.iter().collect()).collect()
        }
    };
    let some = batches.into_iter().filter(|batch| !batch.is_empty());
    some.collect()
}

/// Checks whether other data refers to objects of this kind.
fn is_named(object: &Object) -> bool {
    let kind = object.gvk();
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        ("", "ServiceAccount") | ("rbac.authorization.k8s.io", "Role" | "ClusterRole")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_name_goes_before_them_and_the_rest_together() {
        let object = |api_version: &str, kind: &str, name: &str| {
            let metadata = json!({"name": name, "namespace": "n"});
            let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
            ObjectChange {
                desired: DesiredObject::of_operator(Object::new(object).unwrap()),
                action: Action::Create,
                scaled: None,
            }
        };
        let rbac = "rbac.authorization.k8s.io/v1";
        let objects = [
            object("v1", "Secret", "token"),
            object(rbac, "RoleBinding", "binding"),
            object("v1", "ServiceAccount", "account"),
            object(rbac, "Role", "role"),
            object("v1", "Service", "service"),
        ];
        let names = |stage, objects: &[ObjectChange]| -> Vec<String> {
            let batches = batches(stage, objects).into_iter();
            let names = batches.map(|batch| {
                let names: Vec<&str> = batch
                    .into_iter()
                    .map(|change| change.object().name())
                    .collect();
                names.join(" ")
            });
            names.collect()
        };
        assert_eq!(
            names(Stage::Data, &objects),
            ["account role", "token binding service"]
        );
        assert_eq!(names(Stage::Data, &objects[..1]), ["token"]);
        assert_eq!(
            names(Stage::Workload, &objects[..2]),
            ["token binding"],
            "nothing that runs names another"
        );
        let resources = [
            object("x.test/v1", "Class", "a"),
            object("x.test/v1", "Cart", "b"),
            object("x.test/v1", "Cart", "c"),
            object("x.test/v1", "Class", "d"),
        ];
        assert_eq!(names(Stage::Resource, &resources), ["a", "b c", "d"]);
    }
}
