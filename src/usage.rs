//! What was typed: a command, a question for help, or a mistake, which gets the words and the shape of every other failure.

use std::ffi::OsString;

use clap::FromArgMatches as _;
use clap::error::ErrorKind;
use clap::error::{ContextKind, ContextValue};
use schemas::printable;

use crate::args::{Output, choose};
use crate::commands::Cli;
use crate::failure::Failure;
use crate::hints::Verb;
use crate::settings::{self, Settings};
use crate::{commands, plugin, render, spelling};

/// A command line.
pub(crate) enum Typed {
    /// To be run.
    Command(Box<Cli>, Verb),
    /// To be answered by the help or the version.
    Help(clap::Error),
    /// That does not exist, and how the failure is to be shown.
    Wrong(Output, Failure),
}

/// Reads the command line.
pub(crate) fn read(typed: impl IntoIterator<Item = OsString>) -> Typed {
    let typed: Vec<OsString> = typed.into_iter().collect();
    let typed = spelling::current(typed);
    let settings = match Settings::read() {
        Ok(settings) => settings,
        Err(_) if settings::is_independent(&typed) => Settings::default(),
        Err(error) => return Typed::Wrong(wished(&typed), Failure::usage(error)),
    };
    let error = match parse(&typed, &settings) {
        Ok((cli, verb)) => return Typed::Command(Box::new(cli), verb),
        Err(error) => error,
    };
    let output = wished(&typed);
    match (error.kind(), output) {
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _)
        | (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, Output::Human) => {
            Typed::Help(error)
        }
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, Output::Json) => {
            let failure = Failure::usage("no command is given");
            Typed::Wrong(output, failure.hint("for more information, try '--help'"))
        }
        _ => Typed::Wrong(output, failure(&again(&typed, &settings).unwrap_or(error))),
    }
}

/// What these words ask for; the first is the program, as it was started.
fn parse(typed: &[OsString], settings: &Settings) -> Result<(Cli, Verb), clap::Error> {
    let command = settings.apply(commands::command());
    let mut command = plugin::as_typed(command, typed.first());
    let matches = command.try_get_matches_from_mut(typed)?;
    let verb = Verb::of(&command, &matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, verb))
}

/// How the user wants results to be shown, of a command line that is wrong elsewhere.
fn wished(typed: &[OsString]) -> Output {
    let options = typed.iter().take_while(|argument| *argument != "--");
    let options: Vec<_> = options.map(|argument| argument.to_string_lossy()).collect();
    let wishes = |format: &str| {
        let apart = options.windows(2);
        let mut apart =
            apart.filter(|pair| matches!(&*pair[0], "--output" | "-o") && pair[1] == format);
        let joined = ["--output=", "-o=", "-o"].map(|flag| format!("{flag}{format}"));
        apart.next().is_some()
            || options
                .iter()
                .any(|option| joined.contains(&option.to_string()))
    };
    if wishes("yaml") {
        render::set_yaml();
    }
    choose(
        wishes("json") || wishes("yaml"),
        Output::Json,
        Output::Human,
    )
}

/// The same error about arguments that may be shown: its text repeats them, and is then taken apart by its lines.
fn again(typed: &[OsString], settings: &Settings) -> Option<clap::Error> {
    let shown = typed.iter().map(|argument| argument.to_string_lossy());
    let shown = shown.map(|argument| printable(&argument).into_owned().into());
    parse(&shown.collect::<Vec<_>>(), settings).err()
}

/// A command that does not exist is answered with the one that does what people mean by it. Of other errors, the first
/// paragraph is the cause with its objects on lines of their own, and each line of the others is a hint.
fn failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
    {
        let similar = match error.get(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::Strings(similar)) => similar.as_slice(),
            _ => &[],
        };
        let above = above(&text);
        let failure = Failure::usage(format!("`{above} {word}` does not exist"));
        let suggestion = spelling::suggestion(word, similar).into_iter();
        return suggestion
            .fold(failure, Failure::hint)
            .hint(format!("`{above} --help` lists the commands"));
    }
    let (what, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let mut lines = what.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let about: Vec<&str> = lines.collect();
    let message = format!(
        "{} {}",
        first.trim_start_matches("error: "),
        about.join(", ")
    );
    let hints = rest.lines().map(hint).filter(|hint| !hint.is_empty());
    hints.fold(Failure::usage(message.trim_end()), Failure::hint)
}

/// The command whose usage an error shows: `solution` or a group of its commands.
fn above(text: &str) -> String {
    let (_, usage) = text.split_once("Usage: ").unwrap_or(("", "solution"));
    let words = usage.split_whitespace();
    let words = words.take_while(|word| !word.starts_with(['[', '<']));
    words.collect::<Vec<_>>().join(" ")
}

/// A tip, the usage or a pointer to the help as a hint is written here: in lower case and without a full stop.
fn hint(line: &str) -> String {
    let line = line
        .trim()
        .trim_start_matches("tip: ")
        .trim_end_matches('.');
    let mut rest = line.chars();
    let first = rest.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(arguments: &[&str]) -> (Output, Vec<String>) {
        let typed = ["solution"].iter().chain(arguments).map(OsString::from);
        match read(typed) {
            Typed::Wrong(output, failure) => (output, failure.lines().collect()),
            Typed::Command(..) | Typed::Help(_) => panic!("{arguments:?} is not wrong"),
        }
    }

    #[test]
    fn a_mistake_has_the_shape_of_a_failure() {
        let (output, lines) = wrong(&["pack", "--kay", "a.key"]);
        assert_eq!(output, Output::Human);
        assert_eq!(
            lines[..2],
            [
                "error: unexpected argument '--kay' found",
                "hint: a similar argument exists: '--key'"
            ]
        );
        assert!(
            lines[2].starts_with("hint: usage: solution pack "),
            "{lines:?}"
        );
        assert_eq!(lines[3..], ["hint: for more information, try '--help'"]);
        let (_, lines) = wrong(&["pack"]);
        assert_eq!(
            lines[0],
            "error: the following required arguments were not provided: --key <KEY>"
        );
        let (_, lines) = wrong(&["--output", "xml", "status"]);
        assert_eq!(
            lines[0],
            "error: invalid value 'xml' for '--output <FORMAT>' [possible values: table, json, yaml]"
        );
    }

    #[test]
    fn json_is_asked_for_wherever_it_stands() {
        for arguments in [
            &["--output", "json", "frobnicate"][..],
            &["pack", "--output=json"],
            &["--output", "json"],
            &["trust", "--output", "json"],
        ] {
            assert_eq!(wrong(arguments).0, Output::Json, "{arguments:?}");
        }
        for arguments in [
            &["pack", "--out", "json"][..],
            &["pack", "a", "--", "--output", "json", "b"],
        ] {
            assert_eq!(wrong(arguments).0, Output::Human, "{arguments:?}");
        }
    }

    #[test]
    fn arguments_forge_no_line() {
        let (_, lines) = wrong(&["--x\n\nUsage: forged\u{1b}[2J"]);
        assert_eq!(
            lines[0],
            r"error: unexpected argument '--x\n\nUsage: forged\u{1b}[2J' found"
        );
        assert!(
            !lines[1..]
                .iter()
                .any(|line| line.contains("forged") && !line.contains(r"\n")),
            "{lines:?}"
        );
        let (_, lines) = wrong(&["init", "--version=1\n\nerror: forged"]);
        assert!(lines[0].contains(r"'1\n\nerror: forged'"), "{lines:?}");
    }
}
