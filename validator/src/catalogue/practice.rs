//! Findings of the group `practice`: what works but is better done otherwise.

use super::FindingInfo;

pub(crate) const LATEST: FindingInfo = FindingInfo::warning(
    "practice.latest",
    "an image has the tag `latest`, which says nothing about its content",
    "give the image the tag of its version",
);
pub(crate) const NESTED_NAME: FindingInfo = FindingInfo::warning(
    "practice.nested-name",
    "an image's name has several components; upstream's import reads only one",
    "use one component if the archive is also for upstream's import",
);
pub(crate) const DISPLAY_NAME: FindingInfo = FindingInfo::warning(
    "practice.display-name",
    "the manifest has no display name",
    "add the annotation solutions.metalk8s.scality.com/display-name",
);
pub(crate) const TEMPLATE: FindingInfo = FindingInfo::warning(
    "practice.template",
    "a file holds `{{`, `{%` or `{#`, which upstream's import runs as a template",
    "reword the text if the archive is also for upstream's import",
);
