//! How a cluster of a fleet is reached, and that it is the one that the file pins.

use std::path::Path;

use anyhow::anyhow;
use deployer::{Account, Cluster};
use fleet::{FleetJournal, KnownCluster};
use importer::ClusterNetwork;
use schemas::{ClusterUid, FleetCluster};

use super::member::Member;
use crate::args::ClusterArguments;
use crate::cluster;
use crate::failure::{self, Failure};

/// How a cluster is reached.
pub(super) struct MemberAccount {
    pub(super) account: Account,
    /// The UID of its object in the management cluster, where Cluster API manages it.
    uid: Option<ClusterUid>,
    /// The networks that this object gives it.
    network: ClusterNetwork,
}

impl MemberAccount {
    /// Finds out how a cluster is reached. One that Cluster API manages is the one that is pinned.
    pub(super) async fn of(
        member: &FleetCluster,
        directory: &Path,
        management: Option<&Result<Cluster, Failure>>,
        journal: &FleetJournal,
    ) -> Result<Self, Failure> {
        let Some(name) = &member.cluster_api else {
            let kubeconfig = member.kubeconfig.as_ref();
            let account = cluster::account(&ClusterArguments {
                kubeconfig: kubeconfig.map(|it| directory.join(it)),
                context: member.context.clone(),
            });
            return Ok(Self {
                account,
                uid: None,
                network: ClusterNetwork::default(),
            });
        };
        let management = match management {
            Some(Ok(management)) => management,
            Some(Err(failure)) => {
                let failed = anyhow!("{}", failure.in_one_line());
                let failed = Failure::unknown(failed).context("its management cluster");
                return Err(failed.hint(failure.next_step()));
            }
            None => {
                return Err(Failure::unknown(anyhow!(
                    "no management cluster was queried"
                )));
            }
        };
        let held = importer::held_member(management, name).await;
        let held = held.map_err(failure::member)?;
        // Before anything of it is used.
        check(&held.uid, member, journal)?;
        Ok(Self {
            account: held.account,
            uid: Some(held.uid),
            network: held.network,
        })
    }

    /// Connects to the cluster, and makes sure that it is the one that is pinned.
    pub(super) async fn connect(
        self,
        member: &FleetCluster,
        journal: &FleetJournal,
    ) -> Result<Member, Failure> {
        let cluster = cluster::connect_by(self.account).await?;
        let system = importer::cluster_uid(&cluster).await;
        let system = system.map_err(failure::member)?;
        if self.uid.is_none() {
            check(&system, member, journal)?;
        }
        let uid = self.uid.unwrap_or_else(|| system.clone());
        let known = journal.knows(KnownCluster {
            name: &member.name,
            uid: &uid,
        });
        Ok(Member {
            network: self.network,
            is_known: member.uid.is_some() || known,
            cluster,
            uid,
            system,
        })
    }
}

/// Fails unless a cluster of this UID is the one that is meant: by the file, or by the journal where the file does not say.
fn check(uid: &ClusterUid, member: &FleetCluster, journal: &FleetJournal) -> Result<(), Failure> {
    let FleetCluster {
        name, uid: pinned, ..
    } = member;
    if pinned.is_some() {
        return importer::check_uid(uid, pinned.as_ref()).map_err(failure::member);
    }
    let known = journal.identify(KnownCluster { name, uid });
    known.map_err(failure::identity)
}
