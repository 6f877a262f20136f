//! The report of a check, and the only way from it to an archive that may be used.

use std::path::Path;

use rules::catalogue::Severity;
use schemars::JsonSchema;
use schemas::{Digest, KeyId, KubernetesName, SolutionName, Version};
use serde::Serialize;

use crate::accepted::Accepted;
use crate::finding::Finding;

/// What a check says of an archive as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Verdict")]
pub enum ArchiveVerdict {
    /// No errors, and trusted keys vouch for the archive, or it was allowed by its id.
    Accepted,
    /// No errors, but signatures were not checked.
    Unvouched,
    /// At least one error.
    Refused,
}

/// What is known of an archive. Fields are none as long as nothing that is signed says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    pub signers: Vec<KeyId>,
    /// By what the signatures were judged; null if they were not.
    pub judged: Option<SignatureRule>,
    /// Bytes of the image.
    pub size: Option<u64>,
    /// Bytes of a block device behind the end of the image; they are never read.
    pub bytes_behind: u64,
    /// Files in the archive.
    pub files: Option<usize>,
    /// Images in the archive, without what refers to others.
    pub images: Option<usize>,
    /// Signatures and other referrers of these, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub referrers: Option<usize>,
    /// Whether the archive includes the program `helm`, which the site needs for its charts; missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm_included: Option<bool>,
}

/// By what the signatures of an archive were judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Judged")]
pub struct SignatureRule {
    /// The site's policy; null for keys that were given for this one check.
    pub policy: Option<KubernetesName>,
    /// How many keys count.
    pub keys: usize,
    /// How many of them must have signed.
    pub threshold: usize,
}

/// What a check says of an archive.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    #[serde(flatten)]
    summary: Summary,
    /// What was found.
    findings: Vec<Finding>,
    /// Whether the archive is accepted.
    verdict: ArchiveVerdict,
    #[serde(skip)]
    accepted: Option<Box<Accepted>>,
}

impl Report {
    /// A report; the proof is kept only when there is no error.
    pub(crate) fn new(
        summary: Summary,
        findings: Vec<Finding>,
        accepted: Option<Accepted>,
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

    /// Returns what is known of the archive.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the findings, in the order of [`rules::catalogue::FINDINGS`].
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The answer.
    #[must_use]
    pub fn verdict(&self) -> ArchiveVerdict {
        self.verdict
    }

    /// The archive, for use. Gives the report back unless the verdict is [`ArchiveVerdict::Accepted`].
    pub fn accept(mut self) -> Result<Accepted, Box<Self>> {
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
