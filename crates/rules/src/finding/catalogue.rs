//! The catalogue of all findings. Checks refer to its constants, and documentation and tests read [`FINDINGS`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The severity of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The archive is rejected.
    Error,
    /// The archive is accepted, with a warning.
    Warning,
    /// The archive is accepted: a policy has lowered a warning to this.
    Note,
}

impl Severity {
    /// Returns the severity in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// The facts that all findings with one id have in common. [`FINDINGS`] is the list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingInfo {
    /// The id, `<group>.<name>`; never changes its meaning once released.
    pub id: &'static str,
    /// The severity of the finding.
    pub severity: Severity,
    /// The meaning of the finding, in one line.
    pub summary: &'static str,
    /// The fix for it, in one line.
    pub fix: &'static str,
}

impl FindingInfo {
    /// Returns the part of the id before the dot: `source`, `container`, `signature`, `integrity`, `manifest`,
    /// `images`, `operator`, `manifests`, `charts`, `programs`, `practice` or `vulnerabilities`.
    #[must_use]
    pub fn group(&self) -> &'static str {
        finding_group(self.id)
    }

    /// Returns the same finding with a fix for a specific cause. [`advice::infos`] must list it, so that recorded
    /// findings can be read back.
    #[must_use]
    pub const fn with_fix(self, fix: &'static str) -> Self {
        Self { fix, ..self }
    }
}

/// Findings with a fix for a specific cause, for ids whose causes have different fixes.
pub mod advice {
    use schemas::yaml::YamlCause;

    use super::{FindingInfo, container, source};

    /// A directory in place of an archive.
    pub const DIRECTORY: FindingInfo =
        container::NOT_ISO.with_fix("pass the archive itself: its file, or the device of its disc");
    /// A file that is too short for an image.
    pub const TOO_SHORT: FindingInfo = container::NOT_ISO
        .with_fix("copy the archive again from its source, and compare the sizes");

    /// A chart in a directory, which cannot have a signature.
    pub const UNPACKED: FindingInfo = source::SIGNATURE.with_fix(
        "give the chart as `helm package --sign` packages it (`file:`), or leave `--keyring` out",
    );
    /// A chart without its provenance file, which contains the signature.
    pub const NO_PROVENANCE: FindingInfo = source::SIGNATURE.with_fix(
        "get the file that ends in `.prov` from the chart's publisher and put it next to a chart on this disk, or leave `--keyring` out",
    );

    /// A rendering that YAML parsers interpret differently.
    pub const AMBIGUOUS: FindingInfo = source::RENDERING.with_fix(
        "change the template, or its values, so that all YAML parsers read the same; if another publisher maintains the chart, report the problem there and pack a corrected copy",
    );

    /// The fix for a document of another kind.
    pub const KIND: &str =
        "write `apiVersion: solutions.metalk8s.scality.com/v1alpha1` and `kind: SolutionSource`";
    /// The fix for a too long name and version.
    pub const ID: &str = "choose a shorter metadata.name or spec.version";

    /// Returns the fix for the cause of a YAML error.
    #[must_use]
    pub const fn of_cause(cause: YamlCause) -> &'static str {
        match cause {
            YamlCause::Syntax => {
                "correct the YAML on this line or shortly before it: indentation, quotes, brackets, or markers of a merge conflict"
            }
            YamlCause::DuplicateKey => "remove one of the two entries",
            YamlCause::UnknownField => {
                "correct the spelling of the field, or move it to the mapping that it belongs to"
            }
            YamlCause::MissingField => "add the field to this mapping",
            YamlCause::Type => {
                "write a value of the type that the message names; put quotes around a string that looks like a number or a boolean"
            }
            YamlCause::Value => "write a value that the message allows",
            YamlCause::Limit => "make the file smaller, or nest it less deeply",
        }
    }

    /// Returns all findings with a specific fix.
    pub fn infos() -> impl Iterator<Item = FindingInfo> {
        let causes = YamlCause::ALL.iter().copied().map(of_cause);
        let of_source = [KIND, ID]
            .into_iter()
            .chain(causes)
            .map(|advice| source::YAML.with_fix(advice));
        [DIRECTORY, TOO_SHORT, UNPACKED, NO_PROVENANCE, AMBIGUOUS]
            .into_iter()
            .chain(of_source)
    }
}

/// Returns the part of a finding's id before the dot.
#[must_use]
pub fn finding_group(id: &str) -> &str {
    id.split('.').next().unwrap_or_default()
}

/// Checks whether a finding is a known vulnerability.
#[must_use]
pub fn is_vulnerability(id: &str) -> bool {
    finding_group(id) == vulnerabilities::HIGH.group()
}

/// Defines a module of constants for each group, and the list of all findings.
macro_rules! catalogue {
    ($($(#[$doc:meta])* $group:ident {
        $($name:ident: $severity:ident, $id:literal, $summary:literal, $fix:literal;)*
    })*) => {
        $($(#[$doc])*
        #[expect(missing_docs, reason = "the summary of each says what it means")]
        pub mod $group {
            use super::{FindingInfo, Severity};

            $(pub const $name: FindingInfo = FindingInfo {
                id: $id,
                severity: Severity::$severity,
                summary: $summary,
                fix: $fix,
            };)*
        })*

        /// All findings, in the order in which reports list them. Ids are stable.
        pub const FINDINGS: &[FindingInfo] = &[$($($group::$name,)*)*];
    };
}

catalogue! {
    /// Findings about the source tree, before an archive exists.
    source {
        YAML: Error, "source.yaml",
            "solution.yaml cannot be read",
            "correct the field or line that the message names";
        PATH: Error, "source.path",
            "a path in solution.yaml points outside its directory",
            "write a relative path without `..`, so that the directory contains everything that the Solution is built from";
        MISSING: Error, "source.missing",
            "a file or directory that solution.yaml names does not exist",
            "create it, or correct the path; a directory of CRDs may be empty, and a file of roles may contain only comments";
        FILE: Error, "source.file",
            "a file of the source tree does not fit its field, or is too large",
            "replace it with a file as the message describes";
        FILE_NAME: Error, "source.file-name",
            "a file has a name that is not allowed in an archive",
            "rename it to at most 90 letters, digits, `.`, `_` and `-`, beginning with a letter or a digit";
        FILE_TWICE: Error, "source.file-twice",
            "two files would have the same name in the archive",
            "keep one of them, or rename it";
        NOTHING: Error, "source.nothing",
            "the Solution has no content",
            "list images in spec.images, sets of manifests in spec.manifests or charts in spec.charts";
        REFERENCE: Error, "source.reference",
            "two images have the same reference",
            "give each image a different `ref`, or pack only one of them";
        OBJECT_NAME: Error, "source.object-name",
            "a CRD has a name that the API server rejects",
            "write spec.names.plural and spec.group in lower-case letters, digits, `-` and `.`, and set metadata.name to PLURAL.GROUP";
        IMAGE: Error, "source.image",
            "an object or a chart needs an image that spec.images does not list",
            "add the image to spec.images, for example with `solution pack --add-images`, or remove the reference with a patch or with chart values; if a chart names the image but no pod pulls it, list it in the chart's `unusedImages`; `solution pack --check --why IMAGE` lists every place in the charts that names it";
        IMAGE_SOURCE: Error, "source.image-source",
            "an image cannot be read from its source",
            "check the image's `source` (name and tag) and `platforms` in solution.yaml, or copy the image to its source again";
        PATCH: Error, "source.patch",
            "a patch of a set of manifests cannot be applied",
            "correct the patch, or its `target`, in spec.manifests of solution.yaml";
        CHART: Error, "source.chart",
            "a chart does not match its source, or contains files that charts cannot have",
            "correct the source in spec.charts of solution.yaml, or the chart's directory";
        SIGNATURE: Error, "source.signature",
            "a chart is not signed by a key of the keyring that charts are verified with",
            "see whose signature it has: with the right key, `gpg --export KEY > FILE` makes a keyring; otherwise get the chart again from its publisher, and do not use this one";
        RENDERING: Error, "source.rendering",
            "a chart cannot be rendered, or its rendered manifests cannot be read",
            "set the values that the chart requires in spec.charts.values; run `helm template` to see the chart's own error message";
        ADDRESS: Error, "source.address",
            "a chart combines parts of an image's address into an invalid reference",
            "pass the whole address to the chart, with placeholders for one image (repository and tag or digest), or write the reference without a placeholder";
    }

    /// Findings about the image itself, and the bytes between the files.
    container {
        NOT_ISO: Error, "container.not-iso",
            "the file is not an ISO 9660 image",
            "check the path; if it is a copy of an archive, copy it again from the source";
        FOREIGN: Error, "container.foreign",
            "the image was created by another tool, not by `solution pack`",
            "ask the publisher for an archive created by `solution pack`, or convert this one with `solution init --from`, pack the tree and sign it";
        TRUNCATED: Error, "container.truncated",
            "the end of the image is missing",
            "copy the archive again from the source and compare the sizes";
        TOO_LARGE: Error, "container.too-large",
            "the file continues past the end of the image",
            "truncate the file to the size of the image with the command in the message, then validate it again; copies from optical discs and USB sticks often end with padding";
        METADATA: Error, "container.metadata",
            "bytes between the files do not match the signed list",
            "copy the archive again from the source; if it fails again, treat it as tampering";
        LAYOUT: Error, "container.layout",
            "the archive requires a feature that this version of `solution` does not support",
            "use a newer version of `solution`";
        DRAFT: Error, "container.draft",
            "the archive uses a draft of a feature that has since been released",
            "pack it again with this version of `solution`; versions that a site has already imported remain usable there";
        LIST: Error, "container.list",
            "the signed list of files does not describe a valid image",
            "ask the publisher for an archive created by `solution pack`";
        UNDECLARED: Error, "container.undeclared",
            "a top-level name is neither part of the format nor declared as optional",
            "use a newer version of `solution`, or ask the publisher about the name";
    }

    /// Findings about the signatures of the archive.
    signature {
        ENVELOPE: Error, "signature.envelope",
            "the envelope around the signed statement is malformed",
            "copy the archive again from the source; if it fails again, treat it as tampering";
        UNSIGNED: Error, "signature.unsigned",
            "the archive has no signature",
            "ask the publisher for a signed archive; for tests, allow this one unsigned archive by its id";
        UNTRUSTED: Error, "signature.untrusted",
            "no trusted key has signed the archive",
            "get the publisher's public key through a separate channel, not together with the archive, and add it to the trusted keys";
        THRESHOLD: Error, "signature.threshold",
            "fewer trusted keys have signed the archive than are required",
            "ask the holders of the missing keys to run `solution sign`";
        INVALID: Error, "signature.invalid",
            "a signature names a trusted key but was not made with it",
            "do not use the archive: copy it again from the source; if it fails again, treat it as tampering";
        STATEMENT: Error, "signature.statement",
            "the signed statement does not describe an archive",
            "ask the publisher for an archive created by `solution pack`";
        DETACHED: Error, "signature.detached",
            "the detached signatures belong to another archive",
            "remove the file with the signatures, or get the signatures of this archive";
        SKIPPED: Warning, "signature.skipped",
            "signatures were not checked, so the origin of the archive is unknown",
            "validate the archive again with the publisher's public key";
        ALLOWED: Warning, "signature.allowed-unsigned",
            "the archive is unsigned and was allowed by its id, so its origin is unknown",
            "ask the publisher for a signed archive";
        EXPIRED: Warning, "signature.expired",
            "the archive has passed the publisher's expiry date",
            "ask the publisher for a newer version";
    }

    /// Findings about bytes that differ from the signed ones.
    integrity {
        LIST: Error, "integrity.list",
            "the list of files does not match the signed digest",
            "copy the archive again from the source; if it fails again, treat it as tampering";
        DAMAGED: Error, "integrity.damaged",
            "a file does not match its signed digest",
            "copy the archive again from the source; if it fails again, treat it as tampering";
    }

    /// Findings about the file `manifest.yaml`.
    manifest {
        MISSING: Error, "manifest.missing",
            "the archive has no manifest.yaml",
            "create the archive with `solution pack`";
        YAML: Error, "manifest.yaml",
            "manifest.yaml cannot be read",
            "correct the field in solution.yaml and pack again";
        KIND: Error, "manifest.kind",
            "manifest.yaml is not a `Solution` of a supported version",
            "use apiVersion solutions.metalk8s.scality.com/v1alpha1 and kind Solution";
        ID: Error, "manifest.id",
            "the Solution's name and version together are too long",
            "shorten the name or the version";
        IDENTITY: Error, "manifest.identity",
            "manifest.yaml names a different Solution than the signed statement",
            "do not use the archive; create it again with `solution pack`";
        IMAGE_ABSENT: Error, "manifest.image-absent",
            "the manifest lists an image that is not in the archive",
            "add the image to solution.yaml and pack again";
        IMAGE_UNLISTED: Error, "manifest.image-unlisted",
            "the archive contains an image that the manifest does not list",
            "create the archive again with `solution pack`, which lists every image";
        IMAGE_REPEATED: Error, "manifest.image-repeated",
            "the manifest lists an image twice",
            "list each image once";
        OPERATOR_IMAGE: Error, "manifest.operator-image",
            "the operator's image is not among the Solution's images",
            "add it to spec.images, or correct spec.operator.image";
        EXPANSION: Error, "manifest.expansion",
            "`$(image:NAME)` does not match exactly one image of the Solution",
            "write $(image:NAME) with the name of an image that has exactly one tag";
        VARIABLE: Error, "manifest.variable",
            "an environment variable has an invalid name, or is set twice",
            "set each variable once, with a name without `=`";
        RELATED_IMAGE: Error, "manifest.related-image",
            "a RELATED_IMAGE_ variable names an image that is not in the archive",
            "add the image, and set the variable's value to $(image:NAME)";
        CAPABILITY: Error, "manifest.capability",
            "the signed statement's required capabilities do not match spec.prerequisites",
            "create the archive again with `solution pack`";
        PREREQUISITE: Error, "manifest.prerequisite",
            "a prerequisite cannot be met by any site, or there are too many prerequisites",
            "correct spec.prerequisites in solution.yaml and pack again";
    }

    /// Findings about the directories `images/` and `blobs/`, and the files that are derived from them.
    images {
        PLACE: Error, "images.place",
            "an image is not in images/NAME/TAG, or is inside another image's directory",
            "correct the image's name or tag in solution.yaml and pack again";
        DOCUMENT: Error, "images.document",
            "an image manifest or index cannot be read",
            "build the image with another tool, or push it to a registry and pack it from there";
        FOREIGN: Error, "images.foreign",
            "an image refers to content at external addresses (`urls`), which a site without internet cannot reach",
            "pack the image from a source that contains all its layers, or rebuild it";
        NESTING: Error, "images.nesting",
            "indexes are nested too deeply",
            "flatten the index";
        EMPTY: Error, "images.empty",
            "an index lists no manifest, so there is no image to run",
            "check the image's `platforms` in solution.yaml";
        MISSING: Error, "images.missing",
            "an image refers to content that is not in the archive",
            "create the archive again from a complete source";
        SIZE: Error, "images.size",
            "an image states a wrong size for content that it refers to",
            "rebuild the image; its manifest is wrong";
        MEDIA_TYPE: Error, "images.media-type",
            "an index states a different media type for a document than the document itself",
            "rebuild the image; its index is wrong";
        CONFIG: Error, "images.config",
            "an image's config cannot be read, or does not match its layers",
            "rebuild the image; its config is wrong";
        PLATFORM: Warning, "images.platform",
            "an index lists an image for a platform that differs from the platform in the image's config",
            "build the image for the platform that the index lists";
        LAYER: Warning, "images.layer",
            "a layer's compression does not match its media type",
            "rebuild the image, or copy it with another tool: nodes may fail to unpack the layer";
        INDEX: Error, "images.index",
            "index.json is missing or cannot be read",
            "create the archive again with `solution pack`";
        INCOMPLETE: Error, "images.incomplete",
            "a file that is derived from the images is missing",
            "create the archive again with `solution pack`";
        DIFFERS: Error, "images.differs",
            "a file that is derived from the images does not match them",
            "create the archive again with `solution pack`";
        UNREFERENCED: Error, "images.unreferenced",
            "a file belongs to no image; archives may not contain hidden content",
            "create the archive again with `solution pack`";
        BUDGET: Error, "images.budget",
            "the images' manifests, indexes and configs exceed the limits of validation",
            "split the Solution into multiple Solutions";
        CAPABILITY: Error, "images.capability",
            "the signed statement requires the capability for referrers or foreign layers of images, but the archive has none",
            "create the archive again with `solution pack`";
    }

    /// Findings about the directory `operator/`.
    operator {
        UNEXPECTED: Error, "operator.unexpected",
            "the archive has files for an operator, but the manifest does not define one",
            "add spec.operator to solution.yaml, or remove the directory operator/";
        IGNORED: Warning, "operator.ignored",
            "a file below operator/ is ignored",
            "name CRDs operator/deploy/crds/NAME_crd.yaml and put all roles into operator/deploy/role.yaml";
        BUDGET: Error, "operator.budget",
            "the operator's files exceed the limits of validation",
            "remove generated descriptions from the CRDs, and unused rights from the roles";
        YAML: Error, "operator.yaml",
            "a file of the operator cannot be read",
            "correct the file and pack again";
        CRD_COUNT: Error, "operator.crd-count",
            "a CRD file does not hold exactly one document",
            "write each CustomResourceDefinition into a separate file";
        CRD_KIND: Error, "operator.crd-kind",
            "a CRD file contains something other than an apiextensions.k8s.io/v1 CustomResourceDefinition",
            "convert it to apiextensions.k8s.io/v1, or move it out of operator/deploy/crds";
        CRD_SHAPE: Error, "operator.crd-shape",
            "a CRD has an invalid field or lacks a required one, and the API server rejects it",
            "generate the CRD again, or correct the field";
        CRD_SCHEMA: Error, "operator.crd-schema",
            "a CRD has a schema that the API server rejects",
            "correct the type in the operator's code and generate the CRD again; the schema must be a structural schema";
        CRD_GROUP: Error, "operator.crd-group",
            "a CRD uses an API group that Kubernetes serves itself",
            "define the resource in a group under your own domain";
        CRD_NAME: Error, "operator.crd-name",
            "a CRD's name is not PLURAL.GROUP",
            "set metadata.name to spec.names.plural, a dot, and spec.group";
        CRD_VERSIONS: Error, "operator.crd-versions",
            "a CRD does not have exactly one storage version, serves no version, or lists a version twice",
            "set `storage: true` for one version and `served: true` for at least one";
        CRD_CONVERSION: Error, "operator.crd-conversion",
            "a CRD uses a conversion webhook, which names a single namespace, although there can be many environments",
            "use `strategy: None` and keep the fields of all versions compatible";
        CRD_REPEATED: Error, "operator.crd-repeated",
            "two files define the same custom resource",
            "keep one of them";
        CRD_METADATA: Warning, "operator.crd-metadata",
            "a CRD has metadata that an import does not apply",
            "remove the metadata if the operator does not need it: an import applies only the name, and labels and annotations that belong to no tool";
        ROLE_KIND: Error, "operator.role-kind",
            "role.yaml contains something other than Role and ClusterRole",
            "remove it: the import creates service accounts and bindings";
        ROLE_NAME: Error, "operator.role-name",
            "a role has no valid name, or the same name as another role",
            "give each role a unique name";
        ROLE_RULES: Error, "operator.role-rules",
            "a role's rules are rejected by the API server, or are not in the archive",
            "write each rule with apiGroups, resources and verbs as lists of strings";
        WILDCARD: Warning, "operator.wildcard",
            "a rule grants everything of a kind (`*`)",
            "list the API groups, resources and verbs that the operator uses";
        DANGEROUS_RULE: Warning, "operator.dangerous-rule",
            "a role grants rights with more effect than their names suggest",
            "remove the rights if the operator does not need them, or grant them for named objects only";
        CLUSTER_RULE: Warning, "operator.cluster-rule",
            "a rule grants nothing, because ClusterRoles are bound in one namespace",
            "remove the rule, or set spec.operator.scope to Cluster";
        CAPABILITY: Error, "operator.capability",
            "the signed statement's required capabilities do not match spec.operator.template",
            "create the archive again with `solution pack`";
        POD_TEMPLATE: Error, "operator.pod-template",
            "the operator's template sets a field that templates cannot set",
            "remove the field from spec.operator.template; write images as $(image:NAME), and set the operator's command, arguments and image in spec.operator";
        POD_REACH: Warning, "operator.pod-reach",
            "the operator's pods have effects outside their namespace",
            "remove the setting if the operator does not need it; every site must accept it";
    }

    /// Findings about the directory `manifests/` (the sets of objects), and about parameters.
    manifests {
        CAPABILITY: Error, "manifests.capability",
            "the signed statement's required capabilities do not match the sets of manifests and parameters",
            "create the archive again with `solution pack`";
        SETS: Error, "manifests.sets",
            "the sets of manifests are inconsistent",
            "correct spec.manifests in solution.yaml and pack again";
        PARAMETER: Error, "manifests.parameter",
            "a parameter's definition is invalid",
            "correct spec.parameters in solution.yaml and pack again";
        UNEXPECTED: Error, "manifests.unexpected",
            "a file below manifests/ is not the object that its path names",
            "create the archive again with `solution pack`, which writes each object as manifests/SET/NUMBER-KIND-NAME.yaml";
        EMPTY: Error, "manifests.empty",
            "a set of manifests has no objects",
            "remove the set from solution.yaml, or give it files with objects";
        BUDGET: Error, "manifests.budget",
            "the objects exceed the limits of validation",
            "split the Solution into multiple Solutions";
        YAML: Error, "manifests.yaml",
            "the file of an object cannot be read",
            "correct the object in the set's files, or with a patch, and pack again";
        OBJECT: Error, "manifests.object",
            "a file does not contain exactly one object that can be applied",
            "correct the object in the set's files, or with a patch, and pack again";
        FORBIDDEN: Error, "manifests.forbidden",
            "an object is forbidden in archives",
            "remove the object, or the forbidden field, in the set's files or with a patch, and pack again";
        REPEATED: Error, "manifests.repeated",
            "two files contain the same object, or would at a site that maps their namespaces to one name",
            "keep one of them, or set `fixed: true` for their namespaces";
        API_REMOVED: Error, "manifests.api-removed",
            "an object uses an API that no Kubernetes version that the Solution allows still serves",
            "write the object for the API that the message names, or allow Kubernetes versions that serve it in spec.prerequisites";
        API_DEPRECATED: Warning, "manifests.api-deprecated",
            "an object uses an API that is deprecated, or removed in a Kubernetes version that the Solution allows",
            "write the object for the API that the message names, or make its set or chart conditional on the API (`when`)";
        PLACEHOLDER: Error, "manifests.placeholder",
            "a placeholder in an object is malformed, or names an unknown image, namespace or parameter",
            "correct the placeholder; write `$$(` instead of `$(` for the literal text";
        IMAGE_MISSING: Warning, "manifests.image-missing",
            "an object runs an image that is not in the archive",
            "add the image to spec.images of solution.yaml and pack again; otherwise the image must be in its registry at the site";
        IMAGE_MENTIONED: Warning, "manifests.image-mentioned",
            "an object contains a text that looks like a reference to an image that is not in the archive",
            "if the image is needed, add it to spec.images of solution.yaml; otherwise ignore the warning";
        IMAGE_PARTS: Warning, "manifests.image-parts",
            "an object splits the reference of an image into multiple fields, or names an image without a tag",
            "write placeholders into these fields, with chart values or with a patch: $(image.repository:NAME) and $(image.tag:NAME), or $(image:NAME) in a field that takes a whole reference; if no site pulls the image, list it in the chart's `unusedImages`";
        NAMESPACE: Warning, "manifests.namespace",
            "an object may name a namespace that has a different name at a site",
            "if the text means the namespace, write $(namespace:NAME) there with a patch, or set `fixed: true` for the namespace";
        NOT_COMPILED: Warning, "manifests.not-compiled",
            "an object names images or namespaces literally, not with placeholders",
            "create the archive again with `solution pack`";
        CLUSTER_OBJECT: Warning, "manifests.cluster-object",
            "a cluster-scoped object names a namespace",
            "remove metadata.namespace, in the set's files or with a patch; an import ignores it, as API servers do";
        VARIABLE: Warning, "manifests.variable",
            "a value of an object is a variable of clusterctl, Flux or envsubst, which an import does not replace",
            "replace it before you pack, with `clusterctl generate yaml`, `envsubst` or a patch; for a value that each site chooses, declare a parameter and write $(param:NAME)";
    }

    /// Findings about the directory `charts/`, which contains the Helm charts.
    charts {
        CAPABILITY: Error, "charts.capability",
            "the signed statement's required capabilities do not match the charts",
            "create the archive again with `solution pack`";
        RELEASE: Error, "charts.release",
            "the charts conflict with each other or with the sets of manifests, or there are too many",
            "correct spec.charts in solution.yaml and pack again";
        UNEXPECTED: Error, "charts.unexpected",
            "a file below charts/ belongs to no chart of the manifest",
            "create the archive again with `solution pack`, which writes charts/RELEASE/chart.tgz and values.yaml";
        MISSING: Error, "charts.missing",
            "a chart or its values are missing from the archive",
            "create the archive again with `solution pack`";
        ARCHIVE: Error, "charts.archive",
            "a chart cannot be unpacked, or tools would unpack it differently",
            "package the chart again with `helm package`";
        BUDGET: Error, "charts.budget",
            "a chart exceeds the limits of validation",
            "exclude files that the chart does not install, with its .helmignore";
        METADATA: Error, "charts.metadata",
            "a chart's Chart.yaml is missing, or invalid for an application chart",
            "correct Chart.yaml, or ask the authors of the chart";
        IDENTITY: Error, "charts.identity",
            "a chart has a different name or version than the manifest states",
            "create the archive again with `solution pack`";
        DEPENDENCY: Error, "charts.dependency",
            "a chart lacks a dependency, which a site without internet cannot download",
            "run `helm dependency build` and package the chart again";
        SCHEMA: Error, "charts.schema",
            "a chart's values schema is invalid for Helm",
            "correct values.schema.json, or remove it from the chart";
        REMOTE_SCHEMA: Warning, "charts.remote-schema",
            "a chart's values schema refers to a schema that is not in the chart, so Helm does not validate the values",
            "check the values manually, or copy the other schema into values.schema.json";
        DEFINITION: Error, "charts.definition",
            "a file in a chart's crds/ contains an object that an import cannot apply, or a CRD that conflicts with another definition",
            "correct the file in the chart, or remove it, and package the chart again";
        DEFINITION_METADATA: Warning, "charts.definition-metadata",
            "a CRD in a chart's crds/ has metadata that an import does not apply",
            "remove the metadata from the chart if the site does not need it: an import applies only the name, and labels and annotations that belong to no tool";
        VALUES: Error, "charts.values",
            "the values of a chart or of its release are not a single mapping",
            "correct the values files, or the chart's values.yaml, and pack again";
        PLACEHOLDER: Error, "charts.placeholder",
            "a placeholder in values is malformed, or names an unknown image, namespace or parameter",
            "correct the placeholder; write `$$(` instead of `$(` for the literal text";
        ARTIFACT: Error, "charts.artifact",
            "the OCI artifact of a chart does not contain the chart",
            "create the archive again with `solution pack`; do not give an image the name and tag of a chart's artifact";
        RELEASE_SIZE: Error, "charts.release-size",
            "Helm cannot store the release, because it does not fit into one Secret",
            "exclude files from the chart with its .helmignore, or install large CRDs with a separate chart";
    }

    /// Findings about the images below `programs/`, which contain programs for the site.
    programs {
        CAPABILITY: Error, "programs.capability",
            "the signed statement requires the capability for programs, but the archive has none",
            "create the archive again with `solution pack`";
        IMAGE: Error, "programs.image",
            "an image below programs/ is not a program, or is one program too many",
            "create the archive again with `solution pack`; do not give other images a name that begins with `programs/`";
        SIZE: Error, "programs.size",
            "a program is larger than archives may include",
            "include a program without debug information (stripped)";
    }

    /// Findings about practices that work, but should be avoided.
    practice {
        LATEST: Warning, "practice.latest",
            "an image has the tag `latest`, which does not identify its content",
            "use the image's version as its tag";
        NESTED_NAME: Warning, "practice.nested-name",
            "an image's name has multiple components; upstream's import reads only one",
            "use one component if the archive is also for upstream's import";
        DISPLAY_NAME: Warning, "practice.display-name",
            "the manifest has no display name",
            "add the annotation solutions.metalk8s.scality.com/display-name";
        USER: Warning, "practice.user",
            "a container must not run as root, but its image's user is root or not numeric, so nodes refuse to start it",
            "set a numeric user other than 0 in the image, or `runAsUser` in the container";
        READINESS: Warning, "practice.readiness",
            "a workload has containers without a readiness probe, which may receive requests too early",
            "add a readinessProbe to each container that serves requests";
        REQUESTS: Warning, "practice.requests",
            "a workload has containers without resource requests, for which nodes reserve no capacity",
            "add resources.requests to each container";
        WIDE_RULES: Warning, "practice.wide-rules",
            "Prometheus rules, which each environment has a copy of, select the series of all environments",
            "select by `namespace=\"$(namespace:NAME)\"` in the expressions";
        DASHBOARD: Warning, "practice.dashboard",
            "a Grafana dashboard cannot be read, or replaces the dashboard of another environment",
            "correct its JSON; write $(solution:environment) in its uid and in the annotation that names its folder";
        TEMPLATE: Warning, "practice.template",
            "a file contains `{{`, `{%` or `{#`, which upstream's import evaluates as a template",
            "reword the text if the archive is also for upstream's import";
    }

    /// Known vulnerabilities from the user's vulnerability database. A policy can reject or ignore them.
    vulnerabilities {
        CRITICAL: Warning, "vulnerabilities.critical",
            "a package of an image has a known vulnerability that is rated critical",
            "update to an image with a fixed version of the package, or state in a VEX document or an ignore rule why it does not apply";
        HIGH: Warning, "vulnerabilities.high",
            "a package of an image has a known vulnerability that is rated high",
            "update to an image with a fixed version of the package, or state in a VEX document or an ignore rule why it does not apply";
        MEDIUM: Warning, "vulnerabilities.medium",
            "a package of an image has a known vulnerability that is rated medium",
            "update to an image with a fixed version of the package, or state in a VEX document or an ignore rule why it does not apply";
        LOW: Warning, "vulnerabilities.low",
            "a package of an image has a known vulnerability that is rated low",
            "update to an image with a fixed version of the package, or state in a VEX document or an ignore rule why it does not apply";
        NEGLIGIBLE: Warning, "vulnerabilities.negligible",
            "a package of an image has a known vulnerability that is rated negligible",
            "update to an image with a fixed version of the package, or state in a VEX document or an ignore rule why it does not apply";
        UNKNOWN: Warning, "vulnerabilities.unknown",
            "a package of an image has a known vulnerability without a rating",
            "update to an image with a fixed version of the package, or state in a VEX document or an ignore rule why it does not apply";
        NO_SBOM: Warning, "vulnerabilities.no-sbom",
            "an image has no SBOM, so it was not checked for vulnerabilities",
            "pack with `--sbom`, or with `--with-referrers` if the images have SBOMs";
    }
}
