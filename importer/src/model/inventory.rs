//! The storage of a deployment's inventory: one ConfigMap for each Solution in a namespace.

use change::{Inventory, vocabulary as v};
use deployer::{Cluster, Object, ObjectRef};
use schemas::{Namespace, SolutionName};
use serde_json::{Value, json};

use crate::model::config_map;
use crate::model::error::Error;
use crate::model::look::look;
use crate::model::namespace_record::NamespaceRecord;

/// The data key of inventories without a format (before format 2).
const FORMER_KEY: &str = "objects.json";

/// Returns the inventory of a Solution in a namespace.
pub(crate) async fn read(
    cluster: &Cluster,
    solution: &SolutionName,
    space: &NamespaceRecord,
) -> Result<Inventory, Error> {
    let live = cluster.get(&reference(solution, &space.namespace)).await?;
    of(live.as_ref(), solution, space)
}

/// Returns the inventory as [`read`] does, or an empty one if this user may not read it. The preflight check of rights
/// reports that.
pub(crate) async fn look_up(
    cluster: &Cluster,
    solution: &SolutionName,
    space: &NamespaceRecord,
) -> Result<Inventory, Error> {
    let live = look(cluster, &reference(solution, &space.namespace)).await?;
    of(live.as_ref(), solution, space)
}

/// Returns the inventory in a ConfigMap; an empty one if there is none. If the inventory has an old format, the
/// releases come from the record of the namespace.
pub(crate) fn of(
    live: Option<&Object>,
    solution: &SolutionName,
    space: &NamespaceRecord,
) -> Result<Inventory, Error> {
    let mut inventory = live.map_or_else(|| Ok(Inventory::default()), parse)?;
    if !live.is_some_and(config_map::names_releases)
        && let Some(deployed) = space.solutions.get(solution)
    {
        inventory.releases.clone_from(&deployed.former_releases);
    }
    Ok(inventory)
}

/// Returns the inventory in a ConfigMap.
pub(crate) fn parse(live: &Object) -> Result<Inventory, Error> {
    config_map::read(live, FORMER_KEY)
}

/// Returns the ConfigMap of an inventory.
pub(crate) fn to_object(
    inventory: &Inventory,
    solution: &SolutionName,
    namespace: &Namespace,
) -> Value {
    let labels = json!({ v::CARRIED: namespace, v::SOLUTION: solution });
    config_map::record(&name(solution, namespace), labels, inventory)
}

/// Returns the reference of the ConfigMap of a Solution's inventory in a namespace.
pub(crate) fn reference(solution: &SolutionName, namespace: &Namespace) -> ObjectRef {
    config_map::reference(&name(solution, namespace))
}

/// Names of Solutions and namespaces contain no dots, so the ConfigMap's name is unique for each pair.
fn name(solution: &SolutionName, namespace: &Namespace) -> String {
    format!("carried.{namespace}.{solution}")
}

#[cfg(test)]
pub(crate) mod tests {
    use change::{Entry, ReleaseEntry, Stage};
    use schemas::Digest;

    use super::*;
    use crate::model::namespace_record::tests::namespace_record;

    pub(crate) fn release(name: &str, revision: Option<u32>) -> ReleaseEntry {
        ReleaseEntry {
            name: name.parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            chart: "web".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            revision,
            inputs: Digest::new([1; 32]),
            revisions: Vec::new(),
            needed: false,
        }
    }

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
            releases: vec![release("web", Some(2))],
            cleanup: vec!["last".parse().unwrap()],
            cleaned: true,
        };
        let (solution, namespace) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let map = Object::new(to_object(&record, &solution, &namespace)).unwrap();
        assert_eq!(map.reference(), &reference(&solution, &namespace));
        let space = namespace_record("prod", "prod");
        assert_eq!(of(Some(&map), &solution, &space).unwrap(), record);
    }

    #[test]
    fn a_record_of_the_time_before_formats_is_read() {
        let service = json!({ "set": "main", "stage": Stage::Data, "apiVersion": "v1", "kind": "Service",
            "resource": "services", "name": "s" });
        let former = json!({ "objects": [service] }).to_string();
        let map = config_map::config_map("a", json!({}), &json!({ FORMER_KEY: former }));
        let parsed = parse(&Object::new(map).unwrap()).unwrap();
        assert_eq!(parsed.entries, [recorded("Service", "s")]);
    }

    #[test]
    fn releases_that_the_record_of_the_namespace_names_count_until_the_inventory_does() {
        let (solution, namespace): (SolutionName, Namespace) =
            ("shop".parse().unwrap(), "prod".parse().unwrap());
        let mut space = namespace_record("prod", "prod");
        let deployed = json!({ "version": "1.0.0", "releases": [release("web", Some(2))] });
        let deployed = serde_json::from_value(deployed).unwrap();
        space.solutions.insert(solution.clone(), deployed);
        let known = |map: Option<Value>| {
            let map = map.map(|map| Object::new(map).unwrap());
            of(map.as_ref(), &solution, &space).unwrap().releases
        };
        assert_eq!(known(None), [release("web", Some(2))]);
        let empty = to_object(&Inventory::default(), &solution, &namespace);
        let mut former = empty.clone();
        former["data"]["format"] = json!("2");
        assert_eq!(known(Some(former)), [release("web", Some(2))]);
        assert_eq!(known(Some(empty)), []);
        assert!(
            !space.to_object().to_string().contains("web"),
            "it is written no more"
        );
    }
}
