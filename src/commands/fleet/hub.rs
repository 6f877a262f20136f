//! The hub of a fleet: a cluster that shows the progress of a rollout and shares decisions. The journal next to the
//! fleet's file is decisive. It is merged with the object in the hub whenever the hub answers, so an unreachable hub
//! delays nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use fleet::{FleetChange, FleetFile, FleetJournal, FleetProgress};
use importer::{HeldRollout, Hub, HubError};
use tokio::sync::OnceCell;
use tokio::sync::watch::Receiver;
use tokio::time::timeout;

use super::journal::JournalFile;
use crate::args::ClusterArguments;
use crate::failure::{self, Failure};
use crate::{cluster, environment, render};

/// The time limit of the hub for one exchange.
const EXCHANGE: Duration = Duration::from_secs(5);

/// The hub of a fleet.
pub(super) struct FleetHub<'a> {
    context: &'a str,
    way: ClusterArguments,
    file: &'a FleetFile,
    journal: JournalFile<'a>,
    reached: OnceCell<Hub>,
}

impl<'a> FleetHub<'a> {
    /// Returns the hub, if the user named one.
    pub(super) fn of(
        context: Option<&'a String>,
        kubeconfig: Option<&PathBuf>,
        file: &'a FleetFile,
        path: &Path,
    ) -> Result<Option<Self>, Failure> {
        let Some(context) = context else {
            return Ok(None);
        };
        Ok(Some(Self {
            context,
            way: ClusterArguments {
                kubeconfig: kubeconfig.cloned(),
                context: Some(context.clone()),
            },
            file,
            journal: JournalFile::of(file, path)?,
            reached: OnceCell::new(),
        }))
    }

    /// Fails if the cluster cannot be the hub of the fleet. Returns a failure inside of `Ok` if the hub does not
    /// answer.
    pub(super) async fn look(&self) -> Result<Option<Failure>, Failure> {
        let Ok(looked) = timeout(EXCHANGE, self.read()).await else {
            return Ok(Some(self.late()));
        };
        match looked {
            Ok(_) => Ok(None),
            Err(error) if error.is_away() => Ok(Some(self.failed(error))),
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn read(&self) -> Result<HeldRollout, HubError> {
        let fleet = &self.file.document().metadata.name;
        self.reached().await?.read(fleet).await
    }

    async fn reached(&self) -> Result<&Hub, HubError> {
        let connect = async || Ok(Hub::new(cluster::connected(&self.way).await?));
        self.reached.get_or_try_init(connect).await
    }

    fn failed(&self, error: HubError) -> Failure {
        self.named(failure::hub(error))
    }

    fn late(&self) -> Failure {
        let seconds = EXCHANGE.as_secs();
        self.named(Failure::unknown(anyhow!(
            "did not answer within {seconds} s"
        )))
    }

    fn named(&self, failure: Failure) -> Failure {
        failure.context(format!("the hub `{}`", self.context))
    }
}

/// The number of attempts of an exchange while other processes change the object.
const ATTEMPTS: usize = 5;

impl FleetHub<'_> {
    /// Merges the journal with the object in the hub, and reports the progress there. If the object had news, a new
    /// decision is made again, so that its time is later than theirs.
    pub(super) async fn exchange(
        &self,
        progress: Option<&FleetProgress>,
        decide: impl Fn(&mut FleetJournal),
    ) -> Result<(), Failure> {
        let exchange = async {
            for _ in 0..ATTEMPTS {
                if self.exchange_once(progress, &decide).await? {
                    return Ok(());
                }
            }
            let busy = anyhow!("other processes keep changing the object");
            Err(self.named(Failure::unknown(busy)))
        };
        let exchanged = timeout(EXCHANGE, exchange).await;
        exchanged.unwrap_or_else(|_| Err(self.late()))
    }

    /// Makes an attempt. Returns false if the object was changed between reading and writing it.
    async fn exchange_once(
        &self,
        progress: Option<&FleetProgress>,
        decide: impl Fn(&mut FleetJournal),
    ) -> Result<bool, Failure> {
        let held = self.read().await.map_err(|error| self.failed(error))?;
        let now = environment::now().map_err(Failure::unknown)?;
        let theirs = held.journal.clone();
        let merge = |ours: &mut FleetJournal| {
            if let Some(theirs) = theirs.clone() {
                ours.merge(theirs, now);
            }
        };
        // The journal drops entries of waves that this file does not have, but the hub keeps them. So merge again for
        // the hub.
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
            Ok(()) => Ok(true),
            Err(HubError::Changed(_)) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// The interval between two exchanges while there is no progress to report. Decisions in the hub, such as a pause, are
/// noticed within this time.
const LOOK: Duration = Duration::from_secs(3);

/// A hub that was queried.
pub(super) struct ObservedHub<'a> {
    hub: FleetHub<'a>,
    /// The reason why the hub does not answer, if it does not.
    away: Option<Failure>,
}

/// Queries the hub, if there is one. A problem of the hub never stops a rollback.
pub(super) async fn inspect_hub(
    hub: Option<FleetHub<'_>>,
    change: FleetChange,
) -> Result<Option<ObservedHub<'_>>, Failure> {
    let Some(hub) = hub else {
        return Ok(None);
    };
    let away = match hub.look().await {
        Err(failure) if change == FleetChange::Rollback => Some(failure),
        looked => looked?,
    };
    Ok(Some(ObservedHub { hub, away }))
}

/// Runs some work on a fleet, and reports the latest progress to the hub meanwhile. If the hub answers, its decisions
/// are known before the work begins. Returns the failure of the last exchange, if it failed.
pub(super) async fn run_with_hub<T>(
    hub: Option<ObservedHub<'_>>,
    progress: Receiver<FleetProgress>,
    work: impl Future<Output = T>,
) -> (T, Option<Failure>) {
    let Some(ObservedHub { hub, away }) = hub else {
        return (work.await, None);
    };
    let first = progress.borrow().clone();
    let behind = match away {
        None => hub.exchange(Some(&first), |_| {}).await.err(),
        away => away,
    };
    futures::join!(work, hub.follow(progress, behind))
}

impl ObservedHub<'_> {
    /// Prints the object that shows the rollout.
    pub(super) fn show(&self) {
        let (context, fleet) = (self.hub.context, &self.hub.file.document().metadata.name);
        render::line!("hub       {context}: SolutionRollout {fleet}");
        if let Some(away) = &self.away {
            render::note!(
                "note: {}; the rollback continues without the hub",
                away.in_one_line()
            );
        }
    }
}

impl FleetHub<'_> {
    async fn follow(
        &self,
        mut progress: Receiver<FleetProgress>,
        mut behind: Option<Failure>,
    ) -> Option<Failure> {
        loop {
            let news = async {
                if behind.is_none() {
                    drop(progress.changed().await);
                } else {
                    // Further progress does not make an unreachable hub be queried more often.
                    drop(progress.wait_for(FleetProgress::has_ended).await);
                }
            };
            drop(timeout(LOOK, news).await);
            let latest = progress.borrow_and_update().clone();
            behind = self.exchange(Some(&latest), |_| {}).await.err();
            if latest.has_ended() {
                return behind;
            }
        }
    }
}
