//! The part of kubectl's JSONPath that the tests use: text, and in braces fields, indexes, `[*]` and
//! `[?(@.field=="value")]`.

use serde_json::Value;

/// Returns the text that kubectl prints for an object. Absent fields have none.
pub(crate) fn evaluate(template: &str, object: &Value) -> String {
    let mut parts = template.split('{');
    let mut printed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, text) = part.split_once('}').expect("a closing brace");
        let values = select(path, object);
        let values: Vec<String> = values.into_iter().map(print).collect();
        printed.push_str(&values.join(" "));
        printed.push_str(text);
    }
    printed
}

fn print(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the values at a path.
fn select<'a>(path: &str, object: &'a Value) -> Vec<&'a Value> {
    let mut selected = vec![object];
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (selector, after) = after.split_once(']').expect("a closing bracket");
            let of = |value: &'a Value| elements(selector, value);
            selected = selected.into_iter().flat_map(of).collect();
            rest = after;
        } else {
            let (field, after) = first_field(rest.strip_prefix('.').expect("a field"));
            let of = |value: &'a Value| value.get(&field);
            selected = selected.into_iter().filter_map(of).collect();
            rest = after;
        }
    }
    selected
}

/// Splits a path at the end of its first field. A backslash takes the special meaning of the next character.
fn first_field(path: &str) -> (String, &str) {
    let mut field = String::new();
    let mut characters = path.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' => return (field, &path[at..]),
            '\\' => field.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => field.push(character),
        }
    }
    (field, "")
}

/// Returns the elements of an array, or the values of an object, that a selector in brackets names.
fn elements<'a>(selector: &str, value: &'a Value) -> Vec<&'a Value> {
    let all: Vec<&Value> = match value {
        Value::Array(elements) => elements.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    };
    if selector == "*" {
        return all;
    }
    if let Ok(index) = selector.parse::<usize>() {
        return all.get(index).copied().into_iter().collect();
    }
    let filter = selector
        .strip_prefix("?(@")
        .and_then(|filter| filter.strip_suffix(')'));
    let (path, wanted) = filter
        .and_then(|filter| filter.split_once("=="))
        .expect("a filter");
    let wanted = wanted.trim_matches(['"', '\'']);
    let is_wanted = |element: &&Value| select(path, element).iter().any(|found| *found == wanted);
    all.into_iter().filter(is_wanted).collect()
}

#[test]
fn paths_are_evaluated_as_by_kubectl() {
    let object = serde_json::json!({
        "data": {"a.b": "text", "n": 3},
        "items": [{"name": "x", "on": true}, {"name": "y"}],
    });
    for (template, printed) in [
        ("{.data.a\\.b}/{.data.n} {.data.absent}", "text/3 "),
        ("{.items[*].name}", "x y"),
        ("{.items[1].name}", "y"),
        (r#"{.items[?(@.name=="x")].on}"#, "true"),
        ("{.data}", r#"{"a.b":"text","n":3}"#),
    ] {
        assert_eq!(evaluate(template, &object), printed, "{template}");
    }
}
