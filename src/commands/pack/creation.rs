//! The flags of `solution pack` for the source tree that it creates from a chart or release.

use std::path::PathBuf;

use clap::Args;
use schemas::{SolutionName, Version};

/// The heading of flags that need a source to create a tree from.
const WITH_SOURCE: &str = "Only with SOURCE";

/// The choices for the source tree that is created.
#[derive(Args, Debug)]
pub(super) struct CreationArguments {
    /// The name of the Solution [default: from SOURCE]
    #[arg(long, value_name = "NAME", help_heading = WITH_SOURCE)]
    pub(super) name: Option<SolutionName>,

    /// The version of the Solution [default: from SOURCE]
    #[arg(long, value_name = "VERSION", help_heading = WITH_SOURCE)]
    pub(super) version: Option<Version>,

    /// A values file to package with the chart; may be repeated, and later files take precedence
    #[arg(long, value_name = "FILE", help_heading = WITH_SOURCE)]
    pub(super) values: Vec<PathBuf>,

    /// Keep the source tree in this directory, which must be empty or not exist
    #[arg(long, value_name = "DIR", help_heading = WITH_SOURCE)]
    pub(super) save_source: Option<PathBuf>,
}
