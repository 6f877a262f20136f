//! `fleet rollback` on real API servers: it reverts only the changes of one revision, and a second run changes nothing.

use serde_json::Value;

use crate::charts::solution;
use crate::common::Answer;
use crate::fleet_apply::{Fleet, NAMES, states};
use crate::releases::pack_as;
use crate::site::{consent_id, variable};

fn fleet(fleet: &Fleet, verb: &str, more: &[&str]) -> Answer {
    solution(
        &fleet.site,
        &[&["fleet", verb, "fleet.yaml"], more].concat(),
    )
}

/// Rolls back, with all required consents.
fn rollback(of: &Fleet, more: &[&str]) -> Value {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let with = ["--ca-file", &ca, "--no-pull-proof", "--output", "json"];
    let more = [more, &with].concat();
    let planned = fleet(of, "rollback", &[&more[..], &["--dry-run"]].concat());
    let accept = if planned.code == 0 {
        Vec::new()
    } else {
        vec!["--accept", consent_id(&planned.stdout)]
    };
    fleet(of, "rollback", &[more, accept].concat()).json()
}

fn assert_plan_explains_clusters(of: &Fleet, first: &str, second: &str, ca: &str) {
    // Both clusters of the wave are shown, and the pause by another user does not block a rollback.
    fleet(of, "pause", &[]).success();
    let dry = [
        "--wave",
        "rest",
        "--dry-run",
        "--diff",
        "--ca-file",
        ca,
        "--no-pull-proof",
    ];
    let plan = fleet(of, "rollback", &dry).stdout;
    for words in [
        format!("revision  {second}\n").as_str(),
        &format!("  rollback  nothing: revision {second} did not change shop [paris]\n"),
        "  rollback  to shop 1.0.0 (it ran before revision ",
        "  rollback  nothing: board is not deployed [paris]\n",
        "  rollback  nothing: 1.0.0 is the first deployed version of board [rome]\n",
        "+  text: 'hello rome, 3, 1.0.0'\n",
    ] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    let chosen = ["--solution", "shop", "--revision", first];
    let plan = fleet(of, "rollback", &[&dry[..], &chosen].concat()).success();
    let words =
        format!("nothing: shop 1.1.0 is deployed, but revision {first} deployed 1.0.0 [rome]\n");
    assert!(plan.contains(&words) && !plan.contains("board"), "{plan}");
}

#[test]
fn a_wave_goes_back_and_what_the_file_did_not_bring_stays() {
    let of = Fleet::start("fleet-rollback");
    of.write("1.0.0", "", "");
    of.apply_accepting(&[]).success();
    let before = of.configs();

    // No version was deployed before.
    let first = rollback(&of, &["--wave", "rest"]);
    assert_eq!(states(&first)[1].1, "done", "{first:#}");
    assert_eq!(of.configs(), before);
    let first = revision(&of);

    // A later revision deploys the next version and a second Solution to two of three clusters, in two runs.
    of.pack("1.1.0");
    pack_board(&of);
    write_with_board(&of, "1.1.0");
    of.apply(&["--cluster", "lab"]).success();
    let second = revision(&of);
    of.apply(&["--cluster", "rome"]).success();
    assert_eq!(revision(&of), second);
    assert_ne!(first, second);
    let [lab, paris, rome] = of.configs();
    assert_eq!(
        [lab.as_str(), &paris, &rome],
        [
            "hello lab, 3, 1.1.0",
            "hello paris, 3, 1.0.0",
            "hello rome, 3, 1.1.0",
        ]
    );

    // Other values of the same version cannot be rolled back.
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let again = ["deploy", "shop", "1.1.0", "-e", "prod", "--set", "size=2"];
    let at_rome = ["--kubeconfig", &of.members[2], "--ca-file", &ca];
    solution(&of.site, &[&again[..], &at_rome].concat()).success();

    assert_plan_explains_clusters(&of, &first, &second, &ca);
    let done = ["paris", "rome"].map(|name| (name.to_owned(), "done".to_owned()));
    let applied = rollback(&of, &["--wave", "rest"]);
    assert_eq!(states(&applied), done, "{applied:#}");
    assert_eq!(
        of.configs(),
        [lab.clone(), before[1].clone(), before[2].clone()]
    );

    // A second run rolls nothing back.
    let again = rollback(&of, &["--wave", "rest"]);
    assert_eq!(states(&again), done);
    for cluster in again["clusters"].as_array().unwrap() {
        assert_eq!(
            cluster["receipts"].as_array().unwrap().len(),
            0,
            "{again:#}"
        );
    }
    assert_eq!(of.configs(), [lab, before[1].clone(), before[2].clone()]);
    rollback(&of, &["--cluster", "*"]);
    assert_eq!(
        of.configs(),
        NAMES.map(|name| format!("hello {name}, 3, 1.0.0"))
    );

    assert_changes_in_one_table(&of, &second);
    assert_fleet_deleted(&of);
}

/// Returns the last revision that changed clusters, from the journal.
fn revision(of: &Fleet) -> String {
    let journal = of.site.desk.read("fleet.journal.json");
    let journal: Value = serde_json::from_slice(&journal).unwrap();
    journal["revision"]["at"].as_str().unwrap().to_owned()
}

/// Writes the fleet's file with a second Solution.
fn write_with_board(of: &Fleet, version: &str) {
    of.write(version, "", "");
    let path = of.site.desk.path("fleet.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let board = "environment: prod}, {name: board, version: 1.0.0, archive: board-1.0.0.iso, environment: prod}]";
    std::fs::write(&path, text.replace("environment: prod}]", board)).unwrap();
}

/// Packs a Solution that needs the other one.
fn pack_board(of: &Fleet) {
    let sets = "  manifests: [{name: board, files: [release.yaml], namespaces: [{name: boards, fixed: false}]}]
  prerequisites: {solutions: [{name: shop, version: '>=1'}]}
";
    let board = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: board, namespace: boards}\ndata: {a: b}\n";
    pack_as(&of.site, "board", "1.0.0", sets, board);
}

/// Returns the removed deployments of each cluster, as `CLUSTER: DEPLOYMENT, …`.
fn removed_deployments(answer: &Value) -> Vec<String> {
    let clusters = answer["clusters"].as_array().unwrap().iter();
    let of_cluster = |cluster: &Value| {
        let removed = cluster["removed"].as_array().unwrap().iter();
        let removed = removed.map(|entry| entry["deployment"].as_str().unwrap());
        let removed = removed.collect::<Vec<_>>().join(", ");
        format!("{}: {removed}", cluster["name"].as_str().unwrap())
    };
    clusters.map(of_cluster).collect()
}

/// Deletes the fleet: the last cluster first, dependent Solutions before the others, and no deployments of other users.
fn assert_fleet_deleted(of: &Fleet) {
    write_with_board(of, "1.0.0");
    fleet(of, "resume", &[]).success();
    of.apply(&["--cluster", "paris", "--cluster", "rome"])
        .success();
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let (registry, pulls) = (of.site.registry(), of.site.pull_registry());
    let import = [
        "import",
        "board-1.0.0.iso",
        "-e",
        "prod",
        "--key",
        "publisher.pub",
    ];
    let to = [
        "--registry",
        &registry,
        "--pull-registry",
        &pulls,
        "--ca-file",
        &ca,
    ];
    let at_lab = ["--kubeconfig", &of.members[0]];
    let import = [&import[..], &to, &at_lab, &["--no-pull-proof"]].concat();
    let undeploy = ["undeploy", "--yes", "board", "-e", "prod"];
    let undeploy = [&undeploy[..], &at_lab].concat();
    solution(&of.site, &undeploy).success();
    solution(&of.site, &import).success();

    // A deployment of another user is kept, and its prerequisite blocks the deletion.
    let refused = fleet(of, "delete", &["--all", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let words =
        "error: lab, shop 1.0.0 in prod: board 1.0.0 in the environment `prod` requires shop";
    assert!(refused.stderr.contains(words), "{refused:?}");
    let note = "  note      kept: it was not deployed by this fleet [lab]\n";
    assert!(refused.stdout.contains(note), "{refused:?}");
    let before = of.configs();

    // The plan is shown, confirmed, and blocked by a pause.
    let wave = ["--wave", "rest"];
    let plan = fleet(of, "delete", &[&wave[..], &["--dry-run"]].concat()).success();
    let [board, shop] =
        ["board", "shop"].map(|name| plan.find(&format!("{name} 1.0.0 in prod, 2")));
    assert!(board.is_some() && board < shop, "{plan}");
    let unconfirmed = fleet(of, "delete", &wave).failure(1);
    assert!(unconfirmed.contains("was not confirmed"), "{unconfirmed}");
    fleet(of, "pause", &[]).success();
    let yes = [&wave[..], &["--yes", "--output", "json"]].concat();
    assert_eq!(fleet(of, "delete", &yes).code, 3);
    assert_eq!(of.configs(), before);
    fleet(of, "resume", &[]).success();

    let gone = fleet(of, "delete", &yes).json();
    let both = "board 1.0.0 in prod, shop 1.0.0 in prod";
    assert_eq!(
        removed_deployments(&gone),
        [format!("rome: {both}"), format!("paris: {both}")]
    );
    assert_eq!(of.configs(), [before[0].as_str(), "", ""]);
    solution(&of.site, &undeploy).success();
    let all = ["--all", "--yes", "--output", "json"];
    let gone = fleet(of, "delete", &all).json();
    let expected = ["rome: ", "paris: ", "lab: shop 1.0.0 in prod"];
    assert_eq!(removed_deployments(&gone), expected, "{gone:#}");
    assert_eq!(of.configs(), [""; 3]);
    let journal = std::fs::read_to_string(of.site.desk.path("fleet.journal.json")).unwrap();
    assert!(!journal.contains("clusters"), "{journal}");
    let again = fleet(of, "delete", &["--all"]).success();
    assert!(
        again.contains("removed: 3 clusters (rome, paris, lab)\n"),
        "{again}"
    );
}

/// Asserts that one table lists all changes of the clusters, newest first.
fn assert_changes_in_one_table(of: &Fleet, revision: &str) {
    let history = fleet(of, "history", &["--output", "json"]).json();
    let changes = history["changes"].as_array().unwrap();
    assert_eq!(changes[0]["verb"], "rollback", "{history:#}");
    assert_eq!(changes[0]["cluster"], "lab", "{history:#}");
    assert_eq!(changes[0]["wave"], "first", "{history:#}");
    let brought = changes
        .iter()
        .find(|change| change["verb"] != "rollback")
        .unwrap();
    assert_eq!(changes[0]["fleetRevision"], Value::Null, "{history:#}");
    let is_of_revision = |change: &&Value| change["fleetRevision"] == revision;
    assert_eq!(
        changes.iter().filter(is_of_revision).count(),
        4,
        "{history:#}"
    );
    let brought = &brought["places"][0]["to"];
    assert_eq!(brought["fleet"], "shops", "{history:#}");
    assert!(brought["fleetValues"].is_string(), "{history:#}");
    let of_paris = |change: &&Value| change["cluster"] == "paris";
    assert_eq!(changes.iter().filter(of_paris).count(), 1, "{history:#}");
    let times: Vec<&str> = changes
        .iter()
        .map(|change| change["at"].as_str().unwrap())
        .collect();
    assert!(times.is_sorted_by(|one, next| one >= next), "{times:?}");
    let newest = fleet(of, "history", &["--cluster", "lab", "--limit", "1"]).success();
    let rows: Vec<&str> = newest.lines().collect();
    let titles = rows[0].starts_with("CLUSTER  REVISION") && rows[0].ends_with("FLEET REVISION");
    assert!(titles, "{newest}");
    assert!(rows[1].starts_with("lab ") && rows.len() == 2, "{newest}");
}
