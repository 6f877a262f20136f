//! The results of each verb. A test compares the schemas with the committed files, so a changed result is always
//! visible in a review.

use importer::{Deletion, Description, History, Receipt, RemovalReport, SiteShown};
use packager::{AddedImages, PackReport, Preview};
use release::UpdateReport;
use serde_json::Value;
use store::{ImagesToPush, PushReceipt, PushSummary};

use super::{Results, reference, said};
use crate::commands::apply::configuration::show::ConfigurationResult;
use crate::commands::archive::{self, extract, values};
use crate::commands::blocked::{BlockedPlan, BlockedRemoval};
use crate::commands::image_map::{Mapped, ShownMap};
use crate::commands::import::plan_action;
use crate::commands::import::show::ShownPlan;
use crate::commands::registry::{check, export, login, mirrors, prune, serve, verify};
use crate::commands::site::{self, rbac};
use crate::commands::{
    CreatedFile, Files, checksums, compare, config, console, diff, environment, explain, fleet,
    history, init, inspect, keygen, pack, program, receipt, render, setup, sign, status,
    support_bundle, trust, validate,
};

/// Adds the verbs for archives, keys and trust, and for the program itself.
pub(super) fn add_archive_verbs(all: &mut Results, report: &Value) {
    let made = &all.own::<keygen::MadeKeys>();
    all.verb("keygen", &[made]);
    let files = &all.shared::<Files>("files");
    all.verb("man", &[files]);
    all.verb("cat", &[]);
    let settings = &all.own::<config::ShownSettings>();
    all.verb("config-view", &[settings]);
    let checked = &all.own::<setup::check::CheckedSetup>();
    all.verb("setup", &[checked]);
    let explanation = &all.own::<explain::Explanation>();
    all.verb("explain", &[explanation]);
    let schemas = &all.own::<program::Schemas>();
    all.verb("schema", &[schemas]);
    all.verb("completion", &[]);
    let chart = &all.own::<init::chart::ChartTree>();
    let helmfile = &all.own::<init::helmfile::HelmfileTree>();
    let release = &all.own::<init::release::ReleaseTree>();
    let updated = &said(
        "With a release and `--update`: the updated source tree.",
        &all.own::<UpdateReport>(),
    );
    all.verb("init", &[files, chart, helmfile, release, updated]);

    let packed = &all.own::<pack::WithSource<PackReport>>();
    let refused = &all.own::<pack::RefusedPack>();
    let preview = &said(
        "With `--check`: the planned archive.",
        &all.own::<pack::WithSource<Preview>>(),
    );
    let added = &said(
        "With `--add-images`: the added images.",
        &all.own::<AddedImages>(),
    );
    all.verb("pack", &[packed, refused, preview, added]);
    let validated = &all.own::<validate::Validated>();
    all.verb("validate", &[validated]);
    let signed = &all.own::<sign::Signed>();
    let to_sign = &all.own::<sign::ToSign>();
    all.verb("sign", &[signed, to_sign]);
    let signed = &all.own::<checksums::SignedChecksums>();
    all.verb("checksums-sign", &[signed]);
    let verified = &all.own::<checksums::VerifiedChecksums<'_>>();
    all.verb("checksums-verify", &[verified]);
    let archive = &all.own::<inspect::archive::InspectedArchive>();
    let plan = &all.own::<inspect::plan::InspectedPlan>();
    let fleet_plan = &all.own::<inspect::plan::InspectedFleetPlan>();
    all.verb("inspect", &[archive, plan, fleet_plan]);
    let listing = &all.own::<archive::Listing>();
    all.verb("ls", &[listing]);
    let extracted = &all.own::<extract::ExtractedFiles>();
    all.verb("extract", &[extracted]);
    let mounted = &all.own::<extract::MountedFiles>();
    all.verb("mount", &[mounted]);
    let compared = &all.own::<compare::ComparedArchives>();
    all.verb("compare", &[compared, report]);
    let choices = &all.own::<values::SiteChoices>();
    all.verb("values", &[choices]);
    let differences = &all.own::<diff::DiffResult>();
    all.verb("diff", &[differences, report]);

    let policy = &all.shared::<trust::ShownPolicy>("policy");
    all.verb("trust-add", &[policy]);
    let policies = &all.own::<trust::Policies>();
    all.verb("trust-list", &[policies]);
    let removed = &all.own::<trust::RemovedTrust>();
    all.verb("trust-remove", &[removed, policy]);
}

/// Adds the verbs that change a cluster.
pub(super) fn add_change_verbs(all: &mut Results, report: &Value) {
    let receipt = &all.shared::<Mapped<Receipt>>("receipt");
    let dry_run = &all.shared::<Mapped<ShownPlan>>("dryRun");
    let written = &all.shared::<plan_action::WrittenPlan>("writtenPlan");
    let refused = &all.shared::<BlockedPlan<ShownPlan>>("refusedPlan");
    let planned = [receipt, dry_run, written, refused, report];
    all.verb("activate", &planned);
    all.verb("rollback", &planned);

    let undone = &all.shared::<RemovalReport>("undone");
    let blocked = &all.shared::<BlockedRemoval>("hindered");
    all.verb("deploy", &[&planned[..], &[blocked]].concat());
    let unconfirmed = &all.shared::<BlockedPlan<RemovalReport>>("unconfirmedRemoval");
    for verb in ["deactivate", "undeploy", "unimport"] {
        all.verb(verb, &[undone, blocked, unconfirmed]);
    }
    let deletion = &all.own::<Deletion>();
    let kept = &all.own::<BlockedPlan<Deletion>>();
    let deletion = &said(
        "With `--dry-run`: the planned removals, and the content that is kept.",
        deletion,
    );
    all.verb("delete", &[undone, deletion, kept]);

    let pushed = &all.shared::<Mapped<PushReceipt, ShownMap>>("pushReceipt");
    let push = &all.shared::<Mapped<PushSummary, ShownMap>>("pushDryRun");
    let refused_push = &all.shared::<BlockedPlan<PushSummary>>("refusedPush");
    let push = [pushed, push, refused_push];
    // With `--no-cluster`, the old spelling of `push`.
    all.verb("import", &[&planned[..], &push].concat());
    all.verb("push", &[&push[..], &[report]].concat());

    let steps = &all.own::<ConfigurationResult>();
    let unconfirmed = &all.own::<BlockedPlan<ConfigurationResult>>();
    let in_place = &all.own::<plan_action::AppliedPlan>();
    all.verb(
        "apply",
        &[
            steps,
            unconfirmed,
            &said("With `--plan`: the result.", receipt),
            &said("With `--plan` and `--dry-run`: the plan.", dry_run),
            in_place,
            &said(
                "With `--plan`: the blockers, or the changes since the plan was created.",
                refused,
            ),
            &said("With `--plan`: the archive is not accepted.", report),
        ],
    );
}

/// Adds the verbs for registries.
pub(super) fn add_registry_verbs(all: &mut Results, report: &Value) {
    let logged_in = &all.own::<login::LoggedIn>();
    all.verb("login", &[logged_in]);
    let logged_out = &all.own::<login::LoggedOut>();
    all.verb("logout", &[logged_out]);
    let alone = &all.own::<check::ShownPreflight<()>>();
    let archive = &all.own::<check::ShownPreflight<ImagesToPush>>();
    all.verb("preflight", &[alone, archive, report]);
    let exported = &all.own::<export::Exported>();
    all.verb("export", &[exported, report]);
    let pruned = &all.own::<prune::PruneResult>();
    let kept = &all.own::<BlockedPlan<prune::PruneResult>>();
    all.verb("registry-prune", &[pruned, kept]);
    let found = &all.own::<verify::Verification>();
    all.verb("registry-verify", &[found, report]);
    let mirrors = &all.own::<mirrors::MirrorConfiguration>();
    all.verb("mirrors", &[mirrors, report]);
    let event = &all.own::<serve::log::ServeLogLine>();
    all.verb("serve", &[event]);
    let lines = "One object per line while the server runs.";
    all.describe("serve", lines);
}

/// Adds the verbs for a site: its environments, its configuration and its status.
pub(super) fn add_site_verbs(all: &mut Results) {
    let created = &all.own::<environment::CreatedEnvironment>();
    all.verb("environment-create", &[created]);
    let blocked = &reference("hindered");
    let deleted = &all.own::<environment::delete::ShownDeletion>();
    let unconfirmed = &all.own::<BlockedPlan<environment::delete::ShownDeletion>>();
    all.verb("environment-delete", &[deleted, blocked, unconfirmed]);
    let description = &all.own::<Description>();
    all.verb("environment-describe", &[description]);
    let environments = &all.own::<environment::Environments>();
    all.verb("environment-list", &[environments]);

    let begun = &all.shared::<CreatedFile>("begun");
    all.verb("site-init", &[begun]);
    let usable = &all.own::<site::check::Usable>();
    let fulfilled = &all.own::<site::check::FulfilledRequirement>();
    let missing = &all.own::<BlockedPlan<site::check::CheckNotes>>();
    let unfit = &all.own::<BlockedPlan<site::check::Usable>>();
    all.verb("site-check", &[usable, fulfilled, missing, unfit]);
    let set = &all.own::<site::KeptSiteFile>();
    all.verb("site-set", &[set]);
    let shown = &all.own::<SiteShown>();
    all.verb("site-show", &[shown]);

    let rendered = &all.own::<render::show::Rendered>();
    let nothing = &all.own::<BlockedPlan<render::show::NothingRendered>>();
    all.verb("render", &[rendered, nothing, &reference("report")]);
    fleets(all, begun);
    let list = &all.own::<rbac::RightsList>();
    all.verb("rbac", &[list, &reference("report")]);
    let status = &all.own::<status::ShownStatus>();
    all.verb("status", &[status]);
    let console = &all.own::<console::StartedConsole>();
    all.verb("console", &[console]);
    let version = &all.own::<program::ProgramVersion>();
    all.verb("version", &[version]);
    let bundle = &all.own::<support_bundle::WrittenBundle<'_>>();
    let unwritten = &all.own::<BlockedPlan<support_bundle::UnwrittenBundle<'_>>>();
    all.verb("support-bundle", &[bundle, unwritten]);
    let history = &all.own::<History>();
    let written = &all.own::<history::WrittenReceipt<'_>>();
    all.verb("history", &[history, written]);
    let verified = &all.own::<receipt::VerifiedReceipt<'_>>();
    all.verb("receipt-verify", &[verified]);
}

/// Adds the verbs for fleets.
fn fleets(all: &mut Results, begun: &Value) {
    let prepared = &all.own::<fleet::init::PreparedHub>();
    all.verb("fleet-init", &[begun, prepared]);
    let read = &all.own::<fleet::check::ReadFleet>();
    let wrong = &all.own::<BlockedPlan<fleet::check::ReadFleet>>();
    all.verb("fleet-check", &[read, wrong]);
    let values = &all.own::<fleet::values::FleetValues>();
    all.verb("fleet-values", &[values, wrong]);
    let report = &reference("report");
    let diff = &all.own::<fleet::diff::FleetDiff>();
    all.verb("fleet-diff", &[diff, wrong, report]);
    let rendered = &all.own::<fleet::render::RenderedFleet>();
    all.verb("fleet-render", &[rendered, wrong, report]);
    let plan = &all.own::<fleet::apply::print::FleetPlan>();
    let unplanned = &all.own::<BlockedPlan<fleet::apply::print::FleetPlan>>();
    let applied = &all.own::<fleet::apply::result::FleetApplied>();
    let written = &all.own::<fleet::apply::FleetPlanWritten>();
    all.verb(
        "fleet-apply",
        &[plan, written, unplanned, applied, wrong, report],
    );
    all.verb(
        "fleet-rollback",
        &[plan, written, unplanned, applied, wrong],
    );
    all.verb("fleet-delete", &[plan, unplanned, applied, wrong]);
    let exported = &all.own::<fleet::export::print::FleetExport>();
    let unexported = &all.own::<BlockedPlan<fleet::export::print::FleetExport>>();
    all.verb("fleet-export", &[exported, unexported, wrong, report]);
    let decision = &all.shared::<fleet::pause::FleetDecision>("fleetDecision");
    all.verb("fleet-pause", &[decision]);
    all.verb("fleet-resume", &[decision]);
    all.verb("fleet-approve", &[decision, wrong]);
    let status = &all.own::<fleet::status::print::FleetStatus>();
    all.verb("fleet-status", &[status, wrong]);
    let history = &all.own::<fleet::history::FleetHistory>();
    all.verb("fleet-history", &[history, wrong]);
}
