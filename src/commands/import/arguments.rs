//! The arguments of `solution import`, in the groups of its help. Other verbs reuse some of these groups.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgGroup, Args, ValueEnum};
use importer::{ChangeSigners, Exceptions, ForgetSigners, RecreateRequest, Unproved};
use kubernetes::ConflictPolicy;
use registry::{AddressError, RegistryAddress};
use schemas::limits::CONFIGURED_ARCHIVES;
use schemas::{EnvironmentName, KubernetesName, Namespace, SolutionId};
use store::{MissingImagePolicy, ReplacePolicy};

use super::plan::PlanDetail;
use super::plan_action::PlanAction;
use crate::args::{
    ArrivalArguments, ChangeArguments, ClusterArguments, CreationArguments, IncludedHelmArguments,
    ProgressArguments, RegistryArguments, TrustArguments, choose, first_given,
};
use crate::commands::image_map::{MapArguments, PlacementArguments};
use crate::commands::parameters::ParameterArguments;

/// The prefix of the address of a read-only registry.
const SERVED: &str = "serve://";

/// Import an archive to a registry and deploy it to an environment
#[derive(Args, Debug)]
#[command(
    mut_arg("namespace", |argument| argument.requires("environment")),
    mut_arg("use_included_helm", |argument| argument.requires("environment")),
    mut_arg("no_pull_proof", |argument| argument.requires("environment")),
    mut_arg("set", |argument| argument.requires("environment")),
    mut_arg("values", |argument| argument.requires("environment")),
    mut_arg("unset", |argument| argument.requires("environment")),
    mut_arg("chart_values", |argument| argument.requires("environment")),
    mut_arg("chart_set", |argument| argument.requires("environment")),
    mut_arg("image_map", |argument| argument.conflicts_with("plan_out")),
    mut_arg("create_repositories", |argument| argument.conflicts_with("plan_out")),
    mut_arg("wait_for_cluster", |argument| argument.conflicts_with("plan_out")),
    after_help = "\
The command checks signatures, the registry and your permissions before it changes anything. It verifies images \
while it pushes them, and changes the cluster after all images are pushed. A second run changes nothing.

Without --environment, the version is imported but not deployed. The registry credentials are those of `solution \
registry login`, docker or podman. `solution registry push` pushes the images without a cluster.

Examples:
  solution import app.iso --key publisher.pub --registry registry.site/apps
  solution import app.iso --key publisher.pub --registry registry.site -e prod --dry-run
  solution import app.iso --key publisher.pub --registry registry.site -e prod \\
      --chart-values db=db.yaml --chart-set db:persistence.size=50Gi
  solution import shop.iso db.iso --key publisher.pub --registry registry.site -e prod
  solution import app.iso --key a.pub --key b.pub --threshold 2 --registry push.site:5000 \\
      --pull-registry pull.site:5000 --ca-file site-ca.pem -e prod --pull-login nodes.json
  solution import app.iso --key publisher.pub --registry serve://10.0.0.2:5000 \\
      --ca-file serve.crt -e prod"
)]
pub(crate) struct Arguments {
    /// The archive (a file or a block device). Multiple archives are imported in the order of their dependencies
    #[arg(required = true, num_args = 1..=CONFIGURED_ARCHIVES, value_name = "ARCHIVE")]
    pub(super) archives: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) signers: SignerArguments,

    #[command(flatten)]
    pub(super) registries: Registries,

    #[command(flatten)]
    pub(super) map: MapArguments,

    #[command(flatten)]
    pub(super) progress: ProgressArguments,

    #[command(flatten)]
    pub(super) place: TargetArguments,

    #[command(flatten)]
    pub(super) planning: PlanArguments,

    #[command(flatten)]
    pub(super) cluster: ClusterArguments,

    #[command(flatten)]
    pub(super) arrival: ArrivalArguments,

    #[command(flatten)]
    pub(super) turn: ChangeArguments,

    #[command(flatten)]
    pub(super) included: IncludedHelmArguments,
}

impl Arguments {
    /// Returns the first flag that applies to a single archive only.
    pub(super) fn of_one(&self) -> Option<&str> {
        first_given(&[
            (self.planning.plan_out.is_some(), "--plan-out"),
            (self.planning.missing_rights.is_some(), "--missing-rights"),
            (self.map.image_map.is_some(), "--image-map"),
            (!self.place.recreate.is_empty(), "--recreate"),
            (
                self.place.parameters.are_given(),
                "--set, --values, --chart-set, --chart-values and --unset",
            ),
        ])
    }
}

/// Whose archive is taken.
#[derive(Args, Debug)]
pub(crate) struct SignerArguments {
    #[command(flatten)]
    pub(super) trust: TrustArguments,

    /// Accept the Solution with this id (`<name>-<version>`) without a signature
    #[arg(long, value_name = "ID")]
    pub(super) allow_unsigned: Option<SolutionId>,

    /// Accept an archive that is signed by none of the Solution's previous keys
    #[arg(long)]
    pub(super) change_signers: bool,

    /// Accept an unsigned archive of a Solution that was signed before, and forget its keys
    #[arg(long, requires = "allow_unsigned")]
    pub(super) forget_signers: bool,
}

impl SignerArguments {
    /// Returns the exceptions for signers only.
    pub(crate) fn allowed(&self) -> Exceptions {
        let change = self.change_signers;
        let forget = self.forget_signers;
        Exceptions {
            signers: choose(change, ChangeSigners::Allow, ChangeSigners::Refuse),
            forget: choose(forget, ForgetSigners::Allow, ForgetSigners::Refuse),
            ..Exceptions::default()
        }
    }
}

/// Where the images go.
#[derive(Args, Debug)]
pub(crate) struct Registries {
    /// The registry to push the images to [default: from the site configuration]. `serve://HOST[/PREFIX]` is a
    /// registry that already has them, such as `solution registry serve`
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: Option<ImageRegistry>,

    /// The registry that nodes pull from, if they use another name for it
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(crate) pull_registry: Option<RegistryAddress>,

    /// Replace a version that was imported from another archive, and move its tags
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    pub(super) placement: PlacementArguments,

    #[command(flatten)]
    pub(super) creation: CreationArguments,

    #[command(flatten)]
    pub(crate) reach: RegistryArguments,
}

impl Registries {
    /// Returns the policy for tags that point to another image.
    pub(super) fn replace(&self) -> ReplacePolicy {
        choose(self.replace, ReplacePolicy::Allow, ReplacePolicy::Refuse)
    }
}

/// A registry that images are pushed to, or one that can only be read.
#[derive(Clone, Debug)]
pub(crate) struct ImageRegistry {
    pub(crate) address: RegistryAddress,
    pub(crate) missing: MissingImagePolicy,
}

/// Writes the address as the user types it.
impl fmt::Display for ImageRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.missing {
            MissingImagePolicy::Push => "",
            MissingImagePolicy::Refuse => SERVED,
        };
        write!(f, "{scheme}{}", self.address)
    }
}

impl FromStr for ImageRegistry {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (address, missing) = match text.strip_prefix(SERVED) {
            Some(address) => (address, MissingImagePolicy::Refuse),
            None => (text, MissingImagePolicy::Push),
        };
        let address = address.parse()?;
        Ok(Self { address, missing })
    }
}

/// Where the operator runs, and what may happen there.
#[derive(Args, Clone, Debug)]
#[command(
    group(ArgGroup::new("place").args(["environment", "namespace"]).multiple(true))
)]
pub(crate) struct TargetArguments {
    /// The environment to deploy to
    #[arg(short, long, value_name = "NAME")]
    pub(crate) environment: Option<EnvironmentName>,

    /// The namespace of the environment [default: the name of the environment]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<Namespace>,

    /// Create the environment if it does not exist
    #[arg(long, requires = "environment")]
    pub(super) create_environment: bool,

    /// The name of the pull secret in the namespace [default: the current one]
    #[arg(long, value_name = "NAME", requires = "place", group = "pull")]
    pub(super) pull_secret: Option<KubernetesName>,

    /// Create the pull secret from this login file of docker or podman. Use credentials for pulling only
    #[arg(long, value_name = "FILE", requires = "place", group = "pull")]
    pub(super) pull_login: Option<PathBuf>,

    /// Let nodes pull without a pull secret
    #[arg(long, requires = "place", group = "pull")]
    pub(super) no_pull_secret: bool,

    #[command(flatten)]
    pub(super) proving: ProofArguments,

    /// Adopt an existing namespace, CRDs or objects that belong to no Solution; may be repeated
    #[arg(long, value_name = "WHAT", value_enum, requires = "environment")]
    pub(super) adopt: Vec<Adopted>,

    /// Delete and recreate an object that cannot be changed in place; may be repeated
    #[arg(long, value_name = "KIND/NAME", requires = "environment")]
    pub(super) recreate: Vec<RecreateRequest>,

    /// Allow a version that is older than the running one
    #[arg(long)]
    pub(super) allow_downgrade: bool,

    /// Consent to effects outside the environment, by the id in the plan; may be repeated
    #[arg(long, value_name = "ID", requires = "environment")]
    pub(super) accept: Vec<String>,

    #[command(flatten)]
    pub(super) parameters: ParameterArguments,
}

/// What is proven beforehand.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProofArguments {
    /// Skip the pod that tests the image pull, for environments where it cannot run
    #[arg(long)]
    no_pull_proof: bool,
}

impl ProofArguments {
    /// Returns the policy for an operator whose image no pod has pulled.
    pub(crate) fn unproved(&self) -> Unproved {
        choose(self.no_pull_proof, Unproved::Allow, Unproved::Refuse)
    }
}

/// The choices for a plan: the action and the level of detail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choices<'a> {
    pub(crate) then: PlanAction<'a>,
    pub(crate) shown: PlanDetail,
    /// The file for the roles that grant the missing rights.
    pub(crate) missing_rights: Option<&'a Path>,
}

/// What becomes of a plan.
#[derive(Args, Debug)]
pub(crate) struct PlanArguments {
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Write roles with your missing permissions to this new file, for an administrator to apply
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    missing_rights: Option<PathBuf>,

    /// Write the plan to this file and stop, for `solution sign` and `solution apply --plan`
    #[arg(long, value_name = "FILE")]
    plan_out: Option<PathBuf>,

    #[command(flatten)]
    details: DetailArguments,

    /// Show the details and the changes to each object as a diff, without values of Secrets
    #[arg(long)]
    diff: bool,

    /// Take over fields that another field manager owns
    #[arg(long)]
    force_conflicts: bool,
}

impl PlanArguments {
    /// Returns the choices about a plan.
    pub(crate) fn choices(&self) -> Choices<'_> {
        let otherwise = choose(self.dry_run, PlanAction::Stop, PlanAction::Apply);
        Choices {
            then: self
                .plan_out
                .as_deref()
                .map_or(otherwise, PlanAction::Write),
            shown: choose(self.diff, PlanDetail::WithDiff, self.details.shown()),
            missing_rights: self.missing_rights.as_deref(),
        }
    }

    /// Returns the policy for fields owned by another field manager.
    pub(crate) fn conflicts(&self) -> ConflictPolicy {
        choose(
            self.force_conflicts,
            ConflictPolicy::Force,
            ConflictPolicy::Refuse,
        )
    }
}

/// How much of a plan is shown.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DetailArguments {
    /// Show changed fields, all rights and the source of each value in the plan
    #[arg(long)]
    details: bool,
}

impl DetailArguments {
    pub(crate) fn shown(self) -> PlanDetail {
        choose(self.details, PlanDetail::Details, PlanDetail::Plain)
    }
}

/// What may be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Adopted {
    /// An existing namespace that belongs to no environment. It is kept when the environment is deleted
    Namespace,
    /// Existing CRDs that belong to no Solution. They are kept when the Solution is deactivated
    Crds,
    /// Existing objects with the names of objects in the archive. They are removed with the Solution
    Objects,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_shown_as_it_is_typed() {
        for typed in [
            "registry.example/apps",
            "serve://10.0.0.2:5000",
            "serve://h/apps",
        ] {
            let registry: ImageRegistry = typed.parse().unwrap();
            assert_eq!(registry.to_string(), typed);
        }
    }
}
