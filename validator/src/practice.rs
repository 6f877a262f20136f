//! Warnings about discouraged practices: the tag `latest`, image names with several components, and a missing display
//! name. There are only a few, so that users read them.

use std::collections::BTreeSet;

use rules::catalogue::practice::{DISPLAY_NAME, LATEST, NESTED_NAME};
use schemas::{ChartRelease, ImagePlace, Solution};

use crate::finding::Findings;
use crate::programs::PackagedProgram;

const DISPLAY_NAME_ANNOTATION: &str = "solutions.metalk8s.scality.com/display-name";

/// Checks the manifest and the names of images.
pub(crate) fn check(
    solution: Option<&Solution>,
    places: &BTreeSet<ImagePlace>,
    programs: &[PackagedProgram],
    findings: &mut Findings,
) {
    let charts = solution.iter().flat_map(|solution| &solution.spec.charts);
    let programs = programs.iter().map(|carried| carried.place.clone());
    // Chart and program artifacts have nested names by specification.
    let artifacts: BTreeSet<ImagePlace> = charts.map(ChartRelease::place).chain(programs).collect();
    for place in places {
        let directory = archive::image_directory(place);
        if place.tag.as_str() == "latest" {
            findings.add(&LATEST, &directory, "the tag is `latest`");
        }
        if place.name.as_str().contains('/') && !artifacts.contains(place) {
            let message = format_args!("the name `{}` has several components", place.name);
            findings.add(&NESTED_NAME, &directory, message);
        }
    }
    let named = |solution: &Solution| {
        solution
            .metadata
            .annotations
            .contains_key(DISPLAY_NAME_ANNOTATION)
    };
    if solution.is_some_and(|solution| !named(solution)) {
        let message = format_args!("metadata.annotations has no {DISPLAY_NAME_ANNOTATION}");
        findings.add(&DISPLAY_NAME, archive::MANIFEST, message);
    }
}
