//! What `solution site rbac` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use importer::RightsVerb;
use schemas::{EnvironmentName, KubernetesName, Namespace, Version};

use super::charts::ChartArguments;
use crate::args::{ClusterArguments, RegistryArguments, TrustArguments};

/// Print RBAC roles with the permissions that commands need
#[derive(Args, Debug)]
#[command(after_help = "\
The command changes nothing: an administrator reviews the roles and applies them. Kubernetes does not let you \
grant permissions that you do not have, so the roles for `deploy` include the rules of the operator. Undeploying \
and deactivating need the roles of the version that is removed. Permissions for a chart cover the objects that \
`helm` renders with the default values or with --site-file, and Helm's Secrets. Applied bindings replace their \
subjects: name all subjects at once.

With --environment, permissions are limited to its namespace, which must exist, where Kubernetes allows it. With \
--namespace alone, they are for the administrator of that namespace, who outside it can only read a few records. \
That administrator cannot deploy Solutions with objects, charts, or an operator with a role in the whole \
cluster.

Examples:
  solution site rbac
  solution site rbac app.iso --key publisher.pub --group importers | kubectl apply -f -
  solution site rbac app.iso --key publisher.pub -e prod --verb deploy --verb status --user alice
  solution site rbac app.iso --key publisher.pub -e prod --site-file site.yaml --kube-version 1.34
  solution site rbac example 1.0.0 --namespace shop --user bob
  solution site rbac --verb status --serviceaccount monitoring:probe --output json
  solution site rbac --verb fleet-hub --user alice | kubectl --context hub apply -f -")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or the name of an imported Solution [default: permissions that every
    /// Solution needs]
    #[arg(value_name = "ARCHIVE|NAME")]
    pub(super) what: Option<PathBuf>,

    /// The version of the imported Solution, required with its name
    #[arg(requires = "what")]
    pub(super) version: Option<Version>,

    /// Limit the permissions to this environment
    #[arg(short, long, value_name = "NAME")]
    pub(super) environment: Option<EnvironmentName>,

    /// The namespace of the environment [default: the name of the environment]. Without --environment, limit the
    /// permissions to it
    #[arg(short, long, value_name = "NAME")]
    pub(super) namespace: Option<Namespace>,

    /// The commands to permit; may be repeated [default: all except `fleet-hub` and `fleet-init`]
    #[arg(long = "verb", value_name = "VERB", value_enum)]
    pub(super) verbs: Vec<RbacVerb>,

    /// Bind the roles to this user; may be repeated
    #[arg(long = "user", value_name = "NAME")]
    pub(super) users: Vec<String>,

    /// Bind the roles to this group; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    pub(super) groups: Vec<String>,

    /// Bind the roles to this ServiceAccount; may be repeated
    #[arg(long = "serviceaccount", value_name = "NAMESPACE:NAME", value_parser = account)]
    pub(super) accounts: Vec<(Namespace, KubernetesName)>,

    #[command(flatten)]
    pub(super) charts: ChartArguments,

    #[command(flatten)]
    pub(super) trust: TrustArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
}

/// A verb, or those of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RbacVerb {
    /// Import versions
    Import,
    /// Activate CRDs
    Activate,
    /// Rewrite custom resources in a new storage version (`crds activate --migrate`)
    Migrate,
    /// Import and deploy versions
    Deploy,
    /// Undeploy versions
    Undeploy,
    /// Remove CRDs
    Deactivate,
    /// Unimport versions
    Unimport,
    /// Undeploy, deactivate and unimport in one step
    Delete,
    /// Create, delete, list and describe environments
    Environment,
    /// Store site configurations in the cluster
    Site,
    /// Show the status, and write support bundles
    Status,
    /// Show, pause and approve fleets in a hub (`fleet apply --hub`)
    FleetHub,
    /// Prepare a hub (`fleet init --hub`)
    FleetInit,
}

impl RbacVerb {
    /// What it comes to.
    pub(super) fn steps(self) -> &'static [RightsVerb] {
        use RightsVerb as R;
        match self {
            Self::Import => &[R::Import],
            Self::Activate => &[R::Activate],
            Self::Migrate => &[R::Activate, R::Migrate],
            Self::Deploy => &[R::Deploy],
            Self::Undeploy => &[R::Undeploy],
            Self::Deactivate => &[R::Deactivate],
            Self::Unimport => &[R::Unimport],
            Self::Delete => &[R::Undeploy, R::Deactivate, R::Unimport],
            Self::Environment => &[R::Environment],
            Self::Site => &[R::Site],
            Self::Status => &[R::Status],
            Self::FleetHub => &[R::FleetHub],
            Self::FleetInit => &[R::FleetInit],
        }
    }
}

fn account(text: &str) -> Result<(Namespace, KubernetesName), String> {
    let parts = text.split_once(':').ok_or("expected NAMESPACE:NAME")?;
    let namespace = parts.0.parse().map_err(|error| format!("{error}"))?;
    let name = parts.1.parse().map_err(|error| format!("{error}"))?;
    Ok((namespace, name))
}
