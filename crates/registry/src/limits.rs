//! The limits for requests to a registry and for its answers, with the reason for each. A registry is not trusted, so
//! every answer is bounded in size and time.

use std::time::Duration;

/// The size of one read from the source in bytes. Below 64 KiB, the calls cost more than the copying; above this size,
/// only memory use grows.
pub const BUFFER: usize = 256 * 1024;
/// The number of buffers between the reading thread and the connection: some are sent while the next one is read.
pub const BUFFERS_AHEAD: usize = 2;
/// The number of connections that are tried for a request if each is closed before any of it was written.
pub const UNSENT: usize = 5;
/// The number of connections that never overloads a registry or a line. Docker and podman use as many.
pub const HARMLESS: usize = 6;
/// The number of bytes after which the speed of a push is known, if they took at least [`WINDOW_SHORTEST`].
pub const WINDOW_BYTES: u64 = 8 * 1024 * 1024;
/// The shortest meaningful interval for measuring speed, because registries write in bursts.
pub const WINDOW_SHORTEST: Duration = Duration::from_millis(100);
/// The interval after which the speed is measured even if few bytes were transferred, as on a disk that seeks between
/// readers.
pub const WINDOW: Duration = Duration::from_millis(250);
/// The fraction of the speed below which a source counts as a seeking disk. With two readers, such a disk drops below
/// half of its speed, and other media keep almost all of it.
pub const TRIAL_LOSS: f64 = 0.6;
/// The factor by which doubling the connections must increase the speed, above [`HARMLESS`].
pub const TRIAL_GAIN: f64 = 1.2;
/// The number of trials without a gain after which no more connections are tried.
pub const TRIALS: u32 = 3;
/// The number of windows between two trials.
pub const TRIAL_REST: u32 = 8;
/// The time for which a blob that is being sent may wait for its turn to read. Peers close a connection after a minute
/// without a byte.
pub const PAUSE: Duration = Duration::from_secs(20);
/// The distance in bytes between stored hash states. A resumed upload reads at most this much twice.
pub const CHECKPOINT: u64 = 16 * 1024 * 1024;
/// The size of one `PATCH` in bytes if a registry or a proxy refuses whole blobs. Chunks of 1 MiB take twice the time.
pub const CHUNK: u64 = 16 * 1024 * 1024;
/// The smallest `PATCH` that is tried after refusals for size: the default body limit of nginx.
pub const CHUNK_SMALLEST: u64 = 1024 * 1024;
/// The size of one `PATCH` in bytes for a blob that is sent in parts to be resumable. It is the maximum loss when the
/// connection breaks, as most registries keep complete requests only. The registry flushes each part to disk, and parts
/// of 16 MiB take a tenth longer than one request.
pub const PART: u64 = 64 * 1024 * 1024;
/// The size in bytes up to which a blob is sent in one request. Sending it again costs less than the requests of a
/// resumed upload.
pub const PARTS_ABOVE: u64 = 2 * PART;
/// The size of a journal file in bytes: four records with the longest upload location.
pub const JOURNAL_FILE: u64 = 4 * (LOCATION as u64 + 4096);
/// The number of journal files. An import has one per connection; the oldest surplus files, left by aborted imports,
/// are removed.
pub const JOURNAL_FILES: usize = 256;
/// The age at which a journal file is removed. Registries purge abandoned uploads after a week (distribution's
/// `uploadpurging`).
pub const JOURNAL_AGE: Duration = Duration::from_hours(7 * 24);
/// The largest chunk size that a registry may demand (`OCI-Chunk-Min-Length`).
pub const CHUNK_LARGEST: u64 = 1024 * 1024 * 1024;
/// The number of concurrent requests for checks, mounts, manifests and small blobs. Their time depends on latency and
/// on the registry's disk, not on bandwidth: with a latency of 20 ms, three hundred checks take half a second. As many
/// large blobs may be sent at a time if it increases the speed: with 50 ms and 1 % packet loss, one connection reaches
/// three megabits per second. The memory use is that of their buffers.
pub const REQUESTS: usize = 24;
/// The number of bytes read of an error answer, or of a registry's description of itself.
pub const ERROR_BODY: usize = 64 * 1024;
/// The number of bytes read of a manifest or index: the size that registries accept (distribution specification,
/// "Pushing manifests").
pub const MANIFEST_BODY: usize = 4 * 1024 * 1024;
/// The number of names requested per page of a list: the maximum of most registries.
pub const PAGE: usize = 1000;
/// The number of bytes read of one page of a list. It allows for [`PAGE`] names of [`REPOSITORY`] characters, or for a
/// registry that ignores paging and returns everything.
pub const PAGE_BODY: usize = 16 * 1024 * 1024;
/// The number of names in one list. Sites have fewer than a hundred thousand tags or repositories.
pub const LISTED: usize = 100_000;
/// The number of referrers of a manifest. An image that is signed and scanned each night for a year has fewer, and the
/// list of them is an index of ordinary size.
pub const REFERRERS: usize = 500;
/// The number of bytes read of a token answer. Tokens with long scope lists have about 10 KiB.
pub const TOKEN_BODY: usize = 1024 * 1024;
/// The number of manifests and indexes of an image that are read to find blobs to mount: an index and its manifests for
/// the common platforms. The blobs of further manifests are uploaded.
pub const SHARING_DOCUMENTS: usize = 16;
/// The number of characters shown of a registry's message.
pub const MESSAGE: usize = 300;
/// The number of redirects followed for a `GET` or `HEAD`. Registries use one, to their storage.
pub const REDIRECTS: usize = 5;
/// The number of characters of an upload location. Signed states have about 500.
pub const LOCATION: usize = 16 * 1024;
/// The number of characters of a repository name with its host, the limit of distribution.
pub const REPOSITORY: usize = 255;
/// The number of chunks of an answer that wait to be written, each of up to 408 KiB. The connection continues while the
/// disk is busy, and memory use stays small.
pub const PIECES_AHEAD: usize = 4;
/// The number of bytes passed to a connection at a time. It is the granularity at which the speed is measured.
pub const PIECE: usize = 64 * 1024;
/// The number of bytes of a blob that must be transferred before its failures are forgotten. A peer that sends or
/// accepts a few bytes per request does not make progress.
pub const PROGRESS: u64 = 256 * 1024;
/// The number of bytes that must be transferred within [`LEAST_BYTES_WITHIN`] over all connections. A modem with 9600
/// bit/s, the slowest line in use, transfers five times as many.
pub const LEAST_BYTES: u64 = 64 * 1024;
/// The time for [`LEAST_BYTES`]. A registry or a line may be busy with other work for some minutes.
pub const LEAST_BYTES_WITHIN: Duration = Duration::from_mins(5);
/// The number of requests for content that a registry has just stored but does not deliver, before that is an error.
pub const LOOKS: u32 = 3;
/// The size in bytes of a docker `config.json` or podman `auth.json`.
pub const CREDENTIALS_FILE: usize = 4 * 1024 * 1024;
/// The size of a password or token in bytes. Servers accept about 8 KiB of a request's header, and it fits into the
/// buffer of a pipe.
pub const PASSWORD: usize = 8 * 1024;
/// The size of a user name in bytes: the longest that token servers and directories use.
pub const USERNAME: usize = 256;
/// The number of bytes read from a credential helper: a token of 16 KiB and the JSON around it.
pub const HELPER_ANSWER: u64 = 64 * 1024;
/// The time for a credential helper. Some ask a user to unlock the store, or a cloud for a token.
pub const HELPER_TIMEOUT: Duration = Duration::from_mins(1);
/// The time to connect, including the TLS handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The time for a server on this machine to answer in TLS before it is also tried in plain HTTP. Some HTTP servers wait
/// for the end of a line, which a TLS handshake does not contain.
pub const TLS_FIRST: Duration = Duration::from_secs(1);
/// The time without a byte on a connection, in either direction.
pub const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// The time from the last byte of a blob to the answer. Registries hash and copy the entire blob again.
pub const COMMIT_TIMEOUT: Duration = Duration::from_mins(15);
/// The number of attempts that may fail without a connection or with a broken one. They take half a minute, enough for
/// a registry to restart, and a registry that is down is reported soon.
pub const CONNECTION_ATTEMPTS: u32 = 6;
/// The number of attempts that may fail with 5xx. It is the same because proxies answer like this while the registry
/// restarts.
pub const SERVER_ATTEMPTS: u32 = 6;
/// The number of blobs and manifests that a registry fails to store (500), each after all attempts and with nothing
/// else stored in between, before the push ends. One failure can have its cause in the content, but three are a problem
/// of the registry.
pub const NOT_STORED: usize = 3;
/// The number of attempts that may fail with 429 or `Retry-After`. The registry is available, and its rate limits often
/// apply per minute or per hour. If it does not state a pause, the attempts take nearly ten minutes.
pub const PAUSE_ATTEMPTS: u32 = 24;
/// The number of attempts that may time out. Each of them has waited for [`IDLE_TIMEOUT`] or longer.
pub const STALL_ATTEMPTS: u32 = 3;
/// The longest pause that a registry can request with `Retry-After`.
pub const RETRY_AFTER: Duration = Duration::from_mins(2);
/// The number of bytes read of an engine's description of an image. Histories of some hundred steps have 200 KiB.
pub const ENGINE_ANSWER: usize = 4 * 1024 * 1024;
/// The time without a byte from an engine. Some write an entire image to their disk before they send its first byte.
pub const ENGINE_TIMEOUT: Duration = Duration::from_mins(15);
/// The interval at which a wait checks whether the push must stop. It is too short to be noticed.
pub const STOP_LOOK: Duration = Duration::from_millis(50);
/// The lifetime of a token without a stated lifetime (distribution's token specification).
pub const TOKEN_LIFETIME: Duration = Duration::from_mins(1);
/// The body sizes in bytes that are tested against the limit of a registry or a proxy, the largest first: the usual
/// limits in proxy configurations, the size of a chunk, and the default of nginx.
pub const BODIES: [u64; 6] = [
    10 * 1024 * 1024 * 1024,
    1024 * 1024 * 1024,
    512 * 1024 * 1024,
    100 * 1024 * 1024,
    CHUNK,
    CHUNK_SMALLEST,
];
/// The time to refuse a body by its length alone. A server that does not answer in this time waits for the body.
pub const BODY_WAIT: Duration = Duration::from_secs(2);
