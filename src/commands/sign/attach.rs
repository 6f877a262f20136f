//! Signatures that were made elsewhere, by a key that never leaves its device.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use archive::{ForeignSignatures, Signable};
use schemas::{Envelope, EnvelopeSignature, KeyId};
use signing::PublicKey;

use super::Arguments;
use crate::failure::{self, Failure};
use crate::{disk, keys, plans};

/// Adds the signature of each key that is named, after it was verified.
pub(super) fn attach(
    arguments: &Arguments,
    path: &Path,
    signable: &mut Signable,
) -> Result<Vec<KeyId>, Failure> {
    let keys = arguments.keys.iter().map(|path| keys::public(path));
    let keys = keys.collect::<Result<Vec<PublicKey>, _>>()?;
    let made = read(path)?;
    for key in &keys {
        let missing = || anyhow!("`{}` has no signature by key {}", path.display(), key.id());
        let bytes = made.by(key).ok_or_else(|| Failure::no(missing()))?;
        let attached = signable.attach(key, bytes);
        attached.map_err(|error| failure::signing(&arguments.archive, error))?;
    }
    Ok(keys.iter().map(PublicKey::id).collect())
}

/// The signatures of a plan by the keys that are named, verified: by a device, or in a copy of the file.
pub(super) fn to_plan(
    arguments: &Arguments,
    path: &Path,
    envelope: &Envelope,
) -> Result<Vec<EnvelopeSignature>, Failure> {
    let made = match plans::recognise(path)? {
        Some(copy) => ForeignSignatures::Envelope(copy.envelope().clone()),
        None => read(path)?,
    };
    let attached = |path: &PathBuf| {
        let key: PublicKey = keys::public(path)?;
        let key_id = key.id();
        let signature = made
            .by(&key)
            .map(|bytes| EnvelopeSignature { key_id, bytes });
        let good =
            |it: &EnvelopeSignature| key.verifies(envelope.payload_type(), envelope.payload(), it);
        signature.filter(good).ok_or_else(|| {
            cannot(
                arguments,
                anyhow!("it has no signature of this plan by key {key_id}"),
            )
        })
    };
    arguments.keys.iter().map(attached).collect()
}

pub(super) fn cannot(arguments: &Arguments, error: impl Into<anyhow::Error>) -> Failure {
    let plan = arguments.archive.display();
    Failure::no(error).context(format!("cannot sign the plan in `{plan}`"))
}

fn read(path: &Path) -> Result<ForeignSignatures, Failure> {
    let found = ForeignSignatures::from_slice(&disk::read(path)?)
        .with_context(|| format!("cannot use the signatures in `{}`", path.display()))
        .map_err(Failure::no)?;
    found.ok_or_else(|| {
        Failure::no(anyhow!("`{}` is not an Ed25519 signature", path.display()))
            .hint("use the 64 bytes of the signature, their base64, or a signed copy of statement.dsse.json")
    })
}
