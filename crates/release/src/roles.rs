//! The roles that a release grants to its operator's account. [`OperatorRoles::of`] collects them for `role.yaml`, and
//! rejects bindings that an import cannot create.

use manifests::{ManifestObject, list, shown, text};

use crate::notes::{Note, NoteWeight, names};
use crate::{ReleaseError, write};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Returns whether an object is a Role or `ClusterRole`.
pub(crate) fn is_role(object: &ManifestObject<'_>) -> bool {
    object.group() == RBAC && matches!(object.kind(), "Role" | "ClusterRole")
}

/// Returns whether an object is a `RoleBinding` or `ClusterRoleBinding`.
pub(crate) fn is_binding(object: &ManifestObject<'_>) -> bool {
    object.group() == RBAC && matches!(object.kind(), "RoleBinding" | "ClusterRoleBinding")
}

/// The roles of an operator, and how the release binds them.
#[derive(Default)]
pub(crate) struct OperatorRoles<'a> {
    pub(crate) granted: Vec<&'a ManifestObject<'a>>,
    /// True if one of the roles is bound in the whole cluster.
    pub(crate) are_everywhere: bool,
    /// Roles that are bound but not defined in the release, by kind and name.
    missing: Vec<String>,
    /// True if the release has no binding.
    are_unbound: bool,
}

impl<'a> OperatorRoles<'a> {
    /// Returns the roles that are bound to the account of a workload. If the release has no bindings, all its roles are
    /// taken.
    ///
    /// An import binds all roles in the operator's namespace, or all in the whole cluster.
    ///
    /// # Errors
    ///
    /// Fails if a role is bound in another namespace, which an import cannot do. Fails also if some roles are bound in
    /// one namespace and others in the whole cluster, because an import would grant more than the release does.
    pub(crate) fn of(
        objects: &'a [ManifestObject<'a>],
        workload: &ManifestObject<'_>,
    ) -> Result<Self, ReleaseError> {
        let mut roles = Self::default();
        let bindings: Vec<&ManifestObject<'_>> =
            objects.iter().filter(|object| is_binding(object)).collect();
        if bindings.is_empty() {
            roles.granted = objects.iter().filter(|object| is_role(object)).collect();
            roles.are_unbound = true;
            return Ok(roles);
        }
        let mut narrow = Vec::new();
        for binding in bindings
            .into_iter()
            .filter(|binding| is_bound(workload, binding))
        {
            let [kind, name] =
                ["kind", "name"].map(|field| text(&binding.value, &format!("/roleRef/{field}")));
            let is_wide = binding.kind() == "ClusterRoleBinding";
            roles.are_everywhere |= is_wide;
            let is_meant = |role: &&ManifestObject<'_>| {
                is_role(role)
                    && [role.kind(), role.name()] == [kind, name]
                    && (kind == "ClusterRole" || is_same(role.namespace(), binding.namespace()))
            };
            match objects.iter().find(is_meant) {
                None => roles
                    .missing
                    .push(format!("{} {}", shown(kind), shown(name))),
                Some(role) => {
                    if !is_wide && !is_same(binding.namespace(), workload.namespace()) {
                        return Err(refused(
                            role,
                            "is bound in a different namespace than the operator's",
                        ));
                    }
                    if !is_wide && kind == "ClusterRole" {
                        narrow.push(role);
                    }
                    if !roles.granted.iter().any(|known| std::ptr::eq(*known, role)) {
                        roles.granted.push(role);
                    }
                }
            }
        }
        match narrow.first() {
            Some(role) if roles.are_everywhere => Err(refused(
                role,
                "is bound in one namespace and other roles in the whole cluster; an import would bind all of them in the whole cluster",
            )),
            _ => Ok(roles),
        }
    }

    /// Returns the text of `role.yaml`.
    pub(crate) fn text(&self) -> String {
        if self.granted.is_empty() {
            return "# The release grants its operator no rights.\n".to_owned();
        }
        let roles: Vec<String> = self
            .granted
            .iter()
            .map(|role| write::object(role))
            .collect();
        roles.join("---\n")
    }

    /// Returns the note about a decision that the roles need, if any.
    pub(crate) fn note(&self) -> Option<Note> {
        let text = if self.are_unbound && !self.granted.is_empty() {
            "the release has no binding, so all its roles were taken; remove the roles of other programs from operator/deploy/role.yaml".to_owned()
        } else if !self.missing.is_empty() {
            let missing = names(self.missing.iter().map(String::as_str));
            format!(
                "the release binds {missing} but does not define them; write the required rules into operator/deploy/role.yaml"
            )
        } else {
            return None;
        };
        Some(Note::new(NoteWeight::Decide, "roles", text))
    }
}

fn refused(role: &ManifestObject<'_>, why: &str) -> ReleaseError {
    ReleaseError::Workload {
        place: role.place.clone(),
        what: format!("{} {why}", role.title()),
    }
}

/// Returns whether two namespaces can be the same. An empty one is unknown.
fn is_same(one: &str, other: &str) -> bool {
    one.is_empty() || other.is_empty() || one == other
}

/// Returns whether a binding has the account of a workload among its subjects.
fn is_bound(workload: &ManifestObject<'_>, binding: &ManifestObject<'_>) -> bool {
    let of_pod = |field: &str| text(&workload.value, &format!("/spec/template/spec/{field}"));
    let mut accounts = ["serviceAccountName", "serviceAccount"]
        .map(of_pod)
        .into_iter();
    let account = accounts.find(|name| !name.is_empty()).unwrap_or("default");
    list(&binding.value, "/subjects").iter().any(|subject| {
        let namespace = match text(subject, "/namespace") {
            "" => binding.namespace(),
            namespace => namespace,
        };
        text(subject, "/kind") == "ServiceAccount"
            && text(subject, "/name") == account
            && is_same(namespace, workload.namespace())
    })
}
