//! The switch of a Solution between two forms: deployed by an operator, or from packaged manifests. The workloads of
//! the old form are scaled to zero before those of the new one start, since both would manage the same resources. An
//! object whose name occurs in both forms is handed over and not deleted.

use kubernetes::{Gvk, Object, ObjectError, ObjectRef};
use serde_json::json;

use crate::applied::without_server_fields;
use crate::vocabulary as v;

/// Returns the live workloads to stop because the desired `objects` have the other form. `operator` is the Deployment
/// of the operator, which decides the form by its presence.
pub(crate) fn stopping<'a>(
    live: &[&'a Object],
    objects: &[&Object],
    operator: &ObjectRef,
) -> Vec<&'a Object> {
    // The packaged objects in a namespace do not have this label.
    let is_operator = |object: &&Object| {
        object.reference().is_same_object(operator) && object.labels().contains_key(v::ENVIRONMENT)
    };
    let (was, is) = (
        live.iter().any(&is_operator),
        objects.iter().any(is_operator),
    );
    if was == is {
        return Vec::new();
    }
    let goes = |live: &Object| {
        let mut objects = objects.iter();
        !objects.any(|object| object.reference().is_same_object(live.reference()))
    };
    // From the operator form, only the operator stops. Towards it, all packaged workloads stop that the operator form
    // does not contain.
    let stops = |live: &&&Object| {
        let is_it = live.reference().is_same_object(operator);
        runs(live.gvk()) && (is_it || !was && goes(live))
    };
    live.iter().filter(stops).copied().collect()
}

/// Checks whether a stopped workload cannot be updated to its successor, because the selector of a workload is
/// immutable. The stopped workload has no pods, so replacing it loses nothing.
pub(crate) fn is_unfit(stopped: &Object, next: &Object) -> bool {
    let selector = |object: &Object| object.as_value()["spec"]["selector"].clone();
    selector(next) != selector(stopped)
}

/// Checks whether objects of a kind keep pods running.
fn runs(kind: &Gvk) -> bool {
    let kinds = ["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"];
    kind.group == "apps" && kinds.contains(&kind.kind.as_str())
}

/// Returns a workload scaled to zero. An annotation keeps its number of replicas, so that a rollback or a later run can
/// restore it.
pub fn scale_to_zero(live: &Object) -> Result<Object, ObjectError> {
    let mut value = without_server_fields(live.clone().into_value());
    // After an interruption the workload may be stopped again; its replicas are 0 by then.
    if !live.annotations().contains_key(v::STOPPED) {
        let replicas = value["spec"]["replicas"].as_u64().unwrap_or(1);
        value["metadata"]["annotations"][v::STOPPED] = json!(replicas.to_string());
    }
    value["spec"]["replicas"] = json!(0);
    Object::new(value)
}

/// Returns a workload with the number of replicas that it had before it was stopped, or unchanged if it was not
/// stopped.
pub fn started(object: Object) -> Result<Object, ObjectError> {
    let replicas = object.annotations().get(v::STOPPED).copied();
    let Some(replicas) = replicas.and_then(|text| text.parse::<u32>().ok()) else {
        return Ok(object);
    };
    let mut value = object.into_value();
    value["spec"]["replicas"] = json!(replicas);
    if let Some(annotations) = value["metadata"]["annotations"].as_object_mut() {
        annotations.remove(v::STOPPED);
    }
    Object::new(value)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn workload(kind: &str, name: &str, labels: &Value) -> Object {
        Object::new(json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": { "name": name, "namespace": "prod", "labels": labels },
            "spec": { "replicas": 3, "selector": { "matchLabels": { "app": name } } },
        }))
        .unwrap()
    }

    #[test]
    fn what_ran_stops_only_where_the_form_changes() {
        let reference = ObjectRef::namespaced("apps/v1", "Deployment", "prod", "shop-operator");
        let stopping = |live: &[Object], objects: &[Object]| -> Vec<String> {
            let (live, objects): (Vec<_>, Vec<_>) =
                (live.iter().collect(), objects.iter().collect());
            let stopping = super::stopping(&live, &objects, &reference).into_iter();
            stopping
                .map(|object| object.reference().to_string())
                .collect()
        };
        let operator = workload(
            "Deployment",
            "shop-operator",
            &json!({ v::ENVIRONMENT: "prod" }),
        );
        let carried = |name: &str| workload("Deployment", name, &json!({}));
        let daemon = workload("DaemonSet", "agent", &json!({}));
        let both = [operator.clone(), carried("web")];
        assert_eq!(stopping(&both, &both[..1]), [""; 0]);
        assert_eq!(
            stopping(&[carried("web"), daemon.clone()], &[carried("api")]),
            [""; 0]
        );
        // From the operator form, in which only the operator's Deployment counts.
        assert_eq!(
            stopping(&both, &[carried("api")]),
            ["Deployment prod/shop-operator"]
        );
        assert_eq!(
            stopping(&both, &[carried("shop-operator")]),
            ["Deployment prod/shop-operator"]
        );
        // To the operator form: a packaged workload that the operator form also contains keeps running.
        let live = [carried("web"), carried("api"), daemon];
        let next = [operator, carried("web")];
        assert_eq!(
            stopping(&live, &next),
            ["Deployment prod/api", "DaemonSet prod/agent"]
        );
        assert_eq!(
            stopping(&[carried("shop-operator")], &next),
            ["Deployment prod/shop-operator"]
        );
    }

    #[test]
    fn one_that_selects_other_pods_is_made_anew() {
        let live = workload("Deployment", "web", &json!({}));
        assert!(!is_unfit(&live, &live));
        let mut other = live.clone().into_value();
        other["spec"]["selector"]["matchLabels"] = json!({ "name": "web" });
        assert!(is_unfit(&live, &Object::new(other).unwrap()));
    }

    #[test]
    fn what_is_stopped_comes_back_as_it_was() {
        let live = workload("Deployment", "web", &json!({}));
        let once = scale_to_zero(&live).unwrap();
        assert_eq!(once.as_value()["spec"]["replicas"], 0);
        // An interrupted change may stop it twice.
        let back = started(scale_to_zero(&once).unwrap()).unwrap();
        assert_eq!(back.as_value()["spec"]["replicas"], 3);
        assert!(!back.annotations().contains_key(v::STOPPED));
        assert_eq!(started(live.clone()).unwrap(), live);
    }
}
