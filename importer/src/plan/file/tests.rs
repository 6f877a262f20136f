//! Tests of plan files: the differences that a comparison with a new plan must find, and those that it must ignore.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kubernetes::{HeldLeases, HolderCheck, Object};
use progress::Cancel;
use serde_json::{Value, json};
use store::MissingImagePolicy;
use tokio::sync::Semaphore;

use crate::choices::redact::HiddenTexts;
use crate::model::layer::tests::choices;
use crate::model::request::{Goal, HelmProgram, LeftOpen, Login, PullLogin, Target, TimeLimits};
use crate::model::writer::{LeaseConflictPolicy, Verb, Writer};
use crate::objects::changes::{AppliedObject, PlannedChart};
use crate::objects::diff::live_digest;
use crate::plan::file::*;
use crate::plan::summary::{PlannedEffects, PlannedTarget};

fn object(name: &str, action: &str, diff: &str) -> PlannedObject {
    PlannedObject {
        object: name.to_owned(),
        action: action.to_owned(),
        changes: vec![".spec".to_owned()],
        diff: diff.to_owned(),
        live: Some(Digest::new([5; 32])),
        ..PlannedObject::default()
    }
}

fn summary() -> PlanSummary {
    PlanSummary {
        server: "https://site.test".to_owned(),
        solution: "shop-1.0.0".to_owned(),
        bytes_to_push: 7,
        crds: vec![object("CustomResourceDefinition shops", "create", "+a\n")],
        target: Some(PlannedTarget {
            environment: "prod".to_owned(),
            namespace: "prod".to_owned(),
            running: Some("0.9.0".parse().unwrap()),
            rights_gained: Vec::new(),
            rights_lost: Vec::new(),
            dangers: Vec::new(),
            external_effects: Some(PlannedEffects {
                id: "1234".to_owned(),
                accepted: true,
                again: false,
                lines: Vec::new(),
            }),
            pull_proof: None,
            site: Vec::new(),
            parameters: Vec::new(),
            patches: Vec::new(),
            cleanup: vec!["Job prod/farewell".to_owned()],
            later_pods: None,
            helm: None,
            releases: Vec::new(),
            objects: vec![object("Deployment prod/shop", "change", "-a\n+b\n")],
            removed: vec![object("ConfigMap prod/former", "remove", "-a\n")],
        }),
        defaults: vec![PlannedDefault {
            what: LeftOpen::Namespace,
            value: "prod".to_owned(),
            why: Cow::Borrowed("that of the environment"),
        }],
        ..PlanSummary::default()
    }
}

fn writer() -> Writer {
    Writer {
        name: Arc::new(|_| "test".to_owned()),
        by: "alice@desk".to_owned(),
        fleet: None,
        clock: Arc::new(|| std::time::SystemTime::UNIX_EPOCH),
        gone: HolderCheck::new(|_| false),
        leases: HeldLeases::default(),
        turn: LeaseConflictPolicy::Refuse,
        seal: None,
        cancel: Cancel::never(),
    }
}

fn context() -> RequestContext {
    RequestContext {
        now: StatementTime::DEFAULT,
        writer: writer(),
        scratch: PathBuf::new(),
        helm: HelmProgram {
            program: None,
            renderer: (PathBuf::new(), Vec::new()),
            turns: Arc::new(Semaphore::new(1)),
        },
    }
}

pub(crate) fn request(pull_login: PullLogin, wait: u64) -> Request {
    let goal = Goal::Deployed(Target {
        environment: "prod".parse().unwrap(),
        namespace: None,
        pull_login,
        parameters: Box::default(),
        fleet: None,
    });
    let limits = TimeLimits {
        wait: Duration::from_secs(wait),
        total: None,
    };
    Request {
        missing: MissingImagePolicy::Refuse,
        accepted: ["1234".to_owned()].into(),
        recreate: ["StatefulSet/db".parse().unwrap()].into(),
        verb: Verb::Deploy,
        from_site: [LeftOpen::Registry].into(),
        ..Request::new("push.test:5000/a".parse().unwrap(), goal, limits, context())
    }
}

pub(crate) fn file() -> PlanFile {
    let secret = PullLogin::Secret("login".parse().unwrap());
    let digest = |byte| Digest::new([byte; 32]);
    PlanFile {
        by: "alice@desk".to_owned(),
        user: Some("alice".to_owned()),
        at: StatementTime::DEFAULT,
        cluster: "8b1e".to_owned(),
        solution: "shop-1.0.0".parse().unwrap(),
        archive_id: digest(1),
        summary: summary(),
        request: FiledRequest::new(&request(secret, 300)).unwrap(),
        decided: serde_json::from_value(json!({ "records": digest(2), "objects": digest(3) }))
            .unwrap(),
    }
}

/// Returns the file of another plan, with these digests of its decision.
pub(crate) fn file_of(solution: &str, summary: PlanSummary, decided: Value) -> PlanFile {
    PlanFile {
        solution: solution.parse().unwrap(),
        summary,
        decided: serde_json::from_value(decided).unwrap(),
        ..file()
    }
}

/// Returns the file with its JSON changed.
fn edited(edit: impl FnOnce(&mut Value)) -> Result<PlanFile, PlanFileError> {
    let mut value: Value = serde_json::from_slice(&file().to_bytes()).unwrap();
    edit(&mut value);
    PlanFile::from_slice(value.to_string().as_bytes())
}

#[test]
fn the_choices_of_a_fleet_go_with_a_plan() {
    let mut request = request(PullLogin::Keep, 300);
    let fleet = choices("{parameters: {shop: {size: 3}}}");
    if let Goal::Deployed(target) = &mut request.goal {
        target.fleet = Some(Box::new(fleet));
    }
    let file = PlanFile {
        request: FiledRequest::new(&request).unwrap(),
        ..file()
    };
    let read = PlanFile::from_slice(&file.to_bytes()).unwrap();
    assert_eq!(read.request(context()).goal, request.goal);
}

#[test]
fn a_plan_comes_back_from_its_file_with_its_diffs() {
    let file = file();
    let read = PlanFile::from_slice(&file.to_bytes()).unwrap();
    assert_eq!(read, file);
    assert_eq!(read.id(), file.id());
    assert_eq!(read.summary.crds[0].diff, "+a\n");
    let mut context = context();
    context.writer.by = "bob@desk".to_owned();
    let bob = read.request(context);
    assert_eq!(bob.context.writer.by, "bob@desk");
    let Goal::Deployed(target) = &bob.goal else {
        panic!("{bob:?}");
    };
    let login = PullLogin::Secret("login".parse().unwrap());
    assert_eq!(
        (bob.limits.wait.as_secs(), &target.pull_login),
        (300, &login)
    );
    assert_eq!(FiledRequest::new(&bob).unwrap(), file.request);
}

#[test]
fn a_plan_of_an_earlier_program_names_no_authenticated_user_and_keeps_its_id() {
    let earlier = PlanFile {
        user: None,
        ..file()
    };
    let text = String::from_utf8(earlier.to_bytes()).unwrap();
    assert!(!text.contains("plannedUser"), "{text}");
    assert_eq!(PlanFile::from_slice(text.as_bytes()).unwrap(), earlier);
    // The author and the time are part of the signed bytes.
    let later = StatementTime::from_unix(1_700_000_000).unwrap();
    for other in [
        PlanFile {
            by: "bob@desk".to_owned(),
            ..earlier.clone()
        },
        PlanFile {
            user: Some("bob".to_owned()),
            ..earlier.clone()
        },
        PlanFile {
            at: later,
            ..earlier.clone()
        },
    ] {
        assert_ne!(other.id(), earlier.id());
    }
}

#[test]
fn only_what_a_plan_shows_is_accepted_in_its_file() {
    let mut asked = request(PullLogin::Keep, 1);
    asked.accepted.insert("5678".to_owned());
    let accepted = |shown| {
        let filed = FiledRequest::new(&asked).unwrap().accepting(shown);
        serde_json::to_value(filed).unwrap()["accepted"].clone()
    };
    assert_eq!(accepted(Some("1234")), json!(["1234"]));
    assert_eq!(accepted(None), json!([]));
    // Reads of templates are among the lines that a plan shows.
    asked.accepted.insert("read-9abc".to_owned());
    let accepted = |shown| FiledRequest::new(&asked).unwrap().accepting(shown);
    let filed = serde_json::to_value(accepted(None)).unwrap();
    assert_eq!(filed["accepted"], json!(["read-9abc"]));
    assert!(accepted(None).accepts_only(None) && !accepted(Some("1234")).accepts_only(None));
}

#[test]
fn a_plan_with_a_password_has_no_file() {
    let login = Login {
        host: "pull.test".to_owned(),
        username: "node".to_owned(),
        password: registry::Secret::new("s3cret".to_owned()),
    };
    let refused = FiledRequest::new(&request(PullLogin::Made(login), 1));
    assert!(matches!(refused, Err(Error::Password)));
}

#[test]
fn what_is_no_plan_of_this_program_is_refused() {
    let version = edited(|file| file["planVersion"] = json!(2)).unwrap_err();
    assert!(matches!(version, PlanFileError::Version(2)), "{version:?}");
    for (path, value) in [
        ("/more", json!(1)),
        ("/plan/more", json!(1)),
        ("/plan/target/objects/0/more", json!(1)),
        ("/request/goal/deployed/wait", json!(86_401)),
        ("/request/registry", json!("a b")),
        ("/request/allowed/replace", json!("perhaps")),
        ("/objects", json!([])),
        ("/request/accepted", json!(["1234", "5678"])),
        ("/plan/target/beyond", json!(null)),
    ] {
        let refused = edited(|file| {
            let (parent, key) = path.rsplit_once('/').unwrap();
            file.pointer_mut(parent).unwrap()[key] = value;
        });
        assert!(matches!(refused, Err(PlanFileError::Json(_))), "{path}");
    }
    // Keys in another order are not canonical.
    assert!(matches!(edited(|_| ()), Err(PlanFileError::Spelling)));
}

#[test]
fn who_plans_again_and_what_was_pushed_meanwhile_is_of_no_account() {
    let mut anew = file();
    anew.by = "bob@desk".to_owned();
    anew.user = Some("bob".to_owned());
    anew.at = StatementTime::from_unix(1_700_000_000).unwrap();
    anew.summary.bytes_to_push = 0;
    anew.summary.images_present = 1;
    assert_eq!(file().moved(&anew), []);
}

fn finding() -> validator::Finding {
    validator::Finding {
        id: rules::catalogue::FINDINGS[0].id,
        severity: rules::catalogue::Severity::Warning,
        place: String::new(),
        message: "m".to_owned(),
        source: None,
        fix: rules::catalogue::FINDINGS[0].fix,
    }
}

#[test]
fn whatever_a_file_tells_comes_out_so_or_it_is_named() {
    let of = summary;
    let notes = vec!["all is well".to_owned()];
    let told = [
        (
            "the context",
            PlanSummary {
                context: Some("staging".to_owned()),
                ..of()
            },
        ),
        (
            "the server's address",
            PlanSummary {
                server: "https://b.test".to_owned(),
                ..of()
            },
        ),
        (
            "the version of Kubernetes",
            PlanSummary {
                kubernetes: "v1".to_owned(),
                ..of()
            },
        ),
        ("the notes", PlanSummary { notes, ..of() }),
        (
            "the findings about the archive",
            PlanSummary {
                findings: vec![finding()],
                ..of()
            },
        ),
        (
            "the images to push",
            PlanSummary {
                bytes_to_push: 1,
                ..of()
            },
        ),
    ];
    for (name, summary) in told {
        let lying = PlanFile { summary, ..file() };
        let moved = lying.moved(&file());
        assert_eq!(moved, [PlanChange::Told(name.to_owned())]);
    }
}

#[test]
fn only_what_a_chart_makes_by_chance_is_shown_as_before() {
    let with = |random: &[&str], diff: &str| {
        let mut file = file();
        let chart = PlannedChart {
            release: "prod/web".to_owned(),
            chart: "web 1.0.0".to_owned(),
            action: "upgrade".to_owned(),
            revision: Some(1),
            found: None,
            values: Vec::new(),
            objects: vec![object("Secret prod/login", "change", diff)],
            random: random.iter().map(ToString::to_string).collect(),
        };
        file.summary.target.as_mut().unwrap().releases = vec![chart];
        file
    };
    let chance = ["Secret login"];
    assert_eq!(with(&chance, "+a").moved(&with(&chance, "+b")), []);
    let named = [PlanChange::Objects("Secret prod/login".to_owned())];
    assert_eq!(with(&[], "+harmless").moved(&with(&[], "+b")), named);
    let claimed = with(&chance, "+harmless").moved(&with(&[], "+b"));
    assert_eq!(claimed, named, "what is made by chance is found out anew");
}

#[test]
fn a_plan_of_the_same_run_holds_if_all_that_was_shown_comes_out_so() {
    let shown = summary();
    let differences = |change: fn(&mut PlanSummary)| {
        let mut again = summary();
        change(&mut again);
        shown.differences(&again, &[]).join(", ")
    };
    assert_eq!(differences(|_| ()), "");
    assert_eq!(differences(|plan| plan.bytes_to_push = 3), "");
    let notes = |plan: &mut PlanSummary| plan.notes = vec!["a newer version".to_owned()];
    assert_eq!(differences(notes), "");
    assert_eq!(differences(|plan| plan.recorded = true), "");
    let pushed = differences(|plan| plan.bytes_to_push = 8);
    assert_eq!(pushed, "the images to push");
    let crd = "CustomResourceDefinition shops";
    assert_eq!(differences(|plan| plan.crds.clear()), crd);
    let kept = differences(|plan| plan.crds[0].action = "keep".to_owned());
    assert_eq!(kept, crd, "no earlier plan of the run created it");
    let registry = differences(|plan| plan.registry = "other.test".to_owned());
    assert_eq!(registry, "the registries");
    assert_eq!(
        differences(|plan| plan.images = 9),
        "other parts of the plan"
    );
}

/// Returns the plan of a Solution in a namespace that does not exist, with these objects in it.
pub(crate) fn first_of_namespace(namespace: &str, objects: &[&str]) -> PlanSummary {
    let mut plan = summary();
    let created = |name: &str, diff: &str| PlannedObject {
        changes: Vec::new(),
        live: None,
        ..object(name, "create", diff)
    };
    let target = plan.target.as_mut().unwrap();
    (target.removed, target.running) = (Vec::new(), None);
    target.objects = vec![created("Namespace prod", namespace)];
    for name in objects {
        target.objects.push(created(name, "+  size: 3\n"));
        let sent = AppliedObject {
            sent: Digest::new([1; 32]),
            is_dry_run: false,
        };
        plan.applied.insert((*name).to_owned(), sent);
    }
    plan
}

/// Returns the same plan once the namespace exists: its objects can then be dry-run, which adds the API server's
/// defaults.
pub(crate) fn next_of_namespace(first: &PlanSummary, namespace: &str) -> PlanSummary {
    let mut plan = first.clone();
    let mut objects = plan.target.as_mut().unwrap().objects.iter_mut();
    *objects.next().unwrap() = object("Namespace prod", "change", namespace);
    objects.for_each(|object| object.diff.push_str("+  default: true\n"));
    plan.applied
        .values_mut()
        .for_each(|sent| sent.is_dry_run = true);
    plan
}

#[test]
fn what_an_earlier_plan_of_the_run_created_is_no_change_by_others() {
    let cart = first_of_namespace(
        "+metadata:\n+  labels:\n+    level: low\n",
        &["Role prod/cart"],
    );
    let objects = ["ServiceAccount prod/default", "Role prod/shop"];
    let shop = first_of_namespace("+metadata:\n+  labels:\n+    a: b\n", &objects);
    let labels = "-  a: c\n+  a: b\n+  level: low\n";
    let mut again = next_of_namespace(&shop, labels);
    // Kubernetes has created the default `ServiceAccount`.
    let account = "ServiceAccount prod/default";
    again.target.as_mut().unwrap().objects[1] = object(account, "change", "+  size: 3\n");
    assert_eq!(shop.differences(&again, &[&cart]), [""; 0]);

    // Without an earlier plan that created it, another writer has created it.
    assert_eq!(shop.differences(&again, &[]), ["Namespace prod", account]);

    // Lines that neither plan shows are reported.
    let with = |change: fn(&mut PlanSummary)| {
        let mut again = again.clone();
        change(&mut again);
        shop.differences(&again, &[&cart]).join(", ")
    };
    let privileged = with(|plan| {
        plan.target.as_mut().unwrap().objects[0].diff = "+  level: high\n".to_owned();
    });
    assert_eq!(privileged, "Namespace prod");
    let there = with(|plan| {
        let role = &mut plan.target.as_mut().unwrap().objects[2];
        (role.action, role.live) = ("change".to_owned(), Some(Digest::new([7; 32])));
    });
    assert_eq!(there, "Role prod/shop", "others created it");
    let another = with(|plan| {
        let sent = plan.applied.get_mut("Role prod/shop").unwrap();
        sent.sent = Digest::new([2; 32]);
    });
    assert_eq!(another, "Role prod/shop", "another object is sent");
}

#[test]
fn a_definition_that_an_earlier_plan_of_the_run_brought_is_no_change_by_others() {
    let (shown, mut again) = (summary(), summary());
    again.crds[0] = object("CustomResourceDefinition shops", "keep", "");
    assert_eq!(shown.differences(&again, &[&summary()]), [""; 0]);
    again.crds[0] = object("CustomResourceDefinition shops", "change", "+b\n");
    let crd = ["CustomResourceDefinition shops"];
    assert_eq!(shown.differences(&again, &[&summary()]), crd);
}

#[test]
fn a_webhook_of_an_earlier_plan_may_change_what_is_stored_and_not_what_is_sent() {
    let mut webhook = summary();
    let name = "MutatingWebhookConfiguration mesh";
    webhook.target.as_mut().unwrap().objects = vec![object(name, "create", "+a\n")];
    let mut shown = summary();
    let sent = AppliedObject {
        sent: Digest::new([1; 32]),
        is_dry_run: true,
    };
    let name = "Deployment prod/shop";
    shown.applied.insert(name.to_owned(), sent);
    let mut again = shown.clone();
    let shop = &mut again.target.as_mut().unwrap().objects[0];
    shop.diff.push_str("+  image: sidecar\n");
    assert_eq!(shown.differences(&again, &[&webhook]), [""; 0]);
    assert_eq!(shown.differences(&again, &[]), [name]);
    again.applied.get_mut(name).unwrap().sent = Digest::new([2; 32]);
    assert_eq!(shown.differences(&again, &[&webhook]), [name]);
}

#[test]
fn two_plans_that_do_the_same_have_one_essence() {
    let of = |change: fn(&mut PlanSummary)| {
        let mut plan = summary();
        change(&mut plan);
        plan.essence()
    };
    let same: [fn(&mut PlanSummary); 3] = [
        |plan| plan.bytes_to_push = 3,
        |plan| plan.notes = vec!["a newer version".to_owned()],
        |plan| plan.images_present = 2,
    ];
    for change in same {
        assert_eq!(of(change), of(|_| ()));
    }
    let others: [fn(&mut PlanSummary); 3] = [
        |plan| plan.target.as_mut().unwrap().objects[0].diff.clear(),
        |plan| plan.crds.clear(),
        |plan| plan.registry = "other.test".to_owned(),
    ];
    for change in others {
        assert_ne!(of(change), of(|_| ()));
    }
}

#[test]
fn what_moved_is_named() {
    let moved = |change: fn(&mut PlanFile)| {
        let mut anew = file();
        change(&mut anew);
        file().moved(&anew)
    };
    let deployment = [PlanChange::Objects("Deployment prod/shop".to_owned())];
    let objects: [fn(&mut PlanFile); 4] = [
        |file| file.summary.target.as_mut().unwrap().objects[0].live = None,
        |file| {
            file.summary.target.as_mut().unwrap().objects[0]
                .diff
                .clear();
        },
        |file| file.summary.target.as_mut().unwrap().objects.clear(),
        |file| file.summary.target.as_mut().unwrap().objects[0].changes = Vec::new(),
    ];
    for change in objects {
        assert_eq!(moved(change), deployment);
    }
    let records = PlanChange::Records("shop-1.0.0".parse().unwrap());
    let both = moved(|file| {
        file.summary.crds.clear();
        file.decided.records = Digest::new([9; 32]);
    });
    let crd = PlanChange::Objects("CustomResourceDefinition shops".to_owned());
    assert_eq!(both, [crd, records]);
    let running = moved(|plan| plan.summary.target.as_mut().unwrap().running = None);
    assert_eq!(
        running,
        [PlanChange::Told("the running version".to_owned())]
    );
    let defaults = moved(|plan| plan.summary.defaults.clear());
    assert_eq!(
        defaults,
        [PlanChange::Told("the default values".to_owned())]
    );
    // Changes to fields without an own comparison are reported too.
    let others: [fn(&mut PlanFile); 2] = [
        |file| file.summary.images = 9,
        |file| file.request = FiledRequest::new(&request(PullLogin::Keep, 300)).unwrap(),
    ];
    for change in others {
        assert_eq!(moved(change), [PlanChange::Otherwise]);
    }
}

#[test]
fn the_state_of_an_object_is_what_others_asked_of_it() {
    let map = |more: Value| {
        let mut map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "labels": { "a": "b" } },
        });
        for (key, value) in more.as_object().unwrap() {
            map["metadata"][key] = value.clone();
        }
        live_digest(&Object::new(map).unwrap(), &HiddenTexts::default())
    };
    let seen = map(json!({}));
    let server = json!({ "uid": "1", "resourceVersion": "2", "managedFields": [] });
    assert_eq!(map(server), seen);
    assert_ne!(map(json!({ "labels": { "a": "c" } })), seen);
    let workload = |replicas: u8, paused: bool| {
        let workload = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "a" }, "spec": { "replicas": replicas, "paused": paused },
        });
        live_digest(&Object::new(workload).unwrap(), &HiddenTexts::default())
    };
    assert_eq!(workload(1, false), workload(5, false), "it was scaled");
    assert_ne!(workload(1, false), workload(1, true));
}
