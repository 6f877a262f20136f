//! What the errors of plan files come to, and what to do where one does not hold any more.

use std::path::Path;

use importer::{FleetMoved, Moved};
use signing::{TrustError, VerifyError};

use super::Failure;

const AGAIN: &str = "create a new plan with the same command, and have it approved";

/// A file is not that of a plan.
pub(crate) fn no_plan(path: &Path, error: anyhow::Error) -> Failure {
    Failure::no(error)
        .context(format!("`{}` is not a plan file", path.display()))
        .hint("write one with `--plan-out FILE` of `solution import`, `deploy`, `crds activate`, `fleet apply` or `fleet rollback`")
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
            format!("the plan in `{path}` is not signed"),
            "have it reviewed with `solution inspect FILE` and signed with `solution sign FILE --key KEY`",
        ),
        VerifyError::Wrong(key) => (
            format!("the plan in `{path}` is not the one that key {key} signed"),
            "find out who changed it after it was signed",
        ),
        VerifyError::TooFew { signers, needed } => (
            format!(
                "the plan in `{path}` is signed by {} of the {needed} keys that must have signed it",
                signers.trusted.len()
            ),
            "have it signed with the missing keys: `solution sign FILE --key KEY`",
        ),
    };
    Failure::no(anyhow::anyhow!(words)).hint(hint)
}

/// What to do about a plan that does not hold any more.
pub(crate) fn replan(moved: &Moved) -> &'static str {
    match moved {
        Moved::Cluster(_) => "choose the plan's cluster with `--context`",
        Moved::Archive(..) => "name the plan's archive, or create a new plan",
        Moved::Objects(_) | Moved::Records(_) | Moved::Told(_) | Moved::Otherwise => AGAIN,
    }
}

/// What to do about the plan of a fleet that does not hold any more.
pub(crate) fn replan_fleet(moved: &FleetMoved) -> &'static str {
    match moved {
        FleetMoved::Fleet(_) => "name the plan's fleet file",
        FleetMoved::Cluster(_) => {
            "choose clusters of the plan with `--cluster`, or create a new plan"
        }
        FleetMoved::Change(_) => "apply it with the `solution fleet` command that created it",
        FleetMoved::Uid(_) => {
            "correct the context or kubeconfig of the cluster in the fleet's file"
        }
        FleetMoved::Deployment(_, moved) => replan(moved),
        FleetMoved::Waves | FleetMoved::Wave(..) | FleetMoved::Added(_) | FleetMoved::Left(_) => {
            AGAIN
        }
    }
}
