//! Effects of pods beyond their namespace: the settings that the PodSecurity level `baseline` rejects in Kubernetes
//! 1.36. See "Pod Security Standards" (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>). Earlier
//! versions of Kubernetes reject more where a version is named below, and do not check the hosts of probes and hooks
//! before 1.34.

pub(crate) mod workload;

use std::collections::BTreeSet;

use manifests::list;
use schemas::printable_within;
use serde_json::Value;

use crate::document::text;
use crate::limits::POINTER;

/// The capabilities that containers may add, which container engines grant by default.
const CAPABILITIES: [&str; 13] = [
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
/// The kernel parameters that are separate for each pod.
const SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_syncookies",
    // Since 1.27.
    "net.ipv4.ip_local_reserved_ports",
    // Since 1.29.
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    // Since 1.32.
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];
/// The `SELinux` types of containers. The last one is allowed since 1.31.
const SELINUX_TYPES: [&str; 5] = [
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
];
/// The prefix of the annotations that selected an `AppArmor` profile before 1.30, and still do.
const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
/// The types of profiles that a pod may choose.
const PROFILES: [&str; 2] = ["RuntimeDefault", "Localhost"];
const CONTAINERS: [&str; 3] = ["/initContainers", "/containers", "/ephemeralContainers"];
/// The fields of a container with requests or commands that its node executes.
const HANDLERS: [&str; 5] = [
    "/livenessProbe",
    "/readinessProbe",
    "/startupProbe",
    "/lifecycle/postStart",
    "/lifecycle/preStop",
];

/// Returns the effects of pods beyond their namespace, as continuations of "its pods". `pod` has their `metadata` and
/// `spec`.
#[must_use]
pub(crate) fn beyond_namespace(pod: &Value) -> Vec<String> {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
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
    for volume in list(spec, "/volumes") {
        if volume.get("hostPath").is_some_and(|path| !path.is_null()) {
            let path = text(volume, "/hostPath/path").unwrap_or_default();
            found.push(format!("reach {} of their node", quoted(path)));
        }
    }
    found.extend(app_armor(pod));
    // In a user namespace, /proc contains only the pod's own processes (since 1.35).
    let own_users = spec.get("hostUsers") == Some(&Value::Bool(false));
    found.extend(of_context(spec, own_users));
    for container in CONTAINERS.into_iter().flat_map(|field| list(spec, field)) {
        found.extend(of_context(container, own_users));
        found.extend(of_node(container));
    }
    let mut seen = BTreeSet::new();
    found.retain(|words| seen.insert(words.clone()));
    found
}

/// Returns the effects of a container's ports, probes and hooks on its node.
fn of_node(container: &Value) -> Vec<String> {
    let ports = list(container, "/ports")
        .iter()
        .filter_map(|port| port.get("hostPort")?.as_u64())
        .filter(|port| *port != 0)
        .map(|port| format!("take port {port} of their node"));
    let hosts = HANDLERS
        .into_iter()
        .flat_map(|handler| {
            ["httpGet", "tcpSocket"].map(|how| text(container, &format!("{handler}/{how}/host")))
        })
        .flatten()
        .filter(|host| !host.is_empty())
        .map(|host| format!("have their node send requests to {}", quoted(host)));
    ports.chain(hosts).collect()
}

/// Returns the effect of an annotation that selects an `AppArmor` profile that pods may not use.
fn app_armor(pod: &Value) -> Option<String> {
    let annotations = pod.pointer("/metadata/annotations")?.as_object()?;
    let of_containers = annotations
        .iter()
        .filter(|(name, _)| name.starts_with(APPARMOR));
    let mut profiles = of_containers.map(|(_, profile)| profile.as_str().unwrap_or_default());
    let allowed = |profile: &str| {
        matches!(profile, "" | "runtime/default") || profile.starts_with("localhost/")
    };
    let other = profiles.any(|profile| !allowed(profile));
    other.then(|| "may run without AppArmor".to_owned())
}

/// Returns the effects of the security context of a pod or container.
fn of_context(holder: &Value, own_users: bool) -> Vec<String> {
    let Some(context) = holder.get("securityContext") else {
        return Vec::new();
    };
    let is_true = |place: &str| context.pointer(place) == Some(&Value::Bool(true));
    let is_other = |place: &str, allowed: &[&str]| {
        text(context, place).is_some_and(|value| !allowed.contains(&value))
    };
    let mut found: Vec<String> = [
        (
            is_other("/seccompProfile/type", &PROFILES),
            "may make any system call",
        ),
        (
            is_other("/appArmorProfile/type", &PROFILES),
            "may run without AppArmor",
        ),
        (
            is_other("/procMount", &["Default"]) && !own_users,
            "may see all of /proc",
        ),
        (
            is_true("/privileged"),
            "may do whatever their node may (privileged)",
        ),
        (
            is_true("/windowsOptions/hostProcess"),
            "may run as processes of their node",
        ),
        (
            is_other("/seLinuxOptions/type", &SELINUX_TYPES)
                || is_other("/seLinuxOptions/user", &[""])
                || is_other("/seLinuxOptions/role", &[""]),
            "choose their SELinux label",
        ),
    ]
    .into_iter()
    .filter(|(is, _)| *is)
    .map(|(_, words)| words.to_owned())
    .collect();
    let sysctls = list(context, "/sysctls")
        .iter()
        .map(|sysctl| text(sysctl, "/name").unwrap_or_default())
        .filter(|name| !SYSCTLS.contains(name));
    found.extend(sysctls.map(|name| format!("set the parameter {} of the kernel", quoted(name))));
    let added = list(context, "/capabilities/add");
    let names = added.iter().filter_map(Value::as_str);
    let unusual = names.filter(|name| !CAPABILITIES.contains(name));
    found.extend(unusual.map(|name| format!("have the capability {}", quoted(name))));
    found
}

pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", printable_within(text, POINTER))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(spec: &Value) -> Vec<String> {
        beyond_namespace(&json!({"spec": spec}))
    }

    #[test]
    fn what_baseline_allows_reaches_no_further_than_the_namespace() {
        let handler = json!({"httpGet": {"host": "", "port": 80}, "tcpSocket": {"port": 80}});
        let pod = json!({
            "metadata": {"annotations": {
                "container.apparmor.security.beta.kubernetes.io/a": "runtime/default",
                "container.apparmor.security.beta.kubernetes.io/b": "localhost/own",
                "note": "unconfined",
            }},
            "spec": {
                "hostNetwork": false,
                "securityContext": {
                    "seccompProfile": {"type": "RuntimeDefault"}, "appArmorProfile": {"type": "Localhost"}, "fsGroup": 1,
                    "seLinuxOptions": {"type": "container_engine_t", "level": "s0:c1", "user": ""},
                    "sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}, {"name": "kernel.shm_rmid_forced", "value": "1"}],
                },
                "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "cert"}}],
                "containers": [{
                    "ports": [{"containerPort": 9443, "hostPort": 0}],
                    "livenessProbe": handler, "lifecycle": {"preStop": handler},
                    "securityContext": {
                        "privileged": false, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
                        "procMount": "Default", "seLinuxOptions": {}, "windowsOptions": {"hostProcess": false},
                    },
                }],
            },
        });
        assert_eq!(beyond_namespace(&pod), Vec::<String>::new());
        let unmasked = json!({
            "hostUsers": false, "containers": [{"securityContext": {"procMount": "Unmasked"}}],
        });
        assert_eq!(found(&unmasked), Vec::<String>::new());
    }

    #[test]
    fn what_reaches_the_node_is_told_once_each() {
        let spec = json!({
            "hostNetwork": true, "hostPID": true, "hostIPC": true,
            "securityContext": {
                "seccompProfile": {"type": "Unconfined"}, "sysctls": [{"name": "kernel.msgmax", "value": "1"}],
            },
            "volumes": [{"name": "a", "hostPath": {"path": "/var/run"}}],
            "initContainers": [{"securityContext": {"privileged": true}}],
            "containers": [
                {"ports": [{"hostPort": 80}], "securityContext": {"capabilities": {"add": ["SYS_ADMIN", "CHOWN", "CAP_CHOWN"]}}},
                {"securityContext": {"privileged": true, "procMount": "Unmasked"}},
            ],
        });
        let expected = [
            "are in their node's network",
            "see and signal their node's processes",
            "share memory with their node's processes",
            "reach `/var/run` of their node",
            "may make any system call",
            "set the parameter `kernel.msgmax` of the kernel",
            "may do whatever their node may (privileged)",
            "have the capability `SYS_ADMIN`",
            "have the capability `CAP_CHOWN`",
            "take port 80 of their node",
            "may see all of /proc",
        ];
        assert_eq!(found(&spec), expected);
    }

    /// Each setting in the standard, in a separate pod.
    #[test]
    fn every_place_of_the_standard_is_looked_at() {
        let host = json!({"host": "10.0.0.1", "port": 80});
        let requests = "have their node send requests to `10.0.0.1`";
        for list in ["initContainers", "containers"] {
            for handler in HANDLERS {
                for how in ["httpGet", "tcpSocket"] {
                    let place = format!("{handler}/{how}");
                    let container = place[1..]
                        .rsplit('/')
                        .fold(host.clone(), |value, field| json!({field: value}));
                    assert_eq!(found(&json!({list: [container]})), [requests], "{place}");
                }
            }
        }
        for (context, words) in [
            (
                json!({"appArmorProfile": {"type": "Unconfined"}}),
                "may run without AppArmor",
            ),
            (
                json!({"seLinuxOptions": {"type": "spc_t"}}),
                "choose their SELinux label",
            ),
            (
                json!({"seLinuxOptions": {"user": "root"}}),
                "choose their SELinux label",
            ),
            (
                json!({"seLinuxOptions": {"role": "sysadm_r"}}),
                "choose their SELinux label",
            ),
            (
                json!({"windowsOptions": {"hostProcess": true}}),
                "may run as processes of their node",
            ),
        ] {
            assert_eq!(
                found(&json!({"securityContext": context})),
                [words],
                "{context}"
            );
            let of_container = json!({"ephemeralContainers": [{"securityContext": context}]});
            assert_eq!(found(&of_container), [words], "{context}");
        }
        let annotation = "container.apparmor.security.beta.kubernetes.io/a";
        let pod = json!({"metadata": {"annotations": {annotation: "unconfined"}}});
        assert_eq!(beyond_namespace(&pod), ["may run without AppArmor"]);
    }
}
