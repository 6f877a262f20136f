//! The programs that an archive includes. [`load`] reads each file once, so that the bytes whose version is determined
//! are the packaged bytes. The programs become artifacts among the images.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{
    Architecture, FileSource, IncludedProgram, Program, program_image, program_image_name,
};
use helm::{Helm, HelmError, ProgramSource};
use schemars::JsonSchema;
use schemas::{Digest, EMPTY_CONFIG, Image, ImagePlace, Platform, Tag};
use serde::{Serialize, Serializer};

use crate::error::PackError;

/// A program that archives can include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramKind {
    /// Helm 4, for sites without it.
    Helm,
    /// This program, for sites without it.
    Solution,
}

/// A request to include a program.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// The program.
    pub kind: ProgramKind,
    /// The path of the file.
    pub path: PathBuf,
    /// The expected version. A program that cannot run on this machine needs it, unless another one of its kind can.
    pub version: Option<Tag>,
}

/// An included program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PackedProgram {
    /// The program.
    pub name: &'static str,
    /// The version of the program.
    pub version: Tag,
    /// The architecture of the program.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String", extend("enum" = Architecture::ALL.map(Architecture::as_str)))]
    pub architecture: Architecture,
    /// SHA-256 of the program, which is the name of its file in the archive.
    pub digest: Digest,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks in this way")]
fn as_text<S: Serializer>(architecture: &Architecture, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(architecture.as_str())
}

/// A program that was read.
#[derive(Debug)]
pub(crate) struct LoadedProgram {
    path: PathBuf,
    pub(crate) packed: PackedProgram,
    bytes: Arc<[u8]>,
}

impl ProgramKind {
    /// The name of the program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Helm => "helm",
            Self::Solution => "solution",
        }
    }

    /// Returns the version of a program by running a copy in `scratch`.
    fn ask(self, source: &ProgramSource<'_>, scratch: &Path) -> Result<String, HelmError> {
        match self {
            Self::Helm => Ok(Helm::copy_from(source, scratch)?.version().to_owned()),
            Self::Solution => helm::version_of_solution(source, scratch),
        }
    }
}

impl LoadedProgram {
    pub(crate) fn place(&self) -> ImagePlace {
        ImagePlace {
            name: program_image_name(self.packed.name),
            tag: self.packed.version.clone(),
        }
    }

    /// Returns the platform of the program.
    pub(crate) fn platform(&self) -> Platform {
        self.packed.architecture.platform()
    }

    /// Returns the path of the program.
    pub(crate) fn source(&self) -> String {
        self.path.display().to_string()
    }

    fn program(&self) -> Program {
        Program {
            platform: self.platform(),
            digest: self.packed.digest,
            size: self.bytes.len() as u64,
        }
    }

    /// Returns the entry for the archive's README.
    pub(crate) fn included(&self) -> IncludedProgram {
        IncludedProgram {
            place: self.place(),
            architecture: self.packed.architecture,
            digest: self.packed.digest,
        }
    }
}

/// Returns the artifacts of the programs.
pub(crate) fn images(loaded: &[LoadedProgram]) -> Vec<Image> {
    let mut programs: BTreeMap<ImagePlace, Vec<Program>> = BTreeMap::new();
    for program in loaded {
        let of_place = programs.entry(program.place()).or_default();
        of_place.push(program.program());
    }
    let programs = programs.into_iter();
    programs
        .map(|(place, programs)| program_image(place, &programs))
        .collect()
}

/// Returns the sources of the artifacts' blobs.
pub(crate) fn contents(loaded: &[LoadedProgram]) -> BTreeMap<Digest, FileSource> {
    let source = |program: &LoadedProgram| {
        (
            program.packed.digest,
            FileSource::Bytes(Arc::clone(&program.bytes)),
        )
    };
    let empty = (
        files::digest(EMPTY_CONFIG),
        FileSource::Bytes(EMPTY_CONFIG.into()),
    );
    let empty = (!loaded.is_empty()).then_some(empty);
    loaded.iter().map(source).chain(empty).collect()
}

/// Reads the programs and determines their versions by running copies in `scratch`, if the architecture matches. The
/// result is sorted by name and architecture.
pub(crate) fn load(
    programs: &[ProgramFile],
    scratch: &Path,
) -> Result<Vec<LoadedProgram>, PackError> {
    let mut found = Vec::new();
    for program in programs {
        found.push(ReadProgram::read(program, scratch)?);
    }
    found.sort_by_key(|program| (program.file.kind, program.architecture));
    for pair in found.windows(2) {
        if (pair[0].file.kind, pair[0].architecture) == (pair[1].file.kind, pair[1].architecture) {
            let architecture = pair[0].architecture;
            let name = pair[0].file.kind.name();
            return Err(PackError::ProgramTwice { name, architecture });
        }
    }
    let mut loaded = Vec::new();
    for program in &found {
        let version = version(program, &found)?;
        loaded.push(LoadedProgram {
            path: program.file.path.clone(),
            packed: PackedProgram {
                name: program.file.kind.name(),
                version,
                architecture: program.architecture,
                digest: program.digest,
            },
            bytes: Arc::clone(&program.bytes),
        });
    }
    Ok(loaded)
}

/// Returns the version of a program. All programs of a kind must have the same version, so one that cannot run here has
/// the version of the one that can.
fn version(program: &ReadProgram<'_>, all: &[ReadProgram<'_>]) -> Result<Tag, PackError> {
    let kind = program.file.kind;
    let mut others = all.iter().filter(|other| other.file.kind == kind);
    let version = others.find_map(|other| other.version.as_ref());
    let version = version.ok_or_else(|| PackError::NoProgramVersion(program.file.path.clone()))?;
    match &program.version {
        Some(own) if own != version => Err(PackError::ProgramVersion {
            path: program.file.path.clone(),
            own: own.clone(),
            wanted: version.clone(),
        }),
        _ => Ok(version.clone()),
    }
}

/// A program file and its properties.
#[derive(Debug)]
struct ReadProgram<'a> {
    file: &'a ProgramFile,
    architecture: Architecture,
    /// The reported or given version.
    version: Option<Tag>,
    digest: Digest,
    bytes: Arc<[u8]>,
}

impl<'a> ReadProgram<'a> {
    fn read(file: &'a ProgramFile, scratch: &Path) -> Result<Self, PackError> {
        let path = &file.path;
        let bytes = files::read(path, archive::limits::PROGRAM_SIZE)?;
        let architecture = Architecture::of_executable(&bytes);
        let architecture = architecture.ok_or_else(|| PackError::NoExecutable(path.clone()))?;
        let digest = files::digest(&bytes);
        let mut version = file.version.clone();
        if Architecture::current() == Some(architecture) {
            let own = ask_version(file.kind, &bytes, scratch);
            let own = own.map_err(|source| PackError::IncludedProgram {
                path: path.clone(),
                name: file.kind.name(),
                source,
            })?;
            if let Some(wanted) = version.filter(|wanted| *wanted != own) {
                let path = path.clone();
                return Err(PackError::ProgramVersion { path, own, wanted });
            }
            version = Some(own);
        }
        Ok(Self {
            file,
            architecture,
            version,
            digest,
            bytes: bytes.into(),
        })
    }
}

/// Returns the version that a program reports as a tag.
fn ask_version(kind: ProgramKind, bytes: &[u8], scratch: &Path) -> Result<Tag, HelmError> {
    let read = |buf: &mut [u8], offset: u64| {
        let from = usize::try_from(offset).expect("it is an offset in memory");
        buf.copy_from_slice(&bytes[from..][..buf.len()]);
        Ok(())
    };
    let source = ProgramSource {
        size: bytes.len() as u64,
        digest: files::digest(bytes),
        read: &read,
    };
    let said = kind.ask(&source, scratch)?;
    // Tags cannot contain `+`.
    let tag = said.replace('+', "_").parse();
    Ok(tag.expect("a text that is taken for a version has letters, digits, `.`, `-` and `+`"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the start of a Linux executable for another architecture than this machine's.
    fn elsewhere() -> Vec<u8> {
        let machine = if cfg!(target_arch = "aarch64") {
            62
        } else {
            183
        };
        let mut bytes = b"\x7fELF\x02\x01\x01\x00".to_vec();
        bytes.extend([0; 8]);
        bytes.extend([2, 0, machine, 0]);
        bytes
    }

    fn file(path: &Path, version: Option<&str>) -> ProgramFile {
        ProgramFile {
            kind: ProgramKind::Helm,
            path: path.to_owned(),
            version: version.map(|version| version.parse().unwrap()),
        }
    }

    #[test]
    fn one_for_another_processor_has_the_version_that_it_is_said_to_have() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("helm");
        fs::write(&path, elsewhere()).unwrap();
        let load = |files: &[ProgramFile]| load(files, directory.path());
        let loaded = load(&[file(&path, Some("v4.3.1"))]).unwrap();
        let [helm] = &loaded[..] else {
            panic!("one was given");
        };
        assert_eq!(helm.packed.version.as_str(), "v4.3.1");
        assert_ne!(Some(helm.packed.architecture), Architecture::current());
        assert_eq!(helm.packed.digest, files::digest(&elsewhere()));
        let images = images(&loaded);
        assert_eq!(images[0].place.to_string(), "programs/helm:v4.3.1");
        assert_eq!(archive::programs_of(&images[0]).unwrap(), [helm.program()]);
        let contents = contents(&loaded);
        assert!(images[0].blobs.keys().eq(contents.keys()));

        let error = load(&[file(&path, None)]).unwrap_err();
        assert!(matches!(error, PackError::NoProgramVersion(_)), "{error}");
        let twice = [file(&path, Some("v4.3.1")), file(&path, Some("v4.3.1"))];
        let error = load(&twice).unwrap_err();
        assert!(matches!(error, PackError::ProgramTwice { .. }), "{error}");
    }

    #[test]
    fn what_is_no_program_is_refused_by_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("helm");
        fs::write(&path, "#!/bin/sh\necho v4.3.1\n").unwrap();
        let error = load(&[file(&path, None)], directory.path()).unwrap_err();
        assert!(matches!(error, PackError::NoExecutable(refused) if refused == path));
        // A program that runs but does not print a version.
        fs::copy("/proc/self/exe", &path).unwrap();
        for kind in [ProgramKind::Helm, ProgramKind::Solution] {
            let file = ProgramFile {
                kind,
                ..file(&path, None)
            };
            let error = load(&[file], directory.path()).unwrap_err();
            assert!(
                matches!(error, PackError::IncludedProgram { .. }),
                "{error}"
            );
        }
    }
}
