//! The obstacles to a change of a cluster. The fix for each is said by whoever shows it.

use std::fmt;

use change::{NotOurs, Recreate};
use deployer::{Gvk, ObjectRef};
use rules::ValueProblem;
use schemas::{
    Digest, EnvironmentName, KubernetesName, Namespace, ParameterName, SolutionId, SolutionName,
    Version, VersionRange,
};

use crate::limits;

/// Something in the way: its words say what is the case, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Others changed the cluster after the plan was made.
    #[error(
        "others changed the cluster while images were being pushed, so the plan no longer holds"
    )]
    Changed,
    /// Kubernetes of this version is older than 1 with the minor version.
    #[error("the cluster runs Kubernetes {0}, which is too old")]
    Kubernetes(String, u32),
    /// This user lacks a right.
    #[error("this user may not {0}")]
    Denied(String),
    /// This user lacks a right that it takes to have a pod pull an image beforehand.
    #[error("this user may not {0}, so no pod can pull an image beforehand")]
    NoProof(String),
    /// A role gives the operator a right that this user lacks.
    #[error("{0} gives the operator the right to {1}, which this user does not hold")]
    Grant(String, String),
    /// A record of so many bytes, which no `ConfigMap` can hold.
    #[error("{0} would take {1} bytes, and a ConfigMap can hold only about 1 MiB")]
    RecordSize(&'static str, usize),
    /// A version was imported from the first archive, and this is the second.
    #[error("{0} was already imported from a different archive, {1}; this one is {2}")]
    OtherArchive(String, Digest, Digest),
    /// Something at the registry.
    #[error(transparent)]
    Registry(#[from] shelf::RegistryObstacle),
    /// Nobody signed an archive of a Solution that was imported signed, by keys of these short ids.
    #[error("earlier archives of {0} were signed by {1}, but this one is not signed")]
    NoSigners(SolutionName, String),
    /// The archive is signed by none of the keys, of these short ids, that signed before.
    #[error("earlier archives of {0} were signed by {1}, but none of these keys signed this one")]
    OtherSigners(SolutionName, String),
    /// A newer version's CRD lacks what this version needs.
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
    #[error("CRD `{0}`: the cluster serves `{1}`, but version {2} does not have it")]
    CrdDrops(String, String, Version),
    /// The CRD of this version lacks the API version that objects are stored as.
    #[error("CRD `{0}`: objects are stored as `{1}`, but version {2} does not list it")]
    CrdStored(String, String, Version),
    /// A version runs in an environment, and may need these API versions, which go.
    #[error("{0} {1} is deployed in the environment `{2}` and may need {3}, which is to go")]
    NeedsGone(SolutionName, Version, EnvironmentName, String),
    /// A newer version's CRD has no place in the version to go back to.
    #[error("CRD `{0}` of version {1} is in the cluster, and version {2} does not have it")]
    CrdOnlyNewer(String, Version, Version),
    /// Something of a CRD is another in this version that the API server never changes.
    #[error("CRD `{0}`: version {2} has another `{1}`, which the API server cannot change")]
    CrdFixed(String, String, Version),
    /// Objects of a CRD lose something by the one of this version.
    #[error("CRD `{0}`: existing objects do not fit version {1}: {2}")]
    CrdLoses(String, Version, String),
    /// A CRD is another Solution's.
    #[error("CRD `{0}` belongs to another Solution, `{1}`")]
    CrdOwned(String, String),
    /// A CRD is no Solution's.
    #[error("CRD `{0}` already exists in the cluster and belongs to no Solution")]
    CrdUnowned(String),
    /// The Solution has no CRDs to activate.
    #[error("{0} has no CRDs, so there is nothing to activate")]
    NoCrds(SolutionId),
    /// The Solution has no operator to run in an environment.
    #[error("{0} has no operator, so there is nothing to run in an environment")]
    NoOperator(SolutionId),
    /// The environment to import into does not exist; the other one may have been meant.
    #[error("there is no environment `{0}`")]
    UnknownEnvironment(EnvironmentName, Option<EnvironmentName>),
    /// The environment to delete does not exist.
    #[error("there is no environment `{0}`")]
    NoEnvironment(EnvironmentName),
    /// A namespace that the environment does not have.
    #[error("namespace `{0}` is not one of the environment `{1}`")]
    OtherNamespace(Namespace, EnvironmentName),
    /// It is not known which namespace of the environment is meant.
    #[error("environment `{0}` has several namespaces: {1}")]
    SeveralNamespaces(EnvironmentName, String),
    /// A namespace of Kubernetes, or that of the records.
    #[error("namespace `{0}` is reserved and cannot belong to an environment")]
    NamespaceReserved(Namespace),
    /// A namespace that goes.
    #[error("namespace `{0}` is being deleted")]
    NamespaceGoing(Namespace),
    /// A namespace of another environment.
    #[error("namespace `{0}` belongs to the environment `{1}`")]
    NamespaceTaken(Namespace, EnvironmentName),
    /// A namespace of the same name as one that somebody deleted.
    #[error(
        "namespace `{0}` is not the one that the environment had: it was deleted, and someone created another"
    )]
    NamespaceOther(Namespace),
    /// A namespace of no environment, perhaps with somebody else's label that names one.
    #[error(
        "namespace `{0}` already exists and belongs to no environment{said}",
        said = .1.as_ref().map_or(String::new(), |label| format!(", despite its label `{label}`"))
    )]
    NamespaceUnowned(Namespace, Option<String>),
    /// The Secret that nodes should log in with is not there.
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
    /// The site's file names a `PriorityClass` that is not there.
    #[error("PriorityClass `{0}`, which {1} names, does not exist")]
    NoPriorityClass(KubernetesName, String),
    /// The site's file asks for labels that no node has.
    #[error("no node has all labels that {1} asks for: {0}")]
    NoNode(String, String),
    /// The site's file sets a variable that has to hold the address of an image.
    #[error("the site's file sets the variable `{0}`, in which the operator finds an image")]
    ImageVariable(String),
    /// A login is for the first registry, and nodes pull from the second.
    #[error("the login is for {0}, but nodes pull from {1}")]
    OtherLogin(String, String),
    /// A file with no user name and password for the registry from which nodes pull.
    #[error("it holds no user name and password for {0}")]
    NoLogin(String),
    /// The login of this user is the one that pushes.
    #[error("`{0}` is the login that pushes, and every pod of the namespace could read it")]
    PushLogin(String),
    /// An operator works in the whole cluster, and another one of the Solution runs elsewhere.
    #[error(
        "an operator of {0} for the whole cluster must be the only one, and one runs in namespace `{1}` of the environment `{2}`"
    )]
    Second(SolutionName, Namespace, EnvironmentName),
    /// The first version runs, and the second is older.
    #[error("version {0} is running there, and {1} is older")]
    Older(Version, Version),
    /// The first version runs, and is not one that the second can upgrade from.
    #[error("version {0} is running there, and {1} can only upgrade from {2}")]
    TooOld(Version, Version, VersionRange),
    /// An object is there that is not the Solution's to write.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// Objects that are carried as they are do not fit.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Other field managers own fields of an object, with other values.
    #[error("{0} has fields that other field managers set: {1}")]
    FieldsOwned(String, String),
    /// Two objects would be one.
    #[error("two objects would have the same name: {0}")]
    SameName(String),
    /// The cluster does not take an object, and says why.
    #[error("the cluster rejects {0}: {1}")]
    Refused(String, String),
    /// The cluster would not take the operator's pod, and says why.
    #[error("the cluster would reject the operator's pod: {0}")]
    PodRefused(String),
    /// So many things reach beyond the environment; all are accepted by their id.
    #[error(
        "{things} beyond the environment and {have} not been accepted",
        things = if *.0 == 1 { "1 thing reaches".to_owned() } else { format!("{} things reach", .0) },
        have = if *.0 == 1 { "has" } else { "have" }
    )]
    Beyond(usize, String),
    /// The administrator of a namespace cannot go on without the administrator of the cluster.
    #[error(transparent)]
    Above(#[from] Above),
    /// The Solution does not run in the environment.
    #[error("{0} is not deployed in the environment `{1}`")]
    NotDeployed(SolutionName, EnvironmentName),
    /// The Solution runs in an environment.
    #[error("{0} {1} is deployed in the environment `{2}`")]
    Deployed(SolutionName, Version, EnvironmentName),
    /// The CRDs of this version are in the cluster.
    #[error("{0} {1} is active: its CRDs are in the cluster")]
    Active(SolutionName, Version),
    /// A Solution runs in a namespace of an environment that should go.
    #[error("{0} {1} is deployed in `{2}`")]
    Inhabited(SolutionName, Version, Namespace, EnvironmentName),
    /// The Solution ran as nothing else in the namespace before, as far as the receipts go back.
    #[error("the history knows nothing of {0} that ran in namespace `{1}` before")]
    NothingBefore(SolutionName, Namespace),
    /// The receipt of this number does not exist, or cannot be read.
    #[error("there is no revision {0} in the history")]
    NoRevision(u32),
    /// A receipt is about something else than the Solution in the namespace.
    #[error("revision {0} deployed no version of {1} in namespace `{2}`")]
    OtherRevision(u32, SolutionName, Namespace),
    /// A receipt says that its version did not come to run.
    #[error("revision {0} did not end well, so {1} {2} may never have run")]
    RevisionFailed(u32, SolutionName, Version),
    /// A version was imported anew since it ran: the first archive ran, the second is recorded.
    #[error("{0} ran from archive {1}, and was imported from a different archive since, {2}")]
    ImportedAnew(String, Digest, Digest),
    /// The version is not imported.
    #[error("{0} {1} is not imported")]
    NotImported(SolutionName, Version),
    /// No version of the Solution is imported.
    #[error("no version of {0} is imported")]
    NothingImported(SolutionName),
    /// The Solution is not active.
    #[error("{0} has no CRDs in the cluster")]
    NotActive(SolutionName),
    /// A CRD of which no objects can be listed.
    #[error("{0} serves no version, so nobody can tell whether objects of it exist")]
    ServesNothing(String),
    /// A CRD still has so many objects of its kind.
    #[error("objects of kind {1} still exist ({0} in total): {2}")]
    InUse(usize, String, String),
    /// So many objects use something that has this name.
    #[error("{0} is used by objects in the cluster ({1} in total): {2}")]
    Used(String, usize, String),
    /// So many objects would go with their namespaces.
    #[error("custom resources and workloads would be deleted ({0} in total): {1}")]
    WouldDelete(usize, String),
    /// The login of a Solution, in a namespace where the other one pulls with it.
    #[error("{2} pulls with Secret {1}/{0}, which would be deleted")]
    LoginUsed(KubernetesName, Namespace, SolutionName),
    /// An object would be removed or changed that the plan does not name.
    #[error("{0} has been added since the plan was shown")]
    Unplanned(String),
}

/// An obstacle that keeps objects that are carried as they are from an environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Charts are to be installed or uninstalled, and there is no program for it.
    #[error("there is no `helm` to install charts with")]
    NoHelm,
    /// The program that is to install charts cannot do so, in its own words.
    #[error("charts cannot be installed: {0}")]
    Helm(String),
    /// The archive includes no program for this kind of processor that could install charts.
    #[error("the archive includes no `helm` for {0}")]
    NoIncludedHelm(String),
    /// The archive includes a program, and nobody vouches for it.
    #[error("nobody signed the archive, so the `helm` that it includes is not run")]
    UnsignedHelm,
    /// A chart does not render with its values at this cluster, in Helm's words.
    #[error("the {0} cannot be rendered: {1}")]
    Rendering(String, String),
    /// Pods of a release want images that the archive does not have.
    #[error("the {0} has pods with images that are not carried: {1}")]
    NotCarried(String, String),
    /// An object of a release that no chart may bring, and why.
    #[error("{0} is nothing that a chart may bring: {1}")]
    Forbidden(String, String),
    /// A release of this name, in this revision, exists that was not installed from here.
    #[error("the {0} is there already (revision {1}), and was not installed from this environment")]
    ReleaseTaken(String, u32),
    /// The newest revision of a release is not as it was stored from here: it is of before revisions were recorded, or
    /// somebody else has made or changed it.
    #[error(
        "revision {revision} of the {release} was not stored from here, or was changed since; `{id}` takes it over with what it sends: {sends}"
    )]
    NotRecorded {
        /// The release.
        release: String,
        /// The number of the revision.
        revision: u32,
        /// Its objects and hooks.
        sends: String,
        /// The id under which it is accepted.
        id: String,
    },
    /// An object of a release's name is not the release's.
    #[error("{0} already exists, and is not of the {1}")]
    NotOfRelease(String, String),
    /// An object that holds data or other objects has the name of a release's hook.
    #[error(
        "{0} exists, and a hook of the {1} has its name: Helm would delete it, and all that it holds"
    )]
    HeldByHook(String, String),
    /// An object has fields that the API server never changes, and they are others now; in its own words.
    #[error("{0} cannot be changed in place: {2}")]
    Immutable(String, Recreate, String),
    /// An object of a release has fields that the API server never changes, and they are others now; in its own words. Helm
    /// does not make it anew.
    #[error("{0} cannot be changed in place, and Helm does not make it anew: {1}")]
    ImmutableOfRelease(Box<ObjectRef>, String),
    /// An object that an import makes itself, or a definition, has fields that the API server never changes, and they are
    /// others now; in its own words. An import makes only objects of sets anew.
    #[error("{0} cannot be changed in place: {1}")]
    ImmutableOwn(Box<ObjectRef>, String),
    /// Something is to be made anew, and neither the operator nor a set has it.
    #[error("{0} is not made anew: neither its operator nor a set of the version has it")]
    NotRecreated(Recreate),
    /// An object of a release lies in a namespace that is not there and that nothing brings.
    #[error("{0} of the {1} cannot be made: there is no namespace `{2}`, and nothing brings it")]
    NoNamespace(String, String, String),
    /// Objects are of a kind that the cluster does not have in this version, and that nothing brings.
    #[error("{0} cannot be made: the cluster has no kind {1}{2}")]
    NoKind(String, Gvk, Box<KindIn>),
    /// A parameter of the Solution has no value.
    #[error("the parameter `{0}` has no value")]
    NoValue(ParameterName),
    /// The version has no parameter of this name; the other one may have been meant.
    #[error("this version has no parameter `{0}`")]
    NoParameter(ParameterName, Option<ParameterName>),
    /// A parameter does not take the value that comes from there.
    #[error("the value of the parameter `{0}` ({1}) {2}")]
    Value(ParameterName, String, ValueProblem),
    /// A patch of the site's file, and why it does not fit the release.
    #[error("{0} cannot be applied: {1}")]
    Patch(String, String),
    /// The value of a sensitive parameter stands where others can read it.
    #[error("the parameter `{0}` is sensitive, and others can read a value that is there: {1}")]
    Seen(ParameterName, String),
    /// The Secret of the environment no longer has the value of a parameter that is kept nowhere else.
    #[error(
        "the value of the parameter `{0}` was kept in a Secret of the environment, which is gone or made anew by others"
    )]
    Lost(ParameterName),
    /// Values have so many bytes.
    #[error("{0} have {1} bytes together; at most {max} are kept", max = limits::PARAMETERS_SIZE)]
    Values(&'static str, usize),
    /// A label of the namespace that another Solution gives another value.
    #[error("namespace `{0}` cannot get the label {1}: {2} gives it the value `{3}`")]
    LabelGiven(Namespace, String, SolutionName, String),
    /// A label of the namespace that somebody else has given another value.
    #[error("namespace `{0}` cannot get the label {1}: somebody has given it the value `{2}`")]
    LabelSet(Namespace, String, String),
    /// The object that holds the rendered sets to apply before a removal is missing.
    #[error("what is applied before the removal ({1}) was kept in {0}, and is gone")]
    CleanupLost(String, String),
    /// So many objects of a definition would stay, and the webhook goes that converts them.
    #[error(
        "{0} has its objects converted by a webhook that would go, and {1} of them would stay: {2}"
    )]
    Converted(String, usize, String),
}

/// The other versions in which a kind is there, as `GROUP/VERSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindIn {
    /// The API versions that the cluster serves.
    pub cluster: Vec<String>,
    /// The API versions in definitions of the archive that are applied first.
    pub archive: Vec<String>,
    /// The API versions in definitions of the release itself.
    pub release: Vec<String>,
}

impl fmt::Display for KindIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cluster, archive, release] =
            [&self.cluster, &self.archive, &self.release].map(|it| it.join(", "));
        if cluster.is_empty() && archive.is_empty() && release.is_empty() {
            return f.write_str(", and neither it nor the archive has a CRD of that kind");
        }
        if !cluster.is_empty() {
            write!(f, "; it has that kind in {cluster}")?;
        }
        if !archive.is_empty() {
            write!(f, "; the archive's own CRD serves it in {archive}")?;
        }
        if !release.is_empty() {
            write!(
                f,
                "; the release's own CRD serves it in {release}, but Helm looks for all kinds before it writes that"
            )?;
        }
        Ok(())
    }
}

/// A task of the cluster's administrator, without which a namespace's administrator cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Above {
    /// A CRD has to be there already, and does not serve an API version.
    #[error("CRD `{0}` is not active: the cluster does not serve its version `{1}`")]
    Inactive(String, String),
    /// A Solution carries objects as they are.
    #[error("{0} carries objects as they are, which only cluster administrators deploy")]
    Carries(SolutionId),
    /// An object of the whole cluster would have to be written.
    #[error("{0} is an object of the whole cluster, and this is to be done in one namespace alone")]
    Wide(String),
    /// A Solution was deployed there by somebody else.
    #[error("{0} was not deployed in namespace `{1}` by the administrator of the namespace")]
    NotOwn(SolutionName, Namespace),
    /// A namespace does not say of which environment it is.
    #[error("namespace `{0}` belongs to no environment")]
    NoEnvironment(Namespace),
}

impl Obstacle {
    /// Whether it is only that something is used: a person can say that it goes all the same.
    #[must_use]
    pub fn is_use(&self) -> bool {
        matches!(self, Self::InUse(..) | Self::Used(..))
    }

    /// Whether it is that a version is active.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active(..))
    }
}
