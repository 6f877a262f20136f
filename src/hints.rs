//! Hints for the verb in use. A hint names flags and is shared by multiple verbs. If the verb in use does not have such
//! a flag, the hint names another verb that has it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use crate::render;

/// The verbs that hints name first if multiple verbs have a flag. They have the fewest requirements.
const FIRST: [&str; 2] = ["deploy", "import"];

static IN_USE: OnceLock<Verb> = OnceLock::new();

/// The verb of the command line.
#[derive(Debug)]
pub(crate) struct Verb {
    /// The flags that can be added to the command line, without dashes.
    takes: BTreeSet<String>,
    /// The verb to name for each flag.
    takers: BTreeMap<String, String>,
}

impl Verb {
    /// Returns the verb of a parsed command line.
    pub(crate) fn of(mut command: &Command, mut matches: &ArgMatches) -> Self {
        let takers = takers(command);
        let mut all: Vec<&Arg> = command.get_arguments().collect();
        while let Some((name, more)) = matches.subcommand()
            && let Some(verb) = command.find_subcommand(name)
        {
            (command, matches) = (verb, more);
            all.extend(command.get_arguments());
        }
        let given = |flag: &&&Arg| {
            let source = matches.try_contains_id(flag.get_id().as_str()).is_ok();
            source && matches.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine)
        };
        let of_verb: Vec<&Arg> = command.get_arguments().collect();
        let given: Vec<&Arg> = of_verb.iter().filter(given).copied().collect();
        let excludes = |one: &Arg, other: &Arg| {
            of_verb.contains(&one)
                && command
                    .get_arg_conflicts_with(one)
                    .iter()
                    .any(|argument| argument.get_id() == other.get_id())
        };
        let fits = |flag: &&&Arg| {
            let mut given = given.iter();
            !given.any(|given| excludes(given, flag) || excludes(flag, given))
        };
        let fitting = all.iter().filter(fits).filter_map(|flag| flag.get_long());
        Self {
            takes: fitting.map(str::to_owned).collect(),
            takers,
        }
    }

    /// Makes all further hints refer to this verb.
    pub(crate) fn put_in_use(self) {
        // A process has one command line, so only the first call counts.
        drop(IN_USE.set(self));
    }

    /// Returns the hint, with the verbs that have the flags which this verb lacks.
    fn fit(&self, hint: String) -> String {
        let lacking = bare_flags(&hint).filter(|flag| !self.takes.contains(*flag));
        let mut elsewhere = BTreeMap::<String, BTreeSet<String>>::new();
        for flag in lacking {
            if let Some(verb) = self.takers.get(flag) {
                elsewhere
                    .entry(verb.clone())
                    .or_default()
                    .insert(format!("--{flag}"));
            }
        }
        if elsewhere.is_empty() {
            return hint;
        }
        let takes = elsewhere
            .into_iter()
            .map(|(verb, flags)| format!("`solution {verb}` takes {}", render::list(flags)));
        let takes = format!(" ({})", takes.collect::<Vec<_>>().join("; "));
        if hint.ends_with(&takes) {
            return hint;
        }
        hint + &takes
    }
}

/// Returns the hint, adapted to the verb in use.
pub(crate) fn fit(hint: impl Into<String>) -> String {
    match IN_USE.get() {
        Some(verb) => verb.fit(hint.into()),
        None => hint.into(),
    }
}

/// Returns the quoted parts of a hint.
fn quoted(hint: &str) -> impl Iterator<Item = &str> {
    hint.split('`').skip(1).step_by(2)
}

/// Returns the flags that a hint names without a verb.
fn bare_flags(hint: &str) -> impl Iterator<Item = &str> {
    quoted(hint)
        .filter(|words| words.starts_with("--"))
        .flat_map(flags)
}

fn flags(words: &str) -> impl Iterator<Item = &str> {
    let flags = words.split_whitespace();
    let flags = flags.filter_map(|word| word.strip_prefix("--"));
    flags.map(|flag| flag.split('=').next().unwrap_or(flag))
}

/// Returns a command for each flag that has it.
fn takers(cli: &Command) -> BTreeMap<String, String> {
    let mut takers = BTreeMap::new();
    for verb in FIRST {
        if let Some(command) = cli.find_subcommand(verb) {
            add_takers(command, verb, &mut takers);
        }
    }
    for command in cli.get_subcommands() {
        add_takers(command, command.get_name(), &mut takers);
    }
    takers
}

/// Adds the flags of a command and its subcommands, unless another command was found for them.
fn add_takers(command: &Command, path: &str, takers: &mut BTreeMap<String, String>) {
    for flag in command.get_arguments().filter_map(Arg::get_long) {
        let taker = takers.entry(flag.to_owned());
        taker.or_insert_with(|| path.to_owned());
    }
    for below in command.get_subcommands() {
        add_takers(below, &format!("{path} {}", below.get_name()), takers);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::commands;

    fn verb(words: &str) -> Verb {
        let mut command = commands::command();
        command.build();
        let typed = ["solution"].into_iter().chain(words.split(' '));
        let matches = command.clone().try_get_matches_from(typed).unwrap();
        Verb::of(&command, &matches)
    }

    #[test]
    fn a_hint_says_which_verb_takes_what_the_one_in_use_does_not() {
        let fit = |words: &str, hint: &str| verb(words).fit(hint.to_owned());
        let recreate = "delete and recreate it with `--recreate Job/setup`";
        let deploy = "deploy shop -e prod";
        assert_eq!(fit(deploy, recreate), recreate);
        let back = "rollback shop -e prod";
        let elsewhere = format!("{recreate} (`solution deploy` takes --recreate)");
        assert_eq!(fit(back, recreate), elsewhere);
        assert_eq!(fit(back, &elsewhere), elsewhere);
        let values = "give one with `--set NAME=VALUE`, or with `--values FILE`";
        let elsewhere = format!("{values} (`solution deploy` takes --set, --values)");
        assert_eq!(fit(back, values), elsewhere);
        let replace = "`--replace` moves the tag";
        let elsewhere = format!("{replace} (`solution import` takes --replace)");
        assert_eq!(fit(deploy, replace), elsewhere);
        // Flags that conflict with those on the command line are not suggested without a note.
        assert_eq!(fit("apply -f a.yaml", replace), replace);
        assert_eq!(fit("apply --plan plan.json", replace), elsewhere);
        // The hints name every flag with its verb.
        for hint in [
            "`--output json` shows all",
            "`solution crds activate NAME VERSION --migrate` first",
        ] {
            assert_eq!(fit(back, hint), hint);
        }
    }

    /// Collects the lines of code of this program, without tests and comments.
    fn texts(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                texts(&path, found);
            } else if !name.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                let lines = code
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                found.extend(lines.map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_flag_that_is_named_exists_and_so_with_its_verb() {
        let cli = commands::command();
        let takers = takers(&cli);
        let mut lines = Vec::new();
        texts(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut lines,
        );
        let (mut bare, mut with_verb) = (0, 0);
        for line in &lines {
            for flag in bare_flags(line).filter(|flag| !flag.is_empty()) {
                let global = cli
                    .get_arguments()
                    .any(|argument| argument.get_long() == Some(flag));
                let known = global || takers.contains_key(flag);
                assert!(known, "no verb takes --{flag}: {line}");
                bare += 1;
            }
            for words in quoted(line) {
                let mut typed = words.strip_prefix("solution ").unwrap_or(words).split(' ');
                let named = typed.next().and_then(|name| cli.find_subcommand(name));
                let Some(mut command) = named else {
                    continue;
                };
                if let Some(deeper) = typed.next().and_then(|name| command.find_subcommand(name)) {
                    command = deeper;
                }
                for flag in flags(words).filter(|flag| !flag.is_empty()) {
                    let mut taken = command.get_arguments().chain(cli.get_arguments());
                    let taken = taken.any(|argument| argument.get_long() == Some(flag));
                    assert!(
                        taken,
                        "`{}` does not take --{flag}: {line}",
                        command.get_name()
                    );
                    with_verb += 1;
                }
            }
        }
        assert!(
            bare > 50 && with_verb > 20,
            "{bare} and {with_verb} are too few"
        );
    }
}
