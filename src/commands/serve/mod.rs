//! `solution registry serve`: a registry over archives, until it is asked to end.

mod archives;
mod arguments;
pub(super) mod log;
mod request;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Resource, getrlimit, setrlimit};
use serve::Server;
use shelf::{Serving, Whole};
use tokio::signal::unix::{SignalKind, signal};

use self::archives::{JudgedArchives, look};
pub(crate) use self::arguments::Arguments;
use self::log::Log;
use self::request::{Pair, options};
use crate::args::{Output, choose};
use crate::failure::{Failure, Outcome};
use crate::interrupt;

/// How often archives are looked at. One is taken when two looks found the same, so that none is read while it is copied.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// What the end takes beyond what is left to requests under way.
const PARTING: Duration = Duration::from_secs(2);

pub(crate) fn run(arguments: Arguments, output: Output) -> Result<Outcome, Failure> {
    interrupt::take_time(serve::limits::ENDING + PARTING);
    let log = Arc::new(Log::new(output, arguments.access_log));
    let pair = Pair::of(&arguments);
    let options = options(&arguments, pair.as_ref())?;
    let (listen, scheme) = (
        arguments.listen.clone(),
        choose(options.tls.is_some(), "https", "http"),
    );
    let judged = JudgedArchives::of(arguments, output, Arc::clone(&log))?;
    raise_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::unknown)?;
    let ended = runtime.block_on(async {
        let told = Arc::clone(&log);
        let tell = Box::new(move |event: serve::Event<'_>| told.tell(&event));
        let server = Server::listen(&listen, options, tell).await;
        let server = server
            .with_context(|| format!("cannot listen at `{listen}`"))
            .map_err(Failure::unknown)?;
        let address = server.address().map_err(Failure::unknown)?;
        let url = format!("{scheme}://{address}");
        serve(server, judged, pair, &log, &url).await
    });
    // Of what was not done in time nothing is waited for.
    runtime.shutdown_background();
    ended.map(|()| Outcome::Yes)
}

/// Serves what is there, and what comes, until the end is asked for.
async fn serve(
    server: Server,
    judged: JudgedArchives,
    pair: Option<Pair>,
    log: &Log,
    url: &str,
) -> Result<(), Failure> {
    let mut hangup = signal(SignalKind::hangup()).map_err(Failure::unknown)?;
    let (mut judged, first) = look(judged, Whole::First).await?;
    let first = first?.ok_or_else(|| Failure::usage("no archive is named"))?;
    let shown = server.shelf();
    shown.put(first.content, first.left_out);
    log.listening(url);
    let looking = async {
        let mut failed = Vec::new();
        loop {
            let whole = tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => Whole::Changed,
                _ = hangup.recv() => Whole::All,
            };
            if let (Whole::All, Some(pair)) = (whole, &pair) {
                match pair.read() {
                    Ok(tls) => shown.speak(tls),
                    // The one that is shown goes on.
                    Err(failure) => log.failed(&failure),
                }
            }
            let (back, found) = look(judged, whole).await?;
            judged = back;
            match found {
                Ok(serving) => {
                    failed.clear();
                    if let Some(Serving { content, left_out }) = serving {
                        shown.put(content, left_out);
                    }
                }
                Err(failure) => {
                    // What stays as it is is said once.
                    let lines: Vec<String> = failure.lines().collect();
                    if failed != lines {
                        log.failed(&failure);
                        failed = lines;
                    }
                }
            }
        }
    };
    let looking: std::pin::Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> =
        Box::pin(looking);
    tokio::select! {
        ended = looking => ended,
        () = server.run(interrupt::asked()) => Ok(()),
    }
}

/// Takes as many open files as the system allows: each connection is one. Where that is not allowed, fewer connect.
fn raise_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
