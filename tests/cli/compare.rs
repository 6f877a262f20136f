//! `solution compare`, and the CRDs and permissions in `solution inspect`.

use fixtures::example::{Programs, Release};
use serde_json::{Value, json};

use crate::common::Desk;

/// Returns a desk with two versions of the example.
fn desk() -> Desk {
    let desk = Desk::with_archive();
    desk.write_example(&Programs::placeholders(), Release::V1_1_0, "newer");
    let pack = ["pack", "newer", "-o", "newer.iso", "--key", "publisher.key"];
    desk.solution(&pack).success();
    desk
}

/// Returns the JSON comparison of two archives. They differ if the exit code is 1.
#[track_caller]
fn compare(desk: &Desk, archives: [&str; 2], code: i32) -> Value {
    let arguments = [&["compare"], &archives[..], &["--output", "json"]].concat();
    let answer = desk.solution(&arguments);
    assert_eq!(answer.code, code, "{answer:?}");
    answer.json()
}

/// Changes the text of a file of a source tree, and packs the tree.
fn repack(desk: &Desk, source: &str, file: &str, change: impl Fn(&str) -> String) {
    let file = format!("{source}/{file}");
    let text = String::from_utf8(desk.read(&file)).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "{text}");
    desk.write(&file, changed);
    let pack = [
        "pack",
        source,
        "-o",
        "changed.iso",
        "--key",
        "publisher.key",
    ];
    desk.solution(&pack).success();
}

#[test]
fn the_same_archive_does_not_differ() {
    let desk = Desk::with_archive();
    let same = compare(&desk, ["example.iso", "example.iso"], 0);
    assert_eq!(same["differs"], false, "{same:#}");
    assert_eq!(same["brings"], json!({ "contents": 0, "bytes": 0 }));
    let text = desk
        .solution(&["compare", "example.iso", "example.iso"])
        .success();
    assert!(text.ends_with("no differences\n"), "{text}");
}

#[test]
fn images_and_their_bytes_are_compared() {
    let desk = desk();
    let compared = compare(&desk, ["example.iso", "newer.iso"], 1);
    assert_eq!(compared["differs"], true);
    assert_eq!(compared["before"]["solution"], "example-1.0.0");
    assert_eq!(compared["after"]["solution"], "example-1.1.0");
    let images = compared["images"].as_array().unwrap();
    let sum = |field: &str| -> u64 {
        let all = images
            .iter()
            .map(|image| image["brings"][field].as_u64().unwrap());
        all.sum()
    };
    assert!(!images.is_empty() && sum("bytes") > 0, "{compared:#}");
    // Content that both images share counts once.
    assert!(
        compared["brings"]["bytes"].as_u64().unwrap() <= sum("bytes"),
        "{compared:#}"
    );
    let back = compare(&desk, ["newer.iso", "example.iso"], 1);
    let sides = |compared: &Value, side: &str| {
        let images = compared["images"].as_array().unwrap().iter();
        images
            .map(|image| image[side].clone())
            .collect::<Vec<Value>>()
    };
    assert_eq!(sides(&compared, "before"), sides(&back, "after"));
    let text = desk
        .solution(&["compare", "example.iso", "newer.iso"])
        .failure(1);
    for line in [
        "before      example-1.0.0  signed by ",
        "includes    ",
        "image       ",
    ] {
        assert!(text.contains(line), "`{line}` is not in: {text}");
    }
}

#[test]
fn an_image_with_another_tag_and_the_same_content_is_one_image() {
    let desk = Desk::with_archive();
    repack(&desk, "source", "solution.yaml", |text| {
        text.replacen(
            "name: example-server\n      tag: 1.0.0",
            "name: example-server\n      tag: 1.1.0",
            1,
        )
    });
    let compared = compare(&desk, ["example.iso", "changed.iso"], 1);
    let images = compared["images"].as_array().unwrap();
    assert_eq!(images.len(), 1, "{compared:#}");
    assert_eq!(images[0]["image"], "example-server:1.1.0");
    assert_eq!(images[0]["former"], "example-server:1.0.0");
    assert_eq!(images[0]["before"], images[0]["after"]);
    let text = desk
        .solution(&["compare", "example.iso", "changed.iso"])
        .failure(1);
    let line = "image       example-server 1.0.0 → 1.1.0, same content\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn definitions_are_judged_as_an_import_does() {
    let desk = desk();
    let folder = desk.path("source/operator/deploy/crds");
    let files = std::fs::read_dir(folder).unwrap();
    let name = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .next()
        .unwrap();
    let file = format!("operator/deploy/crds/{name}");
    repack(&desk, "source", &file, |text| {
        text.replace("scope: Namespaced", "scope: Cluster")
    });
    let compared = compare(&desk, ["example.iso", "changed.iso"], 1);
    let definition = &compared["definitions"][0];
    assert_eq!(definition["before"]["scope"], "Namespaced", "{compared:#}");
    assert_eq!(definition["after"]["scope"], "Cluster", "{compared:#}");
    let refused = definition["refused"].as_str().unwrap();
    assert!(refused.contains("scope"), "{refused}");
    let text = desk
        .solution(&["compare", "example.iso", "changed.iso"])
        .failure(1);
    assert!(text.contains("! an import would reject it: "), "{text}");
}

#[test]
fn rights_are_told_in_the_words_of_plans() {
    let desk = desk();
    repack(&desk, "source", "operator/deploy/role.yaml", |text| {
        let rule =
            "rules:\n  - apiGroups: ['']\n    resources: [secrets]\n    verbs: [get, list, watch]";
        text.replacen("rules:", rule, 1)
    });
    let inspect = |archive: &str| desk.solution(&["inspect", archive]).success();
    let right = "read all Secrets of namespace any";
    assert!(!inspect("example.iso").contains(right));
    let text = inspect("changed.iso");
    assert!(text.contains(&format!("may         {right}")), "{text}");
    let definition =
        "defines     versionservers.example.metalk8s.test  VersionServer, namespaced: ";
    assert!(
        text.contains(definition) && text.contains("(served, stored)"),
        "{text}"
    );

    let compared = compare(&desk, ["example.iso", "changed.iso"], 1);
    let gained = compared["rightsGained"].as_array().unwrap();
    assert!(
        gained.iter().any(|gain| gain["right"] == right),
        "{compared:#}"
    );
    assert_eq!(compared["rightsLost"], json!([]), "{compared:#}");
    assert_eq!(compared["images"], json!([]), "{compared:#}");
}

#[test]
fn what_the_manifest_says_is_compared_as_text() {
    let desk = desk();
    repack(&desk, "source", "solution.yaml", |text| {
        text.replacen(
            "spec:",
            "spec:\n  parameters:\n    greeting: {type: string, default: hello}",
            1,
        )
    });
    let compared = compare(&desk, ["example.iso", "changed.iso"], 1);
    let documents = compared["documents"].as_array().unwrap();
    let added = documents
        .iter()
        .find(|document| document["kind"] == "parameter");
    let added = added.unwrap_or_else(|| panic!("{compared:#}"));
    assert_eq!(
        (&added["name"], &added["action"]),
        (&json!("greeting"), &json!("added"))
    );
    assert!(
        added["diff"]
            .as_str()
            .unwrap()
            .contains("+default: 'hello'"),
        "{added:#}"
    );
}

#[test]
fn what_is_not_in_order_is_not_compared() {
    let desk = Desk::with_archive();
    let mut bytes = desk.read("example.iso");
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    desk.write("cut.iso", bytes);
    let text = desk
        .solution(&["compare", "example.iso", "cut.iso"])
        .failure(3);
    assert!(text.contains("is truncated"), "{text}");
}
