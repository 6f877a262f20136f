//! SBOMs by syft in an archive, checked by grype.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use fixtures::artifact::{Document, dashboards, policy_of};
use fixtures::image::{Format, Image, ImageBuilder, Index, Platform};
use fixtures::layout::OciLayout;
use serde_json::{Value, json};

use crate::common::{Answer, Desk};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const SPDX: &str = "application/spdx+json";
const CVE: &str = "CVE-2023-38545";

/// Returns the path of a program that `tests/interop/program` has built.
fn program(name: &str) -> String {
    let builder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/program");
    let path = Answer::from_command(Command::new(builder).args([name, "--path"])).success();
    path.trim().to_owned()
}

/// Returns an image of Debian 12 with the vulnerable version of curl's library.
fn debian(architecture: &str) -> Image {
    let status = format!(
        "Package: libcurl4\nStatus: install ok installed\nArchitecture: {architecture}\nSource: curl\nVersion: 7.88.1-10\nMaintainer: A <a@b.test>\nDescription: x\n\n"
    );
    ImageBuilder::new()
        .platform(Platform::linux(architecture))
        .file("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n", 0o644)
        .file("/var/lib/dpkg/status", status, 0o644)
        .build()
}

/// Returns an empty SBOM by a publisher as a referrer of an image.
fn sbom_of(image: &Image) -> Document {
    let sbom = json!({
        "spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "dataLicense": "CC0-1.0", "name": "own",
        "documentNamespace": "https://own.test/1", "packages": [],
        "creationInfo": {"creators": ["Tool: theirs-1"], "created": "2026-01-01T00:00:00Z"},
    });
    let contents = [b"{}".to_vec(), sbom.to_string().into_bytes()];
    let [config, layer] = contents.each_ref().map(|bytes| {
        let digest = files::digest(bytes);
        json!({"mediaType": SPDX, "digest": digest, "size": bytes.len()})
    });
    let subject = image.descriptor();
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": SPDX, "config": config, "layers": [layer],
        "subject": {"mediaType": MANIFEST, "digest": subject.digest, "size": subject.size},
    });
    Document {
        media_type: MANIFEST,
        bytes: manifest.to_string().into_bytes(),
        contents: contents.into(),
    }
}

/// Packs the tree with SBOMs, with the tools' files in a separate directory.
fn pack(desk: &Desk, out: &str, form: &str) -> Value {
    let temporary = desk.path(&format!("{out}.tmp"));
    fs::create_dir(&temporary).unwrap();
    let mut command = desk.command();
    command.env("TMPDIR", &temporary);
    command.args([
        "pack",
        "shop",
        "-o",
        out,
        "--key",
        "publisher.key",
        "--with-referrers",
    ]);
    command.args([
        "--sbom",
        form,
        "--syft",
        &program("syft"),
        "--output",
        "json",
    ]);
    let packed = Answer::from_command(&mut command);
    assert_eq!(packed.code, 0, "{packed:?}");
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
    packed.json()
}

/// Writes the archive of a database with one CVE, built with grype's own writer.
fn database(desk: &Desk) {
    let record = json!({
        "schema": "https://raw.githubusercontent.com/anchore/vunnel/main/schema/vulnerability/os/schema-1.0.0.json",
        "identifier": format!("debian:12/{CVE}"),
        "item": {"Vulnerability": {
            "Name": CVE, "NamespaceName": "debian:12", "Severity": "High", "Description": "", "Link": "",
            "CVSS": [], "Metadata": {},
            "FixedIn": [{
                "Name": "curl", "NamespaceName": "debian:12", "Version": "7.88.1-10+deb12u4", "VersionFormat": "dpkg",
                "VendorAdvisory": {"NoAdvisory": false, "AdvisorySummary": []},
            }],
        }},
    });
    desk.write("providers/debian/results/one.json", record.to_string());
    fs::create_dir(desk.path("made")).unwrap();
    desk.run(&program("grype-db"), &["providers", "made"])
        .success();
    let names = fs::read_dir(desk.path("made")).unwrap();
    let mut names = names.map(|entry| entry.unwrap().path());
    let archive = names.find(|path| path.to_string_lossy().ends_with(".tar.gz"));
    fs::copy(archive.unwrap(), desk.path("db.tar.gz")).unwrap();
}

/// A desk with an archive: an image for two architectures, one of which has a policy, an image with an SBOM by its
/// publisher, and dashboards.
static DESK: LazyLock<Desk> = LazyLock::new(|| {
    let desk = Desk::with_key();
    let [amd64, arm64, own] = ["amd64", "arm64", "s390x"].map(debian);
    let policy = policy_of(amd64.descriptor());
    let sbom = sbom_of(&own);
    let index = Index::new(Format::Oci, vec![amd64, arm64]);
    let layout = OciLayout::create(desk.path("shop/layout")).unwrap();
    let layout = layout.add(&index.into(), Some("app")).unwrap();
    let layout = layout.add(&own.into(), Some("own")).unwrap();
    let layout = layout.add_document(&dashboards(), Some("dash")).unwrap();
    let layout = layout.add_document(&policy, None).unwrap();
    layout.add_document(&sbom, None).unwrap().finish().unwrap();
    let images = ["app", "own", "dash"];
    let images = images
        .map(|name| format!("  - {{name: {name}, tag: 1.0.0, source: 'oci:layout:{name}'}}\n"));
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata: {name: shop}\nspec:\n  version: 1.0.0\n  images:\n";
    desk.write("shop/solution.yaml", format!("{head}{}", images.concat()));
    pack(&desk, "shop.iso", "spdx");
    database(&desk);
    desk
});

fn validate(desk: &Desk, archive: &str, more: &[&str], code: i32) -> Answer {
    let grype = program("grype");
    let arguments = [
        "validate",
        archive,
        "--key",
        "publisher.pub",
        "--grype",
        &grype,
    ];
    let answer = desk.solution(&[&arguments, more].concat());
    assert_eq!(answer.code, code, "{answer:?}");
    answer
}

#[test]
fn an_sbom_of_each_image_is_carried_in_the_same_bytes() {
    let desk = &*DESK;
    let again = pack(desk, "again.iso", "spdx");
    assert_eq!(desk.read("shop.iso"), desk.read("again.iso"));
    let expected = json!({"format": "spdx", "syft": "1.57.1", "made": 2, "kept": 1, "skipped": 1});
    assert_eq!(again["sboms"], expected);
    // The policy, the publisher's SBOM, and two generated ones.
    assert_eq!(again["referrers"], 4);

    let inspected = desk
        .solution(&["inspect", "shop.iso", "--sbom", "--output", "json"])
        .json();
    let images = inspected["sboms"].as_array().unwrap();
    let said = images.iter().map(|image| {
        let [document] = &image["documents"].as_array().unwrap()[..] else {
            panic!("one SBOM for each: {image:#}");
        };
        (
            &image["image"],
            &image["platform"],
            &document["tool"],
            &document["packages"],
        )
    });
    let said: Vec<String> = said
        .map(|row| format!("{} {} {} {}", row.0, row.1, row.2, row.3))
        .collect();
    let mut expected = [
        r#""app:1.0.0" "linux/amd64" "syft-1.57.1" 1"#,
        r#""app:1.0.0" "linux/arm64" "syft-1.57.1" 1"#,
        r#""own:1.0.0" null "theirs-1" 0"#,
    ];
    expected.sort_by_key(|line| said.iter().position(|said| said == line));
    assert_eq!(said, expected);

    // One list contains the policy and the SBOM, and other tools can read the document.
    let amd64 = images
        .iter()
        .find(|platform| platform["platform"] == "linux/amd64")
        .unwrap();
    let path = amd64["documents"][0]["path"].as_str().unwrap();
    let list = Path::new(path).with_file_name("manifest.json");
    let list = desk.solution(&["cat", "shop.iso", list.to_str().unwrap()]);
    let list: Value = serde_json::from_str(&list.success()).unwrap();
    let types = list["manifests"].as_array().unwrap().iter();
    let mut types: Vec<&str> = types
        .map(|referrer| referrer["artifactType"].as_str().unwrap())
        .collect();
    types.sort_unstable();
    assert_eq!(types, [SPDX, "application/vnd.example.policy.v1"]);
    desk.write(
        "sbom.json",
        desk.solution(&["cat", "shop.iso", path]).success(),
    );
    let converted = desk.run(
        &program("syft"),
        &["convert", "sbom.json", "-q", "-o", "cyclonedx-json"],
    );
    assert!(converted.success().contains("libcurl4"));
}

#[test]
fn a_database_tells_what_images_have_and_a_vex_document_what_does_not_matter() {
    let desk = &*DESK;
    let flags = ["--vulnerabilities", "db.tar.gz", "--output", "json"];
    let report = validate(desk, "shop.iso", &flags, 0).json();
    let known = &report["vulnerabilities"];
    let expected = json!([{
        "rating": "high", "id": CVE, "package": "libcurl4", "version": "7.88.1-10",
        "fixedIn": ["7.88.1-10+deb12u4"], "images": ["app:1.0.0"],
    }]);
    assert_eq!(known["found"], expected);
    assert_eq!(known["judged"], json!(["app:1.0.0", "own:1.0.0"]));
    assert_eq!(
        (&known["grype"], &known["databaseAgeDays"]),
        (&json!("0.121.3"), &json!(0))
    );
    let people = validate(desk, "shop.iso", &flags[..2], 0).stdout;
    let line = format!(
        "high        images/app/1.0.0: {CVE} in libcurl4: 7.88.1-10 is installed, fixed in 7.88.1-10+deb12u4\n"
    );
    assert!(people.starts_with(&line), "{people}");

    let vex = json!({
        "@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://own.test/vex", "author": "a",
        "timestamp": "2026-01-01T00:00:00Z", "version": 1,
        "statements": [{
            "vulnerability": {"name": CVE}, "products": [{"@id": "pkg:deb/debian/libcurl4@7.88.1-10"}],
            "status": "not_affected", "justification": "vulnerable_code_not_in_execute_path",
        }],
    });
    desk.write("vex.json", vex.to_string());
    let excused = [&flags[..], &["--vex", "vex.json"]].concat();
    let report = validate(desk, "shop.iso", &excused, 0).json();
    assert_eq!(report["vulnerabilities"]["found"], json!([]));

    // Only a policy refuses the archive, and review tools show the reason. In this run grype keeps the database itself.
    desk.write("kept/6/import.json", desk.read("made/import.json"));
    fs::copy(
        desk.path("made/vulnerability.db"),
        desk.path("kept/6/vulnerability.db"),
    )
    .unwrap();
    desk.write(
        "policy.yaml",
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: FindingsPolicy\nspec:\n  severities: {vulnerabilities.high: error}\n",
    );
    let refused = [
        "--vulnerabilities",
        "kept",
        "--findings-policy",
        "policy.yaml",
        "--output",
        "sarif",
    ];
    let sarif: Value =
        serde_json::from_str(&validate(desk, "shop.iso", &refused, 1).stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let result = results
        .iter()
        .find(|result| result["ruleId"] == "vulnerabilities.high")
        .unwrap();
    assert_eq!(result["level"], "error");
}

#[test]
fn without_sboms_nothing_is_judged_and_without_programs_nothing_begins() {
    let desk = &*DESK;
    desk.solution(&["pack", "shop", "-o", "bare.iso", "--key", "publisher.key"])
        .success();
    let flags = ["--vulnerabilities", "db.tar.gz", "--output", "json"];
    let report = validate(desk, "bare.iso", &flags, 0).json();
    assert_eq!(
        report["vulnerabilities"]["withoutSbom"],
        json!(["app:1.0.0", "own:1.0.0"])
    );

    // The publisher has no SBOM in the other format.
    let packed = pack(desk, "other.iso", "cyclonedx");
    let expected =
        json!({"format": "cyclonedx", "syft": "1.57.1", "made": 3, "kept": 0, "skipped": 1});
    assert_eq!(packed["sboms"], expected);
    let report = validate(desk, "other.iso", &flags, 0).json();
    let found = report["vulnerabilities"]["found"].as_array().unwrap();
    let [found] = &found[..] else {
        panic!("{report:#}");
    };
    assert_eq!(found["images"], json!(["app:1.0.0", "own:1.0.0"]));

    let mut arguments = vec![
        "pack",
        "shop",
        "-o",
        "none.iso",
        "--key",
        "publisher.key",
        "--sbom",
        "cyclonedx",
    ];
    let said = desk.solution(&arguments).failure(1);
    assert!(
        said.contains("`syft` not found") && said.contains("hint: install syft"),
        "{said}"
    );
    let grype = program("grype");
    arguments.extend(["--syft", &grype]);
    let said = desk.solution(&arguments).failure(1);
    assert!(said.contains("is not syft"), "{said}");
    let said = desk.solution(&[
        "validate",
        "bare.iso",
        "--key",
        "publisher.pub",
        "--vulnerabilities",
        "db.tar.gz",
    ]);
    assert!(said.failure(1).contains("`grype` not found"));
    let said = validate(desk, "bare.iso", &["--vulnerabilities", "nowhere"], 1).stderr;
    assert!(said.contains("cannot read `nowhere`"), "{said}");
    desk.write("no.tar.gz", "no");
    let said = validate(desk, "bare.iso", &["--vulnerabilities", "no.tar.gz"], 3).stderr;
    assert!(
        said.contains("cannot use the database `no.tar.gz`"),
        "{said}"
    );
}
