//! Stores the answers of `solution setup`: shown first, and each file in one step.

use std::path::Path;

use anyhow::anyhow;

use super::changes::Changes;
use super::dialog;
use crate::failure::{Failure, cannot};
use crate::own::{self, Modes, Write};
use crate::trust::{self, Scope};
use crate::{interrupt, render};

/// Shows what changes, asks once, and writes it.
pub(super) fn write(changes: Changes) -> Result<(), Failure> {
    let file = changes.file.display();
    for (name, value) in &changes.settings {
        let value = value.as_deref().unwrap_or("(none)");
        render::line!("write     {name}: {value} in {file}");
    }
    for (file, login) in &changes.logins {
        let (registry, user) = (&login.registry, login.username.as_str());
        render::line!(
            "write     the login of {user} at {registry} in {}",
            file.path.display()
        );
    }
    for (stored, _) in &changes.policies {
        let (path, solutions) = (
            stored.path.display(),
            render::list(stored.policy.solutions()),
        );
        render::line!("write     the trust policy for {solutions} in {path}");
    }
    if changes.settings.is_empty() && changes.logins.is_empty() && changes.policies.is_empty() {
        render::line("nothing changes: the configuration is up to date");
        return Ok(());
    }
    if !dialog::confirm("Write this?", true)? {
        return Err(Failure::no(anyhow!("nothing was written")));
    }
    interrupt::note(
        "interrupted: run `solution setup` again to complete the configuration".to_owned(),
    );
    for (mut file, login) in changes.logins {
        file.document
            .keep(&login.registry, &login.username, &login.password)?;
        file.write()?;
    }
    for (stored, write) in &changes.policies {
        trust::write(&stored.path, &stored.document, *write)?;
    }
    if let Some(text) = &changes.text {
        write_file(&changes.file, text, changes.scope)?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str, scope: Scope) -> Result<(), Failure> {
    let modes = match scope {
        Scope::User => Modes {
            file: 0o600,
            folder: 0o700,
        },
        Scope::System => Modes {
            file: 0o644,
            folder: 0o755,
        },
    };
    own::write(path, text.as_bytes(), modes, Write::Replace).map_err(cannot("write", path))
}
