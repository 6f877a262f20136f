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

/// Show what a deployment would change, or drift in an environment
#[derive(Args, Debug)]
#[command(
    mut_arg("set", |argument| argument.requires("what")),
    mut_arg("values", |argument| argument.requires("what")),
    mut_arg("unset", |argument| argument.requires("what")),
    mut_arg("chart_values", |argument| argument.requires("what")),
    mut_arg("chart_set", |argument| argument.requires("what")),
    after_help = "\
With ARCHIVE or NAME, the command shows what `solution import` or `solution deploy` would change. Otherwise, it \
compares each Solution in the environment with its deployment, and shows what others have changed. It writes \
nothing.

A word without dots and slashes is the name of an imported Solution; anything else is a file.

Exit codes: 0 no difference, 1 differences, 3 unknown.

Examples:
  solution diff -e prod
  solution diff -e prod example 1.1.0
  solution diff -e prod ./app.iso --key publisher.pub"
)]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or the name of an imported Solution [default: all deployed Solutions]
    #[arg(value_name = "ARCHIVE|NAME")]
    pub(super) what: Option<PathBuf>,

    /// The version of the imported Solution [default: the newest imported version]
    #[arg(requires = "what")]
    pub(super) version: Option<Version>,

    /// The name of the environment
    #[arg(short, long, value_name = "NAME")]
    pub(super) environment: EnvironmentName,

    /// The namespace of the environment [default: the only one, or all of them if no Solution is given]
    #[arg(short, long, value_name = "NAME")]
    pub(super) namespace: Option<Namespace>,

    #[command(flatten)]
    pub(super) signers: SignerArguments,

    /// The registry for the images [default: from the site configuration, else where a version of the Solution was
    /// pushed]
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
