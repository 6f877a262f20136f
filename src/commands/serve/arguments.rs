//! What `solution registry serve` takes.

use std::path::PathBuf;

use clap::Args;
use registry::{RepositoryPath, Username};

use crate::args::SignatureArguments;

/// Serve archives as a read-only registry
#[derive(Args, Debug)]
#[command(after_help = "\
The images have the same names as after `solution import`: `<prefix>/<name>-<version>/<image>`, and \
`<prefix>/mirror/<host>/<path>` for images with a `ref`. Layers are read from the archives and not copied.

The command looks for new and removed archives every 2 seconds and at SIGHUP. It verifies new archives, and \
reports and skips refused ones. SIGHUP also reloads the certificate and its key.

Examples:
  solution registry serve app.iso --key publisher.pub
  solution registry serve /srv/solutions --listen 0.0.0.0:5000 --tls-cert site.pem \\
      --tls-key site.key
  solution registry serve /dev/sr0 --verify-reads --access-log
  solution registry serve /srv/solutions --username nodes --password-file password")]
pub(crate) struct Arguments {
    /// Archives (files or block devices), or directories with `*.iso` files
    #[arg(required = true, value_name = "ARCHIVE")]
    pub(super) archives: Vec<PathBuf>,

    /// The address to listen on; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5000")]
    pub(super) listen: String,

    /// The prefix of all repository names
    #[arg(long, value_name = "PREFIX")]
    pub(super) prefix: Option<RepositoryPath>,

    /// The TLS certificate (PEM), followed by its intermediate certificates
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,

    /// The secret key of the TLS certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,

    /// Require a login with this user name
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub(super) username: Option<Username>,

    /// The file with the password of the login in its first line
    #[arg(long, value_name = "FILE", requires = "username")]
    pub(super) password_file: Option<PathBuf>,

    /// Verify each layer before sending it, and again after its file changes
    #[arg(long)]
    pub(super) verify_reads: bool,

    /// Write a line for each request to standard output
    #[arg(long)]
    pub(super) access_log: bool,

    #[command(flatten)]
    pub(super) signatures: SignatureArguments,
}
