//! Practices for workloads: readiness probes and resource requests of containers, and users that prevent a node from
//! starting a container. [`WorkloadChecker`] checks the workloads of sets and charts, and the operator.

use std::collections::BTreeMap;

use manifests::{list, pod_specs};
use schemas::placeholder::{Placeholder, PlaceholderPiece, split};
use schemas::{ImagePlace, Operator, OperatorTemplate};
use serde_json::{Map, Value, json};

use crate::document::{group_of, kind_of, text};
use crate::finding::problem::Problem;
use crate::images::ImagesByName;

/// The number of containers that a finding names. Further ones have the same problem.
const NAMED: usize = 5;

/// The check of workloads, which knows the images that they run.
#[derive(Debug)]
pub struct WorkloadChecker<'a> {
    names: ImagesByName<'a>,
    users: &'a BTreeMap<ImagePlace, String>,
}

impl<'a> WorkloadChecker<'a> {
    /// Creates a check with the images of a Solution, and the users in their configs; an empty user is root.
    pub fn new(
        places: impl IntoIterator<Item = &'a ImagePlace>,
        users: &'a BTreeMap<ImagePlace, String>,
    ) -> Self {
        let names = ImagesByName::new(places);
        Self { names, users }
    }

    /// Returns the problems of a workload: one for each container that a node refuses to start, and at most one of each
    /// other kind.
    #[must_use]
    pub fn check(&self, document: &Value) -> Vec<Problem> {
        let specs = pod_specs(document);
        let Some(pod) = specs.first().and_then(|pointer| document.pointer(pointer)) else {
            return Vec::new();
        };
        let containers = list(pod, "/containers");
        let mut problems = self.refused_users(pod);
        let runs_on = group_of(document) == "apps";
        let unready = containers
            .iter()
            .filter(|container| !is_set(container, "/readinessProbe"));
        if runs_on && let Some(names) = names(unready) {
            problems.push(Problem::NoReadiness(names));
        }
        let greedy = containers
            .iter()
            .filter(|container| !requests(container) && !requests(pod));
        if let Some(names) = names(greedy).filter(|_| kind_of(document).1 != "Pod") {
            problems.push(Problem::NoRequests(names));
        }
        problems
    }

    /// Returns the problems of an operator's pods. Without a template, only the user of the operator's container is
    /// checked, because nothing else can be changed.
    #[must_use]
    pub fn check_operator(&self, operator: &Operator) -> Vec<Problem> {
        let pod = Value::Object(operator_pod(operator));
        let (field, problems) = match operator.template {
            Some(_) => {
                let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": pod}}});
                ("spec.operator.template", self.check(&deployment))
            }
            None => ("spec.operator", self.refused_users(&pod)),
        };
        let problems = problems.into_iter();
        problems
            .map(|problem| Problem::OfMade(field.to_owned(), Box::new(problem)))
            .collect()
    }

    /// Returns the reason why a node does not start a container with `runAsNonRoot` that uses the user of this image.
    #[must_use]
    pub fn image_user(&self, container: &str, image: &ImagePlace) -> Option<Problem> {
        // A group may follow the user after a colon.
        let user = self.users.get(image)?.split(':').next()?;
        let promise = format!("container `{container}` has runAsNonRoot, and image `{image}`");
        let words = match user.parse::<i64>() {
            Err(_) if !user.is_empty() => format!(
                "{promise} has the user `{user}`, which is not numeric, so nodes cannot verify that it is not root"
            ),
            Ok(number) if number != 0 => return None,
            _ => format!("{promise} runs as root"),
        };
        Some(Problem::RefusedUser(words))
    }

    fn refused_users(&self, pod: &Value) -> Vec<Problem> {
        let problems = promises(pod).filter_map(|promise| match promise.user {
            ContainerUser::Root => Some(Problem::RefusedUser(format!(
                "container `{}` has runAsNonRoot and runAsUser: 0",
                promise.container
            ))),
            ContainerUser::OfImage(image) => self.image_user(promise.container, self.image(image)?),
        });
        problems.collect()
    }

    /// Returns the image of the Solution that a container runs.
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

/// A container with `runAsNonRoot` that uses the user of its image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NonRootContainer {
    /// The name of the container.
    pub name: String,
    /// The image in its spelling in the workload.
    pub image: String,
}

impl NonRootContainer {
    /// Returns the containers of a workload that use the user of their image with `runAsNonRoot`.
    pub fn of(workload: &Value) -> impl Iterator<Item = Self> {
        let pod = pod_specs(workload)
            .into_iter()
            .next()
            .and_then(|pointer| workload.pointer(&pointer));
        let promises = pod.into_iter().flat_map(promises);
        promises.filter_map(|promise| match promise.user {
            ContainerUser::OfImage(image) => Some(Self {
                name: promise.container.to_owned(),
                image: image.to_owned(),
            }),
            ContainerUser::Root => None,
        })
    }
}

/// A container with `runAsNonRoot` that a node may have to refuse.
struct NonRootPromise<'v> {
    container: &'v str,
    user: ContainerUser<'v>,
}

/// The user that a container starts with.
enum ContainerUser<'v> {
    Root,
    /// The user of the image with this reference.
    OfImage(&'v str),
}

fn promises(pod: &Value) -> impl Iterator<Item = NonRootPromise<'_>> {
    let initial = list(pod, "/initContainers").iter();
    let all = initial.chain(list(pod, "/containers"));
    all.filter_map(|container| {
        let field = |name: &str| {
            let pointer = format!("/securityContext/{name}");
            let own = container.pointer(&pointer).filter(|value| !value.is_null());
            own.or_else(|| pod.pointer(&pointer))
        };
        if field("runAsNonRoot") != Some(&Value::Bool(true)) {
            return None;
        }
        let user = match field("runAsUser").filter(|user| !user.is_null()) {
            Some(user) if user.as_i64() == Some(0) => ContainerUser::Root,
            Some(_) => return None,
            None => ContainerUser::OfImage(text(container, "/image")?),
        };
        Some(NonRootPromise {
            container: text(container, "/name").unwrap_or_default(),
            user,
        })
    })
}

/// Returns the checked fields of the specification of an operator's pods.
fn operator_pod(operator: &Operator) -> Map<String, Value> {
    let template = operator.template.clone().unwrap_or_default();
    let mut own = template
        .own_container()
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    own.insert(
        "image".to_owned(),
        json!(format!("$(image:{})", operator.image.place())),
    );
    own.entry("name").or_insert_with(|| json!("operator"));
    let mut context = own
        .get("securityContext")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    if operator.security_context.run_as_non_root {
        context.insert("runAsNonRoot".to_owned(), json!(true));
    }
    if let Some(user) = operator.security_context.run_as_user {
        context.insert("runAsUser".to_owned(), json!(user));
    }
    own.insert("securityContext".to_owned(), Value::Object(context));
    let others = template
        .list("containers")
        .iter()
        .filter(|container| !OperatorTemplate::is_own(container))
        .cloned();
    let containers = std::iter::once(Value::Object(own)).chain(others);
    let mut pod = template.spec.clone();
    pod.insert("containers".to_owned(), containers.collect());
    pod
}

fn is_set(container: &Value, pointer: &str) -> bool {
    container
        .pointer(pointer)
        .is_some_and(|value| !value.is_null())
}

/// Checks whether a container, or a pod as a whole, has requests. A limit implies an equal request.
fn requests(container: &Value) -> bool {
    let of = |field: &str| container.pointer(field)?.as_object();
    let resources = ["/resources/requests", "/resources/limits"];
    resources
        .into_iter()
        .filter_map(of)
        .any(|resources| !resources.is_empty())
}

/// Returns the names of containers, or `None` if there are none.
fn names<'v>(containers: impl Iterator<Item = &'v Value>) -> Option<String> {
    let names: Vec<String> = containers
        .map(|container| text(container, "/name").unwrap_or_default())
        .take(NAMED)
        .map(|name| format!("`{name}`"))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the problems of a Deployment with these fields in its pods and their only container.
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
        let judge = WorkloadChecker::new(users.keys(), &users);
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
        problems.map(|problem| problem.to_string()).collect()
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
                "container `app` has runAsNonRoot, and image `name:1` has the user `app`, which is not numeric, so nodes cannot verify that it is not root",
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

    /// Returns the problems of an operator with these fields in addition to its image.
    fn found_of_operator(image: &str, block: &Value) -> Vec<String> {
        let users = BTreeMap::from([
            ("root:1".parse().unwrap(), String::new()),
            ("number:1".parse().unwrap(), "7".to_owned()),
        ]);
        let mut operator = json!({"image": {"name": image, "tag": "1"}});
        operator
            .as_object_mut()
            .unwrap()
            .extend(block.as_object().unwrap().clone());
        let operator = serde_json::from_value(operator).unwrap();
        let judge = WorkloadChecker::new(users.keys(), &users);
        let problems = judge.check_operator(&operator).into_iter();
        problems.map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn an_operator_is_judged_as_an_import_starts_it() {
        let promise = json!({"securityContext": {"runAsNonRoot": true}});
        let refused = |field: &str, name: &str| {
            format!("{field}: container `{name}` has runAsNonRoot, and image `root:1` runs as root")
        };
        assert_eq!(
            found_of_operator("root", &promise),
            [refused("spec.operator", "operator")]
        );
        let user = json!({"securityContext": {"runAsNonRoot": true, "runAsUser": 7}});
        for (image, block) in [("number", promise), ("root", user), ("root", json!({}))] {
            assert_eq!(found_of_operator(image, &block), [""; 0]);
        }
    }

    #[test]
    fn a_template_says_what_the_pods_of_an_operator_lack() {
        let template = |own: Value| {
            let other = json!({"name": "proxy", "image": "$(image:root)", "readinessProbe": {}});
            json!({"securityContext": {"runAsNonRoot": true}, "template": {"spec": {"containers": [other, own]}}})
        };
        let whole =
            json!({"name": "app", "readinessProbe": {}, "resources": {"limits": {"cpu": 1}}});
        let lacking = "spec.operator.template: no requests: containers `proxy`";
        assert_eq!(found_of_operator("number", &template(whole)), [lacking]);
        let field = "spec.operator.template";
        assert_eq!(
            found_of_operator("root", &template(json!({"securityContext": "x"}))),
            [
                format!(
                    "{field}: container `operator` has runAsNonRoot, and image `root:1` runs as root"
                ),
                format!("{field}: no readiness probe: containers `operator`"),
                format!("{field}: no requests: containers `operator`, `proxy`"),
            ]
        );
    }

    #[test]
    fn each_container_that_a_node_refuses_is_told() {
        let container = |name: &str| json!({"name": name, "image": "$(image:root)"});
        let pod = json!({
            "securityContext": {"runAsNonRoot": true},
            "initContainers": [container("first")],
            "containers": [container("second"), container("third")],
        });
        let found = found(&pod, &json!({}));
        let refused = found.iter().filter(|words| words.ends_with("runs as root"));
        assert_eq!(refused.count(), 3, "{found:?}");
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
        let many: Vec<Value> = (0..9)
            .map(|number| json!({"name": number.to_string()}))
            .collect();
        let found = found(&json!({"containers": many}), &json!({}));
        assert!(
            found.iter().all(|words| words.ends_with("`3`, `4`")),
            "{found:?}"
        );
    }
}
