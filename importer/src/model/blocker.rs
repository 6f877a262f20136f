//! The reasons why a change of a cluster cannot be applied: [`Blocker`]. The command line adds a hint for each.
//!
//! Each blocker has an id, the name of its variant in kebab case, and fields for programs.
//! `docs/reference/blockers.md` is generated from these types, so the doc comment of a variant is the published
//! description of its id.

mod content;
pub(crate) mod prerequisites;

use planner::OwnershipConflict;
use schemars::JsonSchema;
use schemas::{
    Digest, EnvironmentName, KubernetesName, Namespace, SolutionId, SolutionName, Version,
    VersionRange, list_names,
};
use serde::Serialize;

pub use self::content::{ContentBlocker, KindIn, SourceProblem};
pub use self::prerequisites::AdministratorTask;
pub(crate) use self::prerequisites::MissingRight;
use self::prerequisites::UnmetPrerequisite;

/// A reason why a change cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(rename = "ObstacleData", title = "Changes to a cluster")]
pub enum Blocker {
    /// The cluster changed after the plan was created.
    #[error("the cluster has changed since the plan was created{detail}", detail = after_colon(differences))]
    Changed {
        /// The parts of the plan that differ: objects by kind and name, other parts by a description.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        differences: Vec<String>,
    },
    /// The cluster runs a version of Kubernetes that is too old for an import.
    #[error("the cluster runs Kubernetes {version}, which is too old")]
    KubernetesTooOld {
        /// The version that the cluster runs.
        version: String,
        /// The minor version of the oldest supported Kubernetes 1.
        oldest_minor: u32,
    },
    /// This user does not have a required right.
    #[error("this user may not {right}")]
    Denied {
        /// The right, as a verb, a resource and a place.
        right: String,
        /// The same right as a rule.
        #[serde(skip)]
        missing: Box<MissingRight>,
    },
    /// This user does not have a right that the test pull of an image requires.
    #[error("this user may not {right}, so a test pull of the image is not possible")]
    ProofDenied {
        /// The right, as a verb, a resource and a place.
        right: String,
        /// The same right as a rule.
        #[serde(skip)]
        missing: Box<MissingRight>,
    },
    /// A role gives the operator a right that this user does not hold, and Kubernetes does not let users grant rights that they do not hold.
    #[error("{role} gives the operator the right to {right}, which this user does not hold")]
    GrantNotHeld {
        /// The role, by kind and name.
        role: String,
        /// The missing right.
        right: String,
        /// The same right as a rule.
        #[serde(skip)]
        missing: Box<MissingRight>,
    },
    /// A record of the import would exceed the size limit of a `ConfigMap`.
    #[error("{record} would take {size} bytes, but a ConfigMap can hold only about 1 MiB")]
    RecordTooLarge {
        /// A description of the record.
        record: &'static str,
        /// Its size in bytes.
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
        /// The short ids of the keys that signed earlier archives.
        signers: Vec<String>,
    },
    /// None of the keys that signed earlier archives of the Solution signed this one.
    #[error("earlier archives of {solution} were signed by {signers}, but none of these keys signed this one", signers = signers.join(", "))]
    OtherSigners {
        /// The Solution.
        solution: SolutionName,
        /// The short ids of the keys that signed earlier archives.
        signers: Vec<String>,
    },
    /// The CRD was written by a newer version and does not have an API version that this version needs.
    #[error(
        "CRD `{crd}` of version {newer} no longer serves `{api}`, which version {version} needs"
    )]
    CrdTooNew {
        /// The CRD.
        crd: String,
        /// The version that wrote it.
        newer: String,
        /// The missing API version.
        api: String,
        /// The version that needs it.
        version: Version,
    },
    /// The CRD of this version does not have an API version that the cluster serves.
    #[error("CRD `{crd}`: the cluster serves `{api}`, but version {version} does not have it")]
    CrdDrops {
        /// The CRD.
        crd: String,
        /// The API version that the cluster serves.
        api: String,
        /// The version that does not have it.
        version: Version,
    },
    /// The CRD of this version does not have the API version that objects are stored as.
    #[error("CRD `{crd}`: objects are stored as `{api}`, but version {version} does not list it")]
    CrdStored {
        /// The CRD.
        crd: String,
        /// The API version that objects are stored as.
        api: String,
        /// The version that does not have it.
        version: Version,
    },
    /// A deployed operator may need API versions that would be removed.
    #[error("{solution} {version} is deployed in the environment `{environment}` and may need {apis}, which would be removed", apis = apis.join(", "))]
    ApiStillNeeded {
        /// The Solution.
        solution: SolutionName,
        /// The version that is deployed.
        version: Version,
        /// The environment.
        environment: EnvironmentName,
        /// The API versions that would be removed.
        apis: Vec<String>,
    },
    /// A newer version created a CRD that the version to roll back to does not have.
    #[error(
        "CRD `{crd}` of version {newer} is in the cluster, and version {version} does not have it"
    )]
    CrdOnlyNewer {
        /// The CRD.
        crd: String,
        /// The version that created it.
        newer: Version,
        /// The version to roll back to.
        version: Version,
    },
    /// The CRD of this version changes a field that is immutable.
    #[error("CRD `{crd}`: version {version} changes `{field}`, which is immutable")]
    CrdFixed {
        /// The CRD.
        crd: String,
        /// The field, below `spec`.
        field: String,
        /// The version that changes it.
        version: Version,
    },
    /// Existing objects would lose data or become invalid with the CRD of this version.
    #[error("CRD `{crd}`: existing objects are not compatible with version {version}: {losses}", losses = list_names(losses.clone()))]
    CrdLoses {
        /// The CRD.
        crd: String,
        /// The version that they are not compatible with.
        version: Version,
        /// Each loss, with the number of affected objects and the first of them.
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
    /// A CRD exists in the cluster and does not belong to a Solution.
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
    #[error("environment `{environment}` does not exist")]
    UnknownEnvironment {
        /// The requested environment.
        environment: EnvironmentName,
        /// An environment with a similar name.
        near: Option<EnvironmentName>,
    },
    /// The environment does not exist.
    #[error("environment `{environment}` does not exist")]
    NoEnvironment {
        /// The requested environment.
        environment: EnvironmentName,
    },
    /// The namespace does not belong to the environment.
    #[error("namespace `{namespace}` does not belong to the environment `{environment}`")]
    OtherNamespace {
        /// The namespace.
        namespace: Namespace,
        /// The environment.
        environment: EnvironmentName,
    },
    /// The environment has multiple namespaces, and the request does not name one.
    #[error("environment `{environment}` has multiple namespaces: {namespaces}", namespaces = joined(namespaces))]
    SeveralNamespaces {
        /// The environment.
        environment: EnvironmentName,
        /// The namespaces.
        namespaces: Vec<Namespace>,
    },
    /// The namespace is reserved for Kubernetes or for the records of imports.
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
    /// The namespace of the environment was deleted, and another namespace has its name.
    #[error(
        "namespace `{namespace}` was deleted, and another namespace with this name was created"
    )]
    NamespaceReplaced {
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace exists and does not belong to an environment.
    #[error(
        "namespace `{namespace}` already exists and does not belong to an environment{said}",
        said = label.as_ref().map_or(String::new(), |label| format!(", despite its label `{label}`"))
    )]
    NamespaceUnowned {
        /// The namespace.
        namespace: Namespace,
        /// The environment in its label, which is not recorded.
        label: Option<String>,
    },
    /// The pull secret does not exist.
    #[error("Secret `{secret}` does not exist in namespace `{namespace}`")]
    NoPullSecret {
        /// The Secret.
        secret: KubernetesName,
        /// The namespace.
        namespace: Namespace,
        /// The environment that must be created first, so that its namespace can contain the Secret.
        create: Option<EnvironmentName>,
        /// The registry that nodes pull from.
        host: String,
    },
    /// The site configuration names a `PriorityClass` that does not exist.
    #[error("PriorityClass `{class}`, which {file} names, does not exist")]
    NoPriorityClass {
        /// The `PriorityClass`.
        class: KubernetesName,
        /// A description of the file.
        file: String,
    },
    /// The site configuration requires labels, and no node has all of them.
    #[error("no node has all labels that {file} requires: {labels}", labels = labels.join(", "))]
    NoNode {
        /// The labels, as `NAME=VALUE`.
        labels: Vec<String>,
        /// A description of the file.
        file: String,
    },
    /// The site configuration sets a variable that contains the address of an image for the operator.
    #[error(
        "the site configuration sets the variable `{variable}`, which contains the address of an image for the operator"
    )]
    ImageVariable {
        /// The variable.
        variable: String,
    },
    /// The login is not for the registry that nodes pull from.
    #[error("the login is for {host}, but nodes pull from {pull_host}")]
    OtherLogin {
        /// The registry that the login is for.
        host: String,
        /// The registry that nodes pull from.
        pull_host: String,
    },
    /// The login file has no user name and password for the registry that nodes pull from.
    #[error("the login file has no user name and password for {host}")]
    NoLogin {
        /// The registry.
        host: String,
    },
    /// The login for nodes is the login that pushes images.
    #[error(
        "`{username}` is the login that pushes images, and every pod of the namespace could read its password"
    )]
    PushLogin {
        /// The user name.
        username: String,
    },
    /// A cluster-wide operator must be the only one, and another one of the Solution runs in another namespace.
    #[error(
        "the operator of {solution} is cluster-wide and must be the only one, but another one runs in namespace `{namespace}` of the environment `{environment}`"
    )]
    SecondOperator {
        /// The Solution.
        solution: SolutionName,
        /// The namespace of the other operator.
        namespace: Namespace,
        /// The environment of the other operator.
        environment: EnvironmentName,
    },
    /// A newer version is running in the namespace.
    #[error("version {running} is running, and {version} is older")]
    OlderVersion {
        /// The running version.
        running: Version,
        /// The requested version.
        version: Version,
    },
    /// The requested version does not support an upgrade from the running version.
    #[error("version {running} is running, and {version} can only upgrade from {range}")]
    NotUpgradable {
        /// The running version.
        running: Version,
        /// The requested version.
        version: Version,
        /// The versions that it can upgrade from.
        range: VersionRange,
    },
    /// Other field managers own fields of an object and have set other values.
    #[error("{object} has fields that are owned by other field managers: {fields}", fields = list_names(fields.clone()))]
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
    /// The cluster rejects an object.
    #[error("the cluster rejects {object}: {why}")]
    ObjectRefused {
        /// The object.
        object: String,
        /// The message of the API server.
        why: String,
    },
    /// The cluster would reject the operator's pod.
    #[error("the cluster would reject the operator's pod: {why}")]
    PodRefused {
        /// The message of the API server.
        why: String,
    },
    /// The cluster would reject the pods of a workload because of the PodSecurity level or the quota of their namespace.
    #[error("the cluster would reject the pods of {object}: {why}")]
    PodsRefused {
        /// The workload.
        object: String,
        /// The message of the API server.
        why: String,
    },
    /// Effects outside the environment need consent.
    #[error(
        "{things} outside the environment {have} not been accepted",
        things = if *things == 1 { "1 effect".to_owned() } else { format!("{things} effects") },
        have = if *things == 1 { "has" } else { "have" }
    )]
    NotAccepted {
        /// The number of effects that were not accepted; the plan lists them.
        things: usize,
        /// The id that accepts all effects outside the environment.
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
    /// A Solution is deployed in a namespace of the environment that would be deleted.
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
    /// The history has no earlier version of the Solution in the namespace.
    #[error("the history has no earlier version of {solution} in namespace `{namespace}`")]
    NothingBefore {
        /// The Solution.
        solution: SolutionName,
        /// The namespace.
        namespace: Namespace,
    },
    /// The history has no readable revision with this number.
    #[error("revision {revision} is not in the history")]
    NoRevision {
        /// The revision.
        revision: u32,
    },
    /// The revision did not deploy the Solution in the namespace.
    #[error("revision {revision} did not deploy {solution} in namespace `{namespace}`")]
    OtherRevision {
        /// The revision.
        revision: u32,
        /// The Solution.
        solution: SolutionName,
        /// The namespace.
        namespace: Namespace,
    },
    /// The revision failed, so its version may never have run.
    #[error("revision {revision} failed, so {solution} {version} may never have run")]
    RevisionFailed {
        /// The revision.
        revision: u32,
        /// The Solution.
        solution: SolutionName,
        /// The version.
        version: Version,
    },
    /// The version was imported again from another archive after it ran.
    #[error(
        "{solution_id} ran from archive {ran}, but was later imported from a different archive, {imported}"
    )]
    ImportedAnew {
        /// The Solution and the version.
        solution_id: String,
        /// The archive id of the archive that ran.
        ran: Digest,
        /// The archive id of the imported archive.
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
    /// A CRD does not serve any version, so its objects cannot be listed.
    #[error("cannot list the objects of {crd}: it does not serve any version")]
    ServesNothing {
        /// The CRD, by kind and name.
        crd: String,
    },
    /// Objects of a kind still exist, and its CRD would be removed.
    #[error(
        "objects of kind {kind} still exist ({count} in total): {objects}",
        count = objects.len(),
        objects = list_names(objects.clone())
    )]
    InUse {
        /// The kind.
        kind: String,
        /// The objects.
        objects: Vec<String>,
    },
    /// Objects in the cluster use a Solution or a version that would be removed.
    #[error(
        "{name} is used by objects in the cluster ({count} in total): {objects}",
        count = objects.len(),
        objects = list_names(objects.clone())
    )]
    Used {
        /// The Solution, or the Solution and the version, that would be removed.
        name: String,
        /// The objects that use it, by kind and name.
        objects: Vec<String>,
    },
    /// Custom resources and workloads would be deleted with their namespaces.
    #[error(
        "custom resources and workloads would be deleted ({count} in total): {objects}",
        count = objects.len(),
        objects = list_names(objects.clone())
    )]
    WouldDelete {
        /// The custom resources and workloads.
        objects: Vec<String>,
    },
    /// Another Solution pulls its images with the Secret that would be deleted.
    #[error("{solution} pulls images with Secret {namespace}/{secret}, which would be deleted")]
    LoginUsed {
        /// The Secret.
        secret: KubernetesName,
        /// The namespace.
        namespace: Namespace,
        /// The other Solution.
        solution: SolutionName,
    },
    /// An object that is not in the plan would be removed or changed.
    #[error("{object} is not in the plan that was shown")]
    Unplanned {
        /// The object.
        object: String,
    },
    /// The action on an object differs from the plan that was shown, because the cluster has changed.
    #[error("the action on {object} differs from the plan that was shown")]
    NotAsShown {
        /// The object.
        object: String,
    },
    /// A blocker at the registry.
    #[error(transparent)]
    #[serde(untagged)]
    Registry(#[from] store::RegistryBlocker),
    /// An existing object does not belong to the Solution.
    #[error(transparent)]
    #[serde(untagged)]
    NotOurs(#[from] OwnershipConflict),
    /// A blocker of packaged objects: sets of manifests and charts.
    #[error(transparent)]
    #[serde(untagged)]
    Unfit(#[from] ContentBlocker),
    /// A prerequisite is not met, or would no longer be met.
    #[error(transparent)]
    #[serde(untagged)]
    Unmet(Box<UnmetPrerequisite>),
    /// A namespace administrator needs the cluster administrator to continue.
    #[error(transparent)]
    #[serde(untagged)]
    Above(#[from] AdministratorTask),
}

impl From<UnmetPrerequisite> for Blocker {
    fn from(unmet: UnmetPrerequisite) -> Self {
        Self::Unmet(Box::new(unmet))
    }
}

/// Returns the joined parts after a colon; an empty text if there are none.
fn after_colon(parts: &[String]) -> String {
    if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", list_names(parts.to_vec()))
    }
}

fn joined(namespaces: &[Namespace]) -> String {
    let names: Vec<&str> = namespaces.iter().map(Namespace::as_str).collect();
    names.join(", ")
}

impl Blocker {
    /// Returns the blocker that these parts of the cluster have changed since the plan was created.
    pub(crate) fn changed(differences: impl IntoIterator<Item = impl ToString>) -> Self {
        let differences = differences.into_iter();
        Self::Changed {
            differences: differences.map(|part| part.to_string()).collect(),
        }
    }

    /// Checks whether the blocker is only that an object is in use. A user can request the removal anyway.
    #[must_use]
    pub fn is_use(&self) -> bool {
        matches!(self, Self::InUse { .. } | Self::Used { .. })
    }

    /// Checks whether the blocker is that a version is active.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active { .. })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kubernetes::{Gvk, ObjectRef};
    use serde_json::{Value, json};

    use super::*;

    /// Returns the ids in a schema, in their order.
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
    fn no_two_blockers_have_the_same_id() {
        let schema = schemars::schema_for!(Blocker).to_value();
        let mut seen = BTreeSet::new();
        for id in ids(&schema) {
            assert!(seen.insert(id), "{id}");
        }
        // One example of each type.
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
    fn a_blocker_is_its_id_with_its_fields() {
        let told = |blocker: Blocker| serde_json::to_value(blocker).unwrap();
        let nothing: [&str; 0] = [];
        assert_eq!(told(Blocker::changed(nothing)), json!({ "id": "changed" }));
        let unknown = Blocker::UnknownEnvironment {
            environment: "tests".parse().unwrap(),
            near: Some("test".parse().unwrap()),
        };
        assert_eq!(
            told(unknown),
            json!({ "id": "unknown-environment", "environment": "tests", "near": "test" })
        );
        let place = store::MirrorBlocker::SameImageName {
            name: "shop".to_owned(),
        };
        assert_eq!(
            told(store::RegistryBlocker::from(place).into()),
            json!({ "id": "same-image-name", "name": "shop" })
        );
        let missing = ContentBlocker::NoKind {
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
        let fixed = ContentBlocker::ImmutableOwn {
            object: Box::new(ObjectRef::namespaced("v1", "Secret", "n", "s")),
            why: "no".to_owned(),
        };
        assert_eq!(
            told(fixed.into()),
            json!({ "id": "immutable-own", "object": "Secret n/s", "why": "no" })
        );
    }
}
