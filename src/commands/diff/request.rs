//! What `solution diff` asks for.

use importer::Request;
use schemas::Namespace;
use validator::Accepted;

use super::arguments::Arguments;
use crate::args::Output;
use crate::commands::import;
use crate::commands::meant::{ImagesAt, Meant};
use crate::failure::Failure;

/// What is compared with the environment; of an archive, one that is accepted.
pub(super) enum Compared<'a> {
    /// What was deployed.
    Deployed,
    /// A version.
    Version(Meant<'a, Box<Accepted>>),
}

/// What is compared; nothing where an archive is not accepted, which was said.
pub(super) fn compared(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<Compared<'_>>, Failure> {
    let Some(meant) = arguments.meant()? else {
        return Ok(Some(Compared::Deployed));
    };
    let accepted = meant.accepted(&arguments.signers, "nothing was compared", output)?;
    Ok(accepted.map(Compared::Version))
}

/// The request of one who wants to know and not to do.
pub(super) fn request(
    arguments: &Arguments,
    namespace: Option<Namespace>,
    images: ImagesAt,
) -> Result<Request, Failure> {
    let target = import::target(&arguments.environment, namespace, &arguments.parameters)?;
    import::of_reader(target, images, arguments.signers.allowed())
}
