//! Reaching the cluster: as which writer, and until when, or until the user or the system asks the program to end.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::anyhow;
use deployer::{Account, Cluster, Connect, Gone, Leases};
use fleet::FleetFile;
use importer::{Seal, Turn, Writer};
use schemas::PayloadType;
use signing::SecretKey;

use crate::args::{ChangeArguments, ClusterArguments, Output, ReadArguments};
use crate::arrival::Arrival;
use crate::failure::{self, Failure};
use crate::progress::Waiting;
use crate::{environment, holder, interrupt, keys, verbose};

/// How long one request to the API server may take.
const REQUEST: Duration = Duration::from_secs(30);
/// How long the end of the program waits for what was begun.
const PARTING: Duration = Duration::from_secs(1);
/// How long a program that a signal ends tries to give its Lease back: it must end within a second.
const RETURNING: Duration = Duration::from_millis(600);
/// The Leases that are held.
static LEASES: LazyLock<Leases> = LazyLock::new(Leases::default);

/// Runs asynchronous work to its end, or until the user or the system asks the program to end.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::unknown)?;
    let result = runtime.block_on(async {
        tokio::select! {
            result = work => result,
            () = interrupt::over() => Err(Failure::unknown(anyhow!("interrupted"))),
        }
    });
    if interrupt::cancel().is_asked() {
        // What was dropped gives its Lease back in the background.
        let returned = async { tokio::time::timeout(RETURNING, LEASES.given_back()).await };
        let _ = runtime.block_on(returned);
        runtime.shutdown_background();
    } else {
        // A read of a slow disc cannot be cancelled; nobody should have to wait for it.
        runtime.shutdown_timeout(PARTING);
    }
    result
}

/// Reads a cluster, for no longer than may be waited.
pub(crate) fn read<T>(
    arguments: &ReadArguments,
    read: impl AsyncFnOnce(&Cluster) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(read_once(arguments, read))
}

/// The same within work that goes on. It connects anew, since an account's token may be another one by then.
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

/// The same for who has something to say about each error.
pub(crate) async fn connected(arguments: &ClusterArguments) -> Result<Cluster, deployer::Error> {
    Cluster::connect(&way_to(arguments)).await
}

/// Connects to a cluster of a fleet.
pub(crate) async fn connect_by(account: Account) -> Result<Cluster, Failure> {
    let connected = Cluster::connect(&way_by(account)).await;
    connected.map_err(failure::unusable_member)
}

/// Waits for a cluster of a fleet until it is up.
pub(crate) async fn wait_by(account: Account, arrival: &Arrival<'_>) -> Result<(), Failure> {
    let connected = arrival.connect(&way_by(account)).await;
    connected.map(drop).map_err(failure::unusable_member)
}

/// The same with a cluster that may be coming up, which is waited for until it is ready.
pub(crate) async fn connect_when_up(
    arguments: &ClusterArguments,
    longest: Duration,
    output: Output,
) -> Result<Cluster, Failure> {
    let arrival = Arrival {
        longest,
        cluster: None,
        waiting: &Waiting::new(output),
        output,
    };
    let connected = arrival.connect(&way_to(arguments)).await;
    connected.map_err(failure::unusable)
}

/// The account that kubectl would have: in a pod its own, unless a kubeconfig or a context is named, or one lies in the
/// home directory.
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

fn way_to(arguments: &ClusterArguments) -> Connect {
    way_by(account(arguments))
}

fn way_by(account: Account) -> Connect {
    Connect {
        account,
        timeout: REQUEST,
        listener: verbose::listener(),
        clock: environment::clock,
    }
}

/// The kubeconfigs that the environment names, if it names any.
fn kubeconfigs() -> Option<Vec<PathBuf>> {
    let list = environment::variable("KUBECONFIG")?;
    let paths = list.split(':').filter(|path| !path.is_empty());
    Some(paths.map(PathBuf::from).collect())
}

/// Who writes to the cluster, how long it waits while somebody else does, and who signs what is left of it.
pub(crate) fn writer(wait: &ChangeArguments) -> Result<Writer, Failure> {
    let longest = wait.wait.map(Duration::from_secs);
    Ok(Writer {
        name: Arc::new(|user| environment::writer(user).to_string()),
        by: environment::person(),
        fleet: None,
        clock: Arc::new(environment::clock),
        gone: Gone::by(holder::is_gone),
        leases: LEASES.clone(),
        turn: longest.map_or(Turn::Refuse, Turn::Wait),
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

/// What signs receipts, if somebody is to.
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
