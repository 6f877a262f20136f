//! Texts with expressions, such as `${…}`. A text that consists of one expression takes the type of its result. In a
//! longer text, results must be texts, numbers or booleans. `$${` is an escaped `${`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::expression::{Evaluator, Expression, ExpressionError, end_of};
use crate::limits;

const OPEN: &str = "${";

/// A text that is split into literals and expressions.
#[derive(Debug)]
pub(crate) struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug)]
enum TemplatePart {
    Text(String),
    Expression(Expression),
}

/// Returns whether a text may contain an expression.
pub(crate) fn has_expression(text: &str) -> bool {
    text.contains(OPEN)
}

impl Template {
    /// Splits a text, and parses its expressions.
    pub(crate) fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(OPEN) {
            let (before, after) = (&rest[..at], &rest[at + OPEN.len()..]);
            if let Some(before) = before.strip_suffix('$') {
                literal.push_str(before);
                literal.push_str(OPEN);
                rest = after;
                continue;
            }
            literal.push_str(before);
            if !literal.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut literal)));
            }
            let end = end_of(after)?.ok_or(ExpressionError::Open)?;
            parts.push(TemplatePart::Expression(Expression::parse(&after[..end])?));
            rest = &after[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(TemplatePart::Text(literal));
        }
        Ok(Self { parts })
    }

    /// Returns the facts that the expressions require.
    pub(crate) fn references(&self) -> BTreeSet<&str> {
        let expressions = self.parts.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Expression(expression) => Some(expression),
        });
        let references = expressions.flat_map(Expression::references);
        references.map(String::as_str).collect()
    }

    /// Evaluates the text with the facts of a cluster.
    pub(crate) fn evaluate(&self, evaluator: &Evaluator) -> Result<Value, ExpressionError> {
        if let [TemplatePart::Expression(expression)] = &self.parts[..] {
            return evaluator.evaluate(expression);
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(literal) => text.push_str(literal),
                TemplatePart::Expression(expression) => {
                    text.push_str(&as_text(evaluator.evaluate(expression)?)?);
                }
            }
            // Each result is bounded on its own, but a text can have many expressions.
            if text.len() > limits::VALUE_SIZE {
                return Err(ExpressionError::Result);
            }
        }
        Ok(Value::String(text))
    }
}

/// Returns a value as a part of a text.
fn as_text(value: Value) -> Result<String, ExpressionError> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(is_true) => Ok(is_true.to_string()),
        Value::Number(number) => match number.as_f64() {
            // The shortest decimal that parses to this number, without an exponent.
            Some(double) if number.is_f64() => Ok(double.to_string()),
            _ => Ok(number.to_string()),
        },
        Value::Null => Err(ExpressionError::NotText("null")),
        Value::Array(_) => Err(ExpressionError::NotText("a list")),
        Value::Object(_) => Err(ExpressionError::NotText("a map")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn computed(text: &str) -> Result<Value, ExpressionError> {
        let facts = json!({"cluster": {"name": "paris", "index": 2}});
        let facts = facts.as_object().unwrap();
        Template::parse(text)?.evaluate(&Evaluator::new(facts).unwrap())
    }

    #[test]
    fn one_expression_keeps_its_type_and_within_a_text_it_is_text() {
        for (text, expected) in [
            ("${cluster.index}", json!(2)),
            ("${ cluster.index }", json!(2)),
            ("${cluster.index} ", json!("2 ")),
            ("${[1, 2]}", json!([1, 2])),
            ("${{'a': {'b': true}}}", json!({"a": {"b": true}})),
            ("${1.0}", json!(1.0)),
            ("${null}", json!(null)),
            ("${'1.10'}", json!("1.10")),
            (
                "https://${cluster.name}.example:${8000 + cluster.index}/",
                json!("https://paris.example:8002/"),
            ),
            ("${cluster.name}${cluster.index}", json!("paris2")),
            (
                "a ${true} ${1.5} ${2.0} ${0.1 + 0.2} ${1e21}",
                json!("a true 1.5 2 0.30000000000000004 1000000000000000000000"),
            ),
            ("", json!("")),
            ("no $expression {x} $", json!("no $expression {x} $")),
        ] {
            assert_eq!(computed(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_escaped_stands_for_itself() {
        for (text, expected) in [
            ("$${x}", "${x}"),
            ("$${", "${"),
            ("a $${__from} ${cluster.name}", "a ${__from} paris"),
            ("${'$${'}", "$${"),
            ("$$x $$", "$$x $$"),
        ] {
            assert_eq!(computed(text).unwrap(), json!(expected), "{text}");
        }
    }

    #[test]
    fn the_end_of_an_expression_is_its_own_brace() {
        for (text, expected) in [
            ("${'}'}", json!("}")),
            ("${\"}\" + '{'}", json!("}{")),
            (r"${'\'}'}", json!("'}")),
            (r"${r'\'}x", json!(r"\x")),
            ("${'''a'}'''}", json!("a'}")),
            ("${{'a': '}'}.a}}", json!("}}")),
            ("${{'a': {'b': 1}}.a.b}-${2}", json!("1-2")),
            ("${1 // }\n + 1}", json!(2)),
        ] {
            assert_eq!(computed(text).unwrap(), expected, "{text}");
        }
        for text in [
            "${", "${1", "${'}", "${{}", "a ${'a}b", "${1 // }", "${'''}'}",
        ] {
            assert_eq!(computed(text), Err(ExpressionError::Open), "{text}");
        }
    }

    #[test]
    fn what_has_no_text_is_refused_within_one() {
        for (text, what) in [
            ("a${null}", "null"),
            ("a${[1]}", "a list"),
            ("a${{}}", "a map"),
        ] {
            assert_eq!(
                computed(text),
                Err(ExpressionError::NotText(what)),
                "{text}"
            );
        }
        let long = "${[1, 2, 3, 4, 5].map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('')}";
        let many = long.repeat(200);
        assert_eq!(computed(&many), Err(ExpressionError::Result));
    }
}
