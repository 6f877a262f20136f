//! Tests of operators: the parts of a release that are taken over, the notes about the rest, and releases without an
//! operator.

use serde_json::{Value, json};

use super::*;

#[test]
fn the_smallest_release_is_one_deployment_that_takes_its_configuration() {
    let draft = drafted(DEPLOYMENT);
    assert_eq!(draft.id.to_string(), "app-operator-1.2.3");
    assert_eq!(places(&draft), ["app:v1.2.3"]);
    let operator = block(&draft);
    assert_eq!(operator.image.place().to_string(), "app:v1.2.3");
    let command = ["/manager", "--config=/etc/config/operator.yaml"];
    assert_eq!(operator.command.as_deref().unwrap(), command);
    assert_eq!(operator.scope, OperatorScope::Namespace);
    assert_eq!(operator.env, []);
    assert_eq!(operator.template, None);
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
    let abouts: Vec<&str> = draft.notes.iter().map(|note| note.about.as_str()).collect();
    assert_eq!(abouts, ["scope", "images that programs start"]);
}

#[test]
fn the_configuration_is_where_an_import_mounts_it() {
    let args = |args: &str| {
        let text = DEPLOYMENT.replace("--config=/etc/config/operator.yaml", "run");
        let draft = drafted(&format!("{text}          args: [{args}]\n"));
        block(&draft).args.clone()
    };
    assert_eq!(
        args("--leader-elect, -config, /app/x.yaml, --config-map=a"),
        [
            "--leader-elect",
            "-config",
            "/etc/config/operator.yaml",
            "--config-map=a"
        ]
    );
    assert_eq!(
        args("--config=/app/x.yaml"),
        ["--config=/etc/config/operator.yaml"]
    );
}

#[test]
fn its_pod_is_taken_as_it_stands_but_for_what_an_import_sets() {
    let text = operator(
        "imagePullPolicy: Always
args: [--helper, 'quay.io/org/helper:2']
env:
- {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: RELATED_IMAGE_WEB, value: 'quay.io/org/web:1'}
- {name: EMPTY}
- {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
readinessProbe: {httpGet: {path: /readyz, port: 8081}}
volumeMounts: [{name: operator-config, mountPath: /etc/config}, {name: cert, mountPath: /cert}]",
    );
    let marks = "spec:
  replicas: 2
  strategy: {type: Recreate}
  template:
    metadata: {labels: {app: app, control-plane: manager}, annotations: {a: b}}
";
    let more = "        - {name: proxy, image: 'quay.io/org/proxy:3'}
      initContainers: [{name: init, image: 'quay.io/org/helper:2'}]
      priorityClassName: high
      imagePullSecrets: [{name: login}]
      nodeSelector: {kubernetes.io/os: linux}
      volumes: [{name: operator-config, configMap: {name: x}}, {name: cert, secret: {secretName: app-cert}}]
";
    let text = text.replace("spec:\n  template:\n", marks) + more;
    let draft = drafted(&text);
    assert_eq!(block(&draft).args, ["--helper", "$(image:helper)"]);
    let env = [("RELATED_IMAGE_WEB", "$(image:web)"), ("EMPTY", "")];
    let variables = block(&draft).env.iter();
    let variables = variables.map(|variable| (variable.name.as_str(), variable.value.as_str()));
    assert_eq!(variables.collect::<Vec<_>>(), env);
    let expected = json!({
        "replicas": 2,
        "metadata": {"labels": {"control-plane": "manager"}, "annotations": {"a": "b"}},
        "spec": {
            "containers": [
                {
                    "name": "operator",
                    "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                    "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}},
                    "volumeMounts": [{"name": "cert", "mountPath": "/cert"}],
                },
                {"name": "proxy", "image": "$(image:proxy)"},
            ],
            "initContainers": [{"name": "init", "image": "$(image:helper)"}],
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "volumes": [{"name": "cert", "secret": {"secretName": "app-cert"}}],
        },
    });
    assert_eq!(json!(block(&draft).template), expected);
    let said: Vec<&str> = draft
        .notes
        .iter()
        .filter(|note| note.about == "Deployment `app-operator`")
        .map(|note| note.text.as_str())
        .collect();
    assert!(
        said[0].starts_with("its pods use `app-cert`, which"),
        "{said:?}"
    );
    assert!(said[1].starts_with("has `strategy`, which"), "{said:?}");
    assert_eq!(said.len(), 2);
}

/// Pods may have fields that an import does not support.
#[test]
fn what_no_template_may_say_is_refused() {
    let said = refused(&operator(
        "securityContext: {allowPrivilegeEscalation: true}",
    ));
    assert!(said.contains("is not allowed for operators"), "{said}");
}

#[test]
fn what_takes_no_configuration_is_no_operator() {
    let without = DEPLOYMENT.replace(", --config=/etc/config/operator.yaml", "");
    for text in [
        without.clone(),
        DEPLOYMENT.replace("kind: Deployment", "kind: StatefulSet"),
        DEPLOYMENT.replace("--config=", "--configuration="),
    ] {
        let said = refused(&text);
        assert!(
            said.contains("no Deployment of the release has the argument `--config`"),
            "{said}"
        );
    }
    let other = |text: &str| format!("---{}", text.replace("app-operator", "other"));
    assert_eq!(
        drafted(&(DEPLOYMENT.to_owned() + &other(&without)))
            .id
            .name()
            .as_str(),
        "app-operator"
    );
    let two = DEPLOYMENT.to_owned() + &other(DEPLOYMENT);
    let said = refused(&two);
    assert_eq!(
        said,
        "multiple Deployments could be the operator: `app-operator`, `other`"
    );
    let release = release(&[("a.yaml", two.as_bytes())]);
    let wished = |name: &str| {
        let wishes = Wishes {
            deployment: Some(name.to_owned()),
            ..Wishes::default()
        };
        draft(&release, &wishes)
    };
    let made = wished("other").unwrap();
    assert_eq!(
        note(&made, "objects").text.split(':').next(),
        Some("Deployment `app-operator`")
    );
    let said = wished("third").unwrap_err().to_string();
    assert!(
        said.contains("no Deployment `third` with the argument"),
        "{said}"
    );
    assert!(
        said.ends_with("Deployments with it: `app-operator`, `other`"),
        "{said}"
    );
}

#[test]
fn what_else_a_release_has_is_said() {
    let kind = |kind: &str| format!("---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}\n");
    let kinds = ["Namespace", "Service", "ServiceAccount", "Unheard"].map(kind);
    let draft = drafted(&format!("{DEPLOYMENT}{}---\nno: kind\n", kinds.concat()));
    let said = note(&draft, "objects");
    assert!(
        said.text
            .starts_with("Service `x`, Unheard `x`: if the operator needs them"),
        "{said:?}"
    );
    assert_eq!(said.weight, NoteWeight::Lost);
    assert!(
        draft
            .notes
            .iter()
            .any(|note| note.text.contains("has no `kind`"))
    );
    let text = std::str::from_utf8(&draft.files["NOTES.md"]).unwrap();
    for note in &draft.notes {
        let line = format!("**{}**: {}\n", note.about, note.text);
        assert!(text.contains(&line), "{note:?}");
    }
}

#[test]
fn definitions_are_kept_to_the_byte() {
    let numbers = "  # kept\n  x: [0x1F, 1.50, 012, yes, 'yes', 18446744073709551615, 1e3]\n";
    let definition = crd("tests.app.test").replace("spec: {", "spec:\n  y: {");
    let draft = drafted(&format!("{DEPLOYMENT}{definition}{numbers}"));
    let file = &draft.files["operator/deploy/crds/tests.app.test_crd.yaml"];
    assert!(std::str::from_utf8(file).unwrap().ends_with(numbers));
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
    let read: Value = schemas::yaml::from_slice(file).unwrap();
    let whole: Value = serde_json::from_str(list).unwrap();
    assert_eq!(read, whole["items"][0]);
}

#[test]
fn a_name_and_version_that_cannot_be_had_are_asked_for() {
    let text = DEPLOYMENT
        .replace("app-operator", "App.Operator")
        .replace("namespace: apps", "namespace: Apps");
    let message = refused(&text);
    assert!(
        message.contains("gives no name") && message.contains("`App.Operator`"),
        "{message}"
    );
    let text = DEPLOYMENT.replace("v1.2.3", "2024-rc");
    let message = refused(&text);
    assert!(
        message.contains("gives no version") && message.contains("(found: `2024-rc`)"),
        "{message}"
    );
    let long = DEPLOYMENT.replace("app-operator", &"a".repeat(60));
    assert!(refused(&long).contains("cannot have this name"));
}

const PODS: &str = "{apiGroups: [''], resources: [pods], verbs: [get]}";

#[test]
fn only_the_operators_roles_are_taken() {
    let text = [
        DEPLOYMENT,
        &role("Role", "own", PODS),
        &role("Role", "other", PODS),
        &role("ClusterRole", "view", PODS),
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
    let left = note(&draft, "objects");
    assert!(
        left.text.starts_with("Role `other`, ClusterRole `view`: "),
        "{left:?}"
    );
    let missing = note(&draft, "roles");
    assert_eq!(missing.weight, NoteWeight::Decide);
    let words = "binds `ClusterRole system:auth-delegator` but does not define";
    assert!(missing.text.contains(words), "{missing:?}");
}

#[test]
fn without_bindings_all_roles_are_taken_and_that_is_said() {
    let draft = drafted(&format!("{DEPLOYMENT}{}", role("Role", "any", "")));
    assert!(roles(&draft).contains("name: any"));
    let said = note(&draft, "roles");
    assert!(
        said.weight == NoteWeight::Decide && said.text.contains("no binding"),
        "{said:?}"
    );
}

#[test]
fn the_scope_follows_from_bindings_and_what_is_watched() {
    let wide = role("ClusterRole", "wide", PODS)
        + &binding("ClusterRoleBinding", "ClusterRole", "wide", "app");
    let narrow =
        role("ClusterRole", "wide", PODS) + &binding("RoleBinding", "ClusterRole", "wide", "app");
    let own =
        "env: [{name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]";
    let all = "env: [{name: WATCH_NAMESPACE, value: ''}]";
    let (cluster, namespace) = (OperatorScope::Cluster, OperatorScope::Namespace);
    for (container, bound, scope, watching) in [
        ("", &wide, cluster, 1),
        (all, &wide, cluster, 1),
        (own, &wide, namespace, 0),
        (
            "env: [{name: WATCH_NAMESPACE, value: apps}]",
            &wide,
            namespace,
            0,
        ),
        ("", &narrow, namespace, 0),
    ] {
        let draft = drafted(&(operator(container) + bound));
        assert_eq!(block(&draft).scope, scope, "{container}");
        // Without the variable, an import limits the operator to its namespace.
        assert_eq!(block(&draft).env.len(), watching, "{container}");
        let said = &note(&draft, "scope").text;
        assert!(said.starts_with(&format!("{scope:?}: ")), "{said}");
    }
}

/// An import binds roles in the operator's namespace or in the whole cluster. No role may grant more than in the
/// release.
#[test]
fn a_role_never_holds_elsewhere_than_in_the_release() {
    let elsewhere = binding("RoleBinding", "Role", "own", "app").replace(
        "own-RoleBinding, namespace: apps",
        "x, namespace: kube-system",
    );
    let own = role("Role", "own", PODS).replace("namespace: apps", "namespace: kube-system");
    let said = refused(&[DEPLOYMENT, &own, &elsewhere].concat());
    assert!(
        said.contains("Role `own` is bound in a different namespace"),
        "{said}"
    );
    let mixed = [
        DEPLOYMENT,
        &role("ClusterRole", "narrow", PODS),
        &role("ClusterRole", "wide", PODS),
        &binding("RoleBinding", "ClusterRole", "narrow", "app"),
        &binding("ClusterRoleBinding", "ClusterRole", "wide", "app"),
    ];
    let said = refused(&mixed.concat());
    assert!(
        said.contains("ClusterRole `narrow` is bound in one namespace"),
        "{said}"
    );
}
