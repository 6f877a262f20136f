//! Ownership of objects. Objects of another Solution or of a Helm release are never written or removed. Objects without
//! an owner are written only if the user asked to adopt them. [`Claim::check`] is the rule for planning and writing.

use std::collections::BTreeSet;

use kubernetes::Object;
use schemars::JsonSchema;
use schemas::{Namespace, SolutionName, list_names};
use serde::{Deserialize, Serialize};

use crate::vocabulary as v;

/// Whether what belongs to nobody is taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Adopt")]
pub enum AdoptionPolicy {
    /// It is in the way.
    #[default]
    Refuse,
    /// It becomes the Solution's.
    Allow,
}

/// An object that another owner manages, or that nothing records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "Objects with another owner")]
#[schemars(rename = "NotOurs")]
pub enum OwnershipConflict {
    /// The object belongs to another Solution or to no Solution.
    #[error("{object} already exists and belongs to {by}", by = owner.as_deref().unwrap_or("no Solution"))]
    Owned {
        /// The object.
        object: String,
        /// The other Solution.
        owner: Option<String>,
    },
    /// Someone deleted an object of the Solution and created another one with the same name.
    #[error("{object} was deleted and created again by someone else in the meantime")]
    MadeAnew {
        /// The object.
        object: String,
    },
    /// The same Solution has objects with these names in another environment.
    #[error(
        "{solution} in the environment `{environment}` already has objects of these names: {objects}",
        objects = list_names(objects.clone())
    )]
    Elsewhere {
        /// The Solution.
        solution: SolutionName,
        /// The other environment.
        environment: String,
        /// The objects.
        objects: Vec<String>,
    },
    /// The object was kept when the same Solution was removed from another place.
    #[error("{object} was kept when {solution} was removed from the {place}")]
    LeftBehind {
        /// The Solution.
        solution: SolutionName,
        /// The environment or namespace that it was removed from.
        place: String,
        /// The object.
        object: String,
    },
    /// The object has the labels of the Solution, but the inventory does not list it.
    #[error("{object} has the labels of {solution}, but is not in its inventory")]
    Labelled {
        /// The Solution.
        solution: SolutionName,
        /// The object.
        object: String,
    },
    /// The object belongs to a Helm release.
    #[error("{object} already exists and belongs to the Helm release `{release}`")]
    OfHelm {
        /// The object.
        object: String,
        /// The release, as `NAMESPACE/NAME`.
        release: String,
    },
}

/// The annotations with which Helm marks the objects of a release: the name of the release, and its namespace.
pub const RELEASE: (&str, &str) = (
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
);

/// The Helm release that owns an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder<'a> {
    /// A release, by namespace and name.
    Release(&'a str, &'a str),
    /// No release.
    Nobody,
}

/// Returns the Helm release that owns an object, by Helm's annotations.
#[must_use]
pub fn holder(live: &Object) -> Holder<'_> {
    let marks = live.annotations();
    let mark = |name: &str| marks.get(name).copied();
    match mark(RELEASE.0) {
        Some(name) => Holder::Release(mark(RELEASE.1).unwrap_or_default(), name),
        None => Holder::Nobody,
    }
}

/// Checks whether an object that no inventory lists may be written over the live one, by the label of its owner alone.
pub fn check_owner(
    object: &Object,
    live: Option<&Object>,
    solution: &SolutionName,
) -> Result<(), OwnershipConflict> {
    // The `default` ServiceAccount has no Solution label: it belongs to the namespace, and the Solution only adds its
    // pull secret.
    match live {
        Some(live) if object.labels().contains_key(v::SOLUTION) => owner_of(live, solution),
        _ => Ok(()),
    }
}

/// A Solution that claims objects, and the evidence for its claim.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The Solution.
    pub solution: &'a SolutionName,
    /// The choice between adopting and rejecting objects without an owner.
    pub adopt: AdoptionPolicy,
    /// The namespaces in which the site has recorded a deployment of the Solution. `None` if they are not known.
    pub deployed: Option<&'a BTreeSet<Namespace>>,
}

/// The inventory's record of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InventoryRecord<'a> {
    /// The inventory does not list the object.
    Nothing,
    /// The inventory lists the object without its UID.
    Some,
    /// The UID of the object that was applied.
    This(&'a str),
}

impl Claim<'_> {
    /// Checks whether the Solution may write `desired` over the live object, if there is one. The publisher chose the
    /// names, so another environment may use the same ones. The inventory decides, and not the labels: an object that
    /// was kept at a removal no longer belongs to the Solution.
    pub fn check(
        &self,
        desired: &Object,
        live: Option<&Object>,
        recorded: InventoryRecord<'_>,
    ) -> Result<(), OwnershipConflict> {
        let Some(live) = live else {
            return Ok(());
        };
        match live.labels().get(v::SOLUTION) {
            Some(owner) if *owner == self.solution.as_str() => {
                // The label has the namespace of the deployment. Another namespace means another environment.
                let [desired, there] =
                    [desired, live].map(|object| object.labels().get(v::NAMESPACE).copied());
                if desired == there {
                    self.check_labelled(live, recorded)
                } else {
                    self.check_elsewhere(live)
                }
            }
            Some(_) => owner_of(live, self.solution),
            None => match holder(live) {
                Holder::Release(namespace, release) => Err(OwnershipConflict::OfHelm {
                    object: live.reference().to_string(),
                    release: format!("{namespace}/{release}"),
                }),
                Holder::Nobody if self.adopt == AdoptionPolicy::Allow => Ok(()),
                Holder::Nobody => owner_of(live, self.solution),
            },
        }
    }

    /// Checks whether a live object with the Solution's labels belongs to the Solution. A tenant can put these labels
    /// on any object of a namespace. They are accepted only without better evidence: on cluster-scoped objects, on
    /// volume claims that were kept at a removal, and on the objects of an operator in a namespace where one is
    /// deployed.
    fn check_labelled(
        &self,
        live: &Object,
        recorded: InventoryRecord<'_>,
    ) -> Result<(), OwnershipConflict> {
        let is_believed = match recorded {
            InventoryRecord::Some => true,
            InventoryRecord::This(uid) => live.uid() == Some(uid),
            InventoryRecord::Nothing => {
                let stayed = live.gvk().kind == "PersistentVolumeClaim";
                let of_operator = live.labels().contains_key(v::ENVIRONMENT);
                let is_deployed = || {
                    self.deployed
                        .is_some_and(|namespaces| !was_left(live, namespaces))
                };
                live.namespace().is_none() || stayed || of_operator && is_deployed()
            }
        };
        if is_believed || self.adopt == AdoptionPolicy::Allow {
            return Ok(());
        }
        Err(OwnershipConflict::Labelled {
            solution: self.solution.clone(),
            object: live.reference().to_string(),
        })
    }

    /// Checks whether an object labelled for another environment was kept when the Solution was removed there.
    fn check_elsewhere(&self, live: &Object) -> Result<(), OwnershipConflict> {
        let (solution, object) = (self.solution.clone(), live.reference().to_string());
        if !self
            .deployed
            .is_some_and(|namespaces| was_left(live, namespaces))
        {
            let environment = live.labels().get(v::ENVIRONMENT).copied();
            return Err(OwnershipConflict::Elsewhere {
                solution,
                environment: environment.unwrap_or_default().to_owned(),
                objects: vec![object],
            });
        }
        if self.adopt == AdoptionPolicy::Allow {
            return Ok(());
        }
        Err(OwnershipConflict::LeftBehind {
            solution,
            place: place_of(live),
            object,
        })
    }
}

/// Returns the environment or namespace that an object names in its labels. A namespace that was kept at a removal no
/// longer names its environment.
fn place_of(live: &Object) -> String {
    let labels = live.labels();
    let says = |name| labels.get(name).copied();
    match (says(v::ENVIRONMENT), says(v::NAMESPACE)) {
        (None, Some(namespace)) => format!("namespace `{namespace}`"),
        (environment, _) => format!("environment `{}`", environment.unwrap_or_default()),
    }
}

/// Checks whether the Solution is no longer deployed in the place that the labels of an object name.
fn was_left(live: &Object, deployed: &BTreeSet<Namespace>) -> bool {
    let labels = live.labels();
    let place = labels
        .get(v::NAMESPACE)
        .copied()
        .or(live.namespace())
        .and_then(|place| place.parse::<Namespace>().ok());
    place.is_some_and(|place| !deployed.contains(&place))
}

/// Checks that an object is labelled as the Solution's.
pub fn owner_of(live: &Object, solution: &SolutionName) -> Result<(), OwnershipConflict> {
    let labels = live.labels();
    let owner = labels.get(v::SOLUTION).copied();
    if owner == Some(solution.as_str()) {
        return Ok(());
    }
    Err(OwnershipConflict::Owned {
        object: live.reference().to_string(),
        owner: owner.map(str::to_owned),
    })
}

/// Checks that an object is labelled as the Solution's and has this UID, if it is known. Otherwise another actor may
/// have deleted the object and created one with the same name.
pub fn is_that(
    live: &Object,
    uid: Option<&str>,
    solution: &SolutionName,
) -> Result<(), OwnershipConflict> {
    owner_of(live, solution)?;
    if uid.is_some_and(|uid| live.uid() != Some(uid)) {
        return Err(OwnershipConflict::MadeAnew {
            object: live.reference().to_string(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn role(name: &str, solution: Option<&str>) -> Object {
        let mut value = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": { "name": name, "namespace": "ns" },
        });
        if let Some(solution) = solution {
            value["metadata"]["labels"] = json!({ v::SOLUTION: solution });
        }
        Object::new(value).unwrap()
    }

    #[test]
    fn what_another_environment_left_is_nobodys() {
        let shop: SolutionName = "shop".parse().unwrap();
        let mut live = role("a", Some("shop")).into_value();
        live["metadata"]["labels"][v::ENVIRONMENT] = json!("prod");
        live["metadata"]["labels"][v::NAMESPACE] = json!("shop-prod");
        let live = Object::new(live).unwrap();
        let check = |deployed: &BTreeSet<Namespace>, adopt| {
            let desired = role("a", Some("shop"));
            claim(&shop, adopt, deployed).check(&desired, Some(&live), InventoryRecord::Nothing)
        };
        let nowhere = BTreeSet::new();
        let left = check(&nowhere, AdoptionPolicy::Refuse).unwrap_err();
        assert!(
            matches!(left, OwnershipConflict::LeftBehind { .. }),
            "{left:?}"
        );
        assert_eq!(check(&nowhere, AdoptionPolicy::Allow), Ok(()));
        let there = ["shop-prod".parse().unwrap()].into();
        for adopt in [AdoptionPolicy::Refuse, AdoptionPolicy::Allow] {
            let owned = check(&there, adopt).unwrap_err();
            assert!(
                matches!(owned, OwnershipConflict::Elsewhere { .. }),
                "{owned:?}"
            );
        }
    }

    fn claim<'a>(
        solution: &'a SolutionName,
        adopt: AdoptionPolicy,
        deployed: &'a BTreeSet<Namespace>,
    ) -> Claim<'a> {
        Claim {
            solution,
            adopt,
            deployed: Some(deployed),
        }
    }

    /// Returns an object of the namespace `prod` with labels that a tenant may have set.
    fn labelled(kind: &str, labels: &Value) -> Object {
        let metadata = json!({ "name": "a", "namespace": "prod", "uid": "1", "labels": labels });
        let object = json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata });
        Object::new(object).unwrap()
    }

    #[test]
    fn labels_that_anybody_can_write_take_nothing_over() {
        let shop: SolutionName = "shop".parse().unwrap();
        let nowhere = BTreeSet::new();
        let ours = json!({ v::SOLUTION: "shop" });
        let desired = labelled("Service", &ours);
        let takes = |live: &Object, deployed: &BTreeSet<Namespace>, recorded| {
            let check = |adopt| claim(&shop, adopt, deployed).check(&desired, Some(live), recorded);
            assert_eq!(check(AdoptionPolicy::Allow), Ok(()));
            match check(AdoptionPolicy::Refuse) {
                Ok(()) => true,
                Err(OwnershipConflict::Labelled { object, .. }) => {
                    assert_eq!(object, live.reference().to_string());
                    false
                }
                Err(other) => panic!("{other}"),
            }
        };
        let mut made = desired.clone().into_value();
        for (recorded, expected) in [
            (InventoryRecord::Nothing, false),
            (InventoryRecord::This("2"), false),
            (InventoryRecord::This("1"), true),
            // An interrupted change created it.
            (InventoryRecord::Some, true),
        ] {
            assert_eq!(
                takes(&desired, &nowhere, recorded),
                expected,
                "{recorded:?}"
            );
        }
        // The claim holds data, and was kept when the Solution was removed.
        let claim = labelled("PersistentVolumeClaim", &ours);
        assert!(takes(&claim, &nowhere, InventoryRecord::Nothing));
        assert!(!takes(&claim, &nowhere, InventoryRecord::This("2")));
        // A cluster-scoped object cannot be labelled by a tenant.
        made["metadata"]["namespace"] = Value::Null;
        let made = Object::new(made).unwrap();
        assert!(takes(&made, &nowhere, InventoryRecord::Nothing));
        // The object may be an operator's in a namespace where the Solution is deployed.
        let of_operator = json!({ v::SOLUTION: "shop", v::ENVIRONMENT: "prod" });
        let of_operator = labelled("Service", &of_operator);
        assert!(!takes(&of_operator, &nowhere, InventoryRecord::Nothing));
        let there = ["prod".parse().unwrap()].into();
        assert!(takes(&of_operator, &there, InventoryRecord::Nothing));
        assert!(!takes(&desired, &there, InventoryRecord::Nothing));
    }

    #[test]
    fn an_object_belongs_to_whom_its_label_says() {
        let shop: SolutionName = "shop".parse().unwrap();
        let ours = role("a", Some("shop"));
        assert_eq!(check_owner(&ours, None, &shop), Ok(()));
        assert_eq!(
            check_owner(&ours, Some(&role("a", Some("shop"))), &shop),
            Ok(())
        );
        for (theirs, words) in [(None, "no Solution"), (Some("other"), "other")] {
            let refused = check_owner(&ours, Some(&role("a", theirs)), &shop).unwrap_err();
            assert!(refused.to_string().contains(words), "{refused:?}");
        }
    }
}
