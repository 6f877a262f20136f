//! The deployments of a fleet's file in each of its clusters, for verbs that change none of them.

use std::path::PathBuf;

use clap::Args;
use deployer::Cluster;
use fleet::{FleetFile, Members};
use importer::{Allowed, CreateEnvironment, Nodes};

use super::apply::{Asking, Deployable, FileSource, KnownClusters, accept_all};
use super::check::{read, refused};
use super::reach::Reaching;
use super::read_member::{ReadMember, each};
use super::selection::SelectionArguments;
use crate::args::{ChangeArguments, Output, ReadArguments, RegistryArguments};
use crate::cluster;
use crate::commands::import::{SignerArguments, all_but_signers};
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

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
    /// Does some `work` for each deployment in each cluster, and something with all that came of it. None if the file or an
    /// archive is not accepted, which is reported.
    pub(super) fn run<T>(
        &self,
        accept: &[String],
        output: Output,
        work: &impl AsyncFn(Deployable, &Cluster) -> Result<Result<T, Vec<InTheWay>>, Failure>,
        then: impl AsyncFnOnce(&FleetFile, Vec<ReadMember<'_, T>>) -> Result<Outcome, Failure>,
    ) -> Result<Option<Outcome>, Failure> {
        let path = &self.file;
        let file = read(path)?;
        if refused(&file, path, output).is_some() {
            return Ok(None);
        }
        let places = self.selection.of(&file)?;
        let Some(archives) = accept_all(&file, path, &places, &self.signers, output)? else {
            return Ok(None);
        };
        let mut turn = ChangeArguments::default();
        turn.helm.clone_from(&self.helm);
        let source = FileSource {
            path,
            members: &Members::of(file.spec()),
            archives,
            asking: Asking {
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
            let reaching = Reaching::to_read(&file, path, &self.cluster)?;
            let found = reaching.each(&places, async |at, member| {
                let found = Box::pin(each(&source, at, member, work)).await?;
                Ok((member.system.clone(), found))
            });
            let mut known = KnownClusters::default();
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

    /// The exceptions that are allowed: whose an object is does not keep it from being shown, but whose archive it is.
    fn allowed(&self) -> Allowed {
        Allowed {
            create: CreateEnvironment::Allow,
            ..all_but_signers(self.signers.allowed())
        }
    }
}
