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

/// What to do with a release that is no operator as imports run them.
const BY_HAND: &str = "leave `--as operator` out, and the release is carried as it is; or write an operator by hand, from the tree that `solution init DIR` makes";

impl Judge for PackError {
    fn answer(&self) -> Answer {
        match self {
            Self::Read(error) => error.answer(),
            Self::Image { source, .. } | Self::ChartSource { source, .. } => source.answer(),
            Self::Write(error) => error.answer(),
            Self::Cached { .. } | Self::Check(_) | Self::Init { .. } => UNKNOWN,
            Self::NoHelm => no(
                "install Helm 4, or name it with `--helm` or HELM; `--no-render` packs without looking for the images that charts need",
            ),
            Self::Helm(error) | Self::Verifier(error) => error.answer(),
            Self::NoVerifier => no("install Helm 4, or name it with `--helm` or HELM"),
            Self::NoSyft => no("install syft, or name it with `--syft` or SYFT"),
            Self::Syft(error) | Self::Sbom { source: error, .. } => error.answer(),
            Self::NoExecutable(_) => {
                no("give the program itself, for Linux, as its project publishes it, unpacked")
            }
            Self::IncludedProgram { source, .. } => included(source),
            Self::NoProgramVersion(_) => no(
                "say which version it is (`VERSION=FILE` instead of FILE), or include the one for this machine too: both are of one version",
            ),
            Self::ProgramVersion { .. } => no("include programs of one version, and say no other"),
            Self::ProgramTwice { .. } | Self::HelmWithoutCharts => no("leave one flag out"),
            Self::Render { source, .. } => source.answer(),
            Self::Unwritten(_) => no("add the lines by hand"),
            Self::NoSource(_) => no("`solution init` writes one to start from"),
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
        HelmError::NotHelm4 { .. } | HelmError::Failed { .. } => no("give the program of Helm 4"),
        error => error.answer(),
    }
}

impl Judge for HelmError {
    fn answer(&self) -> Answer {
        match self {
            Self::Missing(_) | Self::NotHelm4 { .. } => {
                no("install Helm 4, or name it with `--helm` or HELM")
            }
            Self::NotSolution(_) => no("give the program `solution`"),
            Self::TooMuch { .. } | Self::Altered { .. } => NO,
            Self::Failed { .. } => no(
                "values that the chart cannot do without go into spec.charts.values; what it says can be tried with `helm template`",
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
            Self::OtherBytes(_) => {
                no("give one of the charts another version, or have both releases use one")
            }
            Self::Bundle(_) => no(
                "give the manifests that its project publishes for clusters without OLM; or write an operator by hand, from the tree that `solution init DIR` makes",
            ),
            Self::NoOperator | Self::Workload { .. } => no(BY_HAND),
            Self::NoSuchOperator { .. } | Self::Ambiguous(_) => {
                no("choose one with `--deployment`")
            }
            Self::NoName { .. } => no("give one with `--name`"),
            Self::NoVersion { .. } => no("give one with `--version`"),
            Self::Id(_) => no("give a shorter one with `--name`"),
            Self::Write { .. } | Self::Git { .. } => UNKNOWN,
            Self::NotMade(_) => no(
                "give the directory that `init --from` made; renew one of `--as operator` by hand, beside a new one",
            ),
            Self::Unresolved(_) => no(
                "edit each until no line begins with `<<<<<<<`, `=======` or `>>>>>>>`, and try again",
            ),
            Self::NoGit(_) => no(
                "install git, or make a tree of the release in another directory and compare the two",
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
                "`solution import` takes it as it is; its publisher has the source tree that it was made from",
            ),
            Self::Product => no(
                "ask its publisher for a version for MetalK8s 2.5.1 or newer; or write a tree by hand, from the one that `solution init DIR` makes",
            ),
            Self::Names => no("ask its publisher for an image with full names"),
            Self::CutShort(_) | Self::Damaged { .. } | Self::Overlap(_) => no(
                "copy the archive again from where it came from, and compare it with its SHA256SUM",
            ),
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
            Self::UnpackSpace { .. } => unknown(
                "free some space there, or keep the cache on a larger disk with `--cache-dir`",
            ),
            Self::UnpackLimit { .. } => {
                no("if it is what you expect, allow more with `--unpack-limit`")
            }
            Self::NoEngine => no("name the socket with DOCKER_HOST=unix://PATH"),
            Self::Artifact { .. } => {
                no("give the repository and version to which `helm push` wrote the chart")
            }
            Self::Index { .. } => {
                no("`helm search repo --versions` lists what a repository of charts has")
            }
            Self::ChartDigest { .. } => no(
                "the repository, or a proxy in front of it, holds another chart than it lists: have it put in order there",
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
                "use a folder that only you can write to (`--cache-dir`), or take write access from others (`chmod go-w`)",
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
