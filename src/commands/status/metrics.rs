//! `solution status --listen`: the status as metrics over HTTP, in the text format of Prometheus ("Exposition formats",
//! 0.0.4). The cluster is read at fixed intervals and not for each request. Values of labels are checked names, in
//! which nothing needs an escape.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::{Display, Write as _};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use importer::{Condition, OperatorStatus, Status};
use schemas::StatementTime;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::Arguments;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// The media type.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the metrics of a status. They omit Solutions that this user may not read.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    let seen = || {
        let operators = status.operators.iter();
        operators.filter(|operator| operator.condition != Condition::Unseen)
    };
    gauge(
        &mut text,
        "solution_ready",
        "Whether a Solution is ready in an environment.",
        seen().map(|operator| (labels(operator), u8::from(operator.is_ready()))),
    );
    gauge(
        &mut text,
        "solution_drifted",
        "Whether objects of a Solution are missing, changed or of another version.",
        seen().map(|operator| (labels(operator), u8::from(has_drifted(operator.condition)))),
    );
    gauge(
        &mut text,
        "solution_expires_timestamp_seconds",
        "When the version of a Solution expires, as its publisher set it.",
        seen().filter_map(|operator| Some((labels(operator), expires(status, operator)?.unix()))),
    );
    let all = String::new;
    gauge(
        &mut text,
        "solution_incomplete_changes",
        "Changes that are incomplete.",
        [(all(), status.incomplete.len())],
    );
    gauge(
        &mut text,
        "solution_unseen",
        "Parts of the status that the account may not read.",
        [(all(), status.unseen.len())],
    );
    text
}

fn gauge<V: Display>(
    text: &mut String,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (String, V)>,
) {
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

fn labels(operator: &OperatorStatus) -> String {
    let OperatorStatus {
        solution,
        version,
        environment,
        namespace,
        ..
    } = operator;
    format!(
        "{{solution=\"{solution}\",version=\"{version}\",environment=\"{environment}\",namespace=\"{namespace}\"}}"
    )
}

/// Returns the expiry of the running version, if its publisher set one and the version is imported.
fn expires(status: &Status, operator: &OperatorStatus) -> Option<StatementTime> {
    let mut records = status.versions.iter().map(|version| &version.record);
    let record = records
        .find(|record| record.name == operator.solution && record.version == operator.version)?;
    record.expires
}

fn has_drifted(condition: Condition) -> bool {
    match condition {
        Condition::Ready | Condition::NotReady | Condition::Unseen => false,
        Condition::OtherVersion | Condition::Changed | Condition::Gone => true,
    }
}

/// The path of the metrics.
const PATH: &str = "/metrics";
/// The interval between reads of the cluster. By default, Prometheus collects at most four times a minute.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// The size limit of a request's head.
const HEAD: u64 = 8 * 1024;
/// The time for a client to send its request. Prometheus sends it at once, and waits ten seconds for its answer.
const HEAD_WITHIN: Duration = Duration::from_secs(2);
/// The time for a client to read its answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The pause before the next connection while the process may open no more files.
const NO_ROOM: Duration = Duration::from_secs(1);

/// The latest metrics; none while the status cannot be read.
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

/// Reads the status periodically. A problem is reported once, and no metrics are served until it is solved.
async fn look(arguments: &Arguments, told: &watch::Sender<Option<Arc<str>>>) -> Infallible {
    let mut failed = Vec::new();
    loop {
        let read = cluster::read_once(&arguments.cluster, async |cluster| {
            Ok(importer::status(cluster, arguments.namespace.as_ref()).await?)
        });
        let (text, lines) = match read.await {
            Ok(status) => (Some(text(&status).into()), Vec::new()),
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
    let (kind, length) = (MEDIA_TYPE, text.len());
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

/// The maximum number of open connections.
const CONNECTIONS: usize = 64;
/// The maximum number of connections of one peer. A collector has one, and multiple collectors may share an address.
const CONNECTIONS_OF_ONE: usize = 8;

/// The open connections with their peers, the oldest first.
#[derive(Default)]
pub(super) struct Connections(VecDeque<(IpAddr, AbortHandle)>);

impl Connections {
    /// Closes a connection if there are too many: the oldest one of this peer if the peer has reached its limit, else
    /// of the peer with the most connections. Returns the address by which the peer's connections are counted.
    pub(super) fn make_room(&mut self, address: IpAddr) -> IpAddr {
        let peer = peer(address);
        self.0.retain(|(_, task)| !task.is_finished());
        let crowded = if self.of(peer) >= CONNECTIONS_OF_ONE {
            Some(peer)
        } else if self.0.len() >= CONNECTIONS {
            let peers = self.0.iter().map(|(other, _)| *other);
            peers.max_by_key(|other| self.of(*other))
        } else {
            None
        };
        let oldest = self.0.iter().position(|(other, _)| Some(*other) == crowded);
        if let Some((_, task)) = oldest.and_then(|oldest| self.0.remove(oldest)) {
            task.abort();
        }
        peer
    }

    /// Adds the connection of a peer, and the task that answers it.
    pub(super) fn add(&mut self, peer: IpAddr, task: AbortHandle) {
        self.0.push_back((peer, task));
    }

    fn of(&self, peer: IpAddr) -> usize {
        self.0.iter().filter(|(other, _)| *other == peer).count()
    }
}

/// Returns the address by which a peer's connections are counted. One machine has all addresses of an IPv6 subnet.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use importer::VersionStatus;
    use serde_json::json;
    use tokio::net::TcpSocket;
    use tokio::time::Instant;

    use super::{CONNECTIONS, *};

    #[test]
    fn a_subnet_of_ipv6_is_one_peer() {
        let of = |address: &str| peer(address.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    /// Version 1.1.0 of a Solution as imported.
    fn imported(solution: &str, expires: Option<&str>) -> VersionStatus {
        let digest = "0".repeat(64);
        let manifest = json!({
            "apiVersion": "solutions.metalk8s.scality.com/v1alpha1",
            "kind": "Solution",
            "metadata": {"name": solution},
            "spec": {"version": "1.1.0", "images": []},
        });
        let record = json!({
            "name": solution, "version": "1.1.0",
            "archiveId": format!("sha256:{digest}"), "signers": [],
            "pushedTo": "r.test/s-1.1.0", "endpoint": "r.test/s-1.1.0", "images": [],
            "imported": "2026-01-01T00:00:00Z", "expires": expires, "manifest": manifest,
        });
        VersionStatus {
            record: serde_json::from_value(record).unwrap(),
            active: true,
            environments: Vec::new(),
        }
    }

    #[test]
    fn a_solution_is_a_line_of_each_metric_unless_it_cannot_be_seen() {
        let of = |name: &str, condition| OperatorStatus {
            solution: name.parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            namespace: "prod-2".parse().unwrap(),
            runs: None,
            ready: None,
            pods: None,
            condition,
            why: None,
            releases: Vec::new(),
            awaited: None,
        };
        let status = Status {
            versions: vec![
                imported("shop", Some("2026-12-31T00:00:00Z")),
                imported("gone", None),
            ],
            environments: Vec::new(),
            operators: vec![
                of("shop", Condition::Ready),
                of("late", Condition::NotReady),
                of("gone", Condition::Gone),
                of("hidden", Condition::Unseen),
            ],
            incomplete: Vec::new(),
            notes: Vec::new(),
            unseen: Vec::new(),
        };
        let text = text(&status);
        let value = |metric: &str, solution: &str| {
            let begin = format!(
                "{metric}{{solution=\"{solution}\",version=\"1.1.0\",environment=\"prod\",namespace=\"prod-2\"}} "
            );
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(&begin))
        };
        for (solution, ready, drifted, expires) in [
            ("shop", Some("1"), Some("0"), Some("1798675200")),
            ("late", Some("0"), Some("0"), None),
            ("gone", Some("0"), Some("1"), None),
            ("hidden", None, None, None),
        ] {
            assert_eq!(value("solution_ready", solution), ready, "{text}");
            assert_eq!(value("solution_drifted", solution), drifted, "{text}");
            let at = value("solution_expires_timestamp_seconds", solution);
            assert_eq!(at, expires, "{text}");
        }
        assert!(text.ends_with("\nsolution_unseen 0\n"), "{text}");
        let help = text.lines().filter(|line| line.starts_with("# HELP"));
        assert_eq!(help.count(), 5);
    }

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
        // Many clients may share one address, for example if the pods of a node use the node's address.
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
