//! Definitions that `solution` or the API server rejects. On many mutations, a real API server and `rules` are compared:
//! both agree on the faults that `rules` checks, and `rules` never rejects what the API server accepts. The other faults
//! are found by the dry run of an import, before the first write.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::common::{Answer, Desk};
use crate::mutations::{self, Random};
use crate::release_definitions::definition;
use crate::site::Site;
use crate::{charts, charts_definitions, definitions, releases};

/// The number of random mutations, in addition to the listed ones.
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

/// A definition, and a description of its changes.
struct Changed {
    description: String,
    document: Value,
    expected: Expected,
}

/// The expected relation of the verdicts of `rules` and the API server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Both accept the definition, or both reject it.
    Agreement,
    /// Only the API server rejects the definition.
    OnlyServerRejects,
    /// The API server rejects the definition if `rules` does.
    ServerRejectsToo,
}

impl Expected {
    fn is_met(self, is_rejected: bool, is_rejected_by_server: bool) -> bool {
        match self {
            Self::Agreement => is_rejected == is_rejected_by_server,
            Self::OnlyServerRejects => !is_rejected && is_rejected_by_server,
            Self::ServerRejectsToo => !is_rejected || is_rejected_by_server,
        }
    }
}

/// Returns the definition of this name in a separate group, which identifies the API server's answer.
fn base(name: &str, number: usize) -> Value {
    let (_, text) = BASES.iter().find(|(known, _)| *known == name).unwrap();
    let text = text.replace("GROUP", &format!("m{number}.judge.test"));
    schemas::yaml::from_slice(text.as_bytes()).unwrap()
}

fn changed() -> Vec<Changed> {
    let mut list = Vec::new();
    for (name, _) in BASES {
        let document = base(name, list.len());
        list.push(Changed {
            description: format!("{name} unchanged"),
            document,
            expected: Expected::Agreement,
        });
    }
    for change in mutations::listed() {
        let mut document = base(change.base, list.len());
        change.apply(&mut document);
        let expected = if change.is_left_to_server {
            Expected::OnlyServerRejects
        } else {
            Expected::Agreement
        };
        list.push(Changed {
            description: format!("{change:?}"),
            document,
            expected,
        });
    }
    let mut random = Random::new(31);
    for _ in 0..AT_RANDOM {
        // Expressions depend on the types around them, so definitions with expressions are not changed at random.
        let name = ["widgets", "pipelines", "gauges"][random.below(3)];
        let mut document = base(name, list.len());
        let description = random.change(&mut document);
        list.push(Changed {
            description,
            document,
            expected: Expected::ServerRejectsToo,
        });
    }
    list
}

#[test]
fn definitions_are_rejected_only_if_the_api_server_rejects_them() {
    let desk = Desk::new();
    let list = changed();
    let items: Vec<&Value> = list.iter().map(|changed| &changed.document).collect();
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
    let accepted: BTreeSet<&str> = answer.stdout.lines().collect();
    assert!(accepted.len() > BASES.len(), "{}", answer.stderr);
    let mut wrong = String::new();
    for Changed {
        description,
        document,
        expected,
    } in &list
    {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let id = format!("customresourcedefinition.apiextensions.k8s.io/{name}");
        let refusals = rules::refusals(document);
        if expected.is_met(!refusals.is_empty(), !accepted.contains(id.as_str())) {
            continue;
        }
        let group = document["spec"]["group"].as_str().unwrap_or(name);
        let message = answer.stderr.lines().find(|line| line.contains(group));
        writeln!(
            wrong,
            "{description}\nsolution: {refusals:?}\nAPI server: {message:?}\n{document}\n"
        )
        .unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
    let rejected = list.len() - accepted.len();
    assert!(
        rejected > 100 && accepted.len() > 50,
        "{rejected} of {}",
        list.len()
    );
}

/// Fields with a default of another type and an invalid pattern, which only the API server rejects.
const FAULTY: &str = "size: {type: integer, default: big}, color: {type: string, pattern: '('}";

/// Asserts that the API server rejects a definition, and that the cluster is unchanged.
#[track_caller]
fn assert_rejected_by_server(site: &Site, definition: &str, change: impl FnOnce() -> Answer) {
    let before = site.snapshot();
    let text = change().failure(1);
    let rejected = format!("the cluster rejects CustomResourceDefinition {definition}: ");
    assert!(text.contains(&rejected), "{text}");
    assert!(text.contains("openAPIV3Schema"), "{text}");
    assert_eq!(site.snapshot(), before, "{text}");
}

#[test]
fn a_definition_that_only_the_api_server_rejects_changes_nothing() {
    let site = charts::site("rejected");
    assert_operators_definition_is_rejected(&site);
    assert_migrated_definition_is_rejected(&site);

    let set = releases::release("hello", "one") + &definition("{strategy: None}", FAULTY);
    let faulty = releases::pack(&site, "1.0.0", releases::OWN, &set);
    assert_rejected_by_server(&site, "widgets.shop.test", || {
        releases::import(&site, &faulty, &[])
    });

    let faulty = charts_definitions::pack(&site, "1.1.0", FAULTY, "size: 1");
    assert_rejected_by_server(&site, "widgets.charts.example.test", || {
        charts::import(&site, &faulty, &[])
    });
}

/// Changes a field of the example's CRD to one with a default of another type.
const FAULTY_FIELD: [(&str, &str); 1] = [(
    "maximum: 10",
    "maximum: 10\n                  default: many",
)];

fn assert_operators_definition_is_rejected(site: &Site) {
    definitions::import_with(site, "1.2.0", &FAULTY_FIELD);
    assert_rejected_by_server(site, definitions::CRD, || {
        definitions::activate(site, "1.2.0", &[])
    });
}

/// The API server accepts the final form of a migrated definition only after the migration. A form with the old and the
/// new API versions is dry-run instead, also if no object has to be rewritten.
fn assert_migrated_definition_is_rejected(site: &Site) {
    let version = "    - name: v1alpha1\n";
    let further = format!(
        "    - name: v1beta1\n      served: true\n      storage: false\n      schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n{version}"
    );
    definitions::import_with(site, "1.3.0", &[(version, &further)]);
    definitions::activate(site, "1.3.0", &[]).success();
    definitions::import_with(site, "1.4.0", &FAULTY_FIELD);
    assert_rejected_by_server(site, definitions::CRD, || {
        definitions::activate(site, "1.4.0", &["--migrate"])
    });
}
