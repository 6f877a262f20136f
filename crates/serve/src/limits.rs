//! The named limits of the data and connections of clients, each with its reason. Clients are not trusted, so they
//! bound the memory and time of each connection.

use std::time::Duration;

/// Bytes of a request's head: a common limit of servers, and four times the size that clients with long tokens send.
pub const HEAD: usize = 16 * 1024;
/// Fields of a request's head. Clients send about ten.
pub const HEADERS: usize = 64;
/// Open connections: enough for two hundred pulls with the six connections that common clients use.
pub const CONNECTIONS: usize = 2048;
/// Connections of one client, which is an IPv4 address or an IPv6 network (/64). This is three quarters of all
/// connections: two hundred pulls from behind one address fit, and other clients can still connect.
pub const CONNECTIONS_OF_ONE: usize = 1536;
/// The maximum time from the first byte of a request to the end of its head, and of a TLS handshake.
pub const HEAD_WITHIN: Duration = Duration::from_secs(15);
/// The time for which a connection may be open without a request. Clients keep theirs for a minute or more.
pub const IDLE: Duration = Duration::from_secs(75);
/// Bytes of a blob that are read, checked and sent at once. Each connection that cannot use `sendfile` needs a buffer
/// of this size.
pub const PIECE: usize = 128 * 1024;
/// Bytes that are passed to one call of `sendfile`: as many as a socket can accept.
pub const SENDFILE: usize = 1024 * 1024;
/// The maximum time for sending one piece. A slower connection would be too slow to be useful.
pub const PIECE_WITHIN: Duration = Duration::from_mins(2);
/// The time for finishing requests when the server ends: less than service managers allow.
pub const ENDING: Duration = Duration::from_secs(10);
/// The delay before accepting again if the operating system has no resources for another connection.
pub const NO_ROOM: Duration = Duration::from_millis(100);
/// The delay after a wrong login, which also delays the other logins of the same client. It prevents trying large
/// numbers of passwords.
pub const WRONG_LOGIN: Duration = Duration::from_millis(500);
/// Bytes of a login: user names and passwords of the lengths that clients support.
pub const LOGIN: usize = 12 * 1024;
/// Entries of one answer with a list of names. The rest follows on the next pages.
pub const PAGE: usize = 1000;
/// Characters of a repository's name: the limit of distribution.
pub const REPOSITORY: usize = 255;
/// Blobs whose verification is remembered: those of a thousand archives of common size.
pub const REMEMBERED: usize = 100_000;
/// Bytes of a blob that are hashed at once.
pub const HASHED: usize = 1024 * 1024;
/// Characters of a request's target in the log.
pub const SHOWN: usize = 1024;
/// Bytes of an unprocessed body that are discarded so that its sender receives the answer. With a larger body, the
/// sender may not receive it.
pub const PARTING: usize = 1024 * 1024;
/// The maximum time for discarding them.
pub const PARTING_WITHIN: Duration = Duration::from_secs(2);
