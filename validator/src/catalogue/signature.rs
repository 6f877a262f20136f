//! Findings of the group `signature`: who vouches for the archive.

use super::FindingInfo;

pub(crate) const ENVELOPE: FindingInfo = FindingInfo::error(
    "signature.envelope",
    "the envelope around the signed statement is malformed",
    "copy the archive again from the source; if it fails again, treat it as tampering",
);
pub(crate) const UNSIGNED: FindingInfo = FindingInfo::error(
    "signature.unsigned",
    "nobody has signed the archive",
    "ask the publisher for a signed archive; for tests, allow this one unsigned archive by its id",
);
pub(crate) const UNTRUSTED: FindingInfo = FindingInfo::error(
    "signature.untrusted",
    "no trusted key has signed the archive",
    "get the publisher's public key through another channel than the archive, and add it to the trusted keys",
);
pub(crate) const THRESHOLD: FindingInfo = FindingInfo::error(
    "signature.threshold",
    "fewer trusted keys have signed than are required",
    "ask the missing key holders to run `solution sign`",
);
pub(crate) const INVALID: FindingInfo = FindingInfo::error(
    "signature.invalid",
    "a signature in the name of a trusted key is not by that key",
    "do not use the archive: copy it again from the source; if it fails again, treat it as tampering",
);
pub(crate) const STATEMENT: FindingInfo = FindingInfo::error(
    "signature.statement",
    "what was signed is not the statement of an archive",
    "ask the publisher for an archive made by `solution pack`",
);
pub(crate) const DETACHED: FindingInfo = FindingInfo::error(
    "signature.detached",
    "signatures beside the archive do not fit it",
    "remove the file with the signatures, or get the one that belongs to this archive",
);
pub(crate) const SKIPPED: FindingInfo = FindingInfo::warning(
    "signature.skipped",
    "signatures were not checked: nobody vouches for the archive",
    "check again with the publisher's public key",
);
pub(crate) const ALLOWED: FindingInfo = FindingInfo::warning(
    "signature.allowed-unsigned",
    "the archive is unsigned, and was allowed by its id: nobody vouches for it",
    "ask the publisher for a signed archive",
);
pub(crate) const EXPIRED: FindingInfo = FindingInfo::warning(
    "signature.expired",
    "the publisher wanted the archive to be used only until a time that has passed",
    "ask the publisher for a newer version",
);
