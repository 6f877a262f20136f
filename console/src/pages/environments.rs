//! Environments: the list, one environment, and the forms that create and delete one.

use std::sync::Arc;

use axum::response::Response;
use importer::{
    AdoptionPolicy, Condition, DeployedOperator, Description, EnvironmentNamespace, OperatorStatus,
    Status, VersionStatus,
};
use maud::{Markup, html};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde_json::{Value, json};

use super::{history, links, solutions};
use crate::call::Call;
use crate::page::{Section, Tone, facts, lines, link, state, table, text};
use crate::plans::{DeletionPlan, PlanKind, separate_blocked};
use crate::problem::Problem;
use crate::reply::see_other;
use crate::site::Site;
use crate::state::Console;
use crate::texts;

/// `GET /environments`
pub(crate) async fn list(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let site = &console.site;
    let cluster = site.cluster().await?;
    let status = importer::status(&cluster, None).await;
    let status = status.map_err(|error| site.problem(error))?;
    let json = || (site.program.results.status)(&status);
    Ok(call.visit.reply(
        Section::Environments,
        texts::ENVIRONMENTS,
        || overview(site, &status),
        json,
    ))
}

fn overview(site: &Site, status: &Status) -> Markup {
    let rows: Vec<_> = status
        .environments
        .iter()
        .flat_map(|space| rows(site, space, status))
        .collect();
    let unseen: Vec<_> = status
        .unseen
        .iter()
        .map(|part| texts::unreadable(&part.what, &part.right))
        .collect();
    html! {
        @if rows.is_empty() {
            p { (texts::NO_ENVIRONMENTS) }
        } @else {
            (table(
                texts::ENVIRONMENTS,
                [
                    texts::ENVIRONMENT,
                    texts::NAMESPACE,
                    texts::SOLUTION,
                    texts::VERSION,
                    texts::PODS,
                    texts::STATUS,
                    texts::UPGRADE,
                ],
                &rows,
            ))
        }
        p { a.button href="/environments/new" { (texts::CREATE_ENVIRONMENT) } }
        (incomplete(&status.incomplete))
        (lines(texts::NOTES, &status.notes))
        (lines(texts::UNSEEN, &unseen))
    }
}

/// Returns a row for each Solution in a namespace, or one row if there is none.
fn rows(site: &Site, space: &EnvironmentNamespace, status: &Status) -> Vec<[Markup; 7]> {
    let environment = environment_link(&space.environment);
    let operators = status.operators.iter();
    let here = operators.filter(|operator| operator.namespace == space.namespace);
    let row = |operator: &OperatorStatus| {
        [
            environment.clone(),
            text(&space.namespace),
            text(&operator.solution),
            version_link(&operator.solution, &operator.version),
            text(pods(operator)),
            condition(site, operator, space.going),
            upgrade_link(operator, &status.versions),
        ]
    };
    let rows: Vec<_> = here.map(row).collect();
    if !rows.is_empty() {
        return rows;
    }
    let words = if space.going {
        texts::BEING_DELETED
    } else {
        texts::NOTHING_DEPLOYED
    };
    let [solution, version, pods, upgrade] = [(); 4].map(|()| text("–"));
    vec![[
        environment,
        text(&space.namespace),
        solution,
        version,
        pods,
        text(words),
        upgrade,
    ]]
}

fn environment_link(environment: &EnvironmentName) -> Markup {
    link(&links::environment(environment), environment)
}

fn version_link(solution: &SolutionName, version: &Version) -> Markup {
    link(&links::version(solution, version), version)
}

/// Returns the link to upgrade to the newest imported version that is newer than the running one.
fn upgrade_link(operator: &OperatorStatus, versions: &[VersionStatus]) -> Markup {
    let records = versions.iter().map(|version| &version.record);
    let newer = records
        .filter(|record| record.name == operator.solution && record.version > operator.version);
    let newest = newer.map(|record| &record.version).max();
    let Some(newest) = newest else {
        return text("–");
    };
    let path = links::form(&operator.environment, &operator.solution, "deploy");
    let namespace = &operator.namespace;
    link(
        &format!("{path}?version={newest}&namespace={namespace}"),
        texts::to(newest),
    )
}

fn pods(operator: &OperatorStatus) -> String {
    let Some([ready, wanted]) = operator.pods.or(operator.ready) else {
        return "–".to_owned();
    };
    format!("{ready}/{wanted}")
}

/// Returns the condition of an operator, with the reason and the next step if it is not ready.
fn condition(site: &Site, operator: &OperatorStatus, is_going: bool) -> Markup {
    let (tone, words) = match operator.condition {
        _ if is_going => (Tone::Neutral, texts::BEING_DELETED),
        Condition::Ready => (Tone::Good, "ready"),
        Condition::NotReady => (Tone::Bad, "not ready"),
        Condition::OtherVersion => (Tone::Bad, "another version runs"),
        Condition::Changed => (Tone::Bad, "changed since the deployment"),
        Condition::Gone => (Tone::Bad, "missing"),
        Condition::Unseen => (Tone::Neutral, "unknown"),
    };
    html! {
        (state(tone, words))
        @if let Some(why) = &operator.why { p.reason { (why) } }
        @if let Some(hint) = (site.program.explain.operator)(operator) { p.reason { (hint) } }
    }
}

/// Returns the list of incomplete changes, with links to their receipts.
fn incomplete(changes: &[importer::ChangeReceipt]) -> Markup {
    let rows: Vec<_> = changes.iter().map(history::row).collect();
    html! {
        @if !rows.is_empty() {
            h2 { (texts::INCOMPLETE) }
            (history::changes(texts::INCOMPLETE, &rows))
        }
    }
}

/// `GET /environments/{environment}`
pub(crate) async fn show(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let site = &console.site;
    let environment: EnvironmentName = call.name("environment", |name| texts::environment(name))?;
    let cluster = site.cluster().await?;
    let described = importer::describe_environment(&cluster, &environment).await;
    let described = described.map_err(|error| site.problem(error))?;
    let records = importer::records(&cluster).await;
    let records = records.map_err(|error| site.problem(error))?;
    let versions: Vec<_> = records
        .iter()
        .map(|record| (&record.name, &record.version))
        .collect();
    let title = texts::environment_title(&environment);
    let body = || description(site, &described, &versions);
    let json = || serde_json::to_value(&described).unwrap_or_default();
    Ok(call.visit.reply(Section::Environments, &title, body, json))
}

fn description(
    site: &Site,
    described: &Description,
    versions: &[(&SolutionName, &Version)],
) -> Markup {
    let environment = &described.environment;
    html! {
        @for space in &described.namespaces {
            section {
                h2 { (texts::NAMESPACE) " " (space.namespace) }
                @if !space.description.is_empty() { p { (space.description) } }
                @if space.operators.is_empty() {
                    p { (texts::NOTHING_DEPLOYED) }
                }
                @for deployed in &space.operators {
                    (solution(site, environment, deployed, versions))
                }
            }
        }
        p.actions {
            a.button href=(format!("{}/deploy", links::environment(environment))) { (texts::DEPLOY_SOLUTION) }
            " "
            a.button.danger href=(format!("{}/delete", links::environment(environment))) { (texts::DELETE_ENVIRONMENT) }
        }
        (incomplete(&described.incomplete))
        (lines(texts::NOTES, &described.notes))
    }
}

/// Returns a Solution in an environment, with its health and the changes that a user can make.
fn solution(
    site: &Site,
    environment: &EnvironmentName,
    deployed: &DeployedOperator,
    versions: &[(&SolutionName, &Version)],
) -> Markup {
    let operator = &deployed.operator;
    let (name, namespace) = (&operator.solution, &operator.namespace);
    let newer = versions
        .iter()
        .filter(|(other, version)| *other == name && **version > operator.version);
    let newest = newer.map(|(_, version)| *version).max();
    let form = |verb: &str| {
        format!(
            "{}?namespace={namespace}",
            links::form(environment, name, verb)
        )
    };
    html! {
        article {
            h3 { (name) " " (version_link(name, &operator.version)) }
            (facts([
                (texts::STATUS, condition(site, operator, false)),
                (texts::PODS, text(pods(operator))),
            ]))
            @if !deployed.parameters.is_empty() {
                (facts([(texts::PARAMETERS, html! {
                    ul { @for (name, value) in &deployed.parameters { li { code { (name) ": " (value) } } } }
                })]))
            }
            p.actions {
                @if let Some(newest) = newest {
                    a.button.primary href=(format!("{}&version={newest}", form("deploy"))) { (texts::to(newest)) }
                    " "
                }
                a.button href=(format!("{}&version={}", form("deploy"), operator.version)) { (texts::CHANGE_VALUES) }
                " "
                a.button href=(form("rollback")) { (texts::ROLL_BACK) }
                " "
                a.button.danger href=(form("undeploy")) { (texts::UNDEPLOY) }
            }
        }
    }
}

/// `GET /environments/{environment}/deploy`
pub(crate) async fn choose(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let site = &console.site;
    let environment: EnvironmentName = call.name("environment", |name| texts::environment(name))?;
    let cluster = site.cluster().await?;
    let records = importer::records(&cluster).await;
    let records = records.map_err(|error| site.problem(error))?;
    let mut names: Vec<_> = records.iter().map(|record| &record.name).collect();
    names.dedup();
    let title = texts::deploy_here(&environment);
    let body = || {
        html! {
            @if names.is_empty() {
                (solutions::none(site))
            } @else {
                ul.choices { @for name in &names {
                    li { (link(&links::form(&environment, name, "deploy"), name)) }
                } }
            }
        }
    };
    Ok(call.visit.reply(
        Section::Environments,
        &title,
        body,
        || json!({ "solutions": names }),
    ))
}

/// `GET /environments/new`
pub(crate) async fn new(_: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let body = || {
        html! {
            form method="post" action="/environments" {
                (field("environment", texts::ENVIRONMENT, None, true))
                (field("namespace", texts::NAMESPACE, Some(texts::NAMESPACE_HELP), false))
                (field("description", texts::DESCRIPTION, None, false))
                p { (texts::CREATE_HELP) }
                button.primary { (texts::CREATE) }
            }
        }
    };
    let title = texts::CREATE_ENVIRONMENT;
    Ok(call
        .visit
        .reply(Section::Environments, title, body, || Value::Null))
}

fn field(name: &str, label: &str, help: Option<&str>, is_required: bool) -> Markup {
    let help_id = format!("{name}-help");
    html! {
        div.field {
            label for=(name) { (label) @if !is_required { " (" (texts::OPTIONAL) ")" } }
            @if let Some(help) = help { p.help id=(help_id) { (help) } }
            input id=(name) name=(name) required[is_required] autocomplete="off"
                aria-describedby=[help.map(|_| help_id)];
        }
    }
}

/// `POST /environments`
pub(crate) async fn create(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let form = call.form()?;
    let environment: EnvironmentName = form.required("environment")?;
    let namespace: Option<Namespace> = form.parsed("namespace")?;
    let namespace = namespace.unwrap_or_else(|| importer::default_namespace(&environment));
    let description = form.text("description").map(str::to_owned);
    let title = texts::create_environment(&environment);
    let task = Arc::clone(&console);
    let run = console.runs.start(title, |run| async move {
        let site = &task.site;
        let cluster = site.cluster().await?;
        let description = description.as_deref();
        let tell = |event| run.take(&event, (site.program.explain.event)(&event));
        let created = site.change(&cluster, false, &tell, async |change| {
            let adopt = AdoptionPolicy::Refuse;
            importer::create_environment(change, &environment, &namespace, description, adopt).await
        });
        created.await?.map_err(|error| site.problem(error))?;
        Ok(json!({ "environment": environment, "namespace": namespace }))
    })?;
    Ok(see_other(&links::run(&run.id)))
}

/// `GET /environments/{environment}/delete`
pub(crate) async fn confirm_deletion(_: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let environment: EnvironmentName = call.name("environment", |name| texts::environment(name))?;
    let title = texts::delete_environment(&environment);
    let body = || {
        html! {
            p { (texts::PLAN_FIRST) }
            form method="post" {
                p { label { input type="checkbox" name="resources"; " " (texts::DELETE_RESOURCES) } }
                button.primary { (texts::SHOW_PLAN) }
            }
        }
    };
    Ok(call
        .visit
        .reply(Section::Environments, &title, body, || Value::Null))
}

/// `POST /environments/{environment}/delete`
pub(crate) async fn plan_deletion(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let site = &console.site;
    let environment: EnvironmentName = call.name("environment", |name| texts::environment(name))?;
    let delete_resources = call.form()?.is_checked("resources");
    let cluster = site.cluster().await?;
    let planned = site.change(&cluster, true, &|_| (), async |change| {
        importer::delete_environment(change, &environment, delete_resources).await
    });
    let shown = separate_blocked(planned.await?, site)?;
    let plan = DeletionPlan {
        environment,
        delete_resources,
        shown,
    };
    let id = console.plans.add(PlanKind::EnvironmentDeletion(plan))?;
    Ok(see_other(&links::plan(&id)))
}
