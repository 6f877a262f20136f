//! One request and its answer as they are: time limits, no login, no redirects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::Request;

use crate::activity::{Activity, Moment};
use crate::answer::Answer;
use crate::error::{Error, Operation};
use crate::failure::from_reqwest;
use crate::pace::Pace;

/// The HTTP client, and how fast all its connections together are.
pub(crate) struct Wire {
    http: reqwest::Client,
    pace: Arc<Pace>,
    /// Whether anybody has ever answered.
    answered: AtomicBool,
}

impl Wire {
    pub(crate) fn new(http: reqwest::Client, pace: Arc<Pace>) -> Self {
        Self {
            http,
            pace,
            answered: AtomicBool::new(false),
        }
    }

    /// Sends exactly this request.
    pub(crate) async fn send(
        &self,
        operation: &Operation,
        request: Request,
    ) -> Result<Answer, Error> {
        self.watched(operation, request, self.activity()).await
    }

    /// The same, where whoever makes the body says what the connection waits for.
    pub(crate) async fn watched(
        &self,
        operation: &Operation,
        request: Request,
        activity: Activity,
    ) -> Result<Answer, Error> {
        activity.mark(Moment::Asking);
        let answer = activity.watch(self.http.execute(request)).await;
        let answer = answer.map_err(|late| late.error(operation))?;
        self.answered.fetch_or(answer.is_ok(), Ordering::Relaxed);
        match answer {
            Ok(response) => Ok(Answer::new(response, self.activity())),
            Err(error) => Err(from_reqwest(operation, error)),
        }
    }

    pub(crate) fn activity(&self) -> Activity {
        Activity::new(&self.pace)
    }

    /// Whether anybody has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(crate) fn pace(&self) -> &Arc<Pace> {
        &self.pace
    }
}
