//! The labels of a release's own namespace, which the environment's namespace replaces: mainly the Pod Security level.

use serde_json::Value;

use crate::common::Answer;
use crate::releases::import;
use crate::site::{Site, consent_id, eventually};

const ENFORCE: &str = "{.metadata.labels.pod-security\\.kubernetes\\.io/enforce}";

/// Packs a release that requests a Pod Security level.
fn pack(site: &Site, name: &str, level: &str, privileged: bool) -> String {
    let source = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: {name}}}
spec:
  version: 1.0.0
  images:
    - {{name: server, tag: 1.0.0, source: 'oci:images/example-server:1.0.0', ref: 'registry.example.test/example/server:1.0.0'}}
  manifests: [{{name: all, files: [release.yaml], namespaces: [{{name: rel, fixed: false}}]}}]
"
    );
    let strict = "{allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}";
    let security = if privileged {
        "{privileged: true}"
    } else {
        strict
    };
    let release = format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: rel, labels: {{pod-security.kubernetes.io/enforce: {level}, kubernetes.io/metadata.name: rel}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: rel}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
        - name: server
          image: registry.example.test/example/server:1.0.0
          securityContext: {security}
          readinessProbe: {{httpGet: {{path: /healthz, port: 8080}}, periodSeconds: 1}}
"
    );
    site.desk.write("1.0.0/solution.yaml", source);
    site.desk.write("1.0.0/release.yaml", release);
    let archive = format!("{name}-1.0.0.iso");
    let arguments = ["pack", "1.0.0", "-o", &archive, "--key", "publisher.key"];
    site.desk.solution(&arguments).success();
    archive
}

fn import_accepting(site: &Site, archive: &str, refused: &str) -> Answer {
    import(site, archive, &["--accept", consent_id(refused)])
}

#[test]
fn a_lower_level_of_pod_security_is_accepted_and_taken_back() {
    let site = Site::new("levels");
    site.create_environment("prod");
    let level = || site.field("prod", "namespace/prod", ENFORCE);
    let strict = pack(&site, "strict", "restricted", false);
    import(&site, &strict, &[]).success();
    assert_eq!(level(), "restricted");

    let loose = pack(&site, "loose", "privileged", true);
    let before = site.snapshot();
    let refused = import(&site, &loose, &[]).failure(1);
    let line = "Namespace prod is held to the PodSecurity level `privileged`";
    assert!(refused.contains(line), "{refused}");
    assert_eq!(site.snapshot(), before);
    import_accepting(&site, &loose, &refused).success();
    assert_eq!(level(), "privileged");
    let pods = ["get", "pods", "--selector=app=loose", "--output=json"];
    let pods: Value = site.kubectl("prod", &pods).json();
    let pod = &pods["items"][0];
    let privileged = &pod["spec"]["containers"][0]["securityContext"]["privileged"];
    assert_eq!(
        (privileged, &pod["status"]["phase"]),
        (&true.into(), &"Running".into())
    );
    let name = "{.metadata.labels.kubernetes\\.io/metadata\\.name}";
    assert_eq!(site.field("prod", "namespace/prod", name), "prod");

    // The release with the lower requirement does not lower the level.
    import(&site, &strict, &[]).success();
    assert_eq!(level(), "privileged");
    site.solution(&["undeploy", "--yes", "loose", "-e", "prod"])
        .success();
    assert_eq!(level(), "restricted");
    site.solution(&["undeploy", "--yes", "strict", "-e", "prod"])
        .success();
    eventually("the namespace is held to nothing", || {
        level().is_empty().then_some(())
    });

    // A level that the site has set is not overwritten.
    let label = [
        "label",
        "namespace",
        "prod",
        "pod-security.kubernetes.io/enforce=baseline",
    ];
    site.kubectl("prod", &label).success();
    let refused = import(&site, &loose, &[]).failure(1);
    let words = "cannot set the label pod-security.kubernetes.io/enforce=privileged on";
    assert!(refused.contains(words), "{refused}");
}
