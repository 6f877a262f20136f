//! Tests of images that skopeo and podman write. All of their file transports result in the same archive, and both
//! programs can read the layers that packing compresses.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

use fixtures::artifact;
use fixtures::image::{Artifact, Format, ImageBuilder, Index, Platform};
use fixtures::layer::Layer;
use fixtures::layout::{self, OciLayout};
use fixtures::saved::{self, Names, Saved};
use packager::{ChartRenderer, PackReport, PackRequest, Signing, pack};
use progress::{Cancel, Watch};
use schemas::StatementTime;
use sources::{CacheOptions, Compression};

fn skopeo_copy(directory: &Path, options: &[&str], from: &str, to: &str) {
    let output = Command::new("skopeo")
        .args(["--insecure-policy", "copy"])
        .args(options)
        .args([from, to])
        .current_dir(directory)
        .output()
        .expect("skopeo is installed");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{talk}");
}

fn index(format: Format) -> Artifact {
    let image = |architecture: &str| {
        ImageBuilder::new()
            .format(format)
            .platform(Platform::linux(architecture))
            .layer(Layer::random(1, 50_000))
            .file("/app", architecture, 0o755)
            .build()
    };
    Index::new(format, vec![image("amd64"), image("arm64")]).into()
}

fn pack_from(directory: &Path, source: &str) -> PackReport {
    compress_from(directory, source, Compression::None)
}

fn compress_from(directory: &Path, source: &str, compression: Compression) -> PackReport {
    let text = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: demo}}
spec:
  version: 1.0.0
  images: [{{name: app, tag: '1', {source}}}]
"
    );
    fs::write(directory.join("solution.yaml"), text).unwrap();
    let request = PackRequest {
        directory: directory.to_owned(),
        output: directory.join("demo.iso"),
        overwrite: archive::Overwrite::Replace,
        compression,
        signing: Signing::Unsigned,
        time: StatementTime::DEFAULT,
        now: StatementTime::DEFAULT,
        judging: validator::FindingRules::default(),
        threads: NonZeroUsize::MIN,
        cache: CacheOptions {
            directory: directory.join("cache"),
            unpack_limit: sources::UNPACK_LIMIT,
        },
        with_referrers: false,
        remote: sources::Remote::default(),
        renderer: ChartRenderer::Nothing,
        keyring: None,
        programs: Vec::new(),
        documentation: None,
        sboms: None,
        scratch: directory.to_owned(),
    };
    pack(&request, &Watch::silent(Cancel::never())).unwrap()
}

#[test]
fn copies_of_skopeo_are_packed_alike() {
    for format in [Format::Oci, Format::Docker] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let layout = OciLayout::create(path.join("ours")).unwrap();
        layout
            .add(&index(format), Some("1"))
            .unwrap()
            .finish()
            .unwrap();
        // skopeo does not support Docker's media types in an OCI layout.
        layout::write_dir(&path.join("given"), &index(format)).unwrap();
        skopeo_copy(path, &["--all"], "dir:given", "dir:flat");
        let ours = pack_from(path, "source: 'oci:ours'");
        assert_eq!(
            pack_from(path, "source: 'dir:flat'").archive_id,
            ours.archive_id
        );
        if format == Format::Oci {
            skopeo_copy(path, &["--all"], "oci:ours:1", "oci:theirs:x/y:1");
            assert_eq!(
                pack_from(path, "source: 'oci:theirs:x/y:1'").archive_id,
                ours.archive_id
            );
        }
        let arm = pack_from(path, "source: 'dir:flat', platforms: [linux/arm64]");
        assert_eq!((ours.blobs, arm.blobs), (5, 3));
    }
}

/// Runs a program in a directory, and returns its output.
fn run(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap_or_else(|error| {
            panic!("`{program}`: {error}; `scripts/install-tools` installs it")
        });
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {talk}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs podman with a separate store, which needs neither a service nor kernel support.
fn podman(directory: &Path, arguments: &[&str]) -> String {
    let store = [
        "--root",
        "store",
        "--runroot",
        "run",
        "--storage-driver",
        "vfs",
    ];
    let quiet = ["--events-backend", "none", "--cgroup-manager", "cgroupfs"];
    run(
        directory,
        "podman",
        &[&store[..], &quiet, arguments].concat(),
    )
}

fn words() -> Vec<u8> {
    let numbers = 0..800_000_u32;
    numbers
        .flat_map(|number| number.to_string().into_bytes())
        .collect()
}

fn saved_image() -> Saved {
    let words = words();
    assert!(words.len() > 4 * 1024 * 1024, "more than one block");
    Saved {
        tags: vec!["r.test/app:1".to_owned()],
        layers: vec![saved::layer("words", &words), saved::layer("app", b"app")],
        comment: String::new(),
    }
}

#[test]
fn what_podman_saves_is_packed_as_what_it_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    saved::docker_archive(&path.join("ours.tar"), &[saved_image()], Names::Blobs).unwrap();
    podman(path, &["load", "--input", "ours.tar"]);
    podman(path, &["save", "--output", "docker.tar", "r.test/app:1"]);
    let oci = [
        "save",
        "--format",
        "oci-archive",
        "--output",
        "oci.tar",
        "r.test/app:1",
    ];
    podman(path, &oci);
    let ours = pack_from(path, "source: 'docker-archive:ours.tar'");
    let theirs = pack_from(path, "source: 'docker-archive:docker.tar:r.test/app:1'");
    assert_eq!(theirs.archive_id, ours.archive_id);
    // podman compresses layers and writes its own configuration here.
    let packed = pack_from(path, "source: 'oci-archive:oci.tar'");
    assert_eq!(packed.blobs, ours.blobs);
    let unpacked = pack_from(path, "source: 'oci-archive:oci.tar:r.test/app:1'");
    assert_eq!(unpacked.archive_id, packed.archive_id);
}

#[test]
fn what_skopeo_archives_is_packed_as_what_it_copied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let layout = OciLayout::create(path.join("ours")).unwrap();
    let layout = layout.add(&index(Format::Oci), Some("1")).unwrap();
    layout.finish().unwrap();
    skopeo_copy(
        path,
        &["--all"],
        "oci:ours:1",
        "oci-archive:oci.tar:r.test/app:1",
    );
    let ours = pack_from(path, "source: 'oci:ours:1', ref: 'r.test/app:1'");
    let theirs = pack_from(path, "source: 'oci-archive:oci.tar'");
    assert_eq!(theirs.archive_id, ours.archive_id);
    skopeo_copy(
        path,
        &[],
        "oci:ours:1",
        "docker-archive:docker.tar:r.test/app:1",
    );
    let one = pack_from(path, "source: 'docker-archive:docker.tar'");
    assert_eq!(one.blobs, 3);
}

#[test]
fn others_unpack_what_was_compressed() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let image = saved_image();
        saved::docker_archive(
            &path.join("ours.tar"),
            std::slice::from_ref(&image),
            Names::Blobs,
        )
        .unwrap();
        let packed = compress_from(path, "source: 'docker-archive:ours.tar'", compression);
        assert!(packed.blob_bytes < image.layers[0].len() as u64 * 3 / 5);
        let unpack = [
            "-osirrox", "on", "-indev", "demo.iso", "-extract", "/", "mounted",
        ];
        run(path, "xorriso", &unpack);
        // Copying compares digests; podman also compares the decompressed layers with the configuration.
        skopeo_copy(path, &[], "oci:mounted:app:1", "dir:copy");
        podman(path, &["pull", "oci:mounted:app:1"]);
        let id = podman(path, &["images", "--quiet", "--no-trunc"]);
        let mounted = podman(path, &["image", "mount", id.trim()]);
        let unpacked = fs::read(Path::new(mounted.trim()).join("words")).unwrap();
        podman(path, &["image", "umount", id.trim()]);
        assert!(unpacked == words(), "{compression:?}: the file differs");
    }
}

#[test]
fn skopeo_copies_artifacts_out_of_an_archive() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for document in [artifact::dashboards(), artifact::policy()] {
        let layout = OciLayout::create(path.join("ours")).unwrap();
        layout
            .add_document(&document, None)
            .unwrap()
            .finish()
            .unwrap();
        pack_from(path, "source: 'oci:ours'");
        let unpack = [
            "-osirrox", "on", "-indev", "demo.iso", "-extract", "/", "mounted",
        ];
        run(path, "xorriso", &unpack);
        skopeo_copy(
            path,
            &["--preserve-digests"],
            "oci:mounted:app:1",
            "oci:theirs:1",
        );
        let raw = run(path, "skopeo", &["inspect", "--raw", "oci:theirs:1"]);
        assert_eq!(raw.into_bytes(), document.bytes);
        fs::remove_dir_all(path.join("mounted")).unwrap();
        fs::remove_dir_all(path.join("theirs")).unwrap();
    }
}
