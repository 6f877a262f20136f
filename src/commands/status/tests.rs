//! What an operator that does not run as it should comes with.

use deployer::Awaited;
use importer::Condition;
use serde_json::json;

use super::*;

#[test]
fn an_operator_that_does_not_run_as_it_should_comes_with_what_to_do() {
    let of = |condition, awaited, ready| {
        let operator = OperatorStatus {
            solution: "shop".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            runs: None,
            ready,
            pods: None,
            condition,
            why: None,
            releases: Vec::new(),
            awaited,
        };
        let hint = failure::of_operator(&operator);
        let operator = &operator;
        serde_json::to_value(Hinted { operator, hint }).unwrap()
    };
    let shown = |condition, awaited| of(condition, awaited, None);
    let mut ready = json!({"solution": "shop", "version": "1.0.0", "environment": "prod", "namespace": "prod", "ready": null, "condition": "ready"});
    assert_eq!(shown(Condition::Ready, None), ready);
    ready["condition"] = json!("notReady");
    let waits = shown(Condition::NotReady, Some(Awaited::Former { pods: 1 }));
    assert_eq!(waits, ready, "it comes by itself");
    let again = "import the version that should run in this environment again";
    assert_eq!(shown(Condition::Gone, None)["hint"], again);
    let scaled = of(Condition::NotReady, None, Some([0, 0]));
    assert!(scaled["hint"].as_str().unwrap().contains("kubectl scale"));
    // Of what a set or a chart brings, pods are missing for another reason.
    let carried = of(Condition::NotReady, None, Some([2, 3]));
    let hint = carried["hint"].as_str().unwrap();
    assert!(
        hint.contains("kubectl describe") && !hint.contains("scale"),
        "{hint}"
    );
    let unseen = shown(Condition::NotReady, Some(Awaited::Unseen));
    assert!(unseen["hint"].as_str().unwrap().contains("wait longer"));
}
