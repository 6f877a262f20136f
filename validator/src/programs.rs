//! Checks of the programs that an archive includes, specified in docs/reference/format-programs.md. The entry point is
//! [`check`]. No program is executed.

use std::collections::BTreeSet;

use archive::limits::PROGRAMS;
use archive::{Feature, MANIFEST, Program, ProgramError, program_name, programs_of};
use rules::catalogue::programs::{CAPABILITY, IMAGE, SIZE};
use schemas::{Capability, Image, ImagePlace};

use crate::finding::{ErrorChain, Findings};

/// A program in an archive, for one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackagedProgram {
    /// The place of the program's image. Its name is `programs/` and the program's name, and its tag is the version.
    pub place: ImagePlace,
    /// The program.
    pub program: Program,
}

/// Checks all programs. Without the capability, these images have no special meaning.
pub(crate) fn check(
    images: &[Image],
    requires: &[Capability],
    findings: &mut Findings,
) -> Vec<PackagedProgram> {
    if !Feature::Programs.is_among(requires) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for image in images {
        let place = &image.place;
        let Some(name) = program_name(&place.name) else {
            continue;
        };
        let directory = archive::image_directory(place);
        if !names.insert(name) {
            let message = format_args!("the archive contains another version of `{name}`");
            findings.add(&IMAGE, &directory, message);
            continue;
        }
        if names.len() > PROGRAMS {
            let message = format_args!("there are more than {PROGRAMS} programs");
            findings.add(&IMAGE, &directory, message);
            break;
        }
        match programs_of(image) {
            Ok(programs) => found.extend(programs.into_iter().map(|program| PackagedProgram {
                place: place.clone(),
                program,
            })),
            Err(error @ ProgramError::Size(..)) => findings.add(&SIZE, &directory, error),
            Err(error) => findings.add(&IMAGE, &directory, ErrorChain(&error)),
        }
    }
    if names.is_empty() {
        let capability = Feature::Programs.capability();
        let message =
            format_args!("has no programs, but the signed statement requires `{capability}`");
        findings.add(&CAPABILITY, MANIFEST, message);
    }
    found
}
