//! The report of a validation. [`Report::accept`] is the only way from a report to an [`AcceptedArchive`].

use std::path::Path;

use rules::catalogue::Severity;
use schemars::JsonSchema;
use schemas::{Digest, KeyId, KubernetesName, SolutionName, Version};
use serde::Serialize;

use crate::accepted::AcceptedArchive;
use crate::finding::Finding;

/// The verdict on an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Verdict")]
pub enum ArchiveVerdict {
    /// No errors, and the archive is signed by trusted keys or allowed by its id.
    Accepted,
    /// No errors, but signatures were not checked.
    Unvouched,
    /// At least one error.
    Refused,
}

/// The facts about an archive. A field is missing if no signed data states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The path of the archive.
    pub archive: String,
    /// SHA-256 of the signed statement.
    pub archive_id: Option<Digest>,
    /// The Solution's name.
    pub solution: Option<SolutionName>,
    /// The Solution's version.
    pub version: Option<Version>,
    /// The trusted keys with valid signatures, sorted.
    pub signers: Vec<KeyId>,
    /// The policy or keys that signatures were checked against; null if they were not checked.
    pub judged: Option<SignatureRule>,
    /// Bytes of the image.
    pub size: Option<u64>,
    /// Bytes of a block device after the end of the image; they are never read.
    pub bytes_behind: u64,
    /// Files in the archive.
    pub files: Option<usize>,
    /// Images in the archive, without referrers.
    pub images: Option<usize>,
    /// Signatures and other referrers, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub referrers: Option<usize>,
    /// Whether the archive includes the program `helm`, which the site needs for its charts; missing without charts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm_included: Option<bool>,
}

/// The policy or keys that signatures were checked against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Judged")]
pub struct SignatureRule {
    /// The site's policy; null for keys that were given for this validation.
    pub policy: Option<KubernetesName>,
    /// The number of trusted keys.
    pub keys: usize,
    /// The number of required signatures.
    pub threshold: usize,
}

/// The result of a validation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    #[serde(flatten)]
    summary: Summary,
    /// The findings.
    findings: Vec<Finding>,
    /// Whether the archive is accepted.
    verdict: ArchiveVerdict,
    #[serde(skip)]
    accepted: Option<Box<AcceptedArchive>>,
}

impl Report {
    /// Creates a report. It keeps the proof of acceptance only if there is no error.
    pub(crate) fn new(
        summary: Summary,
        findings: Vec<Finding>,
        accepted: Option<AcceptedArchive>,
    ) -> Self {
        let errors = findings
            .iter()
            .any(|finding| finding.severity == Severity::Error);
        let (verdict, accepted) = match accepted {
            _ if errors => (ArchiveVerdict::Refused, None),
            None => (ArchiveVerdict::Unvouched, None),
            Some(accepted) => (ArchiveVerdict::Accepted, Some(Box::new(accepted))),
        };
        Self {
            summary,
            findings,
            verdict,
            accepted,
        }
    }

    /// Returns the facts about the archive.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the findings, in the order of [`rules::catalogue::FINDINGS`].
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the verdict.
    #[must_use]
    pub fn verdict(&self) -> ArchiveVerdict {
        self.verdict
    }

    /// Returns the accepted archive. Returns the report unless the verdict is [`ArchiveVerdict::Accepted`].
    pub fn accept(mut self) -> Result<AcceptedArchive, Box<Self>> {
        match self.accepted.take() {
            Some(accepted) => Ok(*accepted),
            None => Err(Box::new(self)),
        }
    }
}

impl Summary {
    /// Returns the summary of an archive of which nothing but the path is known.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            archive: path.display().to_string(),
            archive_id: None,
            solution: None,
            version: None,
            signers: Vec::new(),
            judged: None,
            size: None,
            bytes_behind: 0,
            files: None,
            images: None,
            referrers: None,
            helm_included: None,
        }
    }
}
