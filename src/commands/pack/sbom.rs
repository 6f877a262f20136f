//! Whether SBOMs are made, and by what.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use packager::SbomRequest;
use sbom::SbomFormat;

use crate::environment;

/// Whether SBOMs are made, and by what.
#[derive(Args, Debug)]
pub(super) struct SbomArguments {
    /// Bring an SBOM of each image too, in this form, made by `syft`; one that comes with the image by `--with-referrers` is
    /// kept
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["check", "add_images"])]
    sbom: Option<Sbom>,

    /// The program `syft`, for SBOMs [default: `SYFT`, else `syft` on the path]
    #[arg(long, value_name = "FILE", requires = "sbom")]
    syft: Option<PathBuf>,
}

impl SbomArguments {
    /// The choice.
    pub(super) fn request(&self) -> Option<SbomRequest> {
        self.sbom.map(|form| SbomRequest {
            format: form.into(),
            program: environment::chosen(self.syft.as_deref(), "SYFT", "syft"),
        })
    }
}

/// The form of SBOMs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sbom {
    /// SPDX, as JSON
    Spdx,
    /// CycloneDX, as JSON
    Cyclonedx,
}

impl From<Sbom> for SbomFormat {
    fn from(form: Sbom) -> Self {
        match form {
            Sbom::Spdx => Self::Spdx,
            Sbom::Cyclonedx => Self::CycloneDx,
        }
    }
}
