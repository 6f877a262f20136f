//! Archives in a registry that no cluster has a record of. [`RegistryArchive::validate`] reads the head of one and verifies
//! its signatures.

use archive::{ListedArchive, Medium, OpenedArchive};
use progress::Cancel;
use registry::Client;
use schemas::{Digest, KeyId, SolutionId};
use validator::{Report, SignaturePolicy};

use crate::artifact::kept_archives;
use crate::error::Error;

/// An archive in a registry.
#[derive(Debug)]
pub struct RegistryArchive {
    /// The version.
    pub id: SolutionId,
    /// The id of the archive.
    pub archive_id: Digest,
    /// The required signatures; `None` if the archive id is trusted by itself.
    pub signatures: Option<SignaturePolicy>,
}

/// The head of an archive, verified to be the requested one.
#[derive(Debug)]
pub struct ArchiveHead {
    /// The archive's files.
    pub listed: ListedArchive,
    /// The keys that signed the archive.
    pub signed_by: Vec<KeyId>,
}

/// Returns the id of the only archive of a version in a registry. Fails if there is none or more than one.
pub async fn only_archive(client: &Client, id: &SolutionId) -> Result<Digest, Error> {
    let registry = client.address().to_string();
    let id = id.clone();
    match kept_archives(client, &id).await?.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::KeepsNone { registry, id }),
        several => Err(Error::KeepsSeveral {
            registry,
            id,
            archives: several.to_vec(),
        }),
    }
}

impl RegistryArchive {
    /// Reads the list of files from the head of the archive. Returns the report if the signatures are not sufficient.
    pub fn validate(
        &self,
        medium: Medium,
        cancel: Cancel<'_>,
    ) -> Result<Result<ArchiveHead, Box<Report>>, Error> {
        let path = medium.path().to_owned();
        let opened = OpenedArchive::read(medium)?;
        let mut trusted = opened.recognise(self.archive_id, None)?;
        if let Some(signatures) = self.signatures.clone() {
            match validator::verify_signatures(&opened, signatures, &path)? {
                Ok(vouched) => trusted = vouched,
                Err(report) => return Ok(Err(report)),
            }
        }
        let found = &trusted.statement().predicate.id;
        if *found != self.id {
            return Err(Error::OtherSolution {
                archive_id: self.archive_id,
                found: Box::new(found.clone()),
                id: Box::new(self.id.clone()),
            });
        }
        let signatures = opened.envelope().signatures();
        let signed_by = signatures.map(|signature| signature.key_id).collect();
        let listed = trusted.list_unless(cancel)?;
        Ok(Ok(ArchiveHead { listed, signed_by }))
    }
}
