//! The object of a fleet in a hub, of kind `SolutionRollout`. A hub is a cluster in which users see the progress of the
//! fleet and decide whether it continues. [`Hub`] reads and writes the object. A user with write access to it decides
//! only whether changes of clusters start, never what they change.
//!
//! [`prepare_hub`] installs the CRD of `SolutionRollout`, which makes a cluster a hub. Its schema accepts the same
//! decisions as the parser of this program, which a test compares.

use std::sync::LazyLock;
use std::time::Duration;

use fleet::{FleetJournal, RolloutCondition, RolloutStatus};
use kubernetes::{ApplyOutcome, Cluster, ConflictPolicy, Goal, Object, ObjectRef};
use planner::vocabulary as v;
use schemas::{API_VERSION, KubernetesName, yaml};
use serde_json::{Value, json};

use crate::limits;
use crate::model::error::Error;

/// A failure to read or write the object of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The request to the cluster failed.
    #[error(transparent)]
    Cluster(kubernetes::Error),
    /// The cluster does not serve the kind.
    #[error("the cluster does not serve kind {KIND}")]
    Unprepared,
    /// Another writer has changed the object since it was read.
    #[error("{0} was changed at the same time")]
    Changed(String),
    /// The object does not contain valid decisions about a fleet.
    #[error("cannot read {0}")]
    Unreadable(String, #[source] serde_json::Error),
    /// The decisions in the object exceed the size limit.
    #[error("{0} has more than {max} bytes", max = limits::HUB_JOURNAL)]
    TooLarge(String),
    /// The object belongs to another fleet.
    #[error("{object} belongs to the fleet {fleet}")]
    Other {
        /// The object.
        object: String,
        /// The other fleet.
        fleet: KubernetesName,
    },
}

impl HubError {
    /// Checks whether a later attempt may succeed without any change on this side.
    #[must_use]
    pub fn is_away(&self) -> bool {
        match self {
            Self::Cluster(error) => error.is_about_the_server(),
            Self::Changed(_) => true,
            Self::Unprepared | Self::Unreadable(..) | Self::TooLarge(_) | Self::Other { .. } => {
                false
            }
        }
    }
}

impl From<kubernetes::Error> for HubError {
    fn from(error: kubernetes::Error) -> Self {
        match error {
            kubernetes::Error::NoSuchKind(_) => Self::Unprepared,
            kubernetes::Error::Changed { message, .. } => Self::Changed(message),
            other => Self::Cluster(other),
        }
    }
}

/// A cluster that stores the objects of fleets.
#[derive(Debug)]
pub struct Hub(Cluster);

/// The object of a fleet in the state in which it was read from a hub.
#[derive(Debug)]
pub struct HeldRollout {
    reference: ObjectRef,
    /// The object, or `None` if it does not exist.
    seen: Option<Object>,
    /// The decisions in the object.
    pub journal: Option<FleetJournal>,
}

impl Hub {
    /// Returns the hub in a cluster.
    #[must_use]
    pub fn new(cluster: Cluster) -> Self {
        Self(cluster)
    }

    /// Reads the object of a fleet.
    pub async fn read(&self, fleet: &KubernetesName) -> Result<HeldRollout, HubError> {
        let reference = ObjectRef::cluster_scoped(API_VERSION, KIND, fleet.as_str());
        let seen = self.0.get(&reference).await?;
        HeldRollout::from_object(reference, seen, fleet)
    }

    /// Writes the decisions if they differ from the stored ones. The write fails if another writer has changed the
    /// object since it was read.
    ///
    /// # Panics
    ///
    /// Never: the written value is a valid object.
    pub async fn decide(
        &self,
        held: HeldRollout,
        journal: &FleetJournal,
    ) -> Result<HeldRollout, HubError> {
        let journal = &journal.shared();
        if held.journal.as_ref() == Some(journal) {
            return Ok(held);
        }
        let object = Object::new(json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": held.reference.name },
            "spec": journal,
        }));
        let object = object.expect("it is an object");
        let (seen, manager) = (held.seen.as_ref(), v::manager());
        let put = self.0.put(&object, seen, &manager, ConflictPolicy::Force);
        let (_, written) = put.await?;
        HeldRollout::from_object(held.reference, Some(written), &journal.fleet)
    }

    /// Writes the progress of the fleet if it differs from the stored one.
    pub async fn tell(&self, held: &HeldRollout, status: &RolloutStatus) -> Result<(), HubError> {
        let status = json!(status);
        match &held.seen {
            Some(seen) if seen.as_value()["status"] != status => {
                Ok(self.0.put_status(seen, &status).await?)
            }
            _ => Ok(()),
        }
    }
}

impl HeldRollout {
    /// Reads the decisions in an object. Decisions about another fleet are an error.
    fn from_object(
        reference: ObjectRef,
        seen: Option<Object>,
        fleet: &KubernetesName,
    ) -> Result<Self, HubError> {
        let object = || format!("{KIND} {fleet}");
        let spec = seen
            .as_ref()
            .map(|object| object.as_value()["spec"].clone());
        // The size is checked before parsing, since any user with write access may have written the object.
        if spec
            .as_ref()
            .is_some_and(|spec| spec.to_string().len() > limits::HUB_JOURNAL)
        {
            return Err(HubError::TooLarge(object()));
        }
        let journal: Option<FleetJournal> = spec
            .map(FleetJournal::from_shared)
            .transpose()
            .map_err(|source| HubError::Unreadable(object(), source))?;
        if let Some(other) = journal.as_ref().filter(|journal| journal.fleet != *fleet) {
            return Err(HubError::Other {
                object: object(),
                fleet: other.fleet.clone(),
            });
        }
        Ok(Self {
            reference,
            seen,
            journal,
        })
    }

    /// Returns the conditions in the object's status.
    #[must_use]
    pub fn conditions(&self) -> Vec<RolloutCondition> {
        let conditions = self
            .field("/status/conditions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let read = |condition: &Value| serde_json::from_value(condition.clone()).ok();
        conditions.filter_map(read).collect()
    }

    /// Returns the generation of the decisions.
    #[must_use]
    pub fn generation(&self) -> i64 {
        let generation = self.field("/metadata/generation").and_then(Value::as_i64);
        generation.unwrap_or(0)
    }

    fn field(&self, pointer: &str) -> Option<&Value> {
        self.seen.as_ref()?.as_value().pointer(pointer)
    }
}

/// The kind of a fleet's object.
pub(crate) const KIND: &str = "SolutionRollout";
/// The name of the resource.
pub(crate) const RESOURCE: &str = "solutionrollouts";
/// The name of its CRD.
pub(crate) const NAME: &str = "solutionrollouts.solutions.metalk8s.scality.com";

static DEFINITION: LazyLock<Value> = LazyLock::new(|| {
    let text = include_bytes!("hub/definition.yaml");
    yaml::from_slice(text).expect("the definition is YAML")
});

/// Returns the CRD that makes a cluster a hub.
#[must_use]
pub fn hub_definition() -> &'static Value {
    &DEFINITION
}

/// Installs the CRD in a cluster, and waits up to `longest` until the kind is served. Returns whether anything was
/// written.
pub async fn prepare_hub(cluster: &Cluster, longest: Duration) -> Result<bool, Error> {
    let definition = Object::new(hub_definition().clone())?;
    let refuse = ConflictPolicy::Refuse;
    let applied = cluster.apply(&definition, &v::manager(), refuse).await?;
    let served = Goal::Ready(definition.reference().clone());
    cluster.wait(&[served], longest, &|_| {}).await?;
    Ok(applied != ApplyOutcome::Unchanged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(spec: &Value) -> Result<HeldRollout, HubError> {
        let fleet: KubernetesName = "shops".parse().unwrap();
        let value = json!({"apiVersion": API_VERSION, "kind": KIND,
            "metadata": {"name": "shops", "generation": 3}, "spec": spec});
        let seen = Object::new(value).unwrap();
        HeldRollout::from_object(seen.reference().clone(), Some(seen), &fleet)
    }

    #[test]
    fn a_hub_that_is_away_is_told_from_one_that_cannot_be_it() {
        let doing = || "read it".to_owned();
        let changed = kubernetes::Error::Changed {
            doing: doing(),
            message: "quicker".to_owned(),
        };
        assert!(matches!(HubError::from(changed), HubError::Changed(_)));
        let away = kubernetes::Error::Timeout {
            doing: doing(),
            after: std::time::Duration::from_secs(1),
        };
        assert!(HubError::from(away).is_away());
        let refused = kubernetes::Error::Forbidden {
            doing: doing(),
            message: "no".to_owned(),
        };
        assert!(!HubError::from(refused).is_away());
        let kind = kubernetes::Gvk::new(API_VERSION, KIND);
        let unprepared = HubError::from(kubernetes::Error::NoSuchKind(kind));
        assert_eq!(
            unprepared.to_string(),
            "the cluster does not serve kind SolutionRollout"
        );
        assert!(!unprepared.is_away());
    }

    #[test]
    fn what_was_decided_is_read_strictly() {
        let good = held(&json!({"fleet": "shops"})).unwrap();
        assert_eq!(
            good.journal,
            Some(FleetJournal::new("shops".parse().unwrap()))
        );
        assert_eq!((good.generation(), good.conditions()), (3, Vec::new()));
        for spec in [
            json!({"fleet": "shops", "paused": true}),
            json!({"fleet": "shops", "pause": {"paused": true, "by": "me", "at": "yesterday"}}),
            json!(null),
        ] {
            let error = held(&spec).unwrap_err();
            assert!(matches!(error, HubError::Unreadable(..)), "{error}");
            assert!(!error.is_away());
        }
        let long = held(&json!({"fleet": "shops", "x": "x".repeat(limits::HUB_JOURNAL)}));
        assert!(matches!(long, Err(HubError::TooLarge(_))));
        let other = held(&json!({"fleet": "others"})).unwrap_err();
        assert_eq!(
            other.to_string(),
            "SolutionRollout shops belongs to the fleet others"
        );
    }
}

#[cfg(test)]
mod definition_tests {
    use fleet::{
        FleetChange, FleetJournal, FleetProgress, KnownCluster, MemberProgress, MemberState,
        WaveProgress,
    };
    use schemas::StatementTime;
    use serde_json::json;

    use super::*;

    /// Fails if a value has a field that the schema lacks, since the API server would drop it.
    fn check(value: &Value, schema: &Value, at: &str) {
        let kind = match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            _ => "integer",
        };
        assert_eq!(schema["type"], kind, "{at}");
        for (name, value) in value.as_object().into_iter().flatten() {
            let known = schema["properties"]
                .get(name)
                .or(schema.get("additionalProperties"))
                .unwrap_or_else(|| panic!("{at}/{name} is unknown"));
            check(value, known, &format!("{at}/{name}"));
        }
        for value in value.as_array().into_iter().flatten() {
            check(value, &schema["items"], at);
        }
    }

    #[test]
    fn the_server_keeps_all_that_is_written() {
        let schema = &hub_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let now = StatementTime::DEFAULT;
        let decided = || fleet::DecisionAuthor {
            by: "me".to_owned(),
            at: now,
        };
        let wave = json!({"name": "all", "soak": "1m", "approve": true});
        let wave: schemas::FleetWave = serde_json::from_value(wave).unwrap();
        let mut journal = FleetJournal::new("shops".parse().unwrap());
        journal.pause(decided());
        journal.approve(wave.name.clone(), "5c".to_owned(), decided());
        journal.be_good(&wave.name, "5c", true, now);
        let (name, uid) = (
            &"paris".parse().unwrap(),
            &"00000000-0000-4000-8000-000000000001".parse().unwrap(),
        );
        journal.know(KnownCluster { name, uid }).unwrap();
        let journal = journal.shared();
        let mut back = journal.clone();
        back.go_back(&wave, decided());
        let properties = &schema["properties"];
        check(&json!(journal), &properties["spec"], "spec");
        check(&json!(back), &properties["spec"], "spec");

        let member = MemberProgress {
            name: "lab".parse().unwrap(),
            state: MemberState::Done,
            message: "x".to_owned(),
        };
        let waves = vec![WaveProgress {
            name: wave.name,
            clusters: vec![member],
        }];
        let (plan, by) = (String::new(), String::new());
        let progress = FleetProgress::new(FleetChange::Apply, plan, by, now, waves, 0);
        let status = json!(progress.status(&[], 1, now));
        check(&status, &properties["status"], "status");
        // A field that is left out would keep its former value.
        let written: Vec<&String> = status.as_object().unwrap().keys().collect();
        let known = properties["status"]["properties"].as_object().unwrap();
        assert_eq!(written, known.keys().collect::<Vec<_>>());
        assert_eq!(hub_definition()["metadata"]["name"], NAME);
        assert_eq!(hub_definition()["spec"]["names"]["plural"], RESOURCE);
        assert_eq!(hub_definition()["spec"]["names"]["kind"], KIND);
    }

    /// Returns the schema of the decisions as the API server applies it: unknown fields are removed or refused.
    fn spec_schema() -> Value {
        fn close(schema: &mut Value) {
            if let Some(properties) = schema.get_mut("properties") {
                let properties = properties.as_object_mut().expect("an object");
                properties.values_mut().for_each(close);
                schema["additionalProperties"] = json!(false);
            } else if let Some(entries) = schema.get_mut("additionalProperties") {
                close(entries);
            }
        }
        let version = &hub_definition()["spec"]["versions"][0];
        let mut schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
        close(&mut schema);
        schema
    }

    /// Returns values for a field of any type: each type, and each limit from both sides.
    fn candidates() -> Vec<Value> {
        let mut all = vec![
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(9_007_199_254_740_993_u64),
            json!([]),
            json!(["1980-01-01T00:00:00Z", true, "me"]),
            json!({}),
            json!({"unknown": 1}),
        ];
        for text in [
            "",
            "a",
            "5c",
            "shops",
            "Shops",
            "shops.test",
            "shops..test",
            "-shops",
            "shops-",
            "shops\n",
            "sh\u{0}ops",
            "sh\u{e9}ops",
            "true",
            "1980-01-01T00:00:00Z",
            "1979-12-31T23:59:59Z",
            "2099-12-31T23:59:59Z",
            "2100-01-01T00:00:00Z",
            "9999-01-01",
            "9999-01-01T00:00:00Z",
            "2026-02-28T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2024-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-13-10T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2016-12-31T23:59:60Z",
            "2026-01-01T00:00:00.5Z",
            "2026-01-01t00:00:00z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01T00:00:00Z\n",
            "20260101T000000Z",
            "+02026-01-01T00:00:00Z",
            "yesterday",
        ] {
            all.push(json!(text));
        }
        for length in [63, 64, 65, 253, 254, 512, 513] {
            all.push(json!("a".repeat(length)));
            all.push(json!("\u{1f600}".repeat(length)));
        }
        all
    }

    /// Returns every value that differs from a valid one in one place: another value, an unknown field, or a missing
    /// field.
    fn mutants(good: &Value) -> Vec<Value> {
        fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
            all.push(at.to_owned());
            for (name, value) in value.as_object().into_iter().flatten() {
                pointers(value, &format!("{at}/{name}"), all);
            }
        }
        let mut places = Vec::new();
        pointers(good, "", &mut places);
        let mut all = Vec::new();
        let mut with = |at: &str, change: &dyn Fn(&mut Value)| {
            let mut mutant = good.clone();
            change(mutant.pointer_mut(at).expect("a place of the value"));
            all.push(mutant);
        };
        for at in &places {
            for candidate in candidates() {
                with(at, &|value| *value = candidate.clone());
            }
            let fields = good.pointer(at).and_then(Value::as_object);
            let Some(fields) = fields else {
                continue;
            };
            for name in ["unknown", "clusters", "revision", "Prod", "-", ""] {
                with(at, &|value| value[name] = json!({}));
            }
            for (name, entry) in fields {
                let less =
                    |value: &mut Value| drop(value.as_object_mut().map(|all| all.remove(name)));
                with(at, &less);
                for other in ["Prod", "a.b", "a".repeat(64).as_str()] {
                    with(at, &|value| value[other] = entry.clone());
                }
                for count in [100, 101] {
                    with(at, &|value| {
                        let many = (0..count).map(|wave| (format!("w{wave}"), entry.clone()));
                        *value = many.collect();
                    });
                }
            }
        }
        all
    }

    #[test]
    fn the_schema_and_the_parser_accept_exactly_the_same_decisions() {
        let options = jsonschema::options().should_validate_formats(true);
        let schema = options.build(&spec_schema()).unwrap();
        let at = "2026-01-01T00:00:00Z";
        let good = json!({
            "fleet": "shops",
            "pause": {"at": at, "paused": true, "by": "me"},
            "approvals": {"prod": {"at": at, "by": "me", "plan": "5c", "takenBack": true}},
            "good": {"prod": {"since": at, "goal": "5c", "lost": true}},
        });
        assert!(schema.is_valid(&good) && FleetJournal::from_shared(good.clone()).is_ok());
        let (mut accepted, mut refused) = (0, 0);
        for value in mutants(&good) {
            let parsed = FleetJournal::from_shared(value.clone());
            let is_valid = schema.is_valid(&value);
            assert_eq!(is_valid, parsed.is_ok(), "{value}: {parsed:?}");
            *(if is_valid {
                &mut accepted
            } else {
                &mut refused
            }) += 1;
        }
        assert!(accepted > 50 && refused > 500, "{accepted} {refused}");
    }
}
