//! Scanning of scalars, tags, anchors and directives, as libyaml's scanner does it. The same text must be the same
//! value here and in Kubernetes, whose parser is a port of libyaml.

use super::Problem;
use super::cursor::{Cursor, Mark};

/// The text of a scalar. Only a plain scalar, without quotes, can have a type other than text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) is_plain: bool,
    /// True if a line break follows a plain scalar that is not a part of it.
    pub(super) ends_line: bool,
}

/// A line that begins with `%`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Directive {
    /// `%YAML`, true for version 1.1.
    Version(bool),
    /// `%TAG`: handle and prefix.
    Tag(String, String),
}

/// Line breaks and blanks between two words of a scalar, which are folded.
#[derive(Default)]
struct FoldedGap {
    blanks: String,
    first: String,
    more: String,
    /// True if it has a line break.
    is_broken: bool,
}

impl FoldedGap {
    fn is_empty(&self) -> bool {
        !self.is_broken && self.blanks.is_empty()
    }

    /// Appends the folded gap to a text, and clears it.
    fn fold(&mut self, text: &mut String) {
        if !self.is_broken {
            text.push_str(&self.blanks);
        } else if self.first.starts_with('\n') {
            text.push_str(if self.more.is_empty() {
                " "
            } else {
                &self.more
            });
        } else {
            text.push_str(&self.first);
            text.push_str(&self.more);
        }
        *self = Self::default();
    }
}

impl Cursor<'_> {
    fn word(&mut self) -> String {
        let mut word = String::new();
        while is_word(self.peek_at(0)) {
            self.read(&mut word);
        }
        word
    }

    /// Reads the name of an anchor or alias.
    pub(super) fn anchor(&mut self) -> Result<String, Problem> {
        let mark = self.mark;
        self.skip();
        let name = self.word();
        let ends = matches!(
            self.peek_at(0),
            b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
        );
        if name.is_empty() || !ends && !self.is_space_at(0) {
            return Err(mark.problem("did not find expected alphabetic or numeric character"));
        }
        Ok(name)
    }

    /// Reads the handle and the suffix of a tag.
    pub(super) fn tag(&mut self) -> Result<(String, String), Problem> {
        let mark = self.mark;
        let (mut handle, mut suffix) = (String::new(), String::new());
        if self.peek_at(1) == b'<' {
            self.skip();
            self.skip();
            self.tag_uri(false, &mut suffix)?;
            if self.peek_at(0) != b'>' {
                return Err(mark.problem("did not find the expected '>'"));
            }
            self.skip();
        } else {
            handle = self.tag_handle(false)?;
            if handle.len() > 1 && handle.ends_with('!') {
                self.tag_uri(false, &mut suffix)?;
            } else {
                suffix.push_str(&handle[1..]);
                self.tag_uri(true, &mut suffix)?;
                "!".clone_into(&mut handle);
                if suffix.is_empty() {
                    std::mem::swap(&mut handle, &mut suffix);
                }
            }
        }
        if !self.is_space_at(0) {
            return Err(mark.problem("did not find expected whitespace or line break"));
        }
        Ok((handle, suffix))
    }

    fn tag_handle(&mut self, is_directive: bool) -> Result<String, Problem> {
        let mark = self.mark;
        if self.peek_at(0) != b'!' {
            return Err(mark.problem("did not find expected '!'"));
        }
        let mut handle = String::new();
        self.read(&mut handle);
        handle.push_str(&self.word());
        if self.peek_at(0) == b'!' {
            self.read(&mut handle);
        } else if is_directive && handle != "!" {
            return Err(mark.problem("did not find expected '!'"));
        }
        Ok(handle)
    }

    fn tag_uri(&mut self, may_be_empty: bool, uri: &mut String) -> Result<(), Problem> {
        let mark = self.mark;
        loop {
            match self.peek_at(0) {
                b'%' => self.escaped_character(mark, uri)?,
                byte if is_word(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => self.read(uri),
                _ if may_be_empty || self.mark.byte > mark.byte => return Ok(()),
                _ => return Err(mark.problem("did not find expected tag URI")),
            }
        }
    }

    /// Reads a character whose bytes are written as `%` and two digits.
    fn escaped_character(&mut self, mark: Mark, uri: &mut String) -> Result<(), Problem> {
        let mut bytes = Vec::new();
        loop {
            let digits = [1, 2].map(|ahead| char::from(self.peek_at(ahead)).to_digit(16));
            let (b'%', [Some(high), Some(low)]) = (self.peek_at(0), digits) else {
                return Err(mark.problem("did not find URI escaped octet"));
            };
            bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            (0..3).for_each(|_| self.skip());
            match str::from_utf8(&bytes) {
                Ok(character) => {
                    uri.push_str(character);
                    return Ok(());
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(mark.problem("found an incorrect UTF-8 octet")),
            }
        }
    }

    pub(super) fn directive(&mut self) -> Result<Directive, Problem> {
        let mark = self.mark;
        self.skip();
        let name = self.word();
        if name.is_empty() {
            return Err(mark.problem("could not find expected directive name"));
        }
        if !self.is_space_at(0) {
            return Err(mark.problem("found unexpected non-alphabetical character"));
        }
        self.skip_blanks();
        let directive = match name.as_str() {
            "YAML" => {
                let major = self.version_number(mark)?;
                if self.peek_at(0) != b'.' {
                    return Err(mark.problem("did not find expected digit or '.' character"));
                }
                self.skip();
                Directive::Version((major, self.version_number(mark)?) == (1, 1))
            }
            "TAG" => {
                let handle = self.tag_handle(true)?;
                if !self.is_blank_at(0) {
                    return Err(mark.problem("did not find expected whitespace"));
                }
                self.skip_blanks();
                let mut prefix = String::new();
                self.tag_uri(false, &mut prefix)?;
                if !self.is_space_at(0) {
                    return Err(mark.problem("did not find expected whitespace or line break"));
                }
                Directive::Tag(handle, prefix)
            }
            _ => return Err(mark.problem("found unknown directive name")),
        };
        self.finish_line()?;
        Ok(directive)
    }

    fn version_number(&mut self, mark: Mark) -> Result<u32, Problem> {
        let (mut number, mut digits) = (0, 0);
        while let Some(digit) = char::from(self.peek_at(0)).to_digit(10) {
            digits += 1;
            if digits > 2 {
                return Err(mark.problem("found extremely long version number"));
            }
            number = number * 10 + digit;
            self.skip();
        }
        if digits == 0 {
            return Err(mark.problem("did not find expected version number"));
        }
        Ok(number)
    }

    /// Reads a block scalar (`|` or `>`). Its indentation is that of the first line unless a digit states it.
    pub(super) fn block_scalar(
        &mut self,
        is_literal: bool,
        parent: isize,
    ) -> Result<Scalar, Problem> {
        let mark = self.mark;
        self.skip();
        let (mut chomping, mut increment) = (None, None);
        for _ in 0..2 {
            match self.peek_at(0) {
                b'0' if increment.is_none() => {
                    return Err(mark.problem("found an indentation indicator equal to 0"));
                }
                digit @ b'1'..=b'9' if increment.is_none() => {
                    increment = Some(isize::from(digit - b'0'));
                }
                sign @ (b'+' | b'-') if chomping.is_none() => chomping = Some(sign),
                _ => break,
            }
            self.skip();
        }
        self.finish_line()?;
        let mut indent = increment.map(|columns| parent.max(0) + columns);
        let (mut text, mut first, mut more) = (String::new(), String::new(), String::new());
        let least = (parent + 1).max(1);
        let mut column = self.block_breaks(&mut indent, least, &mut more, mark)?;
        let mut was_blank = false;
        while self.mark.column.cast_signed() == column && self.peek_at(0) != 0 {
            let is_blank = self.is_blank_at(0);
            if !is_literal && !was_blank && !is_blank && first.starts_with('\n') {
                if more.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(&first);
            }
            first.clear();
            text.push_str(&more);
            more.clear();
            was_blank = is_blank;
            while !self.is_line_end() {
                self.read(&mut text);
            }
            if self.is_break_at(0) {
                self.read_break(&mut first);
            }
            column = self.block_breaks(&mut indent, least, &mut more, mark)?;
        }
        if chomping != Some(b'-') {
            text.push_str(&first);
        }
        if chomping == Some(b'+') {
            text.push_str(&more);
        }
        Ok(Scalar {
            text,
            ..Scalar::default()
        })
    }

    /// Skips empty lines of a block scalar and the indentation after them. Determines the indentation if it is unknown,
    /// and returns it.
    fn block_breaks(
        &mut self,
        indent: &mut Option<isize>,
        least: isize,
        breaks: &mut String,
        mark: Mark,
    ) -> Result<isize, Problem> {
        let mut furthest = 0;
        loop {
            let is_before = |cursor: &Self| {
                indent.is_none_or(|indent| cursor.mark.column.cast_signed() < indent)
            };
            while is_before(self) && self.peek_at(0) == b' ' {
                self.skip();
            }
            furthest = furthest.max(self.mark.column.cast_signed());
            if is_before(self) && self.peek_at(0) == b'\t' {
                let words = "found a tab character where an indentation space is expected";
                return Err(mark.problem(words));
            }
            if !self.is_break_at(0) {
                break;
            }
            self.read_break(breaks);
        }
        Ok(*indent.get_or_insert(furthest.max(least)))
    }

    pub(super) fn quoted(&mut self, is_single: bool) -> Result<Scalar, Problem> {
        let mark = self.mark;
        let quote = if is_single { b'\'' } else { b'"' };
        self.skip();
        let (mut text, mut gap) = (String::new(), FoldedGap::default());
        loop {
            if self.is_document_marker() {
                return Err(mark.problem("found unexpected document indicator"));
            }
            if self.peek_at(0) == 0 {
                return Err(mark.problem("found unexpected end of stream"));
            }
            while !self.is_space_at(0) {
                match self.peek_at(0) {
                    b'\'' if is_single && self.peek_at(1) == b'\'' => {
                        text.push('\'');
                        self.skip();
                        self.skip();
                    }
                    byte if byte == quote => break,
                    b'\\' if !is_single && self.is_break_at(1) => {
                        self.skip();
                        self.skip_break();
                        gap.is_broken = true;
                        break;
                    }
                    b'\\' if !is_single => text.push(self.escape(mark)?),
                    _ => self.read(&mut text),
                }
            }
            if self.peek_at(0) == quote {
                self.skip();
                return Ok(Scalar {
                    text,
                    ..Scalar::default()
                });
            }
            self.gap(&mut gap, 0, mark)?;
            gap.fold(&mut text);
        }
    }

    /// Collects blanks and line breaks. A tab is an error where indentation is required.
    fn gap(&mut self, gap: &mut FoldedGap, indent: isize, mark: Mark) -> Result<(), Problem> {
        while self.is_blank_at(0) || self.is_break_at(0) {
            let is_indentation = gap.is_broken && self.mark.column.cast_signed() < indent;
            if is_indentation && self.peek_at(0) == b'\t' {
                return Err(mark.problem("found a tab character that violates indentation"));
            }
            if self.is_break_at(0) {
                if gap.is_broken {
                    self.read_break(&mut gap.more);
                } else {
                    gap.blanks.clear();
                    self.read_break(&mut gap.first);
                    gap.is_broken = true;
                }
            } else if gap.is_broken {
                self.skip();
            } else {
                self.read(&mut gap.blanks);
            }
        }
        Ok(())
    }

    fn escape(&mut self, mark: Mark) -> Result<char, Problem> {
        let escaped = self.peek_at(1);
        let digits = match escaped {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        let known = match escaped {
            b'0' | b'x' | b'u' | b'U' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\x0b',
            b'f' => '\x0c',
            b'r' => '\r',
            b'e' => '\x1b',
            b' ' | b'"' | b'\'' | b'\\' => char::from(escaped),
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            _ => return Err(mark.problem("found unknown escape character")),
        };
        self.skip();
        self.skip();
        if digits == 0 {
            return Ok(known);
        }
        let mut code = 0_u32;
        for _ in 0..digits {
            let Some(digit) = char::from(self.peek_at(0)).to_digit(16) else {
                return Err(mark.problem("did not find expected hexdecimal number"));
            };
            code = code << 4 | digit;
            self.skip();
        }
        char::from_u32(code)
            .ok_or_else(|| mark.problem("found invalid Unicode character escape code"))
    }

    /// Reads a plain scalar whose continuation lines have at least this indentation.
    pub(super) fn plain(&mut self, indent: isize, is_in_flow: bool) -> Result<Scalar, Problem> {
        let mark = self.mark;
        let (mut text, mut gap) = (String::new(), FoldedGap::default());
        while !self.is_document_marker() && self.peek_at(0) != b'#' {
            while !self.is_space_at(0) && !self.ends_plain(is_in_flow) {
                if !gap.is_empty() {
                    gap.fold(&mut text);
                }
                self.read(&mut text);
            }
            if !self.is_blank_at(0) && !self.is_break_at(0) {
                break;
            }
            self.gap(&mut gap, indent, mark)?;
            if !is_in_flow && self.mark.column.cast_signed() < indent {
                break;
            }
        }
        Ok(Scalar {
            text,
            is_plain: true,
            ends_line: gap.is_broken,
        })
    }

    /// Returns whether a character ends a plain scalar.
    fn ends_plain(&self, is_in_flow: bool) -> bool {
        match self.peek_at(0) {
            b':' => self.is_space_at(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => is_in_flow,
            _ => false,
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
