//! The part of an import for one environment: its namespace, the objects of operator, sets and charts, and the running
//! version. `setting::Planner` creates a [`Deployment`], and `apply` applies it.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Object, ObjectRef};
use manifests::pod_specs;
use planner::Plan;
use rules::RightsDifference;
use schemas::{Namespace, PartName, PlacedVersion, SolutionName, Version};
use serde_json::Value;
use validator::AcceptedArchive;

use crate::choices::parameters::Parameters;
use crate::choices::patches::Patched;
use crate::choices::workloads::{PartObjects, meaningless, missing, of_sets, reached};
use crate::decide::consent::{ExternalEffects, Reviewed};
use crate::model::blocker::Blocker;
use crate::model::differences::PlanDifferences;
use crate::model::request::Request;
use crate::objects::operator::operator_name;
use crate::objects::releases::Releases;
use crate::objects::withdrawal::Withdrawal;
use crate::records::cleanup::Cleanup;
use crate::records::namespace_record::{self, Consent, DeployedSolution, Labels, NamespaceRecord};
use crate::records::site::{HeldSite, PartChoices, SiteValue};

/// The deployment of a Solution in the namespace of an environment.
#[derive(Debug)]
pub(crate) struct Deployment {
    /// The record of the namespace, without this version.
    pub(crate) place: NamespaceRecord,
    /// The record of the Solution after the change.
    pub(crate) deployed: Reviewed<DeployedSolution>,
    /// The change to its objects.
    pub(crate) change: Reviewed<Plan>,
    /// The objects that are removed once everything else is ready, and the webhooks that call them.
    pub(crate) going: Withdrawal,
    /// The releases of its charts.
    pub(crate) releases: Reviewed<Releases>,
    /// The site's patches, each with an object that it was applied to.
    pub(crate) patched: Vec<Patched>,
    /// The objects that are applied before it is removed.
    pub(crate) cleanup: Reviewed<Cleanup>,
    /// True if the recorded cleanup differs.
    pub(crate) changes_cleanup: bool,
    pub(crate) solution: SolutionName,
    /// True if another Solution runs in the namespace, or will run there after earlier deployments of the same run.
    pub(crate) is_shared: bool,
    /// The site configuration of the environment.
    pub(crate) site: HeldSite,
    pub(crate) parameters: Parameters,
    /// The record of the Solution before the change.
    pub(crate) current: Option<DeployedSolution>,
    pub(crate) rights: RightsDifference,
    pub(crate) external_effects: ExternalEffects,
    /// The dangerous effects that are shown without needing consent.
    pub(crate) dangers: BTreeSet<String>,
    /// The blocker for a part that is not accepted.
    pub(crate) refused: Option<Blocker>,
}

/// Checks whether another Solution runs in a namespace, or will run there once the versions in `before` are deployed.
/// Within one run, all deployments of an environment use the same namespace.
pub(crate) fn is_shared(
    place: &NamespaceRecord,
    solution: &SolutionName,
    before: &BTreeSet<PlacedVersion>,
) -> bool {
    let here = before.iter();
    let here = here.filter(|before| before.environment == place.environment);
    let coming = here.map(|before| &before.solution);
    let mut all = place.solutions.keys().chain(coming);
    all.any(|name| name != solution)
}

impl Deployment {
    /// Compares a later decision about the same deployment. Without differences, both would write the same objects over
    /// the same ones. The content of the default account is not compared: otherwise anyone who may change it could
    /// block imports permanently. It is read again when it is written.
    pub(crate) fn compare(&self, later: &Self, differences: &mut PlanDifferences) {
        differences.compare_objects(&self.object_states(), &later.object_states());
        let record = format!("the record of namespace {}", self.namespace());
        differences.compare_part(record, &self.place, &later.place);
        let record = format!("the record of {}", self.solution);
        differences.compare_part(record, &self.current, &later.current);
        differences.compare_part("the cleanup objects", &self.cleanup, &later.cleanup);
        let effects = "the effects outside the environment";
        differences.compare_part(effects, &self.external_effects, &later.external_effects);
        let releases = |change: &Plan| (change.releases.clone(), change.departing.clone());
        let [shown, now] = [self, later].map(|deployment| releases(&deployment.change));
        differences.compare_part("the releases of charts", &shown, &now);
        // Consent is compared by the effects that it covers.
        let [shown, now] = [self, later].map(|deployment| DeployedSolution {
            accepted: None,
            ..DeployedSolution::clone(&deployment.deployed)
        });
        differences.compare_rest(&shown, &now);
        differences.compare_rest(&self.change.digest(), &later.change.digest());
    }

    /// Returns each object, the UID of the object that it overwrites, and whether that object is recreated.
    fn object_states(&self) -> BTreeMap<String, (&Object, Option<&str>, bool)> {
        let changes = self.change.changes();
        let own = changes.filter(|change| !change.desired.is_the_namespaces());
        own.map(|change| {
            let (object, uid) = (change.object(), change.live().and_then(Object::uid));
            let state = (object, uid, change.replaced().is_some());
            (object.reference().to_string(), state)
        })
        .collect()
    }

    pub(crate) fn namespace(&self) -> &Namespace {
        &self.place.namespace
    }

    /// Returns the operator's Deployment, if there is an operator.
    pub(crate) fn operator(&self) -> Option<&ObjectRef> {
        Some(self.of_kind("Deployment")?.reference())
    }

    /// Returns the objects that are removed once everything else is ready, and the webhooks that call them, as last
    /// read.
    pub(crate) fn stale(&self) -> impl Iterator<Item = &Object> {
        self.going.callers.iter().chain(&self.change.stale)
    }

    /// Returns the images of the current workloads.
    pub(crate) fn images_before(&self) -> BTreeSet<String> {
        let run_before = self.change.live().chain(self.releases.objects_before());
        run_before.flat_map(images_run_by).collect()
    }

    /// Checks whether the recorded choices, releases and cleanup are already those of this deployment.
    pub(crate) fn is_recorded(&self) -> bool {
        self.current.as_ref() == Some(&*self.deployed)
            && self.change.inventory.releases == self.change.before.releases
            && !self.changes_cleanup
    }

    /// Checks whether the recorded objects do not change, and none is recreated, removed or handed over to Helm.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.coming().is_none() && self.change.keeps_all()
    }

    /// Returns the namespace labels that this version and the running one need.
    pub(crate) fn labels(&self) -> Labels {
        let current = self.current.iter().map(|deployed| &deployed.labels);
        namespace_record::joined(current.chain([&self.deployed.labels]))
    }

    /// Returns the namespace during the change, with the labels that this version and the running one need.
    pub(crate) fn space(&self) -> Value {
        let mut place = self.place.clone();
        let coming = DeployedSolution {
            labels: self.labels(),
            ..DeployedSolution::clone(&self.deployed)
        };
        place.solutions.insert(self.solution.clone(), coming);
        place.space()
    }

    /// Returns the version of an earlier change that was neither completed nor rolled back.
    pub(crate) fn coming(&self) -> Option<&Version> {
        self.place.coming.get(&self.solution)
    }

    /// Returns the operator's first object of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Option<&Object> {
        let mut objects = self.change.of_operator();
        objects.find(|object| object.gvk().kind == kind)
    }

    /// Returns the consent of the running version.
    pub(crate) fn accepted_before(&self) -> Option<&Consent> {
        self.current.as_ref()?.accepted.as_ref()
    }

    /// Records the consent to the effects outside the environment, or the blocker if consent is missing.
    pub(crate) fn judge(&mut self, request: &Request) {
        let judged = self.external_effects.judge(self.accepted_before(), request);
        let (accepted, refused) = match judged {
            Ok(accepted) => (accepted, None),
            Err(blocker) => (None, Some(blocker)),
        };
        self.deployed.accept(accepted);
        self.refused = refused;
    }
}

/// Returns the image of a Deployment's first container.
pub(crate) fn image_of(deployment: &Object) -> Option<&str> {
    let image = "/spec/template/spec/containers/0/image";
    deployment.as_value().pointer(image)?.as_str()
}

/// Returns the images of an object's pods.
fn images_run_by(object: &Object) -> Vec<String> {
    let pods = pod_specs(object.as_value()).into_iter();
    let pods = pods.filter_map(|pod| object.as_value().pointer(&pod));
    pods.flat_map(images_of).map(str::to_owned).collect()
}

/// Returns the images of a pod's containers, in the order in which they start.
pub(crate) fn images_of(pod: &Value) -> impl Iterator<Item = &str> {
    let containers = |kind: &str| pod[kind].as_array().into_iter().flatten();
    let all = containers("initContainers").chain(containers("containers"));
    all.filter_map(|container| container["image"].as_str())
}

/// Returns the parts of a deployment without its operator.
fn parts(deployment: &Deployment) -> Vec<PartObjects<'_>> {
    let mut parts: Vec<PartObjects<'_>> = Vec::new();
    for (part, object) in deployment.change.of_parts() {
        let object = object.as_value();
        match parts.iter_mut().find(|known| known.name == part.as_str()) {
            Some(known) => known.objects.push(object),
            None => parts.push(PartObjects {
                name: part.as_str(),
                objects: vec![object],
            }),
        }
    }
    let releases = deployment.releases.all.iter().map(|release| PartObjects {
        name: release.recorded.name.as_str(),
        objects: release.objects.iter().map(Object::as_value).collect(),
    });
    parts.extend(releases);
    parts
}

/// Returns the site's values for workloads of the deployment, each once with its source.
pub(crate) fn site_values(deployment: &Deployment) -> Vec<SiteValue> {
    let solution = &deployment.solution;
    let mut values = match deployment.operator() {
        Some(_) => {
            let operator = operator_name(solution.as_str());
            deployment.site.operator_values(solution, &operator)
        }
        None => Vec::new(),
    };
    for part in parts(deployment) {
        let chosen = PartName::Carried(part.name);
        let chosen = deployment.site.reaching(solution, chosen);
        for value in of_part(&chosen, &part.objects) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    values
}

fn of_part(chosen: &PartChoices, objects: &[&Value]) -> Vec<SiteValue> {
    let all = objects.iter();
    all.flat_map(|object| reached(chosen, object)).collect()
}

/// Returns notes on entries for this Solution that name parts it does not have, on entries that only operators use, and
/// on fields without effect. Sets that are not installed here count as parts.
pub(crate) fn unreached(deployment: &Deployment, accepted: &AcceptedArchive) -> Vec<String> {
    let (site, solution) = (&deployment.site, &deployment.solution);
    let mut all = site.operators_alone(solution, &accepted.manifest().spec);
    let mut parts = parts(deployment);
    parts.extend(of_sets(accepted.sets()));
    if deployment.releases.are_known() {
        all.extend(unnamed(deployment, &parts));
    }
    all.extend(meaningless(site, solution, &parts));
    all
}

fn unnamed(deployment: &Deployment, parts: &[PartObjects<'_>]) -> BTreeSet<String> {
    let named = deployment.site.naming(&deployment.solution);
    let notes = named.filter_map(|(from, rule)| {
        let missing = missing(rule, parts)?;
        Some(format!(
            "{from} has no effect: this version has no {missing}"
        ))
    });
    notes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::namespace_record::tests::{deployed, namespace_record};

    #[test]
    fn a_namespace_is_shared_with_what_the_same_run_deploys_there_before() {
        let shop: SolutionName = "shop".parse().unwrap();
        let mut place = namespace_record("prod", "prod");
        let placed = |solution: &str, environment: &str| PlacedVersion {
            solution: solution.parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            environment: environment.parse().unwrap(),
        };
        let before = |all: &[PlacedVersion]| all.iter().cloned().collect::<BTreeSet<_>>();
        assert!(!is_shared(&place, &shop, &before(&[])));
        assert!(is_shared(&place, &shop, &before(&[placed("cart", "prod")])));
        let elsewhere = [placed("cart", "test"), placed("shop", "prod")];
        assert!(!is_shared(&place, &shop, &before(&elsewhere)));
        place.solutions.insert(shop.clone(), deployed("1.0.0"));
        assert!(!is_shared(&place, &shop, &before(&[])));
        let cart = "cart".parse().unwrap();
        place.solutions.insert(cart, deployed("1.0.0"));
        assert!(is_shared(&place, &shop, &before(&[])));
    }
}
