//! What an archive's errors come to.

use std::io::ErrorKind;
use std::path::Path;

use archive::{ExtractError, InTheWay, OpenError, WriteError, detached_path};

use mount::MountError;
use rules::catalogue::advice;

use super::{Answer, Failure, Judge, NO, Outcome, UNKNOWN, no, unknown};
use crate::args::choose;

const VALIDATE: &str = "run `solution validate` on it to see each problem and its fix";
const ALTERED: &str =
    "find out who changed the content of the registry, then import the archive again from its ISO";
const WHOLE_FILES: &str = "run the same command again to write the missing files; files with their final name are complete";
const REPLACE: &str = "replace the files with `--overwrite`, or name another directory with `--to`";
const MOVE: &str = "move it, or name another directory with `--to`; links are never followed";
const ROOM: &str = "free space or name another directory with `--to`, then run the same command again to write the missing files; files with their final name are complete";
/// How many things in the way are named.
const NAMED: usize = 10;
const OTHERS: &str = "remove the file, or get the one that belongs to this archive: `solution sign --detached` writes it";

/// An archive could not be read.
pub(crate) fn reading(path: &Path, error: OpenError) -> Failure {
    let Answer(outcome, _) = answer(&error);
    let hint = match &error {
        OpenError::Open { .. } => None,
        OpenError::Directory(_) | OpenError::Unpacked { .. } => Some(advice::DIRECTORY.fix),
        OpenError::Empty(_) | OpenError::TooShort { .. } => Some(advice::TOO_SHORT.fix),
        _ => Some(VALIDATE),
    };
    let failure = Failure::new(outcome, error).context(format!("cannot read `{}`", path.display()));
    hint.into_iter().fold(failure, Failure::hint)
}

/// Files of an archive could not be written.
pub(crate) fn extracting(archive: &Path, error: ExtractError) -> Failure {
    match error {
        ExtractError::Archive(error) => reading(archive, error).hint(WHOLE_FILES),
        ExtractError::InTheWay(ref found) => {
            let others: Vec<String> = found.iter().skip(1).map(ToString::to_string).collect();
            let replaceable = found.iter().all(|it| it.why == InTheWay::OtherContent);
            let hint = choose(replaceable, REPLACE, MOVE);
            let others = others.into_iter().take(NAMED);
            others.fold(Failure::no(error).hint(hint), Failure::because)
        }
        ExtractError::NoRoom { .. } => Failure::unknown(error).hint(ROOM),
        ExtractError::Target { ref source, .. } => {
            let hint = match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ROOM,
                _ => WHOLE_FILES,
            };
            Failure::unknown(error).hint(hint)
        }
        ExtractError::Interrupted(_) => Failure::unknown(error).hint(WHOLE_FILES),
    }
}

/// An archive could not be mounted, or could no longer be.
pub(crate) fn mounting(error: MountError) -> Failure {
    let hint = match &error {
        MountError::Directory { .. } => "name a directory that exists",
        MountError::Mount { .. } => {
            "load FUSE with `modprobe fuse` (it needs /dev/fuse), and install `fusermount3` (package fuse3) unless you are root; `solution archive extract` needs neither"
        }
        MountError::Serve { .. } | MountError::Unmount { .. } => {
            "see which processes use it with `fuser -vm`, then unmount it with `umount`, or with `fusermount3 -u` if you are not root"
        }
    };
    Failure::unknown(error).hint(hint)
}

/// An archive holds more than can be shown.
pub(crate) fn too_much(archive: &Path, what: &'static str) -> Failure {
    let context = format!("cannot show `{}`", archive.display());
    let failure = Failure::no(anyhow::anyhow!(what)).hint(VALIDATE);
    failure.context(context)
}

/// The signatures beside an archive could not be used.
pub(crate) fn beside(archive: &Path, error: OpenError) -> Failure {
    let Answer(outcome, _) = answer(&error);
    let path = detached_path(archive);
    let context = format!("cannot use the signatures in `{}`", path.display());
    let failure = Failure::new(outcome, error).context(context);
    match outcome {
        Outcome::No => failure.hint(OTHERS),
        _ => failure,
    }
}

/// An archive could not be signed.
pub(crate) fn signing(archive: &Path, error: OpenError) -> Failure {
    let failure = match error {
        OpenError::Detached { .. } | OpenError::OtherPayload => {
            let beside = detached_path(archive);
            Failure::no(error).hint(format!(
                "remove `{}`, or get the one that belongs to this archive",
                beside.display()
            ))
        }
        other => Failure::judged(answer(&other), other),
    };
    match failure.outcome() {
        Outcome::Usage => failure,
        _ => failure.context(format!("cannot sign `{}`", archive.display())),
    }
}

/// What an error comes to for whoever signs. A refusal is what the validator would make a finding of; all else says
/// nothing about the archive, which could not be read.
fn answer(error: &OpenError) -> Answer {
    match error {
        OpenError::Open { source, .. }
            if matches!(
                source.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            unknown(
                "use `--detached`, which writes the signature to a file next to the archive; if that directory is read-only too, sign a copy of the archive's statement.dsse.json",
            )
        }
        OpenError::StatementAlone(_) => Answer(Outcome::Usage, Some("omit `--detached`")),
        OpenError::WrongSignature => no(
            "sign the file that `--payload-out` writes, not its hash, and pass the public key of the signing key",
        ),
        // The archive is good, and has the signature already.
        OpenError::Sign(_) => NO,
        other if validator::is_finding(other) => no(VALIDATE),
        _ => UNKNOWN,
    }
}

impl Judge for WriteError {
    fn answer(&self) -> Answer {
        match self {
            Self::Head(cause) if validator::is_finding(cause) => no(ALTERED),
            Self::Source { .. }
            | Self::Head(_)
            | Self::Changed { .. }
            | Self::Draft(_)
            | Self::Target { .. }
            | Self::Interrupted(_) => UNKNOWN,
            Self::Lacking(_) => no(ALTERED),
            Self::Exists(_) => no("choose another name with `-o`, or replace it with `--force`"),
            Self::NotAFile(_) => no("choose another name with `-o`"),
            Self::List(_)
            | Self::Contents(_)
            | Self::ContentsSize(_)
            | Self::Plan(_)
            | Self::Sign(_)
            | Self::NoKey => NO,
        }
    }
}
