//! The archives whose bytes are pinned. Each covers some parts of format 1. They are built by this crate's own stages,
//! so that no text of the packager is in them.

use std::collections::{BTreeMap, BTreeSet};

use archive::tree::derived;
use archive::{ArchiveFile, CRDS, FileSource, MANIFEST, README, ROLE, StatementInfo};
use schemas::{Digest, Image, SolutionId, StatementTime};
use signing::SecretKey;

use super::{blob_size, config, descriptor, digest, document, noise};

/// An archive, the parts of the format that it covers, and its digests.
pub(crate) struct Case {
    pub(crate) reason: &'static str,
    pub(crate) info: StatementInfo,
    pub(crate) images: Vec<Image>,
    /// The contents of the images.
    pub(crate) contents: BTreeMap<Digest, Vec<u8>>,
    /// Files that are not derived from the images.
    pub(crate) own: Vec<(String, Vec<u8>)>,
    /// Secret keys as PEM.
    pub(crate) keys: Vec<String>,
    pub(crate) archive_id: &'static str,
    pub(crate) sha256: &'static str,
}

impl Case {
    /// Returns every file of the archive.
    pub(crate) fn files(&self) -> Vec<ArchiveFile> {
        let own = self.own.iter();
        let own =
            own.map(|(path, bytes)| ArchiveFile::from_bytes(path.parse().unwrap(), bytes.clone()));
        let blob = |digest: &Digest| FileSource::Bytes(self.contents[digest].as_slice().into());
        let derived = derived(&self.info.id, &self.images, blob).unwrap();
        own.chain(derived).collect()
    }

    pub(crate) fn secret_keys(&self) -> Vec<SecretKey> {
        let keys = self.keys.iter();
        keys.map(|pem| SecretKey::from_pem(pem).unwrap()).collect()
    }
}

/// The media types of one family of image formats.
#[derive(Clone, Copy)]
struct Types {
    manifest: &'static str,
    index: &'static str,
    config: &'static str,
    layer: &'static str,
}

const OCI: Types = Types {
    manifest: super::OCI_MANIFEST,
    index: super::OCI_INDEX,
    config: super::CONFIG,
    layer: super::LAYER,
};

const DOCKER: Types = Types {
    manifest: "application/vnd.docker.distribution.manifest.v2+json",
    index: "application/vnd.docker.distribution.manifest.list.v2+json",
    config: "application/vnd.docker.container.image.v1+json",
    layer: "application/vnd.docker.image.rootfs.diff.tar.gzip",
};

/// The documents of an image, with the root document first.
#[derive(Clone)]
struct Built {
    documents: Vec<(&'static str, Vec<u8>)>,
    blobs: Vec<Vec<u8>>,
}

/// Builds an image for one platform.
fn single(types: Types, architecture: &str, layers: &[Vec<u8>]) -> Built {
    let config = config(architecture, layers);
    let layer = |bytes: &Vec<u8>| descriptor(types.layer, bytes, "");
    let layers_json: Vec<String> = layers.iter().map(layer).collect();
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{}]}}"#,
        types.manifest,
        descriptor(types.config, &config, ""),
        layers_json.join(",")
    );
    Built {
        documents: vec![(types.manifest, manifest.into_bytes())],
        blobs: [layers, &[config]].concat(),
    }
}

/// Builds an image for multiple platforms.
fn multi(types: Types, children: &[(&str, Built)]) -> Built {
    let child = |(architecture, built): &(&str, Built)| {
        let platform = format!(r#","platform":{{"os":"linux","architecture":"{architecture}"}}"#);
        let (media_type, bytes) = &built.documents[0];
        descriptor(media_type, bytes, &platform)
    };
    let manifests: Vec<String> = children.iter().map(child).collect();
    let index = format!(
        r#"{{"schemaVersion":2,"mediaType":"{}","manifests":[{}]}}"#,
        types.index,
        manifests.join(",")
    );
    let mut built = Built {
        documents: vec![(types.index, index.into_bytes())],
        blobs: vec![],
    };
    for (_, child) in children {
        built.documents.extend(child.documents.iter().cloned());
        built.blobs.extend(child.blobs.iter().cloned());
    }
    built
}

/// Returns the key whose 32 bytes all have this value.
fn key(letters: &str) -> String {
    format!(
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI{letters}\n-----END PRIVATE KEY-----\n"
    )
}

fn sevens() -> String {
    key("AcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH")
}

fn eights() -> String {
    key("AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI")
}

fn info(name: &str, version: &str) -> StatementInfo {
    StatementInfo {
        id: SolutionId::new(name.parse().unwrap(), version.parse().unwrap()).unwrap(),
        time: StatementTime::DEFAULT,
        upgrade_from: None,
        expires: None,
        requires: vec![],
        optional: vec![],
    }
}

impl Case {
    fn new(
        reason: &'static str,
        info: StatementInfo,
        [archive_id, sha256]: [&'static str; 2],
    ) -> Self {
        Self {
            reason,
            info,
            images: vec![],
            contents: BTreeMap::new(),
            own: vec![],
            keys: vec![sevens()],
            archive_id,
            sha256,
        }
        .file(MANIFEST, "kind: Solution\n")
    }

    fn file(mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.own.push((path.to_owned(), bytes.into()));
        self
    }

    fn image(mut self, place: &str, reference: Option<&str>, built: &Built) -> Self {
        let mut documents = built
            .documents
            .iter()
            .map(|(_, bytes)| document(bytes.clone()));
        self.images.push(Image {
            place: place.parse().unwrap(),
            reference: reference.map(|reference| reference.parse().unwrap()),
            root: documents.next().unwrap(),
            children: documents.collect(),
            blobs: built.blobs.iter().map(|bytes| blob_size(bytes)).collect(),
            platforms: BTreeSet::new(),
        });
        let bytes = built.documents.iter().map(|(_, bytes)| bytes);
        let contents = bytes.chain(&built.blobs).cloned();
        self.contents
            .extend(contents.map(|bytes| (digest(&bytes), bytes)));
        self
    }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        smallest(),
        one_image(),
        operator(),
        platforms(),
        shared(),
        long_names(),
        every_field(),
    ]
}

fn smallest() -> Case {
    let mut case = Case::new(
        "no image, no operator, no signature: an index of nothing, two empty files, `[]`, every constant once",
        info("a", "0.0.0"),
        [
            "63dbcf1fac195efa236680e559a13da61a84d20f343ea89aa9d5cb01fc33eb5c",
            "29ae7d1416a21271668b3265cad8f319c4b951e8758a0b47f0c425fc31edcb0c",
        ],
    );
    case.keys.clear();
    case
}

fn one_image() -> Case {
    Case::new(
        "one image alone, as in a Solution without an operator: the two views, and where its contents lie",
        info("one-image", "1.2.3"),
        [
            "cc9d324211b3ce02bda5507abadf3e9ca662b7d0dbbc12eba44de4248904d409",
            "211f63af49df561e0fa8c3a5f899169f389ac7400fa4869be0368cb0c7345d8b",
        ],
    )
    .file(README, "read me\n")
    .image("app:1.2.3", None, &single(OCI, "amd64", &[noise(9000, 1), noise(4095, 2)]))
}

fn operator() -> Case {
    Case::new(
        "an operator's files come before the blobs, in path order; a file that is empty",
        info("example", "1.0.0"),
        [
            "843f2ef4ec4b3592c808a6328d59ee4d8f0292cebb4219309d5956c75e13e2db",
            "c8322d3877945e1d1c5f78676d66184be410d65648ea722ed716f311f1193615",
        ],
    )
    .file(README, "read me\n")
    .file(ROLE, "")
    .file(
        &format!("{CRDS}/b_crd.yaml"),
        "kind: CustomResourceDefinition\n",
    )
    .file(
        &format!("{CRDS}/a-b_crd.yaml"),
        "kind: CustomResourceDefinition # 2\n",
    )
    .image(
        "example-operator:1.0.0",
        Some("registry.example.test/example/operator:1.0.0"),
        &single(OCI, "amd64", &[noise(4096, 3)]),
    )
}

fn platforms() -> Case {
    let children = |types| {
        let base = noise(5000, 4);
        let child = |architecture, seed| {
            (
                architecture,
                single(types, architecture, &[base.clone(), noise(2049, seed)]),
            )
        };
        [child("amd64", 5), child("arm64", 6), child("s390x", 7)]
    };
    Case::new(
        "indexes of both families with their children, one inside another: names of children, digests that `manifests` \
         locations serve once",
        info("platforms", "2.0.0-rc.1"),
        [
            "4353cb56d8d1897de313dc38cf71219a2582fc398a3205d4c21177bfccbf8dc8",
            "a01ec2042b7e85bf2db856a03cfca93144632ef8169158346f2774442491f0fe",
        ],
    )
    .image("multi:2.0", None, &multi(OCI, &children(OCI)))
    .image("multi:2.0-docker", None, &multi(DOCKER, &children(DOCKER)))
    .image("nested:1", None, &multi(OCI, &[("amd64", multi(OCI, &children(OCI)))]))
}

fn shared() -> Case {
    let base = noise(70_000, 8);
    let app = single(OCI, "amd64", &[base.clone(), noise(3000, 9)]);
    Case::new(
        "contents that images share lie once, with all their links; one image under two tags; blobs of one size go by digest",
        info("shared", "1.0.0"),
        [
            "9bbf56e996ad6153286523a2bf8aed2ea0958a48076fa927fd4e1e05afa1f2c7",
            "89412730de04450e547887867335148c0aa5a0428193d40d1cc5e8d24a927380",
        ],
    )
    .image("app:1", Some("quay.test/app:1"), &app)
    .image("app:1.0", None, &app)
    .image("other:1", None, &single(OCI, "amd64", &[base.clone(), noise(3000, 10), noise(3000, 11)]))
    .image("twice:1", None, &single(DOCKER, "amd64", &[base.clone(), base]))
}

fn long_names() -> Case {
    let name = "n".repeat(48);
    let component = "c".repeat(103);
    let tag = "T".repeat(103);
    let built = single(OCI, "amd64", &[noise(10, 12)]);
    Case::new(
        "the longest Solution id, cut for both volume identifiers; the longest components and the deepest path; names that \
         clash when they are cut; dots, which patterns must take literally",
        info(&name, "1.2.3"),
        [
            "e911e2838bc07d5505765bb6b6c093a70d84f935c9b1acae6ebae387c93ed68e",
            "b80e6f2a7b3f81748a46f0b75e0f24054bed1b42e4ddf1d4f8f81129df76b59d",
        ],
    )
    .image(&format!("{component}:{tag}"), None, &built)
    .image(&format!("a/b/c/d/{component}:1"), None, &built)
    .image("dotted.name/with_under__scores:1.0", None, &built)
    .image(&format!("{}a:1", "x".repeat(102)), None, &built)
    .image(&format!("{}b:1", "x".repeat(102)), None, &built)
}

fn every_field() -> Case {
    let built = single(OCI, "amd64", &[noise(6000, 13)]);
    let mut case = Case::new(
        "every field of a statement and the last second there is; two signatures in the order of key ids; files under a name \
         of `optional`, one of them with the bytes of a document, which then lies among the files that are no blobs",
        StatementInfo {
            time: "2099-12-31T23:59:59Z".parse().unwrap(),
            upgrade_from: Some(">=0.9.0, <1.0.0".parse().unwrap()),
            expires: Some("2030-06-30T12:00:00Z".parse().unwrap()),
            optional: vec!["extra".to_owned(), "sbom".to_owned()],
            ..info("every-field", "1.0.0-rc.1")
        },
        [
            "12558b98c2f02b53eb81e4bed634aeba77bed8b10661cb6b3ebfb0e82ccbb73d",
            "4194af9e1212cc4d64eb410166cc973943c4a34792a6acfcf273b86af3f0bd7e",
        ],
    )
    .file("extra/copy.json", built.documents[0].1.clone())
    .file("sbom", "a file, not a directory\n")
    .image("app:1", None, &built);
    case.keys = vec![eights(), sevens()];
    case
}
