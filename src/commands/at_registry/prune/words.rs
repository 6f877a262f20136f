//! What a registry keeps of versions, and what goes, for people.

use super::shown::{Asked, Pruned};
use crate::render;

/// The versions that a registry keeps.
pub(super) fn show_versions(pruned: &Pruned) {
    let registry = &pruned.registry;
    if pruned.versions.is_empty() {
        return render::line!("{registry} keeps no version");
    }
    let count = render::count(pruned.versions.len(), "version");
    render::line!("{registry} keeps {count}");
    for version in &pruned.versions {
        let id = &version.solution;
        let need = match (&version.needed_by, pruned.asked) {
            (Some(record), _) => format!("needed by {record}"),
            (None, Asked::Cluster) => "no record of the cluster needs it".to_owned(),
            (None, Asked::Nobody) => "no cluster was asked whether it is needed".to_owned(),
        };
        let has = match (version.own_bytes, &version.unread) {
            (Some(bytes), _) => format!("{} that no other version has", render::bytes(bytes)),
            (None, unread) => unread.clone().unwrap_or_default(),
        };
        render::line!("version   {id}: {need}; {has}");
        render::line!("          `{}` deletes it", version.delete);
    }
}

/// What goes.
pub(super) fn show_plan(pruned: &Pruned) {
    render::lines("delete    ", &pruned.deleted);
    render::lines("free      ", &pruned.freed);
    let bytes = render::bytes(pruned.freed_bytes);
    render::line!("contents  {bytes} that only these have, of all versions there");
    render::lines("note      ", &pruned.notes);
}

/// What has gone.
pub(super) fn show_deleted(pruned: &Pruned) {
    let freed = render::count(pruned.freed.len(), "manifest");
    let deleted = render::list(&pruned.deleted);
    let registry = &pruned.registry;
    render::line!("deleted   {deleted} from {registry}: {freed}");
}
