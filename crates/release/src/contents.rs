//! The contents of a release. [`ReleaseObjects`] separates the objects of a manifest set from the custom resource
//! definitions, finds the images that they name, and reports the texts that `pack` cannot decide about.

use std::collections::BTreeSet;

use manifests::reference::Hint;
use manifests::{
    CompileQuestion, Compiler, KnownImages, ManifestObject, ManifestsError, ObjectKinds, Remark,
    list, text,
};
use schemas::{Namespace, SourceNamespace};
use serde_json::Value;

use crate::ReleaseError;
use crate::images::{DraftImages, FoundImages, SearchScope};
use crate::limits::RELEASE_IMAGES;

/// The API group of roles and bindings, which name no images.
const RBAC: &str = "rbac.authorization.k8s.io";

/// The objects of a release.
#[derive(Debug)]
pub(crate) struct ReleaseObjects<'a> {
    /// The objects of the manifest set, in the release's order.
    pub(crate) objects: Vec<ManifestObject<'a>>,
    /// Custom resource definitions that belong to the cluster and to no environment.
    pub(crate) definitions: Vec<Value>,
}

/// A remark of the compiler about a text that needs the user's decision.
pub(crate) struct UnclearText<'a> {
    pub(crate) object: &'a ManifestObject<'a>,
    pub(crate) remark: Remark,
}

impl<'a> ReleaseObjects<'a> {
    /// Separates the objects from the definitions. A definition with webhook conversion stays in the set, because its
    /// webhook is in one namespace; all others are shared by the environments of a cluster.
    pub(crate) fn of(all: Vec<ManifestObject<'a>>) -> Self {
        let is_the_clusters = |object: &ManifestObject<'_>| {
            rules::is_definition(&object.value) && !rules::converts_by_webhook(&object.value)
        };
        let (definitions, objects): (Vec<_>, Vec<_>) = all.into_iter().partition(is_the_clusters);
        let definitions: Vec<Value> = definitions
            .into_iter()
            .map(|definition| definition.value)
            .collect();
        Self {
            objects,
            definitions,
        }
    }

    /// Returns the kinds that the definitions declare.
    pub(crate) fn kinds(&self) -> ObjectKinds {
        ObjectKinds::new(&self.definitions)
    }

    /// Returns every image that the release names in a place that is known to hold images.
    ///
    /// # Errors
    ///
    /// Fails if the objects name more than [`RELEASE_IMAGES`].
    pub(crate) fn images(&self) -> Result<DraftImages, ReleaseError> {
        let mut images = FoundImages::default();
        for object in &self.objects {
            let title = object.title();
            for remark in compiled(object, &KnownImages::default(), &[]) {
                if let CompileQuestion::Missing(reference) = remark.what {
                    images.scan(reference.as_str(), Hint::Image, &title);
                }
            }
            if !rules::is_definition(&object.value) && object.group() != RBAC {
                scan(&mut images, object, &title);
            }
            ManifestsError::check(&object.place, images.len(), RELEASE_IMAGES, "images")?;
        }
        for definition in &self.definitions {
            images.scan_defaults(&definition["spec"], &title(definition));
        }
        Ok(images.named())
    }

    /// Returns the remarks that `pack` will have about the objects. Definitions are not compiled: images in them are
    /// documentation.
    pub(crate) fn unsure(
        &'a self,
        images: &'a DraftImages,
        own: &[SourceNamespace],
    ) -> impl Iterator<Item = UnclearText<'a>> {
        let known = images.known();
        let moved = self.moved(own);
        let compiled_ones = self
            .objects
            .iter()
            .filter(|object| !rules::is_definition(&object.value));
        compiled_ones.flat_map(move |object| {
            let remarks = compiled(object, &known, &moved);
            remarks
                .into_iter()
                .map(move |remark| UnclearText { object, remark })
        })
    }

    /// Returns the namespaces that a site can rename. Without a choice of the user, `pack` fixes all of them if an
    /// object is outside of these namespaces.
    fn moved(&self, own: &[SourceNamespace]) -> Vec<Namespace> {
        let names: BTreeSet<&str> = own
            .iter()
            .map(|namespace| namespace.name.as_str())
            .collect();
        let kinds = self.kinds();
        let fixed = self
            .objects
            .iter()
            .any(|object| kinds.reaches_out(&object.value, &names));
        let moved = own
            .iter()
            .filter(|namespace| !namespace.fixed.unwrap_or(fixed));
        moved.map(|namespace| namespace.name.clone()).collect()
    }
}

/// Searches an object for images. In its metadata, only fields whose name suggests an image are searched.
fn scan(images: &mut FoundImages, object: &ManifestObject<'_>, title: &str) {
    for (field, value) in object.value.as_object().into_iter().flatten() {
        let searched = match field.as_str() {
            "metadata" => SearchScope::Fields,
            _ => searched(object.kind()),
        };
        images.scan_document(value, searched, title);
    }
}

/// Returns the texts to search in objects of a kind. Kinds that run or configure containers can name images in any
/// text.
fn searched(kind: &str) -> SearchScope {
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
        SearchScope::All
    } else {
        SearchScope::Fields
    }
}

/// Returns the pod specification of an object whose kind is one of Kubernetes' workload kinds.
pub(crate) fn pod(object: &Value) -> Option<&Value> {
    let pointers = manifests::pod_specs(object);
    object.pointer(pointers.first()?)
}

/// Returns the container that kubectl selects by default: the one that the annotation names, else the first. Without
/// the annotation, a container `manager` takes precedence, the name that operator scaffolding tools use.
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

/// Returns the kind and name of a definition, for messages.
pub(crate) fn title(definition: &Value) -> String {
    let name = manifests::display_text(text(definition, "/metadata/name"));
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
