//! What becomes of a plan that nothing is in the way of.

use std::path::Path;

use deployer::Cluster;
use importer::{Moved, Plan, PlanFile, Ready, Run};
use schemars::JsonSchema;
use schemas::{Digest, PayloadType};
use serde::Serialize;
use validator::Accepted;

use super::show::{self, Planned, Shown};
use crate::args::Output;
use crate::commands::give;
use crate::commands::image_map::{Mapped, ShownMap};
use crate::commands::rbac::documents;
use crate::commands::refusal::{InTheWay, refuse};
use crate::failure::{self, Failure, Outcome};
use crate::{disk, plans, render};

/// What becomes of a plan that nothing is in the way of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then<'a> {
    /// It is applied.
    Apply,
    /// It is shown.
    Stop,
    /// It is written to this file, which must not exist.
    Write(&'a Path),
    /// It is applied, or only shown, if it is the one that this file holds.
    Follow(&'a PlanFile, Run),
}

/// With `--plan-out`: the plan and its file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Written<'a> {
    #[serde(flatten)]
    plan: Planned<'a>,
    /// The path of the file.
    plan_file: &'a Path,
    /// SHA-256 of the plan.
    plan_id: Digest,
}

/// With `--plan`: a plan of which nothing is left to do.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InPlace<'a> {
    #[serde(flatten)]
    plan: Planned<'a>,
    /// Always true.
    #[schemars(extend("const" = true))]
    in_place: bool,
}

impl Then<'_> {
    /// What becomes of a plan where it is not applied; none where it is to be.
    pub(super) async fn instead(
        self,
        ready: &Ready<'_>,
        cluster: &Cluster,
        map: Option<&ShownMap>,
        shown: Shown,
        output: Output,
    ) -> Result<Option<Outcome>, Failure> {
        let planned = show::planned(ready.summary(), shown);
        match self {
            Then::Apply => Ok(None),
            Then::Stop => {
                let mapped = Mapped {
                    result: &planned,
                    map,
                };
                Ok(Some(give(output, &mapped, |mapped| {
                    mapped.show_map();
                    if !ready.is_done() {
                        render::dry(Run::Dry);
                    }
                })))
            }
            Then::Write(path) => {
                let file = ready.file(cluster).await?;
                plans::write_new(path, PayloadType::Plan, file.to_bytes())?;
                let written = Written {
                    plan: planned,
                    plan_file: path,
                    plan_id: file.id(),
                };
                Ok(Some(give(output, &written, written_to)))
            }
            Then::Follow(file, run) => {
                let anew = ready.file(cluster).await?;
                if ready.is_done() {
                    let in_place = InPlace {
                        plan: planned,
                        in_place: true,
                    };
                    return Ok(Some(give(output, &in_place, |_| {
                        render::line("the plan is already applied: nothing to do");
                    })));
                }
                let moved = file.moved(&anew);
                if !moved.is_empty() {
                    return Ok(Some(refuse(output, planned, &moved)));
                }
                Ok((run == Run::Dry).then(|| give(output, &planned, |_| render::dry(run))))
            }
        }
    }
}

fn written_to(written: &Written<'_>) {
    render::line!("plan      {}", written.plan_id);
    let path = written.plan_file.display();
    render::line!("nothing was changed; the plan is written to `{path}`");
}

/// Writes the roles that give the rights that a plan lacks to a new file; none if it lacks no right.
pub(super) async fn write_missing(
    path: &Path,
    plan: &Plan<'_>,
    archive: &Accepted,
    cluster: &Cluster,
) -> Result<(), Failure> {
    let user = cluster.username().await;
    let id = &archive.statement().predicate.id;
    let roles = importer::missing_rights(plan.obstacles(), id, user.as_deref());
    let shown = path.display();
    if roles.is_empty() {
        render::note!("no right is missing; `{shown}` was not written");
        return Ok(());
    }
    disk::write_new(path, 0o644, documents(&roles).as_bytes())?;
    render::note!("an administrator grants the missing rights with `kubectl apply -f {shown}`");
    Ok(())
}

impl From<&Moved> for InTheWay {
    fn from(moved: &Moved) -> Self {
        Self::new(moved.to_string(), failure::replan(moved))
    }
}
