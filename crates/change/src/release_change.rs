//! The changes that Helm is to make to a release, judged by how it stands and by what goes in, and what leads back.

use helm::ReleaseStatus;
use schemas::{Digest, Strategy};
use serde::Serialize;

use crate::inventory::Inventory;
use crate::owner::Adopt;
use crate::release::ReleaseEntry;

/// The state of a release.
#[derive(Clone, Copy, Debug)]
pub struct Stands {
    /// The newest revision of the release.
    pub revision: u32,
    /// The status of that revision.
    pub status: ReleaseStatus,
    /// The newest revision that runs, or did until a run of Helm was cut off; none if there was none yet. One that is
    /// superseded may never have run: Helm says so too of what failed and could not be taken back.
    pub deployed: Option<u32>,
    /// Whether it was made from here.
    pub is_ours: bool,
}

/// The step that is to be done about a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ReleaseStep {
    /// No change: what went in is what would go in, and its objects are as they were sent.
    Keep,
    /// No change: it was installed once, and is left alone.
    Leave,
    /// Helm installs or upgrades the release.
    Change(Mend),
}

/// The mending that has to be done first about a run of Helm that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Mend {
    /// No run was cut off.
    Nothing,
    /// The first run was cut off, so there is nothing to go back to.
    Uninstall,
    /// The revision that was whole.
    RollBack(u32),
}

/// A release of the name is there that was not made from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseTaken {
    /// The release.
    pub release: String,
    /// The newest revision of the release.
    pub revision: u32,
}

impl ReleaseStep {
    /// Returns what is to be done about a release that would be recorded like this, is recorded like that, and stands so.
    pub fn decide(
        strategy: Strategy,
        adopt: Adopt,
        new: &ReleaseEntry,
        known: Option<&ReleaseEntry>,
        stands: Option<Stands>,
    ) -> Result<Self, ReleaseTaken> {
        let Some(stands) = stands else {
            return Ok(Self::Change(Mend::Nothing));
        };
        let Stands {
            revision,
            status,
            deployed,
            is_ours,
        } = stands;
        let Some(known) = known.filter(|_| is_ours) else {
            // Somebody may be at work on it.
            return if adopt == Adopt::Allow && !status.is_pending() {
                Ok(Self::Change(Mend::Nothing))
            } else {
                let release = new.to_string();
                Err(ReleaseTaken { release, revision })
            };
        };
        // What once came up keeps data: it is never uninstalled to mend it.
        let back = deployed.or(known.revision);
        let is_lost = status == ReleaseStatus::Failed && deployed.is_none();
        if is_lost || status.is_pending() || status == ReleaseStatus::Uninstalling {
            // Of a failed first one, Helm would have nothing to go back to.
            let mend = back.map_or(Mend::Uninstall, Mend::RollBack);
            return Ok(Self::Change(mend));
        }
        if strategy == Strategy::BootstrapOnly && known.revision.is_some() {
            return Ok(Self::Leave);
        }
        let is_ours = known.revision == Some(revision) && status == ReleaseStatus::Deployed;
        if is_ours && known.inputs == new.inputs {
            return Ok(Self::Keep);
        }
        Ok(Self::Change(Mend::Nothing))
    }

    /// Returns the same where others have done something to its objects: what was to stay is upgraded to what it was.
    #[must_use]
    pub fn mending(self) -> Self {
        match self {
            Self::Keep => Self::Change(Mend::Nothing),
            step => step,
        }
    }

    /// Returns the revision that a release has then, whose newest one is this.
    #[must_use]
    pub fn revision(self, newest: Option<u32>) -> u32 {
        let newest = newest.unwrap_or(0);
        match self {
            Self::Keep | Self::Leave => newest,
            Self::Change(Mend::Nothing) => newest.saturating_add(1),
            // Nothing is left of those before.
            Self::Change(Mend::Uninstall) => 1,
            // Going back is a revision, too.
            Self::Change(Mend::RollBack(_)) => newest.saturating_add(2),
        }
    }

    /// Whether Helm has anything to do.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::Change(_))
    }
}

/// The change of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReleaseChange {
    /// The entry of the release, as it is recorded then.
    pub entry: ReleaseEntry,
    /// The step that is to be done.
    pub step: ReleaseStep,
    /// Helm's newest revision of it.
    pub revision: Option<u32>,
    /// The revision to go back to; none of one that never came up.
    pub back: Option<u32>,
    /// The digest of the objects that it has then, as Helm sends them.
    pub sent: Digest,
}

/// A release on the way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseReturn {
    /// The entry of the release, as it was recorded before, if it was.
    pub entry: ReleaseEntry,
    /// The revision that it returns to; none of one that is uninstalled.
    pub revision: Option<u32>,
}

impl ReleaseChange {
    /// Returns the way back, if there is one. A release that others had begun is theirs, and may keep data.
    pub(crate) fn inverse(&self, before: &Inventory) -> Option<ReleaseReturn> {
        let is_brought =
            || self.revision.is_none() || self.step == ReleaseStep::Change(Mend::Uninstall);
        if !self.step.changes() || self.back.is_none() && !is_brought() {
            return None;
        }
        let known = before.release(&self.entry.namespace, &self.entry.name);
        Some(ReleaseReturn {
            entry: known.unwrap_or(&self.entry).clone(),
            revision: self.back,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::tests::release;

    fn stands(revision: u32, status: ReleaseStatus, deployed: Option<u32>) -> Stands {
        Stands {
            revision,
            status,
            deployed,
            is_ours: true,
        }
    }

    fn step_of(
        strategy: Strategy,
        known: Option<&ReleaseEntry>,
        stands: Option<Stands>,
    ) -> Option<ReleaseStep> {
        let new = release("web", None);
        ReleaseStep::decide(strategy, Adopt::Refuse, &new, known, stands).ok()
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
        let change = Some(ReleaseStep::Change(Mend::Nothing));
        let deployed = |revision| Some(stands(revision, S::Deployed, Some(revision)));
        for (known, standing, expected) in [
            (Some(&known), deployed(3), Some(ReleaseStep::Keep)),
            (Some(&known), deployed(4), change),
            (Some(&other), deployed(3), change),
            (Some(&known), Some(stands(3, S::Failed, Some(2))), change),
            (Some(&known), None, change),
            (None, None, change),
            (None, deployed(1), None),
            (
                Some(&known),
                deployed(3).map(|it| Stands {
                    is_ours: false,
                    ..it
                }),
                None,
            ),
        ] {
            let found = managed(known, standing);
            assert_eq!(found, expected, "{known:?} {standing:?}");
        }
    }

    #[test]
    fn what_others_have_done_is_mended_where_nothing_else_is_to_be_done() {
        let (mend, back) = (Mend::Nothing, Mend::RollBack(1));
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
            (Mend::Nothing, None, 1),
            (Mend::Nothing, Some(3), 4),
            (Mend::Uninstall, Some(2), 1),
            (Mend::RollBack(1), Some(3), 5),
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
        for (standing, mend) in [
            (stands(1, S::PendingInstall, None), Mend::Uninstall),
            (stands(1, S::Failed, None), Mend::Uninstall),
            (stands(3, S::PendingUpgrade, Some(2)), Mend::RollBack(2)),
            (stands(3, S::PendingRollback, Some(1)), Mend::RollBack(1)),
            (stands(2, S::Uninstalling, None), Mend::Uninstall),
        ] {
            let found = step_of(Strategy::Managed, Some(&known), Some(standing));
            assert_eq!(found, Some(ReleaseStep::Change(mend)), "{standing:?}");
            // Others may be at work on what is not recorded.
            let (strategy, adopt) = (Strategy::Managed, Adopt::Allow);
            let found = ReleaseStep::decide(strategy, adopt, &known, None, Some(standing));
            assert_eq!(found.is_ok(), !standing.status.is_pending());
        }
    }

    #[test]
    fn what_once_came_up_is_never_uninstalled_to_mend_it() {
        use ReleaseStatus as S;
        let known = release("web", Some(2));
        for status in [S::Failed, S::PendingUpgrade, S::Uninstalling] {
            let standing = Some(stands(4, status, None));
            let found = step_of(Strategy::Managed, Some(&known), standing);
            assert_eq!(
                found,
                Some(ReleaseStep::Change(Mend::RollBack(2))),
                "{status:?}"
            );
        }
    }

    #[test]
    fn a_chart_that_is_installed_once_is_left_alone() {
        let of = |revision| {
            let known = release("web", revision);
            let standing = stands(7, ReleaseStatus::Deployed, Some(7));
            step_of(Strategy::BootstrapOnly, Some(&known), Some(standing))
        };
        assert_eq!(of(Some(1)), Some(ReleaseStep::Leave));
        assert_eq!(of(None), Some(ReleaseStep::Change(Mend::Nothing)));
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
        let upgrade = ReleaseStep::Change(Mend::Nothing);
        let uninstall = ReleaseStep::Change(Mend::Uninstall);
        let to = |revision| {
            Some(ReleaseReturn {
                entry: known.clone(),
                revision,
            })
        };
        for (change, expected) in [
            (change(upgrade, Some(2), Some(2)), to(Some(2))),
            (change(upgrade, None, None), to(None)),
            (change(uninstall, Some(1), None), to(None)),
            // Others have begun it.
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
