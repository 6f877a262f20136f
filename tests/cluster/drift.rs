//! Changes by others to a chart's objects after the installation. They are reported with their field managers.
//! Importing the same version again reverts them, and then finds no difference.

use serde_json::{Value, json};

use crate::charts::{SERVER, history, import, pack_tree, site, solution};
use crate::common::Answer;
use crate::releases;
use crate::site::{Site, eventually, variable};

/// A chart with common features, including random values, completed objects and kept objects.
const TEMPLATES: [(&str, &str); 7] = [
    (
        "web.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: null}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: SERVER
          env: [{name: EMPTY, value: ''}]
          ports: [{containerPort: 8080}]
          resources: {requests: {cpu: 0.001, memory: 1000Ki}, limits: {}}
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
",
    ),
    (
        "service.yaml",
        "apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
",
    ),
    (
        "map.yaml",
        "apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {greeting: hello, colour: blue}
",
    ),
    (
        "kept.yaml",
        "apiVersion: v1
kind: ConfigMap
metadata: {name: web-kept, annotations: {helm.sh/resource-policy: keep}}
",
    ),
    (
        "secret.yaml",
        "apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {password: '{{ randAlphaNum 16 }}'}
",
    ),
    (
        "once.yaml",
        "apiVersion: batch/v1
kind: Job
metadata: {name: web-once}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: once, image: 'SERVER', args: [--version]}]}}
",
    ),
    (
        "hook.yaml",
        "apiVersion: v1
kind: ConfigMap
metadata: {name: web-hook, annotations: {helm.sh/hook: post-install}}
",
    ),
];

const IMAGE: &str = "{.spec.template.spec.containers[0].image}";

/// Returns a site where the chart with these additional templates is installed, and its archive.
fn site_with_chart(prefix: &str, more: &[(&str, &str)]) -> (Site, String) {
    let site = site(prefix);
    for (name, template) in TEMPLATES.iter().chain(more) {
        let template = template.replace("SERVER", SERVER);
        let name = format!("1.0.0/web/templates/{name}");
        site.desk.write(&name, template);
    }
    let metadata = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    let chart = "  charts: [{name: web, source: 'dir:web', timeout: 60s}]\n";
    let archive = pack_tree(&site, "1.0.0", chart);
    import(&site, &archive, &[]).success();
    (site, archive)
}

fn diff(site: &Site, more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let diff = ["diff", "-e", "prod", "--ca-file", &ca];
    solution(site, &[&diff[..], more].concat())
}

fn kubectl(site: &Site, arguments: &[&str]) -> String {
    site.kubectl("prod", arguments).success()
}

/// Asserts that no change is necessary: all commands report it, and an import does nothing.
#[track_caller]
fn assert_unchanged(site: &Site, archive: &str) {
    let before = history(site);
    let told = eventually("everything runs", || {
        let answer = solution(site, &["status"]);
        (answer.code == 0).then_some(answer.stdout)
    });
    assert!(!told.contains("changed"), "{told}");
    let told = diff(site, &[]).success();
    assert!(told.contains("no differences"), "{told}");
    let shown = import(site, archive, &["--dry-run"]).success();
    assert!(shown.ends_with(": nothing to do\n"), "{shown}");
    let shown = import(site, archive, &["--dry-run", "--details"]).success();
    assert!(shown.contains("keep release prod/web"), "{shown}");
    import(site, archive, &[]).success();
    assert_eq!(history(site), before);
}

/// Returns the dry-run requests of an import for the objects of the chart.
fn dry_run_requests(site: &Site, archive: &str) -> Vec<String> {
    let told = import(site, archive, &["-v"]).stderr;
    let lines = told.lines().filter(|line| line.ends_with(" ms"));
    let tried =
        lines.filter(|line| line.contains("fieldManager=helm") && line.contains("dryRun=All"));
    tried.map(str::to_owned).collect()
}

/// Returns the exit code and the only operator of a status.
fn status(site: &Site) -> (i32, Value) {
    let answer = solution(site, &["status", "--output=json"]);
    (answer.code, answer.json()["operators"][0].take())
}

#[test]
fn an_object_that_is_gone_is_told_and_made_again() {
    let (site, archive) = site_with_chart("drift-gone", &[]);
    assert_unchanged(&site, &archive);
    // Each unchanged object is dry-run once, however often the plan is computed.
    let tried = dry_run_requests(&site, &archive);
    assert_eq!(tried.len(), 5, "{tried:#?}");
    // Completed objects and objects of hooks need not exist.
    kubectl(&site, &["delete", "job/web-once", "configmap/web-hook"]);
    assert_unchanged(&site, &archive);

    let password = site.field("prod", "secret/web", "{.data.password}");
    kubectl(&site, &["delete", "service/web", "configmap/web-kept"]);
    let (code, told) = status(&site);
    assert_eq!((code, &told["condition"]), (1, &json!("gone")), "{told}");
    assert_eq!(told["why"], "ConfigMap prod/web-kept is gone");
    let told = diff(&site, &[]).failure(1);
    for words in ["create Service prod/web", "create ConfigMap prod/web-kept"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let shown = import(&site, &archive, &["--dry-run"]).success();
    for words in [
        "upgrade release prod/web (web 1.0.0, revision 1 now)",
        "has drifted: ",
        "Service prod/web is gone",
        "    + Service prod/web\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // A random value is kept as it was installed.
    assert!(!shown.contains("Secret"), "{shown}");
    import(&site, &archive, &[]).success();
    kubectl(&site, &["get", "service/web", "configmap/web-kept"]);
    let now = site.field("prod", "secret/web", "{.data.password}");
    assert_eq!(now, password);
    assert_eq!(history(&site).len(), 2);
    assert_unchanged(&site, &archive);

    // The same applies to a deleted object, and an imported version needs no archive for it.
    kubectl(&site, &["delete", "secret/web"]);
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let deploy = ["deploy", "shop", "-e", "prod", "--ca-file", &ca];
    solution(&site, &deploy).success();
    let now = site.field("prod", "secret/web", "{.data.password}");
    assert_eq!(now, password);
    assert_unchanged(&site, &archive);
    assert_other_object_is_adopted_when_told(&site, &archive);
}

/// Another user deletes an object of the release, and creates another one with its name.
fn assert_other_object_is_adopted_when_told(site: &Site, archive: &str) {
    kubectl(site, &["delete", "configmap/web"]);
    kubectl(site, &["create", "configmap", "web"]);
    let (_, told) = status(site);
    let why = told["why"].as_str().unwrap();
    assert!(why.starts_with("ConfigMap prod/web was changed"), "{why}");
    let refused = import(site, archive, &[]).failure(1);
    let words = "ConfigMap prod/web already exists and does not belong to the release prod/web";
    assert!(refused.contains(words), "{refused}");
    import(site, archive, &["--adopt", "objects"]).success();
    assert_unchanged(site, archive);
}

#[test]
fn what_others_set_is_told_with_their_names_and_taken_back_when_told() {
    let (site, archive) = site_with_chart("drift-set", &[]);
    let image = site.field("prod", "deployment/web", IMAGE);
    assert_reader_is_told(&site);
    let (code, told) = status(&site);
    assert_eq!((code, &told["condition"]), (1, &json!("changed")), "{told}");
    assert_eq!(
        told["why"],
        "Deployment prod/web was changed by mallory (.spec.template.spec.containers[name=web].image)"
    );
    let answer = diff(&site, &["--output=json"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let found = answer.json()["comparisons"][0]["objects"].take();
    let field = ".spec.template.spec.containers[name=\"web\"].image";
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found:#}");
    assert_eq!(found[0]["object"], "Deployment prod/web");
    assert_eq!(
        found[0]["takenOver"],
        json!([{ "field": field, "manager": "mallory" }])
    );
    let lines = found[0]["diff"].as_str().unwrap();
    assert!(
        lines.contains("\n-        image: 'evil.example/web:1'\n"),
        "{lines}"
    );

    let refused = import(&site, &archive, &[]).failure(1);
    for words in [
        format!(
            "Deployment prod/web has fields that are owned by other field managers: {field} (mallory)"
        ),
        "`--force-conflicts`".to_owned(),
    ] {
        assert!(refused.contains(&words), "{words}: {refused}");
    }
    let force = ["--force-conflicts"];
    let shown = import(&site, &archive, &[&force[..], &["--dry-run"]].concat()).success();
    let words = format!("! takes over {field} from mallory");
    assert!(shown.contains(&words), "{shown}");
    let json = ["--force-conflicts", "--dry-run", "--output=json"];
    let shown: Value = import(&site, &archive, &json).json();
    let release = &shown["target"]["releases"][0];
    assert_eq!(release["action"], "upgrade", "{release:#}");
    let words = "has drifted: Deployment prod/web was changed by mallory (.spec.template.spec.containers[name=web].image)";
    assert_eq!(release["found"], words);
    assert_eq!(release["objects"][0]["takenOver"][0]["manager"], "mallory");
    import(&site, &archive, &force).success();
    assert_eq!(site.field("prod", "deployment/web", IMAGE), image);
    assert_unchanged(&site, &archive);
    assert_edits_are_taken_back(&site, &archive);
    assert_forged_managers_hide_nothing(&site, &archive);
}

/// Reverts changes to a ConfigMap that have a manager, and those that have none.
fn assert_edits_are_taken_back(site: &Site, archive: &str) {
    let force = ["--force-conflicts"];
    // `kubectl edit` changes one field, and deletes another one, which then has no manager.
    let edit = r#"{"data": {"greeting": "good day"}}"#;
    kubectl(site, &["patch", "configmap/web", "--patch", edit]);
    let told = diff(site, &[]).failure(1);
    let words = "! takes over .data.greeting from kubectl-patch\n";
    assert!(told.contains(words), "{told}");
    import(site, archive, &[]).failure(1);
    import(site, archive, &force).success();
    let remove = r#"[{"op": "remove", "path": "/data/colour"}]"#;
    kubectl(
        site,
        &["patch", "configmap/web", "--type=json", "--patch", remove],
    );
    let (_, told) = status(site);
    assert_eq!(told["why"], "ConfigMap prod/web was changed (.data.colour)");
    import(site, archive, &[]).success();
    let data = site.field("prod", "configmap/web", "{.data}");
    assert_eq!(data, r#"{"colour":"blue","greeting":"hello"}"#);
    assert_unchanged(site, archive);
}

#[test]
fn a_number_of_pods_that_a_scaler_or_a_person_set_is_no_drift() {
    let workload = "apiVersion: apps/v1
kind: Deployment
metadata: {name: side}
spec:
  replicas: 1
  selector: {matchLabels: {app: side}}
  template:
    metadata: {labels: {app: side}}
    spec: {containers: [{name: side, image: 'SERVER'}]}
";
    let scaler = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: side}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: side}
  minReplicas: 2
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
";
    let more = [("side.yaml", workload), ("scaler.yaml", scaler)];
    let (site, archive) = site_with_chart("drift-scaled", &more);
    let replicas = |name: &str| site.field("prod", name, "{.spec.replicas}");
    eventually("the scaler has scaled", || {
        (replicas("deployment/side") == "2").then_some(())
    });
    kubectl(&site, &["scale", "deployment/web", "--replicas=2"]);
    assert_unchanged(&site, &archive);
    kubectl(&site, &["delete", "service/web"]);
    import(&site, &archive, &[]).success();
    assert_unchanged(&site, &archive);
    for name in ["deployment/side", "deployment/web"] {
        assert_eq!(replicas(name), "2", "{name}");
    }
}

/// Field managers choose their own names, so a dry run does not rely on them.
fn assert_forged_managers_hide_nothing(site: &Site, archive: &str) {
    let edit = r#"{"data": {"greeting": "good day"}}"#;
    let patch = ["patch", "configmap/web", "--patch", edit];
    kubectl(site, &[&patch[..], &["--field-manager=mallory"]].concat());
    let nobodys = r#"[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]"#;
    let patch = ["patch", "configmap/web", "--type=json", "--patch", nobodys];
    kubectl(site, &patch);
    let (code, told) = status(site);
    assert_eq!(code, 1, "{told}");
    assert_eq!(
        told["why"],
        "ConfigMap prod/web was changed (.data.greeting)"
    );
    import(site, archive, &["--force-conflicts"]).success();
    assert_unchanged(site, archive);

    let forged = "apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: prod}
data: {greeting: evil, colour: blue}
";
    site.desk.write("forged.yaml", forged);
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=helm",
    ];
    let file = site.desk.path("forged.yaml");
    let file = ["--filename", file.to_str().unwrap()];
    kubectl(site, &[&apply[..], &file].concat());
    let told = diff(site, &[]).failure(1);
    assert!(told.contains("change ConfigMap prod/web"), "{told}");
    import(site, archive, &[]).success();
    let greeting = site.field("prod", "configmap/web", "{.data.greeting}");
    assert_eq!(greeting, "hello");
    assert_unchanged(site, archive);
}

/// Sets an image as `mallory`. A user without write access gets the same report, computed from managed fields.
fn assert_reader_is_told(site: &Site) {
    let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"] }]);
    let reader = site.create_account_with_rules("reader", &all);
    let ask = |arguments: &[&str]| {
        let kubeconfig = ["--kubeconfig", &reader];
        solution(site, &[arguments, &kubeconfig].concat())
    };
    eventually("everything runs", || {
        (ask(&["status"]).code == 0).then_some(())
    });
    let evil = ["set", "image", "deployment/web", "web=evil.example/web:1"];
    kubectl(site, &[&evil[..], &["--field-manager=mallory"]].concat());
    let told = ask(&["status"]).failure(1);
    assert!(told.contains("was changed by mallory"), "{told}");
}

const SET: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: page, namespace: shop-system}
data: {greeting: hello}
";

#[test]
fn an_object_of_a_set_that_is_gone_is_told_and_made_again() {
    let site = Site::new("drift-set");
    site.create_environment("prod");
    let archive = releases::pack(&site, "1.0.0", releases::OWN, SET);
    releases::import(&site, &archive, &[]).success();
    site.solution(&["status"]).success();
    site.kubectl("prod", &["delete", "configmap", "page"])
        .success();
    let status = site.solution(&["status"]).failure(1);
    assert!(status.contains("ConfigMap prod/page is gone"), "{status}");
    releases::import(&site, &archive, &[]).success();
    site.solution(&["status"]).success();
    let create = ["create", "configmap", "page"];
    site.kubectl("prod", &["delete", "configmap", "page"])
        .success();
    site.kubectl("prod", &create).success();
    let status = site.solution(&["status"]).failure(1);
    let words = "ConfigMap prod/page is not the object that was applied";
    assert!(status.contains(words), "{status}");
}
