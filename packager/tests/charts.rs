//! Tests of charts that are rendered by Helm itself. Every image that a chart names must be packaged.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use fixtures::image::ImageBuilder;
use fixtures::layout::OciLayout;
use packager::{
    ChartRemark, ChartRenderer, Event, EvidenceReason, Mention, PackError, PackRequest, Preview,
    ProgramFile, ProgramKind, Signing, add_images, preview,
};
use progress::{Cancel, Watch};
use schemas::StatementTime;
use sources::{CacheOptions, Compression};
use tempfile::TempDir;

/// Returns the path of the program that `scripts/install-tools` builds.
fn helm() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop/program");
    let output = Command::new(script).args(["helm", "--path"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// A source tree with a chart.
struct Tree(TempDir);

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: '{{ .Values.image }}', readinessProbe: {}, resources: {limits: {cpu: 1}}}]}}}
";

/// The places where a chart can name images.
const PLACES: [(&str, &str); 8] = [
    ("templates/web.yaml", DEPLOYMENT),
    (
        "templates/hook.yaml",
        "{apiVersion: batch/v1, kind: Job, metadata: {name: a, annotations: {helm.sh/hook: pre-install}}, spec: {template: {spec: {containers: [{name: a, image: 'r.test/hook:1'}]}}}}",
    ),
    (
        "templates/tests/a.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: t, annotations: {helm.sh/hook: test}}, spec: {initContainers: [{name: a, image: 'r.test/test:1'}]}}",
    ),
    (
        "templates/operator.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: o}, spec: {containers: [{name: o, image: 'r.test/web:1', args: [--reloader=r.test/argument:1], env: [{name: DB_IMAGE, value: org/variable}]}]}}",
    ),
    (
        "templates/config.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {worker: '{{ tpl .Values.worker . }}'}}",
    ),
    (
        "templates/shop.yaml",
        "{apiVersion: shop.test/v1, kind: Shop, metadata: {name: s}, spec: {image: 'r.test/resource:1'}}",
    ),
    (
        "crds/shops.yaml",
        "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: shops.shop.test}, spec: {group: shop.test, scope: Namespaced, names: {plural: shops, singular: shop, kind: Shop, listKind: ShopList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {image: {type: string, default: 'r.test/default:1', description: 'r.test/said:1'}}}}}]}}",
    ),
    (
        "charts/cache/templates/a.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: '{{ .Values.image.repository }}:{{ .Values.image.tag }}'}]}}",
    ),
];

impl Tree {
    /// Creates a tree with a chart of these templates, and with additional fields for it in `solution.yaml`.
    fn new(templates: &[(&str, &str)], fields: &str) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        let layout = OciLayout::create(tree.0.path().join("images")).unwrap();
        let image = ImageBuilder::new().file("/app", "app", 0o755).build();
        layout
            .add(&image.into(), Some("1"))
            .unwrap()
            .finish()
            .unwrap();
        let solution = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: demo}
spec:
  version: 1.0.0
  images:
    - {name: web, tag: '1', source: 'oci:images:1', ref: 'r.test/web:1'}
";
        let chart = format!("  charts:\n    - {{name: shop, source: 'dir:web'{fields}}}\n");
        tree.write("solution.yaml", &format!("{solution}{chart}"));
        tree.write(
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: cache, condition: cache.enabled}]\n",
        );
        tree.write(
            "web/values.yaml",
            "image: r.test/web:1\ncache: {enabled: false}\nworker: 'r.test/{{ .Release.Name }}:1'\n",
        );
        tree.write(
            "web/charts/cache/Chart.yaml",
            "apiVersion: v2\nname: cache\nversion: 1.0.0\n",
        );
        tree.write(
            "web/charts/cache/values.yaml",
            "image: {repository: r.test/cache, tag: '1'}\n",
        );
        for (path, text) in templates {
            tree.write(&format!("web/{path}"), text);
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the findings of the chart. No remark may be reported.
    fn found(&self) -> Vec<String> {
        let (checked, told) = self.check();
        assert_eq!(told, []);
        let judged = checked.unwrap().judged;
        let found = judged.findings.iter();
        let found = found.filter(|finding| finding.place.starts_with("charts/"));
        let line = |finding: &validator::Finding| {
            let source = finding.source.as_ref().unwrap();
            format!(
                "{} {source} {}: {}",
                finding.id, finding.place, finding.message
            )
        };
        found.map(line).collect()
    }

    fn request(&self) -> PackRequest {
        PackRequest {
            directory: self.0.path().to_owned(),
            output: self.0.path().join("demo.iso"),
            overwrite: archive::Overwrite::Replace,
            compression: Compression::None,
            signing: Signing::Unsigned,
            time: StatementTime::DEFAULT,
            now: StatementTime::DEFAULT,
            judging: validator::FindingRules::default(),
            threads: NonZeroUsize::MIN,
            cache: CacheOptions {
                directory: self.0.path().join("cache"),
                unpack_limit: sources::UNPACK_LIMIT,
            },
            with_referrers: false,
            remote: sources::Remote::default(),
            renderer: ChartRenderer::Helm(Some(helm())),
            keyring: None,
            programs: Vec::new(),
            documentation: None,
            sboms: None,
            scratch: self.0.path().to_owned(),
        }
    }

    /// Returns all evidence for this image.
    fn why(&self, image: &str) -> Vec<(String, EvidenceReason)> {
        let told = Mutex::new(Vec::new());
        let tell = |event| {
            if let Event::Named(evidence) = event
                && evidence.is_about(image)
            {
                told.lock().unwrap().push((evidence.place, evidence.reason));
            }
        };
        let watch = Watch {
            tell: &tell,
            cancel: Cancel::never(),
        };
        // The result of the preview is irrelevant here.
        let _ = preview(&self.request(), &watch);
        told.into_inner().unwrap()
    }

    /// Returns the result of a preview and the remarks on charts.
    fn check(&self) -> (Result<Preview, PackError>, Vec<ChartRemark>) {
        let told = Mutex::new(Vec::new());
        let tell = |event| {
            if let Event::Chart(_, remark) = event {
                told.lock().unwrap().push(remark);
            }
        };
        let watch = Watch {
            tell: &tell,
            cancel: Cancel::never(),
        };
        let checked = preview(&self.request(), &watch);
        (checked, told.into_inner().unwrap())
    }

    /// Returns the missing references, each with a place.
    fn missing(&self) -> Vec<(String, String)> {
        let (checked, _) = self.check();
        let Err(PackError::RefusedSource(refused)) = checked else {
            panic!("{checked:?}");
        };
        let missing = refused.missing.into_iter();
        let missing = missing.map(|missing| (missing.reference.to_string(), missing.place));
        missing.collect()
    }

    fn error(&self) -> String {
        let error = self.check().0.unwrap_err();
        if let PackError::RefusedSource(refused) = &error {
            let source = refused.findings[0].source.as_ref().unwrap();
            assert!(source.line.is_some(), "{source}");
            return refused.findings[0].message.clone();
        }
        let cause = error.source().map(|cause| format!(": {cause}"));
        format!("{error}{}", cause.unwrap_or_default())
    }
}

const ALL: [&str; 7] = [
    "docker.io/org/variable:latest",
    "r.test/argument:1",
    "r.test/default:1",
    "r.test/hook:1",
    "r.test/resource:1",
    "r.test/shop:1",
    "r.test/test:1",
];

#[test]
fn images_are_found_wherever_a_chart_has_them() {
    let tree = Tree::new(&PLACES, "");
    let missing: Vec<_> = tree
        .missing()
        .into_iter()
        .map(|(reference, _)| reference)
        .collect();
    assert_eq!(missing, ALL);
    let tree = Tree::new(&PLACES, ", render: [[on.yaml]]");
    tree.write("on.yaml", "cache: {enabled: true}\n");
    let missing = tree.missing();
    let cache = missing
        .iter()
        .find(|(reference, _)| reference == "r.test/cache:1")
        .unwrap();
    assert_eq!(
        cache.1,
        "`web/charts/cache/templates/a.yaml` of the chart `shop`, Pod `c`, rendered with on.yaml"
    );
    assert_eq!(missing.len(), ALL.len() + 1);
}

#[test]
fn what_is_missing_is_written_down() {
    let tree = Tree::new(&PLACES, "");
    let watch = Watch::silent(Cancel::never());
    let added = add_images(&tree.request(), &watch).unwrap().added;
    let added: BTreeSet<_> = added.iter().map(|image| image.source.to_string()).collect();
    let expected = ALL.map(|reference| format!("docker://{reference}"));
    assert_eq!(added, BTreeSet::from(expected));
}

#[test]
fn what_is_turned_off_is_told_with_the_value_that_turns_it_on() {
    let tree = Tree::new(&[PLACES[0], PLACES[7]], "");
    let (checked, told) = tree.check();
    checked.unwrap();
    let [ChartRemark::TurnedOff(off)] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(
        (off.path.as_str(), off.repository.as_str()),
        ("cache.image", "r.test/cache")
    );
    assert_eq!(off.switch.as_deref(), Some("cache.enabled"));
    let tree = Tree::new(
        &[PLACES[0], PLACES[7]],
        ", unusedImages: ['r.test/cache:1']",
    );
    assert_eq!(tree.check().1, []);
}

#[test]
fn images_given_by_placeholders_are_those_that_are_carried() {
    for (value, fits) in [
        ("$(image:web)", true),
        ("$(image.repository:web):$(image.tag:web)", true),
        ("$(image.repository:web)@$(image.digest:web)", true),
        ("$(image.repository:web):2", false),
        ("docker.io/$(image:web)", false),
        ("$(image.registry:web)/other:1", false),
    ] {
        let tree = Tree::new(
            &PLACES[..1],
            ", values: [own.yaml], unusedImages: ['r.test/cache:1']",
        );
        tree.write("own.yaml", &format!("image: '{value}'\n"));
        let (checked, told) = tree.check();
        match checked {
            Ok(_) => assert!(fits, "{value}"),
            Err(PackError::RefusedSource(refused))
                if refused.findings[0].id == "source.address" =>
            {
                assert!(!fits, "{value}");
            }
            Err(error) => panic!("{value}: {error:?}"),
        }
        assert_eq!(told, []);
    }
    let tree = Tree::new(&PLACES[..1], ", values: [own.yaml]");
    tree.write("own.yaml", "image: $(image:none)\n");
    assert!(
        tree.error().contains("no image has the name `none`"),
        "{}",
        tree.error()
    );
}

#[test]
fn what_is_better_avoided_is_told_and_refuses_nothing() {
    let bare = DEPLOYMENT.replace(", readinessProbe: {}, resources: {limits: {cpu: 1}}", "");
    let old = "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: b}}";
    let templates = [
        ("templates/web.yaml", bare.as_str()),
        ("templates/old.yaml", old),
    ];
    let tree = Tree::new(
        &templates,
        ", render: [[more.yaml]], unusedImages: ['r.test/cache:1']",
    );
    tree.write("more.yaml", "worker: x\n");
    let place = "solution.yaml:9 charts/shop/chart.tgz";
    assert_eq!(
        tree.found(),
        [
            format!(
                "manifests.api-deprecated {place}: `web/templates/old.yaml`, PodDisruptionBudget `b`: PodDisruptionBudget of policy/v1beta1 was removed in Kubernetes 1.25, which the Solution allows; use policy/v1"
            ),
            format!(
                "practice.readiness {place}: `web/templates/web.yaml`, Deployment `web`: no readiness probe: containers `web`"
            ),
            format!(
                "practice.requests {place}: `web/templates/web.yaml`, Deployment `web`: no requests: containers `web`"
            ),
        ]
    );
    // A site may choose values that avoid the object, so this is not an error either.
    let solution = fs::read_to_string(tree.0.path().join("solution.yaml")).unwrap();
    tree.write(
        "solution.yaml",
        &format!("{solution}  kubernetes: ['1.33']\n"),
    );
    let words =
        "was removed in Kubernetes 1.25, and the Solution allows no earlier version; use policy/v1";
    let first = tree.found().remove(0);
    assert!(first.starts_with("manifests.api-deprecated "), "{first}");
    assert!(first.ends_with(words), "{first}");
}

#[test]
fn an_image_of_a_chart_that_a_node_would_not_start_is_told() {
    let context = "securityContext: {runAsNonRoot: true}, containers";
    let safe = DEPLOYMENT.replace("containers", context);
    let words = "practice.user solution.yaml:9 charts/shop/chart.tgz: `web/templates/web.yaml`, Deployment `web`: container `web` has runAsNonRoot, and image `web:1` runs as root";
    // The chart names the image by its reference, or by the address at the site.
    let unused = ", unusedImages: ['r.test/cache:1']";
    for values in ["", ", values: [own.yaml]"] {
        let templates = [("templates/web.yaml", safe.as_str())];
        let tree = Tree::new(&templates, &format!("{unused}{values}"));
        tree.write("own.yaml", "image: $(image:web)\n");
        let mut found = tree.found();
        found.retain(|line| line.starts_with("practice.user "));
        assert_eq!(found, [words], "{values}");
    }
    let user = "securityContext: {runAsNonRoot: true, runAsUser: 7}, containers";
    let chosen = DEPLOYMENT.replace("containers", user);
    let tree = Tree::new(&[("templates/web.yaml", chosen.as_str())], unused);
    assert_eq!(tree.found(), [""; 0]);
}

#[test]
fn what_is_made_at_random_is_told() {
    let random = "{apiVersion: v1, kind: ConfigMap, metadata: {name: p}, data: {p: '{{ randAlphaNum 20 }}'}}";
    let tree = Tree::new(&[PLACES[0], ("templates/p.yaml", random)], "");
    let (checked, told) = tree.check();
    checked.unwrap();
    let place = "`web/templates/p.yaml` of the chart `shop`, ConfigMap `p`".to_owned();
    assert!(told.contains(&ChartRemark::Differs(place)), "{told:?}");
    assert_eq!(told.len(), 2);
}

#[test]
fn a_chart_names_images_that_it_does_not_render() {
    let tree = Tree::new(&PLACES[..1], ", unusedImages: ['r.test/c:1']");
    let chart = |annotation: &str| {
        let text = format!(
            "apiVersion: v2\nname: web\nversion: 1.0.0\nannotations:\n  helm.sh/images: |\n    {annotation}\n"
        );
        tree.write("web/Chart.yaml", &text);
        fs::remove_dir_all(tree.0.path().join("web/charts")).ok();
    };
    chart(
        "[{image: 'r.test/a:1'}, {image: 'r.test/b:1', condition: cache.enabled}, {image: 'r.test/c:1'}, {image: 'r.test/web:1'}]",
    );
    let expected = (
        "r.test/a:1".to_owned(),
        "`Chart.yaml` of the chart `shop`".to_owned(),
    );
    assert_eq!(tree.missing(), [expected]);
    chart("none");
    let (checked, told) = tree.check();
    checked.unwrap();
    assert_eq!(told, [ChartRemark::Annotation("helm.sh/images")]);
}

#[test]
fn what_cannot_be_installed_is_not_packed() {
    for (template, words) in [
        (
            "a: {{ repeat 40 (randAlphaNum 50000) }}\nb: {{ randAlphaNum 2000000 }}",
            "Helm would store ",
        ),
        (
            "{{ fail \"give a password\" }}",
            "cannot render the chart `shop`: helm template: ",
        ),
        (
            "kind: A\n1: a\n\"1\": b",
            "cannot read the rendered manifests of the chart `shop`: `web/templates/a.yaml` renders to invalid YAML",
        ),
    ] {
        let tree = Tree::new(&[("templates/a.yaml", template)], "");
        let said = tree.error();
        assert!(said.starts_with(words), "{said}");
    }
    let tree = Tree::new(
        &[("templates/a.yaml", "{{ fail .Values.with }}")],
        ", render: [[with.yaml]]",
    );
    tree.write(
        "web/templates/a.yaml",
        "{{ with .Values.with }}{{ fail . }}{{ end }}",
    );
    tree.write("with.yaml", "with: no such thing\n");
    let said = tree.error();
    assert!(
        said.starts_with("cannot render the chart `shop` with with.yaml: helm template: "),
        "{said}"
    );
    assert!(said.contains("no such thing"), "{said}");
}

/// Findings in texts, charts and images do not hide each other.
#[test]
fn what_is_wrong_with_texts_charts_and_images_is_told_in_one_run() {
    let tree = Tree::new(
        &[("templates/a.yaml", "{{ fail \"give a password\" }}")],
        "",
    );
    let solution = fs::read_to_string(tree.0.path().join("solution.yaml")).unwrap();
    let image = "    - {name: none, tag: '1', source: 'oci:images:none', ref: 'r.test/none:1'}\n";
    let set = "  manifests: [{name: base, files: [base.yaml]}]\n";
    let solution = solution.replace("  charts:", &format!("{image}  charts:"));
    tree.write("solution.yaml", &format!("{solution}{set}"));
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: 'r.test/other:1'}]}}";
    tree.write("base.yaml", pod);
    let Err(PackError::RefusedSource(refused)) = tree.check().0 else {
        panic!("it was taken");
    };
    let ids: BTreeSet<&str> = refused.findings.iter().map(|finding| finding.id).collect();
    let expected = ["source.image", "source.image-source", "source.rendering"];
    assert_eq!(ids, expected.into());
    assert_eq!(refused.findings.len(), 3, "{refused:?}");
    assert_eq!(refused.missing.len(), 1);
    // Adding the images leaves the other findings, which are reported.
    let added = add_images(&tree.request(), &Watch::silent(Cancel::never())).unwrap();
    assert_eq!(added.added.len(), 1);
    let left: Vec<&str> = added.findings.iter().map(|finding| finding.id).collect();
    assert_eq!(left, ["source.rendering"]);
}

/// The version is that of the real program, whose bytes are in the archive.
#[test]
fn a_helm_that_is_included_says_its_version() {
    let tree = Tree::new(&[PLACES[0]], "");
    let request = PackRequest {
        programs: vec![ProgramFile {
            kind: ProgramKind::Helm,
            path: helm(),
            version: None,
        }],
        ..tree.request()
    };
    let checked = preview(&request, &Watch::silent(Cancel::never())).unwrap();
    let [packed] = &checked.programs[..] else {
        panic!("{checked:?}");
    };
    let version = packed.version.as_str();
    assert!(version.starts_with("v4."), "{version}");
    let digest = files::digest(&fs::read(helm()).unwrap());
    assert_eq!(packed.digest, digest);
    let path = format!("images/programs/helm/{version}/{}", digest.hex());
    let mut files = checked.files.iter();
    let file = files.find(|file| file.path.as_str() == path).unwrap();
    assert_eq!(file.digest, digest);
    assert_eq!(checked.verdict, validator::ArchiveVerdict::Accepted);
}

/// The images of a chart may depend on the version of the cluster; all of them are needed.
#[test]
fn a_chart_is_rendered_for_every_version_of_kubernetes() {
    let template = "{apiVersion: v1, kind: Pod, metadata: {name: o}, spec: {containers: [{name: o, image: 'r.test/proxy:{{ .Capabilities.KubeVersion.Minor }}'}]}}";
    let tree = Tree::new(&[("templates/o.yaml", template)], ", render: [[on.yaml]]");
    tree.write("on.yaml", "cache: {enabled: true}\n");
    let solution = fs::read_to_string(tree.0.path().join("solution.yaml")).unwrap();
    let kubernetes = "  kubernetes: ['1.33', '1.35.2']\n";
    tree.write("solution.yaml", &format!("{solution}{kubernetes}"));
    let place = |version: &str| {
        format!(
            "`web/templates/o.yaml` of the chart `shop`, Pod `o`, rendered for Kubernetes {version}"
        )
    };
    let expected = [
        ("r.test/proxy:33".to_owned(), place("1.33")),
        ("r.test/proxy:35".to_owned(), place("1.35.2")),
    ];
    assert_eq!(tree.missing(), expected);
    // One of the versions is not supported by the chart.
    let chart = fs::read_to_string(tree.0.path().join("web/Chart.yaml")).unwrap();
    tree.write("web/Chart.yaml", &format!("{chart}kubeVersion: '<1.35'\n"));
    let refused = tree.error();
    let words = "cannot render the chart `shop` for Kubernetes 1.35.2: helm template: chart requires kubeVersion: <1.35 ";
    assert!(refused.starts_with(words), "{refused}");
}

/// Artifact Hub's list is for scanners. It is compared, but does not decide about the images.
#[test]
fn images_that_a_chart_lists_for_scanners_are_told_once() {
    let tree = Tree::new(&[PLACES[0]], ", unusedImages: ['r.test/never:1']");
    let chart = fs::read_to_string(tree.0.path().join("web/Chart.yaml")).unwrap();
    let list = |images: &str| {
        let annotation = format!("annotations: {{artifacthub.io/images: \"{images}\"}}\n");
        tree.write("web/Chart.yaml", &format!("{chart}{annotation}"));
        let (checked, told) = tree.check();
        checked.unwrap();
        told.into_iter()
            .filter(|remark| !matches!(remark, ChartRemark::TurnedOff(_)))
            .collect::<Vec<_>>()
    };
    let images = [
        "r.test/web:1",
        "r.test/never:1",
        "r.test/more:2",
        "org/less:1",
    ];
    let entries = images
        .map(|reference| format!("- name: a\\n  image: {reference}\\n  whitelisted: true\\n"));
    let expected =
        ["docker.io/org/less:1", "r.test/more:2"].map(|reference| reference.parse().unwrap());
    assert_eq!(
        list(&entries.concat()),
        [ChartRemark::ForScanners(expected.into())]
    );
    assert_eq!(list("- name: a\\n  image: r.test/web:1\\n"), []);
    let annotation = ChartRemark::Annotation("artifacthub.io/images");
    assert_eq!(list("- name: a\\n"), [annotation]);
}

/// The images that programs of charts start, in the shapes of longhorn, consul, Jenkins and storage drivers.
const STARTED: [(&str, &str); 4] = [
    (
        "templates/manager.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: m}, spec: {containers: [{name: m, image: 'r.test/web:1', args: [--engine-image, 'org/engine:v1'], env: [{name: NODE_REGISTRAR_IMAGE, value: 'org/registrar:v2'}]}]}}",
    ),
    (
        "templates/injector.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: i}, spec: {containers: [{name: i, image: 'r.test/web:1', command: [sh, -c, \"exec run \\\\\\n -proxy-image=\\\"org/proxy:1\\\" \\\\\\n -listen=:8080\"]}]}}",
    ),
    (
        "templates/cloud.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {cloud.yaml: \"image: \\\"{{ .Values.agent.image.repository }}:{{ .Values.agent.image.tag }}\\\"\\nsidecar: org/listed:3\\nport: redis:6379\\n\"}}",
    ),
    (
        "templates/plain.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: p}, data: {args: '--shell=org/shell'}}",
    ),
];

#[test]
fn what_is_known_to_be_an_image_is_needed_wherever_it_stands() {
    let tree = Tree::new(&STARTED, "");
    let chart = "apiVersion: v2\nname: web\nversion: 1.0.0\nannotations: {artifacthub.io/images: \"- name: a\\n  image: org/listed:2\\n\"}\n";
    tree.write("web/Chart.yaml", chart);
    fs::remove_dir_all(tree.0.path().join("web/charts")).unwrap();
    tree.write(
        "web/values.yaml",
        "agent: {image: {registry: '', repository: org/agent, tag: 33.v1_2}}\nshell: {image: {repository: org/shell, tag: '1'}}\ncache: {enabled: false, image: {repository: redis, tag: '7'}}\n",
    );
    let missing: Vec<_> = tree
        .missing()
        .into_iter()
        .map(|(reference, _)| reference)
        .collect();
    let expected = [
        "agent:33.v1_2",
        "engine:v1",
        "listed:3",
        "proxy:1",
        "registrar:v2",
    ];
    assert_eq!(
        missing,
        expected.map(|image| format!("docker.io/org/{image}"))
    );
    // The remarks are reported together with the missing images.
    let told: Vec<_> = tree.check().1;
    let [
        ChartRemark::ForScanners(listed),
        ChartRemark::TurnedOff(off),
        ChartRemark::Untagged(untagged, place),
    ] = &told[..]
    else {
        panic!("{told:?}");
    };
    assert_eq!(listed, &["docker.io/org/listed:2".parse().unwrap()]);
    assert_eq!(off.path, "cache.image");
    assert_eq!(untagged.path, "shell.image");
    assert_eq!(
        place,
        "`web/templates/plain.yaml` of the chart `shop`, ConfigMap `p`: /data/args"
    );
}

/// Images in several fields, in the shapes of the values for istio's injector and of linkerd's configuration.
const IN_PARTS: [(&str, &str); 2] = [
    (
        "templates/values.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: injector}, data: {values: '{{ toJson .Values.mesh }}'}}",
    ),
    (
        "templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata:\n  values: |\n    proxy: {image: {name: r.test/proxy, version: v2}}\n    init: {image: {name: r.test/init, version: ''}}\n    web: {image: {name: r.test/web, version: ''}}\n",
    ),
];

#[test]
fn an_image_in_parts_is_needed_and_one_without_a_tag_is_a_finding_with_its_field() {
    let tree = Tree::new(&IN_PARTS, "");
    let chart = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    tree.write("web/Chart.yaml", chart);
    fs::remove_dir_all(tree.0.path().join("web/charts")).unwrap();
    let values = "mesh: {global: {hub: r.test/mesh, tag: '1', sidecar: {image: sidecar}}}\n";
    tree.write("web/values.yaml", values);
    assert_eq!(
        tree.missing(),
        [
            (
                "r.test/mesh/sidecar:1".to_owned(),
                "`web/templates/values.yaml` of the chart `shop`, ConfigMap `injector`".to_owned(),
            ),
            (
                "r.test/proxy:v2".to_owned(),
                "`web/templates/config.yaml` of the chart `shop`, ConfigMap `config`".to_owned(),
            ),
        ]
    );
    assert!(
        tree.error().contains(
            "/data/values (global.hub, global.sidecar.image, global.tag) is `r.test/mesh/sidecar:1`"
        ),
        "{}",
        tree.error()
    );
    // Packaged images are reported too, because no import replaces their addresses.
    let solution = fs::read_to_string(tree.0.path().join("solution.yaml")).unwrap();
    let more = "  charts:";
    let images = "    - {name: sidecar, tag: '1', source: 'oci:images:1', ref: 'r.test/mesh/sidecar:1'}\n    - {name: proxy, tag: v2, source: 'oci:images:1', ref: 'r.test/proxy:v2'}\n";
    tree.write(
        "solution.yaml",
        &solution.replace(more, &format!("{images}{more}")),
    );
    let begin = "manifests.image-parts solution.yaml:11 charts/shop/chart.tgz:";
    let config = "`web/templates/config.yaml`, ConfigMap `config`: /data/values";
    let injector = "`web/templates/values.yaml`, ConfigMap `injector`: /data/values";
    let expected = [
        format!(
            "{begin} {config} names `r.test/init` in `init.image.name`, `init.image.version`, without a tag"
        ),
        format!(
            "{begin} {config} splits `r.test/proxy:v2` into `proxy.image.name`, `proxy.image.version`, where an import does not replace the address"
        ),
        format!(
            "{begin} {injector} splits `r.test/mesh/sidecar:1` into `global.hub`, `global.sidecar.image`, `global.tag`, where an import does not replace the address"
        ),
    ];
    assert_eq!(tree.found(), expected);
    // The images are unused, or placeholders replace them.
    tree.write(
        "values.yaml",
        "mesh: {global: {sidecar: {image: $(image:sidecar)}}}\n",
    );
    let solution = fs::read_to_string(tree.0.path().join("solution.yaml")).unwrap();
    let unused = ", values: [values.yaml], unusedImages: ['r.test/init:1', 'r.test/proxy:v2']";
    let unused = format!("source: 'dir:web'{unused}");
    tree.write(
        "solution.yaml",
        &solution.replace("source: 'dir:web'", &unused),
    );
    assert_eq!(tree.found(), [""; 0]);
}

/// Texts that are not images, in the shapes of knative's settings, redpanda's telemetry and istio's gateway, and the
/// images of kube-ovn and cilium that result from several values.
const NO_ALARM: [(&str, &str); 3] = [
    (
        "templates/settings.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  _example: |\n    # The image of the sidecar.\n    queue-sidecar-image: r.test/example/queue:1\n    image: {repository: r.test/example, tag: '1'}\n",
    ),
    (
        "templates/gateway.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: g}, spec: {containers: [{name: proxy, image: auto, env: [{name: APP_TELEMETRY, value: 'image=r.test/told:1'}]}]}}",
    ),
    (
        "templates/net.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: n}, spec: {containers: [{name: a, image: '{{ .Values.global.registry.address }}/{{ .Values.images.ovn.repository }}:{{ .Values.images.ovn.tag }}'}, {name: b, image: '{{ .Values.operator.image.repository }}-generic:{{ .Values.operator.image.tag }}'}]}}",
    ),
];

#[test]
fn examples_telemetry_injected_images_and_values_of_several_parts_raise_no_alarm() {
    let tree = Tree::new(&NO_ALARM, "");
    let chart = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    tree.write("web/Chart.yaml", chart);
    fs::remove_dir_all(tree.0.path().join("web/charts")).unwrap();
    tree.write(
        "web/values.yaml",
        "global: {registry: {address: docker.io/ovn}}\nimages: {ovn: {repository: web-ovn, tag: v1}}\noperator: {image: {repository: r.test/net/operator, tag: v2}}\n",
    );
    let missing: Vec<_> = tree
        .missing()
        .into_iter()
        .map(|(reference, _)| reference)
        .collect();
    assert_eq!(
        missing,
        ["docker.io/ovn/web-ovn:v1", "r.test/net/operator-generic:v2"]
    );
    assert_eq!(tree.check().1, []);
}

#[test]
fn every_image_and_alarm_has_the_reason_for_which_it_was_raised() {
    let tree = Tree::new(&[STARTED.as_slice(), IN_PARTS.as_slice()].concat(), "");
    let chart = "apiVersion: v2\nname: web\nversion: 1.0.0\nannotations: {artifacthub.io/images: \"- name: a\\n  image: org/listed:2\\n\"}\n";
    tree.write("web/Chart.yaml", chart);
    tree.write(
        "web/values.yaml",
        "agent: {image: {repository: org/agent, tag: '33.1'}}\nmesh: {global: {hub: r.test/mesh, tag: '1', sidecar: {image: sidecar}}}\noff: {image: {repository: org/off, tag: '1'}}\n",
    );
    let reasons = |image: &str| {
        let reasons = tree.why(image).into_iter();
        let mut reasons: Vec<_> = reasons.map(|(_, reason)| reason).collect();
        reasons.sort();
        reasons
    };
    let text = EvidenceReason::Text;
    for (image, expected) in [
        (
            "web",
            vec![
                text(Mention::Container),
                text(Mention::Container),
                EvidenceReason::Parts,
            ],
        ),
        ("org/engine:v1", vec![text(Mention::Name)]),
        ("agent", vec![text(Mention::Name)]),
        ("org/listed:3", vec![text(Mention::Known)]),
        ("org/listed:2", vec![EvidenceReason::Annotation]),
        ("sidecar", vec![EvidenceReason::Parts]),
        ("r.test/init", vec![EvidenceReason::Parts]),
        ("org/off", vec![EvidenceReason::Value]),
        ("none", vec![]),
    ] {
        assert_eq!(reasons(image), expected, "{image}");
    }
    let (place, _) = &tree.why("org/engine")[0];
    let expected =
        "`web/templates/manager.yaml` of the chart `shop`, Pod `m`: /spec/containers/0/args/1";
    assert_eq!(place, expected);
}
