//! The web console as a Solution that the program packs, imports and deploys itself.

use fixtures::image::{Image, ImageBuilder};
use fixtures::layout::OciLayout;
use fixtures::saved;
use serde_json::{Value, json};

use crate::charts;
use crate::common::programs;
use crate::console::Browser;
use crate::dex::{ADMIN, Dex, DexConfig, KNOWN_PORT, SECRET, ca_file};
use crate::site::{Site, eventually, has_row};

/// The source tree of the console.
const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/solutions/console");

/// Returns an image of the program, like that of a release, but without Helm.
pub(crate) fn program_image(site: &Site) -> Image {
    let program = programs().join("solution");
    let strip = ["-o", "stripped", program.to_str().unwrap()];
    site.desk.run("strip", &strip).success();
    ImageBuilder::new()
        .file("/usr/bin/solution", site.desk.read("stripped"), 0o755)
        .env("PATH", "/usr/bin")
        .entrypoint(&["/usr/bin/solution"])
        .user(65532)
        .build()
}

fn pack(site: &Site) {
    site.desk.run("cp", &["-r", TREE, "console"]).success();
    let layout = OciLayout::create(site.desk.path("image")).unwrap();
    let layout = layout.add(&program_image(site).into(), None).unwrap();
    layout.finish().unwrap();
    let file = site.desk.path("console/solution.oci.tar");
    saved::tar_of_directory(&file, &site.desk.path("image")).unwrap();
    let pack = ["pack", "console", "-o", "console.iso"];
    let packed = charts::solution(site, &[&pack[..], &["--key", "publisher.key"]].concat());
    packed.success();
}

/// Returns the only pod of the console.
fn pod(site: &Site) -> Value {
    let pods = ["get", "pods", "--output=json"];
    let pods = site.kubectl("prod", &pods).json();
    assert_eq!(pods["items"].as_array().unwrap().len(), 1, "{pods:#}");
    pods["items"][0].clone()
}

/// The address of the console in browsers.
const URL: &str = "https://console.test";

/// Creates what the parameters of the console refer to.
fn create_settings(site: &Site) {
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    let certificate = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt -days 2 \
                       -subj /CN=console -addext subjectAltName=DNS:console.test";
    let certificate: Vec<&str> = certificate.split_whitespace().collect();
    site.desk.run("openssl", &certificate).success();
    let ca = std::fs::read_to_string(ca_file()).unwrap();
    site.desk.write("provider.pem", &ca);
    let own = String::from_utf8(site.desk.read("tls.crt")).unwrap();
    site.desk.write("trust.pem", ca + &own);
    let secret = format!("--from-literal=client-secret={SECRET}");
    for arguments in [
        &["label", "namespace", "prod", restricted][..],
        &["create", "secret", "generic", "console-client", &secret],
        &[
            "create",
            "secret",
            "tls",
            "console-tls",
            "--cert=tls.crt",
            "--key=tls.key",
        ],
        &[
            "create",
            "configmap",
            "provider-ca",
            "--from-file=ca.crt=provider.pem",
        ],
    ] {
        site.kubectl("prod", arguments).success();
    }
}

#[test]
fn the_console_runs_as_a_solution_with_the_rights_of_its_user() {
    let dex = Dex::start(&DexConfig {
        port: KNOWN_PORT,
        redirect_uri: &format!("{URL}/auth/callback"),
        id_tokens: "10m",
    });
    let site = charts::site("console-solution");
    create_settings(&site);
    pack(&site);
    let public = format!("publicUrl={URL}");
    let issuer = format!("issuer={}", dex.issuer());
    let files = ["issuerCa=provider-ca", "tlsSecret=console-tls"];
    let values = [
        &public,
        &issuer,
        "clientId=solution-console",
        files[0],
        files[1],
    ];
    let values: Vec<&str> = values
        .into_iter()
        .flat_map(|value| ["--set", value])
        .collect();
    charts::import(&site, "console.iso", &values).success();
    let status = charts::solution(&site, &["status"]).success();
    let row = ["prod", "solution-console", "1.0.0", "1/1", "ready"];
    assert!(has_row(&status, &row), "{status}");

    let pod = pod(&site);
    let spec = &pod["spec"];
    assert_eq!(spec["automountServiceAccountToken"], false, "{pod:#}");
    assert_eq!(spec["securityContext"]["runAsNonRoot"], true, "{pod:#}");
    let security = &spec["containers"][0]["securityContext"];
    assert_eq!(security["readOnlyRootFilesystem"], true, "{pod:#}");
    let state = &pod["status"]["containerStatuses"][0];
    let state = [&state["ready"], &state["restartCount"]];
    assert_eq!(state, [&json!(true), &json!(0)]);
    let ports = site.field("prod", "networkpolicy/console", "{.spec.ingress[0].ports}");
    assert!(ports.contains("console"), "{ports}");
    let account = "--as=system:serviceaccount:prod:console";
    let may = ["auth", "can-i", "get", "pods", account];
    let may = site.kubectl("prod", &may);
    assert_eq!(may.code, 1, "the console has no rights");

    let address = pod["status"]["podIP"].as_str().unwrap();
    let reach = format!("console.test:443:{address}:8440");
    let trust = site.desk.path("trust.pem").display().to_string();
    let mut browser = Browser::at(&site, URL, &["--connect-to", &reach, "--cacert", &trust]);
    assert_eq!(browser.get("/healthz").status, "200");
    dex.wait_until_trusted();
    browser.log_in(&dex, ADMIN);
    let hidden = "Your permissions hide some objects";
    browser.shows("/environments", &[hidden]);
    let user = format!("--user=oidc:{ADMIN}");
    let bind = [
        "create",
        "clusterrolebinding",
        "reader",
        "--clusterrole=cluster-admin",
        &user,
    ];
    site.kubectl("default", &bind).success();
    eventually("the user sees the console's own environment", || {
        let page = browser.get("/environments/prod");
        let shown = ["solution-console", "ready"];
        shown
            .iter()
            .all(|text| page.body.contains(text))
            .then_some(())
    });
}
