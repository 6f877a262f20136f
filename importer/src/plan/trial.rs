//! Tries what would be written: every object, as the API server would store it, with its admission rules; and the
//! operator's pod before its Deployment exists, since a Deployment is taken by every API server, and only its pods meet
//! PodSecurity, quotas and admission webhooks.

use std::collections::{BTreeMap, BTreeSet};

use change::{ObjectChange, vocabulary as v};
use deployer::{Access, Applied, Cluster, Conflicts, Object, ObjectRef, Trial};
use serde_json::json;

use crate::limits;
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
    let operator = deployment.of_kind("Deployment");
    let Some(operator) = operator.filter(|_| denied.is_empty()) else {
        return Ok(None);
    };
    let Some(pod) = trial_pod(operator, namespace)? else {
        return Ok(None);
    };
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

/// The pod that a workload makes, under a name of its own; none if the object makes no pods.
fn trial_pod(workload: &Object, namespace: &str) -> Result<Option<Object>, Error> {
    let template = ["/spec/template", "/spec/jobTemplate/spec/template"];
    let mut found = template.into_iter();
    let template = found.find_map(|pointer| workload.as_value().pointer(pointer));
    let Some((template, mut spec)) = template.map(|it| (it, it["spec"].clone())) else {
        return Ok(None);
    };
    let Some(fields) = spec.as_object_mut() else {
        return Ok(None);
    };
    // The account does not exist before the first deployment; the namespace's own serves for a trial.
    fields.remove("serviceAccountName");
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{}-trial", workload.name()),
            "namespace": namespace,
            "labels": template["metadata"]["labels"],
        },
        "spec": spec,
    });
    Ok(Some(Object::new(pod)?))
}

/// Returns the workloads of charts and sets whose pods the API server refuses by the level that their namespace is held to,
/// or by its quota. Their controllers would be told so again and again, and never give up. Other refusals are left alone:
/// cluster policies may refuse pods that a user makes, and take those of controllers. So is the quota where the workload
/// exists: a pod that is replaced makes room for the next.
pub(crate) async fn pods(
    cluster: &Cluster,
    deployment: &Deployment,
) -> Result<Vec<Obstacle>, Error> {
    let sets = deployment.change.changes();
    let sets = sets.filter(|change| change.desired.part.is_some());
    let of_charts = deployment.releases.all.iter().flat_map(|it| &it.objects);
    let standing = deployment
        .change
        .live()
        .chain(deployment.releases.objects_before());
    let standing: BTreeSet<&ObjectRef> = standing.map(Object::reference).collect();
    let mut workloads: BTreeMap<&str, Vec<(&ObjectRef, Object)>> = BTreeMap::new();
    for workload in sets.map(ObjectChange::object).chain(of_charts) {
        let Some(namespace) = workload.reference().namespace.as_deref() else {
            continue;
        };
        if let Some(pod) = trial_pod(workload, namespace)? {
            let there = workloads.entry(namespace).or_default();
            there.push((workload.reference(), pod));
        }
    }
    let mut obstacles = Vec::new();
    for (namespace, mut pods) in workloads {
        if !is_held(cluster, deployment, namespace).await? {
            continue;
        }
        pods.truncate(limits::TRIED_PODS);
        let (workloads, pods): (Vec<&ObjectRef>, Vec<Object>) = pods.into_iter().unzip();
        for pod in &pods {
            cluster.suppose_absent(pod.reference());
        }
        let trials = cluster
            .dry_run(&pods, &v::manager(), Conflicts::Force)
            .await?;
        for (workload, (_, trial)) in workloads.into_iter().zip(trials) {
            if let Trial::Refused(deployer::Error::Forbidden { message, .. }) = trial
                && is_for_controllers(&message, standing.contains(workload))
            {
                obstacles.push(Obstacle::PodsRefused {
                    object: workload.to_string(),
                    why: message,
                });
            }
        }
    }
    Ok(obstacles)
}

/// Whether a namespace is held to a PodSecurity level which is the one that it will have, and pods may be tried in it.
async fn is_held(
    cluster: &Cluster,
    deployment: &Deployment,
    namespace: &str,
) -> Result<bool, Error> {
    if namespace == deployment.namespace().as_str()
        && deployment.deployed.labels.contains_key(space::ENFORCE)
    {
        return Ok(false);
    }
    let may = |verb: &str| Access::new(verb, "", "pods").namespace(namespace);
    if !cluster
        .denied(&[may("create"), may("patch")])
        .await?
        .is_empty()
    {
        return Ok(false);
    }
    let reference = ObjectRef::cluster_scoped("v1", "Namespace", namespace);
    // Whoever may not read namespaces is told by the rollout.
    let live = cluster.get(&reference).await.unwrap_or_default();
    Ok(live.is_some_and(|live| live.labels().contains_key(space::ENFORCE)))
}

/// Whether the API server would give a controller the same answer as this user.
fn is_for_controllers(message: &str, exists: bool) -> bool {
    message.contains("violates PodSecurity") || !exists && message.contains("exceeded quota")
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
    fn the_pod_of_each_kind_of_workload_is_tried_and_only_what_controllers_are_told_counts() {
        let spec = json!({ "containers": [], "serviceAccountName": "own" });
        let template = json!({ "metadata": { "labels": { "app": "a" } }, "spec": spec });
        let workload = |kind: &str, spec: serde_json::Value| {
            let metadata = json!({ "name": "a", "namespace": "n" });
            Object::new(json!({
                "apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec,
            }))
            .unwrap()
        };
        for (kind, spec) in [
            ("StatefulSet", json!({ "template": template })),
            (
                "CronJob",
                json!({ "jobTemplate": { "spec": { "template": template } } }),
            ),
        ] {
            let pod = trial_pod(&workload(kind, spec), "n").unwrap().unwrap();
            assert_eq!(pod.name(), "a-trial");
            assert_eq!(pod.as_value()["spec"], json!({ "containers": [] }));
        }
        assert_eq!(
            trial_pod(&workload("Service", json!({})), "n").unwrap(),
            None
        );
        let level = "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\"";
        let quota = "pods \"a\" is forbidden: exceeded quota: few";
        let policy = "admission webhook \"policy\" denied the request: no bare pods";
        for (message, exists, counts) in [
            (level, true, true),
            (quota, false, true),
            (quota, true, false),
            (policy, false, false),
        ] {
            assert_eq!(is_for_controllers(message, exists), counts, "{message}");
        }
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
