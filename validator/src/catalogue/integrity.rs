//! Findings of the group `integrity`: whether the bytes are those that were signed.

use super::FindingInfo;

pub(crate) const LIST: FindingInfo = FindingInfo::error(
    "integrity.list",
    "the list of files is not the one that was signed",
    "copy the archive again from the source; if it fails again, treat it as tampering",
);
pub(crate) const DAMAGED: FindingInfo = FindingInfo::error(
    "integrity.damaged",
    "a file is not what was signed",
    "copy the archive again from the source; if it fails again, treat it as tampering",
);
