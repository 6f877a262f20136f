//! Grants: the rights that subjects get from bindings and roles. [`grants`] resolves the bindings among a group of
//! objects. As in Kubernetes, roles are identified by group, kind, namespace and name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use schemas::printable_within;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{RBAC, group_of, kind_of, text};
use crate::finding::problem::RuleProblem;
use crate::limits::{POINTER, RIGHTS};
use crate::rbac::reach::Reach;
use crate::rbac::right::Right;
use crate::rbac::rights::{aggregates_to, compare, merge, rights};
use crate::rbac::role::aggregates;

/// The prefix of a ServiceAccount's user name in the API server.
const ACCOUNT: &str = "system:serviceaccount:";

/// The holder of a right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Subject")]
pub enum RightsSubject {
    /// A ServiceAccount.
    Account {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A user.
    User(String),
    /// The members of a group.
    Group(String),
    /// The holders of a role, by bindings that are not listed.
    Holders(String),
}

impl RightsSubject {
    /// Returns true for subjects that include arbitrary users or programs.
    #[must_use]
    pub fn is_anybody(&self) -> bool {
        match self {
            Self::User(name) => name == "system:anonymous",
            Self::Group(name) => {
                matches!(
                    name.as_str(),
                    "system:authenticated" | "system:unauthenticated"
                ) || name.starts_with("system:serviceaccounts")
            }
            Self::Account { .. } | Self::Holders(_) => false,
        }
    }

    /// Returns the subject in an entry of a binding's `subjects`.
    fn of(entry: &Value, binding: &Value) -> Self {
        let name = text(entry, "/name").unwrap_or_default().to_owned();
        let account = |namespace: &str, name: &str| Self::Account {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        match text(entry, "/kind") {
            Some("ServiceAccount") => {
                let namespace = text(entry, "/namespace").or(text(binding, "/metadata/namespace"));
                account(namespace.unwrap_or_default(), &name)
            }
            Some("Group") => Self::Group(name),
            _ => match name
                .strip_prefix(ACCOUNT)
                .and_then(|rest| rest.split_once(':'))
            {
                Some((namespace, name)) => account(namespace, name),
                None => Self::User(name),
            },
        }
    }
}

impl fmt::Display for RightsSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |name: &str| printable_within(name, POINTER);
        match self {
            Self::Account { namespace, name } => {
                write!(f, "ServiceAccount {}/{}", shown(namespace), shown(name))
            }
            Self::User(name) if self.is_anybody() => {
                write!(f, "everyone, also without a login ({name})")
            }
            Self::User(name) => write!(f, "the user `{}`", shown(name)),
            Self::Group(name) => match name.as_str() {
                "system:unauthenticated" => write!(f, "everyone, also without a login ({name})"),
                "system:authenticated" => write!(f, "everyone with any login ({name})"),
                "system:serviceaccounts" => write!(f, "every ServiceAccount ({name})"),
                _ => write!(f, "the group `{}`", shown(name)),
            },
            Self::Holders(role) => write!(f, "everyone with the role {}", shown(role)),
        }
    }
}

/// A role as bindings refer to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoleName {
    /// The namespace of a Role. `None` for a `ClusterRole`.
    pub namespace: Option<String>,
    /// The name of the role.
    pub name: String,
}

impl RoleName {
    /// Returns the role that a binding refers to. Returns `None` if the object is not a binding, or refers to something
    /// else.
    #[must_use]
    pub fn bound_by(binding: &Value) -> Option<Self> {
        let reach = Reach::of(binding)?;
        let bound = |field: &str| text(binding, &format!("/roleRef/{field}"));
        // The API server uses this group as the default.
        let group = bound("apiGroup").filter(|group| !group.is_empty());
        let namespace = match (bound("kind")?, reach) {
            ("ClusterRole", _) => None,
            ("Role", Reach::Namespace(namespace)) => Some(namespace),
            _ => return None,
        };
        (group.unwrap_or(RBAC) == RBAC).then(|| Self {
            namespace,
            name: bound("name").unwrap_or_default().to_owned(),
        })
    }

    /// Returns the name of a role object, or `None` for other objects.
    #[must_use]
    pub fn of(object: &Value) -> Option<Self> {
        let namespace = match (group_of(object), kind_of(object).1) {
            (RBAC, "ClusterRole") => None,
            (RBAC, "Role") => Some(text(object, "/metadata/namespace")?.to_owned()),
            _ => return None,
        };
        let name = text(object, "/metadata/name")?.to_owned();
        Some(Self { namespace, name })
    }

    /// Returns the reach of the role's rights without a binding.
    fn reach(&self) -> Reach {
        let namespace = self.namespace.clone();
        namespace.map_or(Reach::Cluster, Reach::Namespace)
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable_within(&self.name, POINTER);
        match &self.namespace {
            Some(namespace) => write!(f, "Role {}/{name}", printable_within(namespace, POINTER)),
            None => write!(f, "ClusterRole {name}"),
        }
    }
}

/// A role that a binding grants and that is not among the objects. It exists in the cluster, or may be created there
/// later.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BorrowedRole {
    /// The subject that gets the role.
    pub subject: RightsSubject,
    /// The role.
    pub role: RoleName,
    /// The reach in which the subject gets the rights.
    pub reach: Reach,
    /// True if the rights of the role are known.
    pub is_known: bool,
}

/// The rights that bindings and roles grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantedRights {
    /// The rights of each subject, merged by [`merge`].
    pub rights: BTreeMap<RightsSubject, Vec<Right>>,
    /// The roles of the cluster that are granted.
    pub borrowed: BTreeSet<BorrowedRole>,
}

impl GrantedRights {
    /// Returns the merged rights of all bound subjects.
    #[must_use]
    pub fn bound(&self) -> Vec<Right> {
        let all = self.rights.iter();
        let bound = all.filter(|(subject, _)| !matches!(subject, RightsSubject::Holders(_)));
        let rights: Vec<Right> = bound.flat_map(|(_, rights)| rights).cloned().collect();
        merge(&rights)
    }
}

/// The error that the rules of a role cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRole {
    /// The role.
    pub role: RoleName,
    /// The problem of its rules.
    pub problem: RuleProblem,
}

/// Returns the rights of each subject by the roles and bindings among `objects`. `known` are roles of the cluster,
/// which are used for roles that are not among the objects. The rights of an unbound role are listed for its possible
/// holders.
///
/// # Errors
///
/// Fails if a role cannot be interpreted, or if the rights exceed [`RIGHTS`].
pub fn grants<'a>(
    objects: &[&'a Value],
    known: &[&'a Value],
) -> Result<GrantedRights, UnreadableRole> {
    let mut roles = Roles::of(objects, known);
    let mut all: BTreeMap<RightsSubject, Vec<Right>> = BTreeMap::new();
    let mut granted = GrantedRights::default();
    let mut bound = BTreeSet::new();
    for binding in objects {
        let (Some(role), Some(reach)) = (RoleName::bound_by(binding), Reach::of(binding)) else {
            continue;
        };
        for subject in subjects(binding) {
            let rights = roles.rights(&role, &reach)?;
            if !roles.own.contains_key(&role) {
                granted.borrowed.insert(BorrowedRole {
                    subject: subject.clone(),
                    role: role.clone(),
                    reach: reach.clone(),
                    is_known: rights.is_some(),
                });
            }
            let held = all.entry(subject).or_default();
            held.extend(rights.iter().flatten().cloned());
        }
        bound.insert(role);
    }
    for (name, role) in roles.own.clone() {
        for holder in holders(&name, role, &bound) {
            let rights = roles.rights(&name, &name.reach())?;
            let held = all.entry(RightsSubject::Holders(holder)).or_default();
            held.extend(rights.into_iter().flatten());
        }
    }
    let all = all.into_iter().map(|(who, rights)| (who, merge(&rights)));
    granted.rights = all.filter(|(_, rights)| !rights.is_empty()).collect();
    Ok(granted)
}

/// Returns the subjects of a binding.
pub fn subjects(binding: &Value) -> impl Iterator<Item = RightsSubject> {
    let entries = manifests::list(binding, "/subjects").iter();
    entries.map(|entry| RightsSubject::of(entry, binding))
}

/// Returns the possible holders of a role without a binding: the holders of the roles that it aggregates to, or
/// otherwise of the role itself if no binding refers to it.
fn holders(name: &RoleName, role: &Value, bound: &BTreeSet<RoleName>) -> Vec<String> {
    let holders = aggregates_to(role);
    if !holders.is_empty() {
        return holders.into_iter().map(str::to_owned).collect();
    }
    let own = match &name.namespace {
        Some(namespace) => format!("{namespace}/{}", name.name),
        None => name.name.clone(),
    };
    let is_unbound = !bound.contains(name);
    is_unbound.then_some(own).into_iter().collect()
}

/// Checks whether rights include another right.
#[must_use]
pub fn covers(held: &[Right], right: &Right) -> bool {
    compare(held, std::slice::from_ref(right)).gained.is_empty()
}

/// The roles by their names.
struct Roles<'a> {
    own: BTreeMap<RoleName, &'a Value>,
    known: BTreeMap<RoleName, &'a Value>,
    /// The resolved rights of each role, since many bindings may refer to one role.
    found: BTreeMap<(RoleName, Reach), Option<Vec<Right>>>,
    /// The number of rights that may still be expanded.
    left: usize,
}

impl<'a> Roles<'a> {
    fn of(objects: &[&'a Value], known: &[&'a Value]) -> Self {
        let named = |objects: &[&'a Value]| {
            let objects = objects.iter();
            let named = objects.filter_map(|object| Some((RoleName::of(object)?, *object)));
            named.collect()
        };
        Self {
            own: named(objects),
            known: named(known),
            found: BTreeMap::new(),
            left: RIGHTS,
        }
    }

    /// Returns the rights of a role with a reach, or `None` if they are unknown.
    fn rights(
        &mut self,
        name: &RoleName,
        reach: &Reach,
    ) -> Result<Option<Vec<Right>>, UnreadableRole> {
        let place = (name.clone(), reach.clone());
        let found = match self.found.get(&place) {
            Some(found) => found.clone(),
            None => self.look_up(name, reach)?,
        };
        self.spend(name, found.as_deref().unwrap_or_default())?;
        self.found.insert(place, found.clone());
        Ok(found)
    }

    fn look_up(
        &mut self,
        name: &RoleName,
        reach: &Reach,
    ) -> Result<Option<Vec<Right>>, UnreadableRole> {
        let (role, mut all) = if let Some(role) = self.own.get(name).copied() {
            (role, of_role(name, role, reach)?)
        } else {
            let known = self.known.get(name).copied();
            // Roles of the cluster are valid, since the API server accepted them.
            match known.and_then(|role| Some((role, rights(role, reach).ok()?))) {
                Some(found) => found,
                None => return Ok(None),
            }
        };
        if aggregates(role) {
            self.gather(role, reach, &mut all)?;
        }
        Ok(Some(all))
    }

    /// Adds the rights that an aggregating role gets from other roles among the objects. Rights from roles of the
    /// cluster are already in its rules.
    fn gather(
        &mut self,
        role: &Value,
        reach: &Reach,
        all: &mut Vec<Right>,
    ) -> Result<(), UnreadableRole> {
        let selectors = manifests::list(role, "/aggregationRule/clusterRoleSelectors");
        let others: Vec<(RoleName, &Value)> = self
            .own
            .iter()
            .filter(|(name, _)| name.namespace.is_none())
            .filter(|(_, other)| selectors.iter().any(|selector| may_select(selector, other)))
            .map(|(name, other)| (name.clone(), *other))
            .collect();
        for (name, other) in others {
            let rights = of_role(&name, other, reach)?;
            self.spend(&name, &rights)?;
            all.extend(rights);
        }
        Ok(())
    }

    /// Counts expanded rights, because many bindings with many subjects multiply the rights of a role.
    fn spend(&mut self, role: &RoleName, rights: &[Right]) -> Result<(), UnreadableRole> {
        let parts: usize = rights.iter().map(|right| right.parts().count()).sum();
        let left = self.left.checked_sub(parts);
        self.left = left.ok_or_else(|| UnreadableRole {
            role: role.clone(),
            problem: RuleProblem::TooMany,
        })?;
        Ok(())
    }
}

fn of_role(name: &RoleName, role: &Value, reach: &Reach) -> Result<Vec<Right>, UnreadableRole> {
    rights(role, reach).map_err(|problem| UnreadableRole {
        role: name.clone(),
        problem,
    })
}

/// Checks whether a label selector may select an object. Only `matchLabels` is evaluated.
fn may_select(selector: &Value, object: &Value) -> bool {
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let labels = object.pointer("/metadata/labels");
    let has = |(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value);
    wanted.into_iter().flatten().all(has)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(kind: &str, namespace: Option<&str>, name: &str, resource: &str) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": { "name": name, "namespace": namespace },
            "rules": [{ "apiGroups": [""], "resources": [resource], "verbs": ["get", "list", "watch"] }],
        })
    }

    fn binding(namespace: Option<&str>, kind: &str, name: &str, subject: &Value) -> Value {
        let own = if namespace.is_some() {
            "RoleBinding"
        } else {
            "ClusterRoleBinding"
        };
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": own,
            "metadata": { "name": "b", "namespace": namespace },
            "roleRef": { "apiGroup": RBAC, "kind": kind, "name": name }, "subjects": [subject],
        })
    }

    fn account() -> Value {
        json!({ "kind": "ServiceAccount", "namespace": "ns", "name": "a" })
    }

    fn told(objects: &[Value], known: &[Value]) -> Vec<String> {
        let objects: Vec<&Value> = objects.iter().collect();
        let known: Vec<&Value> = known.iter().collect();
        let granted = grants(&objects, &known).unwrap();
        let rights = granted.rights.iter();
        let rights =
            rights.flat_map(|(who, all)| all.iter().map(move |right| format!("{who}: {right}")));
        let borrowed = granted.borrowed.iter();
        let borrowed = borrowed.map(|borrowed| {
            format!(
                "{} has {} {}",
                borrowed.subject, borrowed.role, borrowed.reach
            )
        });
        rights.chain(borrowed).collect()
    }

    /// A role is resolved as in Kubernetes, regardless of other objects with the same name.
    #[test]
    fn a_role_is_found_by_group_kind_namespace_and_name() {
        let secrets = role("ClusterRole", None, "r", "secrets");
        let cluster_wide = binding(None, "ClusterRole", "r", &account());
        let mut false_group = role("ClusterRole", None, "r", "pods");
        false_group["apiVersion"] = json!("evil.test/v1");
        let harmless = role("Role", Some("ns"), "r", "pods");
        let expected = ["ServiceAccount ns/a: read all Secrets in the whole cluster"];
        let decoys = [false_group, harmless];
        let bound = [secrets.clone(), cluster_wide];
        for all in [[&decoys[..], &bound], [&bound, &decoys]] {
            let found = told(&all.concat(), &[]);
            let of_bound = found.iter().filter(|words| words.starts_with("Service"));
            assert_eq!(of_bound.collect::<Vec<_>>(), expected);
        }
        // A binding refers to a Role in its own namespace.
        let elsewhere = role("Role", Some("other"), "r", "pods");
        let here = role("Role", Some("ns"), "r", "secrets");
        let found = told(
            &[
                elsewhere,
                here,
                binding(Some("ns"), "Role", "r", &account()),
            ],
            &[],
        );
        let expected = [
            "ServiceAccount ns/a: read all Secrets of namespace ns",
            "everyone with the role other/r: read all Pods of namespace other",
        ];
        assert_eq!(found, expected);
        // A binding of another API group is ignored.
        let mut none = binding(None, "ClusterRole", "r", &account());
        none["apiVersion"] = json!("evil.test/v1");
        assert_eq!(
            told(&[none, secrets], &[]),
            ["everyone with the role r: read all Secrets in the whole cluster"]
        );
    }

    #[test]
    fn roles_of_the_cluster_are_read_and_told() {
        let bound = [
            binding(None, "ClusterRole", "there", &account()),
            binding(Some("ns"), "ClusterRole", "absent", &account()),
        ];
        let expected = [
            "ServiceAccount ns/a: read all Secrets in the whole cluster",
            "ServiceAccount ns/a has ClusterRole absent of namespace ns",
            "ServiceAccount ns/a has ClusterRole there in the whole cluster",
        ];
        let known = role("ClusterRole", None, "there", "secrets");
        let mut other = role("ClusterRole", None, "absent", "secrets");
        other["apiVersion"] = json!("evil.test/v1");
        assert_eq!(told(&bound, &[known, other]), expected);
    }

    #[test]
    fn subjects_are_told_as_who_they_are() {
        let user = |name: &str| json!({ "kind": "User", "name": name });
        let group = |name: &str| json!({ "kind": "Group", "name": name });
        for (subject, words, anybody) in [
            (account(), "ServiceAccount ns/a", false),
            (
                json!({ "kind": "ServiceAccount", "name": "a" }),
                "ServiceAccount here/a",
                false,
            ),
            (
                user("system:serviceaccount:x:y"),
                "ServiceAccount x/y",
                false,
            ),
            (user("jane"), "the user `jane`", false),
            (
                user("system:anonymous"),
                "everyone, also without a login (system:anonymous)",
                true,
            ),
            (
                group("system:unauthenticated"),
                "everyone, also without a login (system:unauthenticated)",
                true,
            ),
            (
                group("system:authenticated"),
                "everyone with any login (system:authenticated)",
                true,
            ),
            (
                group("system:serviceaccounts:x"),
                "the group `system:serviceaccounts:x`",
                true,
            ),
            (group("devs"), "the group `devs`", false),
        ] {
            let binding = json!({ "metadata": { "namespace": "here" } });
            let found = RightsSubject::of(&subject, &binding);
            assert_eq!(
                (found.to_string().as_str(), found.is_anybody()),
                (words, anybody)
            );
        }
    }

    #[test]
    fn a_role_has_what_it_gathers_of_others() {
        let mut all = role("ClusterRole", None, "all", "pods");
        all["aggregationRule"] =
            json!({ "clusterRoleSelectors": [{ "matchLabels": { "of": "all" } }] });
        let mut part = role("ClusterRole", None, "part", "secrets");
        part["metadata"]["labels"] = json!({ "of": "all" });
        let bound = binding(None, "ClusterRole", "all", &account());
        let whole = "ServiceAccount ns/a: read all Secrets in the whole cluster".to_owned();
        assert!(told(&[all.clone(), part.clone(), bound.clone()], &[]).contains(&whole));
        // An aggregating role of the cluster gets the rights too.
        assert!(told(&[part, bound], &[all]).contains(&whole));
    }

    /// Each binding and subject multiplies the rights of a role.
    #[test]
    fn what_multiplies_is_refused() {
        let names: Vec<String> = (0..1000).map(|number| format!("r{number}")).collect();
        let mut wide = role("ClusterRole", None, "r", "pods");
        wide["rules"][0]["resources"] = json!(names);
        let mut many = binding(None, "ClusterRole", "r", &account());
        let subjects = (0..50).map(|number| json!({ "kind": "User", "name": number.to_string() }));
        many["subjects"] = subjects.collect();
        let refused = grants(&[&wide, &many], &[]).unwrap_err();
        assert_eq!(refused.problem, RuleProblem::TooMany);
        many["subjects"] = json!([account()]);
        assert!(grants(&[&wide, &many], &[]).is_ok());
    }

    #[test]
    fn a_right_that_became_less_is_covered() {
        let of = |verbs: &[&str], reach: &Reach| {
            let role = json!({ "kind": "ClusterRole", "rules": [
                { "apiGroups": [""], "resources": ["secrets"], "verbs": verbs },
            ] });
            rights(&role, reach).unwrap()
        };
        let held = of(&["get", "list", "watch"], &Reach::Cluster);
        let here = Reach::Namespace("ns".to_owned());
        assert!(covers(&held, &of(&["get"], &Reach::Cluster)[0]));
        assert!(covers(&held, &of(&["list"], &here)[0]));
        assert!(!covers(&held, &of(&["update"], &here)[0]));
        assert!(!covers(&of(&["get"], &here), &held[0]));
    }

    #[test]
    fn rights_are_recorded_and_read_again() {
        let role = json!({ "kind": "ClusterRole", "rules": [
            { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a"] },
            { "nonResourceURLs": ["/metrics"], "verbs": ["get"] },
        ] });
        let all = rights(&role, &Reach::Cluster).unwrap();
        let recorded = serde_json::to_value(&all).unwrap();
        assert_eq!(serde_json::from_value::<Vec<Right>>(recorded).unwrap(), all);
    }
}
