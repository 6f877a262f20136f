//! The fields of a Deployment that `spec.operator` has no place for, and what it means to be without them.

use std::num::NonZeroU32;

use manifests::{list, shown, text};
use schemas::SecurityContext;
use serde_json::{Value, json};

use crate::notes::{Note, Weight};
use crate::template::{is_empty, scratch_of};

/// What stands where an import sets the same, where nothing is lost, or what the template takes over.
const SAME: [&str; 32] = [
    "spec/replicas",
    "spec/selector",
    "spec/template",
    "spec/revisionHistoryLimit",
    "spec/progressDeadlineSeconds",
    "spec/updateStrategy",
    "spec/serviceName",
    "spec/podManagementPolicy",
    "pod/containers",
    "pod/initContainers",
    "pod/serviceAccountName",
    "pod/serviceAccount",
    "pod/securityContext",
    "pod/volumes",
    "container/name",
    "container/image",
    "container/command",
    "container/args",
    "container/env",
    "container/envFrom",
    "container/imagePullPolicy",
    "container/terminationMessagePath",
    "container/terminationMessagePolicy",
    "container/securityContext",
    "container/volumeMounts",
    "container/lifecycle",
    "container/livenessProbe",
    "container/ports",
    "container/readinessProbe",
    "container/resources",
    "container/startupProbe",
    "container/workingDir",
];

/// Values of other fields that an import's pods have too.
const USUAL: [(&str, &str); 7] = [
    ("pod/automountServiceAccountToken", "true"),
    ("pod/dnsPolicy", "\"ClusterFirst\""),
    ("pod/enableServiceLinks", "true"),
    ("pod/restartPolicy", "\"Always\""),
    ("pod/schedulerName", "\"default-scheduler\""),
    ("pod/terminationGracePeriodSeconds", "30"),
    ("spec/strategy", r#"{"type":"RollingUpdate"}"#),
];
/// Fields that are true where nothing is said.
const TRUE: [&str; 2] = ["pod/automountServiceAccountToken", "pod/enableServiceLinks"];
/// Fields of security contexts that are carried, or noted by [`security`].
const SECURITY: [&str; 6] = [
    "allowPrivilegeEscalation",
    "capabilities",
    "privileged",
    "readOnlyRootFilesystem",
    "runAsNonRoot",
    "runAsUser",
];
/// The annotation that says which container is the operator's.
const CHOSEN: &str = "kubectl.kubernetes.io/default-container";

/// What to do without a field that the operator may need.
fn decide(path: &str) -> Option<&'static str> {
    Some(match path {
        "pod/hostNetwork" => "an import never gives an operator the node's network",
        "pod/hostPID" => "an import never gives an operator the node's processes",
        "pod/hostIPC" => "an import never gives an operator the node's memory",
        "pod/automountServiceAccountToken" => {
            "an import gives every operator the token of its account"
        }
        "spec/strategy" => {
            "an import replaces pods one after the other, so that two may run for a moment; if that must not be, the operator has to elect a leader"
        }
        "container/volumeDevices" => "an operator gets no volumes",
        _ => return None,
    })
}

/// Why the operator can do without any other field.
fn lost(path: &str) -> &'static str {
    match path {
        "pod/nodeSelector"
        | "pod/tolerations"
        | "pod/affinity"
        | "pod/topologySpreadConstraints" => "where the operator runs is the site's choice",
        "pod/priorityClassName" => "priorities are the site's choice",
        "pod/imagePullSecrets" => "`solution import --pull-secret` attaches the site's own",
        "pod/dnsPolicy"
        | "pod/enableServiceLinks"
        | "pod/schedulerName"
        | "pod/terminationGracePeriodSeconds" => {
            "pods have what Kubernetes gives by default; write it into spec.operator.template if it is needed"
        }
        _ => "spec.operator has no such field",
    }
}

/// Notes every field that is not taken over.
pub(crate) fn unfit(workload: &Value, pod: &Value, container: &Value, notes: &mut Vec<Note>) {
    let spec = workload.get("spec").unwrap_or(&Value::Null);
    for (above, value) in [("spec", spec), ("pod", pod), ("container", container)] {
        for (key, value) in value.as_object().into_iter().flatten() {
            let path = format!("{above}/{key}");
            let denied = TRUE.contains(&path.as_str()) && *value == Value::Bool(false);
            let says = denied || !is_empty(value);
            let text = value.to_string();
            let usual = USUAL.contains(&(path.as_str(), text.as_str()));
            if says && !usual && !SAME.contains(&path.as_str()) {
                field(&path, key, notes);
            }
        }
    }
    replicas(spec, notes);
    marks(spec, notes);
    ports(container, notes);
    containers(pod, container, notes);
    volumes(pod, container, notes);
}

fn field(path: &str, key: &str, notes: &mut Vec<Note>) {
    let about = format!("field `{}`", shown(key));
    let decide = decide(path).map(|why| (Weight::Decide, why));
    let (weight, why) = decide.unwrap_or((Weight::Lost, lost(path)));
    notes.push(Note::new(weight, about, why));
}

/// A number of pods that the template cannot have.
fn replicas(spec: &Value, notes: &mut Vec<Note>) {
    let replicas = spec.get("replicas").filter(|it| !it.is_null());
    let is_number = |it: &Value| {
        it.as_u64()
            .is_some_and(|it| it > 0 && i32::try_from(it).is_ok())
    };
    if let Some(replicas) = replicas.filter(|it| !is_number(it)) {
        let number = shown(&replicas.to_string());
        let why = format!(
            "is {number} in the release; an import runs one pod, unless spec.operator.template has another number from 1"
        );
        notes.push(Note::new(Weight::Decide, "field `replicas`", why));
    }
}

/// Labels and annotations of the pods that the template does not take over.
fn marks(spec: &Value, notes: &mut Vec<Note>) {
    let of = |pointer: &str| {
        let map = spec.pointer(pointer).and_then(Value::as_object);
        map.into_iter().flatten()
    };
    for (name, _) in of("/template/metadata/labels").filter(|(name, _)| rules::is_set_label(name)) {
        let about = format!("label `{}` of the pods", shown(name));
        let why = "an import gives it its own value; what selects pods by it has to select by that";
        notes.push(Note::new(Weight::Made, about, why));
    }
    for (name, _) in of("/template/metadata/annotations").filter(|(name, _)| *name != CHOSEN) {
        let about = format!("annotation `{}` of the pods", shown(name));
        let why = "is not taken over; write it into spec.operator.template if something reads it";
        notes.push(Note::new(Weight::Lost, about, why));
    }
}

/// Ports of the node.
fn ports(container: &Value, notes: &mut Vec<Note>) {
    for port in list(container, "/ports") {
        let of_node = port.get("hostPort").filter(|it| **it != 0 && !it.is_null());
        if let Some(number) = of_node {
            let about = format!("field `hostPort` ({})", shown(&number.to_string()));
            let why = "an import gives an operator no port of its node; have a Service lead to it, or write it into spec.operator.template, which every site has to accept";
            notes.push(Note::new(Weight::Decide, about, why));
        }
    }
}

fn containers(pod: &Value, chosen: &Value, notes: &mut Vec<Note>) {
    for container in list(pod, "/initContainers") {
        let about = format!("init container `{}`", shown(text(container, "/name")));
        notes.push(Note::new(
            Weight::Decide,
            about,
            "an import runs the operator's container only; what it prepares has to be in the image",
        ));
    }
    let others = list(pod, "/containers").iter();
    for container in others.filter(|other| !std::ptr::eq(*other, chosen)) {
        let name = text(container, "/name");
        let (weight, why) = if name.contains("proxy") {
            (
                Weight::Lost,
                "an import runs the operator's container only; a proxy before its metrics is not needed where no Service leads to them",
            )
        } else {
            (
                Weight::Decide,
                "an import runs the operator's container only",
            )
        };
        notes.push(Note::new(
            weight,
            format!("container `{}`", shown(name)),
            why,
        ));
    }
}

fn volumes(pod: &Value, container: &Value, notes: &mut Vec<Note>) {
    let mounts = list(container, "/volumeMounts").iter();
    for mount in mounts.filter(|mount| scratch_of(pod, mount).is_none()) {
        let name = text(mount, "/name");
        let about = format!(
            "volume `{}` at `{}`",
            shown(name),
            shown(text(mount, "/mountPath"))
        );
        let volume = list(pod, "/volumes")
            .iter()
            .find(|volume| text(volume, "/name") == name);
        let kind = volume
            .and_then(Value::as_object)
            .and_then(|volume| volume.keys().find(|key| *key != "name").map(String::as_str));
        let (weight, why) = match kind {
            Some("emptyDir") => (
                Weight::Decide,
                "the operator's configuration is there; give it another name and place in spec.operator.template",
            ),
            Some("secret") => (
                Weight::Decide,
                "no Secret is mounted, since no site has it; if it is a certificate for webhooks, turn them off by argument or variable, or bring what makes it and mount it in spec.operator.template",
            ),
            Some("configMap") => (
                Weight::Decide,
                "no file of the release is mounted; give its settings as arguments or variables, or carry it in spec.manifests and mount it in spec.operator.template",
            ),
            Some("hostPath") => (
                Weight::Decide,
                "an import never gives an operator the node's files",
            ),
            _ => (
                Weight::Decide,
                "a site may not have it; if it has, mount it in spec.operator.template",
            ),
        };
        notes.push(Note::new(weight, about, why));
    }
}

/// Fields of the security contexts that neither `spec.operator` has nor an import sets.
fn contexts(pod: &Value, container: &Value, notes: &mut Vec<Note>) {
    let fields = |of: &'static str, holder: &Value| {
        let context = holder.get("securityContext").and_then(Value::as_object);
        let fields = context.into_iter().flatten();
        let usual = json!({"type": "RuntimeDefault"});
        let others = fields.filter(|(name, value)| {
            !SECURITY.contains(&name.as_str()) && !is_empty(value) && **value != usual
        });
        let notes = others.map(|(name, _)| {
            let about = format!("field `{}` of the {of}'s securityContext", shown(name));
            let why = "spec.operator has no such field; write it into spec.operator.template if it is needed";
            Note::new(Weight::Lost, about, why)
        });
        notes.collect::<Vec<_>>()
    };
    notes.extend(fields("pod", pod));
    notes.extend(fields("container", container));
}

/// What the operator promises to do without, and which of its other wishes are not granted.
pub(crate) fn security(pod: &Value, container: &Value, notes: &mut Vec<Note>) -> SecurityContext {
    let own = |field: &str| container.pointer(&format!("/securityContext/{field}"));
    let both =
        |field: &str| own(field).or_else(|| pod.pointer(&format!("/securityContext/{field}")));
    let is_set = |field: &str| own(field) == Some(&Value::Bool(true));
    let mut decide = |field: &str, why: &str| {
        notes.push(Note::new(Weight::Decide, format!("field `{field}`"), why));
    };
    if is_set("privileged") {
        decide("privileged", "an import never runs an operator privileged");
    }
    if is_set("allowPrivilegeEscalation") {
        decide("allowPrivilegeEscalation", "an import never allows it");
    }
    if !list(container, "/securityContext/capabilities/add").is_empty() {
        let why = "an import drops all capabilities and adds none";
        decide("capabilities", why);
    }
    contexts(pod, container, notes);
    let user = both("runAsUser").filter(|user| !user.is_null());
    let run_as_user = user
        .and_then(Value::as_u64)
        .and_then(|user| u32::try_from(user).ok().and_then(NonZeroU32::new));
    if let (Some(user), None) = (user, run_as_user) {
        let user = shown(&user.to_string());
        let about = "field `runAsUser`";
        notes.push(Note::new(Weight::Decide, about, format!("is {user} in the release, which an import never allows; the operator runs as its image's user")));
    }
    SecurityContext {
        run_as_non_root: both("runAsNonRoot") == Some(&Value::Bool(true)),
        read_only_root_filesystem: is_set("readOnlyRootFilesystem"),
        run_as_user,
    }
}
