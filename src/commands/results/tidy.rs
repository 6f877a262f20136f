//! What holds for all results and no type says: other fields are not allowed, and what may be left out is there only with
//! something in it.

use serde_json::{Map, Value, json};

/// The keywords under which schemas stand beside each other.
const CHOICES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Whether a schema tells all fields of an object, or stands beside others that tell more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Part,
}

/// Says in a schema what holds for all results.
pub(super) fn tidy(schema: &mut Value) {
    tidy_as(schema, Extent::Whole);
}

fn tidy_as(schema: &mut Value, extent: Extent) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::String(description)) = fields.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    // Nobody fills in what a result leaves out.
    fields.remove("default");
    let is_object =
        fields.contains_key("properties") || fields.get("type") == Some(&json!("object"));
    if is_object {
        close(fields, extent);
        fill(fields);
    }
    let part = if is_object { Extent::Part } else { extent };
    for (key, value) in fields {
        match key.as_str() {
            "allOf" | "anyOf" | "oneOf" => each(value, |it| tidy_as(it, part)),
            "properties" | "patternProperties" | "prefixItems" => each(value, tidy),
            "additionalProperties" | "items" => tidy(value),
            _ => {}
        }
    }
}

fn each(value: &mut Value, change: impl FnMut(&mut Value)) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(change),
        Value::Object(all) => all.values_mut().for_each(change),
        _ => {}
    }
}

/// Allows no field that is not told.
fn close(fields: &mut Map<String, Value>, extent: Extent) {
    let has_parts = CHOICES.iter().any(|it| fields.contains_key(*it));
    if (has_parts || extent == Extent::Part)
        && fields.get("additionalProperties") == Some(&json!(false))
    {
        fields.remove("additionalProperties");
    }
    if extent == Extent::Whole {
        let key = if has_parts {
            "unevaluatedProperties"
        } else {
            "additionalProperties"
        };
        fields.entry(key).or_insert(json!(false));
    }
}

/// Says of the fields that may be left out that they are there only with something in them.
fn fill(fields: &mut Map<String, Value>) {
    let required = fields.get("required").cloned().unwrap_or_default();
    let required = required.as_array().map_or(&[][..], Vec::as_slice);
    let Some(Value::Object(properties)) = fields.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        if let Value::Object(property) = property
            && !required.contains(&json!(name))
        {
            fill_one(property);
        }
    }
}

fn fill_one(property: &mut Map<String, Value>) {
    // Null is what an `Option` has for nothing.
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
        return;
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|it| it["type"] != "null");
        if let [Value::Object(only)] = &choices[..] {
            let only = only.clone();
            property.remove("anyOf");
            for (key, value) in only {
                property.entry(key).or_insert(value);
            }
        }
        return;
    }
    let (key, value) = match property.get("type").and_then(Value::as_str) {
        Some("array") => ("minItems", json!(1)),
        Some("boolean") => ("const", json!(true)),
        Some("integer") => ("minimum", json!(1)),
        Some("object") => ("minProperties", json!(1)),
        Some("string") => ("minLength", json!(1)),
        _ => return,
    };
    property.insert(key.to_owned(), value);
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde::Serialize;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Sample {
        always: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        perhaps: Option<u8>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        several: Vec<Inner>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        marked: bool,
        #[serde(flatten)]
        kind: Kind,
    }

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        name: String,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "camelCase")]
    enum Kind {
        One { first: u8 },
        Other { second: u8 },
    }

    #[test]
    fn what_is_not_told_is_not_allowed_and_what_is_left_out_is_not_empty() {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<Sample>();
        let mut schema = schema.to_value();
        tidy(&mut schema["$defs"]["Inner"]);
        tidy(&mut schema);
        let schema = jsonschema::validator_for(&schema).unwrap();
        let full = Sample {
            always: Some(1),
            perhaps: Some(0),
            several: vec![Inner {
                name: String::new(),
            }],
            marked: true,
            kind: Kind::One { first: 1 },
        };
        let bare = Sample {
            always: None,
            perhaps: None,
            several: Vec::new(),
            marked: false,
            kind: Kind::Other { second: 1 },
        };
        let [full, bare] = [full, bare].map(|it| serde_json::to_value(it).unwrap());
        for good in [&full, &bare] {
            assert!(schema.is_valid(good), "{good}");
        }
        for (field, value) in [
            ("more", json!(1)),
            ("second", json!(1)),
            ("perhaps", json!(null)),
            ("several", json!([])),
            ("several", json!([{ "name": "", "more": 1 }])),
            ("marked", json!(false)),
            ("kind", json!("other")),
        ] {
            let mut bad = full.clone();
            bad[field] = value;
            assert!(!schema.is_valid(&bad), "{bad}");
        }
        let mut bad = full;
        bad.as_object_mut().unwrap().remove("always");
        assert!(!schema.is_valid(&bad), "{bad}");
    }
}
