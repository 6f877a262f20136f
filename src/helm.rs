//! The `helm` program: which one runs, and with which variables. The number of concurrent runs is limited for the whole
//! process.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use files::ownership;
use importer::HelmProgram;
use tokio::sync::Semaphore;

use crate::environment;

/// The Helm of the packages, in their directory.
const PACKAGED: &str = "libexec/solution/helm";

/// Returns the program that a flag names, else the one that `HELM` names, else the one of the packages, else the first
/// on the path.
pub(crate) fn program(flag: Option<&Path>) -> Option<PathBuf> {
    let named = flag
        .map(Path::to_owned)
        .or_else(|| environment::path("HELM"));
    let packaged = || packaged(&environment::own_program());
    named
        .or_else(packaged)
        .or_else(|| environment::program("helm"))
}

/// Returns the Helm that was installed with `solution`. A file that a third user can write is not started without being
/// named.
fn packaged(solution: &Path) -> Option<PathBuf> {
    let owner = solution.metadata().ok()?.uid();
    let mut places = environment::installed(solution, PACKAGED).into_iter();
    places.find(|file| {
        let found = file.symlink_metadata().ok().filter(Metadata::is_file);
        found.is_some_and(|facts| {
            ownership::exposure(facts.uid(), facts.mode(), &[0, owner]).is_none()
        })
    })
}

/// The verb by which Helm calls this program back.
pub(crate) const POSTRENDER: &str = "postrender";

/// The limit of concurrent Helm runs, one for each processor. Up to sixteen clusters of a fleet are planned at a time,
/// and each run can use a whole processor.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(processors))
});

/// Returns the program that installs charts.
pub(crate) fn installer(flag: Option<&Path>) -> HelmProgram {
    HelmProgram {
        program: program(flag),
        renderer: (environment::own_program(), vec![POSTRENDER.into()]),
        turns: Arc::clone(&TURNS),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Writes an executable file.
    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        set_mode(path, 0o755);
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn helm_is_found_below_the_prefix_of_an_installed_program_and_next_to_an_unpacked_one() {
        let directory = tempfile::tempdir().unwrap();
        let solution = directory.path().join("usr/bin/solution");
        write(&solution);
        assert_eq!(packaged(&solution), None);
        let unpacked = directory.path().join("usr/bin").join(PACKAGED);
        write(&unpacked);
        assert_eq!(packaged(&solution), Some(unpacked));
        let installed = directory.path().join("usr").join(PACKAGED);
        write(&installed);
        assert_eq!(packaged(&solution), Some(installed));
    }

    #[test]
    fn a_packaged_helm_that_other_users_can_write_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let solution = directory.path().join("bin/solution");
        let helm = directory.path().join(PACKAGED);
        write(&solution);
        write(&helm);
        for mode in [0o775, 0o757] {
            set_mode(&helm, mode);
            assert_eq!(packaged(&solution), None, "{mode:o}");
        }
        set_mode(&helm, 0o755);
        assert_eq!(packaged(&solution), Some(helm.clone()));
        let elsewhere = directory.path().join("helm");
        fs::rename(&helm, &elsewhere).unwrap();
        symlink(&elsewhere, &helm).unwrap();
        assert_eq!(packaged(&solution), None, "a link");
    }
}
