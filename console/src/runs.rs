//! The changes that the console makes ([`Run`]). A run continues when its page is closed. Its progress is kept in
//! memory, and its result also in the receipts of the cluster.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use importer::Event;
use registry::SentBytes;
use serde::Serialize;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::problem::Problem;
use crate::program::EventText;
use crate::user::{User, UserId};
use crate::{secret, texts};

/// The largest number of runs that are kept. A further one replaces the oldest that has ended.
const MOST: usize = 100;
/// The largest number of runs at the same time.
const AT_ONCE: usize = 8;
/// The largest number of lines of one run. Older lines are dropped.
const LINES: usize = 2_000;

/// A change that the console makes or has made.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) id: String,
    /// The user whose permissions it has. Only this user sees it.
    owner: UserId,
    /// The change, in a few words.
    pub(crate) title: String,
    state: Mutex<RunState>,
    /// Increases with each change of the state.
    changed: watch::Sender<u64>,
    cancelled: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct RunState {
    lines: VecDeque<String>,
    /// The number of lines before the first of `lines`.
    dropped: usize,
    /// The sentence about the condition that the run waits for.
    waiting: Option<String>,
    /// The bytes of a push.
    push: Option<SentBytes>,
    end: Option<RunEnd>,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub(crate) enum RunEnd {
    /// The change is complete. The value is the result of the command that makes the same change.
    Done(Value),
    Failed(Problem),
    /// A user cancelled it, or the console ended.
    Cancelled,
}

/// The state of a run at one time.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunSnapshot {
    /// The lines from the wanted one on.
    pub(crate) lines: Vec<String>,
    /// The number of the next line.
    pub(crate) next: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<String>,
    /// The bytes that are pushed, and the total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) push: Option<[u64; 2]>,
    /// Whether the run has ended.
    pub(crate) ended: bool,
}

impl Run {
    fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, update: impl FnOnce(&mut RunState)) {
        update(&mut self.state());
        self.changed.send_modify(|version| *version += 1);
    }

    /// Takes an event of the change, with its text.
    pub(crate) fn take(&self, event: &Event, text: EventText) {
        self.update(|state| {
            match event {
                Event::Pushing { bytes, .. } => state.push = Some(SentBytes::of(*bytes)),
                Event::Push(event) => state.push.iter_mut().for_each(|push| push.take(event)),
                Event::Pushed => state.push = None,
                _ => {}
            }
            let lines = match text {
                EventText::Lines(lines) => lines,
                EventText::Waiting(condition) => {
                    state.waiting = Some(condition);
                    return;
                }
            };
            if !lines.is_empty() {
                state.waiting = None;
            }
            for line in lines {
                if state.lines.len() >= LINES {
                    state.lines.pop_front();
                    state.dropped += 1;
                }
                state.lines.push_back(line);
            }
        });
    }

    /// Returns the state, with the lines from the given number on.
    pub(crate) fn snapshot(&self, from: usize) -> RunSnapshot {
        let state = self.state();
        let skipped = from.saturating_sub(state.dropped);
        let push = state.push.as_ref().map(SentBytes::progress);
        RunSnapshot {
            lines: state.lines.iter().skip(skipped).cloned().collect(),
            next: state.dropped + state.lines.len(),
            waiting: state.waiting.clone(),
            push: push.map(|progress| [progress.done, progress.total]),
            ended: state.end.is_some(),
        }
    }

    /// Returns the end of the run, once it has ended.
    pub(crate) fn end(&self) -> Option<RunEnd> {
        self.state().end.clone()
    }

    /// Returns a receiver that is notified of each change of the state.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Cancels the run. Helm gets time to end.
    pub(crate) fn cancel(&self) {
        self.cancelled.send_replace(true);
    }
}

/// The runs of a console, by id.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<BTreeMap<u64, Arc<Run>>>);

impl Runs {
    /// Starts a change with the permissions of a user. It goes on until it has ended or is cancelled, even if the user
    /// logs out meanwhile.
    pub(crate) fn start<F>(
        &self,
        user: &Arc<User>,
        title: String,
        change: impl FnOnce(Arc<Run>) -> F + Send + 'static,
    ) -> Result<Arc<Run>, Problem>
    where
        F: Future<Output = Result<Value, Problem>>,
    {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.values().filter(|run| run.end().is_none()).count() >= AT_ONCE {
            return Err(Problem::refused(
                texts::TOO_MANY_RUNS,
                Vec::new(),
                Vec::new(),
            ));
        }
        if runs.len() >= MOST {
            let ended = runs.iter().find(|(_, run)| run.end().is_some());
            if let Some(ended) = ended.map(|(number, _)| *number) {
                runs.remove(&ended);
            }
        }
        let run = Arc::new(Run {
            id: secret::random().map_err(Problem::internal)?,
            owner: user.id.clone(),
            title,
            state: Mutex::default(),
            changed: watch::Sender::new(0),
            cancelled: watch::Sender::new(false),
        });
        let number = runs.last_key_value().map_or(0, |(number, _)| number + 1);
        runs.insert(number, Arc::clone(&run));
        let mut cancelled = run.cancelled.subscribe();
        let (of_task, user) = (Arc::clone(&run), Arc::clone(user));
        let work = async move |run: Arc<Run>| {
            let change = pin!(AssertUnwindSafe(change(run)).catch_unwind());
            tokio::select! {
                done = change => match done {
                    Ok(Ok(result)) => RunEnd::Done(result),
                    Ok(Err(problem)) => RunEnd::Failed(problem),
                    Err(_) => RunEnd::Failed(Problem::internal(texts::PANICKED)),
                },
                _ = cancelled.wait_for(|cancelled| *cancelled) => RunEnd::Cancelled,
                never = user.stay_logged_in() => match never {},
            }
        };
        // The futures of the importer stay on one thread, so each run gets its own.
        tokio::task::spawn_blocking(move || {
            let end = Handle::current().block_on(work(Arc::clone(&of_task)));
            of_task.update(|state| {
                (state.waiting, state.push) = (None, None);
                state.end = Some(end);
            });
        });
        Ok(run)
    }

    /// Returns a run of a user.
    pub(crate) fn get(&self, user: &User, id: &str) -> Option<Arc<Run>> {
        self.of(user).into_iter().find(|run| run.id == id)
    }

    /// Returns all runs of a user, the newest first.
    pub(crate) fn of(&self, user: &User) -> Vec<Arc<Run>> {
        let mut runs = self.all();
        runs.retain(|run| run.owner == user.id);
        runs
    }

    /// Returns the runs of all users, the newest first.
    fn all(&self) -> Vec<Arc<Run>> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.values().rev().cloned().collect()
    }

    /// Returns a guard that cancels all runs when it is dropped.
    pub(crate) fn cancel_on_drop(&self) -> CancelOnDrop<'_> {
        CancelOnDrop(self)
    }
}

/// Cancels all runs when it is dropped.
#[derive(Debug)]
pub(crate) struct CancelOnDrop<'a>(&'a Runs);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.all().iter().for_each(|run| run.cancel());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::server::tests::program;

    fn user() -> Arc<User> {
        Arc::new(User::local(program()))
    }

    async fn ended(run: &Run) -> RunEnd {
        let mut changes = run.changes();
        loop {
            changes.borrow_and_update();
            if let Some(end) = run.end() {
                return end;
            }
            changes.changed().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_run_ends_with_its_result_a_problem_or_a_cancellation() {
        let runs = Runs::default();
        let start = |title: &str| title.to_owned();
        let done = runs.start(&user(), start("done"), |_| async { Ok(json!({"a": 1})) });
        assert!(
            matches!(ended(&done.unwrap()).await, RunEnd::Done(value) if value == json!({"a": 1}))
        );
        let refused = Problem::refused("no", Vec::new(), Vec::new());
        let given = refused.clone();
        let failed = runs.start(&user(), start("failed"), |_| async { Err(given) });
        assert!(
            matches!(ended(&failed.unwrap()).await, RunEnd::Failed(problem) if problem == refused)
        );
        let panics = runs.start(&user(), start("panics"), |_| async { panic!("a mistake") });
        assert!(matches!(ended(&panics.unwrap()).await, RunEnd::Failed(_)));
        let endless = runs
            .start(&user(), start("endless"), |_| std::future::pending())
            .unwrap();
        assert!(endless.end().is_none() && !endless.snapshot(0).ended);
        endless.cancel();
        assert!(matches!(ended(&endless).await, RunEnd::Cancelled));
        let titles: Vec<_> = runs
            .of(&user())
            .iter()
            .map(|run| run.title.clone())
            .collect();
        assert_eq!(titles, ["endless", "panics", "failed", "done"]);
    }

    #[tokio::test]
    async fn the_end_of_the_console_cancels_its_runs() {
        let runs = Runs::default();
        let run = runs
            .start(&user(), "endless".to_owned(), |_| std::future::pending())
            .unwrap();
        drop(runs.cancel_on_drop());
        assert!(matches!(ended(&run).await, RunEnd::Cancelled));
    }

    #[tokio::test]
    async fn the_number_of_runs_is_limited() {
        let runs = Runs::default();
        let _ending = runs.cancel_on_drop();
        for _ in 0..AT_ONCE {
            runs.start(&user(), "endless".to_owned(), |_| std::future::pending())
                .unwrap();
        }
        let further = runs.start(&user(), "one more".to_owned(), |_| std::future::pending());
        assert_eq!(further.unwrap_err().message, texts::TOO_MANY_RUNS);
    }

    #[tokio::test]
    async fn a_reader_gets_each_line_once_and_old_lines_are_dropped() {
        let runs = Runs::default();
        let _ending = runs.cancel_on_drop();
        let run = runs
            .start(&user(), "lines".to_owned(), |_| std::future::pending())
            .unwrap();
        let take =
            |line: &str| run.take(&Event::Overtaken, EventText::Lines(vec![line.to_owned()]));
        take("one");
        take("two");
        let first = run.snapshot(0);
        assert_eq!(
            (first.lines, first.next),
            (vec!["one".to_owned(), "two".to_owned()], 2)
        );
        take("three");
        assert_eq!(run.snapshot(2).lines, ["three"]);
        (0..LINES).for_each(|_| take("more"));
        let last = run.snapshot(0);
        assert_eq!((last.lines.len(), last.next), (LINES, LINES + 3));
        assert!(run.snapshot(last.next).lines.is_empty());
    }
}
