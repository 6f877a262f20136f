//! Scanning of an expression's text before it is parsed: its end ([`end_of`]), and the depth of its brackets. The
//! parser recurses, so the depth is limited first.

use super::ExpressionError;
use crate::limits;

/// Returns the position of the brace that closes an expression; `None` if it is not closed. Braces in the expression's
/// strings and comments do not count.
///
/// # Errors
///
/// Fails if brackets are nested too deeply.
pub(crate) fn end_of(text: &str) -> Result<Option<usize>, ExpressionError> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut braces) = (0, 0_usize, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\'' | b'"' => {
                at = behind_text(bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let line = bytes[at..].iter().position(|next| *next == b'\n');
                at = line.map_or(bytes.len(), |length| at + length);
                continue;
            }
            b'}' if braces == 0 => return Ok(Some(at)),
            b'(' | b'[' | b'{' => {
                depth += 1;
                braces += usize::from(*byte == b'{');
                if depth > limits::EXPRESSION_DEPTH {
                    return Err(ExpressionError::Deep);
                }
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                braces -= usize::from(*byte == b'}');
            }
            _ => {}
        }
        at += 1;
    }
    Ok(None)
}

/// Returns the end of the string literal that begins at a quote, or at three. A literal without an end extends to the
/// end of the text.
fn behind_text(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let three = [quote; 3];
    let quotes: &[u8] = if bytes[at..].starts_with(&three) {
        &three
    } else {
        &three[..1]
    };
    let is_raw = is_raw(&bytes[..at]);
    let mut at = at + quotes.len();
    while at < bytes.len() {
        if bytes[at] == b'\\' && !is_raw {
            at += 2;
        } else if bytes[at..].starts_with(quotes) {
            return at + quotes.len();
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Returns whether the prefix of a quote makes the literal raw, so that backslashes are plain characters: `r`, also
/// combined with `b`.
fn is_raw(before: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = before.iter().rev().take_while(|byte| is_word(byte)).count();
    let word = before[before.len() - length..].to_ascii_lowercase();
    matches!(&word[..], b"r" | b"br" | b"rb")
}
