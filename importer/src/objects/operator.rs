//! The objects of an operator in a namespace, with MetalK8s' names and in its order: ServiceAccount, Roles and
//! bindings, ConfigMap, Deployment. The entry point is [`OperatorInputs::objects`]. A pure function of the archive and
//! the choices; see docs/decisions/0006-made-manifests.md and 0017-operator-template.md.

use std::collections::BTreeMap;

use kubernetes::ObjectRef;
use planner::vocabulary as v;
use schemas::{
    Digest, EnvironmentName, Namespace, Operator, OperatorConfig, OperatorScope, OperatorTemplate,
    SolutionId, SolutionName, yaml,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::choices::workloads::promise;
use crate::model::error::ExpandError;
use crate::objects::metrics::OperatorMetrics;
use crate::objects::template::{self, Addresses};

/// The maximum length of names that MetalK8s truncates. Longer names end in a hash, so that different names stay
/// different.
const NAME_LENGTH: usize = 63;

/// The key of an operator's configuration in its ConfigMap.
pub(crate) const CONFIG: &str = "operator.yaml";

/// Hex digits of the hash in a truncated name: 128 bits, so that two names with the same one cannot be constructed.
const HASH_LENGTH: usize = 32;

/// The inputs for the objects of an operator.
#[derive(Debug)]
pub(crate) struct OperatorInputs<'a> {
    pub(crate) id: &'a SolutionId,
    pub(crate) operator: &'a Operator,
    /// The documents in `role.yaml`.
    pub(crate) roles: &'a [Value],
    pub(crate) environment: &'a EnvironmentName,
    pub(crate) namespace: &'a Namespace,
    pub(crate) config: &'a OperatorConfig,
    /// The address by digest of every image of the Solution.
    pub(crate) images: &'a Addresses<'a>,
    /// The pull secret, if the registry requires a login.
    pub(crate) pull_secret: Option<&'a str>,
    /// The metrics that the operator serves.
    pub(crate) metrics: Option<OperatorMetrics<'a>>,
}

impl OperatorInputs<'_> {
    /// Returns the name that MetalK8s gives to the operator's objects.
    pub(crate) fn operator_name(&self) -> String {
        operator_name(self.id.name().as_str())
    }

    /// Returns all objects in the order to apply them.
    pub(crate) fn objects(&self) -> Result<Vec<Value>, ExpandError> {
        let mut objects = vec![self.service_account()];
        for role in self.roles {
            objects.push(self.role(role));
            objects.push(self.binding(role, self.operator.scope));
        }
        if let Some(mut role) = self.metrics.and_then(|served| served.role()) {
            if self.operator.keeps_role_names() {
                // This role is not in the archive, so it gets a unique name nevertheless.
                role["metadata"]["name"] = json!(self.name_here(name(&role)));
            }
            objects.push(self.role(&role));
            objects.push(self.binding(&role, OperatorScope::Cluster));
        }
        objects.push(self.config_map());
        objects.push(self.deployment()?);
        if let Some(served) = self.metrics {
            let name = self.operator_name();
            let service = self.metadata(&format!("{name}-metrics"));
            objects.push(served.service(&name, &service));
            objects.extend(served.monitor(&name, self.metadata(&name)));
        }
        Ok(objects)
    }

    /// Returns MetalK8s' common labels, and ours.
    fn labels(&self) -> BTreeMap<&'static str, String> {
        let name = self.operator_name();
        BTreeMap::from([
            ("app", name.clone()),
            ("app.kubernetes.io/name", name.clone()),
            ("app.kubernetes.io/instance", name),
            ("app.kubernetes.io/version", self.id.version().to_string()),
            ("app.kubernetes.io/component", "operator".to_owned()),
            ("app.kubernetes.io/part-of", self.id.name().to_string()),
            (v::MANAGED_BY, v::MANAGER.to_owned()),
            (v::SOLUTION, self.id.name().to_string()),
            (v::ENVIRONMENT, self.environment.to_string()),
        ])
    }

    fn metadata(&self, name: &str) -> Value {
        json!({ "name": name, "namespace": self.namespace, "labels": self.labels() })
    }

    /// Returns the metadata of a cluster-scoped object. A label names the namespace, since such objects have none.
    fn cluster_metadata(&self, name: &str) -> Value {
        let mut labels = self.labels();
        labels.insert(v::NAMESPACE, self.namespace.to_string());
        json!({ "name": name, "labels": labels })
    }

    fn pull_secrets(&self) -> Value {
        self.pull_secret
            .map_or(json!([]), |name| json!([{ "name": name }]))
    }

    fn service_account(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": self.metadata(&self.operator_name()),
            "imagePullSecrets": self.pull_secrets(),
        })
    }

    fn role(&self, role: &Value) -> Value {
        let mut metadata = self.metadata(name(role));
        if kind(role) == "ClusterRole" {
            metadata = self.cluster_metadata(&self.cluster_role_name(role));
            for held in rules::aggregates_to(role) {
                let label = format!("{}{held}", rules::AGGREGATE_TO);
                metadata["labels"][label] = json!("true");
            }
        }
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind(role),
            "metadata": metadata,
            "rules": role.get("rules").cloned().unwrap_or_else(|| json!([])),
        })
    }

    /// Returns the name of a ClusterRole. It contains the environment, so that environments do not share it. An
    /// operator that can only exist once in a cluster may keep the names in its archive, which its program looks up.
    fn cluster_role_name(&self, role: &Value) -> String {
        let name = name(role);
        if self.operator.keeps_role_names() {
            return name.to_owned();
        }
        self.name_here(name)
    }

    /// Returns a name that is unique to the environment.
    fn name_here(&self, name: &str) -> String {
        let solution = self.id.name();
        let (environment, namespace) = (self.environment, self.namespace);
        format!("solution:{environment}:{namespace}:{solution}:{name}")
    }

    fn binding(&self, role: &Value, scope: OperatorScope) -> Value {
        let bound = match kind(role) {
            "ClusterRole" => self.cluster_role_name(role),
            _ => name(role).to_owned(),
        };
        let (binding_kind, metadata) = match (kind(role), scope) {
            ("ClusterRole", OperatorScope::Cluster) => {
                ("ClusterRoleBinding", self.cluster_metadata(&bound))
            }
            _ => ("RoleBinding", self.metadata(&self.binding_name(role))),
        };
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": binding_kind,
            "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind(role), "name": bound },
            "subjects": [{
                "kind": "ServiceAccount",
                "name": self.operator_name(),
                "namespace": self.namespace,
            }],
        })
    }

    fn binding_name(&self, role: &Value) -> String {
        let kind = kind(role).to_ascii_lowercase();
        fit(&format!("{}-{kind}-{}", self.operator_name(), name(role)))
    }

    fn config_map(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": self.metadata(&config_name(&self.operator_name())),
            "data": { CONFIG: self.config_text() },
        })
    }

    fn config_text(&self) -> String {
        yaml::to_string(self.config)
    }

    /// Returns the Deployment of the operator, merged with the template in the archive if there is one.
    fn deployment(&self) -> Result<Value, ExpandError> {
        let name = self.operator_name();
        let mut pod_labels = self.labels();
        pod_labels.remove(v::SOLUTION);
        pod_labels.insert("heritage", v::MANAGER.to_owned());
        // The annotation changes with the configuration, so that the Deployment replaces its pods.
        let hash = Digest::new(Sha256::digest(self.config_text()).into()).hex();
        let mut deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": self.metadata(&name),
            "spec": {
                "replicas": 1,
                "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": pod_labels, "annotations": { v::CONFIG_HASH: hash } },
                    "spec": {
                        "serviceAccountName": name,
                        "securityContext": { "seccompProfile": { "type": "RuntimeDefault" } },
                        "containers": [self.container(&name)?],
                        "volumes": [{
                            "name": OperatorTemplate::CONFIG_VOLUME,
                            "configMap": { "name": config_name(&name) },
                        }],
                    },
                },
            },
        });
        if let Some(template) = &self.operator.template {
            template::lay_beneath(template, self.images, &mut deployment)?;
        }
        Ok(deployment)
    }

    fn container(&self, name: &str) -> Result<Value, ExpandError> {
        let config = format!("--config={}/operator.yaml", OperatorTemplate::CONFIG_PATH);
        let usual = || vec![name.to_owned(), config];
        let command = self.operator.command.clone().unwrap_or_else(usual);
        let mut args = self.expand_all(&self.operator.args)?;
        // An operator with its own command may have other flags.
        if let (Some(served), None) = (self.metrics, &self.operator.command) {
            args.extend(served.argument(&self.operator.args));
        }
        let mut container = json!({
            "name": name,
            "image": self.images.address(&self.operator.image.place())?,
            // The image has a digest, so a node must pull it only once.
            "imagePullPolicy": "IfNotPresent",
            "command": self.expand_all(&command)?,
            "args": args,
            "env": self.environment_variables(name)?,
            "securityContext": self.security_context(),
            "volumeMounts": [{ "name": OperatorTemplate::CONFIG_VOLUME, "mountPath": OperatorTemplate::CONFIG_PATH }],
        });
        if let Some(served) = self.metrics {
            container["ports"] = json!([served.container_port()]);
        }
        Ok(container)
    }

    /// Returns the security context with the restrictions that always apply and those in the manifest.
    fn security_context(&self) -> Value {
        let mut context = template::withheld();
        promise(self.operator.security_context, &mut context);
        context
    }

    fn expand_all(&self, texts: &[String]) -> Result<Vec<String>, ExpandError> {
        texts.iter().map(|text| self.images.expand(text)).collect()
    }

    fn environment_variables(&self, name: &str) -> Result<Vec<Value>, ExpandError> {
        let field = |path: &str| json!({ "fieldRef": { "apiVersion": "v1", "fieldPath": path } });
        let mut variables = vec![
            json!({ "name": "WATCH_NAMESPACE", "valueFrom": field("metadata.namespace") }),
            json!({ "name": "POD_NAME", "valueFrom": field("metadata.name") }),
            json!({ "name": "POD_NAMESPACE", "valueFrom": field("metadata.namespace") }),
            json!({ "name": "OPERATOR_NAME", "value": name }),
        ];
        // The manifest may replace these variables: an operator with cluster scope watches more than its namespace.
        let own = &self.operator.env;
        variables.retain(|variable| own.iter().all(|own| variable["name"] != own.name.as_str()));
        for variable in &self.operator.env {
            let value = self.images.expand(&variable.value)?;
            variables.push(json!({ "name": variable.name, "value": value }));
        }
        Ok(variables)
    }
}

/// Returns the name of a Solution's operator and its objects.
pub(crate) fn operator_name(solution: &str) -> String {
    format!("{solution}-operator")
}

/// Returns the reference of the operator's Deployment in a namespace.
pub(crate) fn operator_reference(solution: &SolutionName, namespace: &Namespace) -> ObjectRef {
    let name = operator_name(solution.as_str());
    ObjectRef::namespaced("apps/v1", "Deployment", namespace.as_str(), &name)
}

/// Returns the name of the ConfigMap with the operator's configuration.
pub(crate) fn config_name(operator: &str) -> String {
    format!("{operator}-config")
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Returns a name of at most 63 characters. Longer names are truncated and end in a hash of the whole name.
fn fit(name: &str) -> String {
    if name.len() <= NAME_LENGTH {
        return name.to_owned();
    }
    let hash = Digest::new(Sha256::digest(name).into()).hex();
    let cut: String = name.chars().take(NAME_LENGTH - HASH_LENGTH - 1).collect();
    format!("{cut}-{}", &hash[..HASH_LENGTH])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::metrics::Collector;
    use schemas::{Metrics, Solution};

    const MANIFEST: &str = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: Solution
metadata: {name: shop}
spec:
  version: 1.2.0
  images: [shop-operator:1.2.0, web:7]
  operator:
    image: {name: shop-operator, tag: 1.2.0}
    args: ['--web=$(image:web)']
    env: [{name: RELATED_IMAGE_WEB, value: '$(image:web)'}]
    securityContext: {runAsNonRoot: true, runAsUser: 65534}
";

    /// A case of a test for the objects of an operator.
    struct Case {
        solution: Solution,
        pull_secret: Option<&'static str>,
        metrics: Option<Metrics>,
    }

    impl Case {
        fn new() -> Self {
            Self {
                solution: Solution::from_slice(MANIFEST.as_bytes()).unwrap(),
                pull_secret: None,
                metrics: None,
            }
        }

        fn objects(&self) -> Vec<Value> {
            let roles = [
                json!({ "kind": "Role", "metadata": { "name": "shop", "namespace": "elsewhere" }, "rules": [] }),
                json!({ "kind": "ClusterRole", "metadata": { "name": "x".repeat(80) }, "rules": [] }),
            ];
            let id = self.solution.id().unwrap();
            let places = &self.solution.spec.images;
            let images = Addresses::new(
                "pull.test/shop-1.2.0",
                places.iter().map(|place| (place, Digest::new([7; 32]))),
            );
            let rendering = OperatorInputs {
                id: &id,
                operator: self.solution.spec.operator.as_ref().unwrap(),
                roles: &roles,
                environment: &"prod".parse().unwrap(),
                namespace: &"shop-prod".parse().unwrap(),
                config: &OperatorConfig::new(BTreeMap::new()),
                images: &images,
                pull_secret: self.pull_secret,
                metrics: self.metrics.as_ref().map(|metrics| OperatorMetrics {
                    metrics,
                    collector: Collector::ServiceMonitor,
                }),
            };
            rendering.objects().unwrap()
        }
    }

    fn find<'a>(objects: &'a [Value], wanted: &str) -> &'a Value {
        objects
            .iter()
            .find(|object| kind(object) == wanted)
            .unwrap()
    }

    #[test]
    fn metrics_bring_a_service_a_monitor_and_the_right_to_ask_who_reads() {
        let mut case = Case::new();
        let before = case.objects();
        case.metrics = Some(serde_json::from_value(json!({ "enabled": true })).unwrap());
        let objects = case.objects();
        let new = objects.iter().filter(|object| !before.contains(object));
        let new: Vec<_> = new
            .map(|object| format!("{} {}", kind(object), name(object)))
            .collect();
        let expected = [
            "ClusterRole solution:prod:shop-prod:shop:metrics-auth",
            "ClusterRoleBinding solution:prod:shop-prod:shop:metrics-auth",
            "Deployment shop-operator",
            "Service shop-operator-metrics",
            "ServiceMonitor shop-operator",
        ];
        assert_eq!(new, expected);
        let container = &find(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
        let args = json!([
            "--web=pull.test/shop-1.2.0/web@sha256:0707070707070707070707070707070707070707070707070707070707070707",
            "--metrics-bind-address=:8443"
        ]);
        assert_eq!(container["args"], args);
        assert_eq!(container["ports"][0]["containerPort"], 8443);
    }

    #[test]
    fn objects_come_in_upstreams_order_and_names() {
        let objects = Case::new().objects();
        let names: Vec<String> = objects
            .iter()
            .map(|object| format!("{} {}", kind(object), name(object)))
            .collect();
        let bound = &names[4];
        assert!(
            bound.starts_with("RoleBinding shop-operator-clusterrole-xx") && bound.len() == 12 + 63,
            "{bound}"
        );
        let cluster_role = format!(
            "ClusterRole solution:prod:shop-prod:shop:{}",
            "x".repeat(80)
        );
        let expected = [
            "ServiceAccount shop-operator",
            "Role shop",
            "RoleBinding shop-operator-role-shop",
            &cluster_role,
            bound,
            "ConfigMap shop-operator-config",
            "Deployment shop-operator",
        ];
        assert_eq!(names, expected);
        for object in &objects {
            let namespace = object["metadata"]["namespace"].as_str();
            assert_eq!(
                namespace,
                (kind(object) != "ClusterRole").then_some("shop-prod"),
                "{object}"
            );
            assert_eq!(
                object["metadata"]["labels"][v::SOLUTION],
                "shop",
                "{object}"
            );
        }
    }

    #[test]
    fn the_operator_runs_by_digest_with_upstreams_arguments_and_few_rights() {
        let objects = Case::new().objects();
        let pod = &find(&objects, "Deployment")["spec"]["template"]["spec"];
        let container = &pod["containers"][0];
        let web = format!("pull.test/shop-1.2.0/web@sha256:{}", "07".repeat(32));
        assert_eq!(container["image"], web.replace("/web@", "/shop-operator@"));
        assert_eq!(
            container["command"],
            json!(["shop-operator", "--config=/etc/config/operator.yaml"])
        );
        assert_eq!(container["args"], json!([format!("--web={web}")]));
        assert_eq!(
            container["env"][4],
            json!({ "name": "RELATED_IMAGE_WEB", "value": web })
        );
        assert_eq!(container["env"][0]["name"], "WATCH_NAMESPACE");
        assert_eq!(
            container["securityContext"]["allowPrivilegeEscalation"],
            false
        );
        assert_eq!(
            container["securityContext"]["capabilities"]["drop"],
            json!(["ALL"])
        );
        assert_eq!(container["securityContext"]["runAsNonRoot"], true);
        assert_eq!(container["securityContext"]["runAsUser"], 65534);
        assert!(
            container["securityContext"]
                .get("readOnlyRootFilesystem")
                .is_none()
        );
        assert_eq!(
            pod["securityContext"]["seccompProfile"]["type"],
            "RuntimeDefault"
        );
    }

    #[test]
    fn a_variable_of_the_manifest_replaces_the_usual_one() {
        let mut case = Case::new();
        let operator = case.solution.spec.operator.as_mut().unwrap();
        operator.env = vec![schemas::EnvVar {
            name: "WATCH_NAMESPACE".to_owned(),
            value: String::new(),
        }];
        let objects = case.objects();
        let env = &find(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"];
        let names: Vec<&Value> = env
            .as_array()
            .unwrap()
            .iter()
            .map(|variable| &variable["name"])
            .collect();
        assert_eq!(
            names,
            [
                "POD_NAME",
                "POD_NAMESPACE",
                "OPERATOR_NAME",
                "WATCH_NAMESPACE"
            ]
        );
        assert_eq!(env[3]["value"], "");
    }

    #[test]
    fn cluster_wide_rights_only_where_the_scope_says_so() {
        let mut case = Case::new();
        assert!(
            case.objects()
                .iter()
                .all(|object| kind(object) != "ClusterRoleBinding")
        );
        case.solution.spec.operator.as_mut().unwrap().scope = OperatorScope::Cluster;
        let objects = case.objects();
        let binding = find(&objects, "ClusterRoleBinding");
        assert_eq!(binding["metadata"]["labels"][v::NAMESPACE], "shop-prod");
        assert_eq!(binding["subjects"][0]["namespace"], "shop-prod");
        assert!(
            binding["roleRef"]["name"]
                .as_str()
                .unwrap()
                .starts_with("solution:prod:")
        );
    }

    fn with_template(template: Value) -> Case {
        let mut case = Case::new();
        let operator = case.solution.spec.operator.as_mut().unwrap();
        operator.template = Some(serde_json::from_value(template).unwrap());
        case
    }

    /// Returns a template that sets every field.
    fn full_template() -> Value {
        json!({
            "replicas": 2,
            "metadata": {
                "labels": {"app.kubernetes.io/name": "web", "tier": "control"},
                "annotations": {"note": "n"},
            },
            "spec": {
                "terminationGracePeriodSeconds": 10,
                "securityContext": {"fsGroup": 7},
                "initContainers": [{"name": "first", "image": "$(image:web)", "args": ["--of=$(image:web)"]}],
                "containers": [
                    {"name": "proxy", "image": "$(image:web)"},
                    {
                        "name": "manager",
                        "resources": {"requests": {"cpu": "10m"}},
                        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}},
                        "ports": [{"name": "webhook", "containerPort": 9443}],
                        "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "k", "key": "k"}}},
                                {"name": "WATCH_NAMESPACE", "value": "all"}],
                        "volumeMounts": [{"name": "cert", "mountPath": "/cert", "readOnly": true}],
                        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"},
                                            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["CHOWN"]}},
                    },
                ],
                "volumes": [{"name": "cert", "secret": {"secretName": "shop-operator-cert"}}],
            },
        })
    }

    #[test]
    fn an_empty_template_changes_nothing() {
        assert_eq!(with_template(json!({})).objects(), Case::new().objects());
    }

    #[test]
    fn a_template_stands_beneath_what_the_import_sets() {
        let objects = with_template(full_template()).objects();
        let usual = Case::new().objects();
        let (spec, usual) = [&objects, &usual]
            .map(|all| &find(all, "Deployment")["spec"])
            .into();
        assert_eq!(
            (&spec["replicas"], &spec["selector"]),
            (&json!(2), &usual["selector"])
        );
        let marks = &spec["template"]["metadata"];
        let mut expected = usual["template"]["metadata"].clone();
        expected["labels"]["app.kubernetes.io/name"] = json!("web");
        expected["labels"]["tier"] = json!("control");
        expected["annotations"]["note"] = json!("n");
        assert_eq!(*marks, expected);

        let (pod, usual) = (&spec["template"]["spec"], &usual["template"]["spec"]);
        let web = format!("pull.test/shop-1.2.0/web@sha256:{}", "07".repeat(32));
        let withheld =
            json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
        let mut expected = usual.clone();
        expected["terminationGracePeriodSeconds"] = json!(10);
        expected["securityContext"]["fsGroup"] = json!(7);
        let cert = json!({"name": "cert", "secret": {"secretName": "shop-operator-cert"}});
        expected["volumes"] = json!([usual["volumes"][0], cert]);
        expected["initContainers"] = json!([{
            "name": "first", "image": web, "args": [format!("--of={web}")], "securityContext": withheld,
        }]);
        let container = &usual["containers"][0];
        let mut own = container.clone();
        own["name"] = json!("manager");
        own["resources"] = json!({"requests": {"cpu": "10m"}});
        own["readinessProbe"] = json!({"httpGet": {"path": "/readyz", "port": 8081}});
        own["ports"] = json!([{"name": "webhook", "containerPort": 9443}]);
        let variables = container["env"].as_array().unwrap();
        let key = json!({"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "k", "key": "k"}}});
        let all = json!({"name": "WATCH_NAMESPACE", "value": "all"});
        own["env"] = [&variables[1..], &[key, all]].concat().into();
        let cert = json!({"name": "cert", "mountPath": "/cert", "readOnly": true});
        own["volumeMounts"] = json!([container["volumeMounts"][0], cert]);
        own["securityContext"]["seccompProfile"] = json!({"type": "RuntimeDefault"});
        own["securityContext"]["capabilities"]["add"] = json!(["NET_BIND_SERVICE"]);
        let proxy = json!({"name": "proxy", "image": web, "securityContext": withheld});
        expected["containers"] = json!([own, proxy]);
        assert_eq!(*pod, expected);
    }

    #[test]
    fn a_privileged_container_is_one_that_the_api_server_takes() {
        let case = with_template(
            json!({"spec": {"containers": [{"securityContext": {"privileged": true}}]}}),
        );
        let objects = case.objects();
        let container = &find(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
        let context = json!({
            "privileged": true, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true, "runAsUser": 65534,
        });
        assert_eq!(container["securityContext"], context);
    }

    #[test]
    fn a_port_of_the_metrics_is_there_once() {
        let mut case = with_template(json!({"spec": {"containers": [
            {"ports": [{"name": "metrics", "containerPort": 8443}, {"name": "webhook", "containerPort": 9443}]},
        ]}}));
        case.metrics = Some(serde_json::from_value(json!({ "enabled": true })).unwrap());
        let objects = case.objects();
        let ports =
            &find(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["ports"];
        let ports = ports.as_array().unwrap().iter();
        let names: Vec<&str> = ports.map(|port| port["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["https", "webhook"]);
    }

    #[test]
    fn roles_keep_their_names_where_there_is_only_one_operator() {
        let cluster_roles = |template: Option<Value>, scope| {
            let mut case = template.map_or_else(Case::new, with_template);
            case.metrics = Some(serde_json::from_value(json!({ "enabled": true })).unwrap());
            case.solution.spec.operator.as_mut().unwrap().scope = scope;
            let objects = case.objects();
            let wide = objects
                .iter()
                .filter(|object| kind(object).starts_with("ClusterRole"));
            let names = wide.map(|object| format!("{} {}", kind(object), name(object)));
            names.collect::<Vec<_>>()
        };
        let own = "x".repeat(80);
        let here = |name: &str| format!("solution:prod:shop-prod:shop:{name}");
        let both =
            |name: &str| ["ClusterRole", "ClusterRoleBinding"].map(|kind| format!("{kind} {name}"));
        let expected = |name: &str| [both(name), both(&here("metrics-auth"))].concat();
        assert_eq!(
            cluster_roles(Some(json!({})), OperatorScope::Cluster),
            expected(&own)
        );
        assert_eq!(
            cluster_roles(None, OperatorScope::Cluster),
            expected(&here(&own))
        );
        let one = cluster_roles(Some(json!({})), OperatorScope::Namespace);
        assert_eq!(one[0], format!("ClusterRole {}", here(&own)));
    }

    #[test]
    fn the_operator_pulls_with_the_secret() {
        let mut case = Case::new();
        case.pull_secret = Some("login");
        let objects = case.objects();
        let account = find(&objects, "ServiceAccount");
        assert_eq!(account["imagePullSecrets"], json!([{ "name": "login" }]));
    }

    #[test]
    fn long_names_stay_apart() {
        let (a, b) = (
            fit(&format!("{}a", "x".repeat(70))),
            fit(&format!("{}b", "x".repeat(70))),
        );
        assert_ne!(a, b);
        assert_eq!((a.len(), b.len()), (NAME_LENGTH, NAME_LENGTH));
        assert_eq!(fit("short"), "short");
    }
}
