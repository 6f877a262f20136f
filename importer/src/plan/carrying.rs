//! What a deployment carries as it is: which sets are installed, what their objects come to here, and whose the objects
//! are that are there already.

use std::collections::{BTreeMap, BTreeSet};

use deployer::{Cluster, Gvk, Object, ObjectIdentity, ObjectRef, is_scaled};
use manifests::{Address, Expansion, Kinds};
use schemas::{
    ApiName, Condition, ImagePlace, KubernetesName, Namespace, ObjectSet, OwnNamespace, Patch,
    Phase, ReleaseName, SetName, SolutionName, Strategy, Version,
};
use serde_json::{Value, json};
use validator::{CarriedChart, CarriedSet};

use crate::model::authority::Authority;
use crate::model::cleanup::{Cleanup, Step};
use crate::model::error::Error;
use crate::model::image_place::image_place;
use crate::model::inventory::{Entry, Inventory};
use crate::model::labelled::Place;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::obstacle::{Above, Obstacle, Unfit, named};
use crate::model::own;
use crate::model::owner::{Evidence, Recorded, check_carried, look, look_all};
use crate::model::parameters::{ParameterValues, SecretNumber};
use crate::model::record::{Record, RecordedImage};
use crate::model::release::namespace_of;
use crate::model::request::{Asked, Login, Recreate};
use crate::model::space::Labels;
use crate::model::stage::Stage;
use crate::model::state::ClusterState;
use crate::model::vocabulary as v;
use crate::plan::carried::{
    Carried, PullSecret, Rendering, kinds, namespaces, order, parts, record,
};
use crate::plan::crd::{self, Judged, Users};
use crate::plan::deployment::is_default_account;
use crate::plan::login;
use crate::plan::losses;
use crate::plan::parameters::{self, Parameters, number_of};
use crate::plan::patches::{Patched, Patches};
use crate::plan::place::{check_neighbours, check_reserved};
use crate::plan::withdrawal::Withdrawal;

/// What a deployment carries.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// In the order to apply them.
    pub(crate) objects: Vec<Carried>,
    /// The labels that it gives the environment's namespace.
    pub(crate) labels: Labels,
    /// What is applied before it is removed.
    pub(crate) cleanup: Cleanup,
    /// Whether the site keeps another one.
    pub(crate) changes_cleanup: bool,
    /// What the site will record of it.
    pub(crate) record: Inventory,
    /// What it has recorded before.
    pub(crate) before: Inventory,
    /// What is there already of what was carried before or is to be.
    pub(crate) live: Vec<Object>,
    /// The uids of those of the objects that are there.
    pub(crate) uids: BTreeMap<ObjectRef, String>,
    /// Jobs that were made of something else before, and are made anew.
    pub(crate) replaced: Vec<Object>,
    /// Those of the objects whose number of pods somebody else has set, with that number.
    pub(crate) scaled: BTreeMap<ObjectRef, Object>,
    /// What the site changed about them.
    pub(crate) patched: Vec<Patched>,
    /// What stays as it is: it was installed once, and is left alone.
    pub(crate) kept: Vec<Entry>,
    /// What has the name of something that goes, and is not what was applied.
    pub(crate) left: Vec<ObjectRef>,
    /// Definitions that stay as newer versions wrote them.
    pub(crate) newer: Vec<(ObjectRef, Version)>,
}

impl Planned {
    /// Records which objects those are that are there and stay what they are.
    pub(crate) fn know(&mut self, uids: &BTreeMap<ObjectRef, String>) {
        let mut standing = uids.clone();
        for replaced in &self.replaced {
            standing.remove(replaced.reference());
        }
        self.record = self.record.seen(&standing);
    }

    /// What goes of what was carried before, among these objects as they were seen.
    pub(crate) async fn going(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
        stale: &[Object],
    ) -> Result<Withdrawal, Error> {
        let uid = |object: &Object| Some((object.reference().clone(), object.uid()?.to_owned()));
        let uids: BTreeMap<ObjectRef, String> = stale.iter().filter_map(uid).collect();
        let gone = self.before.beyond(&self.record).cloned();
        let gone = Inventory {
            entries: gone
                .filter(|it| uids.contains_key(&it.reference()))
                .collect(),
            ..Inventory::default()
        };
        Withdrawal::of(cluster, solution, gone.seen(&uids), |_, _| true).await
    }
}

/// Everything that it is planned from.
#[derive(Debug)]
pub(crate) struct Carrying<'a> {
    pub(crate) asked: &'a Asked<'a>,
    pub(crate) cluster: &'a Cluster,
    pub(crate) state: &'a ClusterState,
    pub(crate) place: &'a NamespaceRecord,
    pub(crate) pull_secret: Option<&'a KubernetesName>,
    pub(crate) parameters: &'a Parameters,
    /// What the site's files change, each patch with how messages call it.
    pub(crate) patches: &'a [(String, Patch)],
    /// The login that the Secret is made of, if it is made.
    pub(crate) made: Option<&'a Login>,
    /// The further namespaces in which charts have pods, as they were rendered.
    pub(crate) pods_of_charts: PodsElsewhere,
}

/// Namespaces in which releases have pods, and which neither they nor sets bring.
pub(crate) type PodsElsewhere = BTreeMap<ReleaseName, BTreeSet<Namespace>>;

impl Carrying<'_> {
    /// Returns what the deployment has, beginning with these objects of its operator, and what is in its way.
    pub(crate) async fn plan(
        &self,
        operator: &[Carried],
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Planned, Error> {
        let mut before = self.before().await?;
        let parameters = self.parameters.values();
        // Without a value nothing can be expanded, and that it is missing is in the way already.
        let mut planned = if self.may_carry(obstacles) && self.has_all(&parameters) {
            self.of_sets(before, parameters, obstacles).await?
        } else {
            before.entries.retain(|it| it.part.is_none());
            Planned {
                before,
                ..Planned::default()
            }
        };
        let own = record(operator, &Kinds::default()).entries;
        planned.record.entries.splice(0..0, own);
        planned.objects.splice(0..0, operator.iter().cloned());
        // The default account comes some time after its namespace; that changes nothing of a plan.
        let mut objects = planned.objects.iter();
        let account = objects.position(|it| is_default_account(it.object.reference()));
        let account = account.map(|at| (at, planned.objects.remove(at)));
        let mut planned = self.compare(planned, obstacles).await?;
        if let Some((at, account)) = account {
            planned.objects.insert(at, account);
        }
        Ok(planned)
    }

    /// Returns what the site has recorded before.
    async fn before(&self) -> Result<Inventory, Error> {
        let (solution, space) = (self.asked.id.name(), self.place);
        let place = Place {
            cluster: self.cluster,
            authority: &self.asked.request.authority,
            solution,
            namespace: &space.namespace,
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

    /// Whether the administrator of the namespace has deployed the Solution there, by their record: then its place is taken.
    async fn is_deployed_alone(&self) -> Result<bool, Error> {
        let record = own::reference(&self.place.namespace, self.asked.id.name());
        Ok(self.place.uid.is_some() && look(self.cluster, &record).await?.is_some())
    }

    /// Whether sets may be carried; that only the administrator of the cluster brings them is in the way.
    fn may_carry(&self, obstacles: &mut Vec<Obstacle>) -> bool {
        if let Authority::Cluster = self.asked.request.authority {
            return true;
        }
        if !self.asked.accepted.sets().is_empty() {
            obstacles.push(Above::Carries(self.asked.id.clone()).into());
        }
        false
    }

    /// Returns what the sets come to here, with what charts have in namespaces of their own.
    async fn of_sets(
        &self,
        before: Inventory,
        parameters: ParameterValues,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Planned, Error> {
        let sets = self.asked.accepted.sets();
        let spaces = self.spaces_of_charts(&before).await?;
        let Fates {
            mut installed,
            last,
            mut standing,
            kept,
        } = self.fates(&before, &parameters).await?;
        installed.extend(spaces.iter().map(|it| &it.set));
        let operator = self.asked.accepted.manifest().spec.operator.as_ref();
        let order = order(operator, &parts(self.asked.accepted));
        installed.sort_by_key(|it| order.iter().position(|name| *name == it.set.name.as_str()));
        let all = [&installed[..], &last, &standing].concat();
        Self::check_namespaces(&all, &spaces, obstacles);
        let login = if all.is_empty() {
            None
        } else {
            self.login().await?
        };
        let mut rendering = self.rendering(&all, parameters, login)?;
        let mut patches = Patches::new(self.patches);
        rendering.sets = &installed;
        let mut objects = rendering.objects(&mut patches)?;
        let is_there = |it: &Carried| {
            let part = it.part.as_ref();
            part.is_some_and(|part| is_there(&spaces, part, it.object.name()))
        };
        objects.retain(|it| it.stage != Stage::Space || !is_there(it));
        standing.extend(&installed);
        let labels = rendering.space_labels(&standing, &mut patches)?;
        rendering.sets = &last;
        rendering.sensitive = None;
        let mut cleanup = rendering.objects(&mut patches)?;
        // A namespace that is there already, for example.
        let standing: BTreeSet<_> = objects.iter().map(identity).collect();
        cleanup.retain(|it| !standing.contains(&identity(it)));
        let (changed, unfit) = patches.end(sets);
        obstacles.extend(unfit.into_iter().map(Obstacle::from));
        let placed = objects.iter().chain(&cleanup).map(|it| &it.object);
        self.check_places(placed, obstacles);
        let cleanup = cleanup_of(cleanup, &rendering.kinds);
        let mut record = record(&objects, &rendering.kinds);
        record.cleanup = last.iter().map(|it| it.set.name.clone()).collect();
        record.keep(&kept);
        Ok(Planned {
            objects,
            labels,
            changes_cleanup: self.changes(&cleanup, &before).await?,
            cleanup,
            record,
            before,
            patched: changed,
            kept,
            ..Planned::default()
        })
    }

    /// What charts have in other namespaces before they are installed: a namespace of their own, and the login of their pods.
    async fn spaces_of_charts(&self, before: &Inventory) -> Result<Vec<ChartSpace>, Error> {
        let sets = self.asked.accepted.sets().iter();
        let of_sets = sets.flat_map(|it| &it.set.namespaces);
        let of_sets: BTreeSet<&Namespace> = of_sets.map(|own| &own.name).collect();
        let mut spaces = Vec::new();
        for CarriedChart { release, .. } in self.asked.accepted.charts() {
            let pods = self.pods_of_charts.get(&release.name);
            let mut there = pods.cloned().unwrap_or_default();
            let mut namespaces = there.clone();
            let namespace = namespace_of(release, &self.place.namespace);
            if *namespace != self.place.namespace && !of_sets.contains(namespace) {
                namespaces.insert(namespace.clone());
                let reference = ObjectRef::cluster_scoped("v1", "Namespace", namespace.as_str());
                if before.find(&reference).is_none()
                    && look(self.cluster, &reference).await?.is_some()
                {
                    there.insert(namespace.clone());
                }
            }
            if namespaces.is_empty() {
                continue;
            }
            let fixed = |name| OwnNamespace { name, fixed: true };
            let name = release.name.as_str().parse();
            let name = name.expect("the name of a release is a DNS label, as that of a set");
            spaces.push(ChartSpace {
                set: CarriedSet {
                    set: ObjectSet {
                        name,
                        namespaces: namespaces.into_iter().map(fixed).collect(),
                        needs: release.needs.clone(),
                        strategy: Strategy::Managed,
                        when: None,
                        phase: Phase::default(),
                    },
                    objects: Vec::new(),
                },
                there,
            });
        }
        Ok(spaces)
    }

    /// Whether what the site keeps to be applied before a removal is not this.
    async fn changes(&self, cleanup: &Cleanup, before: &Inventory) -> Result<bool, Error> {
        if cleanup.steps.is_empty() || before.cleanup.is_empty() {
            return Ok(cleanup.steps.is_empty() != before.cleanup.is_empty());
        }
        let (solution, namespace) = (self.asked.id.name(), &self.place.namespace);
        match Cleanup::look(self.cluster, solution, namespace).await {
            // One that cannot be read is written anew.
            Err(Error::Record { .. }) => Ok(true),
            kept => Ok(kept?.as_ref() != Some(cleanup)),
        }
    }

    /// Whether every parameter of the version has a value.
    fn has_all(&self, parameters: &ParameterValues) -> bool {
        let mut declared = self.asked.accepted.manifest().spec.parameters.keys();
        declared.all(|name| parameters.contains_key(name))
    }

    /// What becomes of the sets.
    async fn fates(
        &self,
        before: &Inventory,
        parameters: &ParameterValues,
    ) -> Result<Fates<'_>, Error> {
        let mut fates = Fates::default();
        for carried in self.asked.accepted.sets() {
            match self.fate(carried, before, parameters).await? {
                Fate::Installed => fates.installed.push(carried),
                Fate::Last => fates.last.push(carried),
                Fate::Kept(objects) => {
                    fates.kept.extend(objects);
                    fates.standing.push(carried);
                }
                Fate::LeftOut => {}
            }
        }
        Ok(fates)
    }

    /// What becomes of a set.
    async fn fate(
        &self,
        carried: &CarriedSet,
        before: &Inventory,
        parameters: &ParameterValues,
    ) -> Result<Fate, Error> {
        let set = &carried.set;
        let wanted = match &set.when {
            None => true,
            Some(Condition::Parameter(name)) => parameters.get(name) == Some(&json!(true)),
            Some(Condition::Api(api)) => self.is_served(api).await?,
        };
        if !wanted {
            return Ok(Fate::LeftOut);
        }
        if set.phase == Phase::Remove {
            return Ok(Fate::Last);
        }
        // What a Secret of parameters is there for is not the set alone.
        let standing = before.entries.iter().filter(|it| {
            it.part.as_ref() == Some(&set.name) && self.secret_number(&it.reference()).is_none()
        });
        let standing: Vec<Entry> = standing.cloned().collect();
        let is_there = !standing.is_empty() && standing.iter().all(Entry::was_applied);
        Ok(match set.strategy {
            Strategy::BootstrapOnly if is_there => Fate::Kept(standing),
            Strategy::BootstrapOnly | Strategy::Managed => Fate::Installed,
        })
    }

    async fn is_served(&self, api: &ApiName) -> Result<bool, Error> {
        let (api_version, kind) = api.parts();
        Ok(match kind {
            Some(kind) => self.cluster.serves(&Gvk::new(api_version, kind)).await?,
            None => self.cluster.serves_version(api_version).await?,
        })
    }

    /// Namespaces that have their name at every site are not Kubernetes' own.
    fn check_namespaces(
        sets: &[&CarriedSet],
        spaces: &[ChartSpace],
        obstacles: &mut Vec<Obstacle>,
    ) {
        for CarriedSet { set, .. } in sets {
            let made = set.namespaces.iter().filter(|own| own.fixed);
            let made = made.filter(|own| !is_there(spaces, &set.name, own.name.as_str()));
            obstacles.extend(made.filter_map(|own| check_reserved(&own.name).err()));
        }
    }

    /// Nothing lies in a namespace of another environment.
    fn check_places<'o>(
        &self,
        placed: impl Iterator<Item = &'o Object>,
        obstacles: &mut Vec<Obstacle>,
    ) {
        let environment = &self.place.environment;
        obstacles.extend(check_neighbours(self.state, environment, placed));
    }

    fn rendering<'s>(
        &'s self,
        sets: &'s [&'s CarriedSet],
        parameters: ParameterValues,
        login: Option<PullSecret>,
    ) -> Result<Rendering<'s>, Error> {
        let Asked { accepted, id, .. } = self.asked;
        Ok(Rendering {
            solution: id.name(),
            environment: &self.place.environment,
            namespace: &self.place.namespace,
            sets,
            kinds: kinds(accepted),
            expansion: Expansion {
                images: addresses(&self.asked.record)?,
                namespaces: namespaces(sets, &self.place.namespace),
                name: id.name().to_string(),
                version: id.version().to_string(),
                environment: self.place.environment.to_string(),
                parameters,
            },
            login,
            sensitive: self.sensitive(),
        })
    }

    /// The Secret of the sensitive parameters, if there are values for it.
    fn sensitive(&self) -> Option<Value> {
        let (values, solution) = (&self.parameters.secret, self.asked.id.name());
        let number = self.parameters.number.filter(|_| !values.is_empty())?;
        let namespace = &self.place.namespace;
        Some(parameters::secret((solution, number), namespace, values))
    }

    /// What nodes log in with: what is made, else what the environment's namespace has.
    async fn login(&self) -> Result<Option<PullSecret>, Error> {
        let Some(name) = self.pull_secret else {
            return Ok(None);
        };
        let solution = self.asked.id.name();
        let content = if let Some(made) = self.made {
            Some(login::secret(solution, self.place, made))
        } else {
            let secret = login::reference(&self.place.namespace, name);
            let live = look(self.cluster, &secret).await?;
            live.map(Object::into_value)
        };
        Ok(Some(PullSecret {
            name: name.to_string(),
            content,
            copy: login::secret_name(solution).to_string(),
        }))
    }

    /// Looks at everything that is there, and finds out whose it is.
    async fn compare(
        &self,
        mut planned: Planned,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Planned, Error> {
        let wanted = planned.objects.iter().map(|it| it.object.reference());
        let wanted: Vec<&ObjectRef> = wanted.collect();
        let found = look_all(self.cluster, &wanted).await?;
        let unmade = unmade(&self.asked.request.recreate, &wanted);
        obstacles.extend(unmade.map(|it| Unfit::NotRecreated(it.clone()).into()));
        let mut elsewhere = BTreeMap::<_, Vec<String>>::new();
        for (mut carried, live) in std::mem::take(&mut planned.objects).into_iter().zip(found) {
            match Runs::of(&carried.object, live.as_ref(), &planned.before) {
                Runs::Done => continue,
                Runs::Anew => planned.replaced.extend(live.clone()),
                Runs::AsItIs if self.is_recreated(&carried.object) => {
                    planned.replaced.extend(live.clone());
                }
                Runs::AsItIs => {
                    let other = live
                        .iter()
                        .filter(|live| self.is_other_secret(live, &planned.before));
                    planned.replaced.extend(other.cloned());
                }
            }
            carried.object = marked(&carried.object, live.as_ref())?;
            let kept = scaled(&carried.object, live.as_ref())?;
            // How many pods an operator has is the archive's to say.
            if carried.part.is_some() && kept != carried.object {
                planned.scaled.insert(kept.reference().clone(), kept);
            }
            match self.check(&carried.object, live.as_ref(), &planned) {
                Ok(()) => {}
                Err(Obstacle::Unfit(Unfit::OwnedElsewhere(_, environment, object))) => {
                    elsewhere.entry(environment).or_default().push(object);
                }
                Err(obstacle) => obstacles.push(obstacle),
            }
            let newer = match &live {
                Some(live) if carried.stage == Stage::Definition => {
                    self.judge(&carried.object, live, obstacles).await?
                }
                _ => None,
            };
            if let Some(live) = live {
                let uid = live.uid().unwrap_or_default().to_owned();
                planned.uids.insert(carried.object.reference().clone(), uid);
                planned.live.push(live);
            }
            if let Some(newer) = newer {
                let reference = carried.object.reference();
                planned.kept.extend(planned.record.find(reference).cloned());
                planned.newer.push((reference.clone(), newer));
            } else {
                planned.objects.push(carried);
            }
        }
        for (environment, objects) in elsewhere {
            let solution = self.asked.id.name().clone();
            obstacles.push(Unfit::OwnedElsewhere(solution, environment, named(objects)).into());
        }
        self.look_at_gone(&mut planned).await?;
        Ok(planned)
    }

    /// Looks at what is carried no more: what of it stays, what goes, and what has the name of what goes.
    async fn look_at_gone(&self, planned: &mut Planned) -> Result<(), Error> {
        let gone = planned.before.beyond(&planned.record);
        let stays = |old: &Entry| {
            let secret = self.secret_number(&old.reference());
            let is_kept = secret.is_some_and(|it| self.parameters.keeps(it));
            let is_kept = is_kept && old.was_applied();
            old.keeps_data() || old.stage == Stage::Definition || is_kept
        };
        let gone = gone.filter(|old| !self.becomes_the_clusters(old));
        let (stay, gone): (Vec<_>, Vec<_>) = gone.cloned().partition(stays);
        planned.record.entries.extend(stay);
        let references: Vec<ObjectRef> = gone.iter().map(Entry::reference).collect();
        let references: Vec<&ObjectRef> = references.iter().collect();
        let found = look_all(self.cluster, &references).await?;
        for (recorded, live) in gone.iter().zip(found) {
            let Some(live) = live.filter(|live| !live.is_being_deleted()) else {
                continue;
            };
            match recorded.check(&live, self.asked.id.name()) {
                Ok(()) => planned.live.push(live),
                Err(_) => planned.left.push(live.reference().clone()),
            }
        }
        Ok(())
    }

    /// Judges whether a definition takes the place of the one that is there. Returns the newer version that wrote that one, if
    /// it stays.
    async fn judge(
        &self,
        definition: &Object,
        live: &Object,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Option<Version>, Error> {
        let (version, wanted) = (self.asked.id.version(), definition.as_value());
        let written = crd::defined_by(live);
        match crd::judge(version, wanted, live, written, Users::Here) {
            Ok(Judged::Kept(newer)) => return Ok(Some(newer)),
            Ok(Judged::Replaced) => {
                let lost = losses::replaced(self.cluster, live, wanted, version);
                obstacles.extend(lost.await?);
            }
            Err(obstacle) => obstacles.push(obstacle),
        }
        Ok(None)
    }

    /// Whether a definition belonged to the environment before, and is the whole cluster's in this version.
    fn becomes_the_clusters(&self, old: &Entry) -> bool {
        let mut crds = self.asked.accepted.crds().iter();
        old.stage == Stage::Definition
            && crds.any(|crd| crd.document["metadata"]["name"] == old.name)
    }

    /// Whether an object has the name of a Secret of parameters, and somebody else has made it.
    fn is_other_secret(&self, live: &Object, before: &Inventory) -> bool {
        let applied = before.find(live.reference());
        let applied = applied.and_then(|applied| applied.uid.as_deref());
        self.secret_number(live.reference()).is_some() && live.uid() != applied
    }

    fn secret_number(&self, object: &ObjectRef) -> Option<SecretNumber> {
        number_of(object, self.asked.id.name(), &self.place.namespace)
    }

    /// Whether somebody asks for an object to be made anew.
    fn is_recreated(&self, object: &Object) -> bool {
        let asked = self.asked.request.recreate.iter();
        let mut asked = asked.filter(|it| it.kind == object.gvk().kind);
        asked.any(|it| it.name == object.name())
    }

    fn check(
        &self,
        object: &Object,
        live: Option<&Object>,
        planned: &Planned,
    ) -> Result<(), Obstacle> {
        let is_sensitive = self.secret_number(object.reference()).is_some();
        let recorded = if is_sensitive || planned.record.find(object.reference()).is_none() {
            // Somebody else's Secret of parameters is removed, and nothing of it is believed; and a login is known by its
            // name.
            Recorded::Some
        } else {
            Recorded::of(planned.before.find(object.reference()))
        };
        let evidence = Evidence {
            adopt: self.asked.request.allowed.adopt.objects,
            state: Some(self.state),
            recorded,
        };
        check_carried(object, live, self.asked.id.name(), evidence)
    }
}

/// Where nodes pull the images of carried objects from. There is no version in it, so that an upgrade restarts only pods
/// whose image is another one.
pub(crate) fn addresses(record: &Record) -> Result<BTreeMap<ImagePlace, Address>, Error> {
    let registry = record.pull_registry()?;
    let address = |image: &RecordedImage| {
        let RecordedImage { image, digest, .. } = image;
        let of = (&record.name, &record.version);
        let (repository, _) = image_place(&registry, of, (image, *digest))?;
        let address = Address {
            registry: registry.host().to_owned(),
            path: repository.to_string(),
            tag: image.tag.to_string(),
            digest: *digest,
        };
        Ok((image.clone(), address))
    };
    record.images.iter().map(address).collect()
}

/// An object, and of a namespace that is made here, and so goes with the deployment, the mark that says so.
pub(crate) fn marked(object: &Object, live: Option<&Object>) -> Result<Object, Error> {
    let is_made = live.is_none_or(|live| live.annotations().contains_key(v::CREATED));
    let mut value = object.clone().into_value();
    if object.gvk().kind == "Namespace" && is_made {
        value["metadata"]["annotations"][v::CREATED] = json!("true");
    }
    Ok(Object::new(value)?)
}

/// What a release has in a namespace of its own besides what Helm brings.
struct ChartSpace {
    /// By the release's name.
    set: CarriedSet,
    /// Those of the namespaces that are there already, and not made by this deployment: they stay as they are.
    there: BTreeSet<Namespace>,
}

/// Whether a set stands for a chart, and this namespace of it is there already.
fn is_there(spaces: &[ChartSpace], set: &SetName, namespace: &str) -> bool {
    let mut spaces = spaces.iter().filter(|it| it.set.set.name == *set);
    spaces.any(|it| it.there.iter().any(|own| own.as_str() == namespace))
}

fn identity(carried: &Carried) -> ObjectIdentity<'_> {
    carried.object.reference().identity()
}

/// What is to be made anew, and is none of these objects.
fn unmade<'a>(
    recreate: &'a BTreeSet<Recreate>,
    wanted: &[&ObjectRef],
) -> impl Iterator<Item = &'a Recreate> {
    recreate.iter().filter(|it| {
        let mut wanted = wanted.iter();
        !wanted.any(|object| object.gvk.kind == it.kind && object.name == it.name)
    })
}

/// What is kept of what is applied before a removal.
fn cleanup_of(carried: Vec<Carried>, kinds: &Kinds) -> Cleanup {
    let recorded = record(&carried, kinds).entries.into_iter();
    let steps = recorded.zip(carried);
    Cleanup {
        steps: steps
            .map(|(recorded, carried)| Step::new(recorded, carried.object))
            .collect(),
    }
}

/// An object with the number of pods that it has, if somebody else has set it: an autoscaler, or a person. They may do so
/// at any time, and so it is looked at once more when the object is written, and decides nothing of a plan.
pub(crate) fn scaled(object: &Object, live: Option<&Object>) -> Result<Object, Error> {
    let Some(live) = live.filter(|live| is_scaled(live.as_value(), v::FIELD_MANAGER)) else {
        return Ok(object.clone());
    };
    let mut value = object.clone().into_value();
    if let Some(replicas) = value.pointer_mut("/spec/replicas") {
        *replicas = live.as_value()["spec"]["replicas"].clone();
    }
    Ok(Object::new(value)?)
}

/// Whether an object that runs once has to run.
enum Runs {
    /// It was made of the same, and may have been removed since.
    Done,
    /// One that was made of something else is in its place.
    Anew,
    /// It is applied like any other.
    AsItIs,
}

impl Runs {
    fn of(object: &Object, live: Option<&Object>, before: &Inventory) -> Self {
        let of = object.annotations();
        let Some(inputs) = of.get(v::INPUTS) else {
            return Self::AsItIs;
        };
        match live {
            Some(live) if live.annotations().get(v::INPUTS) == Some(inputs) => Self::AsItIs,
            Some(_) => Self::Anew,
            None => {
                let recorded = before.find(object.reference());
                match recorded.and_then(|recorded| recorded.inputs.as_deref()) {
                    Some(made) if made == *inputs => Self::Done,
                    _ => Self::AsItIs,
                }
            }
        }
    }
}

/// What becomes of all sets.
#[derive(Default)]
struct Fates<'a> {
    installed: Vec<&'a CarriedSet>,
    /// Those that are applied before the Solution is removed.
    last: Vec<&'a CarriedSet>,
    /// Those that are left alone.
    standing: Vec<&'a CarriedSet>,
    /// The objects of these.
    kept: Vec<Entry>,
}

/// What becomes of a set in an environment.
enum Fate {
    Installed,
    /// It was installed before, and is left alone.
    Kept(Vec<Entry>),
    /// It is applied before the Solution is removed.
    Last,
    /// It is not for this environment.
    LeftOut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_set_brings_is_not_made_anew_without_a_word() {
        let job = ObjectRef::namespaced("batch/v1", "Job", "prod", "setup");
        let asked = ["Job/setup", "StatefulSet/db"].map(|it| it.parse().unwrap());
        let asked: BTreeSet<Recreate> = asked.into();
        let unmade: Vec<String> = unmade(&asked, &[&job]).map(ToString::to_string).collect();
        assert_eq!(unmade, ["StatefulSet/db"]);
    }

    fn deployment(replicas: u8, manager: &str) -> Object {
        let fields = json!({ "f:spec": { "f:replicas": {} } });
        Object::new(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "prod",
                "managedFields": [{ "manager": manager, "fieldsV1": fields }],
            },
            "spec": { "replicas": replicas },
        }))
        .unwrap()
    }

    #[test]
    fn the_number_of_pods_is_left_to_whoever_else_set_it() {
        for (manager, replicas) in [("kube-controller-manager", 5), (v::FIELD_MANAGER, 2)] {
            let (wanted, live) = (deployment(2, v::FIELD_MANAGER), deployment(5, manager));
            let kept = scaled(&wanted, Some(&live)).unwrap();
            assert_eq!(kept.as_value()["spec"]["replicas"], replicas, "{manager}");
        }
    }
}
