//! The archive of a version that a registry keeps, and who vouches for it where no cluster has a record of it.

use archive::{Listed, Medium, Opened};
use registry::Client;
use schemas::{Digest, KeyId, SolutionId};
use validator::{Report, Signatures};
use watch::Cancel;

use crate::artifact::kept_archives;
use crate::error::Error;

/// An archive that a registry keeps.
#[derive(Debug)]
pub struct KeptArchive {
    /// The version that it is of.
    pub id: SolutionId,
    /// The id of the archive.
    pub archive_id: Digest,
    /// The signatures that it needs; none if its id says it all.
    pub signatures: Option<Signatures>,
}

/// The head of an archive that is the one that was asked for.
#[derive(Debug)]
pub struct Head {
    /// The archive's files.
    pub listed: Listed,
    /// The keys whose signatures it has.
    pub signed_by: Vec<KeyId>,
}

/// Returns the id of the archive of a version that a registry keeps; fails unless it is one.
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

impl KeptArchive {
    /// Reads the head of the archive as the list of its files; the report if nobody vouches for it.
    pub fn judge(
        &self,
        medium: Medium,
        cancel: Cancel<'_>,
    ) -> Result<Result<Head, Box<Report>>, Error> {
        let path = medium.path().to_owned();
        let opened = Opened::read(medium)?;
        let mut trusted = opened.recognise(self.archive_id, None)?;
        if let Some(signatures) = self.signatures.clone() {
            match validator::vouch(&opened, signatures, &path)? {
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
        Ok(Ok(Head { listed, signed_by }))
    }
}
