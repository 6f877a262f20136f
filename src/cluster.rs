//! Connections to clusters: the account, the identity of the writer, and the wait for a cluster that is starting. Work
//! in a cluster runs until it is done, or until the user or the system ends the program.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::anyhow;
use fleet::FleetFile;
use importer::{LeaseConflictPolicy, Seal, Writer};
use kubernetes::{
    Account, Cluster, ConnectOptions, Error, HeldLeases, HolderCheck, Identity, WaitOutcome,
};
use schemars::JsonSchema;
use schemas::{ClusterName, PayloadType};
use serde::Serialize;
use signing::SecretKey;

use crate::args::{ChangeArguments, ClusterArguments, Output, ReadArguments};
use crate::failure::{self, Failure};
use crate::progress_bar::Waiting;
use crate::{environment, events, holder, interrupt, keys, render};

/// The timeout of one request to the API server.
const REQUEST: Duration = Duration::from_secs(30);
/// The time that the end of the program waits for running work.
const PARTING: Duration = Duration::from_secs(1);
/// The time in which a program that a signal ends tries to release its Lease. It must end within a second.
const RETURNING: Duration = Duration::from_millis(600);
/// The Leases that are held.
static LEASES: LazyLock<HeldLeases> = LazyLock::new(HeldLeases::default);

/// Runs asynchronous work to its end, or until the user or the system asks the program to end.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::unknown)?;
    let result = runtime.block_on(async {
        tokio::select! {
            result = work => result,
            () = interrupt::is_over() => Err(Failure::unknown(anyhow!("interrupted"))),
        }
    });
    if interrupt::cancel().is_asked() {
        // Dropping a guard releases its Lease in the background, so wait for that here.
        let returned = async { tokio::time::timeout(RETURNING, LEASES.wait_released()).await };
        let _ = runtime.block_on(returned);
        runtime.shutdown_background();
    } else {
        // A read of a slow disk cannot be cancelled, and the program must not wait for it.
        runtime.shutdown_timeout(PARTING);
    }
    result
}

/// Reads a cluster, within the time limit of the command.
pub(crate) fn read<T>(
    arguments: &ReadArguments,
    read: impl AsyncFnOnce(&Cluster) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(read_once(arguments, read))
}

/// Reads a cluster once within running work. It connects again, because the account's token may have changed.
pub(crate) async fn read_once<T>(
    arguments: &ReadArguments,
    read: impl AsyncFnOnce(&Cluster) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let longest = arguments.longest.timeout();
    let read = async {
        let cluster = connect(&arguments.cluster).await?;
        read(&cluster).await
    };
    let read = tokio::time::timeout(longest, read).await;
    read.unwrap_or_else(|_| {
        let seconds = longest.as_secs();
        let late = anyhow!("the cluster did not answer all requests within {seconds} s");
        Err(Failure::unknown(late)
            .hint("wait longer with `--timeout SECONDS`, or show each request with `--verbose`"))
    })
}

/// Connects to the cluster that kubectl would.
pub(crate) async fn connect(arguments: &ClusterArguments) -> Result<Cluster, Failure> {
    connected(arguments).await.map_err(failure::unusable)
}

/// Connects, and returns the library's error, so that the caller can explain it.
pub(crate) async fn connected(arguments: &ClusterArguments) -> Result<Cluster, kubernetes::Error> {
    Cluster::connect(&connect_options(arguments)).await
}

/// Connects to a cluster of a fleet.
pub(crate) async fn connect_by(account: Account) -> Result<Cluster, Failure> {
    let connected = Cluster::connect(&account_options(account)).await;
    connected.map_err(failure::unusable_member)
}

/// Waits for a cluster of a fleet until it is up.
pub(crate) async fn wait_by(account: Account, arrival: &ClusterWait<'_>) -> Result<(), Failure> {
    let connected = arrival.connect(&account_options(account)).await;
    connected.map(drop).map_err(failure::unusable_member)
}

/// Connects to a cluster that may be starting, and waits until it is ready.
pub(crate) async fn connect_when_up(
    arguments: &ClusterArguments,
    longest: Duration,
    output: Output,
) -> Result<Cluster, Failure> {
    let arrival = ClusterWait {
        longest,
        cluster: None,
        waiting: &Waiting::new(output),
        output,
    };
    let connected = arrival.connect(&connect_options(arguments)).await;
    connected.map_err(failure::unusable)
}

/// Returns the account that kubectl would use. In a pod, that is the service account, unless a kubeconfig or a context
/// is named, or the home directory contains a kubeconfig.
pub(crate) fn account(arguments: &ClusterArguments) -> Account {
    let named = arguments.kubeconfig.clone().map(|path| vec![path]);
    let named = named.or_else(kubeconfigs);
    let own = environment::home().map(|home| home.join(".kube/config"));
    let has_own = own.as_ref().is_some_and(|path| path.exists());
    let context = arguments.context.clone();
    if named.is_none() && context.is_none() && !has_own && environment::is_pod() {
        return Account::InCluster;
    }
    Account::Kubeconfig {
        paths: named.unwrap_or_else(|| own.into_iter().collect()),
        context,
    }
}

/// Returns the options to connect to the cluster that kubectl would.
pub(crate) fn connect_options(arguments: &ClusterArguments) -> ConnectOptions {
    account_options(account(arguments))
}

fn account_options(account: Account) -> ConnectOptions {
    ConnectOptions {
        account,
        identity: Identity::Account,
        timeout: REQUEST,
        listener: render::request_listener(),
        clock: environment::clock,
    }
}

/// Returns the kubeconfigs that the environment names, if there are any.
fn kubeconfigs() -> Option<Vec<PathBuf>> {
    let list = environment::variable("KUBECONFIG")?;
    let paths = list.split(':').filter(|path| !path.is_empty());
    Some(paths.map(PathBuf::from).collect())
}

/// Returns the writer of a change: its name, the time that it waits for another writer, and the key that signs its
/// receipt.
pub(crate) fn writer(wait: &ChangeArguments) -> Result<Writer, Failure> {
    let longest = wait.wait.map(Duration::from_secs);
    Ok(Writer {
        name: Arc::new(|user| environment::writer(user).to_string()),
        by: environment::person(),
        fleet: None,
        clock: Arc::new(environment::clock),
        gone: HolderCheck::new(holder::is_gone),
        leases: LEASES.clone(),
        turn: longest.map_or(LeaseConflictPolicy::Refuse, LeaseConflictPolicy::Wait),
        seal: seal(wait)?,
        cancel: interrupt::cancel(),
    })
}

/// Returns the same writer for the changes of a fleet.
pub(crate) fn fleet_writer(wait: &ChangeArguments, fleet: &FleetFile) -> Result<Writer, Failure> {
    Ok(Writer {
        fleet: Some(fleet.document().metadata.name.clone()),
        ..writer(wait)?
    })
}

/// Returns the signer of receipts, if the user named a key.
fn seal(wait: &ChangeArguments) -> Result<Option<Seal>, Failure> {
    let Some(path) = &wait.receipt_key else {
        return Ok(None);
    };
    let keys = keys::secret(std::slice::from_ref(path), &wait.passphrase)?;
    let mut keys = keys.into_iter();
    let seal = |key: SecretKey| -> Seal {
        Arc::new(move |receipt| key.sign(PayloadType::Receipt, receipt))
    };
    Ok(keys.next().map(seal))
}

/// A wait for a cluster.
pub(crate) struct ClusterWait<'a> {
    pub(crate) longest: Duration,
    /// The name of the cluster, if it belongs to a fleet.
    pub(crate) cluster: Option<&'a ClusterName>,
    pub(crate) waiting: &'a Waiting,
    pub(crate) output: Output,
}

/// An event while waiting for a cluster.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "camelCase")]
pub(crate) enum ArrivalEvent {
    /// The cluster is not reachable; the command waits for it.
    Away {
        /// Why it cannot be used.
        why: String,
    },
    /// The cluster is reachable.
    Up,
}

impl ClusterWait<'_> {
    /// Connects to the cluster as soon as it is up.
    pub(crate) async fn connect(&self, connect: &ConnectOptions) -> Result<Cluster, Error> {
        let tell = |error| self.tell(error);
        let connected = Cluster::connect_when_up(connect, self.longest, &tell).await;
        let (cluster, waited) = connected?;
        self.end(waited);
        Ok(cluster)
    }

    /// Waits until the cluster is up again, if it is not.
    pub(crate) async fn wait(&self, cluster: &Cluster) -> Result<WaitOutcome, Error> {
        let waited = cluster
            .wait_up(self.longest, &|error| self.tell(error))
            .await?;
        self.end(waited);
        Ok(waited)
    }

    fn tell(&self, error: Error) {
        let error = anyhow::Error::from(error);
        let why = format!("{error:#}");
        if self
            .waiting
            .tell(&format!("waiting for the cluster: {why}"))
        {
            events::tell(self.cluster, &ArrivalEvent::Away { why });
        }
    }

    fn end(&self, waited: WaitOutcome) {
        self.waiting.clear();
        if waited == WaitOutcome::Immediate {
            return;
        }
        events::tell(self.cluster, &ArrivalEvent::Up);
        if self.output == Output::Human {
            self.waiting.note("the cluster is up");
        }
    }
}
