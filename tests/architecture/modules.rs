//! Modules, files and folders of a package do not depend on each other in a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::packages;
use crate::source::{declared, modules, read, root};

#[test]
fn definitions_lie_below_their_users() {
    let circles = packages::folders()
        .into_iter()
        .filter_map(|(name, source)| {
            let circle = find_cycle(module_dependencies(&source))?;
            Some(format!("{name}: {circle}"))
        });
    assert_eq!(circles.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn files_lie_below_their_users() {
    for (name, source) in packages::folders() {
        assert_eq!(find_cycle(file_dependencies(&source)), None, "{name}");
    }
}

/// Folders whose files may still depend on each other in a cycle. Do not add to this list.
const CYCLIC: &[(&str, &str)] = &[];

#[test]
fn folders_lie_below_their_users() {
    let mut cycles = Vec::new();
    let known = CYCLIC.iter();
    let known = known.map(|(name, folder)| ((*name).to_owned(), (*folder).to_owned()));
    let mut known: BTreeSet<(String, String)> = known.collect();
    for (name, source) in packages::folders() {
        for (folder, arrows) in folder_dependencies(file_dependencies(&source)) {
            let Some(cycle) = find_cycle(arrows) else {
                continue;
            };
            if !known.remove(&(name.clone(), folder.clone())) {
                cycles.push(format!("{name}: in `{folder}`: {cycle}"));
            }
        }
    }
    assert_eq!(cycles, [""; 0]);
    assert!(known.is_empty(), "no longer needed in CYCLIC: {known:?}");
}

#[test]
fn a_cycle_of_folders_is_found_at_every_depth() {
    let arrows = [("a::b::c", "a::d"), ("a::d::e", "a::b"), ("f", "a::b::c")];
    let arrows = arrows.map(|(from, to)| (from.to_owned(), BTreeSet::from([to.to_owned()])));
    let folders = folder_dependencies(BTreeMap::from(arrows));
    let found = folders
        .into_iter()
        .filter_map(|(folder, arrows)| Some((folder, find_cycle(arrows)?)));
    let found: Vec<(String, String)> = found.collect();
    let cycle = "a::b → a::d → a::b".to_owned();
    assert_eq!(found, [("a".to_owned(), cycle)]);
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

/// Returns a cycle among modules, as `a → b → a`.
fn find_cycle(mut arrows: BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    // A module without remaining dependencies is not part of a cycle.
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

/// Returns the dependencies between the top-level modules of a package, from its own source.
fn module_dependencies(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let root = root(source);
    let root: Vec<&str> = root.split_whitespace().collect();
    let exported = exports(&root);
    let mut arrows = BTreeMap::new();
    for module in declared(&root) {
        let mut used = BTreeSet::new();
        let mut open = vec![(source.join(module), 1)];
        while let Some((path, depth)) = open.pop() {
            let text = read(&path);
            let words: Vec<&str> = text.split_whitespace().collect();
            open.extend(declared(&words).map(|child| (path.join(child), depth + 1)));
            let names = imports_from_root(&words, depth).into_iter();
            used.extend(names.map(|name| exported.get(name).unwrap_or(&name).to_string()));
        }
        used.remove(module);
        arrows.insert(module.to_owned(), used);
    }
    // Items that the root defines itself belong to no module.
    let modules: BTreeSet<String> = arrows.keys().cloned().collect();
    for used in arrows.values_mut() {
        used.retain(|name| modules.contains(name));
    }
    arrows
}

/// Returns the dependencies between the files of a package. A file's ancestors and descendants do not count.
fn file_dependencies(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
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
            longest.into_iter().find(|path| files.contains_key(path))
        });
        let used = used.filter(|other| !lies_in(other, module) && !lies_in(module, other));
        arrows.insert(module.clone(), used.collect());
    }
    arrows
}

/// Returns the dependencies between the members of each folder, from those between files. A file in one member that uses
/// a file in another member makes the first member depend on the second.
fn folder_dependencies(
    files: BTreeMap<String, BTreeSet<String>>,
) -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
    let mut folders: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (file, used) in files {
        let file: Vec<&str> = file.split("::").collect();
        for other in used {
            let other: Vec<&str> = other.split("::").collect();
            let mut pairs = file.iter().zip(&other);
            let Some(depth) = pairs.position(|(one, other)| one != other) else {
                continue;
            };
            let members = folders.entry(file[..depth].join("::")).or_default();
            let member = |path: &[&str]| path[..=depth].join("::");
            members.entry(member(&other)).or_default();
            members
                .entry(member(&file))
                .or_default()
                .insert(member(&other));
        }
    }
    folders
}

/// Returns the paths that a module names, relative to the root of the package.
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

/// Adds each path that begins with `base` and continues with `words`, which may branch. Returns the words after it.
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

/// Returns the re-exports of a package's root, each with its module.
fn exports<'a>(root: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    let uses = root.split(|word| *word == "use").skip(1);
    let names = uses.flat_map(|path| {
        let end = path.iter().position(|word| *word == ";").unwrap_or(0);
        let ends = path[..=end].windows(2);
        let ends = ends.filter(|window| ",};".contains(window[1]) && window[0] != "}");
        ends.map(|window| (window[0], path[0]))
    });
    names.collect()
}

/// Returns the names that a file imports from the root, which is `depth` modules above it.
fn imports_from_root<'a>(words: &[&'a str], depth: usize) -> Vec<&'a str> {
    let root = ["crate", ":", ":"];
    let up = ["super", ":", ":"].repeat(depth);
    let mut found = Vec::new();
    for at in 0..words.len() {
        let path = &words[at..];
        match path.strip_prefix(&root).or(path.strip_prefix(&up[..])) {
            Some(path @ ["{", ..]) => {
                let end = path.iter().position(|word| *word == ";").unwrap_or(0);
                let begin = path[..end]
                    .windows(2)
                    .filter(|window| "{,".contains(window[0]));
                found.extend(begin.map(|window| window[1]));
            }
            Some([name, ..]) => found.push(*name),
            _ => {}
        }
    }
    found
}
