//! The images that documents refer to, independently of the images that the Solution packages. These functions find
//! images in objects, in pods, and in the default values of CRDs.

use schemas::ImageReference;
use serde_json::Value;

use crate::compile::{CompileQuestion, Compiler, Remark};
use crate::image::KnownImages;
use crate::reference::{Hint, KnownNames, PROVIDED, is_reference, named_tokens, normal};
use crate::template;

/// Returns the images that an object refers to in their complete form, and the known repositories that occur without a
/// tag. The search is the same as for compilation.
#[must_use]
pub fn named_images(object: &Value, names: &KnownImages) -> Vec<Remark> {
    let compiler = Compiler {
        images: names,
        namespaces: &[],
        templates: &[],
    };
    let mut remarks = compiler.compile(&mut object.clone());
    remarks.retain(|remark| {
        matches!(
            remark.what,
            CompileQuestion::Missing(_)
                | CompileQuestion::Mentioned(_)
                | CompileQuestion::Repository(_)
        )
    });
    remarks
}

/// Returns the images of an object's pods as they are written. Only Kubernetes' own kinds are known to have pods.
pub fn pod_images(object: &Value) -> impl Iterator<Item = &str> {
    let pointers = template::images(object, &[]).into_iter();
    let images = pointers.filter_map(|pointer| object.pointer(&pointer)?.as_str());
    images.filter(|image| *image != PROVIDED)
}

/// Returns the images in the default values of a CustomResourceDefinition, in their complete form.
#[must_use]
pub fn default_images(definition: &Value, names: &KnownNames) -> Vec<ImageReference> {
    let mut images = Vec::new();
    default_texts(&definition["spec"], &mut |text, hint| {
        let tokens = named_tokens(text, hint).map(|(range, hint)| (&text[range], hint));
        let found = tokens.filter(|(token, hint)| is_reference(token, *hint) || names.has(token));
        images.extend(found.filter_map(|(token, _)| normal(token)));
    });
    images
}

/// Calls `visit` with each text in the default values of a schema, and with the hint of its property's name.
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
                open.extend(fields.map(|(key, value)| (value, Hint::from_name(key), true)));
            }
            Value::Object(map) => open.extend(map.iter().rev().flat_map(|(key, value)| {
                match value {
                    Value::Object(properties) if key == "properties" => properties
                        .iter()
                        .rev()
                        .map(|(key, value)| (value, Hint::from_name(key), false))
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

    fn found(object: &Value, names: &[&str]) -> Vec<(String, String)> {
        let mut known = KnownNames::default();
        for name in names {
            known.add(name);
        }
        let remarks = named_images(object, &KnownImages::by_names(&known)).into_iter();
        let what = |question| match question {
            CompileQuestion::Missing(image) | CompileQuestion::Mentioned(image) => {
                image.to_string()
            }
            CompileQuestion::Repository(repository) => format!("{repository} without a tag"),
            other => panic!("{other:?}"),
        };
        remarks
            .map(|remark| (what(remark.what), remark.path))
            .collect()
    }

    #[test]
    fn images_are_named_wherever_they_stand() {
        let object = json!({
            "apiVersion": "shop.test/v1", "kind": "Shop", "metadata": {"name": "a"},
            "spec": {
                "image": "nginx:1", "args": ["--reloader=quay.io/org/reload:2", "word:1", "--db-image", "org/db"],
                "env": [{"name": "NODE_REGISTRAR_IMAGE", "value": "org/registrar:1"}, {"name": "IMAGE_SECRET", "value": "org/secret:1"}],
                "pullPolicy": "Always",
            },
        });
        let expected = [
            ("quay.io/org/reload:2", "/spec/args/0"),
            ("docker.io/org/db:latest", "/spec/args/3"),
            ("docker.io/org/registrar:1", "/spec/env/0/value"),
            ("docker.io/library/nginx:1", "/spec/image"),
        ];
        assert_eq!(
            found(&object, &[]),
            expected.map(|(image, path)| (image.to_owned(), path.to_owned()))
        );
    }

    /// Examples follow consul, Jenkins and other programs that configure the pods that they start.
    #[test]
    fn known_names_are_images_in_any_text() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "annotations": {"a": "org/noted:v1"}},
            "data": {
                "cloud.yaml": "templates:\n- name: default\n  image: \"org/agent:33.v1_2\"\n  port: org/agent:50000\n",
                "values.json": "{\"image\":\"org/proxy:v1\",\"other\":\"org/none:v1\"}",
                "run.sh": "exec /run --image-repository=org/plain org/shell:$TAG $(image:x org/late:v2",
                "mirrored": "mirror.test:5000/org/plain",
                "host": "redis:6379 plain redis",
            },
        });
        let names = [
            "org/noted",
            "org/agent:1",
            "org/proxy",
            "org/shell",
            "org/plain",
            "org/late",
            "redis",
        ];
        let expected = [
            ("docker.io/org/noted:v1", "/metadata/annotations/a"),
            ("docker.io/org/agent:33.v1_2", "/data/cloud.yaml"),
            ("docker.io/org/plain without a tag", "/data/mirrored"),
            ("docker.io/org/late:v2", "/data/run.sh"),
            ("docker.io/org/plain without a tag", "/data/run.sh"),
            ("docker.io/org/shell without a tag", "/data/run.sh"),
            ("docker.io/org/proxy:v1", "/data/values.json"),
        ];
        let mut found = found(&object, &names);
        found.sort_by(|a, b| a.1.cmp(&b.1));
        let mut expected = expected.map(|(image, path)| (image.to_owned(), path.to_owned()));
        expected.sort_by(|a, b| a.1.cmp(&b.1));
        assert_eq!(found, expected);
    }

    /// Examples follow knative, programs that report to OpenTelemetry, and gateways of Istio.
    #[test]
    fn examples_reports_and_what_a_webhook_replaces_name_no_image() {
        let config = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
            "data": {"_example": "# such as r.test/a:1\nqueue-sidecar-image: r.test/queue:1\n", "image": "r.test/b:1"},
        });
        let found = |object: &Value| self::found(object, &["org/known:1"]);
        assert_eq!(
            found(&config),
            [("r.test/b:1".to_owned(), "/data/image".to_owned())]
        );
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "proxy", "image": "auto", "env": [
                {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": "container.image.name=r.test/a:1,other=org/known:1"},
                {"name": "APP_TELEMETRY", "value": "r.test/a:1"},
            ]}]},
        });
        assert_eq!(found(&pod), []);
        assert_eq!(pod_images(&pod).count(), 0);
    }

    #[test]
    fn of_a_definition_only_default_values_count() {
        let definition = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {
            "image": {"description": "such as r.test/a:1", "default": "r.test/b:1"},
            "agent": {"description": "such as org/agent:1", "default": "org/agent:v2"},
        }}}}]}});
        let mut names = KnownNames::default();
        names.add("org/agent");
        let images = default_images(&definition, &names);
        let images: Vec<_> = images.iter().map(ImageReference::as_str).collect();
        assert_eq!(images, ["docker.io/org/agent:v2", "r.test/b:1"]);
    }
}
