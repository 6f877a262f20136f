//! Makes objects fit for any site: every position of an image becomes `$(image:NAME)`, and every namespace of the
//! release's own that may be another at a site becomes `$(namespace:NAME)`. What is left that looks like either is
//! remarked, with its place.
//!
//! Definitions of custom resources are not compiled: they are the cluster's, not an environment's.

use std::collections::BTreeSet;

use schemas::placeholder::{self, Piece};
use schemas::{ImageReference, Namespace, PodTemplatePath, printable_within};
use serde_json::{Map, Value};

use crate::image::{self, KnownImages};
use crate::reference::Hint;
use crate::{limits, namespace, template};

/// What a set's objects are compiled with.
#[derive(Debug)]
pub struct Compiler<'a> {
    /// The Solution's images.
    pub images: &'a KnownImages,
    /// The release's own namespaces that may have another name at a site.
    pub namespaces: &'a [Namespace],
    /// Where kinds of others have pod templates.
    pub templates: &'a [PodTemplatePath],
}

/// Something in an object that compiling did not settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where in the object, as a JSON pointer (RFC 6901) that may be shown.
    pub path: String,
    /// What it is.
    pub what: Unsettled,
}

/// What compiling did not settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsettled {
    /// A container's image that the Solution does not have.
    Missing(ImageReference),
    /// A text that names an image which the Solution does not have.
    Mentioned(ImageReference),
    /// A repository of the Solution's without its tag: the placeholder that may be meant.
    Repository(String),
    /// A text that names a namespace of the release's own in a way that only its author can change.
    Namespace(Namespace),
    /// A placeholder that cannot be understood.
    Placeholder(placeholder::PlaceholderError),
}

impl Compiler<'_> {
    /// Compiles an object.
    pub fn compile(&self, object: &mut Value) -> Vec<Remark> {
        let mut walk = Walk {
            compiler: self,
            images: template::images(object, self.templates)
                .into_iter()
                .collect(),
            pointer: String::new(),
            remarks: Vec::new(),
        };
        if let Value::Object(fields) = object {
            walk.object(fields);
        }
        walk.remarks
    }
}

/// What the name beside a text says about it.
#[derive(Clone, Copy)]
struct About {
    hint: Hint,
    /// It is the name of a namespace.
    namespace: bool,
}

impl About {
    fn of(name: &str) -> Self {
        Self {
            hint: Hint::of(name),
            namespace: namespace::is_named(name),
        }
    }
}

/// A walk through the texts of an object.
struct Walk<'a> {
    compiler: &'a Compiler<'a>,
    /// The JSON pointers of containers' images.
    images: BTreeSet<String>,
    /// Where the walk is, as a JSON pointer.
    pointer: String,
    remarks: Vec<Remark>,
}

impl Walk<'_> {
    /// All fields but those in which no placeholder has a meaning.
    fn object(&mut self, fields: &mut Map<String, Value>) {
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("apiVersion" | "kind" | "status", _) => {}
                ("metadata", Value::Object(metadata)) => {
                    let others = metadata.iter_mut().filter(|(key, _)| *key != "name");
                    for (key, value) in others {
                        self.at("metadata", |walk| walk.field(key, value, About::of(key)));
                    }
                }
                (key, value) => self.field(key, value, About::of(key)),
            }
        }
    }

    /// Does something one step further down.
    fn at(&mut self, step: &str, act: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer
            .push_str(&step.replace('~', "~0").replace('/', "~1"));
        act(self);
        self.pointer.truncate(length);
    }

    fn field(&mut self, key: &str, value: &mut Value, about: About) {
        self.at(key, |walk| walk.value(value, about));
    }

    fn value(&mut self, value: &mut Value, about: About) {
        match value {
            Value::String(text) => {
                if let Some(changed) = self.text(text, about) {
                    *text = changed;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(&index.to_string(), |walk| walk.value(item, about));
                }
            }
            Value::Object(fields) => {
                // A variable is told by its own name.
                let named = fields.get("name").and_then(Value::as_str).map(About::of);
                for (key, value) in fields {
                    let of_value = named.filter(|_| key == "value");
                    self.field(key, value, of_value.unwrap_or_else(|| About::of(key)));
                }
            }
            _ => {}
        }
    }

    /// What becomes of a text, if anything does.
    fn text(&mut self, text: &str, about: About) -> Option<String> {
        let pieces = match placeholder::pieces(text) {
            Ok(pieces) => pieces,
            Err(error) => {
                self.remark(Unsettled::Placeholder(error));
                return None;
            }
        };
        let is_image = self.images.contains(&self.pointer);
        let hint = if is_image { Hint::Image } else { about.hint };
        let mut compiled = String::with_capacity(text.len());
        let mut end = 0;
        for (range, piece) in pieces {
            // A `$` that makes a literal of what follows is in no piece.
            compiled.push_str(&text[end..range.start]);
            end = range.end;
            let written = &text[range];
            match piece {
                Piece::Placeholder(_) => compiled.push_str(written),
                Piece::Text(_) => compiled.push_str(&self.plain(written, hint, about.namespace)),
            }
        }
        (compiled != text).then_some(compiled)
    }

    /// A text without placeholders.
    fn plain(&mut self, text: &str, hint: Hint, is_namespace: bool) -> String {
        let rewritten = image::rewrite(text, hint, self.compiler.images);
        for reference in rewritten.unknown {
            self.remark(match hint {
                Hint::Image => Unsettled::Missing(reference),
                _ => Unsettled::Mentioned(reference),
            });
        }
        for repository in rewritten.repositories {
            self.remark(Unsettled::Repository(repository));
        }
        let mut text = rewritten.text;
        for namespace in self.compiler.namespaces {
            let found = namespace::rewrite(&text, namespace, is_namespace);
            if found.unclear {
                self.remark(Unsettled::Namespace(namespace.clone()));
            }
            text = found.text;
        }
        text
    }

    fn remark(&mut self, what: Unsettled) {
        if self.remarks.len() < limits::REMARKS {
            let path = printable_within(&self.pointer, limits::POINTER);
            self.remarks.push(Remark { path, what });
        }
    }
}

#[cfg(test)]
mod tests {
    use schemas::ImagePlace;
    use serde_json::json;

    use super::*;

    fn compile(object: &mut Value) -> Vec<(String, Unsettled)> {
        let images: Vec<(ImagePlace, ImageReference)> = [
            ("controller:1.0", "quay.io/org/controller:v1.0"),
            ("nginx:1.27", "docker.io/library/nginx:1.27"),
            ("db:16", "quay.io/org/db:16"),
            ("db:17", "quay.io/org/db:17"),
        ]
        .map(|(place, reference)| (place.parse().unwrap(), reference.parse().unwrap()))
        .to_vec();
        let known = KnownImages::new(images.iter().map(|(place, it)| (place.clone(), it)));
        let templates = [PodTemplatePath {
            group: "example.test".to_owned(),
            kind: "Runner".to_owned(),
            path: "/spec/podTemplate".to_owned(),
        }];
        let compiler = Compiler {
            images: &known,
            namespaces: &["org-system".parse().unwrap()],
            templates: &templates,
        };
        let remarks = compiler.compile(object).into_iter();
        remarks.map(|it| (it.path, it.what)).collect()
    }

    fn reference(text: &str) -> ImageReference {
        text.parse().unwrap()
    }

    #[test]
    fn every_position_of_an_image_is_compiled() {
        let mut object = json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "quay.io/org/db:16", "namespace": "org-system"},
            "spec": {"jobTemplate": {"spec": {"template": {"spec": {
                "initContainers": [{"image": "nginx:1.27"}],
                "containers": [{
                    "image": "quay.io/org/controller:v1.0",
                    "args": ["--db-image=quay.io/org/db:17", "--namespace=org-system", "--to=http://web.org-system.svc"],
                    "env": [
                        {"name": "IMAGES", "value": "16=quay.io/org/db:16\n17=quay.io/org/db:17"},
                        {"name": "POD_NAMESPACE", "value": "org-system"},
                        {"name": "OTHER", "value": "$(POD_NAMESPACE) $$(image:x)"},
                    ],
                }],
                "volumes": [{"image": {"reference": "quay.io/org/db:16"}}],
            }}}}},
        });
        assert_eq!(compile(&mut object), []);
        assert_eq!(
            object["metadata"],
            json!({"name": "quay.io/org/db:16", "namespace": "$(namespace:org-system)"})
        );
        let pod = &object["spec"]["jobTemplate"]["spec"]["template"]["spec"];
        let expected = json!({
            "initContainers": [{"image": "$(image:nginx)"}],
            "containers": [{
                "image": "$(image:controller)",
                "args": ["--db-image=$(image:db:17)", "--namespace=$(namespace:org-system)", "--to=http://web.$(namespace:org-system).svc"],
                "env": [
                    {"name": "IMAGES", "value": "16=$(image:db:16)\n17=$(image:db:17)"},
                    {"name": "POD_NAMESPACE", "value": "$(namespace:org-system)"},
                    {"name": "OTHER", "value": "$(POD_NAMESPACE) $$(image:x)"},
                ],
            }],
            "volumes": [{"image": {"reference": "$(image:db:16)"}}],
        });
        assert_eq!(pod, &expected);
        let before = object.clone();
        assert_eq!(
            (compile(&mut object), object),
            (vec![], before),
            "compiling again changes nothing"
        );
    }

    #[test]
    fn templates_of_others_and_texts_of_config_maps_are_compiled() {
        let mut runner = json!({
            "apiVersion": "example.test/v1", "kind": "Runner", "metadata": {"name": "r"},
            "spec": {"podTemplate": {"spec": {"containers": [{"image": "nginx:1.27"}]}}, "image": "quay.io/org/db:16"},
        });
        assert_eq!(compile(&mut runner), []);
        let spec = json!({"podTemplate": {"spec": {"containers": [{"image": "$(image:nginx)"}]}}, "image": "$(image:db:16)"});
        assert_eq!(runner["spec"], spec);
        let mut map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
            "data": {
                "config.yaml": "image: quay.io/org/controller:v1.0\nhost: web.org-system.svc\n",
                "short": "nginx:1.27 library/nginx:1.27 nginx nginx:1.28",
                "schemes": "docker://quay.io/org/db:16 oci://nginx:1.27",
            },
        });
        assert_eq!(compile(&mut map), []);
        assert_eq!(
            map["data"]["config.yaml"],
            "image: $(image:controller)\nhost: web.$(namespace:org-system).svc\n"
        );
        let short = "$(image:nginx) $(image:nginx) nginx nginx:1.28";
        assert_eq!(map["data"]["short"], short);
        let schemes = "docker://$(image:db:16) oci://$(image:nginx)";
        assert_eq!(map["data"]["schemes"], schemes);
    }

    #[test]
    fn what_is_left_is_remarked_with_its_place() {
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"template": {"spec": {"containers": [{
                "image": "quay.io/org/other:1",
                "args": ["--sidecar=quay.io/org/proxy:2", "--repository", "quay.io/org/db", "--at=web.org-system:80",
                    "--template=quay.io/org/controller:$TAG quay.io/org/controller:{{ .Tag }}", "oci://quay.io/org/chart:1"],
                "env": [{"name": "A", "value": "$(image.host:db)"}],
            }]}}},
        });
        let before = object.clone();
        let of = |path: &str| format!("/spec/template/spec/containers/0/{path}");
        let Err(malformed) = placeholder::split("$(image.host:db)") else {
            panic!()
        };
        assert_eq!(
            compile(&mut object),
            [
                (
                    of("args/0"),
                    Unsettled::Mentioned(reference("quay.io/org/proxy:2"))
                ),
                (
                    of("args/2"),
                    Unsettled::Repository("$(image.repository:db:17)".to_owned())
                ),
                (
                    of("args/3"),
                    Unsettled::Namespace("org-system".parse().unwrap())
                ),
                (
                    of("args/4"),
                    Unsettled::Repository("$(image.repository:controller)".to_owned())
                ),
                (
                    of("args/4"),
                    Unsettled::Repository("$(image.repository:controller)".to_owned())
                ),
                (
                    of("args/5"),
                    Unsettled::Mentioned(reference("quay.io/org/chart:1"))
                ),
                (of("env/0/value"), Unsettled::Placeholder(malformed)),
                (
                    of("image"),
                    Unsettled::Missing(reference("quay.io/org/other:1"))
                ),
            ]
        );
        assert_eq!(object, before);
    }

    /// The keys of an object may be as long as itself, and are part of the place of each remark.
    #[test]
    fn remarks_are_bounded_in_number_and_length() {
        let mut object = json!({"data": {"k".repeat(10_000): vec!["a.test/b:1"; 5_000]}});
        let remarks = compile(&mut object);
        assert_eq!(remarks.len(), limits::REMARKS);
        assert!(
            remarks
                .iter()
                .all(|(path, _)| path.chars().count() <= limits::POINTER + 1)
        );
    }
}
