//! Asks for the registry, its certificate authority, and the name that nodes use.

use registry::{Credentials, RegistryAddress};

use super::{Arguments, dialog, requests};
use crate::args::RegistryArguments;
use crate::commands::import::ImageRegistry;
use crate::failure::Failure;
use crate::registries;

/// Asks for the registry until it answers.
pub(super) fn ask(arguments: &mut Arguments) -> Result<(), Failure> {
    let present = arguments.registry.as_ref().map(ToString::to_string);
    let reach = &mut arguments.reach;
    let question = "Registry to push images to (HOST[/PREFIX])";
    arguments.registry = dialog::ask(question, present.as_deref(), |typed| {
        let registry: ImageRegistry = typed.parse().map_err(Failure::usage)?;
        match answers(&registry.address, reach) {
            Err(failure) if needs_authority(&failure, reach) => {
                dialog::again(failure)?;
                ask_authority(&registry.address, reach)?;
            }
            other => other?,
        }
        Ok(registry)
    })?;
    Ok(())
}

/// Whether the registry answers; it may require a login.
fn answers(address: &RegistryAddress, reach: &RegistryArguments) -> Result<(), Failure> {
    match requests::ping(address, reach, Credentials::Anonymous) {
        Err(failure) if failure.is_login() => Ok(()),
        other => other,
    }
}

/// Whether another certificate authority can help.
fn needs_authority(failure: &Failure, reach: &RegistryArguments) -> bool {
    failure.is_untrusted() || (!reach.ca_file.is_empty() && registries::options(reach).is_err())
}

/// Asks for the certificate authority until the registry answers with it.
fn ask_authority(address: &RegistryAddress, reach: &mut RegistryArguments) -> Result<(), Failure> {
    let present = reach.ca_file.first().map(|path| path.display().to_string());
    let question = "Certificate authority of the registry (PEM file)";
    let found = dialog::ask(question, present.as_deref(), |typed| {
        reach.ca_file = vec![dialog::path(typed)?];
        answers(address, reach)
    })?;
    if found.is_none() {
        reach.ca_file.clear();
        return answers(address, reach);
    }
    Ok(())
}

/// The answer that nodes use the registry's name that this machine uses.
const SAME: &str = "the same";

/// Asks for the name of the registry that nodes use. This machine may be unable to resolve it.
pub(super) fn ask_pull_registry(arguments: &mut Arguments) -> Result<(), Failure> {
    let present = arguments.pull_registry.as_ref().map(ToString::to_string);
    let present = present.unwrap_or_else(|| SAME.to_owned());
    let reach = &arguments.reach;
    let question = "Registry as nodes know it (HOST[/PREFIX])";
    let found = dialog::ask(question, Some(&present), |typed| {
        if typed == SAME {
            return Ok(None);
        }
        let address: RegistryAddress = typed.parse().map_err(Failure::usage)?;
        if let Err(failure) = answers(&address, reach) {
            dialog::again(failure)?;
            if !dialog::confirm("This machine does not reach it. Use it?", true)? {
                return Err(Failure::usage("enter another address"));
            }
        }
        Ok(Some(address))
    })?;
    arguments.pull_registry = found.flatten();
    Ok(())
}
