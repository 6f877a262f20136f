//! The images that documents name, whatever is carried of them.

use schemas::ImageReference;
use serde_json::Value;

use crate::compile::{Compiler, Unsettled};
use crate::image::KnownImages;
use crate::reference::{Hint, normal, references};

/// Every image that an object names, in its complete form, each with its place as a JSON pointer that may be shown: what
/// compiling it finds where no image is known.
#[must_use]
pub fn named_images(object: &Value) -> Vec<(ImageReference, String)> {
    let compiler = Compiler {
        images: &KnownImages::default(),
        namespaces: &[],
        templates: &[],
    };
    let remarks = compiler.compile(&mut object.clone()).into_iter();
    let named = remarks.filter_map(|remark| match remark.what {
        Unsettled::Missing(reference) | Unsettled::Mentioned(reference) => {
            Some((reference, remark.path))
        }
        _ => None,
    });
    named.collect()
}

/// Every image among the default values of a definition of custom resources, in its complete form.
#[must_use]
pub fn default_images(definition: &Value) -> Vec<ImageReference> {
    let mut images = Vec::new();
    default_texts(&definition["spec"], &mut |text, hint| {
        let found = references(text, hint).into_iter();
        images.extend(found.filter_map(|range| normal(&text[range])));
    });
    images
}

/// Gives every text among the default values of a schema, with what the name of its property says of it.
pub fn default_texts<'a>(schema: &'a Value, visit: &mut impl FnMut(&'a str, Hint)) {
    let mut open = vec![(schema, Hint::None, false)];
    while let Some((value, hint, default)) = open.pop() {
        match value {
            Value::String(text) if default => visit(text, hint),
            Value::Array(list) => {
                open.extend(list.iter().rev().map(|value| (value, hint, default)));
            }
            Value::Object(map) if default => {
                let fields = map.iter().rev();
                open.extend(fields.map(|(key, value)| (value, Hint::of(key), true)));
            }
            Value::Object(map) => open.extend(map.iter().rev().flat_map(|(key, value)| {
                match value {
                    Value::Object(properties) if key == "properties" => properties
                        .iter()
                        .rev()
                        .map(|(key, value)| (value, Hint::of(key), false))
                        .collect(),
                    value => vec![(value, hint, key == "default")],
                }
            })),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_are_named_wherever_they_stand() {
        let object = json!({
            "apiVersion": "shop.test/v1", "kind": "Shop", "metadata": {"name": "a"},
            "spec": {
                "image": "nginx:1", "args": ["--reloader=quay.io/org/reload:2", "word:1"],
                "pullPolicy": "Always",
            },
        });
        let named = named_images(&object).into_iter();
        let named: Vec<_> = named.map(|(it, path)| (it.to_string(), path)).collect();
        let expected = [
            ("quay.io/org/reload:2", "/spec/args/0"),
            ("docker.io/library/nginx:1", "/spec/image"),
        ];
        assert_eq!(
            named,
            expected.map(|(it, path)| (it.to_owned(), path.to_owned()))
        );
    }

    #[test]
    fn of_a_definition_only_default_values_count() {
        let definition = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {
            "image": {"description": "such as r.test/a:1", "default": "r.test/b:1"},
        }}}}]}});
        let images = default_images(&definition);
        assert_eq!(images, ["r.test/b:1".parse().unwrap()]);
    }
}
