//! What `solution site rbac` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use importer::RightsVerb;
use schemas::{EnvironmentName, KubernetesName, Namespace, Version};

use super::charts::ChartArguments;
use crate::args::{ClusterArguments, RegistryArguments, TrustArguments};

/// Print the roles that give a person exactly the rights that verbs need, for kubectl
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing is changed: an administrator reads the roles and applies them. The cluster is asked only for
the archive of an imported version.
Kubernetes lets nobody grant rights that they do not hold, so for deploy the roles of an archive
hold the rules of its operator, too. Undeploying and deactivating take those of the version that
goes. The rights of charts are those of the objects that they render to with the default values of
the archive or those of --site-file, for which `helm` is run; Helm keeps its releases in Secrets.
Applying bindings again replaces their subjects: name them all at once.

With --environment the rights end at its namespace, which must exist, wherever Kubernetes allows.
With --namespace alone they are those of who administers only this namespace: beyond it they only
read a few records, by their names. What they cannot deploy so (a Solution that carries objects or
charts, an operator with a role in the whole cluster) gets no roles for it.

Examples:
  solution site rbac
  solution site rbac app.iso --key publisher.pub --group importers | kubectl apply -f -
  solution site rbac app.iso --key publisher.pub -e prod --verb deploy --verb status --user alice
  solution site rbac app.iso --key publisher.pub -e prod --site-file site.yaml --kube-version 1.34
  solution site rbac example 1.0.0 --namespace shop --user bob
  solution site rbac --verb status --serviceaccount monitoring:probe --output json
  solution site rbac --verb fleet-hub --user alice | kubectl --context hub apply -f -")]
pub(crate) struct Arguments {
    /// The archive that the verbs are for, or the name of an imported Solution [default: only what every Solution takes]
    #[arg(value_name = "ARCHIVE|NAME")]
    pub(super) what: Option<PathBuf>,

    /// The version of the imported Solution, whose archive is read from the registry that it was pushed to
    #[arg(requires = "what")]
    pub(super) version: Option<Version>,

    /// Only in this environment
    #[arg(short, long, value_name = "NAME")]
    pub(super) environment: Option<EnvironmentName>,

    /// The namespace of the environment [default: the environment's name]; alone, for who administers only it
    #[arg(short, long, value_name = "NAME")]
    pub(super) namespace: Option<Namespace>,

    /// What the person is to do; may be repeated [default: all of it but what is done in a hub]
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
    /// Make versions available
    Import,
    /// Put CRDs in the cluster
    Activate,
    /// Store objects anew when CRDs give up the version that they are stored in (`activate --migrate`)
    Migrate,
    /// Run operators in environments, and import what they run
    Deploy,
    /// Remove operators from environments
    Undeploy,
    /// Remove CRDs
    Deactivate,
    /// Forget versions
    Unimport,
    /// Undeploy, deactivate and unimport in one step
    Delete,
    /// Create, delete, list and describe environments
    Environment,
    /// Keep a site's file in the cluster
    Site,
    /// Show what is imported and what runs where, and write support bundles
    Status,
    /// In a hub: show fleets there, and pause and approve them (`fleet apply --hub`)
    FleetHub,
    /// In a hub: prepare it (`fleet init --hub`)
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
