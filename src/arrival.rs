//! A cluster that is coming up, or away for a while: it is waited for, and told what keeps it.

use std::time::Duration;

use deployer::{Cluster, Connect, Error, Waited};
use schemars::JsonSchema;
use schemas::ClusterName;
use serde::Serialize;

use crate::args::Output;
use crate::events;
use crate::progress::Waiting;

/// A wait for a cluster.
pub(crate) struct Arrival<'a> {
    pub(crate) longest: Duration,
    /// The cluster, where it is one of a fleet.
    pub(crate) cluster: Option<&'a ClusterName>,
    pub(crate) waiting: &'a Waiting,
    pub(crate) output: Output,
}

/// An event while waiting for a cluster.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "camelCase")]
pub(crate) enum ArrivalEvent {
    /// The cluster is not reachable; the command waits for it.
    Away {
        /// Why it cannot be used.
        why: String,
    },
    /// The cluster is reachable.
    Up,
}

impl Arrival<'_> {
    /// Connects to it once it is up.
    pub(crate) async fn connect(&self, connect: &Connect) -> Result<Cluster, Error> {
        let tell = |error| self.tell(error);
        let connected = Cluster::connect_when_up(connect, self.longest, &tell).await;
        let (cluster, waited) = connected?;
        self.end(waited);
        Ok(cluster)
    }

    /// Waits until it is up again, if it is not.
    pub(crate) async fn wait(&self, cluster: &Cluster) -> Result<Waited, Error> {
        let waited = cluster
            .wait_up(self.longest, &|error| self.tell(error))
            .await?;
        self.end(waited);
        Ok(waited)
    }

    fn tell(&self, error: Error) {
        let error = anyhow::Error::from(error);
        let why = format!("{error:#}");
        if self
            .waiting
            .tell(&format!("waiting for the cluster: {why}"))
        {
            events::tell(self.cluster, &ArrivalEvent::Away { why });
        }
    }

    fn end(&self, waited: Waited) {
        self.waiting.clear();
        if waited == Waited::No {
            return;
        }
        events::tell(self.cluster, &ArrivalEvent::Up);
        if self.output == Output::Human {
            self.waiting.note("the cluster is up");
        }
    }
}
