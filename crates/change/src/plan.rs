//! The plan of what has to be done so that what is wanted is there, and nothing else of what was recorded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use deployer::{Object, ObjectError, ObjectRef, Settled, settled};
use schemas::{Digest, SetName, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::desired::{DesiredObject, Tenure};
use crate::form;
use crate::inventory::{Entry, Inventory};
use crate::live::{Live, Seen};
use crate::owner::{Claim, NotOurs, Recorded};
use crate::part::Parts;
use crate::release::ReleaseEntry;
use crate::release_change::ReleaseChange;
use crate::scale::scaled;
use crate::stage::intercepts;
use crate::step::{Action, ObjectChange, Step};
use crate::vocabulary as v;

/// An object that is to be removed and made anew, as `StatefulSet/db`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Recreate {
    /// The kind of the objects.
    pub kind: String,
    /// The name of the objects, in any namespace.
    pub name: String,
}

impl Recreate {
    /// Whether it means an object.
    #[must_use]
    pub fn is(&self, object: &ObjectRef) -> bool {
        self.kind == object.gvk.kind && self.name == object.name
    }
}

impl FromStr for Recreate {
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

impl TryFrom<String> for Recreate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Recreate> for String {
    fn from(recreate: Recreate) -> Self {
        recreate.to_string()
    }
}

impl fmt::Display for Recreate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// The fate of an entry that nothing wants any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The object of the entry is removed.
    Goes,
    /// The entry stays, and its object stays.
    Stays,
    /// The object of the entry stays, as somebody else's.
    HandedOver,
}

/// The state that a version wants of the place that it is deployed to.
#[derive(Debug)]
pub struct DesiredState<'a> {
    /// The objects: first the operator's, then part by part in their order, each part's by stage.
    pub objects: Vec<DesiredObject>,
    /// The releases that Helm brings.
    pub releases: &'a [&'a str],
    /// The parts, in whose order all of it is brought.
    pub parts: &'a Parts<'a>,
    /// Entries that are left alone: what is installed once.
    pub kept: Vec<Entry>,
    /// The sets that are applied before a removal.
    pub cleanup: Vec<SetName>,
}

/// The choices by which a plan is made.
pub struct Policy<'a> {
    /// The claim of the Solution that wants it.
    pub claim: Claim<'a>,
    /// The objects that somebody asks to be made anew.
    pub recreate: &'a BTreeSet<Recreate>,
    /// The Deployment that an operator of the Solution has there.
    pub operator: &'a ObjectRef,
    /// Definitions that stay as newer versions wrote them.
    pub newer: &'a BTreeMap<ObjectRef, Version>,
    /// The fate of an entry that nothing wants any more.
    pub fate: &'a dyn Fn(&Entry) -> Fate,
}

impl fmt::Debug for Policy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("claim", &self.claim)
            .finish_non_exhaustive()
    }
}

/// A definition that stays as a newer version wrote it.
#[derive(Clone, Debug)]
pub struct Newer {
    /// The definition that is there.
    pub live: Object,
    /// The version that wrote it.
    pub version: Version,
}

/// The steps of a change, and the records before and after it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The inventory that will be recorded, with the uids that are known already.
    pub inventory: Inventory,
    /// The inventory that is recorded.
    pub before: Inventory,
    /// The entries that are left alone.
    pub kept: Vec<Entry>,
    /// Definitions that are left alone.
    pub newer: Vec<Newer>,
    /// The objects that go once all else works, as they were seen. Only what a plan showed is removed: whoever may
    /// write in the namespace can make more that looks like ours at any time.
    pub stale: Vec<Object>,
    /// The objects that a release brings from now on, as they were seen: each stays the object that it is.
    pub handed: Vec<Object>,
    /// The changes of releases, in the order in which they are brought.
    pub releases: Vec<ReleaseChange>,
    /// The releases that nothing wants any more, in the order in which they are uninstalled.
    pub departing: Vec<ReleaseEntry>,
    /// The objects that have the name of something that would go, and are not what was applied.
    pub left: Vec<ObjectRef>,
    /// The objects in the way.
    pub obstacles: Vec<NotOurs>,
}

/// Returns the steps from what is recorded and `live` to the desired `state`.
///
/// Fails where an object gets too deep by what is added to it.
pub fn plan(
    state: DesiredState<'_>,
    before: Inventory,
    live: &Live,
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
    plan.obstacles = together(std::mem::take(&mut plan.obstacles));
    plan.part_with(live, policy);
    let stopped = plan.stop(&mut changes, policy.operator);
    plan.know(&changes);
    plan.steps = steps(changes, state.releases, state.parts);
    if !stopped.is_empty() {
        let first = plan.steps.iter().position(Step::runs);
        let at = first.unwrap_or(plan.steps.len());
        plan.steps.insert(at, Step::Stop(stopped));
    }
    Ok(plan)
}

impl Plan {
    /// Returns what becomes of a wanted object, if anything does.
    fn change(
        &mut self,
        mut desired: DesiredObject,
        live: &Live,
        policy: &Policy<'_>,
    ) -> Result<Option<ObjectChange>, ObjectError> {
        if desired.tenure == Tenure::Shared {
            // It comes some time after its namespace, and that changes nothing of a plan.
            return Ok(Some(ObjectChange {
                desired,
                action: Action::Create,
                scaled: None,
            }));
        }
        let reference = desired.object.reference().clone();
        let live = live.get(&reference);
        let runs = Runs::of(&desired.object, live, &self.before);
        let is_asked_for = || policy.recreate.iter().any(|it| it.is(&reference));
        if runs == Runs::Done && !(live.is_some() && is_asked_for()) {
            // It stays the one that ran, though it may be gone.
            let done = self.before.find(&reference).and_then(|it| it.uid.clone());
            let done = done.map(|uid| (reference.clone(), uid));
            self.inventory = self.inventory.seen(&done.into_iter().collect());
            return Ok(None);
        }
        desired.object = marked(desired.object, live)?;
        let kept = scaled(&desired.object, live)?;
        // How many pods an operator has is the archive's to say.
        let is_scaled = desired.part.is_some() && kept != desired.object;
        let recorded = self.recorded(&desired, None);
        let checked = policy.claim.check(&desired.object, live, recorded);
        self.obstacles.extend(checked.err());
        if let Some(version) = policy.newer.get(&reference)
            && let Some(live) = live
        {
            self.kept.extend(self.inventory.find(&reference).cloned());
            self.newer.push(Newer {
                live: live.clone(),
                version: version.clone(),
            });
            return Ok(None);
        }
        let is_other = |live: &Object| desired.tenure == Tenure::Sensitive && !self.believes(live);
        let action = match live.cloned() {
            None => Action::Create,
            Some(live) if runs == Runs::Anew || is_asked_for() || is_other(&live) => {
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

    /// Whether an object is the very one that is recorded.
    fn believes(&self, live: &Object) -> bool {
        let recorded = self.before.find(live.reference());
        recorded.is_some_and(|it| it.uid.as_deref() == live.uid())
    }

    /// Returns what is recorded of a wanted object, once this change may have `written` one of this uid.
    fn recorded<'r>(&'r self, desired: &DesiredObject, written: Option<&'r str>) -> Recorded<'r> {
        if matches!(desired.tenure, Tenure::Named | Tenure::Sensitive) {
            return Recorded::Some;
        }
        if let Some(uid) = written {
            return Recorded::This(uid);
        }
        let reference = desired.object.reference();
        let seen = self.inventory.find(reference).filter(|it| it.uid.is_some());
        Recorded::from(seen.or_else(|| self.before.find(reference)))
    }

    /// Whether an object that is there now, if any, may still be written as the plan says. `written` is the uid of the one
    /// that was written under its name meanwhile, if one was.
    pub fn check(
        &self,
        desired: &DesiredObject,
        live: Option<&Object>,
        written: Option<&str>,
        claim: &Claim<'_>,
    ) -> Result<(), NotOurs> {
        if desired.tenure == Tenure::Shared {
            return Ok(());
        }
        let recorded = match self.recorded(desired, written) {
            // The answer to its creation may have been lost.
            Recorded::Nothing if desired.part.is_none() => Recorded::Some,
            recorded => recorded,
        };
        claim.check(&desired.object, live, recorded)
    }

    /// Whether nobody has put another object in the place of one that nothing of others may be believed in.
    #[must_use]
    pub fn is_untouched(&self, desired: &DesiredObject, live: Option<&Object>) -> bool {
        let known = self.inventory.find(desired.object.reference());
        let known = known.and_then(|it| it.uid.as_deref());
        desired.tenure != Tenure::Sensitive || live.is_none_or(|live| live.uid() == known)
    }

    /// Finds out what becomes of the entries that nothing wants any more.
    fn part_with(&mut self, live: &Live, policy: &Policy<'_>) {
        let beyond: Vec<Entry> = self.before.beyond(&self.inventory).cloned().collect();
        for entry in beyond {
            match (policy.fate)(&entry) {
                Fate::HandedOver => {}
                Fate::Stays => self.inventory.entries.push(entry),
                Fate::Goes => {
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
        // Nothing may refuse what follows.
        self.stale.sort_by_key(|it| !intercepts(it.reference()));
    }

    /// Returns what stops, and has made anew what cannot become what takes its place.
    fn stop(&self, changes: &mut [ObjectChange], operator: &ObjectRef) -> Vec<Object> {
        let live = changes.iter().filter_map(ObjectChange::live);
        let newer = self.newer.iter().map(|it| &it.live);
        let live: Vec<&Object> = live.chain(newer).chain(&self.stale).collect();
        let objects: Vec<&Object> = changes.iter().map(ObjectChange::object).collect();
        let stopped = form::stopping(&live, &objects, operator);
        let stopped: Vec<Object> = stopped.into_iter().cloned().collect();
        for change in changes {
            if let Action::Update(live) = &change.action
                && stopped
                    .iter()
                    .any(|it| it.reference().is_same_object(live.reference()))
                && form::is_unfit(live, &change.desired.object)
            {
                change.action = Action::Replace(live.clone());
            }
        }
        stopped
    }

    /// Records which objects those are that are there and stay what they are.
    fn know(&mut self, changes: &[ObjectChange]) {
        let updated = changes.iter().filter_map(|it| match &it.action {
            Action::Update(live) => Some((it.desired.object.reference(), live)),
            Action::Create | Action::Replace(_) => None,
        });
        let newer = self.newer.iter().map(|it| (it.live.reference(), &it.live));
        let uid = |(reference, live): (&ObjectRef, &Object)| {
            (reference.clone(), live.uid().unwrap_or_default().to_owned())
        };
        let uids: BTreeMap<ObjectRef, String> = updated.chain(newer).map(uid).collect();
        self.inventory = self.inventory.seen(&uids);
    }

    /// Adds what becomes of the releases, which is known only once that of the objects is. Those of the objects that would go
    /// are handed to Helm that a release brings from now on.
    #[must_use]
    pub fn with_releases<'o>(
        mut self,
        releases: Vec<ReleaseChange>,
        departing: Vec<ReleaseEntry>,
        brought: impl IntoIterator<Item = &'o Object>,
    ) -> Self {
        let brought = brought.into_iter().map(|it| it.reference().identity());
        let brought: BTreeSet<_> = brought.collect();
        let stale = std::mem::take(&mut self.stale).into_iter();
        let is_brought = |it: &Object| brought.contains(&it.reference().identity());
        (self.handed, self.stale) = stale.partition(is_brought);
        self.inventory.releases = releases.iter().map(|it| it.entry.clone()).collect();
        self.releases = releases;
        self.departing = departing;
        self
    }

    /// Whether Helm has anything to do.
    #[must_use]
    pub fn changes_releases(&self) -> bool {
        !self.departing.is_empty() || self.releases.iter().any(|it| it.step.changes())
    }

    /// Returns all changes, in the order of the steps.
    pub fn changes(&self) -> impl Iterator<Item = &ObjectChange> {
        self.steps.iter().flat_map(|step| match step {
            Step::Bring(_, changes) => &changes[..],
            Step::Stop(_) | Step::Release(_) => &[],
        })
    }

    /// Returns all objects as they are applied.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.changes().map(ObjectChange::object)
    }

    /// Returns the operator's objects as they are applied.
    pub fn of_operator(&self) -> impl Iterator<Item = &Object> {
        let own = self.changes().filter(|it| it.desired.part.is_none());
        own.map(ObjectChange::object)
    }

    /// Returns the objects of the other parts as they are applied, each with its part.
    pub fn of_parts(&self) -> impl Iterator<Item = (&SetName, &Object)> {
        self.changes()
            .filter_map(|it| Some((it.desired.part.as_ref()?, it.object())))
    }

    /// Returns what is there of all that is wanted or goes.
    pub fn live(&self) -> impl Iterator<Item = &Object> {
        let newer = self.newer.iter().map(|it| &it.live);
        self.changes()
            .filter_map(ObjectChange::live)
            .chain(newer)
            .chain(&self.handed)
            .chain(&self.stale)
    }

    /// Whether a wanted object was there when this was planned.
    #[must_use]
    pub fn was_there(&self, object: &ObjectRef) -> bool {
        let newer = self.newer.iter().map(|it| &it.live);
        let mut there = self.changes().filter_map(ObjectChange::live).chain(newer);
        there.any(|it| it.reference().is_same_object(object))
    }

    /// Returns the entries of what goes, and what is there of them.
    #[must_use]
    pub fn dropped(&self) -> (Inventory, Live) {
        let stale = self.stale.iter();
        let live = stale.map(|it| (it.reference(), Seen::There(it.clone())));
        let live: Live = live.collect();
        let entries = self.before.beyond(&self.inventory);
        let entries = entries.filter(|it| live.get(&it.reference()).is_some());
        let uid = |live: &Object| Some((live.reference().clone(), live.uid()?.to_owned()));
        let uids: BTreeMap<ObjectRef, String> = self.stale.iter().filter_map(uid).collect();
        let recorded = Inventory {
            entries: entries.cloned().collect(),
            ..Inventory::default()
        };
        (recorded.seen(&uids), live)
    }

    /// Whether an operator ran before.
    #[must_use]
    pub fn had_operator(&self) -> bool {
        let mut entries = self.before.entries.iter();
        entries.any(|it| it.part.is_none() && it.kind == "Deployment")
    }

    /// Returns what is removed and made anew, as it was seen.
    pub fn replaced(&self) -> impl Iterator<Item = &Object> {
        self.changes().filter_map(ObjectChange::replaced)
    }

    /// Returns what stops before what takes its place starts.
    #[must_use]
    pub fn stopped(&self) -> &[Object] {
        let mut steps = self.steps.iter();
        let stopped = steps.find_map(|step| match step {
            Step::Stop(stopped) => Some(&stopped[..]),
            Step::Bring(..) | Step::Release(_) => None,
        });
        stopped.unwrap_or_default()
    }

    /// Whether all objects and releases stay what they are, and are recorded as they are to be.
    #[must_use]
    pub fn keeps_all(&self) -> bool {
        self.inventory == self.before
            && self.stale.is_empty()
            && self.stopped().is_empty()
            && self.replaced().next().is_none()
            && !self.changes_releases()
    }

    /// Returns what another plan for the same must be equal in, so that what was shown is what is done: everything that is
    /// written, and over which objects. The content of what is shared is not in it: whoever may change it would keep
    /// changes away, and it is read again when it is written.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let steps: Vec<Value> = self.steps.iter().filter_map(Step::shown).collect();
        let newer = self.newer.iter();
        let newer: Vec<Value> = newer
            .map(|it| json!([it.live.reference().to_string(), it.live.uid(), it.version]))
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

/// Names objects of another environment in one obstacle, behind all others.
fn together(obstacles: Vec<NotOurs>) -> Vec<NotOurs> {
    let mut elsewhere = BTreeMap::<_, Vec<String>>::new();
    let mut all = Vec::new();
    for obstacle in obstacles {
        match obstacle {
            NotOurs::Elsewhere {
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
    all.extend(
        elsewhere.map(|((environment, solution), objects)| NotOurs::Elsewhere {
            solution,
            environment,
            objects,
        }),
    );
    all
}

/// Whether an object that runs once has to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    /// The object was made of the same and is done, and may have been removed since.
    Done,
    /// An object that was made of something else is in its place.
    Anew,
    /// The object is applied like any other.
    AsItIs,
}

impl Runs {
    fn of(object: &Object, live: Option<&Object>, before: &Inventory) -> Self {
        let of = object.annotations();
        let Some(inputs) = of.get(v::INPUTS) else {
            return Self::AsItIs;
        };
        match live {
            Some(live) if live.annotations().get(v::INPUTS) == Some(inputs) => {
                let is_same = live.annotations().get(v::CHOSEN) == of.get(v::CHOSEN);
                match settled(live) {
                    _ if is_same => Self::AsItIs,
                    // Its template stays what it is, and what it was made for is done.
                    Settled::Ready => Self::Done,
                    Settled::Pending(_) | Settled::Failed(_) => Self::Anew,
                }
            }
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

/// Returns an object with the mark that says that it goes with the deployment, if it is a namespace that is made here.
pub fn marked(object: Object, live: Option<&Object>) -> Result<Object, ObjectError> {
    let is_made = live.is_none_or(|live| live.annotations().contains_key(v::CREATED));
    if object.gvk().kind != "Namespace" || !is_made {
        return Ok(object);
    }
    let mut value = object.into_value();
    value["metadata"]["annotations"][v::CREATED] = json!("true");
    Object::new(value)
}

/// Returns the changes as steps: those of the operator, whose pods come behind the parts that they need and before all
/// others, and those of the parts with the releases, part by part.
fn steps(changes: Vec<ObjectChange>, releases: &[&str], parts: &Parts<'_>) -> Vec<Step> {
    let mut left: VecDeque<ObjectChange> = changes.into();
    let mut before = stages(of_part(&mut left, None));
    let pods = before.iter().position(Step::runs);
    let pods = pods.map_or_else(Vec::new, |at| before.split_off(at));
    let mut behind = Vec::new();
    for name in parts.in_order() {
        let release = releases.iter().find(|release| **release == name);
        let release = release.and_then(|name| name.parse().ok());
        let steps = stages(of_part(&mut left, Some(name))).into_iter();
        let steps = steps.chain(release.map(Step::Release));
        if parts.is_before_the_operator(name) {
            before.extend(steps);
        } else {
            behind.extend(steps);
        }
    }
    debug_assert!(left.is_empty(), "objects of a part that is not in order");
    [before, pods, behind].concat()
}

/// Takes the changes of a part from the front.
fn of_part(left: &mut VecDeque<ObjectChange>, part: Option<&str>) -> Vec<ObjectChange> {
    let is_its = |it: &ObjectChange| it.desired.part.as_ref().map(SetName::as_str) == part;
    let count = left.iter().take_while(|it| is_its(it)).count();
    left.drain(..count).collect()
}

/// Returns the changes of one part as steps, stage by stage. A record that lies among them is a step of its own: it says
/// that the others are there.
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
