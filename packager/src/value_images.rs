//! The search for image repositories in the values of a chart, and for the values that enable their use. A third of the
//! images in well-known charts do not appear in a rendering of the default values. The entry point is
//! [`ImagesInValues::find_in`].

use std::collections::BTreeSet;

use manifests::reference::{self, Hint, KnownNames, normal, repository};
use schemas::ImageReference;
use schemas::limits::VALUE_POINTER;
use serde_json::{Map, Value};

/// A repository in the values of a chart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepositoryInValues {
    /// The path in the values, in the syntax of `helm --set`.
    pub path: String,
    /// The registry and repository.
    pub repository: String,
    /// The value that disables the component that uses the repository, if it is in the same object or a parent.
    pub switch: Option<String>,
    /// True if the values contain the repository without a registry. Another value may contain the registry.
    pub(crate) is_bare: bool,
    /// The repository and tag as written in the values.
    pub(crate) written: String,
}

impl RepositoryInValues {
    /// Returns true if one of these repositories is this one. A repository without a registry matches any registry.
    pub(crate) fn is_among(&self, repositories: &BTreeSet<String>) -> bool {
        let path = self.repository.strip_prefix(DEFAULT);
        let path = path.filter(|_| self.is_bare);
        let is_it = |repository: &String| repository.split_once('/').map(|(_, path)| path) == path;
        repositories.contains(&self.repository) || path.is_some() && repositories.iter().any(is_it)
    }

    /// Returns true if a chart combined this repository with another value to create the reference of `image`: with a
    /// registry that contains a path, or with a suffix such as `-generic`. No value with the complete repository may
    /// exist then.
    pub(crate) fn is_part_of(&self, image: &ImageReference, values: &ImagesInValues) -> bool {
        let made = repository(image);
        if let Some(before) = made.strip_suffix(self.name())
            && let Some(before) = before.strip_suffix('/')
            && self.is_bare
        {
            let short = before.strip_prefix(DEFAULT).unwrap_or(before);
            return [before, short]
                .iter()
                .any(|text| values.texts.contains(*text));
        }
        let behind = made.strip_prefix(&self.repository);
        let is_word = behind.is_some_and(|suffix| suffix.starts_with('-') && !suffix.contains('/'));
        let tag = normal(&self.written).and_then(|written| written.tag().map(str::to_owned));
        let is_own = |other: &RepositoryInValues| other.repository == made;
        is_word && tag.as_deref() == image.tag() && !values.repositories.iter().any(is_own)
    }

    /// Returns the repository as written in the values.
    fn name(&self) -> &str {
        let end = self.written.rfind('/').map_or(0, |slash| slash + 1);
        let colon = self.written[end..].find([':', '@']);
        &self.written[..colon.map_or(self.written.len(), |colon| end + colon)]
    }
}

/// The registry of references without a registry.
const DEFAULT: &str = "docker.io/";

/// The images that values name.
#[derive(Debug, Default)]
pub(crate) struct ImagesInValues {
    /// The repositories and their paths.
    pub(crate) repositories: BTreeSet<RepositoryInValues>,
    /// The names of images in the values, with their tags.
    pub(crate) names: KnownNames,
    /// The texts that may be the beginning of a repository.
    texts: BTreeSet<String>,
}

/// The maximum number of characters of such a text.
const BEGINNING: usize = 255;

impl ImagesInValues {
    /// Returns the images in these values.
    pub(crate) fn find_in(values: &Map<String, Value>) -> Self {
        let mut found = Self::default();
        found.fields(values, &ValueContext::default());
        found
    }

    /// Adds the images in another set of values.
    pub(crate) fn extend(&mut self, other: Self) {
        self.repositories.extend(other.repositories);
        self.names.extend(other.names);
        self.texts.extend(other.texts);
    }

    fn fields(&mut self, values: &Map<String, Value>, around: &ValueContext) {
        const SWITCH: &str = "enabled";
        let mut around = around.clone();
        if values.get(SWITCH) == Some(&Value::Bool(false)) {
            around.switch = Some(around.nested(SWITCH).path);
        }
        if let Some((written, _)) = manifests::reference_in_parts(values, around.is_image) {
            self.add(&written, &around);
        }
        for (key, value) in values {
            self.visit(value, &around.nested(key));
        }
    }

    fn visit(&mut self, value: &Value, around: &ValueContext) {
        match value {
            Value::Object(values) => self.fields(values, around),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let mut at = around.clone();
                    at.path = format!("{}[{index}]", around.path);
                    self.visit(item, &at);
                }
            }
            Value::String(text) => {
                let beginning = text.trim_end_matches('/');
                if (1..=BEGINNING).contains(&beginning.len()) {
                    self.texts.insert(beginning.to_owned());
                }
                let references = reference::references(text, Hint::Named);
                let is_whole = references.first() == Some(&(0..text.len()));
                if is_whole && around.is_image {
                    self.add(text, around);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, written: &str, around: &ValueContext) {
        self.repositories.extend(around.found(written));
        self.names.add(written);
    }
}

/// The context of a value.
#[derive(Clone, Default)]
struct ValueContext {
    path: String,
    /// True if the name of the field suggests an image.
    is_image: bool,
    switch: Option<String>,
}

impl ValueContext {
    fn nested(&self, key: &str) -> Self {
        let mut path = self.path.clone();
        // The path is limited to the length of a pointer, so that a long key is not copied for every value below it.
        if path.len() <= VALUE_POINTER {
            path.extend((!path.is_empty()).then_some('.'));
            path.extend(key.chars().take(VALUE_POINTER));
        }
        Self {
            path,
            is_image: Hint::from_name(key).says_image(),
            switch: self.switch.clone(),
        }
    }

    fn found(&self, reference: &str) -> Option<RepositoryInValues> {
        let repository = repository(&normal(reference)?);
        Some(RepositoryInValues {
            path: self.path.clone(),
            is_bare: repository.starts_with(DEFAULT) && !reference.starts_with(DEFAULT),
            repository,
            switch: self.switch.clone(),
            written: reference.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repositories_are_found_with_the_value_that_turns_them_on() {
        let values = json!({
            "image": {"repository": "nginx", "tag": "1"},
            "metrics": {"enabled": false, "image": {"registry": "quay.io", "repository": "org/exporter"}},
            "proxy": {"enabled": true, "jobImage": "quay.io/org/proxy:2", "imagePullPolicy": "a/b"},
            "extra": [{"image": "org/extra"}],
            "git": {"repository": "org/source"}, "chart": {"repository": "https://r.test/a", "tag": "1"},
            "initImage": {"repository": ""}, "imageDirectory": "/var/lib/images",
        });
        let found = ImagesInValues::find_in(values.as_object().unwrap()).repositories;
        let found: Vec<_> = found
            .into_iter()
            .map(|repository| (repository.path, repository.repository, repository.switch))
            .collect();
        let of = |path: &str, repository: &str, switch: Option<&str>| {
            (
                path.to_owned(),
                repository.to_owned(),
                switch.map(str::to_owned),
            )
        };
        let mut expected = [
            of("image", "docker.io/library/nginx", None),
            of(
                "metrics.image",
                "quay.io/org/exporter",
                Some("metrics.enabled"),
            ),
            of("proxy.jobImage", "quay.io/org/proxy", None),
            of("extra[0].image", "docker.io/org/extra", None),
        ];
        expected.sort();
        let mut found = found;
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_repository_without_a_registry_is_there_with_any() {
        let values = json!({
            "image": "org/app", "otherImage": "docker.io/org/app", "thirdImage": "quay.io/org/app",
        });
        let rendered = ["registry.k8s.io/org/app".to_owned()].into();
        let found = ImagesInValues::find_in(values.as_object().unwrap()).repositories;
        let named = found
            .iter()
            .filter(|repository| repository.is_among(&rendered));
        let named: Vec<&str> = named.map(|repository| repository.path.as_str()).collect();
        assert_eq!(named, ["image"]);
        // A longer path is another repository.
        let rendered = ["r.test/fork/org/app".to_owned()].into();
        assert!(
            !found
                .iter()
                .any(|repository| repository.is_among(&rendered))
        );
    }

    /// The cases have the shapes of kube-ovn, whose registry contains a path, and of cilium's operator, whose name ends
    /// with the cloud.
    #[test]
    fn a_repository_that_another_value_completes_is_part_of_what_was_made_of_both() {
        let values = json!({
            "global": {"registry": {"address": "docker.io/ovn"}, "images": {"ovn": {"repository": "web-ovn", "tag": "v1"}}},
            "operator": {"image": {"repository": "quay.io/net/operator", "tag": "v2"}},
            "ui": {"image": {"repository": "quay.io/net/ui", "tag": "v3"}, "backend": {"image": "quay.io/net/ui-backend:v3"}},
        });
        let values = ImagesInValues::find_in(values.as_object().unwrap());
        let parts = |image: &str| -> Vec<&str> {
            let image = image.parse().unwrap();
            let parts = values.repositories.iter();
            let parts = parts.filter(|part| part.is_part_of(&image, &values));
            parts.map(|part| part.path.as_str()).collect()
        };
        assert_eq!(parts("docker.io/ovn/web-ovn:v1"), ["global.images.ovn"]);
        assert_eq!(parts("quay.io/net/operator-generic:v2"), ["operator.image"]);
        for other in [
            "docker.io/other/web-ovn:v1",
            "docker.io/ovn/more-web-ovn:v1",
            "quay.io/net/operator-generic:v3",
            "quay.io/net/operator/generic:v2",
            // A separate image with a complete repository in the values.
            "quay.io/net/ui-backend:v3",
        ] {
            assert_eq!(parts(other), [""; 0], "{other}");
        }
    }
}
