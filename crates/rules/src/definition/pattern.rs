//! Regular expressions of Go (RE2), in which schemas define patterns. [`translate`] checks that Go accepts a pattern,
//! and translates it to the syntax of the crate `regex`, which differs in both directions. The rules follow `parse.go`
//! of Go's `regexp/syntax`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use regex::Regex;

/// Go's limit for repetitions.
const REPETITIONS: u64 = 1000;
/// Go's limit for nested groups.
const NESTING: usize = 1000;

/// The number of cached names of character classes, in any spelling.
const KNOWN_SETS: usize = 1000;

type Translated<T> = Result<T, &'static str>;

/// Translates a pattern, or returns the reason why Go rejects it.
pub(super) fn translate(pattern: &str) -> Translated<String> {
    let mut reader = Reader {
        rest: pattern,
        out: String::new(),
        groups: Vec::new(),
        names: BTreeSet::new(),
        last: Last::Nothing,
        needed: 0,
    };
    while let Some(first) = reader.rest.chars().next() {
        reader.part(first)?;
    }
    if !reader.groups.is_empty() {
        return Err("a group is not closed");
    }
    Ok(reader.out)
}

/// Checks whether a character class has a known name. The names are those of Unicode, and all tables in Go exist in the
/// crate too. Results are cached, since a file may contain a million classes, but only some hundred different ones.
fn is_known_set(set: &str) -> bool {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.contains(set) {
        return true;
    }
    let is_known = Regex::new(set).is_ok();
    if is_known && known.len() < KNOWN_SETS {
        known.insert(set.to_owned());
    }
    is_known
}

/// The element before the next part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// No element that can be repeated.
    Nothing,
    /// An element that can be repeated, with the product of the repetitions within it.
    Item(u64),
    /// A repeated element, with the product of the repetitions.
    Repeated(u64),
}

impl Last {
    const fn within(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Item(within) | Self::Repeated(within) => within,
        }
    }
}

struct Reader<'p> {
    rest: &'p str,
    out: String,
    /// The value of `needed` in the enclosing group of each open group.
    groups: Vec<u64>,
    names: BTreeSet<&'p str>,
    last: Last,
    /// The maximal product of repetitions in the current group so far.
    needed: u64,
}

impl<'p> Reader<'p> {
    fn part(&mut self, first: char) -> Translated<()> {
        match first {
            '(' => return self.open(),
            '|' => {
                self.take(1);
                self.out.push('|');
                self.note();
                self.last = Last::Nothing;
            }
            ')' => {
                self.take(1);
                let around = self
                    .groups
                    .pop()
                    .ok_or("a group is closed that was not opened")?;
                self.note();
                let within = self.needed;
                self.needed = around;
                self.out.push(')');
                self.last = Last::Item(within);
            }
            '^' | '$' | '.' => {
                self.take(1);
                self.out.push(first);
                self.item();
            }
            '[' => {
                self.class()?;
                self.item();
            }
            '*' | '+' | '?' => {
                self.take(1);
                self.out.push(first);
                self.repeat(None)?;
            }
            '{' => {
                if let Some((counts, length)) = counts(self.rest) {
                    let text = self.take(length);
                    self.out.push_str(text);
                    self.repeat(Some(counts?))?;
                } else {
                    self.take(1);
                    self.literal('{');
                }
            }
            '\\' => return self.escape(),
            other => {
                self.take(other.len_utf8());
                self.literal(other);
            }
        }
        Ok(())
    }

    fn take(&mut self, length: usize) -> &'p str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// Records the repetitions of the last element before another one follows.
    fn note(&mut self) {
        self.needed = self.needed.max(self.last.within());
    }

    fn item(&mut self) {
        self.note();
        self.last = Last::Item(0);
    }

    fn literal(&mut self, character: char) {
        self.character(character);
        self.item();
    }

    /// Writes an escaped character, so that it has no special meaning in the syntax of the crate.
    fn character(&mut self, character: char) {
        let code = u32::from(character);
        write!(self.out, "\\x{{{code:X}}}").expect("writing to a String");
    }

    fn repeat(&mut self, counts: Option<Counts>) -> Translated<()> {
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.rest = rest;
            self.out.push('?');
        }
        let within = match self.last {
            Last::Nothing => return Err("a repetition follows nothing"),
            Last::Repeated(_) => return Err("a repetition is repeated"),
            Last::Item(within) => within,
        };
        let within = match counts {
            None => within,
            Some(Counts { most: Some(0), .. }) => 0,
            Some(Counts { least, most }) => {
                let times = most.unwrap_or(least).max(1);
                let within = times.saturating_mul(within.max(1));
                if (least >= 2 || most.is_some_and(|most| most >= 2)) && within > REPETITIONS {
                    return Err("something is repeated more than 1000 times");
                }
                within
            }
        };
        self.last = Last::Repeated(within);
        Ok(())
    }

    /// Reads the beginning of a group, or flags for the rest of the current group.
    fn open(&mut self) -> Translated<()> {
        let mut named = ["(?P<", "(?<"]
            .into_iter()
            .filter_map(|prefix| Some((prefix, self.rest.strip_prefix(prefix)?)));
        if let Some((prefix, rest)) = named.next() {
            let end = rest.find('>').ok_or("the name of a group is not closed")?;
            let name = &rest[..end];
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err(
                    "the name of a group has other characters than letters, digits and `_`",
                );
            }
            if !self.names.insert(name) {
                return Err("two groups have the same name");
            }
            self.take(prefix.len() + end + 1);
            return self.group("(");
        }
        if !self.rest.starts_with("(?") {
            self.take(1);
            return self.group("(");
        }
        let flags = &self.rest[2..];
        let wrong = "a group begins with `(?` but none of the flags i, m, s and U; lookahead and lookbehind are not supported";
        let end = flags.find([':', ')']).ok_or(wrong)?;
        let (on, off) = match flags[..end].split_once('-') {
            Some((on, off)) if !off.is_empty() => (on, off),
            Some(_) => return Err(wrong),
            None => (&flags[..end], ""),
        };
        if !on
            .bytes()
            .chain(off.bytes())
            .all(|flag| b"imsU".contains(&flag))
        {
            return Err(wrong);
        }
        let text = self.take(end + 3);
        if text.ends_with(':') {
            return self.group(text);
        }
        if text != "(?)" {
            self.out.push_str(text);
        }
        // Flags do not change the last element.
        if let Last::Repeated(within) = self.last {
            self.last = Last::Item(within);
        }
        Ok(())
    }

    fn group(&mut self, text: &str) -> Translated<()> {
        if self.groups.len() == NESTING {
            return Err("has groups that are nested more than 1000 levels deep");
        }
        self.out.push_str(text);
        self.note();
        self.groups.push(self.needed);
        self.needed = 0;
        self.last = Last::Nothing;
        Ok(())
    }

    fn escape(&mut self) -> Translated<()> {
        match self.rest.as_bytes().get(1) {
            Some(kind @ (b'A' | b'b' | b'B' | b'z')) => {
                self.take(2);
                let same = match kind {
                    b'A' => r"\A",
                    // Go's word boundary knows only ASCII words.
                    b'b' => r"(?-u:\b)",
                    b'B' => r"\B",
                    _ => r"\z",
                };
                self.out.push_str(same);
                self.item();
            }
            Some(b'Q') => {
                self.take(2);
                let end = self.rest.find(r"\E");
                let text = self.take(end.unwrap_or(self.rest.len()));
                if end.is_some() {
                    self.take(2);
                }
                if let (true, Last::Repeated(within)) = (text.is_empty(), self.last) {
                    self.last = Last::Item(within);
                }
                text.chars().for_each(|character| self.literal(character));
            }
            _ => {
                if !self.set(SetPlace::Alone)? {
                    let character = self.escaped()?;
                    self.character(character);
                }
                self.item();
            }
        }
        Ok(())
    }

    /// Reads a named character class, if there is one.
    fn set(&mut self, place: SetPlace) -> Translated<bool> {
        let Some(kind) = self
            .rest
            .strip_prefix('\\')
            .and_then(|rest| rest.chars().next())
        else {
            return Ok(false);
        };
        if matches!(kind, 'p' | 'P') {
            let rest = &self.rest[2..];
            let length = match rest.chars().next() {
                Some('{') => rest.find('}').map(|end| end + 1),
                first => first.map(char::len_utf8),
            };
            let length = length.ok_or("a character class has no name")?;
            let text = self.take(2 + length);
            // Go also accepts a negation within the braces.
            let set = match (text.strip_prefix("\\p{^"), text.strip_prefix("\\P{^")) {
                (Some(name), _) => format!("\\P{{{name}"),
                (_, Some(name)) => format!("\\p{{{name}"),
                (None, None) => text.to_owned(),
            };
            if !is_known_set(&set) {
                return Err("a character class has an unknown name");
            }
            self.out.push_str(&set);
            return Ok(true);
        }
        // These classes contain only ASCII characters in Go.
        let members = match kind.to_ascii_lowercase() {
            'd' => "0-9",
            's' => r"\t\n\x0C\r ",
            'w' => "0-9A-Za-z_",
            _ => return Ok(false),
        };
        self.take(2);
        match (kind.is_ascii_uppercase(), place) {
            (true, _) => write!(self.out, "[^{members}]"),
            (false, SetPlace::Alone) => write!(self.out, "[{members}]"),
            (false, SetPlace::InClass) => write!(self.out, "{members}"),
        }
        .expect("writing to a String");
        Ok(true)
    }

    /// Reads an escaped character.
    fn escaped(&mut self) -> Translated<char> {
        let mut characters = self.rest[1..].chars();
        let first = characters.next().ok_or("ends with a backslash")?;
        let unknown = "a backslash precedes a character that cannot be escaped";
        let (character, length) = match first {
            'a' => ('\x07', 2),
            'f' => ('\x0c', 2),
            'n' => ('\n', 2),
            'r' => ('\r', 2),
            't' => ('\t', 2),
            'v' => ('\x0b', 2),
            '0'..='7' => {
                let digits: Vec<u8> = self.rest[1..]
                    .bytes()
                    .take(3)
                    .take_while(|digit| matches!(digit, b'0'..=b'7'))
                    .collect();
                if first != '0' && digits.len() == 1 {
                    return Err("has a backreference, which is not supported");
                }
                let octal = digits.iter();
                let code = octal.fold(0, |code, digit| code * 8 + u32::from(digit - b'0'));
                (char::from_u32(code).ok_or(unknown)?, digits.len() + 1)
            }
            'x' => {
                let digits = &self.rest[2..];
                let (digits, length) = if let Some(braced) = digits.strip_prefix('{') {
                    let end = braced.find('}').ok_or(unknown)?;
                    (&braced[..end], end + 4)
                } else {
                    (digits.get(..2).ok_or(unknown)?, 4)
                };
                if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return Err(unknown);
                }
                let digits = digits.trim_start_matches('0');
                let code = u32::from_str_radix(if digits.is_empty() { "0" } else { digits }, 16)
                    .ok()
                    .filter(|code| *code <= 0x10_FFFF)
                    .ok_or(unknown)?;
                // A surrogate does not occur in any text.
                (char::from_u32(code).unwrap_or('\u{10FFFF}'), length)
            }
            mark if mark.is_ascii() && !mark.is_ascii_alphanumeric() => (mark, 2),
            _ => return Err(unknown),
        };
        self.take(length);
        Ok(character)
    }

    fn class(&mut self) -> Translated<()> {
        const OPEN: &str = "a bracket expression is not closed";
        self.take(1);
        self.out.push('[');
        if self.rest.starts_with('^') {
            let same = self.take(1);
            self.out.push_str(same);
        }
        let mut is_first = true;
        loop {
            let next = self.rest.chars().next().ok_or(OPEN)?;
            if next == ']' && !is_first {
                let same = self.take(1);
                self.out.push_str(same);
                return Ok(());
            }
            is_first = false;
            if self.posix()? || self.set(SetPlace::InClass)? {
                continue;
            }
            let low = self.class_character(OPEN)?;
            let is_range = self.rest.starts_with('-') && !self.rest[1..].starts_with(']');
            let high = if is_range && self.rest.len() > 1 {
                self.take(1);
                self.class_character(OPEN)?
            } else {
                low
            };
            if high < low {
                return Err("a range in a bracket expression ends before it begins");
            }
            self.character(low);
            self.out.push('-');
            self.character(high);
        }
    }

    fn class_character(&mut self, open: &'static str) -> Translated<char> {
        let next = self.rest.chars().next().ok_or(open)?;
        if next == '\\' {
            return self.escaped();
        }
        self.take(next.len_utf8());
        Ok(next)
    }

    /// Reads a POSIX class such as `[:alpha:]`, if there is one.
    fn posix(&mut self) -> Translated<bool> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print",
            "punct", "space", "upper", "word", "xdigit",
        ];
        let Some(inner) = self.rest.strip_prefix("[:") else {
            return Ok(false);
        };
        let Some(end) = inner.find(":]") else {
            return Ok(false);
        };
        let name = inner[..end].trim_start_matches('^');
        if !NAMES.contains(&name) || end > name.len() + 1 {
            return Err("a class like [:alpha:] has an unknown name");
        }
        let same = self.take(end + 4);
        self.out.push_str(same);
        Ok(true)
    }
}

/// The number of repetitions.
#[derive(Clone, Copy, Debug)]
struct Counts {
    least: u64,
    most: Option<u64>,
}

/// The position of a named character class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetPlace {
    Alone,
    InClass,
}

/// Returns the repetition in braces at the beginning of a text with its length, or `None` if the brace is a literal.
fn counts(text: &str) -> Option<(Translated<Counts>, usize)> {
    let end = text.find('}')?;
    let (least, most) = match text[1..end].split_once(',') {
        None => (number(&text[1..end])?, Some(number(&text[1..end])?)),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    let counts = if least.max(most.unwrap_or_default()) > REPETITIONS {
        Err("something is repeated more than 1000 times")
    } else if most.is_some_and(|most| most < least) {
        Err("a repetition has a minimum above its maximum")
    } else {
        Ok(Counts { least, most })
    };
    Some((counts, end + 1))
}

/// Returns a number, or `None` if Go does not read the text as a number.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let has_zero = text.len() > 1 && text.starts_with('0');
    (is_number && !has_zero).then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_the_same_in_both_syntaxes() {
        for (pattern, matching, other) in [
            (r"^\w+$", "abc", "äbc"),
            (r"^\d$", "5", "٥"),
            (r"^\s$", "\t", "\u{a0}"),
            (r"^[^\D]+$", "5", "a"),
            ("^a{,2}$", "a{,2}", "aa"),
            ("^[a&&b]+$", "a&b", "c"),
            ("^[[a]b]$", "[b]", "ab"),
            (r"^\Qa.\E$", "a.", "ab"),
            (r"^\101\x{42}\x43$", "ABC", "abc"),
            (r"^[[:^alpha:]]$", "5", "a"),
            (r"^\p{^Greek}\PL$", "a5", "α5"),
            ("^(?P<x>a|(?i:b))+$", "aB", "A"),
            ("(?i)^straße$", "STRAßE", "strasse"),
            (r"^\pL$", "ä", "5"),
            (r"^a$", "a", "a\n"),
            ("{", "{", "}"),
        ] {
            let regex = Regex::new(&translate(pattern).unwrap()).unwrap();
            assert!(regex.is_match(matching), "{pattern}");
            assert!(!regex.is_match(other), "{pattern}");
        }
    }

    #[test]
    fn what_go_does_not_read_is_refused_with_the_reason() {
        for (pattern, words) in [
            ("a**", "a repetition is repeated"),
            ("a{2}{3}", "a repetition is repeated"),
            ("|*", "a repetition follows nothing"),
            ("(a{40}){40}", "something is repeated more than 1000 times"),
            ("a{1001}", "something is repeated more than 1000 times"),
            (
                "(a{2})|(?:b{600}){2}",
                "something is repeated more than 1000 times",
            ),
            ("(a", "a group is not closed"),
            ("a)", "a group is closed that was not opened"),
            (
                r"\u0041",
                "a backslash precedes a character that cannot be escaped",
            ),
            (r"\1", "has a backreference, which is not supported"),
            ("[a", "a bracket expression is not closed"),
            ("(?P<a>b)(?P<a>c)", "two groups have the same name"),
        ] {
            assert_eq!(translate(pattern).unwrap_err(), words, "{pattern}");
        }
        let nested = |count| format!("{}a{}", "(".repeat(count), ")".repeat(count));
        assert!(translate(&nested(NESTING)).is_ok());
        assert!(translate(&nested(NESTING + 1)).is_err());
    }
}
