//! Choosing by platform. Digests never change on the way to the site, so an index is taken whole, or one of its
//! manifests is taken instead of it; a part of an index would be another index.

use schemas::{Descriptor, Platform};

use crate::check::list;
use crate::source::SourceError;

/// What a choice of platforms means for an index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Choice<'a> {
    /// The index with all it has.
    Whole,
    /// This child becomes the image.
    Child(&'a Descriptor),
}

/// The first of these texts that is not `os/architecture[/variant]`.
pub(crate) fn not_a_platform(texts: &[String]) -> Option<&str> {
    texts
        .iter()
        .map(String::as_str)
        .find(|text| parse(text).is_none())
}

fn parse(text: &str) -> Option<Platform> {
    let mut parts = text.split('/');
    let mut part = || {
        let word = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_')
        };
        parts
            .next()
            .map(|part| (!part.is_empty() && part.bytes().all(word)).then(|| part.to_owned()))
    };
    let (os, architecture) = (part()??, part()??);
    let variant = match part() {
        Some(variant) => Some(variant?),
        None => None,
    };
    part().is_none().then_some(Platform {
        os,
        architecture,
        variant,
    })
}

/// Whether a platform is what a text asks for. Without a variant every variant is, since indexes differ in whether
/// they say `linux/arm64` or `linux/arm64/v8`.
fn is_wanted(platform: &Platform, wanted: &str) -> bool {
    parse(wanted).is_some_and(|wanted| {
        wanted.os == platform.os
            && wanted.architecture == platform.architecture
            && (wanted.variant.is_none() || wanted.variant == platform.variant)
    })
}

/// The platform of an index's child. Attestations of a build are children too, of the platform `unknown/unknown`.
fn platform(child: &Descriptor) -> Option<&Platform> {
    child
        .platform
        .as_ref()
        .filter(|platform| platform.os != "unknown")
}

/// Chooses among the children of an index.
pub(crate) fn choose<'a>(
    children: &'a [Descriptor],
    wanted: &[String],
) -> Result<Choice<'a>, SourceError> {
    if wanted.is_empty() {
        return Ok(Choice::Whole);
    }
    let available: Vec<(&Descriptor, &Platform)> = children
        .iter()
        .filter_map(|child| platform(child).map(|platform| (child, platform)))
        .collect();
    let names: Vec<&Platform> = available.iter().map(|(_, platform)| *platform).collect();
    check(&names, wanted)?;
    let (chosen, left): (Vec<_>, Vec<_>) = available
        .iter()
        .partition(|(_, platform)| wanted.iter().any(|wanted| is_wanted(platform, wanted)));
    match (chosen.as_slice(), left.is_empty()) {
        ([(child, _)], _) => Ok(Choice::Child(child)),
        (_, true) => Ok(Choice::Whole),
        (chosen, false) => {
            let chosen: Vec<&Platform> = chosen.iter().map(|(_, platform)| *platform).collect();
            Err(SourceError::Subset {
                chosen: list(&chosen),
                available: list(&names),
            })
        }
    }
}

/// Refuses a wanted platform that is not available.
pub(crate) fn check(available: &[&Platform], wanted: &[String]) -> Result<(), SourceError> {
    let missing = wanted
        .iter()
        .find(|wanted| !available.iter().any(|platform| is_wanted(platform, wanted)));
    missing.map_or(Ok(()), |wanted| {
        Err(SourceError::NoSuchPlatform {
            wanted: wanted.clone(),
            available: list(available),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(number: u8, platform: &str) -> Descriptor {
        Descriptor {
            media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
            digest: schemas::Digest::new([number; 32]),
            size: 1,
            platform: parse(platform),
            urls: Vec::new(),
        }
    }

    fn chosen(children: &[Descriptor], wanted: &[&str]) -> Result<Option<u8>, String> {
        let wanted: Vec<String> = wanted.iter().map(|text| (*text).to_owned()).collect();
        match choose(children, &wanted) {
            Ok(Choice::Whole) => Ok(None),
            Ok(Choice::Child(child)) => Ok(Some(child.digest.as_bytes()[0])),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn one_platform_is_one_manifest_and_all_are_the_index() {
        let children = [
            child(1, "linux/amd64"),
            child(2, "linux/arm64/v8"),
            child(3, "linux/arm/v6"),
            child(4, "linux/arm/v7"),
            child(5, "unknown/unknown"),
        ];
        assert_eq!(chosen(&children, &[]), Ok(None));
        assert_eq!(chosen(&children, &["linux/amd64"]), Ok(Some(1)));
        assert_eq!(chosen(&children, &["linux/arm64"]), Ok(Some(2)));
        assert_eq!(chosen(&children, &["linux/arm/v7"]), Ok(Some(4)));
        let all = ["linux/amd64", "linux/arm64", "linux/arm"];
        assert_eq!(chosen(&children, &all), Ok(None));
        let some = chosen(&children, &all[..2]).unwrap_err();
        assert!(
            some.starts_with("taking `linux/amd64`, `linux/arm64/v8` out of `linux/amd64`"),
            "{some}"
        );
        assert!(some.contains("cannot be done yet"), "{some}");
        assert!(
            chosen(&children, &["linux/arm"])
                .unwrap_err()
                .contains("out of")
        );
        let missing = chosen(&children, &["linux/amd64", "linux/s390x"]).unwrap_err();
        assert!(
            missing.starts_with("has no platform `linux/s390x`; it has: `linux/amd64`"),
            "{missing}"
        );
        assert!(chosen(&children, &["unknown/unknown"]).is_err());
    }
}
