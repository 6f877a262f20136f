//! What `solution sign` takes.

use std::path::PathBuf;

use clap::Args;
use schemas::Digest;

use crate::args::PassphraseArguments;

/// Sign an archive or a plan file
#[derive(Args, Debug)]
#[command(after_help = "\
With a signature you vouch for the archive: run `solution validate` and `solution inspect` first. The archive id \
does not change, but the checksum of the file does. If the archive cannot be written, the signature goes to \
`<ARCHIVE>.dsse.json`, as with --detached.

A signature in a plan file (from --plan-out) approves the plan, which the command shows. `solution inspect` also \
shows the changes to each object.

A key in a device (HSM, smart card, key service) signs the file of --payload-out as a raw Ed25519 message. \
--attach verifies the signature with the public key and adds it.

Examples:
  solution sign app.iso --key reviewer.key
  solution sign /media/disc/app.iso --key reviewer.key --detached --expect sha256:0123…
  solution sign app.iso --payload-out app.payload
  openssl pkeyutl -sign -rawin -inkey hsm.pem -in app.payload -out app.sig
  solution sign app.iso --attach app.sig --key hsm.pub
  solution sign statement.dsse.json --key reviewer.key --expect sha256:0123…
  solution sign plan.json --key reviewer.key")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), a copy of its statement.dsse.json, or a plan file
    pub(super) archive: PathBuf,

    /// A secret key (PEM) to sign with; may be repeated. With --attach, the public key of the signer
    #[arg(
        long = "key",
        value_name = "KEY",
        required_unless_present = "payload_out"
    )]
    pub(super) keys: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) passphrase: PassphraseArguments,

    /// Write the bytes for an external key to sign to this file, and change nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "attach", "detached", "passphrase_file"])]
    pub(super) payload_out: Option<PathBuf>,

    /// Add this external signature (64 bytes, base64, or a signed copy of statement.dsse.json or of the plan file)
    #[arg(
        long,
        value_name = "FILE",
        requires = "keys",
        conflicts_with = "passphrase_file"
    )]
    pub(super) attach: Option<PathBuf>,

    /// Write the signature to `<ARCHIVE>.dsse.json`, and leave the archive unchanged
    #[arg(long)]
    pub(super) detached: bool,

    /// Sign only an archive or plan with this id
    #[arg(long, value_name = "ID")]
    pub(super) expect: Option<Digest>,
}
