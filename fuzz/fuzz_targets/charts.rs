//! Archives of Helm charts: if a chart is accepted, its artifact is valid for readers of images. The fuzzer decides
//! names, kinds and contents of the entries. A quarter of the inputs are used as the tar itself.
#![no_main]

use std::io::Write as _;

use charts::Chart;
use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use schemas::{Digest, Document};
use sha2::{Digest as _, Sha256};
use solution_fuzz::Choices;

const BLOCK: usize = 512;
const KINDS: &[u8] = b"000000\05xxLg12K";
const NAMES: [&str; 10] = [
    "web/Chart.yaml",
    "web/Chart.yaml",
    "web/values.yaml",
    "web/values.schema.json",
    "web/requirements.yaml",
    "web/templates/a.yaml",
    "web/charts/db/Chart.yaml",
    "web/charts/db.tgz",
    "web/crds/a.yaml",
    "web/../a",
];

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let tar = match choices.byte() % 4 {
        0 => bytes[1.min(bytes.len())..].to_vec(),
        _ => tar(&mut choices),
    };
    let archive = gzip(&tar);
    let Ok(chart) = Chart::read(&archive) else {
        return;
    };
    let artifact = chart.artifact(&archive);
    let digest = Digest::new(Sha256::digest(&artifact.manifest).into());
    let (document, _) = Document::read(digest, artifact.manifest.clone())
        .expect("the manifest of an artifact is one of the image specification");
    assert_eq!(document.digest, artifact.digest());
    let config: serde_json::Value =
        serde_json::from_slice(&artifact.config).expect("a configuration is JSON");
    assert_eq!(config["name"], chart.name.as_str());
    assert!(chart.stored_size(&serde_json::Map::new()) > 0);
});

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all(bytes)
        .expect("writing to memory does not fail");
    gzip.finish().expect("writing to memory does not fail")
}

/// Returns a tar that mostly begins with a valid `Chart.yaml`.
fn tar(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut tar = Vec::new();
    if !choices.byte().is_multiple_of(8) {
        let good = b"apiVersion: v2\nname: web\nversion: 1.0.0\n";
        let len = usize::from(choices.byte());
        let more = choices.bytes(len);
        append(&mut tar, b'0', b"web/Chart.yaml", &[good, more].concat());
    }
    while !choices.is_empty() {
        let kind = KINDS[usize::from(choices.byte()) % KINDS.len()];
        let name = match usize::from(choices.byte()) {
            known if known < 128 => NAMES[known % NAMES.len()].as_bytes(),
            other => choices.bytes(other % 32),
        };
        let len = usize::from(choices.byte());
        let content = choices.bytes(len);
        append(&mut tar, kind, name, content);
    }
    tar.resize(tar.len() + 2 * BLOCK, 0);
    tar
}

fn append(tar: &mut Vec<u8>, kind: u8, name: &[u8], content: &[u8]) {
    let mut block = vec![0; BLOCK];
    block[..name.len()].copy_from_slice(name);
    block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let sum = sum + 8 * u32::from(b' ');
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar.extend(&block);
    tar.extend(content);
    tar.resize(tar.len().next_multiple_of(BLOCK), 0);
}
