//! The translation of errors of the `archive` crate into findings. [`is_finding`] distinguishes errors that are an
//! answer about the archive from failures to read it.

use archive::{ListError, OpenError};
use rules::catalogue::{FindingInfo, advice, container, integrity, manifest, signature};
use schemas::KeyId;
use signing::{Signers, VerifyError};

use crate::finding::{ErrorChain, Findings};

/// Adds the findings for an error. Returns the error if it is not about the archive, which could not be read.
pub(crate) fn add(error: OpenError, findings: &mut Findings) -> Result<(), OpenError> {
    let Some(info) = info(&error) else {
        return Err(error);
    };
    match &error {
        OpenError::Truncated {
            expected, found, ..
        } => {
            let message = format_args!("has {found} of {expected} bytes");
            findings.add(info, format_args!("byte {found}"), message);
        }
        OpenError::TooLong {
            expected, found, ..
        } => {
            let message = format_args!(
                "has {found} bytes, the image {expected}; `truncate -s {expected} FILE` removes the rest"
            );
            findings.add(info, format_args!("byte {expected}"), message);
        }
        OpenError::Differences(differences) => {
            for difference in &differences.0 {
                let place = format_args!("byte {}", difference.offset);
                findings.add(info, place, difference);
            }
        }
        OpenError::Signature(error) => add_signature(error, findings),
        other => findings.add(info, place(other), ErrorChain(other)),
    }
    Ok(())
}

/// Returns true if an error is a finding about the archive, and false if the archive could not be read.
#[must_use]
pub fn is_finding(error: &OpenError) -> bool {
    info(error).is_some()
}

/// Returns the kind of finding for an error; `None` if the archive could not be read.
fn info(error: &OpenError) -> Option<&'static FindingInfo> {
    Some(match error {
        OpenError::Open(..)
        | OpenError::Read { .. }
        | OpenError::Compare(..)
        | OpenError::Write { .. }
        | OpenError::Locked(_)
        | OpenError::Detach(..)
        | OpenError::Interrupted(_) => return None,
        OpenError::NotAFile(_) | OpenError::NotIso(_) => &container::NOT_ISO,
        OpenError::Directory(_) | OpenError::Unpacked { .. } => &advice::DIRECTORY,
        OpenError::Empty(_) | OpenError::TooShort { .. } => &advice::TOO_SHORT,
        OpenError::Foreign(_) => &container::FOREIGN,
        OpenError::Truncated { .. } => &container::TRUNCATED,
        OpenError::TooLong { .. } => &container::TOO_LARGE,
        OpenError::Differences(_) => &container::METADATA,
        OpenError::Envelope(..) => &signature::ENVELOPE,
        // `add_signature` selects the specific kind.
        OpenError::Signature(_) => &signature::INVALID,
        OpenError::Statement(_) => &signature::STATEMENT,
        OpenError::OtherArchive { .. } => &signature::UNTRUSTED,
        OpenError::Capability(_) | OpenError::Layout(_) => &container::LAYOUT,
        OpenError::List(ListError::TopLevel(_) | ListError::TopLevelKind(_)) => {
            &container::UNDECLARED
        }
        OpenError::List(ListError::Missing(_)) => &manifest::MISSING,
        OpenError::ContentsDigest { .. } => &integrity::LIST,
        OpenError::FileDigest { .. } => &integrity::DAMAGED,
        // Errors about signed documents, the list of contents and detached signatures share one kind.
        OpenError::Document(..)
        | OpenError::StatementAlone(_)
        | OpenError::Detached(..)
        | OpenError::OtherPayload
        | OpenError::WrongSignature
        | OpenError::VolumeNames { .. }
        | OpenError::ContentsSize(_)
        | OpenError::Contents(_)
        | OpenError::List(ListError::Reserved(_) | ListError::EmptyDigest(_))
        | OpenError::Sha256sums
        | OpenError::Plan(_)
        | OpenError::NoSuchFile(_)
        | OpenError::FileSize { .. }
        | OpenError::Sign(_) => &container::LIST,
    })
}

fn place(error: &OpenError) -> &str {
    match error {
        OpenError::List(error) => error.path(),
        OpenError::ContentsDigest { .. } | OpenError::Contents(_) => archive::CONTENTS,
        OpenError::Envelope(..) | OpenError::Statement(_) => archive::STATEMENT,
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

/// Returns the short ids of keys in words: `key 0123…`, `keys 0123… and 4567…`.
pub(crate) fn names(keys: impl Iterator<Item = KeyId>) -> String {
    let keys: Vec<String> = keys.map(|key| key.short()).collect();
    match keys.as_slice() {
        [] => "nobody".to_owned(),
        [key] => format!("key {key}"),
        [first @ .., last] => format!("keys {} and {last}", first.join(", ")),
    }
}
