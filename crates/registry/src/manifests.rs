//! The requests about manifests and indexes, each sent once.

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
use crate::transport::{Ask, RequestBody};

/// A manifest or index as a registry holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryManifest {
    /// The exact bytes.
    pub bytes: Bytes,
    /// The `Content-Type` as answered; empty if missing.
    pub media_type: String,
    /// The digest, computed from the bytes.
    pub digest: Digest,
}

/// The outcome for a manifest that was to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestDeletion {
    /// The manifest is gone, with every tag that pointed to it.
    Done,
    /// The manifest was not there.
    WasAbsent,
}

pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

impl Client {
    /// The digest of a manifest. It is read: what a registry says of it without giving it proves nothing.
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
        let mut ask = Ask::new(Method::GET, url, TokenScope::of(repository, access));
        // Without the list, old registries answer with a converted schema 1 manifest, which has another digest.
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

    /// Pushes exactly these bytes and compares the digest that the registry answers ("Pushing Manifests").
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
        let mut ask = Ask::new(
            Method::PUT,
            url,
            TokenScope::of(repository, TokenAccess::PullPush),
        );
        ask.headers.insert(CONTENT_TYPE, media_type.clone());
        ask.body = RequestBody::Bytes(bytes.clone());
        let answer = self.send(&operation, ask).await?;
        let answer = answer.success(&operation).await?;
        match answer.stated_digest() {
            Some(actual) if actual != digest => Err(Error::other_digest(operation, digest, actual)),
            // 201 by the specification; 202 from some registries.
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
        let scope = TokenScope::of(repository, TokenAccess::PullDelete);
        let answer = self
            .send(&operation, Ask::new(Method::DELETE, url, scope))
            .await?;
        match answer.status() {
            StatusCode::NOT_FOUND => {
                answer.pass_over(&operation).await;
                Ok(ManifestDeletion::WasAbsent)
            }
            // The specification's word for it; 501 from registries that have no such operation.
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {
                answer.pass_over(&operation).await;
                let operation = Box::new(operation);
                Err(Error::KeepsAll { operation })
            }
            _ => {
                let answer = answer.success(&operation).await?;
                answer.pass_over(&operation).await;
                Ok(ManifestDeletion::Done)
            }
        }
    }
}
