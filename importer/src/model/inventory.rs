//! Where the inventory of a deployment lies: one ConfigMap for each Solution in a namespace.

use change::{Inventory, vocabulary as v};
use deployer::{Cluster, Object, ObjectRef};
use schemas::{Namespace, SolutionName};
use serde_json::{Value, json};

use crate::model::config_map;
use crate::model::error::Error;
use crate::model::look::look;

/// The key that a record had in its ConfigMap before it had a format.
const FORMER_KEY: &str = "objects.json";

/// Returns what is recorded of a Solution in a namespace.
pub(crate) async fn read(
    cluster: &Cluster,
    solution: &SolutionName,
    namespace: &Namespace,
) -> Result<Inventory, Error> {
    let live = cluster.get(&reference(solution, namespace)).await?;
    parse(live.as_ref())
}

/// Returns the same; nothing where this user may not look. That he may is asked with all other rights.
pub(crate) async fn look_up(
    cluster: &Cluster,
    solution: &SolutionName,
    namespace: &Namespace,
) -> Result<Inventory, Error> {
    let live = look(cluster, &reference(solution, namespace)).await?;
    parse(live.as_ref())
}

/// Returns the inventory that a ConfigMap holds; an empty one where there is none.
pub(crate) fn parse(live: Option<&Object>) -> Result<Inventory, Error> {
    let parsed = live.map(|live| config_map::read(live, FORMER_KEY));
    Ok(parsed.transpose()?.unwrap_or_default())
}

/// Returns the inventory as its ConfigMap.
pub(crate) fn to_object(
    inventory: &Inventory,
    solution: &SolutionName,
    namespace: &Namespace,
) -> Value {
    let labels = json!({ v::CARRIED: namespace, v::SOLUTION: solution });
    config_map::record(&name(solution, namespace), labels, inventory)
}

/// The ConfigMap of what a Solution has in a namespace.
pub(crate) fn reference(solution: &SolutionName, namespace: &Namespace) -> ObjectRef {
    config_map::reference(&name(solution, namespace))
}

/// Names have no dots, so that no two pairs come to one.
fn name(solution: &SolutionName, namespace: &Namespace) -> String {
    format!("carried.{namespace}.{solution}")
}

#[cfg(test)]
mod tests {
    use change::{Entry, Stage};

    use super::*;

    fn recorded(kind: &str, name: &str) -> Entry {
        Entry {
            part: Some("main".parse().unwrap()),
            stage: Stage::Data,
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            resource: format!("{}s", kind.to_lowercase()),
            namespace: None,
            name: name.to_owned(),
            inputs: None,
            uid: None,
        }
    }

    #[test]
    fn the_record_comes_back_from_its_config_map() {
        let mut job = recorded("Job", "j");
        job.inputs = Some("x".to_owned());
        job.uid = Some("u".to_owned());
        let record = Inventory {
            entries: vec![recorded("Service", "s"), job],
            cleanup: vec!["last".parse().unwrap()],
            cleaned: true,
        };
        let (solution, namespace) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let map = Object::new(to_object(&record, &solution, &namespace)).unwrap();
        assert_eq!(map.reference(), &reference(&solution, &namespace));
        let parsed = parse(Some(&map)).unwrap();
        assert_eq!(parsed, record);
    }

    #[test]
    fn a_record_of_the_time_before_formats_is_read() {
        let service = json!({ "set": "main", "stage": Stage::Data, "apiVersion": "v1", "kind": "Service",
            "resource": "services", "name": "s" });
        let former = json!({ "objects": [service] }).to_string();
        let map = config_map::config_map("a", json!({}), &json!({ FORMER_KEY: former }));
        let parsed = parse(Some(&Object::new(map).unwrap())).unwrap();
        assert_eq!(parsed.entries, [recorded("Service", "s")]);
    }
}
