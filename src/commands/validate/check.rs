//! Checking an archive, by the keys or policies that count: `validate` does, and `import` before anything else.

use std::path::Path;

use archive::{Medium, OpenError};
use schemas::SolutionId;
use validator::{Accepted, AllowUnsigned, Depth, Report, Signatures, TrustedKeys};

use super::words;
use crate::args::{Output, TrustArguments};
use crate::failure::{self, Failure, cannot};
use crate::trust::{self, Folder};
use crate::{environment, keys, progress};

/// Whose signatures count, and where policies were looked for, which is said too.
pub(crate) fn whose(
    arguments: &TrustArguments,
    allow: Option<SolutionId>,
    output: Output,
) -> Result<(Signatures, Vec<Folder>), Failure> {
    let (trust, folders) = if arguments.keys.is_empty() {
        if arguments.threshold.is_some() {
            return Err(failure::no_keys());
        }
        let (policies, folders) = trust::policies()?;
        let any = !policies.is_empty();
        (any.then_some(TrustedKeys::Policies(policies)), folders)
    } else {
        (
            Some(TrustedKeys::Keys(keys::trusted(arguments)?)),
            Vec::new(),
        )
    };
    if trust.is_none() && allow.is_none() {
        return Err(failure::nobody_trusted().hint(trust::in_words(&folders)));
    }
    trust::say(&folders, output);
    let signatures = Signatures::Check {
        trust,
        allow_unsigned: allow.map(AllowUnsigned),
    };
    Ok((signatures, folders))
}

/// Refuses the path of an archive that is not there, before anything is asked about keys.
pub(crate) fn present(archive: &Path) -> Result<(), Failure> {
    match Medium::probe(archive) {
        Err(error @ OpenError::Open { .. }) => Err(cannot("check", archive)(error)),
        // What is there and no archive is for the check to tell.
        _ => Ok(()),
    }
}

/// Checks all but the layers of an archive, by the keys or policies that count.
pub(crate) fn documents(
    archive: &Path,
    trust: &TrustArguments,
    allow: Option<SolutionId>,
    output: Output,
) -> Result<Report, Failure> {
    present(archive)?;
    let signatures = whose(trust, allow, output)?.0;
    check(archive, signatures, Depth::Documents, output)
}

/// The same of an archive that has to be signed. None if it is not accepted, which is said, and what `follows`.
pub(crate) fn accept(
    archive: &Path,
    trust: &TrustArguments,
    follows: &str,
    output: Output,
) -> Result<Option<Accepted>, Failure> {
    let report = documents(archive, trust, None, output)?;
    let findings = report.findings().to_vec();
    let accepted = report.accept();
    let accepted = accepted.map_err(|report| words::refuse(&report, follows, output));
    Ok(accepted.inspect(|_| words::talk(&findings, output)).ok())
}

/// Checks an archive, with progress.
pub(crate) fn check(
    archive: &Path,
    signatures: Signatures,
    depth: Depth,
    output: Output,
) -> Result<Report, Failure> {
    let detached = archive::read_detached(archive);
    let detached = detached.map_err(|error| failure::beside(archive, error))?;
    let options = validator::CheckOptions {
        signatures,
        detached: detached.into_iter().collect(),
        depth,
        threads: environment::threads(),
        now: Some(environment::now().map_err(Failure::unknown)?),
    };
    let report = progress::watched(
        output,
        "check",
        |bar, progress| bar.show("check", progress),
        |watch| validator::check(archive, &options, watch),
    );
    report.map_err(cannot("check", archive))
}
