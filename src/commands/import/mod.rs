//! `solution import`: verify, plan, push, record, deploy.

mod consent;
mod request;
mod show;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::{Args, ValueEnum};
use deployer::Cluster;
use importer::{Event, Plan, Ready, Receipt, Run};
use registry::{Client, RegistryAddress};
use schemas::{EnvironmentName, KubernetesName, Namespace};

use super::support;
use crate::args::{ClusterArguments, Output, RegistryArguments, TrustArguments, WaitArguments};
use crate::failure::{Failure, Outcome};
use crate::{progress, render};

/// Bring an archive's images into the registry, and run its operator in an environment
#[derive(Args, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line, and becomes an enum at once"
)]
#[command(after_help = "\
Everything that can be known before is checked before: signatures, the registry and its login, the
rights in the cluster. Images are verified while they are pushed; the cluster is touched only when
all are in place. Running it again pushes and changes nothing.

Without --environment the version only becomes available. The login to the registry is that of
docker or podman (`podman login`, `docker login`).

Examples:
  solution import app.iso --key publisher.pub --registry registry.site/apps
  solution import app.iso --key publisher.pub --registry registry.site -e prod --dry-run
  solution import app.iso --key a.pub --key b.pub --threshold 2 --registry push.site:5000 \\
      --pull-registry pull.site:5000 --ca-file site-ca.pem -e prod --pull-login nodes.json")]
pub(crate) struct Arguments {
    /// The archive: a file, or the device of a disc
    archive: PathBuf,

    #[command(flatten)]
    trust: TrustArguments,

    /// Accept this Solution without any signature, by its id (`<name>-<version>`)
    #[arg(long, value_name = "ID", help_heading = "Trust")]
    allow_unsigned: Option<String>,

    /// Where images are pushed
    #[arg(long, value_name = "HOST[/PREFIX]", help_heading = "Registry")]
    registry: RegistryAddress,

    /// Where nodes pull them from, when the registry has another name for them
    #[arg(long, value_name = "HOST[/PREFIX]", help_heading = "Registry")]
    pull_registry: Option<RegistryAddress>,

    #[command(flatten)]
    reach: RegistryArguments,

    /// Run the operator in this environment
    #[arg(short, long, value_name = "NAME", help_heading = "Environment")]
    environment: Option<EnvironmentName>,

    /// The namespace of the environment [default: the environment's name]
    #[arg(
        short,
        long,
        value_name = "NAME",
        requires = "environment",
        help_heading = "Environment"
    )]
    namespace: Option<Namespace>,

    /// Make the environment if there is none of this name
    #[arg(long, requires = "environment", help_heading = "Environment")]
    create_environment: bool,

    /// A Secret of the namespace that nodes log in to the registry with [default: the one that is used now]
    #[arg(
        long,
        value_name = "NAME",
        requires = "environment",
        group = "pull",
        help_heading = "Environment"
    )]
    pull_secret: Option<KubernetesName>,

    /// Make that Secret from a login file of docker or podman that holds a login for nodes, not the one that pushes
    #[arg(
        long,
        value_name = "FILE",
        requires = "environment",
        group = "pull",
        help_heading = "Environment"
    )]
    pull_login: Option<PathBuf>,

    /// Let nodes pull without a login
    #[arg(
        long,
        requires = "environment",
        group = "pull",
        help_heading = "Environment"
    )]
    no_pull_secret: bool,

    /// Take over what no Solution owns: the namespace, or CRDs that the archive has too
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        requires = "environment",
        help_heading = "Environment"
    )]
    adopt: Vec<Adopted>,

    /// Replace a version that was imported from another archive, and move its tags
    #[arg(long, help_heading = "Environment")]
    replace: bool,

    /// Take an archive that none of the keys signed that signed this Solution before
    #[arg(long, help_heading = "Trust")]
    change_signers: bool,

    /// Take an archive that nobody signed, though this Solution was imported signed before, and forget who signed it
    #[arg(long, requires = "allow_unsigned", help_heading = "Trust")]
    forget_signers: bool,

    /// Deploy a version older than the one that runs
    #[arg(long, help_heading = "Environment")]
    allow_downgrade: bool,

    /// Accept what the plan shows as reaching beyond the environment, by the id that stands there
    #[arg(
        long,
        value_name = "ID",
        requires = "environment",
        help_heading = "Environment"
    )]
    accept: Vec<String>,

    /// Seconds to wait for the operator to become ready
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=86_400),
        help_heading = "Environment"
    )]
    timeout: u64,

    /// Stop after the plan and show it
    #[arg(long, help_heading = None::<&str>)]
    dry_run: bool,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    turn: WaitArguments,
}

/// What may be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Adopted {
    /// An existing namespace that belongs to no environment; it stays when the environment goes
    Namespace,
    /// CRDs that are in the cluster and that no Solution owns; they stay when the Solution goes
    Crds,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let Some((accepted, findings)) = request::accept(arguments, output)? else {
        return Ok(Outcome::No);
    };
    let client = request::client(arguments)?;
    let request = request::request(arguments)?;
    support::block_on(async {
        let cluster = support::cluster(&arguments.cluster).await?;
        loop {
            let mut plan = Plan::make(
                &accepted,
                findings.clone(),
                &client,
                &cluster,
                request.clone(),
            )
            .await?;
            if output == Output::Human {
                show::plan(plan.summary());
            }
            if !arguments.dry_run {
                consent::ask(&mut plan, output).await?;
            }
            if arguments.dry_run || !plan.obstacles().is_empty() {
                plan.give_up(&client).await;
            }
            let ready = match plan.ready() {
                Ok(ready) => ready,
                Err(plan) => return Ok(show::refusal(output, &plan)),
            };
            if arguments.dry_run {
                let planned = show::planned(ready.summary());
                render::result(output, &planned, |_| render::dry(Run::Dry));
                return Ok(Outcome::Yes);
            }
            let waited = AtomicBool::new(false);
            let receipt = match apply(ready, &client, &cluster, output, &waited).await {
                // What the other one changed asks for a new plan.
                Err(importer::Error::Refused(_)) if waited.into_inner() => continue,
                receipt => receipt?,
            };
            render::result(output, &receipt, show::receipt);
            return Ok(Outcome::Yes);
        }
    })
}

/// Does what a plan says, and shows it. `waited` becomes true when another writer was waited for.
async fn apply(
    ready: Ready<'_>,
    client: &Client,
    cluster: &Cluster,
    output: Output,
    waited: &AtomicBool,
) -> Result<Receipt, importer::Error> {
    let bar = progress::bytes(output, "push", ready.summary().bytes_to_push);
    let sent = Mutex::new(show::Sent::default());
    let objects = support::watch(output);
    let tell = |event| {
        match &event {
            Event::Push(event) => {
                let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
                sent.take(event);
                bar.set_position(sent.total());
            }
            Event::Pushed => bar.finish_and_clear(),
            Event::Waiting(_) => waited.store(true, Ordering::Relaxed),
            _ => {}
        }
        objects(event);
    };
    let receipt = ready.apply(client, cluster, &tell).await;
    bar.finish_and_clear();
    receipt
}
