//! What is in the way of the clusters of a fleet, each thing once.

use std::collections::BTreeMap;

use anyhow::anyhow;
use schemas::ClusterUid;

use super::PlannedMember;
use super::planned::DeploymentPlan;
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};
use crate::render;

/// The clusters that entries of a fleet's file lead to.
#[derive(Default)]
pub(in crate::commands::fleet) struct KnownClusters(BTreeMap<ClusterUid, String>);

impl KnownClusters {
    /// Adds the cluster of an entry; it fails if another entry leads to it as well.
    pub(in crate::commands::fleet) fn add(
        &mut self,
        name: &str,
        uid: &ClusterUid,
    ) -> Result<(), Failure> {
        if let Some(other) = self.0.get(uid) {
            let same = anyhow!("it is the cluster of `{other}` (UID {uid})");
            return Err(Failure::no(same).hint("remove one of the two entries"));
        }
        self.0.insert(uid.clone(), name.to_owned());
        Ok(())
    }
}

/// Refuses to change what another entry leads to as well.
pub(super) fn refuse_twice(planned: &mut [PlannedMember]) {
    let mut known = KnownClusters::default();
    for member in planned {
        let Ok(plan) = &member.plan else {
            continue;
        };
        if let Err(failure) = known.add(&member.name, &plan.system) {
            member.plan = Err(failure);
        }
    }
}

/// What is in the way, each thing once with the clusters that have it.
#[derive(Default)]
pub(in crate::commands::fleet) struct Hindrances(Vec<Hindrance>);

/// Something in the way, with the clusters that have it.
struct Hindrance {
    clusters: Vec<String>,
    /// The deployment, behind a comma; nothing if it is the cluster as a whole.
    of: String,
    why: InTheWay,
}

impl Hindrances {
    /// Adds why a cluster is not planned, unless it is one to be left out.
    pub(in crate::commands::fleet) fn add_unplanned(
        &mut self,
        name: &str,
        failure: &Failure,
        skips: bool,
    ) {
        if !skips || failure.outcome() != Outcome::Unknown {
            self.add(name, "", InTheWay::from(failure));
        }
    }

    /// Adds what is in the way of a deployment in a cluster.
    pub(in crate::commands::fleet) fn add_all(
        &mut self,
        name: &str,
        deployment: &str,
        why: &[InTheWay],
    ) {
        let of = format!(", {deployment}");
        for it in why {
            self.add(name, &of, it.clone());
        }
    }

    fn add(&mut self, name: &str, of: &str, why: InTheWay) {
        let mut known = self.0.iter_mut();
        match known.find(|it| it.of == of && it.why.message == why.message) {
            Some(known) => known.clusters.push(name.to_owned()),
            None => self.0.push(Hindrance {
                clusters: vec![name.to_owned()],
                of: of.to_owned(),
                why,
            }),
        }
    }

    /// All of it, as it is told.
    pub(in crate::commands::fleet) fn told(self) -> Vec<InTheWay> {
        let told = |Hindrance { clusters, of, why }| InTheWay {
            message: format!("{}{of}: {}", render::list(clusters), why.message),
            ..why
        };
        self.0.into_iter().map(told).collect()
    }
}

/// What is in the way of any cluster.
pub(super) fn in_the_way(planned: &[PlannedMember], skips: bool) -> Vec<InTheWay> {
    let mut found = Hindrances::default();
    for member in planned {
        if let Err(failure) = &member.plan {
            found.add_unplanned(&member.name, failure, skips);
        }
        for DeploymentPlan { placed, why, .. } in member.deployments() {
            found.add_all(&member.name, &placed.to_string(), why);
        }
    }
    found.told()
}
