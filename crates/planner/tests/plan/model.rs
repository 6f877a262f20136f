//! A site in memory: objects with UIDs, and their inventory. It applies plans as an import does, and can be interrupted
//! before any write.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Object, ObjectRef};
use manifests::ObjectKinds;
use planner::{
    Action, AdoptionPolicy, Claim, DesiredObject, DesiredState, Inventory, LiveObjects, Plan,
    Policy, PruneAction, ReadResult, SolutionPart, SolutionParts, Step, scale_to_zero,
    vocabulary as v,
};
use schemas::{Namespace, SetName, SolutionName};
use serde_json::{Value, json};

/// The kinds of the objects, by number: API version, kind, and whether they are namespaced.
pub(crate) const KINDS: [(&str, &str, bool); 7] = [
    ("v1", "Namespace", false),
    ("v1", "ConfigMap", true),
    ("v1", "Service", true),
    ("v1", "PersistentVolumeClaim", true),
    ("apps/v1", "Deployment", true),
    ("batch/v1", "Job", true),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        false,
    ),
];

/// The parts besides the operator; the second one needs the first.
pub(crate) const PARTS: [&str; 2] = ["one", "two"];

/// The number of writes before an interruption, if there is one.
pub(crate) type Limit = Option<usize>;

/// The reason why a version is not deployed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The plan was blocked, and nothing was written.
    Refused(Vec<String>),
    /// The change was interrupted before a write.
    Stopped,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    pub(crate) objects: BTreeMap<ObjectRef, Object>,
    pub(crate) inventory: Inventory,
    made: u32,
}

impl Site {
    /// Writes an object of any owner.
    pub(crate) fn put(&mut self, object: &Object) {
        let mut value = object.clone().into_value();
        let known = self.objects.get(object.reference());
        let uid = known.and_then(Object::uid).map(str::to_owned);
        value["metadata"]["uid"] = json!(uid.unwrap_or_else(|| {
            self.made += 1;
            self.made.to_string()
        }));
        let object = Object::new(value).unwrap();
        self.objects.insert(object.reference().clone(), object);
    }

    /// Returns the plan for a version.
    pub(crate) fn plan(&self, objects: &[DesiredObject]) -> Plan {
        let needs: [Vec<SetName>; 2] = [vec![], vec![PARTS[0].parse().unwrap()]];
        let parts = PARTS.iter().zip(&needs);
        let parts = parts
            .map(|(name, needs)| SolutionPart { name, needs })
            .collect();
        let state = DesiredState {
            objects: objects.to_vec(),
            releases: &[],
            parts: &SolutionParts::new(parts, &[]),
            kept: Vec::new(),
            cleanup: Vec::new(),
        };
        let live: LiveObjects = self
            .objects
            .iter()
            .map(|(reference, live)| (reference, ReadResult::There(live.clone())))
            .collect();
        let (solution, deployed) = (solution(), deployed());
        let policy = Policy {
            claim: claim(&solution, &deployed),
            recreate: &BTreeSet::new(),
            operator: &ObjectRef::namespaced("apps/v1", "Deployment", "prod", "a"),
            newer: &BTreeMap::new(),
            prune_action: &|entry| {
                if entry.keeps_data() {
                    PruneAction::Stays
                } else {
                    PruneAction::Goes
                }
            },
        };
        planner::plan(state, self.inventory.clone(), &live, &policy).unwrap()
    }

    /// Deploys a version, up to a number of writes.
    pub(crate) fn deploy(&mut self, objects: &[DesiredObject], limit: Limit) -> Result<(), Ended> {
        let plan = self.plan(objects);
        if !plan.blockers.is_empty() {
            let blockers = plan.blockers.iter().map(ToString::to_string);
            return Err(Ended::Refused(blockers.collect()));
        }
        let mut writes = Writes(limit);
        if !plan.keeps_all() {
            writes.next()?;
            self.inventory = plan.inventory.with(&plan.before);
        }
        let mut written = BTreeMap::new();
        for step in &plan.steps {
            self.carry_out(step, &plan, &mut written, &mut writes)?;
        }
        for stale in &plan.stale {
            let live = self.objects.get(stale.reference());
            if live.is_some_and(|live| live.uid() == stale.uid()) {
                writes.next()?;
                self.objects.remove(stale.reference());
            }
        }
        let inventory = plan.inventory.seen(&written);
        if inventory != self.inventory {
            writes.next()?;
            self.inventory = inventory;
        }
        Ok(())
    }

    /// Rolls back the changes that a plan has made so far.
    pub(crate) fn take_back(&mut self, plan: &Plan) {
        let inverse = plan.inverse(&solution()).unwrap();
        for object in &inverse.objects {
            self.put(object);
        }
        for entry in &inverse.brought.entries {
            let reference = entry.reference();
            let live = self.objects.get(&reference);
            if live.is_some_and(|live| entry.check(live, &solution()).is_ok()) {
                self.objects.remove(&reference);
            }
        }
        let uid = |(reference, live): (&ObjectRef, &Object)| {
            (reference.clone(), live.uid().unwrap().to_owned())
        };
        let uids = self.objects.iter().map(uid).collect();
        self.inventory = plan.before.after(&plan.inventory).seen(&uids);
    }

    fn carry_out(
        &mut self,
        step: &Step,
        plan: &Plan,
        written: &mut BTreeMap<ObjectRef, String>,
        writes: &mut Writes,
    ) -> Result<(), Ended> {
        let (solution, deployed) = (solution(), deployed());
        match step {
            Step::Release(_) => {}
            Step::Stop(former) => {
                for former in former {
                    writes.next()?;
                    let former = scale_to_zero(&self.objects[former.reference()]).unwrap();
                    self.put(&former);
                }
            }
            Step::Bring(_, changes) => {
                for change in changes {
                    let reference = change.object().reference();
                    let live = self.objects.get(reference);
                    let claim = claim(&solution, &deployed);
                    assert_eq!(plan.check(&change.desired, live, None, &claim), Ok(()));
                    if let Action::Replace(_) = change.action
                        && live.is_some()
                    {
                        writes.next()?;
                        self.objects.remove(reference);
                    }
                    let live = self.objects.get(reference);
                    if !live.is_some_and(|live| content(live) == content(change.object())) {
                        writes.next()?;
                        self.put(change.object());
                    }
                    let uid = self.objects[reference].uid().unwrap().to_owned();
                    written.insert(reference.clone(), uid);
                }
            }
        }
        Ok(())
    }

    /// Returns all objects and entries, without their UIDs.
    pub(crate) fn shape(&self) -> (Vec<Value>, Vec<Value>) {
        let entries = self.inventory.entries.iter();
        let mut entries: Vec<Value> = entries
            .map(|entry| json!({ "part": entry.part, "object": entry.reference().to_string(), "inputs": entry.inputs }))
            .collect();
        entries.sort_by_key(ToString::to_string);
        (self.objects.values().map(content).collect(), entries)
    }
}

/// The counter of writes.
struct Writes(Limit);

impl Writes {
    fn next(&mut self) -> Result<(), Ended> {
        match &mut self.0 {
            Some(0) => Err(Ended::Stopped),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

pub(crate) fn content(object: &Object) -> Value {
    let mut value = object.as_value().clone();
    value["metadata"].as_object_mut().unwrap().remove("uid");
    value
}

fn solution() -> SolutionName {
    "shop".parse().unwrap()
}

fn deployed() -> BTreeSet<Namespace> {
    ["prod".parse().unwrap()].into()
}

fn claim<'a>(solution: &'a SolutionName, deployed: &'a BTreeSet<Namespace>) -> Claim<'a> {
    Claim {
        solution,
        adopt: AdoptionPolicy::Refuse,
        deployed: Some(deployed),
    }
}

/// Returns an object of the namespace `prod`, or a cluster-scoped one, with these labels.
pub(crate) fn object((kind, name): (usize, &str), labels: &Value, content: u8) -> Object {
    let (api_version, kind, is_namespaced) = KINDS[kind];
    let mut object = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": { "name": name, "labels": labels },
        "spec": { "replicas": 1, "content": content },
    });
    if is_namespaced {
        object["metadata"]["namespace"] = json!("prod");
    }
    if kind == "ValidatingWebhookConfiguration" {
        object["webhooks"] = json!([{ "name": "w.shop.test" }]);
    }
    if kind == "Job" {
        object["metadata"]["annotations"][v::INPUTS] = json!(content.to_string());
    }
    Object::new(object).unwrap()
}

/// Returns a desired object of a part, or of the operator if there is none.
pub(crate) fn desired(what: (usize, &str), part: Option<&str>, content: u8) -> DesiredObject {
    let mut labels = json!({ v::SOLUTION: "shop" });
    if part.is_none() || !KINDS[what.0].2 {
        labels[v::ENVIRONMENT] = json!("prod");
    }
    if !KINDS[what.0].2 {
        labels[v::NAMESPACE] = json!("prod");
    }
    let object = object(what, &labels, content);
    match part {
        Some(part) => {
            DesiredObject::of_part(part.parse().unwrap(), object, &ObjectKinds::default())
        }
        None => DesiredObject::of_operator(object),
    }
}

/// Sorts objects as a plan expects them: the operator's first, then those of each part, sorted by stage.
pub(crate) fn in_order(mut objects: Vec<DesiredObject>) -> Vec<DesiredObject> {
    objects.sort_by_key(|object| (object.part.clone(), object.stage));
    objects
}
