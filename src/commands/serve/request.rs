//! What a server is told before it listens: its certificate, its login, and how it reads.

use std::path::PathBuf;

use anyhow::Context as _;
use serve::{ReadMode, ReaderLogin, ServerOptions, Tls};

use super::arguments::Arguments;
use crate::args::choose;
use crate::failure::Failure;
use crate::{disk, terminal};

/// The options of the server.
pub(super) fn options(
    arguments: &Arguments,
    pair: Option<&Pair>,
) -> Result<ServerOptions, Failure> {
    let login = match (&arguments.username, &arguments.password_file) {
        (Some(name), Some(file)) => {
            let cannot = || format!("cannot read the password in `{}`", file.display());
            let opened = std::fs::File::open(file);
            let line = opened.and_then(|file| terminal::first_line(file, serve::limits::LOGIN));
            let line = line.with_context(cannot).map_err(Failure::unknown)?;
            let login = ReaderLogin::new(name.as_str(), &line);
            Some(login.with_context(cannot).map_err(Failure::no)?)
        }
        _ => None,
    };
    Ok(ServerOptions {
        tls: pair.map(Pair::read).transpose()?,
        login,
        reads: choose(
            arguments.verify_reads,
            ReadMode::Compared,
            ReadMode::AsTheyAre,
        ),
    })
}

/// Where the certificate lies that the server shows, and its key.
#[derive(Debug)]
pub(super) struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

impl Pair {
    pub(super) fn of(arguments: &Arguments) -> Option<Self> {
        let (certificate, key) = arguments.tls_cert.clone().zip(arguments.tls_key.clone())?;
        Some(Self { certificate, key })
    }

    /// What is there now.
    pub(super) fn read(&self) -> Result<Tls, Failure> {
        let Self { certificate, key } = self;
        let tls = serve::tls(&disk::read(certificate)?, &disk::read(key)?);
        tls.map_err(|error| {
            let (certificate, key) = (certificate.display(), key.display());
            Failure::no(error)
                .context(format!("cannot use `{certificate}` and `{key}` for TLS"))
                .hint("use PEM files: the certificate followed by its intermediate certificates, and the key without a passphrase")
        })
    }
}
