//! Limits of all documents, each with its reason. A change needs a reason here, too.

/// Size of `statement.dsse.json` in bytes. It is fixed, so that an added signature moves no other file of the archive.
pub const ENVELOPE_SIZE: usize = 65_536;
/// Maximum size of a plan's file in bytes: twice a diff of the CRDs of a large operator.
pub const PLAN_SIZE: usize = 16 * 1024 * 1024;
/// Maximum size of the file of a fleet's plan in bytes: two hundred deployments, each with a diff of a hundred pages.
pub const FLEET_PLAN_SIZE: usize = 64 * 1024 * 1024;
/// Maximum size of a receipt's envelope in bytes. Together with the receipt, which takes three quarters of it, it fits
/// the 1 MiB of a `ConfigMap`.
pub const RECEIPT_SIZE: usize = 560_000;
/// Maximum number of files in a list of checksums: some packages for each of some platforms.
pub const CHECKSUMS: usize = 1024;
/// Maximum size of the envelope of a list of checksums in bytes: all lines with the longest names, in base64, and all
/// signatures.
pub const CHECKSUMS_SIZE: usize = 256 * 1024;
/// Maximum number of signatures in an envelope: far more than any review board has, and they fit the envelope.
pub const SIGNATURES: usize = 64;
/// Maximum size of a signature in bytes. It leaves room for algorithms other than Ed25519 (64 bytes).
pub const SIGNATURE_BYTES: usize = 1024;
/// Maximum size of `CONTENTS` in bytes: 500,000 files with long paths.
pub const CONTENTS_SIZE: u64 = 128 * 1024 * 1024;
/// Maximum number of files in an archive: about 10,000 images, and 200 MB of memory at 400 bytes a file.
pub const FILES: usize = 500_000;
/// Maximum size of a file in bytes. The ISO image is smaller than 8 TiB.
pub const FILE_SIZE: u64 = 8 * 1024 * 1024 * 1024 * 1024 - 1;
/// Maximum size of `manifest.yaml` and `solution.yaml` in bytes. A thousand images need a tenth of it.
pub const MANIFEST_SIZE: u64 = 1024 * 1024;
/// Maximum size of a YAML file in bytes. The largest CRDs in use have 1 MiB.
pub const YAML_SIZE: u64 = 4 * 1024 * 1024;
/// Maximum size of a stream of YAML documents in bytes. The largest releases of operators in use have 5 MiB.
pub const YAML_STREAM_SIZE: u64 = 32 * 1024 * 1024;
/// Maximum nesting of a YAML document. The deepest CRD schemas in use have about 40 levels.
pub const YAML_DEPTH: usize = 64;
/// Maximum number of nodes of a YAML file with expanded aliases. The largest CRDs in use have a quarter of it.
pub const YAML_NODES: usize = 250_000;
/// Maximum number of documents in a YAML stream: twenty times as many as in the largest releases in use.
pub const YAML_STREAM_DOCUMENTS: usize = 10_000;
/// Maximum number of documents in a YAML file.
pub const YAML_DOCUMENTS: usize = 1000;
/// Maximum size of an image manifest or index in bytes, which is the limit of registries.
pub const IMAGE_MANIFEST_SIZE: u64 = 4 * 1024 * 1024;
/// Maximum depth of nested indexes. Real ones have one level.
pub const INDEX_DEPTH: usize = 4;
/// Maximum nesting of a JSON document. The project's own documents have 4 levels, image manifests 5.
pub const JSON_DEPTH: usize = 64;
/// Maximum length of a path component in characters. A 255-byte directory record with a 30-character primary name and
/// `PX` leaves 103 for the Rock Ridge name, and Joliet's long form holds as many.
pub const PATH_COMPONENT: usize = 103;
/// Maximum length of a release's name in characters. It is Helm's limit, because Helm uses the name in labels.
pub const RELEASE_NAME: usize = 53;
/// Maximum number of Kubernetes versions for which charts are rendered. It exceeds the number of maintained versions,
/// and each takes as long as the first.
pub const KUBERNETES_VERSIONS: usize = 8;
/// Maximum number of Solutions that a Solution requires: more than the largest platforms have.
pub const NEEDED_SOLUTIONS: usize = 32;
/// Maximum number of APIs that a Solution requires. Each may take a request. Operators in use require about six.
pub const NEEDED_APIS: usize = 64;
/// Maximum length of a chart's name in characters. It becomes a Kubernetes label.
pub const CHART_NAME: usize = 63;
/// Maximum number of components of a path. ECMA-119 6.8.2.1 allows 8 levels without relocation.
pub const PATH_DEPTH: usize = 8;
/// Maximum length of the id of a kind of findings in characters: twice the longest id in use.
pub const FINDING_ID: usize = 64;
/// Maximum length of a reason or place pattern in a policy for findings, in characters. It equals the maximum for a
/// finding's place.
pub const IGNORE_TEXT: usize = 400;
/// Maximum length of `<name>-<version>` in characters. With the prefix `registry-`, it must be a 63-character DNS label
/// upstream.
pub const SOLUTION_ID: usize = 54;
/// Maximum length of a version range in characters, as written and in its normal form: far longer than ranges that
/// people write.
pub const VERSION_RANGE: usize = 256;
/// Maximum number of components of an image name. `images/`, the tag and the file take the other three levels of a
/// path.
pub const IMAGE_NAME_COMPONENTS: usize = 5;
/// Maximum length of an image reference in characters: 255 for the name, which is the limit of the distribution
/// project, and a digest.
pub const IMAGE_REFERENCE: usize = 384;
/// Maximum number of keys in a trust policy, equal to the number of signatures.
pub const TRUST_KEYS: usize = SIGNATURES;
/// Maximum number of patterns in a trust policy: more than a list that people maintain.
pub const TRUST_PATTERNS: usize = 256;
/// Maximum size of a trust policy in bytes. 64 keys of 120 bytes, their comments and all patterns need half of it.
pub const TRUST_POLICY_SIZE: u64 = 64 * 1024;
/// Maximum number of a site's trust policies in all places together: one for each of very many publishers.
pub const TRUST_POLICIES: usize = 256;
/// Maximum number of archives in a `SolutionsConfiguration`: multiple versions of more Solutions than a site runs.
pub const CONFIGURED_ARCHIVES: usize = 256;
/// Maximum size of a `SolutionsConfiguration` in bytes: all archives with long paths, and a version for each.
pub const CONFIGURATION_SIZE: u64 = 256 * 1024;
/// Maximum size of a site's file in bytes. It is stored in a `ConfigMap` of at most 1 MiB, and a certificate authority
/// takes some kilobytes.
pub const SITE_SIZE: u64 = 256 * 1024;
/// Maximum number of workload entries in a site's file: multiple for each of very many Solutions.
pub const SITE_RULES: usize = 1000;
/// Maximum number of patches in a site's file, for all Solutions together: more than people can keep in step with
/// releases. Each is compared with every object of a release.
pub const SITE_PATCHES: usize = 256;
/// Maximum size of a fleet's file in bytes: a thousand clusters with half a kilobyte each, and their common values.
pub const FLEET_SIZE: u64 = 1024 * 1024;
/// Maximum number of clusters in a fleet: more than one administrator maintains. Each is queried, planned and
/// displayed.
pub const FLEET_CLUSTERS: usize = 1000;
/// Maximum number of groups in a fleet. Each pair of groups is compared, cluster by cluster.
pub const FLEET_GROUPS: usize = 100;
/// Maximum number of deployments in a fleet. Each pair is compared, and each is planned for its clusters.
pub const FLEET_SOLUTIONS: usize = 256;
/// Maximum number of waves in a fleet: more than people wait for.
pub const FLEET_WAVES: usize = 100;
/// Maximum number of a fleet's own facts. Each takes a request to every cluster.
pub const FLEET_FACTS: usize = 64;
/// Maximum number of accepted ids in a fleet.
pub const FLEET_ACCEPTED: usize = 256;
/// Maximum number of clusters of a wave that are changed at a time. Each keeps connections open.
pub const FLEET_PARALLEL: usize = 256;
/// Maximum number of objects from which one release takes values.
pub const VALUES_SOURCES: usize = 32;
/// Maximum number of segments in the path of a chart's value. Helm reads 30.
pub const VALUE_DEPTH: usize = 30;
/// Maximum length of a pointer to a chart's values, in characters.
pub const VALUE_POINTER: usize = 1024;
/// Maximum number of pointers to values that a site should or should not set. Each is compared with each value that the
/// site sets.
pub const VALUE_POINTERS: usize = 256;
/// Maximum index of a list in the path of a value.
pub const VALUE_INDEX: usize = 1024;
/// Maximum number of values that a message lists. It states how many more there are.
pub const LISTED: usize = 20;
