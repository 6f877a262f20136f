//! The finishing of a chart's object between its rendering and the cluster: images get the address that nodes pull
//! from, with tag and digest; pods log in; definitions stay when the release goes. A pure function.

use std::collections::{BTreeMap, BTreeSet};

use change::{RELEASE, vocabulary as v};
use manifests::{
    Address, CompileQuestion, Compiler, Expansion, KnownImages, is_definition, pod_specs,
};
use schemas::{ImagePlace, ImageReference, KubernetesName, Namespace, ReleaseName};
use serde_json::{Value, json};
use shelf::Record;

use crate::model::error::Error;
use crate::model::record::addresses;
use crate::plan::login;

/// The annotation of an object with the events at which Helm makes it.
pub(crate) const HOOK: &str = "helm.sh/hook";
/// The annotation of objects that Helm keeps when a release goes.
pub(crate) const POLICY: &str = "helm.sh/resource-policy";

/// The inputs by which the objects of a release are finished.
#[derive(Debug)]
pub(crate) struct Finish {
    known: KnownImages,
    expansion: Expansion,
    logins: BTreeMap<Namespace, KubernetesName>,
    release: ReleaseName,
    /// The Secret that pods log in with in other namespaces, where there is a login at all.
    elsewhere: Option<KubernetesName>,
    /// The release's own namespace.
    namespace: Namespace,
    wide: BTreeSet<(String, String)>,
    replicas: BTreeMap<String, u64>,
}

/// The inputs that a [`Finish`] is made of.
#[derive(Clone, Debug)]
pub(crate) struct FinishInputs {
    pub(crate) record: Record,
    /// The Secrets that pods log in to the registry with, by namespace.
    pub(crate) logins: BTreeMap<Namespace, KubernetesName>,
    pub(crate) release: ReleaseName,
    pub(crate) namespace: Namespace,
    /// The kinds of the chart's objects that belong to the whole cluster, group and kind each, as the cluster says.
    pub(crate) wide: BTreeSet<(String, String)>,
    /// The numbers of pods that somebody else has set, by what is scaled.
    pub(crate) replicas: BTreeMap<String, u64>,
}

impl Finish {
    pub(crate) fn new(inputs: &FinishInputs) -> Result<Self, Error> {
        let images = addresses(&inputs.record)?;
        let of_site = images.iter().flat_map(|(place, address)| {
            let forms = forms(address);
            forms.into_iter().map(|form| (place.clone(), form))
        });
        let recorded = inputs.record.images.iter();
        let published = recorded.filter_map(|it| Some((it.image.clone(), it.reference.clone()?)));
        let known: Vec<(ImagePlace, ImageReference)> = published.chain(of_site).collect();
        Ok(Self {
            known: KnownImages::new(known.iter().map(|(place, it)| (place.clone(), it))),
            expansion: Expansion {
                images,
                ..Expansion::default()
            },
            logins: inputs.logins.clone(),
            release: inputs.release.clone(),
            elsewhere: (!inputs.logins.is_empty()).then(|| login::secret_name(&inputs.record.name)),
            namespace: inputs.namespace.clone(),
            wide: inputs.wide.clone(),
            replicas: inputs.replicas.clone(),
        })
    }

    /// Finishes an object. The images of its containers that are not carried are added to `missing`.
    pub(crate) fn finish(
        &self,
        mut object: Value,
        missing: &mut BTreeSet<ImageReference>,
    ) -> Result<Value, Error> {
        self.place(&mut object);
        forget_our_marks(&mut object);
        self.mark_hook(&mut object);
        if is_definition(&object) {
            keep(&mut object);
            return Ok(object);
        }
        let compiler = Compiler {
            images: &self.known,
            namespaces: &[],
            templates: &[],
        };
        for remark in compiler.compile(&mut object) {
            if let CompileQuestion::Missing(reference) = remark.what {
                missing.insert(reference);
            }
        }
        self.expansion.expand(&mut object)?;
        self.scale(&mut object);
        for pod in pod_specs(&object) {
            let namespace = manifests::text(&object, "/metadata/namespace");
            let secret = self.logins.iter().find(|(it, _)| it.as_str() == namespace);
            let secret = secret.map(|(_, secret)| secret);
            let secret = secret.or(self.elsewhere.as_ref());
            if let (Some(secret), Some(pod)) = (secret, object.pointer_mut(&pod)) {
                login::log_in(pod, secret.as_str());
            }
        }
        Ok(object)
    }

    /// Says where an object lies, as Helm will.
    fn place(&self, object: &mut Value) {
        let text = |pointer| manifests::text(object, pointer).to_owned();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is_wide = self.wide.contains(&(group.to_owned(), kind));
        let is_placed = !text("/metadata/namespace").is_empty();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            if is_wide {
                metadata.remove("namespace");
            } else if !is_placed {
                metadata.insert("namespace".to_owned(), json!(self.namespace));
            }
        }
    }

    /// Says of a hook whose it is, as Helm says it of all other objects: Helm would delete whatever has its name.
    fn mark_hook(&self, object: &mut Value) {
        let annotations = object.pointer_mut("/metadata/annotations");
        let annotations = annotations.and_then(Value::as_object_mut);
        if let Some(annotations) = annotations.filter(|it| it.contains_key(HOOK)) {
            let marks = [
                (RELEASE.0, json!(self.release)),
                (RELEASE.1, json!(self.namespace)),
            ];
            annotations.extend(marks.map(|(key, value)| (key.to_owned(), value)));
        }
    }

    /// Asks for as many pods as somebody else does: any other number would be in conflict with theirs.
    fn scale(&self, object: &mut Value) {
        let text = |pointer| manifests::text(object, pointer);
        let (kind, namespace) = (text("/kind"), text("/metadata/namespace"));
        let what = format!("{kind} {namespace}/{}", text("/metadata/name"));
        let wanted = self.replicas.get(&what).copied();
        if let (Some(wanted), Some(replicas)) = (wanted, object.pointer_mut("/spec/replicas")) {
            *replicas = json!(wanted);
        }
    }
}

/// The ways in which a chart can write an address that it was given in parts.
fn forms(address: &Address) -> Vec<ImageReference> {
    let Address {
        registry,
        path,
        tag,
        digest,
    } = address;
    let repository = format!("{registry}/{path}");
    let forms = [
        format!("{repository}:{tag}@{digest}"),
        format!("{repository}:{tag}"),
        format!("{repository}@{digest}"),
    ];
    forms.iter().filter_map(|form| form.parse().ok()).collect()
}

/// A definition goes with everything that was made by it: Helm is told to leave it.
fn keep(definition: &mut Value) {
    definition["metadata"]["annotations"][POLICY] = json!("keep");
}

/// Our labels say whose an object is, which is Helm's here.
fn forget_our_marks(object: &mut Value) {
    for field in ["labels", "annotations"] {
        let marks = object.pointer_mut(&format!("/metadata/{field}"));
        if let Some(marks) = marks.and_then(Value::as_object_mut) {
            marks.retain(|key, _| !key.starts_with(v::PREFIX));
        }
    }
}

/// The kinds of these objects, by group and kind.
pub(crate) fn kinds_of<'a>(
    objects: impl IntoIterator<Item = &'a Value>,
) -> BTreeMap<(String, String), String> {
    let kind = |object: &Value| {
        let api_version = manifests::text(object, "/apiVersion");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = manifests::text(object, "/kind");
        ((group.to_owned(), kind.to_owned()), api_version.to_owned())
    };
    objects.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::record::tests::record;
    use schemas::Digest;
    use shelf::RecordedImage;

    fn finish(object: Value) -> (Value, Vec<String>) {
        let mut record = record("1.0.0");
        record.images = vec![RecordedImage {
            image: "web:7".parse().unwrap(),
            digest: Digest::new([7; 32]),
            reference: Some("quay.io/org/web:v7".parse().unwrap()),
        }];
        record.endpoint = format!("r.test:5000/{}", record.id());
        let inputs = FinishInputs {
            record,
            logins: [("prod".parse().unwrap(), "login".parse().unwrap())].into(),
            release: "web".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            wide: [
                (String::new(), "Namespace".to_owned()),
                (
                    "apiextensions.k8s.io".to_owned(),
                    "CustomResourceDefinition".to_owned(),
                ),
            ]
            .into(),
            replicas: [("Deployment prod/w".to_owned(), 4)].into(),
        };
        let mut missing = BTreeSet::new();
        let finish = Finish::new(&inputs).unwrap();
        let finished = finish.finish(object, &mut missing).unwrap();
        let missing = missing.iter().map(ToString::to_string).collect();
        (finished, missing)
    }

    fn pod(image: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" },
            "spec": { "containers": [{ "name": "c", "image": image }] },
        })
    }

    #[test]
    fn an_image_gets_its_address_whichever_way_it_is_written() {
        let digest = Digest::new([7; 32]);
        let repository = "r.test:5000/shop/web";
        let whole = format!("{repository}:7@{digest}");
        for written in [
            "quay.io/org/web:v7".to_owned(),
            format!("{repository}:7"),
            format!("{repository}@{digest}"),
            whole.clone(),
        ] {
            let (finished, missing) = finish(pod(&written));
            let image = &finished["spec"]["containers"][0]["image"];
            assert_eq!((image, missing.len()), (&json!(whole), 0), "{written}");
            assert_eq!(
                finished["spec"]["imagePullSecrets"],
                json!([{ "name": "login" }])
            );
            assert_eq!(finished["metadata"]["namespace"], "prod");
        }
        let (_, missing) = finish(pod("quay.io/org/other:1"));
        assert_eq!(missing, ["quay.io/org/other:1"]);
    }

    #[test]
    fn images_are_found_in_arguments_and_custom_resources_too() {
        let (finished, missing) = finish(json!({
            "apiVersion": "a.test/v1", "kind": "Thing", "metadata": { "name": "t" },
            "spec": { "image": "quay.io/org/web:v7", "args": ["--image=quay.io/org/web:v7"] },
        }));
        let text = finished["spec"].to_string();
        assert_eq!(
            text.matches("r.test:5000/shop/web:7@sha256").count(),
            2,
            "{text}"
        );
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn a_number_of_pods_that_others_have_set_stays() {
        let replicas = |name: &str| {
            let deployment = json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": { "name": name }, "spec": { "replicas": 1 },
            });
            finish(deployment).0["spec"]["replicas"].clone()
        };
        assert_eq!([replicas("w"), replicas("x")], [4, 1]);
    }

    #[test]
    fn a_hook_says_whose_it_is() {
        let annotations = |given: Value| {
            let mut object = pod("quay.io/org/web:v7");
            object["metadata"]["annotations"] = given;
            finish(object).0["metadata"]["annotations"].clone()
        };
        let marked = json!({
            "helm.sh/hook": "pre-install",
            "meta.helm.sh/release-name": "web",
            "meta.helm.sh/release-namespace": "prod",
        });
        let theirs = json!({
            "helm.sh/hook": "pre-install",
            "meta.helm.sh/release-name": "other",
        });
        assert_eq!(
            annotations(json!({ "helm.sh/hook": "pre-install" })),
            marked
        );
        assert_eq!(annotations(theirs), marked);
        assert_eq!(annotations(json!({ "a": "b" })), json!({ "a": "b" }));
    }

    #[test]
    fn definitions_stay_and_our_marks_go() {
        let label = format!("{}solution", v::PREFIX);
        let (finished, _) = finish(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "d", "labels": { label: "shop", "a": "b" } },
        }));
        let expected = json!({
            "name": "d", "labels": { "a": "b" }, "annotations": { POLICY: "keep" },
        });
        assert_eq!(finished["metadata"], expected);
        // What is called the same in a group of its own is no definition.
        let (own, _) = finish(json!({
            "apiVersion": "shop.test/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "d" },
        }));
        assert_eq!(own["metadata"], json!({ "name": "d", "namespace": "prod" }));
        let (space, _) = finish(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n", "namespace": "x" },
        }));
        assert_eq!(space["metadata"], json!({ "name": "n" }));
    }
}
