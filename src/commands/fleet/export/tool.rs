//! The tools that change clusters by what they find in a registry or a management cluster, and the marks by which they leave
//! alone what holds data.

use clap::ValueEnum;
use schemars::JsonSchema;
use schemas::Namespace;
use serde::Serialize;
use serde_json::{Value, json};

/// Kinds that are kept when they are no longer wanted: data would go with them.
const KEPT: [&str; 3] = [
    "CustomResourceDefinition",
    "Namespace",
    "PersistentVolumeClaim",
];

/// A tool that changes clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GitOpsTool {
    /// An `OCIRepository` and a Kustomization for each deployment, to apply in its cluster.
    Flux,
    /// An Application for each deployment, to apply where Argo CD runs.
    Argocd,
    /// A Bundle with the objects of each deployment, to apply where Rancher Fleet runs.
    Fleet,
}

impl GitOpsTool {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Flux => "Flux",
            Self::Argocd => "Argo CD",
            Self::Fleet => "Rancher Fleet",
        }
    }

    /// The namespace that its objects usually lie in.
    ///
    /// # Panics
    ///
    /// Never: each of them is a namespace's name.
    pub(super) fn namespace(self) -> Namespace {
        let name = match self {
            Self::Flux => "flux-system",
            Self::Argocd => "argocd",
            Self::Fleet => "fleet-default",
        };
        name.parse().expect("a DNS label")
    }

    /// Whether it reads from the cluster's registry what it applies.
    pub(super) fn reads_registry(self) -> bool {
        match self {
            Self::Flux | Self::Argocd => true,
            Self::Fleet => false,
        }
    }

    /// The annotation by which it keeps an object that it is no longer told of.
    fn keep(self) -> (&'static str, &'static str) {
        match self {
            Self::Flux => ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
            Self::Argocd => (
                "argocd.argoproj.io/sync-options",
                "Prune=false,Delete=false",
            ),
            Self::Fleet => ("helm.sh/resource-policy", "keep"),
        }
    }

    /// The annotation by which it makes a Job anew that cannot be changed in place, if it has one.
    fn remake(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Flux => Some(("kustomize.toolkit.fluxcd.io/force", "enabled")),
            Self::Argocd | Self::Fleet => None,
        }
    }

    /// Marks an object for it.
    pub(super) fn mark(self, object: &mut Value) {
        let kind = object["kind"].as_str().unwrap_or_default();
        let mark = if KEPT.contains(&kind) {
            Some(self.keep())
        } else if kind == "Job" {
            self.remake()
        } else {
            None
        };
        if let Some((name, value)) = mark {
            object["metadata"]["annotations"][name] = json!(value);
        }
    }

    /// What a deployment by `solution` has and this one has not.
    pub(super) fn losses(self) -> Vec<String> {
        let name = self.name();
        let order = match self {
            Self::Flux => {
                "CRDs and namespaces are applied first, and Solutions after those that they need; the other objects of a deployment are applied together and retried until they succeed"
            }
            Self::Argocd => {
                "CRDs and namespaces are applied first; the other objects are applied together and retried until they succeed; Applications do not wait for each other"
            }
            Self::Fleet => {
                "CRDs are in a separate Bundle, and Solutions are applied after those that they need; the other objects of a deployment are applied together as one Helm release"
            }
        };
        vec![
            format!(
                "consent: {name} also applies effects outside the environment, without consent"
            ),
            format!("order: {order}"),
            format!(
                "proof: no pod tests the image pull first, and {name} does not roll back a version that does not become ready"
            ),
            format!(
                "record: `status`, `history`, `diff` and `rollback` do not cover objects that {name} applies"
            ),
        ]
    }

    /// What becomes of the hooks of charts.
    pub(super) fn hooks(self) -> &'static str {
        match self {
            Self::Flux => "are applied with everything else, as ordinary objects",
            Self::Argocd => "run before or after each sync",
            Self::Fleet => "run as hooks of the Helm release that contains all objects",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_data_is_kept_by_every_tool_and_nothing_else_is() {
        for tool in [GitOpsTool::Flux, GitOpsTool::Argocd, GitOpsTool::Fleet] {
            let marked = |kind: &str| {
                let mut object = json!({ "kind": kind, "metadata": { "name": "a" } });
                tool.mark(&mut object);
                object["metadata"]["annotations"].clone()
            };
            let (name, value) = tool.keep();
            for kind in KEPT {
                assert_eq!(marked(kind), json!({ name: value }), "{kind}");
            }
            assert_eq!(marked("ConfigMap"), Value::Null);
            let remade = tool.remake().map(|(name, value)| json!({ name: value }));
            assert_eq!(marked("Job"), remade.unwrap_or_default());
        }
    }
}
