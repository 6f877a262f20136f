//! The pages. Each module reads what its pages show, and renders them.

pub(crate) mod change;
pub(crate) mod environments;
pub(crate) mod files;
pub(crate) mod history;
mod links;
mod listing;
mod permissions;
pub(crate) mod plan;
mod plan_text;
pub(crate) mod proposal;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod solutions;
