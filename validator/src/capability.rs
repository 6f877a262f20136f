//! Capabilities beyond format 1 that an archive needs, compared with those that its statement requires of readers.

use archive::{Feature, MANIFEST};
use rules::catalogue::FindingInfo;
use schemas::{Capability, Solution};

use crate::finding::Findings;

/// A reader that does not know of a feature must not take the archive, and one that does need not expect any of it in vain.
/// The words say that the manifest has it, and that it has not.
pub(crate) fn check(
    feature: Feature,
    [has, lacks]: [&str; 2],
    solution: &Solution,
    requires: &[Capability],
    info: &FindingInfo,
    findings: &mut Findings,
) {
    let capability = feature.capability();
    let later = feature == Feature::Charts && Feature::ChartsAsHelm.is_among(requires);
    let is_required = later || feature.is_among(requires);
    let message = match (feature.is_in(&solution.spec), is_required) {
        (true, false) => format!("{has}, but the signed statement does not require"),
        (false, true) => format!("{lacks}, but the signed statement requires"),
        _ => return,
    };
    findings.add(info, MANIFEST, format_args!("{message} `{capability}`"));
}
