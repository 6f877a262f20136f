//! The requests of an upload: sending, asking how far it got, committing it; and what each answer means.

use std::pin::pin;
use std::sync::Arc;

use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Url};

use crate::answer::{self, Purpose, RegistryAnswer};
use crate::auth::{TokenAccess, TokenScope};
use crate::error::{Error, Operation, RegistryVerb};
use crate::events::Event;
use crate::limits;
use crate::session::{Smaller, UploadSession, UploadTrouble, range_end, refused, smaller};
use crate::source::{OnSent, RangePieces};
use crate::transport::{Ask, RequestBody};
use crate::upload::Upload;

impl Upload<'_> {
    /// Sends a whole blob ("Pushing a blob monolithically", `POST` then `PUT`).
    pub(crate) async fn put_whole(
        &self,
        open: &mut UploadSession,
        pieces: RangePieces,
    ) -> Result<(), UploadTrouble> {
        let size = self.source.size();
        let ask = self.ask(Method::PUT, open.committing(self.source.digest()));
        let answer = self.send(ask, open, pieces).await?;
        if answer.status().is_success() {
            return self.committed(&answer);
        }
        let status = answer.status();
        let (error, code) = answer.into_error(&self.operation()).await;
        if matches!(error, Error::Full { .. }) {
            return Err(error.into());
        }
        // 413 is about the length (RFC 9110, clause 15.5.14). The codes of the second line are about requests of this
        // kind, whatever they carry. Of 400 and 404 the reason stays unknown, unless the registry says that it was
        // the content.
        let smaller = match status.as_u16() {
            413 => smaller(size).map(Smaller::Chunks),
            405 | 411 | 415 | 501 => Some(Smaller::Chunks(limits::CHUNK)),
            400 | 404 if code.as_deref() != Some("DIGEST_INVALID") => Some(Smaller::OnlyHere),
            _ => None,
        };
        Err(match smaller {
            Some(smaller) => UploadTrouble::Refused(smaller),
            None => refused(status, error),
        })
    }

    /// Sends a chunk ("Pushing a blob in chunks", `PATCH`).
    pub(crate) async fn patch(
        &self,
        open: &mut UploadSession,
        pieces: RangePieces,
        by_choice: bool,
    ) -> Result<(), UploadTrouble> {
        let (from, to) = pieces.range();
        let operation = self.operation();
        let mut ask = self.ask(Method::PATCH, open.upload.location.clone());
        // Not as RFC 9110 has it: without a unit and a size, and both ends belong to the chunk (distribution
        // specification, "Pushing a blob in chunks").
        let range = HeaderValue::from_str(&format!("{from}-{}", to.saturating_sub(1)));
        let range = range.expect("digits and a hyphen");
        ask.headers.insert(CONTENT_RANGE, range);
        let answer = self.send(ask, open, pieces).await?;
        let status = answer.status();
        if !status.is_success() {
            let (error, _) = answer.into_error(&operation).await;
            if matches!(error, Error::Full { .. }) {
                return Err(error.into());
            }
            let smaller = smaller(to - from).filter(|next| *next >= open.upload.smallest_chunk);
            return Err(match (smaller, status.as_u16()) {
                (Some(smaller), 413) => UploadTrouble::Refused(Smaller::Chunks(smaller)),
                // As for a whole blob; where parts were not chosen freely, there is nothing else to try.
                (_, 405 | 411 | 415 | 501) if by_choice => {
                    UploadTrouble::Refused(Smaller::WholeEverywhere)
                }
                (_, 400 | 404 | 416) if by_choice => UploadTrouble::Refused(Smaller::Whole),
                _ => refused(status, error),
            });
        }
        self.take_location(open, &answer).await?;
        // Registries that do not say how far they got have taken all of it.
        let end = answer.header("range").and_then(range_end);
        let end = end.filter(|end| *end > 1).unwrap_or(to);
        if end <= from || end > to {
            let reason = "it acknowledges bytes that were not sent";
            return Err(UploadTrouble::Lost(answer::bad(&operation, reason)));
        }
        open.acknowledged = end;
        Ok(())
    }

    pub(crate) async fn finish(&self, open: &UploadSession) -> Result<(), UploadTrouble> {
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

    fn committed(&self, answer: &RegistryAnswer) -> Result<(), UploadTrouble> {
        match answer.stated_digest() {
            Some(actual) if actual != self.source.digest() => {
                let expected = self.source.digest();
                Err(Error::other_digest(self.operation(), expected, actual).into())
            }
            _ => Ok(()),
        }
    }

    /// Streams a range. The source's own error comes first: a broken connection is only its consequence.
    async fn send(
        &self,
        ask: Ask,
        open: &UploadSession,
        pieces: RangePieces,
    ) -> Result<RegistryAnswer, Error> {
        let (from, to) = pieces.range();
        // The connection owns the body and may outlive this call, so the body cannot hold `tell`: how far it got
        // comes through a channel.
        let (body, activity, fault) = pieces.into_body(self.on_sent(open));
        let mut ask = ask;
        ask.body = RequestBody::Stream {
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

    fn on_sent(&self, open: &UploadSession) -> OnSent {
        let (sent, pace) = (open.sent.clone(), Arc::clone(self.client.pace()));
        let turns = Arc::clone(self.turns);
        Box::new(move |position| {
            let before = *sent.borrow();
            // What this upload had before is no progress.
            let bytes = position.saturating_sub(before);
            pace.moved(bytes);
            turns.moved(bytes);
            sent.send_replace(position.max(before));
        })
    }

    /// Asks how far a broken upload got (`GET` on its location). No answer that makes sense means that it is lost.
    pub(crate) async fn find_position(
        &self,
        session: &mut Option<UploadSession>,
    ) -> Result<(), Error> {
        let Some(mut open) = session.take() else {
            return Ok(());
        };
        let ask = self.ask(Method::GET, open.upload.location.clone());
        let answer = match self.client.send(&self.operation(), ask).await {
            Ok(answer) => answer,
            Err(error) => {
                // That the registry cannot be asked says nothing of the upload.
                *session = Some(open);
                return Err(error);
            }
        };
        let reach = open.reach();
        let end = answer.header("range").and_then(range_end);
        // `0-0` stands for nothing as well as for one byte, and some registries never say anything else: then what
        // was acknowledged last is the best guess, and the registry refuses it if it is wrong. Where nothing was, a
        // new upload costs less than finding out that a whole blob was added to bytes of an earlier attempt.
        let acknowledged = Some(open.acknowledged).filter(|end| *end > 0);
        let end = end.filter(|end| *end > 1).or(acknowledged);
        let end = end.filter(|end| answer.status().is_success() && *end <= reach);
        match end {
            Some(end) if self.take_location(&mut open, &answer).await.is_ok() => {
                if open.is_remembered() {
                    self.resume(&mut open, end);
                }
                open.acknowledged = end;
                open.broken = false;
                *session = Some(open);
            }
            _ => self.give_back(Some(open)).await,
        }
        Ok(())
    }

    /// The registry has these bytes of an earlier process.
    fn resume(&self, open: &mut UploadSession, from: u64) {
        open.resumed = Some(from);
        open.sent.send_replace(from);
        (self.tell)(Event::BlobResumed {
            digest: self.source.digest(),
            repository: self.repository.clone(),
            from,
            size: self.source.size(),
        });
    }

    async fn take_location(
        &self,
        open: &mut UploadSession,
        answer: &RegistryAnswer,
    ) -> Result<(), Error> {
        // Each answer names the place for the next request. Distribution 2.8 signs the offset into it: an older one
        // is refused.
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
        let scope = TokenScope::of(self.repository, TokenAccess::PullPush);
        let mut ask = Ask::new(method, url, scope);
        let kind = HeaderValue::from_static("application/octet-stream");
        ask.headers.insert(CONTENT_TYPE, kind);
        ask
    }

    pub(crate) fn operation(&self) -> Operation {
        let verb = RegistryVerb::UploadBlob(self.source.digest());
        self.client.operation(verb, Some(self.repository))
    }
}
