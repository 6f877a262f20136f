//! Where the `helm` program is, and what it is given.

use std::path::{Path, PathBuf};

use importer::HelmProgram;

use crate::environment;

/// The one that a flag names, else the one that `HELM` names, else the first on the path.
pub(crate) fn program(flag: Option<&Path>) -> Option<PathBuf> {
    let flag = flag.map(Path::to_owned);
    flag.or_else(|| environment::path("HELM"))
        .or_else(|| environment::program("helm"))
}

/// The verb by which Helm calls this program back.
pub(crate) const POSTRENDER: &str = "postrender";

/// What charts are installed by.
pub(crate) fn installer(flag: Option<&Path>) -> HelmProgram {
    HelmProgram {
        program: program(flag),
        renderer: (environment::own_program(), vec![POSTRENDER.into()]),
    }
}
