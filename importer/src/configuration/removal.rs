//! The removal of CRDs or an imported version that the configuration does not have. They are removed only if nothing
//! uses them. [`SolutionRemoval::plan`] predicts the effects, and [`SolutionRemoval::carry_out`] removes.

use schemas::SolutionName;

use crate::apply::change::Change;
use crate::apply::lifecycle::{RemovalReport, deactivate};
use crate::apply::unimport::{ImageTreatment, unimport};
use crate::configuration::difference::Unlisted;
use crate::model::blocker::Blocker;
use crate::model::error::{Error, EvenIfUsed};

/// The CRDs or the version to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SolutionRemoval(What);

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// The CRDs of a Solution.
    Definitions(SolutionName),
    /// An imported version.
    Version {
        unlisted: Unlisted,
        definitions: CrdOutlook,
    },
}

/// The prediction whether a Solution's CRDs will be unchanged when its version is to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrdOutlook {
    /// No change is planned.
    Stay,
    /// They are replaced by another version's, or removed.
    Change,
}

/// The prediction of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedRemoval {
    /// These objects would be removed.
    Goes(Vec<String>),
    /// Nothing would be removed, because of these blockers.
    Left(Vec<Blocker>),
}

/// The outcome of a removal.
#[derive(Clone, Debug)]
pub enum RemovalOutcome {
    /// It was removed.
    Gone(RemovalReport),
    /// It was kept because of these blockers.
    Left(Vec<Blocker>),
}

impl SolutionRemoval {
    pub(super) fn of_definitions(solution: SolutionName) -> Self {
        Self(What::Definitions(solution))
    }

    pub(super) fn of_version(unlisted: Unlisted, definitions: CrdOutlook) -> Self {
        Self(What::Version {
            unlisted,
            definitions,
        })
    }

    /// Returns the objects that would be removed, or the blockers. Nothing is written.
    pub async fn plan(&self, change: &Change<'_>) -> Result<PlannedRemoval, Error> {
        self.found(self.make(&change.dry()).await)
    }

    /// Removes the CRDs or the version. A version that is still active is kept, since the step that should have
    /// replaced it has failed.
    pub async fn carry_out(&self, change: &Change<'_>) -> Result<RemovalOutcome, Error> {
        removed(self.make(change).await)
    }

    async fn make(&self, change: &Change<'_>) -> Result<RemovalReport, Error> {
        let used = EvenIfUsed::Refuse;
        match &self.0 {
            What::Definitions(solution) => deactivate(change, solution, used).await,
            What::Version { unlisted, .. } => {
                let Unlisted {
                    solution, version, ..
                } = unlisted;
                unimport(change, solution, version, used, ImageTreatment::Keep).await
            }
        }
    }

    /// Converts the outcome of a dry run.
    fn found(&self, tried: Result<RemovalReport, Error>) -> Result<PlannedRemoval, Error> {
        let mut blockers = match tried {
            Ok(undone) => return Ok(PlannedRemoval::Goes(undone.removed)),
            Err(Error::Refused(blocker)) => vec![blocker],
            Err(Error::Blocked(by)) => by.blockers,
            Err(error) => return Err(error),
        };
        if let What::Version {
            unlisted,
            definitions: CrdOutlook::Change,
        } = &self.0
        {
            // An earlier step will have deactivated or replaced the version by then.
            blockers.retain(|blocker| !blocker.is_active());
            if blockers.is_empty() {
                return Ok(PlannedRemoval::Goes(vec![unlisted.recorded_in.clone()]));
            }
        }
        Ok(PlannedRemoval::Left(blockers))
    }
}

fn removed(done: Result<RemovalReport, Error>) -> Result<RemovalOutcome, Error> {
    match done {
        Ok(undone) => Ok(RemovalOutcome::Gone(undone)),
        // An active version is not a failure here: the step that should have replaced it has failed and reports that.
        Err(Error::Blocked(by)) if by.blockers.iter().any(Blocker::is_active) => {
            Ok(RemovalOutcome::Left(by.blockers))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::RemovalBlocked;

    impl SolutionRemoval {
        /// Returns a text such as `remove 1.0.0 (Change)`.
        pub(in crate::configuration) fn in_words(&self) -> String {
            match &self.0 {
                What::Definitions(_) => "remove definitions".to_owned(),
                What::Version {
                    unlisted,
                    definitions,
                } => format!("remove {} ({definitions:?})", unlisted.version),
            }
        }
    }

    const RECORD: &str = "ConfigMap metalk8s-solutions/solution-shop-1.0.0";

    fn active() -> Blocker {
        Blocker::Active {
            solution: "shop".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
        }
    }

    fn deployed() -> Blocker {
        let solution = "shop".parse().unwrap();
        Blocker::Deployed {
            solution,
            version: "1.0.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
        }
    }

    fn blocked(blockers: &[Blocker]) -> Error {
        Error::Blocked(Box::new(RemovalBlocked {
            blockers: blockers.to_vec(),
            uses: Vec::new(),
        }))
    }

    fn gone(object: &str) -> RemovalReport {
        RemovalReport {
            removed: vec![object.to_owned()],
            ..RemovalReport::default()
        }
    }

    fn version(definitions: CrdOutlook) -> SolutionRemoval {
        let unlisted = Unlisted {
            solution: "shop".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            recorded_in: RECORD.to_owned(),
        };
        SolutionRemoval::of_version(unlisted, definitions)
    }

    #[test]
    fn what_is_used_stays_and_an_active_version_unless_its_definitions_change_before() {
        let definitions = SolutionRemoval::of_definitions("shop".parse().unwrap());
        let (stay, change) = (version(CrdOutlook::Stay), version(CrdOutlook::Change));
        let goes = || PlannedRemoval::Goes(vec![RECORD.to_owned()]);
        for (removal, blockers, left) in [
            (&definitions, vec![deployed()], vec![deployed()]),
            (&definitions, vec![active()], vec![active()]),
            (&stay, vec![active()], vec![active()]),
            (
                &stay,
                vec![deployed(), active()],
                vec![deployed(), active()],
            ),
            (&change, vec![active()], vec![]),
            (&change, vec![deployed()], vec![deployed()]),
            (&change, vec![deployed(), active()], vec![deployed()]),
        ] {
            let found = removal.found(Err(blocked(&blockers))).unwrap();
            if left.is_empty() {
                assert_eq!(found, goes(), "{removal:?}: {blockers:?}");
            } else {
                assert_eq!(
                    found,
                    PlannedRemoval::Left(left),
                    "{removal:?}: {blockers:?}"
                );
            }
        }
        for removal in [&definitions, &stay, &change] {
            assert_eq!(removal.found(Ok(gone(RECORD))).unwrap(), goes());
            let refused = removal.found(Err(Error::Refused(deployed()))).unwrap();
            assert_eq!(refused, PlannedRemoval::Left(vec![deployed()]));
            let unknown = removal.found(Err(Error::NoIdentity)).unwrap_err();
            assert!(matches!(unknown, Error::NoIdentity), "{unknown:?}");
        }
    }

    #[test]
    fn a_version_that_nothing_replaced_is_left_and_any_other_blocker_is_a_failure() {
        for (blockers, is_left) in [
            (vec![active()], true),
            (vec![deployed(), active()], true),
            (vec![deployed()], false),
        ] {
            match removed(Err(blocked(&blockers))) {
                Ok(RemovalOutcome::Left(left)) if is_left => assert_eq!(left, blockers),
                Err(Error::Blocked(by)) if !is_left => assert_eq!(by.blockers, blockers),
                other => panic!("{blockers:?}: {other:?}"),
            }
        }
        let done = removed(Ok(gone(RECORD))).unwrap();
        assert!(matches!(done, RemovalOutcome::Gone(undone) if undone.removed == [RECORD]));
        let refused = removed(Err(Error::Refused(active()))).unwrap_err();
        assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    }
}
