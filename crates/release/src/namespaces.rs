//! The namespaces that belong to a release. [`own`] determines them from the objects, for the manifest set of the tree.

use std::collections::BTreeMap;

use schemas::{Namespace, SolutionName, SourceNamespace};
use serde_json::Value;

use crate::contents::{ReleaseObjects, pod};
use manifests::{ManifestObject, list, text};

/// The namespace that kubectl uses by default.
const UNSAID: &str = "default";

/// The numbers of workloads and objects that name a namespace.
struct NamespaceMention<'a> {
    name: &'a str,
    workloads: usize,
    objects: usize,
}

/// Returns the release's own namespaces, first the one with the most workloads.
///
/// A release whose objects name no namespace works in any namespace. The same is assumed for a release that was
/// rendered for kubectl's `default`. A site can rename such a namespace, whatever other objects the release has.
pub(crate) fn own(
    contents: &ReleaseObjects<'_>,
    solution: Option<&SolutionName>,
) -> Vec<SourceNamespace> {
    let own = named(&contents.objects).sorted();
    let own = own.map(|name| SourceNamespace {
        fixed: (name.as_str() == UNSAID).then_some(false),
        name,
    });
    let mut own: Vec<SourceNamespace> = own.collect();
    let kinds = contents.kinds();
    let nameless = |object: &ManifestObject<'_>| {
        object.namespace().is_empty() && !kinds.is_cluster_scoped(&object.value)
    };
    if own.is_empty() && contents.objects.iter().any(nameless) {
        let meant = meant(&contents.objects).or_else(|| solution?.as_str().parse().ok());
        own.extend(meant.map(|name| SourceNamespace {
            name,
            fixed: Some(false),
        }));
    }
    own
}

/// Returns the namespace to which most references point, in a release whose objects name none.
fn meant(objects: &[ManifestObject<'_>]) -> Option<Namespace> {
    let mut named = NamespaceCounts::default();
    for name in objects.iter().flat_map(|object| referred(&object.value)) {
        named.add(name, false);
    }
    named.sorted().next()
}

/// Returns whether a namespace can belong to a release. The `kube-` prefix is reserved for Kubernetes.
fn is_own(name: &str) -> bool {
    !name.is_empty() && !name.starts_with("kube-")
}

/// Counts of mentions per namespace, in the order of their first mention.
#[derive(Default)]
struct NamespaceCounts<'a> {
    all: Vec<NamespaceMention<'a>>,
    index: BTreeMap<&'a str, usize>,
}

impl<'a> NamespaceCounts<'a> {
    fn add(&mut self, name: &'a str, workload: bool) {
        let index = *self.index.entry(name).or_insert_with(|| {
            self.all.push(NamespaceMention {
                name,
                workloads: 0,
                objects: 0,
            });
            self.all.len() - 1
        });
        self.all[index].objects += 1;
        self.all[index].workloads += usize::from(workload);
    }

    /// Returns the valid namespaces that can belong to a release, by number of workloads, then of objects, in
    /// descending order.
    fn sorted(mut self) -> impl Iterator<Item = Namespace> {
        self.all
            .sort_by_key(|mention| std::cmp::Reverse((mention.workloads, mention.objects)));
        let own = self.all.into_iter().filter(|mention| is_own(mention.name));
        own.filter_map(|mention| mention.name.parse().ok())
    }
}

fn named<'a>(objects: &'a [ManifestObject<'a>]) -> NamespaceCounts<'a> {
    let mut named = NamespaceCounts::default();
    for object in objects {
        let is_namespace = object.kind() == "Namespace" && object.group().is_empty();
        let name = if is_namespace {
            object.name()
        } else {
            object.namespace()
        };
        named.add(name, pod(&object.value).is_some());
    }
    named
}

/// Returns the namespaces to which an object refers: those of bound accounts, and of the Services of webhooks and APIs.
fn referred(object: &Value) -> impl Iterator<Item = &str> {
    let subjects = list(object, "/subjects").iter();
    let subjects = subjects.map(|subject| text(subject, "/namespace"));
    let webhooks = list(object, "/webhooks").iter();
    let webhooks = webhooks.map(|webhook| text(webhook, "/clientConfig/service/namespace"));
    let service = text(object, "/spec/service/namespace");
    subjects.chain(webhooks).chain([service])
}

#[cfg(test)]
mod tests {
    use manifests::ManifestFile;

    use super::*;

    fn of(text: &str) -> Vec<(String, Option<bool>)> {
        let files = [ManifestFile {
            name: "release.yaml".to_owned(),
            bytes: text.as_bytes().to_vec(),
        }];
        let objects = manifests::parse(&files).unwrap();
        let solution = "shop".parse().unwrap();
        let own = own(&ReleaseObjects::of(objects.all), Some(&solution));
        own.into_iter()
            .map(|namespace| (namespace.name.to_string(), namespace.fixed))
            .collect()
    }

    fn object(kind: &str, namespace: &str) -> String {
        let api_version = match kind {
            "Deployment" => "apps/v1",
            "ClusterRoleBinding" => "rbac.authorization.k8s.io/v1",
            _ => "v1",
        };
        let namespace = match namespace {
            "" => String::new(),
            name => format!(", namespace: {name}"),
        };
        format!(
            "---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: app-{}{namespace}}}\nspec: {{template: {{spec: {{}}}}}}\n",
            namespace.len()
        )
    }

    fn pair(name: &str, fixed: Option<bool>) -> (String, Option<bool>) {
        (name.to_owned(), fixed)
    }

    #[test]
    fn the_first_namespace_is_that_of_most_workloads_and_kubernetes_own_are_none() {
        let release = [
            object("Service", "monitoring"),
            object("ConfigMap", "monitoring"),
            object("Secret", "kube-system"),
            object("Deployment", "apps"),
            "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: later}\n".to_owned(),
        ];
        assert_eq!(
            of(&release.concat()),
            [
                pair("apps", None),
                pair("monitoring", None),
                pair("later", None)
            ]
        );
        assert_eq!(of(&object("Deployment", "kube-system")), []);
    }

    #[test]
    fn a_release_whose_objects_name_no_namespace_works_in_any() {
        let subjects = "subjects: [{kind: ServiceAccount, name: a, namespace: apps}]\n";
        let binding = format!("{}{subjects}", object("ClusterRoleBinding", ""));
        let deployment = object("Deployment", "");
        assert_eq!(
            of(&format!("{deployment}{binding}")),
            [pair("apps", Some(false))]
        );
        assert_eq!(of(&deployment), [pair("shop", Some(false))]);
        assert_eq!(of(&binding), [], "nothing of it is in a namespace");
        assert_eq!(
            of(&object("Deployment", "default")),
            [pair("default", Some(false))]
        );
    }
}
