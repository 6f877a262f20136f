//! Signatures that were made elsewhere, by a key that never leaves its device.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use archive::Signable;
use schemas::{Envelope, KeyId};
use signing::PublicKey;

use super::Arguments;
use crate::failure::{self, Failure};
use crate::{disk, keys};

/// Bytes of an Ed25519 signature.
const SIGNATURE: usize = 64;

/// Adds the signature of each key that is named, after it was verified.
pub(super) fn attach(
    arguments: &Arguments,
    path: &Path,
    signable: &mut Signable,
) -> Result<Vec<KeyId>, Failure> {
    let keys = arguments.keys.iter().map(|path| keys::public(path));
    let keys = keys.collect::<Result<Vec<PublicKey>, _>>()?;
    let made = Made::read(path)?;
    for key in &keys {
        let missing = || anyhow!("`{}` has no signature by key {}", path.display(), key.id());
        let bytes = made.by(key).ok_or_else(|| Failure::no(missing()))?;
        let attached = signable.attach(key, bytes);
        attached.map_err(|error| failure::signing(&arguments.archive, error))?;
    }
    Ok(keys.iter().map(PublicKey::id).collect())
}

/// Signatures made elsewhere.
enum Made {
    /// By whichever key it is: the key tells.
    Raw(Vec<u8>),
    /// A signed copy of the statement.
    Envelope(Envelope),
}

impl Made {
    fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = disk::read(path)?;
        if bytes.len() == schemas::limits::ENVELOPE_SIZE {
            return Envelope::from_slice(&bytes)
                .map(Self::Envelope)
                .with_context(|| format!("cannot use the signatures in `{}`", path.display()))
                .map_err(Failure::no);
        }
        let raw = if bytes.len() == SIGNATURE {
            Some(bytes)
        } else {
            schemas::base64_text(&bytes).filter(|raw| raw.len() == SIGNATURE)
        };
        raw.map(Self::Raw).ok_or_else(|| {
            let path = path.display();
            Failure::no(anyhow!("`{path}` is not an Ed25519 signature"))
                .hint("give its 64 bytes, their base64, or a signed copy of statement.dsse.json")
        })
    }

    fn by(&self, key: &PublicKey) -> Option<Vec<u8>> {
        match self {
            Self::Raw(bytes) => Some(bytes.clone()),
            Self::Envelope(envelope) => {
                let mut signatures = envelope.signatures();
                let by_key = signatures.find(|signature| signature.key_id == key.id());
                by_key.map(|signature| signature.bytes)
            }
        }
    }
}
