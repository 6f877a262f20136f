//! Archives of earlier versions of this program remain valid, and the current version writes the same bytes.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use archive::{Destination, OpenedArchive, SignableArchive, StatementInfo};
use flate2::read::GzDecoder;
use signing::PublicKey;

use crate::common::Desk;
use crate::stages;

/// A recorded archive, and its publisher's key.
struct Earlier {
    archive: &'static [u8],
    key: &'static str,
}

/// The archive that was recorded when format 1 was frozen.
const FORMAT_1: Earlier = Earlier {
    archive: include_bytes!("../data/format-1/archive.iso.gz"),
    key: include_str!("../data/format-1/publisher.pub"),
};

/// An archive with manifests.
const MANIFESTS: Earlier = Earlier {
    archive: include_bytes!("../data/manifests-1.0.0/archive.iso.gz"),
    key: include_str!("../data/manifests-1.0.0/publisher.pub"),
};

/// An archive with Helm charts.
const CHARTS: Earlier = Earlier {
    archive: include_bytes!("../data/charts-1.0.0/archive.iso.gz"),
    key: include_str!("../data/charts-1.0.0/publisher.pub"),
};

/// An archive with an operator's template, prerequisites, a program and a referrer.
const CAPABILITIES: Earlier = Earlier {
    archive: include_bytes!("../data/capabilities-1.0.0/archive.iso.gz"),
    key: include_str!("../data/capabilities-1.0.0/publisher.pub"),
};

impl Earlier {
    /// Returns a desk with the archive and the key.
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

    /// Writes the archive again from its own content.
    fn assert_made_again(&self) {
        let desk = self.desk();
        let (first, again) = (desk.path("example.iso"), desk.path("again.iso"));
        let listed = stages::list(&first);
        let unsigned = stages::unsigned(stages::statement_info(&listed), stages::files(&listed));
        stages::write(unsigned.leave_unsigned(), &again);
        // The secret key no longer exists, but its signature does.
        let opened = OpenedArchive::open(&first).unwrap();
        let signature = opened.envelope().signatures().next().unwrap();
        let key = PublicKey::from_pem(self.key).unwrap();
        let mut signable = SignableArchive::open(&again, Destination::Inside).unwrap();
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
    // Practices are reported as well, and block nothing.
    let findings = report["findings"].as_array().unwrap().iter();
    let is_practice = |id: &str| id.starts_with("practice.");
    let mut others = findings.filter(|finding| !is_practice(finding["id"].as_str().unwrap()));
    assert_eq!(others.next(), None);
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
    let id = "sha256:65a17b176c894414deaa98dc3a5122c41f73bb31cfab586d3ecbde2a907a4693";
    assert_accepted(&MANIFESTS.desk(), id, 30);
}

#[test]
fn the_archive_with_sets_of_objects_is_made_again_to_the_byte() {
    MANIFESTS.assert_made_again();
}

#[test]
fn the_archive_with_charts_is_accepted_without_a_finding() {
    let id = "sha256:fb9fd8b91d629ce4de5ff1704e0ca55410e1f213a72e616384fe0cb5502acd46";
    assert_accepted(&CHARTS.desk(), id, 24);
}

#[test]
fn the_archive_with_charts_is_made_again_to_the_byte() {
    CHARTS.assert_made_again();
}

#[test]
fn the_archive_with_the_other_capabilities_is_accepted_without_a_finding() {
    let id = "sha256:c85a79ba11710aab6846cabe88d235ff65dc4df650f443404727b13c2cb7f72e";
    assert_accepted(&CAPABILITIES.desk(), id, 39);
}

#[test]
fn the_archive_with_the_other_capabilities_is_made_again_to_the_byte() {
    CAPABILITIES.assert_made_again();
}

/// The draft of a capability is accepted only in a site's own records.
#[test]
fn an_archive_with_a_draft_is_to_be_packed_again() {
    let desk = MANIFESTS.desk();
    let listed = stages::list(&desk.path("example.iso"));
    let info = StatementInfo {
        requires: vec!["manifests-0.1.0".parse().unwrap()],
        ..stages::statement_info(&listed)
    };
    let unsigned = stages::unsigned(info, stages::files(&listed));
    stages::write(unsigned.leave_unsigned(), &desk.path("draft.iso"));
    let validate = ["validate", "draft.iso", "--skip-signature"];
    let push = [
        "push",
        "draft.iso",
        "--allow-unsigned=shop-1.0.0",
        "--registry=r.test",
    ];
    for command in [&validate[..], &push] {
        let refused = desk.solution(command).failure(1);
        for words in [
            "container.draft",
            "the archive requires `manifests-0.1.0`, a draft",
            "pack it again with this version of `solution`",
        ] {
            assert!(refused.contains(words), "{refused}");
        }
    }
    // The content can still be inspected.
    desk.solution(&["inspect", "draft.iso"]).success();
}

/// Packs the sources next to a recorded archive, with its images, and compares the files of both.
fn assert_packed_again(earlier: &Earlier, beside: &str, flags: &[&str], contains: &str) {
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
    let pack = [
        "pack",
        "source",
        "-o",
        "again.iso",
        "--unsigned",
        "--no-render",
    ];
    desk.solution(&[&pack[..], flags].concat()).success();
    let again = stages::list(&desk.path("again.iso"));
    let made = |listed: &archive::ListedArchive| {
        let files = listed.contents().entries().iter();
        // Readers never compare the README, and later versions may improve it.
        let files = files.filter(|entry| entry.path.as_str() != archive::README);
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

/// The results of compiling and patching a release are part of the format, like the layout.
#[test]
fn the_objects_of_the_archive_are_made_again_from_their_release() {
    let contains = "manifests/gate/0002-";
    assert_packed_again(&MANIFESTS, "manifests-1.0.0", &[], contains);
}

/// The results of packaging a chart's directory and of merging values are part of the format too.
#[test]
fn the_charts_of_the_archive_are_made_again_from_their_directory() {
    let contains = "charts/front/values.yaml";
    assert_packed_again(&CHARTS, "charts-1.0.0", &[], contains);
}

/// The content for a program and for an image's referrers is part of the format too.
#[test]
fn the_programs_and_referrers_of_the_archive_are_made_again() {
    let flags = ["--with-referrers", "--include-tool", "1.0.0=source/program"];
    let contains = "images/programs/solution/1.0.0/";
    assert_packed_again(&CAPABILITIES, "capabilities-1.0.0", &flags, contains);
}
