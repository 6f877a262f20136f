//! The proxy's server on loopback, and the kubeconfig with which Helm connects to it. [`HelmProxy::open`] starts the server
//! for one run. Requests with the password of this run are answered by [`ProxyHandler`], and all others end the connection.

use std::collections::BTreeSet;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use helm::{ClusterAccess, HelmHome};
use kubernetes::Cluster;
use planner::RevisionEntry;
use schemas::Digest;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) use crate::helm_proxy::forward::RunState;
use crate::helm_proxy::forward::{Answer, ProxyHandler};
use crate::helm_proxy::policy::{Lookups, ProxyPolicy};
use crate::helm_proxy::wire::{self, WireRequest};
use crate::limits;
use crate::model::error::Error;

/// The number of random bytes in the password of a run, as many as in a key.
const PASSWORD: usize = 32;
/// The user name in the kubeconfig for Helm.
const USER: &str = "helm";

/// A proxy that is open until it is dropped.
#[derive(Debug)]
pub(crate) struct HelmProxy {
    /// The directory that contains the kubeconfig.
    home: HelmHome,
    desk: Arc<ProxyHandler>,
    server: JoinHandle<()>,
}

impl Drop for HelmProxy {
    fn drop(&mut self) {
        // All connections end with the task of the server.
        self.server.abort();
    }
}

impl HelmProxy {
    /// Opens a proxy for a run of Helm.
    pub(crate) async fn open(
        cluster: &Cluster,
        passage: ProxyPolicy,
        course: RunState,
    ) -> Result<Self, Error> {
        let mut password = [0; PASSWORD];
        getrandom::fill(&mut password).map_err(|error| Error::Gate(io::Error::other(error)))?;
        // `Digest` serves only as the hexadecimal encoder of the random bytes here.
        let password = Digest::new(password).hex();
        let (home, listener) = async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let address = format!("{USER}:{password}@{}", listener.local_addr()?);
            let home = HelmHome::new()?;
            home.write("kubeconfig", kubeconfig(&address).as_bytes())?;
            Ok::<_, io::Error>((home, listener))
        }
        .await
        .map_err(Error::Gate)?;
        let authorization = BASE64_STANDARD.encode(format!("{USER}:{password}"));
        let desk = ProxyHandler::new(cluster, passage, course);
        let desk = Arc::new(desk);
        let server = serve(
            listener,
            format!("Basic {authorization}"),
            Arc::clone(&desk),
        );
        Ok(Self {
            home,
            desk,
            server: tokio::spawn(server),
        })
    }

    /// Returns the only cluster access that Helm receives.
    pub(crate) fn access(&self) -> ClusterAccess {
        let kubeconfig = self.home.path("kubeconfig").into();
        ClusterAccess {
            environment: vec![("KUBECONFIG".into(), kubeconfig)],
            context: None,
        }
    }

    /// Returns the requests of templates, and the responses that they received.
    pub(crate) fn lookups(&self) -> Lookups {
        self.desk.passage().lookups.clone()
    }

    /// Returns the objects that templates requested and did not receive.
    pub(crate) fn withheld(&self) -> BTreeSet<String> {
        self.desk.passage().withheld.clone()
    }

    /// Returns the stored revisions.
    pub(crate) fn revisions(&self) -> Vec<RevisionEntry> {
        self.desk.passage().revisions.values().cloned().collect()
    }

    /// Returns the refused requests.
    pub(crate) fn refused(&self) -> Vec<String> {
        let refused = self.desk.refused.lock();
        refused.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the kubeconfig for Helm as JSON, which is valid YAML. The credentials are in the address, because the
/// Kubernetes client sends a token over TLS only. Helm never prints the password.
fn kubeconfig(address: &str) -> String {
    let cluster = json!({ "server": format!("http://{address}") });
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "gate",
        "clusters": [{ "name": "gate", "cluster": cluster }],
        "contexts": [{ "name": "gate", "context": { "cluster": "gate" } }],
    })
    .to_string()
}

/// Accepts connections until it is cancelled.
async fn serve(listener: TcpListener, authorization: String, desk: Arc<ProxyHandler>) {
    let authorization = Arc::new(authorization);
    let mut connections = JoinSet::new();
    loop {
        // Finished connections are removed, so that they do not count towards the limit.
        while connections.try_join_next().is_some() {}
        if connections.len() >= limits::GATE_CONNECTIONS {
            connections.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else {
            // The process is out of resources such as file descriptors, so accepting is retried after a pause.
            tokio::time::sleep(limits::SERVED_POLL).await;
            continue;
        };
        let (desk, authorization) = (Arc::clone(&desk), Arc::clone(&authorization));
        connections.spawn(async move {
            // Helm reports requests that fail.
            let _ = converse(stream, &authorization, &desk).await;
        });
    }
}

async fn converse(
    mut stream: TcpStream,
    authorization: &str,
    desk: &ProxyHandler,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut rest = Vec::new();
    while let Some(request) = wire::read(&mut stream, &mut rest).await? {
        // Every local process can connect to the port, but only Helm knows the password.
        if request.authorization.as_deref() != Some(authorization) {
            let Answer {
                status,
                headers,
                body,
            } = Answer::refusal(401, "Unauthorized", "wrong credentials for the proxy");
            wire::begin(&mut stream, status, &headers).await?;
            wire::piece(&mut stream, &body).await?;
            return wire::end(&mut stream).await;
        }
        answer(&mut stream, &mut rest, request, desk).await?;
    }
    Ok(())
}

/// Answers a request, and stops when the client disconnects.
async fn answer(
    stream: &mut TcpStream,
    rest: &mut Vec<u8>,
    request: WireRequest,
    desk: &ProxyHandler,
) -> io::Result<()> {
    let (mut from, mut to) = stream.split();
    let gone = async {
        // Helm sends nothing before it has the response. Unexpected bytes are kept as the start of the next request.
        loop {
            match from.read_buf(rest).await {
                Ok(0) | Err(_) => return,
                Ok(_) if rest.len() > limits::GATE_HEAD => return,
                Ok(_) => {}
            }
        }
    };
    tokio::select! {
        done = desk.answer(request, &mut to) => done,
        () = gone => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}
