//! Clusters of a fleet that are away: each is waited for by itself, all side by side.

use std::time::Duration;

use deployer::{Account, Cluster};
use indicatif::MultiProgress;
use schemas::ClusterName;

use crate::args::{ClusterArguments, Output};
use crate::arrival::Arrival;
use crate::cluster;
use crate::failure::Failure;
use crate::progress::{self, Waiting};

/// How clusters are waited for.
pub(super) struct Arrivals {
    longest: Duration,
    lines: MultiProgress,
    output: Output,
}

impl Arrivals {
    /// Waits for each so long.
    pub(super) fn within(longest: Duration, output: Output) -> Self {
        Self {
            longest,
            lines: progress::several(output),
            output,
        }
    }

    /// Connects to the cluster that has the objects of Cluster API, once it is up.
    pub(super) async fn of_management(
        &self,
        management: &ClusterArguments,
    ) -> Result<Cluster, Failure> {
        cluster::connect_when_up(management, self.longest, self.output).await
    }

    /// Waits for one, until it is up.
    pub(super) async fn of(&self, name: &ClusterName, account: Account) -> Result<(), Failure> {
        let arrival = Arrival {
            longest: self.longest,
            cluster: Some(name),
            waiting: &Waiting::among(&self.lines, name.as_str(), self.output),
            output: self.output,
        };
        cluster::wait_by(account, &arrival).await
    }
}
