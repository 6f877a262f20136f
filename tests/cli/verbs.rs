//! The main purpose of each command.

use std::os::unix::fs::PermissionsExt as _;

use fixtures::example::{Programs, Release};

use crate::common::{Answer, Desk};

#[test]
fn keygen_makes_a_pair_and_never_overwrites() {
    let desk = Desk::new();
    let made = desk.solution(&["keygen", "release", "--output", "json"]);
    assert_eq!(made.json()["secret"], "release.key");
    assert_eq!(made.json()["keyId"].as_str().unwrap().len(), 64);
    let permissions = std::fs::metadata(desk.path("release.key"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(permissions & 0o777, 0o600);
    let secret = desk.read("release.key");
    let text = desk.solution(&["keygen", "release"]).failure(1);
    assert!(text.contains("`release.key` exists"), "{text}");
    assert_eq!(desk.read("release.key"), secret);
}

#[test]
fn pack_validate_inspect_sign() {
    let desk = Desk::with_archive();
    let report = desk.solution(&[
        "validate",
        "example.iso",
        "--key",
        "publisher.pub",
        "--output",
        "json",
    ]);
    assert_eq!(report.code, 0, "{report:?}");
    let report = report.json();
    assert_eq!(
        (&report["solution"], &report["version"]),
        (&"example".into(), &"1.0.0".into())
    );
    assert_eq!(report["verdict"], "accepted");
    assert_eq!(report["images"], 2);
    let shown = desk
        .solution(&["inspect", "example.iso", "--files"])
        .success();
    for word in ["example", "1.0.0", "example-operator:1.0.0", "not verified"] {
        assert!(shown.contains(word), "{word} is not in {shown}");
    }
    desk.solution(&["keygen", "reviewer"]).success();
    let id = &report["archiveId"];
    let signed = desk
        .solution(&[
            "sign",
            "example.iso",
            "--key",
            "reviewer.key",
            "--output",
            "json",
        ])
        .json();
    assert_eq!(
        &signed["archiveId"], id,
        "a signature changes the archive id"
    );
    let both = [
        "validate",
        "example.iso",
        "--key",
        "publisher.pub",
        "--key",
        "reviewer.pub",
        "--threshold",
        "2",
    ];
    desk.solution(&both).success();
    let text = desk
        .solution(&["sign", "example.iso", "--key", "reviewer.key"])
        .failure(1);
    assert!(text.contains("signed by key"), "{text}");
}

#[test]
fn init_gives_a_tree_that_pack_reads() {
    let desk = Desk::with_key();
    desk.solution(&["init", "shop"]).success();
    let text = desk
        .solution(&["pack", "shop", "-o", "shop.iso", "--key", "publisher.key"])
        .failure(1);
    // Everything except the image is ready.
    assert!(text.contains("images/"), "{text}");
    let text = desk.solution(&["init", "shop"]).failure(1);
    assert!(text.contains("solution.yaml"), "{text}");
}

#[test]
fn unsigned_archives_are_signed_later() {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    desk.solution(&["pack", "source", "-o", "draft.iso", "--unsigned"])
        .success();
    let text = desk
        .solution(&["validate", "draft.iso", "--key", "publisher.pub"])
        .failure(1);
    assert!(text.contains("signature.unsigned"), "{text}");
    let text = desk
        .solution(&["validate", "draft.iso", "--skip-signature"])
        .success();
    assert!(text.contains("but not verified"), "{text}");
    desk.solution(&["sign", "draft.iso", "--key", "publisher.key"])
        .success();
    desk.solution(&["validate", "draft.iso", "--key", "publisher.pub"])
        .success();
}

#[test]
fn signatures_beside_the_archive_count() {
    let desk = Desk::with_archive();
    let statement = 65_536..2 * 65_536;
    let signed = desk.read("example.iso");
    let pack = ["pack", "source", "-o", "draft.iso", "--unsigned"];
    desk.solution(&pack).success();
    let validate = ["validate", "draft.iso", "--key", "publisher.pub"];
    desk.solution(&validate).failure(1);
    desk.write("draft.iso.dsse.json", &signed[statement.clone()]);
    let text = desk.solution(&validate).success();
    assert!(text.contains("signed by"), "{text}");
    // The signature of another archive, and a file that is not an envelope.
    let solution = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    desk.write("source/solution.yaml", solution.replace("Example", "Other"));
    desk.solution(&["pack", "source", "-o", "other.iso", "--unsigned"])
        .success();
    desk.write("draft.iso.dsse.json", &desk.read("other.iso")[statement]);
    let text = desk.solution(&validate).failure(1);
    assert!(
        text.contains("signature.detached]: draft.iso.dsse.json:"),
        "{text}"
    );
    desk.write("draft.iso.dsse.json", "{}");
    let text = desk.solution(&validate).failure(1);
    assert!(text.contains("`draft.iso.dsse.json`"), "{text}");
}

#[test]
fn what_is_damaged_is_neither_signed_nor_shown() {
    let desk = Desk::with_archive();
    let mut bytes = desk.read("example.iso");
    // This byte is in the primary volume descriptor.
    bytes[16 * 2048 + 200] ^= 1;
    desk.write("example.iso", &bytes);
    desk.solution(&["keygen", "reviewer"]).success();
    for verb in [
        &["sign", "example.iso", "--key", "reviewer.key"][..],
        &["inspect", "example.iso"],
    ] {
        let text = desk.solution(verb).failure(1);
        assert!(text.contains("not what was signed"), "{text}");
        assert!(text.contains("hint: run `solution validate`"), "{text}");
    }
    assert!(desk.read("example.iso") == bytes, "it was changed");
}

#[test]
fn failures_are_json_when_that_was_asked_for() {
    let desk = Desk::with_key();
    for (arguments, code, answer) in [
        (&["inspect", "nowhere.iso"][..], 3, "unknown"),
        (&["keygen", "publisher"], 1, "no"),
        (&["validate", "publisher.pub"], 2, "usage"),
    ] {
        let given = desk.solution(&[arguments, &["--output", "json"]].concat());
        assert_eq!((given.code, given.stderr.as_str()), (code, ""), "{given:?}");
        let failure = given.json();
        assert_eq!(failure["answer"], answer, "{failure:#}");
        assert!(failure["error"].is_string() && failure["hints"].is_array());
    }
}

#[test]
fn the_version_names_what_is_read_and_written() {
    let desk = Desk::new();
    let said = desk.solution(&["version", "--output", "json"]).json();
    assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(said["archives"]["format"], 1);
    let capabilities = said["archives"]["capabilities"].to_string();
    assert!(
        capabilities.contains("charts-1.0.0") && !capabilities.contains("-0.1.0"),
        "{capabilities}"
    );
    let shown = desk.solution(&["version"]).success();
    assert!(
        shown.contains("records     formats 2, 3, 4, 5 are read"),
        "{shown}"
    );
    assert!(shown.ends_with("\nhelm        not found\n"), "{shown}");
    assert!(said["helm"].is_null(), "{said}");
}

/// The program is installed as in a package: `bin/solution` and `libexec/solution/helm` below one prefix.
#[test]
fn the_version_shows_the_helm_that_was_installed_with_the_program() {
    let desk = Desk::new();
    desk.copy_program("bin/solution");
    let version = |helm: Option<&str>, json: bool| {
        let mut command = std::process::Command::new(desk.path("bin/solution"));
        command
            .env_clear()
            .env("PATH", desk.path("path"))
            .arg("version");
        command.args(json.then_some("--output=json"));
        command.envs(helm.map(|helm| ("HELM", desk.path(helm))));
        Answer::from_command(command.current_dir(desk.path("")))
    };
    desk.write_script("path/helm", "#!/bin/sh\necho v4.1.1\n");
    desk.write_script("libexec/solution/helm", "#!/bin/sh\necho v4.2.2\n");
    desk.write_script("named", "#!/bin/sh\necho v3.3.3\n");
    let packaged = desk.path("libexec/solution/helm");
    let line = format!("\nhelm        v4.2.2 ({})\n", packaged.display());
    let shown = version(None, false).success();
    assert!(shown.ends_with(&line), "{shown}");
    let said = version(None, true).json();
    assert_eq!(said["helm"]["version"], "v4.2.2");
    assert_eq!(said["helm"]["path"], packaged.to_str().unwrap());

    let named = version(Some("named"), true).json();
    let words = format!(
        "`{}` is not Helm 4: it says `v3.3.3`",
        desk.path("named").display()
    );
    assert_eq!(named["helm"]["error"], words);
    std::fs::remove_file(&packaged).unwrap();
    let shown = version(None, false).success();
    assert!(shown.contains("\nhelm        v4.1.1 ("), "{shown}");
}
