//! The questions about blobs and manifests that others ask, each again where that may help.

use watch::Tell;

use crate::address::{Reference, Repository};
use crate::auth::Access;
use crate::client::Client;
use crate::error::{Error, Verb};
use crate::events::Event;
use crate::manifests::Manifest;

impl Client {
    /// A manifest or index, at most [`crate::limits::MANIFEST_BODY`] bytes, its digest computed from the bytes.
    pub async fn manifest(
        &self,
        repository: &Repository,
        reference: &Reference,
    ) -> Result<Option<Manifest>, Error> {
        self.retrying(|| self.read_manifest(repository, reference, Access::Pull))
            .await
    }

    /// As [`Client::manifest`], where it is an error that there is none.
    pub async fn existing_manifest(
        &self,
        repository: &Repository,
        reference: &Reference,
        tell: Tell<'_, Event>,
    ) -> Result<Manifest, Error> {
        let read = || self.read_manifest(repository, reference, Access::Pull);
        let found = match read().await {
            // Nothing was ever heard from there: the name is wrong more often than the registry is away for moments.
            Err(error @ Error::Unreachable { .. }) if !self.has_answered() => {
                return Err(error);
            }
            Err(error) if error.is_retried() => self.retrying_aloud(read, tell).await?,
            found => found?,
        };
        found.ok_or_else(|| {
            let verb = Verb::ReadManifest(reference.clone());
            let operation = Box::new(self.operation(verb, Some(repository)));
            Error::Missing { operation }
        })
    }
}
