//! Whose an object is: one of another Solution, or of nobody, is never written or removed.

use std::collections::BTreeSet;

use deployer::{Cluster, Object, ObjectRef};
use schemas::SolutionName;

use crate::model::error::Error;
use crate::model::inventory::Entry;
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

/// What tells whether an object may be written as one that a Solution carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    /// Whether what is nobody's is taken over.
    pub(crate) adopt: Adopt,
    /// The cluster's records, if they are known.
    pub(crate) state: Option<&'a ClusterState>,
    /// What is recorded of the object.
    pub(crate) recorded: Recorded<'a>,
}

/// What a site has recorded of an object that is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded<'a> {
    /// Nothing: none of this name was applied.
    Nothing,
    /// That one is applied, and not yet which.
    Some,
    /// The uid of the one that was applied.
    This(&'a str),
}

impl<'a> Recorded<'a> {
    /// What a record says of an object.
    pub(crate) fn of(recorded: Option<&'a Entry>) -> Self {
        match recorded.map(|recorded| recorded.uid.as_deref()) {
            None => Self::Nothing,
            Some(None) => Self::Some,
            Some(Some(uid)) => Self::This(uid),
        }
    }
}

impl Evidence<'_> {
    /// Whether an object with the Solution's labels is the Solution's. Whoever may write in a namespace may give them to
    /// any object there, so that they count only where nothing better is known: for what belongs to the whole cluster,
    /// for data that stayed at a removal, and for what an operator has where one is deployed.
    fn believes(&self, live: &Object, solution: &SolutionName) -> bool {
        match self.recorded {
            Recorded::Some => true,
            Recorded::This(uid) => live.uid() == Some(uid),
            Recorded::Nothing => {
                let stayed = live.gvk().kind == "PersistentVolumeClaim";
                let of_operator = live.labels().contains_key(v::ENVIRONMENT);
                let is_deployed = || self.state.is_some_and(|it| !was_left(live, solution, it));
                live.namespace().is_none() || stayed || of_operator && is_deployed()
            }
        }
    }
}

/// Whether an object that is there, if any, may be written as one that the Solution carries: names are the release's own,
/// so that another environment may have it already. What the records say, if they are known, is believed and not what
/// labels say: what stayed at a removal is nobody's.
pub(crate) fn check_carried(
    object: &Object,
    live: Option<&Object>,
    solution: &SolutionName,
    evidence: Evidence<'_>,
) -> Result<(), Obstacle> {
    let Some(live) = live else {
        return Ok(());
    };
    let Evidence { adopt, state, .. } = evidence;
    let (wanted, there) = (object.labels(), live.labels());
    let what = || live.reference().to_string();
    match there.get(v::SOLUTION) {
        Some(owner) if *owner == solution.as_str() => {
            if there.get(v::NAMESPACE) == wanted.get(v::NAMESPACE) {
                if adopt == Adopt::Allow || evidence.believes(live, solution) {
                    return Ok(());
                }
                return Err(Unfit::Labelled(solution.clone(), what()).into());
            }
            let environment = there.get(v::ENVIRONMENT).copied().unwrap_or_default();
            let environment = environment.to_owned();
            if !state.is_some_and(|state| was_left(live, solution, state)) {
                Err(Unfit::OwnedElsewhere(solution.clone(), environment, what()).into())
            } else if adopt == Adopt::Allow {
                Ok(())
            } else {
                Err(Unfit::LeftBehind(solution.clone(), place_of(live), what()).into())
            }
        }
        Some(_) => owner_of(live, solution),
        None => match holder(live) {
            Holder::Release(_, release) => {
                Err(Unfit::OwnedByHelm(what(), release.to_owned()).into())
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
    use serde_json::{Value, json};

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
            let evidence = evidence(adopt, Some(records), Recorded::Nothing);
            check_carried(&wanted, Some(&live), &shop, evidence)
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
    }

    fn evidence<'a>(
        adopt: Adopt,
        state: Option<&'a ClusterState>,
        recorded: Recorded<'a>,
    ) -> Evidence<'a> {
        Evidence {
            adopt,
            state,
            recorded,
        }
    }

    /// An object of the namespace `prod`, as somebody labelled it.
    fn labelled(kind: &str, labels: &Value) -> Object {
        let metadata = json!({ "name": "a", "namespace": "prod", "uid": "1", "labels": labels });
        let object = json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata });
        Object::new(object).unwrap()
    }

    #[test]
    fn labels_that_anybody_can_write_take_nothing_over() {
        let shop: SolutionName = "shop".parse().unwrap();
        let mut state = ClusterState {
            namespaces: vec![namespace_record("prod", "prod")],
            ..ClusterState::default()
        };
        let ours = json!({ v::SOLUTION: "shop" });
        let wanted = labelled("Service", &ours);
        let takes = |live: &Object, state: &ClusterState, recorded| {
            let refuse = evidence(Adopt::Refuse, Some(state), recorded);
            let allow = evidence(Adopt::Allow, Some(state), recorded);
            let check = |evidence| check_carried(&wanted, Some(live), &shop, evidence);
            assert_eq!(check(allow), Ok(()));
            match check(refuse) {
                Ok(()) => true,
                Err(Obstacle::Unfit(Unfit::Labelled(_, what))) => {
                    assert_eq!(what, live.reference().to_string());
                    false
                }
                Err(other) => panic!("{other}"),
            }
        };
        let mut made = wanted.clone().into_value();
        for (recorded, expected) in [
            (Recorded::Nothing, false),
            (Recorded::This("2"), false),
            (Recorded::This("1"), true),
            // An interruption left it.
            (Recorded::Some, true),
        ] {
            assert_eq!(takes(&wanted, &state, recorded), expected, "{recorded:?}");
        }
        // It holds data, and stayed when the Solution was removed.
        let claim = labelled("PersistentVolumeClaim", &ours);
        assert!(takes(&claim, &state, Recorded::Nothing));
        assert!(!takes(&claim, &state, Recorded::This("2")));
        // Nobody's namespace has it.
        made["metadata"]["namespace"] = Value::Null;
        assert!(takes(
            &Object::new(made).unwrap(),
            &state,
            Recorded::Nothing
        ));
        // It may be an operator's, where there is one.
        let of_operator = json!({ v::SOLUTION: "shop", v::ENVIRONMENT: "prod" });
        let of_operator = labelled("Service", &of_operator);
        assert!(!takes(&of_operator, &state, Recorded::Nothing));
        let deployed = json!({ "version": "1.0.0" });
        let deployed = serde_json::from_value(deployed).unwrap();
        state.namespaces[0].solutions.insert(shop.clone(), deployed);
        assert!(takes(&of_operator, &state, Recorded::Nothing));
        assert!(!takes(&wanted, &state, Recorded::Nothing));
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
