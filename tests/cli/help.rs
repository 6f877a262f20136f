//! References that are generated and committed, so that they cannot go stale: the help of every verb, and every finding.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::common::Desk;

/// Every verb, as `--help` lists them, each followed by the verbs below it.
pub(crate) fn verbs(desk: &Desk, above: &[String]) -> Vec<Vec<String>> {
    let help = help(desk, above);
    let commands = help.split_once("\nCommands:\n").map(|(_, list)| list);
    let lines = commands.into_iter().flat_map(str::lines);
    let names = lines
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    let mut all = Vec::new();
    for name in names {
        let verb = [above, &[name.to_owned()]].concat();
        let below = verbs(desk, &verb);
        all.push(verb);
        all.extend(below);
    }
    all
}

fn help(desk: &Desk, verb: &[String]) -> String {
    let mut arguments: Vec<&str> = verb.iter().map(String::as_str).collect();
    arguments.push("--help");
    desk.solution(&arguments).success()
}

fn reference() -> String {
    let desk = Desk::new();
    let mut text = String::from(
        "# Command reference\n\nThe output of `solution VERB --help`; renewed by `UPDATE=1 cargo test --test cli`. [Results for programs](results.md) tells what `--output json` gives.\n",
    );
    let mut all = vec![Vec::new()];
    all.extend(verbs(&desk, &[]));
    assert!(all.len() > 10, "{all:?}");
    for verb in all {
        let title = [&["solution".to_owned()], &verb[..]].concat().join(" ");
        // clap pads some lines; a reference needs no spaces at the end.
        let help = help(&desk, &verb);
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let help = help.join("\n");
        writeln!(text, "\n## {title}\n\n```\n{help}\n```").unwrap();
    }
    text
}

/// Every finding, by group.
fn findings() -> String {
    let mut text = String::from(FINDINGS_HEAD);
    let mut group = "";
    for info in validator::FINDINGS {
        if info.group() != group {
            group = info.group();
            writeln!(text, "\n## {group}\n\n{}\n", about(group)).unwrap();
            text += "| id | severity | what it means | what to do |\n|---|---|---|---|\n";
        }
        let severity = match info.severity {
            validator::Severity::Error => "error",
            validator::Severity::Warning => "warning",
        };
        let cell = |text: &str| text.replace('|', "\\|");
        let (id, summary, fix) = (info.id, cell(info.summary), cell(info.fix));
        writeln!(text, "| `{id}` | {severity} | {summary} | {fix} |").unwrap();
    }
    text
}

const FINDINGS_HEAD: &str = "\
# Findings

What `solution validate` can find, in the order in which it reports; `pack` and `import` find the same. An *error* refuses \
the archive (exit code 1); a *warning* does not. Ids are stable: a script may rely on them (`--output json`, field \
`findings`). Renewed from the code by `UPDATE=1 cargo test --test cli`.
";

fn about(group: &str) -> &'static str {
    match group {
        "container" => "The image itself, and every byte that is not a file's.",
        "signature" => {
            "Who vouches for the archive. Until this is decided, nothing else in it is interpreted."
        }
        "integrity" => "Whether the bytes are those that were signed.",
        "manifest" => "`manifest.yaml`: what the Solution says it consists of.",
        "images" => {
            "`images/`, `blobs/` and `index.json`: both views of the images, and whether they are complete."
        }
        "operator" => "`operator/`: the CRDs and rights that an import adds to the cluster.",
        "manifests" => {
            "`manifests/`: the sets of objects that are applied as they are, and the parameters."
        }
        "charts" => "`charts/`: the Helm charts, and the artifacts that registries offer of them.",
        "programs" => "`bin/`: the programs that an archive includes for sites that have none.",
        "practice" => "What works, but is better done differently.",
        other => panic!("group {other} has no words"),
    }
}

/// A committed file is what the code says; `UPDATE=1` renews it.
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the test decides to renew"
)]
fn compare(name: &str, now: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == now,
        "docs/{name} is stale: UPDATE=1 cargo test --test cli"
    );
}

#[test]
fn the_command_reference_is_what_help_says() {
    compare("cli-reference.md", &reference());
}

#[test]
fn the_list_of_findings_is_the_validators() {
    compare("findings.md", &findings());
}

#[test]
fn the_results_of_every_verb_have_a_schema() {
    let desk = Desk::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/results");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: BTreeSet<String> = files.collect();
    // What several have, and the lines of `--progress`.
    for shared in ["common", "push-event"] {
        assert!(files.remove(&format!("{shared}.schema.json")), "{shared}");
    }
    let verbs = verbs(&desk, &[]).into_iter();
    // A verb with verbs below it does nothing itself.
    let verbs = verbs.filter(|verb| !help(&desk, verb).contains("\nCommands:\n"));
    let expected: BTreeSet<String> = verbs
        .map(|verb| format!("{}.schema.json", verb.join("-")))
        .collect();
    assert_eq!(files, expected);
}

#[test]
fn every_verb_has_examples() {
    let desk = Desk::new();
    for verb in verbs(&desk, &[]) {
        let help = help(&desk, &verb);
        // A verb with verbs below it does nothing itself.
        assert!(
            help.contains("Examples:") || help.contains("\nCommands:\n"),
            "{verb:?}"
        );
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
