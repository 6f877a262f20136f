//! Tests with a real cluster: an API server, its controllers and a node. `SOLUTION_TEST_KUBECONFIG` is an
//! administrator's kubeconfig. `SOLUTION_TEST_PUSH_REGISTRY` and `SOLUTION_TEST_PULL_REGISTRY` are two names of a
//! registry that requires a login; the nodes reject the certificate of the first and accept that of the second.

#![expect(
    clippy::unwrap_used,
    reason = "what fails in a test's helpers fails the test"
)]

mod access;
mod apply;
mod connect;
mod lease;
mod rollout;
mod settle;
mod setup;
mod writes;
