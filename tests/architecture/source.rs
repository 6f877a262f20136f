//! The source text of a package, without comments and tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns the text of a package's root.
pub(crate) fn root(source: &Path) -> String {
    let roots = [source.join("lib"), source.join("main")];
    let root = roots.iter().find(|root| root.with_extension("rs").exists());
    read(root.expect("a package has a root"))
}

/// Returns every module of a package with its text; the root is `lib`.
pub(crate) fn files(source: &Path) -> BTreeMap<String, String> {
    let mut files = modules(source);
    files.insert("lib".to_owned(), root(source));
    files
}

/// Returns every module of a package below its root, with its text.
pub(crate) fn modules(source: &Path) -> BTreeMap<String, String> {
    let root = root(source);
    let root: Vec<&str> = root.split_whitespace().collect();
    let mut open: Vec<String> = declared(&root).map(str::to_owned).collect();
    let mut modules = BTreeMap::new();
    while let Some(module) = open.pop() {
        let text = read(&source.join(module.replace("::", "/")));
        let words: Vec<&str> = text.split_whitespace().collect();
        open.extend(declared(&words).map(|child| format!("{module}::{child}")));
        modules.insert(module, text);
    }
    modules
}

/// Returns a module's tokens, separated by spaces, without comments and test code.
pub(crate) fn read(module: &Path) -> String {
    let text = fs::read_to_string(module.with_extension("rs"));
    let text = text.or_else(|_| fs::read_to_string(module.join("mod.rs")));
    let text = text.expect("a module that is declared has a file");
    spaced(&shipped_code(&text))
}

/// Returns the text of a file without comments and test code.
pub(crate) fn shipped_code(text: &str) -> String {
    let mut parts = text.split("#[cfg(test)]");
    let mut shipped = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (item, rest) = part.split_at(part.find([';', '{']).unwrap_or(part.len()));
        // A module in braces comes last, which clippy enforces.
        if item.contains("mod ") && rest.starts_with('{') {
            break;
        }
        shipped += rest;
    }
    let code = shipped
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let code: Vec<&str> = code.collect();
    code.join("\n")
}

/// Separates the tokens of a text by spaces.
pub(crate) fn spaced(text: &str) -> String {
    let apart = |c: char| match c {
        '_' | 'a'..='z' | 'A'..='Z' | '0'..='9' => c.to_string(),
        mark => format!(" {mark} "),
    };
    text.chars().map(apart).collect()
}

/// Returns the modules that a file declares.
pub(crate) fn declared<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let declarations = words
        .windows(3)
        .filter(|window| window[0] == "mod" && window[2] == ";");
    declarations.map(|window| window[1])
}
