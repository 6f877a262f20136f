//! Attempts by other users of a cluster to interfere with an import: they take the names of its objects while it
//! pushes, write invalid data where they may write, or mark an object as part of an environment.

use crate::gate::Gate;
use crate::site::{Site, eventually};

const UID: &str = "--output=jsonpath={.metadata.uid}";
const INTO: [&str; 4] = ["-e", "tenant", "--pull-secret", "login"];

fn role(site: &Site, name: &str) {
    let create = ["create", "role", name, "--verb=get", "--resource=pods"];
    site.kubectl("tenant", &create).success();
}

fn delete_role(site: &Site) {
    let delete = ["delete", "role", "example-operator"];
    site.kubectl("tenant", &delete).success();
}

fn rules(site: &Site) -> String {
    site.field("tenant", "role/example-operator", "{.rules}")
}

#[test]
fn what_others_make_during_an_import_is_not_taken() {
    let site = Site::new("race");
    site.create_environment("tenant");
    assert_role_before_writes_is_kept(&site);
    assert_definition_is_kept(&site);
    assert_role_before_its_write_is_kept(&site);
    assert_default_account_changes_no_plan(&site);
    assert_list_of_versions_changes_no_plan(&site);
}

/// The object exists when all images are pushed and nothing is written.
fn assert_role_before_writes_is_kept(site: &Site) {
    // The program takes the Lease after it has pushed everything.
    let gate = Gate::before(site, "/leases");
    let answer = gate.run_during(&mut site.import_command("1.0.0.iso", &INTO), || {
        role(site, "example-operator");
    });
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(
        answer.stderr.contains("the cluster has changed"),
        "{answer:?}"
    );
    assert!(rules(site).contains("pods") && !rules(site).contains("versionservers"));
    delete_role(site);
}

/// The object is created immediately before the write of the Solution's object of the same name.
fn assert_role_before_its_write_is_kept(site: &Site) {
    // This is the write, not the dry run.
    let request = "PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/tenant/roles/example-operator?fieldManager=solution&fieldValidation=Strict&force=false HTTP";
    let gate = Gate::before(site, request);
    let answer = gate.run_during(&mut site.import_command("1.0.0.iso", &INTO), || {
        role(site, "example-operator");
    });
    assert_eq!(answer.code, 1, "{answer:?}");
    let words = "Role tenant/example-operator already exists and belongs to no Solution";
    assert!(answer.stderr.contains(words), "{answer:?}");
    assert!(rules(site).contains("pods") && !rules(site).contains("versionservers"));
    delete_role(site);
}

/// Kubernetes creates the account some time after its namespace, and again when it is deleted. The import completes what
/// was not written before.
fn assert_default_account_changes_no_plan(site: &Site) {
    let gate = Gate::before(site, "/leases");
    let answer = gate.run_during(&mut site.import_command("1.0.0.iso", &INTO), || {
        let account = || site.kubectl("tenant", &["get", "serviceaccount/default", UID]);
        let before = account().success();
        let delete = ["delete", "serviceaccount", "default"];
        site.kubectl("tenant", &delete).success();
        // Its name is free in between.
        eventually("the default account is made anew", || {
            let made = account();
            (made.code == 0 && made.stdout != before).then_some(())
        });
    });
    answer.success();
    let secrets = "{.imagePullSecrets[*].name}";
    assert_eq!(
        site.field("tenant", "serviceaccount/default", secrets),
        "login"
    );
}

/// A CRD of the same name that another user creates at that moment belongs to that user, too.
fn assert_definition_is_kept(site: &Site) {
    let request = "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/versionservers.example.metalk8s.test?fieldManager=solution&fieldValidation=Strict&force=false HTTP";
    let gate = Gate::before(site, request);
    let crd = site.desk.path("1.0.0/operator/deploy/crds");
    let answer = gate.run_during(&mut site.import_command("1.0.0.iso", &INTO), || {
        let create = ["create", "--filename", crd.to_str().unwrap()];
        site.kubectl("default", &create).success();
    });
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(
        answer.stderr.contains("belongs to no Solution"),
        "{answer:?}"
    );
    let labels = site.field("default", "crd", "{.items[*].metadata.labels}");
    assert!(!labels.contains("solutions.metalk8s"), "{labels}");
    let delete = ["delete", "--filename", crd.to_str().unwrap()];
    site.kubectl("default", &delete).success();
}

/// The list of versions in the environment changes during an upgrade.
fn assert_list_of_versions_changes_no_plan(site: &Site) {
    let gate = Gate::before(site, "/leases");
    let answer = gate.run_during(&mut site.import_command("1.1.0.iso", &INTO), || {
        let patch = r#"{"data":{"restless":"9.9.9"}}"#;
        let patch = [
            "patch",
            "configmap",
            "metalk8s-environment",
            "--patch",
            patch,
        ];
        site.kubectl("tenant", &patch).success();
    });
    answer.success();
}

#[test]
fn what_a_tenant_writes_stops_no_verb_and_decides_nothing() {
    let site = Site::new("nonsense");
    site.create_environment("tenant");
    site.import("1.0.0.iso", &INTO).success();
    site.import("1.1.0.iso", &[]).success();
    // Unreadable and false entries: another version, and a Solution that is not deployed.
    let lines = r#"{"data":{"example":"1.1.0","NOT A NAME":"x","other":"not a version"}}"#;
    let patch = [
        "patch",
        "configmap",
        "metalk8s-environment",
        "--patch",
        lines,
    ];
    let patched = site.kubectl("tenant", &patch);
    // The API server rejects invalid keys of a ConfigMap; it accepts the rest.
    if patched.code != 0 {
        let lines = r#"{"data":{"example":"1.1.0","other":"not a version"}}"#;
        let patch = [
            "patch",
            "configmap",
            "metalk8s-environment",
            "--patch",
            lines,
        ];
        site.kubectl("tenant", &patch).success();
    }
    let kubectl = |arguments: &[&str]| site.kubectl("default", arguments).success();
    kubectl(&["create", "namespace", "liar"]);
    let environment = "solutions.metalk8s.scality.com/environment";
    kubectl(&[
        "label",
        "namespace",
        "liar",
        &format!("{environment}=NOT.A_name"),
    ]);
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(status["operators"][0]["version"], "1.0.0", "{status:#}");
    assert_eq!(status["environments"].as_array().unwrap().len(), 1);
    let reported = status["notes"].to_string();
    assert!(reported.contains("liar"), "{status:#}");
    assert!(reported.contains("metalk8s-environment"), "{status:#}");
    // A false entry neither keeps a version that is not deployed, nor releases one that is.
    site.solution(&["unimport", "--yes", "example", "1.1.0"])
        .success();
    site.solution(&["unimport", "--yes", "example", "1.0.0"])
        .failure(1);
    kubectl(&[
        "label",
        "--overwrite",
        "namespace",
        "liar",
        &format!("{environment}=tenant"),
    ]);
    site.solution(&["undeploy", "--yes", "example", "-e", "tenant"])
        .success();
    let deleted = site
        .solution(&["environment", "delete", "--yes", "tenant"])
        .success();
    assert!(!deleted.contains("liar"), "{deleted}");
    assert_eq!(
        kubectl(&["get", "namespace", "liar", "--output=name"]),
        "namespace/liar\n"
    );
}

/// Only the program's own record shows that a namespace was created for an environment, so forging the label has no
/// effect.
#[test]
fn a_forged_mark_deletes_no_adopted_namespace() {
    let site = Site::new("forged");
    let kubectl = |arguments: &[&str]| site.kubectl("default", arguments).success();
    kubectl(&["create", "namespace", "adopted"]);
    let create = ["environment", "create", "adopted", "--adopt", "namespace"];
    site.solution(&create).success();
    let mark = "solutions.metalk8s.scality.com/created=true";
    kubectl(&["annotate", "namespace", "adopted", mark]);
    site.solution(&["environment", "delete", "--yes", "adopted"])
        .success();
    let left = kubectl(&[
        "get",
        "namespace",
        "adopted",
        "--output=jsonpath={.status.phase}",
    ]);
    assert_eq!(left, "Active");
}

/// A namespace that a user deleted and created again belongs to that user.
#[test]
fn another_namespace_of_the_name_is_not_deleted() {
    let site = Site::new("anew");
    site.solution(&["environment", "create", "anew"]).success();
    let kubectl = |arguments: &[&str]| site.kubectl("default", arguments).success();
    kubectl(&["delete", "namespace", "anew"]);
    kubectl(&["create", "namespace", "anew"]);
    let text = site.import("1.0.0.iso", &["-e", "anew"]).failure(1);
    assert!(
        text.contains("was deleted, and another namespace with this name was created"),
        "{text}"
    );
    let text = site
        .solution(&["environment", "delete", "--yes", "anew"])
        .success();
    assert!(text.contains("is kept"), "{text}");
    let left = kubectl(&[
        "get",
        "namespace",
        "anew",
        "--output=jsonpath={.status.phase}",
    ]);
    assert_eq!(left, "Active");
}
