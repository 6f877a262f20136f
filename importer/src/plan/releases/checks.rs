//! What is in the way of a release before Helm is run.

use deployer::{Conflicts, FieldManager, Object, ObjectRef, Trial};
use schemas::Namespace;
use std::collections::{BTreeMap, BTreeSet};

use super::planned::by_identity;
use super::rendering::served_by;
use super::sent::{is_hook, is_test};
use super::{MANAGER, PlannedRelease, Releasing};
use crate::model::error::Error;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::owner::look_all;
use crate::model::request::Adopt;
use crate::plan::crd::{self, Users};
use crate::plan::finish::is_definition;
use crate::plan::hidden::Hidden;
use crate::plan::kinds::Unknown;
use crate::plan::losses;
use crate::plan::summary;

impl Releasing<'_> {
    /// A release lies in no namespace of another environment.
    pub(super) fn check_namespace(&self, namespace: &Namespace, obstacles: &mut Vec<Obstacle>) {
        let mut others = self.state.namespaces.iter();
        let other = others
            .find(|it| it.namespace == *namespace && it.environment != self.place.environment);
        if let Some(other) = other {
            let environment = other.environment.clone();
            obstacles.push(Obstacle::NamespaceTaken(namespace.clone(), environment));
        }
    }

    /// Has the server try what Helm would apply: Helm itself would find out in the middle, and fail at the same when it
    /// goes back.
    pub(super) async fn try_objects(
        &self,
        planned: &PlannedRelease,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let manager = FieldManager::new(MANAGER).expect("the constant is a field manager's name");
        let applied = planned.objects.iter().filter(|it| !is_hook(it));
        let applied: Vec<Object> = applied.cloned().collect();
        let conflicts = self.asked.request.allowed.conflicts;
        let tried = self.cluster.dry_run(&applied, &manager, Conflicts::Force);
        for (object, (_, trial)) in applied.iter().zip(tried.await?) {
            // A kind or a namespace may come with the deployment; if not, that is found elsewhere.
            let is_coming = matches!(
                &trial,
                Trial::Refused(deployer::Error::NoSuchKind(_) | deployer::Error::NotFound { .. })
            );
            if !is_coming {
                let tried = summary::planned(object, trial, conflicts, &Hidden::default());
                obstacles.extend(tried.err().map(|it| of_release(object, it)));
            }
        }
        Ok(())
    }

    /// Whether the cluster has the kinds of a release's objects, or will have.
    pub(super) async fn check_kinds(
        &self,
        planned: &PlannedRelease,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let carried = self.asked.accepted.crds().iter().map(|it| &it.document);
        let own = planned.objects.iter().map(Object::as_value);
        let definitions = carried.chain(own.filter(|it| is_definition(it)));
        let brought: BTreeSet<String> = definitions.clone().flat_map(served_by).collect();
        let mut unknown = Unknown::default();
        for object in &planned.objects {
            let gvk = object.gvk();
            let is_brought = brought.contains(&format!("{}/{}", gvk.api_version(), gvk.kind));
            if !is_brought && !self.cluster.serves(gvk).await? {
                unknown.add(gvk, object);
            }
        }
        obstacles.extend(unknown.obstacles(self.cluster, definitions).await?);
        Ok(())
    }

    /// Judges whether the definitions in a release's templates take the place of those that are there.
    pub(super) async fn check_definitions(
        &self,
        planned: &PlannedRelease,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let definitions = planned
            .objects
            .iter()
            .filter(|it| is_definition(it.as_value()));
        let definitions: Vec<&Object> = definitions.collect();
        let references: Vec<&ObjectRef> = definitions.iter().map(|it| it.reference()).collect();
        let found = look_all(self.cluster, &references).await?;
        let version = self.asked.id.version();
        for (definition, live) in definitions.into_iter().zip(found) {
            let Some(live) = live else {
                continue;
            };
            let wanted = definition.as_value();
            // Helm has no way to leave a newer one.
            match crd::judge(version, wanted, &live, None, Users::Here) {
                Ok(_) => {
                    let lost = losses::replaced(self.cluster, &live, wanted, version);
                    obstacles.extend(lost.await?);
                }
                Err(obstacle) => obstacles.push(obstacle),
            }
        }
        Ok(())
    }

    /// Refuses objects in namespaces that are not there and that nothing brings: Helm would find out in the middle.
    pub(super) async fn check_spaces(
        &self,
        releases: &[PlannedRelease],
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let is_space = |it: &&Object| it.gvk().kind == "Namespace";
        let brought = releases.iter().flat_map(|it| &it.objects).filter(is_space);
        let brought = brought.map(|it| it.name().to_owned());
        let mut known: BTreeSet<String> = self.spaces.iter().cloned().chain(brought).collect();
        known.insert(self.place.namespace.to_string());
        for planned in releases.iter().filter(|it| it.changes()) {
            let elsewhere = elsewhere(&planned.objects, &known);
            let spaces = elsewhere.keys();
            let spaces = spaces.map(|name| ObjectRef::cluster_scoped("v1", "Namespace", name));
            let spaces: Vec<ObjectRef> = spaces.collect();
            let wanted: Vec<&ObjectRef> = spaces.iter().collect();
            let live = self.cluster.get_each(&wanted).await?;
            for ((namespace, object), live) in elsewhere.into_iter().zip(live) {
                // Who may not look is told by Helm.
                if let Ok(None) = live {
                    let [object, release] =
                        [object.reference().to_string(), planned.recorded.to_string()];
                    let missing = Unfit::NoNamespace(object, release, namespace.to_owned());
                    obstacles.push(missing.into());
                }
            }
        }
        Ok(())
    }

    /// Whether the objects that a release does not have yet are free, or its own by Helm's marks.
    pub(super) async fn check_owners(
        &self,
        planned: &PlannedRelease,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let known = by_identity(&planned.before);
        // What hooks make goes before they run anew.
        let is_new = |it: &&Object| !known.contains_key(&it.reference().identity()) && !is_hook(it);
        let new = planned.objects.iter().filter(is_new);
        let new: Vec<&ObjectRef> = new.map(Object::reference).collect();
        let release = &planned.recorded;
        for live in look_all(self.cluster, &new).await?.into_iter().flatten() {
            let marks = live.annotations();
            let mark = |name: &str| marks.get(name).copied();
            let owner = mark("meta.helm.sh/release-name");
            let space = mark("meta.helm.sh/release-namespace");
            if (owner, space)
                == (
                    Some(release.name.as_str()),
                    Some(release.namespace.as_str()),
                )
            {
                continue;
            }
            let what = live.reference().to_string();
            match (owner, self.asked.request.allowed.adopt.objects) {
                (Some(owner), _) => {
                    obstacles.push(Unfit::OwnedByHelm(what, owner.to_owned()).into());
                }
                (None, Adopt::Allow) => {}
                (None, Adopt::Refuse) => {
                    obstacles.push(Unfit::NotOfRelease(what, release.to_string()).into());
                }
            }
        }
        Ok(())
    }
}

/// What is in the way of an object that Helm would apply: Helm makes no object anew, whoever asks for it.
fn of_release(object: &Object, obstacle: Obstacle) -> Obstacle {
    match obstacle {
        Obstacle::Unfit(Unfit::Immutable(_, _, why)) => {
            Unfit::ImmutableOfRelease(Box::new(object.reference().clone()), why).into()
        }
        other => other,
    }
}

/// The namespaces, each with an object that is to lie there, that these objects do not bring and are not among those known.
fn elsewhere<'a>(objects: &'a [Object], known: &BTreeSet<String>) -> BTreeMap<&'a str, &'a Object> {
    let placed = objects.iter().filter(|it| !is_test(it));
    let placed = placed.filter_map(|it| Some((it.namespace()?, it)));
    let unknown = placed.filter(|(namespace, _)| !known.contains(*namespace));
    // The first of each namespace is named.
    let unknown: Vec<(&str, &Object)> = unknown.collect();
    unknown.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::request::Recreate;

    fn object(kind: &str, namespace: Option<&str>, name: &str) -> Object {
        let metadata = json!({ "name": name, "namespace": namespace });
        Object::new(json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata })).unwrap()
    }

    #[test]
    fn objects_in_a_namespace_that_nobody_makes_are_found() {
        let mut test = object("Pod", Some("tests"), "test").into_value();
        test["metadata"]["annotations"] = json!({ "helm.sh/hook": "test" });
        let objects = [
            object("Service", Some("prod"), "web"),
            object("Role", Some("nowhere"), "first"),
            object("RoleBinding", Some("nowhere"), "second"),
            object("Namespace", None, "own"),
            Object::new(test).unwrap(),
        ];
        let known = BTreeSet::from(["prod".to_owned()]);
        let found = elsewhere(&objects, &known);
        let found: Vec<_> = found
            .iter()
            .map(|(space, it)| (*space, it.name()))
            .collect();
        assert_eq!(found, [("nowhere", "first")]);
    }

    #[test]
    fn helm_makes_nothing_anew() {
        let set = object("StatefulSet", Some("prod"), "db");
        let recreate: Recreate = "StatefulSet/db".parse().unwrap();
        let immutable = |why: &str| {
            Unfit::Immutable(
                "StatefulSet prod/db".to_owned(),
                recreate.clone(),
                why.to_owned(),
            )
        };
        let found = of_release(&set, immutable("no").into());
        let expected =
            Unfit::ImmutableOfRelease(Box::new(set.reference().clone()), "no".to_owned());
        assert_eq!(found, expected.into());
        assert_eq!(of_release(&set, Obstacle::Changed), Obstacle::Changed);
    }
}
