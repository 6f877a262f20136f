//! `solution fleet render`: the objects that applying a fleet's file would apply in each cluster.

mod show;
pub(in crate::commands) mod shown;

use std::path::PathBuf;

use clap::Args;
use importer::{RenderedManifests, SecretValues};

use self::show::show;
use super::reading::ReadingArguments;
use crate::args::{Output, choose};
use crate::commands::refusal::InTheWay;
use crate::commands::render::show::check_directory;
use crate::failure::{Failure, Outcome};

/// Print the objects that each cluster of a fleet gets, as YAML
#[derive(Args, Debug)]
#[command(after_help = "\
For each cluster and each Solution there, the objects are rendered as `solution render` does it, with
the values that the file has for the cluster. A comment before each object names the cluster and the
deployment. Nothing is written to any cluster.

--kubeconfig and --context are those of the cluster with the objects of Cluster API, where the file
names any.

Exits with 1 if a deployment cannot be rendered or a cluster is another one than the file pins, else
with 3 if a cluster cannot be reached.

Examples:
  solution fleet render fleet.yaml --key publisher.pub --cluster paris
  solution fleet render fleet.yaml --key publisher.pub --group prod --output-dir rendered")]
pub(crate) struct Arguments {
    #[command(flatten)]
    reading: ReadingArguments,

    /// Write each object to a file below CLUSTER/ENVIRONMENT.SOLUTION in this directory, which is new or empty
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// Show the values of Secrets and of sensitive parameters
    #[arg(long)]
    show_secrets: bool,

    /// Let the templates of charts read what they ask for outside of the environment, by the id shown when it is refused
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,
}

impl Arguments {
    /// Whether values are shown that nobody is to see.
    fn secrets(&self) -> SecretValues {
        choose(self.show_secrets, SecretValues::Shown, SecretValues::Masked)
    }
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(directory) = &arguments.output_dir {
        check_directory(directory)?;
    }
    let secrets = arguments.secrets();
    let outcome = arguments.reading.run(
        &arguments.accept,
        output,
        &async |deployable, cluster| {
            let (accepted, client) = (&deployable.archive.accepted, deployable.client);
            let request = deployable.request;
            let rendered =
                RenderedManifests::in_cluster(cluster, accepted, Some(client), request, secrets);
            let rendered = Box::pin(rendered).await?;
            Ok(rendered.map_err(|obstacles| obstacles.iter().map(InTheWay::from).collect()))
        },
        async |file, clusters| show(file, &clusters, arguments, output),
    );
    Ok(outcome?.unwrap_or(Outcome::No))
}
