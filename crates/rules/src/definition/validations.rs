//! Validation of CEL rules (`x-kubernetes-validations`), except for the expressions themselves. Only the API server
//! knows whether they compile for the types of the schema, and their cost. The rules follow the end of
//! `ValidateCustomResourceDefinitionOpenAPISchema` (`apis/apiextensions/validation/validation.go`).

use super::field_path::{ArrayNotation, find};
use super::place::{Faults, Place};
use super::schema::Fields;

const REASONS: [&str; 4] = [
    "FieldValueRequired",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueDuplicate",
];

/// The macros of CEL whose first argument declares a variable.
const MACROS: [&str; 10] = [
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "map",
    "filter",
    "transformList",
    "transformMap",
    "transformMapEntry",
    "sortBy",
];

/// The properties that the rules of a schema inherit from the enclosing schemas.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleScope {
    /// True if the old value is available in addition to the new one. Lists can match old items only by keys.
    pub(super) has_old_self: bool,
    /// True if the API server compiles the rules. It has already rejected rules in clauses.
    pub(super) are_compiled: bool,
}

/// Checks the rules of a schema.
pub(super) fn check(schema: Fields<'_>, scope: RuleScope, place: &Place<'_>, faults: &mut Faults) {
    let place = place.field("x-kubernetes-validations");
    let rules = schema.list("x-kubernetes-validations");
    if scope.are_compiled && !rules.is_empty() && !is_exposed(schema) {
        let words = "require a type that CEL supports, which this schema does not have";
        faults.add(&place, words);
    }
    for (index, rule) in rules.iter().enumerate() {
        let place = place.index(index);
        texts(Fields(rule), &place, faults);
        check_field_path(Fields(rule), schema, &place, faults);
        if scope.are_compiled {
            old_self(Fields(rule), scope, &place, faults);
        }
    }
}

fn texts(rule: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let has_lines = |text: &str| text.contains(['\n', '\r']);
    let text = |field| rule.text(field).trim();
    if text("rule").is_empty() {
        faults.add(&place.field("rule"), "is missing");
    } else if has_lines(text("rule")) && text("message").is_empty() {
        let words = "is missing: a rule with multiple lines requires a message";
        faults.add(&place.field("message"), words);
    }
    if has_lines(text("message")) {
        faults.add(&place.field("message"), "has multiple lines");
    }
    if has_lines(rule.text("fieldPath")) {
        faults.add(&place.field("fieldPath"), "has multiple lines");
    }
    for field in ["message", "messageExpression", "fieldPath"] {
        if !rule.text(field).is_empty() && text(field).is_empty() {
            faults.add(&place.field(field), "is blank");
        }
    }
    if let Some(reason) = rule.optional_text("reason")
        && !REASONS.contains(&reason)
    {
        let words = format_args!("is `{reason}`; expected one of {}", REASONS.join(", "));
        faults.add(&place.field("reason"), words);
    }
}

fn check_field_path(rule: Fields<'_>, schema: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    let path = rule.text("fieldPath");
    if path.trim().is_empty() {
        return;
    }
    if let Err(words) = find(path, schema, ArrayNotation::Allowed) {
        faults.add(&place.field("fieldPath"), format_args!("`{path}` {words}"));
    }
}

fn old_self(rule: Fields<'_>, scope: RuleScope, place: &Place<'_>, faults: &mut Faults) {
    let is_used = uses_old_self(rule.text("rule"));
    if is_used && !scope.has_old_self {
        let words = "uses oldSelf in a list whose items have no keys";
        faults.add(&place.field("rule"), words);
    }
    if !is_used && rule.has("optionalOldSelf") {
        let words = "is only allowed for a rule that uses oldSelf";
        faults.add(&place.field("optionalOldSelf"), words);
    }
}

/// Checks whether CEL has a type for the values of a schema.
fn is_exposed(schema: Fields<'_>) -> bool {
    if schema.is_int_or_string() {
        return true;
    }
    match schema.kind() {
        "array" => schema.items().is_some_and(is_exposed),
        "object" => schema.additional().is_none_or(is_exposed),
        kind => matches!(kind, "string" | "number" | "integer" | "boolean"),
    }
}

/// Checks whether an expression uses `oldSelf`, other than as a field of an object or as the variable of a macro.
fn uses_old_self(expression: &str) -> bool {
    let mut before = [Token::Other; 2];
    let mut tokens = tokens(expression).peekable();
    while let Some(token) = tokens.next() {
        let is_field = before[1] == Token::Dot;
        let is_variable = before[1] == Token::Opening
            && matches!(before[0], Token::Name(name) if MACROS.contains(&name))
            && tokens.peek() == Some(&Token::Comma);
        if token == Token::Name("oldSelf") && !is_field && !is_variable {
            return true;
        }
        before = [before[1], token];
    }
    false
}

/// A token of an expression, as far as the search for `oldSelf` needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'e> {
    Name(&'e str),
    Dot,
    Comma,
    Opening,
    Other,
}

fn tokens(expression: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = expression;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        while let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
            rest = rest.trim_start();
        }
        let first = rest.chars().next()?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (length, token) = match first {
            '"' | '\'' => (text_length(rest, Escapes::Read), Token::Other),
            '.' => (1, Token::Dot),
            ',' => (1, Token::Comma),
            '(' => (1, Token::Opening),
            _ if is_part(first) => {
                let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                // Texts in CEL may have the prefixes `r` (raw) and `b` (bytes).
                let is_prefix = name.len() <= 2
                    && name.bytes().all(|byte| b"rRbB".contains(&byte))
                    && after.starts_with(['"', '\'']);
                if is_prefix {
                    let escapes = if name.contains(['r', 'R']) {
                        Escapes::Raw
                    } else {
                        Escapes::Read
                    };
                    (end + text_length(after, escapes), Token::Other)
                } else {
                    (end, Token::Name(name))
                }
            }
            other => (other.len_utf8(), Token::Other),
        };
        rest = rest.get(length..).unwrap_or_default();
        Some(token)
    })
}

/// The meaning of backslashes in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escapes {
    Read,
    Raw,
}

/// Returns the length of the text at the beginning of an expression, with its quotes.
fn text_length(expression: &str, escapes: Escapes) -> usize {
    let triple = ["\"\"\"", "'''"]
        .into_iter()
        .find(|quote| expression.starts_with(quote));
    let quote = triple.unwrap_or(&expression[..1]);
    let bytes = expression.as_bytes();
    let mut at = quote.len();
    while at < bytes.len() {
        if bytes[at] == b'\\' && escapes == Escapes::Read {
            at += 2;
        } else if bytes[at..].starts_with(quote.as_bytes()) {
            return at + quote.len();
        } else {
            at += 1;
        }
    }
    expression.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_self_is_found_where_it_is_the_variable() {
        for expression in [
            "oldSelf == self",
            "self.all(x, x in oldSelf)",
            "f(oldSelf, self)",
            "r'\\' == oldSelf",
            "\"\"\"a\"\"\" + oldSelf",
            "self // comment\n == oldSelf",
        ] {
            assert!(uses_old_self(expression), "{expression}");
        }
        for expression in [
            "self.oldSelf == 5",
            "'oldSelf' == self",
            "'''it's oldSelf''' == self",
            "'\\'oldSelf' == self",
            "self.all(oldSelf, true)",
            "self // oldSelf",
            "oldSelfish",
            "'oldSelf",
            "",
        ] {
            assert!(!uses_old_self(expression), "{expression}");
        }
    }
}
