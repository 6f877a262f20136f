//! Practices that work but are better avoided. Few, and only warnings: a long list is read by nobody.

use std::collections::BTreeSet;

use rules::catalogue::practice::{DISPLAY_NAME, LATEST, NESTED_NAME};
use schemas::{ChartRelease, ImagePlace, Solution};

use crate::finding::Findings;
use crate::programs::CarriedProgram;

const DISPLAY_NAME_ANNOTATION: &str = "solutions.metalk8s.scality.com/display-name";

/// Looks at the manifest and the images' names.
pub(crate) fn check(
    solution: Option<&Solution>,
    places: &BTreeSet<ImagePlace>,
    programs: &[CarriedProgram],
    findings: &mut Findings,
) {
    let charts = solution.iter().flat_map(|it| &it.spec.charts);
    let programs = programs.iter().map(|it| it.place.clone());
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
