//! The plan of a change. [`plan`] compares the desired state with the inventory and the live objects, and returns the
//! steps to apply, the objects to prune, the inventories before and after, and the reasons that block the change.
//!
//! A plan is only data. [`Plan::digest`] identifies its effects, so that an approved plan can be compared with the one
//! that is applied later.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use kubernetes::{Object, ObjectError, ObjectRef, Readiness, readiness};
use schemas::{Digest, SetName, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::desired::{DesiredObject, Ownership};
use crate::form;
use crate::inventory::{Entry, Inventory};
use crate::live_objects::{LiveObjects, ReadResult};
use crate::owner::{Claim, InventoryRecord, OwnershipConflict};
use crate::parts::SolutionParts;
use crate::release::ReleaseEntry;
use crate::release_change::ReleaseChange;
use crate::scale::scaled;
use crate::stage::intercepts;
use crate::step::{Action, ObjectChange, Step};
use crate::vocabulary as v;

/// An object that the user asked to delete and create again, written as `StatefulSet/db`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecreateRequest {
    /// The kind of the objects.
    pub kind: String,
    /// The name of the objects, in any namespace.
    pub name: String,
}

impl RecreateRequest {
    /// Checks whether the request is for an object.
    #[must_use]
    pub fn is(&self, object: &ObjectRef) -> bool {
        self.kind == object.gvk.kind && self.name == object.name
    }
}

impl FromStr for RecreateRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(Self {
                kind: kind.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err("is not KIND/NAME, as `StatefulSet/db`".to_owned()),
        }
    }
}

impl TryFrom<String> for RecreateRequest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<RecreateRequest> for String {
    fn from(recreate: RecreateRequest) -> Self {
        recreate.to_string()
    }
}

impl fmt::Display for RecreateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// The action on an inventory entry that the new version no longer contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneAction {
    /// The object is deleted.
    Goes,
    /// The object and its entry are kept.
    Stays,
    /// The object is kept and handed over to another owner.
    HandedOver,
}

/// The state that a version requires in its namespace.
#[derive(Debug)]
pub struct DesiredState<'a> {
    /// The objects: the operator's first, then those of each part in the order of the parts, sorted by stage within a
    /// part.
    pub objects: Vec<DesiredObject>,
    /// The releases that Helm installs.
    pub releases: &'a [&'a str],
    /// The parts, which define the order of objects and releases.
    pub parts: &'a SolutionParts<'a>,
    /// The entries that are left unchanged, because their parts are installed only once.
    pub kept: Vec<Entry>,
    /// The sets to apply before a removal.
    pub cleanup: Vec<SetName>,
}

/// The inputs of a plan besides the desired, recorded and live state.
pub struct Policy<'a> {
    /// The claim of the Solution to its objects.
    pub claim: Claim<'a>,
    /// The objects that the user asked to recreate.
    pub recreate: &'a BTreeSet<RecreateRequest>,
    /// The Deployment that an operator of the Solution has in the namespace.
    pub operator: &'a ObjectRef,
    /// The CRDs that a newer version wrote, which are left unchanged.
    pub newer: &'a BTreeMap<ObjectRef, Version>,
    /// The decision about an entry that the new version no longer contains.
    pub prune_action: &'a dyn Fn(&Entry) -> PruneAction,
}

impl fmt::Debug for Policy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("claim", &self.claim)
            .finish_non_exhaustive()
    }
}

/// A CustomResourceDefinition that is left unchanged because a newer version wrote it.
#[derive(Clone, Debug)]
pub struct NewerDefinition {
    /// The live CustomResourceDefinition.
    pub live: Object,
    /// The version that wrote it.
    pub version: Version,
}

/// The steps of a change, with the inventories before and after it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The inventory to record, with the UIDs that are already known.
    pub inventory: Inventory,
    /// The recorded inventory.
    pub before: Inventory,
    /// The entries that are left unchanged.
    pub kept: Vec<Entry>,
    /// The CRDs that are left unchanged.
    pub newer: Vec<NewerDefinition>,
    /// The live objects to delete after everything else is ready. Only objects listed here are deleted, because a
    /// tenant can create further objects with the same labels at any time.
    pub stale: Vec<Object>,
    /// The live objects that the new version contains in a chart release. Helm takes over the existing objects.
    pub handed: Vec<Object>,
    /// The changes of releases, in the order of installation.
    pub releases: Vec<ReleaseChange>,
    /// The releases that the new version no longer contains, in the order of their removal.
    pub departing: Vec<ReleaseEntry>,
    /// The live objects that have the name of an object to delete, but are not the ones that were applied.
    pub left: Vec<ObjectRef>,
    /// The objects that block the change because of their owners.
    pub blockers: Vec<OwnershipConflict>,
}

/// Returns the steps from the recorded inventory `before` and the `live` objects to the desired `state`.
///
/// # Errors
///
/// Fails if adding the project's annotations makes an object too deeply nested.
pub fn plan(
    state: DesiredState<'_>,
    before: Inventory,
    live: &LiveObjects,
    policy: &Policy<'_>,
) -> Result<Plan, ObjectError> {
    let mut inventory = Inventory {
        entries: state
            .objects
            .iter()
            .filter_map(DesiredObject::entry)
            .collect(),
        cleanup: state.cleanup,
        ..Inventory::default()
    };
    inventory.keep(&state.kept);
    let mut plan = Plan {
        inventory,
        before,
        kept: state.kept,
        ..Plan::default()
    };
    let mut changes = Vec::new();
    for desired in state.objects {
        changes.extend(plan.change(desired, live, policy)?);
    }
    plan.blockers = merge_by_environment(std::mem::take(&mut plan.blockers));
    plan.part_with(live, policy);
    let stopped = plan.stop(&mut changes, policy.operator);
    plan.know(&changes);
    plan.steps = steps(changes, state.releases, state.parts);
    if !stopped.is_empty() {
        // Data and definitions of the new form may be written before the old workloads stop, but no pod may start.
        let first = plan.steps.iter().position(Step::runs);
        let at = first.unwrap_or(plan.steps.len());
        plan.steps.insert(at, Step::Stop(stopped));
    }
    Ok(plan)
}

impl Plan {
    /// Returns the change of a desired object, or `None` if it stays unchanged.
    fn change(
        &mut self,
        mut desired: DesiredObject,
        live: &LiveObjects,
        policy: &Policy<'_>,
    ) -> Result<Option<ObjectChange>, ObjectError> {
        if desired.ownership == Ownership::Shared {
            // Kubernetes creates the account some time after its namespace. Both cases must give the same plan.
            return Ok(Some(ObjectChange {
                desired,
                action: Action::Create,
                scaled: None,
            }));
        }
        let reference = desired.object.reference().clone();
        let live = live.get(&reference);
        let runs = RunDecision::decide(&desired.object, live, &self.before);
        let is_asked_for = || {
            policy
                .recreate
                .iter()
                .any(|recreate| recreate.is(&reference))
        };
        if runs == RunDecision::Done && !(live.is_some() && is_asked_for()) {
            // The entry keeps the UID of the object that ran, even if that was deleted since.
            let done = self
                .before
                .find(&reference)
                .and_then(|entry| entry.uid.clone())
                .map(|uid| (reference.clone(), uid));
            self.inventory = self.inventory.seen(&done.into_iter().collect());
            return Ok(None);
        }
        desired.object = marked(desired.object, live)?;
        let kept = scaled(&desired.object, live)?;
        // The number of replicas of the operator's own Deployment comes from the archive, even if another field manager
        // has scaled it.
        let is_scaled = desired.part.is_some() && kept != desired.object;
        let recorded = self.recorded(&desired, None);
        let checked = policy.claim.check(&desired.object, live, recorded);
        self.blockers.extend(checked.err());
        if let Some(version) = policy.newer.get(&reference)
            && let Some(live) = live
        {
            self.kept.extend(self.inventory.find(&reference).cloned());
            self.newer.push(NewerDefinition {
                live: live.clone(),
                version: version.clone(),
            });
            return Ok(None);
        }
        let is_other =
            |live: &Object| desired.ownership == Ownership::Sensitive && !self.is_recorded(live);
        let action = match live.cloned() {
            None => Action::Create,
            Some(live) if runs == RunDecision::Anew || is_asked_for() || is_other(&live) => {
                Action::Replace(live)
            }
            Some(live) => Action::Update(live),
        };
        Ok(Some(ObjectChange {
            desired,
            action,
            scaled: is_scaled.then_some(kept),
        }))
    }

    /// Checks whether a live object is the recorded one.
    fn is_recorded(&self, live: &Object) -> bool {
        let recorded = self.before.find(live.reference());
        recorded.is_some_and(|entry| entry.uid.as_deref() == live.uid())
    }

    /// Returns the record of a desired object. `written` is the UID of the object that this change has already created
    /// under the name.
    fn recorded<'r>(
        &'r self,
        desired: &DesiredObject,
        written: Option<&'r str>,
    ) -> InventoryRecord<'r> {
        // A `Named` object has no recorded UID, and a `Sensitive` object with another UID is replaced. Neither blocks
        // the change.
        if matches!(desired.ownership, Ownership::Named | Ownership::Sensitive) {
            return InventoryRecord::Some;
        }
        if let Some(uid) = written {
            return InventoryRecord::This(uid);
        }
        let reference = desired.object.reference();
        let seen = self
            .inventory
            .find(reference)
            .filter(|entry| entry.uid.is_some());
        InventoryRecord::from(seen.or_else(|| self.before.find(reference)))
    }

    /// Checks whether the plan may still write an object, given the current live object. `written` is the UID of the
    /// object that this change has already created under the name.
    pub fn check(
        &self,
        desired: &DesiredObject,
        live: Option<&Object>,
        written: Option<&str>,
        claim: &Claim<'_>,
    ) -> Result<(), OwnershipConflict> {
        if desired.ownership == Ownership::Shared {
            return Ok(());
        }
        let recorded = match self.recorded(desired, written) {
            // The API server may have created the object although its answer was lost.
            InventoryRecord::Nothing if desired.part.is_none() => InventoryRecord::Some,
            recorded => recorded,
        };
        claim.check(&desired.object, live, recorded)
    }

    /// Checks whether an object with sensitive content is still the recorded one. Always true for other objects.
    #[must_use]
    pub fn is_untouched(&self, desired: &DesiredObject, live: Option<&Object>) -> bool {
        let known = self
            .inventory
            .find(desired.object.reference())
            .and_then(|entry| entry.uid.as_deref());
        desired.ownership != Ownership::Sensitive || live.is_none_or(|live| live.uid() == known)
    }

    /// Decides about the entries that the new version no longer contains.
    fn part_with(&mut self, live: &LiveObjects, policy: &Policy<'_>) {
        let external: Vec<Entry> = self
            .before
            .entries_missing_in(&self.inventory)
            .cloned()
            .collect();
        for entry in external {
            match (policy.prune_action)(&entry) {
                PruneAction::HandedOver => {}
                PruneAction::Stays => self.inventory.entries.push(entry),
                PruneAction::Goes => {
                    let live = live.get(&entry.reference());
                    match live.filter(|live| !live.is_being_deleted()) {
                        None => {}
                        Some(live) if entry.check(live, policy.claim.solution).is_ok() => {
                            self.stale.push(live.clone());
                        }
                        Some(live) => self.left.push(live.reference().clone()),
                    }
                }
            }
        }
        // Webhooks are deleted first, so that they cannot reject the deletions that follow.
        self.stale
            .sort_by_key(|object| !intercepts(object.reference()));
    }

    /// Returns the workloads to stop. A stopped workload that cannot be updated to its successor is replaced.
    fn stop(&self, changes: &mut [ObjectChange], operator: &ObjectRef) -> Vec<Object> {
        let live = changes.iter().filter_map(ObjectChange::live);
        let newer = self.newer.iter().map(|newer| &newer.live);
        let live: Vec<&Object> = live.chain(newer).chain(&self.stale).collect();
        let objects: Vec<&Object> = changes.iter().map(ObjectChange::object).collect();
        let stopped: Vec<Object> = form::stopping(&live, &objects, operator)
            .into_iter()
            .cloned()
            .collect();
        for change in changes {
            if let Action::Update(live) = &change.action
                && stopped
                    .iter()
                    .any(|object| object.reference().is_same_object(live.reference()))
                && form::is_unfit(live, &change.desired.object)
            {
                change.action = Action::Replace(live.clone());
            }
        }
        stopped
    }

    /// Records the UIDs of live objects that are updated or left unchanged.
    fn know(&mut self, changes: &[ObjectChange]) {
        let updated = changes.iter().filter_map(|change| match &change.action {
            Action::Update(live) => Some((change.desired.object.reference(), live)),
            Action::Create | Action::Replace(_) => None,
        });
        let newer = self
            .newer
            .iter()
            .map(|newer| (newer.live.reference(), &newer.live));
        let uid = |(reference, live): (&ObjectRef, &Object)| {
            (reference.clone(), live.uid().unwrap_or_default().to_owned())
        };
        let uids: BTreeMap<ObjectRef, String> = updated.chain(newer).map(uid).collect();
        self.inventory = self.inventory.seen(&uids);
    }

    /// Adds the changes of the releases, which can be rendered only after the changes of the objects are known. Objects
    /// to delete that a release now contains are handed over to Helm.
    #[must_use]
    pub fn with_releases<'o>(
        mut self,
        releases: Vec<ReleaseChange>,
        departing: Vec<ReleaseEntry>,
        brought: impl IntoIterator<Item = &'o Object>,
    ) -> Self {
        let brought: BTreeSet<_> = brought
            .into_iter()
            .map(|object| object.reference().identity())
            .collect();
        let stale = std::mem::take(&mut self.stale).into_iter();
        let is_brought = |object: &Object| brought.contains(&object.reference().identity());
        (self.handed, self.stale) = stale.partition(is_brought);
        self.inventory.releases = releases
            .iter()
            .map(|release| release.entry.clone())
            .collect();
        self.releases = releases;
        self.departing = departing;
        self
    }

    /// Returns true if Helm has to run.
    #[must_use]
    pub fn changes_releases(&self) -> bool {
        !self.departing.is_empty() || self.releases.iter().any(|release| release.step.changes())
    }

    /// Returns all changes, in the order of the steps.
    pub fn changes(&self) -> impl Iterator<Item = &ObjectChange> {
        self.steps.iter().flat_map(|step| match step {
            Step::Bring(_, changes) => &changes[..],
            Step::Stop(_) | Step::Release(_) => &[],
        })
    }

    /// Returns all desired objects, in the order in which they are applied.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.changes().map(ObjectChange::object)
    }

    /// Returns the desired objects of the operator.
    pub fn of_operator(&self) -> impl Iterator<Item = &Object> {
        let own = self
            .changes()
            .filter(|change| change.desired.part.is_none());
        own.map(ObjectChange::object)
    }

    /// Returns the desired objects of all other parts, each with its part.
    pub fn of_parts(&self) -> impl Iterator<Item = (&SetName, &Object)> {
        self.changes()
            .filter_map(|change| Some((change.desired.part.as_ref()?, change.object())))
    }

    /// Returns the live objects that are updated, replaced, left unchanged, handed over or deleted.
    pub fn live(&self) -> impl Iterator<Item = &Object> {
        let newer = self.newer.iter().map(|newer| &newer.live);
        self.changes()
            .filter_map(ObjectChange::live)
            .chain(newer)
            .chain(&self.handed)
            .chain(&self.stale)
    }

    /// Checks whether a desired object existed when the plan was made.
    #[must_use]
    pub fn was_there(&self, object: &ObjectRef) -> bool {
        let newer = self.newer.iter().map(|newer| &newer.live);
        let mut there = self.changes().filter_map(ObjectChange::live).chain(newer);
        there.any(|live| live.reference().is_same_object(object))
    }

    /// Returns the entries of the objects to delete, with their UIDs, and the live objects.
    #[must_use]
    pub fn dropped(&self) -> (Inventory, LiveObjects) {
        let stale = self.stale.iter();
        let live: LiveObjects = stale
            .map(|object| (object.reference(), ReadResult::There(object.clone())))
            .collect();
        let entries = self
            .before
            .entries_missing_in(&self.inventory)
            .filter(|entry| live.get(&entry.reference()).is_some());
        let uid = |live: &Object| Some((live.reference().clone(), live.uid()?.to_owned()));
        let uids: BTreeMap<ObjectRef, String> = self.stale.iter().filter_map(uid).collect();
        let recorded = Inventory {
            entries: entries.cloned().collect(),
            ..Inventory::default()
        };
        (recorded.seen(&uids), live)
    }

    /// Returns true if an operator is recorded.
    #[must_use]
    pub fn had_operator(&self) -> bool {
        let mut entries = self.before.entries.iter();
        entries.any(|entry| entry.part.is_none() && entry.kind == "Deployment")
    }

    /// Returns the live objects that are deleted and created again.
    pub fn replaced(&self) -> impl Iterator<Item = &Object> {
        self.changes().filter_map(ObjectChange::replaced)
    }

    /// Returns the workloads that are stopped before their successors start.
    #[must_use]
    pub fn stopped(&self) -> &[Object] {
        let mut steps = self.steps.iter();
        let stopped = steps.find_map(|step| match step {
            Step::Stop(stopped) => Some(&stopped[..]),
            Step::Bring(..) | Step::Release(_) => None,
        });
        stopped.unwrap_or_default()
    }

    /// Returns true if the plan changes no object, no release and no record.
    #[must_use]
    pub fn keeps_all(&self) -> bool {
        self.inventory == self.before
            && self.stale.is_empty()
            && self.stopped().is_empty()
            && self.replaced().next().is_none()
            && !self.changes_releases()
    }

    /// Returns the digest by which an approved plan is compared with a later one: all content that is written, and the
    /// UIDs of the objects that it overwrites. The content of shared objects is excluded. Otherwise a tenant could
    /// block every change by editing them, and they are read again when they are written.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let steps: Vec<Value> = self
            .steps
            .iter()
            .filter_map(Step::comparable_content)
            .collect();
        let newer: Vec<Value> = self
            .newer
            .iter()
            .map(|newer| {
                json!([
                    newer.live.reference().to_string(),
                    newer.live.uid(),
                    newer.version
                ])
            })
            .collect();
        let all = json!({
            "steps": steps,
            "inventory": self.inventory,
            "before": self.before,
            "newer": newer,
            "releases": self.releases,
            "departing": self.departing,
        });
        Digest::new(Sha256::digest(all.to_string()).into())
    }
}

/// Merges the blockers of each other environment into one, after all other blockers.
fn merge_by_environment(blockers: Vec<OwnershipConflict>) -> Vec<OwnershipConflict> {
    let mut elsewhere = BTreeMap::<_, Vec<String>>::new();
    let mut all = Vec::new();
    for blocker in blockers {
        match blocker {
            OwnershipConflict::Elsewhere {
                solution,
                environment,
                objects,
            } => elsewhere
                .entry((environment, solution))
                .or_default()
                .extend(objects),
            other => all.push(other),
        }
    }
    let elsewhere = elsewhere.into_iter();
    all.extend(elsewhere.map(
        |((environment, solution), objects)| OwnershipConflict::Elsewhere {
            solution,
            environment,
            objects,
        },
    ));
    all
}

/// The decision whether an object that runs once, such as a Job, has to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunDecision {
    /// The object completed with the same inputs, and may have been deleted since.
    Done,
    /// The live object has other inputs and is replaced.
    Anew,
    /// The object is applied like any other.
    AsItIs,
}

impl RunDecision {
    fn decide(object: &Object, live: Option<&Object>, before: &Inventory) -> Self {
        let of = object.annotations();
        let Some(inputs) = of.get(v::INPUTS) else {
            return Self::AsItIs;
        };
        match live {
            Some(live) if live.annotations().get(v::INPUTS) == Some(inputs) => {
                let is_same = live.annotations().get(v::CHOSEN) == of.get(v::CHOSEN);
                match readiness(live) {
                    _ if is_same => Self::AsItIs,
                    // The pod template of a Job is immutable. A Job that completed has done its work, so that changed
                    // site settings do not run it again.
                    Readiness::Ready => Self::Done,
                    Readiness::Pending(_) | Readiness::Failed(_) => Self::Anew,
                }
            }
            Some(_) => Self::Anew,
            None => {
                // A missing object with the recorded inputs has completed, and was deleted afterwards.
                let recorded = before.find(object.reference());
                match recorded.and_then(|recorded| recorded.inputs.as_deref()) {
                    Some(made) if made == *inputs => Self::Done,
                    _ => Self::AsItIs,
                }
            }
        }
    }
}

/// Returns an object, with the annotation that allows deleting it with the deployment if it is a namespace that the
/// deployment creates.
pub fn marked(object: Object, live: Option<&Object>) -> Result<Object, ObjectError> {
    let is_made = live.is_none_or(|live| live.annotations().contains_key(v::CREATED));
    if object.gvk().kind != "Namespace" || !is_made {
        return Ok(object);
    }
    let mut value = object.into_value();
    value["metadata"]["annotations"][v::CREATED] = json!("true");
    Object::new(value)
}

/// Groups the changes into steps. The operator's objects come first, but its workloads wait for the parts that the
/// operator needs. The remaining parts follow in their order, each with its release.
fn steps(changes: Vec<ObjectChange>, releases: &[&str], parts: &SolutionParts<'_>) -> Vec<Step> {
    let mut left: VecDeque<ObjectChange> = changes.into();
    let mut before = stages(of_part(&mut left, None));
    let pods = before
        .iter()
        .position(Step::runs)
        .map_or_else(Vec::new, |at| before.split_off(at));
    let mut behind = Vec::new();
    for name in parts.in_order() {
        let release = releases
            .iter()
            .find(|release| **release == name)
            .and_then(|name| name.parse().ok());
        let steps = stages(of_part(&mut left, Some(name)))
            .into_iter()
            .chain(release.map(Step::Release));
        if parts.is_before_the_operator(name) {
            before.extend(steps);
        } else {
            behind.extend(steps);
        }
    }
    debug_assert!(left.is_empty(), "objects of a part that is not in order");
    [before, pods, behind].concat()
}

/// Takes the changes of one part from the front of the queue.
fn of_part(left: &mut VecDeque<ObjectChange>, part: Option<&str>) -> Vec<ObjectChange> {
    let is_its = |change: &ObjectChange| change.desired.part.as_ref().map(SetName::as_str) == part;
    let count = left.iter().take_while(|change| is_its(change)).count();
    left.drain(..count).collect()
}

/// Groups the changes of one part into steps by stage. A record is a separate step, because it states that the
/// objects before it exist.
fn stages(changes: Vec<ObjectChange>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut after_record = false;
    for change in changes {
        let (stage, is_record) = (change.desired.stage, change.desired.is_record());
        match steps.last_mut() {
            Some(Step::Bring(last, together)) if *last == stage && is_record == after_record => {
                together.push(change);
            }
            _ => steps.push(Step::Bring(stage, vec![change])),
        }
        after_record = is_record;
    }
    steps
}
