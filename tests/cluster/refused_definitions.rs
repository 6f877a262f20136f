//! Definitions as a real API server judges them, and as `rules` does: the same yes or no for each of several hundred that
//! were changed a little. What is not judged (what an expression in CEL means, formats that are taken for what they say) is
//! never changed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::common::Desk;
use crate::mutations::{self, Random};

/// So many beside those that are listed.
const AT_RANDOM: usize = 240;

const BASES: [(&str, &str); 5] = [
    ("widgets", include_str!("../data/definitions/widgets.yaml")),
    (
        "pipelines",
        include_str!("../data/definitions/pipelines.yaml"),
    ),
    ("gauges", include_str!("../data/definitions/gauges.yaml")),
    ("guards", include_str!("../data/definitions/guards.yaml")),
    ("turners", include_str!("../data/definitions/turners.yaml")),
];

/// A definition, and what was changed of it.
struct Changed {
    what: String,
    document: Value,
}

/// The definition of this name, in a group of its own, by which the API server's answer is known.
fn base(name: &str, number: usize) -> Value {
    let (_, text) = BASES.iter().find(|(known, _)| *known == name).unwrap();
    let text = text.replace("GROUP", &format!("m{number}.judge.test"));
    schemas::yaml::from_slice(text.as_bytes()).unwrap()
}

fn changed() -> Vec<Changed> {
    let mut list = Vec::new();
    for (name, _) in BASES {
        let (what, document) = (format!("{name} as it is"), base(name, list.len()));
        list.push(Changed { what, document });
    }
    for change in mutations::listed() {
        let mut document = base(change.base, list.len());
        change.apply(&mut document);
        let what = format!("{change:?}");
        list.push(Changed { what, document });
    }
    let mut random = Random::new(31);
    for _ in 0..AT_RANDOM {
        // Expressions depend on the types around them, so that their own definition is left alone.
        let name = ["widgets", "pipelines", "gauges"][random.below(3)];
        let mut document = base(name, list.len());
        let what = random.change(&mut document);
        list.push(Changed { what, document });
    }
    list
}

#[test]
fn definitions_are_refused_as_the_api_server_refuses_them() {
    let desk = Desk::new();
    let list = changed();
    let items: Vec<&Value> = list.iter().map(|it| &it.document).collect();
    let all = json!({"apiVersion": "v1", "kind": "List", "items": items});
    desk.write("all.json", all.to_string());
    let create = [
        "create",
        "--filename=all.json",
        "--dry-run=server",
        "--validate=ignore",
        "--output=name",
    ];
    let answer = desk.run("kubectl", &create);
    let taken: BTreeSet<&str> = answer.stdout.lines().collect();
    assert!(taken.len() > BASES.len(), "{}", answer.stderr);
    let mut wrong = String::new();
    for Changed { what, document } in &list {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let id = format!("customresourcedefinition.apiextensions.k8s.io/{name}");
        let refusals = rules::refusals(document);
        if taken.contains(id.as_str()) == refusals.is_empty() {
            continue;
        }
        let group = document["spec"]["group"].as_str().unwrap_or(name);
        let mut said = answer.stderr.lines().filter(|it| it.contains(group));
        let said = said.next();
        writeln!(
            wrong,
            "{what}\nwe say: {refusals:?}\nthe API server says: {said:?}\n{document}\n"
        )
        .unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
    let refused = list.len() - taken.len();
    assert!(
        refused > 100 && taken.len() > 50,
        "{refused} of {}",
        list.len()
    );
}
