//! Problems of the documents of a Solution. The messages apply to an archive as well as to its source tree. The caller
//! adds the name of the file.

use std::sync::Arc;

use ::manifests::{AmbiguousText, ImageParts};
use schemas::{
    ExpansionError, ImageName, ImagePlace, ImageReference, ParameterName, ReleaseName, SetName,
};

use crate::finding::catalogue::{
    FindingInfo, charts, images, manifest, manifests, operator, practice, source,
};
use crate::limits::{
    CHARTS, OBJECT_FILES, OBJECT_TEXT, OBJECT_VALUES, OBJECTS, OPERATOR_DEFINITIONS,
    OPERATOR_FILES, OPERATOR_TEXT, OPERATOR_VALUES, PARAMETERS, PATTERN_SMALL, PATTERNS_LARGE,
    PATTERNS_WEIGHT, RIGHTS, RIGHTS_TEXT,
};

/// The reason why the rules of a role cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleProblem {
    /// The field `rules` is not a list.
    #[error("`rules` is not a list")]
    NotAList,
    /// The API server rejects a rule.
    #[error("rule {number}: {problem}")]
    Rule {
        /// The position of the rule, counted from 1.
        number: usize,
        /// The problem of the rule.
        problem: String,
    },
    /// The rules expand to more than [`RIGHTS`] rights or [`RIGHTS_TEXT`] bytes.
    #[error(
        "the rules expand to more than {RIGHTS} rights or {RIGHTS_TEXT} bytes when each verb is written out for each resource"
    )]
    TooMany,
}

/// A problem of a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The Solution has no content.
    #[error(
        "spec has no images, sets of manifests or charts: a Solution must have at least one of them"
    )]
    Nothing,
    /// An image is listed twice.
    #[error("spec.images lists `{0}` twice")]
    ImageTwice(ImagePlace),
    /// The directories of two images differ only in case.
    #[error("the directories of images `{0}` and `{1}` differ only in case")]
    ImageCase(ImagePlace, ImagePlace),
    /// The directory of an image is inside that of another image.
    #[error("the directory of image `{0}` would be inside that of image `{1}`")]
    ImageInside(ImagePlace, ImagePlace),
    /// Two images have the same reference.
    #[error("images `{0}` and `{1}` have the same `ref: {2}`; workloads could get either")]
    ReferenceTwice(ImagePlace, ImagePlace, ImageReference),
    /// The operator's image is not among the images of the Solution.
    #[error("spec.operator.image is `{0}`, which spec.images does not list")]
    OperatorImage(ImagePlace),
    /// A field has an invalid expansion of the form `$(image:NAME)`.
    #[error("{0}: {1}")]
    Expansion(Arc<str>, ExpansionError),
    /// A field refers to an unknown image with `$(image:NAME)`.
    #[error("{0}: no image has the name `{1}`")]
    UnknownImage(Arc<str>, ImageName),
    /// A field refers to more than one image with `$(image:NAME)`.
    #[error("{0}: {2} images have the name `{1}`")]
    AmbiguousImage(Arc<str>, ImageName, usize),
    /// Kubernetes rejects the name of a variable.
    #[error("spec.operator.env: `{0}` is not a valid variable name")]
    VariableName(String),
    /// A variable is set twice.
    #[error("spec.operator.env: `{0}` is set twice")]
    VariableTwice(String),
    /// A variable contains the reference of an image that the archive lacks.
    #[error("spec.operator.env.{0} is `{1}`, which is not the `ref` of any image in the archive")]
    RelatedImage(String, String),
    /// A prerequisite cannot be met, or there are too many.
    #[error("spec.prerequisites{0}")]
    Prerequisite(String),
    /// The operator's template sets a field that templates cannot set.
    #[error("spec.operator.template.{0}: {1}")]
    Template(String, String),
    /// The operator's pods have an effect beyond their namespace.
    #[error("spec.operator.template: its pods {0}")]
    TemplateReach(String),
    /// The operator's files have too many bytes.
    #[error("the files have {0} bytes; at most {OPERATOR_FILES} are read")]
    FileBytes(u64),
    /// There are too many CRDs.
    #[error("there are {0} CRDs; at most {OPERATOR_DEFINITIONS} are read")]
    Definitions(usize),
    /// The operator's files contain too many values.
    #[error("the files hold more than {OPERATOR_VALUES} values")]
    Values,
    /// The operator's files contain too much text after aliases are expanded.
    #[error("the files hold more than {OPERATOR_TEXT} bytes of text")]
    Text,
    /// The file of a CustomResourceDefinition does not have exactly one document.
    #[error("holds {0} documents")]
    Documents(usize),
    /// A document is not a CustomResourceDefinition.
    #[error("holds `{0}` `{1}`")]
    NotADefinition(String, String),
    /// A CustomResourceDefinition has an invalid field or lacks a required one.
    #[error("{0}")]
    Shape(String),
    /// The API server rejects the schema of a CustomResourceDefinition.
    #[error("{0}")]
    Schema(String),
    /// A CustomResourceDefinition uses one of Kubernetes' own groups.
    #[error("spec.group is `{0}`")]
    Group(String),
    /// The versions of a CustomResourceDefinition conflict with each other.
    #[error("{0}")]
    Versions(String),
    /// The name of a CustomResourceDefinition is not PLURAL.GROUP.
    #[error("the name is `{0}`, not `{1}`")]
    DefinitionName(String, String),
    /// The name of a CustomResourceDefinition is not a valid object name.
    #[error("the name `{0}` is not a DNS subdomain")]
    ObjectName(String),
    /// A CustomResourceDefinition requires a conversion webhook, which is in one namespace, although there can be many
    /// environments.
    #[error("spec.conversion names a webhook")]
    Conversion,
    /// Two files define the same custom resource.
    #[error("defines `{0}`, which is also defined in {1}")]
    DefinedTwice(String, String),
    /// Parts of a CustomResourceDefinition's metadata are not applied.
    #[error("some of its metadata is not applied: {0}")]
    Withheld(String),
    /// A document, counted from 1, is not a role.
    #[error("document {0} is `{1}` `{2}`")]
    NotARole(usize, String, String),
    /// A document, counted from 1, has an invalid role name.
    #[error("document {0} has no usable name: `{1}`")]
    RoleName(usize, String),
    /// Two roles have the same kind and name.
    #[error("{0} `{1}` occurs twice")]
    RoleTwice(String, String),
    /// A role aggregates the rules of other roles.
    #[error("{0}: aggregationRule grants rights that are not in the archive")]
    Aggregated(Arc<str>),
    /// The rules of a role are not a list.
    #[error("{0}: {1}")]
    Rules(Arc<str>, RuleProblem),
    /// The API server rejects a rule of a role.
    #[error("{0}, {1}")]
    Rule(Arc<str>, RuleProblem),
    /// The rules of all roles expand to too many rights.
    #[error(transparent)]
    Rights(RuleProblem),
    /// A rule, counted from 1, uses `*` in these fields.
    #[error("{0}, rule {1}: `*` is used in {2}")]
    Wildcard(Arc<str>, usize, String),
    /// A rule, counted from 1, grants cluster-scoped resources in a namespace.
    #[error("{0}, rule {1}: {2} are not namespaced")]
    ClusterOnly(Arc<str>, usize, String),
    /// A role grants dangerous rights: the role, its reach, the rights and their consequence.
    #[error("{0}, {1}: the right to {2} lets it {3}")]
    Dangerous(Arc<str>, &'static str, String, &'static str),
    /// A document is not an object that can be applied.
    #[error("{0}")]
    ObjectShape(String),
    /// An object is forbidden in archives.
    #[error("{0}")]
    Forbidden(String),
    /// Two files contain the same object.
    #[error("is {0} `{1}`, which is also in {2}")]
    ObjectTwice(String, String, String),
    /// No allowed version of Kubernetes serves the API of an object.
    #[error("{0}")]
    ApiRemoved(String),
    /// The API of an object is deprecated, or removed in some allowed versions.
    #[error("{0}")]
    ApiDeprecated(String),
    /// A node does not start a container because of the user of its image.
    #[error("{0}")]
    RefusedUser(String),
    /// Containers have no readiness probe.
    #[error("no readiness probe: containers {0}")]
    NoReadiness(String),
    /// Containers have no resource requests.
    #[error("no requests: containers {0}")]
    NoRequests(String),
    /// The expressions of rules do not select an environment.
    #[error("these rules select the series of all environments: {0}")]
    WideRules(String),
    /// A dashboard is invalid, or not specific to its environment.
    #[error("{0}")]
    Dashboard(String),
    /// A problem of an object that is generated from another document, with the field that it is generated from.
    #[error("{0}: {1}")]
    OfMade(String, Box<Problem>),
    /// A text, by its position, has an invalid placeholder.
    #[error("{0}: {1}")]
    Placeholder(String, String),
    /// A container, by its position, runs an image that is not among the Solution's.
    #[error("{0} is `{1}`, which is not an image of the Solution")]
    MissingImage(String, ImageReference),
    /// A text, by its position, names an image that is not among the Solution's.
    #[error("{0} names `{1}`, which is not an image of the Solution")]
    MentionedImage(String, ImageReference),
    /// A text, by its position, names the repository of an image, with the placeholder that may be intended.
    #[error("{0} names the repository of an image of the Solution, perhaps for `{1}`")]
    MentionedRepository(String, String),
    /// Fields name an image in parts.
    #[error("{}", in_parts(.0))]
    ImageInParts(Box<ImageParts>),
    /// A text, by its position, may name a namespace that the site chooses.
    #[error("{0} has `{written}`, which may mean the namespace `{namespace}`, whose name differs at a site; its placeholder is `{meant}`", written = .1.written, namespace = .1.namespace, meant = .1.meant)]
    MentionedNamespace(String, Box<AmbiguousText>),
    /// An object contains images or namespaces without placeholders.
    #[error("names images or namespaces of the Solution literally, not with placeholders")]
    NotCompiled,
    /// A cluster-scoped object, by its kind, names a namespace.
    #[error("is a {0}, which is cluster-scoped, and names the namespace `{1}`")]
    NamespaceOfCluster(String, String),
    /// A value, by its position and text, is an unreplaced variable of clusterctl or envsubst.
    #[error("{0}: `{1}` is a variable that was not replaced")]
    Unreplaced(String, String),
    /// A set conflicts with other sets, charts or parameters.
    #[error("the set `{0}` {1}")]
    Set(SetName, String),
    /// A chart conflicts with other charts or sets.
    #[error("the chart `{0}` {1}")]
    Chart(ReleaseName, String),
    /// There are too many charts.
    #[error("there are {0} charts; at most {CHARTS} are read")]
    Charts(usize),
    /// A value of a chart, by its position, has an invalid placeholder.
    #[error("{0}: {1}")]
    ValuesPlaceholder(String, String),
    /// The definition of a parameter is invalid.
    #[error("the parameter `{0}` {1}")]
    Parameter(ParameterName, String),
    /// There are too many parameters.
    #[error("spec.parameters has {0} parameters; at most {PARAMETERS} are read")]
    Parameters(usize),
    /// The patterns of parameters take too long to compile.
    #[error(
        "the patterns in spec.parameters are too large: at most {PATTERNS_LARGE} may compile to more than {PATTERN_SMALL} bytes, and together they may have at most {PATTERNS_WEIGHT} Unicode classes"
    )]
    Patterns,
    /// The files of objects have too many bytes.
    #[error("the files have {0} bytes; at most {OBJECT_FILES} are read")]
    ObjectBytes(u64),
    /// There are too many objects.
    #[error("there are {0} objects; at most {OBJECTS} are read")]
    Objects(usize),
    /// The objects contain too many values.
    #[error("the objects hold more than {OBJECT_VALUES} values")]
    ObjectValues,
    /// The objects contain too much text after aliases are expanded.
    #[error("the objects hold more than {OBJECT_TEXT} bytes of text")]
    ObjectText,
}

impl Problem {
    /// Returns the finding for an archive with this problem. Returns `None` if existing archives with it are accepted,
    /// and only packing rejects it.
    #[must_use]
    pub fn finding(&self) -> Option<&'static FindingInfo> {
        Some(match self {
            Self::Nothing | Self::ReferenceTwice(..) | Self::ObjectName(_) => return None,
            Self::ImageTwice(_) => &manifest::IMAGE_REPEATED,
            Self::ImageCase(..) | Self::ImageInside(..) => &images::PLACE,
            Self::OperatorImage(_) => &manifest::OPERATOR_IMAGE,
            Self::Expansion(..) | Self::UnknownImage(..) | Self::AmbiguousImage(..) => {
                &manifest::EXPANSION
            }
            Self::VariableName(_) | Self::VariableTwice(_) => &manifest::VARIABLE,
            Self::RelatedImage(..) => &manifest::RELATED_IMAGE,
            Self::Prerequisite(_) => &manifest::PREREQUISITE,
            Self::Template(..) => &operator::POD_TEMPLATE,
            Self::TemplateReach(_) => &operator::POD_REACH,
            Self::FileBytes(_)
            | Self::Definitions(_)
            | Self::Values
            | Self::Text
            | Self::Rights(_) => &operator::BUDGET,
            Self::Documents(_) => &operator::CRD_COUNT,
            Self::NotADefinition(..) => &operator::CRD_KIND,
            Self::Shape(_) => &operator::CRD_SHAPE,
            Self::Schema(_) => &operator::CRD_SCHEMA,
            Self::Group(_) => &operator::CRD_GROUP,
            Self::Versions(_) => &operator::CRD_VERSIONS,
            Self::DefinitionName(..) => &operator::CRD_NAME,
            Self::Conversion => &operator::CRD_CONVERSION,
            Self::DefinedTwice(..) => &operator::CRD_REPEATED,
            Self::Withheld(_) => &operator::CRD_METADATA,
            Self::NotARole(..) => &operator::ROLE_KIND,
            Self::RoleName(..) | Self::RoleTwice(..) => &operator::ROLE_NAME,
            Self::Aggregated(_) | Self::Rules(..) | Self::Rule(..) => &operator::ROLE_RULES,
            Self::Wildcard(..) => &operator::WILDCARD,
            Self::ClusterOnly(..) => &operator::CLUSTER_RULE,
            Self::Dangerous(..) => &operator::DANGEROUS_RULE,
            Self::ObjectShape(_) => &manifests::OBJECT,
            Self::Forbidden(_) => &manifests::FORBIDDEN,
            Self::ObjectTwice(..) => &manifests::REPEATED,
            Self::ApiRemoved(_) => &manifests::API_REMOVED,
            Self::ApiDeprecated(_) => &manifests::API_DEPRECATED,
            Self::RefusedUser(_) => &practice::USER,
            Self::NoReadiness(_) => &practice::READINESS,
            Self::NoRequests(_) => &practice::REQUESTS,
            Self::WideRules(_) => &practice::WIDE_RULES,
            Self::Dashboard(_) => &practice::DASHBOARD,
            Self::OfMade(_, problem) => return problem.finding(),
            Self::Placeholder(..) => &manifests::PLACEHOLDER,
            Self::MissingImage(..) => &manifests::IMAGE_MISSING,
            Self::MentionedImage(..) | Self::MentionedRepository(..) => &manifests::IMAGE_MENTIONED,
            Self::ImageInParts(_) => &manifests::IMAGE_PARTS,
            Self::MentionedNamespace(..) => &manifests::NAMESPACE,
            Self::NotCompiled => &manifests::NOT_COMPILED,
            Self::NamespaceOfCluster(..) => &manifests::CLUSTER_OBJECT,
            Self::Unreplaced(..) => &manifests::VARIABLE,
            Self::Set(..) => &manifests::SETS,
            Self::Chart(..) | Self::Charts(_) => &charts::RELEASE,
            Self::ValuesPlaceholder(..) => &charts::PLACEHOLDER,
            Self::Parameter(..) | Self::Parameters(_) | Self::Patterns => &manifests::PARAMETER,
            Self::ObjectBytes(_) | Self::Objects(_) | Self::ObjectValues | Self::ObjectText => {
                &manifests::BUDGET
            }
        })
    }

    /// Returns the finding for a source tree with this problem.
    #[must_use]
    pub fn source_finding(&self) -> &'static FindingInfo {
        match (self.finding(), self) {
            (Some(info), _) => info,
            (None, Self::ReferenceTwice(..)) => &source::REFERENCE,
            (None, Self::ObjectName(_)) => &source::OBJECT_NAME,
            (None, _) => &source::NOTHING,
        }
    }
}

/// Returns the message for an image in parts. It lists the fields, because no single text contains the reference.
fn in_parts(parts: &ImageParts) -> String {
    let ImageParts {
        path,
        written,
        fields,
    } = parts;
    let fields = fields
        .iter()
        .map(|field| format!("`{field}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if parts.is_complete() {
        format!(
            "{path} splits `{written}` into {fields}, where an import does not replace the address"
        )
    } else {
        format!("{path} names `{written}` in {fields}, without a tag")
    }
}
