//! Archives that earlier versions of this program wrote are at sites: they stay valid, and what is written now is what
//! was written then.

use std::io::Read as _;

use archive::{Destination, Opened, Signable};
use flate2::read::GzDecoder;
use signing::PublicKey;

use crate::common::Desk;
use crate::stages;

const KEY: &str = include_str!("../data/format-1/publisher.pub");
const ARCHIVE_ID: &str = "sha256:0e0b83fd25eddbbef86d381c4f1b80ba7f9fc89d84bee336b2dae96655b881af";

/// A desk with the archive that was written when format 1 was frozen, and its publisher's key.
fn format_1() -> Desk {
    let compressed = include_bytes!("../data/format-1/archive.iso.gz").as_slice();
    let mut image = Vec::new();
    GzDecoder::new(compressed).read_to_end(&mut image).unwrap();
    let desk = Desk::new();
    desk.write("example.iso", image);
    desk.write("publisher.pub", KEY);
    desk
}

#[test]
fn the_first_archive_of_format_1_is_accepted_without_a_finding() {
    let report = format_1().report(&["--key", "publisher.pub"], 0);
    assert_eq!(report["verdict"], "accepted");
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(report["archiveId"], ARCHIVE_ID);
    assert_eq!(report["files"], 48);
}

#[test]
fn the_first_archive_of_format_1_is_made_again_to_the_byte() {
    let desk = format_1();
    let (first, again) = (desk.path("example.iso"), desk.path("again.iso"));
    let listed = stages::list(&first);
    let unsigned = stages::unsigned(stages::info(&listed), stages::files(&listed));
    stages::write(unsigned.leave_unsigned(), &again);
    // Its secret key is gone, but a signature by it is there.
    let opened = Opened::open(&first).unwrap();
    let signature = opened.envelope().signatures().next().unwrap();
    let key = PublicKey::from_pem(KEY).unwrap();
    let mut signable = Signable::open(&again, Destination::Inside).unwrap();
    signable.attach(&key, signature.bytes).unwrap();
    signable.write().unwrap();
    assert!(
        desk.read("again.iso") == desk.read("example.iso"),
        "the bytes of format 1 were changed"
    );
}
