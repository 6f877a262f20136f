//! Errors between a source directory and its archive. Each variant says which file, which place in it and
//! what mends it; no message repeats its source's.

use std::io;
use std::path::PathBuf;

use files::ReadError;
use schemas::{
    ChartName, ChartSource, ChartVersion, Digest, ImagePlace, ImageSource, ReleaseName, Tag,
};
use sources::{FailedImage, SourceError};
use validator::Finding;
use watch::Cancelled;

use crate::missing::MissingImage;

/// The answer to a source tree that is not in order.
#[derive(Debug)]
pub struct RefusedSource {
    /// What is wrong with it.
    pub findings: Vec<Finding>,
    /// The images among it that objects or charts need and that are not listed.
    pub missing: Vec<MissingImage>,
}

/// The reason why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file of the source directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The directory has no `solution.yaml`.
    #[error("`{}` has no `solution.yaml`", .0.display())]
    NoSource(PathBuf),
    /// The directory has a file with the other ending of YAML files.
    #[error("`{}` has `solution.yml`; only `solution.yaml` is read", .0.display())]
    OtherName(PathBuf),
    /// A file is named where the directory with `solution.yaml` is needed.
    #[error("`{}` is a file, not the directory with `solution.yaml`", .0.display())]
    NotADirectory(PathBuf),
    /// The source tree is not in order.
    #[error("the source tree has errors")]
    RefusedSource(Box<RefusedSource>),
    /// `solution.yaml` is written in a way that no lines can be added to.
    #[error("cannot add images to `solution.yaml`: its list of images has an unsupported form")]
    Unwritten(String),
    /// A chart is none that can be carried.
    #[error("cannot package the chart `{}`", path.display())]
    Chart {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: charts::ChartError,
    },
    /// A chart cannot be taken from where it should come from.
    #[error("cannot take the chart from `{from}`")]
    ChartSource {
        /// The source that it comes from.
        from: ChartSource,
        /// The reason.
        source: Box<SourceError>,
    },
    /// The chart at the source is another than was asked for.
    #[error("`{from}` contains the chart `{name}` in version {version}")]
    OtherChart {
        /// The source that it comes from.
        from: ChartSource,
        /// The name that the chart gives itself.
        name: ChartName,
        /// The version that it gives itself.
        version: ChartVersion,
    },
    /// A file in a chart's directory is neither a file nor a directory, or is more than a chart can have.
    #[error("`{}` cannot be in a chart: it is not a regular file, or there are too many files", .0.display())]
    ChartFile(PathBuf),
    /// There are charts, and no program that renders them.
    #[error("cannot determine the images that the charts need: `helm` not found")]
    NoHelm,
    /// SBOMs are to be made, and there is no program for it.
    #[error("cannot create SBOMs: `syft` not found")]
    NoSyft,
    /// The program that makes SBOMs cannot be used.
    #[error("cannot create SBOMs")]
    Syft(#[source] sbom::SbomError),
    /// The SBOM of an image cannot be made.
    #[error("cannot create the SBOM of image `{place}`")]
    Sbom {
        /// The image.
        place: ImagePlace,
        /// The reason.
        source: sbom::SbomError,
    },
    /// The file that is to be included is no program that can be.
    #[error("cannot include `{}`: it is not an executable for Linux on amd64 or arm64", .0.display())]
    NoExecutable(PathBuf),
    /// The file that is to be included is another program, or cannot be asked.
    #[error("cannot include `{}` as `{name}`", path.display())]
    IncludedProgram {
        /// The file.
        path: PathBuf,
        /// The program that it is to be.
        name: &'static str,
        /// The reason.
        source: helm::HelmError,
    },
    /// Two programs for one kind of processor.
    #[error(
        "cannot include two programs `{name}` for {architecture}: an archive has one for each architecture"
    )]
    ProgramTwice {
        /// The program.
        name: &'static str,
        /// The processor.
        architecture: archive::Architecture,
    },
    /// A program cannot be asked for its version on this machine.
    #[error("cannot determine the version of `{}`: it is for a different architecture than this machine", .0.display())]
    NoProgramVersion(PathBuf),
    /// A program has another version than it is said to have, or than that for another processor.
    #[error("`{}` is version {own}, not {wanted}", path.display())]
    ProgramVersion {
        /// The file.
        path: PathBuf,
        /// The version that it has.
        own: Tag,
        /// The version that it was to have.
        wanted: Tag,
    },
    /// The documentation is no HTML page.
    #[error("cannot include the documentation: `{}` is not an HTML page", .0.display())]
    NoHtml(PathBuf),
    /// A program is to be included, and there is nothing that it would install.
    #[error("cannot include `helm`: the Solution has no charts")]
    HelmWithoutCharts,
    /// Charts are to be verified, and there is no program for it.
    #[error("cannot verify the signatures of charts: `helm` not found")]
    NoVerifier,
    /// The program that verifies charts cannot be used.
    #[error("cannot verify charts")]
    Verifier(#[source] helm::HelmError),
    /// The program that renders charts cannot be used.
    #[error("cannot render charts")]
    Helm(#[from] helm::HelmError),
    /// A chart cannot be rendered.
    #[error("cannot render the chart `{release}`{with}")]
    Render {
        /// The release of the chart.
        release: ReleaseName,
        /// The further values, in words.
        with: String,
        /// The error of Helm.
        source: helm::HelmError,
    },
    /// An image cannot be taken from where it should come from.
    #[error("cannot take image `{place}` from `{from}`")]
    Image {
        /// The image.
        place: ImagePlace,
        /// The source that it comes from.
        from: ImageSource,
        /// The reason.
        source: Box<SourceError>,
    },
    /// `manifest.yaml` would be larger than readers take.
    #[error("`manifest.yaml` would have {0} bytes; at most {max} are read at the site", max = schemas::limits::MANIFEST_SIZE)]
    ManifestSize(usize),
    /// A layer or configuration is not what its image says.
    #[error("`{}` has digest {found} instead of {expected}: it is damaged, or changed while it was read; copy the image again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The digest that the image's manifest gives.
        expected: Digest,
        /// The digest of what was read.
        found: Digest,
    },
    /// A content of the cache is damaged. It was removed, so that the next pack gets it anew.
    #[error("the cache's copy of {digest} was damaged and has been removed")]
    Cached {
        /// The content.
        digest: Digest,
    },
    /// The images cannot lie in one archive.
    #[error(transparent)]
    Tree(#[from] archive::tree::TreeError),
    /// The archive cannot be planned, signed or written.
    #[error(transparent)]
    Write(#[from] archive::WriteError),
    /// The archive that was written cannot be checked.
    #[error(transparent)]
    Check(archive::OpenError),
    /// A site would refuse the archive.
    #[error("the archive would be rejected")]
    Refused(Box<validator::JudgedFindings>),
    /// `init` would overwrite a file.
    #[error("`{}` already exists; nothing was written", .0.display())]
    Exists(PathBuf),
    /// `init` could not write a file.
    #[error("cannot write `{}`", path.display())]
    Init {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl PackError {
    /// Whether what lies at the source of a chart is to be blamed.
    pub(crate) fn is_of_source(&self) -> bool {
        matches!(self, Self::ChartSource { source, .. } if source.is_of_source())
    }

    /// The error that a chart cannot be taken from where it should come from.
    pub(crate) fn no_chart(from: &ChartSource, error: SourceError) -> Self {
        match error {
            SourceError::Interrupted(cancelled) => cancelled.into(),
            error => Self::ChartSource {
                from: from.clone(),
                source: Box::new(error),
            },
        }
    }

    /// The error that there is no SBOM of an image.
    pub(crate) fn unmade(place: &ImagePlace, error: sbom::SbomError) -> Self {
        match error {
            sbom::SbomError::Cancelled(cancelled) => cancelled.into(),
            source => Self::Sbom {
                place: place.clone(),
                source,
            },
        }
    }
}

impl From<Cancelled> for PackError {
    fn from(cancelled: Cancelled) -> Self {
        archive::WriteError::from(cancelled).into()
    }
}

impl From<FailedImage> for PackError {
    fn from(FailedImage { place, from, error }: FailedImage) -> Self {
        match *error {
            SourceError::Interrupted(cancelled) => cancelled.into(),
            _ => Self::Image {
                place,
                from,
                source: error,
            },
        }
    }
}
