//! By what the archives are judged that are served, and where it is said what becomes of them.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use schemas::SolutionId;
use shelf::{Judge, Whole};
use validator::{Accepted, Depth, Signatures};

use super::log::Log;
use crate::args::{Output, TrustArguments};
use crate::commands::validate::{check, words};
use crate::failure::Failure;

/// The keys and policies by which archives are judged.
#[derive(Debug)]
pub(super) struct Trusting {
    pub(super) trust: TrustArguments,
    pub(super) allow_unsigned: Option<SolutionId>,
    pub(super) output: Output,
    pub(super) log: Arc<Log>,
}

impl Judge for Trusting {
    type Error = Failure;
    type Trust = Signatures;

    fn trust(&mut self, whole: Whole) -> Result<Signatures, Failure> {
        // Where policies were looked for is said once.
        let output = match whole {
            Whole::First => self.output,
            Whole::Changed | Whole::All => Output::Json,
        };
        let allow = self.allow_unsigned.clone();
        Ok(check::whose(&self.trust, allow, output)?.0)
    }

    fn accept(&mut self, path: &Path, trust: &Signatures) -> Result<Accepted, Failure> {
        let report = check::check(path, trust.clone(), Depth::Documents, self.output)?;
        words::talk(report.findings(), self.output);
        report.accept().map_err(|report| {
            let findings = report.findings().iter();
            let refused = anyhow!("`{}` is not accepted", path.display());
            let reasons = findings.map(|finding| format!("{}: {}", finding.id, finding.message));
            reasons.fold(Failure::no(refused), Failure::because)
        })
    }

    fn serving(&mut self, path: &Path, accepted: &Accepted) {
        self.log.serving(path, accepted);
    }

    fn left_out(&mut self, path: &Path, why: &Failure) {
        self.log.left_out(path, why);
    }
}
