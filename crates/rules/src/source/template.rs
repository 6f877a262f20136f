//! Rules for `spec.operator.template`. It may define everything about the operator's pods except for the fields that an
//! import sets, and the fields that are defined elsewhere in `spec.operator`.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{
    ObjectSet, Operator, OperatorTemplate, Phase, Piece, SetName, printable_within,
    split_expansions,
};
use serde_json::{Value, json};

use crate::definition::metadata::is_ours;
use crate::document::text;
use crate::finding::problem::Problem;
use crate::limits::POINTER;
use crate::object::is_kubernetes_role;
use crate::pod::beyond_namespace;

/// The fields of a pod that an import sets, or that only a site can know.
const OF_PODS: [&str; 7] = [
    "ephemeralContainers",
    "imagePullSecrets",
    "nodeName",
    "priority",
    "priorityClassName",
    "serviceAccount",
    "serviceAccountName",
];
/// The fields of the operator's container that `spec.operator` defines, or that an import sets.
const OF_OWN: [&str; 3] = ["args", "command", "imagePullPolicy"];

/// The lists of a container that an import merges, each with the key of its elements.
const LISTS: [(&str, &str); 3] = [
    ("env", "/name"),
    ("ports", "/containerPort"),
    ("volumeMounts", "/mountPath"),
];
/// The API server's limit for replicas.
const REPLICAS: u32 = i32::MAX.unsigned_abs();

/// Returns the problems of the template's fields that an import cannot apply.
pub(crate) fn template(operator: &Operator) -> impl Iterator<Item = Problem> {
    let template = operator.template.iter();
    template.flat_map(|template| {
        let mut judge = TemplateChecker(Vec::new());
        judge.replicas(template);
        judge.marks(template);
        judge.pod(template, operator);
        judge.names(template);
        judge.0
    })
}

/// Returns the effects of the operator's pods beyond their namespace, which a site must accept.
pub fn template_reach(operator: &Operator) -> impl Iterator<Item = Problem> {
    let pods = operator.template.iter().map(|OperatorTemplate { metadata, spec, .. }| {
        json!({"metadata": {"annotations": metadata.annotations}, "spec": spec})
    });
    pods.flat_map(|pod| beyond_namespace(&pod))
        .map(Problem::TemplateReach)
}

/// Checks whether an import sets this label of the operator's pods.
#[must_use]
fn is_set_label(name: &str) -> bool {
    let own = [OperatorTemplate::SELECTOR, OperatorTemplate::MANAGED_BY];
    is_ours(name) || own.contains(&name)
}

struct TemplateChecker(Vec<Problem>);

impl TemplateChecker {
    fn add(&mut self, place: &str, what: &str) {
        self.0
            .push(Problem::Template(place.to_owned(), what.to_owned()));
    }

    fn marks(&mut self, template: &OperatorTemplate) {
        let labels = template.metadata.labels.keys();
        for name in labels.filter(|name| is_set_label(name)) {
            self.add("metadata.labels", &format!("`{name}` is set by the import"));
        }
        let annotations = template.metadata.annotations.keys();
        for name in annotations.filter(|name| is_ours(name)) {
            self.add(
                "metadata.annotations",
                &format!("`{name}` is set by the import"),
            );
        }
    }

    fn replicas(&mut self, template: &OperatorTemplate) {
        if template
            .replicas
            .is_some_and(|replicas| replicas.get() > REPLICAS)
        {
            self.add("replicas", &format!("is more than {REPLICAS}"));
        }
    }

    /// Checks that items have unique names, since an import merges lists by name.
    fn names(&mut self, template: &OperatorTemplate) {
        for fields in [&["containers", "initContainers"][..], &["volumes"]] {
            let mut known = BTreeSet::new();
            for field in fields {
                for (index, item) in template.list(field).iter().enumerate() {
                    let name = text(item, "/name").filter(|name| !name.is_empty());
                    let named_by_import = *field == "containers" && OperatorTemplate::is_own(item);
                    let place = format!("spec.{field}[{index}]");
                    match name {
                        None if !named_by_import => self.add(&place, "has no `name`"),
                        Some(name) if !known.insert(name) => {
                            let name = printable_within(name, POINTER);
                            self.add(
                                &place,
                                &format!("has the same name `{name}` as another item"),
                            );
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Checks the pod of a template. Only the container without an image is the operator's, and all other containers
    /// need an image of the Solution.
    fn pod(&mut self, template: &OperatorTemplate, operator: &Operator) {
        for field in OF_PODS
            .iter()
            .filter(|field| template.spec.contains_key(**field))
        {
            self.add(&format!("spec.{field}"), "cannot be set by a template");
        }
        for field in ["containers", "initContainers", "volumes"] {
            let list = template.spec.get(field).map(Value::as_array);
            let objects = |list: &Vec<Value>| list.iter().all(Value::is_object);
            if list.is_some_and(|list| !list.is_some_and(objects)) {
                self.add(&format!("spec.{field}"), "is not a list of objects");
            }
        }
        let own = |container: &&Value| OperatorTemplate::is_own(container);
        if template.list("containers").iter().filter(own).count() > 1 {
            self.add(
                "spec.containers",
                "multiple containers have no `image`; only the operator's container may omit it",
            );
        }
        for (index, container) in template.list("containers").iter().enumerate() {
            let place = format!("spec.containers[{index}]");
            self.container(&place, container);
            if OperatorTemplate::is_own(container) {
                self.own(&place, container, operator);
            }
        }
        for (index, container) in template.list("initContainers").iter().enumerate() {
            let place = format!("spec.initContainers[{index}]");
            if OperatorTemplate::is_own(container) {
                self.add(&place, "has no `image`");
            }
            self.container(&place, container);
        }
        for (index, volume) in template.list("volumes").iter().enumerate() {
            if text(volume, "/name") == Some(OperatorTemplate::CONFIG_VOLUME) {
                self.add(&format!("spec.volumes[{index}]"), "is set by the import");
            }
            if let Some(image) = volume.pointer("/image/reference") {
                self.image(&format!("spec.volumes[{index}].image.reference"), image);
            }
        }
    }

    /// Checks any container.
    fn container(&mut self, place: &str, container: &Value) {
        if let Some(image) = container.get("image") {
            self.image(&format!("{place}.image"), image);
        }
        self.lists(place, container);
        let is = |field: &str| container.pointer(field) == Some(&Value::Bool(true));
        // A privileged container can escalate its privileges in any case.
        if is("/securityContext/allowPrivilegeEscalation") && !is("/securityContext/privileged") {
            let place = format!("{place}.securityContext.allowPrivilegeEscalation");
            self.add(&place, "is not allowed for operators");
        }
    }

    /// Checks the lists of a container that an import merges with its own.
    fn lists(&mut self, place: &str, container: &Value) {
        for (field, key) in LISTS {
            let Some(value) = container.get(field) else {
                continue;
            };
            let place = format!("{place}.{field}");
            let items = value
                .as_array()
                .filter(|items| items.iter().all(Value::is_object));
            let Some(items) = items else {
                self.add(&place, "is not a list of objects");
                continue;
            };
            let mut known = BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                let place = format!("{place}[{index}]");
                // Ports with the same number and different protocols are different, so the protocol is a part of the
                // key.
                let key_of = item.pointer(key).map(Value::to_string);
                if matches!(key_of.as_deref(), None | Some("null" | "\"\"")) {
                    self.add(&place, &format!("has no `{}`", &key[1..]));
                } else if !known.insert((key_of, text(item, "/protocol").unwrap_or("TCP"))) {
                    self.add(
                        &place,
                        &format!("has the same `{}` as another item", &key[1..]),
                    );
                }
                let is = |field: &str| item.get(field).is_some_and(|value| !value.is_null());
                if field == "env" && is("value") && is("valueFrom") {
                    self.add(&place, "has both `value` and `valueFrom`");
                }
                if field == "env" && is("value") && text(item, "/value").is_none() {
                    self.add(&place, "has a `value` that is not a string");
                }
            }
        }
    }

    /// Checks that an image is exactly one of the Solution's images.
    fn image(&mut self, place: &str, image: &Value) {
        let pieces = image.as_str().map(split_expansions);
        // The check of all texts reports invalid expansions.
        if let Some(Err(_)) = pieces {
            return;
        }
        if !matches!(pieces, Some(Ok(pieces)) if matches!(pieces[..], [Piece::Image(_)])) {
            self.add(place, "is not exactly `$(image:NAME)`");
        }
    }

    /// Checks the operator's container.
    fn own(&mut self, place: &str, container: &Value, operator: &Operator) {
        for field in OF_OWN
            .iter()
            .filter(|field| container.get(**field).is_some())
        {
            let what = format!("the template cannot set the operator's `{field}`");
            self.add(place, &what);
        }
        let list = |field| {
            container
                .get(field)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        let known: BTreeSet<&str> = operator.env.iter().map(|own| own.name.as_str()).collect();
        let variables = list("env").filter_map(|variable| text(variable, "/name"));
        for variable in variables.filter(|variable| known.contains(variable)) {
            self.0.push(Problem::VariableTwice(variable.to_owned()));
        }
        for path in list("volumeMounts").filter_map(|mount| text(mount, "/mountPath")) {
            if OperatorTemplate::is_config_path(path) {
                let of = OperatorTemplate::CONFIG_PATH;
                let what = format!("`{of}` is reserved for the operator's configuration");
                self.add(&format!("{place}.volumeMounts"), &what);
            }
        }
    }
}

/// Returns a problem for each set that the operator needs, but that is not applied at an import.
#[must_use]
pub fn template_needs(operator: &Operator, sets: &[ObjectSet]) -> Vec<Problem> {
    let mut judge = TemplateChecker(Vec::new());
    let by_name: BTreeMap<&SetName, &ObjectSet> = sets.iter().map(|set| (&set.name, set)).collect();
    let template = operator.template.iter();
    for needed in template.flat_map(|template| &template.needs) {
        match by_name.get(needed) {
            None => judge.add("needs", &format!("`{needed}` is not a set")),
            Some(set) if set.phase == Phase::Remove => {
                let what = format!("`{needed}` is only applied when the Solution is removed");
                judge.add("needs", &what);
            }
            Some(_) => {}
        }
    }
    judge.0
}

/// Returns the ClusterRoles with the name of a built-in role, for an operator whose roles keep their names.
pub fn kept_names<'a>(
    operator: Option<&Operator>,
    roles: &'a [Value],
) -> impl Iterator<Item = Problem> + use<'a> {
    let kept = operator.is_some_and(Operator::keeps_role_names);
    let wide = |role: &Value| text(role, "/kind") == Some("ClusterRole");
    let roles = roles
        .iter()
        .enumerate()
        .filter(move |(_, role)| kept && wide(role));
    roles.filter_map(|(index, role)| {
        let name = text(role, "/metadata/name").filter(|name| is_kubernetes_role(name))?;
        Some(Problem::RoleName(index + 1, name.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(template: &Value) -> Vec<String> {
        let operator = json!({
            "image": {"name": "a", "tag": "1"}, "env": [{"name": "MODE", "value": "x"}], "template": template,
        });
        let operator: Operator = serde_json::from_value(operator).unwrap();
        super::template(&operator)
            .map(|problem| problem.to_string())
            .collect()
    }

    #[test]
    fn a_template_says_what_releases_say_of_their_pods() {
        let template = json!({
            "replicas": 2,
            "metadata": {"labels": {"app.kubernetes.io/name": "web"}, "annotations": {"note": "n"}},
            "spec": {
                "affinity": {}, "terminationGracePeriodSeconds": 10,
                "initContainers": [{"name": "i", "image": "$(image:tool)"}],
                "containers": [
                    {"resources": {}, "readinessProbe": {}, "env": [{"name": "OTHER"}],
                     "volumeMounts": [{"name": "cert", "mountPath": "/cert"}]},
                    {"name": "proxy", "image": "$(image:proxy)", "args": ["x"], "command": ["y"]},
                ],
                "volumes": [{"name": "cert", "secret": {}}, {"name": "m", "image": {"reference": "$(image:m)"}}],
            },
        });
        assert_eq!(found(&template), Vec::<String>::new());
        assert_eq!(found(&json!({})), Vec::<String>::new());
    }

    #[test]
    fn what_an_import_sets_is_refused_by_its_place() {
        let template = json!({
            "metadata": {
                "labels": {"app": "a", "solutions.metalk8s.scality.com/solution": "x", "app.kubernetes.io/managed-by": "x"},
                "annotations": {"solutions.metalk8s.scality.com/config-hash": "x"},
            },
            "spec": {
                "serviceAccountName": "admin", "imagePullSecrets": [], "nodeName": "n",
                "initContainers": [{"name": "i"}],
                "containers": [
                    {"command": ["x"], "env": [{"name": "MODE"}], "volumeMounts": [{"name": "v", "mountPath": "/etc/config/"}],
                     "securityContext": {"allowPrivilegeEscalation": true}},
                    {"name": "proxy", "image": "quay.io/proxy:1"},
                    {"name": "other"},
                ],
                "volumes": [{"name": "operator-config"}, {"name": "m", "image": {"reference": "quay.io/m:1"}}],
            },
        });
        let expected = [
            "spec.operator.template.metadata.labels: `app` is set by the import",
            "spec.operator.template.metadata.labels: `app.kubernetes.io/managed-by` is set by the import",
            "spec.operator.template.metadata.labels: `solutions.metalk8s.scality.com/solution` is set by the import",
            "spec.operator.template.metadata.annotations: `solutions.metalk8s.scality.com/config-hash` is set by the import",
            "spec.operator.template.spec.imagePullSecrets: cannot be set by a template",
            "spec.operator.template.spec.nodeName: cannot be set by a template",
            "spec.operator.template.spec.serviceAccountName: cannot be set by a template",
            "spec.operator.template.spec.containers: multiple containers have no `image`; only the operator's container may omit it",
            "spec.operator.template.spec.containers[0].securityContext.allowPrivilegeEscalation: is not allowed for operators",
            "spec.operator.template.spec.containers[0]: the template cannot set the operator's `command`",
            "spec.operator.env: `MODE` is set twice",
            "spec.operator.template.spec.containers[0].volumeMounts: `/etc/config` is reserved for the operator's configuration",
            "spec.operator.template.spec.containers[1].image: is not exactly `$(image:NAME)`",
            "spec.operator.template.spec.initContainers[0]: has no `image`",
            "spec.operator.template.spec.volumes[0]: is set by the import",
            "spec.operator.template.spec.volumes[1].image.reference: is not exactly `$(image:NAME)`",
        ];
        assert_eq!(found(&template), expected);
    }

    /// An import merges lists by these keys, and could not match elements without one.
    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let template = json!({
            "replicas": 2_147_483_648_u32,
            "spec": {
                "initContainers": [{"name": "proxy", "image": "$(image:i)"}],
                "containers": [
                    {
                        "env": [
                            {"value": "x"}, {"name": "A", "value": "x", "valueFrom": {}}, {"name": "A"},
                            {"name": "B", "value": 1}, {"name": "C", "value": null, "valueFrom": {}},
                        ],
                        "ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}],
                        "volumeMounts": "x",
                    },
                    {"name": "proxy", "image": "$(image:p)"},
                    {"image": "$(image:p)"},
                ],
                "volumes": [{"name": "v"}, {"name": "v"}, {}],
            },
        });
        let expected = [
            "replicas: is more than 2147483647",
            "spec.containers[0].env[0]: has no `name`",
            "spec.containers[0].env[1]: has both `value` and `valueFrom`",
            "spec.containers[0].env[2]: has the same `name` as another item",
            "spec.containers[0].env[3]: has a `value` that is not a string",
            "spec.containers[0].ports[2]: has the same `containerPort` as another item",
            "spec.containers[0].volumeMounts: is not a list of objects",
            "spec.containers[2]: has no `name`",
            "spec.initContainers[0]: has the same name `proxy` as another item",
            "spec.volumes[1]: has the same name `v` as another item",
            "spec.volumes[2]: has no `name`",
        ];
        let expected = expected.map(|problem| format!("spec.operator.template.{problem}"));
        assert_eq!(found(&template), expected);
    }

    #[test]
    fn what_is_no_list_of_objects_is_said_so() {
        for (field, value) in [
            ("containers", json!("x")),
            ("volumes", json!(["x"])),
            ("initContainers", json!({})),
        ] {
            let place = format!("spec.operator.template.spec.{field}: is not a list of objects");
            assert!(
                found(&json!({"spec": {field: value}})).contains(&place),
                "{field}"
            );
        }
    }

    #[test]
    fn names_of_kubernetes_are_refused_where_they_are_kept() {
        let operator = |template: Value| {
            let operator = json!({"image": {"name": "a", "tag": "1"}, "scope": "Cluster", "template": template});
            serde_json::from_value::<Operator>(operator).unwrap()
        };
        let roles = ["Role", "ClusterRole"];
        let roles = roles.map(|kind| json!({"kind": kind, "metadata": {"name": "view"}}));
        let found = |operator: &Operator| -> Vec<String> {
            let found = kept_names(Some(operator), &roles);
            found.map(|problem| format!("{problem:?}")).collect()
        };
        assert_eq!(found(&operator(json!({}))), [r#"RoleName(2, "view")"#]);
        assert_eq!(found(&operator(Value::Null)), [""; 0]);
    }
}
