//! A plan file, as it was shown when it was made.

use importer::{Allowed, PlanFile};
use schemas::{Digest, KeyId, SolutionId, StatementTime};
use serde::Serialize;

use crate::args::Output;
use crate::commands::give;
use crate::commands::import::show::{self, Planned};
use crate::commands::import::{self, Shown};
use crate::failure::Outcome;
use crate::plans::{self, Plan};
use crate::render;

/// What whoever reads a plan without asking who signed it must know.
const NOT_VERIFIED: &str = "not verified: `solution apply --plan FILE --approved-by KEY --dry-run` says who signed it, and whether it still holds";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspected<'a> {
    plan_id: Digest,
    planned_by: &'a str,
    planned_at: StatementTime,
    cluster: &'a str,
    solution: &'a SolutionId,
    archive_id: Digest,
    signatures: Vec<KeyId>,
    allowed: Allowed,
    plan: Planned<'a>,
}

/// Shows a plan, with what changes in each object.
pub(super) fn show(Plan { envelope, file }: &Plan, output: Output) -> Outcome {
    let signatures = envelope.signatures().map(|signature| signature.key_id);
    let inspected = Inspected {
        plan_id: file.id(),
        planned_by: &file.by,
        planned_at: file.at,
        cluster: &file.cluster,
        solution: &file.solution,
        archive_id: file.archive_id,
        signatures: signatures.collect(),
        allowed: file.allowed(),
        plan: show::planned(&file.summary, Shown::WithDiff),
    };
    give(output, &inspected, |inspected| {
        in_words(file, &inspected.signatures);
    })
}

fn in_words(file: &PlanFile, signatures: &[KeyId]) {
    plans::show(file);
    for key in signatures {
        render::line!("signature by key {key} (not verified)");
    }
    if signatures.is_empty() {
        render::line("signature none");
    }
    import::plan::show(&file.summary);
    import::plan::diff(&file.summary);
    render::note(NOT_VERIFIED);
}
