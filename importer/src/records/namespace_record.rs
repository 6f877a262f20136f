//! The record of a namespace of an environment ([`NamespaceRecord`]): one ConfigMap for each, in the namespace of the
//! records. Decisions about environments depend on these records only. The label of a namespace and upstream's
//! ConfigMap in it are written for other programs. A tenant with write access to the namespace can forge the ConfigMap,
//! so no decision depends on them.
//!
//! [`OwnRecord`] is the record of a deployment by a namespace administrator: one ConfigMap for each Solution, in the
//! namespace of the operator. A tenant can forge it as well. It is therefore only trusted about its own namespace, and
//! only for Solutions that the cluster's records do not mention there.
//!
//! [`joined`] and [`check`] handle the labels that releases add to the namespace of an environment, which replaces the
//! namespace of the release.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Cluster, Gvk, Object, ObjectRef, Selector};
use planner::{ReleaseEntry, vocabulary as v};
use rules::{Right, RightsSubject};
use schemars::JsonSchema;
use schemas::{
    ClusterName, Digest, EnvironmentName, KubernetesName, Namespace, ParameterName, ReleaseName,
    SolutionName, StatementTime, Version,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::blocker::ContentBlocker;
use crate::model::error::Error;
use crate::model::layer::FleetChoices;
use crate::model::parameters::{ParameterValues, SecretNumber};
use crate::records::storage;

/// The data key of records without a format (before format 2).
const FORMER_KEY: &str = "namespace.json";

/// A namespace of an environment and the Solutions that are deployed in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NamespaceRecord {
    pub(crate) environment: EnvironmentName,
    pub(crate) namespace: Namespace,
    /// The uid of the namespace that was created or adopted; `None` until that is complete. Another namespace with the
    /// same name does not belong to the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<String>,
    #[serde(default)]
    pub(crate) description: String,
    pub(crate) origin: Origin,
    #[serde(default)]
    pub(crate) solutions: BTreeMap<SolutionName, DeployedSolution>,
    /// The versions whose deployment has begun and is neither complete nor rolled back. The namespace contains a
    /// mixture of such a version and the deployed one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) coming: BTreeMap<SolutionName, Version>,
}

/// A Solution that is deployed in a namespace, and the choices for it. Choices are kept until they are changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeployedSolution {
    pub(crate) version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pull_secret: Option<KubernetesName>,
    /// The chosen values of parameters, without those of the archive and the site files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) parameters: ParameterValues,
    /// The parameters whose values are only stored in a Secret of the namespace.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) sensitive: BTreeSet<ParameterName>,
    /// The releases with chosen values, which are stored in that Secret too.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) charts: BTreeSet<ReleaseName>,
    /// The number of that Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<SecretNumber>,
    /// The choices of the fleet that deployed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fleet: Option<Box<FleetChoices>>,
    /// The name of the cluster in that fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fleet_cluster: Option<ClusterName>,
    /// The labels that its release adds to the namespace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: Labels,
    /// The releases of its charts, as listed in records before format 3.
    #[serde(default, rename = "releases", skip_serializing)]
    pub(crate) former_releases: Vec<ReleaseEntry>,
    /// The consent to rights and objects outside of the environment's namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accepted: Option<Consent>,
}

/// A person's consent to effects outside an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consent {
    /// The id under which it was shown.
    pub id: String,
    /// The user and host that gave it.
    pub by: String,
    /// When it was given.
    pub at: StatementTime,
    /// The lines that were shown.
    pub lines: BTreeSet<String>,
    /// The rights among them; missing in consents of earlier versions of the program, which covered only the lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<Grant>>,
}

/// A right that a subject gets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The subject that gets the right.
    pub subject: RightsSubject,
    /// The actions that are allowed, and their scope.
    pub right: Right,
}

/// A namespace of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnvironmentNamespace {
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace.
    pub namespace: Namespace,
    /// The purpose of the environment.
    pub description: String,
    /// Whether it was created for the environment.
    pub origin: Origin,
    /// The versions that are deployed in it, by Solution.
    pub solutions: BTreeMap<SolutionName, Version>,
    /// The fleets that deployed these Solutions, by Solution.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fleets: BTreeMap<SolutionName, KubernetesName>,
    /// The names of the cluster in those fleets, by Solution.
    #[serde(rename = "fleetClusters", skip_serializing_if = "BTreeMap::is_empty")]
    pub fleet_clusters: BTreeMap<SolutionName, ClusterName>,
    /// SHA-256 of the values that those fleets chose, by Solution, as JSON with sorted keys and without spaces.
    #[serde(rename = "fleetValues", skip_serializing_if = "BTreeMap::is_empty")]
    pub fleet_values: BTreeMap<SolutionName, Digest>,
    /// The Solutions with values from flags that take precedence over those of a fleet.
    #[serde(skip)]
    pub chosen_by_flags: BTreeSet<SolutionName>,
    /// Whether it is being deleted, as far as this user's permissions allow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub going: bool,
}

/// The origin of a namespace of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// It was created for the environment and is deleted with it.
    Created,
    /// It existed before and is kept.
    Adopted,
}

impl NamespaceRecord {
    /// Returns the record of a namespace whose origin is not known yet. It counts as adopted, so that it is never
    /// deleted.
    pub(crate) fn new(environment: EnvironmentName, namespace: Namespace) -> Self {
        Self {
            environment,
            namespace,
            uid: None,
            description: String::new(),
            origin: Origin::Adopted,
            solutions: BTreeMap::new(),
            coming: BTreeMap::new(),
        }
    }

    /// Reads the record of a namespace from its labels and annotations, for namespace administrators, who may not read
    /// the record. They may not change these labels either.
    pub(crate) fn labelled(live: &Object, namespace: &Namespace) -> Option<Self> {
        let label = live.labels().get(v::ENVIRONMENT)?.parse().ok()?;
        let annotations = live.annotations();
        let description = annotations.get(v::ENVIRONMENT_DESCRIPTION);
        Some(Self {
            uid: live.uid().map(str::to_owned),
            description: description.copied().unwrap_or_default().to_owned(),
            origin: if annotations.contains_key(v::CREATED) {
                Origin::Created
            } else {
                Origin::Adopted
            },
            ..Self::new(label, namespace.clone())
        })
    }

    /// Checks whether this is the namespace that was created or adopted, and not another one with the same name.
    pub(crate) fn is_of(&self, live: &Object) -> bool {
        self.uid.is_some() && self.uid.as_deref() == live.uid()
    }

    /// Checks whether this is the namespace that was created for the environment, even if an interruption kept its uid
    /// from being recorded. The record is written before the namespace is created, and only this program sets both the
    /// annotation and the label. If someone else created a namespace with this name and these marks in between, only
    /// their own namespace is deleted.
    pub(crate) fn made(&self, live: &Object) -> bool {
        let is_marked = || {
            live.annotations().contains_key(v::CREATED)
                && live.labels().get(v::ENVIRONMENT).copied() == Some(self.environment.as_str())
        };
        self.origin == Origin::Created && (self.is_of(live) || self.uid.is_none() && is_marked())
    }

    /// Returns the record with the uid of the namespace that a change has created.
    pub(crate) fn seen(mut self, uids: &BTreeMap<ObjectRef, String>) -> Self {
        let made = || uids.get(&namespace_reference(&self.namespace)).cloned();
        self.uid = self.uid.or_else(made);
        self
    }

    /// Returns the versions of the Solutions, as upstream's ConfigMap lists them.
    pub(crate) fn versions(&self) -> BTreeMap<SolutionName, Version> {
        let version = |(name, deployed): (&SolutionName, &DeployedSolution)| {
            (name.clone(), deployed.version.clone())
        };
        self.solutions.iter().map(version).collect()
    }

    /// Returns the names of the fleets that deployed the Solutions.
    fn fleets(&self) -> BTreeMap<SolutionName, KubernetesName> {
        let deployed = self.solutions.iter();
        let named = deployed.filter_map(|(name, deployed)| Some((name, deployed.fleet.as_ref()?)));
        named
            .map(|(name, choices)| (name.clone(), choices.fleet().clone()))
            .collect()
    }

    /// Returns the names of the cluster in the fleets that deployed the Solutions.
    fn fleet_clusters(&self) -> BTreeMap<SolutionName, ClusterName> {
        let deployed = self.solutions.iter();
        let named = deployed
            .filter_map(|(name, deployed)| Some((name.clone(), deployed.fleet_cluster.clone()?)));
        named.collect()
    }

    /// Returns the digests of the values that fleets chose.
    fn fleet_values(&self) -> BTreeMap<SolutionName, Digest> {
        let deployed = self.solutions.iter();
        let chosen =
            deployed.filter_map(|(name, deployed)| Some((name.clone(), deployed.fleet.as_ref()?)));
        chosen
            .map(|(name, choices)| (name, choices.digest()))
            .collect()
    }

    /// Returns the Solutions with values that were chosen by flags. With a fleet, flags only set sensitive values.
    fn chosen_by_flags(&self) -> BTreeSet<SolutionName> {
        let chosen = self.solutions.iter();
        let chosen = chosen
            .filter(|(_, deployed)| !deployed.parameters.is_empty() || !deployed.charts.is_empty());
        chosen.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the blockers of adding these labels of a Solution to the namespace. `live` is the existing namespace, if
    /// any.
    pub(crate) fn check_labels(
        &self,
        solution: &SolutionName,
        labels: &Labels,
        live: Option<&Object>,
    ) -> Vec<ContentBlocker> {
        let all = self
            .solutions
            .iter()
            .map(|(name, deployed)| (name, &deployed.labels));
        let others: Vec<_> = all.filter(|(name, _)| *name != solution).collect();
        let given = joined(self.solutions.values().map(|deployed| &deployed.labels));
        check(labels, &others, &given, live, &self.namespace)
    }

    /// Returns the Namespace object to apply.
    pub(crate) fn space(&self) -> Value {
        let description = self.description.as_str();
        let mut annotations = BTreeMap::from([(v::ENVIRONMENT_DESCRIPTION, description)]);
        if self.origin == Origin::Created {
            annotations.insert(v::CREATED, "true");
        }
        let mut labels = joined(self.solutions.values().map(|deployed| &deployed.labels));
        labels.insert(v::ENVIRONMENT.to_owned(), self.environment.to_string());
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": self.namespace,
                "labels": labels,
                "annotations": annotations,
            },
        })
    }

    /// Returns the ConfigMap of the record.
    pub(crate) fn to_object(&self) -> Value {
        let labels = json!({ v::RECORD: "namespace", v::ENVIRONMENT: self.environment });
        let name = config_map_name(&self.namespace);
        if self
            .solutions
            .values()
            .any(|deployed| deployed.fleet.is_some())
        {
            storage::record_of_fleet(&name, labels, self)
        } else {
            storage::record(&name, labels, self)
        }
    }

    /// Returns the reference of the ConfigMap of a namespace's record.
    pub(crate) fn reference(namespace: &Namespace) -> ObjectRef {
        storage::reference(&config_map_name(namespace))
    }

    /// Reads a record from its ConfigMap.
    pub(crate) fn from_object(object: &Object) -> Result<Self, Error> {
        storage::read(object, FORMER_KEY)
    }
}

impl From<&NamespaceRecord> for EnvironmentNamespace {
    fn from(record: &NamespaceRecord) -> Self {
        Self {
            environment: record.environment.clone(),
            namespace: record.namespace.clone(),
            description: record.description.clone(),
            origin: record.origin,
            solutions: record.versions(),
            fleets: record.fleets(),
            fleet_clusters: record.fleet_clusters(),
            fleet_values: record.fleet_values(),
            chosen_by_flags: record.chosen_by_flags(),
            going: false,
        }
    }
}

/// Returns the name of a record's ConfigMap. It differs from the name of any version's record, since that ends in a
/// version, which contains dots.
fn config_map_name(namespace: &Namespace) -> String {
    format!("namespace-{namespace}")
}

/// Returns the reference of a namespace.
pub(crate) fn namespace_reference(namespace: &Namespace) -> ObjectRef {
    ObjectRef::cluster_scoped("v1", "Namespace", namespace.as_str())
}

/// Returns the reference of the ConfigMap of a namespace's record.
pub(crate) fn reference(namespace: &Namespace) -> ObjectRef {
    storage::reference(&config_map_name(namespace))
}

/// The data key of records without a format (before format 2).
const FORMER_DEPLOYED_KEY: &str = "deployed.json";
/// The label value of these records.
const KIND: &str = "own";

/// A Solution that the namespace administrator has deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnRecord {
    pub(crate) solution: SolutionName,
    pub(crate) deployed: DeployedSolution,
}

impl OwnRecord {
    /// Returns the records in a namespace.
    pub(crate) async fn list(cluster: &Cluster, namespace: &Namespace) -> Result<Vec<Self>, Error> {
        let (maps, own) = (
            Gvk::new("v1", "ConfigMap"),
            Selector::label(v::RECORD, KIND),
        );
        let maps = cluster
            .list(&maps, Some(namespace.as_str()), Some(&own))
            .await?;
        let known = maps
            .iter()
            .map(|map| storage::read(map, FORMER_DEPLOYED_KEY));
        let known: Vec<Self> = known.collect::<Result<_, _>>()?;
        // A record with another name is not part of the operator's objects and is ignored.
        let named = |(record, map): &(Self, &Object)| map.name() == name(&record.solution);
        let known = known.into_iter().zip(&maps).filter(named);
        Ok(known.map(|(record, _)| record).collect())
    }

    /// Returns the ConfigMap of the record.
    pub(crate) fn to_object(&self, namespace: &Namespace) -> Value {
        let labels = json!({ v::RECORD: KIND, v::SOLUTION: self.solution });
        let name = name(&self.solution);
        let mut map = match self.deployed.fleet {
            Some(_) => storage::record_of_fleet(&name, labels, self),
            None => storage::record(&name, labels, self),
        };
        map["metadata"]["namespace"] = json!(namespace);
        map
    }
}

/// Returns the reference of the ConfigMap of a Solution's record in a namespace.
pub(crate) fn own_reference(namespace: &Namespace, solution: &SolutionName) -> ObjectRef {
    ObjectRef::namespaced("v1", "ConfigMap", namespace.as_str(), &name(solution))
}

fn name(solution: &SolutionName) -> String {
    format!("{solution}-operator-deployed")
}

pub(crate) type Labels = BTreeMap<String, String>;

/// The label by which the API server decides which pods a namespace admits.
pub(crate) const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// The labels with a level. The lowest level admits the pods of all releases.
const LEVELS: [&str; 3] = [
    ENFORCE,
    "pod-security.kubernetes.io/audit",
    "pod-security.kubernetes.io/warn",
];

/// Checks whether a release may add this label to a namespace. Labels of this program and of the API server are
/// reserved.
pub(crate) fn may_be_given(key: &str) -> bool {
    !key.starts_with(v::PREFIX) && key != "kubernetes.io/metadata.name"
}

/// Returns the height of a PodSecurity level: lower levels permit more. Other values have none.
fn height(level: &str) -> Option<usize> {
    let levels = ["privileged", "baseline", "restricted"];
    levels.iter().position(|known| *known == level)
}

/// Returns the combined labels: the lowest of multiple levels, else the last value.
pub(crate) fn joined<'a>(all: impl IntoIterator<Item = &'a Labels>) -> Labels {
    let mut joined = Labels::new();
    for (key, value) in all.into_iter().flatten() {
        let lower = |known: &String| {
            LEVELS.contains(&key.as_str())
                && height(known).is_some_and(|lowest| Some(lowest) < height(value))
        };
        if !joined.get(key).is_some_and(lower) {
            joined.insert(key.clone(), value.clone());
        }
    }
    joined
}

/// Returns the blockers of adding these labels to a namespace that has the `given` labels of Solutions. Another
/// Solution may give other values, or another actor may have set them. Such a label is never overwritten, so that
/// removing the labels later restores the earlier state.
pub(crate) fn check(
    labels: &Labels,
    of_others: &[(&SolutionName, &Labels)],
    given: &Labels,
    live: Option<&Object>,
    namespace: &Namespace,
) -> Vec<ContentBlocker> {
    let mut unfit = Vec::new();
    let there = live.map(Object::labels).unwrap_or_default();
    for (key, value) in labels {
        let label = format!("{key}={value}");
        let other = of_others
            .iter()
            .filter_map(|(name, theirs)| Some((*name, theirs.get(key)?)))
            .find(|(_, theirs)| *theirs != value && !LEVELS.contains(&key.as_str()));
        if let Some((solution, theirs)) = other {
            unfit.push(ContentBlocker::LabelGiven {
                namespace: namespace.clone(),
                label,
                solution: solution.clone(),
                value: theirs.clone(),
            });
            continue;
        }
        let foreign = there.get(key.as_str()).copied().filter(|foreign| {
            *foreign != value && Some(*foreign) != given.get(key).map(String::as_str)
        });
        if let Some(foreign) = foreign {
            unfit.push(ContentBlocker::LabelSet {
                namespace: namespace.clone(),
                label,
                value: foreign.to_owned(),
            });
        }
    }
    unfit
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::layer;

    /// Returns a deployed version without choices.
    pub(crate) fn deployed(version: &str) -> DeployedSolution {
        serde_json::from_value(json!({ "version": version })).unwrap()
    }

    pub(crate) fn namespace_record(environment: &str, namespace: &str) -> NamespaceRecord {
        NamespaceRecord::new(environment.parse().unwrap(), namespace.parse().unwrap())
    }

    #[test]
    fn the_values_of_a_fleet_are_told_by_their_digest_and_those_of_flags_by_being_there() {
        let mut record = namespace_record("prod", "prod");
        let mut shop = deployed("1.0.0");
        shop.fleet = Some(Box::new(layer::tests::choices("{pullSecret: a}")));
        let digest = shop.fleet.as_ref().unwrap().digest();
        let mut cart = deployed("1.0.0");
        cart.parameters = serde_json::from_value(json!({ "size": 1 })).unwrap();
        let [shop_name, cart_name]: [SolutionName; 2] =
            ["shop", "cart"].map(|name| name.parse().unwrap());
        record.solutions = [(shop_name.clone(), shop), (cart_name.clone(), cart)].into();
        let told = EnvironmentNamespace::from(&record);
        assert_eq!(told.fleet_values, [(shop_name, digest)].into());
        assert_eq!(told.chosen_by_flags, [cart_name].into());
    }

    #[test]
    fn a_namespace_that_was_made_is_known_before_its_uid_is_recorded() {
        let live = |uid: &str, environment: &str, annotations: Value| {
            Object::new(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                    "name": "prod", "uid": uid, "annotations": annotations,
                    "labels": {v::ENVIRONMENT: environment},
                }}),
            )
            .unwrap()
        };
        let made = || json!({v::CREATED: "true"});
        let cut_off = NamespaceRecord {
            origin: Origin::Created,
            ..namespace_record("prod", "prod")
        };
        assert!(cut_off.made(&live("a", "prod", made())));
        assert!(
            !cut_off.made(&live("a", "prod", json!({}))),
            "somebody was quicker"
        );
        assert!(!cut_off.made(&live("a", "test", made())));
        let uids = BTreeMap::from([(namespace_reference(&cut_off.namespace), "a".to_owned())]);
        let recorded = cut_off.clone().seen(&uids);
        assert!(recorded.made(&live("a", "prod", json!({}))));
        assert!(
            !recorded.made(&live("b", "prod", made())),
            "it was made anew"
        );
        let other = BTreeMap::from([(namespace_reference(&cut_off.namespace), "b".to_owned())]);
        assert_eq!(recorded.clone().seen(&other), recorded);
        let adopted = NamespaceRecord {
            origin: Origin::Adopted,
            ..recorded
        };
        assert!(!adopted.made(&live("a", "prod", made())));
    }

    #[test]
    fn choices_of_a_fleet_come_back_and_keep_out_who_does_not_know_them() {
        let mut record = namespace_record("prod", "shop-prod");
        let format = |record: &NamespaceRecord| record.to_object()["data"]["format"].clone();
        record
            .solutions
            .insert("cart".parse().unwrap(), deployed("1.0.0"));
        let text = storage::content(&mut record.to_object()).to_string();
        assert!(!text.contains("fleet"), "{text}");
        assert_eq!(format(&record), "4");
        let fleet = layer::tests::choices("{parameters: {shop: {size: 3}}}");
        let shop = DeployedSolution {
            fleet: Some(Box::new(fleet)),
            ..deployed("1.0.0")
        };
        record.solutions.insert("shop".parse().unwrap(), shop);
        assert_eq!(format(&record), "5");
        let object = Object::new(record.to_object()).unwrap();
        assert!(storage::is_current(&object));
        assert_eq!(NamespaceRecord::from_object(&object).unwrap(), record);
    }

    #[test]
    fn a_record_comes_back_from_its_config_map() {
        let mut record = namespace_record("prod", "shop-prod");
        for accepted in [
            None,
            Some(Consent {
                id: "1".to_owned(),
                by: "me@here".to_owned(),
                at: StatementTime::DEFAULT,
                lines: BTreeSet::from(["read all Secrets".to_owned()]),
                grants: Some(Vec::new()),
            }),
        ] {
            let deployed = DeployedSolution {
                version: "1.0.0".parse().unwrap(),
                pull_secret: accepted.as_ref().map(|_| "login".parse().unwrap()),
                parameters: [("size".parse().unwrap(), json!(3))].into(),
                sensitive: ["password".parse().unwrap()].into(),
                charts: ["db".parse().unwrap()].into(),
                secret: Some(1),
                fleet: None,
                fleet_cluster: accepted.as_ref().map(|_| "rome".parse().unwrap()),
                labels: [("a".to_owned(), "b".to_owned())].into(),
                former_releases: Vec::new(),
                accepted,
            };
            record.solutions.insert("shop".parse().unwrap(), deployed);
            record.uid = Some("u".to_owned());
            let coming = ("shop".parse().unwrap(), "1.1.0".parse().unwrap());
            record.coming.extend([coming]);
            let object = Object::new(record.to_object()).unwrap();
            assert_eq!(object.reference(), &reference(&record.namespace));
            assert_eq!(NamespaceRecord::from_object(&object).unwrap(), record);
        }
    }
}

#[cfg(test)]
mod own_tests {
    use super::*;
    use crate::model::layer::tests::choices;
    use crate::records::namespace_record::tests::deployed;

    #[test]
    fn choices_of_a_fleet_keep_out_who_does_not_know_them() {
        let mut own = OwnRecord {
            solution: "shop".parse().unwrap(),
            deployed: deployed("1.0.0"),
        };
        let format = |own: &OwnRecord| {
            let object = own.to_object(&"prod".parse().unwrap());
            object["data"]["format"].clone()
        };
        assert_eq!(format(&own), "4");
        own.deployed.fleet = Some(Box::new(choices("{pullSecret: a}")));
        assert_eq!(format(&own), "5");
    }
}

#[cfg(test)]
mod space_tests {
    use serde_json::json;

    use super::*;
    use crate::records::namespace_record::tests::{deployed, namespace_record};

    fn labels(labels: &[(&str, &str)]) -> Labels {
        let labels = labels.iter();
        labels
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn of_several_levels_the_lowest_serves_everybody() {
        let (low, high) = (
            labels(&[(ENFORCE, "baseline")]),
            labels(&[(ENFORCE, "restricted"), ("a", "b")]),
        );
        let both = labels(&[(ENFORCE, "baseline"), ("a", "b")]);
        assert_eq!(joined([&low, &high]), both);
        assert_eq!(joined([&high, &low]), both);
    }

    #[test]
    fn a_label_with_another_value_belongs_to_whoever_set_it() {
        let mut place = namespace_record("prod", "prod");
        let other = DeployedSolution {
            labels: labels(&[("a", "theirs"), (ENFORCE, "restricted")]),
            ..deployed("1.0.0")
        };
        place.solutions.insert("cart".parse().unwrap(), other);
        let live = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": "prod", "labels": { "a": "theirs", "b": "of-the-site", (ENFORCE): "restricted" } },
        });
        let live = Object::new(live).unwrap();
        let shop = "shop".parse().unwrap();
        let check = |key: &str, value: &str| {
            let unfit = place.check_labels(&shop, &labels(&[(key, value)]), Some(&live));
            unfit.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(check(ENFORCE, "privileged"), [""; 0]);
        assert_eq!(check("a", "theirs"), [""; 0]);
        assert_eq!(check("b", "of-the-site"), [""; 0]);
        assert_eq!(check("c", "new"), [""; 0]);
        assert_eq!(
            check("a", "ours"),
            ["cannot set the label a=ours on namespace `prod`: cart sets it to `theirs`"]
        );
        assert_eq!(
            check("b", "ours"),
            ["cannot set the label b=ours on namespace `prod`: its value is already `of-the-site`"]
        );
    }
}
