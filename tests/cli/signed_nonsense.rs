//! Archives with a valid signature by their publisher that `validate` must refuse. The writing stages create them with
//! content that `pack` never writes, or with a signed statement about another list than that of the image. The
//! validator's own tests cover all findings; these tests show one of each kind as a user sees it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use archive::{ArchiveFile, OpenedArchive, Overwrite, StatementInfo, UnsignedArchive};
use progress::{Cancel, Watch};
use schemas::{Contents, ContentsEntry, Digest, Envelope, PayloadType, Statement};
use signing::SecretKey;

use crate::common::Desk;

/// The files of an archive, except those that the archive generates itself.
type Files = BTreeMap<String, Vec<u8>>;

fn key(desk: &Desk) -> SecretKey {
    let pem = String::from_utf8(desk.read("publisher.key")).unwrap();
    SecretKey::from_pem(&pem).unwrap()
}

fn sha256(bytes: &[u8]) -> Digest {
    ArchiveFile::from_bytes("x".parse().unwrap(), bytes.to_vec()).digest
}

/// Lists, lays out and signs the archive with other files, as `pack` does.
fn repack(change: impl FnOnce(&mut Files)) -> Desk {
    let desk = Desk::with_archive();
    let path = desk.path("example.iso");
    let opened = OpenedArchive::open(&path).unwrap();
    let listed = opened.skip_signature().unwrap().list().unwrap();
    let entries = listed.contents().entries().iter();
    let mut files: Files = entries
        .map(|entry| {
            let bytes = listed.read(entry.path.as_str(), 1 << 20).unwrap();
            (entry.path.to_string(), bytes)
        })
        .collect();
    change(&mut files);
    let files = files.into_iter();
    let files = files.map(|(path, bytes)| ArchiveFile::from_bytes(path.parse().unwrap(), bytes));
    let info = StatementInfo {
        id: listed.statement().predicate.id.clone(),
        time: listed.statement().predicate.time,
        upgrade_from: None,
        expires: None,
        requires: Vec::new(),
        optional: Vec::new(),
    };
    let unsigned = UnsignedArchive::new(info, files.collect()).unwrap();
    let watch = Watch::silent(Cancel::never());
    unsigned
        .sign(&[key(&desk)])
        .unwrap()
        .write(&path, Overwrite::Replace, NonZeroUsize::MIN, &watch)
        .and_then(|draft| draft.publish(watch.cancel))
        .unwrap();
    desk
}

/// Replaces the list in the image, and signs a statement about the new list.
fn replace_list(change: impl FnOnce(&mut Vec<ContentsEntry>)) -> Desk {
    let desk = Desk::with_archive();
    let mut image = desk.read("example.iso");
    let envelope_at = usize::try_from(archive::STATEMENT_OFFSET).unwrap();
    let list_at = usize::try_from(archive::CONTENTS_OFFSET).unwrap();
    let envelope = Envelope::from_slice(&image[envelope_at..list_at]).unwrap();
    let mut statement = Statement::from_slice(envelope.payload()).unwrap();
    let size = usize::try_from(statement.predicate.contents_size).unwrap();
    let list = Contents::from_slice(&image[list_at..list_at + size]).unwrap();
    let mut entries = list.entries().to_vec();
    change(&mut entries);
    let list = Contents::new(entries).unwrap();
    let bytes = list.to_bytes();
    statement.predicate.contents = sha256(&bytes);
    statement.predicate.contents_size = bytes.len() as u64;
    statement.sha256sums = sha256(&list.to_sha256sums(&statement.predicate.contents));
    let mut envelope = Envelope::new(statement.to_bytes()).unwrap();
    envelope
        .add(key(&desk).sign(PayloadType::Statement, envelope.payload()))
        .unwrap();
    image[envelope_at..list_at].copy_from_slice(&envelope.to_bytes());
    image[list_at..list_at + bytes.len()].copy_from_slice(&bytes);
    desk.write("example.iso", image);
    desk
}

fn edit(files: &mut Files, path: &str, from: &str, to: &str) {
    let text = String::from_utf8(files[path].clone()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    files.insert(path.to_owned(), text.replacen(from, to, 1).into_bytes());
}

/// Returns the first path with this beginning whose text contains these words.
fn path_of(files: &Files, beginning: &str, words: &str) -> String {
    let holds = |bytes: &[u8]| {
        bytes
            .windows(words.len())
            .any(|window| window == words.as_bytes())
    };
    let found = files
        .iter()
        .find(|(path, bytes)| path.starts_with(beginning) && holds(bytes));
    found
        .unwrap_or_else(|| panic!("no file below {beginning} holds {words}"))
        .0
        .clone()
}

#[test]
fn the_stages_give_what_pack_gives() {
    let packed = Desk::with_archive();
    let again = repack(|_| {});
    let id = |desk: &Desk| desk.report(&["--key", "publisher.pub"], 0)["archiveId"].clone();
    assert_eq!(id(&packed), id(&again));
    replace_list(|_| {}).report(&["--key", "publisher.pub"], 0);
}

#[test]
fn lists_that_disagree_with_the_tree() {
    let extra = replace_list(|list| {
        let mut entry = list[0].clone();
        entry.path = "operator/deploy/crds/more_crd.yaml".parse().unwrap();
        list.push(entry);
    });
    extra.assert_refused(&["container.metadata"], &["treat it as tampering"]);
    let missing = replace_list(|list| list.retain(|entry| entry.path.as_str() != "README.txt"));
    missing.assert_refused(&["container.metadata"], &["treat it as tampering"]);
    let no_manifest =
        replace_list(|list| list.retain(|entry| entry.path.as_str() != "manifest.yaml"));
    no_manifest.assert_refused(&["manifest.missing"], &["`manifest.yaml`"]);
    let size = replace_list(|list| {
        let readme = list
            .iter_mut()
            .find(|entry| entry.path.as_str() == "README.txt");
        readme.unwrap().size += 1;
    });
    size.assert_refused(&["container.metadata"], &["treat it as tampering"]);
    let huge = replace_list(|list| list[0].size = 1 << 40);
    huge.assert_refused(&["container.list"], &["ask the publisher"]);
}

#[test]
fn content_that_the_list_does_not_expect() {
    let digest = replace_list(|list| {
        let readme = list
            .iter_mut()
            .find(|entry| entry.path.as_str() == "README.txt");
        readme.unwrap().digest = sha256(b"another text");
    });
    digest.assert_refused(
        &["integrity.damaged"],
        &["README.txt", "damaged or altered"],
    );
}

#[test]
fn images_that_are_not_what_they_say() {
    let digest = repack(|files| {
        let config = path_of(files, "blobs/sha256/", "\"rootfs\"");
        edit(files, &config, "\"linux\"", "\"Linux\"");
    });
    digest.assert_refused(&["images.differs"], &["blobs/sha256/"]);
    let extra = repack(|files| {
        let path = format!("blobs/sha256/{}", sha256(b"cargo").hex());
        files.insert(path, b"cargo".to_vec());
    });
    extra.assert_refused(
        &["images.unreferenced"],
        &["belongs to no image", "solution pack"],
    );
    let gone = repack(|files| {
        files.remove("images/example-server/1.0.0/version").unwrap();
    });
    gone.assert_refused(
        &["images.incomplete"],
        &["images/example-server/1.0.0/version"],
    );
    let duplicate = repack(|files| edit(files, "index.json", "{", r#"{"manifests":[],"#));
    duplicate.assert_refused(&["images.index"], &["duplicate key `manifests`"]);
}

#[test]
fn images_that_are_listed_but_absent() {
    let absent = repack(|files| {
        let server = "images/example-server/";
        files.retain(|path, _| !path.starts_with(server));
    });
    let report = absent.report(&["--key", "publisher.pub"], 1);
    let absent = report["findings"].as_array().unwrap().iter();
    let absent: Vec<_> = absent
        .filter(|finding| finding["id"] == "manifest.image-absent")
        .collect();
    assert_eq!(absent.len(), 1, "{report:#}");
    assert!(
        absent[0]["message"]
            .as_str()
            .unwrap()
            .contains("example-server:1.0.0"),
        "{report:#}"
    );
    let other = repack(|files| edit(files, "manifest.yaml", "'example-server:1.0.0'", "'db:1'"));
    let ids = ["manifest.image-absent", "manifest.image-unlisted"];
    other.assert_refused(&ids, &["db:1", "example-server:1.0.0", "add the image"]);
}

#[test]
fn manifests_outside_the_grammar() {
    for (from, to, word) in [
        ("'example'", "'Example'", "Solution name"),
        ("version: '1.0.0'", "version: '1.0'", "version"),
        ("example-server:1.0.0", "example-server:.1", "tag"),
        ("example-server:1.0.0", "Example:1.0.0", "image name"),
        (
            "spec:\n",
            "spec:\n  version: '1.0.0'\n",
            "duplicate key `version`",
        ),
    ] {
        let desk = repack(|files| edit(files, "manifest.yaml", from, to));
        desk.assert_refused(&["manifest.yaml"], &[word, "correct the field"]);
    }
    let other = repack(|files| {
        edit(
            files,
            "manifest.yaml",
            "version: '1.0.0'",
            "version: '1.0.1'",
        );
    });
    other.assert_refused(&["manifest.identity"], &["1.0.1", "1.0.0"]);
}

#[test]
fn yaml_bombs() {
    let bomb = crate::input::bomb();
    for (path, id) in [
        ("manifest.yaml", "manifest.yaml"),
        ("operator/deploy/role.yaml", "operator.yaml"),
        (
            "operator/deploy/crds/versionservers_crd.yaml",
            "operator.yaml",
        ),
    ] {
        for text in [bomb.clone(), "[".repeat(100_000)] {
            let desk = repack(|files| drop(files.insert(path.to_owned(), text.into_bytes())));
            desk.assert_refused(&[id], &[path]);
        }
    }
}
