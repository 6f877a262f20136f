//! What follows from the images of an archive: the files of both views and the indexes over them. The packager writes
//! these files, the validator derives them again and compares byte for byte, so this module is part of the format.

mod registry_config;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemas::{
    ArchivePath, Digest, IMAGE_REFERENCE_ANNOTATION, Image, ImagePlace, MediaType, SolutionId,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::layout::{
    INDEX, OCI_LAYOUT, REGISTRY_CONFIG, REGISTRY_CONFIG_TEMPLATE, blob_path, image_blob_path,
    image_child_path, image_directory, image_manifest_path, image_version_path,
};
use registry_config::{Place, registry_config};

/// The `version` file of skopeo's directory layout.
pub const DIRECTORY_VERSION: &[u8] = b"Directory Transport Version: 1.1\n";

/// The `oci-layout` file (image specification, "oci-layout file").
pub const OCI_LAYOUT_BYTES: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// The annotation by which tools find an image in an OCI layout; its value is the image's place.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// A file that follows from the images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedFile {
    /// Where it lies.
    pub path: ArchivePath,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// What it holds.
    pub content: DerivedContent,
}

/// What a derived file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DerivedContent {
    /// These bytes: those of a document are the image's own, not a copy.
    Bytes(Arc<[u8]>),
    /// A blob: whoever reads the images has it, by its digest.
    Blob,
}

/// Why images cannot lie in one archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Two images at one place.
    #[error("two images have the place {0}")]
    Duplicate(ImagePlace),
    /// One image's directory would contain another image's.
    #[error("the directory of image {outer} would contain image {inner}")]
    Nested {
        /// The image inside.
        inner: ImagePlace,
        /// The directory around it.
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

/// Every file that follows from the images, sorted by path, each once. The order of the images, and of what is in
/// them, makes no difference.
pub fn derived(id: &SolutionId, images: &[Image]) -> Result<Vec<DerivedFile>, TreeError> {
    let mut images: Vec<&Image> = images.iter().collect();
    images.sort_by(|a, b| a.place.cmp(&b.place));
    check(&images)?;
    let mut files = vec![
        from_bytes(OCI_LAYOUT, OCI_LAYOUT_BYTES.to_vec()),
        from_bytes(INDEX, index(&images)),
        from_bytes(
            REGISTRY_CONFIG,
            registry_config(&Place::mounted(id), &images),
        ),
        from_bytes(
            REGISTRY_CONFIG_TEMPLATE,
            registry_config(&Place::template(), &images),
        ),
    ];
    let mut in_layout = BTreeSet::new();
    for image in &images {
        image_files(image, &mut in_layout, &mut files);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
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

/// The files of an image in its own directory, and in the layout those that no image before has brought.
fn image_files(image: &Image, in_layout: &mut BTreeSet<Digest>, files: &mut Vec<DerivedFile>) {
    let place = &image.place;
    let mut paths = |own: ArchivePath, digest: &Digest| {
        let layout = in_layout.insert(*digest).then(|| blob_path(digest));
        std::iter::once(own).chain(layout)
    };
    let version = image_version_path(place);
    files.push(from_bytes(version.as_str(), DIRECTORY_VERSION.to_vec()));
    for document in image.documents() {
        let own = if document.digest == image.root.digest {
            image_manifest_path(place)
        } else {
            image_child_path(place, &document.digest)
        };
        for path in paths(own, &document.digest) {
            files.push(DerivedFile {
                path,
                size: document.bytes.len() as u64,
                digest: document.digest,
                content: DerivedContent::Bytes(Arc::clone(&document.bytes)),
            });
        }
    }
    for (&digest, &size) in &image.blobs {
        for path in paths(image_blob_path(place, &digest), &digest) {
            files.push(DerivedFile {
                path,
                size,
                digest,
                content: DerivedContent::Blob,
            });
        }
    }
}

fn from_bytes(path: &str, bytes: Vec<u8>) -> DerivedFile {
    DerivedFile {
        path: path
            .parse()
            .expect("the format's own paths are inside the grammar"),
        size: bytes.len() as u64,
        digest: Digest::new(Sha256::digest(&bytes).into()),
        content: DerivedContent::Bytes(bytes.into()),
    }
}

/// `index.json`: one descriptor for each place, in their order.
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
    annotations.extend(reference.map(|it| (IMAGE_REFERENCE_ANNOTATION, it.to_string())));
    IndexEntry {
        media_type: root.media_type.as_str(),
        digest: root.digest,
        size: root.bytes.len() as u64,
        annotations,
    }
}

#[cfg(test)]
mod tests {
    use schemas::Document;

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

    fn file(files: &[DerivedFile], path: &str) -> String {
        let file = files.iter().find(|file| file.path.as_str() == path);
        match &file.unwrap().content {
            DerivedContent::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            DerivedContent::Blob => panic!("{path} is a blob"),
        }
    }

    #[test]
    fn both_views_hold_every_content() {
        let files = derived(&id(), &[image("org/app:1", None)]).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let [one, two] = ["01".repeat(32), "02".repeat(32)];
        let [root, child] = [document("{}"), document("[]")].map(|it| it.digest.hex());
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
            if let DerivedContent::Bytes(bytes) = &file.content {
                assert_eq!(file.size, bytes.len() as u64);
                assert_eq!(file.digest.as_bytes(), Sha256::digest(bytes).as_slice());
            }
        }
    }

    /// A large manifest under very many tags must not be in memory for each of them.
    #[test]
    fn images_share_the_bytes_of_a_document() {
        let root = document("{}");
        let bytes = Arc::clone(&root.bytes);
        let [first, second] = ["a:1", "a:2"].map(|place| Image {
            root: Arc::clone(&root),
            ..image(place, None)
        });
        let files = derived(&id(), &[first, second]).unwrap();
        let shared = files.iter().filter(
            |file| matches!(&file.content, DerivedContent::Bytes(it) if Arc::ptr_eq(it, &bytes)),
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
        assert_eq!(derived(&id(), &images), derived(&id(), &turned));
    }

    #[test]
    fn the_index_has_the_bytes_of_the_format() {
        let images = [image("b:1", None), image("a:1", Some("quay.test/a:1"))];
        let files = derived(&id(), &images).unwrap();
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
        let files = derived(&id(), &[]).unwrap();
        assert!(file(&files, "index.json").ends_with(r#""manifests":[]}"#));
        assert_eq!(file(&files, "registry-config.inc"), "");
    }

    #[test]
    fn images_have_directories_of_their_own() {
        let refused = |places: &[&str]| {
            let images: Vec<_> = places.iter().map(|place| image(place, None)).collect();
            derived(&id(), &images).unwrap_err()
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
        assert!(derived(&id(), &apart).is_ok());
    }
}
