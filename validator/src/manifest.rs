//! Checks of `manifest.yaml`. [`load`] reads the manifest; [`check`] compares it with the signed Solution and the
//! images in the archive, and applies the rules for operators and prerequisites.

use std::collections::{BTreeMap, BTreeSet};

use archive::{Feature, MANIFEST, OpenError};
use rules::WorkloadChecker;
use rules::catalogue::manifest::{ID, IDENTITY, IMAGE_ABSENT, IMAGE_UNLISTED, KIND, MISSING, YAML};
use rules::catalogue::operator::CAPABILITY;
use schemas::{Capability, ImagePlace, ManifestError, Solution, SolutionId, limits};

use crate::capability;
use crate::files::ListedFiles;
use crate::finding::{Findings, report};

/// Reads the manifest. Returns `None` and adds a finding if it is missing or invalid.
pub(crate) fn load(
    files: &ListedFiles<'_>,
    findings: &mut Findings,
) -> Result<Option<Solution>, OpenError> {
    let Some(entry) = files.get(MANIFEST) else {
        findings.add(&MISSING, MANIFEST, "is not in the archive");
        return Ok(None);
    };
    let Some(bytes) = files.read(entry, limits::MANIFEST_SIZE, &YAML, findings)? else {
        return Ok(None);
    };
    match Solution::from_slice(&bytes) {
        Ok(solution) => Ok(Some(solution)),
        Err(error) => {
            let info = match &error {
                ManifestError::Yaml(_) => &YAML,
                ManifestError::Kind { .. } => &KIND,
                ManifestError::Id(_) => &ID,
            };
            findings.add(info, MANIFEST, error);
            Ok(None)
        }
    }
}

/// The archive's images and capabilities, which the manifest is compared with.
#[derive(Debug)]
pub(crate) struct PackagedContent<'a> {
    pub(crate) places: &'a BTreeSet<ImagePlace>,
    /// The users of the images that declare one.
    pub(crate) users: &'a BTreeMap<ImagePlace, String>,
    /// The `ref`s of images; `None` if they could not be read.
    pub(crate) references: Option<BTreeSet<&'a str>>,
    /// The capabilities that the signed statement requires of a reader.
    pub(crate) requires: &'a [Capability],
}

/// Compares the manifest with the signed Solution and the archive's images.
pub(crate) fn check(
    solution: &Solution,
    signed: &SolutionId,
    present: &PackagedContent<'_>,
    findings: &mut Findings,
) {
    check_identity(solution, signed, findings);
    check_images(solution, present.places, findings);
    capability::check(
        Feature::OperatorTemplate,
        [
            "has spec.operator.template",
            "has no spec.operator.template",
        ],
        solution,
        present.requires,
        &CAPABILITY,
        findings,
    );
    let needed = rules::prerequisites(&solution.metadata.name, &solution.spec.prerequisites);
    report(needed, MANIFEST, findings);
    check_capability(solution, present.requires, findings);
    if let Some(operator) = &solution.spec.operator {
        let images = &solution.spec.images;
        report(rules::operator(operator, images), MANIFEST, findings);
        report(rules::template_reach(operator), MANIFEST, findings);
        let workloads = WorkloadChecker::new(images, present.users);
        report(workloads.check_operator(operator), MANIFEST, findings);
        let needs = rules::template_needs(operator, &solution.spec.manifests);
        report(needs, MANIFEST, findings);
        if let Some(references) = &present.references {
            let problems = rules::related_images(operator, references);
            report(problems, MANIFEST, findings);
        }
    }
}

/// Checks the capability for prerequisites. Archives without images were accepted before the capability existed, so
/// they are still accepted without it.
fn check_capability(solution: &Solution, requires: &[Capability], findings: &mut Findings) {
    let feature = Feature::Prerequisites;
    let is_former = solution.spec.images.is_empty()
        && schemas::is_default(&solution.spec.prerequisites)
        && !feature.is_among(requires);
    if is_former {
        return;
    }
    let words = [
        "has spec.prerequisites",
        "has no spec.prerequisites, and has images",
    ];
    let info = &rules::catalogue::manifest::CAPABILITY;
    capability::check(feature, words, solution, requires, info, findings);
}

fn check_identity(solution: &Solution, signed: &SolutionId, findings: &mut Findings) {
    let (name, version) = (&solution.metadata.name, &solution.spec.version);
    if name != signed.name() || version != signed.version() {
        let message =
            format_args!("is about {name} {version}, the signed statement about {signed}");
        findings.add(&IDENTITY, MANIFEST, message);
    }
}

fn check_images(solution: &Solution, places: &BTreeSet<ImagePlace>, findings: &mut Findings) {
    let images = &solution.spec.images;
    report(rules::repeated(images), MANIFEST, findings);
    let mut listed = BTreeSet::new();
    for place in images {
        if listed.insert(place) && !places.contains(place) {
            let message = format_args!("spec.images lists `{place}`, which is not in the archive");
            findings.add(&IMAGE_ABSENT, MANIFEST, message);
        }
    }
    for place in places.iter().filter(|place| !listed.contains(place)) {
        let message = format_args!("spec.images does not list `{place}`, which is in the archive");
        findings.add(&IMAGE_UNLISTED, MANIFEST, message);
    }
}
