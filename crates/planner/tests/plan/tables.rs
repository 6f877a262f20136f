//! Plans for given situations, compared as tables.

use kubernetes::Object;
use planner::{Action, DesiredObject, Plan, Stage, Step, vocabulary as v};
use serde_json::json;

use crate::model::{Site, desired, in_order, object};

const NAMESPACE: usize = 0;
const CONFIG: usize = 1;
const SERVICE: usize = 2;
const CLAIM: usize = 3;
const DEPLOYMENT: usize = 4;
const JOB: usize = 5;
const WEBHOOK: usize = 6;

/// Returns a plan as text, one line for each step.
fn words(plan: &Plan) -> Vec<String> {
    let words = |step: &Step| match step {
        Step::Stop(former) => {
            let names: Vec<String> = former
                .iter()
                .map(|object| object.reference().to_string())
                .collect();
            format!("stop {}", names.join(", "))
        }
        Step::Release(name) => format!("release {name}"),
        Step::Bring(_, changes) => {
            let words = changes.iter().map(|change| {
                let action = match change.action {
                    Action::Create => "create",
                    Action::Update(_) => "update",
                    Action::Replace(_) => "replace",
                };
                format!("{action} {}", change.object().reference())
            });
            words.collect::<Vec<_>>().join(", ")
        }
    };
    let stale = plan.stale.iter();
    let stale = stale.map(|object| format!("remove {}", object.reference()));
    let left = plan.left.iter().map(|object| format!("leave {object}"));
    let blockers = plan.blockers.iter().map(|blocker| format!("no: {blocker}"));
    let steps = plan.steps.iter().map(words);
    steps.chain(stale).chain(left).chain(blockers).collect()
}

fn deployed(objects: &[DesiredObject]) -> Site {
    let mut site = Site::default();
    site.deploy(&in_order(objects.to_vec()), None).unwrap();
    site
}

#[test]
fn an_operators_pods_come_behind_the_rest_of_it_and_before_other_parts() {
    let objects = [
        desired((CONFIG, "c"), None, 0),
        desired((DEPLOYMENT, "a"), None, 0),
        desired((NAMESPACE, "own"), Some("one"), 0),
        desired((CONFIG, "d"), Some("one"), 0),
        desired((SERVICE, "d"), Some("one"), 0),
        desired((WEBHOOK, "w"), Some("one"), 0),
        desired((DEPLOYMENT, "b"), Some("two"), 0),
    ];
    let plan = Site::default().plan(&in_order(objects.to_vec()));
    let expected = [
        "create ConfigMap prod/c",
        "create Deployment prod/a",
        "create Namespace own",
        "create ConfigMap prod/d, create Service prod/d",
        "create ValidatingWebhookConfiguration w",
        "create Deployment prod/b",
    ];
    assert_eq!(words(&plan), expected);
    assert!(plan.steps[4].runs() && !plan.steps[3].runs());
}

#[test]
fn what_is_no_longer_wanted_goes_but_for_data() {
    let before = [
        desired((CONFIG, "a"), Some("one"), 0),
        desired((SERVICE, "a"), Some("one"), 0),
        desired((CLAIM, "a"), Some("one"), 0),
        desired((WEBHOOK, "w"), Some("one"), 0),
        desired((CONFIG, "gone"), Some("one"), 0),
        desired((CONFIG, "anew"), Some("one"), 0),
    ];
    let mut site = deployed(&before);
    // One was deleted by an administrator, the other one recreated by another actor.
    site.objects
        .retain(|reference, _| !["gone", "anew"].contains(&reference.name.as_str()));
    site.put(&object(
        (CONFIG, "anew"),
        &json!({ v::SOLUTION: "shop" }),
        0,
    ));
    let plan = site.plan(&[desired((CONFIG, "a"), Some("two"), 1)]);
    let expected = [
        "update ConfigMap prod/a",
        // Webhooks are deleted first, so that they cannot reject the rest.
        "remove ValidatingWebhookConfiguration w",
        "remove Service prod/a",
        "leave ConfigMap prod/anew",
    ];
    assert_eq!(words(&plan), expected);
    let entries = plan.inventory.entries.iter();
    let entries: Vec<String> = entries.map(|entry| entry.reference().to_string()).collect();
    assert_eq!(
        entries,
        ["ConfigMap prod/a", "PersistentVolumeClaim prod/a"]
    );
}

#[test]
fn an_object_that_moves_between_parts_keeps_its_uid() {
    let of = |part| in_order(vec![desired((SERVICE, "a"), part, 0)]);
    let mut site = deployed(&of(None));
    let reference = site.inventory.entries[0].reference();
    let uid = site.objects[&reference].uid().unwrap().to_owned();
    for part in [Some("one"), Some("two"), None] {
        let plan = site.plan(&of(part));
        assert_eq!(words(&plan), ["update Service prod/a"], "{part:?}");
        site.deploy(&of(part), None).unwrap();
        assert_eq!(site.objects[&reference].uid(), Some(uid.as_str()));
        let entry = &site.inventory.entries[0];
        assert_eq!(entry.part.as_ref().map(schemas::SetName::as_str), part);
        assert_eq!(entry.uid.as_deref(), Some(uid.as_str()));
    }
}

#[test]
fn what_runs_once_runs_anew_only_of_something_else() {
    let of = |content| vec![desired((JOB, "j"), Some("one"), content)];
    let site = deployed(&of(0));
    assert_eq!(words(&site.plan(&of(0))), ["update Job prod/j"]);
    assert_eq!(words(&site.plan(&of(1))), ["replace Job prod/j"]);
    let mut done = site.clone();
    done.objects.clear();
    assert_eq!(words(&done.plan(&of(0))), [""; 0]);
    assert!(done.plan(&of(0)).keeps_all());
    assert_eq!(words(&done.plan(&of(1))), ["create Job prod/j"]);
}

#[test]
fn what_a_site_chooses_makes_a_job_anew_only_until_it_is_done() {
    let chosen = |digest: &str, content| {
        let plain = desired((JOB, "j"), Some("one"), content);
        let mut job = plain.object.as_value().clone();
        job["metadata"]["annotations"][v::CHOSEN] = json!(digest);
        let object = Object::new(job).unwrap();
        vec![DesiredObject { object, ..plain }]
    };
    let site = deployed(&chosen("a", 0));
    assert_eq!(words(&site.plan(&chosen("a", 0))), ["update Job prod/j"]);
    assert_eq!(words(&site.plan(&chosen("b", 0))), ["replace Job prod/j"]);
    let mut done = site.clone();
    for object in done.objects.values_mut() {
        let mut job = object.as_value().clone();
        job["status"] = json!({ "conditions": [{ "type": "Complete", "status": "True" }] });
        *object = Object::new(job).unwrap();
    }
    let plain = [desired((JOB, "j"), Some("one"), 0)];
    for objects in [&chosen("b", 0)[..], &plain] {
        assert_eq!(words(&done.plan(objects)), [""; 0]);
        assert!(done.plan(objects).keeps_all());
    }
    assert_eq!(words(&done.plan(&chosen("b", 1))), ["replace Job prod/j"]);
}

#[test]
fn what_ran_in_another_form_stops_before_what_takes_its_place() {
    let operator = in_order(vec![
        desired((CONFIG, "c"), None, 0),
        desired((DEPLOYMENT, "a"), None, 0),
    ]);
    let sets = in_order(vec![
        desired((CONFIG, "c"), Some("one"), 0),
        desired((DEPLOYMENT, "b"), Some("one"), 0),
    ]);
    assert_eq!(
        words(&deployed(&operator).plan(&sets)),
        [
            "update ConfigMap prod/c",
            "stop Deployment prod/a",
            "create Deployment prod/b",
            "remove Deployment prod/a"
        ]
    );
    assert_eq!(
        words(&deployed(&sets).plan(&operator)),
        [
            "update ConfigMap prod/c",
            "stop Deployment prod/b",
            "create Deployment prod/a",
            "remove Deployment prod/b"
        ]
    );
}

#[test]
fn the_way_back_puts_back_what_was_there_and_removes_what_was_not() {
    let before = in_order(vec![
        desired((CONFIG, "a"), Some("one"), 0),
        desired((CONFIG, "gone"), Some("one"), 0),
        desired((DEPLOYMENT, "b"), Some("one"), 0),
        desired((JOB, "j"), Some("one"), 0),
        desired((WEBHOOK, "w"), Some("one"), 0),
    ]);
    let mut site = deployed(&before);
    site.objects.retain(|reference, _| reference.name != "gone");
    // A cluster-scoped object is recognized by its labels. This one existed before the change.
    let taken_over = desired((WEBHOOK, "there"), Some("one"), 0);
    site.put(&taken_over.object);
    let after = in_order(vec![
        desired((CONFIG, "a"), Some("two"), 1),
        desired((JOB, "j"), Some("one"), 1),
        desired((SERVICE, "new"), Some("one"), 0),
        desired((CLAIM, "new"), Some("one"), 0),
        taken_over,
    ]);
    let inverse = site.plan(&after).inverse(&"shop".parse().unwrap()).unwrap();
    let names = |all: Vec<String>| all.join(", ");
    let objects = inverse
        .objects
        .iter()
        .map(|object| object.reference().to_string());
    let back = "ConfigMap prod/a, Deployment prod/b, ValidatingWebhookConfiguration w";
    assert_eq!(names(objects.collect()), back);
    assert_eq!(inverse.objects[0].as_value()["spec"]["content"], 0);
    let brought = inverse.brought.entries.iter();
    let brought = brought.map(|entry| entry.reference().to_string());
    // A volume claim keeps its data.
    assert_eq!(names(brought.collect()), "Service prod/new, Job prod/j");
    let awaited = inverse.awaited.iter().map(ToString::to_string);
    assert_eq!(names(awaited.collect()), "Deployment prod/b");
}

#[test]
fn nothing_of_others_is_taken_over() {
    let ours = in_order(vec![
        desired((CONFIG, "a"), Some("one"), 0),
        desired((CONFIG, "b"), Some("one"), 0),
        desired((CONFIG, "c"), Some("one"), 0),
    ]);
    let mut site = Site::default();
    site.put(&object((CONFIG, "a"), &json!({ v::SOLUTION: "other" }), 0));
    site.put(&object((CONFIG, "b"), &json!({}), 0));
    site.put(&object((CONFIG, "c"), &json!({ v::SOLUTION: "shop" }), 0));
    let plan = site.plan(&ours);
    let blockers: Vec<String> = plan.blockers.iter().map(ToString::to_string).collect();
    let expected = [
        "ConfigMap prod/a already exists and belongs to other",
        "ConfigMap prod/b already exists and belongs to no Solution",
        "ConfigMap prod/c has the labels of shop, but is not in its inventory",
    ];
    assert_eq!(blockers, expected);
}

#[test]
fn a_plan_is_another_one_where_it_would_write_another_thing_or_over_another_object() {
    let of = |content| vec![desired((CONFIG, "a"), Some("one"), content)];
    let site = deployed(&of(0));
    let digest = site.plan(&of(1)).digest();
    assert_eq!(site.plan(&of(1)).digest(), digest);
    assert_ne!(site.plan(&of(2)).digest(), digest);
    let mut anew = site.clone();
    anew.objects.clear();
    assert_ne!(anew.plan(&of(1)).digest(), digest);
    let mut other = site.clone();
    other.put(&object((SERVICE, "b"), &json!({}), 0));
    assert_eq!(other.plan(&of(1)).digest(), digest, "it is none of ours");
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": "default", "namespace": "prod" },
    });
    let account = DesiredObject::of_operator(Object::new(account).unwrap());
    let shared = [vec![account], of(1)].concat();
    assert_eq!(site.plan(&shared).digest(), digest, "it is the namespace's");
    let more = [of(1), vec![desired((SERVICE, "a"), Some("one"), 0)]].concat();
    assert_ne!(site.plan(&more).digest(), digest);
}

#[test]
fn what_a_release_brings_from_now_on_does_not_go_and_comes_back_with_the_rest() {
    let of = |names: &[&str]| {
        let objects = names
            .iter()
            .map(|name| desired((CONFIG, name), Some("one"), 0));
        in_order(objects.collect())
    };
    let site = deployed(&of(&["a", "b", "c"]));
    let plan = site.plan(&of(&["a"]));
    assert_eq!(
        words(&plan)[1..],
        ["remove ConfigMap prod/b", "remove ConfigMap prod/c"]
    );
    let brought = object((CONFIG, "c"), &json!({}), 1);
    let plan = plan.with_releases(Vec::new(), Vec::new(), [&brought]);
    assert_eq!(words(&plan)[1..], ["remove ConfigMap prod/b"]);
    let back = plan.inverse(&"shop".parse().unwrap()).unwrap().objects;
    let back: Vec<&str> = back.iter().map(Object::name).collect();
    assert_eq!(back, ["a", "b", "c"]);
}

#[test]
fn a_stage_tells_what_is_brought_together() {
    let objects = [(CONFIG, "a"), (SERVICE, "b")].map(|object| desired(object, Some("one"), 0));
    let plan = Site::default().plan(&in_order(objects.to_vec()));
    assert!(matches!(&plan.steps[..], [Step::Bring(Stage::Data, changes)] if changes.len() == 2));
}
