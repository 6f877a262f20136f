//! The named limits of everything a registry answers or is asked, each with its reason.

use std::time::Duration;

/// Bytes of one read from the source, and of one piece handed to the connection. At 64 KiB the calls cost more than
/// the copying; beyond 1 MiB only memory grows.
pub const BUFFER: usize = 1024 * 1024;
/// Buffers between the reading thread and the connection: one is sent while the next is read.
pub const BUFFERS_AHEAD: usize = 2;
/// Bytes between two remembered hash states, so that a resumed upload reads at most this much twice.
pub const CHECKPOINT: u64 = 16 * 1024 * 1024;
/// Bytes of one `PATCH` where a registry or a proxy refuses whole blobs: 1 MiB chunks cost twice the time.
pub const CHUNK: u64 = 16 * 1024 * 1024;
/// The smallest `PATCH` tried after refusals for size: the default body limit of nginx.
pub const CHUNK_SMALLEST: u64 = 1024 * 1024;
/// The largest chunk that a registry may demand (`OCI-Chunk-Min-Length`).
pub const CHUNK_LARGEST: u64 = 1024 * 1024 * 1024;
/// Requests under way at a time that are small: questions, mounts, manifests, blobs of one [`BUFFER`]. What they wait for
/// is the distance and the registry's disk, not bandwidth: at 20 ms each way, three hundred questions are answered within
/// half a second.
pub const REQUESTS: usize = 24;
/// Bytes read of an error answer.
pub const ERROR_BODY: usize = 64 * 1024;
/// Bytes read of a manifest or index: what registries accept (distribution specification, "Pushing manifests").
pub const MANIFEST_BODY: usize = 4 * 1024 * 1024;
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
/// Pieces of an answer that wait to be written: the connection goes on while the disk is busy, and memory stays small.
pub const PIECES_AHEAD: usize = 16;
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
/// How often a registry is asked for what it has just taken and does not give, before that is an error.
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
/// Time without a byte on a connection, in either direction.
pub const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Time from the last byte of a blob to the answer: registries hash and copy the whole blob once more.
pub const COMMIT_TIMEOUT: Duration = Duration::from_mins(15);
/// The longest wait that a registry can impose with `Retry-After`.
pub const RETRY_AFTER: Duration = Duration::from_mins(2);
/// Bytes read of what an engine says of an image: histories of some hundred steps have 200 KiB.
pub const ENGINE_ANSWER: usize = 4 * 1024 * 1024;
/// Time without a byte from an engine: some write a whole image to their disk before they send its beginning.
pub const ENGINE_TIMEOUT: Duration = Duration::from_mins(15);
/// Lifetime of a token that states none (distribution's token specification).
pub const TOKEN_LIFETIME: Duration = Duration::from_mins(1);
