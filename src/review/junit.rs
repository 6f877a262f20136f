//! JUnit XML, in the dialect of GitLab, Jenkins and Tekton's dashboards. The checked subject is one suite. It has a
//! case for the verdict, and one for each rule with findings; if all of these are ignored, the case is skipped.
//!
//! A rule without findings has no case. If an error ends the check early, the rule was possibly never checked, and must
//! not be shown as passed.

use rules::catalogue::{FINDINGS, FindingInfo, Severity};
use schemas::printable;
use validator::{Finding, IgnoredFinding};

use super::{Checked, Review, ReviewPlace};
use crate::render;

/// The class of the case for the verdict, and the prefix of the rules' classes.
const CLASS: &str = "solution";

/// A case: its attributes, the errors, other findings, and the ignored ones.
struct Case {
    class: String,
    name: &'static str,
    /// The place of the first finding.
    place: Option<ReviewPlace>,
    failures: Vec<String>,
    said: Vec<String>,
    ignored: Vec<String>,
}

/// Returns the lines of the document.
pub(super) fn lines(review: &Review<'_>) -> Vec<String> {
    let rules = FINDINGS.iter().filter_map(|info| {
        let found = review.judged.findings.iter();
        let found: Vec<&Finding> = found.filter(|finding| finding.id == info.id).collect();
        let ignored = review.judged.ignored.iter();
        let ignored = ignored.filter(|ignored| ignored.finding.id == info.id);
        let ignored: Vec<&IgnoredFinding> = ignored.collect();
        let is_case = !(found.is_empty() && ignored.is_empty());
        is_case.then(|| case(review.checked, info, &found, &ignored))
    });
    let mut cases: Vec<Case> = rules.collect();
    let failed = cases
        .iter()
        .filter(|case| !case.failures.is_empty())
        .count();
    cases.insert(0, answer(failed));
    let failures = if failed == 0 { 0 } else { failed + 1 };
    let skipped = cases.iter().filter(|case| case.is_skipped()).count();
    let tests = cases.len();
    let counts = format!(r#"tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}""#);
    let name = escaped(&review.checked.path().display().to_string());
    let head = [
        r#"<?xml version="1.0" encoding="UTF-8"?>"#.to_owned(),
        format!(r#"<testsuites name="{CLASS}" {counts}>"#),
        format!(r#"  <testsuite name="{name}" {counts}>"#),
    ];
    let tail = ["  </testsuite>", "</testsuites>"].map(str::to_owned);
    let cases = cases.iter().flat_map(Case::lines);
    head.into_iter().chain(cases).chain(tail).collect()
}

/// Returns the case for the verdict, with the number of failed rules. Some tools reject a suite without cases.
fn answer(failed: usize) -> Case {
    let refused = (failed > 0).then(|| format!("refused: {}", render::count(failed, "rule")));
    Case {
        class: CLASS.to_owned(),
        name: "accepted",
        place: None,
        failures: refused.into_iter().collect(),
        said: Vec::new(),
        ignored: Vec::new(),
    }
}

/// Returns the case of a rule with findings.
fn case(
    checked: Checked<'_>,
    info: &FindingInfo,
    found: &[&Finding],
    ignored: &[&IgnoredFinding],
) -> Case {
    let (errors, others): (Vec<&Finding>, Vec<&Finding>) = found
        .iter()
        .partition(|finding| finding.severity == Severity::Error);
    let said = others.iter().map(|finding| {
        let severity = finding.severity.word();
        format!("{severity}: {}", in_words(checked, finding))
    });
    let all_ignored = ignored.iter().map(|ignored| &ignored.finding);
    let mut all = errors.iter().chain(&others).copied().chain(all_ignored);
    Case {
        class: format!("{CLASS}.{}", info.group()),
        name: info.id,
        place: all.next().map(|finding| checked.place(finding)),
        failures: errors
            .iter()
            .map(|error| in_words(checked, error))
            .collect(),
        said: said.collect(),
        ignored: ignored
            .iter()
            .map(|ignored| why_ignored(checked, ignored))
            .collect(),
    }
}

fn why_ignored(checked: Checked<'_>, ignored: &IgnoredFinding) -> String {
    let reason = ignored.reason.as_ref();
    let reason = reason
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    format!("ignored{reason}: {}", in_words(checked, &ignored.finding))
}

/// Describes a finding: its place, the problem and the fix.
fn in_words(checked: Checked<'_>, finding: &Finding) -> String {
    let place = match (checked, finding.place.as_str()) {
        (Checked::Archive(_), place) => place.to_owned(),
        (Checked::Tree(_), _) => checked.place(finding).to_string(),
    };
    let colon = if place.is_empty() { "" } else { ": " };
    format!("{place}{colon}{} (hint: {})", finding.message, finding.fix)
}

impl Case {
    /// Returns true if the case has only ignored findings.
    fn is_skipped(&self) -> bool {
        self.failures.is_empty() && self.said.is_empty() && !self.ignored.is_empty()
    }

    fn lines(&self) -> Vec<String> {
        let (class, name) = (escaped(&self.class), escaped(self.name));
        let place = self.place.as_ref().map(attributes).unwrap_or_default();
        let case = format!(r#"    <testcase classname="{class}" name="{name}"{place}"#);
        let mut lines = Vec::new();
        if let Some(first) = self.failures.first() {
            let message = escaped(first);
            lines.push(format!(
                r#"      <failure message="{message}" type="error">"#
            ));
            lines.extend(self.failures.iter().map(|failure| escaped(failure)));
            lines.push("      </failure>".to_owned());
        }
        if self.is_skipped() {
            let message = escaped(&self.ignored[0]);
            lines.push(format!(r#"      <skipped message="{message}"/>"#));
        }
        let said = self.said.iter().chain(&self.ignored);
        let said: Vec<String> = said.map(|line| escaped(line)).collect();
        if !said.is_empty() {
            lines.push("      <system-out>".to_owned());
            lines.extend(said);
            lines.push("      </system-out>".to_owned());
        }
        if lines.is_empty() {
            return vec![format!("{case}/>")];
        }
        lines.insert(0, format!("{case}>"));
        lines.push("    </testcase>".to_owned());
        lines
    }
}

/// Returns the attributes with which test reports link to a file.
fn attributes(place: &ReviewPlace) -> String {
    let file = escaped(&place.path.display().to_string());
    let line = place.line.map(|line| format!(r#" line="{line}""#));
    format!(r#" file="{file}"{}"#, line.unwrap_or_default())
}

/// Escapes a text for an element or an attribute. XML 1.0 does not allow control characters, U+FFFE and U+FFFF, not
/// even escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rules::catalogue::{operator, practice};
    use validator::{EvaluatedFindings, IgnoredBy};

    use super::*;
    use crate::review::Checked;

    fn finding(info: &FindingInfo, message: &str) -> Finding {
        Finding {
            id: info.id,
            severity: info.severity,
            place: "p".to_owned(),
            message: message.to_owned(),
            source: None,
            fix: "f",
        }
    }

    fn shown(findings: Vec<Finding>, ignored: Vec<IgnoredFinding>) -> String {
        let judged = EvaluatedFindings {
            findings,
            ignored,
            unused_ignores: Vec::new(),
        };
        let review = Review {
            checked: Checked::Archive(Path::new("a&b.iso")),
            judged: &judged,
            notes: &[],
        };
        lines(&review).join("\n")
    }

    #[test]
    fn a_rule_that_refuses_fails_and_the_answer_with_it() {
        let found = [
            finding(&operator::YAML, "x"),
            finding(&operator::YAML, "y"),
            finding(&practice::LATEST, "z"),
        ];
        let ignored = IgnoredFinding {
            finding: finding(&practice::TEMPLATE, "t"),
            reason: Some("ours".parse().unwrap()),
            by: IgnoredBy::Policy,
        };
        let text = shown(found.into(), vec![ignored]);
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="solution" tests="4" failures="2" errors="0" skipped="1">
  <testsuite name="a&amp;b.iso" tests="4" failures="2" errors="0" skipped="1">
    <testcase classname="solution" name="accepted">
      <failure message="refused: 1 rule" type="error">
refused: 1 rule
      </failure>
    </testcase>
    <testcase classname="solution.operator" name="operator.yaml" file="a&amp;b.iso">
      <failure message="p: x (hint: f)" type="error">
p: x (hint: f)
p: y (hint: f)
      </failure>
    </testcase>
    <testcase classname="solution.practice" name="practice.latest" file="a&amp;b.iso">
      <system-out>
warning: p: z (hint: f)
      </system-out>
    </testcase>
    <testcase classname="solution.practice" name="practice.template" file="a&amp;b.iso">
      <skipped message="ignored (ours): p: t (hint: f)"/>
      <system-out>
ignored (ours): p: t (hint: f)
      </system-out>
    </testcase>
  </testsuite>
</testsuites>"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn what_is_clean_is_one_case_that_passes() {
        let text = shown(Vec::new(), Vec::new());
        assert!(text.contains(r#"tests="1" failures="0""#), "{text}");
        assert!(text.contains(r#"name="accepted"/>"#), "{text}");
    }

    #[test]
    fn no_text_ends_an_element_or_is_no_xml() {
        let text = escaped("]]></failure>\"'&\u{1b}\u{0}\n\u{85}\u{ffff}\u{fffe}é漢");
        assert!(!text.contains(['<', '>', '"', '\n', '\u{1b}', '\0', '\u{ffff}']));
        assert_eq!(escaped("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
        assert_eq!(escaped("\u{1b}é"), r"\u{1b}é");
    }
}
