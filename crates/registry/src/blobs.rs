//! Requests about blobs, each sent once: check whether a blob is present, mount it from another repository, open an
//! upload, and cancel it. They follow the OCI distribution specification.

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
use crate::transport::OutgoingRequest;

/// The state of a blob at a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The registry does not have the blob.
    Absent,
    /// The registry knows the digest but has no content or content of a different size. Only sending the blob again
    /// repairs it.
    Claimed,
    /// The registry has the blob: it sent the last byte.
    Present,
}

/// The outcome of a mount.
pub(crate) enum Mount {
    Mounted,
    /// The registry has opened an upload instead of mounting.
    Upload(OpenUpload),
}

impl Client {
    /// Checks for a blob by requesting its last byte ("Pulling blobs"). If the registry refuses or ignores ranges, the
    /// first byte of the full answer is read instead. `HEAD` is not used because its answer can come from a cache that
    /// outlives the content, as distribution's does after garbage collection.
    pub(crate) async fn find_blob(
        &self,
        repository: &RepositoryPath,
        digest: &Digest,
        size: u64,
        access: TokenAccess,
    ) -> Result<Presence, Error> {
        // An empty blob has no byte that could be requested, and sending it costs no more than the check.
        let Some(last) = size.checked_sub(1) else {
            return Ok(Presence::Absent);
        };
        let operation = self.operation(RegistryVerb::FindBlob(*digest), Some(repository));
        let path = format!("{repository}/blobs/{digest}");
        let url = self.url(&operation, &path).await?;
        for range in [Some(format!("bytes={last}-{last}")), None] {
            let scope = TokenScope::new(repository, access);
            let mut ask = OutgoingRequest::new(Method::GET, url.clone(), scope);
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

    /// Mounts a blob from another repository of the registry ("Mounting a blob from another repository").
    pub(crate) async fn mount_blob(
        &self,
        repository: &RepositoryPath,
        from: &RepositoryPath,
        digest: &Digest,
    ) -> Result<Mount, Error> {
        let operation = self.operation(RegistryVerb::MountBlob(*digest), Some(repository));
        let path = format!("{repository}/blobs/uploads/?mount={digest}&from={from}");
        let url = self.url(&operation, &path).await?;
        let scope = TokenScope::new(repository, TokenAccess::PullPush)
            .with_repository(from, TokenAccess::Pull);
        let answer = self
            .send(
                &operation,
                OutgoingRequest::new(Method::POST, url.clone(), scope),
            )
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
        let scope = TokenScope::new(repository, TokenAccess::PullPush);
        let answer = self
            .send(
                operation,
                OutgoingRequest::new(Method::POST, url.clone(), scope),
            )
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

    /// Cancels an upload. The result is ignored, because registries purge abandoned uploads themselves.
    pub(crate) async fn cancel_upload(&self, repository: &RepositoryPath, location: Url) {
        let operation = self.operation(RegistryVerb::CheckPush, Some(repository));
        let scope = TokenScope::new(repository, TokenAccess::PullPush);
        let ask = OutgoingRequest::new(Method::DELETE, location, scope);
        let _ = self.send(&operation, ask).await;
    }
}

/// Converts a 405, which distribution in maintenance mode (also in GitLab) and pull-through caches answer for every
/// repository.
fn read_only(error: Error) -> Error {
    match error {
        Error::Refused {
            operation,
            status: 405,
            message,
        } => Error::ReadOnly(operation, message),
        error => error,
    }
}

/// Checks whether an answer consists of the last byte of a blob of this size, or of the entire blob.
fn is_end(answer: &RegistryAnswer, last: u64, size: u64) -> bool {
    if answer.status() != StatusCode::PARTIAL_CONTENT {
        return answer.length().is_none_or(|length| length == size);
    }
    let part = answer.part();
    part.is_some_and(|(first, total)| first == last && total.is_none_or(|total| total == size))
}

/// Checks whether the body has at least one byte. Dropping the answer closes the connection with the rest of the body.
async fn begins(mut answer: RegistryAnswer, operation: &Operation) -> Result<Presence, Error> {
    loop {
        match answer.piece(operation).await {
            Ok(Some(piece)) if piece.is_empty() => {}
            Ok(Some(_)) => return Ok(Presence::Present),
            // If the content is missing, distribution closes the connection after the head.
            Ok(None) | Err(Error::Interrupted(..)) => return Ok(Presence::Claimed),
            Err(error) => return Err(error),
        }
    }
}
