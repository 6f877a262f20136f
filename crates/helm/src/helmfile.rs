//! Helmfile, which expands the releases of a helmfile: [`Helmfile::build`]. Only the author of a helmfile runs it,
//! because its templates can run commands.

use std::ffi::OsString;
use std::path::Path;

use progress::Cancel;

use crate::error::HelmError;
use crate::helm_home::HelmHome;
use crate::limits;
use crate::run::{self, HelmRun};

/// A helmfile and the program that reads it. Templates of a helmfile can run commands, and its values can come from
/// secret stores. It must therefore only be run by its author, with the author's own environment and credentials.
#[derive(Debug)]
pub struct Helmfile<'a> {
    /// The program.
    pub program: &'a Path,
    /// The file.
    pub file: &'a Path,
    /// One of the helmfile's environments; Helmfile's default if there is none.
    pub environment: Option<&'a str>,
    /// Label selectors of the releases; all releases if there are none.
    pub selectors: &'a [String],
    /// The environment variables of the program.
    pub variables: Vec<(OsString, OsString)>,
}

/// The treatment of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// The output names the values files, which are not read.
    Named,
    /// The output contains the values instead of their files, with all references resolved.
    Embedded,
}

impl Helmfile<'_> {
    /// Returns the output of `helmfile build`: one fully expanded document for each file with releases.
    pub fn build(&self, values: Values, cancel: Cancel<'_>) -> Result<Vec<u8>, HelmError> {
        let home = HelmHome::new().map_err(|source| run::failed(self.program, source))?;
        let mut run = HelmRun::of_helmfile(&home, "build");
        run.time = limits::HELMFILE;
        run.environment.clone_from(&self.variables);
        run.flag("file", self.file);
        run.flag("no-color", "true");
        if values == Values::Embedded {
            run.flag("embed-values", "true");
        }
        if let Some(environment) = self.environment {
            run.flag("environment", environment);
        }
        for selector in self.selectors {
            run.flag("selector", selector);
        }
        run::run(self.program, &run, cancel)
    }
}
