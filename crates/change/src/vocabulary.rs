//! The names, labels and annotations that are written to a cluster. Those of upstream are kept, so that its tools
//! and habits keep working; ours lie below the project's own prefix.

use deployer::FieldManager;

/// The namespace of the records, upstream's.
pub const RECORDS_NAMESPACE: &str = "metalk8s-solutions";
/// Upstream's `ConfigMap` of available Solutions, kept as a projection of the records.
pub const AVAILABLE: &str = "metalk8s-solutions";
/// The `ConfigMap` of whose signatures were seen on each Solution.
pub const SIGNERS: &str = "solution-signers";
/// Upstream's `ConfigMap` of what an environment's namespace runs: `<solution>: <version>`.
pub const ENVIRONMENT_CONFIG: &str = "metalk8s-environment";

/// The prefix of the project's own labels and annotations.
pub const PREFIX: &str = "solutions.metalk8s.scality.com/";

/// The label of namespaces for the environment they belong to, and of cluster-scoped objects for the one environment
/// they serve.
pub const ENVIRONMENT: &str = "solutions.metalk8s.scality.com/environment";
/// The annotation of namespaces that says what the environment is for.
pub const ENVIRONMENT_DESCRIPTION: &str = "solutions.metalk8s.scality.com/environment-description";
/// The mark of namespaces that were made for an environment, and so may be deleted with it.
pub const CREATED: &str = "solutions.metalk8s.scality.com/created";
/// The label of every object of a Solution that gives its name. The inventory is what carries this label.
pub const SOLUTION: &str = "solutions.metalk8s.scality.com/solution";
/// The label of CRDs and records for the version that wrote them.
pub const VERSION: &str = "solutions.metalk8s.scality.com/version";
/// The label of an operator's cluster-scoped objects for the namespace that it runs in.
pub const NAMESPACE: &str = "solutions.metalk8s.scality.com/namespace";
/// The annotation of pods with the hash of the configuration, so that a change restarts them.
pub const CONFIG_HASH: &str = "solutions.metalk8s.scality.com/config-hash";
/// The label of pods that prove that an image can be pulled: the image's architecture, or `any`.
pub const PULL_PROOF: &str = "solutions.metalk8s.scality.com/pull-proof";
/// The label of records.
pub const RECORD: &str = "solutions.metalk8s.scality.com/record";
/// The label of receipts, which are no records: the verb.
pub const RECEIPT: &str = "solutions.metalk8s.scality.com/receipt";
/// The mark beside it, until the change is complete.
pub const INCOMPLETE: &str = "solutions.metalk8s.scality.com/incomplete";

/// The label of the record of what a deployment carries as it is: the namespace of the deployment.
pub const CARRIED: &str = "solutions.metalk8s.scality.com/carried";
/// The label of what Helm keeps of a release that was installed from here: the Solution that brought it. Helm hands it
/// on to every later revision, and a release that somebody else makes anew has none.
pub const RELEASE_OF: &str = "solutions.metalk8s.scality.com/release-of";
/// The annotation of Jobs with the digest of what they were made from. Another one means that the Job is made anew.
pub const INPUTS: &str = "solutions.metalk8s.scality.com/inputs";
/// The annotation beside it with the digest of what a site's choices make of a Job. Another one means only that a Job that
/// is not done is made anew.
pub const CHOSEN: &str = "solutions.metalk8s.scality.com/chosen";

/// The annotation of definitions that a deployment carries as they are: the version that wrote them. It is no label:
/// they belong to one environment, and say nothing of which version is active.
pub const DEFINED_BY: &str = "solutions.metalk8s.scality.com/defined-by";

/// The annotation of workloads that were stopped so that what takes their place can start: how many pods they had.
pub const STOPPED: &str = "solutions.metalk8s.scality.com/stopped";

/// The mark of CRDs that were there before a Solution took them over, and so stay when it goes.
pub const ADOPTED: &str = "solutions.metalk8s.scality.com/adopted";
/// The annotation of a namespace's default ServiceAccount for the pull secret that was added to it.
pub const PULL_SECRET: &str = "solutions.metalk8s.scality.com/pull-secret";

/// The one field manager of everything that is applied.
pub const FIELD_MANAGER: &str = "solution";

/// The controller that reports Events.
pub const EVENT_CONTROLLER: &str = "solutions.metalk8s.scality.com/solution";

/// The label that says which tool keeps an object.
pub const MANAGED_BY: &str = schemas::OperatorTemplate::MANAGED_BY;
/// The value of that label.
pub const MANAGER: &str = "solution";

/// Returns the one field manager.
///
/// # Panics
///
/// Never: the name is a constant.
#[must_use]
pub fn manager() -> FieldManager {
    FieldManager::new(FIELD_MANAGER).expect("the constant is a field manager's name")
}
