//! The help of every verb: committed as docs/cli-reference.md, so that it cannot go stale.

use crate::common::Desk;

/// Every verb, in the order of the reference.
const VERBS: [&[&str]; 15] = [
    &[],
    &["keygen"],
    &["init"],
    &["pack"],
    &["validate"],
    &["sign"],
    &["inspect"],
    &["import"],
    &["unimport"],
    &["status"],
    &["undeploy"],
    &["deactivate"],
    &["environment", "create"],
    &["environment", "delete"],
    &["environment", "list"],
];

fn reference() -> String {
    let desk = Desk::new();
    let mut text = String::from(
        "# Command reference\n\nThe output of `solution VERB --help`; renewed by `UPDATE=1 cargo test --test cli`.\n",
    );
    for verb in VERBS {
        let mut arguments = verb.to_vec();
        arguments.push("--help");
        let help = desk.solution(&arguments).success();
        let title = ["solution"]
            .iter()
            .chain(verb)
            .copied()
            .collect::<Vec<_>>()
            .join(" ");
        // clap pads some lines; a reference needs no spaces at the end.
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        text += &format!("\n## {title}\n\n```\n{}\n```\n", help.join("\n"));
    }
    text
}

#[test]
fn the_reference_is_what_help_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cli-reference.md");
    let now = reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == now,
        "docs/cli-reference.md is stale: UPDATE=1 cargo test --test cli"
    );
}

#[test]
fn every_verb_has_examples() {
    for verb in &VERBS[1..VERBS.len() - 1] {
        let mut arguments = verb.to_vec();
        arguments.push("--help");
        let help = Desk::new().solution(&arguments).success();
        assert!(help.contains("Examples:"), "{verb:?}");
    }
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let desk = Desk::new();
    for arguments in [
        &["frobnicate"][..],
        &["pack"],
        &["validate"],
        &["import", "x.iso"],
        &["keygen", "--nonsense"],
    ] {
        desk.solution(arguments).failure(2);
    }
    let text = desk.solution(&["validate", "x.iso"]).failure(2);
    assert!(
        text.contains("--key") && text.contains("--skip-signature"),
        "{text}"
    );
}
