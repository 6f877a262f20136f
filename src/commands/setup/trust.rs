//! Asks for the keys to trust.

use schemas::{KubernetesName, SolutionPattern};

use super::changes::Changes;
use super::dialog;
use crate::commands::trust::add::Add;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::trust::{self, Stored};
use crate::{keys, render};

/// Asks for one key after the other, and for the Solutions that each signs.
pub(super) fn ask(system: bool, settings: &Settings, changes: &mut Changes) -> Result<(), Failure> {
    let (policies, _) = trust::stored()?;
    for stored in &policies {
        let solutions = render::list(stored.policy.solutions());
        for (id, _) in stored.keys() {
            render::note!(
                "  trusted: {id} for {solutions} (policy {})",
                stored.policy.name()
            );
        }
    }
    if let Some((keys, _)) = settings.value("key") {
        let keys = render::list(keys);
        render::note!("  the setting `key` ({keys}) takes precedence over trust policies");
    }
    let mut question = "Public key of a publisher to trust (PEM file)";
    while let Some(policy) =
        dialog::ask(question, None, |typed| ask_policy(typed, system, changes))?
    {
        changes.policies.extend(policy);
        question = "Another public key";
    }
    Ok(())
}

/// Asks about a key; none if its id is not the publisher's.
fn ask_policy(
    typed: &str,
    system: bool,
    changes: &Changes,
) -> Result<Option<(Stored, crate::own::Write)>, Failure> {
    let path = dialog::path(typed)?;
    render::note!("  key id: {}", keys::public(&path)?.id());
    render::note(
        "  Compare it with the id that the publisher gives you through another channel than the archives.",
    );
    if !dialog::confirm("Is it the same?", false)? {
        render::note("  The key is not trusted.");
        return Ok(None);
    }
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let name: Option<KubernetesName> = stem.and_then(|stem| stem.parse().ok());
    let pending: Vec<Stored> = changes
        .policies
        .iter()
        .map(|(stored, _)| stored.clone())
        .collect();
    let question = "Solutions that it signs (names, `PREFIX-*` or `*`)";
    dialog::ask(question, Some("*"), |patterns| {
        let patterns = patterns
            .split([',', ' '])
            .filter(|pattern| !pattern.is_empty());
        let patterns = patterns.map(|pattern| pattern.parse().map_err(Failure::usage));
        let solutions = patterns.collect::<Result<Vec<SolutionPattern>, _>>()?;
        let shown = name.as_ref().map(ToString::to_string);
        dialog::ask("Name of the policy", shown.as_deref(), |name| {
            let add = Add {
                name: name.parse().map_err(Failure::usage)?,
                keys: vec![path.clone()],
                threshold: None,
                solutions: solutions.clone(),
                comment: None,
                extend: false,
                system,
            };
            add.policy(&pending)
        })
    })
    .map(Option::flatten)
}
