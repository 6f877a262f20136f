//! The layout of help: groups of commands, sections of flags, and the flags that `-h` leaves out. A test checks that
//! the short help of each command fits one screen.

use std::fmt::Write as _;

use clap::{Arg, Command};

use crate::settings::SETTINGS;

/// The commands in `solution --help`, grouped by purpose.
const GROUPS: &[(&str, &[&str])] = &[
    ("Publish", &["init", "pack", "sign", "keygen"]),
    ("Verify", &["validate", "inspect", "archive"]),
    (
        "Operate",
        &[
            "import", "deploy", "status", "diff", "history", "rollback", "undeploy", "delete",
            "console",
        ],
    ),
    (
        "Site",
        &["setup", "site", "trust", "environment", "registry", "fleet"],
    ),
];

/// A section of flags in the help of a command.
struct Section {
    title: &'static str,
    /// The flags that `-h` and `--help` show.
    common: &'static [&'static str],
    /// The flags that only `--help` shows.
    further: &'static [&'static str],
}

/// Flags that are in none of these sections are in `Options`, and `-h` shows them.
const SECTIONS: &[Section] = &[
    Section {
        title: "Options",
        common: &[],
        further: &[
            "adopt",
            "allow-downgrade",
            "cache-dir",
            "compression",
            "deployment",
            "even-if-used",
            "files",
            "force-conflicts",
            "images",
            "include-docs",
            "include-helm",
            "include-tool",
            "migrate",
            "missing-rights",
            "no-cache",
            "no-pull-proof",
            "no-pull-secret",
            "no-render",
            "passphrase-file",
            "plan-out",
            "pull-login",
            "pull-secret",
            "recreate",
            "replace",
            "skip-remove-sets",
            "syft",
            "unpack-limit",
            "with-referrers",
        ],
    },
    Section {
        title: "Values",
        common: &["set", "values"],
        further: &["unset", "chart-set", "chart-values"],
    },
    Section {
        title: "Helm charts",
        common: &[],
        further: &["helm", "use-included-helm", "keyring"],
    },
    Section {
        title: "Helmfile",
        common: &[],
        further: &["helmfile", "helmfile-environment", "helmfile-selector"],
    },
    Section {
        title: "Without a cluster",
        common: &["no-cluster"],
        further: &[
            "api-versions",
            "environment-site-file",
            "kube-version",
            "site-file",
        ],
    },
    Section {
        title: "Trust",
        common: &["keys"],
        further: &[
            "allow-unsigned",
            "archive-id",
            "change-signers",
            "forget-signers",
            "skip-signature",
            "threshold",
        ],
    },
    Section {
        title: "Registry",
        common: &["registry", "pull-registry"],
        further: &[
            "ca-file",
            "cert-dir",
            "create-repositories",
            "mirrors",
            "no-mirrors",
            "plain-http",
            "registry-mirror",
            "repository-layout",
        ],
    },
    Section {
        title: "Cluster",
        common: &["context"],
        further: &["kubeconfig", "timeout", "wait", "wait-for-cluster"],
    },
    Section {
        title: "Approval",
        common: &[],
        further: &["approvals", "approved-by"],
    },
    Section {
        title: "Receipt",
        common: &[],
        further: &["receipt-key"],
    },
    Section {
        title: "Findings",
        common: &[],
        further: &["select", "ignore", "findings-policy", "sarif", "junit"],
    },
    Section {
        title: "Vulnerabilities",
        common: &[],
        further: &["vulnerabilities", "vex", "grype", "sbom"],
    },
    Section {
        title: "Output",
        common: &["output"],
        further: &["image-map", "progress", "verbose"],
    },
];

/// Returns the command line with formatted help.
pub(crate) fn lay_out(program: Command) -> Command {
    let command = program.mut_subcommands(|command| {
        let path = command.get_name().to_owned();
        laid_out(command, &path)
    });
    let commands = commands(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Returns the groups of commands with a line for each, and the names of all further commands.
fn commands(command: &Command) -> String {
    let mut text = String::new();
    let mut others: Vec<&str> = command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .map(Command::get_name)
        .collect();
    for (title, names) in GROUPS {
        writeln!(text, "{title}:").expect("a string takes any text");
        for name in *names {
            others.retain(|other| other != name);
            let verb = command.find_subcommand(name);
            let about = verb.and_then(Command::get_about).map(ToString::to_string);
            writeln!(text, "  {name:<12} {}", about.unwrap_or_default())
                .expect("a string takes any text");
        }
        text += "\n";
    }
    others.sort_unstable();
    text + &format!("Other:\n  {}\n", others.join(", "))
}

/// Returns a command and its subcommands, with each flag in its section and a short form of the help.
fn laid_out(command: Command, path: &str) -> Command {
    let examples = command.get_after_help().and_then(|help| {
        let help = help.to_string();
        let start = help.find("Examples:\n")?;
        Some((help[start..].to_owned(), help))
    });
    let command = match examples {
        Some((examples, all)) => command.after_help(examples).after_long_help(all),
        None => command,
    };
    let command = command.mut_args(|argument| with_variable(in_section(argument), path));
    command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        laid_out(below, &path)
    })
}

/// Returns the argument with its variable in the help text.
fn with_variable(argument: Arg, path: &str) -> Arg {
    let id = argument.get_id().as_str();
    let setting = SETTINGS.iter().find(|setting| setting.is_for(path, id));
    let Some(setting) = setting else {
        return argument;
    };
    let help = argument.get_help().map(ToString::to_string);
    let help = format!("{} [env: {}]", help.unwrap_or_default(), setting.variable);
    argument.help(help)
}

fn in_section(argument: Arg) -> Arg {
    let flag = match argument.get_id().as_str() {
        // `--key` is a public key for verification and a secret key for signing.
        "keys" => "keys",
        _ => argument.get_long().unwrap_or_default(),
    }
    .to_owned();
    let flag = flag.as_str();
    let section = SECTIONS.iter().find_map(|section| {
        if section.common.contains(&flag) {
            Some((section.title, false))
        } else if section.further.contains(&flag) {
            Some((section.title, true))
        } else {
            None
        }
    });
    match section {
        Some(("Options", is_further)) => argument.hide_short_help(is_further),
        Some((title, is_further)) => argument.help_heading(title).hide_short_help(is_further),
        None => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::command;

    /// The number of terminal lines that the short help of a command may have.
    const LINES: usize = 50;

    /// Adds every command without subcommands, with its path.
    fn verbs(command: &Command, above: &str, found: &mut Vec<(String, Command)>) {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let path = format!("{above} {}", verb.get_name());
            if verb.has_subcommands() {
                verbs(verb, &path, found);
            } else {
                found.push((path, verb.clone()));
            }
        }
    }

    #[test]
    fn the_overview_describes_at_most_22_commands_and_names_all() {
        let command = command();
        let described: usize = GROUPS.iter().map(|(_, names)| names.len()).sum();
        assert!(described <= 22, "{described}");
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
        let text = commands(&command);
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            assert!(text.contains(verb.get_name()), "{}", verb.get_name());
        }
    }

    /// The width of the column for a command's summary in the overview.
    const ABOUT: usize = 72;

    /// Adds the summaries of a command and its subcommands that break a rule.
    fn add_wrong_abouts(command: &Command, path: &str, wrong: &mut Vec<String>) {
        let about = command.get_about().map(ToString::to_string);
        let about = about.unwrap_or_default();
        let is_short = (1..=ABOUT).contains(&about.chars().count());
        if !is_short || about.contains(':') || about.ends_with('.') {
            wrong.push(format!("{path}: {about}"));
        }
        for below in command
            .get_subcommands()
            .filter(|below| !below.is_hide_set())
        {
            add_wrong_abouts(below, &format!("{path} {}", below.get_name()), wrong);
        }
    }

    #[test]
    fn the_help_of_every_command_begins_with_a_short_phrase() {
        let mut wrong = Vec::new();
        add_wrong_abouts(&command(), "solution", &mut wrong);
        assert_eq!(
            wrong, [""; 0],
            "more than {ABOUT} characters, or `:`, or `.` at the end"
        );
    }

    #[test]
    fn every_flag_of_a_section_exists() {
        let mut all = Vec::new();
        verbs(&command(), "solution", &mut all);
        for flag in SECTIONS
            .iter()
            .flat_map(|section| [section.common, section.further])
            .flatten()
        {
            let mut arguments = all.iter().flat_map(|(_, verb)| verb.get_arguments());
            assert!(
                *flag == "verbose"
                    || arguments
                        .any(|argument| argument.get_long() == Some(flag)
                            || argument.get_id() == *flag),
                "no command has --{flag}"
            );
        }
    }

    #[test]
    fn the_short_help_of_a_command_fits_one_screen() {
        let mut all = Vec::new();
        verbs(&command(), "solution", &mut all);
        let mut long = Vec::new();
        for (path, mut verb) in all {
            let lines = verb.render_help().to_string().lines().count();
            if lines > LINES {
                long.push(format!("{path}: {lines}"));
            }
        }
        assert_eq!(long, [""; 0], "more than {LINES} lines");
    }
}
