//! Where the `helm` program is, and what it is given.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use importer::HelmProgram;
use tokio::sync::Semaphore;

use crate::environment;

/// The one that a flag names, else the one that `HELM` names, else the first on the path.
pub(crate) fn program(flag: Option<&Path>) -> Option<PathBuf> {
    environment::chosen(flag, "HELM", "helm")
}

/// The verb by which Helm calls this program back.
pub(crate) const POSTRENDER: &str = "postrender";

/// One for each processor: sixteen clusters of a fleet may be planned at a time, and each run fills one.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(processors))
});

/// What charts are installed by.
pub(crate) fn installer(flag: Option<&Path>) -> HelmProgram {
    HelmProgram {
        program: program(flag),
        renderer: (environment::own_program(), vec![POSTRENDER.into()]),
        turns: Arc::clone(&TURNS),
    }
}
