//! Objects that multiple deployments in a cluster include. Controllers that apply such deployments independently would
//! overwrite each other's version forever, so [`leave_to_first`] keeps each object in the first deployment only. Pure
//! functions.

use std::collections::{BTreeMap, BTreeSet};

use deployer::{Object, ObjectRef};
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::model::space::{Labels, joined};
use crate::plan::handover::Handover;
use crate::plan::render::RenderedManifest;

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
    use super::*;
    use crate::model::space::ENFORCE;
    use crate::plan::render::ManifestSource;

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
