//! The tasks of people that take rights, and where each may be done.

use schemas::{EnvironmentName, Namespace};

use crate::plan::place::default_namespace;

/// The name that stands for the environment and its namespace where they may be any.
pub(super) const ANY: &str = "any";

/// The task of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RightsVerb {
    /// Make versions available.
    Import,
    /// Put CRDs in the cluster.
    Activate,
    /// Store objects anew when CRDs give up the version that they are stored in.
    Migrate,
    /// Run operators in environments; that activates what they need, and imports.
    Deploy,
    /// Remove operators from environments.
    Undeploy,
    /// Remove CRDs.
    Deactivate,
    /// Forget versions.
    Unimport,
    /// Create and delete environments.
    Environment,
    /// Keep a site's file.
    Site,
    /// See what is imported and what runs where, and write that down for others.
    Status,
    /// Show fleets in a hub, and decide there whether they go on.
    FleetHub,
    /// Make a cluster a hub.
    FleetInit,
}

impl RightsVerb {
    /// All verbs in the clusters that Solutions run in.
    pub const ALL: [Self; 10] = [
        Self::Import,
        Self::Activate,
        Self::Migrate,
        Self::Deploy,
        Self::Undeploy,
        Self::Deactivate,
        Self::Unimport,
        Self::Environment,
        Self::Site,
        Self::Status,
    ];

    /// The verbs in a hub.
    pub(super) const HUB: [Self; 2] = [Self::FleetHub, Self::FleetInit];

    /// The verbs that can be done in one namespace alone.
    pub const ALONE: [Self; 3] = [Self::Deploy, Self::Undeploy, Self::Status];

    /// Returns the verb as it stands in the names of roles.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Activate => "activate",
            Self::Migrate => "migrate",
            Self::Deploy => "deploy",
            Self::Undeploy => "undeploy",
            Self::Deactivate => "deactivate",
            Self::Unimport => "unimport",
            Self::Environment => "environment",
            Self::Site => "site",
            Self::Status => "status",
            Self::FleetHub => "fleet-hub",
            Self::FleetInit => "fleet-init",
        }
    }
}

/// The scope of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// Any environment.
    Anywhere,
    /// One namespace of an environment, which must exist, and the cluster as far as that takes.
    Environment(EnvironmentName, Namespace),
    /// One namespace of an environment, and nowhere else. Outside of it only records are read, by their names.
    Namespace(Namespace),
}

impl Within {
    /// Returns the scope that an environment and a namespace name: alone, a namespace is all of it.
    #[must_use]
    pub fn of(environment: Option<EnvironmentName>, namespace: Option<Namespace>) -> Self {
        match (environment, namespace) {
            (None, None) => Self::Anywhere,
            (None, Some(namespace)) => Self::Namespace(namespace),
            (Some(environment), namespace) => {
                let namespace = namespace.unwrap_or_else(|| default_namespace(&environment));
                Self::Environment(environment, namespace)
            }
        }
    }

    /// Returns the environment and the namespace, or those that stand for any.
    ///
    /// # Panics
    ///
    /// Never: what stands for any is a name of either.
    #[must_use]
    pub fn place(&self) -> (EnvironmentName, Namespace) {
        let environment = || ANY.parse().expect("the name of an environment");
        match self {
            Self::Anywhere => (environment(), ANY.parse().expect("the name of a namespace")),
            Self::Environment(environment, namespace) => (environment.clone(), namespace.clone()),
            Self::Namespace(namespace) => (environment(), namespace.clone()),
        }
    }

    /// Whether a verb can be done there.
    #[must_use]
    pub fn allows(&self, verb: RightsVerb) -> bool {
        match self {
            Self::Namespace(_) => RightsVerb::ALONE.contains(&verb),
            Self::Anywhere | Self::Environment(..) => true,
        }
    }

    /// Returns the verbs that are usually done there. Whoever administers only a namespace deploys into it, and sees it.
    #[must_use]
    pub fn verbs(&self) -> &'static [RightsVerb] {
        match self {
            Self::Namespace(_) => &RightsVerb::ALONE,
            Self::Anywhere | Self::Environment(..) => &RightsVerb::ALL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_alone_is_the_scope_and_an_environment_has_a_usual_one() {
        let environment = || "prod".parse().ok();
        let usual = Within::of(environment(), None);
        let same = Within::of(environment(), "prod".parse().ok());
        assert_eq!(usual, same);
        assert_eq!(usual.verbs(), RightsVerb::ALL);
        let alone = Within::of(None, "prod".parse().ok());
        assert_eq!(alone, Within::Namespace("prod".parse().unwrap()));
        assert_eq!(alone.verbs(), RightsVerb::ALONE);
        assert_eq!(Within::of(None, None).verbs(), RightsVerb::ALL);
    }
}
