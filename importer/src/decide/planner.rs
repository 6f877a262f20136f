//! The planning of one deployment: `Planner::deployment` combines its objects, releases, rights and blockers into a
//! [`Deployment`]. The files `packaged`, `releases` and `operator` in `objects` plan the parts.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Cluster, Object};
use planner::{DesiredObject, Entry, ObjectChange, Plan};
use schemas::{KubernetesName, Namespace, Operator, PartName, SolutionName};
use store::Record;
use validator::PackagedChart;

use crate::choices::parameters::number_of;
use crate::choices::patches::Patched;
use crate::choices::workloads;
use crate::decide::consent::{Content, Review, ReviewContext, review};
use crate::decide::deployment::{Deployment, is_shared};
use crate::decide::setting::{Planner, Setting};
use crate::model::blocker::{AdministratorTask, Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::model::request::PlanRequest;
use crate::model::writer::Authority;
use crate::objects::metrics::{Collector, OperatorMetrics};
use crate::objects::operator::OperatorInputs;
use crate::objects::packaged::{PackagedInput, PackagedPlan, PodsElsewhere, installed};
use crate::objects::pull_secret::{self, DefaultAccount};
use crate::objects::releases::{Releases, Releasing};
use crate::objects::sets;
use crate::objects::template::Addresses;
use crate::objects::withdrawal::Withdrawal;
use crate::records::inventory::service_monitor;
use crate::records::namespace_record::OwnRecord;
use crate::records::record;
use crate::records::site::SitePatch;

/// Returns the namespaces that sets create, and those that charts get.
fn spaces(change: &Plan) -> BTreeSet<String> {
    let spaces = change
        .objects()
        .filter(|object| object.gvk().kind == "Namespace");
    spaces.map(|object| object.name().to_owned()).collect()
}

impl Planner<'_> {
    /// Plans the deployment, and adds the blockers. Returns none if there is nothing to deploy or no namespace.
    pub(crate) async fn deployment(
        &self,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Option<Deployment>, Error> {
        let PlanRequest { accepted, id, .. } = self.asked;
        let spec = &accepted.manifest().spec;
        if self.operator().is_none() && accepted.sets().is_empty() && spec.charts.is_empty() {
            blockers.push(Blocker::NoOperator {
                solution_id: id.clone(),
            });
            return Ok(None);
        }
        let Some(namespace) = self.namespace(blockers) else {
            return Ok(None);
        };
        self.check_prerequisites(&namespace, blockers).await?;
        let setting = self.setting(&namespace, blockers).await?;
        // Boxed, because the future holds all compared objects.
        let deployment = Box::pin(self.compose(setting, blockers));
        let mut deployment = deployment.await?;
        deployment.judge(&self.asked.request);
        Ok(Some(deployment))
    }

    /// Plans the objects of a deployment and compares them with the live ones.
    async fn compose(
        &self,
        mut setting: Setting,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Deployment, Error> {
        let solution = self.asked.id.name();
        let own = self.own(&setting, blockers).await?;
        let (planned, releases) = self.parts(&own, &mut setting, blockers).await?;
        self.check_own(&setting.place.namespace, &planned.change, blockers);
        let going = going(self.cluster, solution, &planned.change).await?;
        let content = Content {
            deployed: setting.deployed,
            change: planned.change,
            releases,
            cleanup: planned.cleanup,
        };
        let reviewed_for = ReviewContext {
            cluster: self.cluster,
            id: &self.asked.id,
            environment: &self.target.environment,
            namespace: &setting.place.namespace,
            hidden: &setting.parameters.hidden,
        };
        // Boxed, because the future holds all objects again.
        let Review {
            deployed,
            change,
            releases,
            cleanup,
            external_effects,
            rights,
            dangers,
        } = Box::pin(review(content, reviewed_for, blockers)).await?;
        // This must follow the review: consent covers the contents before masking, even those that the archive hides
        // with its own Secrets.
        setting.parameters.hidden.extend(releases.secrets());
        let before = &self.asked.request.before;
        Ok(Deployment {
            is_shared: is_shared(&setting.place, solution, before),
            place: setting.place,
            deployed,
            change,
            going,
            releases,
            patched: planned.patched,
            cleanup,
            changes_cleanup: planned.changes_cleanup,
            solution: solution.clone(),
            site: setting.site,
            parameters: setting.parameters,
            current: setting.current,
            rights,
            external_effects,
            dangers,
            refused: None,
        })
    }

    /// Returns the operator's objects with their pull secret, and the record of a namespace administrator.
    async fn own(
        &self,
        setting: &Setting,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Vec<DesiredObject>, Error> {
        let mut own = self.objects(setting).await?;
        if let Authority::Namespace(_) = &self.asked.request.authority {
            self.keep_within(setting, &mut own, blockers)?;
        }
        Ok(own.into_iter().map(DesiredObject::of_operator).collect())
    }

    /// Plans the packaged objects and the releases of charts. Only rendering shows the additional namespaces in which
    /// charts have pods. If there are any, the packaged objects are planned a second time, with the pull secret for
    /// these pods.
    async fn parts(
        &self,
        own: &[DesiredObject],
        setting: &mut Setting,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(PackagedPlan, Releases), Error> {
        let (first, mut unfit) = (blockers.len(), Vec::new());
        let patches = setting.site.patches(self.asked.id.name());
        let carrying = self.carrying(setting, &patches);
        let mut planned = carrying.plan(own, &mut unfit).await?;
        self.note_carried(setting, &mut planned, blockers);
        let releases = self.releases(setting, &planned.change, blockers).await?;
        let known = self.logins(setting, &planned.change);
        let pods_of_charts = releases.pods_elsewhere(&known);
        if !pods_of_charts.is_empty() {
            unfit.clear();
            let carrying = PackagedInput {
                pods_of_charts,
                ..self.carrying(setting, &patches)
            };
            planned = carrying.plan(own, &mut unfit).await?;
        }
        planned.patched.extend(patched(&patches, &releases));
        if releases.are_known() {
            let others = planned
                .unmet
                .iter()
                .filter(|patch| !meets(patch, &releases));
            unfit.extend(others.map(|patch| ContentBlocker::from(patch).into()));
        }
        // The blockers of packaged objects precede those of the releases, which have been added meanwhile.
        blockers.splice(first..first, unfit);
        let departing = releases.departing.clone();
        let change = std::mem::take(&mut planned.change);
        planned.change = change.with_releases(releases.to_changes(), departing, releases.objects());
        Ok((planned, releases))
    }

    /// Plans the releases of the charts, each after those that it needs.
    async fn releases(
        &self,
        setting: &Setting,
        change: &Plan,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Releases, Error> {
        let accepted = self.asked.accepted;
        let parts = sets::parts(accepted);
        let order = parts.in_order();
        let charts = accepted.charts();
        let mut charts = installed(self.cluster, charts, &setting.parameters).await?;
        let at = |chart: &&PackagedChart| {
            let mut names = order.iter();
            names.position(|name| *name == chart.release.name.as_str())
        };
        charts.sort_by_key(at);
        let needed = parts.required_parts();
        let releasing = Releasing {
            asked: self.asked,
            cluster: self.cluster,
            state: self.state,
            crds: self.crds,
            place: &setting.place,
            site: &setting.site,
            values: &setting.values,
            parameters: &setting.parameters,
            consent: setting
                .current
                .as_ref()
                .and_then(|current| current.accepted.as_ref()),
            carried: change,
            patches: setting.site.patches(self.asked.id.name()),
            spaces: spaces(change),
            logins: self.logins(setting, change),
        };
        let needed = |chart: &PackagedChart| needed.contains(chart.release.name.as_str());
        // Boxed, because the future holds all rendered objects.
        Box::pin(releasing.plan(&charts, needed, blockers)).await
    }

    /// Adds the labels of the sets to the record, and checks them.
    fn note_carried(
        &self,
        setting: &mut Setting,
        planned: &mut PackagedPlan,
        blockers: &mut Vec<Blocker>,
    ) {
        let (solution, namespace) = (self.asked.id.name(), &setting.place.namespace);
        let deployed = &mut setting.deployed;
        let is_kept = |recorded: &Entry| {
            let number = number_of(&recorded.reference(), solution, namespace);
            number.is_some() && number == deployed.secret
        };
        let entries = &planned.change.inventory.entries;
        if !setting.parameters.secret.is_empty() && !entries.iter().any(is_kept) {
            // No set is installed, so no new Secret is stored. The record keeps the values of the running version.
            let kept = setting.current.as_ref();
            deployed.sensitive =
                kept.map_or_else(BTreeSet::new, |deployed| deployed.sensitive.clone());
            deployed.charts = kept.map_or_else(BTreeSet::new, |deployed| deployed.charts.clone());
            deployed.secret = kept.and_then(|deployed| deployed.secret);
        }
        deployed.labels = std::mem::take(&mut planned.labels);
        let (place, space) = (&setting.place, setting.space.as_ref());
        let unfit = place.check_labels(solution, &deployed.labels, space);
        blockers.extend(unfit.into_iter().map(Blocker::from));
    }

    /// Removes cluster-scoped objects, which a namespace administrator cannot create, with a blocker for each. Adds the
    /// administrator's record: on a first deployment it is applied first, so that it can be undone after any failure;
    /// later it is applied last.
    fn keep_within(
        &self,
        setting: &Setting,
        objects: &mut Vec<Object>,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let wide = objects.extract_if(.., |object| object.namespace().is_none());
        let wide = wide.map(|object| object.reference().to_string());
        blockers.extend(wide.map(|object| AdministratorTask::ClusterObject { object }.into()));
        let own = OwnRecord {
            solution: self.asked.id.name().clone(),
            deployed: setting.deployed.clone(),
        };
        let at = setting.current.as_ref().map_or(0, |_| objects.len());
        objects.insert(at, Object::new(own.to_object(&setting.place.namespace))?);
        Ok(())
    }

    /// Adds a blocker if the cluster administrator has deployed the Solution. A namespace administrator cannot write
    /// the cluster's records.
    fn check_own(&self, namespace: &Namespace, change: &Plan, blockers: &mut Vec<Blocker>) {
        let solution = self.asked.id.name();
        if let Authority::Cluster = self.asked.request.authority {
            return;
        }
        let mut there = change.changes().filter_map(ObjectChange::live);
        let runs = there.any(|object| object.gvk().kind == "Deployment")
            || self.state.deployed(namespace, solution).is_some();
        if runs && !self.state.own.contains(solution) {
            let theirs = AdministratorTask::DeployedByOthers {
                solution: solution.clone(),
                namespace: namespace.clone(),
            };
            blockers.push(theirs.into());
        }
    }

    /// Returns the inputs for planning the packaged objects.
    fn carrying<'s>(&'s self, setting: &'s Setting, patches: &'s [SitePatch]) -> PackagedInput<'s> {
        PackagedInput {
            asked: self.asked,
            cluster: self.cluster,
            state: self.state,
            place: &setting.place,
            pull_secret: setting.deployed.pull_secret.as_ref(),
            parameters: &setting.parameters,
            site: &setting.site,
            patches,
            made: pull_secret::made(
                self.asked,
                self.target,
                setting.deployed.pull_secret.as_ref(),
            ),
            pods_of_charts: PodsElsewhere::new(),
        }
    }

    /// Returns the operator's objects in the order to apply them, starting with the pull secret.
    async fn objects(&self, setting: &Setting) -> Result<Vec<Object>, Error> {
        let PlanRequest { accepted, id, .. } = self.asked;
        let place = &setting.place;
        let choices = setting.site.reaching(id.name(), PartName::Operator);
        let mut objects = Vec::new();
        let pull_secret = setting.deployed.pull_secret.as_ref();
        if let Some(made) = pull_secret::made(self.asked, self.target, pull_secret) {
            objects.push(pull_secret::secret(id.name(), place, made));
        }
        let pull_secret = pull_secret.map(KubernetesName::as_str);
        let live = DefaultAccount::read(self.cluster, &place.namespace).await?;
        let account = live.clone().deployed(id.name(), pull_secret, place);
        if account != live {
            objects.push(account.object(&place.namespace));
        }
        if let Some(operator) = self.operator() {
            let rendering = OperatorInputs {
                id,
                operator,
                roles: accepted.roles(),
                environment: &place.environment,
                namespace: &place.namespace,
                config: &record::operator_config(self.records()),
                images: &self.images(),
                pull_secret,
                metrics: self.metrics(operator).await?,
            };
            let mut rendered = rendering.objects()?;
            let workloads = rendered
                .iter_mut()
                .filter(|object| object["kind"] == "Deployment");
            workloads.for_each(|workload| workloads::lay(&choices, workload));
            objects.extend(rendered);
        }
        let objects = objects.into_iter().map(Object::new);
        Ok(objects.collect::<Result<_, _>>()?)
    }

    /// Returns the pull secrets for pods of charts by namespace: that of the environment, and its copies in other
    /// namespaces.
    fn logins(&self, setting: &Setting, change: &Plan) -> BTreeMap<Namespace, KubernetesName> {
        let Some(secret) = &setting.deployed.pull_secret else {
            return BTreeMap::new();
        };
        let copy = pull_secret::secret_name(self.asked.id.name());
        let copies = change.objects();
        let copies =
            copies.filter(|object| object.gvk().kind == "Secret" && object.name() == copy.as_str());
        let spaces = copies.filter_map(|object| object.namespace()?.parse().ok());
        let copies = spaces.map(|space| (space, copy.clone()));
        let own = (setting.place.namespace.clone(), secret.clone());
        copies.chain([own]).collect()
    }

    /// Returns the operator's metrics, and the kind of object that the cluster collects metrics with.
    async fn metrics<'o>(
        &self,
        operator: &'o Operator,
    ) -> Result<Option<OperatorMetrics<'o>>, Error> {
        let Some(served) = OperatorMetrics::for_operator(operator, Collector::Unknown) else {
            return Ok(None);
        };
        let collector = if self.cluster.serves(&service_monitor()).await? {
            Collector::ServiceMonitor
        } else {
            Collector::Unknown
        };
        Ok(Some(OperatorMetrics {
            collector,
            ..served
        }))
    }

    fn images(&self) -> Addresses<'_> {
        let record = &self.asked.record;
        let images = record.images.iter();
        Addresses::new(
            &record.endpoint,
            images.map(|image| (&image.image, image.digest)),
        )
    }

    /// Returns the records of all imported versions of the Solution, and that of this one.
    fn records(&self) -> impl Iterator<Item = &Record> {
        let record = &self.asked.record;
        let other = |known: &&Record| known.name == record.name && known.version != record.version;
        self.state.records.iter().filter(other).chain([record])
    }
}

/// Checks whether a patch has a target among the objects of releases.
fn meets(patch: &SitePatch, releases: &Releases) -> bool {
    let mut objects = releases.objects();
    objects.any(|object| patch.patch.is_for(object.as_value()))
}

/// Returns the patches with their targets in releases.
fn patched(patches: &[SitePatch], releases: &Releases) -> Vec<Patched> {
    let of_patch = |patch: &SitePatch| {
        let targets = releases.objects();
        let targets = targets.filter(|object| patch.patch.is_for(object.as_value()));
        let named = targets.map(|object| Patched {
            object: object.reference().to_string(),
            from: patch.from.clone(),
        });
        named.collect::<Vec<_>>()
    };
    patches.iter().flat_map(of_patch).collect()
}

/// Returns the recorded objects that are removed, as last read, and the webhooks that call them.
async fn going(
    cluster: &Cluster,
    solution: &SolutionName,
    change: &Plan,
) -> Result<Withdrawal, Error> {
    let (recorded, live) = change.dropped();
    let removal = recorded.removal(&live, solution, |_, _| true);
    Withdrawal::found(cluster, recorded, removal).await
}
