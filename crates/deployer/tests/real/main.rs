//! Against a real cluster: an API server, its controllers and a node. `SOLUTION_TEST_KUBECONFIG` names an
//! administrator's kubeconfig, `SOLUTION_TEST_PUSH_REGISTRY` and `SOLUTION_TEST_PULL_REGISTRY` a registry that wants a
//! login, by a name whose certificate the nodes refuse and by one whose certificate they accept.

#![expect(
    clippy::unwrap_used,
    reason = "what fails in a test's helpers fails the test"
)]

mod access;
mod apply;
mod connect;
mod lease;
mod many;
mod put;
mod remove;
mod rollout;
mod settle;
mod setup;
