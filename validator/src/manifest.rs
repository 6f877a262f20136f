//! Checks of `manifest.yaml`: that it can be read, is about the Solution that was signed, and names the images that
//! are there.

use std::collections::{BTreeMap, BTreeSet};

use archive::MANIFEST;
use schemas::{
    EnvVar, ImageName, ImagePlace, ManifestError, Operator, Piece, Solution, SolutionId, limits,
    split_expansions,
};

use crate::catalogue::manifest::{
    EXPANSION, ID, IDENTITY, IMAGE_ABSENT, IMAGE_REPEATED, IMAGE_UNLISTED, KIND, MISSING,
    OPERATOR_IMAGE, RELATED_IMAGE, VARIABLE, YAML,
};
use crate::error::CheckError;
use crate::files::Files;
use crate::finding::Findings;

const RELATED: &str = "RELATED_IMAGE_";

/// Reads the manifest.
pub(crate) fn load(
    files: &Files<'_>,
    findings: &mut Findings,
) -> Result<Option<Solution>, CheckError> {
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

/// The images that the manifest is compared with.
#[derive(Debug)]
pub(crate) struct Present<'a> {
    pub(crate) places: &'a BTreeSet<ImagePlace>,
    /// The images' `ref`s; none when they could not be read.
    pub(crate) references: Option<BTreeSet<&'a str>>,
}

/// Compares the manifest with what was signed and what is there.
pub(crate) fn check(
    solution: &Solution,
    signed: &SolutionId,
    present: &Present<'_>,
    findings: &mut Findings,
) {
    check_identity(solution, signed, findings);
    check_images(solution, present.places, findings);
    if let Some(operator) = &solution.spec.operator {
        check_operator_image(operator, &solution.spec.images, findings);
        check_expansions(operator, &solution.spec.images, findings);
        check_variables(operator, findings);
        if let Some(references) = &present.references {
            check_related_images(operator, references, findings);
        }
    }
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
    let mut listed = BTreeSet::new();
    for place in &solution.spec.images {
        if !listed.insert(place) {
            findings.add(
                &IMAGE_REPEATED,
                MANIFEST,
                format_args!("spec.images lists `{place}` twice"),
            );
        } else if !places.contains(place) {
            let message = format_args!("spec.images lists `{place}`, which is not in the archive");
            findings.add(&IMAGE_ABSENT, MANIFEST, message);
        }
    }
    for place in places.iter().filter(|place| !listed.contains(place)) {
        let message = format_args!("spec.images does not list `{place}`, which is in the archive");
        findings.add(&IMAGE_UNLISTED, MANIFEST, message);
    }
}

fn check_operator_image(operator: &Operator, images: &[ImagePlace], findings: &mut Findings) {
    let place = operator.image.place();
    if !images.contains(&place) {
        let message =
            format_args!("spec.operator.image is `{place}`, which spec.images does not list");
        findings.add(&OPERATOR_IMAGE, MANIFEST, message);
    }
}

fn check_expansions(operator: &Operator, images: &[ImagePlace], findings: &mut Findings) {
    let mut tags: BTreeMap<&ImageName, BTreeSet<&ImagePlace>> = BTreeMap::new();
    for place in images {
        tags.entry(&place.name).or_default().insert(place);
    }
    for (place, text) in operator.expandable() {
        let pieces = match split_expansions(text) {
            Ok(pieces) => pieces,
            Err(error) => {
                findings.add(&EXPANSION, MANIFEST, format_args!("{place}: {error}"));
                continue;
            }
        };
        for piece in pieces {
            let Piece::Image(name) = piece else { continue };
            match tags.get(&name).map_or(0, BTreeSet::len) {
                1 => {}
                0 => {
                    let message = format_args!("{place}: no image has the name `{name}`");
                    findings.add(&EXPANSION, MANIFEST, message);
                }
                count => {
                    let message = format_args!("{place}: {count} images have the name `{name}`");
                    findings.add(&EXPANSION, MANIFEST, message);
                }
            }
        }
    }
}

fn check_variables(operator: &Operator, findings: &mut Findings) {
    let mut names = BTreeSet::new();
    for EnvVar { name, .. } in &operator.env {
        let printable = name.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
        if name.is_empty() || name.contains('=') || !printable {
            let message = format_args!("spec.operator.env: `{name}` is no name of a variable");
            findings.add(&VARIABLE, MANIFEST, message);
        } else if !names.insert(name) {
            let message = format_args!("spec.operator.env: `{name}` is given twice");
            findings.add(&VARIABLE, MANIFEST, message);
        }
    }
}

/// By convention operators learn the images that they start from these variables.
fn check_related_images(operator: &Operator, references: &BTreeSet<&str>, findings: &mut Findings) {
    for EnvVar { name, value } in &operator.env {
        let literal = name.starts_with(RELATED) && !value.is_empty() && !value.contains("$(");
        if literal && !references.contains(value.as_str()) {
            let message = format_args!(
                "spec.operator.env.{name} is `{value}`, the `ref` of no image in the archive"
            );
            findings.add(&RELATED_IMAGE, MANIFEST, message);
        }
    }
}
