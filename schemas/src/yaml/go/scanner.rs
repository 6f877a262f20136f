//! Scanning of a text to tokens, as libyaml's scanner does it. A `:` turns the token before it on the same line into a
//! key, so tokens are held back while this is possible.

use std::collections::{BTreeMap, VecDeque};

use super::Problem;
use super::cursor::{Cursor, Mark};
use super::scalar::{Directive, Scalar};

/// A token with its position.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) mark: Mark,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    StreamStart,
    StreamEnd,
    Directive(Directive),
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

/// A token that may turn out to be a key.
#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token: usize,
    mark: Mark,
}

/// Maximum number of characters between the start of a key and its `:`.
const KEY: usize = 1024;

pub(super) struct Scanner<'a> {
    cursor: Cursor<'a>,
    tokens: VecDeque<Token>,
    /// The number of tokens that were taken.
    parsed: usize,
    /// True if the first token is complete.
    available: bool,
    /// The column of the current block; -1 outside of all blocks.
    indent: isize,
    indents: Vec<isize>,
    flow: usize,
    keys: Vec<SimpleKey>,
    /// The index in `keys`, by the number of the key's first token.
    keys_by_token: BTreeMap<usize, usize>,
    key_allowed: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Problem> {
        Ok(Self {
            cursor: Cursor::new(text)?,
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
        })
    }

    /// Returns the position up to which the text was read.
    pub(super) fn mark(&self) -> Mark {
        self.cursor.mark
    }

    /// Returns the next token without taking it.
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

    fn skip_to_token(&mut self) {
        loop {
            while self.cursor.peek_at(0) == b' '
                || self.cursor.peek_at(0) == b'\t' && (self.flow > 0 || !self.key_allowed)
            {
                self.cursor.skip();
            }
            self.cursor.skip_comment();
            if !self.cursor.is_break_at(0) {
                return;
            }
            self.cursor.skip_break();
            if self.flow == 0 {
                self.key_allowed = true;
            }
        }
    }

    fn fetch(&mut self) -> Result<(), Problem> {
        self.skip_to_token();
        self.unroll(self.column());
        let (first, mark) = (self.cursor.peek_at(0), self.cursor.mark);
        if first == 0 {
            return self.fetch_end();
        }
        if mark.column == 0 && first == b'%' {
            self.leave_block()?;
            let directive = self.cursor.directive()?;
            self.push(TokenKind::Directive(directive), mark);
            return Ok(());
        }
        if self.cursor.is_document_marker() {
            let is_start = first == b'-';
            self.leave_block()?;
            (0..3).for_each(|_| self.cursor.skip());
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
        let (flow, spaced) = (self.flow > 0, self.cursor.is_space_at(1));
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
            _ => self.fetch_content(first),
        }
    }

    /// Reads an anchor, tag or scalar that begins with this byte.
    fn fetch_content(&mut self, first: u8) -> Result<(), Problem> {
        let (mark, flow) = (self.cursor.mark, self.flow > 0);
        match first {
            b'*' | b'&' => {
                self.save_key()?;
                self.key_allowed = false;
                let name = self.cursor.anchor()?;
                let is_alias = first == b'*';
                let kind = if is_alias {
                    TokenKind::Alias
                } else {
                    TokenKind::Anchor
                };
                self.push(kind(name), mark);
                Ok(())
            }
            b'!' => {
                self.save_key()?;
                self.key_allowed = false;
                let (handle, suffix) = self.cursor.tag()?;
                self.push(TokenKind::Tag(handle, suffix), mark);
                Ok(())
            }
            b'|' | b'>' if !flow => {
                self.drop_key()?;
                self.key_allowed = true;
                let scalar = self.cursor.block_scalar(first == b'|', self.indent)?;
                self.push(TokenKind::Scalar(scalar), mark);
                Ok(())
            }
            b'\'' | b'"' => {
                self.save_key()?;
                self.key_allowed = false;
                let scalar = self.cursor.quoted(first == b'\'')?;
                self.push(TokenKind::Scalar(scalar), mark);
                Ok(())
            }
            b'\t' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                Err(mark.problem("found character that cannot start any token"))
            }
            _ => {
                self.save_key()?;
                self.key_allowed = false;
                let scalar = self.cursor.plain(self.indent + 1, flow)?;
                self.key_allowed = scalar.ends_line;
                self.push(TokenKind::Scalar(scalar), mark);
                Ok(())
            }
        }
    }

    fn column(&self) -> isize {
        self.cursor.mark.column.cast_signed()
    }

    fn push(&mut self, kind: TokenKind, mark: Mark) {
        self.tokens.push_back(Token { kind, mark });
    }

    /// Adds a token of one character.
    fn indicator(&mut self, kind: TokenKind) {
        let mark = self.cursor.mark;
        self.cursor.skip();
        self.push(kind, mark);
    }

    /// Inserts a token before the one with this number, or at the end.
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
        if key.mark.line < self.cursor.mark.line || key.mark.index + KEY < self.cursor.mark.index {
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
            mark: self.cursor.mark,
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

    /// Opens a block at a column, before the token with this number.
    fn roll(&mut self, column: usize, number: usize, kind: TokenKind, mark: Mark) {
        let column = column.cast_signed();
        if self.flow == 0 && self.indent < column {
            self.indents.push(self.indent);
            self.indent = column;
            self.insert(number, kind, mark);
        }
    }

    /// Closes the blocks that are indented further.
    fn unroll(&mut self, column: isize) {
        while self.flow == 0 && self.indent > column {
            self.push(TokenKind::BlockEnd, self.cursor.mark);
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
        if self.cursor.mark.column != 0 {
            self.cursor.mark.column = 0;
            self.cursor.mark.line += 1;
        }
        self.leave_block()?;
        self.push(TokenKind::StreamEnd, self.cursor.mark);
        Ok(())
    }

    fn open_flow(&mut self, kind: TokenKind) -> Result<(), Problem> {
        self.save_key()?;
        let (token, mark) = (self.next_number(), self.cursor.mark);
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
            // Go drops the key that begins with the opening bracket if the brackets are empty.
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
            return Err(self.cursor.mark.problem(refusal));
        }
        self.roll(self.cursor.mark.column, usize::MAX, kind, self.cursor.mark);
        Ok(())
    }
}
