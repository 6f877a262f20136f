//! How the clusters of a fleet are reached: side by side, each within its own time, each failing alone, and none that is
//! another one than was meant.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use deployer::{Account, Cluster};
use fleet::FleetFile;
use futures::stream::{self, StreamExt as _};
use schemas::{ClusterUid, FleetCluster};
use tokio::time::timeout;

use super::member::Member;
use crate::args::{ClusterArguments, ReadArguments};
use crate::cluster;
use crate::failure::{self, Failure};

/// Clusters that are asked at the same time: each has a connection and some threads for it.
const PARALLEL: usize = 16;

/// How clusters of a fleet are reached.
pub(super) struct Reaching<'a> {
    file: &'a FleetFile,
    /// Where relative paths begin.
    directory: PathBuf,
    /// How the cluster is reached that has the objects of Cluster API.
    management: &'a ClusterArguments,
    /// How long one cluster may take.
    longest: Duration,
}

impl<'a> Reaching<'a> {
    pub(super) fn new(
        file: &'a FleetFile,
        path: &Path,
        management: &'a ClusterArguments,
        longest: Duration,
    ) -> Self {
        Self {
            file,
            directory: path.parent().unwrap_or(Path::new("")).to_owned(),
            management,
            longest,
        }
    }

    /// The same for one who only reads.
    pub(super) fn to_read(file: &'a FleetFile, path: &Path, arguments: &'a ReadArguments) -> Self {
        let longest = arguments.longest.timeout();
        Self::new(file, path, &arguments.cluster, longest)
    }

    /// Does something with each of these clusters, some at a time, and returns what came of each in the same order.
    pub(super) async fn each<T>(
        &self,
        places: &[usize],
        work: impl AsyncFn(usize, &Member) -> Result<T, Failure>,
    ) -> Vec<Result<T, Failure>> {
        let clusters = &self.file.spec().clusters;
        let is_managed = places.iter().any(|at| clusters[*at].cluster_api.is_some());
        let management = if is_managed {
            Some(self.within(cluster::connect(self.management)).await)
        } else {
            None
        };
        let one = async |(order, at): (usize, usize)| {
            let done = async { work(at, &self.member(at, management.as_ref()).await?).await };
            (order, self.within(done).await)
        };
        let all = places.iter().copied().enumerate().map(one);
        let mut done: Vec<(usize, Result<T, Failure>)> =
            stream::iter(all).buffer_unordered(PARALLEL).collect().await;
        done.sort_by_key(|(order, _)| *order);
        done.into_iter().map(|(_, done)| done).collect()
    }

    /// Waits for one cluster, for no longer than it may take.
    async fn within<T>(
        &self,
        done: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        timeout(self.longest, done).await.unwrap_or_else(|_| {
            let seconds = self.longest.as_secs();
            let late = anyhow!("did not answer all questions within {seconds} s");
            Err(Failure::unknown(late).hint("`--timeout SECONDS` waits longer"))
        })
    }

    /// Connects to a cluster, and makes sure that it is the one that is pinned.
    async fn member(
        &self,
        at: usize,
        management: Option<&Result<Cluster, Failure>>,
    ) -> Result<Member, Failure> {
        let member = &self.file.spec().clusters[at];
        let check = |uid: &ClusterUid| {
            let checked = importer::check_uid(uid, member.uid.as_ref());
            checked.map_err(failure::member)
        };
        let Some(name) = &member.cluster_api else {
            let cluster = cluster::connect_by(self.account(member)).await?;
            let uid = importer::cluster_uid(&cluster).await;
            let uid = uid.map_err(failure::member)?;
            check(&uid)?;
            return Ok(Member {
                cluster,
                system: uid.clone(),
                uid,
            });
        };
        let management = match management {
            Some(Ok(management)) => management,
            Some(Err(failure)) => {
                let failed = anyhow!("{}", failure.in_one_line());
                let failed = Failure::unknown(failed).context("its management cluster");
                return Err(failed.hint(failure.next_step()));
            }
            None => return Err(Failure::unknown(anyhow!("no management cluster was asked"))),
        };
        let held = importer::held_member(management, name).await;
        let held = held.map_err(failure::member)?;
        // Before anything of it is used.
        check(&held.uid)?;
        let cluster = cluster::connect_by(held.account).await?;
        let system = importer::cluster_uid(&cluster).await;
        Ok(Member {
            system: system.map_err(failure::member)?,
            cluster,
            uid: held.uid,
        })
    }

    /// How a cluster is reached by a kubeconfig.
    fn account(&self, member: &FleetCluster) -> Account {
        cluster::account(&ClusterArguments {
            kubeconfig: member.kubeconfig.as_ref().map(|it| self.directory.join(it)),
            context: member.context.clone(),
        })
    }
}
