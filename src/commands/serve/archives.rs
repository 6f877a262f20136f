//! The archives that are served, by what they are judged, and where it is said what becomes of them.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use shelf::{ArchiveJudge, Archives, Serving, Whole};
use validator::{Accepted, Depth, Signatures};

use super::arguments::Arguments;
use super::log::Log;
use crate::args::{Output, SignatureArguments};
use crate::commands::validate::{check, words};
use crate::failure::Failure;

/// The archives that are served, and by what they are judged.
pub(super) struct JudgedArchives {
    archives: Archives,
    judge: Trusting,
}

impl JudgedArchives {
    pub(super) fn of(arguments: Arguments, output: Output, log: Arc<Log>) -> Result<Self, Failure> {
        let prefix = arguments.prefix.as_ref();
        let prefix = prefix.map_or_else(String::new, |prefix| format!("/{prefix}"));
        let registry = format!("localhost{prefix}").parse();
        Ok(Self {
            archives: Archives::new(arguments.archives, registry.map_err(Failure::usage)?),
            judge: Trusting {
                signatures: arguments.signatures,
                output,
                log,
            },
        })
    }
}

/// What has changed of what is served, if anything has.
type ServingChange = Result<Option<Serving>, Failure>;

/// Looks at the archives, which may read a slow disc, beside what is served.
pub(super) async fn look(
    mut judged: JudgedArchives,
    whole: Whole,
) -> Result<(JudgedArchives, ServingChange), Failure> {
    let looked = tokio::task::spawn_blocking(move || {
        let changes = judged.archives.look(whole, &mut judged.judge);
        (judged, changes)
    });
    looked.await.map_err(Failure::unknown)
}

/// The keys and policies by which archives are judged.
#[derive(Debug)]
struct Trusting {
    signatures: SignatureArguments,
    output: Output,
    log: Arc<Log>,
}

impl ArchiveJudge for Trusting {
    type Error = Failure;
    type Trust = Signatures;

    fn trust(&mut self, whole: Whole) -> Result<Signatures, Failure> {
        // Where policies were looked for is said once.
        let output = match whole {
            Whole::First => self.output,
            Whole::Changed | Whole::All => Output::Json,
        };
        let (trust, allow) = self.signatures.judging();
        Ok(check::whose(trust, allow, output)?.0)
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
