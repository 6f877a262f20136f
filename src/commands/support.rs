//! What several verbs share: reading keys, reaching a cluster, running asynchronous work, showing an undo.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::Context as _;
use archive::WriteError;
use deployer::{
    Account, Applied, Cluster, Connect, Gone, Leases, ObjectRef, Restart, RolloutState,
};
use importer::{Change, Event, Run, Status, Turn, Undone, Watch, Writer};
use packager::PackError;
use registry::PlainHttp;
use signing::{KeyError, PublicKey, SecretKey, Trust, TrustError};
use zeroize::Zeroizing;

use crate::args::{
    ClusterArguments, Output, PassphraseArguments, RegistryArguments, TrustArguments, WaitArguments,
};
use crate::commands::done::Done;
use crate::failure::{Failure, Outcome};
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
            key.map_err(|error| bad_key(path, error))
        })
        .collect()
}

fn bad_key(path: &Path, error: KeyError) -> Failure {
    let hint = match error {
        KeyError::Passphrase => {
            "if the passphrase is right, the key file is damaged: `openssl pkey -in KEY` tells"
        }
        KeyError::Encryption(_) | KeyError::Work => {
            "encrypt it anew: `openssl pkcs8 -topk8 -in KEY -out NEW-KEY`"
        }
        _ => "make one with `solution keygen`, or with `openssl genpkey -algorithm ed25519`",
    };
    Failure::no(error)
        .context(format!("`{}` is not a key to sign with", path.display()))
        .hint(hint)
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
    Trust::new(keys, arguments.threshold).map_err(|error| {
        Failure::usage(error).hint(match error {
            TrustError::Empty | TrustError::Repeated(_) => "give each key once with `--key`",
            TrustError::ThresholdMissing { .. } | TrustError::ThresholdTooHigh { .. } => {
                "give their number with `--threshold`"
            }
        })
    })
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
    if interrupt::is_asked() {
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

/// Who writes to the cluster, and what happens while somebody else does.
pub(crate) fn writer(wait: &WaitArguments) -> Writer {
    let turn = wait.wait.map_or(Turn::Refuse, |longest| Turn::Wait {
        longest: Duration::from_secs(longest),
        tell: Arc::new(|held| render::note(format!("waiting: {}", in_words(held)))),
        waited: Arc::default(),
    });
    Writer {
        name: environment::writer().to_string(),
        clock: Arc::new(environment::clock),
        gone: Gone::by(holder::is_gone),
        leases: LEASES.clone(),
        turn,
    }
}

/// Who holds the Lease.
fn in_words(held: &deployer::Error) -> String {
    match held {
        deployer::Error::LeaseHeld { holder, since, .. } => {
            holder::at_work(holder, *since, environment::clock())
        }
        other => other.to_string(),
    }
}

/// Shows what happens, and notes it for the last words of a program that a signal ends.
pub(crate) fn watch(output: Output) -> Watch {
    let (done, waiting) = (Done::default(), Waiting::new(output));
    Arc::new(move |event| {
        done.take(&event);
        if let Event::Rollout { deployment, state } = &event {
            return waiting.tell(&progress_of(deployment, state));
        }
        let lines = lines_of(&event);
        if lines.is_empty() {
            return;
        }
        waiting.clear();
        if output == Output::Human {
            lines.iter().for_each(render::note);
        }
    })
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
            Restart::Done => vec![format!("  {pod} started anew: it waited for its image")],
            Restart::NotAllowed => vec![
                format!(
                    "  {pod} waits for its image with the pull secrets that it was made with, and this user may not delete it"
                ),
                format!(
                    "hint: have it deleted, and it is made anew: `kubectl --namespace {} delete pod {}`",
                    pod.namespace.as_deref().unwrap_or_default(),
                    pod.name
                ),
            ],
        },
        Event::RollingBack(version) => vec![format!("  putting version {version} back")],
        Event::Push(_) | Event::Pushed | Event::Rollout { .. } => Vec::new(),
    }
}

/// An archive's error as the end of a command.
pub(crate) fn open_failure(path: &Path, error: archive::OpenError) -> Failure {
    let failure = if error.is_refusal() {
        Failure::no(error)
    } else {
        Failure::unknown(error)
    };
    failure
        .context(format!("cannot read `{}`", path.display()))
        .hint("`solution validate` says what is wrong with it, and what to do")
}

/// An error of the signatures beside an archive as the end of a command.
pub(crate) fn detached_failure(archive: &Path, error: archive::OpenError) -> Failure {
    let path = archive::detached_path(archive);
    let context = format!("cannot use the signatures in `{}`", path.display());
    if error.is_refusal() {
        Failure::no(error).context(context).hint(
            "remove the file, or get the one that belongs to this archive; `solution sign --detached` writes it",
        )
    } else {
        Failure::unknown(error).context(context)
    }
}

/// A packager's error as the end of a command.
pub(crate) fn pack_failure(error: PackError) -> Failure {
    let hint = match &error {
        PackError::Write(WriteError::Exists(_)) => {
            Some("choose another name with `-o`, or replace it with `--force`")
        }
        PackError::Write(WriteError::NotAFile(_)) => Some("choose another name with `-o`"),
        error => error.hint(),
    };
    let failure = if error.is_refusal() {
        Failure::no(error)
    } else {
        Failure::unknown(error)
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What is wrong with a release, as the end of a command.
pub(crate) fn from_failure(error: release::ReleaseError) -> Failure {
    if error.is_refusal() {
        Failure::no(error)
    } else {
        Failure::unknown(error)
    }
}

/// An importer's error as the end of a command.
pub(crate) fn import_failure(error: importer::Error) -> Failure {
    use importer::Error;
    match error {
        Error::Refused(obstacle) => {
            Failure::no(anyhow::anyhow!(obstacle.message)).hint(obstacle.fix)
        }
        Error::Push(failure) => push_failure(&failure),
        Error::Registry(error) => registry_failure(error),
        Error::Cluster(held @ deployer::Error::LeaseHeld { .. }) => held_failure(&held),
        other => {
            let rollout = rollout(&other).map(|rollout| (rollout.hint(), rollout.log.clone()));
            let failure = if other.is_temporary() {
                Failure::unknown(other)
            } else {
                Failure::no(other)
            };
            match rollout {
                Some((hint, Some(log))) => {
                    failure.hint(hint).quote("the container's last words", log)
                }
                Some((hint, None)) => failure.hint(hint),
                None => failure,
            }
        }
    }
}

/// Somebody else is at work.
fn held_failure(held: &deployer::Error) -> Failure {
    let failure = Failure::unknown(anyhow::anyhow!(in_words(held)));
    match held {
        deployer::Error::LeaseHeld { expires_in, .. } => failure.hint(format!(
            "wait for them with `--wait`; if they are gone without a word, the cluster is free in {} s",
            expires_in.as_secs() + 1
        )),
        _ => failure,
    }
}

/// The rollout that did not come, if that is what went wrong.
fn rollout(error: &importer::Error) -> Option<&deployer::RolloutFailure> {
    let cluster = match error {
        importer::Error::Cluster(error) => error,
        importer::Error::RolledBack { source, .. } => source.as_ref(),
        _ => return None,
    };
    match cluster {
        deployer::Error::Rollout(rollout) => Some(rollout),
        _ => None,
    }
}

/// A registry's error: refused credentials or certificates are an answer, an unreachable host is not.
pub(crate) fn registry_failure(error: registry::Error) -> Failure {
    let hint = error.hint();
    let unanswered = error.is_temporary() || matches!(error, registry::Error::Read { .. });
    let failure = if unanswered {
        Failure::unknown(error)
    } else {
        Failure::no(error)
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn push_failure(failure: &importer::PushFailure) -> Failure {
    let damaged = failure
        .errors
        .iter()
        .any(|error| matches!(**error, registry::Error::Damaged { .. }));
    let message = anyhow::anyhow!(
        "{} not in place, so the cluster was not touched: {}",
        render::count(failure.images.len(), "image"),
        failure.images.join(", ")
    );
    let because = |ended: Failure| {
        let reasons = failure.errors.iter().map(|error| chain(error.as_ref()));
        reasons.fold(ended, Failure::because)
    };
    if damaged {
        return because(Failure::no(message)).hint(DAMAGED);
    }
    if failure.errors.iter().any(|error| !error.is_temporary()) {
        let mut hints: Vec<&str> = Vec::new();
        for hint in failure.errors.iter().filter_map(|error| error.hint()) {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        return hints
            .into_iter()
            .fold(because(Failure::no(message)), Failure::hint);
    }
    // Trying again helps only after somebody has looked at what is wrong there.
    let look = |error: &registry::Error| {
        error.is_storing() || matches!(error, registry::Error::TooSlow { .. })
    };
    let first = failure.errors.iter().find(|error| look(error));
    if let Some(hint) = first.and_then(|error| error.hint()) {
        return because(Failure::unknown(message)).hint(hint);
    }
    let sent = render::bytes(failure.uploaded.bytes);
    because(Failure::unknown(message)).hint(format!(
        "run the same command again: it sends only what is missing ({sent} were sent and count)"
    ))
}

/// What damage means, in the words of the format.
pub(crate) const DAMAGED: &str = "this is not what was signed: damaged or altered. Copy the archive again from the source; if it fails again, treat it as tampering";

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// What a cluster says of itself.
pub(crate) fn status(arguments: &ClusterArguments) -> Result<Status, Failure> {
    block_on(async {
        let cluster = cluster(arguments).await?;
        importer::status(&cluster).await.map_err(import_failure)
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
            watch: &watch,
            deadline: GONE,
            run,
        };
        act(&change).await.map_err(import_failure)
    })
}

/// Runs an undo on the cluster, and shows what it removed and what stays.
pub(crate) fn undo(
    arguments: (&ClusterArguments, &WaitArguments),
    run: Run,
    output: Output,
    what: &str,
    undo: impl AsyncFnOnce(&Change<'_>) -> Result<Undone, importer::Error>,
) -> Result<Outcome, Failure> {
    let undone = change(arguments, run, output, undo)?;
    render::result(output, &undone, |undone| {
        if run == Run::Dry {
            for object in &undone.removed {
                render::line(format!("{object} would be removed"));
            }
        } else {
            let removed = render::count(undone.removed.len(), "object");
            render::line(format!("{what}: {removed} removed"));
        }
        for note in &undone.notes {
            render::line(format!("note: {note}"));
        }
        render::dry(run);
    });
    Ok(Outcome::Yes)
}
