//! Paths of values of a chart in the syntax of Helm's `--set`, and maps of values by path. A path can contain keys
//! with dots and indexes of lists.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::limits;
use crate::name::text_traits;

/// The characters that a backslash escapes.
const MARKS: [char; 6] = ['\\', '.', '[', ']', '=', ','];

/// The path of a value among the values of a chart, as `ingress.hosts[0].host`. A backslash escapes a dot in a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValuePath(Vec<Segment>);

text_traits!(
    ValuePath,
    "The place of a value: `a.b[0].c`, a backslash before a dot within a key"
);

/// Values of a chart by path. In this order, a path below another one comes after it.
pub type ValuesByPath = BTreeMap<ValuePath, Value>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Key(String),
    Index(usize),
}

/// The error of a text that is not a valid path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValuePathError {
    /// A key is empty.
    #[error("a key is empty: a path of values is `a.b[0].c`, with `\\.` for a dot within a key")]
    Empty,
    /// An index is not a number, or too large.
    #[error("an index is not a number of at most {max}", max = limits::VALUE_INDEX)]
    Index,
    /// The path is longer than the limit.
    #[error("it has more than {max} parts", max = limits::VALUE_DEPTH)]
    Long,
}

impl FromStr for ValuePath {
    type Err = ValuePathError;

    fn from_str(text: &str) -> Result<Self, ValuePathError> {
        let mut segments = Vec::new();
        let mut rest = text;
        loop {
            let (key, after) = key(rest);
            if key.is_empty() {
                return Err(ValuePathError::Empty);
            }
            segments.push(Segment::Key(key));
            rest = after;
            while let Some(inside) = rest.strip_prefix('[') {
                let (index, after) = inside.split_once(']').ok_or(ValuePathError::Index)?;
                let index = index.parse().map_err(|_| ValuePathError::Index)?;
                if index > limits::VALUE_INDEX {
                    return Err(ValuePathError::Index);
                }
                segments.push(Segment::Index(index));
                rest = after;
            }
            if segments.len() > limits::VALUE_DEPTH {
                return Err(ValuePathError::Long);
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => return Ok(Self(segments)),
                None => return Err(ValuePathError::Index),
            }
        }
    }
}

/// Parses a key up to its end.
fn key(text: &str) -> (String, &str) {
    let mut key = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => key.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => return (key, &text[at..]),
            letter => key.push(letter),
        }
    }
    (key, "")
}

impl Display for ValuePath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) => {
                    f.write_str(if at == 0 { "" } else { "." })?;
                    for letter in key.chars() {
                        if MARKS.contains(&letter) {
                            f.write_str("\\")?;
                        }
                        write!(f, "{letter}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl ValuePath {
    /// Returns whether this path is the other one or below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns the keys of the path up to the first index.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map_while(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        })
    }

    /// Returns all keys and indexes of the path as text.
    pub(crate) fn parts(&self) -> Vec<String> {
        let part = |segment: &Segment| match segment {
            Segment::Key(key) => key.clone(),
            Segment::Index(index) => index.to_string(),
        };
        self.0.iter().map(part).collect()
    }

    /// Returns the last key of the path.
    #[must_use]
    pub fn key(&self) -> &str {
        let mut keys = self.0.iter().rev().filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        });
        keys.next().unwrap_or_default()
    }

    /// Returns the values within a value at this path: the entries of a map that is not empty, by their own paths, else
    /// the value itself.
    #[must_use]
    pub fn holding(&self, value: Value) -> ValuesByPath {
        match value {
            Value::Object(values) if !values.is_empty() => {
                let mut all = BTreeMap::new();
                add_paths(&self.0, &values, &mut all);
                all
            }
            value => BTreeMap::from([(self.clone(), value)]),
        }
    }

    /// Sets a value at this path, as Helm's `--set` does: missing maps and lists are created, lists are filled with
    /// null, and values of other types are replaced. An empty map does not change an existing map.
    pub fn put(&self, values: &mut Map<String, Value>, value: Value) {
        let Some((Segment::Key(first), rest)) = self.0.split_first() else {
            return;
        };
        let mut at = values.entry(first.clone()).or_insert(Value::Null);
        for segment in rest {
            at = match segment {
                Segment::Key(key) => {
                    if !at.is_object() {
                        *at = Value::Object(Map::new());
                    }
                    let Value::Object(map) = at else { return };
                    map.entry(key.clone()).or_insert(Value::Null)
                }
                Segment::Index(index) => {
                    if !at.is_array() {
                        *at = Value::Array(Vec::new());
                    }
                    let Value::Array(list) = at else { return };
                    if list.len() <= *index {
                        list.resize(index + 1, Value::Null);
                    }
                    &mut list[*index]
                }
            };
        }
        if !(at.is_object() && value.as_object().is_some_and(Map::is_empty)) {
            *at = value;
        }
    }
}

/// Adds a choice for a path. It replaces choices below the path and at paths above it, unless the value above is a
/// list, of which it is a part. `value_of` returns the value of a choice. An empty map does not replace choices below
/// it.
pub fn choose<T>(
    chosen: &mut BTreeMap<ValuePath, T>,
    path: ValuePath,
    choice: T,
    value_of: impl Fn(&T) -> &Value,
) {
    let is_empty_map = value_of(&choice).as_object().is_some_and(Map::is_empty);
    if is_empty_map && chosen.keys().any(|other| other.is_within(&path)) {
        return;
    }
    chosen.retain(|other, held| {
        !other.is_within(&path) && (!path.is_within(other) || value_of(held).is_array())
    });
    chosen.insert(path, choice);
}

/// Returns the values by path: all values except maps, and empty maps.
#[must_use]
pub fn by_path(values: &Map<String, Value>) -> ValuesByPath {
    let mut all = BTreeMap::new();
    add_paths(&[], values, &mut all);
    all
}

fn add_paths(above: &[Segment], values: &Map<String, Value>, all: &mut ValuesByPath) {
    for (key, value) in values {
        let path = [above, &[Segment::Key(key.clone())]].concat();
        match value {
            Value::Object(below) if !below.is_empty() => add_paths(&path, below, all),
            _ => drop(all.insert(ValuePath(path), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other}"),
        }
    }

    fn path(text: &str) -> ValuePath {
        text.parse().unwrap()
    }

    #[test]
    fn a_path_is_the_one_that_helm_takes() {
        let values = map(json!({
            "nodeSelector": { "kubernetes.io/os": "linux" }, "list": [{ "a": 1 }], "none": {}, "a\\b": true,
            "a[0]": 1,
        }));
        let paths: Vec<String> = by_path(&values).keys().map(ToString::to_string).collect();
        let expected = [
            "a\\[0\\]",
            "a\\\\b",
            "list",
            "nodeSelector.kubernetes\\.io/os",
            "none",
        ];
        assert_eq!(paths, expected);
        for text in paths {
            assert_eq!(path(&text).to_string(), text);
        }
        for text in ["a", "a.b", "a[0]", "a[0][1].b", "a.b[12]"] {
            assert_eq!(path(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let deep = ["a"; limits::VALUE_DEPTH + 1].join(".");
        for (text, expected) in [
            ("", ValuePathError::Empty),
            (".a", ValuePathError::Empty),
            ("a.", ValuePathError::Empty),
            ("a..b", ValuePathError::Empty),
            ("[0]", ValuePathError::Empty),
            ("a[", ValuePathError::Index),
            ("a[x]", ValuePathError::Index),
            ("a[0]b", ValuePathError::Index),
            ("a[-1]", ValuePathError::Index),
            ("a[1025]", ValuePathError::Index),
            (deep.as_str(), ValuePathError::Long),
        ] {
            assert_eq!(text.parse::<ValuePath>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_value_is_put_where_its_path_leads() {
        let mut values = map(json!({ "a": { "b": 1 }, "list": [{ "x": 1, "y": 2 }], "text": "t" }));
        for (at, value) in [
            ("a.c", json!(2)),
            ("list[0].x", json!("new")),
            ("list[2]", json!(3)),
            ("text.inner", json!(true)),
            ("made[1].deep", json!(null)),
            ("a", json!({})),
        ] {
            path(at).put(&mut values, value);
        }
        let expected = json!({
            "a": { "b": 1, "c": 2 },
            "list": [{ "x": "new", "y": 2 }, null, 3],
            "text": { "inner": true },
            "made": [null, { "deep": null }],
        });
        assert_eq!(Value::Object(values), expected);
    }

    #[test]
    fn a_choice_takes_the_place_of_those_that_it_covers() {
        let mut values = ValuesByPath::new();
        let mut choose = |at: &str, value| {
            super::choose(&mut values, path(at), value, |value| value);
            json!(values)
        };
        choose("a.b", json!(1));
        assert_eq!(choose("a.c", json!(2)), json!({ "a.b": 1, "a.c": 2 }));
        assert_eq!(choose("a", json!("text")), json!({ "a": "text" }));
        assert_eq!(choose("a.b", json!(3)), json!({ "a.b": 3 }));
        choose("list", json!([{ "x": 1 }]));
        let both = json!({ "a.b": 3, "list": [{ "x": 1 }], "list[0].x": 2 });
        assert_eq!(choose("list[0].x", json!(2)), both);
        assert_eq!(choose("list", json!([])), json!({ "a.b": 3, "list": [] }));
        assert_eq!(choose("a", json!({})), json!({ "a.b": 3, "list": [] }));
    }
}
