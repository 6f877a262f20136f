//! Changes of a cluster other than an import. [`Change::make`] decides, takes the Leases, decides again and acts. The
//! second decision is needed because other writers may have changed the cluster before the Leases were held. [`keep`]
//! is the simplest of these changes: it stores a site configuration in the cluster.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use kubernetes::{Cluster, ObjectRef};
use progress::ProgressSink;
use schemars::JsonSchema;
use serde::Serialize;

use crate::apply::journal::WriteLog;
use crate::apply::leased::{Leased, LeasedDecision};
use crate::apply::lock::LeaseCandidate;
use crate::decide::rights::{self, of_change};
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::request::HelmProgram;
use crate::model::writer::{Authority, Verb, Writer};
use crate::objects::needs::Needs;
use crate::records::receipt::ChangeSubject;
use crate::records::site::SiteFile;
use crate::records::state::ClusterState;
use crate::status::site::problems;

/// The context of a change to a cluster: its writer, its listener and its limits.
#[derive(Clone)]
pub struct Change<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The writer that makes the change.
    pub writer: &'a Writer,
    /// The listener for progress events.
    pub tell: ProgressSink<'a, Event>,
    /// The time that objects may take to be deleted.
    pub deadline: Duration,
    /// Whether the change is only decided, and nothing is written.
    pub dry_run: bool,
    /// The program that uninstalls releases of charts.
    pub helm: &'a HelmProgram,
    /// The ids of releases that are uninstalled in their current state, although they differ from the one that was
    /// stored by an import.
    pub accepted: BTreeSet<String>,
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Change by {:?}", self.writer)
    }
}

impl Change<'_> {
    /// Returns the same change as a dry run.
    #[must_use]
    pub fn dry(&self) -> Self {
        Self {
            dry_run: true,
            ..self.clone()
        }
    }

    /// Decides from the state of the cluster and, unless the run is dry, takes the Leases, decides again and acts. The
    /// first decision refuses without a write. If not even the state can be read, it names all missing rights among
    /// `needs`. The second decision includes the changes that other writers have made in the meantime. The receipt
    /// describes the change as `about` derives it from the state before the change. Returns the last decision and the
    /// record of the writes, which a dry run does not have.
    pub(crate) async fn make<T>(
        &self,
        needs: &Needs,
        about: impl Fn(&ClusterState) -> ChangeSubject,
        decide: impl AsyncFn(&ClusterState) -> Result<T, Error>,
        act: impl AsyncFnOnce(&mut Leased<'_>, &mut T) -> Result<(), Error>,
    ) -> Result<(T, Option<WriteLog>), Error> {
        let nothing = async |_: &T| Ok(Vec::new());
        self.make_clearing(needs, about, nothing, decide, act).await
    }

    /// Makes a change in the same way. `clear` removes objects that prevent any Lease from being taken and that the
    /// first decision removes.
    pub(crate) async fn make_clearing<T>(
        &self,
        needs: &Needs,
        about: impl Fn(&ClusterState) -> ChangeSubject,
        clear: impl AsyncFnOnce(&T) -> Result<Vec<ObjectRef>, Error>,
        decide: impl AsyncFn(&ClusterState) -> Result<T, Error>,
        act: impl AsyncFnOnce(&mut Leased<'_>, &mut T) -> Result<(), Error>,
    ) -> Result<(T, Option<WriteLog>), Error> {
        let decide = async |state: ClusterState| {
            let (what, subject) = (decide(&state).await?, about(&state));
            let environments = subject.concerned(&state);
            Ok(LeasedDecision {
                what,
                subject,
                environments,
            })
        };
        let first = decide(rights::state(self.cluster, needs).await?).await?;
        let again = async || decide(ClusterState::read(self.cluster).await?).await;
        self.make_decided(&Authority::Cluster, first, clear, again, act)
            .await
    }

    /// Makes a change whose first decision is known, with the rights of this authority.
    pub(crate) async fn make_decided<T>(
        &self,
        authority: &Authority,
        first: LeasedDecision<T>,
        clear: impl AsyncFnOnce(&T) -> Result<Vec<ObjectRef>, Error>,
        decide: impl AsyncFnOnce() -> Result<LeasedDecision<T>, Error>,
        act: impl AsyncFnOnce(&mut Leased<'_>, &mut T) -> Result<(), Error>,
    ) -> Result<(T, Option<WriteLog>), Error> {
        if self.dry_run {
            return Ok((first.what, None));
        }
        let candidate = LeaseCandidate {
            cluster: self.cluster,
            authority,
            environments: &first.environments,
            writer: self.writer,
            tell: self.tell,
            planned: None,
        };
        let clear = async || clear(&first.what).await;
        let decide = async |_: &Cluster| decide().await;
        let (decided, done) = Leased::run(candidate, clear, decide, act).await?;
        Ok((decided, Some(done)))
    }
}

/// A stored site configuration, or one that would be stored.
#[derive(Clone, Debug)]
pub struct KeptSite {
    /// The difference from the configuration that was stored before.
    pub change: SiteChange,
    /// The blockers about objects that it names and that the cluster does not have.
    pub problems: Vec<Blocker>,
}

/// The change to the file that is stored in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SiteChange {
    /// The stored file is the same.
    Unchanged,
    /// The file was stored for the first time or replaced.
    Changed,
}

/// Stores a site configuration. Deployments do not change until the next plan, which shows its effect.
pub async fn keep(change: &Change<'_>, file: &SiteFile) -> Result<KeptSite, Error> {
    let decide = async |state: &ClusterState| {
        if let Some(environment) = file.environment()
            && state.environment(environment).next().is_none()
        {
            return Err(Blocker::NoEnvironment {
                environment: environment.clone(),
            }
            .into());
        }
        Ok(KeptSite {
            change: if state.site.has(file) {
                SiteChange::Unchanged
            } else {
                SiteChange::Changed
            },
            problems: problems(change.cluster, state, file).await?,
        })
    };
    let act = async |leased: &mut Leased<'_>, kept: &mut KeptSite| match kept.change {
        SiteChange::Unchanged => Ok(()),
        SiteChange::Changed => leased.keep(file.to_object()).await,
    };
    let about = |state: &ClusterState| {
        let environment = file.environment().into_iter();
        let spaces = environment.flat_map(|environment| state.environment(environment));
        ChangeSubject::of_spaces(Verb::SetSite, spaces)
    };
    let (kept, _) = change.make(&of_change(), about, decide, act).await?;
    Ok(kept)
}
