//! The action for a plan that has no blockers: apply it, show it, write it to a file, or compare it with a file. Plan
//! files separate the planning from the approval and the change.

use std::path::Path;

use importer::{Plan, PlanChange, PlanFile, PlanSummary, Ready, Request, RightsManifest};
use kubernetes::Cluster;
use schemars::JsonSchema;
use schemas::{Digest, PayloadType, yaml};
use serde::Serialize;
use validator::AcceptedArchive;

use super::plan::{self, PlanDetail};
use super::show::{self, ShownPlan};
use crate::args::Output;
use crate::commands::blocked::{ShownBlocker, refuse_plan};
use crate::commands::give;
use crate::commands::image_map::{Mapped, ShownMap};
use crate::failure::{self, Failure, Outcome};
use crate::{disk, plans, render};

/// The display of an import's plans. It remembers the plan that it showed last.
pub(super) struct PlanDisplay<'a> {
    pub(super) then: PlanAction<'a>,
    pub(super) shown: PlanDetail,
    pub(super) output: Output,
    last: Option<PlanSummary>,
}

impl<'a> PlanDisplay<'a> {
    pub(super) fn new(then: PlanAction<'a>, shown: PlanDetail, output: Output) -> Self {
        Self {
            then,
            shown,
            output,
            last: None,
        }
    }

    /// Shows a plan to a person. If there is nothing to do, it prints one line, unless the user requests details.
    pub(super) fn show(&mut self, plan: &Plan<'_>, request: &Request) {
        let summary = plan.summary();
        if self.output == Output::Json || self.last.as_ref() == Some(summary) {
            return;
        }
        match (plan.is_done(), self.then, self.shown) {
            // The receipt says this, or the output that the plan was already applied.
            (true, PlanAction::Apply, _) | (true, PlanAction::Follow { .. }, PlanDetail::Plain) => {
            }
            (true, PlanAction::Stop | PlanAction::Write(_), PlanDetail::Plain) => {
                render::line!("{}: nothing to do", summary.solution);
            }
            _ => plan::show(summary, self.shown, Some(request.limits)),
        }
        self.last = Some(summary.clone());
    }
}

/// The action for a plan that has no blockers: apply it, show it, write it to a file, or compare it with a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlanAction<'a> {
    /// The plan is applied.
    Apply,
    /// The plan is only shown.
    Stop,
    /// The plan is written to this file, which must not exist.
    Write(&'a Path),
    /// The plan is applied, or only shown, if it is the same as in this file.
    Follow { file: &'a PlanFile, dry_run: bool },
}

/// With `--plan-out`: the plan and its file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrittenPlan<'a> {
    #[serde(flatten)]
    plan: ShownPlan<'a>,
    /// The path of the file.
    plan_file: &'a Path,
    /// SHA-256 of the plan.
    plan_id: Digest,
}

/// With `--plan`: a plan of which nothing is left to do.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AppliedPlan<'a> {
    #[serde(flatten)]
    plan: ShownPlan<'a>,
    /// Always true.
    #[schemars(extend("const" = true))]
    in_place: bool,
}

impl PlanAction<'_> {
    /// Executes an action other than applying the plan. Returns none if the plan is to be applied.
    pub(super) async fn instead(
        self,
        ready: &Ready<'_>,
        cluster: &Cluster,
        map: Option<&ShownMap>,
        shown: PlanDetail,
        output: Output,
    ) -> Result<Option<Outcome>, Failure> {
        let planned = show::shown_plan(ready.summary(), shown);
        match self {
            PlanAction::Apply => Ok(None),
            PlanAction::Stop => {
                let mapped = Mapped {
                    result: &planned,
                    map,
                };
                Ok(Some(give(output, &mapped, |mapped| {
                    mapped.show_map();
                    if !ready.is_done() {
                        render::dry_run();
                    }
                })))
            }
            PlanAction::Write(path) => {
                let file = ready.file(cluster).await?;
                plans::write_new(path, PayloadType::Plan, file.to_bytes())?;
                let written = WrittenPlan {
                    plan: planned,
                    plan_file: path,
                    plan_id: file.id(),
                };
                Ok(Some(give(output, &written, show_written)))
            }
            PlanAction::Follow { file, dry_run } => {
                let anew = ready.file(cluster).await?;
                if ready.is_done() {
                    let in_place = AppliedPlan {
                        plan: planned,
                        in_place: true,
                    };
                    return Ok(Some(give(output, &in_place, |_| {
                        render::line("the plan is already applied: nothing to do");
                    })));
                }
                let moved = file.moved(&anew);
                if !moved.is_empty() {
                    return Ok(Some(refuse_plan(output, planned, &moved)));
                }
                Ok(dry_run.then(|| give(output, &planned, |_| render::dry_run())))
            }
        }
    }
}

fn show_written(written: &WrittenPlan<'_>) {
    render::line!("plan      {}", written.plan_id);
    let path = written.plan_file.display();
    render::line!("nothing was changed; the plan is written to `{path}`");
}

/// Writes a new file with the roles that grant the missing rights. None if no right is missing.
pub(super) async fn write_missing_rights(
    path: &Path,
    plan: &Plan<'_>,
    archive: &AcceptedArchive,
    cluster: &Cluster,
) -> Result<(), Failure> {
    let user = cluster.username().await;
    let id = &archive.statement().predicate.id;
    let roles = importer::missing_rights(plan.blockers(), id, user.as_deref());
    let shown = path.display();
    if roles.is_empty() {
        render::note!("no right is missing; `{shown}` was not written");
        return Ok(());
    }
    disk::write_new(path, 0o644, role_documents(&roles).as_bytes())?;
    render::note!("an administrator grants the missing rights with `kubectl apply -f {shown}`");
    Ok(())
}

impl From<&PlanChange> for ShownBlocker {
    fn from(moved: &PlanChange) -> Self {
        Self::new(moved.to_string(), failure::replan(moved))
    }
}

/// Returns each role as a YAML document.
pub(crate) fn role_documents(manifests: &[RightsManifest]) -> String {
    let document = |manifest| format!("---\n{}", yaml::to_string(manifest));
    manifests.iter().map(document).collect()
}
