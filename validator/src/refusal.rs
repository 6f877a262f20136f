//! The words for what the stages of an archive refuse: each error of `archive` is one finding, or several.

use archive::{ListError, OpenError};
use schemas::KeyId;
use signing::{Signers, VerifyError};

use crate::catalogue::{FindingInfo, container, integrity, manifest, signature};
use crate::finding::{Chain, Findings};

/// Adds what a refusal says.
pub(crate) fn add(error: &OpenError, findings: &mut Findings) {
    match error {
        OpenError::Truncated {
            expected, found, ..
        } => {
            let message = format_args!("has {found} of {expected} bytes");
            findings.add(&container::TRUNCATED, format_args!("byte {found}"), message);
        }
        OpenError::TooLong {
            expected, found, ..
        } => {
            let message = format_args!("has {found} bytes, the image {expected}");
            findings.add(
                &container::TOO_LARGE,
                format_args!("byte {expected}"),
                message,
            );
        }
        OpenError::Differences(differences) => {
            for difference in &differences.0 {
                let place = format_args!("byte {}", difference.offset);
                findings.add(&container::METADATA, place, difference);
            }
        }
        OpenError::Signature(error) => add_signature(error, findings),
        other => findings.add(info(other), place(other), Chain(other)),
    }
}

/// What kind of finding an error is, for those with no words of their own.
fn info(error: &OpenError) -> &'static FindingInfo {
    match error {
        OpenError::NotAFile(_) | OpenError::NotIso(_) => &container::NOT_ISO,
        OpenError::Foreign(_) => &container::FOREIGN,
        OpenError::Envelope { .. } => &signature::ENVELOPE,
        OpenError::Statement(_) => &signature::STATEMENT,
        OpenError::Capability(_) | OpenError::Layout(_) => &container::LAYOUT,
        OpenError::List(ListError::TopLevel(_) | ListError::TopLevelKind(_)) => {
            &container::UNDECLARED
        }
        OpenError::List(ListError::Missing(_)) => &manifest::MISSING,
        OpenError::ContentsDigest { .. } => &integrity::LIST,
        OpenError::FileDigest { .. } => &integrity::DAMAGED,
        // All others are about what was signed and is not an image.
        _ => &container::LIST,
    }
}

fn place(error: &OpenError) -> &str {
    match error {
        OpenError::List(error) => error.path(),
        OpenError::ContentsDigest { .. } | OpenError::Contents(_) => archive::CONTENTS,
        OpenError::Envelope { .. } | OpenError::Statement(_) => archive::STATEMENT,
        _ => "",
    }
}

fn add_signature(error: &VerifyError, findings: &mut Findings) {
    match error {
        VerifyError::Unsigned => findings.add(&signature::UNSIGNED, "", error),
        VerifyError::Wrong(_) => findings.add(&signature::INVALID, archive::STATEMENT, error),
        VerifyError::TooFew { signers, needed } => {
            let Signers { trusted, unknown } = signers;
            let untrusted = names(unknown.iter().copied());
            if trusted.is_empty() {
                let message = format_args!("signed by {untrusted}, which is not trusted");
                findings.add(&signature::UNTRUSTED, "", message);
            } else {
                let (count, by) = (trusted.len(), names(trusted.iter().copied()));
                let message = format_args!(
                    "signed by {count} of {needed} trusted keys: by {by}; not trusted: {untrusted}"
                );
                findings.add(&signature::THRESHOLD, "", message);
            }
        }
    }
}

/// `key 0123…`, `keys 0123… and 4567…`.
pub(crate) fn names(keys: impl Iterator<Item = KeyId>) -> String {
    let keys: Vec<String> = keys.map(|key| key.short()).collect();
    match keys.as_slice() {
        [] => "nobody".to_owned(),
        [key] => format!("key {key}"),
        [first @ .., last] => format!("keys {} and {last}", first.join(", ")),
    }
}
