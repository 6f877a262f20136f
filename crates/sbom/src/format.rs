//! The forms of SBOMs, and what each is called where.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// A form of SBOMs. Both are written as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SbomFormat {
    /// SPDX.
    Spdx,
    /// CycloneDX.
    CycloneDx,
}

impl SbomFormat {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Spdx, Self::CycloneDx];

    /// The media type, which is the type of the artifact that carries one too.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Spdx => "application/spdx+json",
            Self::CycloneDx => "application/vnd.cyclonedx+json",
        }
    }

    /// Returns the form with this media type. cosign has another name for one of them.
    #[must_use]
    pub(crate) fn of_media_type(text: &str) -> Option<Self> {
        if text == "text/spdx+json" {
            return Some(Self::Spdx);
        }
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.media_type() == text)
    }

    /// The name that syft has for it.
    pub(crate) const fn output(self) -> &'static str {
        match self {
            Self::Spdx => "spdx-json",
            Self::CycloneDx => "cyclonedx-json",
        }
    }

    /// The name of a file with one.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::Spdx => "sbom.spdx.json",
            Self::CycloneDx => "sbom.cdx.json",
        }
    }
}

impl fmt::Display for SbomFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spdx => "SPDX",
            Self::CycloneDx => "CycloneDX",
        })
    }
}
