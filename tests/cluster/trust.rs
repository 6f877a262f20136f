//! The remembered signers of a site, and the exceptions of an administrator.

use crate::common::Answer;
use crate::site::Site;

/// Returns the remembered signers of the example.
fn remembered_signers(site: &Site) -> String {
    site.field(
        "metalk8s-solutions",
        "configmap/solution-signers",
        "{.data.example}",
    )
}

/// Returns the id of a key of the desk, as the record contains it.
fn key_id(site: &Site, name: &str) -> String {
    let public = format!("{name}.pub");
    let policy = ["trust", "add", name, "--key", &public, "--solutions", name];
    let added = site
        .desk
        .solution(&[&policy[..], &["--output", "json"]].concat());
    added.json()["keys"][0]["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn refused(site: &Site, flag: &str, import: impl Fn() -> Answer) {
    let before = site.snapshot();
    let text = import().failure(1);
    assert!(text.contains(flag), "`{flag}` is not in: {text}");
    assert_eq!(site.snapshot(), before, "{text}");
}

#[test]
fn an_unsigned_archive_of_a_solution_once_signed() {
    let site = Site::new("unsigned");
    let pack = ["pack", "1.0.0", "-o", "unsigned.iso", "--unsigned"];
    site.desk.solution(&pack).success();
    let allow = ["--allow-unsigned", "example-1.0.0"];
    refused(&site, "only example-1.1.0 may be unsigned", || {
        site.import("unsigned.iso", &["--allow-unsigned", "example-1.1.0"])
    });
    // No signed archive was seen before: the user's flag suffices, and nothing is remembered.
    site.import("unsigned.iso", &allow).success();
    site.solution(&["unimport", "--yes", "example", "1.0.0"])
        .success();
    site.import("1.0.0.iso", &[]).success();
    let publisher = format!("[\"{}\"]", key_id(&site, "publisher"));
    assert_eq!(remembered_signers(&site), publisher);
    site.solution(&["unimport", "--yes", "example", "1.0.0"])
        .success();
    assert_eq!(
        remembered_signers(&site),
        publisher,
        "it outlives the version"
    );
    refused(&site, "--forget-signers", || {
        site.import("unsigned.iso", &allow)
    });
    refused(&site, "--forget-signers", || {
        site.import(
            "unsigned.iso",
            &[&allow[..], &["--change-signers"]].concat(),
        )
    });
    site.import(
        "unsigned.iso",
        &[&allow[..], &["--forget-signers"]].concat(),
    )
    .success();
    assert_eq!(remembered_signers(&site), "");
    let before = site.snapshot();
    site.import("unsigned.iso", &allow).success();
    assert_eq!(site.snapshot(), before, "again changes nothing");
}

#[test]
fn the_policy_for_the_solution_decides_about_an_import() {
    let site = Site::new("policies");
    let trust = |name: &str, solutions: &str| {
        let policy = ["trust", "add", name, "--key", "publisher.pub"];
        let scope = ["--solutions", solutions];
        site.desk
            .solution(&[&policy[..], &scope].concat())
            .success();
    };
    let import = || {
        let mut command = site.command();
        command.args([
            "import",
            "1.0.0.iso",
            "--dry-run",
            "--registry",
            &site.registry(),
        ]);
        command.args([
            "--ca-file",
            &crate::site::variable("SOLUTION_TEST_REGISTRY_CA"),
        ]);
        Answer::from_command(&mut command)
    };
    trust("others", "other");
    refused(&site, "no policy of this site covers `example`", import);
    trust("acme", "example");
    let answer = import();
    let words = "policy acme: 1 of 1 key signed, 1 needed";
    assert!(answer.stderr.contains(words), "{answer:?}");
    answer.success();
}

#[test]
fn signers_that_were_changed_stay_changed() {
    let site = Site::new("changed");
    site.desk.solution(&["keygen", "other"]).success();
    let pack = ["pack", "1.1.0", "-o", "other.iso", "--key", "other.key"];
    site.desk.solution(&pack).success();
    let other = ["--key", "other.pub", "--threshold", "1"];
    site.import("1.0.0.iso", &[]).success();
    for words in ["none of these keys signed", "--change-signers"] {
        refused(&site, words, || site.import("other.iso", &other));
    }
    site.import("other.iso", &[&other[..], &["--change-signers"]].concat())
        .success();
    assert_eq!(
        remembered_signers(&site),
        format!("[\"{}\"]", key_id(&site, "other"))
    );
    // An imported version adds nothing, whoever signed it.
    let before = site.snapshot();
    site.import("1.0.0.iso", &[]).success();
    assert_eq!(site.snapshot(), before);
    // A version that was not imported now has another signer.
    site.solution(&["unimport", "--yes", "example", "1.0.0"])
        .success();
    refused(&site, "--change-signers", || site.import("1.0.0.iso", &[]));
    // Both keys have signed it, which is the correct way to change keys.
    let sign = ["sign", "1.0.0.iso", "--key", "other.key", "--detached"];
    site.desk.solution(&sign).success();
    site.import("1.0.0.iso", &other).success();
}
