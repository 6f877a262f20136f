//! Accepted archive to images in the registry and objects in the cluster.
