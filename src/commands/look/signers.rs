//! The keys that must have signed an archive that is only read.

use std::path::Path;

use archive::{Listed, Opened, Trusted};
use clap::Args;

use crate::args::TrustArguments;
use crate::failure::{self, Failure};
use crate::{keys, render};

/// What a reader of an archive must know whose signatures were not verified.
pub(crate) const NOT_VERIFIED: &str =
    "not verified: run `solution validate` to check its signatures and content";

/// The keys whose signatures are verified before anything of an archive is shown.
#[derive(Args, Debug)]
#[command(mut_arg("keys", |argument| argument.help(
    "A public key (PEM) to verify signatures with; may be repeated with --threshold [default: signatures are not verified]"
)))]
pub(crate) struct SignerArguments {
    #[command(flatten)]
    trust: TrustArguments,
}

impl SignerArguments {
    /// Opens an archive.
    ///
    /// # Errors
    ///
    /// Fails if keys are given and did not sign the archive, inside or next to it.
    pub(crate) fn open(&self, archive: &Path) -> Result<(Opened, Trusted), Failure> {
        let mut opened = Opened::open(archive).map_err(|error| failure::reading(archive, error))?;
        if !self.trust.keys.is_empty() {
            attach(&mut opened, archive)?;
        }
        let trusted = self.verify(&opened, archive)?;
        Ok((opened, trusted))
    }

    /// Opens an archive and reads its list of files.
    pub(crate) fn list(&self, archive: &Path) -> Result<Listed, Failure> {
        let (_, trusted) = self.open(archive)?;
        let listed = trusted.list();
        listed.map_err(|error| failure::reading(archive, error))
    }

    /// Verifies the signatures of an archive, if keys are given.
    pub(crate) fn verify(&self, opened: &Opened, archive: &Path) -> Result<Trusted, Failure> {
        let trusted = if self.trust.keys.is_empty() {
            opened.skip_signature()
        } else {
            opened.verify(&keys::trusted(&self.trust)?)
        };
        trusted.map_err(|error| failure::reading(archive, error))
    }

    /// Says that no signature was verified, if no key is given.
    pub(crate) fn note(&self) {
        if self.trust.keys.is_empty() {
            render::note(NOT_VERIFIED);
        }
    }
}

/// Adds the signatures in a file next to an archive.
pub(crate) fn attach(opened: &mut Opened, archive: &Path) -> Result<(), Failure> {
    let error = |error| failure::beside(archive, error);
    if let Some(detached) = archive::read_detached(archive).map_err(error)? {
        opened.attach(&detached).map_err(error)?;
    }
    Ok(())
}
