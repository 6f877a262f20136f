//! Differences between the values of two layers, as JSON Pointers. The check of a fleet uses them to find groups that
//! set the same value differently.

use serde_json::{Map, Value};

/// Adds the JSON Pointers, below `path`, at which both maps have a value and the values differ. Maps are merged, so a
/// key that only one of them has is no difference.
pub(crate) fn differences(
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    path: &str,
    found: &mut Vec<String>,
) {
    for (key, value) in one {
        let Some(its) = other.get(key) else { continue };
        let path = within(path, key);
        match (value, its) {
            (Value::Object(value), Value::Object(its)) => differences(value, its, &path, found),
            _ if value == its => {}
            _ => found.push(path),
        }
    }
}

/// Returns the pointer of a field, with `~` and `/` escaped (RFC 6901, section 3).
pub(crate) fn within(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_choose_can_differ() {
        for (one, other, expected) in [
            (r#"{"a": 1}"#, r#"{"a": 1}"#, &[][..]),
            (r#"{"a": 1}"#, r#"{"b": 2}"#, &[]),
            (r#"{"a": 1}"#, r#"{"a": "1"}"#, &["/a"]),
            (
                r#"{"a": {"b": 1, "c": 2}}"#,
                r#"{"a": {"b": 1, "d": 3}}"#,
                &[],
            ),
            (
                r#"{"a": {"b": 1, "x/y": 2}}"#,
                r#"{"a": {"b": 2, "x/y": 3}}"#,
                &["/a/b", "/a/x~1y"],
            ),
            (r#"{"a": {"b": 1}}"#, r#"{"a": 1}"#, &["/a"]),
            (r#"{"a": [1]}"#, r#"{"a": [1, 2]}"#, &["/a"]),
            (r#"{"a": null}"#, r#"{"a": {}}"#, &["/a"]),
        ] {
            let map = |text| serde_json::from_str::<Map<String, Value>>(text).unwrap();
            let mut found = Vec::new();
            differences(&map(one), &map(other), "", &mut found);
            assert_eq!(found, expected, "{one} {other}");
        }
    }
}
