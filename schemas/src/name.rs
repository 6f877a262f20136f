//! Checked names, such as [`SolutionName`] and [`ImageReference`]. One function parses each of them for `FromStr` and
//! for deserialization, so a value of the type proves that the name matches its grammar.

use std::fmt;
use std::str::FromStr;

use crate::digest::shorten;
use crate::path::is_component;
use crate::{Digest, limits, pattern};

/// The error of a text that is not a valid name of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {kind}: expected {grammar}")]
pub struct NameError {
    kind: &'static str,
    text: String,
    grammar: &'static str,
}

impl NameError {
    pub(crate) fn new(kind: &'static str, text: &str, grammar: &'static str) -> Self {
        Self {
            kind,
            text: shorten(text),
            grammar,
        }
    }
}

/// Implements `Serialize`, `Deserialize`, `Debug` and `JsonSchema` for a type with `FromStr` and `Display`. The pattern
/// is for editors. `FromStr` decides, and a test compares both.
macro_rules! text_traits {
    ($type:ident, $description:literal $(, $pattern:expr)?) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:?}", self.to_string())
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": $description,
                    $("pattern": $pattern,)?
                })
            }
        }
    };
}
pub(crate) use text_traits;

/// Defines a newtype over a text that `$valid` accepts. The text is parsed with or without a `$prefix`, which the value
/// never has.
macro_rules! checked_name {
    ($(#[$doc:meta])* $type:ident, $kind:literal, $grammar:literal, $valid:expr $(, $pattern:expr)? $(; without $prefix:literal)?) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(String);

        impl $type {
            /// Returns the text form.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl std::str::FromStr for $type {
            type Err = $crate::NameError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let valid: fn(&str) -> bool = $valid;
                $(let text = text.strip_prefix($prefix).unwrap_or(text);)?
                if valid(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err($crate::NameError::new($kind, text, $grammar))
                }
            }
        }
        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
        $crate::name::text_traits!($type, $grammar $(, $pattern)?);
    };
}

pub(crate) use checked_name;

/// Returns whether a text is an RFC 1123 label, which namespaces must be.
pub(crate) fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_dns_part(text)
}

/// Returns whether a text is an RFC 1123 subdomain, which most Kubernetes names must be.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_part)
}

fn is_dns_part(text: &str) -> bool {
    is_alphanumeric_at_ends(text) && text.chars().all(|c| is_alphanumeric(c) || c == '-')
}

fn is_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

fn is_alphanumeric_at_ends(text: &str) -> bool {
    text.starts_with(is_alphanumeric) && text.ends_with(is_alphanumeric)
}

/// Returns whether a text is one path component of an OCI repository name (distribution specification, "Pulling
/// manifests").
pub(crate) fn is_repository_component(text: &str) -> bool {
    let separators = text
        .split(is_alphanumeric)
        .all(|run| matches!(run, "" | "." | "_" | "__") || run.bytes().all(|byte| byte == b'-'));
    separators && is_alphanumeric_at_ends(text)
}

fn is_image_name(text: &str) -> bool {
    text.split('/').count() <= limits::IMAGE_NAME_COMPONENTS
        && text
            .split('/')
            .all(|part| is_repository_component(part) && is_component(part))
}

checked_name! {
    /// The name of a Solution: a DNS label (RFC 1123).
    SolutionName, "Solution name", "a DNS label: lower-case letters, digits and `-`, at most 63, no `-` at either end",
    is_dns_label, pattern::DNS_LABEL
}
checked_name! {
    /// The name of an environment: a DNS label, since it is a label's value and the default namespace.
    EnvironmentName, "environment name", "a DNS label: lower-case letters, digits and `-`, at most 63, no `-` at either end",
    is_dns_label, pattern::DNS_LABEL
}
checked_name! {
    /// The name of a Kubernetes namespace: a DNS label.
    Namespace, "namespace", "a DNS label: lower-case letters, digits and `-`, at most 63, no `-` at either end",
    is_dns_label, pattern::DNS_LABEL
}
checked_name! {
    /// The name of a Kubernetes object: a DNS subdomain.
    KubernetesName, "object name", "a DNS subdomain: labels of lower-case letters, digits and `-` joined by `.`, at most 253",
    is_dns_subdomain, pattern::DNS_SUBDOMAIN
}
checked_name! {
    /// The name of an image in its Solution: one to five components of an OCI repository name.
    ImageName, "image name", "1 to 5 components joined by `/`, each of lower-case letters, digits and single separators",
    is_image_name, pattern::IMAGE_NAME
}
checked_name! {
    /// The tag of an image: an OCI tag, short enough to be a directory of an archive.
    Tag, "tag", "at most 103 of letters, digits, `_`, `.` and `-`, not beginning with `.` or `-`",
    is_component, pattern::TAG
}
checked_name! {
    /// A capability that an archive's reader must know.
    Capability, "capability", "at most 63 lower-case letters, digits, `.` and `-`",
    |text| (1..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-'))
}
checked_name! {
    /// The reference by which workloads ask for an image, such as `quay.io/org/app:1.2`.
    ImageReference, "image reference", "HOST[:PORT]/PATH[:TAG][@sha256:DIGEST]",
    is_image_reference
}

impl ImageReference {
    /// Returns the tag, if the reference names one.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        let name = self.0.split('@').next().unwrap_or_default();
        let last = name.rsplit('/').next().unwrap_or_default();
        last.split_once(':').map(|(_, tag)| tag)
    }

    /// Returns the reference to another tag of the same repository; `None` if it is too long.
    #[must_use]
    pub fn with_tag(&self, tag: &Tag) -> Option<Self> {
        let name = self.0.split('@').next().unwrap_or_default();
        let old = self.tag().map_or(0, |old| old.len() + 1);
        let repository = &name[..name.len() - old];
        format!("{repository}:{tag}").parse().ok()
    }
}

fn is_image_reference(text: &str) -> bool {
    if text.len() > limits::IMAGE_REFERENCE {
        return false;
    }
    let (name, digest) = match text.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (text, None),
    };
    let (path, last) = name
        .rsplit_once('/')
        .map_or((None, name), |(path, last)| (Some(path), last));
    let (last, tag) = match last.split_once(':') {
        Some((last, tag)) => (last, Some(tag)),
        None => (last, None),
    };
    digest.is_none_or(|digest| digest.parse::<Digest>().is_ok())
        && tag.is_none_or(is_reference_tag)
        && is_repository_component(last)
        && path.is_none_or(is_reference_path)
}

fn is_reference_tag(tag: &str) -> bool {
    tag.len() <= 128
        && tag.split_at_checked(1).is_some_and(|(first, rest)| {
            first
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
        })
}

fn is_reference_path(path: &str) -> bool {
    let mut components = path.split('/');
    let first = components.next().unwrap_or_default();
    (is_host(first) || is_repository_component(first)) && components.all(is_repository_component)
}

fn is_host(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    port.is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok())
        && host
            .split('.')
            .all(|part| is_dns_part(&part.to_ascii_lowercase()))
}

/// The place of an image in an archive: `name:tag`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImagePlace {
    /// The name.
    pub name: ImageName,
    /// The tag.
    pub tag: Tag,
}

impl FromStr for ImagePlace {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, tag) = text
            .split_once(':')
            .ok_or_else(|| NameError::new("image place", text, "NAME:TAG"))?;
        Ok(Self {
            name: name.parse()?,
            tag: tag.parse()?,
        })
    }
}

impl fmt::Display for ImagePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)
    }
}

text_traits!(ImagePlace, "NAME:TAG", pattern::IMAGE_PLACE);

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: FromStr>(texts: &[&str]) {
        for text in texts {
            assert!(text.parse::<T>().is_err(), "{text:?} was accepted");
        }
    }

    fn accepted<T: FromStr<Err = NameError> + fmt::Display>(texts: &[&str]) {
        for text in texts {
            assert_eq!(text.parse::<T>().unwrap().to_string(), *text);
        }
    }

    #[test]
    fn solution_names_are_dns_labels() {
        accepted::<SolutionName>(&["a", "example-solution", "0x", &"a".repeat(63)]);
        refused::<SolutionName>(&["", "-a", "a-", "A", "a.b", "a_b", "ä", &"a".repeat(64)]);
    }

    #[test]
    fn image_names_are_repository_components() {
        accepted::<ImageName>(&["app", "org/app", "a/b/c/d/e", "a__b", "a.b-c", "a---b"]);
        refused::<ImageName>(&[
            "",
            "App",
            "a/",
            "/a",
            "a//b",
            "a..b",
            "a___b",
            "a._b",
            "_a",
            "a-",
            "a/b/c/d/e/f",
            "a:b",
            "..",
        ]);
    }

    #[test]
    fn tags_are_directories_too() {
        accepted::<Tag>(&["1.0.0", "latest", "_x", &"t".repeat(103)]);
        refused::<Tag>(&["", ".x", "-x", "a/b", "a:b", &"t".repeat(104)]);
    }

    #[test]
    fn references_are_as_engines_read_them() {
        let digest = format!("quay.io/org/app@sha256:{}", "0".repeat(64));
        accepted::<ImageReference>(&[
            "app",
            "app:1",
            "org/app:1",
            "quay.io/org/app:1.2",
            "localhost:5000/app",
            "r.test:5000/a/b:t",
            &digest,
        ]);
        refused::<ImageReference>(&[
            "",
            "app:",
            "App",
            "quay.io/",
            "a@sha256:0",
            "r.test:+5000/a",
            "r.test:/a",
            "http://x/y",
            "a b",
            "x/../y",
        ]);
        assert_eq!("r:5000/app".parse::<ImageReference>().unwrap().tag(), None);
        assert_eq!(
            "r:5000/app:2".parse::<ImageReference>().unwrap().tag(),
            Some("2")
        );
        let tag = "new".parse().unwrap();
        for (text, other) in [
            ("r:5000/app:2", "r:5000/app:new"),
            ("r:5000/app", "r:5000/app:new"),
            (&digest, "quay.io/org/app:new"),
        ] {
            let reference: ImageReference = text.parse().unwrap();
            assert_eq!(reference.with_tag(&tag).unwrap().as_str(), other);
        }
    }

    #[test]
    fn places_have_a_tag() {
        accepted::<ImagePlace>(&["app:1", "org/app:1.0.0"]);
        refused::<ImagePlace>(&["app", "app:", ":1", "a:b:c"]);
    }
}
