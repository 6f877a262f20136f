//! Solutions: the imported versions, and one version with its signers, images and parameters.

use std::sync::Arc;

use axum::response::Response;
use importer::{PlannedRight, VersionOutline, VersionStatus};
use maud::{Markup, html};
use schemas::{Parameter, SolutionName, Version};
use serde_json::Value;
use store::Record;

use super::links;
use crate::call::Call;
use crate::page::{Section, Tone, code, facts, link, state, table, text, time};
use crate::problem::Problem;
use crate::site::Site;
use crate::state::Console;
use crate::texts;

/// `GET /solutions`
pub(crate) async fn list(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let site = &console.site;
    let cluster = site.cluster().await?;
    let status = importer::status(&cluster, None).await;
    let status = status.map_err(|error| site.problem(error))?;
    let json = || (site.program.results.status)(&status);
    Ok(call.visit.reply(
        Section::Solutions,
        texts::SOLUTIONS,
        || versions(site, &status.versions),
        json,
    ))
}

/// Returns the text for a site without Solutions.
pub(super) fn none(site: &Site) -> Markup {
    html! { p { (texts::NO_SOLUTIONS) " " (site.program.explain.import) } }
}

fn versions(site: &Site, versions: &[VersionStatus]) -> Markup {
    let rows: Vec<_> = versions.iter().map(row).collect();
    html! {
        @if rows.is_empty() {
            (none(site))
        } @else {
            (table(
                texts::SOLUTIONS,
                [
                    texts::SOLUTION,
                    texts::VERSION,
                    texts::SIGNED_BY,
                    texts::CRDS,
                    texts::DEPLOYED_IN,
                    texts::IMPORTED,
                ],
                &rows,
            ))
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

fn places(version: &VersionStatus) -> Markup {
    html! {
        @if version.environments.is_empty() { (texts::NONE) }
        @for environment in &version.environments {
            (link(&links::environment(environment), environment)) " "
        }
    }
}

/// `GET /solutions/{solution}/{version}`
pub(crate) async fn show(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let site = &console.site;
    let missing = |_: &str| texts::VERSION_OF_PATH.to_owned();
    let name: SolutionName = call.name("solution", missing)?;
    let number: Version = call.name("version", missing)?;
    let cluster = site.cluster().await?;
    let status = importer::status(&cluster, None).await;
    let status = status.map_err(|error| site.problem(error))?;
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
pub(crate) async fn rights(console: Arc<Console>, call: Call) -> Result<Response, Problem> {
    let site = &console.site;
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
