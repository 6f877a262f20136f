//! What a receipt proves, for people.

use std::path::Path;

use schemars::JsonSchema;
use schemas::ClusterUid;
use serde::Serialize;

use crate::commands::history::shown::ShownChange;
use crate::commands::history::table;
use crate::render;

/// The cluster that a receipt is expected to be of.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExpectedCluster {
    /// The UID of the cluster's namespace kube-system.
    pub(super) uid: ClusterUid,
    /// Whether the receipt is of this cluster; null if it does not name its cluster.
    pub(super) matches: Option<bool>,
}

/// The result of verifying a receipt.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifiedReceipt<'a> {
    /// The file that was read.
    pub(super) file: &'a Path,
    /// Whether one of the keys signed it.
    pub(super) valid: bool,
    /// The cluster that it was compared with, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<ExpectedCluster>,
    /// The change; null if none of the keys signed it.
    pub(super) change: Option<ShownChange<'a>>,
}

/// Shows what a receipt proves.
pub(super) fn show(verified: &VerifiedReceipt<'_>) {
    let file = verified.file.display();
    let Some(change) = &verified.change else {
        render::note!("error: `{file}` has no valid signature by one of these keys");
        render::note(
            "hint: get the file again from the site, and its public key through another channel",
        );
        return;
    };
    let command = || format!("solution receipt verify {file} --key PUB -o yaml");
    render::table(table::TITLES, &table::rows(change, command));
    render::lines("written     ", &change.receipt.written);
    render::lines("removed     ", &change.receipt.removed);
    let origin = &change.receipt.origin;
    let named = origin.cluster_uid.as_ref().map(ClusterUid::as_str);
    render::line!("cluster     {}", named.unwrap_or("not recorded"));
    render::lines("fleet       ", &origin.fleet);
    render::line!("valid: `{file}` is unchanged since it was signed");
    show_cluster(verified.cluster.as_ref(), named);
}

/// Shows why a receipt is not of the cluster that was asked for.
fn show_cluster(expected: Option<&ExpectedCluster>, named: Option<&str>) {
    match (expected, named) {
        (Some(expected), Some(named)) if expected.matches == Some(false) => {
            let uid = &expected.uid;
            render::note!("error: the receipt belongs to another cluster: UID {named}, not {uid}");
            render::note("hint: get the receipt from the cluster in question");
        }
        (Some(_), None) => {
            render::note("error: cannot check the cluster of the receipt: cluster not recorded");
            render::note(
                "hint: create receipts with a version later than 1.0.0 and the right to read the namespace kube-system: otherwise they do not record the cluster",
            );
        }
        _ => {}
    }
}
