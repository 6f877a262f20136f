//! Roles and the rights that they grant. [`rights::rights`] expands the rules of a role, [`grant::grants`] follows the
//! bindings to their subjects, and `danger` and `description` explain rights to people. A [`right::Right`] is one verb on
//! one resource, in the namespaces of its [`reach::Reach`].

pub(crate) mod danger;
mod description;
pub(crate) mod grant;
pub(crate) mod part;
pub(crate) mod reach;
pub(crate) mod right;
pub(crate) mod rights;
pub(crate) mod role;
mod rule;
