//! An imported version as the site keeps it: its archive is read from the registry that it was pushed to, and checked as
//! its medium was.

use clap::Args;
use deployer::Cluster;
use importer::{HeldSite, Request};
use registry::{Client, RegistryAddress};
use schemas::{SolutionName, Version};
use shelf::Record;
use validator::Report;

use super::import::{self, Acceptance, PlanArguments, Reached};
use super::validate::words;
use crate::args::{
    ChangeArguments, ClusterArguments, IncludedHelmArguments, Output, ProgressArguments,
    RegistryArguments,
};
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt};

/// How a verb gets at an imported version, and what becomes of its plan.
#[derive(Args, Debug)]
pub(super) struct KeptArguments {
    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    pub(super) planning: PlanArguments,

    #[command(flatten)]
    pub(super) progress: ProgressArguments,

    #[command(flatten)]
    pub(super) cluster: ClusterArguments,

    #[command(flatten)]
    pub(super) turn: ChangeArguments,

    #[command(flatten)]
    included: IncludedHelmArguments,
}

impl KeptArguments {
    /// Reads the archive of an imported version, of the newest if none is named, and carries out what is asked of it.
    pub(super) async fn carry_out(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
        version: Option<&Version>,
        output: Output,
        request: impl FnOnce(&Kept) -> Result<Request, Failure>,
    ) -> Result<Outcome, Failure> {
        let kept = kept(cluster, solution, version, &self.reach, output).await?;
        self.carry_out_of(kept, cluster, output, request).await
    }

    /// The same of the version that a record is of.
    pub(super) async fn carry_out_for(
        &self,
        cluster: &Cluster,
        record: &Record,
        site: &HeldSite,
        output: Output,
        request: impl FnOnce(&Kept) -> Result<Request, Failure>,
    ) -> Result<Outcome, Failure> {
        let client = |registry: &_, site: &_| import::client(registry, &self.reach, site);
        let kept = told(judge_for(record, site, client).await?, output);
        self.carry_out_of(kept, cluster, output, request).await
    }

    async fn carry_out_of(
        &self,
        kept: Option<Kept>,
        cluster: &Cluster,
        output: Output,
        request: impl FnOnce(&Kept) -> Result<Request, Failure>,
    ) -> Result<Outcome, Failure> {
        let Some(kept) = kept else {
            return Ok(Outcome::No);
        };
        let mut request = request(&kept)?;
        request.allowed.conflicts = self.planning.conflicts();
        request.helm_from = self.included.helm_from();
        let reached = Reached {
            client: &kept.client,
            cluster,
        };
        let choices = self.planning.choices();
        let archive = &kept.archive;
        Box::pin(import::carry_out(
            archive, request, reached, choices, None, output,
        ))
        .await
    }
}

/// An imported version, and its archive.
pub(super) struct Kept {
    pub(super) archive: Acceptance,
    /// The registry that has it.
    pub(super) client: Client,
    pub(super) registry: RegistryAddress,
    /// The same as nodes know it.
    pub(super) pull_registry: RegistryAddress,
}

/// Reads the archive of an imported version, of the newest if none is named. None if it is not accepted, which is said.
pub(super) async fn kept(
    cluster: &Cluster,
    solution: &SolutionName,
    version: Option<&Version>,
    reach: &RegistryArguments,
    output: Output,
) -> Result<Option<Kept>, Failure> {
    let client = |registry: &_, site: &_| import::client(registry, reach, site);
    let kept = judge(cluster, solution, version, client).await?;
    Ok(told(kept, output))
}

/// Reports the findings of an archive, and that it is not accepted if it is not.
fn told(kept: Result<Kept, Box<Report>>, output: Output) -> Option<Kept> {
    match kept {
        Ok(kept) => {
            words::talk(&kept.archive.findings, output);
            Some(kept)
        }
        Err(report) => {
            words::refuse(&report, "", output);
            None
        }
    }
}

/// The same without a word, from the registry that a client is made for, with the report if the archive is not accepted.
pub(super) async fn judge(
    cluster: &Cluster,
    solution: &SolutionName,
    version: Option<&Version>,
    client: impl FnOnce(&RegistryAddress, &HeldSite) -> Result<Client, Failure>,
) -> Result<Result<Kept, Box<Report>>, Failure> {
    let record = importer::imported(cluster, solution, version).await?;
    let site = importer::site(cluster).await?;
    judge_for(&record, &site, client).await
}

/// Checks the archive that the site keeps as the medium was checked.
async fn judge_for(
    record: &Record,
    site: &HeldSite,
    client: impl FnOnce(&RegistryAddress, &HeldSite) -> Result<Client, Failure>,
) -> Result<Result<Kept, Box<Report>>, Failure> {
    let (registry, pull_registry) = (record.registry()?, record.pull_registry()?);
    let client = client(&registry, site)?;
    let scratch = environment::scratch();
    let report = shelf::check(&client, record, &scratch, interrupt::cancel()).await?;
    let findings = report.findings().to_vec();
    Ok(report.accept().map(|accepted| Kept {
        archive: Acceptance { accepted, findings },
        client,
        registry,
        pull_registry,
    }))
}
