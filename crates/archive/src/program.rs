//! Programs for the site and the documentation of `solution`. They are packaged as artifacts among the images
//! (docs/reference/format-programs.md): see [`program_image`], [`documentation_image`] and [`programs_of`]. Older archives
//! that a site keeps can have programs as files in the head instead ([`helm_in_head`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use schemas::{
    ArchivePath, Descriptor, Digest, Document, EMPTY_CONFIG, EMPTY_CONFIG_TYPE, Image,
    ImageDocument, ImageDocumentError, ImageName, ImagePlace, MediaType, Platform, Statement, Tag,
};
use serde_json::json;

use crate::feature::{BIN, Feature};
use crate::limits::{PROGRAM_PLATFORMS, PROGRAM_SIZE};
use crate::unsigned::digest_of;

/// The prefix of the names of images that contain programs.
const PREFIX: &str = "programs/";

/// The artifact type of a program, and the media type of its only layer.
const PROGRAM: &str = "application/vnd.solutions.program.v1";

/// The name of the image with the documentation of `solution`. For readers, it is an ordinary image.
const DOCUMENTATION: &str = "solution-docs";

/// The artifact type of the documentation.
pub const DOCUMENTATION_TYPE: &str = "application/vnd.solutions.documentation.v1";

/// A program for one kind of processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The platform that it runs on.
    pub platform: Platform,
    /// Its SHA-256.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

/// The reason why an image below `programs/` is not a valid program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// A document is neither an image manifest nor an index.
    #[error(transparent)]
    Document(#[from] ImageDocumentError),
    /// The name has more than one component after `programs/`.
    #[error("the name is not `programs/` followed by the name of a program")]
    Name,
    /// The tag does not name an index.
    #[error("the tag does not name an index of programs")]
    NoIndex,
    /// The index has more than [`PROGRAM_PLATFORMS`] entries.
    #[error("it has {0} platforms; programs have at most {PROGRAM_PLATFORMS}")]
    Platforms(usize),
    /// The index names something that is not a program.
    #[error("{0} is not a program, which is an artifact `{PROGRAM}` with one layer")]
    NoProgram(Digest),
    /// The index entry of a program has no known platform.
    #[error("{0} has no platform")]
    NoPlatform(Digest),
    /// There are two programs for one platform.
    #[error("it has two programs for {0}")]
    Twice(Platform),
    /// The program is larger than [`PROGRAM_SIZE`].
    #[error("the program for {0} has {1} bytes; programs have at most {PROGRAM_SIZE}")]
    Size(Platform, u64),
}

/// Returns the name of the program in an image with this name; none if it is another image.
#[must_use]
pub fn program_name(image: &ImageName) -> Option<&str> {
    image.as_str().strip_prefix(PREFIX)
}

/// Returns whether an archive with this statement and these images includes the program `helm`.
#[must_use]
pub fn includes_helm(statement: &Statement, images: &[ImagePlace]) -> bool {
    let requires = &statement.predicate.requires;
    let is_helm = |image: &ImagePlace| program_name(&image.name) == Some("helm");
    Feature::ProgramsInHead.is_among(requires)
        || (Feature::Programs.is_among(requires) && images.iter().any(is_helm))
}

/// Returns the name of the image of a program.
///
/// # Panics
///
/// If the name is not a valid component of an image's name.
#[must_use]
pub fn program_image_name(program: &str) -> ImageName {
    let name = format!("{PREFIX}{program}").parse();
    name.expect("programs are called as a part of an image's name is")
}

/// Builds the image of a program with one entry for each platform. Its blobs are the programs and [`EMPTY_CONFIG`].
///
/// # Panics
///
/// Never: the documents written here are valid.
#[must_use]
pub fn program_image(place: ImagePlace, programs: &[Program]) -> Image {
    let title = program_name(&place.name).unwrap_or_default();
    let children: Vec<_> = programs
        .iter()
        .map(|program| manifest(title, program))
        .collect();
    let manifests = programs
        .iter()
        .zip(&children)
        .map(|(program, document)| Descriptor {
            media_type: MediaType::OciManifest.as_str().to_owned(),
            digest: document.digest,
            size: document.bytes.len() as u64,
            platform: Some(program.platform.clone()),
            urls: Vec::new(),
        });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": MediaType::OciIndex.as_str(),
        "manifests": manifests.collect::<Vec<_>>(),
    });
    let empty = (digest_of(EMPTY_CONFIG), EMPTY_CONFIG.len() as u64);
    let blobs = programs
        .iter()
        .map(|program| (program.digest, program.size));
    Image {
        place,
        reference: None,
        root: document(&index),
        children,
        blobs: blobs.chain([empty]).collect(),
        platforms: BTreeSet::new(),
    }
}

/// Returns the image of the documentation of a version of `solution`: one HTML page. Its blobs are the page and
/// [`EMPTY_CONFIG`].
///
/// # Panics
///
/// Never: the documents that this function writes are valid.
#[must_use]
pub fn documentation_image(version: Tag, digest: Digest, size: u64) -> Image {
    let name = DOCUMENTATION.parse();
    let place = ImagePlace {
        name: name.expect("it is a name"),
        tag: version,
    };
    let page = ArtifactLayer {
        media_type: "text/html",
        title: "solution.html",
        digest,
        size,
    };
    let empty = (digest_of(EMPTY_CONFIG), EMPTY_CONFIG.len() as u64);
    Image {
        place,
        reference: None,
        root: artifact(DOCUMENTATION_TYPE, &page),
        children: Vec::new(),
        blobs: BTreeMap::from([(digest, size), empty]),
        platforms: BTreeSet::new(),
    }
}

fn manifest(title: &str, program: &Program) -> Arc<Document> {
    let layer = ArtifactLayer {
        media_type: PROGRAM,
        title,
        digest: program.digest,
        size: program.size,
    };
    artifact(PROGRAM, &layer)
}

/// The only layer of an artifact.
struct ArtifactLayer<'a> {
    media_type: &'a str,
    /// The file name that tools for artifacts use.
    title: &'a str,
    digest: Digest,
    size: u64,
}

fn artifact(artifact_type: &str, layer: &ArtifactLayer<'_>) -> Arc<Document> {
    document(&json!({
        "schemaVersion": 2,
        "mediaType": MediaType::OciManifest.as_str(),
        "artifactType": artifact_type,
        "config": {
            "mediaType": EMPTY_CONFIG_TYPE,
            "digest": digest_of(EMPTY_CONFIG),
            "size": EMPTY_CONFIG.len(),
        },
        "layers": [{
            "mediaType": layer.media_type,
            "digest": layer.digest,
            "size": layer.size,
            // Tools that pull artifacts use the title as the file name.
            "annotations": {"org.opencontainers.image.title": layer.title},
        }],
    }))
}

/// Encodes a document as compact JSON with sorted keys, so that the same programs always have the same digest.
fn document(value: &serde_json::Value) -> Arc<Document> {
    let bytes = value.to_string().into_bytes();
    let (document, _) = Document::read(digest_of(&bytes), bytes).expect("it is a document");
    Arc::new(document)
}

/// Reads the programs of an image, one for each platform.
pub fn programs_of(image: &Image) -> Result<Vec<Program>, ProgramError> {
    if program_name(&image.place.name).is_none_or(|name| name.contains('/')) {
        return Err(ProgramError::Name);
    }
    let ImageDocument::Index(index) = ImageDocument::from_slice(&image.root.bytes)? else {
        return Err(ProgramError::NoIndex);
    };
    if index.manifests.len() > PROGRAM_PLATFORMS {
        return Err(ProgramError::Platforms(index.manifests.len()));
    }
    let mut programs: Vec<Program> = Vec::new();
    for named in index.manifests {
        let mut children = image.children.iter();
        let document = children.find(|document| document.digest == named.digest);
        let document = document.ok_or(ProgramError::NoProgram(named.digest))?;
        let layer = program_layer(&document.bytes)?;
        let layer = layer.ok_or(ProgramError::NoProgram(named.digest))?;
        let platform = named.platform.filter(Platform::is_known);
        let platform = platform.ok_or(ProgramError::NoPlatform(named.digest))?;
        if programs.iter().any(|program| program.platform == platform) {
            return Err(ProgramError::Twice(platform));
        }
        if layer.size > PROGRAM_SIZE {
            return Err(ProgramError::Size(platform, layer.size));
        }
        programs.push(Program {
            platform,
            digest: layer.digest,
            size: layer.size,
        });
    }
    Ok(programs)
}

/// Returns the only layer of a program's manifest; none if the manifest is not that of a program.
fn program_layer(manifest: &[u8]) -> Result<Option<Descriptor>, ImageDocumentError> {
    let ImageDocument::Manifest(manifest) = ImageDocument::from_slice(manifest)? else {
        return Ok(None);
    };
    if manifest.artifact_type.as_deref() != Some(PROGRAM) {
        return Ok(None);
    }
    let layer = <[Descriptor; 1]>::try_from(manifest.layers).ok();
    Ok(layer
        .map(|[layer]| layer)
        .filter(|layer| layer.media_type == PROGRAM))
}

/// A processor architecture that programs can be packaged for, with the name that Go uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// `x86_64`.
    Amd64,
    /// `aarch64`.
    Arm64,
}

const LINUX: &str = "linux";

/// The number of bytes at the start of an executable that identify it: the ELF header up to `e_machine`.
pub const ELF_HEADER: usize = 20;

impl Architecture {
    /// Every architecture.
    pub const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// Returns whether a program for this platform runs on the architecture under Linux.
    #[must_use]
    pub fn runs(self, platform: &Platform) -> bool {
        platform.os == LINUX && platform.architecture == self.as_str()
    }

    /// The platform of programs for the architecture.
    #[must_use]
    pub fn platform(self) -> Platform {
        Platform {
            os: LINUX.to_owned(),
            architecture: self.as_str().to_owned(),
            variant: None,
        }
    }

    /// Its name in platforms and paths.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Returns the architecture of this program, which is that of the machine; none if archives have no programs for
    /// it.
    #[must_use]
    pub fn current() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::Amd64),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }

    /// Returns the architecture of a Linux executable from the start of its file (ELF-64, System V ABI 4.1); none if it
    /// is something else.
    #[must_use]
    pub fn of_executable(file: &[u8]) -> Option<Self> {
        /// The magic number, followed by 64 bits, little-endian and the current version of ELF.
        const IDENT: &[u8] = b"\x7fELF\x02\x01\x01";
        let header: &[u8; ELF_HEADER] = file.first_chunk()?;
        let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        // `EI_OSABI` as linkers set it for Linux: System V or GNU.
        let of_linux = matches!(header[7], 0 | 3);
        // `e_type`: an executable at a fixed address, or a position-independent one.
        let runs = matches!(half(16), 2 | 3);
        if !header.starts_with(IDENT) || !of_linux || !runs {
            return None;
        }
        match half(18) {
            62 => Some(Self::Amd64),
            183 => Some(Self::Arm64),
            _ => None,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the path of Helm in an archive that requires [`Feature::ProgramsInHead`]: `bin/helm-linux-<architecture>`.
///
/// # Panics
///
/// Never: the names are valid path components.
///
/// [`Feature::ProgramsInHead`]: crate::Feature::ProgramsInHead
#[must_use]
pub fn helm_in_head(architecture: Architecture) -> ArchivePath {
    let path = format!("{BIN}/helm-linux-{architecture}").parse();
    path.expect("the format's own paths are inside the grammar")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(change: impl FnOnce(&mut Vec<u8>)) -> Option<Architecture> {
        let mut bytes = b"\x7fELF\x02\x01\x01\x00".to_vec();
        bytes.extend([0; 8]);
        bytes.extend([2, 0, 62, 0, 1]);
        change(&mut bytes);
        Architecture::of_executable(&bytes)
    }

    #[test]
    fn executables_for_linux_say_their_processor() {
        let (amd64, arm64) = (Some(Architecture::Amd64), Some(Architecture::Arm64));
        assert_eq!(header(|_| ()), amd64);
        assert_eq!(header(|header| header[18] = 183), arm64);
        // A position-independent executable, and one with the GNU ABI.
        assert_eq!(header(|header| header[16] = 3), amd64);
        assert_eq!(header(|header| header[7] = 3), amd64);
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(Architecture::of_executable(&own), Architecture::current());
    }

    #[test]
    fn everything_else_is_none() {
        type Change = fn(&mut Vec<u8>);
        let changes: [(&str, Change); 9] = [
            ("the magic number", |header| header[0] = 0),
            ("32 bits", |header| header[4] = 1),
            ("big-endian", |header| header[5] = 2),
            ("the version of ELF", |header| header[6] = 2),
            ("FreeBSD", |header| header[7] = 9),
            ("an object file", |header| header[16] = 1),
            ("a core dump", |header| header[16] = 4),
            ("another processor", |header| header[18] = 40),
            ("cut off", |header| header.truncate(ELF_HEADER - 1)),
        ];
        for (what, change) in changes {
            assert_eq!(header(change), None, "{what}");
        }
        assert_eq!(
            Architecture::of_executable(b"#!/bin/sh\nexec helm \"$@\"\n"),
            None
        );
    }

    fn program(architecture: Architecture, byte: u8) -> Program {
        Program {
            platform: architecture.platform(),
            digest: Digest::new([byte; 32]),
            size: 10,
        }
    }

    fn place(name: &str) -> ImagePlace {
        format!("{name}:v4.3").parse().unwrap()
    }

    #[test]
    fn a_program_is_read_as_it_was_written() {
        let programs = [
            program(Architecture::Amd64, 1),
            program(Architecture::Arm64, 2),
        ];
        let image = program_image(place("programs/helm"), &programs);
        assert_eq!(programs_of(&image).unwrap(), programs);
        assert_eq!(image.blobs.len(), 3);
        assert_eq!(
            image.root.digest.to_string(),
            "sha256:bd32753994292bcf9d378045a75efc2f270b0ae14bd69977e33a42a488d395cf"
        );
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let both = [
            program(Architecture::Amd64, 1),
            program(Architecture::Amd64, 2),
        ];
        let of = |image: &Image| programs_of(image).unwrap_err().to_string();
        let twice = program_image(place("programs/helm"), &both);
        assert_eq!(of(&twice), "it has two programs for linux/amd64");
        let mut image = program_image(place("programs/a/b"), &both[..1]);
        assert!(matches!(programs_of(&image), Err(ProgramError::Name)));
        image.place = place("programs/helm");
        let alone = Image {
            root: Arc::clone(&image.children[0]),
            children: Vec::new(),
            ..image.clone()
        };
        assert!(matches!(programs_of(&alone), Err(ProgramError::NoIndex)));
        let without = Image {
            children: Vec::new(),
            ..image
        };
        assert!(matches!(
            programs_of(&without),
            Err(ProgramError::NoProgram(_))
        ));
        let many = vec![program(Architecture::Amd64, 1); PROGRAM_PLATFORMS + 1];
        let many = program_image(place("programs/helm"), &many);
        assert!(matches!(
            programs_of(&many),
            Err(ProgramError::Platforms(_))
        ));
        let large = Program {
            size: PROGRAM_SIZE + 1,
            ..program(Architecture::Amd64, 1)
        };
        let large = program_image(place("programs/helm"), &[large]);
        assert!(matches!(programs_of(&large), Err(ProgramError::Size(..))));
    }
}
