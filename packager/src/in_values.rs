//! Repositories of images in the values of a chart, and the value that turns each on. A third of those that well-known
//! charts have are in no rendering of their default values.

use std::collections::BTreeSet;

use manifests::reference::{self, Hint, KnownNames, normal, repository};
use serde_json::{Map, Value};

/// A repository that stands in values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepositoryInValues {
    /// The place in the values, as `helm --set` writes it.
    pub path: String,
    /// The registry and repository.
    pub repository: String,
    /// The value that turns off what uses it, if one is beside it or around it.
    pub switch: Option<String>,
    /// Whether it stands there without a registry, which another value may give.
    pub(crate) is_bare: bool,
}

impl RepositoryInValues {
    /// Whether one of these is the one: of a bare one, whatever its registry is.
    pub(crate) fn is_among(&self, repositories: &BTreeSet<String>) -> bool {
        let path = self.repository.strip_prefix(DEFAULT);
        let path = path.filter(|_| self.is_bare);
        let is_it = |it: &String| it.split_once('/').map(|(_, path)| path) == path;
        repositories.contains(&self.repository) || path.is_some() && repositories.iter().any(is_it)
    }
}

/// The registry of references that name none.
const DEFAULT: &str = "docker.io/";

/// The images that values name.
#[derive(Debug, Default)]
pub(crate) struct ImagesInValues {
    /// The repositories, each with its place.
    pub(crate) repositories: Vec<RepositoryInValues>,
    /// The names that they give, with the tags that stand beside them.
    pub(crate) names: KnownNames,
}

impl ImagesInValues {
    /// Finds them.
    pub(crate) fn of(values: &Map<String, Value>) -> Self {
        let mut found = Self::default();
        found.fields(values, &ValueContext::default());
        found
    }

    fn fields(&mut self, values: &Map<String, Value>, around: &ValueContext) {
        const SWITCH: &str = "enabled";
        let mut around = around.clone();
        if values.get(SWITCH) == Some(&Value::Bool(false)) {
            around.switch = Some(around.below(SWITCH).path);
        }
        if let Some(written) = whole(values, &around.key) {
            self.add(&written, &around);
        }
        for (key, value) in values {
            self.each(value, &around.below(key));
        }
    }

    fn each(&mut self, value: &Value, around: &ValueContext) {
        match value {
            Value::Object(values) => self.fields(values, around),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let mut at = around.clone();
                    at.path = format!("{}[{index}]", around.path);
                    self.each(item, &at);
                }
            }
            Value::String(text) if Hint::of(&around.key) != Hint::None => {
                let references = reference::references(text, Hint::Named);
                if references.first() == Some(&(0..text.len())) {
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

/// The surroundings of a value.
#[derive(Clone, Default)]
struct ValueContext {
    path: String,
    /// The name of the field that it is in.
    key: String,
    switch: Option<String>,
}

impl ValueContext {
    fn below(&self, key: &str) -> Self {
        let path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        Self {
            path,
            key: key.to_owned(),
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
        })
    }
}

/// The reference that a mapping is, in parts: with a `repository`, and something that says that it is one of images.
fn whole(values: &Map<String, Value>, key: &str) -> Option<String> {
    const BESIDE: [&str; 4] = ["registry", "tag", "digest", "pullPolicy"];
    let text = |key: &str| {
        values
            .get(key)
            .and_then(Value::as_str)
            .filter(|it| !it.is_empty())
    };
    // A registry that stands elsewhere may be joined to a path that begins with a slash.
    let repository = text("repository")?.trim_start_matches('/');
    if Hint::of(key) == Hint::None && !BESIDE.iter().any(|it| values.contains_key(*it)) {
        return None;
    }
    let repository = match text("registry") {
        Some(registry) => format!("{registry}/{repository}"),
        None => repository.to_owned(),
    };
    let tag = match values.get("tag") {
        Some(Value::String(tag)) => tag.clone(),
        Some(Value::Number(tag)) => tag.to_string(),
        _ => String::new(),
    };
    let tagged = format!("{repository}:{tag}");
    Some(match normal(&tagged) {
        Some(_) => tagged,
        None => repository,
    })
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
        let found = ImagesInValues::of(values.as_object().unwrap()).repositories;
        let found: Vec<_> = found
            .into_iter()
            .map(|it| (it.path, it.repository, it.switch))
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
        let found = ImagesInValues::of(values.as_object().unwrap()).repositories;
        let named = found.iter().filter(|it| it.is_among(&rendered));
        let named: Vec<&str> = named.map(|it| it.path.as_str()).collect();
        assert_eq!(named, ["image"]);
        // A longer path is another one.
        let rendered = ["r.test/fork/org/app".to_owned()].into();
        assert!(!found.iter().any(|it| it.is_among(&rendered)));
    }
}
