//! A plan file, as it was shown when it was made.

use importer::{Allowed, PlanFile};
use schemars::JsonSchema;
use schemas::{Digest, Envelope, KeyId, SolutionId, StatementTime};
use serde::Serialize;

use super::fleet_plan;
use super::fleet_words;
use super::signatures::signed;
use crate::args::Output;
use crate::commands::give;
use crate::commands::import::show::{self, Planned};
use crate::commands::import::{self, Shown};
use crate::failure::Outcome;
use crate::plans::{self, FoundPlan, SignedPlan};
use crate::render;

/// What whoever reads a plan without asking who signed it must know.
const NOT_VERIFIED: &str = "not verified: to check who signed it and whether it is still valid, run `solution apply --plan FILE --approved-by KEY --dry-run`";

/// The content of a plan file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InspectedPlan<'a> {
    /// SHA-256 of the plan.
    plan_id: Digest,
    /// Who planned: user and host, as that machine said.
    planned_by: &'a str,
    /// The user that planned, as the API server authenticated it; absent if it did not say, and in plans of earlier
    /// versions of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_user: Option<&'a str>,
    /// When it was planned.
    planned_at: StatementTime,
    /// The uid of the cluster's namespace `kube-system`.
    cluster: &'a str,
    /// The id of the Solution, `<name>-<version>`.
    solution: &'a SolutionId,
    /// SHA-256 of the archive's signed statement.
    archive_id: Digest,
    /// The keys that signed, as the file says: not verified.
    signatures: Vec<KeyId>,
    /// The exceptions that the user allowed in the plan.
    allowed: Allowed,
    /// The plan of the import.
    plan: Planned<'a>,
}

/// Shows a plan, with what changes in each object.
pub(super) fn show(plan: &FoundPlan, output: Output) -> Outcome {
    let signatures = signatures(plan.envelope());
    match plan {
        FoundPlan::OfFleet(plan) => fleet_plan::show(&plan.file, signatures, output),
        FoundPlan::OfDeployment(plan) => {
            let SignedPlan { file, .. } = &**plan;
            let inspected = InspectedPlan {
                plan_id: file.id(),
                planned_by: &file.by,
                planned_user: file.user.as_deref(),
                planned_at: file.at,
                cluster: &file.cluster,
                solution: &file.solution,
                archive_id: file.archive_id,
                signatures,
                allowed: file.allowed(),
                plan: show::planned(&file.summary, Shown::WithDiff),
            };
            give(output, &inspected, |inspected| {
                in_words(file, &inspected.signatures);
            })
        }
    }
}

/// What a plan does, for whoever is about to sign it.
pub(crate) fn summarize(plan: &FoundPlan) {
    match plan {
        FoundPlan::OfDeployment(plan) => {
            plans::show(&plan.file);
            import::plan::show(&plan.file.summary, Shown::Details, None);
        }
        FoundPlan::OfFleet(plan) => fleet_words::summarize(&plan.file, Shown::Plain),
    }
}

fn signatures(envelope: &Envelope) -> Vec<KeyId> {
    let signatures = envelope.signatures();
    signatures.map(|signature| signature.key_id).collect()
}

fn in_words(file: &PlanFile, signatures: &[KeyId]) {
    plans::show(file);
    signed(signatures);
    import::plan::show(&file.summary, Shown::WithDiff, None);
    render::note(NOT_VERIFIED);
}
