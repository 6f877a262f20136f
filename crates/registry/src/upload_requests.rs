//! The requests of an upload: send content, query the progress, and commit. Each function interprets the registry's
//! answer as the OCI distribution specification requires, with the deviations of known registries.

use std::pin::pin;
use std::sync::Arc;

use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Url};

use crate::answer::{self, Purpose, RegistryAnswer};
use crate::auth::{TokenAccess, TokenScope};
use crate::error::{Error, Operation, RegistryVerb};
use crate::events::Event;
use crate::limits;
use crate::session::{
    SmallerRequest, UploadSession, UploadTrouble, range_end, refused, smaller_size,
};
use crate::source::{OnSent, RangePieces};
use crate::transport::{OutgoingRequest, RequestBody};
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
        if matches!(error, Error::Full(..)) {
            return Err(error.into());
        }
        // 413 is about the length (RFC 9110, section 15.5.14). The statuses of the second arm are about this kind of
        // request, independent of its content. The reason for 400 and 404 is unknown, unless the registry's error code blames
        // the content.
        let smaller = match status.as_u16() {
            413 => smaller_size(size).map(SmallerRequest::Chunks),
            405 | 411 | 415 | 501 => Some(SmallerRequest::Chunks(limits::CHUNK)),
            400 | 404 if code.as_deref() != Some("DIGEST_INVALID") => {
                Some(SmallerRequest::OnlyHere)
            }
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
        // This header differs from RFC 9110: it has no unit and no size, and both ends are inclusive (distribution
        // specification, "Pushing a blob in chunks").
        let range = HeaderValue::from_str(&format!("{from}-{}", to.saturating_sub(1)));
        let range = range.expect("digits and a hyphen");
        ask.headers.insert(CONTENT_RANGE, range);
        let answer = self.send(ask, open, pieces).await?;
        let status = answer.status();
        if !status.is_success() {
            let (error, _) = answer.into_error(&operation).await;
            if matches!(error, Error::Full(..)) {
                return Err(error.into());
            }
            let smaller =
                smaller_size(to - from).filter(|next| *next >= open.upload.smallest_chunk);
            return Err(match (smaller, status.as_u16()) {
                (Some(smaller), 413) => UploadTrouble::Refused(SmallerRequest::Chunks(smaller)),
                // As for a whole blob. If the registry required the parts, there is no alternative.
                (_, 405 | 411 | 415 | 501) if by_choice => {
                    UploadTrouble::Refused(SmallerRequest::WholeEverywhere)
                }
                (_, 400 | 404 | 416) if by_choice => UploadTrouble::Refused(SmallerRequest::Whole),
                _ => refused(status, error),
            });
        }
        self.take_location(open, &answer).await?;
        // A registry that does not report the progress has accepted the entire chunk.
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

    /// Streams a range. An error of the source takes precedence, because the broken connection is its consequence.
    async fn send(
        &self,
        ask: OutgoingRequest,
        open: &UploadSession,
        pieces: RangePieces,
    ) -> Result<RegistryAnswer, Error> {
        let (from, to) = pieces.range();
        // The connection owns the body and can outlive this call, so the body cannot borrow `tell`. A channel reports
        // the progress instead.
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
            // Bytes that this upload has sent before are not progress.
            let bytes = position.saturating_sub(before);
            pace.count_bytes(bytes);
            turns.count_bytes(bytes);
            sent.send_replace(position.max(before));
        })
    }

    /// Queries the progress of an interrupted upload (`GET` on its location). The upload is lost if there is no usable
    /// answer.
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
                // A failed request says nothing about the upload.
                *session = Some(open);
                return Err(error);
            }
        };
        let reach = open.reach();
        let end = answer.header("range").and_then(range_end);
        // `0-0` means either no byte or one byte, and some registries never report anything else. The last acknowledged
        // offset is then the best guess, which the registry refuses if it is wrong. If nothing was acknowledged, a new
        // upload is cheaper: a wrong guess would append the whole blob to bytes of an earlier attempt.
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

    /// Records that the registry has these bytes of an earlier process.
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
        // Each answer contains the location for the next request. Distribution 2.8 signs the offset into it and refuses
        // an older one.
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

    fn ask(&self, method: Method, url: Url) -> OutgoingRequest {
        let scope = TokenScope::new(self.repository, TokenAccess::PullPush);
        let mut ask = OutgoingRequest::new(method, url, scope);
        let kind = HeaderValue::from_static("application/octet-stream");
        ask.headers.insert(CONTENT_TYPE, kind);
        ask
    }

    pub(crate) fn operation(&self) -> Operation {
        let verb = RegistryVerb::UploadBlob(self.source.digest());
        self.client.operation(verb, Some(self.repository))
    }
}
