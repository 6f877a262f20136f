//! Hazards of objects, whoever has rights to what: the one table. Rights are in `danger`, what pods take of
//! their nodes is in `pod`.
//!
//! What is accepted of an object is more than its name: [`acts`] is the content that decides what it does.

use schemas::printable_within;
use serde_json::{Map, Value, json};

use super::groups::{ADMISSION, RBAC};
use super::pod::{beyond_namespace, quoted};
use super::role::aggregates;
use super::{group_of, kind_of, text};
use crate::limits::POINTER;

/// Something dangerous that an object does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The act, as a whole sentence with the object's name.
    pub words: String,
    /// The weight that it has for whoever lets it in.
    pub weight: HazardWeight,
}

/// The weight of a hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HazardWeight {
    /// The hazard has to be accepted by somebody.
    Consent,
    /// The hazard is shown.
    Notice,
}

/// Finds what an object or a pod does.
type Find = fn(&Value) -> Vec<String>;

/// A row: of objects of these kinds, what they do.
struct Row {
    group: &'static str,
    kinds: &'static [&'static str],
    weight: HazardWeight,
    find: Find,
}

const fn row(
    group: &'static str,
    kinds: &'static [&'static str],
    weight: HazardWeight,
    find: Find,
) -> Row {
    Row {
        group,
        kinds,
        weight,
        find,
    }
}

static OBJECTS: &[Row] = &[
    row("", &["Namespace"], HazardWeight::Consent, lowered),
    row("", &["Namespace"], HazardWeight::Notice, unguarded),
    row("", &["PersistentVolume"], HazardWeight::Consent, of_node),
    row("", &["Secret"], HazardWeight::Consent, token),
    row("", &["Service"], HazardWeight::Consent, external_addresses),
    row("", &["Service"], HazardWeight::Notice, opened),
    row("", &["Endpoints"], HazardWeight::Notice, endpoints),
    row(
        "discovery.k8s.io",
        &["EndpointSlice"],
        HazardWeight::Notice,
        slices,
    ),
    row(
        "networking.k8s.io",
        &["Ingress"],
        HazardWeight::Consent,
        snippets,
    ),
    row("extensions", &["Ingress"], HazardWeight::Consent, snippets),
    row(
        "scheduling.k8s.io",
        &["PriorityClass"],
        HazardWeight::Consent,
        priority,
    ),
    row(RBAC, &["ClusterRole"], HazardWeight::Consent, gathering),
];

/// The hazards of pods, to be read behind "the pods of" an object.
static PODS: &[(HazardWeight, Find)] = &[
    (HazardWeight::Consent, beyond_namespace),
    (HazardWeight::Consent, system_priority),
    (HazardWeight::Notice, placed),
];

/// The classes of pods that others have to make room for.
const SYSTEM_PRIORITIES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];
/// The levels of PodSecurity below the strictest.
const LOWERED: [&str; 2] = ["privileged", "baseline"];
const POD_SECURITY: &str = "pod-security.kubernetes.io/";
/// The labels by which a namespace is left out by what guards it; some do so with one value only.
const GUARDS: [(&str, Option<&str>); 6] = [
    ("admission.gatekeeper.sh/ignore", None),
    ("openpolicyagent.org/webhook", Some("ignore")),
    ("cert-manager.io/disable-validation", Some("true")),
    ("istio-injection", Some("disabled")),
    ("linkerd.io/admission-webhooks", Some("disabled")),
    (
        "security.openshift.io/scc.podSecurityLabelSync",
        Some("false"),
    ),
];

/// Returns everything dangerous that an object does by itself, of Kubernetes' own kinds.
#[must_use]
pub fn hazards(object: &Value) -> Vec<Hazard> {
    let what = called(object);
    let (group, kind) = (group_of(object), kind_of(object).1);
    let rows = OBJECTS.iter();
    let rows = rows.filter(|row| row.group == group && row.kinds.contains(&kind));
    let own = rows.flat_map(|row| {
        let found = (row.find)(object).into_iter();
        found.map(|words| hazard(row.weight, format!("{what} {words}")))
    });
    let pods = pods(object);
    let of_pods = pods.iter().flat_map(|pod| {
        PODS.iter().flat_map(|(weight, find)| {
            let found = find(pod).into_iter();
            found.map(|words| hazard(*weight, format!("the pods of {what} {words}")))
        })
    });
    own.chain(of_pods).collect()
}

fn hazard(weight: HazardWeight, words: String) -> Hazard {
    Hazard { words, weight }
}

/// Returns the names of the ServiceAccounts that an object's pods run as.
#[must_use]
pub fn accounts(object: &Value) -> Vec<&str> {
    let specs = manifests::pod_specs(object).into_iter();
    let specs = specs.filter_map(|spec| object.pointer(&spec));
    let named = |spec| {
        let names = ["/serviceAccountName", "/serviceAccount"].map(|field| text(spec, field));
        names.into_iter().flatten().find(|name| !name.is_empty())
    };
    specs.map(|spec| named(spec).unwrap_or("default")).collect()
}

/// An object as messages name it.
fn called(object: &Value) -> String {
    let shown = |text: &str| printable_within(text, POINTER);
    let name = shown(text(object, "/metadata/name").unwrap_or_default());
    let kind = shown(kind_of(object).1);
    match text(object, "/metadata/namespace") {
        Some(namespace) => format!("{kind} {}/{name}", shown(namespace)),
        None => format!("{kind} {name}"),
    }
}

/// The pods of an object, each with `metadata` and `spec`.
fn pods(object: &Value) -> Vec<&Value> {
    let specs = manifests::pod_specs(object).into_iter();
    let pods = specs.filter_map(|spec| object.pointer(spec.strip_suffix("/spec")?));
    pods.collect()
}

fn lowered(space: &Value) -> Vec<String> {
    let level = labels(space).find(|(key, _)| *key == format!("{POD_SECURITY}enforce"));
    let level = level.filter(|(_, level)| LOWERED.contains(level));
    let words = |(_, level)| {
        format!("is held to the PodSecurity level `{level}`, and no longer to a higher one")
    };
    level.map(words).into_iter().collect()
}

/// Returns which other guards of a namespace are switched off. Audits and warnings stop nobody, and an older version of
/// the standard stops less.
fn unguarded(space: &Value) -> Vec<String> {
    let switches_off = |key: &str, value: &str| {
        let mode = key.strip_prefix(POD_SECURITY);
        mode.is_some_and(|it| it != "enforce" && LOWERED.contains(&value))
            || mode == Some("enforce-version") && value != "latest"
            || GUARDS
                .iter()
                .any(|(guard, only)| *guard == key && only.is_none_or(|only| only == value))
    };
    let off = labels(space).filter(|(key, value)| switches_off(key, value));
    off.map(|(key, value)| {
        format!(
            "has a guard switched off: {}",
            quoted(&format!("{key}={value}"))
        )
    })
    .collect()
}

fn of_node(volume: &Value) -> Vec<String> {
    let paths = ["hostPath", "local"].map(|source| text(volume, &format!("/spec/{source}/path")));
    let paths = paths.into_iter().flatten();
    paths
        .map(|path| format!("is {} of a node", quoted(path)))
        .collect()
}

fn token(secret: &Value) -> Vec<String> {
    match text(secret, "/type") {
        Some("kubernetes.io/service-account-token") => {
            let account = "/metadata/annotations/kubernetes.io~1service-account.name";
            let account = text(secret, account).unwrap_or_default();
            vec![format!(
                "gets a token of the ServiceAccount {} that never expires",
                quoted(account)
            )]
        }
        Some("bootstrap.kubernetes.io/token") => {
            vec!["is a login by which nodes join the cluster".to_owned()]
        }
        _ => Vec::new(),
    }
}

fn external_addresses(service: &Value) -> Vec<String> {
    let addresses = texts(service, "/spec/externalIPs");
    let words = |address| format!("takes what the cluster sends to {}", quoted(address));
    addresses.map(words).collect()
}

fn opened(service: &Value) -> Vec<String> {
    match text(service, "/spec/type") {
        Some("NodePort") => vec!["is open on a port of every node (NodePort)".to_owned()],
        Some("LoadBalancer") => {
            vec!["is open outside of the cluster (LoadBalancer)".to_owned()]
        }
        Some("ExternalName") => {
            let name = text(service, "/spec/externalName").unwrap_or_default();
            vec![format!("leads to {} (ExternalName)", quoted(name))]
        }
        _ => Vec::new(),
    }
}

fn endpoints(object: &Value) -> Vec<String> {
    let subsets = manifests::list(object, "/subsets").iter();
    let fields = ["/addresses", "/notReadyAddresses"];
    let addresses =
        subsets.flat_map(|it| fields.iter().flat_map(|field| manifests::list(it, field)));
    let addresses = addresses.filter_map(|address| text(address, "/ip"));
    addresses.map(chosen_address).collect()
}

fn slices(object: &Value) -> Vec<String> {
    let endpoints = manifests::list(object, "/endpoints").iter();
    let addresses = endpoints.flat_map(|endpoint| texts(endpoint, "/addresses"));
    addresses.map(chosen_address).collect()
}

/// No pod's address is known when an archive is packed.
fn chosen_address(address: &str) -> String {
    format!(
        "leads to the address {}, which is no pod's",
        quoted(address)
    )
}

fn snippets(ingress: &Value) -> Vec<String> {
    let annotations = ingress.pointer("/metadata/annotations");
    let keys = annotations.and_then(Value::as_object).into_iter().flatten();
    let keys = keys.filter(|(key, value)| is_snippet(key, value));
    keys.map(|(key, _)| {
        format!(
            "writes into the ingress controller's own configuration: {}",
            quoted(key)
        )
    })
    .collect()
}

fn is_snippet(key: &str, value: &Value) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    let is_said = value.as_str().is_some_and(|it| !it.is_empty());
    is_said && (name.contains("snippet") || name.starts_with("config-"))
}

fn priority(class: &Value) -> Vec<String> {
    let value = class
        .get("value")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let own = (value > 0)
        .then(|| format!("lets its pods take the place of others of less priority than {value}"));
    let default = class.get("globalDefault") == Some(&Value::Bool(true));
    let default = default.then(|| "is the priority of every pod that names none".to_owned());
    own.into_iter().chain(default).collect()
}

fn gathering(role: &Value) -> Vec<String> {
    let words = "gathers the rights of other ClusterRoles";
    aggregates(role)
        .then(|| words.to_owned())
        .into_iter()
        .collect()
}

fn system_priority(pod: &Value) -> Vec<String> {
    let class = text(pod, "/spec/priorityClassName");
    let class = class.filter(|it| SYSTEM_PRIORITIES.contains(it));
    class
        .map(|it| format!("take the place of all others ({it})"))
        .into_iter()
        .collect()
}

/// Returns the words for pods that run though a node was to be kept free of them.
fn placed(pod: &Value) -> Vec<String> {
    let tolerates_all = |toleration: &Value| {
        text(toleration, "/key").is_none_or(str::is_empty)
            && text(toleration, "/operator") == Some("Exists")
    };
    let everything = manifests::list(pod, "/spec/tolerations")
        .iter()
        .any(tolerates_all);
    let everything = everything.then(|| "run on nodes that are kept free of pods".to_owned());
    let node = text(pod, "/spec/nodeName").filter(|it| !it.is_empty());
    let node = node.map(|node| format!("choose the node {} themselves", quoted(node)));
    everything.into_iter().chain(node).collect()
}

/// Returns the content that decides what an object does, of those whose name does not say it: the rules, addresses and
/// policies of webhooks, pods without what is theirs by version or by the site (images, size), sources of volumes. A
/// version that a label names changes nothing of it. None where nothing of it acts beyond what is said of it elsewhere.
#[must_use]
pub fn acts(object: &Value) -> Option<Value> {
    let specs = manifests::pod_specs(object);
    if !specs.is_empty() {
        let specs = specs.iter().filter_map(|spec| object.pointer(spec));
        return Some(specs.map(of_pod).collect());
    }
    let field = |pointer: &str| object.pointer(pointer).map(acting);
    match (group_of(object), kind_of(object).1) {
        ("", "Namespace" | "ServiceAccount") => None,
        ("", "Secret") => {
            // Its values are nobody's to find out.
            let keys = ["data", "stringData"].map(|it| object.get(it).and_then(Value::as_object));
            let keys: Vec<&String> = keys.into_iter().flatten().flat_map(Map::keys).collect();
            let account = "/metadata/annotations/kubernetes.io~1service-account.name";
            Some(json!([text(object, "/type"), text(object, account), keys]))
        }
        (RBAC, _) => field("/aggregationRule"),
        (ADMISSION, "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            field("/webhooks")
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => field("/spec/conversion"),
        ("networking.k8s.io" | "extensions", "Ingress") => {
            let annotations = object.pointer("/metadata/annotations");
            let annotations = annotations.and_then(Value::as_object).into_iter().flatten();
            let written = annotations.filter(|(key, value)| is_snippet(key, value));
            let written: Map<String, Value> = written
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            Some(json!([field("/spec"), written]))
        }
        _ => Some(whole(object)),
    }
}

/// All but what an object is called and how it is.
fn whole(object: &Value) -> Value {
    let mut object = acting(object);
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|field, _| {
            !["apiVersion", "kind", "metadata", "status"].contains(&field.as_str())
        });
    }
    // An autoscaler sets it as well.
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("replicas");
    }
    object
}

/// Returns the content of pods, without their images and what a site sets.
fn of_pod(spec: &Value) -> Value {
    let mut spec = acting(spec);
    let remove = |value: &mut Value, fields: &[&str]| {
        if let Some(map) = value.as_object_mut() {
            map.retain(|field, _| !fields.contains(&field.as_str()));
        }
    };
    remove(&mut spec, &["imagePullSecrets"]);
    for containers in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = spec.get_mut(containers).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            remove(container, &["image", "imagePullPolicy", "resources"]);
        }
    }
    spec
}

/// A value without authorities, which whoever serves injects, and without the versions of images, wherever they are named.
fn acting(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "caBundle");
            fields
                .map(|(key, value)| (key.clone(), acting(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(acting).collect(),
        Value::String(text) => Value::String(without_versions(text)),
        other => other.clone(),
    }
}

/// A text without the `:TAG@sha256:DIGEST` of the images in it.
fn without_versions(text: &str) -> String {
    const DIGEST: &str = "@sha256:";
    const HEX: usize = 64;
    let is_of_tag = |it: char| it.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&it);
    let mut parts = text.split(DIGEST);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let hex = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        if hex != HEX {
            whole.push_str(DIGEST);
            whole.push_str(part);
            continue;
        }
        let named = whole.trim_end_matches(is_of_tag).strip_suffix(':');
        if let Some(named) = named.map(str::len) {
            whole.truncate(named);
        }
        whole.push_str(&part[HEX..]);
    }
    whole
}

fn labels(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

fn texts<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> {
    let list = manifests::list(value, pointer).iter();
    list.filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(api_version: &str, kind: &str, mut rest: Value) -> Value {
        rest["apiVersion"] = json!(api_version);
        rest["kind"] = json!(kind);
        rest["metadata"]["name"] = json!("x");
        rest
    }

    fn pod(spec: &Value) -> Value {
        object(
            "apps/v1",
            "Deployment",
            json!({ "spec": { "template": { "spec": spec } } }),
        )
    }

    fn service(spec: &Value) -> Value {
        object("v1", "Service", json!({ "spec": spec }))
    }

    fn space(key: &str, value: &str) -> Value {
        object(
            "v1",
            "Namespace",
            json!({ "metadata": { "labels": { key: value } } }),
        )
    }

    fn ingress(annotation: &str) -> Value {
        let metadata = json!({ "annotations": { annotation: "x" } });
        object(
            "networking.k8s.io/v1",
            "Ingress",
            json!({ "metadata": metadata }),
        )
    }

    fn secret(kind: &str) -> Value {
        let metadata = json!({ "annotations": { "kubernetes.io/service-account.name": "root" } });
        object(
            "v1",
            "Secret",
            json!({ "type": kind, "metadata": metadata }),
        )
    }

    /// Everything that has to be accepted, each by itself.
    #[test]
    #[expect(clippy::too_many_lines, reason = "one case for each row of the table")]
    fn what_is_to_be_accepted_is_found() {
        let priority = |value: i64, default: bool| {
            let fields = json!({ "value": value, "globalDefault": default });
            object("scheduling.k8s.io/v1", "PriorityClass", fields)
        };
        for (object, words) in [
            (
                space("pod-security.kubernetes.io/enforce", "privileged"),
                "Namespace x is held to the PodSecurity level `privileged`, and no longer to a higher one",
            ),
            (
                object(
                    "v1",
                    "PersistentVolume",
                    json!({ "spec": { "hostPath": { "path": "/" } } }),
                ),
                "PersistentVolume x is `/` of a node",
            ),
            (
                object(
                    "v1",
                    "PersistentVolume",
                    json!({ "spec": { "local": { "path": "/etc" } } }),
                ),
                "PersistentVolume x is `/etc` of a node",
            ),
            (
                secret("kubernetes.io/service-account-token"),
                "Secret x gets a token of the ServiceAccount `root` that never expires",
            ),
            (
                secret("bootstrap.kubernetes.io/token"),
                "Secret x is a login by which nodes join the cluster",
            ),
            (
                service(&json!({ "externalIPs": ["10.0.0.1"] })),
                "Service x takes what the cluster sends to `10.0.0.1`",
            ),
            (
                ingress("nginx.ingress.kubernetes.io/server-snippet"),
                "Ingress x writes into the ingress controller's own configuration: `nginx.ingress.kubernetes.io/server-snippet`",
            ),
            (
                ingress("haproxy-ingress.github.io/config-backend"),
                "Ingress x writes into the ingress controller's own configuration: `haproxy-ingress.github.io/config-backend`",
            ),
            (
                priority(1000, false),
                "PriorityClass x lets its pods take the place of others of less priority than 1000",
            ),
            (
                priority(0, true),
                "PriorityClass x is the priority of every pod that names none",
            ),
            (
                object(
                    "rbac.authorization.k8s.io/v1",
                    "ClusterRole",
                    json!({ "aggregationRule": {} }),
                ),
                "ClusterRole x gathers the rights of other ClusterRoles",
            ),
            (
                pod(&json!({ "hostNetwork": true })),
                "the pods of Deployment x are in their node's network",
            ),
            (
                pod(&json!({ "volumes": [{ "hostPath": { "path": "/run" } }] })),
                "the pods of Deployment x reach `/run` of their node",
            ),
            (
                pod(&json!({ "priorityClassName": "system-node-critical" })),
                "the pods of Deployment x take the place of all others (system-node-critical)",
            ),
        ] {
            let expected = hazard(HazardWeight::Consent, words.to_owned());
            assert_eq!(hazards(&object), [expected], "{object}");
        }
    }

    #[test]
    fn what_is_only_shown_is_found() {
        let endpoints = json!({ "subsets": [{ "addresses": [{ "ip": "10.0.0.1" }] }] });
        let slice = json!({ "endpoints": [{ "addresses": ["10.0.0.1"] }] });
        let address = "leads to the address `10.0.0.1`, which is no pod's";
        for (object, words) in [
            (
                service(&json!({ "type": "NodePort" })),
                "Service x is open on a port of every node (NodePort)",
            ),
            (
                service(&json!({ "type": "LoadBalancer" })),
                "Service x is open outside of the cluster (LoadBalancer)",
            ),
            (
                service(&json!({ "type": "ExternalName", "externalName": "evil.test" })),
                "Service x leads to `evil.test` (ExternalName)",
            ),
            (
                object("v1", "Endpoints", endpoints),
                &format!("Endpoints x {address}"),
            ),
            (
                object("discovery.k8s.io/v1", "EndpointSlice", slice),
                &format!("EndpointSlice x {address}"),
            ),
            (
                pod(&json!({ "tolerations": [{ "operator": "Exists" }] })),
                "the pods of Deployment x run on nodes that are kept free of pods",
            ),
            (
                pod(&json!({ "nodeName": "n" })),
                "the pods of Deployment x choose the node `n` themselves",
            ),
            (
                space("admission.gatekeeper.sh/ignore", "yes"),
                "Namespace x has a guard switched off: `admission.gatekeeper.sh/ignore=yes`",
            ),
            (
                space("pod-security.kubernetes.io/enforce-version", "v1.20"),
                "Namespace x has a guard switched off: `pod-security.kubernetes.io/enforce-version=v1.20`",
            ),
            (
                space("pod-security.kubernetes.io/warn", "privileged"),
                "Namespace x has a guard switched off: `pod-security.kubernetes.io/warn=privileged`",
            ),
        ] {
            let expected = hazard(HazardWeight::Notice, words.to_owned());
            assert_eq!(hazards(&object), [expected], "{object}");
        }
    }

    #[test]
    fn ordinary_objects_do_nothing_dangerous() {
        let taint = json!([{ "key": "a", "operator": "Exists" }, { "effect": "NoSchedule" }]);
        for object in [
            service(&json!({ "type": "ClusterIP", "externalIPs": [], "clusterIP": "None" })),
            pod(&json!({ "tolerations": taint, "priorityClassName": "infra", "nodeName": "" })),
            space("pod-security.kubernetes.io/enforce", "restricted"),
            space("pod-security.kubernetes.io/enforce-version", "latest"),
            space("istio-injection", "enabled"),
            secret("Opaque"),
            ingress("nginx.ingress.kubernetes.io/rewrite-target"),
            object("v1", "PersistentVolume", json!({ "spec": { "csi": {} } })),
            object(
                "discovery.k8s.io/v1",
                "EndpointSlice",
                json!({ "endpoints": [] }),
            ),
            // Of another group it is something else.
            object(
                "evil.test/v1",
                "Service",
                json!({ "spec": { "type": "NodePort" } }),
            ),
        ] {
            assert_eq!(hazards(&object), [], "{object}");
        }
    }

    #[test]
    fn pods_run_as_the_account_that_they_name() {
        assert_eq!(accounts(&pod(&json!({ "serviceAccountName": "a" }))), ["a"]);
        assert_eq!(accounts(&pod(&json!({ "serviceAccount": "b" }))), ["b"]);
        assert_eq!(accounts(&pod(&json!({}))), ["default"]);
        assert!(accounts(&service(&json!({}))).is_empty());
    }

    /// A change that a chart's next version makes by itself gives the same content; one that acts otherwise does not.
    #[test]
    fn what_acts_is_told_from_what_every_version_changes() {
        let digest = |byte: &str| format!("@sha256:{}", byte.repeat(32));
        let web = |image: &str, argument: &str| {
            pod(&json!({
                "imagePullSecrets": [{ "name": image }],
                "containers": [{ "image": image, "args": [argument], "resources": { "a": image } }],
            }))
        };
        let named = |tag: &str, byte: &str| format!("--image=r.test/a:{tag}{}", digest(byte));
        assert_eq!(
            acts(&web("a:1", &named("1", "01"))),
            acts(&web("a:2", &named("2", "02")))
        );
        assert_ne!(acts(&web("a:1", "--serve")), acts(&web("a:1", "--steal")));
        let hook = |ca: &str, resource: &str, policy: &str, url: &str| {
            let client = json!({ "caBundle": ca, "url": url });
            let rules = json!([{ "resources": [resource] }]);
            let webhook =
                json!({ "clientConfig": client, "rules": rules, "failurePolicy": policy });
            let kind = "ValidatingWebhookConfiguration";
            let metadata = json!({ "labels": { "helm.sh/chart": ca } });
            let fields = json!({ "webhooks": [webhook], "metadata": metadata });
            acts(&object("admissionregistration.k8s.io/v1", kind, fields))
        };
        let usual = hook("a", "pods", "Ignore", "u");
        assert_eq!(usual, hook("b", "pods", "Ignore", "u"));
        for other in [
            hook("a", "secrets", "Ignore", "u"),
            hook("a", "pods", "Fail", "u"),
            hook("a", "pods", "Ignore", "v"),
        ] {
            assert_ne!(usual, other);
        }
    }

    #[test]
    fn objects_that_say_the_same_and_act_otherwise_differ() {
        for (one, other) in [
            (
                object(
                    "admissionregistration.k8s.io/v1",
                    "ValidatingAdmissionPolicy",
                    json!({ "spec": { "validations": [{ "expression": "true" }] } }),
                ),
                object(
                    "admissionregistration.k8s.io/v1",
                    "ValidatingAdmissionPolicy",
                    json!({ "spec": { "validations": [{ "expression": "false" }] } }),
                ),
            ),
            (
                object(
                    "v1",
                    "PersistentVolume",
                    json!({ "spec": { "nfs": { "server": "a" } } }),
                ),
                object(
                    "v1",
                    "PersistentVolume",
                    json!({ "spec": { "nfs": { "server": "b" } } }),
                ),
            ),
            (
                object("v1", "ConfigMap", json!({ "data": { "a": "1" } })),
                object("v1", "ConfigMap", json!({ "data": { "a": "2" } })),
            ),
            (
                object("v1", "Secret", json!({ "type": "a" })),
                object("v1", "Secret", json!({ "type": "b" })),
            ),
        ] {
            assert_ne!(acts(&one), acts(&other), "{one}");
        }
        let values = ["a", "b"].map(|it| object("v1", "Secret", json!({ "data": { "k": it } })));
        assert_eq!(acts(&values[0]), acts(&values[1]));
        let definition = |schema: &str, url: &str| {
            let spec = json!({ "versions": schema, "conversion": { "webhook": url } });
            let kind = "CustomResourceDefinition";
            acts(&object(
                "apiextensions.k8s.io/v1",
                kind,
                json!({ "spec": spec }),
            ))
        };
        assert_eq!(definition("a", "u"), definition("b", "u"));
        assert_ne!(definition("a", "u"), definition("a", "v"));
    }

    #[test]
    fn versions_of_images_are_cut_out_of_texts_and_nothing_else() {
        let digest = format!("@sha256:{}", "0a".repeat(32));
        for (text, expected) in [
            (format!("r.test:5000/a/b:v1{digest}"), "r.test:5000/a/b"),
            (
                format!("--x=r.test/a:1{digest},r.test/b{digest} end"),
                "--x=r.test/a,r.test/b end",
            ),
            ("r.test/a:1".to_owned(), "r.test/a:1"),
            ("a@sha256:0a".to_owned(), "a@sha256:0a"),
        ] {
            assert_eq!(without_versions(&text), expected);
        }
    }
}
