//! `solution registry export`: writes the archive of an imported version again, from its content in the registry. Every
//! byte is compared with the signed digests, so a damaged registry never results in an archive.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use archive::{ListedArchive, Overwrite, WrittenArchive};
use clap::Args;
use importer::HeldSite;
use progress::Progress;
use registry::{Client, Event, RegistryAddress};
use schemars::JsonSchema;
use schemas::{Digest, KeyId, SolutionId, SolutionName, Version};
use serde::Serialize;
use store::{ArchiveHead, Export, RegistryArchive};

use crate::args::{ClusterArguments, Output, RegistryArguments, choose};
use crate::commands::imported_version::{self, TrustedArchiveArguments};
use crate::commands::validate::refuse;
use crate::commands::{give, import};
use crate::failure::{Failure, Outcome};
use crate::progress_bar::{self, ProgressDisplay};
use crate::{cluster, environment, interrupt, render};

/// Restore the archive of an imported version from a registry
#[derive(Args, Debug)]
#[command(
    mut_arg("keys", |argument| argument.requires("registry")),
    mut_arg("archive_id", |argument| argument.requires("registry")),
    mut_arg("allow_unsigned", |argument| argument.requires("registry")),
    mut_arg("kubeconfig", |argument| argument.conflicts_with("registry")),
    mut_arg("context", |argument| argument.conflicts_with("registry")),
    after_help = "\
The command restores the archive from the images and the content list in the registry, with the signatures of \
the last import. It compares every byte with the signed digests. If content is missing or damaged, it lists the \
content and writes no file.

Without --registry, the record in the cluster identifies the registry and the archive. With --registry, the \
command does not contact the cluster: --key verifies the signatures of the archive, or --archive-id identifies \
it.

Examples:
  solution registry export shop 1.0.0 --out shop-1.0.0.iso
  solution registry export shop 1.0.0 --registry registry.example/apps --key publisher.pub \\
      --out shop-1.0.0.iso
  solution registry export shop 1.0.0 --registry registry.example --archive-id sha256:5d0c… \\
      --out shop.iso"
)]
pub(crate) struct Arguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The version
    version: Version,

    /// The archive to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Replace the archive if it exists
    #[arg(long)]
    force: bool,

    /// The registry of the imported version [default: from the record in the cluster]
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: Option<RegistryAddress>,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    judging: TrustedArchiveArguments,

    #[command(flatten)]
    cluster: ClusterArguments,
}

impl Arguments {
    /// Returns the id of the requested version.
    fn id(&self) -> Result<SolutionId, Failure> {
        let id = SolutionId::new(self.solution.clone(), self.version.clone());
        id.map_err(Failure::usage)
    }
}

/// The written files.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Exported {
    /// The path of the archive.
    archive: PathBuf,
    /// SHA-256 of the signed statement.
    archive_id: Digest,
    /// The id of the Solution, `<name>-<version>`.
    solution: SolutionId,
    /// Where it came from.
    registry: String,
    /// Bytes of the archive.
    size: u64,
    /// Manifests, configurations and layers that the registry gave.
    contents: usize,
    /// The keys whose signatures it has.
    signed_by: Vec<KeyId>,
}

/// An archive, with the registry that contains it.
struct Source {
    client: Client,
    kept: RegistryArchive,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let id = arguments.id()?;
    let overwrite = choose(arguments.force, Overwrite::Replace, Overwrite::Refuse);
    archive::check_target(&arguments.out, overwrite)?;
    interrupt::note(format!(
        "interrupted: `{}` was not written",
        arguments.out.display()
    ));
    cluster::block_on(async {
        let Source { client, kept } = match &arguments.registry {
            Some(registry) => {
                let client = imported_version::client(registry, &arguments.reach)?;
                let kept = imported_version::find(&arguments.judging, &client, &id, output).await?;
                Source { client, kept }
            }
            None => recorded(arguments, &id).await?,
        };
        let scratch = environment::scratch();
        let medium = store::open_head(&client, &id, &kept.archive_id, &scratch).await?;
        let ArchiveHead { listed, signed_by } = match kept.validate(medium, interrupt::cancel())? {
            Ok(head) => head,
            Err(report) => return Ok(refuse(&report, ", so nothing was written", output)),
        };
        let out = arguments.out.clone();
        let (contents, written) = write(&client, &id, listed, out, overwrite, output).await?;
        let exported = Exported {
            archive: written.path,
            archive_id: written.archive_id,
            solution: id,
            registry: client.address().to_string(),
            size: written.size,
            contents,
            signed_by,
        };
        Ok(give(output, &exported, show))
    })
}

/// Returns the archive of the version's record in the cluster.
async fn recorded(arguments: &Arguments, id: &SolutionId) -> Result<Source, Failure> {
    let cluster = cluster::connect(&arguments.cluster).await?;
    let record = importer::imported(&cluster, id.name(), Some(id.version())).await?;
    let site: HeldSite = importer::site(&cluster).await?;
    Ok(Source {
        client: import::client(&record.registry()?, &arguments.reach, &site)?,
        kept: RegistryArchive {
            id: id.clone(),
            archive_id: record.archive_id,
            signatures: None,
        },
    })
}

/// Writes the archive. Returns the number of contents from the registry, and the written file.
async fn write(
    client: &Client,
    id: &SolutionId,
    listed: ListedArchive,
    out: PathBuf,
    overwrite: Overwrite,
    output: Output,
) -> Result<(usize, WrittenArchive), Failure> {
    let export = Export::find(client, id, &listed).await?;
    let contents = export.contents();
    let copying = blocking(move || listed.copy(&out, overwrite, interrupt::cancel())).await?;
    let receiving = ReceiveProgress::new(output, export.bytes());
    let tell = |event| receiving.take(&event);
    let fetched = export.fetch(client, &copying, &tell).await;
    receiving.finish();
    fetched?;
    let draft = blocking(move || copying.finish(interrupt::cancel())).await?;
    Ok((contents, draft.publish(interrupt::cancel())?))
}

/// Runs work with files on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, archive::WriteError> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(Failure::unknown)??)
}

fn show(exported: &Exported) {
    let (path, size) = (exported.archive.display(), render::bytes(exported.size));
    let contents = render::count(exported.contents, "content");
    let registry = &exported.registry;
    render::line!("exported    {path} ({size}, {contents} from {registry})");
    let signed_by = render::list(exported.signed_by.iter().map(ToString::to_string));
    let nobody = exported.signed_by.is_empty();
    let signed_by = choose(nobody, "nobody".to_owned(), signed_by);
    render::line!("signed by   {signed_by}");
    render::line!("archive id  {}", exported.archive_id);
}

/// The label of the progress bar.
const EXPORT: &str = "export";

/// A progress bar that a restarted blob never moves back.
struct ReceiveProgress {
    bar: ProgressDisplay,
    total: u64,
    received: Mutex<HashMap<Digest, u64>>,
}

impl ReceiveProgress {
    /// Creates the progress of a transfer of this size.
    fn new(output: Output, bytes: u64) -> Self {
        Self {
            bar: progress_bar::bytes(output, EXPORT, bytes),
            total: bytes,
            received: Mutex::default(),
        }
    }

    /// Takes one event of the pull.
    fn take(&self, event: &Event) {
        match event {
            Event::BlobReceived { digest, position } => self.reached(*digest, *position),
            Event::BlobComplete { digest, size } => self.reached(*digest, *size),
            Event::Retrying { reason, wait } => self.bar.retrying(reason, *wait),
            Event::BlobSent { .. }
            | Event::BlobResumed { .. }
            | Event::JournalIgnored { .. }
            | Event::BlobInPlace { .. }
            | Event::BlobFailed { .. }
            | Event::ManifestInPlace { .. }
            | Event::ManifestFailed { .. } => {}
        }
    }

    /// Removes the bar.
    fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn reached(&self, digest: Digest, position: u64) {
        let received = self.received.lock();
        let mut received = received.unwrap_or_else(PoisonError::into_inner);
        let known = received.entry(digest).or_default();
        *known = (*known).max(position);
        let (done, total) = (received.values().sum(), self.total);
        self.bar.show(EXPORT, Progress { done, total });
    }
}
