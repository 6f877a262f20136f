//! `solution archive ls` and `solution archive extract`, which show an archive as a folder.

use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;

use crate::common::Desk;
use crate::stages;

/// Changes the first byte of a file of the archive.
fn damage(desk: &Desk, path: &str) {
    let archive = desk.path("example.iso");
    let listed = stages::list(&archive);
    let offset = listed.plan().extent_of(path).unwrap().offset;
    let file = fs::File::options().read(true).write(true).open(archive);
    let (file, mut byte) = (file.unwrap(), [0]);
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

/// Returns the files below a folder whose names are not in the archive.
fn parts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with(".solution-"))
        .collect()
}

#[test]
fn directories_are_listed_as_folders_are() {
    let desk = Desk::with_archive();
    let ls = |arguments: &[&str]| desk.solution(&[&["ls", "example.iso"], arguments].concat());
    let root = ls(&[]).success();
    let names: Vec<&str> = root.lines().collect();
    assert!(names.is_sorted(), "{root}");
    for name in [
        "CONTENTS",
        "SHA256SUMS",
        "blobs/",
        "images/",
        "manifest.yaml",
        "operator/",
    ] {
        assert!(names.contains(&name), "{name} is not in {root}");
    }
    assert_eq!(ls(&["operator"]).success(), "operator/deploy/\n");
    let listed = stages::list(&desk.path("example.iso"));
    let below = ls(&["operator/", "-R", "-l"]).success();
    let entries = listed.contents().entries().iter();
    let operator = entries.filter(|entry| entry.path.as_str().starts_with("operator/"));
    let expected: Vec<String> = operator
        .map(|entry| format!("{:>14}  {}  {}", entry.size, entry.digest, entry.path))
        .collect();
    assert_eq!(below.lines().collect::<Vec<_>>(), expected);
    let json = ls(&["--output", "json"]).json();
    let manifest = listed.contents().get("manifest.yaml").unwrap();
    let file = json!({
        "kind": "file", "path": "manifest.yaml", "size": manifest.size, "digest": manifest.digest,
    });
    let entries = json["entries"].as_array().unwrap();
    assert!(entries.contains(&file), "{json:#}");
    let size: u64 = listed
        .contents()
        .entries()
        .iter()
        .map(|entry| entry.size)
        .sum();
    let shown: u64 = entries
        .iter()
        .map(|entry| entry["size"].as_u64().unwrap())
        .sum();
    let own: u64 = ["CONTENTS", "SHA256SUMS"]
        .map(|name| listed.read(name, 1 << 30).unwrap().len() as u64)
        .iter()
        .sum();
    assert_eq!(shown, size + own, "{json:#}");
    let nowhere = ls(&["role.yaml"]).failure(1);
    assert!(
        nowhere.contains("did you mean `operator/deploy/role.yaml`?"),
        "{nowhere}"
    );
}

#[test]
fn what_is_extracted_is_what_was_signed_and_again_is_nothing() {
    let desk = Desk::with_archive();
    let extract = ["extract", "example.iso", "--to", "a/b", "--output", "json"];
    let first = desk.solution(&extract).json();
    let listed = stages::list(&desk.path("example.iso"));
    let to = desk.path("a/b");
    for entry in listed.files().root().files() {
        let path = to.join(entry.path.as_str());
        assert!(fs::read(&path).unwrap() == listed.read(entry.path.as_str(), 1 << 30).unwrap());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o133, 0, "{}: {mode:o}", entry.path);
    }
    let sums = desk.run("sh", &["-c", "cd a/b && sha256sum -c --quiet SHA256SUMS"]);
    sums.success();
    let files = listed.files().root().files().len();
    let [written, linked] = ["written", "linked"].map(|field| first[field].as_u64().unwrap());
    assert_eq!(
        (written + linked, &first["kept"]),
        (files as u64, &json!(0)),
        "{first:#}"
    );
    // Both views of an image share one file.
    let view = fs::metadata(to.join("images")).unwrap();
    assert!(view.is_dir() && linked > 0, "{first:#}");
    let layer = listed.image_contents().next().unwrap().digest;
    let blob = fs::metadata(to.join(archive::blob_path(&layer).as_str())).unwrap();
    assert!(blob.nlink() > 1, "{blob:?}");

    // A second run completes an interrupted one: it writes the missing file, and none of the others.
    fs::remove_file(to.join("manifest.yaml")).unwrap();
    let again = desk.solution(&extract).json();
    let counts = ["written", "linked", "kept"].map(|field| again[field].as_u64().unwrap());
    assert_eq!(counts, [1, 0, files as u64 - 1], "{again:#}");
    assert_eq!(parts(&to), Vec::<String>::new());
}

#[test]
fn nothing_is_written_where_something_is_in_the_way() {
    let desk = Desk::with_archive();
    let extract = |more: &[&str]| {
        let all = [
            "extract",
            "example.iso",
            "operator",
            "manifest.yaml",
            "--to",
            "out",
        ];
        desk.solution(&[&all[..], more].concat())
    };
    fs::create_dir_all(desk.path("outside")).unwrap();
    fs::create_dir_all(desk.path("out")).unwrap();
    symlink("../outside", desk.path("out/operator")).unwrap();
    for more in [&[][..], &["--overwrite"]] {
        let text = extract(more).failure(1);
        assert!(text.contains("or is a symbolic link"), "{text}");
        assert!(!desk.path("out/manifest.yaml").exists());
    }
    assert_eq!(fs::read_dir(desk.path("outside")).unwrap().count(), 0);
    fs::remove_file(desk.path("out/operator")).unwrap();

    symlink("/dev/null", desk.path("out/manifest.yaml")).unwrap();
    let text = extract(&["--overwrite"]).failure(1);
    assert!(text.contains("it exists and is not a file"), "{text}");
    fs::remove_file(desk.path("out/manifest.yaml")).unwrap();

    // A file of the same size, so that only its content differs.
    let mut other = desk
        .solution(&["cat", "example.iso", "manifest.yaml"])
        .stdout;
    other.replace_range(..1, "A");
    desk.write("out/manifest.yaml", &other);
    let text = extract(&[]).failure(1);
    assert!(
        text.contains("different content") && text.contains("--overwrite"),
        "{text}"
    );
    assert!(!desk.path("out/operator").exists(), "{text}");
    assert_eq!(desk.read("out/manifest.yaml"), other.as_bytes());
    extract(&["--overwrite"]).success();
    assert_ne!(desk.read("out/manifest.yaml"), other.as_bytes());
}

#[test]
fn a_damaged_file_gets_no_name() {
    let desk = Desk::with_archive();
    damage(&desk, "operator/deploy/role.yaml");
    let extract = ["extract", "example.iso", "operator/deploy", "--to", "out"];
    let text = desk.solution(&extract).failure(1);
    assert!(text.contains("is not what was signed"), "{text}");
    let folder = desk.path("out/operator/deploy");
    assert!(!folder.join("role.yaml").exists());
    assert_eq!(parts(&folder), Vec::<String>::new());
}

#[test]
fn commands_that_only_read_an_archive_verify_its_signatures_if_a_key_is_given() {
    let desk = Desk::with_archive();
    desk.solution(&["keygen", "other"]).success();
    for words in [
        &["archive", "ls", "example.iso"][..],
        &["archive", "cat", "example.iso", "manifest.yaml"],
        &["archive", "extract", "example.iso", "--to", "folder"],
        &["archive", "values", "example.iso"],
        &["inspect", "example.iso"],
        &["compare", "example.iso", "example.iso"],
    ] {
        let with = |key: &[&str]| desk.solution(&[words, key].concat());
        let unverified = with(&[]);
        assert!(unverified.stderr.contains("not verified"), "{unverified:?}");
        let verified = with(&["--key", "publisher.pub"]);
        assert_eq!(verified.code, 0, "{words:?}: {verified:?}");
        assert!(!verified.stderr.contains("not verified"), "{verified:?}");
        let refused = with(&["--key", "other.pub"]);
        assert!([1, 3].contains(&refused.code), "{words:?}: {refused:?}");
        assert_eq!(refused.stdout, "", "{words:?}: {refused:?}");
    }
}
