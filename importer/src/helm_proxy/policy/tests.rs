//! Tests of the policy: requests of Helm that it permits, and requests of known attacks that it refuses.

use crate::helm_proxy::policy::*;

const SECRET: &str = "/api/v1/namespaces/prod/secrets/sh.helm.release.v1.web.v";
const SECRETS: &str = "/api/v1/namespaces/prod/secrets";

fn place(group: &str, plural: &str, name: &str) -> ObjectPath {
    ObjectPath {
        group: group.to_owned(),
        plural: plural.to_owned(),
        namespace: Some("prod".to_owned()),
        name: name.to_owned(),
    }
}

fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "prod", "labels": {} },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "spec": { "containers": [{ "name": "c", "image": image }] } },
        },
    })
}

/// Returns the object as Helm sends it.
fn marked(mut object: Value) -> Value {
    object["metadata"]["labels"] = json!({ "app.kubernetes.io/managed-by": "Helm" });
    object["metadata"]["annotations"] = json!({
        "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "prod",
    });
    object
}

fn revision(number: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {
            "name": format!("sh.helm.release.v1.web.v{number}"),
            "labels": {
                "owner": "helm", "name": "web", "status": "deployed", "version": number.to_string(),
            },
        },
        "data": { "release": "SDRzSQ==" },
    })
}

/// Returns the same revision as stored in the cluster.
fn stored_revision(number: u32) -> Value {
    let mut secret = revision(number);
    secret["metadata"]["uid"] = json!(format!("uid-{number}"));
    secret
}

fn passage() -> ProxyPolicy {
    let mut passage = ProxyPolicy::new(&"prod".parse().unwrap(), &"web".parse().unwrap());
    let [web, map] = [
        place("apps", "deployments", "web"),
        place("", "configmaps", "gone"),
    ];
    passage.plan(web.clone(), &deployment("a"));
    passage.objects.entry(web).or_default().uid = Some("uid-web".to_owned());
    passage.objects.entry(map).or_default().uid = Some("uid-gone".to_owned());
    passage.plan(place("batch", "jobs", "hook"), &json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "hook", "namespace": "prod" },
    }));
    let known = RevisionEntry::new(2, &revision(2)).stored(Some("uid-2"));
    passage.revisions.insert(2, known);
    passage
}

fn decide(phase: Phase, method: &str, target: &str, body: &Value) -> Verdict {
    let (content_type, body) = match method {
        "PATCH" if body.is_array() => ("application/json-patch+json", body.to_string()),
        "PATCH" => ("application/apply-patch+yaml", body.to_string()),
        _ => ("application/json", body.to_string()),
    };
    let asked = HelmRequest {
        method,
        target,
        content_type,
        body: body.as_bytes(),
    };
    passage().decide(phase, &asked)
}

#[test]
fn nothing_is_written_but_what_was_planned() {
    let web = "/apis/apps/v1/namespaces/prod/deployments/web";
    let sent =
        |method: &str, target: &str, body: &Value| decide(Phase::Sending, method, target, body);
    let is_written = |body: &Value| {
        let written = Verdict::Write(place("apps", "deployments", "web"), body.clone());
        assert_eq!(sent("PATCH", web, body), written);
    };
    is_written(&marked(deployment("a")));
    is_written(&deployment("a"));
    let mut null = deployment("a");
    null["spec"]["paused"] = Value::Null;
    null["spec"]["replicas"] = json!(1.0);
    is_written(&null);
    let managers = json!([
        { "op": "replace", "path": "/metadata/managedFields", "value": [] },
        { "op": "replace", "path": "/metadata/resourceVersion", "value": "1" },
    ]);
    is_written(&managers);
}

#[test]
fn what_is_sent_is_what_was_compared_and_not_a_text_that_says_two_things() {
    let evil = deployment("evil")["spec"].to_string();
    let planned = deployment("a").to_string();
    let twice = planned.replacen("\"spec\":", &format!("\"spec\":{evil},\"spec\":"), 1);
    assert!(twice.contains("evil"), "{twice}");
    let asked = HelmRequest {
        method: "PATCH",
        target: "/apis/apps/v1/namespaces/prod/deployments/web",
        content_type: "application/apply-patch+yaml",
        body: twice.as_bytes(),
    };
    let written = Verdict::Write(place("apps", "deployments", "web"), deployment("a"));
    assert_eq!(passage().decide(Phase::Sending, &asked), written);
}

#[test]
fn a_request_is_judged_by_what_the_server_reads_however_it_is_spelled() {
    let get = |phase, target: &str| decide(phase, "GET", target, &Value::Null);
    for phase in [Phase::Looking, Phase::Rendering] {
        for watch in ["w%61tch=1", "watch", "watch=", "watch=tr%75e"] {
            let target = format!("/api/v1/namespaces/prod/pods?{watch}");
            let verdict = get(phase, &target);
            assert!(
                matches!(verdict, Verdict::Refuse(_)),
                "{target}: {verdict:?}"
            );
        }
    }
    let changes = VisiblePart::Changes(String::new(), "pods".to_owned());
    let target = "/api/v1/namespaces/prod/pods?w%61tch=1";
    assert_eq!(get(Phase::Sending, target), Verdict::Show(changes));
    let target = format!("{SECRETS}?label%53elector=a.test%2Fb%3Dc%2C%6Fwner%3Dhelm");
    let revisions = Verdict::Show(VisiblePart::Revisions);
    assert_eq!(get(Phase::Looking, &target), revisions);
    // Two parameters of one name, and a target that some parsers cut off.
    for target in [
        &format!("{SECRETS}?labelSelector=owner%3Dhelm&labelSelector=a"),
        &format!("{SECRETS}?labelSelector=owner%3Dhelm#"),
        &format!("{SECRETS}#/x"),
    ] {
        let verdict = get(Phase::Looking, target);
        assert!(
            matches!(verdict, Verdict::Refuse(_)),
            "{target}: {verdict:?}"
        );
    }
}

/// Sends a request and checks that it is refused.
fn refuses(method: &str, target: &str, body: &Value) {
    let verdict = decide(Phase::Sending, method, target, body);
    assert!(
        matches!(verdict, Verdict::Refuse(_)),
        "{method} {target} {body}: {verdict:?}"
    );
}

#[test]
fn what_is_not_as_it_was_planned_is_refused() {
    let web = "/apis/apps/v1/namespaces/prod/deployments/web";
    let mut elsewhere = deployment("a");
    elsewhere["metadata"]["namespace"] = json!("kube-system");
    let mut more = marked(deployment("a"));
    more["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    let mut others = marked(deployment("a"));
    others["metadata"]["annotations"]["meta.helm.sh/release-name"] = json!("other");
    let patch = json!([{ "op": "replace", "path": "/spec/template", "value": {} }]);
    let moved = json!([{ "op": "move", "from": "/spec", "path": "/metadata/managedFields" }]);
    for body in [deployment("evil"), elsewhere, more, others, patch, moved] {
        refuses("PATCH", web, &body);
    }
    let body = deployment("a").to_string();
    let asked = HelmRequest {
        method: "PATCH",
        target: web,
        content_type: "application/merge-patch+json",
        body: body.as_bytes(),
    };
    assert!(matches!(
        passage().decide(Phase::Sending, &asked),
        Verdict::Refuse(_)
    ));
}

#[test]
fn what_was_not_planned_is_refused() {
    let web = "/apis/apps/v1/namespaces/prod/deployments/web";
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "evil" },
    });
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    for (method, target, body) in [
        (
            "PATCH",
            "/apis/apps/v1/namespaces/kube-system/deployments/web",
            &deployment("a"),
        ),
        (
            "PATCH",
            "/apis/apps/v1beta1/namespaces/prod/deployments/web",
            &deployment("a"),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/prod/deployments/web/scale",
            &json!({}),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/prod/deployments/other",
            &deployment("a"),
        ),
        (
            "PATCH",
            "/api/v1/namespaces/prod/configmaps/gone",
            &json!({ "kind": "ConfigMap" }),
        ),
        ("PATCH", &format!("{SECRET}2"), &revision(2)),
        ("PUT", web, &deployment("a")),
        (
            "POST",
            "/apis/apps/v1/namespaces/prod/deployments",
            &deployment("a"),
        ),
        ("POST", roles, &binding),
        ("PATCH", &format!("{roles}/evil"), &binding),
        (
            "POST",
            "/api/v1/namespaces/prod/serviceaccounts/admin/token",
            &json!({}),
        ),
        (
            "POST",
            "/api/v1/namespaces/prod/pods/p/exec?command=sh",
            &json!({}),
        ),
        ("OPTIONS", web, &json!({})),
        ("GET ", web, &json!({})),
    ] {
        refuses(method, target, body);
    }
}

#[test]
fn nothing_is_deleted_but_the_object_that_was_planned_to_go() {
    let sent = |target: &str| {
        let options = json!({ "propagationPolicy": "Background", "preconditions": { "uid": "x" } });
        decide(Phase::Sending, "DELETE", target, &options)
    };
    let options = |uid: &str| {
        json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": { "uid": uid },
        })
    };
    let gone = HelmDeletion::Object(place("", "configmaps", "gone"));
    let verdict = sent("/api/v1/namespaces/prod/configmaps/gone");
    assert_eq!(verdict, Verdict::Delete(gone, options("uid-gone")));
    let verdict = sent(&format!("{SECRET}2"));
    assert_eq!(
        verdict,
        Verdict::Delete(HelmDeletion::Revision(2), options("uid-2"))
    );
    // The hook may be created, and none existed that could be deleted.
    assert_eq!(
        sent("/apis/batch/v1/namespaces/prod/jobs/hook"),
        Verdict::Absent
    );
    assert_eq!(sent(&format!("{SECRET}3")), Verdict::Absent);
    for target in [
        "/api/v1/namespaces/kube-system",
        "/api/v1/namespaces/prod",
        "/api/v1/namespaces/prod/secrets/other",
        "/api/v1/namespaces/prod/secrets/sh.helm.release.v1.other.v2",
        "/api/v1/namespaces/kube-system/secrets/sh.helm.release.v1.web.v2",
        "/api/v1/namespaces/kube-system/configmaps/gone",
        "/api/v1/namespaces/prod/configmaps",
        SECRETS,
    ] {
        let verdict = sent(target);
        assert!(
            matches!(verdict, Verdict::Refuse(_)),
            "{target}: {verdict:?}"
        );
    }
}

#[test]
fn helm_sees_no_revision_but_those_that_are_recorded() {
    let passage = passage();
    assert!(passage.shows_revision(&stored_revision(2)));
    let mut planted = stored_revision(2);
    planted["data"]["release"] = json!("RVZJTA==");
    let mut again = stored_revision(2);
    again["metadata"]["uid"] = json!("another");
    let mut status = stored_revision(2);
    status["metadata"]["labels"]["status"] = json!("failed");
    for secret in [
        stored_revision(3),
        planted,
        again,
        status,
        json!({}),
        json!(null),
    ] {
        assert!(!passage.shows_revision(&secret), "{secret}");
    }
    let listed = format!("{SECRETS}?labelSelector=name%3Dweb%2Cowner%3Dhelm");
    for phase in [Phase::Looking, Phase::Rendering, Phase::Sending] {
        let get = |target: &str| decide(phase, "GET", target, &Value::Null);
        assert_eq!(get(&listed), Verdict::Show(VisiblePart::Revisions));
        assert_eq!(
            get(&format!("{SECRET}2")),
            Verdict::Show(VisiblePart::Revision)
        );
        assert_eq!(get(&format!("{SECRET}3")), Verdict::Absent);
    }
}

#[test]
fn a_revision_is_noted_before_it_is_stored() {
    let sent =
        |method: &str, target: &str, body: &Value| decide(Phase::Sending, method, target, body);
    let new = RevisionEntry::new(3, &revision(3));
    assert_eq!(
        sent("POST", SECRETS, &revision(3)),
        Verdict::Store(new, revision(3))
    );
    let mut changed = revision(2);
    changed["metadata"]["labels"]["status"] = json!("superseded");
    let Verdict::Store(noted, stored) = sent("PUT", &format!("{SECRET}2"), &changed) else {
        panic!("it is stored");
    };
    assert!(noted.is(&stored_revision(2)), "it may not be stored yet");
    changed["metadata"]["uid"] = json!("uid-2");
    assert!(noted.is(&changed) && stored == changed);
    assert!(!noted.stored(None).is(&stored_revision(2)));

    let other = |field: &str, value: Value| {
        let mut secret = revision(3);
        *secret.pointer_mut(field).unwrap() = value;
        secret
    };
    for (method, target, body) in [
        ("POST", SECRETS, other("/metadata/name", json!("other"))),
        (
            "POST",
            SECRETS,
            other("/metadata/name", json!("sh.helm.release.v1.x.v3")),
        ),
        (
            "POST",
            SECRETS,
            other("/metadata/name", json!("sh.helm.release.v1.web.v03")),
        ),
        ("POST", SECRETS, other("/metadata/labels/name", json!("x"))),
        (
            "POST",
            SECRETS,
            other("/metadata/labels/version", json!("4")),
        ),
        (
            "POST",
            SECRETS,
            other("/type", json!("kubernetes.io/service-account-token")),
        ),
        (
            "POST",
            SECRETS,
            other("/data", json!({ "release": "", "more": "" })),
        ),
        (
            "POST",
            "/api/v1/namespaces/kube-system/secrets",
            revision(3),
        ),
        ("PUT", &format!("{SECRET}3"), revision(3)),
        ("PUT", &format!("{SECRET}2"), revision(3)),
    ] {
        let verdict = sent(method, target, &body);
        assert!(
            matches!(verdict, Verdict::Refuse(_)),
            "{method} {target}: {verdict:?}"
        );
    }
}

#[test]
fn templates_are_told_of_kinds_that_come_only_for_a_plan() {
    let mut passage = passage();
    let decide = |passage: &ProxyPolicy, phase, target| {
        let asked = HelmRequest {
            method: "GET",
            target,
            content_type: "",
            body: b"",
        };
        passage.decide(phase, &asked)
    };
    assert_eq!(decide(&passage, Phase::Looking, "/apis"), Verdict::Pass);
    passage.coming = vec![json!({})];
    let discover = |path: &str| Verdict::Discover(path.to_owned());
    for (phase, target, verdict) in [
        (Phase::Looking, "/apis?timeout=32s", discover("/apis")),
        (
            Phase::Looking,
            "/apis/a.test/v1",
            discover("/apis/a.test/v1"),
        ),
        (Phase::Looking, "/%61pis", discover("/apis")),
        (Phase::Looking, "/openapi/v3", Verdict::Pass),
        (Phase::Rendering, "/apis", Verdict::Pass),
        (Phase::Sending, "/apis", Verdict::Pass),
    ] {
        assert_eq!(
            decide(&passage, phase, target),
            verdict,
            "{phase:?} {target}"
        );
    }
}

#[test]
fn templates_read_nothing_elsewhere_before_it_is_accepted() {
    let decide = |readable: &Readable, target| {
        let passage = ProxyPolicy {
            readable: readable.clone(),
            ..passage()
        };
        let asked = HelmRequest {
            method: "GET",
            target,
            content_type: "",
            body: b"",
        };
        passage.decide(Phase::Looking, &asked)
    };
    let own = Readable::Accepted {
        namespaces: ["prod".to_owned()].into(),
        elsewhere: ["secrets kube-system/s".to_owned()].into(),
    };
    for (target, is_accepted) in [
        ("/api/v1/namespaces/prod/secrets/own", true),
        ("/api/v1/namespaces/prod/secrets", true),
        ("/api/v1/namespaces/kube-system/secrets/s", true),
        ("/api/v1/namespaces/kube-system/secrets/t", false),
        ("/api/v1/namespaces/kube-system/secrets", false),
        ("/api/v1/namespaces/kube-system/configmaps/s", false),
        ("/api/v1/secrets", false),
        ("/api/v1/namespaces/prod", false),
        ("/api/v1/nodes", false),
    ] {
        let verdicts = [Verdict::Withhold, Verdict::Look];
        let expected = &verdicts[usize::from(is_accepted)];
        assert_eq!(decide(&own, target), *expected, "{target}");
        let none = Readable::default();
        assert_eq!(decide(&none, target), Verdict::Withhold, "{target}");
        assert_eq!(decide(&Readable::Everything, target), Verdict::Look);
    }
}

#[test]
fn templates_are_told_what_they_were_told_for_the_plan() {
    let target = "/api/v1/namespaces/kube-system/secrets/s";
    let look = |phase| decide(phase, "GET", target, &Value::Null);
    assert_eq!(look(Phase::Rendering), Verdict::Absent);
    assert!(matches!(look(Phase::Sending), Verdict::Refuse(_)));
    let lookup = Lookup {
        status: 200,
        body: json!({ "kind": "Secret" }),
    };
    let mut passage = passage();
    passage.lookups.insert(target.to_owned(), lookup.clone());
    let asked = HelmRequest {
        method: "GET",
        target,
        content_type: "",
        body: b"",
    };
    assert_eq!(
        passage.decide(Phase::Rendering, &asked),
        Verdict::Answer(lookup)
    );
    for phase in [Phase::Looking, Phase::Rendering] {
        for (method, target) in [
            ("DELETE", "/api/v1/namespaces/prod/configmaps/gone"),
            ("GET", "/api/v1/secrets?watch=1"),
            ("GET", "/api/v1/namespaces/prod/services/s/proxy/x"),
            ("POST", SECRETS),
        ] {
            let verdict = decide(phase, method, target, &revision(3));
            assert!(
                matches!(verdict, Verdict::Refuse(_)),
                "{method} {target}: {verdict:?}"
            );
        }
    }
}

#[test]
fn helm_waits_for_what_was_planned_and_what_belongs_to_it() {
    let passage = passage();
    let get = |target: &str| decide(Phase::Sending, "GET", target, &Value::Null);
    assert_eq!(
        get("/apis/apps/v1/namespaces/prod/deployments/web"),
        Verdict::Pass
    );
    let shown = VisiblePart::Objects("apps".to_owned(), "deployments".to_owned());
    assert_eq!(
        get("/apis/apps/v1/namespaces/prod/deployments"),
        Verdict::Show(shown)
    );
    let shown = VisiblePart::Changes(String::new(), "pods".to_owned());
    assert_eq!(
        get("/api/v1/namespaces/prod/pods?watch=true"),
        Verdict::Show(shown)
    );
    for target in [
        "/api/v1/namespaces/kube-system/pods",
        "/api/v1/namespaces/prod/secrets",
        "/api/v1/secrets",
        "/api/v1/namespaces/prod/pods/p/log",
        "/api/v1/nodes",
    ] {
        assert!(matches!(get(target), Verdict::Refuse(_)), "{target}");
    }
    let pod = |namespace: &str, app: &str| json!({ "metadata": { "name": "p", "namespace": namespace, "labels": { "app": app } } });
    assert!(passage.shows("", "pods", &pod("prod", "web")));
    assert!(!passage.shows("", "pods", &pod("prod", "other")));
    assert!(!passage.shows("", "pods", &pod("other", "web")));
    assert!(!passage.shows("", "secrets", &pod("prod", "web")));
    let web = json!({ "metadata": { "name": "web", "namespace": "prod" } });
    assert!(passage.shows("apps", "deployments", &web));
    assert!(!passage.shows("apps", "statefulsets", &web));
}
