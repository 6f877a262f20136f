//! How the clusters of a fleet are reached: side by side, each within its own time, each failing alone, and none that is
//! another one than was meant.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use fleet::{FleetFile, FleetJournal};
use futures::future;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::account::MemberAccount;
use super::arrivals::Arrivals;
use super::journal::JournalFile;
use super::member::Member;
use crate::args::{ClusterArguments, ReadArguments};
use crate::cluster;
use crate::failure::Failure;

/// Clusters that are asked at the same time: each has a connection and some threads for it.
const PARALLEL: usize = 16;

/// How clusters of a fleet are reached.
pub(super) struct Reaching<'a> {
    file: &'a FleetFile,
    /// Which cluster each name stands for, where the file does not pin it.
    journal: FleetJournal,
    /// Where relative paths begin.
    directory: PathBuf,
    /// How the cluster is reached that has the objects of Cluster API.
    management: &'a ClusterArguments,
    /// How long one cluster may take.
    longest: Duration,
    /// How those are waited for that are away, if they are.
    arrivals: Option<Arrivals>,
}

impl<'a> Reaching<'a> {
    /// Takes clusters as they are, or waits for them before they are asked.
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

    /// The same for one who only reads.
    pub(super) fn to_read(
        file: &'a FleetFile,
        path: &Path,
        arguments: &'a ReadArguments,
    ) -> Result<Self, Failure> {
        let longest = arguments.longest.timeout();
        Self::new(file, path, &arguments.cluster, longest, None)
    }

    /// The same for clusters that are to be known by other identities than before.
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

    /// Does something with each of these clusters, some at a time, and returns what came of each in the same order.
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
            // Whoever only waits keeps no other waiting.
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

    /// Waits for one cluster, for no longer than it may take.
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
