//! The archive that a registry is compared with.

use registry::Client;
use schemas::{SolutionId, Version};
use shelf::Head;
use validator::{Accepted, AcceptedBefore, Report};

use super::arguments::VerifyArguments;
use crate::args::Output;
use crate::commands::vouched;
use crate::failure::Failure;
use crate::{environment, interrupt};

/// Refuses to repair without the archive: a registry is not repaired with what it keeps itself.
pub(super) fn check_source(version: Option<&Version>, repair: bool) -> Result<(), Failure> {
    if version.is_none() || !repair {
        return Ok(());
    }
    let failure = Failure::usage(
        "`--repair` requires the archive's file, but a version in the registry is named",
    );
    Err(failure
        .hint("run `solution registry verify ARCHIVE --repair` with the file, or omit `--repair`"))
}

/// An archive that is accepted, or why it is not.
type JudgedArchive = Result<Accepted, Box<Report>>;

/// The archive that the registry keeps.
pub(super) async fn kept(
    arguments: &VerifyArguments,
    client: &Client,
    id: &SolutionId,
    output: Output,
) -> Result<JudgedArchive, Failure> {
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
