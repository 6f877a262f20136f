//! The program's YAML reader agrees with that of Helm and kubectl, which `tools/yaml` runs.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use schemas::yaml::{self, go::AMBIGUOUS};
use serde_json::Value;

use crate::common::Answer;

/// The number of mutated texts to compare, in addition to the corpus.
const CHANGED: usize = 60_000;
/// The maximum size of a mutated text in bytes: most mutations of a longer one are alike.
const SHORT: usize = 1500;

/// The YAML reader of Helm and kubectl.
struct GoReader {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl GoReader {
    fn new(program: &Path) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            questions: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn ask(&mut self, text: &[u8]) -> Result<Value, String> {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        let questions = self.questions.as_mut().unwrap();
        questions.write_all(&[&length, text].concat()).unwrap();
        questions.flush().unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        match answer.get_mut("value") {
            Some(value) => Ok(value.take()),
            None => Err(answer["error"].as_str().unwrap().to_owned()),
        }
    }
}

impl Drop for GoReader {
    fn drop(&mut self) {
        self.questions = None;
        self.child.wait().unwrap();
    }
}

/// The line breaks of the Go reader.
const BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// Returns both results if the readers disagree about a text. The program alone may refuse an ambiguous text, or one
/// that exceeds its limits. It may also refuse content after the first document, which Go does not read.
fn difference(go: &mut GoReader, text: &[u8]) -> Option<String> {
    let theirs = go.ask(text);
    let ours = yaml::go::from_slice(text).map_err(|error| error.to_string());
    let text = String::from_utf8_lossy(text);
    let is_alike = match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        (Err(words), Ok(theirs)) => {
            // Go ignores values that a later equal key replaces, and so does not detect that they have no JSON form.
            let refusals = [AMBIGUOUS, "nested deeper than", "unsupported map key"];
            let is_ours = refusals.iter().any(|refusal| words.contains(refusal));
            is_ours || is_first_document(&text, theirs)
        }
        (Ok(_), Err(words)) => words.contains("excessive aliasing"),
        (Err(_), Err(_)) => true,
    };
    (!is_alike).then(|| format!("{text:?}\n  here: {ours:?}\n  Go:   {theirs:?}"))
}

/// Returns whether a value is that of the first document of a text with multiple documents.
fn is_first_document(text: &str, value: &Value) -> bool {
    let breaks = text.match_indices(BREAKS);
    let mut lines = breaks.map(|(at, found)| at + found.len());
    lines.any(|line| {
        let (first, more) = text.split_at(line);
        let is_end = |marker| {
            let rest = more.strip_prefix(marker);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with([' ', '\t']) || rest.starts_with(BREAKS)
            })
        };
        let ends = more.starts_with('%') || is_end("---") || is_end("...");
        ends && yaml::go::from_slice(first.as_bytes()).is_ok_and(|first| first == *value)
    })
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// A random number generator with a fixed seed (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most).unwrap()).unwrap()
    }
}

/// The texts that a mutation inserts.
const PIECES: &[&str] = &[
    ":",
    " ",
    "\n",
    "\n  ",
    "- ",
    "? ",
    ": ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "''",
    "|",
    ">",
    "|-\n",
    ">+\n",
    " #",
    "&a ",
    "*a",
    "!",
    "!!str ",
    "!!int ",
    "!!float ",
    "!!binary ",
    "!!null ",
    "!<x> ",
    "<<: ",
    "<<: *a\n",
    "\t",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "~",
    "1_0",
    "0x1",
    "0o7",
    "08",
    ".5",
    "1e3",
    "-.inf",
    "yes",
    "off",
    "\\",
    "\\n",
    "\\x41",
    "\r",
    "\r\n",
    "\u{85}",
    "\u{2028}",
    "\u{a0}",
    "é",
    "@",
    "`",
    "=",
    "null",
    "true: ",
    "1: ",
    "1.0: ",
    "\"1\": ",
    "- - ",
    "\n\n",
];

fn changed(text: &str, numbers: &mut Numbers) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(characters.len() + 1);
        match numbers.below(4) {
            0 => {
                let end = (at + 1 + numbers.below(6)).min(characters.len());
                characters.drain(at..end);
            }
            1 => {
                let end = (at + numbers.below(20)).min(characters.len());
                let copied = characters[at..end].to_vec();
                let to = numbers.below(characters.len() + 1);
                characters.splice(to..to, copied);
            }
            _ => {
                let piece = PIECES[numbers.below(PIECES.len())].chars();
                characters.splice(at..at, piece);
            }
        }
    }
    characters.into_iter().collect()
}

#[test]
fn yaml_of_others_means_what_it_means_to_helm() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/program");
    let path = Answer::from_command(Command::new(program).args(["yaml", "--path"])).success();
    let program = Path::new(path.trim());
    let mut go = GoReader::new(program);
    let mut paths = Vec::new();
    files(&program.with_file_name("corpus"), &mut paths);
    paths.sort();
    let mut texts = Vec::new();
    for path in paths {
        let bytes = fs::read(path).unwrap();
        for part in yaml::parts(&bytes).unwrap_or_default() {
            texts.push(part.text.to_owned());
        }
        texts.extend(String::from_utf8(bytes));
    }
    assert!(texts.len() > 2000, "{}", texts.len());
    let mut differing: Vec<String> = texts
        .iter()
        .filter_map(|text| difference(&mut go, text.as_bytes()))
        .collect();
    let short: Vec<&String> = texts.iter().filter(|text| text.len() <= SHORT).collect();
    let mut numbers = Numbers(0x5eed);
    for _ in 0..CHANGED {
        let text = changed(short[numbers.below(short.len())], &mut numbers);
        differing.extend(difference(&mut go, text.as_bytes()));
    }
    let count = differing.len();
    differing.sort_by_key(String::len);
    differing.truncate(20);
    assert!(differing.is_empty(), "{count}:\n{}", differing.join("\n"));
}
