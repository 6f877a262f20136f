//! Violations of rules. A [`problem::Problem`] is a violation with its details, and `pointer` finds its position in a
//! document. The [`catalogue`] has the id, severity and fix of every finding. A new kind of finding begins there.

pub mod catalogue;
pub(crate) mod pointer;
pub(crate) mod problem;
