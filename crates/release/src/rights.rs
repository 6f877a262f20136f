//! What the release lets its operator do: the roles that its bindings give to the operator's account, and whether they
//! hold in the whole cluster.

use std::collections::{BTreeMap, BTreeSet};

use manifests::{Object, list, shown, text};
use schemas::{OperatorScope, is_cluster_scoped, yaml};
use serde_json::Value;

use crate::notes::{Note, Weight, names};

const RBAC: &str = "rbac.authorization.k8s.io";

/// The account that a workload runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceAccount {
    pub(crate) name: String,
    pub(crate) namespace: String,
}

/// Where a role holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound<'a> {
    /// Everywhere.
    Cluster,
    /// In this namespace, or in the operator's if it is empty.
    Namespace(&'a str),
    /// No binding of the release names it.
    Unbound,
}

/// A role of the operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted<'a> {
    pub(crate) role: &'a Object<'a>,
    pub(crate) reach: Bound<'a>,
}

/// What an account may do.
#[derive(Debug, Default)]
pub(crate) struct AccountRoles<'a> {
    pub(crate) granted: Vec<Granted<'a>>,
    /// Roles that are bound but not in the release, by kind and name.
    pub(crate) missing: BTreeSet<String>,
}

/// Whether an object is a Role or `ClusterRole`.
pub(crate) fn is_role(object: &Object<'_>) -> bool {
    object.group() == RBAC && matches!(object.kind(), "Role" | "ClusterRole")
}

/// Whether an object is a binding.
pub(crate) fn is_binding(object: &Object<'_>) -> bool {
    object.group() == RBAC && matches!(object.kind(), "RoleBinding" | "ClusterRoleBinding")
}

impl ServiceAccount {
    /// Whether a binding gives its role to this account.
    pub(crate) fn is_bound_by(&self, binding: &Object<'_>) -> bool {
        let home = binding.namespace();
        list(&binding.value, "/subjects").iter().any(|subject| {
            let namespace = match text(subject, "/namespace") {
                "" => home,
                namespace => namespace,
            };
            text(subject, "/kind") == "ServiceAccount"
                && text(subject, "/name") == self.name
                && same(namespace, &self.namespace)
        })
    }
}

/// Whether two namespaces can be the same; an empty one is not known.
fn same(one: &str, other: &str) -> bool {
    one.is_empty() || other.is_empty() || one == other
}

/// The roles and bindings of a release.
#[derive(Debug)]
pub(crate) struct Roles<'a> {
    all: Vec<&'a Object<'a>>,
    by_name: BTreeMap<(&'a str, &'a str), Vec<&'a Object<'a>>>,
    bindings: Vec<&'a Object<'a>>,
}

impl<'a> Roles<'a> {
    pub(crate) fn of(objects: &'a [Object<'a>]) -> Self {
        let all: Vec<&Object<'_>> = objects.iter().filter(|object| is_role(object)).collect();
        let mut by_name: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for role in &all {
            by_name
                .entry((role.kind(), role.name()))
                .or_default()
                .push(*role);
        }
        let bindings = objects.iter().filter(|object| is_binding(object)).collect();
        Self {
            all,
            by_name,
            bindings,
        }
    }

    /// What the release gives to an account. A release without any binding gives all of its roles.
    pub(crate) fn rights(&self, account: &ServiceAccount) -> AccountRoles<'a> {
        let mut rights = AccountRoles::default();
        if self.bindings.is_empty() {
            let unbound = |role: &&'a Object<'a>| Granted {
                role,
                reach: Bound::Unbound,
            };
            rights.granted = self.all.iter().map(unbound).collect();
        }
        for binding in &self.bindings {
            if account.is_bound_by(binding) {
                rights.add(self, binding);
            }
        }
        rights
    }

    fn find(&self, binding: &Object<'_>) -> Option<&'a Object<'a>> {
        let kind = text(&binding.value, "/roleRef/kind");
        let roles = self
            .by_name
            .get(&(kind, text(&binding.value, "/roleRef/name")))?;
        let fits = |role: &&&Object<'_>| {
            kind == "ClusterRole" || same(role.namespace(), binding.namespace())
        };
        roles.iter().find(fits).copied()
    }
}

impl<'a> AccountRoles<'a> {
    fn add(&mut self, roles: &Roles<'a>, binding: &'a Object<'a>) {
        let Some(role) = roles.find(binding) else {
            let part = |pointer| shown(text(&binding.value, pointer));
            self.missing.insert(format!(
                "{} {}",
                part("/roleRef/kind"),
                part("/roleRef/name")
            ));
            return;
        };
        let reach = match binding.kind() {
            "ClusterRoleBinding" => Bound::Cluster,
            _ => Bound::Namespace(binding.namespace()),
        };
        let same_role = |granted: &&mut Granted<'_>| std::ptr::eq(granted.role, role);
        match self.granted.iter_mut().find(same_role) {
            Some(granted) if reach == Bound::Cluster => granted.reach = reach,
            Some(_) => {}
            None => self.granted.push(Granted { role, reach }),
        }
    }

    /// How many of the release's own resources the account may change.
    pub(crate) fn owned(&self, groups: &BTreeSet<&str>) -> usize {
        let rules = self
            .granted
            .iter()
            .flat_map(|granted| list(&granted.role.value, "/rules"));
        let changing = rules.filter(|rule| {
            let verbs = strings(rule, "/verbs");
            verbs
                .iter()
                .any(|verb| matches!(*verb, "update" | "patch" | "*"))
        });
        let own = |rule: &&Value| {
            strings(rule, "/apiGroups")
                .iter()
                .any(|group| *group == "*" || groups.contains(group))
        };
        changing
            .filter(own)
            .flat_map(|rule| strings(rule, "/resources"))
            .collect::<BTreeSet<_>>()
            .len()
    }

    /// The first thing granted that only works in the whole cluster, for people.
    pub(crate) fn cluster_wide(&self, own: &BTreeSet<(&str, &str)>) -> Option<String> {
        let roles = self.granted.iter().filter(|granted| {
            granted.role.kind() == "ClusterRole" && !matches!(granted.reach, Bound::Namespace(_))
        });
        roles
            .flat_map(|granted| list(&granted.role.value, "/rules"))
            .find_map(|rule| cluster_only(rule, own))
    }

    /// Whether a `ClusterRole` is bound in the whole cluster.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.granted
            .iter()
            .any(|granted| granted.reach == Bound::Cluster)
    }
}

fn strings<'a>(rule: &'a Value, pointer: &str) -> Vec<&'a str> {
    list(rule, pointer)
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

fn cluster_only(rule: &Value, own: &BTreeSet<(&str, &str)>) -> Option<String> {
    if let Some(url) = strings(rule, "/nonResourceURLs").first() {
        return Some(format!("the address `{}`", shown(url)));
    }
    let groups = strings(rule, "/apiGroups");
    let found = strings(rule, "/resources").into_iter().find(|resource| {
        let plural = resource.split('/').next().unwrap_or_default();
        groups
            .iter()
            .any(|group| is_cluster_scoped(group, plural) || own.contains(&(*group, plural)))
    });
    found.map(|resource| format!("`{}`", shown(resource)))
}

/// The text of role.yaml, and what there is to say about it.
pub(crate) fn role_file(
    rights: &AccountRoles<'_>,
    scope: OperatorScope,
    home: &str,
) -> (String, Vec<Note>) {
    let mut notes = Vec::new();
    let mut documents = Vec::new();
    let mut taken = BTreeSet::new();
    // Roles keep their names before `ClusterRole`s become Roles.
    let is_role = |granted: &&Granted<'_>| granted.role.kind() == "Role";
    let roles = rights.granted.iter().filter(is_role);
    let wide = rights.granted.iter().filter(|granted| !is_role(granted));
    for granted in roles.chain(wide) {
        let role = granted.role;
        let narrow = role.kind() == "ClusterRole"
            && scope == OperatorScope::Cluster
            && matches!(granted.reach, Bound::Namespace(_));
        if narrow {
            notes.push(Note::new(Weight::Chosen, role.title(), "is bound in a namespace only, and becomes a Role: with `scope: Cluster` an import would bind it in the whole cluster"));
        }
        if rules::aggregates(&role.value) {
            notes.push(Note::new(Weight::Decide, role.title(), "collects the rules of other roles, which a Solution cannot have; write the rules that the operator needs into operator/deploy/role.yaml"));
        }
        let kind = if narrow { "Role" } else { role.kind() };
        let name = free_name(role.name(), kind, &mut taken);
        documents.push(if kind == role.kind() && name == role.name() {
            own(role)
        } else {
            renamed(role, kind, &name)
        });
        if let Bound::Namespace(namespace) = granted.reach
            && !same(namespace, home)
        {
            let namespace = shown(namespace);
            notes.push(Note::new(Weight::Decide, role.title(), format!("holds in the namespace `{namespace}`; an import makes it in the operator's namespace, so the operator may do nothing in `{namespace}`; tell it by argument or variable to use its own namespace, `$(POD_NAMESPACE)`")));
        }
    }
    if !rights.missing.is_empty() {
        let missing = names(rights.missing.iter().map(String::as_str));
        notes.push(Note::new(Weight::Decide, "Roles of others", format!("the release binds {missing} and does not hold them; an import grants only what stands in operator/deploy/role.yaml, so write the rules that are needed there")));
    }
    if rights
        .granted
        .iter()
        .any(|granted| granted.reach == Bound::Unbound)
    {
        notes.push(Note::new(Weight::Decide, "Roles", "the release holds no binding, so all of its roles were taken; remove from operator/deploy/role.yaml those that are not the operator's"));
    }
    let text = if documents.is_empty() {
        "# The release grants its operator nothing.\n".to_owned()
    } else {
        documents.join("---\n")
    };
    (text, notes)
}

/// The name, or the first like it that no other role of the kind has: an import makes them all in one namespace.
fn free_name(name: &str, kind: &str, taken: &mut BTreeSet<(String, String)>) -> String {
    let names =
        std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    names
        .into_iter()
        .find(|name| taken.insert((kind.to_owned(), name.clone())))
        .expect("numbers do not end")
}

/// A role under another kind or name. A Role has no addresses, which a binding in a namespace does not grant.
fn renamed(role: &Object<'_>, kind: &str, name: &str) -> String {
    let mut value = role.value.clone();
    value["kind"] = Value::from(kind);
    value["metadata"]["name"] = Value::from(name);
    if let Some(rules) = value.get_mut("rules").and_then(Value::as_array_mut)
        && kind == "Role"
    {
        rules.retain(|rule| list(rule, "/nonResourceURLs").is_empty());
    }
    yaml::to_string(&value)
}

/// An object as it stood in the release, or written anew when it stood in another one.
pub(crate) fn own(object: &Object<'_>) -> String {
    match object.text {
        Some(text) if text.ends_with('\n') => text.to_owned(),
        Some(text) => format!("{text}\n"),
        None => yaml::to_string(&object.value),
    }
}
