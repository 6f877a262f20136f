//! The number of replicas of a workload: the packaged one, or the one that another field manager has set. An
//! autoscaler therefore keeps its decision during an upgrade.

use kubernetes::{Object, ObjectError, is_scaled};

use crate::vocabulary as v;

/// Returns an object with the live number of replicas if another field manager, such as an autoscaler or a user, has
/// set it. The number can change at any time. It is therefore determined again when the object is written, and does not
/// influence a plan.
pub fn scaled(object: &Object, live: Option<&Object>) -> Result<Object, ObjectError> {
    let Some(live) = live.filter(|live| is_scaled(live.as_value(), v::FIELD_MANAGER)) else {
        return Ok(object.clone());
    };
    let mut value = object.clone().into_value();
    if let Some(replicas) = value.pointer_mut("/spec/replicas") {
        *replicas = live.as_value()["spec"]["replicas"].clone();
    }
    Object::new(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(replicas: u8, manager: &str) -> Object {
        let fields = json!({ "f:spec": { "f:replicas": {} } });
        Object::new(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "prod",
                "managedFields": [{ "manager": manager, "fieldsV1": fields }],
            },
            "spec": { "replicas": replicas },
        }))
        .unwrap()
    }

    #[test]
    fn the_number_of_pods_is_left_to_whoever_else_set_it() {
        for (manager, replicas) in [("kube-controller-manager", 5), (v::FIELD_MANAGER, 2)] {
            let (desired, live) = (deployment(2, v::FIELD_MANAGER), deployment(5, manager));
            let kept = scaled(&desired, Some(&live)).unwrap();
            assert_eq!(kept.as_value()["spec"]["replicas"], replicas, "{manager}");
        }
    }
}
