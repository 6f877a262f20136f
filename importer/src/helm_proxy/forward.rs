//! The handling of each request at the proxy. [`ProxyHandler::answer`] evaluates the request, sends it with the
//! credentials of this process, and returns the part of the response that Helm may see. It records a revision before it
//! sends the request that stores it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use kubernetes::{Cluster, ForwardedRequest, ForwardedResponse};
use planner::RevisionEntry;
use serde_json::{Value, json};
use tokio::io::AsyncWrite;
use tokio::sync::{mpsc, oneshot};

use crate::helm_proxy::discovery;
use crate::helm_proxy::policy::{
    HelmDeletion, HelmRequest, Lookup, Phase, ProxyPolicy, Verdict, VisiblePart,
};
use crate::helm_proxy::target::{LookupTarget, ObjectPath};
use crate::helm_proxy::wire::{self, WireRequest};
use crate::limits;

/// The media type of requests and responses whose content is inspected.
const JSON: &str = "application/json";

/// The kind of a run of Helm, and the context of its writes.
#[derive(Clone)]
pub(crate) enum RunState {
    /// Helm renders for a plan and writes nothing.
    Look,
    /// Helm renders until the post-renderer creates this file, and writes afterwards.
    Send(PathBuf, Writing),
    /// Helm rolls back or uninstalls without rendering.
    TakeBack(Writing),
}

/// The context of a run's writes.
#[derive(Clone)]
pub(crate) struct Writing {
    /// Returns whether the Lease is still held.
    pub(crate) holds: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The channel on which revisions are sent to be recorded before they are stored.
    pub(crate) notes: mpsc::Sender<Note>,
}

/// A revision that must be recorded before it is stored.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) revision: RevisionEntry,
    /// The channel on which the record is confirmed.
    pub(crate) done: oneshot::Sender<()>,
}

impl fmt::Debug for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Look => "Look",
            Self::Send(..) => "Send",
            Self::TakeBack(_) => "TakeBack",
        })
    }
}

impl RunState {
    fn phase(&self) -> Phase {
        match self {
            Self::Look => Phase::Looking,
            Self::Send(file, _) if !file.exists() => Phase::Rendering,
            Self::Send(..) | Self::TakeBack(_) => Phase::Sending,
        }
    }

    fn writing(&self) -> Option<&Writing> {
        match self {
            Self::Look => None,
            Self::Send(_, writing) | Self::TakeBack(writing) => Some(writing),
        }
    }
}

/// The handler of requests.
#[derive(Debug)]
pub(super) struct ProxyHandler {
    cluster: Cluster,
    course: RunState,
    passage: Mutex<ProxyPolicy>,
    pub(super) refused: Mutex<Vec<String>>,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", JSON.to_owned())],
            body: body.to_string().into_bytes(),
        }
    }

    /// Returns a refusal in the format of an API server.
    pub(super) fn refusal(status: u16, reason: &str, message: &str) -> Self {
        let body = json!({
            "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": status,
        });
        Self::json(status, &body)
    }

    fn absent() -> Self {
        Self::refusal(404, "NotFound", "the release has no such object")
    }
}

impl ProxyHandler {
    pub(super) fn new(cluster: &Cluster, passage: ProxyPolicy, course: RunState) -> Self {
        Self {
            cluster: cluster.clone(),
            course,
            passage: Mutex::new(passage),
            refused: Mutex::default(),
        }
    }

    pub(super) fn passage(&self) -> MutexGuard<'_, ProxyPolicy> {
        self.passage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, words: String) -> Answer {
        let answer = Answer::refusal(403, "Forbidden", &words);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < limits::REFUSALS && !refused.contains(&words) {
            refused.push(words);
        }
        answer
    }

    /// Answers a request.
    pub(super) async fn answer(
        &self,
        request: WireRequest,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let asked = HelmRequest {
            method: &request.method,
            target: &request.target,
            content_type: request.content_type.as_deref().unwrap_or_default(),
            body: &request.body,
        };
        // The mutex is released at the end of this statement, before the request is awaited.
        let verdict = self.passage().decide(self.course.phase(), &asked);
        let answer = match verdict {
            Verdict::Pass => return self.pass(request, to).await,
            Verdict::Show(VisiblePart::Changes(group, plural)) => {
                return self.changes(&group, &plural, request, to).await;
            }
            Verdict::Look => self.look(request).await,
            Verdict::Withhold => Ok(self.withhold(&request.target)),
            Verdict::Discover(path) => self.discover(&path, request).await,
            Verdict::Show(shown) => self.show(&shown, request).await,
            Verdict::Answer(lookup) => Ok(Answer::json(lookup.status, &lookup.body)),
            Verdict::Absent => Ok(Answer::absent()),
            Verdict::Refuse(words) => Ok(self.refuse(words)),
            Verdict::Write(place, body) => self.write(place, &body, request).await,
            Verdict::Store(revision, secret) => self.store(&revision, &secret, request).await,
            Verdict::Delete(going, options) => self.delete(going, &options, request).await,
        };
        let answer = answer.unwrap_or_else(|error| unsent(&error));
        wire::begin(to, answer.status, &answer.headers).await?;
        wire::piece(to, &answer.body).await?;
        wire::end(to).await
    }

    /// Forwards a request unchanged, and returns the response unchanged.
    async fn pass(
        &self,
        request: WireRequest,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let passed = self.cluster.pass(passing(request)).await;
        let mut passed = match passed {
            Ok(passed) => passed,
            Err(error) => {
                let Answer {
                    status,
                    headers,
                    body,
                } = unsent(&error);
                wire::begin(to, status, &headers).await?;
                wire::piece(to, &body).await?;
                return wire::end(to).await;
            }
        };
        wire::begin(to, passed.status, &passed.headers).await?;
        while let Some(piece) = passed.next().await.map_err(io::Error::other)? {
            wire::piece(to, &piece).await?;
        }
        wire::end(to).await
    }

    /// Forwards a watch, and returns only the events of objects that Helm may see.
    async fn changes(
        &self,
        group: &str,
        plural: &str,
        request: WireRequest,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let mut passed = self
            .cluster
            .pass(in_json(request))
            .await
            .map_err(io::Error::other)?;
        wire::begin(to, passed.status, &passed.headers).await?;
        let mut line = Vec::new();
        while let Some(piece) = passed.next().await.map_err(io::Error::other)? {
            line.extend_from_slice(&piece);
            while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                // A watch is a stream of JSON documents, one in each line.
                let behind = line.split_off(end + 1);
                let change = std::mem::replace(&mut line, behind);
                if self.shows_change(group, plural, &change) {
                    wire::piece(to, &change).await?;
                }
            }
            if line.len() > limits::GATE_ANSWER {
                return Err(io::Error::other("an event of the watch is too large"));
            }
        }
        // The body of a failed response is not a stream of events but the reason of the failure.
        if passed.status != 200 {
            wire::piece(to, &line).await?;
        }
        wire::end(to).await
    }

    fn shows_change(&self, group: &str, plural: &str, change: &[u8]) -> bool {
        let Ok(change) = serde_json::from_slice::<Value>(change) else {
            return false;
        };
        let is_of_stream = change["type"] == "BOOKMARK" || change["type"] == "ERROR";
        is_of_stream || self.passage().shows(group, plural, &change["object"])
    }

    /// Records the refused read and responds that the object does not exist. A template that continues without it may
    /// read further objects, which are then recorded too.
    fn withhold(&self, target: &str) -> Answer {
        let mut passage = self.passage();
        if passage.withheld.len() >= limits::LOOKUPS {
            drop(passage);
            return self.refuse("its templates read more objects than the limit allows".to_owned());
        }
        passage.withheld.insert(LookupTarget::parse(target).what);
        Answer::absent()
    }

    /// Forwards a read, and records the response.
    async fn look(&self, request: WireRequest) -> Result<Answer, kubernetes::Error> {
        let target = request.target.clone();
        let (status, body) = self.ask(in_json(request)).await?;
        let lookup = Lookup { status, body };
        let answer = Answer::json(status, &lookup.body);
        let mut passage = self.passage();
        let size =
            |(target, lookup): (&String, &Lookup)| target.len() + lookup.body.to_string().len();
        let known: usize = passage.lookups.iter().map(size).sum();
        if passage.lookups.len() >= limits::LOOKUPS
            || known + answer.body.len() > limits::LOOKUPS_SIZE
        {
            drop(passage);
            return Ok(
                self.refuse("its templates read more objects than the limit allows".to_owned())
            );
        }
        // Repeated reads return the first response, so that the rendering is consistent.
        let lookup = passage.lookups.entry(target).or_insert(lookup);
        Ok(Answer::json(lookup.status, &lookup.body))
    }

    /// Forwards a discovery request, and adds the coming kinds in the format that the server has chosen.
    async fn discover(
        &self,
        path: &str,
        request: WireRequest,
    ) -> Result<Answer, kubernetes::Error> {
        let mut passed = self.cluster.pass(passing(request)).await?;
        let bytes = all_of(&mut passed).await;
        let bytes = bytes.map_err(|problem| kubernetes::Error::Answer {
            doing: format!("GET {path}"),
            problem,
        })?;
        let (status, body) = match serde_json::from_slice(&bytes) {
            Ok(body) => discovery::with(&self.passage().coming, path, passed.status, body),
            // A response in another format, such as protocol buffers, is returned unchanged.
            Err(_) => (passed.status, Value::Null),
        };
        Ok(Answer {
            status,
            headers: passed.headers,
            body: if body.is_null() {
                bytes
            } else {
                body.to_string().into_bytes()
            },
        })
    }

    /// Forwards a read, and returns the part of the response that Helm may see.
    async fn show(
        &self,
        shown: &VisiblePart,
        request: WireRequest,
    ) -> Result<Answer, kubernetes::Error> {
        let (status, mut body) = self.ask(in_json(request)).await?;
        if status != 200 {
            return Ok(Answer::json(status, &body));
        }
        let passage = self.passage();
        if *shown == VisiblePart::Revision && !passage.shows_revision(&body) {
            let name = body["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            drop(passage);
            self.refuse(format!(
                "Secret {name} is not the revision that the import stored"
            ));
            return Ok(Answer::absent());
        }
        if let Some(items) = body["items"].as_array_mut() {
            items.retain(|item| match shown {
                VisiblePart::Objects(group, plural) | VisiblePart::Changes(group, plural) => {
                    passage.shows(group, plural, item)
                }
                VisiblePart::Revision | VisiblePart::Revisions => passage.shows_revision(item),
            });
        }
        Ok(Answer::json(status, &body))
    }

    /// Writes a planned object, and remembers its UID, so that Helm may delete it.
    async fn write(
        &self,
        place: ObjectPath,
        body: &Value,
        request: WireRequest,
    ) -> Result<Answer, kubernetes::Error> {
        if !self.may_write() {
            return Ok(self.lost());
        }
        let request = WireRequest {
            body: body.to_string().into_bytes(),
            ..request
        };
        let (status, body) = self.ask(in_json(request)).await?;
        let uid = body["metadata"]["uid"].as_str().map(str::to_owned);
        if (200..300).contains(&status)
            && let Some(planned) = self.passage().objects.get_mut(&place)
        {
            planned.uid = uid;
        }
        Ok(Answer::json(status, &body))
    }

    /// Records a revision, and stores it.
    async fn store(
        &self,
        revision: &RevisionEntry,
        secret: &Value,
        request: WireRequest,
    ) -> Result<Answer, kubernetes::Error> {
        if !self.may_write() || !self.note(revision).await {
            return Ok(self.lost());
        }
        self.passage()
            .revisions
            .insert(revision.revision, revision.clone());
        let request = WireRequest {
            body: secret.to_string().into_bytes(),
            content_type: Some(JSON.to_owned()),
            ..request
        };
        let (status, body) = self.ask(in_json(request)).await?;
        if (200..300).contains(&status) {
            let stored = revision.stored(body["metadata"]["uid"].as_str());
            self.passage().revisions.insert(stored.revision, stored);
        }
        Ok(Answer::json(status, &body))
    }

    async fn delete(
        &self,
        going: HelmDeletion,
        options: &Value,
        request: WireRequest,
    ) -> Result<Answer, kubernetes::Error> {
        if !self.may_write() {
            return Ok(self.lost());
        }
        let request = WireRequest {
            body: options.to_string().into_bytes(),
            content_type: Some(JSON.to_owned()),
            ..request
        };
        let (status, body) = self.ask(in_json(request)).await?;
        if let (HelmDeletion::Revision(number), 200 | 202 | 404) = (&going, status) {
            self.passage().revisions.remove(number);
        }
        Ok(Answer::json(status, &body))
    }

    fn may_write(&self) -> bool {
        self.course
            .writing()
            .is_some_and(|writing| (writing.holds)())
    }

    fn lost(&self) -> Answer {
        self.refuse("the Lease was lost".to_owned())
    }

    async fn note(&self, revision: &RevisionEntry) -> bool {
        let Some(writing) = self.course.writing() else {
            return false;
        };
        let (done, noted) = oneshot::channel();
        let revision = revision.clone();
        let told = writing.notes.send(Note { revision, done }).await;
        told.is_ok() && noted.await.is_ok()
    }

    /// Sends a request, and reads the response as JSON.
    async fn ask(&self, passing: ForwardedRequest) -> Result<(u16, Value), kubernetes::Error> {
        let doing = format!("{} {}", passing.method, passing.target);
        let broken = |problem: String| kubernetes::Error::Answer {
            doing: doing.clone(),
            problem,
        };
        let mut passed = self.cluster.pass(passing).await?;
        let bytes = all_of(&mut passed).await.map_err(&broken)?;
        let body = serde_json::from_slice(&bytes)
            .map_err(|_| broken("the answer is not JSON".to_owned()))?;
        Ok((passed.status, body))
    }
}

async fn all_of(passed: &mut ForwardedResponse) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = passed.next().await.map_err(|error| error.to_string())? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > limits::GATE_ANSWER {
            return Err(format!("it has more than {} bytes", limits::GATE_ANSWER));
        }
    }
    Ok(bytes)
}

fn passing(request: WireRequest) -> ForwardedRequest {
    ForwardedRequest {
        method: request.method,
        target: request.target,
        accept: request.accept,
        content_type: request.content_type,
        body: request.body,
    }
}

/// Returns the request with an `Accept` header for JSON, so that the response can be inspected.
fn in_json(request: WireRequest) -> ForwardedRequest {
    ForwardedRequest {
        accept: JSON.to_owned(),
        ..passing(request)
    }
}

fn unsent(error: &kubernetes::Error) -> Answer {
    Answer::refusal(503, "ServiceUnavailable", &error.to_string())
}
