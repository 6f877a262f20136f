//! Helmfile, and the releases that it makes of a helmfile.

use std::ffi::OsString;
use std::path::Path;

use watch::Cancel;

use crate::error::HelmError;
use crate::home::Home;
use crate::limits;
use crate::run::{self, HelmRun};

/// A helmfile, and the program that reads it. Its templates run commands, and its values come from stores of secrets: it is
/// run only for who has written it, with all that is his.
#[derive(Debug)]
pub struct Helmfile<'a> {
    /// The program.
    pub program: &'a Path,
    /// The file.
    pub file: &'a Path,
    /// The environment among those that it has; Helmfile's own choice if there is none.
    pub environment: Option<&'a str>,
    /// Labels of the releases that are meant; all releases if there are none.
    pub selectors: &'a [String],
    /// The program's environment.
    pub variables: Vec<(OsString, OsString)>,
}

/// Whether values are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// The files of the values are named. Nothing in them is looked at.
    Named,
    /// The values stand in the place of their files, with what these refer to.
    Embedded,
}

impl Helmfile<'_> {
    /// Returns the output of `helmfile build`: each file that has releases as one document, with everything expanded.
    pub fn build(&self, values: Values, cancel: Cancel<'_>) -> Result<Vec<u8>, HelmError> {
        let home = Home::new().map_err(|source| run::failed(self.program, source))?;
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
