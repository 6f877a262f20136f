//! Tries what would be written: every object, as the API server would store it, with its admission rules; and the
//! operator's pod before its Deployment exists, since a Deployment is taken by every API server, and only its pods meet
//! PodSecurity, quotas and admission webhooks.

use deployer::{Access, Cluster, Conflicts, Object, Trial};
use serde_json::json;

use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::request::Asked;
use crate::model::space;
use crate::model::vocabulary as v;
use crate::plan::decision::{Decision, PlannedCrd};
use crate::plan::deployment::Deployment;
use crate::plan::summary::{PlannedNarrowing, PlannedObject, planned};

/// What would become of every object that is written.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) crds: Vec<PlannedObject>,
    pub(crate) objects: Vec<PlannedObject>,
    /// What keeps others from being written.
    pub(crate) obstacles: Vec<Obstacle>,
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
        let trials = all.iter().zip(conflicts).zip(trials);
        for (index, ((object, conflicts), (_, trial))) in trials.enumerate() {
            let planned = planned(object, trial, conflicts, &hidden);
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
        Ok(Self {
            crds,
            objects,
            obstacles,
        })
    }
}

/// What the cluster would say to the operator's pod. Nothing is known where the namespace does not exist yet, or where
/// this user may not make pods himself: Kubernetes lets him make Deployments all the same.
pub(crate) async fn pod(
    cluster: &Cluster,
    deployment: &Deployment,
) -> Result<Option<Obstacle>, Error> {
    if deployment.deployed.labels.contains_key(space::ENFORCE) {
        // The namespace takes other pods now than it will then.
        return Ok(None);
    }
    let namespace = deployment.namespace.as_str();
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
    let tried = cluster
        .dry_run(&[Object::new(pod)?], &v::manager(), Conflicts::Force)
        .await?;
    Ok(tried.into_iter().find_map(|(_, trial)| match trial {
        // A namespace that is new: it comes with this import, or its account is still being made.
        Trial::Refused(deployer::Error::Forbidden { message, .. })
            if message.contains("serviceaccount") =>
        {
            None
        }
        Trial::Refused(deployer::Error::NotFound { .. })
        | Trial::Would { .. }
        | Trial::Later { .. } => None,
        Trial::Refused(error) => Some(Obstacle::PodRefused(error.to_string())),
    }))
}
