//! The permissions that an administrator sees and must accept.

use crate::releases::{OWN, import, pack as pack_release};
use crate::site::{Site, consent_id, variable};
use crate::terminal::Terminal;

/// The additional permissions of the operator in a larger release.
const MORE: &str = r#"---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: more, labels: {LABEL}}
rules:
  - {apiGroups: [""], resources: [RESOURCE], verbs: [get, list, watch]}
"#;

/// Packs 1.0.0 again with one more role.
pub(crate) fn pack(site: &Site, resource: &str, label: &str, scope: &str, archive: &str) {
    let role = format!("{}/{}", "1.0.0", "operator/deploy/role.yaml");
    let plain = String::from_utf8(site.desk.read(&role)).unwrap();
    let plain = plain.split("---\n").next().unwrap().to_owned();
    let more = MORE.replace("RESOURCE", resource).replace("LABEL", label);
    site.desk.write(&role, format!("{plain}{more}"));
    let source = "1.0.0/solution.yaml";
    let text = String::from_utf8(site.desk.read(source)).unwrap();
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().starts_with("scope:"))
        .collect();
    let scope = format!("    scope: {scope}");
    let operator = lines
        .iter()
        .position(|line| *line == "  operator:")
        .unwrap();
    lines.insert(operator + 1, &scope);
    site.desk.write(source, lines.join("\n"));
    let arguments = ["pack", "1.0.0", "-o", archive, "--key", "publisher.key"];
    site.desk.solution(&arguments).success();
}

fn plan(site: &Site, archive: &str, more: &[&str]) -> serde_json::Value {
    let arguments = ["-e", "consent", "--pull-secret", "login", "--dry-run"];
    let arguments = [&arguments[..], &["--output", "json"], more].concat();
    let answer = site.import(archive, &arguments);
    let json = answer.json();
    if answer.code == 0 {
        json
    } else {
        json["plan"].clone()
    }
}

/// The arguments for a deployment in the environment.
const INTO: [&str; 4] = ["-e", "consent", "--pull-secret", "login"];

#[test]
fn rights_are_shown_and_those_beyond_the_environment_accepted() {
    let site = Site::new("consent");
    site.create_environment("consent");
    assert_rights_are_shown(&site);
    let id = assert_wide_rights_are_accepted(&site);
    assert_second_operator_is_refused(&site, &id);
    assert_terminal_asks(&site);
    assert_aggregated_role_is_accepted(&site);
}

/// Deploys 1.0.0, and plans a version whose operator can do more in its namespace.
fn assert_rights_are_shown(site: &Site) {
    // An operator may work in its own namespace without consent.
    let detailed = [&INTO[..], &["--details"]].concat();
    let shown = site.import("1.0.0.iso", &detailed).success();
    assert!(
        shown.contains("Deployments of namespace consent"),
        "{shown}"
    );
    pack(site, "secrets", "", "Namespace", "secrets.iso");
    let gained = plan(site, "secrets.iso", &["--replace"])["target"]["rightsGained"].clone();
    assert_eq!(gained.as_array().unwrap().len(), 1, "{gained:#}");
    assert_eq!(gained[0]["right"], "read all Secrets of namespace consent");
    assert!(gained[0]["danger"].as_str().unwrap().contains("password"));
}

/// Deploys a version whose operator has permissions in the whole cluster, and returns the id that accepts them.
fn assert_wide_rights_are_accepted(site: &Site) -> String {
    pack(site, "secrets", "", "Cluster", "wide.iso");
    let before = site.snapshot();
    let wide = [&INTO[..], &["--replace"]].concat();
    let text = site.import("wide.iso", &wide).failure(1);
    assert!(
        text.contains("read all Secrets in the whole cluster"),
        "{text}"
    );
    assert!(text.contains("--accept "), "{text}");
    assert_eq!(site.snapshot(), before);
    let effects = plan(site, "wide.iso", &["--replace"])["target"]["beyond"].clone();
    assert_eq!(effects["accepted"], false, "{effects:#}");
    let id = effects["id"].as_str().unwrap();
    let other = [&wide[..], &["--accept", "0123456789abcdef01234567"]].concat();
    site.import("wide.iso", &other).failure(1);
    assert_eq!(site.snapshot(), before);
    site.import("wide.iso", &[&wide[..], &["--accept", id]].concat())
        .success();
    let record = site.field(
        "metalk8s-solutions",
        "configmap/namespace-consent",
        "{.data.content\\.json}",
    );
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let accepted = &record["solutions"]["example"]["accepted"];
    assert_eq!(accepted["id"], id, "{record:#}");
    assert!(accepted["by"].as_str().unwrap().contains('@'), "{record:#}");
    let described = site.solution(&["environment", "describe", "consent", "--output", "json"]);
    let described = described.json()["namespaces"][0]["operators"][0].clone();
    assert_eq!(&described["accepted"], accepted, "{described:#}");
    // Accepted permissions need no new consent, additional ones do.
    site.import("wide.iso", &wide).success();
    pack(site, "nodes", "", "Cluster", "wider.iso");
    let text = site.import("wider.iso", &wide).failure(1);
    assert!(
        text.contains("Nodes") && text.contains("--accept "),
        "{text}"
    );
    id.to_owned()
}

/// An operator of the whole cluster must be the only one.
fn assert_second_operator_is_refused(site: &Site, id: &str) {
    site.create_environment("other");
    let before = site.snapshot();
    let into = ["-e", "other", "--pull-secret", "login", "--accept", id];
    let refused = site.import("wide.iso", &into).failure(1);
    let words = "must be the only one, but another one runs in namespace `consent`";
    assert!(refused.contains(words), "{refused}");
    assert_eq!(site.snapshot(), before);
}

/// Everyone with the role `view` gets the permissions of this version's role.
fn assert_aggregated_role_is_accepted(site: &Site) {
    let label = "rbac.authorization.k8s.io/aggregate-to-view: 'true'";
    pack(site, "pods", label, "Namespace", "aggregated.iso");
    let replace = [&INTO[..], &["--replace"]].concat();
    let text = site.import("aggregated.iso", &replace).failure(1);
    assert!(
        text.contains("everyone with the role view may read all Pods"),
        "{text}"
    );
    let plan = plan(site, "aggregated.iso", &["--replace"]);
    let id = plan["target"]["beyond"]["id"].as_str().unwrap();
    let accept = [&replace[..], &["--accept", id]].concat();
    site.import("aggregated.iso", &accept).success();
    let role = "clusterrole/solution:consent:consent:example:more";
    let path = "{.metadata.labels.rbac\\.authorization\\.k8s\\.io/aggregate-to-view}";
    assert_eq!(site.field("default", role, path), "true");
}

/// A binding of a ClusterRole, next to a harmless Role of the same name.
const BOUND: &str = "apiVersion: v1
kind: ServiceAccount
metadata: {name: shop, namespace: shop-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reads, namespace: shop-system}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shop-reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads}
subjects: [SUBJECT]
";

#[test]
fn roles_of_the_cluster_are_read_and_what_was_accepted_is_content() {
    let site = Site::new("borrowed");
    site.create_environment("prod");
    let role = ["clusterrole", "reads", "--verb=list", "--resource=secrets"];
    site.kubectl("default", &[&["create"][..], &role].concat())
        .success();
    let release = |version: &str, subject: &str| {
        pack_release(&site, version, OWN, &BOUND.replace("SUBJECT", subject))
    };
    let account = "{kind: ServiceAccount, name: shop, namespace: shop-system}";
    let first = release("1.0.0", account);
    let refused = import(&site, &first, &[]).failure(1);
    for words in [
        "ServiceAccount prod/shop is given ClusterRole reads in the whole cluster, which is the cluster's own",
        "ServiceAccount prod/shop may list all Secrets in the whole cluster",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    import(&site, &first, &["--accept", consent_id(&refused)]).success();
    import(&site, &first, &[]).success();

    // The same words for another subject.
    let group =
        "{kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'system:unauthenticated'}";
    let other = release("1.1.0", group);
    let before = site.snapshot();
    let refused = import(&site, &other, &[]).failure(1);
    let words = "+! everyone, also without a login (system:unauthenticated) may list all Secrets";
    assert!(refused.contains(words), "{refused}");
    assert_eq!(site.snapshot(), before);

    // An earlier format recorded the accepted words instead of an id.
    let (records, map) = ("metalk8s-solutions", "configmap/namespace-prod");
    let record = site.field(records, map, "{.data.content\\.json}");
    let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let accepted = &mut record["solutions"]["shop"]["accepted"];
    accepted.as_object_mut().unwrap().remove("grants").unwrap();
    let patch = serde_json::json!({ "data": { "content.json": record.to_string() } });
    let patch = format!("--patch={patch}");
    site.kubectl(records, &["patch", map, "--type=merge", &patch])
        .success();
    let refused = import(&site, &first, &[]).failure(1);
    assert!(refused.contains("required again"), "{refused}");
    import(&site, &first, &["--accept", consent_id(&refused)]).success();
    import(&site, &first, &[]).success();
}

/// A user at a terminal is asked about `wider.iso`. Only `yes` is an approval.
fn assert_terminal_asks(site: &Site) {
    let line = format!(
        "solution import wider.iso --key publisher.pub --registry {} --pull-registry {} --ca-file {} -e consent --pull-secret login --replace",
        site.registry(),
        site.pull_registry(),
        variable("SOLUTION_TEST_REGISTRY_CA"),
    );
    site.grant("wider.iso");
    let config = ("KUBECONFIG", site.kubeconfig().to_owned());
    let login = "REGISTRY_AUTH_FILE";
    let variables = [config, (login, variable(login))];
    let before = site.snapshot();
    let question = "Type `yes` to continue:";
    let text = Terminal::run(&site.desk, &line, &variables)
        .answer(question, "y\n")
        .wait_for_exit(1);
    assert!(text.contains("--accept "), "{text}");
    assert_eq!(site.snapshot(), before);
    Terminal::run(&site.desk, &line, &variables)
        .answer(question, "yes\n")
        .wait_for_exit(0);
    assert_ne!(site.snapshot(), before);
}

#[test]
fn what_was_found_of_an_archive_is_said_when_it_is_imported() {
    let site = Site::new("findings");
    let source = "1.0.0/solution.yaml";
    let text = String::from_utf8(site.desk.read(source)).unwrap();
    let expired = text.replacen("spec:\n", "spec:\n  expires: '1999-12-31T00:00:00Z'\n", 1);
    assert_ne!(text, expired);
    site.desk.write(source, expired);
    let pack = ["pack", "1.0.0", "-o", "old.iso", "--unsigned"];
    site.desk.solution(&pack).success();
    let import = ["--dry-run", "--allow-unsigned", "example-1.0.0"];
    let answer = site.import("old.iso", &import);
    for words in ["expired", "this archive is not signed"] {
        assert!(answer.stderr.contains(words), "{answer:?}");
    }
    let json = site.import("old.iso", &[&import[..], &["--output", "json"]].concat());
    let findings = json.json()["findings"].clone();
    assert!(findings.to_string().contains("expired"), "{findings:#}");
}
