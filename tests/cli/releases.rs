//! `init --from --as operator`: releases in the shape of three well-known operators become archives that `validate`
//! accepts.

use std::path::{Path, PathBuf};

use fixtures::image::{Artifact, ImageBuilder};
use fixtures::layout::OciLayout;
use schemas::{ImageSource, OperatorScope, SolutionSource};
use serde_json::Value;

use crate::common::Desk;

/// What makes an operator of the release that follows.
const OPERATOR: [&str; 4] = ["init", "--as", "operator", "--from"];

/// A release that was written for tests.
pub(crate) fn release(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/releases");
    path.join(name).display().to_string()
}

/// Puts an image where each source is, instead of in a registry.
pub(crate) fn bring_images(desk: &Desk, directory: &str) -> SolutionSource {
    let path = format!("{directory}/solution.yaml");
    let mut text = String::from_utf8(desk.read(&path)).unwrap();
    let source = SolutionSource::from_slice(text.as_bytes()).unwrap();
    for (number, image) in source.spec.images.iter().enumerate() {
        let ImageSource::Docker(reference) = &image.source else {
            panic!("{image:?}");
        };
        assert_eq!(Some(reference), image.reference.as_ref());
        let layout = format!("images/{number}");
        let content = ImageBuilder::new()
            .file("/program", reference.as_str(), 0o755)
            .user(65532)
            .build();
        OciLayout::create(desk.path(&format!("{directory}/{layout}")))
            .and_then(|images| images.add(&Artifact::from(content), None))
            .and_then(OciLayout::finish)
            .unwrap();
        text = text.replace(
            &format!("source: \"{}\"", image.source),
            &format!("source: \"oci:{layout}\""),
        );
    }
    desk.write(&path, text);
    source
}

/// Makes a tree of a release, packs and validates it. Gives what `init` said, the tree and what `validate` found.
#[track_caller]
fn whole_way(desk: &Desk, release: &str, directory: &str) -> (Value, SolutionSource, Vec<String>) {
    let made = desk.solution(&[&OPERATOR[..], &[release, "--output", "json"]].concat());
    assert_eq!(made.code, 0, "{made:?}");
    let source = bring_images(desk, directory);
    desk.solution(&[
        "pack",
        directory,
        "-o",
        "example.iso",
        "--key",
        "publisher.key",
    ])
    .success();
    let report = desk.report(&["--key", "publisher.pub"], 0);
    let findings = report["findings"].as_array().unwrap();
    let ids = findings
        .iter()
        .map(|finding| finding["id"].as_str().unwrap().to_owned());
    (made.json(), source, ids.collect())
}

/// What the notes of this weight are about.
fn about(made: &Value, weight: &str) -> Vec<String> {
    let notes = made["notes"].as_array().unwrap().iter();
    notes
        .filter(|note| note["weight"] == weight)
        .map(|note| note["about"].as_str().unwrap().to_owned())
        .collect()
}

fn images(source: &SolutionSource) -> Vec<String> {
    let places = source.spec.images.iter();
    places.map(|image| image.place().to_string()).collect()
}

fn env(source: &SolutionSource) -> Vec<(String, String)> {
    let variables = source.spec.operator.as_ref().unwrap().env.iter();
    variables
        .map(|variable| (variable.name.clone(), variable.value.clone()))
        .collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

pub(crate) fn names(desk: &Desk, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(desk.path(directory)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn one_of_several_deployments_is_the_operator_and_the_others_are_told() {
    let desk = Desk::with_key();
    let (made, source, findings) = whole_way(&desk, &release("cert-keeper.yaml"), "cert-keeper");
    // It keeps certificates in Secrets.
    assert_eq!(findings, ["operator.dangerous-rule"]);
    assert_eq!(source.id().unwrap().to_string(), "cert-keeper-1.16.1");
    assert_eq!(
        images(&source),
        [
            "cert-keeper-controller:v1.16.1",
            "cert-keeper-acmesolver:v1.16.1",
            "cert-keeper-cainjector:v1.16.1",
            "cert-keeper-webhook:v1.16.1"
        ]
    );
    let operator = source.spec.operator.as_ref().unwrap();
    assert_eq!(operator.image.name.as_str(), "cert-keeper-controller");
    assert_eq!(operator.command.as_deref(), Some(&[][..]));
    assert_eq!(
        operator.args,
        [
            "--v=2",
            "--cluster-resource-namespace=$(POD_NAMESPACE)",
            "--leader-election-namespace=kube-system",
            "--acme-http01-solver-image=$(image:cert-keeper-acmesolver)",
            "--max-concurrent-challenges=60"
        ]
    );
    assert_eq!(env(&source), [pair("WATCH_NAMESPACE", "")]);
    assert_eq!(operator.scope, OperatorScope::Cluster);
    assert!(operator.security_context.run_as_non_root);
    assert!(operator.security_context.read_only_root_filesystem);
    assert_eq!(
        about(&made, "decide"),
        [
            "Role `cert-keeper:leaderelection`",
            "argument `--leader-election-namespace=kube-system`",
            "Deployment `cert-keeper-cainjector`, `cert-keeper-webhook`",
            "MutatingWebhookConfiguration `cert-keeper-webhook`",
            "ValidatingWebhookConfiguration `cert-keeper-webhook`"
        ]
    );
    let roles = String::from_utf8(desk.read("cert-keeper/operator/deploy/role.yaml")).unwrap();
    let named: Vec<&str> = roles
        .lines()
        .filter_map(|line| line.strip_prefix("  name: "))
        .collect();
    assert_eq!(
        named,
        [
            "cert-keeper:leaderelection",
            "cert-keeper-controller-certificates",
            "cert-keeper-controller-clusterissuers"
        ]
    );
    assert_eq!(names(&desk, "cert-keeper/operator/deploy/crds").len(), 4);
}

#[test]
fn a_bundle_for_olm_is_taken_apart() {
    let desk = Desk::with_key();
    let (made, source, findings) = whole_way(
        &desk,
        &release("database-operator-bundle"),
        "database-operator",
    );
    assert_eq!(findings, [""; 0]);
    assert_eq!(source.id().unwrap().to_string(), "database-operator-2.4.0");
    assert_eq!(
        images(&source),
        [
            "database-operator:2.4.0",
            "postgres-17.2:17.2",
            "postgres-16.6:16.6",
            "backup:sha256-0123456789ab",
            "postgres-exporter:0.15.0",
            "kube-rbac-proxy:v0.18.1"
        ]
    );
    let operator = source.spec.operator.as_ref().unwrap();
    assert_eq!(
        operator.command.as_deref(),
        Some(&["/manager".to_owned()][..])
    );
    assert_eq!(operator.args, ["--leader-elect"]);
    assert_eq!(operator.scope, OperatorScope::Namespace);
    assert_eq!(
        env(&source),
        [
            pair("OPERATOR_NAMESPACE", "$(POD_NAMESPACE)"),
            pair("RELATED_IMAGE_POSTGRES_17", "$(image:postgres-17.2)"),
            pair("RELATED_IMAGE_POSTGRES_16", "$(image:postgres-16.6)"),
            pair("RELATED_IMAGE_BACKUP", "$(image:backup)"),
            pair(
                "POSTGRES_IMAGES",
                "17=$(image:postgres-17.2)\n16=$(image:postgres-16.6)\n"
            ),
        ]
    );
    assert_eq!(
        about(&made, "decide"),
        [
            "webhook `vdatabase.db.example.test`",
            "CustomResourceDefinition `databases.db.example.test`",
            "volume `cert` at `/tmp/k8s-webhook-server/serving-certs`"
        ]
    );
}

#[test]
fn many_definitions_are_split_as_they_stand() {
    let desk = Desk::with_key();
    let file = release("metrics-operator.yaml");
    let (made, source, findings) = whole_way(&desk, &file, "metrics-operator");
    // The release grants `*` on its own resources and on Secrets, as such releases do.
    let expected = [&["operator.wildcard"; 3][..], &["operator.dangerous-rule"]];
    assert_eq!(findings, expected.concat());
    assert_eq!(source.id().unwrap().to_string(), "metrics-operator-0.77.1");
    let operator = source.spec.operator.as_ref().unwrap();
    assert_eq!(
        operator.args[1],
        "--metrics-config-reloader=$(image:metrics-config-reloader)"
    );
    assert_eq!(
        env(&source),
        [pair("WATCH_NAMESPACE", ""), pair("GOGC", "30")]
    );
    assert_eq!(
        operator.security_context.run_as_user.map(u32::from),
        Some(65534)
    );
    assert_eq!(about(&made, "decide"), [""; 0]);
    let crds = "metrics-operator/operator/deploy/crds";
    let files = names(&desk, crds);
    assert_eq!(files.len(), 10);
    let whole = std::fs::read_to_string(&file).unwrap();
    for name in files {
        let text = String::from_utf8(desk.read(&format!("{crds}/{name}"))).unwrap();
        let plural = name.split('.').next().unwrap();
        assert!(
            text.contains(&format!("name: {plural}.monitoring.example.test\n")),
            "{name}"
        );
        // Numbers, quotes and order are the release's own.
        assert!(whole.contains(&text), "{name}");
        assert!(text.contains("minimum: 0.10\n"), "{name}");
    }
}

#[test]
fn the_same_release_gives_the_same_tree() {
    let desk = Desk::new();
    for directory in ["one", "other"] {
        for name in [
            "cert-keeper.yaml",
            "database-operator-bundle",
            "metrics-operator.yaml",
        ] {
            let tree = format!("{directory}/{name}");
            let arguments = [&release(name), &tree, "--name", "app"];
            desk.solution(&[&OPERATOR[..], &arguments].concat())
                .success();
        }
    }
    let diff = desk.run("diff", &["--recursive", "one", "other"]);
    assert_eq!((diff.code, diff.stdout.as_str()), (0, ""));
}

#[test]
fn a_directory_is_written_only_when_it_is_empty() {
    let desk = Desk::new();
    desk.write("app/mine", "mine");
    let file = release("metrics-operator.yaml");
    let text = desk
        .solution(&[&OPERATOR[..], &[&file, "app"]].concat())
        .failure(1);
    assert!(text.contains("`app` is not an empty directory"), "{text}");
    assert_eq!(names(&desk, "app"), ["mine"]);
    std::fs::create_dir(desk.path("empty")).unwrap();
    desk.solution(&[&OPERATOR[..], &[&file, "empty"]].concat())
        .success();
    let text = desk
        .solution(&[&OPERATOR[..], &[&file, "app/mine"]].concat())
        .failure(1);
    assert!(
        text.contains("`app/mine` is not an empty directory"),
        "{text}"
    );
}

#[test]
fn names_and_versions_can_be_given() {
    let desk = Desk::new();
    let file = release("metrics-operator.yaml");
    let wished = ["--name", "metrics", "--version", "1.2.3-rc.1"];
    desk.solution(&[&OPERATOR[..], &[&file, "somewhere"], &wished].concat())
        .success();
    let source = SolutionSource::from_slice(&desk.read("somewhere/solution.yaml")).unwrap();
    assert_eq!(source.id().unwrap().to_string(), "metrics-1.2.3-rc.1");
    desk.solution(&[&OPERATOR[..], &[&file, "shop"]].concat())
        .success();
    let source = SolutionSource::from_slice(&desk.read("shop/solution.yaml")).unwrap();
    assert_eq!(source.id().unwrap().to_string(), "shop-0.77.1");
    desk.solution(&["init", "--name", "x", "app"]).failure(2);
    desk.solution(&["init"]).failure(2);
    let text = desk
        .solution(&[&OPERATOR[..], &[&file, "x", "--deployment", "other"]].concat())
        .failure(1);
    assert!(
        text.contains("no Deployment `other`; it holds: `metrics-operator`\nhint: choose one with `--deployment`"),
        "{text}"
    );
    let missing: PathBuf = desk.path("missing.yaml");
    let missing = missing.display().to_string();
    desk.solution(&["init", "--from", &missing]).failure(1);
}
