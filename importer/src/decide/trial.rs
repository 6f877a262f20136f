//! The dry run of a plan at the API server. [`DryRun::make`] dry-runs every object with admission. [`pod`] and [`pods`]
//! dry-run pods of workloads: the API server accepts any Deployment, and only its pods are checked against PodSecurity
//! levels, quotas and admission webhooks.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Access, ApplyOutcome, Cluster, ConflictPolicy, DryRunResult, Object, ObjectRef};
use planner::{ObjectChange, vocabulary as v};
use serde_json::json;

use crate::decide::decision::Decision;
use crate::decide::deployment::Deployment;
use crate::limits;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::model::request::PlanRequest;
use crate::objects::changes::{AppliedObject, PlannedNarrowing, PlannedObject, planned};
use crate::objects::crd::{PlannedCrd, Unknown};
use crate::objects::diff;
use crate::records::namespace_record;

/// The planned change to every object that is written.
#[derive(Debug)]
pub(crate) struct DryRun {
    pub(crate) crds: Vec<PlannedObject>,
    pub(crate) objects: Vec<PlannedObject>,
    pub(crate) applied: BTreeMap<String, AppliedObject>,
    pub(crate) unchanged: Unchanged,
    /// The objects without a dry run, because the CRDs of their kinds change first.
    pub(crate) redefined: Vec<ObjectRef>,
    /// The blockers.
    pub(crate) blockers: Vec<Blocker>,
}

/// The objects that do not change: the resource version in the dry run by uid. An object with the same resource version
/// needs no further dry run.
#[derive(Debug, Default)]
pub(crate) struct Unchanged(BTreeMap<String, String>);

impl Unchanged {
    fn note(&mut self, trial: &DryRunResult) {
        let DryRunResult::Would(difference) = trial else {
            return;
        };
        let Some(before) = &difference.before else {
            return;
        };
        if difference.applied == ApplyOutcome::Unchanged
            && difference.taken.is_empty()
            && v::manager().has_claimed(before)
            && let (Some(uid), Some(stored)) = (before.uid(), before.resource_version())
        {
            self.0.insert(uid.to_owned(), stored.to_owned());
        }
    }

    /// Checks whether none of this number of objects changes.
    pub(crate) fn is_all_of(&self, tried: usize) -> bool {
        self.0.len() == tried
    }

    /// Checks whether an object still has the resource version of a dry run without changes.
    pub(crate) fn has(&self, live: &Object) -> bool {
        let tried = live.uid().and_then(|uid| self.0.get(uid));
        tried.is_some_and(|stored| live.resource_version() == Some(stored))
    }
}

impl DryRun {
    /// Dry-runs all objects of a decision.
    pub(crate) async fn make(
        asked: &PlanRequest<'_>,
        decision: &Decision,
        cluster: &Cluster,
    ) -> Result<Self, Error> {
        let deployment = decision.deployment.as_ref();
        let hidden = decision.hidden();
        let tried = |crd: &&PlannedCrd| crd.tried().is_some();
        let definitions: Vec<&PlannedCrd> = decision.crds.iter().filter(tried).collect();
        let (all, conflicts): (Vec<Object>, Vec<ConflictPolicy>) =
            decision.tried(asked)?.into_iter().unzip();
        // Forced conflicts show all fields of other managers at once. They are refused below.
        let trials = cluster
            .dry_run(&all, &v::manager(), ConflictPolicy::Force)
            .await?;
        let (mut crds, mut objects, mut blockers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut unchanged, mut unknown) = (Unchanged::default(), Unknown::default());
        let (mut redefined, mut applied) = (Vec::new(), BTreeMap::new());
        let trials = all.iter().zip(conflicts).zip(trials);
        for (index, ((object, conflicts), (reference, trial))) in trials.enumerate() {
            unchanged.note(&trial);
            if let DryRunResult::Refused(kubernetes::Error::NoSuchKind(kind)) = &trial {
                unknown.add(kind, object);
                continue;
            }
            let applied_object = AppliedObject {
                sent: diff::digest(&diff::masked(object, &hidden)),
                is_dry_run: !matches!(trial, DryRunResult::Later { .. }),
            };
            applied.insert(object.reference().to_string(), applied_object);
            if let DryRunResult::Redefined(_) = &trial {
                redefined.push(reference);
            }
            let planned = planned(object, trial, conflicts, &hidden);
            let set = deployment
                .and_then(|deployment| deployment.change.inventory.find(object.reference()));
            let planned = planned.map_err(|blocker| match set {
                Some(_) => blocker,
                None => of_import(object, blocker),
            });
            match (planned, definitions.get(index)) {
                (Err(blocker), _) => blockers.push(blocker),
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
        blockers.extend(unknown.blockers(cluster, brought, &[]).await?);
        Ok(Self {
            crds,
            objects,
            applied,
            unchanged,
            redefined,
            blockers,
        })
    }
}

/// Returns the blocker for an object outside the inventory. An import never recreates such objects.
fn of_import(object: &Object, blocker: Blocker) -> Blocker {
    match blocker {
        Blocker::Unfit(ContentBlocker::Immutable { why, .. }) => ContentBlocker::ImmutableOwn {
            object: Box::new(object.reference().clone()),
            why,
        }
        .into(),
        other => other,
    }
}

/// Returns the API server's rejection of the operator's pod, if any. Returns none if the namespace does not exist yet,
/// or if the user may not create pods. Kubernetes lets such a user create Deployments nevertheless.
pub(crate) async fn pod(
    cluster: &Cluster,
    deployment: &Deployment,
) -> Result<Option<Blocker>, Error> {
    if deployment
        .deployed
        .labels
        .contains_key(namespace_record::ENFORCE)
    {
        // The namespace has another PodSecurity level now than after the change.
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
    // Changes to an existing pod do not matter.
    cluster.suppose_absent(pod.reference());
    let tried = cluster
        .dry_run(&[pod], &v::manager(), ConflictPolicy::Force)
        .await?;
    Ok(tried.into_iter().find_map(|(_, trial)| match trial {
        // The namespace does not exist yet, or Kubernetes has not created its `default` account yet.
        DryRunResult::Refused(kubernetes::Error::Forbidden { message, .. })
            if message.contains("serviceaccount") =>
        {
            None
        }
        DryRunResult::Refused(kubernetes::Error::NotFound { .. })
        | DryRunResult::Would(_)
        | DryRunResult::Redefined(_)
        | DryRunResult::Later { .. } => None,
        DryRunResult::Refused(error) => Some(Blocker::PodRefused {
            why: error.to_string(),
        }),
    }))
}

/// Returns a pod of a workload with a separate name; none if the object has no pods.
fn trial_pod(workload: &Object, namespace: &str) -> Result<Option<Object>, Error> {
    let template = ["/spec/template", "/spec/jobTemplate/spec/template"];
    let mut found = template.into_iter();
    let template = found.find_map(|pointer| workload.as_value().pointer(pointer));
    let Some((template, mut spec)) = template.map(|template| (template, template["spec"].clone()))
    else {
        return Ok(None);
    };
    let Some(fields) = spec.as_object_mut() else {
        return Ok(None);
    };
    // The account may not exist before the first deployment, so the dry run uses the namespace's default account.
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

/// Returns a blocker for each workload of charts and sets whose pods the API server rejects by the PodSecurity level or
/// quota of their namespace. Controllers would otherwise retry forever. Other rejections are ignored, as cluster
/// policies may reject a user's pods and accept those of controllers. The quota is also ignored for existing workloads,
/// since a replaced pod frees its share.
pub(crate) async fn pods(
    cluster: &Cluster,
    deployment: &Deployment,
) -> Result<Vec<Blocker>, Error> {
    let sets = deployment.change.changes();
    let sets = sets.filter(|change| change.desired.part.is_some());
    let of_charts = deployment
        .releases
        .all
        .iter()
        .flat_map(|release| &release.objects);
    let existing = deployment
        .change
        .live()
        .chain(deployment.releases.objects_before());
    let existing: BTreeSet<&ObjectRef> = existing.map(Object::reference).collect();
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
    let mut blockers = Vec::new();
    for (namespace, mut pods) in workloads {
        if !is_held(cluster, deployment, namespace).await? {
            continue;
        }
        pods.truncate(limits::TRIED_PODS);
        let (workloads, pods): (Vec<&ObjectRef>, Vec<Object>) = pods.into_iter().unzip();
        for pod in &pods {
            // The names of these pods are not in use, so a read before the dry run is not needed.
            cluster.suppose_absent(pod.reference());
        }
        let trials = cluster
            .dry_run(&pods, &v::manager(), ConflictPolicy::Force)
            .await?;
        for (workload, (_, trial)) in workloads.into_iter().zip(trials) {
            if let DryRunResult::Refused(kubernetes::Error::Forbidden { message, .. }) = trial
                && is_for_controllers(&message, existing.contains(workload))
            {
                blockers.push(Blocker::PodsRefused {
                    object: workload.to_string(),
                    why: message,
                });
            }
        }
    }
    Ok(blockers)
}

/// Checks whether pods can be dry-run in a namespace under its final PodSecurity level.
async fn is_held(
    cluster: &Cluster,
    deployment: &Deployment,
    namespace: &str,
) -> Result<bool, Error> {
    if namespace == deployment.namespace().as_str()
        && deployment
            .deployed
            .labels
            .contains_key(namespace_record::ENFORCE)
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
    // If the namespace cannot be read, the rollout will show the problem.
    let live = cluster.get(&reference).await.unwrap_or_default();
    Ok(live.is_some_and(|live| live.labels().contains_key(namespace_record::ENFORCE)))
}

/// Checks whether a controller would get the same rejection as the user.
fn is_for_controllers(message: &str, exists: bool) -> bool {
    message.contains("violates PodSecurity") || !exists && message.contains("exceeded quota")
}

#[cfg(test)]
mod tests {
    use kubernetes::Difference;

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
        let immutable = ContentBlocker::Immutable {
            object: "ConfigMap n/a".to_owned(),
            recreate,
            why: "no".to_owned(),
        };
        let expected = ContentBlocker::ImmutableOwn {
            object: Box::new(object.reference().clone()),
            why: "no".to_owned(),
        };
        assert_eq!(of_import(&object, immutable.into()), expected.into());
        let changed = || Blocker::changed(["Role prod/a"]);
        assert_eq!(of_import(&object, changed()), changed());
    }

    #[test]
    fn only_what_is_stored_as_it_was_tried_is_known_to_be_unchanged() {
        let tried = |applied, operation| {
            let before = live("u", "7", operation);
            let mut unchanged = Unchanged::default();
            unchanged.note(&DryRunResult::Would(Box::new(Difference {
                applied,
                changes: Vec::new(),
                after: before.clone(),
                before: Some(before),
                taken: Vec::new(),
            })));
            unchanged
        };
        let unchanged = tried(ApplyOutcome::Unchanged, "Apply");
        assert!(unchanged.has(&live("u", "7", "Apply")));
        assert!(!unchanged.has(&live("u", "8", "Apply")));
        assert!(!unchanged.has(&live("other", "7", "Apply")));
        assert!(!tried(ApplyOutcome::Changed, "Apply").has(&live("u", "7", "Apply")));
        // An interrupted creation leaves an object that is not claimed yet.
        assert!(!tried(ApplyOutcome::Unchanged, "Update").has(&live("u", "7", "Update")));
    }
}
