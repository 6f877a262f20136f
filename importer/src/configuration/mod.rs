//! The steps that a `SolutionsConfiguration` requires in a cluster. `difference` compares the two. `outline` derives
//! the steps in their order, since each depends on the outcome of the earlier ones. `removal` removes Solutions and
//! versions that are not configured. The caller opens archives, makes the plans and formats the results.

mod difference;
mod outline;
mod removal;

pub use self::difference::{ConfigurationStep, State, StepAction};
pub use self::outline::{AskedStep, ListedArchive, Outline, Prune, Question, StepSkipReason};
pub use self::removal::{PlannedRemoval, RemovalOutcome, SolutionRemoval};
