//! The known vulnerabilities of the images of an archive: as data, and as a table.

mod findings;

use std::collections::{BTreeMap, BTreeSet};

use rules::catalogue::{is_vulnerability, vulnerabilities};
use sbom::{DatabaseStatus, DescribedImage, Rating, Vulnerability};
use schemars::JsonSchema;
use schemas::{Digest, ImagePlace, StatementTime};
use serde::Serialize;
use validator::JudgedFindings;

use crate::args::choose;
use crate::render;

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
#[serde(rename_all = "camelCase")]
struct FoundVulnerability {
    /// How bad it is, by the database.
    rating: Rating,
    /// Its id.
    id: String,
    /// The package that has it.
    package: String,
    /// The version of the package.
    version: String,
    /// The versions that do not have it any more.
    fixed_in: Vec<String>,
    /// The images with this package.
    images: BTreeSet<ImagePlace>,
}

impl VulnerabilityReport {
    /// What was found, by the SBOM that it was found in.
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
            let found = image.sboms.iter().filter_map(|it| found.get(&it.digest));
            for vulnerability in found.flatten() {
                let places = by_vulnerability.entry(vulnerability).or_default();
                places.insert(image.image.clone());
            }
        }
        let found = by_vulnerability.into_iter();
        let found = found.map(|(it, images)| FoundVulnerability {
            rating: it.rating,
            id: it.id.clone(),
            package: it.package.clone(),
            version: it.version.clone(),
            fixed_in: it.fixed_in.clone(),
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

    /// Shows what counts by a policy, and what it was judged by.
    pub(super) fn show(&self, judged: &JudgedFindings) {
        let mut counted = 0;
        let findings = judged.findings.iter();
        for finding in findings.filter(|it| is_vulnerability(it.id)) {
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
