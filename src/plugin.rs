//! The program as a plugin: for `kubectl solution`, kubectl runs `kubectl-solution` from PATH. Usage, help and examples
//! then name what was typed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Command;
use clap::builder::{Resettable, StyledStr};

/// The file that kubectl runs.
const FILE: &str = "kubectl-solution";
/// What people type for it.
const TYPED: &str = "kubectl solution";

/// The command line under the name of the program that was started.
pub(crate) fn as_typed(command: Command, started: Option<&OsString>) -> Command {
    let file = started.and_then(|path| Path::new(path).file_name());
    if file == Some(OsStr::new(FILE)) {
        reworded(command).bin_name(TYPED)
    } else {
        command
    }
}

/// The same verbs, with texts in which commands begin as they are typed.
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

/// Where the word `solution` stands alone and something follows, it is the program.
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
