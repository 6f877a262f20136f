//! What can go wrong between a source directory and its archive. Each variant says which file, which place in it and
//! what mends it; no message repeats its source's.

use std::io;
use std::path::PathBuf;

use files::ReadError;
use schemas::{Digest, ImageName, ImagePlace, ImageReference, ImageSource};
use sources::{FailedImage, SourceError};

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file of the source directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The directory has no `solution.yaml`.
    #[error("`{}` has no `solution.yaml`; `solution init` writes one to begin with", .0.display())]
    NoSource(PathBuf),
    /// `solution.yaml` is not YAML of its kind, or a value in it is outside its grammar.
    #[error("`{}` cannot be understood", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// The reason, with line and column.
        source: schemas::ManifestError,
    },
    /// A field that names a file of the source directory names one outside.
    #[error("`{field}` is `{}`, which is not below the directory of `solution.yaml`; write a relative path without `..`", path.display())]
    Outside {
        /// The field of `solution.yaml`.
        field: &'static str,
        /// Its value.
        path: PathBuf,
    },
    /// No image at all.
    #[error("`spec.images` is empty: a Solution brings at least one image")]
    NoImages,
    /// One place twice.
    #[error("`spec.images` has `{0}` twice; give one of them another tag, or remove it")]
    Twice(ImagePlace),
    /// Two places that a file system without upper and lower case takes for one.
    #[error(
        "`spec.images` has `{one}` and `{other}`, whose directories differ only in upper and lower case; rename one"
    )]
    Case {
        /// The one that sorts first.
        one: ImagePlace,
        /// The other.
        other: ImagePlace,
    },
    /// The directory of one image lies inside that of another.
    #[error(
        "the directory of image `{inner}` would lie inside that of image `{outer}`; rename one, or give `{outer}` another tag"
    )]
    Inside {
        /// The image inside.
        inner: ImagePlace,
        /// The image around it.
        outer: ImagePlace,
    },
    /// Two images are said to be what one reference means.
    #[error(
        "images `{one}` and `{other}` have the same `ref: {reference}`; workloads could get either"
    )]
    Reference {
        /// The first of them.
        one: ImagePlace,
        /// The other.
        other: ImagePlace,
        /// The reference.
        reference: ImageReference,
    },
    /// A text of `platforms` is not a platform.
    #[error(
        "image `{place}`: `{text}` in `platforms` is not a platform; write `os/architecture[/variant]`, such as `linux/arm64`"
    )]
    Platform {
        /// The image.
        place: ImagePlace,
        /// The text.
        text: String,
    },
    /// The operator's image is not in the Solution.
    #[error(
        "`spec.operator.image` is `{image}`, which is not in `spec.images`; add it there, or name one of: {images}"
    )]
    OperatorImage {
        /// The image.
        image: ImagePlace,
        /// The images there are.
        images: String,
    },
    /// `$(image:NAME)` names no image of the Solution.
    #[error("`{field}`: `$(image:{name})` names no image of `spec.images`; name one of: {images}")]
    UnknownExpansion {
        /// The field of `solution.yaml`.
        field: String,
        /// What stands between the parentheses.
        name: schemas::ImageName,
        /// The images there are.
        images: String,
    },
    /// `$(image:NAME)` could be several images.
    #[error("`{field}`: `$(image:{name})` could be each of {places}; give them different names")]
    AmbiguousExpansion {
        /// The field of `solution.yaml`.
        field: String,
        /// The name.
        name: ImageName,
        /// The images of this name.
        places: String,
    },
    /// What begins as `$(image:NAME)` and is none.
    #[error("`{field}`: {problem}")]
    Expansion {
        /// The field of `solution.yaml`.
        field: String,
        /// How it is malformed.
        problem: schemas::ExpansionError,
    },
    /// An environment variable twice, or one that cannot be.
    #[error("`spec.operator.env` has a variable `{name}` {problem}")]
    Variable {
        /// The variable's name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An image that the operator will ask for by its reference, and that will not be there.
    #[error(
        "`spec.operator.env.{variable}` is `{value}`, the `ref` of no image; write `$(image:NAME)`, or add the image with this `ref`"
    )]
    RelatedImage {
        /// The variable.
        variable: String,
        /// Its value.
        value: String,
    },
    /// The operator's CRDs or roles are not where they should be.
    #[error("`{field}` is `{}`, which does not exist; {mend}", path.display())]
    NoOperatorFiles {
        /// The field of `solution.yaml`.
        field: &'static str,
        /// Where they should be.
        path: PathBuf,
        /// What to do.
        mend: &'static str,
    },
    /// A file of CRDs or roles is not YAML.
    #[error("`{}` is not usable YAML", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// The reason, with line and column.
        source: schemas::yaml::YamlError,
    },
    /// A file or an object in it may not be in an archive.
    #[error("`{}`: {problem}", path.display())]
    OperatorFile {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what mends it.
        problem: String,
    },
    /// Two objects or files that would be one.
    #[error("`{}` and `{}` both have {what}; keep one", one.display(), other.display())]
    OperatorTwice {
        /// The first file.
        one: PathBuf,
        /// The second file.
        other: PathBuf,
        /// What they both have.
        what: String,
    },
    /// An image cannot be taken from where it should come from.
    #[error("cannot take image `{place}` from `{from}`")]
    Image {
        /// The image.
        place: ImagePlace,
        /// Where it comes from.
        from: ImageSource,
        /// The reason.
        source: Box<SourceError>,
    },
    /// `manifest.yaml` would be larger than readers take.
    #[error("`manifest.yaml` would have {0} bytes; at most {max} are read at the site", max = schemas::limits::MANIFEST_SIZE)]
    ManifestSize(usize),
    /// A layer or configuration is not what its image says.
    #[error("`{}` has digest {found} instead of {expected}: it is damaged, or changed while it was read; copy the image anew", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The digest that the image's manifest gives.
        expected: Digest,
        /// The digest of what was read.
        found: Digest,
    },
    /// A content of the cache is damaged. It was removed, so that the next pack gets it anew.
    #[error("the cache's copy of {digest} was damaged, and so was removed")]
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
    /// What was written cannot be checked.
    #[error(transparent)]
    Check(validator::CheckError),
    /// A site would refuse the archive.
    #[error("the archive would be refused")]
    Refused(Box<validator::Report>),
    /// `init` would overwrite a file.
    #[error("`{}` exists already; nothing was written", .0.display())]
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
    /// What the user can do next, where one step is likely to help and the message does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Image { source, .. } => source.hint(),
            _ => None,
        }
    }

    /// Whether the input is at fault: trying again without changing it gives the same error. Otherwise a file could
    /// not be read or written, and trying again may help.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Read(error) => error.is_refusal(),
            Self::Image { source, .. } => source.is_refusal(),
            Self::Write(error) => error.is_refusal(),
            Self::Cached { .. } | Self::Check(_) | Self::Init { .. } => false,
            _ => true,
        }
    }
}

impl From<FailedImage> for PackError {
    fn from(FailedImage { place, from, error }: FailedImage) -> Self {
        match *error {
            SourceError::Interrupted => archive::WriteError::Interrupted.into(),
            _ => Self::Image {
                place,
                from,
                source: error,
            },
        }
    }
}
