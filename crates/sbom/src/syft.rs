//! Runs of `syft`, which creates the SBOM of an image: [`Syft::describe`]. syft receives the image as an OCI image
//! layout, and its output is normalised (`normal`).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use progress::Cancel;
use schemas::{Digest, Document, ImageName, MediaType, StatementTime};
use serde_json::json;

use crate::error::SbomError;
use crate::format::SbomFormat;
use crate::tool::{Tool, ToolRun};
use crate::{limits, normalization};

/// The program `syft`.
#[derive(Debug)]
pub struct Syft(Tool);

/// An image for which an SBOM is created.
#[derive(Clone, Copy, Debug)]
pub struct ImageToDescribe<'a> {
    /// The image's name in the SBOM.
    pub name: &'a ImageName,
    /// The image's manifest. Its digest is the image's version in the SBOM.
    pub manifest: &'a Document,
    /// The contents that the manifest references.
    pub blobs: &'a [BlobFile],
    /// The creation time in the SBOM.
    pub time: StatementTime,
}

/// A range of a file with a content of an image.
#[derive(Clone, Debug)]
pub struct BlobFile {
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The file.
    pub path: PathBuf,
    /// The start of the range, in bytes.
    pub offset: u64,
}

impl Syft {
    /// Checks the program at a path by asking for its version. It unpacks layers below `scratch`.
    pub fn from_path(program: &Path, scratch: &Path) -> Result<Self, SbomError> {
        Tool::open("syft", program, scratch).map(Self)
    }

    /// The version that the program reports.
    #[must_use]
    pub fn version(&self) -> &str {
        self.0.version()
    }

    /// Creates the SBOM of an image. The same image always yields the same bytes.
    pub fn describe(
        &self,
        image: ImageToDescribe<'_>,
        format: SbomFormat,
        cancel: Cancel<'_>,
    ) -> Result<Vec<u8>, SbomError> {
        let layout = self.0.path("image");
        lay_out(&layout, &image).map_err(|source| SbomError::Scratch(layout.clone(), source))?;
        let mut source = OsString::from("oci-dir:");
        source.push(&layout);
        let mut run = ToolRun::new(["scan".into(), source]);
        run.time = limits::DESCRIBING;
        run.output = limits::SBOM_SIZE;
        run.flag("source-name", image.name.as_str());
        run.flag("source-version", image.manifest.digest.to_string());
        run.flag("output", format.output());
        let said = self.0.run(&run, cancel)?;
        Ok(normalization::normal(
            format,
            self.0.printed(&said)?,
            image.time,
        ))
    }

    /// Writes bytes to a file that is deleted with this value.
    pub fn keep(&self, bytes: &[u8]) -> Result<BlobFile, SbomError> {
        let digest = files::digest(bytes);
        Ok(BlobFile {
            digest,
            size: bytes.len() as u64,
            path: self.0.write(&digest.hex(), bytes)?,
            offset: 0,
        })
    }
}

/// Creates an OCI image layout with a single manifest and replaces an existing one. Contents are hard links if they are
/// whole files, because syft does not follow symbolic links; otherwise they are copied.
fn lay_out(layout: &Path, image: &ImageToDescribe<'_>) -> io::Result<()> {
    match fs::remove_dir_all(layout) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let manifest = image.manifest;
    let index = json!({
        "schemaVersion": 2,
        "mediaType": MediaType::OciIndex.as_str(),
        "manifests": [{
            "mediaType": manifest.media_type.as_str(),
            "digest": manifest.digest,
            "size": manifest.bytes.len(),
        }],
    });
    fs::write(
        layout.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    fs::write(layout.join("index.json"), index.to_string())?;
    fs::write(blobs.join(manifest.digest.hex()), &manifest.bytes)?;
    for blob in image.blobs {
        let target = blobs.join(blob.digest.hex());
        let source = blob.path.canonicalize()?;
        let is_whole = (blob.offset, blob.size) == (0, source.metadata()?.len());
        // Hard links are not possible across file systems, and may not be allowed for files of other users.
        if !is_whole || fs::hard_link(&source, &target).is_err() {
            let mut file = File::open(source)?;
            file.seek(SeekFrom::Start(blob.offset))?;
            io::copy(&mut file.take(blob.size), &mut File::create(target)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use schemas::EMPTY_CONFIG;

    use super::*;

    #[test]
    fn a_layout_has_one_image_and_all_that_it_names() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tar");
        fs::write(&file, "one and two").unwrap();
        let blob = |bytes: &[u8], path: &Path, offset| BlobFile {
            digest: files::digest(bytes),
            size: bytes.len() as u64,
            path: path.to_owned(),
            offset,
        };
        let blobs = [blob(b"one and two", &file, 0), blob(b"and", &file, 4)];
        let empty = json!({"mediaType": "a/b", "digest": files::digest(EMPTY_CONFIG), "size": 2});
        let manifest = json!({"schemaVersion": 2, "config": empty, "layers": [empty]});
        let bytes = manifest.to_string().into_bytes();
        let (manifest, _) = Document::read(files::digest(&bytes), bytes).unwrap();
        let name = "app".parse().unwrap();
        let layout = directory.path().join("image");
        // The second layout must not contain files of the first one.
        for blobs in [&blobs[..], &blobs[1..]] {
            let image = ImageToDescribe {
                name: &name,
                manifest: &manifest,
                blobs,
                time: StatementTime::DEFAULT,
            };
            lay_out(&layout, &image).unwrap();
            let lies = layout.join("blobs/sha256");
            assert_eq!(fs::read_dir(&lies).unwrap().count(), blobs.len() + 1);
            for blob in blobs {
                let bytes = fs::read(lies.join(blob.digest.hex())).unwrap();
                assert_eq!(files::digest(&bytes), blob.digest);
            }
        }
    }
}
