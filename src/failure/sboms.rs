//! What the errors of SBOMs and of the programs for them come to.

use sbom::SbomError;

use super::{Answer, Judge, NO, UNKNOWN, no, unknown};

impl Judge for SbomError {
    fn answer(&self) -> Answer {
        match self {
            Self::Missing(_) | Self::OtherProgram { .. } => no(
                "install it, or name it: syft with `--syft` or SYFT, and grype with `--grype` or GRYPE",
            ),
            Self::Failed { .. } => unknown(
                "check the free space below TMPDIR, where it unpacks, and run the program directly to reproduce the error",
            ),
            Self::Read(error) => error.answer(),
            Self::TooMuch { .. } | Self::Document(_) => NO,
            Self::Start { .. }
            | Self::TooLong { .. }
            | Self::Printed { .. }
            | Self::Scratch { .. }
            | Self::Cancelled(_) => UNKNOWN,
        }
    }
}
