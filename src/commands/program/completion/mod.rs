//! `solution completion`: what a shell needs to complete command lines of this program.

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use crate::args::Output;
use crate::commands::look::cat;
use crate::failure::{Failure, Outcome};

/// kubectl reads no script, but runs a program. This one asks the script for bash.
const KUBECTL: &str = include_str!("kubectl_complete-solution");

/// Print a shell completion script
#[derive(Args, Debug)]
#[command(after_help = "\
The examples write each script to the directory where its shell looks for it. For `kubectl solution`, kubectl \
needs bash, and `kubectl_complete-solution` and `kubectl-solution` on the PATH.

Examples:
  solution completion bash > /usr/local/share/bash-completion/completions/solution
  solution completion zsh > /usr/local/share/zsh/site-functions/_solution
  solution completion fish > /usr/local/share/fish/vendor_completions.d/solution.fish
  solution completion kubectl > kubectl_complete-solution && chmod +x kubectl_complete-solution")]
pub(crate) struct Arguments {
    /// The shell, or kubectl
    #[arg(value_enum, value_name = "SHELL")]
    shell: Completer,
}

/// Who completes command lines.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Completer {
    Bash,
    Zsh,
    Fish,
    Kubectl,
}

pub(crate) fn run(arguments: &Arguments, cli: Command, output: Output) -> Result<Outcome, Failure> {
    if output == Output::Json {
        let failure = Failure::usage("cannot write a script as JSON");
        return Err(failure.hint("omit `--output json`"));
    }
    let script = match arguments.shell {
        Completer::Bash => generated(Shell::Bash, cli),
        Completer::Zsh => generated(Shell::Zsh, cli),
        Completer::Fish => generated(Shell::Fish, cli),
        Completer::Kubectl => KUBECTL.into(),
    };
    cat::write(&script).map(drop)?;
    Ok(Outcome::Yes)
}

fn generated(shell: Shell, mut cli: Command) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli, "solution", &mut script);
    script
}
