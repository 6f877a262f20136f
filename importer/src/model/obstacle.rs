//! The obstacles to a change of a cluster. The fix for each is said by whoever shows it.
//!
//! Each has an id, which is the name of its variant in kebab case, and fields: programs read these instead of the words.
//! `docs/reference/obstacles.md` is made of the types here, so what is said of a variant is what people read of its id.

mod above;
mod missing;
mod unfit;

use change::NotOurs;
use schemars::JsonSchema;
use schemas::{
    Digest, EnvironmentName, KubernetesName, Namespace, SolutionId, SolutionName, Version,
    VersionRange, named,
};
use serde::Serialize;

pub use self::above::Above;
pub(crate) use self::missing::MissingRight;
pub use self::unfit::{KindIn, SourceProblem, Unfit};
use crate::model::unmet::Unmet;

/// An obstacle to a change: its words say what is the case, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(rename = "ObstacleData", title = "A change of a cluster")]
pub enum Obstacle {
    /// Others changed the cluster after the plan was made.
    #[error("others changed the cluster after the plan was made{detail}", detail = after_colon(differences))]
    Changed {
        /// The parts of the plan that differ: objects by kind and name, and other parts in words.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        differences: Vec<String>,
    },
    /// The cluster's Kubernetes is older than the oldest that can be imported into.
    #[error("the cluster runs Kubernetes {version}, which is too old")]
    KubernetesTooOld {
        /// The version that the cluster runs.
        version: String,
        /// The minor version of the oldest Kubernetes 1 that will do.
        oldest_minor: u32,
    },
    /// This user lacks a right.
    #[error("this user may not {right}")]
    Denied {
        /// The right, as a verb, a resource and a place.
        right: String,
        /// The same as a rule.
        #[serde(skip)]
        missing: Box<MissingRight>,
    },
    /// This user lacks a right that it takes to have a pod pull an image beforehand.
    #[error("this user may not {right}, so no pod can pull an image beforehand")]
    ProofDenied {
        /// The right, as a verb, a resource and a place.
        right: String,
        /// The same as a rule.
        #[serde(skip)]
        missing: Box<MissingRight>,
    },
    /// A role gives the operator a right that this user lacks, and Kubernetes lets nobody grant more than they hold.
    #[error("{role} gives the operator the right to {right}, which this user does not hold")]
    GrantNotHeld {
        /// The role, as an object.
        role: String,
        /// The right that the user lacks.
        right: String,
        /// The same as a rule.
        #[serde(skip)]
        missing: Box<MissingRight>,
    },
    /// A record of the import would be larger than a `ConfigMap` can be.
    #[error("{record} would take {size} bytes, and a ConfigMap can hold only about 1 MiB")]
    RecordTooLarge {
        /// The record, in words.
        record: &'static str,
        /// The bytes that it would take.
        size: usize,
    },
    /// The version was already imported from another archive.
    #[error(
        "{solution_id} was already imported from a different archive, {imported}; this one is {archive}"
    )]
    OtherArchive {
        /// The Solution and the version.
        solution_id: String,
        /// The archive id of the archive that was imported.
        imported: Digest,
        /// The archive id of this archive.
        archive: Digest,
    },
    /// Earlier archives of the Solution were signed, and this one is not.
    #[error("earlier archives of {solution} were signed by {signers}, but this one is not signed", signers = signers.join(", "))]
    NoSigners {
        /// The Solution.
        solution: SolutionName,
        /// The short ids of the keys that signed before.
        signers: Vec<String>,
    },
    /// None of the keys that signed earlier archives of the Solution signed this one.
    #[error("earlier archives of {solution} were signed by {signers}, but none of these keys signed this one", signers = signers.join(", "))]
    OtherSigners {
        /// The Solution.
        solution: SolutionName,
        /// The short ids of the keys that signed before.
        signers: Vec<String>,
    },
    /// The CRD that a newer version wrote lacks an API version that this version needs.
    #[error(
        "CRD `{crd}` of version {newer} no longer serves `{api}`, which version {version} needs"
    )]
    CrdTooNew {
        /// The CRD.
        crd: String,
        /// The version that wrote it.
        newer: String,
        /// The API version that it lacks.
        api: String,
        /// The version that needs it.
        version: Version,
    },
    /// The CRD of this version lacks an API version that the cluster serves.
    #[error("CRD `{crd}`: the cluster serves `{api}`, but version {version} does not have it")]
    CrdDrops {
        /// The CRD.
        crd: String,
        /// The API version that the cluster serves.
        api: String,
        /// The version that lacks it.
        version: Version,
    },
    /// The CRD of this version lacks the API version that objects are stored as.
    #[error("CRD `{crd}`: objects are stored as `{api}`, but version {version} does not list it")]
    CrdStored {
        /// The CRD.
        crd: String,
        /// The API version that objects are stored as.
        api: String,
        /// The version that lacks it.
        version: Version,
    },
    /// An operator that is deployed may need API versions that are to go.
    #[error("{solution} {version} is deployed in the environment `{environment}` and may need {apis}, which is to go", apis = apis.join(", "))]
    ApiStillNeeded {
        /// The Solution.
        solution: SolutionName,
        /// The version that is deployed.
        version: Version,
        /// The environment.
        environment: EnvironmentName,
        /// The API versions that are to go.
        apis: Vec<String>,
    },
    /// A newer version brought a CRD that the version to go back to does not have.
    #[error(
        "CRD `{crd}` of version {newer} is in the cluster, and version {version} does not have it"
    )]
    CrdOnlyNewer {
        /// The CRD.
        crd: String,
        /// The version that brought it.
        newer: Version,
        /// The version to go back to.
        version: Version,
    },
    /// The CRD of this version differs in a field that the API server never changes.
    #[error(
        "CRD `{crd}`: version {version} has another `{field}`, which the API server cannot change"
    )]
    CrdFixed {
        /// The CRD.
        crd: String,
        /// The field, below `spec`.
        field: String,
        /// The version that has another one.
        version: Version,
    },
    /// Existing objects would lose something by the CRD of this version.
    #[error("CRD `{crd}`: existing objects do not fit version {version}: {losses}", losses = named(losses.clone()))]
    CrdLoses {
        /// The CRD.
        crd: String,
        /// The version that they do not fit.
        version: Version,
        /// Each loss, with the number of objects and the first of them.
        losses: Vec<String>,
    },
    /// A CRD belongs to another Solution.
    #[error("CRD `{crd}` belongs to another Solution, `{owner}`")]
    CrdOwned {
        /// The CRD.
        crd: String,
        /// The other Solution.
        owner: String,
    },
    /// A CRD is in the cluster and belongs to no Solution.
    #[error("CRD `{crd}` already exists in the cluster and belongs to no Solution")]
    CrdUnowned {
        /// The CRD.
        crd: String,
    },
    /// The Solution has no CRDs to activate.
    #[error("{solution_id} has no CRDs, so there is nothing to activate")]
    NoCrds {
        /// The Solution and the version.
        solution_id: SolutionId,
    },
    /// The Solution has no operator to run in an environment.
    #[error("{solution_id} has no operator, so there is nothing to run in an environment")]
    NoOperator {
        /// The Solution and the version.
        solution_id: SolutionId,
    },
    /// The environment to deploy in does not exist; it can be created.
    #[error("there is no environment `{environment}`")]
    UnknownEnvironment {
        /// The environment that was asked for.
        environment: EnvironmentName,
        /// The environment that may have been meant.
        near: Option<EnvironmentName>,
    },
    /// The environment does not exist.
    #[error("there is no environment `{environment}`")]
    NoEnvironment {
        /// The environment that was asked for.
        environment: EnvironmentName,
    },
    /// The namespace is none of the environment.
    #[error("namespace `{namespace}` is not one of the environment `{environment}`")]
    OtherNamespace {
        /// The namespace.
        namespace: Namespace,
        /// The environment.
        environment: EnvironmentName,
    },
    /// The environment has several namespaces, and none of them was chosen.
    #[error("environment `{environment}` has several namespaces: {namespaces}", namespaces = joined(namespaces))]
    SeveralNamespaces {
        /// The environment.
        environment: EnvironmentName,
        /// The namespaces.
        namespaces: Vec<Namespace>,
    },
    /// The namespace is one of Kubernetes, or that of the records.
    #[error("namespace `{namespace}` is reserved and cannot belong to an environment")]
    NamespaceReserved {
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace is being deleted.
    #[error("namespace `{namespace}` is being deleted")]
    NamespaceGoing {
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace belongs to another environment.
    #[error("namespace `{namespace}` belongs to the environment `{environment}`")]
    NamespaceTaken {
        /// The namespace.
        namespace: Namespace,
        /// The environment that it belongs to.
        environment: EnvironmentName,
    },
    /// Somebody deleted the namespace of the environment, and another one has its name.
    #[error(
        "namespace `{namespace}` is not the one that the environment had: it was deleted, and someone created another"
    )]
    NamespaceReplaced {
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace exists and belongs to no environment.
    #[error(
        "namespace `{namespace}` already exists and belongs to no environment{said}",
        said = label.as_ref().map_or(String::new(), |label| format!(", despite its label `{label}`"))
    )]
    NamespaceUnowned {
        /// The namespace.
        namespace: Namespace,
        /// The environment that a label of it names, which is not one of the records.
        label: Option<String>,
    },
    /// The Secret that nodes should log in with does not exist.
    #[error("Secret `{secret}` does not exist in namespace `{namespace}`")]
    NoPullSecret {
        /// The Secret.
        secret: KubernetesName,
        /// The namespace.
        namespace: Namespace,
        /// The environment that has yet to be made for the Secret to lie in.
        create: Option<EnvironmentName>,
        /// The registry as nodes know it.
        host: String,
    },
    /// The site's file names a `PriorityClass` that does not exist.
    #[error("PriorityClass `{class}`, which {file} names, does not exist")]
    NoPriorityClass {
        /// The `PriorityClass`.
        class: KubernetesName,
        /// The file, in words.
        file: String,
    },
    /// The site's file asks for labels that no node has together.
    #[error("no node has all labels that {file} asks for: {labels}", labels = labels.join(", "))]
    NoNode {
        /// The labels, as `NAME=VALUE`.
        labels: Vec<String>,
        /// The file, in words.
        file: String,
    },
    /// The site's file sets a variable in which the operator finds the address of an image.
    #[error("the site's file sets the variable `{variable}`, in which the operator finds an image")]
    ImageVariable {
        /// The variable.
        variable: String,
    },
    /// The login is for another registry than the one that nodes pull from.
    #[error("the login is for {host}, but nodes pull from {pull_host}")]
    OtherLogin {
        /// The registry that the login is for.
        host: String,
        /// The registry that nodes pull from.
        pull_host: String,
    },
    /// The file has no user name and password for the registry that nodes pull from.
    #[error("it holds no user name and password for {host}")]
    NoLogin {
        /// The registry.
        host: String,
    },
    /// The login for nodes is the one that pushes.
    #[error("`{username}` is the login that pushes, and every pod of the namespace could read it")]
    PushLogin {
        /// The name of the user.
        username: String,
    },
    /// An operator for the whole cluster must be the only one, and another one of the Solution runs elsewhere.
    #[error(
        "an operator of {solution} for the whole cluster must be the only one, and one runs in namespace `{namespace}` of the environment `{environment}`"
    )]
    SecondOperator {
        /// The Solution.
        solution: SolutionName,
        /// The namespace of the other operator.
        namespace: Namespace,
        /// The environment of the other operator.
        environment: EnvironmentName,
    },
    /// A newer version runs there.
    #[error("version {running} is running there, and {version} is older")]
    OlderVersion {
        /// The version that runs.
        running: Version,
        /// The version that was asked for.
        version: Version,
    },
    /// The version that runs there is not one that this version can upgrade from.
    #[error("version {running} is running there, and {version} can only upgrade from {range}")]
    NotUpgradable {
        /// The version that runs.
        running: Version,
        /// The version that was asked for.
        version: Version,
        /// The versions that it can upgrade from.
        range: VersionRange,
    },
    /// Other field managers own fields of an object, with other values.
    #[error("{object} has fields that other field managers set: {fields}", fields = named(fields.clone()))]
    FieldsOwned {
        /// The object.
        object: String,
        /// Each field, with its manager.
        fields: Vec<String>,
    },
    /// Two objects would have the same name.
    #[error("two objects would have the same name: {object}")]
    SameName {
        /// The object.
        object: String,
    },
    /// The cluster does not take an object.
    #[error("the cluster rejects {object}: {why}")]
    ObjectRefused {
        /// The object.
        object: String,
        /// The reason, in the cluster's words.
        why: String,
    },
    /// The cluster would not take the operator's pod.
    #[error("the cluster would reject the operator's pod: {why}")]
    PodRefused {
        /// The reason, in the cluster's words.
        why: String,
    },
    /// The cluster would not take the pods of a workload: its namespace's PodSecurity level or quota refuses them.
    #[error("the cluster would reject the pods of {object}: {why}")]
    PodsRefused {
        /// The workload.
        object: String,
        /// The reason, in the cluster's words.
        why: String,
    },
    /// Something reaches beyond the environment and was not accepted.
    #[error(
        "{things} beyond the environment and {have} not been accepted",
        things = if *things == 1 { "1 thing reaches".to_owned() } else { format!("{things} things reach") },
        have = if *things == 1 { "has" } else { "have" }
    )]
    NotAccepted {
        /// The number of things that were not accepted; the plan lists them.
        things: usize,
        /// The id that accepts everything that reaches beyond the environment.
        accept_id: String,
    },
    /// The Solution is not deployed in the environment.
    #[error("{solution} is not deployed in the environment `{environment}`")]
    NotDeployed {
        /// The Solution.
        solution: SolutionName,
        /// The environment.
        environment: EnvironmentName,
    },
    /// The version is deployed in an environment.
    #[error("{solution} {version} is deployed in the environment `{environment}`")]
    Deployed {
        /// The Solution.
        solution: SolutionName,
        /// The version.
        version: Version,
        /// The environment.
        environment: EnvironmentName,
    },
    /// The CRDs of the version are in the cluster.
    #[error("{solution} {version} is active: its CRDs are in the cluster")]
    Active {
        /// The Solution.
        solution: SolutionName,
        /// The version.
        version: Version,
    },
    /// A Solution is deployed in a namespace of the environment that is to be deleted.
    #[error("{solution} {version} is deployed in `{namespace}`")]
    Inhabited {
        /// The Solution.
        solution: SolutionName,
        /// The version.
        version: Version,
        /// The namespace.
        namespace: Namespace,
        /// The environment.
        environment: EnvironmentName,
    },
    /// The history knows nothing else of the Solution that ran in the namespace before.
    #[error("the history knows nothing of {solution} that ran in namespace `{namespace}` before")]
    NothingBefore {
        /// The Solution.
        solution: SolutionName,
        /// The namespace.
        namespace: Namespace,
    },
    /// The history has no change of this number that can be read.
    #[error("there is no revision {revision} in the history")]
    NoRevision {
        /// The number of the change.
        revision: u32,
    },
    /// The change of this number deployed no version of the Solution in the namespace.
    #[error("revision {revision} deployed no version of {solution} in namespace `{namespace}`")]
    OtherRevision {
        /// The number of the change.
        revision: u32,
        /// The Solution.
        solution: SolutionName,
        /// The namespace.
        namespace: Namespace,
    },
    /// The change of this number did not end well, so its version may never have run.
    #[error("revision {revision} did not end well, so {solution} {version} may never have run")]
    RevisionFailed {
        /// The number of the change.
        revision: u32,
        /// The Solution.
        solution: SolutionName,
        /// The version.
        version: Version,
    },
    /// The version was imported from another archive since it ran.
    #[error(
        "{solution_id} ran from archive {ran}, and was imported from a different archive since, {imported}"
    )]
    ImportedAnew {
        /// The Solution and the version.
        solution_id: String,
        /// The archive id of the archive that ran.
        ran: Digest,
        /// The archive id of the archive that is imported now.
        imported: Digest,
    },
    /// The version is not imported.
    #[error("{solution} {version} is not imported")]
    NotImported {
        /// The Solution.
        solution: SolutionName,
        /// The version.
        version: Version,
    },
    /// No version of the Solution is imported.
    #[error("no version of {solution} is imported")]
    NothingImported {
        /// The Solution.
        solution: SolutionName,
    },
    /// The Solution has no CRDs in the cluster.
    #[error("{solution} has no CRDs in the cluster")]
    NotActive {
        /// The Solution.
        solution: SolutionName,
    },
    /// A CRD serves no version, so that its objects cannot be listed.
    #[error("{crd} serves no version, so nobody can tell whether objects of it exist")]
    ServesNothing {
        /// The CRD, as an object.
        crd: String,
    },
    /// Objects of a kind still exist whose CRD is to go.
    #[error(
        "objects of kind {kind} still exist ({count} in total): {objects}",
        count = objects.len(),
        objects = named(objects.clone())
    )]
    InUse {
        /// The kind.
        kind: String,
        /// The objects.
        objects: Vec<String>,
    },
    /// Objects in the cluster use what is to go.
    #[error(
        "{name} is used by objects in the cluster ({count} in total): {objects}",
        count = objects.len(),
        objects = named(objects.clone())
    )]
    Used {
        /// The Solution, or the Solution and the version, that is to go.
        name: String,
        /// The objects that use it.
        objects: Vec<String>,
    },
    /// Custom resources and workloads would be deleted with their namespaces.
    #[error(
        "custom resources and workloads would be deleted ({count} in total): {objects}",
        count = objects.len(),
        objects = named(objects.clone())
    )]
    WouldDelete {
        /// The custom resources and workloads.
        objects: Vec<String>,
    },
    /// Another Solution pulls its images with the Secret that would be deleted.
    #[error("{solution} pulls with Secret {namespace}/{secret}, which would be deleted")]
    LoginUsed {
        /// The Secret.
        secret: KubernetesName,
        /// The namespace.
        namespace: Namespace,
        /// The other Solution.
        solution: SolutionName,
    },
    /// An object would be removed or changed that the plan does not name.
    #[error("{object} has been added since the plan was shown")]
    Unplanned {
        /// The object.
        object: String,
    },
    /// What would be done to an object is not what was shown: others changed the cluster since.
    #[error("what would be done to {object} is not what was shown")]
    NotAsShown {
        /// The object.
        object: String,
    },
    /// Something at the registry is in the way.
    #[error(transparent)]
    #[serde(untagged)]
    Registry(#[from] shelf::RegistryObstacle),
    /// An object is there that is not the Solution's to write.
    #[error(transparent)]
    #[serde(untagged)]
    NotOurs(#[from] NotOurs),
    /// Objects that are carried as they are do not fit.
    #[error(transparent)]
    #[serde(untagged)]
    Unfit(#[from] Unfit),
    /// A prerequisite is not met, or would no longer be.
    #[error(transparent)]
    #[serde(untagged)]
    Unmet(Box<Unmet>),
    /// The administrator of a namespace cannot go on without the administrator of the cluster.
    #[error(transparent)]
    #[serde(untagged)]
    Above(#[from] Above),
}

impl From<Unmet> for Obstacle {
    fn from(unmet: Unmet) -> Self {
        Self::Unmet(Box::new(unmet))
    }
}

/// Returns the parts of a list behind a colon; nothing if there are none.
fn after_colon(parts: &[String]) -> String {
    if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", named(parts.to_vec()))
    }
}

fn joined(namespaces: &[Namespace]) -> String {
    let names: Vec<&str> = namespaces.iter().map(Namespace::as_str).collect();
    names.join(", ")
}

impl Obstacle {
    /// Returns the obstacle that the cluster has changed since the plan was made, in these parts.
    pub(crate) fn changed(differences: impl IntoIterator<Item = impl ToString>) -> Self {
        let differences = differences.into_iter();
        Self::Changed {
            differences: differences.map(|part| part.to_string()).collect(),
        }
    }

    /// Whether it is only that something is used: a person can say that it goes all the same.
    #[must_use]
    pub fn is_use(&self) -> bool {
        matches!(self, Self::InUse { .. } | Self::Used { .. })
    }

    /// Whether it is that a version is active.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active { .. })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use deployer::{Gvk, ObjectRef};
    use serde_json::{Value, json};

    use super::*;

    /// The ids in a schema, in their order.
    fn ids(schema: &Value) -> Vec<&str> {
        match schema {
            Value::Object(fields) => {
                let id = schema.pointer("/properties/id/const");
                let below = fields.values().flat_map(ids);
                id.and_then(Value::as_str)
                    .into_iter()
                    .chain(below)
                    .collect()
            }
            Value::Array(all) => all.iter().flat_map(ids).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn no_two_obstacles_have_the_same_id() {
        let schema = schemars::schema_for!(Obstacle).to_value();
        let mut seen = BTreeSet::new();
        for id in ids(&schema) {
            assert!(seen.insert(id), "{id}");
        }
        // One of each type.
        for id in [
            "changed",
            "no-helm",
            "needed-solution",
            "crd-inactive",
            "owned",
            "no-room",
            "reserved-path",
        ] {
            assert!(seen.contains(id), "{id}");
        }
    }

    #[test]
    fn an_obstacle_is_its_id_with_its_fields() {
        let told = |obstacle: Obstacle| serde_json::to_value(obstacle).unwrap();
        let nothing: [&str; 0] = [];
        assert_eq!(told(Obstacle::changed(nothing)), json!({ "id": "changed" }));
        let unknown = Obstacle::UnknownEnvironment {
            environment: "tests".parse().unwrap(),
            near: Some("test".parse().unwrap()),
        };
        assert_eq!(
            told(unknown),
            json!({ "id": "unknown-environment", "environment": "tests", "near": "test" })
        );
        let place = shelf::Misplaced::SameImageName {
            name: "shop".to_owned(),
        };
        assert_eq!(
            told(shelf::RegistryObstacle::from(place).into()),
            json!({ "id": "same-image-name", "name": "shop" })
        );
        let missing = Unfit::NoKind {
            objects: vec!["Thing n/x".to_owned()],
            kind: Gvk::new("a.test/v1", "Thing"),
            found: Box::new(KindIn {
                cluster: vec!["a.test/v2".to_owned()],
                archive: Vec::new(),
                release: Vec::new(),
            }),
        };
        assert_eq!(
            told(missing.into()),
            json!({
                "id": "no-kind",
                "objects": ["Thing n/x"],
                "kind": { "group": "a.test", "version": "v1", "kind": "Thing" },
                "found": { "cluster": ["a.test/v2"], "archive": [], "release": [] },
            })
        );
        let fixed = Unfit::ImmutableOwn {
            object: Box::new(ObjectRef::namespaced("v1", "Secret", "n", "s")),
            why: "no".to_owned(),
        };
        assert_eq!(
            told(fixed.into()),
            json!({ "id": "immutable-own", "object": "Secret n/s", "why": "no" })
        );
    }
}
