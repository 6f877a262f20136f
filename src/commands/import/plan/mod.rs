//! The plan, for people.

mod archive;
mod changes;
mod details;
mod effects;
mod lines;
mod objects;
mod overview;
#[cfg(test)]
mod summary;

use importer::{PlanSummary, PlannedObject};

pub(crate) use self::archive::archive;
pub(crate) use self::lines::Waits;
use self::lines::{Detail, Lines};
pub(crate) use self::overview::cluster;
use super::show::Shown;
use crate::commands::marks::{self, Mark, Totals};
use crate::render;

/// The number of hexadecimal digits of a digest that are shown; the JSON result has all of them.
const SHOWN_DIGITS: usize = 12;

/// Shows a plan, and the changes of each object if they are asked for.
pub(crate) fn show(plan: &PlanSummary, shown: Shown, waits: Option<Waits>) {
    let detail = match shown {
        Shown::Plain => Detail::Brief,
        Shown::Details | Shown::WithDiff => Detail::Full,
    };
    marks::show(all(plan, detail, waits, true));
    if shown == Shown::WithDiff {
        let objects = plan.objects();
        let objects = objects.filter(|object| !object.diff.is_empty());
        objects.for_each(diff_of);
    }
    render::line("");
    render::line(totals(plan).to_string());
    if shown == Shown::Plain
        && all(plan, Detail::Full, waits, true) != all(plan, detail, waits, true)
    {
        render::note("hint: `--details` shows fields, rights and the source of each value");
    }
}

/// Returns the lines of a plan with its details, for a fleet: it has one consent id for all its clusters.
pub(crate) fn lines(plan: &PlanSummary) -> Vec<String> {
    let mut lines = all(plan, Detail::Full, None, false);
    lines.retain(|line| !line.is_empty());
    lines.push(totals(plan).to_string());
    lines
}

/// Returns the warnings about an object.
pub(crate) fn warnings(object: &PlannedObject) -> Vec<String> {
    let mut lines = Lines::new(Detail::Full);
    lines.warnings(object);
    lines.lines
}

/// Shows the changes of an object.
pub(crate) fn diff_of(object: &PlannedObject) {
    render::line!("diff      {} {}", object.action, object.object);
    object.diff.lines().for_each(render::diff_line);
}

fn totals(plan: &PlanSummary) -> Totals {
    let objects = plan.objects();
    objects
        .filter_map(|object| Mark::of(&object.action))
        .collect()
}

fn all(
    plan: &PlanSummary,
    detail: Detail,
    waits: Option<Waits>,
    has_consent_id: bool,
) -> Vec<String> {
    let mut lines = Lines::new(detail);
    lines.overview(plan, waits, has_consent_id);
    lines.part();
    lines.changes(plan);
    lines.part();
    if let Some(target) = &plan.target {
        lines.rights(target);
        if let Some(beyond) = &target.beyond {
            lines.beyond(beyond);
        }
    }
    if lines.is_full() {
        lines.details(plan);
    }
    lines.notes(plan);
    let mut lines = lines.lines;
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().map(|line| shortened(line)).collect()
}

/// Returns a text with the first digits alone of each digest.
fn shortened(text: &str) -> String {
    const ALGORITHM: &str = "sha256:";
    let mut parts = text.split(ALGORITHM);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (digest, rest) = part.split_at(digits);
        short.push_str(ALGORITHM);
        match digest.get(..SHOWN_DIGITS) {
            Some(begin) if digits == 64 => {
                short.push_str(begin);
                short.push('…');
            }
            _ => short.push_str(digest),
        }
        short.push_str(rest);
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::summary::summary;
    use super::*;

    #[test]
    fn digests_are_shortened_and_nothing_else() {
        let digest = "0123456789abcdef".repeat(4);
        let line = format!("proof     a pod pulls r.test/a@sha256:{digest} on sha256:12 first");
        let expected = "proof     a pod pulls r.test/a@sha256:0123456789ab… on sha256:12 first";
        assert_eq!(shortened(&line), expected);
    }

    fn object(object: &str, action: &str) -> Value {
        json!({ "object": object, "action": action })
    }

    /// The lines below the overview.
    fn shown(plan: &Value, detail: Detail) -> Vec<String> {
        let lines = all(&summary(plan), detail, None, true);
        let end = lines.iter().position(String::is_empty).unwrap();
        lines[end + 1..].to_vec()
    }

    #[test]
    fn a_plan_for_people_has_no_line_for_an_object_that_stays_as_it_is() {
        let mut moved = object("ConfigMap b", "keep");
        moved["takenOver"] = json!([{ "field": ".data.a", "manager": "kubectl" }]);
        let mut crd = object("CRD c", "change");
        crd["changes"] = json!([".spec.a", ".spec.b"]);
        crd["losses"] = json!([".spec.b"]);
        let release = json!({
            "release": "release prod/web", "chart": "web 1.0.0", "action": "keep",
            "objects": [object("Secret d", "keep"), object("Secret e", "remove")],
            "values": [{ "field": ".a", "value": "b", "from": "site.yaml" }], "found": "it has drifted",
        });
        let plan = json!({
            "crds": [object("CRD a", "keep"), object("CRD b", "keep version 2.0.0 of"), crd],
            "creates": ["apps/a"],
            "target": {
                "objects": [object("Namespace prod", "keep"), object("ConfigMap a", "create"), moved],
                "releases": [release],
                "removed": [object("ConfigMap c", "remove"), object("Job d", "replace")],
            },
            "notes": ["a check was not possible"],
        });
        let expected = [
            "    + repository apps/a",
            "      keep version 2.0.0 of CRD b",
            "    ~ CRD c",
            "      ! .spec.b",
            "    + ConfigMap a",
            "      keep ConfigMap b",
            "      ! takes over .data.a from kubectl",
            "    - ConfigMap c",
            "  -/+ Job d",
            "chart     keep release prod/web (web 1.0.0)",
            "    - Secret e",
            "      ! it has drifted",
            "",
            "note      a check was not possible",
        ];
        assert_eq!(shown(&plan, Detail::Brief), expected);
        let details = shown(&plan, Detail::Full);
        for line in ["        .spec.a", "          .a \"b\" (site.yaml)"] {
            assert!(details.contains(&line.to_owned()), "{line}: {details:#?}");
        }
        let missing = expected
            .iter()
            .find(|line| !details.contains(&(**line).to_owned()));
        assert_eq!(missing, None, "{details:#?}");
        let totals = totals(&summary(&plan)).to_string();
        assert_eq!(
            totals,
            "1 to create, 1 to change, 1 to replace, 2 to remove"
        );
        let of_fleet = lines(&summary(&plan));
        assert_eq!(of_fleet.last(), Some(&totals));
        assert!(!of_fleet.contains(&String::new()), "{of_fleet:#?}");
    }

    #[test]
    fn many_objects_of_a_kind_are_named_in_one_line_and_their_fields_are_details() {
        let changed = |name: usize| {
            let mut changed = object(&format!("ConfigMap prod/{name}"), "change");
            changed["changes"] = json!([".data.a", ".data.b"]);
            changed
        };
        let stamped = |name: &str| {
            let mut stamped = object(name, "change");
            stamped["changes"] = json!([".metadata.labels[helm.sh/chart]"]);
            stamped
        };
        let mut objects: Vec<Value> = (0..6).map(changed).collect();
        objects.extend([
            stamped("Secret prod/a"),
            stamped("Secret prod/b"),
            stamped("Job prod/c"),
        ]);
        objects[2]["takenOver"] = json!([{ "field": ".data.a", "manager": "kubectl" }]);
        objects.push(changed(6));
        let plan = json!({ "target": { "objects": objects } });
        let expected = [
            "    ~ ConfigMap prod/0, prod/1, prod/3, prod/4, prod/5, prod/6",
            "    ~ ConfigMap prod/2",
            "      ! takes over .data.a from kubectl",
            "    ~ Secret prod/a, prod/b (version labels only)",
            "    ~ Job prod/c (version labels only)",
        ];
        assert_eq!(shown(&plan, Detail::Brief), expected);
        let details = shown(&plan, Detail::Full);
        assert_eq!(details[0], "    ~ ConfigMap prod/0 (.data.a, .data.b)");
        assert_eq!(details.len(), 10, "{details:#?}");
        let chart = json!({
            "release": "release prod/web", "chart": "web 1.0.0", "action": "upgrade", "revision": 2,
            "objects": [{ "object": "Job a", "action": "change", "changes": ["a", "b", "c", "d", "e", "f", "g"] }],
        });
        let details = shown(&json!({ "target": { "releases": [chart] } }), Detail::Full);
        let expected = [
            "chart     upgrade release prod/web (web 1.0.0, revision 2 now)",
            "    ~ Job a (a, b, c, d, e and 2 more)",
        ];
        assert_eq!(details, expected);
    }
}
