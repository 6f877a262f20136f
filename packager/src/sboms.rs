//! The creation of SBOMs with `syft`. [`SbomMaker::add`] creates one for every runnable image manifest, unless its
//! publisher supplies one in the same format.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use progress::Watch;
use sbom::{BlobFile, ImageToDescribe, SbomError, SbomFormat, Syft, referrer};
use schemars::JsonSchema;
use schemas::{
    Digest, Document, EMPTY_CONFIG, ImageDocument, ImageName, ImagePlace, StatementTime,
};
use serde::Serialize;
use sources::{CollectedImage, GeneratedReferrer, LocalBlob, add_referrers, referrers_place};

use crate::Event;
use crate::error::PackError;

/// A request for SBOMs.
#[derive(Clone, Debug)]
pub struct SbomRequest {
    /// The format of the SBOMs.
    pub format: SbomFormat,
    /// The path of `syft`, if it is installed.
    pub program: Option<PathBuf>,
}

/// The requested SBOMs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PackedSboms {
    /// Their format.
    pub format: SbomFormat,
    /// The version of `syft` that created them.
    pub syft: String,
    /// The number of created SBOMs.
    pub made: usize,
    /// The number of images that already had an SBOM, which was kept.
    pub kept: usize,
    /// The number of artifacts without an SBOM because they are not images, such as charts and programs.
    pub skipped: usize,
}

/// The configured program that creates SBOMs.
#[derive(Debug)]
pub(crate) struct SbomMaker {
    format: SbomFormat,
    syft: Syft,
}

/// An image manifest without an SBOM.
struct ImageWithoutSbom {
    place: ImagePlace,
    manifest: Arc<Document>,
    blobs: Vec<BlobFile>,
}

impl SbomMaker {
    /// Checks the program by asking for its version.
    pub(crate) fn new(request: &SbomRequest, scratch: &Path) -> Result<Self, PackError> {
        let program = request.program.as_deref().ok_or(PackError::NoSyft)?;
        let syft = Syft::from_path(program, scratch).map_err(PackError::Syft)?;
        let format = request.format;
        Ok(Self { format, syft })
    }

    /// Creates the SBOMs of the images, and adds them to `images` and their contents to `blobs`.
    pub(crate) fn add(
        &self,
        images: &mut Vec<CollectedImage>,
        blobs: &mut BTreeMap<Digest, LocalBlob>,
        time: StatementTime,
        watch: &Watch<'_, Event>,
    ) -> Result<PackedSboms, PackError> {
        let mut packed = PackedSboms {
            format: self.format,
            syft: self.syft.version().to_owned(),
            made: 0,
            kept: 0,
            skipped: 0,
        };
        let todo = self.images_without_sbom(images, blobs, &mut packed);
        let of = todo.len();
        let mut made = Vec::new();
        for (image, number) in todo.into_iter().zip(1..) {
            (watch.tell)(Event::Describing {
                place: image.place.clone(),
                number,
                of,
            });
            let referrer = self.make(&image, time, watch);
            let referrer = referrer.map_err(|error| blame(error, &image))?;
            let own = referrer.blobs.iter();
            blobs.extend(own.map(|blob| (blob.digest, blob.clone())));
            made.push(referrer);
        }
        add_referrers(images, made)?;
        packed.made = of;
        Ok(packed)
    }

    /// Returns the manifests without an SBOM, and counts the other ones in `packed`.
    fn images_without_sbom(
        &self,
        images: &[CollectedImage],
        blobs: &BTreeMap<Digest, LocalBlob>,
        packed: &mut PackedSboms,
    ) -> Vec<ImageWithoutSbom> {
        let mut seen = BTreeSet::new();
        let mut todo = Vec::new();
        for image in images.iter().filter(|image| image.subject.is_none()) {
            let contents = &image.contents;
            let documents = contents.children.iter().chain([&contents.root]);
            let mut manifests = documents.filter(|document| can_run(document)).peekable();
            if manifests.peek().is_none() {
                packed.skipped += 1;
            }
            for manifest in manifests {
                let name = &image.place.name;
                if !seen.insert((name.clone(), manifest.digest)) {
                    continue;
                }
                let subjects = [manifest.digest, contents.root.digest];
                if self.is_described(images, name, subjects) {
                    packed.kept += 1;
                    continue;
                }
                let blobs = manifest.needs.iter().filter_map(|digest| blobs.get(digest));
                todo.push(ImageWithoutSbom {
                    place: image.place.clone(),
                    manifest: Arc::clone(manifest),
                    blobs: blobs.map(file).collect(),
                });
            }
        }
        todo
    }

    /// Returns true if the manifest or the whole image has an SBOM in this format, or if the publisher uses the place
    /// of the new referrer for an image.
    fn is_described(
        &self,
        images: &[CollectedImage],
        name: &ImageName,
        subjects: [Digest; 2],
    ) -> bool {
        let [manifest, _] = subjects;
        let mut images = images.iter().filter(|image| image.place.name == *name);
        let list = referrers_place(name, manifest);
        images.any(|image| {
            let contents = &image.contents;
            let mut documents = contents.children.iter().chain([&contents.root]);
            match image.subject {
                None => image.place == list,
                Some(subject) => {
                    subjects.contains(&subject)
                        && documents
                            .any(|document| SbomFormat::of_referrer(document) == Some(self.format))
                }
            }
        })
    }

    fn make(
        &self,
        image: &ImageWithoutSbom,
        time: StatementTime,
        watch: &Watch<'_, Event>,
    ) -> Result<GeneratedReferrer, SbomError> {
        let described = ImageToDescribe {
            name: &image.place.name,
            manifest: &image.manifest,
            blobs: &image.blobs,
            time,
        };
        let sbom = self.syft.describe(described, self.format, watch.cancel)?;
        let manifest = referrer(self.format, &image.manifest, &sbom);
        let manifest = Document::read(files::digest(&manifest), manifest);
        let (manifest, _) = manifest.expect("the document written here is a manifest");
        let contents = [&sbom[..], EMPTY_CONFIG].map(|bytes| self.syft.keep(bytes));
        let blobs = contents.into_iter().map(|kept| kept.map(local_file));
        Ok(GeneratedReferrer {
            name: image.place.name.clone(),
            subject: image.manifest.digest,
            manifest: Arc::new(manifest),
            blobs: blobs.collect::<Result<_, _>>()?,
        })
    }
}

/// Returns true if the document is the manifest of a runnable image.
fn can_run(document: &Document) -> bool {
    let content = ImageDocument::from_slice(&document.bytes);
    matches!(content, Ok(ImageDocument::Manifest(manifest)) if manifest.is_image())
}

/// Returns the error for an SBOM that was not created. The blobs are not verified yet at this point, so a failure of
/// the program may be caused by a damaged one.
fn blame(error: SbomError, image: &ImageWithoutSbom) -> PackError {
    if matches!(error, SbomError::Failed { .. }) {
        for blob in &image.blobs {
            match found(blob) {
                Ok(found) if found == blob.digest => {}
                Ok(found) => {
                    return PackError::Content {
                        path: blob.path.clone(),
                        expected: blob.digest,
                        found,
                    };
                }
                Err(source) => return files::failed(&blob.path, source).into(),
            }
        }
    }
    PackError::from_sbom_error(&image.place, error)
}

/// Returns the digest of the bytes of a blob.
fn found(blob: &BlobFile) -> io::Result<Digest> {
    let mut file = File::open(&blob.path)?;
    file.seek(SeekFrom::Start(blob.offset))?;
    files::digest_of(file.take(blob.size))
}

fn file(here: &LocalBlob) -> BlobFile {
    BlobFile {
        digest: here.digest,
        size: here.size,
        path: here.path.clone(),
        offset: here.offset,
    }
}

fn local_file(file: BlobFile) -> LocalBlob {
    LocalBlob {
        digest: file.digest,
        size: file.size,
        path: file.path,
        offset: file.offset,
    }
}
