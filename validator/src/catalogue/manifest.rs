//! Findings of the group `manifest`: `manifest.yaml`.

use super::FindingInfo;

pub(crate) const MISSING: FindingInfo = FindingInfo::error(
    "manifest.missing",
    "the archive has no manifest.yaml",
    "make the archive with `solution pack`",
);
pub(crate) const YAML: FindingInfo = FindingInfo::error(
    "manifest.yaml",
    "manifest.yaml cannot be read",
    "correct the field in solution.yaml and pack again",
);
pub(crate) const KIND: FindingInfo = FindingInfo::error(
    "manifest.kind",
    "manifest.yaml is not a `Solution` of a version that is known",
    "use apiVersion solutions.metalk8s.scality.com/v1alpha1 and kind Solution",
);
pub(crate) const ID: FindingInfo = FindingInfo::error(
    "manifest.id",
    "name and version of the Solution are too long together",
    "shorten the name or the version",
);
pub(crate) const IDENTITY: FindingInfo = FindingInfo::error(
    "manifest.identity",
    "the manifest names another Solution than the signed statement",
    "do not use the archive; make it again with `solution pack`",
);
pub(crate) const IMAGE_ABSENT: FindingInfo = FindingInfo::error(
    "manifest.image-absent",
    "an image of the manifest is not in the archive",
    "add the image to solution.yaml and pack again",
);
pub(crate) const IMAGE_UNLISTED: FindingInfo = FindingInfo::error(
    "manifest.image-unlisted",
    "an image of the archive is not in the manifest",
    "make the archive again with `solution pack`, which lists every image",
);
pub(crate) const IMAGE_REPEATED: FindingInfo = FindingInfo::error(
    "manifest.image-repeated",
    "the manifest lists an image twice",
    "list each image once",
);
pub(crate) const OPERATOR_IMAGE: FindingInfo = FindingInfo::error(
    "manifest.operator-image",
    "the operator's image is not among the Solution's images",
    "add it to spec.images, or correct spec.operator.image",
);
pub(crate) const EXPANSION: FindingInfo = FindingInfo::error(
    "manifest.expansion",
    "`$(image:NAME)` does not name exactly one image of the Solution",
    "write $(image:NAME) with the name of an image that has one tag",
);
pub(crate) const VARIABLE: FindingInfo = FindingInfo::error(
    "manifest.variable",
    "an environment variable has no usable name, or is given twice",
    "give each variable once, with a name without `=`",
);
pub(crate) const RELATED_IMAGE: FindingInfo = FindingInfo::error(
    "manifest.related-image",
    "a RELATED_IMAGE_ variable names an image that is not in the archive",
    "add the image, and write $(image:NAME) as the variable's value",
);
