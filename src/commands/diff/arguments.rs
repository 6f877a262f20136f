//! What `solution diff` takes.

use std::path::PathBuf;

use clap::Args;
use registry::RegistryAddress;
use schemas::{EnvironmentName, Namespace, Version};

use crate::args::{ReadArguments, RegistryArguments};
use crate::commands::import::SignerArguments;
use crate::commands::meant::Meant;
use crate::commands::parameters::ParameterArguments;
use crate::failure::Failure;

/// Show what deploying a version would change in an environment, or what others have changed there
#[derive(Args, Debug)]
#[command(
    mut_arg("set", |argument| argument.requires("what")),
    mut_arg("values", |argument| argument.requires("what")),
    mut_arg("unset", |argument| argument.requires("what")),
    mut_arg("chart_values", |argument| argument.requires("what")),
    mut_arg("chart_set", |argument| argument.requires("what")),
    after_help = "\
With an archive or a name, the diff is what `solution import` or `solution deploy` would change.
Without, every Solution of the environment is compared with what was deployed: what differs was
changed by somebody else since. Nothing is written.

A word without dots and slashes is the name of an imported Solution, anything else is a file.

Exits with 0 if nothing differs, with 1 if something does, and with 3 if that cannot be told.

Examples:
  solution diff --environment prod
  solution diff -e prod example 1.1.0
  solution diff -e prod ./app.iso --key publisher.pub"
)]
pub(crate) struct Arguments {
    /// An archive, or the name of an imported Solution [default: every Solution that is deployed]
    #[arg(value_name = "ARCHIVE|NAME")]
    pub(super) what: Option<PathBuf>,

    /// The version of the imported Solution [default: the newest that is imported]
    #[arg(requires = "what")]
    pub(super) version: Option<Version>,

    /// The environment
    #[arg(short, long, value_name = "NAME")]
    pub(super) environment: EnvironmentName,

    /// The namespace of the environment [default: the only one, or all of them where nothing is named]
    #[arg(short, long, value_name = "NAME")]
    pub(super) namespace: Option<Namespace>,

    #[command(flatten)]
    pub(super) signers: SignerArguments,

    /// Where the archive's images would be pushed [default: that of the site's file, else where a version of the Solution was
    /// pushed to]
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: Option<RegistryAddress>,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) parameters: ParameterArguments,

    #[command(flatten)]
    pub(super) cluster: ReadArguments,
}

impl Arguments {
    /// What is meant by the first word, if there is one.
    pub(super) fn meant(&self) -> Result<Option<Meant<'_>>, Failure> {
        let what = self.what.as_deref();
        what.map(|it| Meant::by(it, self.version.as_ref()))
            .transpose()
    }
}
