//! `solution registry export` writes the imported archive from a real registry again, byte for byte, or fails.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use flate2::read::GzDecoder;

use crate::common::{Answer, Desk};
use crate::server::{Protection, Server};
use crate::setup::{desk_with_two_images, index, large, pack, write_source};

const KEY: [&str; 2] = ["--key", "publisher.pub"];

/// Returns a desk with `images.iso` (two images that share layers), and a registry.
fn desk() -> (Desk, Server) {
    (desk_with_two_images(""), Server::start(&Protection::None))
}

fn import(desk: &Desk, archive: &str, server: &Server) {
    let registry = server.host();
    let to = ["--replace", "--registry", &registry];
    let answer = desk.solution(&[&["push", archive][..], &KEY, &to].concat());
    answer.success();
}

/// Writes `again.iso`.
fn export(desk: &Desk, [name, version]: [&str; 2], server: &Server, more: &[&str]) -> Answer {
    let registry = server.host();
    let always = ["export", name, version, "-o", "again.iso"];
    let from = ["--registry", &registry];
    desk.solution(&[&always[..], &from, more].concat())
}

const SHOP: [&str; 2] = ["shop", "1.0.0"];

#[track_caller]
fn assert_same(desk: &Desk, archive: &str) {
    assert!(desk.read(archive) == desk.read("again.iso"), "{archive}");
    fs::remove_file(desk.path("again.iso")).unwrap();
}

/// Asserts that no file was written.
#[track_caller]
fn assert_nothing(desk: &Desk) {
    let names = desk.names();
    let left = names
        .iter()
        .find(|name| name.contains("again") || name.contains("part"));
    assert_eq!(left, None);
}

fn archive_id(desk: &Desk, archive: &str) -> String {
    let flags = ["validate", archive, "--output", "json"];
    let report = desk.solution(&[&flags[..], &KEY].concat()).json();
    report["archiveId"].as_str().unwrap().to_owned()
}

#[test]
fn what_was_imported_comes_out_bit_for_bit() {
    let (desk, server) = desk();
    import(&desk, "images.iso", &server);
    let text = export(&desk, SHOP, &server, &KEY).success();
    assert!(text.contains("exported    again.iso"), "{text}");
    let again = export(&desk, SHOP, &server, &KEY).failure(1);
    assert!(again.contains("already exists"), "{again}");
    assert_same(&desk, "images.iso");
    // A site passes the archive on to another registry.
    let next = Server::start(&Protection::None);
    let flags = [&KEY[..], &["--output", "json"]].concat();
    let told = export(&desk, SHOP, &server, &flags).json();
    assert_eq!(told["archiveId"], archive_id(&desk, "again.iso").as_str());
    assert_eq!(told["signedBy"].as_array().unwrap().len(), 1);
    import(&desk, "again.iso", &next);
    export(&desk, SHOP, &next, &[&KEY[..], &["--force"]].concat()).success();
    assert_same(&desk, "images.iso");
}

#[test]
fn an_archive_is_judged_by_its_signatures_or_named_by_its_id() {
    let (desk, server) = desk();
    import(&desk, "images.iso", &server);
    let text = export(&desk, SHOP, &server, &[]).failure(2);
    assert!(text.contains("no public key is given"), "{text}");
    desk.solution(&["keygen", "other"]).success();
    let text = export(&desk, SHOP, &server, &["--key", "other.pub"]).failure(1);
    assert!(text.contains("nothing was written"), "{text}");
    let id = archive_id(&desk, "images.iso");
    let other = id.replace(&id[7..15], "00000000");
    let text = export(&desk, SHOP, &server, &["--archive-id", &other]).failure(1);
    assert!(text.contains("does not have"), "{text}");
    let text = export(&desk, ["shop", "2.0.0"], &server, &KEY).failure(1);
    assert!(text.contains("has no archive of shop-2.0.0"), "{text}");
    assert_nothing(&desk);
    export(&desk, SHOP, &server, &["--archive-id", &id]).success();
    assert_same(&desk, "images.iso");
}

#[test]
fn archives_of_earlier_versions_come_out_as_they_were() {
    let server = Server::start(&Protection::None);
    for folder in [
        "format-1",
        "manifests-1.0.0",
        "charts-1.0.0",
        "capabilities-1.0.0",
    ] {
        let desk = Desk::new();
        let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let packed = fs::read(data.join(folder).join("archive.iso.gz")).unwrap();
        let mut archive = Vec::new();
        let mut unpacked = GzDecoder::new(&packed[..]);
        unpacked.read_to_end(&mut archive).unwrap();
        desk.write("example.iso", archive);
        let key = fs::read(data.join(folder).join("publisher.pub")).unwrap();
        desk.write("publisher.pub", key);
        import(&desk, "example.iso", &server);
        let flags = ["inspect", "example.iso", "--output", "json"];
        let told = desk.solution(&flags).json();
        let [name, version] = ["solution", "version"].map(|field| told[field].as_str().unwrap());
        let id = archive_id(&desk, "example.iso");
        let flags = [&KEY[..], &["--archive-id", &id]].concat();
        export(&desk, [name, version], &server, &flags).success();
        assert_same(&desk, "example.iso");
    }
}

#[test]
fn signatures_come_out_as_they_were_imported_last() {
    let (desk, server) = desk();
    desk.write("before.iso", desk.read("images.iso"));
    import(&desk, "images.iso", &server);
    desk.solution(&["keygen", "other"]).success();
    let sign = ["sign", "images.iso", "--key", "other.key"];
    desk.solution(&sign).success();
    assert!(desk.read("images.iso") != desk.read("before.iso"));
    export(&desk, SHOP, &server, &KEY).success();
    assert_same(&desk, "before.iso");
    import(&desk, "images.iso", &server);
    let both = [&KEY[..], &["--key", "other.pub", "--threshold", "2"]].concat();
    export(&desk, SHOP, &server, &both).success();
    assert_same(&desk, "images.iso");
    import(&desk, "before.iso", &server);
    export(&desk, SHOP, &server, &KEY).success();
    assert_same(&desk, "before.iso");
}

#[test]
fn of_two_archives_of_a_version_one_has_to_be_named() {
    let (desk, server) = desk();
    import(&desk, "images.iso", &server);
    write_source(&desk, "source", &["source: 'oci:one/layout:1'"]);
    desk.solution(&pack("source", "other.iso")).success();
    import(&desk, "other.iso", &server);
    let archives = ["images.iso", "other.iso"];
    let ids = archives.map(|archive| archive_id(&desk, archive));
    let text = export(&desk, SHOP, &server, &KEY).failure(1);
    for words in [&ids[0], &ids[1], "--archive-id"] {
        assert!(text.contains(words), "{text}");
    }
    for (archive, id) in archives.iter().zip(&ids) {
        export(&desk, SHOP, &server, &["--archive-id", id]).success();
        assert_same(&desk, archive);
    }
}

#[test]
fn what_is_missing_or_damaged_is_named_and_nothing_is_written() {
    let (desk, server) = desk();
    import(&desk, "images.iso", &server);
    let path = server.blob(&large()).unwrap();
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[1_000_000] ^= 1;
    fs::write(&path, damaged).unwrap();
    let text = export(&desk, SHOP, &server, &KEY).failure(1);
    for words in [
        &large(),
        "of image app-",
        "shop-1.0.0/app-",
        "remove them from its storage",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert_nothing(&desk);
    fs::remove_file(&path).unwrap();
    let root = index().descriptor().digest.clone();
    fs::remove_file(server.blob(root.as_str()).unwrap()).unwrap();
    let text = export(&desk, SHOP, &server, &KEY).failure(1);
    let repository = format!("{}/shop-1.0.0/app-0", server.host());
    for digest in [large(), root.as_str().to_owned()] {
        let words = format!("{digest} of image app-0:1 is not in {repository}");
        assert!(text.contains(&words), "{text}");
    }
    assert!(text.contains("import the archive again"), "{text}");
    assert_nothing(&desk);
    // Importing the archive restores the removed content.
    let mut server = server;
    server.restart();
    import(&desk, "images.iso", &server);
    export(&desk, SHOP, &server, &KEY).success();
    assert_same(&desk, "images.iso");
}

#[test]
fn the_archive_of_another_version_is_none_of_this_one() {
    let (desk, server) = desk();
    import(&desk, "images.iso", &server);
    let id = archive_id(&desk, "images.iso");
    let tag = id.replace("sha256:", "archive-");
    let [from, to] = ["shop-1.0.0", "shop-2.0.0"]
        .map(|version| format!("docker://{}/{version}:{tag}", server.host()));
    let plain = ["--src-tls-verify=false", "--dest-tls-verify=false"];
    let copy = [&["copy"], &plain[..], &[&from, &to]].concat();
    desk.run("skopeo", &copy).success();
    for flags in [&KEY[..], &["--archive-id", &id]] {
        let text = export(&desk, ["shop", "2.0.0"], &server, flags).failure(1);
        let words = format!("{id} is the archive of shop-1.0.0, not of shop-2.0.0");
        assert!(text.contains(&words), "{text}");
    }
    assert_nothing(&desk);
}

#[test]
fn images_by_their_refs_have_no_archive_beside_them() {
    let (desk, server) = desk();
    let registry = server.host();
    let flags = ["--repository-layout", "ref"];
    let to = ["--registry", &registry];
    let all = [&["push", "images.iso"][..], &KEY, &flags, &to].concat();
    desk.solution(&all).success();
    let text = export(&desk, SHOP, &server, &KEY).failure(1);
    assert!(text.contains("--repository-layout ref"), "{text}");
}
