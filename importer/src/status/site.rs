//! The values of site configurations that apply in an environment ([`show`]). [`check`] finds names in a configuration
//! that the cluster does not have, which is usually a spelling mistake.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kubernetes::{Cluster, Gvk, Object, ObjectRef};
use planner::Stage;
use schemars::JsonSchema;
use schemas::{
    EnvironmentName, KubernetesName, LabelName, LabelValue, PartName, SolutionName, SolutionSpec,
    WorkloadKind,
};
use serde::Serialize;
use serde_json::json;

use crate::choices::workloads::{PartObjects, meaningless, missing};
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::layer::FleetChoices;
use crate::objects::operator::operator_name;
use crate::objects::releases::sent;
use crate::objects::releases::stored::StoredRelease;
use crate::records::inventory;
use crate::records::namespace_record::NamespaceRecord;
use crate::records::site::{
    HeldSite, NamedWorkloads, SiteFile, SiteValue, default_reference, operators_alone,
};
use crate::records::state::ClusterState;
use crate::records::storage::read_if_allowed;

/// The name for all workloads of a part.
const ALL: &str = "*";

/// The values of a site configuration.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SiteShown {
    /// The environment; null for environments without a file.
    pub environment: Option<EnvironmentName>,
    /// The values that apply to everything.
    pub settings: Vec<SiteValue>,
    /// The values for workloads of each imported Solution: its operator, and the workloads of its sets and charts as
    /// named in the entries.
    pub workloads: Vec<SiteWorkload>,
    /// The notes on values without effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The values for workloads.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SiteWorkload {
    /// The Solution.
    pub solution: SolutionName,
    /// The set of manifests or the release of a chart; missing for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The kind, if an entry names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkloadKind>,
    /// The name of the workload: `operator` for the operator, `*` for all workloads of the part.
    pub workload: String,
    /// The container, if an entry names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<KubernetesName>,
    /// The values.
    pub values: Vec<SiteValue>,
}

impl SiteWorkload {
    fn of_operator(held: &HeldSite, solution: &SolutionName) -> Self {
        Self {
            solution: solution.clone(),
            part: None,
            kind: None,
            workload: "operator".to_owned(),
            container: None,
            values: held.operator_values(solution, &operator_name(solution.as_str())),
        }
    }

    fn of_part(held: &HeldSite, solution: &SolutionName, part: &str) -> Vec<Self> {
        let choices = held.reaching(solution, PartName::Carried(part));
        let workload = |named: NamedWorkloads| Self {
            solution: solution.clone(),
            part: Some(part.to_owned()),
            values: choices.values(&named),
            kind: named.kind,
            workload: named
                .workload
                .map_or_else(|| ALL.to_owned(), |name| name.to_string()),
            container: named.container,
        };
        choices.named().into_iter().map(workload).collect()
    }
}

impl fmt::Display for SiteWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            solution, workload, ..
        } = self;
        let Some(part) = &self.part else {
            return write!(f, "{solution} {workload}");
        };
        write!(f, "{solution} {part}")?;
        match self.kind {
            Some(kind) => write!(f, ", {kind} {workload}")?,
            None if workload == ALL => {}
            None => write!(f, ", workload {workload}")?,
        }
        match &self.container {
            Some(container) => write!(f, ", container {container}"),
            None => Ok(()),
        }
    }
}

/// Returns the default site configuration, or an empty one if it does not exist or the user may not read it.
pub async fn site(cluster: &Cluster) -> Result<HeldSite, Error> {
    let object = read_if_allowed(cluster, &default_reference()).await?;
    let held = object.as_ref().map(HeldSite::of_default).transpose()?;
    Ok(held.unwrap_or_default())
}

/// The choices that apply in an environment: the site configurations, and for each Solution the choices of a fleet.
struct Chosen<'a> {
    files: HeldSite,
    fleets: BTreeMap<&'a SolutionName, &'a FleetChoices>,
}

impl<'a> Chosen<'a> {
    fn read(
        state: &'a ClusterState,
        environment: Option<&'a EnvironmentName>,
    ) -> Result<Self, Error> {
        let spaces = environment
            .into_iter()
            .flat_map(|environment| state.environment(environment));
        let deployed = spaces.flat_map(|space| &space.solutions);
        let fleets =
            deployed.filter_map(|(name, deployed)| Some((name, deployed.fleet.as_deref()?)));
        Ok(Self {
            files: state.site.held(environment)?,
            fleets: fleets.collect(),
        })
    }

    fn of(&self, solution: &SolutionName) -> Result<HeldSite, Error> {
        let fleet = self.fleets.get(solution).copied();
        self.files.clone().under(fleet)
    }

    /// Returns the choices that apply to everything, and those that name a Solution.
    fn settings(&self) -> Result<Vec<SiteValue>, Error> {
        let mut all = self.files.clone();
        let mut secrets = Vec::new();
        for (solution, fleet) in &self.fleets {
            all = all.under(Some(&fleet.said_of(solution)))?;
            secrets.extend(fleet.pull_secret().map(|secret| SiteValue {
                field: format!("pullSecret.{solution}"),
                value: json!(secret),
                from: fleet.name(),
            }));
        }
        let mut settings = all.settings();
        settings.extend(secrets);
        Ok(settings)
    }
}

/// Returns the choices that apply in an environment, and the source of each value.
pub async fn show(
    cluster: &Cluster,
    environment: Option<&EnvironmentName>,
) -> Result<SiteShown, Error> {
    let state = ClusterState::read(cluster).await?;
    if let Some(environment) = environment
        && state.environment(environment).next().is_none()
    {
        return Err(Blocker::NoEnvironment {
            environment: environment.clone(),
        }
        .into());
    }
    let chosen = Chosen::read(&state, environment)?;
    let specs = || {
        state
            .records
            .iter()
            .map(|record| (&record.name, &record.manifest.spec))
    };
    let mut workloads = Vec::new();
    let mut solutions: BTreeMap<&SolutionName, Vec<&SolutionSpec>> = BTreeMap::new();
    for (name, spec) in specs() {
        solutions.entry(name).or_default().push(spec);
    }
    for (solution, versions) in solutions {
        let held = chosen.of(solution)?;
        if versions.iter().any(|spec| spec.operator.is_some()) {
            workloads.push(SiteWorkload::of_operator(&held, solution));
        }
        let parts: BTreeSet<&str> = versions.iter().flat_map(|spec| spec.parts()).collect();
        let of_part = |part| SiteWorkload::of_part(&held, solution, part);
        workloads.extend(parts.into_iter().flat_map(of_part));
    }
    let mut notes = BTreeSet::new();
    for (name, spec) in specs() {
        notes.extend(chosen.of(name)?.operators_alone(name, spec));
    }
    Ok(SiteShown {
        environment: environment.cloned(),
        settings: chosen.settings()?,
        workloads,
        notes: notes.into_iter().collect(),
    })
}

/// The findings about the stored site configurations.
#[derive(Clone, Debug)]
pub struct SiteChecked {
    /// The names in them that the cluster does not have.
    pub problems: Vec<Blocker>,
    /// The notes on choices with less effect than their scope suggests.
    pub notes: Vec<String>,
}

/// Compares the stored site configurations with the cluster.
pub async fn check(cluster: &Cluster) -> Result<SiteChecked, Error> {
    let state = ClusterState::read(cluster).await?;
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for file in state.site.all()? {
        notes.extend(operators_alone(&file));
        notes.extend(file.parts_of_no_version(&state.records));
        notes.extend(file.releases_of_no_version(&state.records));
        if let Some(environment) = file.environment()
            && state.environment(environment).next().is_none()
        {
            all.push(Blocker::NoEnvironment {
                environment: environment.clone(),
            });
            continue;
        }
        all.extend(problems(cluster, &state, &file).await?);
        notes.extend(unreached(cluster, &state, &file).await?);
    }
    Ok(SiteChecked {
        problems: all,
        notes,
    })
}

/// Returns a note on each entry for one Solution that has no effect, because the named workload or container does not
/// exist in any deployment. Returns nothing for deployments that the user may not read.
async fn unreached(
    cluster: &Cluster,
    state: &ClusterState,
    file: &SiteFile,
) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    let mut known = BTreeMap::new();
    for (solution, from, rule) in file.naming() {
        let spaces = state.namespaces.iter().filter(|space| is_for(file, space));
        for space in spaces.filter(|space| space.solutions.contains_key(solution)) {
            // Multiple entries may name the same Solution, whose workloads are read once for each namespace.
            if let MapEntry::Vacant(place) = known.entry((solution, &space.namespace)) {
                place.insert(deployed(cluster, space, solution).await?);
            }
        }
        let here = known
            .iter()
            .filter(|((known, _), _)| *known == solution)
            .flat_map(|(_, parts)| parts.iter().map(part_objects));
        let parts: Vec<PartObjects<'_>> = here.collect();
        let mut names = parts.iter().map(|part| part.name);
        let is_known = match &rule.part {
            Some(part) => names.any(|name| name == part.as_str()),
            None => names.next().is_some(),
        };
        if let Some(why) = missing(rule, &parts).filter(|_| is_known) {
            notes.push(format!(
                "{from} has no effect: no deployed version has {why}"
            ));
        }
    }
    let site = HeldSite::new(vec![file.clone()]);
    let idle = known.iter().flat_map(|((solution, _), parts)| {
        let parts: Vec<PartObjects<'_>> = parts.iter().map(part_objects).collect();
        meaningless(&site, solution, &parts)
    });
    // A note that concerns multiple namespaces is reported once.
    let idle: BTreeSet<String> = idle.collect();
    notes.extend(idle);
    Ok(notes)
}

fn part_objects(part: &DeployedPart) -> PartObjects<'_> {
    PartObjects {
        name: &part.name,
        objects: part.objects.iter().map(Object::as_value).collect(),
    }
}

/// The deployed workloads of a part.
struct DeployedPart {
    name: String,
    objects: Vec<Object>,
}

/// Returns the deployed workloads of a Solution in a namespace, by part. Returns nothing if the user may not read them.
async fn deployed(
    cluster: &Cluster,
    space: &NamespaceRecord,
    solution: &SolutionName,
) -> Result<Vec<DeployedPart>, Error> {
    match deployed_parts(cluster, space, solution).await {
        Err(Error::Cluster(kubernetes::Error::Forbidden { .. })) => Ok(Vec::new()),
        parts => parts,
    }
}

async fn deployed_parts(
    cluster: &Cluster,
    space: &NamespaceRecord,
    solution: &SolutionName,
) -> Result<Vec<DeployedPart>, Error> {
    let recorded = inventory::read(cluster, solution, space).await?;
    let mut parts: BTreeMap<String, Vec<Object>> = BTreeMap::new();
    for entry in &recorded.entries {
        if let Some(part) = &entry.part {
            let objects = parts.entry(part.to_string()).or_default();
            if entry.stage == Stage::Workload {
                objects.extend(read_if_allowed(cluster, &entry.reference()).await?);
            }
        }
    }
    for release in &recorded.releases {
        let stored = StoredRelease::find(cluster, &release.namespace, &release.name).await?;
        if let Some(stored) = stored {
            let objects = sent(cluster, &stored.newest, release).await?;
            parts.insert(release.name.to_string(), objects);
        }
    }
    let part = |(name, objects)| DeployedPart { name, objects };
    Ok(parts.into_iter().map(part).collect())
}

/// Returns the names in a site configuration that the cluster does not have, as far as the user's permissions allow.
pub(crate) async fn problems(
    cluster: &Cluster,
    state: &ClusterState,
    file: &SiteFile,
) -> Result<Vec<Blocker>, Error> {
    let mut problems = Vec::new();
    if let Some(secret) = &file.spec().pull_secret {
        for space in state.namespaces.iter().filter(|space| is_for(file, space)) {
            problems.extend(no_secret(cluster, space, secret, file).await?);
        }
    }
    let choices = || file.spec().workloads.iter().map(|rule| &rule.set);
    let classes: BTreeSet<&KubernetesName> = choices()
        .filter_map(|set| set.priority_class_name.as_ref())
        .collect();
    for class in classes {
        let kind = ("scheduling.k8s.io/v1", "PriorityClass");
        let reference = ObjectRef::cluster_scoped(kind.0, kind.1, class.as_str());
        match cluster.get(&reference).await {
            // A class that the user may not read may exist, so it is no finding.
            Ok(Some(_)) | Err(kubernetes::Error::Forbidden { .. }) => {}
            Ok(None) => problems.push(Blocker::NoPriorityClass {
                class: class.clone(),
                file: file.name(),
            }),
            Err(error) => return Err(error.into()),
        }
    }
    let selectors: BTreeSet<Vec<(&LabelName, &LabelValue)>> = choices()
        .map(|set| set.node_selector.iter().collect())
        .collect();
    let nodes = match cluster.list(&Gvk::new("v1", "Node"), None, None).await {
        // A plan reports that the user may not list nodes.
        Err(kubernetes::Error::Forbidden { .. }) => return Ok(problems),
        nodes => nodes?,
    };
    for selector in selectors {
        if !nodes.iter().any(|node| has_all(node, &selector)) {
            let labels = selector
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            let labels: Vec<String> = labels.collect();
            problems.push(Blocker::NoNode {
                labels,
                file: file.name(),
            });
        }
    }
    Ok(problems)
}

/// Checks whether a site configuration applies in a namespace.
fn is_for(file: &SiteFile, space: &NamespaceRecord) -> bool {
    file.environment()
        .is_none_or(|environment| space.environment == *environment)
}

async fn no_secret(
    cluster: &Cluster,
    space: &NamespaceRecord,
    secret: &KubernetesName,
    file: &SiteFile,
) -> Result<Option<Blocker>, Error> {
    let namespace = space.namespace.as_str();
    let reference = ObjectRef::namespaced("v1", "Secret", namespace, secret.as_str());
    match cluster.get(&reference).await {
        Ok(Some(_)) | Err(kubernetes::Error::Forbidden { .. }) => Ok(None),
        Ok(None) => {
            let spec = file.spec();
            let host = spec
                .pull_registry
                .as_ref()
                .or(spec.registry.as_ref())
                .and_then(|address| address.split('/').next());
            Ok(Some(Blocker::NoPullSecret {
                secret: secret.clone(),
                namespace: space.namespace.clone(),
                create: None,
                host: host.unwrap_or("HOST").to_owned(),
            }))
        }
        Err(error) => Err(error.into()),
    }
}

fn has_all(node: &Object, selector: &[(&LabelName, &LabelValue)]) -> bool {
    let labels = node.labels();
    let has = |(name, value): &(&LabelName, &LabelValue)| {
        labels.get(name.as_str()).copied() == Some(value.as_str())
    };
    selector.iter().all(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::layer::tests::choices;
    use crate::records::namespace_record::DeployedSolution;
    use crate::records::namespace_record::tests::{deployed, namespace_record};
    use crate::records::site::tests::held;

    #[test]
    fn what_a_fleet_chose_for_a_solution_is_shown_with_its_source() {
        let mut space = namespace_record("prod", "prod");
        let fleet = choices(
            "{pullSecret: a, parameters: {shop: {size: 3}, cart: {size: 4}},
              workloads: [{set: {replicas: 2}}]}",
        );
        let shop = DeployedSolution {
            fleet: Some(Box::new(fleet)),
            ..deployed("1.0.0")
        };
        let (name, other) = ("shop".parse().unwrap(), "cart".parse().unwrap());
        space.solutions.insert("shop".parse().unwrap(), shop);
        space
            .solutions
            .insert("cart".parse().unwrap(), deployed("1.0.0"));
        let state = ClusterState {
            namespaces: vec![space, namespace_record("test", "test")],
            ..ClusterState::default()
        };
        let [prod, test] = ["prod", "test"].map(|name| name.parse().unwrap());
        let chosen = Chosen::read(&state, Some(&prod)).unwrap();
        let shown = |value: SiteValue| format!("{} {} {}", value.field, value.value, value.from);
        let settings = chosen.settings().unwrap().into_iter().map(shown);
        let expected = [
            "parameters.shop.size 3 the fleet shops",
            "pullSecret.shop \"a\" the fleet shops",
        ];
        assert_eq!(settings.collect::<Vec<_>>(), expected);
        let operator = |solution| {
            let held = chosen.of(solution).unwrap();
            let values = SiteWorkload::of_operator(&held, solution)
                .values
                .into_iter();
            values.map(shown).collect::<Vec<_>>()
        };
        assert_eq!(operator(&name), ["replicas 2 the fleet shops, entry for *"]);
        assert_eq!(operator(&other), [""; 0]);
        for environment in [None, Some(&test)] {
            let chosen = Chosen::read(&state, environment).unwrap();
            assert_eq!(chosen.settings().unwrap(), []);
        }
    }

    #[test]
    fn workloads_of_a_part_are_called_as_entries_call_them() {
        let held = held(
            "{workloads: [
               {set: {labels: {a: b}}},
               {part: db, workload: web, set: {replicas: 2}},
               {part: db, workload: web, kind: Job, set: {labels: {a: c}}},
               {part: db, workload: web, container: c, set: {env: {A: b}}}]}",
            "{}",
        );
        let shop = "shop".parse().unwrap();
        let operator = SiteWorkload::of_operator(&held, &shop);
        assert_eq!(operator.to_string(), "shop operator");
        let shown = |part: &str| -> Vec<String> {
            let all = SiteWorkload::of_part(&held, &shop, part).into_iter();
            all.map(|workload| workload.to_string()).collect()
        };
        let expected = [
            "shop db",
            "shop db, workload web",
            "shop db, workload web, container c",
            "shop db, Job web",
        ];
        assert_eq!(shown("db"), expected);
        assert_eq!(shown("cart"), ["shop cart"]);
    }
}
