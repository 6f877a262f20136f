//! A cursor in a text, with the character classes of YAML. It knows the line and column of each character, because
//! indentation has a meaning.

use super::Problem;

/// A position in the text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// The offset in bytes.
    pub(super) byte: usize,
    /// The offset in characters.
    pub(super) index: usize,
    /// The line, from 0.
    pub(super) line: usize,
    /// The offset in characters within the line, from 0.
    pub(super) column: usize,
}

impl Mark {
    pub(super) fn problem(self, words: &str) -> Problem {
        Problem {
            words: words.to_owned(),
            line: self.line,
            column: self.column,
        }
    }
}

/// A text with a current position.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    pub(super) mark: Mark,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the start of a text, after a byte order mark.
    pub(super) fn new(text: &'a str) -> Result<Self, Problem> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some((at, _)) = text.char_indices().find(|(_, c)| !is_allowed(*c)) else {
            return Ok(Self {
                text: text.as_bytes(),
                mark: Mark::default(),
            });
        };
        let before = &text[..at];
        let line = before.matches('\n').count();
        let column = before.chars().rev().take_while(|c| *c != '\n').count();
        let words = "control characters are not allowed".to_owned();
        Err(Problem {
            words,
            line,
            column,
        })
    }

    /// Returns the byte `ahead` of the position, or 0 after the end.
    pub(super) fn peek_at(&self, ahead: usize) -> u8 {
        let byte = self.text.get(self.mark.byte + ahead);
        byte.copied().unwrap_or_default()
    }

    pub(super) fn is_break_at(&self, ahead: usize) -> bool {
        match self.peek_at(ahead) {
            b'\r' | b'\n' => true,
            0xc2 => self.peek_at(ahead + 1) == 0x85,
            0xe2 => {
                self.peek_at(ahead + 1) == 0x80 && matches!(self.peek_at(ahead + 2), 0xa8 | 0xa9)
            }
            _ => false,
        }
    }

    pub(super) fn is_blank_at(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead), b' ' | b'\t')
    }

    /// Returns whether a blank, a line break or the end is at an offset.
    pub(super) fn is_space_at(&self, ahead: usize) -> bool {
        self.is_blank_at(ahead) || self.is_break_at(ahead) || self.peek_at(ahead) == 0
    }

    /// Returns whether a line break or the end is at the position.
    pub(super) fn is_line_end(&self) -> bool {
        self.is_break_at(0) || self.peek_at(0) == 0
    }

    /// Returns whether `---` or `...` is alone at the start of a line.
    pub(super) fn is_document_marker(&self) -> bool {
        let is = |byte| (0..3).all(|ahead| self.peek_at(ahead) == byte);
        self.mark.column == 0 && (is(b'-') || is(b'.')) && self.is_space_at(3)
    }

    /// Skips a character.
    pub(super) fn skip(&mut self) {
        self.mark.byte += width(self.peek_at(0));
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Reads a character and appends it to a text.
    pub(super) fn read(&mut self, text: &mut String) {
        let from = self.mark.byte;
        self.skip();
        let character = self.text.get(from..self.mark.byte).unwrap_or_default();
        text.push_str(str::from_utf8(character).unwrap_or_default());
    }

    /// Reads a line break and appends it to a text in normalized form.
    pub(super) fn read_break(&mut self, text: &mut String) {
        match self.peek_at(0) {
            b'\r' if self.peek_at(1) == b'\n' => {
                text.push('\n');
                self.mark.byte += 1;
                self.mark.index += 1;
            }
            0xe2 => text.push(if self.peek_at(2) == 0xa8 {
                '\u{2028}'
            } else {
                '\u{2029}'
            }),
            _ => text.push('\n'),
        }
        self.skip();
        self.mark.column = 0;
        self.mark.line += 1;
    }

    pub(super) fn skip_break(&mut self) {
        self.read_break(&mut String::new());
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank_at(0) {
            self.skip();
        }
    }

    pub(super) fn skip_comment(&mut self) {
        if self.peek_at(0) == b'#' {
            while !self.is_line_end() {
                self.skip();
            }
        }
    }

    /// Skips blanks and a comment up to the end of the line of a directive, or of the header of a block scalar.
    pub(super) fn finish_line(&mut self) -> Result<(), Problem> {
        self.skip_blanks();
        self.skip_comment();
        if !self.is_line_end() {
            return Err(self
                .mark
                .problem("did not find expected comment or line break"));
        }
        if self.is_break_at(0) {
            self.skip_break();
        }
        Ok(())
    }
}

/// Returns the size in bytes of a UTF-8 character with this first byte.
fn width(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// Returns whether YAML allows a character.
fn is_allowed(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..
    )
}
