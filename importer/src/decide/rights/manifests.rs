//! The rights of each verb as roles and bindings that an administrator can apply: [`WantedRights::manifests`]. No
//! cluster is read.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Access, Object, ObjectRef};
use planner::{DesiredObject, Entry, Stage};
use schemas::{KubernetesName, Namespace, OperatorConfig, Phase, Prerequisites, SetName};
use serde_json::Value;
use validator::AcceptedArchive;

use crate::choices::destination::default_namespace;
use crate::decide::rights::impersonation::{self, Impersonated};
use crate::decide::rights::rendered::{RenderedRelease, widened};
use crate::decide::rights::roles::{BindingSubject, Manifest, PlacedRules};
use crate::decide::rights::verbs::{ANY, RightsScope, RightsVerb};
use crate::model::blocker::{AdministratorTask, Blocker};
use crate::model::error::Error;
use crate::model::request::{Goal, Target};
use crate::objects::metrics::{Collector, OperatorMetrics};
use crate::objects::needs::Needs;
use crate::objects::operator::OperatorInputs;
use crate::objects::template::Addresses;
use crate::objects::{pull_secret, sets};
use crate::records::inventory;
use crate::records::{cleanup, namespace_record, record, site};

/// The prefix of the names of all roles and bindings.
pub(super) const PREFIX: &str = "solution-user";
/// The subject that gets rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A user.
    User(String),
    /// All members of a group.
    Group(String),
    /// A `ServiceAccount`, by namespace and name.
    ServiceAccount(Namespace, KubernetesName),
}

/// The wanted rights and their subjects.
#[derive(Debug)]
pub struct WantedRights<'a> {
    /// The verbs that the roles allow.
    pub verbs: BTreeSet<RightsVerb>,
    /// The version that the verbs are used with. Without one, the roles only contain the rights that every Solution
    /// needs.
    pub archive: Option<&'a AcceptedArchive>,
    /// The scope in which the verbs may be used.
    pub within: RightsScope,
    /// The subjects that are bound to the roles.
    pub subjects: Vec<Subject>,
    /// The account that acts on behalf of the subjects, if there is one.
    pub impersonator: Option<(Namespace, KubernetesName)>,
    /// The releases of its charts, as far as they could be rendered.
    pub charts: Vec<RenderedRelease>,
}

impl<'a> WantedRights<'a> {
    /// Returns the rights to import, activate or deploy an archive.
    pub(crate) fn for_import(archive: &'a AcceptedArchive, goal: &Goal) -> Self {
        let place = |target: &Target| {
            let environment = target.environment.clone();
            let usual = || default_namespace(&environment);
            let namespace = target.namespace.clone().unwrap_or_else(usual);
            RightsScope::Environment(environment, namespace)
        };
        let (verb, within) = match goal {
            Goal::Available => (RightsVerb::Import, RightsScope::Anywhere),
            Goal::Activated => (RightsVerb::Activate, RightsScope::Anywhere),
            Goal::Deployed(target) => (RightsVerb::Deploy, place(target)),
        };
        Self {
            verbs: BTreeSet::from([verb]),
            archive: Some(archive),
            within,
            subjects: Vec::new(),
            impersonator: None,
            charts: Vec::new(),
        }
    }

    /// Returns the namespace of the records, roles with exactly these rights, and the bindings of the subjects.
    pub fn manifests(&self) -> Result<Vec<Manifest>, Error> {
        self.check_carried()?;
        let objects = self.objects()?;
        let mut rules = PlacedRules::default();
        let mut needs = self.required(&objects)?;
        if self.verbs.contains(&RightsVerb::Deploy) {
            needs.login(self.login().as_ref());
            needs.diagnosis();
            needs.trial();
            if let Some(needed) = self.prerequisites() {
                needs.others(needed);
            }
            let in_place = self.within != RightsScope::Anywhere;
            for role in &objects {
                rules.grant(role, in_place)?;
            }
            for carried in self.carried()? {
                let here = carried.object.namespace() == self.namespace();
                rules.grant(&carried.object, in_place && here)?;
                rules.bind(&carried.object);
            }
        }
        if self.verbs.contains(&RightsVerb::Undeploy) && !self.carried()?.is_empty() {
            needs.emptied();
        }
        if self.verbs.contains(&RightsVerb::Site) {
            needs.named_by_site();
        }
        if [RightsVerb::Deploy, RightsVerb::Undeploy]
            .iter()
            .any(|verb| self.verbs.contains(verb))
        {
            needs.events();
        }
        let without = |verb: &RightsVerb| RightsVerb::WITHOUT_RECORDS.contains(verb);
        let has_records = !self.verbs.iter().all(without);
        // Users who only see one environment or namespace see no receipts. Changes in a single namespace have none.
        let has_receipts = match self.within {
            RightsScope::Anywhere => true,
            RightsScope::Environment(..) => self.verbs != BTreeSet::from([RightsVerb::Status]),
            RightsScope::Namespace(_) => false,
        };
        if has_records && has_receipts {
            needs.identity();
        }
        rules.add(needs.wanted());
        self.add_charts(&mut rules)?;
        let mut manifests = if has_records {
            vec![Manifest::records()]
        } else {
            Vec::new()
        };
        let placed = rules.all();
        let impersonated = self.impersonator.as_ref().map(|(namespace, name)| {
            impersonation::roles(
                &self.name(),
                namespace,
                name,
                self.impersonated(),
                placed.clone(),
            )
        });
        for (namespace, rules) in placed {
            manifests.push(Manifest::role(self.name(), namespace.clone(), rules));
            if !self.subjects.is_empty() {
                let subjects = self.subjects.iter().map(Subject::bound).collect();
                manifests.push(Manifest::binding(self.name(), namespace, subjects));
            }
        }
        manifests.extend(impersonated.into_iter().flatten());
        Ok(manifests)
    }

    /// Returns the names of the users and groups.
    fn impersonated(&self) -> Impersonated {
        let mut names = Impersonated::default();
        for subject in &self.subjects {
            match subject {
                Subject::User(name) => names.users.push(name.clone()),
                Subject::Group(name) => names.groups.push(name.clone()),
                Subject::ServiceAccount(..) => {}
            }
        }
        names
    }

    /// Adds the rights for the releases of charts.
    fn add_charts(&self, rules: &mut PlacedRules) -> Result<(), Error> {
        let has = |verb| self.verbs.contains(&verb);
        let mut needs = Needs::default();
        for release in &self.charts {
            if has(RightsVerb::Deploy) || has(RightsVerb::Undeploy) {
                release.changed(&mut needs);
                needs.served();
            }
            if has(RightsVerb::Status) {
                release.seen(&mut needs);
            }
            for object in release.objects().filter(|_| has(RightsVerb::Deploy)) {
                let is_here =
                    object.namespace().is_some() && object.namespace() == self.namespace();
                rules.grant(object, is_here)?;
                rules.bind(object);
            }
        }
        let widened = needs
            .wanted()
            .map(|access| widened(access, self.namespace(), ANY));
        let widened: BTreeSet<Access> = widened.collect();
        rules.add(widened.iter());
        Ok(())
    }

    /// Returns the name of the role. It contains all parameters, so that different grants have different names.
    fn name(&self) -> String {
        let mut parts = vec![PREFIX.to_owned()];
        if self.verbs != BTreeSet::from(RightsVerb::ALL) {
            parts.extend(self.verbs.iter().map(|verb| verb.name().to_owned()));
        }
        let id = self
            .archive
            .map(|archive| &archive.statement().predicate.id);
        parts.extend(id.map(ToString::to_string));
        match &self.within {
            RightsScope::Anywhere => {}
            RightsScope::Environment(environment, namespace) => {
                parts.extend([environment.to_string(), namespace.to_string()]);
            }
            // An empty environment part is unambiguous, since no environment has an empty name.
            RightsScope::Namespace(namespace) => {
                parts.extend([String::new(), namespace.to_string()]);
            }
        }
        parts.join(":")
    }

    /// Returns the objects of a version's operator and sets, with placeholder names for the environment and the
    /// namespace.
    pub(crate) fn objects_of(archive: &AcceptedArchive) -> Result<Vec<Object>, Error> {
        let wanted = WantedRights {
            verbs: BTreeSet::new(),
            archive: Some(archive),
            within: RightsScope::Anywhere,
            subjects: Vec::new(),
            impersonator: None,
            charts: Vec::new(),
        };
        let mut objects = wanted.objects()?;
        objects.extend(
            wanted
                .all_carried()?
                .into_iter()
                .map(|carried| carried.object),
        );
        Ok(objects)
    }

    /// Returns the objects of the version's operator; empty without one.
    pub(crate) fn objects(&self) -> Result<Vec<Object>, Error> {
        let Some(accepted) = self.archive else {
            return Ok(Vec::new());
        };
        let Some(operator) = &accepted.manifest().spec.operator else {
            return Ok(Vec::new());
        };
        let (environment, namespace) = &self.within.place();
        let images = accepted.images().iter();
        let rendering = OperatorInputs {
            id: &accepted.statement().predicate.id,
            operator,
            roles: accepted.roles(),
            environment,
            namespace,
            config: &OperatorConfig::new(BTreeMap::new()),
            // The registry of the images has no effect on rights.
            images: &Addresses::new(ANY, images.map(|image| (&image.place, image.root.digest))),
            pull_secret: None,
            metrics: OperatorMetrics::for_operator(operator, Collector::ServiceMonitor),
        };
        let objects = rendering.objects()?.into_iter().map(Object::new);
        let mut objects: Vec<Object> = objects.collect::<Result<_, _>>()?;
        if let RightsScope::Namespace(_) = self.within {
            let wide = objects.extract_if(.., |object| object.namespace().is_none());
            let wide: Vec<Object> = wide.collect();
            if let (Some(wide), true) = (wide.first(), self.verbs.contains(&RightsVerb::Deploy)) {
                let object = format!("a {} of its operator", wide.gvk().kind);
                return Err(Blocker::from(AdministratorTask::ClusterObject { object }).into());
            }
        }
        Ok(objects)
    }

    /// Refuses rights in a single namespace to deploy a version with objects that only a cluster administrator can
    /// deploy.
    fn check_carried(&self) -> Result<(), Error> {
        let deploys = self.verbs.contains(&RightsVerb::Deploy);
        match (&self.within, self.archive) {
            (RightsScope::Namespace(_), Some(archive))
                if deploys && archive.manifest().spec.carries() =>
            {
                let solution_id = archive.statement().predicate.id.clone();
                Err(Blocker::from(AdministratorTask::CarriesObjects { solution_id }).into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the objects that are applied unchanged. Only a cluster administrator deploys them, so a single namespace
    /// has none.
    fn carried(&self) -> Result<Vec<DesiredObject>, Error> {
        match &self.within {
            RightsScope::Namespace(_) => Ok(Vec::new()),
            RightsScope::Environment(..) | RightsScope::Anywhere => self.all_carried(),
        }
    }

    fn all_carried(&self) -> Result<Vec<DesiredObject>, Error> {
        let (environment, namespace) = self.within.place();
        let carried = |archive| sets::of_any_site(archive, &environment, &namespace);
        self.archive.map_or_else(|| Ok(Vec::new()), carried)
    }

    /// Returns the inventory entries of these objects. Other namespaces than the environment's are dropped: they may
    /// not exist yet, and cannot contain roles then. The environment's is dropped if it may be any.
    fn recorded(&self, carried: &[DesiredObject]) -> Vec<Entry> {
        let mut recorded: Vec<Entry> = carried.iter().filter_map(DesiredObject::entry).collect();
        let here = self.namespace();
        for object in &mut recorded {
            object.namespace = object
                .namespace
                .take()
                .filter(|namespace| Some(namespace.as_str()) == here);
        }
        recorded
    }

    /// Returns the workloads that run permanently. In a single namespace, only its own workloads are returned.
    fn workloads(&self) -> Result<Vec<Entry>, Error> {
        let mut carried = self.all_carried()?;
        if let RightsScope::Namespace(namespace) = &self.within {
            carried.retain(|carried| carried.object.namespace() == Some(namespace.as_str()));
        }
        let removing = self.removing();
        let workloads = self.recorded(&carried).into_iter();
        let stays = |entry: &Entry| {
            !entry
                .part
                .as_ref()
                .is_some_and(|part| removing.contains(&part))
        };
        let workloads = workloads.filter(|entry| entry.is_running() && stays(entry));
        Ok(workloads.collect())
    }

    /// Returns the sets that are applied before the version is removed.
    fn removing(&self) -> Vec<&SetName> {
        let sets = self
            .archive
            .map(AcceptedArchive::sets)
            .unwrap_or_default()
            .iter()
            .filter(|set| set.set.phase == Phase::Remove);
        sets.map(|set| &set.set.name).collect()
    }

    /// Returns the rights without which the verbs fail.
    pub(crate) fn required(&self, objects: &[Object]) -> Result<Needs, Error> {
        let mut needs = self.namespace().map_or_else(Needs::default, Needs::at);
        for verb in &self.verbs {
            self.add(*verb, objects, &mut needs);
        }
        if self.verbs.contains(&RightsVerb::Status) {
            needs.unchanged_workloads(self.workloads()?.iter());
        }
        let recorded = self.recorded(&self.carried()?);
        if !recorded.is_empty() && self.verbs.contains(&RightsVerb::Deploy) {
            needs.carried(recorded.iter());
            needs.served();
            // An upgrade may remove a Service that webhooks call.
            needs.callers();
        }
        if !recorded.is_empty() && self.verbs.contains(&RightsVerb::Undeploy) {
            needs.withdrawn(recorded.iter());
            needs.space();
        }
        if self.verbs.contains(&RightsVerb::Deploy) || self.verbs.contains(&RightsVerb::Undeploy) {
            // CRDs that belong to an environment are removed with it if they have no custom resources left.
            let carried = self.carried()?;
            let definitions = carried
                .iter()
                .filter(|carried| carried.stage == Stage::Definition);
            needs.resources(definitions.map(|carried| carried.object.as_value()));
        }
        self.add_cleanup(&recorded, &mut needs);
        Ok(needs)
    }

    /// Adds the rights to the objects that are applied before the version is removed.
    fn add_cleanup(&self, recorded: &[Entry], needs: &mut Needs) {
        let names = self.removing();
        let is_applied = |entry: &&Entry| {
            entry
                .part
                .as_ref()
                .is_some_and(|part| names.contains(&part))
        };
        let mut applied = recorded.iter().filter(is_applied).peekable();
        if applied.peek().is_none() {
            return;
        }
        if self.verbs.contains(&RightsVerb::Deploy) || self.verbs.contains(&RightsVerb::Undeploy) {
            needs.cleanup(self.kept_cleanup().as_ref());
        }
        if self.verbs.contains(&RightsVerb::Undeploy) {
            needs.carried(applied);
        }
    }

    /// Returns the reference of the record of these objects, if the namespace is known.
    fn kept_cleanup(&self) -> Option<ObjectRef> {
        let solution = self.archive?.statement().predicate.id.name();
        match &self.within {
            RightsScope::Anywhere => None,
            RightsScope::Environment(_, namespace) | RightsScope::Namespace(namespace) => {
                Some(cleanup::reference(solution, namespace))
            }
        }
    }

    /// Returns the only namespace of an environment in which the verbs are used; `None` if it may be any.
    pub(crate) fn namespace(&self) -> Option<&str> {
        match &self.within {
            RightsScope::Anywhere => None,
            RightsScope::Environment(_, namespace) | RightsScope::Namespace(namespace) => {
                Some(namespace.as_str())
            }
        }
    }

    /// Adds the rights that a verb needs.
    fn add(&self, verb: RightsVerb, objects: &[Object], needs: &mut Needs) {
        match verb {
            RightsVerb::Status => return self.add_status(needs),
            RightsVerb::FleetHub => return needs.hub(),
            RightsVerb::FleetInit => return needs.hub_definition(),
            RightsVerb::Console => return needs.registries(),
            _ => {}
        }
        if let RightsScope::Namespace(namespace) = &self.within {
            return self.add_alone(verb, namespace, objects, needs);
        }
        needs.state();
        needs.records();
        match verb {
            RightsVerb::Import | RightsVerb::Site => needs.nodes(),
            RightsVerb::Activate => {
                needs.nodes();
                needs.definitions(self.names());
                needs.resources(self.definitions());
            }
            RightsVerb::Migrate => needs.migration(self.definitions()),
            RightsVerb::Deploy => self.add_deploy(objects, needs),
            RightsVerb::Undeploy => {
                needs.left(self.namespace());
                needs.found();
                needs.monitors();
                needs.taken_back(objects);
                needs.login(self.login().as_ref());
            }
            RightsVerb::Deactivate => {
                needs.no_definitions(self.names());
                needs.resources(self.definitions());
                needs.running();
            }
            RightsVerb::Unimport => {
                needs.forgetting();
                needs.resources(self.definitions());
                needs.running();
            }
            RightsVerb::Environment => {
                needs.space();
                needs.new_namespace();
                needs.no_space();
                needs.released();
                needs.forgetting();
                needs.found();
                needs.monitors();
                needs.taken_back(objects);
                needs.resources_here(self.definitions());
            }
            RightsVerb::Status
            | RightsVerb::FleetHub
            | RightsVerb::FleetInit
            | RightsVerb::Console => {
                unreachable!("it writes no record")
            }
        }
    }

    fn add_deploy(&self, objects: &[Object], needs: &mut Needs) {
        needs.nodes();
        if let Some(needed) = self.prerequisites() {
            needs.prerequisites(needed);
        }
        needs.definitions(self.names());
        needs.resources(self.definitions());
        needs.space();
        if self.within == RightsScope::Anywhere {
            needs.new_namespace();
        }
        needs.operator();
        needs.monitors();
        needs.written(objects);
        needs.taken_back(objects);
    }

    /// Returns the prerequisites of the version. A single namespace has none, since its administrator cannot check
    /// them.
    fn prerequisites(&self) -> Option<&Prerequisites> {
        match &self.within {
            RightsScope::Namespace(_) => None,
            RightsScope::Environment(..) | RightsScope::Anywhere => {
                Some(&self.archive?.manifest().spec.prerequisites)
            }
        }
    }

    /// Returns the CRDs of the version.
    fn definitions(&self) -> impl Iterator<Item = &Value> {
        let definitions = self.archive.map(AcceptedArchive::crds).unwrap_or_default();
        definitions.iter().map(|definition| &definition.document)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions()
            .filter_map(|definition| definition["metadata"]["name"].as_str())
    }

    /// Returns the name of the pull secret that may be created for the Solution.
    fn login(&self) -> Option<KubernetesName> {
        let statement = self.archive?.statement();
        Some(pull_secret::secret_name(statement.predicate.id.name()))
    }

    /// Adds the rights that a verb needs in a single namespace. Only [`RightsVerb::ALONE`] are allowed there.
    fn add_alone(
        &self,
        verb: RightsVerb,
        namespace: &Namespace,
        objects: &[Object],
        needs: &mut Needs,
    ) {
        needs.alone();
        needs.record(&namespace_record::reference(namespace));
        self.add_version(needs);
        needs.monitors();
        if verb == RightsVerb::Deploy {
            needs.record(&site::reference(None));
            needs.operator_objects();
            needs.written(objects);
        } else {
            needs.account();
            needs.login(self.login().as_ref());
        }
    }

    /// Adds the right to read the record of the version.
    fn add_version(&self, needs: &mut Needs) {
        if let Some(accepted) = self.archive {
            let id = &accepted.statement().predicate.id;
            needs.record(&record::reference(id.name(), id.version()));
        }
    }

    /// Adds the rights to see the status. For one environment, these are rights in its namespace and to its own
    /// records.
    fn add_status(&self, needs: &mut Needs) {
        match &self.within {
            RightsScope::Anywhere => {
                needs.state();
                needs.inventories();
            }
            RightsScope::Environment(_, namespace) | RightsScope::Namespace(namespace) => {
                needs.record(&namespace_record::reference(namespace));
                needs.own();
                if let Some(archive) = self
                    .archive
                    .filter(|archive| archive.manifest().spec.carries())
                {
                    let solution = archive.statement().predicate.id.name();
                    needs.record(&inventory::reference(solution, namespace));
                }
            }
        }
        self.add_version(needs);
        needs.claims();
        needs.diagnosis();
        needs.workloads();
        needs.support();
    }
}

impl Subject {
    pub(super) fn bound(&self) -> BindingSubject {
        match self {
            Self::User(name) => BindingSubject::user(name),
            Self::Group(name) => BindingSubject::group(name),
            Self::ServiceAccount(namespace, name) => BindingSubject::account(namespace, name),
        }
    }
}

#[cfg(test)]
mod tests {
    use planner::vocabulary as v;
    use serde_json::json;

    use super::*;

    /// Returns the manifests as JSON.
    fn manifests(wanted: &WantedRights<'_>) -> Vec<Value> {
        let manifests = wanted.manifests().unwrap().into_iter();
        manifests
            .map(|manifest| serde_json::to_value(manifest).unwrap())
            .collect()
    }

    fn wanted(verbs: &[RightsVerb], place: Option<&str>) -> WantedRights<'static> {
        let place = place
            .map(|place| RightsScope::Environment(place.parse().unwrap(), place.parse().unwrap()));
        WantedRights {
            verbs: verbs.iter().copied().collect(),
            archive: None,
            within: place.unwrap_or(RightsScope::Anywhere),
            subjects: Vec::new(),
            impersonator: None,
            charts: Vec::new(),
        }
    }

    /// Returns the rules of the roles in a namespace, or of cluster roles, as `verbs group/resources`.
    fn rules(wanted: &WantedRights<'_>, namespace: Option<&str>) -> Vec<String> {
        let manifests = manifests(wanted);
        let here = |manifest: &&Value| manifest["metadata"]["namespace"].as_str() == namespace;
        let there = manifests.iter().filter(here);
        let rules = there
            .filter_map(|manifest| manifest["rules"].as_array())
            .flatten();
        let words = |list: &Value| {
            let words = list.as_array().unwrap().iter();
            words
                .map(|text| text.as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
                .join(",")
        };
        rules
            .map(|rule| {
                let [verbs, group, resources] =
                    ["verbs", "apiGroups", "resources"].map(|field| words(&rule[field]));
                format!("{verbs} {group}/{resources}")
            })
            .collect()
    }

    #[test]
    fn in_one_environment_only_what_has_no_namespace_is_given_in_the_cluster() {
        let expected = [
            "list /nodes",
            "get /namespaces",
            "list apiextensions.k8s.io/customresourcedefinitions",
            "list rbac.authorization.k8s.io/clusterrolebindings,clusterroles",
        ];
        let deploy = wanted(&[RightsVerb::Deploy], Some("prod"));
        assert_eq!(rules(&deploy, None), expected);
        assert!(rules(&deploy, Some("prod")).len() > 3);
        let anywhere = wanted(&[RightsVerb::Deploy], None);
        let all = rules(&anywhere, None).join("\n");
        assert!(
            all.contains("deployments") && all.contains("create"),
            "{all}"
        );
        assert_eq!(rules(&anywhere, Some("prod")), Vec::<String>::new());
    }

    #[test]
    fn who_only_sees_writes_nothing() {
        for place in [None, Some("prod")] {
            let status = wanted(&[RightsVerb::Status], place);
            for namespace in [None, Some("prod"), Some(v::RECORDS_NAMESPACE)] {
                for rule in rules(&status, namespace) {
                    let mut verbs = rule.split(' ').next().unwrap().split(',');
                    assert!(verbs.all(|verb| ["get", "list"].contains(&verb)), "{rule}");
                    assert!(!rule.contains("secrets"), "{rule}");
                }
            }
        }
    }

    #[test]
    fn who_sees_all_environments_sees_what_is_carried_there() {
        let status = wanted(&[RightsVerb::Status], None);
        let records = rules(&status, Some(v::RECORDS_NAMESPACE));
        assert_eq!(records, ["get,list /configmaps"]);
        let everywhere = rules(&status, None);
        let sets = |rule: &&String| rule.contains("statefulsets");
        let rule = everywhere.iter().find(sets).unwrap();
        assert!(rule.starts_with("get,list "), "{everywhere:#?}");
    }

    #[test]
    fn who_sees_one_environment_has_no_right_in_the_cluster_and_one_to_a_record() {
        let status = wanted(&[RightsVerb::Status], Some("prod"));
        assert_eq!(rules(&status, None), Vec::<String>::new());
        let records = rules(&status, Some(v::RECORDS_NAMESPACE));
        assert_eq!(records, ["get /configmaps"]);
        let manifests = manifests(&status);
        let role = &manifests[1];
        assert_eq!(role["rules"][0]["resourceNames"], json!(["namespace-prod"]));
    }

    #[test]
    fn records_are_written_in_their_namespace_and_forgotten_only_by_who_unimports() {
        let of = |verb| rules(&wanted(&[verb], None), Some(v::RECORDS_NAMESPACE));
        let import = [
            "create,get,list,patch /configmaps",
            "get,patch /namespaces",
            "create,get,update coordination.k8s.io/leases",
        ];
        assert_eq!(of(RightsVerb::Import), import);
        assert_eq!(
            of(RightsVerb::Unimport)[0],
            "create,delete,get,list,patch /configmaps"
        );
    }

    #[test]
    fn who_administers_one_namespace_gets_no_right_in_the_cluster_and_reads_single_records() {
        let alone = WantedRights {
            within: RightsScope::Namespace("prod".parse().unwrap()),
            ..wanted(&RightsVerb::ALONE, None)
        };
        assert_eq!(rules(&alone, None), Vec::<String>::new());
        let records = rules(&alone, Some(v::RECORDS_NAMESPACE));
        assert_eq!(records, ["get /configmaps", "get /configmaps"]);
        let manifests = manifests(&alone);
        let named = manifests
            .iter()
            .filter_map(|manifest| manifest["rules"].as_array());
        let named = named.flatten().map(|rule| &rule["resourceNames"][0]);
        let named: BTreeSet<&str> = named.filter_map(Value::as_str).collect();
        let expected = ["metalk8s-environment", "namespace-prod", "site"];
        assert_eq!(named, BTreeSet::from(expected));
    }

    #[test]
    fn who_shows_fleets_in_a_hub_gets_rights_to_their_objects_alone() {
        let group = "solutions.metalk8s.scality.com";
        let hub = wanted(&[RightsVerb::FleetHub], None);
        let expected = [
            format!("create,get,list,patch,watch {group}/solutionrollouts"),
            format!("get,patch {group}/solutionrollouts/status"),
        ];
        assert_eq!(rules(&hub, None), expected);
        assert_eq!(manifests(&hub).len(), 1);
        let init = wanted(&[RightsVerb::FleetInit], None);
        let definitions = "apiextensions.k8s.io/customresourcedefinitions";
        let expected = [
            format!("create {definitions}"),
            format!("get,patch {definitions}"),
        ];
        assert_eq!(rules(&init, None), expected);
        let usual = rules(&wanted(&RightsVerb::ALL, None), None).join("\n");
        assert!(!usual.contains("solutionrollouts"), "{usual}");
    }

    #[test]
    fn different_rights_have_different_names() {
        let with_all = [&RightsVerb::ALL[..], &RightsVerb::WITHOUT_RECORDS].concat();
        let some = [
            wanted(&with_all, None),
            wanted(&[RightsVerb::FleetHub], None),
            wanted(&RightsVerb::ALL, None),
            wanted(&RightsVerb::ALL, Some("prod")),
            wanted(&[RightsVerb::Import], None),
            wanted(&[RightsVerb::Import, RightsVerb::Status], None),
            wanted(&[RightsVerb::Import], Some("prod")),
            WantedRights {
                within: RightsScope::Namespace("prod".parse().unwrap()),
                ..wanted(&[RightsVerb::Deploy], None)
            },
            wanted(&[RightsVerb::Deploy], Some("prod")),
        ];
        let names: BTreeSet<String> = some.iter().map(WantedRights::name).collect();
        assert_eq!(names.len(), some.len(), "{names:?}");
    }

    #[test]
    fn who_is_named_is_bound_in_every_place() {
        let subjects = vec![
            Subject::User("alice".to_owned()),
            Subject::Group("admins".to_owned()),
            Subject::ServiceAccount("ci".parse().unwrap(), "importer".parse().unwrap()),
        ];
        let wanted = WantedRights {
            subjects,
            ..wanted(&[RightsVerb::Import], None)
        };
        let manifests = manifests(&wanted);
        let kinds: Vec<&str> = manifests
            .iter()
            .map(|manifest| manifest["kind"].as_str().unwrap())
            .collect();
        let expected = [
            "Namespace",
            "ClusterRole",
            "ClusterRoleBinding",
            "Role",
            "RoleBinding",
        ];
        assert_eq!(kinds, expected);
        let [cluster, here] = [2, 4].map(|at| &manifests[at]);
        for (binding, role) in [(cluster, "ClusterRole"), (here, "Role")] {
            assert_eq!(binding["roleRef"]["kind"], role);
            let names = binding["subjects"].as_array().unwrap().iter();
            let names: Vec<&str> = names
                .map(|subject| subject["name"].as_str().unwrap())
                .collect();
            assert_eq!(names, ["alice", "admins", "importer"]);
        }
        assert_eq!(here["metadata"]["namespace"], v::RECORDS_NAMESPACE);
    }
}
