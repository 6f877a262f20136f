//! Flux: an `OCIRepository` that fetches the artifact by its digest, and a Kustomization that applies what is in it.

use serde_json::{Value, json};

use super::{ArtifactSource, Consumer};

/// How often Flux compares. What is exported anew has another digest, and is applied at once.
const INTERVAL: &str = "10m";
/// How long it waits for what it has applied.
const TIMEOUT: &str = "10m";

pub(in super::super) fn objects(
    consumer: &Consumer<'_>,
    source: &ArtifactSource<'_>,
) -> Vec<Value> {
    let metadata = json!({ "name": consumer.name, "namespace": consumer.namespace });
    let mut repository = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "OCIRepository",
        "metadata": metadata,
        "spec": {
            "interval": INTERVAL,
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
            "interval": INTERVAL,
            "timeout": TIMEOUT,
            "path": "./",
            "prune": true,
            "wait": true,
            "sourceRef": { "kind": "OCIRepository", "name": consumer.name },
            "dependsOn": behind,
        },
    }));
    objects
}

#[cfg(test)]
mod tests {
    use super::super::tests::{consumer, source};
    use super::*;

    #[test]
    fn the_artifact_is_fetched_by_digest_with_all_that_reaching_it_takes() {
        let cluster = "paris".parse().unwrap();
        let environment = "prod".parse().unwrap();
        let login = "login".parse().unwrap();
        let mut consumer = consumer(&cluster, &environment);
        consumer.login_secret = Some(&login);
        let mut source = source();
        source.authorities = "PEM".to_owned();
        let objects = objects(&consumer, &source);
        let kinds: Vec<&Value> = objects.iter().map(|it| &it["kind"]).collect();
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
        let objects = objects(&consumer(&cluster, &environment), &source);
        assert_eq!(objects.len(), 2, "{objects:?}");
        assert_eq!(objects[0]["spec"]["insecure"], true);
    }
}
