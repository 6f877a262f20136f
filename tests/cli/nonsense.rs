//! Archives that the publisher's own key signed, and that `validate` must refuse all the same: made by the writing stages
//! with other content than `pack` would give them, or signed about another list than lies on the medium. All findings
//! have their cases in the validator's own tests; here is one of each kind, as a person meets it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use archive::{ArchiveFile, Opened, Overwrite, StatementInfo, Unsigned};
use schemas::{Contents, ContentsEntry, Digest, Envelope, PayloadType, Statement};
use signing::SecretKey;
use watch::{Cancel, Watch};

use crate::common::Desk;

/// The files of an archive, but those that the archive makes itself.
type Files = BTreeMap<String, Vec<u8>>;

fn key(desk: &Desk) -> SecretKey {
    let pem = String::from_utf8(desk.read("publisher.key")).unwrap();
    SecretKey::from_pem(&pem).unwrap()
}

fn sha256(bytes: &[u8]) -> Digest {
    ArchiveFile::from_bytes("x".parse().unwrap(), bytes.to_vec()).digest
}

/// The archive with other files, listed, laid out and signed as `pack` does.
fn repacked(change: impl FnOnce(&mut Files)) -> Desk {
    let desk = Desk::with_archive();
    let path = desk.path("example.iso");
    let opened = Opened::open(&path).unwrap();
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
    let unsigned = Unsigned::new(info, files.collect()).unwrap();
    let watch = Watch::silent(Cancel::never());
    unsigned
        .sign(&[key(&desk)])
        .unwrap()
        .write(&path, Overwrite::Replace, NonZeroUsize::MIN, &watch)
        .and_then(|draft| draft.publish(watch.cancel))
        .unwrap();
    desk
}

/// The same image with another list at its place, and a signed statement about that list.
fn relisted(change: impl FnOnce(&mut Vec<ContentsEntry>)) -> Desk {
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

/// The first file whose path has this beginning and whose text has these words.
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
    let again = repacked(|_| {});
    let id = |desk: &Desk| desk.report(&["--key", "publisher.pub"], 0)["archiveId"].clone();
    assert_eq!(id(&packed), id(&again));
    relisted(|_| {}).report(&["--key", "publisher.pub"], 0);
}

#[test]
fn lists_that_disagree_with_the_tree() {
    let extra = relisted(|list| {
        let mut entry = list[0].clone();
        entry.path = "operator/deploy/crds/more_crd.yaml".parse().unwrap();
        list.push(entry);
    });
    extra.refused(&["container.metadata"], &["treat it as tampering"]);
    let missing = relisted(|list| list.retain(|entry| entry.path.as_str() != "README.txt"));
    missing.refused(&["container.metadata"], &["treat it as tampering"]);
    let no_manifest = relisted(|list| list.retain(|entry| entry.path.as_str() != "manifest.yaml"));
    no_manifest.refused(&["manifest.missing"], &["`manifest.yaml`"]);
    let size = relisted(|list| {
        let readme = list
            .iter_mut()
            .find(|entry| entry.path.as_str() == "README.txt");
        readme.unwrap().size += 1;
    });
    size.refused(&["container.metadata"], &["treat it as tampering"]);
    let huge = relisted(|list| list[0].size = 1 << 40);
    huge.refused(&["container.list"], &["ask the publisher"]);
}

#[test]
fn content_that_the_list_does_not_expect() {
    let digest = relisted(|list| {
        let readme = list
            .iter_mut()
            .find(|entry| entry.path.as_str() == "README.txt");
        readme.unwrap().digest = sha256(b"another text");
    });
    digest.refused(
        &["integrity.damaged"],
        &["README.txt", "damaged or altered"],
    );
}

#[test]
fn images_that_are_not_what_they_say() {
    let digest = repacked(|files| {
        let config = path_of(files, "blobs/sha256/", "\"rootfs\"");
        edit(files, &config, "\"linux\"", "\"Linux\"");
    });
    digest.refused(&["images.differs"], &["blobs/sha256/"]);
    let extra = repacked(|files| {
        let path = format!("blobs/sha256/{}", sha256(b"cargo").hex());
        files.insert(path, b"cargo".to_vec());
    });
    extra.refused(
        &["images.unreferenced"],
        &["belongs to no image", "solution pack"],
    );
    let gone = repacked(|files| {
        files.remove("images/example-server/1.0.0/version").unwrap();
    });
    gone.refused(
        &["images.incomplete"],
        &["images/example-server/1.0.0/version"],
    );
    let duplicate = repacked(|files| edit(files, "index.json", "{", r#"{"manifests":[],"#));
    duplicate.refused(&["images.index"], &["duplicate key `manifests`"]);
}

#[test]
fn images_that_are_listed_but_absent() {
    let absent = repacked(|files| {
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
    let other = repacked(|files| edit(files, "manifest.yaml", "'example-server:1.0.0'", "'db:1'"));
    let ids = ["manifest.image-absent", "manifest.image-unlisted"];
    other.refused(&ids, &["db:1", "example-server:1.0.0", "add the image"]);
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
        let desk = repacked(|files| edit(files, "manifest.yaml", from, to));
        desk.refused(&["manifest.yaml"], &[word, "correct the field"]);
    }
    let other = repacked(|files| {
        edit(
            files,
            "manifest.yaml",
            "version: '1.0.0'",
            "version: '1.0.1'",
        );
    });
    other.refused(&["manifest.identity"], &["1.0.1", "1.0.0"]);
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
            let desk = repacked(|files| drop(files.insert(path.to_owned(), text.into_bytes())));
            desk.refused(&[id], &[path]);
        }
    }
}
