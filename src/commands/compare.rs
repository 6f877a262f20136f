//! `solution compare`: the differences between two versions, from their archives alone. It renders nothing, so
//! differences that depend on a site are not included.

use std::path::{Path, PathBuf};

use clap::Args;
use importer::{
    BroughtBytes, ComparedContents, ComparedDefinition, ComparedDocument, ComparedImage,
    DocumentAction, DocumentKind, PlannedNarrowing, VersionComparison,
};
use schemars::JsonSchema;
use schemas::{Digest, KeyId, SolutionId, Version};
use serde::Serialize;
use validator::AcceptedArchive;

use super::archive::{SignerArguments, unvouched};
use super::imported_version::{SolutionRef, read_imported_version};
use super::inspect;
use super::validate::refuse;
use crate::args::{Output, ReadArguments, RegistryArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

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

/// One of the two compared versions.
pub(crate) struct ComparedVersion {
    accepted: AcceptedArchive,
    /// The signing keys: those in the archive, or those that the site recorded at the import.
    signed_by: Vec<KeyId>,
    source: VersionSource,
}

/// The source of an archive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VersionSource {
    File,
    Site,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    // The outcome `no` would mean that the versions differ.
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
    render::result(output, &compared, show);
    if versions
        .iter()
        .any(|version| version.source == VersionSource::File)
    {
        arguments.signers.note();
    }
    Ok(Outcome::from(!compared.differs))
}

/// Reads one of the two versions. None if its archive is invalid, which the program has reported.
fn version(
    what: &Path,
    arguments: &Arguments,
    output: Output,
) -> Result<Option<ComparedVersion>, Failure> {
    let (name, version) = named(what);
    match SolutionRef::by(name, version.as_ref())? {
        SolutionRef::Imported(solution, version) => {
            cluster::read(&arguments.cluster, async |cluster| {
                let found =
                    read_imported_version(cluster, &solution, version, &arguments.reach, output)
                        .await?;
                Ok(found.map(|found| found.archive.accepted).map(|accepted| {
                    let signers = accepted.signers();
                    let signed_by = signers.map_or(Vec::new(), |signers| signers.trusted.clone());
                    ComparedVersion {
                        accepted,
                        signed_by,
                        source: VersionSource::Site,
                    }
                }))
            })
        }
        SolutionRef::Archive(path) => file(path, &arguments.signers, output),
    }
}

/// Splits a name and its version. An argument of another form is returned unchanged.
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

/// The differences between two versions. The exit code is 1 if there are any.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComparedArchives<'a> {
    /// Whether anything differs.
    differs: bool,
    /// The first version.
    before: ComparedArchive<'a>,
    /// The second version.
    after: ComparedArchive<'a>,
    #[serde(flatten)]
    comparison: &'a VersionComparison,
}

/// An archive.
#[derive(PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ComparedArchive<'a> {
    /// The id of the Solution, `<name>-<version>`.
    solution: &'a SolutionId,
    /// SHA-256 of the signed statement.
    archive_id: Digest,
    /// The keys that signed: for a file as the archive states, for an imported version as verified by the import.
    signed_by: &'a [KeyId],
}

impl<'a> From<&'a ComparedVersion> for ComparedArchive<'a> {
    fn from(version: &'a ComparedVersion) -> Self {
        Self {
            solution: &version.accepted.statement().predicate.id,
            archive_id: version.accepted.archive_id(),
            signed_by: &version.signed_by,
        }
    }
}

impl<'a> ComparedArchives<'a> {
    /// Returns the result, which states whether anything differs.
    fn of(versions: [&'a ComparedVersion; 2], comparison: &'a VersionComparison) -> Self {
        let [before, after] = versions.map(ComparedArchive::from);
        // The record of an imported version has only the signers that were trusted at the import, and its archive may
        // have more. Signatures are therefore not compared in this case.
        let same = before.archive_id == after.archive_id
            || (before.solution == after.solution && before.signed_by == after.signed_by);
        Self {
            differs: !same || !comparison.is_empty(),
            before,
            after,
            comparison,
        }
    }
}

/// Shows the complete result.
fn show(compared: &ComparedArchives<'_>) {
    for (word, archive) in [("before", &compared.before), ("after", &compared.after)] {
        let signed_by = render::list(archive.signed_by);
        let signed_by = if signed_by.is_empty() {
            "nobody"
        } else {
            &signed_by
        };
        render::line!("{word:<11} {}  signed by {signed_by}", archive.solution);
    }
    let comparison = compared.comparison;
    if !compared.differs {
        return render::line("no differences");
    }
    render::line!("includes    {}", brought(comparison.brings));
    comparison.images.iter().for_each(image);
    comparison.definitions.iter().for_each(definition);
    let gained = comparison.rights_gained.iter().map(inspect::right);
    render::lines("may now     ", gained);
    let lost = comparison.rights_lost.iter().map(inspect::right);
    render::lines("may no longer ", lost);
    // Many objects often change in the same way, so an identical difference is shown once.
    let alike = |a: &ComparedDocument, b: &ComparedDocument| {
        (a.kind, a.action, &a.diff) == (b.kind, b.action, &b.diff)
    };
    comparison.documents.chunk_by(alike).for_each(documents);
}

fn brought(BroughtBytes { contents, bytes }: BroughtBytes) -> String {
    let contents = render::count(contents, "new content");
    format!("{contents} of images ({})", render::bytes(bytes))
}

fn image(image: &ComparedImage) {
    let told = |it: &ComparedContents| {
        let contents = render::count(it.contents, "content");
        format!("{contents} ({})", render::bytes(it.bytes))
    };
    let brings = || brought(image.brings);
    let words = match (&image.before, &image.after) {
        (None, Some(new)) => format!("added: {}, {}", told(new), brings()),
        (Some(old), None) => format!("removed: {}", told(old)),
        (Some(old), Some(new)) if old.digest == new.digest => "same content".to_owned(),
        (Some(old), Some(new)) => {
            format!("changed: {} → {}, {}", told(old), told(new), brings())
        }
        (None, None) => return,
    };
    if let Some(former) = &image.former {
        let (name, old, new) = (&image.image.name, &former.tag, &image.image.tag);
        render::line!("image       {name} {old} → {new}, {words}");
    } else {
        render::line!("image       {} {words}", image.image);
    }
}

fn definition(compared: &ComparedDefinition) {
    let (before, after) = (compared.before.as_ref(), compared.after.as_ref());
    let words = match (before, after) {
        (None, Some(new)) => format!("added: {}", inspect::definition(new)),
        (Some(old), None) => format!("removed: {}", inspect::definition(old)),
        (Some(old), Some(new)) if old == new => format!("changed: {}", inspect::definition(new)),
        (Some(old), Some(new)) => {
            let [old, new] = [old, new].map(inspect::definition);
            format!("changed: {old} → {new}")
        }
        (None, None) => return,
    };
    render::line!("CRD         {words}");
    if let Some(refused) = &compared.refused {
        render::line!("          ! an import would reject it: {refused}");
    }
    for it in &compared.narrowed {
        let PlannedNarrowing {
            api_version,
            path,
            problem,
            ..
        } = it;
        render::line!("          ! {api_version} {path}: {problem}");
    }
}

/// Shows the documents with the same difference.
fn documents(alike: &[ComparedDocument]) {
    let Some(first) = alike.first() else { return };
    let action = match first.action {
        DocumentAction::Added => "added",
        DocumentAction::Removed => "removed",
        DocumentAction::Changed => "changed",
    };
    let kind = match first.kind {
        DocumentKind::Manifest => "manifest",
        DocumentKind::Parameter => "parameter",
        DocumentKind::Set => "set",
        DocumentKind::Object => "object",
        DocumentKind::Chart => "chart",
        DocumentKind::ChartValues => "values of",
    };
    for it in alike {
        render::line!("{kind:<11} {} {action}", it.name);
    }
    first.diff.lines().for_each(render::diff_line);
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
            let found_version = found.1.map(|version| version.to_string());
            assert_eq!(
                (found.0, found_version.as_deref()),
                (Path::new(name), version)
            );
        }
    }
}
