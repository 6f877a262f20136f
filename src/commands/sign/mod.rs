//! `solution sign`: adds a signature to an archive or a plan, by a local key or by one that never leaves its device.
//! Existing signatures are kept, so several people can sign one after the other.

mod plan;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use archive::{Destination, ForeignSignatures, SignableArchive, SigningSubject, detached_path};
use clap::Args;
use schemars::JsonSchema;
use schemas::{
    Digest, Envelope, EnvelopeSignature, KeyId, KubernetesName, PayloadType, SolutionId,
};
use serde::Serialize;
use signing::PublicKey;

use super::give;
use crate::args::{Output, PassphraseArguments};
use crate::failure::{self, Failure, Outcome};
use crate::{disk, keys, plans, render};

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
    archive: PathBuf,

    /// A secret key (PEM) to sign with; may be repeated. With --attach, the public key of the signer
    #[arg(
        long = "key",
        value_name = "KEY",
        required_unless_present = "payload_out"
    )]
    keys: Vec<PathBuf>,

    #[command(flatten)]
    passphrase: PassphraseArguments,

    /// Write the bytes for an external key to sign to this file, and change nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "attach", "detached", "passphrase_file"])]
    payload_out: Option<PathBuf>,

    /// Add this external signature (64 bytes, base64, or a signed copy of statement.dsse.json or of the plan file)
    #[arg(
        long,
        value_name = "FILE",
        requires = "keys",
        conflicts_with = "passphrase_file"
    )]
    attach: Option<PathBuf>,

    /// Write the signature to `<ARCHIVE>.dsse.json`, and leave the archive unchanged
    #[arg(long)]
    detached: bool,

    /// Sign only an archive or plan with this id
    #[arg(long, value_name = "ID")]
    expect: Option<Digest>,
}

/// The signed object.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Id {
    /// SHA-256 of an archive's signed statement.
    ArchiveId(Digest),
    /// SHA-256 of a plan.
    PlanId(Digest),
}

/// The object of a signature.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Subject<'a> {
    /// The id of the Solution, `<name>-<version>`.
    Solution(&'a SolutionId),
    /// The name of the fleet.
    Fleet(&'a KubernetesName),
}

/// A signature was added to an archive or a plan file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Signed<'a> {
    #[serde(flatten)]
    subject: Subject<'a>,
    #[serde(flatten)]
    id: Id,
    /// The keys that signed.
    key_ids: Vec<KeyId>,
    /// The file that has the signatures now.
    written: PathBuf,
}

/// With `--payload-out`: the payload for an external key was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ToSign<'a> {
    #[serde(flatten)]
    subject: Subject<'a>,
    #[serde(flatten)]
    id: Id,
    /// The file with the payload to sign.
    payload: &'a Path,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Solution(id) => id.fmt(f),
            Self::Fleet(name) => write!(f, "fleet {name}"),
        }
    }
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(plan) = plans::recognise(&arguments.archive)? {
        return plan::run(arguments, &plan, output);
    }
    let cannot = |error| failure::signing(&arguments.archive, error);
    let destination = match (&arguments.payload_out, arguments.detached) {
        (Some(_), _) => Destination::Nowhere,
        (None, true) => Destination::Beside,
        (None, false) => Destination::Inside,
    };
    let mut signable = SignableArchive::open(&arguments.archive, destination).map_err(cannot)?;
    expect(arguments, &signable)?;
    let archive_id = signable.archive_id();
    if let Some(payload) = &arguments.payload_out {
        let to_sign = ToSign {
            subject: Subject::Solution(signable.id()),
            id: Id::ArchiveId(archive_id),
            payload,
        };
        return write_payload(PayloadType::Statement, signable.payload(), &to_sign, output);
    }
    let key_ids = match &arguments.attach {
        Some(path) => attach(arguments, path, &mut signable)?,
        None => sign(arguments, &mut signable)?,
    };
    signable.write().map_err(cannot)?;
    let signed = Signed {
        subject: Subject::Solution(signable.id()),
        id: Id::ArchiveId(archive_id),
        key_ids,
        written: match destination {
            Destination::Beside => detached_path(&arguments.archive),
            Destination::Inside | Destination::Nowhere => arguments.archive.clone(),
        },
    };
    Ok(give(output, &signed, |signed| {
        render::line!("signed      {}", signed.subject);
        render::line!("written to  {}", signed.written.display());
        render::line!("archive id  {archive_id}");
        render::lines("key id      ", &signed.key_ids);
    }))
}

/// Refuses an archive other than the expected one. A statement alone does not show its archive, so the user must name
/// the id of the archive that was checked.
fn expect(arguments: &Arguments, signable: &SignableArchive) -> Result<(), Failure> {
    let (archive, id) = (arguments.archive.display(), signable.id());
    let found = signable.archive_id();
    let alone = signable.subject() == SigningSubject::Statement && arguments.payload_out.is_none();
    match arguments.expect {
        Some(expected) if expected != found => {
            Err(unexpected(&format!("`{archive}` is {id}, archive {found}")))
        }
        None if alone => Err(Failure::usage(format!(
            "`{archive}` is only the statement of {id}, archive {found}"
        ))
        .hint("name the id of the archive that you checked with `--expect`: the file contains only the statement, not the archive")),
        _ => Ok(()),
    }
}

fn unexpected(what: &str) -> Failure {
    Failure::no(anyhow!("{what}: not the expected one"))
        .hint("find out where this file comes from: nothing was signed")
}

/// Writes the bytes that an external key signs.
fn write_payload(
    payload_type: PayloadType,
    payload: &[u8],
    to_sign: &ToSign<'_>,
    output: Output,
) -> Result<Outcome, Failure> {
    let bytes = signing::pre_authentication_encoding(payload_type.as_str(), payload);
    disk::write_new(to_sign.payload, 0o644, &bytes)?;
    Ok(give(output, to_sign, |to_sign| {
        let path = to_sign.payload.display();
        match to_sign.id {
            Id::ArchiveId(id) => {
                render::line!("payload     {path}");
                render::line!("solution    {}", to_sign.subject);
                render::line!("archive id  {id}");
            }
            Id::PlanId(id) => {
                render::line!("payload   {path}");
                render::line!("plan      {id}");
            }
        }
        render::note("sign it as a raw Ed25519 message, then add the signature with `--attach`");
    }))
}

fn sign(arguments: &Arguments, signable: &mut SignableArchive) -> Result<Vec<KeyId>, Failure> {
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    let signed = keys.iter().try_for_each(|key| signable.sign(key));
    signed.map_err(|error| failure::signing(&arguments.archive, error))?;
    Ok(keys.iter().map(|key| key.public().id()).collect())
}

/// Verifies and adds the signature of each named key.
fn attach(
    arguments: &Arguments,
    path: &Path,
    signable: &mut SignableArchive,
) -> Result<Vec<KeyId>, Failure> {
    let keys = arguments.keys.iter().map(|path| keys::public(path));
    let keys = keys.collect::<Result<Vec<PublicKey>, _>>()?;
    let made = read(path)?;
    for key in &keys {
        let missing = || anyhow!("`{}` has no signature by key {}", path.display(), key.id());
        let bytes = made
            .find_signature(key)
            .ok_or_else(|| Failure::no(missing()))?;
        let attached = signable.attach(key, bytes);
        attached.map_err(|error| failure::signing(&arguments.archive, error))?;
    }
    Ok(keys.iter().map(PublicKey::id).collect())
}

/// Returns the verified signatures of a plan by the named keys. They come from a device or from a copy of the file.
fn to_plan(
    arguments: &Arguments,
    path: &Path,
    envelope: &Envelope,
) -> Result<Vec<EnvelopeSignature>, Failure> {
    let made = match plans::recognise(path)? {
        Some(copy) => ForeignSignatures::Envelope(copy.envelope().clone()),
        None => read(path)?,
    };
    let attached = |path: &PathBuf| {
        let key: PublicKey = keys::public(path)?;
        let key_id = key.id();
        let signature = made
            .find_signature(&key)
            .map(|bytes| EnvelopeSignature { key_id, bytes });
        let good = |signature: &EnvelopeSignature| {
            key.verifies(envelope.payload_type(), envelope.payload(), signature)
        };
        signature.filter(good).ok_or_else(|| {
            cannot(
                arguments,
                anyhow!("it has no signature of this plan by key {key_id}"),
            )
        })
    };
    arguments.keys.iter().map(attached).collect()
}

fn cannot(arguments: &Arguments, error: impl Into<anyhow::Error>) -> Failure {
    let plan = arguments.archive.display();
    Failure::no(error).context(format!("cannot sign the plan in `{plan}`"))
}

fn read(path: &Path) -> Result<ForeignSignatures, Failure> {
    let found = ForeignSignatures::from_slice(&disk::read(path)?)
        .with_context(|| format!("cannot use the signatures in `{}`", path.display()))
        .map_err(Failure::no)?;
    found.ok_or_else(|| {
        Failure::no(anyhow!("`{}` is not an Ed25519 signature", path.display()))
            .hint("use the 64 bytes of the signature, their base64, or a signed copy of statement.dsse.json")
    })
}
