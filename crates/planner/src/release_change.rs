//! The decision about one Helm release: keep it, upgrade it, or first recover it from an interrupted run of Helm.
//! [`ReleaseStep::decide`] compares the stored release with the recorded one and the new inputs. [`ReleaseChange`] also
//! knows the revision for a rollback.

use helm::ReleaseStatus;
use schemas::{Digest, Strategy};
use serde::Serialize;

use crate::inventory::Inventory;
use crate::owner::AdoptionPolicy;
use crate::release::ReleaseEntry;

/// The observed state of a release in the cluster.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseState {
    /// The newest revision of the release.
    pub revision: u32,
    /// The status of the newest revision.
    pub status: ReleaseStatus,
    /// The newest revision that runs, or ran until a run of Helm was interrupted. `None` if there was none. A
    /// superseded revision does not count: Helm also gives this status to revisions that failed and could not be rolled
    /// back.
    pub deployed: Option<u32>,
    /// True if the release was installed by `solution`.
    pub is_ours: bool,
}

/// The action on a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ReleaseStep {
    /// No change: the inputs are the same, and the objects are unmodified.
    Keep,
    /// No change: the release is installed only once and then left to its users.
    Leave,
    /// Helm installs or upgrades the release.
    Change(Recovery),
}

/// The recovery that an interrupted run of Helm requires before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Recovery {
    /// No recovery.
    Nothing,
    /// The first installation was interrupted, so there is no revision to roll back to.
    Uninstall,
    /// Helm rolls the release back to this revision, the last complete one.
    RollBack(u32),
}

/// The error that a release with the same name exists and was not installed by `solution`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseConflict {
    /// The release.
    pub release: String,
    /// The newest revision of the release.
    pub revision: u32,
}

impl ReleaseStep {
    /// Returns the action on a release. `new` is the entry that will be recorded, `known` the recorded one, and
    /// `release_state` the observed state, if the release exists.
    pub fn decide(
        strategy: Strategy,
        adopt: AdoptionPolicy,
        new: &ReleaseEntry,
        known: Option<&ReleaseEntry>,
        stands: Option<ReleaseState>,
    ) -> Result<Self, ReleaseConflict> {
        let Some(stands) = stands else {
            return Ok(Self::Change(Recovery::Nothing));
        };
        let ReleaseState {
            revision,
            status,
            deployed,
            is_ours,
        } = stands;
        let Some(known) = known.filter(|_| is_ours) else {
            // A pending status means that another Helm client may be running.
            return if adopt == AdoptionPolicy::Allow && !status.is_pending() {
                Ok(Self::Change(Recovery::Nothing))
            } else {
                let release = new.to_string();
                Err(ReleaseConflict { release, revision })
            };
        };
        // A release that once became ready may hold data. It is rolled back, and never uninstalled, to recover it.
        let back = deployed.or(known.revision);
        let is_lost = status == ReleaseStatus::Failed && deployed.is_none();
        if is_lost || status.is_pending() || status == ReleaseStatus::Uninstalling {
            // A failed first installation has no revision that Helm could roll back to.
            let mend = back.map_or(Recovery::Uninstall, Recovery::RollBack);
            return Ok(Self::Change(mend));
        }
        if strategy == Strategy::BootstrapOnly && known.revision.is_some() {
            return Ok(Self::Leave);
        }
        // A newer revision than the recorded one shows that another client has changed the release.
        let is_ours = known.revision == Some(revision) && status == ReleaseStatus::Deployed;
        if is_ours && known.inputs == new.inputs {
            return Ok(Self::Keep);
        }
        Ok(Self::Change(Recovery::Nothing))
    }

    /// Returns the action for a release whose objects were modified by other actors: an unchanged release is upgraded
    /// to restore them.
    #[must_use]
    pub fn mending(self) -> Self {
        match self {
            Self::Keep => Self::Change(Recovery::Nothing),
            step => step,
        }
    }

    /// Returns the number of the revision after this step, if `newest` is the current one.
    #[must_use]
    pub fn revision(self, newest: Option<u32>) -> u32 {
        let newest = newest.unwrap_or(0);
        match self {
            Self::Keep | Self::Leave => newest,
            Self::Change(Recovery::Nothing) => newest.saturating_add(1),
            // Uninstalling removes all revisions.
            Self::Change(Recovery::Uninstall) => 1,
            // Helm stores a rollback as a new revision, and the upgrade follows it.
            Self::Change(Recovery::RollBack(_)) => newest.saturating_add(2),
        }
    }

    /// Returns true if Helm has to run.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::Change(_))
    }
}

/// The planned change of one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReleaseChange {
    /// The entry to record.
    pub entry: ReleaseEntry,
    /// The action on the release.
    pub step: ReleaseStep,
    /// The newest revision in the cluster.
    pub revision: Option<u32>,
    /// The revision for a rollback. `None` if the release never became ready.
    pub back: Option<u32>,
    /// The digest of the objects that Helm will send.
    pub sent: Digest,
}

/// A release in a rollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseRollback {
    /// The recorded entry of the release, or the new one if none was recorded.
    pub entry: ReleaseEntry,
    /// The revision to roll back to. `None` if the release is uninstalled.
    pub revision: Option<u32>,
}

impl ReleaseChange {
    /// Returns the rollback of the change, if there is one. A release that another actor installed is kept, since it
    /// may hold data.
    pub(crate) fn inverse(&self, before: &Inventory) -> Option<ReleaseRollback> {
        let is_brought =
            || self.revision.is_none() || self.step == ReleaseStep::Change(Recovery::Uninstall);
        if !self.step.changes() || self.back.is_none() && !is_brought() {
            return None;
        }
        let known = before.release(&self.entry.namespace, &self.entry.name);
        Some(ReleaseRollback {
            entry: known.unwrap_or(&self.entry).clone(),
            revision: self.back,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::tests::release;

    fn release_state(revision: u32, status: ReleaseStatus, deployed: Option<u32>) -> ReleaseState {
        ReleaseState {
            revision,
            status,
            deployed,
            is_ours: true,
        }
    }

    fn step_of(
        strategy: Strategy,
        known: Option<&ReleaseEntry>,
        stands: Option<ReleaseState>,
    ) -> Option<ReleaseStep> {
        let new = release("web", None);
        ReleaseStep::decide(strategy, AdoptionPolicy::Refuse, &new, known, stands).ok()
    }

    #[test]
    fn nothing_is_done_where_nothing_else_would_go_in() {
        use ReleaseStatus as S;
        let known = release("web", Some(3));
        let other = ReleaseEntry {
            inputs: Digest::new([2; 32]),
            ..known.clone()
        };
        let managed = |known, stands| step_of(Strategy::Managed, known, stands);
        let change = Some(ReleaseStep::Change(Recovery::Nothing));
        let deployed = |revision| Some(release_state(revision, S::Deployed, Some(revision)));
        for (known, state, expected) in [
            (Some(&known), deployed(3), Some(ReleaseStep::Keep)),
            (Some(&known), deployed(4), change),
            (Some(&other), deployed(3), change),
            (
                Some(&known),
                Some(release_state(3, S::Failed, Some(2))),
                change,
            ),
            (Some(&known), None, change),
            (None, None, change),
            (None, deployed(1), None),
            (
                Some(&known),
                deployed(3).map(|state| ReleaseState {
                    is_ours: false,
                    ..state
                }),
                None,
            ),
        ] {
            let found = managed(known, state);
            assert_eq!(found, expected, "{known:?} {state:?}");
        }
    }

    #[test]
    fn what_others_have_done_is_mended_where_nothing_else_is_to_be_done() {
        let (mend, back) = (Recovery::Nothing, Recovery::RollBack(1));
        for (step, expected) in [
            (ReleaseStep::Keep, ReleaseStep::Change(mend)),
            (ReleaseStep::Leave, ReleaseStep::Leave),
            (ReleaseStep::Change(back), ReleaseStep::Change(back)),
        ] {
            assert_eq!(step.mending(), expected);
        }
    }

    #[test]
    fn the_revision_that_comes_is_known_before() {
        for (mend, newest, expected) in [
            (Recovery::Nothing, None, 1),
            (Recovery::Nothing, Some(3), 4),
            (Recovery::Uninstall, Some(2), 1),
            (Recovery::RollBack(1), Some(3), 5),
        ] {
            assert_eq!(
                ReleaseStep::Change(mend).revision(newest),
                expected,
                "{mend:?}"
            );
        }
        assert_eq!(ReleaseStep::Keep.revision(Some(3)), 3);
    }

    #[test]
    fn what_was_cut_off_is_mended_first() {
        use ReleaseStatus as S;
        let known = release("web", None);
        for (state, mend) in [
            (
                release_state(1, S::PendingInstall, None),
                Recovery::Uninstall,
            ),
            (release_state(1, S::Failed, None), Recovery::Uninstall),
            (
                release_state(3, S::PendingUpgrade, Some(2)),
                Recovery::RollBack(2),
            ),
            (
                release_state(3, S::PendingRollback, Some(1)),
                Recovery::RollBack(1),
            ),
            (release_state(2, S::Uninstalling, None), Recovery::Uninstall),
        ] {
            let found = step_of(Strategy::Managed, Some(&known), Some(state));
            assert_eq!(found, Some(ReleaseStep::Change(mend)), "{state:?}");
            // Another client may be at work on an unrecorded release.
            let (strategy, adopt) = (Strategy::Managed, AdoptionPolicy::Allow);
            let found = ReleaseStep::decide(strategy, adopt, &known, None, Some(state));
            assert_eq!(found.is_ok(), !state.status.is_pending());
        }
    }

    #[test]
    fn what_once_came_up_is_never_uninstalled_to_mend_it() {
        use ReleaseStatus as S;
        let known = release("web", Some(2));
        for status in [S::Failed, S::PendingUpgrade, S::Uninstalling] {
            let state = Some(release_state(4, status, None));
            let found = step_of(Strategy::Managed, Some(&known), state);
            assert_eq!(
                found,
                Some(ReleaseStep::Change(Recovery::RollBack(2))),
                "{status:?}"
            );
        }
    }

    #[test]
    fn a_chart_that_is_installed_once_is_left_alone() {
        let of = |revision| {
            let known = release("web", revision);
            let state = release_state(7, ReleaseStatus::Deployed, Some(7));
            step_of(Strategy::BootstrapOnly, Some(&known), Some(state))
        };
        assert_eq!(of(Some(1)), Some(ReleaseStep::Leave));
        assert_eq!(of(None), Some(ReleaseStep::Change(Recovery::Nothing)));
    }

    #[test]
    fn what_was_brought_goes_back_to_what_was_there_or_goes() {
        let known = release("web", Some(2));
        let before = Inventory {
            releases: vec![known.clone()],
            ..Inventory::default()
        };
        let change = |step, revision, back| ReleaseChange {
            entry: release("web", None),
            step,
            revision,
            back,
            sent: Digest::new([0; 32]),
        };
        let upgrade = ReleaseStep::Change(Recovery::Nothing);
        let uninstall = ReleaseStep::Change(Recovery::Uninstall);
        let to = |revision| {
            Some(ReleaseRollback {
                entry: known.clone(),
                revision,
            })
        };
        for (change, expected) in [
            (change(upgrade, Some(2), Some(2)), to(Some(2))),
            (change(upgrade, None, None), to(None)),
            (change(uninstall, Some(1), None), to(None)),
            // The release was installed by another actor.
            (change(upgrade, Some(1), None), None),
            (change(ReleaseStep::Keep, Some(2), Some(2)), None),
            (change(ReleaseStep::Leave, Some(2), Some(2)), None),
        ] {
            assert_eq!(change.inverse(&before), expected, "{change:?}");
        }
        let nothing = Inventory::default();
        let first = change(upgrade, None, None).inverse(&nothing).unwrap();
        assert_eq!(first.entry, release("web", None));
    }
}
