//! The contents of a release: the objects of a set, the definitions of custom resources, and the images that both name.

use std::collections::BTreeSet;

use manifests::reference::Hint;
use manifests::{
    CompileQuestion, Compiler, KnownImages, ManifestObject, ManifestsError, ObjectKinds, Remark,
    list, text,
};
use schemas::{Namespace, SourceNamespace};
use serde_json::Value;

use crate::ReleaseError;
use crate::images::{DraftImages, FoundImages, Searched};
use crate::limits::RELEASE_IMAGES;
use crate::roles;

/// A release's objects.
#[derive(Debug)]
pub(crate) struct ReleaseObjects<'a> {
    /// The objects of the set, in order.
    pub(crate) objects: Vec<ManifestObject<'a>>,
    /// Definitions of custom resources that belong to no environment.
    pub(crate) definitions: Vec<Value>,
}

/// A remark on an object that compiling left unsettled.
pub(crate) struct Unsure<'a> {
    pub(crate) object: &'a ManifestObject<'a>,
    pub(crate) remark: Remark,
}

impl<'a> ReleaseObjects<'a> {
    pub(crate) fn of(all: Vec<ManifestObject<'a>>) -> Self {
        let is_the_clusters = |object: &ManifestObject<'_>| {
            rules::is_definition(&object.value) && !rules::converts_by_webhook(&object.value)
        };
        let (definitions, objects): (Vec<_>, Vec<_>) = all.into_iter().partition(is_the_clusters);
        let definitions: Vec<Value> = definitions.into_iter().map(|it| it.value).collect();
        Self {
            objects,
            definitions,
        }
    }

    /// Returns the kinds that the definitions bring.
    pub(crate) fn kinds(&self) -> ObjectKinds {
        ObjectKinds::new(&self.definitions)
    }

    /// Every image that the release names where it is known to be one.
    pub(crate) fn images(&self) -> Result<DraftImages, ReleaseError> {
        let mut images = FoundImages::default();
        for object in &self.objects {
            let title = object.title();
            for remark in compiled(object, &KnownImages::default(), &[]) {
                if let CompileQuestion::Missing(reference) = remark.what {
                    images.scan(reference.as_str(), Hint::Image, &title);
                }
            }
            if !rules::is_definition(&object.value)
                && !roles::is_role(object)
                && !roles::is_binding(object)
            {
                scan(&mut images, object, &title);
            }
            ManifestsError::check(&object.place, images.len(), RELEASE_IMAGES, "images")?;
        }
        for definition in &self.definitions {
            images.scan_defaults(&definition["spec"], &title(definition));
        }
        Ok(images.named())
    }

    /// Returns what `pack` will remark about the objects. Definitions are not compiled: what they say of images is for
    /// people.
    pub(crate) fn unsure(
        &'a self,
        images: &'a DraftImages,
        own: &[SourceNamespace],
    ) -> impl Iterator<Item = Unsure<'a>> {
        let known = images.known();
        let moved = self.moved(own);
        let compiled_ones = self
            .objects
            .iter()
            .filter(|it| !rules::is_definition(&it.value));
        compiled_ones.flat_map(move |object| {
            let remarks = compiled(object, &known, &moved);
            remarks
                .into_iter()
                .map(move |remark| Unsure { object, remark })
        })
    }

    /// The namespaces that may have another name at a site, as `pack` decides it where nobody says.
    fn moved(&self, own: &[SourceNamespace]) -> Vec<Namespace> {
        let names: BTreeSet<&str> = own.iter().map(|it| it.name.as_str()).collect();
        let kinds = self.kinds();
        let fixed = self
            .objects
            .iter()
            .any(|it| kinds.reaches_out(&it.value, &names));
        let moved = own.iter().filter(|it| !it.fixed.unwrap_or(fixed));
        moved.map(|it| it.name.clone()).collect()
    }
}

/// Looks for images in an object; in what is said about it only where a name says that it is one.
fn scan(images: &mut FoundImages, object: &ManifestObject<'_>, title: &str) {
    for (field, value) in object.value.as_object().into_iter().flatten() {
        let searched = match field.as_str() {
            "metadata" => Searched::Fields,
            _ => searched(object.kind()),
        };
        images.scan_document(value, searched, title);
    }
}

/// Returns the texts to search: kinds that run containers, or configure what does, name images in any of their texts.
fn searched(kind: &str) -> Searched {
    const ALL: [&str; 10] = [
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "ReplicationController",
        "PodTemplate",
        "Job",
        "CronJob",
        "Pod",
        "ConfigMap",
    ];
    if ALL.contains(&kind) {
        Searched::All
    } else {
        Searched::Fields
    }
}

/// The specification of an object's pods, if its kind is one of Kubernetes' own that have any.
pub(crate) fn pod(object: &Value) -> Option<&Value> {
    let pointers = manifests::pod_specs(object);
    object.pointer(pointers.first()?)
}

/// The container that kubectl would choose of a workload's pod: the one that the annotation names, the one that
/// builders of operators call `manager`, else the first.
pub(crate) fn main_container<'a>(workload: &Value, pod: &'a Value) -> Option<&'a Value> {
    let containers = list(pod, "/containers");
    let wished = workload
        .pointer("/spec/template/metadata/annotations")
        .and_then(|annotations| annotations.get("kubectl.kubernetes.io/default-container"))
        .and_then(Value::as_str);
    let called = |name: &str| {
        containers
            .iter()
            .find(|container| text(container, "/name") == name)
    };
    wished
        .and_then(called)
        .or_else(|| called("manager"))
        .or_else(|| containers.first())
}

/// Returns the kind and name of a definition, for people.
pub(crate) fn title(definition: &Value) -> String {
    let name = manifests::shown(text(definition, "/metadata/name"));
    format!("CustomResourceDefinition `{name}`")
}

fn compiled(
    object: &ManifestObject<'_>,
    images: &KnownImages,
    namespaces: &[Namespace],
) -> Vec<Remark> {
    let compiler = Compiler {
        images,
        namespaces,
        templates: &[],
    };
    compiler.compile(&mut object.value.clone())
}
