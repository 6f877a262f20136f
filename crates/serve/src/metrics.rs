//! Metrics of the server in the text format of Prometheus ("Exposition formats", 0.0.4): [`ServerMetrics`]. The
//! counters have no labels that a client controls.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// The media type of the text format.
pub(crate) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The counters of a server.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics {
    /// Requests by the first digit of their status, starting at 1.
    answers: [AtomicU64; 5],
    sent: AtomicU64,
    connections: AtomicU64,
    refused: AtomicU64,
    broken: AtomicU64,
    damaged: AtomicU64,
    left_out: AtomicU64,
}

impl ServerMetrics {
    /// Counts an answer with its status and the number of bytes after its head.
    pub(crate) fn answered(&self, status: u16, bytes: u64) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.answers[class].fetch_add(1, Ordering::Relaxed);
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts an answer that could not be sent completely.
    pub(crate) fn count_broken_answer(&self) {
        self.broken.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that was refused because its client had reached the limit.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a blob that did not match its signed digest.
    pub(crate) fn damaged(&self) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the number of archives that were found but are not served.
    pub(crate) fn left_out(&self, archives: usize) {
        self.left_out.store(archives as u64, Ordering::Relaxed);
    }

    /// Counts a connection as open until the value is dropped.
    pub(crate) fn connection(&self) -> OpenConnection<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        OpenConnection(&self.connections)
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self, archives: usize) -> String {
        let mut text = String::new();
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = write!(
                text,
                "# HELP solution_serve_{name} {help}\n# TYPE solution_serve_{name} {kind}\nsolution_serve_{name} {value}\n"
            );
        };
        let get = |value: &AtomicU64| value.load(Ordering::Relaxed);
        one(
            "archives",
            "gauge",
            "Archives that are served.",
            archives as u64,
        );
        one(
            "archives_left_out",
            "gauge",
            "Archives that were found and are not served.",
            get(&self.left_out),
        );
        one(
            "connections",
            "gauge",
            "Connections that are open.",
            get(&self.connections),
        );
        one(
            "refused_connections_total",
            "counter",
            "Connections that were closed because their client had too many.",
            get(&self.refused),
        );
        one(
            "sent_bytes_total",
            "counter",
            "Bytes of contents that were sent.",
            get(&self.sent),
        );
        one(
            "broken_answers_total",
            "counter",
            "Answers that were not sent to their end.",
            get(&self.broken),
        );
        one(
            "damaged_blobs_total",
            "counter",
            "Blobs that did not match their signed digest and were not served.",
            get(&self.damaged),
        );
        text.push_str("# HELP solution_serve_requests_total Requests that were answered.\n");
        text.push_str("# TYPE solution_serve_requests_total counter\n");
        for (class, count) in (1..).zip(&self.answers).filter(|(class, _)| *class > 1) {
            let _ = writeln!(
                text,
                "solution_serve_requests_total{{status=\"{class}xx\"}} {}",
                get(count)
            );
        }
        text
    }
}

/// An open connection.
pub(crate) struct OpenConnection<'a>(&'a AtomicU64);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
