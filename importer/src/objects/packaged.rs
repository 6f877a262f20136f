//! The plan for the objects of a deployment that Helm does not install: the sets of manifests, and the objects that
//! charts need before their installation. The module selects the sets for this environment, renders their objects,
//! reads the live ones and hands both to `planner::plan`. The entry point is [`PackagedInput::plan`].
//! docs/decisions/0016-manifests.md and 0033-changes-as-data.md give the reasons.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Cluster, Gvk, Object, ObjectIdentity, ObjectRef};
use manifests::Expansion;
use planner::{
    Claim, DesiredObject, DesiredState, Entry, Inventory, LiveObjects, Ownership, Plan, Policy,
    RecreateRequest, Stage,
};
use schemas::{
    Condition, KubernetesName, Namespace, Phase, ReleaseName, SetName, Strategy, Version,
};
use serde_json::{Value, json};
use validator::{PackagedChart, PackagedSet};

use crate::choices::destination::{check_neighbours, check_reserved};
use crate::choices::parameters::{self, Parameters, number_of};
use crate::choices::patches::{Patched, Patches};
use crate::model::blocker::{AdministratorTask, Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::model::parameters::{ParameterValues, SecretNumber};
use crate::model::request::{Login, PlanRequest};
use crate::model::writer::Authority;
use crate::objects::crd::{self, Judged, Users};
use crate::objects::operator::operator_reference;
use crate::objects::sets::{
    PullSecret, PullSecretContent, SetInputs, definitions_of, expansion, kinds, namespaces,
    of_release, parts,
};
use crate::objects::{losses, pull_secret};
use crate::records::cleanup::{Cleanup, CleanupStep};
use crate::records::inventory::DeploymentPlace;
use crate::records::namespace_record::{self, Labels, NamespaceRecord};
use crate::records::site::{HeldSite, SitePatch};
use crate::records::state::ClusterState;
use crate::records::storage::{live, read_if_allowed};

/// The planned objects of a deployment, without those that Helm installs.
#[derive(Debug, Default)]
pub(crate) struct PackagedPlan {
    /// The change to the objects.
    pub(crate) change: Plan,
    /// The labels for the environment's namespace.
    pub(crate) labels: Labels,
    /// The objects that are applied before the deployment is removed.
    pub(crate) cleanup: Cleanup,
    /// True if the recorded cleanup differs from `cleanup`.
    pub(crate) changes_cleanup: bool,
    /// The site's patches, each with an object that it was applied to.
    pub(crate) patched: Vec<Patched>,
    /// The site's patches that have no target in any set of the release.
    pub(crate) unmet: Vec<SitePatch>,
}

/// The desired objects of sets, and those of charts that Helm does not install.
#[derive(Debug, Default)]
struct OfSets {
    objects: Vec<DesiredObject>,
    labels: Labels,
    cleanup: Cleanup,
    /// The names of the sets behind `cleanup`.
    last: Vec<SetName>,
    patched: Vec<Patched>,
    unmet: Vec<SitePatch>,
    /// The entries that do not change, because their sets are only installed once.
    kept: Vec<Entry>,
}

/// The inputs of the plan.
#[derive(Debug)]
pub(crate) struct PackagedInput<'a> {
    pub(crate) asked: &'a PlanRequest<'a>,
    pub(crate) cluster: &'a Cluster,
    pub(crate) state: &'a ClusterState,
    pub(crate) place: &'a NamespaceRecord,
    pub(crate) pull_secret: Option<&'a KubernetesName>,
    pub(crate) parameters: &'a Parameters,
    pub(crate) site: &'a HeldSite,
    /// The patches from the site's files.
    pub(crate) patches: &'a [SitePatch],
    /// The login in the pull secret, if the plan creates the Secret.
    pub(crate) made: Option<&'a Login>,
    /// The additional namespaces in which charts have pods, taken from their rendered manifests.
    pub(crate) pods_of_charts: PodsElsewhere,
}

/// The namespaces in which releases have pods, and which neither the releases nor sets create.
pub(crate) type PodsElsewhere = BTreeMap<ReleaseName, BTreeSet<Namespace>>;

impl PackagedInput<'_> {
    /// Returns the change to the deployment's objects, including the given objects of its operator, and adds the
    /// blockers.
    pub(crate) async fn plan(
        &self,
        operator: &[DesiredObject],
        blockers: &mut Vec<Blocker>,
    ) -> Result<PackagedPlan, Error> {
        let mut before = self.before().await?;
        let parameters = self.parameters.values();
        // Manifests cannot be expanded without all values. The missing values are blockers already.
        let mut sets = if self.may_carry(blockers)
            && self.parameters.are_all_of(self.asked.accepted.manifest())
        {
            self.of_sets(&before, parameters, blockers).await?
        } else {
            before.entries.retain(|entry| entry.part.is_none());
            OfSets::default()
        };
        sets.objects.splice(0..0, operator.iter().cloned());
        let changes_cleanup = self.changes(&sets, &before).await?;
        Ok(PackagedPlan {
            labels: std::mem::take(&mut sets.labels),
            cleanup: std::mem::take(&mut sets.cleanup),
            changes_cleanup,
            patched: std::mem::take(&mut sets.patched),
            unmet: std::mem::take(&mut sets.unmet),
            change: self.change(sets, before, blockers).await?,
        })
    }

    /// Reads the live objects and plans the change from the recorded and live objects to the desired ones.
    async fn change(
        &self,
        mut sets: OfSets,
        before: Inventory,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Plan, Error> {
        let PlanRequest {
            accepted,
            id,
            request,
            ..
        } = self.asked;
        let unmade = unmade(&request.recreate, &sets.objects);
        let unmade = unmade.cloned();
        blockers.extend(unmade.map(|recreate| ContentBlocker::NotRecreated { recreate }.into()));
        let own = sets
            .objects
            .iter()
            .filter(|desired| desired.ownership != Ownership::Shared);
        let desired = own.map(|desired| desired.object.reference().clone());
        let recorded = before.entries.iter().map(Entry::reference);
        let references: Vec<ObjectRef> = desired.chain(recorded).collect();
        let live = live(self.cluster, &references).await?;
        self.keep_conversions(&mut sets.objects, &live);
        let newer = self.newer(&sets.objects, &live, blockers).await?;
        let releases = accepted.charts().iter();
        let releases: Vec<&str> = releases.map(|chart| chart.release.name.as_str()).collect();
        let desired = DesiredState {
            objects: sets.objects,
            releases: &releases,
            parts: &parts(accepted),
            kept: sets.kept,
            cleanup: sets.last,
        };
        let deployed = self.state.namespaces_with(id.name());
        let policy = Policy {
            claim: Claim {
                solution: id.name(),
                adopt: request.allowed.adopt.objects,
                deployed: Some(&deployed),
            },
            recreate: &request.recreate,
            operator: &operator_reference(id.name(), &self.place.namespace),
            newer: &newer,
            prune_action: &|entry| self.prune_action(entry),
        };
        let mut plan = planner::plan(desired, before, &live, &policy)?;
        blockers.extend(plan.blockers.drain(..).map(Blocker::from));
        Ok(plan)
    }

    /// Returns the recorded inventory of the deployment.
    async fn before(&self) -> Result<Inventory, Error> {
        let (solution, space) = (self.asked.id.name(), self.place);
        let place = DeploymentPlace {
            cluster: self.cluster,
            authority: &self.asked.request.authority,
            solution,
            space,
        };
        let is_deployed = match place.authority {
            Authority::Cluster => {
                space.solutions.contains_key(solution)
                    || space.coming.contains_key(solution)
                    || self.is_deployed_alone().await?
            }
            Authority::Namespace(_) => true,
        };
        place.inventory(is_deployed).await
    }

    /// Checks whether the namespace administrator has deployed the Solution there, by the record in the namespace. If
    /// so, that inventory is the one to continue.
    async fn is_deployed_alone(&self) -> Result<bool, Error> {
        let record = namespace_record::own_reference(&self.place.namespace, self.asked.id.name());
        Ok(self.place.uid.is_some() && read_if_allowed(self.cluster, &record).await?.is_some())
    }

    /// Checks whether the user may apply sets. Only the cluster administrator may; otherwise a blocker is added.
    fn may_carry(&self, blockers: &mut Vec<Blocker>) -> bool {
        if let Authority::Cluster = self.asked.request.authority {
            return true;
        }
        if !self.asked.accepted.sets().is_empty() {
            let solution_id = self.asked.id.clone();
            blockers.push(AdministratorTask::CarriesObjects { solution_id }.into());
        }
        false
    }

    /// Returns the desired objects of the sets in this environment, and those that charts need in namespaces outside
    /// it.
    async fn of_sets(
        &self,
        before: &Inventory,
        parameters: ParameterValues,
        blockers: &mut Vec<Blocker>,
    ) -> Result<OfSets, Error> {
        let sets = self.asked.accepted.sets();
        let charts = self.charts().await?;
        let definitions = definitions_of(charts.iter().copied());
        let spaces = self.spaces_of_charts(&charts, &definitions, before).await?;
        let SetTreatments {
            mut installed,
            mut last,
            mut unchanged,
            mut kept,
        } = self.treat_sets(before, &parameters).await?;
        installed.extend(spaces.iter().map(|space| &space.set));
        let order = parts(self.asked.accepted).in_order();
        for sets in [&mut installed, &mut last] {
            sets.sort_by_key(|carried| {
                order
                    .iter()
                    .position(|name| *name == carried.set.name.as_str())
            });
        }
        let all = [&installed[..], &last, &unchanged].concat();
        Self::check_namespaces(&all, &spaces, blockers);
        let login = if all.is_empty() {
            None
        } else {
            self.login().await?
        };
        if let Some(login) = &login {
            kept.extend(login.kept_copies(before, &self.place.namespace));
        }
        let mut rendering = self.rendering(&all, &definitions, parameters, login)?;
        let mut patches = Patches::new(self.patches);
        rendering.sets = &installed;
        let mut objects = rendering.objects(&mut patches)?;
        let is_there = |desired: &DesiredObject| {
            let part = desired.part.as_ref();
            part.is_some_and(|part| is_there(&spaces, part, desired.object.name()))
        };
        objects.retain(|desired| desired.stage != Stage::Space || !is_there(desired));
        unchanged.extend(&installed);
        let labels = rendering.space_labels(&unchanged, &mut patches)?;
        rendering.sets = &last;
        rendering.sensitive = None;
        let mut cleanup = rendering.objects(&mut patches)?;
        // The installed sets may already have an object of a cleanup set, such as a namespace.
        let identities: BTreeSet<_> = objects.iter().map(identity).collect();
        cleanup.retain(|desired| !identities.contains(&identity(desired)));
        let unmet = patches.unmet(sets);
        let (changed, unfit) = patches.end();
        blockers.extend(unfit.into_iter().map(Blocker::from));
        let placed = objects
            .iter()
            .chain(&cleanup)
            .map(|desired| &desired.object);
        self.check_places(placed, blockers);
        Ok(OfSets {
            objects,
            labels,
            cleanup: cleanup_of(cleanup),
            last: last
                .iter()
                .map(|carried| carried.set.name.clone())
                .collect(),
            patched: changed,
            unmet,
            kept,
        })
    }

    /// Returns the objects that these charts need before they are installed: their own namespaces, the pull secret for
    /// their pods there, and their definitions.
    async fn spaces_of_charts(
        &self,
        charts: &[&PackagedChart],
        definitions: &BTreeMap<SetName, Vec<&Value>>,
        before: &Inventory,
    ) -> Result<Vec<ChartSpace>, Error> {
        let sets = self.asked.accepted.sets().iter();
        let of_sets = sets.flat_map(|carried| &carried.set.namespaces);
        let of_sets: BTreeSet<&Namespace> = of_sets.map(|own| &own.name).collect();
        let mut spaces = Vec::new();
        for PackagedChart { release, .. } in charts {
            let pods = self.pods_of_charts.get(&release.name);
            let mut there = pods.cloned().unwrap_or_default();
            let mut namespaces = there.clone();
            let own = release.namespaces.iter().filter(|own| own.fixed);
            let own = own.map(|own| &own.name);
            let own: BTreeSet<&Namespace> = own
                .chain([release.namespace_in(&self.place.namespace)])
                .collect();
            for namespace in own {
                if *namespace == self.place.namespace || of_sets.contains(namespace) {
                    continue;
                }
                namespaces.insert(namespace.clone());
                let reference = ObjectRef::cluster_scoped("v1", "Namespace", namespace.as_str());
                if before.find(&reference).is_none()
                    && read_if_allowed(self.cluster, &reference).await?.is_some()
                {
                    there.insert(namespace.clone());
                }
            }
            // The Secret of sensitive parameters must exist before a chart uses it. An empty set of the release creates
            // it.
            let set = of_release(release, namespaces);
            let own = &set.set;
            if !own.namespaces.is_empty()
                || !self.parameters.secret.is_empty()
                || definitions
                    .get(&own.name)
                    .is_some_and(|all| !all.is_empty())
            {
                spaces.push(ChartSpace { set, there });
            }
        }
        Ok(spaces)
    }

    /// Checks whether the recorded cleanup differs from that of these sets.
    async fn changes(&self, sets: &OfSets, before: &Inventory) -> Result<bool, Error> {
        let cleanup = &sets.cleanup;
        if cleanup.steps.is_empty() || before.cleanup.is_empty() {
            return Ok(cleanup.steps.is_empty() != before.cleanup.is_empty());
        }
        let (solution, namespace) = (self.asked.id.name(), &self.place.namespace);
        match Cleanup::read(self.cluster, solution, namespace).await {
            // An unreadable record is replaced.
            Err(Error::Record(..)) => Ok(true),
            kept => Ok(kept?.as_ref() != Some(cleanup)),
        }
    }

    /// Decides whether each set is installed, kept or left for the removal.
    async fn treat_sets(
        &self,
        before: &Inventory,
        parameters: &ParameterValues,
    ) -> Result<SetTreatments<'_>, Error> {
        let mut treatments = SetTreatments::default();
        for carried in self.asked.accepted.sets() {
            match self.treat_set(carried, before, parameters).await? {
                SetTreatment::Installed => treatments.installed.push(carried),
                SetTreatment::Last => treatments.last.push(carried),
                SetTreatment::Kept(objects) => {
                    treatments.kept.extend(objects);
                    treatments.unchanged.push(carried);
                }
                SetTreatment::LeftOut => {}
            }
        }
        Ok(treatments)
    }

    /// Decides whether a set is installed, kept or left for the removal.
    async fn treat_set(
        &self,
        carried: &PackagedSet,
        before: &Inventory,
        parameters: &ParameterValues,
    ) -> Result<SetTreatment, Error> {
        let set = &carried.set;
        if !holds(self.cluster, set.when.as_ref(), parameters).await? {
            return Ok(SetTreatment::LeftOut);
        }
        if set.phase == Phase::Remove {
            return Ok(SetTreatment::Last);
        }
        // Other sets also use the Secret of sensitive parameters. It does not show that this set was installed.
        let installed = before.entries.iter().filter(|entry| {
            entry.part.as_ref() == Some(&set.name)
                && self.secret_number(&entry.reference()).is_none()
        });
        let installed: Vec<Entry> = installed.cloned().collect();
        let is_there = !installed.is_empty() && installed.iter().all(Entry::was_applied);
        Ok(match set.strategy {
            Strategy::BootstrapOnly if is_there => SetTreatment::Kept(installed),
            Strategy::BootstrapOnly | Strategy::Managed => SetTreatment::Installed,
        })
    }

    /// Returns the charts whose releases are installed in this environment.
    async fn charts(&self) -> Result<Vec<&PackagedChart>, Error> {
        let charts = self.asked.accepted.charts();
        installed(self.cluster, charts, self.parameters).await
    }

    /// Adds blockers for namespaces with a fixed name that is reserved for Kubernetes.
    fn check_namespaces(sets: &[&PackagedSet], spaces: &[ChartSpace], blockers: &mut Vec<Blocker>) {
        for PackagedSet { set, .. } in sets {
            let made = set.namespaces.iter().filter(|own| own.fixed);
            let made = made.filter(|own| !is_there(spaces, &set.name, own.name.as_str()));
            blockers.extend(made.filter_map(|own| check_reserved(&own.name).err()));
        }
    }

    /// Adds a blocker for each object in a namespace of another environment.
    fn check_places<'o>(
        &self,
        placed: impl Iterator<Item = &'o Object>,
        blockers: &mut Vec<Blocker>,
    ) {
        let environment = &self.place.environment;
        blockers.extend(check_neighbours(self.state, environment, placed));
    }

    fn rendering<'s>(
        &'s self,
        sets: &'s [&'s PackagedSet],
        definitions: &'s BTreeMap<SetName, Vec<&'s Value>>,
        parameters: ParameterValues,
        login: Option<PullSecret>,
    ) -> Result<SetInputs<'s>, Error> {
        let PlanRequest { accepted, id, .. } = self.asked;
        Ok(SetInputs {
            solution: id.name(),
            environment: &self.place.environment,
            namespace: &self.place.namespace,
            site: self.site,
            sets,
            definitions,
            kinds: kinds(accepted),
            expansion: Expansion {
                namespaces: namespaces(sets, &self.place.namespace),
                ..expansion(self.asked, self.place, parameters)?
            },
            login,
            sensitive: self.sensitive(),
        })
    }

    /// Returns the Secret of the sensitive parameters, if they have values.
    fn sensitive(&self) -> Option<Value> {
        let (values, solution) = (&self.parameters.secret, self.asked.id.name());
        let number = self.parameters.number.filter(|_| !values.is_empty())?;
        let namespace = &self.place.namespace;
        Some(parameters::secret(solution, number, namespace, values))
    }

    /// Returns the pull secret: the one that the plan creates, or the existing one in the environment's namespace.
    async fn login(&self) -> Result<Option<PullSecret>, Error> {
        let Some(name) = self.pull_secret else {
            return Ok(None);
        };
        let solution = self.asked.id.name();
        let content = if let Some(made) = self.made {
            PullSecretContent::Known(pull_secret::secret(solution, self.place, made))
        } else {
            let secret = pull_secret::reference(&self.place.namespace, name);
            match self.cluster.get(&secret).await {
                Ok(Some(live)) => PullSecretContent::Known(live.into_value()),
                Ok(None) => PullSecretContent::Absent,
                Err(kubernetes::Error::Forbidden { .. }) => PullSecretContent::Unreadable,
                Err(error) => return Err(error.into()),
            }
        };
        Ok(Some(PullSecret {
            name: name.to_string(),
            content,
            copy: pull_secret::secret_name(solution).to_string(),
        }))
    }

    /// Returns the definitions that keep the form of a newer version, with that version. Adds blockers for definitions
    /// that cannot be replaced.
    async fn newer(
        &self,
        objects: &[DesiredObject],
        live: &LiveObjects,
        blockers: &mut Vec<Blocker>,
    ) -> Result<BTreeMap<ObjectRef, Version>, Error> {
        let mut newer = BTreeMap::new();
        for desired in objects
            .iter()
            .filter(|desired| desired.stage == Stage::Definition)
        {
            let reference = desired.object.reference();
            if let Some(live) = live.get(reference)
                && let Some(version) = self.judge(&desired.object, live, blockers).await?
            {
                newer.insert(reference.clone(), version);
            }
        }
        Ok(newer)
    }

    /// Keeps the namespace of conversion Services in CRDs of charts, if a program of the chart has entered it.
    fn keep_conversions(&self, objects: &mut [DesiredObject], live: &LiveObjects) {
        let charts = self.asked.accepted.charts().iter();
        let releases: BTreeSet<&str> = charts.map(|chart| chart.release.name.as_str()).collect();
        let of_charts = objects.iter_mut().filter(|desired| {
            let part = desired.part.as_ref().map(SetName::as_str);
            desired.stage == Stage::Definition && part.is_some_and(|part| releases.contains(part))
        });
        for desired in of_charts {
            let live = live.get(desired.object.reference());
            let kept = live.and_then(|live| crd::keep_conversion_namespace(&desired.object, live));
            if let Some(kept) = kept {
                desired.object = kept;
            }
        }
    }

    /// Decides whether a recorded object that is no longer desired is deleted, kept, or becomes an object of the cluster.
    fn prune_action(&self, entry: &Entry) -> planner::PruneAction {
        let secret = self.secret_number(&entry.reference());
        let is_kept =
            secret.is_some_and(|number| self.parameters.keeps(number)) && entry.was_applied();
        if self.becomes_the_clusters(entry) {
            planner::PruneAction::HandedOver
        } else if entry.keeps_data() || entry.stage == Stage::Definition || is_kept {
            planner::PruneAction::Stays
        } else {
            planner::PruneAction::Goes
        }
    }

    /// Decides whether a definition replaces the live one. If not, returns the newer version that wrote the live one.
    async fn judge(
        &self,
        definition: &Object,
        live: &Object,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Option<Version>, Error> {
        let (version, desired) = (self.asked.id.version(), definition.as_value());
        let written = crd::defined_by(live);
        match crd::judge(version, desired, live, written, Users::Here) {
            Ok(Judged::Kept(newer)) => return Ok(Some(newer)),
            Ok(Judged::Replaced) => {
                let lost = losses::replaced(self.cluster, live, desired, version);
                blockers.extend(lost.await?);
            }
            Err(blocker) => blockers.push(blocker),
        }
        Ok(None)
    }

    /// Checks whether a definition of the environment becomes one of the whole cluster in this version.
    fn becomes_the_clusters(&self, old: &Entry) -> bool {
        let mut crds = self.asked.accepted.crds().iter();
        old.stage == Stage::Definition
            && crds.any(|crd| crd.document["metadata"]["name"] == old.name)
    }

    fn secret_number(&self, object: &ObjectRef) -> Option<SecretNumber> {
        number_of(object, self.asked.id.name(), &self.place.namespace)
    }
}

/// Returns the charts whose releases are installed in an environment with these parameters.
pub(crate) async fn installed<'c>(
    cluster: &Cluster,
    charts: &'c [PackagedChart],
    parameters: &Parameters,
) -> Result<Vec<&'c PackagedChart>, Error> {
    let values = parameters.values();
    let mut installed = Vec::new();
    for chart in charts {
        if holds(cluster, chart.release.when.as_ref(), &values).await? {
            installed.push(chart);
        }
    }
    Ok(installed)
}

/// Checks whether the condition of a part holds.
async fn holds(
    cluster: &Cluster,
    when: Option<&Condition>,
    parameters: &ParameterValues,
) -> Result<bool, Error> {
    let api = match when {
        None => return Ok(true),
        Some(Condition::Parameter(name)) => return Ok(parameters.get(name) == Some(&json!(true))),
        Some(Condition::Api(api)) => api,
    };
    let (api_version, kind) = api.parts();
    Ok(match kind {
        Some(kind) => cluster.serves(&Gvk::new(api_version, kind)).await?,
        None => cluster.serves_version(api_version).await?,
    })
}

/// The objects that a release needs in its own namespaces, in addition to those that Helm installs.
struct ChartSpace {
    /// The objects as a set with the release's name.
    set: PackagedSet,
    /// The namespaces that existed before this deployment. They are not changed.
    there: BTreeSet<Namespace>,
}

/// Checks whether a set belongs to a chart and this namespace of it existed before the deployment.
fn is_there(spaces: &[ChartSpace], set: &SetName, namespace: &str) -> bool {
    let mut spaces = spaces.iter().filter(|space| space.set.set.name == *set);
    spaces.any(|space| space.there.iter().any(|own| own.as_str() == namespace))
}

fn identity(carried: &DesiredObject) -> ObjectIdentity<'_> {
    carried.object.reference().identity()
}

/// Returns the objects to be recreated that are not in `desired`.
fn unmade<'a>(
    recreate: &'a BTreeSet<RecreateRequest>,
    desired: &[DesiredObject],
) -> impl Iterator<Item = &'a RecreateRequest> {
    let is_wanted = |recreate: &RecreateRequest| {
        let mut desired = desired.iter();
        desired.any(|desired| recreate.is(desired.object.reference()))
    };
    recreate.iter().filter(move |recreate| !is_wanted(recreate))
}

/// Returns the record of the objects that are applied before a removal.
fn cleanup_of(desired: Vec<DesiredObject>) -> Cleanup {
    let steps = desired.into_iter();
    let step = |desired: DesiredObject| Some(CleanupStep::new(desired.entry()?, desired.object));
    Cleanup {
        steps: steps.filter_map(step).collect(),
    }
}

/// The treatments of all sets.
#[derive(Default)]
struct SetTreatments<'a> {
    installed: Vec<&'a PackagedSet>,
    /// The sets that are applied before the Solution is removed.
    last: Vec<&'a PackagedSet>,
    /// The sets that were installed once and do not change.
    unchanged: Vec<&'a PackagedSet>,
    /// The objects of `unchanged`.
    kept: Vec<Entry>,
}

/// The treatment of a set in an environment.
enum SetTreatment {
    Installed,
    /// The set was installed once and does not change.
    Kept(Vec<Entry>),
    /// The set is applied before the Solution is removed.
    Last,
    /// The set's condition does not hold in this environment.
    LeftOut,
}

#[cfg(test)]
mod tests {
    use manifests::ObjectKinds;

    use super::*;

    #[test]
    fn what_no_set_brings_is_not_made_anew_without_a_word() {
        let metadata = json!({ "name": "setup", "namespace": "prod" });
        let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata });
        let job = Object::new(job).unwrap();
        let job = DesiredObject::of_part("main".parse().unwrap(), job, &ObjectKinds::default());
        let asked = ["Job/setup", "StatefulSet/db"].map(|text| text.parse().unwrap());
        let asked: BTreeSet<RecreateRequest> = asked.into();
        let unmade: Vec<String> = unmade(&asked, &[job]).map(ToString::to_string).collect();
        assert_eq!(unmade, ["StatefulSet/db"]);
    }
}
