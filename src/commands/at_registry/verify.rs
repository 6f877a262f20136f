//! `solution registry verify`: every byte that a registry has of an archive, compared with the archive.

use std::path::{Path, PathBuf};

use clap::Args;
use registry::{Client, Fault, Faulty, Reference, RegistryAddress, Verified};
use schemars::JsonSchema;
use schemas::{Digest, SolutionId, SolutionName, Version};
use serde::Serialize;
use shelf::Error;
use shelf::{Head, Readback, Repaired};
use validator::{Accepted, AcceptedBefore};

use crate::args::{Output, ProgressArguments, RegistryArguments, choose};
use crate::commands::pushing::{Goal, Push, Pushing};
use crate::commands::validate::check;
use crate::commands::validate::words::refuse;
use crate::commands::vouched::{self, JudgeArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, environment, interrupt, progress, push_events, render};

/// Read back everything that a registry has of an archive, and compare every byte
#[derive(Args, Debug)]
#[command(
    mut_arg("progress", |argument| argument.requires("repair")),
    after_help = "\
The archive is a file, or the name and version of what the registry keeps: then its head, which lies
beside the images, says what there has to be.

Read are all manifests and blobs in each repository that an import pushes to, and the head. --repair
pushes what is missing or damaged from the archive and reads it again. Some registries keep the bytes
that they have, whatever is pushed: then it says what to remove there.

Examples:
  solution registry verify shop.iso --key publisher.pub --registry registry.example/apps
  solution registry verify shop 1.0.0 --key publisher.pub --registry registry.example/apps
  solution registry verify shop.iso --key publisher.pub --registry registry.example/apps --repair"
)]
pub(crate) struct VerifyArguments {
    /// The archive, or the name of a Solution whose archive the registry keeps
    #[arg(value_name = "ARCHIVE|NAME")]
    archive: PathBuf,

    /// The version, where a name is given
    version: Option<Version>,

    /// The registry
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: RegistryAddress,

    /// Push what is missing or damaged, and read it again
    #[arg(long)]
    repair: bool,

    #[command(flatten)]
    progress: ProgressArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    judging: JudgeArguments,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Found {
    /// The id of the Solution, `<name>-<version>`.
    solution: SolutionId,
    /// SHA-256 of the signed statement.
    archive_id: Digest,
    /// The registry, `HOST[:PORT][/PREFIX]`.
    registry: String,
    /// How many manifests there have to be; one counts once for each name.
    manifests: usize,
    /// How many blobs were read and are right; one counts once for each repository.
    blobs: usize,
    /// The bytes of these blobs.
    bytes: u64,
    /// What is wrong; after a repair, what is wrong still.
    faults: Vec<ShownFault>,
    /// What was wrong and is right now, read back.
    repaired: Vec<ShownFault>,
    /// What kept the repair from more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
}

/// A manifest or blob that is wrong.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Fault")]
pub(crate) struct ShownFault {
    /// The repository, with the registry's host.
    repository: String,
    /// The digest or tag.
    reference: Reference,
    #[serde(flatten)]
    fault: Fault,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

pub(crate) fn run(arguments: &VerifyArguments, output: Output) -> Result<Outcome, Failure> {
    check_source(arguments.version.as_ref(), arguments.repair)?;
    push_events::begin(&arguments.progress)?;
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
    match archive(&arguments.archive, arguments, output)? {
        Ok(accepted) => cluster::block_on(verify(arguments, &accepted, &client, output)),
        Err(report) => Ok(refuse(&report, ", so nothing was read", output)),
    }
}

/// Refuses to repair without the archive: a registry is not repaired with what it keeps itself.
fn check_source(version: Option<&Version>, repair: bool) -> Result<(), Failure> {
    if version.is_none() || !repair {
        return Ok(());
    }
    let failure = Failure::usage(
        "`--repair` pushes from the archive's file, and with a version there is only what the registry keeps",
    );
    Err(failure.hint("`solution registry verify ARCHIVE --repair` takes the file alone; without `--repair`, NAME VERSION only reads"))
}

type Judged = Result<Accepted, Box<validator::Report>>;

fn archive(path: &Path, arguments: &VerifyArguments, output: Output) -> Result<Judged, Failure> {
    let JudgeArguments {
        trust,
        allow_unsigned,
        ..
    } = &arguments.judging;
    Ok(check::documents(path, trust, allow_unsigned.clone(), output)?.accept())
}

/// The archive that the registry keeps.
async fn kept(
    arguments: &VerifyArguments,
    client: &Client,
    id: &SolutionId,
    output: Output,
) -> Result<Judged, Failure> {
    let kept = vouched::find(&arguments.judging, client, id, output).await?;
    let scratch = environment::scratch();
    let archive_id = &kept.archive_id;
    let head = shelf::open_head(client, id, archive_id, &scratch).await?;
    let Head { signed_by, .. } = match kept.judge(head, interrupt::cancel())? {
        Ok(head) => head,
        Err(report) => return Ok(Err(report)),
    };
    let before = AcceptedBefore {
        archive_id: kept.archive_id,
        signers: signed_by,
    };
    let report = shelf::check_archive(client, id, before, &scratch, interrupt::cancel()).await?;
    Ok(report.accept())
}

/// Reads everything, and has what is wrong pushed once more if that is asked for.
async fn verify(
    arguments: &VerifyArguments,
    accepted: &Accepted,
    client: &Client,
    output: Output,
) -> Result<Outcome, Failure> {
    let readback = Readback::of(accepted, client.address())?;
    let bar = progress::bytes(output, "verify", 0);
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
    let shown = |faulty: &Faulty| ShownFault {
        fix: fix(faulty, arguments.repair),
        ..ShownFault::of(client, faulty)
    };
    let healed = repaired.healed.iter();
    let found = Found {
        solution: accepted.statement().predicate.id.clone(),
        archive_id: accepted.archive_id(),
        registry: client.address().to_string(),
        manifests: readback.manifests(),
        blobs,
        bytes,
        faults: repaired.left.iter().map(shown).collect(),
        repaired: healed.map(|it| ShownFault::of(client, it)).collect(),
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
        goal: Goal::Registry,
    };
    let pushing = Pushing::new(output, &push);
    let tell = |event| pushing.take(&event);
    let repaired = readback.repair(client, verified, &tell).await;
    let whole = |repaired: &Repaired| repaired.errors.is_empty() && repaired.left.is_empty();
    pushing.finish(repaired.as_ref().is_ok_and(whole));
    repaired
}

impl ShownFault {
    fn of(client: &Client, faulty: &Faulty) -> Self {
        Self {
            repository: format!("{}/{}", client.address().host(), faulty.repository),
            reference: faulty.reference.clone(),
            fault: faulty.fault,
            fix: None,
        }
    }

    /// What is the case, for people.
    fn words(&self) -> String {
        let (reference, repository) = (&self.reference, &self.repository);
        match self.fault {
            Fault::Missing => format!("{reference} in {repository} is missing"),
            Fault::Damaged => format!("{reference} in {repository} is damaged"),
            Fault::Other(found) => {
                format!("{reference} in {repository} is {found}, and another image")
            }
        }
    }
}

/// What to do about it, where a push is no help or was none.
fn fix(faulty: &Faulty, tried: bool) -> Option<String> {
    let words = match (&faulty.fault, &faulty.reference) {
        (Fault::Other(_), _) => {
            "find out who moved the tag; `solution import ARCHIVE --replace` moves it back"
                .to_owned()
        }
        (_, _) if !tried => {
            "`solution registry verify ARCHIVE --repair` pushes it once more".to_owned()
        }
        (_, Reference::Digest(digest)) => {
            let hex = digest.hex();
            let directory = format!("docker/registry/v2/blobs/sha256/{}/{hex}", &hex[..2]);
            format!(
                "the registry keeps the bytes that it has, whatever is pushed: remove them from its storage (docker-registry: the directory `{directory}`), restart it, and run the same command again"
            )
        }
        (_, Reference::Tag(_)) => return None,
    };
    Some(words)
}

fn show(found: &Found) {
    let Found {
        solution, registry, ..
    } = found;
    let blobs = render::count(found.blobs, "blob");
    let manifests = render::count(found.manifests, "manifest");
    let bytes = render::bytes(found.bytes);
    for fault in &found.repaired {
        let words = fault.words();
        render::line!("repaired: {words}");
    }
    if found.faults.is_empty() {
        return render::line!(
            "{registry} has all of {solution}: {manifests}, {blobs} ({bytes}) read back"
        );
    }
    for error in &found.errors {
        render::note!("error: {error}");
    }
    let mut fixes: Vec<&String> = Vec::new();
    for fault in &found.faults {
        let words = fault.words();
        render::line!("wrong: {words}");
        let fix = fault.fix.iter().filter(|fix| !fixes.contains(fix));
        let fix: Vec<&String> = fix.collect();
        fixes.extend(fix);
    }
    let faults = render::count(found.faults.len(), "fault");
    render::note!("error: {registry} does not have all of {solution}: {faults}");
    for fix in fixes {
        render::note!("hint: {fix}");
    }
}
