//! A flag looks the same in every verb: one short form, and one kind of value.

use std::collections::BTreeMap;

use clap::{Arg, Command};

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
fn a_flag_looks_the_same_in_every_verb() {
    let program = super::command();
    let mut found = BTreeMap::new();
    flags(&program, "", &mut found);
    let shared = found.iter().filter(|(_, verbs)| verbs.len() > 1);
    // `--key` takes a secret key where something is signed, and a public one where it is checked; `--to` a revision where
    // something goes back, and a tool where it is handed over; `-o` is the file of `pack`; `--sbom` a form where one is made, and nothing where all are
    // shown; `--cluster` a name of a fleet's file, and a UID where there is no such file.
    let differs = |flag: &str| ["cluster", "key", "out", "output", "sbom", "to"].contains(&flag);
    let shared: Vec<_> = shared.filter(|(flag, _)| !differs(flag)).collect();
    assert!(shared.len() > 40, "{}", shared.len());
    for (flag, verbs) in shared {
        let form = Form::of(verbs[0].1);
        for (verb, argument) in verbs {
            let this = Form::of(argument);
            assert!(this == form, "--{flag} of {verb}: {this:?}, {form:?}");
        }
    }
}
