//! Adds signatures to an archive that exists: in its place, beside it where the medium cannot be written, or to the
//! statement alone, which travels to those who sign it more easily than the archive does.
//!
//! Everything is read and written through one handle, locked against others who sign the same archive at the same time.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schemas::{Digest, Envelope, EnvelopeSignature, PayloadType, SolutionId, Statement, limits};
use signing::{PublicKey, SecretKey};

use crate::layout::STATEMENT_OFFSET;
use crate::medium::{Medium, MediumAccess};
use crate::{OpenError, Opened, temporary};

/// The destination of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The archive, or the statement alone, itself.
    Inside,
    /// The envelope beside the archive ([`detached_path`]); the archive is only read.
    Beside,
    /// Nothing: only the payload is wanted.
    Nowhere,
}

/// An archive that gets signatures. The image is exactly what its list says, and everybody reads the same in its
/// images' documents; other data is not read, which is for the caller to do first. A key that signed already is
/// refused. Nothing is written before [`Signable::write`].
#[derive(Debug)]
pub struct Signable {
    opened: Opened,
    statement: Statement,
    subject: SigningSubject,
    target: SignatureTarget,
}

/// The thing that was opened to be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningSubject {
    /// An archive.
    Archive,
    /// Its statement alone: who signs it cannot see what it is about.
    Statement,
}

/// The place that the signatures are written to.
#[derive(Debug)]
enum SignatureTarget {
    /// At this byte of the file that was opened.
    Inside(u64),
    /// Into the envelope beside the archive, which holds these already.
    Beside(PathBuf, Envelope),
    Nowhere,
}

/// Returns where signatures lie beside an archive: `<archive>.dsse.json`.
#[must_use]
pub fn detached_path(archive: &Path) -> PathBuf {
    let mut path = archive.as_os_str().to_owned();
    path.push(".dsse.json");
    PathBuf::from(path)
}

/// The signatures beside an archive, if there are any.
pub fn read_detached(archive: &Path) -> Result<Option<Envelope>, OpenError> {
    let path = detached_path(archive);
    let medium = match Medium::open(&path) {
        Ok(medium) => medium,
        Err(OpenError::Open { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let envelope = read_envelope(&medium)?;
    Ok(Some(envelope))
}

/// The envelope that is all of a file.
fn read_envelope(medium: &Medium) -> Result<Envelope, OpenError> {
    let malformed = |error| OpenError::Detached {
        path: medium.path.clone(),
        source: error,
    };
    if medium.size != limits::ENVELOPE_SIZE as u64 {
        let size = usize::try_from(medium.size).unwrap_or(usize::MAX);
        return Err(malformed(schemas::EnvelopeError::Size(
            size,
            PayloadType::Statement,
        )));
    }
    let mut bytes = vec![0; limits::ENVELOPE_SIZE];
    medium.read(&mut bytes, 0)?;
    Envelope::from_slice(&bytes).map_err(malformed)
}

impl Signable {
    /// Opens an archive, or a statement alone: a copy of the archive's `statement.dsse.json`, which no archive is as
    /// small as.
    pub fn open(path: &Path, destination: Destination) -> Result<Self, OpenError> {
        let access = match destination {
            Destination::Inside => MediumAccess::Write,
            Destination::Beside | Destination::Nowhere => MediumAccess::Read,
        };
        let medium = Medium::open_for(path, access)?;
        medium.lock()?;
        let alone = medium.is_file() && medium.size == limits::ENVELOPE_SIZE as u64;
        let (mut opened, statement) = if alone {
            let envelope = read_envelope(&medium)?;
            let opened = Opened::from_envelope(medium, envelope);
            let statement = opened.skip_signature()?.statement().clone();
            (opened, statement)
        } else {
            let opened = Opened::read(medium)?;
            let listed = opened.skip_signature()?.list()?;
            listed.check_documents()?;
            let statement = listed.statement().clone();
            (opened, statement)
        };
        let target = match destination {
            Destination::Inside => {
                SignatureTarget::Inside(if alone { 0 } else { STATEMENT_OFFSET })
            }
            Destination::Nowhere => SignatureTarget::Nowhere,
            Destination::Beside if alone => return Err(OpenError::StatementAlone(path.to_owned())),
            Destination::Beside => beside(path, &mut opened)?,
        };
        Ok(Self {
            opened,
            statement,
            subject: if alone {
                SigningSubject::Statement
            } else {
                SigningSubject::Archive
            },
            target,
        })
    }

    /// Returns the Solution that the statement is about.
    #[must_use]
    pub fn id(&self) -> &SolutionId {
        &self.statement.predicate.id
    }

    /// The SHA-256 of the payload.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        self.opened.archive_id()
    }

    /// The bytes of the statement.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.opened.envelope().payload()
    }

    /// Returns what was opened.
    #[must_use]
    pub fn subject(&self) -> SigningSubject {
        self.subject
    }

    /// Signs with one more key.
    pub fn sign(&mut self, key: &SecretKey) -> Result<(), OpenError> {
        let signature = key.sign(PayloadType::Statement, self.payload());
        self.add(signature)
    }

    /// Adds a signature that was made elsewhere (over the pre-authentication encoding of the payload), after verifying it
    /// with its public key.
    pub fn attach(&mut self, key: &PublicKey, bytes: Vec<u8>) -> Result<(), OpenError> {
        let signature = EnvelopeSignature {
            key_id: key.id(),
            bytes,
        };
        if !key.verifies(PayloadType::Statement, self.payload(), &signature) {
            return Err(OpenError::WrongSignature);
        }
        self.add(signature)
    }

    fn add(&mut self, signature: EnvelopeSignature) -> Result<(), OpenError> {
        // One key signs once, wherever its signature lies; and all must fit where a reader puts them together.
        self.opened
            .envelope
            .add(signature.clone())
            .map_err(OpenError::Sign)?;
        match &mut self.target {
            SignatureTarget::Beside(_, envelope) => {
                envelope.add(signature).map_err(OpenError::Sign)
            }
            SignatureTarget::Inside(_) | SignatureTarget::Nowhere => Ok(()),
        }
    }

    /// Writes the envelope with one write and one sync, or a new file in the place of the one beside the archive.
    pub fn write(&self) -> Result<(), OpenError> {
        match &self.target {
            SignatureTarget::Inside(offset) => self
                .opened
                .medium
                .write_and_sync(&self.opened.envelope.to_bytes(), *offset),
            SignatureTarget::Beside(path, envelope) => {
                replace(path, &envelope.to_bytes()).map_err(|source| OpenError::Detach {
                    path: path.clone(),
                    source,
                })
            }
            SignatureTarget::Nowhere => Ok(()),
        }
    }
}

/// The envelope beside an archive as it is. Its signatures count for the archive from here on.
fn beside(path: &Path, opened: &mut Opened) -> Result<SignatureTarget, OpenError> {
    let there = match read_detached(path)? {
        Some(there) => {
            opened.attach(&there)?;
            there
        }
        None => Envelope::new(opened.envelope().payload().to_vec()).map_err(OpenError::Sign)?,
    };
    Ok(SignatureTarget::Beside(detached_path(path), there))
}

/// Replaces a file by another in one step.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = temporary::beside(path)?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    temporary::directory(path)?.map_or(Ok(()), |directory| directory.sync_all())
}
