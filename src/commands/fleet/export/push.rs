//! Images and artifacts go to the registries of clusters, each image once.

use std::collections::BTreeSet;

use shelf::{PushPlan, ReadyPush};

use super::artifact::MadeArtifact;
use super::made::{MadeCluster, MadeDeployment};
use crate::args::Output;
use crate::commands::import::Acceptance;
use crate::commands::pushing::{Goal, Pushing};
use crate::events::push::Push;
use crate::failure::Failure;

/// Pushes all of it, one deployment after the other: what several clusters need of a registry is there then.
pub(super) async fn all(clusters: &[MadeCluster<'_>], output: Output) -> Result<(), Failure> {
    let mut pushed = BTreeSet::new();
    for cluster in clusters {
        for made in &cluster.deployments {
            let archive = made.plan.archive.accepted.archive_id();
            let registry = made.plan.client.address().to_string();
            let is_new = pushed.insert((registry, archive));
            let of = |failure: Failure| {
                failure.context(format!("{}, {}", cluster.name, made.deployment))
            };
            if is_new {
                images(made, output).await.map_err(of)?;
            }
            artifact(made).await.map_err(of)?;
        }
    }
    Ok(())
}

/// Pushes the images that the registry lacks.
async fn images(made: &MadeDeployment, output: Output) -> Result<(), Failure> {
    let Acceptance { accepted, findings } = &*made.plan.archive;
    let client = &made.plan.client;
    let plan = PushPlan::make(accepted, findings.clone(), client, &made.plan.request).await?;
    let ready: ReadyPush = match plan.ready() {
        Ok(ready) => ready,
        Err(plan) => {
            plan.give_up(client).await;
            let obstacle = plan.obstacles().first().cloned();
            return obstacle.map_or(Ok(()), |it| Err(shelf::Error::from(it).into()));
        }
    };
    let summary = ready.summary();
    let push = Push {
        solution: &summary.solution,
        registry: &summary.registry,
        bytes: summary.bytes_to_push,
    };
    let pushing = Pushing::new(&push, Goal::Registry, output);
    let receipt = ready.apply(client, &|event| pushing.take(&event)).await;
    pushing.finish(receipt.is_ok());
    receipt?;
    Ok(())
}

/// Pushes the objects, where the tool reads them from the registry.
async fn artifact(made: &MadeDeployment) -> Result<(), Failure> {
    let Some(MadeArtifact {
        files,
        repository,
        tag,
        ..
    }) = &made.artifact
    else {
        return Ok(());
    };
    files
        .push(&made.plan.client, repository, tag.clone())
        .await?;
    Ok(())
}
