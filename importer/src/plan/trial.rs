//! Tries what would be written: every object, as the API server would store it, with its admission rules; and the
//! operator's pod before its Deployment exists, since a Deployment is taken by every API server, and only its pods meet
//! PodSecurity, quotas and admission webhooks.

use std::collections::BTreeMap;

use change::vocabulary as v;
use deployer::{Access, Applied, Cluster, Conflicts, Object, ObjectRef, Trial};
use serde_json::json;

use crate::model::error::Error;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::request::Asked;
use crate::model::space;
use crate::plan::crd::PlannedCrd;
use crate::plan::decision::Decision;
use crate::plan::deployment::Deployment;
use crate::plan::diff;
use crate::plan::kinds::Unknown;
use crate::plan::summary::{AppliedObject, PlannedNarrowing, PlannedObject, planned};

/// The planned change to every object that is written.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) crds: Vec<PlannedObject>,
    pub(crate) objects: Vec<PlannedObject>,
    pub(crate) applied: BTreeMap<String, AppliedObject>,
    pub(crate) unchanged: Unchanged,
    /// The objects that could not be tried, since the definitions of their kinds change before.
    pub(crate) redefined: Vec<ObjectRef>,
    /// The obstacles that keep other objects from being written.
    pub(crate) obstacles: Vec<Obstacle>,
}

/// The objects that are there as they are to be, by uid and stored version as they were tried. As long as an object has
/// these, it need not be tried again.
#[derive(Debug, Default)]
pub(crate) struct Unchanged(BTreeMap<String, String>);

impl Unchanged {
    fn note(&mut self, trial: &Trial) {
        let Trial::Would(difference) = trial else {
            return;
        };
        let Some(before) = &difference.before else {
            return;
        };
        if difference.applied == Applied::Unchanged
            && difference.taken.is_empty()
            && v::manager().has_claimed(before)
            && let (Some(uid), Some(stored)) = (before.uid(), before.resource_version())
        {
            self.0.insert(uid.to_owned(), stored.to_owned());
        }
    }

    /// Whether so many objects were tried, and nothing of any is to be changed.
    pub(crate) fn is_all_of(&self, tried: usize) -> bool {
        self.0.len() == tried
    }

    /// Whether an object is still stored as it was when nothing of it was to be changed.
    pub(crate) fn has(&self, live: &Object) -> bool {
        let tried = live.uid().and_then(|uid| self.0.get(uid));
        tried.is_some_and(|stored| live.resource_version() == Some(stored))
    }
}

impl Tried {
    /// Asks the API server about each of them.
    pub(crate) async fn make(
        asked: &Asked<'_>,
        decision: &Decision,
        cluster: &Cluster,
    ) -> Result<Self, Error> {
        let deployment = decision.deployment.as_ref();
        let hidden = deployment.map(|it| it.parameters.hidden.clone());
        let hidden = hidden.unwrap_or_default();
        let tried = |crd: &&PlannedCrd| crd.tried().is_some();
        let definitions: Vec<&PlannedCrd> = decision.crds.iter().filter(tried).collect();
        let (all, conflicts): (Vec<Object>, Vec<Conflicts>) =
            decision.tried(asked)?.into_iter().unzip();
        // What is taken over is found out for all of them, and refused below.
        let trials = cluster
            .dry_run(&all, &v::manager(), Conflicts::Force)
            .await?;
        let (mut crds, mut objects, mut obstacles) = (Vec::new(), Vec::new(), Vec::new());
        let (mut unchanged, mut unknown) = (Unchanged::default(), Unknown::default());
        let (mut redefined, mut applied) = (Vec::new(), BTreeMap::new());
        let trials = all.iter().zip(conflicts).zip(trials);
        for (index, ((object, conflicts), (reference, trial))) in trials.enumerate() {
            unchanged.note(&trial);
            if let Trial::Refused(deployer::Error::NoSuchKind(kind)) = &trial {
                unknown.add(kind, object);
                continue;
            }
            let applied_object = AppliedObject {
                sent: diff::digest(&diff::masked(object, &hidden)),
                is_dry_run: !matches!(trial, Trial::Later { .. }),
            };
            applied.insert(object.reference().to_string(), applied_object);
            if let Trial::Redefined(_) = &trial {
                redefined.push(reference);
            }
            let planned = planned(object, trial, conflicts, &hidden);
            let set = deployment.and_then(|it| it.change.inventory.find(object.reference()));
            let planned = planned.map_err(|obstacle| match set {
                Some(_) => obstacle,
                None => of_import(object, obstacle),
            });
            match (planned, definitions.get(index)) {
                (Err(obstacle), _) => obstacles.push(obstacle),
                (Ok(object), None) => objects.push(object),
                (Ok(mut object), Some(crd)) => {
                    let narrowings = crd.narrowings.iter();
                    object.narrowed = narrowings.map(PlannedNarrowing::from).collect();
                    crds.push(object);
                }
            }
        }
        let brought = asked.accepted.crds().iter().map(|crd| &crd.document);
        let brought = brought.chain(all.iter().map(Object::as_value));
        obstacles.extend(unknown.obstacles(cluster, brought, &[]).await?);
        Ok(Self {
            crds,
            objects,
            applied,
            unchanged,
            redefined,
            obstacles,
        })
    }
}

/// Returns the obstacle to an object that no inventory names: an import makes it anew for nobody.
fn of_import(object: &Object, obstacle: Obstacle) -> Obstacle {
    match obstacle {
        Obstacle::Unfit(Unfit::Immutable { why, .. }) => Unfit::ImmutableOwn {
            object: Box::new(object.reference().clone()),
            why,
        }
        .into(),
        other => other,
    }
}

/// Returns the cluster's refusal of the operator's pod, if any. Nothing is known where the namespace does not exist
/// yet, or where this user may not make pods himself: Kubernetes lets him make Deployments all the same.
pub(crate) async fn pod(
    cluster: &Cluster,
    deployment: &Deployment,
) -> Result<Option<Obstacle>, Error> {
    if deployment.deployed.labels.contains_key(space::ENFORCE) {
        // The namespace takes other pods now than it will then.
        return Ok(None);
    }
    let namespace = deployment.namespace().as_str();
    let may = |verb: &str| Access::new(verb, "", "pods").namespace(namespace);
    let denied = cluster.denied(&[may("create"), may("patch")]).await?;
    let Some(template) = deployment
        .of_kind("Deployment")
        .filter(|_| denied.is_empty())
    else {
        return Ok(None);
    };
    let name = template.name();
    let template = &template.as_value()["spec"]["template"];
    let mut spec = template["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        // The account does not exist before the first deployment; the namespace's own serves for a trial.
        spec.remove("serviceAccountName");
    }
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{name}-trial"),
            "namespace": namespace,
            "labels": template["metadata"]["labels"],
        },
        "spec": spec,
    });
    let pod = Object::new(pod)?;
    // What would change of it is of no interest.
    cluster.suppose_absent(pod.reference());
    let tried = cluster
        .dry_run(&[pod], &v::manager(), Conflicts::Force)
        .await?;
    Ok(tried.into_iter().find_map(|(_, trial)| match trial {
        // A namespace that is new: it comes with this import, or its account is still being made.
        Trial::Refused(deployer::Error::Forbidden { message, .. })
            if message.contains("serviceaccount") =>
        {
            None
        }
        Trial::Refused(deployer::Error::NotFound { .. })
        | Trial::Would(_)
        | Trial::Redefined(_)
        | Trial::Later { .. } => None,
        Trial::Refused(error) => Some(Obstacle::PodRefused {
            why: error.to_string(),
        }),
    }))
}

#[cfg(test)]
mod tests {
    use deployer::Difference;

    use super::*;

    fn live(uid: &str, stored: &str, operation: &str) -> Object {
        let entry = json!({ "manager": v::FIELD_MANAGER, "operation": operation });
        Object::new(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "a",
                "namespace": "n",
                "uid": uid,
                "resourceVersion": stored,
                "managedFields": [entry],
            },
        }))
        .unwrap()
    }

    #[test]
    fn what_no_set_brings_is_not_made_anew() {
        let object = live("u", "7", "Apply");
        let recreate = "ConfigMap/a".parse().unwrap();
        let immutable = Unfit::Immutable {
            object: "ConfigMap n/a".to_owned(),
            recreate,
            why: "no".to_owned(),
        };
        let expected = Unfit::ImmutableOwn {
            object: Box::new(object.reference().clone()),
            why: "no".to_owned(),
        };
        assert_eq!(of_import(&object, immutable.into()), expected.into());
        let changed = || Obstacle::changed(["Role prod/a"]);
        assert_eq!(of_import(&object, changed()), changed());
    }

    #[test]
    fn only_what_is_stored_as_it_was_tried_is_known_to_be_unchanged() {
        let tried = |applied, operation| {
            let before = live("u", "7", operation);
            let mut unchanged = Unchanged::default();
            unchanged.note(&Trial::Would(Box::new(Difference {
                applied,
                changes: Vec::new(),
                after: before.clone(),
                before: Some(before),
                taken: Vec::new(),
            })));
            unchanged
        };
        let unchanged = tried(Applied::Unchanged, "Apply");
        assert!(unchanged.has(&live("u", "7", "Apply")));
        assert!(!unchanged.has(&live("u", "8", "Apply")));
        assert!(!unchanged.has(&live("other", "7", "Apply")));
        assert!(!tried(Applied::Changed, "Apply").has(&live("u", "7", "Apply")));
        // What a creation left that was cut off is still to be claimed.
        assert!(!tried(Applied::Unchanged, "Update").has(&live("u", "7", "Update")));
    }
}
