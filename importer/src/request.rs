//! What an administrator asks for, with every choice made.

use std::time::Duration;

use registry::RegistryAddress;
use schemas::{EnvironmentName, KubernetesName, Namespace, StatementTime};

use crate::crd::Adopt;
use crate::lock::Writer;

/// An import.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where the images are pushed.
    pub registry: RegistryAddress,
    /// Where nodes pull them from: the same place, perhaps under another name.
    pub pull_registry: RegistryAddress,
    /// Where the operator runs; without one the version only becomes available.
    pub target: Option<Target>,
    /// What is allowed beyond the ordinary.
    pub allowed: Allowed,
    /// The time to record.
    pub now: StatementTime,
    /// How long to wait for the operator.
    pub wait: Duration,
    /// Who works on the cluster, for others who want to at the same time.
    pub writer: Writer,
}

/// Where an operator runs.
#[derive(Clone, Debug)]
pub struct Target {
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace of it.
    pub namespace: Namespace,
    /// The Secret that nodes log in to the registry with.
    pub pull_secret: Option<KubernetesName>,
}

/// What an administrator allows beyond the ordinary, one flag each.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// Namespaces and CRDs that no Solution owns.
    pub adopt: Adopt,
    /// Another archive of a version that was imported already.
    pub replace: Replace,
    /// An archive that none of the keys signed that signed the Solution before.
    pub signers: ChangeSigners,
    /// An archive that nobody signed, of a Solution that was imported signed before.
    pub forget: ForgetSigners,
    /// An older version than the one that runs.
    pub downgrade: Downgrade,
    /// An operator that works in the whole cluster.
    pub cluster_scope: ClusterScope,
}

/// Whether another archive of the same Solution and version replaces the imported one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// It does not.
    Refuse,
    /// It does, and tags that point elsewhere are moved.
    Allow,
}

/// Whether a Solution may come from other signers than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeSigners {
    /// It may not.
    Refuse,
    /// It may.
    Allow,
}

/// Whether a site forgets who signed a Solution before, and so takes an archive that nobody signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgetSigners {
    /// It does not.
    Refuse,
    /// It does.
    Allow,
}

/// Whether an older version may follow a newer one in an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Downgrade {
    /// It may not.
    Refuse,
    /// It may.
    Allow,
}

/// Whether an operator may have rights in the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterScope {
    /// It may not.
    Refuse,
    /// It may.
    Allow,
}
