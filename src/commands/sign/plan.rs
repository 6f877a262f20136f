//! Approving a plan: its file gets signatures, after it was shown what they stand for.

use std::path::Path;

use anyhow::anyhow;
use schemas::{Digest, Envelope, EnvelopeSignature, KeyId, PayloadType, SolutionId};
use serde::Serialize;
use signing::SecretKey;

use super::{Arguments, attach};
use crate::args::Output;
use crate::commands::give;
use crate::commands::import;
use crate::failure::{Failure, Outcome};
use crate::plans::{self, Plan};
use crate::{disk, keys, render};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Signed<'a> {
    solution: &'a SolutionId,
    plan_id: Digest,
    key_ids: Vec<KeyId>,
    written: &'a Path,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToSign<'a> {
    solution: &'a SolutionId,
    plan_id: Digest,
    payload: &'a Path,
}

/// Signs a plan, or writes what an outside key signs.
pub(super) fn run(arguments: &Arguments, plan: Plan, output: Output) -> Result<Outcome, Failure> {
    let Plan { mut envelope, file } = plan;
    expect(arguments, file.id())?;
    if let Some(path) = &arguments.payload_out {
        return write_payload(&envelope, (&file.solution, file.id()), path, output);
    }
    if output == Output::Human {
        plans::show(&file);
        import::plan::show(&file.summary);
    }
    let signatures = match &arguments.attach {
        Some(path) => attach::to_plan(arguments, path, &envelope)?,
        None => made(arguments, &envelope)?,
    };
    let key_ids = signatures.iter().map(|it| it.key_id).collect();
    let was = envelope.clone();
    for signature in signatures {
        envelope
            .add(signature)
            .map_err(|error| cannot(arguments, error))?;
    }
    plans::replace(&arguments.archive, &was, &envelope)?;
    let signed = Signed {
        solution: &file.solution,
        plan_id: file.id(),
        key_ids,
        written: &arguments.archive,
    };
    Ok(give(output, &signed, |signed| {
        render::line!("signed    {}", signed.written.display());
        for key in &signed.key_ids {
            render::line!("key id    {key}");
        }
    }))
}

/// The signatures by keys that are here.
fn made(arguments: &Arguments, envelope: &Envelope) -> Result<Vec<EnvelopeSignature>, Failure> {
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    let sign = |key: &SecretKey| key.sign(PayloadType::Plan, envelope.payload());
    Ok(keys.iter().map(sign).collect())
}

pub(super) fn cannot(arguments: &Arguments, error: impl Into<anyhow::Error>) -> Failure {
    let plan = arguments.archive.display();
    Failure::no(error).context(format!("cannot sign the plan in `{plan}`"))
}

/// Refuses a plan that is not the one that was looked at, and a place for signatures that plans do not have.
fn expect(arguments: &Arguments, found: Digest) -> Result<(), Failure> {
    let plan = arguments.archive.display();
    if arguments.detached {
        return Err(Failure::usage(format!(
            "`{plan}` is a plan, which holds its own signatures"
        ))
        .hint("leave `--detached` out"));
    }
    match arguments.expect {
        Some(expected) if expected != found => Err(Failure::no(anyhow!(
            "`{plan}` is plan {found}: not the one that was expected"
        ))
        .hint("nothing was signed; find out where this file comes from")),
        _ => Ok(()),
    }
}

/// Writes what an outside key signs.
fn write_payload(
    envelope: &Envelope,
    (solution, plan_id): (&SolutionId, Digest),
    path: &Path,
    output: Output,
) -> Result<Outcome, Failure> {
    let payload_type = PayloadType::Plan.as_str();
    let bytes = signing::pre_authentication_encoding(payload_type, envelope.payload());
    disk::write_new(path, 0o644, &bytes)?;
    let payload = ToSign {
        solution,
        plan_id,
        payload: path,
    };
    Ok(give(output, &payload, |payload| {
        render::line!("payload   {}", payload.payload.display());
        render::line!("plan      {}", payload.plan_id);
        render::note("sign it as a raw Ed25519 message, then add the signature with `--attach`");
    }))
}
