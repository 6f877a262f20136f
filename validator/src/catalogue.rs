//! Every finding that there is. Checks name these constants, documentation and tests read [`FINDINGS`].

pub(crate) mod container;
pub(crate) mod images;
pub(crate) mod integrity;
pub(crate) mod manifest;
pub(crate) mod operator;
pub(crate) mod practice;
pub(crate) mod signature;

use serde::Serialize;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The archive is refused.
    Error,
    /// The archive is accepted; somebody should know.
    Warning,
}

/// What all findings with one id have in common. [`FINDINGS`] is the list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingInfo {
    /// `<group>.<name>`; never changes its meaning once released.
    pub id: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// What it means, in one line.
    pub summary: &'static str,
    /// What to do about it, in one line.
    pub fix: &'static str,
}

impl FindingInfo {
    pub(crate) const fn error(id: &'static str, summary: &'static str, fix: &'static str) -> Self {
        Self {
            id,
            severity: Severity::Error,
            summary,
            fix,
        }
    }

    pub(crate) const fn warning(
        id: &'static str,
        summary: &'static str,
        fix: &'static str,
    ) -> Self {
        Self {
            id,
            severity: Severity::Warning,
            summary,
            fix,
        }
    }

    /// The part of the id before the dot: `container`, `signature`, `integrity`, `manifest`, `images`, `operator` or
    /// `practice`.
    #[must_use]
    pub fn group(&self) -> &'static str {
        self.id.split('.').next().unwrap_or_default()
    }
}

/// Every finding, in the order in which reports list them. Ids are stable.
pub const FINDINGS: &[FindingInfo] = &[
    container::NOT_ISO,
    container::FOREIGN,
    container::TRUNCATED,
    container::TOO_LARGE,
    container::METADATA,
    container::LAYOUT,
    container::LIST,
    container::UNDECLARED,
    signature::ENVELOPE,
    signature::UNSIGNED,
    signature::UNTRUSTED,
    signature::THRESHOLD,
    signature::INVALID,
    signature::STATEMENT,
    signature::DETACHED,
    signature::SKIPPED,
    signature::ALLOWED,
    signature::EXPIRED,
    integrity::LIST,
    integrity::DAMAGED,
    manifest::MISSING,
    manifest::YAML,
    manifest::KIND,
    manifest::ID,
    manifest::IDENTITY,
    manifest::IMAGE_ABSENT,
    manifest::IMAGE_UNLISTED,
    manifest::IMAGE_REPEATED,
    manifest::OPERATOR_IMAGE,
    manifest::EXPANSION,
    manifest::VARIABLE,
    manifest::RELATED_IMAGE,
    images::PLACE,
    images::DOCUMENT,
    images::FOREIGN,
    images::NESTING,
    images::EMPTY,
    images::MISSING,
    images::SIZE,
    images::MEDIA_TYPE,
    images::CONFIG,
    images::PLATFORM,
    images::INDEX,
    images::INCOMPLETE,
    images::DIFFERS,
    images::UNREFERENCED,
    images::BUDGET,
    operator::UNEXPECTED,
    operator::IGNORED,
    operator::BUDGET,
    operator::YAML,
    operator::CRD_COUNT,
    operator::CRD_KIND,
    operator::CRD_SHAPE,
    operator::CRD_GROUP,
    operator::CRD_NAME,
    operator::CRD_VERSIONS,
    operator::CRD_CONVERSION,
    operator::CRD_REPEATED,
    operator::CRD_METADATA,
    operator::ROLE_KIND,
    operator::ROLE_NAME,
    operator::ROLE_RULES,
    operator::WILDCARD,
    operator::DANGEROUS_RULE,
    operator::CLUSTER_RULE,
    practice::LATEST,
    practice::NESTED_NAME,
    practice::DISPLAY_NAME,
    practice::TEMPLATE,
];
