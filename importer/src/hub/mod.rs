//! The object of a fleet in a hub, kind `SolutionRollout`: a cluster in which others see how far the fleet is, and say
//! whether it goes on. Whoever may write it decides whether clusters are begun, never what is done to them.

pub(crate) mod definition;

use change::vocabulary as v;
use deployer::{Cluster, Conflicts, Object, ObjectRef};
use fleet::{FleetJournal, RolloutCondition, RolloutStatus};
use schemas::{API_VERSION, KubernetesName};
use serde_json::{Value, json};

use crate::hub::definition::KIND;
use crate::limits;

/// The reason why a hub does not show a fleet, or does not say what was decided of it.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The cluster cannot be asked.
    #[error(transparent)]
    Cluster(deployer::Error),
    /// The cluster does not have the kind.
    #[error("the cluster does not serve kind {KIND}")]
    Unprepared,
    /// Somebody was quicker.
    #[error("{0} was changed at the same time")]
    Changed(String),
    /// What the object says is nothing that was decided of a fleet.
    #[error("cannot read {object}")]
    Unreadable {
        /// The object.
        object: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// The object says more than anybody decides of a fleet.
    #[error("{0} has more than {max} bytes", max = limits::HUB_JOURNAL)]
    TooLarge(String),
    /// The object is that of another fleet.
    #[error("{object} belongs to the fleet {fleet}")]
    Other {
        /// The object.
        object: String,
        /// The other fleet.
        fleet: KubernetesName,
    },
}

impl HubError {
    /// Whether the cluster may answer later although nobody changes anything on this side.
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

/// A cluster that shows fleets.
#[derive(Debug)]
pub struct Hub(Cluster);

/// The object of a fleet as a hub has it.
#[derive(Debug)]
pub struct HeldRollout {
    reference: ObjectRef,
    /// The object; none if there is none yet.
    seen: Option<Object>,
    /// What it says was decided.
    pub journal: Option<FleetJournal>,
}

impl Hub {
    /// The hub that a cluster is.
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

    /// Writes what was decided, if that is something else; the object is as it was read, or somebody was quicker.
    ///
    /// # Panics
    ///
    /// Never: what is written is an object.
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

    /// Writes how far the fleet is, if that is something else.
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
        let spec = seen.as_ref().map(|it| it.as_value()["spec"].clone());
        if spec
            .as_ref()
            .is_some_and(|it| it.to_string().len() > limits::HUB_JOURNAL)
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
        if let Some(other) = journal.as_ref().filter(|it| it.fleet != *fleet) {
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

    /// The conditions that it has.
    #[must_use]
    pub fn conditions(&self) -> Vec<RolloutCondition> {
        let conditions = self.field("/status/conditions").and_then(Value::as_array);
        let conditions = conditions.into_iter().flatten();
        let read = |it: &Value| serde_json::from_value(it.clone()).ok();
        conditions.filter_map(read).collect()
    }

    /// The generation of what it says was decided.
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
