//! `solution environment delete`: removes an environment and its namespaces. Content that may hold data, such as
//! volumes, is deleted only with an additional flag.

use clap::Args;
use importer::{Change, DeletedEnvironment, NamespaceOutcome};
use schemars::JsonSchema;
use schemas::EnvironmentName;
use serde::Serialize;

use crate::args::{Output, RemovalArguments};
use crate::commands::blocked::{refuse_plan, refuse_removal, separate_blocked};
use crate::commands::change::{ConfirmedRemoval, remove_confirmed};
use crate::commands::give;
use crate::commands::import::plan::{self, Mark, Totals};
use crate::commands::import::show::show_revision;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Delete an environment that has no deployments
#[derive(Args, Debug)]
#[command(after_help = "\
Namespaces that were created for the environment are deleted with their content; adopted namespaces are kept. \
Workloads, volumes and custom resources of Solutions are listed, and deleted only with --delete-resources. The \
site configuration of the environment is deleted, too.

Examples:
  solution environment delete test --dry-run
  solution environment delete test
  solution environment delete test --delete-resources")]
pub(crate) struct DeleteArguments {
    /// The name of the environment
    environment: EnvironmentName,

    /// Also delete remaining workloads, volumes and custom resources of Solutions
    #[arg(long)]
    delete_resources: bool,

    #[command(flatten)]
    removal: RemovalArguments,
}

/// The result of deleting an environment; with `--dry-run`, the plan.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Deleted")]
pub(crate) struct ShownDeletion {
    #[serde(flatten)]
    environment: DeletedEnvironment,
    /// Whether nothing was changed.
    dry_run: bool,
}

pub(super) fn run(arguments: &DeleteArguments, output: Output) -> Result<Outcome, Failure> {
    let delete_resources = arguments.delete_resources;
    let question = format!("delete environment {}?", arguments.environment);
    let deleted = remove_confirmed(
        &arguments.removal,
        output,
        &question,
        show_plan,
        |shown, now| shown == now,
        &async |change: &Change<'_>| {
            separate_blocked(
                importer::delete_environment(change, &arguments.environment, delete_resources)
                    .await,
            )
        },
    )?;
    Ok(match deleted {
        ConfirmedRemoval::Done(environment) => {
            let deleted = ShownDeletion {
                environment,
                dry_run: arguments.removal.dry_run,
            };
            give(output, &deleted, |deleted| {
                let environment = &deleted.environment;
                if deleted.dry_run {
                    show_plan(environment);
                    return render::dry_run();
                }
                let objects = render::count(removed(environment).len(), "object");
                let name = &arguments.environment;
                render::line!("environment {name} is deleted: {objects} removed");
                show_kept(environment);
                show_revision(environment.revision);
            })
        }
        ConfirmedRemoval::Blocked(blocked) => refuse_removal(output, &blocked, ""),
        ConfirmedRemoval::Unconfirmed(environment, why) => {
            let plan = ShownDeletion {
                environment,
                dry_run: true,
            };
            refuse_plan(output, &plan, [why])
        }
    })
}

/// Shows what would be deleted, and what would be kept.
fn show_plan(deleted: &DeletedEnvironment) {
    let removed = removed(deleted);
    let totals = Totals::removing(removed.len());
    plan::show_lines(removed);
    show_kept(deleted);
    render::line(totals.to_string());
}

fn removed(deleted: &DeletedEnvironment) -> Vec<String> {
    let namespaces = deleted.namespaces.iter().filter_map(|space| match space {
        NamespaceOutcome::Deleted(namespace) => Some(format!("Namespace {namespace}")),
        NamespaceOutcome::Released(_) | NamespaceOutcome::Gone(_) => None,
    });
    let file = deleted.site_file.iter();
    let file = file.map(|file| format!("{file} (site configuration of the environment)"));
    let all = deleted
        .resources
        .iter()
        .cloned()
        .chain(namespaces)
        .chain(file);
    all.map(|object| Mark::Remove.line(object)).collect()
}

fn show_kept(deleted: &DeletedEnvironment) {
    for space in &deleted.namespaces {
        match space {
            NamespaceOutcome::Deleted(_) => {}
            NamespaceOutcome::Released(namespace) => render::line!(
                "note      namespace {namespace} was adopted by the environment and is kept, without its labels"
            ),
            NamespaceOutcome::Gone(namespace) => {
                render::line!("note      namespace {namespace} was already deleted");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deleted_stands_beside_whether_it_was() {
        let deleted = ShownDeletion {
            environment: DeletedEnvironment {
                namespaces: vec![NamespaceOutcome::Deleted("prod".parse().unwrap())],
                resources: vec!["Pod prod/app".to_owned()],
                uses: Vec::new(),
                site_file: Some("ConfigMap a/b".to_owned()),
                revision: None,
            },
            dry_run: true,
        };
        let json = r#"{"namespaces":[{"deleted":"prod"}],"resources":["Pod prod/app"],"siteFile":"ConfigMap a/b","dryRun":true}"#;
        assert_eq!(serde_json::to_string(&deleted).unwrap(), json);
    }
}
