//! The exchange between the journal beside a fleet's file and the object in its hub, until both say the same.

use anyhow::anyhow;
use fleet::{FleetJournal, FleetProgress};
use importer::HubError;
use tokio::time::timeout;

use super::{EXCHANGE, FleetHub};
use crate::environment;
use crate::failure::Failure;

/// How often an exchange is tried while somebody else is quicker.
const ATTEMPTS: usize = 5;

/// Whether what was read was still so when it was to be written.
#[derive(PartialEq, Eq)]
enum Exchanged {
    Yes,
    No,
}

impl FleetHub<'_> {
    /// Makes the journal and the object one, and says in the object how far the fleet is. A decision that was made before
    /// is made again where the object has news, so that it is later than those.
    pub(super) async fn exchange(
        &self,
        progress: Option<&FleetProgress>,
        decide: impl Fn(&mut FleetJournal),
    ) -> Result<(), Failure> {
        let exchange = async {
            for _ in 0..ATTEMPTS {
                if self.exchange_once(progress, &decide).await? == Exchanged::Yes {
                    return Ok(());
                }
            }
            let busy = anyhow!("other processes keep changing the object");
            Err(self.named(Failure::unknown(busy)))
        };
        let exchanged = timeout(EXCHANGE, exchange).await;
        exchanged.unwrap_or_else(|_| Err(self.late()))
    }

    async fn exchange_once(
        &self,
        progress: Option<&FleetProgress>,
        decide: impl Fn(&mut FleetJournal),
    ) -> Result<Exchanged, Failure> {
        let held = self.read().await.map_err(|it| self.failed(it))?;
        let now = environment::now().map_err(Failure::unknown)?;
        let theirs = held.journal.clone();
        let merge = |ours: &mut FleetJournal| {
            if let Some(theirs) = theirs.clone() {
                ours.merge(theirs, now);
            }
        };
        // The hub keeps what it has of waves that this file does not have.
        let mut journal = self.journal.change(|ours| {
            let before = ours.clone();
            merge(ours);
            if *ours != before {
                decide(ours);
            }
        })?;
        merge(&mut journal);
        let exchanged = async {
            let hub = self.reached().await?;
            let held = hub.decide(held, &journal).await?;
            if let Some(progress) = progress {
                let status = progress.status(&held.conditions(), held.generation(), now);
                hub.tell(&held, &status).await?;
            }
            Ok(())
        };
        match exchanged.await {
            Ok(()) => Ok(Exchanged::Yes),
            Err(HubError::Changed(_)) => Ok(Exchanged::No),
            Err(error) => Err(self.failed(error)),
        }
    }
}
