//! The effects of a plan: rights, consent, and the checks that were not possible.

use importer::{PlanSummary, PlannedBeyond, PlannedRight, PlannedTarget, Unseen};

use super::lines::Lines;
use crate::args::choose;
use crate::commands::marks::INDENT;

impl Lines {
    /// The rights; without details, only what is dangerous.
    pub(super) fn rights(&mut self, target: &PlannedTarget) {
        let is_shown = |right: &&PlannedRight| self.is_full() || right.danger.is_some();
        let gained = target.rights_gained.iter().filter(is_shown).map(right);
        let dangers = target.dangers.iter();
        let dangers = dangers.map(|danger| format!("      ! {danger}"));
        let gained: Vec<String> = gained.chain(dangers).collect();
        let lost = target.rights_lost.iter().filter(|_| self.is_full());
        let lost: Vec<String> = lost.map(right).collect();
        self.headed("rights    gained:", gained);
        self.headed("rights    lost:", lost);
    }

    /// Lines below their heading, and none where there is nothing to show below it.
    fn headed(&mut self, heading: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.push(heading);
            self.lines.extend(lines);
        }
    }

    /// The effects outside the environment.
    pub(super) fn beyond(&mut self, beyond: &PlannedBeyond) {
        self.push("consent   effects outside the environment:");
        if beyond.again {
            self.push(format!(
                "{INDENT}the earlier consent did not cover the content of these objects, so it is required again"
            ));
        }
        for line in &beyond.lines {
            let (new, danger) = (choose(line.new, "+", " "), choose(line.danger, "!", " "));
            self.push(format!("    {new}{danger} {}", line.text));
        }
    }

    /// The notes, and the parts of the cluster that could not be read.
    pub(super) fn notes(&mut self, plan: &PlanSummary) {
        for note in &plan.notes {
            self.row("note", note);
        }
        for Unseen { what, right } in &plan.unseen {
            self.row(
                "unseen",
                &format!("{what} (the right to {right} is missing)"),
            );
        }
    }
}

fn right(right: &PlannedRight) -> String {
    match &right.danger {
        Some(danger) => format!("      ! {}: lets it {danger}", right.right),
        None => format!("{INDENT}  {}", right.right),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::lines::Detail;
    use super::super::summary::target;
    use super::*;

    fn rights(detail: Detail, gained: &Value, lost: &Value, dangers: &Value) -> Vec<String> {
        let target = json!({ "rightsGained": gained, "rightsLost": lost, "dangers": dangers });
        let mut lines = Lines::new(detail);
        lines.rights(&target_of(&target));
        lines.lines
    }

    fn target_of(value: &Value) -> PlannedTarget {
        serde_json::from_value(target(value)).unwrap()
    }

    #[test]
    fn harmless_rights_are_details_and_dangers_are_not() {
        let right = json!([
            { "right": "list pods" },
            { "right": "read Secrets", "danger": "read every password" },
        ]);
        let opened = json!(["Service prod/web is open on a port of every node (NodePort)"]);
        let dangers = [
            "      ! read Secrets: lets it read every password",
            "      ! Service prod/web is open on a port of every node (NodePort)",
        ];
        let gained = "rights    gained:";
        assert_eq!(
            rights(Detail::Brief, &right, &right, &opened),
            [gained, dangers[0], dangers[1]]
        );
        assert_eq!(
            rights(Detail::Full, &right, &json!([]), &opened),
            [gained, "        list pods", dangers[0], dangers[1]]
        );
        let harmless = json!([{ "right": "list pods" }]);
        assert_eq!(
            rights(Detail::Full, &json!([]), &harmless, &json!([])),
            ["rights    lost:", "        list pods"]
        );
    }

    #[test]
    fn a_plan_has_no_heading_without_lines_below_it() {
        let (none, harmless) = (json!([]), json!([{ "right": "list pods" }]));
        assert!(rights(Detail::Full, &none, &none, &none).is_empty());
        assert!(rights(Detail::Brief, &harmless, &harmless, &none).is_empty());
    }

    #[test]
    fn every_effect_that_needs_consent_is_shown() {
        let beyond = json!({
            "id": "5d0c", "accepted": false, "again": true,
            "lines": [
                { "text": "reads all Secrets", "new": true, "danger": true },
                { "text": "ClusterRole a is made", "new": false },
            ],
        });
        let mut lines = Lines::new(Detail::Brief);
        lines.beyond(&serde_json::from_value(beyond).unwrap());
        let expected = [
            "consent   effects outside the environment:",
            "      the earlier consent did not cover the content of these objects, so it is required again",
            "    +! reads all Secrets",
            "       ClusterRole a is made",
        ];
        assert_eq!(lines.lines, expected);
    }
}
