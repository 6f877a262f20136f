//! The planning of a deployment: its objects and releases, and the obstacles to it.

use std::collections::{BTreeMap, BTreeSet};

use change::{DesiredObject, Entry, ObjectChange, Plan};
use deployer::{Cluster, Object};
use schemas::{KubernetesName, Namespace, Operator, PartName, SolutionName};
use shelf::Record;
use validator::CarriedChart;

use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::labelled::service_monitor;
use crate::model::obstacle::{Above, Obstacle, Unfit};
use crate::model::own::OwnRecord;
use crate::model::record;
use crate::model::request::Asked;
use crate::model::site::SitePatch;
use crate::plan::carrying::{Carrying, Planned, PodsElsewhere, installed};
use crate::plan::choices;
use crate::plan::default_account::DefaultAccount;
use crate::plan::deployment::{Deployment, is_shared};
use crate::plan::expand::Addresses;
use crate::plan::login;
use crate::plan::metrics::{Collector, Served};
use crate::plan::operator::OperatorInputs;
use crate::plan::parameters::number_of;
use crate::plan::patches::Patched;
use crate::plan::releases::{Releases, Releasing};
use crate::plan::review::{Content, Review, ReviewContext, review};
use crate::plan::sets;
use crate::plan::setting::{Planner, Setting};
use crate::plan::withdrawal::Withdrawal;

/// The namespaces that are brought as objects of sets, and those that charts get of their own.
fn spaces(change: &Plan) -> BTreeSet<String> {
    let spaces = change.objects().filter(|it| it.gvk().kind == "Namespace");
    spaces.map(|it| it.name().to_owned()).collect()
}

impl Planner<'_> {
    /// The deployment, or what is in its way.
    pub(crate) async fn deployment(
        &self,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Option<Deployment>, Error> {
        let Asked { accepted, id, .. } = self.asked;
        let spec = &accepted.manifest().spec;
        if self.operator().is_none() && accepted.sets().is_empty() && spec.charts.is_empty() {
            obstacles.push(Obstacle::NoOperator {
                solution_id: id.clone(),
            });
            return Ok(None);
        }
        let Some(namespace) = self.namespace(obstacles) else {
            return Ok(None);
        };
        self.check_prerequisites(&namespace, obstacles).await?;
        let setting = self.setting(&namespace, obstacles).await?;
        // On the heap: it holds all that is compared.
        let deployment = Box::pin(self.compose(setting, obstacles));
        let mut deployment = deployment.await?;
        deployment.judge(&self.asked.request);
        Ok(Some(deployment))
    }

    /// The objects of a deployment, compared with what is there.
    async fn compose(
        &self,
        mut setting: Setting,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Deployment, Error> {
        let solution = self.asked.id.name();
        let own = self.own(&setting, obstacles).await?;
        let (planned, releases) = self.parts(&own, &mut setting, obstacles).await?;
        self.check_own(&setting.place.namespace, &planned.change, obstacles);
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
        // On the heap: it holds all objects once more.
        let Review {
            deployed,
            change,
            releases,
            cleanup,
            beyond,
            rights,
            dangers,
        } = Box::pin(review(content, reviewed_for, obstacles)).await?;
        // Not before: consent is to contents as they are, also where the archive itself makes a Secret that hides them.
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
            standing: setting.standing,
            rights,
            beyond,
            dangers,
            refused: None,
        })
    }

    /// The operator's objects, with what its pods pull with; and the record of who administers only the namespace.
    async fn own(
        &self,
        setting: &Setting,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Vec<DesiredObject>, Error> {
        let mut own = self.objects(setting).await?;
        if let Authority::Namespace(_) = &self.asked.request.authority {
            self.keep_within(setting, &mut own, obstacles)?;
        }
        Ok(own.into_iter().map(DesiredObject::of_operator).collect())
    }

    /// Plans the carried objects, and the releases of charts. Where these have pods in further namespaces, which only
    /// their renderings tell, the carried objects are planned once more, with the login of these pods.
    async fn parts(
        &self,
        own: &[DesiredObject],
        setting: &mut Setting,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(Planned, Releases), Error> {
        let (first, mut unfit) = (obstacles.len(), Vec::new());
        let patches = setting.site.patches(self.asked.id.name());
        let carrying = self.carrying(setting, &patches);
        let mut planned = carrying.plan(own, &mut unfit).await?;
        self.note_carried(setting, &mut planned, obstacles);
        let releases = self.releases(setting, &planned.change, obstacles).await?;
        let known = self.logins(setting, &planned.change);
        let pods_of_charts = releases.pods_elsewhere(&known);
        if !pods_of_charts.is_empty() {
            unfit.clear();
            let carrying = Carrying {
                pods_of_charts,
                ..self.carrying(setting, &patches)
            };
            planned = carrying.plan(own, &mut unfit).await?;
        }
        planned.patched.extend(patched(&patches, &releases));
        if releases.are_known() {
            let others = planned.unmet.iter().filter(|it| !meets(it, &releases));
            unfit.extend(others.map(|it| Unfit::from(it).into()));
        }
        obstacles.splice(first..first, unfit);
        let departing = releases.departing.clone();
        let change = std::mem::take(&mut planned.change);
        planned.change = change.with_releases(releases.to_changes(), departing, releases.objects());
        Ok((planned, releases))
    }

    /// The releases of the charts, each behind those that it needs.
    async fn releases(
        &self,
        setting: &Setting,
        change: &Plan,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Releases, Error> {
        let accepted = self.asked.accepted;
        let parts = sets::parts(accepted);
        let order = parts.in_order();
        let charts = accepted.charts();
        let mut charts = installed(self.cluster, charts, &setting.parameters).await?;
        let at = |chart: &&CarriedChart| {
            let mut names = order.iter();
            names.position(|name| *name == chart.release.name.as_str())
        };
        charts.sort_by_key(at);
        let needed = parts.needed();
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
                .standing
                .as_ref()
                .and_then(|standing| standing.accepted.as_ref()),
            carried: change,
            patches: setting.site.patches(self.asked.id.name()),
            spaces: spaces(change),
            logins: self.logins(setting, change),
        };
        let needed = |chart: &CarriedChart| needed.contains(chart.release.name.as_str());
        // On the heap: it holds whatever a rendering holds.
        Box::pin(releasing.plan(&charts, needed, obstacles)).await
    }

    /// Notes the part of the sets that is recorded with the environment.
    fn note_carried(
        &self,
        setting: &mut Setting,
        planned: &mut Planned,
        obstacles: &mut Vec<Obstacle>,
    ) {
        let (solution, namespace) = (self.asked.id.name(), &setting.place.namespace);
        let deployed = &mut setting.deployed;
        let is_kept = |recorded: &Entry| {
            let number = number_of(&recorded.reference(), solution, namespace);
            number.is_some() && number == deployed.secret
        };
        let entries = &planned.change.inventory.entries;
        if !setting.parameters.secret.is_empty() && !entries.iter().any(is_kept) {
            // No set is installed, so nothing more is kept.
            let kept = setting.standing.as_ref();
            deployed.sensitive = kept.map_or_else(BTreeSet::new, |it| it.sensitive.clone());
            deployed.charts = kept.map_or_else(BTreeSet::new, |it| it.charts.clone());
            deployed.secret = kept.and_then(|it| it.secret);
        }
        deployed.labels = std::mem::take(&mut planned.labels);
        let (place, space) = (&setting.place, setting.space.as_ref());
        let unfit = place.check_labels(solution, &deployed.labels, space);
        obstacles.extend(unfit.into_iter().map(Obstacle::from));
    }

    /// Leaves out what is the whole cluster's, which is in the way of who administers only the namespace, and adds their
    /// record: as the first one, so that there is an undo whatever happens, and where a version runs already as the last one.
    fn keep_within(
        &self,
        setting: &Setting,
        objects: &mut Vec<Object>,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let wide = objects.extract_if(.., |object| object.namespace().is_none());
        let wide = wide.map(|it| it.reference().to_string());
        obstacles.extend(wide.map(|object| Above::ClusterObject { object }.into()));
        let own = OwnRecord {
            solution: self.asked.id.name().clone(),
            deployed: setting.deployed.clone(),
        };
        let at = setting.standing.as_ref().map_or(0, |_| objects.len());
        objects.insert(at, Object::new(own.to_object(&setting.place.namespace))?);
        Ok(())
    }

    /// Whether what is there of the Solution was deployed with the same authority: who administers only the namespace
    /// cannot note in the cluster's records what they change.
    fn check_own(&self, namespace: &Namespace, change: &Plan, obstacles: &mut Vec<Obstacle>) {
        let solution = self.asked.id.name();
        if let Authority::Cluster = self.asked.request.authority {
            return;
        }
        let mut there = change.changes().filter_map(ObjectChange::live);
        let runs = there.any(|object| object.gvk().kind == "Deployment")
            || self.state.deployed(namespace, solution).is_some();
        if runs && !self.state.own.contains(solution) {
            let theirs = Above::DeployedByOthers {
                solution: solution.clone(),
                namespace: namespace.clone(),
            };
            obstacles.push(theirs.into());
        }
    }

    /// Returns the inputs that the carried objects are planned from.
    fn carrying<'s>(&'s self, setting: &'s Setting, patches: &'s [SitePatch]) -> Carrying<'s> {
        Carrying {
            asked: self.asked,
            cluster: self.cluster,
            state: self.state,
            place: &setting.place,
            pull_secret: setting.deployed.pull_secret.as_ref(),
            parameters: &setting.parameters,
            site: &setting.site,
            patches,
            made: login::made(
                self.asked,
                self.target,
                setting.deployed.pull_secret.as_ref(),
            ),
            pods_of_charts: PodsElsewhere::new(),
        }
    }

    /// The operator's objects in the order to apply them, after what its pods pull with.
    async fn objects(&self, setting: &Setting) -> Result<Vec<Object>, Error> {
        let Asked { accepted, id, .. } = self.asked;
        let place = &setting.place;
        let choices = setting.site.reaching(id.name(), PartName::Operator);
        let mut objects = Vec::new();
        let pull_secret = setting.deployed.pull_secret.as_ref();
        if let Some(made) = login::made(self.asked, self.target, pull_secret) {
            objects.push(login::secret(id.name(), place, made));
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
            let workloads = rendered.iter_mut().filter(|it| it["kind"] == "Deployment");
            workloads.for_each(|workload| choices::lay(&choices, workload));
            objects.extend(rendered);
        }
        let objects = objects.into_iter().map(Object::new);
        Ok(objects.collect::<Result<_, _>>()?)
    }

    /// Returns what pods of charts log in to the registry with, by where that Secret lies: the environment's, or a copy of it.
    fn logins(&self, setting: &Setting, change: &Plan) -> BTreeMap<Namespace, KubernetesName> {
        let Some(secret) = &setting.deployed.pull_secret else {
            return BTreeMap::new();
        };
        let copy = login::secret_name(self.asked.id.name());
        let copies = change.objects();
        let copies = copies.filter(|it| it.gvk().kind == "Secret" && it.name() == copy.as_str());
        let spaces = copies.filter_map(|it| it.namespace()?.parse().ok());
        let copies = spaces.map(|space| (space, copy.clone()));
        let own = (setting.place.namespace.clone(), secret.clone());
        copies.chain([own]).collect()
    }

    /// The metrics that the operator serves, and whether the cluster has something to collect them.
    async fn metrics<'o>(&self, operator: &'o Operator) -> Result<Option<Served<'o>>, Error> {
        let Some(served) = Served::by(operator, Collector::Unknown) else {
            return Ok(None);
        };
        let collector = if self.cluster.serves(&service_monitor()).await? {
            Collector::ServiceMonitor
        } else {
            Collector::Unknown
        };
        Ok(Some(Served {
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

    /// Returns the record of every version of the Solution that is imported, and that of this one.
    fn records(&self) -> impl Iterator<Item = &Record> {
        let record = &self.asked.record;
        let other = |known: &&Record| known.name == record.name && known.version != record.version;
        self.state.records.iter().filter(other).chain([record])
    }
}

/// Whether a patch has a target among the objects of releases.
fn meets(patch: &SitePatch, releases: &Releases) -> bool {
    let mut objects = releases.objects();
    objects.any(|it| patch.patch.is_for(it.as_value()))
}

/// Returns the patches with what they change in releases.
fn patched(patches: &[SitePatch], releases: &Releases) -> Vec<Patched> {
    let of_patch = |patch: &SitePatch| {
        let targets = releases.objects();
        let targets = targets.filter(|it| patch.patch.is_for(it.as_value()));
        let named = targets.map(|it| Patched {
            object: it.reference().to_string(),
            from: patch.from.clone(),
        });
        named.collect::<Vec<_>>()
    };
    patches.iter().flat_map(of_patch).collect()
}

/// Returns what goes of what was there before, as it was seen, and what calls it.
async fn going(
    cluster: &Cluster,
    solution: &SolutionName,
    change: &Plan,
) -> Result<Withdrawal, Error> {
    let (recorded, live) = change.dropped();
    let removal = recorded.removal(&live, solution, |_, _| true);
    Withdrawal::found(cluster, recorded, removal).await
}
