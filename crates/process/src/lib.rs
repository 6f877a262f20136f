//! Execution of other programs with an explicit environment and limits of time, memory and output ([`ProgramRun`]), and
//! private directories for the files of a run ([`Scratch`]).
//!
//! This crate starts programs, reads their output and stops them. It knows no particular program. Start with `run.rs`.

mod limits;
mod run;
mod scratch;

pub use run::{ProgramRun, RunError, RunLimits};
pub use scratch::Scratch;
