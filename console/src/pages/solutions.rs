//! Solutions: the imported versions, and one version with its signers, images and parameters.

use axum::response::Response;
use importer::{PlannedRight, Status, VersionOutline, VersionStatus};
use maud::{Markup, html};
use schemas::{Parameter, SolutionName, Version};
use serde_json::Value;
use store::Record;

use super::links;
use super::listing::Listing;
use crate::call::Call;
use crate::forms::Form;
use crate::page::{Section, Tone, code, facts, link, state, table, text, time};
use crate::problem::Problem;
use crate::reply;
use crate::site::Site;
use crate::texts;

/// The largest number of environments that are named.
const MOST_PLACES: usize = 5;

/// `GET /solutions`
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    if call.visit.wants_json() {
        return Ok(reply::json(site.status_json().await?));
    }
    let status = status(site).await?;
    let body = versions(site, &status.versions, &call.query);
    Ok(reply::page(Section::Solutions, texts::SOLUTIONS, &body))
}

/// Returns the status of the site without its operators, which are not shown here.
async fn status(site: &Site) -> Result<Status, Problem> {
    let overview = importer::overview(&site.cluster().await?).await;
    Ok(overview.map_err(|error| site.problem(error))?.status)
}

/// Returns the text for a site without Solutions.
pub(super) fn none(site: &Site) -> Markup {
    html! { p { (texts::NO_SOLUTIONS) " " (site.program.explain.import) } }
}

fn versions(site: &Site, versions: &[VersionStatus], query: &Form) -> Markup {
    let all = versions.iter().collect();
    let listing = Listing::of("/solutions", query, all, |version: &&VersionStatus| {
        format!("{} {}", version.record.name, version.record.version)
    });
    let rows: Vec<_> = listing.rows.iter().map(|version| row(version)).collect();
    let titles = [
        texts::SOLUTION,
        texts::VERSION,
        texts::SIGNED_BY,
        texts::CRDS,
        texts::DEPLOYED_IN,
        texts::IMPORTED,
    ];
    html! {
        @if listing.is_empty() {
            (none(site))
        } @else {
            (listing.filter_form())
            (table(texts::SOLUTIONS, titles, &rows))
            (listing.pages())
        }
    }
}

fn row(version: &VersionStatus) -> [Markup; 6] {
    let record = &version.record;
    let path = links::version(&record.name, &record.version);
    let crds = if version.active {
        texts::ACTIVE
    } else {
        texts::NOT_ACTIVE
    };
    [
        text(&record.name),
        link(&path, &record.version),
        signers(record),
        text(crds),
        places(version),
        time(record.imported),
    ]
}

fn signers(record: &Record) -> Markup {
    html! {
        @if record.signers.is_empty() { (state(Tone::Bad, texts::NOT_SIGNED)) }
        @for key in &record.signers { span.key { (texts::KEY) " " code { (key.short()) } } " " }
    }
}

/// Returns links to the environments of a version. Many environments are a number, with a link to the list.
fn places(version: &VersionStatus) -> Markup {
    let environments = &version.environments;
    html! {
        @if environments.is_empty() {
            (texts::NONE)
        } @else if environments.len() > MOST_PLACES {
            @let path = format!("/environments?filter={}", version.record.name);
            (link(&path, texts::environments(environments.len())))
        } @else {
            @for environment in environments { (link(&links::environment(environment), environment)) " " }
        }
    }
}

/// `GET /solutions/{solution}/{version}`
pub(crate) async fn show(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let missing = |_: &str| texts::VERSION_OF_PATH.to_owned();
    let name: SolutionName = call.name("solution", missing)?;
    let number: Version = call.name("version", missing)?;
    let status = status(site).await?;
    let mut found = status.versions.iter();
    let found =
        found.find(|version| version.record.name == name && version.record.version == number);
    let found = found.ok_or_else(|| Problem::not_found(texts::imported_version(&name, &number)))?;
    let title = format!("{name} {number}");
    let json = || serde_json::to_value(found).unwrap_or_default();
    Ok(call
        .visit
        .reply(Section::Solutions, &title, || details(found), json))
}

fn details(version: &VersionStatus) -> Markup {
    let record = &version.record;
    let spec = &record.manifest.spec;
    let expires = record.expires.map_or_else(|| text("–"), time);
    let crds = if version.active {
        texts::ACTIVE
    } else {
        texts::NOT_ACTIVE
    };
    let images: Vec<_> = record
        .images
        .iter()
        .map(|image| [code(&image.image), code(image.digest)])
        .collect();
    let charts: Vec<_> = spec
        .charts
        .iter()
        .map(|chart| {
            [
                text(&chart.name),
                text(format_args!("{} {}", chart.chart, chart.version)),
            ]
        })
        .collect();
    let parameters = spec.parameters.iter().map(|(name, parameter)| {
        let words = parameter.description.as_deref().unwrap_or_default();
        [
            code(name),
            text(kind(parameter)),
            default(parameter),
            text(words),
        ]
    });
    let parameters: Vec<_> = parameters.collect();
    html! {
        (facts([
            (texts::SIGNED_BY, signers(record)),
            (texts::ARCHIVE, code(record.archive_id)),
            (texts::REGISTRY, text(&record.endpoint)),
            (texts::IMPORTED, time(record.imported)),
            (texts::EXPIRES, expires),
            (texts::CRDS, text(crds)),
            (texts::DEPLOYED_IN, places(version)),
        ]))
        p { (link(&links::rights(&record.name, &record.version), texts::RIGHTS)) }
        @if !parameters.is_empty() {
            (table(
                texts::PARAMETERS,
                [texts::PARAMETER, texts::TYPE, texts::DEFAULT, texts::DESCRIPTION],
                &parameters,
            ))
        }
        @if !charts.is_empty() { (table(texts::CHARTS, [texts::CHART, texts::VERSION], &charts)) }
        @if !images.is_empty() { (table(texts::IMAGES, [texts::IMAGE, texts::DIGEST], &images)) }
    }
}

/// `GET /solutions/{solution}/{version}/rights`: what the archive itself says. It is read from the registry and checked.
pub(crate) async fn rights(call: Call) -> Result<Response, Problem> {
    let site = &call.user.site;
    let missing = |_: &str| texts::VERSION_OF_PATH.to_owned();
    let name: SolutionName = call.name("solution", missing)?;
    let number: Version = call.name("version", missing)?;
    let cluster = site.cluster().await?;
    let imported = site.imported(&cluster, &name, Some(&number)).await?;
    let outline = VersionOutline::of(&imported.archive.accepted);
    let outline = outline.map_err(|error| site.problem(error))?;
    let title = texts::rights_of(&name, &number);
    let json = || serde_json::to_value(&outline).unwrap_or_default();
    Ok(call
        .visit
        .reply(Section::Solutions, &title, || self::outline(&outline), json))
}

fn outline(outline: &VersionOutline) -> Markup {
    let definitions = outline.definitions.iter().map(|definition| {
        let versions = definition
            .versions
            .iter()
            .map(|version| version.name.as_str());
        let versions = versions.collect::<Vec<_>>().join(", ");
        [
            code(&definition.name),
            text(&definition.kind),
            text(&definition.scope),
            text(versions),
        ]
    });
    let definitions: Vec<_> = definitions.collect();
    html! {
        p { (texts::RIGHTS_HELP) }
        @if outline.rights.is_empty() { p { (texts::NO_RIGHTS_AT_ALL) } }
        (right_list(&outline.rights))
        @if !definitions.is_empty() {
            (table(texts::CRDS, [texts::CRDS, texts::KIND, texts::SCOPE, texts::VERSION], &definitions))
        }
    }
}

/// Returns a list of rights, with the danger of each.
pub(super) fn right_list(rights: &[PlannedRight]) -> Markup {
    html! {
        ul { @for right in rights {
            li {
                (right.right)
                @if let Some(danger) = &right.danger { ": " (state(Tone::Bad, danger)) }
            }
        } }
    }
}

/// Returns the name of a parameter's type, as in a manifest.
pub(super) fn kind(parameter: &Parameter) -> String {
    let kind = serde_json::to_value(parameter.kind);
    kind.ok()
        .and_then(|kind| kind.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// Returns the default of a parameter, or how its value is determined without one.
pub(super) fn default(parameter: &Parameter) -> Markup {
    match &parameter.default {
        Some(_) if parameter.sensitive => text(texts::SECRET_VALUE),
        Some(default) => code(plain(default)),
        None if parameter.generate.is_some() => text(texts::GENERATED),
        None => text(texts::REQUIRED),
    }
}

/// Returns a value as text: a string without quotes, any other value as JSON.
pub(super) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
