//! The page that shows a plan, and its application.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use importer::{Blocker, Error, ShownImport, Verb};
use kubernetes::Cluster;
use maud::html;
use serde_json::{Value, json};

use super::{links, plan_text};
use crate::call::Call;
use crate::page::Section;
use crate::plans::{DeletionPlan, DeployedPlace, PlanKind, StoredPlan};
use crate::problem::Problem;
use crate::reply::see_other;
use crate::runs::Run;
use crate::site::Site;
use crate::texts;

/// Returns the problem of a plan that is not stored.
pub(super) fn gone() -> Problem {
    Problem {
        hints: vec![texts::PLAN_AGAIN.to_owned()],
        ..Problem::with_status(StatusCode::NOT_FOUND, texts::GONE_PLAN)
    }
}

/// `GET /plans/{plan}`
pub(crate) async fn show(call: Call) -> Result<Response, Problem> {
    let id: String = call.name("plan", str::to_owned)?;
    let plan = call.user.plans.get(&id).ok_or_else(gone)?;
    let program = &call.user.site.program;
    let json = || match &plan.kind {
        PlanKind::Deployment(plan) => (program.results.plan)(&plan.shown, &plan.blockers),
        PlanKind::Undeployment(plan) => removal(&plan.shown),
        PlanKind::EnvironmentDeletion(plan) => removal(&plan.shown),
    };
    let title = title(&plan);
    let may_propose = call.user.login.is_some() && !is_done(&plan);
    let body = || {
        html! {
            @if let Some(origin) = &plan.origin { p { (texts::origin(&origin.by, origin.is_same)) } }
            (plan_text::plan(&plan, program.explain.blocker))
            @if may_propose { (plan_text::propose(&plan.id)) }
        }
    };
    Ok(call.visit.reply(Section::Environments, &title, body, json))
}

fn removal<T: serde::Serialize>(shown: &Result<T, Vec<Blocker>>) -> Value {
    match shown {
        Ok(shown) => serde_json::to_value(shown).unwrap_or_default(),
        Err(blockers) => json!({ "obstacles": blockers }),
    }
}

fn is_done(plan: &StoredPlan) -> bool {
    matches!(&plan.kind, PlanKind::Deployment(plan) if plan.is_done)
}

/// Returns the change of a plan, in a few words.
pub(super) fn title(plan: &StoredPlan) -> String {
    match &plan.kind {
        PlanKind::Deployment(plan) => {
            let environment = plan.shown.target.as_ref();
            let environment = environment.map_or("", |target| target.environment.as_str());
            let solution = &plan.shown.solution;
            match plan.request.verb {
                Verb::Rollback => texts::roll_back_in(solution, environment),
                _ => texts::deploy_to(solution, environment),
            }
        }
        PlanKind::Undeployment(plan) => {
            let DeployedPlace {
                solution,
                environment,
                ..
            } = &plan.deployed;
            texts::undeploy_from(solution, environment)
        }
        PlanKind::EnvironmentDeletion(plan) => texts::delete_environment(&plan.environment),
    }
}

/// `POST /plans/{plan}/apply`
pub(crate) async fn apply(call: Call) -> Result<Response, Problem> {
    let form = call.form()?;
    let id: String = call.name("plan", str::to_owned)?;
    let plan = call.user.plans.get(&id).ok_or_else(gone)?;
    if !plan_text::is_applicable(&plan) {
        return Err(Problem::refused(texts::BLOCKED, Vec::new(), Vec::new()));
    }
    if let PlanKind::Deployment(deployment) = &plan.kind
        && deployment.consent.is_some()
        && form.text("consent") != deployment.consent.as_deref()
    {
        return Err(Problem::refused(texts::NO_CONSENT, Vec::new(), Vec::new()));
    }
    let plan = call.user.plans.take(&id).ok_or_else(gone)?;
    let (user, applied) = (Arc::clone(&call.user), Arc::clone(&plan));
    let started = call
        .console
        .runs
        .start(&call.user, title(&plan), |run| async move {
            apply_stored(&user.site, &applied, &run).await
        });
    let run = started.inspect_err(|_| call.user.plans.put_back(plan))?;
    Ok(see_other(&links::run(&run.id)))
}

/// Applies a plan, if its effects are still those that were shown.
async fn apply_stored(site: &Site, plan: &StoredPlan, run: &Run) -> Result<Value, Problem> {
    let cluster = site.cluster().await?;
    let tell = |event| run.take(&event, (site.program.explain.event)(&event));
    let result = match &plan.kind {
        PlanKind::Deployment(plan) => {
            let mut request = plan.request.clone();
            request.context = (site.program.context)()?;
            request.accepted.extend(plan.consent.clone());
            let import = ShownImport {
                accepted: &plan.version.archive.accepted,
                findings: &plan.version.archive.findings,
                client: &plan.version.client,
                request: &request,
                plan: &plan.agreed,
            };
            let receipt = import.apply(&[], &cluster, &tell).await;
            serde_json::to_value(receipt.map_err(|error| problem(site, error))?)
        }
        PlanKind::Undeployment(plan) => {
            let Ok(shown) = &plan.shown else {
                return Err(Problem::refused(texts::BLOCKED, Vec::new(), Vec::new()));
            };
            let removed = site.change(&cluster, false, &tell, async |change| {
                plan.deployed
                    .undeployment()
                    .carry_out_as_shown(change, shown)
                    .await
            });
            serde_json::to_value(removed.await?.map_err(|error| problem(site, error))?)
        }
        PlanKind::EnvironmentDeletion(plan) => {
            let deleted = delete_environment(site, &cluster, plan, &tell).await?;
            serde_json::to_value(deleted)
        }
    };
    result.map_err(Problem::internal)
}

/// Returns the problem of a plan that was not applied. A plan that no longer holds is created again.
fn problem(site: &Site, error: Error) -> Problem {
    let is_changed = matches!(
        error,
        Error::Refused(Blocker::Changed { .. } | Blocker::NotAsShown { .. })
    );
    let problem = site.problem(error);
    if is_changed {
        return Problem {
            hints: vec![texts::PLAN_AGAIN.to_owned()],
            ..problem
        };
    }
    problem
}

async fn delete_environment(
    site: &Site,
    cluster: &Cluster,
    plan: &DeletionPlan,
    tell: progress::ProgressSink<'_, importer::Event>,
) -> Result<importer::DeletedEnvironment, Problem> {
    let delete = async |dry_run| {
        let deleted = site.change(cluster, dry_run, tell, async |change| {
            importer::delete_environment(change, &plan.environment, plan.delete_resources).await
        });
        deleted.await?.map_err(|error| site.problem(error))
    };
    // The environment may have changed since the plan was shown.
    if plan.shown.as_ref().ok() != Some(&delete(true).await?) {
        let hints = vec![texts::PLAN_AGAIN.to_owned()];
        return Err(Problem::refused(texts::CHANGED, Vec::new(), hints));
    }
    delete(false).await
}
