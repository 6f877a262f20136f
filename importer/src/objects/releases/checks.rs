//! The checks of a rendered release before Helm is run: allowed objects, owners, kinds, namespaces, CRDs, and a
//! server-side dry run. Helm itself would fail at these in the middle of an upgrade.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{ConflictPolicy, DryRunResult, Object, ObjectRef};
use manifests::{Definition, is_definition};
use schemas::Namespace;
use serde_json::Value;

use crate::choices::destination::check_neighbours;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::objects::changes;
use crate::objects::crd::{self, Unknown, Users};
use crate::objects::losses;
use crate::objects::releases::applied_objects::{self, is_hook, is_test, may_run};
use crate::objects::releases::planned::by_identity;
use crate::objects::releases::rendering::served_by;
use crate::objects::releases::{PlannedRelease, Releasing, manager};
use crate::records::storage::read_all_if_allowed;

fn definitions_of(objects: &[Object]) -> Vec<&Value> {
    let values = objects.iter().map(Object::as_value);
    values.filter(|object| is_definition(object)).collect()
}

/// Returns the objects of a release whose kinds are not served yet when Helm needs them. `definitions` are created
/// before the release. The release's own CRDs only count for its hooks: Helm resolves the kinds of all other objects
/// before it creates any object, and the kind of a hook when it creates the hook.
fn undefined<'o>(objects: &'o [Object], definitions: &[Value]) -> impl Iterator<Item = &'o Object> {
    let before: BTreeSet<String> = definitions.iter().flat_map(served_by).collect();
    let own = definitions_of(objects).into_iter();
    let own: BTreeSet<String> = own.flat_map(served_by).collect();
    objects.iter().filter(move |object| {
        let kind = format!("{}/{}", object.gvk().api_version(), object.gvk().kind);
        let is_for_hooks = own.contains(&kind) && is_hook(object);
        !is_for_hooks && !before.contains(&kind)
    })
}

/// Returns a blocker for each forbidden property of these objects. The rules are those for sets.
fn forbidden(objects: &[Object]) -> Vec<Blocker> {
    let problems = |object: &Object| {
        let what = object.reference().to_string();
        let problems = rules::rendered_object(object.as_value()).into_iter();
        problems.map(move |problem| {
            let forbidden = ContentBlocker::ForbiddenInChart {
                object: what.clone(),
                why: problem.to_string(),
            };
            forbidden.into()
        })
    };
    objects.iter().flat_map(problems).collect()
}

impl Releasing<'_> {
    /// Checks that a release contains nothing that an archive must not contain, in any namespace.
    pub(super) fn check_allowed(&self, planned: &PlannedRelease, blockers: &mut Vec<Blocker>) {
        let environment = &self.place.environment;
        blockers.extend(forbidden(&planned.objects));
        blockers.extend(check_neighbours(self.state, environment, &planned.objects));
    }

    /// Checks that the namespace of a release does not belong to another environment.
    pub(super) fn check_namespace(&self, namespace: &Namespace, blockers: &mut Vec<Blocker>) {
        let mut others = self.state.namespaces.iter();
        let other = others.find(|record| {
            record.namespace == *namespace && record.environment != self.place.environment
        });
        if let Some(other) = other {
            let environment = other.environment.clone();
            blockers.push(Blocker::NamespaceTaken {
                namespace: namespace.clone(),
                environment,
            });
        }
    }

    /// Asks the API server to dry-run the objects that Helm would apply. Without it, Helm would fail in the middle of
    /// the upgrade, and its rollback could fail for the same reason. The CRDs of the objects' kinds in `written` are
    /// dry-run first, since they are written first.
    pub(super) async fn try_objects(
        &self,
        planned: &mut PlannedRelease,
        written: &[Object],
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let manager = manager();
        let applied = planned.objects.iter().filter(|object| !is_hook(object));
        let kinds = applied.clone().map(Object::gvk);
        let kinds: BTreeSet<(&str, &str)> = kinds.map(|gvk| (&*gvk.group, &*gvk.kind)).collect();
        let is_used = |definition: &&Object| {
            let definition = Definition(definition.as_value());
            kinds.contains(&(definition.group(), definition.kind()))
        };
        let used: Vec<&Object> = written.iter().filter(is_used).collect();
        let all: Vec<Object> = used.iter().copied().chain(applied).cloned().collect();
        let conflicts = self.asked.request.allowed.conflicts;
        let hidden = planned.hidden(&self.parameters.hidden);
        let tried = self.cluster.dry_run(&all, &manager, ConflictPolicy::Force);
        let tried = all.iter().zip(tried.await?).skip(used.len());
        for (object, (reference, trial)) in tried {
            if let DryRunResult::Redefined(_) = &trial {
                planned.redefined.push(reference);
                continue;
            }
            // The kind or the namespace may be created by the deployment. If it is not, `check_kinds` or `check_spaces`
            // reports that.
            let is_coming = matches!(
                trial,
                DryRunResult::Refused(
                    kubernetes::Error::NoSuchKind(_) | kubernetes::Error::NotFound { .. }
                )
            );
            if !is_coming {
                let tried = changes::planned(object, trial, conflicts, &hidden);
                blockers.extend(tried.err().map(|blocker| of_release(object, blocker)));
            }
        }
        Ok(())
    }

    /// Checks whether the cluster serves the kinds of a release's objects, or will serve them when it is installed.
    pub(super) async fn check_kinds(
        &self,
        planned: &PlannedRelease,
        definitions: &[Value],
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let mut unknown = Unknown::default();
        for object in undefined(&planned.objects, definitions) {
            if !self.cluster.serves(object.gvk()).await? {
                unknown.add(object.gvk(), object);
            }
        }
        let own = definitions_of(&planned.objects);
        let found = unknown.blockers(self.cluster, definitions, &own);
        blockers.extend(found.await?);
        Ok(())
    }

    /// Checks whether the CRDs in a release's templates can replace those in the cluster.
    pub(super) async fn check_definitions(
        &self,
        planned: &PlannedRelease,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let definitions = planned
            .objects
            .iter()
            .filter(|object| is_definition(object.as_value()));
        let definitions: Vec<&Object> = definitions.collect();
        let references: Vec<&ObjectRef> = definitions
            .iter()
            .map(|object| object.reference())
            .collect();
        let found = read_all_if_allowed(self.cluster, &references).await?;
        let version = self.asked.id.version();
        for (definition, live) in definitions.into_iter().zip(found) {
            let Some(live) = live else {
                continue;
            };
            let wanted = definition.as_value();
            // A newer CRD in the cluster is a blocker: Helm cannot skip a single object of a release.
            match crd::judge(version, wanted, &live, None, Users::Here) {
                Ok(_) => {
                    let lost = losses::replaced(self.cluster, &live, wanted, version);
                    blockers.extend(lost.await?);
                }
                Err(blocker) => blockers.push(blocker),
            }
        }
        Ok(())
    }

    /// Refuses objects in namespaces that do not exist and that the deployment does not create. Helm would only fail in
    /// the middle of the upgrade.
    pub(super) async fn check_spaces(
        &self,
        releases: &[PlannedRelease],
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let is_space = |object: &&Object| object.gvk().kind == "Namespace";
        let brought = releases
            .iter()
            .flat_map(|release| &release.objects)
            .filter(is_space)
            .map(|object| object.name().to_owned());
        let mut known: BTreeSet<String> = self.spaces.iter().cloned().chain(brought).collect();
        known.insert(self.place.namespace.to_string());
        for planned in releases.iter().filter(|release| release.changes()) {
            let elsewhere = elsewhere(&planned.objects, &known);
            let spaces = elsewhere
                .keys()
                .map(|name| ObjectRef::cluster_scoped("v1", "Namespace", name));
            let spaces: Vec<ObjectRef> = spaces.collect();
            let wanted: Vec<&ObjectRef> = spaces.iter().collect();
            let live = self.cluster.get_each(&wanted).await?;
            for ((namespace, object), live) in elsewhere.into_iter().zip(live) {
                // If this user may not read the namespace, Helm reports a missing one later.
                if let Ok(None) = live {
                    let [object, release] =
                        [object.reference().to_string(), planned.recorded.to_string()];
                    let missing = ContentBlocker::NoNamespace {
                        object,
                        release,
                        namespace: namespace.to_owned(),
                    };
                    blockers.push(missing.into());
                }
            }
        }
        Ok(())
    }

    /// Checks whether the objects that are new in a release are unowned or its own, and collects the objects that its
    /// hooks would replace.
    pub(super) async fn check_owners(
        &self,
        planned: &mut PlannedRelease,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let known = by_identity(&planned.before);
        let revision = planned.coming();
        let is_asked = |object: &&Object| {
            // The object may have been deleted and then created by someone else, or may have lost Helm's labels and
            // annotations.
            let is_new = !known.contains_key(&object.reference().identity())
                || planned.drifted(object.reference()).is_some();
            if is_hook(object) {
                may_run(object, revision)
            } else {
                is_new
            }
        };
        let asked: Vec<&Object> = planned.objects.iter().filter(is_asked).collect();
        let references: Vec<&ObjectRef> = asked.iter().map(|object| object.reference()).collect();
        let live = read_all_if_allowed(self.cluster, &references)
            .await?
            .into_iter();
        let there = asked.into_iter().zip(live);
        let adopt = self.asked.request.allowed.adopt.objects;
        let release = &planned.recorded;
        let mut replaced = Vec::new();
        for (object, live) in there.filter_map(|(object, live)| Some((object, live?))) {
            let before = known.get(&object.reference().identity());
            let was_hook = before.is_some_and(|sent| is_hook(sent));
            if is_hook(object) {
                match applied_objects::replaced(&live, was_hook, release, adopt) {
                    Ok(goes) => replaced.push(goes),
                    Err(unfit) => blockers.push(unfit),
                }
            } else if let Err(unfit) = applied_objects::whose(&live, was_hook, release, adopt) {
                blockers.push(unfit);
            }
        }
        planned.replaced = replaced;
        Ok(())
    }
}

/// Returns the blocker for an object that Helm would apply. The hint to recreate the object is dropped, since Helm does
/// not recreate objects.
fn of_release(object: &Object, blocker: Blocker) -> Blocker {
    match blocker {
        Blocker::Unfit(ContentBlocker::Immutable { why, .. }) => {
            ContentBlocker::ImmutableOfRelease {
                object: Box::new(object.reference().clone()),
                why,
            }
            .into()
        }
        other => other,
    }
}

/// Returns the namespaces of these objects that are not among the known ones, each with its first object. Test hooks do
/// not count: they run only on request.
fn elsewhere<'a>(objects: &'a [Object], known: &BTreeSet<String>) -> BTreeMap<&'a str, &'a Object> {
    let placed = objects
        .iter()
        .filter(|object| !is_test(object))
        .filter_map(|object| Some((object.namespace()?, object)));
    let unknown = placed.filter(|(namespace, _)| !known.contains(*namespace));
    // Collecting in reverse order keeps the first object of each namespace.
    let unknown: Vec<(&str, &Object)> = unknown.collect();
    unknown.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use planner::RecreateRequest;

    #[test]
    fn what_is_defined_before_a_release_is_there_and_what_it_defines_itself_is_for_hooks_alone() {
        let definition = |kind: &str| {
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": kind },
                "spec": {
                    "group": "a.test", "names": { "kind": kind },
                    "versions": [{ "name": "v1", "served": true }],
                },
            })
        };
        let custom = |kind: &str, annotations: Value| {
            let metadata = json!({ "name": "x", "namespace": "n", "annotations": annotations });
            let object = json!({ "apiVersion": "a.test/v1", "kind": kind, "metadata": metadata });
            Object::new(object).unwrap()
        };
        let hook = json!({ "helm.sh/hook": "post-install" });
        let objects = [
            Object::new(definition("Own")).unwrap(),
            custom("Own", json!({})),
            custom("Own", hook.clone()),
            custom("Needed", json!({})),
            custom("Other", hook),
        ];
        let found: Vec<&str> = undefined(&objects[1..], &[definition("Needed")])
            .map(|object| object.gvk().kind.as_str())
            .collect();
        assert_eq!(found, ["Own", "Own", "Other"]);
        let found: Vec<bool> = undefined(&objects, &[definition("Needed")])
            .filter(|object| object.gvk().kind == "Own")
            .map(is_hook)
            .collect();
        assert_eq!(found, [false]);
    }

    #[test]
    fn a_chart_brings_neither_records_nor_roles_of_kubernetes() {
        let object = |api_version: &str, kind: &str, metadata: serde_json::Value| {
            let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
            Object::new(object).unwrap()
        };
        let rbac = "rbac.authorization.k8s.io/v1";
        let found = forbidden(&[
            object("v1", "Secret", json!({ "name": "s", "namespace": "prod" })),
            object(
                "v1",
                "ConfigMap",
                json!({ "name": "c", "namespace": "metalk8s-solutions" }),
            ),
            object(rbac, "ClusterRole", json!({ "name": "cluster-admin" })),
        ]);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected = [
            "chart contains a forbidden object ConfigMap metalk8s-solutions/c: is in the namespace `metalk8s-solutions`, which is reserved for the records of imports",
            "chart contains a forbidden object ClusterRole cluster-admin: `cluster-admin` is the name of a built-in role of Kubernetes",
        ];
        assert_eq!(found, expected);
    }

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
            .map(|(space, object)| (*space, object.name()))
            .collect();
        assert_eq!(found, [("nowhere", "first")]);
    }

    #[test]
    fn helm_makes_nothing_anew() {
        let set = object("StatefulSet", Some("prod"), "db");
        let recreate: RecreateRequest = "StatefulSet/db".parse().unwrap();
        let immutable = |why: &str| ContentBlocker::Immutable {
            object: "StatefulSet prod/db".to_owned(),
            recreate: recreate.clone(),
            why: why.to_owned(),
        };
        let found = of_release(&set, immutable("no").into());
        let expected = ContentBlocker::ImmutableOfRelease {
            object: Box::new(set.reference().clone()),
            why: "no".to_owned(),
        };
        assert_eq!(found, expected.into());
        let changed = || Blocker::changed(["Role prod/a"]);
        assert_eq!(of_release(&set, changed()), changed());
    }
}
