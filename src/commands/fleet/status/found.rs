//! What is found out about a cluster of a fleet: what is deployed there, and how far that is as the file says.

use fleet::{FleetFile, Members};
use importer::Status;
use schemas::PlacedVersion;

use super::super::apply::client;
use super::super::member::Member;
use super::super::standing::entries;
use super::deployment::DeploymentStatus;
use super::judge::judge;
use super::values::FileValues;
use super::{Arguments, objects};
use crate::failure::Failure;

/// What was found out about a cluster.
pub(super) struct FoundMember {
    pub(super) status: Status,
    /// What the file deploys there.
    pub(super) deployments: Vec<DeploymentStatus>,
}

impl FoundMember {
    /// Asks a cluster what is deployed there, and compares it with the file: versions, values and objects.
    pub(super) async fn find(
        file: &FleetFile,
        members: &Members<'_>,
        at: usize,
        member: &Member,
        arguments: &Arguments,
    ) -> Result<Self, Failure> {
        let cluster = &member.cluster;
        let status = importer::status(cluster, None).await?;
        let spaces = &status.environments;
        let values = if arguments.quick {
            None
        } else {
            Some(FileValues::compute(file, members, at, member).await?)
        };
        let known = &file.spec().clusters[at];
        let client = |registry: &_, site: &_| client(known, site, registry, &arguments.reach);
        let mut deployments = Vec::new();
        for entry in entries(file, members, at) {
            let mut found = judge(&PlacedVersion::from(entry), &status);
            if let Some(values) = &values {
                found = values.judge(found, spaces);
            }
            if arguments.compares_objects() {
                found = objects::judge(found, spaces, cluster, &client).await;
            }
            deployments.push(found);
        }
        Ok(Self {
            status,
            deployments,
        })
    }
}
