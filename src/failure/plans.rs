//! What the errors of plan files come to, and what to do where one does not hold any more.

use std::path::Path;

use importer::{FleetMoved, Moved};
use signing::{TrustError, VerifyError};

use super::Failure;

const AGAIN: &str =
    "make a new plan with the command that made this one, and have that one approved";

/// A file is not that of a plan.
pub(crate) fn no_plan(path: &Path, error: anyhow::Error) -> Failure {
    Failure::no(error)
        .context(format!("`{}` cannot be a plan file", path.display()))
        .hint("`--plan-out FILE` of `solution import`, `deploy`, `activate`, `fleet apply` and `fleet rollback` writes one")
}

/// The keys that must have signed a plan make no sense.
pub(crate) fn approvers(error: TrustError) -> Failure {
    let hint = match error {
        TrustError::Empty | TrustError::Repeated(_) => "give each key once with `--approved-by`",
        TrustError::ThresholdMissing { .. } | TrustError::ThresholdTooHigh { .. } => {
            "set how many of the keys must have signed with `--approvals`"
        }
    };
    Failure::usage(error).hint(hint)
}

/// A plan is not signed by those who must have signed it.
pub(crate) fn not_approved(path: &Path, error: &VerifyError) -> Failure {
    let path = path.display();
    let (words, hint) = match error {
        VerifyError::Unsigned => (
            format!("nobody signed the plan in `{path}`"),
            "have it read and signed: `solution inspect FILE`, `solution sign FILE --key KEY`",
        ),
        VerifyError::Wrong(key) => (
            format!("the plan in `{path}` is not the one that key {key} signed"),
            "it was changed after it was signed: find out by whom",
        ),
        VerifyError::TooFew { signers, needed } => (
            format!(
                "the plan in `{path}` is signed by {} of the {needed} keys that must have signed it",
                signers.trusted.len()
            ),
            "have it signed with the keys that are missing: `solution sign FILE --key KEY`",
        ),
    };
    Failure::no(anyhow::anyhow!(words)).hint(hint)
}

/// What to do about a plan that does not hold any more.
pub(crate) fn replan(moved: &Moved) -> &'static str {
    match moved {
        Moved::Cluster(_) => "choose the cluster that it was made for with `--context`",
        Moved::Archive(..) => "give the archive that it was made for, or make a new plan",
        Moved::Objects(_) | Moved::Records(_) | Moved::Told(_) | Moved::Otherwise => AGAIN,
    }
}

/// What to do about the plan of a fleet that does not hold any more.
pub(crate) fn replan_fleet(moved: &FleetMoved) -> &'static str {
    match moved {
        FleetMoved::Fleet(_) => "give the fleet's file that it was made for",
        FleetMoved::Cluster(_) => {
            "choose clusters of the plan with `--cluster`, or make a new plan"
        }
        FleetMoved::Change(_) => "carry it out with the verb of `solution fleet` that made it",
        FleetMoved::Uid(_) => "let the fleet's file lead to the cluster that it was made for",
        FleetMoved::Deployment(_, moved) => replan(moved),
        FleetMoved::Waves | FleetMoved::Wave(..) | FleetMoved::Added(_) | FleetMoved::Left(_) => {
            AGAIN
        }
    }
}
