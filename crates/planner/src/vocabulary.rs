//! The names, labels and annotations that `solution` writes to a cluster. The names of upstream MetalK8s are kept, so
//! that its tools keep working. All other names have the project's own prefix.

use kubernetes::FieldManager;

/// The namespace of the records, which upstream defines.
pub const RECORDS_NAMESPACE: &str = "metalk8s-solutions";
/// Upstream's `ConfigMap` of available Solutions, which is derived from the records.
pub const AVAILABLE: &str = "metalk8s-solutions";
/// The `ConfigMap` with the signers of each Solution's archive.
pub const SIGNERS: &str = "solution-signers";
/// Upstream's `ConfigMap` in an environment's namespace with the deployed versions, as `<solution>: <version>`.
pub const ENVIRONMENT_CONFIG: &str = "metalk8s-environment";

/// The prefix of the project's own labels and annotations.
pub const PREFIX: &str = "solutions.metalk8s.scality.com/";

/// The label with the environment, on its namespaces and on the cluster-scoped objects that serve only this
/// environment.
pub const ENVIRONMENT: &str = "solutions.metalk8s.scality.com/environment";
/// The annotation of namespaces with the description of their environment.
pub const ENVIRONMENT_DESCRIPTION: &str = "solutions.metalk8s.scality.com/environment-description";
/// The annotation of namespaces that were created for an environment, and may be deleted with it.
pub const CREATED: &str = "solutions.metalk8s.scality.com/created";
/// The label with the name of the Solution, on each of its objects.
pub const SOLUTION: &str = "solutions.metalk8s.scality.com/solution";
/// The label of CRDs and records with the version that wrote them.
pub const VERSION: &str = "solutions.metalk8s.scality.com/version";
/// The label of an operator's cluster-scoped objects with the namespace of the operator.
pub const NAMESPACE: &str = "solutions.metalk8s.scality.com/namespace";
/// The annotation of pods with the hash of the configuration, so that a change of the configuration restarts them.
pub const CONFIG_HASH: &str = "solutions.metalk8s.scality.com/config-hash";
/// The label of pods that test whether an image can be pulled. Its value is the architecture of the image, or `any`.
pub const PULL_PROOF: &str = "solutions.metalk8s.scality.com/pull-proof";
/// The label of records.
pub const RECORD: &str = "solutions.metalk8s.scality.com/record";
/// The label of receipts, which are not records. Its value is the verb of the receipt's command.
pub const RECEIPT: &str = "solutions.metalk8s.scality.com/receipt";
/// The label of a receipt whose change is not complete.
pub const INCOMPLETE: &str = "solutions.metalk8s.scality.com/incomplete";

/// The label of the inventory of a deployment and of the record of its cleanup sets. Its value is the namespace.
pub const CARRIED: &str = "solutions.metalk8s.scality.com/carried";
/// The label of Helm's release Secrets with the Solution that installed the release. Helm copies it to later revisions,
/// so that a release that another actor reinstalls does not have it.
pub const RELEASE_OF: &str = "solutions.metalk8s.scality.com/release-of";
/// The annotation of Jobs with the digest of their inputs. A Job with another digest is replaced.
pub const INPUTS: &str = "solutions.metalk8s.scality.com/inputs";
/// The annotation of Jobs with the digest of the site's settings for them. A Job with another digest is replaced only
/// if it has not completed.
pub const CHOSEN: &str = "solutions.metalk8s.scality.com/chosen";

/// The annotation of packaged CRDs with the version that wrote them. It is not a label, since
/// these definitions belong to one environment and do not show the active version.
pub const DEFINED_BY: &str = "solutions.metalk8s.scality.com/defined-by";

/// The annotation of workloads that were stopped for the start of their successors. Its value is their number of
/// replicas.
pub const STOPPED: &str = "solutions.metalk8s.scality.com/stopped";

/// The mark of CRDs that existed before a Solution adopted them, and are kept when it is removed.
pub const ADOPTED: &str = "solutions.metalk8s.scality.com/adopted";
/// The annotation of a namespace's `default` ServiceAccount with the pull secret that was added to it.
pub const PULL_SECRET: &str = "solutions.metalk8s.scality.com/pull-secret";

/// The field manager of all objects that are applied.
pub const FIELD_MANAGER: &str = "solution";

/// The name of the controller in Events.
pub const EVENT_CONTROLLER: &str = "solutions.metalk8s.scality.com/solution";

/// The label with the tool that manages an object.
pub const MANAGED_BY: &str = schemas::OperatorTemplate::MANAGED_BY;
/// The value of the [`MANAGED_BY`] label.
pub const MANAGER: &str = "solution";

/// Returns the field manager.
///
/// # Panics
///
/// Never, because the name is a constant.
#[must_use]
pub fn manager() -> FieldManager {
    FieldManager::new(FIELD_MANAGER).expect("the constant is a field manager's name")
}
