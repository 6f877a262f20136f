//! Bad input to `pack`: one clear message with the position and a hint, exit code 1, and no output files.

use std::fmt::Write as _;

use fixtures::example::{Programs, Release};

use crate::common::Desk;

/// Packs the example after a change to its solution.yaml, and asserts that it is refused with these words.
#[track_caller]
fn assert_refused(from: &str, to: &str, words: &[&str]) {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    desk.write("source/solution.yaml", text.replacen(from, to, 1));
    pack_refused(&desk, words);
}

#[track_caller]
fn pack_refused(desk: &Desk, words: &[&str]) {
    let before = desk.names();
    let text = desk
        .solution(&["pack", "source", "-o", "out.iso", "--key", "publisher.key"])
        .failure(1);
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    assert_eq!(desk.names(), before, "something was left");
}

#[test]
fn names_outside_the_grammar() {
    assert_refused(
        "name: example\n",
        "name: Example\n",
        &["solution.yaml", "Solution name", "`Example`"],
    );
    assert_refused(
        "version: 1.0.0",
        "version: 1.0",
        &["solution.yaml", "version"],
    );
    assert_refused(
        "version: 1.0.0",
        "version: 1.0.0+build",
        &["solution.yaml", "version"],
    );
    assert_refused(
        "name: example-operator",
        "name: Example_Operator",
        &["solution.yaml", "image name"],
    );
    assert_refused("tag: 1.0.0", "tag: '../1.0.0'", &["solution.yaml", "tag"]);
    assert_refused("ref: registry", "ref: 'http://registry", &["solution.yaml"]);
}

#[test]
fn sources_that_are_not_there() {
    assert_refused(
        "source: oci:images",
        "source: ftp:images",
        &["solution.yaml", "image source"],
    );
    assert_refused(
        "oci:images/example-operator",
        "oci:images/nowhere",
        &["images/nowhere"],
    );
    assert_refused(
        "oci:images/example-operator:1.0.0",
        "oci:images/example-operator:9.9.9",
        &["9.9.9"],
    );
}

#[test]
fn fields_that_do_not_exist() {
    assert_refused(
        "spec:\n",
        "spec:\n  colour: blue\n",
        &["solution.yaml", "colour"],
    );
    assert_refused(
        "kind: SolutionSource",
        "kind: Solution",
        &["SolutionSource"],
    );
}

#[test]
fn an_operator_image_that_is_not_among_the_images() {
    assert_refused(
        "image:\n      name: example-operator",
        "image:\n      name: other",
        &["other"],
    );
}

#[test]
fn each_mistake_in_solution_yaml_has_its_own_hint_and_one_place() {
    for (from, to, said) in [
        (
            "spec:\n",
            "spec:\n  colour: blue\n",
            [
                ": unknown field `colour`",
                "hint: correct the spelling of the field",
            ],
        ),
        (
            "      tag: 1.0.0\n      source",
            "      source",
            [
                ": missing field `tag` in spec.images[",
                "hint: add the field to this mapping",
            ],
        ),
        (
            "kind: SolutionSource",
            "kind: Solution",
            [
                ": is `solutions.metalk8s.scality.com/v1alpha1` `Solution`",
                "hint: write `apiVersion:",
            ],
        ),
        (
            "version: 1.0.0",
            "version: 1.0.0\n  version: 1.0.0",
            [
                ": duplicate key `version`",
                "hint: remove one of the two entries",
            ],
        ),
        (
            "name: example\n",
            "name: Example\n",
            ["`Example`", "hint: write a value that"],
        ),
        (
            "version: 1.0.0",
            "version: '1.0.0",
            ["", "hint: correct the YAML"],
        ),
        (
            "version: 1.0.0",
            "version: [1]",
            ["", "hint: write a value of the type"],
        ),
    ] {
        let desk = Desk::with_key();
        desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
        let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        desk.write("source/solution.yaml", text.replacen(from, to, 1));
        let text = desk.solution(&["pack", "source", "--check"]).failure(1);
        let lines: Vec<&str> = text.lines().collect();
        let place = "error[source.yaml]: solution.yaml:";
        assert!(lines[0].starts_with(place), "{text}");
        assert!(
            lines[0].contains(said[0]) && lines[1].contains(said[1]),
            "{text}"
        );
        assert!(!lines[0].contains(" at line "), "{text}");
    }
}

#[test]
fn another_ending_or_a_file_for_its_directory_is_named() {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let said = desk.solution(&["pack", "source/solution.yaml", "--check"]);
    let said = said.failure(1);
    assert!(said.contains("is a file, not the directory"), "{said}");
    std::fs::rename(
        desk.path("source/solution.yaml"),
        desk.path("source/solution.yml"),
    )
    .unwrap();
    for check in [&["--check"][..], &["--add-images"]] {
        let said = desk.solution(&[&["pack", "source"], check].concat());
        let said = said.failure(1);
        assert!(said.contains("`source` has `solution.yml`"), "{said}");
        assert!(said.contains("rename it to `solution.yaml`"), "{said}");
    }
}

/// Returns a text whose aliases expand to ten thousand million values.
pub(crate) fn bomb() -> String {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        writeln!(bomb, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    bomb
}

#[test]
fn yaml_bombs() {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    desk.write("source/solution.yaml", bomb());
    pack_refused(&desk, &["solution.yaml"]);
    desk.write("source/solution.yaml", "{a: ".repeat(20_000));
    pack_refused(&desk, &["solution.yaml"]);
    desk.write("source/solution.yaml", vec![b'#'; 2_000_000]);
    pack_refused(&desk, &["solution.yaml"]);
}

#[test]
fn image_documents_that_lie() {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let index = "source/images/example-server/index.json";
    let good = String::from_utf8(desk.read(index)).unwrap();
    desk.write(index, good.replacen('{', r#"{"manifests":[],"#, 1));
    pack_refused(&desk, &["duplicate key `manifests`"]);
    desk.write(index, "x".repeat(5_000_000));
    pack_refused(&desk, &["index.json"]);
}
