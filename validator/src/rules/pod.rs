//! What pods do that no namespace holds: what PodSecurity's level `baseline` refuses. See "Pod Security Standards" in the documentation of Kubernetes.

use std::collections::BTreeSet;

use schemas::printable_within;
use serde_json::Value;

use super::text;
use crate::limits::POINTER;

/// The capabilities that `baseline` lets containers add: those that container engines give by themselves.
const USUAL: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
/// What `baseline` lets no security context have, of pods and of containers: where, the value that is meant, and what it
/// comes to.
const UNCONFINED: [(&str, &str, &str); 3] = [
    ("/seccompProfile/type", "Unconfined", "make any system call"),
    (
        "/appArmorProfile/type",
        "Unconfined",
        "run without AppArmor",
    ),
    ("/procMount", "Unmasked", "see all of /proc"),
];
/// The same of what is true.
const UNCONFINED_IF: [(&str, &str); 2] = [
    ("/privileged", "do whatever their node may (privileged)"),
    (
        "/windowsOptions/hostProcess",
        "run as processes of their node",
    ),
];
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// What pods of this specification do beyond their namespace, to be read after "its pods".
#[must_use]
pub fn beyond_namespace(spec: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (field, words) in [
        ("hostNetwork", "are in their node's network"),
        ("hostPID", "see and signal their node's processes"),
        ("hostIPC", "share memory with their node's processes"),
    ] {
        if spec.get(field) == Some(&Value::Bool(true)) {
            found.push(words.to_owned());
        }
    }
    for volume in list(spec, "volumes") {
        if let Some(path) = text(volume, "/hostPath/path") {
            found.push(format!("reach {} of their node", quoted(path)));
        }
    }
    found.extend(of_context(spec));
    for container in CONTAINERS.into_iter().flat_map(|field| list(spec, field)) {
        found.extend(of_context(container));
        for port in list(container, "ports") {
            let port = port.get("hostPort").and_then(Value::as_u64);
            found.extend(
                port.filter(|port| *port != 0)
                    .map(|port| format!("take port {port} of their node")),
            );
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|words| seen.insert(words.clone()));
    found
}

/// What the security context of a pod or a container says.
fn of_context(holder: &Value) -> Vec<String> {
    let Some(context) = holder.get("securityContext") else {
        return Vec::new();
    };
    let is = |(place, value, words): (&str, &str, &'static str)| {
        (text(context, place) == Some(value)).then_some(words)
    };
    let is_true = |(place, words): (&str, &'static str)| {
        (context.pointer(place) == Some(&Value::Bool(true))).then_some(words)
    };
    let plain = UNCONFINED
        .into_iter()
        .filter_map(is)
        .chain(UNCONFINED_IF.into_iter().filter_map(is_true));
    let mut found: Vec<String> = plain.map(|words| format!("may {words}")).collect();
    if !list(context, "sysctls").is_empty() {
        found.push("set parameters of the kernel".to_owned());
    }
    if context
        .get("seLinuxOptions")
        .is_some_and(|options| !options.is_null())
    {
        found.push("choose their SELinux label".to_owned());
    }
    let added = context
        .get("capabilities")
        .map_or(&[][..], |it| list(it, "add"));
    let names = added.iter().filter_map(Value::as_str);
    let unusual = names.filter(|name| !USUAL.contains(&name.trim_start_matches("CAP_")));
    found.extend(unusual.map(|name| format!("have the capability {}", quoted(name))));
    found
}

fn quoted(text: &str) -> String {
    format!("`{}`", printable_within(text, POINTER))
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_baseline_allows_reaches_no_further_than_the_namespace() {
        let spec = json!({
            "hostNetwork": false,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, "fsGroup": 1},
            "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "cert"}}],
            "containers": [{
                "ports": [{"containerPort": 9443, "hostPort": 0}],
                "securityContext": {"privileged": false, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
            }],
        });
        assert_eq!(beyond_namespace(&spec), Vec::<String>::new());
    }

    #[test]
    fn what_reaches_the_node_is_told_once_each() {
        let spec = json!({
            "hostNetwork": true, "hostPID": true, "hostIPC": true,
            "securityContext": {"seccompProfile": {"type": "Unconfined"}, "sysctls": [{"name": "a", "value": "1"}]},
            "volumes": [{"name": "a", "hostPath": {"path": "/var/run"}}],
            "initContainers": [{"securityContext": {"privileged": true}}],
            "containers": [
                {"ports": [{"hostPort": 80}], "securityContext": {"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}},
                {"securityContext": {"privileged": true, "procMount": "Unmasked"}},
            ],
        });
        let expected = [
            "are in their node's network",
            "see and signal their node's processes",
            "share memory with their node's processes",
            "reach `/var/run` of their node",
            "may make any system call",
            "set parameters of the kernel",
            "may do whatever their node may (privileged)",
            "have the capability `SYS_ADMIN`",
            "take port 80 of their node",
            "may see all of /proc",
        ];
        assert_eq!(beyond_namespace(&spec), expected);
    }
}
