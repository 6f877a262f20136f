//! The JSON Schemas of results (`schemas/results`). They follow from the types that the program writes as JSON, and here
//! alone it is said which of these a verb can answer with. `UPDATE=1 cargo test --bin solution results` writes them anew.

mod answers;
mod archives;
mod changes;
mod references;
mod registries;
mod sites;
mod stream;
mod tidy;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::Schema;
use serde_json::{Map, Value};
use validator::Report;

use self::answers::Results;

/// Every verb with what it can answer, but for a failure, which each can.
fn all() -> BTreeMap<String, Schema> {
    let mut all = Results::begin();
    let report = &all.shared::<Report>("report");
    changes::add(&mut all, report);
    archives::add(&mut all, report);
    sites::add(&mut all);
    registries::add(&mut all, report);
    stream::add(&mut all);
    all.finish()
}

/// The committed schemas must be what follows from the types; `UPDATE=1` renews them.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the test decides to renew"
)]
fn the_schemas_of_results_follow_from_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/results");
    let all = all();
    for (file, schema) in &all {
        let now = serde_json::to_string_pretty(schema).unwrap() + "\n";
        let path = folder.join(file);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &now).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == now,
            "schemas/results/{file} is stale: UPDATE=1 cargo test --bin solution results"
        );
    }
    let committed = std::fs::read_dir(folder).unwrap();
    let committed = committed.map(|it| it.unwrap().file_name().into_string().unwrap());
    let committed: BTreeSet<String> = committed.collect();
    assert_eq!(committed, all.into_keys().collect());
}

/// Of two types with the same name, one would be called `Name2`.
#[test]
fn no_two_types_of_results_have_the_same_name() {
    for (file, schema) in all() {
        let definitions = schema.get("$defs").and_then(Value::as_object);
        for name in definitions.into_iter().flat_map(Map::keys) {
            let numbered = name.ends_with(|it: char| it.is_ascii_digit());
            assert!(!numbered, "{name} in {file}");
        }
    }
}
