//! `solution fleet check --pin`: the UIDs of clusters, written into the file.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{fs, io};

use fleet::FleetFile;
use schemars::JsonSchema;
use schemas::ClusterUid;
use serde::Serialize;

use super::outcome::worst;
use super::reach::Reaching;
use crate::args::ReadArguments;
use crate::commands::refusal::InTheWay;
use crate::failure::{self, Failure, Outcome, cannot};
use crate::own::{self, Modes, Write};
use crate::{cluster, disk, render};

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
    problem: Option<InTheWay>,
}

/// Asks each cluster for its UID, and writes those that the file does not have into it.
pub(super) fn pin(
    file: &FleetFile,
    path: &Path,
    arguments: &ReadArguments,
) -> Result<(Vec<PinnedCluster>, Outcome), Failure> {
    let clusters = &file.spec().clusters;
    let places: Vec<usize> = (0..clusters.len()).collect();
    let reaching = Reaching::to_read(file, path, arguments)?;
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
                    problem: Some(InTheWay::from(&failure)),
                });
            }
        }
    }
    write(file, path, &new)?;
    Ok((pinned, outcome))
}

/// Writes UIDs into the file, unless somebody has changed it since it was read.
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
        // A link leads to the file that is meant.
        let path = fs::canonicalize(path)?;
        let mode = fs::metadata(&path)?.permissions().mode() & 0o777;
        let modes = Modes {
            file: mode,
            folder: 0o777,
        };
        own::write(&path, text.as_bytes(), modes, Write::Replace)
    };
    write().map_err(cannot("write", path))
}

/// Refuses a file of which two entries are found to be the same cluster.
fn check(file: &FleetFile, text: &str) -> Result<(), Failure> {
    let pinned = FleetFile::read(file.name(), text.as_bytes()).map_err(Failure::no)?;
    match fleet::check(&pinned).problems.first() {
        None => Ok(()),
        Some(problem) => Err(Failure::no(anyhow::anyhow!("{problem}"))
            .context("nothing was pinned")
            .hint(failure::fleet_fix(&problem.fault))),
    }
}

pub(super) fn show(pinned: &[PinnedCluster]) {
    for cluster in pinned {
        match (&cluster.uid, &cluster.problem) {
            (_, Some(problem)) => {
                render::note!("error: {}: {}", cluster.name, problem.message);
                render::note!("hint: {}", problem.fix);
            }
            (Some(uid), None) if cluster.written => {
                render::line!("pinned {} to {uid}", cluster.name);
            }
            (Some(_), None) => render::line!("{} is already pinned to this cluster", cluster.name),
            (None, None) => {}
        }
    }
}
