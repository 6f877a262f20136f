//! Runs of the program `helm`, version 4, isolated from the user's configuration and within limits of time, memory and
//! output. Runs of `helmfile` have the same limits, but use the user's environment.
//!
//! This crate knows how to identify, copy, start and stop the programs, and how to read Helm's stored releases
//! ([`stored`]). It does not know the contents of charts or clusters: callers pass the bytes of a chart or of a stored
//! release, and receive Helm's output or the parsed release.
//!
//! Start with `run.rs`, which every run passes through. `render.rs` and `install.rs` define the runs.

mod copy;
mod error;
mod helm_home;
mod helmfile;
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
pub use helm_home::HelmHome;
pub use helmfile::{Helmfile, Values};
pub use install::{ClusterAccess, Release, Upgrade};
pub use program::{Helm, version_of_solution};
pub use render::ChartRendering;
pub use renderer::PostRenderer;
pub use run::HelmRun;
pub use stored::{ReleaseStatus, StoredError, StoredRevision};
pub use verify::Provenance;
