//! Charts in an archive: Helm installs and tracks them with images from the site's registry. They are upgraded, rolled
//! back and removed completely.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::Answer;
use crate::pages::{commands, pages};
use crate::releases::{break_webhook, pods};
use crate::site::{Site, consent_id, difference, eventually};

/// The real Helm 4, which `scripts/install-tools` builds.
pub(crate) static HELM: LazyLock<String> = LazyLock::new(|| {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/program");
    let found = Command::new(program).args(["helm", "--path"]).output();
    let found = found.unwrap();
    assert!(
        found.status.success(),
        "helm is missing: scripts/install-tools builds it"
    );
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
});

pub(crate) const SERVER: &str = "registry.example.test/example/server:1.0.0";

/// A chart with common features: a server with an upstream image, another one from values, a hook, a definition in
/// `crds/`, a random password, a test with a random name, an object for each revision, and notes.
const TEMPLATES: [(&str, &str); 7] = [
    (
        "web.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}'}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: '{{ .Release.Name }}'}}
  template:
    metadata: {labels: {app: '{{ .Release.Name }}'}, annotations: {greeting: {{ .Values.greeting | quote }}}}
    spec:
      containers:
        - name: web
          image: SERVER
          command: {{ .Values.command | toJson }}
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
",
    ),
    (
        "side.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}-side'}
spec:
  selector: {matchLabels: {app: '{{ .Release.Name }}-side'}}
  template:
    metadata: {labels: {app: '{{ .Release.Name }}-side'}}
    spec:
      containers:
        - name: side
          image: '{{ .Values.image.repository }}:{{ .Values.image.tag }}'
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
",
    ),
    (
        "hook.yaml",
        "apiVersion: batch/v1
kind: Job
metadata: {name: '{{ .Release.Name }}-setup', annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: setup, image: 'SERVER', args: [--version]}]}}
",
    ),
    (
        "secret.yaml",
        "apiVersion: v1
kind: Secret
metadata: {name: '{{ .Release.Name }}'}
{{- with lookup \"v1\" \"Secret\" .Release.Namespace .Release.Name }}
data: {password: {{ .data.password }}}
{{- else }}
data: {password: {{ randAlphaNum 16 | b64enc }}}
{{- end }}
",
    ),
    // Charts use names for each rendering and names for each revision in tests and Jobs.
    (
        "test.yaml",
        "apiVersion: v1
kind: Pod
metadata: {name: '{{ .Release.Name }}-test-{{ randAlphaNum 5 | lower }}', annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: [{name: test, image: 'SERVER', args: [--version]}]}
",
    ),
    (
        "revision.yaml",
        "apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-r{{ .Release.Revision }}'}
",
    ),
    ("NOTES.txt", "{{ .Release.Name }} is there\n"),
];

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.charts.example.test}
spec:
  group: charts.example.test
  scope: Namespaced
  names: {kind: Cart, plural: carts, singular: cart, listKind: CartList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";

pub(crate) const VALUES: &str = "greeting: hello
replicas: 1
command: []
image: {repository: $(image.repository:server), tag: $(image.tag:server)}
";

/// Returns a site with Helm. Its user has all permissions, because the permissions for a chart are unknown before it is
/// rendered.
pub(crate) fn site(prefix: &str) -> Site {
    let site = Site::new(prefix);
    let bind = ["create", "clusterrolebinding", "charts"];
    let to = [
        "--clusterrole=cluster-admin",
        "--serviceaccount=default:importer",
    ];
    site.kubectl("default", &[&bind[..], &to].concat())
        .success();
    site.new_environment("prod");
    site
}

/// Runs the program with Helm in `PATH`.
pub(crate) fn solution(site: &Site, arguments: &[&str]) -> Answer {
    Answer::from_command(site.command().env("HELM", &*HELM).args(arguments))
}

/// Starts a registry with a chart and its image, and writes the files that the page names.
fn start_upstream(site: &Site) -> String {
    let host = crate::site::variable("SOLUTION_TEST_PUSH_REGISTRY");
    let registry = format!("{host}/upstream-{}", std::process::id());
    let copy = |from: &str, to: &str| {
        let bytes = fs::read(crate::site::variable(from)).unwrap();
        site.desk.write(to, bytes);
    };
    copy("SOLUTION_TEST_REGISTRY_CA", "site-ca.pem");
    copy("SOLUTION_TEST_REGISTRY_CA", "authorities/ca.crt");
    copy("SOLUTION_TEST_PULL_SECRET", "nodes.json");
    copy("REGISTRY_AUTH_FILE", ".docker/config.json");
    let deployment = TEMPLATES[0]
        .1
        .replace("SERVER", &format!("{registry}/podinfo:6.7.0"))
        .replace(".Values.replicas", ".Values.replicaCount")
        .replace(".Values.greeting", ".Values.ui.message");
    let values = "replicaCount: 1\nui: {message: hello}\ncommand: []\n";
    let metadata = "apiVersion: v2\nname: podinfo\nversion: 6.7.0\n";
    site.desk.write("upstream/podinfo/Chart.yaml", metadata);
    site.desk.write("upstream/podinfo/values.yaml", values);
    site.desk
        .write("upstream/podinfo/templates/web.yaml", deployment);
    let login = "--dest-authfile .docker/config.json --dest-cert-dir authorities";
    for line in [
        format!(
            "skopeo copy --quiet {login} oci:1.0.0/images/example-server:1.0.0 docker://{registry}/podinfo:6.7.0"
        ),
        "helm package upstream/podinfo --destination upstream".to_owned(),
        format!(
            "helm push upstream/podinfo-6.7.0.tgz oci://{registry}/charts --ca-file site-ca.pem"
        ),
    ] {
        run_with_helm(site, &line).success();
    }
    registry
}

/// Runs a line of a page with Helm in `PATH`.
fn run_with_helm(site: &Site, line: &str) -> Answer {
    let directory = Path::new(&*HELM).parent().unwrap();
    crate::book::run(site, &format!("PATH={}:$PATH; {line}", directory.display()))
}

#[test]
fn a_new_user_can_follow_the_pages() {
    let site = site("charts-page");
    site.forget_signers();
    fs::remove_file(site.desk.path("publisher.key")).unwrap();
    fs::remove_file(site.desk.path("publisher.pub")).unwrap();
    let registry = start_upstream(&site);
    let pages = pages("getting-started/");
    assert_eq!(pages.len(), 4, "{pages:?}");
    let all: Vec<String> = pages.iter().flat_map(|page| commands(page)).collect();
    let last = fs::read_to_string(&pages[3]).unwrap();
    let files = last.split("```yaml\n").skip(1);
    let files: Vec<&str> = files.filter_map(|file| file.split("```").next()).collect();
    let [configuration, choices] = files[..] else {
        panic!("{files:?}");
    };
    // `solution setup` writes this file; another test covers its questions.
    let configuration = crate::book::replace_names(&site, configuration)
        .replace("/etc/solution", &site.desk.path(".").display().to_string());
    site.desk
        .write(".config/solution/config.yaml", configuration);
    site.desk.write("site.yaml", choices);
    let mut shown = String::new();
    let mut id = String::new();
    for command in &all {
        // Public registries have a well-known certificate authority.
        let line = command
            .replace("ghcr.io/stefanprodan", &registry)
            .replace("--accept ID", &format!("--accept {id}"))
            .replace("solution pack", "solution pack --ca-file site-ca.pem")
            .replace("solution import", "solution import --create-environment");
        let answer = run_with_helm(&site, &line);
        let expected = i32::from(command.ends_with("# ends with 1"));
        assert_eq!(answer.code, expected, "{command}\n{answer:?}");
        if command.starts_with("solution keygen") {
            let trust = "solution trust add publisher --solutions podinfo --key publisher.pub";
            run_with_helm(&site, trust).success();
        }
        shown.push_str(&answer.stdout);
        if command.starts_with("solution deploy") && expected == 1 {
            id = takeover_id(&answer.stderr).to_owned();
        } else if expected == 1 {
            let found = "release demo/podinfo is at revision 2, which was not created by an import";
            assert!(answer.stdout.contains(found), "{answer:?}");
        }
    }
    assert!(all.len() >= 10, "{all:?}");
    for line in last
        .split("The plan of the last one has:")
        .nth(1)
        .unwrap()
        .lines()
        .skip(3)
        .take(3)
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let field = "{.spec.replicas} {.spec.template.metadata.annotations.greeting}";
    for (environment, expected) in [
        ("demo", "2 hello from here"),
        ("staging", "1 hello from here"),
    ] {
        assert_eq!(
            site.field(environment, "deployment/podinfo", field),
            expected
        );
        solution(&site, &["undeploy", "--yes", "podinfo", "-e", environment]).success();
    }
}

/// Returns the id that accepts taking over a revision by another Helm user.
pub(crate) fn takeover_id(refused: &str) -> &str {
    let id = refused.split("was changed since; `").nth(1).unwrap();
    id.split('`').next().unwrap()
}

/// Packs a version with this chart and these values.
pub(crate) fn pack(site: &Site, version: &str, values: &str) -> String {
    pack_with_timeout(site, version, values, "40s")
}

/// Packs a version that has this long to become ready.
pub(crate) fn pack_with_timeout(site: &Site, version: &str, values: &str, timeout: &str) -> String {
    for (name, template) in TEMPLATES {
        let template = template.replace("SERVER", SERVER);
        site.desk
            .write(&format!("1.0.0/web/templates/{name}"), template);
    }
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    site.desk.write("1.0.0/web/crds/carts.yaml", DEFINITION);
    site.desk.write("1.0.0/values.yaml", values);
    let chart = "{name: web, source: 'dir:web', values: [values.yaml], timeout: TIMEOUT}";
    let spec = format!("  charts: [{chart}]\n").replace("TIMEOUT", timeout);
    pack_tree(site, version, &spec)
}

/// Packs the existing tree with this part of its `spec`.
pub(crate) fn pack_tree(site: &Site, version: &str, spec: &str) -> String {
    let source = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: shop}}
spec:
  version: {version}
  images:
    - {{name: server, tag: 1.0.0, source: 'oci:images/example-server:1.0.0', ref: '{SERVER}'}}
{spec}"
    );
    site.desk.write("1.0.0/solution.yaml", source);
    let archive = format!("shop-{version}.iso");
    let arguments = ["pack", "1.0.0", "-o", &archive, "--key", "publisher.key"];
    solution(site, &arguments).success();
    archive
}

pub(crate) fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let into = ["-e", "prod", "--pull-secret", "login"];
    let mut command = site.import_command(archive, &[&into[..], more].concat());
    Answer::from_command(command.env("HELM", &*HELM))
}

/// Runs Helm as its users do.
pub(crate) fn helm(site: &Site, arguments: &[&str]) -> Answer {
    let mut helm = Command::new(&*HELM);
    helm.env("KUBECONFIG", site.kubeconfig());
    helm.args(arguments).args(["--namespace", "prod"]);
    Answer::from_command(helm.current_dir(site.desk.path(".")))
}

/// Returns the revisions of the release with their states.
pub(crate) fn history(site: &Site) -> Vec<(u64, String)> {
    let told: Value = helm(site, &["history", "web", "--output", "json"]).json();
    let revisions = told.as_array().unwrap().iter();
    let revision = |entry: &Value| {
        let status = entry["status"].as_str().unwrap().to_owned();
        (entry["revision"].as_u64().unwrap(), status)
    };
    revisions.map(revision).collect()
}

pub(crate) fn statuses(site: &Site) -> Vec<String> {
    history(site)
        .into_iter()
        .map(|(_, status)| status)
        .collect()
}

/// Returns the image of a workload.
fn image(site: &Site, workload: &str) -> String {
    let image = "{.spec.template.spec.containers[0].image}";
    site.field("prod", workload, image)
}

#[test]
fn a_chart_is_installed_by_helm_and_goes_without_a_rest() {
    let site = site("charts");
    let before = site.objects_in("prod");
    let first = pack(&site, "1.0.0", VALUES);
    assert_hindrances_are_said(&site, &first);

    let shown = import(&site, &first, &["--dry-run", "--details"]).success();
    for words in [
        "install release prod/web (web 1.0.0)",
        "    + Deployment prod/web\n",
        "    + Job prod/web-setup\n",
        "contain random values that differ in each plan: Secret web, Pod web-test-",
        "proof     a pod pulls",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let shown: Value = import(&site, &first, &["--dry-run", "--output", "json"]).json();
    let release = &shown["target"]["releases"][0];
    assert_eq!(release["action"], "install", "{shown}");
    import(&site, &first, &[]).success();
    assert_eq!(statuses(&site), ["deployed"]);
    site.kubectl("prod", &["get", "configmap", "web-r1"])
        .success();

    // Every image comes from the site's registry, however the chart refers to it.
    let expected = format!("{}/shop/server:1.0.0@sha256:", site.pull_registry());
    for workload in ["deployment/web", "deployment/web-side", "job/web-setup"] {
        let image = image(&site, workload);
        assert!(image.starts_with(&expected), "{workload}: {image}");
    }
    let crd = ["get", "crd", "carts.charts.example.test"];
    site.kubectl("prod", &crd).success();

    // The pod that proved that nodes can pull is deleted, and the records contain no manifest sets.
    let (records, inventory) = ("metalk8s-solutions", "configmap/carried.prod.shop");
    let content = site.field(records, inventory, "{.data.content\\.json}");
    let recorded: Value = serde_json::from_str(&content).unwrap();
    assert_eq!(recorded["entries"], serde_json::json!([]), "{content}");
    assert_eq!(recorded["releases"][0]["name"], "web", "{content}");
    assert_eq!(recorded["releases"][0]["revision"], 1, "{content}");
    // Importing the same version again changes nothing.
    let again = import(&site, &first, &[]);
    let changed = again.stderr.clone();
    assert!(again.success().contains("0 objects changed"), "{changed}");
    assert_eq!(statuses(&site), ["deployed"]);

    solution(&site, &["undeploy", "--yes", "shop", "-e", "prod"]).success();
    let listed = helm(&site, &["list", "--output", "json"]).success();
    assert_eq!(listed.trim(), "[]");
    // The hook's objects stay.
    site.until_as_before("prod", &before, &["web-setup"]);
}

#[test]
fn a_chart_is_upgraded_and_taken_back_whatever_others_did() {
    let site = site("charts-life");
    let first = pack(&site, "1.0.0", VALUES);
    import(&site, &first, &[]).success();

    // A number of pods that another user has set is kept, and unchanged pods are not restarted.
    let scale = ["scale", "deployment/web", "--replicas=2"];
    site.kubectl("prod", &scale).success();
    let unchanged = || {
        let uids = "--output=jsonpath={.items[*].metadata.uid}";
        let pods = ["get", "pods", "--selector=app=web-side", uids];
        site.kubectl("prod", &pods).success()
    };
    let (kept, running) = (unchanged(), pods(&site, "prod"));
    let second = pack(&site, "1.1.0", &VALUES.replace("hello", "good day"));
    let shown = import(&site, &second, &["--dry-run", "--details"]).success();
    let upgrade = "upgrade release prod/web (web 1.1.0, revision 1 now)";
    assert!(shown.contains(upgrade), "{shown}");
    // The chart finds its password in the cluster.
    for words in ["~ Deployment prod/web-side", "Secret"] {
        assert!(!shown.contains(words), "{words}: {shown}");
    }
    for words in [
        "    + ConfigMap prod/web-r2\n",
        "    - ConfigMap prod/web-r1\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // Helm gets the users' number of pods, which it did not send before.
    let changed =
        "~ Deployment prod/web (.spec.replicas, .spec.template.metadata.annotations.greeting)";
    assert!(shown.contains(changed), "{shown}");
    import(&site, &second, &[]).success();
    assert_eq!(statuses(&site), ["superseded", "deployed"]);
    assert_eq!(unchanged(), kept);
    assert_ne!(pods(&site, "prod"), running);
    let replicas = site.field("prod", "deployment/web", "{.spec.replicas}");
    assert_eq!(replicas, "2");

    // A user upgrades manually. The program detects this and restores its version.
    let upgrade = [
        "upgrade",
        "web",
        "1.0.0/web",
        "--reuse-values",
        "--no-hooks",
    ];
    let theirs = ["--force-conflicts", "--set", "replicas=1,greeting=mine"];
    helm(&site, &[&upgrade[..], &theirs].concat()).success();
    assert_eq!(image(&site, "deployment/web"), SERVER);
    let status = solution(&site, &["status"]).failure(1);
    let found = "release prod/web is at revision 3, which was not created by an import";
    assert!(status.contains(found), "{status}");
    // The release still belongs to this Solution, also according to Helm.
    let ours = "--selector=solutions.metalk8s.scality.com/release-of=shop";
    let listed = helm(&site, &["list", "--short", ours]).success();
    assert_eq!(listed.trim(), "web");
    let shown = import(&site, &second, &["--dry-run"]);
    let found = "revision 3 is not from here; revision 2 was";
    assert!(shown.stdout.contains(found), "{shown:?}");
    // The release is taken over with the shown changes, once, after a user has accepted them.
    let refused = import(&site, &second, &[]).failure(1);
    let words = "revision 3 of the release prod/web was not recorded by an import";
    assert!(refused.contains(words), "{refused}");
    let id = takeover_id(&refused);
    import(&site, &second, &["--accept", id]).success();
    assert_ne!(image(&site, "deployment/web"), SERVER);
    solution(&site, &["status"]).success();

    // Roll back to the previous version, from the site's own registry.
    let ca = crate::site::variable("SOLUTION_TEST_REGISTRY_CA");
    solution(&site, &["rollback", "shop", "-e", "prod", "--ca-file", &ca]).success();
    let greeting = "{.spec.template.metadata.annotations.greeting}";
    assert_eq!(site.field("prod", "deployment/web", greeting), "hello");
    assert_failed_version_is_taken_back(&site, &first);
    assert_other_release_is_kept(&site, &first);
}

/// Without Helm on the machine, the archive's Helm does the same, but only with a flag, and only if the archive has a
/// trusted signature.
#[test]
fn charts_are_installed_by_the_helm_that_the_archive_includes() {
    let site = site("charts-own");
    let plain = pack(&site, "1.0.0", VALUES);
    let with = |out: &str, signing: &[&str]| {
        let include = [
            "pack",
            "1.0.0",
            "-o",
            out,
            "--force",
            "--include-helm",
            &*HELM,
        ];
        let packed = solution(&site, &[&include[..], signing].concat()).success();
        assert!(packed.contains("program     helm v4."), "{packed}");
    };
    // This machine has no Helm, neither in a variable nor in `PATH`.
    let import = |archive: &str, more: &[&str]| {
        let into = ["-e", "prod", "--pull-secret", "login"];
        site.import(archive, &[&into[..], more].concat())
    };
    let refused = import(&plain, &["--use-included-helm"]).failure(1);
    let words = "the archive does not include a `helm` for amd64";
    assert!(refused.contains(words), "{refused}");
    with("unsigned.iso", &["--unsigned"]);
    let unsigned = ["--use-included-helm", "--allow-unsigned", "shop-1.0.0"];
    let refused = import("unsigned.iso", &unsigned).failure(1);
    let words = "cannot run the `helm` of the archive: the archive is not signed";
    assert!(refused.contains(words), "{refused}");

    with("own.iso", &["--key", "publisher.key"]);
    let refused = import("own.iso", &[]).failure(1);
    assert!(refused.contains("`helm` not found"), "{refused}");
    let dry = ["--use-included-helm", "--dry-run", "--details"];
    let shown = import("own.iso", &dry).success();
    let words = ", included in the archive: the publisher's program";
    assert!(shown.contains(words), "{shown}");
    let json = [&dry[..], &["--output", "json"]].concat();
    let shown: Value = import("own.iso", &json).json();
    assert_eq!(shown["target"]["helm"]["included"], true, "{shown}");
    import("own.iso", &["--use-included-helm"]).success();
    assert_eq!(statuses(&site), ["deployed"]);

    // The registry stores Helm among the images.
    solution(&site, &["undeploy", "--yes", "shop", "-e", "prod"]).success();
    let ca = crate::site::variable("SOLUTION_TEST_REGISTRY_CA");
    let deploy = ["deploy", "shop", "-e", "prod", "--ca-file", &ca];
    let login = ["--pull-secret", "login", "--use-included-helm"];
    site.solution(&[&deploy[..], &login].concat()).success();
    assert_eq!(statuses(&site), ["deployed"]);
}

#[test]
fn a_chart_has_a_namespace_of_its_own_and_its_pods_log_in_there() {
    let site = site("charts-space");
    pack(&site, "1.0.0", VALUES);
    // An object of a hook would keep the namespace.
    site.desk.write("1.0.0/web/templates/hook.yaml", "");
    let chart =
        "{name: web, source: 'dir:web', values: [values.yaml], namespace: shop-web, timeout: 40s}";
    let archive = pack_tree(&site, "1.1.0", &format!("  charts: [{chart}]\n"));
    let refused = import(&site, &archive, &[]).failure(1);
    let id = consent_id(&refused);
    let shown = import(&site, &archive, &["--accept", id, "--dry-run"]).success();
    for words in [
        "    + Namespace shop-web\n",
        "    + Secret shop-web/shop-registry-login\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    import(&site, &archive, &["--accept", id]).success();
    let image = "{.spec.template.spec.containers[0].image}";
    let image = site.field("shop-web", "deployment/web", image);
    assert!(image.starts_with(&site.pull_registry()), "{image}");

    solution(&site, &["undeploy", "--yes", "shop", "-e", "prod"]).success();
    let spaces = site.kubectl("default", &["get", "namespaces", "--output=name"]);
    let spaces = spaces.success();
    assert!(!spaces.contains("shop-web"), "{spaces}");
}

/// Packs version 1.1.0, whose chart has these additional objects, and no objects of hooks, which would be kept.
fn pack_with(site: &Site, more: &str) -> String {
    pack(site, "1.0.0", VALUES);
    site.desk.write("1.0.0/web/templates/hook.yaml", "");
    site.desk.write("1.0.0/web/templates/more.yaml", more);
    let chart = "{name: web, source: 'dir:web', values: [values.yaml], timeout: 40s}";
    pack_tree(site, "1.1.0", &format!("  charts: [{chart}]\n"))
}

/// Imports after accepting the effects outside the environment, and returns the plan.
fn import_accepting(site: &Site, archive: &str) -> String {
    let refused = import(site, archive, &[]).failure(1);
    let id = consent_id(&refused);
    let shown = import(site, archive, &["--accept", id, "--dry-run"]).success();
    import(site, archive, &["--accept", id]).success();
    shown
}

#[test]
fn pods_of_a_chart_log_in_wherever_they_are() {
    let site = site("charts-elsewhere");
    let space = "charts-elsewhere-agents";
    let namespace = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {space}}}}}");
    site.apply(&namespace).success();
    let agents = format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: agents, namespace: {space}}}
spec:
  selector: {{matchLabels: {{app: agents}}}}
  template:
    metadata: {{labels: {{app: agents}}}}
    spec:
      imagePullSecrets: null
      containers:
        - name: agents
          image: {SERVER}
          readinessProbe: {{httpGet: {{path: /healthz, port: 8080}}, periodSeconds: 1}}
"
    );
    let archive = pack_with(&site, &agents);
    let shown = import_accepting(&site, &archive);
    let login = format!("{space}/shop-registry-login");
    assert!(shown.contains(&format!("+ Secret {login}")), "{shown}");
    assert!(
        !shown.contains("which this change does not create"),
        "{shown}"
    );
    let pulled = site.field(space, "deployment/agents", "{.status.readyReplicas}");
    assert_eq!(pulled, "1");
    // No change is left, and the plan in two steps shows that.
    let again = import(&site, &archive, &["--dry-run"]).success();
    assert!(!again.contains("+ Secret"), "{again}");

    solution(&site, &["undeploy", "--yes", "shop", "-e", "prod"]).success();
    let secrets = ["get", "secrets", "--output=name"];
    let secrets = site.kubectl(space, &secrets).success();
    assert_eq!(secrets.trim(), "");
    site.kubectl("default", &["delete", "namespace", space, "--wait=false"])
        .success();
}

/// The webhook of a chart blocks writes to the Lease and to Helm's own records.
#[test]
fn what_blocks_the_cluster_goes_before_helm_is_run() {
    let site = site("charts-blocked");
    let webhook = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shop}
webhooks:
  - name: judge.shop.test
    clientConfig: {service: {name: nobody, namespace: prod}}
    rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [DELETE]}]
    objectSelector: {matchLabels: {judged: by-shop}}
    namespaceSelector: {}
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
";
    let archive = pack_with(&site, webhook);
    import_accepting(&site, &archive);
    break_webhook(&site, r#"["configmaps", "leases", "namespaces"]"#);
    let undone = solution(
        &site,
        &[
            "undeploy", "--yes", "shop", "-e", "prod", "--output", "json",
        ],
    );
    let first = &undone.json()["removed"][0];
    assert_eq!(first, "ValidatingWebhookConfiguration shop");
    let releases = helm(&site, &["list", "--short"]).success();
    assert_eq!(releases.trim(), "");
}

/// The example's operator, a chart, and a manifest set that needs the chart, in two environments with different
/// versions.
#[test]
fn an_operator_has_charts_beside_it_in_two_environments_and_versions() {
    let site = site("charts-operator");
    site.create_environment("test");
    let source = fs::read_to_string(site.desk.path("1.0.0/solution.yaml")).unwrap();
    pack(&site, "1.0.0", VALUES);
    site.desk.write("1.0.0/web/templates/hook.yaml", "");
    let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: after, namespace: shop}}\n";
    site.desk.write("1.0.0/after.yaml", object);
    let parts = "  charts: [{name: web, source: 'dir:web', values: [values.yaml], timeout: 60s}]
  manifests: [{name: after, files: [after.yaml], needs: [web], namespaces: [{name: shop, fixed: false}]}]
";
    let values = VALUES.replace(":server)", ":example-server)");
    let import = |version: &str, greeting: &str, environment: &str| {
        let values = values.replace("hello", greeting);
        site.desk.write("1.0.0/values.yaml", values);
        let source = source.replace("  version: 1.0.0", &format!("  version: {version}"));
        site.desk
            .write("1.0.0/solution.yaml", format!("{source}{parts}"));
        let archive = format!("example-{version}.iso");
        let arguments = ["pack", "1.0.0", "-o", &archive, "--key", "publisher.key"];
        solution(&site, &arguments).success();
        let into = ["-e", environment, "--pull-secret", "login"];
        Answer::from_command(site.import_command(&archive, &into).env("HELM", &*HELM)).success()
    };
    import("1.0.1", "hello", "prod");
    import("1.0.2", "good day", "test");
    let greeting = "{.spec.template.metadata.annotations.greeting}";
    for (environment, expected) in [("prod", "hello"), ("test", "good day")] {
        assert_eq!(
            site.field(environment, "deployment/web", greeting),
            expected
        );
        let ready = site.field(
            environment,
            "deployment/example-operator",
            "{.status.readyReplicas}",
        );
        assert_eq!(ready, "1", "{environment}");
        let set = ["get", "configmap", "after"];
        site.kubectl(environment, &set).success();
    }
    solution(&site, &["status"]).success();
    solution(&site, &["undeploy", "--yes", "example", "-e", "test"]).success();
    assert_eq!(statuses(&site), ["deployed"]);
    assert_eq!(site.field("prod", "deployment/web", greeting), "hello");
}

/// Another user uninstalls the release, and installs one with its name.
fn assert_other_release_is_kept(site: &Site, first: &str) {
    helm(site, &["uninstall", "web", "--wait"]).success();
    let anew = ["install", "web", "1.0.0/web", "--no-hooks", "--set"];
    let values = "command=null,greeting=mine,replicas=0,image.repository=a,image.tag=b";
    helm(site, &[&anew[..], &[values]].concat()).success();

    let refused = import(site, first, &[]).failure(1);
    let words = "the release prod/web already exists (revision 1) and was not installed from this";
    assert!(refused.contains(words), "{refused}");
    solution(site, &["undeploy", "--yes", "shop", "-e", "prod"]).success();
    assert_eq!(statuses(site), ["deployed"]);
}

/// Upgrades from 1.0.0, the archive `first`, to a version that does not become ready.
fn assert_failed_version_is_taken_back(site: &Site, first: &str) {
    let second = pack_with_timeout(
        site,
        "1.2.0",
        &VALUES.replace("command: []", "command: [/nowhere]"),
        "5m",
    );
    // The limit of the whole change applies, not the chart's timeout.
    let began = Instant::now();
    let failed = import(site, &second, &["--timeout", "10"]).failure(1);
    assert!(began.elapsed() < Duration::from_mins(1), "{failed}");
    for words in [
        "version 1.2.0 did not become ready and was rolled back to version 1.0.0",
        "Deployment prod/web",
        "/nowhere",
    ] {
        assert!(failed.contains(words), "{words}: {failed}");
    }
    let command = site.field(
        "prod",
        "deployment/web",
        "{.spec.template.spec.containers[0].command}",
    );
    assert!(!command.contains("nowhere"), "{command}");
    let now = history(site).pop().unwrap();
    assert_eq!(now.1, "deployed");
    // The running version equals the recorded one, so Helm does not run.
    let shown = import(site, first, &["--dry-run", "--details"]).success();
    assert!(shown.contains("keep release prod/web"), "{shown}");
    import(site, first, &[]).success();
    assert_eq!(history(site).pop().unwrap(), now);

    // The plan detects pods that the namespace would reject.
    let level = "pod-security.kubernetes.io/enforce=restricted";
    site.kubectl("default", &["label", "namespace", "prod", level])
        .success();
    let values = VALUES.replace("greeting: hello", "greeting: third");
    let third = pack(site, "1.3.0", &values);
    let planned = import(site, &third, &["--dry-run"]).failure(1);
    let words = "the cluster would reject the pods of Deployment prod/web";
    assert!(planned.contains(words), "{planned}");
    let unlabel = "pod-security.kubernetes.io/enforce-";
    site.kubectl("default", &["label", "namespace", "prod", unlabel])
        .success();
}

/// Asserts that a release that cannot be installed is refused before anything is written.
fn assert_hindrances_are_said(site: &Site, first: &str) {
    let before = site.objects_in("prod");

    let mut command = site.import_command(first, &["-e", "prod", "--pull-secret", "login"]);
    let refused = Answer::from_command(command.env("HELM", "/nowhere/helm")).failure(1);
    assert!(
        refused.contains("program `/nowhere/helm` not found"),
        "{refused}"
    );

    site.apply("{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: prod}, data: {password: YQ==}}")
        .success();
    let taken = import(site, first, &[]).failure(1);
    assert!(
        taken
            .contains("Secret prod/web already exists and does not belong to the release prod/web"),
        "{taken}"
    );
    site.kubectl("prod", &["delete", "secret", "web"]).success();

    // Another release has the same name.
    let theirs = "1.0.0/theirs";
    site.desk.write(
        &format!("{theirs}/Chart.yaml"),
        "apiVersion: v2\nname: theirs\nversion: 1.0.0\n",
    );
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}";
    site.desk
        .write(&format!("{theirs}/templates/map.yaml"), map);
    helm(site, &["install", "web", theirs]).success();
    let taken = import(site, first, &[]).failure(1);
    assert!(
        taken.contains("the release prod/web already exists (revision 1)"),
        "{taken}"
    );
    helm(site, &["uninstall", "web"]).success();

    assert_eq!(difference(&before, &site.objects_in("prod")), "");
}

#[test]
fn what_needs_a_chart_comes_after_it_and_goes_before() {
    let site = site("charts-order");
    let before = site.objects_in("prod");
    pack(&site, "1.0.0", VALUES);
    let cart = "{apiVersion: charts.example.test/v1, kind: Cart, metadata: {name: mine}}";
    site.desk.write("1.0.0/carts.yaml", cart);
    let spec = "  charts: [{name: web, source: 'dir:web', values: [values.yaml], timeout: 40s}]
  manifests: [{name: carts, files: [carts.yaml], needs: [web]}]\n";
    let archive = pack_tree(&site, "1.1.0", spec);
    let done = import(&site, &archive, &[]);
    let told = done.stderr.clone();
    done.success();
    let at = |words: &str| {
        told.find(words)
            .unwrap_or_else(|| panic!("{words}: {told}"))
    };
    assert!(at("helm installs release prod/web") < at("Cart prod/mine created"));

    let gone = solution(&site, &["undeploy", "--yes", "shop", "-e", "prod"]);
    let told = gone.stderr.clone();
    let shown = gone.success();
    let stays = "prod/web-setup is kept: Helm does not delete objects that hooks created";
    assert!(shown.contains(stays), "{shown}");
    let at = |words: &str| {
        told.find(words)
            .unwrap_or_else(|| panic!("{words}: {told}"))
    };
    assert!(at("Cart prod/mine removed") < at("helm uninstalls release prod/web"));
    // The hook's objects stay.
    site.until_as_before("prod", &before, &["web-setup"]);
}

/// Returns the child of a process, once it exists.
pub(crate) fn child_of(parent: u32) -> Option<u32> {
    let children = format!("/proc/{parent}/task");
    let tasks = std::fs::read_dir(children).ok()?;
    let children = tasks.filter_map(|task| {
        let children = task.ok()?.path().join("children");
        std::fs::read_to_string(children).ok()
    });
    let children: Vec<String> = children.collect();
    let mut children = children.iter().flat_map(|line| line.split_whitespace());
    children.next()?.parse().ok()
}

/// Returns whether a process has ended, even if its parent has not collected its exit code.
pub(crate) fn has_ended(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    status.map_or(true, |status| status.contains("\nState:\tZ"))
}

#[test]
fn a_run_of_helm_that_was_killed_is_mended() {
    let site = site("charts-killed");
    let broken = VALUES.replace("command: []", "command: [/nowhere]");
    let first = pack(&site, "1.0.0", &broken);
    let mut command = site.import_command(&first, &["-e", "prod", "--pull-secret", "login"]);
    fs::create_dir(site.desk.path("scratch")).unwrap();
    command.env("TMPDIR", site.desk.path("scratch"));
    let left = || fs::read_dir(site.desk.path("scratch")).unwrap().count();
    let mut import_of_first = command.env("HELM", &*HELM).spawn().unwrap();
    // Its hook has run, and it waits for an object that never becomes ready.
    eventually("helm waits", || {
        let deployment = [
            "get",
            "deployment",
            "web",
            "--ignore-not-found",
            "--output=name",
        ];
        let found = site.kubectl("prod", &deployment).success();
        (!found.is_empty()).then_some(())
    });
    // Helm would continue to wait until its own timeout, and would then roll back the next release.
    let helm = child_of(import_of_first.id()).expect("helm runs");
    import_of_first.kill().unwrap();
    import_of_first.wait().unwrap();
    assert_eq!(statuses(&site), ["pending-install"]);
    assert_ne!(left(), 0, "values lie there");

    let second = pack(&site, "1.1.0", VALUES);
    let mut command = site.import_command(&second, &["-e", "prod", "--dry-run"]);
    command.env("TMPDIR", site.desk.path("scratch"));
    let shown = Answer::from_command(command.env("HELM", &*HELM)).success();
    assert_eq!(left(), 0, "the next run removes them");
    let found = "helm was cut off at revision 1, which is uninstalled first";
    assert!(shown.contains(found), "{shown}");
    import(&site, &second, &[]).success();
    eventually("the end of the first helm", || {
        has_ended(helm).then_some(())
    });
    assert_eq!(statuses(&site), ["deployed"]);
    solution(&site, &["status"]).success();
}
