//! Connections to the clusters of a fleet. Multiple clusters are queried at a time, each with its own time limit, so
//! that one failure does not hide other results. A cluster is refused if its identity differs from the one in the file
//! or in the journal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use fleet::{FleetFile, FleetJournal, KnownCluster};
use futures::future;
use importer::ClusterNetwork;
use indicatif::MultiProgress;
use kubernetes::{Account, Cluster};
use schemas::{ClusterName, ClusterUid, FleetCluster};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::journal::JournalFile;
use crate::args::{ClusterArguments, Output, ReadArguments};
use crate::cluster::{self, ClusterWait};
use crate::failure::{self, Failure};
use crate::progress_bar::{self, Waiting};

/// A connected cluster with a verified identity.
pub(super) struct Member {
    pub(super) cluster: Cluster,
    /// The UID by which the file pins it.
    pub(super) uid: ClusterUid,
    /// The UID of its namespace kube-system, which no two entries have.
    pub(super) system: ClusterUid,
    /// True if the file or the journal has this cluster under this name.
    pub(super) is_known: bool,
    /// The networks from its Cluster API object, if it has one.
    pub(super) network: ClusterNetwork,
}

/// The access to a cluster.
pub(super) struct MemberAccount {
    pub(super) account: Account,
    /// The UID of its object in the management cluster, if Cluster API manages it.
    uid: Option<ClusterUid>,
    /// The networks from this object.
    network: ClusterNetwork,
}

impl MemberAccount {
    /// Determines the account for a cluster. For a cluster that Cluster API manages, it also verifies the pinned UID.
    pub(super) async fn of(
        member: &FleetCluster,
        directory: &Path,
        management: Option<&Result<Cluster, Failure>>,
        journal: &FleetJournal,
    ) -> Result<Self, Failure> {
        let Some(name) = &member.cluster_api else {
            let kubeconfig = member.kubeconfig.as_ref();
            let account = cluster::account(&ClusterArguments {
                kubeconfig: kubeconfig.map(|path| directory.join(path)),
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
        // Verify the identity before the kubeconfig is used.
        check(&held.uid, member, journal)?;
        Ok(Self {
            account: held.account,
            uid: Some(held.uid),
            network: held.network,
        })
    }

    /// Connects to the cluster, and verifies that it is the pinned one.
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

/// Fails if this UID differs from the one in the file, or in the journal if the file has none.
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

/// The waits for clusters that are away.
pub(super) struct Arrivals {
    longest: Duration,
    lines: MultiProgress,
    output: Output,
}

impl Arrivals {
    /// Creates the waits with a time limit for each cluster.
    pub(super) fn within(longest: Duration, output: Output) -> Self {
        Self {
            longest,
            lines: progress_bar::several(output),
            output,
        }
    }

    /// Connects to the cluster with the Cluster API objects as soon as it is up.
    pub(super) async fn of_management(
        &self,
        management: &ClusterArguments,
    ) -> Result<Cluster, Failure> {
        cluster::connect_when_up(management, self.longest, self.output).await
    }

    /// Waits until a cluster is up.
    pub(super) async fn of(&self, name: &ClusterName, account: Account) -> Result<(), Failure> {
        let arrival = ClusterWait {
            longest: self.longest,
            cluster: Some(name),
            waiting: &Waiting::among(&self.lines, name.as_str(), self.output),
            output: self.output,
        };
        cluster::wait_by(account, &arrival).await
    }
}

/// The number of clusters that are queried at the same time. Each needs a connection and some threads.
const PARALLEL: usize = 16;

/// The access to the clusters of a fleet.
pub(super) struct Connections<'a> {
    file: &'a FleetFile,
    /// The identities of clusters that the file does not pin.
    journal: FleetJournal,
    /// The directory of relative paths.
    directory: PathBuf,
    /// The access to the cluster with the objects of Cluster API.
    management: &'a ClusterArguments,
    /// The time limit for one cluster.
    longest: Duration,
    /// The wait for clusters that are away; `None` to not wait.
    arrivals: Option<Arrivals>,
}

impl<'a> Connections<'a> {
    /// Creates the access. With `arrivals`, it waits for clusters that are away.
    pub(super) fn new(
        file: &'a FleetFile,
        path: &Path,
        management: &'a ClusterArguments,
        longest: Duration,
        arrivals: Option<Arrivals>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            file,
            journal: JournalFile::of(file, path)?.read()?,
            directory: path.parent().unwrap_or(Path::new("")).to_owned(),
            management,
            longest,
            arrivals,
        })
    }

    /// Creates the access for commands that only read.
    pub(super) fn to_read(
        file: &'a FleetFile,
        path: &Path,
        arguments: &'a ReadArguments,
    ) -> Result<Self, Failure> {
        let longest = arguments.longest.timeout();
        Self::new(file, path, &arguments.cluster, longest, None)
    }

    /// Creates the access for clusters whose identity is pinned again, so the identities in the journal are ignored.
    pub(super) fn to_repin(
        file: &'a FleetFile,
        path: &Path,
        arguments: &'a ReadArguments,
    ) -> Result<Self, Failure> {
        let journal = FleetJournal::new(file.document().metadata.name.clone());
        Ok(Self {
            journal,
            ..Self::to_read(file, path, arguments)?
        })
    }

    /// Runs some work for each of these clusters, some at a time, and returns the results in the same order.
    pub(super) async fn each<T>(
        &self,
        places: &[usize],
        work: impl AsyncFn(usize, &Member) -> Result<T, Failure>,
    ) -> Vec<Result<T, Failure>> {
        let clusters = &self.file.spec().clusters;
        let is_managed = places.iter().any(|at| clusters[*at].cluster_api.is_some());
        let management = match &self.arrivals {
            _ if !is_managed => None,
            Some(arrivals) => Some(arrivals.of_management(self.management).await),
            None => Some(self.within(cluster::connect(self.management)).await),
        };
        let turns = Semaphore::new(PARALLEL);
        let one = async |at: usize| {
            let member = &clusters[at];
            let turn = turns.acquire().await;
            let found =
                MemberAccount::of(member, &self.directory, management.as_ref(), &self.journal);
            let account = self.within(found).await?;
            // A cluster that is waited for must not take the place of one that can be queried.
            drop(turn);
            if let Some(arrivals) = &self.arrivals {
                arrivals.of(&member.name, account.account.clone()).await?;
            }
            let _turn = turns.acquire().await;
            self.within(async { work(at, &account.connect(member, &self.journal).await?).await })
                .await
        };
        future::join_all(places.iter().map(|at| one(*at))).await
    }

    /// Waits for a result of one cluster, within its time limit.
    async fn within<T>(
        &self,
        done: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        timeout(self.longest, done).await.unwrap_or_else(|_| {
            let seconds = self.longest.as_secs();
            let late = anyhow!("did not answer all requests within {seconds} s");
            Err(Failure::unknown(late).hint("wait longer with `--timeout SECONDS`"))
        })
    }
}
