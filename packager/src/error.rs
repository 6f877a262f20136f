//! The errors of packing. Each variant contains the affected file or object; a message does not repeat the message of
//! its cause. [`PackError::RefusedSource`] contains the findings of a source tree.

use std::io;
use std::path::PathBuf;

use files::ReadError;
use progress::Cancelled;
use schemas::{
    ChartName, ChartSource, ChartVersion, Digest, ImagePlace, ImageSource, ReleaseName, Tag,
};
use sources::{FailedImage, SourceError};
use validator::Finding;

use crate::missing_images::MissingImage;

/// The findings that refuse a source tree.
#[derive(Debug)]
pub struct RefusedSource {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The images that objects or charts need and that `spec.images` does not list.
    pub missing: Vec<MissingImage>,
}

/// The reason why packing failed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file of the source directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The directory has no `solution.yaml`.
    #[error("`{}` has no `solution.yaml`", .0.display())]
    NoSource(PathBuf),
    /// The directory has a file with the extension `.yml` instead of `.yaml`.
    #[error("`{}` has `solution.yml`; only `solution.yaml` is read", .0.display())]
    OtherName(PathBuf),
    /// The given path is a file instead of the directory with `solution.yaml`.
    #[error("`{}` is a file, not the directory with `solution.yaml`", .0.display())]
    NotADirectory(PathBuf),
    /// The source tree has errors.
    #[error("the source tree has errors")]
    RefusedSource(Box<RefusedSource>),
    /// The list of images in `solution.yaml` has a form that cannot be edited. Contains the missing lines.
    #[error("cannot add images to `solution.yaml`: its list of images has an unsupported form")]
    Unwritten(String),
    /// A chart cannot be packaged.
    #[error("cannot package the chart `{}`", .0.display())]
    Chart(PathBuf, #[source] charts::ChartError),
    /// A chart cannot be read from its source.
    #[error("cannot take the chart from `{0}`")]
    ChartSource(ChartSource, #[source] Box<SourceError>),
    /// The source contains another chart than requested.
    #[error("`{from}` contains the chart `{name}` in version {version}")]
    OtherChart {
        /// The source of the chart.
        from: ChartSource,
        /// The name in the chart's metadata.
        name: ChartName,
        /// The version in the chart's metadata.
        version: ChartVersion,
    },
    /// A chart directory contains a special file or symbolic link, or too many files.
    #[error("`{}` cannot be in a chart: it is not a regular file, or there are too many files", .0.display())]
    ChartFile(PathBuf),
    /// The Solution has charts, but `helm` was not found.
    #[error("cannot determine the images that the charts need: `helm` not found")]
    NoHelm,
    /// SBOMs were requested, but `syft` was not found.
    #[error("cannot create SBOMs: `syft` not found")]
    NoSyft,
    /// `syft` cannot be used.
    #[error("cannot create SBOMs")]
    Syft(#[source] sbom::SbomError),
    /// The SBOM of an image cannot be created.
    #[error("cannot create the SBOM of image `{0}`")]
    Sbom(ImagePlace, #[source] sbom::SbomError),
    /// The file to include is not an executable for a supported platform.
    #[error("cannot include `{}`: it is not an executable for Linux on amd64 or arm64", .0.display())]
    NoExecutable(PathBuf),
    /// The file to include is another program, or its version cannot be determined.
    #[error("cannot include `{}` as `{name}`", path.display())]
    IncludedProgram {
        /// The file.
        path: PathBuf,
        /// The expected program.
        name: &'static str,
        /// The reason.
        source: helm::HelmError,
    },
    /// Two programs with the same name are for the same architecture.
    #[error(
        "cannot include two programs `{name}` for {architecture}: an archive has one for each architecture"
    )]
    ProgramTwice {
        /// The name of the program.
        name: &'static str,
        /// The architecture.
        architecture: archive::Architecture,
    },
    /// The version of a program cannot be determined, because it cannot run on this machine.
    #[error("cannot determine the version of `{}`: it is for a different architecture than this machine", .0.display())]
    NoProgramVersion(PathBuf),
    /// The version of a program differs from the given version, or from that of the program for another architecture.
    #[error("`{}` is version {own}, not {wanted}", path.display())]
    ProgramVersion {
        /// The file.
        path: PathBuf,
        /// The actual version.
        own: Tag,
        /// The expected version.
        wanted: Tag,
    },
    /// The documentation is not an HTML page.
    #[error("cannot include the documentation: `{}` is not an HTML page", .0.display())]
    NoHtml(PathBuf),
    /// `helm` should be included, but the Solution has no charts.
    #[error("cannot include `helm`: the Solution has no charts")]
    HelmWithoutCharts,
    /// Charts should be verified, but `helm` was not found.
    #[error("cannot verify the signatures of charts: `helm` not found")]
    NoVerifier,
    /// `helm` cannot be used to verify charts.
    #[error("cannot verify charts")]
    Verifier(#[source] helm::HelmError),
    /// `helm` cannot be used to render charts.
    #[error("cannot render charts")]
    Helm(#[from] helm::HelmError),
    /// A chart cannot be rendered.
    #[error("cannot render the chart `{release}`{with}")]
    Render {
        /// The release of the chart.
        release: ReleaseName,
        /// The additional values, in words.
        with: String,
        /// The error from Helm.
        source: helm::HelmError,
    },
    /// An image cannot be read from its source.
    #[error("cannot take image `{place}` from `{from}`")]
    Image {
        /// The image.
        place: ImagePlace,
        /// The source of the image.
        from: ImageSource,
        /// The reason.
        source: Box<SourceError>,
    },
    /// `manifest.yaml` would exceed the size that readers accept.
    #[error("`manifest.yaml` would have {0} bytes; at most {max} are read at the site", max = schemas::limits::MANIFEST_SIZE)]
    ManifestSize(usize),
    /// A layer or configuration does not match its digest.
    #[error("`{}` has digest {found} instead of {expected}: it is damaged, or changed while it was read; copy the image again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The digest in the image's manifest.
        expected: Digest,
        /// The digest of the bytes.
        found: Digest,
    },
    /// Cached content was damaged. It was removed, so that the next pack downloads it again.
    #[error("the cache's copy of {0} was damaged and has been removed")]
    Cached(Digest),
    /// The images cannot be in the same archive.
    #[error(transparent)]
    Tree(#[from] archive::tree::TreeError),
    /// The archive cannot be planned, signed or written.
    #[error(transparent)]
    Write(#[from] archive::WriteError),
    /// The written archive cannot be checked.
    #[error(transparent)]
    Check(archive::OpenError),
    /// A site or the publisher's policy would refuse the archive.
    #[error("the archive would be rejected")]
    Refused(Box<validator::EvaluatedFindings>),
    /// `init` would overwrite a file.
    #[error("`{}` already exists; nothing was written", .0.display())]
    Exists(PathBuf),
    /// `init` could not write a file.
    #[error("cannot write `{}`", .0.display())]
    Init(PathBuf, #[source] io::Error),
}

impl PackError {
    /// Returns true if the content at a chart's source is at fault.
    pub(crate) fn is_of_source(&self) -> bool {
        matches!(self, Self::ChartSource(_, source) if source.is_of_source())
    }

    /// Returns the error for a chart that cannot be read from its source.
    pub(crate) fn no_chart(from: &ChartSource, error: SourceError) -> Self {
        match error {
            SourceError::Interrupted(cancelled) => cancelled.into(),
            error => Self::ChartSource(from.clone(), Box::new(error)),
        }
    }

    /// Returns the error for an SBOM that could not be created.
    pub(crate) fn from_sbom_error(place: &ImagePlace, error: sbom::SbomError) -> Self {
        match error {
            sbom::SbomError::Cancelled(cancelled) => cancelled.into(),
            source => Self::Sbom(place.clone(), source),
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
