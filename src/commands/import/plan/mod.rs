//! The plan for people: its lines, the marks of changes, and the totals. Other verbs that show changes use the same
//! marks and totals.

mod changes;
pub(super) mod overview;
use std::fmt;

use importer::{PlanSummary, PlannedObject, TimeLimits};

use self::changes::{Detail, Lines};
pub(crate) use self::overview::{archive, cluster_line};
use crate::render::{self, Colour};

/// The indentation that aligns lines with the objects after a mark.
pub(crate) const INDENT: &str = "      ";

/// A planned change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Create,
    Change,
    /// The object is deleted and created again.
    Replace,
    Remove,
}

impl Mark {
    /// Returns the mark of an action in a plan; none if the object is kept.
    pub(crate) fn of(action: &str) -> Option<Self> {
        match action {
            "create" => Some(Self::Create),
            "change" => Some(Self::Change),
            "replace" => Some(Self::Replace),
            "remove" => Some(Self::Remove),
            _ => None,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Create => "+",
            Self::Change => "~",
            Self::Replace => "-/+",
            Self::Remove => "-",
        }
    }

    /// Returns the line of an object.
    pub(crate) fn line(self, object: impl fmt::Display) -> String {
        format!("{:>5} {object}", self.sign())
    }
}

/// Shows lines of a plan, each in the colour of its mark and wrapped to the width of the terminal.
pub(crate) fn show_lines(lines: impl IntoIterator<Item = String>) {
    let width = render::width();
    for line in lines {
        let colour = colour(&line);
        for line in wrapped(&line, width) {
            render::coloured(&line, colour);
        }
    }
}

/// Returns the colour of a line of a plan.
fn colour(line: &str) -> Option<Colour> {
    let is_marked = line.starts_with(' ');
    match line.split_whitespace().next()? {
        "+" if is_marked => Some(Colour::Green),
        "~" | "!" | "+!" if is_marked => Some(Colour::Yellow),
        "-" | "-/+" if is_marked => Some(Colour::Red),
        _ => None,
    }
}

/// The column at which the text after a label begins.
const TEXT: usize = 10;

/// Wraps a line to the width of the terminal. Without a terminal, the line is returned unchanged.
fn wrapped(line: &str, width: Option<usize>) -> Vec<String> {
    let width = width.filter(|width| *width > 2 * TEXT);
    let Some(width) = width.filter(|width| line.chars().count() > *width) else {
        return vec![line.to_owned()];
    };
    let indent = match line.len() - line.trim_start().len() {
        0 => TEXT + 2,
        margin => margin + 4,
    };
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is a line");
        let is_full = last.chars().count() + word.trim_end().chars().count() > width;
        if is_full && !last.trim().is_empty() {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            last.push_str(word);
        }
    }
    let lines = lines.iter();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

/// The numbers of planned changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    create: usize,
    change: usize,
    replace: usize,
    remove: usize,
}

impl FromIterator<Mark> for Totals {
    fn from_iter<I: IntoIterator<Item = Mark>>(marks: I) -> Self {
        let mut totals = Self::default();
        for mark in marks {
            *match mark {
                Mark::Create => &mut totals.create,
                Mark::Change => &mut totals.change,
                Mark::Replace => &mut totals.replace,
                Mark::Remove => &mut totals.remove,
            } += 1;
        }
        totals
    }
}

impl Totals {
    /// Returns the numbers of a plan that only removes objects.
    pub(crate) fn removing(remove: usize) -> Self {
        Self {
            remove,
            ..Self::default()
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            create,
            change,
            replace,
            remove,
        } = self;
        write!(f, "{create} to create, {change} to change, ")?;
        if *replace > 0 {
            write!(f, "{replace} to replace, ")?;
        }
        write!(f, "{remove} to remove")
    }
}

/// The number of hexadecimal digits of a digest that are shown; the JSON result has all of them.
const SHOWN_DIGITS: usize = 12;

/// Shows a plan, with the diff of each object if the user requests it.
pub(crate) fn show(plan: &PlanSummary, shown: PlanDetail, limits: Option<TimeLimits>) {
    let detail = match shown {
        PlanDetail::Plain => Detail::Brief,
        PlanDetail::Details | PlanDetail::WithDiff => Detail::Full,
    };
    show_lines(all(plan, detail, limits, true));
    if shown == PlanDetail::WithDiff {
        let objects = plan.objects();
        let objects = objects.filter(|object| !object.diff.is_empty());
        objects.for_each(diff_of);
    }
    render::line("");
    render::line(totals(plan).to_string());
    if shown == PlanDetail::Plain
        && all(plan, Detail::Full, limits, true) != all(plan, detail, limits, true)
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
    limits: Option<TimeLimits>,
    has_consent_id: bool,
) -> Vec<String> {
    let mut lines = Lines::new(detail);
    lines.overview(plan, limits, has_consent_id);
    lines.part();
    lines.changes(plan);
    lines.part();
    if let Some(target) = &plan.target {
        lines.rights(target);
        if let Some(external_effects) = &target.external_effects {
            lines.external_effects(external_effects);
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

/// Returns a text with shortened digests.
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

/// The level of detail of a shown plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanDetail {
    /// An overview, and the action for each object.
    Plain,
    /// Also fields, rights and the source of each value.
    Details,
    /// Also the diff of each object.
    WithDiff,
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

    /// Returns the lines below the overview.
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

    fn counted(actions: &[&str]) -> String {
        let marks = actions.iter().filter_map(|action| Mark::of(action));
        marks.collect::<Totals>().to_string()
    }

    #[test]
    fn a_plan_ends_with_the_number_of_objects_of_each_mark() {
        let actions = ["create", "keep", "change", "create", "remove"];
        let line = "2 to create, 1 to change, 1 to remove";
        assert_eq!(counted(&actions), line);
        assert_eq!(counted(&[]), "0 to create, 0 to change, 0 to remove");
        let replacing = "0 to create, 0 to change, 1 to replace, 0 to remove";
        assert_eq!(counted(&["replace", "keep version 2.0.0 of"]), replacing);
    }

    #[test]
    fn the_mark_of_a_line_decides_its_colour() {
        let of = |mark: Mark| colour(&mark.line("ConfigMap prod/a"));
        assert_eq!(of(Mark::Create), Some(Colour::Green));
        assert_eq!(of(Mark::Change), Some(Colour::Yellow));
        assert_eq!(of(Mark::Replace), Some(Colour::Red));
        assert_eq!(of(Mark::Remove), Some(Colour::Red));
        assert_eq!(colour("      ! takes over .data"), Some(Colour::Yellow));
        assert_eq!(colour("    +! may read all Secrets"), Some(Colour::Yellow));
        for plain in ["", "- is no mark at the margin", "      keep ConfigMap b"] {
            assert_eq!(colour(plain), None, "{plain}");
        }
    }

    #[test]
    fn a_line_is_wrapped_at_words_and_each_word_stays() {
        let line = "note      some words of a note that is longer than the terminal is wide";
        assert_eq!(wrapped(line, None), [line]);
        assert_eq!(wrapped(line, Some(200)), [line]);
        let lines = wrapped(line, Some(40));
        let expected = [
            "note      some words of a note that is",
            "            longer than the terminal is",
            "            wide",
        ];
        assert_eq!(lines, expected);
        let marked = Mark::Create.line("ConfigMap prod/one, prod/two");
        let expected = ["    + ConfigMap prod/one,", "        prod/two"];
        assert_eq!(wrapped(&marked, Some(26)), expected);
        let long = format!("note      {}", "x".repeat(100));
        assert!(wrapped(&long, Some(40)).concat().contains(&"x".repeat(100)));
    }
}

#[cfg(test)]
mod summary {
    use importer::PlanSummary;
    use serde_json::{Value, json};

    /// Returns a plan with these fields in place of its defaults, and a target with those of its `target`.
    pub(super) fn summary(fields: &Value) -> PlanSummary {
        let plan = json!({
            "context": null, "server": "https://a.test", "kubernetes": "v1.36.2", "solution": "a-1.1.0",
            "archiveId": "1", "registry": "r.test", "pullRegistry": "r.test", "images": 0, "imagesPresent": 0,
            "bytes": 0, "bytesToPush": 0, "recorded": true, "crds": [], "target": null, "notes": [], "findings": [],
        });
        let mut plan = with(plan, fields);
        if plan["target"].is_object() {
            plan["target"] = target(&plan["target"]);
        }
        serde_json::from_value(plan).unwrap()
    }

    /// Returns a target with these fields in place of its defaults.
    pub(super) fn target(fields: &Value) -> Value {
        let target = json!({
            "environment": "prod", "namespace": "prod", "running": null, "rightsGained": [],
            "rightsLost": [], "dangers": [], "beyond": null, "objects": [], "removed": [],
        });
        with(target, fields)
    }

    fn with(mut value: Value, fields: &Value) -> Value {
        for (name, field) in fields.as_object().unwrap() {
            value[name] = field.clone();
        }
        value
    }
}
