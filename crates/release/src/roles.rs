//! The roles that a release binds to its operator's account.

use manifests::{ManifestObject, list, shown, text};

use crate::notes::{Note, NoteWeight, names};
use crate::{ReleaseError, write};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Whether an object is a Role or `ClusterRole`.
pub(crate) fn is_role(object: &ManifestObject<'_>) -> bool {
    object.group() == RBAC && matches!(object.kind(), "Role" | "ClusterRole")
}

/// Whether an object is a binding.
pub(crate) fn is_binding(object: &ManifestObject<'_>) -> bool {
    object.group() == RBAC && matches!(object.kind(), "RoleBinding" | "ClusterRoleBinding")
}

/// The roles of an operator.
#[derive(Default)]
pub(crate) struct OperatorRoles<'a> {
    pub(crate) granted: Vec<&'a ManifestObject<'a>>,
    /// Whether one of them holds in the whole cluster.
    pub(crate) are_everywhere: bool,
    /// Roles that are bound and not in the release, by kind and name.
    missing: Vec<String>,
    /// Whether the release has no binding.
    are_unbound: bool,
}

impl<'a> OperatorRoles<'a> {
    /// The roles of the account that a workload runs as; all roles of a release that binds none. An import makes them in
    /// the operator's namespace, so that those which hold in another one are refused.
    pub(crate) fn of(
        objects: &'a [ManifestObject<'a>],
        workload: &ManifestObject<'_>,
    ) -> Result<Self, ReleaseError> {
        let mut roles = Self::default();
        let bindings: Vec<&ManifestObject<'_>> =
            objects.iter().filter(|it| is_binding(it)).collect();
        if bindings.is_empty() {
            roles.granted = objects.iter().filter(|it| is_role(it)).collect();
            roles.are_unbound = true;
            return Ok(roles);
        }
        let mut narrow = Vec::new();
        for binding in bindings.into_iter().filter(|it| is_bound(workload, it)) {
            let [kind, name] =
                ["kind", "name"].map(|it| text(&binding.value, &format!("/roleRef/{it}")));
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
                    if !roles.granted.iter().any(|it| std::ptr::eq(*it, role)) {
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

    /// The text of role.yaml.
    pub(crate) fn text(&self) -> String {
        if self.granted.is_empty() {
            return "# The release grants its operator no rights.\n".to_owned();
        }
        let roles: Vec<String> = self.granted.iter().map(|it| write::object(it)).collect();
        roles.join("---\n")
    }

    /// Returns a note on what to decide about them.
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

/// Whether two namespaces can be the same; an empty one is not known.
fn is_same(one: &str, other: &str) -> bool {
    one.is_empty() || other.is_empty() || one == other
}

/// Whether a binding is of the account that a workload runs as.
fn is_bound(workload: &ManifestObject<'_>, binding: &ManifestObject<'_>) -> bool {
    let of_pod = |field: &str| text(&workload.value, &format!("/spec/template/spec/{field}"));
    let mut accounts = ["serviceAccountName", "serviceAccount"]
        .map(of_pod)
        .into_iter();
    let account = accounts.find(|it| !it.is_empty()).unwrap_or("default");
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
