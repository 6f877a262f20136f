//! Every finding that there is, in one table. Checks name its constants, documentation and tests read [`FINDINGS`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding weighs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The archive is refused.
    Error,
    /// The archive is accepted; somebody should know.
    Warning,
    /// The archive is accepted; a policy has made this of a warning.
    Note,
}

impl Severity {
    /// The severity in one word.
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
    /// The part of the id before the dot: `source`, `container`, `signature`, `integrity`, `manifest`, `images`, `operator`,
    /// `manifests`, `charts`, `programs`, `practice` or `vulnerabilities`.
    #[must_use]
    pub fn group(&self) -> &'static str {
        finding_group(self.id)
    }

    /// The same with advice for one cause. [`advice::infos`] has to list it, so that findings can be read back.
    #[must_use]
    pub const fn with_fix(self, fix: &'static str) -> Self {
        Self { fix, ..self }
    }
}

/// Findings with advice for one cause, where causes are mended in different ways.
pub mod advice {
    use schemas::yaml::YamlCause;

    use crate::catalogue::{FindingInfo, container, source};

    /// A directory where an archive is needed.
    pub const DIRECTORY: FindingInfo =
        container::NOT_ISO.with_fix("name the archive itself: its file, or the device of its disc");
    /// A file without an image's bytes.
    pub const TOO_SHORT: FindingInfo = container::NOT_ISO
        .with_fix("copy the archive again from where it came from, and compare the sizes");

    /// A chart that cannot be signed: it is a directory.
    pub const UNPACKED: FindingInfo = source::SIGNATURE.with_fix(
        "give the chart as `helm package --sign` packages it (`file:`), or leave `--keyring` out",
    );
    /// A chart without the file that says who signed it.
    pub const NO_PROVENANCE: FindingInfo = source::SIGNATURE.with_fix(
        "get the file that ends in `.prov` from the chart's publisher and put it next to a chart on this disk, or leave `--keyring` out",
    );

    /// A rendering that readers of YAML understand differently.
    pub const AMBIGUOUS: FindingInfo = source::RENDERING.with_fix(
        "change the template, or the values that it writes, so that every reader of YAML understands the same; if the chart is another publisher's, report it there and pack a corrected copy",
    );

    /// Advice for a document of another kind.
    pub const KIND: &str =
        "write `apiVersion: solutions.metalk8s.scality.com/v1alpha1` and `kind: SolutionSource`";
    /// Advice for a name and a version that are too long.
    pub const ID: &str = "choose a shorter metadata.name or spec.version";

    /// Returns the advice for an error in the YAML.
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
                "write a value of the type that the message expects; put a text that looks like a number or a boolean in quotes"
            }
            YamlCause::Value => "write a value that the message allows",
            YamlCause::Limit => "make the file smaller, or nest it less deeply",
        }
    }

    /// Every finding with advice of its own.
    pub fn infos() -> impl Iterator<Item = FindingInfo> {
        let causes = YamlCause::ALL.iter().copied().map(of_cause);
        let of_source = [KIND, ID].into_iter().chain(causes);
        let of_source = of_source.map(|advice| source::YAML.with_fix(advice));
        [DIRECTORY, TOO_SHORT, UNPACKED, NO_PROVENANCE, AMBIGUOUS]
            .into_iter()
            .chain(of_source)
    }
}

/// The part of the id of a finding before the dot.
#[must_use]
pub fn finding_group(id: &str) -> &str {
    id.split('.').next().unwrap_or_default()
}

/// Whether a finding is one that a database of vulnerabilities knows of.
#[must_use]
pub fn is_vulnerability(id: &str) -> bool {
    finding_group(id) == vulnerabilities::HIGH.group()
}

/// Makes a module of constants of each group, and the list of all.
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

        /// Every finding, in the order in which reports list them. Ids are stable.
        pub const FINDINGS: &[FindingInfo] = &[$($($group::$name,)*)*];
    };
}

catalogue! {
    /// The source tree, before there is an archive.
    source {
        YAML: Error, "source.yaml",
            "solution.yaml cannot be read",
            "correct what the message names";
        PATH: Error, "source.path",
            "a path of solution.yaml leads out of its directory",
            "write a relative path without `..`, so that the directory can be handed over whole";
        MISSING: Error, "source.missing",
            "a file or directory that solution.yaml names does not exist",
            "create it, or correct the path; a directory of CRDs may be empty, and a file of roles may hold only comments";
        FILE: Error, "source.file",
            "a file of the source tree is not what its field is for, or is too large",
            "put a file there that is what the message asks for";
        FILE_NAME: Error, "source.file-name",
            "a file has a name that no file of an archive can have",
            "rename it to at most 90 letters, digits, `.`, `_` and `-`, beginning with a letter or a digit";
        FILE_TWICE: Error, "source.file-twice",
            "two files would have one name in the archive",
            "keep one of them, or rename it";
        NOTHING: Error, "source.nothing",
            "the Solution would bring nothing",
            "list images in spec.images, sets of objects in spec.manifests or charts in spec.charts";
        REFERENCE: Error, "source.reference",
            "two images have one reference",
            "give each image a `ref` of its own, or pack only one of them";
        OBJECT_NAME: Error, "source.object-name",
            "a CRD has a name that no API server takes",
            "write spec.names.plural and spec.group in small letters, digits, `-` and `.`, and metadata.name from both";
        IMAGE: Error, "source.image",
            "an object or a chart needs an image that spec.images does not list",
            "add it to spec.images, which `solution pack --add-images` does, or leave out what names it, with a patch or by values; what a chart names and nothing pulls can stand in its `unusedImages`; `solution pack --check --why IMAGE` shows every place in the charts that names it";
        IMAGE_SOURCE: Error, "source.image-source",
            "an image cannot be taken from its source",
            "check the name and the tag in the image's `source`, and its `platforms`, in solution.yaml, or copy the image to its source again";
        PATCH: Error, "source.patch",
            "a patch of a set cannot be applied",
            "correct the patch, or its `target`, in spec.manifests of solution.yaml";
        CHART: Error, "source.chart",
            "a chart is not the one that its source says, or has files that no chart can have",
            "correct the source in spec.charts of solution.yaml, or the chart's directory";
        SIGNATURE: Error, "source.signature",
            "a chart is not signed by a key of the keyring that charts are verified with",
            "see whose signature it has: with the right key, `gpg --export KEY > FILE` makes a keyring; otherwise get the chart again from its publisher, and do not use this one";
        RENDERING: Error, "source.rendering",
            "a chart cannot be rendered, or renders to what cannot be read",
            "values that the chart cannot do without go into spec.charts.values; what it says can be tried with `helm template`";
        ADDRESS: Error, "source.address",
            "a chart makes of parts of an image's address what is none",
            "give the chart the whole address by placeholders of one image, repository and tag or digest, or its reference without a placeholder";
    }

    /// The image itself, and what lies around the files.
    container {
        NOT_ISO: Error, "container.not-iso",
            "the file is not an ISO 9660 image",
            "check the path; if it is an archive that was copied, copy it again from the source";
        FOREIGN: Error, "container.foreign",
            "the image was made by another tool, not by `solution pack`",
            "ask the publisher for an archive made by `solution pack`, or convert it with `solution init --from`, pack the tree and sign it";
        TRUNCATED: Error, "container.truncated",
            "the end of the image is missing",
            "copy the archive again from the source and compare the sizes";
        TOO_LARGE: Error, "container.too-large",
            "the file continues past the end of the image",
            "cut the file to the size of the image with the command in the message, then validate it again: copies from a disc or a stick often end with padding";
        METADATA: Error, "container.metadata",
            "bytes between the files do not match the signed list",
            "copy the archive again from the source; if it fails again, treat it as tampering";
        LAYOUT: Error, "container.layout",
            "the archive needs something that this version of the tool does not know",
            "use a newer version of `solution`";
        DRAFT: Error, "container.draft",
            "the archive needs a draft of something that has been released since",
            "pack it again with this version of `solution`; what a site imported before stays usable there";
        LIST: Error, "container.list",
            "the signed list of files does not describe an image",
            "the archive was not made by `solution pack`; ask the publisher for one that was";
        UNDECLARED: Error, "container.undeclared",
            "a top-level name is neither part of the format nor declared as optional",
            "use a newer version of `solution`, or ask the publisher what the name is for";
    }

    /// The signatures that vouch for the archive.
    signature {
        ENVELOPE: Error, "signature.envelope",
            "the envelope around the signed statement is malformed",
            "copy the archive again from the source; if it fails again, treat it as tampering";
        UNSIGNED: Error, "signature.unsigned",
            "nobody has signed the archive",
            "ask the publisher for a signed archive; for tests, allow this one unsigned archive by its id";
        UNTRUSTED: Error, "signature.untrusted",
            "no trusted key has signed the archive",
            "get the publisher's public key through a channel other than the archive's, and add it to the trusted keys";
        THRESHOLD: Error, "signature.threshold",
            "fewer trusted keys have signed than are required",
            "ask the missing key holders to run `solution sign`";
        INVALID: Error, "signature.invalid",
            "a signature that claims to be by a trusted key is not by that key",
            "do not use the archive: copy it again from the source; if it fails again, treat it as tampering";
        STATEMENT: Error, "signature.statement",
            "what was signed is not the statement of an archive",
            "ask the publisher for an archive made by `solution pack`";
        DETACHED: Error, "signature.detached",
            "the signatures beside the archive do not belong to it",
            "remove the file with the signatures, or get the one that belongs to this archive";
        SKIPPED: Warning, "signature.skipped",
            "signatures were not checked: nobody vouches for the archive",
            "check again with the publisher's public key";
        ALLOWED: Warning, "signature.allowed-unsigned",
            "the archive is unsigned, and was allowed by its id: nobody vouches for it",
            "ask the publisher for a signed archive";
        EXPIRED: Warning, "signature.expired",
            "the archive has passed the publisher's expiry date",
            "ask the publisher for a newer version";
    }

    /// Whether the bytes are those that were signed.
    integrity {
        LIST: Error, "integrity.list",
            "the list of files is not the one that was signed",
            "copy the archive again from the source; if it fails again, treat it as tampering";
        DAMAGED: Error, "integrity.damaged",
            "a file is not what was signed",
            "copy the archive again from the source; if it fails again, treat it as tampering";
    }

    /// The file `manifest.yaml`.
    manifest {
        MISSING: Error, "manifest.missing",
            "the archive has no manifest.yaml",
            "make the archive with `solution pack`";
        YAML: Error, "manifest.yaml",
            "manifest.yaml cannot be read",
            "correct the field in solution.yaml and pack again";
        KIND: Error, "manifest.kind",
            "manifest.yaml is not a `Solution` of a known version",
            "use apiVersion solutions.metalk8s.scality.com/v1alpha1 and kind Solution";
        ID: Error, "manifest.id",
            "the Solution's name and version together are too long",
            "shorten the name or the version";
        IDENTITY: Error, "manifest.identity",
            "the manifest names a different Solution than the signed statement",
            "do not use the archive; make it again with `solution pack`";
        IMAGE_ABSENT: Error, "manifest.image-absent",
            "an image of the manifest is not in the archive",
            "add the image to solution.yaml and pack again";
        IMAGE_UNLISTED: Error, "manifest.image-unlisted",
            "an image of the archive is not in the manifest",
            "make the archive again with `solution pack`, which lists every image";
        IMAGE_REPEATED: Error, "manifest.image-repeated",
            "the manifest lists an image twice",
            "list each image once";
        OPERATOR_IMAGE: Error, "manifest.operator-image",
            "the operator's image is not among the Solution's images",
            "add it to spec.images, or correct spec.operator.image";
        EXPANSION: Error, "manifest.expansion",
            "`$(image:NAME)` does not name exactly one image of the Solution",
            "write $(image:NAME) with the name of an image that has one tag";
        VARIABLE: Error, "manifest.variable",
            "an environment variable has an invalid name, or is given twice",
            "give each variable once, with a name without `=`";
        RELATED_IMAGE: Error, "manifest.related-image",
            "a RELATED_IMAGE_ variable names an image that is not in the archive",
            "add the image, and write $(image:NAME) as the variable's value";
        CAPABILITY: Error, "manifest.capability",
            "the signed statement does not require what reading spec.prerequisites takes, or requires it in vain",
            "make the archive again with `solution pack`";
        PREREQUISITE: Error, "manifest.prerequisite",
            "a prerequisite is one that no site could meet, or there are too many",
            "correct spec.prerequisites in solution.yaml and pack again";
    }

    /// The directories `images/` and `blobs/`, and what is derived from them.
    images {
        PLACE: Error, "images.place",
            "an image is not at images/NAME/TAG, or is inside another",
            "correct the image's name or tag in solution.yaml and pack again";
        DOCUMENT: Error, "images.document",
            "an image manifest or index cannot be read",
            "build the image with another tool, or push it to a registry and pack it from there";
        FOREIGN: Error, "images.foreign",
            "an image has content stored elsewhere (`urls`), where a site without internet cannot reach it",
            "pack the image from a source that has all its layers, or rebuild it";
        NESTING: Error, "images.nesting",
            "indexes are nested too deeply",
            "flatten the index";
        EMPTY: Error, "images.empty",
            "an index has no manifest: there is nothing to run",
            "check the chosen platforms of the image in solution.yaml";
        MISSING: Error, "images.missing",
            "an image refers to content that is not in the archive",
            "make the archive again from a complete source";
        SIZE: Error, "images.size",
            "an image gives the wrong size for content that it refers to",
            "build the image again; its manifest is wrong";
        MEDIA_TYPE: Error, "images.media-type",
            "an index gives a document a different media type than the document itself",
            "build the image again; its index is wrong";
        CONFIG: Error, "images.config",
            "an image's configuration cannot be read, or does not fit its layers",
            "build the image again; its configuration is wrong";
        PLATFORM: Warning, "images.platform",
            "an index lists an image for a different platform than its configuration says",
            "build the image for the platform that it is listed for";
        LAYER: Warning, "images.layer",
            "the bytes of a layer are compressed otherwise than its media type says",
            "build the image again, or copy it with another tool: nodes may fail to unpack the layer";
        INDEX: Error, "images.index",
            "index.json is missing or cannot be read",
            "make the archive again with `solution pack`";
        INCOMPLETE: Error, "images.incomplete",
            "a file that is derived from the images is missing",
            "make the archive again with `solution pack`";
        DIFFERS: Error, "images.differs",
            "a file does not match the images",
            "make the archive again with `solution pack`";
        UNREFERENCED: Error, "images.unreferenced",
            "a file belongs to no image: nothing may hide in an archive",
            "make the archive again with `solution pack`";
        BUDGET: Error, "images.budget",
            "the images' documents exceed what can be checked",
            "split the Solution into several";
        CAPABILITY: Error, "images.capability",
            "the signed statement requires what reading signatures or foreign layers of images takes, and there are none",
            "make the archive again with `solution pack`";
    }

    /// The directory `operator/`.
    operator {
        UNEXPECTED: Error, "operator.unexpected",
            "there are files for an operator, but the manifest has none",
            "add spec.operator to solution.yaml, or remove the directory operator/";
        IGNORED: Warning, "operator.ignored",
            "nothing reads this file below operator/",
            "name CRDs operator/deploy/crds/NAME_crd.yaml and put all roles into operator/deploy/role.yaml";
        BUDGET: Error, "operator.budget",
            "the operator's files are larger than can be checked",
            "leave generated descriptions out of the CRDs, and rights that are not needed out of the rules";
        YAML: Error, "operator.yaml",
            "a file of the operator cannot be read",
            "correct the file and pack again";
        CRD_COUNT: Error, "operator.crd-count",
            "a CRD file does not hold exactly one document",
            "write each CustomResourceDefinition into a file of its own";
        CRD_KIND: Error, "operator.crd-kind",
            "a CRD file holds something other than an apiextensions.k8s.io/v1 CustomResourceDefinition",
            "convert it to apiextensions.k8s.io/v1, or move it out of operator/deploy/crds";
        CRD_SHAPE: Error, "operator.crd-shape",
            "a CRD has, or lacks, a field for which no API server takes it",
            "generate the CRD again, or correct the field";
        CRD_SCHEMA: Error, "operator.crd-schema",
            "a CRD has a schema that no API server takes",
            "correct the type in the operator's code and generate the CRD again; the rules are those of structural schemas";
        CRD_GROUP: Error, "operator.crd-group",
            "a CRD is for an API group that Kubernetes serves itself",
            "define the resource in a group under your own domain";
        CRD_NAME: Error, "operator.crd-name",
            "a CRD's name is not PLURAL.GROUP",
            "set metadata.name to spec.names.plural, a dot, and spec.group";
        CRD_VERSIONS: Error, "operator.crd-versions",
            "a CRD does not have exactly one storage version, serves none, or repeats one",
            "set `storage: true` for one version and `served: true` for at least one";
        CRD_CONVERSION: Error, "operator.crd-conversion",
            "a CRD converts versions by a webhook, which names a single namespace, but there can be many environments",
            "use `strategy: None` and keep the versions' fields compatible";
        CRD_REPEATED: Error, "operator.crd-repeated",
            "two files define the same custom resource",
            "keep one of them";
        CRD_METADATA: Warning, "operator.crd-metadata",
            "a CRD has metadata that an import does not apply",
            "remove it from the file, or do without it at the site: an import applies only the name, and labels and annotations that belong to no tool";
        ROLE_KIND: Error, "operator.role-kind",
            "role.yaml holds something other than Role and ClusterRole",
            "remove it: service accounts and bindings are made by the import";
        ROLE_NAME: Error, "operator.role-name",
            "a role has no usable name, or the name of another role",
            "give each role a name of its own";
        ROLE_RULES: Error, "operator.role-rules",
            "a role's rules are not what the API server accepts, or are not in the archive",
            "write each rule with apiGroups, resources and verbs as lists of strings";
        WILDCARD: Warning, "operator.wildcard",
            "a rule grants everything of a kind (`*`)",
            "list the API groups, resources and verbs that the operator uses";
        DANGEROUS_RULE: Warning, "operator.dangerous-rule",
            "a role grants rights that reach further than they seem to",
            "leave them out if the operator can do without, or grant them for named objects only";
        CLUSTER_RULE: Warning, "operator.cluster-rule",
            "a rule grants nothing, because ClusterRoles are bound in one namespace",
            "remove the rule, or set spec.operator.scope to Cluster";
        CAPABILITY: Error, "operator.capability",
            "the signed statement does not require what reading spec.operator.template takes, or requires it without one",
            "make the archive again with `solution pack`";
        POD_TEMPLATE: Error, "operator.pod-template",
            "the operator's template says what it has no say in",
            "remove it from spec.operator.template; images are written as $(image:NAME), and the operator's command, arguments and image stand in spec.operator";
        POD_REACH: Warning, "operator.pod-reach",
            "the operator's pods reach beyond their namespace",
            "leave it out if the operator can do without; every site is asked to accept it";
    }

    /// The directory `manifests/`: the sets of objects that are applied as they are, and the parameters.
    manifests {
        CAPABILITY: Error, "manifests.capability",
            "the signed statement does not require what reading the sets of objects takes, or requires it without any",
            "make the archive again with `solution pack`";
        SETS: Error, "manifests.sets",
            "the sets of objects do not fit together",
            "correct spec.manifests in solution.yaml and pack again";
        PARAMETER: Error, "manifests.parameter",
            "a parameter cannot be what the manifest says",
            "correct spec.parameters in solution.yaml and pack again";
        UNEXPECTED: Error, "manifests.unexpected",
            "a file is not the object of a set at its place",
            "make the archive again with `solution pack`, which writes each object as manifests/SET/NUMBER-KIND-NAME.yaml";
        EMPTY: Error, "manifests.empty",
            "a set has no objects",
            "remove the set from solution.yaml, or give it files with objects";
        BUDGET: Error, "manifests.budget",
            "the objects are more than can be checked",
            "split the Solution into several";
        YAML: Error, "manifests.yaml",
            "the file of an object cannot be read",
            "correct the object in the set's files, or with a patch, and pack again";
        OBJECT: Error, "manifests.object",
            "a file does not hold one object that can be applied",
            "correct the object in the set's files, or with a patch, and pack again";
        FORBIDDEN: Error, "manifests.forbidden",
            "an object is one that an archive may not bring",
            "remove the object or what it says there, in the set's files or with a patch, and pack again";
        REPEATED: Error, "manifests.repeated",
            "two files hold the same object, or would at a site that gives their namespaces one name",
            "keep one of them, or make their namespaces fixed";
        API_REMOVED: Error, "manifests.api-removed",
            "an object is of an API that no version of Kubernetes that the Solution allows serves any more",
            "write the object for the API that is named, or allow versions of Kubernetes that serve it in spec.prerequisites";
        API_DEPRECATED: Warning, "manifests.api-deprecated",
            "an object is of an API that is deprecated, or removed in versions of Kubernetes which the Solution allows",
            "write the object for the API that is named, or have its set or chart depend on the API (`when`)";
        PLACEHOLDER: Error, "manifests.placeholder",
            "a placeholder in an object cannot be understood, or names what there is not",
            "correct it; `$$(` instead of `$(` makes it stand for itself";
        IMAGE_MISSING: Warning, "manifests.image-missing",
            "an object runs an image that is not in the archive",
            "add the image to spec.images of solution.yaml and pack again; at the site, its registry must have it";
        IMAGE_MENTIONED: Warning, "manifests.image-mentioned",
            "an object names what looks like an image that is not in the archive",
            "if it is one that is needed, add it to spec.images of solution.yaml; if not, there is nothing to do";
        IMAGE_PARTS: Warning, "manifests.image-parts",
            "an object splits the reference of an image over fields, which a program joins, or names one without a tag",
            "write placeholders into these fields, by the values of the chart or with a patch: $(image.repository:NAME) and $(image.tag:NAME), or $(image:NAME) where a field takes a whole reference; of a chart, list an image that no site pulls in its `unusedImages`";
        NAMESPACE: Warning, "manifests.namespace",
            "an object may name a namespace that has another name at a site",
            "if it is meant, write $(namespace:NAME) there with a patch, or make the namespace fixed";
        NOT_COMPILED: Warning, "manifests.not-compiled",
            "an object names images or namespaces as its release does, not as they are at a site",
            "make the archive again with `solution pack`";
        CLUSTER_OBJECT: Warning, "manifests.cluster-object",
            "an object of the whole cluster names a namespace",
            "remove metadata.namespace, in the set's files or with a patch: an import passes over it, as API servers do";
        VARIABLE: Warning, "manifests.variable",
            "a value of an object is a variable of clusterctl, Flux or envsubst, which an import does not replace",
            "replace it before you pack, with `clusterctl generate yaml`, `envsubst` or a patch; for a value that each site chooses, declare a parameter and write $(param:NAME)";
    }

    /// The directory `charts/`: the Helm charts.
    charts {
        CAPABILITY: Error, "charts.capability",
            "the signed statement does not require what reading charts takes, or requires it without any",
            "make the archive again with `solution pack`";
        RELEASE: Error, "charts.release",
            "the charts do not fit to one another or to the sets of objects, or are too many",
            "correct spec.charts in solution.yaml and pack again";
        UNEXPECTED: Error, "charts.unexpected",
            "a file belongs to no chart of the manifest",
            "make the archive again with `solution pack`, which writes charts/RELEASE/chart.tgz and values.yaml";
        MISSING: Error, "charts.missing",
            "a chart, or its values, are not in the archive",
            "make the archive again with `solution pack`";
        ARCHIVE: Error, "charts.archive",
            "a chart cannot be unpacked, or readers would unpack it differently",
            "package the chart again with `helm package`";
        BUDGET: Error, "charts.budget",
            "a chart is larger than can be checked",
            "leave out of the chart what it does not install, by its .helmignore";
        METADATA: Error, "charts.metadata",
            "a chart's Chart.yaml is missing or says what an application's cannot",
            "correct Chart.yaml, or ask the authors of the chart";
        IDENTITY: Error, "charts.identity",
            "a chart has another name or version than the manifest says",
            "make the archive again with `solution pack`";
        DEPENDENCY: Error, "charts.dependency",
            "a chart needs another that is not in it, where a site without internet cannot get it",
            "run `helm dependency build` and package the chart again";
        SCHEMA: Error, "charts.schema",
            "the schema of a chart's values is none that Helm could use",
            "correct values.schema.json, or leave it out of the chart";
        REMOTE_SCHEMA: Warning, "charts.remote-schema",
            "the schema of a chart's values refers to a schema that is not in the chart, so Helm does not check the values",
            "check the values yourself, or copy the other schema into values.schema.json";
        DEFINITION: Error, "charts.definition",
            "a file in a chart's crds/ holds what an import cannot apply, or defines otherwise what is defined elsewhere",
            "correct the file in the chart, or leave it out and package the chart again";
        DEFINITION_METADATA: Warning, "charts.definition-metadata",
            "a CRD in a chart's crds/ has metadata that an import does not apply",
            "do without it at the site, or remove it from the chart: an import applies only the name, and labels and annotations that belong to no tool";
        VALUES: Error, "charts.values",
            "the values of a chart, or of its release, are not one mapping",
            "correct the files of values, or the chart's values.yaml, and pack again";
        PLACEHOLDER: Error, "charts.placeholder",
            "a placeholder in values cannot be understood, or names what there is not",
            "correct it; `$$(` instead of `$(` makes it stand for itself";
        ARTIFACT: Error, "charts.artifact",
            "what a registry would offer as a chart is not the chart",
            "make the archive again with `solution pack`; give no image the name and tag of a chart's artifact";
        RELEASE_SIZE: Error, "charts.release-size",
            "Helm cannot store a release of the chart: it keeps all of it in one Secret",
            "leave files out of the chart by its .helmignore, or install large definitions of custom resources by another chart";
    }

    /// The images below `programs/`: programs for the site.
    programs {
        CAPABILITY: Error, "programs.capability",
            "the signed statement requires what reading programs takes, and there are none",
            "make the archive again with `solution pack`";
        IMAGE: Error, "programs.image",
            "an image below programs/ is none of a program, or of one too many",
            "make the archive again with `solution pack`; give no image of your own a name that begins with `programs/`";
        SIZE: Error, "programs.size",
            "a program is larger than any that archives include",
            "include a program that is linked without what debuggers need";
    }

    /// Practices that work but are better avoided.
    practice {
        LATEST: Warning, "practice.latest",
            "an image has the tag `latest`, which says nothing about its content",
            "give the image the tag of its version";
        NESTED_NAME: Warning, "practice.nested-name",
            "an image's name has several components; upstream's import reads only one",
            "use one component if the archive is also for upstream's import";
        DISPLAY_NAME: Warning, "practice.display-name",
            "the manifest has no display name",
            "add the annotation solutions.metalk8s.scality.com/display-name";
        USER: Warning, "practice.user",
            "a container must not run as root, and nodes refuse to start it as the user of its image",
            "give the image a user that is a number and not 0, or the container a `runAsUser`";
        READINESS: Warning, "practice.readiness",
            "a workload has containers without a readiness probe: those that answer requests may get them too early",
            "add a readinessProbe to each container that answers requests";
        REQUESTS: Warning, "practice.requests",
            "a workload has containers without requests, for which nodes keep nothing free",
            "add resources.requests to each container";
        WIDE_RULES: Warning, "practice.wide-rules",
            "rules of Prometheus, of which each environment has its own, take the series of all",
            "select by `namespace=\"$(namespace:NAME)\"` in the expressions";
        DASHBOARD: Warning, "practice.dashboard",
            "a dashboard of Grafana cannot be read, or replaces that of another environment",
            "correct its JSON; write $(solution:environment) in its uid and in the annotation that names its folder";
        TEMPLATE: Warning, "practice.template",
            "a file holds `{{`, `{%` or `{#`, which upstream's import runs as a template",
            "reword the text if the archive is also for upstream's import";
    }

    /// Known vulnerabilities, by a database that whoever checks has brought: for a policy to refuse or to ignore.
    vulnerabilities {
        CRITICAL: Warning, "vulnerabilities.critical",
            "a package of an image has a known vulnerability that is rated critical",
            "bring an image with a fixed version of the package; or say by a VEX document or an ignore why it does not matter";
        HIGH: Warning, "vulnerabilities.high",
            "a package of an image has a known vulnerability that is rated high",
            "bring an image with a fixed version of the package; or say by a VEX document or an ignore why it does not matter";
        MEDIUM: Warning, "vulnerabilities.medium",
            "a package of an image has a known vulnerability that is rated medium",
            "bring an image with a fixed version of the package; or say by a VEX document or an ignore why it does not matter";
        LOW: Warning, "vulnerabilities.low",
            "a package of an image has a known vulnerability that is rated low",
            "bring an image with a fixed version of the package; or say by a VEX document or an ignore why it does not matter";
        NEGLIGIBLE: Warning, "vulnerabilities.negligible",
            "a package of an image has a known vulnerability that is rated negligible",
            "bring an image with a fixed version of the package; or say by a VEX document or an ignore why it does not matter";
        UNKNOWN: Warning, "vulnerabilities.unknown",
            "a package of an image has a known vulnerability that nobody has rated",
            "bring an image with a fixed version of the package; or say by a VEX document or an ignore why it does not matter";
        NO_SBOM: Warning, "vulnerabilities.no-sbom",
            "an image carries no SBOM, and was not judged",
            "have the publisher pack with `--sbom`, or with `--with-referrers` where its images have SBOMs";
    }
}
