//! Releases that are packaged as they are: applied in their order, recognized later, and removed completely.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::Answer;
use crate::site::{Site, consent_id, eventually};

/// A release as it is published: a server with its configuration and Service, and a Job that runs once.
const RELEASE: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop, namespace: shop-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop, namespace: shop-system, labels: {app: shop}}
data:
  shop.yaml: |
    greeting: GREETING
    image: registry.example.test/example/server:1.0.0
    address: http://shop.shop-system.svc:8080
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: shop, namespace: shop-system}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: shop, namespace: shop-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: shop}
subjects: [{kind: ServiceAccount, name: shop, namespace: shop-system}]
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: shop-system}
spec: {selector: {app: shop}, ports: [{port: 8080}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: shop-setup, namespace: shop-system}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: setup, image: 'registry.example.test/example/server:1.0.0', args: [--version], env: [{name: STEP, value: JOB}]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: shop-system, labels: {app: shop}}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      serviceAccountName: shop
      containers:
        - name: shop
          image: registry.example.test/example/server:1.0.0
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
";

/// Packs a version of a Solution that includes this release.
pub(crate) fn pack(site: &Site, version: &str, sets: &str, release: &str) -> String {
    pack_as(site, "shop", version, sets, release)
}

/// Packs a version of a Solution with this name.
pub(crate) fn pack_as(site: &Site, name: &str, version: &str, sets: &str, release: &str) -> String {
    let source = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: {name}}}
spec:
  version: {version}
  images:
    - {{name: server, tag: 1.0.0, source: 'oci:images/example-server:1.0.0', ref: 'registry.example.test/example/server:1.0.0'}}
{sets}"
    );
    site.desk.write("1.0.0/solution.yaml", source);
    site.desk.write("1.0.0/release.yaml", release);
    let archive = format!("{name}-{version}.iso");
    let arguments = ["pack", "1.0.0", "-o", &archive, "--key", "publisher.key"];
    site.desk.solution(&arguments).success();
    archive
}

pub(crate) const OWN: &str = "  manifests: [{name: shop, files: [release.yaml], namespaces: [{name: shop-system, fixed: false}]}]\n";

pub(crate) fn release(greeting: &str, job: &str) -> String {
    RELEASE.replace("GREETING", greeting).replace("JOB", job)
}

pub(crate) fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let into = ["-e", "prod", "--pull-secret", "login"];
    site.import(archive, &[&into[..], more].concat())
}

/// Returns the uids of the pods, by the name of their owner.
pub(crate) fn pods(site: &Site, namespace: &str) -> BTreeMap<String, String> {
    let pods = site.kubectl(namespace, &["get", "pods", "--output=json"]);
    let pods: Value = pods.json();
    let pods = pods["items"].as_array().unwrap().iter();
    let text =
        |pod: &Value, pointer: &str| pod.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    pods.map(|pod| {
        let owner = text(pod, "/metadata/ownerReferences/0/kind");
        (owner, text(pod, "/metadata/uid"))
    })
    .collect()
}

#[test]
fn a_release_runs_in_the_environments_namespace_and_goes_without_a_rest() {
    let site = Site::new("carried");
    let before = site.new_environment("prod");
    let first = pack(&site, "1.0.0", OWN, &release("hello", "one"));

    // All blockers are reported at once.
    let taken = ["configmap", "shop"];
    site.kubectl("prod", &[&["create"][..], &taken].concat())
        .success();
    let into = ["-e", "prod", "--pull-secret", "missing"];
    let refused = site.import(&first, &into).failure(1);
    for words in [
        "Secret `missing` does not exist",
        "ConfigMap prod/shop already exists and belongs to no Solution",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    site.kubectl("prod", &[&["delete"][..], &taken].concat())
        .success();
    import(&site, &first, &[]).success();

    let address = site.field(
        "prod",
        "deployment/shop",
        "{.spec.template.spec.containers[0].image}",
    );
    let expected = format!("{}/shop/server:1.0.0@sha256:", site.pull_registry());
    assert!(address.starts_with(&expected), "{address}");
    let text = site.field("prod", "configmap/shop", "{.data.shop\\.yaml}");
    let expected =
        format!("greeting: hello\nimage: {address}\naddress: http://shop.prod.svc:8080\n");
    assert_eq!(text, expected);
    assert_eq!(
        site.field("prod", "rolebinding/shop", "{.subjects[0].namespace}"),
        "prod"
    );
    assert_eq!(
        site.field("prod", "job/shop-setup", "{.status.succeeded}"),
        "1"
    );
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(status["operators"][0]["condition"], "ready", "{status}");
    let running = pods(&site, "prod");

    let again = import(&site, &first, &["--output", "json"]).json();
    assert_eq!(again["objects"], serde_json::json!([]), "{again}");

    // The text changes. Neither the server nor the Job is replaced.
    let second = pack(&site, "1.1.0", OWN, &release("good day", "one"));
    import(&site, &second, &[]).success();
    let text = site.field("prod", "configmap/shop", "{.data.shop\\.yaml}");
    assert!(text.contains("good day"), "{text}");
    assert_eq!(pods(&site, "prod"), running);

    // A changed Job runs again.
    let third = pack(&site, "1.2.0", OWN, &release("good day", "two"));
    import(&site, &third, &[]).success();
    let then = pods(&site, "prod");
    assert_eq!(then["ReplicaSet"], running["ReplicaSet"]);
    assert_ne!(then["Job"], running["Job"]);

    site.solution(&["undeploy", "--yes", "shop", "-e", "prod"])
        .success();
    site.until_as_before("prod", &before, &[]);
    let kept = site.kubectl(
        "metalk8s-solutions",
        &["get", "configmaps", "--output=name"],
    );
    assert!(!kept.success().contains("carried"));
}

/// A release with objects outside its namespace: a definition with an object of it, permissions, a class, and a webhook
/// that rejects requests while its server does not run.
const WIDE: &str = "
---
apiVersion: v1
kind: Namespace
metadata: {name: shop-system, labels: {app: shop}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.test}
spec:
  group: shop.test
  scope: Cluster
  names: {kind: Cart, listKind: CartList, plural: carts, singular: cart}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shop-carts}
rules: [{apiGroups: [shop.test], resources: [carts], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shop-carts}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shop-carts}
subjects: [{kind: ServiceAccount, name: shop, namespace: shop-system}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: shop}
value: 10
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shop}
webhooks:
  - name: pods.shop.test
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig: {service: {name: shop, namespace: shop-system, port: 8080}, caBundle: AUTHORITY}
    objectSelector: {matchLabels: {judged: by-shop}}
    rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
---
apiVersion: shop.test/v1
kind: Cart
metadata: {name: first}
spec: {size: 3}
";

/// Returns the cluster-scoped objects of the release's kinds, except the user's own permissions.
fn cluster_objects(site: &Site) -> Vec<String> {
    let kinds = "namespaces,customresourcedefinitions,clusterroles,clusterrolebindings,priorityclasses,validatingwebhookconfigurations";
    let listed = site.kubectl("default", &["get", kinds, "--output=name"]);
    let listed = listed.success();
    let others = listed.lines().filter(|object| !object.contains("/site:"));
    others.map(str::to_owned).collect()
}

#[test]
fn what_a_release_has_in_the_whole_cluster_is_accepted_owned_and_taken_back() {
    let site = Site::new("wide");
    site.create_environment("prod");
    let authority = std::fs::read(crate::site::variable("SOLUTION_TEST_REGISTRY_CA")).unwrap();
    let authority = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(authority)
    };
    let text = format!(
        "{}{}",
        release("hello", "one"),
        WIDE.replace("AUTHORITY", &authority)
    );
    let own = OWN.replace(", fixed: false", "");
    let archive = pack(&site, "1.0.0", &own, &text);
    let before = cluster_objects(&site);

    // Its pods pull with the environment's pull secret, in the release's own namespace.
    let place = ["-e", "prod", "--pull-secret", "login"];
    let detailed = [&place[..], &["--details"]].concat();
    let refused = site.import(&archive, &detailed).failure(1);
    assert!(refused.contains("PriorityClass shop is made"), "{refused}");
    let later =
        "outside of prod, shop-system, or with their own ServiceAccounts, have no pull secret for";
    assert!(refused.contains(later), "{refused}");
    let template = "go-template={{index .data \".dockerconfigjson\" | base64decode}}";
    let print = ["get", "secret", "login", "--output", template];
    assert!(site.kubectl("prod", &print).json()["auths"].is_object());
    assert_eq!(cluster_objects(&site), before);
    let id = consent_id(&refused).to_owned();
    let accepted = [&place[..], &["--accept", &id]].concat();
    site.import(&archive, &accepted).success();

    let policy = "{.webhooks[0].failurePolicy}";
    let webhook = "validatingwebhookconfiguration/shop";
    assert_eq!(site.field("default", webhook, policy), "Fail");
    assert_eq!(site.field("default", "cart/first", "{.spec.size}"), "3");
    assert_eq!(
        site.field("shop-system", "deployment/shop", "{.status.readyReplicas}"),
        "1"
    );
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(status["notes"], serde_json::json!([]), "{status:#}");

    site.create_environment("test");
    let second = ["-e", "test", "--pull-secret", "login", "--accept", &id];
    let refused = site.import(&archive, &second).failure(1);
    assert!(refused.contains("environment `prod`"), "{refused}");

    // An object of another environment cannot be taken over by consent.
    let stranger =
        "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, namespace: test}\n";
    let reaching = pack(&site, "1.1.0", &own, &format!("{text}{stranger}"));
    let refused = site.import(&reaching, &place).failure(1);
    let words = "namespace `test` belongs to the environment `test`";
    assert!(refused.contains(words), "{refused}");

    // The server does not implement the webhook, so neither a receipt nor a change of a namespace is accepted.
    break_webhook(&site, r#"["configmaps", "namespaces"]"#);
    let undone = site.solution(&[
        "undeploy", "--yes", "shop", "-e", "prod", "--output", "json",
    ]);
    let first = &undone.json()["removed"][0];
    assert_eq!(first, "ValidatingWebhookConfiguration shop");
    let run = [
        "run",
        "judged",
        "--image=none",
        "--labels=judged=by-shop",
        "--restart=Never",
    ];
    site.kubectl("prod", &run).success();
    let mut left = cluster_objects(&site);
    left.retain(|object| !before.contains(object));
    let expected = [
        "namespace/test",
        "customresourcedefinition.apiextensions.k8s.io/carts.shop.test",
    ];
    assert_eq!(left, expected);
}

/// Directs the release's webhook at these resources in the namespace of the records, and waits until the API server
/// calls it.
pub(crate) fn break_webhook(site: &Site, resources: &str) {
    let rules = format!(
        r#"[{{"apiGroups": ["", "coordination.k8s.io"], "apiVersions": ["v1"], "resources": {resources}, "operations": ["*"]}}]"#
    );
    let records = r#"{"matchLabels": {"kubernetes.io/metadata.name": "metalk8s-solutions"}}"#;
    let patch = format!(
        r#"[{{"op": "replace", "path": "/webhooks/0/rules", "value": {rules}}},
            {{"op": "replace", "path": "/webhooks/0/objectSelector", "value": {{}}}},
            {{"op": "replace", "path": "/webhooks/0/namespaceSelector", "value": {records}}},
            {{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 1}}]"#
    );
    let webhook = "validatingwebhookconfiguration/shop";
    let patch = ["patch", webhook, "--type=json", "--patch", &patch];
    site.kubectl("default", &patch).success();
    let tried = [
        "label",
        "namespace",
        "metalk8s-solutions",
        "tried=yes",
        "--overwrite",
    ];
    eventually("nothing is written in the namespace of the records", || {
        let tried = [&tried[..], &["--dry-run=server"]].concat();
        (site.kubectl("default", &tried).code != 0).then_some(())
    });
}

/// Objects that a later version no longer has: a program that must release its object, with its configuration and
/// Service.
const DROPPED: &str = "
---
apiVersion: v1
kind: Service
metadata: {name: extra, namespace: shop-system}
spec: {selector: {app: extra}, ports: [{port: 8080}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: extra, namespace: shop-system}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: extra, namespace: shop-system}
spec:
  selector: {matchLabels: {app: extra}}
  template:
    metadata: {labels: {app: extra}}
    spec:
      containers:
        - name: extra
          image: registry.example.test/example/server:1.0.0
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
---
apiVersion: shop.test/v1
kind: Basket
metadata: {name: last, namespace: shop-system}
";

/// The kind of this object, which is kept.
const BASKETS: &str = "
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: baskets.shop.test}
spec:
  group: shop.test
  scope: Namespaced
  names: {kind: Basket, listKind: BasketList, plural: baskets, singular: basket}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";

/// A webhook of another owner that calls the removed Service.
const CALLER: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: extra-caller}
webhooks:
  - name: extra.shop.test
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig: {service: {name: extra, namespace: prod, port: 8080}}
    objectSelector: {matchLabels: {judged: by-extra}}
    rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
";

#[test]
fn what_an_upgrade_drops_goes_in_the_order_of_a_removal() {
    let site = Site::new("dropped");
    site.create_environment("prod");
    let text = format!("{}{BASKETS}", release("hello", "one"));
    let first = pack(&site, "1.0.0", OWN, &format!("{text}{DROPPED}"));
    import(&site, &first, &[]).success();
    let held = |finalizers: &str| {
        let held = format!(r#"{{"metadata": {{"finalizers": {finalizers}}}}}"#);
        let patch = ["patch", "basket", "last", "--type=merge", "--patch", &held];
        site.kubectl("prod", &patch).success();
    };
    held(r#"["shop.test/held"]"#);
    site.apply(CALLER).success();

    let second = pack(&site, "2.0.0", OWN, &text);
    let plan = import(&site, &second, &["--dry-run", "--output", "json"]).json();
    let removed = plan["target"]["removed"].to_string();
    let caller = "ValidatingWebhookConfiguration extra-caller";
    assert!(removed.contains(caller), "{removed}");

    // While the object has a finalizer, the program that can remove it keeps running.
    let failed = import(&site, &second, &["--timeout", "8"]);
    assert_ne!(failed.code, 0, "{failed:?}");
    assert!(failed.stderr.contains("Basket prod/last"), "{failed:?}");
    let ready = site.field("prod", "deployment/extra", "{.status.readyReplicas}");
    assert_eq!(ready, "1");
    let webhooks = ["get", "validatingwebhookconfigurations", "--output=name"];
    let webhooks = site.kubectl("default", &webhooks).success();
    assert!(!webhooks.contains("extra-caller"), "{webhooks}");

    held("null");
    let done = import(&site, &second, &["--output", "json"]).json();
    let removed = done["removed"].as_array().unwrap();
    let at = |object: &str| removed.iter().position(|name| *name == *object).unwrap();
    let workload = at("Deployment prod/extra");
    for data in ["Service prod/extra", "Role prod/extra"] {
        assert!(workload < at(data), "{removed:?}");
    }
    let again = import(&site, &second, &["--output", "json"]).json();
    assert_eq!(again["removed"], serde_json::json!([]), "{again}");

    // The Lease can be taken even though the webhook does not answer, because the webhook is removed.
    let caller = CALLER.replace(
        "name: extra, namespace: prod",
        "name: shop, namespace: prod",
    );
    let caller = caller.replace(
        "    objectSelector: {matchLabels: {judged: by-extra}}",
        RECORDS,
    );
    let leases = "{apiGroups: [coordination.k8s.io], apiVersions: [v1], resources: [leases], operations: ['*']}";
    let caller = caller.replace(
        "{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}",
        leases,
    );
    site.apply(&caller).success();
    eventually("no Lease is written", || {
        let tried = [
            "annotate",
            "lease",
            "solution",
            "tried=yes",
            "--dry-run=server",
        ];
        (site.kubectl("metalk8s-solutions", &tried).code != 0).then_some(())
    });
    let undeploy = [
        "undeploy", "--yes", "shop", "-e", "prod", "--output", "json",
    ];
    let undone = site.solution(&undeploy).json();
    assert_eq!(
        undone["removed"][0],
        "ValidatingWebhookConfiguration extra-caller"
    );
}

/// The selector that limits a webhook to the namespace of the records.
const RECORDS: &str = "    timeoutSeconds: 1
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: metalk8s-solutions}}";

/// A kind whose objects a webhook of the release converts, with an object of it.
pub(crate) const CONVERTED: &str = "
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.shop.test}
spec:
  group: shop.test
  scope: Namespaced
  names: {kind: Crate, listKind: CrateList, plural: crates, singular: crate}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: shop, namespace: shop-system, port: 8080}}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: shop.test/v1
kind: Crate
metadata: {name: first, namespace: shop-system}
";

#[test]
fn a_definition_goes_with_its_objects_and_no_object_loses_its_webhook() {
    let site = Site::new("converted");
    site.create_environment("prod");
    let text = format!("{}{CONVERTED}", release("hello", "one"));
    let archive = pack(&site, "1.0.0", OWN, &text);
    let refused = import(&site, &archive, &[]).failure(1);
    let id = consent_id(&refused);
    import(&site, &archive, &["--accept", id]).success();

    let others =
        "{apiVersion: shop.test/v1, kind: Crate, metadata: {name: of-a-user, namespace: default}}";
    site.apply(others).success();
    let before = site.snapshot();
    let undeploy = ["undeploy", "--yes", "shop", "-e", "prod"];
    let refused = site.solution(&undeploy).failure(1);
    let words = "the conversion webhook of CustomResourceDefinition crates.shop.test would be removed, but 1 of its objects would remain: Crate default/of-a-user";
    assert!(refused.contains(words), "{refused}");
    let refused = site.solution(&["delete", "shop", "--yes"]).failure(1);
    assert!(refused.contains(words), "{refused}");
    assert_eq!(site.snapshot(), before, "nothing is written");

    let delete = ["delete", "crate", "of-a-user"];
    site.kubectl("default", &delete).success();
    let undone = site.solution(&undeploy).success();
    assert!(!undone.contains("is kept because objects"), "{undone}");
    let left = cluster_objects(&site);
    let definition = "customresourcedefinition.apiextensions.k8s.io/crates.shop.test";
    assert!(!left.iter().any(|name| name == definition), "{left:?}");
}

/// A database with a `StatefulSet`.
const STATEFUL: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop-system}
spec:
  serviceName: db
  podManagementPolicy: POLICY
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
        - name: db
          image: registry.example.test/example/server:1.0.0
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
";

#[test]
fn what_cannot_be_changed_in_place_is_made_anew_only_when_asked() {
    let site = Site::new("anew");
    site.create_environment("prod");
    let stateful = |policy: &str| STATEFUL.replace("POLICY", policy);
    let first = pack(&site, "1.0.0", OWN, &stateful("OrderedReady"));
    import(&site, &first, &[]).success();
    let running = pods(&site, "prod");
    let before = site.snapshot();

    let second = pack(&site, "1.1.0", OWN, &stateful("Parallel"));
    let refused = import(&site, &second, &[]).failure(1);
    assert!(
        refused.contains("cannot change StatefulSet prod/db in place"),
        "{refused}"
    );
    assert!(
        refused.contains("recreate it with `--recreate StatefulSet/db`"),
        "{refused}"
    );
    assert_eq!(site.snapshot(), before);

    let anew = ["--recreate", "StatefulSet/db"];
    let planned = import(&site, &second, &[&anew[..], &["--dry-run"]].concat()).success();
    assert!(planned.contains("  -/+ StatefulSet prod/db\n"), "{planned}");
    import(&site, &second, &anew).success();
    let policy = site.field("prod", "statefulset/db", "{.spec.podManagementPolicy}");
    assert_eq!(policy, "Parallel");
    assert_eq!(pods(&site, "prod"), running, "its pod was taken over");
}

/// The parameters of a release: the number of servers, their greeting, and two secrets, one of which is generated.
const ASKED: &str = "  parameters:
    size: {type: integer, default: 1, maximum: 3}
    greeting: {type: string}
    password: {type: string, sensitive: true, generate: {length: 20}}
    token: {type: string, sensitive: true}
";

/// Packs a version with parameters.
fn pack_with_parameters(site: &Site, version: &str) -> String {
    let replicas = "spec:\n  replicas: '$(param:size)'\n  selector: {matchLabels";
    let text = release("$(param:greeting)", "one")
        .replace("spec:\n  selector: {matchLabels", replicas)
        .replace(
            "    address:",
            "    secrets: $(param:password) $(param:token)\n    address:",
        );
    pack(site, version, &format!("{OWN}{ASKED}"), &text)
}

/// Sets a site configuration with a greeting, and a patch for objects of this name.
fn set_site_configuration(site: &Site, patched: &str) {
    let target = serde_json::json!({ "kind": "Service", "name": patched });
    let patch =
        serde_json::json!({ "target": target, "merge": { "spec": { "type": "NodePort" } } });
    let document = serde_json::json!({
        "apiVersion": "solutions.metalk8s.scality.com/v1alpha1",
        "kind": "Site",
        "spec": {
            "parameters": { "shop": { "greeting": "hello", "gone": 1 } },
            "patches": { "shop": [patch] },
        },
    });
    site.desk.write("site.yaml", document.to_string());
    site.solution(&["site", "set", "site.yaml"]).success();
}

fn replicas(site: &Site) -> String {
    site.field("prod", "deployment/shop", "{.spec.replicas}")
}

/// Returns the Secrets of sensitive values, each with its number and content.
fn secrets(site: &Site) -> Vec<(String, serde_json::Value)> {
    let all = site.kubectl("prod", &["get", "secrets", "--output=json"]);
    let all: serde_json::Value = serde_json::from_str(&all.success()).unwrap();
    let kept = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|secret| {
            let name = secret["metadata"]["name"].as_str()?;
            let number = name.strip_prefix("shop-parameters-")?;
            Some((number.to_owned(), secret["data"].clone()))
        });
    kept.collect()
}

/// Returns the numbers of the Secrets of sensitive values.
fn secret_numbers(site: &Site) -> Vec<String> {
    secrets(site)
        .into_iter()
        .map(|(number, _)| number)
        .collect()
}

/// A secret that the site provides.
const TOKEN: &str = "t0ken-of-the-site";

/// Asserts that all invalid values are reported at once.
fn assert_wrong_values_refused(site: &Site, archive: &str) {
    let refused = import(site, archive, &["--set", "sise=2"]).failure(1);
    for words in [
        "this version has no parameter `sise`",
        "did you mean `size`?",
        "parameter `greeting` has no value",
        "parameter `token` has no value",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    let typed = ["--set", "token=x", "--set", "size=9"];
    let refused = import(site, archive, &typed).failure(1);
    for words in ["`token` is sensitive", "is more than 3"] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
}

/// Asserts that a plan shows every value with its origin, and every patch, but no secret.
fn assert_values_shown(site: &Site, archive: &str, given: &[&str]) {
    let before = site.snapshot();
    let dry = [given, &["--dry-run", "--diff"]].concat();
    let shown = import(site, archive, &dry).success();
    let plan = [&dry[..], &["--output", "json"]].concat();
    let plan = import(site, archive, &plan).json();
    assert_eq!(site.snapshot(), before);
    let parameters = serde_json::json!([
        { "name": "greeting", "value": "hello", "from": "the site's file" },
        { "name": "password", "value": "***", "from": "generated when it is deployed" },
        { "name": "size", "value": 2, "from": "given on the command line" },
        { "name": "token", "value": "***", "from": "given in a file" },
    ]);
    assert_eq!(plan["target"]["parameters"], parameters, "{plan}");
    let patches = serde_json::json!([
        { "object": "Service prod/shop", "from": "patch 1 for shop of the site's file" },
    ]);
    assert_eq!(plan["target"]["patches"], patches, "{plan}");
    assert!(shown.contains("no parameter `gone`"), "{shown}");
    assert!(shown.contains("(secret)"), "{shown}");
    for text in [&shown, &plan.to_string()] {
        assert!(!text.contains(TOKEN), "{text}");
    }
    let file = [given, &["--plan-out", "plan.json"]].concat();
    let refused = import(site, archive, &file).failure(2);
    assert!(refused.contains("sensitive parameter `token`"), "{refused}");
}

/// Asserts that values are neither generated again if their Secret is deleted, nor read from a tenant's Secret of the
/// same name.
fn assert_foreign_secret_ignored(site: &Site, archive: &str) {
    let asks = || {
        let refused = import(site, archive, &[]).failure(1);
        let words = "the value of parameter `password` is lost";
        assert!(refused.contains(words), "{refused}");
    };
    let change = |arguments: &[&str]| site.kubectl("prod", arguments);
    let token = "--from-literal=token=\"forged\"";
    let secret = format!("shop-parameters-{}", secret_numbers(site).pop().unwrap());
    let patch = ["patch", "secret", &secret, "--patch"];
    let refused =
        change(&[&patch[..], &[r#"{"data": {"token": "ImZvcmdlZCI="}}"#]].concat()).failure(1);
    assert!(refused.contains("immutable"), "{refused}");
    change(&["delete", "secret", &secret]).success();
    asks();
    let label = "solutions.metalk8s.scality.com/solution=shop";
    // The tenant uses the deleted Secret's name, and the next one.
    for name in [&secret, "shop-parameters-4"] {
        change(&["create", "secret", "generic", name, token]).success();
        change(&["label", "secret", name, label]).success();
    }
    asks();
    let given = ["--values", "values.yaml", "--unset", "password"];
    import(site, archive, &given).success();
    assert!(
        site.field("prod", "configmap/shop", "{.data.shop\\.yaml}")
            .contains(TOKEN)
    );
}

/// Asserts that changed values are stored in a new Secret, that a rollback uses the Secret of the previous values, and
/// that one more is kept.
fn assert_rollback_restores_values(site: &Site, archive: &str, back: &[&str]) {
    let text = || site.field("prod", "configmap/shop", "{.data.shop\\.yaml}");
    let before = secrets(site);
    site.desk.write("other.yaml", "token: an0ther-t0ken\n");
    import(site, archive, &["--values", "other.yaml"]).success();
    assert!(text().contains("an0ther-t0ken"));
    let now = secrets(site);
    assert_eq!(
        (&now[..1], secret_numbers(site)),
        (&before[..], vec!["1".to_owned(), "2".to_owned()])
    );
    site.solution(back).success();
    assert!(text().contains(TOKEN));
    let then = secrets(site);
    assert_eq!(secret_numbers(site), ["2", "3"]);
    assert_eq!((&then[0], &then[1].1), (&now[1], &before[0].1));
}

#[test]
fn a_site_gives_values_and_changes_what_the_publisher_did_not_foresee() {
    let site = Site::new("asking");
    site.create_environment("prod");
    let first = pack_with_parameters(&site, "1.0.0");
    assert_wrong_values_refused(&site, &first);
    set_site_configuration(&site, "shop");
    site.desk.write("values.yaml", format!("token: {TOKEN}\n"));
    let given = ["--set", "size=2", "--values", "values.yaml"];
    assert_values_shown(&site, &first, &given);
    import(&site, &first, &given).success();
    assert_eq!(replicas(&site), "2");
    let kind = site.field("prod", "service/shop", "{.spec.type}");
    assert_eq!(kind, "NodePort");
    let text = site.field("prod", "configmap/shop", "{.data.shop\\.yaml}");
    assert!(text.contains("greeting: hello"), "{text}");
    assert!(text.contains(TOKEN), "{text}");
    let kept = secrets(&site);
    let again = import(&site, &first, &["--output", "json"]).json();
    assert_eq!(again["objects"], serde_json::json!([]), "{again}");

    // The next version keeps the chosen values, and a rollback restores them with the previous version.
    let second = pack_with_parameters(&site, "1.1.0");
    import(&site, &second, &[]).success();
    assert_eq!(
        (replicas(&site), secrets(&site)),
        ("2".to_owned(), kept.clone())
    );
    import(&site, &second, &["--unset", "size"]).success();
    assert_eq!(replicas(&site), "1");
    assert_eq!(secrets(&site), kept);
    let ca = crate::site::variable("SOLUTION_TEST_REGISTRY_CA");
    let back = ["rollback", "shop", "-e", "prod", "--ca-file", &ca];
    site.solution(&back).success();
    assert_eq!(
        (replicas(&site), secrets(&site)),
        ("2".to_owned(), kept.clone())
    );
    assert_rollback_restores_values(&site, &second, &back);
    let history = site.solution(&["history", "--output", "json"]).success();
    assert!(!history.contains(TOKEN), "{history}");

    // A patch without a target stops the plan.
    set_site_configuration(&site, "web");
    let refused = import(&site, &second, &[]).failure(1);
    let words = "cannot apply patch 1 for shop of the site's file: no object matches its target, a Service `web`";
    assert!(refused.contains(words), "{refused}");

    set_site_configuration(&site, "shop");
    assert_foreign_secret_ignored(&site, &second);

    site.solution(&["undeploy", "--yes", "shop", "-e", "prod"])
        .success();
    assert_eq!(
        secret_numbers(&site),
        ["3"],
        "only what a tenant has made is left"
    );
}
