//! Sources that unpack to very much data, and a cache that other users could write to.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use fixtures::saved::{self, Names, Saved};
use flate2::write::GzEncoder;

use crate::common::Desk;

/// The size of the layer of zeros, in bytes.
const LARGE: usize = 20_000_000;

/// Returns a desk with a saved image whose compressed layers are small.
fn desk() -> Desk {
    let desk = Desk::with_key();
    let saved = Saved {
        layers: vec![saved::layer("zeros", &vec![0; LARGE])],
        ..Saved::default()
    };
    fs::create_dir(desk.path("source")).unwrap();
    saved::docker_archive(&desk.path("app.tar"), &[saved], Names::Blobs).unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&desk.read("app.tar")).unwrap();
    desk.write("source/app.tgz", encoder.finish().unwrap());
    desk.write(
        "source/solution.yaml",
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: demo}
spec:
  version: 1.0.0
  images:
  - {name: app, tag: '1', source: 'docker-archive:app.tgz'}
",
    );
    desk
}

const PACK: [&str; 8] = [
    "pack",
    "source",
    "-o",
    "example.iso",
    "--key",
    "publisher.key",
    "--cache-dir",
    "cache",
];

fn pack_with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&PACK[..], more].concat()
}

#[test]
fn a_source_that_unpacks_to_more_than_is_allowed_is_refused_and_leaves_nothing() {
    let desk = desk();
    let packed = fs::metadata(desk.path("source/app.tgz")).unwrap().len();
    let text = desk
        .solution(&pack_with(&["--unpack-limit", "5M"]))
        .failure(1);
    let words = format!(
        "source/app.tgz` has {packed} bytes, and unpacks to more than 5000000; all sources together may unpack to 5000000"
    );
    assert!(text.contains(&words), "{text}");
    assert!(text.contains("--unpack-limit"), "{text}");
    assert!(!desk.path("example.iso").exists());
    for name in ["contents", "new", "partial", "derived"] {
        let left = fs::read_dir(desk.path("cache").join(name)).unwrap();
        assert_eq!(left.count(), 0, "{name}");
    }
    let text = desk
        .solution(&pack_with(&["--unpack-limit", "5 M"]))
        .failure(2);
    assert!(text.contains("`10Gi`"), "{text}");
    desk.solution(&pack_with(&["--unpack-limit", "30M"]))
        .success();
    desk.report(&["--key", "publisher.pub"], 0);
}

#[test]
fn a_cache_that_others_could_write_to_is_not_used() {
    let desk = desk();
    let cache = desk.path("cache");
    fs::create_dir(&cache).unwrap();
    for bad in [0o770, 0o707, 0o1777] {
        fs::set_permissions(&cache, Permissions::from_mode(bad)).unwrap();
        let text = desk.solution(&PACK).failure(1);
        let words = format!("cache` is writable by other users (mode {bad:04o})");
        assert!(text.contains("cannot trust the cache in `cache`"), "{text}");
        assert!(text.contains(&words), "{text}");
        assert!(text.contains("--cache-dir"), "{text}");
    }
    fs::set_permissions(&cache, Permissions::from_mode(0o755)).unwrap();
    desk.solution(&PACK).success();
}
