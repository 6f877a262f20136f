//! What is shown: results on standard output, talk on standard error, and JSON where it was asked for.

use std::io::Write as _;

use serde::Serialize;

use crate::args::Output;
use crate::exit::{Failure, Outcome};

/// A line of the result. A reader that has gone away is not an error.
pub(crate) fn line(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stdout().lock(), "{}", printable(text.as_ref()));
}

/// A line of talk.
pub(crate) fn note(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", printable(text.as_ref()));
}

/// Text without what a terminal would obey: archives and clusters choose some of it. JSON has no such characters.
fn printable(text: &str) -> String {
    let harmless = |c: char| {
        if c.is_control() && c != '\n' {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    text.chars().map(harmless).collect()
}

/// A result as one line of JSON.
pub(crate) fn json<T: Serialize>(value: &T) {
    match serde_json::to_string(value) {
        Ok(text) => line(text),
        Err(error) => note(format!("error: the result has no JSON form: {error}")),
    }
}

/// A result, as it was asked for.
pub(crate) fn result<T: Serialize>(output: Output, value: &T, human: impl FnOnce(&T)) {
    match output {
        Output::Human => human(value),
        Output::Json => json(value),
    }
}

#[derive(Serialize)]
struct FailureJson<'a> {
    error: String,
    causes: Vec<String>,
    hints: &'a [String],
    answer: &'static str,
}

/// Why a command did not do what it was asked.
pub(crate) fn failure(output: Output, failure: &Failure) {
    if output == Output::Human {
        return note(failure.to_string());
    }
    json(&FailureJson {
        error: failure.message(),
        causes: failure.causes(),
        hints: failure.hints(),
        answer: match failure.outcome() {
            Outcome::Yes => "yes",
            Outcome::No => "no",
            Outcome::Usage => "usage",
            Outcome::Unknown => "unknown",
        },
    });
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

/// `1 image`, `2 images`.
pub(crate) fn count(number: usize, singular: &str) -> String {
    format!("{number} {singular}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_not_commanded() {
        assert_eq!(
            printable("a\n\u{1b}[2Jb\r\u{9b}c"),
            "a\n\u{fffd}[2Jb\u{fffd}\u{fffd}c"
        );
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
