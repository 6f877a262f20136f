//! Adds a signature to an archive that exists, in place: everything but the envelope stays as it is.

use std::path::Path;

use schemas::{Digest, EnvelopeSignature};
use signing::{PublicKey, SecretKey};

use crate::medium::{Access, Source};
use crate::{OpenError, Opened};

/// Signs an archive with one more key. The image must be exactly what its list says; its data is not read, which is for
/// the caller to do first. A key that signed already is refused. Returns the archive id.
pub fn add_signature(path: &Path, key: &SecretKey) -> Result<Digest, OpenError> {
    let mut opened = open_for_signing(path)?;
    let signature = key.sign(opened.envelope().payload());
    opened.sign_in_place(signature)?;
    Ok(opened.archive_id())
}

/// Adds a signature that was made elsewhere (over the pre-authentication encoding of the payload), after verifying it
/// with its public key. Otherwise as [`add_signature`].
pub fn attach_signature(path: &Path, key: &PublicKey, bytes: Vec<u8>) -> Result<Digest, OpenError> {
    let mut opened = open_for_signing(path)?;
    let signature = EnvelopeSignature {
        key_id: key.id(),
        bytes,
    };
    if !key.verifies(opened.envelope().payload(), &signature) {
        return Err(OpenError::WrongSignature);
    }
    opened.sign_in_place(signature)?;
    Ok(opened.archive_id())
}

/// Everything is read through the handle that the signature is written through.
fn open_for_signing(path: &Path) -> Result<Opened, OpenError> {
    let opened = Opened::from_source(Source::open(path, Access::Write)?)?;
    opened.skip_signature()?.list()?;
    Ok(opened)
}
