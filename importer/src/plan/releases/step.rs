//! What is to be done about a release, judged by how it stands and by what goes in.

use change::{Adopt, ReleaseEntry};
use helm::ReleaseStatus;
use schemas::Strategy;

use super::drift::Drifted;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::plan::standing::Stands;

/// What is to be done about a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing: what went in is what would go in, and its objects are as they were sent.
    Keep,
    /// Nothing: it was installed once, and is left alone.
    Leave,
    /// Helm installs or upgrades it.
    Change(Mend),
}

/// What has to be done first about a run of Helm that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// There was none.
    Nothing,
    /// It was the first, so there is nothing to go back to.
    Uninstall,
    /// The revision that was whole.
    RollBack(u32),
}

impl Step {
    /// The same where others have done this to its objects: what was to stay is upgraded to what it was.
    pub(super) fn mending(self, drift: &[Drifted]) -> Self {
        match self {
            Self::Keep if !drift.is_empty() => Self::Change(Mend::Nothing),
            step => step,
        }
    }

    /// The revision that a release has then, whose newest one is this.
    pub(crate) fn revision(self, newest: Option<u32>) -> u32 {
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
}

/// What is to be done about a release that would be recorded like this, is recorded like that, and stands so.
pub(crate) fn step(
    strategy: Strategy,
    adopt: Adopt,
    new: &ReleaseEntry,
    known: Option<&ReleaseEntry>,
    stands: Option<Stands>,
) -> Result<Step, Obstacle> {
    let Some(stands) = stands else {
        return Ok(Step::Change(Mend::Nothing));
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
            Ok(Step::Change(Mend::Nothing))
        } else {
            Err(Unfit::ReleaseTaken(new.to_string(), revision).into())
        };
    };
    // What once came up keeps data: it is never uninstalled to mend it.
    let back = deployed.or(known.revision);
    let is_lost = status == ReleaseStatus::Failed && deployed.is_none();
    if is_lost || status.is_pending() || status == ReleaseStatus::Uninstalling {
        // Of a failed first one, Helm would have nothing to go back to.
        let mend = back.map_or(Mend::Uninstall, Mend::RollBack);
        return Ok(Step::Change(mend));
    }
    if strategy == Strategy::BootstrapOnly && known.revision.is_some() {
        return Ok(Step::Leave);
    }
    let is_ours = known.revision == Some(revision) && status == ReleaseStatus::Deployed;
    if is_ours && known.inputs == new.inputs {
        return Ok(Step::Keep);
    }
    Ok(Step::Change(Mend::Nothing))
}

#[cfg(test)]
mod tests {
    use deployer::{Drift, ObjectRef};
    use schemas::Digest;

    use super::*;
    use crate::model::inventory::tests::release;

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
    ) -> Option<Step> {
        let new = release("web", None);
        step(strategy, Adopt::Refuse, &new, known, stands).ok()
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
        let change = Some(Step::Change(Mend::Nothing));
        let deployed = |revision| Some(stands(revision, S::Deployed, Some(revision)));
        for (known, standing, expected) in [
            (Some(&known), deployed(3), Some(Step::Keep)),
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
        let drift = [Drifted {
            object: ObjectRef::namespaced("v1", "Service", "prod", "web"),
            drift: Drift::gone(),
        }];
        let (mend, back) = (Mend::Nothing, Mend::RollBack(1));
        for (step, expected) in [
            (Step::Keep, Step::Change(mend)),
            (Step::Leave, Step::Leave),
            (Step::Change(back), Step::Change(back)),
        ] {
            assert_eq!(step.mending(&drift), expected);
            assert_eq!(step.mending(&[]), step);
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
            assert_eq!(Step::Change(mend).revision(newest), expected, "{mend:?}");
        }
        assert_eq!(Step::Keep.revision(Some(3)), 3);
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
            assert_eq!(found, Some(Step::Change(mend)), "{standing:?}");
            // Others may be at work on what is not recorded.
            let (strategy, adopt) = (Strategy::Managed, Adopt::Allow);
            let found = step(strategy, adopt, &known, None, Some(standing));
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
            assert_eq!(found, Some(Step::Change(Mend::RollBack(2))), "{status:?}");
        }
    }

    #[test]
    fn a_chart_that_is_installed_once_is_left_alone() {
        let of = |revision| {
            let known = release("web", revision);
            let standing = stands(7, ReleaseStatus::Deployed, Some(7));
            step_of(Strategy::BootstrapOnly, Some(&known), Some(standing))
        };
        assert_eq!(of(Some(1)), Some(Step::Leave));
        assert_eq!(of(None), Some(Step::Change(Mend::Nothing)));
    }
}
