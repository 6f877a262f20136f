//! Tests of releases that are packaged unchanged: images that are found, open decisions, and the files of the tree.

use manifests::SkippedFile;

use super::*;

fn abouts(tree: &SourceTree) -> Vec<&str> {
    tree.notes.iter().map(|note| note.about.as_str()).collect()
}

fn paths(tree: &SourceTree) -> Vec<&str> {
    tree.files.keys().map(String::as_str).collect()
}

#[test]
fn images_are_found_in_pods_of_every_kind_and_where_names_say_so() {
    let more = "---
apiVersion: batch/v1
kind: CronJob
metadata: {name: a}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: 'r.test/cron:1', args: [--engine-image, 'org/engine:v1', 'org/none:v1', '--web-image=org/web:v1']}]}}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: a}
spec: {template: {spec: {containers: [{image: 'r.test/set:1'}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  initContainers: [{image: init}]
  volumes: [{name: v, image: {reference: data}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {about: 'r.test/about:1'}}
data: {text: 'run r.test/map:1 now'}
---
apiVersion: example.test/v1
kind: Thing
metadata: {name: a}
spec: {image: 'r.test/thing:1', proxyImage: 'r.test/proxy:1', text: 'r.test/text:1'}
";
    let tree = carried(&format!("{DEPLOYMENT}{more}"));
    let mut found = places(&tree);
    found.sort();
    assert_eq!(
        found,
        [
            "app:v1.2.3",
            "cron:1",
            "data:latest",
            "engine:v1",
            "init:latest",
            "map:1",
            "proxy:1",
            "set:1",
            "thing:1",
            "web:v1"
        ]
    );
    assert_eq!(abouts(&tree), ["`r.test/about:1`", "`r.test/text:1`"]);
    let line =
        "add `- {name: text, tag: \"1\", source: \"docker://r.test/text:1\"}` to spec.images";
    assert!(tree.notes[1].text.ends_with(line), "{}", tree.notes[1].text);
}

#[test]
fn a_program_that_may_create_pods_is_told_to_have_images_of_its_own() {
    let rights = |verb: &str| {
        format!(
            "---
{{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {{name: app}}, rules: [{{apiGroups: [''], resources: [pods], verbs: [{verb}]}}]}}
---
{{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{name: app}}, roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: app}}, subjects: [{{kind: ServiceAccount, name: app}}]}}
"
        )
    };
    let carried = |verb: &str| {
        let text = format!("{DEPLOYMENT}{}", rights(verb));
        carry(
            &release(&[("a.yaml", text.as_bytes())]),
            &InitOptions::default(),
        )
        .unwrap()
    };
    let tree = carried("create");
    assert_eq!(abouts(&tree), ["images that programs start"]);
    let words = "`quay.io/org/app:v1.2.3` may create pods. ";
    assert!(
        tree.notes[0].text.starts_with(words),
        "{}",
        tree.notes[0].text
    );
    assert_eq!(abouts(&carried("list")), [""; 0]);
}

#[test]
fn what_is_no_object_is_not_carried_or_said() {
    let mut files = release(&[
        ("a.yaml", DEPLOYMENT.as_bytes()),
        ("annotations.yaml", b"annotations: {a: b}\n"),
        ("both.yaml", b"a: b\n---\nkind: X\nmetadata: {name: a}\n"),
        ("comment.yaml", b"# nothing\n"),
    ]);
    let passed_over = [
        ("LICENSE", "is no manifest"),
        ("kustomization.yaml", "is a recipe"),
    ];
    files.passed_over = passed_over
        .map(|(file, why)| SkippedFile {
            file: file.to_owned(),
            why,
        })
        .to_vec();
    let tree = carry(&files, &InitOptions::default()).unwrap();
    assert_eq!(
        paths(&tree),
        [
            ".solution-init/NOTES.md",
            ".solution-init/README",
            ".solution-init/manifests/a.yaml",
            ".solution-init/manifests/both.yaml",
            ".solution-init/manifests/comment.yaml",
            ".solution-init/solution.yaml",
            "NOTES.md",
            "manifests/a.yaml",
            "manifests/both.yaml",
            "manifests/comment.yaml",
            "solution.yaml"
        ]
    );
    assert_eq!(
        abouts(&tree),
        [
            "file `kustomization.yaml`",
            "`annotations.yaml`, document 1 (line 1)",
            "`both.yaml`, document 1 (line 1)"
        ]
    );
}

#[test]
fn a_file_has_a_name_under_which_it_is_read_again() {
    for (name, path) in [
        ("app.yml", "manifests/app.yml"),
        ("release", "manifests/release.yaml"),
        ("v1.2.3", "manifests/v1.2.3.yaml"),
        ("kustomization.yaml", "manifests/kustomization.yaml.yaml"),
    ] {
        let release = release(&[(name, DEPLOYMENT.as_bytes())]);
        let tree = carry(&release, &InitOptions::default()).unwrap();
        assert!(paths(&tree).contains(&path), "{name}");
    }
}

#[test]
fn a_name_is_what_the_parts_are_named_after_and_a_version_what_most_have() {
    let workload = |name: &str, labels: &str, tag: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: shop-system, labels: {{{labels}}}}}\nspec: {{template: {{spec: {{containers: [{{image: 'r.test/x:{tag}'}}]}}}}}}\n"
        )
    };
    let label = |name: &str| format!("app.kubernetes.io/name: {name}");
    for (id, workloads) in [
        (
            "shop-1.0.0",
            [
                workload("shop-web", &label("web"), "v1.0.0"),
                workload("shop-db", &label("web"), "v16.2.0"),
                workload("shop", &label("shop"), "v1.0.0"),
            ]
            .concat(),
        ),
        (
            "shop-1.0.0",
            workload("web", "", "1.0.0") + &workload("db", "", "1.0.0"),
        ),
        (
            "shop-1.0.0",
            workload("shop-db", "", "2.0.0")
                + &workload("shop", "app.kubernetes.io/version: v1.0.0", "2.0.0"),
        ),
        (
            "shop-1.0.0-rc.1",
            workload("till", "app.kubernetes.io/part-of: shop", "1.0.0-rc.1"),
        ),
        (
            "shop-1.0.0",
            workload("shop-controller-manager", "", "1.0.0"),
        ),
    ] {
        assert_eq!(carried(&workloads).id.to_string(), id, "{workloads}");
    }
    let error = try_carry(&workload("web", "", "latest")).unwrap_err();
    let is_told = |error: &ReleaseError| matches!(error, ReleaseError::NoVersion(found) if found == "`latest`");
    assert!(is_told(&error), "{error}");
}

/// The version of a release with the structure of rook: an object of a part comes first and alone has a version label.
#[test]
fn the_version_of_a_part_is_not_that_of_the_release() {
    let workload = |name: &str, labels: &str, images: &[&str]| {
        let containers = images.iter().map(|image| format!("{{image: '{image}'}}"));
        let containers = containers.collect::<Vec<_>>().join(", ");
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: rock-sea, labels: {{{labels}}}}}\nspec: {{template: {{spec: {{containers: [{containers}]}}}}}}\n"
        )
    };
    let part = workload(
        "sea-csi-controller",
        "app.kubernetes.io/name: sea-csi, app.kubernetes.io/version: v1.0.4",
        &["r.test/sea/csi:v1.0.4"],
    );
    let own = "app.kubernetes.io/part-of: rock-sea-operator";
    for (own, version) in [
        // The image or its workload has the name of the release.
        (
            workload("rock-sea-operator", own, &["r.test/rock/sea:v1.20.6"]),
            Some("1.20.6"),
        ),
        (
            workload(
                "rock-sea-operator",
                own,
                &["r.test/all:v1.20.6", "r.test/proxy:v0.9.0"],
            ),
            Some("1.20.6"),
        ),
        // The release's own label takes precedence over the image.
        (
            workload(
                "rock-sea-operator",
                &format!("{own}, app.kubernetes.io/version: 1.20.6"),
                &["r.test/rock/sea:v9.0.0"],
            ),
            Some("1.20.6"),
        ),
        // The versions are ambiguous.
        (workload("manager", own, &["r.test/all:v1.20.6"]), None),
        (
            workload("rock-sea-operator", own, &["r.test/rock/sea:master"]),
            None,
        ),
    ] {
        match (try_carry(&(part.clone() + &own)), version) {
            (Ok(tree), Some(version)) => assert_eq!(tree.id.version().to_string(), version),
            (Err(ReleaseError::NoVersion(found)), None) => {
                assert!(found.contains("1.0.4"), "{found}");
            }
            (made, _) => panic!("{version:?}: {made:?}"),
        }
    }
    // Parts of one release have the same version.
    let together = |name: &str| {
        let image = format!("r.test/{name}:v1.2.0");
        workload(name, "", &[&image, "r.test/proxy:v0.9.0"])
    };
    let tree = carried(&(together("web") + &together("db")));
    assert_eq!(tree.id.version().to_string(), "1.2.0");
}

/// A release with the structure of metallb: a definition with webhook conversion is in the set, and `pack` accepts it.
#[test]
fn it_is_only_said_that_pack_refuses_what_it_refuses() {
    let definition = "---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: peers.shop.test, creationTimestamp: null}
spec:
  group: shop.test
  scope: Namespaced
  names: {kind: Peer, plural: peers}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: apps, path: /convert}}}}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
status: {conditions: []}
";
    let tree = carried(&(DEPLOYMENT.to_owned() + definition));
    assert!(abouts(&tree).is_empty(), "{:?}", tree.notes);
}

#[test]
fn what_pack_refuses_and_webhooks_that_stop_everything_are_said() {
    let secret = |name: &str, more: &str| {
        format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\n{more}\n")
    };
    let webhook = |name: &str, more: &str, groups: &str| {
        format!(
            "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {{name: {name}}}\nwebhooks: [{{name: w.test, {more}rules: [{{apiGroups: ['{groups}'], resources: ['*']}}]}}]\n"
        )
    };
    let public =
        "metadata: {name: public, annotations: {solutions.metalk8s.scality.com/public: 'true'}}";
    let release = [
        DEPLOYMENT.to_owned(),
        secret("empty", "type: Opaque"),
        secret("no-data", "data: {}"),
        secret("data", "data: {a: Yg==}"),
        secret("public", "data: {a: Yg==}").replace("metadata: {name: public}", public),
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:node-mine', creationTimestamp: null}\nstatus: {}\n".to_owned(),
        webhook("all", "", "*"),
        webhook("ignored", "failurePolicy: Ignore, ", "*"),
        webhook("narrow", "namespaceSelector: {matchLabels: {a: b}}, ", "*"),
        webhook("own", "", "apps"),
    ];
    let tree = carried(&release.concat());
    assert_eq!(
        abouts(&tree),
        [
            "Secret `data`",
            "ClusterRole `system:node-mine`",
            "MutatingWebhookConfiguration `all`"
        ]
    );
}

#[test]
fn a_name_and_version_that_cannot_be_found_are_asked_for() {
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
