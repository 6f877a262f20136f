//! One step of a plan: changes that are made together before anything is waited for.

use deployer::Object;
use schemas::SetName;
use serde_json::{Value, json};

use crate::desired::DesiredObject;
use crate::stage::Stage;

/// The action on an object.
#[derive(Clone, Debug)]
pub enum Action {
    /// The object is created, since it is not there.
    Create,
    /// The object is applied over this one.
    Update(Object),
    /// The object is made anew after this one is removed.
    Replace(Object),
}

/// An object, and what becomes of it.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// The object.
    pub desired: DesiredObject,
    /// The action on the object.
    pub action: Action,
    /// The object with the number of pods that somebody else has set. It decides nothing: it may be another one when it
    /// is written.
    pub scaled: Option<Object>,
}

impl ObjectChange {
    /// Returns the object that is there under its name.
    #[must_use]
    pub fn live(&self) -> Option<&Object> {
        match &self.action {
            Action::Create => None,
            Action::Update(live) | Action::Replace(live) => Some(live),
        }
    }

    /// Returns the object as it is wanted.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.desired.object
    }

    /// Returns the object as it is applied: with the number of pods that somebody else has set.
    #[must_use]
    pub fn applied(&self) -> &Object {
        self.scaled.as_ref().unwrap_or(&self.desired.object)
    }

    /// Returns the object that is removed first.
    #[must_use]
    pub fn replaced(&self) -> Option<&Object> {
        match &self.action {
            Action::Replace(live) => Some(live),
            Action::Create | Action::Update(_) => None,
        }
    }
}

/// A step: changes that are made together before anything is waited for.
#[derive(Clone, Debug)]
pub enum Step {
    /// Workloads that ran in another form stop, and their last pods go.
    Stop(Vec<Object>),
    /// Objects of one stage of one part are written, and those of them that have to work do.
    Bring(Stage, Vec<ObjectChange>),
    /// Helm installs or upgrades a release.
    Release(SetName),
}

impl Step {
    /// Returns what a step is equal to another one in; nothing of one that only changes what is the namespace's, since
    /// whoever may change that could keep all else away.
    pub(crate) fn shown(&self) -> Option<Value> {
        let references = |objects: &[Object]| -> Vec<String> {
            objects
                .iter()
                .map(|it| it.reference().to_string())
                .collect()
        };
        match self {
            Self::Stop(stopped) => Some(json!({ "stop": references(stopped) })),
            Self::Release(name) => Some(json!({ "release": name })),
            Self::Bring(stage, changes) => {
                let own = changes.iter().filter(|it| !it.desired.is_the_namespaces());
                let changes: Vec<Value> = own
                    .map(|it| {
                        json!({
                            "part": it.desired.part,
                            "object": it.desired.object.as_value(),
                            "uid": it.live().map(Object::uid),
                            "replaced": it.replaced().is_some(),
                        })
                    })
                    .collect();
                (!changes.is_empty()).then(|| json!({ "stage": stage, "changes": changes }))
            }
        }
    }

    /// Whether it brings pods.
    #[must_use]
    pub fn runs(&self) -> bool {
        matches!(self, Self::Bring(Stage::Workload, _) | Self::Release(_))
    }
}

/// Returns changes of one stage in those batches of which the order matters; those of one batch may be made at the same
/// time.
///
/// Data that others name goes before them: a binding to a role that is not there is refused to whoever may not bind at
/// will, and the token of an account that is not there is removed. Resources of the release's own kinds stay in the order
/// of the release from kind to kind, since its webhooks may ask for one when another is written.
#[must_use]
pub fn batches(stage: Stage, changes: &[ObjectChange]) -> Vec<Vec<&ObjectChange>> {
    let batches: Vec<Vec<&ObjectChange>> = match stage {
        Stage::Space | Stage::Definition | Stage::Workload => vec![changes.iter().collect()],
        Stage::Data => {
            let (named, others) = changes.iter().partition(|it| is_named(it.object()));
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

/// Whether other data names objects of this kind.
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
                let names: Vec<&str> = batch.into_iter().map(|it| it.object().name()).collect();
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
