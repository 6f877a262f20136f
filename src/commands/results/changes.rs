//! What those verbs answer that change what runs in a cluster.

use importer::{Deletion, Receipt, Undone};
use serde_json::Value;
use shelf::{PushReceipt, PushSummary};

use super::answers::{Results, said};
use crate::commands::apply::configuration::show::Overview;
use crate::commands::hindered::RefusedRemoval;
use crate::commands::image_map::{Mapped, ShownMap};
use crate::commands::import::show::Planned;
use crate::commands::import::then;
use crate::commands::refusal::Refused;

/// Those that change what runs in a cluster.
pub(super) fn add(all: &mut Results, report: &Value) {
    let receipt = &all.shared::<Mapped<Receipt>>("receipt");
    let dry_run = &all.shared::<Mapped<Planned>>("dryRun");
    let written = &all.shared::<then::Written>("writtenPlan");
    let refused = &all.shared::<Refused<Planned>>("refusedPlan");
    let planned = [receipt, dry_run, written, refused, report];
    all.verb("activate", &planned);
    all.verb("rollback", &planned);

    let undone = &all.shared::<Undone>("undone");
    let hindered = &all.shared::<RefusedRemoval>("hindered");
    all.verb("deploy", &[&planned[..], &[hindered]].concat());
    let unconfirmed = &all.shared::<Refused<Undone>>("unconfirmedRemoval");
    for verb in ["deactivate", "undeploy", "unimport"] {
        all.verb(verb, &[undone, hindered, unconfirmed]);
    }
    let deletion = &all.own::<Deletion>();
    let kept = &all.own::<Refused<Deletion>>();
    let deletion = &said(
        "With `--dry-run`: the planned removals, and the content that is kept.",
        deletion,
    );
    all.verb("delete", &[undone, deletion, kept]);

    let pushed = &all.shared::<Mapped<PushReceipt, ShownMap>>("pushReceipt");
    let push = &all.shared::<Mapped<PushSummary, ShownMap>>("pushDryRun");
    let refused_push = &all.shared::<Refused<PushSummary>>("refusedPush");
    let push = [pushed, push, refused_push];
    // With `--no-cluster`, the old spelling of `push`.
    all.verb("import", &[&planned[..], &push].concat());
    all.verb("push", &[&push[..], &[report]].concat());

    let steps = &all.own::<Overview>();
    let unconfirmed = &all.own::<Refused<Overview>>();
    let in_place = &all.own::<then::InPlace>();
    all.verb(
        "apply",
        &[
            steps,
            unconfirmed,
            &said("With `--plan`: the result.", receipt),
            &said("With `--plan` and `--dry-run`: the plan.", dry_run),
            in_place,
            &said(
                "With `--plan`: the blockers, or the changes since the plan was created.",
                refused,
            ),
            &said("With `--plan`: the archive is not accepted.", report),
        ],
    );
}
