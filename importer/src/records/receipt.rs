//! The receipts of changes to a cluster: one ConfigMap for each, numbered in the order of the changes.
//!
//! Receipts are in the namespace of the records, but without the label of records. The data that a plan reads therefore
//! does not grow with the history. Receipts decide nothing except the target of a rollback.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::Object;
use planner::vocabulary as v;
use schemars::JsonSchema;
use schemas::{
    ClusterUid, Digest, Envelope, EnvironmentName, KubernetesName, Namespace, PayloadType,
    SolutionName, StatementTime, Version, WaveName,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::limits;
use crate::model::error::Error;
use crate::model::parameters::{ParameterValues, SecretNumber};
use crate::model::writer::{Seal, Verb, person};
use crate::records::namespace_record::{DeployedSolution, NamespaceRecord};
use crate::records::state::ClusterState;
use crate::records::storage;

/// The data key of the envelope in a receipt's ConfigMap.
pub(crate) const ENVELOPE: &str = "receipt.dsse.json";
/// The data key of the receipt in its ConfigMap.
pub(crate) const KEY: &str = "receipt.json";
/// The prefix of the ConfigMaps' names. Names of records have other prefixes.
const PREFIX: &str = "receipt-";
/// The version of the schema. It is increased when the meaning of a field changes; receipts of a later version are not
/// read.
const SCHEMA_VERSION: u32 = 1;

/// The number of a change. Changes of a cluster are numbered consecutively.
pub type Revision = u32;

/// A change of a cluster and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeReceipt {
    /// The format of receipts, which differs from the format of results.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// The revision of the change.
    #[schemars(range(min = 1))]
    pub revision: Revision,
    /// The start time.
    pub at: StatementTime,
    /// The origin of the change.
    #[serde(flatten)]
    pub origin: ChangeOrigin,
    /// SHA-256 of the previous receipt, as it was then: the receipt of a running change only says that it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Digest>,
    /// SHA-256 of receipts, by revision, whose changes were running when the next receipt named them and have ended since.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ended_since: BTreeMap<Revision, Digest>,
    /// The subject of the change.
    #[serde(flatten)]
    pub subject: ChangeSubject,
    /// The outcome of the change.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The objects that were created or changed, up to the size limit.
    pub written: Vec<String>,
    /// The objects that were removed, up to the size limit.
    pub removed: Vec<String>,
    /// The number of further objects.
    #[serde(default)]
    pub unnamed: usize,
}

/// The origin of a change: who made it, and in which cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeOrigin {
    /// The user and host that made it, as reported by that machine.
    pub by: String,
    /// The user that made it, as the API server authenticated it; absent if it did not say, and in receipts of earlier
    /// versions of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The UID of the cluster, which is that of its namespace kube-system; absent if the user could not read that
    /// namespace, and in receipts of earlier versions of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<ClusterUid>,
    /// The fleet that the change was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<KubernetesName>,
}

impl ChangeOrigin {
    /// Returns the user for display, with the local user and host.
    #[must_use]
    pub fn person(&self) -> String {
        person(self.user.as_deref(), &self.by)
    }
}

/// The references of a receipt to earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedReceipts {
    pub(crate) previous: Option<Digest>,
    pub(crate) ended_since: BTreeMap<Revision, Digest>,
}

/// The subject of a change, known before the first write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSubject {
    /// The command.
    pub verb: Verb,
    /// The Solution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solution: Option<SolutionName>,
    /// The version of the Solution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The archive of the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_id: Option<Digest>,
    /// The wave of the fleet in which the cluster was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<WaveName>,
    /// The revision of the fleet that the change belongs to, which is the time at which its first run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet_revision: Option<StatementTime>,
    /// The affected namespaces.
    pub places: Vec<Transition>,
}

/// The transition that a change is to make in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Passage")]
pub struct Transition {
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace.
    pub namespace: Namespace,
    /// The previous version of the Solution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<VersionRun>,
    /// The intended version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<VersionRun>,
}

/// A deployed version and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Ran")]
pub struct VersionRun {
    /// The version.
    pub version: Version,
    /// The archive that it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_id: Option<Digest>,
    /// The pull secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<KubernetesName>,
    /// The chosen values of parameters, except sensitive ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: ParameterValues,
    /// The number of the Secret with the sensitive ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub secret: Option<SecretNumber>,
    /// The fleet that chose its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<KubernetesName>,
    /// SHA-256 of the fleet's values, as JSON with sorted keys and without spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet_values: Option<Digest>,
    /// The consent id of the effects outside the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", content = "reason", rename_all = "camelCase")]
pub enum Outcome {
    /// It is running, or was interrupted without a later change.
    Begun,
    /// It was interrupted: the next change found that it had not ended.
    Interrupted,
    /// It was completed.
    Done,
    /// It failed for this reason and is incomplete.
    Failed(String),
    /// The new version did not become ready for this reason and was rolled back.
    RolledBack(String),
}

impl VersionRun {
    /// Returns the running version of a Solution according to the records.
    pub(crate) fn from_deployed(
        state: &ClusterState,
        solution: &SolutionName,
        deployed: &DeployedSolution,
    ) -> Self {
        let record = state.record(solution, &deployed.version);
        Self::from_archive(deployed, record.map(|record| record.archive_id))
    }

    /// Returns the running version, imported from an archive.
    pub(crate) fn from_archive(deployed: &DeployedSolution, archive_id: Option<Digest>) -> Self {
        Self {
            version: deployed.version.clone(),
            archive_id,
            pull_secret: deployed.pull_secret.clone(),
            parameters: deployed.parameters.clone(),
            secret: deployed.secret,
            fleet: deployed
                .fleet
                .as_ref()
                .map(|choices| choices.fleet().clone()),
            fleet_values: deployed.fleet.as_ref().map(|choices| choices.digest()),
            accepted: deployed.accepted.as_ref().map(|consent| consent.id.clone()),
        }
    }

    /// Checks whether the same archive runs with the same choices. The consent is left out, since it follows from the
    /// archive. A fleet's choices are left out too: a receipt only has their digest, so a rollback cannot restore them.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let choices = |ran: &Self| {
            let Self {
                version,
                archive_id,
                pull_secret,
                parameters,
                secret,
                fleet: _,
                fleet_values: _,
                accepted: _,
            } = ran.clone();
            (version, archive_id, pull_secret, parameters, secret)
        };
        choices(self) == choices(other)
    }
}

impl Transition {
    /// Returns a transition without a running version before or after.
    fn through(space: &NamespaceRecord) -> Self {
        Self {
            environment: space.environment.clone(),
            namespace: space.namespace.clone(),
            from: None,
            to: None,
        }
    }

    /// Returns the version that ran before, if the change ends it.
    pub(crate) fn ends(&self) -> Option<&VersionRun> {
        let stays = |from: &&VersionRun| self.to.as_ref().is_some_and(|to| to.is_like(from));
        self.from.as_ref().filter(|from| !stays(from))
    }
}

impl ChangeSubject {
    /// Returns the subject of a change to CRDs or records of a Solution.
    pub(crate) fn of_solution(
        verb: Verb,
        solution: &SolutionName,
        version: Option<&Version>,
        state: &ClusterState,
    ) -> Self {
        let record = version.and_then(|version| state.record(solution, version));
        Self {
            verb,
            solution: Some(solution.clone()),
            version: version.cloned(),
            archive_id: record.map(|record| record.archive_id),
            wave: None,
            fleet_revision: None,
            places: Vec::new(),
        }
    }

    /// Returns the subject of a change that removes the operators of a Solution from these namespaces.
    pub(crate) fn leaving<'a>(
        verb: Verb,
        solution: &SolutionName,
        state: &ClusterState,
        spaces: impl IntoIterator<Item = &'a NamespaceRecord>,
    ) -> Self {
        let leave = |space: &NamespaceRecord| Transition {
            from: space
                .solutions
                .get(solution)
                .map(|deployed| VersionRun::from_deployed(state, solution, deployed)),
            ..Transition::through(space)
        };
        let places: Vec<Transition> = spaces.into_iter().map(leave).collect();
        let mut versions = places.iter().filter_map(|place| place.from.as_ref());
        let first = versions.next().cloned();
        let one = first.filter(|first| versions.all(|other| other.version == first.version));
        Self {
            places,
            ..Self::of_solution(verb, solution, one.as_ref().map(|ran| &ran.version), state)
        }
    }

    /// Returns the environments of the change.
    pub(crate) fn environments(&self) -> BTreeSet<EnvironmentName> {
        self.places
            .iter()
            .map(|place| place.environment.clone())
            .collect()
    }

    /// Returns the environments that must not be changed at the same time: those of the change, or all environments
    /// with the Solution if the change affects it as a whole.
    pub(crate) fn concerned(&self, state: &ClusterState) -> BTreeSet<EnvironmentName> {
        match (&self.solution, self.verb) {
            (Some(solution), Verb::Deactivate | Verb::Unimport | Verb::Delete) => {
                state.environments_with(solution)
            }
            _ => self.environments(),
        }
    }

    /// Returns the subject of a change to the namespaces of an environment.
    pub(crate) fn of_spaces<'a>(
        verb: Verb,
        spaces: impl IntoIterator<Item = &'a NamespaceRecord>,
    ) -> Self {
        Self {
            verb,
            solution: None,
            version: None,
            archive_id: None,
            wave: None,
            fleet_revision: None,
            places: spaces.into_iter().map(Transition::through).collect(),
        }
    }
}

impl ChangeReceipt {
    /// Returns the receipt of a change that begins.
    pub(crate) fn new(
        revision: Revision,
        at: StatementTime,
        origin: ChangeOrigin,
        earlier: NamedReceipts,
        mut subject: ChangeSubject,
    ) -> Self {
        subject.places.truncate(limits::RECEIPT_PLACES);
        Self {
            schema_version: SCHEMA_VERSION,
            revision,
            at,
            origin,
            previous: earlier.previous,
            ended_since: earlier.ended_since,
            subject,
            outcome: Outcome::Begun,
            written: Vec::new(),
            removed: Vec::new(),
            unnamed: 0,
        }
    }

    /// Returns the receipt of the change after its end.
    pub(crate) fn ended(self, outcome: Outcome, written: &[String], removed: &[String]) -> Self {
        let (written, more_written) = first_names(written);
        let (removed, more_removed) = first_names(removed);
        Self {
            outcome,
            written,
            removed,
            unnamed: more_written + more_removed,
            ..self
        }
    }

    /// Returns the number of the previous receipt; `None` for the first.
    pub(crate) fn before(&self) -> Option<Revision> {
        self.revision.checked_sub(1).filter(|before| *before > 0)
    }

    /// Returns the receipt in its state at the beginning of the change.
    pub(crate) fn begun(self) -> Self {
        Self {
            outcome: Outcome::Begun,
            written: Vec::new(),
            removed: Vec::new(),
            unnamed: 0,
            ..self
        }
    }

    /// Returns the receipt in the form that the next change writes if this change has not ended.
    pub(crate) fn interrupted(self) -> Self {
        match self.outcome {
            Outcome::Begun => Self {
                outcome: Outcome::Interrupted,
                ..self
            },
            _ => self,
        }
    }

    /// Returns the receipt's transition of a Solution in a namespace.
    pub(crate) fn place(
        &self,
        solution: &SolutionName,
        namespace: &Namespace,
    ) -> Option<&Transition> {
        let about = self.subject.solution.as_ref() == Some(solution);
        let mut places = self.subject.places.iter().filter(|_| about);
        places.find(|place| place.namespace == *namespace)
    }

    /// Returns the stored text of the receipt.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("a receipt has a JSON form")
    }

    /// Checks whether the change may be incomplete: it is in progress, was interrupted, or failed.
    fn is_incomplete(&self) -> bool {
        match self.outcome {
            Outcome::Begun | Outcome::Interrupted | Outcome::Failed(_) => true,
            Outcome::Done | Outcome::RolledBack(_) => false,
        }
    }

    /// Checks whether a later change that succeeded leaves no incomplete part of this one. It must be for the same
    /// Solution and include every namespace of this one.
    pub(crate) fn is_settled_by(&self, later: &ChangeSubject) -> bool {
        let there = |place: &Transition| {
            let mut places = later.places.iter();
            places.any(|later| later.namespace == place.namespace)
        };
        self.subject.solution == later.solution && self.subject.places.iter().all(there)
    }

    /// Returns the ConfigMap of the receipt, signed if there is a signer, and labelled if the change is incomplete.
    pub(crate) fn to_object(&self, seal: Option<&Seal>) -> Value {
        let mut object = self.to_settled_object(seal);
        if self.is_incomplete() {
            object["metadata"]["labels"][v::INCOMPLETE] = json!("true");
        }
        object
    }

    /// Returns the ConfigMap after another change has settled the incomplete state.
    pub(crate) fn to_settled_object(&self, seal: Option<&Seal>) -> Value {
        let labels = json!({ v::RECEIPT: self.subject.verb });
        let text = self.text();
        let envelope = seal.and_then(|seal| envelope(&text, seal));
        let mut data = json!({ KEY: text });
        if let Some(envelope) = envelope {
            data[ENVELOPE] = json!(envelope);
        }
        storage::config_map(&config_map_name(self.revision), labels, &data)
    }

    /// Returns the ConfigMap to write. It keeps the signature of the existing one if the receipt is the same.
    pub(crate) fn as_signed(receipt: Object, live: Option<&Object>) -> Result<Object, Error> {
        let data = live.map(|live| &live.as_value()["data"]);
        let mut receipt = receipt.into_value();
        if let Some(data) = data.filter(|data| data[KEY] == receipt["data"][KEY]) {
            receipt["data"] = data.clone();
        }
        Ok(Object::new(receipt)?)
    }

    /// Reads a receipt; `None` if this program does not support it.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        let receipt: Self = serde_json::from_slice(bytes).ok()?;
        (receipt.schema_version == SCHEMA_VERSION).then_some(receipt)
    }

    /// Reads a receipt from its ConfigMap; `None` if this program does not support it.
    pub(crate) fn from_object(object: &Object) -> Option<Self> {
        let receipt: Self = storage::parse(object, KEY).ok()?;
        let known = receipt.schema_version == SCHEMA_VERSION;
        (known && numbered(object) == Some(receipt.revision)).then_some(receipt)
    }
}

/// Returns each name once, up to the limit, and the number of further names.
fn first_names(names: &[String]) -> (Vec<String>, usize) {
    let mut seen = BTreeSet::new();
    let once = names.iter().filter(|name| seen.insert(*name));
    let mut once: Vec<String> = once.cloned().collect();
    let more = once.len().saturating_sub(limits::RECEIPT_OBJECTS);
    once.truncate(limits::RECEIPT_OBJECTS);
    (once, more)
}

/// Returns the envelope of a receipt as text; `None` if the receipt is too large for one.
pub(crate) fn envelope(text: &str, seal: &Seal) -> Option<String> {
    let mut envelope = Envelope::unsigned(PayloadType::Receipt, text.as_bytes().to_vec()).ok()?;
    envelope.add(seal(text.as_bytes())).ok()?;
    String::from_utf8(envelope.to_bytes()).ok()
}

/// Returns the name of a receipt's ConfigMap, padded with zeros so that `kubectl get` sorts them.
pub(crate) fn config_map_name(revision: Revision) -> String {
    format!("{PREFIX}{revision:06}")
}

pub(crate) fn numbered(object: &Object) -> Option<Revision> {
    let revision = object.name().strip_prefix(PREFIX)?.parse().ok()?;
    (config_map_name(revision) == object.name()).then_some(revision)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use schemas::{EnvelopeSignature, KeyId};
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::model::layer::tests::choices;
    use crate::records::namespace_record::tests::deployed;
    use crate::records::receipts::Receipts;

    pub(crate) fn ran(version: &str) -> VersionRun {
        VersionRun {
            version: version.parse().unwrap(),
            archive_id: Some(Digest::new([1; 32])),
            pull_secret: None,
            parameters: BTreeMap::new(),
            secret: None,
            fleet: None,
            fleet_values: None,
            accepted: None,
        }
    }

    /// Returns the origin of a change with the local user only.
    fn origin() -> ChangeOrigin {
        ChangeOrigin {
            by: "me@here".to_owned(),
            user: None,
            cluster_uid: None,
            fleet: None,
        }
    }

    /// Returns the receipt of a change to the Solution `shop` in the namespace `prod`.
    pub(crate) fn receipt(
        revision: Revision,
        [from, to]: [Option<VersionRun>; 2],
        outcome: Outcome,
    ) -> ChangeReceipt {
        let subject = ChangeSubject {
            verb: Verb::Deploy,
            solution: Some("shop".parse().unwrap()),
            version: to.as_ref().map(|to| to.version.clone()),
            archive_id: None,
            wave: None,
            fleet_revision: None,
            places: vec![Transition {
                environment: "prod".parse().unwrap(),
                namespace: "prod".parse().unwrap(),
                from,
                to,
            }],
        };
        let begun = ChangeReceipt::new(
            revision,
            StatementTime::DEFAULT,
            origin(),
            NamedReceipts::default(),
            subject,
        );
        begun.ended(outcome, &[], &[])
    }

    fn objects(receipts: &[ChangeReceipt]) -> Vec<Object> {
        let objects = receipts
            .iter()
            .map(|receipt| Object::new(receipt.to_object(None)));
        objects.map(Result::unwrap).collect()
    }

    pub(crate) fn receipts(receipts: &[ChangeReceipt]) -> Receipts {
        Receipts::from_config_maps(&objects(receipts))
    }

    #[test]
    fn a_receipt_comes_back_from_its_config_map() {
        let why = || "no\nimage".to_owned();
        for outcome in [
            Outcome::Begun,
            Outcome::Interrupted,
            Outcome::Done,
            Outcome::Failed(why()),
            Outcome::RolledBack(why()),
        ] {
            let receipt = receipt(7, [None, Some(ran("1.0.0"))], outcome);
            let object = objects(std::slice::from_ref(&receipt)).remove(0);
            assert_eq!(object.name(), "receipt-000007");
            assert!(!object.labels().contains_key(v::RECORD));
            let incomplete = receipt.is_incomplete();
            assert_eq!(object.labels().contains_key(v::INCOMPLETE), incomplete);
            assert_eq!(ChangeReceipt::from_object(&object), Some(receipt));
        }
    }

    #[test]
    fn a_receipt_names_the_cluster_the_fleet_and_the_authenticated_user_and_an_earlier_one_none() {
        let mut receipt = receipt(1, [None, Some(ran("1.0.0"))], Outcome::Done);
        let earlier = receipt.text();
        for field in ["user", "clusterUid", "fleet"] {
            assert!(!earlier.contains(&format!("\"{field}\":")), "{earlier}");
        }
        let read = ChangeReceipt::from_slice(earlier.as_bytes()).unwrap();
        assert_eq!(read.text(), earlier, "its signature is over this text");
        assert_eq!(read.origin.person(), "unknown user (me@here)");
        let cluster = "00000000-0000-4000-8000-000000000001";
        receipt.origin = ChangeOrigin {
            user: Some("alice".to_owned()),
            cluster_uid: Some(cluster.parse().unwrap()),
            fleet: Some("shops".parse().unwrap()),
            ..receipt.origin
        };
        let text: Value = serde_json::from_str(&receipt.text()).unwrap();
        let shown = json!([text["by"], text["user"], text["clusterUid"], text["fleet"]]);
        assert_eq!(shown, json!(["me@here", "alice", cluster, "shops"]));
        assert_eq!(receipt.origin.person(), "alice (me@here)");
        let all = receipts(std::slice::from_ref(&receipt));
        assert_eq!(all.foreign(receipt.origin.cluster_uid.as_ref()), [0; 0]);
        let other = "00000000-0000-4000-8000-000000000002".parse().unwrap();
        assert_eq!(all.foreign(Some(&other)), [1]);
        assert_eq!(all.foreign(None), [0; 0]);
        let read = ChangeReceipt::from_slice(receipt.text().as_bytes());
        assert_eq!(read, Some(receipt));
    }

    #[test]
    fn a_receipt_names_the_fleet_that_chose() {
        let mut deployed = deployed("1.0.0");
        let ran = VersionRun::from_archive(&deployed, None);
        assert_eq!(json!(ran), json!({ "version": "1.0.0" }));
        deployed.fleet = Some(Box::new(choices("{pullSecret: a}")));
        let by_fleet = VersionRun::from_archive(&deployed, None);
        let values = Digest::new(Sha256::digest(r#"{"pullSecret":"a"}"#).into());
        let expected = json!({ "version": "1.0.0", "fleet": "shops", "fleetValues": values });
        assert_eq!(json!(by_fleet), expected);
        assert_eq!(
            serde_json::from_value::<VersionRun>(expected).unwrap(),
            by_fleet
        );
        assert!(by_fleet.is_like(&ran));
    }

    #[test]
    fn what_is_no_receipt_is_named_and_counts_for_the_numbers() {
        let good = receipt(3, [None, Some(ran("1.0.0"))], Outcome::Done);
        let mut later = good.to_object(None);
        later["data"][KEY] = json!(r#"{"schemaVersion":2}"#);
        later["metadata"]["name"] = json!("receipt-000009");
        let mut renamed = good.to_object(None);
        renamed["metadata"]["name"] = json!("receipt-000004");
        let mut foreign = good.to_object(None);
        foreign["metadata"]["name"] = json!("receipt-99");
        let maps = [good.to_object(None), later, renamed, foreign];
        let maps: Vec<Object> = maps.map(|map| Object::new(map).unwrap()).into();
        let receipts = Receipts::from_config_maps(&maps);
        assert_eq!(receipts.all, [good]);
        let names = ["000009", "000004", "99"];
        let names =
            names.map(|revision| format!("ConfigMap metalk8s-solutions/receipt-{revision}"));
        assert_eq!(receipts.unreadable, names);
        assert_eq!(receipts.next(), 10);
    }

    #[test]
    fn a_receipt_fits_a_config_map_whatever_was_written() {
        let long = "x".repeat(400);
        let names: Vec<String> = (0..1000).map(|n| format!("{long}{n}")).collect();
        let twice = [&names[..], &names[..]].concat();
        let mut receipt = receipt(1, [Some(ran("1.0.0")), None], Outcome::Begun);
        let place = receipt.subject.places.remove(0);
        let subject = ChangeSubject {
            places: vec![place; 5000],
            ..receipt.subject
        };
        let first = NamedReceipts::default();
        let begun = ChangeReceipt::new(1, StatementTime::DEFAULT, origin(), first, subject);
        let why = Outcome::Failed("x".repeat(limits::RECEIPT_REASON));
        let ended = begun.ended(why, &twice, &names);
        assert_eq!(ended.written, names[..limits::RECEIPT_OBJECTS]);
        assert_eq!(ended.unnamed, 2 * (1000 - limits::RECEIPT_OBJECTS));
        let seal: Seal = Arc::new(|_| EnvelopeSignature {
            key_id: KeyId::new(Digest::new([1; 32])),
            bytes: vec![1; 64],
        });
        let signed = ended.to_object(Some(&seal));
        assert!(signed["data"][ENVELOPE].is_string());
        assert!(signed.to_string().len() < 1_000_000);
    }

    #[test]
    fn the_oldest_go_but_not_those_that_a_rollback_needs() {
        let upgrade = |revision| {
            receipt(
                revision,
                [Some(ran("1.0.0")), Some(ran("1.1.0"))],
                Outcome::Done,
            )
        };
        let again = |revision| {
            receipt(
                revision,
                [Some(ran("1.1.0")), Some(ran("1.1.0"))],
                Outcome::Done,
            )
        };
        let last = Revision::try_from(limits::RECEIPTS).unwrap() + 2;
        let mut all: Vec<ChangeReceipt> = (1..=last).map(again).collect();
        assert_eq!(receipts(&all[..limits::RECEIPTS - 1]).surplus(), []);
        let surplus = |all: &[ChangeReceipt]| {
            let names = receipts(all).surplus().into_iter();
            let names =
                names.map(|reference| reference.name.trim_start_matches("receipt-").to_owned());
            names
                .map(|revision| revision.parse().unwrap())
                .collect::<Vec<u32>>()
        };
        assert_eq!(surplus(&all), [1, 2, 3]);
        all[1] = upgrade(2);
        assert_eq!(surplus(&all), [1, 3, 4]);
        // A later change with the same kind of outcome replaces it; an incomplete one does not.
        all[9] = upgrade(10);
        assert_eq!(surplus(&all), [1, 2, 3]);
        all[9].outcome = Outcome::Interrupted;
        assert_eq!(surplus(&all), [1, 3, 4]);
    }

    #[test]
    fn a_change_is_settled_by_one_of_the_same_solution_in_all_its_namespaces() {
        let earlier = receipt(1, [None, Some(ran("1.0.0"))], Outcome::Interrupted);
        let later = earlier.subject.clone();
        assert!(earlier.is_settled_by(&later));
        let more = ChangeSubject {
            places: [&later.places[..], &later.places[..]].concat(),
            ..later.clone()
        };
        assert!(earlier.is_settled_by(&more));
        let solution = Some("cart".parse().unwrap());
        let other = ChangeSubject {
            solution,
            ..later.clone()
        };
        let nowhere = ChangeSubject {
            places: Vec::new(),
            ..later
        };
        assert!(!earlier.is_settled_by(&other) && !earlier.is_settled_by(&nowhere));
    }

    #[test]
    fn a_change_that_did_not_end_is_noted_by_the_next_one() {
        let begun = receipt(1, [None, Some(ran("1.0.0"))], Outcome::Begun);
        let done = receipt(2, [None, Some(ran("1.0.0"))], Outcome::Done);
        let noted: Vec<ChangeReceipt> = receipts(&[begun.clone(), done]).interrupted().collect();
        let interrupted = Outcome::Interrupted;
        let outcome = ChangeReceipt {
            outcome: interrupted,
            ..begun
        };
        assert_eq!(noted, [outcome]);
    }
}
