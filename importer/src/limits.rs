//! The limits of what is read from a site's registry and cluster, and from files.

use std::time::Duration;

/// Receipts that are kept: so many come in one page of a list ([`deployer::limits::PAGE`]), which every change asks for
/// once. More are kept only where each is the last change of what runs somewhere.
pub const RECEIPTS: usize = 200;

/// Bytes of a support bundle: what a mail or a ticket takes.
pub const SUPPORT_BYTES: usize = 64 << 20;

/// The time that all logs of a support bundle have: several nodes may be gone.
pub const SUPPORT_LOGS: Duration = Duration::from_mins(2);

/// The time that one of them has: what a node that is gone takes.
pub const SUPPORT_LOG: Duration = Duration::from_secs(5);

/// Lines of a container's log in a support bundle.
pub const SUPPORT_LOG_LINES: u32 = 10_000;

/// Bytes of it.
pub const SUPPORT_LOG_BYTES: usize = 1 << 20;

/// Bytes of the secret values that are looked for in a support bundle, in all their forms: the search takes many times
/// that in memory.
pub const SUPPORT_SECRETS: usize = 4 << 20;

/// Objects that are written or removed at the same time, as many as are looked at: an API server with etcd on a disk takes
/// half the time for each as for one alone.
pub const SIDE_BY_SIDE: usize = deployer::limits::PARALLEL;

/// The pause between two looks at whether a webhook is served: what is looked at costs the API server little.
pub const SERVED_POLL: Duration = Duration::from_millis(500);

/// Objects that a receipt names as written, and as removed: more than any operator has, and together with
/// [`RECEIPT_PLACES`] a fraction of the 1 MiB of a ConfigMap, however long the names are.
pub const RECEIPT_OBJECTS: usize = 100;

/// Namespaces that a receipt names, each with two versions.
pub const RECEIPT_PLACES: usize = 500;

/// Characters of the reason in a receipt: what is kept of a server's own message.
pub const RECEIPT_REASON: usize = deployer::limits::MAX_MESSAGE;

/// Characters of the name and of the version of a chart that Helm has stored: whoever may write Secrets in the namespace may
/// have written anything there.
pub const STORED_CHART: usize = 250;

/// Bytes of an Event's note that the API server takes (events.k8s.io/v1).
pub const EVENT_NOTE: usize = 1024;

/// Deepest nesting of a CRD's schema that is compared: the API server's own parser takes less (a field is two levels of
/// JSON, and it ends at 128).
pub const SCHEMA_DEPTH: usize = 100;

/// Most things that a CRD takes away that are told apart, so that looking at every object for each of them ends.
pub const NARROWINGS: usize = 1000;

/// Bytes of the values of a Solution's parameters that are recorded: they lie in the record of the namespace with those of
/// other Solutions, and twice in a receipt. 256 parameters have 250 bytes each.
pub const PARAMETERS_SIZE: usize = 64 * 1024;

/// Values of a site of which each is left out once to see whether it turned an image on: each takes a rendering, and only
/// where one is missing.
pub const VALUES_TRIED: usize = 32;

/// The Secrets of a Solution's sensitive values that rights are printed for, which name each: a value that changes every
/// month has one for more than two years. `undeploy` begins again with the first.
pub const SECRET_NUMBERS: u32 = 32;

/// The number of generations of objects that go with an object: those that belong to it, those that belong to these,
/// and so on. Programs make four generations; whoever makes more is told that they stay.
pub const GENERATIONS: usize = 8;

/// The time that Helm waits for each of its steps where the archive does not say so: as long as by itself.
pub const RELEASE_WAIT: Duration = Duration::from_mins(5);

/// The time that the controllers of a cluster have to see a change of the objects that they care for, before what is there
/// is judged as it stands.
pub const OBSERVED: Duration = Duration::from_mins(1);

/// The pause between two looks at whether a run of Helm is to end.
pub const CANCEL_POLL: Duration = Duration::from_millis(50);

/// The time that one look at what keeps a release's objects goes on before the next.
pub const RELEASE_LOOK: Duration = Duration::from_secs(3);

/// The time that a wait takes at least, though the limit of the whole change is over.
pub const LEAST_WAIT: Duration = Duration::from_secs(1);

/// Looks in a row at a release that see what no wait brings (refused pods, a missed deadline), before the wait for it ends: a
/// controller that is behind is not believed at once.
pub const HOPELESS_LOOKS: u32 = 2;

/// Pods of a namespace that a plan has the API server try: charts have fewer workloads, and each costs a request.
pub const TRIED_PODS: usize = 200;

/// Seconds that a plan may have an operator waited for: a day, as on the command line.
pub const WAIT: u64 = 86_400;

/// Bytes of the head of a request that Helm sends: a path of names of 253 bytes each, and some headers.
pub const GATE_HEAD: usize = 64 * 1024;

/// Headers of such a request: Helm sends ten.
pub const GATE_HEADERS: usize = 64;

/// Bytes of its body: the API server itself reads no more of one.
pub const GATE_BODY: usize = 3 * 1024 * 1024;

/// Bytes of an answer that is looked through before Helm sees it: a list of ten revisions of a release of a megabyte each,
/// or of all objects of a kind in a namespace.
pub const GATE_ANSWER: usize = 64 * 1024 * 1024;

/// Connections that Helm may hold open: a watch of each kind, in each namespace, has one.
pub const GATE_CONNECTIONS: usize = 256;

/// Bytes of all that the templates of a chart may have been told of a cluster: it is written down, and answered again.
pub const LOOKUPS_SIZE: usize = 8 * 1024 * 1024;

/// Requests of the templates of a chart: charts in use have some dozen.
pub const LOOKUPS: usize = 1000;

/// Refusals that one run of Helm is remembered by: the first says what is wrong.
pub const REFUSALS: usize = 20;

/// The number of decisions about an object when others keep changing it.
pub const DECISIONS: u32 = 5;

/// The time that a change waits for the cluster's Lease at least, whether it is asked to or not: others hold it for as long as it takes to
/// decide about one environment, a second or two where the API server is near.
pub const CLUSTER_LEASE_WAIT: Duration = Duration::from_secs(20);

/// Bytes of the decisions in a hub: two entries for each wave of the largest fleet, with the longest names of persons that
/// the schema accepts, each character escaped.
pub const HUB_JOURNAL: usize = 512 * 1024;
