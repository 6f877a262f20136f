//! What several verbs share: reading keys, reaching a cluster, running asynchronous work, showing an undo.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::Context as _;
use deployer::{
    Account, Applied, Cluster, Connect, Gone, Leases, ObjectRef, Restart, RolloutState,
};
use importer::{Change, Event, Run, Status, Turn, Undone, Writer};
use registry::PlainHttp;
use signing::{KeyError, PublicKey, SecretKey, Trust};
use zeroize::Zeroizing;

use crate::args::{
    ClusterArguments, Output, PassphraseArguments, RegistryArguments, RemovalArguments,
    TrustArguments, WaitArguments,
};
use crate::commands::done::Done;
use crate::failure::{self, Failure, Outcome};
use crate::progress::Waiting;
use crate::{environment, holder, interrupt, passphrase, render};

/// Bytes of a file with keys, certificates or logins: a bundle of all public authorities has a quarter of it.
const TEXT_SIZE: u64 = 1024 * 1024;
/// How long one request to the API server may take.
const REQUEST: Duration = Duration::from_secs(30);
/// How long the end of the program waits for what was begun.
const PARTING: Duration = Duration::from_secs(1);
/// How long a program that a signal ends tries to give its Lease back: it must end within a second.
const RETURNING: Duration = Duration::from_millis(600);
/// The Leases that are held.
static LEASES: LazyLock<Leases> = LazyLock::new(Leases::default);
/// How long objects may take to go: a namespace with pods needs their grace period.
pub(crate) const GONE: Duration = Duration::from_mins(3);

/// Reads a small text file whole.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read_bytes(path)?)
        .map_err(|_| std::io::Error::other("it is not text"))
        .with_context(|| format!("cannot read `{}`", path.display()))
        .map_err(Failure::unknown)
}

/// Reads a small file whole.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = || -> std::io::Result<Vec<u8>> {
        // Opening a pipe would wait for a writer, so look first.
        if !std::fs::metadata(path)?.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        let mut bytes = Vec::new();
        let read = File::open(path)?
            .take(TEXT_SIZE + 1)
            .read_to_end(&mut bytes)?;
        if read as u64 > TEXT_SIZE {
            return Err(std::io::Error::other(format!(
                "it has more than {TEXT_SIZE} bytes"
            )));
        }
        Ok(bytes)
    };
    read()
        .with_context(|| format!("cannot read `{}`", path.display()))
        .map_err(Failure::unknown)
}

/// Reads keys to sign with. The passphrase of encrypted ones is asked for once if it is given, else for each.
pub(crate) fn secret_keys(
    paths: &[PathBuf],
    arguments: &PassphraseArguments,
) -> Result<Vec<SecretKey>, Failure> {
    let mut given = None;
    paths
        .iter()
        .map(|path| {
            let pem = read_secret(path)?;
            let key = match SecretKey::from_pem(&pem) {
                Err(KeyError::Encrypted) => {
                    if given.is_none() {
                        given = passphrase::given(arguments)?;
                    }
                    match &given {
                        Some(passphrase) => SecretKey::from_encrypted_pem(&pem, passphrase),
                        None => SecretKey::from_encrypted_pem(&pem, &passphrase::ask(path)?),
                    }
                }
                other => other,
            };
            key.map_err(|error| failure::key(path, error))
        })
        .collect()
}

/// Reads a small text file whole, into memory that is erased.
fn read_secret(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let read = || -> std::io::Result<Zeroizing<String>> {
        if !std::fs::metadata(path)?.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        // All at once, so that growing leaves no copy behind; one byte more tells that there is more.
        let mut bytes = Zeroizing::new(vec![0; signing::limits::PEM_SIZE + 1]);
        let mut file = File::open(path)?;
        let mut length = 0;
        while length < bytes.len() {
            match file.read(&mut bytes[length..])? {
                0 => break,
                read => length += read,
            }
        }
        let text = std::str::from_utf8(&bytes[..length])
            .map_err(|_| std::io::Error::other("it is not text"))?;
        Ok(Zeroizing::new(text.to_owned()))
    };
    read()
        .with_context(|| format!("cannot read `{}`", path.display()))
        .map_err(Failure::unknown)
}

/// Reads the trusted keys.
pub(crate) fn trust(arguments: &TrustArguments) -> Result<Trust, Failure> {
    let keys = arguments
        .keys
        .iter()
        .map(|path| public_key(path))
        .collect::<Result<_, _>>()?;
    Ok(Trust::new(keys, arguments.threshold)?)
}

pub(crate) fn public_key(path: &Path) -> Result<PublicKey, Failure> {
    let pem = read_text(path)?;
    PublicKey::from_pem(&pem)
        .with_context(|| format!("`{}` is not a public key", path.display()))
        .map_err(Failure::no)
}

/// Runs asynchronous work to its end, or until the user or the system asks the program to end.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::unknown)?;
    let result = runtime.block_on(async {
        tokio::select! {
            result = work => result,
            () = interrupt::asked() => Err(Failure::unknown(anyhow::anyhow!("interrupted"))),
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

/// Connects to the cluster that kubectl would.
pub(crate) async fn cluster(arguments: &ClusterArguments) -> Result<Cluster, Failure> {
    let paths = match &arguments.kubeconfig {
        Some(path) => vec![path.clone()],
        None => kubeconfigs(),
    };
    let account = Account::Kubeconfig {
        paths,
        context: arguments.context.clone(),
    };
    Cluster::connect(&Connect { account, timeout: REQUEST })
        .await
        .context("cannot use the cluster")
        .map_err(|error| {
            Failure::unknown(error).hint("try `kubectl version` with the same context; `--kubeconfig` and `--context` choose another")
        })
}

fn kubeconfigs() -> Vec<PathBuf> {
    match environment::variable("KUBECONFIG") {
        Some(list) => list
            .split(':')
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .collect(),
        None => environment::home()
            .map(|home| home.join(".kube/config"))
            .into_iter()
            .collect(),
    }
}

/// How registries are reached, without a login.
pub(crate) fn registry_options(
    arguments: &RegistryArguments,
) -> Result<registry::Options, Failure> {
    let files = arguments.ca_file.iter();
    let ca = files.map(|path| read_text(path).map(String::into_bytes));
    Ok(registry::Options {
        ca: ca.collect::<Result<_, _>>()?,
        plain_http: if arguments.plain_http {
            PlainHttp::Always
        } else {
            PlainHttp::Loopback
        },
        ..registry::Options::default()
    })
}

/// Who writes to the cluster, and how long it waits while somebody else does.
pub(crate) fn writer(wait: &WaitArguments) -> Writer {
    let longest = wait.wait.map(Duration::from_secs);
    Writer {
        name: environment::writer().to_string(),
        clock: Arc::new(environment::clock),
        gone: Gone::by(holder::is_gone),
        leases: LEASES.clone(),
        turn: longest.map_or(Turn::Refuse, Turn::Wait),
    }
}

/// Shows what happens, and notes it for the last words of a program that a signal ends.
pub(crate) fn watch(output: Output) -> impl Fn(Event) + Sync {
    let (done, waiting) = (Done::default(), Waiting::new(output));
    move |event| {
        done.take(&event);
        match &event {
            Event::Rollout { deployment, state } => {
                return waiting.tell(&progress_of(deployment, state));
            }
            Event::Waiting(held) => {
                return render::note!("waiting: {}", failure::in_words(held));
            }
            _ => {}
        }
        let lines = lines_of(&event);
        if lines.is_empty() {
            return;
        }
        waiting.clear();
        if output == Output::Human {
            lines.iter().for_each(render::note);
        }
    }
}

/// `waiting for Deployment prod/app: 0 of 1 pods ready: pulling image r/app:1, pod app-1`
fn progress_of(deployment: &ObjectRef, state: &RolloutState) -> String {
    let (ready, wanted) = (state.progress.ready(), state.progress.wanted);
    let pods = format!("waiting for {deployment}: {ready} of {wanted} pods ready");
    match &state.awaited {
        Some(awaited) => format!("{pods}: {awaited}"),
        None => pods,
    }
}

/// The lines that tell of an event, if it is worth any.
fn lines_of(event: &Event) -> Vec<String> {
    match event {
        Event::Object { object, applied } => match applied {
            Applied::Created => vec![format!("  {object} created")],
            Applied::Unchanged => Vec::new(),
            Applied::Changed => vec![format!("  {object} changed")],
        },
        Event::Removed(object) => vec![format!("  {object} removed")],
        Event::Restart { pod, restart } => match restart {
            Restart::Done => vec![format!("  {pod} restarted: it was waiting for its image")],
            Restart::NotAllowed => vec![
                format!(
                    "  {pod} waits for its image with the pull secrets that it was made with, and this user may not delete it"
                ),
                format!(
                    "hint: have it deleted, and its Deployment makes another: `kubectl --namespace {} delete pod {}`",
                    pod.namespace.as_deref().unwrap_or_default(),
                    pod.name
                ),
            ],
        },
        Event::RollingBack(version) => vec![format!("  putting version {version} back")],
        Event::Push(_) | Event::Pushed | Event::Waiting(_) | Event::Rollout { .. } => Vec::new(),
    }
}

/// What a cluster says of itself.
pub(crate) fn status(arguments: &ClusterArguments) -> Result<Status, Failure> {
    block_on(async {
        let cluster = cluster(arguments).await?;
        Ok(importer::status(&cluster).await?)
    })
}

/// Runs a change of the cluster.
pub(crate) fn change<T>(
    (arguments, wait): (&ClusterArguments, &WaitArguments),
    run: Run,
    output: Output,
    act: impl AsyncFnOnce(&Change<'_>) -> Result<T, importer::Error>,
) -> Result<T, Failure> {
    block_on(async {
        let cluster = cluster(arguments).await?;
        let (writer, watch) = (writer(wait), watch(output));
        let change = Change {
            cluster: &cluster,
            writer: &writer,
            tell: &watch,
            deadline: GONE,
            run,
        };
        Ok(act(&change).await?)
    })
}

/// Runs an undo on the cluster, and shows what it removed and what stays.
pub(crate) fn undo(
    arguments: &RemovalArguments,
    output: Output,
    what: &str,
    undo: impl AsyncFnOnce(&Change<'_>) -> Result<Undone, importer::Error>,
) -> Result<Outcome, Failure> {
    let run = arguments.dry_run.run();
    let undone = change((&arguments.cluster, &arguments.wait), run, output, undo)?;
    render::result(output, &undone, |undone| {
        if run == Run::Dry {
            for object in &undone.removed {
                render::line!("{object} would be removed");
            }
        } else {
            let removed = render::count(undone.removed.len(), "object");
            render::line!("{what}: {removed} removed");
        }
        for note in &undone.notes {
            render::line!("note: {note}");
        }
        render::dry(run);
    });
    Ok(Outcome::Yes)
}
