//! Validation of a definition's group, scope, names and list of versions: `validateCustomResourceDefinitionSpec` and
//! `ValidateCustomResourceDefinitionNames` (`apis/apiextensions/validation/validation.go`).

use std::collections::BTreeSet;

use schemas::KubernetesName;
use serde_json::Value;

use super::format::is_label;
use super::place::{Faults, Place};
use super::schema::Fields;
use super::version;
use crate::Problem;

const SPEC: Place<'static> = Place::root("spec");

/// Returns the problems of a definition's `spec`, apart from its conversion.
pub(super) fn check(spec: &Value) -> Vec<Problem> {
    let spec = Fields(spec);
    let mut faults = Faults::new(Problem::Shape);
    group(spec.text("group"), &mut faults);
    match spec.text("scope") {
        "Namespaced" | "Cluster" => {}
        "" => faults.add(&SPEC.field("scope"), "is missing"),
        scope => {
            let words = format_args!("is `{scope}`; expected Namespaced or Cluster");
            faults.add(&SPEC.field("scope"), words);
        }
    }
    if let Some(names) = spec.fields("names") {
        check_names(names, &mut faults);
    } else {
        faults.add(&SPEC.field("names"), "is missing");
    }
    if spec.flag("preserveUnknownFields") {
        let words =
            "cannot be true; set x-kubernetes-preserve-unknown-fields in the schema instead";
        faults.add(&SPEC.field("preserveUnknownFields"), words);
    }
    let versions = spec.list("versions");
    let mut of_schemas = Faults::new(Problem::Schema);
    version::check(versions, &mut faults, &mut of_schemas);
    let mut problems = faults.into_problems();
    problems.extend(together(versions).into_iter().map(Problem::Versions));
    problems.extend(of_schemas.into_problems());
    problems
}

fn group(group: &str, faults: &mut Faults) {
    let place = SPEC.field("group");
    if group.is_empty() {
        faults.add(&place, "is missing");
    } else if group.parse::<KubernetesName>().is_err() {
        faults.add(&place, format_args!("`{group}` is not a DNS subdomain"));
    } else if !group.contains('.') {
        faults.add(&place, format_args!("`{group}` has no dot"));
    }
}

fn check_names(names: Fields<'_>, faults: &mut Faults) {
    let place = SPEC.field("names");
    for field in ["plural", "kind"] {
        if names.text(field).is_empty() {
            faults.add(&place.field(field), "is missing");
        }
    }
    for field in ["plural", "singular"] {
        let name = names.text(field);
        if !name.is_empty() {
            label(name, &place.field(field), faults);
        }
    }
    for field in ["kind", "listKind"] {
        let name = names.text(field).to_lowercase();
        if !name.is_empty() {
            label(&name, &place.field(field), faults);
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in names.texts(field).enumerate() {
            label(name, &place.field(field).index(index), faults);
        }
    }
    let kind = names.text("kind");
    if !kind.is_empty() && kind == names.text("listKind") {
        faults.add(&place.field("listKind"), "must differ from the kind");
    }
    // The API server derives a missing `listKind` and `singular` from the kind before it validates them.
    let made = [
        ("listKind", "List", 63 - "List".len()),
        ("singular", "", 63),
    ];
    for (field, suffix, longest) in made {
        if names.text(field).is_empty() && kind.len() > longest && kind.len() <= 63 {
            let words = format_args!("`{kind}{suffix}` has more than 63 characters");
            faults.add(&place.field(field), words);
        }
    }
}

/// Checks a name that must be a DNS label and begin with a letter.
pub(super) fn label(name: &str, place: &Place<'_>, faults: &mut Faults) {
    if !is_label(name) {
        let words = format_args!(
            "`{name}` is not a DNS label that begins with a letter: lower-case letters, digits and `-`, at most 63"
        );
        faults.add(place, words);
    }
}

/// Returns the problems of the list of versions as a whole.
fn together(versions: &[Value]) -> Vec<String> {
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
                let mut faults = Faults::new(Problem::Versions);
                let place = SPEC.field("versions");
                label(name, &place.index(index).field("name"), &mut faults);
                let words = faults.into_problems().into_iter();
                problems.extend(words.map(|problem| problem.to_string()));
            }
        }
    }
    let stored = versions
        .iter()
        .filter(|version| Fields(version).flag("storage"));
    match stored.count() {
        1 => {}
        stored => problems.push(format!("{stored} versions are the storage version")),
    }
    problems
}
