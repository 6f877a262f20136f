//! The web console as a Solution: its chart with real Helm, and its archive.

use std::process::Command;

use fixtures::image::ImageBuilder;
use fixtures::layout::OciLayout;
use fixtures::saved;
use serde_json::{Value, json};

use crate::common::{Answer, Desk};
use crate::helm::helm;

/// The source tree of the console.
const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/solutions/console");

/// The values that every site sets.
const REQUIRED: [&str; 5] = [
    "image=registry.example/solution:1",
    "publicUrl=https://console.example:9443",
    "issuer=https://dex.example:5556/dex",
    "clientId=console",
    "clientSecret.name=client",
];

/// Runs Helm on the chart with these values.
fn chart(desk: &Desk, verb: &[&str], values: &[&str]) -> Answer {
    let mut command = Command::new(helm());
    command.args(verb).arg(format!("{TREE}/chart"));
    command.env("HOME", desk.path("."));
    command.args(values.iter().flat_map(|value| ["--set", value]));
    Answer::from_command(&mut command)
}

/// Returns the objects of the chart with the required values and these.
fn render(desk: &Desk, values: &[&str]) -> Vec<Value> {
    let values = [&REQUIRED[..], values].concat();
    let rendered = chart(desk, &["template", "console"], &values).success();
    let documents = rendered.split("---\n").skip(1);
    let objects = documents.map(|text| serde_saphyr::from_str(text).unwrap());
    objects.collect()
}

/// Returns the object of a kind.
fn object<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let found = objects.iter().find(|object| object["kind"] == kind);
    found.unwrap_or_else(|| panic!("there is no {kind}"))
}

/// Returns the specification of the pod.
fn pod(objects: &[Value]) -> &Value {
    &object(objects, "Deployment")["spec"]["template"]["spec"]
}

/// Returns the arguments of the console.
fn arguments(objects: &[Value]) -> Vec<&str> {
    let arguments = pod(objects)["containers"][0]["args"].as_array().unwrap();
    let arguments = arguments.iter().map(|argument| argument.as_str().unwrap());
    arguments.collect()
}

/// Returns the sources of the volume that stands in for the mounted ServiceAccount.
fn account(objects: &[Value]) -> &Vec<Value> {
    let volumes = pod(objects)["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == "cluster");
    volume.unwrap()["projected"]["sources"].as_array().unwrap()
}

#[test]
fn the_chart_has_neither_rights_nor_a_token_until_it_impersonates() {
    let desk = Desk::new();
    let objects = render(&desk, &[]);
    let mut kinds: Vec<&str> = objects
        .iter()
        .map(|object| object["kind"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    let expected = ["Deployment", "NetworkPolicy", "Service", "ServiceAccount"];
    assert_eq!(kinds, expected);
    assert_eq!(pod(&objects)["automountServiceAccountToken"], false);
    assert_eq!(account(&objects).len(), 2);
    let expected = [
        "console",
        "--listen=0.0.0.0:8440",
        "--public-url=https://console.example:9443",
        "--issuer=https://dex.example:5556/dex",
        "--client-id=console",
        "--client-secret-file=/etc/console/client/secret",
    ];
    assert_eq!(arguments(&objects), expected);
    let policy = &object(&objects, "NetworkPolicy")["spec"];
    let ports = [5556, 443, 6443].map(|port| json!({"protocol": "TCP", "port": port}));
    assert_eq!(policy["egress"][1], json!({ "ports": ports }));

    let lists = ["impersonate.users={jane,joe}", "impersonate.groups={team}"];
    let objects = render(&desk, &lists);
    assert_eq!(objects.len(), 4, "the rights are not part of the chart");
    let token = json!({"path": "token", "expirationSeconds": 3600});
    assert_eq!(account(&objects)[2]["serviceAccountToken"], token);
    let expected = [
        "--impersonate-user=jane",
        "--impersonate-user=joe",
        "--impersonate-group=team",
    ];
    assert_eq!(arguments(&objects)[6..], expected);
}

#[test]
fn the_chart_refers_to_certificates_logins_and_an_ingress() {
    let desk = Desk::new();
    let values = [
        "issuerCa.configMap=provider",
        "registryCa.secret=registry",
        "registryLogin.secret=login",
        "tls.secret=certificate",
        "ingress.enabled=true",
        "ingress.tlsSecret=public",
        "networkPolicy.enabled=false",
    ];
    let objects = render(&desk, &values);
    let expected = [
        "--issuer-ca-file=/etc/console/issuer/ca.crt",
        "--ca-file=/etc/console/registry/ca.crt",
        "--tls-cert=/etc/console/tls/tls.crt",
        "--tls-key=/etc/console/tls/tls.key",
    ];
    assert_eq!(arguments(&objects)[6..], expected);
    let container = &pod(&objects)["containers"][0];
    assert_eq!(container["readinessProbe"]["httpGet"]["scheme"], "HTTPS");
    let login = "/etc/console/login/.dockerconfigjson";
    let variable = json!([{"name": "REGISTRY_AUTH_FILE", "value": login}]);
    assert_eq!(container["env"], variable);
    let volumes = pod(&objects)["volumes"].as_array().unwrap();
    let mounts = container["volumeMounts"].as_array().unwrap();
    let names =
        |list: &[Value]| -> Vec<Value> { list.iter().map(|item| item["name"].clone()).collect() };
    assert_eq!(names(volumes), names(mounts));
    let ingress = &object(&objects, "Ingress")["spec"];
    let tls = json!([{"hosts": ["console.example"], "secretName": "public"}]);
    assert_eq!(ingress["tls"], tls);
    assert_eq!(ingress["rules"][0]["host"], "console.example");
    assert!(
        objects
            .iter()
            .all(|object| object["kind"] != "NetworkPolicy")
    );
}

#[test]
fn helm_accepts_the_chart_and_its_schema_refuses_other_values() {
    let desk = Desk::new();
    chart(&desk, &["lint", "--strict"], &REQUIRED).success();
    let refused = |values: &[&str]| chart(&desk, &["template", "console"], values).failure(1);
    let missing = refused(&REQUIRED[..3]);
    for value in ["/clientId", "/clientSecret/name"] {
        assert!(missing.contains(value), "{missing}");
    }
    for (value, words) in [
        (
            "issuerca.configMap=provider",
            "additional properties 'issuerca' not allowed",
        ),
        (
            "networkPolicy.egressPorts={0}",
            "/networkPolicy/egressPorts/0",
        ),
    ] {
        let refused = refused(&[&REQUIRED[..], &[value]].concat());
        assert!(refused.contains(words), "{refused}");
    }
    let both = ["issuerCa.configMap=a", "issuerCa.secret=b"];
    let refused = refused(&[&REQUIRED[..], &both].concat());
    assert!(refused.contains("/issuerCa"), "{refused}");
}

/// Packs the console with a placeholder as its program. Returns the warnings.
fn pack(desk: &Desk) -> String {
    desk.run("cp", &["-r", TREE, "console"]).success();
    let image = ImageBuilder::new().file("/usr/bin/solution", "here it would be", 0o755);
    let image = image.entrypoint(&["/usr/bin/solution"]).user(65532).build();
    let layout = OciLayout::create(desk.path("image")).unwrap();
    let layout = layout.add(&image.into(), None).unwrap();
    layout.finish().unwrap();
    let file = desk.path("console/solution.oci.tar");
    saved::tar_of_directory(&file, &desk.path("image")).unwrap();
    let pack = ["pack", "console", "-o", "console.iso", "--helm", &helm()];
    let packed = desk.solution(&[&pack[..], &["--key", "publisher.key"]].concat());
    let warnings = packed.stderr.clone();
    packed.success();
    warnings
}

/// Renders the console for a site with these parameters.
fn render_archive(desk: &Desk, parameters: &[&str]) -> Answer {
    let helm = helm();
    let render = ["render", "console.iso", "--key", "publisher.pub"];
    let place = ["-e", "tools", "--registry", "registry.example"];
    let site = ["--no-cluster", "--kube-version", "1.36", "--helm", &helm];
    let parameters = parameters.iter().flat_map(|set| ["--set", set]);
    let parameters: Vec<&str> = parameters.collect();
    desk.solution(&[&render[..], &place, &site, &parameters].concat())
}

#[test]
fn the_console_is_packed_without_warnings_and_asks_for_its_parameters() {
    let desk = Desk::with_key();
    let warnings = pack(&desk);
    assert!(!warnings.contains("warning"), "{warnings}");
    let validate = ["validate", "console.iso", "--key", "publisher.pub"];
    let report = desk.solution(&[&validate[..], &["--output", "json"]].concat());
    let report = report.json();
    assert_eq!(report["findings"], json!([]), "{report:#}");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(report["version"], version, "{report:#}");

    let refused = render_archive(&desk, &[]).failure(1);
    for parameter in ["publicUrl", "issuer", "clientId"] {
        let words = format!("parameter `{parameter}` has no value");
        assert!(refused.contains(&words), "{refused}");
    }
    let given = ["issuer=https://dex.example", "clientId=console"];
    let path = [&given[..], &["publicUrl=https://console.example/path"]].concat();
    let refused = render_archive(&desk, &path).failure(1);
    assert!(refused.contains("publicUrl"), "{refused}");
    let rest = [
        "publicUrl=https://console.example",
        "impersonateUsers=[jane]",
    ];
    let rendered = render_archive(&desk, &[&given[..], &rest].concat()).success();
    let image = format!("registry.example/solution-console/solution:{version}@sha256:");
    let chart = format!("app.kubernetes.io/version: '{version}'");
    for words in [
        &*image,
        &chart,
        "--impersonate-user=jane",
        "secretName: 'console-client'",
    ] {
        assert!(rendered.contains(words), "{words}: {rendered}");
    }
}
