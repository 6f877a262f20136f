//! `solution apply`: makes the cluster as a file says.

mod configuration;

pub(crate) use self::configuration::{Arguments, run};
