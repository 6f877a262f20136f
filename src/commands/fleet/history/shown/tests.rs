//! How the changes of several clusters are merged.

use importer::{ChangeReceipt, KnownChange, Sealed};
use serde_json::json;

use super::*;

fn history(cluster: u32, times: &[&str]) -> History {
    let receipt = |at: &&str| -> ChangeReceipt {
        let receipt = json!({
            "schemaVersion": 1, "revision": cluster, "at": at, "by": "me@here", "verb": "import",
            "solution": "shop", "places": [], "outcome": "done", "written": [], "removed": [],
        });
        serde_json::from_value(receipt).unwrap()
    };
    let known = |at| KnownChange {
        receipt: receipt(at),
        sealed: Sealed::No,
    };
    History {
        revisions: times.iter().map(known).collect(),
        unreadable: Vec::new(),
        changed: Vec::new(),
        missing: Vec::new(),
        foreign: Vec::new(),
    }
}

#[test]
fn the_newest_change_of_all_clusters_comes_first() {
    let lab = history(1, &["2026-01-02T03:04:05Z", "2026-01-01T00:00:00Z"]);
    let rome = history(2, &["2026-01-03T00:00:00Z", "2026-01-01T12:00:00Z"]);
    let merged = |limit| {
        let of = |cluster, history| {
            let changes = shown(history, None).revisions.into_iter();
            changes.map(move |change| MemberChange { cluster, change })
        };
        let mut all: Vec<_> = of("lab", &lab).chain(of("rome", &rome)).collect();
        merge(&mut all, limit);
        all.iter().map(|it| it.cluster).collect::<Vec<_>>()
    };
    assert_eq!(merged(None), ["rome", "lab", "rome", "lab"]);
    assert_eq!(merged(Some(2)), ["rome", "lab"]);
}
