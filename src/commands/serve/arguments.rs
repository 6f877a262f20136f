//! What `solution registry serve` takes.

use std::path::PathBuf;

use clap::Args;
use registry::{RepositoryPath, Username};

use crate::args::SignatureArguments;

/// Serve the images of archives as a read-only registry, straight from the files
#[derive(Args, Debug)]
#[command(after_help = "\
The images have the same names as in a registry that `solution import` has pushed to: `<prefix>/<name>-<version>/<image>`, \
and `<prefix>/mirror/<host>/<path>` for those with a `ref`. Nothing is copied: layers are read from the archives while they \
are sent.

Archives are looked at every 2 seconds, and at SIGHUP: what is new is verified and served, what is gone is not served any \
more. One that is refused is named and left out; what was served goes on. SIGHUP also reads the certificate and its key anew.

Examples:
  solution registry serve app.iso --key publisher.pub
  solution registry serve /srv/solutions --listen 0.0.0.0:5000 --tls-cert site.pem --tls-key site.key
  solution registry serve /dev/sr0 --verify-reads --access-log
  solution registry serve /srv/solutions --username nodes --password-file password")]
pub(crate) struct Arguments {
    /// Archives: files, devices of discs, or directories, of which all `*.iso` are served
    #[arg(required = true, value_name = "ARCHIVE")]
    pub(super) archives: Vec<PathBuf>,

    /// Where to listen; port 0 takes one that is free, and says which
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5000")]
    pub(super) listen: String,

    /// What stands before all names
    #[arg(long, value_name = "PREFIX")]
    pub(super) prefix: Option<RepositoryPath>,

    /// Speak TLS: the server's certificate (PEM), and behind it those between it and the authority
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,

    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,

    /// Ask for a login, with this user name
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub(super) username: Option<Username>,

    /// The file whose first line is the password of the login
    #[arg(long, value_name = "FILE", requires = "username")]
    pub(super) password_file: Option<PathBuf>,

    /// Hash each layer before its first byte is sent, again whenever its file has changed
    #[arg(long)]
    pub(super) verify_reads: bool,

    /// Write a line for each request to standard output
    #[arg(long)]
    pub(super) access_log: bool,

    #[command(flatten)]
    pub(super) signatures: SignatureArguments,
}
