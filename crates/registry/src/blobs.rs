//! The requests about blobs, each sent once: find and have proven, mount, open an upload, cancel it.

use reqwest::header::{ACCEPT_ENCODING, HeaderValue, RANGE};
use reqwest::{Method, StatusCode, Url};
use schemas::Digest;

use crate::address::RepositoryPath;
use crate::answer::{self, Purpose, RegistryAnswer};
use crate::auth::{TokenAccess, TokenScope};
use crate::client::Client;
use crate::error::{Error, Operation, RegistryVerb};
use crate::limits;
use crate::open_upload::OpenUpload;
use crate::transport::Ask;

/// The state of a blob at a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The registry has nothing of it.
    Absent,
    /// The registry has its name, but not its content, or content of another size. Only sending it again can heal it.
    Claimed,
    /// The registry has it: the last byte came.
    Present,
}

/// The outcome of a mount.
pub(crate) enum Mount {
    Mounted,
    /// The registry would rather have the bytes.
    Upload(OpenUpload),
}

impl Client {
    /// Looks for a blob by asking for its last byte ("Pulling blobs"); of registries that refuse or ignore ranges for the
    /// first, and no more than that. `HEAD` would prove nothing: the answer can come from a cache that outlives the
    /// content, as distribution's does after garbage collection.
    pub(crate) async fn find_blob(
        &self,
        repository: &RepositoryPath,
        digest: &Digest,
        size: u64,
        access: TokenAccess,
    ) -> Result<Presence, Error> {
        // An empty blob has no byte that could prove it, and sending it costs no more than asking.
        let Some(last) = size.checked_sub(1) else {
            return Ok(Presence::Absent);
        };
        let operation = self.operation(RegistryVerb::FindBlob(*digest), Some(repository));
        let path = format!("{repository}/blobs/{digest}");
        let url = self.url(&operation, &path).await?;
        for range in [Some(format!("bytes={last}-{last}")), None] {
            let scope = TokenScope::of(repository, access);
            let mut ask = Ask::new(Method::GET, url.clone(), scope);
            let identity = HeaderValue::from_static("identity");
            ask.headers.insert(ACCEPT_ENCODING, identity);
            if let Some(range) = range {
                let range = HeaderValue::from_str(&range).expect("digits and a hyphen");
                ask.headers.insert(RANGE, range);
            }
            let answer = self.send(&operation, ask).await?;
            match answer.found(&operation).await {
                Ok(None) => return Ok(Presence::Absent),
                Ok(Some(answer)) if is_end(&answer, last, size) => {
                    return begins(answer, &operation).await;
                }
                Ok(Some(_)) => return Ok(Presence::Claimed),
                Err(Error::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Presence::Claimed)
    }

    /// Asks to have a blob of another repository here, too ("Mounting a blob from another repository").
    pub(crate) async fn mount_blob(
        &self,
        repository: &RepositoryPath,
        from: &RepositoryPath,
        digest: &Digest,
    ) -> Result<Mount, Error> {
        let operation = self.operation(RegistryVerb::MountBlob(*digest), Some(repository));
        let path = format!("{repository}/blobs/uploads/?mount={digest}&from={from}");
        let url = self.url(&operation, &path).await?;
        let scope = TokenScope::of(repository, TokenAccess::PullPush).and(from, TokenAccess::Pull);
        let answer = self
            .send(&operation, Ask::new(Method::POST, url.clone(), scope))
            .await?;
        let answer = answer.success(&operation).await?;
        match answer.status() {
            StatusCode::CREATED => Ok(Mount::Mounted),
            _ => Ok(Mount::Upload(self.opened(&operation, &url, &answer).await?)),
        }
    }

    /// Opens an upload ("Pushing a blob in chunks", `POST`).
    pub(crate) async fn open_upload(
        &self,
        operation: &Operation,
        repository: &RepositoryPath,
    ) -> Result<OpenUpload, Error> {
        let url = self
            .url(operation, &format!("{repository}/blobs/uploads/"))
            .await?;
        let scope = TokenScope::of(repository, TokenAccess::PullPush);
        let answer = self
            .send(operation, Ask::new(Method::POST, url.clone(), scope))
            .await?;
        let answer = answer.success(operation).await.map_err(read_only)?;
        self.opened(operation, &url, &answer).await
    }

    async fn opened(
        &self,
        operation: &Operation,
        url: &Url,
        answer: &RegistryAnswer,
    ) -> Result<OpenUpload, Error> {
        let registry = self.base(operation).await?;
        let smallest = answer
            .header("oci-chunk-min-length")
            .and_then(|n| n.parse().ok());
        Ok(OpenUpload {
            location: answer::resolve(operation, registry, url, answer.location(), Purpose::Write)?,
            smallest_chunk: smallest.unwrap_or(0).min(limits::CHUNK_LARGEST),
        })
    }

    /// Gives an upload back. Whether it works changes nothing for anybody: registries purge abandoned uploads.
    pub(crate) async fn cancel_upload(&self, repository: &RepositoryPath, location: Url) {
        let operation = self.operation(RegistryVerb::CheckPush, Some(repository));
        let scope = TokenScope::of(repository, TokenAccess::PullPush);
        let ask = Ask::new(Method::DELETE, location, scope);
        let _ = self.send(&operation, ask).await;
    }
}

/// Distribution in maintenance (and so GitLab), and caches of other registries, do not allow this method, whatever the
/// repository.
fn read_only(error: Error) -> Error {
    match error {
        Error::Refused {
            operation,
            status: 405,
            message,
        } => Error::ReadOnly { operation, message },
        error => error,
    }
}

/// Whether an answer is the last byte of a blob of this size, or all of it.
fn is_end(answer: &RegistryAnswer, last: u64, size: u64) -> bool {
    if answer.status() != StatusCode::PARTIAL_CONTENT {
        return answer.length().is_none_or(|length| length == size);
    }
    let part = answer.part();
    part.is_some_and(|(first, total)| first == last && total.is_none_or(|total| total == size))
}

/// Whether anything comes. The connection is closed with what does not interest of it.
async fn begins(mut answer: RegistryAnswer, operation: &Operation) -> Result<Presence, Error> {
    loop {
        match answer.piece(operation).await {
            Ok(Some(piece)) if piece.is_empty() => {}
            Ok(Some(_)) => return Ok(Presence::Present),
            // Where the content is gone, distribution breaks off after the head.
            Ok(None) | Err(Error::Interrupted { .. }) => return Ok(Presence::Claimed),
            Err(error) => return Err(error),
        }
    }
}
