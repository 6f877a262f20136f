//! Solutions that need other Solutions, according to the records of a cluster. [`meeting`] finds deployments that meet
//! a need, [`needed_by`] finds Solutions that still need a removed one, and [`circle`] finds circular needs.

use std::collections::BTreeSet;

use schemas::{EnvironmentName, NeededScope, NeededSolution, SolutionName, Version};

use crate::model::blocker::prerequisites::UnmetPrerequisite;
use crate::records::namespace_record::NamespaceRecord;
use crate::records::state::ClusterState;

/// Returns the namespaces with a version that meets a need of this environment once it is ready. The result is never
/// empty.
pub(crate) fn meeting<'a>(
    state: &'a ClusterState,
    environment: &EnvironmentName,
    needed: &NeededSolution,
) -> Result<Vec<&'a NamespaceRecord>, Box<UnmetPrerequisite>> {
    let counts = |space: &NamespaceRecord| is_within(needed.scope, space, environment);
    let mut found = None;
    let mut meeting = Vec::new();
    for space in state.namespaces.iter().filter(|space| counts(space)) {
        let Some(deployed) = space.solutions.get(&needed.name) else {
            continue;
        };
        if needed.version.contains(&deployed.version) {
            meeting.push(space);
        }
        found = Some((deployed.version.clone(), space.environment.clone()));
    }
    if !meeting.is_empty() {
        return Ok(meeting);
    }
    let (solution, range) = (needed.name.clone(), needed.version.clone());
    let environment = (needed.scope == NeededScope::Environment).then(|| environment.clone());
    Err(Box::new(match found {
        Some((version, found)) => UnmetPrerequisite::NeededVersion {
            solution,
            range,
            environment,
            version,
            found,
        },
        None => UnmetPrerequisite::NeededSolution {
            solution,
            range,
            environment,
        },
    }))
}

fn is_within(scope: NeededScope, space: &NamespaceRecord, environment: &EnvironmentName) -> bool {
    scope == NeededScope::Cluster || space.environment == *environment
}

/// Returns a blocker for each other Solution whose need of this one is met and would no longer be met. `after` returns
/// the version in a namespace after the change; `None` if it is removed.
pub(crate) fn needed_by(
    state: &ClusterState,
    solution: &SolutionName,
    after: impl Fn(&NamespaceRecord, &Version) -> Option<Version>,
) -> Vec<UnmetPrerequisite> {
    let mut blockers = Vec::new();
    for (space, name, version, needed) in needs(state) {
        if needed.name != *solution || name == solution {
            continue;
        }
        let counts = |other: &&NamespaceRecord| is_within(needed.scope, other, &space.environment);
        let deployments = || {
            state
                .deployments(solution)
                .filter(|(other, _)| counts(other))
        };
        let is_met = deployments().any(|(_, version)| needed.version.contains(version));
        let stays = |(space, version)| {
            after(space, version).is_some_and(|version| needed.version.contains(&version))
        };
        if is_met && !deployments().any(stays) {
            blockers.push(UnmetPrerequisite::NeededBy {
                solution: solution.clone(),
                range: needed.version.clone(),
                needed_by: name.clone(),
                version: version.clone(),
                environment: space.environment.clone(),
            });
        }
    }
    // An environment may have the needing Solution in multiple namespaces.
    blockers.dedup();
    blockers
}

/// Returns all needs of deployed Solutions: the namespace, the Solution, its version, and the need.
fn needs(
    state: &ClusterState,
) -> impl Iterator<Item = (&NamespaceRecord, &SolutionName, &Version, &NeededSolution)> {
    let deployed = state.namespaces.iter().flat_map(|space| {
        let solutions = space.solutions.iter();
        solutions.map(move |(name, deployed)| (space, name, &deployed.version))
    });
    deployed.flat_map(|(space, name, version)| {
        let record = state.record(name, version);
        let needed = record
            .map(|record| record.manifest.spec.prerequisites.solutions.as_slice())
            .unwrap_or_default()
            .iter();
        needed.map(move |needed| (space, name, version, needed))
    })
}

/// Returns the circle that a Solution with these needs would create in an environment, if any.
pub(crate) fn circle(
    state: &ClusterState,
    environment: &EnvironmentName,
    solution: &SolutionName,
    needed: &[NeededSolution],
) -> Option<UnmetPrerequisite> {
    let start = Step {
        environment: environment.clone(),
        path: vec![solution.clone()],
    };
    let mut open: Vec<Step> = needed
        .iter()
        .flat_map(|needed| start.to(state, needed))
        .collect();
    let mut seen = BTreeSet::new();
    while let Some(step) = open.pop() {
        let last = step.path.last()?.clone();
        if last == *solution && step.environment == *environment {
            let solutions = step.path;
            return Some(UnmetPrerequisite::NeededInCircle { solutions });
        }
        // This also ends the search in circles that do not include the Solution itself.
        if !seen.insert((step.environment.clone(), last.clone())) {
            continue;
        }
        for (space, name, _, needed) in needs(state) {
            if *name == last && space.environment == step.environment {
                open.extend(step.to(state, needed));
            }
        }
    }
    None
}

/// A needed Solution in an environment, and the path of needs that leads to it.
struct Step {
    environment: EnvironmentName,
    path: Vec<SolutionName>,
}

impl Step {
    /// Returns the environments in which a need may be met. A Solution that is not deployed has no further needs yet.
    fn to(&self, state: &ClusterState, needed: &NeededSolution) -> Vec<Self> {
        let spaces = state
            .deployments(&needed.name)
            .filter(|(other, _)| is_within(needed.scope, other, &self.environment));
        let mut places: BTreeSet<&EnvironmentName> =
            spaces.map(|(space, _)| &space.environment).collect();
        if needed.scope == NeededScope::Environment {
            places.insert(&self.environment);
        }
        let step = |environment: &EnvironmentName| Self {
            environment: environment.clone(),
            path: [self.path.clone(), vec![needed.name.clone()]].concat(),
        };
        places.into_iter().map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::records::namespace_record::tests::{deployed, namespace_record};
    use crate::records::record::tests::record;

    fn needed(name: &str, version: &str, scope: NeededScope) -> NeededSolution {
        NeededSolution {
            name: name.parse().unwrap(),
            version: version.parse().unwrap(),
            scope,
        }
    }

    /// Returns a state in which each `ENVIRONMENT/SOLUTION-VERSION` is deployed with these needs.
    fn state(all: &[(&str, &[NeededSolution])]) -> ClusterState {
        let mut state = ClusterState::default();
        for (place, needed) in all {
            let (environment, id) = place.split_once('/').unwrap();
            let id: schemas::SolutionId = id.parse().unwrap();
            let version = id.version().to_string();
            let mut record = record(&version);
            record.name = id.name().clone();
            record.manifest.spec.prerequisites.solutions = needed.to_vec();
            if state.record(&record.name, &record.version).is_none() {
                state.records.push(record);
            }
            let known = state
                .namespaces
                .iter()
                .filter(|space| space.environment.as_str() == environment);
            let name = match known.count() {
                0 => environment.to_owned(),
                more => format!("{environment}-{more}"),
            };
            let mut space = namespace_record(environment, &name);
            let deployed = deployed(&version);
            space.solutions.insert(id.name().clone(), deployed);
            state.namespaces.push(space);
        }
        state
    }

    const HERE: NeededScope = NeededScope::Environment;
    const ANYWHERE: NeededScope = NeededScope::Cluster;

    #[test]
    fn a_need_is_met_where_and_in_the_versions_that_it_says() {
        let state = state(&[("prod/db-1.2.0", &[]), ("test/db-2.0.0", &[])]);
        let found = |version: &str, scope, environment: &str| {
            let needed = needed("db", version, scope);
            match meeting(&state, &environment.parse().unwrap(), &needed) {
                Ok(spaces) => {
                    let names = spaces.iter().map(|space| space.namespace.to_string());
                    names.collect::<Vec<_>>().join(" ")
                }
                Err(unmet) => unmet.to_string(),
            }
        };
        for (version, scope, environment, expected) in [
            (">=1", HERE, "prod", "prod"),
            (">=1", ANYWHERE, "other", "prod test"),
            ("^2", ANYWHERE, "prod", "test"),
            (
                "^2",
                HERE,
                "prod",
                "db `^2` must be deployed in the environment `prod` first; version 1.2.0 is deployed in the environment `prod`",
            ),
            (
                ">=1",
                HERE,
                "other",
                "db `>=1` must be deployed in the environment `other` first",
            ),
            (
                "^3",
                ANYWHERE,
                "prod",
                "db `^3` must be deployed in any environment first; version 2.0.0 is deployed in the environment `test`",
            ),
        ] {
            assert_eq!(found(version, scope, environment), expected);
        }
    }

    #[test]
    fn what_others_need_is_named_when_it_goes() {
        let (here, anywhere) = ([needed("db", "^1", HERE)], [needed("db", "^1", ANYWHERE)]);
        let state = state(&[
            ("prod/db-1.2.0", &[]),
            ("test/db-1.3.0", &[]),
            ("prod/shop-1.0.0", &here),
            ("prod/cart-1.0.0", &anywhere),
        ]);
        let after = |after: &dyn Fn(&str) -> Option<&'static str>| {
            let after = |space: &NamespaceRecord, version: &Version| {
                let version = match after(space.environment.as_str()) {
                    Some("same") => return Some(version.clone()),
                    version => version?,
                };
                Some(version.parse().unwrap())
            };
            let found = needed_by(&state, &"db".parse().unwrap(), after);
            let found = found.iter().map(ToString::to_string);
            found.collect::<Vec<_>>()
        };
        let of_shop = "shop 1.0.0 in the environment `prod` requires db `^1`";
        let of_cart = "cart 1.0.0 in the environment `prod` requires db `^1`";
        assert_eq!(after(&|_| Some("same")), [""; 0]);
        assert_eq!(after(&|_| None), [of_shop, of_cart]);
        // A need with the scope of the cluster is still met by the other deployment.
        let leaves =
            |environment: &'static str| move |name: &str| (name != environment).then_some("same");
        assert_eq!(after(&leaves("prod")), [of_shop]);
        assert_eq!(after(&leaves("test")), [""; 0]);
        let becomes = |version: &'static str| {
            move |name: &str| Some(if name == "prod" { version } else { "same" })
        };
        assert_eq!(after(&becomes("2.0.0")), [of_shop]);
        assert_eq!(after(&becomes("1.9.0")), [""; 0]);
    }

    #[test]
    fn what_was_not_met_before_keeps_nothing() {
        let needs = [needed("db", "^2", HERE)];
        let state = state(&[("prod/db-1.2.0", &[]), ("prod/shop-1.0.0", &needs)]);
        assert_eq!(needed_by(&state, &"db".parse().unwrap(), |_, _| None), []);
    }

    #[test]
    fn solutions_that_would_need_each_other_are_told_in_their_order() {
        let (a, db) = ([needed("shop", "1", HERE)], [needed("db", "*", HERE)]);
        let state = state(&[
            ("prod/db-1.0.0", &a),
            ("prod/cart-1.0.0", &db),
            ("test/db-2.0.0", &[]),
        ]);
        let found = |environment: &str, name: &str, scope| {
            let needed = [needed(name, "*", scope)];
            let environment = environment.parse().unwrap();
            circle(&state, &environment, &"shop".parse().unwrap(), &needed)
                .map(|unmet| serde_json::to_value(unmet).unwrap()["solutions"].clone())
        };
        assert_eq!(
            found("prod", "cart", HERE),
            Some(json!(["shop", "cart", "db", "shop"]))
        );
        assert_eq!(
            found("prod", "db", ANYWHERE),
            Some(json!(["shop", "db", "shop"]))
        );
        assert_eq!(found("test", "db", HERE), None);
        assert_eq!(found("prod", "cache", HERE), None);
        assert_eq!(
            found("prod", "shop", HERE),
            Some(json!(["shop", "shop"])),
            "itself"
        );
    }
}
