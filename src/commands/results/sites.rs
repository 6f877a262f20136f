//! What the verbs answer that are about a site: its environments, its file, and what runs there.

use importer::{Description, SiteShown};
use serde_json::Value;

use super::answers::Results;
use super::references::reference;
use crate::commands::refusal::Refused;
use crate::commands::{
    begin, environment, fleet, history, program, rbac, receipt, render, site, status,
    support_bundle,
};

/// Those about a site: its environments, its file, and what runs there.
pub(super) fn add(all: &mut Results) {
    let created = &all.own::<environment::Created>();
    all.verb("environment-create", &[created]);
    let hindered = &reference("hindered");
    let deleted = &all.own::<environment::delete::Deleted>();
    let unconfirmed = &all.own::<Refused<environment::delete::Deleted>>();
    all.verb("environment-delete", &[deleted, hindered, unconfirmed]);
    let description = &all.own::<Description>();
    all.verb("environment-describe", &[description]);
    let environments = &all.own::<environment::list::Environments>();
    all.verb("environment-list", &[environments]);

    let begun = &all.shared::<begin::Begun>("begun");
    all.verb("site-init", &[begun]);
    let usable = &all.own::<site::file::Usable>();
    let fulfilled = &all.own::<site::check::Fulfilled>();
    let missing = &all.own::<Refused<site::check::Noted>>();
    let unfit = &all.own::<Refused<site::file::Usable>>();
    all.verb("site-check", &[usable, fulfilled, missing, unfit]);
    let set = &all.own::<site::set::KeptSiteFile>();
    all.verb("site-set", &[set]);
    let shown = &all.own::<SiteShown>();
    all.verb("site-show", &[shown]);

    let rendered = &all.own::<render::show::Rendered>();
    let nothing = &all.own::<Refused<render::show::NothingRendered>>();
    all.verb("render", &[rendered, nothing, &reference("report")]);
    fleets(all, begun);
    let list = &all.own::<rbac::RightsList>();
    all.verb("rbac", &[list, &reference("report")]);
    let status = &all.own::<status::ShownStatus>();
    all.verb("status", &[status]);
    let version = &all.own::<program::version::ProgramVersion>();
    all.verb("version", &[version]);
    let bundle = &all.own::<support_bundle::written::WrittenBundle<'_>>();
    let unwritten = &all.own::<Refused<support_bundle::written::UnwrittenBundle<'_>>>();
    all.verb("support-bundle", &[bundle, unwritten]);
    let history = &all.own::<history::shown::ShownHistory>();
    let written = &all.own::<history::written::WrittenReceipt<'_>>();
    all.verb("history", &[history, written]);
    let verified = &all.own::<receipt::show::VerifiedReceipt<'_>>();
    all.verb("receipt-verify", &[verified]);
}

/// Those about the clusters of a fleet.
fn fleets(all: &mut Results, begun: &Value) {
    let prepared = &all.own::<fleet::hub::prepare::PreparedHub>();
    all.verb("fleet-init", &[begun, prepared]);
    let read = &all.own::<fleet::check::ReadFleet>();
    let wrong = &all.own::<Refused<fleet::check::ReadFleet>>();
    all.verb("fleet-check", &[read, wrong]);
    let values = &all.own::<fleet::values::computed::FleetValues>();
    all.verb("fleet-values", &[values, wrong]);
    let report = &reference("report");
    let diff = &all.own::<fleet::diff::shown::FleetDiff>();
    all.verb("fleet-diff", &[diff, wrong, report]);
    let rendered = &all.own::<fleet::render::shown::RenderedFleet>();
    all.verb("fleet-render", &[rendered, wrong, report]);
    let plan = &all.own::<fleet::apply::show::FleetPlan>();
    let unplanned = &all.own::<Refused<fleet::apply::show::FleetPlan>>();
    let applied = &all.own::<fleet::apply::result::FleetApplied>();
    let written = &all.own::<fleet::apply::filing::FleetPlanWritten>();
    all.verb(
        "fleet-apply",
        &[plan, written, unplanned, applied, wrong, report],
    );
    all.verb(
        "fleet-rollback",
        &[plan, written, unplanned, applied, wrong],
    );
    all.verb("fleet-delete", &[plan, unplanned, applied, wrong]);
    let exported = &all.own::<fleet::export::shown::FleetExport>();
    let unexported = &all.own::<Refused<fleet::export::shown::FleetExport>>();
    all.verb("fleet-export", &[exported, unexported, wrong, report]);
    let decision = &all.shared::<fleet::pause::FleetDecision>("fleetDecision");
    all.verb("fleet-pause", &[decision]);
    all.verb("fleet-resume", &[decision]);
    all.verb("fleet-approve", &[decision, wrong]);
    let status = &all.own::<fleet::status::shown::FleetStatus>();
    all.verb("fleet-status", &[status, wrong]);
    let history = &all.own::<fleet::history::shown::FleetHistory>();
    all.verb("fleet-history", &[history, wrong]);
}
