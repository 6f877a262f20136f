//! Checks of placeholders in objects and values. Each one must name an existing image, namespace or parameter, since an
//! import cannot expand it otherwise. The entry point is [`PlaceholderNames`].

use std::collections::{BTreeMap, BTreeSet};

use schemas::placeholder::{self, Placeholder};
use schemas::{
    ChartRelease, ImagePlace, Namespace, ObjectSet, Parameter, ParameterName, printable_within,
};
use serde_json::{Map, Value};

use crate::finding::problem::Problem;
use crate::images::ImagesByName;
use crate::limits::{PLACEHOLDER_PROBLEMS, POINTER};

/// The images and parameters that placeholders of a Solution can name.
#[derive(Debug)]
pub struct PlaceholderNames<'a> {
    places: BTreeSet<&'a ImagePlace>,
    images: ImagesByName<'a>,
    parameters: &'a BTreeMap<ParameterName, Parameter>,
}

impl<'a> PlaceholderNames<'a> {
    /// Creates the names of a Solution with these images and parameters.
    pub fn new(
        images: impl IntoIterator<Item = &'a ImagePlace> + Clone,
        parameters: &'a BTreeMap<ParameterName, Parameter>,
    ) -> Self {
        Self {
            places: images.clone().into_iter().collect(),
            images: ImagesByName::new(images),
            parameters,
        }
    }

    /// Returns the problems of the placeholders in an object of a set.
    #[must_use]
    pub fn check(&self, document: &Value, set: &ObjectSet) -> Vec<Problem> {
        let namespaces: BTreeSet<&Namespace> = set
            .namespaces
            .iter()
            .map(|namespace| &namespace.name)
            .collect();
        let unknown = |placeholder: &Placeholder| self.unknown(placeholder, &namespaces);
        let found = found(document, &unknown).into_iter();
        found
            .map(|(pointer, words)| Problem::Placeholder(pointer, words))
            .collect()
    }

    /// Returns the problems of the placeholders in the values of a chart.
    #[must_use]
    pub fn check_values(
        &self,
        values: &Map<String, Value>,
        release: &ChartRelease,
    ) -> Vec<Problem> {
        const AROUND: &str = "values";
        let namespaces = release
            .namespaces
            .iter()
            .map(|namespace| &namespace.name)
            .collect();
        let unknown = |placeholder: &Placeholder| self.unknown(placeholder, &namespaces);
        // Values are not an object, so none of their fields (such as `status` or `kind`) is exempt. Wrapping them in a
        // field makes the traversal treat all of them alike.
        let document = Value::from_iter([(AROUND, Value::Object(values.clone()))]);
        let found = found(&document, &unknown).into_iter();
        let below = |pointer: String| pointer[1 + AROUND.len()..].to_owned();
        found
            .map(|(pointer, words)| Problem::ValuesPlaceholder(below(pointer), words))
            .collect()
    }

    fn unknown(
        &self,
        placeholder: &Placeholder,
        namespaces: &BTreeSet<&Namespace>,
    ) -> Option<String> {
        match placeholder {
            Placeholder::Image { image, .. } => match &image.tag {
                None => match self.images.only(&image.name).err()? {
                    0 => Some(format!("no image has the name `{}`", image.name)),
                    count => Some(format!("{count} images have the name `{}`", image.name)),
                },
                Some(tag) => {
                    let place = ImagePlace {
                        name: image.name.clone(),
                        tag: tag.clone(),
                    };
                    let known = self.places.contains(&place);
                    (!known).then(|| format!("the Solution has no image `{place}`"))
                }
            },
            Placeholder::Namespace(name) => (!namespaces.contains(name))
                .then(|| format!("`{name}` is not a namespace of the release")),
            Placeholder::Parameter(name) => (!self.parameters.contains_key(name))
                .then(|| format!("there is no parameter `{name}`")),
            Placeholder::Solution(_) => None,
        }
    }
}

/// Returns the positions of a document with invalid placeholders, each with its first problem.
fn found(
    document: &Value,
    unknown: &dyn Fn(&Placeholder) -> Option<String>,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    placeholder::each_text(document, &mut |pointer, text| {
        if found.len() < PLACEHOLDER_PROBLEMS
            && let Some(words) = first(text, unknown)
        {
            found.push((printable_within(pointer, POINTER), words));
        }
    });
    found
}

/// Returns the first problem of a text.
fn first(text: &str, unknown: &dyn Fn(&Placeholder) -> Option<String>) -> Option<String> {
    if !text.contains("$(") {
        return None;
    }
    let pieces = match placeholder::split(text) {
        Ok(pieces) => pieces,
        Err(error) => return Some(error.to_string()),
    };
    pieces.into_iter().find_map(|piece| match piece {
        placeholder::PlaceholderPiece::Text(_) => None,
        placeholder::PlaceholderPiece::Placeholder(placeholder) => unknown(&placeholder),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_name_what_there_is() {
        let images = ["app:1", "db:1", "db:2"].map(|place| place.parse().unwrap());
        let parameters: BTreeMap<ParameterName, Parameter> =
            serde_json::from_value(json!({"size": {"type": "integer"}})).unwrap();
        let names = PlaceholderNames::new(&images, &parameters);
        let set = serde_json::from_value(json!({"name": "s", "namespaces": [{"name": "ns"}]}));
        let set: ObjectSet = set.unwrap();
        for (text, words) in [
            (
                "$(image:app)$(image.tag:db:2)$(namespace:ns)$(param:size)$(solution:name)",
                "",
            ),
            ("$$(image:none) $(A) $(images:x)", ""),
            ("$(image:none)", "no image has the name `none`"),
            ("$(image:db)", "2 images have the name `db`"),
            ("$(image:db:3)", "the Solution has no image `db:3`"),
            (
                "$(namespace:other)",
                "`other` is not a namespace of the release",
            ),
            ("$(param:other)", "there is no parameter `other`"),
            ("$(image:app", "`$(image:` is not closed by `)`"),
        ] {
            let object = json!({"kind": "$(image:", "data": {"a/b": [text]}});
            let found = names.check(&object, &set);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            let expected = format!("/data/a~1b/0: {words}");
            let expected = if words.is_empty() {
                vec![]
            } else {
                vec![expected]
            };
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn placeholders_in_values_name_what_there_is() {
        let images = ["app:1"].map(|place| place.parse().unwrap());
        let parameters: BTreeMap<ParameterName, Parameter> =
            serde_json::from_value(json!({"host": {"type": "string"}})).unwrap();
        let names = PlaceholderNames::new(&images, &parameters);
        let release = json!({
            "name": "web", "chart": "web", "version": "1.0.0", "namespaces": [{"name": "own"}],
        });
        let release = serde_json::from_value(release).unwrap();
        let values = json!({
            "kind": "$(image.repository:app)", "metadata": {"name": "$(image:none)"},
            "namespaces": ["$(namespace:own)", "$(namespace:other)"],
            "a": ["$(param:size)", "$$(param:size)", "https://$(param:host)/$(solution:environment)"],
        });
        let found = names.check_values(values.as_object().unwrap(), &release);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "/a/0: there is no parameter `size`",
                "/metadata/name: no image has the name `none`",
                "/namespaces/1: `other` is not a namespace of the release",
            ]
        );
    }
}
