//! One blob into one repository: whole first, in chunks where that is refused, resumed where the registry says how far
//! it got, and given back when it cannot be finished.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use tokio::sync::{Semaphore, SemaphorePermit};
use watch::Tell;

use crate::address::Repository;
use crate::answer::{self, Answer, Purpose};
use crate::auth::{Access, Scope};
use crate::blobs::OpenUpload;
use crate::client::Client;
use crate::error::{Error, Operation, Verb};
use crate::events::Event;
use crate::limits;
use crate::retry::pause;
use crate::session::{Session, Smaller, Trouble, position, range_end, refused, smaller};
use crate::source::{BlobSource, OnSent, Pieces};
use crate::transport::{Ask, Body};

/// One blob on its way into one repository.
pub(crate) struct Upload<'a> {
    pub(crate) client: &'a Client,
    pub(crate) repository: &'a Repository,
    pub(crate) source: &'a Arc<BlobSource>,
    pub(crate) tell: Tell<'a, Event>,
    /// As many permits as blobs may be read at a time.
    pub(crate) readers: &'a Semaphore,
}

/// What went wrong since the last progress.
#[derive(Default)]
struct Failures {
    count: u32,
    /// Bytes acknowledged when the failures were last forgotten. Only [`limits::PROGRESS`] more count as progress: a
    /// registry that forgets bytes and takes them again, or takes a few, would otherwise keep the push going for ever.
    counted: u64,
    /// Breaks of a whole upload: some proxies cut large bodies off without a word.
    breaks: u32,
    /// Bytes per chunk, for this blob only.
    chunk: Option<u64>,
}

impl Upload<'_> {
    /// Uploads the blob. `opened` is an upload that a refused mount or a plan has left open.
    pub(crate) async fn run(&self, opened: Option<OpenUpload>) -> Result<(), Error> {
        let mut session = opened.map(Session::new);
        let mut failures = Failures::default();
        loop {
            let reading = self.readers.acquire().await.expect("never closed");
            let attempt = self.attempt(&mut session, &failures, reading).await;
            let Err(trouble) = attempt else {
                return Ok(());
            };
            let position = position(session.as_ref());
            if position >= failures.counted.saturating_add(limits::PROGRESS) {
                failures.counted = position;
                failures.count = 0;
            }
            let next = self.recover(trouble, &mut session, &mut failures).await;
            if let ControlFlow::Break(error) = next {
                self.give_back(session).await;
                return Err(error);
            }
        }
    }

    /// Decides how to go on, and waits.
    async fn recover(
        &self,
        trouble: Trouble,
        session: &mut Option<Session>,
        failures: &mut Failures,
    ) -> ControlFlow<Error> {
        let error = match trouble {
            Trouble::Refused(smaller) => {
                match smaller {
                    Smaller::Chunks(chunk) => self.client.set_chunk(chunk),
                    Smaller::OnlyHere => failures.chunk = Some(limits::CHUNK),
                }
                self.give_back(session.take()).await;
                return ControlFlow::Continue(());
            }
            Trouble::Lost(error) => {
                self.give_back(session.take()).await;
                error
            }
            Trouble::Failed(error) if !error.is_retried() => return ControlFlow::Break(error),
            Trouble::Failed(error) => error,
        };
        failures.count += 1;
        let policy = self.client.retry();
        let Some(wait) = policy.wait(failures.count, error.retry_after()) else {
            return ControlFlow::Break(error);
        };
        if matches!(error, Error::Interrupted { .. }) {
            failures.breaks += 1;
        }
        if failures.breaks >= 2 && self.source.size() > limits::CHUNK {
            failures.chunk = Some(limits::CHUNK);
        }
        if let Some(session) = session {
            session.broken = true;
        }
        pause(self.tell, &error, wait).await;
        ControlFlow::Continue(())
    }

    async fn give_back(&self, session: Option<Session>) {
        if let Some(session) = session {
            let location = session.upload.location;
            self.client.cancel_upload(self.repository, location).await;
        }
    }

    async fn attempt(
        &self,
        session: &mut Option<Session>,
        failures: &Failures,
        reading: SemaphorePermit<'_>,
    ) -> Result<(), Trouble> {
        if session.as_ref().is_some_and(|session| session.broken) {
            self.find_position(session).await?;
        }
        let size = self.source.size();
        let chunk = match (failures.chunk, self.client.chunk()) {
            (Some(here), Some(everywhere)) => Some(here.min(everywhere)),
            (here, everywhere) => here.or(everywhere),
        };
        let from = position(session.as_ref());
        let whole = from == 0 && chunk.is_none();
        // Read before anything is asked of the registry: what is unreadable, or small and damaged, opens no upload.
        let smallest = session.as_ref().map_or(0, |s| s.upload.smallest_chunk);
        let mut pieces = self.read(from, chunk, smallest).await?;
        // What fits into one buffer has been read: others may read while it is sent.
        let _reading = Some(reading).filter(|_| size > limits::BUFFER as u64);
        if session.is_none() {
            let operation = self.operation();
            let opened = self.client.open_upload(&operation, self.repository).await?;
            *session = Some(Session::new(opened));
        }
        let open = session.as_mut().expect("opened above");
        if whole {
            return self.put_whole(open, pieces).await;
        }
        while open.acknowledged < size {
            let smallest = open.upload.smallest_chunk;
            if pieces.range()
                != (
                    open.acknowledged,
                    self.end(open.acknowledged, chunk, smallest),
                )
            {
                pieces = self.read(open.acknowledged, chunk, smallest).await?;
            }
            self.patch(open, pieces).await?;
            if open.acknowledged == size {
                break;
            }
            pieces = self.read(open.acknowledged, chunk, smallest).await?;
        }
        self.finish(open).await
    }

    /// The end of the chunk that begins at `from`.
    fn end(&self, from: u64, chunk: Option<u64>, smallest: u64) -> u64 {
        let size = self.source.size();
        let length = chunk.unwrap_or(size).max(smallest);
        from.saturating_add(length).min(size)
    }

    async fn read(&self, from: u64, chunk: Option<u64>, smallest: u64) -> Result<Pieces, Error> {
        let end = self.end(from, chunk, smallest);
        self.source.read(from, end, self.client.pace()).await
    }

    /// "Pushing a blob monolithically", `POST` then `PUT`.
    async fn put_whole(&self, open: &mut Session, pieces: Pieces) -> Result<(), Trouble> {
        let size = self.source.size();
        let ask = self.ask(Method::PUT, open.committing(self.source.digest()));
        let answer = self.send(ask, open, pieces).await?;
        if answer.status().is_success() {
            return self.committed(&answer);
        }
        let status = answer.status();
        let (error, code) = answer.into_error(&self.operation()).await;
        let smaller = match status.as_u16() {
            413 => smaller(size).map(Smaller::Chunks),
            405 | 411 | 415 | 501 => Some(Smaller::Chunks(limits::CHUNK)),
            400 | 404 if code.as_deref() != Some("DIGEST_INVALID") => Some(Smaller::OnlyHere),
            _ => None,
        };
        Err(match smaller {
            Some(smaller) => Trouble::Refused(smaller),
            None => refused(status, error),
        })
    }

    /// "Pushing a blob in chunks", `PATCH`.
    async fn patch(&self, open: &mut Session, pieces: Pieces) -> Result<(), Trouble> {
        let (from, to) = pieces.range();
        let operation = self.operation();
        let mut ask = self.ask(Method::PATCH, open.upload.location.clone());
        let range = HeaderValue::from_str(&format!("{from}-{}", to.saturating_sub(1)));
        let range = range.expect("digits and a hyphen");
        ask.headers.insert(CONTENT_RANGE, range);
        let answer = self.send(ask, open, pieces).await?;
        let status = answer.status();
        if !status.is_success() {
            let (error, _) = answer.into_error(&operation).await;
            let smaller = smaller(to - from).filter(|next| *next >= open.upload.smallest_chunk);
            return Err(match smaller {
                Some(smaller) if status == StatusCode::PAYLOAD_TOO_LARGE => {
                    Trouble::Refused(Smaller::Chunks(smaller))
                }
                _ => refused(status, error),
            });
        }
        self.take_location(open, &answer).await?;
        // Registries that do not say how far they got have taken all of it.
        let end = answer.header("range").and_then(range_end);
        let end = end.filter(|end| *end > 1).unwrap_or(to);
        if end <= from || end > to {
            let reason = "it acknowledges bytes that were not sent";
            return Err(Trouble::Lost(answer::bad(&operation, reason)));
        }
        open.acknowledged = end;
        Ok(())
    }

    async fn finish(&self, open: &Session) -> Result<(), Trouble> {
        let ask = self.ask(Method::PUT, open.committing(self.source.digest()));
        let operation = self.operation();
        let answer = self.client.send(&operation, ask).await?;
        if answer.status().is_success() {
            return self.committed(&answer);
        }
        let status = answer.status();
        let (error, _) = answer.into_error(&operation).await;
        Err(refused(status, error))
    }

    fn committed(&self, answer: &Answer) -> Result<(), Trouble> {
        match answer.stated_digest() {
            Some(actual) if actual != self.source.digest() => {
                let expected = self.source.digest();
                Err(Error::other_digest(self.operation(), expected, actual).into())
            }
            _ => Ok(()),
        }
    }

    /// Streams a range. The source's own error comes first: a broken connection is only its consequence.
    async fn send(&self, ask: Ask, open: &Session, pieces: Pieces) -> Result<Answer, Error> {
        let (from, to) = pieces.range();
        let (body, activity, fault) = pieces.into_body(self.on_sent(open));
        let mut ask = ask;
        ask.body = Body::Stream {
            body,
            size: to - from,
            activity,
        };
        let (operation, mut sent) = (self.operation(), open.sent.subscribe());
        let mut sending = pin!(self.client.send(&operation, ask));
        let answer = loop {
            tokio::select! {
                answer = &mut sending => break answer,
                Ok(()) = sent.changed() => {
                    let (digest, position) = (self.source.digest(), *sent.borrow_and_update());
                    (self.tell)(Event::BlobSent { digest, position });
                }
            }
        };
        match fault.lock().expect("no panic while held").take() {
            Some(error) => Err(error),
            None => answer,
        }
    }

    fn on_sent(&self, open: &Session) -> OnSent {
        let (sent, pace) = (open.sent.clone(), Arc::clone(self.client.pace()));
        Box::new(move |position| {
            let before = *sent.borrow();
            // What this upload had before is no progress.
            pace.moved(position.saturating_sub(before));
            sent.send_replace(position.max(before));
        })
    }

    /// Asks how far a broken upload got (`GET` on its location). No answer that makes sense means that it is lost.
    async fn find_position(&self, session: &mut Option<Session>) -> Result<(), Error> {
        let Some(mut open) = session.take() else {
            return Ok(());
        };
        let ask = self.ask(Method::GET, open.upload.location.clone());
        let answer = match self.client.send(&self.operation(), ask).await {
            Ok(answer) => answer,
            Err(error) => {
                *session = Some(open);
                return Err(error);
            }
        };
        let sent = *open.sent.borrow();
        let end = answer.header("range").and_then(range_end);
        // `0-0` stands for nothing as well as for one byte, and some registries never say anything else: then what
        // was acknowledged last is the best guess, and the registry refuses it if it is wrong. Where nothing was, a
        // new upload costs less than finding out that a whole blob was added to bytes of an earlier attempt.
        let acknowledged = Some(open.acknowledged).filter(|end| *end > 0);
        let end = end.filter(|end| *end > 1).or(acknowledged);
        let end = end.filter(|end| answer.status().is_success() && *end <= sent);
        match end {
            Some(end) if self.take_location(&mut open, &answer).await.is_ok() => {
                open.acknowledged = end;
                open.broken = false;
                *session = Some(open);
            }
            _ => self.give_back(Some(open)).await,
        }
        Ok(())
    }

    async fn take_location(&self, open: &mut Session, answer: &Answer) -> Result<(), Error> {
        if let Some(location) = answer.location() {
            let operation = self.operation();
            let registry = self.client.base(&operation).await?;
            let from = &open.upload.location;
            let location = Some(location);
            open.upload.location =
                answer::resolve(&operation, registry, from, location, Purpose::Write)?;
        }
        Ok(())
    }

    fn ask(&self, method: Method, url: Url) -> Ask {
        let scope = Scope::of(self.repository, Access::PullPush);
        let mut ask = Ask::new(method, url, scope);
        let kind = HeaderValue::from_static("application/octet-stream");
        ask.headers.insert(CONTENT_TYPE, kind);
        ask
    }

    fn operation(&self) -> Operation {
        let verb = Verb::UploadBlob(self.source.digest());
        self.client.operation(verb, Some(self.repository))
    }
}
