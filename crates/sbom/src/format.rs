//! The formats of SBOMs and their names: media types, syft's names and file names. Both formats are supported, because
//! tools of the field read one or the other.

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
    /// Both formats.
    pub const ALL: [Self; 2] = [Self::Spdx, Self::CycloneDx];

    /// Returns the media type, which is also the artifact type of a manifest with such an SBOM.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Spdx => "application/spdx+json",
            Self::CycloneDx => "application/vnd.cyclonedx+json",
        }
    }

    /// Returns the format with a media type. cosign uses another media type for SPDX.
    #[must_use]
    pub(crate) fn of_media_type(text: &str) -> Option<Self> {
        if text == "text/spdx+json" {
            return Some(Self::Spdx);
        }
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.media_type() == text)
    }

    /// Returns syft's name for the format.
    pub(crate) const fn output(self) -> &'static str {
        match self {
            Self::Spdx => "spdx-json",
            Self::CycloneDx => "cyclonedx-json",
        }
    }

    /// Returns the file name of such an SBOM.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_its_own_names() {
        let expected = [
            (
                SbomFormat::Spdx,
                [
                    "application/spdx+json",
                    "spdx-json",
                    "sbom.spdx.json",
                    "SPDX",
                ],
            ),
            (
                SbomFormat::CycloneDx,
                [
                    "application/vnd.cyclonedx+json",
                    "cyclonedx-json",
                    "sbom.cdx.json",
                    "CycloneDX",
                ],
            ),
        ];
        for (format, [media_type, output, file, name]) in expected {
            assert_eq!(format.media_type(), media_type);
            assert_eq!(format.output(), output);
            assert_eq!(format.file(), file);
            assert_eq!(format.to_string(), name);
        }
        assert_eq!(expected.map(|(format, _)| format), SbomFormat::ALL);
    }

    #[test]
    fn a_format_is_recognized_by_its_media_type() {
        for (media_type, expected) in [
            ("application/spdx+json", Some(SbomFormat::Spdx)),
            ("text/spdx+json", Some(SbomFormat::Spdx)),
            (
                "application/vnd.cyclonedx+json",
                Some(SbomFormat::CycloneDx),
            ),
            ("application/spdx+xml", None),
            ("text/spdx", None),
            ("application/vnd.cyclonedx", None),
            ("", None),
        ] {
            assert_eq!(
                SbomFormat::of_media_type(media_type),
                expected,
                "{media_type}"
            );
        }
    }
}
