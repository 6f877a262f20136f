//! `solution schema`, and the line that names the schema in documents that the program writes.

use serde_json::{Value, json};

use crate::common::Desk;

const RELEASE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, namespace: shop}\n";

/// Returns the schema that the first line of a document names, as the program prints it.
fn schema_of(desk: &Desk, path: &str) -> Value {
    let text = String::from_utf8(desk.read(path)).unwrap();
    let first = text.lines().next().unwrap();
    let file = first.strip_prefix("# yaml-language-server: $schema=");
    let file = file.unwrap_or_else(|| panic!("{path} begins with {first}"));
    let name = file.strip_suffix(".schema.json").unwrap();
    let schema: Value = serde_json::from_str(&desk.solution(&["schema", name]).success()).unwrap();
    assert!(
        schema["$id"]
            .as_str()
            .unwrap()
            .ends_with(&format!("/{file}"))
    );
    schema
}

#[test]
fn what_is_written_names_the_schema_that_is_printed() {
    let desk = Desk::new();
    desk.write("release.yaml", RELEASE);
    desk.solution(&["init", "app"]).success();
    desk.solution(&[
        "init",
        "--from",
        "release.yaml",
        "shop",
        "--version",
        "1.0.0",
    ])
    .success();
    desk.solution(&["site", "init"]).success();
    desk.solution(&["fleet", "init"]).success();
    for (path, title) in [
        ("app/solution.yaml", "SolutionSource"),
        ("shop/solution.yaml", "SolutionSource"),
        ("site.yaml", "Site"),
        ("fleet.yaml", "SolutionFleet"),
    ] {
        assert_eq!(schema_of(&desk, path)["title"], title, "{path}");
    }
    // Readers ignore the line.
    desk.solution(&["site", "check", "site.yaml"]).success();
    desk.solution(&["pack", "shop", "--check"]).success();
}

#[test]
fn schemas_are_listed_and_printed_as_they_are_kept() {
    let desk = Desk::new();
    let listed = desk.solution(&["schema", "--output", "json"]).json();
    let names = listed["schemas"].as_array().unwrap();
    assert!(names.contains(&json!("solution-source")), "{listed}");
    for name in names {
        let name = name.as_str().unwrap();
        let kept = format!("{}/schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let kept = std::fs::read_to_string(kept).unwrap();
        assert!(desk.solution(&["schema", name]).success() == kept, "{name}");
    }
    let said = desk.solution(&["schema"]).success();
    assert!(said.contains("trust-policy"), "{said}");
    let said = desk.solution(&["schema", "none"]).failure(2);
    assert!(said.contains("solution-source"), "{said}");
}
