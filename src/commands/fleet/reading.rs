//! The deployments of a fleet's file in each cluster, for commands that change none of them. They share the selection
//! of clusters, the connections and the evaluation of the file.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use fleet::rollout::ClusterIndex;
use fleet::{FleetFile, Members};
use importer::{CreateEnvironment, Exceptions, Nodes};
use kubernetes::Cluster;
use schemas::PlacedVersion;

use super::arguments::SelectionArguments;
use super::check::{read, refused};
use super::connection::{Connections, Member};
use super::file_source::{FileSource, accept_all};
use super::source::{
    Deployable, DeployableEntry, DeployableSource, DeploymentPlace, RequestOptions, Unplannable,
    in_order,
};
use crate::args::{ChangeArguments, Output, ReadArguments, RegistryArguments};
use crate::cluster;
use crate::commands::blocked::ShownBlocker;
use crate::commands::import::{SignerArguments, all_but_signers};
use crate::failure::{Failure, Outcome};

/// A cluster of the file, with the results for its deployments, or the reason why it could not be read.
pub(super) struct ReadMember<'a, T> {
    /// The index of the cluster in the file.
    pub(super) at: usize,
    pub(super) name: &'a str,
    pub(super) found: Result<Vec<ReadDeployment<T>>, Failure>,
}

/// A deployment of the file in a cluster, with its result or its blockers.
pub(super) struct ReadDeployment<T> {
    pub(super) placed: PlacedVersion,
    pub(super) found: Result<T, Vec<ShownBlocker>>,
}

/// Runs some `work` for each deployment in a cluster, in the order of their needs.
pub(super) async fn each<T>(
    source: &FileSource<'_>,
    at: usize,
    member: &Member,
    work: &impl AsyncFn(Deployable, &Cluster) -> Result<Result<T, Vec<ShownBlocker>>, Failure>,
) -> Result<Vec<ReadDeployment<T>>, Failure> {
    let place = DeploymentPlace {
        at,
        member: &source.asking.file.spec().clusters[at],
        reached: member,
        site: &importer::site(&member.cluster).await?,
    };
    let (mut all, mut ready) = (Vec::new(), Vec::new());
    for DeployableEntry { placed, found } in source.deployables(&place).await? {
        match found {
            Ok(deployable) => ready.push(deployable),
            Err(Unplannable::Failed(failure)) => return Err(failure),
            Err(Unplannable::Refused(why)) => all.push(ReadDeployment {
                placed,
                found: Err(why),
            }),
            Err(Unplannable::Left(_)) => {}
        }
    }
    let mut before = BTreeSet::new();
    for mut deployable in in_order(ready)? {
        let (placed, deployed) = (deployable.placed.clone(), deployable.deployed());
        deployable.request.before.clone_from(&before);
        let found = Box::pin(work(deployable, &member.cluster)).await?;
        all.push(ReadDeployment { placed, found });
        before.insert(deployed);
    }
    Ok(all)
}

/// A fleet's file, and how its clusters and registries are read.
#[derive(Args, Debug)]
pub(super) struct ReadingArguments {
    /// The fleet file (`fleet.yaml`)
    pub(super) file: PathBuf,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    cluster: ReadArguments,

    /// The `helm` program, version 4 [default: `HELM`, else that of the package, else `helm` on the PATH]
    #[arg(long, value_name = "FILE")]
    helm: Option<PathBuf>,
}

impl ReadingArguments {
    /// Runs some `work` for each deployment in each cluster, and `then` with all results. None if the file or an
    /// archive is not accepted, which the program has reported.
    pub(super) fn run<T>(
        &self,
        accept: &[String],
        output: Output,
        work: &impl AsyncFn(Deployable, &Cluster) -> Result<Result<T, Vec<ShownBlocker>>, Failure>,
        then: impl AsyncFnOnce(&FleetFile, Vec<ReadMember<'_, T>>) -> Result<Outcome, Failure>,
    ) -> Result<Option<Outcome>, Failure> {
        let path = &self.file;
        let file = read(path)?;
        if refused(&file, path, output).is_some() {
            return Ok(None);
        }
        let places = self.selection.resolve(&file)?;
        let Some(archives) = accept_all(&file, path, &places, &self.signers, output)? else {
            return Ok(None);
        };
        let mut turn = ChangeArguments::default();
        turn.helm.clone_from(&self.helm);
        let source = FileSource {
            path,
            members: &Members::of(file.spec()),
            archives,
            asking: RequestOptions {
                file: &file,
                reach: &self.reach,
                turn: &turn,
                nodes: Nodes::AsTheyAre,
                allowed: self.allowed(),
                accept,
                writer: cluster::writer(&turn)?,
                output,
            },
            removing: None,
        };
        let outcome = cluster::block_on(async {
            let reaching = Connections::to_read(&file, path, &self.cluster)?;
            let found = reaching.each(&places, async |at, member| {
                let found = Box::pin(each(&source, at, member, work)).await?;
                Ok((member.system.clone(), found))
            });
            let mut known = ClusterIndex::default();
            let found = places.iter().zip(found.await).map(|(at, found)| {
                let name = file.spec().clusters[*at].name.as_str();
                let found = found.and_then(|(system, found)| {
                    known.add(name, &system)?;
                    Ok(found)
                });
                ReadMember {
                    at: *at,
                    name,
                    found,
                }
            });
            let found = found.collect();
            Box::pin(then(&file, found)).await
        });
        outcome.map(Some)
    }

    /// Returns the exceptions: objects of other owners may be shown, but the signers of archives are still checked.
    fn allowed(&self) -> Exceptions {
        Exceptions {
            create: CreateEnvironment::Allow,
            ..all_but_signers(self.signers.allowed())
        }
    }
}
