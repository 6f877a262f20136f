//! The signatures of a plan file. The command shows the plan before it signs.

use schemas::{Digest, Envelope, EnvelopeSignature};
use signing::SecretKey;

use super::{Arguments, Id, Signed, Subject, ToSign, cannot, to_plan, unexpected, write_payload};
use crate::args::Output;
use crate::commands::give;
use crate::commands::inspect::plan as inspected;
use crate::failure::{Failure, Outcome};
use crate::plans::{self, FoundPlan};
use crate::{keys, render};

/// Signs a plan, or writes the bytes that an external key signs.
pub(super) fn run(
    arguments: &Arguments,
    plan: &FoundPlan,
    output: Output,
) -> Result<Outcome, Failure> {
    expect(arguments, plan.id())?;
    let (was, id) = (plan.envelope(), Id::PlanId(plan.id()));
    let subject = match plan {
        FoundPlan::OfDeployment(plan) => Subject::Solution(&plan.file.solution),
        FoundPlan::OfFleet(plan) => Subject::Fleet(&plan.file.fleet),
    };
    if let Some(payload) = &arguments.payload_out {
        let to_sign = ToSign {
            subject,
            id,
            payload,
        };
        return write_payload(was.payload_type(), was.payload(), &to_sign, output);
    }
    if output == Output::Human {
        inspected::summarize(plan);
    }
    let signatures = match &arguments.attach {
        Some(path) => to_plan(arguments, path, was)?,
        None => made(arguments, was)?,
    };
    let key_ids = signatures
        .iter()
        .map(|signature| signature.key_id)
        .collect();
    let mut envelope = was.clone();
    for signature in signatures {
        envelope
            .add(signature)
            .map_err(|error| cannot(arguments, error))?;
    }
    plans::replace(&arguments.archive, was, &envelope)?;
    let signed = Signed {
        subject,
        id,
        key_ids,
        written: arguments.archive.clone(),
    };
    Ok(give(output, &signed, |signed| {
        render::line!("signed    {}", signed.written.display());
        render::lines("key id    ", &signed.key_ids);
    }))
}

/// Returns the signatures by local keys.
fn made(arguments: &Arguments, envelope: &Envelope) -> Result<Vec<EnvelopeSignature>, Failure> {
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    let sign = |key: &SecretKey| key.sign(envelope.payload_type(), envelope.payload());
    Ok(keys.iter().map(sign).collect())
}

/// Refuses a plan other than the expected one, and flags for signature files, which plans do not have.
fn expect(arguments: &Arguments, found: Digest) -> Result<(), Failure> {
    let plan = arguments.archive.display();
    if arguments.detached {
        return Err(Failure::usage(format!(
            "cannot use `--detached` with `{plan}`: a plan file contains its signatures"
        ))
        .hint("omit `--detached`"));
    }
    match arguments.expect {
        Some(expected) if expected != found => {
            Err(unexpected(&format!("`{plan}` is plan {found}")))
        }
        _ => Ok(()),
    }
}
