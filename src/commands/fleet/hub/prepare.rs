//! `solution fleet init --hub`: a cluster becomes a hub.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use schemas::yaml;
use serde::Serialize;
use serde_json::Value;

use crate::args::{ClusterArguments, Output};
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// How long the cluster may take until it serves the kind.
const SERVED: Duration = Duration::from_mins(1);

/// A cluster that can be a hub.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PreparedHub<'a> {
    /// The context of the cluster; null if none was changed.
    hub: Option<&'a str>,
    /// Whether the CRD is another one than before.
    changed: bool,
    /// The CRD.
    definition: &'a Value,
}

/// Puts the CRD in the cluster of a context.
pub(in crate::commands::fleet) fn prepare(
    hub: &str,
    kubeconfig: Option<PathBuf>,
    output: Output,
) -> Result<Outcome, Failure> {
    let way = ClusterArguments {
        kubeconfig,
        context: Some(hub.to_owned()),
    };
    let changed = cluster::block_on(async {
        let cluster = cluster::connect(&way).await?;
        Ok(importer::prepare_hub(&cluster, SERVED).await?)
    })?;
    let prepared = PreparedHub {
        hub: Some(hub),
        changed,
        definition: importer::hub_definition(),
    };
    Ok(give(output, &prepared, |it| {
        let words = if it.changed { "now serves" } else { "serves" };
        render::line!("`{hub}` {words} the kind SolutionRollout");
        render::note!("print the roles for its users with `solution site rbac --verb fleet-hub`");
    }))
}

/// Prints the CRD.
pub(in crate::commands::fleet) fn print(output: Output) -> Outcome {
    let printed = PreparedHub {
        hub: None,
        changed: false,
        definition: importer::hub_definition(),
    };
    give(output, &printed, |it| {
        yaml::to_string(it.definition)
            .lines()
            .for_each(render::line);
    })
}
