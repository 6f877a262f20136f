//! The passphrase of an encrypted key: from a file, from a variable, or from a person at the terminal, who does not see it
//! while typing. Whatever holds it is erased from memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context as _;
use signing::{Passphrase, limits};
use zeroize::Zeroizing;

use crate::args::PassphraseArguments;
use crate::environment;
use crate::failure::Failure;
use crate::terminal::{self, Echo};

/// The variable that holds a passphrase.
const VARIABLE: &str = "SOLUTION_KEY_PASSPHRASE";

/// The passphrase that the command line or the environment gives.
pub(crate) fn given(arguments: &PassphraseArguments) -> Result<Option<Passphrase>, Failure> {
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

/// Asks for the passphrase of a key that is there.
pub(crate) fn ask(key: &Path) -> Result<Passphrase, Failure> {
    let line = prompt(&format!("Passphrase for {}: ", key.display()), key)?;
    Passphrase::new(line).map_err(Failure::no)
}

/// The passphrase of a new key.
pub(crate) fn for_new_key(
    arguments: &PassphraseArguments,
    key: &Path,
) -> Result<Passphrase, Failure> {
    match given(arguments)? {
        Some(passphrase) => Ok(passphrase),
        None => ask_new(key),
    }
}

/// Asks for the passphrase of a new key, twice.
fn ask_new(key: &Path) -> Result<Passphrase, Failure> {
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
