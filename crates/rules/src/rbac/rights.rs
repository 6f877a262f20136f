//! Lists of rights. [`rights`] expands a role to the rights that it grants, [`merge`] reduces a list to the fewest
//! entries, and [`compare`] returns the difference between two lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::finding::problem::RuleProblem;
use crate::rbac::part::{HeldParts, Resource, RightPart, Target};
use crate::rbac::reach::Reach;
use crate::rbac::right::{Right, Targets};
use crate::rbac::rule::{RightsCost, RoleRule, rules};

/// The prefix of the labels by which a `ClusterRole` adds its rights to another one.
pub const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// Returns the rights that the rules of a role grant when bound with this reach: a Role in its namespace, a
/// `ClusterRole` in a namespace by a RoleBinding or in the whole cluster by a ClusterRoleBinding. Rules without effect
/// in this reach (cluster-scoped resources and paths in a namespace) are left out. The result is merged as by
/// [`merge`].
///
/// # Errors
///
/// Fails if a rule is invalid, or if the rules exceed the limits for rights.
pub fn rights(role: &Value, reach: &Reach) -> Result<Vec<Right>, RuleProblem> {
    let rules: Vec<RoleRule<'_>> = rules(role)?.collect::<Result<_, _>>()?;
    RightsCost::of(&rules).check()?;
    let parts: BTreeSet<RightPart<'_>> = rules
        .iter()
        .flat_map(|rule| parts(rule, reach))
        .filter(RightPart::is_granted)
        .collect();
    Ok(without_covered(parts))
}

/// Returns the rights in the fewest entries: sorted, combined by object, and without rights that a wider one covers.
#[must_use]
pub fn merge(rights: &[Right]) -> Vec<Right> {
    without_covered(rights.iter().flat_map(Right::parts).collect())
}

/// The difference between two lists of rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RightsDifference {
    /// The rights that only the second list grants.
    pub gained: Vec<Right>,
    /// The rights that only the first list grants.
    pub lost: Vec<Right>,
}

/// Compares two lists of rights. A right that a wider right of the other list covers is neither gained nor lost.
#[must_use]
pub fn compare(before: &[Right], after: &[Right]) -> RightsDifference {
    RightsDifference {
        gained: not_covered_by(after, before),
        lost: not_covered_by(before, after),
    }
}

/// Returns the names of the ClusterRoles that a role adds its rights to, by its labels: `view`, `edit`, `admin`.
#[must_use]
pub fn aggregates_to(role: &Value) -> Vec<&str> {
    let labels = role.pointer("/metadata/labels").and_then(Value::as_object);
    labels
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.as_str() == Some("true"))
        .filter_map(|(label, _)| label.strip_prefix(AGGREGATE_TO))
        .collect()
}

/// Returns the rights that the first list grants and the second does not.
fn not_covered_by(rights: &[Right], others: &[Right]) -> Vec<Right> {
    let held = HeldParts::new(others.iter().flat_map(Right::parts));
    let parts = rights.iter().flat_map(Right::parts);
    without_covered(parts.filter(|part| !held.covers(part)).collect())
}

/// Returns each verb of a rule with each of its resources and paths.
fn parts<'a>(rule: &'a RoleRule<'_>, reach: &'a Reach) -> impl Iterator<Item = RightPart<'a>> {
    let names = match rule.names.as_slice() {
        [] => vec![None],
        names => names.iter().map(|name| Some(*name)).collect(),
    };
    let urls = rule.urls.iter().map(|url| Target::Url(url));
    let resources = rule.groups.iter().flat_map(move |group| {
        let names = names.clone();
        rule.resources.iter().flat_map(move |resource| {
            let thing = |name| Target::Resource {
                group,
                resource: Resource::new(resource),
                name,
            };
            names.clone().into_iter().map(thing)
        })
    });
    let things = urls.chain(resources);
    things.flat_map(move |thing| {
        rule.verbs
            .iter()
            .map(move |verb| RightPart { reach, thing, verb })
    })
}

fn without_covered(parts: BTreeSet<RightPart<'_>>) -> Vec<Right> {
    let held = HeldParts::new(parts.iter().copied());
    let kept = parts.into_iter().filter(|part| !held.covers_by_wider(part));
    by_object(kept)
}

/// Combines parts into one right for all verbs of a thing, and for all names with the same verbs.
fn by_object<'a>(parts: impl Iterator<Item = RightPart<'a>>) -> Vec<Right> {
    let mut verbs: BTreeMap<(&Reach, Target<'_>), BTreeSet<&str>> = BTreeMap::new();
    for part in parts {
        let thing = (part.reach, part.thing);
        verbs.entry(thing).or_default().insert(part.verb);
    }
    let mut names: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for ((reach, thing), verbs) in verbs {
        let (name, of_all) = match thing {
            Target::Resource {
                group,
                resource,
                name,
            } => (
                name,
                Target::Resource {
                    group,
                    resource,
                    name: None,
                },
            ),
            Target::Url(_) => (None, thing),
        };
        let same = (reach, of_all, name.is_some(), verbs);
        names.entry(same).or_default().extend(name);
    }
    let rights = names
        .into_iter()
        .map(|((reach, thing, _, verbs), names)| right(reach, thing, &verbs, &names));
    rights.collect()
}

fn right(
    reach: &Reach,
    thing: Target<'_>,
    verbs: &BTreeSet<&str>,
    names: &BTreeSet<&str>,
) -> Right {
    let owned = |texts: &BTreeSet<&str>| texts.iter().map(|text| (*text).to_owned()).collect();
    let object = match thing {
        Target::Url(url) => Targets::Url(url.to_owned()),
        Target::Resource {
            group, resource, ..
        } => Targets::Resource {
            group: group.to_owned(),
            resource: resource.to_string(),
            names: owned(names),
        },
    };
    Right {
        reach: reach.clone(),
        object,
        verbs: owned(verbs),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prod() -> Reach {
        Reach::Namespace("prod".to_owned())
    }

    /// Returns the rights of one rule of a `ClusterRole`.
    fn of(rule: &Value, reach: &Reach) -> Vec<Right> {
        rights(&json!({"kind": "ClusterRole", "rules": [rule]}), reach).unwrap()
    }

    fn words(rights: &[Right]) -> Vec<String> {
        rights.iter().map(ToString::to_string).collect()
    }

    fn resources(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
        json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
    }

    #[test]
    fn rights_are_merged_and_said_in_plain_words() {
        let role = json!({"kind": "Role", "rules": [
            resources(&["", "apps"], &["secrets"], &["get", "list"]),
            resources(&[""], &["secrets"], &["watch"]),
            resources(&["apps"], &["deployments"], &["create", "update", "patch", "delete"]),
            resources(&["apps"], &["deployments/status"], &["patch"]),
            resources(&["example.test"], &["servers"], &["*"]),
            resources(&["example.test"], &["servers", "servers/status"], &["get"]),
        ]});
        assert_eq!(
            words(&rights(&role, &prod()).unwrap()),
            [
                "read all Secrets of namespace prod",
                "create, change and delete Deployments of namespace prod",
                "patch the status of Deployments of namespace prod",
                "get and list all secrets.apps of namespace prod",
                "do everything with servers.example.test of namespace prod",
                "get the status of servers.example.test of namespace prod",
            ]
        );
    }

    #[test]
    fn what_a_reach_does_not_hold_is_no_right() {
        let nodes = resources(&[""], &["nodes", "pods"], &["get"]);
        assert_eq!(
            words(&of(&nodes, &prod())),
            ["get all Pods of namespace prod"]
        );
        assert_eq!(of(&nodes, &Reach::Cluster).len(), 2);
        let spaces = resources(&[""], &["namespaces"], &["list", "patch", "create"]);
        assert_eq!(
            words(&of(&spaces, &prod())),
            ["patch the namespace prod itself"]
        );
        let urls = json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]});
        assert!(of(&urls, &prod()).is_empty());
        assert_eq!(words(&of(&urls, &Reach::Cluster)), ["GET /metrics"]);
    }

    #[test]
    fn names_stay_apart_from_all() {
        let named = |names: &[&str]| json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": names});
        let two = of(&named(&["b", "a"]), &prod());
        assert_eq!(
            words(&two),
            ["get the Secrets `a` and `b` of namespace prod"]
        );
        let all = of(&named(&[]), &prod());
        assert_eq!(
            compare(&all, &two),
            RightsDifference {
                gained: vec![],
                lost: all.clone()
            }
        );
        assert_eq!(
            compare(&of(&named(&["a"]), &prod()), &two).gained,
            of(&named(&["b"]), &prod())
        );
    }

    #[test]
    fn wildcards_cover_and_are_covered_only_by_wildcards() {
        let every = of(&resources(&["*"], &["*"], &["*"]), &Reach::Cluster);
        assert_eq!(
            words(&every),
            ["do everything with everything in the whole cluster"]
        );
        let scale = of(&resources(&["apps"], &["*/scale"], &["get"]), &prod());
        for (narrow, covered) in [
            (resources(&["apps"], &["deployments/scale"], &["get"]), true),
            (resources(&["apps"], &["deployments"], &["get"]), false),
            (
                resources(&["apps"], &["deployments/scale"], &["patch"]),
                false,
            ),
        ] {
            let narrow = of(&narrow, &prod());
            let compared = compare(&scale, &narrow);
            assert_eq!(compared.gained.is_empty(), covered, "{narrow:?}");
            assert_eq!(compared.lost, scale);
            assert!(compare(&every, &narrow).gained.is_empty());
        }
    }

    #[test]
    fn a_wider_reach_covers_a_narrower_one() {
        let pods = resources(&[""], &["pods"], &["get"]);
        let (here, everywhere) = (of(&pods, &prod()), of(&pods, &Reach::Cluster));
        assert_eq!(
            compare(&here, &everywhere),
            RightsDifference {
                gained: everywhere.clone(),
                lost: vec![]
            }
        );
        assert_eq!(merge(&[here, everywhere.clone()].concat()), everywhere);
    }

    #[test]
    fn paths_are_covered_by_their_beginnings() {
        let urls = |urls: &[&str], verbs: &[&str]| {
            of(
                &json!({"nonResourceURLs": urls, "verbs": verbs}),
                &Reach::Cluster,
            )
        };
        let many = urls(&["/a", "/a/*", "/a/b/*", "/a/c", "/b", "/b*"], &["get"]);
        assert_eq!(words(&many), ["GET /a", "GET /a/*", "GET /b*"]);
        assert_eq!(
            words(&urls(&["/a", "*"], &["get", "*"])),
            ["send any request to *"]
        );
        let all = urls(&["*"], &["*"]);
        assert_eq!(
            compare(&many, &all),
            RightsDifference {
                gained: all,
                lost: vec![]
            }
        );
    }

    #[test]
    fn a_role_that_adds_to_others_is_known_by_its_labels() {
        let role = json!({"metadata": {"labels": {
            "rbac.authorization.k8s.io/aggregate-to-view": "true",
            "rbac.authorization.k8s.io/aggregate-to-edit": "false",
            "app": "true",
        }}});
        assert_eq!(aggregates_to(&role), ["view"]);
        assert!(aggregates_to(&json!({})).is_empty());
    }

    /// The work is proportional to the number of parts, because each part has a fixed number of wider forms.
    #[test]
    fn the_work_is_that_of_the_parts() {
        let many = |letter: &str, count| -> Vec<String> {
            (0..count)
                .map(|number| format!("{letter}{number}"))
                .collect()
        };
        let role = json!({"kind": "Role", "rules": [
            {"apiGroups": ["", "a.test"], "resources": many("r", 500), "verbs": many("v", 100)},
        ]});
        let rights = rights(&role, &prod()).unwrap();
        assert_eq!(rights.len(), 2 * 500);
        assert_eq!(
            rights.iter().flat_map(Right::parts).count(),
            crate::limits::RIGHTS
        );
        let fewer = &rights[..999];
        assert_eq!(compare(fewer, &rights).gained, rights[999..]);
    }
}
