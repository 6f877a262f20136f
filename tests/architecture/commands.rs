//! Files of commands are short, and libraries do not know the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::shipped_code;

/// Files of libraries that may name the program and its flags, each with its reason.
const SPOKEN: &[(&str, &str)] = &[
    ("crates/archive/src/readme.rs", "README.txt of archives"),
    (
        "crates/sources/src/cache/mod.rs",
        "CACHEDIR.TAG says whose it is",
    ),
    ("crates/release/src/charts.rs", NOTES),
    ("crates/release/src/write.rs", NOTES),
    ("crates/rules/src/finding/catalogue.rs", FINDINGS),
    (
        "importer/src/status/support/redactions.rs",
        "a pattern of curl's options, some of which have the names of ours",
    ),
];

const NOTES: &str = "what it writes is NOTES.md and the comments of a drafted solution.yaml";

const FINDINGS: &str =
    "docs/reference/findings.md is made of it: what to do stands beside the id, for every tool";

/// The limit of lines of code for a file of a command: arguments, one request, one call, one rendering.
const LINES: usize = 300;

/// Files of commands above the limit. Do not add to this list, and remove a file that has become short enough.
const LONG: &[&str] = &[];

#[test]
fn a_file_of_a_command_is_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands");
    let files = files_below(vec![root.clone()]).into_iter();
    // These files contain only tests.
    let files = files.filter(|path| {
        path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs")
    });
    let long = files.filter(|path| lines_of_code(&fs::read_to_string(path).unwrap()) > LINES);
    let long: BTreeSet<String> = long.map(|path| name_below(&root, &path)).collect();
    let known: BTreeSet<String> = LONG.iter().map(|path| (*path).to_owned()).collect();
    let of = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
    assert_eq!(of(&long, &known), [""; 0], "more than {LINES} lines");
    assert_eq!(of(&known, &long), [""; 0], "no longer needed in LONG");
}

#[test]
fn lines_of_code_are_counted_as_they_are_written() {
    let text = "//! A file.\n\nuse a::b;\n\n/// One.\nfn one() {\n    // Why.\n    b() // so\n}\n";
    assert_eq!(lines_of_code(text), 4);
    let tests = "\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
    assert_eq!(lines_of_code(&format!("{text}{tests}")), 4);
}

/// Counts the lines of a file without blank lines, comments and tests.
fn lines_of_code(text: &str) -> usize {
    let code = shipped_code(text);
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

#[test]
fn libraries_do_not_speak_the_command_line() {
    let reference =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/cli.md"));
    let reference = reference.unwrap();
    let options = reference
        .lines()
        .filter(|line| line.trim_start().starts_with('-'));
    let ours: BTreeSet<&str> = options.filter_map(|line| flags(line).next()).collect();
    assert!(
        ours.contains("--pull-secret") && ours.len() > 40,
        "{ours:?}"
    );
    let mut silent: BTreeMap<&str, &str> = SPOKEN.iter().copied().collect();
    let mut spoken = Vec::new();
    for (name, text) in &sources() {
        let code = text.split("mod tests {").next().unwrap();
        for line in code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            let ours_in = |text: &str| flags(text).any(|flag| ours.contains(flag));
            // Other programs may have a flag of the same name.
            let mut quoted = line.split('`').filter(|text| !text.starts_with("skopeo "));
            let says = quoted.any(ours_in) || line.contains("`solution ");
            if says
                && silent.remove(name.as_str()).is_none()
                && !SPOKEN.iter().any(|(file, _)| file == name)
            {
                spoken.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(
        spoken.is_empty(),
        "the program says what to do, in src/failure:\n{}",
        spoken.join("\n")
    );
    assert!(silent.is_empty(), "no longer needed in SPOKEN: {silent:?}");
}

/// This file remembers failed writes, which decide the exit code.
#[test]
fn one_file_writes_to_standard_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ours = files_below(vec![root.join("src")]).into_iter();
    let ours = ours.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let ours = ours.map(|path| (name_below(root, &path), fs::read_to_string(&path).unwrap()));
    let writers = ours
        .chain(sources())
        .filter(|(_, text)| shipped_code(text).contains("stdout()"));
    let writers: Vec<String> = writers.map(|(name, _)| name).collect();
    assert_eq!(writers, ["src/render.rs"]);
}

/// Returns every source file of the libraries, without tests, with its path as in [`SPOKEN`].
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap();
    let mut open: Vec<PathBuf> = crates
        .map(|entry| entry.unwrap().path().join("src"))
        .collect();
    open.extend(
        ["importer", "packager", "schemas", "validator"].map(|name| root.join(name).join("src")),
    );
    let named = files_below(open).into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (name_below(root, &path), text)
    });
    named.filter(|(name, _)| !name.contains("/test")).collect()
}

fn name_below(folder: &Path, path: &Path) -> String {
    let name = path.strip_prefix(folder).unwrap();
    name.to_str().unwrap().to_owned()
}

/// Returns every file in these folders, recursively.
fn files_below(mut open: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(path).unwrap();
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else {
            files.push(path);
        }
    }
    files
}

/// Returns the flags in a text.
fn flags(text: &str) -> impl Iterator<Item = &str> {
    let rest = |start: usize| {
        let text = &text[start..];
        let end = text.find(|c: char| c != '-' && !c.is_ascii_lowercase());
        &text[..end.unwrap_or(text.len())]
    };
    let begins =
        |start: &usize| !text[..*start].ends_with(|c: char| c == '-' || c.is_alphanumeric());
    text.match_indices("--")
        .map(|(start, _)| start)
        .filter(begins)
        .map(rest)
}
