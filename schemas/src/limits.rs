//! The named limits of every document, each with its reason. Raising one needs a reason here too.

/// Bytes of `statement.dsse.json`: fixed, so that a counter-signature never moves anything else.
pub const ENVELOPE_SIZE: usize = 65_536;
/// Bytes of the file of a plan: the CRDs of a large operator as a diff, twice over.
pub const PLAN_SIZE: usize = 16 * 1024 * 1024;
/// Bytes of the file of a fleet's plan: two hundred deployments, each with a diff of a hundred pages.
pub const FLEET_PLAN_SIZE: usize = 64 * 1024 * 1024;
/// Bytes of the envelope of a receipt: with the receipt itself, which is three quarters of it, it fits the 1 MiB of a
/// `ConfigMap`.
pub const RECEIPT_SIZE: usize = 560_000;
/// Files of a list of checksums: some packages for each of some platforms.
pub const CHECKSUMS: usize = 1024;
/// Bytes of the envelope of a list of checksums: that many lines with the longest names, in base64, and all signatures.
pub const CHECKSUMS_SIZE: usize = 256 * 1024;
/// Signatures in one envelope: far more than any review board, and they fit the envelope.
pub const SIGNATURES: usize = 64;
/// Bytes of one signature: leaves room for other algorithms than Ed25519 (64 bytes).
pub const SIGNATURE_BYTES: usize = 1024;
/// Bytes of `CONTENTS`: 500 000 files with long paths.
pub const CONTENTS_SIZE: u64 = 128 * 1024 * 1024;
/// Files in an archive: some 10 000 images, and 200 MB of memory at 400 bytes a file.
pub const FILES: usize = 500_000;
/// Bytes of one file: the image is smaller than 8 TiB.
pub const FILE_SIZE: u64 = 8 * 1024 * 1024 * 1024 * 1024 - 1;
/// Bytes of `manifest.yaml` and `solution.yaml`: a thousand images fit in a tenth of it.
pub const MANIFEST_SIZE: u64 = 1024 * 1024;
/// Bytes of one YAML file: the largest CRDs in use have 1 MiB.
pub const YAML_SIZE: u64 = 4 * 1024 * 1024;
/// Bytes of a stream of YAML documents: the largest releases of operators in use have 5 MiB.
pub const YAML_STREAM_SIZE: u64 = 32 * 1024 * 1024;
/// Nesting of a YAML document: the deepest CRD schemas in use have about 40 levels.
pub const YAML_DEPTH: usize = 64;
/// Nodes of a YAML file after aliases are expanded: the largest CRDs in use have a quarter of it.
pub const YAML_NODES: usize = 250_000;
/// Documents in a stream of YAML documents: twenty times as many as the largest releases in use have.
pub const YAML_STREAM_DOCUMENTS: usize = 10_000;
/// Documents in one YAML file.
pub const YAML_DOCUMENTS: usize = 1000;
/// Bytes of an image manifest or index: what registries accept.
pub const IMAGE_MANIFEST_SIZE: u64 = 4 * 1024 * 1024;
/// Levels of indexes within indexes. Real ones have one.
pub const INDEX_DEPTH: usize = 4;
/// Nesting of a JSON document: ours have 4 levels, image manifests 5.
pub const JSON_DEPTH: usize = 64;
/// Characters of a path component: 103 is what a Rock Ridge name, a 30-character primary name and `PX` leave of a
/// 255-byte directory record, and what Joliet's long form holds.
pub const PATH_COMPONENT: usize = 103;
/// Characters of a release's name: Helm's own limit, since it labels objects with names made of it.
pub const RELEASE_NAME: usize = 53;
/// Versions of Kubernetes that charts are rendered for: more than are maintained at a time, and each takes as long as the
/// first.
pub const KUBERNETES_VERSIONS: usize = 8;
/// Other Solutions that one needs: more than the largest platforms consist of.
pub const NEEDED_SOLUTIONS: usize = 32;
/// APIs that a Solution needs: each may take a request. Operators in use ask for half a dozen.
pub const NEEDED_APIS: usize = 64;
/// Characters of a chart's name: it becomes a label of Kubernetes.
pub const CHART_NAME: usize = 63;
/// Components of a path: ECMA-119 6.8.2.1 allows 8 levels without relocation.
pub const PATH_DEPTH: usize = 8;
/// Characters of the id of a kind of findings: twice as many as the longest has.
pub const FINDING_ID: usize = 64;
/// Characters of a reason or a pattern of places in a policy for findings: as many as a finding's place has.
pub const IGNORE_TEXT: usize = 400;
/// Characters of `<name>-<version>`: prefixed by `registry-`, it must stay a 63-character DNS label upstream.
pub const SOLUTION_ID: usize = 54;
/// Characters of a range of versions, as given and in its normal form: far more than anybody writes.
pub const VERSION_RANGE: usize = 256;
/// Components of an image name: `images/`, the tag and the file take the other three levels of a path.
pub const IMAGE_NAME_COMPONENTS: usize = 5;
/// Characters of an image reference (distribution's own limit of 255 for the name, and a digest).
pub const IMAGE_REFERENCE: usize = 384;
/// Keys of one trust policy: as many as may sign.
pub const TRUST_KEYS: usize = SIGNATURES;
/// Patterns of one trust policy: more than anybody lists by hand.
pub const TRUST_PATTERNS: usize = 256;
/// Bytes of a trust policy: 64 keys of 120 bytes, their comments and all patterns fit in half of it.
pub const TRUST_POLICY_SIZE: u64 = 64 * 1024;
/// Trust policies of a site, in all places together: one for each of very many publishers.
pub const TRUST_POLICIES: usize = 256;
/// Archives of one `SolutionsConfiguration`: several versions of more Solutions than a site runs.
pub const CONFIGURED_ARCHIVES: usize = 256;
/// Bytes of a `SolutionsConfiguration`: that many archives with long paths, and a version for each.
pub const CONFIGURATION_SIZE: u64 = 256 * 1024;
/// Bytes of a site's file: it lies in a ConfigMap, which holds 1 MiB, and a certificate authority has some kilobytes.
pub const SITE_SIZE: u64 = 256 * 1024;
/// Entries of a site's file for workloads: several for each of very many Solutions.
pub const SITE_RULES: usize = 1000;
/// Patches of a site's file, for all Solutions together: more than anybody keeps in step with releases by hand. Each is
/// compared with every object of a release.
pub const SITE_PATCHES: usize = 256;
/// Bytes of a fleet: a thousand clusters with half a kilobyte each, and the values that they have in common.
pub const FLEET_SIZE: u64 = 1024 * 1024;
/// Clusters of one fleet: more than one administrator keeps in step. Each is asked, planned and shown.
pub const FLEET_CLUSTERS: usize = 1000;
/// Groups of one fleet: each is compared with each other one, cluster by cluster.
pub const FLEET_GROUPS: usize = 100;
/// Deployments of one fleet: each is compared with each other one, and planned for each of its clusters.
pub const FLEET_SOLUTIONS: usize = 256;
/// Waves of one fleet: more than anybody waits for.
pub const FLEET_WAVES: usize = 100;
/// Facts that a fleet asks each cluster for: each takes a request.
pub const FLEET_FACTS: usize = 64;
/// What a fleet has accepted, by id.
pub const FLEET_ACCEPTED: usize = 256;
/// Clusters of a wave that are changed at a time: each keeps connections open.
pub const FLEET_PARALLEL: usize = 256;
/// Objects that values of one release come from.
pub const VALUES_SOURCES: usize = 32;
/// Parts of the place of a value of a chart. Helm reads 30.
pub const VALUE_DEPTH: usize = 30;
/// Characters of a pointer to values of a chart.
pub const VALUE_POINTER: usize = 1024;
/// Pointers to values that a site is meant to choose, or not to: each is compared with each value that it chooses.
pub const VALUE_POINTERS: usize = 256;
/// The greatest index of a list in the place of a value.
pub const VALUE_INDEX: usize = 1024;
/// Values that a message lists before it says how many more there are.
pub const LISTED: usize = 20;
