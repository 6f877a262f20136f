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

/// Print the objects of each cluster of a fleet as YAML
#[derive(Args, Debug)]
#[command(after_help = "\
The command renders the objects of each Solution like `solution render`, with the values that the file has for \
the cluster. A comment before each object names its cluster and deployment. The command writes nothing to \
clusters.

--kubeconfig and --context select the cluster with the Cluster API objects in the file.

Exit codes: 1 a deployment cannot be rendered or a cluster has another UID than in the file, else 3 a cluster \
cannot be reached.

Examples:
  solution fleet render fleet.yaml --key publisher.pub --cluster paris
  solution fleet render fleet.yaml --key publisher.pub --group prod --output-dir rendered")]
pub(crate) struct Arguments {
    #[command(flatten)]
    reading: ReadingArguments,

    /// Write the objects to files in CLUSTER/ENVIRONMENT.SOLUTION of this directory, which must be new or empty
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// Show the values of Secrets and sensitive parameters
    #[arg(long)]
    show_secrets: bool,

    /// Consent to chart templates that read outside the environment, by the id that the refusal shows; may be
    /// repeated
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
