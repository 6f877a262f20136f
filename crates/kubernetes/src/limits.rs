//! The limits of this crate, with the reason for each.
//!
//! Clusters are usually trustworthy, but their content has many authors, and a wrong address can lead to any HTTP
//! server.

use std::time::Duration;

/// The maximum size of an answer in bytes. A page of [`PAGE`] objects with etcd's maximum of 1.5 MiB each would be
/// larger, but does not occur in practice. Larger answers are refused to limit memory use.
pub const MAX_ANSWER: usize = 64 << 20;

/// The maximum size of an object that is sent: the API server accepts at most 3 MiB per request.
pub const MAX_OBJECT: usize = 3 << 20;

/// The maximum depth of an object. The JSON parser stops at 128; recursive functions over objects require less.
pub const MAX_DEPTH: usize = 100;

/// The number of objects per page of a list.
pub const PAGE: usize = 250;

/// The maximum number of objects in a list. Clusters have at most some ten thousand objects of the kinds that this
/// crate lists.
pub const MAX_LISTED: usize = 50_000;

/// The maximum number of objects that are visited without being kept. Kubernetes supports 150,000 pods per cluster.
pub const MAX_VISITED: usize = 300_000;

/// The maximum length of a server's message in bytes: a few lines.
pub const MAX_MESSAGE: usize = 2048;

/// The maximum length of a value in a difference in bytes.
pub const MAX_SHOWN_VALUE: usize = 256;

/// The maximum number of differences per object. A plan with more is too long to read.
pub const MAX_CHANGES: usize = 200;

/// The maximum number of versions of an API group that are searched for a kind. Groups in use have up to three.
pub const MAX_API_VERSIONS: usize = 20;

/// The maximum number of API versions that charts receive. Clusters with many operators have about a hundred.
pub const API_VERSIONS: usize = 500;

/// The maximum number of field conflicts per object.
pub const MAX_CONFLICTS: usize = 100;

/// The maximum number of combinations that the rules to be granted may contain. It is a product (groups × resources ×
/// verbs × names), so a short rule can expand to very many.
pub const MAX_RULE_PARTS: usize = 100_000;

/// The number of concurrent requests: enough to hide network latency, and too few to reach the server's fairness
/// limits.
pub const PARALLEL: usize = 8;

/// The time for a credential plugin, which may require an interactive login.
pub const CREDENTIALS: Duration = Duration::from_mins(5);

/// The number of attempts for one request, including the first.
pub const ATTEMPTS: u32 = 5;

/// The pause before the second attempt. It doubles each time.
pub const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause between two attempts, even if the server requests a longer one.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The time for which a server that was unreachable may refuse permitted requests, because it loads all accounts and
/// roles first.
pub const RETURN: Duration = Duration::from_secs(15);

/// The pause between two polls during a wait.
pub const POLL: Duration = Duration::from_millis(500);

/// The pause before the second poll of a pod that pulls an image. It doubles up to [`POLL`]. Small images are pulled in
/// less than a second, and this wait blocks everything else.
pub const FIRST_LOOK: Duration = Duration::from_millis(50);

/// The time for a node to pull an image; at 10 Mbit/s, 4.5 GB. Kubelets do not report the progress of a pull, so an
/// endless pull looks like a long one.
pub const PULLING: Duration = Duration::from_hours(1);

/// The number of lines shown of a crashed container's log.
pub const LOG_LINES: u32 = 20;

/// The number of bytes read of a crashed container's log.
pub const LOG_BYTES: usize = 4096;

/// The number of objects of the same kind and namespace from which on they are read as a list, which may contain many
/// other objects.
pub const LISTED_FROM: usize = 8;

/// The minimum pause between two polls per workload whose pods are inspected. Inspecting one takes about three
/// requests, so this results in about a hundred requests per second.
pub const PER_WORKLOAD: Duration = Duration::from_millis(30);

/// The number of workloads whose pods are inspected when a wait for multiple objects ends. Repairing the first few
/// usually repairs the rest.
pub const MAX_EXPLAINED: usize = 5;

/// The number of objects that a message names.
pub const MAX_NAMED: usize = 50;

/// The number of pods and events that are inspected when a rollout does not complete.
pub const MAX_DIAGNOSED: usize = 50;

/// The time for which a cause that is often temporary (a registry that refuses connections, no capacity on the nodes)
/// must persist before the rollout is given up.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The number of restarts from which on a crashing container is regarded as permanently crashing. The first crashes are
/// often due to the order in which programs start.
pub const CRASHES: u64 = 2;

/// The tolerated difference between the clocks of two machines. It applies before a lease is taken over from its
/// holder, and before a pod is regarded as ready for a certain time.
pub const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// The time for which a rollout without a readiness probe must stay complete. Without a probe, "ready" only means that
/// the process was started, and programs with wrong settings or permissions usually exit in the first seconds.
pub const SETTLED: Duration = Duration::from_secs(5);
