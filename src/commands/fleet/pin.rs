//! `solution fleet check --pin` and `--repin`: the UIDs of clusters, in the fleet's file and in its journal. A pinned
//! UID ensures that a changed kubeconfig never leads to a change of another cluster.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{fs, io};

use fleet::{FleetFile, KnownCluster};
use schemars::JsonSchema;
use schemas::{ClusterName, ClusterUid};
use serde::Serialize;

use super::connection::Connections;
use super::journal::JournalFile;
use super::{note_problem, worst};
use crate::args::{Output, ReadArguments};
use crate::commands::blocked::ShownBlocker;
use crate::disk::{self, Modes, WriteMode};
use crate::failure::{self, Failure, Outcome, cannot};
use crate::terminal::agreed;
use crate::{cluster, render};

/// The result of pinning a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PinnedCluster {
    /// The cluster's name.
    name: String,
    /// Its UID; null if it could not be read.
    uid: Option<String>,
    /// Whether the UID was written into the file now.
    written: bool,
    /// The reason why the UID could not be read.
    problem: Option<ShownBlocker>,
}

/// Queries the UID of each cluster, and writes missing UIDs into the file.
pub(super) fn pin(
    file: &FleetFile,
    path: &Path,
    arguments: &ReadArguments,
) -> Result<(Vec<PinnedCluster>, Outcome), Failure> {
    let clusters = &file.spec().clusters;
    let places: Vec<usize> = (0..clusters.len()).collect();
    let reaching = Connections::to_read(file, path, arguments)?;
    let found = cluster::block_on(async {
        let uids = reaching.each(&places, async |_, member| Ok(member.uid.clone()));
        Ok(uids.await)
    })?;
    let mut new = BTreeMap::new();
    let mut outcome = Outcome::Yes;
    let mut pinned = Vec::new();
    for (at, found) in found.into_iter().enumerate() {
        let is_known = clusters[at].uid.is_some();
        let name = clusters[at].name.to_string();
        match found {
            Ok(uid) => {
                pinned.push(PinnedCluster {
                    name,
                    uid: Some(uid.to_string()),
                    written: !is_known,
                    problem: None,
                });
                if !is_known {
                    new.insert(at, uid);
                }
            }
            Err(failure) => {
                outcome = worst([outcome, failure.outcome()]);
                pinned.push(PinnedCluster {
                    name,
                    uid: clusters[at].uid.as_ref().map(ToString::to_string),
                    written: false,
                    problem: Some(ShownBlocker::from(&failure)),
                });
            }
        }
    }
    write(file, path, &new)?;
    Ok((pinned, outcome))
}

/// Writes UIDs into the file. Fails if the file was changed since it was read.
fn write(file: &FleetFile, path: &Path, uids: &BTreeMap<usize, ClusterUid>) -> Result<(), Failure> {
    if uids.is_empty() {
        return Ok(());
    }
    let text = disk::read_text(path)?;
    let again = FleetFile::read(file.name(), text.as_bytes()).ok();
    let again = again.filter(|again| again.document() == file.document());
    let Some(file) = again.as_ref() else {
        let changed = anyhow::anyhow!(
            "cannot update `{}`: it was changed in the meantime",
            path.display()
        );
        return Err(Failure::unknown(changed).hint("run the same command again"));
    };
    let text = fleet::pinned(file, &text, uids).map_err(Failure::no)?;
    check(file, &text)?;
    let write = || -> io::Result<()> {
        // Replace the target of a symbolic link, not the link.
        let path = fs::canonicalize(path)?;
        let mode = fs::metadata(&path)?.permissions().mode() & 0o777;
        let modes = Modes {
            file: mode,
            folder: 0o777,
        };
        disk::write_atomically(&path, text.as_bytes(), modes, WriteMode::Replace)
    };
    write().map_err(cannot("write", path))
}

/// Refuses a file in which two entries turn out to be the same cluster.
fn check(file: &FleetFile, text: &str) -> Result<(), Failure> {
    let pinned = FleetFile::read(file.name(), text.as_bytes()).map_err(Failure::no)?;
    match fleet::check(&pinned).problems.first() {
        None => Ok(()),
        Some(problem) => Err(Failure::no(anyhow::anyhow!("{problem}"))
            .context("nothing was pinned")
            .hint(failure::fleet_fix(&problem.fault))),
    }
}

pub(super) fn show_pinned(pinned: &[PinnedCluster]) {
    for cluster in pinned {
        match (&cluster.uid, &cluster.problem) {
            (_, Some(problem)) => note_problem(&cluster.name, Some(problem)),
            (Some(uid), None) if cluster.written => {
                render::line!("pinned {} to {uid}", cluster.name);
            }
            (Some(_), None) => render::line!("{} is already pinned to this cluster", cluster.name),
            (None, None) => {}
        }
    }
}

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

/// Pins the current UIDs of these clusters after a confirmation. None if it is missing.
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
    let reaching = Connections::to_repin(file, path, arguments)?;
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

/// Returns the index of a cluster whose UID is not in the file.
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

/// Shows the clusters whose known UID has changed.
pub(super) fn show_repinned(repinned: &[RepinnedCluster]) {
    for RepinnedCluster { name, uid, .. } in repinned {
        render::line!("{name} is now pinned to the UID {uid}");
    }
}

/// Returns the blocker of new UIDs that were not confirmed.
pub(super) fn unconfirmed() -> ShownBlocker {
    let message = "the new UIDs were not confirmed";
    ShownBlocker::new(message, "compare the UIDs, then confirm them with `--yes`")
}
