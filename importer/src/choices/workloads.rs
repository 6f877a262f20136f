//! The site configuration for workloads: replicas, resources, variables, scheduling and labels of operators, sets and
//! charts. It covers every kind that has pods. [`lay`] changes an object, [`reached`] lists the values that apply to it
//! with their sources, and [`meaningless`] lists the entries without effect. Pure functions;
//! docs/decisions/0014-site-file.md describes the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use manifests::{list, pod_specs, text};
use schemas::{
    Choices, KubernetesName, Proxy, ReachedRule, SecurityContext, SiteRule, SolutionName,
    list_names, nearest,
};
use serde_json::{Value, json};
use validator::PackagedSet;

use crate::records::site::{HeldSite, PartChoices, SiteValue, SourcedRule, fields, together};

/// The address of the API server, which must not be reached through a proxy. Kubernetes expands the variable in `env`.
const API_SERVER: &str = "$(KUBERNETES_SERVICE_HOST)";

/// The kinds with a number of replicas.
const SCALED: [&str; 4] = [
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];

/// The fields with the containers of a pod.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Applies the site's choices to the pods of an object, if it has any. The object's selector and existing labels do not
/// change.
pub(crate) fn lay(chosen: &PartChoices, object: &mut Value) {
    let pods = pod_specs(object);
    let rules = chosen.of(text(object, "/kind"), text(object, "/metadata/name"));
    let rules: Vec<&ReachedRule> = rules.map(|sourced| &sourced.rule).collect();
    if pods.is_empty() || rules.is_empty() {
        return;
    }
    let choices = together(rules.iter().copied());
    if let Some(replicas) = choices.replicas.filter(|_| is_scaled(object)) {
        object["spec"]["replicas"] = json!(replicas);
    }
    let selected = selected(object);
    mark(&choices, &selected, object);
    for pod in pods {
        // The metadata of a Pod are those of the object, which are marked already.
        let above = pod.strip_suffix("/spec").filter(|above| !above.is_empty());
        if let Some(template) = above.and_then(|above| object.pointer_mut(above)) {
            mark(&choices, &selected, template);
        }
        if let Some(pod) = object.pointer_mut(&pod) {
            place(&choices, pod);
            fill(chosen.is_operator, &rules, pod);
        }
    }
}

/// Adds labels and annotations. Existing labels are kept, since Services and selectors find pods by them.
fn mark(choices: &Choices, selected: &BTreeSet<String>, marked: &mut Value) {
    for (label, value) in &choices.labels {
        let labels = marked.pointer("/metadata/labels");
        let is_new = labels.is_none_or(|labels| labels.get(label.as_str()).is_none());
        if is_new && !selected.contains(label.as_str()) {
            marked["metadata"]["labels"][label.as_str()] = json!(value);
        }
    }
    for (name, value) in &choices.annotations {
        marked["metadata"]["annotations"][name.as_str()] = json!(value);
    }
}

/// Returns the labels in an object's selector. A label that the selector excludes is one of them.
fn selected(object: &Value) -> BTreeSet<String> {
    let selector = object.pointer("/spec/selector");
    let selector = selector.and_then(Value::as_object);
    let own = selector.into_iter().flat_map(|selector| selector.keys());
    let exact = object.pointer("/spec/selector/matchLabels");
    let exact = exact.and_then(Value::as_object);
    let exact = exact.into_iter().flat_map(|labels| labels.keys());
    let others = list(object, "/spec/selector/matchExpressions");
    let others = others
        .iter()
        .filter_map(|expression| expression["key"].as_str());
    let all = own.chain(exact).map(String::as_str).chain(others);
    all.map(str::to_owned).collect()
}

/// Sets where pods are scheduled, and their priority.
fn place(choices: &Choices, pod: &mut Value) {
    extend(pod, "nodeSelector", &json!(choices.node_selector));
    for toleration in choices.tolerations.iter().flatten() {
        let toleration = json!(toleration);
        match pod["tolerations"].as_array_mut() {
            Some(known) if known.contains(&toleration) => {}
            Some(known) => known.push(toleration),
            None => pod["tolerations"] = json!([toleration]),
        }
    }
    if let Some(affinity) = &choices.affinity {
        extend(pod, "affinity", &json!(affinity));
    }
    if let Some(class) = &choices.priority_class_name {
        pod["priorityClassName"] = json!(class);
    }
}

/// Applies the choices to each container of a pod.
fn fill(is_operator: bool, rules: &[&ReachedRule], pod: &mut Value) {
    for kind in CONTAINERS {
        let containers = pod.get_mut(kind).and_then(Value::as_array_mut);
        let containers = containers.into_iter().flatten();
        for (index, container) in containers.enumerate() {
            let name = text(container, "/name").to_owned();
            let named = |rule: &&&ReachedRule| {
                let named = rule.container.as_ref();
                named.is_some_and(|own| own.as_str() == name)
            };
            let of_pod = together(rules.iter().copied());
            if is_operator {
                promise(of_pod.security_context, &mut container["securityContext"]);
            }
            // Choices for an operator without a container name are for its first container only, as sidecars have other
            // needs. Restrictions of its security context apply to all containers.
            let is_meant = if is_operator {
                index == 0 && kind == CONTAINERS[0]
            } else {
                true
            };
            let unnamed = |rule: &&&ReachedRule| rule.container.is_none() && is_meant;
            let all = rules.iter().filter(|rule| unnamed(rule) || named(rule));
            let all: Vec<&ReachedRule> = all.copied().collect();
            let own = all
                .iter()
                .copied()
                .filter(|rule| is_operator || rule.container.is_some());
            give(
                &together(own),
                &together(all.iter().copied()).proxy,
                container,
            );
        }
    }
}

/// Sets the resources and variables of a container. An existing variable keeps its position, because later variables
/// may refer to it.
fn give(choices: &Choices, proxy: &Proxy, container: &mut Value) {
    if let Some(resources) = &choices.resources {
        container["resources"] = json!(resources);
    }
    let chosen = choices.env.iter();
    let chosen = chosen.map(|(name, value)| (name.to_string(), value.clone()));
    for (name, value) in proxies(proxy).into_iter().chain(chosen) {
        let variable = json!({ "name": name, "value": value });
        let Some(variables) = container["env"].as_array_mut() else {
            container["env"] = json!([variable]);
            continue;
        };
        match variables
            .iter_mut()
            .find(|variable| variable["name"] == name.as_str())
        {
            Some(known) => *known = variable,
            None => variables.push(variable),
        }
    }
}

/// Returns the site's values that apply to an object, each with its source. Later rules override earlier ones.
pub(crate) fn reached(chosen: &PartChoices, object: &Value) -> Vec<SiteValue> {
    let pods = pod_specs(object);
    if pods.is_empty() {
        return Vec::new();
    }
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    let mut values = BTreeMap::new();
    for SourcedRule { from, rule } in chosen.of(kind, name) {
        let container = rule.container.as_ref().map(ToString::to_string);
        if container
            .as_ref()
            .is_some_and(|name| !has_container(object, name))
        {
            continue;
        }
        for (field, value) in fields(&rule.set) {
            if field != "replicas" || is_scaled(object) {
                values.insert((container.clone(), field), (value, from.clone()));
            }
        }
    }
    let value = |((_, field), (value, from))| SiteValue { field, value, from };
    values.into_iter().map(value).collect()
}

/// Checks whether a pod of an object has a container with this name.
fn has_container(object: &Value, name: &str) -> bool {
    containers(object).contains(&name)
}

/// Returns the names of the containers in the pods of an object.
pub(crate) fn containers(object: &Value) -> Vec<&str> {
    let pods = pod_specs(object).into_iter();
    let lists = pods.flat_map(|pod| CONTAINERS.map(|kind| format!("{pod}/{kind}")));
    let all = lists.flat_map(|containers| list(object, &containers));
    all.map(|container| text(container, "/name")).collect()
}

/// Checks whether an object has a number of replicas.
pub(crate) fn is_scaled(object: &Value) -> bool {
    SCALED.contains(&text(object, "/kind"))
}

/// Returns the variables for proxies, in upper and lower case, because programs differ in which they read.
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

/// Adds the chosen keys to a map of an object, if there are any.
fn extend(object: &mut Value, field: &str, chosen: &Value) {
    let Some(chosen) = chosen.as_object().filter(|chosen| !chosen.is_empty()) else {
        return;
    };
    for (key, value) in chosen {
        object[field][key] = value.clone();
    }
}

/// The maximum edit distance between an unknown name and a suggestion.
const NEAR: usize = 2;

/// The objects of one part.
pub(crate) struct PartObjects<'a> {
    pub(crate) name: &'a str,
    pub(crate) objects: Vec<&'a Value>,
}

/// Returns the packaged sets as parts.
pub(crate) fn of_sets(sets: &[PackagedSet]) -> impl Iterator<Item = PartObjects<'_>> {
    sets.iter().map(|carried| PartObjects {
        name: carried.set.name.as_str(),
        objects: carried
            .objects
            .iter()
            .map(|object| &object.document)
            .collect(),
    })
}

/// Returns notes on fields of entries that have no effect on any of their workloads. Not all kinds have a number of
/// replicas, and `securityContext` is only supported for operators.
pub(crate) fn meaningless(
    site: &HeldSite,
    solution: &SolutionName,
    parts: &[PartObjects<'_>],
) -> BTreeSet<String> {
    let mut notes = BTreeSet::new();
    for (from, rule) in site.naming_any(solution) {
        let workloads: Vec<&Value> = workloads(rule, parts).collect();
        let fields = [
            (
                "replicas",
                // An entry without the names of a part and a workload sets the replicas of operators only, and has its
                // own note.
                rule.set.replicas.is_some()
                    && rule.part.is_some()
                    && !workloads.iter().any(|workload| is_scaled(workload)),
            ),
            (
                "securityContext",
                rule.set.security_context != SecurityContext::default(),
            ),
        ];
        let names: BTreeSet<String> = workloads.into_iter().map(kind_and_name).collect();
        let names = list_names(names.into_iter().collect());
        let fields = fields.into_iter().filter(|(_, is_idle)| *is_idle);
        notes.extend(
            fields
                .filter(|_| !names.is_empty())
                .map(|(field, _)| format!("{field} has no effect on {names} ({from})")),
        );
    }
    notes
}

fn kind_and_name(object: &Value) -> String {
    let text = |pointer| manifests::text(object, pointer);
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

/// Returns the parts that an entry applies to.
fn meant<'a, 'p>(
    rule: &'a SiteRule,
    parts: &'a [PartObjects<'p>],
) -> impl Iterator<Item = &'a PartObjects<'p>> {
    let is_meant = |part: &&PartObjects<'_>| {
        let named = rule.part.as_ref();
        named.is_none_or(|name| name.as_str() == part.name)
    };
    parts.iter().filter(is_meant)
}

/// Returns the objects with pods in the parts that an entry applies to.
fn with_pods<'a>(
    rule: &'a SiteRule,
    parts: &'a [PartObjects<'_>],
) -> impl Iterator<Item = &'a Value> {
    let objects = meant(rule, parts).flat_map(|part| part.objects.iter().copied());
    objects.filter(|object| !manifests::pod_specs(object).is_empty())
}

/// Returns the workloads that an entry applies to.
fn workloads<'a>(
    rule: &'a SiteRule,
    parts: &'a [PartObjects<'_>],
) -> impl Iterator<Item = &'a Value> {
    with_pods(rule, parts).filter(|object| {
        let text = |pointer| manifests::text(object, pointer);
        let of_kind = rule
            .kind
            .is_none_or(|kind| kind.to_string() == text("/kind"));
        let named = rule.workload.as_ref();
        of_kind && named.is_none_or(|name| name.as_str() == text("/metadata/name"))
    })
}

/// A name in an entry that no part has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MissingName {
    /// The kind of the missing object, with the name.
    pub(crate) what: String,
    /// A similar name that exists.
    pub(crate) near: Option<String>,
}

impl MissingName {
    fn new<'a>(
        what: String,
        name: &KubernetesName,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let near = nearest(name.as_str(), known, NEAR).map(str::to_owned);
        Self { what, near }
    }
}

impl fmt::Display for MissingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.near {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => Ok(()),
        }
    }
}

/// Returns the first name in an entry that none of these parts has.
pub(crate) fn missing(rule: &SiteRule, parts: &[PartObjects<'_>]) -> Option<MissingName> {
    let is_empty = meant(rule, parts).next().is_none();
    if let Some(part) = rule.part.as_ref().filter(|_| is_empty) {
        let what = format!("set of manifests or chart `{part}`");
        return Some(MissingName::new(
            what,
            part,
            parts.iter().map(|part| part.name),
        ));
    }
    let workload = rule.workload.as_ref()?;
    let named: Vec<&Value> = workloads(rule, parts).collect();
    if named.is_empty() {
        let what = match rule.kind {
            Some(kind) => format!("{kind} `{workload}`"),
            None => format!("workload `{workload}`"),
        };
        let known = with_pods(rule, parts).map(|object| manifests::text(object, "/metadata/name"));
        // An object with exactly this name has another kind, and is no suggestion.
        let others = known.filter(|name| *name != workload.as_str());
        return Some(MissingName::new(what, workload, others));
    }
    let container = rule.container.as_ref()?;
    let known = || named.iter().flat_map(|object| containers(object));
    let has = known().any(|name| name == container.as_str());
    let what = || format!("container `{container}` in workload `{workload}`");
    (!has).then(|| MissingName::new(what(), container, known()))
}

/// Adds restrictions to a security context. Existing restrictions are not weakened.
pub(crate) fn promise(promised: SecurityContext, context: &mut Value) {
    if promised.run_as_non_root {
        context["runAsNonRoot"] = json!(true);
    }
    if promised.read_only_root_filesystem {
        context["readOnlyRootFilesystem"] = json!(true);
    }
    if let Some(user) = promised.run_as_user {
        context["runAsUser"] = json!(user);
    }
}

#[cfg(test)]
mod tests {
    use schemas::PartName;

    use super::*;
    use crate::records::site::tests::held;

    fn deployment() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
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

    /// Returns the operator's Deployment with these choices.
    fn applied(choices: &Value) -> Value {
        let entry = json!({ "workload": "operator", "set": choices });
        let mut deployment = deployment();
        lay(&chosen(&[entry], PartName::Operator), &mut deployment);
        deployment
    }

    /// Returns the choices of these entries for a part of `shop`.
    fn chosen(entries: &[Value], part: PartName<'_>) -> PartChoices {
        let file = json!({ "workloads": entries }).to_string();
        held(&file, "{}").reaching(&"shop".parse().unwrap(), part)
    }

    #[test]
    fn nothing_chosen_changes_nothing() {
        assert_eq!(applied(&json!({})), deployment());
    }

    #[test]
    fn what_is_chosen_reaches_the_workload_and_its_pods() {
        let deployment = applied(&json!({
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
        let deployment = applied(&json!({
            "env": { "LOG": "debug" },
            "proxy": { "https": "http://proxy.test:3128", "no": ".site" },
        }));
        let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
        let expected = json!([
            { "name": "LOG", "value": "debug" },
            { "name": "POD_NAME" },
            { "name": "HTTPS_PROXY", "value": "http://proxy.test:3128" },
            { "name": "https_proxy", "value": "http://proxy.test:3128" },
            { "name": "NO_PROXY", "value": ".site,$(KUBERNETES_SERVICE_HOST)" },
            { "name": "no_proxy", "value": ".site,$(KUBERNETES_SERVICE_HOST)" },
        ]);
        assert_eq!(*env, expected);
    }

    /// Returns a workload of the part `web` with its pod template at this pointer.
    fn workload(api_version: &str, kind: &str, template: &str) -> Value {
        let pod = json!({
            "metadata": { "labels": { "app": "web", "track": "stable" } },
            "spec": {
                "tolerations": [{ "operator": "Exists" }],
                "initContainers": [{ "name": "init" }],
                "containers": [{ "name": "web", "env": [{ "name": "A", "value": "a" }] }, { "name": "side" }],
            },
        });
        let at = template.split('/').skip(1).collect::<Vec<_>>();
        let mut object = at
            .iter()
            .rev()
            .fold(pod, |inner, field| json!({ *field: inner }));
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!("web");
        object
    }

    const WEB: PartName<'static> = PartName::Carried("web");

    #[test]
    fn what_is_for_all_reaches_the_pods_of_every_kind() {
        let entry = json!({ "set": {
            "labels": { "team": "shop", "track": "other" },
            "nodeSelector": { "disk": "fast" },
            "tolerations": [{ "key": "infra", "operator": "Exists" }],
            "proxy": { "http": "http://p" },
            "replicas": 3, "env": { "A": "b" }, "resources": { "limits": { "cpu": "1" } },
            "securityContext": { "runAsNonRoot": true },
        } });
        let chosen = chosen(&[entry], WEB);
        for (api_version, kind, template) in [
            ("apps/v1", "Deployment", "/spec/template"),
            ("apps/v1", "StatefulSet", "/spec/template"),
            ("apps/v1", "DaemonSet", "/spec/template"),
            ("batch/v1", "Job", "/spec/template"),
            ("batch/v1", "CronJob", "/spec/jobTemplate/spec/template"),
            ("v1", "PodTemplate", "/template"),
            ("v1", "Pod", ""),
        ] {
            let mut object = workload(api_version, kind, template);
            lay(&chosen, &mut object);
            let template = object.pointer(template).unwrap();
            let labels = json!({ "app": "web", "track": "stable", "team": "shop" });
            assert_eq!(template["metadata"]["labels"], labels, "{kind}");
            assert_eq!(object["metadata"]["labels"]["team"], "shop", "{kind}");
            let pod = &template["spec"];
            assert_eq!(pod["nodeSelector"], json!({ "disk": "fast" }), "{kind}");
            let expected =
                json!([{ "operator": "Exists" }, { "key": "infra", "operator": "Exists" }]);
            assert_eq!(pod["tolerations"], expected, "{kind}");
            let proxies = json!([
                { "name": "HTTP_PROXY", "value": "http://p" },
                { "name": "http_proxy", "value": "http://p" },
                { "name": "NO_PROXY", "value": "$(KUBERNETES_SERVICE_HOST)" },
                { "name": "no_proxy", "value": "$(KUBERNETES_SERVICE_HOST)" },
            ]);
            assert_eq!(pod["initContainers"][0]["env"], proxies, "{kind}");
            assert_eq!(pod["containers"][1]["env"], proxies, "{kind}");
            let web = &pod["containers"][0];
            assert_eq!(
                web["env"][0],
                json!({ "name": "A", "value": "a" }),
                "{kind}"
            );
            assert_eq!(
                [&web["resources"], &web["securityContext"]],
                [&Value::Null; 2],
                "{kind}"
            );
            assert!(object.pointer("/spec/replicas").is_none(), "{kind}");
            // Applying the choices again changes nothing.
            let before = object.clone();
            lay(&chosen, &mut object);
            assert_eq!(object, before, "{kind}");
        }
    }

    #[test]
    fn what_is_one_workloads_reaches_it_and_the_container_that_is_named() {
        let entry = |names: Value, set: Value| {
            let mut entry = names;
            entry["set"] = set;
            entry
        };
        let web = json!({ "part": "web", "workload": "web" });
        let side = json!({ "part": "web", "workload": "web", "container": "side" });
        let of_other = json!({ "part": "web", "workload": "other", "kind": "Deployment" });
        let chosen = chosen(
            &[
                entry(web, json!({ "replicas": 2 })),
                entry(
                    side,
                    json!({ "env": { "A": "b" }, "resources": { "limits": { "cpu": "1" } } }),
                ),
                entry(of_other, json!({ "replicas": 4 })),
            ],
            WEB,
        );
        let mut object = workload("apps/v1", "Deployment", "/spec/template");
        lay(&chosen, &mut object);
        assert_eq!(object["spec"]["replicas"], 2);
        let containers = &object["spec"]["template"]["spec"]["containers"];
        assert_eq!(
            containers[0],
            json!({ "name": "web", "env": [{ "name": "A", "value": "a" }] })
        );
        let expected = json!({
            "name": "side", "env": [{ "name": "A", "value": "b" }], "resources": { "limits": { "cpu": "1" } },
        });
        assert_eq!(containers[1], expected);
        let fields = |object: &Value| {
            let values = reached(&chosen, object).into_iter();
            values.map(|value| value.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(&object), ["replicas", "env.A", "resources"]);
        let agents = workload("apps/v1", "DaemonSet", "/spec/template");
        assert_eq!(fields(&agents), ["env.A", "resources"]);
        assert_eq!(
            fields(&json!({ "apiVersion": "v1", "kind": "Service" })),
            [""; 0]
        );
    }

    #[test]
    fn a_selector_is_not_touched_and_what_it_names_no_label() {
        let chosen = chosen(
            &[json!({ "set": { "labels": { "old": "x", "zone": "x", "team": "x" } } })],
            WEB,
        );
        let mut object = workload("apps/v1", "Deployment", "/spec/template");
        object["spec"]["selector"] = json!({
            "matchLabels": { "app": "web", "zone": "a" },
            "matchExpressions": [{ "key": "old", "operator": "DoesNotExist" }],
        });
        let before = object["spec"]["selector"].clone();
        lay(&chosen, &mut object);
        assert_eq!(object["spec"]["selector"], before);
        let labels = json!({ "app": "web", "track": "stable", "team": "x" });
        assert_eq!(object["spec"]["template"]["metadata"]["labels"], labels);
        let mut controller = workload("v1", "ReplicationController", "/spec/template");
        controller["spec"]["selector"] = json!({ "team": "y" });
        lay(&chosen, &mut controller);
        let labels = &controller["spec"]["template"]["metadata"]["labels"];
        assert!(labels.get("team").is_none(), "{labels}");
    }
}

#[cfg(test)]
mod reach_tests {
    use serde_json::json;

    use super::*;
    use crate::records::site::tests::held;

    #[test]
    fn a_field_that_no_workload_can_have_where_an_entry_reaches_is_said() {
        let workload = |kind: &str, name: &str| {
            json!({
                "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name },
                "spec": { "template": { "spec": { "containers": [{ "name": "c" }] } } },
            })
        };
        let agent = workload("DaemonSet", "agent");
        let both = [
            workload("DaemonSet", "both"),
            workload("Deployment", "both"),
        ];
        let parts = [PartObjects {
            name: "web",
            objects: vec![&agent, &both[0], &both[1]],
        }];
        let solution = "shop".parse().unwrap();
        let told = |entry: &str| -> Vec<String> {
            let site = held(&format!("{{workloads: [{{{entry}}}]}}"), "{}");
            let notes = meaningless(&site, &solution, &parts);
            notes.into_iter().collect()
        };
        for (entry, expected) in [
            (
                "solutions: shop, part: web, workload: agent, set: {replicas: 2}",
                "replicas has no effect on DaemonSet agent (the site's file, entry for shop web, workload agent)",
            ),
            (
                "part: web, workload: both, kind: DaemonSet, set: {replicas: 2, labels: {a: b}}",
                "replicas has no effect on DaemonSet both (the site's file, entry for * web, DaemonSet both)",
            ),
            (
                "part: web, set: {securityContext: {runAsNonRoot: true}}",
                "securityContext has no effect on DaemonSet agent, DaemonSet both, Deployment both (the site's file, entry for * web)",
            ),
        ] {
            assert_eq!(told(entry), [expected], "{entry}");
        }
        for entry in [
            // One of the two workloads has a number of replicas.
            "part: web, workload: both, set: {replicas: 2}",
            "part: web, workload: agent, set: {labels: {a: b}}",
            "part: web, workload: other, set: {replicas: 2}",
            "solutions: cart, part: web, workload: agent, set: {replicas: 2}",
            // These fields only apply to operators, which is another note.
            "set: {replicas: 2, securityContext: {runAsNonRoot: true}}",
            "workload: agent, set: {replicas: 2}",
            "part: operator, set: {replicas: 2, securityContext: {runAsNonRoot: true}}",
        ] {
            assert_eq!(told(entry), [""; 0], "{entry}");
        }
    }

    #[test]
    fn the_first_name_that_no_part_has_is_said() {
        let web = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
            "spec": { "template": { "spec": { "containers": [{ "name": "c" }] } } },
        });
        let service =
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "db" } });
        let parts = [PartObjects {
            name: "shop",
            objects: vec![&web, &service],
        }];
        for (entry, expected) in [
            ("part: shop", None),
            ("workload: web", None),
            ("part: shop, workload: web, container: c", None),
            ("part: cart", Some("set of manifests or chart `cart`")),
            (
                "part: hsop",
                Some("set of manifests or chart `hsop`; did you mean `shop`?"),
            ),
            ("part: shop, workload: cart", Some("workload `cart`")),
            // A Service has no pods.
            ("workload: db", Some("workload `db`")),
            ("workload: wbe", Some("workload `wbe`; did you mean `web`?")),
            ("workload: web, kind: Job", Some("Job `web`")),
            (
                "part: shop, workload: web, container: d",
                Some("container `d` in workload `web`"),
            ),
        ] {
            let text = format!("{{{entry}, set: {{}}}}");
            let rule: SiteRule = schemas::yaml::from_slice(text.as_bytes()).unwrap();
            let found = missing(&rule, &parts).map(|missing| missing.to_string());
            assert_eq!(found.as_deref(), expected, "{entry}");
        }
    }
}
