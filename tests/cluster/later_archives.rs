//! An archive by a later version of the tools.

use archive::ArchiveFile;
use serde_json::Value;
use signing::SecretKey;

use crate::site::Site;
use crate::stages;

/// Writes the archive of 1.0.0 again, with optional files. One of them looks like an operator's.
fn write_later(site: &Site, archive: &str) {
    let listed = stages::list(&site.desk.path("1.0.0.iso"));
    let mut info = stages::statement_info(&listed);
    info.optional = vec!["later".to_owned(), "note.txt".to_owned()];
    let mut files = stages::files(&listed);
    let role = listed.read("operator/deploy/role.yaml", 1 << 20).unwrap();
    for (path, bytes) in [
        ("later/deploy/role.yaml", role),
        ("later/images/app/9/manifest.json", b"{}".to_vec()),
        ("note.txt", b"one file".to_vec()),
    ] {
        files.push(ArchiveFile::from_bytes(path.parse().unwrap(), bytes));
    }
    let key = String::from_utf8(site.desk.read("publisher.key")).unwrap();
    let key = SecretKey::from_pem(&key).unwrap();
    let signed = stages::unsigned(info, files).sign(&[key]).unwrap();
    stages::write(signed, &site.desk.path(archive));
}

/// Imports and deploys on a site without remembered signers, removes it, and returns the result.
fn import(site: &Site, archive: &str) -> Value {
    site.forget_signers();
    let more = ["-e", "later", "--pull-secret", "login", "--output", "json"];
    let receipt = site.import(archive, &more).json();
    for undo in [
        &["undeploy", "--yes", "example", "-e", "later"][..],
        &["deactivate", "--yes", "example"],
        &["unimport", "--yes", "example", "1.0.0"],
    ] {
        site.solution(undo).success();
    }
    receipt
}

#[test]
fn what_may_be_overlooked_is_not_imported() {
    let site = Site::new("later");
    write_later(&site, "later.iso");
    site.create_environment("later");
    let later = import(&site, "later.iso");
    let plain = import(&site, "1.0.0.iso");
    assert_ne!(plain["archiveId"], later["archiveId"]);
    // The configuration and a layer of each of the two images, and the archive's head with its empty configuration.
    assert_eq!(later["uploaded"]["blobs"], 6, "{later:#}");
    assert!(
        later["objects"]
            .as_array()
            .is_some_and(|objects| !objects.is_empty())
    );
    assert_eq!(later["objects"], plain["objects"]);
    site.solution(&["environment", "delete", "--yes", "later"])
        .success();
}
