//! What `solution diff` takes.

use std::path::{Path, PathBuf};

use clap::Args;
use registry::RegistryAddress;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};

use crate::args::{ReadArguments, RegistryArguments};
use crate::commands::import::SignerArguments;
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

    /// Where the archive's images would be pushed [default: where a version of the Solution was pushed to]
    #[arg(long, value_name = "HOST[/PREFIX]", help_heading = "Registry")]
    pub(super) registry: Option<RegistryAddress>,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) parameters: ParameterArguments,

    #[command(flatten)]
    pub(super) cluster: ReadArguments,
}

/// What is meant by the first word, with the archive if it is one.
pub(super) enum Meant<'a, A = &'a Path> {
    /// Nothing is named: what was deployed.
    Deployed,
    /// An imported version; the newest if none is named.
    Imported(SolutionName, Option<&'a Version>),
    /// An archive.
    Archive(A),
}

impl Arguments {
    /// What is meant by the first word: a Solution's name has no dot and no slash.
    pub(super) fn meant(&self) -> Result<Meant<'_>, Failure> {
        let Some(what) = &self.what else {
            return Ok(Meant::Deployed);
        };
        let name = what.to_str().and_then(|word| word.parse().ok());
        match (name, &self.version) {
            (Some(name), version) => Ok(Meant::Imported(name, version.as_ref())),
            (None, None) => Ok(Meant::Archive(what)),
            (None, Some(_)) => {
                let shown = what.display();
                let message = format!("`{shown}` is not the name of a Solution");
                Err(Failure::usage(message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::commands::{Cli, Command};

    fn meant(words: &[&str]) -> Result<String, String> {
        let typed = [&["solution", "diff", "-e", "prod"], words].concat();
        let Command::Diff(arguments) = Cli::try_parse_from(typed).unwrap().command else {
            panic!("it is another verb");
        };
        let meant = match arguments.meant() {
            Ok(Meant::Deployed) => "deployed".to_owned(),
            Ok(Meant::Imported(name, None)) => format!("the newest {name}"),
            Ok(Meant::Imported(name, Some(version))) => format!("{name} {version}"),
            Ok(Meant::Archive(path)) => format!("the file {}", path.display()),
            Err(failure) => return Err(failure.lines().collect()),
        };
        Ok(meant)
    }

    #[test]
    fn a_word_without_dots_and_slashes_is_the_name_of_an_imported_solution() {
        for (words, expected) in [
            (&[][..], "deployed"),
            (&["shop"], "the newest shop"),
            (&["shop", "1.0.0"], "shop 1.0.0"),
            (&["shop.iso"], "the file shop.iso"),
            (&["./shop"], "the file ./shop"),
            (&["/dev/sr0"], "the file /dev/sr0"),
        ] {
            assert_eq!(meant(words).as_deref(), Ok(expected), "{words:?}");
        }
        let file = meant(&["shop.iso", "1.0.0"]).unwrap_err();
        assert_eq!(file, "error: `shop.iso` is not the name of a Solution");
    }
}
