//! What an operator may do, and a person's consent to the part of it that reaches beyond the environment.
//!
//! Rights are compared with those of the version that runs, read from the cluster: that is for people to see. Consent
//! is judged by our own record of what was accepted, since roles in a cluster may have been changed by others.

use std::collections::BTreeSet;

use deployer::Object;
use schemas::{Digest, EnvironmentName, Namespace, SolutionId};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use validator::rules::{self, Compared, Reach, Right};

use crate::model::error::Error;
use crate::model::namespace_record::Consent;
use crate::model::obstacle::Obstacle;
use crate::model::request::Request;
use crate::model::space;

/// Hex digits of an id: 96 bits, so that nobody makes another block with the same one.
const ID_LENGTH: usize = 24;

/// What changes about the rights of an operator: compares the roles that would be applied with those that are there.
pub(crate) fn compare(live: &[Object], objects: &[Object]) -> Result<Compared, Error> {
    // What is there may be anybody's by now; what of it cannot be read gives nothing.
    let before = held(live).unwrap_or_default();
    Ok(rules::compare(&before, &held(objects)?))
}

/// The rights that roles give, each as far as it is bound.
pub(crate) fn held(objects: &[Object]) -> Result<Vec<Right>, Error> {
    let mut all = Vec::new();
    for binding in objects {
        let reach = match binding.gvk().kind.as_str() {
            "RoleBinding" => Reach::Namespace(binding.namespace().unwrap_or_default().to_owned()),
            "ClusterRoleBinding" => Reach::Cluster,
            _ => continue,
        };
        let bound = &binding.as_value()["roleRef"];
        let role = objects.iter().find(|object| {
            bound["kind"] == object.gvk().kind.as_str() && bound["name"] == object.name()
        });
        if let Some(role) = role {
            all.extend(rights(role, &reach)?);
        }
    }
    Ok(rules::merge(&all))
}

fn rights(role: &Object, reach: &Reach) -> Result<Vec<Right>, Error> {
    rules::rights(role.as_value(), reach).map_err(|source| Error::Rules {
        object: role.reference().to_string(),
        source: Box::new(source),
    })
}

/// Everything of a deployment that reaches beyond the namespaces of its environment, line by line, under one id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beyond {
    pub(crate) id: String,
    pub(crate) lines: BTreeSet<String>,
}

impl Beyond {
    /// What reaches beyond of an operator's objects and of those that are carried as they are.
    pub(crate) fn of(
        (id, environment, namespace): (&SolutionId, &EnvironmentName, &Namespace),
        (operator, carried): (&[Object], &[Object]),
    ) -> Result<Self, Error> {
        let mut lines = BTreeSet::new();
        for (who, objects) in [("its operator", operator), ("what it installs", carried)] {
            for right in held(objects)? {
                let inside = Reach::Namespace(namespace.to_string());
                if *right.reach() != inside {
                    let may = with_danger(&right, &right.to_string());
                    lines.insert(format!("{who} may {may}"));
                }
            }
        }
        for object in carried {
            lines.extend(outside(object, namespace));
        }
        for object in operator.iter().chain(carried) {
            lines.extend(of_pods(object));
        }
        for object in operator {
            match object.gvk().kind.as_str() {
                "ClusterRoleBinding" => {
                    lines.insert(format!("{} is made", object.reference()));
                }
                "ClusterRole" => lines.extend(aggregated(object)?),
                _ => {}
            }
        }
        let id = id_of((id, environment, namespace), &lines);
        Ok(Self { id, lines })
    }

    /// The same with further lines.
    pub(crate) fn and(
        mut self,
        of: (&SolutionId, &EnvironmentName, &Namespace),
        lines: impl IntoIterator<Item = String>,
    ) -> Self {
        self.lines.extend(lines);
        self.id = id_of(of, &self.lines);
        self
    }

    /// The lines that are not among those accepted before.
    pub(crate) fn new_lines(&self, before: Option<&Consent>) -> Vec<&String> {
        let known = |line: &&String| before.is_some_and(|before| before.lines.contains(*line));
        self.lines.iter().filter(|line| !known(line)).collect()
    }

    /// Whether all of it is accepted, now or before; what to record of that.
    pub(crate) fn judge(
        &self,
        before: Option<&Consent>,
        request: &Request,
    ) -> Result<Option<Consent>, Obstacle> {
        if self.lines.is_empty() {
            return Ok(None);
        }
        let new = self.new_lines(before).len();
        match before {
            Some(before) if new == 0 => Ok(Some(Consent {
                lines: self.lines.clone(),
                ..before.clone()
            })),
            _ if request.accepted.contains(&self.id) => Ok(Some(Consent {
                id: self.id.clone(),
                by: request.by.clone(),
                at: request.now,
                lines: self.lines.clone(),
            })),
            _ => Err(Obstacle::Beyond(new, self.id.clone())),
        }
    }
}

/// What accepts these lines there.
fn id_of(
    (id, environment, namespace): (&SolutionId, &EnvironmentName, &Namespace),
    lines: &BTreeSet<String>,
) -> String {
    let mut shown = Sha256::new();
    for part in [id.name().as_str(), environment.as_str(), namespace.as_str()] {
        shown.update(part);
        shown.update("\n");
    }
    for line in lines {
        shown.update(line);
        shown.update("\n");
    }
    let mut id = Digest::new(shown.finalize().into()).hex();
    id.truncate(ID_LENGTH);
    id
}

/// What is said of an object that is carried as it is, if it lies outside of the namespace.
fn outside(object: &Object, namespace: &Namespace) -> Vec<String> {
    let what = object.reference();
    if what.gvk.kind == "Namespace" {
        let level = space::lowered(object);
        let level = level.map(|level| {
            format!(
                "{what} is held to the PodSecurity level `{level}`, and no longer to a higher one"
            )
        });
        let made = (what.name != namespace.as_str()).then(|| format!("{what} is made"));
        return made.into_iter().chain(level).collect();
    }
    if what.namespace.as_deref() == Some(namespace.as_str()) {
        return Vec::new();
    }
    let value = object.as_value();
    let mut lines = vec![match what.gvk.kind.as_str() {
        "RoleBinding" | "ClusterRoleBinding" => {
            let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
            let role = ["/roleRef/kind", "/roleRef/name"].map(|it| text(it).unwrap_or_default());
            format!("{what} is made, which binds {}", role.join(" "))
        }
        _ => format!("{what} is made"),
    }];
    if what.gvk.kind == "ClusterRole" {
        if value.get("aggregationRule").is_some() {
            lines.push(format!("{what} gathers the rights of other ClusterRoles"));
        }
        lines.extend(aggregated(object).unwrap_or_default());
    }
    lines
}

/// What the pods of an object do beyond their namespace.
fn of_pods(object: &Object) -> Vec<String> {
    let value = object.as_value();
    let pods = manifests::pod_specs(value).into_iter();
    let pods = pods.filter_map(|spec| value.pointer(spec.strip_suffix("/spec")?));
    let found = pods.flat_map(rules::beyond_namespace);
    found
        .map(|words| format!("the pods of {} {words}", object.reference()))
        .collect()
}

/// A role that Kubernetes adds to its own roles `view`, `edit` and `admin` gives its rights to all who hold those.
fn aggregated(role: &Object) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for held in rules::aggregates_to(role.as_value()) {
        for right in rights(role, &Reach::Cluster)? {
            let may = with_danger(&right, &right.what());
            lines.push(format!("everyone with the role {held} may {may}"));
        }
    }
    Ok(lines)
}

fn with_danger(right: &Right, words: &str) -> String {
    match right.danger() {
        Some(danger) => format!("{words} (lets it {})", danger.words),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(value: Value) -> Object {
        Object::new(value).unwrap()
    }

    fn role(kind: &str, labels: &Value, resource: &str) -> Object {
        object(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": { "name": "r", "labels": labels },
            "rules": [{ "apiGroups": [""], "resources": [resource], "verbs": ["get", "list", "watch"] }],
        }))
    }

    fn binding(kind: &str) -> Object {
        let mut value = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": { "name": "b" },
            "roleRef": { "kind": "ClusterRole", "name": "r" },
        });
        if kind == "RoleBinding" {
            value["metadata"]["namespace"] = json!("ns");
        }
        object(value)
    }

    fn beyond(environment: &str, objects: &[Object]) -> Beyond {
        let id = SolutionId::new("shop".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        let (environment, namespace) = (environment.parse().unwrap(), "ns".parse().unwrap());
        Beyond::of((&id, &environment, &namespace), (objects, &[])).unwrap()
    }

    #[test]
    fn only_what_is_bound_in_the_whole_cluster_reaches_beyond() {
        let secrets = role("ClusterRole", &json!({}), "secrets");
        let inside = beyond("prod", &[secrets.clone(), binding("RoleBinding")]);
        assert_eq!(inside.lines, BTreeSet::new());
        let outside = beyond("prod", &[secrets, binding("ClusterRoleBinding")]);
        let lines: Vec<&str> = outside.lines.iter().map(String::as_str).collect();
        assert!(lines[0].contains("ClusterRoleBinding b"), "{lines:?}");
        assert!(
            lines[1].contains("its operator may read all Secrets in the whole cluster (lets it"),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn pods_that_reach_their_node_reach_beyond() {
        let deployment = |spec: Value| {
            object(json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": { "name": "d", "namespace": "ns" },
                "spec": { "template": { "spec": spec } },
            }))
        };
        let network = deployment(json!({ "hostNetwork": true }));
        let expected = "the pods of Deployment ns/d are in their node's network".to_owned();
        let expected = BTreeSet::from([expected]);
        assert_eq!(
            beyond("prod", std::slice::from_ref(&network)).lines,
            expected
        );
        let id = SolutionId::new("shop".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        let (environment, namespace) = ("prod".parse().unwrap(), "ns".parse().unwrap());
        let carried = Beyond::of((&id, &environment, &namespace), (&[], &[network]));
        assert_eq!(carried.unwrap().lines, expected);
        assert!(beyond("prod", &[deployment(json!({}))]).lines.is_empty());
    }

    #[test]
    fn the_id_is_of_what_is_shown_and_where() {
        let of = |environment, resource| {
            let role = role("ClusterRole", &json!({}), resource);
            beyond(environment, &[role, binding("ClusterRoleBinding")]).id
        };
        assert_eq!(of("prod", "secrets"), of("prod", "secrets"));
        assert_ne!(of("prod", "secrets"), of("test", "secrets"));
        assert_ne!(of("prod", "secrets"), of("prod", "pods"));
        assert_eq!(of("prod", "pods").len(), ID_LENGTH);
    }

    #[test]
    fn further_lines_are_accepted_with_all_others() {
        let secrets = [
            role("ClusterRole", &json!({}), "secrets"),
            binding("ClusterRoleBinding"),
        ];
        let before = beyond("prod", &secrets);
        let id = SolutionId::new("shop".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
        let (environment, namespace) = ("prod".parse().unwrap(), "ns".parse().unwrap());
        let with = |line: &str| {
            let of = (&id, &environment, &namespace);
            before.clone().and(of, [line.to_owned()])
        };
        assert_eq!(with("more").lines.len(), before.lines.len() + 1);
        assert_ne!(with("more").id, before.id);
        assert_ne!(with("more").id, with("other").id);
    }

    #[test]
    fn rights_that_others_get_reach_beyond_wherever_the_role_is_bound() {
        let labels = json!({ "rbac.authorization.k8s.io/aggregate-to-edit": "true" });
        let role = role("ClusterRole", &labels, "pods");
        let lines = beyond("prod", &[role, binding("RoleBinding")]).lines;
        let expected = "everyone with the role edit may read all Pods".to_owned();
        assert_eq!(lines, BTreeSet::from([expected]));
    }

    #[test]
    fn what_is_carried_outside_of_the_namespace_is_named_one_by_one() {
        let lines = |objects: &[Object]| {
            let id = SolutionId::new("shop".parse().unwrap(), "1.0.0".parse().unwrap()).unwrap();
            let (environment, namespace) = ("prod".parse().unwrap(), "ns".parse().unwrap());
            let carried = (&[][..], objects);
            Beyond::of((&id, &environment, &namespace), carried)
                .unwrap()
                .lines
        };
        let inside = [role("Role", &json!({}), "pods"), binding("RoleBinding")];
        assert_eq!(lines(&inside[1..]), BTreeSet::new());
        let service = |namespace: &str| {
            object(json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "web", "namespace": namespace },
            }))
        };
        assert_eq!(lines(&[service("ns")]), BTreeSet::new());
        let gathering = object(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": "all" }, "aggregationRule": {},
        }));
        let space = |name: &str, level: &str| {
            object(json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": name, "labels": { (space::ENFORCE): level } },
            }))
        };
        assert_eq!(lines(&[space("ns", "restricted")]), BTreeSet::new());
        let held = "Namespace ns is held to the PodSecurity level `privileged`, and no longer to a higher one";
        assert_eq!(
            lines(&[space("ns", "privileged")]),
            [held.to_owned()].into()
        );
        assert_eq!(lines(&[space("other", "baseline")]).len(), 2);
        let wide = [
            service("kube-system"),
            binding("ClusterRoleBinding"),
            gathering,
        ];
        let expected = [
            "ClusterRole all gathers the rights of other ClusterRoles",
            "ClusterRole all is made",
            "ClusterRoleBinding b is made, which binds ClusterRole r",
            "Service kube-system/web is made",
        ];
        assert_eq!(lines(&wide), expected.map(str::to_owned).into());
    }
}
