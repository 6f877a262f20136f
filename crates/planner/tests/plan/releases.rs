//! After an interruption at any write, running a change of releases again gives the same result as an uninterrupted
//! run. A release that once became ready is never uninstalled on the way.

use std::collections::{BTreeMap, BTreeSet};

use helm::ReleaseStatus::{
    self, Deployed, PendingInstall, PendingRollback, PendingUpgrade, Superseded, Uninstalling,
};
use kubernetes::ObjectRef;
use planner::{
    AdoptionPolicy, Claim, DesiredState, Inventory, LiveObjects, Plan, Policy, PruneAction,
    Recovery, ReleaseChange, ReleaseEntry, ReleaseState, ReleaseStep, SolutionParts,
};
use proptest::collection::btree_map;
use proptest::prelude::*;
use schemas::{Digest, Namespace, SolutionName};

/// The digest of the inputs of each release.
type Version = BTreeMap<usize, u8>;

/// The reason why a version is not deployed: the site was interrupted before a write.
#[derive(Debug, PartialEq, Eq)]
struct Stopped;

/// A revision that Helm has stored.
#[derive(Clone, Debug)]
struct Revision {
    number: u32,
    status: ReleaseStatus,
    inputs: Digest,
}

/// The revisions that Helm has stored, and their inventory.
#[derive(Clone, Debug, Default)]
struct Site {
    stored: BTreeMap<String, Vec<Revision>>,
    inventory: Inventory,
    /// The releases that were uninstalled after they had become ready.
    lost: BTreeSet<String>,
    /// The number of writes before an interruption, if there is one.
    limit: Option<usize>,
}

fn digest(content: u8) -> Digest {
    Digest::new([content; 32])
}

fn entry(name: usize, content: u8) -> ReleaseEntry {
    ReleaseEntry {
        name: format!("r{name}").parse().unwrap(),
        namespace: "prod".parse().unwrap(),
        chart: "web".parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
        revision: None,
        inputs: digest(content),
        revisions: Vec::new(),
        needed: false,
    }
}

impl Site {
    fn write(&mut self) -> Result<(), Stopped> {
        match &mut self.limit {
            Some(0) => Err(Stopped),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn stands(&self, entry: &ReleaseEntry) -> Option<ReleaseState> {
        let revisions = self.stored.get(entry.name.as_str())?;
        let newest = revisions.last()?;
        let whole = revisions
            .iter()
            .filter(|revision| revision.status == Deployed);
        Some(ReleaseState {
            revision: newest.number,
            status: newest.status,
            deployed: whole.map(|revision| revision.number).max(),
            is_ours: true,
        })
    }

    /// Returns the change of a release.
    fn change(&self, mut entry: ReleaseEntry) -> ReleaseChange {
        let known = self.inventory.release(&entry.namespace, &entry.name);
        let (strategy, stands) = (schemas::Strategy::Managed, self.stands(&entry));
        let step =
            ReleaseStep::decide(strategy, AdoptionPolicy::Refuse, &entry, known, stands).unwrap();
        let revision = stands.map(|stands| stands.revision);
        if step == ReleaseStep::Keep {
            entry.revision = revision;
        }
        let deployed = stands.and_then(|stands| stands.deployed);
        ReleaseChange {
            step,
            revision,
            back: deployed.or(known.and_then(|known| known.revision)),
            sent: entry.inputs,
            entry,
        }
    }

    fn plan(&self, version: &Version) -> Plan {
        let entries = version.iter().map(|(name, content)| entry(*name, *content));
        let changes: Vec<ReleaseChange> = entries.map(|entry| self.change(entry)).collect();
        let before = self.inventory.releases.iter().rev();
        let is_wanted =
            |release: &&ReleaseEntry| changes.iter().any(|new| new.entry.name == release.name);
        let departing = before
            .filter(|release| !is_wanted(release))
            .cloned()
            .collect();
        let solution: SolutionName = "shop".parse().unwrap();
        let deployed = BTreeSet::<Namespace>::new();
        let policy = Policy {
            claim: Claim {
                solution: &solution,
                adopt: AdoptionPolicy::Refuse,
                deployed: Some(&deployed),
            },
            recreate: &BTreeSet::new(),
            operator: &ObjectRef::namespaced("apps/v1", "Deployment", "prod", "a"),
            newer: &BTreeMap::new(),
            prune_action: &|_| PruneAction::Goes,
        };
        let state = DesiredState {
            objects: Vec::new(),
            releases: &[],
            parts: &SolutionParts::new(Vec::new(), &[]),
            kept: Vec::new(),
            cleanup: Vec::new(),
        };
        let plan = planner::plan(
            state,
            self.inventory.clone(),
            &LiveObjects::default(),
            &policy,
        );
        plan.unwrap().with_releases(changes, departing, [])
    }

    /// Deploys a version, up to an interruption.
    fn deploy(&mut self, version: &Version) -> Result<(), Stopped> {
        let plan = self.plan(version);
        if plan.keeps_all() {
            return Ok(());
        }
        self.write()?;
        let both = plan.inventory.with(&plan.before);
        self.inventory = both.clone();
        let mut brought = Vec::new();
        for change in &plan.releases {
            let ReleaseStep::Change(mend) = change.step else {
                continue;
            };
            match mend {
                Recovery::Nothing => {}
                Recovery::Uninstall => self.uninstall(&change.entry)?,
                Recovery::RollBack(revision) => self.roll_back(&change.entry, revision)?,
            }
            let is_first = self.stands(&change.entry).is_none();
            let pending = if is_first {
                PendingInstall
            } else {
                PendingUpgrade
            };
            let revision = self.store(&change.entry, pending, change.entry.inputs)?;
            brought.push(ReleaseEntry {
                revision: Some(revision),
                ..change.entry.clone()
            });
            self.write()?;
            self.inventory = both.clone().released(&brought);
        }
        for entry in &plan.departing {
            self.uninstall(entry)?;
        }
        self.write()?;
        self.inventory = plan.inventory.clone().released(&brought);
        Ok(())
    }

    /// Rolls back the changes that a plan has made so far.
    fn take_back(&mut self, plan: &Plan) -> Result<(), Stopped> {
        for returning in plan.inverse(&"shop".parse().unwrap()).unwrap().releases {
            match returning.revision {
                Some(revision) => self.roll_back(&returning.entry, revision)?,
                None => self.uninstall(&returning.entry)?,
            }
        }
        Ok(())
    }

    /// Stores a revision as Helm does: with a pending status first, and again when the operation is complete.
    fn store(
        &mut self,
        entry: &ReleaseEntry,
        pending: ReleaseStatus,
        inputs: Digest,
    ) -> Result<u32, Stopped> {
        self.write()?;
        let revisions = self.stored.entry(entry.name.to_string()).or_default();
        let number = revisions.last().map_or(0, |revision| revision.number) + 1;
        revisions.push(Revision {
            number,
            status: pending,
            inputs,
        });
        self.write()?;
        let revisions = self.stored.get_mut(entry.name.as_str()).unwrap();
        for revision in revisions.iter_mut() {
            revision.status = Superseded;
        }
        revisions.last_mut().unwrap().status = Deployed;
        Ok(number)
    }

    fn roll_back(&mut self, entry: &ReleaseEntry, to: u32) -> Result<(), Stopped> {
        let revisions = &self.stored[entry.name.as_str()];
        let inputs = revisions
            .iter()
            .find(|revision| revision.number == to)
            .unwrap()
            .inputs;
        self.store(entry, PendingRollback, inputs).map(drop)
    }

    fn uninstall(&mut self, entry: &ReleaseEntry) -> Result<(), Stopped> {
        let Some(revisions) = self.stored.get(entry.name.as_str()) else {
            return Ok(());
        };
        if revisions.iter().any(|revision| revision.status == Deployed) {
            self.lost.insert(entry.name.to_string());
        }
        self.write()?;
        let revisions = self.stored.get_mut(entry.name.as_str()).unwrap();
        revisions.last_mut().unwrap().status = Uninstalling;
        self.write()?;
        self.stored.remove(entry.name.as_str());
        Ok(())
    }

    /// Returns the running inputs of each release, or `None` if its newest revision is incomplete.
    fn runs(&self) -> BTreeMap<&str, Option<Digest>> {
        let runs = self.stored.iter().map(|(name, revisions)| {
            let newest = revisions.last().unwrap();
            let whole = newest.status == Deployed;
            (name.as_str(), whole.then_some(newest.inputs))
        });
        runs.collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_interrupted_change_of_releases_is_completed_by_running_it_again(
        first in btree_map(0..3usize, 0..3u8, 0..4),
        second in btree_map(0..3usize, 0..3u8, 0..4),
        stops_after in (0..20usize, 0..20usize),
    ) {
        let mut site = Site::default();
        site.deploy(&first).unwrap();
        let before = site.clone();
        let plan = site.plan(&second);
        let wanted: BTreeMap<String, Option<Digest>> = second
            .iter()
            .map(|(name, content)| (format!("r{name}"), Some(digest(*content))))
            .collect();

        site.limit = Some(stops_after.0);
        let mut ended = site.deploy(&second);
        if ended.is_err() && !plan.departing.iter().any(|release| site.lost.contains(release.name.as_str())) {
            let mut back = site.clone();
            back.limit = None;
            back.take_back(&plan).unwrap();
            prop_assert_eq!(back.runs(), before.runs());
        }
        for limit in [Some(stops_after.1), None] {
            site.limit = limit;
            ended = site.deploy(&second);
        }
        prop_assert_eq!(ended, Ok(()));
        let runs = site.runs().into_iter().map(|(name, inputs)| (name.to_owned(), inputs));
        prop_assert_eq!(runs.collect::<BTreeMap<_, _>>(), wanted.clone());
        prop_assert!(site.plan(&second).keeps_all(), "once more would change something");
        for release in &site.inventory.releases {
            let newest = site.stored[release.name.as_str()].last().unwrap();
            prop_assert_eq!(release.revision, Some(newest.number));
        }
        for name in &site.lost {
            prop_assert!(!wanted.contains_key(name), "{name} was uninstalled");
        }
    }
}
