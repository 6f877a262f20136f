//! Heads that an earlier version of this program stored at a site while the format still had drafts. Nobody can sign
//! them again, so running versions, rollbacks and exports still depend on them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{Blobs, Medium};
use progress::Cancel;
use schemas::{Capability, Digest};
use serde_json::Value;
use store::{Record, RecordedImage, RegistryArchive};
use validator::PriorAcceptance;

/// The capabilities that these archives require, drafts and others.
const DRAFTS: [&str; 4] = [
    "charts-0.1.0",
    "manifests-0.1.0",
    "operator-template-0.1.0",
    "programs-0.1.0",
];

fn data(path: &str) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/85c7835");
    data.join(path)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The blobs of a registry in the form of an OCI image layout.
#[derive(Debug)]
struct Registry(BTreeMap<Digest, Vec<u8>>);

impl Registry {
    fn read() -> Self {
        let blobs = fs::read_dir(data("registry/blobs/sha256")).unwrap();
        let blob = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.unwrap();
            let digest = format!("sha256:{}", entry.file_name().to_str().unwrap());
            (digest.parse().unwrap(), fs::read(entry.path()).unwrap())
        };
        Self(blobs.map(blob).collect())
    }
}

impl Blobs for Registry {
    fn read_exact_at(&self, blob: &Digest, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.0.get(blob).ok_or(io::ErrorKind::NotFound)?;
        let from = usize::try_from(offset).unwrap();
        buf.copy_from_slice(&bytes[from..from + buf.len()]);
        Ok(())
    }
}

/// Returns the record of a version at the site.
fn record(version: &str) -> Record {
    let records = json(&data("records.json"));
    let mut records = records["items"].as_array().unwrap().iter();
    let name = format!("solution-shop-{version}");
    let map = records.find(|map| map["metadata"]["name"] == name.as_str());
    let text = map.unwrap()["data"]["record.json"].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

/// Returns the head of a version in the registry: the only layer of the artifact that its tag refers to.
fn head(record: &Record) -> PathBuf {
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap();
        data("registry/blobs").join(digest.replace(':', "/"))
    };
    let id = record.archive_id.to_string();
    let tag = format!("{}:archive-{}", record.id(), &id["sha256:".len()..]);
    let index = json(&data("registry/index.json"));
    let mut tags = index["manifests"].as_array().unwrap().iter();
    let name = "org.opencontainers.image.ref.name";
    let tag = tags.find(|descriptor| descriptor["annotations"][name] == tag.as_str());
    let manifest = json(&blob(tag.unwrap()));
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    blob(&manifest["layers"][0])
}

fn medium(record: &Record) -> Medium {
    let head = head(record);
    let file = File::open(&head).unwrap();
    Medium::of_head(file, head, Arc::new(Registry::read())).unwrap()
}

fn requires(capabilities: &[Capability]) -> Vec<&str> {
    capabilities.iter().map(Capability::as_str).collect()
}

#[test]
fn a_head_of_drafts_is_accepted_as_the_archive_that_its_record_names() {
    for version in ["1.0.0", "1.1.0"] {
        let record = record(version);
        let before = PriorAcceptance {
            archive_id: record.archive_id,
            signers: record.signers.clone(),
        };
        let report = validator::check_accepted(medium(&record), before, Cancel::never()).unwrap();
        let accepted = report.accept().unwrap();
        let statement = &accepted.statement().predicate;
        assert_eq!(requires(&statement.requires), DRAFTS);
        assert_eq!(statement.id.to_string(), record.id());
        assert_eq!(accepted.manifest(), &record.manifest);
        let images: Vec<_> = accepted.images().iter().map(RecordedImage::from).collect();
        assert_eq!(images, record.images);
        let sets = accepted.sets().iter().map(|set| set.set.name.as_str());
        assert_eq!(sets.collect::<Vec<_>>(), ["base", "app", "extra", "bye"]);
        assert_eq!(accepted.charts().len(), 1);
    }
}

#[test]
fn a_head_of_drafts_is_listed_to_be_exported() {
    let record = record("1.0.0");
    let kept = RegistryArchive {
        id: "shop-1.0.0".parse().unwrap(),
        archive_id: record.archive_id,
        signatures: None,
    };
    let head = kept.validate(medium(&record), Cancel::never()).unwrap();
    let head = head.unwrap();
    assert_eq!(head.signed_by, record.signers);
    let program = head.listed.read("bin/helm-linux-arm64", 1 << 20).unwrap();
    assert!(program.starts_with(b"\x7fELF"));
    let again = head.listed.head(Cancel::never()).unwrap();
    let kept = fs::metadata(self::head(&record)).unwrap().len();
    assert_eq!(again.size(), kept);
}
