//! Problems of the documents of a Solution, in words that fit an archive as well as what it is made from.
//! Whoever asked says which file it is about.

use std::sync::Arc;

use ::manifests::{ImageParts, Unclear};
use schemas::{
    ExpansionError, ImageName, ImagePlace, ImageReference, ParameterName, ReleaseName, SetName,
};

use super::RuleProblem;
use crate::catalogue::{
    FindingInfo, charts, images, manifest, manifests, operator, practice, source,
};
use crate::limits::{
    CHARTS, OBJECT_FILES, OBJECT_TEXT, OBJECT_VALUES, OBJECTS, OPERATOR_DEFINITIONS,
    OPERATOR_FILES, OPERATOR_TEXT, OPERATOR_VALUES, PARAMETERS, PATTERN_SMALL, PATTERNS_LARGE,
    PATTERNS_WEIGHT,
};

/// A problem of a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Nothing at all.
    #[error(
        "spec has no images, sets of manifests or charts: a Solution must have at least one of them"
    )]
    Nothing,
    /// An image that was listed before.
    #[error("spec.images lists `{0}` twice")]
    ImageTwice(ImagePlace),
    /// Two images whose directories are one where upper and lower case are the same.
    #[error("the directories of images `{0}` and `{1}` differ only in case")]
    ImageCase(ImagePlace, ImagePlace),
    /// An image whose directory lies inside that of another.
    #[error("the directory of image `{0}` would be inside that of image `{1}`")]
    ImageInside(ImagePlace, ImagePlace),
    /// Two images are said to be what one reference means.
    #[error("images `{0}` and `{1}` have the same `ref: {2}`; workloads could get either")]
    ReferenceTwice(ImagePlace, ImagePlace, ImageReference),
    /// The operator's image is not in the Solution.
    #[error("spec.operator.image is `{0}`, which spec.images does not list")]
    OperatorImage(ImagePlace),
    /// A field with what begins as `$(image:NAME)` and is none.
    #[error("{0}: {1}")]
    Expansion(Arc<str>, ExpansionError),
    /// A field where `$(image:NAME)` names no image.
    #[error("{0}: no image has the name `{1}`")]
    UnknownImage(Arc<str>, ImageName),
    /// A field where `$(image:NAME)` could be any of so many images.
    #[error("{0}: {2} images have the name `{1}`")]
    AmbiguousImage(Arc<str>, ImageName, usize),
    /// A variable that Kubernetes refuses.
    #[error("spec.operator.env: `{0}` is not a valid variable name")]
    VariableName(String),
    /// A variable that was given before.
    #[error("spec.operator.env: `{0}` is set twice")]
    VariableTwice(String),
    /// A variable with an image that the operator will ask for by its reference, and that will not be there.
    #[error("spec.operator.env.{0} is `{1}`, which is not the `ref` of any image in the archive")]
    RelatedImage(String, String),
    /// A prerequisite that nobody could meet, or too many of them.
    #[error("spec.prerequisites{0}")]
    Prerequisite(String),
    /// A place in the operator's template with what it has no say in.
    #[error("spec.operator.template.{0}: {1}")]
    Template(String, String),
    /// An act beyond their namespace that the template has the operator's pods do.
    #[error("spec.operator.template: its pods {0}")]
    TemplateReach(String),
    /// More bytes in the operator's files than are read.
    #[error("the files have {0} bytes; at most {OPERATOR_FILES} are read")]
    FileBytes(u64),
    /// More definitions than are read.
    #[error("there are {0} CRDs; at most {OPERATOR_DEFINITIONS} are read")]
    Definitions(usize),
    /// More values in the operator's files than are kept in memory.
    #[error("the files hold more than {OPERATOR_VALUES} values")]
    Values,
    /// More text in the operator's files, aliases expanded, than is kept in memory.
    #[error("the files hold more than {OPERATOR_TEXT} bytes of text")]
    Text,
    /// A definition's file with so many documents instead of one.
    #[error("holds {0} documents")]
    Documents(usize),
    /// An `apiVersion` and `kind` instead of a definition's.
    #[error("holds `{0}` `{1}`")]
    NotADefinition(String, String),
    /// A definition without what the API server requires.
    #[error("{0}")]
    Shape(String),
    /// A definition with a schema that the API server does not take.
    #[error("{0}")]
    Schema(String),
    /// A definition for one of Kubernetes' own groups.
    #[error("spec.group is `{0}`")]
    Group(String),
    /// A definition with versions that cannot be together.
    #[error("{0}")]
    Versions(String),
    /// A definition with a name that does not follow from what it defines.
    #[error("the name is `{0}`, not `{1}`")]
    DefinitionName(String, String),
    /// A definition with a name that no object can have.
    #[error("the name `{0}` is not a DNS subdomain")]
    ObjectName(String),
    /// A definition that needs a webhook, which names one namespace where environments are many.
    #[error("spec.conversion names a webhook")]
    Conversion,
    /// A definition that another file has too.
    #[error("defines `{0}`, which is also defined in {1}")]
    DefinedTwice(String, String),
    /// Parts of a definition's metadata that are not applied.
    #[error("some of its metadata is not applied: {0}")]
    Withheld(String),
    /// A document, from 1, with this `apiVersion` and `kind` instead of a role's.
    #[error("document {0} is `{1}` `{2}`")]
    NotARole(usize, String, String),
    /// A role, by its document, from 1, with a name that no role can have.
    #[error("document {0} has no usable name: `{1}`")]
    RoleName(usize, String),
    /// A role of a kind and name that another has.
    #[error("{0} `{1}` occurs twice")]
    RoleTwice(String, String),
    /// A role that gets its rules from others.
    #[error("{0}: aggregationRule grants rights that are not in the archive")]
    Aggregated(Arc<str>),
    /// A role whose rules are no list.
    #[error("{0}: {1}")]
    Rules(Arc<str>, RuleProblem),
    /// A role with a rule that the API server does not accept.
    #[error("{0}, {1}")]
    Rule(Arc<str>, RuleProblem),
    /// Roles whose rules come to more than is written out.
    #[error(transparent)]
    Rights(RuleProblem),
    /// A role whose rule of this number, from 1, has `*` in these fields.
    #[error("{0}, rule {1}: `*` is used in {2}")]
    Wildcard(Arc<str>, usize, String),
    /// A role in a namespace whose rule of this number, from 1, grants what only the whole cluster has.
    #[error("{0}, rule {1}: {2} are not namespaced")]
    ClusterOnly(Arc<str>, usize, String),
    /// A role, where it holds, with rights that reach further than they seem to, and how far.
    #[error("{0}, {1}: the right to {2} lets it {3}")]
    Dangerous(Arc<str>, &'static str, String, &'static str),
    /// A document that is no object which can be applied.
    #[error("{0}")]
    ObjectShape(String),
    /// An object that an archive has no business to bring.
    #[error("{0}")]
    Forbidden(String),
    /// An object of a kind and name that another file has too.
    #[error("is {0} `{1}`, which is also in {2}")]
    ObjectTwice(String, String, String),
    /// An object of an API that no version of Kubernetes serves which is allowed.
    #[error("{0}")]
    ApiRemoved(String),
    /// An object of an API that is deprecated, or removed in some versions.
    #[error("{0}")]
    ApiDeprecated(String),
    /// A container that a node does not start for the user of its image.
    #[error("{0}")]
    RefusedUser(String),
    /// Containers that nobody asks whether they are ready.
    #[error("no readiness probe: containers {0}")]
    NoReadiness(String),
    /// Containers that ask for nothing of their node.
    #[error("no requests: containers {0}")]
    NoRequests(String),
    /// Rules whose expressions do not tell environments apart.
    #[error("these rules select the series of all environments: {0}")]
    WideRules(String),
    /// A dashboard that cannot be read, or is one for all environments.
    #[error("{0}")]
    Dashboard(String),
    /// One of an object that is made of another document, with the place that it comes from.
    #[error("{0}: {1}")]
    OfMade(String, Box<Problem>),
    /// A text, by its place, with a placeholder that means nothing.
    #[error("{0}: {1}")]
    Placeholder(String, String),
    /// A container's image, by its place, that is none of the Solution's.
    #[error("{0} is `{1}`, which is not an image of the Solution")]
    MissingImage(String, ImageReference),
    /// A text, by its place, that names an image which is none of the Solution's.
    #[error("{0} names `{1}`, which is not an image of the Solution")]
    MentionedImage(String, ImageReference),
    /// A text, by its place, that names the repository of one of the Solution's images, and what may be meant.
    #[error("{0} names the repository of an image of the Solution, perhaps for `{1}`")]
    MentionedRepository(String, String),
    /// An image that is named in parts.
    #[error("{}", in_parts(.0))]
    ImageInParts(Box<ImageParts>),
    /// A text, by its place, that may name a namespace that the site chooses.
    #[error("{0} has `{written}`, which may mean the namespace `{namespace}`, whose name differs at a site; its placeholder is `{meant}`", written = .1.written, namespace = .1.namespace, meant = .1.meant)]
    MentionedNamespace(String, Box<Unclear>),
    /// An object whose images or namespaces are not placeholders throughout.
    #[error("names images or namespaces of the Solution literally, not with placeholders")]
    NotCompiled,
    /// An object of the whole cluster, by its kind, that names a namespace.
    #[error("is a {0}, which is cluster-scoped, and names the namespace `{1}`")]
    NamespaceOfCluster(String, String),
    /// A value that is a variable of clusterctl or envsubst, by its place and its text.
    #[error("{0}: `{1}` is a variable that was not replaced")]
    Unreplaced(String, String),
    /// A set that does not fit to others or to the parameters.
    #[error("the set `{0}` {1}")]
    Set(SetName, String),
    /// A chart that does not fit to others or to sets.
    #[error("the chart `{0}` {1}")]
    Chart(ReleaseName, String),
    /// More charts than are read.
    #[error("there are {0} charts; at most {CHARTS} are read")]
    Charts(usize),
    /// A place in the values of a chart where a placeholder is wrong.
    #[error("{0}: {1}")]
    ValuesPlaceholder(String, String),
    /// A parameter that cannot be what it says.
    #[error("the parameter `{0}` {1}")]
    Parameter(ParameterName, String),
    /// More parameters than are read.
    #[error("spec.parameters has {0} parameters; at most {PARAMETERS} are read")]
    Parameters(usize),
    /// Patterns of parameters that take long to compile.
    #[error(
        "the patterns in spec.parameters are too large: at most {PATTERNS_LARGE} may compile to more than {PATTERN_SMALL} bytes, and together they may have at most {PATTERNS_WEIGHT} Unicode classes"
    )]
    Patterns,
    /// More bytes in the files of objects than are read.
    #[error("the files have {0} bytes; at most {OBJECT_FILES} are read")]
    ObjectBytes(u64),
    /// More objects than are read.
    #[error("there are {0} objects; at most {OBJECTS} are read")]
    Objects(usize),
    /// More values in the objects than are kept in memory.
    #[error("the objects hold more than {OBJECT_VALUES} values")]
    ObjectValues,
    /// More text in the objects, aliases expanded, than is kept in memory.
    #[error("the objects hold more than {OBJECT_TEXT} bytes of text")]
    ObjectText,
}

impl Problem {
    /// Returns the finding of an archive with this problem. None where archives are accepted with it: only what is
    /// packed now must be without.
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

    /// Returns the finding of a source tree with this problem.
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

/// Returns the words for an image that is named in parts: with its fields, since there is no one text to look for.
fn in_parts(parts: &ImageParts) -> String {
    let ImageParts {
        path,
        written,
        fields,
    } = parts;
    let fields = fields.iter().map(|field| format!("`{field}`"));
    let fields = fields.collect::<Vec<_>>().join(", ");
    if parts.is_complete() {
        format!(
            "{path} splits `{written}` into {fields}, where an import does not replace the address"
        )
    } else {
        format!("{path} names `{written}` in {fields}, without a tag")
    }
}
