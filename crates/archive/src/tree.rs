//! The files that follow from the images of an archive: the files of both views and the indexes over them. [`derived`]
//! returns them all, [`each_derived`] one at a time.
//!
//! The packager writes these files; the validator derives them again and compares them byte for byte. This module is
//! therefore part of the format (docs/reference/format.md).

mod registry_config;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemas::{
    ArchivePath, Digest, Document, IMAGE_REFERENCE_ANNOTATION, Image, ImagePlace, MediaType,
    SolutionId,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::layout::{
    INDEX, OCI_LAYOUT, REGISTRY_CONFIG, REGISTRY_CONFIG_TEMPLATE, blob_path, image_blob_path,
    image_child_path, image_directory, image_manifest_path, image_version_path,
};
use crate::unsigned::digest_of;
use crate::{ArchiveFile, FileSource};
use registry_config::{Upstream, registry_config};

/// The `version` file of skopeo's directory layout.
pub const DIRECTORY_VERSION: &[u8] = b"Directory Transport Version: 1.1\n";

/// The `oci-layout` file (image specification, "oci-layout file").
pub const OCI_LAYOUT_BYTES: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// The annotation by which tools find an image in an OCI layout. Its value is the image's name and tag.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The reason why images cannot be in the same archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Two images have the same name and tag.
    #[error("two images have the place {0}")]
    Duplicate(ImagePlace),
    /// The directory of one image would contain that of another image.
    #[error("the directory of image {outer} would contain image {inner}")]
    Nested {
        /// The inner image.
        inner: ImagePlace,
        /// The outer directory.
        outer: String,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    schema_version: u8,
    media_type: &'a str,
    manifests: Vec<IndexEntry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexEntry<'a> {
    media_type: &'a str,
    digest: Digest,
    size: u64,
    annotations: BTreeMap<&'a str, String>,
}

/// A file that follows from the images.
#[derive(Debug)]
pub struct DerivedFile<'a> {
    /// Its path in the archive.
    pub path: ArchivePath,
    content: DerivedContent<'a>,
}

#[derive(Debug)]
enum DerivedContent<'a> {
    Bytes(Vec<u8>),
    /// Generated on demand: with many images it is the largest of all derived files.
    RegistryConfig(&'a Upstream, &'a [&'a Image]),
    Document(&'a Document),
    Blob {
        digest: Digest,
        size: u64,
    },
}

impl DerivedFile<'_> {
    /// The SHA-256 of its bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match &self.content {
            DerivedContent::Bytes(bytes) => digest_of(bytes),
            DerivedContent::RegistryConfig(upstream, images) => {
                let mut hash = Sha256::new();
                registry_config(upstream, images, &mut |text| hash.update(text));
                Digest::new(hash.finalize().into())
            }
            DerivedContent::Document(document) => document.digest,
            DerivedContent::Blob { digest, .. } => *digest,
        }
    }

    fn into_file(self, blob: &impl Fn(&Digest) -> FileSource) -> ArchiveFile {
        let path = self.path;
        match self.content {
            DerivedContent::Bytes(bytes) => ArchiveFile::from_bytes(path, bytes),
            DerivedContent::RegistryConfig(upstream, images) => {
                let mut config = String::new();
                registry_config(upstream, images, &mut |text| config.push_str(text));
                ArchiveFile::from_bytes(path, config.into_bytes())
            }
            DerivedContent::Document(document) => ArchiveFile {
                path,
                size: document.bytes.len() as u64,
                digest: document.digest,
                source: FileSource::Bytes(Arc::clone(&document.bytes)),
            },
            DerivedContent::Blob { digest, size } => ArchiveFile {
                path,
                size,
                digest,
                source: blob(&digest),
            },
        }
    }
}

/// Derives every file from the images, sorted by path. The order of the images and of their contents makes no
/// difference. Documents share the bytes of the images instead of copying them; `blob` returns the source of a
/// configuration or layer.
pub fn derived(
    id: &SolutionId,
    images: &[Image],
    blob: impl Fn(&Digest) -> FileSource,
) -> Result<Vec<ArchiveFile>, TreeError> {
    let mut files = Vec::new();
    each_derived(id, images, |file| files.push(file.into_file(&blob)))?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Passes each of these files to `take` once, without collecting them. The order depends on the images.
pub fn each_derived(
    id: &SolutionId,
    images: &[Image],
    mut take: impl FnMut(DerivedFile<'_>),
) -> Result<(), TreeError> {
    let mut images: Vec<&Image> = images.iter().collect();
    images.sort_by(|a, b| a.place.cmp(&b.place));
    check(&images)?;
    let bytes = DerivedContent::Bytes;
    take(own(OCI_LAYOUT, bytes(OCI_LAYOUT_BYTES.to_vec())));
    take(own(INDEX, bytes(index(&images))));
    for (path, upstream) in [
        (REGISTRY_CONFIG, Upstream::mounted(id)),
        (REGISTRY_CONFIG_TEMPLATE, Upstream::template()),
    ] {
        let config = DerivedContent::RegistryConfig(&upstream, &images);
        take(own(path, config));
    }
    let mut in_layout = BTreeSet::new();
    for image in &images {
        image_files(image, &mut in_layout, &mut take);
    }
    Ok(())
}

fn check(images: &[&Image]) -> Result<(), TreeError> {
    let mut directories = BTreeSet::new();
    for Image { place, .. } in images {
        if !directories.insert(image_directory(place).as_str().to_owned()) {
            return Err(TreeError::Duplicate(place.clone()));
        }
    }
    for Image { place, .. } in images {
        let directory = image_directory(place);
        let ancestors = directory.as_str().match_indices('/');
        for (end, _) in ancestors {
            let outer = &directory.as_str()[..end];
            if directories.contains(outer) {
                return Err(TreeError::Nested {
                    inner: place.clone(),
                    outer: outer.to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// Emits the files of an image in its own directory, and in the OCI layout those that no earlier image has emitted.
fn image_files(
    image: &Image,
    in_layout: &mut BTreeSet<Digest>,
    take: &mut impl FnMut(DerivedFile<'_>),
) {
    let place = &image.place;
    let version = image_version_path(place);
    let bytes = DerivedContent::Bytes(DIRECTORY_VERSION.to_vec());
    take(own(version.as_str(), bytes));
    for document in image.documents() {
        let digest = document.digest;
        let path = if digest == image.root.digest {
            image_manifest_path(place)
        } else {
            image_child_path(place, &digest)
        };
        let layout = in_layout.insert(digest).then(|| blob_path(&digest));
        for path in std::iter::once(path).chain(layout) {
            let content = DerivedContent::Document(document);
            take(DerivedFile { path, content });
        }
    }
    for (&digest, &size) in &image.blobs {
        let layout = in_layout.insert(digest).then(|| blob_path(&digest));
        for path in std::iter::once(image_blob_path(place, &digest)).chain(layout) {
            let content = DerivedContent::Blob { digest, size };
            take(DerivedFile { path, content });
        }
    }
}

fn own<'a>(path: &str, content: DerivedContent<'a>) -> DerivedFile<'a> {
    let path = path.parse();
    let path = path.expect("the format's own paths are inside the grammar");
    DerivedFile { path, content }
}

/// Encodes `index.json`: one descriptor for each image, sorted by name and tag.
fn index(images: &[&Image]) -> Vec<u8> {
    let index = Index {
        schema_version: 2,
        media_type: MediaType::OciIndex.as_str(),
        manifests: images.iter().map(|image| index_entry(image)).collect(),
    };
    serde_json::to_vec(&index).expect("an index has a JSON form")
}

fn index_entry(image: &Image) -> IndexEntry<'_> {
    let root = &image.root;
    let reference = image.reference.as_ref();
    let mut annotations = BTreeMap::from([(REF_NAME, image.place.to_string())]);
    annotations
        .extend(reference.map(|reference| (IMAGE_REFERENCE_ANNOTATION, reference.to_string())));
    IndexEntry {
        media_type: root.media_type.as_str(),
        digest: root.digest,
        size: root.bytes.len() as u64,
        annotations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: MediaType = MediaType::OciManifest;

    fn document(text: &str) -> Arc<Document> {
        Arc::new(Document {
            digest: Digest::new(Sha256::digest(text).into()),
            media_type: MANIFEST,
            bytes: text.as_bytes().into(),
            needs: Vec::new(),
        })
    }

    fn image(place: &str, reference: Option<&str>) -> Image {
        let blob = |byte| (Digest::new([byte; 32]), u64::from(byte));
        Image {
            place: place.parse().unwrap(),
            reference: reference.map(|reference| reference.parse().unwrap()),
            root: document("{}"),
            children: vec![document("[]")],
            blobs: [blob(1), blob(2)].into(),
            platforms: BTreeSet::new(),
        }
    }

    fn id() -> SolutionId {
        SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap()
    }

    fn derived(images: &[Image]) -> Result<Vec<ArchiveFile>, TreeError> {
        let blob = |_: &Digest| FileSource::File {
            path: "blob".into(),
            offset: 0,
        };
        super::derived(&id(), images, blob)
    }

    fn file(files: &[ArchiveFile], path: &str) -> String {
        let file = files.iter().find(|file| file.path.as_str() == path);
        match &file.unwrap().source {
            FileSource::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            other @ FileSource::File { .. } => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn both_views_hold_every_content() {
        let files = derived(&[image("org/app:1", None)]).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let [one, two] = ["01".repeat(32), "02".repeat(32)];
        let [root, child] = [document("{}"), document("[]")].map(|document| document.digest.hex());
        let mut expected = vec![
            format!("blobs/sha256/{one}"),
            format!("blobs/sha256/{two}"),
            format!("blobs/sha256/{root}"),
            format!("blobs/sha256/{child}"),
            format!("images/org/app/1/{one}"),
            format!("images/org/app/1/{two}"),
            format!("images/org/app/1/{child}.manifest.json"),
            "images/org/app/1/manifest.json".to_owned(),
            "images/org/app/1/version".to_owned(),
            "index.json".to_owned(),
            "oci-layout".to_owned(),
            "registry-config.inc".to_owned(),
            "registry-config.inc.j2".to_owned(),
        ];
        expected.sort();
        assert_eq!(paths, expected);
        for file in &files {
            if let FileSource::Bytes(bytes) = &file.source {
                assert_eq!(file.size, bytes.len() as u64);
                assert_eq!(file.digest.as_bytes(), Sha256::digest(bytes).as_slice());
            }
        }
    }

    /// A large manifest with many tags must be in memory only once.
    #[test]
    fn images_share_the_bytes_of_a_document() {
        let root = document("{}");
        let bytes = Arc::clone(&root.bytes);
        let [first, second] = ["a:1", "a:2"].map(|place| Image {
            root: Arc::clone(&root),
            ..image(place, None)
        });
        let files = derived(&[first, second]).unwrap();
        let shared = files.iter().filter(
            |file| matches!(&file.source, FileSource::Bytes(shared) if Arc::ptr_eq(shared, &bytes)),
        );
        assert_eq!(shared.count(), 3);
    }

    #[test]
    fn the_order_of_the_input_makes_no_difference() {
        let images = ["b:1", "a:2", "a:1"].map(|place| Image {
            children: ["[]", "1"].map(document).into(),
            ..image(place, None)
        });
        let mut turned = images.clone();
        turned.reverse();
        for image in &mut turned {
            image.children.reverse();
        }
        assert_eq!(derived(&images), derived(&turned));
    }

    #[test]
    fn the_index_has_the_bytes_of_the_format() {
        let images = [image("b:1", None), image("a:1", Some("quay.test/a:1"))];
        let files = derived(&images).unwrap();
        let descriptor = format!(
            r#"{{"mediaType":"{MANIFEST}","digest":"{}","size":2,"annotations":{{"#,
            document("{}").digest
        );
        let expected = [
            r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":["#,
            &descriptor,
            r#""org.opencontainers.image.ref.name":"a:1","solutions.metalk8s.scality.com/ref":"quay.test/a:1"}},"#,
            &descriptor,
            r#""org.opencontainers.image.ref.name":"b:1"}}]}"#,
        ];
        assert_eq!(file(&files, "index.json"), expected.concat());
    }

    #[test]
    fn no_images_make_an_archive_too() {
        let files = derived(&[]).unwrap();
        assert!(file(&files, "index.json").ends_with(r#""manifests":[]}"#));
        assert_eq!(file(&files, "registry-config.inc"), "");
    }

    #[test]
    fn images_have_directories_of_their_own() {
        let refused = |places: &[&str]| {
            let images: Vec<_> = places.iter().map(|place| image(place, None)).collect();
            derived(&images).unwrap_err()
        };
        assert!(matches!(refused(&["a:1", "a:1"]), TreeError::Duplicate(_)));
        assert!(matches!(
            refused(&["a:1", "a/1:x"]),
            TreeError::Nested { outer, .. } if outer == "images/a/1"
        ));
        assert!(matches!(
            refused(&["a/1/b:x", "a:1"]),
            TreeError::Nested { .. }
        ));
        let apart = [
            image("a:1", None),
            image("a/b:1", None),
            image("a/b:2", None),
        ];
        assert!(derived(&apart).is_ok());
    }
}
