//! `solution archive values`: what an archive lets a site choose, as a site's file.

mod draft;
mod parameter;
pub(super) mod read;

use std::path::PathBuf;

use clap::Args;
use schemas::{SolutionName, Version};

use self::read::SiteChoices;
use super::give;
use super::kept::kept;
use super::look::signers::SignerArguments;
use crate::args::{Output, ReadArguments, RegistryArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Print the configurable values as a site configuration
#[derive(Args, Debug)]
#[command(after_help = "\
All values are comments: uncomment the ones to change, and give the file to `solution site set`. The \
descriptions of chart values are from the publisher.

A word without dots and slashes is the name of an imported Solution, whose archive is read from its registry; \
anything else is a file.

Examples:
  solution archive values app.iso > site.yaml
  solution archive values app 1.0.0
  solution archive values app.iso --output json | jq '.releases[].values'")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or the name of an imported Solution
    #[arg(value_name = "ARCHIVE|NAME")]
    what: PathBuf,

    /// The version of the imported Solution [default: the newest imported version]
    version: Option<Version>,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let name = arguments.what.to_str().and_then(|word| word.parse().ok());
    match (name, &arguments.version) {
        (Some(name), _) => Ok(match imported(&name, arguments, output)? {
            Some(choices) => give(output, &choices, show),
            None => Outcome::No,
        }),
        (None, None) => {
            let choices = read::choices(&arguments.what, &arguments.signers)?;
            Ok(give(output, &choices, |choices| {
                show(choices);
                arguments.signers.note();
            }))
        }
        (None, Some(_)) => {
            let shown = arguments.what.display();
            let message = format!("`{shown}` is not the name of a Solution");
            Err(Failure::usage(message))
        }
    }
}

/// Reads what there is to choose from the archive that the site keeps; none if it is not accepted, which is said.
fn imported(
    name: &SolutionName,
    arguments: &Arguments,
    output: Output,
) -> Result<Option<SiteChoices>, Failure> {
    cluster::read(&arguments.cluster, async |cluster| {
        let version = arguments.version.as_ref();
        let kept = kept(cluster, name, version, &arguments.reach, output).await?;
        let choices = kept.map(|kept| read::of_accepted(&kept.archive.accepted));
        choices.transpose()
    })
}

fn show(choices: &SiteChoices) {
    draft::lines(choices).iter().for_each(render::line);
}
