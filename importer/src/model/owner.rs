//! Whose an object is: one of another Solution, or of nobody, is never written or removed.

use std::collections::BTreeSet;

use deployer::{Cluster, Object, ObjectRef};
use schemas::SolutionName;

use crate::model::error::Error;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::request::Adopt;
use crate::model::state::ClusterState;
use crate::model::vocabulary as v;

/// An object as it is; nothing where this user may not look. That he may is asked with all other rights.
pub(crate) async fn look(cluster: &Cluster, object: &ObjectRef) -> Result<Option<Object>, Error> {
    match cluster.get(object).await {
        Err(deployer::Error::Forbidden { .. }) => Ok(None),
        other => Ok(other?),
    }
}

/// Many objects as they are, in the same order. Nothing also of a kind that the cluster does not have: its definition
/// comes with the archive, or has gone.
pub(crate) async fn look_all(
    cluster: &Cluster,
    objects: &[&ObjectRef],
) -> Result<Vec<Option<Object>>, Error> {
    let looked = cluster.get_each(objects).await?.into_iter();
    let looked = looked.map(|live| match live {
        Err(deployer::Error::Forbidden { .. } | deployer::Error::NoSuchKind(_)) => Ok(None),
        other => Ok(other?),
    });
    looked.collect()
}

/// Where Helm says which release an object is of: the release's name, and its namespace.
pub(crate) const RELEASE: (&str, &str) = (
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
);

/// Whose an object is for Helm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder<'a> {
    /// A release's, by namespace and name.
    Release(&'a str, &'a str),
    Nobody,
}

/// Whose an object is by Helm's marks.
pub(crate) fn holder(live: &Object) -> Holder<'_> {
    let marks = live.annotations();
    let mark = |name: &str| marks.get(name).copied();
    match mark(RELEASE.0) {
        Some(name) => Holder::Release(mark(RELEASE.1).unwrap_or_default(), name),
        None => Holder::Nobody,
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

/// Whether an object that is there, if any, may be written as one that the Solution carries: names are the release's own,
/// so that another environment may have it already. What the records say, if they are known, is believed and not what
/// labels say: what stayed at a removal is nobody's.
pub(crate) fn check_carried(
    object: &Object,
    live: Option<&Object>,
    solution: &SolutionName,
    (adopt, records): (Adopt, Option<&ClusterState>),
) -> Result<(), Obstacle> {
    let Some(live) = live else {
        return Ok(());
    };
    let (wanted, there) = (object.labels(), live.labels());
    match there.get(v::SOLUTION) {
        Some(owner) if *owner == solution.as_str() => {
            if there.get(v::NAMESPACE) == wanted.get(v::NAMESPACE) {
                return Ok(());
            }
            let environment = there.get(v::ENVIRONMENT).copied().unwrap_or_default();
            let (environment, what) = (environment.to_owned(), live.reference().to_string());
            if !records.is_some_and(|records| was_left(live, solution, records)) {
                Err(Unfit::OwnedElsewhere(solution.clone(), environment, what).into())
            } else if adopt == Adopt::Allow {
                Ok(())
            } else {
                Err(Unfit::LeftBehind(solution.clone(), place_of(live), what).into())
            }
        }
        Some(_) => owner_of(live, solution),
        None => match holder(live) {
            Holder::Release(_, release) => {
                let release = release.to_owned();
                Err(Unfit::OwnedByHelm(live.reference().to_string(), release).into())
            }
            Holder::Nobody if adopt == Adopt::Allow => Ok(()),
            Holder::Nobody => owner_of(live, solution),
        },
    }
}

/// Where an object says that it belonged. A namespace that stayed behind no longer says to which environment.
fn place_of(live: &Object) -> String {
    let labels = live.labels();
    let says = |name| labels.get(name).copied();
    match (says(v::ENVIRONMENT), says(v::NAMESPACE)) {
        (None, Some(namespace)) => format!("namespace `{namespace}`"),
        (environment, _) => format!("environment `{}`", environment.unwrap_or_default()),
    }
}

/// Whether the Solution is not deployed where an object says that it belongs.
fn was_left(live: &Object, solution: &SolutionName, records: &ClusterState) -> bool {
    let labels = live.labels();
    let place = labels.get(v::NAMESPACE).copied().or(live.namespace());
    let place = place.and_then(|place| place.parse().ok());
    place.is_some_and(|place| records.deployed(&place, solution).is_none())
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

/// Whether an object is one of the Solution's and the very one of this uid, if that is known: another one may have been made
/// under its name.
pub(crate) fn is_that(
    live: &Object,
    uid: Option<&str>,
    solution: &SolutionName,
) -> Result<(), Obstacle> {
    owner_of(live, solution)?;
    if uid.is_some_and(|uid| live.uid() != Some(uid)) {
        return Err(Obstacle::MadeAnew(live.reference().to_string()));
    }
    Ok(())
}

/// Names of an archive may come to the same name of an object; then the last one would be all there is.
pub(crate) fn check_distinct(objects: &[Object], obstacles: &mut Vec<Obstacle>) {
    let mut seen = BTreeSet::new();
    for object in objects {
        let ObjectRef {
            gvk,
            namespace,
            name,
        } = object.reference();
        if !seen.insert((&gvk.group, &gvk.kind, namespace, name)) {
            obstacles.push(Obstacle::SameName(object.reference().to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::namespace_record::tests::namespace_record;

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
    fn what_another_environment_left_is_nobodys() {
        let shop: SolutionName = "shop".parse().unwrap();
        let mut live = role("a", Some("shop")).into_value();
        live["metadata"]["labels"][v::ENVIRONMENT] = json!("prod");
        live["metadata"]["labels"][v::NAMESPACE] = json!("shop-prod");
        let live = Object::new(live).unwrap();
        let check = |records: &ClusterState, adopt| {
            let wanted = role("a", Some("shop"));
            check_carried(&wanted, Some(&live), &shop, (adopt, Some(records)))
        };
        let mut records = ClusterState {
            namespaces: vec![namespace_record("prod", "shop-prod")],
            ..ClusterState::default()
        };
        let left = check(&records, Adopt::Refuse).unwrap_err();
        assert!(
            matches!(left, Obstacle::Unfit(Unfit::LeftBehind(..))),
            "{left:?}"
        );
        assert_eq!(check(&records, Adopt::Allow), Ok(()));
        let deployed = json!({ "version": "1.0.0" });
        let deployed = serde_json::from_value(deployed).unwrap();
        records.namespaces[0]
            .solutions
            .insert(shop.clone(), deployed);
        for adopt in [Adopt::Refuse, Adopt::Allow] {
            let owned = check(&records, adopt).unwrap_err();
            let elsewhere = matches!(owned, Obstacle::Unfit(Unfit::OwnedElsewhere(..)));
            assert!(elsewhere, "{owned:?}");
        }
        // The same environment takes back what is its own.
        let own = check_carried(&live, Some(&live), &shop, (Adopt::Refuse, Some(&records)));
        assert_eq!(own, Ok(()));
        records.namespaces.clear();
        let own = check_carried(&live, Some(&live), &shop, (Adopt::Refuse, Some(&records)));
        assert_eq!(own, Ok(()));
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
