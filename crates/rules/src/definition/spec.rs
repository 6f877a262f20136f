//! Checks of a definition's group, scope, names and versions, as in `validateCustomResourceDefinitionSpec` and
//! `ValidateCustomResourceDefinitionNames` (`apis/apiextensions/validation/validation.go`). The schema of each version
//! is checked by `schema`.

use std::collections::BTreeSet;

use schemas::KubernetesName;
use serde_json::Value;

use super::field_path::{FieldPath, ProblemList};
use super::fields::Fields;
use super::schema;
use crate::finding::problem::Problem;

const SPEC: FieldPath<'static> = FieldPath::root("spec");

/// Returns the problems of a definition's `spec`, apart from its conversion.
pub(super) fn check(spec: &Value) -> Vec<Problem> {
    let spec = Fields(spec);
    let mut problems = ProblemList::new(Problem::Shape);
    check_group(spec.text("group"), &mut problems);
    match spec.text("scope") {
        "Namespaced" | "Cluster" => {}
        "" => problems.add(&SPEC.field("scope"), "is missing"),
        scope => {
            let words = format_args!("is `{scope}`; expected Namespaced or Cluster");
            problems.add(&SPEC.field("scope"), words);
        }
    }
    if let Some(names) = spec.fields("names") {
        check_names(names, &mut problems);
    } else {
        problems.add(&SPEC.field("names"), "is missing");
    }
    if spec.flag("preserveUnknownFields") {
        let words =
            "cannot be true; set x-kubernetes-preserve-unknown-fields in the schema instead";
        problems.add(&SPEC.field("preserveUnknownFields"), words);
    }
    let versions = spec.list("versions");
    let mut schema_problems = ProblemList::new(Problem::Schema);
    check_schemas(versions, &mut problems, &mut schema_problems);
    let mut problems = problems.into_problems();
    problems.extend(check_versions(versions).into_iter().map(Problem::Versions));
    problems.extend(schema_problems.into_problems());
    problems
}

/// Checks that each version has a schema, and checks these schemas.
fn check_schemas(
    versions: &[Value],
    problems: &mut ProblemList,
    schema_problems: &mut ProblemList,
) {
    let path = SPEC.field("versions");
    for (index, version) in versions.iter().enumerate() {
        let path = path.index(index);
        let path = path.field("schema");
        let path = path.field("openAPIV3Schema");
        let schema = Fields(version).fields("schema");
        match schema.and_then(|schema| schema.fields("openAPIV3Schema")) {
            Some(schema) => schema::check(schema, &path, schema_problems),
            None => problems.add(&path, "is missing"),
        }
    }
}

fn check_group(group: &str, problems: &mut ProblemList) {
    let path = SPEC.field("group");
    if group.is_empty() {
        problems.add(&path, "is missing");
    } else if group.parse::<KubernetesName>().is_err() {
        problems.add(&path, format_args!("`{group}` is not a DNS subdomain"));
    } else if !group.contains('.') {
        problems.add(&path, format_args!("`{group}` has no dot"));
    }
}

/// Checks the names of a kind. The API server requires DNS labels, and accepts capitals only in `kind` and `listKind`.
fn check_names(names: Fields<'_>, problems: &mut ProblemList) {
    let path = SPEC.field("names");
    for field in ["plural", "kind"] {
        if names.text(field).is_empty() {
            problems.add(&path.field(field), "is missing");
        }
    }
    for field in ["plural", "singular"] {
        let name = names.text(field);
        if !name.is_empty() {
            check_label(name, &path.field(field), problems);
        }
    }
    for field in ["kind", "listKind"] {
        let name = names.text(field).to_lowercase();
        if !name.is_empty() {
            check_label(&name, &path.field(field), problems);
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in names.texts(field).enumerate() {
            check_label(name, &path.field(field).index(index), problems);
        }
    }
    let kind = names.text("kind");
    if !kind.is_empty() && kind == names.text("listKind") {
        problems.add(&path.field("listKind"), "must differ from the kind");
    }
    // The API server derives a missing `listKind` and `singular` from the kind before it validates them.
    let derived = [
        ("listKind", "List", 63 - "List".len()),
        ("singular", "", 63),
    ];
    for (field, suffix, longest) in derived {
        if names.text(field).is_empty() && kind.len() > longest && kind.len() <= 63 {
            let words = format_args!("`{kind}{suffix}` has more than 63 characters");
            problems.add(&path.field(field), words);
        }
    }
}

/// Checks a name that must be a DNS label and begin with a letter.
fn check_label(name: &str, path: &FieldPath<'_>, problems: &mut ProblemList) {
    if !is_label(name) {
        let words = format_args!(
            "`{name}` is not a DNS label that begins with a letter: lower-case letters, digits and `-`, at most 63"
        );
        problems.add(path, words);
    }
}

/// Returns the problems of the list of versions as a whole.
fn check_versions(versions: &[Value]) -> Vec<String> {
    if versions.is_empty() {
        return vec!["spec.versions is missing or empty".to_owned()];
    }
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        match Fields(version).text("name") {
            "" => problems.push(format!("spec.versions[{index}] has no name")),
            name if !names.insert(name) => problems.push(format!("version `{name}` occurs twice")),
            name => {
                let mut invalid = ProblemList::new(Problem::Versions);
                let path = SPEC.field("versions");
                check_label(name, &path.index(index).field("name"), &mut invalid);
                let invalid = invalid.into_problems().into_iter();
                problems.extend(invalid.map(|problem| problem.to_string()));
            }
        }
    }
    let stored = versions
        .iter()
        .filter(|version| Fields(version).flag("storage"))
        .count();
    if stored != 1 {
        problems.push(format!("{stored} versions are the storage version"));
    }
    problems
}

/// Checks whether a text is a DNS label that begins with a letter.
fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63
        && text.bytes().all(is_inner)
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-')
}
