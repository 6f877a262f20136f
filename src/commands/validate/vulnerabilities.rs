//! `solution validate --vulnerabilities`: reports known vulnerabilities in the SBOMs of an archive's images, as data,
//! as a table and as findings. The database is a local file, because sites have no access to the internet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use archive::{ListedArchive, OpenedArchive, TrustedArchive};
use clap::Args;
use progress::Watch;
use rules::catalogue::{FindingInfo, is_vulnerability, vulnerabilities};
use sbom::{
    DatabaseStatus, DescribedImage, Grype, Rating, SbomError, Vulnerability, VulnerabilityDatabase,
};
use schemars::JsonSchema;
use schemas::{Digest, ImagePlace, StatementTime};
use serde::Serialize;
use validator::{EvaluatedFindings, Finding};

use crate::args::{Output, choose};
use crate::failure::{self, Failure};
use crate::{environment, interrupt, progress_bar, render};

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

/// A vulnerability database, with the program that queries it.
pub(super) struct VulnerabilityJudge {
    grype: Grype,
    database: VulnerabilityDatabase,
}

impl VulnerabilityArguments {
    /// Returns the evaluation of vulnerabilities, if the user requested it.
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
        let mut grype = Grype::from_path(&program, &environment::scratch())?;
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
    /// Evaluates every SBOM of an archive that was checked.
    pub(super) fn report(
        &self,
        archive: &Path,
        checked: Option<Digest>,
        now: StatementTime,
        output: Output,
    ) -> Result<VulnerabilityReport, Failure> {
        let read = |error| failure::reading(archive, error);
        let opened = OpenedArchive::open(archive).and_then(|opened| opened.skip_signature());
        let listed = opened.and_then(TrustedArchive::list).map_err(read)?;
        if Some(listed.archive_id()) != checked {
            let changed = anyhow!("`{}` was changed while it was checked", archive.display());
            return Err(Failure::unknown(changed));
        }
        let images = sbom::described(&listed).map_err(read)?;
        let found = progress_bar::watched(
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

    /// Returns the vulnerabilities by SBOM. Images may share an SBOM, which is evaluated once.
    fn found(
        &self,
        archive: &Path,
        listed: &ListedArchive,
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
                let judged = self
                    .grype
                    .find_vulnerabilities(&bytes, &self.database, watch.cancel);
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

/// Seconds of a day.
const DAY: i64 = 24 * 60 * 60;

/// The known vulnerabilities of the images of an archive.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VulnerabilityReport {
    /// The version of `grype` that asked the database.
    grype: String,
    /// The database.
    database: DatabaseStatus,
    /// How many days ago the database was built.
    database_age_days: i64,
    /// The images whose SBOMs were checked.
    judged: BTreeSet<ImagePlace>,
    /// The images of which a manifest has no SBOM.
    without_sbom: BTreeSet<ImagePlace>,
    /// The vulnerabilities, the worst first.
    found: Vec<FoundVulnerability>,
}

/// A known vulnerability of a package.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundVulnerability {
    #[serde(flatten)]
    vulnerability: Vulnerability,
    /// The images with this package.
    images: BTreeSet<ImagePlace>,
}

impl VulnerabilityReport {
    /// Returns the report from the results for each SBOM.
    pub(super) fn new(
        grype: String,
        database: DatabaseStatus,
        now: StatementTime,
        images: &[DescribedImage],
        found: &BTreeMap<Digest, Vec<Vulnerability>>,
    ) -> Self {
        let mut by_vulnerability: BTreeMap<&Vulnerability, BTreeSet<ImagePlace>> = BTreeMap::new();
        let (mut judged, mut without_sbom) = (BTreeSet::new(), BTreeSet::new());
        for image in images {
            let lists = choose(image.sboms.is_empty(), &mut without_sbom, &mut judged);
            lists.insert(image.image.clone());
            let found = image
                .sboms
                .iter()
                .filter_map(|sbom| found.get(&sbom.digest));
            for vulnerability in found.flatten() {
                let places = by_vulnerability.entry(vulnerability).or_default();
                places.insert(image.image.clone());
            }
        }
        let found = by_vulnerability.into_iter();
        let found = found.map(|(vulnerability, images)| FoundVulnerability {
            vulnerability: vulnerability.clone(),
            images,
        });
        Self {
            grype,
            database_age_days: (now.unix() - database.built.unix()) / DAY,
            database,
            judged,
            without_sbom,
            found: found.collect(),
        }
    }

    /// Shows the vulnerabilities that count by the policy, and the database.
    pub(super) fn show(&self, judged: &EvaluatedFindings) {
        let mut counted = 0;
        let findings = judged.findings.iter();
        for finding in findings.filter(|finding| is_vulnerability(finding.id)) {
            let rating = finding.id.rsplit('.').next().unwrap_or_default();
            let (place, message) = (&finding.place, &finding.message);
            render::line!("{rating:<11} {place}: {message}");
            counted += usize::from(finding.id != vulnerabilities::NO_SBOM.id);
        }
        let counted = match counted {
            1 => "1 known vulnerability".to_owned(),
            counted => format!("{counted} known vulnerabilities"),
        };
        let images = render::count(self.judged.len(), "image");
        render::line!("counted     {counted} of {images} with SBOMs");
        let DatabaseStatus { schema, built } = &self.database;
        let (age, grype) = (self.database_age_days, &self.grype);
        render::line!(
            "database    built {built}, {age} days ago, schema {schema}; queried by grype {grype}"
        );
    }
}

impl VulnerabilityReport {
    /// Returns one finding for each vulnerability of each image, in the order of the catalogue.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let without = self.without_sbom.iter().map(|image| {
            let place = archive::image_directory(image);
            let message = "its packages are unknown: it has no SBOM that was checked";
            Finding::new(&vulnerabilities::NO_SBOM, place, message)
        });
        let found = self.found.iter().flat_map(FoundVulnerability::findings);
        found.chain(without).collect()
    }
}

impl FoundVulnerability {
    fn findings(&self) -> impl Iterator<Item = Finding> {
        let Vulnerability {
            rating,
            id,
            package,
            version,
            fixed_in,
        } = &self.vulnerability;
        let fixed = match &fixed_in[..] {
            [] => "no version is fixed".to_owned(),
            versions => format!("fixed in {}", render::list(versions)),
        };
        let info = info(*rating);
        self.images.iter().map(move |image| {
            let place = format!("{}: {id} in {package}", archive::image_directory(image));
            Finding::new(info, place, format!("{version} is installed, {fixed}"))
        })
    }
}

/// Returns the finding for a vulnerability of this rating.
fn info(rating: Rating) -> &'static FindingInfo {
    match rating {
        Rating::Critical => &vulnerabilities::CRITICAL,
        Rating::High => &vulnerabilities::HIGH,
        Rating::Medium => &vulnerabilities::MEDIUM,
        Rating::Low => &vulnerabilities::LOW,
        Rating::Negligible => &vulnerabilities::NEGLIGIBLE,
        Rating::Unknown => &vulnerabilities::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rules::catalogue::Severity;
    use sbom::{DatabaseStatus, DescribedImage, PackagedSbom, SbomFormat, Vulnerability};
    use schemas::{Digest, ImagePlace};
    use validator::FindingRules;

    use super::*;

    fn image(place: &str, sbom: Option<u8>) -> DescribedImage {
        let image: ImagePlace = place.parse().unwrap();
        let sbom = sbom.map(|number| PackagedSbom {
            format: SbomFormat::Spdx,
            path: archive::image_directory(&image),
            digest: Digest::new([number; 32]),
            size: 1,
        });
        DescribedImage {
            image,
            platform: None,
            digest: Digest::new([0; 32]),
            sboms: sbom.into_iter().collect(),
        }
    }

    fn report() -> VulnerabilityReport {
        let vulnerability = |rating, id: &str, fixed_in: &[&str]| Vulnerability {
            rating,
            id: id.to_owned(),
            package: "curl".to_owned(),
            version: "7".to_owned(),
            fixed_in: fixed_in
                .iter()
                .map(|&fixed_in| fixed_in.to_owned())
                .collect(),
        };
        let found = vec![
            vulnerability(Rating::High, "CVE-2024-1", &["8"]),
            vulnerability(Rating::Low, "CVE-2024-2", &[]),
        ];
        let database = DatabaseStatus {
            schema: "v6".to_owned(),
            built: "2030-01-01T00:00:00Z".parse().unwrap(),
        };
        let images = [
            image("app:1", Some(1)),
            image("app:2", Some(1)),
            image("web:1", None),
        ];
        let found = BTreeMap::from([(Digest::new([1; 32]), found)]);
        let now = "2030-01-03T12:00:00Z".parse().unwrap();
        VulnerabilityReport::new("1".to_owned(), database, now, &images, &found)
    }

    #[test]
    fn each_vulnerability_is_a_finding_of_each_image_that_has_it() {
        let report = report();
        assert_eq!(report.database_age_days, 2);
        let findings = report.findings();
        let shown = findings
            .iter()
            .map(|finding| format!("{} {}: {}", finding.id, finding.place, finding.message));
        let expected = [
            "vulnerabilities.high images/app/1: CVE-2024-1 in curl: 7 is installed, fixed in 8",
            "vulnerabilities.high images/app/2: CVE-2024-1 in curl: 7 is installed, fixed in 8",
            "vulnerabilities.low images/app/1: CVE-2024-2 in curl: 7 is installed, no version is fixed",
            "vulnerabilities.low images/app/2: CVE-2024-2 in curl: 7 is installed, no version is fixed",
            "vulnerabilities.no-sbom images/web/1: its packages are unknown: it has no SBOM that was checked",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_policy_refuses_by_rating_and_ignores_by_id_until_a_day() {
        let policy = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: FindingsPolicy
spec:
  severities: {vulnerabilities.high: error}
  ignores:
  - {id: vulnerabilities.high, place: '*: CVE-2024-1 in *', reason: not reachable, expires: 2030-01-31}
  - {id: vulnerabilities.low, place: '*: CVE-2024-9 in *', reason: of another database}
";
        let mut judging = FindingRules::default();
        judging.add_policy(policy.as_bytes()).unwrap();
        let judged = |day: &str| judging.evaluate(&report().findings(), day.parse().unwrap());
        let before = judged("2030-01-31T00:00:00Z");
        assert_eq!((before.findings.len(), before.ignored.len()), (3, 2));
        assert_eq!(before.unused_ignores, []);
        let after = judged("2030-02-01T00:00:00Z");
        let errors = after.findings.iter();
        let errors = errors.filter(|error| error.severity == Severity::Error);
        assert_eq!(errors.count(), 2);
    }
}
