//! Known vulnerabilities as findings, which a policy can judge.

use rules::catalogue::{FindingInfo, vulnerabilities};
use sbom::Rating;
use validator::Finding;

use super::{FoundVulnerability, VulnerabilityReport};
use crate::render;

impl VulnerabilityReport {
    /// Returns one finding for each vulnerability of each image, in the order of the catalogue.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let without = self.without_sbom.iter().map(|image| {
            let place = archive::image_directory(image);
            let message = "its packages are unknown: it has no SBOM that was checked";
            Finding::of(&vulnerabilities::NO_SBOM, place, message)
        });
        let found = self.found.iter().flat_map(FoundVulnerability::findings);
        found.chain(without).collect()
    }
}

impl FoundVulnerability {
    fn findings(&self) -> impl Iterator<Item = Finding> {
        let Self {
            id,
            package,
            version,
            ..
        } = self;
        let fixed = match &self.fixed_in[..] {
            [] => "no version is fixed".to_owned(),
            versions => format!("fixed in {}", render::list(versions)),
        };
        let info = info(self.rating);
        self.images.iter().map(move |image| {
            let place = format!("{}: {id} in {package}", archive::image_directory(image));
            Finding::of(info, place, format!("{version} is installed, {fixed}"))
        })
    }
}

/// The finding that a vulnerability is.
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
    use sbom::{CarriedSbom, DatabaseStatus, DescribedImage, SbomFormat, Vulnerability};
    use schemas::{Digest, ImagePlace};
    use validator::Judging;

    use super::*;

    fn image(place: &str, sbom: Option<u8>) -> DescribedImage {
        let image: ImagePlace = place.parse().unwrap();
        let sbom = sbom.map(|number| CarriedSbom {
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
            fixed_in: fixed_in.iter().map(|&it| it.to_owned()).collect(),
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
            .map(|it| format!("{} {}: {}", it.id, it.place, it.message));
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
        let mut judging = Judging::default();
        judging.add_policy(policy.as_bytes()).unwrap();
        let judged = |day: &str| judging.judge(&report().findings(), day.parse().unwrap());
        let before = judged("2030-01-31T00:00:00Z");
        assert_eq!((before.findings.len(), before.ignored.len()), (3, 2));
        assert_eq!(before.unused_ignores, []);
        let after = judged("2030-02-01T00:00:00Z");
        let errors = after.findings.iter();
        let errors = errors.filter(|it| it.severity == Severity::Error);
        assert_eq!(errors.count(), 2);
    }
}
