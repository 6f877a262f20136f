//! `solution site check`: a file by itself, or what the cluster keeps against what the cluster has.

use std::path::PathBuf;

use clap::Args;
use importer::SiteChecked;
use schemas::EnvironmentName;
use serde_json::json;

use super::read;
use crate::args::{Output, ReadArguments};
use crate::commands::give;
use crate::commands::refusal::refuse;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Check a site's file, or whether the cluster has all that its files name
#[derive(Args, Debug)]
#[command(after_help = "\
With FILE it needs no cluster. Without, the Secrets, PriorityClasses, nodes and environments must
exist that the files name which the cluster keeps.

Examples:
  solution site check site.yaml
  solution site check prod.yaml -e prod
  solution site check")]
pub(crate) struct Arguments {
    /// The file [default: what the cluster keeps]
    file: Option<PathBuf>,

    /// The environment that the file is for [default: all of them]
    #[arg(short, long, value_name = "NAME", requires = "file")]
    environment: Option<EnvironmentName>,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(path) = &arguments.file {
        let file = read(path, arguments.environment.as_ref())?;
        let notes: Vec<String> = importer::operators_alone(&file).into_iter().collect();
        let result = json!({ "file": path, "notes": &notes });
        return Ok(give(output, &result, |_| {
            render::line!("`{}` can be used as the site's file", path.display());
            show(&notes);
        }));
    }
    let SiteChecked { problems, notes } = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::check_site(cluster).await?)
    })?;
    if !problems.is_empty() {
        return Ok(refuse(output, json!({}), &problems));
    }
    let result = json!({ "obstacles": [], "notes": &notes });
    Ok(give(output, &result, |_| {
        render::line("the cluster has all that the site's files name");
        show(&notes);
    }))
}

fn show(notes: &[String]) {
    for note in notes {
        render::note!("note: {note}");
    }
}
