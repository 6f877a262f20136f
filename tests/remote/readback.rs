//! `solution registry verify` with a real registry whose storage loses and alters bytes.

use std::fs;

use crate::common::{Answer, Desk, results};
use crate::server::{Protection, Server};
use crate::setup::{LARGE, REF, desk_with_two_images, image, large, push};

const KEY: [&str; 2] = ["--key", "publisher.pub"];

/// Returns a desk with `images.iso` (two images that share layers), and a registry that has them.
fn desk() -> (Desk, Server) {
    let desk = desk_with_two_images(REF);
    let server = Server::start(&Protection::None);
    let registry = server.host();
    let to = ["--registry", &registry];
    let import = [&["push", "images.iso"][..], &KEY, &to].concat();
    desk.solution(&import).success();
    (desk, server)
}

fn run_verify(desk: &Desk, server: &Server, what: &[&str], more: &[&str]) -> Answer {
    let registry = server.host();
    let at = ["--registry", &registry];
    desk.solution(&[&["registry", "verify"][..], what, &KEY, &at, more].concat())
}

const ARCHIVE: &[&str] = &["images.iso"];
const KEPT: &[&str] = &["shop", "1.0.0"];

#[test]
fn every_byte_is_read_by_the_archive_or_by_its_head() {
    let (desk, server) = desk();
    let [by_archive, by_head] = [ARCHIVE, KEPT].map(|what| {
        let answer = run_verify(&desk, &server, what, &["--output", "json"]);
        assert_eq!(answer.code, 0, "{answer:?}");
        answer.json()
    });
    assert_eq!(by_archive, by_head);
    // The large layer alone is in three repositories.
    assert!(by_archive["bytes"].as_u64().unwrap() > 3 * LARGE);
    let refused = run_verify(&desk, &server, KEPT, &["--repair"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn what_is_missing_is_named_and_repaired() {
    let (desk, server) = desk();
    fs::remove_file(server.blob(&large()).unwrap()).unwrap();
    let root = image("amd64").descriptor().digest.clone();
    let repository = "shop-1.0.0/app-1".parse().unwrap();
    server.delete_manifest(&repository, &root.as_str().parse().unwrap());
    let answer = run_verify(&desk, &server, ARCHIVE, &["--output", "json"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let faults = answer.json()["faults"].as_array().unwrap().clone();
    assert!(
        faults.iter().all(|fault| fault["fault"] == "missing"),
        "{faults:?}"
    );
    let of = |reference: &str| {
        faults
            .iter()
            .filter(|fault| fault["reference"] == reference)
            .count()
    };
    assert_eq!(of(&large()), 3, "{faults:?}");
    assert_eq!(of("1"), 1, "{faults:?}");
    let text = run_verify(&desk, &server, KEPT, &[]).failure(1);
    assert!(text.contains("app-1"), "{text}");
    let repair = ["--repair", "--progress", "events"];
    let repaired = run_verify(&desk, &server, ARCHIVE, &repair).success();
    assert!(repaired.contains("repaired: "), "{repaired}");
    let events = results::push_events(&fs::read_to_string(desk.path("events")).unwrap());
    assert_eq!(events[0]["bytesTotal"], LARGE);
    assert_eq!(events.last().unwrap()["complete"], true);
    let whole = run_verify(&desk, &server, KEPT, &[]).success();
    assert!(whole.contains("has all content of shop-1.0.0"), "{whole}");
}

#[test]
fn bytes_that_survive_a_push_are_named_with_what_to_remove() {
    for half in [false, true] {
        let (desk, mut server) = desk();
        let path = server.blob(&large()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[4_000_000] ^= 1;
        if half {
            bytes.truncate(4_000_000);
        }
        fs::write(&path, bytes).unwrap();
        let text = run_verify(&desk, &server, ARCHIVE, &[]).failure(1);
        assert!(text.contains("--repair"), "{text}");
        let text = run_verify(&desk, &server, ARCHIVE, &["--repair"]).failure(1);
        let directory = path.parent().unwrap().to_str().unwrap();
        let directory = &directory[directory.find("docker/registry").unwrap()..];
        assert!(text.contains(directory), "{text}");
        // Follow the hint.
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        server.restart();
        run_verify(&desk, &server, ARCHIVE, &["--repair"]).success();
        run_verify(&desk, &server, ARCHIVE, &[]).success();
    }
}

#[test]
fn a_tag_that_was_moved_stays_and_is_named() {
    let (desk, server) = desk();
    push(&server, &desk.path("source/one/layout"), "shop-1.0.0/app-0");
    for more in [&[][..], &["--repair"]] {
        let text = run_verify(&desk, &server, ARCHIVE, more).failure(1);
        assert!(text.contains("import ARCHIVE --replace"), "{text}");
    }
}
