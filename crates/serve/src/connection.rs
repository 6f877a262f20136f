//! The handling of one connection: [`serve_connection`] answers each request before it reads the next one.
//!
//! These are the attacks of a client, with the limit for each:
//! - A head that never ends or is sent byte by byte: [`limits::HEAD`], [`limits::HEAD_WITHIN`].
//! - A connection that is kept open without requests: [`limits::IDLE`].
//! - An answer that is received byte by byte: [`limits::PIECE_WITHIN`] for each piece.
//! - A body that could be interpreted as a request: bodies are never read, the connection is closed instead.
//!
//! The memory for a connection is that of one head and one piece.

use std::io;
use std::ops::Range;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::answer::{AnswerBody, AnswerStatus, Code, HttpAnswer};
use crate::compare::FileStamp;
use crate::connections::ClientConnection;
use crate::content::ServedBlob;
use crate::head::{self, ConnectionFate, HeadError, Method, RequestHead};
use crate::limits;
use crate::respond::respond;
use crate::shared::{AccessRecord, Event, SharedState};
use crate::wire::{ServerWire, read_file, send_file};

/// The result of reading a head: a request, an error answer for a late or malformed head, or the end of the connection.
enum NextHead {
    Head(RequestHead),
    Refused(HttpAnswer),
    End,
}

/// An open connection.
struct Conversation<'a> {
    shared: &'a SharedState,
    wire: ServerWire,
    guest: ClientConnection,
    ending: watch::Receiver<bool>,
    /// Received bytes that are not parsed yet.
    came: Vec<u8>,
    /// The buffer for a piece of a blob.
    piece: Vec<u8>,
}

/// Answers requests until the client or the server ends the connection.
pub(crate) async fn serve_connection(
    shared: &SharedState,
    wire: ServerWire,
    guest: ClientConnection,
    ending: watch::Receiver<bool>,
) {
    let mut conversation = Conversation {
        shared,
        wire,
        guest,
        ending,
        came: Vec::new(),
        piece: Vec::new(),
    };
    loop {
        let (head, answer) = match conversation.next().await {
            NextHead::End => return,
            NextHead::Head(head) => (head, None),
            NextHead::Refused(answer) => {
                let head = RequestHead {
                    then: ConnectionFate::Close,
                    ..RequestHead::default()
                };
                (head, Some(answer))
            }
        };
        match conversation.answer(&head, answer).await {
            Err(_) => return,
            Ok(ConnectionFate::Keep) => {}
            Ok(ConnectionFate::Close) => return conversation.part().await,
        }
    }
}

impl Conversation<'_> {
    /// Reads the head of the next request.
    async fn next(&mut self) -> NextHead {
        if self.came.is_empty() {
            let read = self.wire.read(&mut self.came, limits::HEAD);
            // Between requests, the connection ends as soon as the server does.
            let read = tokio::select! {
                read = timeout(limits::IDLE, read) => read,
                _ = self.ending.wait_for(|ending| *ending) => return NextHead::End,
            };
            match read {
                Ok(Ok(1..)) => {}
                Ok(Ok(0) | Err(_)) | Err(_) => return NextHead::End,
            }
        }
        match timeout(limits::HEAD_WITHIN, self.head()).await {
            Ok(next) => next,
            Err(_) => NextHead::Refused(HttpAnswer::error_as(
                AnswerStatus::RequestTimeout,
                Code::Unsupported,
                "the request was not received in time",
            )),
        }
    }

    async fn head(&mut self) -> NextHead {
        let refused = |status, message| {
            NextHead::Refused(HttpAnswer::error_as(status, Code::Unsupported, message))
        };
        loop {
            match head::read(&self.came) {
                Ok(Some((head, length))) => {
                    self.came.drain(..length);
                    return NextHead::Head(head);
                }
                Ok(None) => {}
                Err(HeadError::Grammar) => {
                    return refused(AnswerStatus::BadRequest, "this is not HTTP");
                }
                Err(HeadError::Version) => {
                    return refused(
                        AnswerStatus::VersionNotSupported,
                        "only HTTP/1.1 is supported",
                    );
                }
                Err(HeadError::TooMany) => {
                    return refused(AnswerStatus::HeadTooLarge, "too many fields");
                }
            }
            let room = limits::HEAD.saturating_sub(self.came.len());
            if room == 0 {
                return refused(AnswerStatus::HeadTooLarge, "the head is too large");
            }
            match self.wire.read(&mut self.came, room).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return NextHead::End,
            }
        }
    }

    /// Answers a request and reports it to the listener.
    async fn answer(
        &mut self,
        head: &RequestHead,
        answer: Option<HttpAnswer>,
    ) -> io::Result<ConnectionFate> {
        let started = Instant::now();
        let (answer, stamp) = match answer {
            Some(answer) => (answer, None),
            None => self.find(head).await,
        };
        let then = if *self.ending.borrow() {
            ConnectionFate::Close
        } else {
            head.then
        };
        let mut sent = 0;
        let result = self.send(&answer, stamp, head, then, &mut sent).await;
        let status = answer.status.code();
        self.shared.metrics.answered(status, sent);
        if result.is_err() {
            self.shared.metrics.count_broken_answer();
        }
        (self.shared.tell)(Event::Access(AccessRecord {
            peer: self.guest.peer(),
            method: head.method.as_str(),
            target: shorten_target(&head.target),
            status,
            bytes: sent,
            took: started.elapsed(),
            broken: result.as_ref().err(),
        }));
        result.map(|()| then)
    }

    /// Returns the answer to a request. For a verified blob, it also returns the stamp that its file must keep.
    async fn find(&mut self, head: &RequestHead) -> (HttpAnswer, Option<FileStamp>) {
        let shared = self.shared;
        let authorization = head.fields.authorization.as_deref();
        // Without the login, nothing is served, including the metrics.
        if let Some(login) = &shared.login
            && !self.guest.logs_in(login, authorization).await
        {
            let refusal = HttpAnswer::error(Code::Unauthorized, "this registry requires a login");
            let realm = "Basic realm=\"solution\", charset=\"UTF-8\"";
            return (refusal.with("WWW-Authenticate", realm), None);
        }
        let answer = respond(head, &shared.content(), &shared.metrics);
        let (AnswerBody::Blob { blob, .. }, Some(compared), Method::Get) =
            (&answer.body, &shared.compared, &head.method)
        else {
            return (answer, None);
        };
        match compared.stamp(blob).await {
            Ok(stamp) => (answer, Some(stamp)),
            Err(unfit) => {
                shared.metrics.damaged();
                (shared.tell)(Event::Unfit(&blob.digest, &unfit));
                let message = "the blob does not match its signed digest, or cannot be read";
                (HttpAnswer::error(Code::Unknown, message), None)
            }
        }
    }

    async fn send(
        &mut self,
        answer: &HttpAnswer,
        stamp: Option<FileStamp>,
        head: &RequestHead,
        then: ConnectionFate,
        sent: &mut u64,
    ) -> io::Result<()> {
        let mut first = answer.head(then).into_bytes();
        if answer.follows(&head.method) == 0 {
            return self.write(&first).await;
        }
        match &answer.body {
            AnswerBody::None => self.write(&first).await,
            AnswerBody::Bytes(bytes) => {
                first.extend_from_slice(bytes);
                self.write(&first).await?;
                *sent = bytes.len() as u64;
                Ok(())
            }
            AnswerBody::Document(document) => {
                first.extend_from_slice(&document.bytes);
                self.write(&first).await?;
                *sent = document.bytes.len() as u64;
                Ok(())
            }
            AnswerBody::Blob { blob, from, to } => {
                self.write(&first).await?;
                let result = self.send_blob(blob, *from..*to, stamp, sent).await;
                // An idle connection keeps no buffer for pieces.
                self.piece = Vec::new();
                result
            }
        }
    }

    /// Sends a range of a blob and counts the bytes. If reading fails, the connection is closed, so that the client
    /// notices that it received less than announced.
    async fn send_blob(
        &mut self,
        blob: &ServedBlob,
        wanted: Range<u64>,
        stamp: Option<FileStamp>,
        sent: &mut u64,
    ) -> io::Result<()> {
        while wanted.start + *sent < wanted.end {
            let from = wanted.start + *sent;
            let (offset, left) = (blob.offset + from, wanted.end - from);
            *sent += match (&self.wire, stamp) {
                (ServerWire::Plain(stream), None) => {
                    in_time(send_file(stream, &blob.file, offset, left)).await?
                }
                (ServerWire::Tls(_), _) | (ServerWire::Plain(_), Some(_)) => {
                    let buffer = std::mem::take(&mut self.piece);
                    let piece = read_file(buffer, &blob.file, offset, left).await?;
                    // The stamp is compared after the read, to detect every modification before it.
                    if let Some(stamp) = stamp
                        && stamp != FileStamp::from_file(&blob.file)?
                    {
                        return Err(io::Error::other("the file was changed while it was sent"));
                    }
                    self.write(&piece).await?;
                    self.piece = piece;
                    self.piece.len() as u64
                }
            };
        }
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        in_time(self.wire.write(bytes)).await
    }

    /// Closes a connection so that the client receives the last answer, even if it is still sending a body that is
    /// never processed. If the connection were closed at once, the kernel would discard the answer.
    async fn part(&mut self) {
        let parting = async {
            self.wire.finish().await?;
            let mut read = 0;
            while read < limits::PARTING {
                self.came.clear();
                match self.wire.read(&mut self.came, limits::HEAD).await? {
                    0 => break,
                    more => read += more,
                }
            }
            io::Result::Ok(())
        };
        let _ = timeout(limits::PARTING_WITHIN, parting).await;
    }
}

async fn in_time<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    timeout(limits::PIECE_WITHIN, work).await.map_err(late)?
}

/// Returns a target for the log, truncated if it is long.
fn shorten_target(target: &str) -> &str {
    let end = target.floor_char_boundary(limits::SHOWN);
    &target[..end]
}
