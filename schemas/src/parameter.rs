//! Parameters of a Solution, with which a site adapts the objects of an archive. [`Parameter`] is a subset of JSON
//! Schema.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::name::{checked_name, is_dns_subdomain};

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

/// The definition of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The type of its value.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// A description for the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The default. A parameter without a default must be set by the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The allowed values. Default: any value of the type.
    #[serde(default, rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// The format of a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ParameterFormat>,
    /// A regular expression that must match a part of the string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The minimum of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// The maximum of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// Whether the value is sensitive: it is stored in a Secret and never shown.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub sensitive: bool,
    /// How to generate the value once if the site does not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
}

impl Parameter {
    /// Returns an example value for checks without a site: the default, the first allowed value, or a value of the
    /// type. A pattern is ignored.
    #[must_use]
    pub fn example(&self) -> Value {
        let said = self.default.as_ref().or(self.values.first());
        said.cloned().unwrap_or_else(|| match self.kind {
            ParameterType::String => {
                let length = self.generate.as_ref().map_or(7, |generate| generate.length);
                let text = self.format.map(|format| format.example().to_owned());
                Value::from(text.unwrap_or_else(|| "x".repeat(length.into())))
            }
            ParameterType::Integer | ParameterType::Number => {
                let bound = self.minimum.as_ref().or(self.maximum.as_ref());
                bound.map_or_else(|| Value::from(1), |bound| Value::from(bound.clone()))
            }
            ParameterType::Boolean => Value::from(false),
            ParameterType::Array => Value::Array(Vec::new()),
            ParameterType::Object => Value::Object(Map::new()),
        })
    }
}

/// The type of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// A mapping.
    Object,
}

/// The format of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterFormat {
    /// A host name (RFC 1123).
    Hostname,
    /// A network in CIDR notation, such as `10.0.0.0/8`.
    Cidr,
    /// A Kubernetes quantity, such as `10Gi`.
    Quantity,
    /// The name of a storage class in the cluster.
    StorageClass,
}

impl ParameterFormat {
    /// Returns the format as words for a message.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Hostname => "a host name",
            Self::Cidr => "a network in CIDR notation",
            Self::Quantity => "a Kubernetes quantity",
            Self::StorageClass => "the name of a storage class",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Hostname => "host.example",
            Self::Cidr => "192.0.2.0/24",
            Self::Quantity => "1Gi",
            Self::StorageClass => "standard",
        }
    }

    /// Returns whether a text has the format.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Hostname => is_dns_subdomain(&text.to_ascii_lowercase()) && is_in_labels(text),
            Self::Cidr => is_cidr(text),
            Self::Quantity => is_quantity(text),
            Self::StorageClass => is_dns_subdomain(text),
        }
    }
}

/// Returns whether each label of a name is within the length limit.
fn is_in_labels(name: &str) -> bool {
    name.split('.').all(|label| label.len() <= 63)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let is_plain = prefix.bytes().all(|byte| byte.is_ascii_digit());
    is_plain && prefix.parse::<u8>().is_ok_and(|length| length <= most)
}

/// Returns whether a text is a quantity: a decimal number with a binary or decimal suffix, or an exponent.
fn is_quantity(text: &str) -> bool {
    const SUFFIXES: [&str; 16] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let unsigned = |text: &str| text.strip_prefix(['+', '-']).unwrap_or(text).to_owned();
    let text = unsigned(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let is_number = number.matches('.').count() <= 1 && number.bytes().any(|byte| byte != b'.');
    let is_exponent = suffix.strip_prefix(['e', 'E']).is_some_and(|exponent| {
        let digits = unsigned(exponent);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_number && (SUFFIXES.contains(&suffix) || is_exponent)
}

/// How to generate a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// The number of random letters and digits.
    pub length: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_take_what_kubernetes_takes() {
        use ParameterFormat::{Cidr, Hostname, Quantity, StorageClass};
        let long = format!("{}.test", "a".repeat(64));
        for (format, good, bad) in [
            (
                Hostname,
                &["shop", "Shop-1.example"][..],
                &["", "a_b", "-a", "a..b", "*.a", &long][..],
            ),
            (
                Cidr,
                &["10.0.0.0/8", "fd00::/64", "0.0.0.0/0"],
                &[
                    "10.0.0.0",
                    "10.0.0.0/33",
                    "10.0.0/8",
                    "::/129",
                    "10.0.0.0/+8",
                    "10.0.0.0/",
                ],
            ),
            (
                Quantity,
                &[
                    "1", "0.5", "-1", "100m", "10Gi", "1e3", "2E-3", ".5", "5.", "1E",
                ],
                &["", ".", "Gi", "1 Gi", "1gi", "1.2.3", "1ee", "+-1", "1e+"],
            ),
            (StorageClass, &["fast", "csi.local-1"], &["", "Fast", "a/b"]),
        ] {
            for (texts, fits) in [(good, true), (bad, false)] {
                for text in texts {
                    assert_eq!(format.fits(text), fits, "{format:?} {text:?}");
                }
            }
            assert!(format.fits(format.example()));
        }
    }

    #[test]
    fn an_example_is_of_the_type() {
        let example = |text: &str| {
            let parameter: Parameter = crate::yaml::from_slice(text.as_bytes()).unwrap();
            parameter.example().to_string()
        };
        for (text, value) in [
            ("{type: string, default: a, enum: [b]}", "\"a\""),
            ("{type: string, enum: [b]}", "\"b\""),
            (
                "{type: string, sensitive: true, generate: {length: 3}}",
                "\"xxx\"",
            ),
            ("{type: string, format: quantity}", "\"1Gi\""),
            ("{type: number, minimum: 0.5}", "0.5"),
            ("{type: integer, maximum: -3}", "-3"),
            ("{type: integer}", "1"),
            ("{type: array}", "[]"),
            ("{type: object}", "{}"),
        ] {
            assert_eq!(example(text), value, "{text}");
        }
    }
}
