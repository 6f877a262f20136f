//! Validation of values against a schema, as the API server validates a resource (`k8s.io/kube-openapi`,
//! `pkg/validation/validate`).

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde_json::{Number, Value};

use super::format;
use super::pattern;
use super::schema::Fields;
use crate::limits::{DEFAULT_PATTERN, DEFAULT_STEPS};

/// The largest number up to which a float represents each integer exactly.
const EXACT: f64 = 9_007_199_254_740_991.0;
/// The number of steps that are charged for compiling a pattern.
const PATTERN_STEPS: usize = 2000;

/// A validator with a limited number of steps. After the last step, all values are accepted.
#[derive(Debug)]
pub(super) struct ValueJudge<'v> {
    steps: usize,
    /// The compiled patterns, with `None` for patterns that the crate `regex` cannot compile.
    patterns: BTreeMap<&'v str, Option<Regex>>,
}

impl<'v> ValueJudge<'v> {
    pub(super) const fn new() -> Self {
        Self {
            steps: DEFAULT_STEPS,
            patterns: BTreeMap::new(),
        }
    }

    /// Returns the reason why the schema rejects a value.
    pub(super) fn refusal(&mut self, value: &Value, schema: Fields<'v>) -> Option<String> {
        self.check(value, schema, Nesting::Structure).err()
    }

    /// Spends steps, and returns false if none are left.
    fn spend(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }

    fn check(&mut self, value: &Value, schema: Fields<'v>, nesting: Nesting) -> Result<(), String> {
        let choices = schema.list("enum");
        if !self.spend(1 + choices.len()) {
            return Ok(());
        }
        has_type(value, schema)?;
        if !choices.is_empty() && !choices.iter().any(|choice| is_choice(value, choice)) {
            return Err("is not one of the values of enum".to_owned());
        }
        if value.is_null() {
            return Ok(());
        }
        self.clauses(value, schema)?;
        match value {
            Value::String(text) => self.text(text, schema),
            Value::Number(number) => check_number(number, schema).map_err(ToOwned::to_owned),
            Value::Array(list) => self.list(list, schema, nesting),
            Value::Object(map) => self.map(map, schema, nesting),
            _ => Ok(()),
        }
    }

    fn clauses(&mut self, value: &Value, schema: Fields<'v>) -> Result<(), String> {
        let any = schema.list("anyOf");
        let mut allows = |clause: Fields<'v>| self.check(value, clause, Nesting::Clause).is_ok();
        if !any.is_empty() && !any.iter().any(|clause| allows(Fields(clause))) {
            return Err("matches no clause of anyOf".to_owned());
        }
        let one = schema.list("oneOf");
        if !one.is_empty() && one.iter().filter(|clause| allows(Fields(clause))).count() != 1 {
            return Err("does not match exactly one clause of oneOf".to_owned());
        }
        // Without steps left, a clause accepts every value, which must not count as a match.
        if schema.not().is_some_and(&mut allows) && self.spend(0) {
            return Err("matches the clause of not".to_owned());
        }
        let mut all = schema.clauses("allOf");
        all.try_for_each(|clause| self.check(value, clause, Nesting::Clause))
    }

    fn text(&mut self, text: &str, schema: Fields<'v>) -> Result<(), String> {
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        between(length, schema, "Length")?;
        let format = schema.text("format");
        if !format::may_be(text, format) {
            return Err(format!("is not of the format {format}"));
        }
        let pattern = schema.text("pattern");
        if !pattern.is_empty() && !self.matches(text, pattern) {
            return Err("does not match the pattern".to_owned());
        }
        Ok(())
    }

    fn matches(&mut self, text: &str, pattern: &'v str) -> bool {
        let known = self.patterns.contains_key(pattern);
        let compiling = if known {
            0
        } else {
            PATTERN_STEPS + pattern.len()
        };
        if !self.spend(compiling + 1 + text.len()) {
            return true;
        }
        let compiled = self.patterns.entry(pattern).or_insert_with(|| {
            let translated = pattern::translate(pattern).ok()?;
            let mut builder = RegexBuilder::new(&translated);
            builder.size_limit(DEFAULT_PATTERN).build().ok()
        });
        compiled.as_ref().is_none_or(|regex| regex.is_match(text))
    }

    fn list(&mut self, list: &[Value], schema: Fields<'v>, nesting: Nesting) -> Result<(), String> {
        between(
            i64::try_from(list.len()).unwrap_or(i64::MAX),
            schema,
            "Items",
        )?;
        let Some(items) = schema.items() else {
            return Ok(());
        };
        for (index, item) in list.iter().enumerate() {
            let judged = self.check(item, items, nesting);
            judged.map_err(|words| format!("item {index} {words}"))?;
        }
        Ok(())
    }

    fn map(
        &mut self,
        map: &serde_json::Map<String, Value>,
        schema: Fields<'v>,
        nesting: Nesting,
    ) -> Result<(), String> {
        between(
            i64::try_from(map.len()).unwrap_or(i64::MAX),
            schema,
            "Properties",
        )?;
        let required = schema.list("required");
        if !self.spend(required.len()) {
            return Ok(());
        }
        if let Some(field) = schema
            .texts("required")
            .find(|field| !map.contains_key(*field))
        {
            return Err(format!("lacks `{field}`"));
        }
        let additional = match nesting {
            Nesting::Structure => schema.get("additionalProperties"),
            Nesting::Clause => None,
        };
        for (name, value) in map {
            let judged = match (schema.property(name), additional) {
                (Some(property), _) => self.check(value, property, nesting),
                (None, Some(Value::Bool(false))) => Err("is not allowed".to_owned()),
                (None, Some(schema @ Value::Object(_))) => {
                    self.check(value, Fields(schema), nesting)
                }
                (None, _) => Ok(()),
            };
            judged.map_err(|words| format!("`{name}` {words}"))?;
        }
        Ok(())
    }
}

/// The position of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nesting {
    Structure,
    /// Within a clause, where `additionalProperties` has no effect.
    Clause,
}

/// Checks the type of a value. A schema with `x-kubernetes-int-or-string` has no type.
fn has_type(value: &Value, schema: Fields<'_>) -> Result<(), String> {
    let (kind, has_format) = (
        schema.kind(),
        schema.has("format") && !schema.text("format").is_empty(),
    );
    let wrong = || Err(format!("is not of the type {kind}"));
    let actual = match value {
        Value::Null if kind.is_empty() || schema.flag("nullable") => return Ok(()),
        Value::Null => return wrong(),
        _ if kind.is_empty() && !has_format => return Ok(()),
        Value::String(_) | Value::Array(_)
            if has_format && !matches!(kind, "number" | "integer") =>
        {
            // A format takes precedence over the type, which is not checked in this case.
            return Ok(());
        }
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Number(number) if is_integer(number) => "integer",
        Value::Number(number) => {
            let close = number.as_f64().is_some_and(is_close_to_integer);
            if close && kind == "integer" {
                "integer"
            } else {
                "number"
            }
        }
    };
    let is_it = actual == kind || (actual == "integer" && kind == "number");
    if is_it { Ok(()) } else { wrong() }
}

fn is_integer(number: &Number) -> bool {
    number.is_i64()
}

/// Checks whether a number counts as an integer: close to one, and in the range of exact integers.
fn is_close_to_integer(number: f64) -> bool {
    let whole = number.trunc();
    let apart = (number - whole).abs();
    number.abs() <= EXACT && (apart == 0.0 || apart / (number.abs() + whole.abs()) < 1e-9)
}

#[expect(clippy::cast_possible_truncation, reason = "Go converts it so")]
fn whole(number: f64) -> i64 {
    number as i64
}

/// Checks whether a value is one of the choices of an `enum`. Numbers are compared after Go's conversion to the type of
/// the choice.
fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Null, _) => false,
        (Value::Number(value), Value::Number(choice)) => match (value.as_i64(), choice.as_i64()) {
            (Some(value), Some(choice)) => value == choice,
            (None, Some(choice)) => value.as_f64().is_some_and(|number| whole(number) == choice),
            _ => value.as_f64() == choice.as_f64(),
        },
        (Value::Number(value), Value::String(choice)) => {
            let code = value.as_i64().and_then(|number| u32::try_from(number).ok());
            let character =
                code.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            character.is_some_and(|character| choice.chars().eq([character]))
        }
        _ => value == choice,
    }
}

/// Checks a length or count against `minX` and `maxX`.
fn between(count: i64, schema: Fields<'_>, what: &str) -> Result<(), String> {
    for (bound, is_kept) in [("min", i64::ge as fn(&i64, &i64) -> bool), ("max", i64::le)] {
        let field = format!("{bound}{what}");
        if schema
            .whole(&field)
            .is_some_and(|limit| !is_kept(&count, &limit))
        {
            return Err(format!("has {count}, which violates {field}"));
        }
    }
    Ok(())
}

fn check_number(number: &Number, schema: Fields<'_>) -> Result<(), &'static str> {
    let kind = schema.kind();
    let format = schema.text("format");
    // The bounds must be numbers of the type as well.
    let is_one = |number: f64| match (kind, format) {
        ("integer", "int32") => number.fract() == 0.0 && i32::try_from(whole(number)).is_ok(),
        ("integer", _) => number.fract() == 0.0 && number.abs() < 9.3e18,
        ("number", "float") => number.abs() <= f64::from(f32::MAX),
        _ => true,
    };
    let value = number.as_f64().unwrap_or_default();
    // A float that is close to an integer was accepted as an integer.
    let is_close = kind == "integer" && number.is_f64();
    if !is_close && !is_one(value) {
        return Err("is out of the range of its format");
    }
    let bounds = ["minimum", "maximum", "multipleOf"].map(|field| schema.number(field));
    if bounds.iter().flatten().any(|bound| !is_one(*bound)) {
        return Err("has a bound that is not a number of its type");
    }
    let [minimum, maximum, multiple] = bounds;
    let integer = number.as_i64();
    let below = |bound: f64| match integer {
        Some(value) => value.cmp(&whole(bound)),
        None => value.total_cmp(&bound),
    };
    if maximum.map(below).is_some_and(|ordering| {
        ordering.is_gt() || (ordering.is_eq() && schema.flag("exclusiveMaximum"))
    }) {
        return Err("is above the maximum");
    }
    if minimum.map(below).is_some_and(|ordering| {
        ordering.is_lt() || (ordering.is_eq() && schema.flag("exclusiveMinimum"))
    }) {
        return Err("is below the minimum");
    }
    let is_multiple = multiple.is_none_or(|factor| match integer {
        Some(value) => whole(factor) > 0 && value % whole(factor) == 0,
        None if factor < 1.0 => factor > 0.0 && is_close_to_integer(1.0 / factor * value),
        None => is_close_to_integer(value / factor),
    });
    if is_multiple {
        Ok(())
    } else {
        Err("is not a multiple of multipleOf")
    }
}
