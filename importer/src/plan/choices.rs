//! The choices of a site for a workload, in the object that is applied. A pure function.

use schemas::{Choices, Proxy};
use serde_json::{Value, json};

use crate::plan::operator::promise;

/// The address of the API server, which is never asked through a proxy; Kubernetes replaces it.
const API_SERVER: &str = "$(KUBERNETES_SERVICE_HOST)";

/// Writes the choices into a Deployment.
pub(crate) fn apply(choices: &Choices, deployment: &mut Value) {
    if let Some(replicas) = choices.replicas {
        deployment["spec"]["replicas"] = json!(replicas);
    }
    let marks = [
        ("labels", json!(choices.labels)),
        ("annotations", json!(choices.annotations)),
    ];
    for (field, chosen) in &marks {
        extend(&mut deployment["metadata"], field, chosen);
        extend(
            &mut deployment["spec"]["template"]["metadata"],
            field,
            chosen,
        );
    }
    let pod = &mut deployment["spec"]["template"]["spec"];
    extend(pod, "nodeSelector", &json!(choices.node_selector));
    if let Some(tolerations) = &choices.tolerations {
        pod["tolerations"] = json!(tolerations);
    }
    if let Some(affinity) = &choices.affinity {
        pod["affinity"] = json!(affinity);
    }
    if let Some(class) = &choices.priority_class_name {
        pod["priorityClassName"] = json!(class);
    }
    let containers = pod["containers"].as_array_mut();
    let mut containers = containers.into_iter().flatten();
    // The first is the operator's. What stands beside it has other needs, but does without the same.
    if let Some(operator) = containers.next() {
        self::container(choices, operator);
    }
    for other in containers {
        promise(choices.security_context, &mut other["securityContext"]);
    }
}

fn container(choices: &Choices, container: &mut Value) {
    if let Some(resources) = &choices.resources {
        container["resources"] = json!(resources);
    }
    promise(choices.security_context, &mut container["securityContext"]);
    let chosen = choices.env.iter();
    let chosen = chosen.map(|(name, value)| (name.to_string(), value.clone()));
    let Some(variables) = container["env"].as_array_mut() else {
        return;
    };
    for (name, value) in proxies(&choices.proxy).into_iter().chain(chosen) {
        variables.retain(|variable| variable["name"] != name.as_str());
        variables.push(json!({ "name": name, "value": value }));
    }
}

/// The variables of proxies: programs differ in whether they read them in upper or lower case.
fn proxies(proxy: &Proxy) -> Vec<(String, String)> {
    if proxy.is_empty() {
        return Vec::new();
    }
    let no = proxy.no.iter().map(String::as_str);
    let no: Vec<&str> = no.chain([API_SERVER]).collect();
    let variables = [
        ("HTTP_PROXY", proxy.http.clone()),
        ("HTTPS_PROXY", proxy.https.clone()),
        ("NO_PROXY", Some(no.join(","))),
    ];
    let set = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    set.flat_map(|(name, value)| {
        [
            (name.to_owned(), value.clone()),
            (name.to_ascii_lowercase(), value),
        ]
    })
    .collect()
}

/// Adds to a map of an object what is chosen, if anything is.
fn extend(object: &mut Value, field: &str, chosen: &Value) {
    let Some(chosen) = chosen.as_object().filter(|chosen| !chosen.is_empty()) else {
        return;
    };
    for (key, value) in chosen {
        object[field][key] = value.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Value {
        json!({
            "metadata": { "name": "a", "labels": { "app": "a" } },
            "spec": {
                "replicas": 1,
                "selector": { "matchLabels": { "app": "a" } },
                "template": {
                    "metadata": { "labels": { "app": "a" }, "annotations": { "hash": "0" } },
                    "spec": { "containers": [{
                        "name": "a",
                        "image": "r.test/a@sha256:0",
                        "env": [{ "name": "LOG", "value": "info" }, { "name": "POD_NAME" }],
                        "securityContext": { "allowPrivilegeEscalation": false },
                    }] },
                },
            },
        })
    }

    fn applied(choices: Value) -> Value {
        let choices: Choices = serde_json::from_value(choices).unwrap();
        let mut deployment = deployment();
        apply(&choices, &mut deployment);
        deployment
    }

    #[test]
    fn nothing_chosen_changes_nothing() {
        assert_eq!(applied(json!({})), deployment());
    }

    #[test]
    fn what_is_chosen_reaches_the_workload_and_its_pods() {
        let deployment = applied(json!({
            "replicas": 2,
            "resources": { "limits": { "cpu": "1" } },
            "nodeSelector": { "kubernetes.io/arch": "amd64" },
            "tolerations": [{ "key": "infra", "operator": "Exists", "effect": "NoSchedule" }],
            "affinity": { "podAntiAffinity": { "x": [1] } },
            "priorityClassName": "high",
            "labels": { "team": "shop" },
            "annotations": { "note": "n" },
            "securityContext": { "runAsNonRoot": true, "runAsUser": 7 },
        }));
        let template = &deployment["spec"]["template"];
        let pod = &template["spec"];
        assert_eq!(deployment["spec"]["replicas"], 2);
        assert_eq!(
            deployment["spec"]["selector"],
            self::deployment()["spec"]["selector"]
        );
        assert_eq!(
            deployment["metadata"]["annotations"],
            json!({ "note": "n" })
        );
        assert_eq!(
            template["metadata"]["labels"],
            json!({ "app": "a", "team": "shop" })
        );
        assert_eq!(
            template["metadata"]["annotations"],
            json!({ "hash": "0", "note": "n" })
        );
        assert_eq!(
            pod["nodeSelector"],
            json!({ "kubernetes.io/arch": "amd64" })
        );
        assert_eq!(
            pod["tolerations"],
            json!([{ "key": "infra", "operator": "Exists", "effect": "NoSchedule" }])
        );
        assert_eq!(pod["affinity"], json!({ "podAntiAffinity": { "x": [1] } }));
        assert_eq!(pod["priorityClassName"], "high");
        let container = &pod["containers"][0];
        assert_eq!(container["image"], "r.test/a@sha256:0");
        assert_eq!(container["resources"], json!({ "limits": { "cpu": "1" } }));
        assert_eq!(
            container["securityContext"],
            json!({ "allowPrivilegeEscalation": false, "runAsNonRoot": true, "runAsUser": 7 })
        );
    }

    #[test]
    fn a_variable_replaces_the_manifests_and_proxies_leave_out_the_api_server() {
        let deployment = applied(json!({
            "env": { "LOG": "debug" },
            "proxy": { "https": "http://proxy.test:3128", "no": ".site" },
        }));
        let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
        let expected = json!([
            { "name": "POD_NAME" },
            { "name": "HTTPS_PROXY", "value": "http://proxy.test:3128" },
            { "name": "https_proxy", "value": "http://proxy.test:3128" },
            { "name": "NO_PROXY", "value": ".site,$(KUBERNETES_SERVICE_HOST)" },
            { "name": "no_proxy", "value": ".site,$(KUBERNETES_SERVICE_HOST)" },
            { "name": "LOG", "value": "debug" },
        ]);
        assert_eq!(*env, expected);
    }
}
