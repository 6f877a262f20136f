//! A site keeps its imported versions: they are deployed without their archives, and only if the registry returns the
//! accepted content.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::common::Answer;
use crate::site::{Site, variable};

/// Returns a site into which both versions were imported, with an environment `kept`, and without the archives.
fn site_without_archives(prefix: &str) -> Site {
    let site = Site::new(prefix);
    for version in ["1.0.0", "1.1.0"] {
        let archive = format!("{version}.iso");
        site.import(&archive, &[]).success();
        fs::remove_file(site.desk.path(&archive)).unwrap();
    }
    site.create_environment("kept");
    site
}

fn deploy(site: &Site, more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let always = ["--environment", "kept", "--ca-file", &ca];
    site.solution(&[&["deploy", "example"], more, &always[..]].concat())
}

fn running(site: &Site) -> String {
    site.field("kept", "configmap/metalk8s-environment", "{.data.example}")
}

/// Runs skopeo, whose last flag takes the directory of the registry's certificate authority.
pub(crate) fn skopeo(flags: &[&str], images: &[String]) -> Answer {
    let authority = PathBuf::from(variable("SOLUTION_TEST_REGISTRY_CA"));
    let directory = authority.parent().unwrap();
    Answer::from_command(
        Command::new("skopeo")
            .args(flags)
            .arg(directory)
            .args(images),
    )
}

/// Copies the head of one archive over that of another in the registry.
fn replace_head(site: &Site, from: [&str; 2], to: [&str; 2]) -> Answer {
    let place = |[version, id]: [&str; 2]| {
        format!(
            "docker://{}/example-{version}:archive-{id}",
            site.registry()
        )
    };
    skopeo(
        &[
            "copy",
            "--preserve-digests",
            "--src-tls-verify=false",
            "--dest-cert-dir",
        ],
        &[place(from), place(to)],
    )
}

/// Returns the archive id of a version, in hexadecimal, from its record.
pub(crate) fn archive_id(site: &Site, version: &str) -> String {
    let name = format!("configmap/solution-example-{version}");
    let record = site.field("metalk8s-solutions", &name, r"{.data.content\.json}");
    let record: Value = serde_json::from_str(&record).unwrap();
    let id = record["archiveId"].as_str().unwrap();
    id.strip_prefix("sha256:").unwrap_or(id).to_owned()
}

#[test]
fn versions_run_after_the_archive_was_ejected() {
    let site = site_without_archives("kept");
    assert_deployed_without_archive(&site);
    assert_plan_shows_changes_and_removals(&site);
    assert_downgraded_when_told(&site);
    assert_lost_image_is_named(&site);
    assert_other_archive_is_refused(&site);
}

/// Deploys 1.0.0.
fn assert_deployed_without_archive(site: &Site) {
    let before = site.snapshot();
    let plan = deploy(site, &["1.0.0", "--dry-run", "--output", "json"]);
    assert_eq!((plan.code, site.snapshot()), (0, before), "{plan:?}");
    let receipt = deploy(
        site,
        &["1.0.0", "--pull-secret", "login", "--output", "json"],
    );
    let receipt = receipt.json();
    assert_eq!(receipt["deployed"], serde_json::json!(["kept", "kept"]));
    assert_eq!(
        receipt["uploaded"],
        serde_json::json!({"blobs": 0, "bytes": 0})
    );
    assert_eq!(running(site), "1.0.0");
}

/// Upgrades from 1.0.0 to the newest version, which drops an object.
fn assert_plan_shows_changes_and_removals(site: &Site) {
    // An object of an earlier operator of this Solution, which no version has now and no inventory lists yet.
    let inventory = ["delete", "configmap", "carried.kept.example"];
    site.kubectl("metalk8s-solutions", &inventory).success();
    let former = ["create", "configmap", "former", "--from-literal=a=b"];
    site.kubectl("kept", &former).success();
    let label = "solutions.metalk8s.scality.com/solution=example";
    site.kubectl("kept", &["label", "configmap", "former", label])
        .success();
    let before = site.snapshot();
    let shown = deploy(site, &["--dry-run", "--diff"]);
    assert_eq!((shown.code, site.snapshot()), (0, before), "{shown:?}");
    for line in [
        "    - ConfigMap kept/former\n",
        "-  a: 'b'",
        "diff      change Deployment kept/example-operator",
        "+    solutions.metalk8s.scality.com/version: '1.1.0'",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {shown:?}");
    }
    let plan = deploy(site, &["--dry-run", "--diff", "--output", "json"]).json();
    assert_eq!(
        plan["target"]["removed"][0]["object"],
        "ConfigMap kept/former"
    );
    let receipt = deploy(site, &["--output", "json"]).json();
    assert_eq!(
        receipt["removed"],
        serde_json::json!(["ConfigMap kept/former"])
    );
    let gone = site.kubectl("kept", &["get", "configmap", "former"]);
    assert!(gone.stderr.contains("NotFound"), "{gone:?}");
}

/// Deploys 1.0.0 again, after the newest version.
fn assert_downgraded_when_told(site: &Site) {
    assert_eq!(running(site), "1.1.0");
    let older = deploy(site, &["1.0.0"]);
    assert_eq!(older.code, 1, "{older:?}");
    deploy(site, &["1.0.0", "--allow-downgrade"]).success();
    assert_eq!(running(site), "1.0.0");
    let settled = site.snapshot();
    let again = deploy(site, &["1.0.0", "--output", "json"]).json();
    assert_eq!(
        (&again["objects"], site.snapshot()),
        (&serde_json::json!([]), settled)
    );
}

/// Deletes an image of 1.1.0 from the registry. It is named before anything changes.
fn assert_lost_image_is_named(site: &Site) {
    let image = format!(
        "docker://{}/example-1.1.0/example-server:1.1.0",
        site.registry()
    );
    skopeo(&["delete", "--cert-dir"], &[image]).success();
    let before = site.snapshot();
    let refused = deploy(site, &[]);
    assert_eq!((refused.code, site.snapshot()), (1, before), "{refused:?}");
    assert!(
        refused.stderr.contains("no longer has all of"),
        "{refused:?}"
    );
    assert!(
        refused.stderr.contains("example-server:1.1.0"),
        "{refused:?}"
    );
}

/// Nothing is deployed that was not accepted by an import. Afterwards, the registry has another archive as 1.0.0.
fn assert_other_archive_is_refused(site: &Site) {
    let absent = deploy(site, &["3.0.0"]);
    assert_eq!(absent.code, 1);
    assert!(
        absent.stderr.contains("example 3.0.0 is not imported"),
        "{absent:?}"
    );
    let [old, new] = ["1.0.0", "1.1.0"].map(|version| archive_id(site, version));
    replace_head(site, ["1.1.0", &new], ["1.0.0", &old]).success();
    let before = site.snapshot();
    let other = deploy(site, &["1.0.0"]);
    assert_eq!((other.code, site.snapshot()), (1, before), "{other:?}");
    let words = format!("it is the head of archive sha256:{new}, not of archive sha256:{old}");
    assert!(other.stderr.contains(&words), "{other:?}");
}
