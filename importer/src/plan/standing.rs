//! The records that Helm has stored of a release: its revisions, and the manifests that the newest of them sent.

use change::{ReleaseEntry, RevisionEntry, Stands, vocabulary as v};
use deployer::{Cluster, Gvk, Object, Selector};
use helm::stored::{self, SECRET_TYPE};
use helm::{ReleaseStatus, StoredRevision};
use schemas::{Digest, Namespace, ReleaseName, SolutionName};
use sha2::{Digest as _, Sha256};

use crate::model::error::Error;
use crate::model::obstacle::{Obstacle, Unfit};

/// Hex digits of an id: 96 bits, so that nobody makes other revisions with the same one.
const ID_LENGTH: usize = 24;

/// A release, as it stands.
#[derive(Debug)]
pub(crate) struct StandingRelease {
    /// The newest revision, with its objects.
    pub(crate) newest: StoredRevision,
    /// The Secrets of all of its revisions, the newest one last.
    secrets: Vec<Object>,
    /// The Solution that brought it, by the label that Helm keeps with it.
    owner: Option<String>,
}

/// A revision, as the labels of its Secret have it.
struct RevisionSecret<'a> {
    number: u32,
    status: ReleaseStatus,
    secret: &'a Object,
}

impl StandingRelease {
    /// Does as [`Self::read`]; returns none also where this user may not look. The right to look is asked for with all
    /// other rights.
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

    /// Reads the state of a release; none if Helm knows none of this name, or keeps only the history of one that was
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
        let mut revisions: Vec<RevisionSecret<'_>> =
            secrets.iter().filter_map(RevisionSecret::of).collect();
        revisions.sort_by_key(|it| it.number);
        let Some(newest) = revisions.last() else {
            return Ok(None);
        };
        if newest.status == ReleaseStatus::Uninstalled {
            return Ok(None);
        }
        let stored = stored_in(newest.secret)?;
        Ok(Some(Self {
            newest: stored,
            secrets: revisions.iter().map(|it| it.secret.clone()).collect(),
            owner: newest
                .secret
                .labels()
                .get(v::RELEASE_OF)
                .map(|it| (*it).to_owned()),
        }))
    }

    /// Whether this Solution brought it, whoever has changed it since: it has a revision that is recorded, or says so. One
    /// that others have made anew under its name is theirs.
    pub(crate) fn is_of(&self, solution: &SolutionName, known: &[RevisionEntry]) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|it| is_known(known, it)) || self.owner.as_deref() == Some(solution.as_str())
    }

    /// Whether its newest revision is as it is recorded. Another one is of before there was a record, or somebody else has
    /// made or changed it: whoever may write Secrets in its namespace.
    pub(crate) fn is_known(&self, known: &[RevisionEntry]) -> bool {
        let newest = self.secrets.last();
        newest.is_some_and(|it| is_known(known, it))
    }

    /// The revisions that are as they are recorded.
    pub(crate) fn stored(&self, known: &[RevisionEntry]) -> Result<Vec<StoredRevision>, Error> {
        let known = self.secrets.iter().filter(|it| is_known(known, it));
        known.map(stored_in).collect()
    }

    /// Returns the newest revision that no Solution brought; none if there is none any more.
    pub(crate) fn newest_of_others(&self) -> Result<Option<StoredRevision>, Error> {
        let mut secrets = self.secrets.iter().rev();
        let newest = secrets.find(|it| !it.labels().contains_key(v::RELEASE_OF));
        newest.map(stored_in).transpose()
    }

    /// Returns all of its revisions, to be recorded as they are.
    pub(crate) fn as_it_is(&self) -> Vec<RevisionEntry> {
        let revisions = self.secrets.iter().filter_map(RevisionSecret::of);
        let revisions = revisions.map(|it| {
            let secret = it.secret.as_value();
            RevisionEntry::new(it.number, secret).stored(it.secret.uid())
        });
        revisions.collect()
    }

    /// The id under which it can be taken over as it is.
    pub(crate) fn id(&self) -> String {
        let all = serde_json::to_vec(&self.as_it_is()).expect("they have a JSON form");
        let mut id = Digest::new(Sha256::digest(all).into()).hex();
        id.truncate(ID_LENGTH);
        id
    }

    /// Returns the obstacle that stands as long as nobody has accepted it: that its newest revision is not recorded,
    /// with the objects that it sends.
    pub(crate) fn unknown(&self, release: &ReleaseEntry) -> Obstacle {
        let newest = &self.newest;
        let named = |text: &str| {
            let objects = manifests::rendered(text.as_bytes()).unwrap_or_default();
            let objects = objects.into_iter().map(|it| {
                let text = |pointer| manifests::text(&it.value, pointer).to_owned();
                let space = text("/metadata/namespace");
                let space = if space.is_empty() {
                    space
                } else {
                    format!("{space}/")
                };
                format!("{} {space}{}", text("/kind"), text("/metadata/name"))
            });
            objects.collect::<Vec<_>>()
        };
        let mut sends = named(&newest.manifest);
        let hooks = newest.hooks.iter().flat_map(|it| named(it));
        sends.extend(hooks.map(|it| format!("the hook {it}")));
        Unfit::NotRecorded {
            release: release.to_string(),
            revision: newest.revision,
            sends,
            accept_id: self.id(),
        }
        .into()
    }

    pub(crate) fn stands(&self, solution: &SolutionName, known: &[RevisionEntry]) -> Stands {
        Stands {
            revision: self.newest.revision,
            status: self.newest.status,
            deployed: self.deployed(known),
            is_ours: self.is_of(solution, known),
        }
    }

    /// Returns the revision of [`Stands::deployed`]; only recorded ones count, as long as anything is recorded.
    pub(crate) fn deployed(&self, known: &[RevisionEntry]) -> Option<u32> {
        let counts = |it: &&Object| known.is_empty() || is_known(known, it);
        let revisions = self
            .secrets
            .iter()
            .filter(counts)
            .filter_map(RevisionSecret::of);
        let whole = revisions.filter(|it| it.status == ReleaseStatus::Deployed);
        whole.map(|it| it.number).max()
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

fn is_known(known: &[RevisionEntry], secret: &Object) -> bool {
    known.iter().any(|it| it.is(secret.as_value()))
}

fn stored_in(secret: &Object) -> Result<StoredRevision, Error> {
    let data = secret.as_value()["data"][stored::KEY].as_str();
    StoredRevision::read(data.unwrap_or_default()).map_err(|source| Error::Release {
        object: secret.reference().to_string(),
        source,
    })
}

impl<'a> RevisionSecret<'a> {
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
