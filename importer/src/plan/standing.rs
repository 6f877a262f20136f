//! What Helm has stored of a release: its revisions, and what the newest of them sent.

use deployer::{Cluster, Gvk, Object, Selector};
use helm::stored::{self, SECRET_TYPE};
use helm::{ReleaseStatus, Stored};
use schemas::{Namespace, ReleaseName, SolutionName};

use crate::model::error::Error;
use crate::model::vocabulary as v;

/// A release, as it stands.
#[derive(Debug)]
pub(crate) struct StandingRelease {
    /// The newest revision, with its objects.
    pub(crate) newest: Stored,
    /// The newest revision that runs, or did until a run of Helm was cut off; none if there was none yet. One that is
    /// superseded may never have run: Helm says so too of what failed and could not be taken back.
    pub(crate) deployed: Option<u32>,
    /// The Solution that brought it, by the label that Helm keeps with it.
    owner: Option<String>,
}

/// Where a release stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stands {
    /// Its newest revision.
    pub(crate) revision: u32,
    /// How that stands.
    pub(crate) status: ReleaseStatus,
    /// As of [`StandingRelease::deployed`].
    pub(crate) deployed: Option<u32>,
    /// Whether it was made from here.
    pub(crate) is_ours: bool,
}

/// A revision, as the labels of its Secret have it.
struct Revision<'a> {
    number: u32,
    status: ReleaseStatus,
    secret: &'a Object,
}

impl StandingRelease {
    /// As [`Self::read`]; none also where this user may not look. That he may is asked with all other rights.
    pub(crate) async fn look(
        cluster: &Cluster,
        namespace: &Namespace,
        name: &ReleaseName,
    ) -> Result<Option<Self>, Error> {
        match Self::read(cluster, namespace, name).await {
            Err(Error::Cluster(deployer::Error::Forbidden { .. })) => Ok(None),
            other => other,
        }
    }

    /// What stands of a release; none if Helm knows none of this name, or keeps only the history of one that was
    /// uninstalled.
    pub(crate) async fn read(
        cluster: &Cluster,
        namespace: &Namespace,
        name: &ReleaseName,
    ) -> Result<Option<Self>, Error> {
        let selector =
            Selector::label(stored::OWNER.0, stored::OWNER.1).and(stored::NAME, name.as_str());
        let secrets = Gvk::new("v1", "Secret");
        let namespace = Some(namespace.as_str());
        let secrets = cluster.list(&secrets, namespace, Some(&selector)).await?;
        let revisions: Vec<Revision<'_>> = secrets.iter().filter_map(Revision::of).collect();
        let Some(newest) = revisions.iter().max_by_key(|it| it.number) else {
            return Ok(None);
        };
        if newest.status == ReleaseStatus::Uninstalled {
            return Ok(None);
        }
        let data = newest.secret.as_value()["data"][stored::KEY].as_str();
        let stored = Stored::read(data.unwrap_or_default()).map_err(|source| Error::Release {
            object: newest.secret.reference().to_string(),
            source,
        })?;
        let whole = revisions.iter();
        let whole = whole.filter(|it| it.status == ReleaseStatus::Deployed);
        let deployed = whole.map(|it| it.number).max();
        Ok(Some(Self {
            newest: stored,
            deployed,
            owner: newest
                .secret
                .labels()
                .get(v::RELEASE_OF)
                .map(|it| (*it).to_owned()),
        }))
    }

    /// Whether this Solution brought it, whoever has changed it since. One that others have made anew under its name is
    /// theirs.
    pub(crate) fn is_of(&self, solution: &SolutionName) -> bool {
        self.owner.as_deref() == Some(solution.as_str())
    }

    pub(crate) fn stands(&self, solution: &SolutionName) -> Stands {
        Stands {
            revision: self.newest.revision,
            status: self.newest.status,
            deployed: self.deployed,
            is_ours: self.is_of(solution),
        }
    }

    pub(crate) fn revision(&self) -> u32 {
        self.newest.revision
    }

    /// Whether it is what it was in this revision: that one still, or one to which Helm has gone back to it.
    pub(crate) fn is_back_at(&self, revision: u32) -> bool {
        self.newest.status == ReleaseStatus::Deployed
            && (self.newest.revision == revision
                || self.newest.description == format!("Rollback to {revision}"))
    }
}

impl<'a> Revision<'a> {
    fn of(secret: &'a Object) -> Option<Self> {
        if secret.as_value()["type"] != SECRET_TYPE {
            return None;
        }
        let labels = secret.labels();
        Some(Self {
            number: labels.get(stored::VERSION)?.parse().ok()?,
            status: ReleaseStatus::of_label(labels.get(stored::STATUS)?),
            secret,
        })
    }
}
