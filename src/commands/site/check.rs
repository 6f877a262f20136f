//! `solution site check`: a file by itself, or what the cluster keeps against what the cluster has.

use std::path::{Path, PathBuf};

use clap::Args;
use importer::SiteChecked;
use schemars::JsonSchema;
use schemas::EnvironmentName;
use serde::Serialize;

use super::read;
use crate::args::{Output, ReadArguments};
use crate::commands::give;
use crate::commands::refusal::{InTheWay, refuse};
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

/// A file that can be used.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Usable<'a> {
    /// The path that was checked.
    file: &'a Path,
    /// What the file chooses, and reaches less than it seems to.
    notes: &'a [String],
}

/// The cluster has all that its files name.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Fulfilled<'a> {
    /// What a file chooses, and reaches less than it seems to.
    notes: &'a [String],
    /// There is nothing in the way.
    obstacles: [InTheWay; 0],
}

/// A check plans nothing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Nothing {}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(path) = &arguments.file {
        let file = read(path, arguments.environment.as_ref())?;
        let notes = importer::operators_alone(&file);
        let usable = Usable {
            file: path,
            notes: &notes,
        };
        return Ok(give(output, &usable, |_| {
            render::line!("`{}` can be used as the site's file", path.display());
            render::notes("note: ", &notes);
        }));
    }
    let SiteChecked { problems, notes } = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::check_site(cluster).await?)
    })?;
    if !problems.is_empty() {
        return Ok(refuse(output, Nothing {}, &problems));
    }
    let fulfilled = Fulfilled {
        notes: &notes,
        obstacles: [],
    };
    Ok(give(output, &fulfilled, |_| {
        render::line("the cluster has all that the site's files name");
        render::notes("note: ", &notes);
    }))
}
