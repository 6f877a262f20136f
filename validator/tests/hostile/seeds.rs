//! Checks that the parsers accept the seeds of their fuzz targets: fuzzing from rejected input finds little.

use std::fs;
use std::path::PathBuf;

use manifests::ManifestFile;
use schemas::{
    Contents, Envelope, ImageDocument, Solution, SolutionSource, Statement, TrustPolicy, yaml,
};
use signing::{PublicKey, SecretKey};

use crate::subject::trust;

/// Returns the seeds of a target and their names.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds");
    let directory = PathBuf::from(seeds).join(target);
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(path).unwrap())
    };
    let seeds: Vec<_> = fs::read_dir(directory).unwrap().map(read).collect();
    assert!(!seeds.is_empty(), "{target}");
    seeds
}

#[test]
fn every_seed_is_accepted() {
    for (name, bytes) in seeds("contents") {
        assert!(Contents::from_slice(&bytes).is_ok(), "{name}");
    }
    for (name, bytes) in seeds("statement") {
        assert!(Statement::from_slice(&bytes).is_ok(), "{name}");
    }
    for (name, bytes) in seeds("image_document") {
        assert!(ImageDocument::from_slice(&bytes).is_ok(), "{name}");
    }
    for (name, bytes) in seeds("manifests") {
        let files = [ManifestFile {
            name: name.clone(),
            bytes,
        }];
        assert!(!manifests::parse(&files).unwrap().all.is_empty(), "{name}");
    }
    for (name, mut bytes) in seeds("envelope") {
        bytes.resize(schemas::limits::ENVELOPE_SIZE - 1, b' ');
        bytes.push(b'\n');
        let envelope = Envelope::from_slice(&bytes).unwrap();
        let signed = signing::verify(&envelope, &trust()).is_ok();
        assert_eq!(signed, name == "signed", "{name}");
    }
    for (name, bytes) in seeds("keys") {
        let text = String::from_utf8(bytes).unwrap();
        let public = PublicKey::from_pem(&text).is_ok();
        let secret = SecretKey::from_pem(&text).is_ok();
        assert!(public != secret, "{name}");
    }
    for (name, bytes) in seeds("yaml") {
        assert!(!yaml::documents(&bytes).unwrap().is_empty(), "{name}");
        match name.as_str() {
            "source.yaml" => assert!(SolutionSource::from_slice(&bytes).is_ok()),
            "manifest.yaml" => assert!(Solution::from_slice(&bytes).is_ok()),
            "policy.yaml" => assert!(TrustPolicy::from_slice(&bytes).is_ok()),
            _ => {}
        }
    }
}
