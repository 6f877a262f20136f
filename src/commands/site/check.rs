//! `solution site check`: a file by itself or against archives, or what the cluster keeps against what the cluster has.

use std::path::PathBuf;

use clap::Args;
use importer::SiteChecked;
use schemars::JsonSchema;
use schemas::EnvironmentName;
use serde::Serialize;

use super::file::FileCheck;
use super::read;
use crate::args::{Output, ReadArguments};
use crate::commands::give;
use crate::commands::look::signers::SignerArguments;
use crate::commands::refusal::{InTheWay, found};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Check a site's file, or whether the cluster has all that its files name
#[derive(Args, Debug)]
#[command(after_help = "\
With FILE it needs no cluster. Without, the Secrets, PriorityClasses, nodes and environments must
exist that the files name which the cluster keeps.

With `--archive`, what the file names of the Solution must be in the archive: parameters, releases,
sets, and workloads of sets. Values must be such as the parameter takes, and as the schema of the
chart does, which `helm` judges where there is one. What is said of other Solutions is left alone.

Examples:
  solution site check site.yaml
  solution site check prod.yaml -e prod
  solution site check site.yaml --archive shop.iso --archive cart.iso
  solution site check")]
pub(crate) struct Arguments {
    /// The file [default: what the cluster keeps]
    file: Option<PathBuf>,

    /// The environment that the file is for [default: all of them]
    #[arg(short, long, value_name = "NAME", requires = "file")]
    environment: Option<EnvironmentName>,

    /// Compare the file with this archive; may be repeated
    #[arg(long = "archive", value_name = "FILE", requires = "file")]
    archives: Vec<PathBuf>,

    /// The program `helm`, version 4, for charts [default: `HELM`, else `helm` on the path]
    #[arg(long, value_name = "FILE", requires = "archives")]
    helm: Option<PathBuf>,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// The cluster has all that its files name.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Fulfilled<'a> {
    /// Notes on settings with less effect than they seem to have.
    notes: &'a [String],
    /// There are no blockers.
    obstacles: [InTheWay; 0],
}

/// Further results besides blockers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Noted<'a> {
    /// Notes on settings with less effect than they seem to have.
    notes: &'a [String],
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(path) = &arguments.file {
        let environment = arguments.environment.as_ref();
        let checking = FileCheck {
            path,
            archives: &arguments.archives,
            signers: &arguments.signers,
            helm: arguments.helm.as_deref(),
        };
        return checking.check(&read(path, environment)?, output);
    }
    let SiteChecked { problems, notes } = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::check_site(cluster).await?)
    })?;
    if !problems.is_empty() {
        if output == Output::Human {
            render::notes("note: ", &notes);
        }
        return Ok(found(output, Noted { notes: &notes }, &problems));
    }
    let fulfilled = Fulfilled {
        notes: &notes,
        obstacles: [],
    };
    Ok(give(output, &fulfilled, |_| {
        render::line("the cluster has all objects that the site configurations name");
        render::notes("note: ", &notes);
    }))
}
