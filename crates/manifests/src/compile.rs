//! Compilation of a release's objects for any site (docs/reference/format-manifests.md). Each image becomes
//! `$(image:NAME)`. Each of the release's own namespaces that a site may map to another name becomes
//! `$(namespace:NAME)`. Text that may be an image or namespace, but is ambiguous, is left unchanged and reported as a
//! [`Remark`] with its position.
//!
//! CRDs are not compiled, because they belong to the cluster and not to an environment.

use std::collections::BTreeSet;
use std::ops::Range;

use schemas::placeholder::{self, PlaceholderPiece};
use schemas::{ImageReference, Namespace, PodTemplatePath, printable_within};
use serde_json::{Map, Value};

use crate::image::{self, KnownImages, Mention};
use crate::namespace::{self, AmbiguousText, NamespaceHint};
use crate::reference::{EXAMPLE, Hint};
use crate::{limits, template};

/// The images, namespaces and pod template paths for the compilation of a set's objects.
#[derive(Debug)]
pub struct Compiler<'a> {
    /// The Solution's images.
    pub images: &'a KnownImages,
    /// The release's own namespaces that may have another name at a site.
    pub namespaces: &'a [Namespace],
    /// The paths of pod templates in custom resources.
    pub templates: &'a [PodTemplatePath],
}

/// A report about text that compilation left unresolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The position in the object, as a JSON pointer (RFC 6901) that is safe to show.
    pub path: String,
    /// The unresolved text.
    pub what: CompileQuestion,
    /// The evidence that the text is an image, if the remark is about an image.
    pub mention: Option<Mention>,
}

/// A text that compilation left unresolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileQuestion {
    /// The image of a container, which the Solution does not contain.
    Missing(ImageReference),
    /// Another text with an image that the Solution does not contain.
    Mentioned(ImageReference),
    /// A repository without a tag: the placeholder that may be intended, or the repository itself if no images are
    /// known.
    Repository(String),
    /// A text that may be one of the release's own namespaces, which only its author can decide.
    Namespace(AmbiguousText),
    /// An invalid placeholder.
    Placeholder(placeholder::PlaceholderError),
}

impl Compiler<'_> {
    /// Compiles an object in place, and returns its unresolved texts.
    pub fn compile(&self, object: &mut Value) -> Vec<Remark> {
        let mut walk = TextWalk {
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

/// The hints that the name of a field, flag or variable gives about its text.
#[derive(Clone, Copy)]
struct ContextHints {
    hint: Hint,
    said: NamespaceHint,
    /// True for a text in a selector of namespaces.
    selects: bool,
}

impl ContextHints {
    /// Returns the hints of a field's name. Names are compiled too, and the name within a placeholder is not a hint.
    fn from_name(name: &str) -> Self {
        let name = if name.contains("$(") { "" } else { name };
        Self {
            hint: Hint::from_name(name),
            said: NamespaceHint::by_field(name),
            selects: name == "namespaceSelector",
        }
    }

    /// Returns the hints that the name of a variable gives about its value.
    fn of_variable(name: &str) -> Self {
        let of_field = Self::from_name(name);
        let said = match of_field.said {
            NamespaceHint::Nothing => NamespaceHint::by_variable(name),
            said => said,
        };
        Self { said, ..of_field }
    }

    /// Returns the hint about namespaces in the text.
    fn namespace_hint(self) -> NamespaceHint {
        match (self.said, self.hint) {
            (NamespaceHint::Nothing, Hint::Image | Hint::Named) => NamespaceHint::Other,
            (NamespaceHint::Nothing, Hint::None | Hint::Reported) if self.selects => {
                NamespaceHint::Anything
            }
            (said, _) => said,
        }
    }
}

/// A traversal of the texts of an object.
struct TextWalk<'a> {
    compiler: &'a Compiler<'a>,
    /// The JSON pointers of the images of containers.
    images: BTreeSet<String>,
    /// The current position, as a JSON pointer.
    pointer: String,
    remarks: Vec<Remark>,
}

impl TextWalk<'_> {
    /// Compiles all fields of an object, except those in which placeholders are not allowed.
    fn object(&mut self, fields: &mut Map<String, Value>) {
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("apiVersion" | "kind" | "status", _) => {}
                ("metadata", Value::Object(metadata)) => {
                    let others = metadata.iter_mut().filter(|(key, _)| *key != "name");
                    for (key, value) in others {
                        self.descend("metadata", |walk| {
                            walk.field(key, value, ContextHints::from_name(key));
                        });
                    }
                }
                (key, value) => self.field(key, value, ContextHints::from_name(key)),
            }
        }
    }

    /// Calls `act` with a position one step deeper.
    fn descend(&mut self, step: &str, act: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer
            .push_str(&step.replace('~', "~0").replace('/', "~1"));
        act(self);
        self.pointer.truncate(length);
    }

    /// Compiles a field. An example that documents settings and is never read is skipped: it contains no images, and
    /// must not be changed.
    fn field(&mut self, key: &str, value: &mut Value, about: ContextHints) {
        if key == EXAMPLE {
            return;
        }
        self.descend(key, |walk| walk.value(value, about));
    }

    fn value(&mut self, value: &mut Value, about: ContextHints) {
        match value {
            Value::String(text) => {
                if let Some(changed) = self.text(text, about) {
                    *text = changed;
                }
            }
            Value::Array(items) => {
                let mut is_told = false;
                let mut of_flag = Hint::None;
                for (index, item) in items.iter_mut().enumerate() {
                    // An argument may be the value of the flag that precedes it.
                    let said = if is_told {
                        NamespaceHint::Namespace
                    } else {
                        about.said
                    };
                    let hint = about.hint.or(of_flag);
                    is_told = item.as_str().is_some_and(is_flag_of_namespace);
                    of_flag = item.as_str().map_or(Hint::None, Hint::from_argument);
                    let about = ContextHints {
                        hint,
                        said,
                        ..about
                    };
                    self.descend(&index.to_string(), |walk| walk.value(item, about));
                }
            }
            Value::Object(fields) => {
                let text = |key: &str| fields.get(key).and_then(Value::as_str);
                // The name of a variable describes its `value`; the label of a selector describes its `values`.
                let [name, label] = [text("name"), text("key")];
                let of_value = name.map(ContextHints::of_variable);
                let of_values = label.map(ContextHints::from_name);
                for (key, value) in fields {
                    let by_other = match key.as_str() {
                        "value" => of_value,
                        "values" => of_values,
                        _ => None,
                    };
                    let of_key = by_other.unwrap_or_else(|| ContextHints::from_name(key));
                    let selects = about.selects || of_key.selects;
                    self.field(key, value, ContextHints { selects, ..of_key });
                }
            }
            _ => {}
        }
    }

    /// Returns the compiled text, if it differs.
    fn text(&mut self, text: &str, about: ContextHints) -> Option<String> {
        let pieces = match placeholder::pieces(text) {
            Ok(pieces) => pieces,
            Err(error) => {
                self.remark(CompileQuestion::Placeholder(error));
                self.images(text, about.hint);
                return None;
            }
        };
        let is_image = self.images.contains(&self.pointer);
        let hint = if is_image { Hint::Image } else { about.hint };
        let mut compiled = String::with_capacity(text.len());
        let mut end = 0;
        for (range, piece) in pieces {
            // A `$` that escapes a literal is not part of any piece.
            compiled.push_str(&text[end..range.start]);
            end = range.end;
            let written = &text[range];
            match piece {
                PlaceholderPiece::Placeholder(_) => compiled.push_str(written),
                PlaceholderPiece::Text(_) => compiled.push_str(&self.images(written, hint)),
            }
        }
        compiled = self.namespaces(compiled, ContextHints { hint, ..about }.namespace_hint());
        (compiled != text).then_some(compiled)
    }

    /// Replaces the images in a text without placeholders.
    fn images(&mut self, text: &str, hint: Hint) -> String {
        let rewritten = image::rewrite(text, hint, self.compiler.images);
        for (reference, mention) in rewritten.unknown {
            let what = match mention {
                Mention::Container => CompileQuestion::Missing(reference),
                _ => CompileQuestion::Mentioned(reference),
            };
            self.push(what, Some(mention));
        }
        for repository in rewritten.repositories {
            self.remark(CompileQuestion::Repository(repository));
        }
        rewritten.text
    }

    /// Replaces the namespaces in a text.
    fn namespaces(&mut self, text: String, said: NamespaceHint) -> String {
        let Ok(pieces) = placeholder::pieces(&text) else {
            return text;
        };
        let apart = excluded_ranges(&pieces);
        let rewritten = namespace::rewrite(&text, &apart, self.compiler.namespaces, said);
        for unclear in rewritten.unclear {
            self.remark(CompileQuestion::Namespace(unclear));
        }
        rewritten.text
    }

    fn remark(&mut self, what: CompileQuestion) {
        self.push(what, None);
    }

    fn push(&mut self, what: CompileQuestion, mention: Option<Mention>) {
        if self.remarks.len() < limits::REMARKS {
            let path = printable_within(&self.pointer, limits::POINTER);
            self.remarks.push(Remark {
                path,
                what,
                mention,
            });
        }
    }
}

/// Checks whether an argument is a flag whose value, the next argument, is a namespace.
fn is_flag_of_namespace(argument: &str) -> bool {
    argument.starts_with('-') && namespace::is_word(argument) && namespace::is_named(argument)
}

/// Returns the ranges of placeholders and escaped literals.
fn excluded_ranges(pieces: &[(Range<usize>, PlaceholderPiece<'_>)]) -> Vec<Range<usize>> {
    let mut end = 0;
    let mut apart = Vec::new();
    for (range, piece) in pieces {
        let is_literal = range.start > end;
        end = range.end;
        match piece {
            PlaceholderPiece::Placeholder(_) => apart.push(range.clone()),
            PlaceholderPiece::Text(written) if is_literal => {
                let closed = written
                    .find(')')
                    .map(|parenthesis| range.start + parenthesis + 1);
                apart.push(range.start..closed.unwrap_or(range.end));
            }
            PlaceholderPiece::Text(_) => {}
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use schemas::ImagePlace;
    use serde_json::json;

    use super::*;

    fn compile(object: &mut Value) -> Vec<(String, CompileQuestion)> {
        let images: Vec<(ImagePlace, ImageReference)> = [
            ("controller:1.0", "quay.io/org/controller:v1.0"),
            ("nginx:1.27", "docker.io/library/nginx:1.27"),
            ("db:16", "quay.io/org/db:16"),
            ("db:17", "quay.io/org/db:17"),
        ]
        .map(|(place, reference)| (place.parse().unwrap(), reference.parse().unwrap()))
        .to_vec();
        let known = KnownImages::new(
            images
                .iter()
                .map(|(place, reference)| (place.clone(), reference)),
        );
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
        remarks.map(|remark| (remark.path, remark.what)).collect()
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
        // Another tag of one of the Solution's images.
        let other = CompileQuestion::Mentioned(reference("docker.io/library/nginx:1.28"));
        let nginx = "/data/short".to_owned();
        assert_eq!(compile(&mut map), [(nginx, other)]);
        assert_eq!(
            map["data"]["config.yaml"],
            "image: $(image:controller)\nhost: web.$(namespace:org-system).svc\n"
        );
        let short = "$(image:nginx) $(image:nginx) nginx nginx:1.28";
        assert_eq!(map["data"]["short"], short);
        let schemes = "docker://$(image:db:16) oci://$(image:nginx)";
        assert_eq!(map["data"]["schemes"], schemes);
    }

    /// Examples follow cert-manager, Kyverno, the Prometheus operator and ingress-nginx.
    #[test]
    fn namespaces_are_compiled_where_releases_have_them() {
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "org-system", "namespace": "org-system", "labels": {"app": "org-system"}, "annotations": {
                "cert-manager.io/inject-ca-from": "org-system/webhook-cert",
                "cert-manager.io/inject-ca-from-secret": "org-system/webhook-ca",
                "cert-manager.io/allow-direct-injection": "true",
            }},
            "spec": {"template": {"spec": {
                "dnsConfig": {"searches": ["org-system.svc.cluster.local"]},
                "containers": [{
                    "args": [
                        "--namespace", "org-system", "--name", "org-system", "-namespace=org-system",
                        "--dynamic-serving-dns-names=hook,hook.org-system.svc",
                        "--user=system:serviceaccount:org-system:org-system", "--ns=org-system",
                    ],
                    "env": [
                        {"name": "WATCH_NAMESPACE", "value": "default,org-system"},
                        {"name": "SERVICE_NAME", "value": "org-system"},
                        {"name": "PEER", "value": "db-0.db.org-system.svc.cluster.local:5432"},
                    ],
                }],
            }}},
            "selectors": [
                {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "org-system"}}},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "org-system"]},
                {"key": "app", "operator": "In", "values": ["org-system"]},
            ],
            "data": {"config.yaml": "leaderElection:\n  resourceNamespace: org-system\n  resourceName: org-system\nliteral: $$(namespace:org-system)\n"},
        });
        assert_eq!(compile(&mut object), []);
        let of = "$(namespace:org-system)";
        assert_eq!(
            object,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "org-system", "namespace": of, "labels": {"app": "org-system"}, "annotations": {
                    "cert-manager.io/inject-ca-from": format!("{of}/webhook-cert"),
                    "cert-manager.io/inject-ca-from-secret": format!("{of}/webhook-ca"),
                    "cert-manager.io/allow-direct-injection": "true",
                }},
                "spec": {"template": {"spec": {
                    "dnsConfig": {"searches": [format!("{of}.svc.cluster.local")]},
                    "containers": [{
                        "args": [
                            "--namespace", of, "--name", "org-system", format!("-namespace={of}"),
                            format!("--dynamic-serving-dns-names=hook,hook.{of}.svc"),
                            format!("--user=system:serviceaccount:{of}:org-system"), format!("--ns={of}"),
                        ],
                        "env": [
                            {"name": "WATCH_NAMESPACE", "value": format!("default,{of}")},
                            {"name": "SERVICE_NAME", "value": "org-system"},
                            {"name": "PEER", "value": format!("db-0.db.{of}.svc.cluster.local:5432")},
                        ],
                    }],
                }}},
                "selectors": [
                    {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": of}}},
                    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", of]},
                    {"key": "app", "operator": "In", "values": ["org-system"]},
                ],
                "data": {"config.yaml": format!("leaderElection:\n  resourceNamespace: {of}\n  resourceName: org-system\nliteral: ${of}\n")},
            })
        );
        let before = object.clone();
        assert_eq!((compile(&mut object), object), (vec![], before));
    }

    #[test]
    fn what_may_be_a_namespace_is_remarked_where_releases_have_it() {
        let mut object = json!({
            "args": ["--default-ssl-certificate=org-system/tls", "--image-repository=org-system/tls", "-n", "-n=org-system"],
            "data": {"resourceFilters": "[Event,*,*][*/*,org-system,*]"},
            "env": [{"name": "INIT_CONFIG", "value": "org-system"}],
            "namespaceSelector": {"matchLabels": {"name": "org-system"}},
        });
        let before = object.clone();
        let meant = compile(&mut object)
            .into_iter()
            .map(|(path, what)| match what {
                CompileQuestion::Namespace(unclear) => (path, unclear.meant),
                other => panic!("{other:?}"),
            });
        let expected = [
            ("/args/0", "$(namespace:org-system)/tls"),
            ("/args/3", "$(namespace:org-system)"),
            ("/data/resourceFilters", "$(namespace:org-system)"),
            ("/env/0/value", "$(namespace:org-system)"),
            (
                "/namespaceSelector/matchLabels/name",
                "$(namespace:org-system)",
            ),
        ];
        let expected = expected.map(|(path, meant)| (path.to_owned(), meant.to_owned()));
        assert_eq!(meant.collect::<Vec<_>>(), expected);
        assert_eq!(object, before);
    }

    /// Names of variables are compiled too, and contain the word `namespace` afterwards.
    #[test]
    fn what_a_placeholder_is_called_says_nothing() {
        let mut object = json!({"env": [{"name": "web.org-system.svc", "value": "org-system"}], "args": ["-web.org-system.svc", "org-system"]});
        compile(&mut object);
        let before = object.clone();
        compile(&mut object);
        assert_eq!(object, before);
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
                    CompileQuestion::Mentioned(reference("quay.io/org/proxy:2"))
                ),
                (
                    of("args/2"),
                    CompileQuestion::Repository("$(image.repository:db:17)".to_owned())
                ),
                (
                    of("args/3"),
                    CompileQuestion::Namespace(AmbiguousText {
                        namespace: "org-system".parse().unwrap(),
                        written: "web.org-system".to_owned(),
                        meant: "web.$(namespace:org-system)".to_owned(),
                    })
                ),
                (
                    of("args/4"),
                    CompileQuestion::Repository("$(image.repository:controller)".to_owned())
                ),
                (
                    of("args/4"),
                    CompileQuestion::Repository("$(image.repository:controller)".to_owned())
                ),
                (
                    of("args/5"),
                    CompileQuestion::Mentioned(reference("quay.io/org/chart:1"))
                ),
                (of("env/0/value"), CompileQuestion::Placeholder(malformed)),
                (
                    of("image"),
                    CompileQuestion::Missing(reference("quay.io/org/other:1"))
                ),
            ]
        );
        assert_eq!(object, before);
    }

    /// Keys can be as long as the object itself, and occur in the position of each remark.
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
