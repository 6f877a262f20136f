//! The state of a release that Helm has stored in the cluster ([`StoredRelease`]): its revisions, and the manifests
//! of the newest one. A revision is trusted only if the inventory records it, since any user with write access to
//! Secrets in the namespace can change it.

use helm::stored::{self, SECRET_TYPE};
use helm::{ReleaseStatus, StoredRevision};
use kubernetes::{Cluster, Gvk, Object, Selector};
use planner::{ReleaseEntry, ReleaseState, RevisionEntry, vocabulary as v};
use schemas::{Digest, Namespace, ReleaseName, SolutionName};
use sha2::{Digest as _, Sha256};

use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;

/// Hex digits of an id: 96 bits, so that other revisions with the same id cannot be constructed.
const ID_LENGTH: usize = 24;

/// The stored state of a release.
#[derive(Debug)]
pub(crate) struct StoredRelease {
    /// The newest revision, with its objects.
    pub(crate) newest: StoredRevision,
    /// The Secrets of all revisions, the newest one last.
    secrets: Vec<Object>,
    /// The Solution that installed the release, by the label that Helm stores with it.
    owner: Option<String>,
}

/// A revision, according to the labels of its Secret.
struct RevisionSecret<'a> {
    number: u32,
    status: ReleaseStatus,
    secret: &'a Object,
}

impl StoredRelease {
    /// Reads a release like [`Self::read`], but also returns none if the user may not read it. The missing right is
    /// reported together with the other rights.
    pub(crate) async fn find(
        cluster: &Cluster,
        namespace: &Namespace,
        name: &ReleaseName,
    ) -> Result<Option<Self>, Error> {
        match Self::read(cluster, namespace, name).await {
            Err(Error::Cluster(kubernetes::Error::Forbidden { .. })) => Ok(None),
            other => other,
        }
    }

    /// Reads the state of a release. Returns none if Helm has no release with this name, or only the history of an
    /// uninstalled one.
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
            secrets.iter().filter_map(RevisionSecret::parse).collect();
        revisions.sort_by_key(|revision| revision.number);
        let Some(newest) = revisions.last() else {
            return Ok(None);
        };
        if newest.status == ReleaseStatus::Uninstalled {
            return Ok(None);
        }
        let stored = stored_in(newest.secret)?;
        Ok(Some(Self {
            newest: stored,
            secrets: revisions
                .iter()
                .map(|revision| revision.secret.clone())
                .collect(),
            owner: newest
                .secret
                .labels()
                .get(v::RELEASE_OF)
                .map(|owner| (*owner).to_owned()),
        }))
    }

    /// Checks whether this Solution installed the release, even if other users have changed it since: it has a recorded
    /// revision, or the Solution's label. A release that another user has installed under the same name has neither.
    pub(crate) fn is_of(&self, solution: &SolutionName, known: &[RevisionEntry]) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|secret| is_known(known, secret))
            || self.owner.as_deref() == Some(solution.as_str())
    }

    /// Checks whether the newest revision is recorded. An unrecorded one is either older than the record, or another
    /// user has installed or changed it, which everyone with write access to Secrets in the namespace can do.
    pub(crate) fn is_known(&self, known: &[RevisionEntry]) -> bool {
        let newest = self.secrets.last();
        newest.is_some_and(|secret| is_known(known, secret))
    }

    /// Returns the recorded revisions.
    pub(crate) fn stored(&self, known: &[RevisionEntry]) -> Result<Vec<StoredRevision>, Error> {
        let known = self.secrets.iter().filter(|secret| is_known(known, secret));
        known.map(stored_in).collect()
    }

    /// Returns the newest revision that no Solution has installed; none if none is left.
    pub(crate) fn newest_of_others(&self) -> Result<Option<StoredRevision>, Error> {
        let mut secrets = self.secrets.iter().rev();
        let newest = secrets.find(|secret| !secret.labels().contains_key(v::RELEASE_OF));
        newest.map(stored_in).transpose()
    }

    /// Returns all revisions, to record the release without a change.
    pub(crate) fn as_it_is(&self) -> Vec<RevisionEntry> {
        let revisions = self.secrets.iter().filter_map(RevisionSecret::parse);
        let revisions = revisions.map(|revision| {
            let secret = revision.secret.as_value();
            RevisionEntry::new(revision.number, secret).stored(revision.secret.uid())
        });
        revisions.collect()
    }

    /// Returns the id for accepting the unrecorded state of the release.
    pub(crate) fn id(&self) -> String {
        let all = serde_json::to_vec(&self.as_it_is()).expect("they have a JSON form");
        let mut id = Digest::new(Sha256::digest(all).into()).hex();
        id.truncate(ID_LENGTH);
        id
    }

    /// Returns the blocker for an unrecorded newest revision, with the objects in it. It applies until the user accepts
    /// the revision.
    pub(crate) fn unknown(&self, release: &ReleaseEntry) -> Blocker {
        let newest = &self.newest;
        let named = |text: &str| {
            let objects = manifests::rendered(text.as_bytes()).unwrap_or_default();
            let objects = objects.into_iter().map(|object| {
                let text = |pointer| manifests::text(&object.value, pointer).to_owned();
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
        let hooks = newest.hooks.iter().flat_map(|hook| named(hook));
        sends.extend(hooks.map(|hook| format!("the hook {hook}")));
        ContentBlocker::NotRecorded {
            release: release.to_string(),
            revision: newest.revision,
            sends,
            accept_id: self.id(),
        }
        .into()
    }

    pub(crate) fn state(&self, solution: &SolutionName, known: &[RevisionEntry]) -> ReleaseState {
        ReleaseState {
            revision: self.newest.revision,
            status: self.newest.status,
            deployed: self.deployed(known),
            is_ours: self.is_of(solution, known),
        }
    }

    /// Returns the newest revision with Helm's status `deployed`. If any revision is recorded, only recorded ones
    /// count.
    pub(crate) fn deployed(&self, known: &[RevisionEntry]) -> Option<u32> {
        let counts = |secret: &&Object| known.is_empty() || is_known(known, secret);
        let revisions = self
            .secrets
            .iter()
            .filter(counts)
            .filter_map(RevisionSecret::parse);
        let whole = revisions.filter(|revision| revision.status == ReleaseStatus::Deployed);
        whole.map(|revision| revision.number).max()
    }

    pub(crate) fn revision(&self) -> u32 {
        self.newest.revision
    }

    /// Checks whether the release is in the state of this revision: by the revision itself, or by Helm's rollback to
    /// it.
    pub(crate) fn is_back_at(&self, revision: u32) -> bool {
        self.newest.status == ReleaseStatus::Deployed
            && (self.newest.revision == revision
                || self.newest.description == format!("Rollback to {revision}"))
    }
}

fn is_known(known: &[RevisionEntry], secret: &Object) -> bool {
    known.iter().any(|revision| revision.is(secret.as_value()))
}

fn stored_in(secret: &Object) -> Result<StoredRevision, Error> {
    let data = secret.as_value()["data"][stored::KEY].as_str();
    StoredRevision::read(data.unwrap_or_default())
        .map_err(|source| Error::Release(secret.reference().to_string(), source))
}

impl<'a> RevisionSecret<'a> {
    fn parse(secret: &'a Object) -> Option<Self> {
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
