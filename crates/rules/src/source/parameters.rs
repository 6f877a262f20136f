//! Rules for parameters, which a Solution defines and a site sets, and for their values. [`parameters`] checks the
//! definitions, and [`check_value`] a value. The cost of patterns is limited, because publishers choose them.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use schemas::{Parameter, ParameterFormat, ParameterName, ParameterType, pattern_weight};
use serde_json::{Number, Value};

use crate::finding::problem::Problem;
use crate::limits::{
    PARAMETERS, PATTERN, PATTERN_NESTING, PATTERN_SIZE, PATTERN_SMALL, PATTERNS_LARGE,
    PATTERNS_WEIGHT,
};

/// The integers that all JSON parsers read exactly (RFC 8259, section 6).
const INTEGERS: std::ops::RangeInclusive<i64> = -(1 << 53)..=1 << 53;

/// Returns the problems of the parameters of a Solution.
pub fn parameters(
    parameters: &BTreeMap<ParameterName, Parameter>,
) -> impl Iterator<Item = Problem> + '_ {
    let many = (parameters.len() > PARAMETERS).then_some(Problem::Parameters(parameters.len()));
    let patterns = parameters.values().take(PARAMETERS);
    let is_much = is_much(patterns.filter_map(|parameter| parameter.pattern.as_deref()));
    let much = is_much.then_some(Problem::Patterns);
    // If the patterns are too costly, none of them is compiled.
    let each = parameters
        .iter()
        .take(if is_much { 0 } else { PARAMETERS })
        .flat_map(|(name, parameter)| {
            let words = check(parameter).into_iter();
            words.map(|words| Problem::Parameter(name.clone(), words))
        });
    many.into_iter().chain(much).chain(each)
}

/// Checks whether compiling all patterns would take too long. Unicode classes are costly before the limit of the
/// compiled size applies.
fn is_much<'a>(patterns: impl Iterator<Item = &'a str>) -> bool {
    let (mut weight, mut large) = (0, 0);
    for pattern in patterns.filter(|pattern| pattern.len() <= PATTERN) {
        weight += pattern_weight(pattern);
        if weight > PATTERNS_WEIGHT {
            return true;
        }
        large += usize::from(compiled_within(pattern, PATTERN_SMALL).is_none());
    }
    large > PATTERNS_LARGE
}

/// The reason why a parameter rejects a value. The value itself is not included, since it may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueProblem {
    /// The value has another type.
    #[error("is not {0}")]
    Type(&'static str),
    /// The value is not in the list of allowed values.
    #[error("is not one of the values of `enum`")]
    Other,
    /// The value does not match the pattern.
    #[error("does not match the pattern `{0}`")]
    Pattern(String),
    /// The value does not match its format.
    #[error("is not {}", .0.words())]
    Format(ParameterFormat),
    /// The value is less than the minimum.
    #[error("is less than {0}")]
    Less(Number),
    /// The value is greater than the maximum.
    #[error("is more than {0}")]
    More(Number),
}

/// Checks whether a parameter accepts a value.
pub fn check_value(parameter: &Parameter, value: &Value) -> Result<(), ValueProblem> {
    check_type(parameter.kind, value)?;
    let mut values = parameter.values.iter();
    if !parameter.values.is_empty() && !values.any(|allowed| is_same(allowed, value)) {
        return Err(ValueProblem::Other);
    }
    if let (Some(format), Some(text)) = (parameter.format, value.as_str())
        && !format.fits(text)
    {
        return Err(ValueProblem::Format(format));
    }
    if let (Some(pattern), Some(text)) = (&parameter.pattern, value.as_str())
        && !compiled(pattern).is_some_and(|regex| regex.is_match(text))
    {
        return Err(ValueProblem::Pattern(pattern.clone()));
    }
    // The type check has already rejected integers that a float cannot represent exactly.
    let bound = |limit: &Option<Number>| Some((limit.clone()?, limit.as_ref()?.as_f64()?));
    let number = value.as_f64();
    match (number, bound(&parameter.minimum), bound(&parameter.maximum)) {
        (Some(number), Some((least, limit)), _) if number < limit => Err(ValueProblem::Less(least)),
        (Some(number), _, Some((most, limit))) if number > limit => Err(ValueProblem::More(most)),
        _ => Ok(()),
    }
}

/// Checks whether two values are equal. Numbers are equal regardless of their spelling.
fn is_same(one: &Value, other: &Value) -> bool {
    one == other || one.is_number() && one.as_f64() == other.as_f64()
}

fn check_type(kind: ParameterType, value: &Value) -> Result<(), ValueProblem> {
    let (is, words) = match kind {
        ParameterType::String => (value.is_string(), "a string"),
        ParameterType::Boolean => (value.is_boolean(), "true or false"),
        ParameterType::Integer => (
            value
                .as_i64()
                .is_some_and(|number| INTEGERS.contains(&number)),
            "a whole number between -2^53 and 2^53",
        ),
        ParameterType::Number => (value.is_number(), "a number"),
        ParameterType::Array => (value.is_array(), "an array"),
        ParameterType::Object => (value.is_object(), "an object"),
    };
    if is {
        Ok(())
    } else {
        Err(ValueProblem::Type(words))
    }
}

/// Returns the problems of a parameter's definition.
fn check(parameter: &Parameter) -> Vec<String> {
    let kind = parameter.kind;
    let mut found = Vec::new();
    let mut unless = |holds: bool, words: &str| {
        if !holds {
            found.push(words.to_owned());
        }
    };
    let (least, most) = (parameter.minimum.as_ref(), parameter.maximum.as_ref());
    let bounds = || least.into_iter().chain(most);
    let is_number = matches!(kind, ParameterType::Integer | ParameterType::Number);
    unless(
        kind == ParameterType::String || parameter.format.is_none(),
        "has a `format`, which only a string can have",
    );
    unless(
        kind == ParameterType::String || parameter.pattern.is_none(),
        "has a `pattern`, which only a string can match",
    );
    unless(
        is_number || bounds().next().is_none(),
        "has a `minimum` or `maximum`, which only numbers have",
    );
    unless(
        kind != ParameterType::Integer
            || bounds().all(|bound| {
                bound
                    .as_i64()
                    .is_some_and(|number| INTEGERS.contains(&number))
            }),
        "has a `minimum` or `maximum` that is not a whole number up to 2^53",
    );
    let [least, most] = [least, most].map(|bound| bound.and_then(Number::as_f64));
    unless(
        least.zip(most).is_none_or(|(least, most)| least <= most),
        "has a `minimum` that is greater than its `maximum`",
    );
    if let Some(pattern) = &parameter.pattern {
        unless(
            compiled(pattern).is_some(),
            "has a `pattern` that is not a valid regular expression (RE2), or is too large",
        );
    }
    found.extend(generate(parameter).map(str::to_owned));
    found.extend(values(parameter));
    found
}

fn generate(parameter: &Parameter) -> Option<&'static str> {
    let generate = parameter.generate.as_ref()?;
    let secret = parameter.sensitive && parameter.kind == ParameterType::String;
    if !secret {
        Some("has `generate`, which only a sensitive string can have")
    } else if generate.length == 0 {
        Some("has `generate` with length 0")
    } else if parameter.default.is_some() {
        Some("has both `default` and `generate`")
    } else if !parameter.values.is_empty()
        || parameter.pattern.is_some()
        || parameter.format.is_some()
    {
        Some(
            "has `generate` with `enum`, `pattern` or `format`, which the generated value may not match",
        )
    } else {
        None
    }
}

/// Checks the default and the allowed values against the rest of the definition.
fn values(parameter: &Parameter) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(default) = &parameter.default
        && let Err(problem) = check_value(parameter, default)
    {
        found.push(format!("has a `default` that {problem}"));
    }
    let unfit = |value: &Value| check_type(parameter.kind, value).is_err();
    if parameter.values.iter().any(unfit) {
        found.push("has a value in `enum` that is not of its type".to_owned());
    }
    found
}

/// Compiles a pattern, if it is within the limits. Like RE2, the crate `regex` matches in linear time.
fn compiled(pattern: &str) -> Option<Regex> {
    compiled_within(pattern, PATTERN_SIZE)
}

fn compiled_within(pattern: &str, size: usize) -> Option<Regex> {
    if pattern.len() > PATTERN {
        return None;
    }
    RegexBuilder::new(pattern)
        .size_limit(size)
        .dfa_size_limit(size)
        .nest_limit(PATTERN_NESTING)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use schemas::yaml;
    use serde_json::json;

    use super::*;

    fn parameter(text: &str) -> Parameter {
        yaml::from_slice(text.as_bytes()).unwrap()
    }

    #[test]
    fn values_are_those_that_a_parameter_takes() {
        for (text, value, words) in [
            ("{type: string}", json!("x"), ""),
            ("{type: string}", json!(1), "is not a string"),
            ("{type: string, enum: [a, b]}", json!("b"), ""),
            (
                "{type: string, enum: [a, b]}",
                json!("c"),
                "is not one of the values",
            ),
            ("{type: string, pattern: '^[a-z]+$'}", json!("abc"), ""),
            ("{type: string, pattern: b}", json!("abc"), ""),
            (
                "{type: string, pattern: '^[a-z]+$'}",
                json!("Abc"),
                "does not match the pattern `^[a-z]+$`",
            ),
            ("{type: integer, minimum: 1, maximum: 3}", json!(3), ""),
            ("{type: integer, minimum: 3, maximum: 3}", json!(3), ""),
            ("{type: integer, minimum: 1}", json!(0), "is less than 1"),
            ("{type: integer, maximum: 3}", json!(4), "is more than 3"),
            ("{type: integer}", json!(1.5), "is not a whole number"),
            (
                "{type: integer}",
                json!(9_007_199_254_740_993_i64),
                "is not a whole number",
            ),
            ("{type: boolean}", json!("true"), "is not true or false"),
            ("{type: number, minimum: 0.5, maximum: 2}", json!(0.5), ""),
            ("{type: number, minimum: 0.5}", json!(0), "is less than 0.5"),
            ("{type: number, maximum: 2}", json!(2.5), "is more than 2"),
            ("{type: number, enum: [1, 2.5]}", json!(1.0), ""),
            ("{type: number}", json!("1"), "is not a number"),
            ("{type: array}", json!(["a", 1]), ""),
            ("{type: array}", json!({}), "is not an array"),
            ("{type: array, enum: [[], [a]]}", json!(["a"]), ""),
            ("{type: object}", json!({"a": [1]}), ""),
            ("{type: object}", json!([]), "is not an object"),
            ("{type: string, format: cidr}", json!("10.0.0.0/8"), ""),
            (
                "{type: string, format: storage-class}",
                json!("Fast"),
                "is not the name of a storage class",
            ),
        ] {
            let found = check_value(&parameter(text), &value).err();
            let found = found.map(|problem| problem.to_string()).unwrap_or_default();
            assert!(found.starts_with(words), "{text} {value}: {found}");
            assert_eq!(
                found.is_empty(),
                words.is_empty(),
                "{text} {value}: {found}"
            );
        }
    }

    #[test]
    fn parameters_of_real_solutions_are_in_order() {
        for text in [
            "{type: string, default: ab, pattern: '^a'}",
            "{type: integer, default: 3, minimum: 1, maximum: 3, enum: [1, 3]}",
            "{type: string, sensitive: true, generate: {length: 32}}",
        ] {
            assert_eq!(check(&parameter(text)), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (text, words) in [
            (
                "{type: string, default: 1}",
                "has a `default` that is not a string",
            ),
            (
                "{type: string, default: b, pattern: '^a'}",
                "has a `default` that does not match",
            ),
            (
                "{type: integer, enum: [1, x]}",
                "has a value in `enum` that",
            ),
            (
                "{type: string, pattern: '('}",
                "has a `pattern` that is not a valid regular",
            ),
            (
                "{type: string, pattern: '(?=a)'}",
                "has a `pattern` that is not a valid regular",
            ),
            (
                "{type: string, pattern: '(a{1000}){1000}'}",
                "has a `pattern` that is not a valid regular",
            ),
            ("{type: integer, pattern: a}", "has a `pattern`, which only"),
            (
                "{type: string, minimum: 1}",
                "has a `minimum` or `maximum`, which",
            ),
            (
                "{type: integer, maximum: 9007199254740993}",
                "has a `minimum` or `maximum` that is not a whole",
            ),
            (
                "{type: integer, minimum: 2, maximum: 1}",
                "has a `minimum` that is greater",
            ),
            (
                "{type: string, generate: {length: 8}}",
                "has `generate`, which only",
            ),
            (
                "{type: boolean, sensitive: true, generate: {length: 8}}",
                "has `generate`, which only",
            ),
            (
                "{type: string, sensitive: true, generate: {length: 0}}",
                "has `generate` with length 0",
            ),
            (
                "{type: string, sensitive: true, default: a, generate: {length: 8}}",
                "has both",
            ),
            (
                "{type: string, sensitive: true, pattern: a, generate: {length: 8}}",
                "has `generate` with",
            ),
        ] {
            refused(text, words);
        }
    }

    /// Asserts that a parameter has exactly this problem.
    #[track_caller]
    fn refused(text: &str, words: &str) {
        let found = check(&parameter(text));
        assert!(
            found.len() == 1 && found[0].starts_with(words),
            "{text}: {found:?}"
        );
    }

    #[test]
    fn a_type_has_only_what_is_its_own() {
        for (text, words) in [
            (
                "{type: integer, minimum: 0.5}",
                "has a `minimum` or `maximum` that is not a whole",
            ),
            (
                "{type: object, maximum: 1}",
                "has a `minimum` or `maximum`, which",
            ),
            ("{type: array, format: cidr}", "has a `format`, which only"),
            (
                "{type: string, format: cidr, default: here}",
                "has a `default` that is not a network",
            ),
            (
                "{type: string, sensitive: true, format: hostname, generate: {length: 8}}",
                "has `generate` with",
            ),
        ] {
            refused(text, words);
        }
    }

    #[test]
    fn parameters_are_bounded() {
        let many = (0..=PARAMETERS).map(|number| {
            (
                format!("p{number}").parse().unwrap(),
                parameter("{type: string}"),
            )
        });
        let many = parameters(&many.collect())
            .map(|problem| problem.to_string())
            .collect::<Vec<_>>();
        assert_eq!(
            many,
            ["spec.parameters has 257 parameters; at most 256 are read"]
        );
    }

    #[test]
    fn patterns_are_bounded_together() {
        let of = |pattern: &str, count: usize| {
            let text = format!("{{type: string, pattern: '{pattern}'}}");
            let all = (0..count).map(|number| {
                let name = format!("p{number}").parse().unwrap();
                (name, parameter(&text))
            });
            let problems: Vec<String> = parameters(&all.collect())
                .map(|problem| problem.to_string())
                .collect();
            problems.len()
        };
        let large = "[a-z]{5000}";
        assert_eq!(of(large, PATTERNS_LARGE), 0);
        assert_eq!(of(large, PATTERNS_LARGE + 1), 1);
        assert_eq!(of("^[a-z]+$", PARAMETERS), 0);
        assert_eq!(of(r"^\w+$", PATTERNS_WEIGHT.min(PATTERNS_LARGE)), 0);
        // None of these is compiled, which would take a second each.
        let folded = format!("(?i){}", r"\W".repeat(500));
        assert_eq!(of(&folded, PARAMETERS), 1);
    }

    #[test]
    fn patterns_are_bounded_in_length_and_nesting() {
        let problems = |pattern: &str| {
            let text = format!("{{type: string, pattern: '{pattern}'}}");
            check(&parameter(&text)).len()
        };
        let nested = |levels: usize| format!("{}a{}", "(".repeat(levels), ")".repeat(levels));
        assert_eq!(problems(&"a".repeat(PATTERN)), 0);
        assert_eq!(problems(&"a".repeat(PATTERN + 1)), 1);
        assert_eq!(problems(&nested(20)), 0);
        assert_eq!(problems(&nested(40)), 1);
    }
}
