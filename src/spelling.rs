//! Alternative spellings of commands: those of earlier versions, which still work, and the names of other tools, for
//! which a hint is shown. Existing scripts therefore work with newer versions.

use std::ffi::{OsStr, OsString};

use crate::render;

/// Commands that earlier versions had at the top level, with their current path.
const MOVED: &[(&str, [&str; 2])] = &[
    ("activate", ["crds", "activate"]),
    ("cat", ["archive", "cat"]),
    ("deactivate", ["crds", "deactivate"]),
    ("export", ["registry", "export"]),
    ("extract", ["archive", "extract"]),
    ("login", ["registry", "login"]),
    ("logout", ["registry", "logout"]),
    ("ls", ["archive", "ls"]),
    ("mirrors", ["registry", "mirrors"]),
    ("mount", ["archive", "mount"]),
    ("preflight", ["registry", "check"]),
    ("push", ["registry", "push"]),
    ("rbac", ["site", "rbac"]),
    ("serve", ["registry", "serve"]),
    ("values", ["archive", "values"]),
];

/// Names of commands in other tools, each with its purpose and the corresponding command.
const KNOWN: &[(&str, &str, &str)] = &[
    ("add", "import an archive", "import ARCHIVE"),
    ("build", "build an archive", "pack SOURCE --key KEY"),
    ("bundle", "build an archive", "pack SOURCE --key KEY"),
    ("create", "create the source tree of a Solution", "init DIR"),
    ("describe", "show what runs", "status"),
    (
        "download",
        "write the archive of an imported version",
        "registry export NAME VERSION --out FILE",
    ),
    ("get", "list imported versions and what runs", "status"),
    ("info", "show what an archive contains", "inspect ARCHIVE"),
    ("install", "install an archive", "import ARCHIVE"),
    ("lint", "check a source tree", "pack DIR --check"),
    ("list", "list imported versions and what runs", "status"),
    ("package", "build an archive", "pack SOURCE --key KEY"),
    (
        "remove",
        "see what a removal would delete",
        "undeploy NAME -e ENVIRONMENT --dry-run",
    ),
    ("show", "show what an archive contains", "inspect ARCHIVE"),
    (
        "template",
        "render the objects that would be applied",
        "render ARCHIVE",
    ),
    (
        "uninstall",
        "see what a removal would delete",
        "undeploy NAME -e ENVIRONMENT --dry-run",
    ),
    (
        "update",
        "upgrade to the version of an archive",
        "import ARCHIVE",
    ),
    (
        "upgrade",
        "upgrade to the version of an archive",
        "import ARCHIVE",
    ),
    (
        "upload",
        "push an archive to a registry",
        "registry push ARCHIVE --registry HOST",
    ),
    ("verify", "verify an archive", "validate ARCHIVE"),
];

/// Commands that delete. They are never suggested for a typing error.
const DESTRUCTIVE: &[&str] = &[
    "deactivate",
    "delete",
    "prune",
    "remove",
    "undeploy",
    "unimport",
];

/// Commands whose `-o` named a file in earlier versions. `--out` does so now, and `-o` selects a format.
const OUT: &[&[&str]] = &[
    &["export"],
    &["history"],
    &["registry", "export"],
    &["support-bundle"],
];
const FORMATS: &[&str] = &["human", "json", "table", "yaml"];

/// Converts a command line to the current spelling.
pub(crate) fn current(mut typed: Vec<OsString>) -> Vec<OsString> {
    let Some(verb) = verb(&typed) else {
        return typed;
    };
    let is_typed = |path: &&[&str]| {
        let words = typed[verb..].iter();
        words.take(path.len()).eq(path.iter())
    };
    if OUT.iter().any(is_typed) {
        for at in verb..typed.len() - 1 {
            let is_format = FORMATS.iter().any(|format| typed[at + 1] == *format);
            if typed[at] == "-o" && !is_format {
                typed[at] = "--out".into();
            }
        }
    }
    let word = typed[verb].to_string_lossy();
    let without_cluster = typed
        .iter()
        .take_while(|word| *word != "--")
        .position(|word| word == "--no-cluster");
    let (path, dropped): (&[&str], _) = match without_cluster {
        Some(at) if word == "import" => (&["registry", "push"], Some(at)),
        _ => match MOVED.iter().find(|(old, _)| word == *old) {
            Some((_, path)) => (path, None),
            None => return typed,
        },
    };
    let words = typed
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != dropped);
    let respelled = words.flat_map(|(at, word)| {
        if at == verb {
            path.iter().map(OsString::from).collect()
        } else {
            vec![word.clone()]
        }
    });
    respelled.collect()
}

/// Returns the position of the command: the first word that is neither an option nor its value, and not `help`.
fn verb(typed: &[OsString]) -> Option<usize> {
    let is_value = |at: usize| {
        ["--output", "-o"]
            .map(OsStr::new)
            .contains(&typed[at - 1].as_os_str())
    };
    let options = typed
        .iter()
        .take_while(|word| *word != "--")
        .enumerate()
        .skip(1);
    let mut words =
        options.filter(|(at, word)| !word.to_string_lossy().starts_with('-') && !is_value(*at));
    let (first, word) = words.next()?;
    if word == "help" {
        return words.next().map(|(at, _)| at);
    }
    Some(first)
}

/// Returns the hint for a command that does not exist.
pub(crate) fn suggestion(word: &str, similar: &[String]) -> Option<String> {
    if let Some((_, purpose, command)) = KNOWN.iter().find(|(known, ..)| *known == word) {
        return Some(format!("to {purpose}, run `solution {command}`"));
    }
    let similar = similar
        .iter()
        .filter(|name| !DESTRUCTIVE.contains(&name.as_str()));
    let similar: Vec<String> = similar.map(|name| format!("`{name}`")).collect();
    (!similar.is_empty()).then(|| format!("similar: {}", render::list(similar)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn spellings_of_earlier_versions_keep_working() {
        for (typed, read) in [
            ("solution ls a.iso", "solution archive ls a.iso"),
            (
                "solution --output json ls a.iso",
                "solution --output json archive ls a.iso",
            ),
            ("solution help preflight", "solution help registry check"),
            (
                "solution import a.iso --no-cluster --key k",
                "solution registry push a.iso --key k",
            ),
            (
                "solution --output json import --no-cluster a.iso",
                "solution --output json registry push a.iso",
            ),
            (
                "solution import a.iso -- --no-cluster",
                "solution import a.iso -- --no-cluster",
            ),
            (
                "solution registry prune --no-cluster",
                "solution registry prune --no-cluster",
            ),
            ("solution archive ls a.iso", "solution archive ls a.iso"),
            (
                "solution export app 1.0.0 -o app.iso",
                "solution registry export app 1.0.0 --out app.iso",
            ),
            (
                "solution registry export app 1.0.0 -o json",
                "solution registry export app 1.0.0 -o json",
            ),
            (
                "solution fleet history fleet.yaml -o xml",
                "solution fleet history fleet.yaml -o xml",
            ),
            ("solution import a.iso", "solution import a.iso"),
        ] {
            assert_eq!(current(words(typed)), words(read), "{typed}");
        }
    }

    #[test]
    fn every_command_that_is_named_exists() {
        let command = commands::command();
        for (_, [group, name]) in MOVED {
            let group = command.find_subcommand(group).unwrap();
            assert!(group.find_subcommand(name).is_some(), "{name}");
        }
        for (word, _, named) in KNOWN {
            assert!(command.find_subcommand(word).is_none(), "{word} exists");
            let mut words = named.split(' ');
            let mut verb = command.find_subcommand(words.next().unwrap()).unwrap();
            for word in words {
                if let Some(below) = verb.find_subcommand(word) {
                    verb = below;
                } else if let Some(flag) = word.strip_prefix("--") {
                    assert!(
                        verb.get_arguments()
                            .any(|argument| argument.get_long() == Some(flag)),
                        "{named}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_typing_error_leads_to_no_command_that_deletes() {
        let suggested = |word: &str, similar: &[&str]| {
            let similar: Vec<String> = similar.iter().map(ToString::to_string).collect();
            suggestion(word, &similar)
        };
        let deploy = suggested("depoly", &["deploy", "undeploy"]);
        assert_eq!(deploy.unwrap(), "similar: `deploy`");
        assert_eq!(suggested("delte", &["delete"]), None);
        let install = suggested("install", &["init"]);
        assert_eq!(
            install.unwrap(),
            "to install an archive, run `solution import ARCHIVE`"
        );
    }
}
