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
            ready,
            condition,
            why: None,
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
    let waits = shown(Condition::NotReady, Some(Awaited::Former(1)));
    assert_eq!(waits, ready, "it comes by itself");
    let again = "import the version that should run into this environment again";
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
    assert!(unseen["hint"].as_str().unwrap().contains("allow more time"));
}

#[test]
fn a_change_that_is_incomplete_is_one_line() {
    let receipt = |places: serde_json::Value, outcome: serde_json::Value| -> ChangeReceipt {
        let mut receipt = json!({
            "schemaVersion": 1, "revision": 7, "at": "2026-01-02T03:04:05Z", "by": "me@here",
            "verb": "deploy", "solution": "shop", "version": "1.1.0", "places": places,
            "written": [], "removed": [],
        });
        let fields = receipt.as_object_mut().unwrap();
        fields.extend(outcome.as_object().unwrap().clone());
        serde_json::from_value(receipt).unwrap()
    };
    let place = |namespace: &str| json!({"environment": "prod", "namespace": namespace});
    let by = "by me@here at 2026-01-02T03:04:05Z";
    let begun = receipt(
        json!([place("prod"), place("shop")]),
        json!({"outcome": "begun"}),
    );
    assert_eq!(
        incomplete(&begun),
        format!(
            "revision 7 is incomplete: deploy shop 1.1.0 in prod, shop, {by}: it goes on, or was interrupted"
        )
    );
    let failed = receipt(json!([]), json!({"outcome": "failed", "reason": "no"}));
    let again = "the same command again completes it";
    assert_eq!(way_on(&Change::Interrupted), again);
    for (outcome, first) in [
        (&begun.outcome, "if nobody is at work on it any more"),
        (&failed.outcome, "once what it failed for is mended"),
    ] {
        assert_eq!(way_on(outcome), format!("{first}, {again}"));
    }
    assert_eq!(
        incomplete(&failed),
        format!("revision 7 is incomplete: deploy shop 1.1.0, {by}: it failed: no")
    );
}
