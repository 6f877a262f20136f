//! Runs of other programs: with an environment of their own, and within limits of time, memory and output; and the
//! directories that only this user can look into, where such a run has its files.
//!
//! This crate knows how a program is started, heard and ended. It must not know any program.
//!
//! Open `run.rs` first, which every run goes through.

mod limits;
mod run;
mod scratch;

pub use run::{ProgramRun, RunError, RunLimits};
pub use scratch::Scratch;
