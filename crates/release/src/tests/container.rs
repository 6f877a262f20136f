//! The container: what runs in it, which images it names, and what it has to do without.

use serde_json::{Value, json};

use super::*;

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
        ("KEY", Weight::Decide, "secretKeyRef"),
        ("NUMBER", Weight::Decide, "not a string"),
    ] {
        let note = note(&draft, &format!("variable `{name}`"));
        assert_eq!(note.weight, weight, "{name}");
        assert!(note.text.contains(words), "{}", note.text);
    }
    let variables = [
        json!({"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}),
        json!({"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}}),
    ];
    assert_eq!(own_container(&draft)["env"], json!(variables));
}

/// What the template says of the operator's container.
fn own_container(draft: &SourceTree) -> &Value {
    let template = block(draft).template.as_ref().unwrap();
    template.own_container().unwrap()
}

#[test]
fn what_needs_nothing_else_at_a_site_stands_in_the_template() {
    let text = operator(
        "args: [--leader-elect]
ports: [{name: probes, containerPort: 8081, hostPort: 8081}]
readinessProbe: {httpGet: {path: /readyz, port: probes}}
livenessProbe: {httpGet: {path: /healthz, port: probes}}
resources: {limits: {cpu: 100m}}
workingDir: /app
securityContext: {readOnlyRootFilesystem: true}
volumeMounts: [{name: tmp, mountPath: /tmp}, {name: cert, mountPath: /certs}]",
    );
    let marks = "spec:
  replicas: 2
  template:
    metadata: {labels: {app: app, app.kubernetes.io/name: app, control-plane: manager}}
";
    let volumes = "      volumes: [{name: tmp, emptyDir: {sizeLimit: 1Gi}}, {name: cert, secret: {secretName: x}}]\n";
    let text = text.replace("spec:\n  template:\n", marks) + volumes;
    let draft = drafted(&text);
    let template = block(&draft).template.as_ref().unwrap();
    let expected = json!({
        "replicas": 2,
        "metadata": {"labels": {"app.kubernetes.io/name": "app", "control-plane": "manager"}},
        "spec": {
            "containers": [{
                "name": "operator",
                "ports": [{"name": "probes", "containerPort": 8081}],
                "readinessProbe": {"httpGet": {"path": "/readyz", "port": "probes"}},
                "livenessProbe": {"httpGet": {"path": "/healthz", "port": "probes"}},
                "resources": {"limits": {"cpu": "100m"}},
                "workingDir": "/app",
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
            }],
            "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}],
        },
    });
    assert_eq!(json!(template), expected);
    assert!(block(&draft).security_context.read_only_root_filesystem);
    let about: Vec<&str> = draft.notes.iter().map(|note| note.about.as_str()).collect();
    assert!(about.contains(&"volume `cert` at `/certs`"), "{about:?}");
    for gone in [
        "field `resources`",
        "field `ports`",
        "field `replicas`",
        "volume `tmp` at `/tmp`",
    ] {
        assert!(!about.contains(&gone), "{about:?}");
    }
}

/// Nothing that a release says of its pods is left out without a word.
#[test]
fn what_no_template_has_is_noted() {
    let text = operator(
        "ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81, hostPort: 0}]
tty: true
securityContext: {runAsGroup: 5, seccompProfile: {type: Unconfined}}",
    );
    let marks = "spec:
  replicas: 0
  strategy: {type: Recreate}
  template:
    metadata: {labels: {app: app}, annotations: {scrape: 'true', kubectl.kubernetes.io/default-container: operator}}
";
    let pod = "      dnsPolicy: None
      enableServiceLinks: false
      automountServiceAccountToken: false
      schedulerName: own
      terminationGracePeriodSeconds: 600
      securityContext: {fsGroup: 5, seccompProfile: {type: RuntimeDefault}}
";
    let text = text.replace("spec:\n  template:\n", marks) + pod;
    let draft = drafted(&text);
    for (about, weight) in [
        ("field `replicas`", Weight::Decide),
        ("field `hostPort` (8080)", Weight::Decide),
        ("field `strategy`", Weight::Decide),
        ("field `automountServiceAccountToken`", Weight::Decide),
        ("label `app` of the pods", Weight::Made),
        ("annotation `scrape` of the pods", Weight::Lost),
        ("field `tty`", Weight::Lost),
        ("field `dnsPolicy`", Weight::Lost),
        ("field `enableServiceLinks`", Weight::Lost),
        ("field `schedulerName`", Weight::Lost),
        ("field `terminationGracePeriodSeconds`", Weight::Lost),
        ("field `fsGroup` of the pod's securityContext", Weight::Lost),
        (
            "field `runAsGroup` of the container's securityContext",
            Weight::Lost,
        ),
        (
            "field `seccompProfile` of the container's securityContext",
            Weight::Lost,
        ),
    ] {
        assert_eq!(note(&draft, about).weight, weight, "{about}");
    }
    let notes = draft
        .notes
        .iter()
        .filter(|note| note.about.starts_with("field "));
    assert_eq!(notes.count(), 12);
    let usual = DEPLOYMENT.replace(
        "      serviceAccountName: app\n",
        "      serviceAccountName: app\n      dnsPolicy: ClusterFirst\n      restartPolicy: Always\n      enableServiceLinks: true\n",
    );
    assert_eq!(drafted(&usual).notes, drafted(DEPLOYMENT).notes);
}

#[test]
fn a_release_that_says_nothing_of_its_pods_has_no_template() {
    assert_eq!(block(&drafted(DEPLOYMENT)).template, None);
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

/// Of several variables of one name the last counts, wherever they come from.
#[test]
fn a_variable_of_several_config_maps_is_given_once() {
    let map = |name: &str, value: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: apps}}\ndata: {{A: {value}, C: {value}}}\n"
        )
    };
    let text = operator(
        "env: [{name: C, value: own}]
envFrom: [{configMapRef: {name: one}}, {configMapRef: {name: two}}]",
    );
    let draft = drafted(&format!(
        "{text}{}{}",
        map("one", "first"),
        map("two", "second")
    ));
    assert_eq!(env(&draft), [("A", "second"), ("C", "own")]);
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
}

#[test]
fn short_references_are_completed_and_that_is_said() {
    let draft = drafted(&operator(
        "args: ['--web-image=nginx:1.2', --images=org/tool]
env: [{name: RELATED_IMAGE_DB, value: postgres}, {name: AN_IMAGE, value: 'index.docker.io/a/b:1'}]",
    ));
    let sources = draft.source.spec.images.iter();
    let sources: Vec<String> = sources.map(|image| image.source.to_string()).collect();
    assert_eq!(
        sources[1..],
        [
            "docker://docker.io/library/nginx:1.2",
            "docker://docker.io/org/tool:latest",
            "docker://docker.io/library/postgres:latest",
            "docker://docker.io/a/b:1"
        ]
    );
    let note = note(&draft, "references");
    assert!(
        note.text
            .contains("`postgres is docker.io/library/postgres:latest`"),
        "{}",
        note.text
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
    let others = note(&draft, "images of other programs");
    assert!(
        others
            .text
            .starts_with("`rbac-proxy:1`, `prepare:1` are asked for only by"),
        "{}",
        others.text
    );
    for (about, weight) in [
        ("field `hostNetwork`", Weight::Decide),
        ("field `priorityClassName`", Weight::Lost),
        ("init container `prepare`", Weight::Decide),
        ("container `proxy`", Weight::Lost),
        ("field `somethingNew`", Weight::Lost),
        ("field `privileged`", Weight::Decide),
        ("field `capabilities`", Weight::Decide),
        ("volume `cert` at `/certs`", Weight::Decide),
        ("volume `host` at `/host`", Weight::Decide),
    ] {
        assert_eq!(note(&draft, about).weight, weight, "{about}");
    }
    let security = block(&draft).security_context;
    assert!(security.run_as_non_root && security.read_only_root_filesystem);
    assert_eq!(security.run_as_user.map(u32::from), Some(65532));
}

#[test]
fn root_is_never_asked_for() {
    for user in ["0", "-1", "4294967296", "'65532'"] {
        let draft = drafted(&operator(&format!(
            "securityContext: {{runAsUser: {user}}}"
        )));
        assert_eq!(block(&draft).security_context.run_as_user, None, "{user}");
        assert_eq!(note(&draft, "field `runAsUser`").weight, Weight::Decide);
    }
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
