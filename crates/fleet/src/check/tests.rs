//! Tests of the faults that the check of a fleet finds.

use super::*;

/// A valid fleet: two clusters, two groups with a common cluster, a Solution in each environment, and a wave for each
/// cluster.
const GOOD: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {name: shops}
spec:
  clusters:
  - {name: paris, context: paris, labels: {tier: prod, country: fr}}
  - {name: lab, kubeconfig: lab.conf, labels: {tier: test, country: fr}}
  groups:
  - name: prod
    selector: {matchLabels: {tier: prod}}
    site: {parameters: {shop: {size: 3}}}
  - name: french
    selector: {matchLabels: {country: fr}}
    site: {parameters: {shop: {language: fr}}}
  solutions:
  - {name: shop, version: 1.0.0, environment: prod, groups: [prod]}
  - {name: shop, version: 1.1.0, environment: test, groups: [french]}
  waves:
  - {name: first, clusters: [lab]}
  - {name: second, groups: [prod]}
";

fn checked(text: &str) -> FleetChecked {
    let file = FleetFile::read("fleet.yaml", text.as_bytes());
    check(&file.unwrap_or_else(|error| panic!("{error}\n{text}")))
}

#[test]
fn what_fits_together_has_no_problems() {
    let FleetChecked { problems, notes } = checked(GOOD);
    assert!(
        problems.is_empty() && notes.is_empty(),
        "{problems:?} {notes:?}"
    );
}

/// A text in the valid fleet, its replacement, and the expected faults.
type Change = (&'static str, &'static str, &'static [&'static str]);

fn said(changes: &[Change]) {
    for (from, to, expected) in changes {
        assert!(GOOD.contains(from), "{from}");
        let problems = checked(&GOOD.replacen(from, to, 1)).problems;
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said, *expected, "{to}");
    }
}

#[test]
fn what_is_wrong_with_clusters_is_said_with_its_line() {
    said(&[
        (
            "name: lab, kubeconfig: lab.conf",
            "name: paris, kubeconfig: lab.conf",
            &[
                "line 7: `clusters` has two entries with the name `paris`",
                "line 7: the cluster `paris` is in no wave",
                "line 19: the wave `first` names the cluster `lab`, which does not exist",
            ],
        ),
        (
            "kubeconfig: lab.conf",
            "context: paris",
            &["line 7: the clusters `paris` and `lab` have the same `context`"],
        ),
        (
            "kubeconfig: lab.conf, ",
            "",
            &["line 7: the cluster `lab` has neither `kubeconfig` or `context` nor `clusterApi`"],
        ),
        (
            "kubeconfig: lab.conf",
            "kubeconfig: lab.conf, clusterApi: {namespace: a, name: b}",
            &["line 7: the cluster `lab` has both `clusterApi` and `kubeconfig` or `context`"],
        ),
        (
            "kubeconfig: lab.conf",
            "kubeconfig: lab.conf, pullSecret: a, site: {pullSecret: a}",
            &["line 7: the cluster `lab` has `pullSecret` twice, also in its `site`"],
        ),
        (
            "kubeconfig: lab.conf",
            "kubeconfig: lab.conf, secrets: {shpo: a.yaml}, site: {charts: {shpo: {}}}",
            &[
                "line 7: `secrets` of the cluster `lab` names the Solution `shpo`, which is not among `solutions`",
                "line 7: `charts` of cluster lab names the Solution `shpo`, which is not among `solutions`",
            ],
        ),
        (
            "- name: french",
            "- name: prod",
            &[
                "line 12: `groups` has two entries with the name `prod`",
                "line 17: the entry for `shop` in the environment `test` names the group `french`, which does not exist",
            ],
        ),
        (
            "groups: [french]",
            "groups: [frensh]",
            &[
                "line 17: the entry for `shop` in the environment `test` names the group `frensh`, which does not exist",
            ],
        ),
    ]);
}

#[test]
fn what_is_wrong_with_the_order_and_with_values_is_said_with_its_line() {
    said(&[
        (
            "clusters: [lab]",
            "clusters: [lap]",
            &[
                "line 7: the cluster `lab` is in no wave",
                "line 19: the wave `first` names the cluster `lap`, which does not exist",
            ],
        ),
        (
            "clusters: [lab]",
            "groups: [french]",
            &["line 20: the cluster `paris` is in two waves, `first` and `second`"],
        ),
        (
            ", clusters: [lab]",
            "",
            &[
                "line 7: the cluster `lab` is in no wave",
                "line 19: the wave `first` names neither groups nor clusters",
            ],
        ),
        (
            "environment: test",
            "environment: prod",
            &[
                "line 17: two entries deploy `shop` in the environment `prod` of the cluster `paris`",
            ],
        ),
        (
            "language: fr",
            "size: 4",
            &[
                "line 14: the groups `prod` and `french` choose different values at `/parameters/shop/size`, and the cluster `paris` is in both",
            ],
        ),
        (
            "site: {parameters: {shop: {language: fr}}}",
            "site: {parameter: {}, registry: r.test}",
            &[
                "line 14: `site` of group french has the field `parameter`, which does not exist",
                "line 14: `site` of group french has the field `registry`, which only a cluster can have",
            ],
        ),
    ]);
}

#[test]
fn the_name_that_may_be_meant_is_found() {
    let problems = checked(&GOOD.replacen("groups: [french]", "groups: [frensh]", 1)).problems;
    let FleetFault::UnknownGroup { near, .. } = &problems[0].fault else {
        panic!("{problems:?}");
    };
    assert_eq!(near.as_ref().map(GroupName::as_str), Some("french"));
    let wrong = GOOD.replacen(
        "site: {parameters: {shop: {size",
        "site: {parameter: {shop: {size",
        1,
    );
    let problems = checked(&wrong).problems;
    let FleetFault::UnknownField { near, .. } = &problems[0].fault else {
        panic!("{problems:?}");
    };
    assert_eq!(*near, Some("parameters"));
}

#[test]
fn groups_may_choose_the_same_and_a_cluster_settles_nothing() {
    let same = GOOD.replacen("language: fr", "size: 3", 1);
    assert!(checked(&same).problems.is_empty());
    let settled = GOOD.replacen("language: fr", "size: 4", 1).replacen(
        "context: paris,",
        "context: paris, site: {parameters: {shop: {size: 5}}},",
        1,
    );
    assert_eq!(checked(&settled).problems.len(), 1);
    let apart = GOOD.replacen("language: fr", "size: 4", 1).replacen(
        "country: fr}}\n  - {name: lab",
        "country: de}}\n  - {name: lab",
        1,
    );
    assert!(checked(&apart).problems.is_empty());
}

#[test]
fn what_reaches_nobody_is_noted() {
    let text = GOOD
        .replacen("matchLabels: {tier: prod}", "matchLabels: {tier: none}", 1)
        .replacen(
            "groups: [prod]}\n  - {name: shop",
            "groups: [prod]}\n  - {name: cart",
            1,
        )
        .replacen("country: fr}}\n  groups", "country: de}}\n  groups", 1);
    let notes = checked(&text).notes;
    let expected = [
        "the entry for `shop` in the environment `prod` selects no cluster",
        "the cluster `lab` runs no Solution of this file",
        "the group `prod` has no cluster",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn expressions_are_read_before_any_cluster_is_asked() {
    let facts = "spec:\n  facts:\n    domain: {apiVersion: v1, kind: ConfigMap, name: a, path: /data/a}\n    unused: {apiVersion: v1, kind: Node, name: a, path: ''}";
    let with_facts = GOOD.replacen("spec:", facts, 1);
    for (value, expected) in [
        ("'${cluster.name}.${facts.domain}'", None),
        ("'$${HOME}'", None),
        ("'${has(facts.other) ? 1 : 2}'", None),
        (
            "'${cluster.'",
            Some("line 17: `${cluster.`: `${` is not closed by `}`"),
        ),
        ("'${1 +}'", Some("line 17: `${1 +}`: it is not CEL: ")),
        (
            "'${facts.domian}'",
            Some("line 17: `${facts.domian}` uses `facts.domian`, which is not a fact"),
        ),
        (
            "'${cluster.nam}'",
            Some("line 17: `${cluster.nam}` uses `cluster.nam`, which is not a fact"),
        ),
        (
            "{a: [{'${b}': 1}]}",
            Some("line 17: `site` of group french has an expression in the key `${b}`"),
        ),
    ] {
        let FleetChecked { problems, notes } =
            checked(&with_facts.replacen("language: fr", &format!("language: {value}"), 1));
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            said.len(),
            usize::from(expected.is_some()),
            "{value}: {said:?}"
        );
        if let Some(expected) = expected {
            assert!(said[0].starts_with(expected), "{said:?}");
        }
        assert!(
            notes.contains(&"the fact `unused` is not used".to_owned()),
            "{notes:?}"
        );
    }
    let misspelt = with_facts.replacen("language: fr", "language: '${facts.domian}'", 1);
    let FleetFault::UnknownFact { near, .. } = &checked(&misspelt).problems[0].fault else {
        panic!("another problem");
    };
    assert_eq!(near.as_deref(), Some("facts.domain"));
}

#[test]
fn values_without_expressions_are_judged_as_those_of_a_sites_file() {
    let wrong = GOOD.replacen(
        "site: {parameters: {shop: {language: fr}}}",
        "site: {workloads: [{set: {image: x}}, {set: {replicas: '${nodes.count}'}}], parameters: {Shop: {}}}",
        1,
    );
    let problems = checked(&wrong).problems;
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("line 14: `site` of group french at `/parameters/Shop`: `Shop` is not a valid Solution name"), "{said:?}");
    assert!(
        said[1].starts_with(
            "line 14: `site` of group french at `/workloads/0`: unknown field `image`"
        ),
        "{said:?}"
    );
}

#[test]
fn a_value_that_several_groups_dispute_is_told_once_for_each_group() {
    let third = "  - name: third\n    selector: {}\n    site: {parameters: {shop: {size: 5}}}\n  solutions:";
    let text = GOOD
        .replacen("language: fr", "size: 4", 1)
        .replacen("  solutions:", third, 1);
    let problems = checked(&text).problems;
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("line 14: the groups `prod` and `french`"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("line 17: the groups `prod` and `third`"),
        "{said:?}"
    );
}
