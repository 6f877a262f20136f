//! References that are generated and committed, so that they cannot go stale: the help of every verb, every finding, and
//! every obstacle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::common::Desk;

/// Every verb, as `--help` lists them, each followed by the verbs below it.
pub(crate) fn verbs(desk: &Desk, above: &[String]) -> Vec<Vec<String>> {
    let help = help(desk, above);
    let mut all = Vec::new();
    for name in listed(&help, above.is_empty()) {
        let verb = [above, &[name]].concat();
        let below = verbs(desk, &verb);
        all.push(verb);
        all.extend(below);
    }
    all
}

/// The commands that a help text lists: those of the program in groups, the last of which has their names alone.
fn listed(help: &str, is_program: bool) -> Vec<String> {
    let start = if is_program {
        "\n\nPublish:\n"
    } else {
        "\nCommands:\n"
    };
    let list = help.split_once(start).map_or("", |(_, list)| list);
    let list = list
        .split_once("\nOptions:\n")
        .map_or(list, |(list, _)| list);
    let (described, others) = list.split_once("Other:\n").unwrap_or((list, ""));
    let names = described
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let others = others
        .split([',', ' ', '\n'])
        .filter(|name| !name.is_empty());
    let names = names.chain(others).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

fn help(desk: &Desk, verb: &[String]) -> String {
    let mut arguments: Vec<&str> = verb.iter().map(String::as_str).collect();
    arguments.push("--help");
    desk.solution(&arguments).success()
}

/// Verbs that say the same of a flag before the reference says it once for all of them.
const SEVERAL: usize = 3;

fn reference() -> String {
    let desk = Desk::new();
    let mut all = vec![Vec::new()];
    all.extend(verbs(&desk, &[]));
    assert!(all.len() > 10, "{all:?}");
    let helps: Vec<String> = all.iter().map(|verb| help(&desk, verb)).collect();
    let parts: Vec<Vec<Part>> = helps.iter().map(|help| parts(help)).collect();
    let mut takers: BTreeMap<&str, usize> = BTreeMap::new();
    for flag in parts.iter().flatten().filter_map(Part::flag) {
        *takers.entry(flag).or_default() += 1;
    }
    // Of two texts of one flag, that of most verbs: `Also` names it without its text.
    let mut shared: BTreeMap<String, &str> = BTreeMap::new();
    for (flag, count) in takers.iter().filter(|(_, count)| **count >= SEVERAL) {
        let said = shared.entry(name_of(flag)).or_insert(flag);
        if takers[said] < *count {
            *said = flag;
        }
    }
    let is_shared = |flag: &str| shared.get(&name_of(flag)) == Some(&flag);
    let flags: Vec<&str> = shared.values().copied().collect();
    let mut text = String::from(REFERENCE_HEAD);
    writeln!(text, "\n```\n{}\n```", flags.join("\n\n")).unwrap();
    for (verb, parts) in all.iter().zip(&parts) {
        let title = [&["solution".to_owned()], &verb[..]].concat().join(" ");
        let flags = parts.iter().filter_map(Part::flag);
        let also = flags.filter(|flag| is_shared(flag)).map(name_of);
        let also = also.collect::<Vec<_>>().join(", ");
        let own = parts.iter().filter_map(|part| match part {
            Part::Flag(flag) => Some(*flag).filter(|flag| !is_shared(flag)),
            Part::Other(text) => Some(*text),
        });
        let own = without_empty_headings(&own.collect::<Vec<_>>());
        writeln!(text, "\n## {title}\n\n```\n{own}\n```\n\nAlso: {also}.").unwrap();
    }
    // clap pads some lines; a reference needs no spaces at the end.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

const REFERENCE_HEAD: &str = "\
# Command reference

The output of `solution VERB --help`; renewed by `UPDATE=1 cargo test --test cli`. [JSON results and events](results.md) \
tells what `--output json` gives.

## Flags of several verbs

Under each verb, `Also` names those of these that it takes.
";

/// A part of a help text: a flag with what it does, or something else.
enum Part<'a> {
    Flag(&'a str),
    Other(&'a str),
}

impl<'a> Part<'a> {
    fn flag(&self) -> Option<&'a str> {
        match self {
            Self::Flag(flag) => Some(flag),
            Self::Other(_) => None,
        }
    }
}

/// The parts of a help text, which empty lines part; what is indented deeper than a flag belongs to the one before.
fn parts(help: &str) -> Vec<Part<'_>> {
    let is_deep = |at: usize| help[at..].starts_with("        ");
    let after_empty = help.match_indices("\n\n").map(|(at, _)| at + 2);
    // The first flag follows its heading without an empty line.
    let headings = help.match_indices(":\n  ").map(|(at, _)| at + 2);
    let flags = headings.filter(|at| help[*at..].trim_start().starts_with('-'));
    let mut starts: Vec<usize> = after_empty.chain(flags).chain([0]).collect();
    starts.retain(|at| !is_deep(*at));
    starts.sort_unstable();
    starts.push(help.len());
    let texts = starts.windows(2).map(|it| help[it[0]..it[1]].trim_end());
    let parts = texts.map(|text| {
        if text.trim_start().starts_with('-') {
            Part::Flag(text)
        } else {
            Part::Other(text)
        }
    });
    parts.collect()
}

/// A flag as it is called, without its value and its short form.
fn name_of(flag: &str) -> String {
    let words = flag.split_whitespace();
    let name = words.into_iter().find(|word| word.starts_with("--"));
    format!("`{}`", name.expect("every flag has a long form"))
}

/// What is left of a help text; a heading under which no flag is left goes.
fn without_empty_headings(parts: &[&str]) -> String {
    let is_heading = |text: &str| text.ends_with(':') && !text.contains('\n');
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        let next = parts.get(at + 1);
        let has_flag = next.is_some_and(|next| next.trim_start().starts_with('-'));
        if is_heading(part) && !has_flag {
            continue;
        }
        text += part;
        text += if is_heading(part) { "\n" } else { "\n\n" };
    }
    text.trim_end().to_owned()
}

/// Every finding, by group.
fn findings() -> String {
    let mut text = String::from(FINDINGS_HEAD);
    let mut group = "";
    for info in rules::catalogue::FINDINGS {
        if info.group() != group {
            group = info.group();
            writeln!(text, "\n## {group}\n\n{}\n", about(group)).unwrap();
            text += "| id | severity | what it means | what to do |\n|---|---|---|---|\n";
        }
        let severity = info.severity.word();
        let cell = |text: &str| text.replace('|', "\\|");
        let (id, summary, fix) = (info.id, cell(info.summary), cell(info.fix));
        writeln!(text, "| `{id}` | {severity} | {summary} | {fix} |").unwrap();
    }
    text
}

const FINDINGS_HEAD: &str = "\
# Findings

What `solution validate` can find, in the order in which it reports; `pack` and `import` find the same. An *error* refuses \
the archive (exit code 1); a *warning* does not, unless a [publisher's policy](../how-to/publish/ci.md#a-policy-for-findings) \
says so. Ids are stable: a script may rely on them (`--output json`, field \
`findings`). What can be in the way of a change are [obstacles](obstacles.md). Renewed from the code by `UPDATE=1 cargo \
test --test cli`.
";

fn about(group: &str) -> &'static str {
    match group {
        "source" => {
            "The source tree that `pack` reads, before there is an archive. What an archive could not have either is found in it too, under the ids below."
        }
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
        "vulnerabilities" => {
            "What a database knows against the packages of images, with `validate --vulnerabilities`. Only a policy refuses by it ([how](../how-to/publish/sboms.md))."
        }
        other => panic!("group {other} has no words"),
    }
}

/// Every obstacle, by its type.
fn obstacles() -> String {
    let schema = schemars::schema_for!(importer::Obstacle).to_value();
    let mut text = String::from(OBSTACLES_HEAD);
    let mut open = vec![&schema];
    while let Some(group) = open.pop() {
        let (title, about) = (&group["title"], said(group));
        let title = title.as_str().expect("a type of obstacles has a title");
        writeln!(text, "\n## {title}\n\n{about}\n").unwrap();
        text += "| id | meaning | fields |\n|---|---|---|\n";
        let choices = ["anyOf", "oneOf"].into_iter();
        let choices = choices.filter_map(|key| group[key].as_array()).flatten();
        for choice in choices {
            match choice["$ref"].as_str() {
                Some(below) => open.push(schema.pointer(&below[1..]).unwrap()),
                None => writeln!(text, "{}", row(choice)).unwrap(),
            }
        }
    }
    text
}

/// An obstacle with its fields, as a row of its table.
fn row(obstacle: &Value) -> String {
    let fields = obstacle["properties"].as_object().unwrap();
    let id = fields["id"]["const"].as_str().unwrap();
    let fields = fields.iter().filter(|(name, _)| *name != "id");
    let fields = fields.map(|(name, field)| format!("`{name}`: {}", said(field)));
    let fields: Vec<String> = fields.collect();
    format!("| `{id}` | {} | {} |", said(obstacle), fields.join(" "))
}

/// The description in a schema, in one line.
fn said(schema: &Value) -> String {
    let words = schema["description"].as_str();
    let words = words.unwrap_or_else(|| panic!("{schema:#} is not described"));
    words.replace('\n', " ").replace('|', "\\|")
}

const OBSTACLES_HEAD: &str = "\
# Blockers

A blocker is a reason why a change to a cluster or a push cannot be executed. With `--output json`, the field `obstacle` \
contains its id and its fields, in addition to the message ([JSON results and events](results.md)). Ids are stable, so \
scripts can rely on them. Objects are written as `KIND NAMESPACE/NAME`, a Solution with its version as `NAME-VERSION`. \
The types of all fields are defined by `ObstacleData` in `schemas/results/common.schema.json`. Problems of an archive \
are [findings](findings.md). This page is generated by `UPDATE=1 cargo test --test cli`.
";

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
    compare("reference/cli.md", &reference());
}

#[test]
fn the_list_of_findings_is_the_validators() {
    compare("reference/findings.md", &findings());
}

#[test]
fn the_list_of_obstacles_is_the_importers() {
    compare("reference/obstacles.md", &obstacles());
}

#[test]
fn the_results_of_every_verb_have_a_schema() {
    let desk = Desk::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/results");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: BTreeSet<String> = files.collect();
    // What several have, and the lines of `--progress`.
    for shared in ["common", "event", "push-event"] {
        assert!(files.remove(&format!("{shared}.schema.json")), "{shared}");
    }
    let verbs = verbs(&desk, &[]).into_iter();
    // A verb with verbs below it does nothing itself.
    let verbs = verbs.filter(|verb| !help(&desk, verb).contains("\nCommands:\n"));
    let expected: BTreeSet<String> = verbs
        .map(|verb| format!("{}.schema.json", results_of(&verb)))
        .collect();
    assert_eq!(files, expected);
}

/// The name of the schema of a verb's results, which it has from the time when every verb was at the top.
fn results_of(verb: &[String]) -> String {
    let verb = verb.join("-");
    let moved = ["archive-", "crds-", "registry-"].iter();
    let name = moved.fold(verb.as_str(), |name, group| {
        name.strip_prefix(group).unwrap_or(name)
    });
    match name {
        "check" => "preflight".to_owned(),
        "site-rbac" => "rbac".to_owned(),
        "verify" | "prune" => format!("registry-{name}"),
        name => name.to_owned(),
    }
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
    desk.write("x.iso", "");
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
