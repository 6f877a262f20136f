//! Platforms of images: as documents declare them ([`Platform`]), and as users request them ([`WantedPlatform`]). A
//! request without a variant accepts every variant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::NameError;
use crate::name::text_traits;
use crate::pattern;

/// The platform of an image (image specification, "Image Index"), in any terms that the publisher chose.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Platform {
    /// The operating system: `linux`, …
    pub os: String,
    /// The architecture: `amd64`, `arm64`, …
    pub architecture: String,
    /// The variant: `v8`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl Platform {
    /// Returns whether the platform is known. The attestations of a build are listed for `unknown/unknown`.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.os != "unknown"
    }

    /// Returns whether two platforms are equal except for the variant. Indexes and configurations of one image differ
    /// in whether they declare a variant.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.os == other.os && self.architecture == other.architecture
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        let mut variant = self.variant.iter();
        variant.try_for_each(|variant| write!(f, "/{variant}"))
    }
}

/// A requested platform, `os/architecture[/variant]`. Each part consists of lower-case letters, digits, `.`, `-` and
/// `_`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedPlatform(Platform);

impl WantedPlatform {
    /// Returns whether a platform meets the request. A request without a variant accepts all variants, because indexes
    /// differ in whether they declare `linux/arm64` or `linux/arm64/v8`.
    #[must_use]
    pub fn accepts(&self, platform: &Platform) -> bool {
        let Self(wanted) = self;
        wanted.is_like(platform) && (wanted.variant.is_none() || wanted.variant == platform.variant)
    }
}

impl FromStr for WantedPlatform {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let byte = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_')
        };
        let is_word = |part: &&str| !part.is_empty() && part.bytes().all(byte);
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            [os, architecture, ref variant @ ..]
                if variant.len() < 2 && parts.iter().all(is_word) =>
            {
                Ok(Self(Platform {
                    os: os.to_owned(),
                    architecture: architecture.to_owned(),
                    variant: variant.first().map(ToString::to_string),
                }))
            }
            _ => Err(NameError::new(
                "platform",
                text,
                "os/architecture[/variant]",
            )),
        }
    }
}

impl fmt::Display for WantedPlatform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text_traits!(
    WantedPlatform,
    "os/architecture[/variant]",
    pattern::PLATFORM
);

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> WantedPlatform {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_no_platform_cannot_be_asked_for() {
        for text in ["linux/amd64", "linux/arm/v7", "a.b/c-d/e_1"] {
            assert_eq!(wanted(text).to_string(), text);
        }
        for text in [
            "",
            "linux",
            "linux/",
            "/amd64",
            "linux/arm/",
            "linux/arm/v7/x",
            "Linux/amd64",
            "linux amd64",
        ] {
            assert!(text.parse::<WantedPlatform>().is_err(), "{text}");
        }
    }

    #[test]
    fn without_a_variant_every_variant_is_taken() {
        let arm = |variant: Option<&str>| Platform {
            os: "linux".to_owned(),
            architecture: "arm64".to_owned(),
            variant: variant.map(str::to_owned),
        };
        for (asked, none, v8, v9) in [
            ("linux/arm64", true, true, true),
            ("linux/arm64/v8", false, true, false),
            ("linux/amd64", false, false, false),
            ("windows/arm64", false, false, false),
        ] {
            let takes =
                [None, Some("v8"), Some("v9")].map(|variant| wanted(asked).accepts(&arm(variant)));
            assert_eq!(takes, [none, v8, v9], "{asked}");
        }
    }
}
