//! The CRD of `SolutionRollout`, which a cluster needs to be a hub.

use std::sync::LazyLock;
use std::time::Duration;

use change::vocabulary as v;
use deployer::{Applied, Cluster, Conflicts, Goal, Object};
use schemas::yaml;
use serde_json::Value;

use crate::model::error::Error;

/// The kind.
pub(crate) const KIND: &str = "SolutionRollout";
/// The name of the resource.
pub(crate) const RESOURCE: &str = "solutionrollouts";
/// The name of its CRD.
pub(crate) const NAME: &str = "solutionrollouts.solutions.metalk8s.scality.com";

static DEFINITION: LazyLock<Value> = LazyLock::new(|| {
    let text = include_bytes!("definition.yaml");
    yaml::from_slice(text).expect("the definition is YAML")
});

/// Returns the CRD that makes a cluster a hub.
#[must_use]
pub fn hub_definition() -> &'static Value {
    &DEFINITION
}

/// Makes a cluster a hub, and waits for so long until it serves the kind. Returns whether anything was written.
pub async fn prepare_hub(cluster: &Cluster, longest: Duration) -> Result<bool, Error> {
    let definition = Object::new(hub_definition().clone())?;
    let refuse = Conflicts::Refuse;
    let applied = cluster.apply(&definition, &v::manager(), refuse).await?;
    let served = Goal::Settled(definition.reference().clone());
    cluster.wait(&[served], longest, &|_| {}).await?;
    Ok(applied != Applied::Unchanged)
}

#[cfg(test)]
mod tests {
    use fleet::{
        FleetChange, FleetJournal, FleetProgress, KnownCluster, MemberProgress, MemberState,
        WaveProgress,
    };
    use schemas::StatementTime;
    use serde_json::json;

    use super::*;

    /// Fails where a value has what a schema does not: the API server would take it away.
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
            let known = schema["properties"].get(name);
            let known = known.or(schema.get("additionalProperties"));
            let known = known.unwrap_or_else(|| panic!("{at}/{name} is unknown"));
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
        let decided = || fleet::Decided {
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
        journal.know(KnownCluster { name, uid });
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
        // What is left out of it would stay as it was.
        let written: Vec<&String> = status.as_object().unwrap().keys().collect();
        let known = properties["status"]["properties"].as_object().unwrap();
        assert_eq!(written, known.keys().collect::<Vec<_>>());
        assert_eq!(hub_definition()["metadata"]["name"], NAME);
        assert_eq!(hub_definition()["spec"]["names"]["plural"], RESOURCE);
        assert_eq!(hub_definition()["spec"]["names"]["kind"], KIND);
    }
}
