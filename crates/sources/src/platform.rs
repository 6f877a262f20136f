//! Selection of platforms. The result for an index is the whole index, a single manifest, or a subset. For a subset, a
//! new index is created, which is the only case in which a digest differs from that of the source. The manifests in it
//! are unchanged.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemas::{Descriptor, Digest, Document, MediaType, Platform, WantedPlatform, list_quoted};
use serde_json::Value;

use crate::error::SourceError;

/// The annotation of a subset with the digest of the original index.
const SUBSET_OF: &str = "solutions.metalk8s.scality.com/subset-of";
/// The annotation of an attestation with the digest of its image, as `BuildKit` writes it.
const ABOUT: &str = "vnd.docker.reference.digest";

/// The result of selecting platforms of an index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PlatformChoice<'a> {
    /// The whole index is kept.
    Whole,
    /// The child becomes the image.
    Child(&'a Descriptor),
    /// A subset of the index with these children and their attestations becomes the image.
    Children(BTreeSet<Digest>),
}

/// Returns the platform of an index's child. Attestations of a build are children with the platform `unknown/unknown`.
fn platform(child: &Descriptor) -> Option<&Platform> {
    child
        .platform
        .as_ref()
        .filter(|platform| platform.is_known())
}

/// Selects children of an index.
pub(crate) fn choose<'a>(
    children: &'a [Descriptor],
    wanted: &[WantedPlatform],
) -> Result<PlatformChoice<'a>, SourceError> {
    if wanted.is_empty() {
        return Ok(PlatformChoice::Whole);
    }
    let available: Vec<(&Descriptor, &Platform)> = children
        .iter()
        .filter_map(|child| platform(child).map(|platform| (child, platform)))
        .collect();
    let names: Vec<&Platform> = available.iter().map(|(_, platform)| *platform).collect();
    check(&names, wanted)?;
    let (chosen, left): (Vec<_>, Vec<_>) = available
        .iter()
        .partition(|(_, platform)| wanted.iter().any(|wanted| wanted.accepts(platform)));
    match (chosen.as_slice(), left.is_empty()) {
        ([(child, _)], _) => Ok(PlatformChoice::Child(child)),
        (_, true) => Ok(PlatformChoice::Whole),
        (chosen, false) => {
            let digests = chosen.iter().map(|(child, _)| child.digest);
            Ok(PlatformChoice::Children(digests.collect()))
        }
    }
}

/// Returns the subset of an index with these children and their attestations. Its bytes depend only on the original:
/// all other fields are kept, fields are sorted, and there is no white space.
pub(crate) fn subset(whole: &Document, chosen: &BTreeSet<Digest>) -> (Digest, Vec<u8>) {
    let mut index: Value = serde_json::from_slice(&whole.bytes).unwrap_or_default();
    let is_chosen = |text: &Value| {
        let digest = text.as_str().and_then(|text| text.parse().ok());
        digest.is_some_and(|digest| chosen.contains(&digest))
    };
    if let Some(Value::Array(children)) = index.get_mut("manifests") {
        children
            .retain(|child| is_chosen(&child["digest"]) || is_chosen(&child["annotations"][ABOUT]));
    }
    // Docker's manifest lists have no annotations.
    if whole.media_type == MediaType::OciIndex {
        index["annotations"][SUBSET_OF] = Value::String(whole.digest.to_string());
    }
    let mut bytes = String::new();
    write_sorted(&index, &mut bytes);
    (files::digest(bytes.as_bytes()), bytes.into_bytes())
}

/// Writes JSON in a canonical form. The recursion is bounded, because strict JSON has a limited depth.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (number, (name, value)) in fields.into_iter().enumerate() {
                let comma = if number == 0 { "" } else { "," };
                write!(text, "{comma}{}:", Value::from(name.as_str()))
                    .expect("writing to a string cannot fail");
                write_sorted(value, text);
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for (number, value) in values.iter().enumerate() {
                text.push_str(if number == 0 { "" } else { "," });
                write_sorted(value, text);
            }
            text.push(']');
        }
        other => write!(text, "{other}").expect("writing to a string cannot fail"),
    }
}

/// Fails if a requested platform is not available.
pub(crate) fn check(available: &[&Platform], wanted: &[WantedPlatform]) -> Result<(), SourceError> {
    let missing = wanted
        .iter()
        .find(|wanted| !available.iter().any(|platform| wanted.accepts(platform)));
    missing.map_or(Ok(()), |wanted| {
        Err(SourceError::NoSuchPlatform {
            wanted: wanted.to_string(),
            available: list_quoted(available),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(number: u8, platform: &str) -> Descriptor {
        let mut parts = platform.split('/').map(str::to_owned);
        let mut part = || parts.next().unwrap();
        let (os, architecture) = (part(), part());
        Descriptor {
            media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
            digest: schemas::Digest::new([number; 32]),
            size: 1,
            platform: Some(Platform {
                os,
                architecture,
                variant: parts.next(),
            }),
            urls: Vec::new(),
        }
    }

    fn chosen(children: &[Descriptor], wanted: &[&str]) -> Result<Option<u8>, String> {
        let wanted: Vec<_> = wanted.iter().map(|text| text.parse().unwrap()).collect();
        match choose(children, &wanted) {
            Ok(PlatformChoice::Whole) => Ok(None),
            Ok(PlatformChoice::Child(child)) => Ok(Some(child.digest.as_bytes()[0])),
            Ok(PlatformChoice::Children(digests)) => {
                let numbers = digests
                    .iter()
                    .map(|digest| digest.as_bytes()[0].to_string());
                Err(numbers.collect::<Vec<_>>().join(" "))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn some_platforms_are_another_index() {
        let children = [
            child(1, "linux/amd64"),
            child(2, "linux/arm64/v8"),
            child(3, "linux/arm/v6"),
            child(4, "linux/arm/v7"),
        ];
        let of = |wanted: &[&str]| chosen(&children, wanted).unwrap_err();
        assert_eq!(of(&["linux/arm64", "linux/amd64"]), "1 2");
        assert_eq!(of(&["linux/arm"]), "3 4");
    }

    #[test]
    fn a_subset_keeps_all_but_the_children_that_are_left_out() {
        let digest = |number| schemas::Digest::new([number; 32]);
        let entry = |number, more: &str| {
            format!(
                r#"{{"size":1,"mediaType":"m","digest":"{}"{more}}}"#,
                digest(number)
            )
        };
        let about = |number| format!(r#","annotations":{{"{ABOUT}":"{}"}}"#, digest(number));
        let [one, two, three] = [
            entry(1, r#","x":[1,{"b":null,"a":true}]"#),
            entry(2, ""),
            entry(3, ""),
        ];
        let [of_one, of_two] = [entry(4, &about(1)), entry(5, &about(2))];
        let list = [one.as_str(), &two, &of_one, &of_two, &three].join(",");
        for (media_type, note) in [(MediaType::OciIndex, true), (MediaType::DockerList, false)] {
            let text = format!(
                "{{ \"schemaVersion\": 2, \"more\": \"\u{e9}\", \"manifests\": [{list}] }}"
            );
            let whole = Document {
                digest: digest(9),
                media_type,
                bytes: text.into_bytes().into(),
                needs: Vec::new(),
            };
            let (found, bytes) = subset(&whole, &[digest(1), digest(3)].into());
            let annotations = if note {
                format!(r#""annotations":{{"{SUBSET_OF}":"{}"}},"#, digest(9))
            } else {
                String::new()
            };
            let (first, second, third) = (digest(1), digest(4), digest(3));
            let expected = format!(
                r#"{{{annotations}"manifests":[{{"digest":"{first}","mediaType":"m","size":1,"x":[1,{{"a":true,"b":null}}]}},{{"annotations":{{"{ABOUT}":"{first}"}},"digest":"{second}","mediaType":"m","size":1}},{{"digest":"{third}","mediaType":"m","size":1}}],"more":"é","schemaVersion":2}}"#
            );
            assert_eq!(String::from_utf8(bytes).unwrap(), expected);
            assert_eq!(found, files::digest(expected.as_bytes()));
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
        let missing = chosen(&children, &["linux/amd64", "linux/s390x"]).unwrap_err();
        assert!(
            missing.starts_with("has no platform `linux/s390x`; it has: `linux/amd64`"),
            "{missing}"
        );
        assert!(chosen(&children, &["unknown/unknown"]).is_err());
    }
}
