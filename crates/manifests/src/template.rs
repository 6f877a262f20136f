//! The positions of pod templates in objects, and of images in pods. Kubernetes' own kinds are known; a Solution
//! declares the positions in its custom resources.

use schemas::PodTemplatePath;
use serde_json::Value;

use crate::document::{list, text};

/// The pods in Kubernetes' own kinds: API group, kind, and the JSON pointer of the pod's specification.
const PODS: [(&str, &str, &str); 9] = [
    ("", "Pod", "/spec"),
    ("", "PodTemplate", "/template/spec"),
    ("", "ReplicationController", "/spec/template/spec"),
    ("apps", "Deployment", "/spec/template/spec"),
    ("apps", "StatefulSet", "/spec/template/spec"),
    ("apps", "DaemonSet", "/spec/template/spec"),
    ("apps", "ReplicaSet", "/spec/template/spec"),
    ("batch", "Job", "/spec/template/spec"),
    ("batch", "CronJob", "/spec/jobTemplate/spec/template/spec"),
];

/// Returns the JSON pointers of pod specifications in an object. `others` are the paths of pod templates in custom
/// resources.
fn pods<'a>(
    object: &Value,
    others: &'a [PodTemplatePath],
) -> impl Iterator<Item = String> + use<'a> {
    let api_version = text(object, "/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let (group, kind) = (group.to_owned(), text(object, "/kind").to_owned());
    let is_own = {
        let (group, kind) = (group.clone(), kind.clone());
        move |(of, named, _): &(&str, &str, &str)| *of == group && *named == kind
    };
    let own = PODS.into_iter().filter(is_own);
    let others = others
        .iter()
        .filter(move |path| path.group == group && path.kind == kind);
    own.map(|(_, _, pointer)| pointer.to_owned())
        .chain(others.map(|path| format!("{}/spec", path.path)))
}

/// Returns the JSON pointers of pod specifications in an object of Kubernetes' own kinds.
#[must_use]
pub fn pod_specs(object: &Value) -> Vec<String> {
    pods(object, &[]).collect()
}

/// Returns the JSON pointers of images of an object's containers and image volumes.
pub(crate) fn images(object: &Value, others: &[PodTemplatePath]) -> Vec<String> {
    let mut images = Vec::new();
    for pod in pods(object, others) {
        for containers in ["containers", "initContainers", "ephemeralContainers"] {
            let containers = format!("{pod}/{containers}");
            let count = list(object, &containers).len();
            images.extend((0..count).map(|index| format!("{containers}/{index}/image")));
        }
        let volumes = format!("{pod}/volumes");
        let count = list(object, &volumes).len();
        images.extend((0..count).map(|index| format!("{volumes}/{index}/image/reference")));
    }
    images
}
