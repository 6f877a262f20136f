//! The rules of a Role or `ClusterRole` (`rbac.authorization.k8s.io/v1`), parsed and validated as in the API server.
//! [`RightsCost`] limits the number of rights that rules expand to before they are expanded.

use std::borrow::Borrow;

use serde_json::Value;

use crate::finding::problem::RuleProblem;
use crate::limits::{RIGHTS, RIGHTS_TEXT};

/// The fields of a rule.
const FIELDS: [&str; 5] = [
    "apiGroups",
    "resources",
    "verbs",
    "resourceNames",
    "nonResourceURLs",
];

/// One rule of a role.
pub(crate) struct RoleRule<'a> {
    pub(crate) groups: Vec<&'a str>,
    pub(crate) resources: Vec<&'a str>,
    pub(crate) verbs: Vec<&'a str>,
    /// The names of the only objects that the rule grants; empty for all objects.
    pub(crate) names: Vec<&'a str>,
    pub(crate) urls: Vec<&'a str>,
}

/// Returns the rules of a role, each with its own result. A role without rules grants nothing.
pub(crate) fn rules(
    role: &Value,
) -> Result<impl Iterator<Item = Result<RoleRule<'_>, RuleProblem>>, RuleProblem> {
    let list: &[Value] = match role.get("rules") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(rules)) => rules,
        Some(_) => return Err(RuleProblem::NotAList),
    };
    let in_namespace = role.get("kind").and_then(Value::as_str) == Some("Role");
    let rules = list.iter().enumerate().map(move |(index, rule)| {
        RoleRule::parse(rule, in_namespace).map_err(|problem| RuleProblem::Rule {
            number: index + 1,
            problem,
        })
    });
    Ok(rules)
}

impl<'a> RoleRule<'a> {
    fn parse(rule: &'a Value, in_namespace: bool) -> Result<Self, String> {
        let fields = rule.as_object().ok_or("is not a mapping")?;
        if let Some(field) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return Err(format!("`{field}` is not a field of a rule"));
        }
        let rule = Self {
            groups: strings(rule, "apiGroups")?,
            resources: strings(rule, "resources")?,
            verbs: strings(rule, "verbs")?,
            names: strings(rule, "resourceNames")?,
            urls: strings(rule, "nonResourceURLs")?,
        };
        rule.incomplete(in_namespace)
            .map_or(Ok(rule), |problem| Err(problem.to_owned()))
    }

    /// Returns the reason why the API server rejects the rule.
    fn incomplete(&self, in_namespace: bool) -> Option<&'static str> {
        let resources = !self.groups.is_empty() || !self.resources.is_empty();
        if self.verbs.is_empty() {
            Some("has no verbs")
        } else if !self.urls.is_empty() && in_namespace {
            Some("a Role cannot grant nonResourceURLs")
        } else if !self.urls.is_empty() && resources {
            Some("has resources and nonResourceURLs in one rule")
        } else if self.urls.is_empty() && (self.groups.is_empty() || self.resources.is_empty()) {
            Some("has no apiGroups or no resources")
        } else {
            None
        }
    }
}

fn strings<'a>(rule: &'a Value, field: &str) -> Result<Vec<&'a str>, String> {
    let list = match rule.get(field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(value) => value.as_array(),
    };
    list.and_then(|list| list.iter().map(Value::as_str).collect())
        .ok_or_else(|| format!("`{field}` is not a list of strings"))
}

/// The number and size of the rights that rules expand to, with each verb for each resource. It is computed without
/// expanding them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RightsCost {
    parts: usize,
    text: usize,
}

impl RightsCost {
    /// Returns the cost of rules.
    pub(crate) fn of<'a>(rules: impl IntoIterator<Item = impl Borrow<RoleRule<'a>>>) -> Self {
        let mut cost = Self::default();
        for rule in rules {
            cost.add(rule.borrow());
        }
        cost
    }

    fn add(&mut self, rule: &RoleRule<'_>) {
        let all = [""];
        let names = if rule.names.is_empty() {
            &all[..]
        } else {
            &rule.names
        };
        for lists in [
            &[&rule.verbs, &rule.groups, &rule.resources, names][..],
            &[&rule.verbs, &rule.urls],
        ] {
            // The arithmetic saturates, because the products of long lists could overflow.
            let parts = lists
                .iter()
                .fold(1_usize, |product, list| product.saturating_mul(list.len()));
            self.parts = self.parts.saturating_add(parts);
            for list in lists.iter().filter(|list| !list.is_empty()) {
                let bytes: usize = list.iter().map(|text| text.len()).sum();
                let text = bytes.saturating_mul(parts / list.len());
                self.text = self.text.saturating_add(text);
            }
        }
    }

    /// Checks the cost against the limits.
    pub(crate) fn check(self) -> Result<(), RuleProblem> {
        if self.parts > RIGHTS || self.text > RIGHTS_TEXT {
            return Err(RuleProblem::TooMany);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cost(rule: &Value) -> RightsCost {
        let mut cost = RightsCost::default();
        cost.add(&RoleRule::parse(rule, false).unwrap());
        cost
    }

    fn many(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{number:05}")).collect()
    }

    #[test]
    fn a_rule_comes_to_its_lists_multiplied() {
        let rule = json!({"apiGroups": ["", "ab"], "resources": ["x", "y", "z"], "verbs": ["get"]});
        assert_eq!(
            cost(&rule),
            RightsCost {
                parts: 6,
                text: 3 * 2 + 2 * 3 + 6 * 3
            }
        );
        let urls = json!({"nonResourceURLs": ["/a", "/b"], "verbs": ["get", "put"]});
        assert_eq!(
            cost(&urls),
            RightsCost {
                parts: 4,
                text: 2 * 4 + 2 * 6
            }
        );
        let named = json!({"apiGroups": [""], "resources": ["x"], "verbs": ["get"], "resourceNames": many(7)});
        assert_eq!(
            cost(&named),
            RightsCost {
                parts: 7,
                text: 7 + 21 + 35
            }
        );
    }

    /// The number is computed, because a hundred million rights cannot be expanded to count them.
    #[test]
    fn what_multiplies_is_refused_before_it_is_written_out() {
        let wide = json!({"apiGroups": [""], "resources": many(10_000), "verbs": many(10_000)});
        assert_eq!(cost(&wide).parts, 100_000_000);
        let long =
            json!({"apiGroups": [""], "resources": many(1000), "verbs": ["x".repeat(1_000_000)]});
        assert_eq!(cost(&long).text, 1000 * 1_000_000 + 1000 * 5);
        let most =
            json!({"apiGroups": [""], "resources": many(10_000), "verbs": many(RIGHTS / 10_000)});
        assert_eq!(cost(&most).check(), Ok(()));
        for rule in [wide, long] {
            assert_eq!(cost(&rule).check(), Err(RuleProblem::TooMany));
        }
    }
}
