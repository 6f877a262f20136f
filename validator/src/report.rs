//! The report of a check, and the only way from it to an archive that may be used.

use schemas::{Digest, KeyId, SolutionName, Version};
use serde::Serialize;

use crate::accepted::Accepted;
use crate::finding::{Finding, Severity};

/// What a check says of an archive as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No errors, and trusted keys vouch for the archive, or it was allowed by its id.
    Accepted,
    /// No errors, but signatures were not checked.
    Unvouched,
    /// At least one error.
    Refused,
}

/// What is known of an archive. Fields are none as long as nothing that is signed says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The path that was checked.
    pub archive: String,
    /// SHA-256 of the signed statement.
    pub archive_id: Option<Digest>,
    /// The Solution's name.
    pub solution: Option<SolutionName>,
    /// The Solution's version.
    pub version: Option<Version>,
    /// The trusted keys whose signatures verified, sorted.
    pub signers: Vec<KeyText>,
    /// Bytes of the image.
    pub size: Option<u64>,
    /// Files in the archive.
    pub files: Option<usize>,
    /// Images in the archive.
    pub images: Option<usize>,
}

/// A key id, written as its hexadecimal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyText(pub KeyId);

impl Serialize for KeyText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// What was found. As JSON: the fields of [`Summary`], then `findings` and `verdict`; fields are added, never changed.
#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(flatten)]
    summary: Summary,
    findings: Vec<Finding>,
    verdict: Verdict,
    #[serde(skip)]
    accepted: Option<Box<Accepted>>,
}

impl Report {
    /// A report of an archive that is refused, or for which nobody vouches.
    pub(crate) fn new(summary: Summary, findings: Vec<Finding>) -> Self {
        Self {
            verdict: if has_errors(&findings) {
                Verdict::Refused
            } else {
                Verdict::Unvouched
            },
            summary,
            findings,
            accepted: None,
        }
    }

    /// With the proof, which the report keeps only when there is no error.
    pub(crate) fn vouched(mut self, accepted: Accepted) -> Self {
        if self.verdict == Verdict::Unvouched {
            self.verdict = Verdict::Accepted;
            self.accepted = Some(Box::new(accepted));
        }
        self
    }

    /// What is known of the archive.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What is wrong, in the order of [`crate::FINDINGS`].
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The answer.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The archive, for use. Gives the report back unless the verdict is [`Verdict::Accepted`].
    pub fn accept(mut self) -> Result<Accepted, Box<Self>> {
        match self.accepted.take() {
            Some(accepted) => Ok(*accepted),
            None => Err(Box::new(self)),
        }
    }
}

fn has_errors(findings: &[Finding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
}
