//! What the verbs answer that are about registries.

use serde_json::Value;
use shelf::ImagesToPush;

use super::answers::Results;
use crate::commands::at_registry::{prune, verify};
use crate::commands::refusal::Refused;
use crate::commands::{export, login, logout, mirrors, preflight, serve};

/// Those about registries.
pub(super) fn add(all: &mut Results, report: &Value) {
    let logged_in = &all.own::<login::LoggedIn>();
    all.verb("login", &[logged_in]);
    let logged_out = &all.own::<logout::LoggedOut>();
    all.verb("logout", &[logged_out]);
    let alone = &all.own::<preflight::shown::ShownPreflight<()>>();
    let archive = &all.own::<preflight::shown::ShownPreflight<ImagesToPush>>();
    all.verb("preflight", &[alone, archive, report]);
    let exported = &all.own::<export::Exported>();
    all.verb("export", &[exported, report]);
    let pruned = &all.own::<prune::Pruned>();
    let kept = &all.own::<Refused<prune::Pruned>>();
    all.verb("registry-prune", &[pruned, kept]);
    let found = &all.own::<verify::Verification>();
    all.verb("registry-verify", &[found, report]);
    let mirrors = &all.own::<mirrors::ShownMirrors>();
    all.verb("mirrors", &[mirrors, report]);
    let event = &all.own::<serve::log::ServeLogLine>();
    all.verb("serve", &[event]);
    let lines = "One object per line while the server runs.";
    all.describe("serve", lines);
}
