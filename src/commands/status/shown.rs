//! A status for people.

use importer::Unseen;

use super::{Hinted, ShownStatus, incomplete};
use crate::args::choose;
use crate::render;

/// Shows a status.
pub(super) fn show(status: &ShownStatus) {
    if status.versions.is_empty() && status.unseen.is_empty() {
        render::line("no Solution is imported");
    }
    for version in status.versions {
        let active = choose(version.active, ", CRDs active", "");
        let record = &version.record;
        let images = record.images.iter();
        let images = images.filter(|image| image.image.tag.subject().is_none());
        let images = render::count(images.count(), "image");
        let until = record.expires.map(|it| format!(", for use until {it}"));
        let until = until.unwrap_or_default();
        let (name, version, endpoint) = (&record.name, &record.version, &record.endpoint);
        render::line!("{name} {version}  {images}{active}{until}  from {endpoint}");
    }
    for space in status.environments {
        let of = if space.namespace.as_str() == space.environment.as_str() {
            String::new()
        } else {
            format!(" (namespace {})", space.namespace)
        };
        let going = choose(space.going, ", is being deleted", "");
        render::line!("environment {}{of}{going}", space.environment);
        let operators = status.operators.iter();
        let here = operators.filter(|it| it.operator.namespace == space.namespace);
        here.for_each(show_operator);
    }
    for receipt in status.incomplete {
        render::line(incomplete::in_words(receipt));
        render::line!("  hint: {}", incomplete::way_on(&receipt.outcome));
    }
    render::lines("note: ", status.notes);
    show_unseen(status.unseen);
}

/// What this user may not see, all of it together.
fn show_unseen(unseen: &[Unseen]) {
    if unseen.is_empty() {
        return;
    }
    render::line("not seen, for want of a right:");
    for Unseen { what, right } in unseen {
        render::line!("  {what} ({right})");
    }
    render::line("  hint: `solution rbac --verb status` prints the roles that give these rights");
}

/// Shows an operator, and what to do where it does not run as it should.
pub(in crate::commands) fn show_operator(Hinted { operator, hint }: &Hinted) {
    let ready = operator.ready;
    let ready = ready.map(|[ready, wanted]| format!("{ready}/{wanted} ready"));
    let said: Vec<String> = ready.into_iter().chain(operator.why.clone()).collect();
    let (solution, version, said) = (&operator.solution, &operator.version, said.join(": "));
    render::line!("  {solution} {version}  {said}");
    if let Some(hint) = hint {
        render::line!("    hint: {hint}");
    }
}
