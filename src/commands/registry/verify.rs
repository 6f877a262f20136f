//! `solution registry verify`: compares every byte of an archive with its content in a registry. With `--repair`, it
//! pushes missing and damaged content from the archive.

use std::path::PathBuf;

use clap::Args;
use registry::{Client, Fault, FaultyContent, Reference, RegistryAddress, VerifyReport};
use schemars::JsonSchema;
use schemas::{Digest, SolutionId, SolutionName, Version};
use serde::Serialize;
use store::{ArchiveHead, Error, Readback, RepairReport};
use validator::{AcceptedArchive, PriorAcceptance, Report};

use crate::args::{Output, ProgressArguments, RegistryArguments};
use crate::commands::imported_version::{self, TrustedArchiveArguments};
use crate::commands::push_progress::{PushGoal, PushProgress};
use crate::commands::validate::{check, refuse};
use crate::events::{self, Push};
use crate::failure::{Failure, Outcome};
use crate::{cluster, environment, interrupt, progress_bar, render};

/// Verify every byte of an archive's content in a registry
#[derive(Args, Debug)]
#[command(
    mut_arg("progress", |argument| argument.requires("repair")),
    after_help = "\
The command reads all manifests and blobs in the repositories of the version. With a name and a version, the \
content list that the import stored in the registry replaces the archive.

--repair pushes missing or damaged content from the archive. Some registries do not replace damaged content; the \
command then reports what to delete in the registry.

Examples:
  solution registry verify shop.iso --key publisher.pub --registry registry.example/apps
  solution registry verify shop 1.0.0 --key publisher.pub --registry registry.example/apps
  solution registry verify shop.iso --key publisher.pub --registry registry.example/apps --repair"
)]
pub(crate) struct VerifyArguments {
    /// The archive (a file or a block device), or the name of a Solution in the registry
    #[arg(value_name = "ARCHIVE|NAME")]
    archive: PathBuf,

    /// The version of the named Solution
    version: Option<Version>,

    /// The address of the registry
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: RegistryAddress,

    /// Push missing or damaged content, and verify it again
    #[arg(long)]
    repair: bool,

    #[command(flatten)]
    progress: ProgressArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    judging: TrustedArchiveArguments,
}

pub(super) fn run(arguments: &VerifyArguments, output: Output) -> Result<Outcome, Failure> {
    check_source(arguments.version.as_ref(), arguments.repair)?;
    events::begin(&arguments.progress)?;
    let client = imported_version::client(&arguments.registry, &arguments.reach)?;
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

/// Compares all content, and repairs faulty content if the user requests it.
async fn verify(
    arguments: &VerifyArguments,
    accepted: &AcceptedArchive,
    client: &Client,
    output: Output,
) -> Result<Outcome, Failure> {
    let readback = Readback::prepare(accepted, client).await?;
    let bar = progress_bar::spinner(output, "verify");
    let tell = |progress| bar.show("verify", progress);
    let verified = readback.verify(client, &tell).await;
    bar.finish_and_clear();
    let verified = verified?;
    let (blobs, bytes) = (verified.blobs, verified.bytes);
    let repaired = if arguments.repair && !verified.faults.is_empty() {
        repair(&readback, verified, accepted, client, output).await?
    } else {
        RepairReport {
            healed: Vec::new(),
            left: verified.faults,
            errors: Vec::new(),
        }
    };
    let shown =
        |faulty: &FaultyContent| ShownFault::of(client, faulty, fix(faulty, arguments.repair));
    let healed = repaired.healed.iter();
    let found = Verification {
        solution: accepted.statement().predicate.id.clone(),
        archive_id: accepted.archive_id(),
        registry: client.address().to_string(),
        manifests: readback.manifests(),
        blobs,
        bytes,
        faults: repaired.left.iter().map(shown).collect(),
        repaired: healed
            .map(|healed| ShownFault::of(client, healed, None))
            .collect(),
        errors: repaired.errors.iter().map(ToString::to_string).collect(),
    };
    render::result(output, &found, show);
    let is_whole = found.faults.is_empty();
    Ok(Outcome::from(is_whole))
}

/// Pushes faulty content again.
async fn repair(
    readback: &Readback,
    verified: VerifyReport,
    accepted: &AcceptedArchive,
    client: &Client,
    output: Output,
) -> Result<RepairReport, Error> {
    let solution = accepted.statement().predicate.id.to_string();
    let registry = client.address().to_string();
    let push = Push {
        solution: &solution,
        registry: &registry,
        bytes: readback.bytes_of(&verified.faults),
    };
    let pushing = PushProgress::new(&push, PushGoal::Registry, output);
    let tell = |event| pushing.take(&event);
    let repaired = readback.repair(client, verified, &tell).await;
    let whole = |repaired: &RepairReport| repaired.errors.is_empty() && repaired.left.is_empty();
    pushing.finish(repaired.as_ref().is_ok_and(whole));
    repaired
}

/// Refuses to repair without an archive in a file, because a registry cannot be repaired with its own faulty content.
fn check_source(version: Option<&Version>, repair: bool) -> Result<(), Failure> {
    if version.is_none() || !repair {
        return Ok(());
    }
    let failure = Failure::usage(
        "`--repair` requires the archive's file, but a version in the registry is named",
    );
    Err(failure
        .hint("run `solution registry verify ARCHIVE --repair` with the file, or omit `--repair`"))
}

/// An accepted archive, or the report with the reasons why it is not accepted.
type JudgedArchive = Result<AcceptedArchive, Box<Report>>;

/// Returns the archive in the registry.
async fn kept(
    arguments: &VerifyArguments,
    client: &Client,
    id: &SolutionId,
    output: Output,
) -> Result<JudgedArchive, Failure> {
    let kept = imported_version::find(&arguments.judging, client, id, output).await?;
    let scratch = environment::scratch();
    let archive_id = &kept.archive_id;
    let head = store::open_head(client, id, archive_id, &scratch).await?;
    let ArchiveHead { signed_by, .. } = match kept.validate(head, interrupt::cancel())? {
        Ok(head) => head,
        Err(report) => return Ok(Err(report)),
    };
    let before = PriorAcceptance {
        archive_id: kept.archive_id,
        signers: signed_by,
    };
    let report = store::check_archive(client, id, before, &scratch, interrupt::cancel()).await?;
    Ok(report.accept())
}

/// The result.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verification {
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
    /// The faults; after a repair, the remaining ones.
    faults: Vec<ShownFault>,
    /// The repaired faults, verified by reading.
    repaired: Vec<ShownFault>,
    /// The errors of the repair.
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
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl ShownFault {
    fn of(client: &Client, faulty: &FaultyContent, fix: Option<String>) -> Self {
        Self {
            repository: format!("{}/{}", client.address().host(), faulty.repository),
            reference: faulty.reference.clone(),
            fault: faulty.fault,
            fix,
        }
    }

    /// Describes the fault.
    fn words(&self) -> String {
        let (reference, repository) = (&self.reference, &self.repository);
        match self.fault {
            Fault::Missing => format!("{reference} in {repository} is missing"),
            Fault::Damaged => format!("{reference} in {repository} is damaged"),
            Fault::Other(found) => {
                format!("{reference} in {repository} is {found}, which is another image")
            }
        }
    }
}

/// Returns the fix for a fault that a push does not or did not repair.
fn fix(faulty: &FaultyContent, tried: bool) -> Option<String> {
    let words = match (&faulty.fault, &faulty.reference) {
        (Fault::Other(_), _) => {
            "find out who moved the tag, then move it back with `solution import ARCHIVE --replace`"
                .to_owned()
        }
        (_, _) if !tried => {
            "push it again with `solution registry verify ARCHIVE --repair`".to_owned()
        }
        (_, Reference::Digest(digest)) => {
            let hex = digest.hex();
            let directory = format!("docker/registry/v2/blobs/sha256/{}/{hex}", &hex[..2]);
            format!(
                "remove the damaged blob from the registry's storage (docker-registry: the directory `{directory}`), restart the registry, and run the same command again: it does not overwrite blobs that it has"
            )
        }
        (_, Reference::Tag(_)) => return None,
    };
    Some(words)
}

/// Shows the result of a verification.
fn show(found: &Verification) {
    let (solution, registry) = (&found.solution, &found.registry);
    let blobs = render::count(found.blobs, "blob");
    let manifests = render::count(found.manifests, "manifest");
    let bytes = render::bytes(found.bytes);
    render::lines("repaired: ", found.repaired.iter().map(ShownFault::words));
    if found.faults.is_empty() {
        return render::line!(
            "{registry} has all content of {solution}: {manifests}, {blobs} ({bytes}) verified"
        );
    }
    render::notes("error: ", &found.errors);
    let mut fixes: Vec<&String> = Vec::new();
    for fault in &found.faults {
        render::line!("wrong: {}", fault.words());
        let fix = fault.fix.as_ref();
        fixes.extend(fix.filter(|fix| !fixes.contains(fix)));
    }
    let faults = render::count(found.faults.len(), "fault");
    render::note!("error: {registry} does not have all content of {solution}: {faults}");
    render::notes("hint: ", fixes);
}
