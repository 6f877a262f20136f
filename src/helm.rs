//! Where the `helm` program is.

use std::path::{Path, PathBuf};

use crate::environment;

/// The one that a flag names, else the one that `HELM` names, else the first on the path.
pub(crate) fn program(flag: Option<&Path>) -> Option<PathBuf> {
    let flag = flag.map(Path::to_owned);
    flag.or_else(|| environment::path("HELM"))
        .or_else(|| environment::program("helm"))
}
