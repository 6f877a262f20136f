//! The environment of the program: variables, directories, the clock, and the user who runs it. No other module reads
//! them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::num::NonZeroUsize;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use registry::Proxies;
use schemas::StatementTime;
use zeroize::Zeroizing;

use crate::holder::{self, Holder};

/// Returns the bytes of a variable that is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the CLI reads the environment, here and nowhere else"
)]
fn raw(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns all variables, for a program that the user has configured.
pub(crate) fn variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Returns a variable that is set, not empty, and text.
pub(crate) fn variable(name: &str) -> Option<String> {
    raw(name)?.into_string().ok()
}

/// Returns true if the program runs in a pod that can reach the API server. kubelet sets the variable and mounts the
/// authority. A console that acts with the tokens of its users has no token of its own there.
pub(crate) fn is_pod() -> bool {
    let authority = Path::new("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
    variable("KUBERNETES_SERVICE_HOST").is_some() && authority.exists()
}

/// Returns the bytes of a secret variable, which are erased from memory after use.
pub(crate) fn secret(name: &str) -> Option<Zeroizing<Vec<u8>>> {
    raw(name).map(OsString::into_vec).map(Zeroizing::new)
}

/// Returns a path from a variable.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    raw(name).map(PathBuf::from)
}

/// Returns the user's home directory from `HOME`, else from the user database. A relative `HOME` is ignored, because it
/// would depend on the working directory.
pub(crate) fn home() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    absolute("HOME").or_else(|| user_home(user))
}

fn absolute(name: &str) -> Option<PathBuf> {
    path(name).filter(|path| path.is_absolute())
}

/// Returns a directory of the XDG base directory specification: from the variable, else below the home directory.
fn base(name: &str, below_home: &str) -> Option<PathBuf> {
    absolute(name).or_else(|| Some(home()?.join(below_home)))
}

/// Returns the first executable file of this name in the directories of `PATH`.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    const EXECUTABLE: u32 = 0o111;
    let directories = raw("PATH")?;
    let mut files = std::env::split_paths(&directories).map(|directory| directory.join(name));
    files.find(|file| {
        let found = file.metadata().ok();
        found.is_some_and(|metadata| {
            metadata.is_file() && metadata.permissions().mode() & EXECUTABLE != 0
        })
    })
}

/// Returns the program that a flag names, else the one that a variable names, else the first of this name on the path.
pub(crate) fn chosen(flag: Option<&Path>, variable: &str, name: &str) -> Option<PathBuf> {
    let flag = flag.map(Path::to_owned);
    flag.or_else(|| path(variable)).or_else(|| program(name))
}

/// Returns the arguments of this program.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}

/// Returns the path of this program, for other programs that start it.
pub(crate) fn own_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"))
}

/// Returns the possible locations of a file that packages install, such as `share/doc`: below the prefix of an
/// installed program, and next to one that was unpacked or built.
pub(crate) fn installed(program: &Path, name: &str) -> Vec<PathBuf> {
    let directories = program.ancestors().skip(1).take(2);
    let mut places: Vec<PathBuf> = directories.map(|directory| directory.join(name)).collect();
    places.reverse();
    places
}

/// Returns the directory of the cache.
pub(crate) fn cache() -> Option<PathBuf> {
    base("XDG_CACHE_HOME", ".cache").map(|base| base.join("solution"))
}

/// Returns the directory that remembers running uploads.
pub(crate) fn uploads() -> Option<PathBuf> {
    base("XDG_STATE_HOME", ".local/state").map(|base| base.join("solution/uploads"))
}

/// Returns the directory of the user's configuration.
pub(crate) fn config() -> Option<PathBuf> {
    base("XDG_CONFIG_HOME", ".config").map(|base| base.join("solution"))
}

/// Returns the directory for temporary files.
pub(crate) fn scratch() -> PathBuf {
    std::env::temp_dir()
}

/// Returns the current time.
#[expect(
    clippy::disallowed_methods,
    reason = "the CLI reads the clock, here and nowhere else"
)]
pub(crate) fn clock() -> SystemTime {
    SystemTime::now()
}

/// Returns the current time in the form of records.
pub(crate) fn now() -> anyhow::Result<StatementTime> {
    let since = clock().duration_since(SystemTime::UNIX_EPOCH)?;
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    StatementTime::from_unix(seconds).context("the clock of this machine is wrong")
}

/// Returns the time of an archive: `SOURCE_DATE_EPOCH`, else 1980, so that the same inputs result in the same bytes.
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

/// Returns the number of processors to use.
pub(crate) fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Returns the login files of docker and podman, in podman's order.
pub(crate) fn logins() -> Vec<PathBuf> {
    named_logins().chain(usual_logins()).collect()
}

/// Returns the file for a new login, which the reader of [`logins()`] searches before all other files: the one that a
/// variable names, else the first that exists, else podman's file for this session, or docker's without a session.
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
    // podman uses this directory without a session, such as under `sudo`.
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

/// Returns the certificate directories of podman and docker, in podman's order.
pub(crate) fn certificates() -> Vec<PathBuf> {
    let own = below(home(), ".config/containers/certs.d");
    let all = ["/etc/containers/certs.d", "/etc/docker/certs.d"];
    own.into_iter().chain(all.map(PathBuf::from)).collect()
}

/// Returns the proxies, from the variables that curl uses. Lower case has precedence. `HTTP_PROXY` in upper case is
/// ignored, because in a CGI program it comes from a request header.
pub(crate) fn proxies() -> Proxies {
    let either = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_uppercase()));
    let all = either("all_proxy");
    Proxies {
        https: either("https_proxy").or_else(|| all.clone()),
        http: variable("http_proxy").or(all),
        except: either("no_proxy").unwrap_or_default(),
    }
}

/// The login to the APIs of AWS and their endpoint, from the variables of the AWS SDKs.
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

/// Returns the socket of the container engine: the named one, else the first that exists of Docker, of this user's
/// podman and of root's podman. `None` if the named one is not a local socket.
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

/// Returns the person who runs the program, as `user@host`.
pub(crate) fn person() -> String {
    format!("{}@{}", user(), holder::host())
}

/// Returns the identity of a writer: the user as the cluster knows them, else as this machine does, with host and
/// process, so that another writer can identify it.
pub(crate) fn writer(known_as: Option<&str>) -> Holder {
    Holder::own(&known_as.map_or_else(user, str::to_owned), clock())
}

fn user() -> String {
    let name = variable("USER").or_else(|| variable("LOGNAME"));
    name.unwrap_or_else(|| "unknown".to_owned())
}

const USER_DATABASE: &str = "/etc/passwd";
/// The size limit of the user database. A hundred thousand users have about seven million bytes.
const USER_DATABASE_SIZE: u64 = 16 * 1024 * 1024;

/// Returns the home directory of a user from the database.
fn user_home(user: u32) -> Option<PathBuf> {
    read_user_database(Path::new(USER_DATABASE))
        .ok()
        .and_then(|text| find_home(&text, user))
}

fn read_user_database(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = File::open(path)?
        .take(USER_DATABASE_SIZE + 1)
        .read_to_end(&mut text)?;
    if read as u64 > USER_DATABASE_SIZE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// The first line of a user counts, as in the C library.
fn find_home(text: &[u8], user: u32) -> Option<PathBuf> {
    let mut lines = text.split(|byte| *byte == b'\n').filter_map(user_fields);
    let [_, _, _, _, _, home, _] = lines.find(|fields| is_user(fields, user))?;
    let home = Path::new(OsStr::from_bytes(home));
    home.is_absolute().then(|| home.to_owned())
}

fn user_fields(line: &[u8]) -> Option<[&[u8]; 7]> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
    fields.try_into().ok()
}

fn is_user(fields: &[&[u8]; 7], user: u32) -> bool {
    let number = std::str::from_utf8(fields[2]).ok();
    number.and_then(|number| number.parse().ok()) == Some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_user_names_his_home() {
        let text = b"root:x:0:0:root:/root:/bin/bash
broken:x:7
+::::::
svc:x:998:998:S\xe9rvice:/srv/h\xf4me:/usr/sbin/nologin
other:x:998:998::/elsewhere:
relative:x:5:5::home:/bin/sh
none:x:6:6:::/bin/sh
last:x:1000:1000::/home/last:/bin/sh";
        let home = |user| find_home(text, user);
        assert_eq!(home(0), Some(PathBuf::from("/root")));
        let bytes = OsStr::from_bytes(b"/srv/h\xf4me");
        assert_eq!(home(998), Some(PathBuf::from(bytes)));
        assert_eq!(home(1000), Some(PathBuf::from("/home/last")));
        for user in [5, 6, 7, 1, 1001] {
            assert_eq!(home(user), None, "{user}");
        }
    }

    #[test]
    fn a_database_without_end_names_nobody() {
        assert!(read_user_database(Path::new("/dev/zero")).is_err());
    }
}
