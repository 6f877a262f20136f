//! Every limit of the crate, with its reason.
//!
//! A cluster is usually a friend, but what it stores was written by many, and a wrong address can lead to anything
//! that speaks HTTP.

use std::time::Duration;

/// Largest answer that is read. A page of [`PAGE`] objects of etcd's own 1.5 MiB limit would be larger, but such a page
/// does not occur; what does not fit is refused rather than held in memory.
pub const MAX_ANSWER: usize = 64 << 20;

/// Largest object that is sent: the API server itself reads no more than 3 MiB of a request.
pub const MAX_OBJECT: usize = 3 << 20;

/// Deepest nesting of an object. The JSON parser stops at 128; the walks over objects stop before it.
pub const MAX_DEPTH: usize = 100;

/// Objects asked for at once.
pub const PAGE: usize = 250;

/// Most objects of one list. A cluster has at most some ten thousand of anything this crate lists.
pub const MAX_LISTED: usize = 50_000;

/// Most objects that are looked at one after the other without being kept. Kubernetes is made for 150,000 pods in a
/// cluster.
pub const MAX_VISITED: usize = 300_000;

/// Bytes of a server's message that are kept: a few lines for a person.
pub const MAX_MESSAGE: usize = 2048;

/// Bytes of a value that is shown in a difference.
pub const MAX_SHOWN_VALUE: usize = 256;

/// Most differences shown of one object; a plan with more is read by nobody.
pub const MAX_CHANGES: usize = 200;

/// Most versions of an API group that are looked at for a kind: groups in use have three.
pub const MAX_API_VERSIONS: usize = 20;

/// Most API versions of a cluster that charts are told of: clusters with all the operators in use have some hundred.
pub const API_VERSIONS: usize = 500;

/// Most field conflicts kept of one object.
pub const MAX_CONFLICTS: usize = 100;

/// Most single combinations that the rules to be granted may spell out. Their number is a product
/// (groups x resources x verbs x names), so a short rule could cost much.
pub const MAX_RULE_PARTS: usize = 100_000;

/// Questions to the server that are under way at the same time: enough to hide the network's latency, too few to
/// trip the server's fairness limits.
pub const PARALLEL: usize = 8;

/// The time that a kubeconfig's plugin may take for its credentials: a person may have to log in with it meanwhile.
pub const CREDENTIALS: Duration = Duration::from_mins(5);

/// Attempts for one request, the first included.
pub const ATTEMPTS: u32 = 5;

/// First pause between two attempts; it doubles.
pub const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Longest pause between two attempts, also when the server asks for a longer one.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The time for which a server that was away may refuse what it will allow: it first reads all accounts and roles.
pub const RETURN: Duration = Duration::from_secs(15);

/// Pause between two looks while waiting for something.
pub const POLL: Duration = Duration::from_millis(500);

/// Pause before the second look at a pod that pulls; it doubles up to [`POLL`]. A small image is there in less than a
/// second, and whoever waits for it waits for nothing else.
pub const FIRST_LOOK: Duration = Duration::from_millis(50);

/// The time that a node may take to pull an image: at 10 Mbit/s that is 4.5 GB. Nobody tells how far a pull is, so one
/// that will never end looks like a long one.
pub const PULLING: Duration = Duration::from_hours(1);

/// Lines of a crashed container's log that are shown.
pub const LOG_LINES: u32 = 20;

/// Bytes of a crashed container's log that are read.
pub const LOG_BYTES: usize = 4096;

/// Objects of one kind and namespace from which on a list is asked for instead of each: a list may hold many others.
pub const LISTED_FROM: usize = 8;

/// The least pause between two looks for each workload whose pods are looked at: a look at one takes some three
/// requests, so that no more than some hundred are sent in a second.
pub const PER_WORKLOAD: Duration = Duration::from_millis(30);

/// Workloads whose pods are looked into when a wait for many objects ends: whoever mends the first few has mostly mended
/// all.
pub const MAX_EXPLAINED: usize = 5;

/// Objects that one message names.
pub const MAX_NAMED: usize = 50;

/// Pods and events looked at when a rollout does not come.
pub const MAX_DIAGNOSED: usize = 50;

/// The time for which a cause that often passes by itself (a registry that refuses connections, no room on the nodes)
/// must last before a rollout is given up because of it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Restarts after which a crashing container is taken to crash for ever. The first ones are often a matter of order:
/// a program that starts before what it needs.
pub const CRASHES: u64 = 2;

/// The difference that two machines' clocks may have before a lease is taken from a living holder, or a pod that has
/// just become ready is believed to be so for long.
pub const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// The time for which a rollout without a readiness probe must stay complete: "ready" then only says that the process
/// was started, and a program that stops because of its settings or rights does so in its first seconds.
pub const SETTLED: Duration = Duration::from_secs(5);
