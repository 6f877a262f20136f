//! What becomes of a release: its definitions, its lists, what is left out, what it is called.

use super::*;

#[test]
fn definitions_are_kept_to_the_byte_and_never_changed() {
    let numbers = "  # kept\n  x: [0x1F, 1.50, 012, yes, 'yes', 18446744073709551615, 1e3]\n";
    let converting = |name: &str, conversion: &str| {
        crd(name).replace("scope:", &format!("conversion: {{{conversion}}}, scope:"))
    };
    let webhook = converting("hooks.app.test", "strategy: Webhook")
        + &converting("others.app.test", "webhook: {}")
        + &converting("plains.app.test", "strategy: None");
    let text = format!(
        "{DEPLOYMENT}{}{numbers}{webhook}",
        crd("tests.app.test").replace("spec: {", "spec:\n  y: {")
    );
    let draft = drafted(&text);
    let file = &draft.files["operator/deploy/crds/tests.app.test_crd.yaml"];
    assert!(std::str::from_utf8(file).unwrap().ends_with(numbers));
    let file = &draft.files["operator/deploy/crds/hooks.app.test_crd.yaml"];
    assert!(
        std::str::from_utf8(file)
            .unwrap()
            .contains("strategy: Webhook")
    );
    for name in ["hooks", "others"] {
        let note = note(
            &draft,
            &format!("CustomResourceDefinition `{name}.app.test`"),
        );
        assert!(
            note.weight == Weight::Decide && note.text.contains("strategy: None"),
            "{note:?}"
        );
    }
    assert!(
        draft
            .notes
            .iter()
            .all(|note| !note.about.contains("plains"))
    );
}

#[test]
fn lists_are_unpacked_with_every_value() {
    let list = r#"{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "tests.app.test"},
	 "spec": {"group": "app.test", "names": {"plural": "tests"}, "x": [1.5, 18446744073709551615, -1, "yes", "é", null]}}]}"#;
    let files = [
        ("a.yaml", DEPLOYMENT.as_bytes()),
        ("b.json", list.as_bytes()),
    ];
    let draft = checked(&release(&files), &Wishes::default()).unwrap();
    let file = &draft.files["operator/deploy/crds/tests.app.test_crd.yaml"];
    let read: serde_json::Value = schemas::yaml::from_slice(file).unwrap();
    let whole: serde_json::Value = serde_json::from_str(list).unwrap();
    assert_eq!(read, whole["items"][0]);
}

#[test]
fn every_kind_that_is_left_out_has_a_reason() {
    let kinds = [
        "Service",
        "Namespace",
        "ValidatingWebhookConfiguration",
        "PodDisruptionBudget",
        "Unheard",
    ];
    let objects =
        kinds.map(|kind| format!("---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}\n"));
    let sample = "---\napiVersion: app.test/v1\nkind: X\nmetadata: {name: sample}\n";
    let old = crd("olds.app.test").replace("k8s.io/v1", "k8s.io/v1beta1");
    let draft = drafted(
        &[
            DEPLOYMENT,
            &objects.concat(),
            &crd("tests.app.test"),
            sample,
            &old,
            "---\nno: kind\n",
        ]
        .concat(),
    );
    for kind in kinds {
        assert!(note(&draft, &format!("{kind} `x`")).text.len() > 20);
    }
    assert!(
        note(&draft, "X `sample`")
            .text
            .contains("create it at the site")
    );
    assert!(
        note(&draft, "CustomResourceDefinition `olds.app.test`")
            .text
            .contains("apiextensions.k8s.io/v1")
    );
    assert!(
        draft
            .notes
            .iter()
            .any(|note| note.text.contains("has no `kind`"))
    );
    let text = std::str::from_utf8(&draft.files["NOTES.md"]).unwrap();
    for note in &draft.notes {
        assert!(
            text.contains(&format!("**{}**: {}\n", note.about, note.text)),
            "{note:?}"
        );
    }
}

#[test]
fn the_operator_is_chosen_by_rights_then_by_name_else_asked_for() {
    let other = |name: &str, account: &str| {
        let other = DEPLOYMENT.replace("app-operator", name).replace(
            "serviceAccountName: app",
            &format!("serviceAccountName: {account}"),
        );
        format!("---{other}")
    };
    let two = format!("{DEPLOYMENT}{}", other("web", "web"));
    assert_eq!(drafted(&two).id.name().as_str(), "app-operator");
    let same = format!("{DEPLOYMENT}{}", other("web-controller", "web"));
    let message = refused(&same);
    assert_eq!(
        message,
        "any of these could be the operator: `app-operator`, `web-controller`"
    );
    let owner = [
        same,
        crd("tests.app.test"),
        role(
            "Role",
            "own",
            "{apiGroups: [app.test], resources: [tests, tests/status], verbs: [get, update]}",
        ),
        role(
            "Role",
            "read",
            "{apiGroups: [app.test], resources: [tests], verbs: [get, list]}",
        ),
        binding("RoleBinding", "Role", "own", "web"),
        binding("RoleBinding", "Role", "read", "app"),
    ]
    .concat();
    let draft = drafted(&owner);
    assert_eq!(draft.id.name().as_str(), "web-controller");
    assert!(
        note(&draft, "Deployment `web-controller`")
            .text
            .contains("more of the release's own resources")
    );
    let wishes = Wishes {
        deployment: Some("app-operator".to_owned()),
        ..Wishes::default()
    };
    let chosen = checked(&release(&[("a", owner.as_bytes())]), &wishes).unwrap();
    assert_eq!(chosen.id.name().as_str(), "app-operator");
}

#[test]
fn a_name_and_version_that_cannot_be_had_are_asked_for() {
    let text = DEPLOYMENT.replace("app-operator", "App.Operator");
    let message = refused(&text);
    assert!(
        message.contains("gives no name") && message.contains("(found: `App.Operator`"),
        "{message}"
    );
    let text = DEPLOYMENT.replace("v1.2.3", "2024-rc");
    let message = refused(&text);
    assert!(
        message.contains("gives no version") && message.contains("(found: `2024-rc`)"),
        "{message}"
    );
    let long = DEPLOYMENT.replace("app-operator", &"a".repeat(60));
    assert!(refused(&long).contains("cannot have this name"));
}
