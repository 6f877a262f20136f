//! Tests of hostile releases.

use std::fmt::Write as _;

use super::*;

/// Asserts that the release is rejected with an error that contains these texts: the file, document, line and remedy.
#[track_caller]
fn refuses(text: &str, words: &[&str]) {
    let message = refused(text);
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
    assert!(message.len() < 1500, "{message}");
}

#[test]
fn bombs_and_floods_are_refused_with_their_place() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    refuses(
        &format!("{DEPLOYMENT}---\n{bomb}"),
        &[
            "`release.yaml`, document 2 (line 13) is not valid YAML",
            "aliases expanded",
        ],
    );
    refuses(
        &"---\na: 1\n".repeat(schemas::limits::YAML_STREAM_DOCUMENTS + 1),
        &[
            "`release.yaml` cannot be split",
            "holds more than 10000 documents; the next one begins at line 20001",
        ],
    );
    let items = "{kind: X},".repeat(20_000);
    refuses(
        &format!("{DEPLOYMENT}---\nkind: List\nitems: [{items}]\n"),
        &["document 2 (line 13): from here on the release has more than 10000 objects"],
    );
    let text = "x".repeat(1_000_000);
    let heavy = format!("---\nkind: X\na: &a '{text}'\nb: [*a, *a, *a]\n");
    refuses(
        &format!("{DEPLOYMENT}{}", heavy.repeat(17)),
        &["document 18", "67108864 bytes of text"],
    );
    let values = format!("---\nkind: X\na: [{}]\n", "0,".repeat(200_000));
    refuses(
        &format!("{DEPLOYMENT}{}", values.repeat(11)),
        &["document 11", "2000000 values"],
    );
    let images = (0..2_001).map(|number| format!("quay.io/org/x:{number},"));
    let images: String = images.collect();
    refuses(
        &with_fields(&format!("args: ['{images}']")),
        &["more than 2000 images"],
    );
}

#[test]
fn what_is_no_release_is_refused_with_its_place() {
    let other = DEPLOYMENT.replace("serviceAccountName: app", "serviceAccountName: evil");
    refuses(
        &format!("{DEPLOYMENT}---{other}"),
        &[
            "`release.yaml`, document 1 (line 1) and `release.yaml`, document 2 (line 13) both define Deployment `app-operator`",
            "pass one release only",
        ],
    );
    refuses(
        &format!("{DEPLOYMENT}---\na: {{{{ .Values.x }}}}\n"),
        &["document 2 (line 13)", "template"],
    );
    let bytes = release(&[("a.yaml", b"a: 1\nb: \xff\n")]);
    let error = carry(&bytes, &InitOptions::default()).unwrap_err();
    let cause = error.source().unwrap().to_string();
    assert!(
        error.to_string().starts_with("`a.yaml`") && cause.contains("line 2"),
        "{error}: {cause}"
    );
}

/// Names that would change the meaning of `solution.yaml`, its comments or NOTES.md.
#[test]
fn names_cannot_break_out_of_what_is_written() {
    let name = r#""x\n  version: 9.9.9\n# \u2028`**[a](b)\u001b[2J""#;
    let text = with_fields(&format!(
        "args: [{name}, 'http://app.apps/']\nenv: [{{name: A, value: {name}}}]"
    ))
    .replace("name: app-operator", &format!("name: {name}"))
    .replace("v1.2.3}", "v1.2.3, app.kubernetes.io/name: app}");
    let tree = carried(&text);
    assert_eq!(tree.id.to_string(), "app-1.2.3");
    for file in ["solution.yaml", "NOTES.md"] {
        let text = std::str::from_utf8(&tree.files[file]).unwrap();
        assert!(
            !text.contains('\u{1b}') && !text.contains("\n  version: 9.9.9"),
            "{text}"
        );
        assert!(text.contains("version: 9.9.9"), "{text}");
    }
    let read = SolutionSource::from_slice(&tree.files["solution.yaml"]).unwrap();
    assert_eq!(read, tree.source);
}
