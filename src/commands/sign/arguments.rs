//! What `solution sign` takes.

use std::path::PathBuf;

use clap::Args;
use schemas::Digest;

use crate::args::PassphraseArguments;

/// Add a signature to an archive, inside it or beside it where it cannot be written; or to a plan file
#[derive(Args, Debug)]
#[command(after_help = "\
Look at the archive first (`solution validate`, `solution inspect`): a signature says that you vouch for it. \
The archive id stays the same; the checksum of the file changes, unless the signature goes beside it.

A signature in a plan file (`--plan-out` of `solution import`, `deploy`, `activate`, `fleet apply` and `fleet rollback`) approves the plan, which is shown; `solution inspect` also shows what changes in each object.

A key in a device (HSM, smart card, key service) signs what --payload-out writes, as the raw \
message of Ed25519; --attach checks the signature with the public key and adds it. \
docs/how-to/publish/signing.md describes every step.

Examples:
  solution sign app.iso --key reviewer.key
  solution sign /media/disc/app.iso --key reviewer.key --detached --expect sha256:0123…
  solution sign app.iso --payload-out app.payload
  openssl pkeyutl -sign -rawin -inkey hsm.pem -in app.payload -out app.sig
  solution sign app.iso --attach app.sig --key hsm.pub
  solution sign statement.dsse.json --key reviewer.key --expect sha256:0123…
  solution sign plan.json --key reviewer.key")]
pub(crate) struct Arguments {
    /// The archive, or a copy of its statement.dsse.json alone, or a plan file
    pub(super) archive: PathBuf,

    /// The secret key (PEM, perhaps encrypted) to sign with; may be repeated; with --attach, the signer's public key
    #[arg(
        long = "key",
        value_name = "KEY",
        required_unless_present = "payload_out"
    )]
    pub(super) keys: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) passphrase: PassphraseArguments,

    /// Write what an external key must sign to this file, and change nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "attach", "detached", "passphrase_file"])]
    pub(super) payload_out: Option<PathBuf>,

    /// Add this signature, made elsewhere: 64 bytes, their base64, or a signed copy of the statement.dsse.json or plan file
    #[arg(
        long,
        value_name = "FILE",
        requires = "keys",
        conflicts_with = "passphrase_file"
    )]
    pub(super) attach: Option<PathBuf>,

    /// Leave the archive as it is, and put the signature into `<ARCHIVE>.dsse.json`, where it counts as well
    #[arg(long)]
    pub(super) detached: bool,

    /// Sign only an archive or plan with this id, which you have from whoever checked it
    #[arg(long, value_name = "ID")]
    pub(super) expect: Option<Digest>,
}
