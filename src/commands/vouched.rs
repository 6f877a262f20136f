//! The archive of a version as a registry keeps it: which one, and who vouches for it.

use clap::Args;
use registry::{Client, RegistryAddress};
use schemas::{Digest, SolutionId};
use shelf::KeptArchive;

use super::validate::check;
use crate::args::{Output, RegistryArguments, TrustArguments};
use crate::failure::Failure;
use crate::registries;

/// By what an archive is judged that no cluster has a record of.
#[derive(Args, Debug)]
pub(super) struct JudgeArguments {
    /// The id of the archive, as `pack` and `import` show it; it replaces --key
    #[arg(long, value_name = "DIGEST")]
    archive_id: Option<Digest>,

    /// Accept the Solution with this id (`<name>-<version>`) without a signature
    #[arg(long, value_name = "ID")]
    pub(super) allow_unsigned: Option<SolutionId>,

    #[command(flatten)]
    pub(super) trust: TrustArguments,
}

/// The client of a registry that is named on the command line.
pub(super) fn client(
    registry: &RegistryAddress,
    reach: &RegistryArguments,
) -> Result<Client, Failure> {
    registries::client(registry, reach, registries::options(reach)?)
}

/// The archive of a version that a registry keeps, without a cluster.
pub(super) async fn find(
    judging: &JudgeArguments,
    client: &Client,
    id: &SolutionId,
    output: Output,
) -> Result<KeptArchive, Failure> {
    // Whoever names the archive by its id needs no signature to know that it is the one.
    let by_id = judging.archive_id.is_some() && judging.trust.keys.is_empty();
    let signatures = if by_id {
        None
    } else {
        let allow = judging.allow_unsigned.clone();
        Some(check::whose(&judging.trust, allow, output)?.0)
    };
    client.ping().await?;
    let archive_id = match judging.archive_id {
        Some(archive_id) => archive_id,
        None => shelf::only_archive(client, id).await?,
    };
    Ok(KeptArchive {
        id: id.clone(),
        archive_id,
        signatures,
    })
}
