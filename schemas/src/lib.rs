//! The vocabulary of the project: names, digests, references, paths and documents. Each value is validated once, where
//! it enters the program, and is a checked type from then on. The crate also has the walk through images, and strict
//! JSON and YAML.
//!
//! This crate knows grammars and documents. It must not use files, the network, the environment or the clock, and
//! depends on no other crate of the workspace.
//!
//! Each document has its own file. Read `manifest.rs` first, the manifest in an archive, and `source.rs`, the file that
//! a publisher writes. `name.rs` shows the pattern for checked types.

mod chart;
mod checksums;
mod cluster_scoped;
mod configuration;
mod contents;
mod cost;
mod digest;
mod envelope;
mod expansion;
mod findings_policy;
mod fleet;
mod image;
pub mod json;
pub mod known_keys;
pub mod limits;
mod lists;
mod manifest;
mod name;
mod operator_config;
mod parameter;
mod path;
mod pattern;
mod pattern_weight;
pub mod placeholder;
mod prerequisites;
mod printable;
mod quantity;
mod sets;
mod site;
mod source;
mod statement;
mod suggestions;
mod template;
mod trust;
mod value_path;
mod version;
pub mod yaml;

pub use chart::{
    ChartName, ChartPin, ChartRelease, ChartSource, ChartVersion, KubernetesVersion, OciChart,
    ReleaseName, RepositoryChart, SiteValues, SourceChart, Timeout, ValuePointer,
};
pub use checksums::{Checksums, ChecksumsError};
pub use cluster_scoped::{is_cluster_scoped, is_kubernetes_group};
pub use configuration::{ActiveVersion, ConfigurationError, SolutionsConfiguration};
pub use contents::{Contents, ContentsEntry, ContentsError};
pub use cost::DocumentCost;
pub use digest::{Digest, DigestError};
pub use envelope::{
    Envelope, EnvelopeError, EnvelopeSignature, KeyId, PAYLOAD_TYPE, PayloadType, base64_text,
};
pub use expansion::{ExpansionError, Piece, split_expansions};
pub use findings_policy::{
    CalendarDate, FindingId, FindingsPolicy, FindingsPolicySpec, IgnoreReason, IgnoreRule,
    PlacePattern, PolicySeverity,
};
pub use fleet::{
    ClusterApiName, ClusterName, ClusterUid, FactName, FactPath, FactQuery, FleetCluster,
    FleetError, FleetGroup, FleetMetadata, FleetSolution, FleetSpec, FleetWave, GroupName,
    KindName, LabelRequirement, LabelSelector, PlacedVersion, RequirementError, SelectorOperator,
    ServedVersion, SolutionFleet, WaveName,
};
pub use image::{
    Descriptor, Document, EMPTY_CONFIG, EMPTY_CONFIG_TYPE, Image, ImageDocument,
    ImageDocumentError, ImageIndex, ImageManifest, MediaType, Platform, REFERRER_SUFFIXES,
    Referrers, WantedPlatform, walk,
};
pub use lists::{list_names, list_quoted};
pub use manifest::{
    EnvVar, IMAGE_REFERENCE_ANNOTATION, ManifestError, Metadata, Metrics, MetricsScheme, Operator,
    OperatorImage, OperatorScope, SecurityContext, Solution, SolutionSpec,
};
pub use name::{
    Capability, EnvironmentName, ImageName, ImagePlace, ImageReference, KubernetesName, NameError,
    Namespace, SolutionName, Tag,
};
pub use operator_config::{OperatorConfig, Repository};
pub use parameter::{Generate, Parameter, ParameterFormat, ParameterName, ParameterType};
pub use path::{ArchivePath, PathError};
pub use pattern_weight::pattern_weight;
pub use prerequisites::{
    FreeResources, NeededScope, NeededSolution, NeededStorageClass, Prerequisites,
};
pub use printable::{is_unprintable, printable, printable_within};
pub use quantity::Quantity;
pub use sets::{
    ApiName, Condition, ObjectSet, OwnNamespace, Patch, PatchTarget, Phase, PodTemplatePath,
    SetName, SourceNamespace, SourceSet, Strategy,
};
pub use site::{
    Affinity, ChartChoices, Choices, LabelName, LabelValue, PartName, Proxy, ReachedRule,
    Resources, Site, SiteError, SiteRule, SiteSpec, TaintEffect, Toleration, TolerationOperator,
    ValuesKind, ValuesSource, VariableName, WorkloadKind, merge_values,
};
pub use source::{ImageSource, SolutionSource, SourceImage, SourceSpec};
pub use statement::{Predicate, Statement, StatementError, StatementTime, VolumeNames};
pub use suggestions::nearest;
pub use template::{OperatorTemplate, TemplateMetadata};
pub use trust::{SolutionPattern, TrustMetadata, TrustPolicy, TrustSpec, TrustedKey};
pub use value_path::{ValuePath, ValuePathError, ValuesByPath, by_path, choose};
pub use version::{SolutionId, Version, VersionRange};

/// The API group and version of every document of the project.
pub const API_VERSION: &str = "solutions.metalk8s.scality.com/v1alpha1";

/// Returns whether a value is the default of its type. Serialization omits such values.
#[must_use]
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
