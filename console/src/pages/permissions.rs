//! What the user may do: the permissions that are missing for each task.

use importer::{RightsScope, RightsVerb};
use kubernetes::{Access, Cluster};
use maud::{Markup, html};
use schemas::EnvironmentName;
use serde_json::{Value, json};

use crate::call::Call;
use crate::page::{Tone, code, state, table, text};
use crate::problem::Problem;
use crate::texts;

/// A task, and the rights that the user lacks for it.
pub(super) struct Permission {
    name: &'static str,
    missing: Vec<Access>,
}

/// Returns each verb with the rights that the user lacks for it.
pub(super) async fn read(
    call: &Call,
    cluster: &Cluster,
    environment: Option<&EnvironmentName>,
) -> Result<Vec<Permission>, Problem> {
    let mut permissions = Vec::new();
    for (verb, name) in texts::VERBS {
        // On a loopback address, users have logins to registries of their own.
        if verb == RightsVerb::Console && call.user.login.is_none() {
            continue;
        }
        let within = RightsScope::of(environment.cloned(), None);
        let denied = importer::denied_rights(cluster, verb, within).await;
        let missing = denied.map_err(|error| call.user.site.problem(error))?;
        permissions.push(Permission { name, missing });
    }
    Ok(permissions)
}

/// Returns the table of the permissions, with a form that selects an environment.
pub(super) fn show(permissions: &[Permission], environment: Option<&EnvironmentName>) -> Markup {
    let cell = |missing: &[Access]| {
        html! {
            @if missing.is_empty() {
                (state(Tone::Good, texts::ALLOWED))
            } @else {
                details {
                    summary { (texts::MISSING_RIGHTS) " " (missing.len()) }
                    ul { @for access in missing { li { (code(access)) } } }
                }
            }
        }
    };
    let row = |permission: &Permission| [text(permission.name), cell(&permission.missing)];
    let rows: Vec<_> = permissions.iter().map(row).collect();
    let place = environment.map_or_else(|| texts::EVERYWHERE.to_owned(), texts::environment);
    html! {
        h2 { (texts::PERMISSIONS) }
        form method="get" .inline {
            div.field {
                label for="environment" { (texts::ENVIRONMENT) " (" (texts::OPTIONAL) ")" }
                input id="environment" name="environment" autocomplete="off"
                    value=[environment.map(EnvironmentName::as_str)];
            }
            button { (texts::REFRESH) }
        }
        p { (texts::PERMISSIONS_HELP) }
        (table(&format!("{}: {place}", texts::PERMISSIONS), [texts::PERMISSION, texts::STATUS], &rows))
    }
}

/// Returns the permissions as JSON.
pub(super) fn json(permissions: &[Permission]) -> Value {
    let permission = |permission: &Permission| {
        let missing: Vec<_> = permission.missing.iter().map(ToString::to_string).collect();
        json!({ "permission": permission.name, "missing": missing })
    };
    permissions.iter().map(permission).collect()
}
