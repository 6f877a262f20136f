//! `solution status --listen`: the metrics over HTTP, for Prometheus. The cluster is read at fixed intervals and not for
//! each request, so that clients make no work for the API server.
//!
//! A client that holds connections open without a request must not keep others from their answer, wherever it connects
//! from: each connection has a short time for its request, each peer has few connections, and a new connection closes an
//! old one instead of waiting for it.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::connections::Connections;
use super::{Arguments, metrics};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Where the metrics are.
const PATH: &str = "/metrics";
/// The time between two looks at the cluster: Prometheus collects no more often than four times a minute by default.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// The most bytes of a request that are read.
const HEAD: u64 = 8 * 1024;
/// How long a client may take to send its request. Prometheus sends it at once, and waits ten seconds for its answer.
const HEAD_WITHIN: Duration = Duration::from_secs(2);
/// How long a client may take to read its answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long nothing is accepted while the process may open no more files.
const NO_ROOM: Duration = Duration::from_secs(1);

/// The metrics as they were last read; none while they cannot be.
type LatestMetrics = watch::Receiver<Option<Arc<str>>>;

/// Serves until the program is asked to end.
pub(super) fn run(arguments: &Arguments, address: &str) -> Result<Outcome, Failure> {
    cluster::block_on(async {
        let listener = TcpListener::bind(address).await;
        let listener = listener
            .with_context(|| format!("cannot listen at `{address}`"))
            .map_err(Failure::unknown)?;
        let bound = listener.local_addr().map_err(Failure::unknown)?;
        render::note!("metrics are at http://{bound}{PATH}");
        let (told, shown) = watch::channel(None);
        let ended: Infallible = tokio::select! {
            never = look(arguments, &told) => never,
            never = answer_all(&listener, &shown) => never,
        };
        match ended {}
    })
}

/// Reads the status again and again. What goes wrong is said once, and nothing is shown until it is right again.
async fn look(arguments: &Arguments, told: &watch::Sender<Option<Arc<str>>>) -> Infallible {
    let mut failed = Vec::new();
    loop {
        let read = cluster::read_once(&arguments.cluster, async |cluster| {
            Ok(importer::status(cluster, arguments.namespace.as_ref()).await?)
        });
        let (text, lines) = match read.await {
            Ok(status) => (Some(metrics::text(&status).into()), Vec::new()),
            Err(failure) => (None, failure.lines().collect()),
        };
        told.send_replace(text);
        if failed != lines {
            render::notes("", &lines);
            failed = lines;
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Answers requests.
async fn answer_all(listener: &TcpListener, shown: &LatestMetrics) -> Infallible {
    let mut connections = Connections::default();
    loop {
        let Ok((stream, address)) = listener.accept().await else {
            sleep(NO_ROOM).await;
            continue;
        };
        let peer = connections.make_room(address.ip());
        let shown = shown.clone();
        let task = tokio::spawn(async move {
            // A client that is slow or disconnects gets no answer.
            let _ = answer(stream, &shown).await;
        });
        connections.add(peer, task.abort_handle());
    }
}

/// Reads one request and answers it.
async fn answer(mut stream: TcpStream, shown: &LatestMetrics) -> io::Result<()> {
    let request = timeout(HEAD_WITHIN, request_line(&mut stream)).await??;
    let text = shown.borrow().clone();
    let answered = async {
        let response = response(&request, text);
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await
    };
    timeout(ANSWER_WITHIN, answered).await?
}

/// Reads the head of a request, and returns its first line.
async fn request_line(stream: &mut TcpStream) -> io::Result<String> {
    let mut lines = BufReader::new(stream.take(HEAD)).lines();
    let request = lines.next_line().await?.unwrap_or_default();
    while lines
        .next_line()
        .await?
        .is_some_and(|line| !line.is_empty())
    {}
    Ok(request)
}

/// The response to a request line.
fn response(request: &str, text: Option<Arc<str>>) -> String {
    let mut words = request.split(' ');
    let is_for_metrics = words.next() == Some("GET") && words.next() == Some(PATH);
    let (status, text) = match text {
        _ if !is_for_metrics => ("404 Not Found", Arc::from(format!("see {PATH}\n"))),
        None => (
            "503 Service Unavailable",
            Arc::from("cannot read the cluster\n"),
        ),
        Some(text) => ("200 OK", text),
    };
    let (kind, length) = (metrics::MEDIA_TYPE, text.len());
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::TcpSocket;
    use tokio::time::Instant;

    use super::super::connections::CONNECTIONS;
    use super::*;

    const TEXT: &str = "solution_unseen 0\n";

    /// Serves metrics on loopback, and returns the port.
    async fn serve() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (_told, shown) = watch::channel(Some(Arc::from(TEXT)));
            answer_all(&listener, &shown).await
        });
        port
    }

    /// Connects from 127.0.0.N.
    async fn connect(from: u8, port: u16) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        let address = Ipv4Addr::new(127, 0, 0, from);
        socket.bind((address, 0).into()).unwrap();
        let to = (Ipv4Addr::LOCALHOST, port).into();
        socket.connect(to).await.unwrap()
    }

    /// Scrapes from 127.0.0.N, and returns the answer within the time of an idle connection.
    async fn scrape(from: u8, port: u16) -> String {
        let scraped = async {
            let mut stream = connect(from, port).await;
            let request = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let scraped = timeout(HEAD_WITHIN / 2, scraped).await;
        scraped.expect("the scrape waits for idle connections")
    }

    #[tokio::test]
    async fn idle_connections_keep_no_scrape_waiting_wherever_they_come_from() {
        let port = serve().await;
        let mut idle = Vec::new();
        for _ in 0..4 * CONNECTIONS {
            idle.push(connect(2, port).await);
        }
        assert!(scrape(3, port).await.ends_with(TEXT));
        // The same peer, as where a node's address stands for all of its pods.
        assert!(scrape(2, port).await.ends_with(TEXT));
        for from in 4..=4 + u8::try_from(CONNECTIONS).unwrap() {
            idle.push(connect(from, port).await);
        }
        assert!(scrape(3, port).await.ends_with(TEXT));
    }

    #[tokio::test]
    async fn a_connection_without_a_request_is_closed_in_time() {
        let port = serve().await;
        let began = Instant::now();
        let mut idle = connect(2, port).await;
        idle.write_all(b"GET /metrics HTTP/1.1\r\n").await.unwrap();
        let mut answer = Vec::new();
        let closed = timeout(2 * HEAD_WITHIN, idle.read_to_end(&mut answer)).await;
        assert!(closed.is_ok() && answer.is_empty(), "{answer:?}");
        assert!(began.elapsed() >= HEAD_WITHIN, "{:?}", began.elapsed());
    }

    #[test]
    fn metrics_are_served_once_they_are_known_and_nothing_else_is() {
        let text = || Some(Arc::from("solution_unseen 0\n"));
        let known = response("GET /metrics HTTP/1.1", text());
        assert!(known.starts_with("HTTP/1.1 200 OK\r\n"), "{known}");
        assert!(
            known.ends_with("Content-Length: 18\r\nConnection: close\r\n\r\nsolution_unseen 0\n")
        );
        let unknown = response("GET /metrics HTTP/1.1", None);
        assert!(unknown.starts_with("HTTP/1.1 503 "), "{unknown}");
        for request in ["", "GET", "GET / HTTP/1.1", "POST /metrics HTTP/1.1"] {
            let other = response(request, text());
            assert!(other.starts_with("HTTP/1.1 404 "), "{request}: {other}");
        }
    }
}
