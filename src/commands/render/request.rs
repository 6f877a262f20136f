//! What `solution render` asks for.

use importer::{CreateEnvironment, Request, SiteFile};
use validator::Accepted;

use super::Arguments;
use crate::args::Output;
use crate::commands::meant::{ImagesAt, Meant};
use crate::commands::{import, site};
use crate::failure::Failure;
use crate::helm;

/// What is rendered; nothing if an archive is not accepted, which was said.
pub(super) fn accepted(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<Meant<'_, Box<Accepted>>>, Failure> {
    let meant = arguments.meant()?;
    meant.accepted(&arguments.signers, "nothing was rendered", output)
}

/// The site's files that are named.
pub(super) fn site_files(arguments: &Arguments) -> Result<Vec<SiteFile>, Failure> {
    let without = &arguments.without;
    let default = without.site_file.iter().map(|it| site::read(it, None));
    let own = without.environment_site_file.iter();
    let own = own.map(|it| site::read(it, Some(&arguments.environment)));
    default.chain(own).collect()
}

pub(super) fn request(arguments: &Arguments, images: ImagesAt) -> Result<Request, Failure> {
    let target = import::target(
        &arguments.environment,
        arguments.namespace.clone(),
        &arguments.parameters,
    )?;
    let mut request = import::of_reader(target, images, arguments.signers.allowed())?;
    request.helm = helm::installer(arguments.helm.as_deref());
    request.allowed.create = CreateEnvironment::Allow;
    request.accepted = arguments.accept.iter().cloned().collect();
    request.helm_from = arguments.helm_from();
    Ok(request)
}
