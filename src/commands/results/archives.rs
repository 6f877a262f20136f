//! What the verbs answer that are about archives, keys and trust, and about the program itself.

use packager::{Added, Packed, Preview};
use serde_json::Value;

use super::answers::{Results, said};
use crate::commands::look::{compare, extract, ls, mount};
use crate::commands::program::schema;
use crate::commands::{
    Files, checksums, config, diff, explain, init, inspect, keygen, pack, setup, sign, trust,
    validate, values,
};

/// Those about archives, keys and trust, and the program itself.
pub(super) fn add(all: &mut Results, report: &Value) {
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
    let schemas = &all.own::<schema::Schemas>();
    all.verb("schema", &[schemas]);
    all.verb("completion", &[]);
    let chart = &all.own::<init::chart::ChartTree>();
    let helmfile = &all.own::<init::helmfile::HelmfileTree>();
    let release = &all.own::<init::release::ReleaseTree>();
    let updated = &all.own::<init::update::Updated>();
    all.verb("init", &[files, chart, helmfile, release, updated]);

    let packed = &all.own::<pack::WithSource<Packed>>();
    let refused = &all.own::<pack::RefusedPack>();
    let preview = &said(
        "With `--check`: the planned archive.",
        &all.own::<pack::WithSource<Preview>>(),
    );
    let added = &said(
        "With `--add-images`: the added images.",
        &all.own::<Added>(),
    );
    all.verb("pack", &[packed, refused, preview, added]);
    let validated = &all.own::<validate::Validated>();
    all.verb("validate", &[validated]);
    let signed = &all.own::<sign::Signed>();
    let to_sign = &all.own::<sign::ToSign>();
    all.verb("sign", &[signed, to_sign]);
    let signed = &all.own::<checksums::sign::SignedChecksums>();
    all.verb("checksums-sign", &[signed]);
    let verified = &all.own::<checksums::verify::VerifiedChecksums<'_>>();
    all.verb("checksums-verify", &[verified]);
    let archive = &all.own::<inspect::archive::InspectedArchive>();
    let plan = &all.own::<inspect::plan::InspectedPlan>();
    let fleet_plan = &all.own::<inspect::fleet_plan::InspectedFleetPlan>();
    all.verb("inspect", &[archive, plan, fleet_plan]);
    let listing = &all.own::<ls::Listing>();
    all.verb("ls", &[listing]);
    let extracted = &all.own::<extract::ExtractedFiles>();
    all.verb("extract", &[extracted]);
    let mounted = &all.own::<mount::MountedFiles>();
    all.verb("mount", &[mounted]);
    let compared = &all.own::<compare::show::ComparedArchives>();
    all.verb("compare", &[compared, report]);
    let choices = &all.own::<values::read::SiteChoices>();
    all.verb("values", &[choices]);
    let differences = &all.own::<diff::show::All>();
    all.verb("diff", &[differences, report]);

    let policy = &all.shared::<trust::ShownPolicy>("policy");
    all.verb("trust-add", &[policy]);
    let policies = &all.own::<trust::Policies>();
    all.verb("trust-list", &[policies]);
    let removed = &all.own::<trust::remove::Removed>();
    all.verb("trust-remove", &[removed, policy]);
}
