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
    /// Also share the decision through the hub of this kubeconfig context
    #[arg(long, value_name = "CONTEXT")]
    hub: Option<String>,

    /// The kubeconfig file of the hub [default: the files in `KUBECONFIG`, else ~/.kube/config]
    #[arg(long, value_name = "FILE", requires = "hub")]
    kubeconfig: Option<PathBuf>,
}

impl HubArguments {
    /// Changes the journal of a fleet, and then tells the hub if there is one. Nothing that the hub says or is keeps the
    /// decision from being in force beside the file.
    pub(in crate::commands::fleet) fn decide(
        &self,
        file: &FleetFile,
        path: &Path,
        change: impl Fn(&mut FleetJournal, Decided),
    ) -> Result<FleetJournal, Failure> {
        let (journal, decided) = (JournalFile::of(file, path)?, decided()?);
        let change = |journal: &mut FleetJournal| change(journal, decided.clone());
        let written = journal.change(change)?;
        let hub = FleetHub::of(self.hub.as_ref(), self.kubeconfig.as_ref(), file, path)?;
        let Some(hub) = hub else {
            return Ok(written);
        };
        cluster::block_on(async {
            hub.exchange(None, &change).await.map_err(|failure| {
                let next = failure.next_step();
                let context = "cannot update the hub: the decision is stored only in the journal next to the fleet's file";
                let hint = format!(
                    "{next}; then run the same command again, or run `solution fleet apply` with `--hub`"
                );
                failure.context(context).hint(hint)
            })?;
            journal.read()
        })
    }
}
