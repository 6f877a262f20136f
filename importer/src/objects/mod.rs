//! The desired objects of a deployment, and their comparison with the cluster. `operator`, `sets` and `releases` compute
//! the objects of an operator, of manifest sets and of charts. `crd` and the files that it uses compare CRDs. `effects`
//! lists the effects of objects outside their environment, and `withdrawal` orders the removal of objects.

pub(crate) mod changes;
pub(crate) mod crd;
pub(crate) mod diff;
pub(crate) mod effects;
pub(crate) mod finish;
pub(crate) mod losses;
pub(crate) mod metrics;
pub(crate) mod migration;
pub(crate) mod narrowing;
pub(crate) mod needs;
pub(crate) mod operator;
pub(crate) mod packaged;
pub(crate) mod pull_secret;
pub(crate) mod releases;
pub(crate) mod schema;
pub(crate) mod sets;
pub(crate) mod template;
pub(crate) mod uses;
pub(crate) mod withdrawal;
