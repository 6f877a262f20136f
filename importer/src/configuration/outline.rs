//! The sequence of steps that a `SolutionsConfiguration` requires. Listed archives are imported first, then named
//! versions are activated, and unlisted versions are removed last. [`Outline::next`] returns the next step with the
//! question that decides about it, which depends on the outcome of the earlier steps. Nothing is read or written here.

use schemas::{SolutionId, SolutionName, SolutionsConfiguration, Version};

use crate::configuration::difference::{
    ConfigurationStep, ConfiguredVersion, Difference, State, StepAction, Unlisted,
};
use crate::configuration::removal::{CrdOutlook, SolutionRemoval};
use crate::model::blocker::Blocker;
use crate::status::Status;

/// An archive that the configuration lists.
#[derive(Clone, Debug)]
pub struct ListedArchive {
    /// The path of the archive, as listed.
    pub path: String,
    /// The version in the archive, if the archive is accepted.
    pub id: Option<SolutionId>,
}

/// The treatment of Solutions and versions that the configuration does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prune {
    /// They are kept.
    Refuse,
    /// They are removed if nothing uses them.
    Allow,
}

/// The steps that a configuration requires, in their order.
#[derive(Debug)]
pub struct Outline(Vec<Outlined>);

#[derive(Debug)]
struct Outlined {
    step: ConfigurationStep,
    needs: StepNeeds,
}

/// The inputs of the decision about a step.
#[derive(Debug)]
enum StepNeeds {
    /// None, since the step is skipped for this reason.
    Nothing(StepSkipReason),
    /// The plan of importing a listed archive.
    Import { archive: usize },
    /// The step that imports a listed archive, and the plan of activating it.
    Imported { archive: usize },
    /// The plan of activating a version from its registry.
    Kept {
        solution: SolutionName,
        version: Version,
    },
    /// The blockers of the removal of the CRDs of a Solution.
    Definitions(SolutionName),
    /// The steps that change the CRDs of the Solution, and the blockers of the removal of the version.
    Version(Unlisted),
}

/// A step, and the question that decides about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedStep {
    /// The step.
    pub step: ConfigurationStep,
    /// The question that decides about the step.
    pub question: Question,
}

/// A question that decides about a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// None, since the step is skipped for this reason.
    Nothing(StepSkipReason),
    /// The effects of importing a listed archive, or the reason why it is not accepted.
    Import {
        /// The archive's position in the list.
        archive: usize,
    },
    /// The effects of activating the version of a listed archive.
    Activate {
        /// The archive's position in the list.
        archive: usize,
    },
    /// The effects of activating an imported version from the registry that it was pushed to.
    ActivateKept {
        /// The Solution.
        solution: SolutionName,
        /// The version.
        version: Version,
    },
    /// The effects of a removal.
    Remove(SolutionRemoval),
}

/// A reason for skipping a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSkipReason {
    /// The archive at this path has the same version and is listed earlier.
    SameVersion(String),
    /// The version to activate does not exist.
    Absent(Blocker),
    /// The archive of the version to activate cannot be imported.
    NotImported,
    /// Solutions and versions that the configuration does not have are kept.
    NotAskedFor,
    /// A listed archive is not accepted, and could contain this version.
    MayBeListed,
}

impl Outline {
    /// Compares a configuration and the content of its listed archives with a cluster.
    #[must_use]
    pub fn of(
        configuration: &SolutionsConfiguration,
        archives: &[ListedArchive],
        status: &Status,
        prune: Prune,
    ) -> Self {
        let imports: Vec<Outlined> = (0..archives.len()).map(|at| import(archives, at)).collect();
        let ids: Vec<SolutionId> = archives
            .iter()
            .filter_map(|archive| archive.id.clone())
            .collect();
        let difference = Difference::compute(configuration, &ids, status);
        let activations = difference
            .active
            .into_iter()
            .map(|wanted| activation(wanted, archives));
        let deactivations = difference
            .deactivate
            .into_iter()
            .map(|solution| deactivation(solution, prune));
        let spared = spared(archives, prune);
        let unlisted = difference.unlisted.into_iter();
        let removals = unlisted.map(|unlisted| removal(unlisted, spared.clone()));
        let steps = imports.into_iter().chain(activations);
        Self(steps.chain(deactivations).chain(removals).collect())
    }

    /// Returns the step after those whose state is known, or `None` after the last one.
    #[must_use]
    pub fn next(&self, known: &[State]) -> Option<AskedStep> {
        let Outlined { step, needs } = self.0.get(known.len())?;
        let question = match needs {
            StepNeeds::Nothing(why) => Question::Nothing(why.clone()),
            StepNeeds::Import { archive } => Question::Import { archive: *archive },
            // The steps of archives come first, at the position of their archive.
            StepNeeds::Imported { archive } if known.get(*archive) == Some(&State::Failed) => {
                Question::Nothing(StepSkipReason::NotImported)
            }
            StepNeeds::Imported { archive } => Question::Activate { archive: *archive },
            StepNeeds::Kept { solution, version } => Question::ActivateKept {
                solution: solution.clone(),
                version: version.clone(),
            },
            StepNeeds::Definitions(solution) => {
                Question::Remove(SolutionRemoval::of_definitions(solution.clone()))
            }
            StepNeeds::Version(unlisted) => {
                let definitions = self.definitions(&unlisted.solution, known);
                Question::Remove(SolutionRemoval::of_version(unlisted.clone(), definitions))
            }
        };
        Some(AskedStep {
            step: step.clone(),
            question,
        })
    }

    /// Returns whether the CRDs of a Solution will change by the steps whose state is known.
    fn definitions(&self, solution: &SolutionName, known: &[State]) -> CrdOutlook {
        let mut steps = self.0.iter().zip(known);
        let change = steps.any(|(outlined, state)| {
            *state == State::Planned && outlined.step.changes_definitions(solution)
        });
        if change {
            CrdOutlook::Change
        } else {
            CrdOutlook::Stay
        }
    }
}

impl StepSkipReason {
    /// Returns the state of the skipped step.
    #[must_use]
    pub fn state(&self) -> State {
        match self {
            Self::SameVersion(_) | Self::Absent(_) | Self::NotImported => State::Failed,
            Self::NotAskedFor | Self::MayBeListed => State::Left,
        }
    }
}

/// Returns the import of an archive. Of multiple archives of one version, only the first is imported.
fn import(archives: &[ListedArchive], archive: usize) -> Outlined {
    let ListedArchive { path, id } = &archives[archive];
    let mut before = archives[..archive].iter();
    let needs = match before.find(|earlier| id.is_some() && earlier.id == *id) {
        Some(first) => StepNeeds::Nothing(StepSkipReason::SameVersion(first.path.clone())),
        None => StepNeeds::Import { archive },
    };
    let step = ConfigurationStep {
        action: StepAction::Import,
        archive: Some(path.clone()),
        solution: id.as_ref().map(|id| id.name().clone()),
        version: id.as_ref().map(|id| id.version().clone()),
    };
    Outlined { step, needs }
}

fn activation(wanted: ConfiguredVersion, archives: &[ListedArchive]) -> Outlined {
    let ConfiguredVersion { solution, version } = wanted;
    Outlined {
        step: ConfigurationStep::new(StepAction::Activate, &solution, version.as_ref().ok()),
        needs: match version {
            Ok(version) => source(solution, version, archives),
            Err(blocker) => StepNeeds::Nothing(StepSkipReason::Absent(blocker)),
        },
    }
}

/// Returns the source of a version: its archive if that is listed, else the registry that it was pushed to.
fn source(solution: SolutionName, version: Version, archives: &[ListedArchive]) -> StepNeeds {
    let is_it = |id: &SolutionId| *id.name() == solution && *id.version() == version;
    let mut ids = archives.iter().map(|archive| archive.id.as_ref());
    match ids.position(|id| id.is_some_and(is_it)) {
        Some(archive) => StepNeeds::Imported { archive },
        None => StepNeeds::Kept { solution, version },
    }
}

fn deactivation(solution: SolutionName, prune: Prune) -> Outlined {
    Outlined {
        step: ConfigurationStep::new(StepAction::Deactivate, &solution, None),
        needs: match prune {
            Prune::Refuse => StepNeeds::Nothing(StepSkipReason::NotAskedFor),
            Prune::Allow => StepNeeds::Definitions(solution),
        },
    }
}

fn removal(unlisted: Unlisted, spared: Option<StepSkipReason>) -> Outlined {
    Outlined {
        step: ConfigurationStep::new(
            StepAction::Unimport,
            &unlisted.solution,
            Some(&unlisted.version),
        ),
        needs: spared.map_or(StepNeeds::Version(unlisted), StepNeeds::Nothing),
    }
}

/// Returns the reason for keeping all unlisted versions, if there is one.
fn spared(archives: &[ListedArchive], prune: Prune) -> Option<StepSkipReason> {
    let is_unknown = |archive: &ListedArchive| archive.id.is_none();
    match prune {
        Prune::Refuse => Some(StepSkipReason::NotAskedFor),
        Prune::Allow => archives
            .iter()
            .any(is_unknown)
            .then_some(StepSkipReason::MayBeListed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::difference::tests::{configuration, status};

    fn archives(ids: &[&str]) -> Vec<ListedArchive> {
        let archive = |(at, id): (usize, &&str)| ListedArchive {
            path: format!("{at}.iso"),
            id: id.parse().ok(),
        };
        ids.iter().enumerate().map(archive).collect()
    }

    /// Returns every step with its question, with the state `found` for each step that asks one.
    fn walk(outline: &Outline, found: impl Fn(&ConfigurationStep) -> State) -> Vec<String> {
        let mut known = Vec::new();
        let mut lines = Vec::new();
        while let Some(AskedStep { step, question }) = outline.next(&known) {
            known.push(match &question {
                Question::Nothing(why) => why.state(),
                _ => found(&step),
            });
            lines.push(format!("{}: {}", about(&step), words(&question)));
        }
        lines
    }

    fn about(step: &ConfigurationStep) -> String {
        let words = [
            Some(format!("{:?}", step.action).to_lowercase()),
            step.solution.as_ref().map(ToString::to_string),
            step.version.as_ref().map(ToString::to_string),
            step.archive.clone(),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn words(question: &Question) -> String {
        match question {
            Question::Nothing(StepSkipReason::SameVersion(path)) => format!("same as {path}"),
            Question::Nothing(StepSkipReason::Absent(blocker)) => blocker.to_string(),
            Question::Nothing(why) => format!("{why:?}"),
            Question::Import { archive } => format!("import {archive}"),
            Question::Activate { archive } => format!("activate {archive}"),
            Question::ActivateKept { solution, version } => format!("kept {solution} {version}"),
            Question::Remove(removal) => removal.in_words(),
        }
    }

    fn planned(_: &ConfigurationStep) -> State {
        State::Planned
    }

    #[test]
    fn what_is_listed_comes_first_and_what_is_not_goes_last() {
        let known = status(&[("1.0.0", false), ("1.1.0", true)]);
        let listed = archives(&["shop-1.2.0"]);
        let of = |active, prune| Outline::of(&configuration(active), &listed, &known, prune);
        assert_eq!(
            walk(&of("{shop: latest}", Prune::Allow), planned),
            [
                "import shop 1.2.0 0.iso: import 0",
                "activate shop 1.2.0: activate 0",
                "unimport shop 1.0.0: remove 1.0.0 (Change)",
                "unimport shop 1.1.0: remove 1.1.0 (Change)",
            ]
        );
        assert_eq!(
            walk(&of("{}", Prune::Allow), planned),
            [
                "import shop 1.2.0 0.iso: import 0",
                "deactivate shop: remove definitions",
                "unimport shop 1.0.0: remove 1.0.0 (Change)",
                "unimport shop 1.1.0: remove 1.1.0 (Change)",
            ]
        );
        assert_eq!(
            walk(&of("{}", Prune::Refuse), planned),
            [
                "import shop 1.2.0 0.iso: import 0",
                "deactivate shop: NotAskedFor",
                "unimport shop 1.0.0: NotAskedFor",
                "unimport shop 1.1.0: NotAskedFor",
            ]
        );
    }

    #[test]
    fn a_version_comes_from_its_archive_if_that_is_listed_and_can_be_imported() {
        let known = status(&[("1.0.0", true)]);
        let activation = |active: &str, listed: &[&str], import: State| {
            let outline = Outline::of(
                &configuration(active),
                &archives(listed),
                &known,
                Prune::Refuse,
            );
            let found = |step: &ConfigurationStep| match step.action {
                StepAction::Import => import,
                _ => State::Planned,
            };
            let mut lines = walk(&outline, found).into_iter();
            lines.find(|line| line.starts_with("activate")).unwrap()
        };
        for (active, listed, import, expected) in [
            ("1.0.0", &[][..], State::Planned, "1.0.0: kept shop 1.0.0"),
            (
                "1.0.0",
                &["shop-1.1.0"],
                State::Planned,
                "1.0.0: kept shop 1.0.0",
            ),
            (
                "1.0.0",
                &["cart-1.0.0"],
                State::Planned,
                "1.0.0: kept shop 1.0.0",
            ),
            (
                "1.0.0",
                &["cart-1.0.0", "shop-1.0.0"],
                State::Planned,
                "1.0.0: activate 1",
            ),
            (
                "1.0.0",
                &["?", "shop-1.0.0", "shop-1.0.0"],
                State::Planned,
                "1.0.0: activate 1",
            ),
            (
                "1.0.0",
                &["shop-1.0.0"],
                State::Failed,
                "1.0.0: NotImported",
            ),
            (
                "1.0.0",
                &["shop-1.1.0"],
                State::Failed,
                "1.0.0: kept shop 1.0.0",
            ),
            (
                "latest",
                &["shop-1.1.0"],
                State::Failed,
                "1.1.0: NotImported",
            ),
            (
                "2.0.0",
                &["?"],
                State::Planned,
                ": shop 2.0.0 is not imported",
            ),
        ] {
            let found = activation(&format!("{{shop: {active}}}"), listed, import);
            let found = found.strip_prefix("activate shop").unwrap().trim_start();
            assert_eq!(found, expected, "{active}, {listed:?}, {import:?}");
        }
    }

    #[test]
    fn one_archive_of_a_version_counts_and_one_that_is_not_accepted_spares_what_it_may_be() {
        let known = status(&[("1.0.0", true)]);
        let listed = archives(&["shop-1.1.0", "?", "shop-1.1.0", "cart-1.1.0", "?"]);
        let imports = [
            "import shop 1.1.0 0.iso: import 0",
            "import 1.iso: import 1",
            "import shop 1.1.0 2.iso: same as 0.iso",
            "import cart 1.1.0 3.iso: import 3",
            "import 4.iso: import 4",
        ];
        for (prune, deactivation, removal) in [
            (Prune::Allow, "remove definitions", "MayBeListed"),
            (Prune::Refuse, "NotAskedFor", "NotAskedFor"),
        ] {
            let outline = Outline::of(&configuration("{}"), &listed, &known, prune);
            let lines = walk(&outline, planned);
            assert_eq!(lines[..5], imports);
            assert_eq!(
                lines[5..],
                [
                    format!("deactivate shop: {deactivation}"),
                    format!("unimport shop 1.0.0: {removal}"),
                ]
            );
        }
    }

    #[test]
    fn definitions_change_by_steps_that_are_taken_alone() {
        let known = status(&[("1.0.0", true), ("1.1.0", false)]);
        let removal = |active: &str, state: State| {
            let outline = Outline::of(&configuration(active), &[], &known, Prune::Allow);
            let found = |step: &ConfigurationStep| match step.action {
                StepAction::Activate | StepAction::Deactivate => state,
                _ => State::Planned,
            };
            walk(&outline, found).pop().unwrap()
        };
        for (active, version) in [("{shop: 1.1.0}", "1.0.0"), ("{}", "1.1.0")] {
            for (state, definitions) in [
                (State::Planned, "Change"),
                (State::Failed, "Stay"),
                (State::Left, "Stay"),
            ] {
                let expected = format!("unimport shop {version}: remove {version} ({definitions})");
                assert_eq!(removal(active, state), expected, "{active}, {state:?}");
            }
        }
        // Steps of another Solution have no influence, and an import alone changes no CRDs.
        let listed = archives(&["cart-1.0.0", "shop-1.2.0"]);
        let active = configuration("{cart: 1.0.0, shop: 9.0.0}");
        let outline = Outline::of(&active, &listed, &known, Prune::Allow);
        let last = walk(&outline, planned).pop().unwrap();
        assert_eq!(last, "unimport shop 1.1.0: remove 1.1.0 (Stay)");
    }
}
