//! The notes in a plan: facts that an administrator should know before an import, and that do not block it. Each
//! function returns the notes on one subject.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Access, Cluster, Node, Object, ObjectRef};
use manifests::{is_definition, pod_specs};
use registry::Client;
use rules::{Reach, Right};
use schemas::{Image, ImageReference, Namespace, SolutionId, list_names};
use serde_json::Value;
use store::Record;
use validator::AcceptedArchive;

use crate::decide::deployment::{Deployment, unreached};
use crate::decide::proof::{Network, of_deployment};
use crate::model::error::Error;
use crate::model::request::Nodes;
use crate::objects::effects::held;
use crate::objects::pull_secret;
use crate::plan::summary::PlannedLaterPods;
use crate::records::state::ClusterState;
use crate::records::visibility::{UnreadableParts, UnreadableScope};

/// Returns the notes on choices of the site without effect: those for workloads, releases, values and parameters that
/// the version does not have.
pub(crate) fn of_choices(deployment: &Deployment, accepted: &AcceptedArchive) -> Vec<String> {
    let (solution, spec) = (&deployment.solution, &accepted.manifest().spec);
    let mut notes = unreached(deployment, accepted);
    notes.extend(deployment.site.unknown_releases(solution, spec));
    notes.extend(deployment.releases.notes.iter().cloned());
    notes.extend(deployment.parameters.notes.iter().cloned());
    notes
}

/// Returns the notes on hosts other than the registry that receive the login, on newer versions, and on images that no
/// node can run.
pub(crate) async fn notes(
    accepted: &AcceptedArchive,
    client: &Client,
    cluster: &Cluster,
    sight: &mut UnreadableParts,
    state: &ClusterState,
    id: &SolutionId,
) -> Result<Vec<String>, Error> {
    let newer = state
        .records
        .iter()
        .filter(|record| record.name == *id.name() && record.version > *id.version())
        .map(|record| &record.version)
        .max();
    let newer =
        newer.map(|version| format!("a newer version, {version}, has already been imported"));
    let right = Access::new("list", "", "nodes");
    let nodes = sight.of(cluster.nodes().await, UnreadableScope::Nodes, &right)?;
    let nodes = nodes.unwrap_or_default();
    let homeless = accepted
        .images()
        .iter()
        .filter(|image| !fits(image, &nodes))
        .map(|image| {
            let platforms: Vec<String> = image.platforms.iter().map(ToString::to_string).collect();
            format!(
                "image {} runs only on {}, but no node has this platform",
                image.place,
                platforms.join(", ")
            )
        });
    Ok(store::delegated(client)
        .into_iter()
        .chain(newer)
        .chain(homeless)
        .collect())
}

/// Returns the note on later pods without a pull secret. Operators create pods for custom resources, and programs with
/// rights elsewhere create pods in other namespaces. Only the applied objects name the pull secret, so such pods need
/// it from another source.
pub(crate) fn later_pods(
    deployment: &Deployment,
    accepted: &AcceptedArchive,
    host: &str,
) -> Result<Option<PlannedLaterPods>, Error> {
    let Some(secret) = &deployment.deployed.pull_secret else {
        return Ok(None);
    };
    let namespace = deployment.namespace().as_str();
    let objects: Vec<Object> = deployment.change.objects().cloned().collect();
    let listed = objects.iter().filter_map(Object::namespace);
    let listed: BTreeSet<&str> = listed.chain([namespace]).collect();
    let is_elsewhere = |right: &Right| match right.reach() {
        Reach::Cluster => true,
        Reach::Namespace(namespace) => !listed.contains(namespace.as_str()),
    };
    let mut definitions = objects.iter();
    let defines =
        !accepted.crds().is_empty() || definitions.any(|object| is_definition(object.as_value()));
    let rights = held(&objects)?;
    let mut rights = rights.iter().filter(|right| right.makes_pods());
    if !defines && !rights.any(is_elsewhere) {
        return Ok(None);
    }
    Ok(Some(PlannedLaterPods {
        host: host.to_owned(),
        namespaces: listed.into_iter().map(str::to_owned).collect(),
        namespace: namespace.to_owned(),
        secret: secret.to_string(),
    }))
}

/// Returns a note for each image that objects name by its `ref` while the registry has no mirror of it. The images of
/// pods are replaced by addresses in the site's registry, but other texts are not.
pub(crate) fn unreachable<'a>(
    objects: impl Iterator<Item = &'a Object>,
    record: &Record,
) -> Vec<String> {
    if record.placement.has_mirrors() {
        return Vec::new();
    }
    let references = record
        .images
        .iter()
        .filter_map(|image| image.reference.as_ref());
    let references: BTreeSet<&str> = references.map(ImageReference::as_str).collect();
    let mut named_by: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for object in objects {
        for reference in references_in(object.as_value(), &references) {
            let objects = named_by.entry(reference).or_default();
            objects.insert(object.reference().to_string());
        }
    }
    let note = |(reference, objects): (&str, BTreeSet<String>)| {
        format!(
            "nodes cannot pull `{reference}`, which is not mirrored in the site's registry; it is used by {}",
            list_names(objects.into_iter().collect())
        )
    };
    named_by.into_iter().map(note).collect()
}

/// Returns the references that occur as words in the texts of an object.
fn references_in<'a>(value: &Value, references: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || "./:@_-".contains(c);
                let words = text.split(|c| !is_part(c));
                let words = words.flat_map(|word| word.split("://"));
                let words = words.map(|word| word.trim_end_matches(['.', ':']));
                found.extend(words.filter_map(|word| references.get(word).copied()));
            }
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => left.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

/// Returns the notes on pull secrets of pods that this change does not create. An earlier import created the Secret in
/// the environment's namespace, and it was checked.
pub(crate) fn missing_logins(deployment: &Deployment) -> Vec<String> {
    let objects = || deployment.change.objects();
    let all = objects().chain(deployment.releases.objects());
    let secret = pull_secret::secret_name(&deployment.solution);
    missing(all, objects(), secret.as_str(), deployment.namespace())
}

/// Returns the notes on pull secrets with this name that `pods` use outside the namespace `checked`, and that this
/// change does not create (`made`).
fn missing<'a>(
    pods: impl Iterator<Item = &'a Object>,
    made: impl Iterator<Item = &'a Object>,
    secret: &str,
    checked: &Namespace,
) -> Vec<String> {
    let logs_in = |object: &Object| {
        let value = object.as_value();
        pod_specs(value).iter().any(|pod| {
            let secrets = value.pointer(&format!("{pod}/imagePullSecrets"));
            let mut secrets = secrets.and_then(Value::as_array).into_iter().flatten();
            secrets.any(|used| used["name"] == secret)
        })
    };
    let spaces = pods
        .filter(|pod| logs_in(pod))
        .filter_map(Object::namespace);
    let mut spaces: BTreeSet<&str> = spaces.collect();
    spaces.remove(checked.as_str());
    for object in made.filter(|object| object.gvk().kind == "Secret" && object.name() == secret) {
        spaces.remove(object.namespace().unwrap_or_default());
    }
    let words = spaces.into_iter().map(|space| {
        format!(
            "pods in namespace {space} use the pull secret {space}/{secret}, which this change does not create: it must exist"
        )
    });
    words.collect()
}

/// Returns the note that the wait for nodes follows the objects that may set up their network. No pod can pull an image
/// before that.
pub(crate) fn of_network(deployment: &Deployment, nodes: Nodes) -> Option<String> {
    let is_awaited = matches!(nodes, Nodes::Awaited(_));
    let is_brought = of_deployment(deployment) == Network::Brought;
    (is_awaited && is_brought).then(|| {
        "objects that run on nodes that are not Ready are applied first, because they may set up the network; the wait for nodes follows"
            .to_owned()
    })
}

/// Returns the note that no known kind of object configures the collection of an operator's metrics.
pub(crate) fn uncollected(deployment: &Deployment) -> Option<String> {
    let service = deployment.of_kind("Service")?.reference();
    let collected = deployment.of_kind("ServiceMonitor").is_some();
    (!collected).then(|| {
        format!(
            "the cluster does not serve ServiceMonitors: add {service} to your metrics collector"
        )
    })
}

/// Returns the notes on objects that stop during the change, and on objects that are kept because another object now
/// has the name of a removed one.
pub(crate) fn of_changes(deployment: &Deployment) -> Vec<String> {
    let stopped = deployment.change.stopped().iter().map(Object::reference);
    let stopped = stopped.map(|object| format!("{object} stops before its replacement starts"));
    let left = deployment.change.left.iter();
    let left =
        left.map(|object| format!("{object} is kept: it is not the object that was applied"));
    stopped.chain(left).collect()
}

/// Returns the note on objects without a dry run, because the CRD of their kind changes first.
pub(crate) fn untried(redefined: &[&ObjectRef]) -> Option<String> {
    let (first, others) = redefined.split_first()?;
    Some(match others.len() {
        0 => format!("no dry-run of {first}: the CRD of its kind changes first"),
        others => format!(
            "no dry-run of {} objects: the CRDs of their kinds change first; the first object is {first}",
            others + 1
        ),
    })
}

/// Returns the notes on webhooks that match all objects in every namespace and reject changes while they do not answer.
/// They can block the whole cluster.
pub(crate) fn asked_about_everything(deployment: &Deployment) -> impl Iterator<Item = String> {
    deployment.change.objects().flat_map(|object| {
        let webhooks = object.as_value()["webhooks"].as_array();
        let wide = webhooks.into_iter().flatten().filter(|webhook| is_wide(webhook));
        wide.map(|webhook| {
            let (what, name) = (object.reference(), webhook["name"].as_str());
            format!(
                "{what}: the API server calls `{}` for all objects in every namespace, and rejects all changes while it does not answer; `undeploy` removes it first",
                name.unwrap_or_default()
            )
        })
    })
}

/// Checks whether a webhook matches all kinds of objects in every namespace and rejects changes while it does not
/// answer.
fn is_wide(webhook: &Value) -> bool {
    let selects = |field: &str| {
        let selector = webhook[field].as_object();
        selector.is_some_and(|selector| !selector.is_empty())
    };
    let any = |list: &Value| {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(Value::as_str)
            .any(|text| text.starts_with('*'))
    };
    let rules = webhook["rules"].as_array().into_iter().flatten();
    let mut wide = rules.filter(|rule| any(&rule["apiGroups"]) && any(&rule["resources"]));
    // The default of `failurePolicy` is `Fail`.
    webhook["failurePolicy"] != "Ignore"
        && !selects("namespaceSelector")
        && !selects("objectSelector")
        && wide.next().is_some()
}

/// Checks whether a node can run the image. Artifacts have no platform. Without any nodes, every image counts as
/// runnable.
fn fits(image: &Image, nodes: &[Node]) -> bool {
    let runs = |node: &Node| {
        image
            .platforms
            .iter()
            .any(|platform| platform.os == node.os && platform.architecture == node.architecture)
    };
    image.platforms.is_empty() || nodes.is_empty() || nodes.iter().any(runs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use store::MirrorPolicy;

    use super::*;
    use crate::records::record::tests::record;

    #[test]
    fn pods_are_made_with_rights_to_workloads_and_to_accounts() {
        let makes = |group: &str, resource: &str, verb: &str| {
            let allowed = json!({ "apiGroups": [group], "resources": [resource], "verbs": [verb] });
            let role = json!({ "kind": "ClusterRole", "rules": [allowed] });
            let rights = rules::rights(&role, &Reach::Cluster).unwrap();
            rights.iter().any(Right::makes_pods)
        };
        assert!(makes("", "pods", "create"));
        assert!(makes("", "serviceaccounts", "create"));
        assert!(makes("apps", "deployments", "patch"));
        assert!(makes("*", "*", "*"));
        assert!(!makes("", "pods", "get"));
        assert!(!makes("", "secrets", "create"));
        assert!(!makes("example.test", "pods", "create"));
    }

    #[test]
    fn an_image_that_only_a_mirror_would_bring_is_noted_unless_there_are_mirrors() {
        let reference = "quay.io/org/app:1.2";
        let mut record = record("1.0.0");
        record.images[0].reference = Some(reference.parse().unwrap());
        let object = |kind: &str, name: &str, text: String| {
            let object = json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": { "name": name, "namespace": "own" },
                "data": { "list": [{ "text": text }] },
            });
            Object::new(object).unwrap()
        };
        let objects = [
            object("ConfigMap", "alone", reference.to_owned()),
            object(
                "ConfigMap",
                "argument",
                format!("--image={reference}, and more"),
            ),
            object("ConfigMap", "url", format!("docker://{reference}.")),
            object("ConfigMap", "site", format!("pull.test/{reference}")),
            object("ConfigMap", "longer", format!("{reference}.3")),
        ];
        let notes = |record: &Record| unreachable(objects.iter(), record);
        assert_eq!(notes(&record), [""; 0]);
        record.placement.mirrors = MirrorPolicy::Skip;
        let note = "nodes cannot pull `quay.io/org/app:1.2`, which is not mirrored in the site's registry; it is used by ConfigMap own/alone, ConfigMap own/argument, ConfigMap own/url";
        assert_eq!(notes(&record), [note]);
    }

    #[test]
    fn a_missing_login_is_noted_outside_of_the_environments_namespace_alone() {
        let object = |kind: &str, name: &str, namespace: &str, secret: &str| {
            let object = json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": { "name": name, "namespace": namespace },
                "spec": { "imagePullSecrets": [{ "name": secret }] },
            });
            Object::new(object).unwrap()
        };
        let pods = [
            object("Pod", "a", "kube-system", "login"),
            object("Pod", "b", "kube-system", "login"),
            object("Pod", "c", "agents", "login"),
            object("Pod", "d", "theirs", "corp"),
            // An earlier import created the Secret in that namespace.
            object("Pod", "e", "prod", "login"),
        ];
        let made = [object("Secret", "login", "agents", "")];
        let notes = missing(pods.iter(), made.iter(), "login", &"prod".parse().unwrap());
        assert_eq!(notes.len(), 1, "{notes:?}");
        let words = "use the pull secret kube-system/login, which this change does not create";
        assert!(notes[0].contains(words), "{notes:?}");
    }

    #[test]
    fn what_could_not_be_tried_is_counted_and_the_first_named() {
        let widget = |name: &str| ObjectRef::namespaced("a.test/v1", "Widget", "n", name);
        let all = ["a", "b"].map(widget);
        let all = all.each_ref();
        assert_eq!(untried(&[]), None);
        let one = "no dry-run of Widget n/a: the CRD of its kind changes first";
        assert_eq!(untried(&all[..1]).unwrap(), one);
        let two = "no dry-run of 2 objects: the CRDs of their kinds change first; the first object is Widget n/a";
        assert_eq!(untried(&all).unwrap(), two);
    }

    #[test]
    fn a_webhook_is_wide_if_it_is_asked_about_everything_everywhere() {
        let rule =
            |group: &str, resource: &str| json!({ "apiGroups": [group], "resources": [resource] });
        let everything = json!([rule("*", "*/*")]);
        let some = json!({ "matchLabels": { "a": "b" } });
        for (webhook, wide) in [
            (json!({ "rules": everything }), true),
            (
                json!({ "rules": everything, "failurePolicy": "Fail", "namespaceSelector": {} }),
                true,
            ),
            (
                json!({ "rules": everything, "failurePolicy": "Ignore" }),
                false,
            ),
            (
                json!({ "rules": everything, "namespaceSelector": some }),
                false,
            ),
            (
                json!({ "rules": everything, "objectSelector": some }),
                false,
            ),
            (json!({ "rules": [rule("", "*")] }), false),
            (json!({ "rules": [rule("*", "pods")] }), false),
            (json!({}), false),
        ] {
            assert_eq!(is_wide(&webhook), wide, "{webhook}");
        }
    }
}
