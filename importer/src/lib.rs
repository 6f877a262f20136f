//! An accepted archive becomes images in a registry and an operator in a cluster: plan, then apply.
//!
//! Only a [`validator::Accepted`] can be imported, only a plan without obstacles can be applied, and the cluster is
//! touched only when every image is in place. This crate must not know how an image is laid out or how a signature is
//! checked. docs/import.md tells what is written, under which names and in which order.

mod apply;
mod change;
mod claims;
mod consent;
mod crd;
mod decision;
mod default_account;
mod delete;
mod deploy;
mod deployment;
mod environment;
mod error;
mod event;
mod expand;
mod images;
mod inventory;
mod lifecycle;
mod lock;
mod login;
mod namespace_record;
mod notes;
mod obstacle;
mod operator;
mod owner;
mod place;
mod plan;
mod record;
mod request;
mod rights;
mod rollback;
mod session;
mod signers;
mod state;
mod status;
mod summary;
mod trial;
mod vocabulary;
mod writer;

pub use apply::{Count, Receipt};
pub use change::{Change, Run};
pub use delete::{DeletedEnvironment, Left, Resources, delete as delete_environment};
pub use environment::create as create_environment;
pub use error::{Error, ExpandError, PushFailure};
pub use event::Event;
pub use lifecycle::{Undone, deactivate, undeploy, unimport};
pub use namespace_record::{EnvironmentNamespace, Origin};
pub use obstacle::Obstacle;
pub use place::default_namespace;
pub use plan::{Plan, Ready};
pub use record::{Record, RecordedImage};
pub use request::{
    Adopt, Adoption, Allowed, ChangeSigners, CreateEnvironment, Downgrade, ForgetSigners, Login,
    PullLogin, Replace, Request, Target,
};
pub use status::{Condition, OperatorStatus, Status, VersionStatus, status};
pub use summary::{
    Choice, Chosen, PlannedBeyond, PlannedLine, PlannedObject, PlannedRight, PlannedTarget, Summary,
};
pub use writer::{Turn, Writer};
