//! What to do about each thing that is wrong with a fleet's file, or with a cluster of it.

use std::fmt::Display;

use fleet::{ExpressionError, FleetFault as F, IdentityConflict};
use importer::{HubError, MemberError, NotForOthers};

use schemas::ClusterName;

use super::Failure;

/// What it means that a cluster of a fleet cannot be told.
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

/// Refuses a cluster that is not the one that its name stands for.
pub(crate) fn identity(conflict: IdentityConflict) -> Failure {
    let (IdentityConflict::Name { name, .. } | IdentityConflict::Uid { name, .. }) = &conflict;
    let hint = repin(name);
    Failure::no(conflict).hint(hint)
}

/// How a cluster becomes the one that its name stands for.
pub(crate) fn repin(name: &ClusterName) -> String {
    format!(
        "correct the context or kubeconfig of `{name}`; if this is the intended cluster, run `solution fleet check FILE --repin {name}`"
    )
}

/// How an object becomes one that a tool of `solution fleet export` can apply.
pub(crate) fn not_for_others(why: &NotForOthers) -> &'static str {
    match why {
        NotForOthers::Sensitive { .. } => {
            "deploy it with `solution fleet apply`, or ask the publisher to read the value from a Secret"
        }
        NotForOthers::Read { .. } => {
            "deploy it with `solution fleet apply`, or disable the lookup with a chart value"
        }
        NotForOthers::Random { .. } => {
            "set the generated value in `secrets` or `site` of the fleet's file, or deploy it with `solution fleet apply`"
        }
    }
}

/// What it means that a hub does not show a fleet.
pub(crate) fn hub(error: HubError) -> Failure {
    match error {
        HubError::Cluster(error @ deployer::Error::Forbidden { .. }) => Failure::no(error)
            .hint("ask the cluster administrator for the roles that `solution site rbac --verb fleet-hub` prints"),
        HubError::Cluster(error) => importer::Error::from(error).into(),
        HubError::Unprepared => {
            Failure::no(error).hint("install its CRD with `solution fleet init --hub CONTEXT`")
        }
        HubError::Changed(_) => Failure::unknown(error).hint("run the same command again"),
        HubError::Unreadable { .. } | HubError::TooLarge(_) => Failure::no(error).hint(
            "correct or delete it; if you delete it, pauses, approvals and soak times start over",
        ),
        HubError::Other { .. } => {
            Failure::no(error).hint("give one of the two fleets another name or another hub")
        }
    }
}

/// How a fleet's file becomes one that can be used.
pub(crate) fn fleet_fix(fault: &F) -> String {
    let fix = match fault {
        F::Twice { .. } => "give one of them another name",
        F::Unreachable { .. } => "set its `context`, its `kubeconfig` or its Cluster API object",
        F::TwoWays { .. } => "remove one of them",
        F::SameCluster { .. } => "remove one of them: each cluster has one entry",
        F::PullSecretTwice { .. } => "remove the one in `site`",
        F::UnknownGroup { near, .. } => {
            return meant(near.as_ref(), "choose one of those in `groups`");
        }
        F::UnknownSolution { near, .. } => {
            return meant(near.as_ref(), "choose one of those in `solutions`");
        }
        F::UnknownCluster { near, .. } => {
            return meant(near.as_ref(), "choose one of those in `clusters`");
        }
        F::EmptyWave { .. } => "name groups or clusters in it, or remove it",
        F::NoWave { .. } => "add it or one of its groups to a wave",
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
        F::Expression { source, .. } => return expression(source),
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

/// How an expression becomes one that can be computed.
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
