//! `solution fleet export`: hands the rollout over to a tool such as Argo CD or Flux. It plans all clusters, and pushes
//! the images and the objects of each deployment to the cluster's registry only if no cluster has a blocker. Then it
//! prints the objects that make the tool apply them. No cluster is changed.

mod made;
mod plan;
pub(in crate::commands) mod print;
mod tools;

use std::path::PathBuf;

use clap::Args;
use fleet::FleetFile;
use schemas::{KubernetesName, Namespace};

use self::made::{ExportedCluster, made, push_all};
use self::plan::{ExportPlan, apart, look};
use self::print::{FleetExport, show_all};
use self::tools::GitOpsTool;
use super::reading::{ReadMember, ReadingArguments};
use super::{Blockers, worst};
use crate::args::Output;
use crate::commands::blocked::{ShownBlocker, refuse_plan};
use crate::failure::{Failure, Outcome};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    arguments.check()?;
    let outcome = arguments.reading.run(
        &[],
        output,
        &async |deployable, cluster| Box::pin(look(deployable, arguments.to, cluster)).await,
        async |file, found| carry_out(file, found, arguments, output).await,
    );
    Ok(outcome?.unwrap_or(Outcome::No))
}

/// Export a fleet for Flux, Argo CD or Rancher Fleet
#[derive(Args, Debug)]
#[command(after_help = "\
The command renders the objects of each cluster like `solution render`. It pushes them to the registry of the \
cluster as an OCI artifact, with missing images, and prints the objects with which the tool applies them. A \
Bundle for Rancher Fleet contains the objects itself. The command writes nothing to clusters.

If one cluster is blocked, the command pushes nothing. It reports which features of `fleet apply` the tool does \
not have (consent, order, image pull tests, records).

The command leaves out Secrets with values, and lists them with their keys: create them in the clusters. A \
sensitive value in another object blocks the cluster.

Exit codes: 1 a cluster was refused, else 3 a cluster was skipped.

Examples:
  solution fleet export fleet.yaml --to flux --key publisher.pub --dry-run
  solution fleet export fleet.yaml --to flux --key publisher.pub --output-dir clusters
  solution fleet export fleet.yaml --to argocd --group prod --key publisher.pub \\
      | kubectl apply -f -")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) reading: ReadingArguments,

    /// The tool to export for
    #[arg(long, value_enum, value_name = "TOOL")]
    pub(super) to: GitOpsTool,

    /// Write CLUSTER.yaml for each cluster to this directory; existing files are replaced [default: standard output]
    #[arg(long, value_name = "DIR", conflicts_with = "dry_run")]
    pub(super) output_dir: Option<PathBuf>,

    /// The namespace of the objects [default: flux-system, argocd or fleet-default]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// The Secret (kubernetes.io/dockerconfigjson) in that namespace with Flux's registry credentials
    #[arg(long, value_name = "NAME")]
    pub(super) login_secret: Option<KubernetesName>,

    /// Show what would be pushed, and push nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Skip clusters that cannot be reached; the exit code is then 3
    #[arg(long)]
    pub(super) skip_unreachable: bool,
}

impl Arguments {
    /// The namespace of the tool's objects.
    pub(super) fn namespace(&self) -> Namespace {
        let named = self.namespace.clone();
        named.unwrap_or_else(|| self.to.namespace())
    }

    /// Rejects flags that the tool does not support.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.login_secret.is_some() && self.to != GitOpsTool::Flux {
            let name = self.to.name();
            let other = format!("cannot use `--login-secret` with {name}: it applies only to Flux");
            return Err(Failure::usage(other).hint("omit it"));
        }
        Ok(())
    }
}

/// Pushes the content unless there are blockers, and shows the result.
async fn carry_out(
    file: &FleetFile,
    planned: Vec<ReadMember<'_, ExportPlan>>,
    arguments: &Arguments,
    output: Output,
) -> Result<Outcome, Failure> {
    let away = planned
        .iter()
        .filter_map(|member| member.found.as_ref().err());
    let reached = worst(away.map(Failure::outcome));
    let (mut blockers, mut is_refused) = (Blockers::default(), false);
    let mut clusters: Vec<ExportedCluster<'_>> = Vec::new();
    for ReadMember { at, name, found } in planned {
        let mut cluster = ExportedCluster {
            name,
            problem: None,
            deployments: Vec::new(),
        };
        match found {
            Err(failure) => {
                blockers.add_unplanned(name, &failure, arguments.skip_unreachable);
                cluster.problem = Some(ShownBlocker::from(&failure));
            }
            Ok(plans) => {
                for (deployment, made) in made(file, at, apart(plans)?, arguments) {
                    match made {
                        Ok(made) => cluster.deployments.push(made),
                        Err(why) => {
                            blockers.add_all(name, &deployment, &why);
                            is_refused = true;
                        }
                    }
                }
            }
        }
        clusters.push(cluster);
    }
    let why = blockers.told();
    if !why.is_empty() {
        let export = FleetExport::of(file, arguments, &clusters);
        let refused = refuse_plan(output, export, why);
        return Ok(if is_refused { refused } else { reached });
    }
    if !arguments.dry_run {
        push_all(&clusters, output).await?;
    }
    let export = FleetExport::of(file, arguments, &clusters);
    show_all(&export, arguments, output)?;
    Ok(reached)
}
