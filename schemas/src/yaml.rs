//! YAML: parsing as kubectl does it (YAML 1.1 booleans and octal numbers, merge keys) within budgets, and output in
//! which every string is quoted, so that all readers agree on it. The entry points are [`from_slice`], [`documents`],
//! [`parts`] for streams, and [`to_string`]. [`go`] parses YAML as Helm does.
//!
//! These attacks are stopped:
//!
//! - alias bombs, deep nesting, and very many nodes or documents, by the budget here;
//!
//! - duplicate keys, which the parser rejects;
//!
//! - size, which is checked here first;
//!
//! - documents that kubectl understands differently, by the options here, which tests compare with kubectl's results.

pub mod go;
mod lines;

use std::borrow::Cow;

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde_saphyr::options::{MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Localizer, Location, MessageFormatter, UserMessageFormatter};

pub use self::lines::Lines;
use crate::digest::shorten;
use crate::limits;

/// The error of bytes that are not YAML of the expected structure.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// The file is larger than [`limits::YAML_SIZE`].
    #[error("has {0} bytes; at most {max} are read", max = limits::YAML_SIZE)]
    Size(usize),
    /// The file is larger than the limit of its kind.
    #[error("has {0} bytes; at most {1} are read")]
    TooLong(usize, usize),
    /// The bytes are not UTF-8.
    #[error("is not UTF-8 text")]
    Encoding(#[source] std::str::Utf8Error),
    /// The text is not YAML, exceeds a budget, or has another structure.
    #[error("{words}{}", describe_place(*.place))]
    Document {
        /// The message without the place.
        words: String,
        /// The place in the file, if it is known.
        place: Option<YamlPlace>,
        /// The kind of error, for hints.
        cause: YamlCause,
    },
}

/// A place in a YAML file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct YamlPlace {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<Location> for YamlPlace {
    fn from(location: Location) -> Self {
        // The size limits keep both numbers far below the maximum.
        let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            line: number(location.line()),
            column: number(location.column()),
        }
    }
}

/// A kind of error in a YAML document. Each kind has its own remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlCause {
    /// The text is not YAML.
    Syntax,
    /// A mapping has a key twice.
    DuplicateKey,
    /// A mapping has an unknown field.
    UnknownField,
    /// A mapping lacks a field.
    MissingField,
    /// A value has another type than its field.
    Type,
    /// A value does not match the grammar of its field.
    Value,
    /// The document exceeds a limit.
    Limit,
}

impl YamlCause {
    /// Every kind of error.
    pub const ALL: &'static [Self] = &[
        Self::Syntax,
        Self::DuplicateKey,
        Self::UnknownField,
        Self::MissingField,
        Self::Type,
        Self::Value,
        Self::Limit,
    ];
}

impl YamlError {
    /// Returns the place in the file, if it is known.
    #[must_use]
    pub fn place(&self) -> Option<YamlPlace> {
        match self {
            Self::Document { place, .. } => *place,
            Self::Size(_) | Self::TooLong(..) | Self::Encoding(_) => None,
        }
    }

    /// Returns the kind of error.
    #[must_use]
    pub fn cause(&self) -> YamlCause {
        match self {
            Self::Document { cause, .. } => *cause,
            Self::Size(_) | Self::TooLong(..) => YamlCause::Limit,
            Self::Encoding(_) => YamlCause::Syntax,
        }
    }

    /// Returns the message without its place, for callers that state the place elsewhere.
    #[must_use]
    pub fn without_place(&self) -> String {
        match self {
            Self::Document { words, .. } => words.clone(),
            Self::Size(_) | Self::TooLong(..) | Self::Encoding(_) => self.to_string(),
        }
    }
}

fn describe_place(place: Option<YamlPlace>) -> String {
    let place = place.map(|place| format!(" at line {}, column {}", place.line, place.column));
    place.unwrap_or_default()
}

/// Parses a file with exactly one document.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, YamlError> {
    let text = text(bytes)?;
    let read = serde_saphyr::from_str_with_options(text, options());
    read.map_err(|error| match document(&error) {
        YamlError::Document {
            words,
            place: Some(place),
            cause: YamlCause::MissingField,
        } => {
            // The parser knows the start of the mapping, but not its path.
            let lines = Lines::parse(bytes).ok();
            let path = lines.and_then(|lines| lines.mapping_at(place));
            YamlError::Document {
                words: path.map_or_else(|| words.clone(), |path| format!("{words} in {path}")),
                place: Some(place),
                cause: YamlCause::MissingField,
            }
        }
        error => error,
    })
}

/// Parses the only document of a long file of at most `limit` bytes. `seed` determines the parts to keep; all others
/// are never held in memory. Aliases are rejected, so that time and memory are proportional to the text.
pub fn long<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    limit: usize,
    seed: S,
) -> Result<S::Value, YamlError> {
    if bytes.len() > limit {
        return Err(YamlError::TooLong(bytes.len(), limit));
    }
    let text = std::str::from_utf8(bytes).map_err(YamlError::Encoding)?;
    // Each value takes at least one character and one that ends it.
    let nodes = limit / 2;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: limits::YAML_DEPTH,
            max_documents: 1,
            max_nodes: nodes,
            max_events: nodes * 2,
            max_total_scalar_bytes: limit,
            max_aliases: 0,
        },
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        emit_comments: false,
        with_snippet: false,
    };
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        seed.deserialize(reader)
    });
    read.map_err(|error| to_yaml_error(&error, &ParserMessages::Long))
}

/// Parses all documents of a file, except empty ones.
pub fn documents(bytes: &[u8]) -> Result<Vec<serde_json::Value>, YamlError> {
    not_empty(text(bytes)?).map_err(|error| document(&error))
}

fn not_empty(text: &str) -> Result<Vec<serde_json::Value>, Error> {
    let mut documents: Vec<serde_json::Value> =
        serde_saphyr::from_multiple_with_options(text, options())?;
    documents.retain(|value| !value.is_null());
    Ok(documents)
}

/// The text between two `---` lines of a stream, which is one document.
#[derive(Clone, Copy, Debug)]
pub struct DocumentText<'a> {
    /// The number of the part among those with content, from 1.
    pub number: usize,
    /// The line of the stream on which it begins, from 1.
    pub line: usize,
    /// The text of the part, after its `---`.
    pub text: &'a str,
}

/// The error of a stream that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The stream is larger than [`limits::YAML_STREAM_SIZE`].
    #[error("has {0} bytes; at most {max} are read", max = limits::YAML_STREAM_SIZE)]
    Size(usize),
    /// The bytes are not UTF-8.
    #[error("is not UTF-8 text: line {0} has invalid bytes")]
    Encoding(usize, #[source] std::str::Utf8Error),
    /// A line that only some readers take for the end of a document.
    #[error("has text directly after `---` on line {0}, {words}", words = go::AMBIGUOUS)]
    Marker(usize),
    /// The stream has more documents than [`limits::YAML_STREAM_DOCUMENTS`].
    #[error("holds more than {max} documents; the next one begins at line {0}", max = limits::YAML_STREAM_DOCUMENTS)]
    Documents(usize),
}

/// Splits a stream at its `---` lines, and omits parts without content. Each document then has its own budget, and
/// errors name it.
///
/// Neither YAML 1.1 nor 1.2 allows such a line within a document, not even in a text. Helm also splits where text
/// directly follows the `---`, which kubectl rejects, so such streams are rejected here.
pub fn parts(bytes: &[u8]) -> Result<Vec<DocumentText<'_>>, StreamError> {
    if bytes.len() as u64 > limits::YAML_STREAM_SIZE {
        return Err(StreamError::Size(bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|source| {
        let before = &bytes[..source.valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        StreamError::Encoding(line, source)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parts = Vec::new();
    let (mut line, mut begin, mut position) = (1, 0, 0);
    for (number, content) in (1..).zip(text.split_inclusive('\n')) {
        if is_marker(content) {
            push_part(&mut parts, line, &text[begin..position])?;
            (line, begin) = (number, position + MARKER.len());
        } else if content.starts_with(MARKER) {
            return Err(StreamError::Marker(number));
        }
        position += content.len();
    }
    push_part(&mut parts, line, &text[begin..])?;
    Ok(parts)
}

const MARKER: &str = "---";

fn is_marker(line: &str) -> bool {
    line.strip_prefix(MARKER)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn push_part<'a>(
    parts: &mut Vec<DocumentText<'a>>,
    line: usize,
    text: &'a str,
) -> Result<(), StreamError> {
    // YAML has only these two characters of white space, and an indented `...` is a text.
    let space = [' ', '\t'];
    let blank = |line: &str| {
        let content = line.trim_start_matches(space);
        content.is_empty() || content.starts_with('#') || line.trim_end_matches(space) == "..."
    };
    // A carriage return also ends a line, so content may follow a comment that it ends.
    if text.split(['\n', '\r']).all(blank) {
        return Ok(());
    }
    if parts.len() == limits::YAML_STREAM_DOCUMENTS {
        return Err(StreamError::Documents(line));
    }
    parts.push(DocumentText {
        number: parts.len() + 1,
        line,
        text,
    });
    Ok(())
}

impl DocumentText<'_> {
    /// Parses the part as Helm and kubectl do; `None` if it is empty. Errors have lines of the stream.
    pub fn document(&self) -> Result<Option<serde_json::Value>, YamlError> {
        go::part(self.text.as_bytes(), self.line)
    }
}

/// Serializes a document with all strings quoted.
///
/// # Panics
///
/// Never for the types of this crate, because YAML can represent all their values.
pub fn to_string<T: Serialize>(value: &T) -> String {
    let options = serde_saphyr::ser_options! { quote_all: true };
    serde_saphyr::to_string_with_options(value, options)
        .expect("documents of text, numbers, lists and maps have a YAML form")
}

fn text(bytes: &[u8]) -> Result<&str, YamlError> {
    if bytes.len() as u64 > limits::YAML_SIZE {
        return Err(YamlError::Size(bytes.len()));
    }
    std::str::from_utf8(bytes).map_err(YamlError::Encoding)
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: limits::YAML_DEPTH,
            max_documents: limits::YAML_DOCUMENTS,
            max_nodes: limits::YAML_NODES,
            max_events: limits::YAML_NODES * 2,
        },
        legacy_octal_numbers: true,
        emit_comments: false,
        with_snippet: false,
    }
}

/// The parser's messages for users. Messages about the parser's own settings are replaced.
enum ParserMessages {
    /// Messages for text that is parsed with [`options`].
    Usual,
    /// Messages for text that [`long`] parses.
    Long,
}

/// Removes the place from the parser's messages, because [`YamlError`] adds it.
struct Placeless;

impl Localizer for Placeless {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _: Location) -> Cow<'a, str> {
        base
    }

    fn alias_used_at(&self, _: Location) -> String {
        String::new()
    }
}

impl MessageFormatter for ParserMessages {
    fn localizer(&self) -> &dyn Localizer {
        &Placeless
    }

    fn format_message<'a>(&self, error: &'a Error) -> Cow<'a, str> {
        match error {
            Error::DuplicateMappingKey { key: Some(key), .. } => {
                Cow::Owned(format!("duplicate key `{}`", shorten(key)))
            }
            Error::DuplicateMappingKey { key: None, .. } => Cow::Borrowed("duplicate key"),
            Error::Budget { .. }
            | Error::AliasReplayCounterOverflow { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. } => Cow::Owned(match self {
                Self::Usual => format!(
                    "nested deeper than {} levels, or more than {} values with all aliases expanded",
                    limits::YAML_DEPTH,
                    limits::YAML_NODES
                ),
                Self::Long => format!(
                    "nested deeper than {} levels, or with aliases",
                    limits::YAML_DEPTH
                ),
            }),
            _ => UserMessageFormatter.format_message(error),
        }
    }
}

fn document(error: &Error) -> YamlError {
    to_yaml_error(error, &ParserMessages::Usual)
}

/// Converts a parser's error to the first line of its message and the place.
fn to_yaml_error(error: &Error, formatter: &ParserMessages) -> YamlError {
    let message = error.render_with_formatter(formatter);
    let line = message.lines().next().unwrap_or_default();
    YamlError::Document {
        words: line.chars().take(400).collect(),
        place: error.location().map(YamlPlace::from),
        cause: cause(error),
    }
}

fn cause(error: &Error) -> YamlCause {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => cause(error),
        Error::DuplicateMappingKey { .. } => YamlCause::DuplicateKey,
        Error::SerdeUnknownField { .. } => YamlCause::UnknownField,
        Error::SerdeMissingField { .. } => YamlCause::MissingField,
        Error::SerdeInvalidType { .. }
        | Error::SerdeInvalidLength { .. }
        | Error::Unexpected { .. }
        | Error::InvalidScalar { .. }
        | Error::NullIntoString { .. } => YamlCause::Type,
        // The message of a type that cannot be parsed from the text.
        Error::Message { .. }
        | Error::SerdeInvalidValue { .. }
        | Error::SerdeUnknownVariant { .. } => YamlCause::Value,
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => YamlCause::Limit,
        _ => YamlCause::Syntax,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use serde_json::json;

    fn value(text: &str) -> serde_json::Value {
        from_slice(text.as_bytes()).unwrap()
    }

    fn error(text: &str) -> String {
        from_slice::<serde_json::Value>(text.as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn scalars_mean_what_kubectl_understands() {
        let text =
            "{a: yes, b: 012, c: !!binary aGVsbG8=, d: 1.5, e: off, f: ~, g: \"yes\", h: 0x1F}";
        let expected = json!({"a": true, "b": 10, "c": "hello", "d": 1.5, "e": false, "f": null, "g": "yes", "h": 31});
        assert_eq!(value(text), expected);
        assert_eq!(
            value("a: &x {k: 1}\nb: {<<: *x, l: 2}")["b"],
            json!({"k": 1, "l": 2})
        );
    }

    #[test]
    fn duplicate_keys_are_refused_with_their_place() {
        let message = error("a: 1\nb: 2\na: 3\n");
        assert_eq!(message, "duplicate key `a` at line 3, column 1");
    }

    #[test]
    fn errors_have_a_cause_and_name_the_mapping_that_lacks_a_field() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only its errors matter")]
        struct Outer {
            #[serde(default)]
            more: u8,
            list: Vec<Inner>,
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only its errors matter")]
        struct Inner {
            name: crate::SolutionName,
            count: u8,
        }
        for (text, cause, words) in [
            (
                "list:\n  - {name: a, count: 1}\n  - name: b\n",
                YamlCause::MissingField,
                "missing field `count` in list[1] at line 3, column 5",
            ),
            (
                "more: 1\nlist:\n  - {count: 1}\n",
                YamlCause::MissingField,
                "missing field `name` in list[0] at line 3",
            ),
            (
                "{}",
                YamlCause::MissingField,
                "missing field `list` at line 1, column 1",
            ),
            (
                "list: []\nother: 1\n",
                YamlCause::UnknownField,
                "unknown field `other`",
            ),
            ("list: [{name: A b, count: 1}]", YamlCause::Value, "`A b`"),
            (
                "list: [{name: a, count: x}]",
                YamlCause::Type,
                "at line 1, column 25",
            ),
            ("list: 3", YamlCause::Type, "at line 1, column 7"),
            (
                "list: []\nlist: []\n",
                YamlCause::DuplicateKey,
                "duplicate key `list`",
            ),
            ("list: [", YamlCause::Syntax, "line 1"),
            ("list: []\n  x: y\n", YamlCause::Syntax, "line 2"),
        ] {
            let error = from_slice::<Outer>(text.as_bytes()).unwrap_err();
            assert_eq!(error.cause(), cause, "{text}: {error}");
            let said = error.to_string();
            assert!(said.contains(words), "{said}");
            assert_eq!(said.matches(" at line ").count(), 1, "{said}");
            assert!(!error.without_place().contains("line"), "{error:?}");
        }
        let many = "- x\n".repeat(300_000);
        let bomb = from_slice::<serde_json::Value>(many.as_bytes()).unwrap_err();
        assert_eq!(bomb.cause(), YamlCause::Limit, "{bomb}");
    }

    #[test]
    fn bombs_are_refused_quickly() {
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let previous = level - 1;
            let aliases = vec![format!("*a{previous}"); 9].join(", ");
            writeln!(laughs, "a{level}: &a{level} [{aliases}]").unwrap();
        }
        for bomb in [
            laughs,
            "{a: ".repeat(20_000),
            "[".repeat(100_000),
            "- x\n".repeat(300_000),
        ] {
            let message = error(&bomb);
            let refusals = ["nested deeper than 64 levels, or more", "recursion limit"];
            assert!(
                refusals.iter().any(|words| message.starts_with(words)),
                "{message}"
            );
        }
        let large = vec![b'#'; usize::try_from(limits::YAML_SIZE).unwrap() + 1];
        assert!(matches!(documents(&large), Err(YamlError::Size(_))));
    }

    /// Found by a fuzzer: such a part counted as blank, and its content was silently lost.
    #[test]
    fn content_behind_a_comment_that_a_carriage_return_ends_is_no_blank_part() {
        let stream = b"# nothing\rkind: Role\n---\n\r#\r!\n#";
        let parts = parts(stream).unwrap();
        let apart: Vec<_> = parts
            .iter()
            .filter_map(|part| part.document().unwrap())
            .collect();
        assert_eq!(apart, [json!({"kind": "Role"}), json!("")]);
        assert_eq!(apart, documents(stream).unwrap());
    }

    /// Found by a fuzzer, like the previous case.
    #[test]
    fn texts_that_look_like_an_end_or_like_space_are_no_blank_parts() {
        for (stream, text) in [(" ...\n#a", "..."), ("\u{a0}", "\u{a0}")] {
            let parts = parts(stream.as_bytes()).unwrap();
            let apart: Vec<_> = parts
                .iter()
                .filter_map(|part| part.document().unwrap())
                .collect();
            assert_eq!(apart, [json!(text)]);
            assert_eq!(apart, documents(stream.as_bytes()).unwrap());
        }
        assert!(parts(b"... \n \t# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn long_documents_are_read_within_their_own_limit_and_without_aliases() {
        let read = |text: &str, limit| {
            let seed = std::marker::PhantomData::<serde_json::Value>;
            long(text.as_bytes(), limit, seed)
        };
        let said = |text: &str, limit| read(text, limit).unwrap_err().to_string();
        let many = "- x\n".repeat(300_000);
        let list = read(&many, many.len()).unwrap();
        assert_eq!(list.as_array().map(Vec::len), Some(300_000));
        assert!(said(&many, many.len() - 1).contains("at most 1199999 are read"));
        let refusal = "nested deeper than 64 levels, or with aliases";
        for bomb in ["{a: ".repeat(20_000), "a: &a [x]\nb: *a\n".to_owned()] {
            let message = said(&bomb, 1 << 20);
            let known = message.starts_with(refusal) || message.starts_with("recursion limit");
            assert!(known, "{message}");
        }
        assert!(read("a: 1\n---\nb: 1\n", 100).is_err());
        assert!(said("a: 1\na: 2\n", 100).starts_with("duplicate key `a`"));
    }

    #[test]
    fn several_documents_come_in_order_without_the_empty_ones() {
        let read = documents(b"---\na: 1\n---\n---\nb: 2\n").unwrap();
        assert_eq!(read, [json!({"a": 1}), json!({"b": 2})]);
        assert!(documents(b"a: 1\n---\nb: [\n").is_err());
    }

    #[test]
    fn streams_are_taken_apart_with_the_lines_of_their_documents() {
        let stream = b"# head\n---\na: 1\n---\n# only words\n--- # said\nb: |\n  x\n   ---\n--- {c: 3}\n...\n--- \r\nd: '\n  ---x'\n";
        let taken = parts(stream).unwrap();
        let places: Vec<(usize, usize)> =
            taken.iter().map(|part| (part.number, part.line)).collect();
        assert_eq!(places, [(1, 2), (2, 6), (3, 10), (4, 12)]);
        let read: Vec<_> = taken
            .iter()
            .filter_map(|part| part.document().unwrap())
            .collect();
        let expected = [
            json!({"a": 1}),
            json!({"b": "x\n ---\n"}),
            json!({"c": 3}),
            json!({"d": " ---x"}),
        ];
        assert_eq!(read, expected);
        assert_eq!(read, documents(stream).unwrap());
        let message = super::parts(b"a: 1\n---x: 2\n").unwrap_err().to_string();
        assert_eq!(
            message,
            "has text directly after `---` on line 2, which YAML parsers read differently"
        );
    }

    #[test]
    fn errors_in_streams_name_the_line_of_the_stream() {
        let stream = b"a: 1\n---\n\n1: 2\n'1': 3\n";
        let parts = parts(stream).unwrap();
        let message = parts[1].document().unwrap_err().to_string();
        assert_eq!(
            message,
            "two keys become `1` in JSON, which YAML parsers read differently at line 5, column 1"
        );
    }

    #[test]
    fn streams_are_bounded() {
        let many = "---\na: 1\n".repeat(limits::YAML_STREAM_DOCUMENTS + 1);
        let message = parts(many.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            message,
            "holds more than 10000 documents; the next one begins at line 20001"
        );
        assert!(parts(&many.as_bytes()[9..]).is_ok());
        let message = parts(b"a: 1\n\nb: \xff\n").unwrap_err().to_string();
        assert_eq!(message, "is not UTF-8 text: line 3 has invalid bytes");
        let large = vec![b'#'; usize::try_from(limits::YAML_STREAM_SIZE).unwrap() + 1];
        assert!(matches!(parts(&large), Err(StreamError::Size(_))));
        let large = "x".repeat(usize::try_from(limits::YAML_SIZE).unwrap() + 1);
        let part = &parts(large.as_bytes()).unwrap()[0];
        assert!(matches!(part.document(), Err(YamlError::Size(_))));
    }

    #[test]
    fn what_is_written_is_read_back_alike() {
        let tricky = json!({"yes": ["no", "012", "1e3", "", "a: b", "#x", "- y", "é\n\"z\"\\", "{{ x }}", "~"], "n": 5, "t": true});
        let text = to_string(&tricky);
        assert_eq!(value(&text), tricky);
        assert!(text.contains("'012'"), "{text}");
    }
}
