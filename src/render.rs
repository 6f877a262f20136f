//! What is shown: results on standard output, talk on standard error, and JSON where it was asked for. Nothing else of the
//! program writes to a terminal.
//!
//! Text of others (of archives, registries, clusters, file names) comes here inside of ours, so that every text is shown as
//! ONE line in which nothing commands a terminal: a line feed in it is an escape. What has several lines is several calls.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::iter;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use importer::Run;
use rustix::termios::tcgetwinsize;
use schemas::{is_unprintable, printable};
use serde::Serialize;
use serde_json::ser::Formatter;

use crate::args::Output;
use crate::environment;

/// A line of the result, as `format!` makes it.
macro_rules! formatted_line {
    ($text:literal $($values:tt)*) => {{
        const _: () = $crate::render::assert_one_line($text);
        $crate::render::line(format!($text $($values)*))
    }};
}
/// A line of talk, as `format!` makes it.
macro_rules! formatted_note {
    ($text:literal $($values:tt)*) => {{
        const _: () = $crate::render::assert_one_line($text);
        $crate::render::note(format!($text $($values)*))
    }};
}
pub(crate) use {formatted_line as line, formatted_note as note};

/// Fails to compile for a format of more than one line: its line feed would be shown as an escape.
pub(crate) const fn assert_one_line(format: &str) {
    let bytes = format.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        assert!(bytes[at] != b'\n', "a line has no line feed");
        at += 1;
    }
}

/// The characters at the beginning and at the end of a long reason that a table shows; words are whole.
const HALF_REASON: usize = 120;

/// Whether something could not be written to standard output, so that the result is not complete.
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

/// Remembers if something could not be written. A reader that has gone away is not an error; a full disk is.
fn note_written(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
        && !INCOMPLETE.swap(true, Ordering::Relaxed)
    {
        note!("error: cannot write to standard output: {error}");
    }
}

/// Whether standard output is kept for what another program reads.
static ASIDE: AtomicBool = AtomicBool::new(false);

/// From now on only [`result_line`] and JSON go to standard output: all else is talk.
pub(crate) fn set_aside() {
    ASIDE.store(true, Ordering::Relaxed);
}

/// A line of the result. A reader that has gone away is not an error.
pub(crate) fn line(text: impl AsRef<str>) {
    if ASIDE.load(Ordering::Relaxed) {
        return note(text);
    }
    result_line(text);
}

/// Returns the number of columns of the terminal that the result is shown on; none if it is no terminal.
pub(crate) fn width() -> Option<usize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// A line of the result for each of these, behind the same words.
pub(crate) fn lines(words: &str, items: impl IntoIterator<Item: fmt::Display>) {
    for item in items {
        line!("{words}{item}");
    }
}

/// A line on standard error for each of these, behind the same words.
pub(crate) fn notes(words: &str, items: impl IntoIterator<Item: fmt::Display>) {
    for item in items {
        note!("{words}{item}");
    }
}

/// A line of what was asked for on its own.
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

/// A line of the result in a colour, where a person reads and has not asked for none (`NO_COLOR`).
pub(crate) fn coloured(text: &str, colour: Option<Colour>) {
    let is_result = !ASIDE.load(Ordering::Relaxed);
    let no_colour = environment::variable("NO_COLOR");
    match colour.filter(|_| takes_colour(is_result && is_terminal(), no_colour.as_deref())) {
        Some(colour) => write_line(format_args!("{}", in_colour(text, colour))),
        None => line(text),
    }
}

/// Whether lines have a colour: a file, a pipe and a person with `NO_COLOR` get the text alone.
fn takes_colour(is_terminal: bool, no_colour: Option<&str>) -> bool {
    is_terminal && no_colour.is_none()
}

/// Returns a line with the commands of a terminal that colour it.
fn in_colour(text: &str, colour: Colour) -> String {
    let code = match colour {
        Colour::Red => "31",
        Colour::Green => "32",
        Colour::Yellow => "33",
        Colour::Cyan => "36",
    };
    format!("\u{1b}[{code}m{}\u{1b}[0m", printable(text))
}

/// A line of a unified diff.
pub(crate) fn diff_line(text: &str) {
    let colour = match text.as_bytes().first() {
        Some(b'+') => Some(Colour::Green),
        Some(b'-') => Some(Colour::Red),
        Some(b'@') => Some(Colour::Cyan),
        _ => None,
    };
    coloured(text, colour);
}

/// A line of talk.
pub(crate) fn note(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(text.as_ref()));
}

/// A question at the terminal, whose answer follows in the same line.
pub(crate) fn prompt(mut terminal: &File, text: &str) -> io::Result<()> {
    terminal.write_all(printable(text).as_bytes())
}

/// Whether a person reads standard output.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Bytes of a file as they are, for another program: to a terminal go lines. It may have seen enough and be gone.
pub(crate) fn raw(bytes: &[u8]) -> io::Result<ControlFlow<()>> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        other => other.map(ControlFlow::Continue),
    }
}

/// Standard output as another program reads it: nothing of what goes there is for people.
pub(crate) fn stream() -> impl Write {
    BufWriter::new(io::stdout().lock())
}

/// The help or the version, which clap lays out and which holds no text of others: asked for, or in place of a command.
pub(crate) fn help(answer: &clap::Error) {
    note_written(answer.print().and_then(|()| io::stdout().flush()));
}

/// The version of what results hold: schemas/results has a schema for each verb. It rises when a field changes its meaning
/// or goes; fields that are added leave it.
pub(crate) const SCHEMA_VERSION: &str = "1";

/// Whether results for programs are YAML.
static YAML: AtomicBool = AtomicBool::new(false);

/// From now on results for programs are YAML.
pub(crate) fn set_yaml() {
    YAML.store(true, Ordering::Relaxed);
}

/// A result as YAML. Of several results each is a document.
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

/// A result as one line of JSON, or as YAML if that is set.
pub(crate) fn json<T: Serialize>(value: &T) {
    if YAML.load(Ordering::Relaxed) {
        return yaml(value);
    }
    match as_json(value).map(versioned) {
        Ok(text) => line(text),
        Err(error) => note(format!("error: the result has no JSON form: {error}")),
    }
}

/// A document of a format that others have defined, as one line of JSON.
pub(crate) fn document<T: Serialize>(value: &T) {
    result_line(as_json(value).expect("texts and numbers"));
}

/// A result as one line of JSON with its end, for a stream that is not standard output.
pub(crate) fn json_line<T: Serialize>(value: &T) -> String {
    let text = as_json(value).expect("texts and numbers");
    versioned(text) + "\n"
}

/// JSON that means the same and that a terminal shows as it is: what [`line()`] would make another text of is escaped in
/// JSON's own way.
fn as_json<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut bytes, Printable,
    ))?;
    Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
}

/// A result, which says of which version it is. Every result of a verb is an object; nothing else has a place for that.
fn versioned(result: String) -> String {
    match result.strip_prefix('{') {
        None => result,
        Some("}") => format!(r#"{{"schemaVersion":"{SCHEMA_VERSION}"}}"#),
        Some(fields) => format!(r#"{{"schemaVersion":"{SCHEMA_VERSION}",{fields}"#),
    }
}

/// `serde_json` itself escapes only what JSON demands, which is C0.
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

/// A result, as it was asked for.
pub(crate) fn result<T: Serialize>(output: Output, value: &T, human: impl FnOnce(&T)) {
    match output {
        Output::Human => human(value),
        Output::Json => json(value),
    }
}

/// Says of a run that only showed what it would do that it did no more.
pub(crate) fn dry(run: Run) {
    if run == Run::Dry {
        line("nothing was changed (--dry-run)");
    }
}

/// A number of bytes as people read it, with the units of disks (powers of 1000).
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

/// The lines of a table.
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

/// A cell of a table, or a dash if it has no text.
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

/// Returns the words at the end of a line. The first one begins with ASCII, so that it belongs to no grapheme before it.
fn end(line: &str) -> &str {
    let mut rest = line.char_indices().rev().skip(HALF_REASON);
    let rest = rest.find_map(|(at, character)| {
        let after = &line[at + character.len_utf8()..];
        let is_word = after.starts_with(|next: char| next.is_ascii_graphic());
        (character.is_whitespace() && is_word).then_some(after)
    });
    rest.unwrap_or(line)
}

/// Several texts of a kind, in one line.
pub(crate) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// `1 image`, `2 images`.
pub(crate) fn count(number: usize, singular: &str) -> String {
    format!("{number} {singular}{}", if number == 1 { "" } else { "s" })
}

/// `3 images, 2 signatures or other referrers`.
pub(crate) fn images(images: usize, referrers: usize) -> String {
    let images = count(images, "image");
    match referrers {
        0 => images,
        1 => format!("{images}, 1 signature or other referrer"),
        more => format!("{images}, {more} signatures or other referrers"),
    }
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
        // A name stays whole, so that it can be copied.
        whole(&half.repeat(9));
        cut(&format!("{half}y y y{half}"), &format!("{half}y … y{half}"));
        // Neither are a letter and its mark separated, nor the halves of a flag.
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
