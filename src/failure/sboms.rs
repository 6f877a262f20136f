//! What the errors of SBOMs and of the programs for them come to.

use sbom::SbomError;

use super::{Answer, Judge, NO, UNKNOWN, no, unknown};

impl Judge for SbomError {
    fn answer(&self) -> Answer {
        match self {
            Self::Missing(_) | Self::OtherProgram { .. } => no(
                "install it, or name it: syft with `--syft` or SYFT, grype with `--grype` or GRYPE",
            ),
            Self::Failed { .. } => unknown(
                "it unpacks below TMPDIR, which may be full; what it says can be tried with the program itself",
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
