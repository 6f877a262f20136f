//! Files as an OCI artifact with one layer, for controllers that apply files from a registry. The same files always
//! result in the same bytes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use registry::{BlobPush, Client, PushJob, Reference, RepositoryPath};
use schemas::{
    Digest, Document, EMPTY_CONFIG, EMPTY_CONFIG_TYPE, ImageDocument, MediaType, Tag, Version,
};
use serde_json::json;
use tar::{Builder, EntryType, Header};

use crate::artifact::{digest_of, manifest_push};
use crate::error::Error;
use crate::job::push_all;
use crate::place::holding_tag;

/// The artifact type of the manifest.
const ARTIFACT: &str = "application/vnd.solutions.manifests.v1";
/// The media type of the layer: the default of these controllers.
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Files as an artifact in a registry.
#[derive(Debug)]
pub struct FilesArtifact {
    layer: Bytes,
    manifest: Document,
}

impl FilesArtifact {
    /// Packs files under their names.
    ///
    /// # Panics
    ///
    /// Never: a writer in memory does not fail, and the manifest is one.
    #[must_use]
    pub fn new(files: &BTreeMap<String, String>) -> Self {
        let layer = packed(files).expect("memory can be written");
        let (config, digest) = (digest_of(EMPTY_CONFIG), digest_of(&layer));
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::OciManifest.as_str(),
            "artifactType": ARTIFACT,
            "config": {"mediaType": EMPTY_CONFIG_TYPE, "digest": config, "size": EMPTY_CONFIG.len()},
            "layers": [{"mediaType": LAYER, "digest": digest, "size": layer.len()}],
        });
        let bytes = manifest.to_string().into_bytes();
        let read: Result<(Document, ImageDocument), _> = Document::read(digest_of(&bytes), bytes);
        let (manifest, _) = read.expect("a manifest");
        Self {
            layer: layer.into(),
            manifest,
        }
    }

    /// Returns the digest of its manifest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.manifest.digest
    }

    /// Returns the tag for the artifact. Registries remove untagged manifests.
    #[must_use]
    pub fn tag(&self, version: &Version) -> Tag {
        holding_tag(version, self.digest())
    }

    /// Pushes the artifact unless the registry has it.
    pub async fn push(
        &self,
        client: &Client,
        repository: &RepositoryPath,
        tag: Tag,
    ) -> Result<(), Error> {
        let blob = |bytes: Bytes| BlobPush {
            digest: digest_of(&bytes),
            size: bytes.len() as u64,
            repositories: vec![repository.clone()],
            content: Arc::new(bytes),
        };
        let blobs = [self.layer.clone(), Bytes::from_static(EMPTY_CONFIG)];
        let reference = Reference::Tag(tag);
        let job = PushJob {
            blobs: blobs.map(blob).into(),
            manifests: vec![manifest_push(&self.manifest, repository.clone(), reference)],
            ..PushJob::default()
        };
        push_all(client, &job, &BTreeMap::new(), &|_| ()).await?;
        Ok(())
    }
}

/// Returns a compressed tar archive whose bytes depend only on the names and contents of the files.
fn packed(files: &BTreeMap<String, String>) -> io::Result<Vec<u8>> {
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, text) in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_size(text.len() as u64);
        tar.append_data(&mut header, name, text.as_bytes())?;
    }
    tar.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use tar::Archive;

    use super::*;

    #[test]
    fn the_same_files_are_the_same_artifact_and_come_out_as_they_were() {
        let long = format!("0001-{}.yaml", "a".repeat(120));
        let files = [("0002-b.yaml", "b: 2\n"), (long.as_str(), "a: 1\n")];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let files: BTreeMap<String, String> = files.into();
        let artifact = FilesArtifact::new(&files);
        // If these bytes change, every site applies its unchanged files again.
        let expected = "sha256:952d05706e9cc30c959d832d9910c86e512ee0794b70697648651becb0c37ac2";
        assert_eq!(artifact.digest().to_string(), expected);
        let version = "1.0.0".parse().unwrap();
        let tag = artifact.tag(&version).to_string();
        assert_eq!(tag, format!("1.0.0-{}", &artifact.digest().hex()[..12]));

        let mut unpacked = BTreeMap::new();
        for entry in Archive::new(GzDecoder::new(&*artifact.layer))
            .entries()
            .unwrap()
        {
            let mut entry = entry.unwrap();
            assert_eq!(entry.header().mtime().unwrap(), 0);
            let name = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            unpacked.insert(name, text);
        }
        assert_eq!(unpacked, files);
    }
}
