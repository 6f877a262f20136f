//! The table of hazards: dangerous effects of objects themselves, independent of RBAC rights. Dangerous rights are in
//! `danger`, and the effects of pods on their nodes are in `pod`.
//!
//! A consent covers more than the name of an object: it is tied to [`acts()`], the content that determines the effects.

mod acts;
mod ingress;
pub(crate) mod starters;
mod webhook;

use std::collections::BTreeSet;

use schemas::printable_within;
use serde_json::Value;

pub use self::acts::acts;
use self::ingress::{gateway_hosts, ingress_hosts, route_hosts, snippets};
use self::webhook::{conversion, converting_service, webhooks};
use crate::document::{ADMISSION, RBAC, group_of, kind_of, text};
use crate::limits::POINTER;
use crate::pod::{beyond_namespace, quoted};
use crate::rbac::role::aggregates;

/// A hazardous effect of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The effect, as a sentence with the name of the object.
    pub words: String,
    /// The weight of the effect for the administrator of the site.
    pub weight: HazardWeight,
}

/// The weight of a hazard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HazardWeight {
    /// The hazard requires consent.
    Consent,
    /// The hazard requires consent unless this namespace is the environment's own, in which case it is only shown.
    ConsentOutside(String),
    /// The hazard is only shown.
    Notice,
}

impl Hazard {
    /// Checks whether the hazard requires consent in an environment with this namespace.
    #[must_use]
    pub fn needs_consent(&self, home: &str) -> bool {
        match &self.weight {
            HazardWeight::Consent => true,
            HazardWeight::ConsentOutside(namespace) => namespace != home,
            HazardWeight::Notice => false,
        }
    }
}

/// A function that returns the effects of an object or pod.
type Find = fn(&Value) -> Vec<String>;

/// A row of the table: a function for objects of these kinds.
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
    row("", &["Namespace"], HazardWeight::Consent, unguarded),
    row("", &["Namespace"], HazardWeight::Notice, less_audited),
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
        "networking.k8s.io",
        &["Ingress"],
        HazardWeight::Notice,
        ingress_hosts,
    ),
    row(
        "extensions",
        &["Ingress"],
        HazardWeight::Notice,
        ingress_hosts,
    ),
    row(GATEWAY, &["Gateway"], HazardWeight::Notice, gateway_hosts),
    row(
        GATEWAY,
        &["HTTPRoute", "GRPCRoute", "TLSRoute"],
        HazardWeight::Notice,
        route_hosts,
    ),
    row(
        ADMISSION,
        &[
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ],
        HazardWeight::Consent,
        webhooks,
    ),
    row(
        "apiextensions.k8s.io",
        &["CustomResourceDefinition"],
        HazardWeight::Consent,
        conversion,
    ),
    row(FLOW_CONTROL, &["FlowSchema"], HazardWeight::Consent, flow),
    row(
        FLOW_CONTROL,
        &["PriorityLevelConfiguration"],
        HazardWeight::Consent,
        priority_level,
    ),
    row(
        "scheduling.k8s.io",
        &["PriorityClass"],
        HazardWeight::Consent,
        priority,
    ),
    row(RBAC, &["ClusterRole"], HazardWeight::Consent, gathering),
];

/// The hazards of pods, as continuations of "the pods of" an object.
static PODS: &[(HazardWeight, Find)] = &[
    (HazardWeight::Consent, beyond_namespace),
    (HazardWeight::Consent, system_priority),
    (HazardWeight::Notice, placed),
    (HazardWeight::Notice, inline_volumes),
    (HazardWeight::Notice, foreign_tokens),
];

const GATEWAY: &str = "gateway.networking.k8s.io";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";
/// The audiences of the API server for tokens within the cluster.
const API_SERVER_AUDIENCES: [&str; 4] = [
    "kubernetes.default.svc",
    "https://kubernetes.default.svc",
    "https://kubernetes.default.svc.cluster.local",
    "https://kubernetes.default",
];

/// The priority classes that evict all other pods.
const SYSTEM_PRIORITIES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];
/// The PodSecurity levels below the strictest one.
const LOWERED: [&str; 2] = ["privileged", "baseline"];
const POD_SECURITY: &str = "pod-security.kubernetes.io/";
/// The labels that exclude a namespace from a guard, with the required value if only one has this effect.
const GUARDS: [(&str, Option<&str>); 8] = [
    ("admission.gatekeeper.sh/ignore", None),
    ("openpolicyagent.org/webhook", Some("ignore")),
    ("cert-manager.io/disable-validation", Some("true")),
    ("istio-injection", Some("disabled")),
    ("istio.io/dataplane-mode", Some("none")),
    ("linkerd.io/admission-webhooks", Some("disabled")),
    ("config.linkerd.io/admission-webhooks", Some("disabled")),
    (
        "security.openshift.io/scc.podSecurityLabelSync",
        Some("false"),
    ),
];

/// Returns the hazards of an object of Kubernetes' own kinds.
#[must_use]
pub fn hazards(object: &Value) -> Vec<Hazard> {
    let what = called(object);
    let (group, kind) = (group_of(object), kind_of(object).1);
    let rows = OBJECTS
        .iter()
        .filter(|row| row.group == group && row.kinds.contains(&kind));
    let own = rows.flat_map(|row| {
        let found = (row.find)(object).into_iter();
        found.map(|words| hazard(row.weight.clone(), format!("{what} {words}")))
    });
    let pods = pods(object);
    let of_pods = pods.iter().flat_map(|pod| {
        PODS.iter().flat_map(|(weight, find)| {
            let found = find(pod).into_iter();
            found.map(|words| hazard(weight.clone(), format!("the pods of {what} {words}")))
        })
    });
    let converted = converting_service(object).map(|(namespace, words)| {
        let weight = HazardWeight::ConsentOutside(namespace);
        hazard(weight, format!("{what} {words}"))
    });
    own.chain(of_pods).chain(converted).collect()
}

fn hazard(weight: HazardWeight, words: String) -> Hazard {
    Hazard { words, weight }
}

/// Returns the names of the ServiceAccounts that an object's pods run as.
#[must_use]
pub fn accounts(object: &Value) -> Vec<&str> {
    let specs = manifests::pod_specs(object)
        .into_iter()
        .filter_map(|spec| object.pointer(&spec));
    let named = |spec| {
        let names = ["/serviceAccountName", "/serviceAccount"].map(|field| text(spec, field));
        names.into_iter().flatten().find(|name| !name.is_empty())
    };
    specs.map(|spec| named(spec).unwrap_or("default")).collect()
}

/// Returns the name of an object for messages.
fn called(object: &Value) -> String {
    let shown = |text: &str| printable_within(text, POINTER);
    let name = shown(text(object, "/metadata/name").unwrap_or_default());
    let kind = shown(kind_of(object).1);
    match text(object, "/metadata/namespace") {
        Some(namespace) => format!("{kind} {}/{name}", shown(namespace)),
        None => format!("{kind} {name}"),
    }
}

/// Returns the pods of an object, each with `metadata` and `spec`.
fn pods(object: &Value) -> Vec<&Value> {
    let specs = manifests::pod_specs(object).into_iter();
    let pods = specs.filter_map(|spec| object.pointer(spec.strip_suffix("/spec")?));
    pods.collect()
}

fn lowered(space: &Value) -> Vec<String> {
    let level = labels(space)
        .find(|(key, _)| *key == format!("{POD_SECURITY}enforce"))
        .filter(|(_, level)| LOWERED.contains(level));
    let words = |(_, level)| {
        format!("is held to the PodSecurity level `{level}`, and no longer to a higher one")
    };
    level.map(words).into_iter().collect()
}

/// Returns the labels of a namespace that disable guards.
fn unguarded(space: &Value) -> Vec<String> {
    let switches_off = |key: &str, value: &str| {
        let mut guards = GUARDS.iter();
        guards.any(|(guard, only)| *guard == key && only.is_none_or(|only| only == value))
    };
    switched_off(space, switches_off)
}

/// Returns the labels of a namespace that weaken the audits and warnings of PodSecurity, which reject nothing, or that
/// select an older version of the standard, which rejects less.
fn less_audited(space: &Value) -> Vec<String> {
    let lowers = |key: &str, value: &str| {
        let mode = key.strip_prefix(POD_SECURITY);
        mode.is_some_and(|mode| mode != "enforce" && LOWERED.contains(&value))
            || mode == Some("enforce-version") && value != "latest"
    };
    switched_off(space, lowers)
}

fn switched_off(space: &Value, is_one: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let off = labels(space).filter(|(key, value)| is_one(key, value));
    off.map(|(key, value)| {
        format!(
            "has a guard switched off: {}",
            quoted(&format!("{key}={value}"))
        )
    })
    .collect()
}

fn of_node(volume: &Value) -> Vec<String> {
    let paths = ["hostPath", "local"]
        .map(|source| text(volume, &format!("/spec/{source}/path")))
        .into_iter()
        .flatten();
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
    let addresses = subsets
        .flat_map(|subset| {
            fields
                .iter()
                .flat_map(|field| manifests::list(subset, field))
        })
        .filter_map(|address| text(address, "/ip"));
    addresses.map(chosen_address).collect()
}

fn slices(object: &Value) -> Vec<String> {
    let endpoints = manifests::list(object, "/endpoints").iter();
    let addresses = endpoints.flat_map(|endpoint| texts(endpoint, "/addresses"));
    addresses.map(chosen_address).collect()
}

/// Describes an address that an archive lists as an endpoint. Addresses of pods are not known when an archive is
/// packed.
fn chosen_address(address: &str) -> String {
    format!(
        "leads to the address {}, which is no pod's",
        quoted(address)
    )
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
    let class =
        text(pod, "/spec/priorityClassName").filter(|class| SYSTEM_PRIORITIES.contains(class));
    class
        .map(|class| format!("take the place of all others ({class})"))
        .into_iter()
        .collect()
}

/// Returns the settings by which pods run on nodes that are reserved for other pods.
fn placed(pod: &Value) -> Vec<String> {
    // Without a key, the operator `Exists` matches every taint.
    let tolerates_all = |toleration: &Value| {
        text(toleration, "/key").is_none_or(str::is_empty)
            && text(toleration, "/operator") == Some("Exists")
    };
    let everything = manifests::list(pod, "/spec/tolerations")
        .iter()
        .any(tolerates_all)
        .then(|| "run on nodes that are kept free of pods".to_owned());
    let node = text(pod, "/spec/nodeName")
        .filter(|node| !node.is_empty())
        .map(|node| format!("choose the node {} themselves", quoted(node)));
    everything.into_iter().chain(node).collect()
}

/// Returns the CSI drivers of inline volumes. The driver runs on the node, and an inline volume sets its parameters,
/// which a `StorageClass` would define otherwise.
fn inline_volumes(pod: &Value) -> Vec<String> {
    let volumes = manifests::list(pod, "/spec/volumes").iter();
    let drivers = volumes
        .filter_map(|volume| volume.get("csi").filter(|csi| !csi.is_null()))
        .map(|csi| text(csi, "/driver").unwrap_or_default());
    let words = |driver| {
        format!(
            "mount an inline volume of the CSI driver {}",
            quoted(driver)
        )
    };
    each_once(drivers).map(words).collect()
}

/// Returns the audiences of projected tokens for recipients other than the API server.
fn foreign_tokens(pod: &Value) -> Vec<String> {
    let volumes = manifests::list(pod, "/spec/volumes").iter();
    let sources = volumes.flat_map(|volume| manifests::list(volume, "/projected/sources"));
    let audiences = sources.filter_map(|source| text(source, "/serviceAccountToken/audience"));
    let is_foreign =
        |audience: &&str| !audience.is_empty() && !API_SERVER_AUDIENCES.contains(audience);
    let words = |audience| {
        format!(
            "get a token of their ServiceAccount for the audience {}",
            quoted(audience)
        )
    };
    each_once(audiences.filter(is_foreign)).map(words).collect()
}

fn each_once<'a>(texts: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    texts.collect::<BTreeSet<&str>>().into_iter()
}

fn flow(schema: &Value) -> Vec<String> {
    let level = text(schema, "/spec/priorityLevelConfiguration/name").unwrap_or_default();
    vec![format!(
        "assigns requests to the API server to the priority level {}",
        quoted(level)
    )]
}

fn priority_level(_: &Value) -> Vec<String> {
    vec!["changes how many requests the API server serves at once".to_owned()]
}

fn labels(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    labels.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

fn texts<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> {
    let list = manifests::list(value, pointer).iter();
    list.filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn object(api_version: &str, kind: &str, mut rest: Value) -> Value {
        rest["apiVersion"] = json!(api_version);
        rest["kind"] = json!(kind);
        rest["metadata"]["name"] = json!("x");
        rest
    }

    pub(crate) fn pod(spec: &Value) -> Value {
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

    /// Each effect that requires consent, in a separate object.
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

    fn of_group(group: &str, kind: &str, spec: &Value) -> Value {
        object(&format!("{group}/v1"), kind, json!({ "spec": spec }))
    }

    #[test]
    fn labels_that_switch_off_guards_of_a_namespace_are_to_be_accepted() {
        for (guard, only) in GUARDS {
            let value = only.unwrap_or("any");
            let words = format!("Namespace x has a guard switched off: `{guard}={value}`");
            let expected = hazard(HazardWeight::Consent, words);
            assert_eq!(hazards(&space(guard, value)), [expected], "{guard}");
            let other = hazards(&space(guard, "other"));
            assert_eq!(other.len(), usize::from(only.is_none()), "{guard}");
        }
    }

    #[test]
    fn what_changes_the_api_server_is_to_be_accepted() {
        let conversion = |client: Value| {
            let conversion = json!({ "conversion": { "webhook": { "clientConfig": client } } });
            of_group(
                "apiextensions.k8s.io",
                "CustomResourceDefinition",
                &conversion,
            )
        };
        let level = json!({ "priorityLevelConfiguration": { "name": "exempt" } });
        for (object, words) in [
            (
                conversion(json!({ "url": "https://evil.test" })),
                "CustomResourceDefinition x has the API server send its objects to the URL `https://evil.test` for conversion",
            ),
            (
                of_group(FLOW_CONTROL, "FlowSchema", &level),
                "FlowSchema x assigns requests to the API server to the priority level `exempt`",
            ),
            (
                of_group(FLOW_CONTROL, "PriorityLevelConfiguration", &json!({})),
                "PriorityLevelConfiguration x changes how many requests the API server serves at once",
            ),
        ] {
            let expected = hazard(HazardWeight::Consent, words.to_owned());
            assert_eq!(hazards(&object), [expected], "{object}");
        }
        let service = json!({ "service": { "namespace": "ns", "name": "hook" } });
        let words = "CustomResourceDefinition x has the API server send its objects to the Service `ns/hook` for conversion";
        let weight = HazardWeight::ConsentOutside("ns".to_owned());
        let expected = hazard(weight, words.to_owned());
        assert_eq!(
            hazards(&conversion(service)),
            std::slice::from_ref(&expected)
        );
        assert!(!expected.needs_consent("ns"));
        assert!(expected.needs_consent("other"));
    }

    #[test]
    fn inline_volumes_and_tokens_for_others_are_shown() {
        let token = |audience: &str| {
            let source = json!({ "serviceAccountToken": { "audience": audience, "path": "t" } });
            pod(&json!({ "volumes": [{ "projected": { "sources": [source] } }] }))
        };
        let notice = |words: &str| {
            let words = format!("the pods of Deployment x {words}");
            [hazard(HazardWeight::Notice, words)]
        };
        let csi = json!({ "csi": { "driver": "secrets.test" } });
        let inline = pod(&json!({ "volumes": [csi, csi] }));
        let words = "mount an inline volume of the CSI driver `secrets.test`";
        assert_eq!(hazards(&inline), notice(words));
        let words = "get a token of their ServiceAccount for the audience `vault`";
        assert_eq!(hazards(&token("vault")), notice(words));
        for audience in API_SERVER_AUDIENCES.into_iter().chain([""]) {
            assert_eq!(hazards(&token(audience)), [], "{audience}");
        }
    }

    #[test]
    fn host_names_are_shown_as_they_are_shared_by_the_whole_cluster() {
        let every = "answers for every host name that no other object claims";
        let ingress = |spec: Value| of_group("networking.k8s.io", "Ingress", &spec);
        let route = |spec: Value| of_group(GATEWAY, "HTTPRoute", &spec);
        for (object, words) in [
            (ingress(json!({ "rules": [{ "http": {} }] })), every),
            (
                ingress(json!({ "defaultBackend": { "service": {} } })),
                every,
            ),
            (
                ingress(json!({ "rules": [{ "host": "*.shop.test" }] })),
                "answers for all host names that match `*.shop.test`",
            ),
            (
                ingress(json!({ "rules": [{ "host": "a.test" }, { "host": "a.test" }] })),
                "answers for the host name `a.test`",
            ),
            (route(json!({})), every),
            (
                route(json!({ "hostnames": ["b.test"] })),
                "answers for the host name `b.test`",
            ),
            (
                of_group(
                    GATEWAY,
                    "Gateway",
                    &json!({ "listeners": [{ "port": 80 }] }),
                ),
                every,
            ),
        ] {
            let kind = object["kind"].as_str().unwrap();
            let expected = hazard(HazardWeight::Notice, format!("{kind} x {words}"));
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
            // A kind of the same name in another group is unrelated.
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
}
