//! The setting of a deployment: the namespace, and the choices made there before its objects are known.
//! [`Planner::setting`] resolves parameters, values of charts and the pull secret, and adds the blockers of each.

use std::collections::BTreeMap;

use kubernetes::{Cluster, Object, ObjectRef};
use planner::AdoptionPolicy;
use schemas::{
    Choices, EnvironmentName, KubernetesName, Namespace, Operator, OperatorScope, ParameterFormat,
    PartName, ReleaseName, SolutionName, Version, VersionRange, by_path, nearest,
};
use validator::PackagedChart;

use crate::choices::destination;
use crate::choices::parameters::{self, KeptSecrets, Parameters, PlanningFleet, Resolving};
use crate::choices::values::{ReleaseValues, ValuesLayer, ValuesSources};
use crate::limits;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::model::layer::FleetChoices;
use crate::model::parameters::ChartValues;
use crate::model::request::{CreateEnvironment, Downgrade, PlanRequest, PullLogin, Target};
use crate::objects::crd::PlannedCrd;
use crate::objects::operator::operator_name;
use crate::objects::pull_secret;
use crate::objects::releases::stored::StoredRelease;
use crate::records::inventory;
use crate::records::namespace_record::{DeployedSolution, NamespaceRecord, namespace_reference};
use crate::records::site::HeldSite;
use crate::records::state::ClusterState;
use crate::records::storage::read_if_allowed;

/// The maximum edit distance between an unknown name and a suggestion.
const NEAR: usize = 3;

/// The inputs for planning a deployment.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    pub(crate) asked: &'a PlanRequest<'a>,
    pub(crate) cluster: &'a Cluster,
    pub(crate) state: &'a ClusterState,
    pub(crate) target: &'a Target,
    /// The CRDs that are written before all other objects.
    pub(crate) crds: &'a [PlannedCrd],
}

/// The namespace of a deployment, and the choices made there before its objects are known.
pub(crate) struct Setting {
    /// The record of the namespace, without this version.
    pub(crate) place: NamespaceRecord,
    /// The live namespace, if it exists.
    pub(crate) space: Option<Object>,
    /// The record of the Solution's running version there.
    pub(crate) current: Option<DeployedSolution>,
    /// The site configuration of the environment.
    pub(crate) site: HeldSite,
    pub(crate) parameters: Parameters,
    /// The values of releases that override the publisher's.
    pub(crate) values: BTreeMap<ReleaseName, ReleaseValues>,
    /// The record of the Solution after the change.
    pub(crate) deployed: DeployedSolution,
}

impl Planner<'_> {
    pub(crate) fn operator(&self) -> Option<&Operator> {
        self.asked.accepted.manifest().spec.operator.as_ref()
    }

    /// Returns the namespace of the deployment and the choices made there.
    pub(crate) async fn setting(
        &self,
        namespace: &Namespace,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Setting, Error> {
        let id = &self.asked.id;
        let space = read_if_allowed(self.cluster, &namespace_reference(namespace)).await?;
        blockers.extend(destination::check_reserved(namespace).err());
        let place = self.place(namespace, space.as_ref(), blockers);
        let scope = self.operator().map(|operator| operator.scope);
        blockers.extend(scope.and_then(|scope| second(self.state, id.name(), namespace, scope)));
        let current = self.state.deployed(namespace, id.name()).cloned();
        let fleet = fleet(self.target, current.as_ref());
        blockers.extend(fleet.and_then(too_large));
        let site = self.state.site.held(Some(&place.environment))?;
        let site = site.under(fleet)?;
        if let Some(current) = &current {
            self.check_upgrade(&current.version, blockers);
        }
        let mut parameters = self
            .parameters(&place, current.as_ref(), &site, blockers)
            .await?;
        let stay = fleet.and_then(|fleet| stays(fleet, self.target, id.name()));
        parameters.notes.extend(stay);
        let values = self.values(&place, &site, &parameters, blockers).await?;
        parameters
            .hidden
            .extend(values.values().flat_map(ReleaseValues::hidden));
        let deployed = DeployedSolution {
            version: id.version().clone(),
            pull_secret: self.pull_secret(&site, current.as_ref()),
            parameters: parameters.chosen.clone(),
            sensitive: parameters.secret.parameters.keys().cloned().collect(),
            charts: parameters.secret.charts.keys().cloned().collect(),
            secret: parameters.number,
            fleet: fleet.cloned().map(Box::new),
            fleet_cluster: match self.target.fleet {
                Some(_) => self.asked.request.fleet.cluster.clone(),
                None => current
                    .as_ref()
                    .and_then(|current| current.fleet_cluster.clone()),
            },
            labels: [].into(),
            former_releases: current
                .as_ref()
                .map(|current| current.former_releases.clone())
                .unwrap_or_default(),
            accepted: None,
        };
        let setting = Setting {
            place,
            space,
            current,
            site,
            parameters,
            values,
            deployed,
        };
        self.check_login(&setting, blockers).await?;
        let choices = setting.site.reaching(id.name(), PartName::Operator);
        let choices = choices.of_operator(&operator_name(id.name().as_str()));
        blockers.extend(check_variables(self.operator(), &choices));
        Ok(setting)
    }

    /// Resolves the values of the parameters, and adds their blockers.
    async fn parameters(
        &self,
        space: &NamespaceRecord,
        current: Option<&DeployedSolution>,
        site: &HeldSite,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Parameters, Error> {
        let PlanRequest {
            accepted,
            id,
            generated,
            ..
        } = self.asked;
        let declared = &accepted.manifest().spec.parameters;
        let charts = accepted.charts();
        let is_kept = declared.values().any(|parameter| parameter.sensitive)
            || !charts.is_empty()
            || current.is_some_and(|current| current.secret.is_some());
        let kept = if is_kept {
            parameters::kept(self.cluster, id.name(), space).await?
        } else {
            KeptSecrets::default()
        };
        let planning = |fleet: &FleetChoices| PlanningFleet {
            name: fleet.name(),
            parameters: fleet.parameters(id.name()).cloned().unwrap_or_default(),
            environment: space.environment.clone(),
        };
        let resolving = Resolving {
            fleet: self.target.fleet.as_deref().map(planning),
            declared,
            asked: &self.target.parameters,
            current,
            site: &site.parameters(id.name()),
            kept: &kept,
            generated,
            releases: &charts.iter().map(|chart| &chart.release.name).collect(),
            adopted: &self.adopted(space).await?,
            key: &self.asked.digest_key,
        };
        let parameters = resolving.resolve(blockers);
        self.check_storage_classes(&parameters, blockers).await?;
        Ok(parameters)
    }

    /// Checks whether the cluster has the storage classes in parameters. Without them, volumes would remain pending.
    async fn check_storage_classes(
        &self,
        parameters: &Parameters,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let declared = self.asked.accepted.manifest().spec.parameters.iter();
        let classes = declared
            .filter(|(_, parameter)| parameter.format == Some(ParameterFormat::StorageClass));
        for (name, _) in classes {
            let resolved = parameters.all.get(name);
            let Some(class) = resolved.and_then(|resolved| resolved.value.as_str()) else {
                continue;
            };
            let reference = ObjectRef::cluster_scoped("storage.k8s.io/v1", "StorageClass", class);
            match self.cluster.get(&reference).await {
                // If the user may not read storage classes, the status of the volume shows the problem later.
                Ok(Some(_)) | Err(kubernetes::Error::Forbidden { .. }) => {}
                Ok(None) => blockers.push(
                    ContentBlocker::NoStorageClass {
                        parameter: name.clone(),
                        class: parameters.hidden.say(class),
                    }
                    .into(),
                ),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns the values that other users gave to the adopted releases.
    async fn adopted(&self, space: &NamespaceRecord) -> Result<ChartValues, Error> {
        let mut adopted = ChartValues::new();
        if self.asked.request.allowed.adopt.objects == AdoptionPolicy::Refuse {
            return Ok(adopted);
        }
        let solution = self.asked.id.name();
        let record = inventory::look_up(self.cluster, solution, space).await?;
        for PackagedChart { release, .. } in self.asked.accepted.charts() {
            let namespace = release.namespace_in(&space.namespace);
            let known = record.release(namespace, &release.name);
            if known.is_some_and(|known| known.revision.is_some()) {
                continue;
            }
            let stored = StoredRelease::find(self.cluster, namespace, &release.name).await?;
            if let Some(of_others) = stored.as_ref().map(StoredRelease::newest_of_others) {
                let config = of_others?.map(|release| by_path(&release.config));
                let config = config.filter(|config| !config.is_empty());
                adopted.extend(config.map(|config| (release.name.clone(), config)));
            }
        }
        Ok(adopted)
    }

    /// Returns the values of each release that override the publisher's, and adds the blockers of the objects that they
    /// are read from.
    async fn values(
        &self,
        space: &NamespaceRecord,
        site: &HeldSite,
        parameters: &Parameters,
        blockers: &mut Vec<Blocker>,
    ) -> Result<BTreeMap<ReleaseName, ReleaseValues>, Error> {
        let mut all = BTreeMap::new();
        for PackagedChart { release, .. } in self.asked.accepted.charts() {
            let sources = ValuesSources {
                cluster: self.cluster,
                namespace: release.namespace_in(&space.namespace),
                release: &release.name,
            };
            let site = site.layers_of_chart(self.asked.id.name(), &release.name);
            let mut layers = sources.layers(site, blockers).await?;
            let key = parameters.secret.key.as_ref();
            let chosen = parameters.charts.get(&release.name).into_iter().flatten();
            layers.extend(chosen.map(|chosen| ValuesLayer::chosen(chosen, key)));
            all.insert(release.name.clone(), ReleaseValues(layers));
        }
        Ok(all)
    }

    /// Checks whether nodes can log in to the registry.
    async fn check_login(
        &self,
        setting: &Setting,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let pull_secret = setting.deployed.pull_secret.as_ref();
        if let Some(made) = pull_secret::made(self.asked, self.target, pull_secret) {
            // A login is only valid for one registry.
            let (host, pull_host) = (&made.host, self.asked.record.pull_host());
            if host != pull_host {
                blockers.push(Blocker::OtherLogin {
                    host: host.clone(),
                    pull_host: pull_host.to_owned(),
                });
            }
        } else if let Some(secret) = pull_secret {
            self.check_pull_secret(setting, secret, blockers).await?;
        }
        Ok(())
    }

    /// Returns the namespace of the deployment: that of the request, else the only one of the environment, else the
    /// default namespace if the environment may be created. Adds a blocker otherwise.
    pub(crate) fn namespace(&self, blockers: &mut Vec<Blocker>) -> Option<Namespace> {
        let target = self.target;
        let environment = &target.environment;
        let known: Vec<&NamespaceRecord> = self.state.environment(environment).collect();
        match (&target.namespace, known.as_slice()) {
            (_, []) if self.asked.request.allowed.create == CreateEnvironment::Refuse => {
                blockers.push(unknown(environment, self.state));
                None
            }
            (Some(namespace), _) => Some(namespace.clone()),
            (None, []) => Some(destination::default_namespace(environment)),
            (None, [only]) => Some(only.namespace.clone()),
            (None, several) => {
                let namespaces = several.iter().map(|space| space.namespace.clone());
                blockers.push(Blocker::SeveralNamespaces {
                    environment: environment.clone(),
                    namespaces: namespaces.collect(),
                });
                None
            }
        }
    }

    /// Returns the future record of the namespace, and adds a blocker if it cannot be used.
    fn place(
        &self,
        namespace: &Namespace,
        space: Option<&Object>,
        blockers: &mut Vec<Blocker>,
    ) -> NamespaceRecord {
        let environment = &self.target.environment;
        let known = self.state.namespace(namespace);
        let adopt = self.asked.request.allowed.adopt.namespace;
        let record = destination::record(known, space, environment, namespace, adopt);
        record.unwrap_or_else(|blocker| {
            blockers.push(blocker);
            NamespaceRecord::new(environment.clone(), namespace.clone())
        })
    }

    /// Returns the name of the pull secret. The site's file has priority over the running version, whose choice may
    /// itself come from an earlier site file.
    fn pull_secret(
        &self,
        site: &HeldSite,
        current: Option<&DeployedSolution>,
    ) -> Option<KubernetesName> {
        let running = || current.and_then(|current| current.pull_secret.clone());
        let kept = || site.pull_secret().cloned().or_else(running);
        match &self.target.pull_login {
            PullLogin::Keep => kept(),
            PullLogin::Offered(login) => kept().or_else(|| {
                let is_offered = pull_secret::is_offered(self.asked, login);
                is_offered.then(|| pull_secret::secret_name(self.asked.id.name()))
            }),
            PullLogin::None => None,
            PullLogin::Secret(name) => Some(name.clone()),
            PullLogin::Made(_) => Some(pull_secret::secret_name(self.asked.id.name())),
        }
    }

    /// Checks whether the pull secret of the site exists. Pods cannot start without it.
    async fn check_pull_secret(
        &self,
        setting: &Setting,
        secret: &KubernetesName,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let (place, space) = (&setting.place, &setting.space);
        let namespace = &place.namespace;
        let reference = ObjectRef::namespaced("v1", "Secret", namespace.as_str(), secret.as_str());
        if space.is_some() {
            match self.cluster.get(&reference).await {
                // A user without the right to read Secrets may still know its name.
                Ok(Some(_)) | Err(kubernetes::Error::Forbidden { .. }) => return Ok(()),
                Ok(None) => {}
                Err(error) => return Err(error.into()),
            }
        }
        blockers.push(Blocker::NoPullSecret {
            secret: secret.clone(),
            namespace: namespace.clone(),
            create: space.is_none().then(|| place.environment.clone()),
            host: self.asked.record.pull_host().to_owned(),
        });
        Ok(())
    }

    fn check_upgrade(&self, previous: &Version, blockers: &mut Vec<Blocker>) {
        let version = self.asked.id.version();
        let downgrade = self.asked.request.allowed.downgrade;
        let range = &self.asked.accepted.statement().predicate.upgrade_from;
        blockers.extend(older(previous, version, downgrade));
        blockers.extend(too_old(previous, version, range.as_ref()));
    }
}

/// Returns the applicable choices of a fleet: those of the planning fleet, else those of the fleet that deployed the
/// running version.
fn fleet<'a>(
    target: &'a Target,
    current: Option<&'a DeployedSolution>,
) -> Option<&'a FleetChoices> {
    let kept = || current?.fleet.as_deref();
    target.fleet.as_deref().or_else(kept)
}

/// Returns the note that the choices of a fleet are kept, if no fleet plans.
fn stays(fleet: &FleetChoices, target: &Target, solution: &SolutionName) -> Option<String> {
    let is_kept = target.fleet.is_none();
    is_kept.then(|| {
        format!(
            "the values that {} chose for {solution} are kept",
            fleet.name()
        )
    })
}

/// Returns the blocker for choices of a fleet that are too large for the record.
fn too_large(fleet: &FleetChoices) -> Option<Blocker> {
    let size = fleet.size();
    let is_large = size > limits::PARAMETERS_SIZE;
    is_large.then(|| {
        let values = "the choices of the fleet";
        ContentBlocker::ValuesTooLarge { values, size }.into()
    })
}

/// Returns the blocker for a version older than the running one.
fn older(running: &Version, version: &Version, downgrade: Downgrade) -> Option<Blocker> {
    let is_older = version < running && downgrade == Downgrade::Refuse;
    is_older.then(|| Blocker::OlderVersion {
        running: running.clone(),
        version: version.clone(),
    })
}

/// Returns the blocker for a version that cannot be upgraded to from the running one. The range does not apply to
/// downgrades.
fn too_old(running: &Version, version: &Version, range: Option<&VersionRange>) -> Option<Blocker> {
    let range = range.filter(|range| running < version && !range.contains(running))?;
    Some(Blocker::NotUpgradable {
        running: running.clone(),
        version: version.clone(),
        range: range.clone(),
    })
}

/// Returns the blocker for a second operator if one of the two has cluster scope. Both would work on the same objects.
fn second(
    state: &ClusterState,
    solution: &SolutionName,
    namespace: &Namespace,
    scope: OperatorScope,
) -> Option<Blocker> {
    let is_wide = |version: &Version| {
        let record = state.record(solution, version);
        let operator = record.and_then(|record| record.manifest.spec.operator.as_ref());
        operator.is_some_and(|operator| operator.scope == OperatorScope::Cluster)
    };
    let mut elsewhere = state.deployments(solution);
    let (space, _) = elsewhere.find(|(space, version)| {
        space.namespace != *namespace && (scope == OperatorScope::Cluster || is_wide(version))
    })?;
    Some(Blocker::SecondOperator {
        solution: solution.clone(),
        namespace: space.namespace.clone(),
        environment: space.environment.clone(),
    })
}

/// Returns the blockers for variables in which the operator finds an image. The site must not set them.
fn check_variables(operator: Option<&Operator>, choices: &Choices) -> Vec<Blocker> {
    let variables = operator.into_iter().flat_map(Operator::plain_variables);
    let of_images = variables.filter(|(_, value)| value.contains("$(image:"));
    let chosen = |name: &str| choices.env.keys().any(|chosen| chosen.as_str() == name);
    let taken = of_images.filter(|(name, _)| chosen(name));
    taken
        .map(|(name, _)| Blocker::ImageVariable {
            variable: name.to_owned(),
        })
        .collect()
}

/// Returns the blocker for an unknown environment, with the name of a similar one.
fn unknown(environment: &EnvironmentName, state: &ClusterState) -> Blocker {
    let names = state.namespaces.iter().map(|space| &space.environment);
    Blocker::UnknownEnvironment {
        environment: environment.clone(),
        near: nearest(environment.as_str(), names, NEAR).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::layer::tests::choices;
    use crate::records::namespace_record::tests::{deployed, namespace_record};
    use crate::records::record::tests::record;

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
            too_old(&running, &version, range.as_ref()).map(|blocker| blocker.to_string())
        };
        let since = Some(">=1.4.0, <2.0.0");
        let words = "version 1.3.9 is running, and 2.0.0 can only upgrade from >=1.4.0, <2.0.0";
        assert_eq!(refused("1.3.9", since).as_deref(), Some(words));
        for (running, range) in [
            ("1.4.0", since),
            ("1.9.0", since),
            ("1.0.0", None),
            // The same version and a downgrade are no upgrades.
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
    fn the_choices_of_a_fleet_stay_until_one_plans_again() {
        let site = |size: u8| choices(&format!("{{parameters: {{shop: {{size: {size}}}}}}}"));
        let target = |fleet: Option<FleetChoices>| Target {
            environment: "prod".parse().unwrap(),
            namespace: None,
            pull_login: PullLogin::Keep,
            parameters: Box::default(),
            fleet: fleet.map(Box::new),
        };
        let current = DeployedSolution {
            fleet: Some(Box::new(site(1))),
            ..deployed("1.0.0")
        };
        let shop = "shop".parse().unwrap();
        let (plain, planned) = (target(None), target(Some(site(2))));
        assert_eq!(fleet(&plain, None), None);
        assert_eq!(fleet(&plain, Some(&current)), Some(&site(1)));
        assert_eq!(fleet(&planned, Some(&current)), Some(&site(2)));
        let note = "the values that the fleet shops chose for shop are kept";
        assert_eq!(stays(&site(1), &plain, &shop).as_deref(), Some(note));
        assert_eq!(stays(&site(2), &planned, &shop), None);
    }

    #[test]
    fn the_choices_of_a_fleet_are_bounded() {
        let refused = |length: usize| {
            let rest = r#"{"parameters":{"shop":{"text":""}}}"#.len();
            let text = "a".repeat(length - rest);
            let fleet = choices(&format!("{{parameters: {{shop: {{text: {text}}}}}}}"));
            too_large(&fleet).map(|blocker| blocker.to_string())
        };
        assert_eq!(refused(limits::PARAMETERS_SIZE), None);
        let large = "the choices of the fleet have 65537 bytes in total; the limit is 65536";
        let one_more = refused(limits::PARAMETERS_SIZE + 1);
        assert_eq!(one_more.as_deref(), Some(large));
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
            let expected = Blocker::UnknownEnvironment {
                environment: environment.clone(),
                near,
            };
            assert_eq!(unknown(&environment, &state), expected);
        }
    }
}
