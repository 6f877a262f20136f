//! Outcomes and hints for errors of archives and of packing: of findings, SBOMs, sources, the cache, releases and
//! helmfiles. A defective archive is a negative answer, and a defective disk is an unknown one. Authors can correct
//! most errors of packing in `solution.yaml`, so the hints name the field or the command.

use std::io::ErrorKind;
use std::path::Path;

use archive::{ExtractError, OpenError, PathBlocker, WriteError, detached_path};
use files::ReadError;
use files::ownership::OwnershipError;
use helm::HelmError;
use manifests::ManifestsError;
use mount::MountError;
use packager::PackError;
use release::upstream::UpstreamError;
use release::{HelmfileError, HelmfileProblem, ReleaseError};
use rules::catalogue::advice;
use sbom::SbomError;
use sources::{CacheError, SourceError};
use validator::{FindingIdError, UnusablePolicy};

use super::{Answer, Failure, Judge, NO, Outcome, UNKNOWN, no, unknown};

const VALIDATE: &str = "run `solution validate` on it to see each problem and its fix";
const ALTERED: &str =
    "find out who changed the content of the registry, then import the archive again from its ISO";
const WHOLE_FILES: &str = "run the same command again to write the missing files; files with their final name are complete";
const REPLACE: &str = "replace the files with `--overwrite`, or name another directory with `--to`";
const MOVE: &str = "move it, or name another directory with `--to`; links are never followed";
const ROOM: &str = "free space or name another directory with `--to`, then run the same command again to write the missing files; files with their final name are complete";
/// The number of blockers that are named.
const NAMED: usize = 10;
const OTHERS: &str = "remove the file, or get the one that belongs to this archive: `solution sign --detached` writes it";

/// Returns the failure for an archive that could not be read.
pub(crate) fn reading(path: &Path, error: OpenError) -> Failure {
    let Answer(outcome, _) = answer(&error);
    let hint = match &error {
        OpenError::Open(..) => None,
        OpenError::Directory(_) | OpenError::Unpacked { .. } => Some(advice::DIRECTORY.fix),
        OpenError::Empty(_) | OpenError::TooShort { .. } => Some(advice::TOO_SHORT.fix),
        _ => Some(VALIDATE),
    };
    let failure = Failure::new(outcome, error).context(format!("cannot read `{}`", path.display()));
    hint.into_iter().fold(failure, Failure::hint)
}

/// Returns the failure for files of an archive that could not be written.
pub(crate) fn extracting(archive: &Path, error: ExtractError) -> Failure {
    match error {
        ExtractError::Archive(error) => reading(archive, error).hint(WHOLE_FILES),
        ExtractError::InTheWay(ref found) => {
            let others: Vec<String> = found.iter().skip(1).map(ToString::to_string).collect();
            let replaceable = found
                .iter()
                .all(|blocked| blocked.why == PathBlocker::OtherContent);
            let hint = if replaceable { REPLACE } else { MOVE };
            let others = others.into_iter().take(NAMED);
            others.fold(Failure::no(error).hint(hint), Failure::because)
        }
        ExtractError::NoRoom { .. } => Failure::unknown(error).hint(ROOM),
        ExtractError::Target(_, ref source) => {
            let hint = match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ROOM,
                _ => WHOLE_FILES,
            };
            Failure::unknown(error).hint(hint)
        }
        ExtractError::Interrupted(_) => Failure::unknown(error).hint(WHOLE_FILES),
    }
}

/// Returns the failure for a mount that could not be created or has ended.
pub(crate) fn mounting(error: MountError) -> Failure {
    let hint = match &error {
        MountError::Directory(..) => "name a directory that exists",
        MountError::Mount(..) => {
            "load FUSE with `modprobe fuse` (it needs /dev/fuse), and install `fusermount3` (package fuse3) unless you are root; `solution archive extract` needs neither"
        }
        MountError::Serve(..) | MountError::Unmount(..) => {
            "see which processes use it with `fuser -vm`, then unmount it with `umount`, or with `fusermount3 -u` if you are not root"
        }
    };
    Failure::unknown(error).hint(hint)
}

/// Returns the failure for an archive with more content than can be shown.
pub(crate) fn too_much(archive: &Path, what: &'static str) -> Failure {
    let context = format!("cannot show `{}`", archive.display());
    let failure = Failure::no(anyhow::anyhow!(what)).hint(VALIDATE);
    failure.context(context)
}

/// Returns the failure for a signature file next to an archive that cannot be used.
pub(crate) fn beside(archive: &Path, error: OpenError) -> Failure {
    let Answer(outcome, _) = answer(&error);
    let path = detached_path(archive);
    let context = format!("cannot use the signatures in `{}`", path.display());
    let failure = Failure::new(outcome, error).context(context);
    match outcome {
        Outcome::No => failure.hint(OTHERS),
        _ => failure,
    }
}

/// Returns the failure for an archive that could not be signed.
pub(crate) fn signing(archive: &Path, error: OpenError) -> Failure {
    let failure = match error {
        OpenError::Detached(..) | OpenError::OtherPayload => {
            let beside = detached_path(archive);
            Failure::no(error).hint(format!(
                "remove `{}`, or get the one that belongs to this archive",
                beside.display()
            ))
        }
        other => Failure::judged(answer(&other), other),
    };
    match failure.outcome() {
        Outcome::Usage => failure,
        _ => failure.context(format!("cannot sign `{}`", archive.display())),
    }
}

/// Returns the answer to an error for a signer. An error that the validator reports as a finding is a refusal; any
/// other error says nothing about the archive, which could not be read.
fn answer(error: &OpenError) -> Answer {
    match error {
        OpenError::Open(_, source)
            if matches!(
                source.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            unknown(
                "use `--detached`, which writes the signature to a file next to the archive; if that directory is read-only too, sign a copy of the archive's statement.dsse.json",
            )
        }
        OpenError::StatementAlone(_) => Answer(Outcome::Usage, Some("omit `--detached`")),
        OpenError::WrongSignature => no(
            "sign the file that `--payload-out` writes, not its hash, and pass the public key of the signing key",
        ),
        // The archive is valid, and already has the signature.
        OpenError::Sign(_) => NO,
        other if validator::is_finding(other) => no(VALIDATE),
        _ => UNKNOWN,
    }
}

impl Judge for WriteError {
    fn answer(&self) -> Answer {
        match self {
            Self::Head(cause) if validator::is_finding(cause) => no(ALTERED),
            Self::Source { .. }
            | Self::Head(_)
            | Self::Changed { .. }
            | Self::Draft(_)
            | Self::Target(..)
            | Self::Interrupted(_) => UNKNOWN,
            Self::Lacking(_) => no(ALTERED),
            Self::Exists(_) => no("choose another name with `-o`, or replace it with `--force`"),
            Self::NotAFile(_) => no("choose another name with `-o`"),
            Self::List(_)
            | Self::Contents(_)
            | Self::ContentsSize(_)
            | Self::Plan(_)
            | Self::Sign(_)
            | Self::NoKey => NO,
        }
    }
}

const WARNINGS: &str = "choose the id of a warning that the check reports (`solution explain ID` describes it), and none of the groups signature, integrity and container";

/// Returns the failure for a flag with the id of an unknown finding, or of one that cannot be selected or ignored.
pub(crate) fn misjudged(flag: &'static str) -> impl FnOnce(FindingIdError) -> Failure {
    move |fault| Failure::usage(format_args!("{flag}: {fault}")).hint(WARNINGS)
}

/// Returns the failure for a findings policy that cannot be used.
pub(crate) fn findings_policy(path: &Path, error: UnusablePolicy) -> Failure {
    let problems: Vec<String> = match &error {
        UnusablePolicy::Faults(problems) => problems.iter().map(ToString::to_string).collect(),
        UnusablePolicy::Document(_) | UnusablePolicy::Lines(_) => Vec::new(),
    };
    let failure = Failure::new(Outcome::Usage, error).context(format!(
        "cannot use the findings policy `{}`",
        path.display()
    ));
    let hint = if problems.is_empty() {
        "correct the file: `solution schema findings-policy` prints its schema"
    } else {
        WARNINGS
    };
    problems
        .into_iter()
        .fold(failure, Failure::because)
        .hint(hint)
}

impl Judge for SbomError {
    fn answer(&self) -> Answer {
        match self {
            Self::Missing(_) | Self::OtherProgram { .. } => no(
                "install it, or name it: syft with `--syft` or SYFT, and grype with `--grype` or GRYPE",
            ),
            Self::Failed { .. } => unknown(
                "check the free space below TMPDIR, where it unpacks, and run the program directly to reproduce the error",
            ),
            Self::Read(error) => error.answer(),
            Self::TooMuch { .. } | Self::Document(_) => NO,
            Self::Start(..)
            | Self::TooLong { .. }
            | Self::Printed(..)
            | Self::Scratch(..)
            | Self::Cancelled(_) => UNKNOWN,
        }
    }
}

/// The hint if Helm 4 is missing.
const PROVIDE_HELM: &str = "install a package of `solution`, which contains Helm 4, or run `make helm` in the source tree; to use another one, name it with `--helm` or HELM";

impl Judge for PackError {
    fn answer(&self) -> Answer {
        match self {
            Self::Read(error) => error.answer(),
            Self::Image { source, .. } | Self::ChartSource(_, source) => source.answer(),
            Self::Write(error) => error.answer(),
            Self::Cached(..) | Self::Check(_) | Self::Init(..) => UNKNOWN,
            Self::NoHelm => no(
                "install a package of `solution`, which contains Helm 4, or run `make helm` in the source tree; to use another one, name it with `--helm` or HELM; to pack without checking which images charts need, use `--no-render`",
            ),
            Self::Helm(error) | Self::Verifier(error) => error.answer(),
            Self::NoVerifier => no(PROVIDE_HELM),
            Self::NoSyft => no("install syft, or name it with `--syft` or SYFT"),
            Self::Syft(error) | Self::Sbom(_, error) => error.answer(),
            Self::NoHtml(_) => {
                no("run `make book` in the source tree, and use `target/solution.html`")
            }
            Self::NoExecutable(_) => {
                no("pass the unpacked Linux program as its project publishes it")
            }
            Self::IncludedProgram { source, .. } => included(source),
            Self::NoProgramVersion(_) => no(
                "name its version (`VERSION=FILE` instead of FILE), or also include the program of the same version for this machine",
            ),
            Self::ProgramVersion { .. } => {
                no("include programs of one version only, and name that version")
            }
            Self::ProgramTwice { .. } | Self::HelmWithoutCharts => no("omit one of the flags"),
            Self::Render { source, .. } => source.answer(),
            Self::Unwritten(_) => no("add the lines manually"),
            Self::NoSource(_) => no(
                "create one with `solution init`, or name a chart or a release: `solution pack SOURCE`",
            ),
            Self::OtherName(_) => no("rename it to `solution.yaml`"),
            Self::NotADirectory(_) => no("name the directory that holds `solution.yaml`"),
            Self::RefusedSource(_)
            | Self::Chart(..)
            | Self::OtherChart { .. }
            | Self::ChartFile(_)
            | Self::ManifestSize(_)
            | Self::Content { .. }
            | Self::Tree(_)
            | Self::Refused(_)
            | Self::Exists(_) => NO,
        }
    }
}

/// Returns the answer for a program that cannot be included.
fn included(error: &HelmError) -> Answer {
    match error {
        HelmError::NotHelm4 { .. } | HelmError::Failed { .. } => {
            no("pass the program `helm` of version 4")
        }
        error => error.answer(),
    }
}

impl Judge for HelmError {
    fn answer(&self) -> Answer {
        match self {
            Self::Missing(_) | Self::NotHelm4 { .. } => no(PROVIDE_HELM),
            Self::NotSolution(_) => no("pass the program `solution`"),
            Self::TooMuch { .. } | Self::Altered { .. } => NO,
            Self::Failed { .. } => no(
                "put the values that the chart requires into spec.charts.values; reproduce the error with `helm template`",
            ),
            Self::Run(..)
            | Self::Printed(..)
            | Self::TooLong { .. }
            | Self::Killed { .. }
            | Self::Cancelled(_) => UNKNOWN,
        }
    }
}

impl Judge for ReleaseError {
    fn answer(&self) -> Answer {
        match self {
            Self::Manifests(error) => error.answer(),
            Self::Helmfile(error) => error.answer(),
            Self::OtherBytes(_) => no(
                "give one of the charts another version, or let both releases use the same chart",
            ),
            Self::Bundle(_) => no(
                "use the manifests that its project publishes for clusters without OLM, or write an operator manually, starting with the source tree that `solution init DIR` creates",
            ),
            Self::NoName { .. } => no("set one with `--name`"),
            Self::NoVersion { .. } => no("set one with `--version`"),
            Self::Id(_) => no("set a shorter one with `--name`"),
            Self::Write(..) | Self::Git(..) => UNKNOWN,
            Self::NotMade(_) => no(
                "name a directory that `init --from` created; update one that an earlier version created with `--as operator` manually",
            ),
            Self::Unresolved(_) => no(
                "resolve each conflict until no line begins with `<<<<<<<`, `=======` or `>>>>>>>`, then run the same command again",
            ),
            Self::NoGit(_) => no(
                "install git, or create a source tree of the release in another directory and compare the two",
            ),
            // The directory may contain the user's own chart, so the hint must not advise to empty it.
            Self::NotEmpty(_) => {
                no("name another directory for the source tree: `solution init DIR`")
            }
            Self::Source(_) | Self::Unfit(_) | Self::Spelling => NO,
        }
    }
}

impl Judge for UpstreamError {
    fn answer(&self) -> Answer {
        match self {
            Self::Release(error) => error.answer(),
            Self::Packed => no(
                "import it directly with `solution import`, or ask its publisher for its source tree",
            ),
            Self::Product => no(
                "ask its publisher for a version for MetalK8s 2.5.1 or newer, or write a source tree manually, starting with the one that `solution init DIR` creates",
            ),
            Self::Names => no("ask its publisher for an ISO with full file names"),
            Self::CutShort(_) | Self::Damaged { .. } | Self::Overlap(_) => {
                no("copy the archive again from its source, and compare it with its SHA256SUM")
            }
            Self::Image(_)
            | Self::NoManifest
            | Self::Yaml(_)
            | Self::Manifest(_)
            | Self::Size { .. } => NO,
            Self::Medium(_) | Self::Read(..) | Self::Write(..) | Self::Interrupted(_) => UNKNOWN,
        }
    }
}

impl Judge for ManifestsError {
    fn answer(&self) -> Answer {
        match self {
            Self::Read(error) => error.answer(),
            Self::Directory { .. }
            | Self::Chart(_)
            | Self::Packed(_)
            | Self::Stream(..)
            | Self::Yaml(..)
            | Self::Weight { .. }
            | Self::Twice { .. } => NO,
        }
    }
}

impl Judge for SourceError {
    fn answer(&self) -> Answer {
        match self {
            Self::Registry(error) => error.answer(),
            error if error.is_of_source() => NO,
            Self::Read(error) => error.answer(),
            Self::Engine(error) => error.answer(),
            Self::Cache(error) => error.answer(),
            Self::Certificates(error) => error.answer(),
            Self::UnpackSpace { .. } => {
                unknown("free space there, or move the cache to a larger disk with `--cache-dir`")
            }
            Self::UnpackLimit { .. } => {
                no("if you expect this size, raise the limit with `--unpack-limit`")
            }
            Self::NoEngine => no("name the socket with DOCKER_HOST=unix://PATH"),
            Self::Artifact(..) => {
                no("use the repository and version to which `helm push` wrote the chart")
            }
            Self::Index(..) => {
                no("list the charts in a repository with `helm search repo --versions`")
            }
            Self::ChartDigest { .. } => no(
                "ask the repository's administrator to correct its index: the repository, or a proxy in front of it, contains another chart than it lists",
            ),
            Self::ChartName(_) | Self::Logins(..) => NO,
            // These are errors of a disk or the runtime, or an early end.
            _ => UNKNOWN,
        }
    }
}

impl Judge for ReadError {
    /// Returns a negative answer for a missing file, because a retry does not help.
    fn answer(&self) -> Answer {
        match self {
            Self::Io(..) if self.is_missing() => NO,
            Self::Io(..) => UNKNOWN,
            Self::Kind(_) | Self::Size { .. } => NO,
        }
    }
}

impl Judge for CacheError {
    fn answer(&self) -> Answer {
        match self {
            Self::Exposed(_, OwnershipError::Io(..)) | Self::Io(..) | Self::Crowded(_) => UNKNOWN,
            Self::Exposed(..) => no(
                "use a directory that only you can write to (`--cache-dir`), or remove write access for other users (`chmod go-w`)",
            ),
        }
    }
}

impl Judge for HelmfileError {
    fn answer(&self) -> Answer {
        use HelmfileProblem as Problem;
        match self.problem {
            Problem::Releases(_) => no(
                "select some of the releases with `--helmfile-selector`, and create multiple Solutions",
            ),
            Problem::Fields(_) => no(
                "write these settings as `values`, and remove those that only configure Helmfile; put a hook that the application needs into its chart",
            ),
            Problem::Twice => no(
                "give each its own name, or leave one of two releases out with `installed: false`",
            ),
            Problem::Version(_) => no(
                "write the tested version; list the versions in a repository with `helm search repo --versions`",
            ),
            Problem::Chart(_) => no(
                "list its repository with its `url`, or download the chart with its dependencies and write its path: `./DIR` or a `.tgz`",
            ),
            Problem::Login => {
                no("remove it from there, and store it with `solution registry login`")
            }
            Problem::Values(_) => no("download each file, and write its path"),
            Problem::Secret => no(
                "remove these values, for example with a separate environment for `--helmfile-environment`, and let the chart use a Secret that is created at the site: an archive must not contain secrets",
            ),
            Problem::Need(_) => no("add the release, select it too, or remove it from `needs`"),
            Problem::Condition(_) => no("write `installed: true` or `installed: false` instead"),
            Problem::Yaml(_) | Problem::Form(_) | Problem::Empty | Problem::Name(..) => NO,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use sources::tar::TarError;

    use super::*;
    use crate::failure::Outcome;

    fn packed(source: impl Into<SourceError>) -> (Outcome, Option<&'static str>) {
        let Answer(outcome, hint) = PackError::Image {
            place: "app:1".parse().unwrap(),
            from: "oci:app".parse().unwrap(),
            source: Box::new(source.into()),
        }
        .answer();
        (outcome, hint)
    }

    #[test]
    fn what_the_disk_does_not_give_is_not_found_out() {
        let full = || io::Error::other("no disk");
        let path = || "x".into();
        let read = |kind: io::ErrorKind| ReadError::Io(path(), kind.into());
        assert_eq!(
            packed(read(io::ErrorKind::PermissionDenied)).0,
            Outcome::Unknown
        );
        assert_eq!(packed(read(io::ErrorKind::NotFound)).0, Outcome::No);
        assert_eq!(packed(CacheError::Io(path(), full())).0, Outcome::Unknown);
        let tar = |source| SourceError::Tar(path(), source);
        assert_eq!(packed(tar(TarError::Io(0, full()))).0, Outcome::Unknown);
        assert_eq!(packed(tar(TarError::CutOff(0))).0, Outcome::No);
        assert_eq!(
            packed(SourceError::Interrupted(progress::Cancelled)).0,
            Outcome::Unknown
        );
        let exposed = |source| CacheError::Exposed(path(), source);
        let unseen = OwnershipError::Io(path(), full());
        assert_eq!(packed(exposed(unseen)), (Outcome::Unknown, None));
        let (outcome, hint) = packed(exposed(OwnershipError::Dangling(path())));
        assert_eq!(outcome, Outcome::No);
        assert!(hint.unwrap().contains("--cache-dir"), "{hint:?}");
    }
}
