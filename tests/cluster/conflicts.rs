//! Fields of a Solution's objects that another field manager has set: the plan names field and manager, and takes them
//! over only with a flag.

use serde_json::{Value, json};

use crate::common::Answer;
use crate::gate::Gate;
use crate::site::Site;

const CRD: &str = "crd/versionservers.example.metalk8s.test";

/// Sets fields of an object as this field manager.
fn set_fields(site: &Site, namespace: &str, object: &str, manager: &str, fields: &Value) {
    let (manager, fields) = (format!("--field-manager={manager}"), fields.to_string());
    let patch = [
        "patch",
        object,
        "--type=merge",
        &manager,
        "--patch",
        &fields,
    ];
    site.kubectl(namespace, &patch).success();
}

fn upgrade(site: &Site, more: &[&str]) -> Answer {
    site.import("1.1.0.iso", &[&["-e", "fields"], more].concat())
}

fn short_name(site: &Site) -> String {
    site.field("default", CRD, "{.spec.names.shortNames[0]}")
}

fn scale(site: &Site, replicas: &str) {
    let scale = ["scale", "deployment/example-operator", replicas];
    site.kubectl("fields", &scale).success();
}

#[test]
fn fields_of_others_are_named_with_their_managers_and_taken_over_when_told() {
    let site = Site::new("fields");
    site.create_environment("fields");
    let into = ["-e", "fields", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    assert_late_fields_are_kept(&site);
    scale(&site, "--replicas=2");
    let config = json!({"data": {"operator.yaml": "tuned"}});
    set_fields(
        &site,
        "fields",
        "configmap/example-operator-config",
        "tuner",
        &config,
    );

    let before = site.snapshot();
    let text = upgrade(&site, &[]).failure(1);
    for words in [
        "error: CustomResourceDefinition versionservers.example.metalk8s.test has fields that are owned by other field managers: .spec.names.shortNames (definer)\n",
        "error: ConfigMap fields/example-operator-config has fields that are owned by other field managers: .data.operator.yaml (tuner)\n",
        "error: Deployment fields/example-operator has fields that are owned by other field managers: .spec.replicas (kubectl)\n",
        "take them over with `--force-conflicts`",
        "3 blockers found",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    let dry = upgrade(&site, &["--force-conflicts", "--dry-run", "--output=json"]).json();
    let taken = json!([{"field": ".spec.names.shortNames", "manager": "definer"}]);
    assert_eq!(dry["crds"][0]["takenOver"], taken, "{dry:#}");
    assert_eq!(site.snapshot(), before);

    let answer = upgrade(&site, &["--force-conflicts"]);
    let text = answer.success();
    let words = "! takes over .spec.replicas from kubectl\n";
    assert!(text.contains(words), "{text}");
    assert_eq!(short_name(&site), "vs");
    let replicas = site.field("fields", "deployment/example-operator", "{.spec.replicas}");
    assert_eq!(replicas, "1");
    // A manager that sets equal values, or other fields, causes no conflict.
    scale(&site, "--replicas=1");
    let note = json!({"metadata": {"annotations": {"noted": "by others"}}});
    set_fields(
        &site,
        "fields",
        "deployment/example-operator",
        "noter",
        &note,
    );
    upgrade(&site, &[]).success();
}

/// Sets the short name of the CRD while an upgrade pushes images. The upgrade is refused.
fn assert_late_fields_are_kept(site: &Site) {
    let gate = Gate::before(site, "/leases");
    let mut command = site.import_command("1.1.0.iso", &["-e", "fields"]);
    let answer = gate.run_during(&mut command, || {
        let names = json!({"spec": {"names": {"shortNames": ["vsr"]}}});
        set_fields(site, "default", CRD, "definer", &names);
    });
    let text = answer.failure(1);
    assert!(
        text.contains(".spec.names.shortNames (definer)") && text.contains("--force-conflicts"),
        "{text}"
    );
    assert_eq!(short_name(site), "vsr");
}
