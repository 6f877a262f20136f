//! Parameters of a Solution: what a site may say about the objects that an archive carries, by a subset of JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::checked_name;

checked_name! {
    /// The name of a parameter.
    ParameterName, "parameter name", "a letter, then at most 62 letters, digits, `_` and `-`",
    is_parameter_name
}

fn is_parameter_name(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// What a parameter may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The type of its value.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its value where the site says none. Without one, the site must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The values that it may have; by default any of its type.
    #[serde(default, rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// A regular expression that a text must match, somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    /// The greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<i64>,
    /// Whether nobody may see it: it is kept in a Secret and shown nowhere.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub sensitive: bool,
    /// How it is made once where the site says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
}

impl Parameter {
    /// Returns a value that it may have, for where nobody knows the site: its default, or else one of its type. A pattern
    /// is not looked at.
    #[must_use]
    pub fn example(&self) -> Value {
        let said = self.default.as_ref().or(self.values.first());
        said.cloned().unwrap_or_else(|| match self.kind {
            ParameterType::String => {
                let length = self.generate.as_ref().map_or(7, |it| it.length);
                Value::from("x".repeat(length.into()))
            }
            ParameterType::Integer => {
                let most = self.maximum.unwrap_or(i64::MAX);
                Value::from(self.minimum.unwrap_or(1).min(most))
            }
            ParameterType::Boolean => Value::from(false),
        })
    }
}

/// The type of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
}

/// How a value is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// How many random letters and digits.
    pub length: u8,
}
