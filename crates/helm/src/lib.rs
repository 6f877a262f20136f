//! Runs the `helm` program, version 4, apart from everything of the user's and within limits of time, memory and
//! output; and, within the same limits, `helmfile`, with what is the user's.
//!
//! This crate knows how the program is recognised, copied, started and ended, and how what it stores of a release is read.
//! It must not know what a chart contains nor what a cluster has: it is given a chart's bytes and says what Helm said,
//! and it is given what Helm keeps of a release and reads it.
//!
//! Open `run.rs` first, which every run goes through; `render.rs` and `install.rs` are the runs themselves.

mod copy;
mod error;
mod helmfile;
mod home;
mod install;
pub mod limits;
mod program;
mod render;
mod renderer;
mod run;
pub mod stored;
mod verify;

pub use copy::ProgramSource;
pub use error::HelmError;
pub use helmfile::{Helmfile, Values};
pub use home::Home;
pub use install::{ClusterAccess, Release, Upgrade};
pub use program::{Helm, version_of_solution};
pub use render::ChartRendering;
pub use renderer::PostRenderer;
pub use run::HelmRun;
pub use stored::{ReleaseStatus, StoredError, StoredRevision};
pub use verify::Provenance;
