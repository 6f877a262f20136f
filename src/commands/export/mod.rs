//! `solution registry export`: an archive that was imported, written again from what the registry has.

mod arguments;
mod receive;

use std::path::PathBuf;

use archive::{Listed, Overwrite, Written};
use importer::HeldSite;
use registry::Client;
use schemars::JsonSchema;
use schemas::{Digest, KeyId, SolutionId};
use serde::Serialize;
use shelf::{Export, Head, KeptArchive};

pub(crate) use self::arguments::Arguments;
use self::receive::Receiving;
use super::validate::words::refuse;
use super::vouched;
use super::{give, import};
use crate::args::{Output, choose};
use crate::failure::{Failure, Outcome};
use crate::{cluster, environment, interrupt, render};

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

/// An archive, and the registry that keeps it.
struct Source {
    client: Client,
    kept: KeptArchive,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
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
                let client = vouched::client(registry, &arguments.reach)?;
                let kept = vouched::find(&arguments.judging, &client, &id, output).await?;
                Source { client, kept }
            }
            None => recorded(arguments, &id).await?,
        };
        let scratch = environment::scratch();
        let medium = shelf::open_head(&client, &id, &kept.archive_id, &scratch).await?;
        let Head { listed, signed_by } = match kept.judge(medium, interrupt::cancel())? {
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

/// The archive of the version's record in the cluster.
async fn recorded(arguments: &Arguments, id: &SolutionId) -> Result<Source, Failure> {
    let cluster = cluster::connect(&arguments.cluster).await?;
    let record = importer::imported(&cluster, id.name(), Some(id.version())).await?;
    let site: HeldSite = importer::site(&cluster).await?;
    Ok(Source {
        client: import::client(&record.registry()?, &arguments.reach, &site)?,
        kept: KeptArchive {
            id: id.clone(),
            archive_id: record.archive_id,
            signatures: None,
        },
    })
}

/// Writes it. How many contents the registry gave, and what was written.
async fn write(
    client: &Client,
    id: &SolutionId,
    listed: Listed,
    out: PathBuf,
    overwrite: Overwrite,
    output: Output,
) -> Result<(usize, Written), Failure> {
    let export = Export::find(client, id, &listed).await?;
    let contents = export.contents();
    let copying = blocking(move || listed.copy(&out, overwrite, interrupt::cancel())).await?;
    let receiving = Receiving::new(output, export.bytes());
    let tell = |event| receiving.take(&event);
    let fetched = export.fetch(client, &copying, &tell).await;
    receiving.finish();
    fetched?;
    let draft = blocking(move || copying.finish(interrupt::cancel())).await?;
    Ok((contents, draft.publish(interrupt::cancel())?))
}

/// Work with files, on a thread that may wait.
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
