//! Whose an object is: one of another Solution, or of nobody, is never written or removed.

use deployer::{Cluster, Object, ObjectRef};
use schemas::SolutionName;

use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::vocabulary as v;

/// An object as it is; nothing where this user may not look. That he may is asked with all other rights.
pub(crate) async fn look(cluster: &Cluster, object: &ObjectRef) -> Result<Option<Object>, Error> {
    match cluster.get(object).await {
        Err(deployer::Error::Forbidden { .. }) => Ok(None),
        other => Ok(other?),
    }
}

/// Whether an object that is there, if any, may be written as one of the Solution's.
pub(crate) fn check_owner(
    object: &Object,
    live: Option<&Object>,
    solution: &SolutionName,
) -> Result<(), Obstacle> {
    // The default account is nobody's: only what was added to it is ours.
    match live {
        Some(live) if object.labels().contains_key(v::SOLUTION) => owner_of(live, solution),
        _ => Ok(()),
    }
}

/// Whether an object is one of the Solution's.
pub(crate) fn owner_of(live: &Object, solution: &SolutionName) -> Result<(), Obstacle> {
    let labels = live.labels();
    let owner = labels.get(v::SOLUTION).copied();
    if owner == Some(solution.as_str()) {
        return Ok(());
    }
    Err(Obstacle::Owned(
        live.reference().to_string(),
        owner.map(str::to_owned),
    ))
}

/// Names of an archive may come to the same name of an object; then the last one would be all there is.
pub(crate) fn check_distinct(objects: &[Object], obstacles: &mut Vec<Obstacle>) {
    for (index, object) in objects.iter().enumerate() {
        let reference = object.reference();
        if objects[..index]
            .iter()
            .any(|other| other.reference().is_same_object(reference))
        {
            obstacles.push(Obstacle::SameName(reference.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(name: &str, solution: Option<&str>) -> Object {
        let mut value = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": { "name": name, "namespace": "ns" },
        });
        if let Some(solution) = solution {
            value["metadata"]["labels"] = json!({ v::SOLUTION: solution });
        }
        Object::new(value).unwrap()
    }

    #[test]
    fn names_that_come_to_one_are_in_the_way() {
        let mut obstacles = Vec::new();
        check_distinct(&[role("a", None), role("b", None)], &mut obstacles);
        assert_eq!(obstacles, []);
        check_distinct(&[role("a", None), role("a", None)], &mut obstacles);
        assert_eq!(obstacles.len(), 1);
        assert!(obstacles[0].to_string().contains("Role ns/a"));
    }

    #[test]
    fn an_object_belongs_to_whom_its_label_says() {
        let shop: SolutionName = "shop".parse().unwrap();
        let ours = role("a", Some("shop"));
        assert_eq!(check_owner(&ours, None, &shop), Ok(()));
        assert_eq!(
            check_owner(&ours, Some(&role("a", Some("shop"))), &shop),
            Ok(())
        );
        for (theirs, words) in [(None, "no Solution"), (Some("other"), "other")] {
            let refused = check_owner(&ours, Some(&role("a", theirs)), &shop).unwrap_err();
            assert!(refused.to_string().contains(words), "{refused:?}");
        }
    }
}
