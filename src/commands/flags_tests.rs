//! One flag, one meaning: docs/flags.md is made from all verbs, and no two of them use one flag for two things.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

const HEAD: &str = "\
# Flags of several verbs

Every flag that more than one verb takes. A flag has the same short form and the same kind of value wherever it stands; \
only `--key` is a secret key where something is signed, and a public one where it is checked. The [command reference](cli-reference.md) has the flags of each verb. Renewed by \
`UPDATE=1 cargo test --bins flags`.

| flag | meaning | verbs |
|---|---|---|
";

/// What a flag is: its short form, and what its value is called.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    short: Option<char>,
    value: Option<String>,
}

impl Form {
    fn of(argument: &Arg) -> Self {
        let takes_values = argument.get_action().takes_values();
        let names = argument.get_value_names().filter(|_| takes_values);
        Self {
            short: argument.get_short(),
            value: names.and_then(<[_]>::first).map(ToString::to_string),
        }
    }

    fn spelled(&self, flag: &str) -> String {
        let short = self.short.map_or(String::new(), |it| format!("-{it}, "));
        let value = self.value.as_ref();
        let value = value.map_or(String::new(), |it| format!(" {it}"));
        format!("{short}--{flag}{value}")
    }
}

/// Every flag of every verb, with the verbs that take it.
fn flags<'a>(
    command: &'a Command,
    above: &str,
    found: &mut BTreeMap<&'a str, Vec<(String, &'a Arg)>>,
) {
    for verb in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = format!("{above}{}", verb.get_name());
        for argument in verb.get_arguments() {
            if let Some(flag) = argument.get_long() {
                let of_flag = found.entry(flag).or_default();
                of_flag.push((name.clone(), argument));
            }
        }
        flags(verb, &format!("{name} "), found);
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the test decides to renew"
)]
fn a_flag_means_the_same_in_every_verb() {
    let program = super::Cli::command();
    let mut found = BTreeMap::new();
    flags(&program, "", &mut found);
    let mut text = HEAD.to_owned();
    for (flag, verbs) in found.iter().filter(|(_, verbs)| verbs.len() > 1) {
        let form = Form::of(verbs[0].1);
        let mut rows: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (verb, argument) in verbs {
            let this = Form::of(argument);
            // A key to sign with is secret, one to check with is public.
            assert!(
                this == form || *flag == "key",
                "--{flag} of {verb}: {this:?}, {form:?}"
            );
            let meaning = argument.get_help().map(ToString::to_string);
            let meaning = meaning.unwrap_or_default().replace('|', "\\|");
            let row = format!("| `{}` | {meaning}", this.spelled(flag));
            rows.entry(row).or_default().push(verb);
        }
        for (row, verbs) in rows {
            writeln!(text, "{row} | {} |", verbs.join(", ")).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/flags.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/flags.md is stale: UPDATE=1 cargo test --bins flags"
    );
}
