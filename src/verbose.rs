//! `--verbose`: each request to a registry or an API server, as one line on standard error, and what was passed over.

use std::sync::atomic::{AtomicBool, Ordering};

use watch::{Exchange, Listener};

use crate::render;

/// Whether that was asked for.
static ON: AtomicBool = AtomicBool::new(false);

/// Shows requests from now on.
pub(crate) fn turn_on() {
    ON.store(true, Ordering::Relaxed);
}

/// What clients of servers tell of their requests.
pub(crate) fn listener() -> Listener {
    if ON.load(Ordering::Relaxed) {
        Listener::new(show)
    } else {
        Listener::default()
    }
}

/// Says what only somebody who looks for a reason wants to know.
pub(crate) fn note(text: &str) {
    if ON.load(Ordering::Relaxed) {
        render::note(text);
    }
}

fn show(exchange: &Exchange) {
    let Exchange {
        method, url, took, ..
    } = exchange;
    let status = exchange.status.map(|status| status.to_string());
    let status = status.unwrap_or_else(|| "no answer".to_owned());
    render::note!("{method} {url} {status} {} ms", took.as_millis());
}
