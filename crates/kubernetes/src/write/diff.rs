//! Differences between two states of an object, for display. Values of Secrets are masked, and fields that the server
//! maintains are left out.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::error::cut;
use crate::limits;
use crate::object::Object;

/// A changed field. Values are compact JSON of limited length; those of Secrets are never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The path of the field, for example `.spec.template.spec.containers[name=server].image`.
    pub path: String,
    /// The current value; `None` if the field does not exist.
    pub before: Option<String>,
    /// The new value; `None` if the field is removed.
    pub after: Option<String>,
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let absent = "(absent)";
        let before = self.before.as_deref().unwrap_or(absent);
        write!(
            f,
            "{}: {before} -> {}",
            self.path,
            self.after.as_deref().unwrap_or(absent)
        )
    }
}

/// The metadata that the server maintains and changes with every write, and the status, which is not applied.
pub(super) const IGNORED: [&str; 6] = [
    ".metadata.managedFields",
    ".metadata.resourceVersion",
    ".metadata.generation",
    ".metadata.uid",
    ".metadata.creationTimestamp",
    ".status",
];

/// The fields with the secret content of Secrets.
const MASKED: [&str; 2] = [".data", ".stringData"];

/// A pair of values to compare, with their path.
pub(super) struct ValuePair<'a> {
    pub(super) path: String,
    pub(super) before: Option<&'a Value>,
    pub(super) after: Option<&'a Value>,
}

/// Returns the changes from one state to another in the order of the fields, at most [`limits::MAX_CHANGES`].
#[must_use]
pub fn changes(before: Option<&Object>, after: &Object) -> Vec<FieldChange> {
    let secret = after.is_secret();
    let mut found = Vec::new();
    let mut open = vec![ValuePair {
        path: String::new(),
        before: before.map(Object::as_value),
        after: Some(after.as_value()),
    }];
    while let Some(pair) = open.pop() {
        if found.len() == limits::MAX_CHANGES {
            break;
        }
        if pair.before == pair.after || IGNORED.contains(&pair.path.as_str()) {
            continue;
        }
        match inner(&pair) {
            // The stack is processed from its end, so the pairs are pushed in reverse order.
            Some(pairs) => open.extend(pairs.into_iter().rev()),
            None => found.push(change(&pair, secret)),
        }
    }
    found
}

/// Returns the inner pairs if both sides are containers of the same kind.
fn inner<'a>(pair: &ValuePair<'a>) -> Option<Vec<ValuePair<'a>>> {
    match (pair.before, pair.after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            Some(fields(&pair.path, Some(before), after))
        }
        (None, Some(Value::Object(after))) if pair.path.is_empty() => Some(fields("", None, after)),
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            Some(items(&pair.path, before, after))
        }
        _ => None,
    }
}

fn fields<'a>(
    path: &str,
    before: Option<&'a Map<String, Value>>,
    after: &'a Map<String, Value>,
) -> Vec<ValuePair<'a>> {
    let keys = before.into_iter().flat_map(Map::keys).chain(after.keys());
    let keys: BTreeSet<&String> = keys.collect();
    let at = |key: &String| ValuePair {
        path: format!("{path}{}", field(key)),
        before: before.and_then(|before| before.get(key)),
        after: after.get(key),
    };
    keys.into_iter().map(at).collect()
}

fn items<'a>(path: &str, before: &'a [Value], after: &'a [Value]) -> Vec<ValuePair<'a>> {
    match (names(before), names(after)) {
        (Some(old), Some(new)) => {
            let all: BTreeSet<&str> = old.iter().chain(&new).copied().collect();
            let by_name =
                |items: &'a [Value], name: &str| items.iter().find(|item| item["name"] == *name);
            let at = |name: &&str| ValuePair {
                path: format!("{path}[name={name}]"),
                before: by_name(before, name),
                after: by_name(after, name),
            };
            all.iter().map(at).collect()
        }
        _ => (0..before.len().max(after.len()))
            .map(|i| ValuePair {
                path: format!("{path}[{i}]"),
                before: before.get(i),
                after: after.get(i),
            })
            .collect(),
    }
}

/// Returns the names of a list's items if all items have unique names. The order of such a list is not significant.
pub(super) fn names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items
        .iter()
        .map(|item| item["name"].as_str())
        .collect::<Option<_>>()?;
    let distinct: BTreeSet<&&str> = names.iter().collect();
    (distinct.len() == names.len()).then_some(names)
}

pub(super) fn field(key: &str) -> String {
    if key.contains(['.', '/', '[']) {
        format!("[{key}]")
    } else {
        format!(".{key}")
    }
}

pub(super) fn change(pair: &ValuePair<'_>, secret: bool) -> FieldChange {
    let masked = secret && MASKED.iter().any(|start| pair.path.starts_with(start));
    let show = |value: &Value| {
        if masked {
            "(secret)".to_owned()
        } else {
            cut(&value.to_string(), limits::MAX_SHOWN_VALUE)
        }
    };
    FieldChange {
        path: cut(&pair.path, limits::MAX_MESSAGE),
        before: pair.before.map(show),
        after: pair.after.map(show),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(kind: &str, more: &Value) -> Object {
        let mut value = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}});
        for (key, field) in more.as_object().unwrap() {
            value[key] = field.clone();
        }
        Object::new(value).unwrap()
    }

    fn shown(before: &Value, after: &Value) -> Vec<String> {
        let (before, after) = (object("A", before), object("A", after));
        changes(Some(&before), &after)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn fields_come_go_and_change() {
        assert_eq!(
            shown(
                &json!({"spec": {"a": 1, "b": {"c": [1, 2]}, "z": 0}}),
                &json!({"spec": {"b": {"c": [1, 3, 4]}, "d": {"e": "f"}, "z": 0}})
            ),
            [
                ".spec.a: 1 -> (absent)",
                ".spec.b.c[1]: 2 -> 3",
                ".spec.b.c[2]: (absent) -> 4",
                r#".spec.d: (absent) -> {"e":"f"}"#
            ]
        );
    }

    #[test]
    fn items_with_names_are_found_by_name() {
        let before = json!({"spec": {"c": [{"name": "a", "v": 1}, {"name": "b", "v": 2}]}});
        let after = json!({"spec": {"c": [{"name": "b", "v": 2}, {"name": "a", "v": 3}]}});
        assert_eq!(shown(&before, &after), [".spec.c[name=a].v: 1 -> 3"]);
    }

    #[test]
    fn what_the_server_keeps_for_itself_is_no_change() {
        let before = json!({"metadata": {"name": "a", "resourceVersion": "1", "generation": 1, "managedFields": []}, "status": {"x": 1}});
        let after = json!({"metadata": {"name": "a", "resourceVersion": "2", "generation": 2}, "status": {}});
        assert!(shown(&before, &after).is_empty());
    }

    #[test]
    fn secrets_show_that_they_change_and_not_how() {
        let before = object(
            "Secret",
            &json!({"data": {"key": "b2xk"}, "type": "Opaque"}),
        );
        let after = object("Secret", &json!({"data": {"key": "bmV3"}, "type": "Other"}));
        let text = format!("{:?}", changes(Some(&before), &after));
        assert!(
            text.contains(".data.key") && text.contains("(secret)") && text.contains("Other"),
            "{text}"
        );
        assert!(!text.contains("b2xk") && !text.contains("bmV3"), "{text}");
        assert!(!format!("{:?}", changes(None, &after)).contains("bmV3"));
    }

    #[test]
    fn a_new_object_is_shown_by_its_top_fields_and_all_is_bounded() {
        let many: Vec<_> = (0..1000).collect();
        let none: Vec<i32> = Vec::new();
        assert_eq!(
            shown(&json!({"spec": none}), &json!({"spec": many})).len(),
            limits::MAX_CHANGES
        );
        let new = changes(None, &object("A", &json!({"spec": many})));
        assert_eq!(new.len(), 4);
        assert!(new.iter().all(|change| change.after.as_ref().unwrap().len()
            <= limits::MAX_SHOWN_VALUE + '…'.len_utf8()));
    }
}
