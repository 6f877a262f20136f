//! Archives that earlier versions of this program wrote are at sites: they stay valid, and what is written now is what
//! was written then.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use archive::{Destination, Opened, Signable};
use flate2::read::GzDecoder;
use signing::PublicKey;

use crate::common::Desk;
use crate::stages;

/// An archive that was written once, and its publisher's key.
struct Earlier {
    archive: &'static [u8],
    key: &'static str,
}

/// When format 1 was frozen.
const FORMAT_1: Earlier = Earlier {
    archive: include_bytes!("../data/format-1/archive.iso.gz"),
    key: include_str!("../data/format-1/publisher.pub"),
};

/// With sets of objects.
const MANIFESTS: Earlier = Earlier {
    archive: include_bytes!("../data/manifests-0.1.0/archive.iso.gz"),
    key: include_str!("../data/manifests-0.1.0/publisher.pub"),
};

/// With Helm charts.
const CHARTS: Earlier = Earlier {
    archive: include_bytes!("../data/charts-0.1.0/archive.iso.gz"),
    key: include_str!("../data/charts-0.1.0/publisher.pub"),
};

impl Earlier {
    /// A desk with the archive and the key.
    fn desk(&self) -> Desk {
        let mut image = Vec::new();
        GzDecoder::new(self.archive)
            .read_to_end(&mut image)
            .unwrap();
        let desk = Desk::new();
        desk.write("example.iso", image);
        desk.write("publisher.pub", self.key);
        desk
    }

    /// Makes the archive again from what it says.
    fn assert_made_again(&self) {
        let desk = self.desk();
        let (first, again) = (desk.path("example.iso"), desk.path("again.iso"));
        let listed = stages::list(&first);
        let unsigned = stages::unsigned(stages::info(&listed), stages::files(&listed));
        stages::write(unsigned.leave_unsigned(), &again);
        // Its secret key is gone, but a signature by it is there.
        let opened = Opened::open(&first).unwrap();
        let signature = opened.envelope().signatures().next().unwrap();
        let key = PublicKey::from_pem(self.key).unwrap();
        let mut signable = Signable::open(&again, Destination::Inside).unwrap();
        signable.attach(&key, signature.bytes).unwrap();
        signable.write().unwrap();
        assert!(
            desk.read("again.iso") == desk.read("example.iso"),
            "the bytes of the format were changed"
        );
    }
}

fn assert_accepted(desk: &Desk, archive_id: &str, files: u64) {
    let report = desk.report(&["--key", "publisher.pub"], 0);
    assert_eq!(report["verdict"], "accepted");
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(report["archiveId"], archive_id);
    assert_eq!(report["files"], files);
}

#[test]
fn the_first_archive_of_format_1_is_accepted_without_a_finding() {
    let id = "sha256:0e0b83fd25eddbbef86d381c4f1b80ba7f9fc89d84bee336b2dae96655b881af";
    assert_accepted(&FORMAT_1.desk(), id, 48);
}

#[test]
fn the_first_archive_of_format_1_is_made_again_to_the_byte() {
    FORMAT_1.assert_made_again();
}

#[test]
fn the_archive_with_sets_of_objects_is_accepted_without_a_finding() {
    let id = "sha256:b6b220a02c2833c106cfb26ac4deec68d3e94543115d1ccd3b9d9e36cc1d2d0d";
    assert_accepted(&MANIFESTS.desk(), id, 30);
}

#[test]
fn the_archive_with_sets_of_objects_is_made_again_to_the_byte() {
    MANIFESTS.assert_made_again();
}

#[test]
fn the_archive_with_charts_is_accepted_without_a_finding() {
    let id = "sha256:7eb568f35a15fb5fdd25feb5e5677d7af07a78b285051c41bab5ed04052e08c8";
    assert_accepted(&CHARTS.desk(), id, 24);
}

#[test]
fn the_archive_with_charts_is_made_again_to_the_byte() {
    CHARTS.assert_made_again();
}

/// Packs what lies beside an earlier archive, with its images, and compares the files of both.
fn assert_packed_again(earlier: &Earlier, beside: &str, contains: &str) {
    let desk = earlier.desk();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    copy(&data.join(beside), &desk.path("source"));
    let first = stages::list(&desk.path("example.iso"));
    for file in stages::files(&first) {
        let path = file.path.as_str();
        if let Some(image) = path.strip_prefix("images/") {
            let bytes = first.read(path, 1 << 30).unwrap();
            desk.write(&format!("source/images/{image}"), bytes);
        }
    }
    desk.solution(&[
        "pack",
        "source",
        "-o",
        "again.iso",
        "--unsigned",
        "--no-render",
    ])
    .success();
    let again = stages::list(&desk.path("again.iso"));
    let made = |listed: &archive::Listed| {
        let files = listed.contents().entries().iter();
        let files = files.map(|entry| (entry.path.to_string(), entry.digest));
        files.collect::<Vec<_>>()
    };
    let (first, again) = (made(&first), made(&again));
    assert!(first.iter().any(|(path, _)| path.starts_with(contains)));
    assert_eq!(again, first);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let to = to.join(from.file_name().unwrap());
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// What compiling and patching make of a release is part of the format as much as where it lies.
#[test]
fn the_objects_of_the_archive_are_made_again_from_their_release() {
    assert_packed_again(&MANIFESTS, "manifests-0.1.0", "manifests/gate/0002-");
}

/// So is what packaging makes of a chart's directory, and merging of values.
#[test]
fn the_charts_of_the_archive_are_made_again_from_their_directory() {
    assert_packed_again(&CHARTS, "charts-0.1.0", "charts/front/values.yaml");
}
