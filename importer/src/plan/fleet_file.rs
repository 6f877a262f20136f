//! The plan file of a fleet: the plans of all its deployments, to be reviewed, signed and applied by other people.
//! [`FleetPlanFile::from_slice`] reads one. Applying it creates a new plan for each cluster, which must match the file
//! ([`FleetPlanFile::moved`]); deployments that are already in place are skipped. docs/decisions/0011-plan-files.md and
//! 0039-fleet-rollout.md describe the approach.

use std::fmt;

use fleet::FleetChange;
use schemas::{
    ClusterName, ClusterUid, Digest, FleetWave, KubernetesName, PlacedVersion, StatementTime,
    WaveName, json,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::plan::file::{PlanChange, PlanFile, PlanFileError, canonical};

/// The version of the file format.
const VERSION: u64 = 1;

/// The plan of a fleet, as stored in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetPlanFile {
    fleet_plan_version: u64,
    /// The user and host that planned, as reported by that machine.
    pub planned_by: String,
    /// The time of planning.
    pub planned_at: StatementTime,
    /// The name of the fleet.
    pub fleet: KubernetesName,
    /// The direction of the change for its clusters.
    pub change: FleetChange,
    /// The waves of the rollout, in order.
    pub waves: Vec<FleetWave>,
    /// The planned clusters.
    pub clusters: Vec<FiledCluster>,
}

/// The planned deployments of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FiledCluster {
    /// The name in the fleet's file.
    pub name: ClusterName,
    /// The UID in the fleet's file.
    pub uid: ClusterUid,
    /// The wave of the cluster.
    pub wave: WaveName,
    /// The deployments with changes left to apply, in order.
    pub deployments: Vec<FiledDeployment>,
}

/// The plan of a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiledDeployment {
    /// The deployment, as the fleet's file identifies it.
    pub deployment: PlacedVersion,
    /// The plan.
    pub plan: PlanFile,
}

/// A difference between a fleet and its plan file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetPlanChange {
    /// The plan is for this fleet, not for the given one.
    #[error("the plan is for the fleet {0}")]
    Fleet(KubernetesName),
    /// The plan is for another change.
    #[error("the plan is for another change: {0}")]
    Change(FleetChange),
    /// The waves differ.
    #[error("the waves in the fleet's file differ from those in the plan")]
    Waves,
    /// None of the plan's clusters has this name.
    #[error("{0}: the plan is for other clusters")]
    Cluster(ClusterName),
    /// The plan was created for a cluster with another UID.
    #[error("{0}: the plan was created for another cluster with this name")]
    Uid(ClusterName),
    /// The cluster is in another wave of the plan.
    #[error("{0}: the cluster is in wave {1} of the plan")]
    Wave(ClusterName, WaveName),
    /// A deployment needs changes, but the plan does not include it.
    #[error("{0}: the cluster is not in the plan")]
    Added(MemberDeployment),
    /// The plan includes a deployment that the fleet's file no longer has.
    #[error("{0}: the cluster is no longer in the fleet's file")]
    Left(MemberDeployment),
    /// The plan of a deployment does not match any more.
    #[error("{0}: {1}")]
    Deployment(MemberDeployment, PlanChange),
}

/// A deployment in a cluster of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDeployment {
    cluster: ClusterName,
    deployment: PlacedVersion,
}

impl fmt::Display for MemberDeployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.cluster, self.deployment)
    }
}

/// A cluster with its new plan.
#[derive(Debug)]
pub struct ReplannedCluster {
    /// The deployments with changes left to apply.
    pub open: FiledCluster,
    /// The deployments that are in place.
    pub done: Vec<PlacedVersion>,
}

impl FleetPlanFile {
    /// Returns the plan of these clusters of a fleet.
    #[must_use]
    pub fn new(
        planned_by: String,
        planned_at: StatementTime,
        fleet: KubernetesName,
        change: FleetChange,
        waves: Vec<FleetWave>,
        clusters: Vec<FiledCluster>,
    ) -> Self {
        Self {
            fleet_plan_version: VERSION,
            planned_by,
            planned_at,
            fleet,
            change,
            waves,
            clusters,
        }
    }

    /// Reads a plan file. Unknown fields are rejected, since they could not be shown to the user. Fails if the file is
    /// not canonical JSON or has another format version.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, PlanFileError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Versioned {
            fleet_plan_version: u64,
        }
        match json::from_slice(bytes)? {
            Versioned {
                fleet_plan_version: VERSION,
            } => canonical(bytes),
            Versioned { fleet_plan_version } => Err(PlanFileError::Version(fleet_plan_version)),
        }
    }

    /// Returns the bytes to be signed.
    ///
    /// # Panics
    ///
    /// Never: a plan has a JSON form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a plan has a JSON form")
    }

    /// Returns the SHA-256 digest of the bytes to be signed.
    #[must_use]
    pub fn id(&self) -> Digest {
        Digest::new(Sha256::digest(self.to_bytes()).into())
    }

    /// Returns the differences between the file and a change of the fleet with this name and these waves.
    #[must_use]
    pub fn moved_as_a_whole(
        &self,
        fleet: &KubernetesName,
        change: FleetChange,
        waves: &[FleetWave],
    ) -> Vec<FleetPlanChange> {
        let mut moved = Vec::new();
        if *fleet != self.fleet {
            moved.push(FleetPlanChange::Fleet(self.fleet.clone()));
        }
        if change != self.change {
            moved.push(FleetPlanChange::Change(self.change));
        }
        if *waves != self.waves {
            moved.push(FleetPlanChange::Waves);
        }
        moved
    }

    /// Returns the differences between the file and the new plan of a cluster. Deployments that are in place are no
    /// difference, since they have the desired state. A deployment that is neither planned nor in place has left the
    /// fleet.
    #[must_use]
    pub fn moved(&self, anew: &ReplannedCluster) -> Vec<FleetPlanChange> {
        let name = &anew.open.name;
        let Some(filed) = self.clusters.iter().find(|cluster| cluster.name == *name) else {
            return vec![FleetPlanChange::Cluster(name.clone())];
        };
        if filed.uid != anew.open.uid {
            return vec![FleetPlanChange::Uid(name.clone())];
        }
        if filed.wave != anew.open.wave {
            return vec![FleetPlanChange::Wave(name.clone(), filed.wave.clone())];
        }
        let in_cluster = |deployment: &PlacedVersion| MemberDeployment {
            cluster: name.clone(),
            deployment: deployment.clone(),
        };
        let added = anew.open.deployments.iter().map(|added| &added.deployment);
        let added = added.filter(|added| filed.plan_of(added).is_none());
        let added = added.map(|added| FleetPlanChange::Added(in_cluster(added)));
        let mut moved: Vec<FleetPlanChange> = added.collect();
        let mut earlier = Vec::new();
        for FiledDeployment { deployment, plan } in &filed.deployments {
            let of = in_cluster(deployment);
            match anew.open.plan_of(deployment) {
                Some(now) => {
                    let parts = plan.moved_after(now, &earlier).into_iter();
                    moved.extend(parts.map(|part| FleetPlanChange::Deployment(of.clone(), part)));
                }
                // Deployments that are in place have changed records that later plans of the cluster are compared with.
                None if anew.done.contains(deployment) => earlier.push(plan),
                None => moved.push(FleetPlanChange::Left(of)),
            }
        }
        moved
    }
}

impl FiledCluster {
    /// Returns the plan of a deployment.
    fn plan_of(&self, deployment: &PlacedVersion) -> Option<&PlanFile> {
        let mut all = self.deployments.iter();
        let filed = all.find(|filed| filed.deployment == *deployment);
        filed.map(|filed| &filed.plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::file::tests::{file, file_of, first_of_namespace, next_of_namespace};
    use crate::plan::summary::PlanSummary;
    use serde_json::{Value, json};

    fn cluster(name: &str, deployments: Vec<FiledDeployment>) -> FiledCluster {
        FiledCluster {
            name: name.parse().unwrap(),
            uid: "00000000-0000-4000-8000-000000000001".parse().unwrap(),
            wave: "all".parse().unwrap(),
            deployments,
        }
    }

    fn placed(solution: &str) -> PlacedVersion {
        PlacedVersion {
            solution: solution.parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
        }
    }

    fn deployment(solution: &str) -> FiledDeployment {
        FiledDeployment {
            deployment: placed(solution),
            plan: file(),
        }
    }

    fn waves(parallel: usize) -> Vec<FleetWave> {
        let wave = serde_json::json!({"name": "all", "clusters": ["paris"], "parallel": parallel});
        vec![serde_json::from_value(wave).unwrap()]
    }

    fn plan() -> FleetPlanFile {
        FleetPlanFile::new(
            "alice@desk".to_owned(),
            StatementTime::DEFAULT,
            "shops".parse().unwrap(),
            FleetChange::Apply,
            waves(1),
            vec![
                cluster("paris", vec![deployment("shop"), deployment("cart")]),
                cluster("rome", vec![deployment("shop")]),
            ],
        )
    }

    fn anew(open: FiledCluster, done: &[&str]) -> ReplannedCluster {
        ReplannedCluster {
            open,
            done: done.iter().map(|solution| placed(solution)).collect(),
        }
    }

    fn moved(open: FiledCluster, done: &[&str]) -> Vec<String> {
        let moved = plan().moved(&anew(open, done));
        moved.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_plan_is_read_as_it_was_written_and_in_no_other_spelling() {
        let bytes = plan().to_bytes();
        assert_eq!(FleetPlanFile::from_slice(&bytes).unwrap(), plan());
        let text = String::from_utf8(bytes).unwrap();
        let edited = |from: &str, to: &str| {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text);
            FleetPlanFile::from_slice(edited.as_bytes()).unwrap_err()
        };
        let version = edited(r#""fleetPlanVersion":1"#, r#""fleetPlanVersion":2"#);
        assert!(matches!(version, PlanFileError::Version(2)), "{version}");
        let spaced = edited(r#""fleet":"#, r#""fleet": "#);
        assert!(matches!(spaced, PlanFileError::Spelling), "{spaced}");
        let more = edited(r#""fleet":"#, r#""more":1,"fleet":"#);
        assert!(matches!(more, PlanFileError::Json(_)), "{more}");
        let within = edited(r#""deployment":{"#, r#""deployment":{"more":1,"#);
        assert!(matches!(within, PlanFileError::Json(_)), "{within}");
    }

    #[test]
    fn what_is_planned_anew_is_what_the_file_shows_or_done() {
        let both = || vec![deployment("shop"), deployment("cart")];
        assert_eq!(moved(cluster("paris", both()), &[]), [""; 0]);
        let one = || vec![deployment("cart")];
        assert_eq!(moved(cluster("paris", one()), &["shop"]), [""; 0]);
        assert_eq!(moved(cluster("paris", vec![]), &["shop", "cart"]), [""; 0]);
        let left = ["paris, shop 1.0.0 in prod: the cluster is no longer in the fleet's file"];
        assert_eq!(moved(cluster("paris", one()), &[]), left);
        let mut more = both();
        more.push(deployment("till"));
        let added = ["paris, till 1.0.0 in prod: the cluster is not in the plan"];
        assert_eq!(moved(cluster("paris", more), &[]), added);
        let elsewhere = ["oslo: the plan is for other clusters"];
        assert_eq!(moved(cluster("oslo", both()), &[]), elsewhere);
        let mut other = cluster("rome", vec![deployment("shop")]);
        other.uid = "00000000-0000-4000-8000-000000000002".parse().unwrap();
        let another = ["rome: the plan was created for another cluster with this name"];
        assert_eq!(moved(other, &[]), another);
        let mut later = cluster("rome", vec![deployment("shop")]);
        later.wave = "rest".parse().unwrap();
        let wave = ["rome: the cluster is in wave all of the plan"];
        assert_eq!(moved(later, &[]), wave);
        let mut changed = deployment("shop");
        changed.plan.summary.notes.push("more".to_owned());
        let told = [
            "rome, shop 1.0.0 in prod: the plan has changed since the file was written: the notes",
        ];
        assert_eq!(moved(cluster("rome", vec![changed]), &[]), told);
    }

    /// Returns the plan of a Solution in the namespace `prod` with this namespace record.
    fn in_prod(solution: &str, summary: PlanSummary, space: &Value) -> FiledDeployment {
        let digest = |byte| Digest::new([byte; 32]);
        let created =
            json!({"origin": "created", "description": "", "coming": {}, "solutions": {}});
        let mut whole = created;
        for (field, value) in space.as_object().unwrap() {
            whole[field] = value.clone();
        }
        // The digests of the whole decision cover the namespace record.
        let all = Digest::new(Sha256::digest(whole.to_string()).into());
        let apart = json!({"records": digest(2), "objects": digest(3), "space": whole});
        let decided = json!({"records": all, "objects": all, "apart": apart});
        FiledDeployment {
            deployment: placed(solution),
            plan: file_of(&format!("{solution}-1.0.0"), summary, decided),
        }
    }

    #[test]
    fn what_the_plan_itself_has_deployed_in_the_environment_has_not_moved() {
        let label = "+metadata:\n+  labels:\n+    a: b\n";
        let cart = first_of_namespace(label, &["Role prod/cart"]);
        let shop = first_of_namespace(label, &["Role prod/shop"]);
        let nothing = json!({});
        let filed = vec![
            in_prod("cart", cart, &nothing),
            in_prod("shop", shop.clone(), &nothing),
        ];
        let mut plan = plan();
        plan.clusters = vec![cluster("paris", filed)];
        let plan = FleetPlanFile::from_slice(&plan.to_bytes()).unwrap();
        let moved = |plan: &FleetPlanFile, space: &Value, done: &[&str]| {
            let next = next_of_namespace(&shop, "-  a: c\n+  a: b\n");
            let open = cluster("paris", vec![in_prod("shop", next, space)]);
            let moved = plan.moved(&anew(open, done));
            moved.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let with = |version: &str, more: Value| {
            let cart = json!({"version": version, "record": Digest::new([7; 32])});
            let mut solutions = json!({ "cart": cart });
            solutions
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!({"uid": "8b1e", "solutions": solutions})
        };
        let after = with("1.0.0", json!({}));
        assert_eq!(moved(&plan, &after, &["cart"]), [""; 0]);

        // Without the first deployment in the plan, other writers have created the namespace.
        let alone = FleetPlanFile {
            clusters: vec![cluster(
                "paris",
                vec![plan.clusters[0].deployments[1].clone()],
            )],
            ..plan.clone()
        };
        let others = moved(&alone, &after, &["cart"]).join(", ");
        assert!(others.contains("have changed: Namespace prod"), "{others}");

        // Other writers have deployed another version of `cart`, or another Solution.
        let records = "paris, shop 1.0.0 in prod: since the plan was created, the records of shop-1.0.0 in the cluster have changed";
        let other = json!({"till": {"version": "1.0.0", "record": Digest::new([7; 32])}});
        for space in [with("1.1.0", json!({})), with("1.0.0", other)] {
            assert_eq!(moved(&plan, &space, &["cart"]), [records]);
        }
    }

    #[test]
    fn a_plan_is_of_one_change_of_one_fleet_with_its_waves() {
        let (shops, apply) = ("shops".parse().unwrap(), FleetChange::Apply);
        assert_eq!(plan().moved_as_a_whole(&shops, apply, &waves(1)), []);
        let waves_moved = plan().moved_as_a_whole(&shops, apply, &waves(2));
        assert_eq!(waves_moved, [FleetPlanChange::Waves]);
        let back = plan().moved_as_a_whole(&shops, FleetChange::Rollback, &waves(1));
        assert_eq!(back, [FleetPlanChange::Change(apply)]);
        let carts = "carts".parse().unwrap();
        let fleet = plan().moved_as_a_whole(&carts, apply, &waves(1));
        assert_eq!(fleet, [FleetPlanChange::Fleet(shops)]);
    }
}
