//! Rules for objects in sets and charts. An object must be a valid Kubernetes object, with only the metadata that an
//! import applies, and without content that is forbidden in archives. The entry points are [`object()`] for sets and
//! [`rendered_object`] for charts, which may contain more.

pub(crate) mod api_lifecycle;
pub(crate) mod compiled;
pub(crate) mod monitoring;
pub(crate) mod names;
pub(crate) mod placeholders;

use manifests::ObjectKinds;
use schemas::limits::VALUE_POINTER;
use schemas::{KubernetesName, Namespace, printable_within};
use serde_json::{Map, Value};

use crate::definition::metadata::is_ours;
use crate::definition::{converts_by_webhook, is_definition, refusals};
use crate::document::{RBAC, kind_of, text};
use crate::finding::problem::Problem;
use crate::limits::{PLACEHOLDER_PROBLEMS, POINTER};

/// The namespace of the records of imports.
pub(crate) const RECORDS: &str = "metalk8s-solutions";
/// The annotation of a Secret whose data is public.
const PUBLIC: &str = "solutions.metalk8s.scality.com/public";
/// The label of the roles that Kubernetes itself creates, and restores at each start.
const BOOTSTRAPPING: &str = "kubernetes.io/bootstrapping";
/// The built-in roles and bindings of Kubernetes (`bootstrappolicy/policy.go`). Other software may use the prefix
/// `system:` too, as the metrics server does.
const ROLES: [&str; 18] = [
    "admin",
    "cluster-admin",
    "edit",
    "extension-apiserver-authentication-reader",
    "system:auth-delegator",
    "system:basic-user",
    "system:cluster-trust-bundle-discovery",
    "system:discovery",
    "system:heapster",
    "system:kubelet-api-admin",
    "system:legacy-unknown-approver",
    "system:monitoring",
    "system:persistent-volume-provisioner",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
    "system:volume-scheduler",
    "system:kubelet-api-viewer",
    "view",
];
/// The prefixes of the names of all other built-in roles.
const ROLE_PREFIXES: [&str; 6] = [
    "system::",
    "system:aggregate-to-",
    "system:certificates.k8s.io:",
    "system:controller:",
    "system:kube-",
    "system:node",
];
/// The number of characters of a variable in a message.
const VARIABLE: usize = 80;
/// The metadata fields that an import applies.
const METADATA: [&str; 4] = ["annotations", "labels", "name", "namespace"];

/// Returns the problems of an object.
#[must_use]
pub fn object(document: &Value) -> Vec<Problem> {
    let shape: Vec<Problem> = shape(document).map(Problem::ObjectShape).collect();
    if !shape.is_empty() {
        return shape;
    }
    // A placeholder for a version, an image or a parameter is not the final text, so such definitions are not
    // validated. A placeholder for a namespace contains a valid name, in place of which any other may be used.
    let is_final = is_definition(document)
        && !document
            .to_string()
            .replace("$(namespace:", "")
            .contains("$(");
    let definition = is_final.then(|| refusals(document));
    let forbidden = forbidden(document).map(Problem::Forbidden);
    forbidden.chain(definition.into_iter().flatten()).collect()
}

/// Returns the problems of an object that a chart renders to. Helm may apply any object, except in the namespace of the
/// records and for built-in roles.
#[must_use]
pub fn rendered_object(document: &Value) -> Vec<Problem> {
    reserved(document).map(Problem::Forbidden).collect()
}

/// Returns the problem of a cluster-scoped object that names a namespace. API servers ignore the namespace, and so does
/// an import.
#[must_use]
pub fn namespace_of_cluster(document: &Value, kinds: &ObjectKinds) -> Option<Problem> {
    let namespace = text(document, "/metadata/namespace")?;
    let (_, kind) = kind_of(document);
    let problem = || Problem::NamespaceOfCluster(kind.to_owned(), namespace.to_owned());
    kinds.is_cluster_scoped(document).then(problem)
}

/// Returns the reasons why a document is not an object that can be applied.
fn shape(document: &Value) -> impl Iterator<Item = String> {
    let (api_version, kind) = kind_of(document);
    let is_version = api_version.split('/').count() <= 2
        && api_version
            .split('/')
            .all(|part| part.parse::<KubernetesName>().is_ok());
    let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase())
        && kind.len() <= 63
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_list = kind == "List" || (kind.ends_with("List") && document.get("items").is_some());
    [
        (!is_version).then(|| "`apiVersion` is missing, or not GROUP/VERSION".to_owned()),
        (!is_kind).then(|| "`kind` is missing, or not a valid kind".to_owned()),
        is_list.then(|| format!("is a list of objects (`{kind}`)")),
        name_problem(document),
        document
            .get("status")
            .map(|_| "has a `status`, which only the cluster sets".to_owned()),
    ]
    .into_iter()
    .flatten()
    .chain(metadata(document))
}

/// Returns the reason why the name of an object is missing or invalid.
fn name_problem(document: &Value) -> Option<String> {
    let name = text(document, "/metadata/name").unwrap_or_default();
    let prefix = document.pointer("/metadata/generateName");
    if name.is_empty() && prefix.is_some() {
        let words = "has `metadata.generateName` and no `metadata.name`: every import would create another object; set `metadata.name`";
        return Some(words.to_owned());
    }
    if let Some(variable) = variable(name) {
        return Some(format!(
            "`metadata.name` contains the variable `{variable}`, which was not replaced"
        ));
    }
    (!is_name(name)).then(|| "`metadata.name` is missing, or not a valid object name".to_owned())
}

/// Finds a variable of clusterctl, Flux or envsubst: `${NAME}`, or `${NAME:=TEXT}` with a default.
fn variable(text: &str) -> Option<&str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    for (at, _) in text.match_indices("${") {
        let inner = &text[at + 2..];
        let name = inner.bytes().take_while(is_part).count();
        let is_name = name > 0 && !inner.starts_with(|first: char| first.is_ascii_digit());
        if is_name && inner[name..].starts_with([':', '=', '-', '}']) {
            // If this variable has no end, no later one has.
            let end = inner.find('}')?;
            return Some(&text[at..at + end + 3]);
        }
    }
    None
}

/// Finds unreplaced variables of clusterctl, Flux or envsubst in the values of an object. Commands, arguments,
/// environments, annotations, and the data of ConfigMaps are excluded, because programs use such variables themselves.
#[must_use]
pub fn unreplaced(document: &Value) -> Vec<Problem> {
    let mut found = Vec::new();
    schemas::placeholder::each_text(document, &mut |pointer, text| {
        // A longer position could not be shown, and formatting it for each text would cost as much as the position is
        // long.
        if pointer.len() > VALUE_POINTER || found.len() == PLACEHOLDER_PROBLEMS {
            return;
        }
        let is_program = ["/data/", "/stringData/", "/metadata/annotations/"]
            .iter()
            .any(|start| pointer.starts_with(start))
            || pointer
                .split('/')
                .any(|part| matches!(part, "command" | "args" | "env" | "description"));
        let variable =
            variable(text).filter(|variable| variable.contains(":=") || *variable == text.trim());
        if let Some(variable) = variable.filter(|_| !is_program && !text.contains('\n')) {
            found.push(Problem::Unreplaced(
                printable_within(pointer, POINTER),
                printable_within(variable, VARIABLE),
            ));
        }
    });
    found
}

/// Checks whether a name is valid for any kind. The names of roles are path segments, and those of most other kinds DNS
/// subdomains.
fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= 253
        && !name.contains(['/', '%'])
        && name.bytes().all(|byte| byte.is_ascii_graphic())
}

fn metadata(document: &Value) -> impl Iterator<Item = String> {
    let fields = document.get("metadata").and_then(Value::as_object);
    let other = fields
        .into_iter()
        .flat_map(Map::keys)
        .find(|field| !METADATA.contains(&field.as_str()));
    let other =
        other.map(|field| format!("has `metadata.{field}`, which an import does not apply"));
    let texts = ["labels", "annotations"].into_iter().filter(|field| {
        let map = document
            .get("metadata")
            .and_then(|metadata| metadata.get(field));
        map.is_some_and(|map| {
            let texts = map.as_object();
            texts.is_none_or(|texts| !texts.values().all(Value::is_string))
        })
    });
    let texts = texts.map(|field| format!("`metadata.{field}` is not a map of strings"));
    let namespace = document
        .pointer("/metadata/namespace")
        .filter(|namespace| !namespace.as_str().is_some_and(is_namespace));
    let namespace = namespace
        .map(|_| "`metadata.namespace` is neither a name nor `$(namespace:NAME)`".to_owned());
    other.into_iter().chain(texts).chain(namespace)
}

fn is_namespace(text: &str) -> bool {
    let inner = text.strip_prefix("$(namespace:");
    let name = inner
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(text);
    name.parse::<Namespace>().is_ok()
}

/// Returns the reasons why an object is forbidden in archives, including those that packing can fix.
pub fn forbidden(document: &Value) -> impl Iterator<Item = String> {
    let secret = kind_of(document) == ("v1", "Secret") && has_data(document);
    let shared = is_definition(document) && !converts_by_webhook(document);
    let own = [
        secret.then(|| {
            format!("is a Secret with data, which everyone with the archive can read; if the data is public, set the annotation `{PUBLIC}: 'true'`")
        }),
        shared.then(|| "is a CustomResourceDefinition, which belongs in operator/deploy/crds".to_owned()),
    ];
    own.into_iter().flatten().chain(reserved(document))
}

/// Returns the reasons why an object is reserved for this project or Kubernetes, in sets and in charts.
fn reserved(document: &Value) -> impl Iterator<Item = String> {
    let (api_version, kind) = kind_of(document);
    let name = text(document, "/metadata/name").unwrap_or_default();
    let namespace = match (api_version, kind) {
        ("v1", "Namespace") => Some(name),
        _ => text(document, "/metadata/namespace"),
    };
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let role = group == RBAC && is_kubernetes_role(name);
    [
        (namespace == Some(RECORDS)).then(|| {
            format!("is in the namespace `{RECORDS}`, which is reserved for the records of imports")
        }),
        role.then(|| format!("`{name}` is the name of a built-in role of Kubernetes")),
    ]
    .into_iter()
    .flatten()
    .chain(keys(document))
}

/// Checks whether Kubernetes has a built-in role with this name.
pub(crate) fn is_kubernetes_role(name: &str) -> bool {
    ROLES.contains(&name) || ROLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Describes the reserved labels and annotations.
fn keys(document: &Value) -> impl Iterator<Item = String> {
    let of = |field: &str| {
        let map = document
            .get("metadata")
            .and_then(|metadata| metadata.get(field));
        map.and_then(Value::as_object).into_iter().flatten()
    };
    let refused = |key: &str| is_ours(key) || key == BOOTSTRAPPING;
    let label = of("labels").map(|(key, _)| key).find(|key| refused(key));
    let mut annotations = of("annotations").filter(|(key, value)| {
        let public = key.as_str() == PUBLIC && *value == "true";
        refused(key) && !public
    });
    let annotation = annotations.next().map(|(key, _)| key);
    let label = label.map(|key| format!("has the reserved label `{key}`"));
    let annotation = annotation.map(|key| format!("has the reserved annotation `{key}`"));
    label.into_iter().chain(annotation)
}

fn has_data(secret: &Value) -> bool {
    let public = secret
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(PUBLIC)?.as_str());
    let data = ["data", "stringData"].into_iter().any(|field| {
        let data = secret.get(field).filter(|data| !data.is_null());
        data.is_some_and(|data| data.as_object().is_none_or(|data| !data.is_empty()))
    });
    data && public != Some("true")
}

#[cfg(test)]
mod tests {
    use schemas::yaml;

    use serde_json::json;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        let document: Value = yaml::from_slice(text.as_bytes()).unwrap();
        object(&document).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn objects_of_real_releases_are_in_order() {
        for text in [
            "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: app, labels: {app.kubernetes.io/managed-by: Helm}}, spec: {}}",
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: '$(namespace:app)', annotations: {helm.sh/chart: web-1.0}}}",
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'web:reader'}, rules: []}",
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:metrics-server'}, rules: []}",
            "{apiVersion: v1, kind: Secret, metadata: {name: empty}, data: {}, type: Opaque}",
            "{apiVersion: v1, kind: Secret, metadata: {name: shown, annotations: {solutions.metalk8s.scality.com/public: 'true'}}, stringData: {a: b}}",
            "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: web}, value: 1}",
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.b.test}, spec: {group: b.test, scope: Cluster, names: {plural: as, kind: A}, \
            versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}], conversion: {strategy: Webhook, webhook: \
            {conversionReviewVersions: [v1], clientConfig: {service: {namespace: '$(namespace:app)', name: web}}}}}}",
            "{apiVersion: example.test/v1, kind: AccessList, metadata: {name: x}}",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    /// The examples are a cluster template of Cluster API, and texts of programs.
    #[test]
    fn variables_that_nothing_replaced_are_named() {
        let document = json!({
            "apiVersion": "v1", "kind": "Cluster", "metadata": {"name": "a", "annotations": {"a": "${A}"}},
            "spec": {
                "replicas": "${COUNT:=3}", "version": " ${VERSION}", "image": "r.test/${NAME:=a}:1", "path": "${HOME}/x",
                "containers": [{"command": ["${A}"], "args": ["${A}"], "env": [{"name": "a", "value": "${A}"}]}],
                "script": "a\n${A:=b}\n", "none": ["${}", "${1A}", "$(A)", "${A", "$A", "$${A.b}"],
            },
            "data": {"a": "${A}"},
        });
        let found: Vec<String> = unreplaced(&document)
            .iter()
            .map(ToString::to_string)
            .collect();
        let expected = [
            "/spec/image: `${NAME:=a}`",
            "/spec/replicas: `${COUNT:=3}`",
            "/spec/version: `${VERSION}`",
        ];
        let words = "is a variable that was not replaced";
        assert_eq!(found, expected.map(|place| format!("{place} {words}")));
    }

    #[test]
    fn variables_without_an_end_and_in_long_places_cost_what_they_hold() {
        let long = "k".repeat(300_000);
        let many = vec!["${A:=b}"; 60_000];
        let document = json!({"spec": {long: many}, "text": "${A:".repeat(500_000), "many": many});
        assert_eq!(unreplaced(&document).len(), PLACEHOLDER_PROBLEMS);
    }

    #[test]
    fn what_is_no_object_is_named() {
        for (text, words) in [
            ("[]", "`apiVersion` is missing, or not GROUP/VERSION"),
            (
                "{apiVersion: a/b/c, kind: A, metadata: {name: x}}",
                "`apiVersion` is",
            ),
            (
                "{apiVersion: v1, kind: a_b, metadata: {name: x}}",
                "`kind` is missing",
            ),
            (
                "{apiVersion: v1, kind: List, metadata: {name: x}}",
                "is a list of objects (`List`)",
            ),
            (
                "{apiVersion: v1, kind: PodList, metadata: {name: x}, items: []}",
                "is a list of",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {generateName: x}}",
                "has `metadata.generateName` and no `metadata.name`",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: '${CLUSTER_NAME:=a}-b'}}",
                "`metadata.name` contains the variable `${CLUSTER_NAME:=a}`, which was not replaced",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {}}",
                "`metadata.name` is missing",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: 'a/b'}}",
                "`metadata.name` is missing",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x}, status: {}}",
                "has a `status`",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, finalizers: []}}",
                "has `metadata.finalizers`",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, labels: {a: 1}}}",
                "`metadata.labels` is not a map",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, annotations: null}}",
                "`metadata.annotations` is not a map",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: '$(param:a)'}}",
                "`metadata.namespace` is neither",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: 'a-$(namespace:b)'}}",
                "`metadata.namespace` is neither",
            ),
        ] {
            let found = found(text);
            assert!(found[0].starts_with(words), "{text}: {found:?}");
        }
    }

    /// The value of a placeholder is known only at a site.
    #[test]
    fn definitions_with_placeholders_are_judged_without_them() {
        let definition = |label: &str, kind: &str| {
            let names = json!({"plural": "shops", "kind": "Shop"});
            let webhook = json!({
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "web", "namespace": "$(namespace:web)"}},
            });
            let schema = json!({"openAPIV3Schema": {"type": kind}});
            let versions =
                json!([{"name": "v1", "served": true, "storage": true, "schema": schema}]);
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "shops.demo.test", "labels": {"version": label}},
                "spec": {
                    "group": "demo.test",
                    "scope": "Namespaced",
                    "names": names,
                    "versions": versions,
                    "conversion": {"strategy": "Webhook", "webhook": webhook},
                },
            })
        };
        assert_eq!(object(&definition("1.0.0", "object")), []);
        assert_eq!(object(&definition("$(solution:version)", "object")), []);
        assert_ne!(object(&definition("1.0.0", "thing")), []);
    }

    #[test]
    fn a_chart_may_bring_secrets_and_definitions_but_nothing_reserved() {
        let found = |text: &str| {
            let document: Value = yaml::from_slice(text.as_bytes()).unwrap();
            let found = rendered_object(&document);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        for text in [
            "{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {a: Yg==}}",
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.test}}",
            "{apiVersion: v1, kind: Pod, metadata: {name: x, finalizers: [a.test/b]}, status: {}}",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        for (text, words) in [
            (
                "{apiVersion: v1, kind: Secret, metadata: {name: x, namespace: metalk8s-solutions}}",
                "is in the namespace `metalk8s-solutions`",
            ),
            (
                "{apiVersion: v1, kind: Namespace, metadata: {name: metalk8s-solutions}}",
                "is in the namespace",
            ),
            (
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: edit}}",
                "`edit` is the name",
            ),
            (
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x, labels: {kubernetes.io/bootstrapping: rbac-defaults}}}",
                "has the reserved label",
            ),
        ] {
            let found = found(text);
            assert!(found[0].starts_with(words), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_is_not_for_archives_is_named() {
        for (text, words) in [
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: metalk8s-solutions}}",
                "is in the namespace `metalk8s-solutions`",
            ),
            (
                "{apiVersion: v1, kind: Namespace, metadata: {name: metalk8s-solutions}}",
                "is in the namespace",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, labels: {solutions.metalk8s.scality.com/record: x}}}",
                "has the reserved label",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, annotations: {Solutions.metalk8s.scality.com/x: x}}}",
                "has the reserved annotation",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, annotations: {solutions.metalk8s.scality.com/public: 'yes'}}}",
                "has the reserved annotation",
            ),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: x, labels: {kubernetes.io/bootstrapping: rbac-defaults}}}",
                "has the reserved label",
            ),
            (
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:node'}}",
                "`system:node` is the name",
            ),
            (
                "{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: ClusterRoleBinding, metadata: {name: cluster-admin}}",
                "`cluster-admin` is the name",
            ),
            (
                "{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {a: Yg==}}",
                "is a Secret with data",
            ),
            (
                "{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: [a]}",
                "is a Secret with data",
            ),
            (
                "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.test}}",
                "is a CustomResourceDefinition, which belongs",
            ),
        ] {
            let found = found(text);
            assert!(found[0].starts_with(words), "{text}: {found:?}");
        }
    }
}
