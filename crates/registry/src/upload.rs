//! The upload of one blob into one repository ([`Upload::run`]). A small blob is sent in one request, a large one in
//! parts. If the registry refuses one form, the other is tried. An upload is resumed if the registry reports its
//! progress, also by a later process, and cancelled if it cannot be completed.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use progress::ProgressSink;

use crate::address::RepositoryPath;
use crate::client::Client;
use crate::error::Error;
use crate::events::{BlobArrival, Event};
use crate::journal::{JournalEntry, JournalProblem, RememberedUpload, UploadSubject};
use crate::limits;
use crate::open_upload::OpenUpload;
use crate::retry::{FailureCounts, pause};
use crate::session::{SmallerRequest, UploadSession, UploadTrouble, position};
use crate::source::{BlobSource, RangePieces};
use crate::turns::{ReadTurn, ReadTurns};

/// The upload of one blob into one repository.
pub(crate) struct Upload<'a> {
    pub(crate) client: &'a Client,
    pub(crate) repository: &'a RepositoryPath,
    pub(crate) source: &'a Arc<BlobSource>,
    pub(crate) tell: ProgressSink<'a, Event>,
    pub(crate) turns: &'a Arc<ReadTurns>,
    /// The failure of this or another upload that has ended the push.
    pub(crate) stopped: &'a OnceLock<Arc<Error>>,
}

/// The failures since the last progress.
#[derive(Default)]
struct Failures {
    failed: FailureCounts,
    /// The number of acknowledged bytes when the failures were last reset. Progress requires [`limits::PROGRESS`] more
    /// bytes: otherwise, a registry that repeatedly loses or accepts a few bytes would keep the push running forever.
    counted: u64,
    /// The number of interruptions of a request with the whole blob: some proxies close the connection on large bodies
    /// without an answer.
    breaks: u32,
    /// The size of a chunk in bytes, for this blob only.
    chunk: Option<u64>,
    /// Indicates whether the registry refused parts of this blob.
    whole: bool,
}

/// The state of an upload.
struct UploadState<'a> {
    session: Option<UploadSession>,
    /// An open upload that is not used yet.
    spare: Option<OpenUpload>,
    failures: Failures,
    /// The journal entry from which another process can resume.
    entry: Option<(JournalEntry, UploadSubject<'a>)>,
}

impl Upload<'_> {
    /// Uploads the blob. `turn` must have come. `opened` is an upload that a refused mount or the survey has opened.
    pub(crate) async fn run(
        &self,
        opened: Option<OpenUpload>,
        turn: ReadTurn,
    ) -> Result<BlobArrival, Error> {
        let mut state = self.load_remembered(opened).await;
        let mut turn = Arc::new(turn);
        loop {
            let attempt = self.attempt(&mut state, &turn).await;
            // Other blobs may be read while this one waits for its next attempt.
            drop(turn);
            let Err(trouble) = attempt else {
                return Ok(self.end_well(state).await);
            };
            let (position, failures) = (position(state.session.as_ref()), &mut state.failures);
            if position >= failures.counted.saturating_add(limits::PROGRESS) {
                failures.counted = position;
                failures.failed = FailureCounts::default();
            }
            let next = self.recover(trouble, &mut state).await;
            if let ControlFlow::Break(error) = next {
                self.end_badly(state, &error).await;
                return Err(error);
            }
            turn = Arc::new(self.turns.queue());
            turn.wait_for_turn().await;
        }
    }

    /// Loads the upload of the blob that an earlier process has left, if any.
    async fn load_remembered(&self, opened: Option<OpenUpload>) -> UploadState<'_> {
        let mut state = UploadState {
            session: opened.map(UploadSession::new),
            spare: None,
            failures: Failures::default(),
            entry: None,
        };
        let (digest, size) = (self.source.digest(), self.source.size());
        // Most registries discard the data of an aborted request, so there is nothing to resume for a blob that is sent
        // in one request.
        let in_parts = self.client.part(size).is_some();
        let Some(journal) = self.client.journal().filter(|_| in_parts) else {
            return state;
        };
        let Ok(registry) = self.client.base(&self.operation()).await else {
            return state;
        };
        let subject = UploadSubject {
            registry,
            repository: self.repository,
            digest,
            size,
        };
        let ignored = |why: JournalProblem| {
            let reason = why.to_string();
            (self.tell)(Event::JournalIgnored { reason });
        };
        if let Some((entry, remembered)) = journal.entry(&subject, &ignored) {
            if let Some(remembered) = remembered {
                // If the registry no longer knows the earlier upload, the open one is used.
                let opened = state
                    .session
                    .replace(UploadSession::resume_from(remembered));
                state.spare = opened.map(|session| session.upload);
            }
            state.entry = Some((entry, subject));
        }
        state
    }

    async fn end_well(&self, state: UploadState<'_>) -> BlobArrival {
        if let Some((entry, _)) = state.entry {
            entry.forget();
        }
        self.give_back(state.spare.map(UploadSession::new)).await;
        let resumed = state.session.and_then(|session| session.resumed);
        resumed.map_or(BlobArrival::Uploaded, |from| BlobArrival::Resumed { from })
    }

    /// Keeps an upload that another run can resume, and cancels everything else.
    async fn end_badly(&self, state: UploadState<'_>, error: &Error) {
        self.give_back(state.spare.map(UploadSession::new)).await;
        // An upload without any bytes is not worth resuming.
        let untouched =
            |session: &UploadSession| session.acknowledged == 0 && !session.is_remembered();
        // If the disk is full, an upload that stays would take up space.
        let ended_by = self.stopped.get().map_or(error, AsRef::as_ref);
        let later = error.is_retried() && !error.is_storing();
        // These errors end the push but are not about the upload.
        let later = later || matches!(error, Error::TooSlow(..) | Error::Stopped);
        let later = later && !ended_by.is_storing();
        match (state.session, state.entry) {
            (Some(session), Some(_)) if later && !untouched(&session) => {}
            (session, entry) => {
                if let Some((entry, _)) = entry {
                    entry.forget();
                }
                self.give_back(session).await;
            }
        }
    }

    /// Determines the next attempt, and waits for it.
    async fn recover(
        &self,
        trouble: UploadTrouble,
        state: &mut UploadState<'_>,
    ) -> ControlFlow<Error> {
        let UploadState {
            session, failures, ..
        } = state;
        let error = match trouble {
            UploadTrouble::Refused(smaller) => {
                match smaller {
                    SmallerRequest::Chunks(chunk) => self.client.set_chunk(chunk),
                    SmallerRequest::OnlyHere => failures.chunk = Some(limits::CHUNK),
                    SmallerRequest::Whole => failures.whole = true,
                    SmallerRequest::WholeEverywhere => self.client.refuses_parts(),
                }
                self.give_back(session.take()).await;
                return ControlFlow::Continue(());
            }
            UploadTrouble::Lost(error) => {
                self.give_back(session.take()).await;
                error
            }
            UploadTrouble::Failed(error) if !error.is_retried() => {
                return ControlFlow::Break(error);
            }
            UploadTrouble::Failed(error) => error,
        };
        // Too many requests (RFC 6585, section 4), or too much load (RFC 9110, section 15.6.4).
        let asks_for_fewer = |status: u16| matches!(status, 429 | 503);
        if matches!(&error, Error::Busy { status, .. } if asks_for_fewer(*status)) {
            self.turns.refused();
        }
        let policy = self.client.retry();
        let Some(wait) = policy.after(&mut failures.failed, &error) else {
            // If the upload of an earlier process accepts no more bytes, a new one is tried before the blob fails.
            if !session.as_ref().is_some_and(UploadSession::is_stuck) {
                return ControlFlow::Break(error);
            }
            self.give_back(session.take()).await;
            failures.failed = FailureCounts::default();
            return ControlFlow::Continue(());
        };
        if matches!(error, Error::Interrupted(..)) {
            failures.breaks += 1;
        }
        // Two interruptions are hardly a coincidence: some proxies close the connection on large bodies.
        if failures.breaks >= 2 && self.source.size() > limits::CHUNK {
            failures.chunk = Some(limits::CHUNK);
        }
        if let Some(session) = session {
            session.broken = true;
        }
        tokio::select! {
            () = pause(self.tell, &error, wait) => ControlFlow::Continue(()),
            () = self.stops() => ControlFlow::Break(Error::Stopped),
        }
    }

    fn is_stopped(&self) -> bool {
        self.client.is_stopped() || self.stopped.get().is_some()
    }

    /// Returns once the push must stop.
    async fn stops(&self) {
        while !self.is_stopped() {
            tokio::time::sleep(limits::STOP_LOOK).await;
        }
    }

    pub(crate) async fn give_back(&self, session: Option<UploadSession>) {
        if let Some(session) = session {
            let location = session.upload.location;
            self.client.cancel_upload(self.repository, location).await;
        }
    }

    async fn attempt(
        &self,
        state: &mut UploadState<'_>,
        turn: &Arc<ReadTurn>,
    ) -> Result<(), UploadTrouble> {
        let UploadState {
            session,
            spare,
            failures,
            entry,
        } = state;
        self.go_on()?;
        if session.as_ref().is_some_and(|session| session.broken) {
            self.find_position(session).await?;
        }
        let size = self.source.size();
        let chunk = self.chunk(failures);
        let from = position(session.as_ref());
        // After an offset, the rest is sent as a chunk.
        let whole = from == 0 && chunk.is_none();
        // The source is read before any request, so that an unreadable blob, or a damaged blob of one buffer, opens no
        // upload. The registry's minimum for chunks is not known before an upload is open; it is applied below.
        let smallest = session.as_ref().map_or(0, |s| s.upload.smallest_chunk);
        let mut pieces = self.read(from, chunk, smallest, turn).await?;
        if session.is_none() {
            *session = Some(UploadSession::new(self.open(spare.take()).await?));
        }
        let open = session.as_mut().expect("opened above");
        if whole {
            return self.put_whole(open, pieces).await;
        }
        while open.acknowledged < size {
            // The registry can require larger chunks than were read. It states so when it opens the upload
            // (`OCI-Chunk-Min-Length`).
            let end = self.end(open.acknowledged, chunk, open.upload.smallest_chunk);
            if pieces.range() != (open.acknowledged, end) {
                let smallest = open.upload.smallest_chunk;
                pieces = self.read(open.acknowledged, chunk, smallest, turn).await?;
            }
            // The record precedes the part: a later process rejects any claim of the registry beyond the recorded end.
            self.remember(entry.as_ref(), open, end).await;
            let by_choice = self.forced_request_size(failures).is_none() && open.resumed.is_none();
            self.patch(open, pieces, by_choice).await?;
            if open.acknowledged == size {
                break;
            }
            // No later record would include the end of this part.
            if self.is_stopped() {
                self.remember(entry.as_ref(), open, open.acknowledged).await;
            }
            self.go_on()?;
            let smallest = open.upload.smallest_chunk;
            pieces = self.read(open.acknowledged, chunk, smallest, turn).await?;
        }
        self.remember(entry.as_ref(), open, size).await;
        self.finish(open).await
    }

    fn go_on(&self) -> Result<(), Error> {
        if self.is_stopped() {
            return Err(Error::Stopped);
        }
        Ok(())
    }

    async fn open(&self, spare: Option<OpenUpload>) -> Result<OpenUpload, Error> {
        if let Some(spare) = spare {
            return Ok(spare);
        }
        let operation = self.operation();
        self.client.open_upload(&operation, self.repository).await
    }

    /// Returns the size of one request in bytes, or `None` if the blob is sent in one request.
    fn chunk(&self, failures: &Failures) -> Option<u64> {
        let by_choice = || self.client.part(self.source.size());
        let forced = self.forced_request_size(failures);
        forced.or_else(|| by_choice().filter(|_| !failures.whole))
    }

    /// Returns the size of one request in bytes if the registry or a proxy refuses larger ones.
    fn forced_request_size(&self, failures: &Failures) -> Option<u64> {
        match (failures.chunk, self.client.chunk()) {
            (Some(here), Some(everywhere)) => Some(here.min(everywhere)),
            (here, everywhere) => here.or(everywhere),
        }
    }

    /// Records the state that another process needs to resume, while the bytes up to `end` are sent.
    async fn remember(
        &self,
        entry: Option<&(JournalEntry, UploadSubject<'_>)>,
        open: &UploadSession,
        end: u64,
    ) {
        if let Some((entry, subject)) = entry {
            let known = RememberedUpload {
                upload: open.upload.clone(),
                acknowledged: open.acknowledged,
                handed: end,
            };
            entry.remember(subject, &known).await;
        }
    }

    /// Returns the end of the chunk that begins at `from`.
    fn end(&self, from: u64, chunk: Option<u64>, smallest: u64) -> u64 {
        let size = self.source.size();
        let length = chunk.unwrap_or(size).max(smallest);
        from.saturating_add(length).min(size)
    }

    async fn read(
        &self,
        from: u64,
        chunk: Option<u64>,
        smallest: u64,
        turn: &Arc<ReadTurn>,
    ) -> Result<RangePieces, Error> {
        let end = self.end(from, chunk, smallest);
        self.source.read(from, end, turn, self.client.pace()).await
    }
}
