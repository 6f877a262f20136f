//! The JSON Schemas next to this crate: they are generated from the types, they accept the same documents as the types,
//! and every example document of the project matches them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use schemars::{JsonSchema, schema_for};
use schemas::{
    ActiveVersion, CalendarDate, ChartName, ChartSource, ClusterUid, Digest, EnvironmentName,
    FactPath, FindingId, FindingsPolicy, IgnoreReason, ImageName, ImagePlace, ImageSource, KeyId,
    KindName, KubernetesName, LabelValue, Namespace, OperatorConfig, PlacePattern, Quantity,
    ReleaseName, Repository, Site, Solution, SolutionFleet, SolutionName, SolutionPattern,
    SolutionSource, SolutionsConfiguration, StatementTime, Tag, Timeout, TrustPolicy, Version,
    WantedPlatform, yaml,
};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the committed schema, which must equal the generated one; `UPDATE=1` regenerates it.
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the test decides to renew"
)]
fn committed<T: JsonSchema>(name: &str) -> Validator {
    let mut schema = schema_for!(T);
    let id = format!("https://solutions.metalk8s.scality.com/v1alpha1/{name}");
    schema.insert("$id".to_owned(), json!(id));
    let now = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = root().join("schemas").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == now,
        "schemas/{name} is stale: UPDATE=1 cargo test -p schemas"
    );
    jsonschema::validator_for(&serde_json::from_str(&committed).unwrap()).unwrap()
}

fn source() -> Validator {
    committed::<SolutionSource>("solution-source.schema.json")
}

fn solution() -> Validator {
    committed::<Solution>("solution.schema.json")
}

fn trust_policy() -> Validator {
    committed::<TrustPolicy>("trust-policy.schema.json")
}

fn site() -> Validator {
    committed::<Site>("site.schema.json")
}

fn operator_config() -> Validator {
    committed::<OperatorConfig>("operator-config.schema.json")
}

#[track_caller]
fn accepted(schema: &Validator, document: &Value) {
    let errors: Vec<String> = schema
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
}

/// Every `solution.yaml` of the repository, with the placeholders that its reader replaces.
fn examples() -> [(&'static str, &'static str, &'static str); 2] {
    [
        ("packager/templates/init/solution.yaml", "@NAME@", "shop"),
        (
            "fixtures/example/solution/solution.yaml",
            "@VERSION@",
            "1.0.0",
        ),
    ]
}

fn example(path: &str, placeholder: &str, value: &str) -> String {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    assert!(text.contains(placeholder), "{path} has no {placeholder}");
    text.replace(placeholder, value)
}

#[test]
fn every_example_is_read_and_inside_the_schema() {
    let schema = source();
    for (path, placeholder, value) in examples() {
        let text = example(path, placeholder, value);
        let read = SolutionSource::from_slice(text.as_bytes());
        let read = read.unwrap_or_else(|error| panic!("{path}: {error}"));
        accepted(&schema, &yaml::from_slice(text.as_bytes()).unwrap());
        accepted(&schema, &serde_json::to_value(read).unwrap());
    }
}

/// A value in a comment must be as valid as one that is not commented out.
#[test]
fn what_the_template_comments_out_is_inside_the_schema() {
    let (path, placeholder, value) = examples()[0];
    let text = example(path, placeholder, value);
    let uncommented: Vec<String> = text
        .lines()
        .map(|line| match line.split_once("# ") {
            Some((indent, field)) if indent.trim().is_empty() && is_field(field) => {
                format!("{indent}{field}")
            }
            _ => line.to_owned(),
        })
        .collect();
    let text = uncommented.join("\n");
    assert!(
        text.contains("\n  upgradeFrom:") && text.contains("\n    args:"),
        "{text}"
    );
    SolutionSource::from_slice(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    accepted(&source(), &yaml::from_slice(text.as_bytes()).unwrap());
}

/// Returns whether a comment contains a field: `name: value`, `- name: value`, or a name alone.
fn is_field(text: &str) -> bool {
    let name = text.trim_start().trim_start_matches("- ");
    let name = name.split_once(':').map_or("", |(name, _)| name);
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase())
}

#[test]
fn what_is_written_is_inside_the_schemas() {
    let manifest = "{apiVersion: solutions.metalk8s.scality.com/v1alpha1, kind: Solution, \
        metadata: {name: example}, spec: {version: 1.0.0, images: ['app:1', 'org/db:2'], \
        operator: {image: {name: app, tag: '1'}, scope: Cluster, metrics: {enabled: true}}}}";
    let manifest = Solution::from_slice(manifest.as_bytes()).unwrap();
    let written: Value = yaml::from_slice(&manifest.to_bytes()).unwrap();
    accepted(&solution(), &written);
    let repository = Repository {
        endpoint: "registry.example.test/example-1.0.0".to_owned(),
        images: manifest.spec.images.clone(),
    };
    let config = OperatorConfig::new([(manifest.spec.version, vec![repository])].into());
    accepted(&operator_config(), &serde_json::to_value(config).unwrap());
}

#[test]
fn mistakes_are_outside_the_schema() {
    let schema = source();
    let (path, placeholder, value) = examples()[1];
    let text = example(path, placeholder, value);
    for (from, to) in [
        ("kind: SolutionSource", "kind: Solution"),
        ("v1alpha1", "v1"),
        ("name: example\n", "name: Example\n"),
        ("version: 1.0.0", "version: '1.0'"),
        ("version: 1.0.0", "versions: 1.0.0"),
        ("tag: 1.0.0", "tag: '-1'"),
        ("source: oci:", "source: ftp:"),
        ("source: oci:", "sources: oci:"),
    ] {
        assert!(text.contains(from), "{from} is not in {text}");
        let document: Value = yaml::from_slice(text.replacen(from, to, 1).as_bytes()).unwrap();
        assert!(!schema.is_valid(&document), "{to} is accepted");
    }
}

/// Asserts that the pattern in a type's schema accepts the same texts as its parser.
#[track_caller]
fn agrees<T: JsonSchema + std::str::FromStr>(texts: &[&str]) {
    let schema = serde_json::to_value(schema_for!(T)).unwrap();
    assert!(schema["pattern"].is_string(), "{schema}");
    let schema = jsonschema::validator_for(&schema).unwrap();
    let (mut yes, mut no) = (0, 0);
    for text in texts {
        let read = text.parse::<T>().is_ok();
        assert_eq!(schema.is_valid(&json!(text)), read, "{text:?}");
        *(if read { &mut yes } else { &mut no }) += 1;
    }
    assert!(yes > 0 && no > 0, "both answers must be among the texts");
}

#[test]
fn patterns_of_names_in_clusters_say_what_the_types_say() {
    let (label, long) = ("a".repeat(63), "a".repeat(64));
    let labels = ["a", "a-b", "0", "", "-a", "a-", "A", "a.b", &label, &long];
    agrees::<EnvironmentName>(&labels);
    agrees::<Namespace>(&labels);
    let parts = format!("{label}.{label}.{label}.");
    let (name, long) = (
        parts.clone() + &"a".repeat(61),
        parts.clone() + &"a".repeat(62),
    );
    agrees::<KubernetesName>(&[
        "a", "a-b.c", "0", "", "-a", "a-", "A", "a..b", "a.", ".a", "a.-b", "a_b", &name, &long,
    ]);
}

#[test]
fn patterns_of_names_say_what_the_types_say() {
    let (label, long) = ("a".repeat(63), "a".repeat(64));
    agrees::<SolutionName>(&[
        "a", "a-b", "0", "", "-a", "a-", "A", "a.b", "a_b", &label, &long,
    ]);
    let (tag, long) = ("t".repeat(103), "t".repeat(104));
    agrees::<Tag>(&[
        "1.0.0", "_x", "A", "", ".x", "-x", "a/b", "a:b", "a\n", &tag, &long,
    ]);
    agrees::<ImageName>(&[
        "app",
        "a/b/c/d/e",
        "a/b/c/d/e/f",
        "a__b",
        "a.b-c",
        "a---b",
        "App",
        "a/",
        "/a",
        "a//b",
        "a..b",
        "a___b",
        "a._b",
        "_a",
        "a-",
        "a:b",
        "..",
        "",
    ]);
    let (release, long) = ("a".repeat(53), "a".repeat(54));
    agrees::<ReleaseName>(&["a", "a-b", "", "-a", "a-", "A", "a.b", &release, &long]);
    let (chart, long) = ("a".repeat(63), "a".repeat(64));
    agrees::<ChartName>(&["a", "a-b", "a.b", "", "a/b", "A", "a..b", &chart, &long]);
    agrees::<Timeout>(&["1s", "10m", "99999h", "", "10", "0s", "1d", "100000s"]);
    agrees::<ChartSource>(&[
        "file:a.tgz",
        "dir:a",
        "",
        "dir:",
        "oci://r.test/a:1",
        "oci://r.test:5000/a/b:v1.0.0-rc.1+b",
        "oci://r.test/a",
        "oci://a:1.0.0",
        "oci://r.test/a@sha256:5",
        "https://r.test/charts#a@1.0.0",
        "http://r.test#a-b@v1.0.0+b",
        "https://r.test/charts",
        "https://r.test/charts#a",
        "https://r.test/charts#a@latest",
        "https://u@r.test#a@1.0.0",
        "ftp://r.test#a@1.0.0",
    ]);
    agrees::<ImagePlace>(&[
        "app:1",
        "org/app:1.0.0",
        "app",
        "app:",
        ":1",
        "a:b:c",
        "App:1",
        "a:-b",
    ]);
}

#[test]
fn a_trust_policy_is_inside_its_schema_and_mistakes_are_not() {
    let schema = trust_policy();
    let good = "{apiVersion: solutions.metalk8s.scality.com/v1alpha1, kind: TrustPolicy, metadata: {name: acme}, \
        spec: {solutions: [shop, 'acme-*'], threshold: 2, keys: [{pem: a, comment: x}, {pem: b}]}}";
    TrustPolicy::from_slice(good.as_bytes()).unwrap();
    accepted(&schema, &yaml::from_slice(good.as_bytes()).unwrap());
    for (from, to) in [
        ("threshold: 2", "threshold: 0"),
        ("threshold", "treshold"),
        ("'acme-*'", "'acme*'"),
        ("pem: b", "key: b"),
        ("[shop, 'acme-*']", "[]"),
    ] {
        let document: Value = yaml::from_slice(good.replacen(from, to, 1).as_bytes()).unwrap();
        assert!(!schema.is_valid(&document), "{to} is accepted");
    }
}

#[test]
fn a_findings_policy_is_inside_its_schema_and_mistakes_are_not() {
    let schema = committed::<FindingsPolicy>("findings-policy.schema.json");
    let good = "{apiVersion: solutions.metalk8s.scality.com/v1alpha1, kind: FindingsPolicy, spec: \
        {severities: {practice.latest: error, practice.template: none}, \
        ignores: [{id: operator.wildcard, place: 'operator/*', reason: ours, expires: 2030-01-31}]}}";
    let policy = FindingsPolicy::from_slice(good.as_bytes()).unwrap();
    accepted(&schema, &yaml::from_slice(good.as_bytes()).unwrap());
    accepted(&schema, &serde_json::to_value(policy).unwrap());
    for (from, to) in [
        ("FindingsPolicy", "Policy"),
        ("latest: error", "latest: warning"),
        ("template: none", "template: off"),
        ("practice.latest", "latest"),
        ("reason: ours, ", ""),
        ("reason: ours", "reason: ' '"),
        ("place:", "places:"),
        ("2030-01-31", "2030-13-01"),
    ] {
        let document: Value = yaml::from_slice(good.replacen(from, to, 1).as_bytes()).unwrap();
        assert!(!schema.is_valid(&document), "{to} is accepted");
    }
}

#[test]
fn patterns_of_policies_for_findings_say_what_the_types_say() {
    let (id, long) = (format!("a.{}", "b".repeat(62)), "a".repeat(401));
    agrees::<FindingId>(&[
        "operator.crd-metadata",
        "a.b2",
        "",
        "a",
        "a.",
        ".a",
        "A.b",
        "a.B",
        "a.b.c",
        "a b.c",
        &id,
        &format!("{id}b"),
    ]);
    agrees::<IgnoreReason>(&["it is so", " x", "", " ", &long[1..], &long]);
    agrees::<PlacePattern>(&["operator/*", "*", " ", "", &long[1..], &long]);
    agrees::<CalendarDate>(&[
        "2030-01-31",
        "2030-1-31",
        "2030-13-01",
        "2030-01-32",
        "30-01-01",
        "",
    ]);
}

/// Tests the template of a site configuration, without and with its commented fields.
#[test]
fn the_template_of_a_sites_file_is_inside_its_schema_and_mistakes_are_not() {
    let schema = site();
    let text = std::fs::read_to_string(root().join("src/commands/site/template.yaml")).unwrap();
    Site::from_slice(text.as_bytes()).unwrap();
    accepted(&schema, &yaml::from_slice(text.as_bytes()).unwrap());
    let lines = text.lines().filter(|line| *line != "  workloads: []");
    let shown: Vec<String> = lines.map(uncommented).collect();
    let shown = shown
        .join("\n")
        .replace("  - solutions:", "  workloads:\n  - solutions:");
    let site =
        Site::from_slice(shown.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert_eq!(site.spec.workloads.len(), 1, "{shown}");
    assert!(site.spec.registry.is_some() && site.spec.certificate_authority.is_some());
    let good: Value = yaml::from_slice(shown.as_bytes()).unwrap();
    accepted(&schema, &good);
    accepted(&schema, &serde_json::to_value(site).unwrap());
    for (from, to) in [
        ("kind: Site", "kind: Sites"),
        ("replicas: 1", "replicas: 0"),
        ("replicas", "replica"),
        ("cpu: 50m", "cpu: 50x"),
        ("operator: Exists", "operator: Exist"),
        ("runAsNonRoot", "privileged"),
    ] {
        assert!(shown.contains(from), "{from} is not in {shown}");
        let document: Value = yaml::from_slice(shown.replacen(from, to, 1).as_bytes()).unwrap();
        assert!(!schema.is_valid(&document), "{to} is accepted");
    }
}

/// Tests the template of a fleet, without and with its commented fields.
#[test]
fn the_template_of_a_fleet_is_inside_its_schema_and_mistakes_are_not() {
    let schema = committed::<SolutionFleet>("fleet.schema.json");
    let text = std::fs::read_to_string(root().join("src/commands/fleet/template.yaml")).unwrap();
    SolutionFleet::from_slice(text.as_bytes()).unwrap();
    accepted(&schema, &yaml::from_slice(text.as_bytes()).unwrap());
    let shown: Vec<String> = text.lines().map(uncommented).collect();
    let shown = shown.join("\n");
    let fleet = SolutionFleet::from_slice(shown.as_bytes());
    let fleet = fleet.unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert!(fleet.spec.paused && !fleet.spec.site.is_empty(), "{shown}");
    assert!(fleet.spec.clusters[1].uid.is_some() && fleet.spec.waves[1].approve);
    let good: Value = yaml::from_slice(shown.as_bytes()).unwrap();
    accepted(&schema, &good);
    accepted(&schema, &serde_json::to_value(fleet).unwrap());
    for (from, to) in [
        ("kind: SolutionFleet", "kind: Fleet"),
        ("name: lab", "name: Lab"),
        ("context: lab", "contexts: lab"),
        ("uid: 5f", "uid: 5F"),
        ("operator: In", "operator: Is"),
        ("soak: 30m", "soak: 30"),
        ("parallel: 4", "parallel: 0"),
    ] {
        assert!(shown.contains(from), "{from} is not in {shown}");
        let document: Value = yaml::from_slice(shown.replacen(from, to, 1).as_bytes()).unwrap();
        assert!(!schema.is_valid(&document), "{to} is accepted");
    }
}

#[test]
fn patterns_of_names_in_fleets_say_what_the_types_say() {
    let (kind, long) = ("K".repeat(63), "K".repeat(64));
    agrees::<KindName>(&[
        "Node",
        "ConfigMap",
        "Secrets",
        "Secret",
        "node",
        "A-b",
        "",
        &kind,
        &long,
    ]);
    let uid = "5f0f7c1e-0d5c-4a8e-9a52-0c7d2b6f3a11";
    let upper = uid.to_uppercase();
    agrees::<ClusterUid>(&[uid, &upper, &uid[1..], &uid.replace('-', ""), ""]);
    agrees::<FactPath>(&["", "/", "/a/b", "/a~1b", "/a~0", "a", "/a~", "/~2"]);
}

/// Returns a line of the template without its comment sign, unless the comment is prose.
fn uncommented(line: &str) -> String {
    let Some((indent, shown)) = line.split_once("# ") else {
        return line.to_owned();
    };
    let field = shown.trim_start();
    let is_shown = ["# ", "- ", "-----", "…"]
        .iter()
        .any(|prefix| field.starts_with(prefix));
    if is_shown || is_field(field) {
        format!("{indent}{shown}")
    } else {
        String::new()
    }
}

#[test]
fn patterns_of_what_a_site_chooses_say_what_the_types_say() {
    let (value, long) = ("a".repeat(63), "a".repeat(64));
    agrees::<LabelValue>(&["", "a", "A_b.c-1", "-a", "a-", "a b", "a/b", &value, &long]);
    let long = "1".repeat(33);
    agrees::<Quantity>(&[
        "1", "250m", "0.5", "64Mi", "1Ti", "1k", "", "m", ".5", "5.", "1.2.3", "1 Mi", "1mi", "-1",
        "1e3", &long,
    ]);
}

#[test]
fn patterns_of_digests_say_what_the_types_say() {
    let (hex, upper) = ("0a".repeat(32), "0A".repeat(32));
    let digest = |hex: &str| format!("sha256:{hex}");
    let texts = [hex.clone(), digest(&hex), digest(&upper), digest(&hex[1..])];
    let texts = texts.each_ref().map(String::as_str);
    agrees::<Digest>(&texts);
    agrees::<KeyId>(&[&texts[..], &[&upper, &hex[1..], ""]].concat());
}

#[test]
fn a_configuration_is_inside_its_schema_and_mistakes_are_not() {
    let schema = committed::<SolutionsConfiguration>("solutions-configuration.schema.json");
    let good = "{apiVersion: solutions.metalk8s.scality.com/v1alpha1, kind: SolutionsConfiguration, \
        archives: [/srv/shop-1.0.0.iso, shop-1.1.0.iso], active: {shop: latest, cart: 1.0.0}}";
    SolutionsConfiguration::from_slice(good.as_bytes()).unwrap();
    accepted(&schema, &yaml::from_slice(good.as_bytes()).unwrap());
    for (from, to) in [
        ("archives", "archive"),
        ("latest", "newest"),
        ("SolutionsConfiguration", "SolutionConfig"),
        ("shop-1.1.0.iso", "/srv/shop-1.0.0.iso"),
        ("shop-1.1.0.iso", "''"),
    ] {
        let document: Value = yaml::from_slice(good.replacen(from, to, 1).as_bytes()).unwrap();
        assert!(!schema.is_valid(&document), "{to} is accepted");
    }
}

#[test]
fn patterns_of_values_say_what_the_types_say() {
    agrees::<Version>(&[
        "1.2.3",
        "0.0.0",
        "1.2.3-rc.1",
        "1.2.3-0a",
        "1.2.3-a--b",
        "1.2.3--",
        "1.2.3-01",
        "1.2",
        "01.2.3",
        "v1.2.3",
        "1.2.3+build",
        "1.2.3-RC.1",
        "1.2.3-",
        "1.2.3-a..b",
        "",
    ]);
    agrees::<ActiveVersion>(&["latest", "1.2.3", "1.2.3-rc.1", "Latest", "1.2", ""]);
    agrees::<ImageSource>(&[
        "oci:images/a",
        "oci:a:1.0",
        "oci-archive:a.tar:x",
        "docker-archive:a.tar:app:1",
        "dir:a",
        "docker://q.io/a:1",
        "docker-daemon:app:latest",
        "",
        "oci",
        "oci:",
        "oci::x",
        "oci:a:",
        "docker:q.io/a:1",
        "ftp:x",
        "docker://",
        "images/a",
    ]);
    agrees::<WantedPlatform>(&[
        "linux/amd64",
        "linux/arm/v7",
        "linux",
        "linux/",
        "linux/arm/v7/x",
        "Linux/amd64",
        "",
    ]);
    agrees::<SolutionPattern>(&[
        "*", "shop", "acme-*", "a-b-*", "", "acme*", "-*", "a-", "a--*", "Acme-*", "**",
    ]);
    agrees::<StatementTime>(&[
        "2030-01-01T00:00:00Z",
        "2030-01-01",
        "2030-01-01T00:00:00+01:00",
        "now",
        "",
    ]);
}
