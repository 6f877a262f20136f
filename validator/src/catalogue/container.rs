//! Findings of the group `container`: the image itself, and what lies around the files.

use super::FindingInfo;

pub(crate) const NOT_ISO: FindingInfo = FindingInfo::error(
    "container.not-iso",
    "the file is not an ISO 9660 image",
    "check the path; if it is an archive that was copied, copy it again from the source",
);
pub(crate) const FOREIGN: FindingInfo = FindingInfo::error(
    "container.foreign",
    "the image was made by another tool, not by `solution pack`",
    "ask the publisher for an archive made by `solution pack`, or pack its content yourself and sign it",
);
pub(crate) const TRUNCATED: FindingInfo = FindingInfo::error(
    "container.truncated",
    "the end of the image is missing",
    "copy the archive again from the source and compare the sizes",
);
pub(crate) const TOO_LARGE: FindingInfo = FindingInfo::error(
    "container.too-large",
    "the file continues past the end of the image",
    "copy the archive again from the source; nothing may be appended to it",
);
pub(crate) const METADATA: FindingInfo = FindingInfo::error(
    "container.metadata",
    "bytes between the files are not those that follow from the signed list",
    "copy the archive again from the source; if it fails again, treat it as tampering",
);
pub(crate) const LAYOUT: FindingInfo = FindingInfo::error(
    "container.layout",
    "the archive needs something that this version of the tool does not know",
    "use a newer version of `solution`",
);
pub(crate) const LIST: FindingInfo = FindingInfo::error(
    "container.list",
    "the signed list of files does not describe an image",
    "the archive was not made by `solution pack`; ask the publisher for one that was",
);
pub(crate) const UNDECLARED: FindingInfo = FindingInfo::error(
    "container.undeclared",
    "a top-level name is neither part of the format nor declared as optional",
    "use a newer version of `solution`, or ask the publisher what the name is for",
);
