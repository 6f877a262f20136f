//! The parsed command line: a command, a request for help, or a mistake, which is reported like every other failure. As
//! a kubectl plugin, the texts name `kubectl solution`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::{Resettable, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, FromArgMatches as _};
use schemas::printable;

use crate::args::{Output, choose};
use crate::commands::{self, Cli};
use crate::failure::Failure;
use crate::hints::Verb;
use crate::settings::{self, Settings};
use crate::{render, spelling};

/// A parsed command line.
pub(crate) enum ParsedCommandLine {
    /// A command to run.
    Command(Box<Cli>, Verb),
    /// A request for the help or the version.
    Help(clap::Error),
    /// An invalid command line, with the output format for its failure.
    Wrong(Output, Failure),
}

/// Parses the command line.
pub(crate) fn read(typed: impl IntoIterator<Item = OsString>) -> ParsedCommandLine {
    let typed: Vec<OsString> = typed.into_iter().collect();
    let typed = spelling::current(typed);
    let settings = match Settings::read() {
        Ok(settings) => settings,
        Err(_) if settings::is_independent(&typed) => Settings::default(),
        Err(error) => return ParsedCommandLine::Wrong(wished(&typed), Failure::usage(error)),
    };
    let error = match parse(&typed, &settings) {
        Ok((cli, verb)) => return ParsedCommandLine::Command(Box::new(cli), verb),
        Err(error) => error,
    };
    let output = wished(&typed);
    match (error.kind(), output) {
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _)
        | (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, Output::Human) => {
            ParsedCommandLine::Help(error)
        }
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, Output::Json) => {
            let failure = Failure::usage("no command is given");
            ParsedCommandLine::Wrong(output, failure.hint("for more information, try '--help'"))
        }
        _ => ParsedCommandLine::Wrong(output, failure(&again(&typed, &settings).unwrap_or(error))),
    }
}

/// Parses a command line. Its first word is the name with which the program was started.
fn parse(typed: &[OsString], settings: &Settings) -> Result<(Cli, Verb), clap::Error> {
    let command = settings.apply(commands::command());
    let mut command = as_typed(command, typed.first());
    let matches = command.try_get_matches_from_mut(typed)?;
    let verb = Verb::of(&command, &matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, verb))
}

/// Returns the requested output format of a command line that is wrong elsewhere.
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

/// Returns the same error for arguments that may be shown. Its text repeats them, and is then split into lines.
fn again(typed: &[OsString], settings: &Settings) -> Option<clap::Error> {
    let shown = typed.iter().map(|argument| argument.to_string_lossy());
    let shown = shown.map(|argument| printable(&argument).into_owned().into());
    parse(&shown.collect::<Vec<_>>(), settings).err()
}

/// Returns the failure for an invalid command line. For an unknown command, it has the most probable command as a hint.
/// For other errors, the first paragraph is the cause, whose objects are on separate lines, and each further line is a
/// hint.
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

/// Returns the command whose usage an error shows: `solution` or a group of its commands.
fn above(text: &str) -> String {
    let (_, usage) = text.split_once("Usage: ").unwrap_or(("", "solution"));
    let words = usage.split_whitespace();
    let words = words.take_while(|word| !word.starts_with(['[', '<']));
    words.collect::<Vec<_>>().join(" ")
}

/// Formats a tip, the usage or a pointer to the help as a hint: in lower case and without a full stop.
fn hint(line: &str) -> String {
    let line = line
        .trim()
        .trim_start_matches("tip: ")
        .trim_end_matches('.');
    let mut rest = line.chars();
    let first = rest.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(rest).collect()
}

/// The file name of the kubectl plugin.
const FILE: &str = "kubectl-solution";
/// The command with which users call the plugin.
const TYPED: &str = "kubectl solution";

/// Returns the command line under the name with which the program was started.
fn as_typed(command: Command, started: Option<&OsString>) -> Command {
    let file = started.and_then(|path| Path::new(path).file_name());
    if file == Some(OsStr::new(FILE)) {
        reworded(command).bin_name(TYPED)
    } else {
        command
    }
}

/// Returns the same verbs with help texts in which commands begin with the typed program name.
fn reworded(command: Command) -> Command {
    let (short, long) = (words(command.get_about()), words(command.get_long_about()));
    let (after, after_long) = (
        words(command.get_after_help()),
        words(command.get_after_long_help()),
    );
    let command = command.about(short).long_about(long);
    let command = command.after_help(after).after_long_help(after_long);
    let command = command.mut_args(|argument| {
        let (short, long) = (words(argument.get_help()), words(argument.get_long_help()));
        argument.help(short).long_help(long)
    });
    command.mut_subcommands(reworded)
}

/// Replaces the word `solution` in a text if it is the program's name, which is followed by a space.
fn words(text: Option<&StyledStr>) -> Resettable<StyledStr> {
    let reworded = text.map(|text| {
        let text = text.ansi().to_string();
        let words = text.split_inclusive([' ', '\n', '`']);
        let words = words.map(|word| match word {
            "solution " => "kubectl solution ",
            other => other,
        });
        words.collect::<String>().into()
    });
    reworded.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(arguments: &[&str]) -> (Output, Vec<String>) {
        let typed = ["solution"].iter().chain(arguments).map(OsString::from);
        match read(typed) {
            ParsedCommandLine::Wrong(output, failure) => (output, failure.lines().collect()),
            ParsedCommandLine::Command(..) | ParsedCommandLine::Help(_) => {
                panic!("{arguments:?} is not wrong")
            }
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
