//! Argo CD: an Application whose source is the artifact.

use serde_json::{Value, json};

use super::{ArtifactSource, Consumer};

pub(in super::super) fn objects(
    consumer: &Consumer<'_>,
    source: &ArtifactSource<'_>,
) -> Vec<Value> {
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
                // Definitions are too large for the annotation of client-side apply, and their objects cannot be tried before
                // they are there.
                "syncOptions": ["ServerSideApply=true", "SkipDryRunOnMissingResource=true"],
            },
        },
    })]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{consumer, source};
    use super::*;

    #[test]
    fn the_artifact_is_the_source_by_its_digest_and_the_cluster_the_destination() {
        let cluster = "paris".parse().unwrap();
        let environment = "prod".parse().unwrap();
        let source = source();
        let objects = objects(&consumer(&cluster, &environment), &source);
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
}
