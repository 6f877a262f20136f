//! The keys that a command line names: secret ones to sign with, public ones to trust.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use signing::{KeyError, PublicKey, SecretKey, Trust, limits};
use zeroize::Zeroizing;

use crate::args::{PassphraseArguments, TrustArguments};
use crate::failure::{self, Failure, cannot};
use crate::{disk, passphrase};

/// Reads keys to sign with. A passphrase that is given opens all that are encrypted; otherwise it is asked for each.
pub(crate) fn secret(
    paths: &[PathBuf],
    arguments: &PassphraseArguments,
) -> Result<Vec<SecretKey>, Failure> {
    let mut given = None;
    let mut read = |path: &PathBuf| {
        let pem = read_erased(path).map_err(cannot("read", path))?;
        let key = match SecretKey::from_pem(&pem) {
            Err(KeyError::Encrypted) => {
                if given.is_none() {
                    given = passphrase::given(arguments)?;
                }
                match &given {
                    Some(passphrase) => SecretKey::from_encrypted_pem(&pem, passphrase),
                    None => SecretKey::from_encrypted_pem(&pem, &passphrase::ask(path)?),
                }
            }
            other => other,
        };
        key.map_err(|error| failure::key(path, error))
    };
    paths.iter().map(&mut read).collect()
}

/// Reads a small text file whole, into memory that is erased.
fn read_erased(path: &Path) -> io::Result<Zeroizing<String>> {
    // Opening a pipe would wait for a writer, so look first.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    // One byte more tells that there is more.
    let bytes = disk::read_erased(File::open(path)?, limits::PEM_SIZE + 1, None)?;
    let text = str::from_utf8(&bytes).map_err(|_| disk::not_text())?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Reads a public key.
pub(crate) fn public(path: &Path) -> Result<PublicKey, Failure> {
    PublicKey::from_pem(&disk::read_text(path)?)
        .with_context(|| format!("`{}` is not a public key", path.display()))
        .map_err(Failure::no)
}

/// Reads the keys that are trusted.
pub(crate) fn trusted(arguments: &TrustArguments) -> Result<Trust, Failure> {
    let keys = arguments.keys.iter().map(|path| public(path));
    Ok(Trust::new(
        keys.collect::<Result<_, _>>()?,
        arguments.threshold,
    )?)
}
