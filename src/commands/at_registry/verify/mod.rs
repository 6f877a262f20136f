//! `solution registry verify`: every byte that a registry has of an archive, compared with the archive.

mod arguments;
mod request;
mod shown;

use registry::{Client, Faulty, Verified};
use schemas::{SolutionId, SolutionName};
use shelf::{Error, Readback, Repaired};
use validator::Accepted;

pub(crate) use self::arguments::VerifyArguments;
use self::request::{check_source, kept};
pub(crate) use self::shown::Verification;
use self::shown::{ShownFault, fix, show};
use crate::args::{Output, choose};
use crate::commands::pushing::{Goal, Pushing};
use crate::commands::validate::check;
use crate::commands::validate::words::refuse;
use crate::commands::vouched;
use crate::events::push::Push;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events, progress, render};

pub(crate) fn run(arguments: &VerifyArguments, output: Output) -> Result<Outcome, Failure> {
    check_source(arguments.version.as_ref(), arguments.repair)?;
    events::begin(&arguments.progress)?;
    let client = vouched::client(&arguments.registry, &arguments.reach)?;
    if let Some(version) = &arguments.version {
        let name = arguments.archive.to_string_lossy();
        let name: SolutionName = name.parse().map_err(Failure::usage)?;
        let id = SolutionId::new(name, version.clone()).map_err(Failure::usage)?;
        return cluster::block_on(async {
            match kept(arguments, &client, &id, output).await? {
                Ok(accepted) => verify(arguments, &accepted, &client, output).await,
                Err(report) => Ok(refuse(&report, ", so nothing was read", output)),
            }
        });
    }
    let judging = &arguments.judging;
    let (trust, allow) = (&judging.trust, judging.allow_unsigned.clone());
    match check::documents(&arguments.archive, trust, allow, output)?.accept() {
        Ok(accepted) => cluster::block_on(verify(arguments, &accepted, &client, output)),
        Err(report) => Ok(refuse(&report, ", so nothing was read", output)),
    }
}

/// Reads everything, and has what is wrong pushed once more if that is asked for.
async fn verify(
    arguments: &VerifyArguments,
    accepted: &Accepted,
    client: &Client,
    output: Output,
) -> Result<Outcome, Failure> {
    let readback = Readback::of(accepted, client).await?;
    let bar = progress::spinner(output, "verify");
    let tell = |progress| bar.show("verify", progress);
    let verified = readback.verify(client, &tell).await;
    bar.finish_and_clear();
    let verified = verified?;
    let (blobs, bytes) = (verified.blobs, verified.bytes);
    let repaired = if arguments.repair && !verified.faults.is_empty() {
        repair(&readback, verified, accepted, client, output).await?
    } else {
        Repaired {
            healed: Vec::new(),
            left: verified.faults,
            errors: Vec::new(),
        }
    };
    let shown = |it: &Faulty| ShownFault::of(client, it, fix(it, arguments.repair));
    let healed = repaired.healed.iter();
    let found = Verification {
        solution: accepted.statement().predicate.id.clone(),
        archive_id: accepted.archive_id(),
        registry: client.address().to_string(),
        manifests: readback.manifests(),
        blobs,
        bytes,
        faults: repaired.left.iter().map(shown).collect(),
        repaired: healed.map(|it| ShownFault::of(client, it, None)).collect(),
        errors: repaired.errors.iter().map(ToString::to_string).collect(),
    };
    render::result(output, &found, show);
    let is_whole = found.faults.is_empty();
    Ok(choose(is_whole, Outcome::Yes, Outcome::No))
}

/// Pushes what is wrong once more.
async fn repair(
    readback: &Readback,
    verified: Verified,
    accepted: &Accepted,
    client: &Client,
    output: Output,
) -> Result<Repaired, Error> {
    let solution = accepted.statement().predicate.id.to_string();
    let registry = client.address().to_string();
    let push = Push {
        solution: &solution,
        registry: &registry,
        bytes: readback.bytes_of(&verified.faults),
    };
    let pushing = Pushing::new(&push, Goal::Registry, output);
    let tell = |event| pushing.take(&event);
    let repaired = readback.repair(client, verified, &tell).await;
    let whole = |repaired: &Repaired| repaired.errors.is_empty() && repaired.left.is_empty();
    pushing.finish(repaired.as_ref().is_ok_and(whole));
    repaired
}
