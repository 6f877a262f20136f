//! The history of changes to the cluster, and one change.

use axum::response::Response;
use importer::{ChangeFilter, ChangeReceipt, History, Outcome};
use maud::{Markup, html};
use serde_json::json;

use super::links;
use crate::call::Call;
use crate::page::{Section, Tone, facts, lines, link, objects, state, table, text, time};
use crate::problem::Problem;
use crate::texts;

/// The changes on one page.
const PAGE: usize = 50;

/// `GET /history?solution=&environment=&before=`
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let solution = call.query.parsed("solution")?;
    let environment = call.query.parsed("environment")?;
    let before: Option<u32> = call.query.parsed("before")?;
    let filter = ChangeFilter {
        solution,
        environment,
        ..ChangeFilter::default()
    };
    let cluster = site.cluster().await?;
    let history = importer::history(&cluster, &filter).await;
    let mut history = history.map_err(|error| site.problem(error))?;
    let is_older = |revision: u32| before.is_none_or(|before| revision < before);
    history
        .revisions
        .retain(|change| is_older(change.receipt.revision));
    let has_more = history.revisions.len() > PAGE;
    history.revisions.truncate(PAGE);
    let json = || serde_json::to_value(&history).unwrap_or_default();
    let body = || all(&history, has_more, &filter);
    Ok(call
        .visit
        .reply(Section::History, texts::HISTORY, body, json))
}

fn all(history: &History, has_more: bool, filter: &ChangeFilter) -> Markup {
    let changes_of_page = history.revisions.iter();
    let rows: Vec<_> = changes_of_page.map(|change| row(&change.receipt)).collect();
    let last = history
        .revisions
        .last()
        .map(|change| change.receipt.revision);
    let ChangeFilter {
        solution,
        environment,
        ..
    } = filter;
    let solution = solution.as_ref().map_or("", |name| name.as_str());
    let environment = environment.as_ref().map_or("", |name| name.as_str());
    html! {
        @if rows.is_empty() {
            p { (texts::NO_CHANGES_YET) }
        } @else {
            (changes(texts::HISTORY, &rows))
        }
        @if let Some(last) = last.filter(|_| has_more) {
            p { (link(
                &format!("/history?solution={solution}&environment={environment}&before={last}"),
                texts::OLDER,
            )) }
        }
    }
}

/// The columns of a table of changes.
const COLUMNS: usize = 8;

/// Returns a table of changes.
pub(super) fn changes(caption: &str, rows: &[[Markup; COLUMNS]]) -> Markup {
    let titles = [
        texts::REVISION,
        texts::TIME,
        texts::COMMAND,
        texts::SOLUTION,
        texts::VERSION,
        texts::ENVIRONMENT,
        texts::RESULT,
        texts::BY,
    ];
    table(caption, titles, rows)
}

/// Returns the row of a change.
pub(super) fn row(receipt: &ChangeReceipt) -> [Markup; COLUMNS] {
    let subject = &receipt.subject;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let places = html! {
        @if subject.places.is_empty() { "–" }
        @for place in &subject.places {
            (link(&links::environment(&place.environment), &place.environment)) " "
        }
    };
    [
        link(&links::revision(receipt.revision), receipt.revision),
        time(receipt.at),
        text(subject.verb),
        text(or_none(subject.solution.as_ref().map(ToString::to_string))),
        text(or_none(subject.version.as_ref().map(ToString::to_string))),
        places,
        outcome(&receipt.outcome),
        text(receipt.origin.person()),
    ]
}

fn outcome(outcome: &Outcome) -> Markup {
    match outcome {
        Outcome::Begun => state(Tone::Neutral, texts::RUNNING),
        Outcome::Interrupted => state(Tone::Bad, texts::INTERRUPTED),
        Outcome::Done => state(Tone::Good, texts::DONE),
        Outcome::Failed(_) => state(Tone::Bad, texts::FAILED),
        Outcome::RolledBack(_) => state(Tone::Bad, texts::ROLLED_BACK),
    }
}

/// `GET /history/{revision}`
pub(crate) async fn show(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let number: u32 = call.name("revision", |number| texts::revision(number))?;
    let cluster = site.cluster().await?;
    let history = importer::history(&cluster, &ChangeFilter::default()).await;
    let history = history.map_err(|error| site.problem(error))?;
    let mut changes = history.revisions.iter();
    let change = changes.find(|change| change.receipt.revision == number);
    let change = change.ok_or_else(|| Problem::not_found(texts::revision(number)))?;
    let json = || serde_json::to_value(change).unwrap_or_else(|_| json!({}));
    let title = texts::revision_title(number);
    Ok(call
        .visit
        .reply(Section::History, &title, || details(&change.receipt), json))
}

fn details(receipt: &ChangeReceipt) -> Markup {
    let subject = &receipt.subject;
    let places = html! {
        ul { @for place in &subject.places {
            li {
                (link(&links::environment(&place.environment), &place.environment))
                ", " (texts::NAMESPACE) " " (place.namespace) ": "
                (place.from.as_ref().map_or_else(|| texts::NONE.to_owned(), |run| run.version.to_string()))
                " → "
                (place.to.as_ref().map_or_else(|| texts::NONE.to_owned(), |run| run.version.to_string()))
            }
        } }
    };
    let reason = match &receipt.outcome {
        Outcome::Failed(reason) | Outcome::RolledBack(reason) => vec![reason.clone()],
        Outcome::Begun | Outcome::Interrupted | Outcome::Done => Vec::new(),
    };
    html! {
        (facts([
            (texts::TIME, time(receipt.at)),
            (texts::COMMAND, text(subject.verb)),
            (texts::RESULT, outcome(&receipt.outcome)),
            (texts::BY, text(receipt.origin.person())),
            (texts::ENVIRONMENTS, places),
        ]))
        (lines(texts::CAUSES, &reason))
        @if !receipt.written.is_empty() { h2 { (texts::WRITTEN) } (objects(&receipt.written)) }
        @if !receipt.removed.is_empty() { h2 { (texts::REMOVED) } (objects(&receipt.removed)) }
    }
}
