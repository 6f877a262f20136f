//! How a deployment is planned: where it goes, what is chosen there, which objects it has, and what is in its way.

use std::collections::{BTreeMap, BTreeSet};

use change::{DesiredObject, Entry, ObjectChange, Plan};
use deployer::{Cluster, Object, ObjectRef};
use schemas::{
    Choices, EnvironmentName, KubernetesName, Namespace, Operator, OperatorScope, Patch,
    SolutionName, Version, VersionRange,
};
use serde_json::json;
use validator::CarriedChart;
use validator::rules::Compared;

use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::labelled::service_monitor;
use crate::model::look::look;
use crate::model::namespace_record::{Deployed, NamespaceRecord, namespace_reference};
use crate::model::obstacle::{Above, Obstacle};
use crate::model::own::OwnRecord;
use crate::model::record::{self, Record};
use crate::model::request::{Asked, CreateEnvironment, Downgrade, PullLogin, Target};
use crate::model::site::{HeldSite, OPERATOR};
use crate::model::state::ClusterState;
use crate::plan::carrying::{Carrying, Planned, PodsElsewhere};
use crate::plan::choices;
use crate::plan::consent::{self, Beyond, ClusterView, Home, Line};
use crate::plan::default_account::DefaultAccount;
use crate::plan::deployment::Deployment;
use crate::plan::expand::Addresses;
use crate::plan::login;
use crate::plan::metrics::{Collector, Served};
use crate::plan::operator::Rendering;
use crate::plan::parameters::{self, Kept, Parameters, Resolving, number_of};
use crate::plan::place;
use crate::plan::releases::{Releases, Releasing, is_test};
use crate::plan::sets;
use crate::plan::withdrawal::Withdrawal;

/// Changes of a letter between a name and the one that may have been meant.
const NEAR: usize = 3;

/// The namespaces that are brought as objects of sets, and those that charts get of their own.
fn spaces(change: &Plan) -> BTreeSet<String> {
    let spaces = change.objects().filter(|it| it.gvk().kind == "Namespace");
    spaces.map(|it| it.name().to_owned()).collect()
}

/// Everything that a deployment is planned from.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    pub(crate) asked: &'a Asked<'a>,
    pub(crate) cluster: &'a Cluster,
    pub(crate) state: &'a ClusterState,
    pub(crate) target: &'a Target,
}

/// Where a version is deployed to, and what is chosen there, before its objects are known.
struct Setting {
    /// The record of the namespace, without this version.
    place: NamespaceRecord,
    /// The namespace, if it is there.
    space: Option<Object>,
    /// What stands there of the Solution.
    standing: Option<Deployed>,
    /// What the site chose for the environment.
    site: HeldSite,
    parameters: Parameters,
    /// What the record will say of the Solution.
    deployed: Deployed,
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
            obstacles.push(Obstacle::NoOperator(id.clone()));
            return Ok(None);
        }
        let Some(namespace) = self.namespace(obstacles) else {
            return Ok(None);
        };
        let setting = self.setting(&namespace, obstacles).await?;
        // On the heap: it holds all that is compared.
        let deployment = Box::pin(self.compose(setting, obstacles));
        let mut deployment = deployment.await?;
        deployment.judge(&self.asked.request);
        Ok(Some(deployment))
    }

    fn operator(&self) -> Option<&Operator> {
        self.asked.accepted.manifest().spec.operator.as_ref()
    }

    /// Returns where it is deployed to, and what is chosen there.
    async fn setting(
        &self,
        namespace: &Namespace,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Setting, Error> {
        let id = &self.asked.id;
        let space = look(self.cluster, &namespace_reference(namespace)).await?;
        obstacles.extend(place::check_reserved(namespace).err());
        let place = self.place(namespace, space.as_ref(), obstacles);
        let scope = self.operator().map(|operator| operator.scope);
        obstacles.extend(scope.and_then(|it| second(self.state, id.name(), namespace, it)));
        let site = self.state.site.held(Some(&place.environment))?;
        let standing = self.state.deployed(namespace, id.name()).cloned();
        if let Some(standing) = &standing {
            self.check_upgrade(&standing.version, obstacles);
        }
        let parameters = self
            .parameters(&place, standing.as_ref(), &site, obstacles)
            .await?;
        let deployed = Deployed {
            version: id.version().clone(),
            pull_secret: self.pull_secret(&site, standing.as_ref()),
            parameters: parameters.chosen.clone(),
            sensitive: parameters.secret.keys().cloned().collect(),
            secret: parameters.number,
            labels: [].into(),
            former_releases: standing
                .as_ref()
                .map(|it| it.former_releases.clone())
                .unwrap_or_default(),
            accepted: None,
        };
        let setting = Setting {
            place,
            space,
            standing,
            site,
            parameters,
            deployed,
        };
        self.check_login(&setting, obstacles).await?;
        let choices = setting.site.choices(id.name(), OPERATOR);
        obstacles.extend(check_variables(self.operator(), &choices));
        Ok(setting)
    }

    /// The values of the parameters, and whatever is wrong with them.
    async fn parameters(
        &self,
        space: &NamespaceRecord,
        standing: Option<&Deployed>,
        site: &HeldSite,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Parameters, Error> {
        let Asked {
            accepted,
            id,
            generated,
            ..
        } = self.asked;
        let declared = &accepted.manifest().spec.parameters;
        let is_kept = declared.values().any(|it| it.sensitive)
            || standing.is_some_and(|it| it.secret.is_some());
        let kept = if is_kept {
            parameters::kept(self.cluster, id.name(), space).await?
        } else {
            Kept::default()
        };
        let resolving = Resolving {
            declared,
            asked: &self.target.parameters,
            standing,
            site: &site.parameters(id.name()),
            kept: &kept,
            generated,
        };
        Ok(resolving.resolve(obstacles))
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
        let judged = self.judged(&setting, &planned, &releases, obstacles);
        let (beyond, rights) = judged.await?;
        let going = going(self.cluster, solution, &planned.change).await?;
        Ok(Deployment {
            place: setting.place,
            deployed: setting.deployed,
            change: planned.change,
            going,
            releases,
            patched: planned.patched,
            cleanup: planned.cleanup,
            changes_cleanup: planned.changes_cleanup,
            solution: solution.clone(),
            site: setting.site,
            parameters: setting.parameters,
            standing: setting.standing,
            rights,
            beyond,
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

    /// What is carried, and the releases of charts. Where these have pods in further namespaces, which only their renderings
    /// tell, what is carried is planned once more, with the login of these pods.
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
        obstacles.splice(first..first, unfit);
        let departing = releases.departing.clone();
        let change = std::mem::take(&mut planned.change);
        planned.change = change.with_releases(releases.changes(), departing, releases.objects());
        Ok((planned, releases))
    }

    /// What reaches beyond the environment, and what changes about rights, by all objects and by what Helm would send.
    async fn judged(
        &self,
        setting: &Setting,
        planned: &Planned,
        releases: &Releases,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(Beyond, Compared), Error> {
        let (change, namespace) = (&planned.change, &setting.place.namespace);
        let home = Home {
            namespace,
            hidden: &setting.parameters.hidden,
            kept: &change.kept,
        };
        // Tests are made by whoever runs them, and have names by chance in charts in use.
        let sent = || releases.objects().filter(|it| !is_test(it));
        // Also of what is only applied when it is removed.
        let cleanup = planned.cleanup.objects()?;
        let all = change.objects().chain(&cleanup).chain(sent()).cloned();
        let mut all: Vec<Object> = all.collect();
        check_distinct(&all, obstacles);
        all.push(labelled(namespace, &setting.deployed)?);
        let before = change.live().chain(releases.objects_before());
        let before: Vec<Object> = before.cloned().collect();
        let view = ClusterView::read(self.cluster, home, &all, &before).await?;
        let mut lines = consent::lines(&all, home, &view)?;
        lines.extend(releases.lines(namespace).map(Line::new));
        let beyond = Beyond::new(&self.asked.id, &self.target.environment, namespace, lines);
        let after: Vec<Object> = change.objects().chain(sent()).cloned().collect();
        Ok((beyond, consent::compare(&before, &after, &view)?))
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
        let mut charts: Vec<&CarriedChart> = accepted.charts().iter().collect();
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
            place: &setting.place,
            carried: change,
            spaces: spaces(change),
            logins: self.logins(setting, change),
        };
        let needed = |chart: &CarriedChart| needed.contains(chart.release.name.as_str());
        // On the heap: it holds whatever a rendering holds.
        Box::pin(releasing.plan(&charts, needed, obstacles)).await
    }

    /// What of the sets is recorded with the environment.
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
        if !deployed.sensitive.is_empty() && !entries.iter().any(is_kept) {
            // No set is installed, so nothing more is kept.
            let kept = setting.standing.as_ref();
            let kept = kept.map(|it| (it.sensitive.clone(), it.secret));
            (deployed.sensitive, deployed.secret) = kept.unwrap_or_default();
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
        obstacles.extend(wide.map(|it| Above::Wide(it.reference().to_string()).into()));
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
            obstacles.push(Above::NotOwn(solution.clone(), namespace.clone()).into());
        }
    }

    /// What is carried is planned from.
    fn carrying<'s>(
        &'s self,
        setting: &'s Setting,
        patches: &'s [(String, Patch)],
    ) -> Carrying<'s> {
        Carrying {
            asked: self.asked,
            cluster: self.cluster,
            state: self.state,
            place: &setting.place,
            pull_secret: setting.deployed.pull_secret.as_ref(),
            parameters: &setting.parameters,
            patches,
            made: match &self.target.pull_login {
                PullLogin::Made(made) => Some(made),
                PullLogin::Keep | PullLogin::None | PullLogin::Secret(_) => None,
            },
            pods_of_charts: PodsElsewhere::new(),
        }
    }

    /// Whether nodes can log in with what is chosen.
    async fn check_login(
        &self,
        setting: &Setting,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        if let PullLogin::Made(made) = &self.target.pull_login {
            // A login is for one registry.
            let (host, pull_host) = (&made.host, self.asked.record.pull_host());
            if host != pull_host {
                obstacles.push(Obstacle::OtherLogin(host.clone(), pull_host.to_owned()));
            }
        } else if let Some(secret) = &setting.deployed.pull_secret {
            self.check_pull_secret(setting, secret, obstacles).await?;
        }
        Ok(())
    }

    /// The operator's objects in the order to apply them, after what its pods pull with.
    async fn objects(&self, setting: &Setting) -> Result<Vec<Object>, Error> {
        let Asked { accepted, id, .. } = self.asked;
        let place = &setting.place;
        let choices = setting.site.choices(id.name(), OPERATOR);
        let mut objects = Vec::new();
        if let PullLogin::Made(made) = &self.target.pull_login {
            objects.push(login::secret(id.name(), place, made));
        }
        let pull_secret = setting.deployed.pull_secret.as_ref();
        let pull_secret = pull_secret.map(KubernetesName::as_str);
        let live = DefaultAccount::read(self.cluster, &place.namespace).await?;
        let account = live.clone().deployed(id.name(), pull_secret, place);
        if account != live {
            objects.push(account.object(&place.namespace));
        }
        if let Some(operator) = self.operator() {
            let rendering = Rendering {
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
            workloads.for_each(|workload| choices::apply(&choices, workload));
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

    /// The namespace that is meant: the one that is named, else the only one that the environment has, else that of its
    /// name where an environment may be made.
    fn namespace(&self, obstacles: &mut Vec<Obstacle>) -> Option<Namespace> {
        let target = self.target;
        let environment = &target.environment;
        let known: Vec<&NamespaceRecord> = self.state.environment(environment).collect();
        match (&target.namespace, known.as_slice()) {
            (_, []) if self.asked.request.allowed.create == CreateEnvironment::Refuse => {
                obstacles.push(unknown(environment, self.state));
                None
            }
            (Some(namespace), _) => Some(namespace.clone()),
            (None, []) => Some(place::default_namespace(environment)),
            (None, [only]) => Some(only.namespace.clone()),
            (None, several) => {
                let names = several.iter().map(|space| space.namespace.as_str());
                let names: Vec<&str> = names.collect();
                let (environment, names) = (environment.clone(), names.join(", "));
                obstacles.push(Obstacle::SeveralNamespaces(environment, names));
                None
            }
        }
    }

    /// The record of the namespace as it will be, and what speaks against it.
    fn place(
        &self,
        namespace: &Namespace,
        space: Option<&Object>,
        obstacles: &mut Vec<Obstacle>,
    ) -> NamespaceRecord {
        let environment = &self.target.environment;
        let known = self.state.namespace(namespace);
        let adopt = self.asked.request.allowed.adopt.namespace;
        let record = place::record(known, space, environment, namespace, adopt);
        record.unwrap_or_else(|obstacle| {
            obstacles.push(obstacle);
            NamespaceRecord::new(environment.clone(), namespace.clone())
        })
    }

    /// Every version of the Solution that is imported, and this one.
    fn records(&self) -> impl Iterator<Item = &Record> {
        let record = &self.asked.record;
        let other = |known: &&Record| known.name == record.name && known.version != record.version;
        self.state.records.iter().filter(other).chain([record])
    }

    /// What the site's file says comes before what runs: it may have come from there.
    fn pull_secret(&self, site: &HeldSite, standing: Option<&Deployed>) -> Option<KubernetesName> {
        let running = || standing.and_then(|standing| standing.pull_secret.clone());
        match &self.target.pull_login {
            PullLogin::Keep => site.pull_secret().cloned().or_else(running),
            PullLogin::None => None,
            PullLogin::Secret(name) => Some(name.clone()),
            PullLogin::Made(_) => Some(login::secret_name(self.asked.id.name())),
        }
    }

    /// A pull secret is the site's: it must be there, or no pod will start.
    async fn check_pull_secret(
        &self,
        setting: &Setting,
        secret: &KubernetesName,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let (place, space) = (&setting.place, &setting.space);
        let namespace = &place.namespace;
        let reference = ObjectRef::namespaced("v1", "Secret", namespace.as_str(), secret.as_str());
        if space.is_some() {
            match self.cluster.get(&reference).await {
                // Whoever may not look at Secrets may still have been told its name.
                Ok(Some(_)) | Err(deployer::Error::Forbidden { .. }) => return Ok(()),
                Ok(None) => {}
                Err(error) => return Err(error.into()),
            }
        }
        obstacles.push(Obstacle::NoPullSecret {
            secret: secret.clone(),
            namespace: namespace.clone(),
            create: space.is_none().then(|| place.environment.clone()),
            host: self.asked.record.pull_host().to_owned(),
        });
        Ok(())
    }

    fn check_upgrade(&self, previous: &Version, obstacles: &mut Vec<Obstacle>) {
        let version = self.asked.id.version();
        let downgrade = self.asked.request.allowed.downgrade;
        let range = &self.asked.accepted.statement().predicate.upgrade_from;
        obstacles.extend(older(previous, version, downgrade));
        obstacles.extend(too_old(previous, version, range.as_ref()));
    }
}

/// What is in the way of a version where a newer one runs.
fn older(running: &Version, version: &Version, downgrade: Downgrade) -> Option<Obstacle> {
    let is_older = version < running && downgrade == Downgrade::Refuse;
    is_older.then(|| Obstacle::Older(running.clone(), version.clone()))
}

/// What is in the way of a version that is no upgrade for the one that runs. A way back is none, whatever the range says.
fn too_old(running: &Version, version: &Version, range: Option<&VersionRange>) -> Option<Obstacle> {
    let range = range.filter(|range| running < version && !range.contains(running))?;
    let (running, version) = (running.clone(), version.clone());
    Some(Obstacle::TooOld(running, version, range.clone()))
}

/// The namespace with no more than the labels that a version gives it.
fn labelled(namespace: &Namespace, deployed: &Deployed) -> Result<Object, Error> {
    let metadata = json!({ "name": namespace, "labels": deployed.labels });
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    Ok(Object::new(space)?)
}

/// Names of an archive may come to the same name of an object; then the last one would be all there is.
fn check_distinct(objects: &[Object], obstacles: &mut Vec<Obstacle>) {
    let mut seen = BTreeSet::new();
    for object in objects {
        if !seen.insert(object.reference().identity()) {
            obstacles.push(Obstacle::SameName(object.reference().to_string()));
        }
    }
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

/// That an operator which works in the whole cluster would not be the only one: two would work on the same objects.
fn second(
    state: &ClusterState,
    solution: &SolutionName,
    namespace: &Namespace,
    scope: OperatorScope,
) -> Option<Obstacle> {
    let is_wide = |version: &Version| {
        let record = state.record(solution, version);
        let operator = record.and_then(|record| record.manifest.spec.operator.as_ref());
        operator.is_some_and(|operator| operator.scope == OperatorScope::Cluster)
    };
    let mut elsewhere = state.deployments(solution);
    let (space, _) = elsewhere.find(|(space, version)| {
        space.namespace != *namespace && (scope == OperatorScope::Cluster || is_wide(version))
    })?;
    let (at, environment) = (space.namespace.clone(), space.environment.clone());
    Some(Obstacle::Second(solution.clone(), at, environment))
}

/// A variable in which the operator finds an image is not the site's to choose.
fn check_variables(operator: Option<&Operator>, choices: &Choices) -> Vec<Obstacle> {
    let variables = operator.into_iter().flat_map(Operator::plain_variables);
    let of_images = variables.filter(|(_, value)| value.contains("$(image:"));
    let chosen = |name: &str| choices.env.keys().any(|chosen| chosen.as_str() == name);
    let taken = of_images.filter(|(name, _)| chosen(name));
    taken
        .map(|(name, _)| Obstacle::ImageVariable(name.to_owned()))
        .collect()
}

/// An environment that nobody made, and the one that may have been meant.
fn unknown(environment: &EnvironmentName, state: &ClusterState) -> Obstacle {
    let names = state.namespaces.iter().map(|space| &space.environment);
    let nearest = names
        .map(|name| {
            let distance = strsim::damerau_levenshtein(name.as_str(), environment.as_str());
            (distance, name)
        })
        .min()
        .filter(|(distance, _)| *distance <= NEAR);
    Obstacle::UnknownEnvironment(environment.clone(), nearest.map(|(_, name)| name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::namespace_record::tests::{deployed, namespace_record};
    use crate::model::record::tests::record;

    #[test]
    fn an_operator_of_the_whole_cluster_is_the_only_one() {
        let solution: SolutionName = "shop".parse().unwrap();
        let mut wide = record("2.0.0");
        let operator = json!({ "image": { "name": "web", "tag": "7" }, "scope": "Cluster" });
        wide.manifest.spec.operator = Some(serde_json::from_value(operator).unwrap());
        let mut state = ClusterState {
            records: vec![record("1.0.0"), wide],
            namespaces: vec![namespace_record("prod", "shop-prod")],
            ..ClusterState::default()
        };
        let second = |state: &ClusterState, namespace: &str, scope| {
            super::second(state, &solution, &namespace.parse().unwrap(), scope).is_some()
        };
        let (one, all) = (OperatorScope::Namespace, OperatorScope::Cluster);
        assert!(!second(&state, "test", all));
        for (running, refused) in [("1.0.0", [false, true]), ("2.0.0", [true, true])] {
            let solutions = &mut state.namespaces[0].solutions;
            solutions.insert(solution.clone(), deployed(running));
            let found = [one, all].map(|scope| second(&state, "test", scope));
            assert_eq!(found, refused, "{running}");
            assert!(!second(&state, "shop-prod", all), "{running}");
        }
    }

    #[test]
    fn a_version_follows_only_those_that_it_can_upgrade_from() {
        let refused = |running: &str, range: Option<&str>| {
            let range: Option<VersionRange> = range.map(|range| range.parse().unwrap());
            let (running, version) = (running.parse().unwrap(), "2.0.0".parse().unwrap());
            too_old(&running, &version, range.as_ref()).map(|it| it.to_string())
        };
        let since = Some(">=1.4.0, <2.0.0");
        let words =
            "version 1.3.9 is running there, and 2.0.0 can only upgrade from >=1.4.0, <2.0.0";
        assert_eq!(refused("1.3.9", since).as_deref(), Some(words));
        for (running, range) in [
            ("1.4.0", since),
            ("1.9.0", since),
            ("1.0.0", None),
            // The same version once more, and the way back, are no upgrades.
            ("2.0.0", since),
            ("2.1.0", since),
        ] {
            assert_eq!(refused(running, range), None, "{running}");
        }
        let older = |running: &str, downgrade| {
            let (running, version) = (running.parse().unwrap(), "2.0.0".parse().unwrap());
            older(&running, &version, downgrade).is_some()
        };
        assert!(older("2.1.0", Downgrade::Refuse) && !older("2.1.0", Downgrade::Allow));
        assert!(!older("2.0.0", Downgrade::Refuse));
    }

    #[test]
    fn names_that_come_to_one_are_in_the_way() {
        let role = |name: &str| {
            let metadata = json!({ "name": name, "namespace": "ns" });
            let api_version = "rbac.authorization.k8s.io/v1";
            let role = json!({ "apiVersion": api_version, "kind": "Role", "metadata": metadata });
            Object::new(role).unwrap()
        };
        let mut obstacles = Vec::new();
        check_distinct(&[role("a"), role("b")], &mut obstacles);
        assert_eq!(obstacles, []);
        check_distinct(&[role("a"), role("a")], &mut obstacles);
        let twice = Obstacle::SameName("Role ns/a".to_owned());
        assert_eq!(obstacles, [twice]);
    }

    #[test]
    fn a_mistyped_name_is_answered_with_the_one_that_was_meant() {
        let state = ClusterState {
            namespaces: ["production", "test"]
                .map(|name| namespace_record(name, name))
                .into(),
            ..ClusterState::default()
        };
        for (typed, meant) in [
            ("produciton", Some("production")),
            ("tests", Some("test")),
            ("staging", None),
        ] {
            let environment: EnvironmentName = typed.parse().unwrap();
            let near = meant.map(|name| name.parse().unwrap());
            let expected = Obstacle::UnknownEnvironment(environment.clone(), near);
            assert_eq!(unknown(&environment, &state), expected);
        }
    }
}
