//! The blockers for the content of sets of manifests and charts ([`ContentBlocker`]). They are separate from the other
//! blockers because they concern the content of an archive, or its combination with a site's choices.

use std::fmt;

use kubernetes::{Gvk, ObjectRef};
use planner::RecreateRequest;
use rules::ValueProblem;
use schemars::JsonSchema;
use schemas::{Namespace, ParameterName, ReleaseName, SolutionName, list_names};
use serde::{Serialize, Serializer};

use crate::limits;

/// A blocker of the sets of manifests and charts of a Solution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "Sets of manifests and charts")]
#[schemars(rename = "Unfit")]
pub enum ContentBlocker {
    /// Charts must be installed or uninstalled, and `helm` was not found.
    #[error("cannot install charts: `helm` not found")]
    NoHelm,
    /// The `helm` that was found cannot install charts.
    #[error("cannot install charts: {why}")]
    HelmUnusable {
        /// The reason.
        why: String,
    },
    /// The archive does not include a `helm` for the architecture of this machine.
    #[error("the archive does not include a `helm` for {architecture}")]
    NoIncludedHelm {
        /// The architecture.
        architecture: String,
    },
    /// The archive includes a `helm`, but is not signed.
    #[error("cannot run the `helm` of the archive: the archive is not signed")]
    UnsignedHelm,
    /// A chart does not render with its values in this cluster.
    #[error("cannot render the {release}: {why}")]
    NotRendered {
        /// The release, with its namespace.
        release: String,
        /// The error message of Helm.
        why: String,
    },
    /// The values of a release do not match the schema of its chart.
    #[error("the values of the {release} do not match the schema of the chart: {why}")]
    ChartValuesRefused {
        /// The release, with its namespace.
        release: String,
        /// The error message of Helm.
        why: String,
    },
    /// Pods of a release use images that are not in the archive.
    #[error(
        "the {release} has pods with images that are not in the archive: {images}{by}",
        images = list_names(images.clone()),
        by = turned_on_by(values)
    )]
    NotCarried {
        /// The release, with its namespace.
        release: String,
        /// The images.
        images: Vec<String>,
        /// The values of the site that add missing images, each with its source.
        values: Vec<String>,
    },
    /// The version has no release with this name.
    #[error("this version has no release `{release}`")]
    NoRelease {
        /// The given name.
        release: ReleaseName,
        /// A release with a similar name.
        near: Option<ReleaseName>,
    },
    /// The path of a value for a release has an empty key or is nested too deeply.
    #[error(
        "cannot set the value `{path}` of the release `{release}`: a key is empty, or the value is nested too deeply"
    )]
    ValueUnnamed {
        /// The release.
        release: ReleaseName,
        /// The path of the value.
        path: String,
    },
    /// The environment's Secret no longer has the values of a release.
    #[error(
        "the values of the release `{release}` are lost: the Secret of the environment that stored them was deleted or recreated"
    )]
    ValuesLost {
        /// The release.
        release: ReleaseName,
    },
    /// An object in `valuesFrom` of a release cannot be used.
    #[error("{object}, a source of values of the release `{release}` ({from}), {why}")]
    ValuesSource {
        /// The object.
        object: Box<ObjectRef>,
        /// The release.
        release: ReleaseName,
        /// The site configuration that names it.
        from: String,
        /// The reason.
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        why: SourceProblem,
    },
    /// A chart contains an object that charts must not contain.
    #[error("chart contains a forbidden object {object}: {why}")]
    ForbiddenInChart {
        /// The object.
        object: String,
        /// The reason.
        why: String,
    },
    /// A release with this name exists and was not installed from this environment.
    #[error(
        "the {release} already exists (revision {revision}) and was not installed from this environment"
    )]
    ReleaseTaken {
        /// The release, with its namespace.
        release: String,
        /// Its newest revision.
        revision: u32,
    },
    /// The newest revision of a release was not recorded by an import, or was changed since: it is older than the record of
    /// revisions, or another program created or changed it.
    #[error(
        "revision {revision} of the {release} was not recorded by an import, or was changed since; `{accept_id}` takes it over with its objects: {sends}",
        sends = list_names(sends.clone())
    )]
    NotRecorded {
        /// The release, with its namespace.
        release: String,
        /// The revision.
        revision: u32,
        /// The objects and hooks of the revision.
        sends: Vec<String>,
        /// The id that takes it over.
        accept_id: String,
    },
    /// The templates of a release read objects outside the environment without consent. These objects are not read before
    /// the consent is given.
    #[error(
        "cannot render the {release}: its templates read {reads} outside the environment, which has not been accepted",
        reads = list_names(reads.clone())
    )]
    ReadsNotAccepted {
        /// The release, with its namespace.
        release: String,
        /// The objects.
        reads: Vec<String>,
        /// The id that lets the templates read them.
        accept_id: String,
    },
    /// An existing object has the name of an object of the release and does not belong to the release.
    #[error("{object} already exists and does not belong to the {release}")]
    NotOfRelease {
        /// The object.
        object: String,
        /// The release, with its namespace.
        release: String,
    },
    /// An existing object that contains data or other objects has the name of a hook of the release.
    #[error(
        "{object} exists and has the name of a hook of the {release}: Helm would delete it with all of its content"
    )]
    HeldByHook {
        /// The object.
        object: String,
        /// The release, with its namespace.
        release: String,
    },
    /// An object of a set of manifests changes immutable fields.
    #[error("cannot change {object} in place: {why}")]
    Immutable {
        /// The object.
        object: String,
        /// The object to recreate, as `KIND/NAME`.
        #[schemars(with = "String")]
        recreate: RecreateRequest,
        /// The reason, in the cluster's words.
        why: String,
    },
    /// An object of a release changes immutable fields, and Helm does not recreate objects.
    #[error("cannot change {object} in place, and Helm does not recreate it: {why}")]
    ImmutableOfRelease {
        /// The object.
        object: Box<ObjectRef>,
        /// The reason, in the cluster's words.
        why: String,
    },
    /// An object that the import itself creates, or a CRD, changes immutable fields. An import recreates only objects of
    /// sets of manifests.
    #[error("cannot change {object} in place: {why}")]
    ImmutableOwn {
        /// The object.
        object: Box<ObjectRef>,
        /// The reason, in the cluster's words.
        why: String,
    },
    /// The object to recreate belongs neither to the operator nor to a set of manifests of the version.
    #[error(
        "cannot recreate {recreate}: it belongs neither to the operator nor to a set of manifests of this version"
    )]
    NotRecreated {
        /// The requested object, as `KIND/NAME`.
        #[schemars(with = "String")]
        recreate: RecreateRequest,
    },
    /// An object of a release is in a namespace that does not exist and is not created by the Solution.
    #[error(
        "cannot create {object} of the {release}: namespace `{namespace}` does not exist, and the Solution does not create it"
    )]
    NoNamespace {
        /// The object.
        object: String,
        /// The release, with its namespace.
        release: String,
        /// The missing namespace.
        namespace: String,
    },
    /// The cluster does not serve the kind of objects in this version, and the archive has no CRD for it.
    #[error("cannot create {objects}: the cluster does not serve kind {kind}{found}", objects = list_names(objects.clone()))]
    NoKind {
        /// The objects.
        objects: Vec<String>,
        /// The missing kind.
        kind: Gvk,
        /// The API versions in which the kind is available.
        found: Box<KindIn>,
    },
    /// A parameter of the Solution has no value.
    #[error("parameter `{parameter}` has no value")]
    NoValue {
        /// The parameter.
        parameter: ParameterName,
    },
    /// The version has no parameter with this name.
    #[error("this version has no parameter `{parameter}`")]
    NoParameter {
        /// The given name.
        parameter: ParameterName,
        /// A parameter with a similar name.
        near: Option<ParameterName>,
        /// The releases of the version, whose charts may have a value with this name.
        releases: Vec<ReleaseName>,
    },
    /// A value is not valid for its parameter.
    #[error("the value of parameter `{parameter}` ({from}) {why}")]
    ValueRefused {
        /// The parameter.
        parameter: ParameterName,
        /// The source of the value.
        from: String,
        /// The reason, without the value.
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        why: ValueProblem,
    },
    /// A parameter names a storage class that the cluster does not have.
    #[error(
        "storage class `{class}`, the value of parameter `{parameter}`, does not exist in the cluster"
    )]
    NoStorageClass {
        /// The parameter.
        parameter: ParameterName,
        /// The storage class.
        class: String,
    },
    /// A patch of the site configuration cannot be applied to the release.
    #[error("cannot apply {patch}: {why}")]
    PatchUnfit {
        /// The patch, by its position in the file.
        patch: String,
        /// The reason.
        why: String,
    },
    /// The value of a sensitive parameter is given in a place that other users can read.
    #[error("parameter `{parameter}` is sensitive, but other users can read its value: {from}")]
    ValueSeen {
        /// The parameter.
        parameter: ParameterName,
        /// The source of the value.
        from: String,
    },
    /// The environment's Secret no longer has the value of a parameter.
    #[error(
        "the value of parameter `{parameter}` is lost: the Secret of the environment that stored it was deleted or recreated"
    )]
    ValueLost {
        /// The parameter.
        parameter: ParameterName,
    },
    /// The total size of the values exceeds the limit.
    #[error("{values} have {size} bytes in total; the limit is {max}", max = limits::PARAMETERS_SIZE)]
    ValuesTooLarge {
        /// A description of the values.
        values: &'static str,
        /// Their total size in bytes.
        size: usize,
    },
    /// The namespace would get a label that another Solution sets to another value.
    #[error(
        "cannot set the label {label} on namespace `{namespace}`: {solution} sets it to `{value}`"
    )]
    LabelGiven {
        /// The namespace.
        namespace: Namespace,
        /// The label, as `NAME=VALUE`.
        label: String,
        /// The other Solution.
        solution: SolutionName,
        /// The value that it sets.
        value: String,
    },
    /// The namespace would get a label that already has another value.
    #[error(
        "cannot set the label {label} on namespace `{namespace}`: its value is already `{value}`"
    )]
    LabelSet {
        /// The namespace.
        namespace: Namespace,
        /// The label, as `NAME=VALUE`.
        label: String,
        /// The present value.
        value: String,
    },
    /// The Secret with the sets of manifests to apply before the removal is missing.
    #[error("cannot apply the sets of manifests for the removal ({sets}): {kept} is missing", sets = sets.join(", "))]
    CleanupLost {
        /// The Secret, by kind and name.
        kept: String,
        /// The sets of manifests.
        sets: Vec<String>,
    },
    /// Remaining objects need a conversion webhook that would be removed.
    #[error(
        "the conversion webhook of {definition} would be removed, but {count} of its objects would remain: {objects}",
        count = objects.len(),
        objects = list_names(objects.clone())
    )]
    ConversionNeeded {
        /// The CRD.
        definition: String,
        /// The remaining objects.
        objects: Vec<String>,
    },
}

/// The reason why an object cannot be used as a source of values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceProblem {
    /// The object does not exist.
    #[error("does not exist")]
    Missing,
    /// The object has no such key.
    #[error("has no key `{0}`")]
    NoKey(String),
    /// The value of the key is not text.
    #[error("has no text under `{0}`")]
    NoText(String),
    /// The text is not YAML, or is not a map.
    #[error("has no YAML map of values under `{0}`")]
    NoValues(String),
}

/// The other API versions in which a kind is available, as `GROUP/VERSION`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KindIn {
    /// The API versions that the cluster serves.
    pub cluster: Vec<String>,
    /// The API versions in CRDs of the archive that are applied first.
    pub archive: Vec<String>,
    /// The API versions in CRDs of the release itself.
    pub release: Vec<String>,
}

impl fmt::Display for KindIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cluster, archive, release] =
            [&self.cluster, &self.archive, &self.release].map(|versions| versions.join(", "));
        if cluster.is_empty() && archive.is_empty() && release.is_empty() {
            return f.write_str(", and neither the cluster nor the archive has a CRD for it");
        }
        if !cluster.is_empty() {
            write!(f, "; the cluster serves it in {cluster}")?;
        }
        if !archive.is_empty() {
            write!(f, "; the CRD of the archive serves it in {archive}")?;
        }
        if !release.is_empty() {
            write!(
                f,
                "; the CRD of the release serves it in {release}, but Helm checks all kinds before it creates that CRD"
            )?;
        }
        Ok(())
    }
}

/// Returns the text about the values that add missing images.
fn turned_on_by(values: &[String]) -> String {
    match values {
        [] => String::new(),
        values => format!("; turned on by {}", list_names(values.to_vec())),
    }
}

/// Serializes a value as its display text.
fn as_text<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
