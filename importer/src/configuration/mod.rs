//! The steps that a `SolutionsConfiguration` requires in a cluster. `difference` compares the two. `outline` derives
//! the steps, and says for each what must be found out, given the outcome of the earlier ones. `removal` removes
//! Solutions and versions that are not configured, and `again` repeats a plan when its turn comes. The caller opens
//! archives, makes the plans and formats the results.

mod again;
mod difference;
mod outline;
mod removal;
mod step;

pub use self::outline::{AskedStep, ListedArchive, Outline, Prune, Question, Why};
pub use self::removal::{PlannedRemoval, Removed, SolutionRemoval};
pub use self::step::{ConfigurationStep, State, StepAction};
