//! `solution console`: a web console. On a loopback address, it acts with the permissions of the user who starts it. With
//! an identity provider, it acts with those of each user who logs in.

mod provider;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use importer::{Blocker, PlanSummary, Status};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;
use validator::Report;
use webconsole::{
    AccessToken, Certificate, Console, Explanations, Problem, Program, ProviderSettings, Results,
};

use self::provider::ProviderArguments;
use super::blocked::{BlockedPlan, ShownBlocker};
use super::certificate::CertificateArguments;
use super::cluster_events;
use super::import::consent::configured_pull_login;
use super::import::{self, PlanDetail};
use super::status::ShownStatus;
use crate::args::{ChangeArguments, ClusterArguments, Output, RegistryArguments};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, render};

/// Start a web console for environments and Solutions
#[derive(Args, Debug)]
#[command(after_help = "\
The console shows environments, Solutions, runs and the history of the cluster. It plans each change and applies it \
after you have seen the plan. It reads and changes the cluster with your kubeconfig, and registries with your logins.

Open the printed address in a browser on this machine. It contains a token, which is valid until the command ends. \
From another machine, forward the port with `ssh -L 8440:127.0.0.1:8440 HOST`. Ctrl-C ends the command and cancels \
running changes.

With --issuer, users log in at an OpenID Connect provider. The console then reads and changes the cluster with the ID \
token of each user, and only takes the address and the authority of the API server from your kubeconfig. It reads \
registries with your logins if the API server allows the user to `get` the registry (`solution site rbac --verb \
console`).

Examples:
  solution console
  solution console --context site-b --listen 127.0.0.1:0
  solution console --listen 0.0.0.0:8440 --tls-cert site.pem --tls-key site.key \\
      --public-url https://console.site.test --issuer https://dex.site.test \\
      --client-secret-file secret")]
pub(crate) struct Arguments {
    /// The address to listen on, which must be a loopback address without --issuer; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8440")]
    listen: SocketAddr,

    #[command(flatten)]
    certificate: CertificateArguments,

    #[command(flatten)]
    provider: ProviderArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    turn: ChangeArguments,
}

/// The address of a console.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StartedConsole {
    /// The address to open. On a loopback address, it contains the access token.
    url: String,
}

pub(super) fn run(arguments: Arguments, output: Output) -> Result<Outcome, Failure> {
    let Arguments {
        listen: address,
        certificate,
        provider,
        ..
    } = arguments;
    let settings = provider.settings()?;
    if settings.is_none() && certificate.is_given() {
        return Err(Failure::usage(
            "cannot use a certificate without `--issuer`: a loopback address is not encrypted",
        ));
    }
    if settings.is_none() && !address.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "cannot listen on {address} without `--issuer`: the console has no login, so it only serves this machine"
        ))
        .hint("use a loopback address, and forward its port with `ssh -L` from another machine"));
    }
    // A passphrase is requested first, so that a wrong one is reported before any work.
    let program = program(arguments.reach, &arguments.cluster, arguments.turn)?;
    cluster::block_on(async {
        let listener = TcpListener::bind(address).await;
        let listener = listener
            .with_context(|| format!("cannot listen on {address}"))
            .map_err(|error| {
                Failure::unknown(error).hint("choose a free port with `--listen 127.0.0.1:0`")
            })?;
        let address = listener.local_addr().map_err(Failure::unknown)?;
        let (console, url) = console(program, address, settings)?;
        let certificate = read_certificate(certificate)?;
        render::result(output, &StartedConsole { url }, |started| {
            render::line!("console   {}", started.url);
            render::note("open this address in a browser; Ctrl-C ends the console");
        });
        match webconsole::serve(listener, console, certificate).await {}
    })
}

/// Returns the console and its address in browsers.
fn console(
    program: Program,
    address: SocketAddr,
    settings: Option<ProviderSettings>,
) -> Result<(Console, String), Failure> {
    let Some(settings) = settings else {
        let token = AccessToken::random().map_err(Failure::unknown)?;
        let url = format!("http://{address}{}", token.login_path());
        return Ok((Console::on_loopback(program, address, token), url));
    };
    let url = settings.public_url.to_string();
    let console = Console::with_provider(program, settings).map_err(Failure::usage)?;
    Ok((console, url))
}

/// Reads the certificate of the console, if it has one.
fn read_certificate(files: CertificateArguments) -> Result<Option<Certificate>, Failure> {
    let Some(tls) = files.read()? else {
        return Ok(None);
    };
    let read = move || files.read().ok().flatten();
    Ok(Some(Certificate::new(tls, read)))
}

/// Returns the connections and explanations for the console.
fn program(
    reach: RegistryArguments,
    cluster: &ClusterArguments,
    turn: ChangeArguments,
) -> Result<Program, Failure> {
    let writer = cluster::writer(&turn)?;
    let limits = turn.limits();
    Ok(Program {
        connect: cluster::connect_options(cluster),
        client: Arc::new(move |registry, site| {
            import::client(registry, &reach, site).map_err(Problem::from)
        }),
        pull_login: Arc::new(|registry, pull_registry| {
            configured_pull_login(registry, pull_registry).map_err(Problem::from)
        }),
        context: Arc::new(move || import::context(&turn, writer.clone()).map_err(Problem::from)),
        limits,
        explain: Explanations {
            error: |error| Failure::from(error).into(),
            unreachable: |error| failure::unusable(error).into(),
            report: refused,
            blocker: failure::fix,
            operator: failure::of_operator,
            log_in: "open the address that `solution console` has printed; it contains a token",
            import: "Import an archive with `solution import FILE.iso`.",
            event: cluster_events::text_of,
        },
        results: Results { status, plan },
    })
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let (message, causes, hints) = failure.parts();
        match failure.outcome() {
            Outcome::No | Outcome::Usage => Self::refused(message, causes, hints),
            Outcome::Yes | Outcome::Unknown | Outcome::Ended(_) => {
                Self::new(message, causes, hints)
            }
        }
    }
}

/// Returns the problem of an archive that is not accepted.
fn refused(report: &Report) -> Problem {
    let archive = &report.summary().archive;
    let blockers = ShownBlocker::of_report(report);
    let (causes, fixes) = blockers
        .into_iter()
        .map(|found| (found.message, found.fix))
        .unzip();
    Problem::refused(format!("`{archive}` is not accepted"), causes, fixes)
}

fn status(status: &Status) -> Value {
    json(&ShownStatus::new(status, false))
}

fn plan(summary: &PlanSummary, blockers: &[Blocker]) -> Value {
    let plan = import::shown_plan(summary, PlanDetail::WithDiff);
    if blockers.is_empty() {
        json(&plan)
    } else {
        json(&BlockedPlan::new(plan, blockers))
    }
}

fn json(result: &impl Serialize) -> Value {
    serde_json::to_value(result).expect("texts and numbers")
}
