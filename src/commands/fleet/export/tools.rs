//! The tools to which a fleet can be exported, and the objects by which each applies a deployment. Annotations keep the
//! tool from deleting objects that hold data. Argo CD and Flux get the address and the digest of an artifact in a
//! registry. Rancher Fleet reads only artifacts in its own format, which only its own programs write, so it gets a
//! Bundle that contains the objects.

use clap::ValueEnum;
use importer::RenderedManifest;
use schemars::JsonSchema;
use schemas::{ClusterName, Digest, KubernetesName, Namespace};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::blocked::ShownBlocker;
use crate::commands::render::show::{document, file_name};
use crate::render;

/// Kinds whose objects are kept when they are no longer in the artifact, because data would be deleted with them.
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
    /// Returns the name of the tool.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Flux => "Flux",
            Self::Argocd => "Argo CD",
            Self::Fleet => "Rancher Fleet",
        }
    }

    /// Returns the usual namespace of the tool's objects.
    ///
    /// # Panics
    ///
    /// Never: each of them is a valid name of a namespace.
    pub(super) fn namespace(self) -> Namespace {
        let name = match self {
            Self::Flux => "flux-system",
            Self::Argocd => "argocd",
            Self::Fleet => "fleet-default",
        };
        name.parse().expect("a DNS label")
    }

    /// Returns whether the tool reads the objects from the cluster's registry.
    pub(super) fn reads_registry(self) -> bool {
        match self {
            Self::Flux | Self::Argocd => true,
            Self::Fleet => false,
        }
    }

    /// Returns the annotation with which the tool keeps an object that is no longer in the artifact.
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

    /// Returns the annotation with which the tool recreates a Job that cannot be changed in place, if it has one.
    fn remake(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Flux => Some(("kustomize.toolkit.fluxcd.io/force", "enabled")),
            Self::Argocd | Self::Fleet => None,
        }
    }

    /// Adds the annotations of the tool to an object.
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

    /// Returns the features of a deployment by `solution` that the tool does not have.
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

    /// Describes how the tool treats the hooks of charts.
    pub(super) fn hooks(self) -> &'static str {
        match self {
            Self::Flux => "are applied with everything else, as ordinary objects",
            Self::Argocd => "run before or after each sync",
            Self::Fleet => "run as hooks of the Helm release that contains all objects",
        }
    }
}

/// The fields of the tool's objects that all tools have.
pub(super) struct Consumer<'a> {
    /// The name of the objects.
    pub(super) name: String,
    /// The namespace of the objects.
    pub(super) namespace: Namespace,
    /// The cluster that the deployment is for.
    pub(super) cluster: &'a ClusterName,
    /// The namespace of the environment in that cluster.
    pub(super) environment: &'a Namespace,
    /// The names of the deployments that are applied earlier.
    pub(super) behind: Vec<String>,
    /// The Secret with which the tool logs in to the registry.
    pub(super) login_secret: Option<&'a KubernetesName>,
}

/// The pushed artifact from the tool's point of view.
pub(super) struct ArtifactSource<'a> {
    /// The repository with its host.
    pub(super) address: &'a str,
    /// The digest of the artifact.
    pub(super) digest: Digest,
    /// The certificate authorities (PEM) that signed the registry's certificate; empty if the tool needs none.
    pub(super) authorities: String,
    /// True if the registry has no TLS.
    pub(super) plain_http: bool,
}

pub(super) fn argocd_objects(consumer: &Consumer<'_>, source: &ArtifactSource<'_>) -> Vec<Value> {
    vec![json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": { "name": consumer.name, "namespace": consumer.namespace },
        "spec": {
            "project": "default",
            "source": {
                "repoURL": format!("oci://{}", source.address),
                "targetRevision": source.digest,
                "path": ".",
                "directory": { "recurse": true },
            },
            "destination": { "name": consumer.cluster, "namespace": consumer.environment },
            "syncPolicy": {
                "automated": { "prune": true, "selfHeal": true },
                // Definitions are too large for the annotation of client-side apply, and a dry run of their objects
                // fails until the definitions exist.
                "syncOptions": ["ServerSideApply=true", "SkipDryRunOnMissingResource=true"],
            },
        },
    })]
}

/// The interval of comparisons by Flux. A new export has another digest, and Flux applies it immediately.
const FLUX_INTERVAL: &str = "10m";
/// The time limit of Flux for applied objects to become ready.
const FLUX_TIMEOUT: &str = "10m";

pub(super) fn flux_objects(consumer: &Consumer<'_>, source: &ArtifactSource<'_>) -> Vec<Value> {
    let metadata = json!({ "name": consumer.name, "namespace": consumer.namespace });
    let mut repository = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "OCIRepository",
        "metadata": metadata,
        "spec": {
            "interval": FLUX_INTERVAL,
            "url": format!("oci://{}", source.address),
            "ref": { "digest": source.digest },
        },
    });
    let mut objects = Vec::new();
    let spec = &mut repository["spec"];
    if let Some(name) = consumer.login_secret {
        spec["secretRef"] = json!({ "name": name });
    }
    if source.plain_http {
        spec["insecure"] = json!(true);
    }
    if !source.authorities.is_empty() {
        spec["certSecretRef"] = json!({ "name": consumer.name });
        objects.push(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "stringData": { "ca.crt": source.authorities },
        }));
    }
    objects.push(repository);
    let behind = consumer.behind.iter();
    let behind: Vec<Value> = behind.map(|name| json!({ "name": name })).collect();
    objects.push(json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": metadata,
        "spec": {
            "interval": FLUX_INTERVAL,
            "timeout": FLUX_TIMEOUT,
            "path": "./",
            "prune": true,
            "wait": true,
            "sourceRef": { "kind": "OCIRepository", "name": consumer.name },
            "dependsOn": behind,
        },
    }));
    objects
}

/// The size limit of the objects of a Bundle. API servers accept about half as much again.
const BUNDLE_SIZE: usize = 1024 * 1024;

pub(super) fn rancher_objects(
    consumer: &Consumer<'_>,
    manifests: &[RenderedManifest],
) -> Result<Vec<Value>, ShownBlocker> {
    let is_definition =
        |manifest: &&RenderedManifest| manifest.object["kind"] == "CustomResourceDefinition";
    let definitions: Vec<&RenderedManifest> = manifests.iter().filter(is_definition).collect();
    let others: Vec<&RenderedManifest> = manifests
        .iter()
        .filter(|manifest| !is_definition(manifest))
        .collect();
    let (mut bundles, mut behind) = (Vec::new(), consumer.behind.clone());
    if !definitions.is_empty() {
        // Fleet does not install a release whose objects are of kinds that the release itself defines.
        let name = format!("{}-definitions", consumer.name);
        bundles.push(bundle(&name, consumer, &behind, &definitions)?);
        behind.push(name);
    }
    bundles.push(bundle(&consumer.name, consumer, &behind, &others)?);
    Ok(bundles)
}

fn bundle(
    name: &str,
    consumer: &Consumer<'_>,
    behind: &[String],
    manifests: &[&RenderedManifest],
) -> Result<Value, ShownBlocker> {
    let texts: Vec<String> = manifests
        .iter()
        .map(|manifest| document(manifest))
        .collect();
    let size: usize = texts.iter().map(String::len).sum();
    if size > BUNDLE_SIZE {
        let (size, most) = (
            render::bytes(size as u64),
            render::bytes(BUNDLE_SIZE as u64),
        );
        return Err(ShownBlocker::new(
            format!("its objects have {size}, but a Bundle of Rancher Fleet can hold only {most}"),
            "deploy it with `solution fleet apply`, or with a tool that reads registries: Flux or Argo CD",
        ));
    }
    let resources = manifests.iter().zip(texts).enumerate();
    let resources = resources.map(|(index, (manifest, text))| {
        json!({ "name": file_name(index + 1, manifest), "content": text })
    });
    let resources: Vec<Value> = resources.collect();
    let behind: Vec<Value> = behind.iter().map(|name| json!({ "name": name })).collect();
    Ok(json!({
        "apiVersion": "fleet.cattle.io/v1alpha1",
        "kind": "Bundle",
        "metadata": { "name": name, "namespace": consumer.namespace },
        "spec": {
            "defaultNamespace": consumer.environment,
            // Fleet creates the namespace before it installs the release, which contains the namespace too.
            "helm": { "takeOwnership": true },
            "targets": [{ "clusterName": consumer.cluster }],
            "dependsOn": behind,
            "resources": resources,
        },
    }))
}

#[cfg(test)]
mod tests {
    use importer::ManifestSource;

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

    pub(super) fn consumer<'a>(
        cluster: &'a ClusterName,
        environment: &'a Namespace,
    ) -> Consumer<'a> {
        Consumer {
            name: "shop".to_owned(),
            namespace: "gitops".parse().unwrap(),
            cluster,
            environment,
            behind: vec!["cart".to_owned()],
            login_secret: None,
        }
    }

    pub(super) fn source() -> ArtifactSource<'static> {
        ArtifactSource {
            address: "registry.test/apps/shop",
            digest: Digest::new([7; 32]),
            authorities: String::new(),
            plain_http: false,
        }
    }

    #[test]
    fn the_artifact_is_the_source_by_its_digest_and_the_cluster_the_destination() {
        let cluster = "paris".parse().unwrap();
        let environment = "prod".parse().unwrap();
        let source = source();
        let objects = argocd_objects(&consumer(&cluster, &environment), &source);
        let spec = &objects[0]["spec"];
        let expected = json!({
            "repoURL": "oci://registry.test/apps/shop",
            "targetRevision": source.digest,
            "path": ".",
            "directory": { "recurse": true },
        });
        assert_eq!(spec["source"], expected);
        let expected = json!({ "name": "paris", "namespace": "prod" });
        assert_eq!(spec["destination"], expected);
    }

    #[test]
    fn the_artifact_is_fetched_by_digest_with_all_that_reaching_it_takes() {
        let cluster = "paris".parse().unwrap();
        let environment = "prod".parse().unwrap();
        let login = "login".parse().unwrap();
        let mut consumer = consumer(&cluster, &environment);
        consumer.login_secret = Some(&login);
        let mut source = source();
        source.authorities = "PEM".to_owned();
        let objects = flux_objects(&consumer, &source);
        let kinds: Vec<&Value> = objects.iter().map(|object| &object["kind"]).collect();
        assert_eq!(kinds, ["Secret", "OCIRepository", "Kustomization"]);
        let expected = json!({
            "interval": "10m",
            "url": "oci://registry.test/apps/shop",
            "ref": { "digest": source.digest },
            "secretRef": { "name": "login" },
            "certSecretRef": { "name": "shop" },
        });
        assert_eq!(objects[1]["spec"], expected);
        let behind = &objects[2]["spec"]["dependsOn"];
        assert_eq!(*behind, json!([{ "name": "cart" }]));
    }

    #[test]
    fn a_registry_without_tls_is_named_as_one_and_has_no_authority() {
        let cluster = "paris".parse().unwrap();
        let environment = "prod".parse().unwrap();
        let mut source = source();
        source.plain_http = true;
        let objects = flux_objects(&consumer(&cluster, &environment), &source);
        assert_eq!(objects.len(), 2, "{objects:?}");
        assert_eq!(objects[0]["spec"]["insecure"], true);
    }

    fn manifest(kind: &str, text: &str) -> RenderedManifest {
        RenderedManifest {
            source: ManifestSource::Definitions,
            random: false,
            masked: false,
            object: json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "a" }, "text": text }),
        }
    }

    #[test]
    fn definitions_come_before_in_a_bundle_of_their_own() {
        let cluster = "paris".parse().unwrap();
        let environment = "prod".parse().unwrap();
        let consumer = consumer(&cluster, &environment);
        let all = [
            manifest("ConfigMap", "a"),
            manifest("CustomResourceDefinition", "b"),
        ];
        let bundles = rancher_objects(&consumer, &all).unwrap();
        let [definitions, others] = &bundles[..] else {
            panic!("{bundles:?}");
        };
        let name = |name: &str| json!({ "name": name });
        assert_eq!(definitions["spec"]["dependsOn"], json!([name("cart")]));
        let behind = json!([name("cart"), name("shop-definitions")]);
        assert_eq!(others["spec"]["dependsOn"], behind);
        let resource = &others["spec"]["resources"][0];
        assert_eq!(resource["name"], "0001-configmap-a.yaml");
        assert_eq!(resource["content"], document(&all[0]));
        assert_eq!(rancher_objects(&consumer, &all[..1]).unwrap().len(), 1);
    }

    #[test]
    fn what_no_api_server_would_take_is_refused() {
        let cluster = "paris".parse().unwrap();
        let environment = "prod".parse().unwrap();
        let consumer = consumer(&cluster, &environment);
        let refused =
            |size: usize| rancher_objects(&consumer, &[manifest("ConfigMap", &"a".repeat(size))]);
        assert!(refused(BUNDLE_SIZE / 2).is_ok());
        assert!(refused(BUNDLE_SIZE).is_err());
    }
}
