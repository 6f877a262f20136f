//! `solution sign`: one more signature, by a key that is here or by one that never leaves its device.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::{Destination, Signable, Subject, detached_path};
use clap::Args;
use schemas::{Digest, Envelope, KeyId, PAYLOAD_TYPE};
use serde::Serialize;
use signing::PublicKey;

use super::support;
use crate::args::{Output, PassphraseArguments};
use crate::failure::{self, Failure, Outcome};
use crate::render;

/// Bytes of an Ed25519 signature.
const SIGNATURE: usize = 64;

/// Add a signature to an archive: inside it, or beside it where it cannot be written
#[derive(Args, Debug)]
#[command(after_help = "\
Look at the archive first (`solution validate`, `solution inspect`): a signature says that you vouch for it. \
The archive id stays the same; the checksum of the file changes, unless the signature goes beside it.

A key in a device (HSM, smart card, key service) signs what --payload-out writes, as the raw \
message of Ed25519; --attach checks the signature with the public key and adds it. \
docs/signing.md has the whole way.

Examples:
  solution sign app.iso --key reviewer.key
  solution sign /media/disc/app.iso --key reviewer.key --detached --expect sha256:0123…
  solution sign app.iso --payload-out app.payload
  openssl pkeyutl -sign -rawin -inkey hsm.pem -in app.payload -out app.sig
  solution sign app.iso --attach app.sig --key hsm.pub
  solution sign statement.dsse.json --key reviewer.key --expect sha256:0123…")]
pub(crate) struct Arguments {
    /// The archive, or a copy of its statement.dsse.json alone
    archive: PathBuf,

    /// The secret key (PEM, perhaps encrypted) to sign with, may be repeated; with --attach the public key of who signed
    #[arg(
        long = "key",
        value_name = "KEY",
        required_unless_present = "payload_out"
    )]
    keys: Vec<PathBuf>,

    #[command(flatten)]
    passphrase: PassphraseArguments,

    /// Write what an outside key signs to this file, and change nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "attach", "detached", "passphrase_file"])]
    payload_out: Option<PathBuf>,

    /// Add this signature made elsewhere: 64 bytes, their base64, or a signed copy of the statement.dsse.json
    #[arg(
        long,
        value_name = "FILE",
        requires = "keys",
        conflicts_with = "passphrase_file"
    )]
    attach: Option<PathBuf>,

    /// Leave the archive as it is, and put the signature into `<ARCHIVE>.dsse.json`, where it counts as well
    #[arg(long)]
    detached: bool,

    /// Sign only if this is the archive id, which you have from whoever checked the archive
    #[arg(long, value_name = "ID")]
    expect: Option<Digest>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Signed {
    solution: String,
    archive_id: String,
    key_ids: Vec<KeyId>,
    written: PathBuf,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToSign {
    solution: String,
    archive_id: String,
    payload: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let cannot = |error| failure::signing(&arguments.archive, error);
    let destination = match (&arguments.payload_out, arguments.detached) {
        (Some(_), _) => Destination::Nowhere,
        (None, true) => Destination::Beside,
        (None, false) => Destination::Inside,
    };
    let mut signable = Signable::open(&arguments.archive, destination).map_err(cannot)?;
    expect(arguments, &signable)?;
    if let Some(path) = &arguments.payload_out {
        return write_payload(&signable, path, output);
    }
    let key_ids = match &arguments.attach {
        Some(path) => attach(arguments, path, &mut signable)?,
        None => sign(arguments, &mut signable)?,
    };
    signable.write().map_err(cannot)?;
    let signed = Signed {
        solution: signable.id().to_string(),
        archive_id: signable.archive_id().to_string(),
        key_ids,
        written: match destination {
            Destination::Beside => detached_path(&arguments.archive),
            Destination::Inside | Destination::Nowhere => arguments.archive.clone(),
        },
    };
    render::result(output, &signed, |signed| {
        render::line!("signed      {}", signed.solution);
        render::line!("written to  {}", signed.written.display());
        render::line!("archive id  {}", signed.archive_id);
        for key in &signed.key_ids {
            render::line!("key id      {key}");
        }
    });
    Ok(Outcome::Yes)
}

/// Refuses an archive that is not the one that was looked at. A statement alone shows nothing to look at, so that its
/// id must come from somebody who did.
fn expect(arguments: &Arguments, signable: &Signable) -> Result<(), Failure> {
    let found = signable.archive_id();
    match &arguments.expect {
        Some(expected) if *expected == found => Ok(()),
        Some(_) => Err(Failure::no(anyhow::anyhow!(
            "`{}` is {}, archive {found}: not the one that was expected",
            arguments.archive.display(),
            signable.id()
        ))
        .hint("nothing was signed; find out where this file comes from")),
        None if signable.subject() == Subject::Statement && arguments.payload_out.is_none() => {
            Err(Failure::usage(format!(
                "`{}` is a statement alone, about {}, archive {found}",
                arguments.archive.display(),
                signable.id()
            ))
            .hint("its signature vouches for an archive that is not here: give the id of the one that was checked with `--expect`"))
        }
        None => Ok(()),
    }
}

/// Writes what is signed: nobody's file is replaced.
fn write_payload(signable: &Signable, path: &Path, output: Output) -> Result<Outcome, Failure> {
    let bytes = signing::pre_authentication_encoding(PAYLOAD_TYPE, signable.payload());
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(path)?;
        file.write_all(&bytes)?;
        file.sync_all()
    };
    write()
        .with_context(|| format!("cannot write `{}`", path.display()))
        .map_err(Failure::unknown)?;
    let payload = ToSign {
        solution: signable.id().to_string(),
        archive_id: signable.archive_id().to_string(),
        payload: path.to_owned(),
    };
    render::result(output, &payload, |payload| {
        render::line!("payload     {}", payload.payload.display());
        render::line!("solution    {}", payload.solution);
        render::line!("archive id  {}", payload.archive_id);
        render::note(
            "sign it as the raw message of Ed25519, then add the signature with `--attach`",
        );
    });
    Ok(Outcome::Yes)
}

fn sign(arguments: &Arguments, signable: &mut Signable) -> Result<Vec<KeyId>, Failure> {
    let keys = support::secret_keys(&arguments.keys, &arguments.passphrase)?;
    for key in &keys {
        signable
            .sign(key)
            .map_err(|error| failure::signing(&arguments.archive, error))?;
    }
    Ok(keys.iter().map(|key| key.public().id()).collect())
}

fn attach(
    arguments: &Arguments,
    path: &Path,
    signable: &mut Signable,
) -> Result<Vec<KeyId>, Failure> {
    let keys = arguments.keys.iter().map(|path| support::public_key(path));
    let keys = keys.collect::<Result<Vec<PublicKey>, _>>()?;
    let made = Made::read(path)?;
    for key in &keys {
        let bytes = made.by(key).ok_or_else(|| {
            Failure::no(anyhow::anyhow!(
                "`{}` has no signature by key {}",
                path.display(),
                key.id()
            ))
        })?;
        signable
            .attach(key, bytes)
            .map_err(|error| failure::signing(&arguments.archive, error))?;
    }
    Ok(keys.iter().map(PublicKey::id).collect())
}

/// Signatures made elsewhere.
enum Made {
    /// By whichever key it is: the key tells.
    Raw(Vec<u8>),
    /// A signed copy of the statement.
    Envelope(Envelope),
}

impl Made {
    fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = support::read_bytes(path)?;
        if bytes.len() == schemas::limits::ENVELOPE_SIZE {
            return Envelope::from_slice(&bytes)
                .map(Self::Envelope)
                .with_context(|| format!("cannot use the signatures in `{}`", path.display()))
                .map_err(Failure::no);
        }
        let raw = if bytes.len() == SIGNATURE {
            Some(bytes)
        } else {
            schemas::base64_text(&bytes).filter(|raw| raw.len() == SIGNATURE)
        };
        raw.map(Self::Raw).ok_or_else(|| {
            let path = path.display();
            Failure::no(anyhow::anyhow!("`{path}` is not an Ed25519 signature"))
                .hint("64 bytes are one, or their base64; a signed copy of statement.dsse.json holds some")
        })
    }

    fn by(&self, key: &PublicKey) -> Option<Vec<u8>> {
        match self {
            Self::Raw(bytes) => Some(bytes.clone()),
            Self::Envelope(envelope) => envelope
                .signatures()
                .find(|signature| signature.key_id == key.id())
                .map(|signature| signature.bytes),
        }
    }
}
