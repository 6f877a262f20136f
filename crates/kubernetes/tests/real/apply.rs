//! Apply, dry run and differences.

use kubernetes::{
    ApplyOutcome, ConflictPolicy, Difference, DryRunResult, Error, FieldManager, Goal, Gvk, Object,
    ObjectRef, Selector,
};
use serde_json::{Value, json};

use crate::setup::{
    DEADLINE, admin, apply, config_map, config_map_ref, gone, manager, namespace, namespace_with,
    object, until,
};

#[tokio::test]
async fn applying_says_what_it_did() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "apply").await;
    assert_eq!(
        apply(&cluster, config_map(&ns, "a", &json!({"x": "1"}))).await,
        ApplyOutcome::Created
    );
    assert_eq!(
        apply(&cluster, config_map(&ns, "a", &json!({"x": "1"}))).await,
        ApplyOutcome::Unchanged
    );
    assert_eq!(
        apply(&cluster, config_map(&ns, "a", &json!({"x": "2"}))).await,
        ApplyOutcome::Changed
    );
    let live = cluster
        .get(&config_map_ref(&ns, "a"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(live.as_value()["data"], json!({"x": "2"}));
    assert!(
        cluster
            .get(&config_map_ref(&ns, "b"))
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_field_that_is_not_ours_any_more_goes() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "fields").await;
    apply(&cluster, config_map(&ns, "a", &json!({"x": "1", "y": "1"}))).await;
    apply(&cluster, config_map(&ns, "a", &json!({"x": "1"}))).await;
    let live = cluster
        .get(&config_map_ref(&ns, "a"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(live.as_value()["data"], json!({"x": "1"}));
}

#[tokio::test]
async fn a_conflict_names_the_owner_and_the_field() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "conflict").await;
    let other = FieldManager::new("somebody-else").unwrap();
    apply(&cluster, config_map(&ns, "a", &json!({"x": "1"}))).await;
    let changed = object(config_map(&ns, "a", &json!({"x": "2"})));
    let error = cluster
        .apply(&changed, &other, ConflictPolicy::Refuse)
        .await
        .unwrap_err();
    let Error::Conflict { conflicts, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(conflicts.len(), 1);
    assert_eq!(
        (conflicts[0].field.as_str(), conflicts[0].manager.as_str()),
        (".data.x", "solution-test")
    );
    assert!(!error.is_temporary());
    let same = object(config_map(&ns, "a", &json!({"x": "1"})));
    assert_eq!(
        cluster
            .apply(&same, &other, ConflictPolicy::Refuse)
            .await
            .unwrap(),
        ApplyOutcome::Unchanged,
        "to own the same value too is no change"
    );
    assert_eq!(
        cluster
            .apply(&changed, &other, ConflictPolicy::Force)
            .await
            .unwrap(),
        ApplyOutcome::Changed
    );
}

#[tokio::test]
async fn a_difference_is_shown_and_nothing_is_written() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "diff").await;
    let want = object(config_map(&ns, "a", &json!({"x": "1"})));
    let Difference {
        applied, changes, ..
    } = cluster
        .diff(&want, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap();
    assert_eq!(applied, ApplyOutcome::Created);
    assert!(
        changes.iter().any(|change| change.path == ".data"),
        "{changes:?}"
    );
    assert!(
        cluster.get(want.reference()).await.unwrap().is_none(),
        "a trial must not write"
    );

    apply(&cluster, want.as_value().clone()).await;
    let Difference {
        applied, changes, ..
    } = cluster
        .diff(&want, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap();
    assert_eq!((applied, changes.len()), (ApplyOutcome::Unchanged, 0));

    let next = object(config_map(&ns, "a", &json!({"x": "2"})));
    let Difference {
        applied, changes, ..
    } = cluster
        .diff(&next, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap();
    assert_eq!(applied, ApplyOutcome::Changed);
    assert_eq!(
        changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [r#".data.x: "1" -> "2""#]
    );
}

#[tokio::test]
async fn secrets_stay_secret() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "secret").await;
    let secret = |data: Value| {
        object(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": ns}, "data": data}),
        )
    };
    let good = secret(json!({"x": "aGVsbG8="}));
    let Difference { changes, .. } = cluster
        .diff(&good, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap();
    assert!(!format!("{changes:?}").contains("aGVsbG8="), "{changes:?}");
    let bad = secret(json!({"x": "very-secret!"}));
    let error = cluster
        .apply(&bad, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    assert!(!format!("{error:?}").contains("very-secret"), "{error:?}");
}

fn settled(object: &Object) -> Goal {
    Goal::Ready(object.reference().clone())
}

pub(crate) fn crd(group: &str) -> Object {
    object(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
            }}}],
        },
    }))
}

pub(crate) fn widget(group: &str, namespace: &str, size: &Value) -> Object {
    object(json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": {"name": "a", "namespace": namespace}, "spec": {"size": size},
    }))
}

#[tokio::test]
async fn a_definition_can_be_used_once_it_is_established() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "crd").await;
    let group = format!("established{}.test", std::process::id());
    let (crd, widget) = (crd(&group), widget(&group, &ns, &json!(1)));
    assert!(
        matches!(cluster.get(widget.reference()).await, Err(Error::NoSuchKind(gvk)) if gvk == *widget.gvk())
    );
    apply(&cluster, crd.as_value().clone()).await;
    cluster
        .wait(&[settled(&crd)], DEADLINE, &|_| ())
        .await
        .unwrap();
    assert_eq!(
        apply(&cluster, widget.as_value().clone()).await,
        ApplyOutcome::Created
    );
    cluster
        .delete(crd.reference(), kubernetes::Propagation::Background, None)
        .await
        .unwrap();
    cluster
        .wait(&[gone(crd.reference())], DEADLINE, &|_| ())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_definition_whose_names_are_taken_is_refused_at_once() {
    let cluster = admin().await;
    let group = format!("taken{}.test", std::process::id());
    let first = crd(&group);
    apply(&cluster, first.as_value().clone()).await;
    cluster
        .wait(&[settled(&first)], DEADLINE, &|_| ())
        .await
        .unwrap();
    let mut value = first.as_value().clone();
    value["metadata"]["name"] = json!(format!("gadgets.{group}"));
    value["spec"]["names"]["plural"] = json!("gadgets");
    let second = object(value);
    apply(&cluster, second.as_value().clone()).await;
    let error = cluster
        .wait(&[settled(&second)], DEADLINE, &|_| ())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::UnreadyObjects(unsettled) if unsettled.has_failed()),
        "{error:?}"
    );
    assert!(error.to_string().contains("already in use"), "{error}");
    for crd in [first, second] {
        cluster
            .delete(crd.reference(), kubernetes::Propagation::Background, None)
            .await
            .unwrap();
    }
}

/// Valid objects, objects that need others of the list first, and invalid ones.
fn mixed_list(ns: &str, new_ns: &str, group: &str) -> [Object; 9] {
    [
        object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": new_ns}})),
        object(config_map(new_ns, "a", &json!({}))),
        crd(group),
        widget(group, ns, &json!(1)),
        object(config_map(ns, "fine", &json!({"x": "y"}))),
        object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "typo", "namespace": ns}, "dta": {}}),
        ),
        object(config_map("deployer-nowhere", "a", &json!({}))),
        object(json!({"apiVersion": "no.such/v1", "kind": "Thing", "metadata": {"name": "a"}})),
        object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})),
    ]
}

#[tokio::test]
async fn a_trial_of_a_list_tells_each_object_its_fate() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "trial").await;
    let group = format!("trial{}.test", std::process::id());
    let list = mixed_list(&ns, &format!("{ns}-new"), &group);
    let trials = cluster
        .dry_run(&list, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap();
    assert!(
        trials
            .iter()
            .map(|(object, _)| object)
            .eq(list.iter().map(Object::reference))
    );
    let trials: Vec<&DryRunResult> = trials.iter().map(|(_, trial)| trial).collect();
    for created in [0, 2, 4] {
        assert!(
            matches!(&trials[created], DryRunResult::Would(difference) if difference.applied == ApplyOutcome::Created),
            "{:?}",
            trials[created]
        );
    }
    assert!(
        matches!(trials[1], DryRunResult::Later { missing } if missing == list[0].reference()),
        "{:?}",
        trials[1]
    );
    assert!(
        matches!(trials[3], DryRunResult::Later { missing } if missing == list[2].reference()),
        "{:?}",
        trials[3]
    );
    assert!(
        matches!(trials[5], DryRunResult::Refused(Error::Invalid { message, .. }) if message.contains("dta")),
        "{:?}",
        trials[5]
    );
    assert!(
        matches!(trials[6], DryRunResult::Refused(Error::NotFound { .. })),
        "{:?}",
        trials[6]
    );
    assert!(
        matches!(trials[7], DryRunResult::Refused(Error::NoSuchKind(_))),
        "{:?}",
        trials[7]
    );
    assert!(
        matches!(trials[8], DryRunResult::Refused(Error::Scope { .. })),
        "{:?}",
        trials[8]
    );
    for object in [&list[0], &list[2], &list[4]] {
        assert!(
            cluster.get(object.reference()).await.unwrap().is_none(),
            "{object:?} must not be written"
        );
    }
}

/// The same kind with another field.
fn with_color(crd: &Object) -> Object {
    let mut value = crd.as_value().clone();
    let schema = &mut value["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]["color"] = json!({"type": "string"});
    object(value)
}

#[tokio::test]
async fn an_object_is_not_refused_by_a_definition_that_changes_before_it() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "redefined").await;
    let group = format!("redefined{}.test", std::process::id());
    let former = crd(&group);
    apply(&cluster, former.as_value().clone()).await;
    cluster
        .wait(&[settled(&former)], DEADLINE, &|_| ())
        .await
        .unwrap();
    let small = widget(&group, &ns, &json!(1));
    apply(&cluster, small.as_value().clone()).await;
    let mut red = small.into_value();
    red["spec"]["color"] = json!("red");
    let red = object(red);
    let mut new = red.as_value().clone();
    new["metadata"]["name"] = json!("b");
    let list = async |list: &[&Object]| {
        let list: Vec<Object> = list.iter().copied().cloned().collect();
        let trials = cluster
            .dry_run(&list, &manager(), ConflictPolicy::Refuse)
            .await;
        let trials = trials.unwrap().into_iter().map(|(_, trial)| trial);
        trials.collect::<Vec<_>>()
    };
    let (coming, new) = (with_color(&former), object(new));
    let trials = list(&[&coming, &red, &new]).await;
    assert!(matches!(trials[0], DryRunResult::Would(_)), "{trials:?}");
    let DryRunResult::Redefined(changed) = &trials[1] else {
        panic!("{trials:?}");
    };
    assert_eq!(changed.applied, ApplyOutcome::Changed);
    let paths: Vec<&str> = changed
        .changes
        .iter()
        .map(|change| change.path.as_str())
        .collect();
    assert_eq!(paths, [".spec.color"]);
    assert!(changed.after.uid().is_some(), "what others set stays");
    assert!(
        matches!(&trials[2], DryRunResult::Redefined(difference) if difference.applied == ApplyOutcome::Created),
        "{trials:?}"
    );

    // Neither by an unchanged definition nor by one that comes later in the list.
    for (all, at) in [([&former, &red], 1), ([&red, &coming], 0)] {
        let trials = list(&all).await;
        assert!(
            matches!(trials[at], DryRunResult::Refused(Error::Invalid { .. })),
            "{trials:?}"
        );
    }
    cluster
        .delete(
            former.reference(),
            kubernetes::Propagation::Background,
            None,
        )
        .await
        .unwrap();
}

#[tokio::test]
async fn lists_are_complete_over_several_pages() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "pages").await;
    let count = kubernetes::limits::PAGE + 3;
    for i in 0..count {
        let mut value = config_map(&ns, &format!("n{i}"), &json!({}));
        value["metadata"]["labels"] =
            json!({"set": if i % 2 == 0 { "even" } else { "odd" }, "all": "yes"});
        apply(&cluster, value).await;
    }
    let gvk = Gvk::new("v1", "ConfigMap");
    let listed = cluster
        .list(&gvk, Some(&ns), Some(&Selector::has("set")))
        .await
        .unwrap();
    assert_eq!(listed.len(), count);
    assert_eq!(
        listed[0].reference(),
        &ObjectRef::namespaced("v1", "ConfigMap", &ns, listed[0].name())
    );
    let odd = Selector::label("set", "odd").and("all", "yes");
    assert_eq!(
        cluster
            .list(&gvk, Some(&ns), Some(&odd))
            .await
            .unwrap()
            .len(),
        count / 2
    );
}

/// A Deployment is accepted even if its pods will be rejected. A dry run of a pod with its template shows this before
/// anything is written.
#[tokio::test]
async fn a_pod_can_be_tried_in_place_of_its_deployment() {
    let cluster = admin().await;
    let restricted = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    let ns = namespace_with(&cluster, "trypod", restricted).await;
    let account = ObjectRef::namespaced("v1", "ServiceAccount", &ns, "default");
    until("the namespace is set up", async || {
        cluster.get(&account).await.unwrap().is_some()
    })
    .await;
    let pod = |security: Value| {
        object(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial", "namespace": ns},
            "spec": {"containers": [{"name": "main", "image": "x", "securityContext": security}]}}),
        )
    };
    let good = json!({"allowPrivilegeEscalation": false, "runAsNonRoot": true,
        "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}});
    let list = [pod(json!({})), pod(good)];
    let trials = cluster
        .dry_run(&list, &manager(), ConflictPolicy::Refuse)
        .await
        .unwrap();
    assert!(
        matches!(&trials[0].1, DryRunResult::Refused(Error::Forbidden { message, .. }) if message.contains("violates PodSecurity")),
        "{trials:?}"
    );
    assert!(
        matches!(&trials[1].1, DryRunResult::Would(difference) if difference.applied == ApplyOutcome::Created),
        "{trials:?}"
    );
}
