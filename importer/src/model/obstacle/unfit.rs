//! The obstacles that keep objects that are carried as they are from an environment.

use std::fmt;

use change::Recreate;
use deployer::{Gvk, ObjectRef};
use rules::ValueProblem;
use schemars::JsonSchema;
use schemas::{Namespace, ParameterName, ReleaseName, SolutionName, named};
use serde::{Serialize, Serializer};

use crate::limits;

/// An obstacle that keeps objects that are carried as they are from an environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "Objects that are carried as they are")]
pub enum Unfit {
    /// Charts are to be installed or uninstalled, and there is no `helm` for it.
    #[error("there is no `helm` to install charts with")]
    NoHelm,
    /// The `helm` that is there cannot install charts.
    #[error("charts cannot be installed: {why}")]
    HelmUnusable {
        /// The reason.
        why: String,
    },
    /// The archive includes no `helm` for the processor of this machine.
    #[error("the archive includes no `helm` for {architecture}")]
    NoIncludedHelm {
        /// The kind of processor.
        architecture: String,
    },
    /// The archive includes a `helm`, and nobody signed the archive.
    #[error("nobody signed the archive, so the `helm` that it includes is not run")]
    UnsignedHelm,
    /// A chart does not render with its values at this cluster.
    #[error("the {release} cannot be rendered: {why}")]
    NotRendered {
        /// The release, with its namespace.
        release: String,
        /// The reason, in Helm's words.
        why: String,
    },
    /// The schema of a chart refuses the values of its release.
    #[error("the schema of the chart refuses the values of the {release}: {why}")]
    ChartValuesRefused {
        /// The release, with its namespace.
        release: String,
        /// The reason, in Helm's words.
        why: String,
    },
    /// Pods of a release want images that the archive does not have.
    #[error(
        "the {release} has pods with images that are not carried: {images}{by}",
        images = named(images.clone()),
        by = turned_on_by(values)
    )]
    NotCarried {
        /// The release, with its namespace.
        release: String,
        /// The images.
        images: Vec<String>,
        /// The values of the site without any one of which fewer are missing, each with where it comes from.
        values: Vec<String>,
    },
    /// The version has no release of this name.
    #[error("this version has no release `{release}`")]
    NoRelease {
        /// The name that was given.
        release: ReleaseName,
        /// The release that may have been meant.
        near: Option<ReleaseName>,
    },
    /// The place of a value that is chosen for a release cannot be written as a path.
    #[error(
        "the value `{path}` of the release `{release}` cannot be chosen: a key of it is empty, or it lies too deep"
    )]
    ValueUnnamed {
        /// The release.
        release: ReleaseName,
        /// The place of the value.
        path: String,
    },
    /// The environment's Secret no longer has the values that were chosen for a release.
    #[error(
        "the values that were chosen for the release `{release}` were kept in a Secret of the environment, which is gone or made anew by others"
    )]
    ValuesLost {
        /// The release.
        release: ReleaseName,
    },
    /// An object that values of a release come from cannot be used.
    #[error("{object}, from which values of the release `{release}` come ({from}), {why}")]
    ValuesSource {
        /// The object.
        object: Box<ObjectRef>,
        /// The release.
        release: ReleaseName,
        /// The site's file that names it.
        from: String,
        /// The reason.
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        why: SourceProblem,
    },
    /// A release has an object that no chart may bring.
    #[error("{object} is nothing that a chart may bring: {why}")]
    ForbiddenInChart {
        /// The object.
        object: String,
        /// The reason.
        why: String,
    },
    /// A release of this name exists and was not installed from here.
    #[error(
        "the {release} is there already (revision {revision}), and was not installed from this environment"
    )]
    ReleaseTaken {
        /// The release, with its namespace.
        release: String,
        /// The number of its newest revision.
        revision: u32,
    },
    /// The newest revision of a release is not as it was stored from here: it is from before revisions were recorded, or
    /// somebody else made or changed it.
    #[error(
        "revision {revision} of the {release} was not stored from here, or was changed since; `{accept_id}` takes it over with what it sends: {sends}",
        sends = named(sends.clone())
    )]
    NotRecorded {
        /// The release, with its namespace.
        release: String,
        /// The number of the revision.
        revision: u32,
        /// The objects and hooks of the revision.
        sends: Vec<String>,
        /// The id that takes it over.
        accept_id: String,
    },
    /// The templates of a release read objects outside of the environment, which was not accepted. Nothing of these
    /// objects is read before.
    #[error(
        "cannot render the {release}: its templates read {reads}, which is outside of the environment and was not accepted",
        reads = named(reads.clone())
    )]
    ReadsNotAccepted {
        /// The release, with its namespace.
        release: String,
        /// The objects.
        reads: Vec<String>,
        /// The id that lets the templates read them.
        accept_id: String,
    },
    /// An object has the name of one of a release, and does not belong to it.
    #[error("{object} already exists, and is not of the {release}")]
    NotOfRelease {
        /// The object.
        object: String,
        /// The release, with its namespace.
        release: String,
    },
    /// An object that holds data or other objects has the name of a release's hook.
    #[error(
        "{object} exists, and a hook of the {release} has its name: Helm would delete it, and all that it holds"
    )]
    HeldByHook {
        /// The object.
        object: String,
        /// The release, with its namespace.
        release: String,
    },
    /// An object of a set differs in fields that the API server never changes.
    #[error("{object} cannot be changed in place: {why}")]
    Immutable {
        /// The object.
        object: String,
        /// The object as the one to make anew, `KIND/NAME`.
        #[schemars(with = "String")]
        recreate: Recreate,
        /// The reason, in the cluster's words.
        why: String,
    },
    /// An object of a release differs in fields that the API server never changes, and Helm makes none anew.
    #[error("{object} cannot be changed in place, and Helm does not make it anew: {why}")]
    ImmutableOfRelease {
        /// The object.
        object: Box<ObjectRef>,
        /// The reason, in the cluster's words.
        why: String,
    },
    /// An object that an import makes itself, or a definition, differs in fields that the API server never changes. An
    /// import makes only objects of sets anew.
    #[error("{object} cannot be changed in place: {why}")]
    ImmutableOwn {
        /// The object.
        object: Box<ObjectRef>,
        /// The reason, in the cluster's words.
        why: String,
    },
    /// Something is to be made anew that neither the operator nor a set of the version has.
    #[error("{recreate} is not made anew: neither its operator nor a set of the version has it")]
    NotRecreated {
        /// The object that was asked for, as `KIND/NAME`.
        #[schemars(with = "String")]
        recreate: Recreate,
    },
    /// An object of a release lies in a namespace that does not exist and that nothing brings.
    #[error(
        "{object} of the {release} cannot be made: there is no namespace `{namespace}`, and nothing brings it"
    )]
    NoNamespace {
        /// The object.
        object: String,
        /// The release, with its namespace.
        release: String,
        /// The namespace that is missing.
        namespace: String,
    },
    /// Objects are of a kind that the cluster does not have in this version and that nothing brings.
    #[error("{objects} cannot be made: the cluster has no kind {kind}{found}", objects = named(objects.clone()))]
    NoKind {
        /// The objects.
        objects: Vec<String>,
        /// The kind that is missing.
        kind: Gvk,
        /// The versions in which the kind is there.
        found: Box<KindIn>,
    },
    /// A parameter of the Solution has no value.
    #[error("the parameter `{parameter}` has no value")]
    NoValue {
        /// The parameter.
        parameter: ParameterName,
    },
    /// The version has no parameter of this name.
    #[error("this version has no parameter `{parameter}`")]
    NoParameter {
        /// The name that was given.
        parameter: ParameterName,
        /// The parameter that may have been meant.
        near: Option<ParameterName>,
        /// The releases of charts that the version has, which may have a value of this name.
        releases: Vec<ReleaseName>,
    },
    /// A parameter does not take a value.
    #[error("the value of the parameter `{parameter}` ({from}) {why}")]
    ValueRefused {
        /// The parameter.
        parameter: ParameterName,
        /// The place that the value comes from.
        from: String,
        /// The reason, without the value.
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        why: ValueProblem,
    },
    /// A parameter names a storage class that the cluster does not have.
    #[error("the cluster has no storage class `{class}`, which the parameter `{parameter}` names")]
    NoStorageClass {
        /// The parameter.
        parameter: ParameterName,
        /// The storage class.
        class: String,
    },
    /// A patch of the site's file does not fit the release.
    #[error("{patch} cannot be applied: {why}")]
    PatchUnfit {
        /// The patch, by its place in the file.
        patch: String,
        /// The reason.
        why: String,
    },
    /// The value of a sensitive parameter stands where others can read it.
    #[error(
        "the parameter `{parameter}` is sensitive, and others can read a value that is there: {from}"
    )]
    ValueSeen {
        /// The parameter.
        parameter: ParameterName,
        /// The place that the value comes from.
        from: String,
    },
    /// The environment's Secret no longer has the value of a parameter that is kept nowhere else.
    #[error(
        "the value of the parameter `{parameter}` was kept in a Secret of the environment, which is gone or made anew by others"
    )]
    ValueLost {
        /// The parameter.
        parameter: ParameterName,
    },
    /// The values of parameters are larger together than what is kept.
    #[error("{values} have {size} bytes together; at most {max} are kept", max = limits::PARAMETERS_SIZE)]
    ValuesTooLarge {
        /// The values, in words.
        values: &'static str,
        /// The bytes that they have together.
        size: usize,
    },
    /// The namespace is to get a label that another Solution gives another value.
    #[error(
        "namespace `{namespace}` cannot get the label {label}: {solution} gives it the value `{value}`"
    )]
    LabelGiven {
        /// The namespace.
        namespace: Namespace,
        /// The label, as `NAME=VALUE`.
        label: String,
        /// The other Solution.
        solution: SolutionName,
        /// The value that it gives the label.
        value: String,
    },
    /// The namespace is to get a label that somebody has given another value.
    #[error(
        "namespace `{namespace}` cannot get the label {label}: somebody has given it the value `{value}`"
    )]
    LabelSet {
        /// The namespace.
        namespace: Namespace,
        /// The label, as `NAME=VALUE`.
        label: String,
        /// The value that it has.
        value: String,
    },
    /// The Secret with the sets that are applied before the removal is gone.
    #[error("what is applied before the removal ({sets}) was kept in {kept}, and is gone", sets = sets.join(", "))]
    CleanupLost {
        /// The Secret, as an object.
        kept: String,
        /// The sets.
        sets: Vec<String>,
    },
    /// Objects would stay whose definition needs a conversion webhook that would go.
    #[error(
        "{definition} has its objects converted by a webhook that would go, and {count} of them would stay: {objects}",
        count = objects.len(),
        objects = named(objects.clone())
    )]
    ConversionNeeded {
        /// The definition.
        definition: String,
        /// The objects that would stay.
        objects: Vec<String>,
    },
}

/// The reason why an object is no source of values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceProblem {
    /// The object is not there.
    #[error("does not exist")]
    Missing,
    /// The object has no such key.
    #[error("has no key `{0}`")]
    NoKey(String),
    /// The value of the key is not text.
    #[error("has no text under `{0}`")]
    NoText(String),
    /// The text is not YAML, or no map.
    #[error("has no map of values in YAML under `{0}`")]
    NoValues(String),
}

/// The other versions in which a kind is there, as `GROUP/VERSION`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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

/// Names the values that turned on what is missing.
fn turned_on_by(values: &[String]) -> String {
    match values {
        [] => String::new(),
        values => format!("; turned on by {}", named(values.to_vec())),
    }
}

/// Writes something as it reads in words.
fn as_text<S: Serializer>(it: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(it)
}
