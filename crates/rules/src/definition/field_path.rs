//! Paths to fields of a schema, as in CEL rules and selectable fields: `.spec.name`, `.labels['a/b']`. The function is
//! `ValidFieldPath` (`apiserver/schema/cel/validation.go`).

use super::schema::Fields;

/// The permission to write a key in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayNotation {
    Allowed,
    Refused,
}

/// Returns the schema of the field that a path denotes.
pub(super) fn find<'v>(
    path: &str,
    schema: Fields<'v>,
    notation: ArrayNotation,
) -> Result<Fields<'v>, &'static str> {
    let mut tokens = Tokens(path);
    let mut schema = schema;
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("is incomplete")?.to_owned(),
            "[" if notation == ArrayNotation::Refused => {
                return Err("has brackets, which are not allowed here");
            }
            "[" => {
                let quoted = tokens.next().ok_or("is incomplete")?;
                let inner = quoted
                    .strip_prefix('\'')
                    .and_then(|text| text.strip_suffix('\''));
                let name = unescape(inner.ok_or("has no text in single quotes in brackets")?)?;
                if tokens.next() != Some("]") {
                    return Err("has a bracket that is not closed");
                }
                name
            }
            _ => return Err("has a part that begins with neither `.` nor `[`"),
        };
        schema = if schema.has_properties() {
            schema.property(&name).ok_or(NO_FIELD)?
        } else {
            schema.additional().ok_or(NO_FIELD)?
        };
    }
    Ok(schema)
}

const NO_FIELD: &str = "names no field of the schema";

/// The tokens of a path: `.`, `[`, `]`, and the texts between them.
struct Tokens<'p>(&'p str);

impl<'p> Iterator for Tokens<'p> {
    type Item = &'p str;

    fn next(&mut self) -> Option<&'p str> {
        let rest = self.0;
        let end = if rest.starts_with('\'') {
            quoted(rest)
        } else {
            match rest.find(['.', '[', ']']) {
                Some(0) => 1,
                Some(end) => end,
                None => rest.len(),
            }
        };
        let (token, rest) = rest.split_at(end);
        self.0 = rest;
        (!token.is_empty()).then_some(token)
    }
}

/// Returns the length of a text in single quotes.
fn quoted(text: &str) -> usize {
    let bytes = text.as_bytes();
    let closing = (1..bytes.len()).find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\');
    closing.map_or(text.len(), |at| at + 1)
}

fn unescape(text: &str) -> Result<String, &'static str> {
    let mut unescaped = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let meant = match character {
            '\\' => match characters.next() {
                Some('a') => '\x07',
                Some('b') => '\x08',
                Some('f') => '\x0c',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('v') => '\x0b',
                Some(itself @ ('\'' | '\\')) => itself,
                // The API server keeps a single backslash at the end.
                None => '\\',
                Some(_) => return Err("has an unknown escape in its quotes"),
            },
            other => other,
        };
        unescaped.push(meant);
    }
    Ok(unescaped)
}
