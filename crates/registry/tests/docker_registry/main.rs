//! The client against Debian's docker-registry with TLS and login, with faults injected on the way, and judged by
//! skopeo. Needs the packages docker-registry, skopeo and openssl; fails without them.

#![expect(
    clippy::unwrap_used,
    reason = "the helpers of these tests are tests, too"
)]

mod access;
mod answers;
mod certificates;
mod counting;
mod damage;
mod deleting;
mod faults;
mod images;
mod jumping;
mod login;
mod nginx;
mod presence;
mod probing;
mod pulling;
mod pushing;
mod resuming;
mod seeded;
mod server;
mod slow;
