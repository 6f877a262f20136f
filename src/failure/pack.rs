//! What the errors of packing come to: of sources, of the cache, of releases.

use files::ReadError;
use files::ownership::OwnershipError;
use helm::HelmError;
use manifests::ManifestsError;
use packager::PackError;
use release::ReleaseError;
use release::upstream::UpstreamError;
use sources::{CacheError, SourceError};

use super::{Answer, Judge, NO, UNKNOWN, no, unknown};

/// What to do without Helm 4.
const PROVIDE_HELM: &str = "install a package of `solution`, which contains Helm 4, or run `make helm` in the source tree; to use another one, name it with `--helm` or HELM";

/// What to do with a release that is no operator as imports run them.
const BY_HAND: &str = "omit `--as operator` to package the release unchanged, or write an operator manually, starting with the source tree that `solution init DIR` creates";

impl Judge for PackError {
    fn answer(&self) -> Answer {
        match self {
            Self::Read(error) => error.answer(),
            Self::Image { source, .. } | Self::ChartSource { source, .. } => source.answer(),
            Self::Write(error) => error.answer(),
            Self::Cached { .. } | Self::Check(_) | Self::Init { .. } => UNKNOWN,
            Self::NoHelm => no(
                "install a package of `solution`, which contains Helm 4, or run `make helm` in the source tree; to use another one, name it with `--helm` or HELM; to pack without checking which images charts need, use `--no-render`",
            ),
            Self::Helm(error) | Self::Verifier(error) => error.answer(),
            Self::NoVerifier => no(PROVIDE_HELM),
            Self::NoSyft => no("install syft, or name it with `--syft` or SYFT"),
            Self::Syft(error) | Self::Sbom { source: error, .. } => error.answer(),
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
            | Self::Chart { .. }
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

/// What to do about a program that is to be included.
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
            Self::Run { .. }
            | Self::Printed { .. }
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
            Self::NoOperator | Self::Workload { .. } => no(BY_HAND),
            Self::NoSuchOperator { .. } | Self::Ambiguous(_) => {
                no("choose one with `--deployment`")
            }
            Self::NoName { .. } => no("set one with `--name`"),
            Self::NoVersion { .. } => no("set one with `--version`"),
            Self::Id(_) => no("set a shorter one with `--name`"),
            Self::Write { .. } | Self::Git { .. } => UNKNOWN,
            Self::NotMade(_) => no(
                "name a directory that `init --from` created; update one created with `--as operator` manually, with a new one next to it",
            ),
            Self::Unresolved(_) => no(
                "resolve each conflict until no line begins with `<<<<<<<`, `=======` or `>>>>>>>`, then run the same command again",
            ),
            Self::NoGit(_) => no(
                "install git, or create a source tree of the release in another directory and compare the two",
            ),
            // It may well be the user's own chart: no advice to empty it.
            Self::NotEmpty(_) => {
                no("name another directory for the source tree: `solution init DIR`")
            }
            Self::Source(_) | Self::Name { .. } | Self::Unfit(_) | Self::Spelling => NO,
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
            Self::Medium(_) | Self::Read { .. } | Self::Write { .. } | Self::Interrupted(_) => {
                UNKNOWN
            }
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
            | Self::Stream { .. }
            | Self::Yaml { .. }
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
            Self::Artifact { .. } => {
                no("use the repository and version to which `helm push` wrote the chart")
            }
            Self::Index { .. } => {
                no("list the charts in a repository with `helm search repo --versions`")
            }
            Self::ChartDigest { .. } => no(
                "ask the repository's administrator to correct its index: the repository, or a proxy in front of it, contains another chart than it lists",
            ),
            Self::ChartName(_) | Self::Logins { .. } => NO,
            // A disk, the runtime or an end before its time.
            _ => UNKNOWN,
        }
    }
}

impl Judge for ReadError {
    /// A file that is not there is an answer.
    fn answer(&self) -> Answer {
        match self {
            Self::Io { .. } if self.is_missing() => NO,
            Self::Io { .. } => UNKNOWN,
            Self::Kind(_) | Self::Size { .. } => NO,
        }
    }
}

impl Judge for CacheError {
    fn answer(&self) -> Answer {
        match self {
            Self::Exposed {
                source: OwnershipError::Io { .. },
                ..
            }
            | Self::Io { .. }
            | Self::Crowded(_) => UNKNOWN,
            Self::Exposed { .. } => no(
                "use a directory that only you can write to (`--cache-dir`), or remove write access for other users (`chmod go-w`)",
            ),
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
        let read = |kind: io::ErrorKind| ReadError::Io {
            path: path(),
            source: kind.into(),
        };
        assert_eq!(
            packed(read(io::ErrorKind::PermissionDenied)).0,
            Outcome::Unknown
        );
        assert_eq!(packed(read(io::ErrorKind::NotFound)).0, Outcome::No);
        assert_eq!(
            packed(CacheError::Io {
                path: path(),
                source: full()
            })
            .0,
            Outcome::Unknown
        );
        let tar = |source| SourceError::Tar {
            path: path(),
            source,
        };
        assert_eq!(
            packed(tar(TarError::Io {
                at: 0,
                source: full()
            }))
            .0,
            Outcome::Unknown
        );
        assert_eq!(packed(tar(TarError::CutOff { at: 0 })).0, Outcome::No);
        assert_eq!(
            packed(SourceError::Interrupted(watch::Cancelled)).0,
            Outcome::Unknown
        );
        let exposed = |source| CacheError::Exposed {
            directory: path(),
            source,
        };
        let unseen = OwnershipError::Io {
            path: path(),
            source: full(),
        };
        assert_eq!(packed(exposed(unseen)), (Outcome::Unknown, None));
        let (outcome, hint) = packed(exposed(OwnershipError::Dangling(path())));
        assert_eq!(outcome, Outcome::No);
        assert!(hint.unwrap().contains("--cache-dir"), "{hint:?}");
    }
}
