//! The plans that users leave for a second person.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::http::StatusCode;
use axum::response::Response;
use maud::html;
use schemas::StatementTime;
use serde_json::json;

use super::{links, plan, plan_text};
use crate::call::Call;
use crate::page::{Section, facts, text, time};
use crate::plans::PlanOrigin;
use crate::problem::Problem;
use crate::proposals::Proposal;
use crate::reply::see_other;
use crate::texts;

/// `POST /plans/{plan}/propose`
pub(crate) async fn propose(call: Call) -> Result<Response, Problem> {
    let id: String = call.name("plan", str::to_owned)?;
    let plan = call.user.plans.get(&id).ok_or_else(plan::gone)?;
    // On a loopback address there is no second person.
    let login = call.user.login.as_ref();
    let login = login.ok_or_else(|| Problem::not_found(texts::PAGE))?;
    let now = (call.console.program.connect.clock)().duration_since(UNIX_EPOCH);
    let now = now.ok().and_then(|now| i64::try_from(now.as_secs()).ok());
    let now = now.and_then(|now| StatementTime::from_unix(now).ok());
    let by = login.user().await.name;
    let proposals = &call.console.proposals;
    let id = proposals.add(by, call.user.id.clone(), now, plan)?;
    Ok(see_other(&links::proposal(&id)))
}

fn find(call: &Call) -> Result<Arc<Proposal>, Problem> {
    let id: String = call.name("proposal", str::to_owned)?;
    let proposal = call.console.proposals.get(&id);
    proposal.ok_or_else(|| Problem::with_status(StatusCode::NOT_FOUND, texts::GONE_PROPOSAL))
}

/// `GET /proposals/{proposal}`
pub(crate) async fn show(call: Call) -> Result<Response, Problem> {
    let proposal = find(&call)?;
    let title = plan::title(&proposal.plan);
    let is_own = proposal.owner == call.user.id;
    let body = || {
        let at = proposal.at.map_or_else(|| text(texts::UNKNOWN), time);
        html! {
            (facts([(texts::PROPOSED_BY, text(&proposal.by)), (texts::TIME, at)]))
            @if is_own {
                p { (texts::SEND_PROPOSAL) }
            } @else {
                p { (texts::SECOND_PERSON) }
                form method="post" { button.primary { (texts::SHOW_PLAN) } }
            }
        }
    };
    let json =
        || json!({ "id": proposal.id, "title": title, "by": proposal.by, "at": proposal.at });
    Ok(call.visit.reply(Section::Outside, &title, body, json))
}

/// `POST /proposals/{proposal}`: plans the same change with the permissions of this user.
pub(crate) async fn plan_again(call: Call) -> Result<Response, Problem> {
    let proposal = find(&call)?;
    let plan = proposal.plan.kind.plan_again(&call.user.site).await?;
    let origin = PlanOrigin {
        by: proposal.by.clone(),
        is_same: plan_text::is_applicable(&proposal.plan)
            .then(|| plan.has_effects_of(&proposal.plan.kind)),
    };
    let id = call.user.plans.add(plan, Some(origin))?;
    Ok(see_other(&links::plan(&id)))
}
