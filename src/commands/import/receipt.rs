//! What came of an import, for people.

use importer::{Receipt, Verb};
use schemas::SolutionId;

use super::show::sent;
use crate::commands::change::show_revision;
use crate::render;

/// Shows what a verb has done, for people. If there was nothing to do, that is one line.
pub(super) fn show(verb: Verb, receipt: &Receipt, is_idle: bool) {
    if is_idle && receipt.objects.is_empty() && receipt.removed.is_empty() {
        let deployed = receipt.deployed.as_ref();
        return render::line(nothing_to_do(verb, &receipt.solution, deployed));
    }
    let blobs = sent(&receipt.pushed);
    let changed = render::count(receipt.objects.len(), "object");
    let (solution, removed) = (&receipt.solution, receipt.removed.len());
    let done = done(verb);
    render::line!("{solution} {done}: {blobs}, {changed} changed, {removed} removed");
    if !receipt.activated.is_empty() {
        // The plan has named those that change.
        let crds = render::count(receipt.activated.len(), "CRD");
        render::line!("active: {crds}");
    }
    if let Some([environment, namespace]) = &receipt.deployed {
        render::line!("it is ready in environment {environment}, namespace {namespace}");
    }
    show_revision(receipt.revision);
    if verb == Verb::Import && receipt.deployed.is_none() {
        let id = receipt.solution.parse().ok();
        if let Some(next) = id.as_ref().map(deployment_of) {
            render::line!("next: run {next}");
        }
    }
}

/// Says that there was nothing to do.
fn nothing_to_do(verb: Verb, solution: &str, deployed: Option<&[String; 2]>) -> String {
    let done = done(verb);
    let place = match deployed {
        Some([environment, namespace]) => {
            format!(" and ready in environment {environment}, namespace {namespace}")
        }
        None => String::new(),
    };
    format!("{solution} {done}{place}: nothing to do, 0 objects changed")
}

/// The command that deploys a version that is only available so far.
fn deployment_of(id: &SolutionId) -> String {
    let (name, version) = (id.name(), id.version());
    format!("`solution deploy {name} {version} --environment NAME`")
}

/// What a version is once a verb has ended well that plans as an import does.
fn done(verb: Verb) -> &'static str {
    match verb {
        Verb::Deploy => "is deployed",
        Verb::Rollback => "is deployed again",
        Verb::Activate => "is activated",
        Verb::Import
        | Verb::Undeploy
        | Verb::Deactivate
        | Verb::Unimport
        | Verb::Delete
        | Verb::CreateEnvironment
        | Verb::DeleteEnvironment
        | Verb::SetSite => "is imported",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_only_available_is_deployed_by_the_next_command() {
        let id = "shop-web-1.2.3".parse().unwrap();
        let next = "`solution deploy shop-web 1.2.3 --environment NAME`";
        assert_eq!(deployment_of(&id), next);
    }

    #[test]
    fn an_import_that_had_nothing_to_do_is_one_line() {
        let line = nothing_to_do(Verb::Import, "shop-1.0.0", None);
        assert_eq!(
            line,
            "shop-1.0.0 is imported: nothing to do, 0 objects changed"
        );
        let place = ["prod".to_owned(), "shop".to_owned()];
        let line = nothing_to_do(Verb::Deploy, "shop-1.0.0", Some(&place));
        assert_eq!(
            line,
            "shop-1.0.0 is deployed and ready in environment prod, namespace shop: nothing to do, 0 objects changed"
        );
    }

    #[test]
    fn each_verb_says_what_it_did() {
        let words = [Verb::Import, Verb::Activate, Verb::Deploy, Verb::Rollback].map(done);
        let expected = [
            "is imported",
            "is activated",
            "is deployed",
            "is deployed again",
        ];
        assert_eq!(words, expected);
    }
}
