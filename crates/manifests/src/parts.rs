//! Images whose references are split over fields for registry, name and tag, and joined by a program at run time. Such
//! fields occur in custom resources, and in YAML or JSON embedded in the texts of an object. [`image_parts`] finds
//! them, so that an image that the archive lacks can be reported.

use std::rc::Rc;

use schemas::limits::IMAGE_REFERENCE;
use schemas::{ImageReference, printable_within, yaml};
use serde_json::{Map, Value};

use crate::reference::{EXAMPLE, Hint, PROVIDED, host, is_pinned};
use crate::{is_definition, limits};

/// An image whose reference is split over fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageParts {
    /// The position in the object, as a JSON pointer that is safe to show. For embedded YAML or JSON, this is the
    /// position of the text.
    pub path: String,
    /// The joined reference, as far as the fields contain it.
    pub written: String,
    /// The fields, as paths from the root of the object or of the embedded document.
    pub fields: Vec<String>,
}

impl ImageParts {
    /// Checks whether the fields contain a tag or digest.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        is_pinned(&self.written)
    }
}

/// The fields with a registry, which may include the beginning of the path.
const REGISTRIES: [&str; 3] = ["registry", "hub", "imageRegistry"];
/// The fields with a tag.
const TAGS: [&str; 2] = ["tag", "imageTag"];
/// The fields with the tag of an image that is named by the enclosing field.
const VERSIONS: [&str; 3] = ["tag", "imageTag", "version"];
/// The fields that show that the enclosing mapping is an image.
const BESIDE: [&str; 4] = ["registry", "tag", "digest", "pullPolicy"];

/// Returns the images in parts of an object, including those that another text also contains.
#[must_use]
pub fn image_parts(object: &Value) -> Vec<ImageParts> {
    let mut found = Vec::new();
    if is_definition(object) {
        return found;
    }
    for (key, value) in object.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "metadata" | "status") {
            PartsWalk::new("", false, &mut found).value(value, key, &Scope::default());
            let mut path = String::new();
            append(&mut path, '/', &step(key));
            in_texts(value, &mut path, &mut found);
        }
    }
    found.truncate(limits::REMARKS);
    found
}

/// Finds images in parts in all texts of a value.
fn in_texts(value: &Value, path: &mut String, found: &mut Vec<ImageParts>) {
    let length = path.len();
    match value {
        Value::String(text) => in_text(text, path, found),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                append(path, '/', &index.to_string());
                in_texts(item, path, found);
                path.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| *key != EXAMPLE) {
                append(path, '/', &step(key));
                in_texts(value, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Appends a step to a path. A path that exceeds the displayed length is not extended further.
fn append(path: &mut String, separator: char, step: &str) {
    if path.chars().nth(limits::POINTER).is_some() {
        return;
    }
    if separator == '/' || !path.is_empty() {
        path.push(separator);
    }
    path.extend(step.chars().take(limits::POINTER + 1));
}

/// Finds images in parts in embedded YAML or JSON.
fn in_text(text: &str, path: &str, found: &mut Vec<ImageParts>) {
    // These tests avoid parsing most texts. `mage` is in `image` as well as in `webImage`.
    let is_one = text.contains('\n') || text.starts_with('{');
    if !is_one || !(text.contains("mage") || text.contains("repository")) {
        return;
    }
    let documents = match serde_json::from_str(text) {
        Ok(document) => vec![document],
        Err(_) => yaml::go::embedded(text).unwrap_or_default(),
    };
    for document in documents {
        // Helm charts keep the values that all subcharts share in this field.
        let scope = match &document["global"] {
            Value::Object(global) => Scope::default().nested(global, "global"),
            _ => Scope::default(),
        };
        if document.is_object() {
            PartsWalk::new(path, true, found).value(&document, "", &scope);
        }
    }
}

/// Returns the reference that the fields of a mapping form, and these fields. `is_image` states that the name of the
/// mapping contains `image`.
#[must_use]
pub fn reference_in_parts(
    fields: &Map<String, Value>,
    is_image: bool,
) -> Option<(String, Vec<&'static str>)> {
    let of_name = || {
        let mut beside = BESIDE.iter().chain(&VERSIONS);
        let is_whole = is_image && beside.any(|field| fields.contains_key(*field));
        is_whole.then_some("name")
    };
    let is_repository = fields.contains_key("repository")
        && (is_image || BESIDE.iter().any(|field| fields.contains_key(*field)));
    let name = is_repository.then_some("repository").or_else(of_name)?;
    // A registry from an enclosing mapping may be joined to a path that begins with a slash.
    let repository = text(fields, name)?.trim_start_matches('/').to_owned();
    let mut used = vec![name];
    let registry = REGISTRIES
        .into_iter()
        .find_map(|field| Some((field, text(fields, field)?)));
    let repository =
        // `hub` and `imageRegistry` are defaults for repositories without a registry.
        match registry.filter(|_| host(&repository).is_none() || fields.contains_key("registry")) {
            Some((field, registry)) => {
                used.insert(0, field);
                format!("{}/{repository}", registry.trim_end_matches('/'))
            }
            None => repository,
        };
    let pinned = VERSIONS.into_iter().find_map(|field| {
        let pinned = format!("{repository}:{}", scalar(fields, field)?);
        is_pinned(&pinned).then_some((field, pinned))
    });
    let by_digest = || {
        let pinned = format!("{repository}@{}", text(fields, "digest")?);
        is_pinned(&pinned).then_some(("digest", pinned))
    };
    let Some((field, pinned)) = pinned.or_else(by_digest) else {
        used.extend(
            VERSIONS
                .into_iter()
                .filter(|field| fields.contains_key(*field)),
        );
        return Some((repository, used));
    };
    used.push(field);
    Some((pinned, used))
}

/// Returns the text of a field, unless it is empty or too long for a reference.
fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    let may_be_part = |text: &&str| (1..=IMAGE_REFERENCE).contains(&text.len());
    fields.get(key)?.as_str().filter(may_be_part)
}

/// Returns the text or number of a field.
fn scalar(fields: &Map<String, Value>, key: &str) -> Option<String> {
    match fields.get(key)? {
        Value::Number(number) => Some(number.to_string()),
        _ => text(fields, key).map(str::to_owned),
    }
}

/// The registry and tag of the enclosing mappings, each with its path.
#[derive(Clone, Default)]
struct Scope {
    registry: Option<Rc<(String, String)>>,
    tag: Option<Rc<(String, String)>>,
}

impl Scope {
    /// Returns the scope within a mapping, whose own fields take precedence.
    fn nested(&self, fields: &Map<String, Value>, path: &str) -> Self {
        let own = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| Some(Rc::new((joined(path, key), scalar(fields, key)?))))
        };
        Self {
            registry: own(&REGISTRIES).or_else(|| self.registry.clone()),
            tag: own(&TAGS).or_else(|| self.tag.clone()),
        }
    }
}

fn joined(path: &str, key: &str) -> String {
    let mut joined = path.to_owned();
    append(&mut joined, '.', key);
    joined
}

/// A traversal of a document.
struct PartsWalk<'a> {
    /// The position of the text that contains the document.
    place: &'a str,
    /// True for an embedded document. Outside of texts, compilation finds the complete references in fields.
    is_text: bool,
    /// The path of the current mapping.
    path: String,
    found: &'a mut Vec<ImageParts>,
}

impl<'a> PartsWalk<'a> {
    fn new(place: &'a str, is_text: bool, found: &'a mut Vec<ImageParts>) -> Self {
        let path = String::new();
        Self {
            place,
            is_text,
            path,
            found,
        }
    }

    fn value(&mut self, value: &Value, key: &str, scope: &Scope) {
        let length = self.path.len();
        if !key.is_empty() {
            append(&mut self.path, '.', key);
        }
        let is_image = Hint::from_name(key).says_image();
        match value {
            Value::Object(fields) => self.mapping(fields, is_image, scope),
            Value::Array(items) => {
                for item in items {
                    if let Value::Object(fields) = item {
                        self.mapping(fields, is_image, scope);
                    }
                }
            }
            _ => {}
        }
        self.path.truncate(length);
    }

    fn mapping(&mut self, fields: &Map<String, Value>, is_image: bool, scope: &Scope) {
        if self.found.len() > limits::REMARKS {
            return;
        }
        let scope = scope.nested(fields, &self.path);
        if let Some((written, used)) = reference_in_parts(fields, is_image) {
            let used = used.into_iter().map(|field| joined(&self.path, field));
            self.add(written, &used.collect::<Vec<_>>());
        }
        for (key, value) in fields {
            match value {
                Value::String(name) => self.name(fields, key, name, &scope),
                value if key != EXAMPLE => self.value(value, key, &scope),
                _ => {}
            }
        }
    }

    /// Adds the image in a field whose registry and tag are in other fields.
    fn name(&mut self, fields: &Map<String, Value>, key: &str, name: &str, scope: &Scope) {
        let is_image = Hint::from_name(key).says_image() && key.to_lowercase().ends_with("image");
        if !is_image
            || name == PROVIDED
            || name.is_empty()
            || name.len() > IMAGE_REFERENCE
            || is_pinned(name)
        {
            return;
        }
        let field = joined(&self.path, key);
        if name.contains('/') {
            let tag = VERSIONS
                .into_iter()
                .find_map(|field| Some((field, scalar(fields, field)?)));
            match tag.filter(|_| key == "image") {
                Some((of_tag, tag)) => {
                    let fields = vec![field, joined(&self.path, of_tag)];
                    self.add(format!("{name}:{tag}"), &fields);
                }
                None if self.is_text && (key == "image" || host(name).is_some()) => {
                    self.add(name.to_owned(), &[field]);
                }
                None => {}
            }
            return;
        }
        let (registry, used) = match scope.registry.as_deref() {
            Some((path, registry)) => (format!("{}/", registry.trim_end_matches('/')), Some(path)),
            None => (String::new(), None),
        };
        let own_tag = TAGS.iter().any(|field| scalar(fields, field).is_some());
        // A name without a path is an image only if another field completes it.
        if used.is_none() && (key != "image" || !own_tag) {
            return;
        }
        let mut used: Vec<String> = used.cloned().into_iter().chain([field]).collect();
        let tagged = scope.tag.as_deref().map(|(path, tag)| {
            used.push(path.clone());
            format!("{registry}{name}:{tag}")
        });
        self.add(tagged.unwrap_or_else(|| format!("{registry}{name}")), &used);
    }

    fn add(&mut self, written: String, fields: &[String]) {
        if written.parse::<ImageReference>().is_err() {
            return;
        }
        let shown = |text: &str| printable_within(text, limits::POINTER);
        let path = match (self.place, self.path.as_str()) {
            ("", "") => "/".to_owned(),
            ("", path) => format!("/{}", path.replace('.', "/")),
            (place, _) => place.to_owned(),
        };
        self.found.push(ImageParts {
            path: shown(&path),
            written,
            fields: fields.iter().map(|field| shown(field)).collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns each reference with its fields.
    fn found(object: &Value) -> Vec<(String, String)> {
        let mut found: Vec<_> = image_parts(object)
            .into_iter()
            .map(|parts| (parts.written, parts.fields.join(" ")))
            .collect();
        found.sort();
        found
    }

    fn in_config(text: &str) -> Vec<(String, String)> {
        found(&json!({"kind": "ConfigMap", "apiVersion": "v1", "data": {"values": text}}))
    }

    fn expected(parts: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned =
            |(reference, fields): &(&str, &str)| (reference.to_string(), fields.to_string());
        parts.iter().map(owned).collect()
    }

    #[test]
    fn long_keys_and_values_around_many_fields_cost_what_they_hold() {
        let long = "k".repeat(300_000);
        let many: Vec<Value> = (0..60_000).map(|_| json!({"image": "x"})).collect();
        let around = json!({"spec": {&long: many, "hub": long, "tag": long}});
        assert_eq!(found(&around), []);
        let text = json!({format!("{long}Image"): {"repository": "org/a"}}).to_string();
        let [part] = &image_parts(&json!({"data": {&long: text}}))[..] else {
            panic!("one image")
        };
        assert_eq!(part.path.chars().count(), limits::POINTER + 1);
        assert_eq!(part.fields[0].chars().count(), limits::POINTER + 1);
    }

    /// The example follows the values that the sidecar injector of a service mesh reads.
    #[test]
    fn a_name_is_joined_with_the_registry_and_the_tag_of_the_mappings_around_it() {
        let text = json!({
            "global": {
                "hub": "r.test/mesh", "tag": "1.2", "imagePullPolicy": "", "imageType": "small",
                "proxy": {"image": "proxy", "logLevel": "warning"},
                "init": {"image": "auto"},
            },
            "pilot": {"hub": "", "tag": "", "image": "pilot"},
        });
        let proxy = "global.hub global.proxy.image global.tag";
        let pilot = "global.hub pilot.image global.tag";
        let expected = expected(&[
            ("r.test/mesh/pilot:1.2", pilot),
            ("r.test/mesh/proxy:1.2", proxy),
        ]);
        assert_eq!(in_config(&text.to_string()), expected);
        assert_eq!(
            in_config(&serde_json::to_string_pretty(&text).unwrap()),
            expected
        );
    }

    /// The example follows the configuration of another service mesh.
    #[test]
    fn a_mapping_with_name_and_version_is_an_image_if_it_is_called_so() {
        let text = "
controllerImage: r.test/l/controller
proxy:
  image: {name: r.test/l/proxy, version: v2}
  name: proxy
proxyInit:
  image:
    name: r.test/l/init
    pullPolicy: ''
    version: ''
release: {name: r.test/l/other, version: v3}
jobs:
- image: {registry: r.test, repository: l/job, digest: '@'}
- image: org/job
  tag: 7
";
        assert_eq!(
            in_config(text),
            expected(&[
                ("org/job:7", "jobs.image jobs.tag"),
                ("r.test/l/controller", "controllerImage"),
                (
                    "r.test/l/init",
                    "proxyInit.image.name proxyInit.image.version"
                ),
                ("r.test/l/job", "jobs.image.registry jobs.image.repository"),
                ("r.test/l/proxy:v2", "proxy.image.name proxy.image.version"),
            ])
        );
    }

    #[test]
    fn custom_resources_name_images_in_parts_too() {
        let object = json!({
            "apiVersion": "shop.test/v1", "kind": "Shop", "metadata": {"image": {"repository": "a/b", "tag": "1"}},
            "spec": {
                "hub": "r.test/mesh", "tag": "2", "image": "r.test/whole",
                "cache": {"image": {"repository": "r.test/cache", "tag": 7}},
                "web": {"image": "web"},
            },
        });
        assert_eq!(
            found(&object),
            expected(&[
                (
                    "r.test/cache:7",
                    "spec.cache.image.repository spec.cache.image.tag"
                ),
                ("r.test/mesh/web:2", "spec.hub spec.web.image spec.tag"),
                ("r.test/whole:2", "spec.image spec.tag"),
            ])
        );
    }

    #[test]
    fn what_only_looks_like_parts_is_no_image() {
        let pod = json!({"containers": [{"name": "web", "image": "nginx", "env": [{"name": "tag", "value": "1"}]}]});
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": pod}}});
        assert_eq!(found(&object), []);
        let config = json!({"kind": "ConfigMap", "apiVersion": "v1", "data": {
            "_example": "image: {repository: r.test/a, tag: '1'}\n",
            "plain": "the image of r.test/a with the tag 1\n",
            "git": "image:\n  path: a\ngit: {repository: https://r.test/a, tag: '1'}\n",
            "template": "image: {{ .Values.image }}\ntag: 1\n",
        }});
        assert_eq!(found(&config), []);
    }
}
