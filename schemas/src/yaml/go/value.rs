//! Decoding of a document's nodes to a value, as go-yaml decodes them and `sigs.k8s.io/yaml` converts the result to
//! JSON. `Document::value` is the entry point.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::cursor::Mark;
use super::node::{Document, NodeId, NodeKind, limit_error};
use super::{AMBIGUOUS, Problem};
use crate::digest::shorten;
use crate::limits;

/// The remaining budget for a document's value, because aliases can multiply its text.
pub(super) struct Budget {
    nodes: usize,
    text: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            nodes: limits::YAML_NODES,
            text: usize::try_from(limits::YAML_SIZE).unwrap_or(usize::MAX),
        }
    }
}

impl Budget {
    /// Returns the budget that suffices for a text of this size without aliases.
    pub(super) fn of_size(size: usize) -> Self {
        Self {
            nodes: size.min(limits::YAML_NODES),
            text: size,
        }
    }

    fn take(&mut self, text: usize, mark: Mark) -> Result<(), Problem> {
        match (self.nodes.checked_sub(1), self.text.checked_sub(text)) {
            (Some(nodes), Some(text)) => {
                *self = Self { nodes, text };
                Ok(())
            }
            _ => Err(limit_error(mark)),
        }
    }
}

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Large(u64),
    Float(f64),
    Text(String),
}

/// The types that keys have before JSON makes texts of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyType {
    Bool,
    Int,
    Float,
    Text,
}

/// A field of a mapping.
struct Field {
    key_type: KeyType,
    value: Value,
}

type Fields = BTreeMap<String, Field>;

impl Document {
    pub(super) fn value(&self, budget: &mut Budget) -> Result<Value, Problem> {
        self.value_of(self.root, 0, budget)
    }

    fn value_of(&self, id: NodeId, depth: usize, budget: &mut Budget) -> Result<Value, Problem> {
        let node = &self.nodes[id];
        if depth > limits::YAML_DEPTH {
            return Err(limit_error(node.mark));
        }
        budget.take(0, node.mark)?;
        match &node.kind {
            NodeKind::Alias(target) => self.value_of(*target, depth + 1, budget),
            NodeKind::Scalar { .. } => {
                let scalar = self.scalar(id)?;
                if let Scalar::Text(text) = &scalar {
                    budget.take(text.len(), node.mark)?;
                }
                json(scalar, node.mark)
            }
            NodeKind::Sequence(items) => {
                let items = items.iter();
                let items = items.map(|item| self.value_of(*item, depth + 1, budget));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            NodeKind::Mapping(_) => {
                let fields = self.fields(id, depth, budget)?;
                let fields = fields.into_iter().map(|(key, field)| (key, field.value));
                Ok(Value::Object(fields.collect::<Map<_, _>>()))
            }
        }
    }

    /// Returns the fields of a mapping and of those that it merges. Of equal keys, the last counts.
    fn fields(&self, id: NodeId, depth: usize, budget: &mut Budget) -> Result<Fields, Problem> {
        let node = &self.nodes[id];
        if depth > limits::YAML_DEPTH {
            return Err(limit_error(node.mark));
        }
        let pairs = match &node.kind {
            NodeKind::Mapping(pairs) => pairs,
            NodeKind::Alias(target) => return self.fields(*target, depth + 1, budget),
            NodeKind::Scalar { .. } | NodeKind::Sequence(_) => {
                let words = "map merge requires map or sequence of maps as the value";
                return Err(node.mark.problem(words));
            }
        };
        let mut fields = Fields::new();
        for (key, value) in pairs {
            let mark = self.nodes[*key].mark;
            if self.is_merge(*key) {
                for (key, field) in self.merged(*value, depth + 1, budget)? {
                    let known = fields.get(&key);
                    if known.is_some_and(|known| known.value != field.value) {
                        let key = shorten(&key);
                        let words = format!("`<<` overwrites the key `{key}`, {AMBIGUOUS}");
                        return Err(mark.problem(&words));
                    }
                    insert(&mut fields, key, field, mark)?;
                }
                continue;
            }
            let (key, key_type) = self.key(*key)?;
            budget.take(key.len(), mark)?;
            let value = self.value_of(*value, depth + 1, budget)?;
            insert(&mut fields, key, Field { key_type, value }, mark)?;
        }
        Ok(fields)
    }

    /// Returns the fields of a merged mapping, or of a list of them, in which the first of equal keys counts.
    fn merged(&self, id: NodeId, depth: usize, budget: &mut Budget) -> Result<Fields, Problem> {
        let NodeKind::Sequence(items) = &self.nodes[id].kind else {
            budget.take(0, self.nodes[id].mark)?;
            return self.fields(id, depth, budget);
        };
        let mut all = Fields::new();
        for item in items.iter().rev() {
            let mark = self.nodes[*item].mark;
            budget.take(0, mark)?;
            for (key, field) in self.fields(*item, depth + 1, budget)? {
                insert(&mut all, key, field, mark)?;
            }
        }
        Ok(all)
    }

    fn is_merge(&self, key: NodeId) -> bool {
        match &self.nodes[key].kind {
            NodeKind::Scalar {
                text,
                tag,
                is_implicit,
            } => text == "<<" && (*is_implicit || tag == MERGE),
            _ => false,
        }
    }

    /// Returns a key as text, with its type.
    fn key(&self, id: NodeId) -> Result<(String, KeyType), Problem> {
        let node = &self.nodes[id];
        match &node.kind {
            NodeKind::Alias(target)
                if matches!(self.nodes[*target].kind, NodeKind::Scalar { .. }) =>
            {
                self.key(*target)
            }
            NodeKind::Scalar { .. } => match self.scalar(id)? {
                Scalar::Text(text) => Ok((text, KeyType::Text)),
                Scalar::Int(number) => Ok((number.to_string(), KeyType::Int)),
                Scalar::Bool(value) => Ok((value.to_string(), KeyType::Bool)),
                Scalar::Float(number) => Ok((float_key(number), KeyType::Float)),
                Scalar::Null | Scalar::Large(_) => Err(node.mark.problem("unsupported map key")),
            },
            _ => Err(node.mark.problem("invalid map key")),
        }
    }

    fn scalar(&self, id: NodeId) -> Result<Scalar, Problem> {
        let node = &self.nodes[id];
        let NodeKind::Scalar {
            text,
            tag,
            is_implicit,
        } = &node.kind
        else {
            return Err(node.mark.problem("is not a scalar"));
        };
        if tag.is_empty() && !is_implicit {
            return Ok(Scalar::Text(text.clone()));
        }
        tagged(tag, text).map_err(|words| node.mark.problem(&words))
    }
}

/// Adds a field. Of two keys that become equal only in JSON, Go keeps an arbitrary one, so they are rejected.
fn insert(fields: &mut Fields, key: String, field: Field, mark: Mark) -> Result<(), Problem> {
    let known = fields.get(&key);
    if known.is_some_and(|known| known.key_type != field.key_type) {
        let words = format!("two keys become `{}` in JSON, {AMBIGUOUS}", shorten(&key));
        return Err(mark.problem(&words));
    }
    fields.insert(key, field);
    Ok(())
}

const MERGE: &str = "tag:yaml.org,2002:merge";

fn tagged(tag: &str, text: &str) -> Result<Scalar, String> {
    let refused = |what: &str| format!("cannot decode `{}` as a !!{what}", shorten(text));
    let kind = tag.strip_prefix("tag:yaml.org,2002:");
    match (kind, resolve(text)) {
        _ if tag.is_empty() => Ok(resolve(text)),
        (Some("binary"), _) => {
            let line: String = text.split(['\r', '\n']).collect();
            let bytes = STANDARD.decode(line);
            let bytes =
                bytes.map_err(|_| "!!binary value contains invalid base64 data".to_owned())?;
            String::from_utf8(bytes)
                .map(Scalar::Text)
                .map_err(|_| format!("!!binary value is not text, {AMBIGUOUS}"))
        }
        (Some("bool"), scalar @ Scalar::Bool(_))
        | (Some("int"), scalar @ (Scalar::Int(_) | Scalar::Large(_)))
        | (Some("float"), scalar @ Scalar::Float(_))
        | (Some("null"), scalar @ Scalar::Null) => Ok(scalar),
        (Some("float"), Scalar::Int(number)) => Ok(Scalar::Float(to_float(number))),
        (Some("timestamp"), _) if is_timestamp(text) => Ok(Scalar::Text(text.to_owned())),
        (Some(kind @ ("bool" | "int" | "float" | "null" | "timestamp")), _) => Err(refused(kind)),
        _ => Ok(Scalar::Text(text.to_owned())),
    }
}

/// Converts an integer to the nearest float, as Go does.
#[allow(clippy::cast_precision_loss)]
fn to_float(number: i64) -> f64 {
    number as f64
}

/// Returns whether Go accepts a text as `!!timestamp`, as far as the digits of its date.
fn is_timestamp(text: &str) -> bool {
    let date = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = date.split('-').collect();
    let is_number = |part: &str, most: usize| {
        !part.is_empty() && part.len() <= most && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    matches!(parts[..], [year, month, day]
        if year.len() == 4 && is_number(year, 4) && is_number(month, 2) && is_number(day, 2))
}

/// Returns the value of a text without quotes.
fn resolve(text: &str) -> Scalar {
    let texts = || Scalar::Text(text.to_owned());
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Scalar::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes()[0] {
        b'.' => point(text),
        b'0'..=b'9' | b'+' | b'-' => number(&text.replace('_', "")),
        _ => None,
    };
    number.unwrap_or_else(texts)
}

/// Parses a number that begins with a decimal point. Underscores must be between digits.
fn point(text: &str) -> Option<Scalar> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let mut underscores = text.match_indices('_');
    if !underscores.all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))) {
        return None;
    }
    float(&text.replace('_', ""))
}

fn number(plain: &str) -> Option<Scalar> {
    let (sign, digits) = match plain.as_bytes().first() {
        Some(b'+' | b'-') => plain.split_at(1),
        _ => ("", plain),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let is_number = digits.chars().all(|c| c.is_digit(base)) && !digits.is_empty();
    if is_number {
        if let Ok(number) = i64::from_str_radix(&[sign, digits].concat(), base) {
            return Some(Scalar::Int(number));
        }
        if sign.is_empty()
            && let Ok(number) = u64::from_str_radix(digits, base)
        {
            return Some(Scalar::Large(number));
        }
    }
    float(plain)
}

/// Parses a number in the form of a go-yaml float, unless it is too large.
fn float(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_exponent = |exponent: &str| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    };
    let is_float = all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(is_exponent);
    let number = is_float.then(|| text.parse::<f64>().ok())??;
    number.is_finite().then_some(Scalar::Float(number))
}

/// The smallest exponent that Go writes.
const LARGE_KEY: i32 = 6;

/// Returns a float as a key: with the digits of a 32-bit float, and with an exponent from a million on.
#[allow(clippy::cast_possible_truncation)]
fn float_key(number: f64) -> String {
    let short = number as f32;
    if short.is_nan() {
        return ".nan".to_owned();
    }
    if short.is_infinite() {
        return if short > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = format!("{short:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..LARGE_KEY).contains(&exponent) {
        return format!("{short}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Converts a scalar to JSON. Go writes a float without a fraction as an integer.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn json(scalar: Scalar, mark: Mark) -> Result<Value, Problem> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => value.into(),
        Scalar::Int(number) => number.into(),
        Scalar::Large(number) => number.into(),
        Scalar::Text(text) => text.into(),
        Scalar::Float(number) if !number.is_finite() => {
            return Err(mark.problem("has a number that JSON cannot hold"));
        }
        Scalar::Float(number) => {
            // 2^63 and 2^64: below these limits, each whole float fits an integer.
            let is_whole = number.fract() == 0.0 && !(number == 0.0 && number.is_sign_negative());
            if is_whole && number.abs() < 9_223_372_036_854_775_808.0 {
                (number as i64).into()
            } else if is_whole && number > 0.0 && number < 18_446_744_073_709_551_616.0 {
                (number as u64).into()
            } else {
                number.into()
            }
        }
    })
}
