//! `solution sign`: one more signature, by a key that is here or by one that never leaves its device.

mod arguments;
mod attach;
mod plan;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use archive::{Destination, Signable, SigningSubject, detached_path};
use schemars::JsonSchema;
use schemas::{Digest, KeyId, KubernetesName, PayloadType, SolutionId};
use serde::Serialize;

pub(crate) use self::arguments::Arguments;
use super::give;
use crate::args::Output;
use crate::failure::{self, Failure, Outcome};
use crate::{disk, keys, plans, render};

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

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(plan) = plans::recognise(&arguments.archive)? {
        return plan::run(arguments, &plan, output);
    }
    let cannot = |error| failure::signing(&arguments.archive, error);
    let destination = match (&arguments.payload_out, arguments.detached) {
        (Some(_), _) => Destination::Nowhere,
        (None, true) => Destination::Beside,
        (None, false) => Destination::Inside,
    };
    let mut signable = Signable::open(&arguments.archive, destination).map_err(cannot)?;
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
        Some(path) => attach::attach(arguments, path, &mut signable)?,
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

/// Refuses an archive that is not the one that was looked at. A statement alone shows nothing to look at, so that its
/// id must come from somebody who did.
fn expect(arguments: &Arguments, signable: &Signable) -> Result<(), Failure> {
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

/// Writes what an outside key signs.
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

fn sign(arguments: &Arguments, signable: &mut Signable) -> Result<Vec<KeyId>, Failure> {
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    let signed = keys.iter().try_for_each(|key| signable.sign(key));
    signed.map_err(|error| failure::signing(&arguments.archive, error))?;
    Ok(keys.iter().map(|key| key.public().id()).collect())
}
