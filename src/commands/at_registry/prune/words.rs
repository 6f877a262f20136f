//! What a registry keeps of versions, and what goes, for people.

use super::shown::{Asked, Pruned};
use crate::render;

/// The versions that a registry keeps.
pub(super) fn show_versions(pruned: &Pruned) {
    let registry = &pruned.registry;
    if pruned.versions.is_empty() {
        return render::line!("{registry} has no versions");
    }
    let count = render::count(pruned.versions.len(), "version");
    render::line!("{registry} has {count}");
    for version in &pruned.versions {
        let id = &version.solution;
        let need = match (&version.needed_by, pruned.asked) {
            (Some(record), _) => format!("needed by {record}"),
            (None, Asked::Cluster) => "not needed by any record of the cluster".to_owned(),
            (None, Asked::Nobody) => "need not checked: no cluster was queried".to_owned(),
        };
        let has = match (version.own_bytes, &version.unread) {
            (Some(bytes), _) => format!("{} not shared with other versions", render::bytes(bytes)),
            (None, unread) => unread.clone().unwrap_or_default(),
        };
        render::line!("version   {id}: {need}; {has}");
        render::line!("          delete it with `{}`", version.delete);
    }
}

/// What goes.
pub(super) fn show_plan(pruned: &Pruned) {
    render::lines("delete    ", &pruned.deleted);
    render::lines("free      ", &pruned.freed);
    let bytes = render::bytes(pruned.freed_bytes);
    render::line!("contents  {bytes} not shared with other versions there");
    render::lines("note      ", &pruned.notes);
}

/// What has gone.
pub(super) fn show_deleted(pruned: &Pruned) {
    let freed = render::count(pruned.freed.len(), "manifest");
    let deleted = render::list(&pruned.deleted);
    let registry = &pruned.registry;
    render::line!("deleted   {deleted} from {registry}: {freed}");
}
