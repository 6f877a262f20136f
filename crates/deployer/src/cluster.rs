//! Which cluster: the way from a kubeconfig to a connection, the requests over it, and where objects lie in its API.

pub(crate) mod connect;
pub(crate) mod resource;
pub(crate) mod wire;
