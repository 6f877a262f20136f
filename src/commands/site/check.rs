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

/// Check a site configuration, or its references in the cluster
#[derive(Args, Debug)]
#[command(after_help = "\
With FILE, the command needs no cluster. Otherwise, it checks that the cluster has the Secrets, PriorityClasses, \
nodes and environments in its site configurations.

With --archive, the archive must have the parameters, releases, sets of manifests and workloads that the file \
names. Values must match the types of parameters and the schemas of charts; `helm` checks the schemas. Settings \
for other Solutions are ignored.

Examples:
  solution site check site.yaml
  solution site check prod.yaml -e prod
  solution site check site.yaml --archive shop.iso --archive cart.iso
  solution site check")]
pub(crate) struct Arguments {
    /// The site configuration [default: those in the cluster]
    file: Option<PathBuf>,

    /// The environment of the site configuration [default: all environments]
    #[arg(short, long, value_name = "NAME", requires = "file")]
    environment: Option<EnvironmentName>,

    /// Check the file against this archive (a file or a block device); may be repeated
    #[arg(long = "archive", value_name = "FILE", requires = "file")]
    archives: Vec<PathBuf>,

    /// The `helm` program, version 4 [default: `HELM`, else that of the package, else `helm` on the PATH]
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
