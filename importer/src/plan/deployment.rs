//! The part of an import that is about one environment: its namespace, the operator's objects, and what runs there now.

use std::collections::{BTreeMap, BTreeSet};

use change::{DesiredObject, Entry, Inventory, ObjectChange, Plan};
use deployer::{Cluster, Object, ObjectRef};
use manifests::pod_specs;
use schemas::{
    Choices, EnvironmentName, KubernetesName, Namespace, Operator, OperatorScope, Patch,
    SolutionName, Version, VersionRange,
};
use serde_json::{Value, json};
use validator::CarriedChart;
use validator::rules::Compared;

use crate::model::authority::Authority;
use crate::model::cleanup::Cleanup;
use crate::model::error::Error;
use crate::model::labelled::service_monitor;
use crate::model::look::look;
use crate::model::namespace_record::{Consent, Deployed, NamespaceRecord, namespace_reference};
use crate::model::obstacle::{Above, Obstacle};
use crate::model::own::OwnRecord;
use crate::model::record::{self, Record};
use crate::model::request::{Asked, CreateEnvironment, Downgrade, PullLogin, Request, Target};
use crate::model::site::{HeldSite, OPERATOR};
use crate::model::space::{self, Labels};
use crate::model::state::ClusterState;
use crate::plan::carried;
use crate::plan::carrying::{Carrying, Planned, PodsElsewhere};
use crate::plan::choices;
use crate::plan::consent::{self, Beyond, ClusterView, Home, Line};
use crate::plan::default_account::DefaultAccount;
use crate::plan::expand::Addresses;
use crate::plan::hidden::Hidden;
use crate::plan::login;
use crate::plan::metrics::{Collector, Served};
use crate::plan::operator::Rendering;
use crate::plan::parameters::{self, Kept, Parameters, Resolving, number_of};
use crate::plan::patches::Patched;
use crate::plan::place;
use crate::plan::proof::images_of;
use crate::plan::releases::{Releases, Releasing, is_test};
use crate::plan::withdrawal::Withdrawal;

/// Changes of a letter between a name and the one that may have been meant.
const NEAR: usize = 3;

/// What is deployed in an environment's namespace.
#[derive(Debug)]
pub(crate) struct Deployment {
    /// The record of the namespace, without this version.
    pub(crate) place: NamespaceRecord,
    /// What the record will say of the Solution.
    pub(crate) deployed: Deployed,
    /// What becomes of its objects.
    pub(crate) change: Plan,
    /// What goes of them once all else is ready, and what calls it, as they are taken back.
    pub(crate) going: Withdrawal,
    /// Its releases of charts.
    pub(crate) releases: Releases,
    /// What the site's files change about its objects.
    pub(crate) patched: Vec<Patched>,
    /// What is applied before it is removed.
    pub(crate) cleanup: Cleanup,
    /// Whether the site keeps another one.
    pub(crate) changes_cleanup: bool,
    pub(crate) solution: SolutionName,
    /// What the site chose for the environment.
    pub(crate) site: HeldSite,
    pub(crate) parameters: Parameters,
    /// What stands there of the Solution before.
    pub(crate) standing: Option<Deployed>,
    pub(crate) rights: Compared,
    pub(crate) beyond: Beyond,
    /// That something of it is not accepted.
    pub(crate) refused: Option<Obstacle>,
}

/// The same would be written over the same objects. The default account's content is not compared: whoever may change it
/// in his namespace would keep imports away, and it is read again when it is written.
impl PartialEq for Deployment {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
            && self.deployed.version == other.deployed.version
            && self.deployed.pull_secret == other.deployed.pull_secret
            && self.deployed.parameters == other.deployed.parameters
            && self.deployed.sensitive == other.deployed.sensitive
            && self.deployed.secret == other.deployed.secret
            && self.deployed.labels == other.deployed.labels
            && self.releases == other.releases
            && self.change.digest() == other.change.digest()
            && self.cleanup == other.cleanup
            && self.standing == other.standing
            && self.beyond == other.beyond
    }
}

impl Deployment {
    pub(crate) fn namespace(&self) -> &Namespace {
        &self.place.namespace
    }

    /// Returns the name of the operator's Deployment, if there is an operator.
    pub(crate) fn operator(&self) -> Option<&str> {
        Some(self.of_kind("Deployment")?.name())
    }

    /// Returns what goes once all else is ready, as it was seen, and what calls it.
    pub(crate) fn stale(&self) -> impl Iterator<Item = &Object> {
        self.going.callers.iter().chain(&self.change.stale)
    }

    /// Whether another Solution runs in the namespace.
    pub(crate) fn is_shared(&self) -> bool {
        self.place
            .solutions
            .keys()
            .any(|name| *name != self.solution)
    }

    /// Returns the images that its workloads have now.
    pub(crate) fn images_before(&self) -> BTreeSet<String> {
        let run_before = self.change.live().chain(self.releases.objects_before());
        run_before.flat_map(images_run_by).collect()
    }

    /// Whether its objects are recorded as they are to be, and none is made anew, removed or left to Helm.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.coming().is_none() && self.change.keeps_all() && !self.releases.changes()
    }

    /// The labels of the namespace that this version needs, and what stands there before.
    pub(crate) fn labels(&self) -> Labels {
        let standing = self.standing.iter().map(|it| &it.labels);
        space::joined(standing.chain([&self.deployed.labels]))
    }

    /// The namespace while this version comes: what it needs, and what stands there before.
    pub(crate) fn space(&self) -> Value {
        let mut place = self.place.clone();
        let coming = Deployed {
            labels: self.labels(),
            ..self.deployed.clone()
        };
        place.solutions.insert(self.solution.clone(), coming);
        place.space()
    }

    /// The version that an earlier change began to bring and neither completed nor took back.
    pub(crate) fn coming(&self) -> Option<&Version> {
        self.place.coming.get(&self.solution)
    }

    /// The first of the operator's objects of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Option<&Object> {
        let mut objects = self.change.of_operator();
        objects.find(|object| object.gvk().kind == kind)
    }

    /// What of it was accepted before.
    pub(crate) fn accepted_before(&self) -> Option<&Consent> {
        self.standing.as_ref()?.accepted.as_ref()
    }

    /// Judges whether what reaches beyond the environment is accepted.
    pub(crate) fn judge(&mut self, request: &Request) {
        let judged = self.beyond.judge(self.accepted_before(), request);
        (self.deployed.accepted, self.refused) = match judged {
            Ok(accepted) => (accepted, None),
            Err(obstacle) => (None, Some(obstacle)),
        };
    }
}

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
}

impl Planner<'_> {
    /// The deployment, or what is in its way.
    pub(crate) async fn deployment(
        &self,
        target: &Target,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Option<Deployment>, Error> {
        let Asked { accepted, id, .. } = self.asked;
        let spec = &accepted.manifest().spec;
        let operator = spec.operator.as_ref();
        if operator.is_none() && accepted.sets().is_empty() && spec.charts.is_empty() {
            obstacles.push(Obstacle::NoOperator(id.clone()));
            return Ok(None);
        }
        let Some(namespace) = self.namespace(target, obstacles) else {
            return Ok(None);
        };
        let space = look(self.cluster, &namespace_reference(&namespace)).await?;
        obstacles.extend(place::check_reserved(&namespace).err());
        let place = self.place(target, &namespace, space.as_ref(), obstacles);
        let scope = operator.map(|operator| operator.scope);
        obstacles.extend(scope.and_then(|it| second(self.state, id.name(), &namespace, it)));
        let site = self.state.site.held(Some(&place.environment))?;
        let standing = self.state.deployed(&namespace, id.name()).cloned();
        if let Some(standing) = &standing {
            self.check_upgrade(&standing.version, obstacles);
        }
        let parameters = self
            .parameters(target, &namespace, (standing.as_ref(), &site), obstacles)
            .await?;
        let deployed = Deployed {
            version: id.version().clone(),
            pull_secret: self.pull_secret(target, &site, standing.as_ref()),
            parameters: parameters.chosen.clone(),
            sensitive: parameters.secret.keys().cloned().collect(),
            secret: parameters.number,
            labels: [].into(),
            releases: Vec::new(),
            accepted: None,
        };
        self.check_login(target, (&place, space.as_ref()), &deployed, obstacles)
            .await?;
        let choices = site.choices(id.name(), OPERATOR);
        obstacles.extend(check_variables(operator, &choices));
        let chosen = (standing, site, parameters);
        let placed = (place, space, deployed);
        // On the heap: it holds all that is compared.
        let deployment = Box::pin(self.compose(target, placed, chosen, obstacles));
        let mut deployment = deployment.await?;
        deployment.judge(&self.asked.request);
        Ok(Some(deployment))
    }

    /// The values of the parameters, and whatever is wrong with them.
    async fn parameters(
        &self,
        target: &Target,
        namespace: &Namespace,
        (standing, site): (Option<&Deployed>, &HeldSite),
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
            parameters::kept(self.cluster, id.name(), namespace).await?
        } else {
            Kept::default()
        };
        let resolving = Resolving {
            declared,
            asked: &target.parameters,
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
        target: &Target,
        (place, space, mut deployed): (NamespaceRecord, Option<Object>, Deployed),
        (standing, site, parameters): (Option<Deployed>, HeldSite, Parameters),
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Deployment, Error> {
        let id = &self.asked.id;
        let operator = self.asked.accepted.manifest().spec.operator.as_ref();
        let placed = (&place, &deployed, &site);
        let own = self.own(operator, target, placed, standing.as_ref(), obstacles);
        let own = own.await?;
        let patches = site.patches(id.name());
        let (now, chosen) = (
            (&place, space.as_ref(), standing.as_ref()),
            (&parameters, &patches[..]),
        );
        let parts = self.parts(&own, (target, now), &mut deployed, chosen, obstacles);
        let (planned, releases) = parts.await?;
        self.check_own(&place.namespace, &planned.change, obstacles);
        deployed.releases = releases.recorded();
        let placed = (target, &place.namespace, &deployed);
        let judged = self.judged(placed, &parameters.hidden, (&planned, &releases), obstacles);
        let (beyond, rights) = judged.await?;
        let going = going(self.cluster, id.name(), &planned.change).await?;
        Ok(Deployment {
            place,
            deployed,
            change: planned.change,
            going,
            releases,
            patched: planned.patched,
            cleanup: planned.cleanup,
            changes_cleanup: planned.changes_cleanup,
            solution: id.name().clone(),
            site,
            parameters,
            standing,
            rights,
            beyond,
            refused: None,
        })
    }

    /// The operator's objects, with what its pods pull with; and the record of who administers only the namespace.
    async fn own(
        &self,
        operator: Option<&Operator>,
        target: &Target,
        placed: (&NamespaceRecord, &Deployed, &HeldSite),
        standing: Option<&Deployed>,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Vec<DesiredObject>, Error> {
        let mut own = self.objects(operator, target, placed).await?;
        if let Authority::Namespace(_) = &self.asked.request.authority {
            let (place, deployed, _) = placed;
            self.keep_within(&place.namespace, (deployed, standing), &mut own, obstacles)?;
        }
        Ok(own.into_iter().map(DesiredObject::of_operator).collect())
    }

    /// What is carried, and the releases of charts. Where these have pods in further namespaces, which only their renderings
    /// tell, what is carried is planned once more, with the login of these pods.
    async fn parts(
        &self,
        own: &[DesiredObject],
        (target, now): (
            &Target,
            (&NamespaceRecord, Option<&Object>, Option<&Deployed>),
        ),
        deployed: &mut Deployed,
        chosen: (&Parameters, &[(String, Patch)]),
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(Planned, Releases), Error> {
        let (place, first, mut unfit) = (now.0, obstacles.len(), Vec::new());
        let carrying = self.carrying(target, place, deployed, chosen);
        let mut carried = carrying.plan(own, &mut unfit).await?;
        self.note_carried(now, &mut carried, deployed, obstacles);
        let releases = self.releases(now, (deployed, &carried), obstacles).await?;
        let known = logins(
            (self.asked.id.name(), &place.namespace),
            deployed,
            &carried.change,
        );
        let pods_of_charts = releases.pods_elsewhere(&known);
        if !pods_of_charts.is_empty() {
            unfit.clear();
            let carrying = Carrying {
                pods_of_charts,
                ..self.carrying(target, place, deployed, chosen)
            };
            carried = carrying.plan(own, &mut unfit).await?;
        }
        obstacles.splice(first..first, unfit);
        Ok((carried, releases))
    }

    /// What reaches beyond the environment, and what changes about rights, by all objects and by what Helm would send.
    async fn judged(
        &self,
        (target, namespace, deployed): (&Target, &Namespace, &Deployed),
        hidden: &Hidden,
        (planned, releases): (&Planned, &Releases),
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(Beyond, Compared), Error> {
        let change = &planned.change;
        let home = Home {
            namespace,
            hidden,
            kept: &change.kept,
        };
        // Tests are made by whoever runs them, and have names by chance in charts in use.
        let sent = || releases.objects().filter(|it| !is_test(it));
        // Also of what is only applied when it is removed.
        let cleanup = planned.cleanup.objects()?;
        let all = change.objects().chain(&cleanup).chain(sent()).cloned();
        let mut all: Vec<Object> = all.collect();
        check_distinct(&all, obstacles);
        all.push(labelled(namespace, deployed)?);
        let before = change.live().chain(releases.objects_before());
        let before: Vec<Object> = before.cloned().collect();
        let view = ClusterView::read(self.cluster, home, &all, &before).await?;
        let mut lines = consent::lines(&all, home, &view)?;
        lines.extend(releases.lines(namespace).map(Line::new));
        let beyond = Beyond::new(&self.asked.id, &target.environment, namespace, lines);
        let after: Vec<Object> = change.objects().chain(sent()).cloned().collect();
        Ok((beyond, consent::compare(&before, &after, &view)?))
    }

    /// The releases of the charts, each behind those that it needs.
    async fn releases(
        &self,
        (place, _, standing): (&NamespaceRecord, Option<&Object>, Option<&Deployed>),
        (deployed, carried): (&Deployed, &Planned),
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Releases, Error> {
        let accepted = self.asked.accepted;
        let parts = carried::parts(accepted);
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
            place,
            carried: &carried.change,
            spaces: spaces(&carried.change),
            logins: logins(
                (self.asked.id.name(), &place.namespace),
                deployed,
                &carried.change,
            ),
            before: standing.map_or(&[], |standing| &standing.releases),
        };
        let needed = |chart: &CarriedChart| needed.contains(chart.release.name.as_str());
        // On the heap: it holds whatever a rendering holds.
        Box::pin(releasing.plan(&charts, needed, obstacles)).await
    }

    /// What of the sets is recorded with the environment.
    fn note_carried(
        &self,
        (place, space, standing): (&NamespaceRecord, Option<&Object>, Option<&Deployed>),
        carried: &mut Planned,
        deployed: &mut Deployed,
        obstacles: &mut Vec<Obstacle>,
    ) {
        let solution = self.asked.id.name();
        let is_kept = |recorded: &Entry| {
            let number = number_of(&recorded.reference(), solution, &place.namespace);
            number.is_some() && number == deployed.secret
        };
        if !deployed.sensitive.is_empty() && !carried.change.inventory.entries.iter().any(is_kept) {
            // No set is installed, so nothing more is kept.
            let kept = standing.map(|it| (it.sensitive.clone(), it.secret));
            (deployed.sensitive, deployed.secret) = kept.unwrap_or_default();
        }
        deployed.labels = std::mem::take(&mut carried.labels);
        let unfit = space::check(place, space, (solution, &deployed.labels));
        obstacles.extend(unfit.into_iter().map(Obstacle::from));
    }

    /// Leaves out what is the whole cluster's, which is in the way of who administers only the namespace, and adds their
    /// record.
    fn keep_within(
        &self,
        namespace: &Namespace,
        (deployed, standing): (&Deployed, Option<&Deployed>),
        objects: &mut Vec<Object>,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let wide = objects.extract_if(.., |object| object.namespace().is_none());
        obstacles.extend(wide.map(|it| Above::Wide(it.reference().to_string()).into()));
        self.add_own(deployed, namespace, standing, objects)
    }

    /// The record of who administers only the namespace, as one of the objects: the first one, so that there is an undo
    /// whatever happens, and where a version runs already the last one.
    fn add_own(
        &self,
        deployed: &Deployed,
        namespace: &Namespace,
        standing: Option<&Deployed>,
        objects: &mut Vec<Object>,
    ) -> Result<(), Error> {
        let own = OwnRecord {
            solution: self.asked.id.name().clone(),
            deployed: deployed.clone(),
        };
        let at = standing.map_or(0, |_| objects.len());
        objects.insert(at, Object::new(own.to_object(namespace))?);
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
        target: &'s Target,
        place: &'s NamespaceRecord,
        deployed: &'s Deployed,
        (parameters, patches): (&'s Parameters, &'s [(String, Patch)]),
    ) -> Carrying<'s> {
        Carrying {
            asked: self.asked,
            cluster: self.cluster,
            state: self.state,
            place,
            pull_secret: deployed.pull_secret.as_ref(),
            parameters,
            patches,
            made: match &target.pull_login {
                PullLogin::Made(made) => Some(made),
                PullLogin::Keep | PullLogin::None | PullLogin::Secret(_) => None,
            },
            pods_of_charts: PodsElsewhere::new(),
        }
    }

    /// Whether nodes can log in with what is chosen.
    async fn check_login(
        &self,
        target: &Target,
        (place, space): (&NamespaceRecord, Option<&Object>),
        deployed: &Deployed,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        if let PullLogin::Made(made) = &target.pull_login {
            // A login is for one registry.
            let (host, pull_host) = (&made.host, self.asked.record.pull_host());
            if host != pull_host {
                obstacles.push(Obstacle::OtherLogin(host.clone(), pull_host.to_owned()));
            }
        } else if let Some(secret) = &deployed.pull_secret {
            self.check_pull_secret(place, space, secret, obstacles)
                .await?;
        }
        Ok(())
    }

    /// The operator's objects in the order to apply them, after what its pods pull with.
    async fn objects(
        &self,
        operator: Option<&Operator>,
        target: &Target,
        (place, deployed, site): (&NamespaceRecord, &Deployed, &HeldSite),
    ) -> Result<Vec<Object>, Error> {
        let Asked { accepted, id, .. } = self.asked;
        let choices = site.choices(id.name(), OPERATOR);
        let mut objects = Vec::new();
        if let PullLogin::Made(made) = &target.pull_login {
            objects.push(login::secret(id.name(), place, made));
        }
        let pull_secret = deployed.pull_secret.as_ref().map(KubernetesName::as_str);
        let live = DefaultAccount::read(self.cluster, &place.namespace).await?;
        let account = live.clone().deployed(id.name(), pull_secret, place);
        if account != live {
            objects.push(account.object(&place.namespace));
        }
        let Some(operator) = operator else {
            let objects = objects.into_iter().map(Object::new);
            return Ok(objects.collect::<Result<_, _>>()?);
        };
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
        let objects = objects.into_iter().map(Object::new);
        Ok(objects.collect::<Result<_, _>>()?)
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
    fn namespace(&self, target: &Target, obstacles: &mut Vec<Obstacle>) -> Option<Namespace> {
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
        target: &Target,
        namespace: &Namespace,
        space: Option<&Object>,
        obstacles: &mut Vec<Obstacle>,
    ) -> NamespaceRecord {
        let environment = &target.environment;
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
    fn pull_secret(
        &self,
        target: &Target,
        site: &HeldSite,
        standing: Option<&Deployed>,
    ) -> Option<KubernetesName> {
        let running = || standing.and_then(|standing| standing.pull_secret.clone());
        match &target.pull_login {
            PullLogin::Keep => site.pull_secret().cloned().or_else(running),
            PullLogin::None => None,
            PullLogin::Secret(name) => Some(name.clone()),
            PullLogin::Made(_) => Some(login::secret_name(self.asked.id.name())),
        }
    }

    /// A pull secret is the site's: it must be there, or no pod will start.
    async fn check_pull_secret(
        &self,
        place: &NamespaceRecord,
        space: Option<&Object>,
        secret: &KubernetesName,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
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
    let uid = |object: &Object| Some((object.reference().clone(), object.uid()?.to_owned()));
    let uids: BTreeMap<ObjectRef, String> = change.stale.iter().filter_map(uid).collect();
    let gone = change.before.beyond(&change.inventory);
    let gone = Inventory {
        entries: gone
            .filter(|it| uids.contains_key(&it.reference()))
            .cloned()
            .collect(),
        ..Inventory::default()
    };
    Withdrawal::of(cluster, solution, gone.seen(&uids), |_, _| true).await
}

/// The image of a Deployment's pods.
pub(crate) fn image_of(deployment: &Object) -> Option<&str> {
    let image = "/spec/template/spec/containers/0/image";
    deployment.as_value().pointer(image)?.as_str()
}

/// What pods of charts log in to the registry with, by where that Secret lies: the environment's, or a copy of it.
fn logins(
    (solution, namespace): (&SolutionName, &Namespace),
    deployed: &Deployed,
    change: &Plan,
) -> BTreeMap<Namespace, KubernetesName> {
    let Some(secret) = &deployed.pull_secret else {
        return BTreeMap::new();
    };
    let copy = login::secret_name(solution);
    let copies = change.objects();
    let copies = copies.filter(|it| it.gvk().kind == "Secret" && it.name() == copy.as_str());
    let spaces = copies.filter_map(|it| it.namespace()?.parse().ok());
    let copies = spaces.map(|space| (space, copy.clone()));
    copies
        .chain([(namespace.clone(), secret.clone())])
        .collect()
}

/// The images of the pods of an object.
fn images_run_by(object: &Object) -> Vec<String> {
    let pods = pod_specs(object.as_value()).into_iter();
    let pods = pods.filter_map(|pod| object.as_value().pointer(&pod));
    pods.flat_map(images_of).map(str::to_owned).collect()
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
    use crate::model::namespace_record::tests::namespace_record;
    use crate::model::record::tests::record;

    #[test]
    fn an_operator_of_the_whole_cluster_is_the_only_one() {
        let solution: SolutionName = "shop".parse().unwrap();
        let deployed = |version: &str| Deployed {
            version: version.parse().unwrap(),
            pull_secret: None,
            parameters: [].into(),
            sensitive: [].into(),
            secret: None,
            labels: [].into(),
            releases: Vec::new(),
            accepted: None,
        };
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
