//! From a text to tokens, as libyaml's scanner does it: a `:` makes a key of what was read before it on its line.

use std::collections::{BTreeMap, VecDeque};

use super::Problem;
use super::scalar::Scalar;

/// A place in the text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// The byte.
    pub(super) byte: usize,
    /// The character.
    pub(super) index: usize,
    /// The line, from 0.
    pub(super) line: usize,
    /// The character in its line, from 0.
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

/// A token, and where it begins.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) mark: Mark,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    StreamStart,
    StreamEnd,
    /// `%YAML`, with whether it is version 1.1.
    Version(bool),
    /// `%TAG`: handle and prefix.
    TagDirective(String, String),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    /// Handle and suffix.
    Tag(String, String),
    Scalar(Scalar),
}

/// What may turn out to be a key.
#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token: usize,
    mark: Mark,
}

/// Characters between a key and its `:`, at most.
const KEY: usize = 1024;

pub(super) struct Scanner<'a> {
    text: &'a [u8],
    pub(super) mark: Mark,
    tokens: VecDeque<Token>,
    /// Tokens that were taken.
    parsed: usize,
    /// Whether the first token is complete.
    available: bool,
    /// The column of the block that is open; -1 outside of all.
    indent: isize,
    indents: Vec<isize>,
    flow: usize,
    keys: Vec<SimpleKey>,
    /// The place in `keys` of the key that begins with a token.
    keys_by_token: BTreeMap<usize, usize>,
    pub(super) key_allowed: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Problem> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let scanner = Self {
            text: text.as_bytes(),
            mark: Mark::default(),
            tokens: VecDeque::from([Token {
                kind: TokenKind::StreamStart,
                mark: Mark::default(),
            }]),
            parsed: 0,
            available: false,
            indent: -1,
            indents: Vec::new(),
            flow: 0,
            keys: vec![SimpleKey::default()],
            keys_by_token: BTreeMap::new(),
            key_allowed: true,
        };
        match text.char_indices().find(|(_, it)| !is_allowed(*it)) {
            None => Ok(scanner),
            Some((at, _)) => {
                let before = &text[..at];
                let line = before.matches('\n').count();
                let column = before.chars().rev().take_while(|it| *it != '\n').count();
                let words = "control characters are not allowed".to_owned();
                Err(Problem {
                    words,
                    line,
                    column,
                })
            }
        }
    }

    /// The next token, which stays.
    pub(super) fn peek(&mut self) -> Result<&Token, Problem> {
        while !self.available {
            let waits = match self.keys_by_token.get(&self.parsed) {
                _ if self.tokens.is_empty() => true,
                None => false,
                Some(at) => self.is_key_possible(*at)?,
            };
            if waits {
                self.fetch()?;
            } else {
                self.available = true;
            }
        }
        Ok(self
            .tokens
            .front()
            .expect("there is one, or it was fetched"))
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<Token, Problem> {
        self.peek()?;
        self.available = false;
        self.parsed += 1;
        Ok(self.tokens.pop_front().expect("it was seen"))
    }

    /// The byte this far behind the place, or 0 behind the end.
    pub(super) fn at(&self, ahead: usize) -> u8 {
        let byte = self.text.get(self.mark.byte + ahead);
        byte.copied().unwrap_or_default()
    }

    pub(super) fn is_break_at(&self, ahead: usize) -> bool {
        match self.at(ahead) {
            b'\r' | b'\n' => true,
            0xc2 => self.at(ahead + 1) == 0x85,
            0xe2 => self.at(ahead + 1) == 0x80 && matches!(self.at(ahead + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    pub(super) fn is_blank_at(&self, ahead: usize) -> bool {
        matches!(self.at(ahead), b' ' | b'\t')
    }

    /// A blank, a line break, or the end.
    pub(super) fn is_space_at(&self, ahead: usize) -> bool {
        self.is_blank_at(ahead) || self.is_break_at(ahead) || self.at(ahead) == 0
    }

    /// A line break or the end.
    pub(super) fn is_line_end(&self) -> bool {
        self.is_break_at(0) || self.at(0) == 0
    }

    /// `---` or `...` alone, at the start of a line.
    pub(super) fn is_document_marker(&self) -> bool {
        let is = |byte| (0..3).all(|ahead| self.at(ahead) == byte);
        self.mark.column == 0 && (is(b'-') || is(b'.')) && self.is_space_at(3)
    }

    pub(super) fn is_in_flow(&self) -> bool {
        self.flow > 0
    }

    pub(super) fn indent(&self) -> isize {
        self.indent
    }

    /// Passes over a character.
    pub(super) fn skip(&mut self) {
        self.mark.byte += width(self.at(0));
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Moves a character to a text.
    pub(super) fn read(&mut self, text: &mut String) {
        let from = self.mark.byte;
        self.skip();
        let character = self.text.get(from..self.mark.byte).unwrap_or_default();
        text.push_str(str::from_utf8(character).unwrap_or_default());
    }

    /// Moves a line break to a text, as YAML keeps it.
    pub(super) fn read_break(&mut self, text: &mut String) {
        match self.at(0) {
            b'\r' if self.at(1) == b'\n' => {
                text.push('\n');
                self.mark.byte += 1;
                self.mark.index += 1;
            }
            0xe2 => text.push(if self.at(2) == 0xa8 {
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

    fn skip_comment(&mut self) {
        if self.at(0) == b'#' {
            while !self.is_line_end() {
                self.skip();
            }
        }
    }

    /// Passes over what may be left of the line of a directive, or of the head of a block scalar.
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

    fn skip_to_token(&mut self) {
        loop {
            while self.at(0) == b' ' || self.at(0) == b'\t' && (self.flow > 0 || !self.key_allowed)
            {
                self.skip();
            }
            self.skip_comment();
            if !self.is_break_at(0) {
                return;
            }
            self.skip_break();
            if self.flow == 0 {
                self.key_allowed = true;
            }
        }
    }

    fn fetch(&mut self) -> Result<(), Problem> {
        self.skip_to_token();
        self.unroll(self.column());
        let (first, mark) = (self.at(0), self.mark);
        if first == 0 {
            return self.fetch_end();
        }
        if mark.column == 0 && first == b'%' {
            self.leave_block()?;
            let kind = self.directive()?;
            self.push(kind, mark);
            return Ok(());
        }
        if self.is_document_marker() {
            let is_start = first == b'-';
            self.leave_block()?;
            (0..3).for_each(|_| self.skip());
            let end = TokenKind::DocumentEnd;
            self.push(
                if is_start {
                    TokenKind::DocumentStart
                } else {
                    end
                },
                mark,
            );
            return Ok(());
        }
        let (flow, spaced) = (self.flow > 0, self.is_space_at(1));
        match first {
            b'[' => self.open_flow(TokenKind::FlowSequenceStart),
            b'{' => self.open_flow(TokenKind::FlowMappingStart),
            b']' => self.close_flow(TokenKind::FlowSequenceEnd),
            b'}' => self.close_flow(TokenKind::FlowMappingEnd),
            b',' => {
                self.drop_key()?;
                self.key_allowed = true;
                self.indicator(TokenKind::FlowEntry);
                Ok(())
            }
            b'-' if spaced => self.block_entry(),
            b'?' if flow || spaced => self.key(),
            b':' if flow || spaced => self.value(),
            b'*' | b'&' => {
                self.save_key()?;
                self.key_allowed = false;
                let kind = self.anchor()?;
                self.push(kind, mark);
                Ok(())
            }
            b'!' => {
                self.save_key()?;
                self.key_allowed = false;
                let (handle, suffix) = self.tag()?;
                self.push(TokenKind::Tag(handle, suffix), mark);
                Ok(())
            }
            b'|' | b'>' if !flow => {
                self.drop_key()?;
                self.key_allowed = true;
                let scalar = self.block_scalar(first == b'|')?;
                self.push(TokenKind::Scalar(scalar), mark);
                Ok(())
            }
            b'\'' | b'"' => {
                self.save_key()?;
                self.key_allowed = false;
                let scalar = self.quoted(first == b'\'')?;
                self.push(TokenKind::Scalar(scalar), mark);
                Ok(())
            }
            b'\t' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                Err(mark.problem("found character that cannot start any token"))
            }
            _ => {
                self.save_key()?;
                self.key_allowed = false;
                let scalar = self.plain()?;
                self.push(TokenKind::Scalar(scalar), mark);
                Ok(())
            }
        }
    }

    fn column(&self) -> isize {
        self.mark.column.cast_signed()
    }

    fn push(&mut self, kind: TokenKind, mark: Mark) {
        self.tokens.push_back(Token { kind, mark });
    }

    /// The token of one character.
    fn indicator(&mut self, kind: TokenKind) {
        let mark = self.mark;
        self.skip();
        self.push(kind, mark);
    }

    /// Adds a token before the one with a number, or behind all.
    fn insert(&mut self, number: usize, kind: TokenKind, mark: Mark) {
        let token = Token { kind, mark };
        match number.checked_sub(self.parsed) {
            Some(at) if at <= self.tokens.len() => self.tokens.insert(at, token),
            _ => self.tokens.push_back(token),
        }
    }

    fn next_number(&self) -> usize {
        self.parsed + self.tokens.len()
    }

    fn is_key_possible(&mut self, at: usize) -> Result<bool, Problem> {
        let key = &mut self.keys[at];
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < self.mark.line || key.mark.index + KEY < self.mark.index {
            if key.required {
                return Err(key.mark.problem("could not find expected ':'"));
            }
            key.possible = false;
        }
        Ok(key.possible)
    }

    fn save_key(&mut self) -> Result<(), Problem> {
        if !self.key_allowed {
            return Ok(());
        }
        let required = self.flow == 0 && self.indent == self.column();
        self.drop_key()?;
        let key = SimpleKey {
            possible: true,
            required,
            token: self.next_number(),
            mark: self.mark,
        };
        let last = self.keys.len() - 1;
        self.keys[last] = key;
        self.keys_by_token.insert(key.token, last);
        Ok(())
    }

    fn drop_key(&mut self) -> Result<(), Problem> {
        let last = self.keys.len() - 1;
        let key = &mut self.keys[last];
        if key.possible {
            if key.required {
                return Err(key.mark.problem("could not find expected ':'"));
            }
            key.possible = false;
            self.keys_by_token.remove(&key.token);
        }
        Ok(())
    }

    /// Opens a block at a column, before the token with a number.
    fn roll(&mut self, column: usize, number: usize, kind: TokenKind, mark: Mark) {
        let column = column.cast_signed();
        if self.flow == 0 && self.indent < column {
            self.indents.push(self.indent);
            self.indent = column;
            self.insert(number, kind, mark);
        }
    }

    /// Closes the blocks that are further to the right.
    fn unroll(&mut self, column: isize) {
        while self.flow == 0 && self.indent > column {
            self.push(TokenKind::BlockEnd, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn leave_block(&mut self) -> Result<(), Problem> {
        self.unroll(-1);
        self.drop_key()?;
        self.key_allowed = false;
        Ok(())
    }

    fn fetch_end(&mut self) -> Result<(), Problem> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.leave_block()?;
        self.push(TokenKind::StreamEnd, self.mark);
        Ok(())
    }

    fn open_flow(&mut self, kind: TokenKind) -> Result<(), Problem> {
        self.save_key()?;
        let (token, mark) = (self.next_number(), self.mark);
        self.keys.push(SimpleKey {
            token,
            mark,
            ..SimpleKey::default()
        });
        self.flow += 1;
        self.key_allowed = true;
        self.indicator(kind);
        Ok(())
    }

    fn close_flow(&mut self, kind: TokenKind) -> Result<(), Problem> {
        self.drop_key()?;
        if self.flow > 0 {
            self.flow -= 1;
            // Go forgets the key that begins with the opening bracket if there is nothing within the brackets.
            if let Some(key) = self.keys.pop() {
                self.keys_by_token.remove(&key.token);
            }
        }
        self.key_allowed = false;
        self.indicator(kind);
        Ok(())
    }

    fn block_entry(&mut self) -> Result<(), Problem> {
        if self.flow == 0 {
            let refusal = "block sequence entries are not allowed in this context";
            self.open_block(TokenKind::BlockSequenceStart, refusal)?;
        }
        self.drop_key()?;
        self.key_allowed = true;
        self.indicator(TokenKind::BlockEntry);
        Ok(())
    }

    fn key(&mut self) -> Result<(), Problem> {
        if self.flow == 0 {
            let refusal = "mapping keys are not allowed in this context";
            self.open_block(TokenKind::BlockMappingStart, refusal)?;
        }
        self.drop_key()?;
        self.key_allowed = self.flow == 0;
        self.indicator(TokenKind::Key);
        Ok(())
    }

    fn value(&mut self) -> Result<(), Problem> {
        let last = self.keys.len() - 1;
        if self.is_key_possible(last)? {
            let SimpleKey { token, mark, .. } = self.keys[last];
            self.insert(token, TokenKind::Key, mark);
            self.roll(mark.column, token, TokenKind::BlockMappingStart, mark);
            self.keys[last].possible = false;
            self.keys_by_token.remove(&token);
            self.key_allowed = false;
        } else {
            if self.flow == 0 {
                let refusal = "mapping values are not allowed in this context";
                self.open_block(TokenKind::BlockMappingStart, refusal)?;
            }
            self.key_allowed = self.flow == 0;
        }
        self.indicator(TokenKind::Value);
        Ok(())
    }

    fn open_block(&mut self, kind: TokenKind, refusal: &str) -> Result<(), Problem> {
        if !self.key_allowed {
            return Err(self.mark.problem(refusal));
        }
        self.roll(self.mark.column, usize::MAX, kind, self.mark);
        Ok(())
    }
}

/// Bytes of the character that begins with one.
fn width(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// The characters that YAML takes.
fn is_allowed(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..
    )
}
