//! Practices of workloads: what their containers lack, and users by which a node does not start them.

use std::collections::BTreeMap;

use manifests::{list, pod_specs};
use schemas::ImagePlace;
use schemas::placeholder::{Placeholder, PlaceholderPiece, split};
use serde_json::Value;

use crate::{ImagesByName, Problem, group_of, kind_of, text};

/// Containers that a finding names: those of real workloads, and whatever is beyond lacks the same.
const NAMED: usize = 5;

/// Judges workloads by the images that they run.
#[derive(Debug)]
pub struct WorkloadJudge<'a> {
    names: ImagesByName<'a>,
    users: &'a BTreeMap<ImagePlace, String>,
}

impl<'a> WorkloadJudge<'a> {
    /// Takes the images of a Solution, and the users of those that say one; empty for root.
    pub fn new(
        places: impl IntoIterator<Item = &'a ImagePlace>,
        users: &'a BTreeMap<ImagePlace, String>,
    ) -> Self {
        let names = ImagesByName::new(places);
        Self { names, users }
    }

    /// Returns what is better avoided in a workload: one problem of each kind.
    #[must_use]
    pub fn check(&self, document: &Value) -> Vec<Problem> {
        let specs = pod_specs(document);
        let Some(pod) = specs.first().and_then(|it| document.pointer(it)) else {
            return Vec::new();
        };
        let containers = list(pod, "/containers");
        let mut problems = Vec::new();
        let initial = list(pod, "/initContainers");
        let mut refused = initial.iter().chain(containers);
        if let Some(words) = refused.find_map(|it| self.refused_user(pod, it)) {
            problems.push(Problem::RefusedUser(words));
        }
        let runs_on = group_of(document) == "apps";
        let unready = containers
            .iter()
            .filter(|it| !is_set(it, "/readinessProbe"));
        if runs_on && let Some(names) = names(unready) {
            problems.push(Problem::NoReadiness(names));
        }
        let greedy = containers
            .iter()
            .filter(|it| !requests(it) && !requests(pod));
        if let Some(names) = names(greedy).filter(|_| kind_of(document).1 != "Pod") {
            problems.push(Problem::NoRequests(names));
        }
        problems
    }

    /// Returns why a node does not start a container that is not to be root.
    fn refused_user(&self, pod: &Value, container: &Value) -> Option<String> {
        let field = |name: &str| {
            let pointer = format!("/securityContext/{name}");
            let own = container.pointer(&pointer).filter(|it| !it.is_null());
            own.or_else(|| pod.pointer(&pointer))
        };
        if field("runAsNonRoot") != Some(&Value::Bool(true)) {
            return None;
        }
        let name = text(container, "/name").unwrap_or_default();
        let user = field("runAsUser").filter(|it| !it.is_null());
        if let Some(user) = user {
            let is_root = user.as_i64() == Some(0);
            return is_root
                .then(|| format!("container `{name}` has runAsNonRoot and runAsUser: 0"));
        }
        let image = self.image(text(container, "/image")?)?;
        // What is behind the colon is a group.
        let user = self.users.get(image)?.split(':').next()?;
        match user.parse::<i64>() {
            Err(_) if !user.is_empty() => Some(format!(
                "container `{name}` has runAsNonRoot, and image `{image}` has the user `{user}`, which is no number that a node could tell from root"
            )),
            Ok(number) if number != 0 => None,
            _ => Some(format!(
                "container `{name}` has runAsNonRoot, and image `{image}` runs as root"
            )),
        }
    }

    /// The image of the Solution that a container runs.
    fn image(&self, written: &str) -> Option<&ImagePlace> {
        let pieces = split(written).ok()?;
        let [PlaceholderPiece::Placeholder(Placeholder::Image { image, .. })] = pieces.as_slice()
        else {
            return None;
        };
        match &image.tag {
            None => self.names.only(&image.name).ok(),
            Some(tag) => {
                let place = ImagePlace {
                    name: image.name.clone(),
                    tag: tag.clone(),
                };
                Some(self.users.get_key_value(&place)?.0)
            }
        }
    }
}

fn is_set(container: &Value, pointer: &str) -> bool {
    container.pointer(pointer).is_some_and(|it| !it.is_null())
}

/// Whether a container, or its pod as a whole, asks for something; a limit is a request where there is none.
fn requests(container: &Value) -> bool {
    let of = |field: &str| container.pointer(field)?.as_object();
    let resources = ["/resources/requests", "/resources/limits"];
    resources
        .into_iter()
        .filter_map(of)
        .any(|it| !it.is_empty())
}

/// The names of containers, none if there are none.
fn names<'v>(containers: impl Iterator<Item = &'v Value>) -> Option<String> {
    let names = containers.map(|it| text(it, "/name").unwrap_or_default());
    let names: Vec<String> = names.take(NAMED).map(|it| format!("`{it}`")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What is found of a Deployment with this in its pods and their only container.
    fn found(pod: &Value, container: &Value) -> Vec<String> {
        let users = [
            ("root", ""),
            ("zero", "0:0"),
            ("name", "app"),
            ("number", "1000:app"),
        ];
        let users =
            users.map(|(name, user)| (format!("{name}:1").parse().unwrap(), user.to_owned()));
        let users = BTreeMap::from(users);
        let judge = WorkloadJudge::new(users.keys(), &users);
        let mut own =
            json!({"name": "app", "readinessProbe": {}, "resources": {"requests": {"cpu": 1}}});
        let mut spec = json!({});
        let merge = |into: &mut Value, from: &Value| {
            for (field, value) in from.as_object().unwrap().clone() {
                into[field] = value;
            }
        };
        merge(&mut own, container);
        spec["containers"] = json!([own]);
        merge(&mut spec, pod);
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": spec}}});
        let problems = judge.check(&deployment).into_iter();
        problems.map(|it| it.to_string()).collect()
    }

    #[test]
    fn a_user_that_a_node_would_not_start_is_found() {
        let safe = json!({"securityContext": {"runAsNonRoot": true}});
        let image = |name: &str| json!({"image": format!("$(image:{name})")});
        for (name, words) in [
            (
                "root",
                "container `app` has runAsNonRoot, and image `root:1` runs as root",
            ),
            (
                "zero:1",
                "container `app` has runAsNonRoot, and image `zero:1` runs as root",
            ),
            (
                "name",
                "container `app` has runAsNonRoot, and image `name:1` has the user `app`, which is no number that a node could tell from root",
            ),
        ] {
            assert_eq!(found(&safe, &image(name)), [words]);
            assert_eq!(found(&json!({}), &image(name)), [""; 0]);
        }
        assert_eq!(found(&safe, &image("number")), [""; 0]);
        assert_eq!(found(&safe, &image("absent")), [""; 0]);
        assert_eq!(
            found(&safe, &json!({"image": "docker.io/library/a"})),
            [""; 0]
        );
        let with = |context: Value| json!({"image": "$(image:root)", "securityContext": context});
        assert_eq!(found(&safe, &with(json!({"runAsUser": 5}))), [""; 0]);
        assert_eq!(found(&safe, &with(json!({"runAsNonRoot": false}))), [""; 0]);
        assert_eq!(
            found(&safe, &with(json!({"runAsUser": 0}))),
            ["container `app` has runAsNonRoot and runAsUser: 0"]
        );
    }

    #[test]
    fn what_containers_lack_is_told_once_for_a_workload() {
        let two = json!({"containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {"memory": 1}}}]});
        assert_eq!(
            found(&two, &json!({})),
            [
                "no readiness probe: containers `a`, `b`",
                "no requests: containers `a`"
            ]
        );
        let many: Vec<Value> = (0..9).map(|it| json!({"name": it.to_string()})).collect();
        let found = found(&json!({"containers": many}), &json!({}));
        assert!(found.iter().all(|it| it.ends_with("`3`, `4`")), "{found:?}");
    }
}
