//! The keys that a command line names: secret keys to sign with, their passphrases, and public keys to trust. Secret
//! keys and passphrases are read into memory that is erased after use.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use signing::{KeyError, Passphrase, PublicKey, SecretKey, Trust, limits};
use zeroize::Zeroizing;

use crate::args::{PassphraseArguments, TrustArguments};
use crate::failure::{self, Failure, cannot};
use crate::terminal::{self, Echo};
use crate::{disk, environment};

/// Reads keys to sign with. A given passphrase opens all encrypted keys; otherwise, the user is asked for each key.
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
                    given = given_passphrase(arguments)?;
                }
                match &given {
                    Some(passphrase) => SecretKey::from_encrypted_pem(&pem, passphrase),
                    None => SecretKey::from_encrypted_pem(&pem, &ask_passphrase(path)?),
                }
            }
            other => other,
        };
        key.map_err(|error| failure::key(path, error))
    };
    paths.iter().map(&mut read).collect()
}

/// Reads a small text file into memory that is erased.
fn read_erased(path: &Path) -> io::Result<Zeroizing<String>> {
    // Opening a pipe would wait for a writer, so check the type first.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    // One excess byte shows that the file is too large.
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

/// Reads the trusted keys.
pub(crate) fn trusted(arguments: &TrustArguments) -> Result<Trust, Failure> {
    let keys = arguments.keys.iter().map(|path| public(path));
    Ok(Trust::new(
        keys.collect::<Result<_, _>>()?,
        arguments.threshold,
    )?)
}

/// The variable that holds a passphrase.
const VARIABLE: &str = "SOLUTION_KEY_PASSPHRASE";

/// Returns the passphrase from the command line or the environment.
fn given_passphrase(arguments: &PassphraseArguments) -> Result<Option<Passphrase>, Failure> {
    match (&arguments.passphrase_file, environment::secret(VARIABLE)) {
        (Some(path), _) => from_file(path).map(Some),
        (None, Some(value)) => Passphrase::new(value)
            .map(Some)
            .map_err(|error| Failure::no(error).context(format!("cannot use {VARIABLE}"))),
        (None, None) => Ok(None),
    }
}

fn from_file(path: &Path) -> Result<Passphrase, Failure> {
    let line = if path == Path::new("-") {
        first_line(std::io::stdin().lock())
    } else {
        File::open(path).and_then(first_line)
    };
    let line = line
        .with_context(|| format!("cannot read the passphrase in `{}`", path.display()))
        .map_err(Failure::unknown)?;
    Passphrase::new(line).map_err(|error| {
        Failure::no(error).context(format!("cannot use the first line of `{}`", path.display()))
    })
}

fn first_line(from: impl Read) -> std::io::Result<Zeroizing<Vec<u8>>> {
    terminal::first_line(from, limits::PASSPHRASE)
}

/// Asks for the passphrase of an existing key.
fn ask_passphrase(key: &Path) -> Result<Passphrase, Failure> {
    let line = prompt(&format!("Passphrase for {}: ", key.display()), key)?;
    Passphrase::new(line).map_err(Failure::no)
}

/// Returns the passphrase for a new key.
pub(crate) fn passphrase_for_new_key(
    arguments: &PassphraseArguments,
    key: &Path,
) -> Result<Passphrase, Failure> {
    match given_passphrase(arguments)? {
        Some(passphrase) => Ok(passphrase),
        None => ask_new_passphrase(key),
    }
}

/// Asks for the passphrase of a new key, twice.
fn ask_new_passphrase(key: &Path) -> Result<Passphrase, Failure> {
    let first = prompt(&format!("New passphrase for {}: ", key.display()), key)?;
    let first = Passphrase::new(first).map_err(Failure::no)?;
    let second = prompt("The same passphrase again: ", key)?;
    if Passphrase::new(second).is_ok_and(|second| second == first) {
        return Ok(first);
    }
    Err(Failure::no(anyhow::anyhow!("the passphrases differ")).hint("run the command again"))
}

fn prompt(text: &str, key: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let line = terminal::ask(text, Echo::Hidden, limits::PASSPHRASE)?;
    line.ok_or_else(|| {
        Failure::usage(format!(
            "cannot ask for the passphrase of `{}`: there is no terminal",
            key.display()
        ))
        .hint(format!(
            "pass it in a file with `--passphrase-file`, or set the variable {VARIABLE}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use signing::KeyError;

    use super::*;

    #[test]
    fn a_passphrase_is_the_first_line_as_it_stands() {
        for (text, line) in [
            ("secret", "secret"),
            ("secret\n", "secret"),
            ("secret\r\n", "secret"),
            (" two words \nmore\n", " two words "),
            ("\nsecond", ""),
            ("", ""),
        ] {
            assert_eq!(*first_line(text.as_bytes()).unwrap(), line.as_bytes());
        }
        let most = "x".repeat(limits::PASSPHRASE);
        for end in ["", "\n", "\r\n"] {
            let line = first_line(format!("{most}{end}").as_bytes()).unwrap();
            assert!(Passphrase::new(line).is_ok());
        }
        let longer = first_line(format!("{most}x\n").as_bytes()).unwrap();
        let longer = Passphrase::new(longer);
        assert!(matches!(longer, Err(KeyError::PassphraseSize)));
    }
}
