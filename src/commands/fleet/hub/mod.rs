//! A hub: a cluster of the administrator's choice that shows a fleet, and shares what was decided of it.
//!
//! The journal beside the fleet's file stays what everything is decided by. It and the object in the hub become one again
//! whenever the hub answers, so that one that is away delays nothing.

pub(super) mod decide;
mod exchange;
pub(super) mod follow;
pub(in crate::commands) mod prepare;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use fleet::FleetFile;
use importer::{HeldRollout, Hub, HubError};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::journal::JournalFile;
use crate::args::ClusterArguments;
use crate::cluster;
use crate::failure::{self, Failure};

/// How long the hub may take for one exchange.
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
    /// Names it, if there is one.
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

    /// Fails if it cannot be the hub of the fleet. Returns why it does not answer, if it does not.
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
