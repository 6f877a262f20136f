//! Cleanup Jobs of a Solution: they are applied and must complete before any object is deleted.

use crate::releases::{import, pack};
use crate::site::{Site, eventually};

const SETS: &str = "  manifests:
    - {name: shop, files: [release.yaml], namespaces: [{name: shop-system, fixed: false}]}
    - {name: last, files: [last.yaml], phase: remove, needs: [shop], namespaces: [{name: shop-system, fixed: false}]}
  parameters:
    farewell: {type: string, default: bye}
";

const RELEASE: &str = "
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: shop-system}
spec: {selector: {app: shop}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: shop-system}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
        - name: shop
          image: registry.example.test/example/server:1.0.0
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
";

/// A cleanup Job. The example's server ends at once with `--version`, and otherwise exceeds the time limit.
const LAST: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: farewell, namespace: shop-system}
data: {text: $(param:farewell)}
---
apiVersion: batch/v1
kind: Job
metadata: {name: clean-up, namespace: shop-system}
spec:
  backoffLimit: 0
  activeDeadlineSeconds: 15
  template:
    spec:
      restartPolicy: Never
      containers: [{name: clean, image: 'registry.example.test/example/server:1.0.0', args: [ARGUMENT]}]
";

/// Packs a version whose cleanup Job has this argument.
fn pack_with_cleanup(site: &Site, version: &str, argument: &str) -> String {
    site.desk
        .write("1.0.0/last.yaml", LAST.replace("ARGUMENT", argument));
    pack(site, version, SETS, RELEASE)
}

fn undeploy(site: &Site, more: &[&str]) -> crate::common::Answer {
    let undeploy = ["undeploy", "--yes", "shop", "-e", "prod"];
    site.solution(&[&undeploy[..], more].concat())
}

#[test]
fn what_cleans_up_is_done_before_anything_goes() {
    let site = Site::new("cleanup");
    let empty = site.new_environment("prod");
    let broken = pack_with_cleanup(&site, "1.0.0", "serve");
    let planned = import(&site, &broken, &["--dry-run", "--details"]).success();
    let words =
        "cleanup   applied before it is removed: ConfigMap prod/farewell, Job prod/clean-up";
    assert!(planned.contains(words), "{planned}");
    import(&site, &broken, &["--set", "farewell=so long"]).success();
    let running = site.objects_in("prod");
    assert!(!running.contains_key("Job clean-up"));

    let before = site.snapshot();
    let planned = undeploy(&site, &["--dry-run", "--output", "json"]).json();
    let applied = serde_json::json!(["ConfigMap prod/farewell", "Job prod/clean-up"]);
    assert_eq!(planned["applied"], applied, "{planned}");
    assert_eq!(site.snapshot(), before);

    // The Job fails, so no object is deleted.
    let failed = undeploy(&site, &[]);
    assert_ne!(failed.code, 0, "{failed:?}");
    assert!(failed.stderr.contains("Job prod/clean-up"), "{failed:?}");
    assert!(failed.stderr.contains("--skip-remove-sets"), "{failed:?}");
    let text = site.field("prod", "configmap/farewell", "{.data.text}");
    assert_eq!(text, "so long");
    let ready = site.field("prod", "deployment/shop", "{.status.readyReplicas}");
    assert_eq!(ready, "1");

    // An upgrade does not run the Job, and the next attempt uses the new version's Job.
    let mended = pack_with_cleanup(&site, "1.1.0", "--version");
    import(&site, &mended, &[]).success();
    eventually(
        "the Job of the former attempt goes with the upgrade",
        || {
            let job = site.kubectl("prod", &["get", "job", "clean-up"]);
            (job.code != 0).then_some(())
        },
    );
    let undone = undeploy(&site, &["--output", "json"]).json();
    assert_eq!(undone["applied"], applied, "{undone}");
    // The Solution has no definitions.
    assert_eq!(undone["notes"], serde_json::json!([]), "{undone}");
    site.until_as_before("prod", &empty, &[]);
    let kept = ["get", "configmaps,secrets", "--output=name"];
    let kept = site.kubectl("metalk8s-solutions", &kept).success();
    assert!(!kept.contains("carried"), "{kept}");
}

/// Sets a site configuration that patches the cleanup objects.
fn patch_cleanup(site: &Site, text: &str) {
    let target = serde_json::json!({ "kind": "ConfigMap", "name": "farewell" });
    let patch = serde_json::json!({ "target": target, "merge": { "data": { "text": text } } });
    let document = serde_json::json!({
        "apiVersion": "solutions.metalk8s.scality.com/v1alpha1",
        "kind": "Site",
        "spec": { "patches": { "shop": [patch] } },
    });
    site.desk.write("site.yaml", document.to_string());
    site.solution(&["site", "set", "site.yaml"]).success();
}

#[test]
fn a_plan_that_was_approved_stands_for_what_cleans_up() {
    let site = Site::new("cleanup-approved");
    site.create_environment("prod");
    let archive = pack_with_cleanup(&site, "1.0.0", "--version");
    site.import(&archive, &[]).success();
    let ca = crate::site::variable("SOLUTION_TEST_REGISTRY_CA");
    let plan = |file: &str| {
        let deploy = ["deploy", "shop", "1.0.0", "-e", "prod"];
        let more = ["--pull-secret", "login", "--ca-file", &ca];
        let planned = [&deploy[..], &more, &["--plan-out", file, "--details"]].concat();
        let planned = site.solution(&planned).success();
        let words = "applied before it is removed: ConfigMap prod/farewell";
        assert!(planned.contains(words), "{planned}");
        let sign = ["sign", file, "--key", "publisher.key"];
        site.desk.solution(&sign).success();
    };
    let apply = |file: &str| {
        let by = ["--approved-by", "publisher.pub", "--ca-file", &ca];
        site.solution(&[&["apply", "--plan", file][..], &by].concat())
    };
    patch_cleanup(&site, "so long");
    plan("first.json");

    // The names are the same, and the content differs.
    patch_cleanup(&site, "never");
    let refused = apply("first.json").failure(1);
    let words = "the plan has changed since the file was written";
    assert!(refused.contains(words), "{refused}");
    plan("second.json");
    apply("second.json").success();
    let again = apply("second.json").success();
    assert!(again.contains("already applied: nothing to do"), "{again}");

    // Only the cleanup objects differ.
    patch_cleanup(&site, "so long");
    plan("third.json");
    let done = apply("third.json").success();
    assert!(!done.contains("already applied"), "{done}");
    let again = apply("third.json").success();
    assert!(again.contains("already applied: nothing to do"), "{again}");
    undeploy(&site, &[]).success();
    let kept = ["get", "configmaps,secrets", "--output=name"];
    let kept = site.kubectl("metalk8s-solutions", &kept).success();
    assert!(!kept.contains("carried"), "{kept}");
}

#[test]
fn what_does_not_clean_up_can_be_left_out() {
    let site = Site::new("skipped");
    let empty = site.new_environment("prod");
    let broken = pack_with_cleanup(&site, "1.0.0", "serve");
    import(&site, &broken, &[]).success();
    let failed = undeploy(&site, &[]);
    assert_ne!(failed.code, 0, "{failed:?}");
    // The kept record may be lost, too.
    let lost = ["delete", "secret", "carried.prod.shop"];
    site.kubectl("metalk8s-solutions", &lost).success();
    let refused = undeploy(&site, &[]).failure(1);
    let words = "Secret metalk8s-solutions/carried.prod.shop is missing";
    assert!(refused.contains(words), "{refused}");
    let undone = undeploy(&site, &["--skip-remove-sets"]).success();
    assert!(undone.contains("are skipped: last"), "{undone}");
    site.until_as_before("prod", &empty, &[]);
}

/// A claim for a copy of the data, which a cleanup Job may fill.
const CLAIM: &str = "
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: copy, namespace: shop-system}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Mi}}}
";

#[test]
fn what_a_removal_claims_stays_with_its_data_and_is_taken_back() {
    let site = Site::new("claimed");
    site.create_environment("prod");
    let last = LAST.replace("ARGUMENT", "--version");
    site.desk.write("1.0.0/last.yaml", format!("{last}{CLAIM}"));
    let archive = pack(&site, "1.0.0", SETS, RELEASE);
    let claim = || site.field("prod", "pvc/copy", "{.metadata.uid}");
    let mut uids = Vec::new();
    for _ in 0..2 {
        import(&site, &archive, &[]).success();
        let undone = undeploy(&site, &["--output", "json"]).json();
        let words = "PersistentVolumeClaim prod/copy is kept, with its data";
        assert_eq!(undone["notes"], serde_json::json!([words]), "{undone}");
        let removed = undone["removed"].to_string();
        assert!(!removed.contains("PersistentVolumeClaim"), "{removed}");
        uids.push(claim());
    }
    assert!(!uids[0].is_empty() && uids[0] == uids[1], "{uids:?}");
    let job = site.kubectl("prod", &["get", "job", "clean-up"]);
    assert_ne!(job.code, 0, "{job:?}");
}
