//! The metadata of a definition that goes to a cluster. Kubernetes and the tools beside us act on metadata: the garbage
//! collector deletes an object whose owner is not there, a finalizer keeps it for ever, and whoever finds his mark on it
//! counts it as his own. So only the name passes, and labels and annotations that mean nothing to anybody else.
//!
//! All other objects of an import are made by the importer, and take no metadata from an archive but names.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// The prefix of the labels and annotations of this project.
const OURS: &str = "solutions.metalk8s.scality.com";

/// Domains of the Kubernetes community.
const KUBERNETES: [&str; 2] = ["k8s.io", "kubernetes.io"];

/// The keys that pass below them: those that say something to people only, and the approval of a group (KEP 2337).
const PASSING: [&str; 10] = [
    "api-approved.kubernetes.io",
    "app.kubernetes.io/component",
    "app.kubernetes.io/created-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "gateway.networking.k8s.io/bundle-version",
    "gateway.networking.k8s.io/channel",
    "policy.networking.k8s.io/bundle-version",
    "policy.networking.k8s.io/channel",
];

/// Keys by which tools know what they manage, and may therefore change or delete.
const OWNERS: &[(MetadataKey, &str)] = &[
    // The label by which it tracks unless told otherwise, and that of charts.
    (MetadataKey::Whole("app.kubernetes.io/instance"), "Argo CD"),
    (MetadataKey::Below("argocd.argoproj.io"), "Argo CD"),
    (
        MetadataKey::Whole("app.kubernetes.io/managed-by"),
        "the tool it names",
    ),
    (MetadataKey::Below("fluxcd.io"), "Flux"),
    (MetadataKey::Below("fluxcd.controlplane.io"), "Flux"),
    (MetadataKey::Below("helm.sh"), "Helm"),
    (MetadataKey::Start("olm."), "OLM"),
    (MetadataKey::Below("operatorframework.io"), "OLM"),
    (MetadataKey::Below("operators.coreos.com"), "OLM"),
    (MetadataKey::Below("kubectl.kubernetes.io"), "kubectl"),
    (MetadataKey::Below("applyset.kubernetes.io"), "kubectl"),
    (MetadataKey::Below("kapp.k14s.io"), "kapp"),
    (MetadataKey::Below("cattle.io"), "Rancher"),
    (MetadataKey::Below("configmanagement.gke.io"), "Config Sync"),
    (MetadataKey::Below("configsync.gke.io"), "Config Sync"),
];

/// The keys that a row is about.
#[derive(Debug)]
enum MetadataKey {
    /// This one key.
    Whole(&'static str),
    /// The keys of this domain and of those below it.
    Below(&'static str),
    /// The keys that begin so.
    Start(&'static str),
}

/// The metadata of a definition that is applied, and that which is not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SortedMetadata<'a> {
    /// Labels that are applied.
    pub labels: BTreeMap<&'a str, &'a str>,
    /// Annotations that are applied.
    pub annotations: BTreeMap<&'a str, &'a str>,
    /// The metadata that is not applied, fields, labels and annotations each by name.
    pub withheld: Vec<Withheld<'a>>,
}

/// A part of metadata that is not applied. [`fmt::Display`] names it and says why.
#[derive(Debug, PartialEq, Eq)]
pub struct Withheld<'a> {
    place: MetadataPlace<'a>,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MetadataPlace<'a> {
    Field(&'a str),
    Label(&'a str),
    Annotation(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// No field that an archive decides.
    Field,
    /// A field that is neither a text nor a map of texts.
    Shape,
    /// The importer's own.
    Ours,
    /// A key that has, or may get, a meaning to Kubernetes.
    Kubernetes,
    /// A tool would count the object as its own.
    Owner(&'static str),
}

impl fmt::Display for Withheld<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            MetadataPlace::Field(name) => write!(f, "`{name}`")?,
            MetadataPlace::Label(key) => write!(f, "label `{key}`")?,
            MetadataPlace::Annotation(key) => write!(f, "annotation `{key}`")?,
        }
        match self.why {
            Why::Field => Ok(()),
            Why::Shape => f.write_str(" (is not text)"),
            Why::Ours => f.write_str(" (is set by the import)"),
            Why::Kubernetes => f.write_str(" (belongs to Kubernetes)"),
            Why::Owner(tool) => write!(f, " (belongs to {tool})"),
        }
    }
}

/// Sorts the metadata of a definition, or of any object that passes through.
#[must_use]
pub fn metadata(document: &Value) -> SortedMetadata<'_> {
    let mut metadata = SortedMetadata::default();
    let fields = document.get("metadata").and_then(Value::as_object);
    for (field, value) in fields.into_iter().flatten() {
        match field.as_str() {
            "name" => {}
            "labels" => {
                let sorted = sort(value, field, MetadataPlace::Label, &mut metadata.withheld);
                metadata.labels = sorted;
            }
            "annotations" => {
                let sorted = sort(
                    value,
                    field,
                    MetadataPlace::Annotation,
                    &mut metadata.withheld,
                );
                metadata.annotations = sorted;
            }
            // Generators write `creationTimestamp: null`.
            _ if value.is_null() => {}
            _ => metadata.withheld.push(Withheld {
                place: MetadataPlace::Field(field),
                why: Why::Field,
            }),
        }
    }
    metadata
}

/// The texts of a map that pass.
fn sort<'a>(
    map: &'a Value,
    field: &'a str,
    place: fn(&'a str) -> MetadataPlace<'a>,
    withheld: &mut Vec<Withheld<'a>>,
) -> BTreeMap<&'a str, &'a str> {
    let mut passing = BTreeMap::new();
    let texts = match map {
        Value::Null => return passing,
        Value::Object(texts) => texts,
        _ => {
            let (place, why) = (MetadataPlace::Field(field), Why::Shape);
            withheld.push(Withheld { place, why });
            return passing;
        }
    };
    for (key, value) in texts {
        let why = match value {
            Value::String(text) => match why(key) {
                None => {
                    passing.insert(key.as_str(), text.as_str());
                    continue;
                }
                Some(why) => why,
            },
            _ => Why::Shape,
        };
        let place = place(key);
        withheld.push(Withheld { place, why });
    }
    passing
}

/// Returns why a label or an annotation does not pass. The API server takes annotations in any case.
fn why(key: &str) -> Option<Why> {
    let key = key.to_ascii_lowercase();
    let domain = key.split('/').next().unwrap_or_default();
    if let Some((_, tool)) = OWNERS.iter().find(|(owned, _)| owned.is(&key, domain)) {
        Some(Why::Owner(tool))
    } else if is_below(domain, OURS) {
        Some(Why::Ours)
    } else if is_of_kubernetes(domain) {
        (!PASSING.contains(&key.as_str())).then_some(Why::Kubernetes)
    } else {
        None
    }
}

impl MetadataKey {
    fn is(&self, key: &str, domain: &str) -> bool {
        match self {
            Self::Whole(whole) => key == *whole,
            Self::Below(above) => is_below(domain, above),
            Self::Start(start) => key.starts_with(start),
        }
    }
}

/// Whether a label or an annotation is one of this project's.
pub(super) fn is_ours(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    is_below(key.split('/').next().unwrap_or_default(), OURS)
}

/// Whether a domain, of a key or of an API group, is one of the Kubernetes community.
pub(crate) fn is_of_kubernetes(domain: &str) -> bool {
    KUBERNETES.iter().any(|own| is_below(domain, own))
}

/// Whether a domain is another one or below it.
fn is_below(domain: &str, above: &str) -> bool {
    domain
        .strip_suffix(above)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(metadata: &SortedMetadata<'_>) -> Vec<String> {
        metadata.withheld.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn of_the_fields_only_the_name_labels_and_annotations_pass() {
        let document = json!({"metadata": {
            "name": "a.example.test",
            "generateName": "a",
            "namespace": "b",
            "creationTimestamp": null,
            "ownerReferences": [],
            "finalizers": ["x"],
            "managedFields": [],
            "labels": {"app": "a"},
            "annotations": null,
        }});
        let metadata = metadata(&document);
        assert_eq!(metadata.labels, BTreeMap::from([("app", "a")]));
        assert!(metadata.annotations.is_empty());
        assert_eq!(
            words(&metadata),
            [
                "`finalizers`",
                "`generateName`",
                "`managedFields`",
                "`namespace`",
                "`ownerReferences`"
            ]
        );
    }

    /// The keys are those of cert-manager, the Prometheus operator, `CloudNativePG`, Gateway API and Cluster API.
    #[test]
    fn keys_of_real_definitions_pass_unless_they_belong_to_somebody() {
        for (key, expected) in [
            ("controller-gen.kubebuilder.io/version", ""),
            ("cert-manager.io/inject-ca-from", ""),
            ("operator.prometheus.io/version", ""),
            ("api-approved.kubernetes.io", ""),
            ("gateway.networking.k8s.io/bundle-version", ""),
            ("cluster.x-k8s.io/v1beta1", ""),
            ("app", ""),
            ("release", ""),
            ("app.kubernetes.io/name", ""),
            ("app.kubernetes.io/component", ""),
            ("solutions.metalk8s.example", ""),
            ("notk8s.io/x", ""),
            ("whelm.sh/x", ""),
            ("app.kubernetes.io/instance", "belongs to Argo CD"),
            ("argocd.argoproj.io/tracking-id", "belongs to Argo CD"),
            ("argocd.argoproj.io/instance", "belongs to Argo CD"),
            (
                "app.kubernetes.io/managed-by",
                "belongs to the tool it names",
            ),
            ("helm.sh/chart", "belongs to Helm"),
            ("helm.sh/resource-policy", "belongs to Helm"),
            ("meta.helm.sh/release-name", "belongs to Helm"),
            ("kustomize.toolkit.fluxcd.io/name", "belongs to Flux"),
            ("helm.toolkit.fluxcd.io/namespace", "belongs to Flux"),
            ("olm.owner", "belongs to OLM"),
            ("olm.managed", "belongs to OLM"),
            ("operators.coreos.com/etcd.default", "belongs to OLM"),
            (
                "operatorframework.io/installed-alongside-1",
                "belongs to OLM",
            ),
            (
                "kubectl.kubernetes.io/last-applied-configuration",
                "belongs to kubectl",
            ),
            (
                "Kubectl.Kubernetes.io/last-applied-configuration",
                "belongs to kubectl",
            ),
            ("kapp.k14s.io/app", "belongs to kapp"),
            ("objectset.rio.cattle.io/hash", "belongs to Rancher"),
            ("config.k8s.io/owning-inventory", "belongs to Kubernetes"),
            ("addonmanager.kubernetes.io/mode", "belongs to Kubernetes"),
            ("kubernetes.io", "belongs to Kubernetes"),
            ("app.kubernetes.io/unknown", "belongs to Kubernetes"),
            (
                "solutions.metalk8s.scality.com/adopted",
                "is set by the import",
            ),
            (
                "x.solutions.metalk8s.scality.com/adopted",
                "is set by the import",
            ),
        ] {
            let document = json!({"metadata": {"labels": {key: "x"}, "annotations": {key: "x"}}});
            let metadata = metadata(&document);
            let passing = usize::from(expected.is_empty());
            assert_eq!(metadata.labels.len(), passing, "{key}");
            assert_eq!(metadata.annotations.len(), passing, "{key}");
            let said = [("annotation", key), ("label", key)]
                .map(|(place, key)| format!("{place} `{key}` ({expected})"));
            assert_eq!(words(&metadata), &said[2 * passing..], "{key}");
        }
    }

    #[test]
    fn what_is_no_text_does_not_pass() {
        let document = json!({"metadata": {"labels": ["a"], "annotations": {"a": 1, "b": "c"}}});
        let metadata = metadata(&document);
        assert_eq!(metadata.annotations, BTreeMap::from([("b", "c")]));
        assert_eq!(
            words(&metadata),
            ["annotation `a` (is not text)", "`labels` (is not text)"]
        );
        assert_eq!(
            super::metadata(&json!({"metadata": "x"})),
            SortedMetadata::default()
        );
    }
}
