//! The values of a chart that a publisher recommends a site to set. Other values lead to a note, but are not forbidden.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::checked_name;
use crate::{ValuePath, limits};

checked_name! {
    /// The beginning of places of values.
    ValuePointer, "pointer to values", "a JSON Pointer (RFC 6901) such as /ingress/hosts, at most 1024 characters; a part `*` is any one",
    |text| text.len() <= limits::VALUE_POINTER && text.starts_with('/')
}

/// The values that a site should choose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteValues {
    /// The values, with everything below them. Default: all values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::VALUE_POINTERS))]
    pub allow: Vec<ValuePointer>,
    /// The values that a site should not choose, even if `allow` lists them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::VALUE_POINTERS))]
    pub deny: Vec<ValuePointer>,
}

impl ValuePointer {
    /// Returns whether a path is this pointer or below it.
    fn is_at_or_below(&self, parts: &[String]) -> bool {
        let mut own = self.as_str().split('/').skip(1);
        let mut parts = parts.iter();
        own.all(|own| {
            let part = parts.next();
            part.is_some_and(|part| own == "*" || unescaped(own) == *part)
        })
    }
}

/// Returns a part of a pointer without its escapes.
fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

impl SiteValues {
    /// Returns whether the publisher recommends to set this value.
    #[must_use]
    pub fn are_meant_with(&self, path: &ValuePath) -> bool {
        let parts = path.parts();
        let covers = |pointers: &[ValuePointer]| {
            pointers
                .iter()
                .any(|pointer| pointer.is_at_or_below(&parts))
        };
        !covers(&self.deny) && (self.allow.is_empty() || covers(&self.allow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_meant_to_choose_what_is_allowed_and_not_denied() {
        let rules =
            r#"{"allow": ["/ingress", "/pools/*/size", "/a~1b"], "deny": ["/ingress/class"]}"#;
        let rules: SiteValues = serde_json::from_str(rules).unwrap();
        for (path, expected) in [
            ("ingress.hosts[0].host", true),
            ("ingress.class", false),
            ("ingress.class.name", false),
            ("ingress.classes", true),
            ("pools[3].size", true),
            ("pools.one.size", true),
            ("pools[3].image", false),
            ("pools", false),
            ("a/b", true),
            ("image", false),
        ] {
            assert_eq!(
                rules.are_meant_with(&path.parse().unwrap()),
                expected,
                "{path}"
            );
        }
        let all = SiteValues::default();
        assert!(all.are_meant_with(&"image".parse().unwrap()));
        assert!("ingress".parse::<ValuePointer>().is_err());
    }
}
