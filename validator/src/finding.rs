//! Findings: the problems of an archive, or of its source files, as values. [`Findings`] collects them, limits their
//! number and length, makes untrusted text printable, and sorts them by the catalogue. [`Finding`] is part of the JSON
//! output.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use schemas::{printable, printable_within};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits;
use rules::Problem;
use rules::catalogue::{FINDINGS, FindingInfo, Severity, advice};

/// The place of a finding in the source files of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourcePlace {
    /// The file, relative to the directory of `solution.yaml`.
    pub file: String,
    /// The line in it, from 1.
    pub line: Option<u32>,
    /// The column in that line, from 1, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The id, which `solution explain` describes.
    pub id: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The path in the archive, with the place inside the file; empty for the archive as a whole.
    pub place: String,
    /// The problem, in one line.
    pub message: String,
    /// The place in the source tree, if one was validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourcePlace>,
    /// The fix, in one line.
    pub fix: &'static str,
}

impl Finding {
    /// Creates a finding without a source place. The texts are made printable and cut to [`limits::TEXT`] characters.
    #[must_use]
    pub fn new(info: &FindingInfo, place: impl fmt::Display, message: impl fmt::Display) -> Self {
        Self {
            id: info.id,
            severity: info.severity,
            place: printable_within(&place.to_string(), limits::TEXT),
            message: printable_ends(&message.to_string(), limits::TEXT),
            source: None,
            fix: info.fix,
        }
    }
}

/// Returns a text in [`printable`] form. If it has more than `characters` characters, `…` replaces its middle.
fn printable_ends(text: &str, characters: usize) -> String {
    let count = text.chars().count();
    if count <= characters {
        return printable(text).into_owned();
    }
    let tail = characters / 2;
    let end = text.char_indices().nth(count - tail);
    let end = end.map_or("", |(at, _)| &text[at..]);
    printable_within(text, characters - tail) + &printable(end)
}

/// The serialised form of a finding.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFinding {
    id: String,
    severity: Severity,
    place: String,
    message: String,
    #[serde(default)]
    source: Option<SourcePlace>,
    fix: String,
}

impl<'de> Deserialize<'de> for Finding {
    /// Reads a finding of a known kind. Its id and fix must be those of the catalogue, so a finding that another
    /// version wrote with different text is rejected.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenFinding::deserialize(deserializer)?;
        let mut known = FINDINGS.iter().copied().chain(advice::infos());
        let info = known.find(|info| (info.id, info.fix) == (&*written.id, &*written.fix));
        let info = info.ok_or_else(|| {
            de::Error::custom(format_args!(
                "the finding `{}` is unknown, or has a different text in this version",
                written.id
            ))
        })?;
        Ok(Self {
            id: info.id,
            severity: written.severity,
            place: written.place,
            message: written.message,
            source: written.source,
            fix: info.fix,
        })
    }
}

/// A mapping from files in an archive to the source files that they were created from.
pub trait SourceMap: fmt::Debug + Send + Sync {
    /// Returns the source place of a file in the archive, or the place of the problem in it.
    fn place(&self, file: &str, problem: Option<&Problem>) -> Option<SourcePlace>;
}

/// A collection of findings. All text from outside is made printable and cut here, in one place.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    counts: BTreeMap<&'static str, usize>,
    tree: Option<Arc<dyn SourceMap>>,
}

impl Findings {
    /// Creates a collection for an archive that is created from this source tree.
    pub(crate) fn from_source(tree: Arc<dyn SourceMap>) -> Self {
        Self {
            tree: Some(tree),
            ..Self::default()
        }
    }

    /// Adds a finding. After [`limits::FINDINGS_PER_ID`] findings with the same id, it is only counted.
    pub(crate) fn add(
        &mut self,
        info: &FindingInfo,
        place: impl fmt::Display,
        message: impl fmt::Display,
    ) {
        let (place, tree) = (place.to_string(), self.tree.clone());
        let source = || tree.and_then(|tree| tree.place(&place, None));
        self.push(info, &place, message, source);
    }

    /// Adds a finding in a source tree. `source` is only called if the finding is kept.
    pub fn add_in(
        &mut self,
        info: &FindingInfo,
        source: impl FnOnce() -> SourcePlace,
        message: impl fmt::Display,
    ) {
        self.push(info, "", message, || Some(source()));
    }

    fn push(
        &mut self,
        info: &FindingInfo,
        place: &str,
        message: impl fmt::Display,
        source: impl FnOnce() -> Option<SourcePlace>,
    ) {
        let count = self.counts.entry(info.id).or_default();
        *count += 1;
        if *count <= limits::FINDINGS_PER_ID {
            let source = source().map(|place| SourcePlace {
                file: printable_within(&place.file, limits::TEXT),
                ..place
            });
            self.list.push(Finding {
                source,
                ..Finding::new(info, place, message)
            });
        }
    }

    /// Returns true if there are no findings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the findings in the order of [`FINDINGS`]. Findings with the same id keep their order; the last one
    /// states the number of omitted findings.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Finding> {
        for info in FINDINGS {
            let count = self.counts.get(info.id).copied().unwrap_or_default();
            let shown = self.list.iter().filter(|finding| finding.id == info.id);
            let more = count.saturating_sub(shown.count());
            if more > 0 {
                self.list.push(Finding {
                    id: info.id,
                    severity: info.severity,
                    place: String::new(),
                    message: format!("and {more} more"),
                    source: None,
                    fix: info.fix,
                });
            }
        }
        self.list.sort_by_key(|finding| position(finding.id));
        self.list
    }
}

fn position(id: &str) -> usize {
    FINDINGS
        .iter()
        .position(|info| info.id == id)
        .unwrap_or(FINDINGS.len())
}

/// An error and its causes in one line.
#[derive(Debug)]
pub struct ErrorChain<'a>(pub &'a dyn std::error::Error);

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// Adds the findings for problems of one file in an archive. Problems without a catalogue entry are skipped.
pub(crate) fn report(
    problems: impl IntoIterator<Item = Problem>,
    file: &str,
    findings: &mut Findings,
) {
    for problem in problems {
        if let Some(info) = problem.finding() {
            let tree = findings.tree.clone();
            let source = || tree.and_then(|tree| tree.place(file, Some(&problem)));
            findings.push(info, file, &problem, source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::catalogue::{container, integrity, operator};

    #[test]
    fn findings_come_in_the_order_of_the_catalogue_and_are_bounded() {
        let mut findings = Findings::default();
        findings.add(&operator::YAML, "b", "x");
        for index in 0..30 {
            findings.add(&integrity::DAMAGED, index, "y");
        }
        findings.add(&container::TRUNCATED, "", "z");
        let list = findings.into_sorted();
        assert_eq!(list.len(), 1 + 20 + 1 + 1);
        assert_eq!(list[0].id, "container.truncated");
        assert_eq!(list[1].place, "0");
        assert_eq!(list[21].message, "and 10 more");
        assert_eq!(list[22].id, "operator.yaml");
    }

    #[test]
    fn text_of_the_archive_commands_no_terminal() {
        let mut findings = Findings::default();
        findings.add(&operator::YAML, "a\x1b[2J", "b\nc\u{202e}d");
        findings.add(&operator::YAML, "", "é".repeat(1000));
        let [first, second] = &findings.into_sorted()[..] else {
            panic!("two were added");
        };
        assert_eq!(first.place, r"a\u{1b}[2J");
        assert_eq!(first.message, r"b\nc\u{202e}d");
        assert_eq!(second.message.chars().count(), limits::TEXT + 1);
    }

    #[test]
    fn a_long_message_keeps_its_beginning_and_its_end() {
        let message = format!("helm failed: {}: the reason", "x\n".repeat(1000));
        let finding = Finding::new(&operator::YAML, "", message);
        assert!(finding.message.starts_with("helm failed: x"));
        assert!(
            finding.message.ends_with(": the reason"),
            "{}",
            finding.message
        );
    }

    #[test]
    fn ids_are_unique_and_grouped() {
        let mut ids: Vec<&str> = FINDINGS.iter().map(|info| info.id).collect();
        let groups: Vec<&str> = FINDINGS.iter().map(FindingInfo::group).collect();
        let mut distinct = groups.clone();
        distinct.dedup();
        assert_eq!(
            distinct,
            [
                "source",
                "container",
                "signature",
                "integrity",
                "manifest",
                "images",
                "operator",
                "manifests",
                "charts",
                "programs",
                "practice",
                "vulnerabilities"
            ]
        );
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
