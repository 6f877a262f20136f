//! The comparison of the features that an archive uses with the capabilities that its signed statement requires of
//! readers. The entry point is [`check`], which every module with an optional feature calls.

use archive::{Feature, MANIFEST};
use rules::catalogue::FindingInfo;
use schemas::{Capability, Solution};

use crate::finding::Findings;

/// Adds a finding if the manifest uses a feature that the statement does not require, or does not use one that it
/// requires. A reader without support for a feature must reject the archive, and a required feature must not be
/// missing. `has` and `lacks` are the beginnings of the two messages.
pub(crate) fn check(
    feature: Feature,
    [has, lacks]: [&str; 2],
    solution: &Solution,
    requires: &[Capability],
    info: &FindingInfo,
    findings: &mut Findings,
) {
    let capability = feature.capability();
    // `ChartsAsHelm` is the second version of the chart capability and includes the first.
    let later = feature == Feature::Charts && Feature::ChartsAsHelm.is_among(requires);
    let is_required = later || feature.is_among(requires);
    let message = match (feature.is_in(&solution.spec), is_required) {
        (true, false) => format!("{has}, but the signed statement does not require"),
        (false, true) => format!("{lacks}, but the signed statement requires"),
        _ => return,
    };
    findings.add(info, MANIFEST, format_args!("{message} `{capability}`"));
}
