//! The template of an operator: the publisher defines its pods, and a manifest set may provide the objects that they
//! mount.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::site::{Site, consent_id};

/// The example's server as an operator, because it answers probes, with the real operator in the same pod.
const OPERATOR: &str = "  operator:
    image: {name: example-server, tag: 1.0.0}
    command: [example-server]
    securityContext: {runAsNonRoot: true, readOnlyRootFilesystem: true}
    template:
      metadata: {labels: {app.kubernetes.io/name: shop}}
      spec:
        terminationGracePeriodSeconds: 5
        containers:
          - name: manager
            ports: [{name: http, containerPort: 8080}]
            readinessProbe: &probe {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
            resources: {requests: {cpu: 5m}}
          - name: beside
            image: '$(image:example-operator)'
            command: [example-operator, --config=/etc/config/operator.yaml]
            env: [{name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]
            readinessProbe: *probe
            securityContext: {runAsNonRoot: true}
            volumeMounts: [{name: operator-config, mountPath: /etc/config}]
";

/// Packs 1.0.0 with this operator.
fn pack(site: &Site, operator: &str) -> String {
    let source = "1.0.0/solution.yaml";
    let text = String::from_utf8(site.desk.read(source)).unwrap();
    let before = text.split("  operator:\n").next().unwrap();
    site.desk.write(source, format!("{before}{operator}"));
    let arguments = [
        "pack",
        "1.0.0",
        "-o",
        "template.iso",
        "--force",
        "--key",
        "publisher.key",
    ];
    site.desk.solution(&arguments).success();
    "template.iso".to_owned()
}

fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let into = ["-e", "prod", "--pull-secret", "login", "--replace"];
    site.import(archive, &[&into[..], more].concat())
}

fn deployment(site: &Site) -> Value {
    let get = ["get", "deployment", "example-operator", "--output=json"];
    site.kubectl("prod", &get).json()
}

#[test]
fn an_operator_has_the_pod_that_its_publisher_gave_it() {
    let site = Site::new("template");
    site.create_environment("prod");
    assert_pod_is_the_publishers(&site);
    assert_port_of_node_needs_consent(&site);
    assert_mounted_objects_come_before(&site);
}

fn assert_pod_is_the_publishers(site: &Site) {
    let archive = pack(site, OPERATOR);
    import(site, &archive, &[]).success();
    let deployment = deployment(site);
    let pod = &deployment["spec"]["template"];
    assert_eq!(pod["metadata"]["labels"]["app.kubernetes.io/name"], "shop");
    assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], 5);
    let containers = pod["spec"]["containers"].as_array().unwrap();
    let names: Vec<&Value> = containers
        .iter()
        .map(|container| &container["name"])
        .collect();
    assert_eq!(names, ["manager", "beside"]);
    assert_eq!(
        containers[0]["readinessProbe"]["httpGet"]["path"],
        "/healthz"
    );
    let beside = containers[1]["image"].as_str().unwrap();
    let expected = format!(
        "{}/example-1.0.0/example-operator@sha256:",
        site.pull_registry()
    );
    assert!(beside.starts_with(&expected), "{beside}");
    assert_eq!(
        containers[1]["securityContext"]["capabilities"]["drop"],
        json!(["ALL"])
    );
    assert_eq!(deployment["status"]["readyReplicas"], 1);
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(status["operators"][0]["condition"], "ready", "{status}");

    // Deploying the same again changes nothing.
    let settled = site.snapshot();
    let again = import(site, &archive, &["--output", "json"]).json();
    assert_eq!((&again["objects"], site.snapshot()), (&json!([]), settled));
}

fn assert_port_of_node_needs_consent(site: &Site) {
    let port = OPERATOR.replace(
        "containerPort: 8080}",
        "containerPort: 8080, hostPort: 18080}",
    );
    let archive = pack(site, &port);
    let before = site.snapshot();
    let refused = import(site, &archive, &[]).failure(1);
    let line = "the pods of Deployment prod/example-operator take port 18080 of their node";
    assert!(refused.contains(line), "{refused}");
    assert_eq!(site.snapshot(), before);
    import(site, &archive, &["--accept", consent_id(&refused)]).success();
}

/// A manifest set creates the object that the operator mounts, before the operator.
fn assert_mounted_objects_come_before(site: &Site) {
    site.desk.write(
        "1.0.0/release.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, namespace: shop}, data: {a: b}}\n",
    );
    let mounted = OPERATOR
        .replace("    template:\n", "    template:\n      needs: [before]\n")
        .replace(
            "        containers:\n",
            "        volumes: [{name: shop, configMap: {name: shop}}]\n        containers:\n",
        )
        .replace(
            "            resources:",
            "            volumeMounts: [{name: shop, mountPath: /shop}]\n            resources:",
        );
    let sets = "  manifests: [{name: before, files: [release.yaml], namespaces: [{name: shop, fixed: false}]}]\n";
    let archive = pack(site, &format!("{mounted}{sets}"));
    import(site, &archive, &["--timeout", "120"]).success();
    assert_eq!(site.field("prod", "configmap/shop", "{.data.a}"), "b");
    let operator = deployment(site);
    assert_eq!(operator["status"]["readyReplicas"], 1, "{operator:#}");
    let undeploy = ["undeploy", "--yes", "example", "-e", "prod"];
    site.solution(&undeploy).success();
    let gone = site.kubectl("prod", &["get", "configmap", "shop"]);
    assert_ne!(gone.code, 0, "{gone:?}");
}

/// The example's operator with its webhook, whose certificate the site mounts.
const JUDGE: &str = "  operator:
    image: {name: example-operator, tag: 1.0.0}
    securityContext: {runAsNonRoot: true, readOnlyRootFilesystem: true}
    template:
      spec:
        containers:
          - name: manager
            env:
              - {name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
              - {name: WEBHOOK_CERTIFICATES, value: /cert}
            ports: [{name: webhook, containerPort: 9443}]
            readinessProbe: {tcpSocket: {port: webhook}, periodSeconds: 1}
            volumeMounts: [{name: cert, mountPath: /cert, readOnly: true}]
        volumes: [{name: cert, secret: {secretName: example-operator-cert}}]
  manifests: [{name: webhooks, files: [webhooks.yaml], namespaces: [{name: example-system, fixed: false}]}]
";

/// The configuration that directs the API server to the webhook.
const ASKS: &str = "
apiVersion: v1
kind: Service
metadata: {name: example-operator-webhook, namespace: example-system}
spec: {selector: {app: example-operator}, ports: [{port: 443, targetPort: webhook}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: example-operator}
webhooks:
  - name: versionservers.example.metalk8s.test
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig: {service: {name: example-operator-webhook, namespace: example-system}, caBundle: AUTHORITY}
    rules: [{apiGroups: [example.metalk8s.test], apiVersions: ['*'], resources: [versionservers], operations: [CREATE, UPDATE]}]
";

/// Creates the certificate of the webhook's Service, stores it as a Secret for the pods, and returns it in base64.
fn certificate(site: &Site) -> String {
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout tls.key -out tls.crt -days 2 -subj /CN=webhook -addext subjectAltName=DNS:example-operator-webhook.prod.svc";
    let mut openssl = Command::new("openssl");
    openssl.args(arguments.split(' '));
    Answer::from_command(openssl.current_dir(site.desk.path("."))).success();
    let create = ["create", "secret", "tls", "example-operator-cert"];
    let files = ["--cert=tls.crt", "--key=tls.key"];
    site.kubectl("prod", &[&create[..], &files].concat())
        .success();
    let path = "{.data.tls\\.crt}";
    site.field("prod", "secret/example-operator-cert", path)
}

#[test]
fn an_operators_webhook_refuses_while_it_is_served_and_goes_with_it() {
    let site = Site::new("webhook");
    site.create_environment("prod");
    let asks = ASKS.replace("AUTHORITY", &certificate(&site));
    site.desk.write("1.0.0/webhooks.yaml", asks);
    let archive = pack(&site, JUDGE);
    let refused = import(&site, &archive, &[]).failure(1);
    let words = "ValidatingWebhookConfiguration example-operator is made";
    assert!(refused.contains(words), "{refused}");
    import(&site, &archive, &["--accept", consent_id(&refused)]).success();
    let webhook = "validatingwebhookconfiguration/example-operator";
    let policy = site.field("default", webhook, "{.webhooks[0].failurePolicy}");
    assert_eq!(policy, "Fail");

    let server = |name: &str, version: &str| {
        let text = format!(
            "{{apiVersion: example.metalk8s.test/v1alpha1, kind: VersionServer, metadata: {{name: {name}}}, spec: {{replicas: 0, version: {version}}}}}"
        );
        site.desk.write("server.yaml", text);
        site.kubectl("prod", &["apply", "--filename", "server.yaml"])
    };
    let refused = server("wrong", "9.9.9").failure(1);
    let words = "this site does not have version 9.9.9 of the example";
    assert!(refused.contains(words), "{refused}");
    server("right", "1.0.0").success();

    // The webhook does not block the removal.
    let undeploy = [
        "undeploy", "--yes", "example", "-e", "prod", "--output", "json",
    ];
    let undone = site.solution(&undeploy).json();
    let first = "ValidatingWebhookConfiguration example-operator";
    assert_eq!(undone["removed"][0], first, "{undone:#}");
    server("wrong", "9.9.9").success();
}

/// Returns the names of the ClusterRoles of the Solution.
fn cluster_roles(site: &Site) -> Vec<String> {
    let ours = "--selector=solutions.metalk8s.scality.com/solution=example";
    let get = ["get", "clusterroles", ours, "--output=name"];
    let listed = site.kubectl("default", &get).success();
    listed
        .lines()
        .map(|line| line.split('/').nth(1).unwrap().to_owned())
        .collect()
}

#[test]
fn roles_get_the_names_that_the_release_has_for_them() {
    let site = Site::new("names");
    site.create_environment("prod");
    let source = "1.0.0/solution.yaml";
    let text = String::from_utf8(site.desk.read(source)).unwrap();
    let (text, _) = text.split_once("    template:\n").unwrap();
    site.desk.write(source, text);
    crate::consent::pack(&site, "nodes", "", "Cluster", "wide.iso");
    let refused = import(&site, "wide.iso", &[]).failure(1);
    import(&site, "wide.iso", &["--accept", consent_id(&refused)]).success();
    assert_eq!(cluster_roles(&site), ["solution:prod:prod:example:more"]);
    let text = String::from_utf8(site.desk.read(source)).unwrap();
    site.desk
        .write(source, format!("{text}\n    template: {{}}\n"));
    let pack = ["pack", "1.0.0", "-o", "kept.iso", "--key", "publisher.key"];
    site.desk.solution(&pack).success();
    // These are the same permissions of the same account, under another name of the role.
    import(&site, "kept.iso", &[]).success();
    assert_eq!(cluster_roles(&site), ["more"]);
}
