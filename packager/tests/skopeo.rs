//! What skopeo writes is read, from both of its directory transports, and gives the same archive.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use fixtures::image::{Artifact, Format, ImageBuilder, Index, Platform};
use fixtures::layer::Layer;
use fixtures::layout::{self, OciLayout};
use packager::{Packed, Request, Signing, pack};
use schemas::StatementTime;

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

fn pack_from(directory: &Path, source: &str) -> Packed {
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
    let request = Request {
        directory: directory.to_owned(),
        output: directory.join("demo.iso"),
        overwrite: archive::Overwrite::Replace,
        signing: Signing::Unsigned,
        time: StatementTime::DEFAULT,
        threads: NonZeroUsize::MIN,
        cache: directory.join("cache"),
    };
    pack(&request, &|_| {}, &AtomicBool::new(false)).unwrap()
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
        // skopeo does not look for Docker's media types in an OCI layout.
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
