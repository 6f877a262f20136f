//! A small Solution for tests: an image for one platform, an index for two that shares a layer with it, a layer larger
//! than a buffer, an empty file, and a file under a declared top-level name.

// Each test binary uses a different part of this module.
#![allow(dead_code)]

pub(crate) mod cases;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::tree::derived;
use archive::{
    ArchiveFile, FileSource, ListedArchive, MANIFEST, OpenError, OpenedArchive, Overwrite, README,
    ROLE, StatementInfo, UnsignedArchive, WriteError, WrittenArchive, crd_path, readme,
};
use progress::{Cancel, Watch};
use schemas::{Digest, Document, Image, SolutionId, StatementTime};
use sha2::{Digest as _, Sha256};
use signing::{SecretKey, Trust};
use tempfile::TempDir;

pub(crate) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// Returns the secret key whose 32 bytes are all 7.
pub(crate) fn key() -> SecretKey {
    let pem = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH
-----END PRIVATE KEY-----
";
    SecretKey::from_pem(pem).unwrap()
}

pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

pub(crate) fn id() -> SolutionId {
    SolutionId::new("example".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap()
}

pub(crate) fn info() -> StatementInfo {
    StatementInfo {
        id: id(),
        time: StatementTime::DEFAULT,
        upgrade_from: Some(">=0.9.0, <1.0.0".parse().unwrap()),
        expires: None,
        requires: vec![],
        optional: vec!["extra".to_owned()],
    }
}

/// Returns bytes with a long period, so that swapped pieces are detected.
fn noise(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    (0..len).map(|_| next()).collect()
}

// JSON is written literally, so that the pinned bytes do not depend on the key order of a library.

fn descriptor(media_type: &str, bytes: &[u8], more: &str) -> String {
    let (digest, size) = (digest(bytes), bytes.len());
    format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size}{more}}}"#)
}

/// Builds an image's manifest with descriptors of its contents.
fn manifest(config: &[u8], layers: &[Vec<u8>]) -> Vec<u8> {
    let config = descriptor(CONFIG, config, "");
    let layers: Vec<_> = layers
        .iter()
        .map(|layer| descriptor(LAYER, layer, ""))
        .collect();
    let layers = layers.join(",");
    format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}","config":{config},"layers":[{layers}]}}"#
    )
    .into_bytes()
}

fn document(bytes: Vec<u8>) -> Arc<Document> {
    Document::read(digest(&bytes), bytes).unwrap().0.into()
}

fn blob_size(bytes: &[u8]) -> (Digest, u64) {
    (digest(bytes), bytes.len() as u64)
}

fn config(architecture: &str, layers: &[Vec<u8>]) -> Vec<u8> {
    let ids: Vec<String> = layers
        .iter()
        .map(|manifest| format!("\"{}\"", digest(manifest)))
        .collect();
    let ids = ids.join(",");
    format!(
        r#"{{"architecture":"{architecture}","os":"linux","config":{{}},"rootfs":{{"type":"layers","diff_ids":[{ids}]}}}}"#
    )
    .into_bytes()
}

/// Builds the images and the bytes of their blobs.
pub(crate) fn images() -> (Vec<Image>, Vec<Vec<u8>>) {
    let (shared, large, small) = (noise(5000, 1), noise(3 * (1 << 20) + 5, 2), noise(1, 3));
    let amd64 = [shared.clone(), large];
    let arm64 = [shared, small];
    let configs = [config("amd64", &amd64), config("arm64", &arm64)];
    let manifests = [manifest(&configs[0], &amd64), manifest(&configs[1], &arm64)];
    let child = |bytes: &[u8], architecture: &str| {
        let platform = format!(r#","platform":{{"os":"linux","architecture":"{architecture}"}}"#);
        descriptor(OCI_MANIFEST, bytes, &platform)
    };
    let children = [child(&manifests[0], "amd64"), child(&manifests[1], "arm64")].join(",");
    let index =
        format!(r#"{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{children}]}}"#);
    let [first, second] = manifests.map(document);
    let blobs: Vec<Vec<u8>> = [&amd64[..], &arm64[1..], &configs[..]].concat();
    let images = vec![
        Image {
            place: "org/multi:2.0".parse().unwrap(),
            reference: Some("quay.test/org/multi:2.0".parse().unwrap()),
            root: document(index.into_bytes()),
            children: vec![first.clone(), second],
            blobs: blobs.iter().map(|bytes| blob_size(bytes)).collect(),
            platforms: BTreeSet::new(),
        },
        Image {
            place: "app:1.0".parse().unwrap(),
            reference: None,
            root: first,
            children: Vec::new(),
            blobs: [&amd64[0], &amd64[1], &configs[0]]
                .map(|bytes| blob_size(bytes))
                .into(),
            platforms: BTreeSet::new(),
        },
    ];
    (images, blobs)
}

/// Builds every file of the Solution. The blobs are files in `directory`; the largest does not start at offset 0 of its
/// file.
pub(crate) fn files(directory: &Path) -> Vec<ArchiveFile> {
    let (images, blobs) = images();
    let source = |wanted: &Digest| {
        let bytes = blobs.iter().find(|bytes| digest(bytes) == *wanted).unwrap();
        let path = directory.join(wanted.hex());
        let padded = [b"ahead".as_slice(), bytes].concat();
        let offset = if bytes.len() > 1 << 20 { 5 } else { 0 };
        std::fs::write(&path, if offset > 0 { &padded } else { bytes }).unwrap();
        FileSource::File { path, offset }
    };
    let own = [
        (MANIFEST, b"kind: Solution\n".to_vec()),
        (README, readme(&id(), &[], None)),
        (ROLE, b"kind: Role\n".to_vec()),
        (
            crd_path("example").unwrap().as_str(),
            b"kind: CustomResourceDefinition\n".to_vec(),
        ),
        ("extra/empty", vec![]),
    ]
    .map(|(path, bytes)| ArchiveFile::from_bytes(path.parse().unwrap(), bytes));
    let derived = derived(&id(), &images, source).unwrap();
    own.into_iter().chain(derived).collect()
}

/// A directory with the sources, and the path of an archive next to them.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) sources: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let [directory, sources] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        Self { directory, sources }
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.directory.path().join("example-1.0.0.iso")
    }

    pub(crate) fn files(&self) -> Vec<ArchiveFile> {
        files(self.sources.path())
    }

    pub(crate) fn write_with(
        &self,
        info: StatementInfo,
        files: Vec<ArchiveFile>,
        threads: usize,
    ) -> Result<WrittenArchive, WriteError> {
        let signed = UnsignedArchive::new(info, files)?.sign(&[key()])?;
        let threads = NonZeroUsize::new(threads).unwrap();
        let path = self.archive();
        let watch = Watch::silent(Cancel::never());
        let draft = signed.write(&path, Overwrite::Replace, threads, &watch)?;
        draft.publish(watch.cancel)
    }

    pub(crate) fn write(&self) -> WrittenArchive {
        self.write_with(info(), self.files(), 2).unwrap()
    }

    pub(crate) fn list(&self) -> Result<ListedArchive, OpenError> {
        OpenedArchive::open(&self.archive())?
            .verify(&trust())?
            .list()
    }

    /// Returns the names of the files next to the archive.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

pub(crate) fn trust() -> Trust {
    Trust::new(vec![key().public()], None).unwrap()
}
