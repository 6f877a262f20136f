//! One HTTP request and its answer, with time limits but without login and redirects. [`ClientWire`] also reports each
//! request to the listener, without secrets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use progress::{Exchange, Listener};
use reqwest::{Request, Response, Url};
use tokio::time::Instant;

use crate::activity::{Activity, ActivityPhase};
use crate::answer::RegistryAnswer;
use crate::error::{Error, Operation};
use crate::failure::from_reqwest;
use crate::identity::ShownIdentity;
use crate::limits;
use crate::pace::TransferRate;

/// The HTTP client, and the pace of all its connections.
pub(crate) struct ClientWire {
    http: reqwest::Client,
    pace: Arc<TransferRate>,
    /// Indicates whether a server has ever answered.
    answered: AtomicBool,
    listener: Listener,
    shown: Arc<ShownIdentity>,
}

impl ClientWire {
    pub(crate) fn new(
        http: reqwest::Client,
        pace: Arc<TransferRate>,
        listener: Listener,
        shown: ShownIdentity,
    ) -> Self {
        Self {
            http,
            pace,
            answered: AtomicBool::new(false),
            listener,
            shown: Arc::new(shown),
        }
    }

    /// Sends exactly this request. If the connection is closed before any of it was sent, another connection is used. A
    /// server that refuses a client certificate (TLS 1.3) can close the connection at that moment, and the reason would
    /// be lost.
    pub(crate) async fn send(
        &self,
        operation: &Operation,
        request: Request,
    ) -> Result<RegistryAnswer, Error> {
        for _ in 1..limits::UNSENT {
            let Some(same) = request.try_clone() else {
                break;
            };
            match self.send_watched(operation, same, self.activity()).await {
                Err(Error::Interrupted(_, source)) if source.is_unsent => {}
                result => return result,
            }
        }
        self.send_watched(operation, request, self.activity()).await
    }

    /// Sends a request with a given activity, which the producer of the body updates.
    pub(crate) async fn send_watched(
        &self,
        operation: &Operation,
        request: Request,
        activity: Activity,
    ) -> Result<RegistryAnswer, Error> {
        activity.mark(ActivityPhase::Asking);
        let (method, url) = (request.method().clone(), request.url().clone());
        let asked = Instant::now();
        let answer = activity.watch(self.http.execute(request)).await;
        self.listener.report(|| Exchange {
            method: method.to_string(),
            url: without_secrets(&url),
            status: status(&answer),
            took: asked.elapsed(),
        });
        let answer = answer.map_err(|late| late.error(operation))?;
        self.answered.fetch_or(answer.is_ok(), Ordering::Relaxed);
        match answer {
            Ok(response) => {
                let shown = Arc::clone(&self.shown);
                Ok(RegistryAnswer::new(response, self.activity(), shown))
            }
            Err(error) => Err(self.explain(from_reqwest(operation, error))),
        }
    }

    /// Returns the time by the clock of TLS.
    pub(crate) fn now(&self) -> Option<SystemTime> {
        self.shown.now()
    }

    /// Adds the cause to a server's refusal of the client certificate.
    pub(crate) fn explain(&self, error: Error) -> Error {
        self.shown.explain(error)
    }

    pub(crate) fn activity(&self) -> Activity {
        Activity::new(&self.pace)
    }

    /// Checks whether a server has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(crate) fn pace(&self) -> &Arc<TransferRate> {
        &self.pace
    }
}

/// Returns the status of an answer, if there is one.
fn status<L>(answer: &Result<reqwest::Result<Response>, L>) -> Option<u16> {
    let response = answer.as_ref().ok()?.as_ref().ok()?;
    Some(response.status().as_u16())
}

/// The query parameters that are shown. The values of other parameters can be sufficient to continue an upload or to
/// read from a storage.
const PLAIN: [&str; 7] = ["digest", "from", "last", "mount", "n", "scope", "service"];

/// Returns a URL for display, without a login, the state of an upload, or a signature.
fn without_secrets(url: &Url) -> String {
    let mut shown = url.clone();
    // These calls fail only for URLs without a host, which are never sent.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    // The rest of the path identifies the upload, which can be sufficient to write to it.
    if let Some((before, _)) = url.path().split_once("/uploads/") {
        shown.set_path(&format!("{before}/uploads/"));
    }
    let pairs = url.query_pairs();
    let plain: Vec<_> = pairs
        .filter(|(name, _)| PLAIN.contains(&name.as_ref()))
        .collect();
    shown.set_query(None);
    if !plain.is_empty() {
        shown.query_pairs_mut().extend_pairs(plain);
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lets_somebody_else_in_is_not_shown() {
        for (url, shown) in [
            (
                "https://me:very-secret@registry.test/v2/",
                "https://registry.test/v2/",
            ),
            (
                "https://registry.test/v2/app/blobs/uploads/very-secret?_state=very-secret&digest=sha256:ab",
                "https://registry.test/v2/app/blobs/uploads/?digest=sha256%3Aab",
            ),
            (
                "https://registry.test/v2/app/blobs/uploads/?mount=sha256:ab&from=base",
                "https://registry.test/v2/app/blobs/uploads/?mount=sha256%3Aab&from=base",
            ),
            (
                "https://store.test/blob?X-Amz-Signature=very-secret#very-secret",
                "https://store.test/blob",
            ),
            (
                "https://auth.test/token?account=me&scope=repository:app:pull",
                "https://auth.test/token?scope=repository%3Aapp%3Apull",
            ),
        ] {
            assert_eq!(without_secrets(&url.parse().unwrap()), shown);
        }
    }
}
