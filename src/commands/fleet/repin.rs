//! `solution fleet check --repin`: the UIDs of clusters, stored in the journal in place of earlier ones.

use std::path::Path;

use fleet::{FleetFile, KnownCluster};
use schemars::JsonSchema;
use schemas::{ClusterName, ClusterUid};
use serde::Serialize;

use super::journal::JournalFile;
use super::reach::Reaching;
use crate::args::{Output, ReadArguments};
use crate::commands::question::agreed;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;
use crate::{cluster, render};

/// A cluster that is known by another identity than before.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RepinnedCluster {
    /// The cluster's name.
    name: String,
    /// The UID by which it is known now.
    uid: String,
    /// The contradiction to the known UID; null if none was known.
    conflict: Option<String>,
}

/// Lets these clusters be known by the UIDs that they have now, once somebody confirms it. None if nobody does.
pub(super) fn repin(
    file: &FleetFile,
    path: &Path,
    arguments: &ReadArguments,
    names: &[ClusterName],
    confirmed: bool,
    output: Output,
) -> Result<Option<Vec<RepinnedCluster>>, Failure> {
    if names.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let places = names.iter().map(|name| place(file, name));
    let places: Vec<usize> = places.collect::<Result<_, _>>()?;
    let reaching = Reaching::to_repin(file, path, arguments)?;
    let journal = JournalFile::of(file, path)?;
    cluster::block_on(async {
        let uids = reaching.each(&places, async |_, member| Ok(member.uid.clone()));
        let uids: Vec<ClusterUid> = uids.await.into_iter().collect::<Result<_, _>>()?;
        let clusters = || names.iter().zip(&uids);
        let known = journal.read()?;
        let mut repinned = Vec::new();
        for (name, uid) in clusters() {
            let cluster = KnownCluster { name, uid };
            if !known.knows(cluster) {
                let conflict = known.identify(cluster).err();
                repinned.push(RepinnedCluster {
                    name: name.to_string(),
                    uid: uid.to_string(),
                    conflict: conflict.map(|conflict| conflict.to_string()),
                });
            }
        }
        if repinned.is_empty() {
            return Ok(Some(repinned));
        }
        if output == Output::Human {
            for RepinnedCluster {
                name,
                uid,
                conflict,
            } in &repinned
            {
                if let Some(conflict) = conflict {
                    render::note(conflict);
                } else {
                    render::note!("`{name}` is now the cluster with the UID {uid}");
                }
            }
        }
        let question = "pin these clusters to their new UIDs?";
        if !confirmed && !agreed(question, output).await? {
            return Ok(None);
        }
        let clusters: Vec<_> = clusters()
            .map(|(name, uid)| KnownCluster { name, uid })
            .collect();
        journal.change(|journal| journal.repin(&clusters))?;
        Ok(Some(repinned))
    })
}

/// The place of a cluster that the file does not pin itself.
fn place(file: &FleetFile, name: &ClusterName) -> Result<usize, Failure> {
    let clusters = &file.spec().clusters;
    let Some(at) = clusters.iter().position(|cluster| cluster.name == *name) else {
        return Err(Failure::usage(format!("the fleet has no cluster `{name}`"))
            .hint("list the clusters with `solution fleet check`"));
    };
    match &clusters[at].uid {
        None => Ok(at),
        Some(uid) => {
            let pinned = format!("the file pins the cluster `{name}` to the UID {uid}");
            Err(Failure::usage(pinned).hint("correct or remove `uid` in the file"))
        }
    }
}

/// Shows the clusters that are known by another UID now.
pub(super) fn show(repinned: &[RepinnedCluster]) {
    for RepinnedCluster { name, uid, .. } in repinned {
        render::line!("{name} is now pinned to the UID {uid}");
    }
}

/// The obstacle that the new UIDs were not confirmed.
pub(super) fn unconfirmed() -> InTheWay {
    let message = "the new UIDs were not confirmed";
    InTheWay::new(message, "compare the UIDs, then confirm them with `--yes`")
}
