//! `solution validate --vulnerabilities`: what a database says of the SBOMs that the images have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use archive::{Listed, Opened, Trusted};
use clap::Args;
use sbom::{DescribedImage, Grype, SbomError, Vulnerability, VulnerabilityDatabase};
use schemas::{Digest, StatementTime};
use watch::Watch;

use super::known::VulnerabilityReport;
use crate::args::Output;
use crate::failure::{self, Failure};
use crate::{environment, interrupt, progress};

/// By what vulnerabilities are judged.
#[derive(Args, Debug)]
pub(super) struct VulnerabilityArguments {
    /// Report known vulnerabilities in the images' SBOMs, with this database of `grype` (an archive or a directory).
    /// Only a findings policy refuses an archive for them
    #[arg(long, value_name = "DB")]
    vulnerabilities: Option<PathBuf>,

    /// A VEX document (OpenVEX or CSAF) about vulnerabilities that do not apply; may be repeated
    #[arg(long, value_name = "FILE", requires = "vulnerabilities")]
    vex: Vec<PathBuf>,

    /// The `grype` program [default: `GRYPE`, else `grype` on the PATH]
    #[arg(long, value_name = "FILE", requires = "vulnerabilities")]
    grype: Option<PathBuf>,
}

/// A database, and the program that asks it.
pub(super) struct VulnerabilityJudge {
    grype: Grype,
    database: VulnerabilityDatabase,
}

impl VulnerabilityArguments {
    /// What judges, if anything is asked.
    pub(super) fn judge(&self) -> Result<Option<VulnerabilityJudge>, Failure> {
        let Some(database) = &self.vulnerabilities else {
            return Ok(None);
        };
        let program = environment::chosen(self.grype.as_deref(), "GRYPE", "grype");
        let program = program.ok_or_else(|| {
            Failure::no(anyhow!(
                "cannot query the vulnerability database: `grype` not found"
            ))
            .hint("install grype, or name it with `--grype` or GRYPE")
        })?;
        let mut grype = Grype::at(&program, &environment::scratch())?;
        for path in &self.vex {
            grype.add_vex(&files::read(path, sbom::limits::VEX_SIZE)?)?;
        }
        let opened = grype.open(database, interrupt::cancel());
        let database = opened.map_err(|error| {
            let at = format!("cannot use the database `{}`", database.display());
            Failure::from(error).context(at)
        })?;
        Ok(Some(VulnerabilityJudge { grype, database }))
    }
}

impl VulnerabilityJudge {
    /// Judges every SBOM of an archive that was checked.
    pub(super) fn report(
        &self,
        archive: &Path,
        checked: Option<Digest>,
        now: StatementTime,
        output: Output,
    ) -> Result<VulnerabilityReport, Failure> {
        let read = |error| failure::reading(archive, error);
        let opened = Opened::open(archive).and_then(|opened| opened.skip_signature());
        let listed = opened.and_then(Trusted::list).map_err(read)?;
        if Some(listed.archive_id()) != checked {
            let changed = anyhow!("`{}` was changed while it was checked", archive.display());
            return Err(Failure::unknown(changed));
        }
        let images = sbom::described(&listed).map_err(read)?;
        let found = progress::watched(
            output,
            "vulnerabilities",
            |bar, text: String| bar.set_message(text),
            |watch| self.found(archive, &listed, &images, watch),
        )?;
        let database = self.database.status().clone();
        let grype = self.grype.version().to_owned();
        Ok(VulnerabilityReport::new(
            grype, database, now, &images, &found,
        ))
    }

    /// The vulnerabilities by SBOM, each of which is judged once.
    fn found(
        &self,
        archive: &Path,
        listed: &Listed,
        images: &[DescribedImage],
        watch: &Watch<'_, String>,
    ) -> Result<BTreeMap<Digest, Vec<Vulnerability>>, Failure> {
        let mut found = BTreeMap::new();
        for image in images {
            for sbom in &image.sboms {
                if found.contains_key(&sbom.digest) {
                    continue;
                }
                (watch.tell)(format!("vulnerabilities of {}", image.image));
                let bytes = listed.read(sbom.path.as_str(), sbom::limits::SBOM_SIZE);
                let bytes = bytes.map_err(|error| failure::reading(archive, error))?;
                let judged = self.grype.judge(&bytes, &self.database, watch.cancel);
                let judged = judged.map_err(|error| of_image(error, image))?;
                found.insert(sbom.digest, judged);
            }
        }
        Ok(found)
    }
}

fn of_image(error: SbomError, image: &DescribedImage) -> Failure {
    Failure::from(error).context(format!("cannot check the SBOM of image `{}`", image.image))
}
