//! The verbs for which roles are printed ([`RightsVerb`]). [`RightsScope`] is the scope in which a verb can be used:
//! any environment, one environment, or only one namespace.

use schemas::{EnvironmentName, Namespace};

use crate::choices::destination::default_namespace;

/// The placeholder name for the environment and its namespace if they may be any.
pub(super) const ANY: &str = "any";

/// A verb of a user that needs rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RightsVerb {
    /// Import versions.
    Import,
    /// Create CRDs in the cluster.
    Activate,
    /// Migrate stored objects when CRDs drop their storage version.
    Migrate,
    /// Deploy operators into environments. This includes activation and import.
    Deploy,
    /// Remove operators from environments.
    Undeploy,
    /// Remove CRDs.
    Deactivate,
    /// Forget versions.
    Unimport,
    /// Create and delete environments.
    Environment,
    /// Manage a site configuration.
    Site,
    /// See imported versions and the status of environments, and export both.
    Status,
    /// Show, pause and approve fleets in a hub.
    FleetHub,
    /// Set up a cluster as a hub.
    FleetInit,
    /// Use the registry logins of the web console.
    Console,
}

impl RightsVerb {
    /// All verbs in clusters that run Solutions.
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

    /// The verbs that need no records.
    pub(super) const WITHOUT_RECORDS: [Self; 3] = [Self::FleetHub, Self::FleetInit, Self::Console];

    /// The verbs that can be used in a single namespace.
    pub const ALONE: [Self; 3] = [Self::Deploy, Self::Undeploy, Self::Status];

    /// Returns the verb's part of role names.
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
            Self::Console => "console",
        }
    }
}

/// The scope of a verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RightsScope {
    /// Any environment.
    Anywhere,
    /// One existing namespace of an environment, and cluster-scoped objects as far as the verb needs them.
    Environment(EnvironmentName, Namespace),
    /// One namespace of an environment and nothing else. Outside of it only records are read, by their names.
    Namespace(Namespace),
}

impl RightsScope {
    /// Returns the scope for an environment and a namespace. A namespace without an environment is the whole scope.
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

    /// Returns the environment and the namespace, or the placeholder for any.
    ///
    /// # Panics
    ///
    /// Never: the placeholder is a valid name of both.
    #[must_use]
    pub fn place(&self) -> (EnvironmentName, Namespace) {
        let environment = || ANY.parse().expect("the name of an environment");
        match self {
            Self::Anywhere => (environment(), ANY.parse().expect("the name of a namespace")),
            Self::Environment(environment, namespace) => (environment.clone(), namespace.clone()),
            Self::Namespace(namespace) => (environment(), namespace.clone()),
        }
    }

    /// Checks whether a verb can be used in this scope.
    #[must_use]
    pub fn allows(&self, verb: RightsVerb) -> bool {
        match self {
            Self::Namespace(_) => RightsVerb::ALONE.contains(&verb),
            Self::Anywhere | Self::Environment(..) => true,
        }
    }

    /// Returns the verbs that are usually used in this scope. A namespace administrator deploys into the namespace and
    /// sees its status.
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
        let usual = RightsScope::of(environment(), None);
        let same = RightsScope::of(environment(), "prod".parse().ok());
        assert_eq!(usual, same);
        assert_eq!(usual.verbs(), RightsVerb::ALL);
        let alone = RightsScope::of(None, "prod".parse().ok());
        assert_eq!(alone, RightsScope::Namespace("prod".parse().unwrap()));
        assert_eq!(alone.verbs(), RightsVerb::ALONE);
        assert_eq!(RightsScope::of(None, None).verbs(), RightsVerb::ALL);
    }
}
