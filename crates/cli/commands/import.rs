//! `solution import`: verify, plan, push, record, deploy.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use importer::{
    Adopt, Allowed, ClusterScope, Downgrade, Event, Plan, Ready, Receipt, Replace, Request,
    Summary, Target, Watch,
};
use registry::{Client, Credentials, PlainHttp, RegistryAddress};
use schemas::{EnvironmentName, KubernetesName, Namespace, SolutionId};
use serde::Serialize;
use validator::Accepted;

use super::{support, validate};
use crate::args::{ClusterArguments, Output, TrustArguments};
use crate::exit::{Failure, Outcome};
use crate::{environment, progress, render};

/// Bring an archive's images into the registry, and run its operator in an environment
#[derive(Args, Debug)]
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
      --pull-registry pull.site:5000 --ca-file site-ca.pem -e prod --pull-secret registry-login")]
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

    /// A certificate authority (PEM) that the registry's certificate is signed by
    #[arg(long, value_name = "FILE", help_heading = "Registry")]
    ca_file: Vec<PathBuf>,

    /// Speak HTTP without TLS to the registry; without it only on this machine itself
    #[arg(long, help_heading = "Registry")]
    plain_http: bool,

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

    /// A Secret of the namespace that nodes log in to the registry with
    #[arg(
        long,
        value_name = "NAME",
        requires = "environment",
        help_heading = "Environment"
    )]
    pull_secret: Option<KubernetesName>,

    /// Take over an existing namespace, and CRDs that no Solution owns
    #[arg(long, help_heading = "Environment")]
    adopt: bool,

    /// Replace a version that was imported from another archive, and move its tags
    #[arg(long, help_heading = "Environment")]
    replace: bool,

    /// Deploy a version older than the one that runs
    #[arg(long, help_heading = "Environment")]
    allow_downgrade: bool,

    /// Let the operator have rights in the whole cluster, if the Solution asks for it
    #[arg(long, help_heading = "Environment")]
    allow_cluster_scope: bool,

    /// Seconds to wait for the operator to become ready
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 300,
        help_heading = "Environment"
    )]
    timeout: u64,

    /// Stop after the plan and show it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refused<'a> {
    plan: &'a Summary,
    obstacles: &'a [importer::Obstacle],
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let accepted = accept(arguments, output)?;
    let client = client(arguments)?;
    let request = request(arguments)?;
    support::block_on(async {
        let cluster = support::cluster(&arguments.cluster).await?;
        let plan = Plan::make(&accepted, &client, &cluster, request)
            .await
            .map_err(support::import_failure)?;
        if output == Output::Human {
            show_plan(plan.summary());
        }
        let ready = match plan.ready() {
            Ok(ready) => ready,
            Err(plan) => return Ok(refuse(output, &plan)),
        };
        if arguments.dry_run {
            render::result(output, ready.summary(), |_| {
                render::line("nothing was changed (--dry-run)")
            });
            return Ok(Outcome::Yes);
        }
        let receipt = apply(ready, &client, &cluster, output).await?;
        render::result(output, &receipt, show_receipt);
        Ok(Outcome::Yes)
    })
}

/// Verifies the archive as far as an import needs: layers are verified while they are pushed.
fn accept(arguments: &Arguments, output: Output) -> Result<Accepted, Failure> {
    let allow: Option<SolutionId> = match &arguments.allow_unsigned {
        Some(text) => Some(parse_id(text)?),
        None => None,
    };
    let signatures = validate::signatures(&arguments.trust, allow)?;
    let report = validate::check(
        &arguments.archive,
        signatures,
        validator::Depth::Documents,
        output,
    )?;
    report.accept().map_err(|report| {
        validate::show_findings(&report);
        Failure::no(anyhow::anyhow!(
            "`{}` is not accepted, so nothing was imported",
            arguments.archive.display()
        ))
    })
}

/// `<name>-<version>`: the version begins after a hyphen that a version follows.
fn parse_id(text: &str) -> Result<SolutionId, Failure> {
    text.match_indices('-')
        .find_map(|(at, _)| {
            let (name, version) = (text[..at].parse().ok()?, text[at + 1..].parse().ok()?);
            SolutionId::new(name, version).ok()
        })
        .ok_or_else(|| {
            Failure::usage(format!(
                "`{text}` is not a Solution id: expected <name>-<version>"
            ))
        })
}

fn client(arguments: &Arguments) -> Result<Client, Failure> {
    let ca = arguments
        .ca_file
        .iter()
        .map(|path| support::read_text(path).map(String::into_bytes))
        .collect::<Result<_, _>>()?;
    let options = registry::Options {
        ca,
        plain_http: if arguments.plain_http {
            PlainHttp::Always
        } else {
            PlainHttp::Loopback
        },
        credentials: credentials(&arguments.registry)?,
        ..registry::Options::default()
    };
    Client::new(&arguments.registry, options).map_err(support::registry_failure)
}

/// The login that docker or podman would use: the first file that has one for the registry, in podman's order.
fn credentials(address: &RegistryAddress) -> Result<Credentials, Failure> {
    let docker = environment::variable("DOCKER_CONFIG")
        .map(|folder| PathBuf::from(folder).join("config.json"));
    let candidates = [
        environment::variable("REGISTRY_AUTH_FILE").map(PathBuf::from),
        docker,
        environment::variable("XDG_RUNTIME_DIR")
            .map(|folder| PathBuf::from(folder).join("containers/auth.json")),
        environment::home().map(|home| home.join(".config/containers/auth.json")),
        environment::home().map(|home| home.join(".docker/config.json")),
    ];
    for path in candidates
        .into_iter()
        .flatten()
        .filter(|path| path.exists())
    {
        let config = support::read_text(&path)?;
        let found = Credentials::from_config(config.as_bytes(), address)
            .with_context(|| format!("cannot use the logins in `{}`", path.display()))
            .map_err(Failure::no)?;
        if let Some(credentials) = found {
            return Ok(credentials);
        }
    }
    Ok(Credentials::Anonymous)
}

fn request(arguments: &Arguments) -> Result<Request, Failure> {
    let target = arguments.environment.clone().map(|environment| Target {
        namespace: arguments
            .namespace
            .clone()
            .unwrap_or_else(|| importer::default_namespace(&environment)),
        environment,
        pull_secret: arguments.pull_secret.clone(),
    });
    Ok(Request {
        registry: arguments.registry.clone(),
        pull_registry: arguments
            .pull_registry
            .clone()
            .unwrap_or_else(|| arguments.registry.clone()),
        target,
        allowed: Allowed {
            adopt: if arguments.adopt {
                Adopt::Allow
            } else {
                Adopt::Refuse
            },
            replace: if arguments.replace {
                Replace::Allow
            } else {
                Replace::Refuse
            },
            downgrade: if arguments.allow_downgrade {
                Downgrade::Allow
            } else {
                Downgrade::Refuse
            },
            cluster_scope: if arguments.allow_cluster_scope {
                ClusterScope::Allow
            } else {
                ClusterScope::Refuse
            },
        },
        now: environment::now()?,
        wait: Duration::from_secs(arguments.timeout),
        writer: support::writer(),
    })
}

async fn apply(
    ready: Ready,
    client: &Client,
    cluster: &deployer::Cluster,
    output: Output,
) -> Result<Receipt, Failure> {
    let bar = progress::bytes(output, "push", ready.summary().bytes_to_push);
    let sent = Arc::new(Mutex::new(Sent::default()));
    let objects = support::watch(output);
    let shown = bar.clone();
    let watch: Watch = Arc::new(move |event| match event {
        Event::Push(event) => {
            let mut sent = sent
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            sent.take(&event);
            shown.set_position(sent.total());
        }
        Event::Pushed => shown.finish_and_clear(),
        other => objects(other),
    });
    let receipt = ready.apply(client, cluster, &watch).await;
    bar.finish_and_clear();
    receipt.map_err(support::import_failure)
}

/// How far each blob has come. A blob that begins again never takes the bar back.
#[derive(Default)]
struct Sent(std::collections::HashMap<schemas::Digest, u64>);

impl Sent {
    fn take(&mut self, event: &registry::Event) {
        let (digest, position) = match event {
            registry::Event::BlobSent {
                digest, position, ..
            } => (digest, *position),
            registry::Event::BlobInPlace {
                digest,
                size,
                arrival: registry::Arrival::Uploaded,
                ..
            } => (digest, *size),
            _ => return,
        };
        let known = self.0.entry(*digest).or_default();
        *known = (*known).max(position);
    }

    fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

fn refuse(output: Output, plan: &Plan) -> Outcome {
    let refused = Refused {
        plan: plan.summary(),
        obstacles: plan.obstacles(),
    };
    render::result(output, &refused, |refused| {
        for obstacle in refused.obstacles {
            render::note(format!(
                "error: {}\nhint: {}",
                obstacle.message, obstacle.fix
            ));
        }
        render::note(format!(
            "nothing was changed: {} in the way",
            render::count(refused.obstacles.len(), "thing")
        ));
    });
    Outcome::No
}

fn show_plan(plan: &Summary) {
    let context = plan.context.as_deref().unwrap_or("in-cluster");
    render::line(format!(
        "cluster   {context} at {} (Kubernetes {})",
        plan.server, plan.kubernetes
    ));
    render::line(format!(
        "solution  {}, archive {}",
        plan.solution, plan.archive_id
    ));
    render::line(format!(
        "registry  {}: {}, {} of {} to push",
        plan.registry,
        render::count(plan.images, "image"),
        render::bytes(plan.bytes_to_push),
        render::bytes(plan.bytes)
    ));
    if plan.pull_registry != plan.registry {
        render::line(format!("          nodes pull from {}", plan.pull_registry));
    }
    for crd in &plan.crds {
        render::line(format!("crd       {} {}", crd.action, crd.object));
    }
    if let Some(target) = &plan.target {
        let running = match &target.running {
            Some(version) => format!("runs {version} now"),
            None => "nothing of it runs now".to_owned(),
        };
        render::line(format!(
            "deploy    to environment {}, namespace {} ({running})",
            target.environment, target.namespace
        ));
        for object in &target.objects {
            let fields = if object.changes.is_empty() {
                String::new()
            } else {
                format!(" ({})", object.changes.join(", "))
            };
            render::line(format!(
                "          {} {}{fields}",
                object.action, object.object
            ));
        }
    }
    for note in &plan.notes {
        render::line(format!("note      {note}"));
    }
}

fn show_receipt(receipt: &Receipt) {
    let sent = receipt.uploaded;
    render::line(format!(
        "{} is imported: {} sent ({}), {} objects changed, {} removed",
        receipt.solution,
        render::count(usize::try_from(sent.blobs).unwrap_or(usize::MAX), "blob"),
        render::bytes(sent.bytes),
        receipt.objects.len(),
        receipt.removed.len()
    ));
    if let Some([environment, namespace]) = &receipt.deployed {
        render::line(format!(
            "its operator is ready in environment {environment}, namespace {namespace}"
        ));
    }
}
