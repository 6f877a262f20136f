//! Rancher Fleet: a Bundle that holds the objects. It reads artifacts of its own kind alone, which only its own programs
//! write.

use importer::RenderedManifest;
use serde_json::{Value, json};

use super::Consumer;
use crate::commands::refusal::InTheWay;
use crate::commands::render::show::{document, file_name};
use crate::render;

/// Bytes of the objects of a Bundle: an API server takes about half as much again.
const SIZE: usize = 1024 * 1024;

pub(in super::super) fn objects(
    consumer: &Consumer<'_>,
    manifests: &[RenderedManifest],
) -> Result<Vec<Value>, InTheWay> {
    let is_definition = |it: &&RenderedManifest| it.object["kind"] == "CustomResourceDefinition";
    let definitions: Vec<&RenderedManifest> = manifests.iter().filter(is_definition).collect();
    let others: Vec<&RenderedManifest> = manifests.iter().filter(|it| !is_definition(it)).collect();
    let (mut bundles, mut behind) = (Vec::new(), consumer.behind.clone());
    if !definitions.is_empty() {
        // A release whose objects are of kinds that it defines itself is not installed.
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
) -> Result<Value, InTheWay> {
    let texts: Vec<String> = manifests.iter().map(|it| document(it)).collect();
    let size: usize = texts.iter().map(String::len).sum();
    if size > SIZE {
        let (size, most) = (render::bytes(size as u64), render::bytes(SIZE as u64));
        return Err(InTheWay::new(
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
            // Fleet makes the namespace before its release, which has it as well.
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

    use super::super::tests::consumer;
    use super::*;

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
        let bundles = objects(&consumer, &all).unwrap();
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
        assert_eq!(objects(&consumer, &all[..1]).unwrap().len(), 1);
    }

    #[test]
    fn what_no_api_server_would_take_is_refused() {
        let cluster = "paris".parse().unwrap();
        let environment = "prod".parse().unwrap();
        let consumer = consumer(&cluster, &environment);
        let refused = |size: usize| objects(&consumer, &[manifest("ConfigMap", &"a".repeat(size))]);
        assert!(refused(SIZE / 2).is_ok());
        assert!(refused(SIZE).is_err());
    }
}
