//! The consistency of the documentation: the table of contents lists every page, every link leads to an existing file
//! and heading, and the tests that pages name exist.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The folder of the book.
const BOOK: &str = "docs";

/// The book's table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The pages outside of the book.
const BESIDE: [&str; 3] = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"];

/// The links and images of a page, and the anchors that other pages can link to.
#[derive(Default)]
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut page = Self::default();
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.to_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => page.add(&heading.take().unwrap_or_default()),
                _ => {}
            }
        }
        page
    }

    /// Adds the anchor of a heading, as GitHub and mdBook generate it.
    fn add(&mut self, heading: &str) {
        let kept = heading.to_lowercase();
        let kept = kept.trim().chars().filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c if c.is_alphanumeric() => Some(c),
            _ => None,
        });
        let anchor: String = kept.collect();
        let mut free = (1..).map(|n| format!("{anchor}-{n}"));
        let taken = |anchor: &String| self.anchors.contains(anchor);
        let anchor = if taken(&anchor) {
            free.find(|anchor| !taken(anchor)).unwrap()
        } else {
            anchor
        };
        self.anchors.insert(anchor);
    }
}

/// Returns every page, by its path from the root of the repository.
fn pages() -> BTreeMap<PathBuf, Page> {
    let mut open = vec![PathBuf::from(BOOK)];
    let mut pages: Vec<PathBuf> = BESIDE.iter().map(PathBuf::from).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    let read = |path: PathBuf| (path.clone(), Page::read(&path));
    pages.into_iter().map(read).collect()
}

/// Returns the target of a page's link, from the root of the repository.
fn target(page: &Path, link: &str) -> PathBuf {
    let mut target = page.parent().unwrap().to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => assert!(target.pop(), "{}: {link}", page.display()),
            Component::Normal(name) => target.push(name),
            _ => {}
        }
    }
    target
}

/// Returns the problem of a link, if it has one.
fn problem(pages: &BTreeMap<PathBuf, Page>, from: &Path, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() {
        from.to_owned()
    } else {
        target(from, file)
    };
    let problem = if !target.exists() {
        "leads nowhere"
    } else if from.starts_with(BOOK) && !target.starts_with(BOOK) {
        "leaves the book"
    } else if !anchor.is_empty() && !pages.get(&target)?.anchors.contains(anchor) {
        "has no such heading"
    } else {
        return None;
    };
    Some(format!("{}: {link} {problem}", from.display()))
}

#[test]
fn every_link_leads_to_what_it_names() {
    let pages = pages();
    let problems: Vec<String> = pages
        .iter()
        .flat_map(|(path, page)| page.links.iter().map(move |link| (path, link)))
        .filter_map(|(path, link)| problem(&pages, path, link))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn the_book_has_every_page_once() {
    let pages = pages();
    let summary = Path::new(SUMMARY);
    let links = &pages[summary].links;
    let mut listed: Vec<PathBuf> = links.iter().map(|link| target(summary, link)).collect();
    listed.sort();
    let there = pages.into_keys();
    let there: Vec<PathBuf> = there
        .filter(|path| path.starts_with(BOOK) && path != summary)
        .collect();
    assert_eq!(listed, there);
}

/// Collects the names of the tests in a directory, as `module::name`.
fn tests_in(directory: &Path, tests: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_in(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = path.file_stem().unwrap().to_str().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replace("#[tokio::test", "#[test]");
            let after = text.split("#[test]").skip(1);
            let names = after.filter_map(|text| text.split_once("fn ")?.1.split_once("()"));
            tests.extend(names.map(|(name, _)| format!("{module}::{name}")));
        }
    }
}

#[test]
fn tests_that_the_documents_name_are_there() {
    let mut tests = BTreeSet::new();
    for directory in ["tests", "importer/src"] {
        tests_in(Path::new(directory), &mut tests);
    }
    let text = fs::read_to_string("docs/development/testing.md").unwrap();
    let section = text.split("## Acceptance").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let code = section.split('`').skip(1).step_by(2);
    let named: BTreeSet<&str> = code.filter(|name| name.contains("::")).collect();
    assert!(named.len() > 30, "{named:#?}");
    let lost: Vec<&&str> = named
        .iter()
        .filter(|name| !tests.contains(**name))
        .collect();
    assert!(lost.is_empty(), "no such tests: {lost:#?}");
}

/// The page on security names the tests for each attack: a test, alone or with its module, all tests of a module, or a
/// file of tests. All of them must exist.
#[test]
fn tests_of_attacks_that_the_documents_name_are_there() {
    let mut tests = BTreeSet::new();
    for directory in [
        "console",
        "crates",
        "importer",
        "packager",
        "schemas",
        "src",
        "tests",
        "validator",
    ] {
        tests_in(Path::new(directory), &mut tests);
    }
    let text = fs::read_to_string("docs/development/testing.md").unwrap();
    let section = text.split("## Beyond the archive").nth(1).unwrap();
    let section = section.split("## Fuzz targets").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let rows = rows.filter_map(|line| line.rsplit(" | ").next());
    let named: BTreeSet<&str> = rows
        .flat_map(|by| by.split('`').skip(1).step_by(2))
        .collect();
    let is_there = |name: &&&str| match name.split_once("::") {
        Some((module, "*")) => tests
            .iter()
            .any(|test| test.starts_with(&format!("{module}::"))),
        Some(_) => tests.contains(**name),
        None if name.contains('/') => Path::new(name).exists(),
        None => tests
            .iter()
            .any(|test| test.ends_with(&format!("::{name}"))),
    };
    assert!(named.len() > 80, "{named:#?}");
    let lost: Vec<&&str> = named.iter().filter(|name| !is_there(name)).collect();
    assert!(lost.is_empty(), "no such tests: {lost:#?}");
}

/// Flags of other programs that pages mention alone.
const FOREIGN: &[&str] = &[
    "--authentication-config",
    "--bundle",
    "--config",
    "--embed-values",
    "--engine-image",
    "--field-manager",
    "--metrics-bind-address",
    "--new-bundle-format",
    "--objects",
    "--reset-then-reuse-values",
    "--reuse-values",
    "--selector",
    "--site",
    "--site-alone",
    "--skip-crds",
    "--skip-schema-validation",
    "--verify",
];

/// Flags of every command.
const GLOBAL: &[&str] = &["--help", "--output", "--verbose", "--version"];

/// Returns every command with its flags, from the command reference.
fn reference() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string("docs/reference/cli.md").unwrap();
    let sections = text.split("\n## ").skip(1);
    let named = sections.filter_map(|section| {
        let (name, body) = section.split_once('\n')?;
        Some((name.strip_prefix("solution ")?.to_owned(), flags(body)))
    });
    named.collect()
}

/// Returns the flags that a text names.
fn flags(text: &str) -> BTreeSet<String> {
    let is_flag = |c: char| c == '-' || c.is_ascii_lowercase();
    let words = text.split(|c: char| !is_flag(c));
    let flags = words.filter(|word| word.len() > 2 && word.starts_with("--"));
    flags.map(str::to_owned).collect()
}

/// Returns the command lines, and the flags without a command, in the code of a page.
fn code(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut commands, mut alone) = (Vec::new(), Vec::new());
    let text = text.replace("\\\n", " ");
    let mut is_block = false;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_block = true,
            Event::End(TagEnd::CodeBlock) => is_block = false,
            Event::Text(text) if is_block => commands.extend(text.lines().flat_map(|line| {
                let parts = line.split(['|', ';', '&', '(', '#']);
                let parts = parts.map(|part| part.trim().trim_start_matches("$ "));
                parts.filter(|part| is_command(part)).map(str::to_owned)
            })),
            Event::Code(text) if is_command(&text) => commands.push(text.to_string()),
            Event::Code(text) if text.starts_with("--") => alone.extend(flags(&text)),
            _ => {}
        }
    }
    (commands, alone)
}

/// Returns whether a text is a command of this program. A result may begin with the name of a column.
fn is_command(text: &str) -> bool {
    text.strip_prefix("solution ")
        .is_some_and(|rest| !rest.starts_with(' '))
}

/// Returns the problem of a command line, if it has one.
fn fault(known: &BTreeMap<String, BTreeSet<String>>, command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let name = |word: &&&str| word.chars().all(|c| c == '-' || c.is_ascii_lowercase());
    let skipped = match words.first() {
        Some(&"--output" | &"-o") => 2,
        _ => 0,
    };
    let names: Vec<&str> = words
        .iter()
        .skip(skipped)
        .take_while(name)
        .copied()
        .collect();
    let first = names.first().filter(|name| !name.starts_with('-'))?;
    let is_group = known
        .keys()
        .any(|path| path.starts_with(&format!("{first} ")));
    let path = match names.get(1) {
        Some(second) if is_group && !second.starts_with('-') => format!("{first} {second}"),
        _ => (*first).to_owned(),
    };
    let Some(of_command) = known.get(&path) else {
        return Some(format!("no command `{path}`"));
    };
    let given = words
        .iter()
        .filter(|word| word.trim_start_matches('[').starts_with("--"));
    let given = given.filter_map(|word| flags(word).into_iter().next());
    let mut wrong = given.filter(|flag| {
        let is_below = is_group && path == *first;
        !is_below && !of_command.contains(flag) && !GLOBAL.contains(&flag.as_str())
    });
    wrong.next().map(|flag| format!("`{path}` has no `{flag}`"))
}

#[test]
fn every_command_and_flag_on_a_page_exists() {
    let known = reference();
    let everything = flags(&fs::read_to_string("docs/reference/cli.md").unwrap());
    let mut counted = 0;
    let mut faults = Vec::new();
    for path in pages().into_keys().filter(|path| !path.ends_with("cli.md")) {
        let text = fs::read_to_string(&path).unwrap();
        // Entries of earlier versions may use their old names.
        let text = text.split("\n## 1.0.0").next().unwrap();
        let (commands, alone) = code(text);
        counted += commands.len();
        let of_commands = commands
            .iter()
            .filter_map(|command| Some(format!("{command}: {}", fault(&known, command)?)));
        let is_unknown =
            |flag: &&String| !everything.contains(*flag) && !FOREIGN.contains(&flag.as_str());
        let of_flags = alone.iter().filter(is_unknown);
        let of_flags = of_flags.map(|flag| format!("no command has `{flag}`"));
        let all = of_commands.chain(of_flags);
        faults.extend(all.map(|fault| format!("{}: {fault}", path.display())));
    }
    assert!(counted > 200, "{counted}");
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Returns the files of an installed package that a text names.
fn installed_files(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let words = text.split(|c| !is_part(c));
    let places = ["libexec/solution/", "share/doc/solution/"];
    words
        .filter_map(|word| {
            places
                .iter()
                .find_map(|place| word.find(place).map(|at| &word[at..]))
        })
        .map(|path| path.trim_end_matches(['.', '/']))
        .collect()
}

/// Returns the destinations of the assets of one kind of package in `Cargo.toml`, below `usr`. A destination that ends
/// with `/` is a directory with any files.
fn assets(kind: &str) -> Vec<String> {
    let manifest = fs::read_to_string("Cargo.toml").unwrap();
    let section = format!("[package.metadata.{kind}]");
    let (_, section) = manifest.split_once(&section).unwrap();
    let section = section.split("\n[package").next().unwrap();
    let rows = section
        .lines()
        .filter(|line| line.contains("target/release/"));
    rows.map(|row| {
        let texts: Vec<&str> = row.split('"').skip(1).step_by(2).collect();
        let to = texts[1].trim_start_matches('/').trim_start_matches("usr/");
        match texts[0].rsplit_once('/').unwrap().1 {
            name if !name.contains('*') && to.ends_with('/') => format!("{to}{name}"),
            _ => to.to_owned(),
        }
    })
    .collect()
}

#[test]
fn packages_install_every_file_that_a_page_names() {
    let mut named = 0;
    for kind in ["deb", "generate-rpm"] {
        let assets = assets(kind);
        assert!(assets.len() > 6, "{assets:?}");
        let has = |path: &str| {
            let mut assets = assets.iter();
            assets.any(|asset| path == asset || (asset.ends_with('/') && path.starts_with(asset)))
        };
        for page in pages().into_keys() {
            for path in installed_files(&fs::read_to_string(&page).unwrap()) {
                named += 1;
                assert!(has(path), "{}: no {kind} has {path}", page.display());
            }
        }
    }
    assert!(named > 0);
}
