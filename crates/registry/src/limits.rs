//! The named limits of everything a registry answers or is asked, each with its reason.

use std::time::Duration;

/// Bytes of one read from the source. At 64 KiB the calls cost more than the copying; beyond this only memory grows.
pub const BUFFER: usize = 256 * 1024;
/// Buffers between the reading thread and the connection: some are sent while the next is read.
pub const BUFFERS_AHEAD: usize = 2;
/// Connections on which a request goes out that never got as far as being written.
pub const UNSENT: usize = 5;
/// Connections that are never too many for a registry, nor for a line: those that docker and podman have.
pub const HARMLESS: usize = 6;
/// Bytes after which the speed of a push is known, if they took at least [`WINDOW_SHORTEST`].
pub const WINDOW_BYTES: u64 = 8 * 1024 * 1024;
/// The shortest time that says something of a speed: registries write in bursts.
pub const WINDOW_SHORTEST: Duration = Duration::from_millis(100);
/// The time after which the speed is looked at, even if little got through: a medium that jumps loses all of it.
pub const WINDOW: Duration = Duration::from_millis(250);
/// The part of the speed below which a medium is taken for one that jumps. Disks with heads keep less than half of it
/// with two readers, others nearly all.
pub const TRIAL_LOSS: f64 = 0.6;
/// The factor by which twice as many connections must be faster, beyond [`HARMLESS`].
pub const TRIAL_GAIN: f64 = 1.2;
/// Times that more connections may bring nothing before no more are tried.
pub const TRIALS: u32 = 3;
/// Windows between two trials.
pub const TRIAL_REST: u32 = 8;
/// Time for which a blob that is being sent may wait for its turn: peers give up after a minute without a byte.
pub const PAUSE: Duration = Duration::from_secs(20);
/// Bytes between two remembered hash states, so that a resumed upload reads at most this much twice.
pub const CHECKPOINT: u64 = 16 * 1024 * 1024;
/// Bytes of one `PATCH` where a registry or a proxy refuses whole blobs: 1 MiB chunks cost twice the time.
pub const CHUNK: u64 = 16 * 1024 * 1024;
/// The smallest `PATCH` tried after refusals for size: the default body limit of nginx.
pub const CHUNK_SMALLEST: u64 = 1024 * 1024;
/// Bytes of one `PATCH` of a blob that is sent in parts so that it can be resumed: what a break costs at most where the
/// registry keeps complete requests only, as most do. Each part ends with a flush to the registry's disk, and parts of
/// 16 MiB take a tenth longer than one request.
pub const PART: u64 = 64 * 1024 * 1024;
/// Blobs of no more bytes go in one request: to send them again costs less than the requests of a resumed upload.
pub const PARTS_ABOVE: u64 = 2 * PART;
/// Bytes of the file that remembers one upload: four of the longest upload locations.
pub const JOURNAL_FILE: u64 = 4 * (LOCATION as u64 + 4096);
/// Files of remembered uploads. An import has as many as connections; of more, from imports that never ended, the oldest go.
pub const JOURNAL_FILES: usize = 256;
/// The age at which a remembered upload is forgotten: registries purge abandoned uploads after a week (distribution's
/// `uploadpurging`).
pub const JOURNAL_AGE: Duration = Duration::from_hours(7 * 24);
/// The largest chunk that a registry may demand (`OCI-Chunk-Min-Length`).
pub const CHUNK_LARGEST: u64 = 1024 * 1024 * 1024;
/// Requests under way at a time: questions, mounts, manifests, small blobs. What they wait for is the distance and the
/// registry's disk, not bandwidth: at 20 ms each way, three hundred questions are answered within half a second. And as
/// many large blobs may be sent at a time, where that is worth it: through 50 ms with one packet of a hundred lost, one
/// connection carries three megabits a second. Memory is that of their buffers.
pub const REQUESTS: usize = 24;
/// Bytes read of an error answer, or of what a registry says of itself.
pub const ERROR_BODY: usize = 64 * 1024;
/// Bytes read of a manifest or index: what registries accept (distribution specification, "Pushing manifests").
pub const MANIFEST_BODY: usize = 4 * 1024 * 1024;
/// Names asked for in one page of a list: what most registries give at most.
pub const PAGE: usize = 1000;
/// Bytes read of one page of a list: [`PAGE`] names of [`REPOSITORY`] characters, or a registry that knows no pages and
/// gives everything.
pub const PAGE_BODY: usize = 16 * 1024 * 1024;
/// Names of one list: a hundred thousand tags or repositories are more than sites have.
pub const LISTED: usize = 100_000;
/// Manifests that refer to one: an image that is signed and scanned each night for a year has fewer, and what lists them all
/// is an index like others.
pub const REFERRERS: usize = 500;
/// Bytes read of a token answer: tokens with long scope lists have some 10 KiB.
pub const TOKEN_BODY: usize = 1024 * 1024;
/// Manifests and indexes read of an image to learn which blobs can be mounted from it: an index and those of the
/// platforms that people build for. Of more, the rest is uploaded.
pub const SHARING_DOCUMENTS: usize = 16;
/// Characters shown of a registry's own words.
pub const MESSAGE: usize = 300;
/// Redirects followed for one `GET` or `HEAD`: registries use one, to their storage.
pub const REDIRECTS: usize = 5;
/// Characters of an upload location. Signed states have about 500.
pub const LOCATION: usize = 16 * 1024;
/// Characters of a repository name with its host, as distribution itself limits it.
pub const REPOSITORY: usize = 255;
/// Pieces of an answer that wait to be written, each of up to 408 KiB, as a connection reads them: it goes on while the
/// disk is busy, and memory stays small.
pub const PIECES_AHEAD: usize = 4;
/// Bytes handed to a connection at a time: what is known of its speed is known in steps of so many.
pub const PIECE: usize = 64 * 1024;
/// Bytes that a blob must get further for its failures to be forgotten: a peer that gives or takes a few bytes for each
/// request is not making progress.
pub const PROGRESS: u64 = 256 * 1024;
/// Bytes that must come or go in [`LEAST_BYTES_WITHIN`] over all connections. The slowest line that somebody waits for, a
/// modem of 9600 bit/s, brings five times as many.
pub const LEAST_BYTES: u64 = 64 * 1024;
/// The time for [`LEAST_BYTES`]: a registry or a line may be busy with something else for some minutes.
pub const LEAST_BYTES_WITHIN: Duration = Duration::from_mins(5);
/// The number of times that a registry is asked for what it has just taken and does not give, before that is an error.
pub const LOOKS: u32 = 3;
/// Bytes of a docker `config.json` or podman `auth.json`.
pub const CREDENTIALS_FILE: usize = 4 * 1024 * 1024;
/// Bytes of a password or token that somebody logs in with: servers take some 8 KiB of a request's header, and a pipe
/// takes it whole.
pub const PASSWORD: usize = 8 * 1024;
/// Bytes of a user name: the longest that token servers and directories give.
pub const USERNAME: usize = 256;
/// Bytes read of what a credential helper answers: a token of 16 KiB and what stands around it.
pub const HELPER_ANSWER: u64 = 64 * 1024;
/// Time for a credential helper: some ask a person to unlock the store, or a cloud for a token.
pub const HELPER_TIMEOUT: Duration = Duration::from_mins(1);
/// Time to connect, TLS included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for a server of this machine to answer in TLS before it is also asked in plain HTTP: some HTTP servers wait for
/// the end of a line, which a TLS handshake need not have.
pub const TLS_FIRST: Duration = Duration::from_secs(1);
/// Time without a byte on a connection, in either direction.
pub const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Time from the last byte of a blob to the answer: registries hash and copy the whole blob once more.
pub const COMMIT_TIMEOUT: Duration = Duration::from_mins(15);
/// Attempts that may end with a connection that does not come about or breaks: half a minute, in which a registry starts
/// again. One that is gone is to be known soon.
pub const CONNECTION_ATTEMPTS: u32 = 6;
/// Attempts that may end with 5xx: as long, for proxies answer so while the registry behind them starts.
pub const SERVER_ATTEMPTS: u32 = 6;
/// Blobs and manifests that a registry fails to store (500), each after all its attempts and without storing anything else
/// meanwhile, before a push ends: one failure can be about that content alone, three are about the registry.
pub const NOT_STORED: usize = 3;
/// Attempts that may end with 429 or `Retry-After`: the registry is there and says that it goes on, and limits are often
/// counted per minute or per hour. Nearly ten minutes, if it does not say how long to wait.
pub const PAUSE_ATTEMPTS: u32 = 24;
/// Attempts that may end with silence: each has waited for [`IDLE_TIMEOUT`] or longer.
pub const STALL_ATTEMPTS: u32 = 3;
/// The longest wait that a registry can impose with `Retry-After`.
pub const RETRY_AFTER: Duration = Duration::from_mins(2);
/// Bytes read of what an engine says of an image: histories of some hundred steps have 200 KiB.
pub const ENGINE_ANSWER: usize = 4 * 1024 * 1024;
/// Time without a byte from an engine: some write a whole image to their disk before they send its beginning.
pub const ENGINE_TIMEOUT: Duration = Duration::from_mins(15);
/// The interval at which a wait looks whether the push is to stop: sooner than anybody notices.
pub const STOP_LOOK: Duration = Duration::from_millis(50);
/// Lifetime of a token that states none (distribution's token specification).
pub const TOKEN_LIFETIME: Duration = Duration::from_mins(1);
/// Bytes of request bodies that a registry, or a proxy before it, is asked whether it would take, the largest first: what
/// proxies are configured to by their own or by others' habits, down to a chunk, and to what nginx takes by itself.
pub const BODIES: [u64; 6] = [
    10 * 1024 * 1024 * 1024,
    1024 * 1024 * 1024,
    512 * 1024 * 1024,
    100 * 1024 * 1024,
    CHUNK,
    CHUNK_SMALLEST,
];
/// Time for saying no to a body of which only the length is known yet: whoever has said nothing waits for the body.
pub const BODY_WAIT: Duration = Duration::from_secs(2);
