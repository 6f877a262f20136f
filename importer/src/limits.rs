//! Limits on data that is read from a site's registry, cluster and files, and on the durations of waits. They protect
//! this process and the API server from content of unexpected size. The limits for documents are in `schemas::limits`
//! and `rules::limits`.

use std::time::Duration;

/// The number of receipts that are kept. They fit in one page of a list ([`kubernetes::limits::PAGE`]), which every
/// change requests once. More are kept only if each is the last change of something that is deployed.
pub const RECEIPTS: usize = 200;

/// The size of a support bundle in bytes, small enough for a mail or a ticket.
pub const SUPPORT_BYTES: usize = 64 << 20;

/// The time for reading all logs of a support bundle. Several nodes may be unreachable.
pub const SUPPORT_LOGS: Duration = Duration::from_mins(2);

/// The time for reading one log, which an unreachable node uses up.
pub const SUPPORT_LOG: Duration = Duration::from_secs(5);

/// The number of lines of a container's log in a support bundle.
pub const SUPPORT_LOG_LINES: u32 = 10_000;

/// The size of a container's log in a support bundle, in bytes.
pub const SUPPORT_LOG_BYTES: usize = 1 << 20;

/// The total size in bytes of the secret values, in all their encodings, that are searched for in a support bundle. The
/// search needs a multiple of that in memory.
pub const SUPPORT_SECRETS: usize = 4 << 20;

/// The number of objects that are written or removed in parallel, the same as for reading. With it, an API server whose
/// etcd is on a disk needs half the time for each object.
pub const SIDE_BY_SIDE: usize = kubernetes::limits::PARALLEL;

/// The pause between two checks of whether a webhook is served. The check costs the API server little.
pub const SERVED_POLL: Duration = Duration::from_millis(500);

/// The number of objects that a receipt names as written, and as removed. It is more than any operator has. Together
/// with [`RECEIPT_PLACES`] it fills a fraction of the 1 MiB of a ConfigMap, however long the names are.
pub const RECEIPT_OBJECTS: usize = 100;

/// The number of namespaces that a receipt names, each with two versions.
pub const RECEIPT_PLACES: usize = 500;

/// The length of the reason in a receipt in characters, the same as for a server's own message.
pub const RECEIPT_REASON: usize = kubernetes::limits::MAX_MESSAGE;

/// The length of the name and of the version of a chart in Helm's storage, in characters. Anyone who may write Secrets
/// in the namespace controls these texts.
pub const STORED_CHART: usize = 250;

/// The size of an Event's note that the API server accepts, in bytes (events.k8s.io/v1).
pub const EVENT_NOTE: usize = 1024;

/// The deepest nesting of a CRD's schema that is compared. The API server's own parser accepts less: a field is two
/// levels of JSON, and the parser ends at 128.
pub const SCHEMA_DEPTH: usize = 100;

/// The number of incompatible changes of a CRD that are distinguished. It bounds the work, since every object is
/// checked for each of them.
pub const NARROWINGS: usize = 1000;

/// The size of the recorded values of a Solution's parameters, in bytes. They are stored in the record of the namespace
/// with those of other Solutions, and twice in a receipt. 256 parameters have 250 bytes each.
pub const PARAMETERS_SIZE: usize = 64 * 1024;

/// The number of site values that are omitted one at a time to find the value that enabled an image. Each needs a
/// rendering, and only if an image is missing.
pub const VALUES_TRIED: usize = 32;

/// The number of Secrets for a Solution's sensitive values for which rights are printed, since the rights name each
/// Secret. With a change every month they last for more than two years. `undeploy` starts again with the first.
pub const SECRET_NUMBERS: u32 = 32;

/// The number of levels of owned objects that are removed with an object: its dependents, their dependents, and so on.
/// Programs create four levels. Deeper ones are reported as kept.
pub const GENERATIONS: usize = 8;

/// The time that Helm waits for each of its steps if the archive does not set one, the same as Helm's default.
pub const RELEASE_WAIT: Duration = Duration::from_mins(5);

/// The time that controllers have to observe a change of their objects before the state of these objects is evaluated.
pub const OBSERVED: Duration = Duration::from_mins(1);

/// The pause between two checks of whether a run of Helm is to be cancelled.
pub const CANCEL_POLL: Duration = Duration::from_millis(50);

/// The pause between two inspections of the objects that block a release.
pub const RELEASE_LOOK: Duration = Duration::from_secs(3);

/// The minimum time of a wait, even if the limit of the whole change has passed.
pub const LEAST_WAIT: Duration = Duration::from_secs(1);

/// The number of consecutive inspections that see a problem which waiting does not resolve (refused pods, a missed
/// deadline) before the wait for a release ends. A single one may show the outdated state of a slow controller.
pub const HOPELESS_LOOKS: u32 = 2;

/// The number of pods in a namespace that a plan sends to the API server as dry runs. Charts have fewer workloads, and
/// each costs a request.
pub const TRIED_PODS: usize = 200;

/// The longest wait for an operator that a plan may set, in seconds: a day, as on the command line.
pub const WAIT: u64 = 86_400;

/// The size of the head of a request from Helm, in bytes. It has a path with names of 253 bytes each, and some headers.
pub const GATE_HEAD: usize = 64 * 1024;

/// The number of headers of a request from Helm, which sends ten.
pub const GATE_HEADERS: usize = 64;

/// The size of the body of a request from Helm, in bytes. The API server itself accepts no more.
pub const GATE_BODY: usize = 3 * 1024 * 1024;

/// The size of a response that is inspected before it is passed to Helm, in bytes: a list of ten revisions of a release
/// of a megabyte each, or of all objects of a kind in a namespace.
pub const GATE_ANSWER: usize = 64 * 1024 * 1024;

/// The number of connections that Helm may hold open. It has one for the watch of each kind in each namespace.
pub const GATE_CONNECTIONS: usize = 256;

/// The total size of the `lookup` responses for the templates of a chart, in bytes. They are recorded and replayed.
pub const LOOKUPS_SIZE: usize = 8 * 1024 * 1024;

/// The number of `lookup` requests from the templates of a chart. Existing charts send some dozens.
pub const LOOKUPS: usize = 1000;

/// The number of refused requests that are kept for one run of Helm. The first one names the problem.
pub const REFUSALS: usize = 20;

/// The number of attempts to write an object that other writers keep changing.
pub const DECISIONS: u32 = 5;

/// The minimum time that a change waits for the cluster's Lease, whether waiting was requested or not. Other writers
/// hold it while they decide about one environment, which takes a second or two if the API server is near.
pub const CLUSTER_LEASE_WAIT: Duration = Duration::from_secs(20);

/// The size of the decisions in a hub, in bytes: two entries for each wave of the largest fleet, with the longest names
/// of persons that the schema accepts and every character escaped.
pub const HUB_JOURNAL: usize = 512 * 1024;
