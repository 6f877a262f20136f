//! Findings of the group `images`: `images/`, `blobs/` and what is derived from them.

use super::FindingInfo;

pub(crate) const PLACE: FindingInfo = FindingInfo::error(
    "images.place",
    "an image does not lie at images/NAME/TAG, or lies inside another",
    "correct the image's name or tag in solution.yaml and pack again",
);
pub(crate) const DOCUMENT: FindingInfo = FindingInfo::error(
    "images.document",
    "an image manifest or index cannot be read",
    "build the image with another tool, or push it to a registry and pack it from there",
);
pub(crate) const FOREIGN: FindingInfo = FindingInfo::error(
    "images.foreign",
    "an image has content that lies elsewhere (`urls`), where a site without internet cannot reach it",
    "rebuild the image so that it contains all its layers",
);
pub(crate) const NESTING: FindingInfo = FindingInfo::error(
    "images.nesting",
    "indexes are nested too deeply",
    "flatten the index",
);
pub(crate) const EMPTY: FindingInfo = FindingInfo::error(
    "images.empty",
    "an index has no manifest: there is nothing to run",
    "check the chosen platforms of the image in solution.yaml",
);
pub(crate) const MISSING: FindingInfo = FindingInfo::error(
    "images.missing",
    "an image refers to a content that is not in the archive",
    "make the archive again from a complete source",
);
pub(crate) const SIZE: FindingInfo = FindingInfo::error(
    "images.size",
    "an image refers to a content with another size than it has",
    "build the image again; its manifest is wrong",
);
pub(crate) const MEDIA_TYPE: FindingInfo = FindingInfo::error(
    "images.media-type",
    "an index calls a document by another media type than the document itself",
    "build the image again; its index is wrong",
);
pub(crate) const CONFIG: FindingInfo = FindingInfo::error(
    "images.config",
    "an image's configuration cannot be read, or does not fit its layers",
    "build the image again; its configuration is wrong",
);
pub(crate) const PLATFORM: FindingInfo = FindingInfo::warning(
    "images.platform",
    "an index gives an image for another platform than its configuration says",
    "build the image for the platform that it is listed for",
);
pub(crate) const INDEX: FindingInfo = FindingInfo::error(
    "images.index",
    "index.json is missing or cannot be read",
    "make the archive again with `solution pack`",
);
pub(crate) const INCOMPLETE: FindingInfo = FindingInfo::error(
    "images.incomplete",
    "a file that follows from the images is missing",
    "make the archive again with `solution pack`",
);
pub(crate) const DIFFERS: FindingInfo = FindingInfo::error(
    "images.differs",
    "a file is not what follows from the images",
    "make the archive again with `solution pack`",
);
pub(crate) const UNREFERENCED: FindingInfo = FindingInfo::error(
    "images.unreferenced",
    "a file belongs to no image: nothing may hide in an archive",
    "make the archive again with `solution pack`",
);
pub(crate) const BUDGET: FindingInfo = FindingInfo::error(
    "images.budget",
    "the images' documents are more than can be checked",
    "split the Solution into several",
);
