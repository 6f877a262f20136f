//! The output of the program: results on standard output, notes on standard error, JSON or YAML on request, and
//! requests to servers with `--verbose`. No other module writes to a terminal.
//!
//! Text from archives, registries, clusters and file names is part of these lines. Each text is therefore shown as ONE
//! line without control sequences: a line feed in it is escaped. Output of multiple lines takes multiple calls.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, iter};

use progress::{Exchange, Listener};
use rustix::termios::tcgetwinsize;
use schemas::{is_unprintable, printable};
use serde::Serialize;
use serde_json::ser::Formatter;

use crate::args::Output;
use crate::environment;

/// Writes a line of the result, with the arguments of `format!`.
macro_rules! formatted_line {
    ($text:literal $($values:tt)*) => {{
        const _: () = $crate::render::assert_one_line($text);
        $crate::render::line(format!($text $($values)*))
    }};
}
/// Writes a note, with the arguments of `format!`.
macro_rules! formatted_note {
    ($text:literal $($values:tt)*) => {{
        const _: () = $crate::render::assert_one_line($text);
        $crate::render::note(format!($text $($values)*))
    }};
}
pub(crate) use {formatted_line as line, formatted_note as note};

/// Fails to compile for a format of multiple lines, because its line feed would be shown as an escape.
pub(crate) const fn assert_one_line(format: &str) {
    let bytes = format.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        assert!(bytes[at] != b'\n', "a line has no line feed");
        at += 1;
    }
}

/// The number of characters at the beginning and at the end of a long reason in a table. Words are not split.
const HALF_REASON: usize = 120;

/// True if a write to standard output failed, so that the result is incomplete.
static INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// Returns whether all results were written to standard output.
pub(crate) fn is_complete() -> bool {
    !INCOMPLETE.load(Ordering::Relaxed)
}

/// Writes a line of the result.
fn write_line(line: fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    note_written(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Records whether a write failed. A closed pipe is not an error, but a full disk is.
fn note_written(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
        && !INCOMPLETE.swap(true, Ordering::Relaxed)
    {
        note!("error: cannot write to standard output: {error}");
    }
}

/// True if standard output is reserved for another program.
static ASIDE: AtomicBool = AtomicBool::new(false);

/// Reserves standard output for [`result_line`] and JSON. All other output goes to standard error.
pub(crate) fn set_aside() {
    ASIDE.store(true, Ordering::Relaxed);
}

/// Writes a line of the result. A closed pipe is not an error.
pub(crate) fn line(text: impl AsRef<str>) {
    if ASIDE.load(Ordering::Relaxed) {
        return note(text);
    }
    result_line(text);
}

/// Returns the width of the terminal on which the result is shown; none without a terminal.
pub(crate) fn width() -> Option<usize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Writes a line of the result for each item, with the same prefix.
pub(crate) fn lines(words: &str, items: impl IntoIterator<Item: fmt::Display>) {
    for item in items {
        line!("{words}{item}");
    }
}

/// Writes a line to standard error for each item, with the same prefix.
pub(crate) fn notes(words: &str, items: impl IntoIterator<Item: fmt::Display>) {
    for item in items {
        note!("{words}{item}");
    }
}

/// Writes a line of the result, even if standard output is reserved.
pub(crate) fn result_line(text: impl AsRef<str>) {
    write_line(format_args!("{}", printable(text.as_ref())));
}

/// A colour of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Red,
    Green,
    Yellow,
    Cyan,
}

/// Writes a line of the result in a colour, if a person reads it and `NO_COLOR` is not set.
pub(crate) fn coloured(text: &str, colour: Option<Colour>) {
    let is_result = !ASIDE.load(Ordering::Relaxed);
    let no_colour = environment::variable("NO_COLOR");
    match colour.filter(|_| takes_colour(is_result && is_terminal(), no_colour.as_deref())) {
        Some(colour) => write_line(format_args!("{}", in_colour(text, colour))),
        None => line(text),
    }
}

/// Returns true if lines have a colour. Files, pipes and users with `NO_COLOR` get plain text.
fn takes_colour(is_terminal: bool, no_colour: Option<&str>) -> bool {
    is_terminal && no_colour.is_none()
}

/// Returns a line with the control sequences for a colour.
fn in_colour(text: &str, colour: Colour) -> String {
    let code = match colour {
        Colour::Red => "31",
        Colour::Green => "32",
        Colour::Yellow => "33",
        Colour::Cyan => "36",
    };
    format!("\u{1b}[{code}m{}\u{1b}[0m", printable(text))
}

/// Writes a line of a unified diff.
pub(crate) fn diff_line(text: &str) {
    let colour = match text.as_bytes().first() {
        Some(b'+') => Some(Colour::Green),
        Some(b'-') => Some(Colour::Red),
        Some(b'@') => Some(Colour::Cyan),
        _ => None,
    };
    coloured(text, colour);
}

/// Writes a note to standard error.
pub(crate) fn note(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(text.as_ref()));
}

/// Writes a question to the terminal, without a line feed.
pub(crate) fn prompt(mut terminal: &File, text: &str) -> io::Result<()> {
    terminal.write_all(printable(text).as_bytes())
}

/// Returns true if a person reads standard output.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes the bytes of a file unchanged, for another program; text for a terminal uses lines instead. A reader may
/// close the pipe early.
pub(crate) fn raw(bytes: &[u8]) -> io::Result<ControlFlow<()>> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        other => other.map(ControlFlow::Continue),
    }
}

/// Returns standard output for the data of another program.
pub(crate) fn stream() -> impl Write {
    BufWriter::new(io::stdout().lock())
}

/// Prints the help or the version, which clap formats. It contains no text from other sources, so it is not escaped.
pub(crate) fn help(answer: &clap::Error) {
    note_written(answer.print().and_then(|()| io::stdout().flush()));
}

/// The version of the results' schemas in schemas/results. It increases when a field changes its meaning or is removed,
/// but not when fields are added.
pub(crate) const SCHEMA_VERSION: &str = "1";

/// True if results for programs are YAML.
static YAML: AtomicBool = AtomicBool::new(false);

/// Selects YAML for all further results for programs.
pub(crate) fn set_yaml() {
    YAML.store(true, Ordering::Relaxed);
}

/// Writes a result as a YAML document.
fn yaml<T: Serialize>(value: &T) {
    static IS_FOLLOWING: AtomicBool = AtomicBool::new(false);
    if IS_FOLLOWING.swap(true, Ordering::Relaxed) {
        line("---");
    }
    let text = schemas::yaml::to_string(value);
    if !text.starts_with(['-', '[']) {
        line!("schemaVersion: \"{SCHEMA_VERSION}\"");
    }
    if text.trim_end() != "{}" {
        text.lines().for_each(line);
    }
}

/// Writes a result as one line of JSON, or as YAML if that is selected.
pub(crate) fn json<T: Serialize>(value: &T) {
    if YAML.load(Ordering::Relaxed) {
        return yaml(value);
    }
    match as_json(value).map(versioned) {
        Ok(text) => line(text),
        Err(error) => note(format!("error: the result has no JSON form: {error}")),
    }
}

/// Writes a document of an external format as one line of JSON.
pub(crate) fn document<T: Serialize>(value: &T) {
    result_line(as_json(value).expect("texts and numbers"));
}

/// Returns a result as one line of JSON with a line feed, for another stream than standard output.
pub(crate) fn json_line<T: Serialize>(value: &T) -> String {
    let text = as_json(value).expect("texts and numbers");
    versioned(text) + "\n"
}

/// Serializes to JSON. Characters that [`line()`] would escape get JSON escapes instead, so that the meaning is
/// unchanged.
fn as_json<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut bytes, Printable,
    ))?;
    Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
}

/// Adds the version of the schema to a result. Only objects have a place for it, and every result of a verb is one.
fn versioned(result: String) -> String {
    match result.strip_prefix('{') {
        None => result,
        Some("}") => format!(r#"{{"schemaVersion":"{SCHEMA_VERSION}"}}"#),
        Some(fields) => format!(r#"{{"schemaVersion":"{SCHEMA_VERSION}",{fields}"#),
    }
}

/// A formatter that escapes all characters that are not printable. `serde_json` itself escapes only C0, as JSON
/// requires.
struct Printable;

impl Formatter for Printable {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut written = 0;
        for (at, hidden) in fragment.match_indices(is_unprintable) {
            writer.write_all(&fragment.as_bytes()[written..at])?;
            for unit in hidden.encode_utf16() {
                write!(writer, "\\u{unit:04x}")?;
            }
            written = at + hidden.len();
        }
        writer.write_all(&fragment.as_bytes()[written..])
    }
}

/// Writes a result in the requested format.
pub(crate) fn result<T: Serialize>(output: Output, value: &T, human: impl FnOnce(&T)) {
    match output {
        Output::Human => human(value),
        Output::Json => json(value),
    }
}

/// Writes that a dry run has changed nothing.
pub(crate) fn dry_run() {
    line("nothing was changed (--dry-run)");
}

/// Formats a number of bytes for people, with the units of disks (powers of 1000).
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut unit = 0;
    let mut scaled = count;
    let mut rest = 0;
    while scaled >= 1000 && unit + 1 < UNITS.len() {
        rest = scaled % 1000;
        scaled /= 1000;
        unit += 1;
    }
    if unit == 0 {
        format!("{scaled} bytes")
    } else {
        format!("{scaled}.{} {}", rest / 100, UNITS[unit])
    }
}

/// A row of a table, and the lines that are printed below it.
pub(crate) struct Row<const N: usize> {
    pub(crate) cells: [String; N],
    pub(crate) below: Vec<String>,
}

impl<const N: usize> From<[String; N]> for Row<N> {
    fn from(cells: [String; N]) -> Self {
        let below = Vec::new();
        Self { cells, below }
    }
}

/// Prints a table with headings, in which the lines below a row are indented.
pub(crate) fn table<const N: usize>(titles: [&str; N], rows: &[Row<N>]) {
    let cells = rows.iter().map(|row| row.cells.clone());
    let all: Vec<_> = iter::once(titles.map(str::to_owned)).chain(cells).collect();
    let mut table = columns(&all).into_iter();
    table.by_ref().take(1).for_each(line);
    for (row, text) in rows.iter().zip(table) {
        line(text);
        lines("  ", &row.below);
    }
}

/// Returns the lines of a table.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Returns a cell of a table; a dash if there is no text.
pub(crate) fn cell(text: Option<impl fmt::Display>) -> String {
    text.map_or_else(|| "-".to_owned(), |text| text.to_string())
}

/// Returns the lines that give a reason below a row of a table. The middle of a long reason is left out, because the
/// cause is at its end, and the last line has the command that prints it in full.
pub(crate) fn reason(text: &str, command: impl FnOnce() -> String) -> Vec<String> {
    let text = text.trim_end();
    let first = text.lines().next().unwrap_or_default();
    let last = text.lines().last().unwrap_or_default();
    let (beginning, end) = (beginning(first), end(last));
    if first == text && beginning.len() + 1 + end.len() >= text.len() {
        return vec![format!("reason: {text}")];
    }
    let command = command();
    vec![
        format!("reason: {beginning} … {end}"),
        format!("full reason: {command}"),
    ]
}

/// Returns the words at the beginning of a line.
fn beginning(line: &str) -> &str {
    let mut rest = line.char_indices().skip(HALF_REASON);
    let end = rest.find(|(_, character)| character.is_whitespace());
    line[..end.map_or(line.len(), |(at, _)| at)].trim_end()
}

/// Returns the words at the end of a line. The first one begins with ASCII, so that it is not part of an earlier
/// grapheme.
fn end(line: &str) -> &str {
    let mut rest = line.char_indices().rev().skip(HALF_REASON);
    let rest = rest.find_map(|(at, character)| {
        let after = &line[at + character.len_utf8()..];
        let is_word = after.starts_with(|next: char| next.is_ascii_graphic());
        (character.is_whitespace() && is_word).then_some(after)
    });
    rest.unwrap_or(line)
}

/// Joins multiple texts in one line.
pub(crate) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// Formats a count: `1 image`, `2 images`.
pub(crate) fn count(number: usize, singular: &str) -> String {
    format!("{number} {singular}{}", if number == 1 { "" } else { "s" })
}

/// Formats the numbers of images: `3 images, 2 signatures or other referrers`.
pub(crate) fn images(images: usize, referrers: usize) -> String {
    let images = count(images, "image");
    match referrers {
        0 => images,
        1 => format!("{images}, 1 signature or other referrer"),
        more => format!("{images}, {more} signatures or other referrers"),
    }
}

/// True if the user requested `--verbose`.
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Begins to show requests.
pub(crate) fn turn_on_verbose() {
    VERBOSE.store(true, Ordering::Relaxed);
}

/// Returns the listener that shows requests of clients with `--verbose`.
pub(crate) fn request_listener() -> Listener {
    if VERBOSE.load(Ordering::Relaxed) {
        Listener::new(show_exchange)
    } else {
        Listener::default()
    }
}

/// Writes a note that only helps to find the cause of a problem, with `--verbose`.
pub(crate) fn note_if_verbose(text: &str) {
    if VERBOSE.load(Ordering::Relaxed) {
        note(text);
    }
}

fn show_exchange(exchange: &Exchange) {
    let Exchange {
        method, url, took, ..
    } = exchange;
    let status = exchange.status.map(|status| status.to_string());
    let status = status.unwrap_or_else(|| "no answer".to_owned());
    note!("{method} {url} {status} {} ms", took.as_millis());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::{
        Colour, HALF_REASON, as_json, bytes, in_colour, is_unprintable, reason, takes_colour,
        versioned,
    };

    #[test]
    fn only_a_terminal_has_colours_and_only_without_no_color() {
        assert!(takes_colour(true, None));
        assert!(!takes_colour(true, Some("1")));
        assert!(!takes_colour(false, None));
    }

    #[test]
    fn a_coloured_text_of_others_commands_no_terminal() {
        let shown = in_colour("+ ConfigMap a\u{1b}[2J", Colour::Green);
        let inside = shown.strip_prefix("\u{1b}[32m").unwrap();
        let inside = inside.strip_suffix("\u{1b}[0m").unwrap();
        assert!(inside.starts_with("+ ConfigMap a"), "{inside}");
        assert!(!inside.contains(is_unprintable), "{inside}");
    }

    #[test]
    fn json_is_printable_and_means_the_same() {
        let hostile = "a\nerror: b\u{1b}[2J\u{7f}\u{9b}\u{202e}\u{feff}\u{e0041}\"\\é漢";
        let value = BTreeMap::from([(hostile, [hostile])]);
        let text = as_json(&value).unwrap();
        assert!(!text.contains(is_unprintable), "{text}");
        let escaped = r#"a\nerror: b\u001b[2J\u007f\u009b\u202e\ufeff\udb40\udc41\"\\é漢"#;
        assert_eq!(text, format!(r#"{{"{escaped}":["{escaped}"]}}"#));
        let read: BTreeMap<String, Vec<String>> = serde_json::from_str(&text).unwrap();
        assert_eq!(read[hostile], [hostile]);
    }

    #[test]
    fn every_object_says_of_which_version_it_is() {
        let of = |value: &serde_json::Value| versioned(as_json(value).unwrap());
        assert_eq!(of(&json!({ "a": 1 })), r#"{"schemaVersion":"1","a":1}"#);
        assert_eq!(of(&json!({})), r#"{"schemaVersion":"1"}"#);
        assert_eq!(of(&json!([{ "a": 1 }])), r#"[{"a":1}]"#);
    }

    #[test]
    fn a_long_reason_is_cut_at_words_and_names_the_command_that_prints_it() {
        let of = |text: &str| reason(text, || "solution status".to_owned());
        let whole = |text: &str| assert_eq!(of(text), [format!("reason: {text}")]);
        let cut = |text: &str, shown: &str| {
            let lines = [
                format!("reason: {shown}"),
                "full reason: solution status".to_owned(),
            ];
            assert_eq!(of(text), lines);
        };
        whole("");
        whole("no space on the device");
        assert_eq!(of("no space\n"), ["reason: no space"]);
        cut("no space\non\nthe device", "no space … the device");
        let half = "x".repeat(HALF_REASON);
        let shown = format!("{half} … {half}");
        whole(&format!("{half} {half}"));
        cut(&format!("{half} y {half}"), &shown);
        cut(&format!("{half} y\nz {half}"), &shown);
        // A name is not split, so that it can be copied.
        whole(&half.repeat(9));
        cut(&format!("{half}y y y{half}"), &format!("{half}y … y{half}"));
        // A letter is not separated from its combining mark, and the halves of a flag stay together.
        whole(&format!("{half} y \u{301}{half}"));
        let flags = "\u{1f1eb}\u{1f1f7}".repeat(HALF_REASON);
        cut(&format!("{flags} y {half}"), &format!("{flags} … {half}"));
    }

    #[test]
    fn sizes_are_rounded_down() {
        let shown: Vec<String> = [0, 999, 1000, 1999, 1_049_999_999].map(bytes).into();
        assert_eq!(
            shown,
            ["0 bytes", "999 bytes", "1.0 kB", "1.9 kB", "1.0 GB"]
        );
    }
}
