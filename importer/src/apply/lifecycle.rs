//! The removal of a Solution's CRDs ([`deactivate`]), and the steps that undeploying, unimporting and deleting share
//! with it. [`leaving`] finds the objects to remove, [`remove_operators`] removes them in a safe order, and
//! [`RemovalReport`] describes the result.

use std::collections::BTreeSet;
use std::iter;
use std::time::Duration;

use kubernetes::{Cluster, Object, ObjectRef};
use planner::{ReleaseEntry, owner_of};
use schemars::JsonSchema;
use schemas::{Namespace, SolutionName, Version};
use serde::Serialize;
use store::Record;

use crate::apply::change::Change;
use crate::apply::definitions::Definitions;
use crate::apply::journal::WriteLog;
use crate::apply::leased::Leased;
use crate::apply::object_removal;
use crate::apply::releases::{self, HelmRunner};
use crate::decide::rights::{
    check_cleaning, check_labels, check_removing, check_withdrawing, of_change,
};
use crate::model::blocker::Blocker;
use crate::model::error::{Error, EvenIfUsed, Use, check_free};
use crate::model::writer::{Authority, Verb};
use crate::objects::pull_secret::{self, DefaultAccount};
use crate::objects::releases::program::program;
use crate::objects::releases::stored::StoredRelease;
use crate::objects::releases::uninstalled;
use crate::objects::uses::{Images, workloads};
use crate::objects::withdrawal::{Withdrawal, remaining};
use crate::records::cleanup::RemoveSets;
use crate::records::dependencies::needed_by;
use crate::records::inventory::{self, DeploymentPlace};
use crate::records::namespace_record::{self, NamespaceRecord, namespace_reference};
use crate::records::receipt::{ChangeSubject, Revision};
use crate::records::record;
use crate::records::state::ClusterState;
use crate::records::storage::read_if_allowed;

/// The objects that were removed, or would be, and those that are left.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Undone")]
pub struct RemovalReport {
    /// Every object that was applied before the removal, or would be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applied: Vec<String>,
    /// Every object that was removed, or would be.
    pub removed: Vec<String>,
    /// The objects that are kept, and how to remove them.
    pub notes: Vec<String>,
    /// The objects that still used it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
    /// Manifests that were deleted at the registry, or would be, as `HOST/REPOSITORY@DIGEST`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freed: Vec<String>,
    /// The revision of the change in the cluster's history. It is missing if nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub revision: Option<Revision>,
}

impl RemovalReport {
    /// Returns an object that is treated differently in the two results, or in another position. Notes are not
    /// compared, since kept objects are not changed.
    #[must_use]
    pub fn differs(&self, other: &Self) -> Option<String> {
        let differing = |here: &[String], there: &[String]| {
            let longest = here.len().max(there.len());
            let at = (0..longest).find(|at| here.get(*at) != there.get(*at))?;
            let is_new = |object: &&String| !here.contains(object);
            let new = there.get(at).filter(is_new);
            new.or_else(|| here.get(at)).cloned()
        };
        let applied = differing(&self.applied, &other.applied);
        applied.or_else(|| differing(&self.removed, &other.removed))
    }

    /// Returns the removed objects, or those that would be removed in a dry run.
    pub(crate) fn new<'a>(
        done: Option<WriteLog>,
        would: impl IntoIterator<Item = &'a ObjectRef>,
        notes: Vec<String>,
    ) -> Self {
        let would = || WriteLog {
            removed: would.into_iter().map(ToString::to_string).collect(),
            ..WriteLog::default()
        };
        let WriteLog {
            removed, revision, ..
        } = done.unwrap_or_else(would);
        Self {
            removed,
            notes,
            revision,
            ..Self::default()
        }
    }
}

/// The namespaces from which a Solution is removed.
pub(crate) type Spaces = Vec<Leave>;

/// A namespace from which a Solution is removed.
#[derive(Debug)]
pub(crate) struct Leave {
    pub(crate) space: NamespaceRecord,
    /// The generated pull secret, and the record of a namespace administrator's deployment.
    pub(crate) own: Vec<ObjectRef>,
    /// The packaged objects to remove.
    pub(crate) carried: Withdrawal,
    /// Every object to remove, in this order.
    pub(crate) objects: Vec<ObjectRef>,
    /// The notes on kept objects other than the packaged ones.
    pub(crate) stays: Vec<String>,
}

impl Leave {
    /// Returns the releases of its charts in the order of their installation.
    fn releases(&self) -> impl DoubleEndedIterator<Item = &ReleaseEntry> {
        self.carried.recorded.releases.iter()
    }

    /// Returns a note on each object that is known to be kept.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &String> {
        self.carried.notes.iter().chain(&self.stays)
    }
}

/// Returns the objects that are applied before anything is removed.
pub(crate) fn applied(spaces: &Spaces) -> Vec<String> {
    let applied = spaces.iter().flat_map(|leave| leave.carried.applied());
    applied.map(|object| object.to_string()).collect()
}

/// Returns the blockers that other Solutions need the Solution in these namespaces.
pub(crate) fn still_needed(
    state: &ClusterState,
    solution: &SolutionName,
    spaces: &Spaces,
) -> Vec<Blocker> {
    let leaves = |namespace: &Namespace| {
        spaces
            .iter()
            .any(|leave| leave.space.namespace == *namespace)
    };
    let after = |space: &NamespaceRecord, version: &Version| {
        (!leaves(&space.namespace)).then(|| version.clone())
    };
    let needed = needed_by(state, solution, after).into_iter();
    needed.map(Blocker::from).collect()
}

/// Adds the blockers of the removal of the packaged objects.
pub(crate) async fn check_carried(
    cluster: &Cluster,
    solution: &SolutionName,
    spaces: &Spaces,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let withdrawals = spaces.iter().map(|leave| &leave.carried);
    check_withdrawing(cluster, withdrawals.clone(), blockers).await?;
    blockers.extend(withdrawals.flat_map(|withdrawal| withdrawal.blockers.clone()));
    let gives = |space: &NamespaceRecord| {
        let deployed = space.solutions.get(solution);
        deployed.is_some_and(|deployed| !deployed.labels.is_empty())
    };
    let labelled = spaces
        .iter()
        .map(|leave| &leave.space)
        .filter(|space| gives(space));
    check_labels(cluster, labelled.map(|space| &space.namespace), blockers).await?;
    for leave in spaces.iter().filter(|leave| leave.carried.cleans_up()) {
        let (namespace, cleanup) = (&leave.space.namespace, &leave.carried.cleanup);
        check_cleaning(cluster, solution, namespace, cleanup, blockers).await?;
    }
    Ok(())
}

/// Returns the objects that a Solution has in these namespaces.
pub(crate) async fn leaving<'a>(
    cluster: &Cluster,
    authority: &Authority,
    solution: &SolutionName,
    state: &ClusterState,
    spaces: impl IntoIterator<Item = &'a NamespaceRecord>,
    sets: RemoveSets,
) -> Result<Spaces, Error> {
    let mut leaving = Spaces::new();
    for space in spaces {
        let place = DeploymentPlace {
            cluster,
            authority,
            solution,
            space,
        };
        let carried = Withdrawal::plan(place, state, sets).await?;
        let own = beside(place, space).await?;
        let mut objects: Vec<ObjectRef> = carried.references().chain(own.clone()).collect();
        let mut stays = Vec::new();
        for release in &carried.recorded.releases {
            let uninstalled = uninstalled(cluster, solution, release).await?;
            objects.extend(uninstalled.goes);
            stays.extend(uninstalled.stays);
        }
        if *authority == Authority::Cluster && !carried.recorded.is_empty() {
            objects.push(inventory::reference(solution, &space.namespace));
        }
        if carried.recorded.has_parts() {
            let releases = &carried.recorded.releases;
            stays.extend(remaining(cluster, space, &objects, releases).await?);
        }
        let space = space.clone();
        leaving.push(Leave {
            space,
            own,
            carried,
            objects,
            stays,
        });
    }
    Ok(leaving)
}

/// Returns the objects of a Solution that its inventory does not name: the generated pull secret, and the record of a
/// namespace administrator's deployment.
async fn beside(
    place: DeploymentPlace<'_>,
    space: &NamespaceRecord,
) -> Result<Vec<ObjectRef>, Error> {
    let (solution, namespace) = (place.solution, &space.namespace);
    let deployed = space.solutions.get(solution);
    let secret = deployed
        .and_then(|deployed| deployed.pull_secret.as_ref())
        .filter(|secret| **secret == pull_secret::secret_name(solution));
    let mut beside = Vec::new();
    if let Some(secret) = secret {
        let reference = pull_secret::reference(namespace, secret);
        let live = read_if_allowed(place.cluster, &reference).await?;
        let ours = live.filter(|live| owner_of(live, solution).is_ok());
        beside.extend(ours.map(|_| reference));
    }
    if let Authority::Namespace(_) = place.authority {
        beside.push(namespace_record::own_reference(namespace, solution));
    }
    Ok(beside)
}

/// Returns the blocker that another Solution of the namespace uses the generated pull secret of this one, which would
/// be deleted.
pub(crate) fn shared_login(space: &NamespaceRecord, solution: &SolutionName) -> Option<Blocker> {
    let login = pull_secret::secret_name(solution);
    let pulls = |name: &SolutionName| {
        let deployed = space.solutions.get(name);
        deployed.is_some_and(|deployed| deployed.pull_secret.as_ref() == Some(&login))
    };
    let mut others = space.solutions.keys().filter(|name| *name != solution);
    // A pull secret of the same name that belongs to the site is kept.
    let other = others.find(|name| pulls(solution) && pulls(name))?;
    Some(Blocker::LoginUsed {
        secret: login.clone(),
        namespace: space.namespace.clone(),
        solution: other.clone(),
    })
}

/// Returns the runner that uninstalls the releases in these namespaces. A missing program is a blocker, and so is a
/// release that was changed since an import stored it.
pub(crate) async fn hand_for(
    solution: &SolutionName,
    spaces: &Spaces,
    change: &Change<'_>,
) -> Result<Option<HelmRunner>, Error> {
    let releases = || spaces.iter().flat_map(Leave::releases);
    if releases().next().is_none() {
        return Ok(None);
    }
    let mut blockers = Vec::new();
    let helm = program(change.helm, &mut blockers).await?;
    for release in releases() {
        let (name, known) = (&release.name, &release.revisions);
        let stored = StoredRelease::find(change.cluster, &release.namespace, name).await?;
        let stored =
            stored.filter(|stored| stored.is_of(solution, known) && !stored.is_known(known));
        let unknown = stored.filter(|stored| !change.accepted.contains(&stored.id()));
        blockers.extend(unknown.map(|stored| stored.unknown(release)));
    }
    check_free(blockers, &[])?;
    Ok(helm.map(|helm| HelmRunner::new(&helm, solution).accepting(&change.accepted)))
}

/// Removes the webhooks in these namespaces that are to be removed and prevent a Lease from being taken. Returns the
/// removed ones.
pub(crate) async fn clear(
    change: &Change<'_>,
    solution: &SolutionName,
    spaces: &Spaces,
) -> Result<Vec<ObjectRef>, Error> {
    let mut cleared = Vec::new();
    for leave in spaces {
        cleared.extend(leave.carried.clear(change.cluster, solution).await?);
        for release in leave.releases() {
            let going = releases::interceptors(change.cluster, solution, release).await?;
            cleared.extend(object_removal::clear(change.cluster, &going).await?);
        }
    }
    Ok(cleared)
}

/// Records the releases in the inventories of these namespaces. Until record format 3, the record of the namespace
/// named them. It must not be rewritten, and Helm must not store a revision, before the inventory names them.
pub(crate) async fn note_releases(
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    spaces: &Spaces,
) -> Result<(), Error> {
    for leave in spaces
        .iter()
        .filter(|leave| leave.releases().next().is_some())
    {
        let namespace = &leave.space.namespace;
        let recorded = inventory::to_object(&leave.carried.recorded, solution, namespace);
        leased.keep(recorded).await?;
    }
    Ok(())
}

/// Removes the objects of a Solution in these namespaces, one namespace after the other. Webhooks that could refuse
/// later removals are removed first in all of them, and releases on which other releases depend last.
pub(crate) async fn remove_operators(
    leased: &mut Leased<'_>,
    hand: Option<&HelmRunner>,
    solution: &SolutionName,
    spaces: &mut Spaces,
    deadline: Duration,
) -> Result<(), Error> {
    for leave in spaces.iter_mut() {
        let namespace = &leave.space.namespace;
        let cleaned = leave
            .carried
            .clean_up(leased, solution, namespace, deadline);
        match cleaned.await {
            // The sets for removal run before anything is removed, except webhooks that prevent them from running.
            Err(Error::Cluster(error)) if error.is_unanswered_webhook() => {
                disarm(leave, leased, solution).await?;
                leave
                    .carried
                    .clean_up(leased, solution, namespace, deadline)
                    .await?;
            }
            cleaned => cleaned?,
        }
    }
    for leave in spaces.iter() {
        disarm(leave, leased, solution).await?;
    }
    for leave in spaces {
        let namespace = leave.space.namespace.clone();
        let releases = leave.releases().rev();
        let (last, first): (Vec<_>, Vec<_>) = releases.cloned().partition(|release| release.needed);
        uninstall(hand, &first, &namespace, leased).await?;
        let carried = &mut leave.carried;
        carried.take_disarmed(leased, solution, deadline).await?;
        // Packaged objects may use these releases until they are deleted.
        uninstall(hand, &last, &namespace, leased).await?;
        leave.carried.forget(leased, solution, &namespace).await?;
        remove_operator(leased, solution, leave, deadline).await?;
    }
    Ok(())
}

/// Removes the webhooks that could refuse later removals, including those of releases.
async fn disarm(
    leave: &Leave,
    leased: &mut Leased<'_>,
    solution: &SolutionName,
) -> Result<(), Error> {
    leave.carried.disarm(leased, solution).await?;
    for release in leave.releases() {
        releases::disarm(leased, solution, release).await?;
    }
    Ok(())
}

async fn uninstall(
    hand: Option<&HelmRunner>,
    releases: &[ReleaseEntry],
    home: &Namespace,
    leased: &mut Leased<'_>,
) -> Result<(), Error> {
    for release in releases {
        if let Some(hand) = hand {
            hand.uninstall(release, home, leased).await?;
        }
    }
    Ok(())
}

/// Removes the objects of an operator from a namespace, and updates the records, labels and pull secrets of the
/// namespace.
async fn remove_operator(
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    leave: &mut Leave,
    deadline: Duration,
) -> Result<(), Error> {
    let Leave { space, own, .. } = leave;
    let namespace = space.namespace.clone();
    let deployed = space.solutions.remove(solution);
    space.coming.remove(solution);
    let gave_labels = deployed
        .as_ref()
        .is_some_and(|deployed| !deployed.labels.is_empty());
    if let Some(secret) = deployed.and_then(|deployed| deployed.pull_secret) {
        leased.remove_login(solution, &namespace, &secret).await?;
    }
    // The record of the deployment is deleted last: as long as it exists, running the command again finds the objects
    // that an interruption has left.
    let last = match leased.authority {
        Authority::Cluster => None,
        Authority::Namespace(_) => Some(namespace_record::own_reference(&namespace, solution)),
    };
    own.retain(|object| Some(object) != last.as_ref());
    leased.wait_gone(own.iter().cloned(), deadline).await?;
    release_default_account(leased, solution, space).await?;
    if let Some(own) = last {
        return leased.forget(&own).await;
    }
    // A deleted namespace needs no update of its labels and its ConfigMap.
    let live = leased.cluster.get(&namespace_reference(&namespace)).await?;
    if let Some(live) = live {
        if gave_labels && space.is_of(&live) {
            space.write_space(leased).await?;
        }
        space.note(leased).await?;
    }
    leased.keep(space.to_object()).await
}

/// Removes the pull secrets that were added to the default account and that no remaining Solution needs.
async fn release_default_account(
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    space: &NamespaceRecord,
) -> Result<(), Error> {
    let reference = DefaultAccount::reference(&space.namespace);
    let decide = |live: Option<&Object>| {
        let Some(account) = live.map(DefaultAccount::from_account) else {
            return Ok(None);
        };
        let without = account.clone().deployed(solution, None, space);
        let object = Object::new(without.object(&space.namespace))?;
        Ok((without != account).then_some(object))
    };
    leased.put(&reference, decide).await?;
    Ok(())
}

/// Removes the CRDs of a Solution, and releases those that existed before it. It is refused while the Solution is
/// deployed. It is also refused while workloads run its images or custom resources exist, which would be deleted as
/// well, unless a person overrules this for workloads.
pub async fn deactivate(
    change: &Change<'_>,
    solution: &SolutionName,
    even_if_used: EvenIfUsed,
) -> Result<RemovalReport, Error> {
    let cluster = change.cluster;
    let decide = async |state: &ClusterState| {
        let definitions = Definitions::read(cluster, solution).await?;
        if definitions.is_empty() {
            return Err(Blocker::NotActive {
                solution: solution.clone(),
            }
            .into());
        }
        let mut blockers = deployed(state, solution, None);
        let (in_use, mut uses) = definitions.used(cluster).await?;
        blockers.extend(in_use);
        let images = Images::select(&state.records, |record| record.name == *solution)?;
        let running = workloads(cluster, &images, &BTreeSet::new(), &mut blockers).await?;
        blockers.extend(Blocker::used(solution.as_str(), &running));
        uses.extend(running);
        let (authority, own) = (&Authority::Cluster, definitions.own());
        check_removing(cluster, authority, iter::empty(), own, &mut blockers).await?;
        check_free(even_if_used.without(blockers), &uses)?;
        Ok((definitions, uses))
    };
    let act = async |leased: &mut Leased<'_>, (definitions, _): &mut (Definitions, _)| {
        definitions
            .remove(leased, solution, change.deadline)
            .await?;
        leased.project_without(&[]).await
    };
    let about = |state: &ClusterState| {
        let active = state.active.get(solution);
        ChangeSubject::of_solution(Verb::Deactivate, solution, active, state)
    };
    let mut needs = of_change();
    needs.running();
    let ((definitions, uses), done) = change.make(&needs, about, decide, act).await?;
    let undone = RemovalReport::new(done, definitions.own(), definitions.notes());
    Ok(RemovalReport { uses, ..undone })
}

/// Removes versions. They are removed from the ConfigMap for upstream's controllers first, since nothing would correct
/// the entry of a version without a record.
pub(crate) async fn forget_versions(
    leased: &mut Leased<'_>,
    versions: &[Record],
    deadline: Duration,
) -> Result<(), Error> {
    leased.project_without(versions).await?;
    let records: Vec<ObjectRef> = versions.iter().map(record::place).collect();
    for record in &records {
        leased.forget(record).await?;
    }
    leased.wait_gone(records, deadline).await
}

/// Returns a blocker for each deployment of a Solution, in any version or in this one.
pub(crate) fn deployed(
    state: &ClusterState,
    solution: &SolutionName,
    version: Option<&Version>,
) -> Vec<Blocker> {
    let wanted = |running: &Version| version.is_none_or(|version| running == version);
    let deployments = state.deployments(solution);
    let mut deployed: Vec<Blocker> = deployments
        .filter(|(_, running)| wanted(running))
        .map(|(space, running)| Blocker::Deployed {
            solution: solution.clone(),
            version: running.clone(),
            environment: space.environment.clone(),
        })
        .collect();
    // An environment may have multiple namespaces. The records are sorted by environment, so duplicates are adjacent.
    deployed.dedup();
    deployed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::namespace_record;
    use crate::records::namespace_record::DeployedSolution;
    use crate::records::namespace_record::tests::namespace_record;

    #[test]
    fn a_login_stays_while_another_solution_pulls_with_it() {
        let space = |solutions: [(&str, &str); 2]| {
            let mut space = namespace_record("prod", "prod");
            for (solution, secret) in solutions {
                let deployed = DeployedSolution {
                    pull_secret: Some(secret.parse().unwrap()),
                    ..namespace_record::tests::deployed("1.0.0")
                };
                space.solutions.insert(solution.parse().unwrap(), deployed);
            }
            space
        };
        let shop = "shop".parse().unwrap();
        let login = "shop-registry-login";
        let of = |secrets: [&str; 2]| {
            let [ours, theirs] = secrets;
            let blocker = shared_login(&space([("shop", ours), ("cart", theirs)]), &shop);
            blocker.map(|blocker| blocker.to_string())
        };
        let words =
            "cart pulls images with Secret prod/shop-registry-login, which would be deleted";
        assert_eq!(of([login, login]).as_deref(), Some(words));
        assert_eq!(of([login, "cart-registry-login"]), None);
        assert_eq!(of(["corp", "corp"]), None, "the site's own stays");
        assert_eq!(of(["corp", login]), None, "it does not go with this one");
    }
}
