//! The fields of a Deployment that `spec.operator` has no place for, and what it means to be without them.

use std::num::NonZeroU32;

use schemas::SecurityContext;
use serde_json::Value;

use crate::notes::{Note, Weight};
use crate::template::{is_empty, scratch_of};
use manifests::{list, shown, text};

/// What stands where an import sets the same, where nothing is lost, or what the template takes over.
const SAME: [&str; 41] = [
    "spec/replicas",
    "spec/selector",
    "spec/template",
    "spec/revisionHistoryLimit",
    "spec/progressDeadlineSeconds",
    "spec/strategy",
    "spec/updateStrategy",
    "spec/serviceName",
    "spec/podManagementPolicy",
    "pod/containers",
    "pod/initContainers",
    "pod/serviceAccountName",
    "pod/serviceAccount",
    "pod/securityContext",
    "pod/restartPolicy",
    "pod/dnsPolicy",
    "pod/schedulerName",
    "pod/terminationGracePeriodSeconds",
    "pod/automountServiceAccountToken",
    "pod/enableServiceLinks",
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
    "container/stdin",
    "container/tty",
    "container/lifecycle",
    "container/livenessProbe",
    "container/ports",
    "container/readinessProbe",
    "container/resources",
    "container/startupProbe",
    "container/workingDir",
];

/// What to do without a field that the operator may need.
fn decide(path: &str) -> Option<&'static str> {
    Some(match path {
        "pod/hostNetwork" => "an import never gives an operator the node's network",
        "pod/hostPID" => "an import never gives an operator the node's processes",
        "pod/hostIPC" => "an import never gives an operator the node's memory",
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
        _ => "spec.operator has no such field",
    }
}

/// Notes every field that is not taken over.
pub(crate) fn unfit(workload: &Value, pod: &Value, container: &Value, notes: &mut Vec<Note>) {
    let spec = workload.get("spec").unwrap_or(&Value::Null);
    for (above, value) in [("spec", spec), ("pod", pod), ("container", container)] {
        for (key, value) in value.as_object().into_iter().flatten() {
            let path = format!("{above}/{key}");
            if !SAME.contains(&path.as_str()) && !is_empty(value) {
                field(&path, key, notes);
            }
        }
    }
    containers(pod, container, notes);
    volumes(pod, container, notes);
}

fn field(path: &str, key: &str, notes: &mut Vec<Note>) {
    let about = format!("field `{}`", shown(key));
    let decide = decide(path).map(|why| (Weight::Decide, why));
    let (weight, why) = decide.unwrap_or((Weight::Lost, lost(path)));
    notes.push(Note::new(weight, about, why));
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
