//! Tests of the client against Debian's docker-registry with TLS and login. Faults are injected on the way, and skopeo
//! verifies the result. They require the packages docker-registry, skopeo and openssl, and fail without them.

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
