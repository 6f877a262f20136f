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
            .hint("correct the name in the fleet's file, or wait until Cluster API has made it"),
        MemberError::NoKubeconfig(_) => Failure::no(error)
            .hint("wait until Cluster API has made it, or name a `kubeconfig` in the fleet's file"),
        MemberError::NoUid(_) => {
            Failure::no(error).hint("it is no object that an API server has stored: look at it")
        }
        MemberError::Other { .. } => Failure::no(error)
            .hint("if the cluster was made anew, take its `uid` out of the file and pin it again"),
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
        "correct how `{name}` is reached; if this is the cluster that you mean, run `solution fleet check FILE --repin {name}`"
    )
}

/// How an object becomes one that a tool of `solution fleet export` can apply.
pub(crate) fn not_for_others(why: &NotForOthers) -> &'static str {
    match why {
        NotForOthers::Sensitive { .. } => {
            "deploy it by `solution fleet apply`; the publisher can have it read the value from a Secret"
        }
        NotForOthers::Read { .. } => {
            "deploy it by `solution fleet apply`, or turn the reading off by a value of the chart"
        }
        NotForOthers::Random { .. } => {
            "choose the value that is generated, in `secrets` or `site` of the fleet's file, or deploy it by `solution fleet apply`"
        }
    }
}

/// What it means that a hub does not show a fleet.
pub(crate) fn hub(error: HubError) -> Failure {
    match error {
        HubError::Cluster(error @ deployer::Error::Forbidden { .. }) => Failure::no(error)
            .hint("`solution site rbac --verb fleet-hub` prints the roles of who uses it"),
        HubError::Cluster(error) => importer::Error::from(error).into(),
        HubError::Unprepared => {
            Failure::no(error).hint("`solution fleet init --hub CONTEXT` puts its CRD there")
        }
        HubError::Changed(_) => Failure::unknown(error).hint("run the same command again"),
        HubError::Unreadable { .. } | HubError::TooLarge(_) => Failure::no(error).hint(
            "correct it, or delete it: pauses, approvals and soak times are then asked for anew",
        ),
        HubError::Other { .. } => {
            Failure::no(error).hint("give one of the two fleets another name, or another hub")
        }
    }
}

/// How a fleet's file becomes one that can be used.
pub(crate) fn fleet_fix(fault: &F) -> String {
    let fix = match fault {
        F::Twice { .. } => "give one of them another name",
        F::Unreachable { .. } => {
            "name its `context`, its `kubeconfig`, or its object of Cluster API"
        }
        F::TwoWays { .. } => "leave one of them out",
        F::SameCluster { .. } => "one entry for each cluster: leave one of them out",
        F::PullSecretTwice { .. } => "leave the one in `site` out",
        F::UnknownGroup { near, .. } => {
            return meant(near.as_ref(), "`groups` has those that there are");
        }
        F::UnknownSolution { near, .. } => {
            return meant(near.as_ref(), "`solutions` has those that the file deploys");
        }
        F::UnknownCluster { near, .. } => {
            return meant(near.as_ref(), "`clusters` has those that there are");
        }
        F::EmptyWave { .. } => "name groups or clusters in it, or leave it out",
        F::NoWave { .. } => "add it, or a group that it is in, to a wave",
        F::TwoWaves { .. } => "leave it out of one: name other groups there, or single clusters",
        F::DeployedTwice { .. } => {
            "give the entries other groups, or one of them another environment"
        }
        F::Disagreement { .. } => {
            "choose it in one of them alone, or in a group of its own; what a cluster chooses does not settle it, since the next one in both would be left"
        }
        F::UnknownField { near, .. } => {
            return meant(
                near.as_ref(),
                "there are `parameters`, `charts`, `workloads`, `patches` and `pullSecret`",
            );
        }
        F::Key { .. } => {
            "only values have expressions; one that gives a map is the value of the key above"
        }
        F::Expression { source, .. } => return expression(source),
        F::UnknownFact { near, .. } => {
            let known = fleet::FACTS.join("`, `");
            let known = format!("there are `{known}`, and `facts.NAME` of what `facts` asks for");
            return meant(near.as_ref(), &known);
        }
        F::Value { .. } => {
            "it is read as in the `spec` of a site's file, where a text that looks like a number is quoted; `solution site init` explains every field"
        }
        F::ClustersField { field, .. } => {
            return format!("set `{field}` beside the name of each cluster");
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
            "simplify it, or have a fact bring what it computes"
        }
        E::Function { near, .. } => {
            return meant(
                near.as_ref(),
                "there are CEL's own functions, `split`, `join` and `replace`",
            );
        }
        E::Failed(_) | E::Number(_) => "change it so that it has a value for every cluster",
        E::Type(_) => "have it give a text, a number, a boolean, a list or a map",
        E::NotText(_) => {
            "make it the whole text, or turn what it gives into one: `string(…)`, `join(',')`"
        }
        E::Room(_) => "run the same command again with more memory",
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
            meant.starts_with("did you mean `parameters`? there are"),
            "{meant}"
        );
        assert!(fix(None).starts_with("there are `parameters`"));
    }
}
