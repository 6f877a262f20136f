//! The projection of objects into a support bundle ([`project`]), which is an allow-list. Only known structural fields
//! pass unchanged. Free text and unknown fields keep their shape, and their values are masked.

use Shape::{Annotations, Drop, Each, Entries, Fields, Hide, Keep, Message, Path, Tables, Words};
use serde_json::{Map, Value};

/// The text that replaces a masked value.
pub(super) const MASK: &str = "***";
/// The longest text of a structural field.
const STRUCTURAL: usize = 512;

/// The treatment of a field.
enum Shape {
    /// A structural value, such as a name, count, time or image. A text with whitespace is masked.
    Keep,
    /// Free text: keys, booleans and the number of items pass, but values are masked.
    Hide,
    /// A value that is always left out because it repeats other fields.
    Drop,
    /// The words of a command line, with `true` if the first one is the program.
    Words { program: bool },
    /// The path of an HTTP probe.
    Path,
    /// A message, which passes if the `reason` next to it belongs to a known message.
    Message,
    /// Annotations, which are treated by their keys.
    Annotations,
    /// A list.
    Each(&'static Shape),
    /// A map whose keys users choose.
    Entries(&'static Shape),
    /// An object with these fields. Other fields are masked.
    Fields(&'static [(&'static str, Shape)]),
    /// An object whose fields are in any of these tables.
    Tables(&'static [&'static [(&'static str, Shape)]]),
}

const NAMES: Shape = Each(&Keep);
const MAP: Shape = Entries(&Keep);
const REFERENCE: Shape = Fields(&[
    ("apiVersion", Keep),
    ("controller", Keep),
    ("blockOwnerDeletion", Keep),
    ("fieldPath", Keep),
    ("kind", Keep),
    ("name", Keep),
    ("namespace", Keep),
    ("resourceVersion", Keep),
    ("uid", Keep),
]);
const SELECTOR: Shape = Fields(&[
    ("matchExpressions", Each(&REQUIREMENT)),
    ("matchLabels", MAP),
]);
const REQUIREMENT: Shape = Fields(&[("key", Keep), ("operator", Keep), ("values", NAMES)]);
const METADATA: Shape = Fields(&[
    ("annotations", Annotations),
    ("creationTimestamp", Keep),
    ("deletionGracePeriodSeconds", Keep),
    ("deletionTimestamp", Keep),
    ("finalizers", NAMES),
    ("generateName", Keep),
    ("generation", Keep),
    ("labels", MAP),
    ("managedFields", Drop),
    ("name", Keep),
    ("namespace", Keep),
    ("ownerReferences", Each(&REFERENCE)),
    ("resourceVersion", Keep),
    ("uid", Keep),
]);

const KEY: Shape = Fields(&[("key", Keep), ("name", Keep), ("optional", Keep)]);
const FIELD: Shape = Fields(&[("apiVersion", Keep), ("fieldPath", Keep)]);
const RESOURCE_FIELD: Shape = Fields(&[
    ("containerName", Keep),
    ("divisor", Keep),
    ("resource", Keep),
]);
const VARIABLE: Shape = Fields(&[
    ("name", Keep),
    (
        "valueFrom",
        Fields(&[
            ("configMapKeyRef", KEY),
            ("fieldRef", FIELD),
            ("resourceFieldRef", RESOURCE_FIELD),
            ("secretKeyRef", KEY),
        ]),
    ),
]);
const RESOURCES: Shape = Fields(&[
    (
        "claims",
        Each(&Fields(&[("name", Keep), ("request", Keep)])),
    ),
    ("limits", MAP),
    ("requests", MAP),
]);
const SECURITY: Shape = Fields(&[
    ("allowPrivilegeEscalation", Keep),
    ("appArmorProfile", Fields(&[("type", Keep)])),
    ("capabilities", Fields(&[("add", NAMES), ("drop", NAMES)])),
    ("fsGroup", Keep),
    ("fsGroupChangePolicy", Keep),
    ("privileged", Keep),
    ("readOnlyRootFilesystem", Keep),
    ("runAsGroup", Keep),
    ("runAsNonRoot", Keep),
    ("runAsUser", Keep),
    ("seccompProfile", Fields(&[("type", Keep)])),
    ("supplementalGroups", NAMES),
]);
const HANDLER: Shape = Fields(&[
    ("exec", EXEC),
    ("failureThreshold", Keep),
    ("grpc", Fields(&[("port", Keep)])),
    ("httpGet", HTTP),
    ("initialDelaySeconds", Keep),
    ("periodSeconds", Keep),
    ("sleep", Fields(&[("seconds", Keep)])),
    ("successThreshold", Keep),
    ("tcpSocket", Fields(&[("port", Keep)])),
    ("terminationGracePeriodSeconds", Keep),
    ("timeoutSeconds", Keep),
]);
const EXEC: Shape = Fields(&[("command", Words { program: true })]);
const HTTP: Shape = Fields(&[
    ("httpHeaders", Each(&Fields(&[("name", Keep)]))),
    ("path", Path),
    ("port", Keep),
    ("scheme", Keep),
]);
const MOUNTS: Shape = Each(&Fields(&[
    ("mountPath", Keep),
    ("mountPropagation", Keep),
    ("name", Keep),
    ("readOnly", Keep),
    ("recursiveReadOnly", Keep),
    ("subPath", Keep),
]));
const CONTAINERS: Shape = Each(&Fields(&[
    ("args", Words { program: false }),
    ("command", Words { program: true }),
    ("env", Each(&VARIABLE)),
    (
        "envFrom",
        Each(&Fields(&[
            ("configMapRef", KEY),
            ("prefix", Keep),
            ("secretRef", KEY),
        ])),
    ),
    ("image", Keep),
    ("imagePullPolicy", Keep),
    (
        "lifecycle",
        Fields(&[("postStart", HANDLER), ("preStop", HANDLER)]),
    ),
    ("livenessProbe", HANDLER),
    ("name", Keep),
    (
        "ports",
        Each(&Fields(&[
            ("containerPort", Keep),
            ("hostPort", Keep),
            ("name", Keep),
            ("protocol", Keep),
        ])),
    ),
    ("readinessProbe", HANDLER),
    ("resources", RESOURCES),
    ("restartPolicy", Keep),
    ("securityContext", SECURITY),
    ("startupProbe", HANDLER),
    ("terminationMessagePath", Keep),
    ("terminationMessagePolicy", Keep),
    (
        "volumeDevices",
        Each(&Fields(&[("devicePath", Keep), ("name", Keep)])),
    ),
    ("volumeMounts", MOUNTS),
    ("workingDir", Keep),
]));
const ITEMS: Shape = Each(&Fields(&[
    ("fieldRef", FIELD),
    ("key", Keep),
    ("mode", Keep),
    ("path", Keep),
    ("resourceFieldRef", RESOURCE_FIELD),
]));
const SOURCE: Shape = Fields(&[
    ("defaultMode", Keep),
    ("items", ITEMS),
    ("name", Keep),
    ("optional", Keep),
    ("secretName", Keep),
]);
const VOLUMES: Shape = Each(&Fields(&[
    ("configMap", SOURCE),
    (
        "csi",
        Fields(&[
            ("driver", Keep),
            ("fsType", Keep),
            ("nodePublishSecretRef", REFERENCE),
            ("readOnly", Keep),
        ]),
    ),
    ("downwardAPI", SOURCE),
    ("emptyDir", Fields(&[("medium", Keep), ("sizeLimit", Keep)])),
    ("ephemeral", Fields(&[("volumeClaimTemplate", CLAIM)])),
    ("hostPath", Fields(&[("path", Keep), ("type", Keep)])),
    ("name", Keep),
    (
        "persistentVolumeClaim",
        Fields(&[("claimName", Keep), ("readOnly", Keep)]),
    ),
    (
        "projected",
        Fields(&[
            ("defaultMode", Keep),
            (
                "sources",
                Each(&Fields(&[
                    ("configMap", SOURCE),
                    ("downwardAPI", SOURCE),
                    ("secret", SOURCE),
                    (
                        "serviceAccountToken",
                        Fields(&[
                            ("audience", Keep),
                            ("expirationSeconds", Keep),
                            ("path", Keep),
                        ]),
                    ),
                ])),
            ),
        ]),
    ),
    ("secret", SOURCE),
]));
const CLAIM: Shape = Fields(&[
    ("apiVersion", Keep),
    ("kind", Keep),
    ("metadata", METADATA),
    (
        "spec",
        Fields(&[
            ("accessModes", NAMES),
            ("resources", RESOURCES),
            ("selector", SELECTOR),
            ("storageClassName", Keep),
            ("volumeMode", Keep),
            ("volumeName", Keep),
        ]),
    ),
    ("status", Fields(&[("phase", Keep)])),
]);
const TOLERATION: Shape = Fields(&[
    ("effect", Keep),
    ("key", Keep),
    ("operator", Keep),
    ("tolerationSeconds", Keep),
    ("value", Keep),
]);
const NODE_TERM: Shape = Fields(&[
    ("matchExpressions", Each(&REQUIREMENT)),
    ("matchFields", Each(&REQUIREMENT)),
]);
const POD_TERM: Shape = Fields(&[
    ("labelSelector", SELECTOR),
    ("namespaceSelector", SELECTOR),
    ("namespaces", NAMES),
    ("topologyKey", Keep),
]);
const POD_AFFINITY: Shape = Fields(&[
    (
        "preferredDuringSchedulingIgnoredDuringExecution",
        Each(&Fields(&[("podAffinityTerm", POD_TERM), ("weight", Keep)])),
    ),
    (
        "requiredDuringSchedulingIgnoredDuringExecution",
        Each(&POD_TERM),
    ),
]);
const AFFINITY: Shape = Fields(&[
    (
        "nodeAffinity",
        Fields(&[
            (
                "preferredDuringSchedulingIgnoredDuringExecution",
                Each(&Fields(&[("preference", NODE_TERM), ("weight", Keep)])),
            ),
            (
                "requiredDuringSchedulingIgnoredDuringExecution",
                Fields(&[("nodeSelectorTerms", Each(&NODE_TERM))]),
            ),
        ]),
    ),
    ("podAffinity", POD_AFFINITY),
    ("podAntiAffinity", POD_AFFINITY),
]);
const POD_SPEC: &[(&str, Shape)] = &[
    ("activeDeadlineSeconds", Keep),
    ("affinity", AFFINITY),
    ("automountServiceAccountToken", Keep),
    ("containers", CONTAINERS),
    ("dnsPolicy", Keep),
    ("enableServiceLinks", Keep),
    ("ephemeralContainers", CONTAINERS),
    ("hostIPC", Keep),
    ("hostNetwork", Keep),
    ("hostPID", Keep),
    ("hostUsers", Keep),
    ("imagePullSecrets", Each(&REFERENCE)),
    ("initContainers", CONTAINERS),
    ("nodeName", Keep),
    ("nodeSelector", MAP),
    ("preemptionPolicy", Keep),
    ("priority", Keep),
    ("priorityClassName", Keep),
    ("readinessGates", Each(&Fields(&[("conditionType", Keep)]))),
    ("restartPolicy", Keep),
    ("runtimeClassName", Keep),
    ("schedulerName", Keep),
    ("securityContext", SECURITY),
    ("serviceAccount", Keep),
    ("serviceAccountName", Keep),
    ("shareProcessNamespace", Keep),
    ("subdomain", Keep),
    ("terminationGracePeriodSeconds", Keep),
    ("tolerations", Each(&TOLERATION)),
    (
        "topologySpreadConstraints",
        Each(&Fields(&[
            ("labelSelector", SELECTOR),
            ("maxSkew", Keep),
            ("topologyKey", Keep),
            ("whenUnsatisfiable", Keep),
        ])),
    ),
    ("volumes", VOLUMES),
];
const STRATEGY: Shape = Fields(&[
    (
        "rollingUpdate",
        Fields(&[
            ("maxSurge", Keep),
            ("maxUnavailable", Keep),
            ("partition", Keep),
        ]),
    ),
    ("type", Keep),
]);
/// The fields of the specs of workloads, whose names have the same meaning in every kind.
const WORKLOAD_SPEC: &[(&str, Shape)] = &[
    ("backoffLimit", Keep),
    ("completionMode", Keep),
    ("completions", Keep),
    ("manualSelector", Keep),
    ("minReadySeconds", Keep),
    ("parallelism", Keep),
    ("paused", Keep),
    ("podManagementPolicy", Keep),
    ("podReplacementPolicy", Keep),
    ("progressDeadlineSeconds", Keep),
    ("replicas", Keep),
    ("revisionHistoryLimit", Keep),
    ("selector", SELECTOR),
    ("serviceName", Keep),
    ("strategy", STRATEGY),
    ("suspend", Keep),
    (
        "template",
        Fields(&[("metadata", METADATA), ("spec", Fields(POD_SPEC))]),
    ),
    ("ttlSecondsAfterFinished", Keep),
    ("updateStrategy", STRATEGY),
    ("volumeClaimTemplates", Each(&CLAIM)),
];
const CONTAINER_STATE: Shape = Fields(&[
    ("running", Fields(&[("startedAt", Keep)])),
    (
        "terminated",
        Fields(&[
            ("containerID", Keep),
            ("exitCode", Keep),
            ("finishedAt", Keep),
            ("message", Message),
            ("reason", Keep),
            ("signal", Keep),
            ("startedAt", Keep),
        ]),
    ),
    ("waiting", Fields(&[("message", Message), ("reason", Keep)])),
]);
const CONTAINER_STATUSES: Shape = Each(&Fields(&[
    ("allocatedResources", MAP),
    ("containerID", Keep),
    ("image", Keep),
    ("imageID", Keep),
    ("lastState", CONTAINER_STATE),
    ("name", Keep),
    ("ready", Keep),
    ("resources", RESOURCES),
    ("restartCount", Keep),
    ("started", Keep),
    ("state", CONTAINER_STATE),
    ("volumeMounts", MOUNTS),
]));
const ADDRESSES: Shape = Each(&Fields(&[("ip", Keep)]));
const STATUS: &[(&str, Shape)] = &[
    ("active", Keep),
    ("availableReplicas", Keep),
    ("collisionCount", Keep),
    ("completedIndexes", Keep),
    ("completionTime", Keep),
    (
        "conditions",
        Each(&Fields(&[
            ("lastProbeTime", Keep),
            ("lastTransitionTime", Keep),
            ("lastUpdateTime", Keep),
            ("message", Message),
            ("observedGeneration", Keep),
            ("reason", Keep),
            ("status", Keep),
            ("type", Keep),
        ])),
    ),
    ("containerStatuses", CONTAINER_STATUSES),
    ("currentNumberScheduled", Keep),
    ("currentReplicas", Keep),
    ("currentRevision", Keep),
    ("desiredNumberScheduled", Keep),
    ("ephemeralContainerStatuses", CONTAINER_STATUSES),
    ("failed", Keep),
    ("fullyLabeledReplicas", Keep),
    ("hostIP", Keep),
    ("hostIPs", ADDRESSES),
    ("initContainerStatuses", CONTAINER_STATUSES),
    ("message", Message),
    ("nominatedNodeName", Keep),
    ("numberAvailable", Keep),
    ("numberMisscheduled", Keep),
    ("numberReady", Keep),
    ("numberUnavailable", Keep),
    ("observedGeneration", Keep),
    ("phase", Keep),
    ("podIP", Keep),
    ("podIPs", ADDRESSES),
    ("qosClass", Keep),
    ("ready", Keep),
    ("readyReplicas", Keep),
    ("reason", Keep),
    ("replicas", Keep),
    ("startTime", Keep),
    ("succeeded", Keep),
    ("terminating", Keep),
    ("unavailableReplicas", Keep),
    ("updateRevision", Keep),
    ("updatedNumberScheduled", Keep),
    ("updatedReplicas", Keep),
];
/// The fields of all kinds in a bundle.
const OBJECT: Shape = Fields(&[
    ("action", Keep),
    ("apiVersion", Keep),
    ("count", Keep),
    ("eventTime", Keep),
    ("firstTimestamp", Keep),
    ("involvedObject", REFERENCE),
    ("kind", Keep),
    ("lastTimestamp", Keep),
    ("message", Message),
    ("metadata", METADATA),
    ("reason", Keep),
    ("related", REFERENCE),
    ("reportingComponent", Keep),
    ("reportingInstance", Keep),
    (
        "series",
        Fields(&[("count", Keep), ("lastObservedTime", Keep)]),
    ),
    ("source", Fields(&[("component", Keep), ("host", Keep)])),
    ("spec", Tables(&[POD_SPEC, WORKLOAD_SPEC])),
    ("status", Fields(STATUS)),
    ("type", Keep),
]);

/// The annotations whose values are structural.
const HARMLESS_ANNOTATIONS: [&str; 5] = [
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deployment.kubernetes.io/revision",
    "kubectl.kubernetes.io/restartedAt",
    "meta.helm.sh/release-name",
];
/// The annotation that repeats the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The components of Kubernetes whose events have known messages.
const COMPONENTS: [&str; 7] = [
    "daemonset-controller",
    "default-scheduler",
    "deployment-controller",
    "job-controller",
    "kubelet",
    "replicaset-controller",
    "statefulset-controller",
];
/// The reasons of these components whose messages contain only names of objects, images and numbers. Messages of
/// `Failed`, `Unhealthy`, `FailedMount` and `FailedCreate` are not among them: they quote command lines, paths, mount
/// options and webhooks.
const HARMLESS_REASONS: [&str; 24] = [
    "BackOff",
    "ContainerCreating",
    "ContainersNotInitialized",
    "ContainersNotReady",
    "CrashLoopBackOff",
    "Created",
    "FailedScheduling",
    "Killing",
    "MinimumReplicasAvailable",
    "MinimumReplicasUnavailable",
    "NewReplicaSetAvailable",
    "NewReplicaSetCreated",
    "NotTriggerScaleUp",
    "PodInitializing",
    "ProgressDeadlineExceeded",
    "Pulled",
    "Pulling",
    "ReplicaSetUpdated",
    "ScalingReplicaSet",
    "Scheduled",
    "Started",
    "SuccessfulCreate",
    "SuccessfulDelete",
    "Unschedulable",
];
/// The usual paths of probes.
const HARMLESS_PATHS: [&str; 14] = [
    "/",
    "/-/healthy",
    "/-/ready",
    "/health",
    "/healthz",
    "/healthz/ready",
    "/live",
    "/livez",
    "/metrics",
    "/ping",
    "/ready",
    "/readyz",
    "/startup",
    "/status",
];
/// The longest name of an option that passes.
const OPTION: usize = 40;

/// Returns the projection of an object. With `include_text`, only repetitions of other fields are removed.
pub(super) fn project(object: &Value, include_text: bool) -> Value {
    if !include_text {
        return shaped(object, &OBJECT, &Map::new());
    }
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        let annotations = metadata.get_mut("annotations");
        if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    object
}

fn shaped(value: &Value, shape: &Shape, parent: &Map<String, Value>) -> Value {
    match (shape, value) {
        (_, Value::Null) => Value::Null,
        (Keep, Value::Bool(_) | Value::Number(_)) => value.clone(),
        (Keep, Value::String(text)) if is_structural(text) => value.clone(),
        (Words { program }, Value::Array(items)) => words(items, *program),
        (Path, Value::String(path)) if HARMLESS_PATHS.contains(&path.as_str()) => value.clone(),
        (Message, Value::String(_)) if is_explained(parent) => value.clone(),
        (Annotations, Value::Object(fields)) => annotations(fields),
        (Each(shape), Value::Array(items)) => items
            .iter()
            .map(|item| shaped(item, shape, parent))
            .collect(),
        (Entries(shape), Value::Object(fields)) => {
            let fields = fields.iter();
            let entry =
                |(key, field): (&String, &Value)| (key.clone(), shaped(field, shape, parent));
            Value::Object(fields.map(entry).collect())
        }
        (Fields(table), Value::Object(fields)) => object(fields, &[table]),
        (Tables(tables), Value::Object(fields)) => object(fields, tables),
        _ => hidden(value),
    }
}

fn object(fields: &Map<String, Value>, tables: &[&[(&str, Shape)]]) -> Value {
    let mut shown = Map::new();
    for (name, field) in fields {
        let known = tables.iter().flat_map(|table| table.iter());
        let shape = known
            .filter(|(known, _)| known == name)
            .map(|(_, shape)| shape)
            .next();
        let shape = shape.unwrap_or(&Hide);
        if !matches!(shape, Drop) {
            shown.insert(name.clone(), shaped(field, shape, fields));
        }
    }
    Value::Object(shown)
}

/// Masks a value and keeps its shape.
pub(super) fn hidden(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(_) | Value::String(_) => MASK.into(),
        Value::Array(items) => items.iter().map(hidden).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            let entry = |(key, field): (&String, &Value)| (key.clone(), hidden(field));
            Value::Object(fields.map(entry).collect())
        }
    }
}

fn is_structural(text: &str) -> bool {
    text.len() <= STRUCTURAL && !text.contains(char::is_whitespace)
}

fn annotations(fields: &Map<String, Value>) -> Value {
    let fields = fields.iter().filter(|(key, _)| *key != LAST_APPLIED);
    let entry = |(key, value): (&String, &Value)| {
        let shape = if HARMLESS_ANNOTATIONS.contains(&key.as_str()) {
            &Keep
        } else {
            &Hide
        };
        (key.clone(), shaped(value, shape, &Map::new()))
    };
    Value::Object(fields.map(entry).collect())
}

/// Checks whether Kubernetes itself wrote a message, for a reason whose messages have no free text.
fn is_explained(fields: &Map<String, Value>) -> bool {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let reason = text(fields.get("reason")).unwrap_or_default();
    // Any user may create an Event with any reason. Conditions with these reasons are written by controllers.
    let is_event = fields.contains_key("involvedObject");
    let component = fields
        .get("source")
        .and_then(|source| source.get("component"));
    let reporting = text(fields.get("reportingComponent")).filter(|name| !name.is_empty());
    let component = reporting.or_else(|| text(component)).unwrap_or_default();
    HARMLESS_REASONS.contains(&reason.as_str())
        && (!is_event || COMPONENTS.contains(&component.as_str()))
}

/// Masks the words of a command line, except the program, the names of options, and references to variables.
fn words(items: &[Value], program: bool) -> Value {
    let word = |(index, word): (usize, &Value)| match word.as_str() {
        Some(text) if index == 0 && program && is_program(text) => word.clone(),
        Some(text) => Value::from(masked_word(text)),
        None => hidden(word),
    };
    items.iter().enumerate().map(word).collect()
}

fn is_program(text: &str) -> bool {
    let is_path = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    !text.starts_with('-') && is_structural(text) && text.chars().all(is_path)
}

fn masked_word(text: &str) -> String {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    // `-x` is an option. Characters after the letter may be its value.
    let is_short =
        name.len() == 2 && name.starts_with('-') && name.as_bytes()[1].is_ascii_alphabetic();
    if !is_short && !is_long_option(name) {
        let is_known = is_harmless(text);
        return if is_known { text } else { MASK }.to_owned();
    }
    match value {
        Some(value) if !is_harmless(value) => format!("{name}={MASK}"),
        _ => text.to_owned(),
    }
}

fn is_long_option(name: &str) -> bool {
    let is_name = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-._".contains(letter)
    };
    let Some(option) = name.strip_prefix("--") else {
        return false;
    };
    option.len() <= OPTION
        && option.starts_with(|first: char| first.is_ascii_lowercase())
        && option.chars().all(is_name)
}

/// Checks whether the value of an option reveals nothing: a boolean, or a reference to a variable.
fn is_harmless(value: &str) -> bool {
    let name = value
        .strip_prefix("$(")
        .and_then(|rest| rest.strip_suffix(')'));
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    matches!(value, "true" | "false")
        || name.is_some_and(|name| !name.is_empty() && name.chars().all(is_letter))
}
