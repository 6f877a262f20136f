//! The named limits of everything that clients send or hold, each with its reason.

use std::time::Duration;

/// Bytes of a request's head: what servers take, and four times what clients with long tokens send.
pub const HEAD: usize = 16 * 1024;
/// Fields of a request's head: clients send some ten.
pub const HEADERS: usize = 64;
/// Connections that are open at a time: two hundred pulls, each with the six connections of common clients, leave room.
pub const CONNECTIONS: usize = 2048;
/// Connections of one client, an IPv4 address or an IPv6 network (/64): three quarters of all, so that two hundred pulls from
/// behind one address still fit, and others have room.
pub const CONNECTIONS_OF_ONE: usize = 1536;
/// The time that a request's head, or TLS' handshake, may take from its first byte on.
pub const HEAD_WITHIN: Duration = Duration::from_secs(15);
/// The time for which a connection may be open without a request: clients keep theirs for a minute or more.
pub const IDLE: Duration = Duration::from_secs(75);
/// Bytes of a blob that are read, checked and sent at a time. Where the system sends them by itself, a call takes longer
/// than what is around it; and this much is held for each connection where it does not.
pub const PIECE: usize = 128 * 1024;
/// Bytes that the system is asked to send by itself in one call: as much as a socket takes.
pub const SENDFILE: usize = 1024 * 1024;
/// The time that a client may take for one piece: slower than any line that somebody waits for.
pub const PIECE_WITHIN: Duration = Duration::from_mins(2);
/// The time that requests under way may take once the server is to end: less than the time that systems give a service.
pub const ENDING: Duration = Duration::from_secs(10);
/// The time that the server waits when the system has no room for another connection.
pub const NO_ROOM: Duration = Duration::from_millis(100);
/// The time for which a wrong login is left waiting, and with it all further ones of the same client, so that passwords
/// are not tried by the thousand.
pub const WRONG_LOGIN: Duration = Duration::from_millis(500);
/// Bytes of a login: a user name and a password of the lengths that clients take.
pub const LOGIN: usize = 12 * 1024;
/// Entries of one answer that lists names; of more, the rest comes with the next page.
pub const PAGE: usize = 1000;
/// Characters of a repository's name, as distribution itself limits it.
pub const REPOSITORY: usize = 255;
/// Contents whose comparison is remembered: those of a thousand archives of usual size.
pub const REMEMBERED: usize = 100_000;
/// Bytes of a blob that are hashed at a time.
pub const HASHED: usize = 1024 * 1024;
/// Characters of a request's target that the log shows.
pub const SHOWN: usize = 1024;
/// Bytes that are taken of a body that nobody reads, so that its sender gets the answer; of more, it may not.
pub const PARTING: usize = 1024 * 1024;
/// The time that taking them may last.
pub const PARTING_WITHIN: Duration = Duration::from_secs(2);
