//! `solution status --listen`: the metrics over HTTP, for what collects them. The cluster is read by the clock and not by
//! whoever asks, so that nobody makes work for the API server.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::{Arguments, metrics};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Where the metrics are.
const PATH: &str = "/metrics";
/// The time between two looks at the cluster: Prometheus collects no more often than four times a minute by default.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// The most bytes of a request that are read.
const HEAD: u64 = 8 * 1024;
/// How long a client may take to ask and to take its answer.
const CLIENT: Duration = Duration::from_secs(10);
/// The clients that are answered at the same time.
const CLIENTS: usize = 16;

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

/// Answers whoever asks.
async fn answer_all(listener: &TcpListener, shown: &LatestMetrics) -> Infallible {
    let room = Arc::new(Semaphore::new(CLIENTS));
    loop {
        let permit = Arc::clone(&room).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            // There are no more open files at the moment.
            sleep(CLIENT).await;
            continue;
        };
        let shown = shown.clone();
        tokio::spawn(async move {
            // A client that is slow or goes away is its own loss.
            let _ = timeout(CLIENT, answer(stream, &shown)).await;
            drop(permit);
        });
    }
}

/// Reads one request and answers it.
async fn answer(mut stream: TcpStream, shown: &LatestMetrics) -> io::Result<()> {
    let mut asked = BufReader::new((&mut stream).take(HEAD)).lines();
    let request = asked.next_line().await?.unwrap_or_default();
    while asked.next_line().await?.is_some_and(|it| !it.is_empty()) {}
    let text = shown.borrow().clone();
    stream
        .write_all(response(&request, text).as_bytes())
        .await?;
    stream.shutdown().await
}

/// The response to a request line.
fn response(request: &str, text: Option<Arc<str>>) -> String {
    let mut words = request.split(' ');
    let is_for_metrics = words.next() == Some("GET") && words.next() == Some(PATH);
    let (status, text) = match text {
        _ if !is_for_metrics => ("404 Not Found", Arc::from(format!("see {PATH}\n"))),
        None => (
            "503 Service Unavailable",
            Arc::from("the cluster could not be read\n"),
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
    use super::*;

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
