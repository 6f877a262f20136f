//! What a site's configuration comes to in a cluster, step by step. `difference` compares the two, `outline` makes steps
//! of that and says of each what is to be found out, given what came of those before it; `removal` is what goes, and
//! `again` a plan that is made anew when its turn comes. Archives are opened, plans made and words found by whoever asks.

mod again;
mod difference;
mod outline;
mod removal;
mod step;

pub use self::outline::{AskedStep, ListedArchive, Outline, Prune, Question, Why};
pub use self::removal::{PlannedRemoval, Removed, SolutionRemoval};
pub use self::step::{ConfigurationStep, State, StepAction};
