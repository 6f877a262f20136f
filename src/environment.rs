//! What the program takes from its surroundings: variables, the clock, and who runs it.

mod passwd;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use registry::Proxies;
use schemas::StatementTime;
use zeroize::Zeroizing;

use crate::holder::{self, Holder};

/// The bytes of a variable that is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the CLI reads the environment, here and nowhere else"
)]
fn raw(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// All variables, for a program that is the user's own.
pub(crate) fn variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// A variable that is set, not empty, and text.
pub(crate) fn variable(name: &str) -> Option<String> {
    raw(name)?.into_string().ok()
}

/// Whether this runs in a pod that has an account, by what a kubelet gives to each.
pub(crate) fn is_pod() -> bool {
    let token = Path::new("/var/run/secrets/kubernetes.io/serviceaccount/token");
    variable("KUBERNETES_SERVICE_HOST").is_some() && token.exists()
}

/// A variable whose value nobody else should see, as its bytes.
pub(crate) fn secret(name: &str) -> Option<Zeroizing<Vec<u8>>> {
    raw(name).map(OsString::into_vec).map(Zeroizing::new)
}

/// A variable that names a file or directory.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    raw(name).map(PathBuf::from)
}

/// The user's home directory: `HOME`, else what the user database says. A `HOME` that is not absolute would be another
/// directory wherever the program is started, and so is none.
pub(crate) fn home() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    absolute("HOME").or_else(|| passwd::home(user))
}

fn absolute(name: &str) -> Option<PathBuf> {
    path(name).filter(|path| path.is_absolute())
}

/// A directory of the XDG base directory specification: the one that the variable names, else the one below the home
/// directory.
fn base(name: &str, below_home: &str) -> Option<PathBuf> {
    absolute(name).or_else(|| Some(home()?.join(below_home)))
}

/// The first file of this name that can be run, in the directories of `PATH`.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    const EXECUTABLE: u32 = 0o111;
    let directories = raw("PATH")?;
    let mut files = std::env::split_paths(&directories).map(|it| it.join(name));
    files.find(|file| {
        let found = file.metadata().ok();
        found.is_some_and(|it| it.is_file() && it.permissions().mode() & EXECUTABLE != 0)
    })
}

/// The program that a flag names, else the one that a variable names, else the first of this name on the path.
pub(crate) fn chosen(flag: Option<&Path>, variable: &str, name: &str) -> Option<PathBuf> {
    let flag = flag.map(Path::to_owned);
    flag.or_else(|| path(variable)).or_else(|| program(name))
}

/// The arguments that this program was started with.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}

/// This program, to be started by another one.
pub(crate) fn own_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"))
}

/// The places of a file that packages install, such as `share/doc`: below the prefix of an installed program, and next
/// to one that was unpacked or built.
pub(crate) fn installed(program: &Path, name: &str) -> Vec<PathBuf> {
    let directories = program.ancestors().skip(1).take(2);
    let mut places: Vec<PathBuf> = directories.map(|directory| directory.join(name)).collect();
    places.reverse();
    places
}

/// Where contents are kept that are expensive to get again.
pub(crate) fn cache() -> Option<PathBuf> {
    base("XDG_CACHE_HOME", ".cache").map(|base| base.join("solution"))
}

/// Where uploads are remembered that are under way.
pub(crate) fn uploads() -> Option<PathBuf> {
    base("XDG_STATE_HOME", ".local/state").map(|base| base.join("solution/uploads"))
}

/// Where the user's own choices lie.
pub(crate) fn config() -> Option<PathBuf> {
    base("XDG_CONFIG_HOME", ".config").map(|base| base.join("solution"))
}

/// Where files may lie that are gone when the program ends.
pub(crate) fn scratch() -> PathBuf {
    std::env::temp_dir()
}

/// The clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the CLI reads the clock, here and nowhere else"
)]
pub(crate) fn clock() -> SystemTime {
    SystemTime::now()
}

/// The present time, as it is recorded.
pub(crate) fn now() -> anyhow::Result<StatementTime> {
    let since = clock().duration_since(SystemTime::UNIX_EPOCH)?;
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    StatementTime::from_unix(seconds).context("the clock of this machine is wrong")
}

/// The time of an archive: `SOURCE_DATE_EPOCH`, else 1980, so that the same inputs give the same bytes.
pub(crate) fn source_date() -> Result<StatementTime, String> {
    let Some(text) = variable("SOURCE_DATE_EPOCH") else {
        return Ok(StatementTime::DEFAULT);
    };
    let time = text.parse().ok();
    let time = time.and_then(|seconds| StatementTime::from_unix(seconds).ok());
    time.ok_or_else(|| {
        format!(
            "SOURCE_DATE_EPOCH is `{text}`: expected seconds since 1970, in the years 1980 to 2099"
        )
    })
}

/// The processors that work is spread over.
pub(crate) fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Where docker and podman keep logins, in podman's order.
pub(crate) fn logins() -> Vec<PathBuf> {
    named_logins().chain(usual_logins()).collect()
}

/// The file that a new login goes to, where the reader of [`logins()`] finds it before any other: the one that a variable
/// names, else the first that is there, else podman's of this session, or docker's if there is no session.
pub(crate) fn login_file() -> Option<PathBuf> {
    let usual: Vec<PathBuf> = usual_logins().collect();
    let there = || usual.iter().find(|path| path.exists()).cloned();
    let new = || match path("XDG_RUNTIME_DIR") {
        Some(_) => usual.first().cloned(),
        None => below(home(), ".docker/config.json"),
    };
    named_logins().next().or_else(there).or_else(new)
}

fn named_logins() -> impl Iterator<Item = PathBuf> {
    let files = [
        path("REGISTRY_AUTH_FILE"),
        below(path("DOCKER_CONFIG"), "config.json"),
    ];
    files.into_iter().flatten()
}

fn usual_logins() -> impl Iterator<Item = PathBuf> {
    // Podman's own place where there is no session, as under `sudo`.
    let user = rustix::process::geteuid().as_raw();
    let without_session = || PathBuf::from(format!("/run/containers/{user}/auth.json"));
    let session = below(path("XDG_RUNTIME_DIR"), "containers/auth.json");
    let files = [
        Some(session.unwrap_or_else(without_session)),
        below(home(), ".config/containers/auth.json"),
        below(home(), ".docker/config.json"),
    ];
    files.into_iter().flatten()
}

fn below(folder: Option<PathBuf>, file: &str) -> Option<PathBuf> {
    folder.map(|folder| folder.join(file))
}

/// Where podman and docker keep certificates for registries, in podman's order.
pub(crate) fn certificates() -> Vec<PathBuf> {
    let own = below(home(), ".config/containers/certs.d");
    let all = ["/etc/containers/certs.d", "/etc/docker/certs.d"];
    own.into_iter().chain(all.map(PathBuf::from)).collect()
}

/// The proxies between here and the internet, in curl's spelling; the lower case counts more. `http_proxy` in upper case
/// can come from a web server's visitor, so that nobody reads it.
pub(crate) fn proxies() -> Proxies {
    let either = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_uppercase()));
    let all = either("all_proxy");
    Proxies {
        https: either("https_proxy").or_else(|| all.clone()),
        http: variable("http_proxy").or(all),
        except: either("no_proxy").unwrap_or_default(),
    }
}

/// The login to the APIs of AWS, and their place, in the spelling of its SDKs.
pub(crate) struct AwsVariables {
    pub(crate) access_key_id: Option<String>,
    pub(crate) secret_access_key: Option<String>,
    pub(crate) session_token: Option<String>,
    pub(crate) region: Option<String>,
    /// The URL of the API of ECR.
    pub(crate) endpoint: Option<String>,
}

pub(crate) fn aws() -> AwsVariables {
    AwsVariables {
        access_key_id: variable("AWS_ACCESS_KEY_ID"),
        secret_access_key: variable("AWS_SECRET_ACCESS_KEY"),
        session_token: variable("AWS_SESSION_TOKEN"),
        region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")),
        endpoint: variable("AWS_ENDPOINT_URL_ECR"),
    }
}

/// The socket of the container engine: the one that is named, else the first that is there, of Docker, of this user's
/// podman, of root's podman. `None` if one is named that is no socket of this machine.
pub(crate) fn engine() -> Option<PathBuf> {
    if let Some(named) = variable("DOCKER_HOST").or_else(|| variable("CONTAINER_HOST")) {
        return named.strip_prefix("unix://").map(PathBuf::from);
    }
    let docker = PathBuf::from("/var/run/docker.sock");
    let own = path("XDG_RUNTIME_DIR").map(|folder| folder.join("podman/podman.sock"));
    let roots = PathBuf::from("/run/podman/podman.sock");
    let mut candidates = [Some(docker.clone()), own, Some(roots)]
        .into_iter()
        .flatten();
    candidates.find(|path| path.exists()).or(Some(docker))
}

/// Who runs the program, and where: `user@host`.
pub(crate) fn person() -> String {
    format!("{}@{}", user(), holder::host())
}

/// Who writes to a cluster: the user as the cluster calls him, or as this machine does where that is not known; host and
/// process, so that another writer can find out.
pub(crate) fn writer(known_as: Option<&str>) -> Holder {
    Holder::own(&known_as.map_or_else(user, str::to_owned), clock())
}

fn user() -> String {
    let name = variable("USER").or_else(|| variable("LOGNAME"));
    name.unwrap_or_else(|| "unknown".to_owned())
}
