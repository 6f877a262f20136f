//! The changes that this console makes: the list, one run with its progress, its event stream, and its cancellation.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use maud::{Markup, html};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::links;
use crate::call::Call;
use crate::page::{Section, Tone, bytes, link, problem_text, state, table};
use crate::problem::Problem;
use crate::reply::see_other;
use crate::runs::{Run, RunEnd, RunSnapshot};
use crate::state::Console;
use crate::texts;

/// The interval of comments in a stream without events, so that proxies do not close it.
const ALIVE: Duration = Duration::from_secs(15);
/// The time between two events of a stream, so that a push does not send one for each part of a blob.
const COALESCE: Duration = Duration::from_millis(200);

fn find(call: &Call) -> Result<Arc<Run>, Problem> {
    let id: String = call.name("run", |id| texts::run(id))?;
    let run = call.console.runs.get(&call.user, &id);
    run.ok_or_else(|| Problem::not_found(texts::run(id)))
}

/// `GET /runs`
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let runs = call.console.runs.of(&call.user);
    let body = || {
        let row = |run: &Arc<Run>| {
            [
                link(&links::run(&run.id), &run.title),
                ending(run.end().as_ref()),
            ]
        };
        let rows: Vec<_> = runs.iter().map(row).collect();
        html! {
            @if rows.is_empty() {
                p { (texts::NO_RUNS) }
            } @else {
                (table(texts::RUNS, [texts::CHANGE, texts::RESULT], &rows))
            }
        }
    };
    let json = || {
        let run = |run: &Arc<Run>| json!({ "id": run.id, "title": run.title, "state": word(run.end().as_ref()) });
        json!({ "runs": runs.iter().map(run).collect::<Vec<_>>() })
    };
    Ok(call.visit.reply(Section::Runs, texts::RUNS, body, json))
}

fn word(end: Option<&RunEnd>) -> &'static str {
    match end {
        None => texts::RUNNING,
        Some(RunEnd::Done(_)) => texts::DONE,
        Some(RunEnd::Failed(_)) => texts::FAILED,
        Some(RunEnd::Cancelled) => texts::CANCELLED,
    }
}

fn ending(end: Option<&RunEnd>) -> Markup {
    let tone = match end {
        None => Tone::Neutral,
        Some(RunEnd::Done(_)) => Tone::Good,
        Some(RunEnd::Failed(_) | RunEnd::Cancelled) => Tone::Bad,
    };
    state(tone, word(end))
}

/// `GET /runs/{run}`
pub(crate) async fn show(call: Call) -> Result<Response, Problem> {
    let run = find(&call)?;
    let json = || {
        let end = run.end();
        let result = match &end {
            Some(RunEnd::Done(result)) => result.clone(),
            Some(RunEnd::Failed(problem)) => serde_json::to_value(problem).unwrap_or_default(),
            Some(RunEnd::Cancelled) | None => Value::Null,
        };
        let progress = run.snapshot(0);
        json!({ "id": run.id, "title": run.title, "state": word(end.as_ref()), "progress": progress, "result": result })
    };
    Ok(call
        .visit
        .reply(Section::Runs, &run.title, || details(&run), json))
}

fn details(run: &Run) -> Markup {
    let (end, progress) = (run.end(), run.snapshot(0));
    let own = links::run(&run.id);
    let is_running = end.is_none();
    html! {
        div #run data-events=[is_running.then(|| format!("{own}/events"))] data-next=(progress.next) {
            p role="status" { (ending(end.as_ref())) " " span #waiting { (progress.waiting.as_deref().unwrap_or_default()) } }
            @match &end {
                Some(RunEnd::Done(_)) => p { (texts::DONE_HELP) },
                Some(RunEnd::Failed(problem)) => (problem_text(problem)),
                Some(RunEnd::Cancelled) => p { (texts::CANCELLED_HELP) },
                None => {
                    @let [done, total] = progress.push.unwrap_or_default();
                    p #push hidden[progress.push.is_none()] {
                        label { (texts::PUSHED) " " progress max=(total.max(1)) value=(done) { (bytes(done)) } }
                    }
                    p.actions {
                        a.button href=(own) { (texts::REFRESH) }
                    }
                    form method="post" action=(format!("{own}/cancel")) {
                        button.danger { (texts::CANCEL) }
                        " " (texts::CANCEL_HELP)
                    }
                },
            }
            h2 { (texts::PROGRESS) }
            ol.log #log { @for line in &progress.lines { li { (line.trim()) } } }
        }
        p { (link("/environments", texts::ENVIRONMENTS)) " · " (link("/history", texts::HISTORY)) }
    }
}

/// `GET /runs/{run}/events`: the state of the run after each change, with the lines that the client does not have yet.
pub(crate) async fn events(call: Call) -> Result<Response, Problem> {
    let run = find(&call)?;
    let session = call.console.session.value(&call.headers);
    let session = session.unwrap_or_default().to_owned();
    let last = call
        .headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let reader = EventReader {
        changes: run.changes(),
        run,
        console: call.console,
        session,
        next: last,
        has_ended: false,
    };
    let events = stream::unfold(reader, |mut reader| async move {
        let snapshot = reader.next().await?;
        let data = serde_json::to_string(&snapshot).unwrap_or_default();
        let event = Event::default().id(snapshot.next.to_string()).data(data);
        Some((Ok::<_, Infallible>(event), reader))
    });
    let alive = KeepAlive::new().interval(ALIVE);
    let headers = [("x-accel-buffering", "no")];
    Ok((headers, Sse::new(events).keep_alive(alive)).into_response())
}

/// A client that follows a run.
struct EventReader {
    run: Arc<Run>,
    changes: watch::Receiver<u64>,
    console: Arc<Console>,
    session: String,
    /// The number of the next line; none before the first event.
    next: Option<usize>,
    has_ended: bool,
}

impl EventReader {
    /// Returns the next state; none after the end of the run or of the session.
    async fn next(&mut self) -> Option<RunSnapshot> {
        if self.has_ended {
            return None;
        }
        if self.is_waiting() {
            self.changes.changed().await.ok()?;
            // Further changes in this time become part of the same event.
            tokio::time::sleep(COALESCE).await;
        }
        if !self
            .console
            .sessions
            .is_known(&self.session, Instant::now())
        {
            return None;
        }
        self.changes.mark_unchanged();
        let snapshot = self.run.snapshot(self.next.unwrap_or(0));
        (self.next, self.has_ended) = (Some(snapshot.next), snapshot.ended);
        Some(snapshot)
    }

    /// Returns true if the client has the current state already. A new client gets it at once.
    fn is_waiting(&self) -> bool {
        self.next.is_some() && !self.run.snapshot(usize::MAX).ended
    }
}

/// `POST /runs/{run}/cancel`
pub(crate) async fn cancel(call: Call) -> Result<Response, Problem> {
    let run = find(&call)?;
    run.cancel();
    Ok(see_other(&links::run(&run.id)))
}
