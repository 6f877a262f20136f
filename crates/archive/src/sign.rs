//! Adds signatures to an existing archive: [`SignableArchive`].
//!
//! A signature is written into the archive, into a file next to it if the medium is read-only, or into a copy of the
//! statement alone, which is easier to send to a signer than the archive ([`Destination`]). Everything is read and
//! written through one file handle, which is locked against concurrent signers of the same archive.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schemas::{Digest, Envelope, EnvelopeSignature, PayloadType, SolutionId, Statement, limits};
use signing::{PublicKey, SecretKey};

use crate::layout::STATEMENT_OFFSET;
use crate::medium::{Medium, MediumAccess};
use crate::{OpenError, OpenedArchive, temporary};

/// The destination of new signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The opened file itself: an archive or a statement alone.
    Inside,
    /// The envelope next to the archive ([`detached_path`]). The archive is only read.
    Beside,
    /// None: the caller only needs the payload.
    Nowhere,
}

/// An archive that is being signed. Opening it checks that the image matches its list and that its image documents are
/// unambiguous. Other data is not read: the caller verifies it first. A key that has already signed is refused. Nothing
/// is written before [`SignableArchive::write`].
#[derive(Debug)]
pub struct SignableArchive {
    opened: OpenedArchive,
    statement: Statement,
    subject: SigningSubject,
    target: SignatureTarget,
}

/// The kind of file that was opened for signing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningSubject {
    /// An archive.
    Archive,
    /// A statement without its archive. Its signer cannot inspect the contents that it describes.
    Statement,
}

/// The place where the signatures are written.
#[derive(Debug)]
enum SignatureTarget {
    /// The opened file, at this byte offset.
    Inside(u64),
    /// The envelope next to the archive, with its existing signatures.
    Beside(PathBuf, Envelope),
    Nowhere,
}

/// Returns the path of an archive's detached signatures: `<archive>.dsse.json`.
#[must_use]
pub fn detached_path(archive: &Path) -> PathBuf {
    let mut path = archive.as_os_str().to_owned();
    path.push(".dsse.json");
    PathBuf::from(path)
}

/// Reads the detached signatures of an archive, if they exist.
pub fn read_detached(archive: &Path) -> Result<Option<Envelope>, OpenError> {
    let path = detached_path(archive);
    let medium = match Medium::open(&path) {
        Ok(medium) => medium,
        Err(OpenError::Open(_, source)) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let envelope = read_envelope(&medium)?;
    Ok(Some(envelope))
}

/// Reads an envelope that is an entire file.
fn read_envelope(medium: &Medium) -> Result<Envelope, OpenError> {
    let malformed = |error| OpenError::Detached(medium.path.clone(), error);
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

impl SignableArchive {
    /// Opens an archive, or a statement alone: a copy of the archive's `statement.dsse.json`. Its size identifies it,
    /// because every archive is larger.
    pub fn open(path: &Path, destination: Destination) -> Result<Self, OpenError> {
        let access = match destination {
            Destination::Inside => MediumAccess::Write,
            Destination::Beside | Destination::Nowhere => MediumAccess::Read,
        };
        let medium = Medium::open_for(path, access)?;
        // The lock is taken before anything is read, so that no concurrent signature is overwritten.
        medium.lock()?;
        let alone = medium.is_file() && medium.size == limits::ENVELOPE_SIZE as u64;
        let (mut opened, statement) = if alone {
            let envelope = read_envelope(&medium)?;
            let opened = OpenedArchive::from_envelope(medium, envelope);
            let statement = opened.skip_signature()?.statement().clone();
            (opened, statement)
        } else {
            let opened = OpenedArchive::read(medium)?;
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
            Destination::Beside => open_detached(path, &mut opened)?,
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

    /// The Solution that the statement describes.
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

    /// Returns whether an archive or a statement alone was opened.
    #[must_use]
    pub fn subject(&self) -> SigningSubject {
        self.subject
    }

    /// Signs with a key.
    pub fn sign(&mut self, key: &SecretKey) -> Result<(), OpenError> {
        let signature = key.sign(PayloadType::Statement, self.payload());
        self.add(signature)
    }

    /// Adds a signature that another program made over the pre-authentication encoding of the payload, after verifying
    /// it with its public key.
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
        // Each signature is also added to the archive's envelope in memory. This refuses a second signature of the same
        // key wherever the first one is stored, and a signature that does not fit when a reader merges the envelopes.
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

    /// Writes the envelope into the opened file with one write and one sync, or replaces the file next to the archive.
    pub fn write(&self) -> Result<(), OpenError> {
        match &self.target {
            SignatureTarget::Inside(offset) => self
                .opened
                .medium
                .write_and_sync(&self.opened.envelope.to_bytes(), *offset),
            SignatureTarget::Beside(path, envelope) => replace(path, &envelope.to_bytes())
                .map_err(|source| OpenError::Detach(path.clone(), source)),
            SignatureTarget::Nowhere => Ok(()),
        }
    }
}

/// Returns the detached envelope as a target, and adds its existing signatures to those of the archive.
fn open_detached(path: &Path, opened: &mut OpenedArchive) -> Result<SignatureTarget, OpenError> {
    let there = match read_detached(path)? {
        Some(there) => {
            opened.attach(&there)?;
            there
        }
        None => Envelope::new(opened.envelope().payload().to_vec()).map_err(OpenError::Sign)?,
    };
    Ok(SignatureTarget::Beside(detached_path(path), there))
}

/// Replaces a file atomically.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = temporary::create_next_to(path)?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    temporary::directory(path)?.map_or(Ok(()), |directory| directory.sync_all())
}
