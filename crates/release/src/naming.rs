//! Whether an argument or a variable names a namespace of the release. Programs, classes, images and objects are often
//! called like the namespace that they come in.

use std::collections::BTreeSet;

use manifests::says_otherwise;
use schemas::KubernetesName;

/// The namespace that a text names: alone, as NAMESPACE/NAME, or in a list of either. `name` is that of the flag or
/// variable whose value the text is, empty if there is none; the text may also have flags in it.
pub(crate) fn namespace<'a>(
    name: &str,
    text: &'a str,
    namespaces: &BTreeSet<&str>,
) -> Option<&'a str> {
    text.split_whitespace().find_map(|word| {
        let (name, value) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with('-') => (flag, value),
            _ => (name, word),
        };
        let mut values = value.trim_matches(['"', '\'']).split(',');
        values
            .find_map(|value| of_value(value, namespaces))
            .filter(|_| !says_otherwise(name))
    })
}

fn of_value<'a>(value: &'a str, namespaces: &BTreeSet<&str>) -> Option<&'a str> {
    let (namespace, object) = match value.split_once('/') {
        Some((namespace, object)) => (namespace, Some(object)),
        None => (value, None),
    };
    let is_object = |object: &str| object.parse::<KubernetesName>().is_ok();
    (namespaces.contains(namespace) && object.is_none_or(is_object)).then_some(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(name: &str, text: &'a str) -> Option<&'a str> {
        let names = ["apps", "cert-manager", "ingress-nginx", "kube-system"];
        namespace(name, text, &BTreeSet::from(names))
    }

    #[test]
    fn arguments_of_operators_name_a_namespace() {
        for (text, namespace) in [
            (
                "--configmap=ingress-nginx/ingress-nginx-controller",
                "ingress-nginx",
            ),
            ("--watch-namespace=ingress-nginx", "ingress-nginx"),
            ("--leader-election-namespace=kube-system", "kube-system"),
            (
                "--dynamic-serving-ca-secret-namespace=cert-manager",
                "cert-manager",
            ),
            ("--kubelet-service=kube-system/kubelet", "kube-system"),
            ("--namespaces=default,apps", "apps"),
            ("--leader-elect-ns=\"apps\"", "apps"),
            ("exec manager --user=apps --namespace=apps", "apps"),
            ("in=x,apps/y", "apps"),
        ] {
            assert_eq!(found("", text), Some(namespace), "{text}");
        }
    }

    #[test]
    fn arguments_of_operators_name_something_else() {
        for text in [
            "/nginx-ingress-controller",
            "--election-id=ingress-nginx-leader",
            "--controller-class=k8s.io/ingress-nginx",
            "--ingress-class=ingress-nginx",
            "--publish-service=$(POD_NAMESPACE)/ingress-nginx-controller",
            "--configmap=$(POD_NAMESPACE)/ingress-nginx-controller",
            "--watch-namespace=",
            "--validating-webhook-certificate=/usr/local/certificates/cert",
            "--cluster-resource-namespace=$(POD_NAMESPACE)",
            "--acme-http01-solver-image=quay.io/jetstack/cert-manager-acmesolver:v1",
            "--acme-http01-solver-image=cert-manager/acmesolver",
            "--dynamic-serving-ca-secret-name=cert-manager",
            "--prometheus-config-reloader=quay.io/apps/reloader:v1",
            "--config=/etc/apps/config.yaml",
            "exec manager --user=apps",
            "apps/v1/Deployment",
            "apps-x",
        ] {
            assert_eq!(found("", text), None, "{text}");
        }
    }

    #[test]
    fn the_flag_before_a_value_or_the_variable_counts() {
        for (name, text, namespace) in [
            ("--namespace", "apps", Some("apps")),
            ("-n", "apps", Some("apps")),
            ("--name", "apps", None),
            ("WATCH_NAMESPACE", "apps,other", Some("apps")),
            ("NAMESPACE_NAME", "apps", Some("apps")),
            ("LEASE", "kube-system/lock", Some("kube-system")),
            ("OPERATOR_NAME", "apps", None),
            ("RELATED_IMAGE_DB", "apps/db", None),
        ] {
            assert_eq!(found(name, text), namespace, "{name} {text}");
        }
    }
}
