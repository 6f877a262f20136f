//! YAML from third parties, parsed as `sigs.k8s.io/yaml` does it, which Helm and kubectl use: the grammar of libyaml as
//! in go-yaml 2, the scalars of YAML 1.1, merge keys, and the last of equal keys. [`from_slice`] and [`documents`] are
//! the entry points. `tests/interop/yaml.rs` compares both parsers on many files.
//!
//! These attacks are stopped:
//!
//! - alias bombs, deep nesting and very many values, by the budgets in `node.rs` and `value.rs`;
//!
//! - texts that other YAML parsers understand differently, which are rejected with [`AMBIGUOUS`] in the message.

mod cursor;
mod node;
mod scalar;
mod scanner;
mod value;

use serde_json::Value;

use super::{YamlCause, YamlError, YamlPlace, text};

/// The end of the message about a text that Helm accepts but other YAML parsers understand differently.
pub const AMBIGUOUS: &str = "which YAML parsers read differently";

/// The error of a text that cannot be parsed, with its line and column from 0.
#[derive(Debug)]
struct Problem {
    words: String,
    line: usize,
    column: usize,
}

impl Problem {
    /// Converts the problem of a text that begins on line `first` of its stream, from 1.
    fn into_error(self, first: usize) -> YamlError {
        YamlError::Document {
            words: self.words,
            place: Some(place(self.line + first, self.column + 1)),
            cause: YamlCause::Syntax,
        }
    }
}

fn place(line: usize, column: usize) -> YamlPlace {
    // The size limits keep both numbers far below the maximum.
    let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
    YamlPlace {
        line: number(line),
        column: number(column),
    }
}

/// Parses a file with exactly one document.
pub fn from_slice(bytes: &[u8]) -> Result<Value, YamlError> {
    let text = text(bytes)?;
    let mut documents = read(text).map_err(|problem| problem.into_error(1))?;
    match (documents.pop(), documents.pop()) {
        (Some((_, value)), None) => Ok(value),
        (None, _) => Ok(Value::Null),
        (Some((line, _)), Some(_)) => Err(YamlError::Document {
            words: "holds another document".to_owned(),
            place: Some(place(line + 1, 1)),
            cause: YamlCause::Syntax,
        }),
    }
}

/// Parses all documents of a file, except empty ones.
pub fn documents(bytes: &[u8]) -> Result<Vec<Value>, YamlError> {
    let documents = read(text(bytes)?).map_err(|problem| problem.into_error(1))?;
    let values = documents.into_iter().map(|(_, value)| value);
    Ok(values.filter(|value| !value.is_null()).collect())
}

/// Parses the text between two `---` lines of a stream; `None` if it is empty. A carriage return also ends a line, so
/// the text can contain another `---` line, which not all readers recognize.
pub(super) fn part(bytes: &[u8], first: usize) -> Result<Option<Value>, YamlError> {
    let mut documents = read(text(bytes)?).map_err(|problem| problem.into_error(first))?;
    if let Some((line, _)) = documents.get(1) {
        let problem = Problem {
            words: format!("holds another document, {AMBIGUOUS}"),
            line: *line,
            column: 0,
        };
        return Err(problem.into_error(first));
    }
    let value = documents.pop().map(|(_, value)| value);
    Ok(value.filter(|value| !value.is_null()))
}

/// Parses all documents of a text within another document, except empty ones. Aliases cannot expand it beyond its own
/// size, because there may be very many such texts.
pub fn embedded(text: &str) -> Result<Vec<Value>, YamlError> {
    let documents = read_within(text, value::Budget::of_size(text.len()));
    let documents = documents.map_err(|problem| problem.into_error(1))?;
    let values = documents.into_iter().map(|(_, value)| value);
    Ok(values.filter(|value| !value.is_null()).collect())
}

/// Parses all documents of a text, each with its first line from 0.
fn read(text: &str) -> Result<Vec<(usize, Value)>, Problem> {
    read_within(text, value::Budget::default())
}

fn read_within(text: &str, mut left: value::Budget) -> Result<Vec<(usize, Value)>, Problem> {
    let mut reader = node::Reader::new(text)?;
    let mut all = Vec::new();
    while let Some(document) = reader.document(all.len())? {
        all.push((document.line, document.value(&mut left)?));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::*;
    use crate::limits;

    fn value(text: &str) -> Value {
        from_slice(text.as_bytes()).unwrap()
    }

    fn error(text: &str) -> String {
        from_slice(text.as_bytes()).unwrap_err().to_string()
    }

    /// The results of `sigs.k8s.io/yaml` 1.6.0.
    #[test]
    fn scalars_mean_what_helm_understands() {
        for (text, expected) in [
            (
                "{a: yes, b: off, c: Y, d: ~, e: , f: \"yes\", g: !!str yes}",
                json!({"a": true, "b": false, "c": true, "d": null, "e": null, "f": "yes", "g": "yes"}),
            ),
            (
                "[012, 08, 0x1F, 0b11, 0o17, 1_000, 1__0, -1, +1, 1e3, 1., .5, -.5, 1.0, 18446744073709551615]",
                json!([
                    10,
                    8,
                    31,
                    3,
                    15,
                    1000,
                    10,
                    -1,
                    1,
                    1000,
                    1,
                    0.5,
                    -0.5,
                    1,
                    18_446_744_073_709_551_615_u64
                ]),
            ),
            (
                "[1e400, 2001-12-14, 12:30:45, 1.2.3, 0x, -, <<, '', 0x1G]",
                json!([
                    "1e400",
                    "2001-12-14",
                    "12:30:45",
                    "1.2.3",
                    "0x",
                    "-",
                    "<<",
                    "",
                    "0x1G"
                ]),
            ),
            (
                "[!!binary aGVsbG8=, !!float 1, !foo 1, ! 1, !!str ]",
                json!(["hello", 1, "1", "1", ""]),
            ),
            (
                "{1: a, 1.5: b, true: c, 0x2: d, 1e6: e}",
                json!({"1": "a", "1.5": "b", "true": "c", "2": "d", "1e+06": "e"}),
            ),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        for text in [
            "[.inf]",
            "[.nan]",
            "!!int x",
            "{~: 1}",
            "{[a]: 1}",
            "{{}: 1}",
            "!!binary '*'",
            "a: *b",
            "&a [*a]",
        ] {
            error(text);
        }
    }

    /// Texts from openebs 4.2.0, and similar common ones.
    #[test]
    fn texts_that_only_go_takes_are_taken() {
        for (text, expected) in [
            ("a:\n  b: \"one\n  two\"\n", json!({"a": {"b": "one two"}})),
            ("a: 'one\ntwo'\n", json!({"a": "one two"})),
            ("a: [\n1,\n2\n]\n", json!({"a": [1, 2]})),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        assert_eq!(
            value("a: 1\nb: {c: 1, c: 2}\na: 3\n"),
            json!({"a": 3, "b": {"c": 2}})
        );
        assert_eq!(value("0x1: a\n1: b\n"), json!({"1": "b"}));
    }

    #[test]
    fn what_readers_understand_differently_is_refused_with_its_line() {
        for (text, line) in [
            ("1: a\n\"1\": b\n", 2),
            ("x: &x {a: 1}\nb:\n  a: 2\n  <<: *x\n", 4),
            ("x: &x {a: 1}\ny: &y {a: 2}\nb:\n  <<: *x\n  <<: *y\n", 5),
        ] {
            let error = from_slice(text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(AMBIGUOUS), "{error}");
            assert_eq!(error.place().map(|place| place.line), Some(line), "{error}");
        }
        let error = part(b"a\r---\nb\n", 7).unwrap_err();
        assert!(error.to_string().contains(AMBIGUOUS), "{error}");
        let error = part(b"a: 1\n...\nb: 2\n", 7).unwrap_err();
        assert!(error.to_string().contains(AMBIGUOUS), "{error}");
        assert_eq!(error.place().map(|place| place.line), Some(9));
        let merged = value("x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {<<: [*x, *y], a: 3}\n");
        assert_eq!(merged["z"], json!({"a": 3, "b": 1, "c": 2}));
    }

    #[test]
    fn aliases_of_an_embedded_text_make_no_more_of_it_than_it_holds() {
        let alias = "image: &a {tag: 1}\nsame: *a\n# a comment that makes it long enough\n";
        let expected = json!({"image": {"tag": 1}, "same": {"tag": 1}});
        assert_eq!(embedded(alias).unwrap(), [expected]);
        let bomb = format!("a: &a [1, 1]\nb: [{}]\n", "*a,".repeat(40));
        assert!(embedded(&bomb).is_err());
        assert_eq!(embedded("a: 1\n---\n---\nb: 2\n").unwrap().len(), 2);
    }

    #[test]
    fn documents_come_in_order_without_the_empty_ones() {
        let read = |text: &str| documents(text.as_bytes()).unwrap();
        assert_eq!(
            read("---\na: 1\n---\n---\nb: 2\n...\n"),
            [json!({"a": 1}), json!({"b": 2})]
        );
        assert_eq!(read(""), Vec::<Value>::new());
        assert!(error("a: 1\n---\nb: 1\n").contains("another document at line 2"));
        assert!(documents(b"a: 1\n---\nb: [\n").is_err());
    }

    #[test]
    fn bombs_are_refused_quickly() {
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            writeln!(laughs, "a{level}: &a{level} [{aliases}]").unwrap();
        }
        for bomb in [
            laughs,
            "{a: ".repeat(20_000),
            "[".repeat(100_000),
            "- ".repeat(100_000),
            "? ".repeat(100_000),
            "- x\n".repeat(300_000),
            format!(
                "a: &a {}\nb: [{}]",
                "x".repeat(1 << 20),
                "*a,".repeat(1 << 10)
            ),
        ] {
            let message = error(&bomb);
            assert!(
                message.contains("nested deeper than 64 levels, or more"),
                "{message}"
            );
        }
        let large = vec![b'#'; usize::try_from(limits::YAML_SIZE).unwrap() + 1];
        assert!(matches!(documents(&large), Err(YamlError::Size(_))));
    }
}
