//! What somebody decides of a fleet, beside its file and in its hub.

use std::path::{Path, PathBuf};

use clap::Args;
use fleet::{Decided, FleetFile, FleetJournal};

use super::super::journal::{JournalFile, decided};
use super::FleetHub;
use crate::cluster;
use crate::failure::Failure;

/// Which cluster is the hub.
#[derive(Args, Debug)]
pub(in crate::commands::fleet) struct HubArguments {
    /// Share it by the hub of this context of the kubeconfig, too
    #[arg(long, value_name = "CONTEXT")]
    hub: Option<String>,

    /// The kubeconfig file of the hub [default: the files in KUBECONFIG, else ~/.kube/config]
    #[arg(long, value_name = "FILE", requires = "hub")]
    kubeconfig: Option<PathBuf>,
}

impl HubArguments {
    /// Changes the journal of a fleet, and tells the hub if there is one.
    pub(in crate::commands::fleet) fn decide(
        &self,
        file: &FleetFile,
        path: &Path,
        change: impl FnOnce(&mut FleetJournal, Decided),
    ) -> Result<FleetJournal, Failure> {
        let (journal, decided) = (JournalFile::of(file, path)?, decided()?);
        let change = |it: &mut FleetJournal| change(it, decided);
        let hub = FleetHub::of(self.hub.as_ref(), self.kubeconfig.as_ref(), file, path)?;
        let Some(hub) = hub else {
            return journal.change(change);
        };
        cluster::block_on(async {
            // What is there is known before, so that what is decided now is later.
            let away = match hub.look().await? {
                None => hub.exchange(None).await.err(),
                away => away,
            };
            let decided = journal.change(change)?;
            let untold = match away {
                None => hub.exchange(None).await.err(),
                away => away,
            };
            let context = "it is decided beside the file, and the hub does not know it";
            let hint = "run the same command again; the next `apply` with `--hub` tells it, too";
            untold.map_or(Ok(decided), |it| Err(it.context(context).hint(hint)))
        })
    }
}
