//! The history of changes to a cluster, read from their receipts, and the search for a version to roll back to.
//! [`history()`] lists changes, [`way_back`] finds the target of a rollback in one environment, and
//! [`way_back_of_fleet`] finds the one that undoes the changes of a fleet's revision.

use kubernetes::Cluster;
use schemars::JsonSchema;
use schemas::{
    EnvironmentName, KeyId, KubernetesName, Namespace, SolutionName, StatementTime, Version,
};
use serde::Serialize;

use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::parameters::{AskedParameters, ChosenBefore, ParameterValues, SecretNumber};
use crate::model::request::{Goal, PullLogin, Target};
use crate::records::namespace_record::NamespaceRecord;
use crate::records::receipt::{ChangeReceipt, Outcome, Revision, Transition, VersionRun};
use crate::records::receipts::{ReceiptEnvelope, ReceiptSignature, Receipts, RevisionGap};
use crate::records::state::ClusterState;
use crate::records::storage::identity;

/// The history of a cluster.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct History {
    /// The changes, the newest first.
    pub revisions: Vec<KnownChange>,
    /// Receipts that cannot be read: of a later program, or damaged.
    pub unreadable: Vec<String>,
    /// Of all receipts those that are not any more as the next one names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 1)))]
    pub changed: Vec<Revision>,
    /// Receipts that were removed, as far as the remaining ones show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<RevisionGap>,
    /// Receipts that name another cluster and were copied here.
    // Empty if this user may not read the cluster's identity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 1)))]
    pub foreign: Vec<Revision>,
}

impl History {
    /// Returns true if every change has a valid signature, and no receipt is known to be missing.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        let mut signatures = self.revisions.iter().map(|change| change.signature);
        signatures.all(|signature| signature == ReceiptSignature::Valid)
            && self.unreadable.is_empty()
            && self.changed.is_empty()
            && self.missing.is_empty()
            && self.foreign.is_empty()
    }
}

/// A change, and who signed its receipt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ShownChange")]
pub struct KnownChange {
    /// The receipt.
    #[serde(flatten)]
    pub receipt: ChangeReceipt,
    /// The envelope of the receipt.
    #[serde(skip)]
    pub sealed: ReceiptEnvelope,
    /// The state of its receipt's signature.
    pub signature: ReceiptSignature,
    /// The keys that made the signature, if it is valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signed_by: Vec<KeyId>,
}

impl KnownChange {
    /// Returns a change whose signature is not verified.
    #[must_use]
    pub fn unverified(receipt: ChangeReceipt, sealed: ReceiptEnvelope) -> Self {
        let signature = match &sealed {
            ReceiptEnvelope::No => ReceiptSignature::None,
            ReceiptEnvelope::Yes(_) => ReceiptSignature::Unchecked,
            ReceiptEnvelope::Otherwise => ReceiptSignature::Invalid,
        };
        Self {
            receipt,
            sealed,
            signature,
            signed_by: Vec::new(),
        }
    }
}

/// A filter for changes. A change matches if every field that is set matches.
#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// The Solution of the changes.
    pub solution: Option<SolutionName>,
    /// The environment of the changes.
    pub environment: Option<EnvironmentName>,
    /// The namespace of the changes.
    pub namespace: Option<Namespace>,
    /// The largest number of changes, the newest first.
    pub limit: Option<usize>,
}

impl ChangeFilter {
    fn is(&self, receipt: &ChangeReceipt) -> bool {
        let subject = &receipt.subject;
        let here = |place: &Transition| {
            let environment = self.environment.as_ref();
            let namespace = self.namespace.as_ref();
            environment.is_none_or(|wanted| *wanted == place.environment)
                && namespace.is_none_or(|wanted| *wanted == place.namespace)
        };
        let anywhere = self.environment.is_none() && self.namespace.is_none();
        let solution = self.solution.as_ref();
        solution.is_none_or(|name| subject.solution.as_ref() == Some(name))
            && (anywhere || subject.places.iter().any(here))
    }
}

/// Returns the changes to a cluster that match a filter.
pub async fn history(cluster: &Cluster, wanted: &ChangeFilter) -> Result<History, Error> {
    let receipts = Receipts::read(cluster).await?;
    let here = identity(cluster).await?;
    let found = receipts
        .all
        .iter()
        .rev()
        .filter(|receipt| wanted.is(receipt));
    let found = found.take(wanted.limit.unwrap_or(usize::MAX));
    let known = |receipt: &ChangeReceipt| {
        KnownChange::unverified(receipt.clone(), receipts.sealed(receipt.revision))
    };
    Ok(History {
        revisions: found.map(known).collect(),
        changed: receipts.changed(),
        missing: receipts.missing(),
        foreign: receipts.foreign(here.as_ref()),
        unreadable: receipts.unreadable,
    })
}

/// A version that ran in a namespace and can be deployed there again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayBack {
    /// The version.
    pub version: Version,
    /// The namespace.
    pub namespace: Namespace,
    /// The pull secret that nodes used.
    pub pull_secret: Option<KubernetesName>,
    /// The chosen values of parameters, except sensitive ones.
    pub parameters: ParameterValues,
    /// The number of the Secret with the sensitive values. `None` if that Secret was removed since.
    pub secret: Option<SecretNumber>,
    /// The receipt from which this is known.
    pub known: ReceiptPosition,
}

/// The receipt from which it is known that a version ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptPosition {
    /// The version ran until this change.
    Before(Revision),
    /// This change deployed the version.
    By(Revision),
}

/// The target of a rollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollbackTarget {
    /// The deployment before the current one, which may be the same version with other choices.
    Before,
    /// The deployment that a change created.
    Revision(Revision),
}

/// Finds the target of a rollback in an environment: the deployment that a change created, or the deployment that
/// preceded the current one.
///
/// # Errors
///
/// A [`Blocker`] if no receipt names such a deployment, or if its archive is no longer the imported one.
pub async fn way_back(
    cluster: &Cluster,
    solution: &SolutionName,
    environment: &EnvironmentName,
    namespace: Option<&Namespace>,
    to: &RollbackTarget,
) -> Result<WayBack, Error> {
    let state = ClusterState::read(cluster).await?;
    let namespace = only_namespace(&state, environment, namespace)?;
    let receipts = Receipts::read(cluster).await?;
    let (ran, known) = match to {
        RollbackTarget::Revision(revision) => brought(&receipts, solution, &namespace, *revision)?,
        RollbackTarget::Before => {
            let now = state
                .deployed(&namespace, solution)
                .map(|deployed| VersionRun::from_deployed(&state, solution, deployed));
            before(&receipts, solution, &namespace, unlike(now.as_ref()))?
        }
    };
    check_imported(&state, solution, ran)?;
    Ok(WayBack::new(&receipts, solution, namespace, ran, known))
}

/// The changes that one revision of a fleet made.
#[derive(Clone, Copy, Debug)]
pub struct ChangesOfFleet<'a> {
    /// The name of the fleet.
    pub fleet: &'a KubernetesName,
    /// The revision.
    pub revision: StatementTime,
}

impl ChangesOfFleet<'_> {
    fn include(&self, receipt: &ChangeReceipt) -> bool {
        receipt.origin.fleet.as_ref() == Some(self.fleet)
            && receipt.subject.fleet_revision == Some(self.revision)
    }
}

/// The reason why the rollback of a fleet's revision skips a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// The revision did not change it.
    NotChanged,
    /// No version is deployed.
    NotDeployed,
    /// The running version is not the one that the revision deployed: the change failed or was rolled back, or another
    /// administrator changed the deployment since.
    Other {
        /// The version that runs.
        running: Version,
        /// The version that the revision deployed.
        deployed: Version,
    },
    /// No version ran before the one that the revision deployed.
    First {
        /// The version that the revision deployed.
        deployed: Version,
    },
    /// The same version ran before, with other values. A receipt has only a digest of the values that a fleet chose.
    Values,
}

/// Finds the rollback target in an environment that undoes the changes of a fleet's revision and no other changes.
/// Returns the reason for skipping the deployment if there is none.
pub async fn way_back_of_fleet(
    cluster: &Cluster,
    solution: &SolutionName,
    environment: &EnvironmentName,
    changes: ChangesOfFleet<'_>,
) -> Result<Result<WayBack, SkipReason>, Error> {
    let state = ClusterState::read(cluster).await?;
    if state.environment(environment).next().is_none() {
        return Ok(Err(SkipReason::NotDeployed));
    }
    let namespace = only_namespace(&state, environment, None)?;
    let Some(running) = state.deployed(&namespace, solution) else {
        return Ok(Err(SkipReason::NotDeployed));
    };
    let receipts = Receipts::read(cluster).await?;
    let running = &running.version;
    Ok(
        match before_revision(&receipts, solution, &namespace, running, changes) {
            Err(skipped) => Err(skipped),
            Ok((ran, known)) => {
                check_imported(&state, solution, ran)?;
                Ok(WayBack::new(&receipts, solution, namespace, ran, known))
            }
        },
    )
}

impl WayBack {
    /// Returns the goal to run the version in its environment again. Values that a fleet sets are kept.
    #[must_use]
    pub fn goal(self, environment: &EnvironmentName) -> Goal {
        let secret = self.pull_secret;
        Goal::Deployed(Target {
            environment: environment.clone(),
            namespace: Some(self.namespace),
            pull_login: secret.map_or(PullLogin::None, PullLogin::Secret),
            parameters: Box::new(AskedParameters {
                before: ChosenBefore::As {
                    values: self.parameters,
                    secret: self.secret,
                },
                ..AskedParameters::default()
            }),
            fleet: None,
        })
    }

    fn new(
        receipts: &Receipts,
        solution: &SolutionName,
        namespace: Namespace,
        ran: &VersionRun,
        known: ReceiptPosition,
    ) -> Self {
        let is_gone = was_undeployed(receipts, solution, &namespace, known);
        Self {
            version: ran.version.clone(),
            pull_secret: ran.pull_secret.clone(),
            parameters: ran.parameters.clone(),
            secret: ran.secret.filter(|_| !is_gone),
            namespace,
            known,
        }
    }
}

/// Returns the named namespace, or the only one of the environment if none is named.
fn only_namespace(
    state: &ClusterState,
    environment: &EnvironmentName,
    named: Option<&Namespace>,
) -> Result<Namespace, Blocker> {
    let spaces: Vec<&NamespaceRecord> = state.environment(environment).collect();
    match (named, spaces.as_slice()) {
        (_, []) => Err(Blocker::NoEnvironment {
            environment: environment.clone(),
        }),
        (Some(named), _) => Ok(named.clone()),
        (None, [only]) => Ok(only.namespace.clone()),
        (None, several) => {
            let all = several.iter().map(|space| space.namespace.clone());
            Err(Blocker::SeveralNamespaces {
                environment: environment.clone(),
                namespaces: all.collect(),
            })
        }
    }
}

/// Returns a predicate for deployments that differ from the current one.
fn unlike(now: Option<&VersionRun>) -> impl Fn(&VersionRun) -> bool {
    move |from| now.is_none_or(|now| !now.is_like(from))
}

/// Returns the previous deployment: the newest one that a change started from and that `is_other` accepts.
fn before<'a>(
    receipts: &'a Receipts,
    solution: &SolutionName,
    namespace: &Namespace,
    is_other: impl Fn(&VersionRun) -> bool,
) -> Result<(&'a VersionRun, ReceiptPosition), Blocker> {
    let ran = |receipt: &'a ChangeReceipt| {
        let from = receipt.place(solution, namespace)?.from.as_ref()?;
        is_other(from).then_some((from, ReceiptPosition::Before(receipt.revision)))
    };
    let found = receipts.all.iter().rev().find_map(ran);
    found.ok_or_else(|| Blocker::NothingBefore {
        solution: solution.clone(),
        namespace: namespace.clone(),
    })
}

/// Returns the deployment before a fleet's revision changed a namespace that runs this version now. Multiple runs of
/// the revision may have changed it in sequence, and other administrators may have changed values in between.
fn before_revision<'a>(
    receipts: &'a Receipts,
    solution: &SolutionName,
    namespace: &Namespace,
    running: &Version,
    changes: ChangesOfFleet<'_>,
) -> Result<(&'a VersionRun, ReceiptPosition), SkipReason> {
    let all = receipts.all.iter().rev();
    let mut here = all
        .filter_map(|receipt| Some((receipt, receipt.place(solution, namespace)?)))
        .skip_while(|(receipt, _)| !changes.include(receipt));
    let (newest, place) = here.next().ok_or(SkipReason::NotChanged)?;
    let to = place.to.as_ref().ok_or(SkipReason::NotChanged)?;
    if to.version != *running {
        return Err(SkipReason::Other {
            running: running.clone(),
            deployed: to.version.clone(),
        });
    }
    let version = |ran: &Option<VersionRun>| ran.as_ref().map(|ran| ran.version.clone());
    let keeps_version =
        |place: &Transition| place.from.is_some() && version(&place.from) == version(&place.to);
    let (mut revision, mut from) = (newest.revision, &place.from);
    for (receipt, place) in here {
        // A change of another origin that keeps the version is skipped. One that changes the version ends the search,
        // since only the changes of this revision are undone.
        if changes.include(receipt) {
            (revision, from) = (receipt.revision, &place.from);
        } else if !keeps_version(place) {
            break;
        }
    }
    match from {
        None => Err(SkipReason::First {
            deployed: to.version.clone(),
        }),
        Some(from) if from.version == to.version => Err(SkipReason::Values),
        Some(from) => Ok((from, ReceiptPosition::Before(revision))),
    }
}

/// Checks whether a Solution was undeployed since. Its Secrets were removed with it, and the next ones have the same
/// numbers.
fn was_undeployed(
    receipts: &Receipts,
    solution: &SolutionName,
    namespace: &Namespace,
    known: ReceiptPosition,
) -> bool {
    let since = match known {
        ReceiptPosition::Before(revision) => revision,
        // The change that deployed the version does not count itself.
        ReceiptPosition::By(revision) => revision + 1,
    };
    let later = receipts
        .all
        .iter()
        .filter(|receipt| receipt.revision >= since);
    let mut places = later.filter_map(|receipt| receipt.place(solution, namespace));
    places.any(|place| place.to.is_none())
}

/// Returns the deployment that a change created.
fn brought<'a>(
    receipts: &'a Receipts,
    solution: &SolutionName,
    namespace: &Namespace,
    revision: Revision,
) -> Result<(&'a VersionRun, ReceiptPosition), Blocker> {
    let mut all = receipts.all.iter();
    let receipt = all
        .find(|receipt| receipt.revision == revision)
        .ok_or(Blocker::NoRevision { revision })?;
    let place = receipt.place(solution, namespace);
    let Some(to) = place.and_then(|place| place.to.as_ref()) else {
        return Err(Blocker::OtherRevision {
            revision,
            solution: solution.clone(),
            namespace: namespace.clone(),
        });
    };
    if receipt.outcome != Outcome::Done {
        return Err(Blocker::RevisionFailed {
            revision,
            solution: solution.clone(),
            version: to.version.clone(),
        });
    }
    Ok((to, ReceiptPosition::By(revision)))
}

/// Checks that the version is imported, and from the same archive that was deployed.
fn check_imported(
    state: &ClusterState,
    solution: &SolutionName,
    ran: &VersionRun,
) -> Result<(), Blocker> {
    let Some(record) = state.record(solution, &ran.version) else {
        return Err(Blocker::NotImported {
            solution: solution.clone(),
            version: ran.version.clone(),
        });
    };
    match ran.archive_id {
        Some(archive_id) if archive_id != record.archive_id => Err(Blocker::ImportedAnew {
            solution_id: record.id(),
            ran: archive_id,
            imported: record.archive_id,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::receipt::tests::{ran, receipt, receipts};
    use crate::records::record::tests::record;
    use store::Record;

    fn back(receipts: &Receipts, now: Option<&str>) -> Result<(String, ReceiptPosition), Blocker> {
        let (shop, prod) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let now = now.map(ran);
        let (ran, known) = before(receipts, &shop, &prod, unlike(now.as_ref()))?;
        Ok((ran.version.to_string(), known))
    }

    #[test]
    fn what_ran_before_is_what_the_last_other_change_began_with() {
        let [old, new] = ["1.0.0", "1.1.0"].map(|version| Some(ran(version)));
        let failed = || Outcome::RolledBack("why".to_owned());
        let before_revision =
            |version: &str, revision| Ok((version.to_owned(), ReceiptPosition::Before(revision)));
        let mut all = vec![
            receipt(1, [None, old.clone()], Outcome::Done),
            receipt(2, [old.clone(), new.clone()], Outcome::Done),
        ];
        assert_eq!(
            back(&receipts(&all), Some("1.1.0")),
            before_revision("1.0.0", 2)
        );
        // Deploying the same version again and a version that did not become ready do not change the result.
        all.push(receipt(3, [new.clone(), new.clone()], Outcome::Done));
        all.push(receipt(4, [new.clone(), Some(ran("1.2.0"))], failed()));
        assert_eq!(
            back(&receipts(&all), Some("1.1.0")),
            before_revision("1.0.0", 2)
        );
        // An upgrade that was killed after it had written the record of the running version.
        all.push(receipt(
            5,
            [new.clone(), Some(ran("1.2.0"))],
            Outcome::Begun,
        ));
        assert_eq!(
            back(&receipts(&all), Some("1.2.0")),
            before_revision("1.1.0", 5)
        );
        all.pop();
        // A rollback, and an operator that was undeployed.
        all.push(receipt(5, [new.clone(), old], Outcome::Done));
        assert_eq!(
            back(&receipts(&all), Some("1.0.0")),
            before_revision("1.1.0", 5)
        );
        all.push(receipt(6, [new, None], Outcome::Done));
        assert_eq!(back(&receipts(&all), None), before_revision("1.1.0", 6));
    }

    /// Returns a receipt of the fleet `shops`, with the revision that it belongs to, if any.
    fn of_fleet(
        number: Revision,
        revision: Option<StatementTime>,
        versions: [Option<&str>; 2],
    ) -> ChangeReceipt {
        let mut receipt = receipt(
            number,
            versions.map(|version| version.map(ran)),
            Outcome::Done,
        );
        receipt.origin.fleet = Some("shops".parse().unwrap());
        receipt.subject.fleet_revision = revision;
        receipt
    }

    fn back_before(
        all: &[ChangeReceipt],
        revision: StatementTime,
        running: &str,
    ) -> Result<(String, ReceiptPosition), SkipReason> {
        let (shop, prod) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let fleet = &"shops".parse().unwrap();
        let changes = ChangesOfFleet { fleet, revision };
        let all = receipts(all);
        let found = before_revision(&all, &shop, &prod, &running.parse().unwrap(), changes);
        found.map(|(ran, known)| (ran.version.to_string(), known))
    }

    #[test]
    fn the_rollback_of_a_revision_takes_back_its_changes_and_no_others() {
        let [first, second] =
            [1, 2].map(|at| StatementTime::from_unix(1_700_000_000 + at).unwrap());
        let mut all = vec![
            of_fleet(1, Some(first), [None, Some("1.0.0")]),
            of_fleet(2, Some(second), [Some("1.0.0"), Some("1.1.0")]),
        ];
        let to =
            |version: &str, revision| Ok((version.to_owned(), ReceiptPosition::Before(revision)));
        assert_eq!(back_before(&all, second, "1.1.0"), to("1.0.0", 2));
        let other = |running: &str, deployed: &str| {
            let [running, deployed] = [running, deployed].map(|version| version.parse().unwrap());
            Err(SkipReason::Other { running, deployed })
        };
        assert_eq!(back_before(&all, first, "1.1.0"), other("1.1.0", "1.0.0"));
        assert_eq!(
            back_before(&all[..1], second, "1.0.0"),
            Err(SkipReason::NotChanged)
        );
        let deployed = || "1.0.0".parse().unwrap();
        let no_earlier = Err(SkipReason::First {
            deployed: deployed(),
        });
        assert_eq!(back_before(&all[..1], first, "1.0.0"), no_earlier);

        // Another fleet may have started a revision in the same second.
        let mut foreign = all.clone();
        foreign[1].origin.fleet = Some("carts".parse().unwrap());
        assert_eq!(
            back_before(&foreign, second, "1.1.0"),
            Err(SkipReason::NotChanged)
        );

        // A revision that was rolled back is not rolled back further, and it can be deployed again.
        all.push(of_fleet(3, None, [Some("1.1.0"), Some("1.0.0")]));
        assert_eq!(back_before(&all, second, "1.0.0"), other("1.0.0", "1.1.0"));
        all.push(of_fleet(4, Some(second), [Some("1.0.0"), Some("1.1.0")]));
        assert_eq!(back_before(&all, second, "1.1.0"), to("1.0.0", 4));

        // Another administrator deploys a version in between.
        all.push(of_fleet(5, None, [Some("1.1.0"), Some("1.0.5")]));
        all.push(of_fleet(6, Some(second), [Some("1.0.5"), Some("1.1.0")]));
        assert_eq!(back_before(&all, second, "1.1.0"), to("1.0.5", 6));
    }

    #[test]
    fn runs_of_one_revision_and_other_values_in_between_are_taken_back_as_one() {
        let [first, second] =
            [1, 2].map(|at| StatementTime::from_unix(1_700_000_000 + at).unwrap());
        let mut failed = of_fleet(2, Some(second), [Some("1.0.0"), Some("1.1.0")]);
        failed.outcome = Outcome::RolledBack("not ready".to_owned());
        let all = [
            of_fleet(1, Some(first), [None, Some("1.0.0")]),
            failed,
            of_fleet(3, Some(second), [Some("1.0.0"), Some("1.1.0")]),
            of_fleet(4, None, [Some("1.1.0"), Some("1.1.0")]),
            of_fleet(5, Some(second), [Some("1.1.0"), Some("1.1.0")]),
        ];
        let back = Ok(("1.0.0".to_owned(), ReceiptPosition::Before(2)));
        for end in 3..=5 {
            assert_eq!(back_before(&all[..end], second, "1.1.0"), back, "{end}");
        }
        // A revision that changes only values.
        let third = StatementTime::from_unix(1_700_000_003).unwrap();
        let values = of_fleet(6, Some(third), [Some("1.1.0"), Some("1.1.0")]);
        let all = [&all[..], &[values]].concat();
        assert_eq!(back_before(&all, third, "1.1.0"), Err(SkipReason::Values));
        assert_eq!(back_before(&all, second, "1.1.0"), back);
    }

    #[test]
    fn without_anything_before_there_is_no_way_back() {
        let first = receipt(1, [None, Some(ran("1.0.0"))], Outcome::Done);
        let nothing = Blocker::NothingBefore {
            solution: "shop".parse().unwrap(),
            namespace: "prod".parse().unwrap(),
        };
        assert_eq!(back(&receipts(&[first]), Some("1.0.0")), Err(nothing));
    }

    #[test]
    fn another_pull_secret_is_another_thing_that_ran() {
        let with = |secret: &str| {
            let pull_secret = Some(secret.parse().unwrap());
            Some(VersionRun {
                pull_secret,
                ..ran("1.0.0")
            })
        };
        let receipts = receipts(&[
            receipt(1, [None, with("a")], Outcome::Done),
            receipt(2, [with("a"), with("b")], Outcome::Done),
        ]);
        let (shop, prod) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let (ran, _) = before(&receipts, &shop, &prod, unlike(with("b").as_ref())).unwrap();
        assert_eq!(Some(ran), with("a").as_ref());
    }

    #[test]
    fn a_secret_counts_until_its_solution_is_undeployed() {
        let with = |secret| {
            Some(VersionRun {
                secret: Some(secret),
                ..ran("1.0.0")
            })
        };
        let all = receipts(&[
            receipt(1, [None, with(1)], Outcome::Done),
            receipt(2, [with(1), with(2)], Outcome::Done),
            receipt(3, [with(2), None], Outcome::Done),
            receipt(4, [None, with(1)], Outcome::Done),
            receipt(5, [with(1), with(2)], Outcome::Done),
        ]);
        let (shop, prod) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        // Other sensitive values count as another deployment.
        let (found, known) = before(&all, &shop, &prod, unlike(with(2).as_ref())).unwrap();
        assert_eq!(
            (Some(found), known),
            (with(1).as_ref(), ReceiptPosition::Before(5))
        );
        let gone = |known| was_undeployed(&all, &shop, &prod, known);
        assert!(!gone(known) && !gone(ReceiptPosition::By(4)));
        assert!(gone(ReceiptPosition::Before(3)) && gone(ReceiptPosition::By(2)));
    }

    #[test]
    fn only_what_a_change_brought_there_is_gone_back_to() {
        let why = || Outcome::Failed("why".to_owned());
        let [old, new] = ["1.0.0", "1.1.0"].map(|version| Some(ran(version)));
        let receipts = receipts(&[
            receipt(1, [None, old.clone()], Outcome::Done),
            receipt(2, [old.clone(), new.clone()], why()),
            receipt(3, [old, None], Outcome::Done),
        ]);
        let of = |solution: &str, namespace: &str, revision| {
            let (solution, namespace) = (solution.parse().unwrap(), namespace.parse().unwrap());
            let found = brought(&receipts, &solution, &namespace, revision);
            found.map(|(ran, known)| (ran.version.to_string(), known))
        };
        assert_eq!(
            of("shop", "prod", 1),
            Ok(("1.0.0".to_owned(), ReceiptPosition::By(1)))
        );
        assert_eq!(
            of("shop", "prod", 9),
            Err(Blocker::NoRevision { revision: 9 })
        );
        let (shop, version) = ("shop".parse().unwrap(), "1.1.0".parse().unwrap());
        let failed = Blocker::RevisionFailed {
            revision: 2,
            solution: shop,
            version,
        };
        assert_eq!(of("shop", "prod", 2), Err(failed));
        for (solution, namespace, revision) in [
            ("shop", "prod", 3),
            ("cart", "prod", 1),
            ("shop", "test", 1),
        ] {
            let other = Blocker::OtherRevision {
                revision,
                solution: solution.parse().unwrap(),
                namespace: namespace.parse().unwrap(),
            };
            assert_eq!(of(solution, namespace, revision), Err(other));
        }
    }

    #[test]
    fn what_ran_must_be_what_is_imported() {
        let shop = "shop".parse().unwrap();
        let check = |records: &[Record], ran: &VersionRun| {
            let state = ClusterState {
                records: records.to_vec(),
                ..ClusterState::default()
            };
            check_imported(&state, &shop, ran)
        };
        let known = record("1.0.0");
        let (version, archive_id) = (known.version.clone(), known.archive_id);
        assert_eq!(check(std::slice::from_ref(&known), &ran("1.0.0")), Ok(()));
        let absent = Blocker::NotImported {
            solution: shop.clone(),
            version,
        };
        assert_eq!(check(&[], &ran("1.0.0")), Err(absent));
        let other = schemas::Digest::new([9; 32]);
        let anew = Record {
            archive_id: other,
            ..known
        };
        let refused = Blocker::ImportedAnew {
            solution_id: "shop-1.0.0".to_owned(),
            ran: archive_id,
            imported: other,
        };
        assert_eq!(check(&[anew], &ran("1.0.0")), Err(refused));
    }

    #[test]
    fn changes_are_chosen_by_solution_and_place() {
        let receipt = receipt(1, [None, Some(ran("1.0.0"))], Outcome::Done);
        let wanted =
            |solution: Option<&str>, environment: Option<&str>, namespace: Option<&str>| {
                let wanted = ChangeFilter {
                    solution: solution.map(|name| name.parse().unwrap()),
                    environment: environment.map(|name| name.parse().unwrap()),
                    namespace: namespace.map(|name| name.parse().unwrap()),
                    limit: None,
                };
                wanted.is(&receipt)
            };
        assert!(wanted(None, None, None));
        assert!(wanted(Some("shop"), Some("prod"), Some("prod")));
        assert!(!wanted(Some("cart"), None, None));
        assert!(!wanted(None, Some("test"), None));
        assert!(!wanted(None, Some("prod"), Some("test")));
    }
}
