//! The direction inside each package: no circle among its modules, nor among its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::packages;
use crate::source::{declared, modules, read, root};

#[test]
fn definitions_lie_below_their_users() {
    let circles = packages::folders()
        .into_iter()
        .filter_map(|(name, source)| {
            let circle = circle(arrows(&source))?;
            Some(format!("{name}: {circle}"))
        });
    assert_eq!(circles.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn files_lie_below_their_users() {
    for (name, source) in packages::folders() {
        assert_eq!(circle(file_arrows(&source)), None, "{name}");
    }
}

#[test]
fn paths_are_read_as_they_are_written() {
    let text = "use crate :: a :: { b , c :: { D , self } } ; super :: e :: F ; self :: g ;";
    let text = text.replace("::", ": :");
    let words: Vec<&str> = text.split_whitespace().collect();
    let paths = used_paths(&words, "x::y").into_iter();
    let paths: Vec<String> = paths.map(|path| path.join("::")).collect();
    assert_eq!(
        paths,
        ["a::b", "a::c::D", "a::c::self", "x::e::F", "x::y::g"]
    );
}

/// A circle among modules, as `a → b → a`.
fn circle(mut arrows: BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    // What uses nothing that is left is in no circle.
    while let Some((lowest, _)) = arrows.iter().find(|(_, used)| used.is_empty()) {
        let lowest = lowest.clone();
        arrows.remove(&lowest);
        for used in arrows.values_mut() {
            used.remove(&lowest);
        }
    }
    let mut path = vec![arrows.keys().next()?.as_str()];
    loop {
        let next = arrows[path[path.len() - 1]].first()?.as_str();
        let begin = path.iter().position(|module| *module == next);
        path.push(next);
        if let Some(begin) = begin {
            return Some(path[begin..].join(" → "));
        }
    }
}

/// Which top-level modules of a package use which others, as its own source says.
fn arrows(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let root = root(source);
    let root: Vec<&str> = root.split_whitespace().collect();
    let exported = exported(&root);
    let mut arrows = BTreeMap::new();
    for module in declared(&root) {
        let mut used = BTreeSet::new();
        let mut open = vec![(source.join(module), 1)];
        while let Some((path, depth)) = open.pop() {
            let text = read(&path);
            let words: Vec<&str> = text.split_whitespace().collect();
            open.extend(declared(&words).map(|child| (path.join(child), depth + 1)));
            let names = reached(&words, depth).into_iter();
            used.extend(names.map(|name| exported.get(name).unwrap_or(&name).to_string()));
        }
        used.remove(module);
        arrows.insert(module.to_owned(), used);
    }
    // What the root itself defines is in no module.
    let modules: BTreeSet<String> = arrows.keys().cloned().collect();
    for used in arrows.values_mut() {
        used.retain(|name| modules.contains(name));
    }
    arrows
}

/// Which files of a package use which others, but for those that they lie in and those that lie in them.
fn file_arrows(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let files = modules(source);
    let lies_in = |one: &str, other: &str| format!("{one}::").starts_with(&format!("{other}::"));
    let mut arrows = BTreeMap::new();
    for (module, text) in &files {
        let words: Vec<&str> = text.split_whitespace().collect();
        let paths = used_paths(&words, module).into_iter();
        let used = paths.filter_map(|path| {
            let longest = (1..=path.len())
                .rev()
                .map(|length| path[..length].join("::"));
            longest.into_iter().find(|it| files.contains_key(it))
        });
        let used = used.filter(|it| !lies_in(it, module) && !lies_in(module, it));
        arrows.insert(module.clone(), used.collect());
    }
    arrows
}

/// The paths below the root of the package that a module names.
fn used_paths<'a>(words: &[&'a str], module: &'a str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    for at in 0..words.len() {
        let begins = (at == 0 || words[at - 1] != ":") && words.get(at + 1) == Some(&":");
        let mut base: Vec<&str> = module.split("::").collect();
        let mut rest = &words[at..];
        match rest[0] {
            "crate" if begins => base.clear(),
            "self" if begins => {}
            "super" if begins => {
                base.pop();
                while rest.starts_with(&["super", ":", ":", "super"]) {
                    base.pop();
                    rest = &rest[3..];
                }
            }
            _ => continue,
        }
        expand(base, &rest[1..], &mut found);
    }
    found
}

/// Adds each path that begins with `base` and goes on with `words`, which may branch. Returns the words behind it.
fn expand<'w, 'a>(
    mut base: Vec<&'a str>,
    mut words: &'w [&'a str],
    found: &mut Vec<Vec<&'a str>>,
) -> &'w [&'a str] {
    while let [":", ":", rest @ ..] = words {
        words = rest;
        if let ["{", rest @ ..] = words {
            words = rest;
            while let [first, rest @ ..] = words {
                words = match *first {
                    "}" => return rest,
                    "," => rest,
                    name => expand([&base[..], &[name]].concat(), rest, found),
                };
            }
            return words;
        }
        let [name, rest @ ..] = words else {
            return words;
        };
        base.push(name);
        words = rest;
    }
    found.push(base);
    words
}

/// What the root of a package hands on, and the module that has it.
fn exported<'a>(root: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    let uses = root.split(|word| *word == "use").skip(1);
    let names = uses.flat_map(|path| {
        let end = path.iter().position(|word| *word == ";").unwrap_or(0);
        let ends = path[..=end].windows(2);
        let ends = ends.filter(|it| ",};".contains(it[1]) && it[0] != "}");
        ends.map(|it| (it[0], path[0]))
    });
    names.collect()
}

/// The names that a file, so many modules below the root, takes out of the root.
fn reached<'a>(words: &[&'a str], depth: usize) -> Vec<&'a str> {
    let root = ["crate", ":", ":"];
    let up = ["super", ":", ":"].repeat(depth);
    let mut found = Vec::new();
    for at in 0..words.len() {
        let path = &words[at..];
        match path.strip_prefix(&root).or(path.strip_prefix(&up[..])) {
            Some(path @ ["{", ..]) => {
                let end = path.iter().position(|word| *word == ";").unwrap_or(0);
                let begin = path[..end].windows(2).filter(|it| "{,".contains(it[0]));
                found.extend(begin.map(|it| it[1]));
            }
            Some([name, ..]) => found.push(*name),
            _ => {}
        }
    }
    found
}
