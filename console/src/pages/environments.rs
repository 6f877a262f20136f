//! Environments: the list, one environment, and the forms that create and delete one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::response::Response;
use importer::{
    AdoptionPolicy, Condition, DeployedOperator, Description, EnvironmentNamespace, OperatorStatus,
    Status, VersionStatus,
};
use maud::{Markup, html};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde_json::{Value, json};

use super::listing::Listing;
use super::{history, links, solutions};
use crate::call::Call;
use crate::page::{Section, Tone, facts, lines, link, state, table, text};
use crate::plans::DeletionPlan;
use crate::problem::Problem;
use crate::reply::{self, see_other};
use crate::site::Site;
use crate::texts;

/// `GET /environments`
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    if call.visit.wants_json() {
        return Ok(reply::json(site.status_json().await?));
    }
    let cluster = site.cluster().await?;
    let overview = importer::overview(&cluster).await;
    let mut overview = overview.map_err(|error| site.problem(error))?;
    let places = places(&overview.status);
    let listing = Listing::of("/environments", &call.query, places, Place::text);
    // Only the operators on this page are read, so that a large site takes no longer than a small one.
    let mut shown: BTreeMap<Namespace, BTreeSet<SolutionName>> = BTreeMap::new();
    for place in &listing.rows {
        let solutions = shown.entry(place.space.namespace.clone()).or_default();
        solutions.extend(place.solution.iter().map(|(name, _)| name.clone()));
    }
    let read = overview.read_operators(&cluster, &shown).await;
    read.map_err(|error| site.problem(error))?;
    let body = self::overview(site, &overview.status, &listing);
    let title = texts::ENVIRONMENTS;
    Ok(reply::page(Section::Environments, title, &body))
}

/// A Solution in a namespace of an environment, or a namespace without a Solution.
#[derive(Debug)]
struct Place {
    space: EnvironmentNamespace,
    solution: Option<(SolutionName, Version)>,
}

impl Place {
    /// Returns the text that a filter is compared with.
    fn text(&self) -> String {
        let Self { space, solution } = self;
        let solution = solution.as_ref();
        let solution =
            solution.map_or_else(String::new, |(name, version)| format!("{name} {version}"));
        format!("{} {} {solution}", space.environment, space.namespace)
    }
}

/// Returns each Solution in each namespace, and the namespaces without a Solution.
fn places(status: &Status) -> Vec<Place> {
    let of_space = |space: &EnvironmentNamespace| {
        let place = |solution| Place {
            space: space.clone(),
            solution,
        };
        let solutions = space.solutions.iter();
        let with = solutions.map(|(name, version)| place(Some((name.clone(), version.clone()))));
        let alone = space.solutions.is_empty().then(|| place(None));
        with.chain(alone).collect::<Vec<_>>()
    };
    status.environments.iter().flat_map(of_space).collect()
}

fn overview(site: &Site, status: &Status, listing: &Listing<Place>) -> Markup {
    let rows: Vec<_> = listing
        .rows
        .iter()
        .map(|place| row(site, place, status))
        .collect();
    let unseen = status.unseen.iter();
    let unseen: Vec<_> = unseen
        .map(|part| texts::unreadable(&part.what, &part.right))
        .collect();
    html! {
        @if listing.is_empty() {
            p { (texts::NO_ENVIRONMENTS) }
        } @else {
            (listing.filter_form())
            (table(texts::ENVIRONMENTS, COLUMNS, &rows))
            (listing.pages())
        }
        p { a.button href="/new-environment" { (texts::CREATE_ENVIRONMENT) } }
        (incomplete(&status.incomplete))
        (lines(texts::NOTES, &status.notes))
        (lines(texts::UNSEEN, &unseen))
    }
}

const COLUMNS: [&str; 7] = [
    texts::ENVIRONMENT,
    texts::NAMESPACE,
    texts::SOLUTION,
    texts::VERSION,
    texts::PODS,
    texts::STATUS,
    texts::UPGRADE,
];

fn row(site: &Site, place: &Place, status: &Status) -> [Markup; 7] {
    let Place { space, solution } = place;
    let environment = environment_link(&space.environment);
    let namespace = text(&space.namespace);
    let Some((name, version)) = solution else {
        let words = if space.going {
            texts::BEING_DELETED
        } else {
            texts::NOTHING_DEPLOYED
        };
        let [solution, version, pods, upgrade] = [(); 4].map(|()| text("–"));
        return [
            environment,
            namespace,
            solution,
            version,
            pods,
            text(words),
            upgrade,
        ];
    };
    let mut operators = status.operators.iter();
    let operator = operators
        .find(|operator| operator.namespace == space.namespace && operator.solution == *name);
    let (pods, condition) = match operator {
        Some(operator) => (text(pods(operator)), condition(site, operator, space.going)),
        None => (text("–"), text("–")),
    };
    [
        environment,
        namespace,
        text(name),
        version_link(name, version),
        pods,
        condition,
        upgrade_link(space, name, version, &status.versions),
    ]
}

fn environment_link(environment: &EnvironmentName) -> Markup {
    link(&links::environment(environment), environment)
}

fn version_link(solution: &SolutionName, version: &Version) -> Markup {
    link(&links::version(solution, version), version)
}

/// Returns the newest imported version of a Solution, if it is newer than the running one.
fn find_upgrade<'a>(
    known: impl Iterator<Item = (&'a SolutionName, &'a Version)>,
    name: &SolutionName,
    running: &Version,
) -> Option<&'a Version> {
    let newer = known.filter(|(other, version)| *other == name && *version > running);
    newer.map(|(_, version)| version).max()
}

/// Returns the link to upgrade to the newest imported version, if it is newer than the running one.
fn upgrade_link(
    space: &EnvironmentNamespace,
    name: &SolutionName,
    running: &Version,
    versions: &[VersionStatus],
) -> Markup {
    let records = versions.iter().map(|version| &version.record);
    let known = records.map(|record| (&record.name, &record.version));
    let Some(newest) = find_upgrade(known, name, running) else {
        return text("–");
    };
    let path = links::form(&space.environment, name, "deploy");
    let namespace = &space.namespace;
    let path = format!("{path}?version={newest}&namespace={namespace}");
    link(&path, texts::to(newest))
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
        Condition::Ready => (Tone::Good, texts::READY),
        Condition::NotReady => (Tone::Bad, texts::NOT_READY),
        Condition::OtherVersion => (Tone::Bad, texts::OTHER_VERSION),
        Condition::Changed => (Tone::Bad, texts::CHANGED_SINCE),
        Condition::Gone => (Tone::Bad, texts::MISSING),
        Condition::Unseen => (Tone::Neutral, texts::UNKNOWN),
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
pub(crate) async fn show(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
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
    let newest = find_upgrade(versions.iter().copied(), name, &operator.version);
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
pub(crate) async fn choose(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
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

/// `GET /new-environment`
pub(crate) async fn new(call: Call) -> Result<Response, Problem> {
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
pub(crate) async fn create(call: Call) -> Result<Response, Problem> {
    let form = call.form()?;
    let environment: EnvironmentName = form.required("environment")?;
    let namespace: Option<Namespace> = form.parsed("namespace")?;
    let namespace = namespace.unwrap_or_else(|| importer::default_namespace(&environment));
    let description = form.text("description").map(str::to_owned);
    let title = texts::create_environment(&environment);
    let user = Arc::clone(&call.user);
    let run = call
        .console
        .runs
        .start(&call.user, title, |run| async move {
            let site = &user.site;
            let cluster = site.cluster().await?;
            let description = description.as_deref();
            let tell = |event| run.take(&event, (site.program.explain.event)(&event));
            let created = site.change(&cluster, false, &tell, async |change| {
                let adopt = AdoptionPolicy::Refuse;
                importer::create_environment(change, &environment, &namespace, description, adopt)
                    .await
            });
            created.await?.map_err(|error| site.problem(error))?;
            Ok(json!({ "environment": environment, "namespace": namespace }))
        })?;
    Ok(see_other(&links::run(&run.id)))
}

/// `GET /environments/{environment}/delete`
pub(crate) async fn confirm_deletion(call: Call) -> Result<Response, Problem> {
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
pub(crate) async fn plan_deletion(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let environment: EnvironmentName = call.name("environment", |name| texts::environment(name))?;
    let delete_resources = call.form()?.is_checked("resources");
    let cluster = site.cluster().await?;
    let plan = DeletionPlan::make(site, &cluster, environment, delete_resources).await?;
    let id = call.user.plans.add(plan, None)?;
    Ok(see_other(&links::plan(&id)))
}
