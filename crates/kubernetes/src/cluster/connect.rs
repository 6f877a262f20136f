//! Connections from kubeconfig files or the service account of a pod. The entry point is [`Cluster::connect`].

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime};

use http::Method;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use progress::Listener;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tower::util::MapRequestLayer;

use super::certificate::ClientCertificate;
use super::identity::Identity;
use super::request::{Call, credentials_problem};
use super::{Cluster, ServerVersion};
use crate::error::{Error, Source, bounded, cut};
use crate::limits;

/// The source of the address and the credentials.
#[derive(Clone)]
pub enum Account {
    /// Kubeconfig files, merged like kubectl merges `KUBECONFIG`: the first file that sets a value wins, and missing
    /// files are skipped.
    Kubeconfig {
        /// The files, in order of precedence.
        paths: Vec<PathBuf>,
        /// The context; `None` selects the current context of the files.
        context: Option<String>,
    },
    /// The text of a kubeconfig that is stored in another cluster, such as a Secret of Cluster API. It must be
    /// self-contained: its author must not be able to run programs or read files on this machine.
    Held(String),
    /// The service account of the pod that this program runs in.
    InCluster,
}

/// Omits the text of a kubeconfig from a cluster, which contains credentials.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kubeconfig { paths, context } => {
                write!(f, "Kubeconfig({paths:?}, {context:?})")
            }
            Self::Held(_) => f.write_str("Held"),
            Self::InCluster => f.write_str("InCluster"),
        }
    }
}

/// The settings of a connection. A proxy is used only if the kubeconfig names one for the cluster.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// The address and credentials.
    pub account: Account,
    /// The user whose permissions the requests have.
    pub identity: Identity,
    /// The time limit of one request. Waits have their own deadlines.
    pub timeout: Duration,
    /// The listener that is notified of each request.
    pub listener: Listener,
    /// The clock of this machine, used to explain an expired client certificate.
    pub clock: fn() -> SystemTime,
}

impl Cluster {
    /// Connects and requests the version, so that a wrong address, certificate or credential is reported at once. Must
    /// be called in a tokio runtime. If the future is dropped, a credential plugin may still be running.
    pub async fn connect(connect: &ConnectOptions) -> Result<Self, Error> {
        install_crypto();
        let (mut config, context) = match &connect.account {
            Account::Kubeconfig { paths, context } => from_files(paths, context.as_deref()).await?,
            Account::Held(text) => from_text(text).await?,
            Account::InCluster => (in_cluster()?, None),
        };
        let kubeconfig = match &connect.account {
            Account::Kubeconfig { paths, .. } => paths.clone(),
            Account::Held(_) | Account::InCluster => Vec::new(),
        };
        connect.identity.apply_to(&mut config.auth_info);
        let certificate = ClientCertificate::read(&config.auth_info);
        certificate
            .as_ref()
            .map_or(Ok(()), ClientCertificate::check)?;
        // Every request of this crate has the same retries and time limits, which are not kube's.
        config.default_retry = false;
        config.connect_timeout = Some(connect.timeout);
        let server = config
            .cluster_url
            .to_string()
            .trim_end_matches('/')
            .to_owned();
        let client = client(
            config,
            connect.identity.clone(),
            &server,
            limits::CREDENTIALS,
        )
        .await?;
        let listener = connect.listener.clone();
        let cluster = Self::with_client(client, connect.timeout, listener, context, server).await;
        let cluster = cluster.map_err(|error| match &certificate {
            Some(certificate) => certificate.explain(error, (connect.clock)()),
            None => error,
        })?;
        Ok(Self {
            kubeconfig,
            ..cluster
        })
    }

    /// Returns the name under which the server authenticated the user, and caches it. Returns `None` if the server is
    /// older than Kubernetes 1.28, refuses the request, or does not answer.
    pub async fn username(&self) -> Option<String> {
        let asked = async || self.ask_username().await.ok_or(());
        self.user.get_or_try_init(asked).await.ok().cloned()
    }

    async fn ask_username(&self) -> Option<String> {
        let (doing, group) = (
            "get the user name from the API server",
            "authentication.k8s.io/v1",
        );
        let path = format!("/apis/{group}/selfsubjectreviews");
        let review = json!({ "apiVersion": group, "kind": "SelfSubjectReview" });
        let call = Call::json(Method::POST, path, &review, doing).ok()?;
        let answer: Value = self.call(&call).await.ok()?.parse(doing).ok()?;
        let name = answer.pointer("/status/userInfo/username")?.as_str()?;
        let name = cut(name, limits::MAX_SHOWN_VALUE);
        (!name.is_empty()).then_some(name)
    }

    /// Connects with an existing client.
    pub(crate) async fn with_client(
        client: kube::Client,
        timeout: Duration,
        listener: Listener,
        context: Option<String>,
        server: String,
    ) -> Result<Self, Error> {
        let unknown = ServerVersion {
            major: 0,
            minor: 0,
            text: String::new(),
        };
        let mut cluster = Self {
            client,
            kinds: Arc::default(),
            held: Arc::default(),
            answered: Arc::default(),
            away: Arc::default(),
            timeout,
            kubeconfig: Vec::new(),
            context,
            server,
            version: unknown,
            listener,
            user: Arc::default(),
            seen: None,
        };
        cluster.version = cluster.ask_version().await?;
        Ok(cluster)
    }

    async fn ask_version(&self) -> Result<ServerVersion, Error> {
        let doing = "get the server's version";
        let answer: Info = self.read_json("/version", doing).await?;
        match (number(&answer.major), number(&answer.minor)) {
            (Some(major), Some(minor)) => Ok(ServerVersion {
                major,
                minor,
                text: bounded(&answer.git_version),
            }),
            _ => Err(Error::Answer {
                doing: doing.to_owned(),
                problem: bounded(&format!("not a version: {}.{}", answer.major, answer.minor)),
            }),
        }
    }
}

/// Builds a client. A separate thread waits for the kubeconfig's credential plugin.
async fn client(
    config: kube::Config,
    identity: Identity,
    server: &str,
    longest: Duration,
) -> Result<kube::Client, Error> {
    let authorize = MapRequestLayer::new(move |mut request| {
        identity.authorize(&mut request);
        request
    });
    let build = move || {
        let builder = ClientBuilder::try_from(config)?;
        Ok(builder.with_layer(&authorize).build())
    };
    match timeout(longest, spawn_blocking(build)).await {
        Ok(Ok(client)) => client.map_err(|source| setup_error(server, source)),
        Ok(Err(error)) => Err(Error::Setup(server.to_owned(), Source::from(error))),
        Err(_) => Err(Error::Timeout {
            doing: format!("get credentials for {server}"),
            after: longest,
        }),
    }
}

/// Parses a number of the version. Some distributions append `+`, as in `28+`.
fn number(text: &str) -> Option<u32> {
    text.trim_end_matches('+').parse().ok()
}

/// Installs the crypto provider. If the features of other crates enable a second provider, rustls selects none by
/// itself.
pub(super) fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that the process has already installed a provider.
        let _ = tls::provider().install_default();
    });
}

async fn from_files(
    paths: &[PathBuf],
    context: Option<&str>,
) -> Result<(kube::Config, Option<String>), Error> {
    from_kubeconfig(merge(paths)?, context).await
}

/// Reads a kubeconfig that is not trusted.
async fn from_text(text: &str) -> Result<(kube::Config, Option<String>), Error> {
    let read = Kubeconfig::from_yaml(text).map_err(kubeconfig_error)?;
    match reaches_out(&read) {
        Some(what) => Err(kubeconfig(&format!("from a Secret must not name {what}"))),
        None => from_kubeconfig(read, None).await,
    }
}

/// Returns the first setting of a kubeconfig that would run a program, read a file, or weaken the connection.
fn reaches_out(config: &Kubeconfig) -> Option<&'static str> {
    let users = config
        .auth_infos
        .iter()
        .filter_map(|user| user.auth_info.as_ref());
    let of_users = users.filter_map(|user| {
        let is_file = [&user.client_certificate, &user.client_key, &user.token_file];
        if user.exec.is_some() || user.auth_provider.is_some() {
            Some("a program to run")
        } else {
            is_file
                .iter()
                .any(|path| path.is_some())
                .then_some("a file to read")
        }
    });
    let clusters = config
        .clusters
        .iter()
        .filter_map(|cluster| cluster.cluster.as_ref());
    let of_clusters = clusters.filter_map(|cluster| {
        let is_plain = cluster
            .server
            .as_deref()
            .is_some_and(|server| !server.starts_with("https://"));
        match (&cluster.certificate_authority, &cluster.proxy_url) {
            (Some(_), _) => Some("a file to read"),
            (_, Some(_)) => Some("a proxy"),
            _ if cluster.insecure_skip_tls_verify == Some(true) || is_plain => {
                Some("a server without a verified certificate")
            }
            _ => None,
        }
    });
    of_users.chain(of_clusters).next()
}

async fn from_kubeconfig(
    merged: Kubeconfig,
    context: Option<&str>,
) -> Result<(kube::Config, Option<String>), Error> {
    let context = context
        .map(str::to_owned)
        .or_else(|| merged.current_context.clone());
    let proxy = proxy_of(&merged, context.as_deref());
    let options = KubeConfigOptions {
        context: context.clone(),
        ..KubeConfigOptions::default()
    };
    let mut config = kube::Config::from_custom_kubeconfig(merged, &options)
        .await
        .map_err(kubeconfig_error)?;
    // Without this line, the environment variables of the process would set the proxy.
    config.proxy_url = proxy
        .map(|url| url.parse())
        .transpose()
        .map_err(|_| kubeconfig("has a proxy-url that is not a URL"))?;
    Ok((config, context))
}

/// Merges the existing files.
fn merge(paths: &[PathBuf]) -> Result<Kubeconfig, Error> {
    let mut merged: Option<Kubeconfig> = None;
    for path in paths {
        let next = match Kubeconfig::read_from(path) {
            Ok(next) => next,
            Err(KubeconfigError::ReadConfig(source, _))
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                continue;
            }
            Err(KubeconfigError::ReadConfig(source, path)) => {
                return Err(Error::ReadKubeconfig(path, source));
            }
            Err(KubeconfigError::Parse(error)) => {
                let (path, why) = (
                    path.display(),
                    unparsed(error.location().map(|at| (at.line(), at.column()))),
                );
                return Err(kubeconfig(&format!("{path} {why}")));
            }
            Err(other) => return Err(kubeconfig_error(other)),
        };
        merged = Some(match merged {
            None => next,
            Some(first) => first.merge(next).map_err(kubeconfig_error)?,
        });
    }
    merged.ok_or_else(|| Error::NoKubeconfig(paths.to_vec()))
}

fn proxy_of(config: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let context = config
        .contexts
        .iter()
        .find(|named| Some(named.name.as_str()) == context)?;
    let name = &context.context.as_ref()?.cluster;
    let cluster = config.clusters.iter().find(|named| &named.name == name)?;
    cluster
        .cluster
        .as_ref()?
        .proxy_url
        .clone()
        .filter(|url| !url.is_empty())
}

fn in_cluster() -> Result<kube::Config, Error> {
    // kube uses the address, like Go's client: a pod in the node's network may have no cluster DNS.
    kube::Config::incluster_env()
        .map_err(|error| kubeconfig(&format!("of the pod's service account is missing: {error}")))
}

fn kubeconfig(what: &str) -> Error {
    Error::Kubeconfig(bounded(what))
}

/// Returns the message for a file that cannot be parsed at this line and column. The parser's message is omitted,
/// because it may quote a credential.
fn unparsed(place: Option<(u64, u64)>) -> String {
    let place = place.map(|(line, column)| format!(" at line {line}, column {column}"));
    format!("cannot be parsed{}", place.unwrap_or_default())
}

/// Converts an error of the library. Its message is used only if it cannot quote the file's content.
fn kubeconfig_error(error: KubeconfigError) -> Error {
    match error {
        KubeconfigError::CurrentContextNotSet => kubeconfig("has no current context"),
        KubeconfigError::LoadContext(name) => kubeconfig(&format!("has no context {name}")),
        KubeconfigError::LoadClusterOfContext(name) => {
            kubeconfig(&format!("has no cluster {name}"))
        }
        KubeconfigError::Parse(error) => kubeconfig(&unparsed(
            error.location().map(|at| (at.line(), at.column())),
        )),
        other => kubeconfig(&format!("cannot be used: {other}")),
    }
}

fn setup_error(server: &str, error: kube::Error) -> Error {
    let server = server.to_owned();
    match error {
        kube::Error::Auth(error) => Error::Credentials {
            server,
            what: credentials_problem(&error),
        },
        // The library's message already includes the messages of its causes.
        other => Error::Setup(server, Source::from(bounded(&other.to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;
    use crate::mock::{Answer, cluster};

    const FIRST: &str = "
apiVersion: v1
kind: Config
contexts: [{name: one, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: 'https://first.test:6443', proxy-url: 'http://proxy.test:3128'}}]
";
    const SECOND: &str = "
apiVersion: v1
kind: Config
current-context: two
contexts: [{name: one, context: {cluster: there}}, {name: two, context: {cluster: there, user: me}}]
clusters: [{name: here, cluster: {server: 'https://lost.test'}}, {name: there, cluster: {server: 'https://second.test'}}]
users: [{name: me, user: {token: very-secret}}]
";

    fn files(texts: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = vec![dir.path().join("missing")];
        for (i, text) in texts.iter().enumerate() {
            let path = dir.path().join(i.to_string());
            fs::write(&path, text).unwrap();
            paths.push(path);
        }
        (dir, paths)
    }

    #[tokio::test]
    async fn the_first_file_that_sets_a_value_wins() {
        let (_dir, paths) = files(&[FIRST, SECOND]);
        let (config, context) = from_files(&paths, None).await.unwrap();
        assert_eq!(context.as_deref(), Some("two"));
        assert_eq!(config.cluster_url, "https://second.test/");
        assert_eq!(config.proxy_url, None);
        let (config, context) = from_files(&paths, Some("one")).await.unwrap();
        assert_eq!(context.as_deref(), Some("one"));
        assert_eq!(config.cluster_url, "https://first.test:6443/");
        assert_eq!(config.proxy_url.unwrap(), "http://proxy.test:3128/");
    }

    #[tokio::test]
    async fn a_kubeconfig_that_a_cluster_keeps_has_nothing_run_or_read_here() {
        let held = |user: &str, cluster: &str| {
            format!(
                "current-context: a
contexts: [{{name: a, context: {{cluster: a, user: a}}}}]
clusters: [{{name: a, cluster: {{server: 'https://held.test:6443', {cluster}}}}}]
users: [{{name: a, user: {{{user}}}}}]
"
            )
        };
        let (config, context) = from_text(&held("token: abc", "")).await.unwrap();
        assert_eq!(config.cluster_url, "https://held.test:6443/");
        assert_eq!(context.as_deref(), Some("a"));
        let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, interactiveMode: Never}";
        for (user, cluster, what) in [
            (exec, "", "a program to run"),
            (
                "auth-provider: {name: oidc, config: {}}",
                "",
                "a program to run",
            ),
            ("tokenFile: /etc/passwd", "", "a file to read"),
            ("client-key: /root/key", "", "a file to read"),
            ("client-certificate: /root/crt", "", "a file to read"),
            ("", "certificate-authority: /root/ca", "a file to read"),
            ("", "proxy-url: 'http://proxy.test'", "a proxy"),
            (
                "",
                "insecure-skip-tls-verify: true",
                "a server without a verified certificate",
            ),
        ] {
            let refused = from_text(&held(user, cluster)).await.unwrap_err();
            let expected = format!("kubeconfig from a Secret must not name {what}");
            assert_eq!(refused.to_string(), expected, "{user} {cluster}");
        }
    }

    #[tokio::test]
    async fn what_is_missing_is_named() {
        let (_dir, paths) = files(&[FIRST]);
        let says = |error: Error| error.to_string();
        assert_eq!(
            says(from_files(&paths, None).await.unwrap_err()),
            "kubeconfig has no current context"
        );
        assert_eq!(
            says(from_files(&paths, Some("x")).await.unwrap_err()),
            "kubeconfig has no context x"
        );
        assert!(matches!(
            from_files(&paths[..1], None).await,
            Err(Error::NoKubeconfig(_))
        ));
    }

    #[tokio::test]
    async fn a_broken_file_is_not_quoted() {
        let (_dir, paths) = files(&["users: [{name: me, user: {token: very-secret"]);
        let error = from_files(&paths, None).await.unwrap_err();
        let place = "kubeconfig PATH cannot be parsed at line 1, column 26";
        let said = error
            .to_string()
            .replace(&paths[1].display().to_string(), "PATH");
        assert_eq!(said, place);
        assert!(!format!("{error:?}").contains("very-secret"));
    }

    #[tokio::test]
    async fn a_plugin_that_takes_long_is_not_waited_for() {
        let plugin = "
users: [{name: me, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ['5'], interactiveMode: Never}}}]
current-context: one
";
        let (_dir, paths) = files(&[plugin, FIRST]);
        let began = Instant::now();
        let (config, _) = from_files(&paths, None).await.unwrap();
        let identity = Identity::Account;
        let refused = client(
            config,
            identity,
            "https://first.test",
            Duration::from_millis(50),
        )
        .await;
        assert!(matches!(refused, Err(Error::Timeout { .. })));
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
    }

    #[tokio::test]
    async fn the_server_says_who_we_are() {
        for (status, answer, name) in [
            (
                201,
                json!({"status": {"userInfo": {"username": "alice"}}}),
                Some("alice"),
            ),
            (201, json!({"status": {"userInfo": {"username": ""}}}), None),
            (404, json!({}), None),
            (403, json!({}), None),
        ] {
            let (cluster, seen) = cluster(move |_| Answer::json(status, &answer)).await;
            assert_eq!(cluster.username().await.as_deref(), name, "{status}");
            cluster.clone().username().await;
            let times = if name.is_some() { 1 } else { 2 };
            let mut seen = seen.lock().unwrap();
            assert_eq!(
                seen.len(),
                times,
                "a name that is known is not asked for again"
            );
            let asked = seen.remove(0);
            assert_eq!(
                asked.path,
                "/apis/authentication.k8s.io/v1/selfsubjectreviews"
            );
        }
    }

    #[test]
    fn versions_of_all_distributions_are_numbers() {
        assert_eq!(number("36"), Some(36));
        assert_eq!(number("28+"), Some(28));
        assert_eq!(number("x"), None);
    }
}
