//! How findings are judged: as it was asked for, and by a policy, which is named or lies beside the sources; and how what
//! comes of it is told, to people and to review tools.

use std::path::{Path, PathBuf};

use schemas::{StatementTime, limits};
use validator::{Finding, IgnoreUnused, IgnoredBy, JudgedFindings, Judging, UnusedIgnore};

use super::words;
use crate::args::{FindingsArguments, Format, Output, ReportFiles};
use crate::failure::{self, Failure, Outcome};
use crate::render;
use crate::review::{self, Checked, Review};

/// The policy beside `solution.yaml`.
const BESIDE: &str = "solution.policy.yaml";

/// How findings are judged and shown.
#[derive(Debug)]
pub(crate) struct AskedJudging {
    judging: Judging,
    policy: Option<PathBuf>,
    format: Format,
    reports: ReportFiles,
}

impl AskedJudging {
    /// What was asked for, with the policy that is named, else with the one in the directory with `solution.yaml`.
    pub(crate) fn read(
        arguments: &FindingsArguments,
        sources: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut asked = Self {
            judging: Judging::default(),
            policy: None,
            format: arguments.format,
            reports: arguments.reports.clone(),
        };
        review::remove_earlier(&asked.reports)?;
        for word in &arguments.select {
            asked
                .judging
                .select(word)
                .map_err(failure::misjudged("--select"))?;
        }
        // What is asked for now goes before what a policy says of every time.
        for ignored in arguments.ignore.iter().cloned() {
            let ignored = asked.judging.ignore(ignored.id, ignored.reason);
            ignored.map_err(failure::misjudged("--ignore"))?;
        }
        let beside = sources.filter(|directory| directory.is_dir());
        let beside = beside.map(|directory| directory.join(BESIDE));
        let named = arguments.findings_policy.clone();
        let is_named = named.is_some();
        if let Some(path) = named.or(beside) {
            match files::read(&path, limits::MANIFEST_SIZE) {
                Err(error) if error.is_missing() && !is_named => {}
                Err(error) if error.is_missing() => {
                    return Err(Failure::new(Outcome::Usage, error));
                }
                bytes => asked.add_policy(path, &bytes?)?,
            }
        }
        Ok(asked)
    }

    fn add_policy(&mut self, path: PathBuf, bytes: &[u8]) -> Result<(), Failure> {
        let added = self.judging.add_policy(bytes);
        added.map_err(|error| failure::findings_policy(&path, error))?;
        self.policy = Some(path);
        Ok(())
    }

    /// The judging, for who judges what is not written yet.
    pub(crate) fn judging(&self) -> Judging {
        self.judging.clone()
    }

    /// Judges what was found.
    pub(crate) fn judge(&self, findings: &[Finding], now: StatementTime) -> JudgedFindings {
        self.judging.judge(findings, now)
    }

    /// Tells what was found, if a person reads.
    pub(crate) fn tell(&self, judged: &JudgedFindings, output: Output) {
        words::talk(&judged.findings, output);
        if output == Output::Human {
            render::notes("note: ", self.notes(judged));
        }
    }

    /// Gives what was found to review tools.
    pub(crate) fn review(
        &self,
        checked: Checked<'_>,
        judged: &JudgedFindings,
    ) -> Result<(), Failure> {
        let notes = self.notes(judged);
        let review = Review {
            checked,
            judged,
            notes: &notes,
        };
        review.give(self.format, &self.reports)
    }

    /// How many findings are ignored, and what is not that was to be.
    fn notes(&self, judged: &JudgedFindings) -> Vec<String> {
        let both = [IgnoredBy::Policy, IgnoredBy::Request].into_iter();
        let counts = both.filter_map(|by| {
            let count = judged.ignored.iter().filter(|it| it.by == by).count();
            let found = render::count(count, "finding");
            (count > 0).then(|| format!("{found} ignored by {}", self.name(by)))
        });
        let unused = judged.unused_ignores.iter().map(|it| self.unused(it));
        counts.chain(unused).collect()
    }

    fn unused(&self, unused: &UnusedIgnore) -> String {
        let (by, id) = (self.name(unused.by), &unused.ignore.id);
        let place = unused.ignore.place.as_ref();
        let place = place.map(|it| format!(" in `{it}`")).unwrap_or_default();
        match (unused.why, unused.ignore.expires) {
            (IgnoreUnused::Expired, Some(last)) => {
                format!(
                    "{by} ignored `{id}`{place} until {last}; this has expired, so it is reported again"
                )
            }
            (IgnoreUnused::Expired | IgnoreUnused::NotFound, _) => {
                format!("{by} ignores `{id}`{place}, but there is no such finding")
            }
        }
    }

    fn name(&self, by: IgnoredBy) -> String {
        match (by, &self.policy) {
            (IgnoredBy::Policy, Some(path)) => path.display().to_string(),
            _ => "--ignore".to_owned(),
        }
    }
}
