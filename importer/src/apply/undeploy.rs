//! Undeploys a Solution: stops its operator in an environment and removes the objects that were deployed with it.
//! [`Undeployment`] does so with the rights of a cluster administrator, and [`undeploy_alone`] with those of a
//! namespace administrator.

use std::collections::BTreeSet;
use std::iter;

use kubernetes::Cluster;
use schemas::{EnvironmentName, KubernetesName, Namespace, SolutionName, Version};

use crate::apply::change::Change;
use crate::apply::journal::WriteLog;
use crate::apply::leased::{Leased, LeasedDecision};
use crate::apply::lifecycle::{
    Leave, RemovalReport, Spaces, applied, check_carried, clear, hand_for, leaving, note_releases,
    remove_operators, shared_login, still_needed,
};
use crate::apply::releases::HelmRunner;
use crate::decide::rights::{check_removing, of_change};
use crate::model::blocker::prerequisites::UnmetPrerequisite;
use crate::model::blocker::{AdministratorTask, Blocker};
use crate::model::error::{Error, check_free};
use crate::model::writer::{Authority, Verb};
use crate::records::cleanup::RemoveSets;
use crate::records::namespace_record::{DeployedSolution, NamespaceRecord};
use crate::records::receipt::ChangeSubject;
use crate::records::state::ClusterState;
use crate::records::visibility::UnreadableParts;

/// The Solution to undeploy from an environment.
#[derive(Clone, Copy, Debug)]
pub struct Undeployment<'a> {
    /// The Solution.
    pub solution: &'a SolutionName,
    /// The environment.
    pub environment: &'a EnvironmentName,
    /// The only namespace to undeploy from. `None` means all namespaces of the environment.
    pub namespace: Option<&'a Namespace>,
    /// The choice to apply the sets for removal first, or to skip them.
    pub sets: RemoveSets,
    /// The version that must be deployed. Another one under the same name is refused.
    pub brought: Option<FleetVersion<'a>>,
}

/// A version that a fleet has deployed.
#[derive(Clone, Copy, Debug)]
pub struct FleetVersion<'a> {
    /// The name of the fleet.
    pub fleet: &'a KubernetesName,
    /// The version.
    pub version: &'a Version,
}

impl FleetVersion<'_> {
    fn is(&self, deployed: &DeployedSolution) -> bool {
        let fleet = deployed.fleet.as_ref().map(|choices| choices.fleet());
        deployed.version == *self.version && fleet == Some(self.fleet)
    }
}

/// A Solution that no longer needs the undeployed one, because an earlier step of the run undeploys or upgrades it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoLongerNeeding {
    /// The Solution.
    pub solution: SolutionName,
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace from which it was undeployed. `None` if it is still deployed.
    pub left: Option<Namespace>,
}

impl NoLongerNeeding {
    /// Checks whether a blocker is caused by this Solution's need of the undeployed one.
    fn explains(&self, blocker: &Blocker) -> bool {
        match blocker {
            Blocker::Unmet(unmet) => match &**unmet {
                UnmetPrerequisite::NeededBy {
                    needed_by,
                    environment,
                    ..
                } => *needed_by == self.solution && *environment == self.environment,
                _ => false,
            },
            Blocker::LoginUsed {
                namespace,
                solution,
                ..
            } => *solution == self.solution && self.left.as_ref() == Some(namespace),
            _ => false,
        }
    }
}

/// Returns the blockers that remain after these Solutions have changed.
fn remaining(mut blockers: Vec<Blocker>, earlier: &[NoLongerNeeding]) -> Vec<Blocker> {
    blockers.retain(|blocker| !earlier.iter().any(|earlier| earlier.explains(blocker)));
    blockers
}

/// Returns the blocker that an object would be removed or applied that was not shown.
fn unplanned(spaces: &Spaces, shown: &RemovalReport) -> Option<Blocker> {
    let removed = spaces
        .iter()
        .flat_map(|leave| &leave.objects)
        .map(ToString::to_string)
        .find(|object| !shown.removed.contains(object));
    let applied = || {
        let mut applied = applied(spaces).into_iter();
        applied.find(|object| !shown.applied.contains(object))
    };
    let object = removed.or_else(applied)?;
    Some(Blocker::Unplanned { object })
}

impl Undeployment<'_> {
    /// Stops the operator and removes its objects. Objects that the operator created for its users (custom resources
    /// and their dependents) are kept.
    pub async fn carry_out(&self, change: &Change<'_>) -> Result<RemovalReport, Error> {
        self.undeploy(change, &[], None).await
    }

    /// Undeploys in the same way if the effects are exactly those that were shown.
    pub async fn carry_out_as_shown(
        &self,
        change: &Change<'_>,
        shown: &RemovalReport,
    ) -> Result<RemovalReport, Error> {
        let anew = self.foresee(change, &[]).await?;
        if let Some(object) = shown.differs(&anew) {
            return Err(Blocker::NotAsShown { object }.into());
        }
        self.undeploy(change, &[], Some(shown)).await
    }

    /// Returns the effects of undeploying once these Solutions no longer need it. Nothing is written.
    pub async fn foresee(
        &self,
        change: &Change<'_>,
        earlier: &[NoLongerNeeding],
    ) -> Result<RemovalReport, Error> {
        self.undeploy(&change.dry(), earlier, None).await
    }

    /// Undeploys the Solution. Blockers that the `earlier` changes remove do not count. If the removal was shown,
    /// nothing else is removed or applied.
    async fn undeploy(
        &self,
        change: &Change<'_>,
        earlier: &[NoLongerNeeding],
        shown: Option<&RemovalReport>,
    ) -> Result<RemovalReport, Error> {
        let Undeployment {
            solution,
            environment,
            namespace,
            sets,
            brought,
        } = *self;
        let wanted = |space: &&NamespaceRecord| {
            space.solutions.contains_key(solution)
                && namespace.is_none_or(|namespace| space.namespace == *namespace)
        };
        let about = |state: &ClusterState| {
            let spaces = state.environment(environment).filter(wanted);
            ChangeSubject::leaving(Verb::Undeploy, solution, state, spaces)
        };
        let decide = async |state: &ClusterState| {
            let mut others = state.environment(environment).filter(wanted);
            if let Some(brought) = brought
                && let Some(other) = others.find(|space| !brought.is(&space.solutions[solution]))
            {
                let object = format!("{solution} in namespace {}", other.namespace);
                return Err(Blocker::NotAsShown { object }.into());
            }
            let spaces = state.environment(environment).filter(wanted);
            let (cluster, authority) = (change.cluster, &Authority::Cluster);
            let spaces = leaving(cluster, authority, solution, state, spaces, sets).await?;
            if spaces.is_empty() {
                return Err(Blocker::NotDeployed {
                    solution: solution.clone(),
                    environment: environment.clone(),
                }
                .into());
            }
            let blockers = in_the_way(cluster, authority, state, solution, &spaces).await?;
            let unplanned = shown.and_then(|shown| unplanned(&spaces, shown));
            let blockers = unplanned.into_iter().chain(remaining(blockers, earlier));
            check_free(blockers.collect(), &[])?;
            let is_active = state.active.contains_key(solution);
            let hand = hand_for(solution, &spaces, change).await?;
            Ok(Stopping {
                spaces,
                hand,
                is_active,
            })
        };
        let act = async |leased: &mut Leased<'_>, stopping: &mut Stopping| {
            let (spaces, hand) = (&mut stopping.spaces, stopping.hand.as_ref());
            note_releases(leased, solution, spaces).await?;
            // The rest of the change concerns only this environment, so other writers need not wait for it.
            if let Some(leave) = spaces.first() {
                leased.leave_cluster(&leave.space).await?;
            }
            remove_operators(leased, hand, solution, spaces, change.deadline).await
        };
        let mut needs = of_change();
        needs.left(namespace.map(Namespace::as_str));
        needs.found_everywhere();
        let clear = async |stopping: &Stopping| clear(change, solution, &stopping.spaces).await;
        let made = change.make_clearing(&needs, about, clear, decide, act);
        let (stopping, done) = made.await?;
        Ok(undeployed(solution, &stopping, done))
    }
}

/// The decision to stop a Solution.
struct Stopping {
    spaces: Spaces,
    /// The runner that uninstalls its releases, if there are any.
    hand: Option<HelmRunner>,
    /// The presence of its CRDs, which are kept together with their custom resources.
    is_active: bool,
}

/// Undeploys a Solution with the rights of an administrator of only this namespace, as far as that administrator
/// deployed it there.
pub async fn undeploy_alone(
    change: &Change<'_>,
    solution: &SolutionName,
    namespace: &Namespace,
) -> Result<RemovalReport, Error> {
    let (cluster, authority) = (change.cluster, &Authority::Namespace(namespace.clone()));
    let decide = async || -> Result<LeasedDecision<Stopping>, Error> {
        let mut sight = UnreadableParts::default();
        let mut state = sight.state(cluster, Some(namespace)).await?;
        sight.own(cluster, namespace, &mut state).await?;
        let own = |_: &&NamespaceRecord| state.own.contains(solution);
        let spaces = state.namespaces.iter().filter(own);
        let about = ChangeSubject::leaving(Verb::Undeploy, solution, &state, spaces.clone());
        // Deployments of a namespace administrator have no sets for removal.
        let sets = RemoveSets::Apply;
        let spaces = leaving(cluster, authority, solution, &state, spaces, sets).await?;
        if spaces.is_empty() {
            let mut blockers = Vec::new();
            check_removing(
                cluster,
                authority,
                [namespace].into_iter(),
                iter::empty(),
                &mut blockers,
            )
            .await?;
            let theirs = AdministratorTask::DeployedByOthers {
                solution: solution.clone(),
                namespace: namespace.clone(),
            };
            blockers.push(theirs.into());
            check_free(blockers, &[])?;
        }
        let blockers = in_the_way(cluster, authority, &state, solution, &spaces).await?;
        check_free(blockers, &[])?;
        // A user without the right to read CRDs gets no note about them.
        let stopping = Stopping {
            spaces,
            hand: None,
            is_active: state.active.contains_key(solution),
        };
        Ok(LeasedDecision {
            what: stopping,
            subject: about,
            environments: BTreeSet::new(),
        })
    };
    let act = async |leased: &mut Leased<'_>, stopping: &mut Stopping| {
        let spaces = &mut stopping.spaces;
        remove_operators(leased, None, solution, spaces, change.deadline).await
    };
    let nothing = async |_: &Stopping| Ok(Vec::new());
    let first = decide().await?;
    let made = change.make_decided(authority, first, nothing, decide, act);
    let (stopping, done) = made.await?;
    Ok(undeployed(solution, &stopping, done))
}

fn undeployed(
    solution: &SolutionName,
    stopping: &Stopping,
    done: Option<WriteLog>,
) -> RemovalReport {
    let spaces = &stopping.spaces;
    let objects = spaces.iter().flat_map(|leave| &leave.objects);
    let note = stopping.is_active.then(|| {
        format!(
            "custom resources of {solution} that it did not create itself are kept, with all objects that belong to them"
        )
    });
    let stay = spaces.iter().flat_map(Leave::notes).cloned();
    let undone = RemovalReport::new(done, objects, stay.chain(note).collect());
    RemovalReport {
        applied: applied(spaces),
        ..undone
    }
}

/// Returns the reasons why an operator cannot be removed from these namespaces, or not by this user.
async fn in_the_way(
    cluster: &Cluster,
    authority: &Authority,
    state: &ClusterState,
    solution: &SolutionName,
    spaces: &Spaces,
) -> Result<Vec<Blocker>, Error> {
    let mut blockers = still_needed(state, solution, spaces);
    let shared = spaces.iter();
    blockers.extend(shared.filter_map(|leave| shared_login(&leave.space, solution)));
    let namespaces = spaces.iter().map(|leave| &leave.space.namespace);
    let objects = spaces.iter().flat_map(|leave| &leave.own);
    check_removing(cluster, authority, namespaces, objects, &mut blockers).await?;
    check_carried(cluster, solution, spaces, &mut blockers).await?;
    Ok(blockers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::layer::tests::choices;

    #[test]
    fn custom_resources_stay_where_there_is_a_definition_of_them() {
        let notes = |is_active| {
            let spaces = Spaces::new();
            let stopping = Stopping {
                spaces,
                hand: None,
                is_active,
            };
            undeployed(&"shop".parse().unwrap(), &stopping, None).notes
        };
        assert_eq!(notes(false), [""; 0]);
        let words = "custom resources of shop that it did not create itself are kept";
        assert!(notes(true)[0].starts_with(words), "{:?}", notes(true));
    }

    #[test]
    fn what_a_fleet_brought_is_told_by_its_name_and_version() {
        let deployed = |version: &str, site: Option<&str>| {
            let deployed = serde_json::json!({ "version": version });
            let mut deployed: DeployedSolution = serde_json::from_value(deployed).unwrap();
            deployed.fleet = site.map(|fleet| Box::new(choices(fleet)));
            deployed
        };
        let (shops, version) = ("shops".parse().unwrap(), "1.0.0".parse().unwrap());
        let brought = FleetVersion {
            fleet: &shops,
            version: &version,
        };
        assert!(brought.is(&deployed("1.0.0", Some("{}"))));
        assert!(!brought.is(&deployed("1.1.0", Some("{}"))));
        assert!(!brought.is(&deployed("1.0.0", None)));
        let other = FleetVersion {
            fleet: &"carts".parse().unwrap(),
            ..brought
        };
        assert!(!other.is(&deployed("1.0.0", Some("{}"))));
    }

    /// Returns the blocker that `needed_by 1.0.0` in an environment needs the undeployed Solution.
    fn needed_by(needed_by: &str, environment: &str) -> Blocker {
        Blocker::from(UnmetPrerequisite::NeededBy {
            solution: "db".parse().unwrap(),
            range: "^1".parse().unwrap(),
            needed_by: needed_by.parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            environment: environment.parse().unwrap(),
        })
    }

    /// Returns the blocker that a Solution uses the pull secret of the undeployed one in the namespace `prod`.
    fn used_by(solution: &str) -> Blocker {
        Blocker::LoginUsed {
            secret: "db-registry-login".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            solution: solution.parse().unwrap(),
        }
    }

    #[test]
    fn what_needs_it_no_longer_by_then_is_not_in_the_way() {
        let earlier = |left: Option<&str>| NoLongerNeeding {
            solution: "shop".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            left: left.map(|namespace| namespace.parse().unwrap()),
        };
        let all = [
            needed_by("shop", "prod"),
            needed_by("shop", "test"),
            needed_by("cart", "prod"),
            used_by("shop"),
            used_by("cart"),
            Blocker::changed(["Role prod/a"]),
        ];
        let [_, test, cart, login, other_login, changed] = all.clone();
        let remaining = |earlier: &[NoLongerNeeding]| remaining(all.to_vec(), earlier);
        assert_eq!(remaining(&[]), all);
        let left = [
            test.clone(),
            cart.clone(),
            other_login.clone(),
            changed.clone(),
        ];
        assert_eq!(remaining(&[earlier(Some("prod"))]), left);
        // A Solution that is still deployed may still use the pull secret.
        let stays = [test, cart, login, other_login, changed];
        assert_eq!(remaining(&[earlier(None)]), stays);
        assert_eq!(remaining(&[earlier(Some("prod-2"))]), stays);
    }

    #[test]
    fn what_is_removed_otherwise_than_shown_is_named() {
        let of = |applied: &[&str], removed: &[&str]| RemovalReport {
            applied: applied.iter().map(|object| (*object).to_owned()).collect(),
            removed: removed.iter().map(|object| (*object).to_owned()).collect(),
            notes: vec![removed.len().to_string()],
            ..RemovalReport::default()
        };
        let shown = of(&["job"], &["a", "b"]);
        for (anew, expected) in [
            (of(&["job"], &["a", "b"]), None),
            (of(&["job"], &["a", "c", "b"]), Some("c")),
            (of(&["job"], &["a"]), Some("b")),
            (of(&[], &["a", "b"]), Some("job")),
            (of(&["job", "other"], &["a", "b"]), Some("other")),
            // The order of the removals differs.
            (of(&["job"], &["b", "a"]), Some("a")),
        ] {
            assert_eq!(shown.differs(&anew).as_deref(), expected, "{anew:?}");
        }
        let noted = RemovalReport {
            notes: Vec::new(),
            ..shown.clone()
        };
        assert_eq!(shown.differs(&noted), None, "what stays is not done");
    }
}
