//! The object of a fleet in a hub, of kind `SolutionRollout`. A hub is a cluster in which other persons see the
//! progress of the fleet and decide whether it continues. [`Hub`] reads and writes the object. A user with write access
//! to it decides only whether changes of clusters start, never what they change.

pub(crate) mod definition;

use change::vocabulary as v;
use deployer::{Cluster, Conflicts, Object, ObjectRef};
use fleet::{FleetJournal, RolloutCondition, RolloutStatus};
use schemas::{API_VERSION, KubernetesName};
use serde_json::{Value, json};

use crate::hub::definition::KIND;
use crate::limits;

/// A failure to read or write the object of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The request to the cluster failed.
    #[error(transparent)]
    Cluster(deployer::Error),
    /// The cluster does not serve the kind.
    #[error("the cluster does not serve kind {KIND}")]
    Unprepared,
    /// Another writer has changed the object since it was read.
    #[error("{0} was changed at the same time")]
    Changed(String),
    /// The object does not contain valid decisions about a fleet.
    #[error("cannot read {object}")]
    Unreadable {
        /// The object.
        object: String,
        /// The cause.
        source: serde_json::Error,
    },
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
            Self::Unprepared | Self::Unreadable { .. } | Self::TooLarge(_) | Self::Other { .. } => {
                false
            }
        }
    }
}

impl From<deployer::Error> for HubError {
    fn from(error: deployer::Error) -> Self {
        match error {
            deployer::Error::NoSuchKind(_) => Self::Unprepared,
            deployer::Error::Changed { message, .. } => Self::Changed(message),
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
        HeldRollout::of(reference, seen, fleet)
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
        let put = self.0.put(&object, seen, &manager, Conflicts::Force);
        let (_, written) = put.await?;
        HeldRollout::of(held.reference, Some(written), &journal.fleet)
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
    fn of(
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
            .map_err(|source| HubError::Unreadable {
                object: object(),
                source,
            })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn held(spec: &Value) -> Result<HeldRollout, HubError> {
        let fleet: KubernetesName = "shops".parse().unwrap();
        let value = json!({"apiVersion": API_VERSION, "kind": KIND,
            "metadata": {"name": "shops", "generation": 3}, "spec": spec});
        let seen = Object::new(value).unwrap();
        HeldRollout::of(seen.reference().clone(), Some(seen), &fleet)
    }

    #[test]
    fn a_hub_that_is_away_is_told_from_one_that_cannot_be_it() {
        let doing = || "read it".to_owned();
        let changed = deployer::Error::Changed {
            doing: doing(),
            message: "quicker".to_owned(),
        };
        assert!(matches!(HubError::from(changed), HubError::Changed(_)));
        let away = deployer::Error::Timeout {
            doing: doing(),
            after: std::time::Duration::from_secs(1),
        };
        assert!(HubError::from(away).is_away());
        let refused = deployer::Error::Forbidden {
            doing: doing(),
            message: "no".to_owned(),
        };
        assert!(!HubError::from(refused).is_away());
        let kind = deployer::Gvk::new(API_VERSION, KIND);
        let unprepared = HubError::from(deployer::Error::NoSuchKind(kind));
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
            assert!(matches!(error, HubError::Unreadable { .. }), "{error}");
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
