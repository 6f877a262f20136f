//! The passphrase of an encrypted key: from a file, from a variable, or from a person at the terminal, who does not see it
//! while typing. Whatever holds it is erased from memory.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signing::{Passphrase, limits};
use zeroize::Zeroizing;

use crate::args::PassphraseArguments;
use crate::failure::Failure;
use crate::{disk, environment, interrupt, render};

/// The variable that holds a passphrase.
const VARIABLE: &str = "SOLUTION_KEY_PASSPHRASE";
/// How often a person who has pressed Ctrl-C is looked for between two keys.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

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

/// The first line, without what ends it. A longer one than any passphrase comes out too long.
fn first_line(from: impl Read) -> std::io::Result<Zeroizing<Vec<u8>>> {
    // Room for one byte too many and the line's end.
    let bytes = disk::read_erased(from, limits::PASSPHRASE + 3, Some(b'\n'))?;
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    Ok(Zeroizing::new(
        line.strip_suffix(b"\r").unwrap_or(line).to_vec(),
    ))
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
    Err(Failure::no(anyhow::anyhow!("the two passphrases differ")).hint("run the command again"))
}

fn prompt(text: &str, key: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // The terminal itself, since standard input and output may be a pipe.
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let Ok(terminal) = terminal else {
        return Err(Failure::usage(format!(
            "`{}` needs a passphrase, and there is no terminal to ask for it",
            key.display()
        ))
        .hint(format!(
            "give a file with it (`--passphrase-file`), or set the variable {VARIABLE}"
        )));
    };
    let read = || -> std::io::Result<Option<Zeroizing<Vec<u8>>>> {
        // What was typed before the question is not the answer.
        let _quiet = Quiet::new(&terminal)?;
        render::prompt(&terminal, text)?;
        typed(&terminal)
    };
    let line = read()
        .context("cannot ask for a passphrase at the terminal")
        .map_err(Failure::unknown)?;
    line.ok_or_else(|| Failure::unknown(anyhow::anyhow!("interrupted")))
}

/// One line of the terminal; none when the user asked the program to end. Waiting for it ends at a signal, where
/// reading would go on.
fn typed(terminal: &File) -> std::io::Result<Option<Zeroizing<Vec<u8>>>> {
    loop {
        let mut ready = [PollFd::new(terminal, PollFlags::IN)];
        let any = match poll(&mut ready, Some(&TICK)) {
            Err(Errno::INTR) => 0,
            other => other?,
        };
        if interrupt::cancel().is_asked() {
            return Ok(None);
        }
        if any > 0 {
            return first_line(terminal).map(Some);
        }
    }
}

/// A terminal that does not show what is typed, until this is dropped.
struct Quiet<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Quiet<'a> {
    fn new(terminal: &'a File) -> std::io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        quiet
            .local_modes
            .insert(LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(terminal, OptionalActions::Flush, &quiet)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        // A terminal that has gone away needs nothing.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
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
