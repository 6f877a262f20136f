//! The archive of a version as a registry keeps it: which one, and who vouches for it.

use archive::{Listed, Medium, Opened};
use clap::Args;
use importer::Error;
use registry::{Client, RegistryAddress};
use schemas::{Digest, KeyId, SolutionId};
use validator::{Report, Signatures};

use super::validate::check;
use crate::args::{Output, RegistryArguments, TrustArguments};
use crate::failure::Failure;
use crate::{interrupt, registries};

/// By what an archive is judged that no cluster has a record of.
#[derive(Args, Debug)]
pub(super) struct JudgeArguments {
    /// The archive, by the SHA-256 of its statement as `pack` and `import` show it; signatures then need no key
    #[arg(long, value_name = "DIGEST")]
    archive_id: Option<Digest>,

    /// Accept this Solution without any signature, by its id (`<name>-<version>`)
    #[arg(long, value_name = "ID")]
    pub(super) allow_unsigned: Option<SolutionId>,

    #[command(flatten)]
    pub(super) trust: TrustArguments,
}

/// An archive that is kept: of what, where, and by what it is judged.
pub(super) struct Kept {
    pub(super) id: SolutionId,
    pub(super) client: Client,
    pub(super) archive_id: Digest,
    /// None if the archive id says it all.
    pub(super) signatures: Option<Signatures>,
}

/// The head of an archive that is the one that was asked for.
pub(super) struct Head {
    pub(super) listed: Listed,
    /// The keys whose signatures it has.
    pub(super) signed_by: Vec<KeyId>,
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
    client: Client,
    id: &SolutionId,
    output: Output,
) -> Result<Kept, Failure> {
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
        None => the_only_one(&importer::kept_archives(&client, id).await?, &client, id)?,
    };
    Ok(Kept {
        id: id.clone(),
        client,
        archive_id,
        signatures,
    })
}

fn the_only_one(kept: &[Digest], client: &Client, id: &SolutionId) -> Result<Digest, Failure> {
    let registry = client.address();
    match kept {
        [one] => Ok(*one),
        [] => Err(Failure::no(anyhow::anyhow!(
            "{registry} keeps no archive of {id}"
        ))
        .hint("check the registry with its prefix, the name and the version; an archive is kept where it was imported to, but for `--repository-layout ref`")),
        several => {
            let count = several.len();
            let many = anyhow::anyhow!("{registry} keeps {count} archives of {id}");
            let failure = Failure::no(many).hint("`--archive-id` says which one");
            let ids = several.iter().map(ToString::to_string);
            Err(ids.fold(failure, Failure::because))
        }
    }
}

/// The head as the list of the archive's files; the report if nobody vouches for it.
pub(super) fn judge(medium: Medium, kept: &Kept) -> Result<Result<Head, Box<Report>>, Failure> {
    let path = medium.path().to_owned();
    let opened = Opened::read(medium).map_err(Error::from)?;
    let recognised = opened.recognise(kept.archive_id, None);
    let mut trusted = recognised.map_err(Error::from)?;
    if let Some(signatures) = kept.signatures.clone() {
        match validator::vouch(&opened, signatures, &path).map_err(Error::from)? {
            Ok(vouched) => trusted = vouched,
            Err(report) => return Ok(Err(report)),
        }
    }
    let (found, id) = (&trusted.statement().predicate.id, &kept.id);
    if found != id {
        let other = format!("{} is the archive of {found}, not of {id}", kept.archive_id);
        let failure = Failure::no(anyhow::anyhow!(other));
        return Err(failure.hint("name the Solution and version whose archive this is"));
    }
    let signatures = opened.envelope().signatures();
    let signed_by = signatures.map(|signature| signature.key_id).collect();
    let listed = trusted.list_unless(interrupt::cancel());
    let listed = listed.map_err(Error::from)?;
    Ok(Ok(Head { listed, signed_by }))
}
