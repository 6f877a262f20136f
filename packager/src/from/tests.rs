//! Releases that are hard to take apart, and hostile ones. The whole way of three releases in the shape of well-known
//! ones is in the tests of the program.

use std::error::Error as _;
use std::fmt::Write as _;

use super::*;

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: app-operator, namespace: apps, labels: {app.kubernetes.io/version: v1.2.3}}
spec:
  template:
    spec:
      serviceAccountName: app
      containers:
        - name: operator
          image: quay.io/org/app:v1.2.3
";

/// The operator with more in its container.
fn operator(more: &str) -> String {
    let more: Vec<String> = more
        .lines()
        .map(|line| format!("          {line}\n"))
        .collect();
    format!("{DEPLOYMENT}{}", more.concat())
}

fn role(kind: &str, name: &str, rule: &str) -> String {
    let api = "rbac.authorization.k8s.io/v1";
    format!(
        "---\napiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: apps}}\nrules: [{rule}]\n"
    )
}

fn binding(kind: &str, role_kind: &str, role: &str, account: &str) -> String {
    let api = "rbac.authorization.k8s.io";
    format!(
        "---\napiVersion: {api}/v1\nkind: {kind}\nmetadata: {{name: {role}-{kind}, namespace: apps}}\nroleRef: {{apiGroup: {api}, kind: {role_kind}, name: {role}}}\nsubjects: [{{kind: ServiceAccount, name: {account}, namespace: apps}}]\n"
    )
}

fn crd(name: &str) -> String {
    let (plural, group) = name.split_once('.').unwrap();
    format!(
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\nspec: {{group: {group}, scope: Namespaced, names: {{plural: {plural}, kind: X}}}}\n"
    )
}

fn release(files: &[(&str, &[u8])]) -> Release {
    let file = |(name, bytes): &(&str, &[u8])| ReleaseFile {
        name: (*name).to_owned(),
        bytes: bytes.to_vec(),
    };
    Release {
        name: "release.yaml".to_owned(),
        files: files.iter().map(file).collect(),
        notes: Vec::new(),
    }
}

fn try_draft(text: &str) -> Result<Draft, FromError> {
    draft(
        &release(&[("release.yaml", text.as_bytes())]),
        &Wishes::default(),
    )
}

#[track_caller]
fn drafted(text: &str) -> Draft {
    try_draft(text).unwrap_or_else(|error| panic!("{error}: {:?}", error.source()))
}

/// The error with its cause.
#[track_caller]
fn refused(text: &str) -> String {
    let error = try_draft(text).unwrap_err();
    assert!(error.is_refusal());
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn block(draft: &Draft) -> &Operator {
    draft.source.spec.operator.as_ref().unwrap()
}

fn env(draft: &Draft) -> Vec<(&str, &str)> {
    let variables = block(draft).env.iter();
    variables
        .map(|variable| (variable.name.as_str(), variable.value.as_str()))
        .collect()
}

fn places(draft: &Draft) -> Vec<String> {
    let images = draft.source.spec.images.iter();
    images.map(|image| image.place().to_string()).collect()
}

/// The one note about this.
#[track_caller]
fn note<'a>(draft: &'a Draft, about: &str) -> &'a Note {
    let mut notes = draft.notes.iter().filter(|note| note.about == about);
    match (notes.next(), notes.next()) {
        (Some(note), None) => note,
        _ => panic!("not one note about {about}: {:#?}", draft.notes),
    }
}

fn roles(draft: &Draft) -> &str {
    std::str::from_utf8(&draft.files[archive::ROLE]).unwrap()
}

#[test]
fn the_smallest_release_is_one_deployment() {
    let draft = drafted(DEPLOYMENT);
    assert_eq!(draft.id.to_string(), "app-operator-1.2.3");
    assert_eq!(places(&draft), ["app:v1.2.3"]);
    assert_eq!(block(&draft).command.as_deref(), Some(&[][..]));
    assert_eq!(block(&draft).scope, OperatorScope::Namespace);
    assert_eq!(env(&draft), []);
    let files: Vec<&String> = draft.files.keys().collect();
    assert_eq!(
        files,
        [
            "NOTES.md",
            "operator/deploy/crds/.gitkeep",
            "operator/deploy/role.yaml",
            "solution.yaml"
        ]
    );
    assert!(roles(&draft).starts_with("# "));
}

#[test]
fn variables_that_a_pod_knows_of_itself_come_from_the_imports() {
    let draft = drafted(&operator(
        "env:
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: HOME_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: ID, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
- {name: KEY, valueFrom: {secretKeyRef: {name: a, key: b}}}
- {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
- {name: EMPTY}
- {name: TWICE, value: a}
- {name: TWICE, value: b}
- {name: NUMBER, value: 5}",
    ));
    assert_eq!(
        env(&draft),
        [
            ("HOME_NAMESPACE", "$(POD_NAMESPACE)"),
            ("ID", "$(POD_NAME)"),
            ("EMPTY", ""),
            ("TWICE", "b")
        ]
    );
    for (name, weight, words) in [
        ("NODE", Weight::Decide, "spec.nodeName"),
        ("KEY", Weight::Decide, "secretKeyRef"),
        ("MEMORY", Weight::Lost, "resourceFieldRef"),
        ("NUMBER", Weight::Decide, "no text"),
    ] {
        let note = note(&draft, &format!("variable `{name}`"));
        assert_eq!(note.weight, weight, "{name}");
        assert!(note.text.contains(words), "{}", note.text);
    }
}

#[test]
fn values_of_config_maps_that_the_release_brings_are_written_out() {
    let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: apps}\ndata: {A: one, B: 'quay.io/org/b:1'}\n";
    let text = operator(
        "env:
- {name: X, valueFrom: {configMapKeyRef: {name: settings, key: A}}}
- {name: Z, valueFrom: {configMapKeyRef: {name: other, key: A}}}
envFrom:
- {prefix: P_, configMapRef: {name: settings}}
- {secretRef: {name: login}}",
    );
    let draft = drafted(&format!("{text}{map}"));
    assert_eq!(
        env(&draft),
        [("P_A", "one"), ("P_B", "$(image:b)"), ("X", "one")]
    );
    assert_eq!(note(&draft, "variable `Z`").weight, Weight::Decide);
    assert_eq!(note(&draft, "field `envFrom`").weight, Weight::Decide);
}

#[test]
fn references_become_images_and_expansions() {
    let draft = drafted(&operator(
        "command: [/manager, --web-image, 'nginx:1.2']
args:
- --sidecar-image=nginx
- --reloader=quay.io/org/reloader:v1
- --pinned=quay.io/org/pinned@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
- --image-pull-policy=always
- --image-repository=quay.io/org/base
- --listen=localhost:8080
- --url=https://quay.io/org/no:1
- --service=kube-system/kubelet
- --both=quay.io/org/app:v1.2.3,org/tool:2
- --images=org/tool:2,quay.io/org/reloader:v1
env:
- {name: RELATED_IMAGE_DB, value: postgres}
- {name: IMAGES, value: \"16=quay.io/org/kafka:1-16\\n17=quay.io/org/kafka:1-17\\n\"}
- {name: TEXT, value: 'see quay.io/org for more'}",
    ));
    assert_eq!(
        places(&draft),
        [
            "app:v1.2.3",
            "nginx:1.2",
            "reloader:v1",
            "pinned:sha256-0123456789ab",
            "tool:2",
            "postgres:latest",
            "kafka-1-16:1-16",
            "kafka-1-17:1-17"
        ]
    );
    let operator = block(&draft);
    assert_eq!(
        operator.command.as_deref().unwrap(),
        ["/manager", "--web-image", "$(image:nginx)"]
    );
    assert_eq!(
        operator.args,
        [
            "--sidecar-image=nginx",
            "--reloader=$(image:reloader)",
            "--pinned=$(image:pinned)",
            "--image-pull-policy=always",
            "--image-repository=quay.io/org/base",
            "--listen=localhost:8080",
            "--url=https://quay.io/org/no:1",
            "--service=kube-system/kubelet",
            "--both=$(image:app),org/tool:2",
            "--images=$(image:tool),$(image:reloader)"
        ]
    );
    assert_eq!(
        env(&draft),
        [
            ("RELATED_IMAGE_DB", "$(image:postgres)"),
            ("IMAGES", "16=$(image:kafka-1-16)\n17=$(image:kafka-1-17)\n"),
            ("TEXT", "see quay.io/org for more")
        ]
    );
    let references: Vec<String> = draft
        .source
        .spec
        .images
        .iter()
        .map(|image| image.source.to_string())
        .collect();
    assert_eq!(references[1], "docker://docker.io/library/nginx:1.2");
    assert_eq!(references[4], "docker://docker.io/org/tool:2");
    assert!(
        note(&draft, "references")
            .text
            .contains("`postgres is docker.io/library/postgres:latest`")
    );
}

#[test]
fn images_of_one_name_are_told_apart() {
    let draft = drafted(&operator(
        "args: [a.test/one/web:1, b.test/two/web:1, a.test/x/db:1, b.test/x/db:1, 'a.test/x/db:1_2', a.test/web:1]",
    ));
    let places = places(&draft);
    assert_eq!(places[1..3], ["one-web:1", "two-web:1"]);
    assert_eq!(places[5..], ["db-1_2:1_2", "web:1"]);
    assert!(
        places[3].starts_with("image-") && places[4].starts_with("image-"),
        "{places:?}"
    );
    assert_ne!(places[3], places[4]);
}

#[test]
fn only_the_operators_roles_are_taken() {
    let pods = "{apiGroups: [''], resources: [pods], verbs: [get]}";
    let text = [
        DEPLOYMENT,
        &role("Role", "own", pods),
        &role("Role", "other", pods),
        &role("ClusterRole", "view", pods),
        &binding("RoleBinding", "Role", "own", "app"),
        &binding("RoleBinding", "Role", "other", "web"),
        &binding(
            "ClusterRoleBinding",
            "ClusterRole",
            "system:auth-delegator",
            "app",
        ),
    ]
    .concat();
    let draft = drafted(&text);
    assert!(roles(&draft).contains("name: own") && !roles(&draft).contains("name: other"));
    assert_eq!(note(&draft, "Roles `other`, `view`").weight, Weight::Lost);
    let note = note(&draft, "Roles of others");
    assert!(
        note.text.contains("`ClusterRole system:auth-delegator`"),
        "{}",
        note.text
    );
    assert_eq!(block(&draft).scope, OperatorScope::Namespace);
}

#[test]
fn without_bindings_all_roles_are_taken_and_that_is_said() {
    let text = format!("{DEPLOYMENT}{}", role("Role", "any", ""));
    let draft = drafted(&text);
    assert!(roles(&draft).contains("name: any"));
    assert_eq!(note(&draft, "Roles").weight, Weight::Decide);
}

#[test]
fn the_scope_follows_from_rights_and_what_is_watched() {
    let rule = |groups: &str, resources: &str| {
        format!("{{apiGroups: ['{groups}'], resources: [{resources}], verbs: [get]}}")
    };
    let wide = |rule: &str| {
        [
            role("ClusterRole", "wide", rule),
            binding("ClusterRoleBinding", "ClusterRole", "wide", "app"),
        ]
        .concat()
    };
    let own =
        "env: [{name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]";
    let everywhere = "env: [{name: WATCH_NAMESPACE, value: ''}]";
    let cluster_crd = crd("tests.app.test").replace("Namespaced", "Cluster");
    for (name, container, more, expected, watching) in [
        (
            "pods everywhere",
            "",
            wide(&rule("", "pods")),
            OperatorScope::Cluster,
            Some(""),
        ),
        (
            "told to",
            everywhere,
            wide(&rule("", "pods")),
            OperatorScope::Cluster,
            Some(""),
        ),
        (
            "own namespace",
            own,
            wide(&rule("", "pods")),
            OperatorScope::Namespace,
            None,
        ),
        (
            "nodes",
            own,
            wide(&rule("", "nodes")),
            OperatorScope::Cluster,
            None,
        ),
        (
            "its own kind",
            own,
            wide(&rule("app.test", "tests/status")) + &cluster_crd,
            OperatorScope::Cluster,
            None,
        ),
        (
            "addresses",
            own,
            wide("{nonResourceURLs: [/metrics], verbs: [get]}"),
            OperatorScope::Cluster,
            None,
        ),
        (
            "by argument",
            "args: [--watch-namespace=$(POD_NAMESPACE)]",
            wide(&rule("", "pods")),
            OperatorScope::Namespace,
            None,
        ),
    ] {
        let draft = drafted(&[operator(container), more].concat());
        assert_eq!(block(&draft).scope, expected, "{name}");
        let watch = env(&draft)
            .into_iter()
            .find(|(name, _)| *name == "WATCH_NAMESPACE");
        assert_eq!(watch.map(|(_, value)| value), watching, "{name}");
    }
}

#[test]
fn a_role_for_one_namespace_never_grows_into_one_for_the_cluster() {
    let rule = "{apiGroups: [''], resources: [secrets], verbs: [get]}, {nonResourceURLs: [/x], verbs: [get]}";
    let nodes = "{apiGroups: [''], resources: [nodes], verbs: [get]}";
    let text = [
        DEPLOYMENT,
        &role("ClusterRole", "both", rule),
        &role("Role", "both", rule),
        &role("ClusterRole", "wide", nodes),
        &binding("RoleBinding", "ClusterRole", "both", "app"),
        &binding("RoleBinding", "Role", "both", "app").replace("both-R", "role-R"),
        &binding("ClusterRoleBinding", "ClusterRole", "wide", "app"),
    ]
    .concat();
    let draft = drafted(&text);
    assert_eq!(block(&draft).scope, OperatorScope::Cluster);
    let roles = schemas::yaml::documents(roles(&draft).as_bytes()).unwrap();
    let names: Vec<(&str, &str, usize)> = roles
        .iter()
        .map(|role| {
            let text = |pointer| objects::text(role, pointer);
            (
                text("/kind"),
                text("/metadata/name"),
                objects::list(role, "/rules").len(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("Role", "both", 2),
            ("Role", "both-2", 1),
            ("ClusterRole", "wide", 1)
        ]
    );
    assert_eq!(note(&draft, "ClusterRole `both`").weight, Weight::Chosen);
}

#[test]
fn what_the_deployment_has_beyond_an_operator_is_said() {
    let pod = "
      hostNetwork: true
      priorityClassName: high
      securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 1}
      initContainers: [{name: prepare, image: quay.io/org/prepare:1}]
      volumes: [{name: tmp, emptyDir: {}}, {name: cert, secret: {secretName: x}}, {name: host, hostPath: {path: /}}]
      containers:
        - {name: proxy, image: 'quay.io/org/rbac-proxy:1'}
        - name: manager
          image: quay.io/org/app:v1.2.3
          workingDir: /app
          resources: {limits: {cpu: 1}}
          somethingNew: 5
          securityContext: {readOnlyRootFilesystem: true, privileged: true, capabilities: {add: [NET_ADMIN]}}
          volumeMounts: [{name: tmp, mountPath: /tmp}, {name: cert, mountPath: /certs}, {name: host, mountPath: /host}]
";
    let (head, _) = DEPLOYMENT.split_once("      containers:").unwrap();
    let head = head.replace("spec:\n  template", "spec:\n  replicas: 3\n  template");
    let draft = drafted(&format!("{}{}", head, pod.trim_start_matches('\n')));
    assert_eq!(places(&draft), ["app:v1.2.3", "rbac-proxy:1", "prepare:1"]);
    for (about, weight) in [
        ("field `hostNetwork`", Weight::Decide),
        ("field `priorityClassName`", Weight::Lost),
        ("field `runAsUser`", Weight::Lost),
        ("field `replicas`", Weight::Lost),
        ("init container `prepare`", Weight::Decide),
        ("container `proxy`", Weight::Lost),
        ("field `workingDir`", Weight::Decide),
        ("field `resources`", Weight::Lost),
        ("field `somethingNew`", Weight::Lost),
        ("field `privileged`", Weight::Decide),
        ("field `capabilities`", Weight::Decide),
        ("field `readOnlyRootFilesystem`", Weight::Chosen),
        ("volume `tmp` at `/tmp`", Weight::Lost),
        ("volume `cert` at `/certs`", Weight::Decide),
        ("volume `host` at `/host`", Weight::Decide),
    ] {
        assert_eq!(note(&draft, about).weight, weight, "{about}");
    }
    let security = block(&draft).security_context;
    assert!(security.run_as_non_root && !security.read_only_root_filesystem);
}

#[test]
fn namespaces_of_the_release_are_pointed_out() {
    let draft = drafted(&operator(
        "args: [--leader-elect-ns=apps, --other=apps-x, 'in=x,apps/y']",
    ));
    assert!(
        note(&draft, "argument `--leader-elect-ns=apps`")
            .text
            .contains("$(POD_NAMESPACE)")
    );
    assert_eq!(
        note(&draft, "argument `in=x,apps/y`").weight,
        Weight::Decide
    );
    assert!(
        draft
            .notes
            .iter()
            .all(|note| !note.about.contains("apps-x"))
    );
}

#[test]
fn definitions_are_kept_to_the_byte_and_never_changed() {
    let numbers = "  # kept\n  x: [0x1F, 1.50, 012, yes, 'yes', 18446744073709551615, 1e3]\n";
    let webhook = crd("hooks.app.test").replace(
        "scope:",
        "conversion: {strategy: Webhook, webhook: {}}, scope:",
    );
    let text = format!(
        "{DEPLOYMENT}{}{numbers}{webhook}",
        crd("tests.app.test").replace("spec: {", "spec:\n  y: {")
    );
    let draft = drafted(&text);
    let file = &draft.files["operator/deploy/crds/tests.app.test_crd.yaml"];
    assert!(std::str::from_utf8(file).unwrap().ends_with(numbers));
    let file = &draft.files["operator/deploy/crds/hooks.app.test_crd.yaml"];
    assert!(
        std::str::from_utf8(file)
            .unwrap()
            .contains("strategy: Webhook")
    );
    let note = note(&draft, "CustomResourceDefinition `hooks.app.test`");
    assert!(
        note.weight == Weight::Decide && note.text.contains("strategy: None"),
        "{note:?}"
    );
}

#[test]
fn lists_are_unpacked_with_every_value() {
    let list = r#"{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "tests.app.test"},
	 "spec": {"group": "app.test", "names": {"plural": "tests"}, "x": [1.5, 18446744073709551615, -1, "yes", "é", null]}}]}"#;
    let files = [
        ("a.yaml", DEPLOYMENT.as_bytes()),
        ("b.json", list.as_bytes()),
    ];
    let draft = draft(&release(&files), &Wishes::default()).unwrap();
    let file = &draft.files["operator/deploy/crds/tests.app.test_crd.yaml"];
    let read: serde_json::Value = schemas::yaml::from_slice(file).unwrap();
    let whole: serde_json::Value = serde_json::from_str(list).unwrap();
    assert_eq!(read, whole["items"][0]);
}

#[test]
fn every_kind_that_is_left_out_has_a_reason() {
    let kinds = [
        "Service",
        "Namespace",
        "ValidatingWebhookConfiguration",
        "PodDisruptionBudget",
        "Unheard",
    ];
    let objects =
        kinds.map(|kind| format!("---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}\n"));
    let sample = "---\napiVersion: app.test/v1\nkind: X\nmetadata: {name: sample}\n";
    let old = crd("olds.app.test").replace("k8s.io/v1", "k8s.io/v1beta1");
    let draft = drafted(
        &[
            DEPLOYMENT,
            &objects.concat(),
            &crd("tests.app.test"),
            sample,
            &old,
            "---\nno: kind\n",
        ]
        .concat(),
    );
    for kind in kinds {
        assert!(note(&draft, &format!("{kind} `x`")).text.len() > 20);
    }
    assert!(
        note(&draft, "X `sample`")
            .text
            .contains("create it at the site")
    );
    assert!(
        note(&draft, "CustomResourceDefinition `olds.app.test`")
            .text
            .contains("apiextensions.k8s.io/v1")
    );
    assert!(
        draft
            .notes
            .iter()
            .any(|note| note.text.contains("has no `kind`"))
    );
    let text = std::str::from_utf8(&draft.files["NOTES.md"]).unwrap();
    for note in &draft.notes {
        assert!(
            text.contains(&format!("**{}**: {}\n", note.about, note.text)),
            "{note:?}"
        );
    }
}

#[test]
fn the_operator_is_chosen_by_rights_then_by_name_else_asked_for() {
    let other = |name: &str, account: &str| {
        let other = DEPLOYMENT.replace("app-operator", name).replace(
            "serviceAccountName: app",
            &format!("serviceAccountName: {account}"),
        );
        format!("---{other}")
    };
    let two = format!("{DEPLOYMENT}{}", other("web", "web"));
    assert_eq!(drafted(&two).id.name().as_str(), "app-operator");
    let same = format!("{DEPLOYMENT}{}", other("web-controller", "web"));
    let message = refused(&same);
    assert_eq!(
        message,
        "any of these could be the operator: `app-operator`, `web-controller`; choose one with `--deployment`"
    );
    let owner = [
        same,
        crd("tests.app.test"),
        role(
            "Role",
            "own",
            "{apiGroups: [app.test], resources: [tests, tests/status], verbs: [get, update]}",
        ),
        role(
            "Role",
            "read",
            "{apiGroups: [app.test], resources: [tests], verbs: [get, list]}",
        ),
        binding("RoleBinding", "Role", "own", "web"),
        binding("RoleBinding", "Role", "read", "app"),
    ]
    .concat();
    let draft = drafted(&owner);
    assert_eq!(draft.id.name().as_str(), "web-controller");
    assert!(
        note(&draft, "Deployment `web-controller`")
            .text
            .contains("more of the release's own resources")
    );
    let wishes = Wishes {
        deployment: Some("app-operator".to_owned()),
        ..Wishes::default()
    };
    let wished = super::draft(&release(&[("a", owner.as_bytes())]), &wishes).unwrap();
    assert_eq!(wished.id.name().as_str(), "app-operator");
}

#[test]
fn a_name_and_version_that_cannot_be_had_are_asked_for() {
    let text = DEPLOYMENT.replace("app-operator", "App.Operator");
    let message = refused(&text);
    assert!(
        message.contains("(found: `App.Operator`") && message.ends_with("give one with `--name`"),
        "{message}"
    );
    let text = DEPLOYMENT.replace("v1.2.3", "2024-rc");
    let message = refused(&text);
    assert!(
        message.contains("(found: `2024-rc`, `2024-rc`)")
            && message.ends_with("give one with `--version`"),
        "{message}"
    );
    let long = DEPLOYMENT.replace("app-operator", &"a".repeat(60));
    assert!(refused(&long).contains("give a shorter one with `--name`"));
}

/// Hostile releases: each refusal names the file, the document, the line and what to do.
#[test]
fn hostile_releases_are_refused_with_their_place() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    let other = DEPLOYMENT.replace("serviceAccountName: app", "serviceAccountName: evil");
    let many = format!(
        "---\napiVersion: v1\nkind: List\nitems: [{}]\n",
        "{kind: X},".repeat(20_000)
    );
    let path = crd("../../../etc/passwd.x").replace("name: ../", "name: ../");
    let heavy = format!(
        "---\nkind: X\na: &a '{}'\nb: [{}]\n",
        "x".repeat(1_000_000),
        "*a,".repeat(40)
    );
    let environment = operator(&format!("env: [{}]", "{name: X, value: a},".repeat(10_001)));
    for (name, text, words) in [
        (
            "bomb",
            format!("{DEPLOYMENT}---\n{bomb}"),
            &[
                "`release.yaml`, document 2 (line 12) is not usable YAML",
                "aliases expanded",
            ][..],
        ),
        (
            "documents",
            "---\na: 1\n".repeat(10_000),
            &[
                "`release.yaml` cannot be taken apart",
                "holds more than 1000 documents; line 2001",
            ],
        ),
        (
            "twice",
            format!("{DEPLOYMENT}---{other}"),
            &[
                "`release.yaml`, document 1 (line 1) and `release.yaml`, document 2 (line 12) both define Deployment `app-operator`",
                "give one release only",
            ],
        ),
        (
            "path",
            format!("{DEPLOYMENT}{path}"),
            &[
                "`release.yaml`, document 2 (line 12) holds CustomResourceDefinition `../../../etc/passwd.x`",
                "correct `metadata.name`",
            ],
        ),
        (
            "objects",
            format!("{DEPLOYMENT}{many}"),
            &["document 2 (line 12): with it the release holds more than 10000 objects"],
        ),
        (
            "text",
            format!("{DEPLOYMENT}{heavy}{heavy}"),
            &["document 3", "67108864 bytes of text"],
        ),
        (
            "variables",
            environment,
            &[
                "document 1 (line 1)",
                "10000 arguments, variables or volumes",
            ],
        ),
        (
            "template",
            format!("{DEPLOYMENT}---\na: {{{{ .Values.x }}}}\n"),
            &["document 2 (line 12)", "template"],
        ),
        ("nothing", String::new(), &["holds no Deployment"]),
        (
            "no image",
            DEPLOYMENT.replace("quay.io/org/app:v1.2.3", "''"),
            &["document 1 (line 1): Deployment `app-operator` has no container with an image"],
        ),
        (
            "no reference",
            DEPLOYMENT.replace("quay.io/org/app:v1.2.3", "QUAY"),
            &["document 1 (line 1): Deployment `app-operator` has `QUAY` for an image"],
        ),
        (
            "expansion",
            operator("args: ['$(image:nothing)']"),
            &[
                "does not fit a Solution",
                "`$(image:nothing)` names no image",
            ],
        ),
        (
            "variable",
            operator("env: [{name: 'a=b', value: x}]"),
            &["does not fit a Solution", "Kubernetes refuses"],
        ),
    ] {
        let message = refused(&text);
        for word in words {
            assert!(message.contains(word), "{name}: {message}");
        }
        assert!(message.len() < 1500, "{name}: {message}");
    }
    let error = draft(
        &release(&[("a.yaml", b"a: 1\nb: \xff\n")]),
        &Wishes::default(),
    )
    .unwrap_err();
    let cause = error.source().unwrap().to_string();
    assert!(
        error.to_string().starts_with("`a.yaml`") && cause.contains("line 2"),
        "{error}: {cause}"
    );
}

/// Names that would mean something else in solution.yaml, in its comments or in NOTES.md.
#[test]
fn names_cannot_break_out_of_what_is_written() {
    let name = r#""x\n  version: 9.9.9\n# \u2028`**[a](b)\u001b[2J""#;
    let text = operator(&format!(
        "args: [{name}]\nenv: [{{name: A, value: {name}}}]"
    ))
    .replace("name: app-operator", &format!("name: {name}"))
    .replace("v1.2.3}", "v1.2.3, app.kubernetes.io/name: app}");
    let draft = drafted(&text);
    assert_eq!(draft.id.to_string(), "app-1.2.3");
    assert_eq!(
        block(&draft).args[0].lines().nth(1),
        Some("  version: 9.9.9")
    );
    for text in
        ["solution.yaml", "NOTES.md"].map(|file| std::str::from_utf8(&draft.files[file]).unwrap())
    {
        assert!(
            !text.contains('\u{1b}') && !text.contains("\n  version: 9.9.9"),
            "{text}"
        );
    }
    let read = SolutionSource::from_slice(&draft.files["solution.yaml"]).unwrap();
    assert_eq!(read, draft.source);
}
