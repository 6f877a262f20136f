//! Fixes for problems of fleet files, of clusters in a fleet, and of plan files. A mistake in a file is a negative
//! answer, because a retry does not help.

use std::fmt::Display;
use std::path::Path;

use fleet::rollout::{RolloutError, SameCluster};
use fleet::{ExpressionError, FleetFault as F, IdentityConflict, SelectionError};
use importer::{FleetPlanChange, HandoverProblem, HubError, MemberError, PlanChange};
use schemas::ClusterName;
use signing::{TrustError, VerifyError};

use super::Failure;

/// Returns the failure for a cluster of a fleet that cannot be identified.
pub(crate) fn member(error: MemberError) -> Failure {
    match error {
        MemberError::Cluster(error) => importer::Error::from(error).into(),
        MemberError::Missing(_) => Failure::no(error)
            .hint("correct the name in the fleet's file, or wait until Cluster API has created it"),
        MemberError::NoKubeconfig(_) => Failure::no(error).hint(
            "wait until Cluster API has created it, or name a `kubeconfig` in the fleet's file",
        ),
        MemberError::NoUid(_) => Failure::no(error)
            .hint("inspect the object: objects that an API server stores always have a UID"),
        MemberError::Other { .. } => Failure::no(error)
            .hint("if the cluster was recreated, remove its `uid` from the file and pin it again"),
    }
}

/// Returns the failure for a cluster whose identity differs from the one that is known under its name.
pub(crate) fn identity(conflict: IdentityConflict) -> Failure {
    let (IdentityConflict::Name { name, .. } | IdentityConflict::Uid { name, .. }) = &conflict;
    let hint = repin(name);
    Failure::no(conflict).hint(hint)
}

/// Returns the hint to pin the cluster of a fleet again.
pub(crate) fn repin(name: &ClusterName) -> String {
    format!(
        "correct the context or kubeconfig of `{name}`; if this is the intended cluster, run `solution fleet check FILE --repin {name}`"
    )
}

/// Returns the hint for an object that the tools of `solution fleet export` cannot apply.
pub(crate) fn not_for_others(why: &HandoverProblem) -> &'static str {
    match why {
        HandoverProblem::Sensitive(..) => {
            "deploy it with `solution fleet apply`, or ask the publisher to read the value from a Secret"
        }
        HandoverProblem::Read(..) => {
            "deploy it with `solution fleet apply`, or disable the lookup with a chart value"
        }
        HandoverProblem::Random(..) => {
            "set the generated value in `secrets` or `site` of the fleet's file, or deploy it with `solution fleet apply`"
        }
    }
}

/// Returns the failure for a hub that does not list a fleet.
pub(crate) fn hub(error: HubError) -> Failure {
    match error {
        HubError::Cluster(error @ kubernetes::Error::Forbidden { .. }) => Failure::no(error)
            .hint("ask the cluster administrator for the roles that `solution site rbac --verb fleet-hub` prints"),
        HubError::Cluster(error) => importer::Error::from(error).into(),
        HubError::Unprepared => {
            Failure::no(error).hint("install its CRD with `solution fleet init --hub CONTEXT`")
        }
        HubError::Changed(_) => Failure::unknown(error).hint("run the same command again"),
        HubError::Unreadable(..) | HubError::TooLarge(_) => Failure::no(error).hint(
            "correct or delete it; if you delete it, pauses, approvals and soak times start over",
        ),
        HubError::Other { .. } => {
            Failure::no(error).hint("give one of the two fleets another name or another hub")
        }
    }
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Self {
        let hint = match &error {
            SelectionError::Unknown { near, .. } => meant(
                near.as_ref(),
                "list the clusters, waves, groups and Solutions with `solution fleet check`",
            ),
            SelectionError::Empty => {
                "list the clusters, waves and groups with `solution fleet check`".to_owned()
            }
        };
        Self::usage(error).hint(hint)
    }
}

impl From<SameCluster> for Failure {
    fn from(error: SameCluster) -> Self {
        Self::no(error).hint("remove one of the two entries")
    }
}

impl From<RolloutError<Self>> for Failure {
    fn from(error: RolloutError<Self>) -> Self {
        let hint = match &error {
            RolloutError::Interrupted | RolloutError::Backend(_) => None,
            RolloutError::Paused(..) => Some(
                "resume it with `solution fleet resume`, or with `paused: false` in the file"
                    .to_owned(),
            ),
            RolloutError::PausedMeanwhile => Some("run the same command again".to_owned()),
            RolloutError::LeftOut { .. } => Some(
                "restore access to them, choose other clusters with `--cluster` or `--group`, or raise `maxFailures`".to_owned(),
            ),
            RolloutError::Unapproved { wave, plan } => Some(format!(
                "approve it with `solution fleet approve FILE {wave} {plan}`, then run the same command again"
            )),
            RolloutError::NotReady { .. } => {
                Some("check the clusters with `solution fleet status`".to_owned())
            }
            RolloutError::Failures { .. } => Some(
                "fix the cause, then run the same command again to complete the rest".to_owned(),
            ),
        };
        let failure = match error {
            RolloutError::Backend(failure) => failure,
            stopped if stopped.is_refusal() => Self::no(anyhow::anyhow!("{stopped}")),
            stopped => Self::unknown(anyhow::anyhow!("{stopped}")),
        };
        hint.into_iter().fold(failure, Self::hint)
    }
}

/// Returns the fix for a problem of a fleet file.
pub(crate) fn fleet_fix(fault: &F) -> String {
    let fix = match fault {
        F::Twice { .. } => "give one of them another name",
        F::Unreachable(..) => "set its `context`, its `kubeconfig` or its Cluster API object",
        F::TwoWays(..) => "remove one of them",
        F::SameCluster { .. } => "remove one of them: each cluster has one entry",
        F::PullSecretTwice(..) => "remove the one in `site`",
        F::UnknownGroup { near, .. } => {
            return meant(near.as_ref(), "choose one of those in `groups`");
        }
        F::UnknownSolution { near, .. } => {
            return meant(near.as_ref(), "choose one of those in `solutions`");
        }
        F::UnknownCluster { near, .. } => {
            return meant(near.as_ref(), "choose one of those in `clusters`");
        }
        F::EmptyWave(..) => "name groups or clusters in it, or remove it",
        F::NoWave(..) => "add it or one of its groups to a wave",
        F::TwoWaves { .. } => "remove it from one wave: name other groups or single clusters there",
        F::DeployedTwice { .. } => {
            "give the entries other groups, or one of them another environment"
        }
        F::Disagreement { .. } => {
            "set it in only one of them, or in a separate group; a value of the cluster itself does not resolve this, since the next cluster in both groups would conflict again"
        }
        F::UnknownField { near, .. } => {
            return meant(
                near.as_ref(),
                "use `parameters`, `charts`, `workloads`, `patches` or `pullSecret`",
            );
        }
        F::Key { .. } => {
            "use expressions only as values; to compute keys, set the parent key to an expression that returns a map"
        }
        F::Expression(_, source) => return expression(source),
        F::UnknownFact { near, .. } => {
            let known = fleet::FACTS.join("`, `");
            let known = format!("use `{known}`, or `facts.NAME` for a name in `facts`");
            return meant(near.as_ref(), &known);
        }
        F::Value { .. } => {
            "write it as in the `spec` of a site configuration, and quote a string that looks like a number; `solution site init` explains every field"
        }
        F::ClustersField { field, .. } => {
            return format!("set `{field}` next to the name of each cluster");
        }
    };
    fix.to_owned()
}

/// Returns the fix for an expression that cannot be evaluated.
fn expression(error: &ExpressionError) -> String {
    use ExpressionError as E;
    let fix = match error {
        E::Open | E::Syntax(_) => "write CEL between `${` and `}`; `$${` stands for `${` itself",
        E::Long | E::Deep | E::Large | E::Nested | E::Exhausted | E::Result | E::Facts => {
            "simplify it, or provide the result as a fact"
        }
        E::Function { near, .. } => {
            return meant(
                near.as_ref(),
                "use a standard CEL function, `split`, `join` or `replace`",
            );
        }
        E::Failed(_) | E::Number(_) => "change it so that it has a value for every cluster",
        E::Type(_) => "make it return a string, a number, a boolean, a list or a map",
        E::NotText(_) => {
            "make the expression the whole value, or convert its result to a string: `string(…)`, `join(',')`"
        }
        E::Room(_) => "give the process more memory, then run the same command again",
        E::Broken => "write it in another way",
    };
    fix.to_owned()
}

fn meant(near: Option<impl Display>, known: &str) -> String {
    let meant = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    format!("{meant}{known}")
}

const AGAIN: &str = "create a new plan with the same command, and have it approved";

/// Returns the failure for a file that is not a plan.
pub(crate) fn no_plan(path: &Path, error: anyhow::Error) -> Failure {
    Failure::no(error)
        .context(format!("`{}` is not a plan file", path.display()))
        .hint("write one with `--plan-out FILE` of `solution import`, `deploy`, `crds activate`, `fleet apply` or `fleet rollback`")
}

/// Returns the failure for invalid keys of approvers.
pub(crate) fn approvers(error: TrustError) -> Failure {
    let hint = match error {
        TrustError::Empty | TrustError::Repeated(_) => "give each key once with `--approved-by`",
        TrustError::ThresholdMissing(..) | TrustError::ThresholdTooHigh { .. } => {
            "set how many of the keys must have signed with `--approvals`"
        }
    };
    Failure::usage(error).hint(hint)
}

/// Returns the failure for a plan without the required signatures.
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

/// Returns the hint for a plan that is no longer valid.
pub(crate) fn replan(moved: &PlanChange) -> &'static str {
    match moved {
        PlanChange::Cluster(_) => "choose the plan's cluster with `--context`",
        PlanChange::Archive(..) => "name the plan's archive, or create a new plan",
        PlanChange::Objects(_)
        | PlanChange::Records(_)
        | PlanChange::Told(_)
        | PlanChange::Otherwise => AGAIN,
    }
}

/// Returns the hint for a fleet plan that is no longer valid.
pub(crate) fn replan_fleet(moved: &FleetPlanChange) -> &'static str {
    match moved {
        FleetPlanChange::Fleet(_) => "name the plan's fleet file",
        FleetPlanChange::Cluster(_) => {
            "choose clusters of the plan with `--cluster`, or create a new plan"
        }
        FleetPlanChange::Change(_) => "apply it with the `solution fleet` command that created it",
        FleetPlanChange::Uid(_) => {
            "correct the context or kubeconfig of the cluster in the fleet's file"
        }
        FleetPlanChange::Deployment(_, moved) => replan(moved),
        FleetPlanChange::Waves
        | FleetPlanChange::Wave(..)
        | FleetPlanChange::Added(_)
        | FleetPlanChange::Left(_) => AGAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_field_is_answered_with_the_one_that_was_meant() {
        let fix = |near| {
            fleet_fix(&F::UnknownField {
                of: fleet::FleetLayer::Fleet,
                field: "parameter".to_owned(),
                near,
            })
        };
        let meant = fix(Some("parameters"));
        assert!(
            meant.starts_with("did you mean `parameters`? use"),
            "{meant}"
        );
        assert!(fix(None).starts_with("use `parameters`"));
    }
}
