//! Requests about manifests and indexes, each sent once: read, push and delete. They follow the OCI distribution
//! specification.

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, StatusCode};
use schemas::{Digest, MediaType};
use sha2::{Digest as _, Sha256};

use crate::address::{Reference, RepositoryPath};
use crate::auth::{TokenAccess, TokenScope};
use crate::client::Client;
use crate::error::{Error, RegistryVerb};
use crate::limits;
use crate::transport::{OutgoingRequest, RequestBody};

/// A manifest or index from a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryManifest {
    /// The exact bytes.
    pub bytes: Bytes,
    /// The `Content-Type` of the answer; empty if missing.
    pub media_type: String,
    /// The digest, computed from the bytes.
    pub digest: Digest,
}

/// The outcome of deleting a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestDeletion {
    /// The manifest was deleted, with every tag that pointed to it.
    Done,
    /// The manifest did not exist.
    WasAbsent,
}

pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

impl Client {
    /// Returns the digest of a manifest. The content is read, because a registry's answer to `HEAD` does not prove that
    /// it has the content.
    pub(crate) async fn find_manifest(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
        access: TokenAccess,
    ) -> Result<Option<Digest>, Error> {
        let verb = RegistryVerb::FindManifest(reference.clone());
        let found = self
            .get_manifest(verb, repository, reference, access)
            .await?;
        Ok(found.map(|manifest| manifest.digest))
    }

    pub(crate) async fn read_manifest(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
        access: TokenAccess,
    ) -> Result<Option<RegistryManifest>, Error> {
        let verb = RegistryVerb::ReadManifest(reference.clone());
        self.get_manifest(verb, repository, reference, access).await
    }

    async fn get_manifest(
        &self,
        verb: RegistryVerb,
        repository: &RepositoryPath,
        reference: &Reference,
        access: TokenAccess,
    ) -> Result<Option<RegistryManifest>, Error> {
        let operation = self.operation(verb, Some(repository));
        let path = format!("{repository}/manifests/{reference}");
        let url = self.url(&operation, &path).await?;
        let mut ask = OutgoingRequest::new(Method::GET, url, TokenScope::new(repository, access));
        // Without this header, old registries answer with a converted schema 1 manifest, which has a different digest.
        let accepted = MediaType::ALL.map(MediaType::as_str).join(", ");
        let accepted = HeaderValue::from_str(&accepted).expect("media types are plain text");
        ask.headers.insert(ACCEPT, accepted);
        let answer = self.send(&operation, ask).await?;
        let Some(answer) = answer.found(&operation).await? else {
            return Ok(None);
        };
        let media_type = answer.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        let media_type = media_type.to_owned();
        let stated = answer.stated_digest();
        let bytes = answer.body(&operation, limits::MANIFEST_BODY).await?;
        let digest = digest_of(&bytes);
        let wanted = match reference {
            Reference::Digest(wanted) => Some(*wanted),
            Reference::Tag(_) => stated,
        };
        match wanted {
            Some(expected) if expected != digest => {
                Err(Error::other_digest(operation, expected, digest))
            }
            _ => Ok(Some(RegistryManifest {
                bytes,
                media_type,
                digest,
            })),
        }
    }

    /// Pushes these bytes unchanged and compares the digest in the registry's answer ("Pushing Manifests").
    pub(crate) async fn put_manifest(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
        media_type: &HeaderValue,
        bytes: &Bytes,
        digest: Digest,
    ) -> Result<(), Error> {
        let operation = self.operation(
            RegistryVerb::PushManifest(reference.clone()),
            Some(repository),
        );
        let path = format!("{repository}/manifests/{reference}");
        let url = self.url(&operation, &path).await?;
        let mut ask = OutgoingRequest::new(
            Method::PUT,
            url,
            TokenScope::new(repository, TokenAccess::PullPush),
        );
        ask.headers.insert(CONTENT_TYPE, media_type.clone());
        ask.body = RequestBody::Bytes(bytes.clone());
        let answer = self.send(&operation, ask).await?;
        let answer = answer.success(&operation).await?;
        match answer.stated_digest() {
            Some(actual) if actual != digest => Err(Error::other_digest(operation, digest, actual)),
            // The specification requires 201; some registries answer 202.
            _ => Ok(()),
        }
    }

    /// Deletes a manifest or index and every tag that points to it ("Deleting Manifests").
    pub(crate) async fn remove_manifest(
        &self,
        repository: &RepositoryPath,
        digest: Digest,
    ) -> Result<ManifestDeletion, Error> {
        let operation = self.operation(RegistryVerb::DeleteManifest(digest), Some(repository));
        let path = format!("{repository}/manifests/{digest}");
        let url = self.url(&operation, &path).await?;
        let scope = TokenScope::new(repository, TokenAccess::PullDelete);
        let answer = self
            .send(&operation, OutgoingRequest::new(Method::DELETE, url, scope))
            .await?;
        match answer.status() {
            StatusCode::NOT_FOUND => {
                answer.pass_over(&operation).await;
                Ok(ManifestDeletion::WasAbsent)
            }
            // The specification requires 405; registries without this operation answer 501.
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {
                answer.pass_over(&operation).await;
                let operation = Box::new(operation);
                Err(Error::KeepsAll(operation))
            }
            _ => {
                let answer = answer.success(&operation).await?;
                answer.pass_over(&operation).await;
                Ok(ManifestDeletion::Done)
            }
        }
    }
}
