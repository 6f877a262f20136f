//! The requests about blobs, each sent once: find, mount, open an upload, cancel it.

use reqwest::{Method, StatusCode, Url};
use schemas::Digest;

use crate::address::Repository;
use crate::answer::{self, Answer, Purpose};
use crate::auth::{Access, Scope};
use crate::client::Client;
use crate::error::{Error, Operation, Verb};
use crate::transport::Ask;
use crate::{limits, origin};

/// A blob in a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes, where the registry says so.
    pub(crate) size: Option<u64>,
}

/// An open upload. The location is a permission to write and has no text form in errors.
#[derive(Clone)]
pub(crate) struct OpenUpload {
    pub(crate) location: Url,
    /// The smallest chunk that the registry takes (`OCI-Chunk-Min-Length`), in bytes.
    pub(crate) smallest_chunk: u64,
}

/// What came of a mount.
pub(crate) enum Mount {
    Mounted,
    /// The registry would rather have the bytes.
    Upload(OpenUpload),
}

impl Client {
    /// Looks for a blob (distribution specification, "Checking if content exists in the registry").
    pub(crate) async fn find_blob(
        &self,
        repository: &Repository,
        digest: &Digest,
        access: Access,
    ) -> Result<Option<Found>, Error> {
        let operation = self.operation(Verb::FindBlob(*digest), Some(repository));
        let url = self
            .url(&operation, &format!("{repository}/blobs/{digest}"))
            .await?;
        let scope = Scope::of(repository, access);
        let answer = self
            .send(&operation, Ask::new(Method::HEAD, url, scope))
            .await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = answer.success(&operation).await?;
        let size = answer.header("content-length").and_then(|n| n.parse().ok());
        Ok(Some(Found { size }))
    }

    /// Asks to have a blob of another repository here, too ("Mounting a blob from another repository").
    pub(crate) async fn mount_blob(
        &self,
        repository: &Repository,
        from: &Repository,
        digest: &Digest,
    ) -> Result<Mount, Error> {
        let operation = self.operation(Verb::MountBlob(*digest), Some(repository));
        let path = format!("{repository}/blobs/uploads/?mount={digest}&from={from}");
        let url = self.url(&operation, &path).await?;
        let scope = Scope::of(repository, Access::PullPush).and(from, Access::Pull);
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
        repository: &Repository,
    ) -> Result<OpenUpload, Error> {
        let url = self
            .url(operation, &format!("{repository}/blobs/uploads/"))
            .await?;
        let scope = Scope::of(repository, Access::PullPush);
        let answer = self
            .send(operation, Ask::new(Method::POST, url.clone(), scope))
            .await?;
        let answer = answer.success(operation).await?;
        self.opened(operation, &url, &answer).await
    }

    async fn opened(
        &self,
        operation: &Operation,
        url: &Url,
        answer: &Answer,
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

    /// Gives an upload back. Whether it works changes nothing for anybody: registries purge abandoned uploads. Nothing is
    /// deleted at another origin: there, whoever answers for the registry could have named anything.
    pub(crate) async fn cancel_upload(&self, repository: &Repository, location: Url) {
        let operation = self.operation(Verb::CheckPush, Some(repository));
        let registry = self.base(&operation).await;
        if !registry.is_ok_and(|registry| origin::is_same(&location, registry)) {
            return;
        }
        let scope = Scope::of(repository, Access::PullPush);
        let ask = Ask::new(Method::DELETE, location, scope);
        let _ = self.send(&operation, ask).await;
    }
}
