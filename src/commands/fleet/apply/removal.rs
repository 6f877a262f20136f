//! The removal of what stands in a cluster of a fleet: what it would do, and that it does no more than that.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use deployer::Cluster;
use importer::{
    Brought, Change, Event, HelmProgram, RemoveSets, Run, Undeployment, Undone, Writer,
};
use schemars::JsonSchema;
use schemas::{KubernetesName, Namespace, PlacedVersion};
use serde::Serialize;
use serde_json::json;

use super::super::standing::StandingVersion;
use crate::failure::Failure;

/// Which removals are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands::fleet) enum Removals {
    /// None are planned.
    None,
    /// Those to which somebody says yes who reads the plan.
    Asked,
    /// All that are planned.
    Confirmed,
}

/// How whatever leaves a fleet is removed.
pub(in crate::commands::fleet) struct Removing {
    /// The fleet that has brought it.
    pub(super) fleet: KubernetesName,
    pub(super) writer: Writer,
    pub(super) deadline: Duration,
    pub(super) helm: HelmProgram,
    /// Ids of releases that are uninstalled as they stand.
    pub(super) accepted: BTreeSet<String>,
    pub(super) sets: RemoveSets,
}

/// Something that stands in a cluster and leaves it, or would.
pub(in crate::commands::fleet) struct FoundDeparture {
    pub(in crate::commands::fleet) standing: StandingVersion,
    /// Why it leaves, or why it stays, where that is worth a word.
    pub(in crate::commands::fleet) note: Option<String>,
    /// How it is removed; none if it stays.
    pub(in crate::commands::fleet) removing: Option<Arc<Removing>>,
}

/// A removal, and all that doing it needs.
pub(super) struct RemovalWork {
    pub(super) planned: PlannedRemoval,
    pub(super) removing: Arc<Removing>,
}

/// A removal, planned or done.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct PlannedRemoval {
    /// The namespace that it leaves.
    pub(super) namespace: Namespace,
    #[serde(flatten)]
    pub(super) undone: Undone,
}

impl FoundDeparture {
    /// What the file no longer has: it leaves where something says how.
    pub(super) fn of_unlisted(
        standing: Vec<StandingVersion>,
        removing: Option<&Arc<Removing>>,
    ) -> Vec<Self> {
        let note = match removing {
            Some(_) => "no longer in the file",
            None => "no longer in the file; remove it with `--prune`",
        };
        let departure = |standing| Self {
            standing,
            note: Some(note.to_owned()),
            removing: removing.cloned(),
        };
        standing.into_iter().map(departure).collect()
    }
}

impl Removing {
    pub(super) fn change<'a>(
        &'a self,
        cluster: &'a Cluster,
        tell: &'a (dyn Fn(Event) + Send + Sync),
    ) -> Change<'a> {
        Change {
            cluster,
            writer: &self.writer,
            tell,
            deadline: self.deadline,
            run: Run::Real,
            helm: &self.helm,
            accepted: self.accepted.clone(),
        }
    }

    pub(super) fn undeployment<'a>(
        &'a self,
        placed: &'a PlacedVersion,
        namespace: &'a Namespace,
    ) -> Undeployment<'a> {
        Undeployment {
            solution: &placed.solution,
            environment: &placed.environment,
            namespace: Some(namespace),
            sets: self.sets,
            brought: Some(Brought {
                fleet: &self.fleet,
                version: &placed.version,
            }),
        }
    }
}

impl RemovalWork {
    /// Removes what was shown, if it is still that.
    pub(super) async fn carry_out(
        &self,
        placed: &PlacedVersion,
        cluster: &Cluster,
        tell: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<PlannedRemoval, Failure> {
        let PlannedRemoval { namespace, undone } = &self.planned;
        let change = self.removing.change(cluster, tell);
        let undeployment = self.removing.undeployment(placed, namespace);
        let undone = undeployment.carry_out_as_shown(&change, undone).await?;
        Ok(PlannedRemoval {
            namespace: namespace.clone(),
            undone,
        })
    }

    /// What somebody agrees to who agrees to it.
    pub(super) fn essence(&self) -> String {
        let PlannedRemoval { namespace, undone } = &self.planned;
        let Undone {
            applied, removed, ..
        } = undone;
        json!({ "namespace": namespace, "applied": applied, "removed": removed }).to_string()
    }
}

#[cfg(test)]
pub(in crate::commands::fleet) mod tests {
    use super::*;
    use crate::args::ChangeArguments;
    use crate::{cluster, helm};

    /// How a user of this machine removes.
    pub(in crate::commands::fleet) fn removing() -> Arc<Removing> {
        Arc::new(Removing {
            fleet: "shops".parse().unwrap(),
            writer: cluster::writer(&ChangeArguments::default()).unwrap(),
            deadline: Duration::from_secs(1),
            helm: helm::installer(None),
            accepted: BTreeSet::new(),
            sets: RemoveSets::Apply,
        })
    }

    #[test]
    fn who_agrees_to_a_removal_agrees_to_its_objects_alone() {
        let essence = |namespace: &str, removed: &[&str], notes: &[&str]| {
            let texts = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
            let undone = Undone {
                removed: texts(removed),
                notes: texts(notes),
                ..Undone::default()
            };
            let planned = PlannedRemoval {
                namespace: namespace.parse().unwrap(),
                undone,
            };
            let removing = removing();
            RemovalWork { planned, removing }.essence()
        };
        let one = essence("prod", &["a"], &[]);
        assert_eq!(essence("prod", &["a"], &["b stays"]), one);
        assert_ne!(essence("prod", &["a", "b"], &[]), one);
        assert_ne!(essence("test", &["a"], &[]), one);
    }
}
