//! The part of a rendering that a controller can apply without a plan, a consent or stored values. The controller reads
//! it from a registry, where more people can read it than may see secrets. The entry point is
//! [`RenderedManifests::hand_over`].
//!
//! [`leave_to_first`] handles objects that multiple deployments in a cluster include, and keeps each in the first
//! deployment only. Controllers that apply such deployments independently would otherwise overwrite each other's
//! version forever. Both are pure functions.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Object, ObjectRef};
use planner::vocabulary as v;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::objects::releases::hook_events;
use crate::plan::render::{ManifestSource, RenderedManifest, RenderedManifests};
use crate::records::namespace_record::{Labels, joined};

/// The Helm events of hooks that are part of an installation or upgrade. Only Helm can run hooks of other events.
const COMING: [&str; 4] = ["pre-install", "post-install", "pre-upgrade", "post-upgrade"];

/// The objects of a rendering that another program can apply, and those that it cannot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handover {
    /// The objects to apply, in the order of the rendering.
    pub manifests: Vec<RenderedManifest>,
    /// The Secrets that are left out.
    pub secrets: Vec<LeftSecret>,
    /// The hooks of charts among the objects to apply.
    pub hooks: Vec<String>,
    /// The hooks that are left out, since they run at a removal or rollback.
    pub left_hooks: Vec<String>,
    /// The objects to apply outside the environment's namespace, without the namespace itself.
    pub external_objects: Vec<String>,
}

/// A Secret with values, which is left out and must be created in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct LeftSecret {
    /// Its namespace and its name, `NAMESPACE/NAME`.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The keys of its values.
    pub keys: Vec<String>,
}

/// The reason why another program cannot apply an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandoverProblem {
    /// An object other than a Secret contains a sensitive value.
    #[error(
        "{0} contains a sensitive value that everyone with read access to the registry could read"
    )]
    Sensitive(String),
    /// The value differs in each rendering, and no record of the first one exists.
    #[error("{0} contains a random value that differs in each rendering and would not be stored")]
    Random(String),
    /// The templates of a chart have read an object outside the environment. The text names the release and the object.
    #[error("{0}, and everyone with read access to the registry could read the result")]
    Read(String),
}

impl RenderedManifests {
    /// Sorts the rendered objects. Sensitive values must be masked in the rendering. The outer error is an unreadable
    /// object. The inner one lists all objects that prevent the handover.
    pub fn hand_over(self) -> Result<Result<Handover, Vec<HandoverProblem>>, Error> {
        let namespace = self.namespace.as_str();
        let reads = self.reads.into_iter();
        let mut problems: Vec<HandoverProblem> = reads.map(HandoverProblem::Read).collect();
        let mut handover = Handover::default();
        for mut manifest in self.manifests {
            let object = Object::new(manifest.object.clone())?;
            let name = object.reference().to_string();
            let events = match manifest.source {
                ManifestSource::Release(_) => hook_events(&object),
                _ => Vec::new(),
            };
            let comes = events.iter().any(|event| COMING.contains(&event.as_str()));
            if !events.is_empty() && !comes {
                handover.left_hooks.push(name);
                continue;
            }
            if manifest.masked && object.is_secret() {
                handover.secrets.push(LeftSecret::new(&object));
                continue;
            }
            if manifest.masked {
                problems.push(HandoverProblem::Sensitive(name));
                continue;
            }
            if manifest.random {
                problems.push(HandoverProblem::Random(name));
                continue;
            }
            if comes {
                handover.hooks.push(name.clone());
            }
            let is_space =
                manifest.source == ManifestSource::Environment && object.gvk().kind == "Namespace";
            if is_space {
                forget_origin(&mut manifest.object);
            } else if object.namespace() != Some(namespace) {
                handover.external_objects.push(name);
            }
            handover.manifests.push(manifest);
        }
        Ok(if problems.is_empty() {
            Ok(handover)
        } else {
            Err(problems)
        })
    }
}

impl LeftSecret {
    fn new(secret: &Object) -> Self {
        let value = secret.as_value();
        let keys = ["data", "stringData"].into_iter();
        let keys = keys.filter_map(|field| value[field].as_object());
        let keys = keys.flat_map(|values| values.keys().cloned());
        Self {
            name: format!(
                "{}/{}",
                secret.namespace().unwrap_or_default(),
                secret.name()
            ),
            kind: value["type"].as_str().unwrap_or("Opaque").to_owned(),
            keys: keys.collect(),
        }
    }
}

/// Removes the annotation that makes a namespace's removal part of its environment's. The controller records no
/// environment, and a rendering after the namespace exists would not have the annotation.
fn forget_origin(space: &mut Value) {
    let annotations = space.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(v::CREATED);
    }
}

/// The objects that a deployment shares with earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// The indexes of the deployments with objects of this one. It must be applied after them.
    pub behind: BTreeSet<usize>,
    /// The objects that differ in these deployments.
    pub differing: Vec<String>,
}

/// Removes each object from all of these deployments but the first one that includes it.
pub fn leave_to_first(all: &mut [Handover]) -> Result<Vec<Overlap>, Error> {
    let mut owners: BTreeMap<ObjectRef, (usize, usize)> = BTreeMap::new();
    let mut overlaps = Vec::new();
    for at in 0..all.len() {
        let (before, own) = all.split_at_mut(at);
        let own = &mut own[0].manifests;
        let (mut overlap, mut kept) = (Overlap::default(), Vec::new());
        for manifest in std::mem::take(own) {
            let object = Object::new(manifest.object.clone())?;
            match owners.get(object.reference()) {
                Some((owner, place)) if *owner < at => {
                    overlap.behind.insert(*owner);
                    let first = &mut before[*owner].manifests[*place];
                    if !agree(first, &manifest) {
                        overlap.differing.push(object.reference().to_string());
                    }
                }
                _ => {
                    owners.insert(object.reference().clone(), (at, kept.len()));
                    kept.push(manifest);
                }
            }
        }
        *own = kept;
        overlaps.push(overlap);
    }
    Ok(overlaps)
}

/// Checks whether two objects are the same or can be merged. A namespace gets the labels of both, unless a label has
/// two values.
fn agree(first: &mut RenderedManifest, other: &RenderedManifest) -> bool {
    if first.object == other.object {
        return true;
    }
    if first.object["kind"] != "Namespace" {
        return false;
    }
    let [own, theirs] = [&first.object, &other.object].map(labels);
    let both = joined([&own, &theirs]);
    if both != joined([&theirs, &own]) {
        return false;
    }
    first.object["metadata"]["labels"] = json!(both);
    true
}

fn labels(object: &Value) -> Labels {
    let labels = object["metadata"]["labels"].as_object();
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered(manifests: Vec<RenderedManifest>) -> RenderedManifests {
        RenderedManifests {
            id: "shop-1.0.0".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            pull_registry: "registry.test".parse().unwrap(),
            placement: store::Placement::default(),
            manifests,
            reads: Vec::new(),
        }
    }

    fn manifest(source: ManifestSource, object: Value) -> RenderedManifest {
        RenderedManifest {
            source,
            random: false,
            masked: false,
            object,
        }
    }

    fn map(name: &str, annotations: &Value) -> RenderedManifest {
        let metadata = json!({ "name": name, "namespace": "prod", "annotations": annotations });
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        manifest(ManifestSource::Release("web".to_owned()), object)
    }

    fn names(handover: &Handover) -> Vec<String> {
        let name = |manifest: &RenderedManifest| {
            manifest.object["metadata"]["name"]
                .as_str()
                .map(str::to_owned)
        };
        handover.manifests.iter().filter_map(name).collect()
    }

    #[test]
    fn a_secret_is_left_out_and_named_and_one_without_values_is_not() {
        let secret = |name: &str, data: Value| {
            let metadata = json!({ "name": name, "namespace": "prod" });
            let object =
                json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
            manifest(ManifestSource::Set("web".to_owned()), object)
        };
        let masked = RenderedManifest {
            masked: true,
            random: true,
            ..secret("a", json!({ "password": "(secret)" }))
        };
        let token = secret("token", json!({}));
        let handover = rendered(vec![masked, token]).hand_over().unwrap().unwrap();
        assert_eq!(names(&handover), ["token"]);
        let left = LeftSecret {
            name: "prod/a".to_owned(),
            kind: "Opaque".to_owned(),
            keys: vec!["password".to_owned()],
        };
        assert_eq!(handover.secrets, [left]);
    }

    #[test]
    fn what_holds_a_sensitive_value_or_is_another_one_each_time_is_refused() {
        let masked = RenderedManifest {
            masked: true,
            ..map("a", &json!({}))
        };
        let random = RenderedManifest {
            random: true,
            ..map("b", &json!({}))
        };
        let refused = rendered(vec![masked, random, map("c", &json!({}))]);
        let sensitive = HandoverProblem::Sensitive("ConfigMap prod/a".to_owned());
        let random = HandoverProblem::Random("ConfigMap prod/b".to_owned());
        assert_eq!(refused.hand_over().unwrap(), Err(vec![sensitive, random]));
    }

    #[test]
    fn what_templates_read_elsewhere_keeps_all_from_being_handed_over() {
        let read = "the templates of the release prod/web read secrets kube-system/s".to_owned();
        let refused = RenderedManifests {
            reads: vec![read.clone()],
            ..rendered(vec![map("a", &json!({}))])
        };
        let expected = Err(vec![HandoverProblem::Read(read)]);
        assert_eq!(refused.hand_over().unwrap(), expected);
    }

    #[test]
    fn hooks_of_a_removal_are_left_out() {
        let hook = |name: &str, events: &str| map(name, &json!({ "helm.sh/hook": events }));
        let all = vec![
            hook("setup", "post-upgrade, Pre-Install"),
            hook("clean", "pre-delete,post-rollback"),
            map("plain", &json!({})),
        ];
        let handover = rendered(all).hand_over().unwrap().unwrap();
        assert_eq!(names(&handover), ["setup", "plain"]);
        assert_eq!(handover.hooks, ["ConfigMap prod/setup"]);
        assert_eq!(handover.left_hooks, ["ConfigMap prod/clean"]);
    }

    #[test]
    fn what_reaches_beyond_is_named_and_a_namespace_is_the_same_once_it_is_there() {
        let space = |annotations: Value| {
            let metadata = json!({ "name": "prod", "annotations": annotations });
            let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
            manifest(ManifestSource::Environment, object)
        };
        let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "nodes" } });
        let role = manifest(ManifestSource::Operator, role);
        let mut elsewhere = map("a", &json!({}));
        elsewhere.object["metadata"]["namespace"] = json!("other");
        let new = space(json!({ v::CREATED: "true", "text": "shop" }));
        let all = vec![new, role, elsewhere, map("b", &json!({}))];
        let handover = rendered(all).hand_over().unwrap().unwrap();
        assert_eq!(
            handover.external_objects,
            ["ClusterRole nodes", "ConfigMap other/a"]
        );
        let there = space(json!({ "text": "shop" }));
        assert_eq!(handover.manifests[0], there);
    }
}

#[cfg(test)]
mod overlap_tests {
    use super::*;
    use crate::plan::render::ManifestSource;
    use crate::records::namespace_record::ENFORCE;

    fn handover(objects: &[Value]) -> Handover {
        let manifest = |object: &Value| RenderedManifest {
            source: ManifestSource::Environment,
            random: false,
            masked: false,
            object: object.clone(),
        };
        Handover {
            manifests: objects.iter().map(manifest).collect(),
            ..Handover::default()
        }
    }

    fn object(kind: &str, name: &str, labels: &Value) -> Value {
        json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name, "labels": labels } })
    }

    fn names(handover: &Handover) -> Vec<&str> {
        let all = handover.manifests.iter();
        all.map(|manifest| manifest.object["metadata"]["name"].as_str().unwrap())
            .collect()
    }

    #[test]
    fn each_object_is_left_to_the_first_and_the_others_come_behind() {
        let none = json!({});
        let [a, b, c] = ["a", "b", "c"].map(|name| object("ConfigMap", name, &none));
        let other = object("ConfigMap", "b", &json!({ "x": "y" }));
        let mut all = [
            handover(&[a.clone(), b]),
            handover(std::slice::from_ref(&c)),
            handover(&[a, other, c]),
        ];
        let overlaps = leave_to_first(&mut all).unwrap();
        assert_eq!(
            all.each_ref().map(names),
            [vec!["a", "b"], vec!["c"], vec![]]
        );
        let last = Overlap {
            behind: [0, 1].into(),
            differing: vec!["ConfigMap b".to_owned()],
        };
        assert_eq!(overlaps, [Overlap::default(), Overlap::default(), last]);
    }

    #[test]
    fn a_namespace_gets_what_each_needs_and_no_two_values_of_one_label() {
        let space = |labels: Value| handover(&[object("Namespace", "prod", &labels)]);
        let come_to = |first: Value, second: Value| {
            let mut all = [space(first), space(second)];
            let overlaps = leave_to_first(&mut all).unwrap();
            let labels = all[0].manifests[0].object["metadata"]["labels"].clone();
            (labels, overlaps[1].differing.len())
        };
        let (lower, higher) = (
            json!({ ENFORCE: "privileged" }),
            json!({ ENFORCE: "baseline" }),
        );
        assert_eq!(come_to(lower.clone(), higher.clone()), (lower.clone(), 0));
        assert_eq!(come_to(higher, lower.clone()), (lower, 0));
        let both = json!({ "a": "1", "b": "2" });
        assert_eq!(come_to(json!({ "a": "1" }), json!({ "b": "2" })), (both, 0));
        let one = json!({ "a": "1" });
        assert_eq!(come_to(one.clone(), json!({ "a": "2" })), (one, 1));
    }
}
