//! `solution compare`: what differs between two versions, by their archives alone.

pub(crate) mod show;
mod words;

use std::path::{Path, PathBuf};

use clap::Args;
use importer::VersionComparison;
use schemas::{KeyId, Version};
use validator::Accepted;

use self::show::ComparedArchives;
use super::listed::unvouched;
use super::signers::SignerArguments;
use crate::args::{Output, ReadArguments, RegistryArguments, choose};
use crate::cluster;
use crate::commands::kept::kept;
use crate::commands::meant::Meant;
use crate::commands::validate::words::refuse;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Compare two versions of a Solution
#[derive(Args, Debug)]
#[command(after_help = "\
CRDs are checked like an upgrade from the first to the second version. Objects, charts and parameters are \
compared as in the archives, before image addresses are replaced. Rendered charts are not compared: use \
`solution diff` in an environment.

A word without dots and slashes, or NAME@VERSION, is an imported version; the command reads its archive from the \
registry.

Exit codes: 0 no difference, 1 differences, 3 unknown.

Examples:
  solution compare shop-1.0.0.iso shop-1.1.0.iso
  solution compare shop shop-1.1.0.iso
  solution compare shop@1.0.0 shop@1.1.0 --output json")]
pub(crate) struct Arguments {
    /// The first version: an archive (a file or a block device), or an imported Solution in its newest version or
    /// VERSION
    #[arg(value_name = "ARCHIVE|NAME[@VERSION]")]
    before: PathBuf,

    /// The second version, in the same form
    #[arg(value_name = "ARCHIVE|NAME[@VERSION]")]
    after: PathBuf,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// One of the two.
pub(super) struct ComparedVersion {
    accepted: Accepted,
    /// The keys that signed, as the archive says, or as the site found.
    signed_by: Vec<KeyId>,
    source: VersionSource,
}

/// Where an archive comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VersionSource {
    File,
    Site,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    // A no would say that something differs.
    compare(arguments, output).map_err(Failure::untold)
}

fn compare(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let Some(before) = version(&arguments.before, arguments, output)? else {
        return Ok(Outcome::Unknown);
    };
    let Some(after) = version(&arguments.after, arguments, output)? else {
        return Ok(Outcome::Unknown);
    };
    let comparison = VersionComparison::make(&before.accepted, &after.accepted)?;
    let versions = [&before, &after];
    let compared = ComparedArchives::of(versions, &comparison);
    render::result(output, &compared, words::show);
    if versions.iter().any(|it| it.source == VersionSource::File) {
        arguments.signers.note();
    }
    Ok(choose(compared.differs, Outcome::No, Outcome::Yes))
}

/// One of the two; none where its archive is not in order, which was said.
fn version(
    what: &Path,
    arguments: &Arguments,
    output: Output,
) -> Result<Option<ComparedVersion>, Failure> {
    let (name, version) = named(what);
    match Meant::by(name, version.as_ref())? {
        Meant::Imported(solution, version) => cluster::read(&arguments.cluster, async |cluster| {
            let found = kept(cluster, &solution, version, &arguments.reach, output).await?;
            Ok(found.map(|found| found.archive.accepted).map(|accepted| {
                let signers = accepted.signers();
                let signed_by = signers.map_or(Vec::new(), |it| it.trusted.clone());
                ComparedVersion {
                    accepted,
                    signed_by,
                    source: VersionSource::Site,
                }
            }))
        }),
        Meant::Archive(path) => file(path, &arguments.signers, output),
    }
}

/// A name and its version; all else is as it was given.
fn named(what: &Path) -> (&Path, Option<Version>) {
    let parts = what.to_str().and_then(|word| word.split_once('@'));
    let parsed = parts.and_then(|(name, version)| Some((name, version.parse().ok()?)));
    match parsed {
        Some((name, version)) if !name.contains(['.', '/']) => (Path::new(name), Some(version)),
        _ => (what, None),
    }
}

fn file(
    path: &Path,
    signers: &SignerArguments,
    output: Output,
) -> Result<Option<ComparedVersion>, Failure> {
    let (opened, _) = signers.open(path)?;
    let signatures = opened.envelope().signatures();
    let signed_by = signatures.map(|signature| signature.key_id).collect();
    let accepted = unvouched(path, opened.archive_id())?;
    let accepted = accepted.map_err(|report| {
        refuse(&report, ", so nothing was compared", output);
    });
    let version = |accepted| ComparedVersion {
        accepted,
        signed_by,
        source: VersionSource::File,
    };
    Ok(accepted.ok().map(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_stands_behind_the_name_of_a_solution() {
        for (word, name, version) in [
            ("shop@1.0.0", "shop", Some("1.0.0")),
            ("shop", "shop", None),
            ("shop.iso@1.0.0", "shop.iso@1.0.0", None),
            ("./shop@1.0.0", "./shop@1.0.0", None),
            ("shop@new", "shop@new", None),
        ] {
            let found = named(Path::new(word));
            let found_version = found.1.map(|it| it.to_string());
            assert_eq!(
                (found.0, found_version.as_deref()),
                (Path::new(name), version)
            );
        }
    }
}
