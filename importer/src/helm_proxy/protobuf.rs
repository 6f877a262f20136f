//! A decoder for the Secrets in which Helm stores revisions, in the protocol buffer encoding of Kubernetes that Helm's
//! client sends. [`secret`] accepts only the fields that Helm writes. A Secret with other content is rejected.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Map, Value, json};

/// The magic bytes at the start of every object in this encoding.
const MAGIC: &[u8] = b"k8s\0";

/// A field: its number and its value. The number of a numeric field is not needed.
enum Field<'a> {
    Bytes(u64, &'a [u8]),
    Number(u64),
}

/// Returns a Secret as JSON if the bytes encode one.
pub(super) fn secret(bytes: &[u8]) -> Option<Value> {
    let (mut kind, mut raw) = (Value::Null, None);
    for field in fields(bytes.strip_prefix(MAGIC)?)? {
        match field {
            Field::Bytes(1, type_meta) => kind = texts(type_meta, &["", "apiVersion", "kind"])?,
            Field::Bytes(2, content) => raw = Some(content),
            field => nothing(&field)?,
        }
    }
    if kind != json!({ "apiVersion": "v1", "kind": "Secret" }) {
        return None;
    }
    let (mut secret, mut data) = (kind, Map::new());
    for field in fields(raw?)? {
        match field {
            Field::Bytes(1, content) => secret["metadata"] = metadata(content)?,
            Field::Bytes(2, content) => {
                let (key, value) = entry(content)?;
                data.insert(key, json!(BASE64_STANDARD.encode(value)));
            }
            Field::Bytes(3, content) => secret["type"] = json!(text(content)?),
            field => nothing(&field)?,
        }
    }
    secret["data"] = Value::Object(data);
    Some(secret)
}

fn metadata(bytes: &[u8]) -> Option<Value> {
    let (mut metadata, mut labels) = (Map::new(), Map::new());
    for field in fields(bytes)? {
        match field {
            Field::Bytes(number @ (1 | 3), content) if !content.is_empty() => {
                let name = if number == 1 { "name" } else { "namespace" };
                metadata.insert(name.to_owned(), json!(text(content)?));
            }
            Field::Bytes(11, content) => {
                let (key, value) = entry(content)?;
                labels.insert(key, json!(text(value)?));
            }
            field => nothing(&field)?,
        }
    }
    metadata.insert("labels".to_owned(), Value::Object(labels));
    Some(Value::Object(metadata))
}

/// Returns a message of strings as an object, with the names of the fields by their number.
fn texts(bytes: &[u8], names: &[&str]) -> Option<Value> {
    let mut all = Map::new();
    for field in fields(bytes)? {
        let Field::Bytes(number, content) = field else {
            return None;
        };
        let name = names.get(usize::try_from(number).ok()?)?;
        all.insert((*name).to_owned(), json!(text(content)?));
    }
    Some(Value::Object(all))
}

/// Returns the key and value of a map entry.
fn entry(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (mut key, mut value) = (None, &[][..]);
    for field in fields(bytes)? {
        match field {
            Field::Bytes(1, content) => key = Some(text(content)?),
            Field::Bytes(2, content) => value = content,
            field => nothing(&field)?,
        }
    }
    Some((key?, value))
}

fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

/// Returns `None` unless an ignored field has its default value.
fn nothing(field: &Field<'_>) -> Option<()> {
    let is_nothing = match field {
        Field::Bytes(_, content) => content.is_empty(),
        Field::Number(number) => *number == 0,
    };
    is_nothing.then_some(())
}

/// Returns the fields of a message.
fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes)?;
        let field = tag >> 3;
        all.push(match tag & 7 {
            0 => Field::Number(number(&mut bytes)?),
            2 => {
                let length = usize::try_from(number(&mut bytes)?).ok()?;
                let (content, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Field::Bytes(field, content)
            }
            _ => return None,
        });
    }
    Some(all)
}

/// Reads a varint: seven bits in each byte, the lowest first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    // Numbers of more than 63 bits are rejected, since no field of a Secret needs them.
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        assert!(length < 128);
        [&[number << 3 | 2, length], content].concat()
    }

    fn pair(number: u8, key: &str, value: &str) -> Vec<u8> {
        let pair = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
        field(number, &pair)
    }

    fn stored(kind: &str, metadata: &[Vec<u8>], more: &[Vec<u8>]) -> Vec<u8> {
        let kind = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        let metadata = metadata.concat();
        let content = [field(1, &metadata), pair(2, "release", "x"), field(3, b"t")].concat();
        let content = [content, more.concat()].concat();
        let unknown = [
            field(1, &kind),
            field(2, &content),
            field(3, b""),
            field(4, b""),
        ]
        .concat();
        [MAGIC, &unknown].concat()
    }

    #[test]
    fn what_helm_stores_is_read_and_nothing_else() {
        // Empty texts, a number that is 0, and an empty timestamp.
        let nothing = [field(2, b""), vec![7 << 3, 0], field(8, b"")].concat();
        let metadata = [field(1, b"web"), nothing, pair(11, "owner", "helm")];
        let expected = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "t", "data": { "release": "eA==" },
            "metadata": { "name": "web", "labels": { "owner": "helm" } },
        });
        let whole = stored("Secret", &metadata, &[]);
        assert_eq!(secret(&whole), Some(expected));
        for length in 0..whole.len() - 4 {
            assert_ne!(secret(&whole[..length]), secret(&whole), "{length}");
        }
        let annotated = [field(1, b"web"), pair(12, "a", "b")];
        for other in [
            stored("ConfigMap", &metadata, &[]),
            stored("Secret", &annotated, &[]),
            stored("Secret", &metadata, &[pair(4, "more", "x")]),
            stored("Secret", &metadata, &[vec![5 << 3, 1]]),
            [MAGIC, &[0xff; 20]].concat(),
            b"{}".to_vec(),
        ] {
            assert_eq!(secret(&other), None);
        }
    }
}
